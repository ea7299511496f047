/* The program as C: the instance's struct, a function for each body, the order of kernels and barriers; and the program alone,
 * for an engine. */
#include <inttypes.h>
#include <string.h>

#include "emit_private.h"

/* What a slot keeps from call to call. */
static void emit_kept(const Emit *e, Text *c)
{
        text_printf(c, "        struct {\n                int64_t past;\n");
        for (int i = 0; i < e->g->nnamed; i++)
                if (is_kept(e, i))
                        text_printf(c, "                int64_t %s;\n", e->g->named[i].name);
        if (e->plan->ncache)
                text_printf(c, "                int64_t base[%d];\n", e->plan->ncache);
        text_printf(c, "%s        } kept[SLOTS]; /* of the slots, but for the selected one */\n",
                    e->g->fed_separately ? "                uint64_t fed;\n" : "");
}

/* What a call of several sequences adds. */
static void emit_batch_members(const Emit *e, Text *c)
{
        if (is_batched(e))
                text_printf(
                        c,
                        "        int number, sequences; /* of a sequence: which of the call's */\n"
                        "        int64_t before;        /* of a sequence: the rows of those before it */\n"
                        "        %s *sequence;  /* [sequences]: this instance as each of them sees it, with "
                        "its "
                        "own %s */\n",
                        e->name, e->causal ? "state, position and rows" : "size");
        if (is_batched(e) && e->causal)
                text_printf(c,
                            "        int slot, ranges;\n"
                            "        %s *range; /* [ranges]: as kernels see it that compute wanted rows: "
                            "those from "
                            "`first` on */\n",
                            e->name);
        if (has_pages(e))
                text_printf(c, "        const int32_t *page_of; /* of the slot: the page of each block of "
                               "positions */\n");
}

/* Its first members are those of InstanceHead in engine.c. */
void emit_struct(const Emit *e, Text *c)
{
        text_printf(c,
                    "struct %s {\n        const float *weights; /* [WEIGHT_FLOATS] */\n        float *arena, "
                    "*state, *scratch; /* [ARENA_FLOATS], "
                    "[STATE_FLOATS], [threads][SCRATCH] and [PARTS] */\n        Team *team;\n        int "
                    "threads;\n",
                    e->name);
        for (int i = 0; i < e->g->nnamed; i++)
                text_printf(c, "        int64_t %s; /* %s */\n", e->g->named[i].name,
                            e->causal && i == e->g->past   ? "positions taken by earlier calls"
                            : e->causal && i == e->g->time ? "positions in this call"
                                                           : "size in this call");
        if (!e->alone && e->o->tables)
                text_printf(c, "        TokenTables tokens;\n");
        if (has_dense(e->plan))
                text_printf(c, "        int64_t whole, done; /* positions of the caller's whole call; of it, "
                               "those taken */\n");
        text_printf(
                c, "        int64_t first; /* the first position of this call whose outputs are wanted */\n");
        if (e->plan->ranks)
                text_printf(c, "        Ranks *ranks; /* NULL: this process computes all */\n");
        if (has_under_way(e))
                text_printf(c, "        int way; /* of a batch under way: what of the program is run */\n");
        emit_batch_members(e, c);
        for (int i = 0; i < e->g->ninput; i++)
                text_printf(c, "        const %s *input_%s;\n", c_type(&e->g->input[i]), e->g->input[i].name);
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(c, "        float *output_%s;\n", e->g->output[i].name);
        if (e->g->fed_separately)
                text_printf(
                        c,
                        "        uint64_t fed; /* the groups of inputs that are fed separately and have been "
                        "*/\n"
                        "        int fed_part; /* what a run computes: 0: all, 1 ..: a part of what is fed "
                        "apart, -1: the calls' */\n");
        if (e->plan->ncache)
                text_printf(c,
                            "        int64_t base[%d]; /* of each window cache, the first position that its "
                            "states "
                            "hold */\n",
                            e->plan->ncache);
        if (!e->alone)
                text_printf(c, "        Team members;\n        void *mapped;\n        size_t mapped_size;\n");
        if (!e->alone && is_batched(e) && e->causal)
                emit_kept(e, c);
        if (!e->alone)
                emit_under_way_members(e, c);
        if (!e->alone && has_pages(e))
                text_printf(c, "        PageTable page_table;\n");
        text_printf(c,
                    "};\n\n/* What a function that a kernel calls back finds behind its context. */\ntypedef "
                    "struct {\n        const %s *m;\n        int64_t iteration[8];\n        int64_t around; "
                    "/* of "
                    "a product: which turn of the loops around it */\n%s} Place;\n\n",
                    e->name, e->plan->by_rows ? "        int64_t first; /* the rank's first row */\n" : "");
}

