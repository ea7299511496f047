/* Kernels as C functions: the loops around a formula, or the call of a kernel of the runtime with literals.
 *
 *   STEP void layer_ln1(const tale *m, int64_t layer, int thread)
 *
 * Every function does the share of one thread.  A formula that is called back (a product's results, a score) is a
 * static inline function before it. */
#include "formula.h"

#include <stdio.h>
#include <string.h>

/* --- what every function has ---------------------------------------------------------------------------- */

Formula formula_new(Plan *p, Kernel *k)
{
        Arena *a = p->graph->arena;
        Formula f = {.plan = p, .kernel = k, .arena = a, .row = text_new(a), .lanes = text_new(a)};
        return f;
}

void set_lane(Formula *f, int digit)
{
        Dim size = f->domain.digit[digit].size;
        f->lane = digit;
        f->whole_lanes = dim_is_fixed(size) && size.fixed % LANES == 0;
}

static int nest_of(const Region *r, const Region **nest)
{
        if (!r)
                return 0;
        int n = nest_of(r->repeat->body->region, nest);
        nest[n] = r;
        return n + 1;
}

/* ", int64_t layer" or ", layer" for each repeat around the kernel */
const char *trip_parameters(Arena *a, const Body *b, bool types)
{
        const Region *nest[8];
        int n = nest_of(b->region, nest);
        Text *t = text_new(a);
        for (int i = 0; i < n; i++)
                text_printf(t, ", %s%s", types ? "int64_t " : "", nest[i]->name);
        return t->data;
}

const char *row_parameters(const Kernel *k, bool types)
{
        return !k->listed ? "" : types ? ", const int32_t *found, int64_t count" : ", found, count";
}

/* " + slot * stride" for a buffer that has a slot for each trip */
static const char *slot_expression(Formula *f, const Buffer *b, Text *before)
{
        if (!b->region || b->slots == 1)
                return "";
        if (b->home == IN_ARENA) /* what a repeat stacks: made anew in each trip of the repeats around it */
                return arena_printf(f->arena, " + %s * %lld", b->region->name, (long long)b->slot_stride);
        const Region *nest[8];
        int n = nest_of(b->region, nest);
        const char *trip = nest[0]->name;
        int64_t trips = nest[0]->trips;
        for (int i = 1; i < n; i++) {
                trip = arena_printf(f->arena, "(%s * %lld + %s)", trip, (long long)nest[i]->trips,
                                    nest[i]->name);
                trips *= nest[i]->trips;
        }
        if (!b->slot_of || b->slots == trips)
                return arena_printf(f->arena, " + %s * %lld", trip, (long long)b->slot_stride);
        text_printf(before, "static const int16_t slot_%d[%lld] = {", b->id, (long long)trips);
        for (int64_t i = 0; i < trips; i++)
                text_printf(before, "%s%d", i ? ", " : "", b->slot_of[i]);
        text_printf(before, "};\n");
        return arena_printf(f->arena, " + slot_%d[%s] * %lld", b->id, trip, (long long)b->slot_stride);
}

static const char *const element_c[] = {
        [ELEMENT_F32] = "float", [ELEMENT_I32] = "int32_t", [ELEMENT_F64] = "double"};

static void literal_array(Formula *f, const Buffer *b, Text *out)
{
        const Literal *l = b->table->attr.literal;
        bool far = b->element == ELEMENT_F64;
        text_printf(out, "static const %s %s_all[%lld] = {", element_c[b->element],
                    pointer_name(f, (Buffer *)b), (long long)(b->slots * b->size + LANES));
        for (int64_t t = 0; t < l->trips; t++)
                for (int64_t i = 0; i < b->size; i++)
                        text_printf(out, "%s%s", t + i ? ", " : "",
                                    number_literal(f, far, i < l->count ? l->value[t * l->count + i] : 0));
        text_printf(out, "};\n");
}

static bool is_stored(const Formula *f, const Buffer *b)
{
        const Kernel *k = f->kernel;
        for (int i = 0; i < k->nstore + k->nsegment; i++) {
                Buffer *to = i < k->nstore ? k->store[i].to : k->segment[i - k->nstore].store.to;
                if (to && pointed_buffer(to) == b)
                        return true;
        }
        return false;
}

