/* The blocks of a graph, for a drawing at the level of formulas.
 *
 * A node belongs to the innermost drawn instance of a block, or is drawn separately.  An instance is drawn as
 * a group of inner instances if two of these contain products or repeats (attention: q, k, v, dot_product,
 * out), else as one block (a norm).  A repeat is a group with each distinct body once.  Nodes that only move
 * elements are not drawn, only the flow through them.  Nodes that depend on no input (tables, weights) are
 * omitted: weights are named in the block that reads them.
 *
 *      x = x + attention(norm(x))         norm ──► attention ──► +
 *                                     x ────────────────────────► */
#include <inttypes.h>

#include "graph_private.h"

typedef struct {
        const Instance *where;
        const Body *body;
        bool is_group, holds; /* holds: contains a product, a scan or a repeat */
        int parts;            /* number of direct inner instances with `holds` */
        GraphBlock *block;    /* its block, once made */
} InstancePart;

typedef struct {
        BlockGraph *to;
        const Graph *g;
        const Stage *stage;
        int *readers;       /* by id: nodes that read it, also through views */
        Node **from;        /* by id: the node whose value it is, through views; NULL: not drawn */
        GraphBlock **block; /* by id */
        GraphBlock **state; /* by StateVar.id */
        InstancePart *part;
        int npart, cap_part;
} Making;

/* --- drawn nodes ------------------------------------------------------------------------------------------------------ */

static bool is_scalar(const Node *n, double value)
{
        return n->op == OP_CONST && n->type.rank == 0 && n->attr.literal->iterations == 1 &&
               n->attr.literal->value[0] == value;
}

static bool depends_on_input(const Making *m, const Node *n)
{
        return n->op == OP_CARRY || m->stage[n->id].groups || m->stage[n->id].state;
}

/* The input that n passes on unchanged; -1: it computes a value. */
static int passed_on(const Node *n)
{
        switch (n->op) {
        case OP_VIEW:
        case OP_REAL_OF: return 0;
        case OP_MUL: return is_scalar(n->in[0], 1) ? 1 : is_scalar(n->in[1], 1) ? 0 : -1;
        case OP_ADD: return is_scalar(n->in[0], 0) ? 1 : is_scalar(n->in[1], 0) ? 0 : -1;
        default: return -1;
        }
}

static int body_index(const Body *b)
{
        int k = 0;
        while (b->region->body[k] != b)
                k++;
        return k;
}

/* Distinct bodies of a repeat are drawn one after another: results of one are carried to the next. */
static const Node *carried_from(const Node *carry)
{
        const Region *r = carry->body->region;
        const int k = body_index(carry->body), index = carry->attr.index;
        return k ? r->body[k - 1]->next[index] : r->repeat->in[index];
}

static void find_sources(Making *m, const Body *b)
{
        for (int i = 0; i < b->nnode; i++) {
                Node *n = b->node[i];
                const int through = passed_on(n);
                if (through >= 0)
                        m->from[n->id] = m->from[n->in[through]->id];
                else if (n->op == OP_CARRY)
                        m->from[n->id] = m->from[carried_from(n)->id];
                else if (depends_on_input(m, n) && n->op != OP_READ)
                        m->from[n->id] = n;
                for (int k = 0; k < n->nin && through < 0; k++)
                        if (m->from[n->in[k]->id])
                                m->readers[m->from[n->in[k]->id]->id]++;
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        find_sources(m, n->attr.region->body[k]);
        }
}

/* --- instances -------------------------------------------------------------------------------------------------------- */

static const Instance *base_of_body(const Body *b)
{
        return b->region ? b->region->repeat->where : NULL;
}

/* An instance, and the innermost of those that are the whole of it, whose block is the most specific:
 * rmsnorm for ln1 = before(x) = norm(x) = rmsnorm(x). */
typedef struct {
        const Instance *where, *whole;
} Link;

/* The instances of a node within its body, outermost first; returns their number. */
static int chain_of(const Node *n, Link *chain)
{
        const Instance *base = base_of_body(n->body), *whole = NULL;
        int depth = 0, at;
        for (const Instance *w = n->where; w && w != base; w = w->outer)
                depth += !w->is_whole;
        if (depth > MAX_NESTED_BLOCKS)
                return 0;
        at = depth;
        for (const Instance *w = n->where; w && w != base; w = w->outer) {
                whole = whole ? whole : w;
                if (w->is_whole)
                        continue;
                chain[--at] = (Link){w, whole};
                whole = NULL;
        }
        return depth;
}

