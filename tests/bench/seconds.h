/* The clock of the benchmarks: seconds since some moment. */
#ifndef SECONDS_H
#define SECONDS_H
#include <time.h>

static double seconds(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#endif
