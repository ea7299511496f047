/*
 * Products of 5 and more rows with weights in blocks on AMX.
 *
 * One instruction multiplies 16 rows of bytes by lines of bytes.  So numbers become lines of bytes with a sign, once for all rows.  Numbers
 * of blocks of 256 are multiplied by the scales of their parts, which has up to 15 bits: the lower seven are in one plane of lines, the
 * others in a second, so that a whole block has one or two sums.  All sums are exact integers, and what follows is that of add_dots() and
 * add_scaled_dots(): the same bits.
 *
 * Instructions of AMX are written as text, for which no compiler needs an option.
 *
 * Needs blocks.h with dot_avx512vnni.h.
 */

/* Rows of a tile. */
#define AMX_ROWS 16

/* Blocks of 32 whose lines are made at once. */
#define AMX_BLOCKS 8

/* Lines of some blocks, [plane][steps / 4]. */
typedef struct {
        c64 line[2][64];
} AmxLines;

/* Sums of a tile, [AMX_ROWS][16], of each block of 32, or of each plane. */
typedef struct {
        _Alignas(64) int32_t of[AMX_BLOCKS][AMX_ROWS][16];
} AmxSums;

#define AMX_ASM(text, ...) __asm__ __volatile__(text : : __VA_ARGS__ : "memory")

/* Sets the sizes of the tile registers: 0 to 3 have sums [rows][16] of 32 bits, 4 and 5 activations [rows][steps], 6 and 7 lines
 * [steps / 4][64]. */
KERNEL void amx_begin(int rows, int steps)
{
        uint8_t sizes[64] = {1};
        uint16_t bytes[8] = {64, 64, 64, 64, (uint16_t)steps, (uint16_t)steps, 64, 64};
        memcpy(sizes + 16, bytes, sizeof bytes);
        for (int i = 0; i < 8; i++)
                sizes[48 + i] = (uint8_t)(i < 6 ? rows : steps / 4);
        AMX_ASM("ldtilecfg %0", "m"(sizes));
}

KERNEL void amx_end(void)
{
        __asm__ __volatile__("tilerelease" : : : "memory");
}

#define AMX_ZERO(sums) AMX_ASM("tilezero %%tmm" #sums, "i"(0))
#define AMX_LOAD(to, from, row) AMX_ASM("tileloadd (%0,%1,1), %%tmm" #to, "r"(from), "r"((int64_t)(row)))
#define AMX_DOT(sums, x, w) AMX_ASM("tdpbssd %%tmm" #w ", %%tmm" #x ", %%tmm" #sums, "i"(0))
#define AMX_STORE(sums, to) AMX_ASM("tilestored %%tmm" #sums ", (%0,%1,1)", "r"(to), "r"((int64_t)64))

/* to = a tile's rows by a block of 32.  The rows of x are `row` bytes apart; `odd`, a literal, chooses the registers. */
KERNEL void amx_dots_of_32(int odd, int32_t (*to)[16], const int8_t *x, int64_t row, const void *lines)
{
        if (odd) {
                AMX_ZERO(1);
                AMX_LOAD(5, x, row);
                AMX_LOAD(7, lines, 64);
                AMX_DOT(1, 5, 7);
                AMX_STORE(1, to);
        } else {
                AMX_ZERO(0);
                AMX_LOAD(4, x, row);
                AMX_LOAD(6, lines, 64);
                AMX_DOT(0, 4, 6);
                AMX_STORE(0, to);
        }
}

/* The same for a block of 256, in steps of 64. */
KERNEL void amx_dots_of_256(AmxSums *to, const int8_t *x, int64_t row, const AmxLines *lines, int planes)
{
        AMX_ZERO(0);
        AMX_ZERO(1);
        UNROLL
        for (int i = 0; i < 4; i++) {
                AMX_LOAD(4, x + 64 * i, row);
                AMX_LOAD(6, &lines->line[0][16 * i], 64);
                AMX_DOT(0, 4, 6);
                if (planes == 2) {
                        AMX_LOAD(7, &lines->line[1][16 * i], 64);
                        AMX_DOT(1, 4, 7);
                }
        }
        AMX_STORE(0, to->of[0]);
        if (planes == 2)
                AMX_STORE(1, to->of[1]);
}

/* Line `line` of codes as bytes with a sign. */
KERNEL c64 amx_line(int storage, const uint8_t *codes, int line)
{
        return _mm512_sub_epi8(code_line(storage, codes, line), _mm512_set1_epi8((char)code_offset(storage)));
}

/* Planes of a block of 256: one where numbers times scales fit a byte. */
KERNEL int amx_planes(int storage)
{
        return storage == STORAGE_Q2_K || storage == STORAGE_TQ1_0 || storage == STORAGE_TQ2_0 ? 1 : 2;
}

