/*
 * Products with weights of few bits (block_values.h), and activations as codes of 8 bits.
 *
 * A row of activations becomes codes once for all products that read it: of each 32, or 256, a = the largest size, scale =
 * a / 127, code = x (127 / a) rounded to even.  If a is below 1e-30 all are 0; a group with a value that is not finite has the scale NaN.
 * Sums of codes are exact integers; an output is one chain over the blocks in order, written at add_dots() and add_scaled_dots().
 * docs/numerics.md defines all of it.
 *
 * Needs tile.h, headers n16 and dot, narrow.h, block_values.h and books.h.
 */

#include <string.h>

/* --- activations --- */

/* A row: codes [k] of 8 bits; then for each group its scale and sums of codes, of all 32, or of each 16 and each 32. */
#define CODES_BYTES(k) ((int64_t)(k)*5 / 4)

typedef struct {
        float scale;
        int16_t sum, first; /* of all 32, and of the first 16 */
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
        kept->sum = (int16_t)(sum[0] + sum[1]);
        kept->first = (int16_t)sum[0];
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

/* --- products --- */

/* What a product's codes exceed their numbers by.  The sums of the activations' codes correct it. */
KERNEL int dot_offset(int storage)
{
        return has_sign(storage) ? DOT_OFFSET : code_offset(storage);
}

/* Line `line` of codes, counted from `codes` on. */
KERNEL c64 code_line(int storage, const uint8_t *codes, int line)
{
#if HAS_Q8_0 || HAS_BOOKS || HAS_TQ1_0
        if (storage == STORAGE_Q8_0 || is_expanded(storage))
                return c_load(codes + 64 * line);
#endif
#if HAS_Q2_K || HAS_Q3_K || HAS_TQ2_0
        if (storage == STORAGE_Q2_K || storage == STORAGE_Q3_K || storage == STORAGE_TQ2_0) {
                const c64 lower = c_bits(c_load(codes + 64 * (line / 4)), 2 * (line % 4), 2, 0);
                return storage != STORAGE_Q3_K ? lower : c_or(lower, c_bits(c_load(codes + 128), line, 1, 2));
        }
#endif
        const c64 two = c_load(codes + 64 * (line / 2)), lower = line % 2 ? c_high(two) : c_low(two);
#if HAS_MXFP4 || HAS_NVFP4
        if (storage == STORAGE_MXFP4 || storage == STORAGE_NVFP4)
                return c_look(mxfp4_values, lower);
#endif
#if HAS_IQ4_NL || HAS_IQ4_XS
        if (storage == STORAGE_IQ4_NL || storage == STORAGE_IQ4_XS)
                return c_look(iq4_values, lower);
#endif
#if HAS_Q5_0 || HAS_Q5_1 || HAS_Q5_K || HAS_Q6_K
        const int n = upper_bits(storage);
        if (n)
                return c_or(lower, c_bits(c_load(codes + lower_bytes(storage)), n * line, n, 4));
#endif
        return lower;
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

/* The same for 16 steps of nvfp4: the first of a block, or the others. */
KERNEL void add_half_dots(v16 *sum, const uint8_t *p, const int8_t *const *x, int k, int64_t block, int others,
                          int rows)
{
        const uint8_t *codes = block_codes(STORAGE_NVFP4, p) + 128 * others;
        n16 dot[12];
        uint16_t half[16];
        UNROLL_ROWS
        for (int i = 0; i < rows; i++) {
                const CodesOf32 *kept = codes_of_32(x[i], k, block);
                dot[i] = n_set1(-dot_offset(STORAGE_NVFP4) * (others ? kept->sum - kept->first : kept->first));
        }
        turn_pairs(dot, rows);
        UNROLL
        for (int j = 0; j < 4; j += 2)
                add_lines(dot, 0, code_line(STORAGE_NVFP4, codes, j), code_line(STORAGE_NVFP4, codes, j + 1), x,
                          32 * block + 16 * others + 4 * j, rows);
        turn_pairs(dot, rows);
        for (int i = 0; i < 16; i++)
                half[i] = (uint16_t)(p[16 * others + i] << 7);
        const v16 d = v_mul(v_load_f16(half), v_set1(128));
        UNROLL_ROWS
        for (int i = 0; i < rows; i++)
                sum[i] = v_fma(v_of_n(dot[i]), v_mul(d, v_set1(codes_of_32(x[i], k, block)->scale)), sum[i]);
}

/* sum[i] = fma(dot, d scale, sum[i]), and with minima then fma(sum of codes, m scale, sum[i]), for one block of 32 steps: number `block`
 * of its panel. */
KERNEL void add_dots(v16 *sum, int storage, const uint8_t *p, const int8_t *const *x, int k, int64_t block,
                     int rows)
{
        const uint8_t *codes = block_codes(storage, p);
        n16 dot[12];
#if HAS_NVFP4
        if (storage == STORAGE_NVFP4) {
                add_half_dots(sum, p, x, k, block, 0, rows);
                add_half_dots(sum, p, x, k, block, 1, rows);
                return;
        }
#endif
        UNROLL_ROWS
        for (int i = 0; i < rows; i++)
                dot[i] = n_set1(-dot_offset(storage) * codes_of_32(x[i], k, block)->sum);
        turn_pairs(dot, rows);
        UNROLL
        for (int j = 0; j < 8; j += 2)
                add_lines(dot, has_sign(storage), code_line(storage, codes, j), code_line(storage, codes, j + 1),
                          x, 32 * block + 4 * j, rows);
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
#if HAS_Q4_1 || HAS_Q5_1
                if (has_minima(storage))
                        sum[i] = v_fma(v_set1((float)codes_of_32(x[i], k, block)->sum),
                                       v_mul(v_load_f16(half + 16), scale), sum[i]);
#endif
        }
}

/* The same for a block with zero points, whose steps are whole groups of 32: of each, sum[i] = fma(dot, d scale, sum[i]), where the dot is
 * of differences of codes and zero points.  Bytes of zero points may have 128 added to them. */
KERNEL void add_zeroed_dots(v16 *sum, int storage, const uint8_t *p, const int8_t *const *x, int k, int64_t block,
                            int rows)
{
        const int parts = (int)step_values(storage) / 32, added = 128 * has_bf16_scales(p);
        const uint16_t *half = (const uint16_t *)(const void *)p;
        const v16 d = added ? v_load_bf16(half) : v_load_f16(half);
        const c64 zeros = c_pairs(p + 32, p + 32, 0);
        for (int part = 0; part < parts; part++) {
                const uint8_t *codes = p + 48 + 256 * part;
                const int64_t group = block * parts + part;
                n16 dot[12];
                UNROLL_ROWS
                for (int i = 0; i < rows; i++) {
                        const int32_t all = codes_of_32(x[i], k, group)->sum;
                        dot[i] = n_add_pairs(n_set1(added * all), zeros, (const int16_t[2]){(int16_t)-all, 0});
                }
                turn_pairs(dot, rows);
                UNROLL
                for (int j = 0; j < 8; j += 2) {
                        const c64 two = c_load(codes + 32 * j);
                        add_lines(dot, 0, c_low(two), c_high(two), x, 32 * group + 4 * j, rows);
                }
                turn_pairs(dot, rows);
                UNROLL_ROWS
                for (int i = 0; i < rows; i++)
                        sum[i] = v_fma(v_of_n(dot[i]), v_mul(d, v_set1(codes_of_32(x[i], k, group)->scale)), sum[i]);
        }
}

/* The largest code of a block of 256 without a sign. */
KERNEL int most_code(int storage)
{
        return storage == STORAGE_Q2_K    ? 3
               : storage == STORAGE_TQ1_0 ? 3
               : storage == STORAGE_TQ2_0 ? 3
               : has_book(storage)        ? 2 * book_offset(storage) - 1
               : storage == STORAGE_Q3_K ? 7
               : storage == STORAGE_Q4_K ? 15
               : storage == STORAGE_Q5_K ? 31
               : storage == STORAGE_Q6_K ? 63
                                         : 127;
}

/* total[i] += the dots of a part, whose codes begin at line `line` of `codes` and whose activations at `at`, times its scales. */
#if DOT_LINES
KERNEL void add_part(n16 *total, int storage, const uint8_t *codes, int line, c64 scale, const int8_t *const *x,
                     int64_t at, int rows)
{
        const int all = part_steps(storage) / 4, lines = all < DOT_LINES ? all : DOT_LINES;
        UNROLL
        for (int first = 0; first < all; first += lines) {
                c64 w[DOT_LINES];
                UNROLL
                for (int i = 0; i < lines; i++)
                        w[i] = code_line(storage, codes, line + first + i);
                UNROLL_ROWS
                for (int i = 0; i < rows; i++)
                        total[i] = n_scaled_dots(total[i], w, lines, has_sign(storage), most_code(storage),
                                                 x[i] + at + 4 * first, scale);
        }
}
#else
KERNEL void add_part(n16 *total, int storage, const uint8_t *codes, int line, c64 scale, const int8_t *const *x,
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
                for (int j = first; j < first + lines; j += 2)
                        add_lines(dot, has_sign(storage), code_line(storage, codes, line + j),
                                  code_line(storage, codes, line + j + 1), x, at + 4 * j, rows);
                turn_pairs(dot, rows);
                UNROLL_ROWS
                for (int i = 0; i < rows; i++)
                        total[i] = n_scaled(total[i], dot[i], scale, most);
        }
}
#endif

