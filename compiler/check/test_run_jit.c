/* Test runs of code in this process: the calls of the emitted program, through an engine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

typedef struct {
        const Plan *plan;
        const Graph *g;
        TestRun *test_run;
        Engine *engine;
        void **input;          /* [ninput]: floats or int32_t */
        const void **input_at; /* inputs of the current call */
        float **output, **output_at;
        void **together; /* [ninput]: inputs of a batch, in rows */
        float **given;   /* [noutput]: outputs of a batch */
        int half;        /* every second output is requested, from this one on; -1: all */
} TestRunJit;

static int64_t jit_elements(const TestRunJit *t, const Type *type)
{
        return type_count(type, t->test_run->size);
}

static int64_t positions(const TestRunJit *t)
{
        return t->g->time >= 0 ? t->test_run->size[t->g->time] : 1;
}

/* Whether the outer axis is positions.  An output may have more rows than positions: a call gives the rows of as
 * many positions before its own again. */
static bool jit_has_rows(const Graph *g, const Type *type)
{
        return type->rank > 0 && counts_positions(g, type->dim[0]);
}

/* Elements of one position; all elements if it does not run over positions. */
static int64_t jit_row_elements(const TestRunJit *t, const Type *type)
{
        return jit_has_rows(t->g, type) ? jit_elements(t, type) / (positions(t) + type->dim[0].fixed)
                                        : jit_elements(t, type);
}

bool test_run_jit_runs(const Target *t)
{
        return has_kernels(t) && target_runs_here(t);
}

static bool jit_take_outputs(TestRunJit *t)
{
        for (int i = 0; i < t->g->noutput; i++) {
                t->output[i] =
                        malloc(((size_t)jit_elements(t, &t->g->output[i].node->type) + 1) * sizeof(float));
                if (!t->output[i])
                        return false;
        }
        return true;
}

/* Allocates a batch of whole sequences. */
static bool take_batch_wholes(TestRunJit *t)
{
        const int slots = t->plan->slots;
        bool good = true;
        for (int i = 0; i < t->g->ninput; i++)
                good &= (t->together[i] = malloc((size_t)(slots * jit_elements(t, &t->g->input[i].type) + 1) *
                                                 4)) != NULL;
        for (int i = 0; i < t->g->noutput; i++)
                good &= (t->given[i] = malloc(
                                 (size_t)(slots * jit_elements(t, &t->g->output[i].node->type) + 1) * 4)) !=
                        NULL;
        return good;
}

/* Allocates the rows of a batch. */
static bool take_batch_rows(TestRunJit *t)
{
        if (has_whole_sequences(t->plan))
                return take_batch_wholes(t);
        int64_t rows = t->plan->rows;
        bool good = true;
        for (int i = 0; i < t->g->ninput; i++)
                good &= (t->together[i] = malloc(
                                 (size_t)(rows * jit_row_elements(t, &t->g->input[i].type) + 1) * 4)) != NULL;
        for (int i = 0; i < t->g->noutput; i++)
                good &= (t->given[i] = malloc(
                                 (size_t)(rows * jit_row_elements(t, &t->g->output[i].node->type) + 1) *
                                 4)) != NULL;
        return good;
}

/* The inputs of a call. */
static void fill_inputs(TestRunJit *t, TestRunCall call)
{
        for (int i = 0; i < t->g->ninput; i++) {
                const Input *in = &t->g->input[i];
                int64_t n = jit_elements(t, &in->type);
                float *real = t->input[i];
                int32_t *whole = t->input[i];
                for (int64_t k = 0; k < n; k++)
                        if (in->type.dtype == REAL)
                                real[k] = (float)test_run_input(t->g, t->test_run, call, i, k);
                        else
                                whole[k] = (int32_t)test_run_input(t->g, t->test_run, call, i, k);
        }
}

static bool jit_take_inputs(TestRunJit *t)
{
        for (int i = 0; i < t->g->ninput; i++) {
                t->input[i] = malloc((size_t)jit_elements(t, &t->g->input[i].type) * 4 + 4);
                if (!t->input[i])
                        return false;
        }
        fill_inputs(t, TEST_WHOLE);
        return jit_take_outputs(t) && (t->plan->slots == 1 || take_batch_rows(t));
}

/* Positions are an inner axis, so that the results of pieces are split, and not compared. */
static bool is_dense(const Graph *g, const Type *type)
{
        for (int a = 1; a < type->rank && g->time >= 0; a++)
                if (type->dim[a].per[g->time])
                        return true;
        return false;
}

/* Whether it can be given only from a row on: neither pages of each position, whose inner size is that of the call, nor
 * rows before the call's. */
