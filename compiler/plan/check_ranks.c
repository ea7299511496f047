/* Tracks the data of each rank, step by step: values that all ranks have, and parts that each rank
 * computed.  A kernel that reads more than its rank's part needs an exchange, a gather or a value of
 * another stage before it. */
#include "check_program_private.h"

static bool same_shared_part(const SharedPart *a, const SharedPart *b)
{
        return a->buffer == b->buffer && a->step == b->step && a->rows.base == b->rows.base;
}

void add_shared(const Checker *c, SharedList *to, SharedPart part)
{
        for (int i = 0; i < to->n; i++)
                if (same_shared_part(&to->of[i], &part))
                        return;
        GROW(c->arena, to->of, to->n, to->cap);
        to->of[to->n++] = part;
}

static void remove_shared(SharedList *list, int i)
{
        list->of[i] = list->of[--list->n];
}

/* --- kernels ----------------------------------------------------------------------------------------------------------------- */

/* Whether ranks share the kernel by outputs or heads in this call. */
static bool shares_outputs(const Checker *c, const Kernel *k)
{
        return c->call.ranks && k->ranks.sharded && (!k->ranks.by_rows || !c->call.by_rows);
}

static bool shares_rows_of(const Checker *c, const Kernel *k)
{
        return c->call.by_rows && k->ranks.by_rows && k->ranks.row_loop;
}

/* A copy of the plan with the number of heads that ranks share. */
static Plan with_heads(const Checker *c, int64_t heads)
{
        Plan p = *c->plan;
        p.heads = heads;
        return p;
}

static bool reads_own_heads(const Checker *c, const Kernel *k, const SharedPart *part)
{
        const int64_t heads = part->step->kernel->ranks.heads;
        const Plan p = with_heads(c, heads);
        if (!shares_outputs(c, k) || heads_modulus(&p, k, part->buffer) != part->modulus)
                return false;
        return k->op == K_ATTENTION ? kv_heads_of(k) == heads : k->ranks.heads == heads;
}

static const char *has_only(const SharedPart *part)
{
        return part->of_stage      ? "iterations of its stage"
               : part->rows.buffer ? "rows"
               : part->modulus     ? "heads"
                                   : "outputs";
}

static bool has_what_it_reads(const Checker *c, const Kernel *k, const SharedPart *part)
{
        if (part->rows.buffer)
                return shares_rows_of(c, k) && reads_own_rows(c->plan, k, &part->rows);
        if (part->modulus)
                return reads_own_heads(c, k, part);
        return part->step->kernel == k; /* a product that adds to its own results */
}

void check_reads_of_rank(Checker *c, const Kernel *k)
{
        for (int i = 0; i < c->state.shared.n; i++) {
                const SharedPart *part = &c->state.shared.of[i];
                if (code_reads(k->code, part->buffer) && !has_what_it_reads(c, k, part))
                        program_fault(c, "it reads %s, of which a rank has only its %s since `%s` %s",
                                      part->buffer->name, has_only(part), step_line(c->plan, part->step),
                                      kind_of_call_text(c));
        }
}

/* Number of columns of the product that stores b. */
static int64_t columns_stored(const Kernel *k, const Buffer *b)
{
        for (int i = 0; i < k->product.nsegment; i++)
                if (whole_buffer(k->product.segment[i].store.to) == b)
                        return k->product.segment[i].n;
        return 0;
}

static void note_rows(Checker *c, const Kernel *k)
{
        const RowList rows = rows_stored(c->plan, k);
        for (int i = 0; i < rows.n; i++)
                add_shared(c, &c->state.shared,
                           (SharedPart){.buffer = whole_buffer(rows.of[i].buffer),
                                        .step = c->step,
                                        .rows = rows.of[i]});
}

void note_stores_of_rank(Checker *c, const Kernel *k)
{
        for (int w = 0; w < k->code->nwritten; w++) {
                const Buffer *b = k->code->written[w];
                SharedPart part = {.buffer = b, .step = c->step};
                if (!shares_outputs(c, k))
                        continue;
                if (k->ranks.heads) {
                        const Plan p = with_heads(c, k->ranks.heads);
                        part.modulus = k->op == K_MATMUL ? columns_stored(k, b) : heads_modulus(&p, k, b);
                        if (part.modulus == 0)
                                program_fault(c, "ranks share %s by heads, and it has none", b->name);
                }
                add_shared(c, &c->state.shared, part);
        }
        if (shares_rows_of(c, k))
                note_rows(c, k);
}