/* A line of a block of 256 times scales of 16 bits, in both halves of each lane. */
KERNEL void amx_scaled_line(AmxLines *to, int at, c64 line, c64 scale, int planes)
{
        const c64 byte = _mm512_set1_epi16(0xff), lower = planes == 2 ? _mm512_set1_epi16(127) : byte;
        const c64 even = _mm512_mullo_epi16(_mm512_srai_epi16(_mm512_slli_epi16(line, 8), 8), scale),
                  odd = _mm512_mullo_epi16(_mm512_srai_epi16(line, 8), scale);
        to->line[0][at] = _mm512_or_si512(_mm512_and_si512(even, lower),
                                          _mm512_slli_epi16(_mm512_and_si512(odd, lower), 8));
        if (planes == 2)
                to->line[1][at] = _mm512_or_si512(_mm512_and_si512(_mm512_srai_epi16(even, 7), byte),
                                                  _mm512_slli_epi16(_mm512_srai_epi16(odd, 7), 8));
}

KERNEL void amx_lines_of_256(AmxLines *to, int storage, const uint8_t *p)
{
        const int steps = part_steps(storage), with_sign = !has_minima(storage),
                  together = code_steps(storage);
        uint8_t room[256];
        const uint8_t *scales = block_scales(storage, p, room), *codes = block_codes(storage, p);
#if HAS_BOOKS || HAS_TQ1_0
        uint8_t expanded[64 * 64];
        if (is_expanded(storage)) {
                expand_block(expanded, storage, p);
                codes = expanded;
        }
#endif
        for (int at = 0; at < 256; at += together, codes += code_bytes(storage)) {
                UNROLL
                for (int i = 0; i < together; i += 4) {
                        const c64 s = c_scales(scales + 16 * ((at + i) / steps), with_sign, 127);
                        const c64 both = _mm512_or_si512(_mm512_and_si512(s, _mm512_set1_epi32(0xffff)),
                                                         _mm512_slli_epi32(s, 16));
                        amx_scaled_line(to, (at + i) / 4, amx_line(storage, codes, i / 4), both,
                                        amx_planes(storage));
                }
        }
}

/* add_dots() for the rows of a tile whose sums are there.  kept: scales and sums of the rows' codes; d, m: of the block. */
KERNEL void amx_add_dots(v16 *sum, int storage, int32_t (*dot)[16], const CodesOf32 *const *kept, int block,
                         v16 d, v16 m)
{
        UNROLL
        for (int i = 0; i < AMX_ROWS; i++) {
                const v16 scale = v_set1(kept[i][block].scale);
                sum[i] = v_fma(v_of_n(_mm512_loadu_si512(dot[i])), v_mul(d, scale), sum[i]);
                if (has_minima(storage))
                        sum[i] = v_fma(v_set1((float)kept[i][block].sum), v_mul(m, scale), sum[i]);
        }
}

/* The same for add_scaled_dots(). */
KERNEL void amx_add_scaled_dots(float *acc, int64_t acc_row, int fresh, int storage, AmxSums *dot,
                                const uint8_t *p, const int8_t *codes, int k, int64_t block, int rows)
{
        const uint16_t *half = (const uint16_t *)(const void *)p;
        const v16 d = v_load_f16(half);
        uint8_t room[256];
        const uint8_t *minima = has_minima(storage) ? block_minima(storage, p, room) : NULL;
        const int npairs = has_minima(storage) ? 128 / part_steps(storage) : 0;
        c64 pairs[8];
        UNROLL
        for (int j = 0; j < npairs; j++)
                pairs[j] = c_pairs(minima + 32 * j, minima + 32 * j + 16, 0);
        for (int i = 0; i < rows; i++) {
                const CodesOf256 *x = codes_of_256(codes + i * CODES_BYTES(k), k, block);
                c64 total = _mm512_loadu_si512(dot->of[0][i]);
                if (amx_planes(storage) == 2)
                        total = _mm512_add_epi32(total,
                                                 _mm512_slli_epi32(_mm512_loadu_si512(dot->of[1][i]), 7));
                v16 sum = fresh ? v_set1(0) : v_load(acc + i * acc_row);
                sum = v_fma(v_of_n(total), v_mul(d, v_set1(book_factor(storage) * x->scale)), sum);
                if (has_minima(storage)) {
                        n16 m = n_set1(0);
                        UNROLL
                        for (int j = 0; j < npairs; j++)
                                m = n_add_pairs(m, pairs[j],
                                                (part_steps(storage) == 16 ? x->of_16 : x->of_32) + 2 * j);
                        sum = v_fma(v_neg(v_of_n(m)), v_mul(v_load_f16(half + 16), v_set1(x->scale)), sum);
                }
                v_store(acc + i * acc_row, sum);
        }
}

/* A panel's sums of some rows: [tiles][AMX_ROWS][row]. */
typedef struct {
        float *acc;
        int64_t acc_row;
        const int8_t *codes; /* of all rows of the product */
        int64_t row0, last_tile,
                tiles; /* the first tile's row; the last row that may begin a tile; number of tiles */
        int rows, k;   /* rows of a tile, at most AMX_ROWS */
} AmxPanel;

