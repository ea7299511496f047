/* lathe verify --text: the loss by narrower storage of weights, and of keys and values, measured on a text.
 *
 * The text's tokens are predicted by the exact model and by the model with --quant and --kv, both compiled.
 * The text is split into independent windows; every token but the first is predicted once, from the tokens
 * before it in its window.  A window begins with the tokens that the tokenizer puts before a text, or else
 * with the previous token.
 *
 * Then the weights are narrowed one at a time, on the first positions, whose exact logits are kept. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accuracy_private.h"

enum { WINDOW = 512 };

static int accuracy_fail(const char *why, int code)
{
        fprintf(stderr, "lathe verify: %s\n", why);
        return lacks_memory(why) ? WRONG_ENVIRONMENT : code;
}

/* --- variants ------------------------------------------------------------------------------------------------------ */

/* The model is kept. */
static void stop_variant(Variant *v)
{
        engine_free(v->engine);
        v->engine = NULL;
        packed_weights_close(&v->packed);
}

static void close_variant(Variant *v)
{
        stop_variant(v);
        model_free(&v->m);
        *v = (Variant){0};
}

/* From the file through the passes; returns an exit code. */
static int load_variant(Variant *v, const CommandOptions *o)
{
        int code;
        if (!model_load(&v->m, o, &code))
                return code;
        return model_passes(&v->m, o) ? DONE : failure_code(&v->m);
}

static int plan_variant(Variant *v, const CommandOptions *o)
{
        v->plan = model_plan(&v->m, o, chosen_target(o));
        return v->plan ? DONE : failure_code(&v->m);
}

static int compile_variant(Variant *v, const CommandOptions *o, const float *weights)
{
        const char *why;
        v->engine = engine_new(v->plan, weights, o->threads, o->jit, &why);
        return v->engine ? DONE : accuracy_fail(why, WRONG_ENVIRONMENT);
}

/* Opens the weights of the options. */
static int open_variant(Variant *v, const CommandOptions *o)
{
        int code = plan_variant(v, o);
        if (code)
                return code;
        const char *why = packed_weights(&v->m, o, v->plan, &v->packed);
        if (why)
                return accuracy_fail(why, v->packed.code);
        return v->packed.code ? v->packed.code : compile_variant(v, o, v->packed.weights);
}

/* --- the text ------------------------------------------------------------------------------------------------------ */

static int accuracy_read_tokens(Accuracy *a)
{
        Windows *t = &a->text;
        const TokenTables *tables = &a->tokenizer.tables;
        Model *m = &a->exact.m;
        const char *path = a->o.text_file, *why = no_memory;
        const Source *source = read_source(&m->arena, path, &why);
        if (!source)
                return accuracy_fail(arena_printf(&m->arena, "--text %s: %s", path, why), WRONG_ENVIRONMENT);
        if (!a->o.tokenizer) {
                t->token = numbers_to_tokens(m->graph, source->text, &t->n, &why);
                t->lead = 1;
                return t->token ? DONE : accuracy_fail(why, WRONG_INPUT);
        }
        if (source->length > tokens_most(tables))
                return accuracy_fail(arena_printf(&m->arena, "--text %s: more than %" PRId64 " bytes", path,
                                                  tokens_most(tables)),
                                     WRONG_INPUT);
        t->token = text_to_tokens(&a->tokenizer, source->text, source->length, &t->n);
        if (!t->token)
                return accuracy_fail(no_memory, WRONG_ENVIRONMENT);
        t->n -= tables->head->behind;
        t->is_fixed = tables->head->before > 0;
        t->lead = t->is_fixed ? tables->head->before : 1;
        return DONE;
}

/* Splits the text into windows; returns an exit code. */
static int cut_text(Accuracy *a)
{
        Windows *t = &a->text;
        const Graph *g = a->exact.m.graph;
        Arena *arena = &a->exact.m.arena;
        int64_t context = g->named[g->time].bound;
        int code = accuracy_read_tokens(a);
        if (code)
                return code;
        t->most = a->o.given[OPT_N] ? a->o.steps : context < WINDOW ? context : WINDOW;
        if (t->most < t->lead || t->most > context)
                return accuracy_fail(arena_printf(arena,
                                                  "-n %" PRId64 ": windows of %s have %" PRId64 " to %" PRId64
                                                  " positions",
                                                  t->most, g->name, t->lead, context),
                                     WRONG_INPUT);
        if (t->n <= t->lead)
                return accuracy_fail(
                        arena_printf(
                                arena,
                                "--text %s: %" PRId64
                                " token%s; at least two are required, one to start from and one to predict",
                                a->o.text_file, t->n, t->n == 1 ? "" : "s"),
                        WRONG_INPUT);
        for (int64_t i = t->lead; i < t->n; i++)
                if (t->token[i] >= a->vocab)
                        return accuracy_fail(
                                arena_printf(
                                        arena,
                                        "--text %s: token %d can't be predicted: %s has logits of %" PRId64
                                        " tokens",
                                        a->o.text_file, t->token[i], g->name, a->vocab),
                                WRONG_INPUT);
        t->window = malloc((size_t)t->most * sizeof *t->window);
        return t->window ? DONE : accuracy_fail(no_memory, WRONG_ENVIRONMENT);
}

