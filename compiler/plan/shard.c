/* Shard: which kernels are sharded over ranks (runtime/ranks.h).
 *
 * Products with weights are shared by panels of outputs, attention by heads of keys, and loops over heads by those heads if their results are read
 * for the same head only.  A rank computes each of its outputs completely, in the order of operations of a single process.  Every rank computes all
 * other kernels.  Stages of ranks: rank_stages.c. */
#include "lower/code.h"
#include "plan_private.h"

const Stmt *only_statement(const Function *f, StmtOp op)
{
        const Stmt *last = NULL;
        int found = 0;
        for (int i = 0; i < f->body.n; i++)
                if (f->body.stmt[i].op == op) {
                        last = &f->body.stmt[i];
                        found++;
                }
        return found == 1 ? last : NULL;
}

const Function *own_function(const Kernel *k)
{
        return k->code->function[k->code->n - 1];
}

/* Whether each element is stored separately, so that it can be exchanged. */
static bool is_carried(const Buffer *b)
{
        return (b->storage == STORAGE_F32 || b->storage == STORAGE_F16) && !b->paged;
}

/* Whether these are keys or values.  They are never exchanged: a rank stores and reads those of its heads. */
static bool is_kept_by_heads(const Buffer *b)
{
        const Buffer *whole = whole_buffer((Buffer *)b);
        return is_carried(b) || (b->storage == STORAGE_Q8 && whole->per_head) ||
               (whole->paged && b->storage != STORAGE_Q8);
}

static bool product_is_sharded(const MatmulCall *c)
{
        for (int i = 0; i < c->npart; i++) {
                const Stmt *store = only_statement(c->part[i].epilogue, STMT_STORE);
                if (!is_carried(store->buffer))
                        return false;
        }
        return c->outer == 0 && c->panels > 1;
}

static bool attention_is_sharded(const AttentionCall *c)
{
        return c->naround == 0 && c->kv_heads > 1 && !c->weigh && is_kept_by_heads(c->k.buffer) &&
               is_kept_by_heads(c->v.buffer);
}

static bool is_sharded(const Kernel *k)
{
        const Function *f = own_function(k);
        const Stmt *product = k->op == K_MATMUL ? only_statement(f, STMT_MATMUL) : NULL;
        const Stmt *attention = k->op == K_ATTENTION ? only_statement(f, STMT_ATTENTION) : NULL;
        return (product && product_is_sharded(product->call.matmul)) ||
               (attention && attention_is_sharded(attention->call.attention));
}

/* --- redundant exchanges ------------------------------------------------------------------------------------------- */

/* A buffer of which each rank needs only its own heads: element i belongs to a rank by i modulo `modulus` (heads.c). */
typedef struct {
        const Buffer *buffer;
        int64_t modulus;
} ApartBuffer;
typedef struct {
        Plan *plan;
        ApartBuffer *of;
        int n, cap;
} ApartBuffers;

/* False: the buffer is not by heads, or is already by other ones. */
static bool keep_apart(ApartBuffers *a, const Buffer *b, int64_t modulus)
{
        for (int i = 0; i < a->n; i++)
                if (a->of[i].buffer == b)
                        return a->of[i].modulus == modulus;
        GROW(a->plan->graph->arena, a->of, a->n, a->cap);
        a->of[a->n++] = (ApartBuffer){b, modulus};
        return modulus > 0;
}

int64_t kv_heads_of(const Kernel *k)
{
        return only_statement(own_function(k), STMT_ATTENTION)->call.attention->kv_heads;
}

/* Whether the kernel uses the elements of a head only for that head.  Then the buffers that it stores are
 * by heads too. */
static bool reads_by_heads(ApartBuffers *a, const Kernel *k, ApartBuffer b)
{
        if (k->op == K_SELECT || heads_modulus(a->plan, k, b.buffer) != b.modulus)
                return false;     /* all ranks select in all heads */
        if (k->op == K_ATTENTION) /* each rank's heads, if it counts them alike; its results are exchanged */
                return k->ranks.sharded && kv_heads_of(k) == a->plan->heads;
        for (int i = 0; i < k->code->nwritten; i++)
                if (!keep_apart(a, k->code->written[i], heads_modulus(a->plan, k, k->code->written[i])))
                        return false;
        return true;
}

