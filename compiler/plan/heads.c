/* Heads: which part of a buffer each thread accesses in a call of one row.
 *
 * Threads share the heads of loops over heads and of attention.  If the number of threads divides the number of heads of keys, thread t of T has
 * the heads from t / T of them to (t + 1) / T, in every such kernel.  It stores the elements of its heads and reads them in the next kernel, so no
 * thread waits for another.  (Attention of one row by blocks of keys is for other numbers of threads.)
 *
 *      element = head * step + rest, 0 <= rest < step: modulo heads * step this gives the head, and so the thread
 *
 * Two kernels with the same modulus for a buffer access, thread by thread, the same elements of it.  The same holds for ranks: shard.c leaves a
 * product without an exchange if its readers have the same modulus. */
#include "lower/code.h"
#include "plan_private.h"

typedef struct {
        const Plan *plan;
        const Function *f;
        const Buffer *buffer; /* whole */
        int head;             /* loop of the heads, or -1 */
        int64_t heads;
        int64_t modulus; /* of the accesses so far; 0: none, -1: not by heads */
} Seen;

typedef struct {
        int64_t step, low, high; /* head * step + low to high */
} HeadRest;

static const CodeLoop *lanes_around(const Stmt *around)
{
        return around->op == STMT_LANES ? around->over : NULL;
}

static bool add_turns(const Seen *s, HeadRest *rest, const CodeLoop *l, int64_t scale, bool whole)
{
        const int time = s->plan->graph->time;
        /* one row: 0 */
        if (time >= 0 && dim_equal(l->size, dim_named(time)))
                return !l->from_first;
        int64_t n = whole ? round_up(l->size.fixed, LANES) : l->size.fixed;
        rest->high += scale * (n - 1);
        return dim_is_fixed(l->size);
}

static bool add_index(const Seen *s, HeadRest *rest, const Index *x, int64_t scale, int64_t modulus,
                      const CodeLoop *lanes, bool whole);

/* rest += scale * d, if d = unit * (past - the first position that a state holds): these positions are in front of a call's row. */
static bool add_positions(const Plan *p, HeadRest *rest, Dim d, int64_t scale)
{
        const int past = p->graph->past;
        if (past < 0)
                return false;
        const int64_t unit = d.per[past];
        int64_t held = bound_of(p, dim_named(p->graph->time));
        d.per[past] = 0;
        for (int i = 0; i < p->windows.n; i++)
                if (d.per[NAMED_BASE + i] == -unit) {
                        d.per[NAMED_BASE + i] = 0;
                        held = p->windows.cache[i].size;
                }
        rest->high += unit * scale * (held - 1);
        return dim_is(d, 0);
}

/* One row: time is 1. */
static bool add_offset(const Seen *s, HeadRest *rest, Dim d, int64_t scale, int64_t modulus)
{
        const Plan *p = s->plan;
        const int time = p->graph->time;
        const int64_t at = (d.fixed + (time >= 0 ? d.per[time] : 0)) * scale % modulus;
        bool vanishes = true;
        d.fixed = 0;
        if (time >= 0)
                d.per[time] = 0;
        for (int i = 0; i < MAX_NAMED; i++)
                vanishes &= d.per[i] * scale % modulus == 0;
        rest->low += at;
        rest->high += at;
        return vanishes || add_positions(p, rest, d, scale);
}

static bool add_sum(const Seen *s, HeadRest *rest, const Index *x, int64_t scale, int64_t modulus,
                    const CodeLoop *lanes, bool whole)
{
        if (!add_offset(s, rest, x->offset, scale, modulus))
                return false;
        for (int i = 0; i < x->nterm; i++)
                if (!add_index(s, rest, x->term[i].of, x->term[i].coef * scale, modulus, lanes, whole))
                        return false;
        return true;
}

/* x / n, of which tiles are counted */
static bool add_quotient(const Seen *s, HeadRest *rest, const Index *x, int64_t scale, int64_t modulus,
                         const CodeLoop *lanes, bool whole)
{
        HeadRest of = {0};
        if (!add_index(s, &of, x->a, 1, modulus, lanes, whole) || of.step)
                return false;
        rest->high += scale * (of.high / x->b->offset.fixed);
        return true;
}

