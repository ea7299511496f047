/* Finds the chat template in a model's files, and the tokens that it names. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "chat_private.h"

enum { MAX_BYTES = 64 << 20 }; /* of tokenizer_config.json */

/* A text's bytes; NULL with *why, and errno ENOENT where there is no such file. */
static char *source_read(Arena *a, const char *path, int64_t *n, const char **why)
{
        FILE *f = input_open(path, why);
        if (!f)
                return NULL;
        Text *t = text_new(a);
        char part[1 << 16];
        size_t got;
        while (t->n <= MAX_BYTES && (got = fread(part, 1, sizeof part, f)) > 0)
                text_add(t, part, (int64_t)got);
        *why = ferror(f) ? strerror(errno) : t->n > MAX_BYTES ? strerror(EFBIG) : NULL;
        fclose(f);
        input_read(path);
        int64_t mark = text_mark(t->data, t->n);
        *n = t->n - mark;
        errno = 0;
        return *why ? NULL : t->data + mark;
}

static const char *file_beside(Arena *a, const char *path, const char *name)
{
        const char *slash = strrchr(path, '/');
        if (path_is_folder(path))
                return arena_printf(a, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", name);
        return slash ? arena_printf(a, "%.*s%s", (int)(slash + 1 - path), path, name) : name;
}

/* A token is a text, or an object with its text as content. */
static const char *source_token_text(const json_t *j)
{
        return json_is_object(j) ? json_string_value(json_object_get(j, "content")) : json_string_value(j);
}

/* Variables of every template, in addition to the messages. */
static json_t *variables_of(const json_t *config)
{
        static const char *const name[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                           "pad_token", "cls_token", "mask_token"};
        json_t *all = json_object();
        json_object_set_new(all, "tools", json_null()); /* as transformers passes them where none are given */
        json_object_set_new(all, "documents", json_null());
        for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
                const char *text = source_token_text(json_object_get(config, name[i]));
                if (text)
                        json_object_set_new(all, name[i], json_string(text));
        }
        return all;
}

static const json_t *named_template(const json_t *all, const char *wanted)
{
        for (size_t i = 0; i < json_array_size(all); i++) {
                const char *name = json_string_value(json_object_get(json_array_get(all, i), "name"));
                if (name && !strcmp(name, wanted))
                        return json_array_get(all, i);
        }
        return NULL;
}

/* chat_template: a text, or a list of objects with name and template.  Of the list, with tools the one named tool_use is taken,
 * otherwise the one named default, or the only one. */
static const json_t *template_of(const json_t *all, bool tools, const json_t **taken)
{
        *taken = tools ? named_template(all, "tool_use") : NULL;
        if (!*taken)
                *taken = named_template(all, "default");
        if (!*taken && json_array_size(all) == 1)
                *taken = json_array_get(all, 0);
        return json_is_array(all) ? json_object_get(*taken, "template") : all;
}

/* NULL with s->wrong, or without if the file is not there and need not be. */
static json_t *read_config(Arena *a, const char *path, bool needed, ChatSource *s)
{
        int64_t n;
        const char *why = NULL;
        json_error_t error;
        char *text = source_read(a, path, &n, &why);
        if (!text) {
                const bool absent = errno == ENOENT;
                s->absent = needed && absent;
                if (needed || !absent) {
                        s->wrong = arena_printf(a, "%s: %s", path, why);
                        s->env_error = true;
                }
                return NULL;
        }
        json_begin();
        json_t *j = json_parse(text, (size_t)n, 0, &error);
        if (!j && json_out_of_memory()) {
                s->wrong = (char *)no_memory;
                s->env_error = true;
        } else if (!j)
                s->wrong = arena_printf(a, "%s:%d:%d: error: %s", path, error.line, error.column, error.text);
        return j;
}

/* "tool_use, rag": names of the other templates in a list; NULL: none. */
static const char *other_names(Arena *a, const json_t *list, const json_t *taken)
{
        const char *names = NULL;
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *one = json_array_get(list, i);
                const char *name = json_string_value(json_object_get(one, "name"));
                if (name && one != taken)
                        names = names ? arena_printf(a, "%s, %s", names, name) : arena_strdup(a, name);
        }
        return names;
}

static void take_template(Arena *a, const char *path, const json_t *config, bool tools, ChatSource *s)
{
        const json_t *taken, *all = json_object_get(config, "chat_template"),
                             *found = template_of(all, tools, &taken);
        s->taken = json_string_value(json_object_get(taken, "name"));
        s->left_out = other_names(a, all, taken);
        if (!json_is_string(found)) {
                s->absent = !all;
                s->wrong = !all ? arena_printf(a, "%s: error: there is no chat_template", path)
                                : arena_printf(a,
                                               "%s: error: chat_template is neither a text nor a list with "
                                               "one named default%s%s",
                                               path, s->left_out ? "; its templates are " : "",
                                               s->left_out ? s->left_out : "");
                return;
        }
        s->n = (int64_t)json_string_length(found);
        s->text = arena_strndup(a, json_string_value(found), s->n);
        s->path = arena_printf(a, "%s (chat_template)", path);
}

/* The file that is a template itself, or NULL. */
static const char *template_file(Arena *a, const char *path, bool tools)
{
        static const char *const names[] = {"additional_chat_templates/tool_use.jinja",
                                            "chat_template.jinja"};
        struct stat status;
        if (!path_is_folder(path))
                return text_ends_with(path, ".json") ? NULL : path;
        for (int i = !tools; i < 2; i++) {
                const char *file = file_beside(a, path, names[i]);
                if (!stat(file, &status))
                        return file;
        }
        return NULL;
}

ChatSource chat_source(Arena *a, const char *path, bool tools)
{
        ChatSource s = {.path = path};
        const char *file = template_file(a, path, tools);
        const char *config_path =
                text_ends_with(path, ".json") ? path : file_beside(a, path, "tokenizer_config.json");
        const char *why = NULL;
        if (file) {
                s.path = file;
                s.text = source_read(a, file, &s.n, &why);
                if (!s.text) {
                        s.wrong = arena_printf(a, "%s: %s", file, why);
                        s.env_error = true;
                        return s;
                }
        }
        s.config = read_config(a, config_path, !file, &s);
        s.variables = variables_of(s.config);
        if (s.wrong)
                s.text = NULL;
        else if (!file)
                take_template(a, config_path, s.config, tools, &s);
        return s;
}

ChatSource chat_source_of(Arena *a, const char *path, const char *text, int64_t n, json_t *config)
{
        ChatSource s = {.path = path, .config = config, .variables = variables_of(config)};
        s.absent = !text;
        if (text) {
                s.text = arena_strndup(a, text, n);
                s.n = n;
        } else {
                s.wrong = arena_printf(a, "%s: error: there is no chat_template", path);
        }
        return s;
}

void chat_source_free(ChatSource *s)
{
        json_decref(s->variables);
        json_decref(s->config);
        s->variables = s->config = NULL;
}

ChatDate chat_today(void)
{
        time_t now = time(NULL);
        struct tm tm;
        gmtime_r(&now, &tm);
        return (ChatDate){tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday};
}
