/* Emit: the whole C file and its header.
 *
 *   comment: what this is, how to build it     constants     the runtime's declarations that are used
 *   struct of an instance     a function for each kernel     a function for each body     the program     the interface
 *   with --main: tokenizer, sampler and a command line */
#include "emit.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formula.h"
#include "paste.h"
#include "version.h"

typedef struct {
        Plan *plan;
        const EmitOptions *o;
        Arena *arena;
        const Graph *g;
        const char *name, *upper; /* the model's C name; in capitals */
        bool causal;              /* has prefill and step */
        bool portable;            /* several instruction sets in one file */
        bool alone;               /* the program alone, for an engine that has memory and threads */
} Emit;

static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n)
{
        const unsigned char *b = bytes;
        for (size_t i = 0; i < n; i++)
                h = (h ^ b[i]) * UINT64_C(0x100000001b3);
        return h;
}

uint64_t layout_hash(const Plan *p)
{
        uint64_t h = UINT64_C(0xcbf29ce484222325);
        for (int i = 0; i < p->nbuffer; i++) {
                const Buffer *b = p->buffer[i];
                if (b->home != IN_WEIGHTS)
                        continue;
                int64_t number[4] = {b->offset, b->slots, b->slot_stride, b->layout.tiled};
                h = hash_bytes(h, b->name, strlen(b->name));
                h = hash_bytes(h, number, sizeof number);
                h = hash_bytes(h, b->layout.stride, sizeof b->layout.stride);
        }
        return h;
}

/* Text with $model and $MODEL replaced by the model's name, $program by what threads run. */
static const char *named(const Emit *e, const char *text)
{
        Text *t = text_new(e->arena);
        for (const char *at = text; *at;) {
                const char *dollar = strchr(at, '$');
                if (!dollar) {
                        text_add(t, at, (int64_t)strlen(at));
                        break;
                }
                text_add(t, at, dollar - at);
                bool lower = !strncmp(dollar, "$model", 6), upper = !strncmp(dollar, "$MODEL", 6),
                     program = !strncmp(dollar, "$program", 8);
                text_printf(t, "%s",
                            lower         ? e->name
                            : upper       ? e->upper
                            : !program    ? "$"
                            : e->portable ? "best_program()"
                                          : "program");
                at = dollar + (lower || upper ? 6 : program ? 8 : 1);
        }
        return t->data;
}

/* --- the interface ---------------------------------------------------------------------------------------- */

static bool is_time(const Plan *p, Dim d)
{
        return p->graph->past >= 0 && dim_equal(d, dim_named(p->graph->time));
}

int64_t row_elements(const Plan *p, const Type *t)
{
        int64_t n = 1;
        for (int a = 0; a < t->rank; a++)
                if (!is_time(p, t->dim[a]))
                        n *= bound_of(p, t->dim[a]);
        return n;
}

/* An inner axis is named: a call's rows are not one after another. */
static bool is_dense(const Type *t)
{
        bool outermost = true, dense = false;
        for (int a = 0; a < t->rank; a++) {
                dense |= !outermost && !dim_is_fixed(t->dim[a]);
                outermost &= dim_is(t->dim[a], 1);
        }
        return dense;
}

/* "n * (m->source) * 6": elements in a call */
static const char *element_count(const Emit *e, const Type *t)
{
        Text *count = text_new(e->arena);
        for (int a = 0; a < t->rank; a++) {
                Dim rest = t->dim[a];
                bool time = e->causal && rest.per[e->g->time] == 1;
                if (time)
                        rest.per[e->g->time] = 0; /* n counts the whole call, m->time the piece at hand */
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

static const char *c_type(const Input *in)
{
        return in->type.dtype == REAL ? "float" : "int32_t";
}

static bool over_time(const Plan *p, const Type *t)
{
        for (int a = 0; a < t->rank; a++)
                if (is_time(p, t->dim[a]))
                        return true;
        return false;
}

static bool is_fed_apart(const Emit *e, int group)
{
        return e->g->fed_apart && (e->g->fed_apart >> group & 1);
}

enum { CALLS = -1 }; /* for a group of inputs: those that calls bring, where others are fed apart */

static bool is_given(const Emit *e, const Input *in, int group)
{
        bool apart = is_fed_apart(e, in->group);
        return group == CALLS ? !apart : apart && in->group == group;
}

/* ", const int32_t *tokens", or ", tokens" */
static const char *input_list(const Emit *e, int group, bool types, bool one)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                if (!is_given(e, in, group))
                        continue;
                bool scalar = one && row_elements(e->plan, &in->type) == 1 && over_time(e->plan, &in->type);
                if (!types)
                        text_printf(t, ", %s%s", one && scalar ? "&" : "", in->name);
                else if (scalar)
                        text_printf(t, ", %s %s", c_type(in), in->name);
                else
                        text_printf(t, ", const %s *%s", c_type(in), in->name);
        }
        return t->data;
}

static const char *output_list(const Emit *e, bool types, bool none)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(t, ", %s%s", types ? "float *" : "", none ? "NULL" : e->g->output[i].name);
        return t->data;
}

/* The groups fed apart whose inputs have the size. */
static uint64_t groups_of_size(const Emit *e, int size)
{
        uint64_t groups = 0;
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                for (int a = 0; a < in->type.rank && !is_given(e, in, CALLS); a++)
                        if (in->type.dim[a].per[size])
                                groups |= UINT64_C(1) << in->group;
        }
        return groups;
}

