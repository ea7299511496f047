/* One model, compiled in every way, against the interpreter.
 *
 *   compare FILE.model FOLDER [scalar]      FOLDER: for what is compiled; scalar: no other target
 *
 * Prints what was fused, whether the model is causal, and a line `MISTAKEN: ..` for everything that is wrong:
 *   values     each variant is within 1e-5 of the interpreter on the graph as elaborated, relative to the largest
 *   bits       the same by 1 and 3 threads, whole, in pieces of 1 and 3, in chunks, on all targets, without the passes that
 *              do not reassociate
 *   causality  what comes after position t changes no bit up to t, were it NaN or infinite
 *
 * Where LATHE_TESTS is quick or rest, a model is built for one target beside scalar, by its name; in the quick form without two of the
 * passes only, and without them the largest size is tried, whole and in pieces of 3.
 *
 * The file's line `#! sizes 1 2 17` gives the sizes tried, for each named dimension (others a few more); `#! targets scalar`
 * the targets. */
#include "variant.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"

static const double max_error = 1e-5;
#define QUICK "${QUICK_CC:-tcc}" /* compiles fast; the bits are the same */
#define STRICT "${CC:-cc} -O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
enum { PLAIN = 9, WAYS_MOST = PLAIN + 16, MAX_SIZES = 8 };
static Way model_table[WAYS_MOST] = {
        {"scalar", "scalar", QUICK, NULL, 64},
        {"in chunks of 5", "scalar", QUICK, NULL, 5},
        {"without plan", "scalar", QUICK, "plan", 64},
        {"without sync", "scalar", QUICK, "sync", 64},
        {"without causal", "scalar", QUICK, "causal", 64},
        {"without simplify", "scalar", QUICK, "simplify", 64},
        {"without recognise", "scalar", QUICK, "recognise", 64},
        {"without stage", "scalar", QUICK, "stage", 64},
        {"without fuse", "scalar", QUICK, "fuse", 64},
};
static int ways = PLAIN;

/* Behind them the targets of this machine that it runs. */
static void add_targets(void)
{
        static char compiler[WAYS_MOST][256];
        for (const Target *t = target_table + 1; t < target_table + target_count; t++) {
                if (target_is_portable(t) || !target_runs_here(t) || ways == WAYS_MOST)
                        continue;
                snprintf(compiler[ways], sizeof compiler[ways], "%s %s", STRICT, t->flags);
                model_table[ways] = (Way){t->name, t->name, compiler[ways], NULL, 64};
                ways++;
        }
}

typedef struct {
        Model m;
        CommandOptions o;
        const char *folder;
        int64_t size[MAX_SIZES];
        int nsize;
        bool scalar_only;
        Graph *oracle;
        int64_t sizes[MAX_SIZES][MAX_NAMED];
        Tensor *input[MAX_SIZES], *expected[MAX_SIZES];
        float **first[MAX_SIZES]; /* [noutput] what the first variant gave */
        double error;
        bool mistaken;
} Compare;

static void mistaken(Compare *c, const Way *w, const char *format, ...)
{
        va_list args;
        printf("MISTAKEN: %s: ", w ? w->name : "interpreter");
        va_start(args, format);
        vprintf(format, args);
        va_end(args);
        printf("\n");
        c->mistaken = true;
}

/* --- what is expected ---------------------------------------------------------------------------------------------- */

static void read_directives(Compare *c, const char *path)
{
        static const int64_t usual[] = {1, 2, 17, 40};
        char line[512], *at, *end;
        FILE *f = fopen(path, "r");
        while (f && fgets(line, sizeof line, f)) {
                if (!strncmp(line, "#! targets scalar", 17))
                        c->scalar_only = true;
                if (strncmp(line, "#! sizes ", 9))
                        continue;
                for (at = line + 9; c->nsize < MAX_SIZES; at = end) {
                        int64_t n = strtol(at, &end, 10);
                        if (end == at)
                                break;
                        c->size[c->nsize++] = n;
                }
        }
        if (f)
                fclose(f);
        if (!c->nsize) {
                memcpy(c->size, usual, sizeof usual);
                c->nsize = 4;
        }
}

