/* Code as C: calls of the runtime's kernels: products, attention, selections, moves. */
#include "print_private.h"

#include <string.h>

/* --- products ------------------------------------------------------------------------------------------------------ */

/* Arguments for the rows of a call. */
static const char *call_rows_text(const Kernel *k)
{
        return k->rows == ROWS_ACTIVE ? "active, count" : "NULL, rows";
}

/* Pointer to a rank's rows, which are `ldr` elements apart. */
static const char *own_operand(Printer *p, Operand o, int64_t ldr)
{
        const char *all = operand_text(p, o);
        return p->row_loop ? arena_printf(p->arena, "%s + first_row * %lld", all, (long long)ldr) : all;
}

static void print_no_rows(const Printer *p, Text *out)
{
        if (p->row_loop)
                text_printf(out, "if (first_row == behind_row)\n        return; /* more ranks than tiles of "
                                 "rows */\n");
}

/* Converts rows of the left operand to codes, for parts with weights in blocks.  Each thread converts its
 * own. */
static void print_codes(Printer *p, const MatmulCall *c, Text *out)
{
        const Kernel *k = p->kernel;
        for (int i = 0; i < CODE_GROUPS; i++)
                if (wants_codes(k, code_group[i]))
                        text_printf(out,
                                    "void *codes_%d = m->scratch + thread * SCRATCH + %lld;\n"
                                    "codes_of_rows(codes_%d, %s, %lld, %s, %lld, %d);\n",
                                    code_group[i], (long long)k->product.codes[i], code_group[i],
                                    own_operand(p, c->x, c->ldx), (long long)c->ldx, call_rows_text(k),
                                    (long long)k->product.k, code_group[i]);
}

/* End of a thread's share of panels, relative to a part.  If ranks share heads, panels of earlier heads
 * come first. */
static const char *part_text(Printer *p, const MatmulPart *part, const char *end)
{
        const int64_t heads = p->kernel->ranks.heads;
        if (!heads)
                return arena_printf(p->arena, "part(%s, %lld, %lld)", end, (long long)part->first,
                                    (long long)part->panels);
        return arena_printf(p->arena,
                            "(int)(%lld * first_head) + part(%s, %lld * (end_head - first_head), %lld * "
                            "(end_head - first_head))",
                            (long long)(part->panels / heads), end, (long long)(part->first / heads),
                            (long long)(part->panels / heads));
}

/* Prints the call for one part. */
static void print_part(Printer *p, const MatmulCall *c, const MatmulPart *part, Text *out)
{
        const Kernel *k = p->kernel;
        const Segment *s = part->segment;
        const Buffer *to = whole_buffer(s->store.to);
        bool asked = to->home == IN_OUTPUT;
        const StorageInfo *storage = &storage_info[s->w[0]->storage];
        const char *function = storage->codes           ? "matmul_blocks"
                               : k->rows == ROWS_ACTIVE ? "matmul_active"
                                                        : "matmul";
        const char *x = storage->codes ? arena_printf(p->arena, "codes_%d", storage->codes)
                                       : arena_printf(p->arena, "%s, %lld", own_operand(p, c->x, c->ldx),
                                                      (long long)c->ldx);
        const char *twice = s->nproduct == 2 ? "2 * " : "";
        const char *tile = target_is_portable(p->plan->target)
                                   ? storage->codes ? "CODE_ROWS, TILE_PANELS" : "TILE_ROWS, TILE_PANELS"
                                   : arena_printf(p->arena, "%d, %d", s->tiling.rows, s->tiling.panels);
        Text *call = text_new(p->arena);
        if (asked)
                text_printf(out, "if (m->output_%s) /* requested */\n",
                            p->plan->graph->output[to->index].name);
        text_printf(call, "%s(%s, %s, %s, %s, %lld, %s, STORAGE_%s, %d,\n", function,
                    p->bare ? "m" : "&place", s->name, x,
                    storage->codes || k->rows == ROWS_ACTIVE ? call_rows_text(k) : "rows",
                    (long long)k->product.k, operand_text(p, (Operand){s->w[0], part->w_at}), storage->name,
                    s->nproduct);
        text_printf(call, "%*s&(Tiling){%s, %d, %d}, %s%s, %s%s, m->scratch + thread * SCRATCH);\n",
                    (int)strlen(function) + 1, "", tile, s->tiling.k_block, s->tiling.rows_at_once, twice,
                    part_text(p, part, "from"), twice, part_text(p, part, "to"));
        text_indent(out, call, asked);
}

