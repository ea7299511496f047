/*
 * Products with weights of few bits: blocks of codes with scales, and activations as codes of 8 bits.
 *
 * A block is 16 outputs by 32, or 256, steps of k.  Its value at output l, step i:
 *
 *      q8_0         d q                 per output
 *      q4_0         d (q - 8)
 *      q4_1         d q + m
 *      mxfp4        d v[q]              d a power of two, v = 0 1/2 1 3/2 2 3 4 6 and their negatives
 *      q4_k, q5_k   (d s) q - dmin m    s and m of each 32 steps
 *      q6_k         (d s) (q - 32)      s of each 16 steps
 *
 * A row of activations becomes codes once for all products that read it: of each 32, or 256, a = the largest size, scale =
 * a / 127, code = x (127 / a) rounded to even.  If a is below 1e-30 all are 0; a group with a value that is not finite has the scale NaN.
 * Sums of codes are exact integers; an output is one chain over the blocks in order, written at add_dots() and add_scaled_dots().
 * docs/numerics.md defines all of it.
 *
 * Layout of a block in memory, for all 16 outputs; codes are in groups of four steps, [16][4] bytes to a line of 64:
 *
 *      q8_0         d f16 [16]; codes [8][16][4]
 *      q4_0         d f16 [16]; codes [4][16][4]: steps 8 j to 8 j + 3 in the low halves of line j, the next four in the high ones
 *      q4_1         d f16 [16]; m f16 [16]; codes as q4_0
 *      mxfp4        d / 2 bf16 [16]; codes as q4_0
 *      q4_k         d f16 [16]; dmin f16 [16]; s [8][16]; m [8][16]; codes of each 32 steps as q4_0
 *      q5_k         the same; after the codes of each 32 steps come their fifth bits, a bit for each byte [8][8]
 *      q6_k         d f16 [16]; s int8 [16][16]; of each 16 steps the lower four bits as q4_0, then the upper two: bits 2 j for line j
 *
 * So a block is read from its first byte to its last.
 *
 * Needs tile.h, headers n16 and dot, and narrow.h.
 */

#include <string.h>

