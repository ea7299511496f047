/* Calls of the runtime's kernels in Code: products and attention, and their callbacks: a product's epilogue,
 * a score, a sink, the bounds of unmasked keys. */
#include "interpret_private.h"

#include <math.h>
#include <string.h>

#include "../../runtime/contraction_call.h"
#include "../../runtime/attention_call.h"

/* Context passed to a kernel's callbacks. */
typedef struct {
        CodeFrame *caller, own;
        int64_t around;
} CallbackContext;

static CallbackContext context_of(CodeFrame *f, const Function *called)
{
        CallbackContext c = {.caller = f, .own = *f};
        c.own.f = called;
        c.own.t = f->t + f->own->vectors; /* the caller's own are kept */
        c.own.x = f->x + f->own->vectors;
        return c;
}

/* The sequence of a row: as in batch_whole.h of the runtime. */
static const EngineInstance *row_sequence(const CodeFrame *f, int64_t row)
{
        const Plan *p = f->own->plan;
        const EngineInstance *m = f->m;
        int low = 0, high = m->sequences - 1;
        while (low < high) {
                int middle = (low + high + 1) / 2;
                m = view_at(f->own->plan->graph, f->m->sequence, middle);
                if (frame_rows_before(p, m, f->f->loop[0].size) <= row)
                        low = middle;
                else
                        high = middle - 1;
        }
        return view_at(f->own->plan->graph, f->m->sequence, low);
}

void frame_set_row(CodeFrame *f, const EngineInstance *m, int64_t row)
{
        const Function *of = f->f;
        const Plan *p = f->own->plan;
        f->m = m;
        if (f->sees && f->kernel->batching == BATCH_ROWS_LOOKED_UP) {
                int64_t inner = frame_rows(f, 1, of->nloop - 1), at = row / (inner ? inner : 1);
                f->m = row_sequence(f, at);
                row -= inner * frame_rows_before(p, f->m, of->loop[0].size);
        }
        frame_set_loops(f, of->outer, of->nloop - 1, row);
}

static void epilogue(const void *context, int64_t row, int panel, const float *results)
{
        CallbackContext *c = (CallbackContext *)context;
        CodeFrame *f = &c->own;
        const Function *of = f->f;
        f->m = c->caller->m;
        f->sees = c->caller->sees || sees_sequence(f->own->plan, f->kernel, of);
        f->given = results;
        frame_set_loops(f, 0, of->outer, c->around);
        frame_set_row(f, c->caller->m, row);
        f->lane = (int64_t)(of->products == 2 ? panel / 2 : panel) * LANES;
        frame_set_rest(f, &of->loop[of->lane_loop]);
        run_function(f);
}

static void set_head_and_row(CodeFrame *f, int head, int64_t row)
{
        frame_set_loops_in(f, f->f->head, f->f->nhead, head);
        if (f->f->row >= 0)
                f->loop[f->f->row] = row;
}

/* Indices of the contexts of attention's callbacks. */
enum { TO_SCORE, TO_LIVE, TO_SINK, TO_WEIGH, CALLED_BACK };

static void run_score(CodeFrame *f, float *to, const float *s, int64_t apart, int head, int64_t row,
                      int64_t col)
{
        set_head_and_row(f, head, row);
        f->lane = col;
        frame_set_rest(f, &f->f->loop[f->f->lane_loop]);
        f->given = s;
        f->apart = apart;
        run_function(f);
        memcpy(to, f->t[f->result].v, sizeof f->t->v);
}

static void score(const void *context, float *to, const float *s, int64_t apart, int head, int64_t row,
                  int64_t col)
{
        CallbackContext *c = (CallbackContext *)context;
        run_score(&c[TO_SCORE].own, to, s, apart, head, row, col);
}

static void weigh(const void *context, float *to, const float *s, int64_t apart, int head, int64_t row,
                  int64_t col)
{
        CallbackContext *c = (CallbackContext *)context;
        run_score(&c[TO_WEIGH].own, to, s, apart, head, row, col);
}

