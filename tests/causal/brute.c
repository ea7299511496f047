/* Graphs run whole, changed, cut short and in chunks: see brute.h. */
#include "brute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const WeightSource test_weights = {NULL, test_weight, NULL};

double *random_input(uint64_t seed)
{
        double *x = malloc(LENGTH * WIDTH * sizeof *x);
        for (int i = 0; i < LENGTH * WIDTH; i++)
                x[i] = test_random(&seed);
        return x;
}

/* All wanted nodes on the first n rows of x. */
static void run(const Graph *g, const double *x, int64_t n, Node *const *want, int nwant, Tensor *out)
{
        int64_t size[MAX_NAMED] = {n};
        Tensor in = {.rank = 2, .dim = {n, WIDTH}, .data = (double *)x};
        const char *error = interpret_nodes(g, size, &in, &test_weights, NULL, want, nwant, out);
        if (error) {
                fprintf(stderr, "%s: %s\n", g->name, error);
                abort();
        }
}

static bool same(double a, double b)
{
        return a == b || (a != a && b != b);
}

/* x with all rows after t changed */
static double *changed(const double *x, int64_t t)
{
        double *y = random_input((uint64_t)t + 77);
        memcpy(y, x, (size_t)(t + 1) * WIDTH * sizeof *y);
        return y;
}

/* The growing axis of an output; -1: none. */
static int growing_axis(const Node *n)
{
        for (int axis = 0; axis < n->type.rank; axis++)
                if (n->type.dim[axis].per[0] != 0)
                        return axis;
        return -1;
}

static int64_t count_elements(const Tensor *t)
{
        int64_t n = 1;
        for (int axis = 0; axis < t->rank; axis++)
                n *= t->dim[axis];
        return n;
}

/* Counts index up; row-major. */
static void next_index(int64_t *index, const Tensor *t)
{
        for (int axis = t->rank - 1; axis >= 0; axis--) {
                if (++index[axis] < t->dim[axis])
                        return;
                index[axis] = 0;
        }
}

static int64_t flat(const int64_t *index, const Tensor *t)
{
        int64_t at = 0;
        for (int axis = 0; axis < t->rank; axis++)
                at = at * t->dim[axis] + index[axis];
        return at;
}

/* Whether all of b up to index t along the axis is as in a. */
static bool rows_equal(const Tensor *a, const Tensor *b, int axis, int64_t t)
{
        int64_t index[MAX_RANK] = {0}, n = count_elements(b);
        for (int64_t i = 0; i < n; i++, next_index(index, b))
                if ((axis < 0 || index[axis] <= t) && !same(a->data[flat(index, a)], b->data[i]))
                        return false;
        return true;
}

/* The outputs of a graph and their values. */
typedef struct {
        int n;
        Node *node[MOST_OUTPUTS];
        Tensor value[MOST_OUTPUTS];
} Outputs;

static Outputs outputs_of(const Graph *g)
{
        Outputs o = {.n = g->noutput};
        if (o.n > MOST_OUTPUTS) {
                fprintf(stderr, "%s: %d outputs; at most %d\n", g->name, o.n, MOST_OUTPUTS);
                abort();
        }
        for (int i = 0; i < o.n; i++)
                o.node[i] = g->output[i].node;
        return o;
}

static void outputs_free(Outputs *o)
{
        for (int i = 0; i < o->n; i++)
                tensor_free(&o->value[i]);
}

static Outputs run_outputs(const Graph *g, const double *x, int64_t rows)
{
        Outputs o = outputs_of(g);
        run(g, x, rows, o.node, o.n, o.value);
        return o;
}

static bool all_rows_equal(const Outputs *a, const Outputs *b, int64_t t)
{
        for (int i = 0; i < a->n; i++)
                if (!rows_equal(&a->value[i], &b->value[i], growing_axis(a->node[i]), t))
                        return false;
        return true;
}

static bool rows_stay(const Graph *g, const Outputs *whole, const double *x, int64_t rows, int64_t t)
{
        Outputs other = run_outputs(g, x, rows);
        bool stay = all_rows_equal(whole, &other, t);
        outputs_free(&other);
        return stay;
}

bool brute_causal(const Graph *g, const double *x)
{
        Outputs whole = run_outputs(g, x, LENGTH);
        bool causal = true;
        for (int64_t t = 0; causal && t < LENGTH - 1; t++) {
                double *y = changed(x, t);
                causal = rows_stay(g, &whole, y, LENGTH, t) && rows_stay(g, &whole, x, t + 1, t);
                free(y);
        }
        outputs_free(&whole);
        return causal;
}

