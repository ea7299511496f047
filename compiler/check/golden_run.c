/* Computes the content of a golden file. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "import/import.h"

/* All resources, freed in one function. */
typedef struct {
        Golden *golden;
        Model m;
        Plan *plan;
        Checkpoint *checkpoint;
        Weights *from;
        Tokenizer tokenizer;
        Recorded given;       /* inputs from a file */
        PackedWeights packed; /* just in time */
        int64_t size[MAX_NAMED];
        int32_t *token; /* of the prompt */
        int64_t ntoken;
        Tensor *input, *test_run_input; /* created here; ownership passed to */
        TestRun test_run;
} GoldenRun;

static bool hash_file(const char *path, uint64_t *hash)
{
        const char *why;
        FILE *f = input_open(path, &why);
        unsigned char block[1 << 14];
        *hash = HASH_START;
        for (size_t n; f && (n = fread(block, 1, sizeof block, f)) > 0;)
                *hash = hash_bytes(*hash, block, n);
        bool good = f && !ferror(f);
        if (f)
                fclose(f);
        return good;
}

/* Hash of the file, or, if there are several, of the tables made from them. */
static bool hash_tokenizer(const Tokenizer *t, const char *path, uint64_t *hash)
{
        if (t->block.is_open_ended)
                return hash_file(path, hash);
        *hash = hash_bytes(HASH_START, t->block.block, (size_t)t->block.size);
        return true;
}

/* Hash of the graph's dump.  Not by open_memstream(): glibc's drops text silently if memory is short. */
bool golden_hash(const Graph *g, uint64_t *hash)
{
        FILE *f = tmpfile();
        if (f)
                graph_dump(f, g);
        bool good = f && !fflush(f) && !ferror(f) && !fseek(f, 0, SEEK_SET);
        *hash = HASH_START;
        unsigned char block[1 << 14];
        for (size_t n; good && (n = fread(block, 1, sizeof block, f)) > 0;)
                *hash = hash_bytes(*hash, block, n);
        good = good && !ferror(f);
        if (f)
                fclose(f);
        return good;
}

/* --- making ready --------------------------------------------------------------------------------------------------- */

/* Tokens of a prompt, by the tokenizer or as numbers. */
static const char *golden_prompt_tokens(GoldenRun *r, const Graph *g)
{
        const CommandOptions *o = &r->golden->o;
        bool fits = g->ninput == 1 && g->input[0].bound && g->input[0].type.rank == 1 && g->time >= 0;
        if (!fits)
                return "a prompt is for a causal model with one input of token ids [time]";
        const char *text = o->prompt;
        if (o->tokenizer) {
                r->token = text_to_tokens(&r->tokenizer, text, (int64_t)strlen(text), &r->ntoken);
                return r->token ? NULL : no_memory;
        }
        const char *why = NULL;
        r->token = numbers_to_tokens(g, text, &r->ntoken, &why);
        return why;
}

static const char *golden_given_inputs(GoldenRun *r)
{
        const char *path = r->golden->o.input_file.at[0],
                   *wrong = recorded_read(&r->given, r->m.oracle, path, INPUTS_ALONE);
        if (wrong)
                return wrong;
        memcpy(r->size, r->given.size, sizeof r->size);
        r->test_run_input = recorded_inputs(&r->given);
        r->golden->inputs_hash = checkpoint_bytes_hash(r->given.file[0]);
        return NULL;
}

