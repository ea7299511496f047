/*
 * A team of threads that run the same static program, in step by barriers.
 *
 * Thread 0 is the caller.  The others live from team_start() to team_stop() and wait in the team's barrier
 * between programs: team_run() is a barrier that lets them in, the program, and a barrier that sees them out.
 * A barrier counts arrivals; the last thread advances the phase.  Waiting threads spin, as the others arrive
 * soon in a model's step: for at most 200 microseconds, 20 if there are more threads than cores, and yield to
 * other threads after a while.  Then they sleep on a condition variable.
 *
 * A Team is used from one thread at a time, must not be moved while it runs, and allocates no memory.
 * Needs guard.h.  Three variants: one thread (LATHE_NO_THREADS); a mutex and a condition variable, for
 * compilers without C11 atomics; and the one described above.
 */

#if defined(__wasm__) && !defined(LATHE_NO_THREADS)
#define LATHE_NO_THREADS /* WebAssembly without shared memory has no threads */
#endif
#if !defined(LATHE_NO_THREADS)
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#if !defined(__STDC_NO_ATOMICS__) && !defined(__TINYC__)
#include <stdatomic.h>
#endif
#endif

#define TEAM_MAX 64

/* team->threads: number of threads, with the caller.
 *
 * team_start() returns 0, EINVAL if threads is not in 1 ... TEAM_MAX, or the error of starting a thread: then team->threads is 0.
 * team_run() calls program(arg, i) on every thread i at once and returns when all have returned.
 * team_barrier(), inside a program, returns when all threads have called it.
 * team_renew() starts `threads` threads again in a child process after fork(), and returns the same as team_start().
 * team_stop() ends the threads, if they are of this process; it does nothing to a team that did not start. */
#if defined(LATHE_NO_THREADS)
typedef struct {
        int threads; /* always 1: the results do not depend on it */
} Team;
KERNEL int team_start(Team *team, int threads UNUSED)
{
        team->threads = 1;
        return 0;
}
#if HAS_SYSTEM
KERNEL int team_renew(Team *team UNUSED, int threads UNUSED)
{
        return 0;
}
KERNEL void team_stop(Team *team UNUSED)
{
}
#endif
KERNEL void team_run(Team *team UNUSED, void (*program)(void *arg, int thread), void *arg)
{
        program(arg, 0);
}
KERNEL void team_barrier(Team *team UNUSED)
{
}
#else
typedef struct Team Team;
typedef struct {
        Team *team;
        int thread;
} TeamMember;
struct Team {
        int threads;
        pid_t process; /* the process of the threads */
        void (*program)(void *arg, int thread); /* NULL: the threads end */
        void *arg;
        pthread_t thread[TEAM_MAX];  /* [0] is not used */
        TeamMember member[TEAM_MAX]; /* arguments of each thread */
        pthread_mutex_t mutex;
        pthread_cond_t moved; /* signals a new phase */
#if defined(__STDC_NO_ATOMICS__) || defined(__TINYC__)
        int arrived;          /* phase and arrived are changed under the mutex */
        unsigned phase;
#else
        long long patience; /* ns to spin before sleeping */
        char apart1[64];    /* separates cache lines that are written from those that are only read */
        atomic_int arrived;
        char apart2[64];
        atomic_uint phase;
        atomic_int sleepers; /* changed under the mutex, read without it */
        char apart3[64];
#endif
#if !defined(EMITTED)
        /* last, since emitted code that an engine loads has the fields before at the same offsets */
        int asleep; /* the threads sleep as soon as they wait: for many short runs beside others */
#endif
};
#if defined(__STDC_NO_ATOMICS__) || defined(__TINYC__)
static inline void team_barrier(Team *team)
{
        pthread_mutex_lock(&team->mutex);
        unsigned phase = team->phase;
        if (++team->arrived == team->threads) {
                team->arrived = 0;
                team->phase = phase + 1;
                pthread_cond_broadcast(&team->moved);
        }
        while (team->phase == phase)
                pthread_cond_wait(&team->moved, &team->mutex);
        pthread_mutex_unlock(&team->mutex);
}
static inline void team_reset(Team *team, int threads)
{
        (void)threads;
        team->arrived = 0;
        team->phase = 0;
}
#else
/* Tells the core that this is a spin. */
static inline void team_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
        __asm__ __volatile__("pause");
#elif defined(__aarch64__)
        __asm__ __volatile__("isb");
