/* lathe verify: compiled code of each target: ahead of time, just in time, and interpreted; with all
 * passes, and without one. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verify_private.h"

static const char *call_text(Arena *a, const TestRunCase *r)
{
        static const char *const call[] = {"the whole",
                                           "pieces of 7",
                                           "steps",
                                           "prefill, then a step",
                                           "batches",
                                           "one half of the outputs",
                                           "the whole with later inputs that are huge",
                                           "the whole with later inputs that are NaN",
                                           "its last third"};
        return arena_printf(a, "%s by %d thread%s", call[r->call], r->threads, r->threads > 1 ? "s" : "");
}

static const char *calls_text(const Verify *v, const TestRun *t)
{
        const bool batches = v->o->slots > 1;
        return t->sequential && batches ? "the same by 1, 2 and 3 threads, whole, in pieces and in batches"
               : batches && v->m.graph->past < 0 ? "the same by 1, 2 and 3 threads, alone and in batches"
               : t->sequential                   ? "the same by 1, 2 and 3 threads, whole and in pieces"
                                                 : "the same by 1, 2 and 3 threads";
}

/* Whether all calls of a target, and this target and the first one, give the same bits; *said: the modes,
 * or where they differ. */
static bool compare_bits(Verify *v, const TestRun *t, const char *target, const char **said)
{
        Arena *a = &v->m.arena;
        const Graph *g = v->m.graph;
        float *const *first = v->first;
        if (!first) {
                v->first = t->output;
                v->first_target = target;
        }
        if (t->run >= 0) {
                *said = arena_printf(a, "FAIL: %s[%" PRId64 "] is %a, by %s %a",
                                     output_name(&g->output[t->at_output]), t->at, (double)t->one,
                                     call_text(a, &test_run_case[t->run]), (double)t->other);
                return false;
        }
        for (int i = 0; first && i < g->noutput; i++) {
                int64_t n = type_count(&v->oracle->output[i].node->type, v->size);
                for (int64_t k = 0; k < n; k++) {
                        float x = first[i][k], y = t->output[i][k];
                        if (!memcmp(&x, &y, sizeof x) || (isnan(x) && isnan(y)))
                                continue;
                        *said = arena_printf(a, "FAIL: %s[%" PRId64 "] is %a, by %s %a",
                                             output_name(&g->output[i]), k, (double)y, v->first_target,
                                             (double)x);
                        return false;
                }
        }
        *said = first ? arena_printf(a, "as %s", v->first_target) : calls_text(v, t);
        return true;
}

/* Reuses the test run of the same program with all passes, if there is one.  False: out of memory. */
static bool take_known(const Verify *v, const TestRun *known, TestRun *t)
{
        float **output = t->output;
        uint64_t program = t->program;
        bool good = true;
        *t = *known;
        t->output = output;
        t->program = program;
        t->same = true;
        for (int i = 0; i < v->oracle->noutput && good; i++) {
                size_t size = (size_t)type_count(&v->oracle->output[i].node->type, v->size) * sizeof(float);
                output[i] = malloc(size + 1);
                good = output[i] != NULL;
                if (good)
                        memcpy(output[i], known->output[i], size);
        }
        return good;
}

void free_outputs(const Verify *v, float **output)
{
        for (int i = 0; output && i < v->oracle->noutput; i++)
                free(output[i]);
}

/* ", 3 ranks" */
static const char *verified_plan_text(const Verify *v)
{
        Arena *a = (Arena *)&v->m.arena;
        if (v->chunk)
                return arena_printf(a, ", chunk %" PRId64, v->chunk);
        const char *stages =
                v->o->ranks.stages > 1 ? arena_printf(a, " x %d stages", v->o->ranks.stages) : "";
        return v->ranks ? arena_printf(a, ", %d rank%s%s", v->ranks, v->ranks > 1 ? "s" : "", stages) : "";
}

static float **lasting_outputs(Verify *v, float **output)
{
        float **copy = NEW_ARRAY(&v->lasting, float *, v->oracle->noutput);
        memcpy(copy, output, (size_t)v->oracle->noutput * sizeof *copy);
        return copy;
}

