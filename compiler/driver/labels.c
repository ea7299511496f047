/* The labels of `loop classify`: a file with a line for each class, Hugging Face's config.json, or lines
 * in the model file. */
#include <stdio.h>
#include <string.h>

#include "driver.h"

typedef struct {
        Model *m;
        const Loop *loop;
        const char **label; /* [classes] */
        int64_t classes;
} Labels;

static bool next_line(const Source *s, int *line, const char **text, int32_t *n)
{
        if (*line >= s->nline)
                return false;
        *text = source_line_text(s, ++*line, n);
        return *line < s->nline || *n > 0;
}

/* A line for each class. */
static const char *labels_of_lines(Labels *c, const Source *s)
{
        Arena *a = &c->m->arena;
        const char *text;
        int64_t found = 0;
        int32_t n;
        for (int line = 0; next_line(s, &line, &text, &n); found++)
                if (found < c->classes)
                        c->label[found] = arena_strndup(a, text, n);
        return found == c->classes
                       ? NULL
                       : arena_printf(a, "%s has %lld labels, one per line, but the model has %lld classes",
                                      s->path, (long long)found, (long long)c->classes);
}

/* id2label of Hugging Face's config.json: {"0": "tench", ...} */
static const char *labels_of_json(Labels *c, const Source *s)
{
        Arena *a = &c->m->arena;
        json_error_t error;
        json_begin();
        json_t *root = json_parse(s->text, (size_t)s->length, 0, &error);
        const char *why = root ? NULL
                          : json_out_of_memory()
                                  ? no_memory
                                  : arena_printf(a, "%s:%d: %s", s->path, error.line, error.text);
        const json_t *names = json_object_get(root, "id2label");
        for (int64_t i = 0; i < c->classes && !why; i++) {
                const char *name =
                        json_string_value(json_object_get(names, arena_printf(a, "%lld", (long long)i)));
                c->label[i] = name ? arena_strdup(a, name) : NULL;
                if (!name)
                        why = arena_printf(
                                a, "%s: id2label has no text for class %lld, but the model has %lld classes",
                                s->path, (long long)i, (long long)c->classes);
        }
        json_decref(root);
        return why;
}

/* The file of the setting, relative to the model file; or the text of the setting. */
static const Source *labels_source(const Labels *c, const Setting *s, const char **path, const char **why)
{
        Arena *a = &c->m->arena;
        *path = "labels";
        if (strchr(s->text, '\n'))
                return source_new(a, *path, s->text, (int32_t)strlen(s->text));
        const char *folder = s->text[0] != '/' && s->span.source ? folder_of(a, s->span.source->path) : "";
        *path = arena_printf(a, "%s%s", folder, s->text);
        return read_source(a, *path, why);
}

int loop_labels(Model *m, const Loop *l, int64_t classes, const char *command, const char *const **label)
{
        const Setting *s = loop_setting(l, "labels");
        const char *why = NULL, *path;
        Labels c = {m, l, NULL, classes};
        *label = NULL;
        if (!s)
                return DONE;
        const Source *text = labels_source(&c, s, &path, &why);
        if (!text) {
                fprintf(stderr, "lathe %s: labels: %s: %s\n", command, path, why);
                return WRONG_ENVIRONMENT;
        }
        *label = c.label = NEW_ARRAY(&m->arena, const char *, classes);
        why = *text->text == '{' ? labels_of_json(&c, text) : labels_of_lines(&c, text);
        return why ? command_error(command, why) : DONE;
}
