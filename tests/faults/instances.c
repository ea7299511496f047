/* Several instances of a model at once in one process, each with threads of its own, all reading one weight file: each gives
 * the bits that one alone gives.  Built by run-concurrency with the thread sanitizer; tiny.h is what lathe wrote.
 *   usage: instances WEIGHTS */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tiny.h"

enum { INSTANCES = 4, STEPS = 6, VOCAB = 64 };

typedef struct {
        const char *weights;
        int threads, error;
        float logits[STEPS][VOCAB];
} Worker;

static void *work(void *arg)
{
        Worker *w = arg;
        pocket *m = pocket_new(w->weights, w->threads, &w->error);
        for (int i = 0; m && i < STEPS && !w->error; i++)
                w->error = pocket_step(m, 3 * i + 1, w->logits[i]);
        pocket_free(m);
        return NULL;
}

int main(int argc, char **argv)
{
        static Worker alone, together[INSTANCES];
        pthread_t thread[INSTANCES];
        if (argc != 2)
                return 2;
        alone = (Worker){.weights = argv[1], .threads = 1};
        work(&alone);
        for (int round = 0; round < 3; round++) {
                for (int i = 0; i < INSTANCES; i++) {
                        together[i] = (Worker){.weights = argv[1], .threads = i + 1};
                        if (pthread_create(&thread[i], NULL, work, &together[i]))
                                return 3;
                }
                for (int i = 0; i < INSTANCES; i++) {
                        pthread_join(thread[i], NULL);
                        if (together[i].error ||
                            memcmp(together[i].logits, alone.logits, sizeof alone.logits)) {
                                printf("instance %d: error %d, or other bits\n", i, together[i].error);
                                return 1;
                        }
                }
        }
        return alone.error;
}
