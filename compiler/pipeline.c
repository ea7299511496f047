/* The pipeline: from a file to a graph, through the passes, to a plan.  Reads as the story it is.
 *
 *   parse, elaborate ─► graph ─ simplify ─ stage ─ causal ─ entries ─► graph ─ fuse ─ tile ─ plan ─ sync ─► plan */
#include <stdio.h>
#include <string.h>

#include "causal.h"
#include "driver.h"
#include "entries.h"
#include "formula.h"
#include "gate.h"
#include "incremental.h"
#include "parse.h"
#include "paste.h"
#include "stage.h"
#include "taps.h"

const PassInfo pass_table[] = {
        {"simplify", "constants, common subexpressions, dead code, exact algebra", true},
        {"stage", "what does not depend on the trip leaves its repeat; tables of what no input decides",
         true},
        {"causal",
         "the proof that position i reads positions up to i, and the form with explicit state: "
         "prefill and step",
         true},
        {"accumulate", "a sum over what a repeat stacks is carried from trip to trip", true},
        {"entries", "what depends on inputs that are fed apart alone is computed when they are fed, and kept",
         true},
        {"fuse", "kernels: attention, products with formulas, merged products, row regions", true},
        {"choose", "trips, and rows of them, that a mask's zeros make idle are not run", false},
        {"ring", "states that are read within a window hold that and not the whole context", false},
        {"tile", "how each product is blocked for the target's registers and caches", false},
        {"plan", "where every buffer lies in the arena", false},
        {"sync", "the barriers that the data flow needs", false},
};
const int pass_count = sizeof pass_table / sizeof pass_table[0];

static bool is_dumped(const Options *o, const char *pass)
{
        for (int i = 0; i < o->ndump; i++)
                if (!strcmp(o->dump[i], pass))
                        return true;
        return false;
}

static void after_pass(const Graph *g, const Options *o, const char *pass)
{
        verify(g, pass);
        if (is_dumped(o, pass))
                graph_dump(stdout, g);
}

bool model_open(Model *m, const char *path, int *code)
{
        const char *why = NULL;
        const Source *given = NULL;
        *m = (Model){0};
        m->names.arena = m->diag.arena = &m->arena;
        *code = WRONG_ENVIRONMENT;
        given = read_source(&m->arena, path, &why);
        if (!given) {
                fprintf(stderr, "lathe: can't read %s: %s\n", path, why);
                return false;
        }
        *code = WRONG_INPUT;
        m->program = program_load(&m->arena, &m->names, &m->diag, path, given);
        diag_print(&m->diag, stderr);
        return m->program && !m->diag.count;
}

bool model_elaborate(Model *m, const Options *o, const char *which)
{
        m->not_causal = NULL;
        m->graph = m->oracle = elaborate_model(m->program, which, o->override, o->noverride, &m->diag);
        diag_print(&m->diag, stderr);
        if (!m->graph || m->diag.count)
                return false;
        const char *why;
        for (int i = 0; i < o->ntap; i++)
                if (!taps_add(m->graph, o->tap[i], &why)) {
                        fprintf(stderr, "lathe: %s\n", why);
                        return false;
                }
        verify(m->graph, "elaborate");
        return true;
}

bool model_load(Model *m, const Options *o, int *code)
{
        *m = (Model){0};
        *code = WRONG_USAGE;
        if (o->nfile < 1) {
                fprintf(stderr, "lathe: which model? give a .model file\n");
                return false;
        }
        return model_open(m, o->file[0], code) && model_elaborate(m, o, o->model);
}

void model_free(Model *m)
{
        arena_free(&m->arena);
}

static bool refuse_tap(Model *m, const Output *o, const char *why)
{
        diag_error(&m->diag, o->span, "%s of a causal model can't be given position by position: %s", o->tap,
                   why);
        note_instances(&m->diag, o->node->where);
        diag_print(&m->diag, stderr);
        return false;
}

