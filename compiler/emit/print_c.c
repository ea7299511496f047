/* Code as C: statements, integers and pointers.
 *
 * Each vector becomes one `const v16 t<n> = ..;` (w16 where it holds doubles).  Where vectors are passed by address (libtcc has
 * none), the same statement reads `v16 t<n>; v_add(t<n>, t0, t1);`. */
#include "print_private.h"

#include <math.h>
#include <string.h>

/* --- integers --------------------------------------------------------------------------------------------------- */

const char *dim_expression(Arena *a, const Graph *g, Dim d)
{
        Text *t = text_new(a);
        if (d.fixed || dim_is_fixed(d))
                text_printf(t, "%lld", (long long)d.fixed);
        for (int i = 0; i < MAX_NAMED; i++) {
                if (!d.per[i])
                        continue;
                const char *name = i == NAMED_FIRST  ? "first"
                                   : i >= NAMED_BASE ? arena_printf(a, "base[%d]", i - NAMED_BASE)
                                                     : g->named[i].name;
                text_printf(t, "%s", d.per[i] < 0 ? (t->n ? " - " : "-") : t->n ? " + " : "");
                if (d.per[i] != 1 && d.per[i] != -1)
                        text_printf(t, "%lld * ", (long long)(d.per[i] < 0 ? -d.per[i] : d.per[i]));
                text_printf(t, "m->%s", name);
        }
        return t->data;
}

const char *call_rows(const Plan *p)
{
        return dim_expression(p->graph->arena, p->graph, dim_named(p->graph->time));
}

const char *size_expression(Printer *p, Dim d)
{
        p->m |= !dim_is_fixed(d);
        return dim_expression(p->arena, p->plan->graph, d);
}

const char *loop_end(Printer *p, const CodeLoop *loop)
{
        Dim rest = loop->size;
        if (!loop->together || !rest.fixed)
                return size_expression(p, rest);
        rest.fixed = 0;
        p->m = true;
        const char *each = arena_printf(p->arena, "%lld * m->sequences", (long long)loop->size.fixed);
        return dim_is_fixed(rest) ? each : arena_printf(p->arena, "%s + %s", size_expression(p, rest), each);
}

const char *rows_before(Printer *p, Dim rows)
{
        const int size = varying_size(p->plan->graph);
        const long long per = size < 0 ? 0 : rows.per[size], fixed = rows.fixed;
        const char *named = per == 1 ? "m->before" : arena_printf(p->arena, "%lld * m->before", per);
        p->m = true;
        if (!fixed)
                return named;
        const char *each = arena_printf(p->arena, "%lld * m->number", fixed);
        return per ? arena_printf(p->arena, "%s + %s", named, each) : each;
}

/* How tightly an expression binds: what stands around it may want it in brackets. */
typedef enum { CHOICE, ADDITION, PRODUCT, ATOM } Binding;

typedef struct {
        const char *text;
        Binding binding;
} Spelled;

static Binding binding_of_size(Dim d)
{
        int terms = d.fixed != 0;
        bool simple = d.fixed >= 0;
        for (int i = 0; i < MAX_NAMED; i++) {
                terms += d.per[i] != 0;
                simple &= d.per[i] >= 0 && d.per[i] <= 1;
        }
        return terms > 1 || d.fixed < 0 ? ADDITION : simple ? ATOM : PRODUCT;
}

static Spelled spell(Printer *p, const Index *x);

static const char *spelled_within(Printer *p, const Index *x, Binding least)
{
        Spelled s = spell(p, x);
        return s.binding < least ? arena_printf(p->arena, "(%s)", s.text) : s.text;
}

