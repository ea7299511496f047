/* For LD_PRELOAD: a clock that goes a thousand times as fast. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *at)
{
        long failed = syscall(SYS_clock_gettime, clock, at);
        if (!failed) {
                long long nanoseconds = (at->tv_sec % 1000000 * 1000000000LL + at->tv_nsec) * 1000;
                at->tv_sec = nanoseconds / 1000000000;
                at->tv_nsec = nanoseconds % 1000000000;
        }
        return (int)failed;
}
