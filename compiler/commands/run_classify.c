/* lathe run, loop classify: the most likely classes of pictures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"

typedef struct {
        LoopRun *r;
        const char *const *label; /* [classes]; NULL: only numbers */
        int64_t classes;
} Classes;

static int run_picture(LoopRun *r, const char *path)
{
        Arena *a = &r->e.m->arena;
        const Type *t = &r->parts.input->type;
        int64_t dim[3];
        double *value;
        bool env_error = false;
        for (int axis = 0; axis < 3; axis++)
                dim[axis] = dim_value(t->dim[axis], NULL);
        const char *why = picture_values(a, r->loop, path, dim, &value, &env_error);
        if (why)
                return env_error ? (loop_wrong(why), WRONG_ENVIRONMENT) : loop_wrong(why);
        evaluation_forget(&r->e);
        r->e.given = (Given){.o = r->e.o, .command = "run", .m = r->e.m, .tokenizer = &r->e.tokenizer};
        if (!recorded_add(&r->e.given.values, input_name(r->parts.input), 3, dim, value))
                return loop_wrong(no_memory);
        return loop_run_once(r);
}

static void classify_print(const Classes *c, const Likely *likely, int64_t n, const char *path)
{
        const CommandOptions *o = c->r->e.o;
        if (!o->given[OPT_JSON] && o->nfile > 2)
                printf("%s\n", path);
        for (int64_t i = 0; i < n && !o->given[OPT_JSON]; i++)
                printf("%8.4f  %lld%s%s\n", likely[i].probability, (long long)likely[i].number,
                       c->label ? "  " : "", c->label ? c->label[likely[i].number] : "");
        if (!o->given[OPT_JSON])
                return;
        printf("{\"file\": \"");
        json_print(stdout, path, (int64_t)strlen(path));
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

static int classify_path(Classes *c, const char *path)
{
        int64_t n, top = c->r->e.o->given[OPT_TOP] ? c->r->e.o->top : 5;
        Arena scratch = {0};
        int code = run_picture(c->r, path);
        if (code)
                return code;
        const float *scores = loop_output(c->r, &n);
        const Likely *likely = likeliest_first(&scratch, scores, n);
        if (likely)
                classify_print(c, likely, top < n ? top : n, path);
        else
                code = loop_wrong(arena_printf(
                        &c->r->e.m->arena, "%s: its scores have no softmax: one is NaN or infinite", path));
        arena_free(&scratch);
        return code;
}

int run_classify(LoopRun *r)
{
        const CommandOptions *o = r->e.o;
        Classes c = {.r = r,
                     .classes = dim_value(r->e.m->graph->output[r->parts.output].node->type.dim[0], NULL)};
        if (o->nfile < 2) {
                fprintf(stderr, "lathe run: loop classify requires pictures after the model: PNG, PPM or "
                                "PGM, or - for standard input; see `lathe help run`\n");
                return WRONG_USAGE;
        }
        if (!loop_reads_once(r))
                return WRONG_USAGE;
        int code = loop_labels(r->e.m, r->loop, c.classes, "run", &c.label);
        for (int i = 1; i < o->nfile && code == DONE; i++)
                code = classify_path(&c, o->file[i]);
        return code;
}