/* Prints the outer loops of a product.  Threads share the panels of all their iterations. */
static void print_around(Printer *p, const MatmulCall *c, const Text *calls, Text *out)
{
        Text *inner = text_new(p->arena);
        long long panels = c->panels;
        text_printf(out,
                    "const int64_t all = %s * %lld;\n"
                    "const int64_t begin = share(all, thread, m->threads), end = share(all, thread + 1, "
                    "m->threads);\n",
                    row_count(p, 0, c->outer), panels);
        text_printf(out, "for (int64_t around = begin / %lld; around * %lld < end; around++) {\n", panels,
                    panels);
        print_place(p, "around", inner);
        print_loops_of(p, 0, c->outer, "around", inner);
        text_printf(inner,
                    "const int64_t from = begin - around * %lld, to = end - around * %lld; /* part() keeps "
                    "them within */\n",
                    panels, panels);
        text_indent(inner, calls, 0);
        text_indent(out, inner, 1);
        text_printf(out, "}\n");
}

/* Prints a thread's share of the panels of its rank, by panels or by heads. */
static void print_panels(Printer *p, const MatmulCall *c, Text *out)
{
        const char *share = p->kernel->ranks.sharded && !p->kernel->ranks.heads
                                    ? arena_printf(p->arena, "rank_share(%s, ", sharing(p, false))
                                    : "share(";
        const char *panels = arena_printf(p->arena, "%lld", (long long)c->panels);
        if (p->kernel->ranks.heads) {
                print_own_heads(p, p->kernel->ranks.heads, out);
                panels = arena_printf(p->arena, "%lld * (end_head - first_head)",
                                      (long long)(c->panels / p->kernel->ranks.heads));
        }
        text_printf(out,
                    "const int64_t from = %s%s, thread, m->threads), to = %s%s, thread + 1, m->threads);\n",
                    share, panels, share, panels);
}

static void print_matmul(Printer *p, const MatmulCall *c, Text *out)
{
        Text *calls = text_new(p->arena);
        print_own_rows(p, out);
        print_codes(p, c, calls);
        for (int i = 0; i < c->npart; i++)
                print_part(p, c, &c->part[i], calls);
        if (!c->outer)
                print_place(p, "0", out);
        print_pointers(p, out);
        print_no_rows(p, out);
        if (p->kernel->rows != ROWS_ACTIVE)
                text_printf(out, "const int64_t rows = %s;\n",
                            row_count_unbracketed(p, c->outer, p->f->nloop - 1));
        p->m = p->active = true;
        if (c->outer) {
                print_around(p, c, calls, out);
                return;
        }
        print_panels(p, c, out);
        text_indent(out, calls, 0);
}

static const char *size_of_loop(Printer *p, const CodeLoop *loop)
{
        const char *e = size_expression(p, loop->size);
        return strchr(e, ' ') ? arena_printf(p->arena, "(%s)", e) : e;
}

/* "16 * m->frames": product of the loops' sizes */
static const char *times_around(Printer *p, const int *around, int naround)
{
        const char *times = naround ? loop_size(p, around[0]) : "1";
        for (int i = 1; i < naround; i++)
                times = arena_printf(p->arena, "%s * %s", times, loop_size(p, around[i]));
        return times;
}

