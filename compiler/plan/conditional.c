/* Conditional execution: skips iterations, and rows within iterations, that a gate makes idle.
 *
 *      repeat expert[e] : n { y = where(g != 0, y + g * f(x), y) }      as `accumulate` leaves it
 *
 * An iteration does not change rows where g is 0.  So before each iteration every thread finds the active
 * rows, those that it changes; all threads read the same g and find the same rows.  If there are none, the
 * iteration is skipped and reads no weights.  If each row of an iteration's values depends only on the same
 * row, its kernels compute only the active rows.  No bit of a result changes.
 *
 * Expects kernels and their buffers.  Adds a kernel that finds the active rows to the repeat's kernel, or the
 * reason why there is none. */
#include <string.h>

#include "plan_private.h"

enum { MAX_LISTED_ROWS = 16384 /* that a list on the stack may hold */ };

/* The condition for a row to change: c, if every carried value becomes where(c, .., itself); NULL: others may
 * change. */
static Node *body_condition(const Body *b)
{
        Node *condition = NULL;
        for (int i = 0; i < b->region->ncarry; i++) {
                Node *n = b->next[i];
                bool stays = n->op == OP_WHERE && n->in[2]->op == OP_CARRY && n->in[2]->body == b &&
                             n->in[2]->attr.index == i;
                if (!stays || (condition && n->in[0] != condition))
                        return NULL;
                condition = n->in[0];
        }
        return condition;
}

/* Whether n can be computed before the iteration, from values outside it.  known [nnode]: whether nodes of
 * the body can. */
static bool is_known_by(const Fuse *f, const Node *n, const Body *b, const bool *known)
{
        const Buffer *own = f->plan->of_node.value[n->id];
        if (own)
                return own->home == IN_LITERAL;
        bool may =
                op_info[n->op].family == POINT || n->op == OP_VIEW || n->op == OP_GATHER || n->op == OP_CONST;
        for (int i = 0; may && i < n->nin; i++)
                may = n->in[i]->body != b || known[n->in[i]->id];
        return may;
}

/* By id, for the body's nodes. */
static const bool *find_known(const Fuse *f, const Body *b)
{
        bool *known = NEW_ARRAY(f->arena, bool, f->plan->graph->nnode);
        for (int i = 0; i < b->nnode; i++)
                known[b->node[i]->id] = is_known_by(f, b->node[i], b, known);
        return known;
}

static bool is_known_before(const Node *n, const Body *b, const bool *known)
{
        return n->body != b || known[n->id];
}

static bool keeps_rows_apart(const Node *n, const Node *condition)
{
        if (!dim_equal(n->type.dim[0], condition->type.dim[0]))
                return false;
        switch (op_info[n->op].family) {
        case POINT:
        case REDUCE: /* an axis that is summed over has size 1 */
        case CONTRACT: return true;
        default: return n->op == OP_CARRY;
        }
}

/* Whether row t of every value of the body depends only on row t of earlier values. */
static bool rows_stand_alone(const Fuse *f, const Body *b, const Node *condition)
{
        const bool *known = find_known(f, b);
        for (int i = 0; i < b->nnode; i++) {
                const Node *n = b->node[i];
                if (is_known_before(n, b, known) || base_of((Node *)n)->op == OP_WEIGHT)
                        continue;
                if (n->type.rank != 2 || !keeps_rows_apart(n, condition))
                        return false;
        }
        return true;
}

static bool can_list(const Fuse *f, const Body *b, const Node *condition)
{
        for (int i = 0; i < f->nkernel; i++) {
                const Kernel *k = f->kernel[i];
                if (k->body == b && k->op != K_ACTIVE && k->op != K_MATMUL && k->op != K_LOOP)
                        return false;
        }
        return rows_stand_alone(f, b, condition);
}

static bool body_appends(const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                const Node *n = b->node[i];
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        if (body_appends(n->attr.region->body[k]))
                                return true;
                if (n->op == OP_APPEND || keeps_scan(n) || keeps_carried(n))
                        return true;
        }
        return false;
}

/* Whether a value that leaves an iteration has a gate. */
static bool has_gate(const Region *r)
{
        Gate gate;
        for (int b = 0; b < r->nbody; b++)
                for (int i = 0; i < r->ncarry + r->nstack; i++) {
                        Node *v = i < r->ncarry ? added_to_carry(r->body[b], i)
                                                : r->body[b]->stack[i - r->ncarry];
                        if (v && find_gate(v, &gate))
                                return true;
                }
        return false;
}

/* The kernel that finds the rows; NULL with *why set. */
static Kernel *active_kernel(Fuse *f, const Region *r, const char **why)
{
        Body *b = r->body[0];
        Node *condition = body_condition(b);
        *why = r->nstack > 0     ? "their results are stacked, not summed"
               : r->nbody > 1    ? "they are not all the same expressions"
               : !condition      ? "some value that they carry has no gate"
               : body_appends(b) ? "they keep state"
                                 : NULL;
        if (*why)
                return NULL;
        const Type *t = &condition->type;
        int64_t rows = 1;
        for (int a = 0; a < t->rank; a++)
                rows *= bound_of(f->plan, t->dim[a]);
        *why = "their gate is not known before they run";
        if (!is_known_before(condition, b, find_known(f, b)) || !dim_is(t->dim[t->rank - 1], 1) ||
            rows > MAX_LISTED_ROWS)
                return NULL;
        Kernel *k = fuse_kernel(f, K_ACTIVE, condition);
        k->name = arena_printf(f->arena, "%s_active", r->name);
        k->body = b; /* also if the gate is computed before the repeat */
        k->order.at = 1;
        k->max_active = rows;
        if (!lower(f->plan, k))
                return k;
        f->nkernel--;
        return NULL;
}

void conditional_iterations(Fuse *f)
{
        for (int i = 0, n = f->nkernel; i < n; i++) {
                Kernel *k = f->kernel[i];
                const char *why;
                if (k->op != K_REPEAT || !has_gate(k->repeat.region))
                        continue;
                k->repeat.active_rows = active_kernel(f, k->repeat.region, &why);
                if (!k->repeat.active_rows) {
                        plan_explain(f->plan, "%s: all of its iterations are run: %s", k->name, why);
                        continue;
                }
                Body *b = k->repeat.region->body[0];
                bool list = can_list(f, b, k->repeat.active_rows->stores.of[0].node);
                for (int j = 0; j < f->nkernel; j++)
                        if (list && f->kernel[j]->body == b && f->kernel[j]->op != K_ACTIVE)
                                f->kernel[j]->rows = ROWS_ACTIVE;
                plan_explain(f->plan,
                             "%s: an iteration is run only if its gate is not 0 in some row%s; %lld of %lld "
                             "in one row",
                             k->name, list ? ", and for these rows" : ", and then for all rows",
                             (long long)iterations_in_use(k->repeat.region),
                             (long long)k->repeat.region->iterations);
        }
}
