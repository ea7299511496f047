/* The program of a test run: runtime/test_run.h with its placeholders replaced, after arrays for this
 * model's inputs. */
#include "check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct {
        const Plan *p;
        const Graph *g;
        const TestRun *test_run;
        int64_t n; /* positions */
} ProgramWriter;

bool counts_positions(const Graph *g, Dim d)
{
        return d.fixed >= 0 && g->time >= 0 && dim_equal(dim_sub(d, dim_fixed(d.fixed)), dim_named(g->time));
}

OutputShape output_shape(const Graph *g, const Type *t, const int64_t *size)
{
        OutputShape s = {.outer = 1, .middle = 1, .inner = 1};
        for (int a = 0; a < t->rank; a++) {
                Dim d = t->dim[a];
                bool row = g->past >= 0 && counts_positions(g, d),
                     column = g->past >= 0 && d.per[g->time] == 1 && d.per[g->past] == 1;
                if (row) {
                        s.front = d.fixed;
                        s.rows = size[g->time];
                } else if (column) {
                        s.columns = size[g->time];
                        s.extra = d.fixed;
                } else if (s.columns)
                        s.inner *= dim_value(d, size);
                else if (s.rows)
                        s.middle *= dim_value(d, size);
                else
                        s.outer *= dim_value(d, size);
        }
        if (!s.columns && s.rows) {
                s.inner = s.middle;
                s.middle = 1;
        }
        return s;
}

bool is_later(const OutputShape *s, int64_t k)
{
        if (!s->columns || !s->rows)
                return false;
        int64_t width = s->columns + s->extra,
                position = k / (s->inner * width * s->middle) % (s->front + s->rows) - s->front;
        return k / s->inner % width > (position < 0 ? -1 : position) + s->extra;
}

bool grows(const Graph *g, const Type *t)
{
        return g->time >= 0 && t->rank > 0 && dim_equal(t->dim[0], dim_named(g->time));
}

bool is_sequential(const Graph *g, const int64_t *size)
{
        bool sequential = g->past >= 0;
        for (int i = 0; i < g->noutput; i++)
                sequential &= g->output[i].tap || output_shape(g, &g->output[i].node->type, size).rows > 0;
        for (int i = 0; i < g->ninput && g->time >= 0; i++) {
                const Type *t = &g->input[i].type;
                for (int a = grows(g, t); a < t->rank; a++)
                        sequential &= t->dim[a].per[g->time] == 0;
        }
        return sequential;
}

static int64_t program_elements(const ProgramWriter *w, const Type *t)
{
        return type_count(t, w->test_run->size);
}

/* Elements of one position; all elements if it does not run over positions. */
static int64_t program_row_elements(const ProgramWriter *w, const Type *t)
{
        return grows(w->g, t) ? program_elements(w, t) / w->n : program_elements(w, t);
}

static const Type *output_type(const ProgramWriter *w, int i)
{
        return &w->g->output[i].node->type;
}

/* --- arguments ------------------------------------------------------------------------------------------- */

/* Whether an input of the group, or any separately fed one, has the size. */
static bool program_has_size(const ProgramWriter *w, int group, int size)
{
        for (int i = 0; i < w->g->ninput; i++) {
                const Input *in = &w->g->input[i];
                for (int a = 0; a < in->type.rank && is_fed_separately(w->g, in->group); a++)
                        if (in->type.dim[a].per[size] && (group < 0 || in->group == group))
                                return true;
        }
        return false;
}

/* ", 33": sizes that a call has as arguments */
static void program_sizes(const ProgramWriter *w, Text *t)
{
        for (int i = 0; i < w->g->nnamed; i++)
                if ((w->g->past < 0 || (i != w->g->time && i != w->g->past)) && !program_has_size(w, -1, i))
                        text_printf(t, ", %" PRId64, w->test_run->size[i]);
}

