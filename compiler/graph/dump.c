/* The graph as text, one node a line, bodies indented under their repeat:
 *
 *   %7 = matmul %5 %6                  real [time, 288]            # xn
 *   %8 = repeat layer 6 iterations, bodies 0*5 1
 *     body 0
 *       %9 = carry 0                   real [time, 288]
 *       ...
 *       next %31
 *
 * The same graph always gives the same bytes. */
#include "graph.h"

#include <string.h>

/* -- a line is built in the scratch arena, so that its columns can be padded -- */

static const char *literal_text(Arena *a, const Literal *literal)
{
        enum { SHOWN = 4 };
        if (literal->iterations == 1 && literal->count == 1)
                return arena_printf(a, " %.9g", literal->value[0]);
        const char *text = " {";
        int64_t all = literal->iterations * literal->count;
        for (int64_t i = 0; i < all && i < SHOWN; i++)
                text = arena_printf(a, "%s%s%.9g", text, i ? ", " : "", literal->value[i]);
        text = arena_printf(a, "%s%s}", text, all > SHOWN ? ", .." : "");
        return literal->iterations > 1
                       ? arena_printf(a, "%s x %lld iterations", text, (long long)literal->iterations)
                       : text;
}

/* "0*4 1 0*2": runs of one body. */
static const char *region_iterations_text(Arena *a, const Region *region)
{
        const char *text = "";
        for (int64_t t = 0; t < region->iterations;) {
                int64_t run = 1;
                while (t + run < region->iterations && region->body_of[t + run] == region->body_of[t])
                        run++;
                text = arena_printf(a, run > 1 ? "%s %d*%lld" : "%s %d", text, region->body_of[t],
                                    (long long)run);
                t += run;
        }
        return text;
}

/* Storage type of a state. */
static const char *rounding_text(Arena *a, const StateVar *s)
{
        return s->storage == STORAGE_F32 ? "" : arena_printf(a, " in %s", storage_info[s->storage].text);
}

/* "(8 axis 1 by 64)(time axis 0)": one pair of parentheses per atom; output axes are separated by commas. */
static const char *view_text(Arena *a, const Graph *g, const View *v, int rank_in)
{
        const char *text = "";
        for (int i = 0; i < v->natom; i++) {
                const Atom *atom = &v->atom[i];
                const char *gap = i && atom->out != v->atom[i - 1].out ? ", " : "";
                const char *size = dim_text(a, g, atom->size);
                if (atom->axis < 0)
                        text = arena_printf(a, "%s%s(%s)", text, gap, size);
                else if (atom->stride == 1)
                        text = arena_printf(a, "%s%s(%s axis %d)", text, gap, size, atom->axis);
                else
                        text = arena_printf(a, "%s%s(%s axis %d by %lld)", text, gap, size, atom->axis,
                                            (long long)atom->stride);
        }
        for (int axis = 0; axis < rank_in; axis++)
                if (!dim_is(v->offset[axis], 0))
                        text = arena_printf(a, "%s, axis %d from %s", text, axis,
                                            dim_text(a, g, v->offset[axis]));
        return text;
}

/* ", after layer.S" for the states from which an `along` goes on */
static const char *kept_text(Arena *a, const Region *r)
{
        const char *text = "";
        for (int i = 0; r->kept && i < r->ncarry; i++)
                text = arena_printf(a, "%s%s%s", text, i ? ", " : ", after ", r->kept[i]->name);
        return text;
}

