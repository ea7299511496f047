/* Calls of an engine: positions of one sequence or of several, or a whole input.
 *
 * A call sets members of the instance and runs the program once for each chunk. */
#include "engine_private.h"

#include <string.h>

static int64_t *position(const Engine *e)
{
        return &e->instance->size[e->plan->graph->past];
}

int64_t engine_position(const Engine *e)
{
        return e->plan->graph->past < 0 ? 0 : *position(e);
}

const char *engine_rewind(Engine *e, int64_t n)
{
        if (e->plan->graph->past < 0)
                return n ? "this model is not causal: it keeps no positions" : NULL;
        if (n < 0 || n > *position(e))
                return "fewer positions have been taken";
        const Plan *p = e->plan;
        if (n == 0)
                memset(e->instance->base, 0, sizeof e->instance->base);
        for (int i = 0; i < p->windows.n; i++)
                if (!cache_reaches(&p->windows.cache[i], e->instance->base[i], n))
                        return arena_printf(p->graph->arena,
                                            "can't rewind to position %lld: of the %lld positions before it, "
                                            "those that it reads are no longer stored",
                                            (long long)n, (long long)p->windows.cache[i].back);
        const KeptSums sums = kept_sums(p);
        if (sums.buffer &&
            !scan_reaches(e->instance->state + FLOATS(sums.buffer->offset), sums.older, (int)sums.floats, n))
                return arena_printf(p->graph->arena,
                                    "can't rewind to position %lld: sums have moved on from there",
                                    (long long)n);
        int64_t *furthest = &e->instance->furthest;
        *furthest = *furthest > *position(e) ? *furthest : *position(e);
        if (n > 0 && n < *furthest - p->rewind && carried_state(p))
                return arena_printf(p->graph->arena, "can't rewind to position %lld: %s keeps %s",
                                    (long long)n, carried_state(p),
                                    p->rewind ? arena_printf(p->graph->arena,
                                                             "its last %lld values alone (--rewind)",
                                                             (long long)p->rewind + 1)
                                              : "its last value alone");
        if (n == 0)
                *furthest = 0;
        if (p->pages)
                pages_give(&e->pages, e->slot, *position(e), n);
        *position(e) = n;
        return NULL;
}

/* Makes room in the window caches of a state. */
static void window_room(const Engine *e, float *state, int64_t *base, int64_t past, int64_t n)
{
        const Plan *p = e->plan;
        for (int i = 0; i < p->windows.n; i++) {
                const int64_t before = base[i];
                cache_make_room(&p->windows.cache[i], i, &base[i], e->held, cached_states(p), state, past, n);
                for (int r = 1; r < rank_count(e); r++) {
                        int64_t same = before;
                        cache_make_room(&p->windows.cache[i], i, &same, e->held, cached_states(p),
                                        state + rank_apart(e, r) / (ptrdiff_t)sizeof *state, past, n);
                }
        }
}

static const char *engine_run(Engine *e)
{
        const char *wrong = NULL;
        FloatState outside = float_enter();
        if (e->rank)
                wrong = run_ranks(e);
        else
                team_run(&e->team, e->code.program, e->instance);
        float_leave(outside);
        return wrong;
}

/* --- several sequences ------------------------------------------------------------------------------------------- */

static void engine_keep_slot(Engine *e)
{
        KeptSlot *kept = &e->kept[e->slot];
        kept->past = *position(e);
        kept->furthest = e->instance->furthest;
        memcpy(kept->base, e->instance->base, sizeof kept->base);
}

static float *slot_state(const Engine *e, int slot)
{
        return e->state + (size_t)slot * slot_floats(e->plan);
}

/* Points the instance, or a view of it, at the slot. */
static void engine_take_slot(const Engine *e, EngineInstance *view, int slot)
{
        const Graph *g = e->plan->graph;
        const KeptSlot *kept = &e->kept[slot];
        view->state = slot_state(e, slot);
        view->slot = slot;
        view->page_of = e->pages.page_of + slot * e->pages.page_blocks;
        view->furthest = kept->furthest;
        memcpy(view->base, kept->base, sizeof kept->base);
        view->size[g->past] = kept->past;
        for (int i = 0; i < g->nnamed && g->fed_separately; i++)
                if (i != g->time && i != g->past)
                        view->size[i] = kept->size[i];
}

