/* Draws the graph by blocks as SVG, from the inputs at the top to the outputs at the bottom. */
#include <math.h>

#include "graph_private.h"

enum { MARGIN = 20, HEAD = 44, LINE = 13, CIRCLE = 22, KEY = 72 };

bool is_group(const GraphBlock *b)
{
        return b->kind == BLOCK_GROUP || b->kind == BLOCK_REPEAT;
}

bool is_dot_op(const GraphBlock *b)
{
        return b->kind == BLOCK_OPS && b->nop == 1 && b->inputs > 1 && b->nweight == 0 &&
               (b->op == OP_ADD || b->op == OP_MUL || b->op == OP_SUB);
}

/* The first line is the name. */
int block_lines(Arena *a, const GraphBlock *b, const char **line)
{
        int n = 0;
        const bool ops = b->kind == BLOCK_OPS;
        line[n++] = *b->name ? b->name : ops ? b->ops : "";
        if (ops && *b->name)
                line[n++] = b->ops;
        for (int i = 0; i < b->nweight; i++)
                line[n++] = b->weight_text[i];
        if (b->more_weights)
                line[n++] = arena_printf(a, "and %d more", b->more_weights);
        if (b->shape)
                line[n++] = b->kind == BLOCK_INPUT || b->kind == BLOCK_OUTPUT
                                    ? b->shape
                                    : arena_printf(a, "→ %s", b->shape);
        return n;
}

void size_block(Arena *a, GraphBlock *b)
{
        const char *line[MAX_LINES];
        const int n = block_lines(a, b, line);
        b->width = 40;
        b->height = n * LINE + 11;
        for (int i = 0; i < n; i++)
                b->width = fmax(b->width, svg_width(line[i], SVG_SIZE) + 16);
        if (is_dot_op(b))
                b->width = b->height = CIRCLE;
}

/* --- drawing ---------------------------------------------------------------------------------------------------------- */

static void draw_circle(Text *t, const GraphBlock *b)
{
        static const char *const sign[] = {[OP_ADD] = "+", [OP_SUB] = "−", [OP_MUL] = "×"};
        const double r = CIRCLE / 2.0;
        text_printf(t, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"box\" fill=\"%s\"><title>",
                    b->x + r, b->y + r, r, kind_fill[b->colour]);
        svg_escape(t, arena_printf(t->arena, "%s %s %s", b->name, b->ops, b->shape ? b->shape : ""));
        text_put(t, "</title></circle>\n");
        svg_text(t, b->x + r, b->y + r + 5, "title middle", sign[b->op]);
}

static void draw_leaf(Text *t, const GraphBlock *b)
{
        const char *line[MAX_LINES];
        const int n = block_lines(t->arena, b, line);
        const bool end = b->kind == BLOCK_INPUT || b->kind == BLOCK_OUTPUT;
        text_printf(t,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%d\" class=\"%s\" "
                    "fill=\"%s\"/>\n",
                    b->x, b->y, b->width, b->height, end ? 12 : 3, b->kind == BLOCK_STATE ? "inner" : "box",
                    end ? "#ffffff" : kind_fill[b->colour]);
        for (int i = 0; i < n; i++)
                svg_text(t, b->x + b->width / 2, b->y + 15 + LINE * i, i ? "text middle" : "text middle bold",
                         line[i]);
}

/* A repeat looks like a stack of sheets. */
static void draw_group(Text *t, const GraphBlock *b, int depth)
{
        const char *fill = depth % 2 ? "#f1f4f8" : "#ffffff";
        for (int sheet = b->runs > 1 ? 2 : 0; sheet >= 0; sheet--)
                text_printf(
                        t,
                        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\" class=\"group\" "
                        "fill=\"%s\"/>\n",
                        b->x + 4 * sheet, b->y + 4 * sheet, b->width, b->height, fill);
}