static const char *shape_comment(Formula *f, const Buffer *b)
{
        const char *t = type_text(f->arena, f->plan->graph, &b->type);
        if (b->layout.tiled < 0)
                return t;
        return arena_printf(f->arena, "%s, tiled by 16 along axis %d", t, b->layout.tiled);
}

/* Local pointers to the buffers that the formula named. */
void declare_pointers(Formula *f, Text *out)
{
        static const char *home[] = {[IN_ARENA] = "arena", [IN_WEIGHTS] = "weights", [IN_STATE] = "state"};
        for (int i = 0; i < f->npointer; i++) {
                Buffer *b = f->pointer[i];
                const char *name = pointer_name(f, b);
                const char *slot = slot_expression(f, b, out);
                const char *constant = is_stored(f, b) ? "" : "const ", *type = element_c[b->element];
                if (b->home == IN_LITERAL) {
                        literal_array(f, b, out);
                        text_printf(out, "const %s *%s = %s_all%s;\n", type, name, name, slot);
                } else if (b->home == IN_INPUT) {
                        const Input *in = &f->plan->graph->input[b->index];
                        text_printf(out, "const %s *%s = m->input_%s; /* %s */\n", type, name, in->name,
                                    shape_comment(f, b));
                } else if (b->home == IN_OUTPUT) {
                        text_printf(out, "%s%s *%s = m->output_%s; /* %s */\n", constant, type, name,
                                    f->plan->graph->output[b->index].name, shape_comment(f, b));
                } else {
                        Buffer *own = whole_buffer(b);
                        while (own->alias)
                                own = own->alias;
                        if (own->apart)
                                slot = arena_printf(f->arena, "%s + m->slot * %lld", slot,
                                                    (long long)(own->size / f->plan->slots));
                        const char *at = arena_printf(f->arena, "m->%s + %lld%s", home[b->home],
                                                      (long long)own->offset, slot);
                        if (b->element == ELEMENT_F64)
                                at = arena_printf(f->arena, "(%sdouble *)(%s)", constant, at);
                        text_printf(out, "%s%s *%s = %s; /* %s */\n", constant, type, name, at,
                                    shape_comment(f, b));
                }
        }
}

static const char *source_comment(const Plan *p, const Kernel *k)
{
        Arena *a = p->graph->arena;
        if (!k->span.source)
                return arena_printf(a, "/* %s */\n", k->name);
        int line = span_line(k->span);
        int32_t length;
        const char *text = source_line_text(k->span.source, line, &length);
        while (length && (*text == ' ' || *text == '\t')) {
                text++;
                length--;
        }
        char *shown = arena_strndup(a, text, length < 90 ? length : 90);
        for (char *c = shown; *c; c++)
                if (*c == '*' && c[1] == '/')
                        *c = ' ';
        const char *path = k->span.source->path;
        const char *slash = strrchr(path, '/');
        return arena_printf(a, "/* %s:%d   %s */\n", slash ? slash + 1 : path, line, shown);
}