static InstancePart *part_of_instance(Making *m, const Body *b, const Instance *where)
{
        for (int i = 0; i < m->npart; i++)
                if (m->part[i].where == where && m->part[i].body == b)
                        return &m->part[i];
        GROW(m->to->arena, m->part, m->npart, m->cap_part);
        m->part[m->npart] = (InstancePart){.where = where, .body = b};
        return &m->part[m->npart++];
}

static bool is_weighty(const Node *n)
{
        return n->op == OP_MATMUL || n->op == OP_SCAN || n->op == OP_SOFTMAX || n->op == OP_REPEAT;
}

static void find_groups(Making *m, const Body *b)
{
        Link chain[MAX_NESTED_BLOCKS];
        for (int i = 0; i < b->nnode; i++) {
                const Node *n = b->node[i];
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        find_groups(m, n->attr.region->body[k]);
                if (!is_weighty(n) || !depends_on_input(m, n))
                        continue;
                const int depth = chain_of(n, chain);
                for (int d = depth - 1; d >= 0; d--) {
                        InstancePart *p = part_of_instance(m, b, chain[d].where);
                        const bool is_new = !p->holds;
                        p->holds = true;
                        p->is_group |= n->op == OP_REPEAT;
                        if (is_new && d > 0)
                                part_of_instance(m, b, chain[d - 1].where)->parts++;
                }
        }
        for (int i = 0; i < m->npart; i++)
                m->part[i].is_group |= m->part[i].parts > 1;
}

/* Outer instances of groups become groups too. */
static void open_outer_groups(Making *m)
{
        for (int i = 0; i < m->npart; i++) {
                const Instance *base = base_of_body(m->part[i].body);
                const Instance *w = m->part[i].where->outer;
                for (; m->part[i].is_group && w && w != base; w = w->outer)
                        if (!w->is_whole)
                                part_of_instance(m, m->part[i].body, w)->is_group = true;
        }
}

/* --- blocks ----------------------------------------------------------------------------------------------------------- */

static GraphBlock *block_new(Making *m, BlockKind kind, GraphBlock *outer, const char *name)
{
        BlockGraph *to = m->to;
        GraphBlock *b = NEW(to->arena, GraphBlock);
        *b = (GraphBlock){.kind = kind,
                          .outer = outer,
                          .name = name ? name : "",
                          .colour = KIND_ELEMENTWISE,
                          .id = to->nblock};
        GROW(to->arena, to->block, to->nblock, to->cap_block);
        to->block[to->nblock++] = b;
        if (outer) {
                GROW(to->arena, outer->inside, outer->ninside, outer->cap_inside);
                outer->inside[outer->ninside++] = b;
        }
        return b;
}

static const char *block_title(Arena *a, Link l)
{
        const char *block = l.whole->block ? l.whole->block : l.where->block;
        return block && strcmp(l.where->name, block) != 0 ? arena_printf(a, "%s: %s", l.where->name, block)
                                                          : l.where->name;
}

/* The group of a node's instances, from its body on; *leaf: the instance that is drawn as one block, or
 * -1. */
static GraphBlock *block_group(Making *m, const Node *n, GraphBlock *group, int *leaf, Link *link)
{
        Link chain[MAX_NESTED_BLOCKS];
        const int depth = chain_of(n, chain);
        *leaf = -1;
        for (int d = 0; d < depth; d++) {
                const int index = (int)(part_of_instance(m, n->body, chain[d].where) - m->part);
                if (!m->part[index].is_group) {
                        *leaf = index;
                        *link = chain[d];
                        return group;
                }
                if (!m->part[index].block)
                        m->part[index].block =
                                block_new(m, BLOCK_GROUP, group, block_title(m->to->arena, chain[d]));
                group = m->part[index].block;
        }
        return group;
}

/* The only block of ops that n continues, if no other node reads its result. */
static GraphBlock *goes_on_from(const Making *m, const Node *n, const GraphBlock *group)
{
        GraphBlock *one = NULL;
        for (int i = 0; i < n->nin; i++) {
                const Node *from = m->from[n->in[i]->id];
                GraphBlock *b = from ? m->block[from->id] : NULL;
                if (!b)
                        continue;
                if (b->kind != BLOCK_OPS || b->outer != group || m->readers[from->id] > 1 ||
                    (one && one != b))
                        return NULL;
                one = b;
        }
        return one;
}

static void add_op(Arena *a, GraphBlock *b, const Node *n)
{
        const char *op = n->op == OP_GATHER && n->in[0]->op == OP_WEIGHT ? "lookup" : op_info[n->op].text;
        b->nop++;
        b->op = n->op;
        if (b->nop <= 4)
                b->ops = b->nop == 1 ? op : arena_printf(a, b->nop == 4 ? "%s, …" : "%s, %s", b->ops, op);
        if (n->name)
                b->name = n->name;
}

