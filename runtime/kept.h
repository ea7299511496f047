/*
 * Keys and values as codes of 8 bits, with one scale for each group of numbers along a head's width.
 *
 *      value = scale code,  scale the least half precision number from (largest size) / 127 on,  code = number / scale rounded to even
 *
 * A value is exact as a float: 11 bits by 7.  A group with a value that is not finite, or that needs a scale above 65504, has the scale NaN.
 *
 * An array consists of blocks of `group` steps by `lanes` rows, 1 or 16: scales [lanes], codes [group][lanes].  Elements are numbered as
 * in an array of floats with the layout [group][lanes].
 *
 * Needs a v16 header and rows.h.
 */
#include <string.h>

/* Number of this storage type; all others are below 64. */
#define STORAGE_KEPT(group, lanes) (64 * (group) + (lanes)-1)
#define KEPT_GROUP(storage) ((storage) / 64)
#define KEPT_LANES(storage) ((storage) % 64 + 1)

/* Bytes of a number of elements, in whole blocks. */
#define KEPT_SIZE(storage, elements) ((int64_t)(elements) * (KEPT_GROUP(storage) + 2) / KEPT_GROUP(storage))

KERNEL int is_kept(int storage)
{
        return storage >= 64;
}

/* Whether blocks have 16 rows, each with a scale. */
KERNEL int is_kept_tiled(int storage)
{
        return is_kept(storage) && KEPT_LANES(storage) == 16;
}

/* Offset of an element's block, in bytes. */
KERNEL int64_t kept_block(int storage, int64_t at)
{
        const int block = KEPT_GROUP(storage) * KEPT_LANES(storage);
        return KEPT_SIZE(storage, at / block * block);
}

/* Codes of the 16 elements from `at` on, a multiple of 16 in a tiled block. */
KERNEL v16 kept_codes(int storage, const void *array, int64_t at)
{
        const int lanes = KEPT_LANES(storage), block = KEPT_GROUP(storage) * lanes;
        return v_load_i8((const int8_t *)array + kept_block(storage, at) + 2 * lanes + at % block);
}

/* Scales of the 16 rows of a tiled block. */
KERNEL v16 kept_scales(int storage, const void *array, int64_t at)
{
        return v_load_f16((const uint16_t *)(const void *)((const char *)array + kept_block(storage, at)));
}

KERNEL float kept_at(int storage, const void *array, int64_t at)
{
        const int lanes = KEPT_LANES(storage), i = (int)(at % (KEPT_GROUP(storage) * lanes));
        const int8_t *block = (const int8_t *)array + kept_block(storage, at);
        uint16_t half;
        memcpy(&half, block + 2 * (i % lanes), 2);
        return v_first(v_set1_f16(half)) * (float)block[2 * lanes + i];
}

/* Lane i is element at + i * stride for i < n, 0 above. */
KERNEL v16 v_load_kept_strided(int storage, const void *array, int64_t at, int64_t stride, int n)
{
        float lane[16] = {0};
        for (int i = 0; i < n; i++)
                lane[i] = kept_at(storage, array, at + i * stride);
        return v_load(lane);
}

/* 16 neighbours along the width of a head, from a multiple of 16 on. */
KERNEL v16 v_load_kept(int storage, const void *array, int64_t at)
{
        uint16_t half;
        if (KEPT_GROUP(storage) % 16)
                return v_load_kept_strided(storage, array, at, 1, 16);
        memcpy(&half, (const char *)array + kept_block(storage, at), 2);
        return v_mul(v_set1_f16(half), kept_codes(storage, array, at));
}

/* The scale of a group whose largest magnitude is `most`; NaN if half precision cannot store it. */
KERNEL uint16_t kept_scale(float most)
{
        const float least = most / 127.0f;
        uint16_t half[16];
        v_store_f16(half, v_set1(least));
        if (v_first(v_set1_f16(half[0])) < least)
                half[0]++;
        return half[0] < 0x7c00 ? half[0] : 0x7e00;
}

/* Stores x[i * step] for i < group as the group whose first element is `at`. */
KERNEL void keep_codes(int storage, void *array, int64_t at, const float *x, int64_t step)
{
        const int lanes = KEPT_LANES(storage), group = KEPT_GROUP(storage), row = (int)(at % lanes);
        int8_t *block = (int8_t *)array + kept_block(storage, at);
        v16 most = v_set1(0), zeros = v_set1(0);
        for (int i = 0; i < group; i += 16) {
                v16 some = v_load_strided(x + i * step, (ptrdiff_t)step, group - i < 16 ? group - i : 16);
                most = v_max(most, v_abs(some));
                zeros = v_add(zeros, v_mul(some, v_set1(0)));
        }
        const uint16_t half = v_sum(zeros) == 0 ? kept_scale(v_maxof(most)) : 0x7e00;
        const v16 scale = v_set1_f16(half);
        const int used = half != 0 && half < 0x7c00;
        memcpy(block + 2 * row, &half, 2);
        for (int i = 0; i < group; i += 16) {
                const int n = group - i < 16 ? group - i : 16;
                float lane[16] = {0};
                if (used)
                        v_store(lane, v_div(v_load_strided(x + i * step, (ptrdiff_t)step, n), scale));
                for (int j = 0; j < n; j++) /* to even: 1.5 * 2^23 leaves no room for a fraction */
                        block[2 * lanes + (i + j) * lanes + row] =
                                (int8_t)(lane[j] + 12582912.0f - 12582912.0f);
        }
}
