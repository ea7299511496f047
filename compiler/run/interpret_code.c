/* Interprets Code statement by statement, with the bits of the emitted program: vectors are computed by the
 * runtime's functions, which libtcc's code calls too. */
#include "interpret_private.h"

#include <string.h>

/* --- integers and memory ------------------------------------------------------------------------------------------- */

/* The number of the iteration, or position, of a region around the kernel. */
static int64_t own_iteration(const CodeFrame *f, const Region *region)
{
        const Region *nest[MAX_NEST];
        int n = iterations_around(f->kernel->body, nest);
        for (int i = 0; i < n; i++)
                if (nest[i] == region)
                        return f->iteration[i];
        return 0;
}

int64_t frame_size(const CodeFrame *f, Dim d)
{
        int64_t n = d.fixed;
        for (int i = 0; i < MAX_NAMED; i++)
                if (d.per[i])
                        n += d.per[i] * (i == NAMED_FIRST   ? f->m->first
                                         : i >= NAMED_BASE  ? f->m->base[i - NAMED_BASE]
                                         : i >= NAMED_ALONG ? own_iteration(f, along_around(f->kernel->body))
                                                            : f->m->size[i]);
        return n;
}

int64_t frame_integer(const CodeFrame *f, const Index *x)
{
        int64_t a = x->a ? frame_integer(f, x->a) : 0, b = x->b ? frame_integer(f, x->b) : 0, sum;
        switch (x->op) {
        case INDEX_SUM:
                sum = frame_size(f, x->offset);
                for (int i = 0; i < x->nterm; i++)
                        sum += x->term[i].coef * frame_integer(f, x->term[i].of);
                return sum;
        case INDEX_LOOP: return f->loop[x->number];
        case INDEX_LANE: return f->lane;
        case INDEX_PLACE: return f->x[x->number];
        case INDEX_WHOLE: return f->m->whole;
        case INDEX_DONE: return f->m->done;
        case INDEX_PLUS: return a + b;
        case INDEX_MINUS: return a - b;
        case INDEX_TIMES: return a * b;
        case INDEX_QUOTIENT: return a / b;
        case INDEX_REMAINDER: return a % b;
        case INDEX_MIN: return a < b ? a : b;
        case INDEX_MAX: return a > b ? a : b;
        case INDEX_HELD: return page_row(f->m->page_of, a);
        case INDEX_TABLE: return (int64_t)x->table->attr.literal->value[a];
        }
        return 0;
}

/* The number of this iteration among those of all repeats up to region. */
static int64_t iteration_of(const CodeFrame *f, const Region *region)
{
        const Region *nest[MAX_NEST];
        int n = iterations_around(f->kernel->body, nest);
        int64_t iteration = 0;
        for (int i = 0; i < n; i++) {
                if (!nest[i]->along)
                        iteration = iteration * nest[i]->iterations + f->iteration[i];
                if (nest[i] == region)
                        return iteration;
        }
        return iteration;
}

static int64_t buffer_slot(const CodeFrame *f, const Buffer *b)
{
        if (!b->region || b->slots == 1)
                return 0;
        if (b->home == IN_ARENA)
                return own_iteration(f, b->region) * b->slot_stride;
        int64_t iteration = iteration_of(f, b->region);
        return (b->slot_of ? b->slot_of[iteration] : iteration) * b->slot_stride;
}

/* Of a part of a ring, before or after this position. */
static int64_t buffer_in_ring(const CodeFrame *f, const Buffer *b)
{
        if (!b->ring || !b->part_of)
                return 0;
        const int64_t past = f->m->size[f->own->plan->graph->past];
        return (past + own_iteration(f, along_around(f->kernel->body)) + b->is_after) % b->ring *
               (b->slot_stride / b->ring);
}

int64_t frame_rows_before(const Plan *p, const EngineInstance *m, Dim rows)
{
        int size = varying_size(p->graph);
        return rows.fixed * m->number + (size < 0 ? 0 : rows.per[size] * m->before);
}