static Spelled spell_sum(Printer *p, const Index *x)
{
        Text *t = text_new(p->arena);
        const char *constant = size_expression(p, x->offset);
        if (x->nterm == 0)
                return (Spelled){constant, binding_of_size(x->offset)};
        for (int i = 0; i < x->nterm; i++) {
                int64_t c = x->term[i].coef;
                text_printf(t, "%s", c < 0 ? (t->n ? " - " : "-") : t->n ? " + " : "");
                if (c != 1 && c != -1)
                        text_printf(t, "%lld * ", (long long)(c < 0 ? -c : c));
                text_printf(t, "%s", spelled_within(p, x->term[i].of, ATOM));
        }
        if (dim_is(x->offset, 0)) {
                bool one = x->nterm == 1 && x->term[0].coef > 0;
                return (Spelled){t->data, one ? (x->term[0].coef == 1 ? ATOM : PRODUCT) : ADDITION};
        }
        bool minus = *constant == '-';
        return (Spelled){arena_printf(p->arena, "%s%s%s", t->data, minus ? " - " : " + ", constant + minus),
                         ADDITION};
}

static Spelled spell_two(Printer *p, const Index *x, const char *operator, Binding own, Binding right)
{
        const char *a = spelled_within(p, x->a, own), *b = spelled_within(p, x->b, right);
        return (Spelled){arena_printf(p->arena, "%s %s %s", a, operator, b), own};
}

static Spelled spell_choice(Printer *p, const Index *x, const char *operator)
{
        const char *a = spell(p, x->a).text, *b = spell(p, x->b).text;
        return (Spelled){arena_printf(p->arena, "(%s) %s (%s) ? (%s) : (%s)", a, operator, b, a, b), CHOICE};
}

static Spelled atom(const char *text)
{
        return (Spelled){text, ATOM};
}

static Spelled spell(Printer *p, const Index *x)
{
        switch (x->op) {
        case INDEX_SUM: return spell_sum(p, x);
        case INDEX_LOOP: p->loops |= 1u << x->number; return atom(arena_printf(p->arena, "i%d", x->number));
        case INDEX_LANE: p->lane = true; return atom("j");
        case INDEX_PLACE: return atom(arena_printf(p->arena, "x%d", x->number));
        case INDEX_WHOLE: p->m = true; return atom("m->whole");
        case INDEX_DONE: p->m = true; return atom("m->done");
        case INDEX_PLUS: return spell_two(p, x, "+", ADDITION, ADDITION);
        case INDEX_MINUS: return spell_two(p, x, "-", ADDITION, PRODUCT);
        case INDEX_TIMES: return spell_two(p, x, "*", PRODUCT, ATOM);
        case INDEX_QUOTIENT: return spell_two(p, x, "/", PRODUCT, ATOM);
        case INDEX_REMAINDER: return spell_two(p, x, "%", PRODUCT, ATOM);
        case INDEX_LEAST: return spell_choice(p, x, "<");
        case INDEX_MOST: return spell_choice(p, x, ">");
        case INDEX_HELD:
                p->m = true;
                return atom(arena_printf(p->arena, "page_row(m->page_of, %s)", spell(p, x->a).text));
        case INDEX_TABLE:
                return atom(arena_printf(p->arena, "of_row_%d[%s]", x->table->id, spell(p, x->a).text));
        }
        return atom("0");
}

const char *index_text(Printer *p, const Index *x)
{
        return spell(p, x).text;
}

/* --- pointers ------------------------------------------------------------------------------------------------------ */

/* The iteration of a repeat around the kernel? */
static bool is_iteration(const Kernel *k, const char *name)
{
        for (const Region *r = k->body->region; r; r = r->repeat->body->region)
                if (!strcmp(r->name, name))
                        return true;
        return false;
}

static const char *last_part(const char *name)
{
        const char *dot = strrchr(name, '.');
        return dot ? dot + 1 : name;
}

const char *pointer_name(Printer *p, Buffer *b)
{
        b = pointed_buffer(b);
        const char *name = last_part(b->name);
        bool taken = is_c_word(name) || !strcmp(name, p->plan->c_name) || is_iteration(p->kernel, name);
        for (int i = 0; i < p->f->npointer && p->f->pointer[i] != b; i++)
                taken |= !strcmp(last_part(p->f->pointer[i]->name), name);
        return taken ? arena_printf(p->arena, "%s_%d", name, b->id) : name;
}

