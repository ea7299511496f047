/* Code as C: functions.
 *
 *      STEP void layer_ln1(const tale *m, int64_t layer, int thread)
 *
 * Every kernel's function computes the share of one thread.  Its callbacks (for a product's results, or
 * scores) are static inline functions before it. */
#include "print_private.h"

#include <string.h>

/* ", int64_t layer" or ", layer" for each repeat around the kernel */
const char *iteration_parameters(Arena *a, const Body *b, bool types)
{
        const Region *nest[MAX_NEST];
        int n = iterations_around(b, nest);
        Text *t = text_new(a);
        for (int i = 0; i < n; i++)
                text_printf(t, ", %s%s", types ? "int64_t " : "", nest[i]->name);
        return t->data;
}

const char *row_parameters(const Kernel *k, bool types)
{
        return k->rows != ROWS_ACTIVE ? ""
               : types                ? ", const int32_t *active, int64_t count"
                                      : ", active, count";
}

/* --- loops ------------------------------------------------------------------------------------------------------------- */

/* "4 * first_head": iterations of a loop over heads, for a number of KV heads. */
static const char *turns_of_heads(const Printer *p, const char *heads)
{
        const int64_t each = p->f->loop[p->head_loop - 1].size.fixed / p->kernel->ranks.heads;
        return each == 1 ? heads : arena_printf(p->arena, "%lld * %s", (long long)each, heads);
}

/* Whether the loop's first row is a parameter. */
static bool takes_first(const Printer *p, int loop)
{
        return p->shared && p->shared->takes_first && loop == p->f->body.stmt[0].begin;
}

/* A loop's size as an expression, without the rows before the first requested one. */
const char *loop_size(Printer *p, int loop)
{
        const CodeLoop *l = &p->f->loop[loop];
        if (l->active) {
                p->active = true;
                return "count";
        }
        if (loop + 1 == p->head_loop)
                return arena_printf(p->arena, "(%s)", turns_of_heads(p, "(end_head - first_head)"));
        if (loop + 1 == p->row_loop)
                return "(behind_row - first_row)";
        if (takes_first(p, loop))
                return arena_printf(p->arena, "(%s - first)", loop_end(p, l));
        CodeLoop from_0 = *l;
        if (l->from_first)
                from_0.size = dim_sub(l->size, dim_named(NAMED_FIRST));
        const char *e = loop_end(p, &from_0);
        return strchr(e, ' ') ? arena_printf(p->arena, "(%s)", e) : e;
}

/* The loop whose counter is the row number, + 1, if it is the only one from `begin` to end - 1; else 0. */
static int plain_row(const Printer *p, int begin, int end)
{
        const CodeLoop *l = &p->f->loop[begin];
        const bool looked_up = begin == 0 && p->kernel->batching == BATCH_ROWS_LOOKED_UP;
        return end - begin == 1 && !l->active && !l->from_first && !takes_first(p, begin) && !looked_up &&
                               begin + 1 != p->head_loop && begin + 1 != p->kernel->ranks.row_loop
                       ? begin + 1
                       : 0;
}

/* "i0 = row / 8 + first; i1 = row % 8" */
void print_loops_of(Printer *p, int begin, int end, const char *from, Text *out)
{
        for (int i = begin; i < end; i++) {
                const CodeLoop *l = &p->f->loop[i];
                if (!(p->loops >> i & 1))
                        continue;
                Text *e = text_new(p->arena);
                text_printf(e, "%s", from);
                for (int k = i + 1; k < end; k++)
                        text_printf(e, " / %s", loop_size(p, k));
                if (i > begin)
                        text_printf(e, " %% %s", loop_size(p, i));
                if (takes_first(p, i)) {
                        text_put(e, " + first");
                } else if (l->from_first) {
                        p->m = true;
                        text_printf(e, " + m->first");
                }
                if (i + 1 == p->head_loop)
                        text_printf(e, " + %s", turns_of_heads(p, "first_head"));
                if (i + 1 == p->row_loop)
                        text_printf(e, " + %s", p->first_row);
                if (i == 0 && p->kernel->batching == BATCH_ROWS_LOOKED_UP &&
                    sees_sequence(p->plan, p->kernel, p->f))
                        text_printf(e, " - (%s)", rows_before(p, l->size));
                p->active |= l->active;
                text_printf(out,
                            l->active ? "const int64_t i%d = active[%s];\n" : "const int64_t i%d = %s;\n", i,
                            e->data);
        }
}

