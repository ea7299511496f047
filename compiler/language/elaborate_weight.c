/* Weights: their paths, and which iteration of which repeat has which.
 *
 * A path is the names of the instances down to the one whose body declares the weight.  The same path in
 * another iteration of a repeat is another slot of the same weight.  If its shape differs from iteration to iteration, each
 * shape is a weight of its own, with the iterations that have it.
 *
 * An iteration that turns out to repeat a body known already, or is elaborated anew, is undone through a list of
 * changes. */
#include "elaborate_private.h"

#include <string.h>

enum { MAX_PATH = 4000 };

static uint64_t hash64(uint64_t x)
{
        x = (x ^ (x >> 32)) * 0x9e3779b97f4a7c15u;
        return x ^ (x >> 29);
}

PathScope *path_new(Elaborator *e, const char *name, Span span)
{
        PathScope *path = NEW(e->arena, PathScope);
        path->outer = e->path;
        path->name = name;
        path->id = path->identity = ++e->next_id;
        path->span = span;
        return path;
}

/* ---- names of instances ---- */

static int64_t instance_bucket(const Elaborator *e, int64_t parent, const char *name)
{
        return (int64_t)(hash64((uint64_t)parent ^ (uint64_t)(uintptr_t)name << 20) &
                         (uint64_t)(e->instance_cap - 1));
}

static void enter_instance(Elaborator *e, int64_t i)
{
        InstanceName *entry = &e->instance[i];
        int64_t *bucket = &e->instance_bucket[instance_bucket(e, entry->parent, entry->name)];
        entry->next = *bucket;
        *bucket = i;
}

static void grow_instances(Elaborator *e)
{
        int64_t capacity = e->instance_cap ? 2 * e->instance_cap : 64;
        e->instance = arena_grow(e->keep, e->instance, e->ninstance * (int64_t)sizeof *e->instance,
                                 capacity * (int64_t)sizeof *e->instance);
        e->instance_bucket = NEW_ARRAY(e->keep, int64_t, capacity);
        e->instance_cap = capacity;
        memset(e->instance_bucket, 0xff, (size_t)capacity * sizeof *e->instance_bucket);
        for (int64_t i = 0; i < e->ninstance; i++)
                enter_instance(e, i);
}

/* Entries are removed in reverse order of insertion, so each is the head of its bucket. */
void instance_names_pop(Elaborator *e, int64_t mark)
{
        while (e->ninstance > mark) {
                const InstanceName *last = &e->instance[--e->ninstance];
                e->instance_bucket[instance_bucket(e, last->parent, last->name)] = last->next;
        }
}

static bool list_one(Elaborator *e, const PathScope *path)
{
        if (e->instance_cap == 0 || e->ninstance == e->instance_cap)
                grow_instances(e);
        int64_t i = e->instance_bucket[instance_bucket(e, path->outer->id, path->name)];
        for (; i >= 0; i = e->instance[i].next) {
                const InstanceName *known = &e->instance[i];
                if (known->parent != path->outer->id || known->name != path->name)
                        continue;
                if (known->identity == path->identity)
                        return true;
                poisoned(e, path->span, "a second instance with weights is called %s here", path->name);
                diag_note(e->diag, known->span, "the first");
                diag_hint(e->diag, "give one of them another name: `as NAME` after the call");
                return false;
        }
        e->instance[e->ninstance] =
                (InstanceName){path->outer->id, path->identity, path->name, path->span, -1};
        enter_instance(e, e->ninstance++);
        return true;
}

/* Registers an instance with weights in its outer ones.  False: its name is taken. */
bool list_instance(Elaborator *e, const PathScope *path)
{
        for (const PathScope *p = path; p; p = p->outer)
                if (p->shared)
                        return true;
        for (; path->outer; path = path->outer)
                if (!list_one(e, path))
                        return false;
        return true;
}

/* ---- weights by path ---- */

static Weight **path_slot(const Elaborator *e, const char *path, int64_t *at)
{
        int64_t mask = e->by_path_slots - 1;
        *at = (int64_t)(hash64((uint64_t)(uintptr_t)path) & (uint64_t)mask);
        return e->by_path;
}

static void enter_weight(Elaborator *e, Weight *w)
{
        int64_t at;
        Weight **table = path_slot(e, w->path, &at);
        while (table[at])
                at = (at + 1) & (e->by_path_slots - 1);
        table[at] = w;
}

static void rebuild_table(Elaborator *e, int64_t slots)
{
        if (slots != e->by_path_slots)
                e->by_path = NEW_ARRAY(e->keep, Weight *, slots);
        else
                memset(e->by_path, 0, (size_t)slots * sizeof(Weight *));
        e->by_path_slots = slots;
        for (int i = 0; i < e->g->nweight; i++)
                enter_weight(e, e->g->weight[i]);
}