static float sink(const void *context, int head, int64_t row)
{
        CallbackContext *c = (CallbackContext *)context;
        CodeFrame *f = &c[TO_SINK].own;
        set_head_and_row(f, head, row);
        run_function(f);
        return f->t[f->result].v[0];
}

static void live(const void *context, int head, int64_t row, int64_t *low, int64_t *high)
{
        CallbackContext *c = (CallbackContext *)context;
        CodeFrame *f = &c[TO_LIVE].own;
        set_head_and_row(f, head, row);
        f->low = low;
        f->high = high;
        run_function(f);
}

static float *scratch_of(const CodeFrame *f)
{
        return f->m->scratch + f->thread * scratch_size(f->own->plan);
}

static bool is_asked(const CodeFrame *f, const Segment *s)
{
        const Buffer *to = whole_buffer(s->store.to);
        return to->home != IN_OUTPUT || f->m->pointer[f->own->plan->graph->ninput + to->index];
}

/* The address of an operand with these strides of rows and heads, for this rank's first row or head. */
static void *own_place(const CodeFrame *f, Operand o, int64_t row, int64_t head, int64_t first_head)
{
        return frame_element(f, o.buffer,
                             frame_integer(f, o.at) + (f->own_loop ? f->own_first * row : 0) +
                                     first_head * head);
}

/* End of a thread's share of panels, relative to a part; of a rank's heads, after those of earlier heads. */
static int panels_up_to(const CodeFrame *f, const MatmulPart *part, int64_t end)
{
        const int64_t heads = f->kernel->ranks.heads;
        if (!heads)
                return (int)remaining(end, part->first, part->panels);
        const OwnHeads own = rank_heads(f->by_outputs, heads);
        const int64_t n = own.end - own.first, each = part->panels / heads;
        return (int)(each * own.first + remaining(end, part->first / heads * n, each * n));
}

/* A part of a product: its panels between `from` and `to` of all. */
static void run_part(CodeFrame *f, const MatmulCall *c, const MatmulPart *part, int64_t around, int64_t from,
                     int64_t to)
{
        const Segment *s = part->segment;
        const Kernel *k = f->kernel;
        int group = s->nproduct;
        CallbackContext context = context_of(f, part->epilogue);
        context.around = around;
        int panel0 = group * panels_up_to(f, part, from), panel1 = group * panels_up_to(f, part, to);
        const float *x = own_place(f, c->x, c->ldx, 0, 0);
        const void *w = frame_element(f, s->w[0], frame_integer(f, part->w_at));
        int storage = (int)s->w[0]->storage;
        if (!is_asked(f, s))
                return;
        const int32_t *active = k->rows == ROWS_ACTIVE ? f->active : NULL;
        int64_t rows = k->rows == ROWS_ACTIVE ? f->count : frame_rows(f, c->outer, f->f->nloop - 1);
        for (int i = 0; i < CODE_GROUPS; i++)
                if (storage_info[storage].codes == code_group[i]) {
                        ((MatmulBlocks *)f->own->run.blocks)(&context, epilogue,
                                                             scratch_of(f) + k->product.codes[i], active,
                                                             rows, (int)k->product.k, w, storage, group,
                                                             &s->tiling, panel0, panel1, scratch_of(f));
                        return;
                }
        if (k->rows == ROWS_ACTIVE)
                ((MatmulActive *)f->own->run.matmul_active)(&context, epilogue, x, c->ldx, f->active,
                                                            f->count, (int)k->product.k, w, storage, group,
                                                            &s->tiling, panel0, panel1, scratch_of(f));
        else
                ((MatmulFunction *)f->own->run.matmul)(
                        &context, epilogue, x, c->ldx, frame_rows(f, c->outer, f->f->nloop - 1),
                        (int)k->product.k, w, storage, group, &s->tiling, panel0, panel1, scratch_of(f));
}