/* Address of element `at` of a buffer. */
void *frame_element(const CodeFrame *f, Buffer *b, int64_t at)
{
        const EngineInstance *m = f->m;
        const Graph *g = f->own->plan->graph;
        Buffer *own = pointed_buffer(b), *whole = whole_buffer(own);
        while (whole->alias)
                whole = whole->alias;
        char *home = NULL;
        int64_t offset = whole->offset + buffer_slot(f, own) + buffer_in_ring(f, own),
                from = buffer_size(b, at);
        switch (own->home) {
        case IN_ARENA: home = (char *)m->arena; break;
        case IN_WEIGHTS: home = (char *)m->weights; break;
        case IN_STATE: home = (char *)(whole->paged ? m->arena : m->state); break;
        case IN_INPUT: return (char *)m->pointer[own->index] + from;
        case IN_OUTPUT: return (char *)m->pointer[g->ninput + own->index] + from;
        case IN_LITERAL: return (char *)f->own->literal[own->id] + buffer_slot(f, own) + from;
        }
        if (f->sees && own->home == IN_ARENA) {
                int64_t rows = frame_rows_before(f->own->plan, m, sequence_rows(f->own->plan, whole));
                if (whole->layout.tiled >= 0)
                        rows = rows / LANES + m->number;
                offset += buffer_size(whole, rows * sequence_row(whole));
        }
        if (own->replicated && m->size[g->time] == 1)
                offset += f->thread * storage_size(own->storage, own_row(f->own->plan, own));
        return home + offset + from;
}

void *frame_place(const CodeFrame *f, Operand o)
{
        return frame_element(f, o.buffer, frame_integer(f, o.at));
}

/* --- vectors ---------------------------------------------------------------------------------------------------------- */

typedef void Set1(float *r, float x);
typedef void FarSet1(double *r, double x);
typedef void Unary(void *r, const void *a);
typedef void BinaryFunction(void *r, const void *a, const void *b);
typedef void Ternary(void *r, const void *a, const void *b, const void *c);
typedef void Keep(float *r, const float *x, int n, float rest);
typedef void FarKeep(double *r, const double *x, int n, double rest);
typedef float Fold(const float *x);
typedef double WideFold(const double *x);
typedef void LoadN(void *r, const void *p, int n);
typedef void LoadStrided(void *r, const void *p, int64_t stride, int n);
typedef void Gather(void *r, const void *base, const void *index, int64_t stride);
typedef void StoreN(void *p, const void *x, int n);
typedef void StoreStrided(void *p, int64_t stride, const void *x, int n);

/* set1, iota and clamp's limit take a number of their type */
static void with_number(const CodeFrame *f, KernelFunction *const *set, const Stmt *s, double value)
{
        if (s->f64)
                ((FarSet1 *)set[1])(f->t[s->to].w, value);
        else
                ((Set1 *)set[0])(f->t[s->to].v, (float)value);
}

static void run_compute(const CodeFrame *f, const Stmt *s)
{
        KernelFunction *compute = f->own->run.compute[s->compute][s->f64];
        Vector *t = f->t, *r = &t[s->to];
        if (s->nfrom == 1)
                ((Unary *)compute)(r, &t[s->from[0]]);
        else if (s->nfrom == 2)
                ((BinaryFunction *)compute)(r, &t[s->from[0]], &t[s->from[1]]);
        else
                ((Ternary *)compute)(r, &t[s->from[0]], &t[s->from[1]], &t[s->from[2]]);
}

static void run_across(const CodeFrame *f, const Stmt *s)
{
        KernelFunction *const *fold = s->compute == OP_MAX ? f->own->run.most : f->own->run.sum;
        const Vector *x = &f->t[s->from[0]];
        double value = s->f64 ? ((WideFold *)fold[1])(x->w) : (double)((Fold *)fold[0])(x->v);
        with_number(f, f->own->run.set, s, value);
}

static void run_keep(const CodeFrame *f, const Stmt *s)
{
        const Vector *x = &f->t[s->from[0]];
        if (s->f64)
                ((FarKeep *)f->own->run.keep[1])(f->t[s->to].w, x->w, f->rest, s->value);
        else
                ((Keep *)f->own->run.keep[0])(f->t[s->to].v, x->v, f->rest, (float)s->value);
}

typedef void Clamp(float *r, const float *x, float last);
typedef void FarClamp(double *r, const double *x, double last);

static void run_clamp(const CodeFrame *f, const Stmt *s)
{
        const Vector *x = &f->t[s->from[0]];
        double last = (double)frame_integer(f, s->at);
        if (s->f64)
                ((FarClamp *)f->own->run.clamp[1])(f->t[s->to].w, x->w, last);
        else
                ((Clamp *)f->own->run.clamp[0])(f->t[s->to].v, x->v, (float)last);
}