static const char *attr_text(Arena *a, const Graph *g, const Node *n)
{
        const Attr *attr = &n->attr;
        switch (n->op) {
        case OP_INPUT: return arena_printf(a, " %s", g->input[attr->index].name);
        case OP_WEIGHT:
                return attr->slot >= 0 && attr->weight->nregion
                               ? arena_printf(a, " %s slot %d", attr->weight->path, attr->slot)
                               : arena_printf(a, " %s", attr->weight->path);
        case OP_CONST: return literal_text(a, attr->literal);
        case OP_SIZE: return arena_printf(a, " %s", dim_text(a, g, attr->dim));
        case OP_INDEX:
                return dim_is(attr->dim, 0) ? "" : arena_printf(a, " from %s", dim_text(a, g, attr->dim));
        case OP_VIEW: return arena_printf(a, " %s", view_text(a, g, attr->view, n->in[0]->type.rank));
        case OP_PAD:
                return arena_printf(a, " axis %d: %s before, %s after, of %.9g", attr->axis,
                                    dim_text(a, g, attr->before), dim_text(a, g, attr->after), attr->value);
        case OP_JOIN:
        case OP_SUM:
        case OP_MAXOF:
        case OP_ARGMAX: return arena_printf(a, " axis %d", attr->axis);
        case OP_TOP:
        case OP_CHOSEN: return arena_printf(a, " %d", attr->index);
        case OP_AMONG: return arena_printf(a, " of %s", dim_text(a, g, attr->dim));
        case OP_MATMUL:
                return attr->index == 0             ? ""
                       : attr->index == ZEROS_LEFT  ? " past zeros left"
                       : attr->index == ZEROS_RIGHT ? " past zeros right"
                                                    : " past zeros";
        case OP_SOFTMAX: return attr->index == DEAD_ROWS_NAN ? " dead rows nan" : "";
        case OP_KEEP: return arena_printf(a, " %s%s", attr->state->name, rounding_text(a, attr->state));
        case OP_KEPT: return arena_printf(a, " %s", attr->state->name);
        case OP_SCAN: {
                const char *kind = attr->index == SCAN_MAXIMA ? " maxima" : "";
                return attr->state ? arena_printf(a, "%s after %s", kind, attr->state->name) : kind;
        }
        case OP_READ: return arena_printf(a, " %s axis %d", attr->state->name, attr->axis);
        case OP_APPEND:
                return arena_printf(a, " %s axis %d%s", attr->state->name, attr->axis,
                                    rounding_text(a, attr->state));
        case OP_REPEAT:
                if (attr->region->along)
                        return arena_printf(a, " along %s, %s positions%s", attr->region->name,
                                            dim_text(a, g, positions_of(g, attr->region)),
                                            kept_text(a, attr->region));
                return arena_printf(a, " %s, %lld iterations, bodies%s", attr->region->name,
                                    (long long)attr->region->iterations,
                                    region_iterations_text(a, attr->region));
        case OP_CARRY:
        case OP_RESULT: return arena_printf(a, " %d", attr->index);
        default: break;
        }
        return "";
}

/* An input as %id, a scalar constant as its value. */
static const char *input_text(Arena *a, const Node *n)
{
        if (n->op == OP_CONST && n->type.rank == 0 && n->attr.literal->iterations == 1)
                return arena_printf(a, "%.9g", n->attr.literal->value[0]);
        return arena_printf(a, "%%%d", n->id);
}

static void dump_node(FILE *f, const Graph *g, const Node *n, int indent)
{
        Arena scratch = {0};
        const char *left = arena_printf(&scratch, "%*s%%%d = %s", indent, "", n->id, op_info[n->op].text);
        for (int i = 0; i < n->nin; i++)
                left = arena_printf(&scratch, "%s %s", left, input_text(&scratch, n->in[i]));
        left = arena_printf(&scratch, "%s%s", left, attr_text(&scratch, g, n));
        if (n->op == OP_REPEAT)
                fputs(left, f);
        else
                fprintf(f, "%-64s %s %s", left, dtype_name(n->type.dtype), type_text(&scratch, g, &n->type));
        if (n->name)
                fprintf(f, "  # %s", n->name);
        fputc('\n', f);
        arena_free(&scratch);
}

void graph_print_node(FILE *f, const Graph *g, const Node *n)
{
        dump_node(f, g, n, 0);
}

static void dump_nodes(FILE *f, const char *what, Node *const *node, int n, int indent)
{
        if (n == 0)
                return;
        fprintf(f, "%*s%s", indent, "", what);
        for (int i = 0; i < n; i++)
                fprintf(f, " %%%d", node[i]->id);
        fputc('\n', f);
}

static void dump_body(FILE *f, const Graph *g, const Body *body, int indent)
{
        for (int i = 0; i < body->nnode; i++) {
                const Node *n = body->node[i];
                dump_node(f, g, n, indent);
                if (n->op != OP_REPEAT)
                        continue;
                const Region *region = n->attr.region;
                for (int k = 0; k < region->nbody; k++) {
                        fprintf(f, "%*sbody %d\n", indent + 2, "", k);
                        dump_body(f, g, region->body[k], indent + 4);
                        dump_nodes(f, "next", region->body[k]->next, region->ncarry, indent + 4);
                        dump_nodes(f, "stack", region->body[k]->stack, region->nstack, indent + 4);
                }
        }
}

void graph_dump(FILE *f, const Graph *g)
{
        fprintf(f, "graph %s\n", g->name);
        for (int i = 0; i < g->nnamed; i++)
                fprintf(f, "size %s up to %lld\n", g->named[i].name, (long long)g->named[i].bound);
        dump_body(f, g, g->top, 0);
        for (int i = 0; i < g->noutput; i++)
                fprintf(f, "output %s %%%d\n", g->output[i].name, g->output[i].node->id);
}

const char *setting_text(Arena *a, const Setting *s)
{
        const char *text = "";
        switch (s->kind) {
        case SETTING_NUMBER: return arena_printf(a, "%.15g", s->number);
        case SETTING_TEXT: return quoted_text(a, s->text);
        case SETTING_BOOL: return s->number != 0 ? "true" : "false";
        case SETTING_LIST: break;
        }
        for (int i = 0; i < s->nlist; i++)
                text = arena_printf(a, "%s%s%.15g", text, i ? ", " : "", s->list[i]);
        return arena_printf(a, "[%s]", text);
}