/* Converts rows to codes, for parts with weights in blocks. */
static void run_codes(const CodeFrame *f, const MatmulCall *c)
{
        const Kernel *k = f->kernel;
        const int32_t *active = k->rows == ROWS_ACTIVE ? f->active : NULL;
        int64_t rows = k->rows == ROWS_ACTIVE ? f->count : frame_rows(f, c->outer, f->f->nloop - 1);
        for (int i = 0; i < CODE_GROUPS; i++)
                if (wants_codes(k, code_group[i]))
                        ((CodesOfRows *)f->own->run.codes)(scratch_of(f) + k->product.codes[i],
                                                           own_place(f, c->x, c->ldx, 0, 0), c->ldx, active,
                                                           rows, (int)k->product.k, code_group[i]);
}

/* A thread's share of its rank's panels, by panels or by heads. */
static void run_own_panels(CodeFrame *f, const MatmulCall *c)
{
        const int threads = f->m->threads;
        const int64_t heads = f->kernel->ranks.heads;
        const OwnHeads own = rank_heads(f->by_outputs, heads ? heads : 1);
        const Ranks *ranks = heads ? NULL : f->by_outputs;
        const int64_t panels = heads ? c->panels / heads * (own.end - own.first) : c->panels;
        if (f->own_loop && f->own_times == 0)
                return;
        run_codes(f, c);
        for (int i = 0; i < c->npart; i++)
                run_part(f, c, &c->part[i], 0, rank_begin(ranks, panels, f->thread, threads),
                         rank_begin(ranks, panels, f->thread + 1, threads));
}

void run_matmul(CodeFrame *f, const MatmulCall *c)
{
        int threads = f->m->threads;
        if (f->own_loop || f->by_outputs) {
                run_own_panels(f, c);
                return;
        }
        int64_t all = frame_rows(f, 0, c->outer) * c->panels;
        int64_t begin = share_start(all, f->thread, threads), end = share_start(all, f->thread + 1, threads);
        for (int64_t around = begin / c->panels; around * c->panels < end; around++) {
                frame_set_loops(f, 0, c->outer, around);
                run_codes(f, c);
                for (int i = 0; i < c->npart; i++)
                        run_part(f, c, &c->part[i], around, begin - around * c->panels,
                                 end - around * c->panels);
        }
}

typedef void ContractKernel(const Contraction *c, int64_t unit, int64_t rows, float *scratch);

static int64_t times_of(const CodeFrame *f, const int *loop, int n)
{
        int64_t times = 1;
        for (int i = 0; i < n; i++)
                times *= frame_times(f, loop[i]);
        return times;
}

void run_activations(CodeFrame *f, const ActivationCall *c)
{
        const int threads = f->m->threads;
        const int64_t rows = c->row < 0 ? 1 : frame_times(f, c->row), units = CONTRACT_UNITS(rows),
                      all = times_of(f, c->around, c->naround) * units,
                      end = share_start(all, f->thread + 1, threads);
        for (int64_t unit = share_start(all, f->thread, threads); unit < end; unit++) {
                frame_set_loops_in(f, c->around, c->naround, unit / units);
                const Contraction run = {.y = frame_place(f, c->to),
                                         .a = frame_place(f, c->a),
                                         .b = frame_element(f, c->b.buffer, 0),
                                         .y_row = c->to_row,
                                         .a_row = c->a_row,
                                         .a_step = c->a_step,
                                         .b_at = frame_integer(f, c->b.at),
                                         .b_step = c->b_step,
                                         .b_lane = c->b_lane,
                                         .storage = storage_number(c->b.buffer),
                                         .n = (int)frame_size(f, c->columns->size),
                                         .k = (int)frame_size(f, c->depth->size),
                                         .zeros = c->zeros};
                ((ContractKernel *)f->own->run.contract)(&run, unit % units, rows, scratch_of(f));
        }
}

typedef void ScoreRun(const void *ctx, float *to, const float *s, int64_t apart, int head, int64_t row,
                      int64_t col);
typedef void AttentionKernel(const Attention *a, ScoreRun *score, Live *live, int64_t rows,
                             const AttentionShare *s, float *scratch);
