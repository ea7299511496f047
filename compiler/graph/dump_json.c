/* The whole graph as JSON, for programs.  docs/ir.md, "The graph for programs", is the reference.
 *
 * A number has 17 digits, enough to restore the double; infinities and NaN are the texts "inf", "-inf" and
 * "nan".  A size is the list of Dim.fixed and Dim.per.  Names are letters, digits, `_` and `.`, so that none
 * needs an escape. */
#include "graph.h"

#include <inttypes.h>
#include <math.h>

enum { MAX_NESTED = sizeof((Weight *)0)->region / sizeof(Region *) }; /* repeats inside repeats */

/* "a, b, c": separator before item i of a list */
static const char *comma(int64_t i)
{
        return i ? ", " : "";
}

/* --- numbers, sizes, types ------------------------------------------------------------------------------------ */

static void json_dump_number(FILE *f, double x)
{
        if (x == 0 && signbit(x))
                fputs("-0.0", f);
        else if (isfinite(x))
                fprintf(f, "%.17g", x);
        else
                fputs(isnan(x) ? "\"nan\"" : x > 0 ? "\"inf\"" : "\"-inf\"", f);
}

static void print_numbers(FILE *f, const double *x, int64_t n)
{
        fputc('[', f);
        for (int64_t i = 0; i < n; i++) {
                fputs(comma(i), f);
                json_dump_number(f, x[i]);
        }
        fputc(']', f);
}

static void print_integers(FILE *f, const char *what, const int32_t *x, int64_t n)
{
        fprintf(f, ", \"%s\": [", what);
        for (int64_t i = 0; i < n; i++)
                fprintf(f, "%s%" PRId32, comma(i), x[i]);
        fputc(']', f);
}

static void print_size(FILE *f, const Graph *g, Dim d)
{
        fprintf(f, "[%" PRId64, d.fixed);
        for (int i = 0; i < g->nnamed; i++)
                fprintf(f, ", %" PRId64, d.per[i]);
        for (int i = 0; i < g->nalong; i++)
                fprintf(f, ", %" PRId64, d.per[NAMED_ALONG + i]);
        fputc(']', f);
}

static void print_sizes(FILE *f, const Graph *g, const char *what, const Dim *d, int n)
{
        fprintf(f, ", \"%s\": [", what);
        for (int i = 0; i < n; i++) {
                fputs(comma(i), f);
                print_size(f, g, d[i]);
        }
        fputc(']', f);
}

static void print_type(FILE *f, const Graph *g, const Type *t)
{
        fprintf(f, ", \"type\": \"%s\"", dtype_name(t->dtype));
        print_sizes(f, g, "shape", t->dim, t->rank);
}

/* --- nodes ------------------------------------------------------------------------------------------------------ */

static void print_view(FILE *f, const Graph *g, const View *v, int rank_in)
{
        fputs(", \"digits\": [", f);
        for (int i = 0; i < v->natom; i++) {
                const Atom *a = &v->atom[i];
                fprintf(f, "%s{\"out\": %d, \"size\": ", comma(i), a->out);
                print_size(f, g, a->size);
                if (a->axis >= 0)
                        fprintf(f, ", \"axis\": %d, \"stride\": %" PRId64, a->axis, a->stride);
                fputc('}', f);
        }
        fputc(']', f);
        print_sizes(f, g, "offset", v->offset, rank_in);
}

static void print_pad(FILE *f, const Graph *g, const Attr *attr)
{
        fprintf(f, ", \"axis\": %d, \"before\": ", attr->axis);
        print_size(f, g, attr->before);
        fputs(", \"after\": ", f);
        print_size(f, g, attr->after);
        fputs(", \"value\": ", f);
        json_dump_number(f, attr->value);
}

static void print_literal(FILE *f, const Literal *literal)
{
        fprintf(f, ", \"iterations\": %" PRId64 ", \"values\": ", literal->iterations);
        print_numbers(f, literal->value, literal->iterations * literal->count);
}

static void json_dump_body(FILE *f, const Graph *g, const Body *body, int indent);

static void json_dump_list(FILE *f, const char *what, Node *const *node, int n)
{
        fprintf(f, ", \"%s\": [", what);
        for (int i = 0; i < n; i++)
                fprintf(f, "%s%d", comma(i), node[i]->id);
        fputc(']', f);
}