/* Whether a call states the size: all named dimensions but time and past, if what is fed apart has not stated them. */
static bool states_size(const Emit *e, int group, int size)
{
        if (e->causal && (size == e->g->time || size == e->g->past))
                return false;
        uint64_t groups = groups_of_size(e, size);
        return group == CALLS ? !groups : groups >> group & 1;
}

/* ", int64_t text" */
static const char *size_list(const Emit *e, int group, bool types)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->nnamed; i++)
                if (states_size(e, group, i))
                        text_printf(t, ", %s%s", types ? "int64_t " : "", e->g->named[i].name);
        return t->data;
}

/* "[3, time, past + time], a tap: layer[0].attn.scores .." */
static const char *output_text(const Emit *e, const Output *o)
{
        const char *text = type_text(e->arena, e->g, &o->node->type);
        int growing = 0;
        for (int a = 0; a < o->node->type.rank && e->causal; a++)
                growing += o->node->type.dim[a].per[e->g->time] != 0;
        if (o->tap)
                text = arena_printf(e->arena, "%s, a tap: %s", text, o->tap);
        if (growing > 1)
                text = arena_printf(e->arena,
                                    "%s; a row for each position of the call, a column for each so far,\n"
                                    " *     %s in columns after the row's position",
                                    text,
                                    isnan(o->later) ? "NaN"
                                    : o->later == 0 ? "0"
                                                    : "-inf");
        return text;
}

static const char *group_name(const Emit *e, int group)
{
        int i = 0;
        while (e->g->input[i].group != group)
                i++;
        return e->g->input[i].group_name;
}

static void emit_shapes(const Emit *e, Text *t)
{
        for (int i = 0; i < e->g->ninput; i++)
                text_printf(t, " * %s: %s%s\n", e->g->input[i].name,
                            type_text(e->arena, e->g, &e->g->input[i].type),
                            e->g->input[i].bound
                                    ? arena_printf(e->arena, ", each 0 to %" PRId64, e->g->input[i].bound - 1)
                                    : "");
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(t, " * %s: %s\n", e->g->output[i].name, output_text(e, &e->g->output[i]));
}

/* An enumerator; one more _ behind each name that is taken already. */
static void emit_size(const Emit *e, const char *name, int64_t value, Text *sizes)
{
        Text *own = text_new(e->arena);
        text_printf(own, "%s_", e->upper);
        for (const char *c = name; *c; c++)
                text_printf(own, "%c", toupper((unsigned char)*c));
        const char *last = own->data + strlen(e->upper) + 1;
        if (!strcmp(last, "OK") || !strcmp(last, "H") || !strncmp(last, "ERROR_", 6))
                text_printf(own, "_");
        while (uses_name(sizes->data, own->data))
                text_printf(own, "_");
        text_printf(sizes, "        %s = %" PRId64 ",\n", own->data, value);
}

static void emit_header(const Emit *e, Text *h)
{
        text_printf(h,
                    "/* %s: the interface of %s.c, written by lathe %s.\n *\n * Tensors are row-major, "
                    "outermost axis first.\n",
                    e->name, e->o->name, LATHE_VERSION);
        emit_shapes(e, h);
        text_printf(h, " * Functions return 0 or an error code; %s_error says it in words. */\n", e->name);
        text_printf(h, "#ifndef %s_H\n#define %s_H\n#include <stddef.h>\n#include <stdint.h>\n\n", e->upper,
                    e->upper);
        Text *sizes = text_new(e->arena);
        for (int i = 0; i < e->g->nhyper; i++) {
                const Setting *s = &e->g->hyper[i];
                bool whole = s->kind == SETTING_NUMBER && fabs(s->number) <= INT32_MAX &&
                             s->number == floor(s->number);
                if (whole)
                        emit_size(e, s->name, (int64_t)s->number, sizes);
        }
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                if (in->bound && in->bound < INT32_MAX)
                        emit_size(e, arena_printf(e->arena, "%s_bound", in->name), in->bound, sizes);
        }
        if (sizes->n)
                text_printf(h, "enum {\n%s};\n\n", sizes->data);
        text_printf(h,
                    "enum {\n        %s_OK,\n        %s_ERROR_FILE,\n        %s_ERROR_WEIGHTS,\n        "
                    "%s_ERROR_THREADS,\n"
                    "        %s_ERROR_MEMORY,\n        %s_ERROR_RANGE,\n        %s_ERROR_CONTEXT,\n        "
                    "%s_ERROR_FLOAT,\n        %s_ERROR_UNFED\n};\n\n",
                    e->upper, e->upper, e->upper, e->upper, e->upper, e->upper, e->upper, e->upper, e->upper);
        text_printf(h, "%s",
                    named(e, "typedef struct $model $model;\n\n"
                             "/* Bytes that an instance needs, to be aligned to 64. */\n"
                             "size_t $model_size(int threads);\n"
                             "/* In memory of the caller's; nothing is allocated.  weights_path: NULL if the "
                             "weights are in the C file. */\n"
                             "int $model_init($model *m, const char *weights_path, int threads);\n"
                             "/* Ends the threads and unmaps the weights; the memory stays the caller's. */\n"
                             "void $model_close($model *m);\n"
                             "/* The same in memory of its own; NULL and *error if that fails. */\n"
                             "$model *$model_new(const char *weights_path, int threads, int *error);\n"
                             "void $model_free($model *m);\n\n"));
        if (e->causal) {
                for (int i = 0; i < e->g->ngroup; i++)
                        if (is_fed_apart(e, i))
                                text_printf(h,
                                            "/* Takes %s for the calls that follow, which begin anew. */\n"
                                            "int %s_feed_%s(%s *m%s%s);\n",
                                            group_name(e, i), e->name, group_name(e, i), e->name,
                                            size_list(e, i, true), input_list(e, i, true, false));
                text_printf(h, "/* Takes n positions more. */\nint %s_prefill(%s *m%s%s, int64_t n);\n",
                            e->name, e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, false));
                text_printf(h,
                            "/* Takes n positions more and gives the outputs of each. */\nint %s_forward(%s "
                            "*m%s%s, int64_t n%s);\n",
                            e->name, e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, false),
                            output_list(e, true, false));
                text_printf(h,
                            "/* Takes one position more and gives its outputs (not if they are NULL). "
                            "*/\nint %s_step(%s *m%s%s%s);\n",
                            e->name, e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, true),
                            output_list(e, true, false));
                text_printf(h,
                            "/* Positions taken so far; back to none, or to the first n of them. */\nint64_t "
                            "%s_position(const %s *m);\n"
                            "void %s_reset(%s *m);\nint %s_rewind(%s *m, int64_t n);\n",
                            e->name, e->name, e->name, e->name, e->name, e->name);
        } else {
                text_printf(h, "/* The whole model once. */\nint %s_forward(%s *m%s%s%s);\n", e->name,
                            e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, false),
                            output_list(e, true, false));
        }
        text_printf(h, "const char *%s_error(int code);\n#endif\n", e->name);
}

