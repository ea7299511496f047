/* lathe verify: the interpreter, on the elaborated graph and after each pass. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verify_private.h"

/* The largest error of output i. */
double output_error(const Verify *v, const Tensor *expected, int i, Values found)
{
        const Graph *g = v->m.graph;
        const Type *t = &v->oracle->output[i].node->type;
        OutputShape shape = output_shape(g, &g->output[i].node->type, v->size);
        int64_t at;
        /* compiled code does not compute columns after a row's position */
        return largest_error(found, expected[i].data, type_count(t, v->size),
                             isnan(g->output[i].later) ? &shape : NULL, &at);
}

void free_tensors(Tensor *t, int n)
{
        for (int i = 0; t && i < n; i++)
                tensor_free(&t[i]);
}

/* Elements of one position; all elements if the tensor has no positions. */
static int64_t elements_of_row(const Graph *g, const Type *t, const int64_t *size)
{
        return grows(g, t) ? type_count(t, size) / size[g->time] : type_count(t, size);
}

/* Copies the rows of n positions from `at` on to their offsets in the whole output. */
static void place_rows(const OutputShape *s, int64_t at, int64_t n, double later, const double *from,
                       double *all)
{
        int64_t width = s->columns + s->extra, columns = s->columns ? at + n + s->extra : 0;
        for (int64_t o = 0; o < s->outer; o++)
                for (int64_t r = 0; r < (s->rows ? s->front + n : 1) * s->middle; r++) {
                        int64_t whole = s->rows ? s->front + s->rows : 1, skipped = s->rows ? at : 0;
                        double *to = all + ((o * whole + skipped) * s->middle + r) *
                                                   (s->columns ? width : 1) * s->inner;
                        for (int64_t k = 0; k < (s->columns ? width : 1) * s->inner; k++)
                                to[k] = s->columns && k >= columns * s->inner ? later : *from++;
                }
}

/* State that rounds keys and values like compiled code.  NULL: out of memory. */
static InterpState *verified_state(const Verify *v, const Graph *g, KeptSource *follows)
{
        InterpState *state = interp_state_new(g);
        *follows = (KeptSource){(void *)&v->kept, kept_value};
        if (state && v->kept.state)
                interp_state_follow(state, follows);
        return state;
}

/* Runs n positions from `at` on, and stores them in whole outputs. */
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
                input[i].data += at * elements_of_row(g, &g->input[i].type, v->size);
        }
        const char *error = interpret(g, size, input, w, state, output);
        for (int i = 0; i < g->noutput && !error; i++) {
                OutputShape shape = output_shape(g, &g->output[i].node->type, v->size);
                place_rows(&shape, at, n, g->output[i].later, output[i].data, whole[i]);
        }
        free_tensors(output, g->noutput);
        return error;
}

