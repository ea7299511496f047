/* What a golden file is about, worked out. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "inputs.h"
#include "parse.h"
#include "taps.h"
#include "text.h"
#include "trial.h"
#include "trial_program.h"
#include "weight_pool.h"

/* All of it, released in one place. */
typedef struct {
        Golden *golden;
        Model m;
        Plan *plan;
        Checkpoint *checkpoint;
        Tokenizer tokenizer;
        WeightPool *pool;
        const float *weights;
        int64_t size[MAX_NAMED];
        int32_t *token; /* of the prompt */
        int64_t ntoken;
        Tensor *input;
        Trial trial;
} Run;

static uint64_t hash_bytes(uint64_t h, const unsigned char *b, size_t n)
{
        for (size_t i = 0; i < n; i++)
                h = (h ^ b[i]) * UINT64_C(0x100000001b3);
        return h;
}

static bool hash_file(const char *path, uint64_t *hash)
{
        FILE *f = fopen(path, "rb");
        unsigned char block[1 << 14];
        *hash = HASH_START;
        for (size_t n; f && (n = fread(block, 1, sizeof block, f)) > 0;)
                *hash = hash_bytes(*hash, block, n);
        bool good = f && !ferror(f);
        if (f)
                fclose(f);
        return good;
}

/* Of the graph as its dump shows it.  Not by open_memstream(): glibc's loses text without a word where memory is short. */
static bool hash_graph(const Graph *g, uint64_t *hash)
{
        FILE *f = tmpfile();
        if (f)
                graph_dump(f, g);
        bool good = f && !fflush(f) && !ferror(f) && !fseek(f, 0, SEEK_SET);
        *hash = HASH_START;
        for (int c; good && (c = getc(f)) != EOF;)
                *hash = (*hash ^ (unsigned)c) * UINT64_C(0x100000001b3);
        good = good && !ferror(f);
        if (f)
                fclose(f);
        return good;
}

/* --- making ready --------------------------------------------------------------------------------------------------- */

/* A prompt is tokens, by the tokenizer or as numbers. */
static const char *read_prompt(Run *r, const Graph *g)
{
        const Options *o = &r->golden->o;
        bool fits = g->ninput == 1 && g->input[0].bound && g->input[0].type.rank == 1 && g->time >= 0;
        if (!fits)
                return "a prompt is for a causal model with one input of token ids [time]";
        const char *text = o->prompt;
        if (o->tokenizer) {
                r->token = text_to_tokens(&r->tokenizer, text, (int64_t)strlen(text), &r->ntoken);
                return r->token ? NULL : no_memory;
        }
        char *end;
        r->token = malloc((strlen(text) / 2 + 2) * sizeof *r->token);
        for (long id; r->token && (id = strtol(text, &end, 10), end != text); text = end)
                r->token[r->ntoken++] = id >= 0 && id < g->input[0].bound ? (int32_t)id : -1;
        for (int64_t i = 0; i < r->ntoken; i++)
                if (r->token[i] < 0)
                        return "the prompt has a number that is no token";
        if (!r->token)
                return no_memory;
        return r->ntoken && !*text ? NULL : "without a tokenizer the prompt is token numbers";
}

static const char *make_inputs(Run *r)
{
        const Graph *g = r->m.graph;
        hashed_sizes(g, HASHED_POSITIONS, r->size);
        r->input = NEW_ARRAY(&r->m.arena, Tensor, g->ninput);
        if (!r->golden->o.prompt)
                return hashed_inputs(g, r->size, r->input) ? NULL : no_memory;
        const char *wrong = read_prompt(r, g);
        if (wrong)
                return wrong;
        if (r->ntoken > g->named[g->time].bound)
                return "the prompt is longer than the context";
        r->size[g->time] = r->ntoken;
        Tensor *t = &r->input[0];
        *t = (Tensor){.rank = 1, .dim = {r->ntoken}, .data = malloc((size_t)r->ntoken * sizeof(double))};
        for (int64_t i = 0; t->data && i < r->ntoken; i++)
                t->data[i] = r->token[i];
        return t->data ? NULL : no_memory;
}