static bool verify_code(Verify *v, const Target *target, When when)
{
        if (!is_tried(v->o, target, when))
                return true;
        TestRun *known = &v->known[target - target_table][when];
        const bool usual = !v->ranks && !v->chunk && v->without == PASS_COUNT;
        TestRun t = {.size = v->size,
                     .input = v->input,
                     .known = v->ranks || v->chunk ? 0 : known->program,
                     .whole_only = v->whole_only};
        double error = 0;
        CommandOptions o = pass_options(v);
        o.given[OPT_EXPLAIN] &= v->without == PASS_COUNT;
        bool good = pass_graph(v, GRAPH_PASSES, o.kv) && test_run_of_model(&v->m, &o, target, when, &t) &&
                    (!t.same || take_known(v, known, &t) || give_up(v, target->name, no_memory));
        v->caches |= t.caches;
        if (good)
                t.output = lasting_outputs(v, t.output);
        for (int i = 0; good && i < v->oracle->noutput; i++)
                error = fmax(error, output_error(v, v->expected, i, (Values){NULL, t.output[i]}));
        verify_tick(v);
        if (good) {
                const char *name = test_run_text(&v->lasting, target, when), *bits;
                bool agrees = compare_bits(v, &t, name, &bits);
                bits = t.same && agrees ? "the same program" : bits;
                const char *what =
                        v->without != PASS_COUNT
                                ? arena_printf(&v->m.arena, "no %s: %s", pass_table[v->without].name, name)
                                : arena_printf(&v->m.arena, "%s%s%s",
                                               when == BY_STATEMENT ? "" : "compiled, ", name,
                                               verified_plan_text(v));
                report_check(v, what, error, v->bound, agrees, bits);
        }
        if (good && usual)
                *known = t;
        else if (v->first != t.output)
                free_outputs(v, t.output);
        return good;
}

bool verify_target(Verify *v, const Target *target)
{
        bool interpreted = v->without == PASS_COUNT || v->o->jit == JIT_CODE;
        return verify_code(v, target, AHEAD_OF_TIME) && verify_code(v, target, JUST_IN_TIME) &&
               (!interpreted || verify_code(v, target, BY_STATEMENT));
}

/* The way of the target's first test run that needed no C compiler; WAYS: none. */
static When quick_way(const Verify *v, const Target *target)
{
        return is_tried(v->o, target, JUST_IN_TIME)   ? JUST_IN_TIME
               : is_tried(v->o, target, BY_STATEMENT) ? BY_STATEMENT
                                                      : WAYS;
}

/* Another maximum of positions per call to test; 0: none, for a model that needs whole inputs. */
static int64_t other_chunk(const Verify *v)
{
        return v->m.graph->past < 0 ? 0 : v->o->chunk > 1 ? 1 : 64;
}

int other_plans(const Verify *v, const Target *target)
{
        return quick_way(v, target) == WAYS ? 0 : 1 + (v->o->ranks.n == 0);
}

/* Tests plans for calls of another size, and for ranks: fusion and the order of sums must depend only on
 * the graph. */
bool verify_plans(Verify *v, const Target *target)
{
        const When when = quick_way(v, target);
        bool good = true;
        if (when == WAYS)
                return true;
        v->whole_only = true;
        v->chunk = other_chunk(v);
        if (v->chunk)
                good = verify_code(v, target, when);
        v->chunk = 0;
        if (v->o->ranks.n == 0 && good) {
                v->ranks = 1;
                good = verify_code(v, target, when);
                v->ranks = 0;
        }
        v->whole_only = false;
        return good;
}

bool ranks_can_be_tried(const Verify *v, const Target *const *target, int n)
{
        for (int i = 0; i < n; i++)
                if (quick_way(v, target[i]) != WAYS)
                        return true;
        if (n && v->o->ranks.n)
                fprintf(stderr,
                        "lathe verify: --ranks has no effect with --target %s: ranks are tried in this "
                        "process; "
                        "add --target native\n",
                        target[0]->name);
        return !n || !v->o->ranks.n;
}

/* Compares the bits of several ranks, instances in this process, on the first target that runs here. */
bool verify_ranks(Verify *v, const Target *const *target, int n)
{
        bool good = true;
        int first = 0;
        while (first < n && quick_way(v, target[first]) == WAYS)
                first++;
        for (int i = 0; i < v->o->ranks.n && first < n && good; i++) {
                v->ranks = v->o->ranks.count[i];
                good = verify_code(v, target[first], quick_way(v, target[first]));
        }
        v->ranks = 0;
        return good;
}

void forget_bits(Verify *v)
{
        bool is_known = false;
        for (int i = 0; i < MAX_TARGETS; i++)
                for (int k = 0; k < WAYS; k++)
                        is_known |= v->known[i][k].output == v->first;
        if (!is_known)
                free_outputs(v, v->first);
        v->first = NULL;
}