static void emit_calls(const Emit *e, int body, uint64_t part, Text *t);

static const char *body_name(const Emit *e, const Region *r, int which)
{
        return r->nbody > 1 ? arena_printf(e->arena, "%s_body_%d", r->name, which)
                            : arena_printf(e->arena, "%s_body", r->name);
}

/* The rows that an iteration changes, where its kernels compute just these. */
static const char *body_rows(const Emit *e, const Body *b, bool types)
{
        const KernelList *l = &e->plan->list[body_number(e->plan, b)];
        return l->n ? row_parameters(l->kernel[l->n - 1], types) : "";
}

/* rest: behind a fission */
static void emit_iterations(const Emit *e, const Kernel *k, bool rest, Text *t)
{
        const Region *r = k->region;
        const char *outer = iteration_parameters(e->arena, k->body, false);
        if (k->staged)
                text_printf(t,
                            "for (int64_t %s = stage_share(m->ranks, %" PRId64
                            ", 0); %s < stage_share(m->ranks, %" PRId64 ", 1); %s++) {\n",
                            r->name, r->iterations, r->name, r->iterations, r->name);
        else
                text_printf(t, "for (int64_t %s = 0; %s < %" PRId64 "; %s++) {\n", r->name, r->name,
                            r->iterations, r->name);
        if (k->active_rows)
                text_printf(t,
                            "        int32_t active[%" PRId64
                            "];\n        const int64_t count = %s(m%s, %s, active);\n"
                            "        if (count == 0)\n                continue;\n",
                            k->active_rows->most_active, k->active_rows->name, outer, r->name);
        for (int b = 0; b < r->nbody; b++) {
                if (r->nbody > 1)
                        text_printf(t, "        if (%s_body_of[%s] == %d)\n        ", r->name, r->name, b);
                text_printf(t, "        %s%s(m%s, %s%s, thread);\n", body_name(e, r, b), rest ? "_rest" : "",
                            outer, r->name, body_rows(e, r->body[b], false));
        }
        emit_rank_check(e, k, t);
        text_printf(t, "}\n");
}

static void emit_repeat(const Emit *e, const Kernel *k, Text *t)
{
        const Region *r = k->region;
        if (r->nbody > 1) {
                text_printf(t, "static const uint8_t %s_body_of[%" PRId64 "] = {", r->name, r->iterations);
                for (int64_t i = 0; i < r->iterations; i++)
                        text_printf(t, "%s%d", i ? ", " : "", r->body_of[i]);
                text_printf(t, "};\n");
        }
        emit_stage_begin(e, k, t);
        emit_iterations(e, k, false, t);
        if (k->fission) {
                emit_exchanges_of(e, k, true, false, t);
                emit_iterations(e, k, true, t);
        }
}

static bool is_timed(const Plan *p)
{
        return p->timed && p->by_address;
}