static bool has_tail(const TestRunJit *t, const Type *type)
{
        return !type_is_dense(type) && !(jit_has_rows(t->g, type) && type->dim[0].fixed > 0);
}

/* Whether rows of a piece have the same layout as in the whole call. */
static bool jit_is_given(const TestRunJit *t, const Type *type, int64_t n, int64_t first)
{
        return n - first == positions(t) || (!is_dense(t->g, type) && (first == 0 || has_tail(t, type)));
}

/* Runs n positions from `at` on, with the outputs from `first` on requested. */
static const char *jit_piece(TestRunJit *t, int64_t at, int64_t n, int64_t first)
{
        const Graph *g = t->g;
        for (int i = 0; i < g->ninput; i++) {
                const Type *type = &g->input[i].type;
                t->input_at[i] =
                        (const char *)t->input[i] + 4 * (grows(g, type) ? at * jit_row_elements(t, type) : 0);
        }
        for (int i = 0; i < g->noutput; i++) {
                const Type *type = &g->output[i].node->type;
                bool asked = t->half < 0 || i % 2 == t->half;
                t->output_at[i] = asked && first < n && jit_is_given(t, type, n, first)
                                          ? t->output[i] + (jit_has_rows(g, type)
                                                                    ? (at + first) * jit_row_elements(t, type)
                                                                    : 0)
                                          : NULL;
        }
        EngineCall call = {t->input_at, t->output_at, t->test_run->size};
        return g->past >= 0 ? engine_advance(t->engine, &call, n, first) : engine_forward(t->engine, &call);
}

/* Copies the inputs of n positions from `at` on, or in reverse from the last but `at`, to rows of a batch. */
static void jit_join_calls(TestRunJit *t, int64_t to, int64_t at, int64_t n, bool backwards)
{
        for (int i = 0; i < t->g->ninput; i++) {
                const Type *type = &t->g->input[i].type;
                int64_t size = grows(t->g, type) ? jit_row_elements(t, type) : 0;
                for (int64_t k = 0; k < n; k++) {
                        int64_t from = backwards ? positions(t) - 1 - at - k : at + k;
                        memcpy((char *)t->together[i] + 4 * (to + k) * size,
                               (char *)t->input[i] + 4 * from * size, (size_t)(4 * size));
                }
                t->input_at[i] = size ? t->together[i] : t->input[i];
        }
}

typedef struct {
        int64_t *at;  /* [slots]: number of positions taken */
        int shown;    /* the slot whose outputs are compared */
        int64_t n;    /* its positions in this call */
        int64_t from; /* its outputs follow this many rows */
} TestRunBatch;

/* Each slot takes positions at its own pace: as in test_run.h of the runtime. */
static int plan_batch(TestRunJit *t, TestRunBatch *b, int call, EngineSequence *s)
{
        int slots = t->plan->slots, n = 0;
        int64_t rows = 0, wanted = 0;
        b->n = 0;
        for (int i = 0; i < slots; i++) {
                int slot = (i + call) % slots;
                int64_t pace = 1 + (call + slot) % 3 * (5 * slot + call) % TEST_PIECE,
                        rest = positions(t) - b->at[slot], room = t->plan->rows - rows;
                pace = pace < rest ? pace : rest;
                pace = pace < room ? pace : room;
                if (pace == 0)
                        continue;
                int64_t first = slot == b->shown ? 0 : call % 2 ? pace : pace - 1;
                if (slot == b->shown) {
                        b->n = pace;
                        b->from = wanted;
                }
                s[n++] = (EngineSequence){slot, pace, first};
                jit_join_calls(t, rows, b->at[slot], pace, slot != b->shown);
                rows += pace;
                wanted += pace - first;
        }
        return n;
}

static void take_batch(TestRunJit *t, TestRunBatch *b, const EngineSequence *s, int n)
{
        for (int i = 0; i < t->g->noutput; i++) {
                int64_t size = jit_row_elements(t, &t->g->output[i].node->type);
                memcpy(t->output[i] + b->at[b->shown] * size, t->given[i] + b->from * size,
                       (size_t)(b->n * size) * sizeof(float));
        }
        for (int i = 0; i < n; i++)
                b->at[s[i].slot] += s[i].n;
}

/* Runs one position of a slot, which takes the separately fed inputs too. */
static const char *begin_slot(TestRunJit *t, TestRunBatch *b, int slot)
{
        const char *error = engine_select(t->engine, slot);
        if (!error)
                error = engine_rewind(t->engine, 0);
        if (!error && t->g->fed_separately) {
                error = jit_piece(t, 0, 1, slot != b->shown);
                b->at[slot] = 1;
        }
        return error;
}

