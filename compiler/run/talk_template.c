/* A conversation rendered by the chat template, turn by turn.
 *
 * Messages must not contain special tokens.  Therefore the text of a special token in a message gets a mark
 * in front before the template is evaluated: a character that no message contains.  Afterwards only texts
 * without a mark become special tokens.  Bytes that are not UTF-8 become a mark and a character. */
#include <stdlib.h>
#include <string.h>

#include "run.h"

enum {
        MARK_FIRST = 0xe000, /* of private use */
        MARK_LAST = 0xefff,
        BYTES_AT = 0xf700,
        MARK_BYTES = 3,
        ESCAPE_BYTES = 6 /* of a mark that tojson(ensure_ascii=true) writes */
};

typedef struct {
        Arena *arena;
        const ChatWriter *writer;
        bool opens;
        const char *given; /* all texts of its messages and tools */
        const char *const *literal;
        int nliteral;
} TalkTemplate;

typedef struct {
        Talk *talk;
        const TalkTemplate *template;
        Arena scratch;
        char mark[MARK_BYTES + 1], escape[ESCAPE_BYTES + 1];
} Writing;

static void put_private(char out[MARK_BYTES + 1], uint32_t code)
{
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        out[3] = 0;
}

static bool contains(const char *text, int64_t n, const char *mark)
{
        const int64_t length = (int64_t)strlen(mark);
        for (int64_t i = 0; i + length <= n; i++)
                if (!memcmp(text + i, mark, (size_t)length))
                        return true;
        return false;
}

static bool is_said(const Writing *w, const char *mark)
{
        const Talk *k = w->talk;
        for (int64_t i = 0; i < k->turns; i++)
                if (contains(k->said[i].text, k->said[i].n, mark))
                        return true;
        return (k->system && strstr(k->system, mark)) || strstr(w->template->given, mark);
}

/* Chooses a character that no message contains; false: all of them are in use. */
static bool choose_mark(Writing *w)
{
        for (uint32_t code = MARK_FIRST; code <= MARK_LAST; code++) {
                put_private(w->mark, code);
                snprintf(w->escape, sizeof w->escape, "\\u%04x", (unsigned)code);
                if (!is_said(w, w->mark) && !is_said(w, w->escape))
                        return true;
        }
        return false;
}

/* A message with its marks; tokens that talk_keeps() keeps in answers get none. */
static ChatSaid with_marks(Writing *w, const char *text, int64_t n, bool is_answer)
{
        Text *to = text_new(&w->scratch);
        const char *end = text + n;
        char byte[MARK_BYTES + 1];
        text_add(to, "", 0);
        while (text < end) {
                uint32_t code;
                const TokenAdded *added = added_token_at(w->talk->tables, text, end);
                const bool is_token = added && (added->flags & ADDED_CONTROL) &&
                                      !(is_answer && talk_keeps(w->talk, added->token));
                const int length = decode_utf8(text, end - text < 4 ? (int32_t)(end - text) : 4, &code);
                if (is_token || !length)
                        text_add(to, w->mark, MARK_BYTES);
                if (length) {
                        text_add(to, text, length);
                } else {
                        put_private(byte, BYTES_AT + (unsigned char)*text);
                        text_add(to, byte, MARK_BYTES);
                }
                text += length ? length : 1;
        }
        return (ChatSaid){to->data, to->n};
}

/* A value of JSON with marks in all its texts, also in keys. */
static json_t *value_with_marks(Writing *w, const json_t *value, bool is_answer)
{
        json_t *to, *one;
        const char *key;
        if (json_is_string(value)) {
                const ChatSaid text = with_marks(w, json_string_value(value),
                                                 (int64_t)json_string_length(value), is_answer);
                return json_stringn(text.text, (size_t)text.n);
        }
        if (json_is_array(value)) {
                to = json_array();
                for (size_t i = 0; i < json_array_size(value); i++)
                        json_array_append_new(to, value_with_marks(w, json_array_get(value, i), is_answer));
                return to;
        }
        if (!json_is_object(value))
                return json_incref((json_t *)value);
        to = json_object();
        json_object_foreach ((json_t *)value, key, one)
                json_object_set_new(to, with_marks(w, key, (int64_t)strlen(key), is_answer).text,
                                    value_with_marks(w, one, is_answer));
        return to;
}

/* The writer with marks in its messages and tools. */
static ChatWriter writer_with_marks(Writing *w)
{
        ChatWriter marked = *w->template->writer;
        json_t *variables = json_copy((json_t *)marked.variables), *before = json_array();
        json_object_set_new(variables, "tools",
                            value_with_marks(w, json_object_get(variables, "tools"), false));
        for (size_t i = 0; i < json_array_size(marked.before); i++) {
                const json_t *message = json_array_get(marked.before, i);
                json_array_append_new(before,
                                      value_with_marks(w, message, chat_is_from(message, "assistant")));
        }
        marked.variables = variables;
        marked.before = before;
        return marked;
}

