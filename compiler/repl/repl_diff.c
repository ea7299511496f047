/* Effects of a change: the plan, line by line, and the outputs.
 *
 * A run takes a snapshot; if something has changed since the last one, the previous snapshot is kept too. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repl_private.h"

enum { MAX_COMPARED = 1 << 24, MAX_LINES = 3000 };

typedef struct {
        char *name;
        int rank;
        int64_t dim[MAX_RANK], count;
        float *value; /* NULL: too many values */
} Remembered;

struct Snapshot {
        int64_t change;
        char *prompt; /* the text that was run */
        char *plan;
        int noutput;
        Remembered *output;
};

void snapshot_free(Snapshot *t)
{
        if (!t)
                return;
        for (int i = 0; i < t->noutput; i++) {
                free(t->output[i].name);
                free(t->output[i].value);
        }
        free(t->output);
        free(t->prompt);
        free(t->plan);
        free(t);
}

/* Through a file: glibc's open_memstream() drops text silently if memory is short. */
static char *snapshot_plan_text(const Plan *p)
{
        FILE *f = tmpfile();
        if (f)
                plan_dump(f, p);
        long n = f && !fflush(f) && !ferror(f) ? ftell(f) : -1;
        char *text = n >= 0 && !fseek(f, 0, SEEK_SET) ? malloc((size_t)n + 1) : NULL;
        if (text && fread(text, 1, (size_t)n, f) != (size_t)n) {
                free(text);
                text = NULL;
        }
        if (text)
                text[n] = 0;
        if (f)
                fclose(f);
        return text;
}

/* Moves the trace's outputs to the snapshot. */
static void snapshot_outputs(Snapshot *to, const Graph *g, Trace *t)
{
        for (int i = 0; i < g->noutput; i++) {
                Remembered *k = &to->output[to->noutput++];
                const Type *type = &g->output[i].node->type;
                *k = (Remembered){
                        .name = strdup(output_name(&g->output[i])), .rank = type->rank, .count = t->count[i]};
                for (int a = 0; a < type->rank; a++)
                        k->dim[a] = dim_value(type->dim[a], t->size);
                if (t->count[i] > MAX_COMPARED)
                        continue;
                k->value = t->output[i];
                t->output[i] = NULL;
        }
}

static Snapshot *snapshot_new(ReplSession *s)
{
        Trace t = {0};
        Snapshot *now = calloc(1, sizeof *now);
        const Graph *g = s->runner->model.graph;
        bool good = now && !engine_rewind(s->runner->engine, 0) && trace_inputs(s, &t);
        if (now) {
                now->change = s->change;
                now->prompt = strdup(s->prompt ? s->prompt : "");
                now->plan = snapshot_plan_text(s->runner->plan);
                now->output = calloc((size_t)g->noutput + 1, sizeof *now->output);
        }
        if (!now || !now->prompt || !now->plan || !now->output)
                repl_error("the results can't be stored for :diff: no memory, or no temporary file");
        if (good && now->prompt && now->plan && now->output && trace_run(s, &t))
                snapshot_outputs(now, g, &t);
        else
                good = false;
        if (now)
                trace_free(s, &t);
        if (good)
                return now;
        snapshot_free(now);
        return NULL;
}

bool keep_snapshot(ReplSession *s)
{
        Snapshot *now = snapshot_new(s);
        if (!now)
                return false;
        if (s->now && s->now->change != now->change) {
                snapshot_free(s->before);
                s->before = s->now;
        } else {
                snapshot_free(s->now);
        }
        s->now = now;
        return true;
}

/* --- lines ------------------------------------------------------------------------------------------------------------- */

typedef struct {
        const char *at;
        size_t n;
} Line;

static int cut_lines(const char *text, Line *line)
{
        int n = 0;
        for (; *text && n < MAX_LINES; n++) {
                size_t length = strcspn(text, "\n");
                line[n] = (Line){text, length};
                text += length + (text[length] == '\n');
        }
        return n;
}

static bool same_line(Line a, Line b)
{
        return a.n == b.n && !memcmp(a.at, b.at, a.n);
}

