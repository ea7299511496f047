/* Phases: values that depend only on separately fed inputs are computed once, when these inputs are fed.
 *
 * Inputs declared together form a group and are fed together.  Every call feeds the groups with the shape of
 * an output: in a graph with state, those with a time axis; otherwise those that share a named axis with an
 * output, or differ from an output's shape in one axis at most, as a noisy picture does.  If there are such
 * groups, the others are fed once for many calls: the source of a translation, a spectrogram, a prompt, the
 * step of a diffusion.  Values that depend only on these and on weights are moved out of the calls, also out
 * of repeats; those that the calls read are kept, in a slot for each iteration.
 *
 *   memory = encoder(source)                     memory = encoder(source)                    when source is fed
 *   repeat layer:                                repeat layer_kept:
 *       k = memory Wk      [length, d]               keep k
 *       y = attention(x Wq, k, ..)               repeat layer:                               in each call
 *                                                    y = attention(x Wq, kept k, ..)
 *
 * There is a part for each set of groups on which a value depends.  It runs when the last of these groups is
 * fed, and whenever one of them is fed again.  Values that one part reads from another are kept too, and
 * views of them are made again.  Values that depend on no input are computed in each part that needs them.
 * The slots of a weight follow the enclosing repeat, so if a repeat reads a weight both in a part and in the
 * calls, its users stay in the calls.
 *
 * A value depends on the groups that define its named sizes.
 *
 * Before: a graph after the causal pass, simplified.  After: the top body's nodes part by part, the calls
 * last. */
#include <string.h>

#include "simplify_private.h"

enum { MAX_GROUPS = 60, MAX_PARTS = 64 };
typedef enum {
        FREE,
        EARLY,
        LATE
} PhaseTime; /* depends on no input, on inputs that are fed separately, on inputs of the calls */

typedef struct {
        uint64_t groups; /* 0: the calls */
        Node **made;     /* by id: the node's value in this part */
        Region **region; /* by id of a repeat: its iterations in this part */
        Body top;        /* nodes for the top body; empty for the calls, whose nodes are already there */
        Node **share;    /* repeats, to be inserted after their inputs */
        int nshare, cap_share;
} PhasePart;

typedef struct {
        Graph *g;
        Arena *arena;
        int n, cap_state; /* number of nodes before the pass */
        uint64_t early;   /* the groups that are fed separately */
        PhaseTime *when;  /* by id, as all arrays below */
        uint64_t *groups; /* the groups on which an early value depends */
        uint64_t *reader; /* of a free value: the part that reads it, CALLS or SEVERAL */
        StateVar **state; /* the state that keeps the value */
        bool *held;       /* by weight: read by the calls, or by several parts */
        PhasePart *part[MAX_PARTS];
        int npart; /* part 0: the calls */
} Split;

static const uint64_t CALLS = UINT64_C(1) << 62, SEVERAL = UINT64_C(1) << 63;

/* --- dependencies --- */

static bool type_has_size(const Type *t, int which)
{
        for (int i = 0; i < t->rank; i++)
                if (t->dim[i].per[which])
                        return true;
        return false;
}

/* Whether they share a named axis, or differ in one axis at most. */
static bool type_is_like(const Graph *g, const Type *in, const Type *out)
{
        int same = 0;
        for (int i = 0; i < g->nnamed; i++)
                if (type_has_size(in, i) && type_has_size(out, i))
                        return true;
        for (int i = 0; i < in->rank && in->rank == out->rank; i++)
                same += dim_equal(in->dim[i], out->dim[i]);
        return same > 0 && same >= in->rank - 1;
}

static bool is_followed(const Graph *g, const Type *in)
{
        if (g->past >= 0)
                return type_has_size(in, g->time);
        for (int i = 0; i < g->noutput; i++)
                if (type_is_like(g, in, &g->output[i].node->type))
                        return true;
        return false;
}