/* --- exchanges and gathers ------------------------------------------------------------------------------------------------- */

static void check_exchange(Checker *c, const Step *s)
{
        bool any = false;
        for (int i = c->state.shared.n - 1; i >= 0; i--) {
                const SharedPart *part = &c->state.shared.of[i];
                if (part->step->kernel != s->kernel || part->modulus || part->rows.buffer)
                        continue;
                any = true;
                remove_shared(&c->state.shared, i);
        }
        if (!any)
                program_fault(c, "ranks share nothing that the kernel has stored by then");
}

static void check_gather(Checker *c, const Step *s)
{
        for (int i = c->state.shared.n - 1; i >= 0; i--)
                if (c->state.shared.of[i].rows.buffer &&
                    shared_rows_equal(&c->state.shared.of[i].rows, s->shared))
                        remove_shared(&c->state.shared, i);
}

/* --- stages ------------------------------------------------------------------------------------------------------------------ */

static StagedValue *staged_value(Checker *c, const Kernel *repeat, const Buffer *value)
{
        for (int i = 0; i < c->nstaged; i++)
                if (c->staged[i].repeat == repeat && c->staged[i].value == value)
                        return &c->staged[i];
        GROW(c->arena, c->staged, c->nstaged, c->cap_staged);
        c->staged[c->nstaged] = (StagedValue){repeat, value, AT_BEGIN};
        return &c->staged[c->nstaged++];
}

static void check_turn(Checker *c, const Kernel *repeat, const Buffer *value, StageTurn turn)
{
        static const char *const name[] = {
                "nothing",       "the stage before sent it", "the iterations",
                "it is sent on", "the last stage sends it",  "it is received from the last stage"};
        StagedValue *v = staged_value(c, repeat, value);
        if (v->turn + 1 != turn)
                program_fault(c, "of %s comes %s, and before that has to be: %s", value->name, name[turn],
                              name[turn - 1]);
        v->turn = turn;
}

void note_iterations_of_stage(Checker *c, const Step *repeat)
{
        const Region *r = repeat->kernel->repeat.region;
        if (!repeat->by_stages || !c->call.stages)
                return;
        for (int i = 0; i < r->ncarry; i++) {
                const Buffer *value = carried_buffer(c->plan, r, i);
                check_turn(c, repeat->kernel, value, ITERATED);
                add_shared(c, &c->state.shared,
                           (SharedPart){.buffer = value, .step = repeat, .of_stage = true});
        }
}

static void check_receive_last(Checker *c, const Step *s)
{
        check_turn(c, s->kernel, s->value, TAKEN);
        for (int i = c->state.shared.n - 1; i >= 0; i--)
                if (c->state.shared.of[i].of_stage && c->state.shared.of[i].buffer == s->value)
                        remove_shared(&c->state.shared, i);
}

void check_transfer(Checker *c, const Step *s)
{
        if (s->op == STEP_EXCHANGE)
                check_exchange(c, s);
        else if (s->op == STEP_GATHER)
                check_gather(c, s);
        else if (s->op == STEP_RECEIVE && s->last)
                check_receive_last(c, s);
        else if (s->op != STEP_COMPARE)
                check_turn(c, s->kernel, s->value, s->op == STEP_RECEIVE ? RECEIVED : s->last ? GIVEN : SENT);
}

/* --- a call ------------------------------------------------------------------------------------------------------------------- */

void begin_ranks(Checker *c)
{
        c->nstaged = 0;
}

/* Checks that all ranks have the outputs and the data that later calls read. */
void end_ranks(Checker *c)
{
        for (int i = 0; i < c->state.shared.n; i++) {
                const SharedPart *part = &c->state.shared.of[i];
                if (part->buffer->home == IN_OUTPUT || (part->buffer->home == IN_STATE && !part->modulus)) {
                        c->step = part->step;
                        program_fault(c, "at the end a rank has only its %s of %s %s", has_only(part),
                                      part->buffer->name, kind_of_call_text(c));
                }
        }
        for (int i = 0; i < c->nstaged; i++)
                if (c->staged[i].turn != TAKEN && (c->staged[i].turn != SENT || !c->call.unrequested))
                        program_fault(c, "stages end before all have %s", c->staged[i].value->name);
}