static void print_repeat(FILE *f, const Graph *g, const Region *r, int indent)
{
        fprintf(f, ", \"repeat\": \"%s\", \"iterations\": %" PRId64 ", \"body_of\": [", r->name,
                r->iterations);
        for (int64_t t = 0; t < r->iterations; t++)
                fprintf(f, "%s%d", comma(t), r->body_of[t]);
        fputc(']', f);
        if (r->along)
                fprintf(f, ", \"along\": %d", r->along - 1);
        if (r->kept) {
                fputs(", \"states\": [", f);
                for (int i = 0; i < r->ncarry; i++)
                        fprintf(f, "%s%d", comma(i), r->kept[i]->id);
                fputc(']', f);
        }
        fputs(", \"bodies\": [", f);
        for (int i = 0; i < r->nbody; i++) {
                fprintf(f, "%s{\"nodes\": ", comma(i));
                json_dump_body(f, g, r->body[i], indent + 2);
                json_dump_list(f, "next", r->body[i]->next, r->ncarry);
                json_dump_list(f, "stack", r->body[i]->stack, r->nstack);
                fputc('}', f);
        }
        fputc(']', f);
}

static void print_attributes(FILE *f, const Graph *g, const Node *n, int indent)
{
        const Attr *attr = &n->attr;
        switch (n->op) {
        case OP_INPUT: fprintf(f, ", \"input\": %d", attr->index); break;
        case OP_WEIGHT:
                fprintf(f, ", \"weight\": %d", attr->weight->id);
                if (attr->slot >= 0)
                        fprintf(f, ", \"slot\": %d", attr->slot);
                break;
        case OP_CONST: print_literal(f, attr->literal); break;
        case OP_SIZE:
        case OP_INDEX:
                fputs(n->op == OP_SIZE ? ", \"size\": " : ", \"from\": ", f);
                print_size(f, g, attr->dim);
                break;
        case OP_VIEW: print_view(f, g, attr->view, n->in[0]->type.rank); break;
        case OP_PAD: print_pad(f, g, attr); break;
        case OP_JOIN:
        case OP_SUM:
        case OP_MAXOF:
        case OP_ARGMAX: fprintf(f, ", \"axis\": %d", attr->axis); break;
        case OP_TOP:
        case OP_CHOSEN: fprintf(f, ", \"k\": %d", attr->index); break;
        case OP_AMONG:
                fputs(", \"size\": ", f);
                print_size(f, g, attr->dim);
                break;
        case OP_MATMUL:
                fprintf(f, ", \"past_zeros\": [%s, %s]", attr->index & ZEROS_LEFT ? "true" : "false",
                        attr->index & ZEROS_RIGHT ? "true" : "false");
                break;
        case OP_SOFTMAX:
                fprintf(f, ", \"dead_rows_nan\": %s", attr->index == DEAD_ROWS_NAN ? "true" : "false");
                break;
        case OP_SCAN:
                fprintf(f, ", \"maxima\": %s", attr->index == SCAN_MAXIMA ? "true" : "false");
                if (attr->state)
                        fprintf(f, ", \"state\": %d", attr->state->id);
                break;
        case OP_READ:
        case OP_APPEND: fprintf(f, ", \"axis\": %d", attr->axis); /* fall through */
        case OP_KEEP:
        case OP_KEPT: fprintf(f, ", \"state\": %d", attr->state->id); break;
        case OP_REPEAT: print_repeat(f, g, attr->region, indent); break;
        case OP_CARRY:
        case OP_RESULT: fprintf(f, ", \"index\": %d", attr->index); break;
        default: break; /* no other attributes */
        }
}

static void json_dump_node(FILE *f, const Graph *g, const Node *n, int indent)
{
        fprintf(f, "%*s{\"id\": %d, \"op\": \"%s\"", indent, "", n->id, op_info[n->op].text);
        json_dump_list(f, "in", n->in, n->nin);
        if (n->op != OP_REPEAT)
                print_type(f, g, &n->type);
        if (n->name)
                fprintf(f, ", \"name\": \"%s\"", n->name);
        print_attributes(f, g, n, indent);
        fputc('}', f);
}

static void json_dump_body(FILE *f, const Graph *g, const Body *body, int indent)
{
        fputc('[', f);
        for (int i = 0; i < body->nnode; i++) {
                fputs(i ? ",\n" : "\n", f);
                json_dump_node(f, g, body->node[i], indent);
        }
        fputc(']', f);
}

/* --- bodies, weights, states, inputs, outputs ------------------------------------------------------------------- */

