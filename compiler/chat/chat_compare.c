/* Finds differences between a template and its pieces: conversations are written by both and compared.
 *
 * Each message of a conversation in turn is empty, long, has white space or punctuation, or contains one of the literals that the
 * template compares messages with. */
#include "chat_private.h"

enum {
        LITERALS = 256,
        LONGEST_LITERAL = 64,
        MESSAGES = 5, /* of a conversation that is compared, */
        MANY = 13,    /* and of a long one */
        LETTERS = 4000,
        SYSTEM = -1 /* in place of a message's number */
};

/* --- texts of the template --- */

typedef struct {
        Arena *arena;
        const char **text;
        int n, cap;
} Literals;

static void add_literal(Literals *l, ChatValue v)
{
        if (v.kind != V_TEXT || v.n < 1 || v.n > LONGEST_LITERAL || l->n == LITERALS ||
            memchr(v.text, 0, (size_t)v.n))
                return;
        const char *text = arena_strndup(l->arena, v.text, v.n);
        for (int i = 0; i < l->n; i++)
                if (!strcmp(l->text[i], text))
                        return;
        GROW(l->arena, l->text, l->n, l->cap);
        l->text[l->n++] = text;
}

/* printed: the node's value is written unchanged, so that a constant in it is not compared with a message. */
static void find_literals(Literals *l, const ChatNode *n, bool printed)
{
        if (!n)
                return;
        const bool joins = printed && (n->kind == N_CONCAT || n->kind == N_CHOICE ||
                                       (n->kind == N_BINARY && n->op == OP_ADD));
        if (n->kind == N_CONSTANT && !printed)
                add_literal(l, n->value);
        find_literals(l, n->first, n->kind == N_PRINT || (joins && n->kind != N_CHOICE));
        find_literals(l, n->second, joins || n->kind == N_INDEX);
        find_literals(l, n->third, joins);
        for (int i = 0; i < n->n; i++)
                find_literals(l, n->child[i], joins);
}

const char *const *chat_literals(Arena *a, const ChatTemplate *t, int *n)
{
        Literals l = {.arena = a};
        find_literals(&l, t->body, false);
        *n = l.n;
        return l.text;
}

/* --- comparing --- */

bool chat_agrees(Comparison *c, const ChatPieces *p, const char *system, const char *const *said, int n)
{
        ChatSaid turn[MANY], by_system = {system, system ? (int64_t)strlen(system) : 0};
        ChatText text;
        ChatFault fault;
        for (int i = 0; i < n; i++)
                turn[i] = (ChatSaid){said[i], (int64_t)strlen(said[i])};
        const ChatSaid *first = system ? &by_system : NULL;
        arena_clear(&c->scratch);
        return chat_write(&c->scratch, c->writer, first, turn, n, true, &text, &fault) &&
               !strcmp(text.text, chat_by_pieces(&c->scratch, p, first, turn, n));
}

static bool has_system(const Comparison *c)
{
        return c->pieces->system || c->pieces->first_user;
}

/* Fills said[n] with distinct messages.  If the pieces drop thoughts, each answer has one, since another message may make the template
 * keep it. */
static void set_marks(const Comparison *c, const char **said, int n)
{
        const char *end = c->pieces->thought_end;
        for (int i = 0; i < n; i++)
                said[i] = i % 2 && end ? arena_printf(c->arena, "Qt%sQa%dzvxQ", end, i)
                                       : arena_printf(c->arena, "Q%c%dzvxQ", i % 2 ? 'a' : 'u', i);
}

/* Whether template and pieces agree on a conversation whose message i is `text`. */
static bool agrees_at(Comparison *c, int i, const char *text)
{
        const char *said[MESSAGES];
        set_marks(c, said, MESSAGES);
        if (i >= 0)
                said[i] = text;
        return chat_agrees(c, c->pieces, i == SYSTEM ? text : NULL, said, MESSAGES) &&
               (i != 0 || !has_system(c) || chat_agrees(c, c->pieces, "Qs0zvxQ", said, MESSAGES));
}

