/* Finds the axis of a weight over which products sum.  Blocks of codes run along it. */
#include "graph.h"

Node *product_weight(Node *right, int *contracted)
{
        *contracted = 0;
        if (right->type.rank != 2)
                return NULL;
        if (right->op == OP_WEIGHT)
                return right;
        if (right->op != OP_VIEW || right->in[0]->op != OP_WEIGHT || right->in[0]->type.rank != 2)
                return NULL;
        const View *v = right->attr.view;
        if (v->natom != 2 || !dim_is(v->offset[0], 0) || !dim_is(v->offset[1], 0))
                return NULL;
        const Type *t = &right->type, *from = &right->in[0]->type;
        bool turned = v->atom[0].axis == 1 && v->atom[1].axis == 0 && v->atom[0].stride == 1 &&
                      v->atom[1].stride == 1 && dim_equal(t->dim[0], from->dim[1]) &&
                      dim_equal(t->dim[1], from->dim[0]);
        *contracted = 1;
        return turned ? right->in[0] : NULL;
}

bool weight_by_heads(const Node *right, WeightByHeads *w)
{
        const View *v = right->attr.view;
        int rank = right->type.rank, depth = rank - 2, outputs = rank - 1;
        if (right->op != OP_VIEW || rank < 3 || right->in[0]->op != OP_WEIGHT ||
            right->in[0]->type.rank != 2 || v->natom != rank)
                return false;
        const Type *from = &right->in[0]->type;
        *w = (WeightByHeads){.weight = right->in[0], .axis = -1};
        for (int i = 0; i < rank; i++) {
                const Atom *a = &v->atom[i];
                bool part = i < depth;
                if (a->axis < 0 ? !part || !dim_is(a->size, 1) : !part && a->stride != 1)
                        return false;
                if (a->axis >= 0 && part && w->axis >= 0 && a->axis != w->axis)
                        return false;
                w->axis = a->axis >= 0 && part ? a->axis : w->axis;
                w->step[i] = part && a->axis >= 0 ? a->stride : 0;
        }
        if (w->axis < 0 || v->atom[depth].axis == v->atom[outputs].axis)
                return false;
        int whole = v->atom[depth].axis == w->axis ? outputs : depth;
        w->is_depth = whole == outputs;
        w->first = v->offset[w->axis].fixed;
        w->depth = right->type.dim[depth].fixed;
        w->outputs = right->type.dim[outputs].fixed;
        return dim_equal(right->type.dim[whole], from->dim[1 - w->axis]) && dim_is(v->offset[1 - w->axis], 0);
}

bool has_rows_in_turns(const Node *left)
{
        int named = 0;
        for (int a = 0; a + 1 < left->type.rank; a++)
                named += !dim_is_fixed(left->type.dim[a]);
        return named > 1;
}

void find_contracted(const Graph *g)
{
        enum { NOT_SEEN = -2, NONE = -1 };
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        Uses *u = uses_of(&scratch, g);
        for (int i = 0; i < g->nweight; i++)
                g->weight[i]->contracted = NOT_SEEN;
        for (int i = 0; i < u->n; i++) {
                Node *n = u->all[i], *of;
                int axis;
                if (n->op == OP_MATMUL && (of = product_weight(n->in[1], &axis))) {
                        Weight *w = of->attr.weight;
                        bool agrees = w->contracted == NOT_SEEN || w->contracted == axis;
                        w->contracted = agrees && !has_rows_in_turns(n->in[0]) ? axis : NONE;
                }
        }
        /* a weight that is only looked up by rows: as if products summed over its last axis */
        for (int i = 0; i < u->n; i++) {
                const Node *n = u->all[i];
                if (n->op == OP_GATHER && n->in[0]->op == OP_WEIGHT && n->in[0]->type.rank == 2 &&
                    n->in[0]->attr.weight->contracted == NOT_SEEN)
                        n->in[0]->attr.weight->contracted = 1;
        }
        for (int i = 0; i < g->nweight; i++)
                if (g->weight[i]->contracted == NOT_SEEN)
                        g->weight[i]->contracted = NONE;
        arena_free(&scratch);
}
