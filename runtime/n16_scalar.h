/*
 * Sums of products of small integers, in plain C.
 *
 * An n16 holds sixteen 32-bit integers, a lane for each of 16 outputs; a c64 four codes for each lane, code i of lane l at byte
 * 4 l + i.  All of it is exact, so every instruction set gives the same numbers.  Activations are codes from -127 to 127.
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
        n16 r;
        for (int i = 0; i < 16; i++)
                r.lane[i] = value;
        return r;
}

/* As floats, rounded to nearest even. */
KERNEL v16 v_of_n(n16 x)
{
        v16 r;
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

/* Two bits of each byte, from bit `from` on, as bits 4 and 5. */
KERNEL c64 c_two_bits(c64 x, int from)
{
        for (int i = 0; i < 64; i++)
                x.byte[i] = (uint8_t)((x.byte[i] >> from & 3) << 4);
        return x;
}

/* 16 in each byte whose bit is set, of 64 bits in the order of the bytes. */
KERNEL c64 c_bits(const uint8_t *bit)
{
        c64 r;
        for (int i = 0; i < 64; i++)
                r.byte[i] = (uint8_t)((bit[i / 8] >> i % 8 & 1) << 4);
        return r;
}

KERNEL c64 c_or(c64 a, c64 b)
{
        for (int i = 0; i < 64; i++)
                a.byte[i] |= b.byte[i];
        return a;
}

/* sum + x * scale, by lane; scales are 0 to 255, and -128 to 127. */
KERNEL n16 n_scaled(n16 sum, n16 x, const uint8_t scale[16])
{
        for (int i = 0; i < 16; i++)
                sum.lane[i] += x.lane[i] * scale[i];
        return sum;
}

KERNEL n16 n_scaled_signed(n16 sum, n16 x, const int8_t scale[16])
{
        for (int i = 0; i < 16; i++)
                sum.lane[i] += x.lane[i] * scale[i];
        return sum;
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