static int lanes_of(const CodeFrame *f, const Stmt *s)
{
        return s->lanes == REST_LANES ? f->rest : s->lanes;
}

typedef void LoadBlocks(void *r, int storage, const void *array, int64_t at, int64_t stride, int n);

/* Elements in blocks have no addresses. */
static void load_blocks(const CodeFrame *f, Buffer *b, const Index *at, void *r, int64_t step, int n)
{
        ((LoadBlocks *)f->own->run.block_load)(r, storage_number(b), frame_element(f, b, 0),
                                               frame_integer(f, at), step, n);
}

static void run_load(const CodeFrame *f, const Stmt *s)
{
        Storage e = s->buffer->storage;
        if (is_in_blocks(e)) {
                load_blocks(f, s->buffer, s->at, &f->t[s->to], s->step, lanes_of(f, s));
                return;
        }
        const void *p = frame_element(f, s->buffer, frame_integer(f, s->at));
        Vector *r = &f->t[s->to];
        if (s->step != 1)
                ((LoadStrided *)f->own->run.strided[e])(r, p, s->step, lanes_of(f, s));
        else if (s->lanes == ALL_LANES)
                ((Unary *)f->own->run.load[e])(r, p);
        else
                ((LoadN *)f->own->run.load_n[e])(r, p, f->rest);
}

/* An element that is not a double. */
static float number_at(const CodeFrame *f, Buffer *b, const Index *at)
{
        float lane[LANES];
        if (is_in_blocks(b->storage))
                load_blocks(f, b, at, lane, 1, 1);
        else
                ((LoadN *)f->own->run.load_n[b->storage])(lane, frame_element(f, b, frame_integer(f, at)), 1);
        return lane[0];
}

static void run_element(const CodeFrame *f, const Stmt *s)
{
        if (s->buffer->storage == STORAGE_F64)
                ((FarSet1 *)f->own->run.set[1])(
                        f->t[s->to].w, *(const double *)frame_element(f, s->buffer, frame_integer(f, s->at)));
        else
                ((Set1 *)f->own->run.set[0])(f->t[s->to].v, number_at(f, s->buffer, s->at));
}

static void run_gather(const CodeFrame *f, const Stmt *s)
{
        KernelFunction *gather = f->own->run.gather[s->buffer->storage][s->variant];
        const void *base = frame_element(f, s->buffer, frame_integer(f, s->at));
        if (s->variant)
                ((BinaryFunction *)gather)(&f->t[s->to], base, &f->t[s->from[0]]);
        else
                ((Gather *)gather)(&f->t[s->to], base, &f->t[s->from[0]], 1);
}

static void run_store(const CodeFrame *f, const Stmt *s)
{
        Storage e = s->buffer->storage;
        void *p = frame_element(f, s->buffer, frame_integer(f, s->at));
        const Vector *x = &f->t[s->from[0]];
        if (s->lanes == ONE_LANE)
                ((StoreN *)f->own->run.store_n[e])(p, x, 1);
        else if (s->step != 1)
                ((StoreStrided *)f->own->run.store_strided[e])(p, s->step, x, lanes_of(f, s));
        else if (s->lanes == ALL_LANES)
                ((Unary *)f->own->run.store[e])(p, x);
        else
                ((StoreN *)f->own->run.store_n[e])(p, x, f->rest);
}

static double first_lane(const CodeFrame *f, const Stmt *s)
{
        const Vector *x = &f->t[s->from[0]];
        return s->f64 ? ((WideFold *)f->own->run.first[1])(x->w)
                      : (double)((Fold *)f->own->run.first[0])(x->v);
}

/* See clamp_index() in runtime/rows.h. */
static int64_t index_within(double x, int64_t n)
{
        return !(x > 0) ? 0 : x < (double)(n - 1) ? (int64_t)x : n - 1;
}

/* --- loops --------------------------------------------------------------------------------------------------------------- */

static void run_list(CodeFrame *f, const StmtList *b);

static int64_t frame_end(const CodeFrame *f, const CodeLoop *loop)
{
        int64_t more = loop->together ? f->m->sequences - 1 : 0;
        return frame_size(f, loop->size) + more * loop->size.fixed;
}

int64_t frame_times(const CodeFrame *f, int loop)
{
        const CodeLoop *l = &f->f->loop[loop];
        if (loop + 1 == f->own_loop)
                return f->own_times;
        return l->active ? f->count : frame_end(f, l) - (l->from_first ? f->m->first : 0);
}