/* --- facts against values --- */

static bool holds(const Clause *c, const int64_t *index, const int64_t *size)
{
        for (int i = 0; i < c->n; i++) {
                int64_t value = dim_value(c->term[i].constant, size);
                for (int axis = 0; axis < AXES; axis++)
                        value += c->term[i].coef[axis] * (axis < MAX_RANK ? index[axis] : 0);
                if (value < 0)
                        return false;
        }
        return true;
}

static bool cond_holds(const Cond *c, const int64_t *index, const int64_t *size)
{
        for (int i = 0; i < c->n; i++)
                if (holds(&c->clause[i], index, size))
                        return true;
        return false;
}

static double bound_value(const AffineBound *b, const int64_t *index, const int64_t *size)
{
        int64_t value = dim_value(b->affine.constant, size);
        for (int axis = 0; axis < MAX_RANK; axis++)
                value += b->affine.coef[axis] * index[axis];
        return (double)value / (double)b->den;
}

static bool within_cases(const Cases *c, double v, const int64_t *index, const int64_t *size)
{
        for (int i = 0; i < c->n; i++) {
                bool fits = holds(&c->at[i].when, index, size);
                for (int k = 0; fits && k < c->at[i].nlow; k++)
                        fits = v >= bound_value(&c->at[i].low[k], index, size) - 1e-9;
                for (int k = 0; fits && k < c->at[i].nhigh; k++)
                        fits = v <= bound_value(&c->at[i].high[k], index, size) + 1e-9;
                if (fits)
                        return true;
        }
        return false;
}

static unsigned kind(double v)
{
        return v != v     ? NOT_A_NUMBER
               : isinf(v) ? (v < 0 ? MINUS_INF : PLUS_INF)
               : v < 0    ? NEGATIVE
               : v > 0    ? POSITIVE
                          : ZERO;
}

static const char *check_value(const Fact *f, double v, const int64_t *index, const int64_t *size)
{
        if (!(f->kinds & kind(v)))
                return "kinds";
        if (f->constant && !same(v, f->value))
                return "constant";
        for (Special s = AT_0; s < NSPECIAL; s++)
                if (v != special_value[s] && v == v && !cond_holds(f->unless[s], index, size))
                        return "unless";
        if (f->integer && (v != floor(v) || !within_cases(f->integer, v, index, size)))
                return "integer";
        return NULL;
}

/* Whether element `index` may read what comes after t. */
static bool may_read(const Reach *r, const int64_t *index, int64_t t, const int64_t *size)
{
        for (int i = 0; i < r->n; i++)
                if ((r->at[i].axis == NO_AXIS ? 0 : index[r->at[i].axis]) + dim_value(r->at[i].high, size) >
                    t)
                        return true;
        return r->all;
}

/* Whether element `index` may read what comes at t or before. */
static bool may_read_back(const Reach *r, const int64_t *index, int64_t t, const int64_t *size)
{
        for (int i = 0; i < r->n; i++)
                if (r->at[i].open ||
                    (r->at[i].axis == NO_AXIS ? 0 : index[r->at[i].axis]) + dim_value(r->at[i].low, size) <=
                            t)
                        return true;
        return r->all;
}

/* Elements of b, that is a for other inputs, that differ though they may not. */
static const char *check_reach(const Fact *f, const Tensor *a, const Tensor *b, int64_t t, int back)
{
        int64_t index[MAX_RANK] = {0}, size[MAX_NAMED] = {LENGTH}, n = count_elements(b);
        for (int64_t i = 0; i < n; i++, next_index(index, b)) {
                bool inside = true;
                for (int axis = 0; axis < b->rank; axis++)
                        inside = inside && index[axis] < a->dim[axis];
                bool free =
                        back ? may_read_back(&f->reach, index, t, size) : may_read(&f->reach, index, t, size);
                if (inside && !free && !same(a->data[flat(index, a)], b->data[i]))
                        return back ? "low" : "high";
        }
        return NULL;
}

static bool report(const Graph *g, const Node *n, const char *what)
{
        if (!what)
                return true;
        printf("FAIL facts of %s: %s of %d %s\n", g->name, what, n->id, op_info[n->op].text);
        return false;
}

static bool check_node(const Graph *g, const Node *n, const Fact *f, const Tensor *t)
{
        int64_t index[MAX_RANK] = {0}, size[MAX_NAMED] = {LENGTH}, count = count_elements(t);
        for (int64_t i = 0; i < count; i++, next_index(index, t))
                if (!report(g, n, check_value(f, t->data[i], index, size)))
                        return false;
        return true;
}

