/* Attention as C: strides read off the maps of q, k, v and the output, the score formula as a function, and the bounds
 * of the live keys read off the mask.
 *
 * The kernel's domain is the product's loops (outer, heads, rows, width) with two digits more: the width of a head, and the
 * keys.  Of the loops around the rows the runtime's kernel knows the heads; what stands around these, such as frames or
 * windows, are loops in the emitted function, whose units of work threads share as well. */
#include "formula.h"
#include "live_keys.h"

typedef struct {
        Address q, k, v, out;
        Buffer *q_buffer, *k_buffer, *v_buffer;
        int row, head, share, width, depth,
                keys;                 /* digits; head: of key heads; share: queries of one key head, or -1 */
        int outer[MAX_DIGIT], nouter; /* digits around them, outermost first */
} Walks;

static MapResult walk(Formula *f, Node *x, const Map *product, int axis0, int digit0, int axis1, int digit1,
                      Address *at, Buffer **b)
{
        Map m = {.rank = x->type.rank};
        for (int a = 0; a < x->type.rank - 2; a++)
                if (!dim_is(x->type.dim[a], 1))
                        m.axis[a] = product->axis[a + product->rank - x->type.rank];
        if (digit0 >= 0)
                m.axis[axis0].coef[digit0] = 1;
        if (digit1 >= 0)
                m.axis[axis1].coef[digit1] = 1;
        if (digit0 < 0)
                m.axis[axis0] = product->axis[product->rank - 2];
        if (digit1 < 0)
                m.axis[axis1] = product->axis[product->rank - 1];
        return address_through(f->plan, &f->domain, &m, x, NULL, at, b, &f->refine);
}

static bool is_fixed(const Formula *f, int digit)
{
        return dim_is_fixed(f->domain.digit[digit].size);
}

/* Whether queries of digit `inner` share the keys and values of digit `head`. */
static bool shares_keys(const Formula *f, const Walks *w, int head, int inner)
{
        int64_t n = f->domain.digit[inner].size.fixed;
        return is_fixed(f, head) && is_fixed(f, inner) && w->k.coef[inner] == 0 && w->v.coef[inner] == 0 &&
               w->q.coef[head] == n * w->q.coef[inner] && w->out.coef[head] == n * w->out.coef[inner];
}

/* The digits of the product's axes; false: an axis is cut in a way that the kernel does not know. */
static bool find_digits(const Formula *f, int rank, Walks *w)
{
        w->row = w->head = w->share = w->width = -1;
        w->nouter = 0;
        for (int i = 0; i < f->loops; i++) {
                int axis = f->domain.digit[i].axis;
                if (axis == rank - 1 && w->width >= 0)
                        return false;
                if (axis == rank - 1)
                        w->width = i;
                else if (axis < rank - 2)
                        w->outer[w->nouter++] = i;
                else if (w->row < 0 || is_fixed(f, w->row)) {
                        if (w->row >= 0) /* of rows in several digits the last ones are the kernel's */
                                w->outer[w->nouter++] = w->row;
                        w->row = i;
                } else {
                        return false;
                }
        }
        int last = w->nouter > 0 ? w->outer[w->nouter - 1] : -1;
        if (last < 0 || f->domain.digit[last].axis == rank - 2 || !is_fixed(f, last))
                return w->width >= 0;
        w->head = w->outer[--w->nouter];
        if (w->nouter > 0 && shares_keys(f, w, w->outer[w->nouter - 1], last)) {
                w->share = w->head;
                w->head = w->outer[--w->nouter];
        }
        return w->width >= 0;
}

/* The first position that a buffer of keys or values holds. */
static Dim first_held(const Buffer *b)
{
        int ring = ring_of(b);
        return ring < 0 ? dim_fixed(0) : dim_named(NAMED_BASE + ring);
}

static int64_t along(const Address *a, int digit)
{
        return digit < 0 ? 0 : a->coef[digit];
}

static bool fits_kernel(const Formula *f, const Walks *w)
{
        if (!reads_straight(w->q_buffer, &w->q) || !reads_straight(w->v_buffer, &w->v) || w->out.tiled ||
            w->k.dense || !w->k.tiled || w->k.tile_index.coef[w->keys] != 1)
                return false;
        bool deep = !dim_is(f->domain.digit[w->depth].size, 1),
             wide = !dim_is(f->domain.digit[w->width].size, 1);
        if (deep && (w->q.coef[w->depth] != 1 || w->k.coef[w->depth] != LANES))
                return false;
        if (wide && (w->v.coef[w->width] != 1 || w->out.coef[w->width] != 1))
                return false;
        for (int i = 0; i < f->domain.n; i++)
                if (i != w->keys && w->k.tile_index.coef[i] != 0)
                        return false;
        return dim_equal(w->k.tile_index.offset, dim_scale(first_held(w->k_buffer), -1));
}

