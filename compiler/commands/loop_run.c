/* What the loops besides generate share: the model is run once for each thing that is given. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"

int loop_wrong(const char *message)
{
        fprintf(stderr, "lathe run: %s\n", message);
        return lacks_memory(message) ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

bool loop_reads_once(const LoopRun *r)
{
        const Options *o = r->e.o;
        int times = 0;
        for (int i = 0; i < o->nfile; i++)
                times += !strcmp(o->file[i], "-");
        if (times > 1)
                fprintf(stderr, "lathe run: standard input, -, is named %d times; it can be read once\n",
                        times);
        return times <= 1;
}

/* --- a run ---------------------------------------------------------------------------------------------------------- */

static bool is_given_by_name(const Options *o, const char *name)
{
        size_t n = strlen(name);
        for (int i = 0; i < o->ninput; i++)
                if (!strncmp(o->input[i], name, n) && o->input[i][n] == '=')
                        return true;
        return false;
}

bool loop_fill_inputs(LoopRun *r)
{
        const Graph *g = r->e.m->graph;
        for (int i = 0; i < g->ninput; i++)
                if (!is_given_by_name(r->e.o, input_name(&g->input[i])) &&
                    !loop_fill(r->loop, &g->input[i], &r->e.given.values))
                        return false;
        return true;
}

int loop_run_once(LoopRun *r)
{
        int code = loop_fill_inputs(r) ? DONE : loop_wrong(no_memory);
        if (code == DONE)
                code = given_gather(&r->e.given, IN_BATCHES);
        if (code == DONE && r->e.given.values.batch)
                code = loop_wrong("an input of a batch is for `lathe eval`");
        if (code == DONE && !r->e.engine)
                code = evaluation_engine(&r->e);
        return code == DONE ? evaluation_run(&r->e) : code;
}

const float *loop_output(const LoopRun *r, int64_t *n)
{
        *n = evaluation_count(&r->e, r->parts.output);
        return r->e.output[r->parts.output];
}

/* --- texts ---------------------------------------------------------------------------------------------------------- */

int loop_run_text(LoopRun *r, const char *text, int64_t n)
{
        evaluation_forget(&r->e);
        r->e.given = (Given){.o = r->e.o,
                             .command = "run",
                             .m = r->e.m,
                             .tokenizer = &r->e.tokenizer,
                             .text = text,
                             .ntext = n};
        return loop_run_once(r);
}

const double *loop_tokens_given(const LoopRun *r, int64_t *n)
{
        const Recorded *v = &r->e.given.values;
        for (int i = 0; i < v->nmade; i++)
                if (!strcmp(v->made[i].name, input_name(r->parts.input))) {
                        *n = v->made[i].count;
                        return v->made[i].data;
                }
        *n = 0;
        return NULL;
}

static int take_lines(LoopRun *r, int (*take)(LoopRun *r, void *of, const char *text, int64_t n), void *of)
{
        char *line = NULL;
        size_t room = 0;
        int code = DONE;
        for (ssize_t n; code == DONE && (n = getline(&line, &room, stdin)) >= 0;) {
                n -= n > 0 && line[n - 1] == '\n';
                line[n] = 0;
                if (strlen(line) != (size_t)n)
                        code = loop_wrong("standard input: a line has a byte 0");
                else
                        code = take(r, of, line, n);
        }
        if (code == DONE && ferror(stdin))
                code = loop_wrong(strerror(errno));
        free(line);
        return code;
}

int loop_texts(LoopRun *r, int (*take)(LoopRun *r, void *of, const char *text, int64_t n), void *of)
{
        const Options *o = r->e.o;
        if (!loop_reads_once(r))
                return WRONG_USAGE;
        if (o->nfile < 2 && !o->prompt) {
                fprintf(stderr,
                        "lathe run: loop %s wants texts behind the model, or - for the lines of standard "
                        "input; "
                        "`lathe help run` says more\n",
                        r->loop->name);
                return WRONG_USAGE;
        }
        int code = o->prompt ? take(r, of, o->prompt, (int64_t)strlen(o->prompt)) : DONE;
        for (int i = 1; i < o->nfile && code == DONE; i++)
                code = strcmp(o->file[i], "-") ? take(r, of, o->file[i], (int64_t)strlen(o->file[i]))
                                               : take_lines(r, take, of);
        return code;
}