static uint64_t groups_fed_separately(const Graph *g)
{
        uint64_t all = 0, called = 0;
        for (int i = 0; i < g->ninput; i++) {
                uint64_t group = UINT64_C(1) << g->input[i].group;
                all |= group;
                if (is_followed(g, &g->input[i].type))
                        called |= group;
        }
        return called ? all & ~called : 0;
}

/* The groups that define the named sizes of a type.  False if the calls do. */
static bool are_sizes_early(const Split *s, const Type *t, const Dim *d, uint64_t *groups)
{
        const Graph *g = s->g;
        for (int i = 0; i < g->nnamed; i++) {
                uint64_t states = 0;
                if (!type_has_size(t, i) && !(d && d->per[i]))
                        continue;
                for (int k = 0; k < g->ninput; k++)
                        if (s->early >> g->input[k].group & 1 && type_has_size(&g->input[k].type, i))
                                states |= UINT64_C(1) << g->input[k].group;
                if (!states)
                        return false;
                *groups |= states;
        }
        return true;
}

/* The time of a node by its op, without its inputs; adds the groups on which it depends. */
static PhaseTime own_when(const Split *s, const Node *n, uint64_t *groups)
{
        const Graph *g = s->g;
        bool measures = n->op == OP_INDEX || n->op == OP_SIZE;
        if (!are_sizes_early(s, &n->type, measures ? &n->attr.dim : NULL, groups))
                return LATE;
        switch ((int)n->op) {
        case OP_INPUT:
                *groups |= UINT64_C(1) << g->input[n->attr.index].group;
                return s->early >> g->input[n->attr.index].group & 1 ? EARLY : LATE;
        case OP_WEIGHT: return s->held[n->attr.weight->id] ? LATE : FREE;
        default: return FREE;
        }
}

static void phases_classify(Split *s, const Body *body, PhaseTime carry, uint64_t groups);

/* Adds the dependencies of `on` to n.  Returns whether n changed. */
static bool depend(Split *s, const Node *n, const Node *on)
{
        PhaseTime *when = &s->when[n->id];
        bool changed = s->when[on->id] > *when || (s->groups[on->id] & ~s->groups[n->id]);
        *when = s->when[on->id] > *when ? s->when[on->id] : *when;
        s->groups[n->id] |= s->groups[on->id];
        return changed;
}

/* Moves a repeat with an input that is fed to one part, with all that it contains. */
static void take_whole(Split *s, const Node *repeat, uint64_t groups)
{
        const Region *r = repeat->attr.region;
        for (int k = 0; k < r->nbody; k++)
                for (int i = 0; i < r->body[k]->nnode; i++) {
                        const Node *n = r->body[k]->node[i];
                        s->groups[n->id] = groups;
                        if (n->op == OP_REPEAT)
                                take_whole(s, n, groups);
                }
}

/* A value in an `along` of the calls is made there, since it would have to be kept for each position. */
static void leave_in_calls(Split *s, const Body *body)
{
        for (int i = 0; i < body->nnode; i++) {
                const Node *n = body->node[i];
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        leave_in_calls(s, n->attr.region->body[k]);
                if (s->when[n->id] == EARLY)
                        s->when[n->id] = LATE;
        }
}

/* The carried values of a repeat have one time: the latest of the nodes in its bodies and of its inputs. */
static void classify_repeat(Split *s, const Node *n)
{
        const Region *r = n->attr.region;
        for (bool changed = true; changed;) {
                changed = false;
                for (int k = 0; k < r->nbody; k++) {
                        const Body *b = r->body[k];
                        phases_classify(s, b, s->when[n->id], s->groups[n->id]);
                        for (int i = 0; i < b->nnode; i++)
                                changed |= depend(s, n, b->node[i]);
                        for (int i = 0; i < r->ncarry; i++)
                                changed |= depend(s, n, b->next[i]);
                        for (int i = 0; i < r->nstack; i++)
                                changed |= depend(s, n, b->stack[i]);
                }
        }
        if (s->when[n->id] == EARLY)
                take_whole(s, n, s->groups[n->id]);
        else if (r->along)
                leave_in_calls(s, r->body[0]);
}

