/* Values of the current model in expressions: layer[0].attn.q is its value in the last run, layer[0].attn.q.w
 * is a weight.
 *
 * Before a line is evaluated, each chain of fields and indices that names a value or a weight, and does not
 * begin with a visible name, is replaced with a new name, whose value is computed or read. */
#include <stdlib.h>
#include <string.h>

#include "repl_private.h"

typedef struct {
        ReplSession *s;
        Arena arena;
        Graph *graph; /* elaborated at first use */
        bool binds;   /* the line has local names */
        bool good;
} NameSearch;

/* --- names --------------------------------------------------------------------------------------------------------------- */

/* "layer[0].attn.q"; NULL: the tree is not such a chain. */
static const char *chain_text(Arena *a, const Ast *ast)
{
        if (ast->kind == AST_NAME)
                return ast->name;
        if (ast->kind != AST_FIELD && ast->kind != AST_INDEX)
                return NULL;
        const char *before = chain_text(a, ast->kid[0]);
        if (!before)
                return NULL;
        if (ast->kind == AST_FIELD)
                return arena_printf(a, "%s.%s", before, ast->name);
        const Ast *index = ast->nkid == 2 ? ast->kid[1] : NULL;
        if (!index || index->kind != AST_NUMBER || !index->is_int)
                return NULL;
        return arena_printf(a, "%s[%.0f]", before, index->number);
}

static const char *chain_root(const Ast *ast)
{
        while (ast->kind != AST_NAME)
                ast = ast->kid[0];
        return ast->name;
}

/* "layer[i].attn" is the pattern of "layer[0].attn". */
static bool text_is_like(const char *text, const char *pattern)
{
        for (; *text && *text == *pattern; text++, pattern++)
                if (*text == '[') {
                        text = strchr(text, ']');
                        pattern = strchr(pattern, ']');
                }
        return !*text && !*pattern;
}

static const char *weight_pattern(Arena *a, const Weight *w)
{
        const char *text = "";
        for (int i = 0; i < w->npart; i++) {
                bool is_region = false;
                for (int r = 0; r < w->nregion; r++)
                        is_region |= w->region_part[r] == i;
                text = arena_printf(a, "%s%s%s%s", text, i ? "." : "", w->part[i], is_region ? "[i]" : "");
        }
        return text;
}

static const Weight *weight_like(Arena *a, const Graph *g, const char *text)
{
        for (int i = 0; i < g->nweight; i++)
                if (text_is_like(text, weight_pattern(a, g->weight[i])))
                        return g->weight[i];
        return NULL;
}

static bool is_tap(Arena *a, Graph *g, const char *text)
{
        int n;
        const Tap *tap = taps_of(a, g, &n);
        for (int i = 0; i < n; i++)
                if (text_is_like(text, tap[i].name))
                        return true;
        for (int i = 0; i < g->noutput; i++)
                if (!strcmp(g->output[i].name, text))
                        return true;
        return false;
}

static bool is_in_sight(ReplSession *s, const char *name)
{
        const char *about;
        return variables_find(&s->variables, name) || file_find(s->program->main, name) ||
               library_find(s->program, name) || builtin_takes(name, &about) || !strcmp(name, "pi") ||
               !strcmp(name, "inf");
}

/* --- values ---------------------------------------------------------------------------------------------------------------- */

static KeptValue *keep_reals(int rank, const int64_t *dim, double *data)
{
        KeptValue *k = data ? calloc(1, sizeof *k) : NULL;
        if (!k) {
                free(data);
                repl_error("%s", no_memory);
                return NULL;
        }
        *k = (KeptValue){.refs = 1, .kind = V_TENSOR, .dtype = REAL, .rank = rank, .data = data};
        memcpy(k->dim, dim, (size_t)rank * sizeof *dim);
        return k;
}

static KeptValue *run_tap(ReplSession *s, const char *name)
{
        Trace t;
        int i;
        int64_t dim[MAX_RANK];
        KeptValue *k = NULL;
        if (trace_tapped(s, (RunnerKind){.tap = name, .attention = -1}, &t, &i)) {
                double *value = trace_output(s, &t, i, dim);
                k = keep_reals(s->runner->model.graph->output[i].node->type.rank, dim, value);
        }
        trace_free(s, &t);
        return k;
}

