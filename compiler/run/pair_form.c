/* The template of pairs of texts, a setting of `loop classify`, as in runtime/token_pairs.h. */
#include <stdlib.h>
#include <string.h>

#include "run.h"

enum { HOLE_FIRST = -10, HOLE_SECOND = -11, HOLE_PROMPT = -12 };

/* Number of tokens at the end of a pair that do not depend on its texts: those that two pairs share. */
static int64_t pair_tail(Arena *a, const TokenTables *t)
{
        static const char *const filler[] = {"0", "1 2 3 4"};
        int32_t *ids[2];
        int64_t n[2], all, tail = 0;
        for (int i = 0; i < 2; i++) {
                const int64_t bytes = (int64_t)strlen(filler[i]), room = tokens_pair_room(t, bytes, bytes);
                ids[i] = NEW_ARRAY(a, int32_t, room);
                n[i] = tokens_encode_pair(t, filler[i], bytes, filler[i], bytes, 0, ids[i],
                                          NEW_ARRAY(a, int32_t, room), &all,
                                          arena_alloc(a, tokens_pair_scratch(t, bytes, bytes)));
        }
        while (tail < n[0] && tail < n[1] && ids[0][n[0] - 1 - tail] == ids[1][n[1] - 1 - tail])
                tail++;
        return tail;
}

/* The flags of a special token that change the text around it, as its text; NULL: it has none. */
static const char *stripping_token(Arena *a, const TokenTables *t, int32_t token)
{
        const TokenAdded *added = token_section(t, TOKENS_ADDED);
        for (int64_t i = 0; i < t->count[TOKENS_ADDED]; i++)
                if (added[i].token == token && (added[i].flags & (ADDED_STRIPS_LEFT | ADDED_STRIPS_RIGHT)))
                        return arena_strndup(a,
                                             (const char *)token_section(t, TOKENS_ADDED_BYTES) + added[i].at,
                                             added[i].n);
        return NULL;
}

static PairPart pair_part(const TalkPart *p, const char *prompt)
{
        switch (p->token) {
        case HOLE_FIRST: return (PairPart){ITEM_FIRST, NULL};
        case HOLE_SECOND: return (PairPart){ITEM_SECOND, NULL};
        case HOLE_PROMPT: return (PairPart){ITEM_TEXT, prompt ? prompt : ""};
        case TALK_TEXT: return (PairPart){ITEM_TEXT, p->text};
        default: return (PairPart){p->token, NULL};
        }
}

const PairForm *pair_form(Arena *a, const Loop *l, const Tokenizer *t, const char *prompt, const char **wrong)
{
        static const TextHole hole[] = {
                {"{first}", HOLE_FIRST}, {"{second}", HOLE_SECOND}, {"{prompt}", HOLE_PROMPT}};
        const char *text = loop_text_setting(l, "template");
        *wrong = NULL;
        if (!text)
                return NULL;
        PairForm *f = NEW(a, PairForm);
        Text *unknown = text_new(a);
        text_add(unknown, "", 0);
        const TalkPart *p = text_parts(unknown, &t->tables, text, hole, 3);
        while (p[f->parts].token != TALK_END)
                f->parts++;
        PairPart *part = NEW_ARRAY(a, PairPart, f->parts);
        for (int64_t i = 0; i < f->parts; i++) {
                const char *strips = p[i].token >= 0 ? stripping_token(a, &t->tables, p[i].token) : NULL;
                if (strips)
                        *wrong = arena_printf(
                                a,
                                "the template of pairs has the token %s, which strips white space "
                                "around it; that is not supported",
                                strips);
                part[i] = pair_part(&p[i], prompt);
        }
        if (unknown->n)
                *wrong = arena_printf(
                        a,
                        "the template of pairs has %s, which the tokenizer does not have as special "
                        "tokens",
                        unknown->data);
        f->part = part;
        TokenTables with = t->tables;
        with.pair_form = f;
        f->tail = *wrong ? 0 : pair_tail(a, &with);
        return f;
}

/* --- as C --- */

const char *pair_form_text(Arena *a, const PairForm *f)
{
        static const char *const kind[] = {
                [-ITEM_FIRST] = "ITEM_FIRST", [-ITEM_SECOND] = "ITEM_SECOND", [-ITEM_TEXT] = "ITEM_TEXT"};
        Text *t = text_new(a);
        text_printf(t, "/* The template of pairs: special tokens by number, and plain texts. */\n"
                       "static const PairPart pair_part[] = {\n");
        for (int64_t i = 0; i < f->parts; i++)
                text_printf(t, "        {%s, %s},\n",
                            f->part[i].token < 0 ? kind[-f->part[i].token]
                                                 : arena_printf(a, "%d", f->part[i].token),
                            f->part[i].token == ITEM_TEXT ? c_string(a, f->part[i].text) : "NULL");
        text_printf(t, "};\nstatic const PairForm pair_form = {pair_part, %lld, %lld};\n\n",
                    (long long)f->parts, (long long)f->tail);
        return t->data;
}
