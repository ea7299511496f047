/* Positions of blocks: each group separately, in layers (Sugiyama, Tagawa and Toda 1981), inner groups first.
 *
 * A group's items are its blocks, ports where flows cross its border, and a bend wherever a flow passes a
 * layer.  An item's layer is the longest path to it; the order within layers comes from barycentres, and the
 * one with the fewest crossings is kept.  Positions within a layer minimise the distances to connected items,
 * with a minimum distance between neighbours (least squares, by pooling adjacent violators). */
#include <math.h>
#include <stdlib.h>

#include "graph_private.h"

enum {
        PAD = 16,
        TITLE = 24,
        BETWEEN = 22,
        LAYER_GAP = 34,
        PORT_GAP = 20,
        BEND = 10,
        SWEEPS = 12,
        PLACINGS = 24
};

typedef enum { ITEM_BLOCK, ITEM_IN, ITEM_OUT, ITEM_BEND } LayoutItemKind;

typedef struct {
        LayoutItemKind kind;
        GraphBlock *block;       /* or NULL */
        const GraphBlock *way;   /* ports and bends: the block that the flow comes from */
        int layer, place;        /* place: index in its layer */
        double x, width, height; /* x: centre */
        double wish, weight;
} LayoutItem;

/* Connects two items, in consecutive layers once bends are made. */
typedef struct {
        int from, to;
        const GraphBlock *source; /* source of the flow */
        double out, in;           /* offsets at both items, from their centres */
        bool back;                /* reversed: it flows from `to` to `from` */
        bool arrives;             /* at its target block, not at a border */
} Joint;

typedef struct {
        BlockGraph *graph;
        Arena *arena;
        GraphBlock *group;
        LayoutItem *item;
        int n, cap;
        Joint *joint; /* by flows */
        int njoint, cap_joint;
        Joint *piece; /* between consecutive layers */
        int npiece, cap_piece;
        int **layer, *size; /* [layers][size]: items */
        int layers;
        double *top; /* [layers]: upper edges */
        double *height;
} LayerLayout;

/* --- ports: where flows cross the borders of groups ----------------------------------------------------------------------- */

/* By group and source block: centre of the port, from the group's left. */
typedef struct {
        const GraphBlock *group, *source;
        bool out;
        double x;
} Port;

typedef struct {
        Port *port;
        int n, cap;
} Ports;

static double port_at(const Ports *p, const GraphBlock *group, const GraphBlock *source, bool out)
{
        for (int i = 0; i < p->n; i++)
                if (p->port[i].group == group && p->port[i].source == source && p->port[i].out == out)
                        return p->port[i].x;
        return group->width / 2;
}

/* The child of `group` that is or contains b; NULL: b is elsewhere. */
static GraphBlock *child_in(const GraphBlock *group, GraphBlock *b)
{
        while (b && b->outer != group)
                b = b->outer;
        return b;
}

/* --- items and joints ------------------------------------------------------------------------------------------------- */

static int layout_item(LayerLayout *l, LayoutItem item)
{
        GROW(l->arena, l->item, l->n, l->cap);
        l->item[l->n] = item;
        return l->n++;
}

static int item_of(LayerLayout *l, LayoutItemKind kind, GraphBlock *block, const GraphBlock *way)
{
        for (int i = 0; i < l->n; i++)
                if (l->item[i].kind == kind && l->item[i].block == block && l->item[i].way == way)
                        return i;
        return layout_item(l, (LayoutItem){.kind = kind,
                                           .block = block,
                                           .way = way,
                                           .width = block ? block->width : BEND,
                                           .height = block ? block->height : 0});
}

static void joint_new(LayerLayout *l, Joint j)
{
        for (int i = 0; i < l->njoint; i++)
                if (l->joint[i].from == j.from && l->joint[i].to == j.to && l->joint[i].source == j.source)
                        return;
        GROW(l->arena, l->joint, l->njoint, l->cap_joint);
        l->joint[l->njoint++] = j;
}

