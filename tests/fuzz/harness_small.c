/* small.model, for the fuzzers that need a model. */
#include "harness.h"

#include <stdlib.h>

#include "driver/driver.h"

static const char path[] = "tests/fuzz/small.model"; /* fuzzers run in the repository's root */

const char *harness_small_path(void)
{
        return path;
}

static bool load(Model *m, CommandOptions *o)
{
        int code;
        options_begin(o);
        return model_open(m, path, &code) && model_elaborate(m, o, NULL);
}

Plan *harness_small_plan(void)
{
        static Model m;
        static Plan *plan;
        CommandOptions o;
        if (!plan && load(&m, &o) && model_passes(&m, &o))
                plan = model_plan(&m, &o, target_find("scalar"));
        harness_require(plan != NULL, "small.model is no good");
        return plan;
}

/* Ends of each tensor, and what is not in it. */
static void read_some(const Checkpoint *c)
{
        enum { SOME = 8 };
        for (int i = 0; i < checkpoint_count(c); i++) {
                const CkTensor *t = checkpoint_at(c, i);
                double value[SOME];
                int64_t n = t->count < SOME ? t->count : SOME;
                bool readable = ck_type_readable(t->dtype);
                harness_require(checkpoint_find(c, t->name) == t, "a tensor is not found by its name");
                harness_require(checkpoint_read_f64(t, 0, n, value) == readable,
                                "a tensor's beginning is not read");
                harness_require(checkpoint_read_f64(t, t->count - n, n, value) == readable,
                                "a tensor's end is not read");
                harness_require(!checkpoint_read_f64(t, t->count - n + 1, n, value) || !n,
                                "read beyond a tensor's end");
        }
}

static void load_weights(Checkpoint *c)
{
        static Model m;
        static CommandOptions o;
        double value[64 * 64];
        if (!m.graph)
                harness_require(load(&m, &o), "small.model is no good");
        Arena arena = {0};
        Diag diag = {.arena = &arena};
        harness_listen();
        Weights *w = weights_loaded(&arena, m.graph, c, &diag);
        diag_print(&diag, stderr);
        harness_heard_why(!w);
        for (int i = 0; w && i < m.graph->nweight; i++)
                for (int64_t slot = 0; slot < m.graph->weight[i]->slots; slot++)
                        if (type_count(&m.graph->weight[i]->type, NULL) <= 64 * 64)
                                harness_require(weights_read(w, m.graph->weight[i], slot, value),
                                                "a weight is not read");
        arena_free(&arena);
}

void harness_try_checkpoint(const char *file)
{
        CkError error = {.message = ""};
        Checkpoint *c = checkpoint_open(file, &error);
        if (c) {
                read_some(c);
                load_weights(c);
        }
        harness_require(c || *error.message, "refused without a word");
        checkpoint_close(c);
}
