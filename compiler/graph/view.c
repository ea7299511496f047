/* Views: construction and composition of the affine maps of VIEW nodes.
 *
 * A map is canonical, so that equal maps compare equal: adjacent atoms of one output axis that together
 * count through one input axis are merged; atoms of size 1 are dropped, unless an output axis has no other
 * atom, which then has axis -1; an atom without effect has axis -1 and stride 0.
 *
 * Two maps combine into one if the outer's atoms can be split where the inner's digits carry: each outer
 * atom counts in steps of a power of the inner's mixed radix, and no sum of digits overflows its position.
 * With named sizes the proof must hold for every size; if it fails, the view of a view stays two nodes. */
#include "graph.h"

#include <string.h>

/* Room for atoms of a map under construction, outermost first; more than a view may have. */
enum { DRAFT_ATOMS = 64 };
typedef struct {
        int natom;
        Atom atom[DRAFT_ATOMS];
        Dim offset[MAX_RANK];
} ViewDraft;

static bool add_atom(ViewDraft *d, Dim size, int out, int axis, int64_t stride)
{
        if (d->natom == DRAFT_ATOMS)
                return false;
        bool moves = axis >= 0 && stride != 0; /* an empty axis has stride 0 */
        d->atom[d->natom++] = (Atom){size, out, moves ? axis : -1, moves ? stride : 0};
        return true;
}

static void reverse_atoms(Atom *atom, int n)
{
        for (int i = 0; i < n - 1 - i; i++) {
                Atom swap = atom[i];
                atom[i] = atom[n - 1 - i];
                atom[n - 1 - i] = swap;
        }
}

/* Whether outer, directly before inner on the same output axis, continues its count; then outer is extended to
 * both. */
static bool merge_atoms(Atom *outer, const Atom *inner)
{
        Dim span, size;
        if (outer->axis != inner->axis || !dim_mul(outer->size, inner->size, &size))
                return false;
        if (outer->axis >= 0 &&
            (!dim_mul(inner->size, dim_fixed(inner->stride), &span) || !dim_is(span, outer->stride)))
                return false;
        *outer = (Atom){size, outer->out, outer->axis, inner->stride};
        return true;
}

/* The canonical view of a draft.  False: too many atoms. */
static bool make_canonical(const ViewDraft *d, int rank_out, View *v)
{
        memset(v, 0, sizeof *v);
        memcpy(v->offset, d->offset, sizeof v->offset);
        int next = 0;
        for (int out = 0; out < rank_out; out++) {
                int first = v->natom;
                for (; next < d->natom && d->atom[next].out == out; next++) {
                        Atom atom = d->atom[next];
                        if (dim_is(atom.size, 1) ||
                            (v->natom > first && merge_atoms(&v->atom[v->natom - 1], &atom)))
                                continue;
                        if (v->natom == MAX_ATOM)
                                return false;
                        v->atom[v->natom++] = atom;
                }
                if (v->natom > first)
                        continue;
                if (v->natom == MAX_ATOM)
                        return false;
                v->atom[v->natom++] = (Atom){dim_fixed(1), out, -1, 0};
        }
        return true;
}

static void identity_draft(const Type *in, ViewDraft *d)
{
        *d = (ViewDraft){0};
        for (int i = 0; i < in->rank; i++)
                add_atom(d, in->dim[i], i, i, 1);
}

Node *base_of(const Node *n)
{
        while (n->op == OP_VIEW)
                n = n->in[0];
        return (Node *)n;
}

View *view_identity(Arena *a, const Type *in)
{
        ViewDraft d;
        View *v = NEW(a, View);
        identity_draft(in, &d);
        make_canonical(&d, in->rank, v);
        return v;
}

bool view_equal(const View *a, const View *b, int rank_in)
{
        if (a->natom != b->natom)
                return false;
        for (int i = 0; i < a->natom; i++) {
                const Atom *p = &a->atom[i], *q = &b->atom[i];
                if (p->out != q->out || p->axis != q->axis || p->stride != q->stride ||
                    !dim_equal(p->size, q->size))
                        return false;
        }
        for (int i = 0; i < rank_in; i++)
                if (!dim_equal(a->offset[i], b->offset[i]))
                        return false;
        return true;
}