/* Of the model whatever is tapped. */
static const char *hash_untapped(Golden *golden)
{
        Options plain = golden->o;
        Model m;
        const char *wrong = NULL;
        plain.ntap = 0;
        if (!model_load(&m, &plain, &golden->code))
                wrong = "the model can't be read";
        else if (!hash_graph(m.oracle, &golden->spec)) {
                golden->code = WRONG_ENVIRONMENT;
                wrong = arena_printf(&golden->arena, "a temporary file can't be written: %s",
                                     strerror(errno));
        }
        model_free(&m);
        return wrong;
}

static const char *load(Run *r, const Target *target)
{
        Golden *golden = r->golden;
        const Options *o = &golden->o;
        if (!model_load(&r->m, o, &golden->code))
                return "the model can't be read";
        const char *wrong = hash_untapped(golden);
        if (wrong)
                return wrong;
        golden->code = WRONG_INPUT;
        if (!model_passes(&r->m, o))
                return "the model can't be compiled";
        if (o->tokenizer && !load_tokenizer(&r->m, o, &r->tokenizer)) {
                golden->code = failure_code(&r->m);
                return "the tokenizer can't be read";
        }
        r->plan = model_plan(&r->m, o, target);
        if (!r->plan)
                return "the model can't be compiled";
        Weights *w = open_weights(&r->m, o, &r->checkpoint);
        if (!w) {
                golden->code = failure_code(&r->m);
                return "the weights can't be read";
        }
        golden->code = WRONG_ENVIRONMENT;
        if (o->tokenizer && !hash_file(o->tokenizer, &golden->tokenizer_hash))
                return "the tokenizer can't be read";
        if (o->weights && !hash_file(o->weights, &golden->weights_hash))
                return "the weights can't be read";
        WeightSource source = {w, weights_read};
        r->pool = pool_new();
        return r->pool ? pool_fit(r->pool, r->plan, &source, 1, &r->weights) : no_memory;
}

/* --- values ------------------------------------------------------------------------------------------------------------ */

static void add_value(Golden *g, const char *name, const char *shape, const float *x, int64_t n)
{
        GoldenValue *v = golden_value_new(g);
        *v = (GoldenValue){.name = arena_strdup(&g->arena, name), .shape = arena_strdup(&g->arena, shape)};
        v->hash = hash_floats(HASH_START, x, n);
        v->shown = n < SHOWN ? (int)n : SHOWN;
        double squares = 0;
        for (int64_t i = 0; i < n; i++)
                squares += (double)x[i] * (double)x[i];
        v->norm = sqrt(squares);
        for (int i = 0; i < v->shown; i++) {
                v->first[i] = x[i];
                v->last[i] = x[n - v->shown + i];
        }
}

static const char *shape_text(Arena *a, const Type *t, const int64_t *size, int from)
{
        Text *s = text_new(a);
        text_printf(s, "[");
        for (int i = from; i < t->rank; i++)
                text_printf(s, "%s%" PRId64, i > from ? ", " : "", dim_value(t->dim[i], size));
        text_printf(s, "]");
        return s->data;
}

static const char *name_of(const Output *o)
{
        return o->tap ? o->tap : o->name;
}

/* Of all trips of one repeat, stacked: the length of "layer" in "layer[i].attn"; else 0. */
static int stacked(const Output *o)
{
        const char *name = name_of(o), *all = strstr(name, "[i]");
        return all && o->node->type.rank > 0 && !strstr(all + 3, "[i]") ? (int)(all - name) : 0;
}

/* "layer[i].attn" of all trips is a value for each trip: "layer[0].attn". */
static void add_trip(Run *r, int output, int64_t trip)
{
        Arena *a = &r->golden->arena;
        const Output *o = &r->m.graph->output[output];
        const Type *t = &o->node->type;
        int length = stacked(o);
        int64_t n = type_count(t, r->size) / dim_value(t->dim[0], r->size);
        add_value(r->golden,
                  arena_printf(a, "%.*s[%" PRId64 "]%s", length, name_of(o), trip, name_of(o) + length + 3),
                  shape_text(a, t, r->size, 1), r->trial.output[output] + trip * n, n);
}

