/* Code, one statement after the other, with the bits of the emitted program: vectors are computed by the runtime's own functions,
 * which libtcc's code calls too. */
#include "interpret_private.h"

#include <math.h>
#include <string.h>

/* --- integers and memory ------------------------------------------------------------------------------------------- */

static int64_t size_of(const Frame *f, Dim d)
{
        int64_t n = d.fixed;
        for (int i = 0; i < MAX_NAMED; i++)
                if (d.per[i])
                        n += d.per[i] * (i == NAMED_FIRST  ? f->m->first
                                         : i >= NAMED_BASE ? f->m->base[i - NAMED_BASE]
                                                           : f->m->named[i]);
        return n;
}

static int64_t value_of(const Frame *f, const Index *x)
{
        int64_t a = x->a ? value_of(f, x->a) : 0, b = x->b ? value_of(f, x->b) : 0, sum;
        switch (x->op) {
        case INDEX_SUM:
                sum = size_of(f, x->offset);
                for (int i = 0; i < x->nterm; i++)
                        sum += x->term[i].coef * value_of(f, x->term[i].of);
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
        case INDEX_LEAST: return a < b ? a : b;
        case INDEX_MOST: return a > b ? a : b;
        case INDEX_HELD: return page_row(f->m->page_of, a);
        case INDEX_TABLE: return (int64_t)x->table->attr.literal->value[a];
        }
        return 0;
}

/* The number of this iteration among those of all repeats up to region. */
static int64_t iteration_of(const Frame *f, const Region *region)
{
        const Region *nest[MAX_NEST];
        int n = iterations_around(f->kernel->body, nest);
        int64_t iteration = 0;
        for (int i = 0; i < n; i++) {
                iteration = iteration * nest[i]->iterations + f->iteration[i];
                if (nest[i] == region)
                        return iteration;
        }
        return iteration;
}

/* In the repeat itself. */
static int64_t own_iteration(const Frame *f, const Region *region)
{
        return iteration_of(f, region) % region->iterations;
}

static int64_t slot_of(const Frame *f, const Buffer *b)
{
        if (!b->region || b->slots == 1)
                return 0;
        if (b->home == IN_ARENA)
                return own_iteration(f, b->region) * b->slot_stride;
        int64_t iteration = iteration_of(f, b->region);
        return (b->slot_of ? b->slot_of[iteration] : iteration) * b->slot_stride;
}

/* Where element `at` of a buffer lies. */
static void *element(const Frame *f, Buffer *b, int64_t at)
{
        const CodeInstance *m = f->m;
        const Graph *g = f->own->plan->graph;
        Buffer *own = pointed_buffer(b), *whole = whole_buffer(own);
        while (whole->alias)
                whole = whole->alias;
        char *home = NULL;
        int64_t offset = whole->offset + slot_of(f, own), from = buffer_size(b, at);
        switch (own->home) {
        case IN_ARENA: home = (char *)m->head.arena; break;
        case IN_WEIGHTS: home = (char *)m->head.weights; break;
        case IN_STATE: home = (char *)(whole->paged ? m->head.arena : m->head.state); break;
        case IN_INPUT: return (char *)m->pointer[own->index] + from;
        case IN_OUTPUT: return (char *)m->pointer[g->ninput + own->index] + from;
        case IN_LITERAL: return (char *)f->own->literal[own->id] + slot_of(f, own) + from;
        }
        if (own->own && m->named[g->time] == 1)
                offset += f->thread * storage_size(own->storage, own_row(f->own->plan, own));
        if (whole->apart)
                offset += m->slot * (whole->size / f->own->plan->slots);
        return home + offset + from;
}

static void *place(const Frame *f, Operand o)
{
        return element(f, o.buffer, value_of(f, o.at));
}

/* --- vectors ---------------------------------------------------------------------------------------------------------- */

typedef void Set1(float *r, float x);
typedef void FarSet1(double *r, double x);
typedef void Unary(void *r, const void *a);
typedef void Binary(void *r, const void *a, const void *b);
typedef void Ternary(void *r, const void *a, const void *b, const void *c);
typedef void Keep(float *r, const float *x, int n, float rest);
typedef void FarKeep(double *r, const double *x, int n, double rest);
typedef float Fold(const float *x);
typedef double FarFold(const double *x);
typedef void LoadN(void *r, const void *p, int n);
typedef void LoadStrided(void *r, const void *p, int64_t stride, int n);
typedef void Gather(void *r, const void *base, const void *index, int64_t stride);
typedef void StoreN(void *p, const void *x, int n);
typedef void StoreStrided(void *p, int64_t stride, const void *x, int n);

