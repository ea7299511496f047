/* lathe verify: the interpreter against compiled code.
 *
 * What counts is the interpreter on the graph as elaborated, with inputs made by hash.  Compared with it are the
 * interpreter after each pass, and of each target the emitted C and what libtcc makes of the same program, called whole, in pieces, step by step, and by 1, 2 and
 * 3 threads: all of these must give the same bits, on all targets.
 *
 * Errors are the largest difference relative to the largest value of the output. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"
#include "check/check.h"

static const double most_error = 1e-5, most_pass_error = 1e-9;

typedef struct {
        Model m;
        const Options *o;
        Graph *oracle;
        int64_t size[MAX_NAMED];
        Tensor *input, *exact,
                *expected; /* [ninput]; [noutput] of the oracle, and as --kv rounds its values */
        KeptState kept;    /* of compiled code, as --kv rounds it, which the interpreter follows */
        float **first;     /* [noutput] bits of the first target; NULL before */
        const char *first_target;
        TestRun known[MAX_TARGETS][WAYS]; /* [target][When]: with no pass off; the outputs are ours */
        int ranks;                        /* of an engine; 0: there is one process */
        PassId without; /* --each-pass: the pass that is off; PASS_COUNT: none besides those of the options */
        int done, steps; /* for the bar */
        bool caches;     /* states of the compiled code are window caches */
        double bound;    /* of compiled code */
        bool failed;
} Verify;

/* The largest error of output i. */
static double output_error(const Verify *v, const Tensor *expected, int i, Values found)
{
        const Graph *g = v->m.graph;
        const Type *t = &v->oracle->output[i].node->type;
        OutputShape shape = output_shape(g, &g->output[i].node->type, v->size);
        int64_t at;
        /* in columns after a row's position a call of compiled code has nothing */
        return largest_error(found, expected[i].data, type_count(t, v->size),
                             isnan(g->output[i].later) ? &shape : NULL, &at);
}

/* --- the interpreter ---------------------------------------------------------------------------------------------- */

static void free_tensors(Tensor *t, int n)
{
        for (int i = 0; t && i < n; i++)
                tensor_free(&t[i]);
}

/* Elements of a position, or all where the tensor has none. */
static int64_t row_of(const Graph *g, const Type *t, const int64_t *size)
{
        return grows(g, t) ? type_count(t, size) / size[g->time] : type_count(t, size);
}

/* The rows of n positions from `at` on to their places among all. */
static void place_rows(const OutputShape *s, int64_t at, int64_t n, double later, const double *from,
                       double *all)
{
        int64_t width = s->columns + s->extra, columns = s->columns ? at + n + s->extra : 0;
        for (int64_t o = 0; o < s->outer; o++)
                for (int64_t r = 0; r < (s->rows ? n : 1) * s->middle; r++) {
                        double *to = all + (o * (s->rows ? s->rows : 1) * s->middle +
                                            at * (s->rows > 0) * s->middle + r) *
                                                   (s->columns ? width : 1) * s->inner;
                        for (int64_t k = 0; k < (s->columns ? width : 1) * s->inner; k++)
                                to[k] = s->columns && k >= columns * s->inner ? later : *from++;
                }
}

/* Where keys and values are rounded, as compiled code rounds them.  NULL: out of memory. */
static InterpState *state_of(const Verify *v, const Graph *g, KeptSource *follows)
{
        InterpState *state = interp_state_new(g);
        *follows = (KeptSource){(void *)&v->kept, kept_value};
        if (state && v->kept.state)
                interp_state_follow(state, follows);
        return state;
}

/* Positions from `at` on, `n` of them, into whole outputs. */
static const char *interpret_piece(const Verify *v, const Graph *g, const WeightSource *w, InterpState *state,
                                   int64_t at, int64_t n, double **whole)
{
        int64_t size[MAX_NAMED];
        Tensor *input = NEW_ARRAY(g->arena, Tensor, g->ninput),
               *output = NEW_ARRAY(g->arena, Tensor, g->noutput);
        memcpy(size, v->size, sizeof size);
        size[g->time] = n;
        size[g->past] = at;
        for (int i = 0; i < g->ninput; i++) {
                input[i] = v->input[i];
                if (!grows(g, &g->input[i].type))
                        continue;
                input[i].dim[0] = n;
                input[i].data += at * row_of(g, &g->input[i].type, v->size);
        }
        const char *error = interpret(g, size, input, w, state, output);
        for (int i = 0; i < g->noutput && !error; i++) {
                OutputShape shape = output_shape(g, &g->output[i].node->type, v->size);
                place_rows(&shape, at, n, g->output[i].later, output[i].data, whole[i]);
        }
        free_tensors(output, g->noutput);
        return error;
}