/* Fills the window whose own tokens begin at `at`.  Returns its positions, of which the last `own` predict
 * these. */
static int64_t fill_window(const Windows *t, int64_t at, int64_t own)
{
        memcpy(t->window, t->is_fixed ? t->token : t->token + at - t->lead,
               (size_t)t->lead * sizeof *t->token);
        memcpy(t->window + t->lead, t->token + at, (size_t)(own - 1) * sizeof *t->token);
        return t->lead + own - 1;
}

/* --- measuring ------------------------------------------------------------------------------------------------------ */

/* Progress: number of positions. */
typedef struct {
        const char *name;
        int64_t before, total;
} MeasuredWork;

/* Adds the logits of `n` positions of a window, from the first requested one on, to the statistics. */
static void compare_rows(Accuracy *a, const Variant *exact, const Variant *narrow, const int32_t *next,
                         int64_t n, Predictions *p)
{
        for (int64_t i = 0; i < n; i++) {
                float *kept = p->n < a->nkept ? a->kept + p->n * a->vocab : NULL;
                const float *row = exact ? a->row[0] + i * a->vocab : kept;
                if (exact && kept)
                        memcpy(kept, row, (size_t)a->vocab * sizeof *row);
                predictions_add(p, row, narrow ? a->row[1] + i * a->vocab : NULL, next[i]);
        }
}

/* Runs a window through the engines, with the maximum of positions per call. */
static const char *measure_window(Accuracy *a, const Variant *exact, const Variant *narrow, int64_t at,
                                  int64_t own, Predictions *p)
{
        const Windows *t = &a->text;
        const Variant *v[2] = {exact, narrow};
        int64_t chunk = (exact ? exact : narrow)->plan->chunk, positions = fill_window(t, at, own);
        for (int k = 0; k < 2; k++)
                if (v[k])
                        engine_rewind(v[k]->engine, 0);
        for (int64_t done = 0, n; done < positions; done += n) {
                n = positions - done < chunk ? positions - done : chunk;
                int64_t first = t->lead - 1 - done;
                first = first < 0 ? 0 : first < n ? first : n;
                for (int k = 0; k < 2; k++) {
                        const char *why =
                                v[k] ? engine_tokens(v[k]->engine, t->window + done, n, first, a->row[k])
                                     : NULL;
                        if (why)
                                return why;
                }
                compare_rows(a, exact, narrow, t->token + at + done + first - (t->lead - 1), n - first, p);
        }
        return NULL;
}

/* Measures the first p->room predictions.  exact NULL: its logits are the kept ones; narrow NULL: no
 * comparison. */
static const char *accuracy_measure(Accuracy *a, const Variant *exact, const Variant *narrow,
                                    const MeasuredWork *work, Predictions *p)
{
        const Windows *t = &a->text;
        const char *why = NULL;
        int64_t most = t->most - t->lead + 1;
        for (int64_t at = t->lead; p->n < p->room && !why; at += most) {
                int64_t own = p->room - p->n < most ? p->room - p->n : most;
                progress(work->name, PROGRESS_STEPS, work->before + p->n, work->total);
                why = measure_window(a, exact, narrow, at, own, p);
        }
        progress(work->name, PROGRESS_STEPS, work->before + p->n, work->total);
        return why;
}

/* --- contributors ---------------------------------------------------------------------------------------------------- */

/* Name of a weight, with its iterations if other slots have another storage type. */
static const char *weight_named(Arena *arena, const Weight *w, const Graph *g)
{
        for (int i = 0; i < g->nweight; i++)
                if (i != w->id && !strcmp(g->weight[i]->path, w->path))
                        return weight_text(arena, w);
        return arena_strdup(arena, w->path);
}