static void elaborator_add_weight(Elaborator *e, Weight *w)
{
        GROW(e->keep, e->g->weight, e->g->nweight, e->weight_cap);
        w->id = e->g->nweight;
        e->g->weight[e->g->nweight++] = w;
        if (2 * (int64_t)e->g->nweight > e->by_path_slots)
                rebuild_table(e, e->by_path_slots ? 2 * e->by_path_slots : 64);
        else
                enter_weight(e, w);
}

/* ---- slots ---- */

typedef struct {
        int n;
        const PathScope *scope[MAX_REGIONS]; /* outermost first */
        int part[MAX_REGIONS];
        int nparts;
        int64_t iterations, iteration; /* of all regions together, outermost slowest */
} SlotPlace;

static SlotPlace slot_place(const PathScope *path)
{
        const PathScope *chain[MAX_DEPTH * 2 + MAX_REGIONS];
        int depth = 0;
        SlotPlace place = {.iterations = 1};
        for (; path && path->outer; path = path->outer)
                if (depth < (int)(sizeof chain / sizeof *chain))
                        chain[depth++] = path;
        place.nparts = depth + 1;
        for (int i = 0; i < depth; i++) {
                const PathScope *scope = chain[depth - 1 - i];
                if (!scope->region)
                        continue;
                place.part[place.n] = i;
                place.scope[place.n++] = scope;
                place.iterations *= scope->region->iterations;
                place.iteration = place.iteration * scope->region->iterations + scope->iteration;
        }
        return place;
}

static bool same_place(const Weight *w, const SlotPlace *place)
{
        if (w->nregion != place->n)
                return false;
        for (int i = 0; i < place->n; i++)
                if (w->region[i]->iterations != place->scope[i]->region->iterations)
                        return false;
        return true;
}

static bool has_slot(const Weight *w, const SlotPlace *place)
{
        int64_t iteration = 0;
        if (w->nregion == 0 || place->n != w->nregion)
                return w->slots > 0;
        for (int i = 0; i < place->n; i++) {
                if (place->scope[i]->iteration >= w->region[i]->iterations)
                        return false;
                iteration = iteration * w->region[i]->iterations + place->scope[i]->iteration;
        }
        return w->slot_of[iteration] >= 0;
}

static void weight_take_slot(Elaborator *e, Weight *w, int64_t iteration)
{
        if (w->slot_of)
                w->slot_of[iteration] = 0;
        w->slots++;
        GROW(e->keep, e->change, e->nchange, e->change_cap);
        e->change[e->nchange++] = (Change){w, iteration};
}

int64_t changes_mark(const Elaborator *e)
{
        return e->nchange;
}

/* Undoes all changes after the mark, and removes weights without slots. */
void changes_undo(Elaborator *e, int64_t mark, int64_t instances)
{
        int nweight = e->g->nweight;
        while (e->nchange > mark) {
                Change c = e->change[--e->nchange];
                if (c.weight->slot_of)
                        c.weight->slot_of[c.index] = -1;
                c.weight->slots--;
        }
        while (e->g->nweight > 0 && e->g->weight[e->g->nweight - 1]->slots == 0)
                e->g->nweight--;
        if (e->g->nweight < nweight)
                rebuild_table(e, e->by_path_slots);
        instance_names_pop(e, instances);
}

void changes_repeat(Elaborator *e, int64_t from, int64_t to, int depth, int64_t later)
{
        for (int64_t i = from; i < to; i++) {
                Weight *w = e->change[i].weight;
                int64_t step = later;
                for (int r = depth + 1; r < w->nregion; r++)
                        step *= w->region[r]->iterations;
                if (w->nregion > depth) /* else iterations share it */
                        weight_take_slot(e, w, e->change[i].index + step);
        }
}

/* ---- numbering ---- */

/* The body in which a region is repeated, without the alongs between. */
static const Body *repeat_body(const Region *region)
{
        const Body *body = region->repeat->body;
        while (body->region && body->region->along)
                body = body->region->repeat->body;
        return body;
}

/* Whether these iterations belong to the regions of w.  A repeat in two distinct bodies of the outer one
 * is two regions, each with its own iterations. */
static bool iteration_is_mapped(const Weight *w, int64_t iteration)
{
        int64_t at[MAX_REGIONS];
        for (int r = w->nregion - 1; r >= 0; r--) {
                at[r] = iteration % w->region[r]->iterations;
                iteration /= w->region[r]->iterations;
        }
        for (int r = 0; r + 1 < w->nregion; r++)
                if (repeat_body(w->region[r + 1]) != w->region[r]->body[w->region[r]->body_of[at[r]]])
                        return false;
        return true;
}

