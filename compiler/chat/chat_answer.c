/* An answer that is read back as a message, in the form of its template (chat_answer_form.c). */
#include "chat_private.h"

typedef struct {
        Arena *arena;
        const ChatAnswerForm *form;
        const json_t *tools;
        const char *text;
        json_t *calls;
        Text *said, *thought;
        const char *wrong;
} AnswerReader;

static void put_text(Text *to, const char *from, const char *end)
{
        while (end > from && chat_is_white(end[-1]))
                end--;
        from = to->n ? from : chat_skip_white(from);
        if (from < end)
                text_add(to, from, end - from);
}

static void answer_wrong(AnswerReader *r, const char *at, const char *what)
{
        if (!r->wrong)
                r->wrong = arena_printf(r->arena, "a call of a tool is not read: byte %lld: %s",
                                        (long long)(at - r->text + 1), what);
}

static void add_answer_call(AnswerReader *r, const char *name, json_t *arguments, const json_t *id)
{
        if (r->form->arguments_are_text && !json_is_string(arguments)) {
                char *text = json_dumps(arguments, JSON_ENCODE_ANY);
                json_decref(arguments);
                arguments = json_string(text ? text : "{}");
                free(text);
        }
        json_t *call = json_pack("{s:s, s:{s:s, s:o}}", "type", "function", "function", "name", name,
                                 "arguments", arguments);
        if (json_is_string(id))
                json_object_set(call, "id", (json_t *)id);
        json_array_append_new(r->calls, call);
}

/* The end of a call that is an object; NULL: it is none. */
static const char *read_call_object(AnswerReader *r, const char *at)
{
        const ChatAnswerForm *f = r->form;
        const char *after;
        json_t *call = chat_json_at(at = chat_skip_white(at), &after),
               *in = f->inside ? json_object_get(call, f->inside) : call,
               *name = json_object_get(in, f->name), *arguments = json_object_get(in, f->arguments);
        const bool good = json_is_string(name) && (json_is_object(arguments) || json_is_string(arguments));
        if (good)
                add_answer_call(r, json_string_value(name), json_incref(arguments),
                                json_object_get(call, "id"));
        else
                answer_wrong(r, at,
                             arena_printf(r->arena, "expected an object of JSON with \"%s\" and \"%s\"",
                                          f->name, f->arguments));
        json_decref(call);
        return good ? after : NULL;
}

/* Whether the tool declares the argument as a text. */
static bool is_text_argument(const AnswerReader *r, const char *name, const char *key)
{
        for (size_t i = 0; i < json_array_size(r->tools); i++) {
                const json_t *tool = json_array_get(r->tools, i), *in = json_object_get(tool, "function");
                const char *own = json_string_value(json_object_get(in ? in : tool, "name"));
                const json_t *properties =
                        json_object_get(json_object_get(in ? in : tool, "parameters"), "properties");
                const char *type =
                        json_string_value(json_object_get(json_object_get(properties, key), "type"));
                if (own && !strcmp(own, name))
                        return type && !strcmp(type, "string");
        }
        return false;
}

/* A value that stands by itself: of JSON, unless the tool wants a text. */
static json_t *bare_value(const AnswerReader *r, const char *name, const char *key, const char *text)
{
        const char *after;
        json_t *value = is_text_argument(r, name, key) ? NULL : chat_json_at(text, &after);
        if (value && !*chat_skip_white(after))
                return value;
        json_decref(value);
        return json_string(text);
}

/* What follows the last call: the rest of its form, as far as it is there. */
static const char *after_tail(const char *at, const char *tail)
{
        const char *done = at;
        for (; *(tail = chat_skip_white(tail)); tail++)
                if (*(at = chat_skip_white(at)) == *tail)
                        done = ++at;
                else
                        break;
        return done;
}