static void find_joints(LayerLayout *l, const Ports *ports)
{
        GraphBlock *group = l->group;
        for (int i = 0; i < group->ninside; i++)
                item_of(l, ITEM_BLOCK, group->inside[i], NULL);
        for (int i = 0; i < l->graph->nflow; i++) {
                const GraphFlow *f = &l->graph->flow[i];
                GraphBlock *from = child_in(group, f->from), *to = child_in(group, f->to);
                if ((!from && !to) || from == to)
                        continue;
                Joint j = {.source = f->from, .arrives = to && !is_group(to)};
                j.from = from ? item_of(l, ITEM_BLOCK, from, NULL) : item_of(l, ITEM_IN, NULL, f->from);
                j.to = to ? item_of(l, ITEM_BLOCK, to, NULL) : item_of(l, ITEM_OUT, NULL, f->from);
                j.out = from && is_group(from) ? port_at(ports, from, f->from, true) - from->width / 2 : 0;
                j.in = to && is_group(to) ? port_at(ports, to, f->from, false) - to->width / 2 : 0;
                joint_new(l, j);
        }
}

/* --- layers ----------------------------------------------------------------------------------------------------------- */

/* Blocks may form a cycle even if their nodes do not: a joint that closes one is reversed. */
static void turn_back(LayerLayout *l, int item, char *state)
{
        state[item] = 1;
        for (int i = 0; i < l->njoint; i++) {
                Joint *j = &l->joint[i];
                if (j->from != item || j->back)
                        continue;
                if (state[j->to] == 1)
                        *j = (Joint){j->to, item, j->source, j->in, j->out, true, j->arrives};
                else if (state[j->to] == 0)
                        turn_back(l, j->to, state);
        }
        state[item] = 2;
}

/* Layers by longest paths. */
static void find_layers(LayerLayout *l)
{
        int last = 0;
        char *state = NEW_ARRAY(l->arena, char, l->n);
        for (int i = 0; i < l->n; i++) {
                l->item[i].layer = l->item[i].kind == ITEM_BLOCK;
                if (!state[i])
                        turn_back(l, i, state);
        }
        for (bool moved = true; moved;) {
                moved = false;
                for (int i = 0; i < l->njoint; i++) {
                        const Joint *j = &l->joint[i];
                        if (l->item[j->to].layer > l->item[j->from].layer)
                                continue;
                        l->item[j->to].layer = l->item[j->from].layer + 1;
                        moved = true;
                }
        }
        for (int i = 0; i < l->n; i++)
                if (l->item[i].kind != ITEM_OUT && l->item[i].layer > last)
                        last = l->item[i].layer;
        for (int i = 0; i < l->n; i++)
                l->item[i].layer = l->item[i].kind == ITEM_OUT ? last + 1 : l->item[i].layer;
        l->layers = last + 2;
}

/* Items without incoming flow are placed directly before their target. */
static void pull_sources(LayerLayout *l)
{
        for (int i = 0; i < l->n; i++) {
                int least = l->layers;
                bool is_source = l->item[i].kind == ITEM_BLOCK;
                for (int k = 0; k < l->njoint; k++) {
                        is_source &= l->joint[k].to != i;
                        if (l->joint[k].from == i && l->item[l->joint[k].to].layer < least)
                                least = l->item[l->joint[k].to].layer;
                }
                if (is_source && least < l->layers && least > 0)
                        l->item[i].layer = least - 1;
        }
}

static void piece_new(LayerLayout *l, Joint j)
{
        GROW(l->arena, l->piece, l->npiece, l->cap_piece);
        l->piece[l->npiece++] = j;
}

/* Flows from one source share bends. */
static void make_bends(LayerLayout *l)
{
        for (int i = 0; i < l->njoint; i++) {
                Joint j = l->joint[i];
                int at = j.from;
                double out = j.out;
                for (int layer = l->item[j.from].layer + 1; layer < l->item[j.to].layer; layer++) {
                        int bend = -1;
                        for (int k = 0; k < l->n && bend < 0; k++)
                                if (l->item[k].kind == ITEM_BEND && l->item[k].layer == layer &&
                                    l->item[k].way == j.source)
                                        bend = k;
                        const bool is_new = bend < 0;
                        if (is_new)
                                bend = layout_item(l, (LayoutItem){.kind = ITEM_BEND,
                                                                   .way = j.source,
                                                                   .layer = layer,
                                                                   .width = BEND});
                        if (is_new)
                                piece_new(l, (Joint){at, bend, j.source, out, 0, j.back,
                                                     j.back && j.arrives && at == j.from});
                        at = bend;
                        out = 0;
                }
                piece_new(l, (Joint){at, j.to, j.source, out, j.in, j.back,
                                     j.arrives && (!j.back || at == j.from)});
        }
}