/* The largest error of the interpreter on g, its positions taken `piece` at a time. */
static const char *interpret_pieces(const Verify *v, const Graph *g, const WeightSource *w, int64_t piece,
                                    const Tensor *expected, double *error)
{
        KeptSource follows;
        double **whole = NEW_ARRAY(g->arena, double *, g->noutput);
        InterpState *state = state_of(v, g, &follows);
        const char *why = state ? NULL : no_memory;
        for (int i = 0; i < g->noutput; i++)
                whole[i] = NEW_ARRAY(g->arena, double, type_count(&v->oracle->output[i].node->type, v->size));
        int64_t n = g->past >= 0 ? v->size[g->time] : 1;
        for (int64_t at = 0; at < n && !why; at += piece)
                why = interpret_piece(v, g, w, state, at, at + piece < n ? piece : n - at, whole);
        for (int i = 0; i < g->noutput && !why; i++)
                *error = fmax(*error, output_error(v, expected, i, (Values){whole[i], NULL}));
        interp_state_free(state);
        return why;
}

/* The outputs of the interpreter on g, all at once; rounded: each of its values to float. */
static const char *interpret_whole(const Verify *v, const Graph *g, const WeightSource *w, bool rounded,
                                   Tensor *output)
{
        KeptSource follows;
        int64_t size[MAX_NAMED];
        InterpState *state = state_of(v, g, &follows);
        memcpy(size, v->size, sizeof size);
        if (g->past >= 0)
                size[g->past] = 0;
        const char *why =
                state ? (rounded ? interpret_rounded : interpret)(g, size, v->input, w, state, output)
                      : no_memory;
        interp_state_free(state);
        return why;
}

/* Their largest error. */
static const char *interpret_whole_error(const Verify *v, const Graph *g, const WeightSource *w, bool rounded,
                                         const Tensor *expected, double *error)
{
        Tensor *output = NEW_ARRAY(g->arena, Tensor, g->noutput);
        const char *why = interpret_whole(v, g, w, rounded, output);
        for (int i = 0; i < g->noutput && !why; i++)
                *error = fmax(*error, output_error(v, expected, i, (Values){output[i].data, NULL}));
        free_tensors(output, g->noutput);
        return why;
}

/* --- the report -------------------------------------------------------------------------------------- */

static void report_heading(const Verify *v)
{
        print_named_sizes(v->oracle, v->size);
        printf("%-40s%-9s%s\n", "", "error", "bits");
        fflush(stdout);
}

/* A code of 8 bits is one more or less where double and float round apart: such outputs are no measure of compiled code, which is checked
 * product by product in tests/blocks. */
static bool has_blocks(const Graph *g)
{
        for (int i = 0; i < g->nweight; i++)
                if (is_in_blocks(g->weight[i]->storage))
                        return true;
        return false;
}

static void report_error(Verify *v, const char *what, double error, double most, const char *bits)
{
        bool flips = has_blocks(v->oracle) && error > most && !isnan(error);
        bool good = error <= most || flips;
        v->failed |= !good;
        if (flips)
                bits = arena_printf(&v->m.arena,
                                    "%s%sactivations' codes differ between double and float: not judged",
                                    bits, *bits ? "; " : "");
        const char *rest =
                good ? bits
                     : arena_printf(&v->m.arena, "FAIL: more than %g%s%s", most, *bits ? "; " : "", bits);
        printf("%-40s%-*s%s\n", what, *rest ? 9 : 0,
               error == 0 ? "0" : arena_printf(&v->m.arena, "%.1e", error), rest);
        fflush(stdout);
}