/* Taps before outputs, and those of one repeat trip by trip: as they are computed. */
static void add_values(Run *r)
{
        const Graph *g = r->m.graph;
        for (int taps = 1; taps >= 0; taps--)
                for (int i = 0, end; i < g->noutput; i = end) {
                        const Output *o = &g->output[i];
                        end = i + 1;
                        if ((o->tap != NULL) != (taps != 0))
                                continue;
                        int length = stacked(o);
                        if (!length) {
                                const Type *t = &o->node->type;
                                add_value(r->golden, name_of(o), shape_text(&r->golden->arena, t, r->size, 0),
                                          r->trial.output[i], type_count(t, r->size));
                                continue;
                        }
                        while (end < g->noutput && stacked(&g->output[end]) == length &&
                               !strncmp(name_of(&g->output[end]), name_of(o), (size_t)length))
                                end++;
                        for (int64_t trip = 0; trip < dim_value(o->node->type.dim[0], r->size); trip++)
                                for (int k = i; k < end; k++)
                                        add_trip(r, k, trip);
                }
}

/* --- text -------------------------------------------------------------------------------------------------------------- */

static bool gather(void *to, const char *text, int64_t n)
{
        Text *t = to;
        for (int64_t i = 0; i < n; i++) {
                unsigned char c = (unsigned char)text[i];
                if (c == '"' || c == '\\')
                        text_printf(t, "\\%c", c);
                else
                        text_printf(t, c == '\n' ? "\\n" : c < ' ' || c == 127 ? "\\x%02x" : "%c", c);
        }
        return true;
}

static const char *make_text(Run *r, JitMode mode)
{
        Golden *g = r->golden;
        const char *wrong = why_not_generating(r->m.graph);
        if (!r->token || wrong) {
                g->code = WRONG_INPUT;
                return "steps are for a model that generates, and want a prompt";
        }
        Engine *e = engine_new(r->plan, r->weights, 1, mode, &wrong);
        if (!e)
                return wrong;
        Text *t = text_new(&g->arena);
        Generation how = {.steps = g->o.steps, .chunk = INT64_MAX, .show = gather, .to = t};
        Generated made;
        text_printf(t, "\"");
        wrong = generate(e, r->plan, g->o.tokenizer ? &r->tokenizer : NULL, r->token, r->ntoken, &how, &made);
        text_printf(t, "\"");
        g->text = t->data;
        engine_free(e);
        return wrong;
}

static const char *work_out(Run *r, JitMode mode)
{
        const Graph *g = r->m.graph;
        const char *wrong = make_inputs(r);
        r->golden->code = wrong && !lacks_memory(wrong) ? WRONG_INPUT : WRONG_ENVIRONMENT;
        if (wrong)
                return wrong;
        r->trial = (Trial){.size = r->size, .input = r->input, .sequential = is_sequential(g, r->size)};
        r->trial.output = NEW_ARRAY(&r->m.arena, float *, g->noutput);
        wrong = trial_engine(r->plan, r->weights, mode, &r->trial);
        if (wrong)
                return wrong;
        if (r->trial.run >= 0)
                return arena_printf(&r->golden->arena,
                                    "%s[%" PRId64 "] is %a, and by other threads or pieces %a",
                                    g->output[r->trial.at_output].name, r->trial.at, (double)r->trial.one,
                                    (double)r->trial.other);
        add_values(r);
        return r->golden->o.steps ? make_text(r, mode) : NULL;
}

const char *golden_run(Golden *g, const Target *t, JitMode mode)
{
        Run r = {.golden = g};
        g->nvalue = 0;
        g->text = NULL;
        const char *wrong = load(&r, t);
        if (!wrong)
                wrong = work_out(&r, mode);
        if (wrong)
                wrong = arena_strdup(&g->arena, wrong);
        for (int i = 0; r.trial.output && i < r.m.graph->noutput; i++)
                free(r.trial.output[i]);
        for (int i = 0; r.input && i < r.m.graph->ninput; i++)
                tensor_free(&r.input[i]);
        free(r.token);
        checkpoint_close(r.checkpoint);
        tokenizer_free(&r.tokenizer);
        pool_free(r.pool);
        model_free(&r.m);
        return wrong;
}
