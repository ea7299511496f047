/*
 * Seeds of `--seed random`.
 */
#include <stdint.h>
#include <time.h>

/* A number of 32 bits, of the time in nanoseconds and the place of the stack. */
static inline uint64_t random_seed(void)
{
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        uint64_t x = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec + ((uint64_t)(uintptr_t)&t << 20);
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x >> 32;
}
