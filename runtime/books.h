/*
 * Blocks of book_values.h, expanded to lines of whole bytes for products: [64 lines][16 outputs][4 steps].
 *
 * Needs book_values.h and headers n16 and dot.
 */

#include <string.h>

/* A byte is a fraction of 256.  Times 3, its part from 256 on is the next number plus one, and the rest is again such a fraction.  The
 * numbers of line `line` [of 13] are steps of line 8 i + line, or from line 8 on 40 + 4 i + line - 8, of the last one 60 + i. */
KERNEL void expand_tq1_0(uint8_t *to, const uint8_t *codes)
{
        for (int line = 0; line < 13; line++) {
                const c64 x = c_load(codes + 64 * line);
                c64 even = c_and(x, 0x00ff00ff), odd = c_and(c_shift(x, -8), 0x00ff00ff);
                uint8_t *first = to + 64 * (line < 8 ? line : line < 12 ? 32 + line : 60);
                const int numbers = line < 12 ? 5 : 4, apart = line < 8 ? 512 : line < 12 ? 256 : 64;
                for (int i = 0; i < numbers; i++) {
                        even = c_add(even, c_shift(even, 1));
                        odd = c_add(odd, c_shift(odd, 1));
                        const c64 found = c_or(c_and(c_shift(even, -8), 0x00030003), c_and(odd, 0x03000300));
                        memcpy(first + apart * i, &found, 64);
                        even = c_and(even, 0x00ff00ff);
                        odd = c_and(odd, 0x00ff00ff);
                }
        }
}

/* The signs of 32 steps, one bit for each. */
KERNEL c64 book_signs(int storage, const uint8_t *p)
{
        const c64 kept = c_load(p + book_bytes(storage) - 64);
        if (!has_short_signs(storage))
                return kept;
        const c64 products = c_and(kept, 0x55ffffff);
        return c_xor(c_xor(products, c_shift(products, 8)), c_and(c_shift(products, -23), 0xaa));
}

/* Index i of each output, from the bits after the lower bytes in `upper`. */
KERNEL c64 book_index(int storage, const uint8_t *p, c64 upper, int i)
{
        const c64 low = c_words(p + 16 * i);
        switch (storage) {
        case STORAGE_IQ3_S: return c_or(low, c_and(c_shift(upper, 8 - i), 0x100));
        case STORAGE_IQ2_XS: return c_or(low, c_and(c_shift(upper, -17 - 2 * i), 0x100));
        case STORAGE_IQ2_S: return c_or(low, c_and(c_shift(upper, 8 - 2 * i), 0x300));
        case STORAGE_IQ1_S: return c_or(low, c_and(c_shift(upper, 8 - 3 * i), 0x700));
        case STORAGE_IQ1_M: return c_or(low, c_and(c_shift(upper, 8 - 4 * i), 0x700));
        default: return low;
        }
}

/* The words that have these bits. */
KERNEL c64 book_uppers(int storage, const uint8_t *p)
{
        switch (storage) {
        case STORAGE_IQ3_S: return c_words(p + 128);
        case STORAGE_IQ2_XS: return c_load(p + 64);
        case STORAGE_IQ2_S: return c_words(p + 64);
        default: return c_or(c_words(p + 64), c_shift(c_words(p + 80), 8));
        }
}

/* Bit 2 of each byte: which levels steps of index i have, for iq1. */
KERNEL c64 book_choice(int storage, c64 upper, int i)
{
        c64 x = c_and(c_shift(upper, storage == STORAGE_IQ1_S ? -13 : -1 - 4 * i), 4);
        x = c_or(x, c_shift(x, 8));
        return c_or(x, c_shift(x, 16));
}

/* The codes of four steps, a byte each, from the lowest bits of each word. */
KERNEL c64 book_codes(int bits, c64 x)
{
        if (bits == 3) {
                x = c_and(c_or(x, c_shift(x, 10)), 0x003f003f);
                return c_and(c_or(x, c_shift(x, 5)), 0x07070707);
        }
        x = c_and(c_or(x, c_shift(x, 12)), 0x000f000f);
        return c_and(c_or(x, c_shift(x, 6)), 0x03030303);
}