void print_loops_in(Printer *p, const int *loop, int n, const char *number, Text *out)
{
        const char *lower = NULL; /* number of iterations of the loops after this one */
        for (int i = n - 1; i >= 0; i--) {
                bool used = p->loops >> loop[i] & 1, m = p->m;
                const char *size = loop_size(p, loop[i]);
                const char *rest = lower ? arena_printf(p->arena, "%s / %s", number, lower) : number;
                if (i > 0)
                        rest = arena_printf(p->arena, lower ? "(%s) %% %s" : "%s %% %s", rest, size);
                const bool first = p->f->loop[loop[i]].from_first;
                if (used)
                        text_printf(out, "const int64_t i%d = %s%s;\n", loop[i], rest,
                                    first ? " + m->first" : "");
                p->m = (used && first) || (used ? p->m : m);
                lower = lower ? arena_printf(p->arena, "(%s * %s)", lower, size) : size;
        }
}

const char *row_count(Printer *p, int begin, int end)
{
        Text *e = text_new(p->arena);
        for (int i = begin; i < end; i++)
                text_printf(e, "%s%s", i > begin ? " * " : "", loop_size(p, i));
        return end > begin ? e->data : "1";
}

const char *row_count_unbracketed(Printer *p, int begin, int end)
{
        const char *count = row_count(p, begin, end);
        return end - begin == 1 && *count == '('
                       ? arena_printf(p->arena, "%.*s", (int)strlen(count) - 2, count + 1)
                       : count;
}

void print_rows(Printer *p, const Stmt *s, Text *out)
{
        bool shared = s->op == STMT_ROWS;
        p->head_loop =
                p->kernel->op == K_LOOP && p->kernel->ranks.sharded ? loop_of_heads(p->plan, p->f, s) + 1 : 0;
        Text *inner = text_new(p->arena), *loops = text_new(p->arena), *own = text_new(p->arena);
        p->row_alias = plain_row(p, s->begin, s->end);
        print_statements(p, s->inside, inner);
        print_own_rows(p, own);
        print_loops_of(p, s->begin, s->end, "row", loops);
        print_pointers(p, out);
        text_indent(out, own, 0);
        if (p->head_loop)
                print_own_heads(p, p->kernel->ranks.heads, out);
        p->m |= shared;
        if (p->kernel->one_row == ONE_ROW_REPLICATED)
                text_printf(out,
                            "const int64_t rows = %s, end = %s == 1 ? rows : share(rows, thread + 1, "
                            "m->threads);\n"
                            "for (int64_t row = %s == 1 ? 0 : share(rows, thread, m->threads); row < end; "
                            "row++) {\n",
                            row_count_unbracketed(p, s->begin, s->end), call_rows(p->plan),
                            call_rows(p->plan));
        else if (shared)
                text_printf(out,
                            "const int64_t rows = %s, end = share(rows, thread + 1, m->threads);\n"
                            "for (int64_t row = share(rows, thread, m->threads); row < end; row++) {\n",
                            row_count_unbracketed(p, s->begin, s->end));
        else
                text_printf(out,
                            "const int64_t rows = %s;\nint64_t count = 0;\n"
                            "for (int64_t row = 0; row < rows; row++) {\n",
                            row_count_unbracketed(p, s->begin, s->end));
        text_indent(out, loops, 1);
        text_indent(out, inner, 1);
        text_printf(out, shared ? "}\n" : "}\nreturn count;\n");
}

/* --- unused parameters ----------------------------------------------------------------------------------------------------- */

/* " UNUSED", which follows the name of a parameter that the function does not use */
static const char *if_unused(const Printer *p, bool used)
{
        return used || p->plan->by_address ? "" : " UNUSED";
}

/* ", int64_t layer UNUSED" for each repeat around the kernel */
static const char *iterations_taken(const Printer *p)
{
        const Region *nest[MAX_NEST];
        int n = iterations_around(p->kernel->body, nest);
        Text *t = text_new(p->arena);
        for (int i = 0; i < n; i++)
                text_printf(t, ", int64_t %s%s", nest[i]->name, if_unused(p, p->iterations >> i & 1));
        return t->data;
}