static int64_t iteration_count(const Weight *w)
{
        int64_t iterations = 1;
        for (int r = 0; r < w->nregion; r++)
                iterations *= w->region[r]->iterations;
        return iterations;
}

/* The weight of w's path in these regions: w itself, or a part that takes over their iterations. */
static Weight *weight_in(Elaborator *e, Weight *w, Region *const *region)
{
        size_t size = (size_t)w->nregion * sizeof *region;
        for (int i = w->id; i < e->g->nweight; i++) {
                Weight *part = e->g->weight[i];
                if (part->path == w->path && type_equal(&part->type, &w->type) &&
                    part->nregion == w->nregion && memcmp(part->region, region, size) == 0)
                        return part;
        }
        Weight *part = NEW(e->keep, Weight);
        int64_t iterations = iteration_count(w);
        *part = *w;
        memcpy(part->region, region, size);
        part->slot_of = NEW_ARRAY(e->keep, int32_t, iterations);
        memset(part->slot_of, 0xff, (size_t)iterations * sizeof *part->slot_of);
        for (int64_t t = 0; t < iterations; t++)
                if (w->slot_of[t] >= 0 && iteration_is_mapped(part, t)) {
                        part->slot_of[t] = 0;
                        w->slot_of[t] = -1;
                }
        elaborator_add_weight(e, part);
        return part;
}

/* A weight has one list of regions: those of a repeat within a shared block are of one call, and of no outer repeat. */
static void refuse_shared_repeat(Elaborator *e, const Node *n, const Weight *w)
{
        if (!w->shared_regions)
                return;
        diag_error(
                e->diag, n->span,
                "the shared block of %s has a repeat with weights, so it can be called only once, and in no "
                "repeat around it",
                w->path);
        diag_hint(e->diag, "write the repeat outside of the block, with a shared block of one iteration");
}

/* Weights whose iterations have all become those of another call. */
static void check_slots_left(Elaborator *e, const Body *body)
{
        for (int i = 0; i < body->nnode; i++) {
                const Node *n = body->node[i];
                if (n->op == OP_WEIGHT && n->attr.weight->nregion > 0 && n->attr.weight->slots == 0)
                        refuse_shared_repeat(e, n, n->attr.weight);
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        check_slots_left(e, n->attr.region->body[k]);
        }
}

static void part_weights(Elaborator *e, const Body *body, Region **region, int depth)
{
        for (int i = 0; i < body->nnode; i++) {
                Node *n = body->node[i];
                if (n->op == OP_WEIGHT && n->attr.weight->nregion > 0) {
                        if (n->attr.weight->nregion != depth)
                                refuse_shared_repeat(e, n, n->attr.weight);
                        n->attr.weight = weight_in(e, n->attr.weight, region);
                }
                if (n->op != OP_REPEAT)
                        continue;
                region[depth] = n->attr.region;
                const int inner = depth + !n->attr.region->along; /* an along has no slot for each position */
                for (int k = 0; k < n->attr.region->nbody; k++)
                        part_weights(e, n->attr.region->body[k], region, inner);
        }
}

/* Numbers slots in the order of their iterations. */
void number_slots(Elaborator *e)
{
        Region *region[MAX_REGIONS + 1];
        part_weights(e, e->g->top, region, 0);
        for (int i = 0; i < e->g->nweight; i++) {
                Weight *w = e->g->weight[i];
                if (!w->slot_of)
                        continue;
                int64_t iterations = iteration_count(w), slots = 0;
                w->iteration_of = NEW_ARRAY(e->keep, int32_t, iterations);
                for (int64_t t = 0; t < iterations; t++)
                        if (w->slot_of[t] >= 0) {
                                w->iteration_of[slots] = (int32_t)t;
                                w->slot_of[t] = (int32_t)slots++;
                        }
                w->slots = slots;
        }
        check_slots_left(e, e->g->top);
}

/* ---- declaring ---- */

static const char *path_text(Elaborator *e, const PathScope *scope, const char *name)
{
        char buffer[MAX_PATH];
        size_t at = sizeof buffer, n = strlen(name);
        if (n >= at)
                return NULL;
        memcpy(buffer + (at -= n), name, n);
        for (; scope && scope->outer; scope = scope->outer) {
                n = strlen(scope->name);
                if (n + 1 >= at)
                        return NULL;
                buffer[--at] = '.';
                memcpy(buffer + (at -= n), scope->name, n);
        }
        return intern(e->program->names, buffer + at, (int)(sizeof buffer - at));
}