bool model_passes(Model *m, const Options *o)
{
        if (!is_off(o, "simplify")) {
                m->graph = simplify(m->graph);
                after_pass(m->graph, o, "simplify");
        }
        if (!is_off(o, "stage")) {
                m->graph = hoist(m->graph);
                after_pass(m->graph, o, "stage");
        }
        int time = growing_dimension(m->graph);
        if (time >= 0 && !is_off(o, "causal")) {
                CausalResult proof = causal_prove(&m->arena, m->graph, time);
                Node *stuck = (Node *)proof.culprit;
                if (proof.causal && proof.tap_why)
                        return refuse_tap(m, &m->graph->output[proof.output], proof.tap_why);
                Graph *steps = proof.causal ? incremental(m->graph, time, &stuck) : NULL;
                m->not_causal = steps ? NULL : stuck;
                m->why_not = proof.causal ? "its state can't be made explicit" : proof.why;
                const Output *last = m->graph->noutput ? &m->graph->output[m->graph->noutput - 1] : NULL;
                if (proof.causal && !steps && last && last->tap)
                        return refuse_tap(m, last, m->why_not);
                if (steps) {
                        m->graph = steps;
                        after_pass(m->graph, o, "causal");
                        if (!is_off(o, "simplify"))
                                m->graph = simplify(m->graph);
                        verify(m->graph, "simplify after causal");
                }
        }
        if (!is_off(o, "accumulate")) {
                m->graph = accumulate(m->graph);
                if (!is_off(o, "simplify"))
                        m->graph = simplify(m->graph);
                after_pass(m->graph, o, "accumulate");
        }
        if (!is_off(o,
                    "entries")) { /* the last: what parts share is in each of them, and must not be made one */
                m->graph = entries(m->graph);
                after_pass(m->graph, o, "entries");
        }
        taps_apart(m->graph);
        verify(m->graph, "taps apart");
        for (int i = 0; i < m->graph->nloop; i++) {
                const Loop *l = &m->graph->loop[i];
                if (strcmp(l->name, "generate") || m->graph->past >= 0 || is_off(o, "causal"))
                        continue;
                diag_error(&m->diag, l->span, "loop generate wants a causal model, and %s is not",
                           m->graph->name);
                if (m->not_causal) {
                        diag_note(&m->diag, m->not_causal->span, "%s", m->why_not);
                        note_instances(&m->diag, m->not_causal->where);
                }
                diag_print(&m->diag, stderr);
                return false;
        }
        return true;
}

/* Does the runtime's text use the word for something of its own? */
static bool is_runtime_word(const char *name)
{
        for (const EmbeddedFile *f = embedded_file; f->name; f++)
                if (uses_name(f->text, name))
                        return true;
        return false;
}

/* "stories-15m" -> "stories_15m"; "t" -> "t_model", which no variable of the runtime hides */
static const char *c_identifier(Arena *a, const char *name)
{
        char *id = arena_strdup(a, name);
        for (char *c = id; *c; c++)
                if (!(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z') && !(*c >= '0' && *c <= '9'))
                        *c = '_';
        if (*id >= '0' && *id <= '9')
                return arena_printf(a, "model_%s", id);
        return is_runtime_word(id) ? arena_printf(a, "%s_model", id) : id;
}

bool model_check(Model *m, const Options *o, const char *which)
{
        diag_clear(&m->diag);
        if (!model_elaborate(m, o, which))
                return false;
        bool mapped = weights_check(m->graph, &m->diag);
        diag_print(&m->diag, stderr);
        diag_clear(&m->diag);
        return model_passes(m, o) && mapped;
}

Plan *model_plan(Model *m, const Options *o, const Target *t)
{
        PlanPasses passes = {!is_off(o, "fuse"), !is_off(o, "choose"), !is_off(o, "ring"),
                             !is_off(o, "tile"), !is_off(o, "plan"),   !is_off(o, "sync")};
        Plan *p = fuse(&m->arena, m->graph, t, o->chunk, o->slots, passes);
        if (p->unreadable) {
                diag_error(&m->diag, p->unreadable->span, "no code can be made for this %s %s",
                           op_info[p->unreadable->op].text,
                           type_text(&m->arena, m->graph, &p->unreadable->type));
                note_instances(&m->diag, p->unreadable->where);
                diag_print(&m->diag, stderr);
                return NULL;
        }
        p->c_name = c_identifier(&m->arena, m->graph->name);
        tile(p);
        const char *why_alone = batch(p);
        if (why_alone) {
                fprintf(stderr, "lathe: --slots: %s\n", why_alone);
                return NULL;
        }
        plan_memory(p);
        sync_kernels(p);
        if (is_dumped(o, "fuse") || is_dumped(o, "plan") || is_dumped(o, "sync"))
                plan_dump(stdout, p);
        if (o->explain)
                for (int i = 0; i < p->nexplain; i++)
                        fprintf(stderr, "%s\n", p->explain[i]);
        return p;
}

int64_t parameter_count(const Graph *g)
{
        int64_t n = 0;
        for (int i = 0; i < g->nweight; i++)
                n += g->weight[i]->slots * type_count(&g->weight[i]->type, NULL);
        return n;
}