static void print_activations(Printer *p, const ActivationCall *c, Text *out)
{
        Text *call = text_new(p->arena), *loops = text_new(p->arena);
        text_printf(call, "const Contraction a = {\n");
        text_printf(call, "        .y = %s, .y_row = %lld,\n", operand_text(p, c->to), (long long)c->to_row);
        text_printf(call, "        .a = %s, .a_row = %lld, .a_step = %lld,\n", operand_text(p, c->a),
                    (long long)c->a_row, (long long)c->a_step);
        text_printf(call, "        .b = %s, .b_at = %s, .b_step = %lld, .b_lane = %lld,\n",
                    pointer_name(p, c->b.buffer), index_text(p, c->b.at), (long long)c->b_step,
                    (long long)c->b_lane);
        if (c->b.buffer->storage != STORAGE_F32)
                text_printf(call, "        .storage = %s,\n", storage_text(p->arena, c->b.buffer));
        text_printf(call, "        .n = (int)%s, .k = (int)%s,", size_of_loop(p, c->columns),
                    size_of_loop(p, c->depth));
        if (c->zeros)
                text_printf(call, " .zeros = %d,", c->zeros);
        text_printf(call, "\n};\ncontract(&a, unit %% units, rows, m->scratch + thread * SCRATCH);\n");
        p->m = true;
        print_loops_in(p, c->around, c->naround, "around", loops);
        print_pointers(p, out);
        text_printf(out,
                    "const int64_t rows = %s, units = CONTRACT_UNITS(rows), all = %s * units;\n"
                    "const int64_t end = share(all, thread + 1, m->threads);\n"
                    "for (int64_t unit = share(all, thread, m->threads); unit < end; unit++) {\n",
                    c->row < 0 ? "1" : loop_size(p, c->row), times_around(p, c->around, c->naround));
        if (loops->n)
                text_printf(out, "        const int64_t around = unit / units;\n");
        text_indent(out, loops, 1);
        text_indent(out, call, 1);
        text_printf(out, "}\n");
}

/* --- attention --------------------------------------------------------------------------------------------------------- */

/* " + 64 * first_head": offset of a rank's heads, which are `apart` elements apart, counted in KV heads */
static const char *own_heads(Printer *p, const Buffer *b, int64_t apart)
{
        const char *elements = arena_printf(p->arena, "%lld * first_head", (long long)apart);
        if (!p->kernel->ranks.sharded)
                return "";
        return b->storage == STORAGE_Q8
                       ? arena_printf(p->arena, " + KEPT_SIZE(%s, %s)", storage_text(p->arena, b), elements)
                       : arena_printf(p->arena, " + %s", elements);
}

