/* Further functions of a kernel that ranks share: they copy its results between memory and a block, and
 * exchange them (runtime/ranks.h). */
#include <string.h>

#include "print_private.h"

const char *sharing(const Printer *p, bool rows)
{
        if (!p->kernel->ranks.by_rows)
                return "m->ranks";
        return arena_printf(p->arena, "ranks_by(m, %s, %s)",
                            dim_expression(p->arena, p->plan->graph, p->kernel->ranks.rows),
                            rows ? "BY_ROWS" : "BY_OUTPUTS");
}

void print_own_heads(const Printer *p, int64_t heads, Text *out)
{
        const char *ranks = sharing(p, false);
        text_printf(out,
                    "const int64_t first_head = rank_share(%s, %lld, 0, 1), end_head = rank_share(%s, %lld, "
                    "1, 1);\n",
                    ranks, (long long)heads, ranks, (long long)heads);
}

void print_own_rows(Printer *p, Text *out)
{
        if (!p->kernel->ranks.row_loop)
                return;
        const char *rows = size_expression(p, p->f->loop[p->kernel->ranks.row_loop - 1].size);
        const char *ranks = sharing(p, true);
        text_printf(out, "const int64_t first_row = rank_row(%s, %s, 0), behind_row = rank_row(%s, %s, 1);\n",
                    ranks, rows, ranks, rows);
        p->m = true;
        p->row_loop = p->kernel->ranks.row_loop;
        p->first_row = "first_row";
}

/* Prints a callback: its head, the context, a buffer's pointer, loops, and a body. */
static void print_called(Printer *p, const char *head, Buffer *b, const char *unwanted, const Text *loops,
                         const Text *does, Text *out)
{
        Text *pointers = text_new(p->arena), *context = text_new(p->arena);
        print_pointer(p, pointed_buffer(b), pointers);
        if (whole_buffer(b)->home == IN_OUTPUT)
                text_printf(pointers, "if (!m->output_%s)\n        return%s; /* not requested */\n",
                            p->plan->graph->output[whole_buffer(b)->index].name, unwanted);
        print_behind_context(p, context);
        text_printf(out, "static %s\n{\n        const Place *place = context;\n        (void)place;\n", head);
        text_indent(out, context, 1);
        text_indent(out, pointers, 1);
        text_indent(out, loops, 1);
        text_indent(out, does, 1);
        text_printf(out, "}\n\n");
}

/* Copies `n` elements of a buffer: "for (..) into ? .. : ..". */
static void print_carried(Printer *p, const Buffer *b, const char *pointer, const char *at, int64_t step,
                          const char *n, Text *out)
{
        const char *element = arena_printf(p->arena, "%s[%s + %lld * lane]", pointer, at, (long long)step);
        text_printf(out,
                    "for (int64_t lane = 0; lane < %s; lane++)\n        if (into)\n                %s = "
                    "(%s)values[lane];\n        else\n                values[lane] = (float)%s;\n",
                    n, element, b->storage == STORAGE_F16 ? "uint16_t" : "float", element);
}

static void print_carry(Printer *p, const char *name, Buffer *b, const Text *loops, const Text *move,
                        Text *out)
{
        print_called(p,
                     arena_printf(p->arena,
                                  "void %s_carry(const void *context, int64_t row, int64_t panel, float "
                                  "*values, int into)",
                                  name),
                     b, "", loops, move, out);
}

/* Prints a callback that returns the address of a row whose panels are adjacent. */
static void print_rank_row(Printer *p, const char *name, Buffer *b, const Text *loops, const char *at,
                           Text *out)
{
        Text *does = text_new(p->arena);
        text_printf(does, "return &%s[%s];\n", pointer_name(p, b), at);
        print_called(p, arena_printf(p->arena, "float *%s_row(const void *context, int64_t row)", name), b,
                     " NULL", loops, does, out);
}

/* A printer for the same kernel with no name used yet. */
static Printer unprinted(const Printer *of, const Function *f)
{
        Printer p = {.plan = of->plan, .kernel = of->kernel, .code = of->code, .f = f, .arena = of->arena};
        printer_begin(&p);
        return p;
}

static const Step *exchange_of(const Printer *p)
{
        return find_step(p->plan->program, STEP_EXCHANGE, p->kernel);
}

