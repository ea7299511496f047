/* lathe run, loop classify: the most likely classes of pictures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands_private.h"

typedef struct {
        LoopRun *r;
        const char *const *label; /* [classes]; NULL: only numbers */
        int64_t classes;
        WordList pictures;
        int worst; /* exit code of the pictures that could not be processed */
} Classes;

/* On a terminal, the lines of the pictures show the progress. */
static void classify_progress(int64_t done, int64_t total)
{
        if (!isatty(STDOUT_FILENO))
                progress("classifying", PROGRESS_STEPS, done, total);
}

/* A picture that can't be processed: then the others are. */
static int classify_wrong(Classes *c, const ListedWord *picture, const char *why, bool env_error)
{
        bool others;
        const int code = loop_wrong_file(c->r, picture, why, env_error, &others);
        if (!others)
                return code;
        c->worst = code > c->worst ? code : c->worst;
        if (!c->r->e.o->given[OPT_JSON])
                return DONE;
        printf("{\"file\": \"");
        json_print(stdout, picture->text, (int64_t)strlen(picture->text));
        printf("\", \"error\": \"");
        json_print(stdout, why, (int64_t)strlen(why));
        printf("\"}\n");
        return DONE;
}

static int run_picture(LoopRun *r, const int64_t *dim, double *value)
{
        evaluation_forget(&r->e);
        r->e.given = (Given){.o = r->e.o, .command = "run", .m = r->e.m, .tokenizer = &r->e.tokenizer};
        if (!recorded_add(&r->e.given.values, input_name(r->parts.input), 3, dim, value))
                return loop_wrong(no_memory);
        return loop_run_once(r);
}

static void classify_print(const Classes *c, const Likely *likely, int64_t n, const ListedWord *picture)
{
        const CommandOptions *o = c->r->e.o;
        if (!o->given[OPT_JSON] && (c->pictures.n > 1 || picture->where))
                printf("%s\n", picture->text);
        for (int64_t i = 0; i < n && !o->given[OPT_JSON]; i++)
                printf("%8.4f  %lld%s%s\n", likely[i].probability, (long long)likely[i].number,
                       c->label ? "  " : "", c->label ? c->label[likely[i].number] : "");
        if (!o->given[OPT_JSON])
                return;
        printf("{\"file\": \"");
        json_print(stdout, picture->text, (int64_t)strlen(picture->text));
        printf("\", \"classes\": [");
        for (int64_t i = 0; i < n; i++) {
                const char *label = c->label ? c->label[likely[i].number] : NULL;
                printf("%s{\"class\": %lld, \"probability\": %.9g", i ? ", " : "",
                       (long long)likely[i].number, likely[i].probability);
                if (label)
                        printf(", \"label\": \"");
                json_print(stdout, label, label ? (int64_t)strlen(label) : 0);
                printf(label ? "\"}" : "}");
        }
        printf("]}\n");
}

static int classify_picture(Classes *c, const ListedWord *picture)
{
        Arena *a = &c->r->e.m->arena, scratch = {0};
        const Type *t = &c->r->parts.input->type;
        int64_t n, dim[3], top = c->r->e.o->given[OPT_TOP] ? c->r->e.o->top : 5;
        double *value;
        bool env_error = false;
        for (int axis = 0; axis < 3; axis++)
                dim[axis] = dim_value(t->dim[axis], NULL);
        const char *why = picture_values(a, c->r->loop, picture->text, dim, &value, &env_error);
        if (why)
                return classify_wrong(c, picture, why, env_error);
        int code = run_picture(c->r, dim, value);
        if (code)
                return code;
        const float *scores = loop_output(c->r, &n);
        const Likely *likely = likeliest_first(&scratch, scores, n);
        if (likely)
                classify_print(c, likely, top < n ? top : n, picture);
        else
                code = classify_wrong(c, picture,
                                      arena_printf(a,
                                                   "%s: its scores have no softmax: one is NaN or infinite",
                                                   picture->text),
                                      false);
        arena_free(&scratch);
        return code;
}

int run_classify(LoopRun *r)
{
        const CommandOptions *o = r->e.o;
        Classes c = {.r = r,
                     .classes = dim_value(r->e.m->graph->output[r->parts.output].node->type.dim[0], NULL)};
        if (o->nfile < 2) {
                fprintf(stderr, "lathe run: loop classify requires pictures after the model: PNG, JPEG, PPM "
                                "or PGM, - for standard input, or @FILE for the paths in a file; see `lathe "
                                "help run`\n");
                return WRONG_USAGE;
        }
        if (!loop_reads_once(r))
                return WRONG_USAGE;
        int code = words_listed(&r->e.m->arena, o->file + 1, o->nfile - 1, &c.pictures);
        if (code == DONE)
                code = loop_labels(r->e.m, r->loop, c.classes, "run", &c.label);
        for (int64_t i = 0; i < c.pictures.n && code == DONE; i++) {
                code = classify_picture(&c, &c.pictures.at[i]);
                classify_progress(i + 1, c.pictures.n);
        }
        return code == DONE ? c.worst : code;
}
