/* The choice of attention's keys: a mask by `top`, outside of which all scores are -inf.
 *
 *      top(i, k)                         k keys of each row
 *        |   other masks                 conditions that must be true, too
 *        and
 *        |
 *      where(.., s, -inf) ── softmax     only chosen keys have weights
 *
 * The choice may also be of blocks of keys: a view [.., T, S] of top(i, k) [.., T, blocks] by col // size, perhaps with other heads.
 *
 * Walks from the scores through ops that preserve -inf, as the bounds of keys do (lower/live_keys.c). */
#include "graph.h"

#include <math.h>

/* Maximum number of nodes that a search visits. */
enum { LONGEST_CHOICE = 500 };

typedef struct {
        Op op; /* TOP or AMONG */
        int left;
} ChoiceSearch;

static bool is_masked_score(const Node *n)
{
        return n->op == OP_CONST && n->attr.literal->count == 1 && n->attr.literal->iterations == 1 &&
               n->attr.literal->value[0] == -INFINITY;
}

/* Whether the view's last axis is all of its input's axis `from`, which no other axis of the view reads. */
static bool ends_with_axis(const Node *view, int from)
{
        const View *v = view->attr.view;
        const Type *in = &view->in[0]->type;
        const Atom *a = v->natom ? &v->atom[v->natom - 1] : NULL;
        if (!a || from < 0 || a->axis != from || a->stride != 1 || a->out != view->type.rank - 1 ||
            !dim_equal(a->size, in->dim[from]) || !dim_equal(a->size, view->type.dim[a->out]) ||
            !dim_is(v->offset[from], 0))
                return false;
        for (int i = 0; i < v->natom - 1; i++)
                if (v->atom[i].axis == from)
                        return false;
        return true;
}

static bool keeps_last_axis(const Node *view)
{
        return ends_with_axis(view, view->in[0]->type.rank - 1);
}

/* Whether atom i of the view is output axis i, and all of the input's axis; one of size 1 moves along no axis. */
static bool is_whole_axis(const Node *view, int i, int axis)
{
        const View *v = view->attr.view;
        const Atom *atom = &v->atom[i];
        const Dim size = view->in[0]->type.dim[axis];
        const bool along = atom->axis == axis && atom->stride == 1;
        return atom->out == i && (along || (atom->axis < 0 && dim_is(size, 1))) &&
               dim_equal(atom->size, size) && dim_is(v->offset[axis], 0);
}

/* Whether the view moves the input's axis `from` to `to`, and keeps the others in order. */
static bool moves_one_axis(const Node *view, int from, int to)
{
        const View *v = view->attr.view;
        const int rank = view->type.rank;
        if (view->op != OP_VIEW || view->in[0]->type.rank != rank || v->natom != rank)
                return false;
        for (int i = 0, next = 0; i < rank; i++) {
                next += next == from;
                if (!is_whole_axis(view, i, i == to ? from : next++))
                        return false;
        }
        return true;
}

/* The n of i // n, where i are all indices from 0 on; 0: another expression. */
static int64_t block_size(const Node *index)
{
        const Node *size = index->op == OP_FLOORDIV ? index->in[1] : NULL;
        if (!size || index->in[0]->op != OP_INDEX || !dim_is(index->in[0]->attr.dim, 0) ||
            size->op != OP_CONST || size->attr.literal->count != 1 || size->attr.literal->iterations != 1)
                return 0;
        const double n = size->attr.literal->value[0];
        return n >= 1 && n <= 1 << 20 && n == (double)(int64_t)n ? (int64_t)n : 0;
}

Node *choice_of_blocks(const Node *choice, int64_t *size)
{
        if (choice->op != OP_VIEW || !ends_with_axis(choice, 0))
                return NULL;
        const Node *gather = choice->in[0];
        const int last = gather->type.rank - 1;
        if (gather->op != OP_GATHER || gather->nin != 2 || gather->in[1]->type.rank != 1 ||
            !(*size = block_size(gather->in[1])))
                return NULL;
        Node *top = gather->in[0]->op == OP_VIEW ? gather->in[0]->in[0] : NULL;
        return top && top->op == OP_TOP && moves_one_axis(gather->in[0], last, 0) ? top : NULL;
}

/* A choice that must be true (`want`), or false, where c is. */
static Node *choice_in(ChoiceSearch *s, Node *c, bool want)
{
        if (--s->left < 0)
                return NULL;
        int64_t size;
        if (c->op == s->op || (s->op == OP_TOP && choice_of_blocks(c, &size)))
                return want ? c : NULL;
        switch ((int)c->op) {
        case OP_NOT: return choice_in(s, c->in[0], !want);
        case OP_VIEW: return keeps_last_axis(c) ? choice_in(s, c->in[0], want) : NULL;
        case OP_AND:
        case OP_OR: {
                if ((c->op == OP_AND) != want)
                        return NULL;
                Node *first = choice_in(s, c->in[0], want);
                return first ? first : choice_in(s, c->in[1], want);
        }
        default: return NULL;
        }
}

static Node *choice_under(ChoiceSearch *s, Node *n)
{
        Node *choice = NULL;
        if (--s->left < 0)
                return NULL;
        if (n->op == OP_WHERE && (is_masked_score(n->in[2]) || is_masked_score(n->in[1]))) {
                const bool other = is_masked_score(n->in[2]);
                choice = choice_in(s, n->in[0], other);
                return choice ? choice : choice_under(s, n->in[other ? 1 : 2]);
        }
        for (int i = 0; n->op == OP_ADD && i < 2 && !choice; i++)
                choice = choice_under(s, n->in[i]);
        return choice;
}

Node *find_choice(Node *scores, Op op)
{
        ChoiceSearch s = {op, LONGEST_CHOICE};
        Node *n = choice_under(&s, scores);
        const Type *t = &scores->type;
        return n && n->type.rank > 0 && t->rank > 1 &&
                               dim_equal(n->type.dim[n->type.rank - 1], t->dim[t->rank - 1])
                       ? n
                       : NULL;
}

/* The largest number of keys that it chooses. */
static int64_t choice_most(const Node *choice)
{
        int64_t size = 1;
        const Node *top = choice->op == OP_TOP ? choice : choice_of_blocks(choice, &size);
        return size * top->attr.index;
}

const char *why_not_chosen(const Graph *g, const Scores *s, const Node *choice)
{
        const int64_t keys = dim_bound(g, choice->type.dim[choice->type.rank - 1]),
                      most = choice_most(choice);
        if (s->mixes)
                return "heads are mixed, so that a masked key may have a weight";
        if (keys <= most)
                return "there are never more keys";
        if (keys > INT64_C(1) << 24 || most > INT64_C(1) << 24)
                return "floats can't count so many keys";
        return NULL;
}