static bool give_up(Verify *v, const char *what, const char *why)
{
        v->m.lacking |= lacks_memory(why);
        fprintf(stderr, "lathe verify: %s: %s\n", what, why);
        return false;
}

static void tick(Verify *v)
{
        progress("verifying", PROGRESS_STEPS, ++v->done, v->steps);
}

/* --- after each pass ------------------------------------------------------------------------------------- */

/* Those over graphs stand first in the table. */
enum { GRAPH_PASSES = PASS_phases + 1 };

/* The options, with another pass off. */
static Options options_of(const Verify *v)
{
        Options o = *v->o;
        o.ranks[0] = v->ranks;
        o.nranks = v->ranks > 0;
        if (v->without != PASS_COUNT)
                o.off[v->without] = true;
        return o;
}

/* The graph once more, with the first n passes done. */
static bool pass_graph(Verify *v, int n, Storage kv)
{
        Options o = options_of(v);
        o.kv = kv;
        o.explain = false;
        memset(o.dump, 0, sizeof o.dump);
        for (int i = n; i < GRAPH_PASSES; i++)
                o.off[i] = true;
        return model_elaborate(&v->m, v->o, v->o->model) && model_passes(&v->m, &o);
}

/* The interpreter after the first n graph passes; `pass` is the last of them, or the one left out. */
static bool verify_graph(Verify *v, int n, int pass)
{
        Checkpoint *checkpoint;
        const char *name = pass_table[pass].name;
        double error = 0;
        if (!pass_graph(v, n, STORAGE_F32))
                return false;
        WeightSource source = {open_weights(&v->m, v->o, &checkpoint), weights_read};
        if (!source.from)
                return false;
        const Graph *g = v->m.graph;
        const char *why = NULL, *how = "";
        if (pass == PASS_phases && !g->fed_separately) { /* it is as it was */
                checkpoint_close(checkpoint);
                tick(v);
                return true;
        }
        if (g->past >= 0) {
                why = interpret_pieces(v, g, &source, v->size[g->time], v->exact, &error);
                if (!why && is_sequential(g, v->size)) {
                        why = interpret_pieces(v, g, &source, TEST_PIECE, v->exact, &error);
                        how = ", in pieces too";
                }
        } else {
                why = interpret_whole_error(v, g, &source, false, v->exact, &error);
        }
        checkpoint_close(checkpoint);
        tick(v);
        if (why)
                return give_up(v, arena_printf(&v->m.arena, "the interpreter after %s", name), why);
        const char *what = v->without != PASS_COUNT
                                   ? arena_printf(&v->m.arena, "no %s: interpreted%s",
                                                  pass_table[v->without].name, *how ? ", in pieces" : "")
                                   : arena_printf(&v->m.arena, "interpreted, %s%s", name, how);
        report_error(v, what, error, most_pass_error, "");
        return true;
}

static bool verify_pass(Verify *v, int n)
{
        return v->o->off[n] || verify_graph(v, n + 1, n);
}

/* --- compiled -------------------------------------------------------------------------------------------- */

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

/* Whether a target's own calls, and this target and the first, give the same bits; *said is how, or where they differ. */
static bool compare_bits(Verify *v, const TestRun *t, const char *target, const char **said)
{
        Arena *a = &v->m.arena;
        const Graph *g = v->m.graph;
        if (t->run >= 0) {
                *said = arena_printf(a, "FAIL: %s[%" PRId64 "] is %a, by %s %a",
                                     output_name(&g->output[t->at_output]), t->at, (double)t->one,
                                     call_text(a, &test_run_case[t->run]), (double)t->other);
                return false;
        }
        for (int i = 0; v->first && i < g->noutput; i++) {
                int64_t n = type_count(&v->oracle->output[i].node->type, v->size);
                for (int64_t k = 0; k < n; k++) {
                        float x = v->first[i][k], y = t->output[i][k];
                        if (!memcmp(&x, &y, sizeof x) || (isnan(x) && isnan(y)))
                                continue;
                        *said = arena_printf(a, "FAIL: %s[%" PRId64 "] is %a, by %s %a",
                                             output_name(&g->output[i]), k, (double)y, v->first_target,
                                             (double)x);
                        return false;
                }
        }
        *said = v->first ? arena_printf(a, "as %s", v->first_target)
                : t->sequential && v->o->slots > 1
                        ? "the same by 1, 2 and 3 threads, whole, in pieces and in batches"
                : v->o->slots > 1 && g->past < 0 ? "the same by 1, 2 and 3 threads, alone and in batches"
                : t->sequential                  ? "the same by 1, 2 and 3 threads, whole and in pieces"
                                                 : "the same by 1, 2 and 3 threads";
        if (!v->first) {
                v->first = t->output;
                v->first_target = target;
        }
        return true;
}

