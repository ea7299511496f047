/* Times the calls of a model that `lathe build --prefix timed -o timed.c` wrote.
 *
 *   pass WEIGHTS THREADS PASSES POSITIONS STEPS
 *
 * CAUSAL: a pass takes POSITIONS positions and then STEPS of one position each, from an empty cache; otherwise it is CALL, an
 * expression of model (the instance), n (POSITIONS) and the arrays that is 0 if it worked, behind FEED, another that is computed once.
 * Prints "open S", "pass S" for every pass, the first one too, "step S" for every pass, in seconds, and "resident KB" at the end. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "seconds.h"
#include "timed.h"

static int32_t ids[1 << 16], zeros[1 << 16], ones[1 << 16];
static float values[1 << 18], ones_f32[1 << 10],
        outputs[1 << 18]; /* larger than any input or output of the models */

static void check(int error)
{
        if (error) {
                fprintf(stderr, "pass: %s\n", timed_error(error));
                exit(1);
        }
}

int main(int argc, char **argv)
{
        int error = 0;
        double begin = seconds();
        timed *model = argc == 6 ? timed_new(argv[1], atoi(argv[2]), &error) : NULL;
        if (!model) {
                fprintf(stderr, "pass: %s\n",
                        argc == 6 ? timed_error(error)
                                  : "usage: pass WEIGHTS THREADS PASSES POSITIONS STEPS");
                return 1;
        }
        printf("open %.9f\n", seconds() - begin);
        int64_t n = atoll(argv[4]);
        int passes = atoi(argv[3]), steps = atoi(argv[5]);
        for (int i = 0; i < 1 << 16; i++)
                ids[i] = i * 31 % 200, ones[i] = 1;
        for (int i = 0; i < 1 << 18; i++)
                values[i] = (float)(i % 61) * 0x1p-5f - 1;
        for (int i = 0; i < 1 << 10; i++)
                ones_f32[i] = 1;
#ifdef FEED
        check(FEED);
#endif
        for (int i = 0; i < passes; i++) {
#ifdef CAUSAL
                timed_reset(model);
                begin = seconds();
                check(timed_prefill(model, ids, n));
                printf("pass %.9f\n", seconds() - begin);
                begin = seconds();
                for (int k = 0; k < steps; k++)
                        check(timed_step(model, ids[k], outputs));
                if (steps)
                        printf("step %.9f\n", (seconds() - begin) / steps);
#else
                begin = seconds();
                check(CALL);
                printf("pass %.9f\n", seconds() - begin);
#endif
        }
        (void)n, (void)steps, (void)zeros, (void)outputs;
        timed_free(model);
        struct rusage usage;
        if (!getrusage(RUSAGE_SELF, &usage))
                printf("resident %ld\n", usage.ru_maxrss);
        return 0;
}