/* Prints the callback that copies the results of a product's part. */
static void print_product_carry(const Printer *of, const Function *f, Text *out)
{
        Printer printer = unprinted(of, f), *p = &printer;
        const Stmt *s = only_statement(f, STMT_STORE);
        Text *move = text_new(p->arena), *loops = text_new(p->arena);
        const char *pointer = pointer_name(p, s->buffer), *at = index_text(p, s->at);
        p->rest |= s->lanes == REST_LANES;
        print_carried(p, s->buffer, pointer, at, s->step,
                      s->lanes == ALL_LANES  ? "16"
                      : s->lanes == ONE_LANE ? "1"
                                             : "n",
                      move);
        const Step *exchange = exchange_of(p);
        if (exchange->half) {
                p->all_of = exchange->repeat;
                text_printf(loops, "row %%= %lld;\n",
                            (long long)exchange->repeat->repeat.active_rows->max_active);
        }
        print_loops_of(p, f->outer, f->nloop - 1, "row", loops);
        text_printf(loops, "const int64_t j = panel * 16;\n(void)row;\n");
        if (p->rest)
                print_rest(p, &f->loop[f->lane_loop], loops);
        print_carry(p, f->name, s->buffer, loops, move, out);
}

static void print_product_row(const Printer *of, const Function *f, Text *out)
{
        Printer printer = unprinted(of, f), *p = &printer;
        const Stmt *s = only_statement(f, STMT_STORE);
        Text *loops = text_new(p->arena);
        const char *at = index_text(p, s->at);
        print_loops_of(p, f->outer, f->nloop - 1, "row", loops);
        text_printf(loops, "const int64_t j = 0;\n(void)row;\n");
        print_rank_row(p, p->kernel->name, s->buffer, loops, at, out);
}

/* Whether a row of results is contiguous: whole panels of floats. */
static bool product_rows_are_one_piece(const Plan *p, const MatmulCall *c)
{
        const Function *f = c->part[0].epilogue;
        const Stmt *s = only_statement(f, STMT_STORE);
        return c->npart == 1 && s->buffer->storage == STORAGE_F32 && s->lanes == ALL_LANES &&
               stores_by_columns(p, f, s, c->panels * LANES);
}

/* Prints the callback that copies the results of a KV head of attention. */
static void print_attention_carry(const Printer *of, const AttentionCall *c, Text *out)
{
        Printer printer = unprinted(of, of->f), *p = &printer;
        const long long heads = (long long)(c->heads / c->kv_heads), width = (long long)c->v_dim;
        Text *move = text_new(p->arena), *loop = text_new(p->arena);
        const char *pointer = pointer_name(p, c->out.buffer), *at = index_text(p, c->out.at);
        text_printf(
                loop,
                "for (int64_t head = panel * %lld; head < (panel + 1) * %lld; head++, values += %lld) {\n",
                heads, heads, width);
        print_carried(p, c->out.buffer, pointer,
                      arena_printf(p->arena, "%s + %lld * row + %lld * head", at, (long long)c->out_row,
                                   (long long)c->out_head),
                      1, arena_printf(p->arena, "%lld", width), move);
        text_indent(loop, move, 1);
        text_printf(loop, "}\n");
        print_carry(p, p->kernel->name, c->out.buffer, text_new(p->arena), loop, out);
}

static void print_attention_row(const Printer *of, const AttentionCall *c, Text *out)
{
        Printer printer = unprinted(of, of->f), *p = &printer;
        print_rank_row(
                p, p->kernel->name, c->out.buffer, text_new(p->arena),
                arena_printf(p->arena, "%s + %lld * row", index_text(p, c->out.at), (long long)c->out_row),
                out);
}

typedef struct {
        Text *parts; /* "{carry, first, panels}, .." */
        int n;
        int64_t panels, width;
        bool in_rows;
        const char *rows;
} Exchange;

/* Exchanges the active rows of all iterations as one list, 32 * iteration + row.  A long list is split. */
static void print_rows_of_all(Printer *p, const char *exchange, Text *out)
{
        enum { PIECE = 4096 };
        const Kernel *repeat = exchange_of(p)->repeat, *rows = repeat->repeat.active_rows;
        const char *name = repeat->repeat.region->name,
                   *outer = iteration_parameters(p->arena, repeat->body, false);
        const long long most = (long long)rows->max_active,
                        turns = (long long)repeat->repeat.region->iterations;
        text_printf(out,
                    "int32_t active[%lld];\nint64_t count = 0;\n"
                    "for (int64_t %s = 0; %s < %lld; %s++) {\n"
                    "        const int64_t n = %s(m%s, %s, active + count);\n"
                    "        for (int64_t i = 0; i < n; i++)\n"
                    "                active[count++] += (int32_t)(%lld * %s);\n"
                    "        if (count < %d && %s < %lld)\n                continue;\n"
                    "        if (count > 0)\n                %s\n        count = 0;\n}\n",
                    most + PIECE, name, name, turns, name, rows->name, outer, name, most, name, PIECE, name,
                    turns - 1, exchange);
}