/* rest += scale * x, modulo `modulus` */
static bool add_index(const Seen *s, HeadRest *rest, const Index *x, int64_t scale, int64_t modulus,
                      const CodeLoop *lanes, bool whole)
{
        if (scale % modulus == 0)
                return true;
        switch (x->op) {
        case INDEX_SUM: return add_sum(s, rest, x, scale, modulus, lanes, whole);
        case INDEX_LOOP:
                if (x->number != s->head)
                        return add_turns(s, rest, &s->f->loop[x->number], scale, false);
                rest->step += scale;
                return true;
        case INDEX_LANE: return !lanes || add_turns(s, rest, lanes, scale, whole);
        case INDEX_PLUS:
                return add_index(s, rest, x->a, scale, modulus, lanes, whole) &&
                       add_index(s, rest, x->b, scale, modulus, lanes, whole);
        case INDEX_TIMES:
                return x->b->op == INDEX_SUM && dim_is_fixed(x->b->offset) &&
                       add_index(s, rest, x->a, scale * x->b->offset.fixed, modulus, lanes, whole);
        case INDEX_QUOTIENT: return add_quotient(s, rest, x, scale, modulus, lanes, whole);
        case INDEX_REMAINDER: rest->high += scale * (x->b->offset.fixed - 1); return true;
        default: return false;
        }
}

/* Distance of two neighbouring heads in an index. */
static int64_t head_step(const Seen *s, const Index *x, int64_t scale)
{
        int64_t step = x->op == INDEX_LOOP && x->number == s->head ? scale : 0;
        if (x->op == INDEX_PLUS)
                step = head_step(s, x->a, scale) + head_step(s, x->b, scale);
        for (int i = 0; x->op == INDEX_SUM && i < x->nterm; i++)
                step += head_step(s, x->term[i].of, x->term[i].coef * scale);
        return step;
}

/* Groups that share a scale are stored whole. */
static int64_t grain_of(const Buffer *b)
{
        return b->storage == STORAGE_Q8 ? b->group * (b->layout.tiled >= 0 ? LANES : 1) : 1;
}

/* One access, with heads `step` apart: elements `at` to `at` + reach. */
static void heads_see(Seen *s, const Buffer *b, const Index *at, int64_t step, int64_t reach,
                      const CodeLoop *lanes, bool whole)
{
        if (whole_buffer((Buffer *)b) != s->buffer)
                return;
        HeadRest rest = {.high = reach};
        int64_t modulus = step * s->heads;
        const Buffer *own = pointed_buffer((Buffer *)b);
        bool fits = (own == s->buffer || own->ring) && step > 0 && step % grain_of(s->buffer) == 0 &&
                    (s->modulus == 0 || s->modulus == modulus) &&
                    add_index(s, &rest, at, 1, modulus, lanes, whole) && rest.high < step;
        s->modulus = fits ? modulus : -1;
}

static void see_select(Seen *s, const Stmt *stmt, const CodeLoop *lanes)
{
        const SelectCall *c = stmt->call.select;
        bool fixed = dim_is_fixed(c->over->size);
        int64_t most = c->over->size.fixed - 1, one = stmt->op == STMT_ARGMAX ? 0 : most;
        if (stmt->op == STMT_CHOSEN)
                one = c->count - 1;
        if (stmt->op == STMT_AMONG)
                most = c->count - 1;
        heads_see(s, c->to.buffer, c->to.at, fixed ? head_step(s, c->to.at, 1) : 0, one * c->to_step, lanes,
                  false);
        heads_see(s, c->of.buffer, c->of.at, fixed ? head_step(s, c->of.at, 1) : 0, most * c->of_step, lanes,
                  false);
}

static void see_list(Seen *s, const StmtList *list, const CodeLoop *lanes)
{
        for (int i = 0; i < list->n; i++) {
                const Stmt *stmt = &list->stmt[i];
                if (stmt->op == STMT_LOAD || stmt->op == STMT_ELEMENT || stmt->op == STMT_STORE)
                        heads_see(s, stmt->buffer, stmt->at, head_step(s, stmt->at, 1), 0, lanes,
                                  stmt->lanes == ALL_LANES);
                else if (stmt->op == STMT_TOP || stmt->op == STMT_CHOSEN || stmt->op == STMT_AMONG ||
                         stmt->op == STMT_ARGMAX || stmt->op == STMT_CODES)
                        see_select(s, stmt, lanes);
                else if (stmt->buffer && whole_buffer(stmt->buffer) == s->buffer)
                        s->modulus = -1;
                if (stmt->inside)
                        see_list(s, stmt->inside, lanes_around(stmt) ? lanes_around(stmt) : lanes);
        }
}

int loop_of_heads(const Plan *p, const Function *f, const Stmt *rows)
{
        for (int i = rows->begin; i < rows->end; i++)
                if (!dim_is(f->loop[i].size, 1) && !dim_equal(f->loop[i].size, dim_named(p->graph->time)))
                        return i;
        return -1;
}

