/* The interpreter's ranks: a rank's share of a kernel, and the steps that exchange values between ranks and
 * stages.
 *
 * The functions are those of the emitted program (runtime/ranks.h); here a kernel's Code copies panels of
 * results. */
#include "interpret_private.h"

#include <stdlib.h>

#include "../../runtime/guard.h"
#undef KERNEL
#define KERNEL static inline

#define share share_start
#include "../../runtime/ranks.h"

int64_t rank_begin(const Ranks *ranks, int64_t total, int thread, int threads)
{
        return rank_share(ranks, total, thread, threads);
}

int64_t stage_begin(const Ranks *ranks, int64_t iterations, bool next)
{
        return stage_share(ranks, iterations, next);
}

OwnHeads rank_heads(const Ranks *ranks, int64_t heads)
{
        return (OwnHeads){rank_share(ranks, heads, 0, 1), rank_share(ranks, heads, 1, 1)};
}

bool ranks_share_rows(const Ranks *ranks, int64_t rows)
{
        return ranks && rank_tiles(rows) >= ranks->ranks;
}

/* Rows of the kernel's loop that this rank computes. */
static void share_rows_of(CodeFrame *f, const Ranks *ranks)
{
        const int64_t rows = frame_size(f, f->f->loop[f->kernel->ranks.row_loop - 1].size);
        f->own_loop = f->kernel->ranks.row_loop;
        f->own_first = rank_row(ranks, rows, 0);
        f->own_times = rank_row(ranks, rows, 1) - f->own_first;
}

/* A loop over heads, of which several share a KV head. */
static void share_heads_of(CodeFrame *f)
{
        const Stmt *rows = &f->f->body.stmt[0];
        const int loop = loop_of_heads(f->own->plan, f->f, rows);
        const OwnHeads own = rank_heads(f->by_outputs, f->kernel->ranks.heads);
        const int64_t each = f->f->loop[loop].size.fixed / f->kernel->ranks.heads;
        f->own_loop = loop + 1;
        f->own_first = each * own.first;
        f->own_times = each * (own.end - own.first);
}

void frame_share(CodeFrame *f)
{
        const Kernel *k = f->kernel;
        Ranks *ranks = f->m->ranks;
        if (!ranks || k->op == K_ACTIVE)
                return;
        const bool by_rows = k->ranks.by_rows && ranks_share_rows(ranks, frame_size(f, k->ranks.rows));
        f->by_outputs = k->ranks.sharded && !by_rows ? ranks : NULL;
        if (k->ranks.row_loop && by_rows)
                share_rows_of(f, ranks);
        else if (k->op == K_LOOP && f->by_outputs)
                share_heads_of(f);
}

/* --- exchanges ------------------------------------------------------------------------------------------------------------- */

/* A kernel whose results are copied between memory and a block. */
typedef struct {
        CodeFrame frame;
        const EngineInstance *m;
        const Kernel *between; /* the repeat whose iterations `row` includes; or NULL */
        int depth;             /* of its counter */
} Carry;

static void carry_element(const CodeFrame *f, Buffer *b, int64_t at, float *value, int into)
{
        void *element = frame_element(f, b, at);
        if (b->storage == STORAGE_F16 && into)
                *(uint16_t *)element = (uint16_t)*value;
        else if (b->storage == STORAGE_F16)
                *value = (float)*(uint16_t *)element;
        else if (into)
                *(float *)element = *value;
        else
                *value = *(float *)element;
}

static bool is_unwanted(const CodeFrame *f, Buffer *b)
{
        const Buffer *whole = whole_buffer(b);
        return whole->home == IN_OUTPUT && !f->m->pointer[f->own->plan->graph->ninput + whole->index];
}

/* Copies row `row` of a panel, counted over all panels of a product. */
static void carry_product(const void *context, int64_t row, int64_t panel, float *values, int into)
{
        Carry *c = (Carry *)context;
        CodeFrame *f = &c->frame;
        const MatmulCall *call = only_statement(own_function(f->kernel), STMT_MATMUL)->call.matmul;
        const MatmulPart *part = call->part;
        while (panel >= part->first + part->panels)
                part++;
        const Stmt *store = only_statement(part->epilogue, STMT_STORE);
        if (c->between) {
                f->iteration[c->depth] = row / c->between->repeat.active_rows->max_active;
                row %= c->between->repeat.active_rows->max_active;
        }
        f->f = part->epilogue;
        f->m = c->m;
        if (is_unwanted(f, store->buffer))
                return;
        f->sees = f->kernel->batching == BATCH_SEQUENCES || sees_sequence(f->own->plan, f->kernel, f->f);
        frame_set_row(f, c->m, row);
        f->lane = (panel - part->first) * LANES;
        frame_set_rest(f, &f->f->loop[f->f->lane_loop]);
        const int n = store->lanes == REST_LANES ? f->rest : store->lanes;
        const int64_t at = frame_integer(f, store->at);
        for (int lane = 0; lane < n; lane++)
                carry_element(f, store->buffer, at + store->step * lane, &values[lane], into);
}