bool view_type(const View *v, const Type *in, Type *out)
{
        *out = (Type){.dtype = in->dtype, .rank = v->natom ? v->atom[v->natom - 1].out + 1 : 0};
        for (int i = 0; i < out->rank; i++)
                out->dim[i] = dim_fixed(1);
        for (int i = 0; i < v->natom; i++) {
                Dim *dim = &out->dim[v->atom[i].out];
                if (!dim_mul(*dim, v->atom[i].size, dim))
                        return false;
        }
        return true;
}

void view_index(const View *v, const int64_t *size, const int64_t *out_index, int rank_out, int rank_in,
                int64_t *in_index)
{
        int64_t rest[MAX_RANK];
        memcpy(rest, out_index, (size_t)rank_out * sizeof *rest);
        for (int i = 0; i < rank_in; i++)
                in_index[i] = dim_value(v->offset[i], size);
        for (int i = v->natom - 1; i >= 0; i--) { /* the last digit of an axis is the fastest */
                const Atom *atom = &v->atom[i];
                int64_t n = dim_value(atom->size, size);
                if (atom->axis >= 0)
                        in_index[atom->axis] += atom->stride * (rest[atom->out] % n);
                rest[atom->out] /= n;
        }
}

/* --- an outer map after an inner one --- */

/* An axis between two maps: the inner atoms of which it consists, outermost first, and the largest digit
 * of each that the outer map uses. */
typedef struct {
        const Atom *atom;
        int natom;
        Dim most[MAX_ATOM];
} Digits;

/* Whether a <= b is proved for all sizes by their signs. */
static bool view_at_most(Dim a, Dim b)
{
        Dim room = dim_sub(b, a);
        for (int i = 0; i < MAX_NAMED; i++)
                if (room.per[i] < 0)
                        return false;
        return room.fixed >= 0;
}

/* Whether a size can be a radix: fixed and not empty. */
static bool is_radix(Dim size)
{
        return dim_is_fixed(size) && size.fixed > 0;
}

static Digits axis_digits(const View *inner, int axis)
{
        Digits digits = {0};
        for (int i = 0; i < inner->natom; i++)
                if (inner->atom[i].out == axis && digits.natom++ == 0)
                        digits.atom = &inner->atom[i];
        return digits;
}

/* Splits an offset along an axis into digits, and adds the offsets of their atoms to out->offset. */
static void place_offset(Digits *digits, Dim offset, ViewDraft *out)
{
        for (int j = digits->natom - 1; j >= 0; j--) {
                const Atom *atom = &digits->atom[j];
                Dim digit = offset, rest = dim_fixed(0), whole;
                if (j > 0 && is_radix(atom->size)) {
                        int64_t n = atom->size.fixed, low = (offset.fixed % n + n) % n;
                        if (dim_div(dim_sub(offset, dim_fixed(low)), atom->size, &whole)) {
                                digit = dim_fixed(low);
                                rest = whole;
                        }
                } else if (j > 0 && dim_div(offset, atom->size, &whole)) {
                        digit = dim_fixed(0);
                        rest = whole;
                }
                digits->most[j] = dim_add(digits->most[j], digit);
                if (atom->axis >= 0)
                        out->offset[atom->axis] =
                                dim_add(out->offset[atom->axis], dim_scale(digit, atom->stride));
                offset = rest;
        }
}

