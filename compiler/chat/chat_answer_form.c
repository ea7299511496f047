/* How a template writes thoughts and calls of tools.
 *
 * An answer with marks as its thought, name, keys and values is rendered; the texts around the marks are the form.  So no family is
 * known by name, but for channels (Harmony), whose answers are not written as the template writes them. */
#include "chat_private.h"

#define USER "Qu1zvxQ"
#define SAID "Qa2zvxQ"
#define THOUGHT "Qr3zvxQ"
enum {
        CALLS = 2,
        ARGUMENTS = 4,
        MOST_TRIES = 256, /* at objects in a template's text that a call may be */
};
/* Calls differ in all letters but those of the arguments, of which two are texts. */
static const char *const name_mark[CALLS] = {"Qn4zvxQ", "Xm5jwkX"},
                         *const id_mark[CALLS] = {"a1b2c3d4e", "z9y8x7w6v"},
                         *const key_mark[ARGUMENTS] = {"Qk0zvxQ", "Qk1zvxQ", "Qk2zvxQ", "Qk3zvxQ"},
                         *const value_mark[ARGUMENTS] = {"Qv0zvxQ", "Qv1zvxQ", "314159265", "271828182"};

/* --- texts -------------------------------------------------------------------------------------------------------- */

bool chat_is_white(char c)
{
        return c && strchr(" \t\r\n", c);
}

const char *chat_skip_white(const char *at)
{
        while (chat_is_white(*at))
                at++;
        return at;
}

const char *chat_stripped(Arena *a, const char *from, const char *end)
{
        from = chat_skip_white(from);
        while (end > from && chat_is_white(end[-1]))
                end--;
        return arena_strndup(a, from, end > from ? end - from : 0);
}

const char *chat_after_form(const char *at, const char *form)
{
        for (; *(form = chat_skip_white(form)); form++, at++) {
                if (*form == CHAT_ANYTHING) {
                        const char *after;
                        return chat_find_form(at, form + 1, &after) ? after : NULL;
                }
                if (*(at = chat_skip_white(at)) != *form)
                        return NULL;
        }
        return at;
}

const char *chat_find_form(const char *at, const char *form, const char **after)
{
        const char first = *chat_skip_white(form);
        for (;; at++) {
                if ((!first || *at == first) && (*after = chat_after_form(at, form)))
                        return at;
                if (!*at)
                        return NULL;
        }
}

/* A text with marks of a call as a form. */
static const char *form_of(Arena *a, const char *from, const char *end)
{
        const char *const all[] = {id_mark[0],  id_mark[1],  name_mark[0], name_mark[1],
                                   key_mark[0], key_mark[1], key_mark[2],  key_mark[3]};
        Text *to = text_new(a);
        while (from < end) {
                int mark = 0;
                while (mark < 8 && strncmp(from, all[mark], strlen(all[mark])) != 0)
                        mark++;
                const char any = CHAT_ANYTHING;
                text_add(to, mark < 8 ? &any : from, 1);
                from += mark < 8 ? (int64_t)strlen(all[mark]) : 1;
        }
        return chat_stripped(a, to->n ? to->data : "", to->n ? to->data + to->n : "");
}

/* What two forms have in common at both ends, and anything between. */
static const char *form_of_both(Arena *a, const char *one, const char *other)
{
        const int64_t n = (int64_t)strlen(one), m = (int64_t)strlen(other), least = n < m ? n : m;
        int64_t front = 0, back = 0;
        while (front < least && one[front] == other[front])
                front++;
        while (back < least - front && one[n - 1 - back] == other[m - 1 - back])
                back++;
        return n == m && front == n
                       ? one
                       : arena_printf(a, "%.*s%c%s", (int)front, one, CHAT_ANYTHING, one + n - back);
}

/* How many bytes at the end of both are the same, from the beginning of a word or mark on. */
static int64_t common_form_end(const char *one, const char *one_end, const char *other, const char *other_end)
{
        int64_t n = 0;
        while (one_end - n > one && other_end - n > other && one_end[-n - 1] == other_end[-n - 1])
                n++;
        while (n > 0 && other_end - n > other && !strchr("<[", other_end[-n]) &&
               !chat_is_white(other_end[-n - 1]))
                n--;
        return n;
}

