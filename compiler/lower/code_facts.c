/* The buffers that Code reads and writes, and the parts of Code that differ between the sequences of a
 * batch. */
#include "code.h"

static void add_buffer(Arena *a, Buffer ***list, int *n, Buffer *b)
{
        b = whole_buffer(b);
        for (int i = 0; i < *n; i++)
                if ((*list)[i] == b)
                        return;
        *list = arena_grow(a, *list, *n * (int64_t)sizeof **list, (*n + 1) * (int64_t)sizeof **list);
        (*list)[(*n)++] = b;
}

typedef struct {
        const Plan *plan;
        Code *code; /* accesses are added to it; or NULL */
        unsigned uses;
} Sight;

static void see_size(Sight *f, Dim d)
{
        for (int i = 0; i < f->plan->graph->nnamed; i++)
                if (d.per[i] && i != f->plan->graph->time)
                        f->uses |= USES_POSITION;
}

static void see_index(Sight *f, const Index *x)
{
        if (!x)
                return;
        see_size(f, x->offset);
        if (x->op == INDEX_HELD)
                f->uses |= USES_STATE;
        for (int i = 0; i < x->nterm; i++)
                see_index(f, x->term[i].of);
        see_index(f, x->a);
        see_index(f, x->b);
}

static void see_buffer(Sight *f, Buffer *b, bool written)
{
        Code *c = f->code;
        if (!b)
                return;
        Buffer *whole = whole_buffer(b);
        if (whole->home == IN_STATE)
                f->uses |= USES_STATE;
        if (c && written)
                add_buffer(f->plan->graph->arena, &c->written, &c->nwritten, b);
        else if (c)
                add_buffer(f->plan->graph->arena, &c->read, &c->nread, b);
}

static void see_operand(Sight *f, Operand o, bool written)
{
        see_buffer(f, o.buffer, written);
        see_index(f, o.at);
}

static void see_loop(Sight *f, const CodeLoop *loop)
{
        if (loop)
                see_size(f, loop->size);
}

const int *loops_around(const Stmt *s, int *n)
{
        switch (s->op) {
        case STMT_ATTENTION: *n = s->call.attention->naround; return s->call.attention->around;
        case STMT_SCAN: *n = s->call.scan->naround; return s->call.scan->around;
        case STMT_ACTIVATION_MATMUL: *n = s->call.activation->naround; return s->call.activation->around;
        default: *n = 0; return NULL;
        }
}

static void facts_see_attention(Sight *f, const Function *of, const AttentionCall *c)
{
        if (c->row >= 0)
                see_loop(f, &of->loop[c->row]);
        see_operand(f, c->q, false);
        see_operand(f, c->k, false);
        see_operand(f, c->v, false);
        see_operand(f, c->chosen, false);
        see_operand(f, c->out, true);
        see_size(f, c->keys);
}

static void see_activations(Sight *f, const Function *of, const ActivationCall *c)
{
        if (c->row >= 0)
                see_loop(f, &of->loop[c->row]);
        see_operand(f, c->a, false);
        see_operand(f, c->b, false);
        see_operand(f, c->to, true);
        see_loop(f, c->columns);
        see_loop(f, c->depth);
}

static void see_scan(Sight *f, const Function *of, const ScanCall *c)
{
        see_loop(f, &of->loop[c->row]);
        see_operand(f, c->q, false);
        see_operand(f, c->k, false);
        see_operand(f, c->v, false);
        see_operand(f, c->powers, false);
        see_operand(f, c->state, false);
        see_operand(f, c->state, true);
        see_operand(f, c->out, true);
        see_size(f, c->position);
}

static void see_block(Sight *f, const Function *of, const StmtList *b);

static void see_matmul(Sight *f, const Function *of, const MatmulCall *c)
{
        see_operand(f, c->x, false);
        for (int i = 0; i < c->npart; i++)
                see_buffer(f, c->part[i].segment->w[0], false);
        for (int i = 0; i < of->nloop - 1; i++)
                see_loop(f, &of->loop[i]);
}

