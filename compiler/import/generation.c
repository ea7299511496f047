/* Where a text begins and ends, as the published files say: the model's `loop generate`.
 *
 * Ids of generation_config.json come first, then those of the configuration.  Tokens that end a text are all of eos_token_id, a number
 * or a list; it begins with bos_token_id, or where there is an encoder with decoder_start_token_id.  What the files leave out is the
 * family's. */
#include <math.h>

#include "import_private.h"

typedef struct {
        int n;
        int64_t id[MAX_STOP_TOKENS];
} TokenIds;

static SaidObject *generation_config(const Import *m)
{
        const SaidField *f = object_find(m->beside, intern(m->program->names, "generation_config", -1));
        return f ? f->value.object : NULL;
}

static const SaidField *in_order(const Import *m, const char *key, int place)
{
        const SaidObject *const object[] = {generation_config(m), m->inner, m->root};
        return object[place] ? object_find(object[place], intern(m->program->names, key, -1)) : NULL;
}

static bool has_id(const TokenIds *ids, int64_t id)
{
        for (int i = 0; i < ids->n; i++)
                if (ids->id[i] == id)
                        return true;
        return false;
}

/* A negative id is how some files write none. */
static void add_id(Import *m, TokenIds *ids, const SaidField *f, Said v)
{
        if (v.kind != SAID_NUMBER || v.number != floor(v.number) || v.number > INT32_MAX) {
                config_error(m, f->span, "%s is %s; ids of tokens are wanted", f->key,
                             said_shown(m->arena, f->value));
                return;
        }
        if (v.number < 0 || has_id(ids, (int64_t)v.number))
                return;
        if (ids->n == MAX_STOP_TOKENS)
                config_error(m, f->span, "more than %d tokens end a text", MAX_STOP_TOKENS);
        else
                ids->id[ids->n++] = (int64_t)v.number;
}

static void add_ids(Import *m, TokenIds *ids, const SaidField *f)
{
        if (!f || f->value.kind == SAID_NONE)
                return;
        if (f->value.kind != SAID_LIST)
                add_id(m, ids, f, f->value);
        for (int i = 0; f->value.kind == SAID_LIST && i < f->value.list->n && !m->failed; i++)
                add_id(m, ids, f, f->value.list->item[i]);
}

static TokenIds first_token(Import *m)
{
        static const char *const key[] = {"decoder_start_token_id", "bos_token_id"};
        TokenIds ids = {0};
        for (int k = 0; k < 2; k++)
                for (int place = 0; place < 3 && !ids.n && !m->failed; place++)
                        add_ids(m, &ids, in_order(m, key[k], place));
        return ids;
}

static TokenIds last_tokens(Import *m)
{
        TokenIds ids = {0};
        for (int place = 0; place < 3 && !m->failed; place++)
                add_ids(m, &ids, in_order(m, "eos_token_id", place));
        if (m->answer_end > 0 && !has_id(&ids, m->answer_end) && ids.n < MAX_STOP_TOKENS)
                ids.id[ids.n++] = m->answer_end;
        return ids;
}

/* The number of tokens, where it is stated; else INFINITY. */
static double vocabulary(const Import *m)
{
        for (int i = 0; i < m->nsetting; i++)
                if (!strcmp(m->setting[i].name, "vocab") && !m->setting[i].given &&
                    m->setting[i].value.kind == SAID_NUMBER)
                        return m->setting[i].value.number;
        return INFINITY;
}

static void check_start(Import *m, const TokenIds *start)
{
        double n = vocabulary(m);
        if (start->n && (double)start->id[0] >= n)
                config_error(m, m->root->n ? m->root->field[0].span : (Span){0},
                             "a text begins with token %lld, and the vocabulary has %.0f",
                             (long long)start->id[0], n);
}

void generation_print(Import *m, Definition *family, Text *t)
{
        if (!family_generates(m, family))
                return;
        TokenIds start = first_token(m), stop = last_tokens(m);
        check_start(m, &start);
        if (!start.n && !stop.n && !m->nknob)
                return;
        text_printf(t, m->nknob ? "    loop generate {\n       " : "    loop generate {");
        if (start.n)
                text_printf(t, " start %lld%s", (long long)start.id[0], stop.n ? " " : "");
        for (int i = 0; i < stop.n; i++)
                text_printf(t, "%s%lld", i ? ", " : stop.n > 1 ? " stop [" : " stop ", (long long)stop.id[i]);
        text_printf(t, "%s%s", stop.n > 1 ? "]" : "", m->nknob ? "\n" : " }\n");
        for (int i = 0; i < m->nknob; i++)
                text_printf(t, "        %s\n", spec_tree_text(m->arena, m->knob[i]));
        if (m->nknob)
                text_printf(t, "    }\n");
}

/* Whether a key asks for something: not none, nothing, or what changes nothing. */
static bool asks(const SaidField *f)
{
        if (!f || f->value.kind == SAID_NONE)
                return false;
        if (f->value.kind == SAID_LIST)
                return f->value.list->n > 0;
        if (f->value.kind == SAID_BOOL)
                return f->value.number != 0;
        return f->value.kind != SAID_NUMBER || (f->value.number != 0 && f->value.number != 1);
}

Paths generation_not_done(Import *m, Definition *family)
{
        static const char *const key[] = {"suppress_tokens",
                                          "begin_suppress_tokens",
                                          "forced_bos_token_id",
                                          "forced_eos_token_id",
                                          "forced_decoder_ids",
                                          "bad_words_ids",
                                          "num_beams",
                                          "repetition_penalty",
                                          "no_repeat_ngram_size",
                                          "temperature",
                                          "top_k",
                                          "top_p"};
        Paths found = {0};
        for (size_t k = 0; k < sizeof key / sizeof *key && family_generates(m, family); k++)
                for (int place = 0; place < 3; place++)
                        if (asks(in_order(m, key[k], place)) && !paths_have(&found, key[k]))
                                paths_add(m->arena, &found, key[k]);
        return found;
}
