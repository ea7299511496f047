/* The texts of a conversation, settings of `loop generate`, as in runtime/talk.h. */
#include <string.h>

#include "run.h"

typedef struct {
        Arena *arena;
        const TokenTables *tables;
        const TextHole *hole; /* [holes] */
        int holes;
        TalkPart *part;
        int n, cap;
        Text *unknown; /* texts that look like special tokens but are not: each once, separated by ', ' */
} TalkParts;

static void talk_add_part(TalkParts *p, int32_t token, const char *text)
{
        GROW(p->arena, p->part, p->n, p->cap);
        p->part[p->n++] = (TalkPart){token, text};
}

static void add_plain(TalkParts *p, const char *begin, const char *end)
{
        if (begin < end)
                talk_add_part(p, TALK_TEXT, arena_strndup(p->arena, begin, end - begin));
}

const TokenAdded *added_token_at(const TokenTables *t, const char *text, const char *end)
{
        const unsigned char *p = (const unsigned char *)text, *q = (const unsigned char *)end;
        int64_t raw = t->head->raw_added, all = t->count[TOKENS_ADDED];
        const TokenAdded *found = token_added_at(t, p, q, 0, raw);
        return found ? found : token_added_at(t, p, q, raw, all);
}

/* Length of a text that looks like a special token, <|im_end|> <start_of_turn> </s>; 0: none.  A tag such
 * as <tool> is text. */
static size_t mark_at(const char *text)
{
        static const char *const bar[] = {"|", "\xef\xbd\x9c", NULL}; /* the second is wide */
        if (*text != '<')
                return 0;
        for (int i = 0; bar[i]; i++) {
                size_t m = strlen(bar[i]), n = strcspn(text, "> \n{");
                if (n > 2 * m + 1 && text[n] == '>' && !strncmp(text + 1, bar[i], m) &&
                    !strncmp(text + n - m, bar[i], m))
                        return n + 1;
        }
        size_t slash = text[1] == '/';
        const char *word = text + 1 + slash;
        size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        bool known = (n == 1 && *word == 's') ||
                     (n == 3 && (!strncmp(word, "bos", 3) || !strncmp(word, "eos", 3)));
        return word[n] == '>' && (known || memchr(word, '_', n)) ? slash + n + 2 : 0;
}

static void find_strange(TalkParts *p, const char *text)
{
        size_t n = mark_at(text);
        const char *mark = n ? arena_printf(p->arena, "%.*s", (int)n, text) : NULL;
        if (mark && !strstr(p->unknown->data, mark))
                text_printf(p->unknown, "%s%s", p->unknown->n ? ", " : "", mark);
}

static void talk_split(TalkParts *p, const char *text)
{
        const char *plain = text, *end = text + strlen(text);
        while (*text) {
                const TokenAdded *added = added_token_at(p->tables, text, end);
                int32_t kind = added && (added->flags & ADDED_CONTROL) ? added->token : TALK_END;
                size_t n = added ? added->n : 1;
                for (int i = 0; i < p->holes && !added; i++)
                        if (!strncmp(text, p->hole[i].text, strlen(p->hole[i].text))) {
                                kind = p->hole[i].kind;
                                n = strlen(p->hole[i].text);
                        }
                if (kind != TALK_END) {
                        add_plain(p, plain, text);
                        talk_add_part(p, kind, NULL);
                        plain = text + n;
                } else if (!added) {
                        find_strange(p, text);
                }
                text += n;
        }
        add_plain(p, plain, text);
}

const TalkPart *text_parts(Text *unknown, const TokenTables *t, const char *text, const TextHole *hole,
                           int holes)
{
        TalkParts p = {
                .arena = unknown->arena, .tables = t, .hole = hole, .holes = holes, .unknown = unknown};
        talk_split(&p, text);
        talk_add_part(&p, TALK_END, NULL);
        return p.part;
}

/* with_holes: `{}` and `{system}` are placeholders for messages. */
static const TalkPart *talk_split_parts(Text *unknown, const TokenTables *t, const char *text,
                                        bool with_holes)
{
        static const TextHole hole[] = {{"{}", TALK_SAID}, {"{system}", TALK_SYSTEM}};
        return text ? text_parts(unknown, t, text, hole, with_holes ? 2 : 0) : NULL;
}

