/*
 * The thread team under stress: no thread passes a barrier early, and none is lost asleep.  The data between barriers is plain, so ThreadSanitizer sees any barrier that does not
 * order it.  Also what team_start() says when it can't, and that threads start with a clean floating-point
 * state.
 *
 * Prints how long a barrier takes and what went wrong; returns 1 if anything did.  A team that hangs is ended by the alarm.
 */
#include "../../runtime/guard.h"
#include "../../runtime/v16_scalar.h"
#include "../../runtime/math.h"
#include "../../runtime/team.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

typedef struct {
        Team team;
        int steps;          /* barriers in pairs, each program */
        int naps;           /* every so many steps one thread is late: 0 for never */
        int slot[TEAM_MAX]; /* [threads], each thread's latest step */
        int wrong[TEAM_MAX];
} Stress;

static void nap(long microseconds)
{
        struct timespec time = {0, microseconds * 1000};
        nanosleep(&time, NULL);
}

/* Every thread writes its slot, all meet, every thread reads all slots, all meet. */
static void stress_program(void *arg, int thread)
{
        Stress *s = arg;
        int threads = s->team.threads;
        for (int step = 1; step <= s->steps; step++) {
                if (s->naps && step % s->naps == 0 && step / s->naps % threads == thread)
                        nap(300);
                s->slot[thread] += thread + 1;
                team_barrier(&s->team);
                for (int i = 0; i < threads; i++)
                        s->wrong[thread] += s->slot[i] % (i + 1) != 0 ||
                                            s->slot[i] / (i + 1) != s->slot[thread] / (thread + 1);
                team_barrier(&s->team);
        }
}

static int stress(int threads, int runs, int steps, int naps)
{
        static Stress s;
        int error = team_start(&s.team, threads);
        if (error) {
                printf("team of %d: error %d\n", threads, error);
                return 1;
        }
        s.steps = steps;
        s.naps = naps;
        for (int i = 0; i < TEAM_MAX; i++)
                s.slot[i] = s.wrong[i] = 0;
        for (int run = 0; run < runs; run++) {
                team_run(&s.team, stress_program, &s);
                if (naps)
                        nap(200); /* long enough for all to fall asleep between programs */
        }
        int wrong = 0, members = s.team.threads;
        for (int i = 0; i < members; i++)
                wrong += s.wrong[i] + (s.slot[i] != runs * steps * (i + 1));
        team_stop(&s.team);
        if (wrong)
                printf("team of %d: %d steps out of order\n", threads, wrong);
        return wrong != 0;
}

/* How long a barrier of busy threads takes, in microseconds. */
static double barrier_time(int threads)
{
        enum { STEPS = 2000 };
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        if (stress(threads, 1, STEPS, 0))
                return 1e9;
        clock_gettime(CLOCK_MONOTONIC, &end);
        double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
        return seconds * 1e6 / (2 * STEPS);
}

static void float_program(void *arg, int thread)
{
        int *faults = arg;
        faults[thread] = float_check();
}

/* Threads inherit the caller's state, here with denormals flushed; the team's threads must not keep it. */
static int check_float_state(void)
{
        static Team team;
        int faults[TEAM_MAX] = {0};
        FloatState caller = float_enter();
#if defined(__x86_64__)
        FloatState flushing = {0x9fc0};
        float_leave(flushing);
        if (!(float_check() & 2)) {
                printf("flushing denormals goes unnoticed\n");
                return 1;
        }
#endif
        int error = team_start(&team, 4), wrong = 0;
        if (error)
                return 1;
        team_run(&team, float_program, faults);
        for (int i = 1; i < team.threads; i++)
                wrong |= faults[i];
        team_stop(&team);
        float_leave(caller);
        if (wrong)
                printf("threads start in a foreign float state: %d\n", wrong);
        return wrong;
}

#if !defined(LATHE_NO_THREADS)
static int check_bad_counts(void)
{
        static Team team;
        int wrong = team_start(&team, 0) != EINVAL || team.threads != 0;
        wrong |= team_start(&team, TEAM_MAX + 1) != EINVAL || team.threads != 0;
        team_stop(&team);
        if (wrong)
                printf("a bad thread count is accepted\n");
        return wrong;
}
#endif

#if !defined(LATHE_NO_THREADS) && !defined(UNLIMITED)
/* Address space for a few stacks only: the next thread can't start, and the team comes down whole. */
static int check_no_memory(void)
{
        static Team team;
        struct rlimit space, small;
        getrlimit(RLIMIT_AS, &space);
        small = space;
        small.rlim_cur = (rlim_t)40 << 20;
        if (setrlimit(RLIMIT_AS, &small) != 0)
                return 0;
        int error = team_start(&team, 32), threads = team.threads;
        team_stop(&team);
        setrlimit(RLIMIT_AS, &space);
        if (error == 0 || threads != 0)
                printf("32 stacks in 40 MB: error %d, %d threads\n", error, threads);
        return error == 0 || threads != 0 || stress(8, 3, 10, 0); /* and a team can start again */
}
#endif

int main(void)
{
        static const int size[] = {1, 2, 3, 8};
        int failed = 0;
        alarm(60);
        for (int i = 0; i < 4; i++) {
                failed |= stress(size[i], 50, 20, 0);
                failed |= stress(size[i], 10, 20, 5);
        }
        failed |= stress(TEAM_MAX, 3, 5, 0);
        failed |= check_float_state();
#if !defined(LATHE_NO_THREADS)
        failed |= check_bad_counts();
#endif
#if !defined(LATHE_NO_THREADS) && !defined(UNLIMITED)
        failed |= check_no_memory();
#endif
        double two = barrier_time(2), eight = barrier_time(8);
        printf("a barrier of 2 threads: %.2f us, of 8: %.2f us\n", two, eight);
        return failed;
}
