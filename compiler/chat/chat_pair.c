/* Splits a template of pairs: its messages have the roles query and document, and a prompt is the system's. */
#include "chat_private.h"

static const struct {
        const char *role, *mark, *hole;
} pair_mark[] = {{"system", "Qs0zvxQ", "{prompt}"},
                 {"query", "Qq1zvxQ", "{first}"},
                 {"document", "Qd2zvxQ", "{second}"}};
enum { PAIR_MARKS = 3 };

typedef struct {
        Arena *arena;
        const ChatWriter *writer;
        ChatFault *fault;
        const char *why;
} PairCut;

/* The text of a pair whose messages are marks with `around` on both sides; NULL: the template fails. */
static const char *pair_text(PairCut *c, bool system, const char *around)
{
        json_t *all = c->writer->variables ? json_copy((json_t *)c->writer->variables) : json_object(),
               *list = json_array();
        ChatText text = {0};
        for (int i = system ? 0 : 1; i < PAIR_MARKS; i++) {
                json_t *said =
                        json_string(arena_printf(c->arena, "%s%s%s", around, pair_mark[i].mark, around));
                json_array_append_new(list, json_pack("{s:s, s:o}", "role", pair_mark[i].role, "content",
                                                      c->writer->parts ? json_pack("[{s:s, s:o}]", "type",
                                                                                   "text", "text", said)
                                                                       : said));
        }
        json_object_set_new(all, "messages", list);
        const bool good = chat_render(c->arena, c->writer->template, all, c->writer->date, &text, c->fault);
        json_decref(all);
        return good ? text.text : NULL;
}

/* The text with a hole in the place of each mark; NULL: a mark is not there once, with `around` on both sides. */
static const char *pair_holes(PairCut *c, const char *text, bool system, const char *around)
{
        for (int i = system ? 0 : 1; i < PAIR_MARKS && text; i++) {
                const char *mark = arena_printf(c->arena, "%s%s%s", around, pair_mark[i].mark, around),
                           *found = strstr(text, mark);
                if (!found || strstr(found + 1, mark) || strstr(text, pair_mark[i].hole))
                        return NULL;
                text = arena_printf(c->arena, "%.*s%s%s", (int)(found - text), text, pair_mark[i].hole,
                                    found + strlen(mark));
        }
        return text;
}

/* Renders a pair twice, so that changes of white space in the texts are found. */
static const char *pair_template(PairCut *c, bool system)
{
        const char *text = pair_text(c, system, ""), *wide = pair_text(c, system, " \n"),
                   *plain = text ? pair_holes(c, text, system, "") : NULL;
        if (!text || !wide)
                c->why = "rendering a pair fails";
        else if (!plain)
                c->why = "it does not print the texts of the messages query and document once each";
        else if (!(wide = pair_holes(c, wide, system, " \n")) || strcmp(plain, wide) != 0)
                c->why = "it changes white space of the texts";
        else
                return plain;
        return NULL;
}

/* The text in the place of the hole that makes `whole` from a template; NULL: none. */
static const char *text_of_hole(Arena *a, const char *template, const char *whole)
{
        const char *hole = strstr(template, pair_mark[0].hole);
        const size_t before = (size_t)(hole - template), behind = strlen(hole + strlen(pair_mark[0].hole)),
                     n = strlen(whole);
        if (n < before + behind || strncmp(template, whole, before) != 0 ||
            strcmp(whole + n - behind, hole + strlen(pair_mark[0].hole)) != 0)
                return NULL;
        return arena_strndup(a, whole + before, (int64_t)(n - before - behind));
}

const char *chat_pair(Arena *a, const ChatWriter *w, const char **with_prompt, const char **own_prompt,
                      ChatFault *fault, const char **why)
{
        ChatFault refused = {0};
        PairCut c = {.arena = a, .writer = w, .fault = &refused};
        *with_prompt = pair_template(&c, true);
        *own_prompt = NULL;
        c.fault = fault;
        c.why = NULL;
        const char *plain = pair_template(&c, false);
        if (plain && *with_prompt)
                *own_prompt = text_of_hole(a, *with_prompt, plain);
        *why = c.why;
        return plain;
}
