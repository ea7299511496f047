/* Thoughts and calls of tools: how a template writes them, and an answer that is read back as a message.
 *
 * An answer with marks as its thought, name, keys and values is rendered; the texts around the marks are the form.  So no family is
 * known by name, but for channels (Harmony), whose answers are not written as the template writes them. */
#include <ctype.h>

#include "chat_private.h"

#define USER "Qu1zvxQ"
#define SAID "Qa2zvxQ"
#define THOUGHT "Qr3zvxQ"
enum {
        CALLS = 2,
        ARGUMENTS = 4,
        MOST_TRIES = 256, /* at objects in a template's text that a call may be */
        ANYTHING = 1,     /* in a form: any text */
};
/* Calls differ in all letters but those of the arguments, of which two are texts. */
static const char *const name_mark[CALLS] = {"Qn4zvxQ", "Xm5jwkX"},
                         *const id_mark[CALLS] = {"a1b2c3d4e", "z9y8x7w6v"},
                         *const key_mark[ARGUMENTS] = {"Qk0zvxQ", "Qk1zvxQ", "Qk2zvxQ", "Qk3zvxQ"},
                         *const value_mark[ARGUMENTS] = {"Qv0zvxQ", "Qv1zvxQ", "314159265", "271828182"};

typedef enum {
        CALLS_NONE,
        CALLS_OBJECT,  /* an object of JSON has name and arguments */
        CALLS_PARTS,   /* the name, then the arguments: an object, or each by itself */
        CALLS_CHANNELS /* a header says to whom each part of an answer goes */
} CallKind;

struct ChatAnswerForm {
        const char *thought, *thought_end; /* NULL: no thoughts are known */
        bool begins_thinking;              /* the text before an answer has begun a thought */
        CallKind kind;
        bool arguments_are_text; /* the template takes the text of an object */
        const char *before;      /* text before the first call */
        const char *between;     /* after a call, before the next one; NULL: there is one call */
        const char *tail;        /* after the last call */
        const char
                *inside; /* OBJECT: key of the object that has the two; NULL: they are in the call itself */
        const char *name, *arguments;                     /* OBJECT: keys */
        const char *after_name;                           /* PARTS: text before the arguments, */
        const char *before_key, *after_key, *after_value; /* of each; NULL: they are one object */
        const char *
                quote; /* around texts, which are values in no other way; NULL: values have nothing around them */
};

/* --- texts -------------------------------------------------------------------------------------------------------- */

static bool is_form_white(char c)
{
        return c && strchr(" \t\r\n", c);
}

static const char *skip_white(const char *at)
{
        while (is_form_white(*at))
                at++;
        return at;
}

static const char *form_cut(Arena *a, const char *from, const char *end)
{
        from = skip_white(from);
        while (end > from && is_form_white(end[-1]))
                end--;
        return arena_strndup(a, from, end > from ? end - from : 0);
}

static const char *find_form(const char *at, const char *form, const char **after);

/* After the form's text at the beginning of `at`, white space apart; NULL: it is not there. */
static const char *after_form(const char *at, const char *form)
{
        for (; *(form = skip_white(form)); form++, at++) {
                if (*form == ANYTHING) {
                        const char *after;
                        return find_form(at, form + 1, &after) ? after : NULL;
                }
                if (*(at = skip_white(at)) != *form)
                        return NULL;
        }
        return at;
}

/* The first place of the form's text from `at` on; *after: its end. */
static const char *find_form(const char *at, const char *form, const char **after)
{
        const char first = *skip_white(form);
        for (;; at++) {
                if ((!first || *at == first) && (*after = after_form(at, form)))
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
                const char any = ANYTHING;
                text_add(to, mark < 8 ? &any : from, 1);
                from += mark < 8 ? (int64_t)strlen(all[mark]) : 1;
        }
        return form_cut(a, to->n ? to->data : "", to->n ? to->data + to->n : "");
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
        return n == m && front == n ? one
                                    : arena_printf(a, "%.*s%c%s", (int)front, one, ANYTHING, one + n - back);
}

/* How many bytes at the end of both are the same, from the beginning of a word or mark on. */
static int64_t common_form_end(const char *one, const char *one_end, const char *other, const char *other_end)
{
        int64_t n = 0;
        while (one_end - n > one && other_end - n > other && one_end[-n - 1] == other_end[-n - 1])
                n++;
        while (n > 0 && other_end - n > other && !strchr("<[", other_end[-n]) &&
               !is_form_white(other_end[-n - 1]))
                n--;
        return n;
}