/* The scales of a block of 256, a byte for each part and output: those of a few bits are unpacked to `room` [256].
 *
 * q3_k: six bits with a sign.  Parts 4 i to 4 i + 3 are 64 bytes.  Their lower four bits are in the low halves of 64 bytes for i = 0,
 * of the next 64 for i = 1, in the high halves of these for i = 2 and 3; their upper two are bits 2 i of the 64 bytes after that. */
KERNEL const uint8_t *block_scales(int storage, const uint8_t *p, uint8_t *room UNUSED)
{
#if HAS_Q2_K
        if (storage == STORAGE_Q2_K) {
                UNROLL
                for (int i = 0; i < 4; i++) {
                        const c64 scales = c_low(c_load(p + 64 + 64 * i));
                        memcpy(room + 64 * i, &scales, 64);
                }
                return room;
        }
#endif
#if HAS_Q3_K
        if (storage == STORAGE_Q3_K) {
                const c64 upper = c_load(p + 160);
                UNROLL
                for (int i = 0; i < 4; i++) {
                        const c64 two = c_load(p + 32 + 64 * (i % 2)), lower = i < 2 ? c_low(two) : c_high(two);
                        const c64 sign = c_or(c_bits(upper, 2 * i + 1, 1, 6), c_bits(upper, 2 * i + 1, 1, 7));
                        const c64 scales = c_or(c_or(lower, c_bits(upper, 2 * i, 2, 4)), sign);
                        memcpy(room + 64 * i, &scales, 64);
                }
                return room;
        }
#endif
#if HAS_TQ1_0 || HAS_TQ2_0
        if (storage == STORAGE_TQ1_0 || storage == STORAGE_TQ2_0) {
                memset(room, 1, 256);
                return room;
        }
#endif
#if HAS_BOOKS
        if (has_book(storage)) {
                book_scales(storage, p, room);
                return room;
        }
#endif
        return p + (has_minima(storage) ? 64 : 32);
}