/* Elements are ids or floats, which have 4 bytes each. */
static void skip_elements(void **to, int64_t n)
{
        *to = *to ? (char *)*to + 4 * n : NULL;
}

/* Advances a view's inputs by these rows, and its outputs. */
static void skip_rows(const Engine *e, EngineInstance *view, int64_t rows, int64_t outputs)
{
        const Graph *g = e->plan->graph;
        for (int i = 0; i < g->ninput; i++)
                if (!is_fed_separately(g, g->input[i].group))
                        skip_elements(&view->pointer[i], rows * row_elements(e->plan, &g->input[i].type));
        for (int i = 0; i < g->noutput; i++)
                skip_elements(&view->pointer[g->ninput + i],
                              outputs * row_elements(e->plan, &g->output[i].node->type));
}

/* The views for a call of these sequences: see batch.h of the runtime, which does the same for emitted C. */
static void call_see_sequences(Engine *e, const EngineSequence *s, int sequences)
{
        const Plan *p = e->plan;
        const Graph *g = p->graph;
        const size_t size = instance_bytes(g);
        EngineInstance *m = e->instance;
        int64_t row = 0, given = 0, end = -1;
        int ranges = 0;
        for (int i = 0; i < sequences; i++) {
                EngineInstance *own = view_at(g, m->sequence, i), *wanted = view_at(g, m->range, ranges);
                memcpy(own, m, size);
                engine_take_slot(e, own, s[i].slot);
                own->number = i;
                own->before = row;
                own->size[g->time] = s[i].n;
                own->first = s[i].first;
                skip_rows(e, own, row, given);
                if (s[i].first == 0 && end == row) {
                        view_at(g, m->range, ranges - 1)->size[g->time] = row + s[i].n;
                } else if (s[i].first < s[i].n) {
                        memcpy(wanted, m, size);
                        wanted->first = row + s[i].first;
                        wanted->size[g->time] = row + s[i].n;
                        skip_rows(e, wanted, 0, given);
                        ranges++;
                }
                row += s[i].n;
                end = s[i].first < s[i].n ? row : -1;
                given += s[i].n - s[i].first;
        }
        m->size[g->time] = row;
        m->sequences = sequences;
        m->ranges = ranges;
}

const char *engine_select(Engine *e, int slot)
{
        if (slot < 0 || slot >= e->plan->slots)
                return "unknown slot";
        if (e->plan->slots == 1)
                return NULL;
        engine_keep_slot(e);
        engine_take_slot(e, e->instance, e->slot = slot);
        return NULL;
}

const char *engine_fork(Engine *e, int slot, int copy)
{
        const Plan *p = e->plan;
        if (slot < 0 || slot >= p->slots || copy < 0 || copy >= p->slots)
                return "unknown slot";
        if (slot == copy)
                return NULL;
        engine_keep_slot(e);
        e->kept[copy] = e->kept[slot];
        for (int r = 0; r < rank_count(e); r++) {
                const ptrdiff_t apart = rank_apart(e, r) / (ptrdiff_t)sizeof *e->state;
                memcpy(slot_state(e, copy) + apart, slot_state(e, slot) + apart,
                       slot_floats(p) * sizeof *e->state);
        }
        if (copy == e->slot)
                engine_take_slot(e, e->instance, copy);
        return NULL;
}

static const char *call_check_sequences(const Engine *e, const EngineSequence *s, int sequences,
                                        int64_t *rows)
{
        const Graph *g = e->plan->graph;
        *rows = 0;
        for (int i = 0; i < sequences; i++) {
                if (s[i].slot < 0 || s[i].slot >= e->plan->slots)
                        return "unknown slot";
                for (int k = 0; k < i; k++)
                        if (s[k].slot == s[i].slot)
                                return "a slot occurs twice in a batch";
                int64_t past = e->kept[s[i].slot].past;
                if (s[i].n < 1 || s[i].first < 0 || s[i].first > s[i].n)
                        return "a sequence takes one position or more";
                if (s[i].n > g->named[g->time].bound - past)
                        return "more positions than the model has room for";
                if (g->fed_separately && past == 0)
                        return "a sequence with inputs that are fed separately begins with a call of its own";
                *rows += s[i].n;
        }
        return *rows > e->plan->bound[g->time] ? "more positions in a batch than a call takes" : NULL;
}

