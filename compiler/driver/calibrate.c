/* --calibrate FILE: weights of quantisation errors, measured on a text, or read from an importance matrix.
 *
 * An error of a weight's element is multiplied by activations.  So its square is weighted by the mean square
 * of these activations over the positions of the text.  The exact model reads the text, compiled, with the
 * left operands of products as taps. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { WINDOW = 512, MAX_REPEATS = MAX_RANK };

/* For a weight: sums of squares [slots][width], and the number of rows in each [slots]. */
typedef struct {
        double *sum;
        int64_t *rows;
        int64_t width;
} Squares;

typedef struct {
        Model *m;
        const char *file;
        CommandOptions o; /* of the exact model */
        ProductTap *tap;
        int ntap;
        Squares *of; /* by the weight's id in the elaborated graph */
        Plan *plan;
        PackedWeights packed;
        Engine *engine;
        Tokenizer tokenizer;
        int32_t *token, *window; /* [n], malloc'd; [most] */
        /* lead: tokens that the tokenizer adds before a text, and so before each window */
        int64_t n, lead, most;
        float **output; /* [noutput], malloc'd: outputs of a chunk */
        ImportanceGaps gaps;
} Gathering;

/* The last result. */
static struct {
        Arena arena;
        uint64_t key;
        Importance found;
} kept;

static bool gather_refuse(Gathering *c, const char *why)
{
        c->m->env_error |= lacks_memory(why);
        fprintf(stderr, "lathe: --calibrate %s: %s\n", c->file, why);
        return false;
}

/* --- the exact model ------------------------------------------------------------------------------------------------ */

static void begin_squares(Gathering *c)
{
        const Graph *g = c->m->oracle;
        c->of = NEW_ARRAY(g->arena, Squares, g->nweight);
        for (int i = 0; i < c->ntap; i++) {
                const Weight *w = c->tap[i].weight->attr.weight;
                const Type *left = &c->tap[i].product->in[0]->type;
                int64_t width = left->dim[left->rank - 1].fixed;
                if (!c->of[w->id].sum)
                        c->of[w->id] = (Squares){NEW_ARRAY(g->arena, double, w->slots *width),
                                                 NEW_ARRAY(g->arena, int64_t, w->slots), width};
        }
}

static bool gather_open(Gathering *c, const char *name)
{
        Model *m = c->m;
        if (!model_elaborate(m, &c->o, name))
                return false;
        c->tap = product_taps_add(m->graph, &c->ntap);
        verify(m->graph, "product taps");
        begin_squares(c);
        if (!model_passes(m, &c->o))
                return false;
        const char *why = why_not_generating(m->graph);
        if (why) {
                gather_refuse(
                        c, arena_printf(
                                   &m->arena,
                                   "expected a model that predicts the next token, and %s is not one: it %s",
                                   m->graph->name, why));
                note_not_causal(m);
                return false;
        }
        c->o.tune = NULL;
        c->plan = model_plan(m, &c->o, target_find("native"));
        why = c->plan ? packed_weights(m, &c->o, c->plan, &c->packed) : NULL;
        if (why)
                return gather_refuse(c, why);
        if (!c->plan || !c->packed.weights)
                return false;
        c->engine = engine_new(c->plan, c->packed.weights, c->o.threads, immediate_mode(c->o.jit), &why);
        return c->engine || gather_refuse(c, why);
}

/* --- the text --------------------------------------------------------------------------------------------------------- */

static bool gather_read_text(Gathering *c)
{
        Model *m = c->m;
        const char *why = no_memory;
        const Source *source = read_source(&m->arena, c->file, &why);
        if (!source) {
                m->env_error = true;
                return gather_refuse(c, why);
        }
        if (c->o.tokenizer && !load_tokenizer(m, &c->o, &c->tokenizer))
                return false;
        const TokenTables *tables = &c->tokenizer.tables;
        if (c->o.tokenizer && source->length > tokens_most(tables))
                return gather_refuse(
                        c, arena_printf(&m->arena, "more than %" PRId64 " bytes", tokens_most(tables)));
        c->token = c->o.tokenizer ? text_to_tokens(&c->tokenizer, source->text, source->length, &c->n)
                                  : numbers_to_tokens(m->graph, source->text, &c->n, &why);
        if (!c->token)
                return gather_refuse(c, why);
        c->lead = c->o.tokenizer ? tables->head->before : 0;
        c->n -= c->o.tokenizer ? tables->head->behind : 0;
        int64_t context = m->graph->named[m->graph->time].bound;
        c->most = context < WINDOW ? context : WINDOW;
        if (c->n <= c->lead || c->most <= c->lead)
                return gather_refuse(c, "it has no token to read");
        c->window = NEW_ARRAY(&m->arena, int32_t, c->most);
        return true;
}