/* "const Attention a = {..};" */
static void print_descriptor(Printer *p, const AttentionCall *c, Text *out)
{
        const bool spread = p->kernel->ranks.sharded;
        const long long group = (long long)(c->heads / c->kv_heads);
        bool begins = c->row >= 0 && p->f->loop[c->row].from_first;
        if (spread)
                print_own_heads(p, c->kv_heads, out);
        text_printf(out, "const Attention a = {\n");
        text_printf(out, "        .q = %s%s, .q_row = %lld, .q_head = %lld,\n",
                    own_operand(p, c->q, c->q_row), own_heads(p, c->q.buffer, group * c->q_head),
                    (long long)c->q_row, (long long)c->q_head);
        text_printf(out, "        .k = %s%s, .k_head = %lld, .%s = %lld,\n", operand_text(p, c->k),
                    own_heads(p, c->k.buffer, c->k_head), (long long)c->k_head, c->k_key ? "k_key" : "k_tile",
                    (long long)(c->k_key ? c->k_key : c->k_tile));
        text_printf(out, "        .v = %s%s, .v_head = %lld, .v_key = %lld,\n", operand_text(p, c->v),
                    own_heads(p, c->v.buffer, c->v_head), (long long)c->v_head, (long long)c->v_key);
        if (c->k.buffer->storage != STORAGE_F32 || c->v.buffer->storage != STORAGE_F32)
                text_printf(out, "        .k_storage = %s, .v_storage = %s,\n",
                            storage_text(p->arena, c->k.buffer), storage_text(p->arena, c->v.buffer));
        if (c->first_held)
                text_printf(out, "        .first_key = %s, .first_value = %s,\n",
                            size_expression(p, c->first_key), size_expression(p, c->first_value));
        if (c->k_paged || c->v_paged)
                text_printf(out, "        .key_pages = %s, .value_pages = %s,\n",
                            c->k_paged ? "m->page_of" : "NULL", c->v_paged ? "m->page_of" : "NULL");
        text_printf(out, "        .out = %s%s, .out_row = %lld, .out_head = %lld,\n",
                    own_operand(p, c->out, c->out_row), own_heads(p, c->out.buffer, group * c->out_head),
                    (long long)c->out_row, (long long)c->out_head);
        if (spread)
                text_printf(out,
                            "        .heads = (int)(%lld * (end_head - first_head)), .kv_heads = "
                            "(int)(end_head - first_head), "
                            ".first_head = (int)(%lld * first_head),\n",
                            group, group);
        else
                text_printf(out, "        .heads = %lld, .kv_heads = %lld,\n", (long long)c->heads,
                            (long long)c->kv_heads);
        text_printf(out, "        .head_dim = %lld, .v_dim = %lld, .scale = 1.0f,\n", (long long)c->head_dim,
                    (long long)c->v_dim);
        if (c->naround)
                text_printf(out, "        .first_head = (int)around * %lld,\n", (long long)c->heads);
        if (c->chosen.buffer)
                text_printf(out,
                            "        .key_list = %s%s, .list_row = %lld, .list_head = %lld, .list_count "
                            "= %lld, "
                            ".by_column = %d,\n",
                            own_operand(p, c->chosen, c->chosen_row),
                            own_heads(p, c->chosen.buffer, c->chosen_head), (long long)c->chosen_row,
                            (long long)c->chosen_head, (long long)c->count, c->by_column);
        if (p->kernel->attention.dead_nan)
                text_printf(out, "        .dead = FLOAT_NAN,\n");
        if (p->kernel->attention.plain)
                text_printf(out, "        .no_softmax = 1,\n");
        if (c->sink)
                text_printf(out, "        .sink = %s,\n", c->sink->name);
        text_printf(out, "        .keys = %s, .first_row = %s, .ctx = %s,\n};\n", size_expression(p, c->keys),
                    begins        ? "m->first"
                    : p->row_loop ? "first_row"
                                  : "0",
                    p->bare ? "m" : "&place");
}

/* Rows of a tile: 16 if keys are stored by rows. */
static const char *tile_rows(const AttentionCall *c)
{
        return c->k_key && !c->chosen.buffer ? "16" : "TILE_ROWS";
}

/* Prints the call for a share s. */
static void print_attend(const AttentionCall *c, const char *rows, const char *team, Text *out)
{
        if (c->weigh)
                text_printf(out,
                            "attention_mixed(&a, %s, %s, %s, %s, &s, %d, m->scratch + thread * SCRATCH, %s, "
                            "thread, m->threads);\n",
                            c->score->name, c->weigh->name, c->live->name, rows, c->all_weigh, team);
        else
                text_printf(out, "%s(&a, %s, %s, %s, &s, m->scratch + thread * SCRATCH);\n",
                            c->chosen.buffer ? "attention_chosen" : "attention", c->score->name,
                            c->live->name, rows);
}

/* Prints a thread's share.  In a call of one row it may be a block of keys, whose results are joined
 * afterwards. */