/* The pages that a call of these sequences needs, or none of them: see batch_pages.h of the runtime. */
static const char *engine_take_pages(Engine *e, const EngineSequence *s, int sequences)
{
        float *arena = e->instance->arena;
        int64_t asked = 0;
        if (!e->plan->pages)
                return NULL;
        engine_keep_slot(e);
        for (int i = 0; i < sequences; i++)
                asked += pages_ask(&e->pages, s[i].slot, e->kept[s[i].slot].past, s[i].n);
        const bool enough = asked <= e->pages.pages_left;
        for (int i = 0; i < sequences; i++)
                if (enough)
                        pages_take(&e->pages, s[i].slot, e->kept[s[i].slot].past, s[i].n, e->held,
                                   paged_states(e->plan), arena);
        return enough ? NULL
                      : arena_printf(
                                e->plan->graph->arena,
                                "too few pages are left: %lld, and the call needs %lld; nothing was taken",
                                (long long)e->pages.pages_left, (long long)asked);
}

static const char *set_sizes(Engine *e, const EngineCall *call)
{
        const Graph *g = e->plan->graph;
        for (int i = 0; i < g->nnamed; i++) {
                if (g->past >= 0 && (i == g->time || i == g->past))
                        continue;
                if (call->size[i] < 1 || call->size[i] > g->named[i].bound)
                        return arena_printf(g->arena, "%s is 1 to %lld, not %lld", g->named[i].name,
                                            (long long)g->named[i].bound, (long long)call->size[i]);
                e->instance->size[i] = call->size[i];
        }
        return NULL;
}

/* Whether ids, at the inputs' addresses and of these sizes, are in range. */
static const char *check_ids(const Graph *g, const void *const *input, const int64_t *size)
{
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                const int32_t *id = input[i];
                int64_t count = in->bound ? type_count(&in->type, size) : 0;
                for (int64_t k = 0; k < count; k++)
                        if (id[k] < 0 || id[k] >= in->bound)
                                return arena_printf(g->arena, "%s[%lld] is %d: it must be 0 to %lld",
                                                    input_name(in), (long long)k, id[k],
                                                    (long long)in->bound - 1);
        }
        return NULL;
}

/* n: number of positions, if any. */
static const char *call_check_inputs(const Engine *e, const EngineCall *call, int64_t n)
{
        const Graph *g = e->plan->graph;
        int64_t size[MAX_NAMED] = {0};
        for (int i = 0; i < g->nnamed; i++)
                size[i] = g->past >= 0 && i == g->time ? n : g->past >= 0 && i == g->past ? 0 : call->size[i];
        return check_ids(g, call->input, size);
}

static const char *begin_call(Engine *e, const EngineCall *call, int64_t n)
{
        second_tier(e);
        const char *wrong = set_sizes(e, call);
        return wrong ? wrong : call_check_inputs(e, call, n);
}

/* Points at the call's positions from `taken` on, and its outputs from `given` on. */
static void engine_point(Engine *e, const EngineCall *call, int64_t taken, int64_t given)
{
        const Plan *p = e->plan;
        const Graph *g = p->graph;
        void **to = e->instance->pointer;
        for (int i = 0; i < g->ninput; i++, to++) {
                const Type *t = &g->input[i].type;
                *to = (void *)call->input[i];
                skip_elements(to, advances(p, t) ? taken * row_elements(p, t) : 0);
        }
        for (int i = 0; i < g->noutput; i++, to++) {
                const Type *t = &g->output[i].node->type;
                *to = call->output[i];
                skip_elements(to,
                              advances(p, t) ? given * row_elements(p, t) : taken * elements_passed(p, t));
        }
}