static void emit_checks(const Emit *e, int group, Text *c, const char *indent)
{
        for (int i = 0; i < e->g->ninput; i++) {
                const Input *in = &e->g->input[i];
                if (!in->bound || !is_given(e, in, group))
                        continue;
                text_printf(c,
                            "%sfor (int64_t i = 0; i < %s; i++)\n%s        if (%s[i] < 0 || %s[i] >= %" PRId64
                            ")\n%s                return %s_ERROR_RANGE;\n",
                            indent, element_count(e, &in->type), indent, in->name, in->name, in->bound,
                            indent, e->upper);
        }
}

static void emit_sizes(const Emit *e, int group, Text *c)
{
        for (int i = 0; i < e->g->nnamed; i++) {
                const Named *n = &e->g->named[i];
                if (!states_size(e, group, i))
                        continue;
                text_printf(c,
                            "        if (%s < 1)\n                return %s_ERROR_RANGE;\n        if (%s > "
                            "%" PRId64 ")\n                return %s_ERROR_CONTEXT;\n        m->%s = %s;\n",
                            n->name, e->upper, n->name, n->bound, e->upper, n->name, n->name);
        }
}

bool advances(const Plan *p, const Type *t)
{
        return over_time(p, t) && !is_dense(t);
}

static bool has_dense(const Plan *p)
{
        const Graph *g = p->graph;
        for (int i = 0; i < g->ninput; i++)
                if (over_time(p, &g->input[i].type) && is_dense(&g->input[i].type))
                        return true;
        for (int i = 0; i < g->noutput; i++)
                if (over_time(p, &g->output[i].node->type) && is_dense(&g->output[i].node->type))
                        return true;
        return false;
}

/* "logits || hidden" */
static const char *any_output(const Emit *e)
{
        Text *t = text_new(e->arena);
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(t, "%s%s", i ? " || " : "", e->g->output[i].name);
        return e->g->noutput > 1 ? arena_printf(e->arena, "(%s)", t->data) : t->data;
}

/* Columns that no piece of the call computes, since their positions come after all of its rows. */
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

/* The parts that have waited for a group, which runs when all of their groups are fed. */
static void emit_part_runs(const Emit *e, uint64_t bit, Text *c)
{
        for (int i = 0; i < e->g->npart; i++) {
                uint64_t part = e->g->part[i];
                if (part == bit)
                        text_printf(c, "        m->part = %d;\n        run(m);\n", i + 1);
                else if (part & bit)
                        text_printf(c,
                                    "        if ((m->fed & %" PRIu64 ") == %" PRIu64
                                    ") {\n                m->part = %d;\n"
                                    "                run(m);\n        }\n",
                                    part, part, i + 1);
        }
}

/* A function that takes a group of inputs that is fed apart. */
static void emit_feed(const Emit *e, int group, Text *c)
{
        uint64_t bit = UINT64_C(1) << group;
        text_printf(c, "int %s_feed_%s(%s *m%s%s)\n{\n        m->fed &= ~(uint64_t)%" PRIu64 ";\n", e->name,
                    group_name(e, group), e->name, size_list(e, group, true),
                    input_list(e, group, true, false), bit);
        for (int i = 0; i < e->g->nnamed; i++)
                if (states_size(e, group, i) && groups_of_size(e, i) != bit)
                        text_printf(c,
                                    "        if (m->%s != %s)\n                m->fed &= ~(uint64_t)%" PRIu64
                                    ";\n",
                                    e->g->named[i].name, e->g->named[i].name, groups_of_size(e, i));
        emit_sizes(e, group, c);
        emit_checks(e, group, c, "        ");
        for (int i = 0; i < e->g->ninput; i++)
                if (is_given(e, &e->g->input[i], group))
                        text_printf(c, "        m->input_%s = %s;\n", e->g->input[i].name,
                                    e->g->input[i].name);
        text_printf(c, "        m->%s = 0;\n        m->fed |= %" PRIu64 ";\n", e->g->named[e->g->past].name,
                    bit);
        emit_part_runs(e, bit, c);
        text_printf(c, "        return %s_OK;\n}\n\n", e->upper);
}

