/* What stands between kernels where ranks share them (runtime/ranks.h): exchanges, gathers of rows, and what stages hand on. */
#include <inttypes.h>

#include "emit_private.h"

/* A call of a function of the runtime for each value that a repeat carries on. */
static void emit_carried(const Emit *e, const Kernel *k, const char *function, const char *more, Text *t)
{
        for (int i = 0; i < k->region->ncarry; i++) {
                const Buffer *b = carried_buffer(e->plan, k->region, i);
                Dim n = b->type.rank ? b->type.dim[0] : dim_fixed(1);
                for (int a = 1; a < b->type.rank; a++)
                        n = dim_scale(n, b->type.dim[a].fixed);
                text_printf(t, "%s(m->ranks, m->arena + %" PRId64 ", %s%s);\n", function, FLOATS(b->offset),
                            dim_expression(e->arena, e->g, n), more);
        }
}

/* What a stage of ranks gets before its iterations. */
void emit_stage_begin(const Emit *e, const Kernel *k, Text *t)
{
        Text *calls = text_new(e->arena);
        if (!k->staged)
                return;
        emit_carried(e, k, "stage_enter", "", calls);
        text_printf(t, "if (m->ranks && m->ranks->stages > 1) {\n        team_barrier(m->team);\n        if "
                       "(thread == 0) {\n");
        text_indent(t, calls, 2);
        text_printf(t, "        }\n        team_barrier(m->team);\n}\n");
}

/* Is the repeat one behind which outputs may be taken later? */
bool ends_under_way(const Emit *e, const Kernel *k)
{
        return has_under_way(e) && k->staged && !k->part;
}

/* Is any row of the call wanted as output? */
static const char *wants_rows(const Emit *e)
{
        return is_batched(e) ? "m->ranges > 0" : "m->first < m->time";
}

/* What it hands on behind them, and all get of the last one. */
void emit_stage_end(const Emit *e, const Kernel *k, Text *t)
{
        const bool under_way = ends_under_way(e, k);
        Text *leave = text_new(e->arena), *give = text_new(e->arena), *take = text_new(e->arena);
        if (!k->staged)
                return;
        emit_carried(e, k, "stage_leave", "", leave);
        emit_carried(e, k, "stage_give", under_way ? ", m->way == WAY_BEGIN" : ", 0", give);
        emit_carried(e, k, "stage_take", under_way ? ", m->way == WAY_END" : ", 0", take);
        text_printf(t,
                    "if (m->ranks && m->ranks->stages > 1) {\n        team_barrier(m->team);\n        if "
                    "(thread == 0%s) {\n",
                    under_way ? " && m->way != WAY_END" : "");
        text_indent(t, leave, 2);
        text_printf(t, "        }\n        if (thread == 0%s) {\n",
                    k->staged_for_wanted ? arena_printf(e->arena, " && %s", wants_rows(e)) : "");
        if (under_way)
                text_printf(t, "                if (m->way != WAY_END) {\n");
        text_indent(t, give, under_way ? 3 : 2);
        if (under_way)
                text_printf(t, "                }\n                if (m->way != WAY_BEGIN) {\n");
        text_indent(t, take, under_way ? 3 : 2);
        text_printf(t, "%s        }\n        team_barrier(m->team);\n}\n",
                    under_way ? "                }\n" : "");
}

static const char *ranks_by(const Emit *e, const Kernel *k, const char *what)
{
        return arena_printf(e->arena, "ranks_by(m, %s, %s)", dim_expression(e->arena, e->g, k->call_rows),
                            what);
}

/* Behind an iteration, if that is asked for: have ranks the same values? */
void emit_rank_check(const Emit *e, const Kernel *k, Text *t)
{
        Text *calls = text_new(e->arena);
        if (!k->staged || e->alone)
                return;
        emit_carried(e, k, "rank_check",
                     arena_printf(e->arena, ", \"%s\", %s", k->region->name, k->region->name), calls);
        text_printf(t,
                    "        if (m->ranks && m->ranks->check%s) {\n                team_barrier(m->team);\n"
                    "                if (thread == 0) {\n",
                    k->in_rows ? arena_printf(e->arena, " && !%s", ranks_by(e, k, "BY_ROWS")) : "");
        text_indent(t, calls, 3);
        text_printf(t, "                }\n                team_barrier(m->team);\n        }\n");
}