static bool see_rows(Seen *s, const Stmt *rows)
{
        s->head = loop_of_heads(s->plan, s->f, rows);
        if (s->head < 0)
                return false;
        const CodeLoop *l = &s->f->loop[s->head];
        s->heads = l->size.fixed;
        if (!dim_is_fixed(l->size) || s->heads % s->plan->heads)
                return false;
        for (int i = rows->begin; i < rows->end; i++)
                if (s->f->loop[i].from_first || s->f->loop[i].active)
                        return false;
        see_list(s, rows->inside, NULL);
        return true;
}

static bool is_by_heads(const Plan *p, const Function *f, const AttentionCall *c)
{
        const CodeLoop *row = c->row < 0 ? NULL : &f->loop[c->row];
        return c->naround == 0 && c->kv_heads > 1 && !c->weigh &&
               (!row || (!row->from_first && dim_equal(row->size, dim_named(p->graph->time))));
}

/* Keys or values of attention, with heads `head` apart and positions `step` apart; each has `reach` more
 * elements.  Either all heads are within a position, or all positions within a head. */
static void see_kept(Seen *s, const Operand *o, int64_t head, int64_t step, int64_t reach)
{
        const bool apart = whole_buffer(o->buffer)->per_head, within = head && step % (head * s->heads) == 0;
        heads_see(s, o->buffer, o->at, apart || within ? head : 0, apart ? head - 1 : reach, NULL, false);
}

static bool heads_see_attention(Seen *s, const AttentionCall *c)
{
        if (!is_by_heads(s->plan, s->f, c))
                return false;
        s->head = -1;
        s->heads = c->heads;
        heads_see(s, c->q.buffer, c->q.at, c->q_head, c->head_dim - 1, NULL, false);
        heads_see(s, c->out.buffer, c->out.at, c->out_head, c->v_dim - 1, NULL, false);
        if (whole_buffer(c->chosen.buffer) == s->buffer)
                s->modulus = -1;
        s->heads = c->kv_heads;
        int64_t keys = c->k_key ? c->k_key : c->k_tile, lanes = c->k_key ? 1 : LANES;
        see_kept(s, &c->k, c->k_head, keys, c->head_dim * lanes - 1);
        see_kept(s, &c->v, c->v_head, c->v_key, c->v_dim - 1);
        return true;
}

static const AttentionCall *attention_of(const Kernel *k)
{
        return own_function(k)->body.stmt[0].call.attention;
}

int64_t heads_modulus(const Plan *p, const Kernel *k, const Buffer *b)
{
        if (p->heads < 2 || (k->op != K_LOOP && k->op != K_ATTENTION && k->op != K_SELECT) ||
            k->one_row == ONE_ROW_REPLICATED || k->part || along_around(k->body))
                return 0;
        const Function *f = k->code->function[k->code->n - 1];
        Seen s = {.plan = p, .f = f, .buffer = b};
        for (int i = 0; i < k->code->n - 1; i++)
                if (function_accesses(k->code->function[i], b))
                        return 0;
        for (int i = 0; i < f->body.n; i++)
                if (!(k->op == K_ATTENTION ? heads_see_attention(&s, attention_of(k))
                                           : see_rows(&s, &f->body.stmt[i])))
                        return 0;
        return s.modulus > 0 ? s.modulus : 0;
}

bool stores_by_columns(const Plan *p, const Function *f, const Stmt *store, int64_t n)
{
        const Seen s = {.plan = p, .f = f, .head = -1};
        HeadRest rest = {0};
        return store->step == 1 && add_index(&s, &rest, store->at, 1, n, NULL, false) && rest.low == 0 &&
               rest.high == 0;
}

/* --- parts of an along ------------------------------------------------------------------------------------------ */

/* The outermost loop over the units of a statement that threads share: over its parts; -1: none. */
static int loop_of_parts(const Stmt *s)
{
        int n;
        const int *around = loops_around(s, &n);
        return n > 0 ? around[0] : s->begin < s->end ? s->begin : -1;
}

/* The largest number of parts, each of consecutive units, into which threads could share the kernel.  0: none */
static int64_t parts_of_kernel(const Kernel *k)
{
        const Function *f = own_function(k);
        int64_t parts = 0;
        for (int i = 0; i < f->body.n; i++) {
                const int loop = loop_of_parts(&f->body.stmt[i]);
                if (loop < 0 || !dim_is_fixed(f->loop[loop].size))
                        return 0;
                parts = common_divisor(parts, f->loop[loop].size.fixed);
        }
        return parts;
}