/* Splits an outer atom into pieces that each stay within one digit. */
static bool place_atom(Digits *digits, const Atom *outer, ViewDraft *out)
{
        int first = out->natom, j = digits->natom - 1;
        int64_t step = outer->stride;
        Dim size = outer->size;
        if (step <= 0)
                return false;
        while (j > 0 && is_radix(digits->atom[j].size) && step % digits->atom[j].size.fixed == 0)
                step /= digits->atom[j--].size.fixed;
        for (;; j--, step = 1) {
                const Atom *atom = &digits->atom[j];
                Dim most = dim_scale(dim_sub(size, dim_fixed(1)), step), piece = size, rest = dim_fixed(1);
                bool fits = j == 0 || view_at_most(most, dim_sub(atom->size, dim_fixed(1)));
                if (!fits && (!dim_div(atom->size, dim_fixed(step), &piece) || !dim_div(size, piece, &rest)))
                        return false;
                most = dim_scale(dim_sub(piece, dim_fixed(1)), step);
                digits->most[j] = dim_add(digits->most[j], most);
                if (!add_atom(out, piece, outer->out, atom->axis, step * atom->stride))
                        return false;
                size = rest;
                if (fits || dim_is(rest, 1))
                        break;
        }
        reverse_atoms(out->atom + first, out->natom - first);
        return true;
}

static bool digits_in_place(const Digits *digits)
{
        for (int j = 1; j < digits->natom; j++) /* the outermost digit does not carry */
                if (!view_at_most(digits->most[j], dim_sub(digits->atom[j].size, dim_fixed(1))))
                        return false;
        return true;
}

bool view_compose(Arena *a, const View *outer, const View *inner, const Type *mid, View *out)
{
        (void)a;
        ViewDraft d = {0};
        Digits digits[MAX_RANK];
        memcpy(d.offset, inner->offset, sizeof d.offset);
        for (int axis = 0; axis < mid->rank; axis++) {
                digits[axis] = axis_digits(inner, axis);
                place_offset(&digits[axis], outer->offset[axis], &d);
        }
        for (int i = 0; i < outer->natom; i++) {
                const Atom *atom = &outer->atom[i];
                if (atom->axis < 0 ? !add_atom(&d, atom->size, atom->out, -1, 0)
                                   : !place_atom(&digits[atom->axis], atom, &d))
                        return false;
        }
        for (int axis = 0; axis < mid->rank; axis++)
                if (!digits_in_place(&digits[axis]))
                        return false;
        return make_canonical(&d, outer->natom ? outer->atom[outer->natom - 1].out + 1 : 0, out);
}

/* --- views as nodes --- */

static Node *apply_canonical(Graph *g, Body *b, Node *x, const View *v, Span span, Instance *where)
{
        View one;
        if (x->op == OP_VIEW && view_compose(g->arena, v, x->attr.view, &x->type, &one))
                return apply_canonical(g, b, x->in[0], &one, span, where);
        Type type;
        if (!view_type(v, &x->type, &type))
                return NULL;
        if (type_equal(&type, &x->type) && view_equal(v, view_identity(g->arena, &x->type), x->type.rank))
                return x;
        View *kept = NEW(g->arena, View);
        *kept = *v;
        return node_new(g, b, OP_VIEW, 1, &x, (Attr){.view = kept}, type, span, where);
}

/* Node.position of the view. */
static int position_in_draft(const Node *x, const ViewDraft *d)
{
        for (int i = 0; x->position && i < d->natom; i++)
                if (d->atom[i].axis == x->position - 1 && dim_is(d->atom[i].size, 1))
                        return d->atom[i].out + 1;
        return 0;
}

static Node *apply_at(Graph *g, Body *b, Node *x, const ViewDraft *d, int rank_out, int position, Span span,
                      Instance *where)
{
        View v;
        int first = g->nnode;
        if (rank_out > MAX_RANK || !make_canonical(d, rank_out, &v))
                return NULL;
        Node *y = apply_canonical(g, b, x, &v, span, where);
        if (y && y->id >= first)
                y->position = position;
        return y;
}

static Node *apply_draft(Graph *g, Body *b, Node *x, const ViewDraft *d, int rank_out, Span span,
                         Instance *where)
{
        return apply_at(g, b, x, d, rank_out, position_in_draft(x, d), span, where);
}

Node *view_apply(Graph *g, Body *b, Node *x, const View *v, int rank_out, Span span, Instance *where)
{
        ViewDraft d = {.natom = v->natom};
        memcpy(d.atom, v->atom, sizeof v->atom);
        memcpy(d.offset, v->offset, sizeof v->offset);
        return apply_draft(g, b, x, &d, rank_out, span, where);
}