/* The largest error of the interpreter on g, run in pieces of `piece` positions. */
const char *interpret_pieces(const Verify *v, const Graph *g, const WeightSource *w, int64_t piece,
                             const Tensor *expected, double *error)
{
        KeptSource follows;
        double **whole = NEW_ARRAY(g->arena, double *, g->noutput);
        InterpState *state = verified_state(v, g, &follows);
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

/* The outputs of the interpreter on g in one call.  rounded: each value is rounded to float. */
const char *interpret_whole(const Verify *v, const Graph *g, const WeightSource *w, bool rounded,
                            Tensor *output)
{
        KeptSource follows;
        int64_t size[MAX_NAMED];
        InterpState *state = verified_state(v, g, &follows);
        memcpy(size, v->size, sizeof size);
        if (g->past >= 0)
                size[g->past] = 0;
        const char *why =
                state ? (rounded ? interpret_rounded : interpret)(g, size, v->input, w, state, output)
                      : no_memory;
        interp_state_free(state);
        return why;
}

/* The largest error of these outputs. */
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

/* The options with another pass disabled. */
CommandOptions pass_options(const Verify *v)
{
        CommandOptions o = *v->o;
        o.ranks.count[0] = v->ranks;
        o.ranks.n = v->ranks > 0;
        o.chunk = v->chunk ? v->chunk : o.chunk;
        if (v->without != PASS_COUNT)
                o.off[v->without] = true;
        return o;
}

/* Frees the last graph with its plans and code.  With --kv, v->kept needs the plan of compiled code. */
static void forget_graph(Verify *v)
{
        if (v->o->kv)
                return;
        diag_clear(&v->m.diag);
        v->m.graph = v->m.oracle = NULL;
        arena_clear(&v->m.arena);
}

bool pass_graph(Verify *v, int n, Storage kv)
{
        CommandOptions o = pass_options(v);
        forget_graph(v);
        o.kv = kv;
        o.given[OPT_EXPLAIN] = 0;
        memset(o.dump, 0, sizeof o.dump);
        for (int i = n; i < GRAPH_PASSES; i++)
                o.off[i] |= pass_table[i].off == OPTIONAL;
        return model_elaborate(&v->m, v->o, v->o->model) && model_passes(&v->m, &o);
}

/* Tests the interpreter after the first n graph passes; `pass` is the last one, or the disabled one. */
bool verify_graph(Verify *v, int n, int pass)
{
        Checkpoint *checkpoint;
        const char *name = pass_table[pass].name;
        double error = 0;
        if (!pass_graph(v, n, STORAGE_F32))
                return false;
        if (v->without == PASS_COUNT && (v->idle[pass] = !v->m.changed[pass])) {
                verify_tick(v);
                return true;
        }
        WeightSource source = {open_weights(&v->m, v->o, &checkpoint), weights_read, weights_why};
        if (!source.from)
                return false;
        const Graph *g = v->m.graph;
        const char *why = NULL, *how = "";
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
        verify_tick(v);
        if (why)
                return give_up(v, arena_printf(&v->m.arena, "the interpreter after %s", name), why);
        const char *what = v->without != PASS_COUNT
                                   ? arena_printf(&v->m.arena, "no %s: interpreted%s",
                                                  pass_table[v->without].name, *how ? ", in pieces" : "")
                                   : arena_printf(&v->m.arena, "interpreted, %s%s", name, how);
        report_check(v, what, error, v->pass_bound, true, "");
        return true;
}

bool pass_is_verified(const Verify *v, int n)
{
        return !v->o->off[n] && pass_table[n].off != NEEDED;
}

bool verify_pass(Verify *v, int n)
{
        return !pass_is_verified(v, n) || verify_graph(v, n + 1, n);
}

/* After a failure: prints the error of the interpreter with each value rounded to float.  If it is
 * similar, the model needs more than the precision of floats: it subtracts almost equal values, or selects
 * between them.  Masks hide values that floats can't represent, as in compiled code, so this uses the
 * graph after the causal pass. */
void report_rounded(Verify *v)
{
        Checkpoint *checkpoint;
        double error = 0;
        v->without = PASS_COUNT;
        if (!pass_graph(v, v->o->kv ? GRAPH_PASSES : PASS_causal + 1, v->o->kv))
                return;
        WeightSource source = {open_weights(&v->m, v->o, &checkpoint), weights_read, weights_why};
        if (!source.from)
                return;
        const char *why = interpret_whole_error(v, v->m.graph, &source, true, v->expected, &error);
        if (why)
                give_up(v, "the interpreter in floats", why);
        else
                report_floats(v, error);
        checkpoint_close(checkpoint);
}

bool interpret_oracle(Verify *v)
{
        Checkpoint *checkpoint;
        WeightSource source = {open_weights(&v->m, v->o, &checkpoint), weights_read, weights_why};
        v->exact = v->expected = NEW_ARRAY(&v->lasting, Tensor, v->oracle->noutput);
        const char *why =
                source.from ? interpret(v->oracle, v->size, v->input, &source, NULL, v->exact) : NULL;
        checkpoint_close(checkpoint);
        verify_tick(v);
        return source.from && (!why || give_up(v, "the interpreter", why));
}
