/* Which states hold keys or values: what attention reads, and nothing else.
 *
 *      append k ── view ── matmul q k' ── scale, mask ── softmax ── matmul ── ..        k: keys
 *      append v ── view ───────────────────────────────────────────┘                    v: values
 *
 * These alone may be kept in fewer bits (StateVar.storage): they are most of a cache, and what computes these products widens what it
 * loads.  What taps read does not count, since a tap changes nothing else.
 *
 * Expects a graph whose passes are done.  Leaves StateVar.storage of each state. */
#include "passes.h"

enum { BY_ATTENTION = 1, OTHERWISE = 2 };
typedef enum { NOT_ASKED, YES, NO } Answer;

typedef struct {
        const Graph *g;
        const Uses *uses;
        Answer *weights; /* by id: what becomes_weights() found */
} Reading;

/* Is the value read elsewhere than by its users? */
static bool leaves(const Reading *r, const Node *n)
{
        bool given = r->uses->leaves[n->id];
        for (int i = 0; i < r->g->noutput; i++)
                given |= r->g->output[i].node == n && !r->g->output[i].tap;
        return given;
}

static bool becomes_weights(const Reading *r, const Node *n);

static bool find_weights(const Reading *r, const Node *n)
{
        bool any = false;
        for (int i = 0; i < r->uses->nuser[n->id]; i++) {
                const Node *user = r->uses->user[n->id][i];
                if (is_tapped(r->g, user))
                        continue;
                bool passes = user->op == OP_VIEW || op_info[user->op].family == POINT,
                     ends = user->op == OP_SOFTMAX && user->in[0] == n;
                if (!ends && (!passes || !becomes_weights(r, user)))
                        return false;
                any = true;
        }
        return any && !leaves(r, n);
}

/* Does every way from n lead through elementwise ops to a softmax?  Ways may be many: each node is asked once. */
static bool becomes_weights(const Reading *r, const Node *n)
{
        if (r->weights[n->id] == NOT_ASKED)
                r->weights[n->id] = find_weights(r, n) ? YES : NO;
        return r->weights[n->id] == YES;
}

static const Node *through_views(const Node *n)
{
        while (n->op == OP_VIEW)
                n = n->in[0];
        return n;
}

static int read_by_user(const Reading *r, const Node *n, const Node *user);

/* By what n, a state or a view of one, is read: a set. */
static int read_by_users(const Reading *r, const Node *n)
{
        int as = leaves(r, n) ? OTHERWISE : 0;
        for (int i = 0; i < r->uses->nuser[n->id]; i++)
                if (!is_tapped(r->g, r->uses->user[n->id][i]))
                        as |= read_by_user(r, n, r->uses->user[n->id][i]);
        return as;
}

static int read_by_user(const Reading *r, const Node *n, const Node *user)
{
        if (user->op == OP_VIEW)
                return read_by_users(r, user);
        if (user->op == OP_APPEND && user->in[0] == n && user->in[1] != n)
                return 0;
        if (user->op != OP_MATMUL || user->in[0] == n)
                return OTHERWISE;
        bool values = through_views(user->in[0])->op == OP_SOFTMAX;
        return values || becomes_weights(r, user) ? BY_ATTENTION : OTHERWISE;
}

void keep_keys_values(Graph *g, Storage storage)
{
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        Reading r = {g, uses_of(&scratch, g), NEW_ARRAY(&scratch, Answer, g->nnode)};
        int *as = NEW_ARRAY(&scratch, int, g->nstate);
        for (int i = 0; i < r.uses->n; i++) {
                const Node *n = r.uses->all[i];
                if (n->op == OP_READ || n->op == OP_APPEND || n->op == OP_KEPT)
                        as[n->attr.state->id] |= read_by_users(&r, n);
                if (n->op == OP_KEEP && (r.uses->nuser[n->id] || leaves(&r, n)))
                        as[n->attr.state->id] |= OTHERWISE;
        }
        for (int i = 0; i < g->nstate; i++)
                g->state[i]->storage = as[i] == BY_ATTENTION ? storage : STORAGE_F32;
        arena_free(&scratch);
}