/* Columns of taps that no piece of the call computes, since their positions come after all of its rows. */
static void fill_later(const Engine *e, const EngineCall *call, int64_t n, int64_t past)
{
        const Graph *g = e->plan->graph;
        int64_t size[MAX_NAMED];
        for (int i = 0; i < g->nnamed; i++)
                size[i] = i == g->past ? past : i == g->time ? n : call->size[i];
        for (int i = 0; i < g->noutput; i++) {
                const Type *t = &g->output[i].node->type;
                int growing = 0;
                for (int a = 0; a < t->rank; a++)
                        growing += t->dim[a].per[g->time] != 0;
                int64_t count = growing > 1 && call->output[i] ? type_count(t, size) : 0;
                for (int64_t k = 0; k < count; k++)
                        call->output[i][k] = (float)g->output[i].later;
        }
}

/* A call of only the selected slot's sequence. */
static void see_alone(Engine *e, const EngineCall *call, int64_t n, int64_t first)
{
        const Graph *g = e->plan->graph;
        if (*position(e) == 0)
                for (int i = 0; i < g->nnamed; i++)
                        e->kept[e->slot].size[i] = call->size[i];
        engine_keep_slot(e);
        call_see_sequences(e, &(EngineSequence){e->slot, n, first}, 1);
}

const char *engine_advance(Engine *e, const EngineCall *call, int64_t n, int64_t first)
{
        const Plan *p = e->plan;
        const Graph *g = p->graph;
        if (g->past < 0)
                return "this model is not causal: it takes its input as a whole";
        int64_t *past = position(e), room = g->named[g->time].bound - *past;
        if (n < 0 || n > room)
                return arena_printf(g->arena,
                                    "no room for %lld more positions: the context of %lld holds %lld",
                                    (long long)n, (long long)g->named[g->time].bound, (long long)*past);
        const char *wrong = begin_call(e, call, n);
        if (wrong)
                return wrong;
        wrong = engine_take_pages(e, &(EngineSequence){e->slot, n, 0}, 1);
        if (wrong)
                return wrong;
        e->instance->whole = n;
        fill_later(e, call, n, *past);
        for (int64_t taken = 0, given = 0; taken < n;) {
                if (atomic_load(&e->interrupted))
                        return "interrupted";
                int64_t chunk = n - taken < p->chunk ? n - taken : p->chunk;
                int64_t unwanted = first - taken < 0 ? 0 : first - taken < chunk ? first - taken : chunk;
                engine_point(e, call, taken, given);
                e->instance->done = taken;
                e->instance->size[g->time] = chunk;
                e->instance->first = unwanted;
                /* inputs that are fed separately are taken by the call that begins a sequence, with all that depends only on them */
                e->instance->fed_part = *past == 0 ? 0 : -1;
                window_room(e, slot_state(e, e->slot), e->instance->base, *past, chunk);
                if (p->slots > 1)
                        see_alone(e, call, chunk, unwanted);
                wrong = engine_run(e);
                if (wrong)
                        return wrong;
                *past += chunk;
                taken += chunk;
                given += chunk - unwanted;
        }
        return NULL;
}

/* --- several whole sequences ---------------------------------------------------------------------------------------- */

static const char *call_check_wholes(const Engine *e, const EngineSequence *s, int sequences)
{
        const Plan *p = e->plan;
        const int size = varying_size(p->graph);
        int64_t rows = 0;
        if (sequences > p->slots)
                return "more sequences in a batch than there are slots";
        for (int i = 0; i < sequences && size >= 0; i++) {
                if (s[i].n < 1 || s[i].n > p->graph->named[size].bound)
                        return arena_printf(p->graph->arena, "%s is 1 to %lld, not %lld",
                                            p->graph->named[size].name,
                                            (long long)p->graph->named[size].bound, (long long)s[i].n);
                rows += s[i].n;
        }
        return rows > p->rows ? "more positions in a batch than a call takes" : NULL;
}