/* Finds the weights whose storage differs between the variants. */
static void find_contributors(Accuracy *a)
{
        const Graph *exact = a->exact.m.graph, *narrow = a->narrow.m.graph;
        a->weight = NEW_ARRAY(&a->exact.m.arena, Contributor, exact->nweight);
        for (int i = 0; i < exact->nweight; i++) {
                const Weight *w = narrow->weight[i];
                if (w->storage == exact->weight[i]->storage)
                        continue;
                int64_t count = w->slots * type_count(&w->type, NULL);
                a->weight[a->nweight++] = (Contributor){.id = i,
                                                        .path = weight_named(&a->exact.m.arena, w, narrow),
                                                        .storage = w->storage,
                                                        .bytes = (double)storage_size(w->storage, count)};
        }
}

typedef struct {
        const float *exact; /* of the slot */
        double error, size; /* sums of squares */
} SlotError;

static void add_difference(void *to, int64_t first, int64_t step, int64_t n, const float *from,
                           int64_t from_step)
{
        SlotError *d = to;
        for (int64_t i = 0; i < n; i++) {
                double x = d->exact[first + i * step], y = from[i * from_step];
                d->error += (x - y) * (x - y);
                d->size += x * x;
        }
}

/* Narrows a weight of a model with exact weights.  *error: relative to the size of its values.  False:
 * they can't be read. */
static bool narrow_weight(Weights *weights, Weight *w, Storage narrow, double *error)
{
        Storage exact = w->storage;
        float *value = malloc((size_t)type_count(&w->type, NULL) * sizeof *value + 1);
        SlotError d = {.exact = value};
        bool good = value != NULL;
        for (int64_t slot = 0; slot < w->slots && good; slot++) {
                weight_round(w, exact);
                good = weights_read_f32(weights, w, slot, value);
                weight_round(w, narrow);
                good = good && weights_take(weights, w, slot, add_difference, &d);
        }
        free(value);
        *error = d.size > 0 ? sqrt(d.error / d.size) : 0;
        return good;
}

/* A variant in which only this weight is narrow; returns an exit code.  Compiled by libtcc, since a C
 * compiler takes longer than a few positions. */
static int open_alone(Accuracy *a, Contributor *c, Variant *v)
{
        Checkpoint *checkpoint;
        const float *base = NULL;
        const char *why = NULL;
        int code = load_variant(v, &a->exact_o);
        if (code)
                return code;
        Weights *weights = open_weights(&v->m, &a->exact_o, &checkpoint);
        code = weights ? DONE : failure_code(&v->m);
        if (!code && !narrow_weight(weights, v->m.graph->weight[c->id], c->storage, &c->error))
                code = weights_why(weights) ? accuracy_fail(weights_why(weights), WRONG_INPUT)
                                            : accuracy_fail(no_memory_or_file, WRONG_ENVIRONMENT);
        if (!code)
                code = plan_variant(v, &a->exact_o);
        if (!code && (why = pool_fit(a->pool, v->plan, weights, 1, &base)))
                code = accuracy_fail(why, weights_why(weights) ? WRONG_INPUT : WRONG_ENVIRONMENT);
        checkpoint_close(checkpoint);
        CommandOptions o = a->exact_o;
        o.jit = o.jit == JIT_AUTO ? JIT_TCC : o.jit;
        return code ? code : compile_variant(v, &o, base);
}

static int measure_alone(Accuracy *a, Contributor *c, const MeasuredWork *work)
{
        Variant v = {0};
        Predictions p;
        int code = open_alone(a, c, &v);
        if (!code) {
                const char *why = predictions_new(&p, a->vocab, a->nkept)
                                          ? accuracy_measure(a, NULL, &v, work, &p)
                                          : no_memory;
                c->divergence = predictions_divergence(&p);
                predictions_free(&p);
                code = why ? accuracy_fail(why, WRONG_ENVIRONMENT) : DONE;
        }
        close_variant(&v);
        return code;
}

static int by_divergence(const void *x, const void *y)
{
        const Contributor *a = x, *b = y;
        bool a_nan = a->divergence != a->divergence, b_nan = b->divergence != b->divergence;
        if (a_nan || b_nan || a->divergence == b->divergence)
                return a_nan != b_nan ? b_nan - a_nan : a->id - b->id;
        return a->divergence < b->divergence ? 1 : -1;
}

static int measure_contributors(Accuracy *a)
{
        int code = DONE;
        a->pool = pool_new();
        if (!a->pool)
                return accuracy_fail(no_memory, WRONG_ENVIRONMENT);
        for (int i = 0; i < a->nweight && !code; i++)
                code = measure_alone(
                        a, &a->weight[i],
                        &(MeasuredWork){"weight by weight", i * a->nkept, a->nweight * a->nkept});
        if (a->nweight)
                qsort(a->weight, (size_t)a->nweight, sizeof *a->weight, by_divergence);
        return code;
}