/* Is the kernel, with all behind it, for rows wanted as output alone? */
static bool is_last_tail(const Emit *e, const Kernel *k)
{
        const KernelList *top = &e->plan->list[0];
        bool behind = false, tail = k->tail;
        for (int i = 0; i < top->n; i++) {
                behind |= top->kernel[i] == k;
                if (behind && top->kernel[i]->part == k->part)
                        tail &= top->kernel[i]->tail;
        }
        return behind && tail;
}

/* Before a kernel: rows that it reads, of which each rank made some; or behind it, of outputs. */
void emit_row_gathers(const Emit *e, const Kernel *k, const RowList *rows, bool waits, Text *t)
{
        if (rows->n == 0)
                return;
        text_printf(t, "if (%s%s) {\n        team_barrier(m->team);\n        if (thread == 0) {\n",
                    ranks_by(e, k, "BY_ROWS"),
                    is_last_tail(e, k) ? arena_printf(e->arena, " && %s", wants_rows(e)) : "");
        for (int i = 0; i < rows->n; i++) {
                const SharedRows *r = &rows->of[i];
                const Buffer *b = whole_buffer(r->buffer);
                const char *output = b->home == IN_OUTPUT ? e->g->output[b->index].name : NULL;
                if (output)
                        text_printf(t, "                if (m->output_%s)\n        ", output);
                text_printf(t,
                            "                rank_gather_rows(m->ranks, %s + %" PRId64 ", %s, %" PRId64
                            ", %d);\n",
                            output ? arena_printf(e->arena, "m->output_%s", output) : "m->arena",
                            FLOATS(b->offset) + r->base, dim_expression(e->arena, e->g, r->rows), r->tile,
                            r->whole_tiles);
        }
        text_printf(t, "        }\n%s}\n", waits ? "" : "        team_barrier(m->team);\n");
}

/* What a rank made of a kernel goes to all, when its threads have made it.  waits: all threads wait before the next kernel anyway. */
static void emit_exchange_call(const Emit *e, const Kernel *k, const Text *calls, bool waits, Text *t)
{
        text_printf(t, "if (%s) {\n        team_barrier(m->team);\n        if (thread == 0)\n",
                    k->in_rows ? ranks_by(e, k, "BY_OUTPUTS") : "m->ranks");
        text_indent(t, calls, 2);
        text_printf(t, "%s}\n", waits ? "" : "        team_barrier(m->team);\n");
}

/* Rows of a batch lie one after another: all go at once. */
void emit_exchange(const Emit *e, const Kernel *k, bool waits, Text *t)
{
        Text *calls = text_new(e->arena);
        const bool whole = k->by_sequence && has_whole_sequences(e->plan);
        emit_call_of(e, k, whole ? "sequence" : k->tail ? "range" : NULL, "_exchange", "", calls);
        emit_exchange_call(e, k, calls, waits, t);
}

/* Behind a repeat, or between its two halves: what iterations made together. */
void emit_exchanges_of(const Emit *e, const Kernel *repeat, bool between, bool waits, Text *t)
{
        const KernelList *l = &e->plan->list[body_number(e->plan, repeat->region->body[0])];
        for (int i = 0; i < l->n; i++) {
                const Kernel *k = l->kernel[i];
                Text *calls = text_new(e->arena);
                if ((between ? k->exchange_between : k->exchange_behind) != repeat)
                        continue;
                text_printf(calls, "%s_exchange(m%s);\n", k->name,
                            iteration_parameters(e->arena, repeat->body, false));
                emit_exchange_call(e, k, calls, waits, t);
        }
}

void emit_ranks_by(const Emit *e, Text *c)
{
        if (e->plan->by_rows)
                text_printf(c,
                            "/* The ranks, if they share rows of so many, as they do if each gets 16 of them "
                            "or more; or outputs and heads.  "
                            "Else NULL. */\n"
                            "enum { BY_OUTPUTS, BY_ROWS };\n"
                            "static Ranks *ranks_by(const %s *m, int64_t rows, int what)\n{\n"
                            "        return m->ranks && (rank_tiles(rows) >= m->ranks->ranks) == what ? "
                            "m->ranks : NULL;\n}\n\n",
                            e->name);
}