/* Records a difference in messages of the kind of i; words: "with … in them". */
static void comparison_tell(Comparison *c, int i, const char *words)
{
        c->pieces->partly = arena_printf(c->arena, "the pieces do not reproduce %s %s",
                                         i == SYSTEM ? "system messages"
                                         : i % 2     ? "answers"
                                                     : "user messages",
                                         words);
}

/* Compares with `text` as each message in turn, the system's first. */
static void compare_in(Comparison *c, const char *text, const char *words)
{
        for (int i = has_system(c) ? SYSTEM : 0; i < MESSAGES && !c->pieces->partly; i++)
                if (!agrees_at(c, i, text))
                        comparison_tell(c, i, words);
}

static void compare_answers(Comparison *c)
{
        ChatPieces *p = c->pieces;
        for (int i = 0; i < c->nliteral && !p->partly; i++)
                if (!chat_answers_agree(c, p, c->literal[i]))
                        comparison_tell(c, 1,
                                        arena_printf(c->arena, "with %s in them",
                                                     quoted_text(c->arena, c->literal[i])));
        for (int i = 0; i < c->nliteral && p->thought_end && !p->partly; i++)
                if (!chat_answers_agree(c, p,
                                        arena_printf(c->arena, "%s\n%s", c->literal[i], p->thought_end)))
                        comparison_tell(c, 1,
                                        arena_printf(c->arena, "with %s before %s",
                                                     quoted_text(c->arena, c->literal[i]),
                                                     quoted_text(c->arena, p->thought_end)));
}

static void compare_literals(Comparison *c)
{
        static const char *const form[] = {"Qx%sQy", "%sQy", "Qx%s", "%s"};
        for (int i = 0; i < c->nliteral; i++) {
                const char *text = c->literal[i],
                           *words = arena_printf(c->arena, "with %s in them", quoted_text(c->arena, text));
                for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
                        const char *hole = strstr(form[k], "%s");
                        compare_in(c,
                                   arena_printf(c->arena, "%.*s%s%s", (int)(hole - form[k]), form[k], text,
                                                hole + 2),
                                   words);
                }
        }
        for (int i = 0; i + 1 < c->nliteral; i++) {
                const char *text = c->literal[i], *next = c->literal[i + 1];
                compare_in(c, arena_printf(c->arena, "%sQxQy%s", text, next),
                           arena_printf(c->arena, "from %s to %s", quoted_text(c->arena, text),
                                        quoted_text(c->arena, next)));
        }
}

static void compare_plain(Comparison *c)
{
        char *letters = NEW_ARRAY(c->arena, char, LETTERS + 1);
        memset(letters, 'Q', LETTERS);
        const char *const plain[][2] = {
                {"", "without a text"},
                {" \n\tQ b  c \n\n d \n\t ", "with white space in them"},
                {"Q<&>\"'\\{}[]%|#`*_~Q", "with punctuation in them"},
                {"\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80", "with letters beyond ASCII in them"},
                {"7", "that are a number"},
                {letters, "of 4000 letters"},
        };
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
                compare_in(c, plain[i][0], plain[i][1]);
}

static void compare_whole(Comparison *c)
{
        const char *said[MANY];
        set_marks(c, said, MANY);
        if (!c->pieces->partly && !chat_agrees(c, c->pieces, NULL, said, MANY))
                comparison_tell(c, 0, "in long conversations");
        for (int i = 0; i < MESSAGES; i++)
                said[i] = "Qu1zvxQ";
        if (!c->pieces->partly && !chat_agrees(c, c->pieces, NULL, said, MESSAGES))
                comparison_tell(c, 0, "that repeat an earlier one");
}

void chat_find_gaps(Arena *a, const ChatWriter *w, ChatPieces *p)
{
        Comparison *c = NEW(a, Comparison);
        *c = (Comparison){.arena = a, .writer = w, .pieces = p};
        c->scratch.out_of_memory = a->out_of_memory;
        c->literal = chat_literals(a, w->template, &c->nliteral);
        chat_find_thoughts(c);
        compare_answers(c);
        compare_plain(c);
        compare_whole(c);
        compare_literals(c);
        arena_free(&c->scratch);
}