static int64_t common_begin(const char *one, const char *other)
{
        int64_t n = 0;
        while (one[n] && one[n] == other[n])
                n++;
        return n;
}

/* The beginning of the mark in which `at` is, as in <think>, or `at`. */
static const char *mark_begin(const char *text, const char *at)
{
        for (const char *p = at; p > text && !is_form_white(p[-1]) && p[-1] != '>' && p[-1] != ']'; p--)
                if (p[-1] == '<' || p[-1] == '[')
                        return p - 1;
        return at;
}

/* A value of JSON at `at`; *after: its end. */
static json_t *json_at(const char *at, const char **after)
{
        json_error_t error;
        json_t *value = json_parse_exact(at, strlen(at), JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, &error);
        *after = value ? at + error.position : at;
        return value;
}

/* --- the form ----------------------------------------------------------------------------------------------------- */

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
                while (end > text && is_form_white(end[-1]))
                        end--;
                from = end > text ? end - 1 : end;
                while (from > text && !is_form_white(from[-1]) && from[-1] != '>' && from[-1] != ']')
                        from--;
                f->thought = form_cut(s->arena, from, end);
                f->thought_end = form_cut(s->arena, thought + strlen(THOUGHT), said);
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
        while (end > opened && is_form_white(end[-1]))
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
                json_t *object = *text == '{' ? json_at(text, after) : NULL;
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
                json_t *object = *at == '{' ? json_at(at, &after) : NULL;
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
        after = f->quote ? NULL : after_form(end[ARGUMENTS - 1], f->after_value);
        return after ? after : end[ARGUMENTS - 1];
}

/* What is between two calls; and what differs in their forms, as numbers. */
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
        if (f->kind == CALLS_OBJECT) {
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
                f->kind = CALLS_CHANNELS;
                return;
        }
        const char *body, *key = strstr(text, key_mark[0]), *name = NULL, *call;
        /* an answer begins where this text differs from one that only begins an answer, and from one with a text */
        const char *said = rendered(s, json_pack("{s:s, s:s}", "role", "assistant", "content", SAID));
        const int64_t shared = common_begin(text, opened), said_shared = said ? common_begin(text, said) : 0;
        body = text + (!opened[shared] || shared > said_shared ? shared : said_shared);
        text = mark_begin(text, body);
        for (const char *at = text; key && (at = strstr(at, name_mark[0])) && (!name || at < key); at++)
                name = at;
        call = name ? call_object(s, text, name, &after) : NULL;
        f->kind = call ? CALLS_OBJECT : CALLS_PARTS;
        if (!call && !(name && (after = find_arguments(s, name + strlen(name_mark[0]))))) {
                f->kind = CALLS_NONE;
                return;
        }
        call = call ? call : name;
        /* an empty thought before it is not the call's */
        for (const char *end = f->thought_end ? strstr(text, f->thought_end) : NULL; end && end < call;
             end = strstr(text, f->thought_end))
                text = end + strlen(f->thought_end);
        f->before = form_of(s->arena, text, call);
        f->tail = form_cut(s->arena, after, after + strlen(after));
        find_second(s, rendered_calls(s, 2));
        if (f->kind == CALLS_PARTS && !*f->before)
                f->kind = CALLS_NONE; /* any text would be a name */
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
        return f->kind != CALLS_NONE;
}

/* --- an answer ---------------------------------------------------------------------------------------------------- */

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
        while (end > from && is_form_white(end[-1]))
                end--;
        for (from = to->n ? from : skip_white(from); from < end; from++)
                text_add(to, from, 1);
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
        json_t *call = json_at(at = skip_white(at), &after),
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
        json_t *value = is_text_argument(r, name, key) ? NULL : json_at(text, &after);
        if (value && !*skip_white(after))
                return value;
        json_decref(value);
        return json_string(text);
}

/* What follows the last call: the rest of its form, as far as it is there. */
static const char *after_tail(const char *at, const char *tail)
{
        const char *done = at;
        for (; *(tail = skip_white(tail)); tail++)
                if (*(at = skip_white(at)) == *tail)
                        done = ++at;
                else
                        break;
        return done;
}

static json_t *tagged_value(const AnswerReader *r, const char *name, const char *key, const char *at,
                            const char **rest)
{
        const char *end = find_form(at, r->form->after_value, rest);
        return end ? bare_value(r, name, key, form_cut(r->arena, at, end)) : NULL;
}