/* Keeps the rounded keys and values of compiled code: every target has the same bits. */
static bool keep_compiled(Verify *v)
{
        free(v->kept.state);
        v->kept.state = NULL;
        TestRun t = {.size = v->size, .input = v->input, .kept = &v->kept};
        CommandOptions o = pass_options(v);
        o.given[OPT_EXPLAIN] = 0;
        o.off[PASS_window] = true;
        memset(o.dump, 0, sizeof o.dump);
        When when = o.jit == JIT_CODE ? BY_STATEMENT : JUST_IN_TIME;
        bool good = test_run_of_model(&v->m, &o, target_find("native"), when, &t);
        free_outputs(v, good ? t.output : NULL);
        return good;
}

/* The reference for compiled code if --kv rounds keys and values: the interpreter on the graph with state,
 * which must also agree when run in pieces.  It follows the state of one program; a program with another
 * order of sums needs a new one. */
bool interpret_narrow(Verify *v)
{
        Checkpoint *checkpoint;
        double cost = 0, error = 0;
        if (!pass_graph(v, GRAPH_PASSES, v->o->kv) || (!v->o->given[OPT_INTERPRETER] && !keep_compiled(v)))
                return false;
        const Graph *g = v->m.graph;
        Tensor *narrow = NEW_ARRAY(&v->lasting, Tensor, g->noutput);
        WeightSource source = {open_weights(&v->m, v->o, &checkpoint), weights_read, weights_why};
        const char *why = source.from ? interpret_whole(v, g, &source, false, narrow) : NULL;
        for (int i = 0; source.from && i < g->noutput && !why; i++)
                cost = fmax(cost, output_error(v, v->exact, i, (Values){narrow[i].data, NULL}));
        if (source.from && !why && g->past >= 0 && is_sequential(g, v->size))
                why = interpret_pieces(v, g, &source, TEST_PIECE, narrow, &error);
        checkpoint_close(checkpoint);
        if (!source.from || why) {
                free_tensors(narrow, g->noutput);
                return source.from && give_up(v, "the interpreter", why);
        }
        if (v->expected != v->exact)
                free_tensors(v->expected, v->oracle->noutput);
        v->expected = narrow;
        const char *kv = storage_info[v->o->kv].text,
                   *what = v->without == PASS_COUNT
                                   ? arena_printf(&v->m.arena, "interpreted, --kv %s, in pieces too", kv)
                                   : arena_printf(&v->m.arena, "no %s: interpreted, --kv %s",
                                                  pass_table[v->without].name, kv);
        report_check(v, what, error, v->pass_bound, true, arena_printf(&v->m.arena, "%.1e from f32", cost));
        return true;
}

/* Whether other bits are right without the pass: sums are in another order, or other values are stored in the narrow type of --kv. */
static bool pass_changes_bits(const Verify *v, PassId pass)
{
        return pass_table[pass].sums == REORDERED || (v->o->kv && pass_table[pass].kind == GRAPHS);
}

/* Repeats all tests without a pass. */
bool verify_without(Verify *v, PassId pass, const Target *const *target, int n)
{
        if (v->o->off[pass] || v->idle[pass])
                return true;
        v->without = pass;
        bool good = pass >= GRAPH_PASSES || verify_graph(v, GRAPH_PASSES, pass);
        /* without state nothing is rounded */
        if (v->o->kv && (pass == PASS_causal || pass == PASS_phases))
                return good;
        if (v->o->kv && pass_changes_bits(v, pass))
                good = good && interpret_narrow(v);
        for (int k = 0; k < n && good; k++)
                good = verify_target(v, target[k]);
        return good;
}

/* Disables each pass in turn: first those that change no bit, then those that do, with a new comparison. */
bool verify_each_pass(Verify *v, const Target *const *target, int n)
{
        bool good = true;
        for (int i = 0; i < PASS_COUNT && good; i++)
                if (!pass_changes_bits(v, (PassId)i) && pass_table[i].off == OPTIONAL)
                        good = verify_without(v, (PassId)i, target, n);
        for (int i = 0; i < PASS_COUNT && good; i++)
                if (pass_changes_bits(v, (PassId)i) && pass_table[i].off == OPTIONAL) {
                        forget_bits(v);
                        good = verify_without(v, (PassId)i, target, n);
                }
        return good;
}