/* --- functions -------------------------------------------------------------------------------------------------------------- */

/* A line of a model file without its comment, shortened after a word if it is long. */
static const char *shown_line(Arena *a, const char *text, int32_t length)
{
        enum { MAX_SHOWN = 96 };
        int32_t n = 0, word = 0;
        bool quoted = false;
        for (; n < length && n <= MAX_SHOWN && (quoted || text[n] != '#'); n++) {
                quoted = quoted != (text[n] == '"');
                word = text[n] == ' ' && n ? n : word;
        }
        const bool cut = n > MAX_SHOWN;
        for (n = cut && word ? word : n; n && text[n - 1] == ' ';)
                n--;
        return arena_printf(a, "%s%s", comment_text(a, text, n), cut ? " .." : "");
}

/* "rmsnorm, ": the block that contains a kernel's formula; "" directly in the model. */
static const char *block_of(Arena *a, const Kernel *k)
{
        return k->where && k->where->block ? arena_printf(a, "%s, ", k->where->block) : "";
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
        const char *path = k->span.source->path;
        const char *slash = strrchr(path, '/');
        return arena_printf(a, "/* %s%s:%d   %s */\n", block_of(a, k), slash ? slash + 1 : path, line,
                            shown_line(a, text, length));
}

/* ", const int32_t *active UNUSED, int64_t count" */
static const char *rows_taken(const Printer *p)
{
        return p->kernel->rows != ROWS_ACTIVE
                       ? ""
                       : arena_printf(p->arena, ", const int32_t *active%s, int64_t count",
                                      if_unused(p, p->active));
}

static void print_stages(Printer *p, Text *out)
{
        Text *body = text_new(p->arena);
        if (p->kernel->rows == ROWS_AT_START) {
                p->m = true;
                text_printf(body, "if (m->past > 0)\n        return; /* it goes on from the last call */\n");
        }
        print_statements(p, &p->f->body, body);
        text_printf(out, "%sSTEP void %s(const %s *m%s%s%s, int thread)\n{\n",
                    source_comment(p->plan, p->kernel), p->shared ? p->shared->name : p->f->name,
                    p->plan->c_name, if_unused(p, p->m),
                    p->shared ? shared_parameters(p) : iterations_taken(p), rows_taken(p));
        text_indent(out, body, 1);
        text_printf(out, "}\n\n");
}

static void print_active(Printer *p, Text *out)
{
        Text *body = text_new(p->arena);
        print_statements(p, &p->f->body, body);
        text_printf(
                out,
                "/* Finds the rows that this iteration changes, [count]; every thread finds them all. */\n"
                "STEP int64_t %s(const %s *m%s, int32_t *active)\n{\n",
                p->f->name, p->plan->c_name, iterations_taken(p));
        text_indent(out, body, 1);
        text_printf(out, "}\n\n");
}

void print_place(Printer *p, const char *around, Text *out)
{
        const Region *nest[MAX_NEST];
        int n = iterations_around(p->kernel->body, nest);
        p->m = true;
        if (p->bare)
                return;
        p->iterations = UINT32_MAX;
        text_printf(out, "const Place place = {m, {");
        for (int i = 0; i < n; i++)
                text_printf(out, "%s%s", i ? ", " : "",
                            p->all_of && nest[i] == p->all_of->repeat.region ? "0" : nest[i]->name);
        text_printf(out, "%s}, %s%s};\n", n ? "" : "0", around,
                    !p->plan->sharing.by_rows ? ""
                    : p->row_loop             ? ", first_row"
                                              : ", 0");
}

/* The view of the sequence of a product's row, whose number counts all outer loops. */
static const char *instance_of_row(Printer *p)
{
        Text *row = text_new(p->arena);
        text_printf(row, "row");
        for (int i = 1; i < p->f->nloop - 1; i++)
                text_printf(row, " / %s", loop_size(p, i));
        const int size = varying_size(p->plan->graph);
        const Dim rows = p->f->loop[0].size;
        return arena_printf(p->arena, "sequence_of(place->m, %s, %lld, %lld)", row->data,
                            (long long)rows.fixed, (long long)(size < 0 ? 0 : rows.per[size]));
}

