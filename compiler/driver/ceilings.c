/* Ceilings of this machine: memory bandwidth, and multiply-adds.
 *
 * Bandwidth is measured by a sum over more memory than fits the caches, on one thread; arithmetic by the
 * native target's product of matrices that fit the cache. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { READ_BYTES = 1 << 27, PEAK_ROWS = 64, PEAK_WIDTH = 256 };

/* Bytes per second, read in four prefetched streams; 0: out of memory. */
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
        uint64_t odd = 0; /* an even number of equal lines cancels out */
        for (int j = 0; j < STREAMS; j++)
                odd ^= sum[j][0];
        free(x);
        return odd ? 0 : best;
}

/* FLOPs per second of a product, in a separate engine; 0: it can't be made. */
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
        CommandOptions o;
        options_begin(&o);
        m.names.arena = m.diag.arena = &m.arena;
        const Source *source = source_new(&m.arena, "peak", text, (int32_t)sizeof text - 1);
        m.program = program_load(&m.arena, &m.names, &m.diag, "peak", source);
        double rate = 0;
        const char *why;
        Plan *p = m.program && model_elaborate(&m, &o, "peak") && model_passes(&m, &o)
                          ? model_plan(&m, &o, target_find("native"))
                          : NULL;
        float *weights = p ? aligned_alloc(64, ((size_t)p->bytes.weights + 63) / 64 * 64) : NULL;
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

bool ceilings_measure(Ceilings *c, int threads)
{
        *c = (Ceilings){.read = read_ceiling(), .flops = product_ceiling(threads)};
        return c->read > 0 && c->flops > 0;
}