static bool is_word(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* As an identifier of its own: no part of a longer one, no member. */
bool uses_name(const char *body, const char *name)
{
        size_t n = strlen(name);
        for (const char *at = body; (at = strstr(at, name)); at += n) {
                char before = at > body ? at[-1] : ' ';
                bool member = before == '.' || (before == '>' && at - body > 1 && at[-2] == '-');
                if (!is_word(before) && !member && !is_word(at[n]))
                        return true;
        }
        return false;
}

void unused(Text *t, const char *body, const char *name)
{
        if (!uses_name(body, name))
                text_printf(t, "        (void)%s;\n", name);
}

void unused_trips(Text *t, const Body *b, const char *body)
{
        const Region *nest[8];
        int n = nest_of(b->region, nest);
        for (int i = 0; i < n; i++)
                unused(t, body, nest[i]->name);
}

/* "(m->output_y || wants_taps(m))" */
static const char *any_wanted(const Plan *p, uint64_t outputs)
{
        const Graph *g = p->graph;
        Text *t = text_new(g->arena);
        for (int i = 0; i < g->noutput; i++)
                if (!g->output[i].tap && (outputs & output_bit(g, i)))
                        text_printf(t, "%sm->output_%s", t->n ? " || " : "", g->output[i].name);
        if (outputs & WANTED_BY_TAPS)
                text_printf(t, "%swants_taps(m)", t->n ? " || " : "");
        return strstr(t->data, "||") ? arena_printf(g->arena, "(%s)", t->data) : t->data;
}

/* The output that the kernel alone fills, asked for by itself; NULL: it fills others too, or none. */
static const Output *own_output(const Plan *p, const Kernel *k)
{
        const Buffer *to = whole_buffer(k->store[0].to);
        return k->op != K_MATMUL && to->home == IN_OUTPUT ? &p->graph->output[to->index] : NULL;
}

/* Is there an output that does without it? */
static bool may_be_unwanted(const Plan *p, const Kernel *k)
{
        uint64_t all = 0;
        for (int i = 0; i < p->graph->noutput; i++)
                all |= output_bit(p->graph, i);
        return (k->wanted & all) != all;
}

bool asks_for_taps(const Plan *p, const Kernel *k)
{
        return k->op != K_REPEAT && k->op != K_FIND && !own_output(p, k) && may_be_unwanted(p, k) &&
               (k->wanted & WANTED_BY_TAPS);
}

/* What only outputs need that the call does not want is left out.  What they all need is not asked for: no call runs that wants
 * none, but for the positions that it takes. */
static void skip_unwanted(const Plan *p, const Kernel *k, Text *out)
{
        const Output *own = own_output(p, k);
        if (own || may_be_unwanted(p, k))
                text_printf(out, "        if (!%s)\n                return; /* not wanted */\n",
                            own ? arena_printf(p->graph->arena, "m->output_%s", own->name)
                                : any_wanted(p, k->wanted));
}

void open_function(const Plan *p, const Kernel *k, Text *out, const Text *body)
{
        text_printf(out, "%sSTEP void %s(const %s *m%s%s, int thread)\n{\n", source_comment(p, k), k->name,
                    p->c_name, trip_parameters(p->graph->arena, k->body, true), row_parameters(k, true));
        unused(out, body->data, "m");
        if (k->listed)
                unused(out, body->data, "found");
        unused_trips(out, k->body, body->data);
        skip_unwanted(p, k, out);
        text_indent(out, body, 1);
        text_printf(out, "}\n\n");
}

/* Wanted rows alone, or those of one sequence of a batch? */
bool begins_at_first(const Formula *f, int digit)
{
        const Kernel *k = f->kernel;
        const Graph *g = f->plan->graph;
        return k->tail ? digit == 0
                       : k->by_sequence && dim_equal(f->domain.digit[digit].size, dim_named(g->time));
}

/* A size as an expression, the rows before the first wanted one left out. */
const char *loop_size(const Formula *f, int digit)
{
        Dim size = f->domain.digit[digit].size;
        if (digit == 0 && f->listed)
                return "count";
        if (begins_at_first(f, digit))
                size = dim_sub(size, dim_named(NAMED_FIRST));
        const char *e = dim_expression(f->arena, f->plan->graph, size);
        return strchr(e, ' ') ? arena_printf(f->arena, "(%s)", e) : e;
}

/* "i0 = row / 8 + first; i1 = row % 8" from a number that counts the digits from `begin` up to `end` together; those that body
 * uses. */
void declare_digits(const Formula *f, int begin, int end, const char *from, const Text *body, Text *out)
{
        for (int i = begin; i < end; i++) {
                const char *name = arena_printf(f->arena, "i%d", i);
                if (!uses_name(body->data, name))
                        continue;
                Text *e = text_new(f->arena);
                text_printf(e, "%s", from);
                for (int k = i + 1; k < end; k++)
                        text_printf(e, " / %s", loop_size(f, k));
                if (i > begin)
                        text_printf(e, " %% %s", loop_size(f, i));
                if (begins_at_first(f, i))
                        text_printf(e, " + m->first");
                text_printf(out,
                            i == 0 && f->listed ? "const int64_t %s = found[%s];\n"
                                                : "const int64_t %s = %s;\n",
                            name, e->data);
        }
}

const char *row_count(const Formula *f, int begin, int end)
{
        Text *e = text_new(f->arena);
        for (int i = begin; i < end; i++)
                text_printf(e, "%s%s", i > begin ? " * " : "", loop_size(f, i));
        return end > begin ? e->data : "1";
}

/* The view of a product's row, whose number counts the first digits of the domain together. */
static const char *instance_of_row(const Formula *f)
{
        Text *row = text_new(f->arena);
        text_printf(row, "row");
        for (int i = 1; i < f->loops - 1; i++)
                text_printf(row, " / %s", loop_size(f, i));
        return arena_printf(f->arena, "place->m->of[%s]", row->data);
}

/* A function that a kernel calls back: it finds instance and trips behind `context`. */
void open_callback(Formula *f, const char *head, const Text *body, const char *const *parameter, Text *out)
{
        const Region *nest[8];
        int n = nest_of(f->kernel->body->region, nest);
        Text *lines = text_new(f->arena);
        bool place = uses_name(body->data, "place");
        if (uses_name(body->data, "m")) {
                text_printf(lines, "        const %s *m = %s;\n", f->plan->c_name,
                            f->kernel->by_row && looks_at_sequence(f->plan->graph, body->data)
                                    ? instance_of_row(f)
                                    : "place->m");
                place = true;
        }
        for (int i = 0; i < n; i++)
                if (uses_name(body->data, nest[i]->name)) {
                        text_printf(lines, "        const int64_t %s = place->trip[%d];\n", nest[i]->name, i);
                        place = true;
                }
        text_printf(out, "static inline %s\n{\n", head);
        text_printf(out, place ? "        const Place *place = context;\n" : "        (void)context;\n");
        for (int i = 0; parameter[i]; i++)
                unused(out, body->data, parameter[i]);
        text_indent(out, lines, 0);
        text_indent(out, body, 1);
        text_printf(out, "}\n\n");
}

void declare_place(Formula *f, const char *around, Text *out)
{
        const Region *nest[8];
        int n = nest_of(f->kernel->body->region, nest);
        text_printf(out, "const Place place = {m, {");
        for (int i = 0; i < n; i++)
                text_printf(out, "%s%s", i ? ", " : "", nest[i]->name);
        text_printf(out, "%s}, %s};\n", n ? "" : "0", around);
}

/* "x + 64 * i0", or "x" */
const char *pointer_at(Formula *f, Buffer *b, const char *offset)
{
        const char *p = float_pointer(f, b);
        return strcmp(offset, "0") ? arena_printf(f->arena, "%s + %s", p, offset) : p;
}

/* --- loops -------------------------------------------------------------------------------------------------- */

static bool cut(Formula *f)
{
        return f->refined && !f->stuck;
}

/* The stores of a loop kernel; false: stuck or refined. */
static bool loop_stores(Formula *f, Text *stores)
{
        Kernel *k = f->kernel;
        for (int i = 0; i < k->nstore; i++) {
                Node *root = k->store[i].node;
                Map at = map_identity(&f->domain, &root->type);
                for (int d = 0; d < f->domain.n; d++)
                        if (dim_is(f->domain.digit[d].size, 1) && root->type.rank)
                                at.axis[f->domain.digit[d].axis].coef[d] = 0;
                int value;
                if (k->op == K_FILL) {
                        value = formula_constant(f, root, k->fill);
                } else {
                        f->computing = k->store[i].copy ? NULL : root;
                        value = formula_value(f, root, &at);
                }
                if (value < 0)
                        return false;
                if (!formula_store(f, root, k->store[i].to, &at, value, stores)) {
                        f->stuck = root;
                        return false;
                }
        }
        return true;
}

/* Does stuck want the kernel to compute one element at a time?  A fold along another axis than the last runs in lanes itself;
 * other formulas do so where nothing else is left.  The kernel's last digit is then one of size 1. */
static bool wants_single(const Plan *p, const Kernel *k, const Node *stuck)
{
        const Node *root = k->store[0].node;
        return p->single[root->id] || (op_info[root->op].family == REDUCE && k->nstore == 1 && root == stuck);
}

static Node *emit_loop(Plan *p, Kernel *k, Text *out)
{
        Domain domain = domain_of(p->graph, &k->store[0].node->type);
        for (;;) {
                Formula f = formula_new(p, k);
                f.domain = domain;
                f.listed = k->listed;
                f.loops = domain.n;
                set_lane(&f, domain.n - 1);
                Text *stores = text_new(f.arena);
                if (!loop_stores(&f, stores)) {
                        if (!cut(&f) && wants_single(p, k, f.stuck) &&
                            !dim_is(domain.digit[domain.n - 1].size, 1) && domain.n < MAX_DIGIT) {
                                int last = k->store[0].node->type.rank - 1;
                                domain.digit[domain.n++] = (Digit){dim_fixed(1), last < 0 ? 0 : last, 1};
                                continue;
                        }
                        if (!cut(&f))
                                return f.stuck;
                        domain_refine(&domain, f.refine);
                        continue;
                }
                if (!out)
                        return NULL;
                int n = f.loops - 1;
                const char *lanes = dim_expression(f.arena, p->graph, domain.digit[n].size);
                Text *inner = text_new(f.arena), *body = text_new(f.arena);
                text_indent(inner, f.row, 0);
                bool single = dim_is(domain.digit[n].size, 1);
                if (single) {
                        if (strchr(f.lanes->data, 'j') || strchr(stores->data, 'j'))
                                text_printf(inner, "const int64_t j = 0;\n(void)j;\n");
                        text_indent(inner, f.lanes, 0);
                        text_indent(inner, stores, 0);
                } else {
                        text_printf(inner, "for (int64_t j = %s; j < %s; j += 16) {\n",
                                    begins_at_first(&f, n) ? "m->first" : "0", lanes);
                        if (!f.whole_lanes)
                                text_printf(inner,
                                            "        const int n = %s - j < 16 ? (int)(%s - j) : 16;\n",
                                            lanes, lanes);
                        text_indent(inner, f.lanes, 1);
                        text_indent(inner, stores, 1);
                        text_printf(inner, "}\n");
                }
                declare_pointers(&f, body);
                text_printf(body, "const int64_t rows = %s, end = share(rows, thread + 1, m->threads);\n",
                            row_count(&f, 0, n));
                text_printf(body,
                            "for (int64_t row = share(rows, thread, m->threads); row < end; row++) {\n");
                Text *digits = text_new(f.arena);
                declare_digits(&f, 0, n, "row", inner, digits);
                text_indent(body, digits, 1);
                text_indent(body, inner, 1);
                text_printf(body, "}\n");
                open_function(p, k, out, body);
                return NULL;
        }
}

/* --- top, argmax --------------------------------------------------------------------------------------------- */

static Node *emit_select(Plan *p, Kernel *k, Text *out)
{
        Node *root = k->store[0].node, *in = root->in[0];
        bool top = root->op == OP_TOP;
        int axis = top ? root->type.rank - 1 : root->attr.axis;
        Formula f = formula_new(p, k);
        f.domain = domain_of(p->graph, &root->type);
        f.loops = f.domain.n;
        set_lane(&f, f.loops - 1);
        Map at = map_identity(&f.domain, &root->type), from = at;
        int own = f.lane;
        if (!top) {
                own = f.domain.n++;
                f.domain.digit[own] = (Digit){in->type.dim[axis], -1, 1};
                from = map_fold(&at, axis, own);
        }
        Buffer *b;
        Address x;
        if (address_through(p, &f.domain, &from, in, NULL, &x, &b, &f.refine) != MAP_OK)
                return in->op == OP_VIEW && !p->copy[in->id] ? in : base_of(in);
        Address y = address_of(k->store[0].to, &at);
        if (!reads_straight(b, &x) || y.tiled)
                return base_of(in);
        pointer_name(&f, b);
        pointer_name(&f, k->store[0].to);
        if (!out)
                return NULL;
        int n = top ? f.loops - 1 : f.loops;
        const char *to = arena_printf(f.arena, "%s + %s", pointer_name(&f, k->store[0].to),
                                      address_expression(&f, &y, !top));
        const char *of =
                arena_printf(f.arena, "%s + %s", float_pointer(&f, b), address_expression(&f, &x, false));
        Text *body = text_new(f.arena), *call = text_new(f.arena);
        if (!top) {
                f.lane = own; /* the last digit is a loop like the others here */
                to = arena_printf(f.arena, "%s + %s", pointer_name(&f, k->store[0].to),
                                  address_expression(&f, &y, true));
                of = arena_printf(f.arena, "%s + %s", float_pointer(&f, b),
                                  address_expression(&f, &x, false));
                text_printf(call, "*(%s) = (%s)argmax_of(%s, %lld, %s);\n", to,
                            element_c[k->store[0].to->element], of, (long long)x.coef[own],
                            loop_size(&f, own));
        } else {
                text_printf(call, "top_of(%s, %lld, %s, %lld, %s, %d);\n", to, (long long)y.coef[own], of,
                            (long long)x.coef[own], loop_size(&f, own), root->attr.index);
        }
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

/* --- the rows that a trip changes ------------------------------------------------------------------------------- */

static Node *emit_find(Plan *p, Kernel *k, Text *out)
{
        Node *root = k->store[0].node;
        Formula f = formula_new(p, k);
        f.domain = domain_of(p->graph, &root->type);
        f.loops = f.domain.n;
        set_lane(&f, f.loops - 1);
        Map at = map_identity(&f.domain, &root->type);
        at.axis[root->type.rank - 1] = (AxisIndex){0}; /* of size 1 */
        int value = formula_value(&f, root, &at);
        if (value < 0)
                return f.refined && !f.stuck ? root : f.stuck;
        if (!out)
                return NULL;
        Text *body = text_new(f.arena), *inner = text_new(f.arena);
        text_indent(inner, f.row, 0);
        text_indent(inner, f.lanes, 0);
        text_printf(inner, "if (v_first(t%d) != 0)\n        found[count++] = (int32_t)row;\n", value);
        declare_pointers(&f, body);
        text_printf(body, "const int64_t rows = %s;\nint64_t count = 0;\n", row_count(&f, 0, f.loops - 1));
        text_printf(body, "for (int64_t row = 0; row < rows; row++) {\n");
        Text *digits = text_new(f.arena);
        declare_digits(&f, 0, f.loops - 1, "row", inner, digits);
        text_indent(body, digits, 1);
        text_indent(body, inner, 1);
        text_printf(body, "}\nreturn count;\n");
        text_printf(out,
                    "/* Finds the rows that this trip changes, [count]; every thread finds them all. */\n"
                    "STEP int64_t %s(const %s *m%s, int32_t *found)\n{\n",
                    k->name, p->c_name, trip_parameters(f.arena, k->body, true));
        unused_trips(out, k->body, body->data);
        text_indent(out, body, 1);
        text_printf(out, "}\n\n");
        return NULL;
}

/* Is the view that k stores still to be read by it, and nothing else left to try? */
static bool may_move(const Plan *p, const Kernel *k)
{
        const Node *root = k->store[0].node;
        return root->op == OP_VIEW && p->single[root->id] && k->nstore == 1 && !k->store[0].copy;
}

Node *emit_kernel(Plan *p, Kernel *k, Text *out)
{
        Node *stuck;
        switch (k->op) {
        case K_LOOP:
                stuck = emit_loop(p, k, out);
                return stuck && may_move(p, k) ? emit_move(p, k, out) : stuck;
        case K_FILL: return emit_loop(p, k, out);
        case K_MATMUL: return emit_matmul(p, k, out);
        case K_PLAIN: return emit_plain(p, k, out);
        case K_ATTENTION: return emit_attention(p, k, out);
        case K_SELECT: return emit_select(p, k, out);
        case K_FIND: return emit_find(p, k, out);
        case K_REPEAT: return NULL;
        }
        return NULL;
}