/* Advances a view past the inputs and outputs of the previous one, which has these sizes. */
static void point_behind(const Graph *g, EngineInstance *view, const int64_t *size)
{
        for (int i = 0; i < g->ninput; i++)
                skip_elements(&view->pointer[i], type_count(&g->input[i].type, size));
        for (int i = 0; i < g->noutput; i++)
                skip_elements(&view->pointer[g->ninput + i], type_count(&g->output[i].node->type, size));
}

/* The views for a call of these sequences: see batch_whole.h of the runtime, which does the same for emitted C. */
static const char *see_wholes(Engine *e, const EngineSequence *s, int sequences)
{
        const Graph *g = e->plan->graph;
        const int which = varying_size(g);
        EngineInstance *m = e->instance;
        int64_t row = 0, size[MAX_NAMED] = {0};
        m->sequences = sequences;
        for (int i = 0; i < sequences; i++) {
                EngineInstance *view = view_at(g, m->sequence, i);
                memcpy(view, i ? view_at(g, m->sequence, i - 1) : m, instance_bytes(g));
                if (i)
                        point_behind(g, view, size);
                view->number = i;
                view->before = row;
                if (which >= 0) {
                        view->size[which] = size[which] = s[i].n;
                        row += s[i].n;
                }
                const char *wrong = check_ids(g, (const void *const *)view->pointer, size);
                if (wrong)
                        return wrong;
        }
        if (which >= 0)
                m->size[which] = row;
        return NULL;
}

static const char *engine_run_wholes(Engine *e, const EngineSequence *s, int sequences,
                                     const EngineCall *call)
{
        const char *wrong = call_check_wholes(e, s, sequences);
        if (wrong || sequences == 0)
                return wrong;
        if (atomic_load(&e->interrupted))
                return "interrupted";
        second_tier(e);
        engine_point(e, call, 0, 0);
        wrong = see_wholes(e, s, sequences);
        return wrong ? wrong : engine_run(e);
}

const char *engine_batch(Engine *e, const EngineSequence *s, int sequences, const EngineCall *call)
{
        int64_t n;
        if (e->plan->slots == 1)
                return "this plan is for one sequence per call";
        if (has_whole_sequences(e->plan))
                return engine_run_wholes(e, s, sequences, call);
        engine_keep_slot(e);
        const char *wrong = call_check_sequences(e, s, sequences, &n);
        if (!wrong && n > 0)
                wrong = begin_call(e, call, n);
        if (wrong || n == 0)
                return wrong;
        if (atomic_load(&e->interrupted))
                return "interrupted";
        wrong = engine_take_pages(e, s, sequences);
        if (wrong)
                return wrong;
        engine_point(e, call, 0, 0);
        e->instance->fed_part = -1;
        e->instance->whole = n;
        e->instance->done = 0;
        for (int i = 0; i < sequences; i++)
                window_room(e, slot_state(e, s[i].slot), e->kept[s[i].slot].base, e->kept[s[i].slot].past,
                            s[i].n);
        call_see_sequences(e, s, sequences);
        wrong = engine_run(e);
        for (int i = 0; i < sequences; i++)
                e->kept[s[i].slot].past += s[i].n;
        engine_take_slot(e, e->instance, e->slot);
        return wrong;
}

const char *engine_forward(Engine *e, const EngineCall *call)
{
        if (e->plan->graph->past >= 0)
                return "this model is causal: it advances";
        if (has_whole_sequences(e->plan)) {
                const int size = varying_size(e->plan->graph);
                return engine_run_wholes(e, &(EngineSequence){.n = size < 0 ? 0 : call->size[size]}, 1, call);
        }
        const char *wrong = begin_call(e, call, 0);
        if (wrong)
                return wrong;
        if (atomic_load(&e->interrupted))
                return "interrupted";
        e->instance->first = 0;
        engine_point(e, call, 0, 0);
        return engine_run(e);
}

const char *engine_tokens(Engine *e, const int32_t *tokens, int64_t n, int64_t first, float *logits)
{
        const void *input[] = {tokens};
        int64_t size[MAX_NAMED] = {0};
        e->output[0] = logits;
        return engine_advance(e, &(EngineCall){input, e->output, size}, n, logits ? first : n);
}