/* x with rows up to t changed */
static double *changed_before(const double *x, int64_t t)
{
        double *y = random_input((uint64_t)t + 99);
        memcpy(y + (t + 1) * WIDTH, x + (t + 1) * WIDTH, (size_t)(LENGTH - t - 1) * WIDTH * sizeof *y);
        return y;
}

static bool compare_runs(const Graph *g, const Facts *f, Node *const *node, int n, const Tensor *whole,
                         const double *x, int64_t rows, int64_t t, int back)
{
        bool ok = true;
        Tensor *other = calloc((size_t)n, sizeof *other);
        run(g, x, rows, node, n, other);
        for (int i = 0; i < n; i++) {
                ok = ok &&
                     report(g, node[i], check_reach(&f->of[node[i]->id], &whole[i], &other[i], t, back));
                tensor_free(&other[i]);
        }
        free(other);
        return ok;
}

bool brute_facts(const Graph *g, const Facts *f, const double *x)
{
        int n = 0;
        bool ok = true;
        Node **node = calloc((size_t)g->top->nnode, sizeof *node);
        Tensor *whole = calloc((size_t)g->top->nnode, sizeof *whole);
        for (int i = 0; i < g->top->nnode; i++)
                if (g->top->node[i]->op != OP_REPEAT)
                        node[n++] = g->top->node[i];
        run(g, x, LENGTH, node, n, whole);
        for (int i = 0; i < n; i++)
                ok = ok && check_node(g, node[i], &f->of[node[i]->id], &whole[i]);
        for (int64_t t = 0; ok && t < LENGTH - 1; t++) {
                double *y = changed(x, t), *z = changed_before(x, t);
                ok = compare_runs(g, f, node, n, whole, y, LENGTH, t, 0) &&
                     compare_runs(g, f, node, n, whole, z, LENGTH, t, 1) &&
                     compare_runs(g, f, node, n, whole, x, t + 1, t, 0);
                free(y);
                free(z);
        }
        for (int i = 0; i < n; i++)
                tensor_free(&whole[i]);
        free(whole);
        free(node);
        return ok;
}

/* --- the state form against the whole --- */

static bool close_to(double a, double b)
{
        return a == b || fabs(a - b) <= 1e-12 * (1 + fabs(a)) || (a != a && b != b);
}

/* Whether rows from .. from + n - 1 of an output are those of the whole sequence. */
static bool step_equal(const Tensor *whole, const Tensor *out, int axis, int64_t from, int64_t n)
{
        int64_t index[MAX_RANK] = {0}, count = count_elements(out);
        for (int64_t i = 0; i < count; i++, next_index(index, out)) {
                int64_t at[MAX_RANK];
                memcpy(at, index, sizeof at);
                if (axis >= 0)
                        at[axis] += from;
                /* of an axis longer than time, elements beyond the rows given so far may still change */
                bool final = axis < 0 || index[axis] < n || from + n == LENGTH;
                if (final && !close_to(whole->data[flat(at, whole)], out->data[i]))
                        return false;
        }
        return true;
}

/* One call: rows from .. from + n - 1 of x; compared with the whole sequence's outputs. */
static bool step(const Graph *g, InterpState *state, const double *x, int64_t from, int64_t n,
                 const Outputs *whole)
{
        int64_t size[MAX_NAMED] = {0};
        size[g->time] = n;
        size[g->past] = from;
        Tensor in = {.rank = 2, .dim = {n, WIDTH}, .data = (double *)x + from * WIDTH};
        Outputs out = outputs_of(g);
        const char *error = interpret(g, size, &in, &test_weights, state, out.value);
        if (error) {
                printf("     %s: %s\n", g->name, error);
                return false;
        }
        bool ok = true;
        for (int i = 0; i < out.n; i++)
                ok = ok && step_equal(&whole->value[i], &out.value[i], growing_axis(whole->node[i]), from, n);
        outputs_free(&out);
        return ok;
}

static bool run_chunks(const Graph *g, const double *x, const int *chunk, const Outputs *whole)
{
        InterpState *state = interp_state_new(g);
        bool ok = true;
        int64_t from = 0;
        for (int i = 0; ok && from < LENGTH; i++) {
                int64_t n = chunk[i] < LENGTH - from ? chunk[i] : LENGTH - from;
                ok = step(g, state, x, from, n, whole);
                if (!ok)
                        printf("     %s: rows from %d on, %d of them\n", g->name, (int)from, (int)n);
                from += n;
        }
        interp_state_free(state);
        return ok;
}