static const char *make_inputs(GoldenRun *r)
{
        const Graph *g = r->m.graph;
        if (r->golden->o.input_file.at[0])
                return golden_given_inputs(r);
        hashed_sizes(g, HASHED_POSITIONS, r->size);
        r->test_run_input = r->input = NEW_ARRAY(&r->m.arena, Tensor, g->ninput);
        if (!r->golden->o.prompt)
                return hashed_inputs(g, r->size, r->input) ? NULL : no_memory;
        const char *wrong = golden_prompt_tokens(r, g);
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

/* Hash of the model without taps. */
static const char *hash_untapped(Golden *golden)
{
        CommandOptions plain = golden->o;
        Model m;
        const char *wrong = NULL;
        plain.tap.n = 0;
        if (!model_load(&m, &plain, &golden->code))
                wrong = "the model can't be read";
        else if (!golden_hash(m.oracle, &golden->spec)) {
                golden->code = WRONG_ENVIRONMENT;
                wrong = arena_printf(&golden->arena, "a temporary file can't be written: %s",
                                     strerror(errno));
        }
        model_free(&m);
        return wrong;
}

/* "layers 4; eps 1e-05" */
static const char *hypers_of(Arena *a, const Graph *g)
{
        const char *text = NULL;
        for (int i = 0; i < g->nhyper; i++)
                text = arena_printf(a, "%s%s%s %s", text ? text : "", text ? "; " : "", g->hyper[i].name,
                                    setting_text(a, &g->hyper[i]));
        return text;
}

static const char *golden_load(GoldenRun *r, const Target *target, When when)
{
        Golden *golden = r->golden;
        const CommandOptions *o = &golden->o;
        if (!model_load(&r->m, o, &golden->code))
                return "the model can't be read";
        const char *wrong = hash_untapped(golden);
        if (wrong)
                return wrong;
        golden->code = WRONG_INPUT;
        golden->hyper = hypers_of(&golden->arena, r->m.oracle);
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
        if (o->tokenizer && !hash_tokenizer(&r->tokenizer, o->tokenizer, &golden->tokenizer_hash))
                return "the tokenizer can't be read";
        if (o->calibrate && !hash_file(o->calibrate, &golden->calibrate_hash))
                return "the file of calibrate can't be read";
        if (r->checkpoint)
                golden->weights_hash = checkpoint_bytes_hash(r->checkpoint);
        r->from = w;
        if (when == AHEAD_OF_TIME)
                return NULL;
        wrong = packed_weights(&r->m, o, r->plan, &r->packed);
        if (r->packed.code)
                golden->code = r->packed.code;
        return wrong || r->packed.weights ? wrong : "the weights can't be read";
}

/* --- values ------------------------------------------------------------------------------------------------------------ */

/* Removes from x [n], an output from element `at` on, the columns after a row's position, which a call
 * does not compute. Returns the number of remaining values. */
static int64_t drop_later(const GoldenRun *r, int output, int64_t at, float *x, int64_t n)
{
        const Output *o = &r->m.graph->output[output];
        OutputShape shape = output_shape(r->m.graph, &o->node->type, r->size);
        int64_t left = 0;
        for (int64_t i = 0; i < n; i++)
                if (!isnan(o->later) || !is_later(&shape, at + i))
                        x[left++] = x[i];
        return left;
}

static GoldenValue *golden_add_value(Golden *g, const char *name, const char *shape, const float *x,
                                     int64_t n)
{
        GoldenValue *v = golden_value_new(g);
        *v = (GoldenValue){.name = arena_strdup(&g->arena, name), .shape = arena_strdup(&g->arena, shape)};
        v->hash = hash_floats(HASH_START, x, n);
        v->shown = n < SHOWN ? (int)n : SHOWN;
        double squares = 0;
        for (int64_t i = 0; i < n; i++)
                squares += isfinite(x[i]) ? (double)x[i] * (double)x[i] : 0;
        v->norm = sqrt(squares);
        for (int i = 0; i < v->shown; i++) {
                v->first[i] = x[i];
                v->last[i] = x[n - v->shown + i];
        }
        return v;
}

/* The shape of a value without its first `from` axes. */
static const char *value_shape(Arena *a, const Type *t, const int64_t *size, int from)
{
        int64_t dim[MAX_RANK];
        for (int i = from; i < t->rank; i++)
                dim[i - from] = dim_value(t->dim[i], size);
        return shape_text(a, t->rank - from, dim);
}

/* Length of "layer" in "layer[i].attn", if the tap is stacked over one repeat; else 0. */
static int stacked(const Output *o)
{
        const char *name = output_name(o), *all = strstr(name, "[i]");
        return all && !strstr(all + 3, "[i]") ? (int)(all - name) : 0;
}

/* Whether it has a column for each token of an input, or for each class. */
static bool is_of_logits(const Graph *g, int output)
{
        const Type *t = &g->output[output].node->type;
        const int64_t columns =
                t->rank && dim_is_fixed(t->dim[t->rank - 1]) ? dim_value(t->dim[t->rank - 1], NULL) : 0;
        LoopParts parts;
        for (int i = 0; i < g->ninput; i++)
                if (t->dtype == REAL && columns > 1 && g->input[i].bound == columns)
                        return true;
        for (int i = 0; i < g->nloop; i++)
                if (loop_number(g->loop[i].name) == LOOP_classify && !loop_fault(g, &g->loop[i], &parts) &&
                    parts.output == output)
                        return true;
        return false;
}

static void add_output(GoldenRun *r, int output)
{
        const Graph *g = r->m.graph;
        const Type *t = &g->output[output].node->type;
        const int64_t n = type_count(t, r->size);
        float *x = r->test_run.output[output];
        const int64_t left = drop_later(r, output, 0, x, n);
        GoldenValue *v = golden_add_value(r->golden, output_name(&g->output[output]),
                                          value_shape(&r->golden->arena, t, r->size, 0), x, left);
        if (g->output[output].tap || left < n)
                return;
        golden_keep(r->golden, v, x, n);
        if (is_of_logits(g, output)) {
                const int64_t columns = dim_value(t->dim[t->rank - 1], NULL);
                golden_keep_likeliest(r->golden, v, x, n / columns, columns);
        }
}

/* Adds iteration `iteration` of the stacked tap "layer[i].attn" as "layer[0].attn". */
static void add_iteration(GoldenRun *r, int output, int64_t iteration)
{
        Arena *a = &r->golden->arena;
        const Output *o = &r->m.graph->output[output];
        const Type *t = &o->node->type;
        int length = stacked(o);
        int64_t n = type_count(t, r->size) / dim_value(t->dim[0], r->size);
        float *x = r->test_run.output[output] + iteration * n;
        golden_add_value(r->golden,
                         arena_printf(a, "%.*s[%" PRId64 "]%s", length, output_name(o), iteration,
                                      output_name(o) + length + 3),
                         value_shape(a, t, r->size, 1), x, drop_later(r, output, iteration * n, x, n));
}

/* Adds taps before outputs, and stacked ones iteration by iteration, in the order of computation. */
static void golden_add_outputs(GoldenRun *r)
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
                                add_output(r, i);
                                continue;
                        }
                        while (end < g->noutput && stacked(&g->output[end]) == length &&
                               !strncmp(output_name(&g->output[end]), output_name(o), (size_t)length))
                                end++;
                        for (int64_t iteration = 0; iteration < dim_value(o->node->type.dim[0], r->size);
                             iteration++)
                                for (int k = i; k < end; k++)
                                        add_iteration(r, k, iteration);
                }
}

