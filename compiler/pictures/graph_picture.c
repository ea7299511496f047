#include "pictures_private.h"
void draw_graph(Text *out, const Graph *g)
{
        (void)g;
        svg_begin(out, 10, 10, "x");
        svg_end(out);
}
void print_graph_dot(Text *out, const Graph *g)
{
        (void)g;
        (void)out;
}
