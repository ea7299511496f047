/* Progress of long work: a bar on a terminal, with the done part, the rate, and the remaining time. */
#include "base.h"

#include <unistd.h>

enum { WIDTH = 30, ROOM = 32 };

/* "3 s", "2 min 05 s", "1 h 02 min" */
static const char *time_text(char text[ROOM], double time)
{
        int64_t s = (int64_t)(time + 0.5);
        if (s < 60)
                snprintf(text, ROOM, "%d s", (int)s);
        else if (s < 3600)
                snprintf(text, ROOM, "%d min %02d s", (int)(s / 60), (int)(s % 60));
        else
                snprintf(text, ROOM, "%d h %02d min", (int)(s / 3600 % 10000), (int)(s / 60 % 60));
        return text;
}

static void print_done(ProgressUnit unit, int64_t done, int64_t total, double time)
{
        double scale = total < 1000000000 ? 1e-6 : 1e-9;
        if (unit == PROGRESS_STEPS)
                fprintf(stderr, "%lld of %lld", (long long)done, (long long)total);
        else
                fprintf(stderr, "%.*f of %.*f %s, %.0f MB/s", scale > 1e-9 ? 0 : 1, scale * (double)done,
                        scale > 1e-9 ? 0 : 1, scale * (double)total, scale > 1e-9 ? "MB" : "GB",
                        1e-6 * (double)done / time);
}

static const char *work;    /* that is shown; NULL: none */
static double begun, shown; /* seconds(); shown: of the last bar, 0: none yet */
static int64_t before;

void progress_clear(void)
{
        if (work && shown > 0)
                terminal_control(stderr, "\r\033[K");
}

void progress(const char *what, ProgressUnit unit, int64_t done, int64_t total)
{
        if (!isatty(STDERR_FILENO) || total < 1)
                return;
        double now = seconds(), time;
        /* part of the work that is shown */
        if (work && strcmp(what, work) != 0)
                return;
        if (!work || done < before) {
                work = what;
                begun = now;
                shown = 0;
        }
        before = done;
        time = now - begun;
        if (done >= total) {
                progress_clear();
                work = NULL;
                return;
        }
        if (time < 0.5 || done < 1 || now - shown < 0.1)
                return;
        shown = now;
        terminal_control(stderr, "\r");
        fprintf(stderr, "%s [", what);
        for (int i = 0; i < WIDTH; i++)
                fputc(i < (int)((double)done / (double)total * WIDTH) ? '#' : ' ', stderr);
        fprintf(stderr, "] ");
        print_done(unit, done, total, time);
        char left[ROOM];
        fprintf(stderr, ", %s left", time_text(left, time * (double)(total - done) / (double)done));
        terminal_control(stderr, "\033[K");
}