static void fill_layers(LayerLayout *l)
{
        l->size = NEW_ARRAY(l->arena, int, l->layers);
        l->layer = NEW_ARRAY(l->arena, int *, l->layers);
        for (int i = 0; i < l->layers; i++)
                l->layer[i] = NEW_ARRAY(l->arena, int, l->n);
        for (int i = 0; i < l->n; i++) {
                LayoutItem *it = &l->item[i];
                it->place = l->size[it->layer];
                l->layer[it->layer][l->size[it->layer]++] = i;
        }
}

/* --- order ------------------------------------------------------------------------------------------------------------ */

static int crossings(const LayerLayout *l)
{
        int n = 0;
        for (int i = 0; i < l->npiece; i++)
                for (int k = i + 1; k < l->npiece; k++) {
                        const LayoutItem *a = &l->item[l->piece[i].from], *b = &l->item[l->piece[k].from];
                        const LayoutItem *c = &l->item[l->piece[i].to], *d = &l->item[l->piece[k].to];
                        n += a->layer == b->layer && (a->place - b->place) * (c->place - d->place) < 0;
                }
        return n;
}

static void sort_layer(LayerLayout *l, int layer)
{
        int *of = l->layer[layer];
        for (int i = 1; i < l->size[layer]; i++) /* stable */
                for (int k = i; k > 0 && l->item[of[k - 1]].wish > l->item[of[k]].wish; k--) {
                        int other = of[k];
                        of[k] = of[k - 1];
                        of[k - 1] = other;
                }
        for (int i = 0; i < l->size[layer]; i++)
                l->item[of[i]].place = i;
}

/* Orders by the mean index of the previous (or next) layer's items. */
static void order_layer(LayerLayout *l, int layer, bool down)
{
        for (int i = 0; i < l->size[layer]; i++) {
                const int it = l->layer[layer][i];
                double sum = 0;
                int n = 0;
                for (int k = 0; k < l->npiece; k++) {
                        const Joint *j = &l->piece[k];
                        if ((down ? j->to : j->from) != it)
                                continue;
                        const LayoutItem *other = &l->item[down ? j->from : j->to];
                        sum += other->place + (down ? j->out : j->in) / (other->width + 1);
                        n++;
                }
                l->item[it].wish = n ? sum / n : l->item[it].place;
        }
        sort_layer(l, layer);
}

static void order_items(LayerLayout *l)
{
        int *best = NEW_ARRAY(l->arena, int, l->n), fewest = crossings(l);
        for (int i = 0; i < l->n; i++)
                best[i] = l->item[i].place;
        for (int sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
                for (int k = 1; k < l->layers; k++)
                        order_layer(l, sweep % 2 ? l->layers - 1 - k : k, sweep % 2 == 0);
                const int n = crossings(l);
                for (int i = 0; i < l->n && n < fewest; i++)
                        best[i] = l->item[i].place;
                fewest = n < fewest ? n : fewest;
        }
        for (int i = 0; i < l->n; i++)
                l->item[i].wish = best[i];
        for (int k = 0; k < l->layers; k++)
                sort_layer(l, k);
}

/* --- places ----------------------------------------------------------------------------------------------------------- */

static double gap_between(const LayerLayout *l, int a, int b)
{
        const LayoutItem *x = &l->item[a], *y = &l->item[b];
        const bool bends = x->kind != ITEM_BLOCK && y->kind != ITEM_BLOCK;
        return (x->width + y->width) / 2 + (bends ? BETWEEN / 2.0 : BETWEEN);
}