static void print_share(const Kernel *k, const AttentionCall *c, const char *rows, Text *out)
{
        if (k->scratch.all || c->weigh)
                text_printf(out, "AttentionShare s;\n%s(&s, &a, %s, %s, %s, thread, m->threads);\n",
                            c->weigh ? "mixed_share" : "attention_share", c->live->name, rows,
                            k->scratch.all ? "m->scratch + m->threads * SCRATCH" : "NULL");
        else
                text_printf(out,
                            "const int64_t units = %s(a.heads, a.kv_heads, %s, %s);\n"
                            "const AttentionShare s = {.begin = share(units, thread, m->threads), "
                            ".end = share(units, thread + 1, m->threads)};\n",
                            c->chosen.buffer ? "CHOSEN_UNITS" : "ATTENTION_UNITS", rows, tile_rows(c));
        print_attend(c, rows, "m->team", out);
        if (k->scratch.all && !c->weigh)
                text_printf(out, "attention_join(&a, &s, m->scratch + thread * SCRATCH, m->team, thread, "
                                 "m->threads);\n");
}

static void print_attention(Printer *p, const AttentionCall *c, Text *out)
{
        Text *call = text_new(p->arena), *loops = text_new(p->arena);
        /* a unit of mixed heads has all of them */
        const char *units = arena_printf(
                p->arena, "%s(%lld, %lld, rows, %s)", c->chosen.buffer ? "CHOSEN_UNITS" : "ATTENTION_UNITS",
                c->weigh ? 1LL : (long long)c->heads, c->weigh ? 1LL : (long long)c->kv_heads, tile_rows(c));
        print_own_rows(p, out);
        const char *rows = c->row >= 0 ? loop_size(p, c->row) : "1";
        print_descriptor(p, c, call);
        print_place(p, "0", out);
        print_pointers(p, out);
        p->m = true;
        if (c->naround == 0) {
                text_indent(out, call, 0);
                print_no_rows(p, out);
                if (p->kernel->ranks.sharded)
                        text_printf(
                                out,
                                "if (first_head == end_head)\n        return; /* more ranks than heads */\n");
                print_share(p->kernel, c, rows, out);
                return;
        }
        text_printf(out, "const int64_t rows = %s, units = %s, all = %s * units;\n", rows, units,
                    times_around(p, c->around, c->naround));
        text_printf(out, "const int64_t end = share(all, thread + 1, m->threads);\n"
                         "for (int64_t unit = share(all, thread, m->threads), next; unit < end; "
                         "unit = next) {\n"
                         "        const int64_t around = unit / units, begin = around * units;\n");
        print_loops_in(p, c->around, c->naround, "around", loops);
        text_indent(out, loops, 1);
        text_printf(out, "        next = begin + units < end ? begin + units : end;\n");
        text_indent(out, call, 1);
        text_printf(out, "        const AttentionShare s = {.begin = unit - begin, .end = next - begin};\n"
                         "        ");
        print_attend(c, "rows", "NULL", out);
        text_printf(out, "}\n");
}

/* --- scans --------------------------------------------------------------------------------------------------------------- */

