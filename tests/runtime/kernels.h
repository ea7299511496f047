/*
 * What the tests of the kernels share: one instruction set (v16.h and n16.h are written by run-kernels), its tiles,
 * reproducible numbers, and counting what went wrong.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/guard.h"
#include "../../runtime/team.h"

#include "v16.h"

#include "../../runtime/math.h"
#include "../../runtime/rows.h"
#include "../../runtime/wide.h"
#include "../../runtime/narrow.h"
#include "../../runtime/kept.h"
#include "../../runtime/tile.h"
#include "../../runtime/book_tables.h"
#include "../../runtime/book_values.h"
#include "../../runtime/block_values.h"

#include "n16.h"

#include "../../runtime/books.h"
#include "../../runtime/blocks.h"

#include "tiles.h"

#include "../../runtime/matmul.h"

static int failures;

/* Prints the verdict on one property. */
static void verdict(const char *name, int good)
{
        printf("%s %s\n", good ? "ok" : "FAIL", name);
        failures += !good;
}

static uint32_t random_state = 12345;

/* Uniform in [-1, 1), the same everywhere. */
static float random_float(void)
{
        random_state = random_state * 1664525u + 1013904223u;
        return (float)(random_state >> 8) / 8388608.0f - 1.0f;
}

static int random_below(int n)
{
        random_state = random_state * 1664525u + 1013904223u;
        return (int)((random_state >> 8) % (uint32_t)n);
}

/* n floats, filled at random; freed by the caller. */
static inline float *random_floats(int64_t n)
{
        float *p = malloc((size_t)(n + 16) * sizeof *p);
        if (!p)
                abort();
        for (int64_t i = 0; i < n + 16; i++)
                p[i] = random_float();
        return p;
}

/* Exactly n floats, all 0, so that a sanitizer sees a read or write behind them. */
static float *zero_floats(int64_t n)
{
        float *p = calloc((size_t)(n ? n : 1), sizeof *p);
        if (!p)
                abort();
        return p;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZES_ADDRESSES
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(SANITIZES_ADDRESSES)
enum { GUARD = 0 }; /* the sanitizer sees it */
#else
enum { GUARD = 4096 };
#endif
static int overruns; /* of floats behind scratch that were written */

/* Scratch of n floats, NaN, before GUARD floats that must stay. */
static float *scratch_floats(int64_t n)
{
        float *p = malloc((size_t)(n + GUARD + 1) * sizeof *p);
        if (!p)
                abort();
        for (int64_t i = 0; i < n + GUARD; i++)
                p[i] = NAN;
        return p;
}

static void free_scratch(float *p, int64_t n)
{
        for (int64_t i = n; i < n + GUARD; i++)
                overruns += p[i] == p[i];
        free(p);
}

/* Equal to the bit, NaN being one value. */
static int same_bits(const float *a, const float *b, int64_t n)
{
        for (int64_t i = 0; i < n; i++)
                if (memcmp(a + i, b + i, sizeof *a) != 0 && !(a[i] != a[i] && b[i] != b[i]))
                        return 0;
        return 1;
}

static uint64_t hash_state = 14695981039346656037u;

/* Folds results into the hash that run-kernels compares between instruction sets (FNV-1a). */
static void hash_floats(const float *p, int64_t n)
{
        for (int64_t i = 0; i < n; i++) {
                uint32_t bits = 0x7fc00000u;
                if (p[i] == p[i])
                        memcpy(&bits, p + i, sizeof bits);
                hash_state = (hash_state ^ bits) * 1099511628211u;
        }
}

/* Of definitions in plain C: exp as the kernels have it, and the sum of 16 lanes, as a tree. */
static inline float exp_of(float x)
{
        float lane[16];
        v_store(lane, v_exp(v_set1(x)));
        return lane[0];
}

static inline float tree_sum(const float *lane)
{
        float t[16];
        memcpy(t, lane, sizeof t);
        for (int s = 8; s; s /= 2)
                for (int i = 0; i < s; i++)
                        t[i] += t[i + s];
        return t[0];
}
