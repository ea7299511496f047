/* Messages and tools that are given as JSON. */
#include "chat_private.h"

static const char *not_json(Arena *a, const char *path, int line, const json_error_t *error, const char *hint)
{
        return json_out_of_memory() ? no_memory
                                    : arena_printf(a, "%s:%d:%d: error: %s%s", path, line, error->column,
                                                   error->text, hint);
}

json_t *chat_read_tools(Arena *a, const char *path, const char *text, int64_t n, const char **wrong)
{
        static const char form[] =
                "[{\"type\": \"function\", \"function\": {\"name\": \"add\", \"parameters\": {...}}}]";
        json_error_t error;
        size_t i = 0;
        json_begin();
        json_t *tools = json_parse_exact(text, (size_t)n, JSON_ALLOW_NUL, &error);
        if (!tools) {
                *wrong = not_json(a, path, error.line, &error, "");
                return NULL;
        }
        while (json_is_object(json_array_get(tools, i)))
                i++;
        if (json_is_array(tools) && i == json_array_size(tools))
                return tools;
        *wrong = json_is_array(tools)
                         ? arena_printf(a, "%s: error: tool %zu is not an object; expected %s", path, i + 1,
                                        form)
                         : arena_printf(a, "%s:1:1: error: expected a list of tools, as %s", path, form);
        json_decref(tools);
        return NULL;
}

/* Why a message can't be used; NULL: it can. */
static const char *message_fault(const json_t *message)
{
        const json_t *calls = json_object_get(message, "tool_calls");
        if (!json_is_object(message) || !json_is_string(json_object_get(message, "role")))
                return "expected an object with a role, as {\"role\": \"user\", \"content\": \"Hi!\"}";
        for (size_t i = 0; i < json_array_size(calls); i++)
                if (!json_is_object(json_array_get(calls, i)))
                        calls = json_true();
        return !calls || json_is_null(calls) || json_is_array(calls)
                       ? NULL
                       : "expected tool_calls to be a list of objects, as [{\"type\": \"function\", "
                         "\"function\": "
                         "{\"name\": \"add\", \"arguments\": {\"a\": 2}}}]";
}

/* As transformers does: without keys whose value is null, and with the thoughts of a message by the names
 * that templates read. */
static json_t *message_normalised(json_t *message)
{
        static const char *const names[] = {"reasoning_content", "thinking", "reasoning"};
        json_t *to = json_object(), *thoughts = NULL, *value;
        const char *key;
        for (size_t i = 0; i < sizeof names / sizeof *names && (!thoughts || json_is_null(thoughts)); i++)
                thoughts = json_object_get(message, names[i]);
        if (thoughts && !json_is_null(thoughts))
                json_object_set(to, "thinking", thoughts);
        json_object_foreach (message, key, value)
                if (!json_is_null(value))
                        json_object_set(to, key, value);
        if (thoughts && !json_is_null(thoughts))
                json_object_set(to, "reasoning_content", thoughts);
        json_decref(message);
        return to;
}

/* A message in a line [n]. */
static json_t *read_message(Arena *a, const char *path, int line, const char *text, int64_t n,
                            const char **wrong)
{
        json_error_t error;
        json_t *message = json_parse_exact(text, (size_t)n, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
        if (!message) {
                *wrong = not_json(a, path, line, &error,
                                  "; expected one object of JSON in each line, a message");
                return NULL;
        }
        const char *fault = message_fault(message);
        if (!fault)
                return message_normalised(message);
        *wrong = arena_printf(a, "%s:%d:1: error: %s", path, line, fault);
        json_decref(message);
        return NULL;
}

/* Messages as one list, the form of other programs. */
static json_t *read_message_list(Arena *a, const char *path, const char *text, int64_t n, const char **wrong)
{
        json_error_t error;
        json_t *list = json_parse_exact(text, (size_t)n, JSON_ALLOW_NUL, &error), *messages = json_array(),
               *message;
        size_t i;
        if (!list)
                *wrong = not_json(a, path, error.line, &error, "");
        json_array_foreach (list, i, message) {
                const char *fault = message_fault(message);
                if (fault && !*wrong)
                        *wrong = arena_printf(a, "%s: error: message %zu: %s", path, i + 1, fault);
                if (!fault)
                        json_array_append_new(messages, message_normalised(json_incref(message)));
        }
        json_decref(list);
        return messages;
}

/* Messages in lines. */
static json_t *read_message_lines(Arena *a, const char *path, const char *text, int64_t n, const char **wrong)
{
        const char *end = text + n, *next;
        json_t *messages = json_array();
        for (int line = 1; text < end && !*wrong; line++, text = next) {
                const char *stop = memchr(text, '\n', (size_t)(end - text));
                next = stop ? stop + 1 : end;
                const int64_t length = (stop ? stop : end) - text, white = (int64_t)strspn(text, " \t\r");
                if (white >= length)
                        continue;
                json_t *message = read_message(a, path, line, text, length, wrong);
                if (message)
                        json_array_append_new(messages, message);
        }
        return messages;
}

json_t *chat_read_messages(Arena *a, const char *path, const char *text, int64_t n, const char **wrong)
{
        const int64_t white = (int64_t)strspn(text, " \t\r\n");
        *wrong = NULL;
        json_begin();
        json_t *messages = white < n && text[white] == '[' ? read_message_list(a, path, text, n, wrong)
                                                           : read_message_lines(a, path, text, n, wrong);
        if (json_out_of_memory())
                *wrong = no_memory;
        if (!*wrong && !json_array_size(messages))
                *wrong = arena_printf(
                        a, "%s: error: expected a line of JSON for each message, but there is none", path);
        if (!*wrong)
                return messages;
        json_decref(messages);
        return NULL;
}

bool chat_is_from(const json_t *message, const char *role)
{
        const char *from = json_string_value(json_object_get(message, "role"));
        return from && !strcmp(from, role);
}

static bool node_reads(const ChatNode *n, const char *variable)
{
        if (!n)
                return false;
        if (n->kind == N_NAME)
                return !strcmp(n->name, variable);
        const bool assigns = n->kind == N_SET || n->kind == N_SET_BLOCK || n->kind == N_FOR;
        if ((!assigns && node_reads(n->first, variable)) || node_reads(n->second, variable) ||
            node_reads(n->third, variable))
                return true;
        for (int i = 0; i < n->n; i++)
                if (node_reads(n->child[i], variable))
                        return true;
        return false;
}

bool chat_reads(const ChatTemplate *t, const char *variable)
{
        return node_reads(t->body, variable);
}