static void phases_classify(Split *s, const Body *body, PhaseTime carry, uint64_t groups)
{
        for (int i = 0; i < body->nnode; i++) {
                const Node *n = body->node[i];
                uint64_t all = 0;
                PhaseTime when = own_when(s, n, &all);
                if (n->op == OP_CARRY) {
                        when = carry > when ? carry : when;
                        all |= groups;
                }
                for (int k = 0; k < n->nin; k++) {
                        int id = n->in[k]->id;
                        when = s->when[id] > when ? s->when[id] : when;
                        all |= s->groups[id];
                }
                s->when[n->id] = when;
                s->groups[n->id] = all;
                if (n->op == OP_REPEAT)
                        classify_repeat(s, n);
        }
}

/* --- readers of free values --- */

static void read_by(Split *s, const Node *n, uint64_t reader)
{
        uint64_t *known = &s->reader[n->id];
        *known = *known && *known != reader ? SEVERAL : reader;
}

static uint64_t reads_for(const Split *s, const Node *n)
{
        return s->when[n->id] == LATE ? CALLS : s->when[n->id] == EARLY ? s->groups[n->id] : s->reader[n->id];
}

static void find_readers(Split *s, const Body *body)
{
        for (int i = body->nnode - 1; i >= 0; i--) {
                const Node *n = body->node[i];
                const Region *r = n->op == OP_REPEAT ? n->attr.region : NULL;
                uint64_t reader = reads_for(s, n);
                for (int k = 0; reader && r && k < r->nbody; k++) {
                        for (int j = 0; j < r->ncarry; j++)
                                read_by(s, r->body[k]->next[j], reader);
                        for (int j = 0; j < r->nstack; j++)
                                read_by(s, r->body[k]->stack[j], reader);
                }
                for (int k = 0; r && k < r->nbody; k++)
                        find_readers(s, r->body[k]);
                for (int k = 0; reader && k < n->nin; k++)
                        read_by(s, n->in[k], reader);
        }
}

/* The part that reads each weight of a repeat; a weight with several readers is held by the calls. */
static bool find_held(Split *s, const Body *body, uint64_t *reader)
{
        bool changed = false;
        for (int i = 0; i < body->nnode; i++) {
                const Node *n = body->node[i];
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        changed |= find_held(s, n->attr.region->body[k], reader);
                if (n->op != OP_WEIGHT || n->attr.weight->nregion == 0 || !reads_for(s, n))
                        continue;
                int id = n->attr.weight->id;
                uint64_t now = reads_for(s, n);
                bool clash = now == SEVERAL || (reader[id] && reader[id] != now);
                reader[id] = now;
                changed |= clash && !s->held[id];
                s->held[id] |= clash;
        }
        return changed;
}

static void analyse(Split *s, uint64_t *reader)
{
        const Graph *g = s->g;
        do {
                memset(s->groups, 0, (size_t)s->n * sizeof *s->groups);
                memset(s->reader, 0, (size_t)s->n * sizeof *s->reader);
                memset(reader, 0, (size_t)g->nweight * sizeof *reader);
                phases_classify(s, g->top, FREE, 0);
                for (int i = 0; i < g->noutput; i++)
                        read_by(s, g->output[i].node, CALLS);
                find_readers(s, g->top);
        } while (find_held(s, g->top, reader));
}

/* --- parts --- */

static PhasePart *part_for(Split *s, uint64_t groups)
{
        for (int i = 0; i < s->npart; i++)
                if (s->part[i]->groups == groups)
                        return s->part[i];
        PhasePart *p = s->part[s->npart++] = NEW(s->arena, PhasePart);
        p->groups = groups;
        p->made = NEW_ARRAY(s->arena, Node *, s->n);
        p->region = NEW_ARRAY(s->arena, Region *, s->n);
        return p;
}

