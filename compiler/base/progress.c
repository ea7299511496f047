/* A progress bar. */
#include "base.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 40 };

static double now(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress(const char *what, int64_t done, int64_t total)
{
        static double begun, shown;
        if (!isatty(STDERR_FILENO) || total < 1)
                return;
        if (done <= 1)
                begun = now(), shown = 0;
        if (now() - begun < 0.5 && shown == 0)
                return;
        if (done >= total) {
                if (shown > 0)
                        fprintf(stderr, "\r\033[K");
                return;
        }
        if (now() - shown < 0.1)
                return;
        shown = now();
        fprintf(stderr, "\r%s [", what);
        for (int i = 0; i < WIDTH; i++)
                fputc(i < done * WIDTH / total ? '#' : ' ', stderr);
        fprintf(stderr, "] %d%%", (int)(done * 100 / total));
}