static DrawnKind kind_of_node(const Making *m, const Node *n)
{
        if (n->op == OP_SCAN)
                return KIND_SCAN;
        if (n->op != OP_MATMUL)
                return KIND_ELEMENTWISE;
        return m->from[n->in[0]->id] && m->from[n->in[1]->id] ? KIND_ATTENTION : KIND_PRODUCT;
}

static int rank_of_kind(DrawnKind k)
{
        return k == KIND_ATTENTION ? 3 : k == KIND_SCAN ? 2 : k == KIND_PRODUCT ? 1 : 0;
}

static void block_add_weight(Arena *a, const Graph *g, GraphBlock *b, const Weight *w)
{
        const char *text = arena_printf(a, "%s %s", w->part[w->npart - 1], type_text(a, g, &w->type));
        for (int i = 0; i < b->nweight; i++)
                if (b->weight[i] == w)
                        return;
        if (b->nweight < MAX_WEIGHTS)
                b->weight_text[b->nweight] = text;
        if (b->nweight < MAX_WEIGHTS)
                b->weight[b->nweight++] = w;
        else
                b->more_weights++;
}

static void add_flow(Making *m, GraphBlock *from, GraphBlock *to)
{
        BlockGraph *t = m->to;
        for (int i = 0; i < t->nflow; i++)
                if (t->flow[i].from == from && t->flow[i].to == to)
                        return;
        GROW(t->arena, t->flow, t->nflow, t->cap_flow);
        t->flow[t->nflow++] = (GraphFlow){from, to};
}

/* Adds weights, through views and constant computations. */
static void add_constants(Making *m, GraphBlock *b, const Node *n)
{
        if (n->op == OP_WEIGHT)
                block_add_weight(m->to->arena, m->g, b, n->attr.weight);
        for (int i = 0; i < n->nin && !m->from[n->id]; i++)
                add_constants(m, b, n->in[i]);
}

static void connect(Making *m, GraphBlock *b, const Node *n)
{
        for (int i = 0; i < n->nin; i++) {
                const Node *from = m->from[n->in[i]->id];
                if (!from)
                        add_constants(m, b, n->in[i]);
                else if (m->block[from->id] && m->block[from->id] != b)
                        add_flow(m, m->block[from->id], b);
        }
        b->shape = type_text(m->to->arena, m->g, &n->type);
}

static void blocks_of_body(Making *m, const Body *body, GraphBlock *group);

/* Names the bodies from `first` to `last`, which look alike: "layer × 26 (2 kinds)", "layer 0-4, 6-10, …:
 * 22 of 26". */
static void name_repeat(Arena *a, const Region *r, int first, int last, GraphBlock *b)
{
        const char *text = "", *kinds = last > first ? arena_printf(a, " (%d kinds)", last - first + 1) : "";
        int spans = 0;
        b->runs = 0;
        for (int64_t t = 0, end; t < r->iterations; t = end) {
                const bool is_in = r->body_of[t] >= first && r->body_of[t] <= last;
                for (end = t + 1; end < r->iterations; end++)
                        if ((r->body_of[end] >= first && r->body_of[end] <= last) != is_in)
                                break;
                if (!is_in)
                        continue;
                b->runs += end - t;
                if (++spans > 2)
                        continue;
                text = arena_printf(a, "%s%s%" PRId64, text, *text ? ", " : "", t);
                if (end > t + 1)
                        text = arena_printf(a, "%s-%" PRId64, text, end - 1);
        }
        b->name = b->runs == r->iterations
                          ? arena_printf(a, "%s × %" PRId64 "%s", r->name, r->iterations, kinds)
                          : arena_printf(a, "%s %s%s: %" PRId64 " of %" PRId64 "%s", r->name, text,
                                         spans > 2 ? ", …" : "", b->runs, r->iterations, kinds);
}

/* Replaces its blocks by those of the body before it. */
static void forget_body(Making *m, GraphBlock *last)
{
        for (int i = 0; i < m->g->nnode; i++)
                m->block[i] = counterpart(m->to, last, m->block[i]);
        for (int i = 0; i < m->g->nstate; i++)
                m->state[i] = counterpart(m->to, last, m->state[i]);
        drop_last_body(m->to, last);
}

