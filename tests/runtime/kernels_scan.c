/*
 * runtime/scan.h against its definition in plain C, to the bit: depths and widths, with a decay and without, sums and maxima without
 * queries and keys, in pieces against the whole, positions taken back within a block, and NaN in every row that comes later.
 */
#include "kernels.h"

#include "../../runtime/scan_state.h"

#include "../../runtime/scan.h"

#define ROWS 207

typedef struct {
        int depth, width, maxima, older;
        float decay; /* 0: none */
        float *q, *k, *v, *powers, *expected, *out, *state, *scratch;
        float *given; /* v, where other rows have stood for a while */
} Case;

/* One column of all rows, as the head of scan.h has it. */
static void define_column(const Case *c, int e)
{
        float *sum = zero_floats(c->depth);
        for (int b = 0; b < ROWS; b += SCAN_BLOCK) {
                const int end = b + SCAN_BLOCK < ROWS ? b + SCAN_BLOCK : ROWS;
                for (int i = b; i < end; i++) {
                        float y = 0;
                        for (int d = 0; d < c->depth && b > 0; d++)
                                y = fmaf(c->q[i * c->depth + d] * c->powers[i - b], sum[d], y);
                        for (int j = b; j <= i; j++) {
                                float s = 0;
                                for (int d = 0; d < c->depth; d++)
                                        s = fmaf(c->q[i * c->depth + d], c->k[j * c->depth + d], s);
                                y = fmaf(s * c->powers[i - j], c->v[j * c->width + e], y);
                        }
                        c->expected[i * c->width + e] = y;
                }
                for (int d = 0; d < c->depth; d++) {
                        float m = b > 0 ? sum[d] * c->powers[SCAN_BLOCK] : 0;
                        for (int j = b; j < end; j++)
                                m = fmaf(c->k[j * c->depth + d] * c->powers[SCAN_BLOCK - (j - b)],
                                         c->v[j * c->width + e], m);
                        sum[d] = m;
                }
        }
        free(sum);
}

static void define_sum(const Case *c, int e)
{
        float y = 0;
        for (int i = 0; i < ROWS; i++) {
                y = c->decay > 0 ? fmaf(y, c->powers[1], c->v[i * c->width + e]) : y + c->v[i * c->width + e];
                c->expected[i * c->width + e] = y;
        }
}

/* What is no number is the largest where it comes last, and never after. */
static void define_maximum(const Case *c, int e)
{
        float y = -INFINITY;
        for (int i = 0; i < ROWS; i++) {
                const float v = c->v[i * c->width + e];
                y = y > v ? y : v;
                c->expected[i * c->width + e] = y;
        }
}

/* Rows `from` to `to`, given as one call.  What comes after them is NaN. */
static void take(const Case *c, int from, int to)
{
        const Scan s = {.q = c->depth ? c->q + from * c->depth : NULL,
                        .k = c->k + from * c->depth,
                        .v = c->v + from * c->width,
                        .out = c->out + from * c->width,
                        .q_row = c->depth,
                        .k_row = c->depth,
                        .v_row = c->width,
                        .out_row = c->width,
                        .powers = c->decay > 0 ? c->powers : NULL,
                        .depth = c->depth,
                        .width = c->width,
                        .maxima = c->maxima,
                        .older = c->older};
        for (int unit = 0; unit < SCAN_UNITS(c->width); unit++)
                scan(&s, c->state + unit * (1 + c->older) * SCAN_FLOATS(c->depth, c->width), unit, from,
                     to - from, c->scratch);
}

static int is_defined(const Case *c)
{
        return same_bits(c->out, c->expected, (int64_t)ROWS * c->width);
}

static int reaches(const Case *c, int n)
{
        return scan_reaches(c->state, c->older, SCAN_FLOATS(c->depth, c->width), n);
}

/* From position to position, and back within the blocks that are kept, and on from there with other rows in between. */
static int goes_back(const Case *c)
{
        int good = 1;
        memset(c->out, 0, sizeof *c->out * (size_t)(ROWS * c->width));
        for (int at = 0, to; at < ROWS; at = to) {
                to = at + 1 + random_below(90);
                to = to < ROWS ? to : ROWS;
                take(c, at, to);
                const int last = (to - 1) / SCAN_BLOCK, oldest = last > c->older ? last - c->older : 0,
                          begins = oldest * SCAN_BLOCK, back = to - random_below(to - begins + 1);
                good &= reaches(c, back) && reaches(c, begins) && (begins == 0 || !reaches(c, begins - 1)) &&
                        reaches(c, 0);
                if (back == to)
                        continue;
                for (int i = back * c->width; i < to * c->width; i++)
                        c->v[i] += 1; /* rows that are taken back */
                take(c, back, back + 1 + random_below(to - back));
                for (int i = back * c->width; i < to * c->width; i++)
                        c->v[i] = c->given[i];
                const int border = (back / SCAN_BLOCK + 1) * SCAN_BLOCK;
                if (border < to)
                        take(c, back, border);
                take(c, border < to ? border : back, to);
        }
        return good && is_defined(c);
}

