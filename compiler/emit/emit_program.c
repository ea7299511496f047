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
                if (size_is_kept(e, i))
                        text_printf(c, "                int64_t %s;\n", e->g->named[i].name);
        if (e->plan->windows.n)
                text_printf(c, "                int64_t base[%d];\n", e->plan->windows.n);
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
                    "[STATE_FLOATS], [threads][SCRATCH]%s */\n        Team *team;\n        int "
                    "threads;\n",
                    e->name, parts_size(e->plan) ? " and [PARTS]" : "");
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
        if (e->plan->sharing.ranks)
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
        if (e->plan->windows.n)
                text_printf(c,
                            "        int64_t base[%d]; /* of each window cache, the first position that its "
                            "states "
                            "hold */\n",
                            e->plan->windows.n);
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
                    e->name,
                    e->plan->sharing.by_rows ? "        int64_t first; /* the rank's first row */\n" : "");
}

/* --- for an engine ---------------------------------------------------------------------------------------- */

int64_t scratch_size(const Plan *p)
{
        int64_t most = LANES;
        for (int i = 0; i < p->nbody; i++)
                for (int k = 0; k < p->list[i].n; k++)
                        if (p->list[i].kernel[k]->scratch.thread > most)
                                most = p->list[i].kernel[k]->scratch.thread;
        return round_up(most, LANES);
}

int64_t parts_size(const Plan *p)
{
        int64_t most = 0;
        for (int i = 0; i < p->nbody; i++)
                for (int k = 0; k < p->list[i].n; k++)
                        if (p->list[i].kernel[k]->scratch.all > most)
                                most = p->list[i].kernel[k]->scratch.all;
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
        text_printf(c, e->plan->windows.n ? ", offsetof(%s, base)" : ", -1", e->name);
        text_printf(c, e->plan->sharing.ranks ? ", offsetof(%s, ranks)" : ", -1", e->name);
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
        emit_states(p, user);
        const int64_t states = user->n;
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
        text_add(c, user->data, states);
        const char *all[] = {"guard.h", "team.h", KERNEL_FILES(p->target), "pages.h", "rank_link.h",
                             "ranks.h", NULL},
                   *types[] = {"rows.h",        "kept.h",      "tile.h", "matmul.h",
                               "contraction.h", "attention.h", "scan.h", "pages.h",
                               "rank_link.h",   "ranks.h",     NULL};
        paste_runtime(c, given ? types : all, given ? all_facts : e.facts, given, user->data);
        text_put(c, user->data + states);
        p->by_address = false;
}
