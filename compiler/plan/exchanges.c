/* Exchanges of the results that ranks computed jointly (runtime/ranks.h): after each kernel that is sharded and not by heads.
 *
 * Of the experts' repeat there is one for all its iterations:
 *
 *      for each expert: gated = f(x @ w), y += gated @ v          two exchanges for each expert in use
 *
 * An exchange copies to all ranks what each has computed; nothing is added.  The sum y is exchanged after the last iteration.  Where the data
 * flow allows it the loop is split: all iterations compute the first product, each into memory of its own, one exchange follows, and then all
 * iterations compute the second one.  The order of sums does not change. */
#include "lower/code.h"
#include "plan_private.h"

/* --- exchanges after a repeat ------------------------------------------------------------------------------------------ */

/* Whether k is a product that adds to a carried sum, as experts do, which no other kernel reads before the
 * last iteration.  k itself reads only the elements that it stores there (lay_next).  repeat: has one body. */
static bool can_be_exchanged_after(const Plan *p, const Kernel *repeat, const Kernel *k)
{
        const KernelList *l = &p->list[body_number(p, repeat->repeat.region->body[0])];
        if (k->op != K_MATMUL || !is_exchanged(k) || k->batching > BATCH_ROWS || k->code->nwritten != 1)
                return false;
        const Buffer *b = whole_buffer(k->code->written[0]);
        for (int i = 0; i < l->n; i++) {
                const Kernel *other = l->kernel[i];
                if (other->op == K_REPEAT || (other != k && code_reads(other->code, b)))
                        return false;
        }
        return is_carried_value(p, repeat->repeat.region, b);
}

/* --- loop split --------------------------------------------------------------------------------------------------------- */

/* Whether only kernel `reader` reads b. */
static bool is_read_by_one(const Plan *p, const Kernel *reader, const Buffer *b)
{
        for (int i = 0; i < p->all.n; i++)
                if (p->all.kernel[i] != reader && code_reads(p->all.kernel[i]->code, b))
                        return false;
        return true;
}

enum { MAX_BYTES = 64 << 20 }; /* bytes that the results of all iterations may take */

/* Is the body of the repeat that of experts: rows that an iteration changes, this product, and a product of its results that adds to the carried
 * sum?  Then the first products of all iterations may come before all sums. */
static bool can_be_split(const Plan *p, const Kernel *repeat, const Kernel *first)
{
        const KernelList *l = &p->list[body_number(p, repeat->repeat.region->body[0])];
        if (!repeat->repeat.active_rows || l->n != 3 || l->kernel[1] != first)
                return false;
        const Kernel *second = l->kernel[2];
        if (first->rows != ROWS_ACTIVE ||
            only_statement(own_function(first), STMT_MATMUL)->call.matmul->npart != 1 ||
            !can_be_exchanged_after(p, repeat, second))
                return false;
        const Buffer *b = first->code->written[0];
        return b->size <= MAX_BYTES / repeat->repeat.region->iterations && is_read_by_one(p, second, b);
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
                if (p->buffer[i]->paged)
                        p->buffer[i]->offset += pool_offset(p) - pool;
}

/* The repeat becomes two, of which the second one has the second product.  Returns the list of a condition between them. */
static StepList *split_repeat(Plan *p, const Kernel *repeat, Step condition)
{
        const StepPosition place = find_kernel_step(p->program, repeat);
        Step *first = place.list->step[place.at], *active = first->inside.step[0],
             *body = active->inside.step[0];
        Step *rest = step_insert(p, place.list, place.at + 1,
                                 (Step){.op = STEP_REPEAT, .kernel = repeat, .half = 2});
        first->half = 1;
        rest = step_add(p, &rest->inside, (Step){.op = STEP_ACTIVE, .kernel = active->kernel});
        rest = step_add(p, &rest->inside, (Step){.op = STEP_BODY, .kernel = repeat});
        step_add(p, &rest->inside, *body->inside.step[--body->inside.n]);
        return add_transfer(p, place.list, place.at + 1, condition);
}

/* --- all exchanges ------------------------------------------------------------------------------------------------------ */

/* Sequence by sequence?  Where the rows of a batch are one after another, all are exchanged at once. */
static bool is_exchanged_by_sequence(const Plan *p, const Kernel *k)
{
        const Function *f = own_function(k);
        const Stmt *call = only_statement(f, k->op == K_MATMUL ? STMT_MATMUL : STMT_ATTENTION);
        return k->batching == BATCH_SEQUENCES &&
               (has_whole_sequences(p) || !results_are_rows_of_all(p, k, f, call));
}

/* repeat: once for all its iterations; half 1: between its two halves. */
static void insert_exchange(Plan *p, const Kernel *k, const Kernel *repeat, int half)
{
        const Step condition = {.op = STEP_IF, .kernel = k, .when = WHEN_RANKS, .repeat = repeat};
        StepList *to = half ? split_repeat(p, repeat, condition)
                            : insert_transfer(p, repeat ? repeat : k, true, condition);
        if (!repeat)
                to = add_views(p, to, k, is_exchanged_by_sequence(p, k));
        step_add(p, add_wanted(p, to, k),
                 (Step){.op = STEP_EXCHANGE, .kernel = k, .repeat = repeat, .half = half});
}

/* The repeat of a body whose results can be exchanged once; or NULL */
static const Kernel *repeat_exchanged_once(const Plan *p, const Body *b)
{
        const KernelList *l = b->region ? &p->list[body_number(p, b->region->repeat->body)] : NULL;
        for (int i = 0; l && i < l->n; i++)
                if (l->kernel[i]->repeat.region == b->region)
                        return b->region->nbody > 1 || is_by_stages(p, l->kernel[i]) ? NULL : l->kernel[i];
        return NULL;
}

void insert_exchanges(Plan *p)
{
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i], *repeat = repeat_exchanged_once(p, k->body);
                if (!is_exchanged(k))
                        continue;
                const bool split = repeat && can_be_split(p, repeat, k),
                           once = split || (repeat && can_be_exchanged_after(p, repeat, k));
                insert_exchange(p, k, once ? repeat : NULL, split);
                if (split)
                        give_places(p, k->code->written[0], repeat->repeat.region);
        }
}
