/* The parts of a model that `lathe show` and the REPL's :show print: structure and cost. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "pictures/pictures.h"
/* --- numbers as people read them --------------------------------------------------------------------------- */

const char *grouped(Arena *a, int64_t n)
{
        char *digits = arena_printf(a, "%" PRId64, n), *text = arena_alloc(a, 32);
        int length = (int)strlen(digits), at = 0;
        for (int i = 0; i < length; i++) {
                text[at++] = digits[i];
                if (isdigit((unsigned char)digits[i]) && i + 1 < length && (length - i - 1) % 3 == 0)
                        text[at++] = ',';
        }
        return text;
}

/* --- parameters ---------------------------------------------------------------------------------------------- */

const char *name_pattern(Arena *a, const Weight *w)
{
        static const char *const iteration[] = {"i", "j", "k", "l"};
        const char *name = "";
        for (int p = 0, r = 0; p < w->npart; p++) {
                name = arena_printf(a, "%s%s%s", name, p ? "." : "", w->part[p]);
                if (r < w->nregion && w->region_part[r] == p)
                        name = arena_printf(a, "%s.{%s}", name, iteration[r++]);
        }
        return w->nregion ? name : w->path;
}

static int longer(int width, const char *text)
{
        int n = (int)strlen(text);
        return n > width ? n : width;
}

/* Slots of the weight that one position uses. */
static int64_t slots_in_use(const Weight *w)
{
        int64_t slots = w->slots;
        for (int r = 0; r < w->nregion; r++)
                slots = slots * iterations_in_use(w->region[r]) / w->region[r]->iterations;
        return slots;
}

int64_t parameters_in_use(const Graph *g)
{
        int64_t n = 0;
        for (int i = 0; i < g->nweight; i++)
                n += slots_in_use(g->weight[i]) * type_count(&g->weight[i]->type, NULL);
        return n;
}

static void see_weight_users(const Body *b, bool *whole)
{
        for (int i = 0; i < b->nnode; i++) {
                const Node *n = b->node[i];
                for (int k = 0; k < n->nin; k++)
                        if (n->in[k]->op == OP_WEIGHT && !(n->op == OP_GATHER && k == 0 && n->nin == 2))
                                whole[n->in[k]->attr.weight->id] = true;
                for (int k = 0; n->op == OP_REPEAT && k < n->attr.region->nbody; k++)
                        see_weight_users(n->attr.region->body[k], whole);
        }
}

/* Values of weights that a step reads: of a table from which rows are gathered, one row. */
static int64_t weights_of_step(Arena *a, const Graph *g)
{
        bool *whole = NEW_ARRAY(a, bool, g->nweight);
        int64_t n = 0;
        see_weight_users(g->top, whole);
        for (int i = 0; i < g->nweight; i++) {
                const Weight *w = g->weight[i];
                const int64_t rows = !whole[w->id] && w->type.rank > 1 ? w->type.dim[0].fixed : 1;
                n += slots_in_use(w) * (type_count(&w->type, NULL) / rows);
        }
        return n;
}

static int show_params(Model *m)
{
        const Graph *g = m->graph;
        Arena *a = &m->arena;
        int name_width = 6, shape_width = 5, count_width = longer(10, grouped(a, parameter_count(g)));
        for (int i = 0; i < g->nweight; i++) {
                name_width = longer(name_width, name_pattern(a, g->weight[i]));
                shape_width = longer(shape_width, type_text(a, g, &g->weight[i]->type));
        }
        printf("%-*s  %-*s  %6s  %*s\n", name_width, "weight", shape_width, "shape", "slots", count_width,
               "parameters");
        for (int i = 0; i < g->nweight; i++) {
                const Weight *w = g->weight[i];
                printf("%-*s  %-*s  %6" PRId64 "  %*s\n", name_width, name_pattern(a, w), shape_width,
                       type_text(a, g, &w->type), w->slots, count_width,
                       grouped(a, w->slots * type_count(&w->type, NULL)));
        }
        if (parameters_in_use(g) < parameter_count(g))
                printf("in use at one position %s\n", grouped(a, parameters_in_use(g)));
        printf("total %s\n", grouped(a, parameter_count(g)));
        return DONE;
}