/* Finds every walk, cutting the domain where a view asks for it; false: the kernel can't be made. */
static bool find_walks(Formula *f, Kernel *k, Walks *w)
{
        Node *product = k->store[0].node;
        int rank = product->type.rank;
        Domain loops = domain_of(f->plan->graph, &product->type);
        Dim depth = k->q->type.dim[k->q->type.rank - 1], keys = k->k->type.dim[k->k->type.rank - 1];
        for (;;) {
                if (loops.n + 2 > MAX_DIGIT)
                        return false;
                f->domain = loops;
                f->loops = loops.n;
                w->depth = f->domain.n++;
                w->keys = f->domain.n++;
                f->domain.digit[w->depth] = (Digit){depth, -1, 1};
                f->domain.digit[w->keys] = (Digit){keys, -1, 1};
                Map m = map_identity(&loops, &product->type);
                int kr = k->k->type.rank, vr = k->v->type.rank, qr = k->q->type.rank;
                MapResult r = walk(f, k->q, &m, qr - 2, -1, qr - 1, w->depth, &w->q, &w->q_buffer);
                if (r == MAP_OK)
                        r = walk(f, k->k, &m, kr - 2, w->depth, kr - 1, w->keys, &w->k, &w->k_buffer);
                if (r == MAP_OK)
                        r = walk(f, k->v, &m, vr - 2, w->keys, vr - 1, -1, &w->v, &w->v_buffer);
                if (r == MAP_OK) {
                        w->out = address_of(k->store[0].to, &m);
                        return find_digits(f, rank, w) && fits_kernel(f, w);
                }
                if (r == MAP_FAIL || f->refine.digit >= loops.n)
                        return false;
                domain_refine(&loops, f->refine);
        }
}

/* --- the functions -------------------------------------------------------------------------------------------- */

static void digit_line(const Formula *f, int digit, const char *value, const Text *body, Text *out)
{
        if (digit >= 0 && uses_name(body->data, arena_printf(f->arena, "i%d", digit)))
                text_printf(out, "const int64_t i%d = %s;\n", digit, value);
}

/* Digits out of one number, the last ones lowest. */
static void number_lines(const Formula *f, const int *digit, int n, const char *number, const Text *body,
                         Text *out)
{
        const char *lower = NULL; /* how many values the digits after this one have */
        for (int i = n - 1; i >= 0; i--) {
                const char *size = loop_size(f, digit[i]);
                const char *rest = lower ? arena_printf(f->arena, "%s / %s", number, lower) : number;
                if (i > 0)
                        rest = arena_printf(f->arena, lower ? "(%s) %% %s" : "%s %% %s", rest, size);
                digit_line(f, digit[i], rest, body, out);
                lower = lower ? arena_printf(f->arena, "(%s * %s)", lower, size) : size;
        }
}

/* The kernel counts heads from the first of all that are around it. */
static void head_lines(const Formula *f, const Walks *w, const Text *body, Text *out)
{
        int digit[MAX_DIGIT], n = 0;
        for (; n < w->nouter; n++)
                digit[n] = w->outer[n];
        if (w->head >= 0)
                digit[n++] = w->head;
        if (w->share >= 0)
                digit[n++] = w->share;
        number_lines(f, digit, n, "head", body, out);
        digit_line(f, w->row, "row", body, out);
}