/* "x + 64 * i0" */
static const char *place_text(Printer *p, Buffer *b, const Index *at)
{
        return arena_printf(p->arena, "%s + %s", pointer_name(p, b), index_text(p, at));
}

const char *operand_text(Printer *p, Operand o)
{
        if (index_is(o.at, 0))
                return pointer_name(p, o.buffer);
        if (o.buffer->storage == STORAGE_Q8)
                return arena_printf(p->arena, "%s + KEPT_SIZE(%s, %s)", pointer_name(p, o.buffer),
                                    storage_text(p->arena, o.buffer), index_text(p, o.at));
        return place_text(p, o.buffer, o.at);
}

const char *storage_text(Arena *a, const Buffer *b)
{
        if (b->storage == STORAGE_Q8)
                return arena_printf(a, "STORAGE_KEPT(%lld, %d)", (long long)b->group,
                                    b->layout.tiled >= 0 ? LANES : 1);
        return arena_printf(a, "STORAGE_%s", storage_info[b->storage].name);
}

/* A repeat's counter, which the function then needs. */
static const char *iteration_text(Printer *p, const Region *r)
{
        const Region *nest[MAX_NEST];
        int n = iterations_around(p->kernel->body, nest);
        for (int i = 0; i < n; i++)
                if (nest[i] == r)
                        p->iterations |= 1u << i;
        return r->name;
}

/* " + slot * stride" for a buffer that has a slot for each iteration; in floats, or elements of an array of its own */
static const char *slot_text(Printer *p, const Buffer *b, Text *before)
{
        long long stride =
                b->home == IN_LITERAL ? storage_elements(b->storage, b->slot_stride) : FLOATS(b->slot_stride);
        if (!b->region || b->slots == 1)
                return "";
        /* what a repeat stacks: made anew in each iteration of the repeats around it */
        if (b->home == IN_ARENA)
                return arena_printf(p->arena, " + %s * %lld", iteration_text(p, b->region), stride);
        const Region *nest[MAX_NEST];
        Body within = {.region = b->region};
        int n = iterations_around(&within, nest);
        const char *iteration = iteration_text(p, nest[0]);
        int64_t iterations = nest[0]->iterations;
        for (int i = 1; i < n; i++) {
                iteration = arena_printf(p->arena, "(%s * %lld + %s)", iteration,
                                         (long long)nest[i]->iterations, iteration_text(p, nest[i]));
                iterations *= nest[i]->iterations;
        }
        if (!b->slot_of || b->slots == iterations)
                return arena_printf(p->arena, " + %s * %lld", iteration, stride);
        text_printf(before, "static const int16_t slot_%d[%lld] = {", b->id, (long long)iterations);
        for (int64_t i = 0; i < iterations; i++)
                text_printf(before, "%s%d", i ? ", " : "", b->slot_of[i]);
        text_printf(before, "};\n");
        return arena_printf(p->arena, " + slot_%d[%s] * %lld", b->id, iteration, stride);
}

static const char *number_text(const Printer *p, bool far, double value)
{
        return far ? arena_printf(p->arena, "%.1f", value) : float_literal(p->arena, (float)value);
}

static void literal_array(Printer *p, Buffer *b, Text *out)
{
        const Literal *l = b->table->attr.literal;
        bool far = b->storage == STORAGE_F64;
        int64_t size = storage_elements(b->storage, b->size);
        text_printf(out, "static const %s %s_all[%lld] = {", storage_info[b->storage].c, pointer_name(p, b),
                    (long long)(b->slots * size + LANES));
        for (int64_t t = 0; t < l->iterations; t++)
                for (int64_t i = 0; i < size; i++)
                        text_printf(out, "%s%s", t + i ? ", " : "",
                                    number_text(p, far, i < l->count ? l->value[t * l->count + i] : 0));
        text_printf(out, "};\n");
}

static bool is_stored(const Kernel *k, const Buffer *b)
{
        for (int i = 0; i < k->nstore + k->nsegment; i++) {
                Buffer *to = i < k->nstore ? k->store[i].to : k->segment[i - k->nstore].store.to;
                if (to && pointed_buffer(to) == b)
                        return true;
        }
        return k->kept == b;
}