/* The first row of a tile. */
KERNEL int64_t amx_row(const AmxPanel *a, int64_t tile)
{
        const int64_t row = a->row0 + tile * AMX_ROWS;
        return row < a->last_tile ? row : a->last_tile;
}

/* The lines of group `part` of 32 steps of a block: they lie there, or are written to `to`. */
KERNEL const void *amx_lines_of_32(c64 *to, int storage, const uint8_t *p, int part)
{
        if (storage == STORAGE_Q8_0)
                return block_codes(storage, p);
        if (has_zeros(storage)) {
                const c64 zero =
                        _mm512_mullo_epi32(_mm512_and_si512(c_scales(p + 32, 0, 127), _mm512_set1_epi32(15)),
                                           _mm512_set1_epi32(0x01010101));
                UNROLL
                for (int j = 0; j < 8; j += 2) {
                        const c64 two = c_load(p + 48 + 256 * part + 32 * j);
                        to[j] = _mm512_sub_epi8(c_low(two), zero);
                        to[j + 1] = _mm512_sub_epi8(c_high(two), zero);
                }
                return to;
        }
        UNROLL
        for (int j = 0; j < 8; j++)
                to[j] = amx_line(storage, block_codes(storage, p), j);
        return to;
}

/* Adds the products of n groups of 32 steps from number `first` on, 1 to AMX_BLOCKS, whose blocks begin at p. */
KERNEL void amx_panel_of_32(const AmxPanel *a, int storage, const uint8_t *p, int64_t first, int n, int fresh)
{
        const int64_t row = CODES_BYTES(a->k), bytes = bytes_of_block(storage);
        const int parts = (int)step_values(storage) / 32;
        AmxLines lines;
        AmxSums dots[2];
        const void *of[AMX_BLOCKS];
        v16 d[AMX_BLOCKS], m[AMX_BLOCKS];
        for (int i = 0; i < n; i++) {
                const uint8_t *block = p + i / parts * bytes;
                const uint16_t *half = (const uint16_t *)(const void *)block;
                of[i] = amx_lines_of_32(&lines.line[0][8 * i], storage, block, i % parts);
                d[i] = storage == STORAGE_MXFP4 || (has_zeros(storage) && has_bf16_scales(block))
                               ? v_load_bf16(half)
                               : v_load_f16(half);
                m[i] = has_minima(storage) ? v_load_f16(half + 16) : v_set1(0);
        }
        for (int64_t tile = 0; tile <= a->tiles; tile++) {
                const int8_t *x = a->codes + amx_row(a, tile) * row;
                for (int i = 0; tile < a->tiles && i < n; i += 2) {
                        amx_dots_of_32(0, dots[tile % 2].of[i], x + 32 * (first + i), row, of[i]);
                        if (i + 1 < n)
                                amx_dots_of_32(1, dots[tile % 2].of[i + 1], x + 32 * (first + i + 1), row,
                                               of[i + 1]);
                }
                if (tile == 0)
                        continue;
                float *acc = a->acc + (tile - 1) * AMX_ROWS * a->acc_row;
                v16 sum[AMX_ROWS];
                UNROLL
                for (int i = 0; i < AMX_ROWS; i++)
                        sum[i] = fresh ? v_set1(0) : v_load(acc + i * a->acc_row);
                const CodesOf32 *kept[AMX_ROWS];
                for (int i = 0; i < AMX_ROWS; i++)
                        kept[i] = codes_of_32(
                                a->codes + (amx_row(a, tile - 1) + (i < a->rows ? i : a->rows - 1)) * row,
                                a->k, first);
                for (int i = 0; i < n; i++)
                        amx_add_dots(sum, storage, dots[1 - tile % 2].of[i], kept, i, d[i], m[i]);
                UNROLL
                for (int i = 0; i < AMX_ROWS; i++)
                        v_store(acc + i * a->acc_row, sum[i]);
        }
}

/* The same for one block of 256. */
KERNEL void amx_panel_of_256(const AmxPanel *a, int storage, const uint8_t *p, int64_t block, int fresh)
{
        const int64_t row = CODES_BYTES(a->k);
        AmxLines lines;
        AmxSums dots[2];
        amx_lines_of_256(&lines, storage, p);
        for (int64_t tile = 0; tile <= a->tiles; tile++) {
                if (tile < a->tiles)
                        amx_dots_of_256(&dots[tile % 2], a->codes + amx_row(a, tile) * row + 256 * block, row,
                                        &lines, amx_planes(storage));
                if (tile > 0)
                        amx_add_scaled_dots(a->acc + (tile - 1) * AMX_ROWS * a->acc_row, a->acc_row, fresh,
                                            storage, &dots[1 - tile % 2], p,
                                            a->codes + amx_row(a, tile - 1) * row, a->k, block, a->rows);
        }
}
