/* Products as C: the call of matmul() with literals for each segment and the function that takes its results, and the
 * plain product of two computed tensors. */
#include "formula.h"

#include <string.h>

/* --- products with weights ------------------------------------------------------------------------------------ */

/* The rows of a product: the left operand's, evenly spaced.  Where two sizes of the call run over them, as over positions and
 * keys, the runtime's product takes those of the inner one; the loops before it stand around the call. */
typedef struct {
        Buffer *buffer;
        const char *at; /* where the first row begins */
        int64_t ldx;
        int outer; /* digits before this one are loops around */
} Rows;

/* The function that takes a product's finished results, and what it stores. */
static Node *emit_epilogue(Plan *p, Kernel *k, const Segment *s, int outer, Text *out)
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
        if (!formula_store(&f, root, s->store.to, &at, value, store))
                return root;
        if (!out)
                return NULL;
        Text *inner = text_new(f.arena);
        declare_pointers(&f, inner);
        Text *rest = text_new(f.arena);
        text_indent(rest, f.row, 0);
        text_indent(rest, f.lanes, 0);
        text_indent(rest, store, 0);
        declare_digits(&f, 0, outer, "place->around", rest, inner);
        declare_digits(&f, outer, f.loops - 1, "row", rest, inner);
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

/* The first of the digits that count evenly spaced rows together with those after it, up to `end`. */
static int first_even(const Domain *d, const Address *a, int end)
{
        int i = end > 0 ? end - 1 : 0;
        while (i > 0 && dim_is_fixed(d->digit[i].size) &&
               a->coef[i - 1] == a->coef[i] * d->digit[i].size.fixed)
                i--;
        return i;
}

/* False: the left operand's rows are not evenly spaced. */
static bool row_walk(Formula *f, Node *x, Rows *r)
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
        if (address_through(f->plan, &d, &m, x, NULL, &a, &r->buffer, &refine) != MAP_OK)
                return false;
        if (!reads_straight(r->buffer, &a) || a.coef[k] != 1)
                return false;
        r->ldx = rows ? a.coef[rows - 1] : 0;
        r->outer = first_even(&d, &a, rows);
        if (r->outer && dim_is_fixed(d.digit[r->outer].size))
                return false; /* a copy has them even */
        Dim offset = a.offset;
        if (rows && begins_at_first(f, r->outer))
                offset = dim_add(offset, dim_scale(dim_named(NAMED_FIRST), a.coef[r->outer]));
        int64_t around[MAX_DIGIT] = {0};
        for (int i = 0; i < r->outer; i++)
                around[i] = a.coef[i];
        r->at = pointer_at(f, r->buffer, index_expression(f, offset, around, false));
        return true;
}

static int64_t panels_of(const Segment *s)
{
        return round_up(s->n, LANES) / LANES;
}

/* The call for one segment, whose panels stand behind `first` others. */
static void emit_segment(Formula *f, const Segment *s, const Rows *r, int64_t first, Text *out)
{
        const Plan *p = f->plan;
        const Kernel *k = f->kernel;
        const Buffer *to = whole_buffer(s->store.to);
        bool asked = to->home == IN_OUTPUT;
        const char *function = k->listed ? "matmul_found" : "matmul";
        const char *twice = s->nproduct == 2 ? "2 * " : "";
        long long panels = panels_of(s);
        Text *call = text_new(f->arena);
        if (asked)
                text_printf(out, "if (m->output_%s) /* wanted */\n", p->graph->output[to->index].name);
        text_printf(call, "%s(&place, %s, %s, %lld, %s, %lld, %s, STORAGE_F32, %d, %lld,\n", function,
                    s->name, r->at, (long long)r->ldx, k->listed ? "found, count" : "rows",
                    (long long)k->k_size, float_pointer(f, s->w[0]), s->nproduct, (long long)k->k_cut);
        text_printf(call,
                    "%*s%spart(from, %lld, %lld), %spart(to, %lld, %lld), m->scratch + thread * "
                    "SCRATCH);\n",
                    (int)strlen(function) + 1, "", twice, (long long)first, panels, twice, (long long)first,
                    panels);
        text_indent(out, call, asked);
}