static bool gather_outputs(Gathering *c)
{
        const Graph *g = c->m->graph;
        int64_t size[MAX_NAMED] = {0};
        size[g->time] = c->plan->chunk;
        c->output = NEW_ARRAY(g->arena, float *, g->noutput);
        for (int i = 0; i < 2 * c->ntap; i++) {
                const ProductTap *t = &c->tap[i / 2];
                int at = i % 2 && t->gate ? t->gate_output : t->output;
                size_t count = (size_t)type_count(&g->output[at].node->type, size);
                if (!c->output[at] && !(c->output[at] = malloc(count * sizeof **c->output + 1)))
                        return gather_refuse(c, no_memory);
        }
        return true;
}

/* --- sums --------------------------------------------------------------------------------------------------------------- */

/* The repeats around a product, outermost first, with the current iteration of each. */
typedef struct {
        const Body *body[MAX_REPEATS];
        int64_t iteration[MAX_REPEATS];
        int n;
} RepeatIterations;

static RepeatIterations body_iterations(const Body *b)
{
        RepeatIterations a = {.n = 0};
        for (const Body *at = b; at->region && a.n < MAX_REPEATS; at = at->region->repeat->body)
                a.n++;
        for (int i = a.n; i-- > 0; b = b->region->repeat->body)
                a.body[i] = b;
        return a;
}

/* False: the last iteration was reached. */
static bool next_iteration(RepeatIterations *a)
{
        for (int i = a->n; i-- > 0; a->iteration[i] = 0)
                if (++a->iteration[i] < a->body[i]->region->iterations)
                        return true;
        return false;
}

/* Number of the iteration, counted over the n outermost repeats. */
static int64_t repeat_iteration_count(const RepeatIterations *a, int n)
{
        int64_t at = 0;
        for (int i = 0; i < n; i++)
                at = at * a->body[i]->region->iterations + a->iteration[i];
        return at;
}

/* Whether the iteration runs the bodies that contain the product. */
static bool is_run(const RepeatIterations *a)
{
        for (int i = 0; i < a->n; i++) {
                const Region *r = a->body[i]->region;
                if (r->body[r->body_of[a->iteration[i]]] != a->body[i])
                        return false;
        }
        return true;
}

static int64_t gathered_slot(const Node *weight, const RepeatIterations *a)
{
        const Weight *w = weight->attr.weight;
        int64_t at = 0;
        if (weight->attr.slot >= 0)
                return weight->attr.slot;
        for (int r = 0; r < w->nregion; r++)
                for (int i = 0; i < a->n; i++)
                        if (a->body[i]->region == w->region[r])
                                at = at * w->region[r]->iterations + a->iteration[i];
        return w->slot_of ? w->slot_of[at] : at;
}

/* gate: a factor of each row, which does not count where it is 0; NULL: none. */
static void squares_add_rows(Squares *to, int64_t slot, const float *row, int64_t rows, const float *gate)
{
        double *sum = to->sum + slot * to->width;
        for (int64_t r = 0; r < rows; r++, row += to->width) {
                if (gate && gate[r] == 0)
                        continue;
                for (int64_t i = 0; i < to->width; i++)
                        sum[i] += (double)row[i] * (double)row[i];
                to->rows[slot]++;
        }
}

/* A value of a tap: in each iteration of the repeats around it, `each` elements. */
typedef struct {
        const float *value;
        int nrepeat;
        int64_t each;
} TapValues;

static TapValues tap_values(const Gathering *c, int output, const Node *node, const int64_t *size)
{
        const RepeatIterations a = body_iterations(node->body);
        TapValues v = {c->output[output], a.n, type_count(&c->m->graph->output[output].node->type, size)};
        for (int i = 0; i < a.n; i++)
                v.each /= a.body[i]->region->iterations;
        return v;
}

static const float *tap_value_in(const TapValues *v, const RepeatIterations *a)
{
        return v->value + repeat_iteration_count(a, v->nrepeat) * v->each;
}