static void see_call(Sight *f, const Function *of, const Stmt *s)
{
        int n;
        const int *around = loops_around(s, &n);
        for (int i = 0; i < n; i++)
                see_loop(f, &of->loop[around[i]]);
        switch (s->op) {
        case STMT_MATMUL: see_matmul(f, of, s->call.matmul); break;
        case STMT_ACTIVATION_MATMUL: see_activations(f, of, s->call.activation); break;
        case STMT_ATTENTION: facts_see_attention(f, of, s->call.attention); break;
        case STMT_SCAN: see_scan(f, of, s->call.scan); break;
        case STMT_TOP:
        case STMT_CHOSEN:
        case STMT_AMONG:
        case STMT_ARGMAX:
        case STMT_CODES:
                see_operand(f, s->call.select->of, false);
                see_operand(f, s->call.select->to, true);
                see_loop(f, s->call.select->over);
                break;
        case STMT_MOVE:
                see_operand(f, s->call.move->from, false);
                see_operand(f, s->call.move->to, true);
                break;
        default: break;
        }
}

static void see_stmt(Sight *f, const Function *of, const Stmt *s)
{
        bool stores = s->op == STMT_STORE || s->op == STMT_COLLECTIVE;
        see_buffer(f, s->buffer, stores);
        see_index(f, s->at);
        see_index(f, s->high);
        see_loop(f, s->over);
        for (int i = s->begin; i < s->end; i++)
                see_loop(f, &of->loop[i]);
        see_call(f, of, s);
        if (s->inside)
                see_block(f, of, s->inside);
}

static void see_block(Sight *f, const Function *of, const StmtList *b)
{
        for (int i = 0; i < b->n; i++)
                see_stmt(f, of, &b->stmt[i]);
}

/* Loops whose counters are computed from arguments, by division by the sizes of inner loops. */
static void see_given_loops(Sight *f, const Function *of)
{
        int end = of->role == EPILOGUE ? of->nloop - 1 : 0;
        for (int i = 0; i < end; i++)
                see_loop(f, &of->loop[i]);
        for (int i = 0; i < of->nhead; i++)
                see_loop(f, &of->loop[of->head[i]]);
}

static unsigned see_function(const Plan *p, const Function *of, Code *code)
{
        Sight f = {.plan = p, .code = code};
        see_block(&f, of, &of->body);
        see_given_loops(&f, of);
        return f.uses;
}

bool sees_sequence(const Plan *p, const Kernel *k, const Function *f)
{
        return k->batching == BATCH_SEQUENCES ||
               (k->batching == BATCH_ROWS_LOOKED_UP && !rows_are_alike(p, k, f));
}

void code_facts(const Plan *p, const Kernel *k, Code *code)
{
        code->alike = true;
        for (int i = 0; i < code->n; i++) {
                code->uses |= see_function(p, code->function[i], code);
                code->own_alike = p->slots > 1 && rows_are_alike(p, k, code->function[i]);
                code->alike &= code->own_alike;
        }
}

static bool buffer_is_in(Buffer *const *list, int n, const Buffer *b)
{
        for (int i = 0; i < n; i++)
                if (list[i] == b)
                        return true;
        return false;
}

bool code_reads(const Code *c, const Buffer *b)
{
        return buffer_is_in(c->read, c->nread, b);
}

bool code_writes(const Code *c, const Buffer *b)
{
        return buffer_is_in(c->written, c->nwritten, b);
}

const Output *own_output(const Plan *p, const Kernel *k)
{
        const Buffer *to = whole_buffer(k->stores.of[0].to);
        return k->op != K_MATMUL && to->home == IN_OUTPUT ? &p->graph->output[to->index] : NULL;
}

bool may_be_unwanted(const Plan *p, const Kernel *k)
{
        uint64_t all = 0;
        for (int i = 0; i < p->graph->noutput; i++)
                all |= output_bit(p->graph, i);
        return (k->wanted & all) != all;
}

int iterations_around(const Body *b, const Region **nest)
{
        const Region *r = b->region;
        if (!r)
                return 0;
        int n = iterations_around(r->repeat->body, nest);
        nest[n] = r;
        return n + 1;
}