/* Arguments for the callback of with_model(). */
typedef struct {
        Words words; /* first */
        const char *name;
        KeptValue *made;
} Request;

/* The slot given by the numbers in brackets; -1 after a message. */
static int64_t slot_of_name(const Weight *w, const char *name)
{
        int64_t iteration = 0;
        const char *at = name;
        for (int r = 0; r < w->nregion; r++) {
                at = strchr(at, '[') + 1;
                const long long index = strtoll(at, NULL, 10);
                if (index >= w->region[r]->iterations) {
                        repl_error("%s: %s has %lld iterations, counted from 0", name, w->region[r]->name,
                                   (long long)w->region[r]->iterations);
                        return -1;
                }
                iteration = iteration * w->region[r]->iterations + index;
        }
        const int64_t slot = w->slot_of ? w->slot_of[iteration] : iteration;
        if (slot < 0)
                repl_error("%s: this iteration has no such weight", name);
        return slot;
}

static bool model_read_weight(ReplSession *s, Model *m, const Words *w)
{
        Request *r = (Request *)(void *)w;
        const Weight *weight = weight_like(&m->arena, m->graph, r->name);
        const int64_t slot = slot_of_name(weight, r->name);
        if (slot < 0)
                return false;
        Checkpoint *checkpoint = NULL;
        Weights *weights = open_weights(m, &s->options, &checkpoint);
        int64_t dim[MAX_RANK];
        for (int a = 0; a < weight->type.rank; a++)
                dim[a] = weight->type.dim[a].fixed;
        double *value = weights ? malloc((size_t)type_count(&weight->type, NULL) * sizeof *value + 1) : NULL;
        if (value && !weights_read(weights, weight, slot, value)) {
                free(value);
                value = NULL;
        }
        r->made = weights ? keep_reals(weight->type.rank, dim, value) : NULL;
        checkpoint_close(checkpoint);
        return r->made != NULL;
}

/* --- the search -------------------------------------------------------------------------------------------------------------- */

static void search_names(NameSearch *r, const Ast *ast)
{
        r->binds |=
                ast && (ast->kind == AST_OVER || ast->kind == AST_ALONG ||
                        !(ast_is_expression(ast->kind) || ast->kind == AST_ARG || ast->kind == AST_RANGE));
        for (int i = 0; ast && i < ast->nkid; i++)
                search_names(r, ast->kid[i]);
}

static void become_name(NameSearch *r, Ast *ast, const char *text, bool is_weight)
{
        Request request = {.name = text};
        KeptValue *k = variables_find(&r->s->values, intern(&r->s->names, text, -1));
        if (!k) {
                k = is_weight ? (with_model(r->s, model_read_weight, &request.words), request.made)
                              : run_tap(r->s, text);
                r->good = k && variables_set(&r->s->values, intern(&r->s->names, text, -1), k);
        }
        ast->kind = AST_NAME;
        ast->name = intern(&r->s->names, text, -1);
        ast->nkid = 0;
}

static void search_in(NameSearch *r, Ast *ast)
{
        const char *text = ast && r->good ? chain_text(&r->arena, ast) : NULL;
        if (text && !is_in_sight(r->s, chain_root(ast))) {
                if (!r->graph)
                        r->graph = session_graph(r->s, &r->arena);
                const bool is_weight = r->graph && weight_like(&r->arena, r->graph, text);
                if (is_weight || (r->graph && is_tap(&r->arena, r->graph, text))) {
                        become_name(r, ast, text, is_weight);
                        return;
                }
        }
        for (int i = 0; ast && i < ast->nkid; i++)
                search_in(r, ast->kid[i]);
}

/* For lines without local names: an expression, or the value of a variable. */
bool take_model_values(ReplSession *s, const Ast *line)
{
        Ast *of = line->kind == AST_LET ? line->kid[1] : (Ast *)line;
        NameSearch r = {.s = s, .good = true};
        variables_free(&s->values);
        if (!s->model)
                return true;
        search_names(&r, of);
        if (!r.binds)
                search_in(&r, of);
        arena_free(&r.arena);
        return r.good;
}