/* Adds the values of a tap at n positions to the slots of their iterations. */
static void add_tap(Gathering *c, const ProductTap *t, int64_t n)
{
        const Graph *g = c->m->graph;
        Squares *to = &c->of[t->weight->attr.weight->id];
        int64_t size[MAX_NAMED] = {0};
        size[g->time] = n;
        RepeatIterations a = body_iterations(t->product->body);
        const TapValues left = tap_values(c, t->output, t->product->in[0], size);
        const TapValues gate =
                t->gate ? tap_values(c, t->gate_output, t->gate, size) : (TapValues){.each = -1};
        const int64_t rows = left.each / to->width;
        do {
                int64_t slot = is_run(&a) ? gathered_slot(t->weight, &a) : -1;
                if (slot >= 0)
                        squares_add_rows(to, slot, tap_value_in(&left, &a), rows,
                                         gate.each == rows ? tap_value_in(&gate, &a) : NULL);
        } while (next_iteration(&a));
}

static const char *read_window(Gathering *c, int64_t positions)
{
        const int64_t size[MAX_NAMED] = {0};
        const char *why = engine_rewind(c->engine, 0);
        for (int64_t done = 0, n; done < positions && !why; done += n) {
                const void *input[] = {c->window + done};
                n = positions - done < c->plan->chunk ? positions - done : c->plan->chunk;
                why = engine_advance(c->engine, &(EngineCall){input, c->output, size}, n, 0);
                for (int i = 0; i < c->ntap && !why; i++)
                        add_tap(c, &c->tap[i], n);
        }
        return why;
}

static bool gather_squares(Gathering *c)
{
        const char *why = NULL;
        memcpy(c->window, c->token, (size_t)c->lead * sizeof *c->token);
        for (int64_t at = c->lead, own; at < c->n && !why; at += own) {
                own = c->n - at < c->most - c->lead ? c->n - at : c->most - c->lead;
                progress("calibrating", PROGRESS_STEPS, at, c->n);
                memcpy(c->window + c->lead, c->token + at, (size_t)own * sizeof *c->token);
                why = read_window(c, c->lead + own);
        }
        progress("calibrating", PROGRESS_STEPS, c->n, c->n);
        return !why || gather_refuse(c, why);
}

/* --- means --------------------------------------------------------------------------------------------------------------- */

static bool gather_slot(Gathering *c, const Weight *w, int64_t slot, SlotImportance *to)
{
        const Squares *s = &c->of[w->id];
        const double *sum = s->sum + slot * s->width;
        float *mean = NEW_ARRAY(&kept.arena, float, s->width);
        *to = (SlotImportance){weight_slot_name(&kept.arena, w, slot), s->width, mean};
        for (int64_t i = 0; i < s->width; i++) {
                mean[i] = (float)(sum[i] / (double)s->rows[slot]);
                if (!isfinite(mean[i]))
                        return gather_refuse(c, arena_printf(&c->m->arena,
                                                             "the activations that are multiplied by %s are "
                                                             "not finite, or too large to be squared",
                                                             to->slot));
        }
        return true;
}

static bool keep_means(Gathering *c, const Graph *g)
{
        int n = 0;
        for (int i = 0; i < g->nweight; i++)
                n += (int)g->weight[i]->slots;
        SlotImportance *all = NEW_ARRAY(&kept.arena, SlotImportance, n);
        n = 0;
        for (int i = 0; i < g->nweight; i++)
                for (int64_t slot = 0; c->of[i].sum && slot < g->weight[i]->slots; slot++) {
                        SlotImportance *to = &all[n];
                        if (c->of[i].rows[slot] && !gather_slot(c, g->weight[i], slot, to))
                                return false;
                        if (!c->of[i].rows[slot] || importance_is_zero(to->weight, to->n)) {
                                counted_add(&c->gaps.unreached,
                                            weight_slot_name(&kept.arena, g->weight[i], slot));
                                continue;
                        }
                        importance_note_zeros(to, &c->gaps);
                        n++;
                }
        if (n)
                qsort(all, (size_t)n, sizeof *all, compare_slot_importance);
        kept.found = (Importance){n, all};
        return true;
}

/* --- all ------------------------------------------------------------------------------------------------------------------ */