static const char *run_batch(TestRunJit *t, int shown)
{
        Arena *a = t->g->arena;
        int slots = t->plan->slots, n = 1;
        TestRunBatch b = {.at = NEW_ARRAY(a, int64_t, slots), .shown = shown};
        EngineSequence *s = NEW_ARRAY(a, EngineSequence, slots);
        const char *error = NULL;
        engine_forget(t->engine);
        for (int i = slots - 1; i >= 0 && !error; i--)
                error = begin_slot(t, &b, i);
        for (int call = 0; n && !error; call++) {
                n = plan_batch(t, &b, call, s);
                error = engine_batch(t->engine, s, n,
                                     &(EngineCall){t->input_at, t->given, t->test_run->size});
                if (!error)
                        take_batch(t, &b, s, n);
        }
        return error;
}

/* Appends the inputs of a whole sequence of that size, in order or in reverse. */
static void put_whole(TestRunJit *t, int64_t *at, const int64_t *size, bool backwards)
{
        for (int i = 0; i < t->g->ninput; i++) {
                const Type *type = &t->g->input[i].type;
                int64_t n = type_count(type, size), all = jit_elements(t, type);
                for (int64_t k = 0; k < n; k++)
                        memcpy((char *)t->together[i] + 4 * (at[i] + k),
                               (char *)t->input[i] + 4 * (backwards ? all - 1 - k : k), 4);
                at[i] += n;
                t->input_at[i] = t->together[i];
        }
}

/* Runs whole sequences of several sizes in one call. */
static const char *jit_run_wholes(TestRunJit *t, int shown)
{
        Arena *a = t->g->arena;
        const int slots = t->plan->slots, which = varying_size(t->g);
        EngineSequence *s = NEW_ARRAY(a, EngineSequence, slots);
        int64_t *at = NEW_ARRAY(a, int64_t, t->g->ninput), *before = NEW_ARRAY(a, int64_t, t->g->noutput);
        int64_t size[MAX_NAMED] = {0};
        int n = 0;
        engine_forget(t->engine);
        for (int i = 0; i < slots; i++) {
                s[n].n = test_run_length(t->plan, t->test_run, i, shown);
                if (which >= 0)
                        size[which] = s[n].n;
                for (int o = 0; o < t->g->noutput && i < shown && s[n].n; o++)
                        before[o] += type_count(&t->g->output[o].node->type, size);
                if (s[n].n)
                        put_whole(t, at, size, i != shown);
                n += s[n].n > 0;
        }
        const char *error =
                engine_batch(t->engine, s, n, &(EngineCall){t->input_at, t->given, t->test_run->size});
        for (int o = 0; o < t->g->noutput && !error; o++)
                memcpy(t->output[o], t->given[o] + before[o],
                       (size_t)jit_elements(t, &t->g->output[o].node->type) * sizeof(float));
        return error;
}

/* Start of the last third of the positions. */
static int64_t tail(const TestRunJit *t)
{
        return positions(t) - (positions(t) + 2) / 3;
}

static const char *run_halves(TestRunJit *t)
{
        const char *error = NULL;
        for (t->half = 0; t->half < 2 && !error; t->half++) {
                error = engine_rewind(t->engine, 0);
                engine_forget(t->engine);
                error = error ? error : jit_piece(t, 0, positions(t), 0);
        }
        t->half = -1;
        return error;
}

static const char *run_calls(TestRunJit *t, TestRunCall call)
{
        int64_t n = positions(t), step = call == TEST_PIECES ? TEST_PIECE : call == TEST_STEPS ? 1 : n;
        const char *error = engine_rewind(t->engine, 0);
        engine_forget(t->engine);
        if (call == TEST_PREFILL_STEP) {
                if (!error && n > 1)
                        error = jit_piece(t, 0, n - 1, n - 1);
                return error ? error : jit_piece(t, n - 1, 1, 0);
        }
        if (call == TEST_TAIL)
                return error ? error : jit_piece(t, 0, n, tail(t));
        for (int64_t at = 0; at < n && !error; at += step)
                error = jit_piece(t, at, n - at < step ? n - at : step, 0);
        return error;
}

/* Compares with the first run; records the first difference. */
static void jit_compare(TestRunJit *t, int run)
{
        TestRun *test_run = t->test_run;
        for (int i = 0; i < t->g->noutput && test_run->run < 0; i++) {
                const Type *type = &t->g->output[i].node->type;
                int64_t n = jit_elements(t, type), k = 0;
                TestRunCall call = test_run_case[run].call;
                bool whole = call == TEST_WHOLE || call == TEST_HALVES;
                if (!whole && is_dense(t->g, type))
                        continue;
                if (call == TEST_TAIL && !has_tail(t, type))
                        continue;
                if (call == TEST_PREFILL_STEP && jit_has_rows(t->g, type))
                        k = (positions(t) - 1) * jit_row_elements(t, type);
                if (call == TEST_TAIL && jit_has_rows(t->g, type))
                        k = tail(t) * jit_row_elements(t, type);
                if (is_later_spoilt(call) && jit_has_rows(t->g, type))
                        n = positions(t) / 2 * jit_row_elements(t, type);
                for (; k < n; k++) {
                        float one = test_run->output[i][k], other = t->output[i][k];
                        if (!memcmp(&one, &other, sizeof one) || (isnan(one) && isnan(other)))
                                continue;
                        test_run->run = run;
                        test_run->at_output = i;
                        test_run->at = k;
                        test_run->one = one;
                        test_run->other = other;
                        break;
                }
        }
}