/* --- names of values -------------------------------------------------------------------------------------------- */

static int show_taps(Model *m)
{
        int n, width = 0;
        const Tap *tap = taps_of(&m->arena, m->graph, &n);
        for (int i = 0; i < n; i++)
                width = longer(width, tap[i].name);
        for (int i = 0; i < n; i++)
                printf("%-*s  %s%s\n", width, tap[i].name, type_text(&m->arena, m->graph, &tap[i].type),
                       tap[i].in_all_iterations ? "" : "  not in all iterations");
        return DONE;
}

/* --- cost ---------------------------------------------------------------------------------------------------- */

/* "65,536 n + 4,096 n^2" */
static const char *formula_text(Arena *a, const Polynomial *p, const char *variable)
{
        const char *text = "";
        for (int i = 0; i <= COST_DEGREE; i++) {
                int64_t factor = p->factor[i];
                if (!factor)
                        continue;
                const char *power = i == 0   ? ""
                                    : i == 1 ? arena_printf(a, " %s", variable)
                                             : arena_printf(a, " %s^%d", variable, i);
                const char *sign = !*text ? (factor < 0 ? "-" : "") : factor < 0 ? " - " : " + ";
                text = arena_printf(a, "%s%s%s%s", text, sign, grouped(a, factor < 0 ? -factor : factor),
                                    power);
        }
        return *text ? text : "0";
}

typedef struct {
        const char *name;
        const Polynomial *p;
} CostRow;

/* Prints a kind of call: each part as a formula, and its exact value at `at`. */
static void show_flops(Arena *a, const char *title, const Flops *f, const char *variable, int64_t at)
{
        Polynomial total = {{0}};
        for (int i = 0; i <= COST_DEGREE; i++)
                total.factor[i] = f->product.factor[i] + f->pair.factor[i] + f->pointwise.factor[i];
        CostRow row[] = {{"products", &f->product},
                         {"attention", &f->pair},
                         {"elementwise", &f->pointwise},
                         {"total", &total}};
        int width = 8, exact = 0;
        for (int i = 0; i < 4; i++) {
                width = longer(width, formula_text(a, row[i].p, variable));
                exact = longer(exact, grouped(a, polynomial_at(row[i].p, at)));
        }
        printf("%s\n", title);
        for (int i = 0; i < 4; i++) {
                int64_t value = polynomial_at(row[i].p, at);
                printf("  %-11s  ", row[i].name);
                if (*variable)
                        printf("%-*s  at %s: ", width, formula_text(a, row[i].p, variable), grouped(a, at));
                printf("%*s  %s\n", exact, grouped(a, value), in_units(a, (double)value, "FLOP"));
        }
}

static void show_bytes(Arena *a, const char *what, int64_t count)
{
        int width = longer(0, grouped(a, 4 * count));
        printf("%s: %s values\n", what, grouped(a, count));
        printf("  %-11s  %*s bytes  %s\n", "f32", width, grouped(a, 4 * count),
               in_units(a, (double)(4 * count), "B"));
        printf("  %-11s  %*s bytes  %s\n", "f16, bf16", width, grouped(a, 2 * count),
               in_units(a, (double)(2 * count), "B"));
}

/* count: number of values by storage type. */
static void show_storage(Arena *a, const int64_t count[STORAGE_COUNT], int64_t bytes)
{
        printf("  %-11s  %s bytes  %s:", "here", grouped(a, bytes), in_units(a, (double)bytes, "B"));
        const char *between = "";
        for (Storage s = 0; s < STORAGE_COUNT; s++)
                if (count[s]) {
                        printf("%s %s values of %s", between, grouped(a, count[s]), storage_info[s].text);
                        between = ",";
                }
        printf("\n");
}