static void make_repeat(Making *m, const Node *n, GraphBlock *group)
{
        const Region *r = n->attr.region;
        GraphBlock *drawn = NULL;
        for (int k = 0, first = 0; k < r->nbody; k++) {
                GraphBlock *b = block_new(m, BLOCK_REPEAT, group, r->name);
                blocks_of_body(m, r->body[k], b);
                if (drawn && blocks_look_alike(m->to, drawn, b)) {
                        forget_body(m, b);
                } else {
                        drawn = b;
                        first = k;
                }
                name_repeat(m->to->arena, r, first, k, drawn);
        }
}

/* A repeat's results are those of its last body. */
static void make_result(Making *m, const Node *n)
{
        const Region *r = n->in[0]->attr.region;
        const Body *last = r->body[r->nbody - 1];
        const int k = n->attr.index;
        const Node *from = m->from[(k < r->ncarry ? last->next[k] : last->stack[k - r->ncarry])->id];
        m->block[n->id] = from ? m->block[from->id] : NULL;
}

static void block_of_input(Making *m, const Node *n)
{
        const Input *in = &m->g->input[n->attr.index];
        m->block[n->id] = block_new(m, BLOCK_INPUT, m->to->top, input_name(in));
        m->block[n->id]->shape = type_text(m->to->arena, m->g, &n->type);
}

/* A state that one kind of call stores and another reads is one block. */
static GraphBlock *state_block(Making *m, const Node *n, GraphBlock *group)
{
        const StateVar *state = n->attr.state;
        if (!m->state[state->id]) {
                m->state[state->id] =
                        block_new(m, BLOCK_STATE, group, arena_printf(m->to->arena, "kept: %s", state->name));
                m->state[state->id]->colour = KIND_CARRIED;
        }
        return m->state[state->id];
}

static GraphBlock *leaf_of(Making *m, const Node *n, GraphBlock *group, int part, Link link)
{
        GraphBlock *b;
        if (part >= 0 && !m->part[part].block)
                m->part[part].block = block_new(m, BLOCK_LEAF, group, block_title(m->to->arena, link));
        if (part >= 0)
                return m->part[part].block;
        b = goes_on_from(m, n, group);
        b = b ? b : block_new(m, BLOCK_OPS, group, NULL);
        add_op(m->to->arena, b, n);
        return b;
}

static void make_block(Making *m, const Node *n, GraphBlock *body)
{
        int part;
        Link link;
        GraphBlock *group = block_group(m, n, body, &part, &link);
        const bool keeps = n->op == OP_APPEND || n->op == OP_KEEP || n->op == OP_KEPT;
        GraphBlock *b = keeps ? state_block(m, n, group) : leaf_of(m, n, group, part, link);
        if (rank_of_kind(kind_of_node(m, n)) > rank_of_kind(b->colour) && !keeps)
                b->colour = kind_of_node(m, n);
        m->block[n->id] = b;
        connect(m, b, n);
}

static void blocks_of_body(Making *m, const Body *body, GraphBlock *group)
{
        for (int i = 0; i < body->nnode; i++) {
                const Node *n = body->node[i];
                int part;
                Link link;
                if (n->op == OP_REPEAT)
                        make_repeat(m, n, block_group(m, n, group, &part, &link));
                else if (m->from[n->id] != n)
                        continue;
                else if (n->op == OP_RESULT)
                        make_result(m, n);
                else if (n->op == OP_INPUT)
                        block_of_input(m, n);
                else
                        make_block(m, n, group);
        }
}

static void make_outputs(Making *m)
{
        for (int i = 0; i < m->g->noutput; i++) {
                const Output *o = &m->g->output[i];
                const Node *from = m->from[o->node->id];
                GraphBlock *b = block_new(m, BLOCK_OUTPUT, m->to->top, output_name(o));
                b->shape = type_text(m->to->arena, m->g, &o->node->type);
                if (from && m->block[from->id])
                        add_flow(m, m->block[from->id], b);
        }
}

BlockGraph *graph_blocks(Arena *a, const Graph *g)
{
        BlockGraph *to = NEW(a, BlockGraph);
        Making m = {.to = to, .g = g, .stage = stage_of(a, g)};
        to->arena = a;
        m.readers = NEW_ARRAY(a, int, g->nnode);
        m.from = NEW_ARRAY(a, Node *, g->nnode);
        m.block = NEW_ARRAY(a, GraphBlock *, g->nnode);
        m.state = NEW_ARRAY(a, GraphBlock *, g->nstate);
        to->top = block_new(&m, BLOCK_GROUP, NULL, g->name);
        find_sources(&m, g->top);
        find_groups(&m, g->top);
        open_outer_groups(&m);
        blocks_of_body(&m, g->top, to->top);
        make_outputs(&m);
        for (int i = 0; i < to->nflow; i++)
                to->flow[i].to->inputs++;
        return to;
}
