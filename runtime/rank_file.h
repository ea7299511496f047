/*
 * The weight file of one rank (`lathe weights --rank`): as long as that of all, with holes where other ranks read.
 *
 * Its head is that of the whole file but for the mark, and has these words of 64 bits besides.
 */
#include <stdint.h>
#include <string.h>

#define RANK_FILE_MARK "lathe r\n"

enum {
        RANK_FILE_SPREAD = 6, /* a hash of how kernels share the weights: of the program that the file is for */
        RANK_FILE_PLACE,      /* rank, and from bit 32 on ranks */
        RANK_FILE_STAGE,      /* stage, and from bit 32 on stages */
        RANK_FILE_SAMPLE,     /* weights_sample() of the whole file */
        RANK_FILE_WORDS
};

enum { WEIGHT_SAMPLES = 64 };

/* A hash of a few of `floats` weights, which tell one checkpoint from another; from four places, as what is read of others' weights takes memory. */
static inline uint64_t weights_sample(const float *weights, int64_t floats)
{
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        for (int64_t i = 0; i < WEIGHT_SAMPLES; i++) {
                uint32_t bits;
                memcpy(&bits, &weights[(floats / 4 * (i / 16) + i % 16) % floats], sizeof bits);
                hash = (hash ^ bits) * UINT64_C(0x100000001b3);
        }
        return hash;
}