/* Numbers made by hash, -1 to 1; ids below their bound. */
static Tensor make_input(const Input *in, const int64_t *size)
{
        Tensor t = {.rank = in->type.rank};
        int64_t n = type_count(&in->type, size);
        t.data = malloc((size_t)n * sizeof *t.data + 1);
        for (int a = 0; a < t.rank; a++)
                t.dim[a] = dim_value(in->type.dim[a], size);
        for (int64_t i = 0; i < n; i++) {
                double x = hash_weight(hash_name(in->name), (uint64_t)i, 1, 0);
                t.data[i] = in->bound ? floor((x + 1) / 2 * 0.999 * (double)in->bound) : x;
        }
        return t;
}

static bool expect(Compare *c)
{
        Checkpoint *none;
        WeightSource source = {open_weights(&c->m, &c->o, &none), weights_read, weights_why};
        const Graph *g = c->oracle = c->m.graph;
        for (int s = 0; s < c->nsize; s++) {
                for (int i = 0; i < g->nnamed; i++) {
                        int64_t n = c->size[s] + 3 * i;
                        c->sizes[s][i] = n < g->named[i].bound ? n : g->named[i].bound;
                }
                c->input[s] = NEW_ARRAY(&c->m.arena, Tensor, g->ninput);
                c->expected[s] = NEW_ARRAY(&c->m.arena, Tensor, g->noutput);
                for (int i = 0; i < g->ninput; i++)
                        c->input[s][i] = make_input(&g->input[i], c->sizes[s]);
                const char *why = interpret(g, c->sizes[s], c->input[s], &source, NULL, c->expected[s]);
                if (why) {
                        mistaken(c, NULL, "%s", why);
                        return false;
                }
                if (g->nnamed == 0)
                        c->nsize = 1;
        }
        return true;
}

/* --- checks ---------------------------------------------------------------------------------------------------------- */

static bool differ(float a, float b)
{
        return memcmp(&a, &b, sizeof a) && !(isnan(a) && isnan(b));
}

static void check_values(Compare *c, const Way *w, int s, const Tensors *t)
{
        for (int i = 0; i < t->graph->noutput; i++) {
                int64_t n = elements_of(t, &t->graph->output[i].node->type), worst = 0;
                const double *e = c->expected[s][i].data;
                double most = 0, scale = 0;
                for (int64_t k = 0; k < n; k++) {
                        double x = t->output[i][k],
                               d = x == e[k] || (isnan(x) && isnan(e[k])) ? 0 : fabs(x - e[k]);
                        if (!(d <= most)) {
                                most = isnan(d) ? INFINITY : d;
                                worst = k;
                        }
                        if (isfinite(e[k]) && fabs(e[k]) > scale)
                                scale = fabs(e[k]);
                }
                double error = most == 0 ? 0 : most / (scale > 0 ? scale : 1);
                c->error = error > c->error ? error : c->error;
                if (!(error <= max_error))
                        mistaken(c, w, "%s[%d] for size %d is %.7g, not %.7g; the largest is %.3g",
                                 t->graph->output[i].name, (int)worst, (int)c->size[s],
                                 (double)t->output[i][worst], e[worst], scale);
        }
}

static bool same_bits(const Tensors *t, float *const *as)
{
        for (int i = 0; i < t->graph->noutput; i++)
                for (int64_t k = 0, n = elements_of(t, &t->graph->output[i].node->type); k < n; k++)
                        if (differ(t->output[i][k], as[i][k]))
                                return false;
        return true;
}

static float **copy_outputs(const Tensors *t)
{
        float **copy = malloc((size_t)t->graph->noutput * sizeof *copy + 1);
        for (int i = 0; i < t->graph->noutput; i++) {
                size_t bytes = (size_t)elements_of(t, &t->graph->output[i].node->type) * sizeof(float);
                copy[i] = malloc(bytes + 1);
                memcpy(copy[i], t->output[i], bytes);
        }
        return copy;
}