void print_behind_context(Printer *p, Text *out)
{
        const Region *nest[MAX_NEST];
        int n = iterations_around(p->kernel->body, nest);
        if (p->m)
                text_printf(out, "const %s *m = %s;\n", p->plan->c_name,
                            p->kernel->batching == BATCH_ROWS_LOOKED_UP &&
                                            sees_sequence(p->plan, p->kernel, p->f)
                                    ? instance_of_row(p)
                            : p->bare ? "context"
                                      : "place->m");
        for (int i = 0; i < n; i++) {
                if (!(p->iterations >> i & 1))
                        continue;
                text_printf(out, "const int64_t %s = ", nest[i]->name);
                if (p->all_of && nest[i] == p->all_of->repeat.region)
                        text_printf(out, "row / %lld;\n",
                                    (long long)p->all_of->repeat.active_rows->max_active);
                else
                        text_printf(out, "place->iteration[%d];\n", i);
        }
}

static bool uses_loops(const Printer *p, const int *loop, int n)
{
        bool used = false;
        for (int i = 0; i < n; i++)
                used |= p->loops >> loop[i] & 1;
        return used;
}

/* A parameter of a callback. */
typedef struct {
        const char *text;
        bool used;
} Parameter;

/* Prints a callback.  result: type and name, "void NAME".  parameter: those after the context; the list
 * ends with a NULL text. */
static void print_called_back(Printer *p, const char *result, const Parameter *parameter, const Text *body,
                              Text *out)
{
        Text *lines = text_new(p->arena);
        print_behind_context(p, lines);
        const bool context = p->place || lines->n, place = context && !p->bare;
        text_printf(out, "static inline %s(const void *context%s", result, if_unused(p, context));
        for (; parameter->text; parameter++)
                text_printf(out, ", %s%s", parameter->text, if_unused(p, parameter->used));
        text_printf(out, ")\n{\n%s", place ? "        const Place *place = context;\n" : "");
        text_indent(out, lines, 1);
        text_indent(out, body, 1);
        text_printf(out, "}\n\n");
}

static void print_epilogue(Printer *p, Text *out)
{
        const Function *f = p->f;
        Text *rest = text_new(p->arena), *body = text_new(p->arena), *loops = text_new(p->arena);
        p->row_alias = plain_row(p, f->outer, f->nloop - 1);
        print_statements(p, &f->body, rest);
        p->row_loop = p->kernel->ranks.row_loop;
        p->first_row = "place->first";
        print_loops_of(p, 0, f->outer, "place->around", loops);
        p->place = loops->n > 0;
        int64_t without = loops->n;
        print_loops_of(p, f->outer, f->nloop - 1, "row", loops);
        p->row |= loops->n > without;
        print_pointers(p, body);
        text_indent(body, loops, 0);
        text_printf(body, "const int64_t j = (int64_t)panel%s * 16;\n", f->products == 2 ? " / 2" : "");
        if (p->rest)
                print_rest(p, &f->loop[f->lane_loop], body);
        text_indent(body, rest, 0);
        const Parameter taken[] = {
                {"int64_t row", p->row}, {"int panel", true}, {"const v16 *acc", true}, {NULL, false}};
        print_called_back(p, arena_printf(p->arena, "void %s", f->name), taken, body, out);
}

/* Loops whose counters are computed from the arguments head and row. */
static void print_head_loops(Printer *p, Text *out)
{
        const Function *f = p->f;
        print_loops_in(p, f->head, f->nhead, "head", out);
        p->head = uses_loops(p, f->head, f->nhead);
}

static void print_score(Printer *p, Text *out)
{
        const Function *f = p->f;
        Text *rest = text_new(p->arena), *loops = text_new(p->arena), *body = text_new(p->arena);
        p->row_alias = f->row + 1;
        print_statements(p, &f->body, rest);
        print_head_loops(p, loops);
        print_pointers(p, body);
        text_indent(body, loops, 0);
        if (p->lane || p->rest)
                text_printf(body, "const int64_t j = col;\n");
        if (p->rest)
                print_rest(p, &f->loop[f->lane_loop], body);
        text_indent(body, rest, 0);
        const Parameter taken[] = {
                {p->plan->by_address ? "float *to, const float *s" : "const float *s", p->s},
                {"int64_t s_apart", p->apart},
                {"int head", p->head},
                {"int64_t row", p->row},
                {"int64_t col", p->lane || p->rest},
                {NULL, false}};
        print_called_back(p, arena_printf(p->arena, "%s %s", p->plan->by_address ? "void" : "v16", f->name),
                          taken, body, out);
}