/* --- text -------------------------------------------------------------------------------------------------------------- */

/* Greedy text in the form of a golden file, with the offsets of tokens. */
typedef struct {
        Golden *golden;
        Text *text;
} SpelledText;

/* Escaped for a quoted line of UTF-8. */
static void spelled_add(Text *t, const char *text, int64_t n)
{
        int bytes;
        for (int64_t i = 0; i < n; i += bytes) {
                const char *at = text + i;
                uint32_t code;
                bytes = decode_utf8(at, (int32_t)(n - i < 4 ? n - i : 4), &code);
                if (bytes == 0 || code < ' ' || code == 127)
                        text_printf(t, *at == '\n' ? "\\n" : "\\x%02x", (unsigned)(unsigned char)*at);
                else
                        text_printf(t, "%s%.*s", code == '"' || code == '\\' ? "\\" : "", bytes, at);
                bytes = bytes ? bytes : 1;
        }
}

/* Adds a token's text. */
static bool golden_gather(void *to, const char *text, int64_t n)
{
        SpelledText *s = to;
        Golden *g = s->golden;
        const int64_t before = s->text->n;
        if (n <= 0)
                return true;
        spelled_add(s->text, text, n);
        GROW(&g->arena, g->piece, g->npiece, g->cap_piece);
        g->piece[g->npiece++] = (int32_t)(s->text->n - before);
        return true;
}

/* Generates just in time, by an engine. */
static const char *golden_generate(GoldenRun *r, SpelledText *t)
{
        const char *wrong;
        Engine *e = engine_new(r->plan, r->packed.weights, 1, immediate_mode(r->golden->o.jit), &wrong);
        if (!e)
                return wrong;
        const Golden *g = r->golden;
        Generation how = {.steps = g->o.steps, .chunk = INT64_MAX, .show = golden_gather, .to = t};
        Generated made;
        wrong = generate(e, r->plan, g->o.tokenizer ? &r->tokenizer : NULL, r->token, r->ntoken, &how, &made);
        engine_free(e);
        return wrong;
}