/* Everything runs over positions along its outermost axis, or not at all. */
static bool takes_pieces(const Graph *g)
{
        bool takes = g->past >= 0;
        for (int i = 0; i < g->ninput && takes; i++)
                for (int a = 0; a < g->input[i].type.rank; a++)
                        takes &= a == 0 || g->input[i].type.dim[a].per[g->time] == 0;
        for (int i = 0; i < g->noutput && takes; i++)
                takes &= grows(g, &g->output[i].node->type);
        return takes;
}

static bool is_quick(void)
{
        const char *tests = getenv("LATHE_TESTS");
        return tests && !strcmp(tests, "quick");
}

static void check_pieces(Compare *c, const Variant *v, int s, float *const *whole)
{
        static const struct {
                int threads, piece;
        } run[] = {{3, 1 << 16}, {1, 1}, {3, 3}}; /* threads and positions a call */
        for (int r = v->way->off && is_quick() ? 2 : 0; r < 3; r++) {
                if (r > 0 && !takes_pieces(v->graph))
                        continue;
                Tensors t = tensors_new(v->graph, c->sizes[s], c->input[s], INT32_MAX, 0);
                int piece =
                        c->size[s] > 100 ? 16 * run[r].piece : run[r].piece; /* a long one takes its time */
                const char *why = variant_run(v, run[r].threads, piece, &t);
                if (why)
                        mistaken(c, v->way, "%s", why);
                else if (!same_bits(&t, whole))
                        mistaken(c, v->way, "other bits for size %d by %d threads in pieces of %d",
                                 (int)c->size[s], run[r].threads, piece);
                tensors_free(&t);
        }
}

/* Rows before `at` of every output have the bits they had. */
static bool rows_kept(const Tensors *t, float *const *whole, int64_t at)
{
        for (int i = 0; i < t->graph->noutput; i++) {
                const Type *type = &t->graph->output[i].node->type;
                int64_t n = elements_of(t, type);
                for (int64_t k = 0; grows(t->graph, type) && k < n / rows_of(t, type) * at; k++)
                        if (differ(t->output[i][k], whole[i][k]))
                                return false;
        }
        return true;
}

/* Products of two computed tensors multiply what is masked by zero, and zero times NaN is NaN: only attention skips it. */
static bool skips_masked(const Plan *p)
{
        for (int i = 0; i < p->all.n; i++)
                if (p->all.kernel[i]->op == K_ACTIVATION_MATMUL)
                        return false;
        return true;
}

static void check_causality(Compare *c, const Variant *v, int s, float *const *whole)
{
        static const double poison[] = {-1.5, NAN, INFINITY};
        int64_t n = c->sizes[s][v->graph->time];
        for (int p = 0; p < (skips_masked(v->plan) ? 3 : 1); p++) {
                int64_t at = p == 0 ? n / 2 : n - 1 - p;
                if (at < 1 || !takes_pieces(v->graph))
                        continue;
                Tensors t = tensors_new(v->graph, c->sizes[s], c->input[s], at, poison[p]);
                const char *why = variant_run(v, 1, 1 << 20, &t);
                if (why)
                        mistaken(c, v->way, "%s", why);
                else if (!rows_kept(&t, whole, at))
                        mistaken(c, v->way, "inputs from position %d on, made %g, change outputs before",
                                 (int)at, poison[p]);
                tensors_free(&t);
        }
}

/* An output that is not wanted changes no other. */
static void check_unwanted(Compare *c, const Variant *v, int s, float *const *whole)
{
        for (int i = 0; i < v->graph->noutput && v->graph->noutput > 1; i++) {
                Tensors t = tensors_new(v->graph, c->sizes[s], c->input[s], INT32_MAX, 0);
                t.unwanted = i;
                const char *why = variant_run(v, 2, 7, &t);
                memcpy(t.output[i], whole[i],
                       (size_t)elements_of(&t, &v->graph->output[i].node->type) * sizeof(float));
                if (why)
                        mistaken(c, v->way, "%s", why);
                else if (takes_pieces(v->graph) && !same_bits(&t, whole))
                        mistaken(c, v->way, "without output %s, others change", v->graph->output[i].name);
                tensors_free(&t);
        }
}

