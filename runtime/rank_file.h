/*
 * The weight file of one rank (`lathe weights --rank`): as long as the whole file, with holes for the weights of other ranks.
 *
 * Its header equals that of the whole file, except the mark, and has these further words of 64 bits.
 */
#include <stdint.h>
#include <string.h>

#define RANK_FILE_MARK "lathe r\n"

enum {
        RANK_FILE_SHARDING = 6, /* hash of how the file's program divides weights among ranks */
        RANK_FILE_PLACE,      /* rank | ranks << 32 */
        RANK_FILE_STAGE,      /* stage | stages << 32 */
        RANK_FILE_SAMPLE,     /* weights_sample() of the whole file */
        RANK_FILE_WORDS
};

enum { WEIGHT_SAMPLES = 64 };

/* A hash of a few of `floats` weights, to identify the checkpoint.  Reads few pages, as other ranks' weights cost memory. */
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
