/* Programs with a planted fault: check_program() must find each, or prove that the change is harmless.
 *
 *   usage: faults MODEL program [option of `lathe show`]..
 *
 * Builds the plan, and changes one thing at a time: a step is left out, repeated, exchanged with the next one, replaced by the steps
 * inside it, or wrapped in a condition; a bit of its condition is flipped; a kernel or a buffer of the plan gets another property.
 * Prints for each kind of change how often check_program() stopped with each message; `proved`: it found nothing.  The script `run`
 * compares the sums with wrong.expected. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/driver.h"

/* --- answers -------------------------------------------------------------------------------------------------------------- */

typedef struct {
        char text[200];
        int n;
} Reply;
static Reply answer[64];
static int nanswer;

static bool is_name(const Plan *p, const char *word, size_t n)
{
        bool is = false;
        for (int i = 0; i < p->nbuffer; i++)
                is |= strlen(p->buffer[i]->name) == n && !strncmp(p->buffer[i]->name, word, n);
        return is;
}

/* A message without numbers and the names of steps, values and kernels. */
static const char *kind_of(const Plan *p, const char *message)
{
        static char text[200];
        size_t n = 0;
        const char *at = strstr(message, "`: ");
        at = at ? at + 3 : strstr(message, "the kernel");
        while (at && *at && *at != '\n' && n < sizeof text - 40) {
                const size_t word = *at == '`' ? strcspn(at + 1, "`") + 2
                                               : strcspn(at, " ,;:\n") + !strcspn(at, " ,;:\n");
                const bool quoted = *at == '`', number = *at >= '0' && *at <= '9',
                           name = is_name(p, at, word) ||
                                  !strncmp(at - (at > message + 11 ? 11 : 0), "the kernel ", 11);
                n += (size_t)snprintf(text + n, sizeof text - n, "%.*s",
                                      quoted || number || name ? 1 : (int)word,
                                      quoted || name ? "X"
                                      : number       ? "N"
                                                     : at);
                at += word;
        }
        return at ? text : message;
}

/* Runs check_program() in a process of its own. */
static void ask(const Plan *p)
{
        int pipes[2], status;
        char message[2048];
        size_t n = 0;
        fflush(stdout);
        if (pipe(pipes))
                exit(3);
        const pid_t child = fork();
        if (child == 0) {
                dup2(pipes[1], 2);
                close(pipes[0]);
                close(pipes[1]);
                check_program(p);
                _exit(0);
        }
        close(pipes[1]);
        for (ssize_t got;
             n < sizeof message - 1 && (got = read(pipes[0], message + n, sizeof message - 1 - n)) > 0;)
                n += (size_t)got;
        message[n] = '\0';
        close(pipes[0]);
        waitpid(child, &status, 0);
        const char *kind = WIFEXITED(status) && !WEXITSTATUS(status)                 ? "proved"
                           : WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && n ? kind_of(p, message)
                                                                                     : "crashed";
        int i = 0;
        while (i < nanswer && strcmp(answer[i].text, kind))
                i++;
        if (i == nanswer)
                snprintf(answer[nanswer++].text, sizeof answer->text, "%.199s", kind);
        answer[i].n++;
}

static int by_text(const void *a, const void *b)
{
        return strcmp(((const Reply *)a)->text, ((const Reply *)b)->text);
}

static void report(const char *change)
{
        qsort(answer, (size_t)nanswer, sizeof *answer, by_text);
        for (int i = 0; i < nanswer; i++)
                printf("%s: %d %s\n", change, answer[i].n, answer[i].text);
        memset(answer, 0, sizeof answer);
        nanswer = 0;
}

/* --- changes of steps ----------------------------------------------------------------------------------------------------- */

typedef enum {
        LEAVE_OUT,
        REPEAT_IT,
        EXCHANGE_IT,
        UNWRAP,
        WRAP_WANTED,
        WRAP_VIEW,
        WRAP_ONE_THREAD,
        ANOTHER_KIND,
        CHANGES
} ChangeOfSteps;
static const char *const change_text[] = {"left out",
                                          "repeated",
                                          "exchanged with the next",
                                          "replaced by the steps inside",
                                          "if another is wanted",
                                          "for sequences",
                                          "one thread",
                                          "of another kind"};