/* Threads share the units of all heads. */
static void print_scan(Printer *p, const ScanCall *c, Text *out)
{
        static const char *const member[] = {"q", "k", "v", "out"};
        const Operand of[] = {c->q, c->k, c->v, c->out};
        const int64_t row[] = {c->q_row, c->k_row, c->v_row, c->out_row};
        const long long units = SCAN_UNITS(c->width),
                        floats = (1 + c->older) * SCAN_FLOATS(c->depth, c->width);
        Text *call = text_new(p->arena), *loops = text_new(p->arena);
        text_printf(call, "const Scan s = {\n");
        for (int i = 0; i < 4; i++)
                if (of[i].buffer)
                        text_printf(call, "        .%s = %s, .%s_row = %lld,\n", member[i],
                                    operand_text(p, of[i]), member[i], (long long)row[i]);
        if (c->powers.buffer)
                text_printf(call, "        .powers = %s,\n", operand_text(p, c->powers));
        text_printf(call, "        .depth = %lld, .width = %lld,%s", (long long)c->depth, (long long)c->width,
                    c->maxima ? " .maxima = 1," : "");
        if (c->older)
                text_printf(call, " .older = %lld,", (long long)c->older);
        text_printf(call, "\n};\n");
        p->m = true;
        if (c->state.buffer)
                text_printf(call,
                            "scan(&s, %s + unit * %lld, (int)(unit %% %lld), %s, rows, m->scratch + thread * "
                            "SCRATCH);\n",
                            operand_text(p, c->state), floats, units, size_expression(p, c->position));
        else
                text_printf(call,
                            "float *scratch = m->scratch + thread * SCRATCH;\n"
                            "scan(&s, scratch, (int)(unit %% %lld), 0, rows, scratch + %lld);\n",
                            units, floats);
        print_loops_in(p, c->around, c->naround, "head", loops);
        print_pointers(p, out);
        text_printf(out,
                    "const int64_t rows = %s, end = share(%lld, thread + 1, m->threads);\n"
                    "for (int64_t unit = share(%lld, thread, m->threads); unit < end; unit++) {\n",
                    loop_size(p, c->row), (long long)c->heads * units, (long long)c->heads * units);
        if (loops->n)
                text_printf(out, "        const int64_t head = unit / %lld;\n", units);
        text_indent(out, loops, 1);
        text_indent(out, call, 1);
        text_printf(out, "}\n");
}

/* --- the others ---------------------------------------------------------------------------------------------------------- */

static void print_select(Printer *p, const Stmt *s, Text *out)
{
        const SelectCall *c = s->call.select;
        if (s->op == STMT_CODES) {
                text_printf(out, "keep_codes(%s, %s, %s, %s, %lld);\n", storage_text(p->arena, c->to.buffer),
                            pointer_name(p, c->to.buffer), index_text(p, c->to.at),
                            place_in_c(p, c->of.buffer, c->of.at), (long long)c->of_step);
                return;
        }
        const char *to = place_in_c(p, c->to.buffer, c->to.at), *of = place_in_c(p, c->of.buffer, c->of.at);
        const char *size = size_of_loop(p, c->over);
        if (s->op != STMT_ARGMAX)
                text_printf(out, "%s(%s, %lld, %s, %lld, %s, %d);\n",
                            s->op == STMT_TOP      ? "top_of"
                            : s->op == STMT_CHOSEN ? "chosen_of"
                                                   : "among_of",
                            to, (long long)c->to_step, of, (long long)c->of_step, size, c->count);
        else
                text_printf(out, "*(%s) = (%s)argmax_of(%s, %lld, %s);\n", to,
                            storage_info[c->to.buffer->storage].c, of, (long long)c->of_step, size);
}

static void print_move(Printer *p, const MoveCall *c, Text *out)
{
        const char *from = element_number(p, c->from.buffer, c->from.at);
        const char *to = pointer_name(p, c->to.buffer), *at = index_text(p, c->to.at);
        if (c->to.buffer->storage == STORAGE_F16)
                text_printf(out, "f16_put(%s, %s, %s);\n", to, at, from);
        else
                text_printf(out, "%s[%s] = %s;\n", to, at, from);
}

void print_call(Printer *p, const Stmt *s, Text *out)
{
        switch (s->op) {
        case STMT_MATMUL: print_matmul(p, s->call.matmul, out); break;
        case STMT_ACTIVATION_MATMUL: print_activations(p, s->call.activation, out); break;
        case STMT_ATTENTION: print_attention(p, s->call.attention, out); break;
        case STMT_SCAN: print_scan(p, s->call.scan, out); break;
        case STMT_TOP:
        case STMT_CHOSEN:
        case STMT_AMONG:
        case STMT_ARGMAX:
        case STMT_CODES: print_select(p, s, out); break;
        case STMT_MOVE: print_move(p, s->call.move, out); break;
        default: break; /* COLLECTIVE: no code for one machine */
        }
}
