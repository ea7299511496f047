/* The program of a trial: calls the emitted model in every way and compares the bits.
 *
 *   prog WEIGHTS INPUTS OUTPUTS     inputs and outputs one after another, as the interface has them
 *
 * Writes what one thread makes of the whole; prints "run output element one other" of the first difference of each run that
 * has one.  NaN equals NaN. */
#include "trial_program.h"

#include <inttypes.h>
#include <string.h>

typedef struct {
        const Plan *p;
        const Graph *g;
        const Trial *trial;
        const char *name;
        int64_t n; /* positions */
} Writer;

static int64_t elements(const Writer *w, const Type *t)
{
        return type_count(t, w->trial->size);
}

/* Elements of one position, or of all where it does not run over positions. */
static int64_t row(const Writer *w, const Type *t)
{
        return grows(w->g, t) ? elements(w, t) / w->n : elements(w, t);
}

bool grows(const Graph *g, const Type *t)
{
        return g->time >= 0 && t->rank > 0 && dim_equal(t->dim[0], dim_named(g->time));
}

static const char *input_type(const Input *in)
{
        return in->type.dtype == REAL ? "float" : "int32_t";
}

/* ", 33": sizes that a call states */
static void add_sizes(const Writer *w, Text *t)
{
        for (int i = 0; i < w->g->nnamed; i++)
                if (w->g->past < 0 || (i != w->g->time && i != w->g->past))
                        text_printf(t, ", %" PRId64, w->trial->size[i]);
}

/* ", tokens + at": the inputs from position `at`; a step takes one number by value */
static void add_inputs(const Writer *w, bool step, Text *t)
{
        for (int i = 0; i < w->g->ninput; i++) {
                const Type *type = &w->g->input[i].type;
                if (!grows(w->g, type))
                        text_printf(t, ", input_%d", i);
                else if (step && row(w, type) == 1)
                        text_printf(t, ", input_%d[at]", i);
                else
                        text_printf(t, ", input_%d + at * %" PRId64, i, row(w, type));
        }
}

static void add_outputs(const Writer *w, Text *t)
{
        for (int i = 0; i < w->g->noutput; i++) {
                const Type *type = &w->g->output[i].node->type;
                if (grows(w->g, type))
                        text_printf(t, ", output[%d] + at * %" PRId64, i, row(w, type));
                else
                        text_printf(t, ", output[%d]", i);
        }
}

static void add_tensors(const Writer *w, Text *t)
{
        for (int i = 0; i < w->g->ninput; i++)
                text_printf(t, "static %s input_%d[%" PRId64 "];\n", input_type(&w->g->input[i]), i, elements(w, &w->g->input[i].type));
        text_printf(t, "enum { OUTPUTS = %d, N = %" PRId64 ", PIECE = %d };\nstatic const long count[OUTPUTS] = {", w->g->noutput, w->n, TRIAL_PIECE);
        for (int i = 0; i < w->g->noutput; i++)
                text_printf(t, "%s%" PRId64, i ? ", " : "", elements(w, &w->g->output[i].node->type));
        text_printf(t, "};\nstatic const long from_last[OUTPUTS] = {"); /* of the last position */
        for (int i = 0; i < w->g->noutput; i++) {
                const Type *type = &w->g->output[i].node->type;
                text_printf(t, "%s%" PRId64, i ? ", " : "", grows(w->g, type) ? (w->n - 1) * row(w, type) : 0);
        }
        text_printf(t, "};\n\n");
}

/* ways[]: functions of a model and outputs, each one TrialCall */
static void add_calls(const Writer *w, Text *t)
{
        text_printf(t, "static int whole(%s *m, float *const *output)\n{\n        const int64_t at = 0;\n        (void)at;\n        return %s_forward(m", w->name, w->name);
        add_sizes(w, t);
        add_inputs(w, false, t);
        text_printf(t, w->g->past >= 0 ? ", N" : "");
        add_outputs(w, t);
        text_printf(t, ");\n}\n\n");
        if (!w->trial->sequential)
                return;
        text_printf(t, "static int pieces(%s *m, float *const *output)\n{\n        int error = 0;\n        for (int64_t at = 0; at < N && !error; at += PIECE)\n"
                       "                error = %s_forward(m",
                    w->name, w->name);
        add_sizes(w, t);
        add_inputs(w, false, t);
        text_printf(t, ", at + PIECE < N ? PIECE : N - at");
        add_outputs(w, t);
        text_printf(t, ");\n        return error;\n}\n\nstatic int step(%s *m, float *const *output, int64_t at)\n{\n        return %s_step(m", w->name, w->name);
        add_sizes(w, t);
        add_inputs(w, true, t);
        add_outputs(w, t);
        text_printf(t, ");\n}\n\nstatic int steps(%s *m, float *const *output)\n{\n        int error = 0;\n        for (int64_t at = 0; at < N && !error; at++)\n"
                       "                error = step(m, output, at);\n        return error;\n}\n\n",
                    w->name);
        text_printf(t, "static int prefill_step(%s *m, float *const *output)\n{\n        const int64_t at = 0;\n        int error = %s_prefill(m", w->name, w->name);
        add_sizes(w, t);
        add_inputs(w, false, t);
        text_printf(t, ", N - 1);\n        return error ? error : step(m, output, N - 1);\n}\n\n");
}

