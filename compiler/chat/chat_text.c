/* Texts of a template, by code points; and writing values as Python's str(), repr() and json.dumps() do. */
#include <math.h>
#include <stdlib.h>

#include "chat_private.h"

/* --- code points --- */

static bool begins_character(char byte)
{
        return ((unsigned char)byte & 0xc0) != 0x80;
}

int64_t chat_points(ChatValue text)
{
        int64_t n = 0;
        for (int64_t i = 0; i < text.n; i++)
                n += begins_character(text.text[i]);
        return n;
}

int64_t chat_offset(ChatValue text, int64_t point)
{
        int64_t i = 0;
        for (; i < text.n; i++)
                if (begins_character(text.text[i]) && point-- == 0)
                        break;
        return i;
}

ChatValue chat_part(Chat *c, ChatValue text, int64_t from, int64_t to)
{
        chat_charge(c, 1);
        ChatValue part = text;
        part.text += from;
        part.n = to > from ? to - from : 0;
        return part;
}

static bool is_white(uint32_t code)
{
        return (code >= 9 && code <= 13) || (code >= 0x1c && code <= 0x20) || code == 0x85 || code == 0xa0 ||
               code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 ||
               code == 0x202f || code == 0x205f || code == 0x3000;
}

int64_t chat_white_at(const char *text, int64_t n, int64_t at)
{
        uint32_t code = 0;
        int length = decode_utf8(text + at, (int32_t)(n - at), &code);
        return length && is_white(code) ? length : 0;
}

void chat_add(Chat *c, Text *t, const char *bytes, int64_t n)
{
        if (t->n + n > CHAT_BYTES)
                FAIL(c, "a text would have more than %d bytes", CHAT_BYTES);
        chat_charge(c, n / 64);
        text_add(t, bytes, n);
}

static void append_word(Chat *c, Text *t, const char *word)
{
        chat_add(c, t, word, (int64_t)strlen(word));
}

ChatValue chat_copy(Chat *c, const Text *t)
{
        chat_charge(c, 1);
        return chat_text(t->data, t->n);
}

int64_t chat_find(ChatValue text, ChatValue part, int64_t from)
{
        if (part.n == 0)
                return from <= text.n ? from : -1;
        for (int64_t at = from; at + part.n <= text.n; at++) {
                const char *first = memchr(text.text + at, part.text[0], (size_t)(text.n - part.n - at + 1));
                if (!first)
                        return -1;
                at = first - text.text;
                if (!memcmp(first, part.text, (size_t)part.n))
                        return at;
        }
        return -1;
}

/* --- str() and repr() --- */