/* set1, iota and clamp's limit take a number of their own kind */
static void with_number(const Frame *f, KernelFunction *const *set, const Stmt *s, double value)
{
        if (s->far)
                ((FarSet1 *)set[1])(f->t[s->to].w, value);
        else
                ((Set1 *)set[0])(f->t[s->to].v, (float)value);
}

static void run_compute(const Frame *f, const Stmt *s)
{
        KernelFunction *compute = f->own->run.compute[s->compute][s->far];
        Vector *t = f->t, *r = &t[s->to];
        if (s->nfrom == 1)
                ((Unary *)compute)(r, &t[s->from[0]]);
        else if (s->nfrom == 2)
                ((Binary *)compute)(r, &t[s->from[0]], &t[s->from[1]]);
        else
                ((Ternary *)compute)(r, &t[s->from[0]], &t[s->from[1]], &t[s->from[2]]);
}

static void run_across(const Frame *f, const Stmt *s)
{
        KernelFunction *const *fold = s->compute == OP_MAX ? f->own->run.most : f->own->run.sum;
        const Vector *x = &f->t[s->from[0]];
        double value = s->far ? ((FarFold *)fold[1])(x->w) : (double)((Fold *)fold[0])(x->v);
        with_number(f, f->own->run.set, s, value);
}

static void run_keep(const Frame *f, const Stmt *s)
{
        const Vector *x = &f->t[s->from[0]];
        if (s->far)
                ((FarKeep *)f->own->run.keep[1])(f->t[s->to].w, x->w, f->rest, s->value);
        else
                ((Keep *)f->own->run.keep[0])(f->t[s->to].v, x->v, f->rest, (float)s->value);
}

typedef void Clamp(float *r, const float *x, float last);
typedef void FarClamp(double *r, const double *x, double last);

static void run_clamp(const Frame *f, const Stmt *s)
{
        const Vector *x = &f->t[s->from[0]];
        double last = (double)value_of(f, s->at);
        if (s->far)
                ((FarClamp *)f->own->run.clamp[1])(f->t[s->to].w, x->w, last);
        else
                ((Clamp *)f->own->run.clamp[0])(f->t[s->to].v, x->v, (float)last);
}

static int lanes_of(const Frame *f, const Stmt *s)
{
        return s->lanes == REST_LANES ? f->rest : s->lanes;
}

typedef void LoadBlocks(void *r, int storage, const void *array, int64_t at, int64_t stride, int n);
typedef void GatherBlocks(void *r, int storage, const void *array, int64_t at, const void *index);

/* Elements in blocks have no addresses. */
static void load_blocks(const Frame *f, Buffer *b, const Index *at, void *r, int64_t step, int n)
{
        ((LoadBlocks *)f->own->run.block_load)(r, storage_number(b), element(f, b, 0), value_of(f, at), step,
                                               n);
}

static void run_load(const Frame *f, const Stmt *s)
{
        Storage e = s->buffer->storage;
        if (is_in_blocks(e)) {
                load_blocks(f, s->buffer, s->at, &f->t[s->to], s->step, lanes_of(f, s));
                return;
        }
        const void *p = element(f, s->buffer, value_of(f, s->at));
        Vector *r = &f->t[s->to];
        if (s->step != 1)
                ((LoadStrided *)f->own->run.strided[e])(r, p, s->step, lanes_of(f, s));
        else if (s->lanes == ALL_LANES)
                ((Unary *)f->own->run.load[e])(r, p);
        else
                ((LoadN *)f->own->run.load_n[e])(r, p, f->rest);
}

/* An element that is no double. */
static float number_at(const Frame *f, Buffer *b, const Index *at)
{
        float lane[LANES];
        if (is_in_blocks(b->storage))
                load_blocks(f, b, at, lane, 1, 1);
        else
                ((LoadN *)f->own->run.load_n[b->storage])(lane, element(f, b, value_of(f, at)), 1);
        return lane[0];
}