static const char *shape_comment(const Printer *p, const Buffer *b)
{
        const char *t = type_text(p->arena, p->plan->graph, &b->type);
        if (b->layout.tiled < 0)
                return t;
        return arena_printf(p->arena, "%s, tiled by 16 along axis %d", t, b->layout.tiled);
}

/* " + 768 * m->first": what lies before a sequence's rows; of tiles, a sequence begins with one of its own. */
static const char *before_text(Printer *p, const Buffer *whole)
{
        const char *rows = rows_before(p, sequence_rows(p->plan, whole));
        if (whole->layout.tiled >= 0)
                rows = arena_printf(p->arena, "(%s) / 16 + m->number", rows);
        return arena_printf(p->arena, " + (%s) * %lld", rows,
                            (long long)FLOATS(buffer_size(whole, sequence_row(whole))));
}

/* Where a buffer of the arena, the weights or the state begins. */
static const char *home_text(Printer *p, Buffer *b, const char *constant, const char *slot)
{
        static const char *home[] = {[IN_ARENA] = "arena", [IN_WEIGHTS] = "weights", [IN_STATE] = "state"};
        Buffer *own = whole_buffer(b);
        while (own->alias)
                own = own->alias;
        if (own->home == IN_ARENA && sees_sequence(p->plan, p->kernel, p->f))
                slot = arena_printf(p->arena, "%s%s", slot, before_text(p, own));
        if (b->own)
                slot = arena_printf(p->arena, "%s + (%s == 1 ? thread * %lld : 0)", slot, call_rows(p->plan),
                                    (long long)FLOATS(storage_size(b->storage, own_row(p->plan, b))));
        const char *at = arena_printf(p->arena, "m->%s + %lld%s", home[own->paged ? IN_ARENA : b->home],
                                      (long long)FLOATS(own->offset), slot);
        const char *c = storage_info[b->storage].c;
        return strcmp(c, "float") ? arena_printf(p->arena, "(%s%s *)(%s)", constant, c, at) : at;
}

void print_pointer(Printer *p, Buffer *b, Text *out)
{
        const char *name = pointer_name(p, b), *slot = slot_text(p, b, out);
        const char *constant = is_stored(p->kernel, b) ? "" : "const ", *type = storage_info[b->storage].c;
        p->m |= b->home != IN_LITERAL;
        if (b->home == IN_LITERAL) {
                literal_array(p, b, out);
                text_printf(out, "const %s *%s = %s_all%s;\n", type, name, name, slot);
        } else if (b->home == IN_INPUT) {
                text_printf(out, "const %s *%s = m->input_%s; /* %s */\n", type, name,
                            p->plan->graph->input[b->index].name, shape_comment(p, b));
        } else if (b->home == IN_OUTPUT) {
                text_printf(out, "%s%s *%s = m->output_%s; /* %s */\n", constant, type, name,
                            p->plan->graph->output[b->index].name, shape_comment(p, b));
        } else {
                text_printf(out, "%s%s *%s = %s; /* %s */\n", constant, type, name,
                            home_text(p, b, constant, slot), shape_comment(p, b));
        }
}

void print_pointers(Printer *p, Text *out)
{
        for (int i = 0; i < p->f->npointer; i++)
                print_pointer(p, p->f->pointer[i], out);
}

/* --- vectors ---------------------------------------------------------------------------------------------------------- */

/* "v_add", "w_add" */
static const char *op_name(const Printer *p, const Stmt *s)
{
        return arena_printf(p->arena, "%c_%s", s->far ? 'w' : 'v', op_info[s->compute].vector);
}

static const char *vector_name(const Printer *p, bool far, const char *name)
{
        return far ? arena_printf(p->arena, "w%s", name + 1) : name;
}

static const char *vector_type(bool far)
{
        return far ? "w16" : "v16";
}

