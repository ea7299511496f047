/* Mixtures: weights whose storage differs between the iterations of a repeat.
 *
 *   before                                   after
 *
 *   layer : 4   bodies 0 0 0 0               layer : 4   bodies 0 1 1 0
 *     v [4 slots]                              body 0   v [slots 0, 3]     q6_k
 *                                              body 1   v [slots 1, 2]     q4_k
 *
 * Two iterations share a body if the slots of each weight have the same kinds in both.  Otherwise one gets a
 * copy of the body, shared by all iterations with the same kinds.  A weight is split into one weight per
 * kind, with the same path.  So later passes see only weights of one storage, and repeats with several
 * bodies, as in models whose layers differ.
 *
 * Before: a graph as elaborated, with its taps.  After: the same graph, in place.  If a repeat would need
 * more bodies than Region.body_of can number (bytes), iterations share bodies nevertheless. */
#include <string.h>

#include "passes.h"

enum { MAX_MIXED_BODIES = 255, MIXED = 255 };

typedef struct {
        Graph *g;
        Arena scratch;
        const uint8_t *const *kind; /* [weight as elaborated][slot] */
        Region **made, **origin;    /* copies of inner repeats, and the originals */
        int nmade, cap_made, cap_origin;
        Weight **part; /* the weights after splitting */
        int *original; /* the weight from which it was split */
        uint8_t *part_kind;
        int npart, cap_part, cap_original, cap_kind;
        bool split;
} Mixture;

static const Region *mixture_region(const Mixture *m, const Region *r)
{
        for (int i = m->nmade - 1; i >= 0; i--)
                if (m->made[i] == r)
                        return mixture_region(m, m->origin[i]);
        return r;
}

static int64_t expert_iterations(const Weight *w)
{
        int64_t n = 1;
        for (int r = 0; r < w->nregion; r++)
                n *= w->region[r]->iterations;
        return n;
}

/* --- bodies ------------------------------------------------------------------------------------------------------- */

/* Whether weight w, whose region `at` is the repeat, has the same kinds in its iterations i and j. */
static bool same_kinds(const Mixture *m, const Weight *w, int at, int64_t i, int64_t j)
{
        const uint8_t *kind = m->kind[w->id];
        int64_t inner = 1, all = expert_iterations(w), n = w->region[at]->iterations;
        for (int r = at + 1; r < w->nregion; r++)
                inner *= w->region[r]->iterations;
        for (int64_t t = 0; t < all; t++) {
                if (t / inner % n != i)
                        continue;
                int32_t a = w->slot_of[t], b = w->slot_of[t + (j - i) * inner];
                if (a >= 0 && b >= 0 && kind[a] != kind[b])
                        return false;
        }
        return true;
}

static bool alike(const Mixture *m, const Region *r, int64_t i, int64_t j)
{
        const Region *origin = mixture_region(m, r);
        for (int k = 0; k < m->g->nweight; k++) {
                const Weight *w = m->g->weight[k];
                for (int at = 0; at < w->nregion; at++)
                        if (w->region[at] == origin && !same_kinds(m, w, at, i, j))
                                return false;
        }
        return true;
}

static Body *copy_body(Mixture *m, Node **copy, const Body *from, Region *region);

static Region *copy_region(Mixture *m, Node **copy, Region *from, Node *repeat)
{
        Arena *a = m->g->arena;
        Region *r = NEW(a, Region);
        *r = *from;
        r->repeat = repeat;
        r->body = NEW_ARRAY(a, Body *, r->nbody);
        r->body_of = NEW_ARRAY(a, uint8_t, r->iterations);
        memcpy(r->body_of, from->body_of, (size_t)r->iterations);
        GROW(&m->scratch, m->made, m->nmade, m->cap_made);
        GROW(&m->scratch, m->origin, m->nmade, m->cap_origin);
        m->made[m->nmade] = r;
        m->origin[m->nmade++] = from;
        for (int k = 0; k < r->nbody; k++)
                r->body[k] = copy_body(m, copy, from->body[k], r);
        return r;
}

static Node *mixture_copied(Node *const *copy, Node *n)
{
        return n && copy[n->id] ? copy[n->id] : n;
}

static Node **copied_all(const Mixture *m, Node *const *copy, Node *const *from, int n)
{
        Node **to = NEW_ARRAY(m->g->arena, Node *, n);
        for (int i = 0; i < n; i++)
                to[i] = mixture_copied(copy, from[i]);
        return to;
}