static void see_activation(Seen *s, const ActivationCall *c)
{
        const int64_t rows = c->row < 0 ? 0 : s->f->loop[c->row].size.fixed - 1;
        const bool fixed = dim_is_fixed(c->columns->size) && dim_is_fixed(c->depth->size) &&
                           (c->row < 0 || dim_is_fixed(s->f->loop[c->row].size));
        const int64_t columns = c->columns->size.fixed - 1, depth = c->depth->size.fixed - 1;
        heads_see(s, c->to.buffer, c->to.at, fixed ? head_step(s, c->to.at, 1) : 0,
                  c->to_row * rows + columns, NULL, false);
        heads_see(s, c->a.buffer, c->a.at, fixed ? head_step(s, c->a.at, 1) : 0,
                  c->a_row * rows + c->a_step * depth, NULL, false);
        heads_see(s, c->b.buffer, c->b.at, fixed ? head_step(s, c->b.at, 1) : 0,
                  c->b_step * depth + c->b_lane * columns, NULL, false);
}

/* As heads_modulus(), with the kernel's own parts; -1: the kernel does not access b. */
static int64_t parts_modulus(const Plan *p, const Kernel *k, const Buffer *b)
{
        const Function *f = own_function(k);
        Seen s = {.plan = p, .f = f, .buffer = b};
        if (!function_accesses(f, b))
                return -1;
        for (int i = 0; i < f->body.n; i++) {
                const Stmt *stmt = &f->body.stmt[i];
                s.head = loop_of_parts(stmt);
                s.heads = f->loop[s.head].size.fixed;
                if (stmt->op == STMT_ROWS)
                        see_list(&s, stmt->inside, NULL);
                else
                        see_activation(&s, stmt->call.activation);
        }
        return s.modulus > 0 ? s.modulus : 0;
}

static bool read_within(const KernelList *l, const Buffer *b)
{
        for (int i = 0; i < l->n; i++)
                if (code_reads(l->kernel[i]->code, b))
                        return true;
        return false;
}

/* Whether each kernel of the body accesses only its own part of b. */
static bool is_by_parts(const Plan *p, const KernelList *l, const Buffer *b)
{
        int64_t modulus = 0;
        for (int i = 0; i < l->n; i++) {
                const int64_t own = parts_modulus(p, l->kernel[i], b);
                if (own == 0 || (own > 0 && modulus > 0 && own != modulus))
                        return false;
                modulus = own > 0 ? own : modulus;
        }
        return true;
}

int64_t parts_of_along(const Plan *p, const Kernel *along)
{
        const KernelList *l = &p->list[body_number(p, along->repeat.region->body[0])];
        int64_t parts = 0;
        for (int i = 0; i < l->n; i++) {
                const Kernel *k = l->kernel[i];
                const bool simple = (k->op == K_LOOP || k->op == K_ACTIVATION_MATMUL) && k->rows == ROWS_ALL;
                const int64_t own = simple ? parts_of_kernel(k) : 0;
                if (own == 0)
                        return 0;
                parts = common_divisor(parts, own);
        }
        for (int i = 0; i < l->n && parts > 1; i++)
                for (int w = 0; w < l->kernel[i]->code->nwritten; w++) {
                        const Buffer *b = l->kernel[i]->code->written[w];
                        if (read_within(l, b) && !is_by_parts(p, l, b))
                                return 0;
                }
        return parts > 1 ? parts : 0;
}

bool runs_by_parts(const Plan *p, const Kernel *k)
{
        const Region *r = along_around(k->body);
        for (int i = 0; r && i < p->all.n; i++)
                if (p->all.kernel[i]->op == K_REPEAT && p->all.kernel[i]->repeat.region == r)
                        return p->all.kernel[i]->repeat.parts > 0;
        return false;
}

/* --- all kernels ------------------------------------------------------------------------------------------------ */

void find_heads(Plan *p)
{
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *k = p->all.kernel[i];
                if (k->op == K_ATTENTION && is_by_heads(p, own_function(k), attention_of(k)))
                        p->heads = common_divisor(p->heads, attention_of(k)->kv_heads);
        }
        for (int i = 0; i < p->all.n; i++) {
                Kernel *k = p->all.kernel[i];
                bool by_heads = k->op != K_REPEAT && k->code->nwritten > 0;
                for (int w = 0; by_heads && w < k->code->nwritten; w++)
                        by_heads = heads_modulus(p, k, k->code->written[w]) > 0;
                if (by_heads)
                        k->one_row = ONE_ROW_BY_HEADS;
        }
}