/* t<to> = function(arguments) */
static void define(const Printer *p, const Stmt *s, const char *function, const char *arguments, Text *out)
{
        const char *comment = s->of && s->of->name ? arena_printf(p->arena, " /* %s */", s->of->name) : "";
        const char *constant = s->op == STMT_START ? "" : "const ", *type = vector_type(s->far);
        if (p->plan->by_address)
                text_printf(out, "%s t%d; %s(t%d, %s);%s\n", type, s->to, function, s->to, arguments,
                            comment);
        else
                text_printf(out, "%s%s t%d = %s(%s);%s\n", constant, type, s->to, function, arguments,
                            comment);
}

/* What a fold begins with. */
static const char *start_text(const Printer *p, const Stmt *s)
{
        return s->value == -INFINITY ? "-FLOAT_INF" : number_text(p, s->far, s->value);
}

/* An element among blocks: their type, where they begin, its number. */
static const char *in_blocks(Printer *p, const Stmt *s)
{
        return arena_printf(p->arena, "%s, %s, %s", storage_text(p->arena, s->buffer),
                            pointer_name(p, s->buffer), index_text(p, s->at));
}

const char *element_number(Printer *p, Buffer *b, const Index *at)
{
        if (b->storage == STORAGE_Q8)
                return arena_printf(p->arena, "block_at(%s, %s, %s)", storage_text(p->arena, b),
                                    pointer_name(p, b), index_text(p, at));
        return arena_printf(p->arena, storage_info[b->storage].one, pointer_name(p, b), index_text(p, at));
}

static void print_load(Printer *p, const Stmt *s, Text *out)
{
        const char *load = storage_info[s->buffer->storage].load, *at = place_text(p, s->buffer, s->at);
        const char *n = s->lanes == ALL_LANES ? "16" : "n";
        p->rest |= s->lanes == REST_LANES;
        if (is_in_blocks(s->buffer->storage))
                define(p, s, "v_load_blocks",
                       arena_printf(p->arena, "%s, %lld, %s", in_blocks(p, s), (long long)s->step, n), out);
        else if (s->step != 1)
                define(p, s, arena_printf(p->arena, "%s_strided", load),
                       arena_printf(p->arena, "%s, %lld, %s", at, (long long)s->step, n), out);
        else if (s->lanes == ALL_LANES)
                define(p, s, load, at, out);
        else
                define(p, s, arena_printf(p->arena, "%s_n", load), arena_printf(p->arena, "%s, n", at), out);
}

static void print_element(Printer *p, const Stmt *s, Text *out)
{
        const Storage e = s->buffer->storage;
        define(p, s, storage_info[e].set, element_number(p, s->buffer, s->at), out);
}

static void print_gather(Printer *p, const Stmt *s, Text *out)
{
        Storage e = s->buffer->storage;
        const char *at = place_text(p, s->buffer, s->at);
        if (is_in_blocks(e))
                define(p, s, s->which ? "v_gather_blocks_far" : "v_gather_blocks",
                       arena_printf(p->arena, "%s, t%d", in_blocks(p, s), s->from[0]), out);
        else
                define(p, s, s->which ? storage_info[e].gather_far : storage_info[e].gather,
                       arena_printf(p->arena, s->which ? "%s, t%d" : "%s, t%d, 1", at, s->from[0]), out);
}

static void print_store(Printer *p, const Stmt *s, Text *out)
{
        const char *store = storage_info[s->buffer->storage].store, *at = place_text(p, s->buffer, s->at);
        p->rest |= s->lanes == REST_LANES;
        if (s->lanes == ONE_LANE)
                text_printf(out, "%s_n(%s, t%d, 1);\n", store, at, s->from[0]);
        else if (s->step != 1)
                text_printf(out, "%s_strided(%s, %lld, t%d, %s);\n", store, at, (long long)s->step,
                            s->from[0], s->lanes == ALL_LANES ? "16" : "n");
        else if (s->lanes == ALL_LANES)
                text_printf(out, "%s(%s, t%d);\n", store, at, s->from[0]);
        else
                text_printf(out, "%s_n(%s, t%d, n);\n", store, at, s->from[0]);
}

