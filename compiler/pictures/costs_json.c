/* Costs of kernels, and their division among threads, as JSON: the content of costs_text.c. */
#include "pictures_private.h"

static json_t *cost_json(const PlanCall *call, const Kernel *k)
{
        const KernelCost *c = &call->cost[k->order.step];
        return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "name", k->name, "kind", kernel_word[k->op],
                         "runs", (json_int_t)c->runs, "flop", (json_int_t)c->flops, "flop_of_products",
                         (json_int_t)c->products, "bytes_read", (json_int_t)c->read, "bytes_written",
                         (json_int_t)c->written);
}

/* A kernel's units, and the number for each thread; own: each thread computes all units. */
static json_t *share_json(const Plan *p, const PlanCall *call, const Turn *t, int threads)
{
        const Kernel *k = t->kernel;
        const bool own = is_done_by_each(call, k);
        json_t *done = json_array();
        for (int i = 0; i < threads; i++)
                json_array_append_new(done, json_integer(units_done(call, k, i, threads)));
        return json_pack("{s:s, s:s, s:b, s:b, s:I, s:o}", "name", k->name, "kind", kernel_word[k->op],
                         "waits", waits_before(p, call, t, threads), "own", own, "units",
                         (json_int_t)(own ? call->cost[k->order.step].units : call_units(call, k, threads)),
                         "done", done);
}

/* A repeat's body, maybe after a barrier. */
static json_t *repeat_json(const Plan *p, const PlanCall *call, const Turn *t, int threads)
{
        return json_pack("{s:s, s:s, s:b}", "name", t->kernel->repeat.region->name, "kind",
                         kernel_word[K_REPEAT], "waits", waits_before(p, call, t, threads));
}

/* threads 0: costs of each kernel. */
static json_t *calls_json(const Plan *p, int threads)
{
        PlanCall *call;
        Turn *turn;
        json_t *list = json_array();
        const int n = calls_of(p->graph->arena, p, &call);
        for (int i = 0; i < n; i++) {
                const int turns = turns_of(p->graph->arena, p, &call[i], &turn);
                json_t *kernels = json_array();
                for (int k = 0; k < turns; k++)
                        if (turn[k].kind == RUNS_KERNEL)
                                json_array_append_new(kernels,
                                                      threads ? share_json(p, &call[i], &turn[k], threads)
                                                              : cost_json(&call[i], turn[k].kernel));
                        else if (turn[k].kind == RUNS_BODY && threads)
                                json_array_append_new(kernels, repeat_json(p, &call[i], &turn[k], threads));
                json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "call", call[i].name, "about",
                                                      call[i].about, "kernels", kernels));
        }
        return list;
}

void costs_json(const Plan *p, json_t *to)
{
        json_object_set_new(to, "calls", calls_json(p, 0));
}

void shares_json(const Plan *p, int threads, json_t *to)
{
        json_object_set_new(to, "threads", json_integer(threads));
        json_object_set_new(to, "calls", calls_json(p, threads));
}