static void emit_causal_interface(const Emit *e, Text *c)
{
        const char *time = e->g->named[e->g->time].name, *past = e->g->named[e->g->past].name;
        for (int group = 0; group < e->g->ngroup; group++)
                if (is_fed_apart(e, group))
                        emit_feed(e, group, c);
        text_printf(c,
                    "/* Takes n positions in chunks; the outputs of those from `first` on are wanted. */\n");
        text_printf(c, "static int advance(%s *m%s%s, int64_t n, int64_t first%s)\n{\n", e->name,
                    size_list(e, CALLS, true), input_list(e, CALLS, true, false),
                    output_list(e, true, false));
        text_printf(c,
                    "        if (n < 0 || n > %" PRId64
                    " - m->%s)\n                return %s_ERROR_CONTEXT;\n",
                    e->g->named[e->g->time].bound, past, e->upper);
        if (e->g->fed_apart)
                text_printf(c,
                            "        if (m->fed != %" PRIu64
                            ")\n                return %s_ERROR_UNFED;\n        m->part = -1;\n",
                            e->g->fed_apart, e->upper);
        emit_sizes(e, CALLS, c);
        emit_checks(e, CALLS, c, "        ");
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
        for (int i = 0; i < e->g->ninput; i++)
                if (is_given(e, &e->g->input[i], CALLS))
                        text_printf(c, "                m->input_%s = %s;\n", e->g->input[i].name,
                                    e->g->input[i].name);
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(c, "                m->output_%s = %s;\n", e->g->output[i].name,
                            e->g->output[i].name);
        text_printf(c, "                run(m);\n");
        for (int i = 0; i < e->g->noutput; i++)
                if (advances(e->plan, &e->g->output[i].node->type))
                        text_printf(c,
                                    "                if (%s)\n                        %s += (chunk - "
                                    "m->first) * %" PRId64 ";\n",
                                    e->g->output[i].name, e->g->output[i].name,
                                    row_elements(e->plan, &e->g->output[i].node->type));
        for (int i = 0; i < e->g->ninput; i++)
                if (advances(e->plan, &e->g->input[i].type))
                        text_printf(c, "                %s += chunk * %" PRId64 ";\n", e->g->input[i].name,
                                    row_elements(e->plan, &e->g->input[i].type));
        if (has_dense(e->plan))
                text_printf(c, "                m->done += chunk;\n");
        text_printf(c,
                    "                m->%s += chunk;\n                first -= m->first;\n                n "
                    "-= chunk;\n        }\n        return %s_OK;\n}\n\n",
                    past, e->upper);
        const char *sizes = size_list(e, CALLS, false);
        text_printf(c,
                    "int %s_prefill(%s *m%s%s, int64_t n)\n{\n        return advance(m%s%s, n, n%s);\n}\n\n",
                    e->name, e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, false), sizes,
                    input_list(e, CALLS, false, false), output_list(e, false, true));
        text_printf(
                c, "int %s_forward(%s *m%s%s, int64_t n%s)\n{\n        return advance(m%s%s, n, 0%s);\n}\n\n",
                e->name, e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, false),
                output_list(e, true, false), sizes, input_list(e, CALLS, false, false),
                output_list(e, false, false));
        text_printf(c, "int %s_step(%s *m%s%s%s)\n{\n        return advance(m%s%s, 1, %s ? 0 : 1%s);\n}\n\n",
                    e->name, e->name, size_list(e, CALLS, true), input_list(e, CALLS, true, true),
                    output_list(e, true, false), sizes, input_list(e, CALLS, false, true), any_output(e),
                    output_list(e, false, false));
        text_printf(c, "int64_t %s_position(const %s *m)\n{\n        return m->%s;\n}\n\n", e->name, e->name,
                    past);
        text_printf(c, "void %s_reset(%s *m)\n{\n        m->%s = 0;\n}\n\n", e->name, e->name, past);
        text_printf(c,
                    "int %s_rewind(%s *m, int64_t n)\n{\n        if (n < 0 || n > m->%s)\n                "
                    "return %s_ERROR_RANGE;\n        m->%s = n;\n        return %s_OK;\n}\n\n",
                    e->name, e->name, past, e->upper, past, e->upper);
}

static void emit_plain_interface(const Emit *e, Text *c)
{
        text_printf(c, "int %s_forward(%s *m%s%s%s)\n{\n", e->name, e->name, size_list(e, CALLS, true),
                    input_list(e, CALLS, true, false), output_list(e, true, false));
        emit_sizes(e, CALLS, c);
        emit_checks(e, CALLS, c, "        ");
        for (int i = 0; i < e->g->ninput; i++)
                text_printf(c, "        m->input_%s = %s;\n", e->g->input[i].name, e->g->input[i].name);
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(c, "        m->output_%s = %s;\n", e->g->output[i].name, e->g->output[i].name);
        text_printf(c, "        run(m);\n        return %s_OK;\n}\n\n", e->upper);
}

/* --- the program -------------------------------------------------------------------------------------------- */

