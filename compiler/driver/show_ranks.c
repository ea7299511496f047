/* `lathe show cost --ranks`: memory, traffic and waiting times of ranks (docs/ranks.md). */
#include <stdio.h>

#include "driver.h"

typedef struct {
        Arena *arena;
        const CommandOptions *o;
        const Plan *plan;
        const char *call; /* "a row" */
        int64_t size[MAX_NAMED];
} RankTable;

static const char *ranks_text(const RankTable *s, int ranks)
{
        const char *text = arena_printf(s->arena, "%d rank%s", ranks, ranks > 1 ? "s" : "");
        return s->o->ranks.stages > 1 ? arena_printf(s->arena, "%s x %d stages", text, s->o->ranks.stages)
                                      : text;
}

static int width_of(const RankTable *s)
{
        return s->o->ranks.stages > 1 ? 20 : 12;
}

/* --- bytes --------------------------------------------------------------------------------------------------------- */

/* Prints the gathers of a call, and the amounts that each number of ranks stores, sends and receives. */
static void show_shares(const RankTable *s, bool by_rows)
{
        Arena *a = s->arena;
        const CommandOptions *o = s->o;
        for (int i = 0; i < o->ranks.n; i++) {
                const int ranks = o->ranks.count[i];
                const RankCost c = rank_cost(a, s->plan, s->size, ranks, o->ranks.stages, by_rows);
                const double bytes = (double)sizeof(float) * (double)c.floats,
                             carried = (double)sizeof(float) * (double)c.carried;
                if (i == 0)
                        printf("  %-*s %s %s, %s bytes (%s)\n", width_of(s), "gathers", grouped(a, c.gathers),
                               s->call, grouped(a, (int64_t)bytes), in_units(a, bytes, "B"));
                if (i == 0 && o->ranks.stages > 1)
                        printf("  %-*s passes on %s bytes %s\n", width_of(s), "a stage",
                               grouped(a, (int64_t)carried), s->call);
                printf("  %-*s weights %s%s; %s, sends %s and receives %s\n", width_of(s),
                       ranks_text(s, ranks), in_units(a, (double)c.weights, "B"),
                       c.caches ? arena_printf(a, ", caches %s", in_units(a, (double)c.caches, "B")) : "",
                       s->call, in_units(a, ranks > 1 ? bytes / ranks : 0, "B"),
                       in_units(a, bytes * (ranks - 1) / ranks, "B"));
        }
}

/* --- times --------------------------------------------------------------------------------------------------------- */

typedef struct {
        double read, computed, sent, waited; /* seconds */
} RankTime;

static double all_of(const RankTime *t)
{
        return (t->read > t->computed ? t->read : t->computed) + t->sent + t->waited;
}

/* By the ceilings of ranks and links; a gather waits for the latency of each hop among ranks. */
static RankTime rank_time(const CommandOptions *o, const RankCost *c, int ranks)
{
        int hops = 0;
        while (1 << hops < ranks)
                hops++;
        return (RankTime){.read = (double)c->read / (o->speed.gbytes * 1e9),
                          .computed = (double)c->flops / (o->speed.gflops * 1e9),
                          .sent = 4 * (double)c->floats * (ranks - 1) / ranks / (o->speed.link * 1e9),
                          .waited = (double)c->gathers * hops * o->speed.latency * 1e-6};
}

static const char *ranks_rows_text(Arena *a, int64_t rows)
{
        return arena_printf(a, "a call of %s row%s", grouped(a, rows), rows > 1 ? "s" : "");
}

typedef struct {
        double alone; /* seconds of all stages, one after another */
        double each;  /* seconds between the ends of calls, with as many calls under way as stages */
} StageTime;

static StageTime stage_time(const RankTable *s, int ranks, bool by_rows)
{
        const CommandOptions *o = s->o;
        const RankCost whole = rank_cost(s->arena, s->plan, s->size, ranks, 1, by_rows),
                       stage = rank_cost(s->arena, s->plan, s->size, ranks, o->ranks.stages, by_rows);
        const RankTime alone = rank_time(o, &whole, ranks), each = rank_time(o, &stage, ranks);
        const double hop = o->ranks.stages > 1 ? 4 * (double)whole.carried / (o->speed.link * 1e9) +
                                                         o->speed.latency * 1e-6
                                               : 0;
        return (StageTime){all_of(&alone) + o->ranks.stages * hop, all_of(&each) + 2 * hop};
}

static void show_stage_time(const RankTable *s, int ranks, bool by_rows)
{
        Arena *a = s->arena;
        const StageTime t = stage_time(s, ranks, by_rows);
        printf("  %-*s %-10s with %d concurrent calls: one every %s\n", width_of(s), ranks_text(s, ranks),
               in_seconds(a, t.alone), s->o->ranks.stages, in_seconds(a, t.each));
}

