/* Writes the graph by blocks in the language of Graphviz. */
#include "graph_private.h"

static void put_quoted(Text *t, const char *text)
{
        text_put(t, "\"");
        for (; *text; text++)
                if (*text == '\n')
                        text_put(t, "\\n");
                else
                        text_printf(t, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
        text_put(t, "\"");
}

static void print_leaf(Text *t, const GraphBlock *b)
{
        const char *line[MAX_LINES], *label = "";
        const int n = block_lines(t->arena, b, line);
        for (int i = 0; i < n; i++)
                label = arena_printf(t->arena, "%s%s%s", label, i ? "\n" : "", line[i]);
        text_printf(t, "b%d [label=", b->id);
        put_quoted(t, is_dot_op(b) ? b->op == OP_ADD ? "+" : b->op == OP_SUB ? "−" : "×" : label);
        if (is_dot_op(b))
                text_put(t, ", shape=circle");
        if (b->kind == BLOCK_INPUT || b->kind == BLOCK_OUTPUT)
                text_put(t, ", style=\"rounded\"];\n");
        else
                text_printf(t, ", style=filled, fillcolor=\"%s\"];\n", kind_fill[b->colour]);
}

static void print_group(Text *t, const GraphBlock *group)
{
        for (int i = 0; i < group->ninside; i++) {
                const GraphBlock *b = group->inside[i];
                if (!is_group(b)) {
                        print_leaf(t, b);
                        continue;
                }
                text_printf(t, "subgraph cluster_%d {\nlabel=", b->id);
                put_quoted(t, b->name);
                text_printf(t, "; labeljust=l;%s\n", b->kind == BLOCK_REPEAT ? " peripheries=2;" : "");
                print_group(t, b);
                text_put(t, "}\n");
        }
}

void print_graph_dot(Text *out, const Graph *g)
{
        const BlockGraph *b = graph_blocks(out->arena, g);
        text_put(out, "digraph ");
        put_quoted(out, g->name);
        text_put(out, " {\nnode [shape=box, fontname=\"monospace\", fontsize=10];\n");
        print_group(out, b->top);
        for (int i = 0; i < b->nflow; i++)
                text_printf(out, "b%d -> b%d;\n", b->flow[i].from->id, b->flow[i].to->id);
        text_put(out, "}\n");
}
