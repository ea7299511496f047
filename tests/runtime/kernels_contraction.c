/*
 * runtime/contraction.h against its definition in plain C, to the bit: in all transpositions and storages, for any cut of rows into units,
 * past zeros of either side, wherever masks leave them.
 */
#include "kernels.h"

#include "../../runtime/contraction.h"

enum { MASKS = 5 }; /* none, causal, window, holes, all */

typedef struct {
        int rows, n, k, zeros, mask, storage;
        int turned[2]; /* a, b */
} Case;

static float *scratch;

/* A number that 8 bits of fraction hold. */
static float short_float(void)
{
        return rintf(random_float() * 128.0f) / 128.0f;
}

/* What a mask makes of the factor of row i at step p: is it 0? */
static int is_masked(const Case *c, int i, int p)
{
        switch (c->mask) {
        case 1: return p > i + 3;
        case 2: return p > i + 40 || p < i;
        case 3: return random_below(3) == 0 || (p > i && random_below(2));
        case 4: return i % 3 != 1;
        default: return 0;
        }
}

static float zero_of_either_sign(void)
{
        return random_below(2) ? 0.0f : -0.0f;
}

/* a [rows][k]: zeros by the mask; b [k][n]: some zeros, and what must not be read by zeros. */
static void fill(const Case *c, float *a, float *b)
{
        for (int i = 0; i < c->rows * c->k; i++)
                a[i] = (c->zeros & 1) && is_masked(c, i / c->k, i % c->k) ? zero_of_either_sign()
                                                                          : random_float();
        for (int i = 0; i < c->n * c->k; i++)
                b[i] = (c->zeros & 2) && random_below(2) ? zero_of_either_sign() : short_float();
        for (int p = 0; p < c->k; p++) {
                int dead = (c->zeros & 1) != 0;
                for (int i = 0; i < c->rows; i++)
                        dead = dead && a[i * c->k + p] == 0;
                for (int j = 0; dead && j < c->n; j += 3)
                        b[p * c->n + j] = NAN;
        }
}

static uint16_t short_bits(float x, int storage)
{
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
        if (storage == STORAGE_BF16)
                return (uint16_t)(bits >> 16);
        if (x != x)
                return 0x7e00;
        return (uint16_t)(magnitude ? sign | ((magnitude - (112u << 23)) >> 13) : sign);
}

static float defined(const Case *c, const float *a, const float *b, int i, int j)
{
        float sum = 0;
        for (int p = 0; p < c->k; p++) {
                const float x = a[i * c->k + p], w = b[p * c->n + j];
                if (!((c->zeros & 1) && x == 0) && !((c->zeros & 2) && w == 0))
                        sum = fmaf(x, w, sum);
        }
        return sum;
}

/* The operands as they lie, each exactly as long as it is. */
static void lay(const Case *c, const float *a, const float *b, float *xs, char *ws)
{
        for (int i = 0; i < c->rows; i++)
                for (int p = 0; p < c->k; p++)
                        xs[c->turned[0] ? p * c->rows + i : i * c->k + p] = a[i * c->k + p];
        for (int p = 0; p < c->k; p++)
                for (int j = 0; j < c->n; j++) {
                        const int at = c->turned[1] ? j * c->k + p : p * c->n + j;
                        const uint16_t bits = short_bits(b[p * c->n + j], c->storage);
                        if (c->storage == STORAGE_F32)
                                memcpy(ws + 4 * at, b + p * c->n + j, 4);
                        else
                                memcpy(ws + 2 * at, &bits, 2);
                }
}

static int equals_definition(const Case *c)
{
        const int width = c->storage == STORAGE_F32 ? 1 : 2; /* numbers in a float */
        float *a = zero_floats((int64_t)c->rows * c->k), *b = zero_floats((int64_t)c->k * c->n),
              *xs = zero_floats((int64_t)c->rows * c->k), *y = zero_floats((int64_t)c->rows * c->n),
              *expected = zero_floats((int64_t)c->rows * c->n);
        char *ws = malloc((size_t)c->k * (size_t)c->n * 4 / (size_t)width + 1);
        if (!ws)
                abort();
        fill(c, a, b);
        lay(c, a, b, xs, ws);
        for (int i = 0; i < c->rows * c->n; i++)
                expected[i] = defined(c, a, b, i / c->n, i % c->n);
        Contraction it = {.y = y,
                          .y_row = c->n,
                          .a = xs,
                          .b = ws,
                          .storage = c->storage,
                          .n = c->n,
                          .k = c->k,
                          .zeros = c->zeros};
        it.a_row = c->turned[0] ? 1 : c->k;
        it.a_step = c->turned[0] ? c->rows : 1;
        it.b_step = c->turned[1] ? 1 : c->n;
        it.b_lane = c->turned[1] ? c->k : 1;
        for (int unit = CONTRACT_UNITS(c->rows) - 1; unit >= 0; unit--)
                contract(&it, unit, c->rows, scratch);
        const int good = same_bits(y, expected, (int64_t)c->rows * c->n);
        hash_floats(y, (int64_t)c->rows * c->n);
        free(a);
        free(b);
        free(xs);
        free(ws);
        free(y);
        free(expected);
        return good;
}

static int all_of(int zeros, int storage)
{
        int good = 1;
        for (int i = 0; i < 60; i++) {
                Case c = {1 + random_below(i % 4 ? 20 : 70),
                          1 + random_below(i % 5 ? 40 : 150),
                          1 + random_below(i % 3 ? 40 : 400),
                          zeros,
                          random_below(MASKS),
                          storage,
                          {random_below(2), random_below(2)}};
                if (i % 7 == 0)
                        c.rows = 1;
                good &= equals_definition(&c);
        }
        const Case empty = {.rows = 3, .n = 5, .zeros = zeros, .storage = storage};
        return good & equals_definition(&empty);
}

int main(void)
{
        static const char *const name[] = {"whole", "past zeros of a", "past zeros of b",
                                           "past zeros of both"};
        scratch = scratch_floats(CONTRACT_SCRATCH);
        for (int zeros = 0; zeros < 4; zeros++) {
                char said[80];
                const int good =
                        all_of(zeros, STORAGE_F32) & all_of(zeros, STORAGE_F16) & all_of(zeros, STORAGE_BF16);
                snprintf(said, sizeof said, "contract is its definition, %s", name[zeros]);
                verdict(said, good && !overruns);
        }
        free_scratch(scratch, CONTRACT_SCRATCH);
        printf("# hash %016llx\n", (unsigned long long)hash_state);
        return failures != 0;
}