#endif
}
/* Spins until the phase changes, for at most the team's patience.  Returns 1 if it has changed. */
static inline int team_spin(Team *team, unsigned phase)
{
        const long long limit = team->patience, polite = 4000; /* ns */
        struct timespec start = {0, 0}, now;
        for (int round = 0;; round++) {
                for (int i = 0; i < 32; i++) {
                        if (atomic_load_explicit(&team->phase, memory_order_acquire) != phase)
                                return 1;
                        team_pause();
                }
                clock_gettime(CLOCK_MONOTONIC, &now);
                if (round == 0)
                        start = now;
                long long waited = (now.tv_sec - start.tv_sec) * 1000000000LL + (now.tv_nsec - start.tv_nsec);
                if (waited > limit)
                        return 0;
                if (waited > polite)
                        sched_yield();
        }
}
/* No wake-up is lost: either the last to arrive sees the sleeper counted and waits for the mutex until it
 * sleeps, or the count came later in the one order of sequentially consistent operations and the sleeper sees
 * the new phase.  The phase is set by an exchange, not a store, since some emulators let a later
 * load overtake a store (QEMU 7.2 does with 64-bit ARM's stlr and ldar on x86-64). */
static inline void team_sleep(Team *team, unsigned phase)
{
        pthread_mutex_lock(&team->mutex);
        atomic_fetch_add(&team->sleepers, 1);
        while (atomic_load(&team->phase) == phase)
                pthread_cond_wait(&team->moved, &team->mutex);
        atomic_fetch_sub(&team->sleepers, 1);
        pthread_mutex_unlock(&team->mutex);
}
static inline void team_barrier(Team *team)
{
        if (team->threads == 1)
                return;
        unsigned phase = atomic_load_explicit(&team->phase, memory_order_relaxed);
        int before = atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel);
        if (before + 1 < team->threads) {
                if (!team_spin(team, phase))
                        team_sleep(team, phase);
                return;
        }
        atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
        atomic_exchange(&team->phase, phase + 1);
        if (atomic_load(&team->sleepers) == 0)
                return;
        pthread_mutex_lock(&team->mutex);
        pthread_cond_broadcast(&team->moved);
        pthread_mutex_unlock(&team->mutex);
}
static inline void team_reset(Team *team, int threads)
{
#if (HAS_WINDOWS || HAS_WEIGHTS_INSIDE) && defined(_WIN32)
        team->patience = pthread_num_processors_np() >= threads ? 200000 : 20000;
#else
        team->patience = sysconf(_SC_NPROCESSORS_ONLN) >= threads ? 200000 : 20000;
#endif
#if !defined(EMITTED)
        if (team->asleep)
                team->patience = -1;
#endif
        atomic_init(&team->arrived, 0);
        atomic_init(&team->phase, 0);
        atomic_init(&team->sleepers, 0);
}
#endif
/* Main function of threads 1 and up.  team_start() holds the mutex until all have been started. */
static inline void *team_member(void *arg)
{
        TeamMember *self = arg;
        Team *team = self->team;
        FloatState fresh = float_enter();
        pthread_mutex_lock(&team->mutex);
        pthread_mutex_unlock(&team->mutex);
        for (;;) {
                team_barrier(team);
                if (!team->program)
                        break;
                team->program(team->arg, self->thread);
                team_barrier(team);
        }
        float_leave(fresh);
        return NULL;
}
static inline int team_is_here(const Team *team)
{
        return team->process == getpid();
}
static inline void team_stop(Team *team)
{
        if (team->threads == 0)
                return;
        if (!team_is_here(team)) { /* after fork(), mutex and condition cannot be destroyed */
                team->threads = 0;
                return;
        }
        team->program = NULL;
        team_barrier(team);
        for (int i = 1; i < team->threads; i++)
                pthread_join(team->thread[i], NULL);
        pthread_cond_destroy(&team->moved);
        pthread_mutex_destroy(&team->mutex);
        team->threads = 0;
}
static inline int team_start(Team *team, int threads)
{
        team->threads = 0;
        if (threads < 1 || threads > TEAM_MAX)
                return EINVAL;
        team_reset(team, threads);
        team->process = getpid();
        int error = pthread_mutex_init(&team->mutex, NULL);
        if (!error && (error = pthread_cond_init(&team->moved, NULL)) != 0)
                pthread_mutex_destroy(&team->mutex);
        if (error)
                return error;
        pthread_mutex_lock(&team->mutex);
        int started = 1;
        for (; started < threads && !error; started += !error) {
                team->member[started] = (TeamMember){team, started};
                error = pthread_create(&team->thread[started], NULL, team_member, &team->member[started]);
        }
        team->threads = started;
        pthread_mutex_unlock(&team->mutex);
        if (error)
                team_stop(team);
        return error;
}
static inline int team_renew(Team *team, int threads)
{
        if (threads == 1 || (team->threads == threads && team_is_here(team)))
                return 0;
        return team_start(team, threads);
}
static inline void team_run(Team *team, void (*program)(void *arg, int thread), void *arg)
{
        team->program = program;
        team->arg = arg;
        team_barrier(team);
        program(arg, 0);
        team_barrier(team);
}
#endif
