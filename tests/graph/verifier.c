/* The verifier refuses broken graphs: each is broken in one way, in a child process that must abort with a
 * message. */
#include "harness.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void Breakage(Fixture *f, Node *sum, Node *view);

static void swap_order(Fixture *f, Node *sum, Node *view)
{
        (void)sum, (void)view;
        Node *first = f->g->top->node[0];
        f->g->top->node[0] = f->g->top->node[2];
        f->g->top->node[2] = first;
}

static void double_id(Fixture *f, Node *sum, Node *view)
{
        (void)f;
        sum->id = view->id;
}

static void wrong_type(Fixture *f, Node *sum, Node *view)
{
        (void)f, (void)view;
        sum->type.dim[0] = dim_fixed(9);
}

static void beyond_bounds(Fixture *f, Node *sum, Node *view)
{
        (void)f, (void)sum;
        view->attr.view->offset[0] = dim_fixed(1);
}

static void lost_output(Fixture *f, Node *sum, Node *view)
{
        (void)sum, (void)view;
        f->g->output[0].node = NULL;
}

static bool is_refused(Breakage *breakage, const char *message)
{
        int end[2];
        if (pipe(end) != 0)
                return false;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
                Fixture f;
                signal(SIGABRT, SIG_DFL);
                dup2(end[1], 2);
                fixture_start(&f, 1);
                add_named(&f, "time", 8);
                Node *x = new_input(&f, "x", of_shape(REAL, 2, TIME, 4));
                static const int swap[] = {1, 0};
                Node *view = view_transpose(f.g, f.g->top, x, swap, (Span){0}, NULL),
                     *sum = op_axis(&f, OP_SUM, view, 0);
                add_output(&f, sum);
                if (breakage)
                        breakage(&f, sum, view);
                verify(f.g, "test");
                fixture_end(&f);
                _exit(0);
        }
        close(end[1]);
        char text[1024] = "";
        ssize_t length = read(end[0], text, sizeof text - 1);
        close(end[0]);
        int status;
        waitpid(child, &status, 0);
        text[length > 0 ? length : 0] = '\0';
        if (!breakage)
                return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        return WIFSIGNALED(status) && strstr(text, message) != NULL;
}

void test_verifier(void)
{
        verdict("verify: a sound graph passes", is_refused(NULL, NULL));
        verdict("verify: order", is_refused(swap_order, "an input does not stand before its use"));
        verdict("verify: ids", is_refused(double_id, "two nodes have one id"));
        verdict("verify: types", is_refused(wrong_type, "the type is not the one that follows"));
        verdict("verify: bounds", is_refused(beyond_bounds, "a view ends beyond its input"));
        verdict("verify: outputs", is_refused(lost_output, "an output is not in the top body"));
}
