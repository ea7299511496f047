/* Loop unmask: its settings in the form of runtime/unmask.h, and calls of the model. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#define SUREST(word) [SUREST_##word] = #word,
#define PACE(word) [PACE_##word] = #word,
static const char *const surest_word[] = {SUREST_WORDS(SUREST)};
static const char *const pace_word[] = {PACE_WORDS(PACE)};
#undef SUREST
#undef PACE

static double unmask_number_of(const Loop *l, const char *name, double otherwise)
{
        const Setting *s = loop_setting(l, name);
        return s ? s->number : otherwise;
}

static int unmask_word_of(const Loop *l, const char *name, const char *const *words, size_t n)
{
        const char *text = loop_text_setting(l, name);
        for (size_t i = 0; text && i < n; i++)
                if (!strcmp(words[i], text))
                        return (int)i;
        return 0;
}

UnmaskForm unmask_form(const Loop *l)
{
        return (UnmaskForm){.mask = (int32_t)unmask_number_of(l, "mask", -1),
                            .surest = (UnmaskSurest)unmask_word_of(l, "surest", surest_word,
                                                                   sizeof surest_word / sizeof *surest_word),
                            .pace = (UnmaskPace)unmask_word_of(l, "pace", pace_word,
                                                               sizeof pace_word / sizeof *pace_word),
                            .length = (int64_t)unmask_number_of(l, "length", UNMASK_USUAL_LENGTH),
                            .block = (int64_t)unmask_number_of(l, "block_length", 0),
                            .part = (int64_t)unmask_number_of(l, "part_length", 0),
                            .steps = (int64_t)unmask_number_of(l, "steps", 0),
                            .last_time = unmask_number_of(l, "last_time", 0.001),
                            .threshold = unmask_number_of(l, "threshold", 0),
                            .guidance = unmask_number_of(l, "guidance", 0),
                            .whole = unmask_number_of(l, "whole", 1) != 0,
                            .tempered = unmask_number_of(l, "tempered", 0) != 0,
                            .first_at_once = unmask_number_of(l, "first_at_once", 0) != 0};
}

const char *unmask_fault(const UnmaskForm *f)
{
        if (!f->whole && !f->block)
                return "a block_length: with `whole false`, the text ends with the current block";
        if (f->part && (!f->block || f->block % f->part))
                return "a block_length that is a multiple of part_length";
        if (f->first_at_once && f->whole)
                return "`whole false` for first_at_once: the first token of a block follows a completed text";
        if (f->threshold > 0 &&
            (f->pace == PACE_chance || (f->surest != SUREST_probability && f->surest != SUREST_margin)))
                return "surest \"probability\" or \"margin\", and no pace \"chance\", for a threshold";
        if (f->last_time >= 1)
                return "a last_time below 1, where times begin";
        return NULL;
}

int64_t unmask_context(const Graph *g, const UnmaskLoop *l)
{
        return dim_bound(g, l->tokens->type.dim[0]);
}

const char *unmask_form_text(Arena *a, const UnmaskForm *f)
{
        return arena_printf(a,
                            ".mask = %d, .surest = SUREST_%s, .pace = PACE_%s, .length = %lld, .block = "
                            "%lld, .part = %lld, .steps = %lld,\n        .last_time = %.17g, .threshold = "
                            "%.17g, .guidance = %.17g, .whole = %d, .tempered = %d, .first_at_once = %d",
                            f->mask, surest_word[f->surest], pace_word[f->pace], (long long)f->length,
                            (long long)f->block, (long long)f->part, (long long)f->steps, f->last_time,
                            f->threshold, f->guidance, f->whole, f->tempered, f->first_at_once);
}

/* --- calls ------------------------------------------------------------------------------------------------------------ */

struct UnmaskCall {
        Engine *engine;
        const Graph *g;
        const UnmaskLoop *loop;
        const char **wrong;
        void **filled;      /* [ninput]: values of a setting for the longest text; NULL: the tokens */
        const void **input; /* [ninput] */
        float **output;     /* [noutput] */
};

/* The values of a setting for the longest text, malloc'd. */
static void *unmask_filled(const Graph *g, const Input *in, double value)
{
        int64_t n = 1;
        for (int a = 0; a < in->type.rank; a++)
                n *= dim_bound(g, in->type.dim[a]);
        void *all = malloc((size_t)n * 4 + 1);
        for (int64_t i = 0; all && i < n; i++)
                if (in->type.dtype == REAL)
                        ((float *)all)[i] = (float)value;
                else
                        ((int32_t *)all)[i] = (int32_t)value;
        return all;
}

UnmaskCall *unmask_call_new(Engine *e, const Graph *g, const UnmaskLoop *loop, const char **wrong)
{
        UnmaskCall *c = calloc(1, sizeof *c);
        if (!c)
                return NULL;
        *c = (UnmaskCall){.engine = e,
                          .g = g,
                          .loop = loop,
                          .wrong = wrong,
                          .filled = calloc((size_t)g->ninput + 1, sizeof *c->filled),
                          .input = calloc((size_t)g->ninput + 1, sizeof *c->input),
                          .output = calloc((size_t)g->noutput + 1, sizeof *c->output)};
        bool good = c->filled && c->input && c->output;
        for (int i = 0; i < g->ninput && good; i++)
                if (&g->input[i] != loop->tokens)
                        good = (c->input[i] = c->filled[i] = unmask_filled(
                                        g, &g->input[i],
                                        unmask_number_of(loop->loop, input_name(&g->input[i]), 0))) != NULL;
        if (good)
                return c;
        unmask_call_free(c);
        return NULL;
}

void unmask_call_free(UnmaskCall *c)
{
        for (int i = 0; c && c->filled && i < c->g->ninput; i++)
                free(c->filled[i]);
        if (c) {
                free(c->filled);
                free(c->input);
                free(c->output);
        }
        free(c);
}

int unmask_call(void *of, const int32_t *tokens, int64_t kept, int64_t n, int64_t first, float *logits)
{
        UnmaskCall *c = of;
        const Graph *g = c->g;
        const int64_t columns = dim_bound(g, g->output[c->loop->output].node->type.dim[1]);
        int64_t size[MAX_NAMED] = {0};
        for (int i = 0; i < g->nnamed; i++)
                size[i] = i == g->past ? 0 : n;
        if (!g->block) {
                kept = first = 0;
        } else if (engine_rewind(c->engine, kept)) { /* sums can't be taken back so far */
                kept = 0;
                engine_rewind(c->engine, 0);
        }
        for (int i = 0; i < g->ninput; i++)
                if (&g->input[i] == c->loop->tokens)
                        c->input[i] = tokens + kept;
        c->output[c->loop->output] = logits + first * columns;
        const EngineCall call = {c->input, c->output, size};
        *c->wrong = g->block ? engine_advance(c->engine, &call, n - kept, first - kept)
                             : engine_forward(c->engine, &call);
        return *c->wrong != NULL;
}
