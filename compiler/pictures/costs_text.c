/* Costs of kernels, and their division among threads, as tables: the numbers of the roofline and the schedule
 * of threads. */
#include <inttypes.h>

#include "pictures_private.h"

static int name_width(const Turn *turn, int n)
{
        int width = 6;
        for (int i = 0; i < n; i++)
                if (turn[i].kind == RUNS_KERNEL && (int)strlen(turn[i].kernel->name) > width)
                        width = (int)strlen(turn[i].kernel->name);
        return width;
}

static void print_cost_rows(FILE *f, const PlanCall *call, const Turn *turn, int n)
{
        const int width = name_width(turn, n);
        int64_t flops = 0, bytes = 0, products = 0;
        fprintf(f, "%s\n  %-13s %-*s %6s %14s %14s %10s\n", call->about, "", width, "kernel", "runs",
                "FLOPs a run", "bytes a run", "FLOP/byte");
        for (int i = 0; i < n; i++) {
                if (turn[i].kind != RUNS_KERNEL)
                        continue;
                const Kernel *k = turn[i].kernel;
                const KernelCost *c = &call->cost[k->order.step];
                const int64_t touched = c->read + c->written;
                fprintf(f, "  %-13s %-*s %6" PRId64 " %14" PRId64 " %14" PRId64 " %10.3g\n",
                        kernel_word[k->op], width, k->name, c->runs, c->flops, touched,
                        touched > 0 ? (double)c->flops / (double)touched : 0);
                flops += c->runs * c->flops;
                products += c->runs * c->products;
                bytes += c->runs * touched;
        }
        fprintf(f,
                "  all runs: %" PRId64 " FLOPs, of products and attention %" PRId64 "; %" PRId64 " bytes\n",
                flops, products, bytes);
}

static void print_share_rows(FILE *f, const Plan *p, const PlanCall *call, const Turn *turn, int n,
                             int threads)
{
        const int width = name_width(turn, n);
        fprintf(f, "%s (| waits for all threads)\n", call->about);
        for (int i = 0; i < n; i++) {
                const Kernel *k = turn[i].kernel;
                if (turn[i].kind == RUNS_BODY && waits_before(p, call, &turn[i], threads))
                        fprintf(f, "  | repeat        %s\n", k->repeat.region->name);
                if (turn[i].kind != RUNS_KERNEL)
                        continue;
                fprintf(f, "  %s %-13s %-*s ", waits_before(p, call, &turn[i], threads) ? "|" : " ",
                        kernel_word[k->op], width, k->name);
                if (is_done_by_each(call, k)) {
                        fprintf(f, "all by each thread\n");
                        continue;
                }
                for (int t = 0; t < threads; t++)
                        fprintf(f, "%s%" PRId64, t ? " " : "", units_done(call, k, t, threads));
                fprintf(f, "%s%s\n", call_units(call, k, threads) == 1 ? ", " : " of ",
                        units_text(p->graph->arena, call, k, threads));
        }
}

void print_costs(FILE *f, const Plan *p)
{
        PlanCall *call;
        Turn *turn;
        const int n = calls_of(p->graph->arena, p, &call);
        for (int i = 0; i < n; i++) {
                const int turns = turns_of(p->graph->arena, p, &call[i], &turn);
                print_cost_rows(f, &call[i], turn, turns);
        }
}

void print_shares(FILE *f, const Plan *p, int threads)
{
        PlanCall *call;
        Turn *turn;
        const int n = calls_of(p->graph->arena, p, &call);
        for (int i = 0; i < n; i++) {
                const int turns = turns_of(p->graph->arena, p, &call[i], &turn);
                print_share_rows(f, p, &call[i], turn, turns, threads);
        }
}
