/*
 * Counts what tale allocates and maps: in the caller's memory, at work, and in memory of its own.
 *
 * Linked with -Wl,--wrap=malloc and so on, so that what tale.c calls are the functions here.
 *   usage: allocations WEIGHTS THREADS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "tale.h"

static int allocated, mapped;

void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t n);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
int __real_posix_memalign(void **p, size_t alignment, size_t n);
void *__real_mmap(void *at, size_t n, int protection, int flags, int file, off_t offset);

void *__wrap_malloc(size_t n)
{
        allocated++;
        return __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t n)
{
        allocated++;
        return __real_calloc(count, n);
}

void *__wrap_realloc(void *p, size_t n)
{
        allocated++;
        return __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t alignment, size_t n)
{
        allocated++;
        return __real_aligned_alloc(alignment, n);
}

int __wrap_posix_memalign(void **p, size_t alignment, size_t n)
{
        allocated++;
        return __real_posix_memalign(p, alignment, n);
}

void *__wrap_mmap(void *at, size_t n, int protection, int flags, int file, off_t offset)
{
        mapped++;
        return __real_mmap(at, n, protection, flags, file, offset);
}

/* What was counted since the last report. */
static void report(const char *what, int error)
{
        printf("%s: %s, %d allocated, %d mapped\n", what, tale_error(error), allocated, mapped);
        allocated = mapped = 0;
}

/* Every way of taking positions, to the end of the context. */
static int work(tale *m)
{
        static int32_t tokens[TALE_CONTEXT];
        static float logits[TALE_CONTEXT * TALE_VOCAB];
        int error = tale_prefill(m, tokens, 100);
        error = error ? error : tale_forward(m, tokens, 50, logits);
        error = error ? error : tale_rewind(m, 70);
        for (int i = 70; i < TALE_CONTEXT && !error; i++)
                error = tale_step(m, i, i % 3 ? logits : NULL);
        tale_reset(m);
        return error ? error : tale_forward(m, tokens, TALE_CONTEXT, logits);
}

int main(int argc, char **argv)
{
        if (argc != 3)
                return 2;
        int error = 0, threads = atoi(argv[2]);
        tale *m = __real_aligned_alloc(64, tale_size(threads));
        if (!m)
                return 3;
        report("init", tale_init(m, argv[1], threads));
        report("work", work(m));
        tale_close(m);
        report("close", 0);
        free(m);
        m = tale_new(argv[1], threads, &error);
        report("new", error);
        tale_free(m);
        return 0;
}