/* Its first members are those of InstanceHead in engine.c. */
static void emit_struct(const Emit *e, Text *c)
{
        text_printf(c,
                    "struct %s {\n        const float *weights; /* [WEIGHT_FLOATS] */\n        float *arena, "
                    "*state, *scratch; /* [ARENA_FLOATS], "
                    "[STATE_FLOATS], [threads][SCRATCH] */\n        Team *team;\n        int threads;\n",
                    e->name);
        for (int i = 0; i < e->g->nnamed; i++)
                text_printf(c, "        int64_t %s; /* %s */\n", e->g->named[i].name,
                            e->causal && i == e->g->past   ? "positions taken by earlier calls"
                            : e->causal && i == e->g->time ? "positions in this call"
                                                           : "size in this call");
        if (has_dense(e->plan))
                text_printf(c, "        int64_t whole, done; /* positions of the caller's whole call; of it, "
                               "those taken */\n");
        text_printf(
                c, "        int64_t first; /* the first position of this call whose outputs are wanted */\n");
        for (int i = 0; i < e->g->ninput; i++)
                text_printf(c, "        const %s *input_%s;\n", c_type(&e->g->input[i]), e->g->input[i].name);
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(c, "        float *output_%s;\n", e->g->output[i].name);
        if (e->g->fed_apart)
                text_printf(
                        c,
                        "        uint64_t fed; /* the groups of inputs that are fed apart and have been */\n"
                        "        int part; /* what a run computes: 0: all, 1 ..: a part of what is fed "
                        "apart, -1: the calls' */\n");
        if (!e->alone)
                text_printf(c, "        Team members;\n        void *mapped;\n        size_t mapped_size;\n");
        text_printf(c,
                    "};\n\n/* What a function that a kernel calls back finds behind its context. */\ntypedef "
                    "struct {\n        const %s *m;\n        int64_t trip[8];\n} Place;\n\n",
                    e->name);
}

static void emit_calls(const Emit *e, int body, uint64_t part, Text *t);

static const char *body_name(const Emit *e, const Region *r, int which)
{
        return r->nbody > 1 ? arena_printf(e->arena, "%s_body_%d", r->name, which)
                            : arena_printf(e->arena, "%s_body", r->name);
}

/* The rows that a trip changes, where its kernels compute just these. */
static const char *body_rows(const Emit *e, const Body *b, bool types)
{
        const KernelList *l = &e->plan->list[body_number(e->plan, b)];
        return l->n ? row_parameters(l->kernel[l->n - 1], types) : "";
}

static void emit_repeat(const Emit *e, const Kernel *k, Text *t)
{
        const Region *r = k->region;
        const char *outer = trip_parameters(e->arena, k->body, false);
        if (r->nbody > 1) {
                text_printf(t, "static const uint8_t %s_body_of[%" PRId64 "] = {", r->name, r->trips);
                for (int64_t i = 0; i < r->trips; i++)
                        text_printf(t, "%s%d", i ? ", " : "", r->body_of[i]);
                text_printf(t, "};\n");
        }
        text_printf(t, "for (int64_t %s = 0; %s < %" PRId64 "; %s++) {\n", r->name, r->name, r->trips,
                    r->name);
        if (k->find)
                text_printf(t,
                            "        int32_t found[%" PRId64
                            "];\n        const int64_t count = %s(m%s, %s, found);\n"
                            "        if (count == 0)\n                continue;\n",
                            k->find->list_size, k->find->name, outer, r->name);
        text_printf(t, "        team_barrier(m->team);\n");
        for (int b = 0; b < r->nbody; b++) {
                if (r->nbody > 1)
                        text_printf(t, "        if (%s_body_of[%s] == %d)\n        ", r->name, r->name, b);
                text_printf(t, "        %s(m%s, %s%s, thread);\n", body_name(e, r, b), outer, r->name,
                            body_rows(e, r->body[b], false));
        }
        text_printf(t, "}\n");
}

static bool is_timed(const Plan *p)
{
        return p->timed && p->by_address;
}

static void emit_calls(const Emit *e, int body, uint64_t part, Text *t)
{
        const KernelList *l = &e->plan->list[body];
        for (int i = 0; i < l->n; i++) {
                const Kernel *k = l->kernel[i];
                if (k->part != part)
                        continue;
                if (k->barrier)
                        text_printf(t, "team_barrier(m->team);\n");
                if (k->op == K_REPEAT)
                        emit_repeat(e, k, t);
                else if (k->op != K_FIND)
                        text_printf(t, "%s(m%s%s, thread);\n", k->name,
                                    trip_parameters(e->arena, k->body, false), row_parameters(k, false));
                if (is_timed(e->plan) && k->op != K_REPEAT)
                        text_printf(t, "if (thread == 0)\n        profile_mark(%d);\n", k->step);
        }
}

/* Inner bodies before the ones that run them; kernels before their body. */
static void emit_body(const Emit *e, int body, Text *c)
{
        Plan *p = e->plan;
        for (int i = 0; i < p->list[body].n; i++) {
                Kernel *k = p->list[body].kernel[i];
                if (k->op != K_REPEAT) {
                        emit_kernel(p, k, c);
                        continue;
                }
                for (int b = 0; b < k->region->nbody; b++) {
                        int inner = body_number(p, k->region->body[b]);
                        emit_body(e, inner, c);
                        Text *calls = text_new(e->arena);
                        emit_calls(e, inner, 0, calls);
                        text_printf(c, "static void %s(const %s *m%s%s, int thread)\n{\n",
                                    body_name(e, k->region, b), e->name,
                                    trip_parameters(e->arena, k->region->body[b], true),
                                    body_rows(e, k->region->body[b], true));
                        text_indent(c, calls, 1);
                        text_printf(c, "}\n\n");
                }
        }
}

static void emit_wants_taps(const Emit *e, Text *c)
{
        Text *any = text_new(e->arena);
        for (int i = 0; i < e->g->noutput; i++)
                if (e->g->output[i].tap)
                        text_printf(any, "%sm->output_%s", any->n ? " || " : "", e->g->output[i].name);
        if (any->n)
                text_printf(c, "static int wants_taps(const %s *m)\n{\n        return %s;\n}\n\n", e->name,
                            any->data);
}