/* The beginning of the mark in which `at` is, as in <think>, or `at`. */
static const char *mark_begin(const char *text, const char *at)
{
        for (const char *p = at; p > text && !chat_is_white(p[-1]) && p[-1] != '>' && p[-1] != ']'; p--)
                if (p[-1] == '<' || p[-1] == '[')
                        return p - 1;
        return at;
}

json_t *chat_json_at(const char *at, const char **after)
{
        json_error_t error;
        json_t *value = json_parse_exact(at, strlen(at), JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, &error);
        *after = value ? at + error.position : at;
        return value;
}

/* --- the search --------------------------------------------------------------------------------------------------- */

typedef struct {
        Arena *arena;
        const ChatWriter *writer;
        ChatAnswerForm *form;
        bool as_text, unsaid; /* arguments are the text of an object; a call has no content beside it */
} FormSearch;

static json_t *marked_call(const FormSearch *s, int i)
{
        json_t *arguments = json_object();
        for (int k = 0; k < ARGUMENTS; k++)
                json_object_set_new(arguments, key_mark[k],
                                    k < 2 ? json_string(value_mark[k]) : json_integer(atoi(value_mark[k])));
        if (s->as_text) {
                char *text = json_dumps(arguments, 0);
                json_decref(arguments);
                arguments = json_string(text ? text : "");
                free(text);
        }
        return json_pack("{s:s, s:s, s:{s:s, s:o}}", "id", id_mark[i], "type", "function", "function", "name",
                         name_mark[i], "arguments", arguments);
}

/* The text after the user's turn, of a conversation that the message ends; NULL: it can't be rendered. */
static const char *rendered(const FormSearch *s, json_t *message)
{
        json_t *all = s->writer->variables ? json_copy((json_t *)s->writer->variables) : json_object();
        ChatText text;
        ChatFault fault;
        json_object_set_new(all, "tools",
                            json_pack("[{s:s, s:{s:s, s:s, s:{s:s, s:{}}}}]", "type", "function", "function",
                                      "name", "Qt0zvxQ", "description", "Qt0zvxQ", "parameters", "type",
                                      "object", "properties"));
        json_t *list = json_array();
        json_array_append_new(list, s->writer->parts
                                            ? json_pack("{s:s, s:[{s:s, s:s}]}", "role", "user", "content",
                                                        "type", "text", "text", USER)
                                            : json_pack("{s:s, s:s}", "role", "user", "content", USER));
        if (message)
                json_array_append_new(list, message);
        json_object_set_new(all, "messages", list);
        json_object_set_new(all, "add_generation_prompt", json_boolean(!message));
        const bool good = chat_render(s->arena, s->writer->template, all, s->writer->date, &text, &fault);
        json_decref(all);
        const char *after = good ? strstr(text.text, USER) : NULL;
        return after ? after + strlen(USER) : NULL;
}

static const char *rendered_calls(const FormSearch *s, int calls)
{
        json_t *message = json_pack("{s:s, s:[]}", "role", "assistant", "tool_calls");
        for (int i = 0; i < calls; i++)
                json_array_append_new(json_object_get(message, "tool_calls"), marked_call(s, i));
        if (!s->unsaid)
                json_object_set_new(message, "content", json_string(""));
        const char *text = rendered(s, message);
        return text && strstr(text, name_mark[calls - 1]) && strstr(text, value_mark[ARGUMENTS - 1]) ? text
                                                                                                     : NULL;
}

static void find_thought(FormSearch *s, const char *opened)
{
        ChatAnswerForm *f = s->form;
        const char *text = rendered(s, json_pack("{s:s, s:s, s:s, s:s}", "role", "assistant", "content", SAID,
                                                 "reasoning_content", THOUGHT, "thinking", THOUGHT)),
                   *thought = text ? strstr(text, THOUGHT) : NULL,
                   *said = thought ? strstr(thought, SAID) : NULL;
        if (said) {
                const char *end = thought, *from;
                while (end > text && chat_is_white(end[-1]))
                        end--;
                from = end > text ? end - 1 : end;
                while (from > text && !chat_is_white(from[-1]) && from[-1] != '>' && from[-1] != ']')
                        from--;
                f->thought = chat_stripped(s->arena, from, end);
                f->thought_end = chat_stripped(s->arena, thought + strlen(THOUGHT), said);
        }
        int n;
        const char *const *literal = chat_literals(s->arena, s->writer->template, &n);
        for (int i = 0; i < n && !said; i++) {
                const char *name = literal[i], *end = strpbrk(name, ">]");
                if ((strncmp(name, "</", 2) && strncmp(name, "[/", 2)) || !end || end[1] ||
                    !(strstr(name, "think") || strstr(name, "THINK")))
                        continue;
                f->thought_end = name;
                f->thought = arena_printf(s->arena, "%c%s", *name, name + 2);
                said = name;
        }
        if (f->thought_end && !*f->thought_end)
                f->thought = f->thought_end = NULL;
        const int64_t length = f->thought ? (int64_t)strlen(f->thought) : 0;
        const char *end = opened + strlen(opened);
        while (end > opened && chat_is_white(end[-1]))
                end--;
        f->begins_thinking =
                length && end - opened >= length && !strncmp(end - length, f->thought, (size_t)length);
}

