/* The interface as C: the public functions. */
#include <inttypes.h>
#include <string.h>

#include "emit_private.h"

int64_t row_elements(const Plan *p, const Type *t)
{
        int64_t n = 1;
        for (int a = 0; a < t->rank; a++)
                if (!dim_is_positions(p->graph, t->dim[a]))
                        n *= bound_of(p, t->dim[a]);
        return n;
}

/* "n * (m->source) * 6": elements in a call */
const char *element_count(const Emit *e, const Type *t)
{
        Text *count = text_new(e->arena);
        for (int a = 0; a < t->rank; a++) {
                Dim rest = t->dim[a];
                bool time = e->g->past >= 0 && rest.per[e->g->time] == 1;
                if (time)
                        rest.per[e->g->time] = 0; /* n counts the whole call, m->time the current piece */
                const char *size = time && dim_is(rest, 0) ? "n" : dim_expression(e->arena, e->g, rest);
                text_printf(count, "%s", a ? " * " : "");
                text_printf(count,
                            dim_is_fixed(t->dim[a]) || !strcmp(size, "n") ? "%s"
                            : time                                        ? "(%s + n)"
                                                                          : "(%s)",
                            size);
        }
        return t->rank ? count->data : "1";
}

const char *c_type(const Input *in)
{
        return in->type.dtype == REAL ? "float" : "int32_t";
}

bool is_given_in(const Emit *e, const Input *in, int group)
{
        bool apart = is_fed_separately(e->g, in->group);
        return group == CALLS ? !apart : apart && in->group == group;
}

/* ", const int32_t *tokens", or ", tokens" */
const char *input_list(const Emit *e, int group, bool types, bool one)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                if (!is_given_in(e, in, group))
                        continue;
                bool scalar =
                        one && row_elements(e->plan, &in->type) == 1 && type_has_positions(e->g, &in->type);
                if (!types)
                        text_printf(t, ", %s%s", one && scalar ? "&" : "", in->name);
                else if (scalar)
                        text_printf(t, ", %s %s", c_type(in), in->name);
                else
                        text_printf(t, ", const %s *%s", c_type(in), in->name);
        }
        return t->data;
}

const char *output_list(const Emit *e, bool types, bool none)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(t, ", %s%s", types ? "float *" : "", none ? "NULL" : e->g->output[i].name);
        return t->data;
}

/* The separately fed groups whose inputs have the size. */
static uint64_t groups_of_size(const Emit *e, int size)
{
        uint64_t groups = 0;
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                for (int a = 0; a < in->type.rank && !is_given_in(e, in, CALLS); a++)
                        if (in->type.dim[a].per[size])
                                groups |= UINT64_C(1) << in->group;
        }
        return groups;
}

bool size_is_kept(const Emit *e, int size)
{
        return groups_of_size(e, size) != 0;
}

/* Whether a call has the size as an argument: all named dimensions, except past and the time of a causal
 * model, unless a separately fed group has it. */
bool states_size(const Emit *e, int group, int size)
{
        if (size == e->g->past || (e->causal && size == e->g->time))
                return false;
        uint64_t groups = groups_of_size(e, size);
        return group == CALLS ? !groups : groups >> group & 1;
}

/* ", int64_t text" */
const char *size_list(const Emit *e, int group, bool types)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->nnamed; i++)
                if (states_size(e, group, i))
                        text_printf(t, ", %s%s", types ? "int64_t " : "", e->g->named[i].name);
        return t->data;
}

const char *group_name(const Emit *e, int group)
{
        int i = 0;
        while (e->g->input[i].group != group)
                i++;
        return e->g->input[i].group_name;
}

/* "!tokens || !keep": inputs of the group that are required only for positions, or the others.  *n: their
 * number. */
static const char *inputs_missing(const Emit *e, int group, bool by_position, int *n)
{
        Text *t = text_new(e->arena);
        *n = 0;
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                if (is_given_in(e, in, group) &&
                    (e->causal && type_has_positions(e->g, &in->type)) == by_position)
                        text_printf(t, "%s!%s", (*n)++ ? " || " : "", in->name);
        }
        return t->data;
}

void emit_input_checks(const Emit *e, int group, Text *c, const char *indent)
{
        int n;
        const char *missing = inputs_missing(e, group, false, &n);
        if (n)
                text_printf(c, "%sif (%s)\n%s        return %s_ERROR_RANGE;\n", indent, missing, indent,
                            e->upper);
        missing = inputs_missing(e, group, true, &n);
        if (n)
                text_printf(c, n > 1 ? "%sif (n > 0 && (%s))\n" : "%sif (n > 0 && %s)\n", indent, missing);
        if (n)
                text_printf(c, "%s        return %s_ERROR_RANGE;\n", indent, e->upper);
}