/* "source and picture" */
static const char *names_of_groups(const Emit *e, uint64_t groups)
{
        const char *names = "";
        for (int i = 0; i < e->g->ngroup; i++)
                if (groups >> i & 1)
                        names = arena_printf(e->arena, "%s%s%s", names, *names ? " and " : "",
                                             group_name(e, i));
        return names;
}

static void emit_program(const Emit *e, Text *c)
{
        emit_wants_taps(e, c);
        emit_body(e, 0, c);
        Text *calls = text_new(e->arena);
        if (is_timed(e->plan))
                text_printf(calls, "if (thread == 0)\n        profile_mark(-1);\n");
        for (int i = 0; i < e->g->npart; i++) {
                Text *part = text_new(e->arena);
                emit_calls(e, 0, e->g->part[i], part);
                text_printf(
                        c,
                        "/* What depends on %s alone. */\nstatic void part_%d(const %s *m, int thread)\n{\n",
                        names_of_groups(e, e->g->part[i]), i + 1, e->name);
                text_indent(c, part, 1);
                text_printf(c, "}\n\n");
                text_printf(calls,
                            "if (m->part == 0 || m->part == %d) {\n        part_%d(m, thread);\n        "
                            "team_barrier(m->team);\n}\n",
                            i + 1, i + 1);
        }
        if (e->g->npart)
                text_printf(calls, "if (m->part > 0)\n        return;\n");
        emit_calls(e, 0, 0, calls);
        text_printf(
                c,
                "/* One call of the model, run by every thread: each kernel does its thread's share. */\n");
        text_printf(c, "static void program(void *arg, int thread)\n{\n        const %s *m = arg;\n",
                    e->name);
        text_indent(c, calls, 1);
        text_printf(c, "}\n\n");
}

/* --- weights in the file --------------------------------------------------------------------------------------- */

static void emit_weights(const Emit *e, Text *c)
{
        if (!e->o->embed) {
                text_printf(c, "%s",
                            named(e, "static int weights_open($model *m, const char *path)\n{\n        "
                                     "return weights_map(m, path);\n}\n\n"));
                return;
        }
        text_printf(c, "/* The weights, as the bits of floats. */\nstatic const union {\n        uint32_t "
                       "bits[WEIGHT_FLOATS];\n        float value[WEIGHT_FLOATS];\n} "
                       "weight_data = {{\n");
        for (int64_t i = 0; i < e->plan->weights_size; i++) {
                uint32_t bits;
                memcpy(&bits, &e->o->weights[i], sizeof bits);
                text_printf(c, "%s0x%" PRIx32 ",%s", i % 10 ? "" : "        ", bits,
                            i % 10 == 9 || i + 1 == e->plan->weights_size ? "\n" : " ");
        }
        text_printf(c, "}};\n\n%s",
                    named(e, "static int weights_open($model *m, const char *path)\n{\n        (void)path;\n "
                             "       m->weights = weight_data.value;\n"
                             "        return $MODEL_OK;\n}\n\n"));
}

/* --- the command line ------------------------------------------------------------------------------------------- */

static void emit_tokenizer(const Tokenizer *t, Text *c)
{
        char *bytes = NULL;
        size_t n = 0;
        FILE *f = open_memstream(&bytes, &n);
        if (!f)
                arena_fail(c->arena);
        tokenizer_emit(t, f);
        fclose(f);
        text_add(c, bytes, (int64_t)n);
        free(bytes);
        text_printf(c, "\n");
}

static const Loop *generate_loop(const Graph *g)
{
        for (int i = 0; i < g->nloop; i++)
                if (!strcmp(g->loop[i].name, "generate"))
                        return &g->loop[i];
        return NULL;
}

static void emit_loop_constants(const Emit *e, Text *c)
{
        const Loop *l = generate_loop(e->g);
        int start = 1;
        Text *stop = text_new(e->arena);
        for (int i = 0; l && i < l->nsetting; i++) {
                const Setting *s = &l->setting[i];
                if (!strcmp(s->name, "start") && s->kind == SETTING_NUMBER)
                        start = (int)s->number;
                if (!strcmp(s->name, "stop") && s->kind == SETTING_NUMBER)
                        text_printf(stop, "%d, ", (int)s->number);
                for (int k = 0; !strcmp(s->name, "stop") && s->kind == SETTING_LIST && k < s->nlist; k++)
                        text_printf(stop, "%d, ", (int)s->list[k]);
        }
        text_printf(c,
                    "#define WEIGHTS_FILE \"%s.weights\"\nenum { VOCAB = %" PRId64 ", CONTEXT = %" PRId64
                    " };\n",
                    e->o->name, row_elements(e->plan, &e->g->output[0].node->type),
                    e->g->named[e->g->time].bound);
        if (!e->o->tokenizer)
                text_printf(c, "enum { START_TOKEN = %d };\n", start);
        text_printf(c, "static const int32_t stop_token[] = {%s-1};\n\n", stop->data);
}

/* --- all of it -------------------------------------------------------------------------------------------------- */