/* "[0, 2..4]": iterations of a weight's region r; a range ends before its second number. */
static const char *weight_iterations_text(Arena *a, const Weight *w, int r)
{
        int64_t n = w->region[r]->iterations, in = 0, iteration[4];
        bool *has = NEW_ARRAY(a, bool, n);
        const char *text = "";
        for (int64_t slot = 0; slot < w->slots; slot++) {
                weight_iterations(w, slot, iteration);
                in += !has[iteration[r]];
                has[iteration[r]] = true;
        }
        for (int64_t i = 0, end; i < n; i = end) {
                for (end = i + 1; end < n && has[end] == has[i]; end++)
                        ;
                if (!has[i])
                        continue;
                text = arena_printf(a, "%s%s%" PRId64, text, *text ? ", " : "", i);
                if (end > i + 1)
                        text = arena_printf(a, "%s..%" PRId64, text, end);
        }
        return arena_printf(a, "[%s]", in == n ? "*" : text);
}

const char *weight_text(Arena *a, const Weight *w)
{
        const char *name = "";
        for (int p = 0, r = 0; p < w->npart; p++) {
                name = arena_printf(a, "%s%s%s", name, p ? "." : "", w->part[p]);
                if (r < w->nregion && w->region_part[r] == p)
                        name = arena_printf(a, "%s%s", name, weight_iterations_text(a, w, r++));
        }
        return name;
}

void show_mixture(FILE *f, Arena *a, const Graph *g)
{
        int width = 0;
        const Weight *first = NULL;
        bool mixed = false;
        for (int i = 0; i < g->nweight; i++) {
                const Weight *w = g->weight[i];
                if (w->type.rank < 2)
                        continue;
                width = longer(width, weight_text(a, w));
                first = first ? first : w;
                mixed |= w->storage != first->storage;
        }
        for (int i = 0; i < g->nweight && mixed; i++) {
                const Weight *w = g->weight[i];
                int64_t size = storage_size(w->storage, w->slots * type_count(&w->type, NULL));
                if (w->type.rank > 1)
                        fprintf(f, "  %-*s  %-5s  %s bytes\n", width, weight_text(a, w),
                                storage_info[w->storage].text, grouped(a, size));
        }
}

/* In the types of the checkpoint or of --quant. */
static void show_weight_storage(Arena *a, const Graph *g)
{
        int64_t count[STORAGE_COUNT] = {0}, bytes = 0;
        for (int i = 0; i < g->nweight; i++)
                count[g->weight[i]->storage] += g->weight[i]->slots * type_count(&g->weight[i]->type, NULL);
        for (Storage s = 0; s < STORAGE_COUNT; s++)
                bytes += storage_size(s, count[s]);
        show_storage(a, count, bytes);
        show_mixture(stdout, a, g);
}

static void show_state_storage(Arena *a, const Graph *g, const int64_t *held)
{
        int64_t count[STORAGE_COUNT] = {0}, bytes = 0;
        for (int i = 0; i < g->nstate; i++) {
                const StateVar *s = g->state[i];
                int64_t n = state_count(g, s, held[i]);
                count[s->storage] += n;
                bytes += s->storage == STORAGE_Q8 ? n / s->group * (s->group + 2)
                                                  : storage_size(s->storage, n);
        }
        show_storage(a, count, bytes);
}

/* By state: number of positions that compiled code stores; 0: all. */
static const int64_t *show_positions_held(Model *m, const CommandOptions *o)
{
        Graph *g = m->graph;
        int64_t *held = NEW_ARRAY(&m->arena, int64_t, g->nstate);
        CommandOptions quiet = *o;
        Named named[MAX_NAMED];
        bool windows = false;
        quiet.given[OPT_EXPLAIN] = 0;
        memset(quiet.dump, 0, sizeof quiet.dump);
        for (int i = 0; i < g->nstate; i++)
                windows |= g->state[i]->window > 0;
        memcpy(named, g->named, sizeof named);
        Plan *p = windows ? model_plan(m, &quiet, chosen_target(o)) : NULL;
        memcpy(g->named, named, sizeof named); /* the plan gives them names for C */
        for (int i = 0; p && i < g->nstate; i++)
                held[i] = p->windows.of_state[i] >= 0 ? p->windows.cache[p->windows.of_state[i]].size : 0;
        return held;
}

