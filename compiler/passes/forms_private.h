/* The forms in which the nodes of a causal graph are needed, once its growing axes are split into past and
 * new rows.
 *
 * An axis of time + n elements, at a call that brings `time` new rows after `past` others, has two forms:
 *   new   elements past - border .. past + time + n - 1, border + time + n of them
 *   all   elements 0 .. past + time + n - 1
 * A form of a node has the set `all` of growing axes that are needed whole.  The border is 0 except for nodes
 * that read rows beyond their own index: their last rows, as many as the border, change with new input and
 * are computed again.  Elements before index 0 are undefined, and no result depends on them. */
#ifndef FORMS_PRIVATE_H
#define FORMS_PRIVATE_H

#include "facts_private.h"

typedef struct Form Form;
struct Form {
        Form *next;
        unsigned all;
        int64_t border;   /* for axes that are not in `all` */
        int64_t back;     /* number of rows before the new ones that are read along axes in `all`; -1: any */
        const char *name; /* the view nearest to the top between the node and its reader; or NULL */
        const Instance *where;
        Node *made; /* the node in the new graph */
};

/* How a form of a node is made: by its op from its inputs; from its state and its new rows; or as the last
 * rows of a form with more whole axes or a wider border. */
typedef enum { BY_OP, BY_STATE, BY_SLICE, IMPOSSIBLE } FormWay;

typedef struct {
        Arena *arena; /* scratch */
        const Graph *graph;
        const Facts *facts;
        int time;
        Form **of;             /* [nnode] the needed forms of each node */
        int64_t **border;      /* [nnode] of a REPEAT: the border of each value that it carries or stacks */
        bool widened;          /* one of these has grown */
        bool more;             /* a form was added, or is read further back */
        bool *kept_view;       /* by id: the view is kept in place of the viewed node; NULL: not chosen yet */
        bool *by_parts;        /* by id: the parts of this join are kept */
        const Node *stuck;     /* the first node with an impossible form */
        const char *why_stuck; /* the reason */
} Forms;

/* All forms that the outputs of g need; the caller checks ->stuck. */
Forms *forms_wanted(Arena *scratch, GraphFacts *facts);
/* forms_kept.c: chooses the kept values; false: no change.  After true, the needed forms must be computed
 * again. */
bool choose_views(Forms *forms);
bool choose_parts(Forms *forms); /* after choose_views() */
Form *form_find(const Forms *forms, const Node *n, unsigned all, int64_t border);
FormWay form_way(const Forms *forms, const Node *n, const Form *form, Form *from); /* from: for BY_SLICE */
/* Whether the atom of a view shows new rows of an axis that does not grow, as in weight[..time]: from past on. */
bool begins_at_past(const Forms *forms, const Node *n, const Atom *atom, const Form *form);
/* The form of input i from which n is computed. */
Form form_of_input(const Forms *forms, const Node *n, int i, const Form *form);
/* The axis of the result whose own index a gather reads along `axis` of its table, if both are growing: t[row(s), i].
 * New rows then read new rows of the table.  -1: another index. */
int own_index_axis(const Forms *forms, const Node *gather, int axis);
/* The border of a value that enters, leaves, is carried or stacked by a repeat: output `index`, carried
 * values first. */
int64_t border_of(const Forms *forms, const Node *repeat, int index);
/* The number of rows beyond its own index that n reads, at most the context length. */
int64_t rows_ahead(const Forms *forms, const Node *n);
unsigned growing_axes(const Forms *forms, const Type *t);
bool runs_over_time(const Forms *forms, const Node *repeat);
/* All growing axes but the first that have new rows: in values that leave a repeat or the model they are
 * whole. */
unsigned column_axes(const Forms *forms, const Type *t);
int instance_depth(const Instance *where);
#endif