static void emit_comment(const Emit *e, Text *c)
{
        const Plan *p = e->plan;
        text_printf(c, "/* %s: %s%s\n *\n", e->name, e->causal ? "a causal model" : "a model",
                    arena_printf(e->arena, ", written by lathe %s.", LATHE_VERSION));
        text_printf(
                c,
                " * %" PRId64
                " parameters; %.1f MFLOP a position; weights %.1f MB f32, cache %.1f MB, arena %.2f MB%s.\n",
                e->o->parameters, (double)e->o->flops_token / 1e6, 4e-6 * (double)p->weights_size,
                4e-6 * (double)p->state_size, 4e-6 * (double)p->arena_size,
                e->causal ? arena_printf(e->arena, " at %" PRId64 " positions a call", p->chunk) : "");
        text_printf(c,
                    " * %d barriers a call.  The same bits with any number of threads, in any chunks, on any "
                    "target.\n",
                    p->nbarrier);
        const char *flags = p->target->flags;
        text_printf(c, " * Build: cc -std=c11 -O2%s%s %s.c%s -lpthread */\n", *flags ? " " : "", flags,
                    e->o->name, e->o->with_main ? "" : " your.c");
}

static void emit_guard_macros(const Emit *e, Text *c)
{
        const Target *t = e->plan->target;
        Text *missing = text_new(e->arena);
        for (const char *at = t->guard; *at;) {
                int64_t n = (int64_t)strcspn(at, " ");
                text_printf(missing, "%s!defined(%.*s)", missing->n ? " || " : "", (int)n, at);
                at += n + (at[n] == ' ');
        }
        if (missing->n)
                text_printf(c, "#if %s\n#error \"this file is for %s: compile it with %s\"\n#endif\n\n",
                            missing->data, t->name, *t->flags ? t->flags : "a compiler for that processor");
}

int64_t scratch_size(const Plan *p)
{
        int64_t most = LANES;
        for (int i = 0; i < p->nbody; i++)
                for (int k = 0; k < p->list[i].n; k++)
                        if (p->list[i].kernel[k]->scratch > most)
                                most = p->list[i].kernel[k]->scratch;
        return round_up(most, LANES);
}

static void emit_constants(const Emit *e, Text *c)
{
        text_printf(c, "#define LAYOUT_HASH UINT64_C(0x%016" PRIx64 ")\n", layout_hash(e->plan));
        text_printf(c,
                    "#define WEIGHT_FLOATS %" PRId64 "\n#define ARENA_FLOATS %" PRId64
                    "\n#define STATE_FLOATS %" PRId64 "\n#define SCRATCH %" PRId64 "\n\n",
                    e->plan->weights_size, e->plan->arena_size + LANES, e->plan->state_size + LANES,
                    scratch_size(e->plan));
}

static void emit_tile(const Target *t, Text *c)
{
        text_printf(c,
                    "/* Register tile of products: rows by panels of 16; panels with four rows or fewer. "
                    "*/\n#define TILE_ROWS %d\n\n#define TILE_PANELS "
                    "%d\n\n#define FEW_PANELS %d\n\n",
                    t->rows, t->panels, t->few_panels);
}

/* Each further instruction set of a portable file: its own copy of kernels and program, with names of its own. */
typedef struct {
        const char *target, *processor, *features, *test;
} Section;

static const Section section_table[] = {
        {"avx2", "defined(__x86_64__) && !defined(__TINYC__)", "avx2,fma,f16c",
         "__builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"fma\")"},
        {"avx512", "defined(__x86_64__) && !defined(__TINYC__)",
         "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl",
         "__builtin_cpu_supports(\"avx512f\") && __builtin_cpu_supports(\"avx512bw\") && "
         "__builtin_cpu_supports(\"avx512dq\") && "
         "__builtin_cpu_supports(\"avx512vl\")"},
        {"neon", "defined(__aarch64__) && defined(__ARM_NEON) && !defined(__TINYC__)", NULL, "1"},
};
enum { SECTIONS = sizeof section_table / sizeof section_table[0] };

static void emit_section(const Emit *e, const Section *s, const char *kernels, Text *c)
{
        const Target *t = target_find(s->target);
        const char *files[] = {t->vector, "math.h", "rows.h", "matmul.h", "attention.h", NULL};
        Text *own = text_new(e->arena);
        emit_tile(t, own);
        paste_runtime(own, files, NULL, kernels);
        text_printf(own, "%s", kernels);
        text_printf(c, "/* The same kernels for %s. */\n#if %s\n", s->target, s->processor);
        if (s->features)
                text_printf(c,
                            "#include <immintrin.h>\n#if defined(__clang__)\n#pragma clang attribute "
                            "push(__attribute__((target(\"%s\"))), apply_to = function)\n"
                            "#else\n#pragma GCC push_options\n#pragma GCC target(\"%s\")\n#endif\n\n",
                            s->features, s->features);
        paste_renamed(c, own->data, arena_printf(e->arena, "_%s", s->target));
        if (s->features)
                text_printf(c, "#if defined(__clang__)\n#pragma clang attribute pop\n#else\n#pragma GCC "
                               "pop_options\n#endif\n");
        text_printf(c, "#endif\n\n");
}

static void emit_choice(const Emit *e, const char *kernels, Text *c)
{
        for (int i = 0; i < SECTIONS; i++)
                emit_section(e, &section_table[i], kernels, c);
        text_printf(c, "typedef void Program(void *arg, int thread);\n\n/* The program for the best "
                       "instruction set that this processor runs. */\n"
                       "static Program *best_program(void)\n{\n");
        for (int i = SECTIONS - 1; i >= 0; i--)
                text_printf(c, "#if %s\n        if (%s)\n                return program_%s;\n#endif\n",
                            section_table[i].processor, section_table[i].test, section_table[i].target);
        text_printf(c, "        return program;\n}\n\n");
}