/* Where the object has the mark as a name, beside arguments. */
static bool find_call_keys(FormSearch *s, json_t *object, const char *inside)
{
        const char *key, *other;
        json_t *value, *arguments;
        json_object_foreach (object, key, value) {
                if (json_is_object(value) && !inside && find_call_keys(s, value, key))
                        return true;
                if (!json_is_string(value) || strcmp(json_string_value(value), name_mark[0]) != 0)
                        continue;
                json_object_foreach (object, other, arguments) {
                        const char *text = json_string_value(arguments);
                        if (!json_object_get(arguments, key_mark[0]) && !(text && strstr(text, key_mark[0])))
                                continue;
                        s->form->inside = inside ? arena_strdup(s->arena, inside) : NULL;
                        s->form->name = arena_strdup(s->arena, key);
                        s->form->arguments = arena_strdup(s->arena, other);
                        return true;
                }
        }
        return false;
}

/* The object around a name in a text; *after: its end. */
static const char *call_object(FormSearch *s, const char *text, const char *name, const char **after)
{
        for (int tries = 0; text < name && tries < MOST_TRIES; text++) {
                json_t *object = *text == '{' ? chat_json_at(text, after) : NULL;
                tries += *text == '{';
                const bool found = json_is_object(object) && *after > name && find_call_keys(s, object, NULL);
                json_decref(object);
                if (found)
                        return text;
        }
        return NULL;
}

/* Arguments after a name, as an object or by themselves; the end of the last one. */
static const char *find_arguments(FormSearch *s, const char *from)
{
        ChatAnswerForm *f = s->form;
        Arena *a = s->arena;
        const char *key[ARGUMENTS], *value[ARGUMENTS], *key_end[ARGUMENTS], *end[ARGUMENTS], *after = from;
        key[0] = strstr(from, key_mark[0]);
        int tries = 0;
        for (const char *at = from; key[0] && at < key[0] && tries < MOST_TRIES; at++) {
                json_t *object = *at == '{' ? chat_json_at(at, &after) : NULL;
                tries += *at == '{';
                const bool found = json_object_get(object, key_mark[0]) != NULL;
                json_decref(object);
                if (found) {
                        f->after_name = form_of(a, from, at);
                        return after;
                }
        }
        for (int i = 0; i < ARGUMENTS; i++) {
                key[i] = strstr(i ? end[i - 1] : from, key_mark[i]);
                value[i] = key[i] ? strstr(key[i], value_mark[i]) : NULL;
                if (!value[i])
                        return NULL;
                key_end[i] = key[i] + strlen(key_mark[i]);
                end[i] = value[i] + strlen(value_mark[i]);
        }
        const int64_t n = common_form_end(from, key[0], end[0], key[1]);
        f->before_key = form_of(a, key[0] - n, key[0]);
        f->after_name = form_of(a, from, key[0] - n);
        const char *number = form_of(a, key_end[2], value[2]);
        f->after_key = form_of(a, key_end[0], value[0]);
        f->after_value = form_of(a, end[0], key[1] - n);
        const int64_t bare = (int64_t)strlen(number);
        const char *quote = f->after_key + bare;
        if (*quote && !strncmp(f->after_key, number, (size_t)bare) &&
            !strncmp(f->after_value, quote, strlen(quote))) {
                f->quote = quote;
                f->after_key = number;
                f->after_value =
                        form_of(a, f->after_value + strlen(quote), f->after_value + strlen(f->after_value));
        } else {
                f->after_key = form_of_both(a, f->after_key, number);
        }
        if (!*f->after_key || !*f->after_value)
                return NULL;
        after = f->quote ? NULL : chat_after_form(end[ARGUMENTS - 1], f->after_value);
        return after ? after : end[ARGUMENTS - 1];
}