/* "(4 + n) * 768": elements of a sequence of size n */
static const char *count_text(const ProgramWriter *w, const Type *type)
{
        Arena *a = w->p->graph->arena;
        const int size = varying_size(w->g);
        const char *count = "1";
        for (int i = 0; i < type->rank; i++)
                count = arena_printf(a, "%s * (%" PRId64 " + %" PRId64 " * n)", count, type->dim[i].fixed,
                                     size < 0 ? 0 : type->dim[i].per[size]);
        return count;
}

/* The inputs of a batch of whole sequences, a function that appends one, and the sizes of outputs. */
static void add_wholes(const ProgramWriter *w, Text *t)
{
        Text *copies = text_new(w->p->graph->arena);
        for (int i = 0; i < w->g->ninput; i++) {
                const Type *type = &w->g->input[i].type;
                int64_t all = program_elements(w, type);
                text_printf(t, "static %s together_%d[SLOTS * %" PRId64 "];\n",
                            type->dtype == REAL ? "float" : "int32_t", i, all);
                text_printf(copies,
                            "        for (int64_t k = 0, count = %s; k < count; k++)\n"
                            "                together_%d[at[%d]++] = input_%d[backwards ? %" PRId64
                            " - 1 - k : k];\n",
                            count_text(w, type), i, i, i, all);
        }
        text_printf(
                t,
                "static void put_whole(int64_t *at, int64_t n, int backwards)\n{\n        (void)n;\n%s}\n\n",
                copies->data);
        text_printf(
                t,
                "static int64_t whole_output(int i, int64_t n)\n{\n        (void)n;\n        switch (i) {\n");
        for (int i = 0; i < w->g->noutput; i++)
                text_printf(t, "        case %d:\n                return %s;\n", i,
                            count_text(w, output_type(w, i)));
        text_printf(t, "        default:\n                return 0;\n        }\n}\n\n");
        text_printf(t, "static const int64_t length[SLOTS][SLOTS] = { /* [shown] */\n");
        for (int shown = 0; shown < w->p->slots; shown++) {
                text_printf(t, "        {");
                for (int i = 0; i < w->p->slots; i++)
                        text_printf(t, "%" PRId64 ", ", test_run_length(w->p, w->test_run, i, shown));
                text_printf(t, "},\n");
        }
        text_printf(t, "};\n#define SIZED %d\nenum { INPUTS = %d };\n", varying_size(w->g) >= 0,
                    w->g->ninput);
}

/* The inputs of a batch in rows, and a function that appends a sequence. */
static void add_batch(const ProgramWriter *w, Text *t)
{
        text_printf(t, "#define SLOTS %d\n", w->p->slots);
        text_printf(t, "#define WHOLE %d\n", has_whole_sequences(w->p));
        if (has_whole_sequences(w->p))
                add_wholes(w, t);
        if (w->p->slots == 1 || has_whole_sequences(w->p))
                return;
        Text *copies = text_new(w->p->graph->arena);
        for (int i = 0; i < w->g->ninput; i++) {
                const Input *in = &w->g->input[i];
                if (is_fed_separately(w->g, in->group))
                        continue;
                int64_t size = program_row_elements(w, &in->type);
                text_printf(t, "static %s together_%d[ROWS * %" PRId64 "];\n",
                            in->type.dtype == REAL ? "float" : "int32_t", i, size);
                text_printf(copies,
                            "                memcpy(together_%d + (row + k) * %" PRId64
                            ", input_%d + from * %" PRId64 ", (size_t)%" PRId64 " * 4);\n",
                            i, size, i, size, size);
        }
        text_printf(t,
                    "static void put_together(int64_t row, int64_t at, int64_t n, int backwards)\n{\n"
                    "        for (int64_t k = 0; k < n; k++) {\n                int64_t from = backwards ? N "
                    "- 1 - "
                    "at - k : at + k;\n%s        }\n}\n\n",
                    copies->data);
}