Node *view_transpose(Graph *g, Body *b, Node *x, const int *perm, Span span, Instance *where)
{
        ViewDraft d = {0};
        for (int i = 0; i < x->type.rank; i++)
                add_atom(&d, x->type.dim[perm[i]], i, perm[i], 1);
        return apply_draft(g, b, x, &d, x->type.rank, span, where);
}

Node *view_slice(Graph *g, Body *b, Node *x, int axis, Dim first, Dim count, Span span, Instance *where)
{
        Dim after = dim_sub(x->type.dim[axis], dim_add(first, count));
        if (dim_least(g, first) < 0 || dim_least(g, count) < 0 || dim_least(g, after) < 0)
                return NULL;
        ViewDraft d;
        identity_draft(&x->type, &d);
        d.atom[axis].size = count;
        d.offset[axis] = first;
        return apply_draft(g, b, x, &d, x->type.rank, span, where);
}

/* Row-major order is preserved: both shapes are walked from the innermost axis, and each step takes the
 * shorter of the two remainders, which must divide the other. */
static bool reshape_draft(const Type *in, const Type *to, ViewDraft *d)
{
        int axis = in->rank;
        Dim rest_in = dim_fixed(1), rest;
        int64_t stride = 1;
        for (int out = to->rank - 1; out >= 0; out--) {
                Dim rest_out = to->dim[out];
                while (!dim_is(rest_out, 1)) {
                        if (dim_is(rest_in, 1)) {
                                if (axis-- == 0)
                                        return false;
                                rest_in = in->dim[axis];
                                stride = 1;
                        } else if (dim_equal(rest_in, rest_out) || dim_div(rest_out, rest_in, &rest)) {
                                if (!add_atom(d, rest_in, out, axis, stride))
                                        return false;
                                rest_out = dim_equal(rest_in, rest_out) ? dim_fixed(1) : rest;
                                rest_in = dim_fixed(1);
                        } else if (dim_is_fixed(rest_out) && dim_div(rest_in, rest_out, &rest)) {
                                if (!add_atom(d, rest_out, out, axis, stride))
                                        return false;
                                stride *= rest_out.fixed;
                                rest_in = rest;
                                rest_out = dim_fixed(1);
                        } else {
                                return false;
                        }
                }
        }
        while (dim_is(rest_in, 1) && axis > 0)
                rest_in = in->dim[--axis];
        reverse_atoms(d->atom, d->natom);
        return dim_is(rest_in, 1);
}

/* The axes of size 1 next to an axis of size 1, itself included: the first one, and their number. */
static int run_of_ones(const Type *t, int axis, int *n)
{
        int first = axis;
        while (first > 0 && dim_is(t->dim[first - 1], 1))
                first--;
        for (*n = 0; first + *n < t->rank && dim_is(t->dim[first + *n], 1); ++*n)
                ;
        return first;
}

static bool elements_before(const Type *t, int axis, Dim *before)
{
        *before = dim_fixed(1);
        for (int i = 0; i < axis; i++)
                if (!dim_mul(*before, t->dim[i], before))
                        return false;
        return true;
}

/* Node.position after a reshape: the axis of size 1 with as many elements before it; of several the one in
 * the same place if there were as many. */
static int position_reshaped(const Node *x, const Type *to)
{
        int runs, others;
        Dim before, other;
        if (!x->position || !elements_before(&x->type, x->position - 1, &before))
                return 0;
        int first = run_of_ones(&x->type, x->position - 1, &runs);
        for (int axis = 0; axis < to->rank; axis++) {
                if (!dim_is(to->dim[axis], 1) || !elements_before(to, axis, &other) ||
                    !dim_equal(before, other))
                        continue;
                run_of_ones(to, axis, &others);
                return others == 1 ? axis + 1 : others == runs ? axis + x->position - first : 0;
        }
        return 0;
}