/* The text between two calls.  Where the texts before their arguments differ, as with numbers of calls, any text may stand. */
static void find_second(FormSearch *s, const char *text)
{
        ChatAnswerForm *f = s->form, second = *f;
        FormSearch again = *s;
        again.form = &second;
        const char *key = text ? strstr(text, key_mark[0]) : NULL, *end = NULL, *begin, *first = NULL;
        for (const char *at = text; key && (at = strstr(at, name_mark[0])) && (!first || at < key); at++)
                first = at;
        if (!first)
                return;
        if (f->kind == CHAT_CALLS_OBJECT) {
                if (!call_object(&again, text, first, &end))
                        return;
                begin = strchr(end, '{');
        } else {
                end = find_arguments(&again, first + strlen(name_mark[0]));
                key = end ? strstr(end, key_mark[0]) : NULL;
                begin = NULL;
                for (const char *at = end; key && (at = strstr(at, name_mark[1])) && (!begin || at < key);
                     at++)
                        begin = at;
                if (!begin || !find_arguments(&again, begin + strlen(name_mark[1])))
                        return;
                f->after_name = form_of_both(s->arena, f->after_name, second.after_name);
        }
        if (begin)
                f->between = form_of(s->arena, end, begin);
}

static void find_calls(FormSearch *s, const char *opened)
{
        ChatAnswerForm *f = s->form;
        const char *text = NULL, *after = NULL;
        for (int i = 0; i < 4 && !text; i++) {
                s->as_text = i % 2;
                s->unsaid = i / 2;
                text = rendered_calls(s, 1);
        }
        if (!text)
                return;
        f->arguments_are_text = s->as_text;
        if (strstr(text, "<|channel|>")) {
                f->kind = CHAT_CALLS_CHANNELS;
                return;
        }
        const char *body, *key = strstr(text, key_mark[0]), *name = NULL, *call;
        /* an answer begins where this text differs from one that only begins an answer, and from one with a text */
        const char *said = rendered(s, json_pack("{s:s, s:s}", "role", "assistant", "content", SAID));
        const int64_t shared = chat_common_start(text, opened),
                      said_shared = said ? chat_common_start(text, said) : 0;
        body = text + (!opened[shared] || shared > said_shared ? shared : said_shared);
        text = mark_begin(text, body);
        for (const char *at = text; key && (at = strstr(at, name_mark[0])) && (!name || at < key); at++)
                name = at;
        call = name ? call_object(s, text, name, &after) : NULL;
        f->kind = call ? CHAT_CALLS_OBJECT : CHAT_CALLS_PARTS;
        if (!call && !(name && (after = find_arguments(s, name + strlen(name_mark[0]))))) {
                f->kind = CHAT_CALLS_NONE;
                return;
        }
        call = call ? call : name;
        /* an empty thought before it is not the call's */
        for (const char *end = f->thought_end ? strstr(text, f->thought_end) : NULL; end && end < call;
             end = strstr(text, f->thought_end))
                text = end + strlen(f->thought_end);
        f->before = form_of(s->arena, text, call);
        f->tail = chat_stripped(s->arena, after, after + strlen(after));
        find_second(s, rendered_calls(s, 2));
        if (f->kind == CHAT_CALLS_PARTS && !*f->before)
                f->kind = CHAT_CALLS_NONE; /* any text would be a name */
}

const ChatAnswerForm *chat_answer_form(Arena *a, const ChatWriter *w)
{
        ChatAnswerForm *f = NEW(a, ChatAnswerForm);
        FormSearch s = {.arena = a, .writer = w, .form = f};
        json_begin();
        const char *opened = rendered(&s, NULL);
        opened = opened ? opened : "";
        find_thought(&s, opened);
        find_calls(&s, opened);
        return f;
}

void chat_thought_marks(const ChatAnswerForm *f, const char **begin, const char **end, bool *begun)
{
        *begin = f->thought;
        *end = f->thought_end;
        *begun = f->begins_thinking;
}

bool chat_calls_are_known(const ChatAnswerForm *f)
{
        return f->kind != CHAT_CALLS_NONE;
}