void emit_checks(const Emit *e, int group, Text *c, const char *indent)
{
        emit_input_checks(e, group, c, indent);
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                if (!is_given_in(e, in, group) || !in->bound)
                        continue;
                text_printf(c,
                            "%sfor (int64_t i = 0; i < %s; i++)\n%s        if (%s[i] < 0 || %s[i] >= %" PRId64
                            ")\n%s                return %s_ERROR_RANGE;\n",
                            indent, element_count(e, &in->type), indent, in->name, in->name, in->bound,
                            indent, e->upper);
        }
}

/* Stores the pointers to a group's inputs; and to the outputs, which calls pass. */
void emit_output_pointers(const Emit *e, Text *c, const char *indent)
{
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(c, "%sm->output_%s = %s;\n", indent, e->g->output[i].name, e->g->output[i].name);
}

void emit_pointers(const Emit *e, int group, Text *c, const char *indent)
{
        for (int i = 0; i < e->g->ninput; i++)
                if (is_given_in(e, &e->g->input[i], group))
                        text_printf(c, "%sm->input_%s = %s;\n", indent, e->g->input[i].name,
                                    e->g->input[i].name);
        if (group == CALLS)
                emit_output_pointers(e, c, indent);
}

void emit_sizes(const Emit *e, int group, Text *c)
{
        for (int i = 0; i < e->g->nnamed; i++) {
                const Named *n = &e->g->named[i];
                if (!states_size(e, group, i))
                        continue;
                text_printf(c,
                            "        if (%s < 1 || %s > %" PRId64
                            ")\n                return %s < 1 ? %s_ERROR_RANGE : %s_ERROR_CONTEXT;\n"
                            "        m->%s = %s;\n",
                            n->name, n->name, n->bound, n->name, e->upper, e->upper, n->name, n->name);
        }
}

bool advances(const Plan *p, const Type *t)
{
        return type_has_positions(p->graph, t) && !type_is_dense(t);
}

int64_t elements_passed(const Plan *p, const Type *t)
{
        const Graph *g = p->graph;
        int64_t n = 1, rows = 0;
        if (g->past < 0 || type_is_dense(t) || type_has_positions(g, t))
                return 0;
        for (int a = 0; a < t->rank; a++)
                if (dim_is_fixed(t->dim[a]))
                        n *= t->dim[a].fixed;
                else if (t->dim[a].per[g->past] == 0)
                        rows = t->dim[a].per[g->time];
        return n * rows;
}

/* Whether strides of t depend on the number of positions in the whole call. */
static bool is_dense_over_time(const Plan *p, const Type *t)
{
        const Graph *g = p->graph;
        bool counts = false;
        for (int a = 0; a < t->rank; a++)
                counts |= g->past >= 0 && (t->dim[a].per[g->time] != 0 || t->dim[a].per[g->past] != 0);
        return counts && type_is_dense(t);
}

bool has_dense(const Plan *p)
{
        const Graph *g = p->graph;
        for (int i = 0; i < g->ninput; i++)
                if (is_dense_over_time(p, &g->input[i].type))
                        return true;
        for (int i = 0; i < g->noutput; i++)
                if (is_dense_over_time(p, &g->output[i].node->type))
                        return true;
        return false;
}

/* "logits || hidden" */
const char *wanted_outputs(const Emit *e)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(t, "%s%s", i ? " || " : "", e->g->output[i].name);
        return e->g->noutput > 1 ? arena_printf(e->arena, "(%s)", t->data) : t->data;
}

/* Fills columns that no piece of the call computes, since their positions are after all of its rows. */
static void emit_later(const Emit *e, Text *c)
{
        for (int i = 0; i < e->g->noutput; i++) {
                const Output *o = &e->g->output[i];
                int growing = 0;
                for (int a = 0; a < o->node->type.rank; a++)
                        growing += o->node->type.dim[a].per[e->g->time] != 0;
                if (growing > 1)
                        text_printf(c,
                                    "        for (int64_t i = 0; %s && i < %s; i++)\n                %s[i] = "
                                    "%s;\n",
                                    o->name, element_count(e, &o->node->type), o->name,
                                    float_literal(e->arena, (float)o->later));
        }
}