Node *view_reshape(Graph *g, Body *b, Node *x, const Type *to, Span span, Instance *where)
{
        ViewDraft d = {0};
        if (!reshape_draft(&x->type, to, &d))
                return NULL;
        return apply_at(g, b, x, &d, to->rank, position_reshaped(x, to), span, where);
}

Node *view_split(Graph *g, Body *b, Node *x, int64_t n, Span span, Instance *where)
{
        int rank = x->type.rank;
        Dim part;
        if (rank == 0 || rank == MAX_RANK || n < 1 || !dim_div(x->type.dim[rank - 1], dim_fixed(n), &part))
                return NULL;
        if (n > 1 && !dim_is_fixed(part)) /* the stride of the parts would be a named size */
                return NULL;
        ViewDraft d = {0};
        add_atom(&d, dim_fixed(n), 0, rank - 1, part.fixed);
        for (int i = 0; i < rank - 1; i++)
                add_atom(&d, x->type.dim[i], i + 1, i, 1);
        add_atom(&d, part, rank, rank - 1, 1);
        return apply_draft(g, b, x, &d, rank + 1, span, where);
}

Node *view_merge(Graph *g, Body *b, Node *x, Span span, Instance *where)
{
        int rank = x->type.rank;
        if (rank < 2)
                return NULL;
        ViewDraft d = {0};
        for (int i = 1; i < rank - 1; i++)
                add_atom(&d, x->type.dim[i], i - 1, i, 1);
        add_atom(&d, x->type.dim[0], rank - 2, 0, 1);
        add_atom(&d, x->type.dim[rank - 1], rank - 2, rank - 1, 1);
        return apply_draft(g, b, x, &d, rank - 1, span, where);
}

Node *view_spread(Graph *g, Body *b, Node *x, int64_t n, Span span, Instance *where)
{
        if (x->type.rank == 0 || !dim_is_fixed(x->type.dim[0]))
                return NULL;
        int64_t groups = x->type.dim[0].fixed;
        if (groups < 1 || n < 1 || n % groups != 0)
                return NULL;
        ViewDraft d = {0};
        add_atom(&d, dim_fixed(groups), 0, 0, 1);
        add_atom(&d, dim_fixed(n / groups), 0, -1, 0);
        for (int i = 1; i < x->type.rank; i++)
                add_atom(&d, x->type.dim[i], i, i, 1);
        return apply_draft(g, b, x, &d, x->type.rank, span, where);
}

Node *view_rank(Graph *g, Body *b, Node *x, int rank, Span span, Instance *where)
{
        int added = rank - x->type.rank;
        if (added < 0 || rank > MAX_RANK)
                return NULL;
        ViewDraft d = {0};
        for (int i = 0; i < x->type.rank; i++)
                add_atom(&d, x->type.dim[i], i + added, i, 1);
        return apply_draft(g, b, x, &d, rank, span, where);
}

Node *view_drop(Graph *g, Body *b, Node *x, int axis, Span span, Instance *where)
{
        if (axis < 0 || axis >= x->type.rank || !dim_is(x->type.dim[axis], 1))
                return NULL;
        ViewDraft d = {0};
        for (int i = 0; i < x->type.rank; i++)
                if (i != axis)
                        add_atom(&d, x->type.dim[i], i - (i > axis), i, 1);
        return apply_draft(g, b, x, &d, x->type.rank - 1, span, where);
}

Node *view_broadcast(Graph *g, Body *b, Node *x, const Type *to, Span span, Instance *where)
{
        Type fit;
        if (!type_broadcast(&x->type, to, &fit) || fit.rank != to->rank)
                return NULL;
        int added = to->rank - x->type.rank;
        ViewDraft d = {0};
        for (int i = 0; i < to->rank; i++) {
                if (!dim_equal(fit.dim[i], to->dim[i]))
                        return NULL;
                bool repeats = i < added || !dim_equal(x->type.dim[i - added], to->dim[i]);
                add_atom(&d, to->dim[i], i, repeats ? -1 : i - added, 1);
        }
        return apply_draft(g, b, x, &d, to->rank, span, where);
}