static void print_per_iteration(Printer *p, const Stmt *s, Text *out)
{
        const Literal *l = s->of->attr.literal;
        text_printf(out, "static const %s c%d[%lld] = {", s->far ? "double" : "float", s->to,
                    (long long)l->iterations);
        for (int64_t i = 0; i < l->iterations; i++)
                text_printf(out, "%s%s", i ? ", " : "", number_text(p, s->far, l->value[i]));
        text_printf(out, "};\n");
        define(p, s, vector_name(p, s->far, "v_set1"),
               arena_printf(p->arena, "c%d[%s]", s->to, iteration_text(p, s->of->body->region)), out);
}

static const char *arguments(const Printer *p, const Stmt *s)
{
        const char *all = arena_printf(p->arena, "t%d", s->from[0]);
        for (int i = 1; i < s->nfrom; i++)
                all = arena_printf(p->arena, "%s, t%d", all, s->from[i]);
        return all;
}

/* "(float)(i0 + 1)" */
static const char *as_lane(Printer *p, bool far, const Index *x)
{
        const char *type = far ? "double" : "float", *text = index_text(p, x);
        return arena_printf(p->arena, x->op == INDEX_LANE ? "(%s)%s" : "(%s)(%s)", type, text);
}

static void print_given(Printer *p, const Stmt *s, Text *out)
{
        const bool score = p->f->role == SCORE;
        const char *as = score ? "s" : s->which ? "acc[1]" : "acc[0]";
        p->s |= score;
        p->apart |= s->at != NULL;
        if (s->at)
                as = arena_printf(p->arena, "s + (%s) * s_apart", index_text(p, s->at));
        text_printf(out,
                    p->plan->by_address ? "const float *t%d = %s;"
                    : score             ? "const v16 t%d = v_load(%s);"
                                        : "const v16 t%d = %s;",
                    s->to, as);
        text_printf(out, s->of->name ? " /* %s */\n" : "\n", s->of->name);
}

/* Of a sink the lanes are all the same. */
static void print_result(Printer *p, int t, Text *out)
{
        bool given_back = p->f->role == SCORE && p->plan->by_address;
        text_printf(out,
                    p->f->role == SINK ? "return v_maxof(t%d);\n"
                    : given_back       ? "v_copy(to, t%d);\n"
                                       : "return t%d;\n",
                    t);
}

static void print_accumulate(const Printer *p, const Stmt *s, Text *out)
{
        const char *op = op_name(p, s);
        int t = s->to;
        if (p->plan->by_address)
                text_printf(out, "%s(t%d, t%d, t%d);\n", op, t, t, s->from[0]);
        else
                text_printf(out, "t%d = %s(t%d, t%d);\n", t, op, t, s->from[0]);
}

/* "const int n = m->time - j < 16 ? .." */
void print_rest(Printer *p, const CodeLoop *lanes, Text *out)
{
        const char *e = loop_end(p, lanes);
        text_printf(out, "const int n = %s - j < 16 ? (int)(%s - j) : 16;\n", e, e);
}

static void print_lanes(Printer *p, const Stmt *s, Text *out)
{
        bool lane = p->lane, rest = p->rest;
        Text *inner = text_new(p->arena);
        if (s->lanes == REST_LANES)
                print_rest(p, s->over, inner);
        print_statements(p, s->inside, inner);
        p->m |= s->over->from_first;
        text_printf(out, "for (int64_t j = %s; j < %s; j += 16) {\n", s->over->from_first ? "m->first" : "0",
                    loop_end(p, s->over));
        text_indent(out, inner, 1);
        text_printf(out, "}\n");
        p->lane = lane;
        p->rest = rest;
}

static void print_one(Printer *p, const Stmt *s, Text *out)
{
        bool lane = p->lane;
        Text *inner = text_new(p->arena);
        p->lane = false;
        print_statements(p, s->inside, inner);
        if (p->lane)
                text_printf(out, "const int64_t j = 0;\n");
        text_indent(out, inner, 0);
        p->lane = lane;
}

