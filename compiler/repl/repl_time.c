/* :time: where the time of a run goes, kernel by kernel, and how near each comes to what this machine can do.
 *
 * The ceilings are measured here: of reading, by a sum over more memory than caches hold; of arithmetic, by this very target's
 * product of matrices that lie in the cache.  A kernel's share is the time that its arithmetic or its bytes would take at the
 * ceiling, the longer of them, over the time that it took. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "repl_private.h"

enum { STEPS = 16, READ_BYTES = 1 << 27, PEAK_ROWS = 64, PEAK_WIDTH = 256 };

static bool wrong(const char *why)
{
        fprintf(stderr, "lathe: error: %s\n", why);
        return false;
}

/* --- ceilings -------------------------------------------------------------------------------------------------------- */

/* Bytes a second, in four streams, asked for ahead; 0: out of memory. */
static double read_ceiling(void)
{
        typedef uint64_t Line __attribute__((vector_size(64), may_alias));
        enum { STREAMS = 4, AHEAD = 1024, STREAM_BYTES = READ_BYTES / STREAMS };
        char *x = aligned_alloc(64, READ_BYTES);
        Line sum[STREAMS];
        if (!x)
                return 0;
        memset(x, 1, READ_BYTES);
        memset(sum, 0, sizeof sum);
        double best = 0;
        for (int k = 0; k < 5; k++) {
                double begin = seconds();
                for (int64_t i = 0; i < STREAM_BYTES; i += (int64_t)sizeof(Line))
                        for (int64_t j = 0; j < STREAMS; j++) {
                                const char *at = x + j * STREAM_BYTES + i;
                                __builtin_prefetch(at + AHEAD);
                                sum[j] ^= *(const Line *)(const void *)at;
                        }
                double rate = READ_BYTES / (seconds() - begin);
                best = rate > best ? rate : best;
        }
        uint64_t odd = 0; /* of an even number of equal lines nothing is left */
        for (int j = 0; j < STREAMS; j++)
                odd ^= sum[j][0];
        free(x);
        return odd ? 0 : best;
}

/* FLOPs a second of one product, through an engine of its own; 0: it can't be made. */
static double run_peak(Engine *e)
{
        double best = 0;
        static float in[PEAK_ROWS * PEAK_WIDTH], out[PEAK_ROWS * PEAK_WIDTH];
        const void *input[] = {in};
        float *output[] = {out};
        EngineCall call = {input, output, (int64_t[MAX_NAMED]){0}};
        for (int i = 0; i < PEAK_ROWS * PEAK_WIDTH; i++)
                in[i] = 0.5F;
        for (int k = 0; k < 40; k++) {
                double begin = seconds();
                if (engine_forward(e, &call))
                        return 0;
                double rate = 2.0 * PEAK_ROWS * PEAK_WIDTH * PEAK_WIDTH / (seconds() - begin);
                best = rate > best ? rate : best;
        }
        return best;
}

static double product_ceiling(int threads)
{
        static const char text[] =
                "model peak { input x : real[64, 256]; w : weight[256, 256]; output y = x @ w' }\n";
        Model m = {0};
        Options o;
        options_read(&o, "repl", "", 0, NULL);
        m.names.arena = m.diag.arena = &m.arena;
        const Source *source = source_new(&m.arena, "peak", text, (int32_t)sizeof text - 1);
        m.program = program_load(&m.arena, &m.names, &m.diag, "peak", source);
        double rate = 0;
        const char *why;
        Plan *p = m.program && model_elaborate(&m, &o, "peak") && model_passes(&m, &o)
                          ? model_plan(&m, &o, target_find("native"))
                          : NULL;
        float *weights = p ? aligned_alloc(64, ((size_t)p->weights_size + 63) / 64 * 64) : NULL;
        Weights *from = p ? weights_hashed(&m.arena, m.graph) : NULL;
        Engine *e = weights && !pack_weights(p, from, weights)
                            ? engine_new(p, weights, threads, JIT_TCC, &why)
                            : NULL;
        if (e)
                rate = run_peak(e);
        engine_free(e);
        free(weights);
        model_free(&m);
        return rate;
}

/* --- what a kernel does ------------------------------------------------------------------------------------------------ */

typedef struct {
        const Kernel *kernel;
        double flops, bytes; /* of one call */
        ProfileRow took;
} Row;