/* --- the command ----------------------------------------------------------------------------------------------------- */

static bool accuracy_text_fits(const CommandOptions *o)
{
        if (strcmp(o->text_file, "-") != 0 || strcmp(o->file[0], "-") != 0)
                return true;
        fprintf(stderr,
                "lathe verify: model and --text can't both be standard input; see `lathe help verify`\n");
        return false;
}

/* Opens the model with exact weights, its tokenizer and the text. */
static int open_exact(Accuracy *a)
{
        Model *m = &a->exact.m;
        int code = load_variant(&a->exact, &a->exact_o);
        if (code)
                return code;
        const char *why = why_not_generating(m->graph);
        if (why) {
                fprintf(stderr,
                        "lathe verify: --text requires a model that predicts the next token, with loop "
                        "generate; %s is not one: it %s\n",
                        m->graph->name, why);
                note_not_causal(m);
                return WRONG_INPUT;
        }
        if (a->o.tokenizer && !load_tokenizer(m, &a->o, &a->tokenizer))
                return failure_code(m);
        a->vocab = dim_bound(m->graph, m->graph->output[0].node->type.dim[1]);
        code = cut_text(a);
        if (code)
                return code;
        note_hashed(m, &a->o, "verify");
        /* a cached file would replace that of the model whose weights are not split */
        if (a->o.quant && m->graph->mixture)
                a->exact_o.cache = "off";
        return open_variant(&a->exact, &a->exact_o);
}

/* Opens the model with --quant and --kv.  It is not cached, since the cached file is that of the exact
 * weights. */
static int open_narrow(Accuracy *a)
{
        CommandOptions o = a->o;
        o.cache = "off";
        o.quant_beside = o.quant ? "" : NULL;
        int code = load_variant(&a->narrow, &o);
        if (!code)
                code = open_variant(&a->narrow, &o);
        if (code)
                return code;
        find_contributors(a);
        if (!a->nweight && a->o.quant)
                fprintf(stderr,
                        "lathe verify: note: --quant %s changes no weight: they already have these types\n",
                        a->o.quant);
        int64_t most = tokens_predicted(&a->text);
        a->nkept = !a->o.top || !a->nweight ? 0 : a->o.sample < most ? a->o.sample : most;
        return DONE;
}

static int take_rows(Accuracy *a)
{
        size_t row = (size_t)a->vocab * sizeof(float), chunk = (size_t)a->exact.plan->chunk;
        a->row[0] = malloc(chunk * row);
        a->row[1] = malloc(chunk * row);
        a->kept = malloc((size_t)a->nkept * row + 1);
        return a->row[0] && a->row[1] && a->kept ? DONE : accuracy_fail(no_memory, WRONG_ENVIRONMENT);
}

static int measure_whole(Accuracy *a)
{
        Predictions p;
        const MeasuredWork work = {"measuring", 0, tokens_predicted(&a->text)};
        const char *why =
                predictions_new(&p, a->vocab, work.total)
                        ? accuracy_measure(a, &a->exact, has_narrow(&a->o) ? &a->narrow : NULL, &work, &p)
                        : no_memory;
        if (!why)
                report_accuracy(a, &p);
        predictions_free(&p);
        return why ? accuracy_fail(why, WRONG_ENVIRONMENT) : DONE;
}

int verify_accuracy(const CommandOptions *o)
{
        Accuracy a = {.o = *o, .exact_o = *o};
        a.exact_o.quant = NULL;
        a.exact_o.kv = STORAGE_F32;
        a.exact_o.quant_beside = o->quant;
        if (!accuracy_text_fits(o))
                return WRONG_USAGE;
        int code = open_exact(&a);
        if (!code && has_narrow(o))
                code = open_narrow(&a);
        if (!code)
                code = take_rows(&a);
        if (!code)
                code = measure_whole(&a);
        if (!code && a.nkept) {
                stop_variant(&a.exact);
                stop_variant(&a.narrow);
                code = measure_contributors(&a);
                if (!code)
                        report_contributors(&a);
        }
        if (!code && !report_accuracy_end(&a))
                code = accuracy_fail(no_memory, WRONG_ENVIRONMENT);
        close_variant(&a.narrow);
        close_variant(&a.exact);
        tokenizer_free(&a.tokenizer);
        pool_free(a.pool);
        free(a.text.token);
        free(a.text.window);
        free(a.row[0]);
        free(a.row[1]);
        free(a.kept);
        json_decref(a.report);
        return code;
}