static Node *emit_score(Formula *f, Kernel *k, const Walks *w, Node *score, const Map *at, Text *out)
{
        Formula g = formula_new(f->plan, k);
        g.domain = f->domain;
        g.loops = f->loops;
        g.lane = w->keys;
        g.whole_lanes = g.rest_is_ours = true;
        g.given[0] = k->core;
        g.given_as[0] = "s";
        int value = formula_value(&g, score, at);
        if (value < 0)
                return k->store[0].node;
        if (!out)
                return NULL;
        Text *rest = text_new(g.arena), *digits = text_new(g.arena), *body = text_new(g.arena);
        text_indent(rest, g.row, 0);
        text_indent(rest, g.lanes, 0);
        text_printf(rest, f->plan->by_address ? "v_copy(s, t%d);\n" : "return t%d;\n", value);
        head_lines(&g, w, rest, digits);
        declare_pointers(&g, body);
        text_indent(body, digits, 0);
        text_printf(body, uses_name(rest->data, "j") || uses_name(rest->data, "n")
                                  ? "const int64_t j = col;\n"
                                  : "(void)col;\n");
        if (uses_name(rest->data, "n")) {
                const char *keys = dim_expression(g.arena, f->plan->graph, f->domain.digit[w->keys].size);
                text_printf(body, "const int n = %s - j < 16 ? (int)(%s - j) : 16;\n", keys, keys);
        }
        text_indent(body, rest, 0);
        open_callback(
                &g,
                arena_printf(g.arena,
                             "%s %s_score(const void *context, v16 s, int head, int64_t row, int64_t col)",
                             f->plan->by_address ? "void" : "v16", k->name),
                body, (const char *[]){"s", "head", "row", NULL}, out);
        return NULL;
}

static void emit_live(Formula *f, Kernel *k, const Walks *w, const Bounds *b, Text *out)
{
        Text *inner = text_new(f->arena), *digits = text_new(f->arena), *body = text_new(f->arena);
        declare_row_tables(f, b, inner);
        if (b->low)
                text_printf(body, "*lo = %s;\n", b->low);
        if (b->high)
                text_printf(body, "*hi = %s;\n", b->high);
        head_lines(f, w, body, digits);
        text_indent(inner, digits, 0);
        text_indent(inner, body, 0);
        open_callback(
                f,
                arena_printf(
                        f->arena,
                        "void %s_live(const void *context, int head, int64_t row, int64_t *lo, int64_t *hi)",
                        k->name),
                inner, (const char *[]){"head", "row", "lo", "hi", NULL}, out);
}

/* Where an operand begins: by the digits around the kernel's own. */
static const char *operand(Formula *f, const Walks *w, Buffer *b, const Address *at)
{
        int64_t coef[MAX_DIGIT] = {0};
        for (int i = 0; i < w->nouter; i++)
                coef[w->outer[i]] = at->coef[w->outer[i]];
        return pointer_at(f, b, index_expression(f, at->offset, coef, false));
}

/* "const Attention a = {..};" */
static void describe(Formula *f, Kernel *k, const Walks *w, long long heads, long long kv_heads, Text *out)
{
        Arena *a = f->arena;
        int inner = w->share >= 0 ? w->share : w->head;
        Address q = w->q, o = w->out, v = w->v;
        v.offset = dim_add(v.offset, dim_scale(first_held(w->v_buffer), along(&v, w->keys)));
        bool begins = w->row >= 0 && begins_at_first(f, w->row);
        if (begins) {
                q.offset = dim_add(q.offset, dim_scale(dim_named(NAMED_FIRST), along(&q, w->row)));
                o.offset = dim_add(o.offset, dim_scale(dim_named(NAMED_FIRST), along(&o, w->row)));
        }
        text_printf(out, "const Attention a = {\n");
        text_printf(out, "        .q = %s, .q_row = %lld, .q_head = %lld,\n", operand(f, w, w->q_buffer, &q),
                    (long long)along(&q, w->row), (long long)along(&q, inner));
        text_printf(out, "        .k = %s, .k_head = %lld, .k_tile = %lld,\n",
                    operand(f, w, w->k_buffer, &w->k), (long long)along(&w->k, w->head),
                    (long long)w->k.tile);
        text_printf(out, "        .v = %s, .v_head = %lld, .v_key = %lld,\n", operand(f, w, w->v_buffer, &v),
                    (long long)along(&v, w->head), (long long)along(&v, w->keys));
        if (ring_of(w->k_buffer) >= 0 || ring_of(w->v_buffer) >= 0)
                text_printf(out, "        .first_key = %s, .first_value = %s,\n",
                            dim_expression(a, f->plan->graph, first_held(w->k_buffer)),
                            dim_expression(a, f->plan->graph, first_held(w->v_buffer)));
        text_printf(out, "        .out = %s, .out_row = %lld, .out_head = %lld,\n",
                    operand(f, w, k->store[0].to, &o), (long long)along(&o, w->row),
                    (long long)along(&o, inner));
        text_printf(
                out,
                "        .heads = %lld, .kv_heads = %lld, .head_dim = %lld, .v_dim = %lld, .scale = 1.0f,\n",
                heads, kv_heads, (long long)f->domain.digit[w->depth].size.fixed,
                (long long)f->domain.digit[w->width].size.fixed);
        if (w->nouter)
                text_printf(out, "        .first_head = (int)around * %lld,\n", heads);
        text_printf(out, "        .keys = %s, .first_row = %s, .ctx = &place,\n};\n",
                    dim_expression(a, f->plan->graph, f->domain.digit[w->keys].size),
                    begins ? "m->first" : "0");
}