/* The test run of the same program with no pass off is this one's too.  False: out of memory. */
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

static void free_outputs(const Verify *v, float **output)
{
        for (int i = 0; output && i < v->oracle->noutput; i++)
                free(output[i]);
}

/* ", 3 ranks" */
static const char *ranks_text(const Verify *v)
{
        return v->ranks ? arena_printf((Arena *)&v->m.arena, ", %d rank%s", v->ranks, v->ranks > 1 ? "s" : "")
                        : "";
}

static bool verify_code(Verify *v, const Target *target, When when)
{
        if (!is_tried(v->o, target, when))
                return true;
        TestRun *known = &v->known[target - target_table][when];
        TestRun t = {.size = v->size, .input = v->input, .known = v->ranks ? 0 : known->program};
        double error = 0;
        Options o = options_of(v);
        o.explain &= v->without == PASS_COUNT;
        bool good = pass_graph(v, GRAPH_PASSES, o.kv) && test_run_of_model(&v->m, &o, target, when, &t) &&
                    (!t.same || take_known(v, known, &t) || give_up(v, target->name, no_memory));
        v->caches |= t.caches;
        for (int i = 0; good && i < v->oracle->noutput; i++)
                error = fmax(error, output_error(v, v->expected, i, (Values){NULL, t.output[i]}));
        tick(v);
        if (good) {
                const char *name = test_run_text(&v->m.arena, target, when), *bits;
                bool agrees = compare_bits(v, &t, name, &bits);
                v->failed |= !agrees;
                bits = t.same && agrees ? "the same program" : bits;
                const char *what =
                        v->without != PASS_COUNT
                                ? arena_printf(&v->m.arena, "no %s: %s", pass_table[v->without].name, name)
                                : arena_printf(&v->m.arena, "%s%s%s",
                                               when == BY_STATEMENT ? "" : "compiled, ", name, ranks_text(v));
                report_error(v, what, error, v->bound, bits);
        }
        if (good && v->without == PASS_COUNT && !v->ranks)
                *known = t;
        else if (v->first != t.output)
                free_outputs(v, t.output);
        return good;
}

static bool verify_target(Verify *v, const Target *target)
{
        bool interpreted = v->without == PASS_COUNT || v->o->jit == JIT_CODE;
        return verify_code(v, target, AHEAD_OF_TIME) && verify_code(v, target, JUST_IN_TIME) &&
               (!interpreted || verify_code(v, target, BY_STATEMENT));
}

/* The bits of several ranks, each an instance of its own in this process. */
static bool verify_ranks(Verify *v, const Target *target)
{
        bool good = true;
        for (int i = 0; i < v->o->nranks && good; i++) {
                v->ranks = v->o->ranks[i];
                good = verify_code(v, target, JUST_IN_TIME);
        }
        v->ranks = 0;
        return good;
}

static void forget_bits(Verify *v)
{
        bool is_known = false;
        for (int i = 0; i < MAX_TARGETS; i++)
                for (int k = 0; k < WAYS; k++)
                        is_known |= v->known[i][k].output == v->first;
        if (!is_known)
                free_outputs(v, v->first);
        v->first = NULL;
}

/* What compiled code keeps of the keys and values of this graph: every target keeps the same bits. */
static bool keep_compiled(Verify *v)
{
        free(v->kept.state);
        v->kept.state = NULL;
        TestRun t = {.size = v->size, .input = v->input, .kept = &v->kept};
        Options o = options_of(v);
        o.explain = false;
        o.off[PASS_window] = true;
        memset(o.dump, 0, sizeof o.dump);
        When when = o.jit == JIT_CODE ? BY_STATEMENT : JUST_IN_TIME;
        bool good = test_run_of_model(&v->m, &o, target_find("native"), when, &t);
        free_outputs(v, good ? t.output : NULL);
        return good;
}

