/* The ceilings of this machine for THREADS threads, the median of five.
 *
 *   ceiling read THREADS MB     GB/s read from MB megabytes, four streams a thread, asked for a kilobyte ahead
 *   ceiling f32 THREADS         GFLOP/s of multiply-adds in f32, registers alone
 *   ceiling int8 THREADS        Gop/s of multiply-adds of bytes into 32 bits, registers alone; 0 without vector instructions for it */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seconds.h"
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { MOST_THREADS = 64, STREAMS = 4, LINE = 64, AHEAD = 1024, CHAINS = 12, REPEATS = 5 };

/* What a thread does so many times; its work counts in bytes or operations. */
typedef struct {
        const char *from;
        int64_t bytes, times;
        uint64_t result;
} Share;

typedef struct {
        const char *name;
        void *(*work)(void *);
        double operations; /* of one time; 0: a pass over `bytes` */
        int64_t times;
} Ceiling;

static void *read_share(void *arg)
{
        Share *s = arg;
        int64_t stream = s->bytes / STREAMS / LINE * LINE;
        typedef uint64_t Line __attribute__((vector_size(64), may_alias));
        Line sum[STREAMS];
        memset(sum, 0, sizeof sum);
        for (int64_t pass = 0; pass < s->times; pass++)
                for (int64_t i = 0; i < stream; i += LINE)
                        for (int k = 0; k < STREAMS; k++) {
                                const char *p = s->from + k * stream + i;
                                __builtin_prefetch(p + AHEAD);
                                sum[k] ^= *(const Line *)(const void *)p;
                        }
        for (int k = 0; k < STREAMS; k++)
                s->result += sum[k][0];
        return NULL;
}

/* CHAINS independent chains hide the latency of MULTIPLY_ADD(c, x); the empty asm keeps each in a register: as an array they would lie in
 * memory. */
#define EACH(of) of(0) of(1) of(2) of(3) of(4) of(5) of(6) of(7) of(8) of(9) of(10) of(11)
#define BEGUN(i) c##i = x,
#define ADDED(i)                                                                                             \
        c##i = STEP(c##i, x);                                                                                \
        __asm__("" : KEPT(c##i));
#define TOLD(i) s->result += ((const unsigned char *)&c##i)[0];
#define CHAINED(name)                                                                                        \
        static void *name##_share(void *arg)                                                                 \
        {                                                                                                    \
                Share *s = arg;                                                                              \
                name##_vector x;                                                                             \
                memset(&x, 0, sizeof x);                                                                     \
                __asm__("" : KEPT(x)); /* not known to be 0 */                                               \
                name##_vector EACH(BEGUN) last = x;                                                          \
                for (int64_t time = 0; time < s->times; time++) {                                            \
                        EACH(ADDED)                                                                          \
                }                                                                                            \
                (void)last;                                                                                  \
                EACH(TOLD)                                                                                   \
                return NULL;                                                                                 \
        }
#if defined(__aarch64__)
#define KEPT(v) "+w"(v)
#elif defined(__AVX512F__)
#define KEPT(v) "+v"(v)
#else
#define KEPT(v) "+x"(v)
#endif

/* A multiply-add of each kind, on the widest vectors that the compiler was told of. */
#define OF(Vector, name, value)                                                                              \
        typedef Vector name##_vector;                                                                        \
        static inline Vector name##_step(Vector c, Vector x)                                                 \
        {                                                                                                    \
                return value;                                                                                \
        }
#if defined(__AVX512F__)
OF(__m512, f32, _mm512_fmadd_ps(x, x, c))
#elif defined(__FMA__)
OF(__m256, f32, _mm256_fmadd_ps(x, x, c))
#elif defined(__aarch64__)
OF(float32x4_t, f32, vfmaq_f32(c, x, x))
#else
OF(float, f32, c + x * x)
#endif
#if defined(__AVX512VNNI__)
OF(__m512i, int8, _mm512_dpbusd_epi32(c, x, x))
#elif defined(__AVX2__)
OF(__m256i, int8, _mm256_add_epi32(c, _mm256_madd_epi16(_mm256_maddubs_epi16(c, x), x)))
#elif defined(__ARM_FEATURE_DOTPROD)
OF(int32x4_t, int8, vdotq_s32(c, vreinterpretq_s8_s32(x), vreinterpretq_s8_s32(x)))
#else
#define NO_INT8
#endif
#define STEP f32_step
CHAINED(f32)
#undef STEP
#ifndef NO_INT8
#define STEP int8_step
CHAINED(int8)
#endif

static const Ceiling ceiling[] = {
        {"read", read_share, 0, 0},
        {"f32", f32_share, 2.0 * CHAINS * sizeof(f32_vector) / sizeof(float), 20000000},
#ifdef NO_INT8
        {"int8", NULL, 1, 1},
#else
        {"int8", int8_share, 2.0 * CHAINS * sizeof(int8_vector), 20000000},
#endif
};

/* Units of 10^9 a second. */
static double measure(const Ceiling *c, const char *memory, int64_t bytes, int threads, int64_t times)
{
        Share share[MOST_THREADS];
        pthread_t thread[MOST_THREADS];
        double begin = seconds();
        for (int i = 0; i < threads; i++) {
                int64_t part = bytes / threads / 4096 * 4096;
                share[i] = (Share){memory ? memory + i * part : NULL, part, times, 0};
                if (pthread_create(&thread[i], NULL, c->work, &share[i]))
                        exit(3);
        }
        for (int i = 0; i < threads; i++)
                pthread_join(thread[i], NULL);
        double work = c->operations > 0 ? c->operations * threads : (double)bytes;
        return work * (double)times / (seconds() - begin) / 1e9;
}

static int by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
        const Ceiling *c = NULL;
        for (size_t i = 0; i < sizeof ceiling / sizeof *ceiling && argc > 2; i++)
                c = strcmp(argv[1], ceiling[i].name) ? c : &ceiling[i];
        int threads = argc > 2 ? atoi(argv[2]) : 0;
        int64_t bytes = c && !c->times ? (argc > 3 ? atoll(argv[3]) : 64) * 1000000 / 4096 * 4096 : 0;
        void *memory = NULL;
        if (!c || threads < 1 || threads > MOST_THREADS ||
            (!c->times && (bytes < 4096 || posix_memalign(&memory, 4096, (size_t)bytes)))) {
                fprintf(stderr, "usage: ceiling read|f32|int8 THREADS [MB]\n");
                return 3;
        }
        if (memory)
                memset(memory, 1, (size_t)bytes);
        int64_t times = memory ? 500000000 / bytes + 1 : c->times;
        double rate[REPEATS] = {0};
        if (c->work) {
                measure(c, memory, bytes, threads, memory ? 1 : times / 10);
                for (int i = 0; i < REPEATS; i++)
                        rate[i] = measure(c, memory, bytes, threads, times);
        }
        qsort(rate, REPEATS, sizeof *rate, by_value);
        printf("%.2f\n", rate[REPEATS / 2]);
        free(memory);
        return 0;
}
