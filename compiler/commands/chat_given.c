/* --messages and --tools: the conversation that a chat template renders, and its list of tools. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"

bool input_is_read_once(const InputUse *use, int n, const char *command)
{
        const char *before = NULL;
        for (int i = 0; i < n; i++) {
                if (!use[i].path || strcmp(use[i].path, "-") != 0)
                        continue;
                if (before) {
                        fprintf(stderr,
                                "lathe %s: %s and %s can't both be standard input; see `lathe help %s`\n",
                                command, before, use[i].name, command);
                        return false;
                }
                before = use[i].name;
        }
        return true;
}

typedef json_t *ReadChat(Arena *a, const char *path, const char *text, int64_t n, const char **wrong);

/* An exit code, after a message if it is not 0. */
static int read_given(Arena *a, const char *path, ReadChat *read, const char *command, json_t **to)
{
        const char *why = NULL;
        const Source *s = path ? read_source(a, path, &why) : NULL;
        if (path && !s) {
                fprintf(stderr, "lathe %s: %s: %s\n", command, path, why);
                return WRONG_ENVIRONMENT;
        }
        *to = s ? read(a, s->path, s->text, s->length, &why) : NULL;
        if (!s || *to)
                return DONE;
        fprintf(stderr, lacks_memory(why) ? "lathe: %s\n" : "%s\n", why);
        return lacks_memory(why) ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

int chat_given_read(ChatGiven *g, Arena *a, const CommandOptions *o, const char *command)
{
        const int code = read_given(a, o->tools, chat_read_tools, command, &g->tools);
        return code ? code : read_given(a, o->messages, chat_read_messages, command, &g->messages);
}

bool chat_given_ends_with(const ChatGiven *g, const char *role)
{
        return chat_is_from(json_array_get(g->messages, json_array_size(g->messages) - 1), role);
}

bool chat_given_use(const ChatGiven *g, ChatWriter *w, ChatSource *s, const CommandOptions *o,
                    const char *command)
{
        if (g->tools && !chat_reads(w->template, "tools")) {
                fprintf(stderr, "lathe %s: --tools has no effect: the chat template %s does not read tools\n",
                        command, s->path);
                return false;
        }
        if (o->system && chat_is_from(json_array_get(g->messages, 0), "system")) {
                fprintf(stderr,
                        "lathe %s: the system's message is given twice: by --system, and as the first one of "
                        "%s\n",
                        command, o->messages);
                return false;
        }
        if (g->tools)
                json_object_set(s->variables, "tools", g->tools);
        w->before = g->messages;
        return true;
}

static bool is_utf8(const char *text, int64_t n)
{
        json_t *value = json_stringn(text, (size_t)n);
        json_decref(value);
        return value != NULL;
}

int chat_print_answer(Arena *a, const ChatAnswerForm *form, const char *path, const ChatGiven *g,
                      const char *text, int64_t n, const char *command)
{
        const char *note;
        if (g->tools && !chat_calls_are_known(form))
                fprintf(stderr,
                        "lathe %s: note: %s: calls of tools stay texts: the template writes none in a form "
                        "that can be read\n",
                        command, path);
        for (int i = 0; i < 3 && n > 0 && !is_utf8(text, n); i++) /* a character is cut off */
                n--;
        json_t *message = is_utf8(text, n) ? chat_read_answer(a, form, g->tools, text, n, &note) : NULL;
        if (!message) {
                fprintf(stderr, "lathe %s: expected an answer in UTF-8\n", command);
                return WRONG_INPUT;
        }
        if (note)
                fprintf(stderr, "lathe %s: note: %s\n", command, note);
        char *line = json_dumps(message, JSON_COMPACT);
        const bool good = line && puts(line) >= 0 && !fflush(stdout);
        free(line);
        json_decref(message);
        if (!good)
                fprintf(stderr, "lathe %s: standard output: %s\n", command,
                        line ? strerror(errno) : no_memory);
        return good ? DONE : WRONG_ENVIRONMENT;
}

void chat_given_free(ChatGiven *g)
{
        json_decref(g->tools);
        json_decref(g->messages);
}