/* Number of roles in a list. */
static int roles_of(const char *text)
{
        int roles = 0;
        if (text && strstr(text, "system"))
                roles |= TALK_OF_SYSTEM;
        if (text && strstr(text, "user"))
                roles |= TALK_OF_USER;
        if (text && strstr(text, "answer"))
                roles |= TALK_OF_ANSWER;
        return roles;
}

static int white_of(const char *name)
{
        static const char *const names[] = {
                [TALK_WHITE_NEWLINES] = "newlines", [TALK_WHITE_START] = "start", [TALK_WHITE_ENDS] = "ends"};
        for (int i = TALK_WHITE_NEWLINES; name && i <= TALK_WHITE_ENDS; i++)
                if (!strcmp(name, names[i]))
                        return i;
        return TALK_WHITE_STAYS;
}

bool graph_talks(const Graph *g)
{
        return loop_text_setting(graph_loop(g, "generate"), "user") != NULL;
}

const TalkForm *talk_form(Arena *a, const Graph *g, const Tokenizer *t, const char **unknown)
{
        if (!t || !graph_talks(g))
                return NULL;
        TalkForm *f = NEW(a, TalkForm);
        const Loop *l = graph_loop(g, "generate");
        Text *found = text_new(a);
        text_add(found, "", 0);
        f->head = talk_split_parts(found, &t->tables, loop_text_setting(l, "head"), false);
        f->system = talk_split_parts(found, &t->tables, loop_text_setting(l, "system"), true);
        f->first_user = talk_split_parts(found, &t->tables, loop_text_setting(l, "first_user"), true);
        f->user = talk_split_parts(found, &t->tables, loop_text_setting(l, "user"), true);
        f->answer = talk_split_parts(found, &t->tables, loop_text_setting(l, "answer"), true);
        f->open = talk_split_parts(found, &t->tables, loop_text_setting(l, "open"), false);
        f->default_system = loop_text_setting(l, "default_system");
        f->trim = roles_of(loop_text_setting(l, "trim"));
        f->trim_newlines = roles_of(loop_text_setting(l, "trim_newlines"));
        f->thought_end = loop_text_setting(l, "thought_end");
        f->thought_white = white_of(loop_text_setting(l, "thought_white"));
        *unknown = found->n ? found->data : NULL;
        return f;
}

/* --- as C --- */

static void print_parts(Arena *a, Text *t, const char *name, const TalkPart *p)
{
        static const char *const kind[] = {
                [-TALK_END] = "TALK_END", [-TALK_SAID] = "TALK_SAID", [-TALK_SYSTEM] = "TALK_SYSTEM"};
        if (!p)
                return;
        text_printf(t, "        .%s = (const TalkPart[]){", name);
        for (;; p++) {
                if (p->token == TALK_TEXT)
                        text_printf(t, "{TALK_TEXT, %s}, ", c_string(a, p->text));
                else if (p->token >= 0)
                        text_printf(t, "{%d, NULL}, ", p->token);
                else
                        text_printf(t, "{%s, NULL}%s", kind[-p->token], p->token == TALK_END ? "},\n" : ", ");
                if (p->token == TALK_END)
                        return;
        }
}

const char *talk_form_text(Arena *a, const TalkForm *f)
{
        Text *t = text_new(a);
        text_printf(t, "/* How a conversation is written: special tokens by number, and plain texts. */\n"
                       "static const TalkForm talk_form = {\n");
        print_parts(a, t, "head", f->head);
        print_parts(a, t, "system", f->system);
        print_parts(a, t, "first_user", f->first_user);
        print_parts(a, t, "user", f->user);
        print_parts(a, t, "answer", f->answer);
        print_parts(a, t, "open", f->open);
        if (f->default_system)
                text_printf(t, "        .default_system = %s,\n", c_string(a, f->default_system));
        if (f->thought_end)
                text_printf(t, "        .thought_end = %s, .thought_white = %d,\n",
                            c_string(a, f->thought_end), f->thought_white);
        text_printf(t, "        .trim = %d, .trim_newlines = %d};\n", f->trim, f->trim_newlines);
        return t->data;
}