/* Bytes of a mark at the beginning of a text, or 0. */
static int64_t mark_here(const Writing *w, const char *text, const char *end)
{
        return end - text >= MARK_BYTES && !memcmp(text, w->mark, MARK_BYTES)         ? MARK_BYTES
               : end - text >= ESCAPE_BYTES && !memcmp(text, w->escape, ESCAPE_BYTES) ? ESCAPE_BYTES
                                                                                      : 0;
}

/* Appends the bytes that the text after a mark encodes to the conversation; returns the number of bytes read. */
static int64_t take_marked(Talk *k, const char *text, const char *end)
{
        uint32_t code = 0;
        const int length =
                text < end ? decode_utf8(text, end - text < 4 ? (int32_t)(end - text) : 4, &code) : 0;
        const char byte = (char)(code & 0xff);
        if (length == MARK_BYTES && code >= BYTES_AT && code < BYTES_AT + 256)
                talk_text(k, &byte, 1);
        else
                talk_text(k, text, length);
        return length;
}

static void template_take_text(const Writing *w, const char *text, int64_t n)
{
        Talk *k = w->talk;
        const char *end = text + n, *plain = text;
        const int64_t before = k->n;
        while (text < end && !k->failed) {
                const int64_t marked = mark_here(w, text, end);
                const TokenAdded *added = marked ? NULL : added_token_at(k->tables, text, end);
                if (!marked && !(added && (added->flags & ADDED_CONTROL))) {
                        text += added ? added->n : 1;
                        continue;
                }
                talk_text(k, plain, text - plain);
                if (marked) {
                        text += marked;
                        text += take_marked(k, text, end);
                } else {
                        talk_special(k, added->token, k->n == before);
                        text += added->n;
                }
                plain = text;
        }
        talk_text(k, plain, end - plain);
}

static const char *write_turns(void *of, Talk *k)
{
        const TalkTemplate *t = of;
        Writing w = {.talk = k, .template = t, .scratch = {.out_of_memory = t->arena->out_of_memory}};
        ChatText text;
        ChatFault fault;
        const char *why = NULL;
        if (!choose_mark(&w))
                return "the conversation has too many private-use characters";
        const ChatWriter writer = writer_with_marks(&w);
        ChatSaid *said = NEW_ARRAY(&w.scratch, ChatSaid, k->turns), system = {0};
        for (int64_t i = t->opens; i < k->turns; i++)
                said[i - t->opens] = with_marks(&w, k->said[i].text, k->said[i].n, i % 2);
        if (k->system)
                system = with_marks(&w, k->system, (int64_t)strlen(k->system), false);
        if (chat_write(&w.scratch, &writer, k->system ? &system : NULL, said, k->turns - t->opens, true,
                       &text, &fault))
                template_take_text(&w, text.text, text.n);
        else
                why = arena_printf(t->arena, "%s:%d: %s", fault.at.source->path, span_line(fault.at),
                                   fault.message);
        json_decref((json_t *)writer.variables);
        json_decref((json_t *)writer.before);
        arena_free(&w.scratch);
        return why;
}

/* The texts of messages and tools, to be searched. */
static const char *given_texts(Arena *a, const ChatWriter *w)
{
        json_t *all = json_pack("[O?O?]", w->before, json_object_get(w->variables, "tools"));
        char *text = json_dumps(all, JSON_COMPACT);
        const char *copy = arena_strdup(a, text ? text : "");
        free(text);
        json_decref(all);
        return copy;
}

/* Special tokens that the template compares messages with. */
static void find_kept(const TalkTemplate *t, Talk *k)
{
        int32_t *kept = NEW_ARRAY(t->arena, int32_t, t->nliteral);
        for (int i = 0; i < t->nliteral; i++) {
                const char *end = t->literal[i] + strlen(t->literal[i]);
                const TokenAdded *added = added_token_at(k->tables, t->literal[i], end);
                if (added && (added->flags & ADDED_CONTROL) && added->n == end - t->literal[i])
                        kept[k->nkept++] = added->token;
        }
        k->kept = kept;
}

void talk_by_template(Arena *a, Talk *k, const ChatWriter *w, bool opens)
{
        TalkTemplate *t = NEW(a, TalkTemplate);
        *t = (TalkTemplate){.arena = a, .writer = w, .opens = opens, .given = given_texts(a, w)};
        t->literal = chat_literals(a, w->template, &t->nliteral);
        k->write = write_turns;
        k->of = t;
        find_kept(t, k);
}