/* Prints the longest common subsequence; other lines with - and +. */
static void diff_print_lines(const Line *a, int m, const Line *b, int n, uint16_t *length)
{
#define LENGTH(i, j) length[(size_t)(i) * (size_t)(n + 1) + (size_t)(j)]
        for (int i = m - 1; i >= 0; i--)
                for (int j = n - 1; j >= 0; j--) {
                        uint16_t down = LENGTH(i + 1, j), right = LENGTH(i, j + 1);
                        LENGTH(i, j) = same_line(a[i], b[j]) ? (uint16_t)(LENGTH(i + 1, j + 1) + 1)
                                       : down > right        ? down
                                                             : right;
                }
        for (int i = 0, j = 0; i < m || j < n;) {
                if (i < m && j < n && same_line(a[i], b[j])) {
                        i++;
                        j++;
                } else if (i < m && (j == n || LENGTH(i + 1, j) >= LENGTH(i, j + 1))) {
                        printf("- %.*s\n", (int)a[i].n, a[i].at);
                        i++;
                } else {
                        printf("+ %.*s\n", (int)b[j].n, b[j].at);
                        j++;
                }
        }
#undef LENGTH
}

static bool print_plans(const char *before, const char *now)
{
        if (!strcmp(before, now)) {
                printf("the same plan\n");
                return true;
        }
        Line *a = calloc((size_t)2 * MAX_LINES, sizeof *a), *b = a + MAX_LINES;
        int m = a ? cut_lines(before, a) : 0, n = a ? cut_lines(now, b) : 0;
        uint16_t *length = calloc((size_t)(m + 1) * (size_t)(n + 1), sizeof *length);
        if (a && length)
                diff_print_lines(a, m, b, n, length);
        bool good = a && length;
        free(length);
        free(a);
        return good || repl_error("%s", no_memory);
}

/* --- outputs ------------------------------------------------------------------------------------------------------------- */

static void print_shape(const Remembered *k)
{
        printf("[");
        for (int a = 0; a < k->rank; a++)
                printf("%s%" PRId64, a ? ", " : "", k->dim[a]);
        printf("]");
}

static void diff_print_values(const Remembered *a, const Remembered *b)
{
        int64_t apart = 0;
        double most = 0, largest = 0;
        for (int64_t i = 0; i < a->count; i++) {
                double d = fabs((double)a->value[i] - (double)b->value[i]);
                bool both_nan = isnan(a->value[i]) && isnan(b->value[i]), same = a->value[i] == b->value[i];
                if (both_nan || same)
                        continue;
                apart++;
                most = d > most || isnan(d) ? d : most;
        }
        for (int64_t i = 0; i < a->count; i++)
                largest = fabsf(a->value[i]) > largest ? fabsf(a->value[i]) : largest;
        if (!apart)
                printf("the same, %" PRId64 " elements\n", a->count);
        else
                printf("%" PRId64 " of %" PRId64 " elements differ, by %.4g at most; the largest was %.4g\n",
                       apart, a->count, most, largest);
}

static void print_output(const Remembered *before, const Remembered *now)
{
        printf("%s ", now->name);
        print_shape(now);
        if (!before) {
                printf(" is new\n");
                return;
        }
        bool same = before->rank == now->rank && !memcmp(before->dim, now->dim, sizeof now->dim);
        printf(": ");
        if (!same) {
                printf("was ");
                print_shape(before);
                printf("\n");
        } else if (before->value && now->value) {
                diff_print_values(before, now);
        } else {
                printf("too many elements to be kept\n");
        }
}

static const Remembered *find_output(const Snapshot *t, const char *name)
{
        for (int i = 0; i < t->noutput; i++)
                if (!strcmp(t->output[i].name, name))
                        return &t->output[i];
        return NULL;
}

static void diff_print_outputs(const Snapshot *before, const Snapshot *now)
{
        if (strcmp(before->prompt, now->prompt) != 0) {
                printf("outputs are not compared: before the change the model was run on another text, ");
                print_text(stdout, before->prompt);
                printf("\n");
                return;
        }
        for (int i = 0; i < now->noutput; i++)
                print_output(find_output(before, now->output[i].name), &now->output[i]);
        for (int i = 0; i < before->noutput; i++)
                if (!find_output(now, before->output[i].name))
                        printf("%s was removed\n", before->output[i].name);
}

bool print_difference(ReplSession *s, const Words *w)
{
        (void)w;
        if (!runner_fit(s, AS_IT_IS) || !keep_snapshot(s))
                return false;
        if (!s->before) {
                printf("nothing was run before a change; the current results are stored\n");
                return true;
        }
        if (!print_plans(s->before->plan, s->now->plan))
                return false;
        diff_print_outputs(s->before, s->now);
        return true;
}