/* The number of sets of groups on which early values depend. */
static int count_sets(const Split *s)
{
        int n = 0;
        for (int i = 0; i < s->n; i++) {
                bool anew = s->when[i] == EARLY;
                for (int k = 0; anew && k < i; k++)
                        anew = s->when[k] != EARLY || s->groups[k] != s->groups[i];
                n += anew;
        }
        return n;
}

static Node *new_node(Split *s, PhasePart *p, Body *body, const Node *like, Op op, int nin, Node *const *in,
                      Attr attr)
{
        Node *n = node_new(s->g, body, op, nin, in, attr, like->type, like->span, like->where);
        n->name = like->name;
        if (p->groups && body == s->g->top) {
                body->nnode--;
                body_append(s->g, &p->top, n);
        }
        return n;
}

static int region_body_index(const Region *r, const Body *body)
{
        int k = 0;
        while (r->body[k] != body)
                k++;
        return k;
}

static Body *body_in(Split *s, PhasePart *p, Body *body);

/* A repeat's iterations in a part, with empty bodies. */
static Region *phases_share(Split *s, PhasePart *p, const Region *old)
{
        Region **made = &p->region[old->repeat->id];
        if (*made)
                return *made;
        Graph *g = s->g;
        Region *r = *made = NEW(g->arena, Region);
        *r = *old;
        r->ncarry = r->nstack = 0;
        r->name = arena_printf(g->arena, "%s_kept", old->name);
        r->body = NEW_ARRAY(g->arena, Body *, r->nbody);
        for (int k = 0; k < r->nbody; k++)
                r->body[k] = body_new(g, r);
        Body *around = body_in(s, p, old->repeat->body);
        r->repeat = new_node(s, p, around, old->repeat, OP_REPEAT, 0, NULL, (Attr){.region = r, .slot = -1});
        Body *list = old->repeat->body->region ? around : &p->top;
        list->nnode--;
        GROW(s->arena, p->share, p->nshare, p->cap_share);
        return p->share[p->nshare++] = r->repeat, r;
}

/* The body in which p makes the nodes of `body`. */
static Body *body_in(Split *s, PhasePart *p, Body *body)
{
        if (!body->region || !p->groups)
                return body;
        return phases_share(s, p, body->region)->body[region_body_index(body->region, body)];
}

/* --- values --- */

static Node *value_in(Split *s, PhasePart *p, Node *n);

static const char *kept_name(Arena *a, const Node *n)
{
        const char *name = n->name ? n->name : op_info[n->op].text;
        for (const Instance *i = n->where; i; i = i->outer)
                name = arena_printf(a, "%s.%s", i->name, name);
        return name;
}

/* The state that keeps n and is written by n's part. */
static StateVar *split_keep(Split *s, Node *n)
{
        Graph *g = s->g;
        StateVar *state = s->state[n->id];
        if (state)
                return state;
        state = s->state[n->id] = NEW(g->arena, StateVar);
        PhasePart *own = part_for(s, s->groups[n->id]);
        Node *value = value_in(s, own, n);
        *state = (StateVar){.id = g->nstate, .name = kept_name(g->arena, n), .type = n->type};
        state->groups = own->groups;
        state->axis = -1;
        state->slots = iteration_slots(g->arena, n->body, &state->slot_of);
        state->region = value->body->region;
        g->state = arena_grow(g->arena, g->state, g->nstate * (int64_t)sizeof *g->state,
                              (g->nstate + 1) * (int64_t)sizeof *g->state);
        g->state[g->nstate++] = state;
        new_node(s, own, body_in(s, own, n->body), n, OP_KEEP, 1, &value,
                 (Attr){.state = state, .axis = -1, .slot = -1});
        return state;
}

