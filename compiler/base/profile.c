/* One profile at a time: a timed run is not concurrent with others. */
#include "base.h"

#include <stddef.h>
#include <time.h>

static ProfileRow *rows;
static int most;
static double last;

void profile_into(ProfileRow *row, int n)
{
        rows = row;
        most = n;
}

void profile_mark(int kernel)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        double now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
        if (rows && kernel >= 0 && kernel < most) {
                rows[kernel].seconds += now - last;
                rows[kernel].calls++;
        }
        last = now;
}