static json_t *tagged_value(const AnswerReader *r, const char *name, const char *key, const char *at,
                            const char **rest)
{
        const char *end = chat_find_form(at, r->form->after_value, rest);
        return end ? bare_value(r, name, key, chat_stripped(r->arena, at, end)) : NULL;
}

/* A text in quotes, or a value of JSON or Python. */
static json_t *quoted_value(const AnswerReader *r, const char *at, const char **rest)
{
        static const struct {
                const char *name;
                json_t *(*value)(void);
        } named[] = {{"True", json_true}, {"False", json_false}, {"None", json_null}};
        const char *from = chat_after_form(at, r->form->quote),
                   *end = from ? chat_find_form(from, r->form->quote, rest) : NULL;
        if (end)
                return json_stringn(from, (size_t)(end - from));
        at = chat_skip_white(at);
        for (int i = 0; i < 3; i++)
                if (!strncmp(at, named[i].name, strlen(named[i].name))) {
                        *rest = at + strlen(named[i].name);
                        return named[i].value();
                }
        return from ? NULL : chat_json_at(at, rest);
}

static const char *read_call_parts(AnswerReader *r, const char *at)
{
        const ChatAnswerForm *f = r->form;
        const char *next = at = chat_skip_white(at), *end = at;
        if (*f->after_name)
                end = chat_find_form(at, f->after_name, &next);
        else if (f->before_key)
                end = next = at + strcspn(at, " \t\r\n<"); /* a name and nothing else stands there */
        else
                end = next = at + strcspn(at, " \t\r\n{");
        if (!end || end == at) {
                answer_wrong(r, at, "expected a name");
                return NULL;
        }
        const char *name = chat_stripped(r->arena, at, end), *after;
        if (!f->before_key) {
                json_t *arguments = chat_json_at(next = chat_skip_white(next), &after);
                if (json_is_object(arguments)) {
                        add_answer_call(r, name, arguments, NULL);
                        return after;
                }
                json_decref(arguments);
                answer_wrong(r, next, "expected the arguments as an object of JSON");
                return NULL;
        }
        json_t *arguments = json_object();
        for (bool more = true; more && (at = chat_after_form(next, f->before_key)) && *chat_skip_white(at);) {
                if (after_tail(next, f->tail) > at)
                        break; /* the call ends like an argument begins */
                const char *key_end = chat_find_form(at, f->after_key, &after);
                if (f->quote && (!key_end || strcspn(at, "})]") < (size_t)(key_end - at)))
                        break; /* no argument */
                const char *key = key_end ? chat_stripped(r->arena, at, key_end) : "", *rest = NULL;
                json_t *value = !key_end   ? NULL
                                : f->quote ? quoted_value(r, after, &rest)
                                           : tagged_value(r, name, key, after, &rest);
                if (!value) {
                        answer_wrong(r, at, key_end ? "expected a value" : "expected a key");
                        json_decref(arguments);
                        return NULL;
                }
                json_object_set_new(arguments, key, value);
                next = rest;
                if (f->quote) {
                        const char *on = chat_after_form(next, f->after_value);
                        more = on != NULL;
                        next = on ? on : next;
                }
        }
        add_answer_call(r, name, arguments, NULL);
        return next;
}

static void read_calls(AnswerReader *r, const char *text)
{
        const ChatAnswerForm *f = r->form;
        const char *token_end = strncmp(text, "<|", 2) ? NULL : strstr(text, "|>"), *first, *at;
        if (!*f->before) { /* an answer is a call and nothing else */
                at = chat_skip_white(token_end ? token_end + 2 : text);
                first = *at == '{' ? text : NULL;
        } else {
                first = chat_find_form(text, f->before, &at);
        }
        while (first) {
                put_text(r->said, text, first);
                const char *end =
                        f->kind == CHAT_CALLS_OBJECT ? read_call_object(r, at) : read_call_parts(r, at);
                if (!end)
                        return;
                text = first = f->between ? chat_after_form(end, f->between) : NULL;
                at = text;
                if (text && (f->kind != CHAT_CALLS_OBJECT || *chat_skip_white(text) == '{'))
                        continue;
                text = after_tail(end, f->tail);
                first = *f->before ? chat_find_form(text, f->before, &at) : NULL;
        }
        put_text(r->said, text, text + strlen(text));
}

