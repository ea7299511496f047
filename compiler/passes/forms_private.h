/* In which forms the nodes of a causal graph are wanted, once its growing axes are split into past and new rows.
 *
 * An axis of time + n elements, at a call that brings `time` new rows after `past` others, has two forms:
 *   new   elements past - border .. past + time + n - 1, border + time + n of them
 *   all   elements 0 .. past + time + n - 1
 * A form of a node says which of its growing axes are wanted whole: a set of axes, `all`.  The border is 0 but for what
 * looks ahead of its own index by that much: its last rows change when input comes, and are computed again.  What the
 * elements before 0 hold means nothing, and nothing that counts is made of them. */
#ifndef FORMS_PRIVATE_H
#define FORMS_PRIVATE_H

#include "facts_private.h"

typedef struct Form Form;
struct Form {
        Form *next;
        unsigned all;
        int64_t border; /* of axes that are not in `all` */
        int64_t back;   /* how many rows before the new ones are read along axes in `all`; -1: any */
        const char *
                name; /* the view nearest to the top that stands between the node and who reads it; or NULL */
        const Instance *where;
        Node *made; /* in the new graph */
};

/* How a form of a node comes about: by its op from its inputs; from what is kept and its new rows; or as the last rows
 * of a form with more axes whole, or a wider border. */
typedef enum { BY_OP, BY_STATE, BY_SLICE, IMPOSSIBLE } FormWay;

typedef struct {
        Arena *arena; /* scratch */
        const Graph *graph;
        const Facts *facts;
        int time;
        Form **of;        /* [nnode] the forms wanted of each node */
        int64_t **border; /* [nnode] of a REPEAT: the border of each value that it carries or stacks */
        bool widened;     /* one of these has grown */
        bool more;        /* a form is wanted that was not, or is read further back */
        bool *kept_view;  /* by id: a view that is kept, and not what it shows; NULL: nothing is chosen yet */
        bool *by_parts;   /* by id: a join whose parts are kept */
        const Node *stuck;     /* the first node without a way to one of its forms, */
        const char *why_stuck; /* and why */
} Forms;

/* All that the outputs of g want; check ->stuck. */
Forms *forms_wanted(Arena *scratch, GraphFacts *facts);
/* forms_cut.c: which values are kept; false: those that were.  Else what is wanted is to be found anew. */
bool choose_views(Forms *forms);
bool choose_parts(Forms *forms); /* after it */
Form *form_find(const Forms *forms, const Node *n, unsigned all, int64_t border);
FormWay form_way(const Forms *forms, const Node *n, const Form *form, Form *from); /* from: of BY_SLICE */
/* The form of input i that n is computed from. */
Form form_of_input(const Forms *forms, const Node *n, int i, const Form *form);
/* The border of what a repeat is given, carries, stacks or leaves: output `index` of it, carried values first. */
int64_t border_of(const Forms *forms, const Node *repeat, int index);
/* How far n looks ahead of its own index; no further than the context is long. */
int64_t rows_ahead(const Forms *forms, const Node *n);
unsigned growing_axes(const Forms *forms, const Type *t);
/* All growing axes but the first, of whose rows there are new ones: in what leaves a repeat or the model they are whole. */
unsigned column_axes(const Forms *forms, const Type *t);
int instance_depth(const Instance *where);
#endif
