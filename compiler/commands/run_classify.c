/* lathe run, loop classify: the likeliest classes of pictures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"

typedef struct {
        LoopRun *r;
        const char **label; /* [classes]; NULL: they have numbers alone */
        int64_t classes;
} Classes;

/* --- labels --------------------------------------------------------------------------------------------------------- */

static bool next_line(const Source *s, int *line, const char **text, int32_t *n)
{
        if (*line >= s->nline)
                return false;
        *text = source_line_text(s, ++*line, n);
        while (*n && ((*text)[*n - 1] == '\r' || (*text)[*n - 1] == '\n'))
                --*n;
        return *line < s->nline || *n > 0;
}

/* A line for each class. */
static const char *labels_of_lines(Classes *c, const Source *s)
{
        Arena *a = &c->r->e.m->arena;
        const char *text;
        int64_t found = 0;
        int32_t n;
        for (int line = 0; next_line(s, &line, &text, &n); found++)
                if (found < c->classes)
                        c->label[found] = arena_strndup(a, text, n);
        return found == c->classes
                       ? NULL
                       : arena_printf(a, "%s has %lld labels, a line each, and the model %lld classes",
                                      s->path, (long long)found, (long long)c->classes);
}

/* id2label of Hugging Face's config.json: {"0": "tench", ...} */
static const char *labels_of_json(Classes *c, const Source *s)
{
        Arena *a = &c->r->e.m->arena;
        json_error_t error;
        json_begin();
        json_t *root = json_parse(s->text, (size_t)s->length, 0, &error);
        const char *why = root             ? NULL
                          : json_starved() ? no_memory
                                           : arena_printf(a, "%s:%d: %s", s->path, error.line, error.text);
        const json_t *names = json_object_get(root, "id2label");
        for (int64_t i = 0; i < c->classes && !why; i++) {
                const char *name =
                        json_string_value(json_object_get(names, arena_printf(a, "%lld", (long long)i)));
                c->label[i] = name ? arena_strdup(a, name) : NULL;
                if (!name)
                        why = arena_printf(
                                a, "%s: id2label has no text for class %lld, and the model has %lld classes",
                                s->path, (long long)i, (long long)c->classes);
        }
        json_decref(root);
        return why;
}

/* The file that the setting names, beside the one that states it; or the lines that it is. */
static const Source *labels_source(Classes *c, const Setting *s, const char **why)
{
        Arena *a = &c->r->e.m->arena;
        if (strchr(s->text, '\n'))
                return source_new(a, "labels", s->text, (int32_t)strlen(s->text));
        const char *folder = s->text[0] != '/' && s->span.source ? folder_of(a, s->span.source->path) : "";
        const char *path = arena_printf(a, "%s%s", folder, s->text);
        const Source *file = read_source(a, path, why);
        if (!file)
                fprintf(stderr, "lathe run: labels: %s: %s\n", path, *why);
        return file;
}

static int read_labels(Classes *c)
{
        const Setting *s = loop_setting(c->r->loop, "labels");
        const char *why = NULL;
        if (!s)
                return DONE;
        const Source *text = labels_source(c, s, &why);
        if (!text)
                return WRONG_ENVIRONMENT;
        c->label = NEW_ARRAY(&c->r->e.m->arena, const char *, c->classes);
        why = *text->text == '{' ? labels_of_json(c, text) : labels_of_lines(c, text);
        return why ? loop_wrong(why) : DONE;
}

/* --- the loop --------------------------------------------------------------------------------------------------------- */

static int run_picture(LoopRun *r, const char *path)
{
        Arena *a = &r->e.m->arena;
        const Type *t = &r->parts.input->type;
        int64_t dim[3];
        double *value;
        bool lacking = false;
        for (int axis = 0; axis < 3; axis++)
                dim[axis] = dim_value(t->dim[axis], NULL);
        const char *why = picture_values(a, r->loop, path, dim, &value, &lacking);
        if (why)
                return lacking ? (loop_wrong(why), WRONG_ENVIRONMENT) : loop_wrong(why);
        evaluation_forget(&r->e);
        r->e.given = (Given){.o = r->e.o, .command = "run", .m = r->e.m, .tokenizer = &r->e.tokenizer};
        if (!recorded_add(&r->e.given.values, input_name(r->parts.input), 3, dim, value))
                return loop_wrong(no_memory);
        return loop_run_once(r);
}

static void print_classes(const Classes *c, const Likely *likely, int64_t n, const char *path)
{
        const Options *o = c->r->e.o;
        if (!o->json && o->nfile > 2)
                printf("%s\n", path);
        for (int64_t i = 0; i < n && !o->json; i++)
                printf("%8.4f  %lld%s%s\n", likely[i].probability, (long long)likely[i].number,
                       c->label ? "  " : "", c->label ? c->label[likely[i].number] : "");
        if (!o->json)
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

static int classify(Classes *c, const char *path)
{
        int64_t n, top = c->r->e.o->given['r'] ? c->r->e.o->top : 5;
        Arena scratch = {0};
        int code = run_picture(c->r, path);
        if (code)
                return code;
        const float *scores = loop_output(c->r, &n);
        const Likely *likely = likeliest_first(&scratch, scores, n);
        if (likely)
                print_classes(c, likely, top < n ? top : n, path);
        else
                code = loop_wrong(arena_printf(&c->r->e.m->arena,
                                               "%s: its scores give no probabilities: one is NaN or infinite",
                                               path));
        arena_free(&scratch);
        return code;
}

int run_classify(LoopRun *r)
{
        const Options *o = r->e.o;
        Classes c = {.r = r,
                     .classes = dim_value(r->e.m->graph->output[r->parts.output].node->type.dim[0], NULL)};
        if (o->nfile < 2) {
                fprintf(stderr,
                        "lathe run: loop classify wants pictures behind the model: PNG, PPM or PGM, or - for "
                        "standard input; `lathe help run` says more\n");
                return WRONG_USAGE;
        }
        if (!loop_reads_once(r))
                return WRONG_USAGE;
        int code = read_labels(&c);
        for (int i = 1; i < o->nfile && code == DONE; i++)
                code = classify(&c, o->file[i]);
        return code;
}