/* Moves a whole repeat to p. */
static Region *move_region(Split *s, PhasePart *p, const Node *n)
{
        Graph *g = s->g;
        const Region *old = n->attr.region;
        Region *r = p->region[n->id] = NEW(g->arena, Region);
        *r = *old;
        r->body = NEW_ARRAY(g->arena, Body *, r->nbody);
        for (int k = 0; k < r->nbody; k++)
                r->body[k] = body_new(g, r);
        for (int k = 0; k < r->nbody; k++) {
                const Body *from = old->body[k];
                Body *to = r->body[k];
                for (int i = 0; i < from->nnode; i++)
                        value_in(s, p, from->node[i]);
                to->next = NEW_ARRAY(g->arena, Node *, r->ncarry);
                to->stack = NEW_ARRAY(g->arena, Node *, r->nstack);
                for (int i = 0; i < r->ncarry; i++)
                        to->next[i] = value_in(s, p, from->next[i]);
                for (int i = 0; i < r->nstack; i++)
                        to->stack[i] = value_in(s, p, from->stack[i]);
        }
        return r;
}

static Node *copy_node(Split *s, PhasePart *p, Node *n)
{
        Node *in[256];
        Attr attr = n->attr;
        for (int i = 0; i < n->nin; i++)
                in[i] = value_in(s, p, n->in[i]);
        if (n->op == OP_REPEAT)
                attr.region = move_region(s, p, n);
        Node *made = new_node(s, p, body_in(s, p, n->body), n, n->op, n->nin, in, attr);
        if (n->op == OP_REPEAT)
                attr.region->repeat = made;
        return made;
}

/* The value of n in p, computed or read. */
static Node *value_in(Split *s, PhasePart *p, Node *n)
{
        Node **made = &p->made[n->id];
        bool others = s->when[n->id] == EARLY && s->groups[n->id] != p->groups;
        if (*made)
                return *made;
        if (!p->groups && !others)
                return n;
        if (others && n->op != OP_VIEW) {
                StateVar *state = split_keep(s, n);
                return *made = new_node(s, p, body_in(s, p, n->body), n, OP_KEPT, 0, NULL,
                                        (Attr){.state = state, .axis = -1, .slot = -1});
        }
        return *made = copy_node(s, p, n);
}

/* --- the calls --- */

/* Rebuilds a body of the calls: its late and free nodes, on kept values. */
static void rebuild(Split *s, PhasePart *calls, Body *body)
{
        Body old = *body;
        body->node = NULL;
        body->nnode = body->cap = 0;
        for (int i = 0; i < old.nnode; i++) {
                Node *n = old.node[i];
                const Region *r = n->op == OP_REPEAT ? n->attr.region : NULL;
                if (s->when[n->id] == EARLY)
                        continue;
                for (int k = 0; r && s->when[n->id] == LATE && k < r->nbody; k++) {
                        Body *inner = r->body[k];
                        rebuild(s, calls, inner);
                        for (int j = 0; j < r->ncarry; j++)
                                inner->next[j] = value_in(s, calls, inner->next[j]);
                        for (int j = 0; j < r->nstack; j++)
                                inner->stack[j] = value_in(s, calls, inner->stack[j]);
                }
                for (int k = 0; k < n->nin; k++)
                        n->in[k] = value_in(s, calls, n->in[k]);
                body_append(s->g, body, n);
        }
        for (int i = 0; !body->region && i < s->g->noutput; i++)
                s->g->output[i].node = value_in(s, calls, s->g->output[i].node);
}

/* Moves the weights of a repeat to the part that reads them. */
static void phases_weights(Split *s, const uint64_t *reader)
{
        for (int i = 0; i < s->g->nweight; i++) {
                Weight *w = s->g->weight[i];
                if (!reader[i] || reader[i] == CALLS)
                        continue;
                const PhasePart *p = part_for(s, reader[i]);
                for (int r = 0; r < w->nregion; r++) {
                        Region *made = p->region[w->region[r]->repeat->id];
                        w->region[r] = made ? made : w->region[r];
                }
        }
}

static int count_groups(uint64_t groups)
{
        int n = 0;
        for (; groups; groups &= groups - 1)
                n++;
        return n;
}

