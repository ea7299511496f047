/*
 * What the interface of tale answers to callers that go wrong, one line a call: the error, and the position after it.
 *   usage: misuse WEIGHTS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tale.h"

static float logits[TALE_CONTEXT * TALE_VOCAB], again[TALE_VOCAB];
static int32_t tokens[TALE_CONTEXT + 1];

static void say(const char *what, const tale *m, int error)
{
        printf("%s: %s; position %lld\n", what, tale_error(error), m ? (long long)tale_position(m) : 0);
}

static void refuse_new(const char *what, const char *weights, int threads)
{
        int error = TALE_OK;
        tale *m = tale_new(weights, threads, &error);
        say(what, m, error);
        tale_free(m);
}

static void refuse_init(const char *what, const char *weights, int threads)
{
        tale *m = aligned_alloc(64, tale_size(1));
        if (!m)
                exit(3);
        say(what, NULL, tale_init(m, weights, threads));
        tale_close(m);
        free(m);
}

static void refuse_memory(const char *what, const void *image, size_t bytes)
{
        int error = TALE_OK;
        tale *m = tale_new_from(image, bytes, 1, &error);
        say(what, m, error);
        tale_free(m);
}

/* Weights in memory: those of the file, too few, too many, at an odd place, and others. */
static void memories(const char *path)
{
        static char held[1 << 23];
        char *image = held + (64 - (uintptr_t)held % 64) % 64;
        FILE *f = fopen(path, "rb");
        size_t n = f ? fread(image, 1, sizeof held - 64, f) : 0;
        if (!f || fclose(f) || !n || n == sizeof held - 64)
                exit(3);
        int from_memory, from_file;
        tale *a = tale_new_from(image, n, 1, &from_memory), *b = tale_new(path, 1, &from_file);
        say("memory, as the file", a, from_memory ? from_memory : from_file);
        if (!a || !b || tale_forward(a, tokens, 9, logits) ||
            tale_forward(b, tokens, 9, logits + 9 * TALE_VOCAB))
                exit(3);
        printf("%s\n", memcmp(logits, logits + 9 * TALE_VOCAB, 9 * sizeof again) ? "other logits"
                                                                                 : "the same logits");
        tale_free(a);
        tale_free(b);
        refuse_memory("memory, a byte less", image, n - 1);
        refuse_memory("memory, a byte more", image, n + 1);
        refuse_memory("memory, a part of the head", image, 39);
        refuse_memory("memory, NULL", NULL, n);
        memmove(image + 4, image, n);
        refuse_memory("memory, not aligned", image + 4, n);
        refuse_memory("memory, no weights", image, n);
}

static void ids(tale *m)
{
        tokens[100] = TALE_VOCAB;
        say("step, token vocab", m, tale_step(m, TALE_VOCAB, logits));
        say("step, token -1", m, tale_step(m, -1, logits));
        say("step, least token", m, tale_step(m, INT32_MIN, NULL));
        say("prefill, one of 101 out of range", m, tale_prefill(m, tokens, 101));
        say("forward, one of 101 out of range", m, tale_forward(m, tokens, 101, logits));
        tokens[100] = 0;
}

static void counts(tale *m)
{
        say("prefill, context and one more", m, tale_prefill(m, tokens, TALE_CONTEXT + 1));
        say("prefill, -1", m, tale_prefill(m, tokens, -1));
        say("prefill, none", m, tale_prefill(m, NULL, 0));
        say("forward, none", m, tale_forward(m, NULL, 0, NULL));
        say("prefill, 3", m, tale_prefill(m, tokens, 3));
        say("prefill, the most that a number can be", m, tale_prefill(m, tokens, INT64_MAX));
        say("forward, context - 2", m, tale_forward(m, tokens, TALE_CONTEXT - 2, logits));
        say("rewind, 4", m, tale_rewind(m, 4));
        say("rewind, -1", m, tale_rewind(m, -1));
        say("rewind, 3", m, tale_rewind(m, 3));
        say("rewind, 2", m, tale_rewind(m, 2));
}

/* Outputs that are not wanted change nothing; what was refused has left no trace. */
static void outputs(tale *m)
{
        tale_reset(m);
        say("forward, no outputs", m, tale_forward(m, tokens, 7, NULL));
        say("step, no outputs", m, tale_step(m, 5, NULL));
        say("step", m, tale_step(m, 9, logits));
        tale_reset(m);
        say("prefill, 7", m, tale_prefill(m, tokens, 7));
        say("step", m, tale_step(m, 5, logits + TALE_VOCAB));
        say("step", m, tale_step(m, 9, again));
        int same = 1;
        for (int i = 0; i < TALE_VOCAB; i++)
                same &= logits[i] == again[i];
        printf("%s\n", same ? "the same logits" : "other logits");
        say("prefill, the rest", m, tale_prefill(m, tokens, TALE_CONTEXT - 9));
        say("step, beyond the context", m, tale_step(m, 1, logits));
}

int main(int argc, char **argv)
{
        if (argc != 2)
                return 2;
        refuse_new("new, 0 threads", argv[1], 0);
        refuse_new("new, -1 threads", argv[1], -1);
        refuse_new("new, 65 threads", argv[1], 65);
        refuse_new("new, no such file", "missing.weights", 1);
        refuse_new("new, no path", NULL, 1);
        refuse_init("init, 0 threads", argv[1], 0);
        refuse_init("init, 65 threads", argv[1], 65);
        refuse_init("init, no such file", "missing.weights", 1);
        memories(argv[1]);
        int error;
        tale *m = tale_new(argv[1], 2, &error);
        say("new", m, error);
        if (!m)
                return 1;
        ids(m);
        counts(m);
        outputs(m);
        tale_free(m);
        tale_free(NULL);
        printf("%s; %s\n", tale_error(-1), tale_error(99));
        return 0;
}
