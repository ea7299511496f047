/* Exchanges of the experts' repeat, once for all its iterations (runtime/ranks.h).
 *
 *      for each expert: gated = f(x @ w), y += gated @ v          two exchanges for each expert in use
 *
 * An exchange copies to all ranks what each has computed; nothing is added.  The sum y is exchanged after the last iteration.  Where the data flow allows it the loop is split: all iterations compute the first product,
 * each into memory of its own, one exchange follows, and then all iterations compute the second one.  The order of sums does not change. */
#include "lower/code.h"
#include "plan_private.h"

/* --- exchanges after a repeat ------------------------------------------------------------------------------------------ */

/* Does k read of b only the elements that it stores there? */
bool reads_what_it_stores(const Plan *p, const Kernel *k, const Buffer *b)
{
        const MatmulCall *c = only_statement(own_function(k), STMT_MATMUL)->call.matmul;
        const Stmt *store = only_statement(c->part[0].epilogue, STMT_STORE);
        const Accesses reads = accesses_of(p->graph->arena, k, false);
        for (int i = 0; i < reads.n; i++)
                if (whole_buffer(reads.of[i].buffer) == b &&
                    (reads.of[i].f != c->part[0].epilogue || !reads.of[i].at ||
                     !index_same(reads.of[i].at, store->at)))
                        return false;
        return true;
}

static bool touches(const Kernel *k, const Buffer *b)
{
        bool any = code_reads(k->code, b);
        for (int i = 0; i < k->code->nwritten; i++)
                any |= whole_buffer(k->code->written[i]) == b;
        return any;
}

/* Is k a product that adds to a carried sum, as experts do, which no other kernel reads before the last iteration?
 * repeat: has one body, without repeats. */
static bool can_be_exchanged_after(Plan *p, const Kernel *repeat, const Kernel *k)
{
        const KernelList *l = &p->list[body_number(p, repeat->repeat.region->body[0])];
        if (k->op != K_MATMUL || !is_exchanged(k) || k->batching > BATCH_ROWS || k->code->nwritten != 1 ||
            only_statement(own_function(k), STMT_MATMUL)->call.matmul->npart != 1)
                return false;
        const Buffer *b = whole_buffer(k->code->written[0]);
        bool carried = false;
        for (int i = 0; i < repeat->repeat.region->ncarry; i++)
                carried |= carried_buffer(p, repeat->repeat.region, i) == b;
        for (int i = 0; i < l->n; i++) {
                const Kernel *other = l->kernel[i];
                if (other->op == K_REPEAT || (other != k && other->code && touches(other, b)))
                        return false;
        }
        return carried && b->home == IN_ARENA && reads_what_it_stores(p, k, b);
}

/* --- loop split --------------------------------------------------------------------------------------------------------- */

/* Does only kernel `reader` read b, apart from the arena's reuse? */
static bool is_read_by_one(const Plan *p, const Kernel *reader, const Buffer *b)
{
        for (int i = 0; i < p->nbuffer; i++)
                if (p->buffer[i]->alias == b || p->buffer[i]->part_of == b)
                        return false;
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i];
                if (k != reader && k->code && code_reads(k->code, b))
                        return false;
        }
        return true;
}

enum { MOST_BYTES = 64 << 20 }; /* bytes that the results of all iterations may take */

/* Is the body of the repeat that of experts: rows that an iteration changes, a product, and a product of its results that adds to the carried sum?  Then the first
 * products of all iterations may come before all sums. */
static bool can_be_split(const Plan *p, const Kernel *repeat, const KernelList *l)
{
        if (!repeat->repeat.active_rows || l->n != 3 || l->kernel[0]->op != K_ACTIVE)
                return false;
        const Kernel *first = l->kernel[1], *second = l->kernel[2];
        if (first->op != K_MATMUL || first->rows != ROWS_ACTIVE || !is_exchanged(first) ||
            first->code->nwritten != 1 ||
            only_statement(own_function(first), STMT_MATMUL)->call.matmul->npart != 1 ||
            second->ranks.exchange_after != repeat)
                return false;
        const Buffer *b = first->code->written[0];
        return b->home == IN_ARENA && !b->part_of && !b->alias && !b->replicated && !b->region &&
               b->slots == 1 && b->storage == STORAGE_F32 &&
               b->size <= MOST_BYTES / repeat->repeat.region->iterations &&
               !code_reads(first->code, second->code->written[0]) && is_read_by_one(p, second, b);
}

/* Memory for each iteration, at the end of the arena; the pool of pages, which follows, moves on. */
static void give_places(Plan *p, Buffer *b, Region *r)
{
        const int64_t pool = pool_offset(p);
        b->region = r;
        b->slots = r->iterations;
        b->slot_stride = round_up(b->size, 64);
        b->size = b->slots * b->slot_stride;
        b->offset = round_up(p->bytes.arena, 64);
        p->bytes.arena = b->offset + b->size;
        for (int i = 0; i < p->nbuffer; i++)
                if (p->buffer[i]->paged && !p->buffer[i]->part_of)
                        p->buffer[i]->offset += pool_offset(p) - pool;
}

static void find_split(Plan *p, Kernel *repeat)
{
        const KernelList *l = &p->list[body_number(p, repeat->repeat.region->body[0])];
        if (!can_be_split(p, repeat, l))
                return;
        repeat->repeat.split = 2;
        l->kernel[1]->ranks.exchange_between = repeat;
        give_places(p, l->kernel[1]->code->written[0], repeat->repeat.region);
}

void find_exchanges_once(Plan *p)
{
        for (int i = 0; i < p->all.n; i++) {
                Kernel *repeat = p->all.kernel[i];
                if (repeat->op != K_REPEAT || repeat->repeat.staged || repeat->repeat.region->nbody > 1)
                        continue;
                const KernelList *l = &p->list[body_number(p, repeat->repeat.region->body[0])];
                for (int k = 0; k < l->n; k++)
                        if (l->kernel[k]->code && can_be_exchanged_after(p, repeat, l->kernel[k]))
                                l->kernel[k]->ranks.exchange_after = repeat;
                find_split(p, repeat);
        }
}
