/* The ceilings of this machine for THREADS threads, the median of five.
 *
 *   ceiling read THREADS MB     GB/s read from MB megabytes: the best of 1, 2, 4 and 8 streams a thread, asked for 0 to 8 kilobytes ahead
 *                               or by the processor alone, in pages of both sizes
 *   ceiling f32 THREADS         GFLOP/s of multiply-adds in f32, registers alone
 *   ceiling int8 THREADS        Gop/s of multiply-adds of bytes into 32 bits, registers alone, AMX's where the system lets it be used;
 *                               0 without vector instructions for it
 * "all" after these prints every way of reading, too. */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__AMX_INT8__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "seconds.h"
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { MOST_THREADS = 64, LINE = 64, CHAINS = 12, REPEATS = 5, PAGE = 2 << 20 };

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

typedef uint64_t Line __attribute__((vector_size(64), may_alias));

/* Reads in so many streams, each asked for `ahead` bytes before its turn; -1: not asked for. */
#define READ_SHARE(streams, ahead, name)                                                                     \
        static void *name(void *arg)                                                                         \
        {                                                                                                    \
                Share *s = arg;                                                                              \
                int64_t stream = s->bytes / (streams) / LINE * LINE;                                         \
                Line sum[streams];                                                                           \
                memset(sum, 0, sizeof sum);                                                                  \
                for (int64_t pass = 0; pass < s->times; pass++)                                              \
                        for (int64_t i = 0; i < stream; i += LINE)                                           \
                                for (int k = 0; k < (streams); k++) {                                        \
                                        const char *p = s->from + k * stream + i;                            \
                                        if ((ahead) >= 0)                                                    \
                                                __builtin_prefetch(p + (ahead));                             \
                                        sum[k] ^= *(const Line *)(const void *)p;                            \
                                }                                                                            \
                for (int k = 0; k < (streams); k++)                                                          \
                        s->result += sum[k][0];                                                              \
                return NULL;                                                                                 \
        }
#define AHEADS(of, streams)                                                                                  \
        of(streams, -1, alone) of(streams, 1024, 1k) of(streams, 2048, 2k) of(streams, 8192, 8k)
#define READS(of) AHEADS(of, 1) AHEADS(of, 2) AHEADS(of, 4) AHEADS(of, 8)
#define DEFINE_READ(streams, ahead, name) READ_SHARE(streams, ahead, read_##streams##_##name)
READS(DEFINE_READ)

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
#if defined(__AMX_INT8__) && defined(__linux__)
#define HAS_AMX
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

#ifdef HAS_AMX
/* Six of eight tile registers are sums, so that each waits for itself alone. */
static void *amx_share(void *arg)
{
        Share *s = arg;
        unsigned char sizes[64] = {1};
        uint16_t bytes[8];
        for (int i = 0; i < 8; i++) {
                bytes[i] = 64;
                sizes[48 + i] = 16;
        }
        memcpy(sizes + 16, bytes, sizeof bytes);
        __asm__ __volatile__("ldtilecfg %0" : : "m"(sizes));
        for (int64_t time = 0; time < s->times; time++)
                __asm__ __volatile__("tdpbssd %tmm7, %tmm6, %tmm0\n\ttdpbssd %tmm7, %tmm6, %tmm1\n\ttdpbssd "
                                     "%tmm7, %tmm6, %tmm2\n\t"
                                     "tdpbssd %tmm7, %tmm6, %tmm3\n\ttdpbssd %tmm7, %tmm6, %tmm4\n\ttdpbssd "
                                     "%tmm7, %tmm6, %tmm5");
        __asm__ __volatile__("tilerelease");
        return NULL;
}

/* arch_prctl(ARCH_REQ_XCOMP_PERM, XTILEDATA) */
static int may_use_amx(void)
{
        return syscall(SYS_arch_prctl, 0x1023, 18) == 0;
}
#endif

static const Ceiling reads[] = {
#define READ_ROW(streams, ahead, name) {#streams " streams, " #name, read_##streams##_##name, 0, 0},
        READS(READ_ROW)};

static const Ceiling ceiling[] = {
        {"read", read_4_1k, 0, 0},
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

/* The median of some measurements after one that does not count. */
static double median_of(const Ceiling *c, const char *memory, int64_t bytes, int threads, int64_t times,
                        int repeats)
{
        double rate[REPEATS];
        measure(c, memory, bytes, threads, memory ? 1 : times / 10);
        for (int i = 0; i < repeats; i++)
                rate[i] = measure(c, memory, bytes, threads, times);
        qsort(rate, (size_t)repeats, sizeof *rate, by_value);
        return rate[repeats / 2];
}

/* The best way to read, in small pages or, where there are any, in large ones. */
static double best_read(int64_t bytes, int threads, int all)
{
        double best = 0, found = 0;
        for (int large = 0; large < 2; large++) {
                void *memory = NULL;
                const Ceiling *way = NULL;
                if (posix_memalign(&memory, PAGE, (size_t)bytes))
                        exit(3);
#ifdef MADV_HUGEPAGE
                madvise(memory, (size_t)bytes, large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
                memset(memory, 1, (size_t)bytes);
                for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
                        double rate = median_of(&reads[i], memory, bytes, threads, 200000000 / bytes + 1, 3);
                        if (all)
                                printf("%s, %s pages: %.2f\n", reads[i].name, large ? "large" : "small",
                                       rate);
                        way = rate > best ? &reads[i] : way;
                        best = rate > best ? rate : best;
                }
                double again =
                        way ? median_of(way, memory, bytes, threads, 500000000 / bytes + 1, REPEATS) : 0;
                found = again > found ? again : found;
                free(memory);
        }
        return found;
}

int main(int argc, char **argv)
{
        Ceiling c = {0};
        for (size_t i = 0; i < sizeof ceiling / sizeof *ceiling && argc > 2; i++)
                c = strcmp(argv[1], ceiling[i].name) ? c : ceiling[i];
        int threads = argc > 2 ? atoi(argv[2]) : 0;
        int64_t bytes = c.name && !c.times ? (argc > 3 ? atoll(argv[3]) : 64) * 1000000 / 4096 * 4096 : 0;
        if (!c.name || threads < 1 || threads > MOST_THREADS || (!c.times && bytes < 4096)) {
                fprintf(stderr, "usage: ceiling read|f32|int8 THREADS [MB [all]]\n");
                return 3;
        }
#ifdef HAS_AMX
        if (!strcmp(c.name, "int8") && may_use_amx())
                c = (Ceiling){c.name, amx_share, 2.0 * 6 * 16 * 16 * 64, 2000000};
#endif
        printf("%.2f\n", !c.times ? best_read(bytes, threads, argc > 4)
                         : c.work ? median_of(&c, NULL, 0, threads, c.times, REPEATS)
                                  : 0);
        return 0;
}