/* ", input_0 + at * 8"; a step takes one number by value */
static void add_inputs(const ProgramWriter *w, bool step, Text *t)
{
        for (int i = 0; i < w->g->ninput; i++) {
                const Type *type = &w->g->input[i].type;
                if (is_fed_separately(w->g, w->g->input[i].group))
                        continue;
                if (!grows(w->g, type))
                        text_printf(t, ", input_%d", i);
                else if (step && program_row_elements(w, type) == 1)
                        text_printf(t, ", input_%d[at]", i);
                else
                        text_printf(t, ", input_%d + at * %" PRId64, i, program_row_elements(w, type));
        }
}

/* "int error = tale_feed_source(m, 33, input_0);" for each group that is fed separately */
static void add_feeds(const ProgramWriter *w, Text *t)
{
        text_printf(t, "int error = 0;\n");
        for (int i = 0; i < w->g->ninput; i++) {
                const Input *first = &w->g->input[i];
                if (!is_fed_separately(w->g, first->group) ||
                    (i > 0 && w->g->input[i - 1].group == first->group))
                        continue;
                text_printf(t, "        if (!error)\n                error = %s_feed_%s(m", w->p->c_name,
                            first->group_name);
                for (int d = 0; d < w->g->nnamed; d++)
                        if (program_has_size(w, first->group, d))
                                text_printf(t, ", %" PRId64, w->test_run->size[d]);
                for (int k = i; k < w->g->ninput && w->g->input[k].group == first->group; k++)
                        text_printf(t, ", input_%d", k);
                text_printf(t, ");\n");
        }
}

static void program_outputs(const ProgramWriter *w, Text *t)
{
        for (int i = 0; i < w->g->noutput; i++)
                text_printf(t, ", given[%d]", i);
}

static void add_together(const ProgramWriter *w, Text *t)
{
        for (int i = 0; i < w->g->ninput; i++)
                if (!is_fed_separately(w->g, w->g->input[i].group))
                        text_printf(t, ", together_%d", i);
}

static void add_runs(const ProgramWriter *w, Text *t)
{
        static const char *const function[] = {"whole", "pieces", "steps",      "prefill_step",
                                               "batch", "halves", "later_huge", "later_nan"};
        static const char *const part[] = {
                [TEST_PREFILL_STEP] = "LAST", [TEST_LATER_HUGE] = "EARLIER", [TEST_LATER_NAN] = "EARLIER"};
        for (int i = 0; i < test_run_cases; i++)
                if (test_run_case[i].call != TEST_TAIL &&
                    test_run_applies(&test_run_case[i], w->p, w->test_run)) {
                        TestRunCall call = test_run_case[i].call;
                        bool whole = call >= (int)(sizeof part / sizeof part[0]) || !part[call];
                        text_printf(t, "{%s, %d, %d, %s}, ", function[call],
                                    test_run_threads(w->test_run, &test_run_case[i]), i,
                                    whole ? "ALL" : part[call]);
                }
}

static void program_word(const ProgramWriter *w, const char *word, size_t n, Text *t)
{
        if (!strncmp(word, "$model", n))
                text_printf(t, "%s", w->p->c_name);
        else if (!strncmp(word, "$sizes", n))
                program_sizes(w, t);
        else if (!strncmp(word, "$inputs", n) || !strncmp(word, "$one", n))
                add_inputs(w, n == 4, t);
        else if (!strncmp(word, "$feeds", n))
                add_feeds(w, t);
        else if (!strncmp(word, "$all", n))
                text_printf(t, "%s", w->g->past >= 0 ? ", N" : "");
        else if (!strncmp(word, "$outputs", n))
                program_outputs(w, t);
        else if (!strncmp(word, "$again", n))
                text_printf(t, "%s%s", w->g->past >= 0 ? w->p->c_name : "",
                            w->g->past >= 0 ? "_reset(m);" : "");
        else if (!strncmp(word, "$sequences", n))
                text_printf(t, varying_size(w->g) < 0 ? "n" : "s, n");
        else if (!strncmp(word, "$together", n))
                add_together(w, t);
        else if (!strncmp(word, "$runs", n))
                add_runs(w, t);
}