static bool is_read_by_heads(ApartBuffers *a, ApartBuffer b)
{
        const Plan *p = a->plan;
        if (b.buffer->home == IN_OUTPUT)
                return false;
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i];
                if (code_reads(k->code, b.buffer) && !reads_by_heads(a, k, b))
                        return false;
        }
        return true;
}

/* Whether whole panels of a part belong to each head, and are stored by columns.  Then heads are separate. */
static bool has_heads(ApartBuffers *a, const MatmulPart *part, int64_t heads)
{
        const Stmt *store = only_statement(part->epilogue, STMT_STORE);
        if (part->segment->nproduct != 1 || part->panels % heads ||
            part->panels * LANES != part->segment->n ||
            !stores_by_columns(a->plan, part->epilogue, store, part->segment->n))
                return false;
        return keep_apart(a, whole_buffer(store->buffer), part->segment->n);
}

/* A product whose results are read by kernels by heads, and finally by attention, is shared by its heads. */
static int64_t heads_of_product(Plan *p, const Kernel *k)
{
        const MatmulCall *c = only_statement(own_function(k), STMT_MATMUL)->call.matmul;
        ApartBuffers a = {.plan = p};
        bool good = p->heads > 1 && k->rows != ROWS_ACTIVE;
        for (int i = 0; i < c->npart && good; i++)
                good = has_heads(&a, &c->part[i], p->heads);
        for (int i = 0; i < a.n && good; i++)
                good = is_read_by_heads(&a, a.of[i]);
        return good ? p->heads : 0;
}

/* A loop over heads whose results only kernels by heads read: each rank has its own. */
static bool loop_is_sharded(Plan *p, const Kernel *k)
{
        ApartBuffers a = {.plan = p};
        bool good = k->op == K_LOOP && k->one_row == ONE_ROW_BY_HEADS;
        for (int i = 0; good && i < k->code->nwritten; i++)
                good = keep_apart(&a, k->code->written[i], heads_modulus(p, k, k->code->written[i]));
        for (int i = 0; i < a.n && good; i++)
                good = is_read_by_heads(&a, a.of[i]);
        return good;
}

/* In a batch only ranks share work by heads, not threads (replicate.c). */
static void forget_heads(Plan *p)
{
        p->heads = 0;
        for (int i = 0; i < p->all.n; i++)
                p->all.kernel[i]->one_row = ONE_ROW_SHARED;
}

bool pass_shard(Plan *p, Diag *diag)
{
        (void)diag;
        if (!p->sharing.ranks || p->off[PASS_shard])
                return true;
        const bool batches = p->slots > 1 && p->graph->past >= 0;
        if (batches)
                find_heads(p);
        for (int i = 0; i < p->all.n; i++) {
                Kernel *k = p->all.kernel[i];
                /* positions are few numbers each, of one sequence at a time: every rank computes them all */
                k->ranks.sharded = k->op != K_REPEAT && is_sharded(k) && !along_around(k->body);
        }
        for (int i = 0; i < p->all.n; i++) {
                Kernel *k = p->all.kernel[i];
                const bool loop = loop_is_sharded(p, k);
                k->ranks.sharded |= loop;
                k->ranks.heads = loop                                    ? p->heads
                                 : k->ranks.sharded && k->op == K_MATMUL ? heads_of_product(p, k)
                                                                         : 0;
        }
        if (batches)
                forget_heads(p);
        insert_stages(p);
        insert_exchanges(p);
        return true;
}

bool is_exchanged(const Kernel *k)
{
        return k->ranks.sharded && !k->ranks.heads;
}

int64_t exchanged_row(const Kernel *k)
{
        const Function *f = own_function(k);
        if (k->op == K_MATMUL)
                return only_statement(f, STMT_MATMUL)->call.matmul->panels * LANES;
        const AttentionCall *c = only_statement(f, STMT_ATTENTION)->call.attention;
        return c->heads * c->v_dim;
}

int64_t widest_exchange(const Plan *p)
{
        int64_t most = 0;
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i];
                const int64_t row = is_exchanged(k) ? exchanged_row(k) : 0;
                most = row > most ? row : most;
        }
        return most;
}