typedef void MixedKernel(const Attention *a, ScoreRun *score, ScoreRun *weigh, Live *live, int64_t rows,
                         const AttentionShare *s, int all_weigh, float *scratch, struct Team *team,
                         int thread, int threads);
typedef void ShareKernel(AttentionShare *s, const Attention *a, Live *live, int64_t rows, float *parts,
                         int thread, int threads);
typedef void AttentionJoin(const Attention *a, const AttentionShare *s, float *scratch, struct Team *team,
                           int thread, int threads);

static Attention describe_attention(CodeFrame *f, const AttentionCall *c, int64_t around,
                                    const CallbackContext *context)
{
        const bool begins = c->row >= 0 && f->f->loop[c->row].from_first;
        const OwnHeads own = rank_heads(f->by_outputs, c->kv_heads);
        const int64_t group = c->heads / c->kv_heads;
        frame_set_loops_in(f, c->around, c->naround, around);
        return (Attention){.q = own_place(f, c->q, c->q_row, group * c->q_head, own.first),
                           .q_row = c->q_row,
                           .q_head = c->q_head,
                           .k = own_place(f, c->k, 0, c->k_head, own.first),
                           .k_head = c->k_head,
                           .k_tile = c->k_tile,
                           .k_key = c->k_key,
                           .v = own_place(f, c->v, 0, c->v_head, own.first),
                           .v_head = c->v_head,
                           .v_key = c->v_key,
                           .k_storage = storage_number(c->k.buffer),
                           .v_storage = storage_number(c->v.buffer),
                           .first_key = frame_size(f, c->first_key),
                           .first_value = frame_size(f, c->first_value),
                           .key_pages = c->k_paged ? f->m->page_of : NULL,
                           .value_pages = c->v_paged ? f->m->page_of : NULL,
                           .out = own_place(f, c->out, c->out_row, group * c->out_head, own.first),
                           .out_row = c->out_row,
                           .out_head = c->out_head,
                           .heads = (int)(group * (own.end - own.first)),
                           .kv_heads = (int)(own.end - own.first),
                           .head_dim = (int)c->head_dim,
                           .v_dim = (int)c->v_dim,
                           .scale = 1.0f,
                           .keys = frame_size(f, c->keys),
                           .first_row = begins        ? f->m->first
                                        : f->own_loop ? f->own_first
                                                      : 0,
                           .first_head = (int)(around * c->heads + group * own.first),
                           .ctx = context,
                           .sink = c->sink ? sink : NULL,
                           .dead = f->kernel->attention.dead_nan ? NAN : 0,
                           .key_list = c->chosen.buffer ? own_place(f, c->chosen, c->chosen_row,
                                                                    c->chosen_head, own.first)
                                                        : NULL,
                           .list_row = c->chosen_row,
                           .list_head = c->chosen_head,
                           .list_count = c->count,
                           .by_column = c->by_column,
                           .no_softmax = f->kernel->attention.plain};
}

/* Computes a thread's share. */
static void run_share(const CodeFrame *f, const AttentionCall *c, const Attention *a, const AttentionShare *s,
                      int64_t rows)
{
        const EngineInstance *m = f->m;
        if (c->weigh)
                ((MixedKernel *)f->own->run.attention_mixed)(a, score, weigh, live, rows, s, c->all_weigh,
                                                             scratch_of(f), m->team, f->thread, m->threads);
        else
                ((AttentionKernel *)(c->chosen.buffer ? f->own->run.attention_chosen
                                                      : f->own->run.attention))(a, score, live, rows, s,
                                                                                scratch_of(f));
}