static double count(const Type *t, const int64_t *size)
{
        return (double)type_count(t, size);
}

static double flops_of(const Kernel *k, const int64_t *size)
{
        double flops = 0;
        switch (k->op) {
        case K_MATMUL:
                for (int i = 0; i < k->nsegment; i++)
                        for (int j = 0; j < k->segment[i].nproduct; j++)
                                flops += 2 * (double)k->k_size * count(&k->segment[i].product[j]->type, size);
                return flops;
        case K_ACTIVATION_MATMUL: {
                const Type *x = &k->x->type;
                return 2 * count(&k->store[0].node->type, size) *
                       (double)dim_value(x->dim[x->rank - 1], size);
        }
        case K_ATTENTION: {
                const Type *q = &k->q->type, *v = &k->v->type;
                double scores = count(q, size) * (double)dim_value(v->dim[v->rank - 2], size);
                return 2 * scores *
                       (1 + (double)dim_value(v->dim[v->rank - 1], size) /
                                    (double)dim_value(q->dim[q->rank - 1], size));
        }
        case K_SCAN: {
                const ScanInputs s = scan_of(k->store[0].node);
                const double pairs = s.q ? 4 * (double)s.depth * (double)s.width +
                                                     2 * SCAN_BLOCK * (double)(s.depth + s.width)
                                         : 2 * (double)s.width;
                return count(&k->store[0].node->type, size) / (double)s.width * pairs;
        }
        case K_LOOP:
        case K_SELECT:
        case K_FILL:
                for (int i = 0; k->op != K_FILL && i < k->nstore; i++)
                        flops += count(&k->store[i].node->type, size);
                return flops;
        case K_ACTIVE:
        case K_REPEAT: break;
        }
        return 0;
}

/* Of one buffer; of a table some rows are read. */
static double buffer_bytes(const Kernel *k, const Buffer *b, double stored, const int64_t *size)
{
        double n = count(&b->type, size);
        return sizeof(float) * (k->op == K_LOOP && b->home == IN_WEIGHTS && n > stored ? stored : n);
}

static double bytes_of(const Kernel *k, const int64_t *size)
{
        double bytes = 0, stored = 0;
        for (int i = 0; i < k->nstore; i++)
                stored += count(&k->store[i].node->type, size);
        for (int i = 0; i < k->code->nread; i++)
                bytes += buffer_bytes(k, k->code->read[i], stored, size);
        for (int i = 0; i < k->code->nwritten; i++)
                bytes += buffer_bytes(k, k->code->written[i], stored, size);
        return bytes;
}

static int list_kernels(const Plan *p, Row *row, int most)
{
        int n = 0;
        for (int b = 0; b < p->nbody; b++)
                for (int i = 0; i < p->list[b].n; i++)
                        if (p->list[b].kernel[i]->op != K_REPEAT && p->list[b].kernel[i]->op != K_ACTIVE &&
                            n < most)
                                row[n++].kernel = p->list[b].kernel[i];
        return n;
}

/* --- the table ----------------------------------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
        double x = ((const Row *)a)->took.seconds, y = ((const Row *)b)->took.seconds;
        return (x < y) - (x > y);
}

static void print_time_rows(Row *row, int n, int runs, double reads, double products)
{
        double total = 0;
        for (int i = 0; i < n; i++)
                total += row[i].took.seconds;
        qsort(row, (size_t)n, sizeof *row, by_time);
        printf("%-32s %6s %10s %6s %9s %8s %8s\n", "kernel", "calls", "us", "time", "GFLOP/s", "GB/s",
               "ceiling");
        for (int i = 0; i < n; i++) {
                const Row *r = &row[i];
                if (!r->took.calls)
                        continue;
                double calls = (double)r->took.calls, t = r->took.seconds > 0 ? r->took.seconds : 1e-9;
                double most = r->flops / products > r->bytes / reads ? r->flops / products : r->bytes / reads;
                printf("%-32s %6" PRId64 " %10.1f %5.1f%% %9.2f %8.2f %7.0f%%\n", r->kernel->name,
                       r->took.calls / runs, 1e6 * t / runs, total > 0 ? 100 * t / total : 0,
                       1e-9 * r->flops * calls / t, 1e-9 * r->bytes * calls / t, 100 * most * calls / t);
        }
        printf("%-32s %6s %10.1f\n", "all", "", 1e6 * total / runs);
}

/* runs: that the profile holds, each with these sizes. */
static bool print_profile(Session *s, const ProfileRow *profile, int steps, const int64_t *size, int runs,
                          const double *ceiling)
{
        Row *row = calloc((size_t)steps, sizeof *row);
        if (!row)
                return wrong(no_memory);
        int n = list_kernels(s->runner->plan, row, steps);
        for (int i = 0; i < n; i++) {
                row[i].flops = flops_of(row[i].kernel, size);
                row[i].bytes = bytes_of(row[i].kernel, size);
                row[i].took = profile[row[i].kernel->step];
        }
        print_time_rows(row, n, runs, ceiling[0], ceiling[1]);
        free(row);
        return true;
}