/* The positions closest to the wishes, without overlaps: runs that would overlap move together. */
static void place_layer(LayerLayout *l, int layer)
{
        const int n = l->size[layer], *of = l->layer[layer];
        double *shift = NEW_ARRAY(l->arena, double, n + 1), *mean = NEW_ARRAY(l->arena, double, n + 1),
               *weight = NEW_ARRAY(l->arena, double, n + 1);
        int *count = NEW_ARRAY(l->arena, int, n + 1), runs = 0;
        for (int i = 0; i < n; i++) {
                const double heavy = l->item[of[i]].weight;
                shift[i] = i ? shift[i - 1] + gap_between(l, of[i - 1], of[i]) : 0;
                mean[runs] = l->item[of[i]].wish - shift[i];
                weight[runs] = heavy;
                count[runs++] = 1;
                while (runs > 1 && mean[runs - 2] > mean[runs - 1]) {
                        const double both = weight[runs - 2] + weight[runs - 1];
                        mean[runs - 2] =
                                (mean[runs - 2] * weight[runs - 2] + mean[runs - 1] * weight[runs - 1]) /
                                both;
                        weight[runs - 2] = both;
                        count[runs - 2] += count[runs - 1];
                        runs--;
                }
        }
        for (int r = 0, i = 0; r < runs; r++)
                for (int k = 0; k < count[r]; k++, i++)
                        l->item[of[i]].x = mean[r] + shift[i];
}

/* Straight joints, and those between blocks, have more weight than bends. */
static double joint_weight(const LayerLayout *l, const Joint *j)
{
        const bool from = l->item[j->from].kind == ITEM_BEND, to = l->item[j->to].kind == ITEM_BEND;
        return from == to ? 64 : 1;
}

/* side -1: by earlier layers, 1: by later ones, 0: by both. */
static void wish_layer(LayerLayout *l, int layer, int side)
{
        for (int i = 0; i < l->size[layer]; i++) {
                const int it = l->layer[layer][i];
                double sum = 0, weight = 0;
                for (int k = 0; k < l->npiece; k++) {
                        const Joint *j = &l->piece[k];
                        const double w = joint_weight(l, j);
                        if (j->to == it && side <= 0) {
                                sum += w * (l->item[j->from].x + j->out - j->in);
                                weight += w;
                        }
                        if (j->from == it && side >= 0) {
                                sum += w * (l->item[j->to].x + j->in - j->out);
                                weight += w;
                        }
                }
                l->item[it].wish = weight > 0 ? sum / weight : l->item[it].x;
                l->item[it].weight = weight > 0 ? weight : 0.1;
        }
        place_layer(l, layer);
}

static void place_items(LayerLayout *l)
{
        for (int k = 0; k < l->layers; k++) {
                for (int i = 0; i < l->size[k]; i++)
                        l->item[l->layer[k][i]].weight = 1, l->item[l->layer[k][i]].wish = 0;
                place_layer(l, k);
        }
        for (int round = 0; round < PLACINGS; round++) {
                const bool down = round % 2 == 0, both = round > PLACINGS / 2;
                for (int k = 0; k < l->layers; k++)
                        wish_layer(l, down ? k : l->layers - 1 - k, both ? 0 : down ? -1 : 1);
        }
}

static bool ends_flat(const LayerLayout *l)
{
        for (int i = 0; i < l->size[l->layers - 1]; i++)
                if (l->item[l->layer[l->layers - 1][i]].kind == ITEM_BLOCK)
                        return false;
        return true;
}

/* Blocks are vertically centred in their layer. */
static void stack_layers(LayerLayout *l)
{
        GraphBlock *g = l->group;
        double y = g->outer || g->kind == BLOCK_REPEAT ? TITLE : PAD;
        double left = INFINITY, right = -INFINITY;
        l->top = NEW_ARRAY(l->arena, double, l->layers + 1);
        l->height = NEW_ARRAY(l->arena, double, l->layers + 1);
        for (int k = 0; k < l->layers; k++) {
                for (int i = 0; i < l->size[k]; i++) {
                        const LayoutItem *it = &l->item[l->layer[k][i]];
                        l->height[k] = fmax(l->height[k], it->height);
                        left = fmin(left, it->x - it->width / 2);
                        right = fmax(right, it->x + it->width / 2);
                }
                l->top[k] = y;
                const bool begins = k == 0 && l->height[k] == 0, ends = k == l->layers - 2 && ends_flat(l);
                y += l->height[k] + (k == l->layers - 1      ? 0
                                     : begins && !l->size[k] ? 0
                                     : begins || ends        ? PORT_GAP
                                                             : LAYER_GAP);
        }
        const double title = svg_width(g->name, SVG_SIZE) + 2 * PAD,
                     wide = right > left ? right - left + 2 * PAD : 2 * PAD;
        g->width = fmax(wide, title);
        g->height = y + (l->height[l->layers - 1] > 0 ? PAD : 0);
        const double shift = PAD - left + (g->width - wide) / 2;
        for (int i = 0; i < l->n; i++)
                l->item[i].x += shift;
}