/* --- statements ---------------------------------------------------------------------------------------------------------- */

static void print_bounds(Printer *p, const Stmt *s, Text *out)
{
        if (s->at) {
                p->lo = true;
                text_printf(out, "*lo = %s;\n", index_text(p, s->at));
        }
        if (s->high) {
                p->hi = true;
                text_printf(out, "*hi = %s;\n", index_text(p, s->high));
        }
}

static void print_integer(Printer *p, const Stmt *s, Text *out)
{
        if (s->op == STMT_PLACE)
                text_printf(out, "const int64_t x%d = clamp_index(%s(t%d), %s);\n", s->to,
                            vector_name(p, s->far, "v_first"), s->from[0], index_text(p, s->at));
        else
                text_printf(out, "const int64_t x%d = %s;\n", s->to, index_text(p, s->at));
}

static void print_stmt(Printer *p, const Stmt *s, Text *out)
{
        Arena *a = p->arena;
        const char *set = vector_name(p, s->far, "v_set1");
        switch (s->op) {
        case STMT_NUMBER: define(p, s, set, number_text(p, s->far, s->value), out); break;
        case STMT_START: define(p, s, set, start_text(p, s), out); break;
        case STMT_INDEX: define(p, s, set, as_lane(p, s->far, s->at), out); break;
        case STMT_PER_ITERATION: print_per_iteration(p, s, out); break;
        case STMT_ELEMENT: print_element(p, s, out); break;
        case STMT_LOAD: print_load(p, s, out); break;
        case STMT_GATHER: print_gather(p, s, out); break;
        case STMT_COUNT:
                define(p, s, vector_name(p, s->far, "v_iota"), as_lane(p, s->far, s->at), out);
                break;
        case STMT_GIVEN: print_given(p, s, out); break;
        case STMT_COMPUTE: define(p, s, op_name(p, s), arguments(p, s), out); break;
        case STMT_MULTIPLY_ADD: define(p, s, "v_fma", arguments(p, s), out); break;
        case STMT_CONVERT: define(p, s, s->far ? "w_of_v" : "v_of_w", arguments(p, s), out); break;
        case STMT_SOFT: define(p, s, "v_soft", arguments(p, s), out); break;
        case STMT_PART: define(p, s, "v_part", arguments(p, s), out); break;
        case STMT_KEEP:
                p->rest = true;
                define(p, s, vector_name(p, s->far, "v_keep"),
                       arena_printf(a, "t%d, n, %s", s->from[0], start_text(p, s)), out);
                break;
        case STMT_CLAMP:
                define(p, s, vector_name(p, s->far, "v_clamp"),
                       arena_printf(a, "t%d, %s", s->from[0], as_lane(p, s->far, s->at)), out);
                break;
        case STMT_ACCUMULATE: print_accumulate(p, s, out); break;
        case STMT_ACROSS: {
                const char *fold = vector_name(p, s->far, s->compute == OP_MAX ? "v_maxof" : "v_sum");
                define(p, s, set, arena_printf(a, "%s(t%d)", fold, s->from[0]), out);
                break;
        }
        case STMT_STORE: print_store(p, s, out); break;
        case STMT_PLACE:
        case STMT_INTEGER: print_integer(p, s, out); break;
        case STMT_LANES: print_lanes(p, s, out); break;
        case STMT_ONE: print_one(p, s, out); break;
        case STMT_ROWS:
        case STMT_ALL_ROWS: print_rows(p, s, out); break;
        case STMT_ACTIVE:
                text_printf(out, "if (v_first(t%d) != 0)\n        active[count++] = (int32_t)row;\n",
                            s->from[0]);
                break;
        case STMT_RESULT: print_result(p, s->from[0], out); break;
        case STMT_BOUNDS: print_bounds(p, s, out); break;
        default: print_call(p, s, out); break;
        }
}

void print_statements(Printer *p, const StmtList *b, Text *out)
{
        for (int i = 0; i < b->n; i++)
                print_stmt(p, &b->stmt[i], out);
}
