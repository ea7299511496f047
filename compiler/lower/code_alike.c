/* Finds kernels with the same computation on different buffers: all norms of a shape are one function in
 * C.
 *
 * It compares the functions that threads run, if their statements call no runtime kernel. */
#include <string.h>

#include "lower_private.h"

static bool loops_alike(const CodeLoop *a, const CodeLoop *b)
{
        return dim_equal(a->size, b->size) && a->active == b->active && a->together == b->together;
}

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

/* Whether both are the same pointer of their functions, with the same storage. */
static bool buffers_alike(const Function *f, Buffer *a, const Function *g, Buffer *b)
{
        if (!a || !b)
                return a == b;
        return pointer_number(f, a) == pointer_number(g, b) && a->storage == b->storage &&
               a->group == b->group && a->home != IN_LITERAL && b->home != IN_LITERAL &&
               !has_slot_table(pointed_buffer(a)) && !has_slot_table(pointed_buffer(b));
}

static bool lists_alike(const Function *f, const StmtList *a, const Function *g, const StmtList *b);

static bool statements_alike(const Function *f, const Stmt *s, const Function *g, const Stmt *t)
{
        if (s->op != t->op || s->op >= STMT_BOUNDS || s->op == STMT_PER_ITERATION ||
            s->compute != t->compute || s->f64 != t->f64 || s->to != t->to || s->nfrom != t->nfrom ||
            memcmp(s->from, t->from, (size_t)s->nfrom * sizeof *s->from) != 0 ||
            memcmp(&s->value, &t->value, sizeof s->value) != 0 || s->variant != t->variant ||
            s->step != t->step || s->lanes != t->lanes || s->begin != t->begin || s->end != t->end)
                return false;
        if (!buffers_alike(f, s->buffer, g, t->buffer) || !index_same(s->at, t->at) ||
            !index_same(s->high, t->high) || !s->over != !t->over ||
            (s->over && (!loops_alike(s->over, t->over) || s->over->from_first != t->over->from_first)))
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
 * a shared function takes buffers alone. */
bool may_be_shared(const Kernel *k)
{
        const Code *c = k->code;
        const Function *f = c ? c->function[0] : NULL;
        return k->op == K_LOOP && c && c->n == 1 && f->role == WHOLE_KERNEL && f->body.n == 1 &&
               f->body.stmt[0].op == STMT_ROWS && f->body.stmt[0].end - f->body.stmt[0].begin == 1 &&
               !f->loop[f->body.stmt[0].begin].active && k->batching <= BATCH_ROWS && !k->ranks.sharded &&
               !along_around(k->body) && k->rows != ROWS_AT_START && !k->ranks.by_rows &&
               !k->ranks.row_loop && statements_alike(f, &f->body.stmt[0], f, &f->body.stmt[0]);
}

bool kernels_alike(const Kernel *k, const Kernel *other)
{
        const Function *f = k->code->function[0], *g = other->code->function[0];
        bool alike = k->one_row == other->one_row && k->batching == other->batching && f->nloop == g->nloop &&
                     f->npointer == g->npointer && lists_alike(f, &f->body, g, &g->body);
        for (int i = 0; i < f->nloop && alike; i++)
                alike = loops_alike(&f->loop[i], &g->loop[i]) &&
                        (i == f->body.stmt[0].begin || f->loop[i].from_first == g->loop[i].from_first);
        return alike;
}