static void draw_blocks(Text *t, const GraphBlock *group, int depth)
{
        for (int i = 0; i < group->ninside; i++) {
                const GraphBlock *b = group->inside[i];
                svg_open(t, " data-block=\"%d\" data-kind=\"%s\"", b->id,
                         b->kind == BLOCK_REPEAT ? "repeat"
                         : is_group(b)           ? "group"
                                                 : "block");
                if (is_group(b)) {
                        draw_group(t, b, depth);
                        draw_blocks(t, b, depth + 1);
                } else if (is_dot_op(b)) {
                        draw_circle(t, b);
                } else {
                        draw_leaf(t, b);
                }
                svg_close(t);
        }
}

/* Names of groups are drawn over the flows, at the upper left. */
static void draw_titles(Text *t, const GraphBlock *group)
{
        for (int i = 0; i < group->ninside; i++)
                if (is_group(group->inside[i])) {
                        const GraphBlock *b = group->inside[i];
                        svg_text(t, b->x + 8, b->y + 15, "text bold halo", b->name);
                        draw_titles(t, b);
                }
}

static void draw_way(Text *t, const FlowPath *w)
{
        const Point *p = w->point;
        const double middle = (p[1].y + p[2].y) / 2, begin = w->arrives && w->back ? p[0].y + 6 : p[0].y,
                     end = w->arrives && !w->back ? p[3].y - 6 : p[3].y;
        text_printf(t,
                    "<path class=\"edge\" d=\"M%.1f %.1fL%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1fL%.1f "
                    "%.1f\"/>\n",
                    p[0].x, begin, p[1].x, fmax(p[1].y, begin), p[1].x, middle, p[2].x, middle, p[2].x,
                    fmin(p[2].y, end), p[3].x, end);
        if (w->arrives && w->back)
                text_printf(t, "<path class=\"tip\" d=\"M%.1f %.1fl-4 7h8z\"/>\n", p[0].x, p[0].y);
        else if (w->arrives)
                text_printf(t, "<path class=\"tip\" d=\"M%.1f %.1fl-4 -7h8z\"/>\n", p[3].x, p[3].y);
}

static bool has_state(const BlockGraph *g)
{
        for (int i = 0; i < g->nblock; i++)
                if (g->block[i]->kind == BLOCK_STATE)
                        return true;
        return false;
}

static unsigned kinds_in(const BlockGraph *g)
{
        unsigned kinds = 0;
        for (int i = 0; i < g->nblock; i++)
                if (!is_group(g->block[i]) && g->block[i]->kind != BLOCK_INPUT &&
                    g->block[i]->kind != BLOCK_OUTPUT && g->block[i]->kind != BLOCK_STATE)
                        kinds |= 1U << g->block[i]->colour;
        return kinds;
}

void draw_graph(Text *out, const Graph *g)
{
        BlockGraph *b = graph_blocks(out->arena, g);
        const char *title = arena_printf(out->arena, "%s by blocks", g->name);
        b->top->x = MARGIN;
        b->top->y = HEAD;
        lay_out_blocks(b);
        const double width = fmax(b->top->width, 460) + 2 * MARGIN, bottom = HEAD + b->top->height;
        svg_begin(out, width, bottom + KEY, title);
        svg_text(out, MARGIN, 28, "title", title);
        draw_blocks(out, b->top, 1);
        for (int i = 0; i < b->nway; i++)
                draw_way(out, &b->way[i]);
        draw_titles(out, b->top);
        svg_legend(out, MARGIN, bottom + 24, kinds_in(b));
        const bool keeps = has_state(b);
        if (keeps) {
                svg_box(out, MARGIN, bottom + 33, 14, 10, "inner", kind_fill[KIND_CARRIED], NULL);
                svg_text(out, MARGIN + 19, bottom + 42, "text", "kept between calls");
        }
        svg_text(out, MARGIN, bottom + (keeps ? 60 : 42), "text grey",
                 "→ shape of what a block gives; a pile of sheets is a repeat");
        svg_end(out);
}