/* --- the program ------------------------------------------------------------------------------------------ */

static void add_arrays(const ProgramWriter *w, Text *t)
{
        text_printf(t, "#define STEPS %" PRId64 "\n", w->test_run->steps);
        text_printf(t,
                    "#define SEQUENTIAL %d\n#define FINITE %d\n#define OUTPUTS %d\nenum { N = %" PRId64
                    ", PIECE = %d, ROWS = %" PRId64 " };\n",
                    w->test_run->sequential, w->test_run->finite, w->g->noutput, w->n, TEST_PIECE,
                    w->p->slots > 1 && w->g->past >= 0 ? w->p->rows : 1);
        for (int i = 0; i < w->g->ninput; i++) {
                const Input *in = &w->g->input[i];
                text_printf(t, "static %s input_%d[%" PRId64 "];\n",
                            in->type.dtype == REAL ? "float" : "int32_t", i, program_elements(w, &in->type));
        }
        text_printf(t, "typedef struct {\n        int64_t outer, front, rows, middle, columns, extra, "
                       "inner;\n} Shape;\n"
                       "static const Shape shape[OUTPUTS] = {\n");
        for (int i = 0; i < w->g->noutput; i++) {
                OutputShape s = output_shape(w->g, output_type(w, i), w->test_run->size);
                text_printf(t,
                            "        {%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                            ", %" PRId64 ", %" PRId64 "},\n",
                            s.outer, s.front, s.rows, s.middle, s.columns, s.extra, s.inner);
        }
        text_printf(t, "};\nstatic const float later[OUTPUTS] = {");
        for (int i = 0; i < w->g->noutput; i++) {
                double later = w->g->output[i].later;
                text_printf(t, "%s, ", isnan(later) ? "0.0f / 0.0f" : later == 0 ? "0" : "-1.0f / 0.0f");
        }
        text_printf(t, "};\n\n");
}

static void add_read_inputs(const ProgramWriter *w, Text *t)
{
        int64_t size = 0;
        for (int i = 0; i < w->g->ninput; i++)
                size += program_elements(w, &w->g->input[i].type) * 4;
        text_printf(t,
                    "/* The inputs, or those that stand so many times behind them. */\n"
                    "static int read_inputs(const char *path, int which)\n{\n        FILE *f = fopen(path, "
                    "\"rb\");\n"
                    "        int good = f && !fseek(f, which * %" PRId64 "L, SEEK_SET);\n",
                    size);
        for (int i = 0; i < w->g->ninput; i++)
                text_printf(t, "        good = good && fread(input_%d, sizeof input_%d, 1, f) == 1;\n", i, i);
        text_printf(t, "        return f && !fclose(f) && good;\n}\n\n");
}

const char *test_run_program(Arena *a, const Plan *p, const TestRun *test_run, const char *header)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
        const Graph *g = p->graph;
        ProgramWriter w = {
                .p = p, .g = g, .test_run = test_run, .n = g->time >= 0 ? test_run->size[g->time] : 1};
        Text *t = text_new(a);
        text_printf(t, "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n#include \"%s\"\n\n",
                    header);
        add_arrays(&w, t);
        add_read_inputs(&w, t);
        add_batch(&w, t);
        if (test_run->steps) {
                paste_runtime(t, (const char *const[]){"generation.h", NULL}, all_facts, NULL,
                              "loop_prescribes");
                text_printf(t, "%s\n", loop_tokens_text(a, g, true));
        }
        const char *at = embedded_text("test_run.h");
        for (at = strstr(at, "*/") + 2; *at;) { /* its first comment describes the placeholders */
                size_t n = strcspn(at, "$");
                text_add(t, at, (int64_t)n);
                at += n;
                n = *at ? 1 + strspn(at + 1, letters) : 0;
                if (n)
                        program_word(&w, at, n, t);
                at += n;
        }
        return t->data;
}
