/* Of logits: the likeliest token, and a hash that goes on from another. */
#include <stdint.h>
#include <string.h>

enum { VOCAB = 512 };

static int likeliest(const float *logits)
{
        int best = 0;
        for (int i = 1; i < VOCAB; i++)
                best = logits[i] > logits[best] ? i : best;
        return best;
}

static uint64_t hash_of(uint64_t hash, const float *x, int64_t n)
{
        for (int64_t i = 0; i < n; i++) {
                uint32_t bits;
                memcpy(&bits, &x[i], sizeof bits);
                hash = (hash ^ bits) * UINT64_C(0x100000001b3);
        }
        return hash;
}