int64_t frame_rows(const CodeFrame *f, int begin, int end)
{
        int64_t rows = 1;
        for (int i = begin; i < end; i++)
                rows *= frame_times(f, i);
        return rows;
}

/* Computes the counters of loops `begin` to end - 1 from one number. */
void frame_set_loops(CodeFrame *f, int begin, int end, int64_t number)
{
        for (int i = end - 1; i >= begin; i--) {
                const CodeLoop *l = &f->f->loop[i];
                int64_t n = frame_times(f, i), at = i > begin ? number % n : number;
                at += i + 1 == f->own_loop ? f->own_first : 0;
                f->loop[i] = l->active ? f->active[at] : at + (l->from_first ? f->m->first : 0);
                number /= n ? n : 1;
        }
}

/* The same for a list of loops, the last one lowest. */
void frame_set_loops_in(CodeFrame *f, const int *loop, int n, int64_t number)
{
        for (int i = n - 1; i >= 0; i--) {
                int64_t times = frame_times(f, loop[i]);
                f->loop[loop[i]] = (i > 0 ? number % times : number) +
                                   (f->f->loop[loop[i]].from_first ? f->m->first : 0);
                number /= times ? times : 1;
        }
}

void frame_set_rest(CodeFrame *f, const CodeLoop *lanes)
{
        int64_t left = frame_end(f, lanes) - f->lane;
        f->rest = (int)(left < LANES ? left : LANES);
}

typedef void TopOf(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n, int64_t k);
typedef void KeepCodes(int storage, void *array, int64_t at, const float *x, int64_t step);
typedef int64_t ArgmaxOf(const float *x, int64_t x_step, int64_t n);

static void run_select(const CodeFrame *f, const Stmt *s)
{
        const SelectCall *c = s->call.select;
        if (s->op == STMT_CODES) {
                ((KeepCodes *)f->own->run.keep_codes)(
                        storage_number(c->to.buffer), frame_element(f, c->to.buffer, 0),
                        frame_integer(f, c->to.at), frame_place(f, c->of), c->of_step);
                return;
        }
        int64_t n = frame_size(f, c->over->size);
        if (s->op != STMT_ARGMAX) {
                KernelFunction *run = s->op == STMT_TOP      ? f->own->run.top
                                      : s->op == STMT_CHOSEN ? f->own->run.chosen
                                                             : f->own->run.among;
                ((TopOf *)run)(frame_place(f, c->to), c->to_step, frame_place(f, c->of), c->of_step, n,
                               c->count);
                return;
        }
        int64_t at = ((ArgmaxOf *)f->own->run.argmax)(frame_place(f, c->of), c->of_step, n);
        if (c->to.buffer->storage == STORAGE_F64)
                *(double *)frame_place(f, c->to) = (double)at;
        else
                *(float *)frame_place(f, c->to) = (float)at;
}

static void run_move(const CodeFrame *f, const MoveCall *c)
{
        bool f64 = c->from.buffer->storage == STORAGE_F64;
        void *to = frame_place(f, c->to);
        if (f64 && c->to.buffer->storage == STORAGE_F64)
                *(double *)to = *(const double *)frame_place(f, c->from);
        else {
                float one[LANES] = {f64 ? (float)*(const double *)frame_place(f, c->from)
                                        : number_at(f, c->from.buffer, c->from.at)};
                ((StoreN *)f->own->run.store_n[c->to.buffer->storage])(to, one, 1);
        }
}

/* --- statements ------------------------------------------------------------------------------------------------------- */

static void run_lanes(CodeFrame *f, const Stmt *s)
{
        int64_t lane = f->lane, n = frame_end(f, s->over);
        int rest = f->rest;
        for (f->lane = s->over->from_first ? f->m->first : 0; f->lane < n; f->lane += LANES) {
                f->rest = (int)(n - f->lane < LANES ? n - f->lane : LANES);
                run_list(f, s->inside);
        }
        f->lane = lane;
        f->rest = rest;
}

static void run_rows(CodeFrame *f, const Stmt *s)
{
        int threads = f->m->threads;
        int64_t rows = frame_rows(f, s->begin, s->end), begin = 0, end = rows;
        bool own = f->kernel->one_row == ONE_ROW_REPLICATED && f->m->size[f->own->plan->graph->time] == 1;
        if (s->op == STMT_ROWS && !own) {
                begin = share_start(rows, f->thread, threads);
                end = share_start(rows, f->thread + 1, threads);
        }
        for (f->row = begin; f->row < end; f->row++) {
                frame_set_loops(f, s->begin, s->end, f->row);
                run_list(f, s->inside);
        }
}