/* --- one group, and all ----------------------------------------------------------------------------------------------- */

static void keep_ports(const LayerLayout *l, Ports *ports)
{
        for (int i = 0; i < l->n; i++) {
                const LayoutItem *it = &l->item[i];
                if (it->kind == ITEM_BLOCK) {
                        it->block->x = it->x - it->width / 2;
                        it->block->y = l->top[it->layer] + (l->height[it->layer] - it->height) / 2;
                } else if (it->kind != ITEM_BEND) {
                        GROW(l->graph->arena, ports->port, ports->n, ports->cap);
                        ports->port[ports->n++] = (Port){l->group, it->way, it->kind == ITEM_OUT, it->x};
                }
        }
}

/* The paths of flows within the group, from its corner; bends are passed straight. */
static void keep_ways(const LayerLayout *l)
{
        for (int i = 0; i < l->npiece; i++) {
                const Joint *j = &l->piece[i];
                const LayoutItem *a = &l->item[j->from], *b = &l->item[j->to];
                const double a_top = l->top[a->layer], b_top = l->top[b->layer];
                BlockGraph *g = l->graph;
                FlowPath w = {NEW_ARRAY(g->arena, Point, 4), 4, j->arrives, j->back, l->group};
                const double leaves = a->kind == ITEM_BLOCK ? a->block->y + a->height
                                      : a->kind == ITEM_IN  ? 0
                                                            : a_top;
                const double comes = b->kind == ITEM_BLOCK ? b->block->y
                                     : b->kind == ITEM_OUT ? l->group->height
                                                           : b_top;
                w.point[0] = (Point){a->x + j->out, leaves};
                w.point[1] = (Point){a->x + j->out, a_top + l->height[a->layer]};
                w.point[2] = (Point){b->x + j->in, b_top};
                w.point[3] = (Point){b->x + j->in, comes};
                GROW(g->arena, g->way, g->nway, g->cap_way);
                g->way[g->nway++] = w;
        }
}

static void lay_out_group(BlockGraph *graph, GraphBlock *group, Ports *ports)
{
        for (int i = 0; i < group->ninside; i++)
                if (is_group(group->inside[i]))
                        lay_out_group(graph, group->inside[i], ports);
        Arena scratch = {.out_of_memory = graph->arena->out_of_memory};
        LayerLayout l = {.graph = graph, .arena = &scratch, .group = group};
        find_joints(&l, ports);
        find_layers(&l);
        pull_sources(&l);
        make_bends(&l);
        fill_layers(&l);
        order_items(&l);
        place_items(&l);
        stack_layers(&l);
        keep_ports(&l, ports);
        keep_ways(&l);
        arena_free(&scratch);
}

/* From positions within groups to positions in the picture. */
static void move_inside(GraphBlock *group)
{
        for (int i = 0; i < group->ninside; i++) {
                GraphBlock *b = group->inside[i];
                b->x += group->x;
                b->y += group->y;
                move_inside(b);
        }
}

void lay_out_blocks(BlockGraph *b)
{
        Ports ports = {0};
        for (int i = 0; i < b->nblock; i++)
                if (!is_group(b->block[i]))
                        size_block(b->arena, b->block[i]);
        lay_out_group(b, b->top, &ports);
        move_inside(b->top);
        for (int i = 0; i < b->nway; i++)
                for (int k = 0; k < b->way[i].n; k++) {
                        b->way[i].point[k].x += b->way[i].within->x;
                        b->way[i].point[k].y += b->way[i].within->y;
                }
}