/* Runs the parts that need the group, once all of their groups are fed. */
static void emit_part_runs(const Emit *e, uint64_t bit, Text *c)
{
        for (int i = 0; i < e->g->npart; i++) {
                uint64_t part = e->g->part[i];
                if (part == bit)
                        text_printf(c, "        m->fed_part = %d;\n        run(m);\n", i + 1);
                else if (part & bit)
                        text_printf(c,
                                    "        if ((m->fed & %" PRIu64 ") == %" PRIu64
                                    ") {\n                m->fed_part = %d;\n"
                                    "                run(m);\n        }\n",
                                    part, part, i + 1);
        }
}

/* A function that feeds a group of inputs. */
static void emit_feed(const Emit *e, int group, Text *c)
{
        uint64_t bit = UINT64_C(1) << group;
        text_printf(c, "int %s_feed_%s(%s *m%s%s)\n{\n        m->fed &= ~(uint64_t)%" PRIu64 ";\n", e->name,
                    group_name(e, group), e->name, size_list(e, group, true),
                    input_list(e, group, true, false), bit);
        emit_renewal(e, c);
        emit_under_way_check(e, c);
        for (int i = 0; i < e->g->nnamed; i++)
                if (states_size(e, group, i) && groups_of_size(e, i) != bit)
                        text_printf(c,
                                    "        if (m->%s != %s)\n                m->fed &= ~(uint64_t)%" PRIu64
                                    ";\n",
                                    e->g->named[i].name, e->g->named[i].name, groups_of_size(e, i));
        emit_sizes(e, group, c);
        emit_checks(e, group, c, "        ");
        emit_pointers(e, group, c, "        ");
        if (e->causal)
                text_printf(c, "        %s_reset(m);\n", e->name);
        text_printf(c, "        m->fed |= %" PRIu64 ";\n", bit);
        emit_part_runs(e, bit, c);
        text_printf(c, "        return %s;\n}\n\n", outcome(e));
}

static void emit_feeds(const Emit *e, Text *c)
{
        for (int group = 0; group < e->g->ngroup; group++)
                if (is_fed_separately(e->g, group))
                        emit_feed(e, group, c);
}

/* Threads are renewed before each call that runs them. */
void emit_renewal(const Emit *e, Text *c)
{
        if (is_freestanding(e))
                return;
        text_printf(c, "%s",
                    model_text(e, "        if (team_renew(m->team, m->threads))\n                return "
                                  "$MODEL_ERROR_THREADS;\n"));
}

/* Checks that separately fed inputs are there, and marks them as computed. */
static void emit_fed_check(const Emit *e, Text *c)
{
        if (e->g->fed_separately)
                text_printf(c,
                            "        if (m->fed != %" PRIu64
                            ")\n                return %s_ERROR_UNFED;\n        m->fed_part = -1;\n",
                            e->g->fed_separately, e->upper);
}

/* The window caches and their states, as tables. */
static void emit_caches(const Emit *e, Text *c)
{
        const Plan *p = e->plan;
        if (!p->windows.n)
                return;
        text_printf(c, "/* Positions read before a row's own, spare positions, stored positions. */\n"
                       "static const WindowCache caches[] = {\n");
        for (int i = 0; i < p->windows.n; i++)
                text_printf(c, "        {%" PRId64 ", %" PRId64 ", %" PRId64 "},\n", p->windows.cache[i].back,
                            p->windows.cache[i].spare, p->windows.cache[i].size);
        text_printf(c, "};\n\n/* Window cache, floats before it, slots, floats of a slot, floats of 16 "
                       "positions. */\n"
                       "static const CachedState held[] = {\n");
        for (int i = 0; i < p->nbuffer; i++) {
                if (p->buffer[i]->cache < 0)
                        continue;
                CachedState s = cached_state(p->buffer[i]);
                text_printf(c, "        {%d, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "}, /* %s */\n",
                            s.cache, s.offset, s.slots, s.slot, s.tile, p->buffer[i]->name);
        }
        text_printf(c, "};\n\n");
}

/* "chunk * 64", or "chunk" */
static const char *rows_times(const Emit *e, const char *rows, int64_t elements)
{
        return elements == 1 ? rows : arena_printf(e->arena, "%s * %" PRId64, rows, elements);
}

