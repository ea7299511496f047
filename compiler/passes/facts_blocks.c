/* Facts about blocks of positions, for a model whose calls each end with a block: index i is here
 * the block that contains position i.
 *
 * A row may read all positions of its own block, and none of a later one.  An offset of positions is at most as many
 * blocks, so that what holds for positions holds for blocks too, except for negative offsets: those are 0.  A row that
 * reads a later block may read all.  The number of a block, a position divided by its length, is compared only with
 * such numbers and constants. */
#include "facts_private.h"

/* Whether the value is the index of one axis. */
static bool is_index(const Cases *c)
{
        const Affine *exact = cases_form(c);
        int64_t sum = 0;
        bool same = exact && dim_is(exact->constant, 0);
        for (int axis = 0; same && axis < AXES; axis++) {
                same = exact->coef[axis] >= 0;
                sum += exact->coef[axis];
        }
        return same && sum == 1;
}

bool is_block_number(const Facts *f, const Pair *p)
{
        int64_t by;
        return f->block && p->op == OP_FLOORDIV && is_index(p->in[0].integer) &&
               cases_constant(p->in[1].integer, &by) && by == f->block;
}

static bool is_number_of(const Fact *a)
{
        int64_t value;
        return a->constant || cases_constant(a->integer, &value);
}

bool mixes_blocks(const Fact *a, const Fact *b)
{
        return a->in_blocks != b->in_blocks && !is_number_of(a) && !is_number_of(b);
}

/* Ops other than these two-operand ones, and views, lose the number of a block. */
static bool keeps_blocks(const Node *n)
{
        return n->op == OP_VIEW || (op_info[n->op].family == POINT && n->nin == 2 && n->op != OP_FLOORDIV);
}

void fact_in_blocks(const Facts *f, const Node *n, Fact *y)
{
        bool any = y->in_blocks;
        for (int i = 0; i < n->nin; i++)
                any |= f->of[n->in[i]->id].in_blocks;
        if (any && !keeps_blocks(n) &&
            !(n->op == OP_FLOORDIV && y->in_blocks && !f->of[n->in[0]->id].in_blocks))
                y->integer = NULL;
        y->in_blocks = any;
        for (int i = 0; i < y->reach.n; i++) {
                Read *r = &y->reach.at[i];
                y->reach.all |= !dim_is_fixed(r->high) || r->high.fixed > 0;
                *r = (Read){.axis = r->axis, .open = true};
        }
}
