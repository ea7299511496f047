/* Shared by the kinds of `lathe verify`. */
#include "check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- targets ------------------------------------------------------------------------------------------------------ */

static bool can_try(Arena *a, const CommandOptions *o, const Target *t)
{
        const char *lacks = !jit_is_immediate(o->jit) ? test_run_lacks(a, t)
                            : test_run_jit_runs(t)    ? NULL
                                                      : "libtcc's kernels for it";
        if (lacks)
                fprintf(stderr, "lathe verify: target %s can't be tried here: %s is missing\n", t->name,
                        lacks);
        return !lacks;
}

int choose_targets(Arena *a, const CommandOptions *o, const Target **chosen)
{
        int n = 0;
        if (o->given[OPT_INTERPRETER])
                return 0;
        for (; n < o->target.n; n++)
                if (!can_try(a, o, chosen[n] = target_find(o->target.at[n])))
                        return -1;
        if (!n && !can_try(a, o, target_find("native")))
                return -1;
        for (int i = 0; i < target_count && !o->target.n && n < MAX_TARGETS; i++)
                if (jit_is_immediate(o->jit) ? test_run_jit_runs(&target_table[i])
                                             : !test_run_lacks(a, &target_table[i]))
                        chosen[n++] = &target_table[i];
        return n;
}

bool is_tried(const CommandOptions *o, const Target *target, When when)
{
        if (when == AHEAD_OF_TIME)
                return !jit_is_immediate(o->jit);
        bool asked = when == JUST_IN_TIME ? o->jit != JIT_CC && o->jit != JIT_CODE
                                          : o->jit == JIT_CODE || o->given[OPT_EACH_PASS];
        return asked && test_run_jit_runs(target);
}

const char *test_run_text(Arena *a, const Target *target, When when)
{
        static const char *const how[] = {[AHEAD_OF_TIME] = "",
                                          [JUST_IN_TIME] = ", just in time",
                                          [BY_STATEMENT] = ", Code interpreted"};
        return arena_printf(a, "%s%s", target->name, how[when]);
}

/* Hash of everything on which a test run depends besides its inputs: code, and packed weights. */
static const char *hash_program(Plan *p, Weights *weights, uint64_t *hash)
{
        float *packed = calloc((size_t)FLOATS(p->bytes.weights) + 1, sizeof *packed);
        const char *error = packed ? pack_weights(p, weights, packed) : no_memory;
        if (!error) {
                EmitOptions options = {.name = "model"};
                Text *c = text_new(p->graph->arena), *h = text_new(p->graph->arena);
                emit(p, &options, c, h);
                *hash = hash_bytes(HASH_START, c->data, (size_t)c->n);
                *hash = hash_floats(*hash, packed, FLOATS(p->bytes.weights));
        }
        free(packed);
        return error;
}

/* Whether the plan's program is the known one, if there is one. */
static bool compare_program(Plan *p, const CommandOptions *o, Weights *weights, TestRun *t)
{
        const char *error = o->given[OPT_EACH_PASS] ? hash_program(p, weights, &t->program) : NULL;
        if (error)
                fprintf(stderr, "lathe verify: %s\n", error);
        t->same = !error && t->known && t->known == t->program;
        return !error;
}

static bool run_just_in_time(Model *m, const CommandOptions *o, Plan *p, JitMode mode, TestRun *t)
{
        PackedWeights packed = {.code = DONE};
        const char *error = packed_weights(m, o, p, &packed);
        if (!error && packed.weights)
                error = test_run_engine(p, packed.weights, immediate_mode(mode), t);
        if (error)
                fprintf(stderr, "lathe: %s, just in time: %s\n", p->target->name, error);
        bool good = !error && packed.weights;
        packed_weights_close(&packed);
        return good;
}

bool test_run_of_model(Model *m, const CommandOptions *o, const Target *target, When when, TestRun *t)
{
        Checkpoint *checkpoint = NULL;
        char *folder = when == AHEAD_OF_TIME ? test_run_folder() : NULL;
        bool good = folder || when != AHEAD_OF_TIME;
        if (good) {
                Weights *weights = open_weights(m, o, &checkpoint);
                t->sequential = is_sequential(m->graph, t->size);
                t->finite = m->rests != NULL;
                t->output = NEW_ARRAY(&m->arena, float *, m->graph->noutput);
                Plan *plan = weights ? model_plan(m, o, target) : NULL;
                t->caches = plan && plan->windows.n;
                good = plan && compare_program(plan, o, weights, t);
                if (good && !t->same)
                        good = folder ? test_run(plan, folder, weights, t)
                                      : run_just_in_time(m, o, plan,
                                                         when == BY_STATEMENT ? JIT_CODE : JIT_TCC, t);
        }
        checkpoint_close(checkpoint);
        test_run_remove(folder);
        return good;
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

double values_at(Values v, int64_t i)
{
        return v.wide ? v.wide[i] : (double)v.narrow[i];
}

static double relative_difference(double found, double expected)
{
        if (found == expected || (isnan(found) && isnan(expected)))
                return 0;
        double d = fabs(found - expected);
        return isfinite(d) ? d : INFINITY;
}

double largest_error(Values found, const double *expected, int64_t n, const OutputShape *hides, int64_t *at)
{
        double most = 0, scale = 0;
        *at = 0;
        for (int64_t i = 0; i < n; i++) {
                double size = fabs(expected[i]), d = relative_difference(values_at(found, i), expected[i]);
                if (hides && is_later(hides, i))
                        continue;
                if (d > most) {
                        most = d;
                        *at = i;
                }
                scale = isfinite(size) && size > scale ? size : scale;
        }
        return most == 0 ? 0 : most / (scale > 0 ? scale : 1);
}

json_t *json_named_sizes(const Graph *g, const int64_t *size)
{
        json_t *sizes = json_object();
        for (int i = 0; i < g->nnamed; i++)
                json_object_set_new(sizes, g->named[i].name, json_integer(size[i]));
        return sizes;
}

void print_named_sizes(const Graph *g, const int64_t *size)
{
        printf("%s", g->name);
        for (int i = 0; i < g->nnamed; i++)
                printf("%s%s = %" PRId64, i ? ", " : ": ", g->named[i].name, size[i]);
        printf("\n");
}