/* Orders the parts: those of fewer groups first, since those of more may read them; then the calls. */
static void join_parts(Split *s)
{
        Graph *g = s->g;
        Body calls = *g->top;
        g->top->node = NULL;
        g->top->nnode = g->top->cap = 0;
        g->part = NEW_ARRAY(g->arena, uint64_t, s->npart);
        for (int size = 1; size <= g->ngroup; size++)
                for (int i = 1; i < s->npart; i++) {
                        PhasePart *p = s->part[i];
                        if (count_groups(p->groups) != size)
                                continue;
                        for (int k = 0; k < p->nshare; k++) {
                                Node *repeat = p->share[k];
                                body_append(g, repeat->body == g->top ? &p->top : repeat->body, repeat);
                        }
                        for (int k = 0; k < p->top.nnode; k++)
                                body_append(g, g->top, p->top.node[k]);
                        g->part[g->npart++] = p->groups;
                }
        for (int i = 0; i < calls.nnode; i++)
                body_append(g, g->top, calls.node[i]);
}

bool phases(Graph *g)
{
        uint64_t early = g->ngroup <= MAX_GROUPS ? groups_fed_separately(g) : 0;
        for (int i = 0; i < g->noutput; i++)
                early = g->output[i].tap ? 0 : early; /* taps change no kernel */
        if (!early)
                return false;
        Arena scratch = {.out_of_memory = g->arena->out_of_memory};
        Split s = {.g = g, .arena = &scratch, .n = g->nnode, .early = early};
        s.when = NEW_ARRAY(&scratch, PhaseTime, s.n);
        s.groups = NEW_ARRAY(&scratch, uint64_t, s.n);
        s.reader = NEW_ARRAY(&scratch, uint64_t, s.n);
        s.state = NEW_ARRAY(&scratch, StateVar *, s.n);
        s.held = NEW_ARRAY(&scratch, bool, g->nweight);
        uint64_t *reader = NEW_ARRAY(&scratch, uint64_t, g->nweight);
        analyse(&s, reader);
        if (count_sets(&s) < MAX_PARTS) {
                g->fed_separately = early;
                PhasePart *calls = part_for(&s, 0);
                rebuild(&s, calls, g->top);
                phases_weights(&s, reader);
                join_parts(&s);
                prune(g);
        }
        arena_free(&scratch);
        return g->fed_separately;
}

/* --- the part of each node --- */

static uint64_t keeps_for(const Node *n)
{
        uint64_t groups = n->op == OP_KEEP ? n->attr.state->groups : 0;
        for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                for (int i = 0; i < n->attr.region->body[k]->nnode; i++)
                        groups |= keeps_for(n->attr.region->body[k]->node[i]);
        return groups;
}

static void belongs(uint64_t *part, const Body *body, uint64_t groups)
{
        for (int i = 0; i < body->nnode; i++) {
                const Node *n = body->node[i];
                for (int k = 0; k < n->nin; k++)
                        part[n->in[k]->id] |= groups;
                const Region *r = n->op == OP_REPEAT ? n->attr.region : NULL;
                for (int k = 0; r && k < r->nbody; k++) {
                        belongs(part, r->body[k], groups);
                        for (int j = 0; j < r->ncarry; j++)
                                part[r->body[k]->next[j]->id] |= groups;
                        for (int j = 0; j < r->nstack; j++)
                                part[r->body[k]->stack[j]->id] |= groups;
                }
        }
}

uint64_t *entry_parts(Arena *arena, const Graph *g)
{
        uint64_t *part = NEW_ARRAY(arena, uint64_t, g->nnode);
        for (int i = g->top->nnode - 1; g->npart > 0 && i >= 0; i--) {
                const Node *n = g->top->node[i];
                part[n->id] |= keeps_for(n);
                if (part[n->id])
                        belongs(part, &(Body){.node = (Node *[]){(Node *)n}, .nnode = 1}, part[n->id]);
        }
        return part;
}