static void show_states(Arena *a, const Graph *g, const int64_t *held)
{
        for (int i = 0; i < g->nstate; i++) {
                const StateVar *s = g->state[i];
                printf("  %s %s", s->name, type_text(a, g, &s->type));
                if (s->slots > 1)
                        printf(" x %" PRId64, s->slots);
                if (s->lookahead)
                        printf(", delayed by %" PRId64, s->lookahead);
                if (s->window)
                        printf(", window %" PRId64, s->window);
                if (s->axis < 0 && !s->groups)
                        printf(", independent of the number of positions");
                if (held[i])
                        printf(", %" PRId64 " stored", held[i]);
                printf(": %s values%s\n", grouped(a, state_count(g, s, held[i])),
                       s->storage == STORAGE_F32 ? ""
                                                 : arena_printf(a, " in %s", storage_info[s->storage].text));
        }
}

void whole_call(const Graph *g, int time, int64_t *size)
{
        for (int i = 0; i < g->nnamed; i++)
                size[i] = i == g->past ? 0 : i == time ? 1 : g->named[i].bound;
}

static CallCosts costs_of_calls(Model *m, const CommandOptions *o)
{
        const Graph *g = m->graph;
        int64_t size[MAX_NAMED] = {0};
        CallCosts c = {.time = g->past >= 0 ? g->time : growing_dimension(g)};
        c.bound = c.time >= 0 ? g->named[c.time].bound : 0;
        whole_call(g, c.time, size);
        c.whole = cost_flops(g, size, c.time);
        c.step = g->past >= 0 ? cost_flops(g, size, g->past) : c.whole;
        c.held = g->nstate ? show_positions_held(m, o) : NULL;
        return c;
}

static int show_cost(Model *m, const CommandOptions *o, const CallCosts *c)
{
        const Graph *g = m->graph;
        Arena *a = &m->arena;
        const int time = c->time;
        const char *name = time >= 0 ? g->named[time].name : "";
        printf("%s\n", g->name);
        show_bytes(a, "weights", parameter_count(g));
        if (g->past >= 0 && parameters_in_use(g) < parameter_count(g))
                show_bytes(a, "weights that a step reads", weights_of_step(a, g));
        if (o->weights || o->quant) {
                if (!settle_storage(m, o))
                        return WRONG_INPUT;
                show_weight_storage(a, g);
        }
        if (g->nstate) {
                const char *slots = o->slots > 1 ? arena_printf(a, " in each of %d slots", o->slots) : "";
                show_bytes(a, arena_printf(a, "cache for %s positions%s", grouped(a, c->bound), slots),
                           cache_count(g, c->held));
                if (o->kv)
                        show_state_storage(a, g, c->held);
                show_states(a, g, c->held);
        }
        for (int i = 0; i < g->nnamed; i++)
                if (i != time && i != g->past)
                        printf("%s = %s\n", g->named[i].name, grouped(a, g->named[i].bound));
        if (time < 0)
                show_flops(a, "a call", &c->whole, "", 0);
        else
                show_flops(a,
                           arena_printf(a, "%s of n%s%s", g->past >= 0 ? "prefill" : "a call",
                                        strcmp(name, "n") ? " = " : "", strcmp(name, "n") ? name : ""),
                           &c->whole, "n", c->bound);
        if (g->past >= 0)
                show_flops(a, "a step after p positions", &c->step, "p", c->bound - 1);
        if (o->ranks.n && !show_ranks(m, o, time))
                return WRONG_INPUT;
        printf("A multiply-add is 2 FLOPs, an element of an elementwise op or a sum 1, of a softmax 5.  "
               "Products are "
               "those with weights,\n"
               "attention those of two computed tensors; masked positions count.  Tables are made once and "
               "do not "
               "count.\nOf keys and experts that a `top` chooses only these count.\n");
        return DONE;
}

/* --- plan, graph, passes, C ------------------------------------------------------------------------------------ */