/* What stands between kernels and command line: weights, instance, the model's functions. */
static void emit_instance(const Emit *e, Text *c)
{
        const char *model = named(e, embedded_text("model.h"));
        const char *start = strstr(model, "#include"), *map = strstr(model, "/* The weight file:"),
                   *rest = strstr(model, "static size_t aligned(");
        text_add(c, start, (e->o->embed ? map : rest) - start);
        emit_weights(e, c);
        text_printf(c, "%s\n", rest);
        if (e->causal)
                emit_causal_interface(e, c);
        else
                emit_plain_interface(e, c);
        if (e->o->with_main) {
                if (e->o->tokenizer)
                        emit_tokenizer(e->o->tokenizer, c);
                emit_loop_constants(e, c);
        }
}

static void emit_command(const Emit *e, Text *c)
{
        static const char *const text_files[] = {"tokenizer.h", "sampler.h", NULL}, *const token_files[] = {
                                                                                            "sampler.h",
                                                                                            NULL};
        if (!e->o->with_main)
                return;
        const char *command =
                arena_printf(e->arena, "%s\n%s",
                             named(e, embedded_text(e->o->tokenizer ? "main_text.h" : "main_tokens.h")),
                             named(e, embedded_text("main.h")));
        paste_runtime(c, e->o->tokenizer ? text_files : token_files, NULL, command);
        text_printf(c, "%s", command);
}

static void emit_all(const Emit *e, Text *c)
{
        Text *before = text_new(e->arena), *kernels = text_new(e->arena), *after = text_new(e->arena),
             *user = text_new(e->arena);
        emit_struct(e, before);
        emit_program(e, kernels);
        if (e->portable)
                emit_choice(e, kernels->data, after);
        emit_instance(e, after);
        emit_command(e, after);
        const Target *t = e->portable ? target_find("scalar") : e->plan->target;
        const char *files[] = {"guard.h",  t->vector,     "math.h", "rows.h",
                               "matmul.h", "attention.h", "team.h", NULL};
        emit_tile(t, c);
        text_printf(user, "%s%s%s", before->data, kernels->data, after->data);
        paste_runtime(c, files, NULL, user->data);
        text_printf(c, "%s", user->data);
}

static Emit emit_new(Plan *p, const EmitOptions *o)
{
        Emit e = {.plan = p,
                  .o = o,
                  .arena = p->graph->arena,
                  .g = p->graph,
                  .name = p->c_name,
                  .causal = p->graph->past >= 0};
        e.portable = !strcmp(p->target->name, "portable");
        Text *upper = text_new(e.arena);
        for (const char *at = e.name; *at; at++)
                text_printf(upper, "%c", toupper((unsigned char)*at));
        e.upper = upper->data;
        return e;
}

void emit(Plan *p, const EmitOptions *o, Text *c, Text *h)
{
        Emit e = emit_new(p, o);
        emit_header(&e, h);
        emit_comment(&e, c);
        text_printf(c,
                    "#if !defined(_POSIX_C_SOURCE)\n#define _POSIX_C_SOURCE 200809L\n#endif\n#include "
                    "\"%s.h\"\n\n",
                    o->name);
        emit_guard_macros(&e, c);
        emit_constants(&e, c);
        emit_all(&e, c);
}

/* Where an engine finds what it sets before a call: see emit.h. */
static void emit_instance_layout(const Emit *e, Text *c)
{
        text_printf(c, "const int64_t lathe_instance[] = {sizeof(%s), offsetof(%s, first)", e->name, e->name);
        const char *whole = has_dense(e->plan) ? "offsetof(%s, whole), offsetof(%s, done)" : "-1, -1";
        text_printf(c, ", ");
        text_printf(c, whole, e->name, e->name);
        for (int i = 0; i < e->g->nnamed; i++)
                text_printf(c, ", offsetof(%s, %s)", e->name, e->g->named[i].name);
        for (int i = 0; i < e->g->ninput; i++)
                text_printf(c, ", offsetof(%s, input_%s)", e->name, e->g->input[i].name);
        for (int i = 0; i < e->g->noutput; i++)
                text_printf(c, ", offsetof(%s, output_%s)", e->name, e->g->output[i].name);
        text_printf(c,
                    "};\n\nvoid lathe_program(void *arg, int thread)\n{\n        program(arg, thread);\n}\n");
}

void emit_program_alone(Plan *p, const char *given, Text *c)
{
        Emit e = emit_new(p, NULL);
        e.alone = true;
        p->by_address = given != NULL;
        Text *user = text_new(e.arena);
        text_printf(user, "typedef struct %s %s;\n", e.name, e.name);
        emit_struct(&e, user);
        emit_program(&e, user);
        emit_instance_layout(&e, user);
        if (given) {
                text_printf(c, "%s", given);
        } else {
                text_printf(c, "#define _POSIX_C_SOURCE 200809L\n#include <stddef.h>\n#include <stdint.h>\n");
                emit_guard_macros(&e, c);
        }
        text_printf(c, "#define SCRATCH %" PRId64 "\n\n", scratch_size(p));
        emit_tile(p->target, c);
        const char *all[] = {"guard.h",  p->target->vector, "math.h", "rows.h",
                             "matmul.h", "attention.h",     "team.h", NULL},
                   *types[] = {"rows.h", "matmul.h", "attention.h", NULL};
        paste_runtime(c, given ? types : all, given, user->data);
        text_printf(c, "%s", user->data);
        p->by_address = false;
}
