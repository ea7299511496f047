/* Thoughts: templates of models that think drop everything up to the last </think> of earlier answers.
 *
 * Each literal that the template compares messages with is put into an answer.  The rendered conversation is compared with the pieces,
 * once unchanged and once without the text before that literal. */
#include "chat_private.h"

enum { VARIANTS = 8 };

const char *chat_white_name(ChatWhite white)
{
        static const char *const name[] = {"", "newlines", "start", "ends"};
        return name[white];
}

/* Answers with a text in them: once and twice, with white space around, at the beginning. */
static const char *variant(Arena *a, int i, const char *text)
{
        static const char *const form[VARIANTS] = {"Qx%sQa2zvxQ", "Qx%s\n\nQa2zvxQ",   "Qx%s \n Qa2zvxQ \n",
                                                   "%sQa2zvxQ",   "Qx\n%s\tQa2zvxQ\n", "Qx%sQy%s\nQa2zvxQ",
                                                   "Qx%s",        " %s \n\nQa2 %s"};
        const char *f = form[i];
        Text *to = text_new(a);
        for (const char *hole; (hole = strstr(f, "%s")); f = hole + 2)
                text_printf(to, "%.*s%s", (int)(hole - f), f, text);
        text_printf(to, "%s", f);
        return to->data;
}

bool chat_answers_agree(Comparison *c, const ChatPieces *p, const char *text)
{
        for (int i = 0; i < VARIANTS; i++) {
                const char *said[] = {"Qu1zvxQ", variant(c->arena, i, text), "Qu3zvxQ"};
                if (!chat_agrees(c, p, NULL, said, 3))
                        return false;
        }
        return true;
}

void chat_find_thoughts(Comparison *c)
{
        for (int i = 0; i < c->nliteral; i++) {
                ChatPieces rule = *c->pieces;
                if (chat_answers_agree(c, &rule, c->literal[i]))
                        continue;
                rule.thought_end = c->literal[i];
                for (int white = CHAT_WHITE_STAYS; white <= CHAT_WHITE_ENDS; white++) {
                        rule.thought_white = (ChatWhite)white;
                        if (chat_answers_agree(c, &rule, c->literal[i])) {
                                *c->pieces = rule;
                                return;
                        }
                }
        }
}