static void show_rank_time(const RankTable *s, int ranks, bool by_rows)
{
        Arena *a = s->arena;
        const RankCost c = rank_cost(a, s->plan, s->size, ranks, 1, by_rows);
        const RankTime t = rank_time(s->o, &c, ranks);
        printf("  %-*s %-10s read %-9s computed %-9s gathers: sent %-9s waited %s%s\n", width_of(s),
               ranks_text(s, ranks), in_seconds(a, all_of(&t)), in_seconds(a, t.read),
               in_seconds(a, t.computed), in_seconds(a, t.sent), in_seconds(a, t.waited),
               by_rows ? ", by rows" : "");
}

static void show_rank_times(const RankTable *s, int time)
{
        Arena *a = s->arena;
        const CommandOptions *o = s->o;
        printf("%s; per rank %s and %s; links %s and %s\n",
               time < 0 ? "a call" : ranks_rows_text(a, s->size[time]),
               in_units(a, o->speed.gbytes * 1e9, "B/s"), in_units(a, o->speed.gflops * 1e9, "FLOP/s"),
               in_units(a, o->speed.link * 1e9, "B/s"), in_seconds(a, o->speed.latency * 1e-6));
        for (int i = 0; i < o->ranks.n; i++) {
                const int ranks = o->ranks.count[i];
                const bool by_rows = ranks > 1 && shares_rows(s->plan, s->size, ranks);
                (o->ranks.stages > 1 ? show_stage_time : show_rank_time)(s, ranks, by_rows);
        }
}

/* --- for programs -------------------------------------------------------------------------------------------------- */

static json_t *call_json_of(const RankTable *s, int ranks, bool by_rows)
{
        const RankCost c = rank_cost(s->arena, s->plan, s->size, ranks, s->o->ranks.stages, by_rows);
        json_t *one = json_pack("{s:i, s:i, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "ranks", ranks,
                                "stages", s->o->ranks.stages > 1 ? s->o->ranks.stages : 1, "by_rows", by_rows,
                                "weight_bytes", (json_int_t)c.weights, "cache_bytes", (json_int_t)c.caches,
                                "read_bytes", (json_int_t)c.read, "flops", (json_int_t)c.flops, "gathers",
                                (json_int_t)c.gathers, "gathered_bytes", (json_int_t)(4 * c.floats),
                                "handed_on_bytes", (json_int_t)(s->o->ranks.stages > 1 ? 4 * c.carried : 0));
        if (s->o->speed.link > 0) {
                const StageTime t = stage_time(s, ranks, by_rows);
                json_object_set_new(one, "seconds", json_real(t.alone));
                json_object_set_new(one, "seconds_under_way", json_real(t.each));
        }
        return one;
}

/* Costs of a call for each number of ranks. */
static json_t *table_json(const RankTable *s)
{
        json_t *all = json_array();
        for (int i = 0; i < s->o->ranks.n; i++) {
                const int ranks = s->o->ranks.count[i];
                const bool by_rows = ranks > 1 && shares_rows(s->plan, s->size, ranks);
                json_array_append_new(all, call_json_of(s, ranks, by_rows));
        }
        return all;
}

/* --- main function ----------------------------------------------------------------------------------------------------- */

static bool make_table(RankTable *s, Model *m, const CommandOptions *o, int time)
{
        *s = (RankTable){.arena = &m->arena, .o = o, .call = time < 0 ? "a call" : "a row"};
        whole_call(m->graph, time, s->size);
        s->plan = model_plan(m, o, chosen_target(o));
        return s->plan != NULL;
}

/* Sets the rows of a call, if their number varies: -n, or the default. */
static void set_rows(RankTable *s, int time, int64_t unless_given)
{
        if (time >= 0)
                s->size[time] = s->o->given[OPT_N] ? s->o->steps : unless_given;
}

json_t *ranks_json(Model *m, const CommandOptions *o, int time)
{
        RankTable s;
        if (!make_table(&s, m, o, time))
                return NULL;
        set_rows(&s, time, 1);
        return table_json(&s);
}

bool show_ranks(Model *m, const CommandOptions *o, int time)
{
        const Graph *g = m->graph;
        RankTable s;
        if (!make_table(&s, m, o, time))
                return false;
        printf("ranks share products with weights, by panels of 16 outputs, and attention, by key heads; "
               "figures are for the largest share\n");
        show_shares(&s, false);
        if (calls_share_rows(s.plan)) {
                set_rows(&s, time, g->past >= 0 ? s.plan->chunk : time >= 0 ? g->named[time].bound : 0);
                s.call = "a call";
                printf("in calls of at least 16 rows per rank, ranks share rows; figures are for a call of "
                       "%s\n",
                       grouped(s.arena, dim_value(s.plan->sharing.rows, s.size)));
                show_shares(&s, true);
        }
        set_rows(&s, time, 1);
        if (o->speed.link > 0)
                show_rank_times(&s, time);
        return true;
}
