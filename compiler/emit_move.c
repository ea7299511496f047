/* Views that no loops walk evenly, as C: the place of each element is worked out by itself.
 *
 *   [16, a] -> [16 * a]        const int64_t x0 = i0 % (m->a);  const int64_t x1 = i0 / (m->a);  y[i0] = x[x0 + 5 * x1];
 *
 * What is left where an axis is made of several whose sizes only the call knows: slow, and right for every view. */
#include "formula.h"

typedef struct {
        Formula *f;
        Text *lines; /* statements that the index needs */
        int n;       /* names given out */
} Move;

static const char *define(Move *m, const char *value)
{
        const char *name = arena_printf(m->f->arena, "x%d", m->n++);
        text_printf(m->lines, "const int64_t %s = %s;\n", name, value);
        return name;
}

static const char *divided(Move *m, const char *a, char op, const char *by)
{
        return define(m, arena_printf(m->f->arena, "%s %c %s", a, op, by));
}

static const char *size_text(const Move *m, Dim d)
{
        const char *e = dim_expression(m->f->arena, m->f->plan->graph, d);
        return dim_is_fixed(d) ? e : arena_printf(m->f->arena, "(%s)", e);
}

/* "sum + factor * index"; NULL is 0 */
static const char *sum_text(const Move *m, const char *sum, int64_t factor, const char *index)
{
        if (!index || factor == 0)
                return sum;
        const char *term =
                factor == 1 ? index : arena_printf(m->f->arena, "%lld * %s", (long long)factor, index);
        return sum ? arena_printf(m->f->arena, "%s + %s", sum, term) : term;
}

static const char *sum_dim(const Move *m, const char *sum, Dim d)
{
        return dim_is(d, 0) ? sum : sum_text(m, sum, 1, size_text(m, d));
}

/* Indices of the view's input, by axis, from those of its output; NULL is 0. */
static void index_through(Move *m, const View *v, int rank_in, const char *const *out, const char **in)
{
        for (int a = 0; a < rank_in; a++)
                in[a] = sum_dim(m, NULL, v->offset[a]);
        for (int k = v->natom - 1; k >= 0;) {
                int o = v->atom[k].out;
                const char *rest = out[o];
                for (; k >= 0 && v->atom[k].out == o; k--) {
                        const Atom *atom = &v->atom[k];
                        bool last = k == 0 || v->atom[k - 1].out != o;
                        const char *size = size_text(m, atom->size);
                        const char *digit = !rest || last ? rest : divided(m, rest, '%', size);
                        if (rest && !last)
                                rest = divided(m, rest, '/', size);
                        if (atom->axis >= 0)
                                in[atom->axis] = sum_text(m, in[atom->axis], atom->stride, digit);
                }
        }
        for (int a = 0; a < rank_in; a++)
                if (in[a])
                        in[a] = define(m, in[a]);
}

/* Where an element lies in a buffer. */
static const char *place_text(Move *m, const Buffer *b, const char *const *index)
{
        const char *sum = b->layout.offset ? size_text(m, dim_fixed(b->layout.offset)) : NULL;
        for (int a = 0; a < b->layout.rank; a++) {
                const char *i = a == b->shift_axis ? sum_dim(m, index[a], b->shift) : index[a];
                if (i != index[a])
                        i = define(m, i);
                if (a != b->layout.tiled) {
                        sum = sum_text(m, sum, b->layout.stride[a], i);
                } else if (i) {
                        sum = sum_text(m, sum, b->layout.tile, divided(m, i, '/', "16"));
                        sum = sum_text(m, sum, 1, divided(m, i, '%', "16"));
                }
        }
        return sum ? sum : "0";
}

Node *emit_move(Plan *p, Kernel *k, Text *out)
{
        Node *n = k->store[0].node;
        Formula f = formula_new(p, k);
        Move m = {.f = &f, .lines = text_new(f.arena)};
        f.domain = domain_of(p->graph, &n->type);
        f.loops = f.domain.n;
        f.lane = -1;
        const char *to[MAX_RANK] = {0}, *from[MAX_RANK];
        for (int d = 0; d < f.loops; d++)
                if (n->type.rank && !dim_is(f.domain.digit[d].size, 1))
                        to[f.domain.digit[d].axis] = digit_name(&f, d);
        const char *const *at = to;
        Node *x = n;
        do {
                const char *in[MAX_RANK];
                index_through(&m, x->attr.view, x->in[0]->type.rank, at, in);
                x = x->in[0];
                for (int a = 0; a < x->type.rank; a++)
                        from[a] = in[a];
                at = from;
        } while (x->op == OP_VIEW && !p->value[x->id]);
        Buffer *b = p->value[x->id], *own = k->store[0].to;
        if (!b || b->dense || own->dense)
                return x;
        const char *read = arena_printf(f.arena, "%s[%s]", pointer_name(&f, b), place_text(&m, b, from));
        const char *store = arena_printf(f.arena, "%s[%s]", pointer_name(&f, own), place_text(&m, own, to));
        if (!out)
                return NULL;
        text_printf(m.lines, "%s = %s%s;\n", store,
                    b->home == IN_INPUT && x->type.dtype != REAL ? "(float)" : "", read);
        Text *body = text_new(f.arena), *digits = text_new(f.arena);
        declare_pointers(&f, body);
        text_printf(body, "const int64_t rows = %s, end = share(rows, thread + 1, m->threads);\n",
                    row_count(&f, 0, f.loops));
        text_printf(body, "for (int64_t row = share(rows, thread, m->threads); row < end; row++) {\n");
        declare_digits(&f, 0, f.loops, "row", m.lines, digits);
        text_indent(body, digits, 1);
        text_indent(body, m.lines, 1);
        text_printf(body, "}\n");
        open_function(p, k, out, body);
        return NULL;
}
