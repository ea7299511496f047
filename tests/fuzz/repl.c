/* The REPL's lines.  Long work is interrupted after half a second, as by Ctrl-C, and has to heed it. */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "harness.h"
#include "tokens.h"
#include "repl/repl_private.h"

static pthread_mutex_t at_work = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_done = PTHREAD_COND_INITIALIZER;
static bool done;

static void *interrupt(void *nothing)
{
        struct timespec next;
        (void)nothing;
        clock_gettime(CLOCK_REALTIME, &next);
        pthread_mutex_lock(&at_work);
        while (!done) {
                next.tv_nsec += 500000000;
                next.tv_sec += next.tv_nsec / 1000000000;
                next.tv_nsec %= 1000000000;
                if (pthread_cond_timedwait(&is_done, &at_work, &next) == ETIMEDOUT) {
                        atomic_store(&interrupted, true);
                        runner_interrupt();
                }
        }
        pthread_mutex_unlock(&at_work);
        return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        CommandOptions o;
        const char *script = harness_file(".repl", data, size);
        pthread_t thread;
        options_begin(&o);
        o.file = &script;
        o.nfile = 1;
        done = false;
        if (pthread_create(&thread, NULL, interrupt, NULL))
                return 0;
        harness_listen();
        int code = repl_command(&o);
        harness_heard_why(code != DONE && !interrupted);
        pthread_mutex_lock(&at_work);
        done = true;
        pthread_cond_signal(&is_done);
        pthread_mutex_unlock(&at_work);
        pthread_join(thread, NULL);
        return 0;
}