static const char compare[] =
        "static int differ(float a, float b)\n{\n        return memcmp(&a, &b, sizeof a) && !(a != a && b != b);\n}\n\n"
        "/* Prints the first difference. */\n"
        "static void compare(int run, int last_only, float *const *one, float *const *other)\n{\n"
        "        for (int i = 0; i < OUTPUTS; i++)\n"
        "                for (long k = last_only ? from_last[i] : 0; k < count[i]; k++)\n"
        "                        if (differ(one[i][k], other[i][k])) {\n"
        "                                printf(\"%d %d %ld %a %a\\n\", run, i, k, (double)one[i][k], (double)other[i][k]);\n"
        "                                return;\n"
        "                        }\n}\n\n";

static void add_files(const Writer *w, Text *t)
{
        text_printf(t, "static int read_inputs(const char *path)\n{\n        FILE *f = fopen(path, \"rb\");\n        int good = f != NULL;\n");
        for (int i = 0; i < w->g->ninput; i++)
                text_printf(t, "        good = good && fread(input_%d, sizeof input_%d, 1, f) == 1;\n", i, i);
        text_printf(t, "        return f && !fclose(f) && good;\n}\n\n");
        text_printf(t, "static int write_outputs(const char *path, float *const *output)\n{\n        FILE *f = fopen(path, \"wb\");\n"
                       "        int good = f != NULL;\n        for (int i = 0; i < OUTPUTS; i++)\n"
                       "                good = good && fwrite(output[i], sizeof(float), (size_t)count[i], f) == (size_t)count[i];\n"
                       "        return f && !fclose(f) && good;\n}\n\n");
}

/* Outputs start as NaN, so that one that is not written shows. */
static const char main_text[] =
        "static float *new_output(int i)\n{\n        float *output = malloc(sizeof *output * (size_t)count[i] + 1);\n        if (output)\n"
        "                memset(output, 0xff, sizeof *output * (size_t)count[i]);\n        return output;\n}\n\n"
        "static int call(int r, const char *weights, float **output)\n{\n        int error;\n        $model *m = $model_new(weights, run[r].threads, &error);\n"
        "        for (int i = 0; i < OUTPUTS; i++)\n                if (!(output[i] = new_output(i)))\n                        exit(1);\n"
        "        if (m)\n                error = run[r].call(m, output);\n        $model_free(m);\n        if (error)\n"
        "                fprintf(stderr, \"%s\\n\", $model_error(error));\n        return !error;\n}\n\n"
        "int main(int argc, char **argv)\n{\n        float *first[OUTPUTS], *output[OUTPUTS];\n        if (argc != 4 || !read_inputs(argv[2]) || !call(0, argv[1], first))\n"
        "                return 1;\n        for (int r = 1; r < RUNS; r++) {\n                if (!call(r, argv[1], output))\n                        return 1;\n"
        "                compare(run[r].number, run[r].last_only, first, output);\n                for (int i = 0; i < OUTPUTS; i++)\n"
        "                        free(output[i]);\n        }\n        return !write_outputs(argv[3], first);\n}\n";

static void add_main(const Writer *w, Text *t)
{
        for (const char *at = main_text, *next; *at; at = next) {
                next = strstr(at, "$model");
                text_add(t, at, next ? next - at : (int64_t)strlen(at));
                if (next)
                        text_printf(t, "%s", w->name);
                next = next ? next + 6 : at + strlen(at);
        }
}

const char *trial_program(Arena *a, const Plan *p, const Trial *trial, const char *header)
{
        static const char *const function[] = {"whole", "pieces", "steps", "prefill_step"};
        const Graph *g = p->graph;
        Writer w = {.p = p, .g = g, .trial = trial, .name = p->c_name, .n = g->time >= 0 ? trial->size[g->time] : 1};
        Text *t = text_new(a);
        text_printf(t, "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n#include \"%s\"\n\n", header);
        add_tensors(&w, t);
        add_calls(&w, t);
        text_add(t, compare, sizeof compare - 1);
        add_files(&w, t);
        text_printf(t, "static const struct {\n        int (*call)(%s *m, float *const *output);\n        int threads, number, last_only;\n} run[] = {\n", w.name);
        int runs = 0;
        for (int i = 0; i < trial_runs; i++) {
                if (trial_run[i].call != TRIAL_WHOLE && !trial->sequential)
                        continue;
                runs++;
                text_printf(t, "        {%s, %d, %d, %d},\n", function[trial_run[i].call], trial_run[i].threads, i, trial_run[i].call == TRIAL_PREFILL_STEP);
        }
        text_printf(t, "};\nenum { RUNS = %d };\n\n", runs);
        add_main(&w, t);
        return t->data;
}