/* Ahead of time: the text of the test run's program, up to a stop token. */
static const char *text_of_test_run(GoldenRun *r, SpelledText *t)
{
        const LoopTokens loop = loop_rules(r->m.graph);
        const bool spelled = r->golden->o.tokenizer != NULL;
        TokenDecoder decoder = {.begun = r->ntoken > 1};
        char number[16], rest[TOKEN_RESIDUE],
                *piece = spelled ? malloc((size_t)r->tokenizer.longest + 1) : number;
        if (!piece)
                return no_memory;
        for (int64_t i = 0; i < r->test_run.ntoken; i++) {
                int32_t token = r->test_run.token[i];
                if (loop_stops(&loop, token))
                        break;
                golden_gather(t, piece,
                              spelled ? tokens_decode(&r->tokenizer.tables, &decoder, token, 0, piece)
                                      : snprintf(number, sizeof number, "%d ", token));
        }
        if (spelled) {
                golden_gather(t, rest, tokens_decode_end(&decoder, rest));
                free(piece);
        }
        return NULL;
}

/* The number of steps that fit after the prompt. */
static int64_t golden_steps(const GoldenRun *r)
{
        const Graph *g = r->m.graph;
        int64_t room = g->time >= 0 ? g->named[g->time].bound - (r->ntoken - 1) : 0;
        return r->golden->o.steps < room ? r->golden->o.steps : room;
}

static const char *make_text(GoldenRun *r, When when)
{
        SpelledText t = {r->golden, text_new(&r->golden->arena)};
        text_printf(t.text, "\"");
        const char *wrong = when == JUST_IN_TIME ? golden_generate(r, &t) : text_of_test_run(r, &t);
        text_printf(t.text, "\"");
        r->golden->text = t.text->data;
        return wrong;
}

/* --- the whole ----------------------------------------------------------------------------------------------------------- */

static const char *try_it(GoldenRun *r, When when)
{
        if (when == JUST_IN_TIME)
                return test_run_engine(r->plan, r->packed.weights, immediate_mode(r->golden->o.jit),
                                       &r->test_run);
        char *folder = test_run_folder();
        bool good = folder && test_run(r->plan, folder, r->from, &r->test_run);
        test_run_remove(folder);
        return good ? NULL : "the emitted program can't be built and run";
}

static const char *work_out(GoldenRun *r, When when)
{
        const Graph *g = r->m.graph;
        Golden *golden = r->golden;
        const char *wrong = make_inputs(r);
        r->golden->code = wrong && !lacks_memory(wrong) ? WRONG_INPUT : WRONG_ENVIRONMENT;
        if (wrong)
                return wrong;
        if (golden->o.steps && (!r->token || why_not_generating(g))) {
                golden->code = WRONG_INPUT;
                return "steps are for a model that generates, and require a prompt";
        }
        r->test_run = (TestRun){.size = r->size, .input = r->test_run_input, .threads = golden->o.threads};
        r->test_run.steps = golden->o.steps ? golden_steps(r) : 0;
        r->test_run.sequential = is_sequential(g, r->size);
        r->test_run.finite = r->m.rests != NULL;
        r->test_run.output = NEW_ARRAY(&r->m.arena, float *, g->noutput);
        wrong = try_it(r, when);
        if (wrong)
                return wrong;
        golden->code = r->test_run.run >= 0 ? WRONG_INPUT : golden->code;
        if (r->test_run.run >= 0)
                return arena_printf(&golden->arena,
                                    "%s[%" PRId64 "] is %a, and by other threads or pieces %a",
                                    output_name(&g->output[r->test_run.at_output]), r->test_run.at,
                                    (double)r->test_run.one, (double)r->test_run.other);
        golden_add_outputs(r);
        return golden->o.steps ? make_text(r, when) : NULL;
}

bool golden_open(Golden *g)
{
        SourceParts parts = {.weights = true, .tokenizer = g->o.prompt != NULL, .kept = true};
        return source_open(&g->arena, &g->o, parts, &g->code);
}

const char *golden_run(Golden *g, const Target *t, When when)
{
        GoldenRun r = {.golden = g};
        g->nvalue = g->npiece = 0;
        g->text = NULL;
        const char *wrong = golden_open(g) ? golden_load(&r, t, when) : "the model can't be read";
        if (!wrong)
                wrong = work_out(&r, when);
        if (wrong)
                wrong = arena_strdup(&g->arena, wrong);
        for (int i = 0; r.test_run.output && i < r.m.graph->noutput; i++)
                free(r.test_run.output[i]);
        for (int i = 0; r.input && i < r.m.graph->ninput; i++)
                tensor_free(&r.input[i]);
        recorded_free(&r.given);
        free(r.token);
        checkpoint_close(r.checkpoint);
        tokenizer_free(&r.tokenizer);
        packed_weights_close(&r.packed);
        model_free(&r.m);
        return wrong;
}