static void print_sink(Printer *p, Text *out)
{
        Text *rest = text_new(p->arena), *body = text_new(p->arena);
        p->row_alias = p->f->row + 1;
        print_statements(p, &p->f->body, rest);
        print_head_loops(p, body);
        print_pointers(p, body);
        text_indent(body, rest, 0);
        const Parameter taken[] = {{"int head", p->head}, {"int64_t row", p->row}, {NULL, false}};
        print_called_back(p, arena_printf(p->arena, "float %s", p->f->name), taken, body, out);
}

/* Prints the integer tables that an index reads, each once. */
static void print_tables(const Index *x, uint64_t *seen, Text *out)
{
        if (!x)
                return;
        for (int i = 0; i < x->nterm; i++)
                print_tables(x->term[i].of, seen, out);
        print_tables(x->a, seen, out);
        print_tables(x->b, seen, out);
        if (x->op != INDEX_TABLE || seen[x->table->id / 64] >> x->table->id % 64 & 1)
                return;
        seen[x->table->id / 64] |= UINT64_C(1) << x->table->id % 64;
        text_printf(out, "static const int32_t of_row_%d[] = {", x->table->id);
        for (int64_t k = 0; k < x->table->attr.literal->count; k++)
                text_printf(out, "%s%lld", k ? ", " : "", (long long)x->table->attr.literal->value[k]);
        text_printf(out, "};\n");
}

static void print_live(Printer *p, Text *out)
{
        const Function *f = p->f;
        Text *bounds = text_new(p->arena), *body = text_new(p->arena);
        uint64_t *seen = NEW_ARRAY(p->arena, uint64_t, p->plan->graph->nnode / 64 + 1);
        p->row_alias = f->row + 1;
        print_statements(p, &f->body, bounds);
        print_tables(f->body.stmt[0].at, seen, body);
        print_tables(f->body.stmt[0].high, seen, body);
        print_head_loops(p, body);
        text_indent(body, bounds, 0);
        const Parameter taken[] = {{"int head", p->head},
                                   {"int64_t row", p->row},
                                   {"int64_t *lo", p->lo},
                                   {"int64_t *hi", p->hi},
                                   {NULL, false}};
        print_called_back(p, arena_printf(p->arena, "void %s", f->name), taken, body, out);
}

/* Prints the functions of a kernel.  Returns whether a callback needs a Place. */
static bool print_functions(Plan *p, const Kernel *k, bool bare, Text *out)
{
        bool place = k->batching == BATCH_ROWS_LOOKED_UP || p->sharing.ranks;
        for (int i = 0; i < k->code->n; i++) {
                Printer printer = {.plan = p,
                                   .kernel = k,
                                   .code = k->code,
                                   .f = k->code->function[i],
                                   .arena = p->graph->arena,
                                   .bare = bare};
                printer_begin(&printer);
                switch (printer.f->role) {
                case WHOLE_KERNEL:
                        print_stages(&printer, out);
                        if (is_exchanged(k))
                                print_sharding(&printer, out);
                        break;
                case ACTIVE_ROWS: print_active(&printer, out); break;
                case EPILOGUE: print_epilogue(&printer, out); break;
                case SCORE: print_score(&printer, out); break;
                case LIVE: print_live(&printer, out); break;
                case SINK: print_sink(&printer, out); break;
                }
                place |= printer.f->role != WHOLE_KERNEL && (printer.place || printer.iterations);
        }
        return place;
}

void print_kernel(Plan *p, const Kernel *k, Text *out)
{
        const int64_t before = out->n;
        if (print_functions(p, k, false, out))
                return;
        out->n = before;
        print_functions(p, k, true, out);
}

void print_shared(Plan *p, const SharedFunction *s, Text *out)
{
        Printer printer = {.plan = p,
                           .kernel = s->kernel,
                           .code = s->kernel->code,
                           .f = s->kernel->code->function[0],
                           .arena = p->graph->arena,
                           .shared = s};
        printer_begin(&printer);
        print_stages(&printer, out);
}