/* Parts of an answer, each after a header: [<|start|>assistant] [to=functions.NAME] <|channel|>NAME [to=functions.NAME]
 * [<|constrain|>json] <|message|> text [<|end|>, <|call|> or <|return|>]. */
static void read_channels(AnswerReader *r, const char *at)
{
        static const char message[] = "<|message|>", to[] = "to=functions.", channel[] = "<|channel|>";
        while (*chat_skip_white(at)) {
                const char *body = strstr(at, message);
                if (!body) {
                        put_text(r->said, at, at + strlen(at));
                        return;
                }
                const char *header = arena_strndup(r->arena, at, body - at), *call = strstr(header, to),
                           *name = strstr(header, channel);
                body += strlen(message);
                const char *end = body, *after;
                while (*end && strncmp(end, "<|end|>", 7) && strncmp(end, "<|call|>", 8) &&
                       strncmp(end, "<|return|>", 10))
                        end++;
                at = *end ? strchr(end, '>') + 1 : end;
                if (!call) {
                        put_text(name && !strncmp(name + strlen(channel), "analysis", 8) ? r->thought
                                                                                         : r->said,
                                 body, end);
                        continue;
                }
                call += strlen(to);
                json_t *arguments = chat_json_at(chat_skip_white(body), &after);
                if (json_is_object(arguments)) {
                        add_answer_call(r, arena_strndup(r->arena, call, (int64_t)strcspn(call, " <\t\n")),
                                        arguments, NULL);
                } else {
                        json_decref(arguments);
                        answer_wrong(r, body, "expected the arguments as an object of JSON");
                }
        }
}

/* The text after the thought. */
static const char *read_thought(AnswerReader *r, const char *text)
{
        const ChatAnswerForm *f = r->form;
        const char *at = f->thought_end ? chat_after_form(text, f->thought) : NULL, *end, *after;
        if (!f->thought_end)
                return text;
        const bool thinks = at || f->begins_thinking;
        end = chat_find_form(text, f->thought_end, &after);
        if (!end && (!thinks || (!at && f->kind != CHAT_CALLS_NONE && *f->before &&
                                 chat_find_form(text, f->before, &after))))
                return text;
        put_text(r->thought, at ? at : text, end ? end : text + strlen(text));
        return end ? after : "";
}

json_t *chat_read_answer(Arena *a, const ChatAnswerForm *f, const json_t *tools, const char *text, int64_t n,
                         const char **note)
{
        json_begin();
        AnswerReader r = {.arena = a,
                          .form = f,
                          .tools = tools,
                          .text = arena_strndup(a, text, n),
                          .calls = json_array(),
                          .said = text_new(a),
                          .thought = text_new(a)};
        const char *rest = f->kind == CHAT_CALLS_CHANNELS ? r.text : read_thought(&r, r.text);
        if (f->kind == CHAT_CALLS_CHANNELS)
                read_channels(&r, rest);
        else if (f->kind == CHAT_CALLS_NONE)
                put_text(r.said, rest, rest + strlen(rest));
        else
                read_calls(&r, rest);
        if (r.wrong) { /* the whole is a text */
                r.said = text_new(a);
                put_text(r.said, rest, rest + strlen(rest));
        }
        json_t *message =
                json_pack("{s:s, s:s}", "role", "assistant", "content", r.said->data ? r.said->data : "");
        if (r.thought->n)
                json_object_set_new(message, "reasoning_content", json_string(r.thought->data));
        if (json_array_size(r.calls) && !r.wrong)
                json_object_set(message, "tool_calls", r.calls);
        json_decref(r.calls);
        *note = r.wrong;
        return message;
}
