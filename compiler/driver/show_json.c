/* `lathe show --json`: a model's weights, the names of its values, and the cost of a call. */
#include <math.h>
#include <string.h>

#include "driver.h"
#include "pictures/pictures.h"

static json_t *number_json(double x)
{
        return fabs(x) < 0x1p53 && x == (double)(int64_t)x ? json_integer((int64_t)x) : json_finite(x);
}

static json_t *setting_json(const Setting *s)
{
        if (s->kind == SETTING_TEXT)
                return json_string(s->text);
        if (s->kind == SETTING_BOOL)
                return json_boolean(s->number != 0);
        if (s->kind == SETTING_NUMBER)
                return number_json(s->number);
        json_t *list = json_array();
        for (int i = 0; i < s->nlist; i++)
                json_array_append_new(list, number_json(s->list[i]));
        return list;
}

static json_t *show_json_begin(const Graph *g)
{
        json_begin();
        json_t *all = json_object();
        json_object_set_new(all, "model", json_string(g->name));
        return all;
}

static int show_json_end(json_t *all)
{
        if (json_write(all))
                return DONE;
        fprintf(stderr, "lathe: out of memory\n");
        return WRONG_ENVIRONMENT;
}

int json_of_params(Model *m)
{
        const Graph *g = m->graph;
        json_t *all = show_json_begin(g), *hyper = json_object(), *weights = json_array();
        for (int i = 0; i < g->nhyper; i++)
                json_object_set_new(hyper, g->hyper[i].name, setting_json(&g->hyper[i]));
        for (int i = 0; i < g->nweight; i++) {
                const Weight *w = g->weight[i];
                json_t *one = json_object();
                json_object_set_new(one, "name", json_string(name_pattern(&m->arena, w)));
                json_object_set_new(one, "shape", shape_json(&m->arena, g, &w->type));
                json_object_set_new(one, "slots", json_integer(w->slots));
                json_object_set_new(one, "parameters", json_integer(w->slots * type_count(&w->type, NULL)));
                json_array_append_new(weights, one);
        }
        json_object_set_new(all, "hyperparameters", hyper);
        json_object_set_new(all, "weights", weights);
        json_object_set_new(all, "in_use", json_integer(parameters_in_use(g)));
        json_object_set_new(all, "parameters", json_integer(parameter_count(g)));
        return show_json_end(all);
}

int json_of_taps(Model *m)
{
        int n;
        const Tap *tap = taps_of(&m->arena, m->graph, &n);
        json_t *all = show_json_begin(m->graph), *list = json_array();
        for (int i = 0; i < n; i++) {
                json_t *one = json_object();
                json_object_set_new(one, "name", json_string(tap[i].name));
                json_object_set_new(one, "shape", shape_json(&m->arena, m->graph, &tap[i].type));
                json_object_set_new(one, "in_all_iterations", json_boolean(tap[i].in_all_iterations));
                json_array_append_new(list, one);
        }
        json_object_set_new(all, "taps", list);
        return show_json_end(all);
}

/* --- cost ---------------------------------------------------------------------------------------------------------- */

/* The factors of 1, n, n^2 and so on. */
static json_t *polynomial_json(const Polynomial *p)
{
        json_t *list = json_array();
        int last = COST_DEGREE;
        while (last > 0 && !p->factor[last])
                last--;
        for (int i = 0; i <= last; i++)
                json_array_append_new(list, json_integer(p->factor[i]));
        return list;
}

/* A kind of call: FLOPs by the number of positions, and at `at`. */
static json_t *call_json(const char *name, const Flops *f, int64_t at)
{
        json_t *one = json_object();
        json_object_set_new(one, "call", json_string(name));
        json_object_set_new(one, "products", polynomial_json(&f->product));
        json_object_set_new(one, "attention", polynomial_json(&f->pair));
        json_object_set_new(one, "elementwise", polynomial_json(&f->pointwise));
        json_object_set_new(one, "positions", json_integer(at));
        json_object_set_new(one, "flop",
                            json_integer(polynomial_at(&f->product, at) + polynomial_at(&f->pair, at) +
                                         polynomial_at(&f->pointwise, at)));
        return one;
}

