/* Hash weights, see docs/hash-weights.md: FNV-1a of the name, splitmix64 of name and index, a uniform number
 * from the upper 24 bits. Every step is an integer operation or one correctly rounded double operation. */
#include <math.h>
#include <string.h>

#include "weights.h"

uint64_t hash_name(const char *name)
{
        return hash_bytes(HASH_START, name, strlen(name));
}

double hash_scale(int rank, const int64_t *shape)
{
        if (rank < 2)
                return 0.05;
        int64_t fan_in = shape[rank - 1];
        return fan_in > 0 ? sqrt(3.0 / (double)fan_in) : 0;
}

float hash_weight(uint64_t name_hash, uint64_t index, double scale, double centre)
{
        uint64_t z = name_hash + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        int64_t odd = 2 * (int64_t)(z >> 40) + 1 - (INT64_C(1) << 24); /* -2^24 < odd < 2^24 */
        double uniform = (double)odd * 0x1p-24;
        double spread = scale * uniform; /* rounded separately: never one fma with the sum */
        return (float)(centre + spread);
}