static Weight *weight_new(Elaborator *e, const char *path, const char *name, const SlotPlace *place,
                          const Type *type, Span span)
{
        Weight *w = NEW(e->keep, Weight);
        w->path = path;
        w->type = *type;
        w->span = span;
        w->npart = place->nparts;
        w->part = NEW_ARRAY(e->keep, const char *, place->nparts);
        int part = place->nparts - 1;
        w->part[part] = name;
        for (const PathScope *s = e->path; s && s->outer; s = s->outer)
                w->part[--part] = s->name;
        w->nregion = place->n;
        for (int i = 0; i < place->n; i++) {
                w->region[i] = place->scope[i]->region;
                w->region_part[i] = place->part[i];
        }
        if (place->n > 0) {
                w->slot_of = NEW_ARRAY(e->keep, int32_t, place->iterations);
                memset(w->slot_of, 0xff, (size_t)place->iterations * sizeof *w->slot_of);
        }
        elaborator_add_weight(e, w);
        return w;
}

static bool same_centre(const Weight *w, double centre, const double *values)
{
        if (w->centre != centre || !w->centre_values != !values)
                return false;
        return !values ||
               memcmp(values, w->centre_values, (size_t)type_count(&w->type, NULL) * sizeof *values) == 0;
}

static bool path_is_shared(const PathScope *path)
{
        for (; path; path = path->outer)
                if (path->shared)
                        return true;
        return false;
}

/* The regions between a weight and its shared block. */
static int regions_within(const PathScope *path)
{
        int n = 0;
        for (; path; n += path->region != NULL, path = path->outer)
                if (path->of_shared)
                        return n;
        return 0;
}

static Node *use_weight(Elaborator *e, Weight *w, Span span)
{
        Node *n = node_new(e->g, e->body, OP_WEIGHT, 0, NULL, (Attr){.weight = w, .slot = -1}, w->type, span,
                           e->where);
        n->name = w->part[w->npart - 1];
        return n;
}

Node *weight_node(Elaborator *e, const char *name, const Type *type, double centre, const double *values,
                  Span span)
{
        const char *path = path_text(e, e->path, name);
        if (!path)
                return poisoned(e, span, "the path of this weight is too long").tensor;
        bool shared = path_is_shared(e->path);
        if (!shared && !list_instance(e, e->path))
                return NULL;
        SlotPlace place = slot_place(e->path);
        if (!type_is_bounded(e->g, type, place.iterations))
                return poisoned(e, span,
                                "the weight %s of shape %s has too many elements in %lld iterations: more "
                                "than "
                                "2^42",
                                path, type_text(e->diag->arena, e->g, type), (long long)place.iterations)
                        .tensor;
        Weight *found = NULL;
        int64_t at = 0;
        if (e->by_path_slots)
                path_slot(e, path, &at);
        for (; e->by_path_slots && e->by_path[at]; at = (at + 1) & (e->by_path_slots - 1)) {
                Weight *w = e->by_path[at];
                if (w->path != path)
                        continue;
                if (has_slot(w, &place)) {
                        if (shared && type_equal(&w->type, type))
                                return use_weight(e, w, span);
                        poisoned(e, span,
                                 shared ? "the shared weight %s has another shape in another call"
                                        : "the weight %s is declared twice",
                                 path);
                        diag_note(e->diag, w->span, "first here, as %s",
                                  type_text(e->diag->arena, e->g, &w->type));
                        return NULL;
                }
                if (same_place(w, &place) && type_equal(&w->type, type) && same_centre(w, centre, values))
                        found = w;
        }
        if (!found) {
                found = weight_new(e, path, name, &place, type, span);
                found->centre = centre;
                found->centre_values = values;
                found->shared_regions = regions_within(e->path);
        }
        weight_take_slot(e, found, place.iteration);
        return use_weight(e, found, span);
}

/* ---- the tree of paths ---- */

static PathNode *path_child(Elaborator *e, PathNode *outer, const char *name)
{
        PathNode **link = &outer->child;
        for (; *link; link = &(*link)->next)
                if ((*link)->name == name)
                        return *link;
        PathNode *p = *link = NEW(e->keep, PathNode);
        p->name = name;
        p->outer = outer;
        return p;
}

PathNode *path_tree(Elaborator *e)
{
        PathNode *root = NEW(e->keep, PathNode);
        root->name = e->g->name;
        for (int i = 0; i < e->g->nweight; i++) {
                Weight *w = e->g->weight[i];
                PathNode *p = root;
                for (int k = 0, r = 0; k < w->npart; k++) {
                        p = path_child(e, p, interned(e, w->part[k]));
                        if (r < w->nregion && w->region_part[r] == k) {
                                p->is_region = true;
                                p->iterations = w->region[r]->iterations > p->iterations
                                                        ? w->region[r]->iterations
                                                        : p->iterations;
                                r++;
                        }
                }
                if (!p->weight)
                        p->weight = w;
        }
        return root;
}