/* Advances the caller's pointers to the rows of the next chunk. */
static void emit_next_rows(const Emit *e, Text *c)
{
        for (int i = 0; i < e->g->noutput; i++)
                if (advances(e->plan, &e->g->output[i].node->type))
                        text_printf(c,
                                    "                if (%s)\n                        %s += (chunk - "
                                    "m->first) * %" PRId64 ";\n",
                                    e->g->output[i].name, e->g->output[i].name,
                                    row_elements(e->plan, &e->g->output[i].node->type));
        for (int i = 0; i < e->g->noutput; i++)
                if (elements_passed(e->plan, &e->g->output[i].node->type))
                        text_printf(c,
                                    "                if (%s)\n                        %s += chunk * %" PRId64
                                    ";\n",
                                    e->g->output[i].name, e->g->output[i].name,
                                    elements_passed(e->plan, &e->g->output[i].node->type));
        for (int i = 0; i < e->g->ninput; i++)
                if (advances(e->plan, &e->g->input[i].type))
                        text_printf(c, "                %s += %s;\n", e->g->input[i].name,
                                    rows_times(e, "chunk", row_elements(e->plan, &e->g->input[i].type)));
}

static void emit_advance(const Emit *e, Text *c)
{
        const char *time = e->g->named[e->g->time].name, *past = e->g->named[e->g->past].name;
        text_printf(c, "/* Processes n positions in chunks; requests the outputs from `first` on. */\n");
        text_printf(c, "static int advance(%s *m%s%s, int64_t n, int64_t first%s)\n{\n", e->name,
                    e->g->block ? "" : size_list(e, CALLS, true), input_list(e, CALLS, true, false),
                    output_list(e, true, false));
        emit_renewal(e, c);
        emit_under_way_check(e, c);
        emit_fed_check(e, c);
        text_printf(c,
                    "        if (n < 0 || n > %" PRId64
                    " - m->%s)\n                return %s_ERROR_CONTEXT;\n",
                    e->g->named[e->g->time].bound, past, e->upper);
        if (!e->g->block)
                emit_sizes(e, CALLS, c);
        emit_checks(e, CALLS, c, "        ");
        if (has_pages(e))
                text_printf(c,
                            "        if (take_pages(m, &(const %s_sequence){m->slot, n, 0}, 1))\n            "
                            "    return "
                            "%s_ERROR_PAGES;\n",
                            e->name, e->upper);
        if (has_dense(e->plan))
                text_printf(c, "        m->whole = n;\n        m->done = 0;\n");
        emit_later(e, c);
        text_printf(c,
                    "        while (n > 0) {\n                int64_t chunk = n < %" PRId64 " ? n : %" PRId64
                    ";\n",
                    e->plan->chunk, e->plan->chunk);
        text_printf(
                c,
                "                m->%s = chunk;\n                m->first = first < chunk ? first : chunk;\n",
                time);
        emit_pointers(e, CALLS, c, "                ");
        if (e->plan->windows.n)
                text_printf(
                        c,
                        "                for (int i = 0; i < %d; i++)\n                        "
                        "cache_make_room(&caches[i], i, &m->base[i], held, %d, m->state, m->%s, chunk);\n",
                        e->plan->windows.n, cached_states(e->plan), past);
        text_printf(c, "                %s(m);\n", is_batched(e) ? "run_alone" : "run");
        emit_next_rows(e, c);
        if (has_dense(e->plan))
                text_printf(c, "                m->done += chunk;\n");
        text_printf(c,
                    "                m->%s += chunk;\n                first -= m->first;\n                n "
                    "-= chunk;\n        }\n        return %s;\n}\n\n",
                    past, outcome(e));
}

/* Releases the pages of positions that are taken back. */
static void emit_pages_back(const Emit *e, const char *n, Text *c)
{
        if (has_pages(e))
                text_printf(c, "        pages_give(&m->page_table, m->slot, m->%s, %s);\n",
                            e->g->named[e->g->past].name, n);
}

static void emit_reset(const Emit *e, Text *c)
{
        text_printf(c, "%svoid %s_reset(%s *m)\n{\n", e->g->block ? "static " : "", e->name, e->name);
        emit_pages_back(e, "0", c);
        text_printf(c, "        m->%s = 0;\n", e->g->named[e->g->past].name);
        if (e->plan->windows.n)
                text_printf(c, "        memset(m->base, 0, sizeof m->base);\n");
        if (keeps_ring(e->plan))
                text_printf(c, "        m->furthest = 0;\n");
        text_printf(c, "}\n\n");
}