/* Moves the first run's outputs to the test run, and allocates others. */
static bool keep_first(TestRunJit *t)
{
        for (int i = 0; i < t->g->noutput; i++) {
                t->test_run->output[i] = t->output[i];
                t->output[i] =
                        calloc((size_t)jit_elements(t, &t->g->output[i].node->type) + 1, sizeof(float));
                if (!t->output[i])
                        return false;
        }
        return true;
}

static const char *jit_keep_state(TestRunJit *t)
{
        KeptState *kept = t->test_run->kept;
        const size_t size = (size_t)t->plan->bytes.state, pool = (size_t)t->plan->bytes.pool;
        if (!kept)
                return NULL;
        *kept = (KeptState){t->plan, malloc(size + pool + 1)};
        if (!kept->state)
                return no_memory;
        memcpy(kept->state, engine_state(t->engine), size);
        memcpy(kept->state + FLOATS(size), engine_arena(t->engine) + FLOATS(pool_offset(t->plan)), pool);
        return NULL;
}

static const char *jit_run_all(TestRunJit *t)
{
        const char *error = jit_take_inputs(t) ? NULL : no_memory;
        t->test_run->run = -1;
        for (int i = 0; i < test_run_cases && !error; i++) {
                if (i > 0 && t->test_run->whole_only)
                        break;
                if (!test_run_applies(&test_run_case[i], t->plan, t->test_run))
                        continue;
                if (is_later_spoilt(test_run_case[i].call)) /* the last cases */
                        fill_inputs(t, test_run_case[i].call);
                for (int k = 0; k < t->g->noutput; k++) /* NaN, so that missing stores are detected */
                        memset(t->output[k], 0xff,
                               (size_t)jit_elements(t, &t->g->output[k].node->type) * sizeof(float));
                error = engine_set_threads(t->engine, test_run_threads(t->test_run, &test_run_case[i]));
                if (!error)
                        error = test_run_case[i].call == TEST_BATCH
                                        ? (has_whole_sequences(t->plan) ? jit_run_wholes : run_batch)(
                                                  t, (test_run_case[i].threads - 1) % t->plan->slots)
                                : test_run_case[i].call == TEST_HALVES ? run_halves(t)
                                                                       : run_calls(t, test_run_case[i].call);
                if (!error && i == 0)
                        error = keep_first(t) ? jit_keep_state(t) : no_memory;
                else if (!error)
                        jit_compare(t, i);
        }
        return error;
}

static int max_threads(const TestRun *t)
{
        int most = 1;
        for (int i = 0; i < test_run_cases; i++)
                most = test_run_threads(t, &test_run_case[i]) > most ? test_run_threads(t, &test_run_case[i])
                                                                     : most;
        return most;
}

const char *test_run_engine(Plan *p, const float *weights, JitMode mode, TestRun *result)
{
        const Graph *g = p->graph;
        TestRunJit t = {.plan = p,
                        .g = g,
                        .test_run = result,
                        .half = -1,
                        .input = NEW_ARRAY(g->arena, void *, g->ninput),
                        .input_at = NEW_ARRAY(g->arena, const void *, g->ninput),
                        .output = NEW_ARRAY(g->arena, float *, g->noutput),
                        .output_at = NEW_ARRAY(g->arena, float *, g->noutput),
                        .together = NEW_ARRAY(g->arena, void *, g->ninput),
                        .given = NEW_ARRAY(g->arena, float *, g->noutput)};
        const char *error = NULL;
        t.engine = engine_new(p, weights, max_threads(result), mode, &error);
        if (t.engine)
                error = engine_sleep(t.engine);
        if (t.engine && !error)
                error = engine_share_weights(t.engine);
        if (t.engine && !error)
                error = jit_run_all(&t);
        engine_free(t.engine);
        for (int i = 0; i < g->ninput; i++)
                free(t.input[i]);
        for (int i = 0; i < g->ninput; i++)
                free(t.together[i]);
        for (int i = 0; i < g->noutput; i++) {
                free(t.output[i]);
                free(t.given[i]);
        }
        return error;
}