static void run_per_iteration(const CodeFrame *f, const Stmt *s)
{
        double value = s->of->attr.literal->value[own_iteration(f, s->of->body->region)];
        with_number(f, f->own->run.set, s, value);
}

static void interpret_given(const CodeFrame *f, const Stmt *s)
{
        const int64_t at = s->at ? frame_integer(f, s->at) * f->apart : INT64_C(1) * LANES * s->variant;
        memcpy(f->t[s->to].v, f->given + at, sizeof f->t->v);
}

static void run_stmt(CodeFrame *f, const Stmt *s)
{
        const Functions *run = &f->own->run;
        Vector *t = f->t;
        switch (s->op) {
        case STMT_NUMBER:
        case STMT_START: with_number(f, run->set, s, s->value); break;
        case STMT_INDEX: with_number(f, run->set, s, (double)frame_integer(f, s->at)); break;
        case STMT_PER_ITERATION: run_per_iteration(f, s); break;
        case STMT_ELEMENT: run_element(f, s); break;
        case STMT_LOAD: run_load(f, s); break;
        case STMT_GATHER: run_gather(f, s); break;
        case STMT_COUNT: with_number(f, run->count, s, (double)frame_integer(f, s->at)); break;
        case STMT_GIVEN: interpret_given(f, s); break;
        case STMT_COMPUTE: run_compute(f, s); break;
        case STMT_MULTIPLY_ADD:
                ((Ternary *)run->multiply_add)(&t[s->to], &t[s->from[0]], &t[s->from[1]], &t[s->from[2]]);
                break;
        case STMT_CONVERT: ((Unary *)run->convert[s->f64])(&t[s->to], &t[s->from[0]]); break;
        case STMT_EXP_DIFF: ((BinaryFunction *)run->soft)(&t[s->to], &t[s->from[0]], &t[s->from[1]]); break;
        case STMT_SAFE_DIV: ((BinaryFunction *)run->part)(&t[s->to], &t[s->from[0]], &t[s->from[1]]); break;
        case STMT_KEEP: run_keep(f, s); break;
        case STMT_CLAMP: run_clamp(f, s); break;
        case STMT_ACCUMULATE:
                ((BinaryFunction *)run->compute[s->compute][s->f64])(&t[s->to], &t[s->to], &t[s->from[0]]);
                break;
        case STMT_ACROSS: run_across(f, s); break;
        case STMT_STORE: run_store(f, s); break;
        case STMT_PLACE: f->x[s->to] = index_within(first_lane(f, s), frame_integer(f, s->at)); break;
        case STMT_INTEGER: f->x[s->to] = frame_integer(f, s->at); break;
        case STMT_LANES: run_lanes(f, s); break;
        case STMT_ONE:
                f->lane = 0;
                run_list(f, s->inside);
                break;
        case STMT_ROWS:
        case STMT_ALL_ROWS: run_rows(f, s); break;
        case STMT_ACTIVE:
                if (first_lane(f, s) != 0)
                        f->finds[f->count++] = (int32_t)f->row;
                break;
        case STMT_RESULT: f->result = s->from[0]; break;
        case STMT_BOUNDS:
                if (s->at)
                        *f->low = frame_integer(f, s->at);
                if (s->high)
                        *f->high = frame_integer(f, s->high);
                break;
        case STMT_MATMUL: run_matmul(f, s->call.matmul); break;
        case STMT_ACTIVATION_MATMUL: run_activations(f, s->call.activation); break;
        case STMT_ATTENTION: run_attention(f, s->call.attention); break;
        case STMT_SCAN: run_scan(f, s->call.scan); break;
        case STMT_TOP:
        case STMT_CHOSEN:
        case STMT_AMONG:
        case STMT_ARGMAX:
        case STMT_CODES: run_select(f, s); break;
        case STMT_MOVE: run_move(f, s->call.move); break;
        case STMT_COLLECTIVE: /* one machine: nothing to do */
        case STMT_END: break;
        }
}

static void run_list(CodeFrame *f, const StmtList *b)
{
        for (int i = 0; i < b->n; i++)
                run_stmt(f, &b->stmt[i]);
}

void run_function(CodeFrame *f)
{
        run_list(f, &f->f->body);
}