/* The fewest digits that name the number, as Python's repr(). */
static char *float_name(Chat *c, double x)
{
        char digits[40], *name;
        if (isnan(x) || isinf(x))
                return arena_strdup(c->arena, isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
        int precision = 0;
        do
                snprintf(digits, sizeof digits, "%.*e", precision, x);
        while (precision++ < 17 && strtod(digits, NULL) != x);
        int power = atoi(strchr(digits, 'e') + 1), places = precision - 1 - power;
        if (power < -4 || power >= 16)
                return arena_strdup(c->arena, digits);
        name = arena_printf(c->arena, "%.*f", places > 1 ? places : 1, x);
        return name;
}

static void append_value(Chat *c, Text *t, ChatValue v);

/* Letters of scripts whose blocks are full: these are printed as they are. */
static bool printable(uint32_t code)
{
        static const uint32_t range[][2] = {
                {0xa1, 0xac},     {0xae, 0x377},    {0x400, 0x52f},   {0x1e00, 0x1eff},
                {0x2010, 0x2027}, {0x2030, 0x205e}, {0x20a0, 0x20bf}, {0x2190, 0x23ff},
                {0x2500, 0x27bf}, {0x3001, 0x303f}, {0x3041, 0x3096}, {0x30a0, 0x30ff},
                {0x4e00, 0x9fef}, {0xac00, 0xd7a3}, {0xff01, 0xff5e}, {0x1f300, 0x1f64f}};
        for (size_t i = 0; i < sizeof range / sizeof range[0]; i++)
                if (code >= range[i][0] && code <= range[i][1])
                        return true;
        return false;
}

static void add_quoted_code(Chat *c, Text *t, const char *at, int n, uint32_t code, char quote)
{
        const char *letter = code == '\n' ? "\\n" : code == '\r' ? "\\r" : code == '\t' ? "\\t" : NULL;
        if (letter)
                append_word(c, t, letter);
        else if (code == (unsigned char)quote || code == '\\')
                append_word(c, t, arena_printf(c->arena, "\\%c", (char)code));
        else if (code < 0x20 || (code >= 0x7f && code <= 0xa0) || code == 0xad)
                append_word(c, t, arena_printf(c->arena, "\\x%02x", code));
        else if (code < 0x7f || printable(code))
                chat_add(c, t, at, n);
        else
                FAIL(c, "a list or dict with U+%04X in it can't be printed here; use tojson", code);
}

static void add_repr(Chat *c, Text *t, ChatValue v)
{
        if (v.kind == V_UNDEFINED) {
                append_word(c, t, "Undefined");
                return;
        }
        if (v.kind != V_TEXT) {
                append_value(c, t, v);
                return;
        }
        if (v.safe)
                FAIL(c, "a safe text in a list can't be printed");
        bool single = memchr(v.text, '\'', (size_t)v.n) != NULL,
             twofold = memchr(v.text, '"', (size_t)v.n) != NULL;
        char quote = single && !twofold ? '"' : '\'';
        chat_add(c, t, &quote, 1);
        for (int64_t at = 0; at < v.n;) {
                uint32_t code = 0;
                int n = decode_utf8(v.text + at, (int32_t)(v.n - at), &code);
                add_quoted_code(c, t, v.text + at, n, code, quote);
                at += n ? n : 1;
        }
        chat_add(c, t, &quote, 1);
}

static void add_items(Chat *c, Text *t, const Items *items, const char *open, const char *close)
{
        append_word(c, t, open);
        for (int64_t i = 0; i < items->n; i++) {
                chat_charge(c, 1);
                append_word(c, t, i ? ", " : "");
                add_repr(c, t, items->at[i]);
        }
        append_word(c, t, close);
}

static void add_dict(Chat *c, Text *t, const Dict *d)
{
        append_word(c, t, "{");
        for (int64_t i = 0; i < d->n; i++) {
                chat_charge(c, 1);
                append_word(c, t, i ? ", " : "");
                add_repr(c, t, d->key[i]);
                append_word(c, t, ": ");
                add_repr(c, t, d->value[i]);
        }
        append_word(c, t, "}");
}

static void append_value(Chat *c, Text *t, ChatValue v)
{
        switch (v.kind) {
        case V_ABSENT:
        case V_UNDEFINED: return;
        case V_NONE: append_word(c, t, "None"); return;
        case V_BOOL: append_word(c, t, v.truth ? "True" : "False"); return;
        case V_INT: append_word(c, t, arena_printf(c->arena, "%lld", (long long)v.integer)); return;
        case V_FLOAT: append_word(c, t, float_name(c, v.real)); return;
        case V_TEXT: chat_add(c, t, v.text, v.n); return;
        case V_LIST: add_items(c, t, v.items, "[", "]"); return;
        case V_TUPLE: add_items(c, t, v.items, "(", v.items->n == 1 ? ",)" : ")"); return;
        case V_DICT: add_dict(c, t, v.dict); return;
        default: FAIL(c, "a %s can't be printed", chat_kind_name(v));
        }
}

ChatValue chat_str(Chat *c, ChatValue v)
{
        if (v.kind == V_TEXT)
                return v;
        Text *t = text_new(c->arena);
        append_value(c, t, v);
        return chat_copy(c, t);
}

/* --- json.dumps() --- */

typedef struct {
        Chat *chat;
        Text *text;
        bool ascii, lines, sorted;
        ChatValue indent, item, key; /* separators between items and after a key */
} Json;

static void add_json(Json *j, ChatValue v, int nesting);

static void add_json_code(Json *j, const char *at, int n, uint32_t code)
{
        static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
        const char *known = code && code < 0x80 ? strchr(from, (int)code) : NULL;
        Arena *a = j->chat->arena;
        if (known)
                append_word(j->chat, j->text, arena_printf(a, "\\%c", to[known - from]));
        else if (code >= 0x20 && (code < 0x7f || !j->ascii))
                chat_add(j->chat, j->text, at, n);
        else if (code < 0x10000)
                append_word(j->chat, j->text, arena_printf(a, "\\u%04x", code));
        else
                append_word(j->chat, j->text,
                            arena_printf(a, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
                                         0xdc00 + (code & 0x3ff)));
}

static void add_json_text(Json *j, ChatValue v)
{
        append_word(j->chat, j->text, "\"");
        for (int64_t at = 0; at < v.n;) {
                uint32_t code = 0;
                int n = decode_utf8(v.text + at, (int32_t)(v.n - at), &code);
                add_json_code(j, v.text + at, n, code);
                at += n ? n : 1;
        }
        append_word(j->chat, j->text, "\"");
}

static void tojson_new_line(Json *j, int nesting)
{
        if (!j->lines)
                return;
        append_word(j->chat, j->text, "\n");
        for (int i = 0; i < nesting; i++)
                chat_add(j->chat, j->text, j->indent.text, j->indent.n);
}

static void tojson_separator(Json *j, int64_t i, int nesting)
{
        chat_charge(j->chat, 1);
        if (i)
                chat_add(j->chat, j->text, j->item.text, j->item.n);
        tojson_new_line(j, nesting);
}

static void add_json_items(Json *j, const Items *items, int nesting)
{
        append_word(j->chat, j->text, "[");
        for (int64_t i = 0; i < items->n; i++) {
                tojson_separator(j, i, nesting + 1);
                add_json(j, items->at[i], nesting + 1);
        }
        if (items->n)
                tojson_new_line(j, nesting);
        append_word(j->chat, j->text, "]");
}

static ChatValue json_key(Json *j, ChatValue key)
{
        if (key.kind == V_BOOL)
                return chat_word(key.truth ? "true" : "false");
        if (key.kind == V_NONE)
                return chat_word("null");
        if (key.kind != V_TEXT && key.kind != V_INT && key.kind != V_FLOAT)
                FAIL(j->chat, "tojson: a key is a text or a number, not a %s", chat_kind_name(key));
        return chat_str(j->chat, key);
}

static void add_json_dict(Json *j, const Dict *d, int nesting)
{
        Items *keys = chat_items_new(j->chat), *values = chat_items_new(j->chat);
        for (int64_t i = 0; i < d->n; i++) {
                chat_items_add(j->chat, keys, d->key[i]);
                chat_items_add(j->chat, values, d->value[i]);
        }
        if (j->sorted) {
                Items *order = NEW(j->chat->arena, Items);
                *order = *keys;
                chat_sort(j->chat, values, order, false);
                chat_sort(j->chat, keys, order, false);
        }
        append_word(j->chat, j->text, "{");
        for (int64_t i = 0; i < d->n; i++) {
                tojson_separator(j, i, nesting + 1);
                add_json_text(j, json_key(j, keys->at[i]));
                chat_add(j->chat, j->text, j->key.text, j->key.n);
                add_json(j, values->at[i], nesting + 1);
        }
        if (d->n)
                tojson_new_line(j, nesting);
        append_word(j->chat, j->text, "}");
}

static void add_json(Json *j, ChatValue v, int nesting)
{
        if (v.kind == V_TEXT)
                add_json_text(j, v);
        else if (v.kind == V_LIST || v.kind == V_TUPLE)
                add_json_items(j, v.items, nesting);
        else if (v.kind == V_DICT)
                add_json_dict(j, v.dict, nesting);
        else if (v.kind == V_NONE || v.kind == V_BOOL)
                append_word(j->chat, j->text, v.kind == V_NONE ? "null" : v.truth ? "true" : "false");
        else if (v.kind == V_FLOAT && (isnan(v.real) || isinf(v.real)))
                append_word(j->chat, j->text, isnan(v.real) ? "NaN" : v.real > 0 ? "Infinity" : "-Infinity");
        else if (v.kind == V_INT || v.kind == V_FLOAT)
                append_value(j->chat, j->text, v);
        else
                FAIL(j->chat, "tojson: a %s can't be written as JSON", chat_kind_name(v));
}

static ChatValue indent_of(Chat *c, ChatValue v)
{
        if (v.kind == V_TEXT)
                return v;
        int64_t n = chat_integer(c, v, "tojson: the indent");
        if (n > 256)
                FAIL(c, "tojson: the indent is at most 256");
        Text *t = text_new(c->arena);
        for (int64_t i = 0; i < n; i++)
                text_add(t, " ", 1);
        return chat_copy(c, t);
}

ChatValue chat_json(Chat *c, ChatValue v, ChatValue ascii, ChatValue indent, ChatValue separators,
                    ChatValue sorted)
{
        Json j = {c,
                  text_new(c->arena),
                  chat_truth(ascii),
                  false,
                  chat_truth(sorted),
                  chat_word(""),
                  chat_word(", "),
                  chat_word(": ")};
        if (indent.kind != V_ABSENT && indent.kind != V_NONE) {
                j.lines = true;
                j.indent = indent_of(c, indent);
                j.item = chat_word(",");
        }
        if (separators.kind != V_ABSENT && separators.kind != V_NONE) {
                if (!chat_is_list(separators) || separators.items->n != 2 ||
                    separators.items->at[0].kind != V_TEXT || separators.items->at[1].kind != V_TEXT)
                        FAIL(c, "tojson: separators are two texts");
                j.item = separators.items->at[0];
                j.key = separators.items->at[1];
        }
        add_json(&j, v, 0);
        return chat_copy(c, j.text);
}

/* --- pieces of texts --- */

ChatValue chat_escape(Chat *c, ChatValue text)
{
        Text *t = text_new(c->arena);
        for (int64_t i = 0; i < text.n; i++) {
                char byte = text.text[i];
                const char *as = byte == '&' ? "&amp;" : byte == '<' ? "&lt;" : byte == '>' ? "&gt;" : NULL;
                as = byte == '\'' ? "&#39;" : byte == '"' ? "&#34;" : as;
                chat_add(c, t, as ? as : &byte, as ? (int64_t)strlen(as) : 1);
        }
        chat_charge(c, text.n / 64);
        ChatValue v = chat_copy(c, t);
        v.safe = true;
        return v;
}

/* Whether the code point [at, at + n) is one of the characters; ABSENT or none: white. */
static bool contains_character(const char *at, int64_t n, ChatValue characters)
{
        if (characters.kind != V_TEXT)
                return chat_white_at(at, n, 0) > 0;
        return chat_find(characters, chat_text(at, n), 0) >= 0;
}

ChatValue chat_strip(Chat *c, ChatValue text, ChatValue characters, bool left, bool right)
{
        int64_t from = 0, to = text.n;
        if (characters.kind != V_TEXT && characters.kind != V_ABSENT && characters.kind != V_NONE)
                FAIL(c, "the characters to strip are a text, not a %s", chat_kind_name(characters));
        while (left && from < to) {
                int64_t end = from + 1;
                while (end < to && !begins_character(text.text[end]))
                        end++;
                if (!contains_character(text.text + from, end - from, characters))
                        break;
                from = end;
        }
        while (right && from < to) {
                int64_t begin = to - 1;
                while (begin > from && !begins_character(text.text[begin]))
                        begin--;
                if (!contains_character(text.text + begin, to - begin, characters))
                        break;
                to = begin;
        }
        chat_charge(c, (text.n - (to - from)) / 16 * (characters.kind == V_TEXT ? 1 + characters.n / 64 : 1));
        return chat_part(c, text, from, to);
}

ChatValue chat_replace(Chat *c, ChatValue text, ChatValue old, ChatValue new, int64_t most)
{
        Text *t = text_new(c->arena);
        int64_t from = 0;
        chat_charge(c, text.n / 64);
        for (int64_t at; most != 0 && (at = chat_find(text, old, from)) >= 0; most--) {
                int64_t next = at + old.n;
                chat_charge(c, 1);
                chat_add(c, t, text.text + from, at - from);
                chat_add(c, t, new.text, new.n);
                from = at;
                if (old.n == 0) { /* between all characters */
                        if (at == text.n)
                                break;
                        next = chat_offset(chat_text(text.text + at, text.n - at), 1) + at;
                        chat_add(c, t, text.text + at, next - at);
                }
                from = next;
        }
        chat_add(c, t, text.text + from, text.n - from);
        return chat_copy(c, t);
}

ChatValue chat_cased(Chat *c, ChatValue text, LetterCase to)
{
        Text *t = text_new(c->arena);
        for (int64_t i = 0; i < text.n; i++) {
                char b = text.text[i];
                bool up = to == CASE_UPPER || (to == CASE_CAPITAL && i == 0);
                if ((unsigned char)b >= 0x80)
                        FAIL(c, "upper and lower case are not supported beyond ASCII");
                if (up && b >= 'a' && b <= 'z')
                        b = (char)(b - 32);
                else if (!up && b >= 'A' && b <= 'Z')
                        b = (char)(b + 32);
                chat_add(c, t, &b, 1);
        }
        chat_charge(c, text.n / 64);
        ChatValue v = chat_copy(c, t);
        v.safe = text.safe;
        return v;
}

static int64_t line_end_at(ChatValue text, int64_t at)
{
        uint32_t code = 0;
        int n = decode_utf8(text.text + at, (int32_t)(text.n - at), &code);
        if (code == '\r' && at + 1 < text.n && text.text[at + 1] == '\n')
                return 2;
        bool ends = (code >= 10 && code <= 13) || (code >= 0x1c && code <= 0x1e) || code == 0x85 ||
                    code == 0x2028 || code == 0x2029;
        return n && ends ? n : 0;
}

/* as splitlines() */
Items *chat_lines(Chat *c, ChatValue text)
{
        Items *lines = chat_items_new(c);
        int64_t from = 0;
        for (int64_t at = 0; at < text.n;) {
                int64_t n = line_end_at(text, at);
                if (n) {
                        chat_items_add(c, lines, chat_part(c, text, from, at));
                        from = at + n;
                }
                at += n ? n : 1;
        }
        chat_charge(c, text.n / 64);
        if (from < text.n)
                chat_items_add(c, lines, chat_part(c, text, from, text.n));
        return lines;
}