static json_t *states_json(Arena *a, const Graph *g, const int64_t *held)
{
        json_t *list = json_array();
        for (int i = 0; i < g->nstate; i++) {
                const StateVar *s = g->state[i];
                json_t *one = json_object();
                json_object_set_new(one, "name", json_string(s->name));
                json_object_set_new(one, "shape", shape_json(a, g, &s->type));
                json_object_set_new(one, "slots", json_integer(s->slots));
                json_object_set_new(one, "positions_held", held[i] ? json_integer(held[i]) : json_null());
                json_object_set_new(one, "storage", json_string(storage_info[s->storage].text));
                json_object_set_new(one, "values", json_integer(state_count(g, s, held[i])));
                json_array_append_new(list, one);
        }
        return list;
}

/* Number and bytes of values by type, as in the checkpoint or --quant. */
static json_t *stored_json(const Graph *g)
{
        int64_t count[STORAGE_COUNT] = {0}, bytes = 0;
        json_t *values = json_object(), *all = json_object();
        for (int i = 0; i < g->nweight; i++)
                count[g->weight[i]->storage] += g->weight[i]->slots * type_count(&g->weight[i]->type, NULL);
        for (Storage s = 0; s < STORAGE_COUNT; s++) {
                bytes += storage_size(s, count[s]);
                if (count[s])
                        json_object_set_new(values, storage_info[s].text, json_integer(count[s]));
        }
        json_object_set_new(all, "values", values);
        json_object_set_new(all, "bytes", json_integer(bytes));
        return all;
}

int json_of_cost(Model *m, const CommandOptions *o, const CallCosts *c)
{
        const bool stored = o->weights || o->quant;
        if (stored && !settle_storage(m, o))
                return WRONG_INPUT;
        const Graph *g = m->graph;
        json_t *all = show_json_begin(g), *sizes = json_object(), *calls = json_array();
        for (int i = 0; i < g->nnamed; i++)
                if (i != g->past)
                        json_object_set_new(sizes, g->named[i].name, json_integer(g->named[i].bound));
        json_object_set_new(all, "sizes", sizes);
        json_object_set_new(all, "parameters", json_integer(parameter_count(g)));
        if (stored)
                json_object_set_new(all, "stored", stored_json(g));
        if (g->nstate) {
                json_object_set_new(all, "sequences", json_integer(o->slots));
                json_object_set_new(all, "cache_values", json_integer(cache_count(g, c->held)));
                json_object_set_new(all, "states", states_json(&m->arena, g, c->held));
        }
        json_array_append_new(calls, call_json(g->past >= 0 ? "prefill" : "forward", &c->whole, c->bound));
        if (g->past >= 0)
                json_array_append_new(calls, call_json("step", &c->step, c->bound - 1));
        json_object_set_new(all, "calls", calls);
        if (o->ranks.n) {
                json_t *ranks = ranks_json(m, o, c->time);
                if (!ranks)
                        return WRONG_INPUT;
                json_object_set_new(all, "ranks", ranks);
        }
        return show_json_end(all);
}

/* --- loops, and contents of a plan ------------------------------------------------------------------------------------- */

int json_of_loops(const Model *m)
{
        const Graph *g = m->graph;
        json_t *all = show_json_begin(g), *loops = json_array();
        for (int i = 0; i < g->nloop; i++) {
                json_t *settings = json_object();
                for (int k = 0; k < g->loop[i].nsetting; k++)
                        json_object_set_new(settings, g->loop[i].setting[k].name,
                                            setting_json(&g->loop[i].setting[k]));
                json_array_append_new(loops,
                                      json_pack("{s:s, s:o}", "name", g->loop[i].name, "settings", settings));
        }
        json_object_set_new(all, "loops", loops);
        return show_json_end(all);
}

int json_of_plan(const Plan *p, ModelPart part, int threads)
{
        json_t *all = show_json_begin(p->graph);
        json_object_set_new(all, "target", json_string(p->target->name));
        if (part == PART_PLAN)
                plan_json(p, all);
        else if (part == PART_PROGRAM)
                program_json(p, all);
        else if (part == PART_THREADS)
                shares_json(p, threads, all);
        else
                costs_json(p, all);
        return show_json_end(all);
}