static void run_element(const Frame *f, const Stmt *s)
{
        if (s->buffer->storage == STORAGE_F64)
                ((FarSet1 *)f->own->run.set[1])(f->t[s->to].w,
                                                *(const double *)element(f, s->buffer, value_of(f, s->at)));
        else
                ((Set1 *)f->own->run.set[0])(f->t[s->to].v, number_at(f, s->buffer, s->at));
}

static void run_gather(const Frame *f, const Stmt *s)
{
        if (is_in_blocks(s->buffer->storage)) {
                ((GatherBlocks *)f->own->run.block_gather[s->which])(&f->t[s->to], storage_number(s->buffer),
                                                                     element(f, s->buffer, 0),
                                                                     value_of(f, s->at), &f->t[s->from[0]]);
                return;
        }
        KernelFunction *gather = f->own->run.gather[s->buffer->storage][s->which];
        const void *base = element(f, s->buffer, value_of(f, s->at));
        if (s->which)
                ((Binary *)gather)(&f->t[s->to], base, &f->t[s->from[0]]);
        else
                ((Gather *)gather)(&f->t[s->to], base, &f->t[s->from[0]], 1);
}

static void run_store(const Frame *f, const Stmt *s)
{
        Storage e = s->buffer->storage;
        void *p = element(f, s->buffer, value_of(f, s->at));
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

static double first_lane(const Frame *f, const Stmt *s)
{
        const Vector *x = &f->t[s->from[0]];
        return s->far ? ((FarFold *)f->own->run.first[1])(x->w)
                      : (double)((Fold *)f->own->run.first[0])(x->v);
}

/* See clamp_index() in runtime/rows.h. */
static int64_t index_within(double x, int64_t n)
{
        return !(x > 0) ? 0 : x < (double)(n - 1) ? (int64_t)x : n - 1;
}

/* --- the runtime's kernels -------------------------------------------------------------------------------------------- */

static int64_t share_of(int64_t total, int thread, int threads)
{
        return total * thread / threads;
}

static int64_t part_of(int64_t end, int64_t first, int64_t count)
{
        int64_t n = end - first;
        return n < 0 ? 0 : n < count ? n : count;
}

static void run_list(Frame *f, const StmtList *b);

static int64_t times_of(const Frame *f, int loop)
{
        const CodeLoop *l = &f->f->loop[loop];
        return l->active ? f->count : size_of(f, l->size) - (l->from_first ? f->m->first : 0);
}

static int64_t rows_of(const Frame *f, int begin, int end)
{
        int64_t rows = 1;
        for (int i = begin; i < end; i++)
                rows *= times_of(f, i);
        return rows;
}

/* The loops from `begin` to end - 1 out of one number. */
static void set_loops(Frame *f, int begin, int end, int64_t number)
{
        for (int i = end - 1; i >= begin; i--) {
                const CodeLoop *l = &f->f->loop[i];
                int64_t n = times_of(f, i), at = i > begin ? number % n : number;
                f->loop[i] = l->active ? f->active[at] : at + (l->from_first ? f->m->first : 0);
                number /= n ? n : 1;
        }
}

/* The same of any loops, the last lowest. */
static void set_loops_in(Frame *f, const int *loop, int n, int64_t number)
{
        for (int i = n - 1; i >= 0; i--) {
                int64_t times = times_of(f, loop[i]);
                f->loop[loop[i]] = i > 0 ? number % times : number;
                number /= times ? times : 1;
        }
}

static void set_rest(Frame *f, Dim size)
{
        int64_t left = size_of(f, size) - f->lane;
        f->rest = (int)(left < LANES ? left : LANES);
}

/* What a function called back finds behind its context. */
typedef struct {
        Frame *caller, own;
        int64_t around;
} Context;

static Context context_of(Frame *f, const Function *called)
{
        Context c = {.caller = f, .own = *f};
        c.own.f = called;
        c.own.t = f->t + f->own->vectors; /* the caller's own stay */
        c.own.x = f->x + f->own->vectors;
        return c;
}

static void epilogue(const void *context, int64_t row, int panel, const float *results)
{
        Context *c = (Context *)context;
        Frame *f = &c->own;
        const Function *of = f->f;
        f->m = c->caller->m;
        if (f->kernel->by_row && function_uses(f->own->plan, of)) {
                int64_t inner = rows_of(f, 1, of->nloop - 1);
                f->m = f->m->of[row / (inner ? inner : 1)];
        }
        f->given = results;
        set_loops(f, 0, of->outer, c->around);
        set_loops(f, of->outer, of->nloop - 1, row);
        f->lane = (int64_t)(of->products == 2 ? panel / 2 : panel) * LANES;
        set_rest(f, of->loop[of->lane_loop].size);
        run_list(f, &of->body);
}

static void score(const void *context, float *s, int head, int64_t row, int64_t col)
{
        Context *c = (Context *)context;
        Frame *f = &c[0].own;
        set_loops_in(f, f->f->head, f->f->nhead, head);
        if (f->f->row >= 0)
                f->loop[f->f->row] = row;
        f->lane = col;
        set_rest(f, f->f->loop[f->f->lane_loop].size);
        f->given = s;
        run_list(f, &f->f->body);
        memcpy(s, f->t[f->result].v, sizeof f->t->v);
}

static float sink(const void *context, int head, int64_t row)
{
        Context *c = (Context *)context;
        Frame *f = &c[2].own;
        set_loops_in(f, f->f->head, f->f->nhead, head);
        if (f->f->row >= 0)
                f->loop[f->f->row] = row;
        run_list(f, &f->f->body);
        return f->t[f->result].v[0];
}

static void live(const void *context, int head, int64_t row, int64_t *low, int64_t *high)
{
        Context *c = (Context *)context;
        Frame *f = &c[1].own;
        set_loops_in(f, f->f->head, f->f->nhead, head);
        if (f->f->row >= 0)
                f->loop[f->f->row] = row;
        f->low = low;
        f->high = high;
        run_list(f, &f->f->body);
}

static float *scratch_of(const Frame *f)
{
        return f->m->head.scratch + f->thread * scratch_size(f->own->plan);
}

static bool is_asked(const Frame *f, const Segment *s)
{
        const Buffer *to = whole_buffer(s->store.to);
        return to->home != IN_OUTPUT || f->m->pointer[f->own->plan->graph->ninput + to->index];
}

/* A part of a product: its panels between `from` and `to` of all. */
static void run_part(Frame *f, const MatmulCall *c, const MatmulPart *part, int64_t around, int64_t from,
                     int64_t to)
{
        const Segment *s = part->segment;
        const Kernel *k = f->kernel;
        int group = s->nproduct;
        Context context = context_of(f, part->epilogue);
        context.around = around;
        int panel0 = group * (int)part_of(from, part->first, part->panels),
            panel1 = group * (int)part_of(to, part->first, part->panels);
        const float *x = place(f, c->x);
        const void *w = element(f, s->w[0], 0);
        int storage = (int)s->w[0]->storage;
        if (!is_asked(f, s))
                return;
        const int32_t *active = k->active_only ? f->active : NULL;
        int64_t rows = k->active_only ? f->count : rows_of(f, c->outer, f->f->nloop - 1);
        for (int i = 0; i < CODE_GROUPS; i++)
                if (storage_info[storage].codes == code_group[i]) {
                        ((MatmulBlocks *)f->own->run.blocks)(&context, epilogue, scratch_of(f) + k->codes[i],
                                                             active, rows, (int)k->k_size, w, storage, group,
                                                             &s->tiling, panel0, panel1, scratch_of(f));
                        return;
                }
        if (k->active_only)
                ((MatmulActive *)f->own->run.matmul_active)(&context, epilogue, x, c->ldx, f->active,
                                                            f->count, (int)k->k_size, w, storage, group,
                                                            &s->tiling, panel0, panel1, scratch_of(f));
        else
                ((Matmul *)f->own->run.matmul)(&context, epilogue, x, c->ldx,
                                               rows_of(f, c->outer, f->f->nloop - 1), (int)k->k_size, w,
                                               storage, group, &s->tiling, panel0, panel1, scratch_of(f));
}

/* Rows as codes, for parts whose weights lie in blocks. */
static void run_codes(const Frame *f, const MatmulCall *c)
{
        const Kernel *k = f->kernel;
        const int32_t *active = k->active_only ? f->active : NULL;
        int64_t rows = k->active_only ? f->count : rows_of(f, c->outer, f->f->nloop - 1);
        for (int i = 0; i < CODE_GROUPS; i++)
                if (wants_codes(k, code_group[i]))
                        ((CodesOfRows *)f->own->run.codes)(scratch_of(f) + k->codes[i], place(f, c->x),
                                                           c->ldx, active, rows, (int)k->k_size,
                                                           code_group[i]);
}

static void run_matmul(Frame *f, const MatmulCall *c)
{
        int threads = f->m->head.threads;
        int64_t all = rows_of(f, 0, c->outer) * c->panels;
        int64_t begin = share_of(all, f->thread, threads), end = share_of(all, f->thread + 1, threads);
        for (int64_t around = begin / c->panels; around * c->panels < end; around++) {
                set_loops(f, 0, c->outer, around);
                run_codes(f, c);
                for (int i = 0; i < c->npart; i++)
                        run_part(f, c, &c->part[i], around, begin - around * c->panels,
                                 end - around * c->panels);
        }
}

typedef void MatmulActivations(float *y, int64_t y_row, const float *a, int64_t ai, int64_t ak, const void *b,
                               int64_t b_at, int storage, int64_t bk, int64_t bj, int64_t row0, int64_t row1,
                               int n, int k);
typedef void PastZeros(float *y, const float *a, int64_t ak, const void *b, int64_t b_at, int storage,
                       int64_t bk, int64_t bj, int n, int k, int zeros);

static void run_activations(const Frame *f, const ActivationCall *c)
{
        float *y = place(f, c->to);
        const float *a = place(f, c->a);
        const void *b = element(f, c->b.buffer, 0);
        int64_t at = value_of(f, c->b.at);
        int storage = storage_number(c->b.buffer);
        int n = (int)size_of(f, c->columns->size), k = (int)size_of(f, c->depth->size);
        if (c->zeros)
                ((PastZeros *)f->own->run.past_zeros)(y, a, c->a_step, b, at, storage, c->b_step, c->b_lane,
                                                      n, k, c->zeros);
        else
                ((MatmulActivations *)f->own->run.activations)(y, 0, a, 0, c->a_step, b, at, storage,
                                                               c->b_step, c->b_lane, 0, 1, n, k);
}

/* As in runtime/attention.h. */
typedef struct {
        const float *q;
        int64_t q_row, q_head;
        const void *k;
        int64_t k_head, k_tile;
        const void *v;
        int64_t v_head, v_key;
        int k_storage, v_storage;
        int64_t first_key, first_value;
        const int32_t *key_pages, *value_pages;
        float *out;
        int64_t out_row, out_head;
        int heads, kv_heads, head_dim, v_dim;
        float scale;
        int64_t keys, first_row;
        int first_head;
        const void *ctx;
        float (*sink)(const void *ctx, int head, int64_t row);
        float dead;
} AttentionRun;
typedef struct {
        int64_t begin, end, first, count;
        float *parts;
} ShareRun;
typedef void AttentionKernel(const void *a,
                             void (*score)(const void *ctx, float *s, int head, int64_t row, int64_t col),
                             void (*live)(const void *ctx, int head, int64_t row, int64_t *lo, int64_t *hi),
                             int64_t rows, const ShareRun *s, float *scratch);
typedef void AttentionShare(ShareRun *s, const void *a,
                            void (*live)(const void *ctx, int head, int64_t row, int64_t *lo, int64_t *hi),
                            int64_t rows, float *parts, int thread, int threads);
typedef void AttentionJoin(const void *a, const ShareRun *s, float *scratch, struct Team *team, int thread,
                           int threads);

static AttentionRun describe_attention(Frame *f, const AttentionCall *c, int64_t around,
                                       const Context *context)
{
        bool begins = c->row >= 0 && f->f->loop[c->row].from_first;
        set_loops_in(f, c->around, c->naround, around);
        return (AttentionRun){.q = place(f, c->q),
                              .q_row = c->q_row,
                              .q_head = c->q_head,
                              .k = place(f, c->k),
                              .k_head = c->k_head,
                              .k_tile = c->k_tile,
                              .v = place(f, c->v),
                              .v_head = c->v_head,
                              .v_key = c->v_key,
                              .k_storage = storage_number(c->k.buffer),
                              .v_storage = storage_number(c->v.buffer),
                              .first_key = size_of(f, c->first_key),
                              .first_value = size_of(f, c->first_value),
                              .key_pages = c->k_paged ? f->m->page_of : NULL,
                              .value_pages = c->v_paged ? f->m->page_of : NULL,
                              .out = place(f, c->out),
                              .out_row = c->out_row,
                              .out_head = c->out_head,
                              .heads = (int)c->heads,
                              .kv_heads = (int)c->kv_heads,
                              .head_dim = (int)c->head_dim,
                              .v_dim = (int)c->v_dim,
                              .scale = 1.0f,
                              .keys = size_of(f, c->keys),
                              .first_row = begins ? f->m->first : 0,
                              .first_head = (int)(around * c->heads),
                              .ctx = context,
                              .sink = c->sink ? sink : NULL,
                              .dead = f->kernel->dead_nan ? NAN : 0};
}

static void run_units(Frame *f, const AttentionCall *c, const Context *context, int64_t rows)
{
        int threads = f->m->head.threads, tile = f->own->plan->target->rows;
        int64_t times = 1;
        int64_t units = c->kv_heads * ((rows * (c->heads / c->kv_heads) + tile - 1) / tile);
        for (int i = 0; i < c->naround; i++)
                times *= times_of(f, c->around[i]);
        int64_t all = times * units, end = share_of(all, f->thread + 1, threads), next;
        for (int64_t unit = share_of(all, f->thread, threads); unit < end; unit = next) {
                int64_t around = unit / units, begin = around * units;
                next = begin + units < end ? begin + units : end;
                const AttentionRun a = describe_attention(f, c, around, context);
                const ShareRun s = {.begin = unit - begin, .end = next - begin, .count = 1};
                ((AttentionKernel *)f->own->run.attention)(&a, score, live, rows, &s, scratch_of(f));
        }
}

static void run_attention(Frame *f, const AttentionCall *c)
{
        const InstanceHead *m = &f->m->head;
        Context context[3] = {context_of(f, c->score), context_of(f, c->live)};
        if (c->sink)
                context[2] = context_of(f, c->sink);
        int64_t rows = c->row >= 0 ? times_of(f, c->row) : 1;
        if (c->naround) {
                run_units(f, c, context, rows);
                return;
        }
        const AttentionRun a = describe_attention(f, c, 0, context);
        float *parts = f->kernel->parts ? m->scratch + m->threads * scratch_size(f->own->plan) : NULL;
        ShareRun s;
        ((AttentionShare *)f->own->run.attention_share)(&s, &a, live, rows, parts, f->thread, m->threads);
        ((AttentionKernel *)f->own->run.attention)(&a, score, live, rows, &s, scratch_of(f));
        ((AttentionJoin *)f->own->run.attention_join)(&a, &s, scratch_of(f), m->team, f->thread, m->threads);
}

typedef void TopOf(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n, int64_t k);
typedef void KeepCodes(int storage, void *array, int64_t at, const float *x, int64_t step);
typedef int64_t ArgmaxOf(const float *x, int64_t x_step, int64_t n);

static void run_select(const Frame *f, const Stmt *s)
{
        const SelectCall *c = s->call.select;
        if (s->op == STMT_CODES) {
                ((KeepCodes *)f->own->run.keep_codes)(storage_number(c->to.buffer),
                                                      element(f, c->to.buffer, 0), value_of(f, c->to.at),
                                                      place(f, c->of), c->of_step);
                return;
        }
        int64_t n = size_of(f, c->over->size);
        if (s->op == STMT_TOP) {
                ((TopOf *)f->own->run.top)(place(f, c->to), c->to_step, place(f, c->of), c->of_step, n,
                                           c->count);
                return;
        }
        int64_t at = ((ArgmaxOf *)f->own->run.argmax)(place(f, c->of), c->of_step, n);
        if (c->to.buffer->storage == STORAGE_F64)
                *(double *)place(f, c->to) = (double)at;
        else
                *(float *)place(f, c->to) = (float)at;
}

static void run_move(const Frame *f, const MoveCall *c)
{
        bool far = c->from.buffer->storage == STORAGE_F64;
        void *to = place(f, c->to);
        if (far && c->to.buffer->storage == STORAGE_F64)
                *(double *)to = *(const double *)place(f, c->from);
        else {
                float one[LANES] = {far ? (float)*(const double *)place(f, c->from)
                                        : number_at(f, c->from.buffer, c->from.at)};
                ((StoreN *)f->own->run.store_n[c->to.buffer->storage])(to, one, 1);
        }
}

/* --- statements ------------------------------------------------------------------------------------------------------- */

static void run_lanes(Frame *f, const Stmt *s)
{
        int64_t lane = f->lane, n = size_of(f, s->over->size);
        int rest = f->rest;
        for (f->lane = s->over->from_first ? f->m->first : 0; f->lane < n; f->lane += LANES) {
                f->rest = (int)(n - f->lane < LANES ? n - f->lane : LANES);
                run_list(f, s->inside);
        }
        f->lane = lane;
        f->rest = rest;
}

static void run_rows(Frame *f, const Stmt *s)
{
        int threads = f->m->head.threads;
        int64_t rows = rows_of(f, s->begin, s->end), begin = 0, end = rows;
        bool own = f->kernel->own && f->m->named[f->own->plan->graph->time] == 1;
        if (s->op == STMT_ROWS && !own) {
                begin = share_of(rows, f->thread, threads);
                end = share_of(rows, f->thread + 1, threads);
        }
        for (f->row = begin; f->row < end; f->row++) {
                set_loops(f, s->begin, s->end, f->row);
                run_list(f, s->inside);
        }
}

static void run_per_iteration(const Frame *f, const Stmt *s)
{
        double value = s->of->attr.literal->value[own_iteration(f, s->of->body->region)];
        with_number(f, f->own->run.set, s, value);
}

static void run_stmt(Frame *f, const Stmt *s)
{
        const Functions *run = &f->own->run;
        Vector *t = f->t;
        switch (s->op) {
        case STMT_NUMBER:
        case STMT_START: with_number(f, run->set, s, s->value); break;
        case STMT_INDEX: with_number(f, run->set, s, (double)value_of(f, s->at)); break;
        case STMT_PER_ITERATION: run_per_iteration(f, s); break;
        case STMT_ELEMENT: run_element(f, s); break;
        case STMT_LOAD: run_load(f, s); break;
        case STMT_GATHER: run_gather(f, s); break;
        case STMT_COUNT: with_number(f, run->count, s, (double)value_of(f, s->at)); break;
        case STMT_GIVEN: memcpy(t[s->to].v, f->given + (size_t)LANES * (size_t)s->which, sizeof t->v); break;
        case STMT_COMPUTE: run_compute(f, s); break;
        case STMT_CONVERT: ((Unary *)run->convert[s->far])(&t[s->to], &t[s->from[0]]); break;
        case STMT_SOFT: ((Binary *)run->soft)(&t[s->to], &t[s->from[0]], &t[s->from[1]]); break;
        case STMT_PART: ((Binary *)run->part)(&t[s->to], &t[s->from[0]], &t[s->from[1]]); break;
        case STMT_KEEP: run_keep(f, s); break;
        case STMT_CLAMP: run_clamp(f, s); break;
        case STMT_ACCUMULATE:
                ((Binary *)run->compute[s->compute][s->far])(&t[s->to], &t[s->to], &t[s->from[0]]);
                break;
        case STMT_ACROSS: run_across(f, s); break;
        case STMT_STORE: run_store(f, s); break;
        case STMT_PLACE: f->x[s->to] = index_within(first_lane(f, s), value_of(f, s->at)); break;
        case STMT_INTEGER: f->x[s->to] = value_of(f, s->at); break;
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
                        *f->low = value_of(f, s->at);
                if (s->high)
                        *f->high = value_of(f, s->high);
                break;
        case STMT_MATMUL: run_matmul(f, s->call.matmul); break;
        case STMT_ACTIVATION_MATMUL: run_activations(f, s->call.activation); break;
        case STMT_ATTENTION: run_attention(f, s->call.attention); break;
        case STMT_TOP:
        case STMT_ARGMAX:
        case STMT_CODES: run_select(f, s); break;
        case STMT_MOVE: run_move(f, s->call.move); break;
        case STMT_COLLECTIVE: /* of one machine: nothing is to be done */
        case STMT_END: break;
        }
}

static void run_list(Frame *f, const StmtList *b)
{
        for (int i = 0; i < b->n; i++)
                run_stmt(f, &b->stmt[i]);
}

void run_function(Frame *f)
{
        run_list(f, &f->f->body);
}