/* Twice the values of mxfp4, and 12. */
static const uint8_t mxfp4_values[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

/* --- activations --- */

/* A row: codes [k] of 8 bits; then for each group its scale and sums of codes, of all 32, or of each 16 and each 32. */
#define CODES_BYTES(k) ((int64_t)(k)*5 / 4)

typedef struct {
        float scale;
        int32_t sum;
} CodesOf32;

typedef struct {
        float scale;
        int16_t of_16[16], of_32[8];
} CodesOf256;

KERNEL const CodesOf32 *codes_of_32(const int8_t *codes, int k, int64_t group)
{
        return (const CodesOf32 *)(const void *)(codes + k) + group;
}

KERNEL const CodesOf256 *codes_of_256(const int8_t *codes, int k, int64_t group)
{
        return (const CodesOf256 *)(const void *)(codes + k) + group;
}

/* Codes of one group of a row; returns its scale.  sum [group / 16]: sums of each 16 codes. */
KERNEL float codes_of_group(int8_t *codes, int32_t *sum, const float *x, int group)
{
        v16 most = v_set1(0), zeros = v_set1(0);
        for (int i = 0; i < group; i += 16) {
                v16 some = v_load(x + i);
                most = v_max(most, v_abs(some));
                zeros = v_add(zeros, v_mul(some, v_set1(0)));
        }
        const float a = v_maxof(most);
        const int finite = v_sum(zeros) == 0, used = finite && a >= 1e-30f;
        const v16 times = v_set1(used ? 127.0f / a : 0);
        for (int i = 0; i < group; i += 16) {
                v16 some = used ? v_mul(v_load(x + i), times) : v_set1(0);
                sum[i / 16] = n_codes(codes + i, some);
        }
        return finite ? used ? a / 127.0f : 0 : FLOAT_NAN;
}

/* Codes, scale and sums of one group of a row. */
KERNEL void keep_codes_of_256(CodesOf256 *kept, int8_t *codes, const float *x)
{
        int32_t sum[16];
        kept->scale = codes_of_group(codes, sum, x, 256);
        for (int i = 0; i < 8; i++) {
                kept->of_16[2 * i] = (int16_t)sum[2 * i];
                kept->of_16[2 * i + 1] = (int16_t)sum[2 * i + 1];
                kept->of_32[i] = (int16_t)(sum[2 * i] + sum[2 * i + 1]);
        }
}

KERNEL void keep_codes_of_32(CodesOf32 *kept, int8_t *codes, const float *x)
{
        int32_t sum[2];
        kept->scale = codes_of_group(codes, sum, x, 32);
        kept->sum = sum[0] + sum[1];
}

/*
 * Writes rows of x as codes in groups of 32 or 256 to [rows][CODES_BYTES(k)]: the rows in `active`, or the first ones if it is NULL.  k is a
 * multiple of the group.
 */
KERNEL void codes_of_rows(void *to, const float *x, int64_t ldx, const int32_t *active, int64_t rows, int k,
                          int group)
{
        for (int64_t row = 0; row < rows; row++) {
                int8_t *codes = (int8_t *)to + row * CODES_BYTES(k);
                void *kept = codes + k;
                const float *from = x + row_at(active, row) * ldx;
                for (int g = 0; g < k / group; g++) {
#if HAS_BLOCKS_OF_256
                        if (group == 256)
                                keep_codes_of_256((CodesOf256 *)kept + g, codes + g * group,
                                                  from + g * group);
#endif
#if HAS_BLOCKS_OF_32
                        if (group == 32)
                                keep_codes_of_32((CodesOf32 *)kept + g, codes + g * group, from + g * group);
#endif
                }
        }
}

/* --- one element --- */

KERNEL float block_at_f16(const uint8_t *p, int lane)
{
        uint16_t half;
        memcpy(&half, p + 2 * lane, 2);
        return f16_at(&half, 0);
}

/* The four bits of step i in lines of 64 bytes. */
KERNEL int block_nibble(const uint8_t *lines, int step, int lane)
{
        return lines[step / 8 * 64 + 4 * lane + step % 4] >> (step & 4) & 15;
}

/* Number of steps that share a scale in a block of 256. */
KERNEL int part_steps(int storage)
{
        return storage == STORAGE_Q6_K ? 16 : 32;
}

/* The codes of a part: the lower four bits, then the upper ones. */
KERNEL const uint8_t *part_codes(int storage, const uint8_t *p, int part)
{
        const int upper = storage == STORAGE_Q4_K ? 0 : 64;
        return p + (storage == STORAGE_Q6_K ? 288 : 320) + part * (8 * part_steps(storage) + upper);
}

/* One element of a block of 256. */
KERNEL float super_at(int storage, const uint8_t *p, int step, int lane)
{
        const int steps = part_steps(storage), part = step / steps, at = step % steps,
                  own = 4 * lane + step % 4;
        const uint8_t *codes = part_codes(storage, p, part), *upper = codes + 8 * steps;
        int code = block_nibble(codes, at, lane);
#if HAS_Q6_K
        if (storage == STORAGE_Q6_K) {
                code |= (upper[own] >> at / 4 * 2 & 3) << 4;
                return block_at_f16(p, lane) * (float)(int8_t)p[32 + 16 * part + lane] * (float)(code - 32);
        }
#endif
#if HAS_Q5_K
        if (storage == STORAGE_Q5_K)
                code |= (upper[8 * (at / 4) + own / 8] >> own % 8 & 1) << 4;
#else
        (void)upper, (void)own;
#endif
        return block_at_f16(p, lane) * (float)p[64 + 16 * part + lane] * (float)code -
               block_at_f16(p + 32, lane) * (float)p[192 + 16 * part + lane];
}

/* Element `at` of an array of blocks, counted as in f32: [step][16 outputs]. */
KERNEL float block_at(int storage, const void *array, int64_t at)
{
#if HAS_CODES
        if (is_kept(storage))
                return kept_at(storage, array, at);
#endif
        const int steps = (int)step_values(storage), step = (int)(at / 16 % steps), lane = (int)(at % 16);
        const uint8_t *p = (const uint8_t *)array + at / (16 * steps) * bytes_of_block(storage);
#if HAS_Q8_0
        if (storage == STORAGE_Q8_0)
                return block_at_f16(p, lane) * (float)(int8_t)p[32 + step / 4 * 64 + 4 * lane + step % 4];
#endif
#if HAS_Q4_0
        if (storage == STORAGE_Q4_0)
                return block_at_f16(p, lane) * (float)(block_nibble(p + 32, step, lane) - 8);
#endif
#if HAS_Q4_1
        if (storage == STORAGE_Q4_1)
                return block_at_f16(p, lane) * (float)block_nibble(p + 64, step, lane) +
                       block_at_f16(p + 32, lane);
#endif
#if HAS_MXFP4
        if (storage == STORAGE_MXFP4) {
                uint16_t half;
                memcpy(&half, p + 2 * lane, 2);
                return bf16_at(&half, 0) * (float)(mxfp4_values[block_nibble(p + 32, step, lane)] - 12);
        }
#endif
#if HAS_BLOCKS_OF_256
        return super_at(storage, p, step, lane);
#else
        return 0;
#endif
}

/* Lane i is element at + i * stride for i < n, 0 above. */
KERNEL v16 v_load_blocks(int storage, const void *array, int64_t at, int64_t stride, int n)
{
        float lane[16] = {0};
        for (int i = 0; i < n; i++)
                lane[i] = block_at(storage, array, at + i * stride);
        return v_load(lane);
}

/* --- products --- */

/* Codes of steps 8 j to 8 j + 3 of a block, whose codes are at `codes`; block_high(): of the next four steps. */
KERNEL c64 block_low(int storage, const uint8_t *codes, int j)
{
#if HAS_Q8_0
        if (storage == STORAGE_Q8_0)
                return c_load(codes + 128 * j);
#endif
        const c64 code = c_low(c_load(codes + 64 * j));
#if HAS_MXFP4
        return storage == STORAGE_MXFP4 ? c_look(mxfp4_values, code) : code;
#else
        (void)storage;
        return code;
#endif
}

KERNEL c64 block_high(int storage, const uint8_t *codes, int j)
{
#if HAS_Q8_0
        if (storage == STORAGE_Q8_0)
                return c_load(codes + 128 * j + 64);
#endif
        const c64 code = c_high(c_load(codes + 64 * j));
#if HAS_MXFP4
        return storage == STORAGE_MXFP4 ? c_look(mxfp4_values, code) : code;
#else
        (void)storage;
        return code;
#endif
}

/* Initial value of a sum of products whose codes have an offset. */
KERNEL n16 block_start(int storage, int32_t sum_of_x)
{
        return n_set1(storage == STORAGE_Q8_0    ? -DOT_OFFSET * sum_of_x
                      : storage == STORAGE_Q4_0  ? -8 * sum_of_x
                      : storage == STORAGE_MXFP4 ? -12 * sum_of_x
                                                 : 0);
}

/* If the target multiplies two rows at once: rearranges the sums before and after the calls of add_lines(). */
KERNEL void turn_pairs(n16 *dot, int rows)
{
#if DOT_PAIRS
        UNROLL_ROWS
        for (int i = 0; i < rows - 1; i += 2)
                n_turn_pair(dot + i);
#else
        (void)dot, (void)rows;
#endif
}

/* dot[i] += two lines of codes by the eight activations of row i from `at` on. */
KERNEL void add_lines(n16 *dot, int with_sign, c64 low, c64 high, const int8_t *const *x, int64_t at,
                      int rows)
{
        int single = 0;
#if DOT_PAIRS
        single = rows / 2 * 2;
        UNROLL_ROWS
        for (int i = 0; i < rows - 1; i += 2)
                n_dot_pair(dot + i, low, high, x[i] + at, x[i + 1] + at);
#endif
        UNROLL_ROWS
        for (int i = single; i < rows; i++)
                dot[i] = with_sign ? n_dot_signed(n_dot_signed(dot[i], low, x[i] + at), high, x[i] + at + 4)
                                   : n_dot_two(dot[i], low, high, x[i] + at);
}

/* sum[i] = fma(dot, d scale, sum[i]), and for q4_1 then fma(sum of codes, m scale, sum[i]), for one block of 32 steps: number `block`
 * of its panel. */
KERNEL void add_dots(v16 *sum, int storage, const uint8_t *p, const int8_t *const *x, int k, int64_t block,
                     int rows)
{
        const uint8_t *codes = p + (storage == STORAGE_Q4_1 ? 64 : 32);
        n16 dot[12];
        UNROLL_ROWS
        for (int i = 0; i < rows; i++)
                dot[i] = block_start(storage, codes_of_32(x[i], k, block)->sum);
        turn_pairs(dot, rows);
        UNROLL
        for (int j = 0; j < 4; j++)
                add_lines(dot, storage == STORAGE_Q8_0, block_low(storage, codes, j),
                          block_high(storage, codes, j), x, 32 * block + 8 * j, rows);
        turn_pairs(dot, rows);
        const uint16_t *half = (const uint16_t *)(const void *)p;
#if HAS_MXFP4
        const v16 d = storage == STORAGE_MXFP4 ? v_load_bf16(half) : v_load_f16(half);
#else
        const v16 d = v_load_f16(half);
#endif
        UNROLL_ROWS
        for (int i = 0; i < rows; i++) {
                const v16 scale = v_set1(codes_of_32(x[i], k, block)->scale);
                sum[i] = v_fma(v_of_n(dot[i]), v_mul(d, scale), sum[i]);
#if HAS_Q4_1
                if (storage == STORAGE_Q4_1)
                        sum[i] = v_fma(v_set1((float)codes_of_32(x[i], k, block)->sum),
                                       v_mul(v_load_f16(half + 16), scale), sum[i]);
#endif
        }
}

/* A line of a part with its upper bits. */
KERNEL c64 super_line(int storage, const uint8_t *upper, int line, c64 code)
{
#if HAS_Q5_K
        if (storage == STORAGE_Q5_K)
                return c_with_bit(code, upper + 8 * line);
#endif
#if HAS_Q6_K
        if (storage == STORAGE_Q6_K)
                return c_with_two_bits(code, c_load(upper), 2 * line);
#endif
        (void)storage, (void)upper, (void)line;
        return code;
}

/* The largest code of a block of 256. */
KERNEL int most_code(int storage)
{
        return storage == STORAGE_Q4_K ? 15 : storage == STORAGE_Q5_K ? 31 : 63;
}

/* Adds lines first to first + n - 1 of a part, n even. */
KERNEL void super_lines(c64 *line, int storage, const uint8_t *p, int part, int first, int n)
{
        const uint8_t *codes = part_codes(storage, p, part), *upper = codes + 8 * part_steps(storage);
        UNROLL
        for (int i = 0; i < n; i += 2) {
                const c64 pair = c_load(codes + 32 * (first + i));
                line[i] = super_line(storage, upper, first + i, c_low(pair));
                line[i + 1] = super_line(storage, upper, first + i + 1, c_high(pair));
        }
}

/* total[i] += the dots of a part, whose activations begin at `at`, times its scales. */
#if DOT_LINES
KERNEL void add_part(n16 *total, int storage, const uint8_t *p, int part, c64 scale, const int8_t *const *x,
                     int64_t at, int rows)
{
        const int all = part_steps(storage) / 4, lines = all < DOT_LINES ? all : DOT_LINES;
        UNROLL
        for (int first = 0; first < all; first += lines) {
                c64 line[DOT_LINES];
                super_lines(line, storage, p, part, first, lines);
                UNROLL_ROWS
                for (int i = 0; i < rows; i++)
                        total[i] = n_scaled_dots(total[i], line, lines, most_code(storage),
                                                 x[i] + at + 4 * first, scale);
        }
}
#else
KERNEL void add_part(n16 *total, int storage, const uint8_t *p, int part, c64 scale, const int8_t *const *x,
                     int64_t at, int rows)
{
        const int most = most_code(storage), all = part_steps(storage) / 4,
                  lines = all < dot_lines(most) ? all : dot_lines(most);
        UNROLL
        for (int first = 0; first < all; first += lines) {
                n16 dot[12];
                UNROLL_ROWS
                for (int i = 0; i < rows; i++)
                        dot[i] = n_set1(0);
                turn_pairs(dot, rows);
                UNROLL
                for (int j = first; j < first + lines; j += 2) {
                        c64 line[2];
                        super_lines(line, storage, p, part, j, 2);
                        add_lines(dot, 0, line[0], line[1], x, at + 4 * j, rows);
                }
                turn_pairs(dot, rows);
                UNROLL_ROWS
                for (int i = 0; i < rows; i++)
                        total[i] = n_scaled(total[i], dot[i], scale, most);
        }
}
#endif

/* total[i] += the sum over n of byte p[n][lane] times row i's n-th activation sum, at sums[i]. */
KERNEL void add_sums(n16 *total, const uint8_t *p, int n, int with_sign, const int16_t *const *sums, int rows)
{
        for (int j = 0; j < n; j += 2) {
                const c64 pairs = c_pairs(p + 16 * j, p + 16 * j + 16, with_sign);
                UNROLL_ROWS
                for (int i = 0; i < rows; i++)
                        total[i] = n_add_pairs(total[i], pairs, sums[i] + j);
        }
}

/* total[i] = the sum over a block of 256 of the dots of each part times its scales. */
KERNEL void scaled_dots(n16 *total, int storage, const uint8_t *p, const int8_t *const *x, int k,
                        int64_t block, int rows)
{
        const int steps = part_steps(storage), with_sign = storage == STORAGE_Q6_K;
        const uint8_t *scales = p + (with_sign ? 32 : 64);
        UNROLL_ROWS
        for (int i = 0; i < rows; i++)
                total[i] = n_set1(0);
#if HAS_Q6_K
        if (storage == STORAGE_Q6_K) {
                const int16_t *sums[12];
                UNROLL_ROWS
                for (int i = 0; i < rows; i++)
                        sums[i] = codes_of_256(x[i], k, block)->of_16;
                add_sums(total, scales, 16, 1, sums, rows);
                UNROLL_ROWS
                for (int i = 0; i < rows; i++)
                        total[i] = n_minus_32_times(total[i]);
        }
#else
        (void)k;
#endif
        for (int part = 0; part < 256 / steps; part++) {
                const c64 scale = c_scales(scales + 16 * part, with_sign);
                add_part(total, storage, p, part, scale, x, 256 * block + part * steps, rows);
        }
}

/* The same for a block of 256: sum[i] = fma(total, d scale, sum[i]), then, for q4_k and q5_k, the minima are subtracted:
 * sum[i] = fma(-float(sum of m times sums of codes), dmin scale, sum[i]). */
KERNEL void add_scaled_dots(v16 *sum, int storage, const uint8_t *p, const int8_t *const *x, int k,
                            int64_t block, int rows)
{
        const uint16_t *half = (const uint16_t *)(const void *)p;
        n16 total[12];
        scaled_dots(total, storage, p, x, k, block, rows);
        UNROLL_ROWS
        for (int i = 0; i < rows; i++)
                sum[i] = v_fma(v_of_n(total[i]),
                               v_mul(v_load_f16(half), v_set1(codes_of_256(x[i], k, block)->scale)), sum[i]);
        if (storage == STORAGE_Q6_K)
                return;
        const int16_t *sums[12];
        UNROLL_ROWS
        for (int i = 0; i < rows; i++) {
                total[i] = n_set1(0);
                sums[i] = codes_of_256(x[i], k, block)->of_32;
        }
        add_sums(total, p + 192, 8, 0, sums, rows);
        UNROLL_ROWS
        for (int i = 0; i < rows; i++)
                sum[i] = v_fma(v_neg(v_of_n(total[i])),
                               v_mul(v_load_f16(half + 16), v_set1(codes_of_256(x[i], k, block)->scale)),
                               sum[i]);
}

/* Like tile_of_rows(), for rows of codes from `row` on: a step is a block, and `panels` need not be a literal.  Panels are computed one by
 * one, so that the sums of one stay in registers beside its dot products. */
KERNEL void tile_blocks(float *acc, int64_t acc_row, const Factors *f, const int8_t *codes, int64_t row,
                        int64_t steps, int fresh, int rows, int panels)
{
        const int8_t *x[12];
        UNROLL_ROWS
        for (int i = 0; i < rows; i++)
                x[i] = codes + (row + (i < f->rows ? i : f->rows - 1)) * CODES_BYTES(f->k);
        for (int j = 0; j < panels; j++) {
                v16 sum[12];
                UNROLL_ROWS
                for (int i = 0; i < rows; i++)
                        sum[i] = fresh ? v_set1(0) : v_load(acc + i * acc_row + 16 * j);
                for (int64_t p = 0; p < steps; p++) {
                        const uint8_t *block =
                                (const uint8_t *)f->w + (j * f->w_panel + p) * bytes_of_block(f->storage);
                        for (int64_t at = 0; at < f->next_step; at += 64)
                                v_prefetch_near(f->next + j * f->next_panel + p * f->next_step + at);
#if HAS_BLOCKS_OF_32 && HAS_BLOCKS_OF_256
                        if (step_values(f->storage) == 256)
                                add_scaled_dots(sum, f->storage, block, x, f->k, f->first + p, rows);
                        else
                                add_dots(sum, f->storage, block, x, f->k, f->first + p, rows);
#elif HAS_BLOCKS_OF_256
                        add_scaled_dots(sum, f->storage, block, x, f->k, f->first + p, rows);
#else
                        add_dots(sum, f->storage, block, x, f->k, f->first + p, rows);
#endif
                }
                UNROLL_ROWS
                for (int i = 0; i < rows; i++)
                        v_store(acc + i * acc_row + 16 * j, sum[i]);
        }
}