/* A call of a kernel's function; views: NULL, or for each sequence or range of a batch. */
void emit_call_of(const Emit *e, const Kernel *k, const char *views, const char *suffix, const char *thread,
                  Text *t)
{
        const char *iterations = iteration_parameters(e->arena, k->body, false),
                   *rows = row_parameters(k, false);
        if (is_batched(e) && views)
                text_printf(t, "for (int i = 0; i < m->%ss; i++)\n        %s%s(&m->%s[i]%s%s%s);\n", views,
                            k->name, suffix, views, iterations, rows, thread);
        else
                text_printf(t, "%s%s(m%s%s%s);\n", k->name, suffix, iterations, rows, thread);
}

static void emit_call(const Emit *e, const Kernel *k, Text *t)
{
        emit_call_of(e, k, k->by_sequence ? "sequence" : k->tail ? "range" : NULL, "", ", thread", t);
}

static void emit_barrier(const Emit *e, const Kernel *k, Text *t)
{
        if (!k->barrier)
                return;
        if (!(k->barrier & WAIT_STEP))
                text_printf(t, "if (%s != 1)\n        ", call_rows(e->plan));
        else if (!(k->barrier & WAIT_HEADS))
                text_printf(t, "if (%s != 1 || %" PRId64 " %% m->threads != 0%s)\n        ",
                            call_rows(e->plan), e->plan->heads, e->plan->ranks ? " || m->ranks" : "");
        text_printf(t, "team_barrier(m->team);\n");
}

/* Do threads of a rank wait before the kernel behind this one, in calls of any size? */
static bool next_waits(const KernelList *l, int i)
{
        const Kernel *next = i + 1 < l->n ? l->kernel[i + 1] : NULL;
        return next && next->part == l->kernel[i]->part && next->barrier & WAIT_STEP;
}

/* What stands before outputs are taken. */
static Text *unless_ending(const Emit *e, const Text *calls)
{
        Text *t = text_new(e->arena);
        text_printf(t, "if (m->way != WAY_END) {\n");
        text_indent(t, calls, 1);
        text_printf(t, "}\n");
        return t;
}

static void emit_calls_of(const Emit *e, int body, int begin, int end, uint64_t part, Text *out)
{
        const KernelList *l = &e->plan->list[body];
        Text *t = text_new(e->arena);
        for (int i = begin; i < end; i++) {
                const Kernel *k = l->kernel[i];
                if (k->part != part)
                        continue;
                emit_row_gathers(e, k, &k->gather_before, k->barrier, t);
                emit_barrier(e, k, t);
                if (k->op == K_REPEAT)
                        emit_repeat(e, k, t);
                else if (k->op != K_ACTIVE)
                        emit_call(e, k, t);
                if (ends_under_way(e, k))
                        t = unless_ending(e, t);
                if (k->staged)
                        emit_stage_end(e, k, t);
                if (ends_under_way(e, k))
                        text_printf(t, "if (m->way == WAY_BEGIN)\n        return;\n");
                if (is_exchanged(k) && !k->exchange_behind && !k->exchange_between)
                        emit_exchange(e, k, next_waits(l, i), t);
                if (k->op == K_REPEAT)
                        emit_exchanges_of(e, k, false, next_waits(l, i), t);
                emit_row_gathers(e, k, &k->gather_behind, next_waits(l, i), t);
                if (is_timed(e->plan) && k->op != K_REPEAT)
                        text_printf(t, "if (thread == 0)\n        profile_mark(%d);\n", k->step);
        }
        text_put(out, t->data);
}

static void emit_calls(const Emit *e, int body, uint64_t part, Text *out)
{
        emit_calls_of(e, body, 0, e->plan->list[body].n, part, out);
}

/* Kernels of a repeat's body, from `begin` on. */
static void emit_body_function(const Emit *e, const Region *r, int b, const char *suffix, int begin, int end,
                               Text *c)
{
        Text *calls = text_new(e->arena);
        emit_calls_of(e, body_number(e->plan, r->body[b]), begin, end, 0, calls);
        text_printf(c, "static void %s%s(const %s *m%s%s, int thread)\n{\n", body_name(e, r, b), suffix,
                    e->name, iteration_parameters(e->arena, r->body[b], true),
                    body_rows(e, r->body[b], true));
        text_indent(c, calls, 1);
        text_printf(c, "}\n\n");
}