/* "16 * m->frames": how often the kernel's heads and rows come */
static const char *times_around(Formula *f, const Walks *w)
{
        const char *times = loop_size(f, w->outer[0]);
        for (int i = 1; i < w->nouter; i++)
                times = arena_printf(f->arena, "%s * %s", times, loop_size(f, w->outer[i]));
        return times;
}

static void emit_call(Formula *f, Kernel *k, const Walks *w, Text *out)
{
        Arena *a = f->arena;
        Text *call = text_new(a), *body = text_new(a), *digits = text_new(a);
        int64_t share = w->share >= 0 ? f->domain.digit[w->share].size.fixed : 1;
        int64_t groups = w->head >= 0 ? f->domain.digit[w->head].size.fixed : 1;
        bool all_share =
                w->share < 0 && w->head >= 0 && along(&w->k, w->head) == 0 && along(&w->v, w->head) == 0;
        long long heads = groups * share, kv_heads = all_share ? 1 : groups;
        const char *units = arena_printf(a, "ATTENTION_UNITS(%lld, %lld, rows)", heads, kv_heads);
        const char *rows = w->row >= 0 ? loop_size(f, w->row) : "1";
        describe(f, k, w, heads, kv_heads, call);
        declare_place(f, "0", body);
        declare_pointers(f, body);
        if (w->nouter == 0) {
                text_indent(body, call, 0);
                text_printf(body, "const int64_t rows = %s;\nconst int64_t units = %s;\n", rows, units);
                text_printf(body,
                            "attention(&a, %s_score, %s_live, (int)share(units, thread, m->threads), "
                            "(int)share(units, thread + 1, m->threads),\n",
                            k->name, k->name);
                text_printf(body, "          rows, m->scratch + thread * SCRATCH);\n");
        } else {
                text_printf(body, "const int64_t rows = %s, units = %s, all = %s * units;\n", rows, units,
                            times_around(f, w));
                text_printf(body, "const int64_t end = share(all, thread + 1, m->threads);\n"
                                  "for (int64_t unit = share(all, thread, m->threads), next; unit < end; "
                                  "unit = next) {\n"
                                  "        const int64_t around = unit / units, begin = around * units;\n");
                number_lines(f, w->outer, w->nouter, "around", call, digits);
                text_indent(body, digits, 1);
                text_printf(body, "        next = begin + units < end ? begin + units : end;\n");
                text_indent(body, call, 1);
                text_printf(body,
                            "        attention(&a, %s_score, %s_live, (int)(unit - begin), (int)(next - "
                            "begin), rows, m->scratch + thread * SCRATCH);\n}\n",
                            k->name, k->name);
        }
        open_function(f->plan, k, out, body);
}

Node *emit_attention(Plan *p, Kernel *k, Text *out)
{
        Formula f = formula_new(p, k);
        Walks w;
        f.lane = -1;
        if (!find_walks(&f, k, &w))
                return k->store[0].node;
        const Type *t = &k->score->type;
        Map at = {.rank = t->rank}, product = map_identity(&f.domain, &k->store[0].node->type);
        for (int a = 0; a < t->rank - 1; a++)
                at.axis[a] = product.axis[a];
        at.axis[t->rank - 1].coef[w.keys] = 1;
        Bounds bounds = {0};
        Node *bare = k->score;
        f.lane = w.keys;
        live_keys(&f, k->score, &at, w.keys, &bounds, &bare);
        Buffer *named[] = {w.q_buffer, w.k_buffer, w.v_buffer, k->store[0].to};
        for (int i = 0; i < 4; i++)
                pointer_name(&f, named[i]);
        Node *stuck = emit_score(&f, k, &w, bare, &at, out);
        if (stuck || !out)
                return stuck;
        emit_live(&f, k, &w, &bounds, out);
        emit_call(&f, k, &w, out);
        return NULL;
}
