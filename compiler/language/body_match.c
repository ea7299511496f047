/* Rolled repeats: whether two iterations have the same body.
 *
 * Two bodies are the same if their nodes are, one by one in order: op, attributes, type, and inputs at the
 * same index of the iteration, or the same node outside.  Constants may differ: body_merge makes them
 * tables with a row for each iteration.  Inside an inner repeat they may not, since a table is indexed
 * only by the innermost iteration.
 *
 * Slices with different starts make bodies differ, but can be written as gathers by a constant index: if
 * `varying` is given, they are recorded there and accepted.
 *
 * Elaboration is deterministic, so corresponding nodes have the same distance in ids from their
 * iteration's first node. */
#include "elaborate_private.h"

#include <string.h>

enum { MAX_TABLE = 1 << 26 }; /* elements of a constant over all iterations */

typedef struct {
        int kept, fresh;    /* ids of the first nodes */
        int64_t iterations; /* of the repeat, while its own bodies are compared; 0 in an inner repeat */
        Varying *varying;   /* not NULL: slices with different starts are recorded here */
} BodyMatch;

static bool same_node(const BodyMatch *m, const Node *a, const Node *b)
{
        if (b->id < m->fresh)
                return a == b;
        return a->id >= m->kept && a->id - m->kept == b->id - m->fresh;
}

static bool same_nodes(const BodyMatch *m, int n, Node *const *a, Node *const *b)
{
        for (int i = 0; i < n; i++)
                if (!same_node(m, a[i], b[i]))
                        return false;
        return true;
}

static bool same_atoms(const View *a, const View *b)
{
        if (a->natom != b->natom)
                return false;
        for (int i = 0; i < a->natom; i++) {
                const Atom *p = &a->atom[i], *q = &b->atom[i];
                if (!dim_equal(p->size, q->size) || p->out != q->out || p->axis != q->axis ||
                    p->stride != q->stride)
                        return false;
        }
        return true;
}

static bool same_view(const BodyMatch *m, const Node *a, const Node *b)
{
        const View *p = a->attr.view, *q = b->attr.view;
        if (!same_atoms(p, q))
                return false;
        for (int i = 0; i < MAX_RANK; i++) {
                if (dim_equal(p->offset[i], q->offset[i]))
                        continue;
                if (!m->varying || m->iterations == 0 || m->varying->n == MAX_VARYING)
                        return false;
                m->varying->span[m->varying->n++] = b->span;
        }
        return true;
}

static bool literal_values_equal(const Literal *a, const Literal *b)
{
        return a->iterations == b->iterations && a->count == b->count &&
               memcmp(a->value, b->value, (size_t)(a->iterations * a->count) * sizeof *a->value) == 0;
}

static bool same_literal(const BodyMatch *m, const Literal *kept, const Literal *fresh)
{
        if (m->iterations == 0)
                return literal_values_equal(kept, fresh);
        if (kept->count != fresh->count || fresh->iterations != 1)
                return false;
        return literal_values_equal(kept, fresh) || kept->count <= MAX_TABLE / m->iterations;
}

static bool same_body(const BodyMatch *m, const Body *a, const Body *b);

static bool same_region(const BodyMatch *m, const Region *a, const Region *b)
{
        if (a->name != b->name || a->iterations != b->iterations || a->nbody != b->nbody ||
            a->ncarry != b->ncarry || a->nstack != b->nstack || a->along != b->along ||
            memcmp(a->body_of, b->body_of, (size_t)a->iterations) != 0)
                return false;
        BodyMatch inner = *m;
        inner.iterations = 0;
        for (int i = 0; i < a->nbody; i++)
                if (!same_body(&inner, a->body[i], b->body[i]) ||
                    !same_nodes(m, a->ncarry, a->body[i]->next, b->body[i]->next) ||
                    !same_nodes(m, a->nstack, a->body[i]->stack, b->body[i]->stack))
                        return false;
        return true;
}

static bool same_attr(const BodyMatch *m, const Node *a, const Node *b)
{
        const Attr *p = &a->attr, *q = &b->attr;
        if (p->axis != q->axis || p->index != q->index || p->slot != q->slot || !dim_equal(p->dim, q->dim) ||
            !dim_equal(p->before, q->before) || !dim_equal(p->after, q->after) || p->value != q->value ||
            p->weight != q->weight || p->state != q->state)
                return false;
        if (a->op == OP_VIEW)
                return same_view(m, a, b);
        if (a->op == OP_CONST)
                return same_literal(m, p->literal, q->literal);
        return a->op != OP_REPEAT || same_region(m, p->region, q->region);
}

/* Numbers that are integers in one iteration and reals in another are reals in both, if the bodies are
 * otherwise the same. */
static bool same_type(const BodyMatch *m, const Node *a, const Node *b)
{
        if (a->op != OP_CONST || m->iterations == 0 || a->type.dtype == BOOL || b->type.dtype == BOOL)
                return type_equal(&a->type, &b->type);
        Type type = b->type;
        type.dtype = a->type.dtype;
        return type_equal(&a->type, &type);
}

static bool same_body(const BodyMatch *m, const Body *a, const Body *b)
{
        if (a->nnode != b->nnode)
                return false;
        for (int i = 0; i < a->nnode; i++) {
                const Node *p = a->node[i], *q = b->node[i];
                if (p->op != q->op || p->nin != q->nin || !same_type(m, p, q) ||
                    !same_nodes(m, p->nin, p->in, q->in) || !same_attr(m, p, q))
                        return false;
        }
        return true;
}

static bool same_asked(const BodyMatch *m, Iteration a, Iteration b)
{
        for (int i = 0; i < b.nasked; i++)
                if (a.asked[i] && b.asked[i] ? !same_node(m, a.asked[i], b.asked[i])
                                             : a.asked[i] != b.asked[i])
                        return false;
        return true;
}

bool body_match(Iteration kept, Iteration fresh, int64_t iterations, Varying *varying)
{
        BodyMatch m = {kept.first, fresh.first, iterations, varying};
        const Region *region = fresh.body->region;
        return same_body(&m, kept.body, fresh.body) &&
               same_nodes(&m, region->ncarry, kept.body->next, fresh.body->next) &&
               same_nodes(&m, region->nstack, kept.body->stack, fresh.body->stack) &&
               same_asked(&m, kept, fresh);
}

void literal_set_row(Arena *arena, const Region *region, Literal *table, const Literal *row,
                     int64_t iteration)
{
        const size_t size = (size_t)row->count * sizeof *row->value;
        if (literal_values_equal(table, row))
                return;
        if (table->iterations == 1) {
                double *value = NEW_ARRAY(arena, double, region->iterations * row->count);
                for (int64_t t = 0; t < region->iterations; t++)
                        memcpy(value + t * row->count, table->value, size);
                *table = (Literal){region->iterations, row->count, value};
        }
        memcpy(table->value + iteration * row->count, row->value, size);
}

/* Adds the constants of iteration `iteration` as rows of tables; its body is the same as that of earlier
 * ones. */
void body_merge(Arena *arena, const Region *region, Body *kept, const Body *fresh, int64_t iteration)
{
        for (int i = 0; i < kept->nnode; i++) {
                Node *a = kept->node[i];
                const Node *b = fresh->node[i];
                if (a->op != OP_CONST)
                        continue;
                if (b->type.dtype == REAL)
                        a->type.dtype = REAL;
                literal_set_row(arena, region, a->attr.literal, b->attr.literal, iteration);
        }
}