/* The same for minima. */
KERNEL const uint8_t *block_minima(int storage, const uint8_t *p, uint8_t *room UNUSED)
{
#if HAS_Q2_K
        if (storage == STORAGE_Q2_K) {
                UNROLL
                for (int i = 0; i < 4; i++) {
                        const c64 minima = c_high(c_load(p + 64 + 64 * i));
                        memcpy(room + 64 * i, &minima, 64);
                }
                return room;
        }
#endif
        (void)storage;
        return p + 192;
}

/* total[i] = the sum over a block's parts of a byte of each, at bytes [parts][16], times the sum of row i's codes. */
KERNEL void part_sums(n16 *total, int storage, const uint8_t *bytes, int with_sign, const int8_t *const *x, int k,
                      int64_t block, int rows)
{
        const int16_t *sums[12];
        UNROLL_ROWS
        for (int i = 0; i < rows; i++) {
                const CodesOf256 *kept = codes_of_256(x[i], k, block);
                sums[i] = part_steps(storage) == 16 ? kept->of_16 : kept->of_32;
                total[i] = n_set1(0);
        }
        for (int j = 0; j < 256 / part_steps(storage); j += 2) {
                const c64 pairs = c_pairs(bytes + 16 * j, bytes + 16 * j + 16, with_sign);
                UNROLL_ROWS
                for (int i = 0; i < rows; i++)
                        total[i] = n_add_pairs(total[i], pairs, sums[i] + j);
        }
}