static bool may_change(ChangeOfSteps change, const StepList *list, int i)
{
        const Step *s = list->step[i];
        switch (change) {
        case EXCHANGE_IT: return i + 1 < list->n;
        case UNWRAP:
                return s->inside.n &&
                       (s->op == STEP_IF || s->op == STEP_IF_WANTED || s->op == STEP_ONE_THREAD ||
                        s->op == STEP_FOR_SEQUENCES || s->op == STEP_FOR_RANGES);
        case WRAP_WANTED:
        case WRAP_VIEW: return s->op == STEP_CALL || s->op == STEP_BARRIER;
        case WRAP_ONE_THREAD: return s->op == STEP_BARRIER;
        case ANOTHER_KIND: return s->op != STEP_BODY && s->op != STEP_ACTIVE && s->op != STEP_REPEAT;
        default: return s->op != STEP_BODY && s->op != STEP_ACTIVE;
        }
}

/* The changed list; `room` has place for it. */
static StepList changed_list(ChangeOfSteps change, const StepList *from, int at, Step **room, Step *step)
{
        StepList to = {.step = room};
        const Step *s = from->step[at];
        for (int i = 0; i < from->n; i++) {
                if (i != at || change == REPEAT_IT)
                        room[to.n++] = from->step[i];
                if (i != at || change == LEAVE_OUT)
                        continue;
                if (change == UNWRAP)
                        for (int k = 0; k < s->inside.n; k++)
                                room[to.n++] = s->inside.step[k];
                else if (change == EXCHANGE_IT)
                        continue;
                else
                        room[to.n++] = change == REPEAT_IT ? from->step[i] : step;
        }
        if (change == EXCHANGE_IT) {
                for (int i = to.n; i > at + 1; i--)
                        room[i] = room[i - 1];
                room[at + 1] = from->step[at];
                to.n++;
        }
        return to;
}

static void change_lists(const Plan *p, StepList *list, ChangeOfSteps change)
{
        const StepList whole = *list;
        for (int i = 0; i < whole.n; i++) {
                const Step *s = whole.step[i];
                if (may_change(change, &whole, i)) {
                        Step **room = calloc((size_t)whole.n + (size_t)s->inside.n + 2, sizeof *room);
                        Step *one[] = {whole.step[i]};
                        Step step = {.kernel = s->kernel, .inside = {one, 1, 1}};
                        step.op = change == WRAP_WANTED ? STEP_IF_WANTED
                                  : change == WRAP_VIEW ? STEP_FOR_SEQUENCES
                                                        : STEP_ONE_THREAD;
                        if (change == WRAP_WANTED)
                                step.output = &p->graph->output[p->graph->noutput - 1];
                        if (change == ANOTHER_KIND) {
                                step = *s;
                                step.op = STEP_BODY;
                        }
                        *list = changed_list(change, &whole, i, room, &step);
                        ask(p);
                        *list = whole;
                        free(room);
                }
                change_lists(p, &whole.step[i]->inside, change);
        }
}

/* --- changes within steps ----------------------------------------------------------------------------------------------- */

static void flip_bits(const Plan *p, StepList *list, StepOp op)
{
        for (int i = 0; i < list->n; i++) {
                Step *s = list->step[i];
                for (unsigned bit = 1; s->op == op && bit < 128; bit *= 2)
                        if (op != STEP_BARRIER || s->when & bit) {
                                const unsigned was = s->when;
                                s->when ^= bit;
                                ask(p);
                                s->when = op == STEP_BARRIER ? was : bit;
                                ask(p);
                                s->when = was;
                        }
                flip_bits(p, &s->inside, op);
        }
}

static void change_outputs(const Plan *p, StepList *list)
{
        for (int i = 0; i < list->n; i++) {
                Step *s = list->step[i];
                const Step was = *s;
                for (int o = 0; s->op == STEP_IF_WANTED && o < p->graph->noutput; o++) {
                        s->output = &p->graph->output[o];
                        ask(p);
                        s->output = NULL;
                        s->outputs = was.outputs ^ (UINT64_C(1) << o);
                        ask(p);
                        *s = was;
                }
                change_outputs(p, &s->inside);
        }
}