/* Is there no time for it, in the quick form of the tests or in the rest? */
static bool left_out(const Way *w, const char *model)
{
        const char *tests = getenv("LATHE_TESTS");
        size_t turn = strlen(model);
        if (!tests || !strcmp(tests, "all"))
                return false;
        if (w->off)
                return is_quick() && (turn + (size_t)(w - model_table)) % 3 != 0;
        return w >= model_table + PLAIN && (turn + (size_t)(w - model_table)) % (size_t)(ways - PLAIN) != 0;
}

static bool reassociates(const Way *w)
{
        static const char *const reorders[] = {"fuse", "simplify", "recognise", "stage"};
        for (size_t i = 0; w->off && i < sizeof reorders / sizeof *reorders; i++)
                if (!strcmp(w->off, reorders[i]))
                        return true;
        return false;
}

static void check_variant(Compare *c, const Variant *v)
{
        for (int s = v->way->off && is_quick() ? c->nsize - 1 : 0; s < c->nsize; s++) {
                Tensors t = tensors_new(v->graph, c->sizes[s], c->input[s], INT32_MAX, 0);
                const char *why = variant_run(v, 1, 1 << 20, &t);
                float **whole = copy_outputs(&t);
                if (why)
                        mistaken(c, v->way, "%s", why);
                else
                        check_values(c, v->way, s, &t);
                if (c->first[s] && !reassociates(v->way) && !same_bits(&t, c->first[s]))
                        mistaken(c, v->way, "other bits for size %d than %s", (int)c->size[s],
                                 model_table[0].name);
                if (!why)
                        check_pieces(c, v, s, whole);
                if (!why && v->causal && s == c->nsize - 1)
                        check_causality(c, v, s, whole);
                if (!why && v->causal && s == c->nsize - 1 && v->way == model_table)
                        check_unwanted(c, v, s, whole);
                if (!c->first[s])
                        c->first[s] = whole;
                tensors_free(&t);
        }
}

static void print_plan(const Variant *v)
{
        for (int i = 0; i < v->plan->explained.n; i++)
                if (!strstr(v->plan->explained.line[i], " in tiles of ")) /* those are the target's affair */
                        printf("%s\n", v->plan->explained.line[i]);
        printf(v->causal ? "causal\n" : "not causal\n");
}

static bool compare(Compare *c)
{
        if (!expect(c))
                return false;
        for (int w = 0; w < ways && !c->mistaken; w++) {
                Variant v;
                if (left_out(&model_table[w], c->o.file[0]) ||
                    (c->scalar_only && strcmp(model_table[w].target, "scalar")))
                        continue;
                if (variant_open(&v, &c->m, &c->o, &model_table[w], c->folder)) {
                        if (w == 0)
                                print_plan(&v);
                        check_variant(c, &v);
                } else {
                        c->mistaken = true;
                }
                variant_close(&v);
        }
        return !c->mistaken;
}

int main(int argc, char **argv)
{
        Compare *c = calloc(1, sizeof *c);
        int code;
        if (argc < 3 || argc > 4 || !c)
                return 2;
        setvbuf(stdout, NULL, _IOLBF, 0);
        c->folder = argv[2];
        c->o = (CommandOptions){.file = (const char **)argv + 1, .nfile = 1, .chunk = 64};
        add_targets();
        read_directives(c, argv[1]);
        c->scalar_only |= argc == 4 && !strcmp(argv[3], "scalar");
        bool good = model_load(&c->m, &c->o, &code) && compare(c);
        if (getenv("COMPARE_ERROR"))
                printf("error %.1e\n", c->error);
        model_free(&c->m);
        return !good;
}