/* --- the runs ------------------------------------------------------------------------------------------------------------- */

/* Once to warm up, then again. */
static bool time_whole(Session *s, Trace *t, ProfileRow *profile, int steps)
{
        if (!trace_run(s, t) || engine_rewind(s->runner->engine, 0))
                return false;
        memset(profile, 0, (size_t)steps * sizeof *profile);
        profile_into(profile, steps);
        bool good = trace_run(s, t);
        profile_into(NULL, 0);
        return good;
}

/* Single positions after the whole: its last inputs over again. */
static bool time_steps(Session *s, const Trace *t, ProfileRow *profile, int steps, int64_t *size, int *runs)
{
        Runner *r = s->runner;
        const Graph *g = r->model.graph;
        int64_t n = t->size[g->time];
        memset(profile, 0, (size_t)steps * sizeof *profile);
        memcpy(size, t->size, sizeof t->size);
        size[g->time] = 1;
        size[g->past] = n;
        EngineCall call = {(const void *const *)t->input, t->output, t->size};
        const char *error = engine_rewind(r->engine, n - 1);
        for (*runs = 0; !error && *runs < STEPS; ++*runs) {
                error = engine_rewind(r->engine, n - 1);
                profile_into(*runs ? profile : NULL, steps);
                error = error ? error : engine_advance(r->engine, &call, 1, 0);
        }
        profile_into(NULL, 0);
        *runs -= 1;
        size[g->past] = n - 1;
        return !error || wrong(error);
}

static bool time_all(Session *s, Trace *t, ProfileRow *profile, int steps)
{
        const Graph *g = s->runner->model.graph;
        double ceiling[2] = {read_ceiling(), product_ceiling(s->options.threads)};
        int64_t size[MAX_NAMED];
        int runs;
        if (ceiling[0] <= 0 || ceiling[1] <= 0)
                return wrong("the ceilings can't be measured");
        printf("%s, %d thread%s; ceilings: read %.1f GB/s, product %.1f GFLOP/s\n",
               s->runner->plan->target->name, s->options.threads, s->options.threads == 1 ? "" : "s",
               1e-9 * ceiling[0], 1e-9 * ceiling[1]);
        if (!time_whole(s, t, profile, steps))
                return false;
        if (g->past >= 0)
                printf("prefill, %" PRId64 " positions\n", t->size[g->time]);
        if (!print_profile(s, profile, steps, t->size, 1, ceiling))
                return false;
        if (g->past < 0)
                return true;
        if (!time_steps(s, t, profile, steps, size, &runs))
                return false;
        printf("a step after %" PRId64 " positions\n", size[g->past]);
        return print_profile(s, profile, steps, size, runs, ceiling);
}

bool show_times(Session *s, const Words *w)
{
        (void)w;
        Trace t;
        if (!runner_fit(s, (RunnerKind){.attention = -1, .timed = true}))
                return false;
        int steps = 1;
        const Plan *p = s->runner->plan;
        for (int b = 0; b < p->nbody; b++)
                for (int i = 0; i < p->list[b].n; i++)
                        steps = p->list[b].kernel[i]->step >= steps ? p->list[b].kernel[i]->step + 1 : steps;
        ProfileRow *profile = calloc((size_t)steps, sizeof *profile);
        bool good = trace_inputs(s, &t) && (profile || wrong(no_memory)) && time_all(s, &t, profile, steps);
        trace_free(s, &t);
        free(profile);
        return good;
}