static void change_transfers(const Plan *p, StepList *list)
{
        for (int i = 0; i < list->n; i++) {
                Step *s = list->step[i];
                const Step was = *s;
                if (s->op == STEP_SEND || s->op == STEP_RECEIVE) {
                        s->last = !s->last;
                        ask(p);
                        *s = was;
                        s->op = s->op == STEP_SEND ? STEP_RECEIVE : STEP_SEND;
                        ask(p);
                        *s = was;
                }
                if (s->op == STEP_REPEAT) {
                        s->by_stages = false;
                        ask(p);
                        *s = was;
                        s->half = s->half == 2 ? 1 : s->half;
                        ask(p);
                        *s = was;
                }
                if (s->op == STEP_GATHER) {
                        SharedRows rows = *s->shared;
                        s->shared = &rows;
                        rows.tile += 16;
                        ask(p);
                        *s = was;
                }
                if (s->op == STEP_EXCHANGE)
                        for (int k = 0; k < p->all.n; k++)
                                if (p->all.kernel[k]->op == K_MATMUL) {
                                        s->kernel = p->all.kernel[k];
                                        ask(p);
                                        *s = was;
                                }
                change_transfers(p, &s->inside);
        }
}

/* --- changes of kernels and buffers --------------------------------------------------------------------------------- */

static void change_kernels(const Plan *p, const char *which)
{
        for (int i = 0; i < p->all.n; i++) {
                Kernel *k = p->all.kernel[i];
                const Kernel was = *k;
                if (k->op == K_REPEAT)
                        continue;
                switch (which[0]) {
                case 's': /* shared */
                        if (k->ranks.sharded)
                                k->ranks.heads = k->ranks.heads ? 0 : 2;
                        break;
                case 'a': /* all of it */ k->ranks.sharded = false; break;
                case 'h': /* heads */ k->ranks.heads *= 2; break;
                case 'r': /* rows */ k->rows = k->rows == ROWS_REQUESTED ? ROWS_ALL : k->rows; break;
                case 'd': /* divided by rows */ k->ranks.by_rows = !k->ranks.by_rows; break;
                case 'l': /* loop of rows */ k->ranks.row_loop = 0; break;
                case 'w': /* wanted */ k->wanted &= ~UINT64_C(1); break;
                case 'o': /* order */ k->order.step = 0; break;
                }
                if (memcmp(&was, k, sizeof was))
                        ask(p);
                *k = was;
        }
        report(which);
}

static void change_buffers(const Plan *p)
{
        for (int i = 0; i < p->nbuffer; i++) {
                Buffer *b = p->buffer[i];
                const Buffer was = *b;
                if (b->part_of)
                        continue;
                for (int k = 0; k < p->nbuffer && b->home == IN_ARENA; k++)
                        if (p->buffer[k]->home == IN_ARENA && !p->buffer[k]->part_of &&
                            p->buffer[k]->offset > b->offset) {
                                b->offset = p->buffer[k]->offset + p->buffer[k]->size - 16;
                                ask(p);
                                b->offset = p->buffer[k]->offset - 16;
                                ask(p);
                                *b = was;
                        }
                if (b->home == IN_ARENA) {
                        b->home = IN_STATE;
                        ask(p);
                        b->home = IN_OUTPUT;
                        b->index = 0;
                        ask(p);
                        *b = was;
                }
        }
        report("memory of another buffer, or of another home");
}

int main(int argc, char **argv)
{
        CommandOptions o = {.file = NULL};
        Model m;
        int code = 0;
        if (argc < 3 || !options_read(&o, "show", "show", argc - 1, argv + 1))
                return 2;
        Plan *p = model_load(&m, &o, &code) && model_passes(&m, &o)
                          ? model_plan(&m, &o, target_find("scalar"))
                          : NULL;
        if (!p)
                return 1;
        for (ChangeOfSteps change = 0; change < CHANGES; change++) {
                change_lists(p, p->program, change);
                report(change_text[change]);
        }
        flip_bits(p, p->program, STEP_BARRIER);
        report("barrier not in a kind of calls");
        flip_bits(p, p->program, STEP_IF);
        report("if with another condition");
        flip_bits(p, p->program, STEP_ONE_THREAD);
        report("one thread with another condition");
        change_outputs(p, p->program);
        report("wanted with other outputs");
        change_transfers(p, p->program);
        report("another transfer");
        static const char *const kernels[] = {"shared by heads or outputs",
                                              "all of it",
                                              "heads",
                                              "rows of all",
                                              "divided by rows",
                                              "loop of rows",
                                              "wanted by fewer",
                                              "order"};
        for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
                change_kernels(p, kernels[i]);
        change_buffers(p);
        model_free(&m);
        return 0;
}