/* What compiled code is compared with where --kv rounds keys and values: the interpreter on the graph with state, which must give the
 * same in pieces.  It follows one program; one with its sums in another order is followed anew. */
static bool interpret_narrow(Verify *v)
{
        Checkpoint *checkpoint;
        double cost = 0, error = 0;
        if (!pass_graph(v, GRAPH_PASSES, v->o->kv) || (!v->o->interpreter && !keep_compiled(v)))
                return false;
        const Graph *g = v->m.graph;
        Tensor *narrow = NEW_ARRAY(g->arena, Tensor, g->noutput);
        WeightSource source = {open_weights(&v->m, v->o, &checkpoint), weights_read};
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
        report_error(v, what, error, most_pass_error, arena_printf(&v->m.arena, "%.1e from f32", cost));
        return true;
}

/* All of it once more with a pass off. */
static bool verify_without(Verify *v, PassId pass, const Target *const *target, int n)
{
        if (v->o->off[pass])
                return true;
        v->without = pass;
        bool good = pass_table[pass].kind != GRAPHS || verify_graph(v, GRAPH_PASSES, pass);
        if (v->o->kv && (pass == PASS_causal || pass == PASS_phases))
                return good; /* without the state there is nothing to round */
        if (v->o->kv && pass_table[pass].sums == REORDERED)
                good = good && interpret_narrow(v);
        for (int k = 0; k < n && good; k++)
                good = verify_target(v, target[k]);
        return good;
}

/* Each pass off in turn: first those that change no bit, then those without which bits are compared anew. */
static bool verify_each_pass(Verify *v, const Target *const *target, int n)
{
        bool good = true;
        for (int i = 0; i < PASS_COUNT && good; i++)
                if (pass_table[i].sums == KEPT && pass_table[i].kind != NEEDED)
                        good = verify_without(v, (PassId)i, target, n);
        for (int i = 0; i < PASS_COUNT && good; i++)
                if (pass_table[i].sums == REORDERED) {
                        forget_bits(v);
                        good = verify_without(v, (PassId)i, target, n);
                }
        return good;
}

/* --- the command ----------------------------------------------------------------------------------------- */

/* After a failure: how far off the interpreter is where each of its values is rounded to float.  If that is about as much,
 * the model asks for more than floats can give: a difference of almost equal values, or a choice between them.  Masks
 * hide what floats cannot hold, as in compiled code: so it is the graph after the causal pass. */
static void report_rounded(Verify *v)
{
        Checkpoint *checkpoint;
        double error = 0;
        v->without = PASS_COUNT;
        if (!pass_graph(v, v->o->kv ? GRAPH_PASSES : PASS_causal + 1, v->o->kv))
                return;
        WeightSource source = {open_weights(&v->m, v->o, &checkpoint), weights_read};
        if (!source.from)
                return;
        const char *why = interpret_whole_error(v, v->m.graph, &source, true, v->expected, &error);
        if (why)
                give_up(v, "the interpreter in floats", why);
        else
                printf("%-40s%.1e\n", "the interpreter itself, in floats", error);
        checkpoint_close(checkpoint);
}

static bool interpret_oracle(Verify *v)
{
        Checkpoint *checkpoint;
        WeightSource source = {open_weights(&v->m, v->o, &checkpoint), weights_read};
        v->exact = v->expected = NEW_ARRAY(&v->m.arena, Tensor, v->oracle->noutput);
        const char *why =
                source.from ? interpret(v->oracle, v->size, v->input, &source, NULL, v->exact) : NULL;
        checkpoint_close(checkpoint);
        tick(v);
        return source.from && (!why || give_up(v, "the interpreter", why));
}

/* -n: a sequence of the model may have so many positions. */
static bool length_fits(const Verify *v)
{
        const Graph *g = v->oracle;
        int64_t most = 0;
        for (int i = 0; i < g->nnamed; i++)
                most = g->named[i].bound > most ? g->named[i].bound : most;
        if (!v->o->given['n'] || (v->o->steps >= 1 && v->o->steps <= most))
                return true;
        fprintf(stderr,
                most ? "lathe verify: -n %" PRId64 ": %s takes 1 to %" PRId64 " positions\n"
                     : "lathe verify: -n %" PRId64 ": %s takes no sequence\n",
                v->o->steps, g->name, most);
        return false;
}