/* copy: the copies, by id of the original */
static Body *copy_body(Mixture *m, Node **copy, const Body *from, Region *region)
{
        Graph *g = m->g;
        Body *to = body_new(g, region);
        for (int i = 0; i < from->nnode; i++) {
                const Node *n = from->node[i];
                Node *own = copy[n->id] = NEW(g->arena, Node);
                *own = *n;
                own->id = g->nnode++;
                own->body = to;
                own->in = copied_all(m, copy, n->in, n->nin);
                if (n->op == OP_REPEAT)
                        own->attr.region = copy_region(m, copy, n->attr.region, own);
                body_append(g, to, own);
        }
        to->next = copied_all(m, copy, from->next, region->ncarry);
        to->stack = copied_all(m, copy, from->stack, region->nstack);
        to->nnamed = to->cap_named = from->nnamed;
        to->named = NEW_ARRAY(g->arena, ValueName, from->nnamed);
        for (int i = 0; i < from->nnamed; i++) {
                to->named[i] = from->named[i];
                to->named[i].node = mixture_copied(copy, from->named[i].node);
        }
        return to;
}

/* The body for an iteration: that of an earlier iteration with the same kinds, or else the iteration's own or
 * a copy. */
static int body_for(Mixture *m, Region *r, int64_t iteration, int *from, int64_t *first)
{
        int own = r->body_of[iteration];
        for (int k = 0; k < r->nbody; k++)
                if (from[k] == own && first[k] >= 0 && alike(m, r, first[k], iteration))
                        return k;
        int k = first[own] < 0 ? own : r->nbody;
        if (k == MAX_MIXED_BODIES)
                return own;
        if (k == r->nbody) {
                Node **copy = NEW_ARRAY(&m->scratch, Node *, m->g->nnode);
                r->body[r->nbody++] = copy_body(m, copy, r->body[own], r);
                m->split = true;
        }
        from[k] = own;
        first[k] = iteration;
        return k;
}

static void split_bodies(Mixture *m, const Body *b);

static void split_region(Mixture *m, Region *r)
{
        int from[MAX_MIXED_BODIES];
        int64_t first[MAX_MIXED_BODIES];
        Body **body = NEW_ARRAY(m->g->arena, Body *, MAX_MIXED_BODIES);
        uint8_t *body_of = NEW_ARRAY(m->g->arena, uint8_t, r->iterations);
        memcpy(body, r->body, (size_t)r->nbody * sizeof *body);
        r->body = body;
        for (int k = 0; k < MAX_MIXED_BODIES; k++)
                first[k] = -1;
        for (int64_t i = 0; i < r->iterations; i++)
                body_of[i] = (uint8_t)body_for(m, r, i, from, first);
        r->body_of = body_of;
        for (int k = 0; k < r->nbody; k++)
                split_bodies(m, r->body[k]);
}

static void split_bodies(Mixture *m, const Body *b)
{
        for (int i = 0; i < b->nnode; i++)
                if (b->node[i]->op == OP_REPEAT)
                        split_region(m, b->node[i]->attr.region);
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

/* Whether iteration t of weight w belongs to these bodies. */
static bool weight_reaches(const Weight *w, const Body *const *around, int64_t t)
{
        for (int r = w->nregion - 1; r >= 0; r--) {
                const Region *region = around[r]->region;
                if (region->body[region->body_of[t % region->iterations]] != around[r])
                        return false;
                t /= region->iterations;
        }
        return true;
}

/* The split weight of w with this kind, in these repeats (around NULL: its own); made if needed. */
static Weight *part_of_mixture(Mixture *m, const Weight *w, const Body *const *around, uint8_t kind)
{
        for (int i = 0; i < m->npart; i++) {
                bool same = m->original[i] == w->id && m->part_kind[i] == kind;
                for (int r = 0; r < w->nregion && same && around; r++)
                        same = m->part[i]->region[r] == around[r]->region;
                if (same)
                        return m->part[i];
        }
        Weight *part = NEW(m->g->arena, Weight);
        int64_t all = expert_iterations(w);
        *part = *w;
        for (int r = 0; r < w->nregion && around; r++)
                part->region[r] = around[r]->region;
        part->slot_of = NEW_ARRAY(m->g->arena, int32_t, all);
        memset(part->slot_of, 0xff, (size_t)all * sizeof *part->slot_of);
        GROW(&m->scratch, m->part, m->npart, m->cap_part);
        GROW(&m->scratch, m->original, m->npart, m->cap_original);
        GROW(&m->scratch, m->part_kind, m->npart, m->cap_kind);
        m->original[m->npart] = w->id;
        m->part_kind[m->npart] = kind;
        m->part[m->npart++] = part;
        return part;
}

/* Replaces the node's weight with the split weight of the node's iterations. */
static void take_part(Mixture *m, Node *n)
{
        const Weight *w = n->attr.weight;
        const Body *around[4], *b = n->body;
        int64_t all = expert_iterations(w);
        uint8_t kind = 0;
        bool found = false;
        for (int r = w->nregion - 1; r >= 0; r--) {
                while (mixture_region(m, b->region) != w->region[r])
                        b = b->region->repeat->body;
                around[r] = b;
        }
        for (int64_t t = 0; t < all; t++) {
                if (w->slot_of[t] < 0 || !weight_reaches(w, around, t))
                        continue;
                uint8_t own = m->kind[w->id][w->slot_of[t]];
                kind = !found || kind == own ? own : MIXED;
                found = true;
        }
        Weight *part = n->attr.weight = part_of_mixture(m, w, around, kind);
        for (int64_t t = 0; t < all; t++)
                if (w->slot_of[t] >= 0 && weight_reaches(w, around, t))
                        part->slot_of[t] = 0;
}

static void take_parts(Mixture *m, const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                Node *n = b->node[i];
                if (n->op == OP_WEIGHT && n->attr.weight->nregion > 0)
                        take_part(m, n);
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        take_parts(m, n->attr.region->body[k]);
        }
}

