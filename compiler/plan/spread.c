/* Spread: which kernels ranks share (runtime/ranks.h).
 *
 * A product with weights by panels of its outputs, attention by its heads of keys: what one rank makes is whole, by the chains of operations
 * of a single process.  All else is computed by every rank, from values that all have. */
#include "lower/code.h"
#include "plan_private.h"

static const Stmt *find_statement(const StmtList *list, StmtOp op, int *found)
{
        const Stmt *last = NULL;
        for (int i = 0; i < list->n; i++) {
                const Stmt *s = &list->stmt[i];
                if (s->op == op) {
                        last = s;
                        ++*found;
                }
                const Stmt *inside = s->inside ? find_statement(s->inside, op, found) : NULL;
                last = inside ? inside : last;
        }
        return last;
}

const Stmt *only_statement(const Function *f, StmtOp op)
{
        int found = 0;
        const Stmt *s = find_statement(&f->body, op, &found);
        return found == 1 ? s : NULL;
}

/* Elements by themselves, which a copy has all of. */
static bool is_carried(const Buffer *b)
{
        return (b->storage == STORAGE_F32 || b->storage == STORAGE_F16) && !whole_buffer((Buffer *)b)->own &&
               !b->paged;
}

static bool product_is_spread(const MatmulCall *c)
{
        for (int i = 0; i < c->npart; i++) {
                const Stmt *store = only_statement(c->part[i].epilogue, STMT_STORE);
                if (!store || !is_carried(store->buffer))
                        return false;
        }
        return c->outer == 0 && c->panels > 1;
}

static bool attention_is_spread(const AttentionCall *c)
{
        return c->naround == 0 && c->kv_heads > 1 && !c->weigh && is_carried(c->out.buffer) &&
               is_carried(c->k.buffer) && is_carried(c->v.buffer);
}

static bool is_spread(const Kernel *k)
{
        const Function *f = k->code->function[k->code->n - 1];
        const Stmt *product = k->op == K_MATMUL ? only_statement(f, STMT_MATMUL) : NULL;
        const Stmt *attention = k->op == K_ATTENTION ? only_statement(f, STMT_ATTENTION) : NULL;
        return (product && product_is_spread(product->call.matmul)) ||
               (attention && attention_is_spread(attention->call.attention));
}

bool pass_spread(Plan *p, Diag *diag)
{
        (void)diag;
        for (int i = 0; i < p->nbody && p->ranks; i++)
                for (int j = 0; j < p->list[i].n; j++) {
                        Kernel *k = p->list[i].kernel[j];
                        k->spread = k->op != K_REPEAT && k->code && is_spread(k);
                }
        return true;
}

static int64_t exchanged_row(const Kernel *k)
{
        const Function *f = k->code->function[k->code->n - 1];
        if (k->op == K_MATMUL)
                return only_statement(f, STMT_MATMUL)->call.matmul->panels * LANES;
        const AttentionCall *c = only_statement(f, STMT_ATTENTION)->call.attention;
        return c->heads * c->v_dim;
}

int64_t widest_exchange(const Plan *p)
{
        int64_t most = 0;
        for (int i = 0; i < p->nbody; i++)
                for (int j = 0; j < p->list[i].n; j++) {
                        const Kernel *k = p->list[i].kernel[j];
                        const int64_t row = k->spread ? exchanged_row(k) : 0;
                        most = row > most ? row : most;
                }
        return most;
}

/* Bytes of the weights that a kernel's products read, each buffer once. */
static int64_t spread_weights(const Kernel *k, bool *seen)
{
        int64_t bytes = 0;
        for (int i = 0; i < k->nsegment; i++)
                for (int j = 0; j < k->segment[i].nproduct; j++) {
                        const Buffer *w = whole_buffer(k->segment[i].w[j]);
                        bytes += seen[w->id] ? 0 : w->slots * w->slot_stride;
                        seen[w->id] = true;
                }
        return bytes;
}

RankCost rank_cost(Arena *a, const Plan *p, const int64_t *size)
{
        const KernelCost *cost = kernel_costs(a, p, size);
        bool *seen = NEW_ARRAY(a, bool, p->nbuffer + 1);
        RankCost all = {.whole = p->weights_size};
        for (int i = 0; i < p->nbody; i++)
                for (int j = 0; j < p->list[i].n; j++) {
                        const Kernel *k = p->list[i].kernel[j];
                        if (!k->spread)
                                continue;
                        all.gathers += cost[k->step].runs;
                        all.floats += cost[k->step].runs * exchanged_row(k);
                        all.spread += k->op == K_MATMUL ? spread_weights(k, seen) : 0;
                }
        all.whole -= all.spread;
        return all;
}
