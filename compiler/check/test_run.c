/* Test runs: emitted C in a temporary folder, built by cc (or CC) and run; 64-bit ARM under qemu on other
 * machines. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const TestRunCase test_run_case[] = {
        {TEST_WHOLE, 1},  {TEST_WHOLE, 2},        {TEST_WHOLE, 3},      {TEST_STEPS, 1},    {TEST_PIECES, 2},
        {TEST_STEPS, 3},  {TEST_PREFILL_STEP, 1}, {TEST_BATCH, 1},      {TEST_BATCH, 2},    {TEST_BATCH, 3},
        {TEST_HALVES, 2}, {TEST_TAIL, 2},         {TEST_LATER_HUGE, 1}, {TEST_LATER_NAN, 2}};
const int test_run_cases = sizeof test_run_case / sizeof test_run_case[0];

bool test_run_applies(const TestRunCase *run, const Plan *p, const TestRun *t)
{
        switch (run->call) {
        case TEST_WHOLE: return true;
        case TEST_HALVES: return p->graph->noutput > 1;
        case TEST_BATCH: return p->slots > 1 && (t->sequential || has_whole_sequences(p));
        case TEST_LATER_NAN: return t->sequential && !t->finite;
        default: return t->sequential;
        }
}

bool is_later_spoilt(TestRunCall call)
{
        return call == TEST_LATER_HUGE || call == TEST_LATER_NAN;
}

/* Replacement for x: other ids and bools; huge reals or NaN, or finite ones if the proof is only for
 * these. */
static double spoilt_input(const Input *in, bool finite, TestRunCall call, int64_t k, double x)
{
        static const double huge[] = {1e38, -INFINITY, -1e38, INFINITY};
        if (in->type.dtype != REAL)
                return in->bound ? (double)in->bound - 1 - x : x == 0;
        return finite ? 0.5 - x : call == TEST_LATER_NAN ? NAN : huge[k % 4];
}

double test_run_input(const Graph *g, const TestRun *t, TestRunCall call, int i, int64_t k)
{
        const Input *in = &g->input[i];
        double x = t->input[i].data[k];
        if (!is_later_spoilt(call) || !grows(g, &in->type))
                return x;
        int64_t n = t->size[g->time], row = type_count(&in->type, t->size) / n;
        return k < n / 2 * row ? x : spoilt_input(in, t->finite, call, k, x);
}

int64_t test_run_length(const Plan *p, const TestRun *t, int i, int shown)
{
        const int size = varying_size(p->graph);
        if (size < 0)
                return 1;
        int64_t n = t->size[size], some = 1 + (INT64_C(7) * i + n / 2) % n, room = (p->rows - n) / p->slots;
        return i == shown ? n : some < room ? some : room;
}

int test_run_threads(const TestRun *t, const TestRunCase *run)
{
        return t->threads && run->threads == 3 ? t->threads : run->threads;
}

/* --- the folder ---------------------------------------------------------------------------------------------- */

static const char *const file_name[] = {"model.c", "model.h",      "model.weights", "program.c",
                                        "program", "inputs",       "outputs",       "said",
                                        "log",     "relaxed.wasm", "exact.wasm",    NULL};
static int folder_entry = -1; /* of ending.c */

char *test_run_folder(void)
{
        const char *parent = getenv("TMPDIR");
        parent = parent && *parent ? parent : "/tmp";
        size_t n = strlen(parent) + 16;
        char *folder = malloc(n);
        if (folder)
                snprintf(folder, n, "%s/lathe-XXXXXX", parent);
        if (!folder || !mkdtemp(folder)) {
                fprintf(stderr, "lathe: %s: can't create a folder there: %s\n", parent, strerror(errno));
                free(folder);
                return NULL;
        }
        folder_entry = ending_folder(folder, file_name);
        return folder;
}

void test_run_remove(char *folder)
{
        if (!folder)
                return;
        remove_folder(folder, file_name);
        ending_forget(folder_entry);
        free(folder);
}

/* --- other programs ------------------------------------------------------------------------------------------- */

int shell(const char *folder, const char *command)
{
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
                if (!chdir(folder) && !setenv("TMPDIR", ".", 1))
                        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
                _exit(127);
        }
        int status = 127 << 8, entry = child > 0 ? ending_process(child) : -1;
        while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
                ;
        ending_forget(entry);
        return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

static const char *compiler_of(const Target *t)
{
        const char *cc = getenv("CC");
        return target_is_cross(t) ? t->machine->compiler : cc && *cc ? cc : "cc";
}

static bool is_installed(Arena *a, const char *program)
{
        return shell(".", arena_printf(a, "command -v %.*s >/dev/null 2>&1", (int)strcspn(program, " "),
                                       program)) == 0;
}

const char *test_run_lacks(Arena *a, const Target *t)
{
        if (!target_runs_here(t) && !target_is_cross(t))
                return "a processor that runs it";
        if (!is_installed(a, compiler_of(t)))
                return arena_printf(a, "the C compiler %s", compiler_of(t));
        if (target_is_cross(t) && !is_installed(a, t->machine->runner))
                return arena_printf(a, "%s to run it", t->machine->runner);
        return NULL;
}

/* --- files ----------------------------------------------------------------------------------------------------- */

static const char *path_in(Arena *a, const char *folder, const char *name)
{
        return arena_printf(a, "%s/%s", folder, name);
}

