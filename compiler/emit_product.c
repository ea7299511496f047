/* Products as C: the call of matmul() with literals for each segment and the function that takes its results, and the
 * plain product of two computed tensors. */
#include "formula.h"

#include <string.h>

/* --- products with weights ------------------------------------------------------------------------------------ */

/* The function that takes a product's finished results, and what it stores. */
static Node *emit_epilogue(Plan *p, Kernel *k, const Segment *s, Text *out)
{
        Formula f = formula_new(p, k);
        Node *root = s->store.node;
        f.domain = domain_of(p->graph, &root->type);
        f.loops = f.domain.n;
        set_lane(&f, f.domain.n - 1);
        for (int i = 0; i < s->nproduct; i++) {
                f.given[i] = s->product[i];
                f.given_as[i] = i ? "acc[1]" : "acc[0]";
        }
        Map at = map_identity(&f.domain, &root->type);
        f.computing = root;
        int value = formula_value(&f, root, &at);
        if (value < 0)
                return f.stuck;
        Text *store = text_new(f.arena);
        if (!formula_store(&f, s->store.to, &at, value, store))
                return root;
        if (!out)
                return NULL;
        Text *inner = text_new(f.arena);
        declare_pointers(&f, inner);
        int n = f.loops - 1;
        Text *rest = text_new(f.arena);
        text_indent(rest, f.row, 0);
        text_indent(rest, f.lanes, 0);
        text_indent(rest, store, 0);
        declare_digits(&f, n, "row", rest, inner);
        text_printf(inner, "const int64_t j = (int64_t)panel%s * 16;\n", s->nproduct == 2 ? " / 2" : "");
        if (!f.whole_lanes && uses_name(rest->data, "n"))
                text_printf(inner, "const int n = %lld - j < 16 ? (int)(%lld - j) : 16;\n", (long long)s->n,
                            (long long)s->n);
        text_indent(inner, rest, 0);
        open_callback(&f,
                      arena_printf(f.arena,
                                   "void %s(const void *context, int64_t row, int panel, const v16 *acc)",
                                   s->name),
                      inner, (const char *[]){"row", NULL}, out);
        return NULL;
}

/* The rows of the left operand: pointer expression and stride; false: they are not evenly spaced. */
static bool row_walk(Formula *f, Node *x, Buffer **b, const char **at, int64_t *ldx)
{
        Domain d = f->domain;
        d.digit[d.n] = (Digit){x->type.dim[x->type.rank - 1], -1, 1};
        int k = d.n++, rows = f->loops - 1;
        Map m = {.rank = x->type.rank};
        Map out = map_identity(&f->domain, &f->kernel->segment[0].product[0]->type);
        for (int a = 0; a < x->type.rank - 1; a++)
                m.axis[a] = out.axis[a];
        m.axis[x->type.rank - 1].coef[k] = 1;
        Refine refine;
        Address a;
        if (address_through(f->plan, &d, &m, x, NULL, &a, b, &refine) != MAP_OK)
                return false;
        if (!reads_straight(*b, &a) || a.coef[k] != 1)
                return false;
        *ldx = rows ? a.coef[rows - 1] : 0;
        for (int i = rows - 2; i >= 0; i--) {
                Dim n = d.digit[i + 1].size;
                if (!dim_is_fixed(n) || a.coef[i] != a.coef[i + 1] * n.fixed)
                        return false;
        }
        Dim offset = a.offset;
        if (rows && begins_at_first(f, 0))
                offset = dim_add(offset, dim_scale(dim_named(NAMED_FIRST), a.coef[0]));
        const int64_t none[MAX_DIGIT] = {0};
        *at = pointer_at(f, *b, index_expression(f, offset, none, false));
        return true;
}

