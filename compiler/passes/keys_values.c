/* Finds the states that hold keys or values: those that only attention reads.
 *
 *      append k ── view ── matmul q k' ── scale, mask ── softmax ── matmul ── ..        k: keys
 *      append v ── view ───────────────────────────────────────────┘                    v: values
 *
 * Only these may be stored in fewer bits (StateVar.storage): they are most of a cache, and the kernels of
 * these products widen their operands.  Reads by taps do not count, since a tap changes nothing else.
 *
 * In 8-bit codes, adjacent elements of a head share a scale (StateVar.group).
 *
 * Expects a graph after all other passes.  Sets storage and group of each StateVar. */
#include "passes.h"

enum { BY_ATTENTION = 1, OTHERWISE = 2 };
typedef enum { NOT_ASKED, YES, NO } WeightsAnswer;

typedef struct {
        const Graph *g;
        const Uses *uses;
        WeightsAnswer *weights; /* by id: cached result of becomes_weights() */
        int64_t *width;         /* by state: common divisor of the widths of its heads; 0: unknown */
} HeadsReading;

/* Whether the value is also read by a body's end or as an output. */
static bool leaves(const HeadsReading *r, const Node *n)
{
        bool given = r->uses->leaves[n->id];
        for (int i = 0; i < r->g->noutput; i++)
                given |= r->g->output[i].node == n && !r->g->output[i].tap;
        return given;
}

static bool becomes_weights(const HeadsReading *r, const Node *n);

static bool find_weights(const HeadsReading *r, const Node *n)
{
        bool any = false;
        for (int i = 0; i < r->uses->nuser[n->id]; i++) {
                const Node *user = r->uses->user[n->id][i];
                if (is_tapped(r->g, user))
                        continue;
                bool passes = user->op == OP_VIEW || op_info[user->op].family == POINT,
                     ends = (user->op == OP_SOFTMAX && user->in[0] == n) ||
                            (user->op == OP_WHERE && scores_under(user));
                if (!ends && (!passes || !becomes_weights(r, user)))
                        return false;
                any = true;
        }
        return any && !leaves(r, n);
}

/* Whether all paths from n lead through elementwise ops to a softmax.  The answers are cached by node, since
 * there may be very many paths. */
static bool becomes_weights(const HeadsReading *r, const Node *n)
{
        if (r->weights[n->id] == NOT_ASKED)
                r->weights[n->id] = find_weights(r, n) ? YES : NO;
        return r->weights[n->id] == YES;
}

/* Whether axes *first to *last of a view count a contiguous run of elements of its input, in which all input
 * axes but the first are whole. */
static bool run_under(const Node *view, int *first, int *last)
{
        const View *v = view->attr.view;
        int begin = -1, end = -1;
        for (int i = 0; i < v->natom; i++) {
                const Atom *a = &v->atom[i];
                if (a->out < *first || a->out > *last || dim_is(a->size, 1))
                        continue;
                bool follows = begin < 0 ||
                               (a->axis == end + 1 && dim_equal(a->size, view->in[0]->type.dim[a->axis]));
                if (a->stride != 1 || !follows)
                        return false;
                begin = begin < 0 ? a->axis : begin;
                end = a->axis;
        }
        *first = begin;
        *last = end;
        return begin >= 0;
}

/* An axis of a product's right operand runs along the last axes of the state that it views: its size is the
 * width of a head. */
static void note_width(const HeadsReading *r, const Node *n, int axis)
{
        Dim width = n->type.dim[axis];
        int first = axis, last = axis;
        for (; n->op == OP_VIEW; n = n->in[0])
                if (!run_under(n, &first, &last))
                        return;
        int64_t *known = &r->width[n->attr.state->id];
        if (last == n->type.rank - 1 && dim_is_fixed(width))
                *known = common_divisor(width.fixed, *known);
}

/* Whether groups of n elements along the last axes begin and end with their indices. */
static bool groups_are_even(const Type *t, int64_t n)
{
        bool even = true;
        for (int a = t->rank - 1; n > 1 && even; a--) {
                const int64_t size = t->dim[a].fixed;
                even = n % size == 0 || size % n == 0;
                n /= size;
        }
        return even;
}

/* The number of elements that share a scale: 32 if it divides the width of a head, else 16, else the whole
 * width. */
static int64_t group_size_of(const Type *t, int64_t width)
{
        for (int64_t n = 32; n >= 16; n /= 2)
                if (width % n == 0 && groups_are_even(t, n))
                        return n;
        return width;
}

static void reading_keep_state(const HeadsReading *r, StateVar *s, Storage storage)
{
        int last = s->type.rank - 1;
        bool grouped = s->axis < last && dim_is_fixed(s->type.dim[last]);
        s->storage = storage == STORAGE_Q8 && !grouped ? STORAGE_F32 : storage;
        s->group = 0;
        if (s->storage != STORAGE_Q8)
                return;
        int64_t width = r->width[s->id] ? r->width[s->id] : s->type.dim[last].fixed, row = 1;
        for (int a = last; a > s->axis && dim_is_fixed(s->type.dim[a]); a--)
                row *= s->type.dim[a].fixed;
        s->group = group_size_of(&s->type, common_divisor(width, row));
}

static int read_by_user(const HeadsReading *r, const Node *n, const Node *user);

/* The kinds of reads of n, a state or a view of one, as a set. */
static int read_by_users(const HeadsReading *r, const Node *n)
{
        int as = leaves(r, n) ? OTHERWISE : 0;
        for (int i = 0; i < r->uses->nuser[n->id]; i++)
                if (!is_tapped(r->g, r->uses->user[n->id][i]))
                        as |= read_by_user(r, n, r->uses->user[n->id][i]);
        return as;
}

static int read_by_user(const HeadsReading *r, const Node *n, const Node *user)
{
        if (user->op == OP_VIEW)
                return read_by_users(r, user);
        if (user->op == OP_APPEND && user->in[0] == n)
                return 0;
        if (user->op != OP_MATMUL || user->in[0] == n)
                return OTHERWISE;
        bool values = scores_under(base_of(user->in[0])) != NULL;
        if (!values && !becomes_weights(r, user))
                return OTHERWISE;
        note_width(r, n, n->type.rank - (values ? 1 : 2));
        return BY_ATTENTION;
}

void keep_keys_values(Graph *g, Storage storage)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        HeadsReading r = {g, uses_of(&scratch, g), NEW_ARRAY(&scratch, WeightsAnswer, g->nnode),
                          NEW_ARRAY(&scratch, int64_t, g->nstate)};
        int *as = NEW_ARRAY(&scratch, int, g->nstate);
        for (int i = 0; i < r.uses->n; i++) {
                const Node *n = r.uses->all[i];
                if (n->op == OP_READ || n->op == OP_APPEND || n->op == OP_KEPT)
                        as[n->attr.state->id] |= read_by_users(&r, n);
        }
        for (int i = 0; i < g->nstate; i++)
                reading_keep_state(&r, g->state[i], as[i] == BY_ATTENTION ? storage : STORAGE_F32);
        arena_free(&scratch);
}