static void json_dump_input(FILE *f, const Graph *g, const Input *in)
{
        fprintf(f, "{\"name\": \"%s\", \"group\": \"%s\"", in->name, in->group_name);
        print_type(f, g, &in->type);
        fprintf(f, ", \"bound\": %" PRId64 "}", in->bound);
}

/* The enclosing repeats, and the slot for each combination of their iterations. */
static void print_slots(FILE *f, Region *const *region, int nregion, const int32_t *slot_of)
{
        int64_t iterations = 1;
        fputs(", \"repeats\": [", f);
        for (int i = 0; i < nregion; i++) {
                fprintf(f, "%s%d", comma(i), region[i]->repeat ? region[i]->repeat->id : -1);
                iterations *= region[i]->iterations;
        }
        fputc(']', f);
        if (slot_of)
                print_integers(f, "slot_of", slot_of, iterations);
}

static void print_weight(FILE *f, const Graph *g, const Weight *w)
{
        Arena scratch = {0};
        fputs("{\"slots\": [", f);
        for (int64_t slot = 0; slot < w->slots; slot++)
                fprintf(f, "%s\"%s\"", comma(slot), weight_slot_name(&scratch, w, slot));
        fputc(']', f);
        arena_free(&scratch);
        print_type(f, g, &w->type);
        fputs(", \"centre\": ", f);
        if (w->centre_values)
                print_numbers(f, w->centre_values, type_count(&w->type, NULL));
        else
                json_dump_number(f, w->centre);
        print_slots(f, w->region, w->nregion, w->slot_of);
        fputc('}', f);
}

static void print_state(FILE *f, const Graph *g, const StateVar *s)
{
        Region *around[MAX_NESTED], *first = s->region;
        int n = 0;
        for (Region *r = first; r; r = r->repeat->body->region)
                n++;
        for (int i = n; i > 0; first = first->repeat->body->region)
                around[--i] = first;
        fprintf(f, "{\"name\": \"%s\"", s->name);
        print_type(f, g, &s->type);
        fprintf(f, ", \"axis\": %d, \"window\": %" PRId64 ", \"storage\": \"%s\"", s->axis, s->window,
                storage_info[s->storage].text);
        print_slots(f, around, n, s->slot_of);
        fputc('}', f);
}

void graph_dump_json(FILE *f, const Graph *g)
{
        fprintf(f, "{\"graph\": \"%s\",\n\"dimensions\": [", g->name);
        for (int i = 0; i < g->nnamed; i++)
                fprintf(f, "%s{\"name\": \"%s\", \"bound\": %" PRId64 "}", comma(i), g->named[i].name,
                        g->named[i].bound);
        fputs("],\n", f);
        for (int i = 0; i < g->nalong; i++) {
                fprintf(f, "%s{\"name\": \"%s\", \"count\": ", i ? ", " : "\"alongs\": [", g->along[i].name);
                print_size(f, g, g->along[i].count);
                fputs(i + 1 < g->nalong ? "}" : "}],\n", f);
        }
        fputs("\"inputs\": [", f);
        for (int i = 0; i < g->ninput; i++) {
                fputs(i ? ",\n" : "\n", f);
                json_dump_input(f, g, &g->input[i]);
        }
        fputs("],\n\"weights\": [", f);
        for (int i = 0; i < g->nweight; i++) {
                fputs(i ? ",\n" : "\n", f);
                print_weight(f, g, g->weight[i]);
        }
        fputs("],\n\"states\": [", f);
        for (int i = 0; i < g->nstate; i++) {
                fputs(i ? ",\n" : "\n", f);
                print_state(f, g, g->state[i]);
        }
        fputs("],\n\"nodes\": ", f);
        json_dump_body(f, g, g->top, 0);
        fputs(",\n\"outputs\": [", f);
        for (int i = 0; i < g->noutput; i++)
                fprintf(f, "%s{\"name\": \"%s\", \"node\": %d}", comma(i), g->output[i].name,
                        g->output[i].node->id);
        fputs("]}\n", f);
}

json_t *shape_json(Arena *a, const Graph *g, const Type *t)
{
        json_t *list = json_array();
        for (int i = 0; i < t->rank; i++)
                json_array_append_new(list, dim_is_fixed(t->dim[i]) ? json_integer(t->dim[i].fixed)
                                                                    : json_string(dim_text(a, g, t->dim[i])));
        return list;
}