static void print_exchange(Printer *p, const Exchange *x, Text *out)
{
        const Kernel *k = p->kernel, *once = exchange_of(p)->repeat;
        Text *body = text_new(p->arena);
        const char *exchange = arena_printf(p->arena, "rank_exchange(m->ranks, &place, &all, %s);", x->rows);
        p->all_of = once;
        print_place(p, "0", body);
        text_printf(body,
                    "static const CarriedPart part[] = {%s};\n"
                    "static const Carried all = {part, %d, %lld, %lld, %s};\n",
                    x->parts->data, x->n, (long long)x->panels, (long long)x->width,
                    x->in_rows ? arena_printf(p->arena, "%s_row", p->kernel->name) : "NULL");
        if (exchange_of(p)->half)
                print_rows_of_all(p, exchange, body);
        else
                text_printf(body, "%s\n", exchange);
        text_printf(out,
                    "/* Gathers the shares of all ranks on each rank. */\nstatic void %s_exchange(const %s "
                    "*m%s%s)\n{\n",
                    k->name, p->plan->c_name,
                    iteration_parameters(p->arena, once ? once->body : k->body, true),
                    once ? "" : row_parameters(k, true));
        text_indent(out, body, 1);
        text_printf(out, "}\n\n");
}

/* "m->time", or several sizes: rows of a product, for all sequences of a call, active or not. */
static const char *rows_of_product(Printer *p, int outer)
{
        const char *rows = "1";
        for (int i = outer; i < p->f->nloop - 1; i++) {
                const char *size = loop_end(p, &p->f->loop[i]);
                rows = i > outer ? arena_printf(p->arena, "%s * (%s)", rows, size) : size;
        }
        return rows;
}

void print_sharding(Printer *p, Text *out)
{
        const Kernel *k = p->kernel;
        p->row_loop = 0; /* outputs of all rows */
        const Stmt *s = only_statement(p->f, k->op == K_MATMUL ? STMT_MATMUL : STMT_ATTENTION);
        Exchange x = {.parts = text_new(p->arena)};
        if (k->op == K_ATTENTION) {
                const AttentionCall *c = s->call.attention;
                print_attention_carry(p, c, out);
                x.in_rows = c->out.buffer->storage == STORAGE_F32 && c->out_head == c->v_dim;
                if (x.in_rows)
                        print_attention_row(p, c, out);
                text_printf(x.parts, "{%s_carry, 0, %lld}", k->name, (long long)c->kv_heads);
                x.n = 1;
                x.panels = c->kv_heads;
                x.width = c->heads / c->kv_heads * c->v_dim;
                x.rows = arena_printf(p->arena, "NULL, %s", c->row >= 0 ? loop_size(p, c->row) : "1");
                print_exchange(p, &x, out);
                return;
        }
        const MatmulCall *c = s->call.matmul;
        const Step *exchange = exchange_of(p);
        for (int i = 0; i < c->npart; i++) {
                const MatmulPart *part = &c->part[i];
                print_product_carry(p, part->epilogue, out);
                text_printf(x.parts, "%s{%s_carry, %lld, %lld}", i ? ", " : "", part->epilogue->name,
                            (long long)part->first, (long long)part->panels);
        }
        x.in_rows = !exchange->half && product_rows_are_one_piece(p->plan, c);
        if (x.in_rows)
                print_product_row(p, c->part[0].epilogue, out);
        x.n = c->npart;
        x.panels = c->panels;
        x.width = LANES;
        x.rows = exchange->repeat && !exchange->half
                         ? arena_printf(p->arena, "NULL, %s", rows_of_product(p, c->outer))
                 : k->rows == ROWS_ACTIVE
                         ? "active, count"
                         : arena_printf(p->arena, "NULL, %s", row_count(p, c->outer, p->f->nloop - 1));
        print_exchange(p, &x, out);
}