static Weight *part_with(const Mixture *m, int original, int64_t iteration)
{
        for (int i = 0; i < m->npart; i++)
                if (m->original[i] == original && m->part[i]->slot_of[iteration] >= 0)
                        return m->part[i];
        return NULL;
}

/* Weights that no node of a body reads are split too. */
static void keep_unread(Mixture *m, const Weight *w)
{
        int64_t all = expert_iterations(w);
        for (int64_t t = 0; t < all; t++)
                if (w->slot_of[t] >= 0 && !part_with(m, w->id, t))
                        part_of_mixture(m, w, NULL, MIXED)->slot_of[t] = 0;
}

static void number_part(const Mixture *m, Weight *w)
{
        int64_t all = expert_iterations(w);
        w->slots = 0;
        w->iteration_of = NEW_ARRAY(m->g->arena, int32_t, all);
        for (int64_t t = 0; t < all; t++)
                if (w->slot_of[t] >= 0) {
                        w->iteration_of[w->slots] = (int32_t)t;
                        w->slot_of[t] = (int32_t)w->slots++;
                }
}

/* A copy of an expression that several entries share, with the slots of one of them. */
static Node *entry_copied(Graph *g, const Node *n, const int32_t *slot)
{
        Node *copy = NEW(g->arena, Node);
        *copy = *n;
        copy->id = g->nnode++;
        copy->in = NEW_ARRAY(g->arena, Node *, n->nin);
        for (int i = 0; i < n->nin; i++)
                copy->in[i] = entry_copied(g, n->in[i], slot);
        if (n->op == OP_WEIGHT)
                copy->attr.slot = slot[n->attr.index];
        return copy;
}

static void separate_entries(Graph *g)
{
        for (int i = 0; i < g->nentry; i++)
                if (g->entry[i].slot) {
                        g->entry[i].expr = entry_copied(g, g->entry[i].expr, g->entry[i].slot);
                        g->entry[i].slot = NULL;
                }
}

/* Moves an entry of the checkpoint, which names slots, to the split weights. */
static void move_entry(const Mixture *m, Node *n, bool *seen)
{
        if (!n || seen[n->id])
                return;
        seen[n->id] = true;
        for (int i = 0; i < n->nin; i++)
                move_entry(m, n->in[i], seen);
        if (n->op != OP_WEIGHT || !n->attr.weight->nregion)
                return;
        const Weight *w = n->attr.weight;
        int32_t t = w->iteration_of[n->attr.slot < 0 ? 0 : n->attr.slot];
        n->attr.weight = part_with(m, w->id, t);
        n->attr.slot = n->attr.slot < 0 ? -1 : n->attr.weight->slot_of[t];
}

/* Lists the graph's weights: those outside repeats, and the split ones, each after the one before. */
static void list_weights(Mixture *m)
{
        Graph *g = m->g;
        Weight **all = NEW_ARRAY(g->arena, Weight *, g->nweight + m->npart);
        int n = 0;
        for (int i = 0; i < g->nweight; i++) {
                if (!g->weight[i]->nregion)
                        all[n++] = g->weight[i];
                for (int k = 0; k < m->npart; k++)
                        if (m->original[k] == i)
                                all[n++] = m->part[k];
        }
        g->weight = all;
        g->nweight = n;
        for (int i = 0; i < n; i++)
                all[i]->id = i;
}

void split_mixtures(Graph *g, const uint8_t *const *kind)
{
        Mixture m = {.g = g, .kind = kind, .scratch = {.out_of_memory = g->arena->out_of_memory}};
        split_bodies(&m, g->top);
        if (m.split) {
                take_parts(&m, g->top);
                for (int i = 0; i < g->nweight; i++)
                        if (g->weight[i]->nregion)
                                keep_unread(&m, g->weight[i]);
                for (int i = 0; i < m.npart; i++)
                        number_part(&m, m.part[i]);
                separate_entries(g);
                bool *seen = NEW_ARRAY(&m.scratch, bool, g->nnode);
                for (int i = 0; i < g->nentry; i++)
                        move_entry(&m, g->entry[i].expr, seen);
                list_weights(&m);
        }
        arena_free(&m.scratch);
}