/* Inner bodies before the ones that run them; kernels before their body. */
static void emit_body(const Emit *e, int body, Text *c)
{
        Plan *p = e->plan;
        for (int i = 0; i < p->list[body].n; i++) {
                Kernel *k = p->list[body].kernel[i];
                if (k->op != K_REPEAT) {
                        print_kernel(p, k, c);
                        continue;
                }
                for (int b = 0; b < k->region->nbody; b++) {
                        const int inner = body_number(p, k->region->body[b]), all = p->list[inner].n;
                        emit_body(e, inner, c);
                        emit_body_function(e, k->region, b, "", 0, k->fission ? k->fission : all, c);
                        if (k->fission)
                                emit_body_function(e, k->region, b, "_rest", k->fission, all, c);
                }
        }
}

static bool any_asks_for_taps(const Plan *p)
{
        for (int i = 0; i < p->nbody; i++)
                for (int j = 0; j < p->list[i].n; j++)
                        if (asks_for_taps(p, p->list[i].kernel[j]))
                                return true;
        return false;
}

static void emit_wants_taps(const Emit *e, Text *c)
{
        if (!any_asks_for_taps(e->plan))
                return;
        Text *any = text_new(e->arena);
        for (int i = 0; i < e->g->noutput; i++)
                if (e->g->output[i].tap)
                        text_printf(any, "%sm->output_%s != NULL", any->n ? " || " : "",
                                    e->g->output[i].name);
        text_printf(c, "static int wants_taps(const %s *m)\n{\n        return %s;\n}\n\n", e->name,
                    any->data);
}

/* "source and picture" */
static const char *names_of_groups(const Emit *e, uint64_t groups)
{
        const char *names = "";
        for (int i = 0; i < e->g->ngroup; i++)
                if (groups >> i & 1)
                        names = arena_printf(e->arena, "%s%s%s", names, *names ? " and " : "",
                                             group_name(e, i));
        return names;
}

/* Does an epilogue look up the sequence of its row? */
static bool any_looks_up(const Plan *p)
{
        for (int i = 0; i < p->nbody; i++)
                for (int j = 0; j < p->list[i].n; j++)
                        if (p->list[i].kernel[j]->by_row)
                                return true;
        return false;
}

void emit_program(const Emit *e, Text *c)
{
        emit_ranks_by(e, c);
        emit_ways(e, c);
        emit_wants_taps(e, c);
        if (any_looks_up(e->plan))
                emit_sequence_of(e, c);
        emit_body(e, 0, c);
        Text *calls = text_new(e->arena);
        if (is_timed(e->plan))
                text_printf(calls, "if (thread == 0)\n        profile_mark(-1);\n");
        for (int i = 0; i < e->g->npart; i++) {
                Text *part = text_new(e->arena);
                emit_calls(e, 0, e->g->part[i], part);
                text_printf(
                        c,
                        "/* What depends on %s alone. */\nstatic void part_%d(const %s *m, int thread)\n{\n",
                        names_of_groups(e, e->g->part[i]), i + 1, e->name);
                text_indent(c, part, 1);
                text_printf(c, "}\n\n");
                text_printf(
                        calls,
                        "if (m->fed_part == 0 || m->fed_part == %d) {\n        part_%d(m, thread);\n        "
                        "team_barrier(m->team);\n}\n",
                        i + 1, i + 1);
        }
        if (e->g->npart)
                text_printf(calls, "if (m->fed_part > 0)\n        return;\n");
        emit_calls(e, 0, 0, calls);
        text_printf(
                c,
                "/* One call of the model, run by every thread: each kernel does its thread's share. */\n");
        text_printf(c, "static void program(void *arg, int thread)\n{\n        const %s *m = arg;\n",
                    e->name);
        text_indent(c, calls, 1);
        text_printf(c, "}\n\n");
}

