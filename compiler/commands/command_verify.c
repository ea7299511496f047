/* lathe verify: the interpreter against compiled code.
 *
 * What counts is the interpreter on the graph as elaborated, with inputs made by hash.  Compared with it are the
 * interpreter after each pass, and of each target the emitted C and what libtcc makes of the same program, called whole, in pieces, step by step, and by 1, 2 and
 * 3 threads: all of these must give the same bits, on all targets.
 *
 * Errors are the largest difference relative to the largest value of the output. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify_private.h"

static const double max_error = 1e-5, max_pass_error = 1e-9;

/* -n: whether a sequence of the model may have this length. */
static bool length_fits(const Verify *v)
{
        const Graph *g = v->oracle;
        int64_t most = 0;
        for (int i = 0; i < g->nnamed; i++)
                most = g->named[i].bound > most ? g->named[i].bound : most;
        if (!v->o->given[OPT_N] || (v->o->steps >= 1 && v->o->steps <= most))
                return true;
        fprintf(stderr,
                most ? "lathe verify: -n %" PRId64 ": %s takes 1 to %" PRId64 " positions\n"
                     : "lathe verify: -n %" PRId64 ": %s takes no sequence\n",
                v->o->steps, g->name, most);
        return false;
}

/* Separates the memory of the program and the oracle from that of later graphs. */
static void keep_oracle(Verify *v)
{
        v->oracle = v->m.graph;
        v->lasting = v->m.arena;
        v->m.arena = (Arena){.out_of_memory = v->lasting.out_of_memory};
        v->oracle->arena = v->m.names.arena = v->m.program->arena = &v->lasting;
        diag_clear(&v->m.diag);
}

static int verify_model(Verify *v)
{
        const Target *target[MAX_TARGETS];
        keep_oracle(v);
        if (!length_fits(v))
                return WRONG_INPUT;
        hashed_sizes(v->oracle, v->o->steps == INT64_MAX ? HASHED_POSITIONS : v->o->steps, v->size);
        v->input = NEW_ARRAY(&v->lasting, Tensor, v->oracle->ninput);
        if (!hashed_inputs(v->oracle, v->size, v->input)) {
                fprintf(stderr, "lathe verify: out of memory\n");
                return WRONG_ENVIRONMENT;
        }
        int n = choose_targets(&v->m.arena, v->o, target);
        if (n < 0)
                return WRONG_ENVIRONMENT;
        if (!ranks_can_be_tried(v, target, n))
                return WRONG_USAGE;
        int test_runs = 0, graphs = 0;
        for (int i = 0; i < GRAPH_PASSES; i++)
                graphs += pass_is_verified(v, i);
        for (int i = 0; i < n; i++)
                for (When when = 0; when < WAYS; when++)
                        test_runs += is_tried(v->o, target[i], when);
        v->steps = 1 + graphs + test_runs + (n ? v->o->ranks.n + other_plans(v, target[0]) : 0) +
                   (v->o->given[OPT_EACH_PASS] ? graphs + PASS_COUNT * test_runs : 0);
        progress("verifying", PROGRESS_STEPS, 0, v->steps);
        if (!interpret_oracle(v))
                return failure_code(&v->m);
        report_begin(v);
        for (int i = 0; i < GRAPH_PASSES; i++)
                if (!verify_pass(v, i))
                        return failure_code(&v->m);
        if (v->o->kv && !interpret_narrow(v))
                return failure_code(&v->m);
        for (int i = 0; i < n; i++)
                if (!verify_target(v, target[i]))
                        return WRONG_ENVIRONMENT;
        if ((n && !verify_plans(v, target[0])) || !verify_ranks(v, target, n))
                return failure_code(&v->m);
        if (v->o->given[OPT_EACH_PASS] && !verify_each_pass(v, target, n))
                return failure_code(&v->m);
        if (!v->o->given[OPT_EACH_PASS] && v->caches && !verify_without(v, PASS_window, target, 1))
                return failure_code(&v->m);
        When when = !n                                        ? AHEAD_OF_TIME
                    : is_tried(v->o, target[0], JUST_IN_TIME) ? JUST_IN_TIME
                    : v->o->jit == JIT_CODE                   ? BY_STATEMENT
                                                              : AHEAD_OF_TIME;
        const CommandOptions alone = pass_options(v);
        if (n && !v->o->given[OPT_EACH_PASS] &&
            !verify_table(&v->m, &alone, target[0], when, v->size, v->input, v->bound, v->report))
                return WRONG_ENVIRONMENT;
        if (v->failed)
                report_rounded(v);
        return !report_end(v) ? WRONG_ENVIRONMENT : v->failed ? WRONG_INPUT : DONE;
}

int verify_command(const CommandOptions *o)
{
        Verify v = {.o = o,
                    .without = PASS_COUNT,
                    .bound = o->bound > 0 ? o->bound : max_error,
                    .pass_bound = max_pass_error};
        int code;
        if (!cache_has_effect(o, "verify"))
                return WRONG_USAGE;
        if (o->against)
                return verify_against(o);
        if (o->text_file)
                return verify_accuracy(o);
        if (model_load(&v.m, o, &code))
                code = verify_model(&v);
        progress("verifying", PROGRESS_STEPS, v.steps, v.steps); /* removes the bar, also after an error */
        free_tensors(v.input, v.oracle ? v.oracle->ninput : 0);
        free_tensors(v.exact, v.oracle ? v.oracle->noutput : 0);
        if (v.expected != v.exact)
                free_tensors(v.expected, v.oracle->noutput);
        json_decref(v.report);
        free(v.kept.state);
        forget_bits(&v);
        for (int i = 0; i < MAX_TARGETS; i++)
                for (int k = 0; k < WAYS; k++)
                        free_outputs(&v, v.known[i][k].output);
        model_free(&v.m);
        arena_free(&v.lasting);
        return code;
}
