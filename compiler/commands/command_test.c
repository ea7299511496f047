/* lathe test: the tests written in the language, run by the interpreter with hash weights. Named
 * dimensions have their bounds. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check/check.h"
#include "commands_private.h"

/* Errors are added to diag. */
static void run_test(Model *m, Graph *g, Diag *diag)
{
        int64_t size[MAX_NAMED] = {0};
        for (int i = 0; i < g->nnamed; i++)
                size[i] = g->named[i].bound;
        Node **want = NEW_ARRAY(&m->arena, Node *, 2L * g->nrequire);
        Tensor *value = NEW_ARRAY(&m->arena, Tensor, 2L * g->nrequire);
        for (int i = 0; i < g->nrequire; i++) {
                want[2L * i] = g->require[i].left ? g->require[i].left : g->require[i].right;
                want[2L * i + 1] = g->require[i].right;
        }
        if (g->ninput) {
                diag_error(diag, g->input[0].span, "a test has no inputs");
                return;
        }
        WeightSource source = {weights_hashed(&m->arena, g), weights_read, weights_why};
        const char *error = interpret_nodes(g, size, NULL, &source, NULL, want, 2 * g->nrequire, value);
        if (lacks_memory(error))
                end_without_memory();
        if (error)
                diag_error(diag, (Span){0}, "%s", error);
        else
                check_requirements(diag, g, value);
        for (int i = 0; i < 2 * g->nrequire; i++)
                tensor_free(&value[i]);
}

static bool test_passes(Model *m, int which, bool in_colour)
{
        Diag diag = {.arena = &m->arena};
        Graph *g = elaborate_test(m->program, which, &diag);
        if (g)
                run_test(m, g, &diag);
        bool good = g && !diag.count;
        const char *mark = !in_colour ? "" : good ? "\033[32m" : "\033[1;31m";
        terminal_control(stdout, mark);
        printf("%s", good ? "ok" : "FAIL");
        terminal_control(stdout, in_colour ? "\033[0m" : "");
        printf(" %s\n", program_test_name(m->program, which));
        diag_print(&diag, stdout);
        fflush(stdout);
        return good;
}

int test_command(const CommandOptions *o)
{
        bool in_colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
        int passed = 0, failed = 0, worst = DONE;
        for (int i = 0; i < o->nfile; i++) {
                Model m;
                int code;
                bool open = model_open(&m, o->file[i], &code);
                for (int k = 0; open && k < program_ntest(m.program); k++)
                        test_passes(&m, k, in_colour) ? passed++ : failed++;
                model_free(&m);
                worst = !open && code > worst ? code : worst;
        }
        printf("%d passed, %d failed\n", passed, failed);
        return worst > DONE ? worst : failed > 0 ? WRONG_INPUT : DONE;
}