/* --- for an engine ---------------------------------------------------------------------------------------- */

int64_t scratch_size(const Plan *p)
{
        int64_t most = LANES;
        for (int i = 0; i < p->nbody; i++)
                for (int k = 0; k < p->list[i].n; k++)
                        if (p->list[i].kernel[k]->scratch > most)
                                most = p->list[i].kernel[k]->scratch;
        return round_up(most, LANES);
}

int64_t parts_size(const Plan *p)
{
        int64_t most = 0;
        for (int i = 0; i < p->nbody; i++)
                for (int k = 0; k < p->list[i].n; k++)
                        if (p->list[i].kernel[k]->parts > most)
                                most = p->list[i].kernel[k]->parts;
        return round_up(most, LANES);
}

/* Where an engine finds what it sets before a call: see emit.h. */
static void emit_instance_layout(const Emit *e, Text *c)
{
        text_printf(c, "const int64_t lathe_instance[] = {sizeof(%s), offsetof(%s, first)", e->name, e->name);
        const char *whole = has_dense(e->plan) ? "offsetof(%s, whole), offsetof(%s, done)" : "-1, -1";
        text_printf(c, ", ");
        text_printf(c, whole, e->name, e->name);
        text_printf(c, e->g->fed_separately ? ", offsetof(%s, fed_part)" : ", -1", e->name);
        for (int i = 0; i < 7; i++) {
                static const struct {
                        const char *name;
                        bool causal;
                } member[] = {{"slot", true},  {"sequences", false}, {"ranges", true}, {"sequence", false},
                              {"range", true}, {"number", false},    {"before", false}};
                bool has = is_batched(e) && (e->causal || !member[i].causal);
                text_printf(c, has ? ", offsetof(%s, %s)" : ", -1", e->name, member[i].name);
        }
        text_printf(c, has_pages(e) ? ", offsetof(%s, page_of)" : ", -1", e->name);
        text_printf(c, e->plan->ncache ? ", offsetof(%s, base)" : ", -1", e->name);
        text_printf(c, e->plan->ranks ? ", offsetof(%s, ranks)" : ", -1", e->name);
        for (int i = 0; i < e->g->nnamed; i++)
                text_printf(c, ", offsetof(%s, %s)", e->name, e->g->named[i].name);
        for (int i = 0; i < e->g->ninput; i++)
                text_printf(c, ", offsetof(%s, input_%s)", e->name, e->g->input[i].name);
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(c, ", offsetof(%s, output_%s)", e->name, e->g->output[i].name);
        text_printf(c,
                    "};\n\nvoid lathe_program(void *arg, int thread)\n{\n        program(arg, thread);\n}\n");
}

void emit_program_alone(Plan *p, const char *given, Text *c)
{
        Emit e = emit_new(p, NULL);
        e.alone = true;
        p->by_address = given != NULL;
        Text *user = text_new(e.arena);
        text_printf(user, "typedef struct %s %s;\n", e.name, e.name);
        emit_struct(&e, user);
        emit_program(&e, user);
        emit_instance_layout(&e, user);
        if (given) {
                text_put(c, given);
        } else {
                text_printf(c, "#define _POSIX_C_SOURCE 200809L\n#include <stddef.h>\n#include <stdint.h>\n");
                emit_guard_macros(&e, c);
        }
        text_printf(c, "#define SCRATCH ((int64_t)%" PRId64 ")\n\n", scratch_size(p));
        emit_tile(p, p->target, c);
        const char *all[] = {"guard.h", "team.h", KERNEL_FILES(p->target), "pages.h", "rank_link.h",
                             "ranks.h", NULL},
                   *types[] = {"rows.h",        "kept.h",      "tile.h", "matmul.h",
                               "contraction.h", "attention.h", "scan.h", "pages.h",
                               "rank_link.h",   "ranks.h",     NULL};
        paste_runtime(c, given ? types : all, given, user->data);
        text_put(c, user->data);
        p->by_address = false;
}