static int good_whole = 1, good_sums = 1, good_maxima = 1, good_pieces = 1, good_back = 1, good_later = 1;

static void compare(int depth, int width, float decay, int maxima)
{
        Case c = {.depth = depth, .width = width, .decay = decay, .maxima = maxima};
        c.q = random_floats(ROWS * depth);
        c.k = random_floats(ROWS * depth);
        c.v = random_floats(ROWS * width);
        for (int i = 7; maxima && i < ROWS * width; i += 59 + i % 83)
                c.v[i] = i % 3 ? -INFINITY : i % 2 ? -0.0f : NAN;
        c.powers = zero_floats(SCAN_BLOCK + 1);
        c.expected = zero_floats(ROWS * width);
        c.out = zero_floats(ROWS * width);
        c.given = zero_floats(ROWS * width);
        memcpy(c.given, c.v, sizeof *c.v * (size_t)(ROWS * width));
        c.state = zero_floats(4 * SCAN_UNITS(width) * SCAN_FLOATS(depth, width));
        c.scratch = scratch_floats(SCAN_SCRATCH(depth, width));
        double power = 1;
        for (int i = 0; i <= SCAN_BLOCK; i++, power *= decay > 0 ? (double)decay : 1)
                c.powers[i] = (float)power;
        for (int e = 0; e < width; e++)
                maxima ? define_maximum(&c, e) : depth ? define_column(&c, e) : define_sum(&c, e);
        take(&c, 0, ROWS);
        *(maxima ? &good_maxima : depth ? &good_whole : &good_sums) &= is_defined(&c);
        hash_floats(c.out, (int64_t)ROWS * width);
        for (int piece = 1; piece < 80; piece = 2 * piece + 3) {
                memset(c.out, 0, sizeof *c.out * (size_t)(ROWS * width));
                for (int at = 0; at < ROWS; at += piece)
                        take(&c, at, at + piece < ROWS ? at + piece : ROWS);
                good_pieces &= is_defined(&c);
        }
        for (c.older = 0; c.older < 4; c.older++)
                good_back &= goes_back(&c);
        c.older = 0;
        for (int later = ROWS - 1; later > 0; later -= 29) { /* rows that come in the same call */
                for (int i = later * width; i < ROWS * width; i++)
                        c.v[i] = NAN;
                for (int i = later * depth; i < ROWS * depth; i++)
                        c.k[i] = i % 2 ? NAN : INFINITY;
                memset(c.out, 0, sizeof *c.out * (size_t)(ROWS * width));
                take(&c, 0, ROWS);
                good_later &= same_bits(c.out, c.expected, (int64_t)later * width);
        }
        free(c.q);
        free(c.k);
        free(c.v);
        free(c.powers);
        free(c.expected);
        free(c.out);
        free(c.given);
        free(c.state);
        free_scratch(c.scratch, SCAN_SCRATCH(depth, width));
}

int main(void)
{
        static const int shape[][2] = {{8, 8},    {64, 64}, {17, 19}, {1, 1},  {3, 130},
                                       {40, 256}, {0, 1},   {0, 24},  {0, 300}};
        for (int i = 0; i < 9; i++) {
                compare(shape[i][0], shape[i][1], 0, 0);
                compare(shape[i][0], shape[i][1], 0.96875f, 0);
                if (!shape[i][0])
                        compare(0, shape[i][1], 0, 1);
        }
        verdict("a scan is its definition", good_whole);
        verdict("a scan without queries and keys is its definition", good_sums);
        verdict("a scan of maxima is its definition", good_maxima);
        verdict("a scan in pieces has the bits of the whole", good_pieces);
        verdict("a scan goes back within a block", good_back);
        verdict("a scan reads no row that comes later", good_later);
        verdict("a scan writes within its scratch", !overruns);
        printf("# hash %016llx\n", (unsigned long long)hash_state);
        return failures != 0;
}