/* A text in quotes, or a value of JSON or Python. */
static json_t *quoted_value(const AnswerReader *r, const char *at, const char **rest)
{
        static const struct {
                const char *name;
                json_t *(*value)(void);
        } named[] = {{"True", json_true}, {"False", json_false}, {"None", json_null}};
        const char *from = after_form(at, r->form->quote),
                   *end = from ? find_form(from, r->form->quote, rest) : NULL;
        if (end)
                return json_stringn(from, (size_t)(end - from));
        at = skip_white(at);
        for (int i = 0; i < 3; i++)
                if (!strncmp(at, named[i].name, strlen(named[i].name))) {
                        *rest = at + strlen(named[i].name);
                        return named[i].value();
                }
        return from ? NULL : json_at(at, rest);
}

static const char *read_call_parts(AnswerReader *r, const char *at)
{
        const ChatAnswerForm *f = r->form;
        const char *next = at = skip_white(at), *end = at;
        if (*f->after_name)
                end = find_form(at, f->after_name, &next);
        else if (f->before_key)
                end = next = at + strcspn(at, " \t\r\n<"); /* a name and nothing else stands there */
        else
                end = next = at + strcspn(at, " \t\r\n{");
        if (!end || end == at) {
                answer_wrong(r, at, "expected a name");
                return NULL;
        }
        const char *name = form_cut(r->arena, at, end), *after;
        if (!f->before_key) {
                json_t *arguments = json_at(next = skip_white(next), &after);
                if (json_is_object(arguments)) {
                        add_answer_call(r, name, arguments, NULL);
                        return after;
                }
                json_decref(arguments);
                answer_wrong(r, next, "expected the arguments as an object of JSON");
                return NULL;
        }
        json_t *arguments = json_object();
        for (bool more = true; more && (at = after_form(next, f->before_key)) && *skip_white(at);) {
                if (after_tail(next, f->tail) > at)
                        break; /* the call ends like an argument begins */
                const char *key_end = find_form(at, f->after_key, &after);
                if (f->quote && (!key_end || strcspn(at, "})]") < (size_t)(key_end - at)))
                        break; /* no argument */
                const char *key = key_end ? form_cut(r->arena, at, key_end) : "", *rest = NULL;
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
                        const char *on = after_form(next, f->after_value);
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
                at = skip_white(token_end ? token_end + 2 : text);
                first = *at == '{' ? text : NULL;
        } else {
                first = find_form(text, f->before, &at);
        }
        while (first) {
                put_text(r->said, text, first);
                const char *end = f->kind == CALLS_OBJECT ? read_call_object(r, at) : read_call_parts(r, at);
                if (!end)
                        return;
                text = first = f->between ? after_form(end, f->between) : NULL;
                at = text;
                if (text && (f->kind != CALLS_OBJECT || *skip_white(text) == '{'))
                        continue;
                text = after_tail(end, f->tail);
                first = *f->before ? find_form(text, f->before, &at) : NULL;
        }
        put_text(r->said, text, text + strlen(text));
}

/* Parts of an answer, each after a header: [<|start|>assistant] [to=functions.NAME] <|channel|>NAME [to=functions.NAME]
 * [<|constrain|>json] <|message|> text [<|end|>, <|call|> or <|return|>]. */
static void read_channels(AnswerReader *r, const char *at)
{
        static const char message[] = "<|message|>", to[] = "to=functions.", channel[] = "<|channel|>";
        while (*skip_white(at)) {
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
                json_t *arguments = json_at(skip_white(body), &after);
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
        const char *at = f->thought_end ? after_form(text, f->thought) : NULL, *end, *after;
        if (!f->thought_end)
                return text;
        const bool thinks = at || f->begins_thinking;
        end = find_form(text, f->thought_end, &after);
        if (!end &&
            (!thinks || (!at && f->kind != CALLS_NONE && *f->before && find_form(text, f->before, &after))))
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
        if (f->kind == CALLS_CHANNELS) {
                read_channels(&r, r.text);
        } else {
                const char *rest = read_thought(&r, r.text);
                if (f->kind == CALLS_NONE)
                        put_text(r.said, rest, rest + strlen(rest));
                else
                        read_calls(&r, rest);
                if (r.wrong) { /* the whole is a text */
                        r.said = text_new(a);
                        put_text(r.said, rest, rest + strlen(rest));
                }
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
