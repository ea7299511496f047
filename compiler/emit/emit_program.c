/* The program as C: the instance's struct, a function for each body, the order of kernels and barriers;
 * and only the program, for an engine. */
#include <inttypes.h>
#include <string.h>

#include "emit_private.h"

/* Members that a slot keeps between calls. */
static void emit_kept(const Emit *e, Text *c)
{
        text_printf(c, "        struct {\n                int64_t past;\n");
        for (int i = 0; i < e->g->nnamed; i++)
                if (size_is_kept(e, i))
                        text_printf(c, "                int64_t %s;\n", e->g->named[i].name);
        if (e->plan->windows.n)
                text_printf(c, "                int64_t base[%d];\n", e->plan->windows.n);
        if (keeps_ring(e->plan))
                text_printf(c, "                int64_t furthest;\n");
        text_printf(c, "%s        } kept[SLOTS]; /* of all slots except the selected one */\n",
                    e->g->fed_separately ? "                uint64_t fed;\n" : "");
}

typedef struct {
        const char *name, *type, *array, *about;
        bool has;
} InstanceMember;

/* Members of instance.def, in order, NULL at the end. */
static const InstanceMember *instance_members(const Emit *e)
{
        const InstanceMember all[] = {
#define MEMBER(name, type, array, has, about) {#name, #type, #array, about, has},
#include "instance.def"
#undef MEMBER
                {.name = NULL}};
        InstanceMember *copy = NEW_ARRAY(e->arena, InstanceMember, sizeof all / sizeof *all);
        memcpy(copy, all, sizeof all);
        return copy;
}

/* `int64_t first; / * .. * /`; a member that the program lacks gets a name that no size has. */
static void emit_member(const Emit *e, Text *c, const InstanceMember *m)
{
        const bool view = !strcmp(m->type, "INSTANCE *"), pointer = strchr(m->type, '*') != NULL;
        text_printf(c, "        %s%s%s%s",
                    !m->has && pointer ? "const void *"
                    : view             ? arena_printf(e->arena, "%s *", e->name)
                                       : m->type,
                    pointer ? "" : " ", m->has ? "" : "lathe_no_", m->name);
        if (*m->array)
                text_printf(c, "[%d]", e->alone ? MAX_CACHES : e->plan->windows.n);
        text_printf(c, "; /* %s */\n", m->about);
}

/* For an engine it is an EngineInstance (run/jit_private.h). */
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
                            i == e->g->past                      ? "positions taken by earlier calls"
                            : e->g->past >= 0 && i == e->g->time ? "positions in this call"
                                                                 : "size in this call");
        if (e->alone)
                text_printf(c, "        int64_t lathe_sizes[%d];\n        const void *lathe_interpreter;\n",
                            MAX_NAMED - e->g->nnamed);
        if (!e->alone && e->o->tables)
                text_printf(c, "        TokenTables tokens;\n");
        for (const InstanceMember *m = instance_members(e); m->name; m++)
                if (m->has || e->alone)
                        emit_member(e, c, m);
        for (int i = 0; i < e->g->ninput; i++)
                text_printf(c, "        const %s *input_%s;\n", c_type(&e->g->input[i]), e->g->input[i].name);
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(c, "        float *output_%s;\n", e->g->output[i].name);
        if (!e->alone && stores_rows(e))
                text_printf(c, "        %s_rows stored; /* by generation */\n", e->name);
        if (!e->alone && e->g->fed_separately)
                text_printf(c, "        uint64_t fed; /* bit set of the input groups that have been "
                               "fed */\n");
        if (!e->alone)
                text_printf(c, "        Team members;\n");
        if (!e->alone && !is_freestanding(e))
                text_printf(c, "        void *own_memory; /* allocated by %s_new */\n", e->name);
        if (!e->alone && e->o->home == WEIGHTS_MAPPED)
                text_printf(c, "        void *mapped;\n        size_t mapped_size;\n");
        if (!e->alone && is_batched(e) && e->causal)
                emit_kept(e, c);
        if (!e->alone)
                emit_under_way_members(e, c);
        if (!e->alone && has_pages(e))
                text_printf(c, "        PageTable page_table;\n");
        text_printf(c,
                    "};\n\n/* Context passed to a kernel's callbacks. */\ntypedef "
                    "struct {\n        const %s *m;\n        int64_t iteration[8];\n        int64_t around; "
                    "/* of "
                    "a product: iteration of the loops around it */\n%s} Place;\n\n",
                    e->name,
                    e->plan->sharing.by_rows ? "        int64_t first; /* the rank's first row */\n" : "");
}

/* --- for an engine ---------------------------------------------------------------------------------------- */

int64_t scratch_size(const Plan *p)
{
        int64_t most = LANES;
        for (int i = 0; i < p->all.n; i++)
                if (p->all.kernel[i]->scratch.thread > most)
                        most = p->all.kernel[i]->scratch.thread;
        return round_up(most, LANES);
}

int64_t parts_size(const Plan *p)
{
        int64_t most = 0;
        for (int i = 0; i < p->all.n; i++)
                if (p->all.kernel[i]->scratch.all > most)
                        most = p->all.kernel[i]->scratch.all;
        return round_up(most, LANES);
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
        text_printf(user, "void lathe_program(void *arg, int thread)\n{\n        program(arg, thread);\n}\n");
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
                   *types[] = {"rows.h",
                               "kept.h",
                               "tile.h",
                               "matmul.h",
                               "contraction_call.h",
                               "attention_call.h",
                               "scan_state.h",
                               "pages.h",
                               "rank_link.h",
                               "ranks.h",
                               NULL};
        paste_runtime(c, given ? types : all, given ? all_facts : e.facts, given, user->data);
        text_put(c, user->data + states);
        p->by_address = false;
}
