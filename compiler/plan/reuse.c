/* Reuse: stores a value in the memory of one of its operands, element by element.
 *
 *      x = x + attention(..)       each thread loads an element of x and stores the sum there: one buffer, not two
 *
 * A kernel may store `to` in the memory of `from` under two conditions.  First, its only loads of `from` are,
 * for each stored element, the element at the same offset, before the store; or, for folds over a row, the
 * elements of the row that it then stores.  Second, `from` is not read afterwards.  Either its life ends
 * there; or it is carried by a repeat, no kernel accesses it while `to` is live, and the last kernel that
 * reads `to` stores the next carried value, again in place.
 *
 * Expects Code of all kernels.  Sets Buffer.alias, and extends the life of a buffer to that of its
 * aliases. */
#include "plan_private.h"

/* --- one kernel ----------------------------------------------------------------------------------------------------- */

typedef struct {
        const Stmt *stmt;
        int n; /* how many there are */
} Found;

static bool is_at(const Stmt *s, const Buffer *b)
{
        return s->buffer && whole_buffer(s->buffer) == b;
}

static void find_stores(const StmtList *list, const Buffer *b, Found *found)
{
        for (int i = 0; i < list->n; i++) {
                const Stmt *s = &list->stmt[i];
                if (s->op == STMT_STORE && is_at(s, b))
                        *found = (Found){s, found->n + 1};
                if (s->inside)
                        find_stores(s->inside, b, found);
        }
}

static bool same_elements(const Stmt *load, const Stmt *store)
{
        return load->op == STMT_LOAD && !load->buffer->part_of && !store->buffer->part_of &&
               load->step == store->step && index_same(load->at, store->at);
}

/* Whether all accesses of a list to `from` are loads of the stored elements, before the store. */
static bool loads_fit(const StmtList *list, const Buffer *from, const Stmt *store, bool *stored)
{
        for (int i = 0; i < list->n; i++) {
                const Stmt *s = &list->stmt[i];
                if (is_at(s, from) && (*stored || !same_elements(s, store)))
                        return false;
                if (s->inside && !loads_fit(s->inside, from, store, stored))
                        return false;
                *stored |= s == store;
        }
        return true;
}

static bool buffer_is_operand(const Function *f, const Buffer *b)
{
        const Stmt *first = f->body.stmt;
        return first->op == STMT_MATMUL && whole_buffer(first->call.matmul->x.buffer) == b;
}

/* Whether k may store `to` in the memory of `from`. */
static bool is_in_place(const Kernel *k, const Buffer *from, const Buffer *to)
{
        const Code *c = k->code;
        Found store = {0};
        const Function *own = NULL;
        if ((k->op != K_LOOP && k->op != K_MATMUL) || k->rows == ROWS_ACTIVE || k->from_copy ||
            code_reads(c, to))
                return false;
        for (int i = 0; i < c->n; i++) {
                int before = store.n;
                find_stores(&c->function[i]->body, to, &store);
                own = store.n > before ? c->function[i] : own;
        }
        if (store.n != 1 || store.stmt->lanes == ONE_LANE)
                return false;
        for (int i = 0; i < c->n; i++) {
                bool stored = c->function[i] != own; /* then nothing fits */
                if (buffer_is_operand(c->function[i], from) ||
                    !loads_fit(&c->function[i]->body, from, store.stmt, &stored))
                        return false;
        }
        return true;
}

/* --- all kernels ------------------------------------------------------------------------------------------------------ */

static Buffer *allocation_root(Buffer *b)
{
        b = whole_buffer(b);
        while (b->alias)
                b = b->alias;
        return b;
}

/* Whether a kernel between two steps reads the memory of `place`.  None only stores there. */
static bool is_read_between(const Plan *p, int after, int before, const Buffer *place)
{
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i];
                for (int r = 0; k->order.step > after && k->order.step < before && r < k->code->nread; r++)
                        if (allocation_root(k->code->read[r]) == place)
                                return true;
        }
        return false;
}

/* Whether the last kernel that reads `to`, in the same body, stores the next value of `place` in the memory
 * of `to`. */
static bool is_given_back(const Plan *p, const Kernel *k, const Buffer *to, const Buffer *place)
{
        const KernelList *l = &p->list[body_number(p, k->body)];
        for (int i = 0; i < l->n; i++) {
                const Kernel *last = l->kernel[i];
                if (last->order.step != to->last)
                        continue;
                for (int w = 0; w < last->code->nwritten; w++)
                        if (allocation_root(last->code->written[w]) == place &&
                            is_in_place(last, to, last->code->written[w]))
                                return !is_read_between(p, k->order.step, last->order.step, place);
        }
        return false;
}

/* Whether the rows of a batch's sequences begin at the same offsets in both. */
static bool same_sequences(const Plan *p, const Buffer *a, const Buffer *b)
{
        return p->slots == 1 ||
               (dim_equal(sequence_rows(p, a), sequence_rows(p, b)) && sequence_row(a) == sequence_row(b));
}

static bool takes_place(const Plan *p, const Kernel *k, Buffer *to, const Buffer *from)
{
        const Buffer *place = allocation_root((Buffer *)from);
        return to->home == IN_ARENA && !to->alias && to->first == k->order.step && from->home == IN_ARENA &&
               to->size == place->size && to->storage == place->storage && same_sequences(p, to, place) &&
               to->replicated == place->replicated && is_in_place(k, from, to) &&
               (place->last == k->order.step || is_given_back(p, k, to, place));
}

static void share_places(const Plan *p, const Kernel *k)
{
        for (int w = 0; w < k->code->nwritten; w++)
                for (int r = 0; r < k->code->nread; r++) {
                        Buffer *to = k->code->written[w], *place = allocation_root(k->code->read[r]);
                        if (!takes_place(p, k, to, k->code->read[r]))
                                continue;
                        to->alias = place;
                        place->last = to->last > place->last ? to->last : place->last;
                        break;
                }
}

bool pass_reuse(Plan *p, Diag *diag)
{
        (void)diag;
        find_lives(p);
        if (p->off[PASS_reuse])
                return true;
        for (int i = 0; i < p->all.n; i++)
                if (p->all.kernel[i]->op != K_REPEAT)
                        share_places(p, p->all.kernel[i]);
        return true;
}