Node *emit_matmul(Plan *p, Kernel *k, Text *out)
{
        Formula f = formula_new(p, k);
        f.domain = domain_of(p->graph, &k->segment[0].product[0]->type);
        f.loops = f.domain.n;
        set_lane(&f, f.loops - 1);
        Buffer *x;
        const char *at;
        int64_t ldx;
        if (!row_walk(&f, k->x, &x, &at, &ldx))
                return k->x->op == OP_VIEW ? k->x : base_of(k->x);
        for (int i = 0; i < k->nsegment; i++) {
                Node *stuck = emit_epilogue(p, k, &k->segment[i], out);
                if (stuck)
                        return stuck;
        }
        if (!out)
                return NULL;
        int64_t total = 0;
        Text *body = text_new(f.arena), *calls = text_new(f.arena);
        for (int i = 0; i < k->nsegment; i++)
                total += round_up(k->segment[i].n, LANES) / LANES;
        int64_t first = 0;
        for (int i = 0; i < k->nsegment; i++) {
                const Segment *s = &k->segment[i];
                int64_t panels = round_up(s->n, LANES) / LANES;
                const char *twice = s->nproduct == 2 ? "2 * " : "";
                Buffer *w = s->w[0];
                const Buffer *to = whole_buffer(s->store.to);
                bool asked = p->graph->past >= 0 && to->home == IN_OUTPUT;
                const char *function = k->listed ? "matmul_found" : "matmul";
                Text *call = text_new(f.arena);
                if (asked)
                        text_printf(calls, "if (m->output_%s) /* wanted */\n",
                                    p->graph->output[to->index].name);
                text_printf(call, "%s(&place, %s, %s, %lld, %s, %lld, %s, STORAGE_F32, %d, %lld,\n", function,
                            s->name, at, (long long)ldx, k->listed ? "found, count" : "rows",
                            (long long)k->k_size, pointer_name(&f, w), s->nproduct, (long long)k->k_cut);
                text_printf(call,
                            "%*s%spart(from, %lld, %lld), %spart(to, %lld, %lld), m->scratch + thread * "
                            "SCRATCH);\n",
                            (int)strlen(function) + 1, "", twice, (long long)first, (long long)panels, twice,
                            (long long)first, (long long)panels);
                text_indent(calls, call, asked);
                first += panels;
        }
        declare_place(&f, body);
        declare_pointers(&f, body);
        if (!k->listed)
                text_printf(body, "const int64_t rows = %s;\n", row_count(&f, f.loops - 1));
        text_printf(body,
                    "const int64_t from = share(%lld, thread, m->threads), to = share(%lld, thread + 1, "
                    "m->threads);\n",
                    (long long)total, (long long)total);
        text_indent(body, calls, 0);
        open_function(p, k, out, body);
        return NULL;
}

/* --- products of two computed tensors ---------------------------------------------------------------------- */

/* An operand of the product seen from the output's loops: axis `own` runs with digit `own_digit`, the last but `own` with the rest. */
static MapResult operand(Formula *f, Node *x, int own, int own_digit, const Map *out, Address *at, Buffer **b)
{
        Map m = {.rank = x->type.rank};
        for (int a = 0; a < x->type.rank; a++)
                if (!dim_is(x->type.dim[a], 1))
                        m.axis[a] = out->axis[a + out->rank - x->type.rank];
        m.axis[own] = (AxisIndex){0};
        m.axis[own].coef[own_digit] = 1;
        return address_through(f->plan, &f->domain, &m, x, NULL, at, b, &f->refine);
}

Node *emit_plain(Plan *p, Kernel *k, Text *out)
{
        Node *root = k->store[0].node;
        Formula f = formula_new(p, k);
        f.domain = domain_of(p->graph, &root->type);
        f.loops = f.domain.n;
        set_lane(&f, f.loops - 1);
        int inner = f.domain.n++;
        f.domain.digit[inner] = (Digit){k->x->type.dim[k->x->type.rank - 1], -1, 1};
        Map m = map_identity(&f.domain, &root->type);
        Address x, y, to = address_of(k->store[0].to, &m);
        Buffer *xb, *yb;
        if (operand(&f, k->x, k->x->type.rank - 1, inner, &m, &x, &xb) != MAP_OK || !reads_straight(xb, &x))
                return k->x->op == OP_VIEW && !p->copy[k->x->id] ? k->x : base_of(k->x);
        if (operand(&f, k->y, k->y->type.rank - 2, inner, &m, &y, &yb) != MAP_OK || !reads_straight(yb, &y))
                return k->y->op == OP_VIEW && !p->copy[k->y->id] ? k->y : base_of(k->y);
        if (to.tiled || to.coef[f.lane] != 1)
                return root;
        Buffer *touched[] = {xb, yb, k->store[0].to};
        for (int i = 0; i < 3; i++)
                pointer_name(&f, touched[i]);
        if (!out)
                return NULL;
        Text *body = text_new(f.arena);
        int n = f.loops - 1;
        int64_t x_step = x.coef[inner], y_step = y.coef[inner];
        x.coef[inner] = y.coef[inner] = 0;
        Text *call = text_new(f.arena);
        text_printf(call, "matmul_plain(%s + %s, 0, %s + %s, 0, %lld,\n", pointer_name(&f, k->store[0].to),
                    address_expression(&f, &to, false), pointer_name(&f, xb),
                    address_expression(&f, &x, false), (long long)x_step);
        text_printf(call, "             %s + %s, %lld, %lld, 0, 1, (int)%s, (int)%s);\n",
                    pointer_name(&f, yb), address_expression(&f, &y, false), (long long)y_step,
                    (long long)y.coef[f.lane], loop_size(&f, f.lane), loop_size(&f, inner));
        declare_pointers(&f, body);
        text_printf(body, "const int64_t rows = %s, end = share(rows, thread + 1, m->threads);\n",
                    row_count(&f, n));
        text_printf(body, "for (int64_t row = share(rows, thread, m->threads); row < end; row++) {\n");
        Text *digits = text_new(f.arena);
        declare_digits(&f, n, "row", call, digits);
        text_indent(body, digits, 1);
        text_indent(body, call, 1);
        text_printf(body, "}\n");
        open_function(p, k, out, body);
        return NULL;
}