/* An offset of a block of 256 is 2 to this power. */
KERNEL int log_of_offset(int offset)
{
        return offset == 1    ? 0
               : offset == 4  ? 2
               : offset == 16 ? 4
               : offset == 32 ? 5
               : offset == 64 ? 6
                              : 7;
}

/* total[i] = the sum over a block of 256 of the dots of each part times its scales. */
KERNEL void scaled_dots(n16 *total, int storage, const uint8_t *p, const int8_t *const *x, int k,
                        int64_t block, int rows)
{
        uint8_t room[256];
        const int steps = part_steps(storage), parts = code_steps(storage) / steps, with_sign = !has_minima(storage),
                  offset = dot_offset(storage);
        const uint8_t *scales = block_scales(storage, p, room), *codes = block_codes(storage, p);
#if HAS_BOOKS || HAS_TQ1_0
        uint8_t lines[64 * 64];
        if (is_expanded(storage)) {
                expand_block(lines, storage, p);
                codes = lines;
        }
#endif
        UNROLL_ROWS
        for (int i = 0; i < rows; i++)
                total[i] = n_set1(0);
        if (offset) {
                part_sums(total, storage, scales, with_sign, x, k, block, rows);
                UNROLL_ROWS
                for (int i = 0; i < rows; i++)
                        total[i] = n_minus_shifted(total[i], log_of_offset(offset));
        }
        for (int part = 0; part < 256 / steps; part += parts, codes += code_bytes(storage)) {
                UNROLL
                for (int i = 0; i < parts; i++)
                        add_part(total, storage, codes, steps / 4 * i,
                                 c_scales(scales + 16 * (part + i), with_sign, most_code(storage)), x,
                                 256 * block + (part + i) * steps, rows);
        }
}

/* The same for a block of 256: sum[i] = fma(total, d scale, sum[i]), then minima are subtracted:
 * sum[i] = fma(-float(sum of m times sums of codes), dmin scale, sum[i]). */
KERNEL void add_scaled_dots(v16 *sum, int storage, const uint8_t *p, const int8_t *const *x, int k,
                            int64_t block, int rows)
{
        const uint16_t *half = (const uint16_t *)(const void *)p;
        n16 total[12];
        uint8_t room[256];
        scaled_dots(total, storage, p, x, k, block, rows);
        UNROLL_ROWS
        for (int i = 0; i < rows; i++)
                sum[i] = v_fma(v_of_n(total[i]),
                               v_mul(v_load_f16(half), v_set1(book_factor(storage) * codes_of_256(x[i], k, block)->scale)),
                               sum[i]);
        if (!has_minima(storage))
                return;
        part_sums(total, storage, block_minima(storage, p, room), 0, x, k, block, rows);
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
#if HAS_INT4_32 || HAS_INT4_64 || HAS_INT4_128
                        if (has_zeros(f->storage)) {
                                add_zeroed_dots(sum, f->storage, block, x, f->k, f->first + p, rows);
                                continue;
                        }
#endif
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