static void run_units(CodeFrame *f, const AttentionCall *c, const CallbackContext *context, int64_t rows)
{
        int threads = f->m->threads,
            tile = c->k_key && !c->chosen.buffer ? LANES : f->own->plan->target->rows;
        int64_t times = times_of(f, c->around, c->naround);
        int64_t units = c->weigh ? (rows + tile - 1) / tile
                        : c->chosen.buffer
                                ? CHOSEN_UNITS(c->heads, c->kv_heads, rows, tile)
                                : c->kv_heads * ((rows * (c->heads / c->kv_heads) + tile - 1) / tile);
        int64_t all = times * units, end = share_start(all, f->thread + 1, threads), next;
        for (int64_t unit = share_start(all, f->thread, threads); unit < end; unit = next) {
                int64_t around = unit / units, begin = around * units;
                next = begin + units < end ? begin + units : end;
                const Attention a = describe_attention(f, c, around, context);
                const AttentionShare s = {.begin = unit - begin, .end = next - begin, .count = 1};
                run_share(f, c, &a, &s, rows);
        }
}

void run_attention(CodeFrame *f, const AttentionCall *c)
{
        const EngineInstance *m = f->m;
        CallbackContext context[CALLED_BACK] = {context_of(f, c->score), context_of(f, c->live)};
        if (c->sink)
                context[TO_SINK] = context_of(f, c->sink);
        if (c->weigh)
                context[TO_WEIGH] = context_of(f, c->weigh);
        int64_t rows = c->row >= 0 ? frame_times(f, c->row) : 1;
        if (c->naround) {
                run_units(f, c, context, rows);
                return;
        }
        const Attention a = describe_attention(f, c, 0, context);
        if (rows == 0 || a.kv_heads == 0) /* more ranks than tiles of rows, or than heads */
                return;
        float *parts = f->kernel->scratch.all ? m->scratch + m->threads * scratch_size(f->own->plan) : NULL;
        AttentionShare s;
        if (c->chosen.buffer) {
                const int64_t units = CHOSEN_UNITS(a.heads, a.kv_heads, rows, f->own->plan->target->rows);
                s = (AttentionShare){.begin = share_start(units, f->thread, m->threads),
                                     .end = share_start(units, f->thread + 1, m->threads),
                                     .count = 1};
                run_share(f, c, &a, &s, rows);
                return;
        }
        KernelFunction *shares = c->weigh ? f->own->run.mixed_share : f->own->run.attention_share;
        ((ShareKernel *)shares)(&s, &a, live, rows, parts, f->thread, m->threads);
        run_share(f, c, &a, &s, rows);
        if (!c->weigh)
                ((AttentionJoin *)f->own->run.attention_join)(&a, &s, scratch_of(f), m->team, f->thread,
                                                              m->threads);
}

typedef void ScanKernel(const Scan *s, float *state, int unit, int64_t position, int64_t rows,
                        float *scratch);

static void *place_or_none(const CodeFrame *f, Operand o)
{
        return o.buffer ? frame_place(f, o) : NULL;
}

void run_scan(CodeFrame *f, const ScanCall *c)
{
        const int threads = f->m->threads;
        const int64_t units = SCAN_UNITS(c->width), floats = (1 + c->older) * SCAN_FLOATS(c->depth, c->width),
                      rows = frame_times(f, c->row);
        const int64_t end = share_start(c->heads * units, f->thread + 1, threads);
        for (int64_t unit = share_start(c->heads * units, f->thread, threads); unit < end; unit++) {
                frame_set_loops_in(f, c->around, c->naround, unit / units);
                const Scan s = {.q = place_or_none(f, c->q),
                                .k = place_or_none(f, c->k),
                                .v = frame_place(f, c->v),
                                .out = frame_place(f, c->out),
                                .q_row = c->q_row,
                                .k_row = c->k_row,
                                .v_row = c->v_row,
                                .out_row = c->out_row,
                                .powers = place_or_none(f, c->powers),
                                .depth = (int)c->depth,
                                .width = (int)c->width,
                                .maxima = c->maxima,
                                .older = (int)c->older};
                float *state = place_or_none(f, c->state), *scratch = scratch_of(f);
                ScanKernel *scan = (ScanKernel *)f->own->run.scan;
                if (state)
                        scan(&s, state + unit * floats, (int)(unit % units), frame_size(f, c->position), rows,
                             scratch);
                else
                        scan(&s, scratch, (int)(unit % units), 0, rows, scratch + floats);
        }
}
