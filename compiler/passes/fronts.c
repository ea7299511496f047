/* Fronts: reads a history in place if it is padded in front, as for a convolution, and then read from the new
 * rows on.
 *
 *      p = pad(all rows of x, 2 before)             [2 + past + time, d]: copies all past rows
 *      v = p[past..];  .. v[0..], v[1..], v[2..]
 *   ->
 *      i = past - 2, .. past + time - 1
 *      p = where(i >= 0, x[max(i, 0)], 0)           [time + 2, d]
 *      .. p[0..], p[1..], p[2..]
 *
 * So a call moves only as many rows as it is given, and only the rows of x that the taps read are kept
 * (plan/window.c).  No bit of the results changes.
 *
 * Before: a graph with state.  After: pads that are read in other ways are unchanged. */
#include "simplify_private.h"

#include <string.h>

typedef struct {
        Graph *g;
        const Uses *uses;
} Fronts;

/* The last row that a view reads of axis 0, counted from the first. */
static Dim view_last_row(const View *v)
{
        Dim last = dim_fixed(0);
        for (int i = 0; i < v->natom; i++)
                if (v->atom[i].axis == 0)
                        last = dim_add(last,
                                       dim_scale(dim_sub(v->atom[i].size, dim_fixed(1)), v->atom[i].stride));
        return last;
}

/* The only user of the pad, if it reads rows past to past + *last; NULL: others read it, or other rows, or the
 * pad is at the end. */
static Node *only_view(const Fronts *f, const Node *pad, Dim *last)
{
        Node *view = f->uses->nuser[pad->id] == 1 ? f->uses->user[pad->id][0] : NULL;
        if (!view || view->op != OP_VIEW || !dim_equal(view->attr.view->offset[0], dim_named(f->g->past)))
                return NULL;
        *last = view_last_row(view->attr.view);
        const Dim behind = dim_sub(*last, dim_named(f->g->time));
        return dim_is_fixed(behind) && behind.fixed < pad->attr.before.fixed ? view : NULL;
}

static bool fronts_suit(const Fronts *f, const Node *n)
{
        if (n->op != OP_PAD || n->attr.axis != 0 || f->uses->pinned[n->id] || n->in[0]->op != OP_APPEND)
                return false;
        Dim all = dim_add(dim_named(f->g->past), dim_named(f->g->time));
        return n->attr.before.fixed > 0 && dim_equal(n->in[0]->type.dim[0], all);
}

/* Builds the rows that replace the pad's, from its row past on. */
static Node *rows_from_past(Graph *g, Node *pad, Dim count)
{
        Body *b = pad->body;
        Dim from = dim_add(dim_named(g->past), dim_fixed(-pad->attr.before.fixed));
        Type of_index = {.dtype = INT, .rank = 1, .dim = {count}},
             column = {.dtype = INT, .rank = pad->type.rank};
        for (int a = 0; a < column.rank; a++)
                column.dim[a] = a ? dim_fixed(1) : count;
        Node *index = node_new(g, b, OP_INDEX, 0, NULL, (Attr){.dim = from}, of_index, pad->span, pad->where);
        Node *none = build_number(g, b, 0, INT, pad->span, pad->where);
        Node *front = build_number(g, b, pad->attr.value, pad->type.dtype, pad->span, pad->where);
        Node *at = build_like(g, pad, OP_MAX, 2, (Node *[]){index, none}, NULL);
        Node *rows = build_like(g, pad, OP_GATHER, 2, (Node *[]){pad->in[0], at}, NULL);
        Node *each = view_reshape(g, b, index, &column, pad->span, pad->where);
        Node *inside = build_like(g, pad, OP_LESSEQ, 2, (Node *[]){none, each}, NULL);
        Node *all = build_like(g, pad, OP_WHERE, 3, (Node *[]){inside, rows, front}, NULL);
        all->name = pad->name;
        return all;
}

/* Moves the new nodes to directly after the pad. */
static void move_behind(Graph *g, Body *b, int made_from, const Node *pad)
{
        int n = b->nnode - made_from, at = 0;
        Node **tail = NEW_ARRAY(g->arena, Node *, n);
        while (b->node[at] != pad)
                at++;
        at++;
        memcpy(tail, b->node + made_from, (size_t)n * sizeof *tail);
        memmove(b->node + at + n, b->node + at, (size_t)(made_from - at) * sizeof *tail);
        memcpy(b->node + at, tail, (size_t)n * sizeof *tail);
}

static void read_in_place(const Fronts *f, Node *pad)
{
        Dim last;
        Node *view = fronts_suit(f, pad) ? only_view(f, pad, &last) : NULL;
        if (!view)
                return;
        int before = pad->body->nnode;
        Node *rows = rows_from_past(f->g, pad, dim_add(last, dim_fixed(1)));
        move_behind(f->g, pad->body, before, pad);
        View *v = NEW(f->g->arena, View);
        *v = *view->attr.view;
        v->offset[0] = dim_fixed(0);
        view->in[0] = rows;
        view->attr.view = v;
}

bool fronts(Graph *g)
{
        const int old = g->nnode;
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        Fronts f = {g, uses_of(&scratch, g)};
        for (int i = 0; i < f.uses->n; i++)
                read_in_place(&f, f.uses->all[i]);
        const bool changed = g->nnode > old;
        prune(g);
        arena_free(&scratch);
        return changed;
}