static int show_c(Model *m, Plan *p)
{
        EmitOptions options = {.name = p->c_name, .alone = true};
        options.parameters = parameter_count(m->graph);
        options.flops_token = cost_per_token(m->graph);
        Text *c = text_new(&m->arena), *h = text_new(&m->arena);
        emit(p, &options, c, h);
        return write_file("-", c->data, c->n) ? DONE : WRONG_ENVIRONMENT;
}

static int show_passes(void)
{
        for (int i = 0; i < PASS_COUNT; i++)
                printf("%-11s %s%s\n", pass_table[i].name, pass_table[i].about,
                       pass_table[i].off == NEEDED ? "; can't be left out" : "");
        return DONE;
}

/* --- all of them ----------------------------------------------------------------------------------------------- */

static const char *const part_name[] = {"params",  "loops",   "taps",     "cost", "plan",
                                        "program", "threads", "roofline", "code", "elaborated",
                                        "graph",   "passes",  "c"};
enum { PARTS = sizeof part_name / sizeof part_name[0] };

int model_part(const char *name)
{
        for (int i = 0; i < PARTS; i++)
                if (!strcmp(part_name[i], name))
                        return i;
        const char *near = nearest_name(name, part_name, PARTS);
        if (!access(name, F_OK)) {
                fprintf(stderr,
                        "lathe show: the last word is a part, and %s is a file; `lathe show MODEL cost` and "
                        "`lathe help show` say more\n",
                        name);
                return -1;
        }
        fprintf(stderr, "lathe show: unknown part %s", name);
        fprintf(stderr,
                near ? "; did you mean %s?\n"
                     : "; parts are params, loops, taps, cost, plan, program, threads, roofline, code, "
                       "elaborated, graph, passes and c\n",
                near);
        return -1;
}

int model_parts(const char *const **name)
{
        *name = part_name;
        return PARTS;
}

static int show_graph(Model *m, const CommandOptions *o)
{
        if (o->out)
                return picture_of_graph(m, o);
        if (o->given[OPT_JSON])
                graph_dump_json(stdout, m->graph);
        else
                graph_dump(stdout, m->graph);
        return DONE;
}

static int show_plan(Model *m, const CommandOptions *o, ModelPart part, Plan *p)
{
        if (o->out)
                return picture_of_plan(m, o, part, p);
        if (part == PART_C)
                return show_c(m, p);
        if (o->given[OPT_JSON])
                return json_of_plan(p, part, shown_threads(o));
        if (part == PART_CODE)
                dump_code(stdout, p);
        else if (part == PART_THREADS)
                print_shares(stdout, p, shown_threads(o));
        else if (part == PART_ROOFLINE)
                print_costs(stdout, p);
        else if (part == PART_PROGRAM)
                program_dump(stdout, p);
        else
                plan_dump(stdout, p);
        return DONE;
}

int show_model(Model *m, const CommandOptions *o, ModelPart part)
{
        if (part == PART_PASSES)
                return show_passes();
        if (part == PART_ELABORATED)
                return show_graph(m, o);
        if (part == PART_PARAMS)
                return o->given[OPT_JSON] ? json_of_params(m) : show_params(m);
        if (part == PART_LOOPS)
                return o->given[OPT_JSON] ? json_of_loops(m) : show_loops(m);
        if (part == PART_TAPS)
                return o->given[OPT_JSON] ? json_of_taps(m) : show_taps(m);
        if (!model_passes(m, o))
                return WRONG_INPUT;
        switch (part) {
        case PART_COST: {
                const CallCosts c = costs_of_calls(m, o);
                return o->given[OPT_JSON] ? json_of_cost(m, o, &c) : show_cost(m, o, &c);
        }
        case PART_GRAPH: return show_graph(m, o);
        case PART_PLAN:
        case PART_PROGRAM:
        case PART_THREADS:
        case PART_ROOFLINE:
        case PART_CODE:
        case PART_C: {
                Plan *p = model_plan(m, o, chosen_target(o));
                return p ? show_plan(m, o, part, p) : WRONG_INPUT;
        }
        case PART_PARAMS:
        case PART_LOOPS:
        case PART_TAPS:
        case PART_ELABORATED:
        case PART_PASSES: break;
        }
        return DONE;
}
