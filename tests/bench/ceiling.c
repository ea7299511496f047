/* The read ceiling of this machine: GB/s that THREADS threads read from MB megabytes each pass, four streams a thread, asked
 * for a kilobyte ahead.   ceiling MB THREADS */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 64, STREAMS = 4, LINE = 64, AHEAD = 1024 };

typedef struct {
        const char *from;
        int64_t bytes;
        int passes;
        uint64_t sum;
} Share;

static double seconds(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *read_share(void *arg)
{
        Share *s = arg;
        int64_t stream = s->bytes / STREAMS / LINE * LINE;
        typedef uint64_t Line __attribute__((vector_size(64), may_alias));
        Line sum[STREAMS];
        memset(sum, 0, sizeof sum);
        for (int pass = 0; pass < s->passes; pass++)
                for (int64_t i = 0; i < stream; i += LINE)
                        for (int k = 0; k < STREAMS; k++) {
                                const char *p = s->from + k * stream + i;
                                __builtin_prefetch(p + AHEAD);
                                sum[k] ^= *(const Line *)(const void *)p;
                        }
        for (int k = 0; k < STREAMS; k++)
                s->sum += sum[k][0];
        return NULL;
}

static double measure(const char *memory, int64_t bytes, int threads, int passes)
{
        Share share[MOST_THREADS];
        pthread_t thread[MOST_THREADS];
        double begin = seconds();
        for (int i = 0; i < threads; i++) {
                int64_t part = bytes / threads / 4096 * 4096;
                share[i] = (Share){memory + i * part, part, passes, 0};
                if (pthread_create(&thread[i], NULL, read_share, &share[i]))
                        exit(3);
        }
        for (int i = 0; i < threads; i++)
                pthread_join(thread[i], NULL);
        return (double)bytes * passes / (seconds() - begin) / 1e9;
}

static int by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
        int64_t bytes = (argc > 1 ? atoll(argv[1]) : 64) * 1000000 / 4096 * 4096;
        int threads = argc > 2 ? atoi(argv[2]) : 1;
        void *memory;
        if (bytes < 4096 || threads < 1 || threads > MOST_THREADS || posix_memalign(&memory, 4096, (size_t)bytes))
                return 3;
        memset(memory, 1, (size_t)bytes);
        int passes = (int)(500000000 / bytes) + 1;
        double rate[5];
        measure(memory, bytes, threads, 1);
        for (int i = 0; i < 5; i++)
                rate[i] = measure(memory, bytes, threads, passes);
        qsort(rate, 5, sizeof *rate, by_value);
        printf("%.2f\n", rate[2]);
        free(memory);
        return 0;
}