static Node *new_node(Graph *g, Body *b, Op op, int nin, Node *const *in, Attr attr, Type type)
{
        return node_new(g, b, op, nin, in, attr, type, (Span){0}, NULL);
}

/* Rows of a read that lie further back than the state's window say are replaced by a large number. */
static Node *forget_rows(Graph *g, Body *b, Node *read)
{
        const StateVar *s = read->attr.state;
        Dim past = dim_named(g->past);
        Node *row = new_node(g, b, OP_INDEX, 0, NULL, (Attr){.dim = dim_fixed(s->window)},
                             (Type){INT, 1, {past}});
        Type shape = {.dtype = INT, .rank = read->type.rank};
        for (int i = 0; i < shape.rank; i++)
                shape.dim[i] = i == s->axis ? past : dim_fixed(1);
        row = view_reshape(g, b, row, &shape, (Span){0}, NULL);
        Node *length = new_node(g, b, OP_SIZE, 0, NULL, (Attr){.dim = past}, (Type){.dtype = INT});
        shape.dtype = BOOL;
        Node *old = new_node(g, b, OP_LESS, 2, (Node *[]){row, length}, (Attr){0}, shape);
        Node *garbage = build_number(g, b, 1000, REAL, (Span){0}, NULL);
        return new_node(g, b, OP_WHERE, 3, (Node *[]){old, garbage, read}, (Attr){0}, read->type);
}

/* What a window cache of the state's window would have lost is lost. */
static void forget_body(Graph *g, Body *b)
{
        Body before = *b;
        b->node = NULL;
        b->nnode = b->cap = 0;
        for (int i = 0; i < before.nnode; i++) {
                Node *n = before.node[i];
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        forget_body(g, n->attr.region->body[k]);
                if (n->op == OP_APPEND && n->attr.state->window > 0)
                        n->in[0] = forget_rows(g, b, n->in[0]);
                body_append(g, b, n);
        }
}

bool brute_steps(const Graph *g, Graph *steps, const double *x)
{
        forget_body(steps, steps->top);
        static const int chunks[][LENGTH] = {
                {1, 1, 1, 1, 1, 1, 1, 1, 1}, {LENGTH}, {3, 3, 3}, {5, 1, 2, 9}, {2, 6, 1},
        };
        Outputs whole = run_outputs(g, x, LENGTH);
        bool ok = true;
        for (size_t i = 0; ok && i < sizeof chunks / sizeof *chunks; i++)
                ok = run_chunks(steps, x, chunks[i], &whole);
        outputs_free(&whole);
        return ok;
}

/* --- later rows that hold anything --- */

/* All rows at once. */
static Outputs run_steps(const Graph *steps, const double *x)
{
        Outputs out = outputs_of(steps);
        InterpState *state = interp_state_new(steps);
        int64_t size[MAX_NAMED] = {0};
        size[steps->time] = LENGTH;
        Tensor in = {.rank = 2, .dim = {LENGTH, WIDTH}, .data = (double *)x};
        const char *error = interpret(steps, size, &in, &test_weights, state, out.value);
        if (error) {
                fprintf(stderr, "%s: %s\n", steps->name, error);
                abort();
        }
        interp_state_free(state);
        return out;
}

/* x with all rows after t of +bad or -bad, or the one in some columns and x in others */
static double *spoilt(const double *x, int64_t t, double bad, int way)
{
        double *y = changed(x, t);
        for (int64_t i = (t + 1) * WIDTH; i < LENGTH * WIDTH; i++)
                if (way < 2 || i % WIDTH % 2)
                        y[i] = way % 2 ? -bad : bad;
        return y;
}

bool brute_any_values(const Graph *steps, const double *x)
{
        static const double bad[] = {800, 1e30, 1e200, INFINITY, NAN};
        Outputs whole = run_steps(steps, x);
        bool ok = true;
        for (int64_t i = 0; ok && i < (LENGTH - 1) * 20; i++) {
                double *y = spoilt(x, i / 20, bad[i % 5], (int)(i / 5 % 4));
                Outputs other = run_steps(steps, y);
                ok = all_rows_equal(&whole, &other, i / 20);
                if (!ok)
                        printf("     %s: rows up to %d change where later ones are %g, way %d\n", steps->name,
                               (int)i / 20, bad[i % 5], (int)(i / 5 % 4));
                outputs_free(&other);
                free(y);
        }
        outputs_free(&whole);
        return ok;
}