static void copy_to_stderr(const char *path)
{
        FILE *f = fopen(path, "r");
        for (int c; f && (c = getc(f)) != EOF;)
                fputc(c, stderr);
        if (f)
                fclose(f);
}

static bool write_inputs_of(FILE *f, const Graph *g, const TestRun *test_run, TestRunCall call)
{
        bool good = true;
        for (int i = 0; i < g->ninput; i++) {
                int64_t n = type_count(&g->input[i].type, test_run->size);
                bool is_real = g->input[i].type.dtype == REAL;
                for (int64_t k = 0; good && k < n; k++) {
                        double x = test_run_input(g, test_run, call, i, k);
                        float real = is_real ? (float)x : 0;
                        int32_t whole = is_real ? 0 : (int32_t)x;
                        good = fwrite(is_real ? (void *)&real : (void *)&whole, 4, 1, f) == 1;
                }
        }
        return good;
}

/* Writes the inputs, followed by those with another second half. */
static bool write_inputs(const char *path, const Graph *g, const TestRun *test_run)
{
        FILE *f = fopen(path, "wb");
        bool good = f && write_inputs_of(f, g, test_run, TEST_WHOLE);
        for (TestRunCall call = TEST_LATER_HUGE; good && test_run->sequential && call <= TEST_LATER_NAN;
             call++)
                good = write_inputs_of(f, g, test_run, call);
        if (f && fclose(f))
                good = false;
        return good;
}

static bool read_outputs(const char *path, const Graph *g, TestRun *test_run)
{
        FILE *f = fopen(path, "rb");
        bool good = f != NULL;
        for (int i = 0; i < g->noutput && good; i++) {
                size_t n = (size_t)type_count(&g->output[i].node->type, test_run->size);
                test_run->output[i] = malloc((n + 1) * sizeof(float));
                good = test_run->output[i] && fread(test_run->output[i], sizeof(float), n, f) == n;
        }
        if (f)
                fclose(f);
        return good;
}

/* Reads lines of differences, of which the first counts, and of tokens, followed by "end": without it the
 * output is incomplete. */
static bool read_said(const char *path, Arena *a, TestRun *test_run)
{
        long at;
        double one, other;
        char line[256] = "";
        FILE *f = fopen(path, "r");
        test_run->run = -1;
        test_run->token = NEW_ARRAY(a, int32_t, test_run->steps + 1);
        test_run->ntoken = 0;
        while (f && fgets(line, sizeof line, f)) {
                if (!strncmp(line, "token ", 6) && test_run->ntoken < test_run->steps) {
                        test_run->token[test_run->ntoken++] = (int32_t)strtol(line + 6, NULL, 10);
                } else if (test_run->run < 0 && sscanf(line, "%d %d %ld %lf %lf", &test_run->run,
                                                       &test_run->at_output, &at, &one, &other) == 5) {
                        test_run->at = at;
                        test_run->one = (float)one;
                        test_run->other = (float)other;
                }
        }
        bool good = f && !strcmp(line, "end\n");
        if (f)
                fclose(f);
        return good;
}

static bool write_sources(Plan *p, const char *folder, Weights *weights, const TestRun *test_run)
{
        Arena *a = p->graph->arena;
        EmitOptions options = {.name = "model"};
        Text *c = text_new(a), *h = text_new(a);
        emit(p, &options, c, h);
        const char *program = test_run_program(a, p, test_run, "model.h");
        if (!write_weights(path_in(a, folder, "model.weights"), p, weights) ||
            !write_file(path_in(a, folder, "model.c"), c->data, c->n) ||
            !write_file(path_in(a, folder, "model.h"), h->data, h->n) ||
            !write_file(path_in(a, folder, "program.c"), program, (int64_t)strlen(program)))
                return false;
        if (write_inputs(path_in(a, folder, "inputs"), p->graph, test_run))
                return true;
        fprintf(stderr, "lathe: %s/inputs: %s\n", folder, strerror(errno));
        return false;
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

bool test_run(Plan *p, const char *folder, Weights *weights, TestRun *result)
{
        Arena *a = p->graph->arena;
        const Target *t = p->target;
        if (!target_runs_here(t) && !target_is_cross(t)) {
                fprintf(stderr, "lathe: target %s can't be tried here: %s is missing\n", t->name,
                        test_run_lacks(a, t));
                return false;
        }
        if (!write_sources(p, folder, weights, result))
                return false;
        const char *build =
                arena_printf(a, "%s -std=c11 -O2 %s%s -o program program.c model.c -lpthread >log 2>&1",
                             compiler_of(t), t->flags, target_is_cross(t) ? " -static" : "");
        if (shell(folder, build)) {
                fprintf(stderr, "lathe: %s: %s can't compile the emitted files:\n", t->name, compiler_of(t));
                copy_to_stderr(path_in(a, folder, "log"));
                return false;
        }
        int status = shell(folder, arena_printf(a, "%s%s./program model.weights inputs outputs >said 2>log",
                                                target_is_cross(t) ? t->machine->runner : "",
                                                target_is_cross(t) ? " " : ""));
        if (status || !read_outputs(path_in(a, folder, "outputs"), p->graph, result) ||
            !read_said(path_in(a, folder, "said"), a, result)) {
                fprintf(stderr, "lathe: %s: the compiled model failed (exit status %d)\n", t->name, status);
                copy_to_stderr(path_in(a, folder, "log"));
                return false;
        }
        return true;
}
