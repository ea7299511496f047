/* Finds kernels with the same computation on different buffers: all norms of a shape are one function in
 * C.
 *
 * It compares the functions that threads run, if their statements call no runtime kernel. */
#include <string.h>

#include "lower_private.h"

static int pointer_number(const Function *f, Buffer *b)
{
        int i = 0;
        while (i < f->npointer && f->pointer[i] != pointed_buffer(b))
                i++;
        return i;
}

/* Whether a table gives the slot of an iteration. */
static bool has_slot_table(const Buffer *b)
{
        const Region *nest[MAX_NEST];
        Body within = {.region = b->region};
        int64_t iterations = 1;
        for (int i = iterations_around(&within, nest) - 1; i >= 0; i--)
                iterations *= nest[i]->iterations;
        return b->slot_of && b->slots > 1 && b->slots != iterations;
}

/* Whether both are the same pointer of their functions, with the same storage, that a function may take. */
static bool buffers_alike(const Function *f, Buffer *a, const Function *g, Buffer *b)
{
        if (!a)
                return true;
        return pointer_number(f, a) == pointer_number(g, b) && a->storage == b->storage &&
               a->group == b->group && a->home != IN_LITERAL && !has_slot_table(pointed_buffer(a));
}

static bool lists_alike(const Function *f, const StmtList *a, const Function *g, const StmtList *b);

static bool statements_alike(const Function *f, const Stmt *s, const Function *g, const Stmt *t)
{
        if (s->op != t->op || s->op >= STMT_BOUNDS || s->op == STMT_PER_ITERATION ||
            s->compute != t->compute || s->f64 != t->f64 || s->to != t->to ||
            memcmp(s->from, t->from, (size_t)s->nfrom * sizeof *s->from) != 0 ||
            memcmp(&s->value, &t->value, sizeof s->value) != 0 || s->step != t->step || s->lanes != t->lanes)
                return false;
        if (!buffers_alike(f, s->buffer, g, t->buffer) || !index_same(s->at, t->at) ||
            (s->over && !dim_equal(s->over->size, t->over->size)))
                return false;
        return !s->inside || lists_alike(f, s->inside, g, t->inside);
}

static bool lists_alike(const Function *f, const StmtList *a, const Function *g, const StmtList *b)
{
        for (int i = 0; i < a->n && a->n == b->n; i++)
                if (!statements_alike(f, &a->stmt[i], g, &b->stmt[i]))
                        return false;
        return a->n == b->n;
}

/* Kernels with rows in one loop, which threads share, and which ranks do not share; of all positions and calls:
 * a shared function takes buffers alone.  A kernel that may be shared is like itself. */
bool may_be_shared(const Kernel *k)
{
        if (k->op != K_LOOP)
                return false;
        const Function *f = k->code->function[0];
        const Stmt *rows = &f->body.stmt[0];
        return rows->end == 1 && !f->loop[0].active && k->batching <= BATCH_ROWS && !k->ranks.sharded &&
               !along_around(k->body) && k->rows != ROWS_AT_START && !k->ranks.by_rows &&
               !k->ranks.row_loop && statements_alike(f, rows, f, rows);
}

bool kernels_alike(const Kernel *k, const Kernel *other)
{
        const Function *f = k->code->function[0], *g = other->code->function[0];
        return k->one_row == other->one_row && k->batching == other->batching &&
               dim_equal(f->loop[0].size, g->loop[0].size) && lists_alike(f, &f->body, g, &g->body);
}