static int verify_model(Verify *v)
{
        const Target *target[MAX_TARGETS];
        v->oracle = v->m.graph;
        if (!length_fits(v))
                return WRONG_INPUT;
        hashed_sizes(v->oracle, v->o->steps == INT64_MAX ? HASHED_POSITIONS : v->o->steps, v->size);
        v->input = NEW_ARRAY(&v->m.arena, Tensor, v->oracle->ninput);
        if (!hashed_inputs(v->oracle, v->size, v->input)) {
                fprintf(stderr, "lathe verify: out of memory\n");
                return WRONG_ENVIRONMENT;
        }
        int n = choose_targets(&v->m.arena, v->o, target);
        if (n < 0)
                return WRONG_ENVIRONMENT;
        int test_runs = 0;
        for (int i = 0; i < n; i++)
                for (When when = 0; when < WAYS; when++)
                        test_runs += is_tried(v->o, target[i], when);
        v->steps = 1 + GRAPH_PASSES + test_runs + (n ? v->o->nranks : 0) +
                   (v->o->each_pass ? GRAPH_PASSES + PASS_COUNT * test_runs : 0);
        progress("verifying", PROGRESS_STEPS, 0, v->steps);
        if (!interpret_oracle(v))
                return failure_code(&v->m);
        report_heading(v);
        for (int i = 0; i < GRAPH_PASSES; i++)
                if (!verify_pass(v, i))
                        return failure_code(&v->m);
        if (v->o->kv && !interpret_narrow(v))
                return failure_code(&v->m);
        for (int i = 0; i < n; i++)
                if (!verify_target(v, target[i]))
                        return WRONG_ENVIRONMENT;
        if (n && !verify_ranks(v, target[0]))
                return failure_code(&v->m);
        if (v->o->each_pass && !verify_each_pass(v, target, n))
                return failure_code(&v->m);
        if (!v->o->each_pass && v->caches && !verify_without(v, PASS_window, target, 1))
                return failure_code(&v->m);
        When when = !n                                        ? AHEAD_OF_TIME
                    : is_tried(v->o, target[0], JUST_IN_TIME) ? JUST_IN_TIME
                    : v->o->jit == JIT_CODE                   ? BY_STATEMENT
                                                              : AHEAD_OF_TIME;
        const Options alone = options_of(v);
        if (n && !v->o->each_pass &&
            !verify_table(&v->m, &alone, target[0], when, v->size, v->input, v->bound))
                return WRONG_ENVIRONMENT;
        if (v->failed)
                report_rounded(v);
        return v->failed ? WRONG_INPUT : DONE;
}

int verify_command(const Options *o)
{
        Verify v = {.o = o, .without = PASS_COUNT, .bound = o->bound > 0 ? o->bound : most_error};
        int code;
        bool fits = o->interpreter
                            ? options_fit(o, "verify --interpreter", o->against ? "mDwabi0" : "mDwiAyn0")
                    : o->against   ? options_fit(o, "verify --against", "mDwTx0kcabJLh")
                    : o->text_file ? options_fit(o, "verify --text", "mDwsZtQr5RT1x0kcnJhV")
                                   : true;
        if (!fits || !cache_has_effect(o, "verify"))
                return WRONG_USAGE;
        if (o->against)
                return verify_against(o);
        if (o->text_file)
                return verify_accuracy(o);
        if (model_load(&v.m, o, &code))
                code = verify_model(&v);
        free_tensors(v.input, v.oracle ? v.oracle->ninput : 0);
        free_tensors(v.exact, v.oracle ? v.oracle->noutput : 0);
        if (v.expected != v.exact)
                free_tensors(v.expected, v.oracle->noutput);
        free(v.kept.state);
        forget_bits(&v);
        for (int i = 0; i < MAX_TARGETS; i++)
                for (int k = 0; k < WAYS; k++)
                        free_outputs(&v, v.known[i][k].output);
        model_free(&v.m);
        return code;
}
