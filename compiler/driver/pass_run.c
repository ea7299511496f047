/* Runs the table of passes (passes.def): those over graphs for model_passes(), the others for
 * model_plan().
 *
 * Before each pass its required properties are asserted, and after it those that are cheap to check.  A
 * pass in the wrong order aborts with a message that names it and the property.  Every graph is verified. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* --- properties --------------------------------------------------------------------------------------------------- */

static const struct {
        const char *name, *about;
} property_table[] = {
#define PROPERTY(name, about) {#name, about},
#include "passes/properties.def"
#undef PROPERTY
};

/* Names in the columns of passes.def. */
enum {
#define PROPERTY(name, about) name = 1 << PROPERTY_##name,
#include "passes/properties.def"
#undef PROPERTY
};

const PassInfo pass_table[PASS_COUNT] = {
#define PASS(name, kind, off, sums, needs, makes, breaks, about)                                             \
        {#name, about, kind, off, sums, needs, makes, breaks},
#include "passes/passes.def"
#undef PASS
};

/* False: a quick check shows that the graph or plan lacks the property. */
static bool property_may_hold(const PassRun *r, PropertyId id)
{
        const Graph *g = r->m->graph;
        switch (id) {
        case PROPERTY_MERGEABLE: return !g->npart;
        case PROPERTY_WHOLE: return g->past < 0;
        case PROPERTY_TOGETHER: return !g->stands_for;
        case PROPERTY_WANTED: return g->nwanted == g->nnode;
        case PROPERTY_FUSED: return r->p->list;
        case PROPERTY_BATCHED: return !r->p->alone;
        case PROPERTY_PLACED: return r->p->steps > 0 || !r->p->list[0].n;
        case PROPERTY_SCHEDULED: return r->p->program;
        default: return true;
        }
}

static _Noreturn void property_fails(const PassRun *r, PassId at, const char *why, PropertyId id)
{
        fflush(stdout);
        fprintf(stderr, "lathe: model %s, pass %s: %s %s (%s);", r->m->graph->name, pass_table[at].name, why,
                property_table[id].name, property_table[id].about);
        for (PassId pass = 0; pass < PASS_COUNT; pass++)
                if ((pass_table[pass].makes | pass_table[pass].breaks) >> id & 1)
                        fprintf(stderr, " %s %s it", pass_table[pass].name,
                                pass_table[pass].makes >> id & 1 ? "makes" : "breaks");
        fputc('\n', stderr);
        abort();
}

static void passes_require(const PassRun *r, PassId at, const char *why, uint32_t needs)
{
        for (PropertyId id = 0; id < PROPERTIES; id++)
                if ((needs & ~r->properties) >> id & 1)
                        property_fails(r, at, why, id);
}

/* --- passes of the driver ------------------------------------------------------------------------------------------- */

static bool pass_changes(PassRun *r, bool changed)
{
        r->changed = changed;
        return true;
}

static bool pass_mixture(PassRun *r)
{
        r->changed = false; /* splitting does not change the graph's meaning */
        return split_storages(r->m, r->o);
}

static bool pass_simplify(PassRun *r)
{
        r->m->graph = simplify(r->m->graph);
        return true;
}

static bool pass_recognise(PassRun *r)
{
        r->m->graph = recognise(r->m->graph);
        return true;
}

static bool pass_stage(PassRun *r)
{
        r->m->graph = hoist(r->m->graph);
        return true;
}

/* The report of both passes about recurrences. */
static Text *recurrences_said(Model *m)
{
        if (!m->recurrences)
                m->recurrences = text_new(&m->arena);
        return m->recurrences;
}

static bool pass_lift(PassRun *r)
{
        return pass_changes(r, lift(r->m->graph, recurrences_said(r->m)));
}

static bool pass_sums(PassRun *r)
{
        return pass_changes(r, join_sums(r->m->graph));
}

static bool pass_absorb(PassRun *r)
{
        const int time = growing_dimension(r->m->graph);
        r->m->absorbed = (AbsorbLines){0};
        return pass_changes(r, time >= 0 && move_products(r->m->graph, time, &r->m->absorbed));
}

static bool pass_slices(PassRun *r)
{
        const int time = growing_dimension(r->m->graph);
        return pass_changes(r, time >= 0 && slice_joins(r->m->graph, time));
}

static bool pass_recur(PassRun *r)
{
        Graph *g = r->m->graph;
        int time = growing_dimension(g);
        return pass_changes(r, time >= 0 && recur(g, time, recurrences_said(r->m)));
}

static bool pass_causal(PassRun *r)
{
        Graph *steps = NULL;
        bool good = make_causal(r->m, &steps);
        r->changed = steps != NULL;
        r->m->graph = steps ? steps : r->m->graph;
        r->m->changed[PASS_fronts] = steps && !r->o->off[PASS_fronts] && fronts(steps);
        return good;
}

static bool pass_accumulate(PassRun *r)
{
        return pass_changes(r, accumulate(r->m->graph));
}

static bool pass_phases(PassRun *r)
{
        return pass_changes(r, phases(r->m->graph));
}

/* Bounds of integers may be wider than those of the elaborated graph. */
static bool pass_wide(PassRun *r)
{
        bool good = integers_check(r->m->graph, &r->m->diag);
        diag_print(&r->m->diag, stderr);
        r->changed = good && wide_operands_as_reals(r->m->graph);
        return good;
}

static bool pass_masks(PassRun *r)
{
        return pass_changes(r, !r->o->off[PASS_fuse] && masked_weights(r->m->graph));
}

static bool pass_scores(PassRun *r)
{
        return pass_changes(r, !r->o->off[PASS_fuse] && separate_scores(r->m->graph));
}

static bool pass_chosen(PassRun *r)
{
        return pass_changes(r, !r->o->off[PASS_fuse] && chosen_keys(r->m->graph));
}

static bool pass_taps(PassRun *r)
{
        return pass_changes(r, separate_taps(r->m->graph));
}

static bool pass_states(PassRun *r)
{
        keep_keys_values(r->m->graph, r->o->kv);
        return true;
}

static bool pass_heads(PassRun *r)
{
        return pass_changes(r, ranks_of(r->o) && separate_heads(r->m->graph));
}

static bool pass_operands(PassRun *r)
{
        return pass_changes(r, !r->o->off[PASS_fuse] && separate_operands(r->m->graph));
}

static bool pass_wanted(PassRun *r)
{
        find_wanted(r->m->graph);
        return true;
}

static bool pass_storage(PassRun *r)
{
        return settle_storage(r->m, r->o);
}

static bool pass_tune(PassRun *r)
{
        return !r->o->tune || tune(r->m, r->o, r->p);
}

/* --- all of them ------------------------------------------------------------------------------------------------------ */

#define PASS(name, kind, ...) RUN_##kind(name)
#define RUN_GRAPHS(name) [PASS_##name] = pass_##name,
#define RUN_PLANNING(name) RUN_GRAPHS(name)
#define RUN_PART(name)
#define RUN_KERNELS(name)
static bool (*const of_driver[PASS_COUNT])(PassRun *r) = {
#include "passes/passes.def"
};
#undef RUN_GRAPHS
#undef RUN_KERNELS
#define RUN_GRAPHS(name)
#define RUN_KERNELS(name) [PASS_##name] = pass_##name,
#undef RUN_PLANNING
#define RUN_PLANNING(name)
static bool (*const over_kernels[PASS_COUNT])(Plan *p, Diag *diag) = {
#include "passes/passes.def"
};
#undef PASS

/* Prints the result of a pass; for passes over kernels, the plan is printed after the last one. */
static void pass_dump(const PassRun *r, PassId pass)
{
        if (!r->o->dump[pass])
                return;
        if (!(r->properties & FUSED))
                graph_dump(stdout, r->m->graph);
        else if (pass == PASS_lower)
                dump_code(stdout, r->p);
}

/* Restores the properties of the graph that the pass broke. */
static void pass_restore(PassRun *r, const char *name, uint32_t lost)
{
        Graph *g = r->m->graph;
        if (lost & SIMPLE && r->properties & MERGEABLE && !r->o->off[PASS_simplify]) {
                r->m->graph = g = simplify(g);
                verify(g, arena_printf(&r->m->arena, "simplify after %s", name));
                r->properties |= SIMPLE;
        }
        if (lost & WANTED) {
                find_wanted(g);
                r->properties |= WANTED;
        }
}

static bool pass_run(PassRun *r, PassId pass)
{
        const PassInfo *info = &pass_table[pass];
        passes_require(r, pass, "it needs", info->needs);
        const uint32_t had = r->properties;
        r->changed = true;
        if (of_driver[pass] ? !of_driver[pass](r) : !over_kernels[pass](r->p, &r->m->diag))
                return false;
        r->properties &= r->changed ? ~info->breaks : ~UINT32_C(0);
        r->properties |= info->makes;
        r->m->changed[pass] = r->changed;
        if (info->kind == GRAPHS)
                verify(r->m->graph, info->name);
        pass_dump(r, pass);
        pass_restore(r, info->name, had & ~r->properties);
        for (PropertyId id = 0; id < PROPERTIES; id++)
                if (r->properties >> id & 1 && !property_may_hold(r, id))
                        property_fails(r, pass, "after it the model lacks", id);
        return true;
}

bool passes_run(PassRun *r, PassId first, PassId last)
{
        memset(r->m->changed + first, 0, (size_t)(last - first + 1));
        for (PassId pass = first; pass <= last; pass++) {
                if (pass_table[pass].kind == PART)
                        pass_dump(r, pass);
                else if (!(pass_table[pass].kind == GRAPHS && r->o->off[pass]) && !pass_run(r, pass))
                        return false;
        }
        if (last == PASS_sync)
                passes_require(r, last, "after it code needs", TILED | FITS | SYNCED);
        return true;
}