static void emit_rewind(const Emit *e, Text *c)
{
        const char *past = e->g->named[e->g->past].name;
        text_printf(c,
                    "%sint %s_rewind(%s *m, int64_t n)\n{\n        if (n < 0 || n > m->%s)\n                "
                    "return %s_ERROR_RANGE;\n",
                    e->g->block ? "static " : "", e->name, e->name, past, e->upper);
        if (e->plan->windows.n)
                text_printf(c,
                            "        if (n == 0)\n                %s_reset(m);\n"
                            "        for (int i = 0; i < %d; i++)\n"
                            "                if (!cache_reaches(&caches[i], m->base[i], n))\n"
                            "                        return %s_ERROR_REWIND;\n",
                            e->name, e->plan->windows.n, e->upper);
        const KeptSums sums = kept_sums(e->plan);
        if (sums.buffer)
                text_printf(c,
                            "        if (!scan_reaches(m->state + %" PRId64 ", %d, %" PRId64
                            ", n))\n                return %s_ERROR_REWIND;\n",
                            FLOATS(sums.buffer->offset), sums.older, sums.floats, e->upper);
        if (keeps_ring(e->plan))
                text_printf(c,
                            "        if (m->furthest < m->%s)\n                m->furthest = m->%s;\n"
                            "        if (n > 0 && n < m->furthest - %" PRId64
                            ")\n                return %s_ERROR_REWIND;\n"
                            "        if (n == 0)\n                m->furthest = 0;\n",
                            past, past, e->plan->rewind, e->upper);
        else if (carried_state(e->plan))
                text_printf(c, "        if (n > 0 && n < m->%s)\n                return %s_ERROR_REWIND;\n",
                            past, e->upper);
        emit_pages_back(e, "n", c);
        text_printf(c, "        m->%s = n;\n        return %s_OK;\n}\n\n", past, e->upper);
}

void emit_causal_interface(const Emit *e, Text *c)
{
        const char *past = e->g->named[e->g->past].name, *sizes = size_list(e, CALLS, false);
        emit_feeds(e, c);
        emit_caches(e, c);
        if (is_batched(e))
                emit_batch(e, c);
        emit_advance(e, c);
        text_printf(c,
                    "int %s_prefill(%s *m%s%s, int64_t n)\n{\n        return advance(m%s%s, n, n%s);\n}\n\n",
                    e->name, e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, false), sizes,
                    input_list(e, CALLS, false, false), output_list(e, false, true));
        text_printf(c,
                    "int %s_forward(%s *m%s%s, int64_t n%s)\n{\n        return advance(m%s%s, n, %s ? 0 : "
                    "n%s);\n}\n\n",
                    e->name, e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, false),
                    output_list(e, true, false), sizes, input_list(e, CALLS, false, false), wanted_outputs(e),
                    output_list(e, false, false));
        text_printf(c, "int %s_step(%s *m%s%s%s)\n{\n        return advance(m%s%s, 1, %s ? 0 : 1%s);\n}\n\n",
                    e->name, e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, true),
                    output_list(e, true, false), sizes, input_list(e, CALLS, false, true), wanted_outputs(e),
                    output_list(e, false, false));
        text_printf(c, "int64_t %s_position(const %s *m)\n{\n        return m->%s;\n}\n\n", e->name, e->name,
                    past);
        emit_reset(e, c);
        emit_rewind(e, c);
}

/* Calls take whole texts.  Only the loop appends blocks to the state. */
void emit_block_interface(const Emit *e, Text *c)
{
        const char *time = e->g->named[e->g->time].name;
        emit_caches(e, c);
        emit_advance(e, c);
        emit_reset(e, c);
        emit_rewind(e, c);
        text_printf(c, "int %s_forward(%s *m%s%s%s)\n{\n", e->name, e->name, size_list(e, CALLS, true),
                    input_list(e, CALLS, true, false), output_list(e, true, false));
        emit_sizes(e, CALLS, c);
        text_printf(c, "        %s_reset(m);\n        return advance(m%s, %s, %s ? 0 : %s%s);\n}\n\n",
                    e->name, input_list(e, CALLS, false, false), time, wanted_outputs(e), time,
                    output_list(e, false, false));
}

void emit_plain_interface(const Emit *e, Text *c)
{
        if (is_batched(e)) {
                emit_whole_batch(e, c);
                return;
        }
        emit_feeds(e, c);
        text_printf(c, "int %s_forward(%s *m%s%s%s)\n{\n", e->name, e->name, size_list(e, CALLS, true),
                    input_list(e, CALLS, true, false), output_list(e, true, false));
        emit_renewal(e, c);
        emit_fed_check(e, c);
        emit_sizes(e, CALLS, c);
        emit_checks(e, CALLS, c, "        ");
        text_printf(c, "        if (!%s)\n                return %s_OK;\n", wanted_outputs(e), e->upper);
        emit_pointers(e, CALLS, c, "        ");
        text_printf(c, "        run(m);\n        return %s;\n}\n\n", outcome(e));
}