/* The options without those that restrict the model or print it. */
static CommandOptions exact_options(const CommandOptions *o)
{
        CommandOptions exact = *o;
        exact.quant = exact.quant_beside = exact.calibrate = NULL;
        exact.kv = STORAGE_F32;
        exact.tap.n = 0;
        exact.slots = 1;
        exact.chunk = 64;
        exact.given[OPT_CHUNK] = 0;
        exact.prefix = NULL;
        exact.cache = "off";
        exact.given[OPT_EXPLAIN] = 0;
        exact.threads = o->threads ? o->threads : 1;
        memset(exact.dump, 0, sizeof exact.dump);
        memset(exact.off, 0, sizeof exact.off);
        return exact;
}

static void close_gathering(Gathering *c)
{
        for (int i = 0; c->output && i < c->m->graph->noutput; i++)
                free(c->output[i]);
        engine_free(c->engine);
        packed_weights_close(&c->packed);
        tokenizer_free(&c->tokenizer);
        free(c->token);
}

/* "2 weights (layer.0.attn.q.w, layer.1.attn.q.w)" */
static const char *counted_text(Arena *a, const CountedNames *c, const char *noun)
{
        const char *text = arena_printf(a, "%" PRId64 " %s%s (", c->n, noun, c->n == 1 ? "" : "s");
        for (int i = 0; i < c->n && i < COUNTED_FIRST; i++)
                text = arena_printf(a, "%s%s%s", text, i ? ", " : "", c->first[i]);
        return arena_printf(a, "%s%s)", text, c->n > COUNTED_FIRST ? ", ..." : "");
}

/* Prints gaps in one line. */
static void note_gaps(Arena *a, const char *file, const ImportanceGaps *g)
{
        const char *text = "";
        if (g->columns)
                text = arena_printf(
                        a, "; %" PRId64 " column%s of %s have weight 0, so that errors in them do not count",
                        g->columns, g->columns == 1 ? "" : "s", counted_text(a, &g->zero, "weight"));
        if (g->unreached.n)
                text = arena_printf(a, "%s; no activation met %s, whose columns weigh alike", text,
                                    counted_text(a, &g->unreached, "weight"));
        if (g->without.n)
                text = arena_printf(a, "%s; it has no entry for %s, whose columns weigh alike", text,
                                    counted_text(a, &g->without, "weight"));
        if (g->unknown.n)
                text = arena_printf(a, "%s; the model has no tensor of %s", text,
                                    counted_text(a, &g->unknown, "name"));
        if (*text)
                fprintf(stderr, "lathe: note: --calibrate %s:%s\n", file, text + 1);
}

/* Reads an importance matrix for the model, elaborated again. */
static bool matrix_read(Gathering *c)
{
        Model *m = c->m;
        CkError error = {.environment = false};
        if (!model_elaborate(m, &c->o, m->graph->name))
                return false;
        if (!importance_read(&kept.arena, m->graph, c->file, &kept.found, &c->gaps, &m->diag, &error)) {
                m->env_error |= error.environment;
                fprintf(stderr, "lathe: --calibrate %s\n", error.message);
                return false;
        }
        return true;
}

static bool text_read(Gathering *c)
{
        return gather_open(c, c->m->graph->name) && gather_read_text(c) && gather_outputs(c) &&
               gather_squares(c) && keep_means(c, c->m->oracle);
}

void model_restore(Model *m, Model *was)
{
        if (m->checkpoint != was->checkpoint)
                checkpoint_close(m->checkpoint);
        was->arena = m->arena; /* with temporary data */
        was->names = m->names;
        was->diag = m->diag;
        was->env_error |= m->env_error;
        *m = *was;
}

const Importance *calibrated(Model *m, const CommandOptions *o)
{
        uint64_t key = hash_calibration(hash_model(HASH_START, m, o), o);
        key = hash_adapters(o->weights ? hash_file_identity(key, o->weights) : key, o);
        if (key == kept.key)
                return &kept.found;
        Model was = *m;
        m->checkpoint = NULL;
        Gathering c = {.m = m, .file = o->calibrate, .o = exact_options(o)};
        arena_free(&kept.arena);
        kept.arena = (Arena){.out_of_memory = m->arena.out_of_memory};
        kept.key = 0;
        bool good = importance_is_matrix(c.file) ? matrix_read(&c) : text_read(&c);
        if (good)
                note_gaps(&m->arena, c.file, &c.gaps);
        kept.key = good ? key : 0;
        close_gathering(&c);
        model_restore(m, &was);
        return good ? &kept.found : NULL;
}