/* The loops around the calls; threads share the panels of all their turns. */
static void emit_around(Formula *f, const Rows *r, long long panels, const Text *calls, Text *out)
{
        Text *inner = text_new(f->arena);
        text_printf(out,
                    "const int64_t all = %s * %lld;\n"
                    "const int64_t begin = share(all, thread, m->threads), end = share(all, thread + 1, "
                    "m->threads);\n",
                    row_count(f, 0, r->outer), panels);
        text_printf(out, "for (int64_t around = begin / %lld; around * %lld < end; around++) {\n", panels,
                    panels);
        declare_place(f, "around", inner);
        declare_digits(f, 0, r->outer, "around", calls, inner);
        text_printf(inner,
                    "const int64_t from = begin - around * %lld, to = end - around * %lld; /* part() keeps "
                    "them within */\n",
                    panels, panels);
        text_indent(inner, calls, 0);
        text_indent(out, inner, 1);
        text_printf(out, "}\n");
}

Node *emit_matmul(Plan *p, Kernel *k, Text *out)
{
        Formula f = formula_new(p, k);
        f.domain = domain_of(p->graph, &k->segment[0].product[0]->type);
        f.loops = f.domain.n;
        set_lane(&f, f.loops - 1);
        Rows r;
        if (!row_walk(&f, k->x, &r))
                return k->x->op == OP_VIEW ? k->x : base_of(k->x);
        for (int i = 0; i < k->nsegment; i++) {
                Node *stuck = emit_epilogue(p, k, &k->segment[i], r.outer, out);
                if (stuck)
                        return stuck;
        }
        if (!out)
                return NULL;
        int64_t total = 0;
        Text *body = text_new(f.arena), *calls = text_new(f.arena);
        for (int i = 0; i < k->nsegment; i++) {
                emit_segment(&f, &k->segment[i], &r, total, calls);
                total += panels_of(&k->segment[i]);
        }
        if (!r.outer)
                declare_place(&f, "0", body);
        declare_pointers(&f, body);
        if (!k->listed)
                text_printf(body, "const int64_t rows = %s;\n", row_count(&f, r.outer, f.loops - 1));
        if (r.outer) {
                emit_around(&f, &r, total, calls, body);
        } else {
                text_printf(body,
                            "const int64_t from = share(%lld, thread, m->threads), to = share(%lld, thread + "
                            "1, m->threads);\n",
                            (long long)total, (long long)total);
                text_indent(body, calls, 0);
        }
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
        const char *yp = arena_printf(f.arena, "%s + %s", float_pointer(&f, k->store[0].to),
                                      address_expression(&f, &to, false));
        const char *ap =
                arena_printf(f.arena, "%s + %s", float_pointer(&f, xb), address_expression(&f, &x, false));
        const char *bp =
                arena_printf(f.arena, "%s + %s, %lld, %lld", float_pointer(&f, yb),
                             address_expression(&f, &y, false), (long long)y_step, (long long)y.coef[f.lane]);
        const char *sizes =
                arena_printf(f.arena, "(int)%s, (int)%s", loop_size(&f, f.lane), loop_size(&f, inner));
        if (root->attr.index)
                text_printf(call, "matmul_past_zeros(%s, %s, %lld,\n                  %s, %s, %d);\n", yp, ap,
                            (long long)x_step, bp, sizes, root->attr.index);
        else
                text_printf(call, "matmul_plain(%s, 0, %s, 0, %lld,\n             %s, 0, 1, %s);\n", yp, ap,
                            (long long)x_step, bp, sizes);
        declare_pointers(&f, body);
        text_printf(body, "const int64_t rows = %s, end = share(rows, thread + 1, m->threads);\n",
                    row_count(&f, 0, n));
        text_printf(body, "for (int64_t row = share(rows, thread, m->threads); row < end; row++) {\n");
        Text *digits = text_new(f.arena);
        declare_digits(&f, 0, n, "row", call, digits);
        text_indent(body, digits, 1);
        text_indent(body, call, 1);
        text_printf(body, "}\n");
        open_function(p, k, out, body);
        return NULL;
}
