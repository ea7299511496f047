/* Storage of graphs: graphs, bodies, nodes, the op table, and the names of weights' slots. */
#include "graph.h"

#include <string.h>

const OpInfo op_info[OP_COUNT] = {
#define OP(name, text, family, min_in, max_in, result, vector, equation)                                     \
        [OP_##name] = {#name, text, family, min_in, max_in, result, vector, equation},
#include "ops.def"
#undef OP
};

const StorageInfo storage_info[STORAGE_COUNT] = {
#define STORAGE(name, ...) {#name, __VA_ARGS__},
#include "storage.def"
#undef STORAGE
};

bool is_in_blocks(Storage s)
{
        return storage_info[s].values > 1;
}

int storage_steps(Storage s)
{
        return is_in_blocks(s) ? storage_info[s].values / 16 : 1;
}

bool storage_is_narrow(Storage s)
{
        return s == STORAGE_F16 || s == STORAGE_BF16 || (is_in_blocks(s) && !storage_info[s].codes);
}

bool graph_has_blocks(const Graph *g)
{
        for (int i = 0; i < g->nweight; i++)
                if (storage_info[g->weight[i]->storage].codes)
                        return true;
        return false;
}

int64_t storage_size(Storage s, int64_t elements)
{
        const StorageInfo *info = &storage_info[s];
        return (elements + info->values - 1) / info->values * info->bytes;
}

int64_t storage_elements(Storage s, int64_t bytes)
{
        return bytes / storage_info[s].bytes * storage_info[s].values;
}

Graph *graph_new(Arena *arena, const char *name)
{
        Graph *g = NEW(arena, Graph);
        g->arena = arena;
        g->name = name;
        g->time = g->past = -1;
        g->top = body_new(g, NULL);
        return g;
}

/* The body is not added to region->body: the elaborator makes one for each iteration and keeps the
 * distinct ones. */
Body *body_new(Graph *g, Region *region)
{
        Body *body = NEW(g->arena, Body);
        body->region = region;
        return body;
}

void body_append(Graph *g, Body *body, Node *n)
{
        GROW(g->arena, body->node, body->nnode, body->cap);
        body->node[body->nnode++] = n;
}

Node *node_new(Graph *g, Body *body, Op op, int nin, Node *const *in, Attr attr, Type type, Span span,
               Instance *where)
{
        Node *n = NEW(g->arena, Node);
        *n = (Node){.op = op, .id = g->nnode++, .nin = nin, .attr = attr, .type = type};
        n->body = body;
        n->span = span;
        n->where = where;
        n->in = NEW_ARRAY(g->arena, Node *, nin);
        if (nin)
                memcpy(n->in, in, (size_t)nin * sizeof *in);
        for (int i = 0; i < nin; i++)
                n->depth = in[i]->depth >= n->depth ? in[i]->depth + 1 : n->depth;
        g->deepest = n->depth > g->deepest ? n->depth : g->deepest;
        n->position = position_of_result(n);
        body_append(g, body, n);
        return n;
}

uint64_t output_bit(const Graph *g, int output)
{
        if (g->output[output].tap)
                return WANTED_BY_TAPS;
        int before = 0;
        for (int i = 0; i < output; i++)
                before += !g->output[i].tap;
        return UINT64_C(1) << (before < 62 ? before : 62); /* outputs from the 63rd on share a bit */
}

bool is_tapped(const Graph *g, const Node *n)
{
        return g->wanted && g->wanted[n->id] == WANTED_BY_TAPS;
}

bool is_fed_separately(const Graph *g, int group)
{
        return g->fed_separately && (g->fed_separately >> group & 1);
}

bool is_visible_from(const Node *n, const Body *from)
{
        while (from && from != n->body)
                from = from->region && from->region->repeat ? from->region->repeat->body : NULL;
        return from != NULL;
}

int64_t iteration_slots(Arena *a, const Body *body, const int32_t **slot_of)
{
        int64_t iterations = 1, slots = 0;
        for (const Region *r = body->region; r; r = r->repeat->body->region)
                iterations *= r->iterations;
        int32_t *slot = NEW_ARRAY(a, int32_t, iterations);
        for (int64_t iteration = 0; iteration < iterations; iteration++) {
                int64_t rest = iteration;
                bool taken = true;
                for (const Body *b = body; b->region; b = b->region->repeat->body) {
                        const Region *r = b->region;
                        taken = taken && r->body[r->body_of[rest % r->iterations]] == b;
                        rest /= r->iterations;
                }
                slot[iteration] = taken ? (int32_t)slots++ : -1;
        }
        *slot_of = slots < iterations ? slot : NULL;
        return slots;
}

double literal_at(const Node *n, int64_t iteration, int64_t i)
{
        const Literal *literal = n->attr.literal;
        return literal->value[(literal->iterations > 1 ? iteration * literal->count : 0) + i];
}

void weight_iterations(const Weight *w, int64_t slot, int64_t iteration[4])
{
        int64_t rest = w->nregion ? w->iteration_of[slot] : 0;
        for (int r = w->nregion - 1; r >= 0; r--) {
                iteration[r] = rest % w->region[r]->iterations;
                rest /= w->region[r]->iterations;
        }
}

const char *weight_slot_name(Arena *a, const Weight *w, int64_t slot)
{
        if (w->nregion == 0)
                return w->path;
        int64_t iteration[4];
        weight_iterations(w, slot, iteration);
        const char *name = "";
        for (int p = 0, r = 0; p < w->npart; p++) {
                name = arena_printf(a, "%s%s%s", name, p ? "." : "", w->part[p]);
                if (r < w->nregion && w->region_part[r] == p)
                        name = arena_printf(a, "%s.%lld", name, (long long)iteration[r++]);
        }
        return name;
}

const Loop *graph_loop(const Graph *g, const char *name)
{
        for (int i = 0; i < g->nloop; i++)
                if (!strcmp(g->loop[i].name, name))
                        return &g->loop[i];
        return NULL;
}

const Setting *loop_setting(const Loop *l, const char *name)
{
        for (int i = 0; l && i < l->nsetting; i++)
                if (!strcmp(l->setting[i].name, name))
                        return &l->setting[i];
        return NULL;
}

const char *loop_text_setting(const Loop *l, const char *name)
{
        const Setting *s = loop_setting(l, name);
        return s && s->kind == SETTING_TEXT ? s->text : NULL;
}

const int32_t *loop_tokens(const Graph *g, const char *setting)
{
        const Setting *s = loop_setting(graph_loop(g, "generate"), setting);
        bool one = s && s->kind == SETTING_NUMBER;
        int n = one ? 1 : s && s->kind == SETTING_LIST ? s->nlist : 0;
        int32_t *token = NEW_ARRAY(g->arena, int32_t, n + 1);
        for (int i = 0; i < n; i++)
                token[i] = (int32_t)(one ? s->number : s->list[i]);
        token[n] = -1;
        return token;
}

double loop_number_setting(const Loop *l, const char *name, double without)
{
        const Setting *s = loop_setting(l, name);
        return s ? s->number : without;
}

int32_t start_token(const Graph *g)
{
        int32_t token = *loop_tokens(g, "start");
        return token >= 0 ? token : g->input[0].bound > 1;
}