/* Copies row `row` of the results of a KV head. */
static void carry_attention(const void *context, int64_t row, int64_t panel, float *values, int into)
{
        const CodeFrame *f = &((const Carry *)context)->frame;
        const AttentionCall *c = only_statement(f->f, STMT_ATTENTION)->call.attention;
        const int64_t group = c->heads / c->kv_heads, at = frame_integer(f, c->out.at) + c->out_row * row;
        if (is_unwanted(f, c->out.buffer))
                return;
        for (int64_t head = panel * group; head < (panel + 1) * group; head++, values += c->v_dim)
                for (int64_t i = 0; i < c->v_dim; i++)
                        carry_element(f, c->out.buffer, at + c->out_head * head + i, &values[i], into);
}

/* Active rows of all iterations of a repeat as one list. */
static int32_t *rows_of_all(const ThreadRun *r, const EngineInstance *m, const Carry *c, int64_t *count)
{
        const int64_t most = c->between->repeat.active_rows->max_active,
                      turns = c->between->repeat.region->iterations;
        int32_t *active = malloc((size_t)(most * turns) * sizeof *active);
        /* other ranks wait */
        if (!active)
                abort();
        ThreadRun of = *r;
        *count = 0;
        for (of.iteration[c->depth] = 0; of.iteration[c->depth] < turns; of.iteration[c->depth]++) {
                const int64_t n = run_kernel(&of, m, c->between->repeat.active_rows, active + *count);
                for (int64_t i = 0; i < n; i++)
                        active[(*count)++] += (int32_t)(most * of.iteration[c->depth]);
        }
        return active;
}

/* For all calls of a product, or for all iterations. */
static int64_t rows_exchanged(const CodeFrame *f, const MatmulCall *c, bool all)
{
        int64_t rows = 1;
        for (int i = c->outer; i < f->f->nloop - 1; i++)
                rows *= all ? frame_size(f, f->f->loop[i].size) +
                                        (f->f->loop[i].together ? f->m->sequences - 1 : 0) *
                                                f->f->loop[i].size.fixed
                            : frame_times(f, i);
        return rows;
}

static void run_exchange(const ThreadRun *r, const EngineInstance *m, const Step *s)
{
        const Kernel *k = s->kernel;
        Carry c = {.frame = kernel_frame(r, m, k), .m = m};
        CarriedPart part = {.carry = k->op == K_MATMUL ? carry_product : carry_attention};
        Carried all = {.part = &part, .parts = 1};
        const int32_t *active = k->rows == ROWS_ACTIVE && !s->repeat ? r->active : NULL;
        int32_t *found = NULL;
        int64_t rows = r->count;
        c.frame.own_loop = 0;
        if (k->op == K_MATMUL) {
                const MatmulCall *call = only_statement(c.frame.f, STMT_MATMUL)->call.matmul;
                all.panels = call->panels;
                all.width = LANES;
                if (!active)
                        rows = rows_exchanged(&c.frame, call, s->repeat != NULL);
        } else {
                const AttentionCall *call = only_statement(c.frame.f, STMT_ATTENTION)->call.attention;
                all.panels = call->kv_heads;
                all.width = call->heads / call->kv_heads * call->v_dim;
                rows = call->row >= 0 ? frame_times(&c.frame, call->row) : 1;
        }
        part.panels = all.panels;
        if (s->half) {
                const Region *nest[MAX_NEST];
                c.between = s->repeat;
                c.depth = iterations_around(k->body, nest) - 1;
                active = found = rows_of_all(r, m, &c, &rows);
        }
        if (rows > 0)
                rank_exchange(m->ranks, &c, &all, active, rows);
        free(found);
}

/* --- other transfers -------------------------------------------------------------------------------------------------------- */

static void run_row_gather(const ThreadRun *r, const EngineInstance *m, const SharedRows *rows)
{
        const Plan *p = r->own->plan;
        const Buffer *b = whole_buffer(rows->buffer);
        const CodeFrame f = {.own = r->own, .m = m};
        float *from =
                b->home == IN_OUTPUT ? m->pointer[p->graph->ninput + b->index] : m->arena + FLOATS(b->offset);
        rank_gather_rows(m->ranks, from + rows->base, frame_size(&f, rows->rows), rows->tile,
                         rows->whole_tiles);
}

void run_transfer(const ThreadRun *r, const EngineInstance *m, const Step *s)
{
        const CodeFrame f = {.own = r->own, .m = m};
        float *value = s->value ? m->arena + FLOATS(s->value->offset) : NULL;
        const int64_t n = s->value ? frame_size(&f, carried_count(s->value)) : 0;
        switch (s->op) {
        case STEP_EXCHANGE: run_exchange(r, m, s); break;
        case STEP_GATHER: run_row_gather(r, m, s->shared); break;
        case STEP_SEND:
                if (s->last)
                        stage_give(m->ranks, value, n, 0);
                else
                        stage_leave(m->ranks, value, n);
                break;
        case STEP_RECEIVE:
                if (s->last)
                        stage_take(m->ranks, value, n, 0);
                else
                        stage_enter(m->ranks, value, n);
                break;
        default: rank_check(m->ranks, value, n, s->kernel->name, r->iteration[0]); break;
        }
}
