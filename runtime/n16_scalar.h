/*
 * Sums of products of small integers, in plain C.
 *
 * An n16 holds sixteen 32-bit integers, a lane for each of 16 outputs; a c64 four codes for each lane, code i of lane l at byte
 * 4 l + i, or two numbers of 16 bits.  All of it is exact, so every instruction set gives the same numbers.  Activations are codes from -127 to 127.
 */

#include <stdint.h>
#include <string.h>

/* Sums of several rows do not fit the registers: loops over rows stay loops. */
#define UNROLL_ROWS

typedef struct {
        int32_t lane[16];
} n16;

typedef struct {
        uint8_t byte[64];
} c64;

KERNEL n16 n_set1(int32_t value)
{
        n16 r = {{0}};
        for (int i = 0; i < 16; i++)
                r.lane[i] = value;
        return r;
}

/* As floats, rounded to nearest even. */
KERNEL v16 v_of_n(n16 x)
{
        v16 r = {{0}};
        for (int i = 0; i < 16; i++)
                r.lane[i] = (float)x.lane[i];
        return r;
}

KERNEL c64 c_load(const uint8_t *p)
{
        c64 r;
        memcpy(r.byte, p, 64);
        return r;
}

/* The lower four bits of each byte, and the upper four. */
KERNEL c64 c_low(c64 x)
{
        for (int i = 0; i < 64; i++)
                x.byte[i] &= 15;
        return x;
}

KERNEL c64 c_high(c64 x)
{
        for (int i = 0; i < 64; i++)
                x.byte[i] >>= 4;
        return x;
}

/* table[each byte], of bytes below 16. */
KERNEL c64 c_look(const uint8_t table[16], c64 x)
{
        for (int i = 0; i < 64; i++)
                x.byte[i] = table[x.byte[i]];
        return x;
}

/* n bits of each byte, from bit `from` on, moved to bit `to`. */
KERNEL c64 c_bits(c64 x, int from, int n, int to)
{
        for (int i = 0; i < 64; i++)
                x.byte[i] = (uint8_t)((x.byte[i] >> from & ((1 << n) - 1)) << to);
        return x;
}

KERNEL c64 c_or(c64 a, c64 b)
{
        for (int i = 0; i < 64; i++)
                a.byte[i] |= b.byte[i];
        return a;
}

/* Lane i as a number of 32 bits: byte 4 i is its lowest. */
KERNEL uint32_t c_word(const c64 *x, int i)
{
        const uint8_t *b = x->byte + 4 * i;
        return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

KERNEL void c_put_word(c64 *x, int i, uint32_t word)
{
        for (int j = 0; j < 4; j++)
                x->byte[4 * i + j] = (uint8_t)(word >> 8 * j);
}

/* Sixteen bytes as such numbers. */
KERNEL c64 c_words(const uint8_t *p)
{
        c64 r;
        for (int i = 0; i < 16; i++)
                c_put_word(&r, i, p[i]);
        return r;
}

/* Numbers of 32 bits, shifted left, or if `by` is negative right. */
KERNEL c64 c_shift(c64 x, int by)
{
        for (int i = 0; i < 16; i++)
                c_put_word(&x, i, by < 0 ? c_word(&x, i) >> -by : c_word(&x, i) << by);
        return x;
}

KERNEL c64 c_and(c64 x, uint32_t mask)
{
        for (int i = 0; i < 16; i++)
                c_put_word(&x, i, c_word(&x, i) & mask);
        return x;
}

KERNEL c64 c_xor(c64 a, c64 b)
{
        for (int i = 0; i < 64; i++)
                a.byte[i] ^= b.byte[i];
        return a;
}

KERNEL c64 c_add(c64 a, c64 b)
{
        for (int i = 0; i < 16; i++)
                c_put_word(&a, i, c_word(&a, i) + c_word(&b, i));
        return a;
}

/* book[each number].  The book has one more number than can be asked for. */
KERNEL c64 c_book(const uint16_t *book, c64 index)
{
        for (int i = 0; i < 16; i++)
                c_put_word(&index, i, book[c_word(&index, i)]);
        return index;
}

/* Two numbers of 16 bits for each lane: those of a and of b, bytes without a sign or with one. */
KERNEL c64 c_pairs(const uint8_t a[16], const uint8_t b[16], int with_sign)
{
        int16_t two[32];
        c64 r;
        for (int i = 0; i < 16; i++) {
                two[2 * i] = with_sign ? (int8_t)a[i] : a[i];
                two[2 * i + 1] = with_sign ? (int8_t)b[i] : b[i];
        }
        memcpy(r.byte, two, 64);
        return r;
}

/* The scale of each lane, twice, for sums of codes of 0 to most. */
KERNEL c64 c_scales(const uint8_t scale[16], int with_sign, int most UNUSED)
{
        return c_pairs(scale, scale, with_sign);
}

/* sum + the two numbers of each lane by the two at x. */
KERNEL n16 n_add_pairs(n16 sum, c64 pairs, const int16_t x[2])
{
        int16_t two[32];
        memcpy(two, pairs.byte, 64);
        for (int i = 0; i < 16; i++)
                sum.lane[i] += two[2 * i] * x[0] + two[2 * i + 1] * x[1];
        return sum;
}

/* Lines of codes of 0 to most, up to 8, that are added up before n_scaled(). */
KERNEL int dot_lines(int most)
{
        (void)most;
        return 8;
}

/* sum + x * scale, by lane, of the sum x of so many lines. */
KERNEL n16 n_scaled(n16 sum, n16 x, c64 scales, int most)
{
        (void)most;
        int16_t two[32];
        memcpy(two, scales.byte, 64);
        for (int i = 0; i < 16; i++)
                sum.lane[i] += x.lane[i] * two[2 * i + 1];
        return sum;
}

/* -x times 2 to the power `bits`. */
KERNEL n16 n_minus_shifted(n16 x, int bits)
{
        for (int i = 0; i < 16; i++)
                x.lane[i] *= -(1 << bits);
        return x;
}

/* The lanes of x, at most 127 in size, rounded to even become codes at `to`; gives their sum. */
KERNEL int32_t n_codes(int8_t *to, v16 x)
{
        int32_t sum = 0;
        for (int i = 0; i < 16; i++) {
                to[i] = (int8_t)(x.lane[i] + 12582912.0f - 12582912.0f); /* 1.5 * 2^23 */
                sum += to[i];
        }
        return sum;
}