/* Eight lines of 32 steps, whose bytes begin at p. */
KERNEL void expand_book(uint8_t *to, int storage, const uint8_t *p)
{
        const int bits = book_bits(storage), each = book_steps(storage) / 4;
        const int chooses = storage == STORAGE_IQ1_S || storage == STORAGE_IQ1_M;
        const c64 signs = chooses ? c_load(p) : book_signs(storage, p);
        const c64 upper = storage == STORAGE_IQ3_XXS || storage == STORAGE_IQ2_XXS ? signs : book_uppers(storage, p);
        UNROLL
        for (int i = 0; i < 8 / each; i++) {
                c64 found = c_book(book_of(storage), book_index(storage, p, upper, i));
                UNROLL
                for (int j = 0; j < each; j++) {
                        const c64 other = chooses ? book_choice(storage, upper, i) : c_bits(signs, each * i + j, 1, bits);
                        const c64 line = c_look(book_levels(storage), c_or(book_codes(bits, found), other));
                        memcpy(to + 64 * (each * i + j), &line, 64);
                        found = c_shift(found, -8);
                }
        }
}

/* room [parts][16] = the scale s of each part. */
KERNEL void book_scales(int storage, const uint8_t *p, uint8_t *room)
{
        const int half = storage == STORAGE_IQ3_S ? 64 : 128;
        const uint8_t *scales = p + 32;
        switch (storage) {
        case STORAGE_IQ3_XXS:
        case STORAGE_IQ2_XXS:
                for (int i = 0; i < 8; i++) {
                        const uint8_t *signs = p + book_head(storage) + (i + 1) * book_bytes(storage) - 64;
                        c64 x = c_and(c_shift(c_load(signs), -25), 0x55);
                        x = c_and(c_or(x, c_shift(x, -1)), 0x33);
                        x = c_or(c_shift(x, 1), c_and(c_shift(x, -1), 0x18));
                        uint8_t word[64];
                        memcpy(word, &x, 64);
                        for (int lane = 0; lane < 16; lane++)
                                room[16 * i + lane] = (uint8_t)((word[4 * lane] & 30) | 1);
                }
                break;
        case STORAGE_IQ1_S:
                for (int i = 0; i < 8; i++)
                        for (int lane = 0; lane < 16; lane++)
                                room[16 * i + lane] = (uint8_t)((p[112 + 96 * i + lane] >> 3 & 14) | 1);
                break;
        case STORAGE_IQ1_M:
                for (int i = 0; i < 16; i++)
                        for (int lane = 0; lane < 16; lane++)
                                room[16 * i + lane] = (uint8_t)((scales[i % 4 * 16 + lane] >> i / 4 * 2 & 3) << 1 |
                                                                (scales[64 + i % 2 * 16 + lane] >> i / 2 & 1) << 3 | 1);
                break;
        default:
                for (int i = 0; i < half; i += 64) {
                        const c64 two = c_load(scales + i);
                        const c64 low = c_shift(c_low(two), 1), high = c_shift(c_high(two), 1);
                        memcpy(room + i, &low, 64);
                        memcpy(room + half + i, &high, 64);
                }
                for (int i = 0; i < 2 * half; i++)
                        room[i] |= 1;
        }
}

/* The lines of a block. */
KERNEL void expand_block(uint8_t *to, int storage, const uint8_t *p)
{
#if HAS_TQ1_0
        if (storage == STORAGE_TQ1_0) {
                expand_tq1_0(to, p + 32);
                return;
        }
#endif
#if HAS_BOOKS
        for (int i = 0; i < 8; i++)
                expand_book(to + 512 * i, storage, p + book_head(storage) + i * book_bytes(storage));
#endif
}
