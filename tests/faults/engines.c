/* Two engines in one process, each used by a thread of its own, the optimised build taking over while they run: the logits are
 * those of one alone.  Built by run-concurrency from lathe's own objects with the thread sanitizer.
 *   usage: engines MODEL */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"

enum { ENGINES = 2, STEPS = 8, VOCAB = 64 };

typedef struct {
        const char *path;
        JitMode mode;
        int threads;
        const char *wrong;
        float logits[STEPS][VOCAB];
} Worker;

static const char *generate_all(Worker *w, Model *m, const CommandOptions *o, WeightPool *pool)
{
        const char *wrong = NULL;
        const float *base = NULL;
        if (!model_passes(m, o))
                return "no passes";
        Plan *p = model_plan(m, o, target_find("native"));
        Weights *weights = weights_hashed(&m->arena, m->graph);
        wrong = p ? pool_fit(pool, p, weights, 1, &base) : "no plan";
        Engine *e = wrong ? NULL : engine_new(p, base, w->threads, w->mode, &wrong);
        for (int32_t i = 0; e && i < STEPS && !wrong; i++)
                wrong = engine_tokens(e, &(int32_t){3 * i + 1}, 1, 0, w->logits[i]);
        engine_free(e);
        return wrong ? "an engine failed" : NULL;
}

static void *work(void *arg)
{
        Worker *w = arg;
        CommandOptions o;
        Model m;
        int code;
        WeightPool *pool = pool_new();
        w->wrong = "it can't be loaded";
        options_begin(&o);
        o.file = &w->path;
        o.nfile = 1;
        if (model_load(&m, &o, &code) && pool)
                w->wrong = generate_all(w, &m, &o, pool);
        model_free(&m);
        pool_free(pool);
        return NULL;
}

int main(int argc, char **argv)
{
        static Worker alone, together[ENGINES];
        pthread_t thread[ENGINES];
        if (argc != 2)
                return 2;
        ending_watch();
        alone = (Worker){.path = argv[1], .mode = JIT_TCC, .threads = 1};
        work(&alone);
        for (int i = 0; i < ENGINES; i++) {
                together[i] = (Worker){.path = argv[1], .mode = JIT_AUTO, .threads = i + 1};
                if (pthread_create(&thread[i], NULL, work, &together[i]))
                        return 3;
        }
        for (int i = 0; i < ENGINES; i++) {
                pthread_join(thread[i], NULL);
                if (together[i].wrong || memcmp(together[i].logits, alone.logits, sizeof alone.logits)) {
                        printf("engine %d: %s\n", i, together[i].wrong ? together[i].wrong : "other bits");
                        return 1;
                }
        }
        return alone.wrong ? 1 : 0;
}
