/* Splits a template's text into tokens by the rules of Jinja2's lexer, in particular for white space around
 * tags. */
#include <stdlib.h>

#include "chat_private.h"

typedef struct {
        ChatWork *work;
        const char *text;
        int64_t n, at;
        ChatToken *token;
        int64_t tokens, cap;
        char open[CHAT_NESTING]; /* open brackets */
        int nopen;
} ChatScan;

static _Noreturn void fail_at(ChatScan *s, int64_t at, const char *what)
{
        s->work->at = (int32_t)at;
        s->work->end = (int32_t)(at + 1);
        chat_fail(s->work, "%s", what);
}

static ChatToken *scan_add(ChatScan *s, TokenKind kind, int64_t from, int64_t to)
{
        GROW(s->work->arena, s->token, s->tokens, s->cap);
        ChatToken *t = &s->token[s->tokens++];
        *t = (ChatToken){.kind = kind, .at = (int32_t)from, .end = (int32_t)to};
        return t;
}

static bool looks_at(const ChatScan *s, int64_t at, const char *word)
{
        int64_t n = (int64_t)strlen(word);
        return at + n <= s->n && !memcmp(s->text + at, word, (size_t)n);
}

static int64_t after_white(const ChatScan *s, int64_t at)
{
        for (int64_t n; at < s->n && (n = chat_white_at(s->text, s->n, at)) > 0;)
                at += n;
        return at;
}

/* start of the white space at the end of text [from, to) */
static int64_t before_white(const ChatScan *s, int64_t from, int64_t to)
{
        int64_t end = from;
        for (int64_t at = from; at < to;) {
                int64_t n = chat_white_at(s->text, s->n, at);
                at += n ? n : 1;
                end = n ? end : at;
        }
        return end;
}

/* Text up to a tag, without the part that the tag strips: white space before `-`; indentation before a
 * block. */
static void scan_data(ChatScan *s, int64_t from, int64_t to, char sign, bool block)
{
        int64_t end = to;
        if (sign == '-')
                end = before_white(s, from, to);
        else if (sign != '+' && block) {
                int64_t line = to;
                while (line > from && s->text[line - 1] != '\n')
                        line--;
                bool whole = line > 0 ? s->text[line - 1] == '\n' : true;
                if (whole && before_white(s, line, to) == line)
                        end = line;
        }
        if (end > from)
                scan_add(s, T_DATA, from, end)->value = chat_text(s->text + from, end - from);
}

/* Position after the end of a block or a comment, with its sign and a newline. */
static int64_t after_end(const ChatScan *s, int64_t at, char sign)
{
        if (sign == '-')
                return after_white(s, at);
        return sign != '+' && at < s->n && s->text[at] == '\n' ? at + 1 : at;
}

static char sign_at(const ChatScan *s, int64_t at)
{
        return at < s->n && (s->text[at] == '-' || s->text[at] == '+') ? s->text[at] : 0;
}

/* The end `end` of a tag at s->at, with its sign; -1: not found. */
static int64_t tag_end(const ChatScan *s, const char *end)
{
        char sign = sign_at(s, s->at);
        if (*end == '}' && sign == '+')
                return -1;
        int64_t at = s->at + (sign != 0);
        if (!looks_at(s, at, end))
                return -1;
        if (*end == '}')
                return sign == '-' ? after_white(s, at + 2) : at + 2;
        return after_end(s, at + 2, sign);
}

static void scan_comment(ChatScan *s, int64_t begin)
{
        for (; s->at < s->n; s->at++) {
                if (!looks_at(s, s->at, "#}"))
                        continue;
                char sign = s->at > begin ? sign_at(s, s->at - 1) : 0;
                s->at = after_end(s, s->at + 2, sign);
                return;
        }
        fail_at(s, begin, "the comment has no end: expected #}");
}

/* --- tokens within tags --- */

static int64_t after_digits(const ChatScan *s, int64_t at)
{
        while (at < s->n &&
               (is_digit(s->text[at]) || (s->text[at] == '_' && at + 1 < s->n && is_digit(s->text[at + 1]))))
                at++;
        return at;
}

/* End of a float at s->at; s->at: none. */
static int64_t after_float(const ChatScan *s)
{
        int64_t whole = after_digits(s, s->at), at = whole;
        if (s->at > 0 && s->text[s->at - 1] == '.')
                return s->at;
        if (at + 1 < s->n && s->text[at] == '.' && is_digit(s->text[at + 1]))
                at = after_digits(s, at + 1);
        if (at < s->n && (s->text[at] | 32) == 'e') {
                int64_t power = at + 1 + (sign_at(s, at + 1) != 0);
                if (power < s->n && is_digit(s->text[power]))
                        return after_digits(s, power);
        }
        return at > whole ? at : s->at;
}

/* the digits without their underscores */
static char *digits(ChatScan *s, int64_t from, int64_t to)
{
        char *copy = arena_alloc(s->work->arena, to - from + 1);
        int64_t n = 0;
        for (int64_t i = from; i < to; i++)
                if (s->text[i] != '_')
                        copy[n++] = s->text[i];
        return copy;
}

static void scan_number(ChatScan *s)
{
        int64_t begin = s->at, end = after_float(s);
        if (end > begin) {
                scan_add(s, T_FLOAT, begin, end)->value = chat_float(strtod(digits(s, begin, end), NULL));
                s->at = end;
                return;
        }
        end = after_digits(s, begin);
        if (s->text[begin] == '0' && end < s->n && is_name_start(s->text[end]))
                fail_at(s, begin, "numbers in hexadecimal, octal and binary are not supported");
        char *copy = digits(s, begin, end);
        if (copy[0] == '0' && strspn(copy, "0") != strlen(copy))
                fail_at(s, begin, "a whole number begins with 0");
        if (strlen(copy) > 18)
                fail_at(s, begin, "whole numbers have at most 18 digits here");
        scan_add(s, T_INTEGER, begin, end)->value = chat_int(strtoll(copy, NULL, 10));
        s->at = end;
}

static void add_code(Text *t, uint32_t code)
{
        char b[4];
        int n = 0;
        if (code < 0x80)
                b[n++] = (char)code;
        else if (code < 0x800)
                b[n++] = (char)(0xc0 | code >> 6);
        else if (code < 0x10000) {
                b[n++] = (char)(0xe0 | code >> 12);
                b[n++] = (char)(0x80 | (code >> 6 & 63));
        } else {
                b[n++] = (char)(0xf0 | code >> 18);
                b[n++] = (char)(0x80 | (code >> 12 & 63));
                b[n++] = (char)(0x80 | (code >> 6 & 63));
        }
        if (code >= 0x80)
                b[n++] = (char)(0x80 | (code & 63));
        text_add(t, b, n);
}

static int hex_digit(char c)
{
        return is_digit(c) ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* \xhh, \uhhhh, \Uhhhhhhhh: the digits at `at` */
static int64_t hex_escape(ChatScan *s, Text *t, int64_t at, int count)
{
        uint32_t code = 0;
        for (int i = 0; i < count; i++, at++) {
                if (at >= s->n || hex_digit(s->text[at]) < 0)
                        fail_at(s, at - i - 2, "an escape needs more hexadecimal digits");
                code = code << 4 | (uint32_t)hex_digit(s->text[at]);
        }
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
                fail_at(s, at - count - 2, "this escape is not a character");
        add_code(t, code);
        return at;
}

/* A backslash before a non-ASCII character: Jinja2 reads its code as letters. */
static int64_t odd_escape(ChatScan *s, Text *t, int64_t at)
{
        uint32_t code = 0;
        int n = decode_utf8(s->text + at, (int32_t)(s->n - at), &code);
        text_printf(t, code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
        return at + (n ? n : 1);
}

static int64_t octal_escape(ChatScan *s, Text *t, int64_t at)
{
        uint32_t code = 0;
        for (int i = 0; i < 3 && at < s->n && s->text[at] >= '0' && s->text[at] <= '7'; i++)
                code = code * 8 + (uint32_t)(s->text[at++] - '0');
        add_code(t, code);
        return at;
}

/* The escape at `at`, after its backslash. */
static int64_t scan_escape(ChatScan *s, Text *t, int64_t at)
{
        static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
        char c = s->text[at];
        const char *known = c ? strchr(from, c) : NULL;
        if (known) {
                text_add(t, &to[known - from], 1);
                return at + 1;
        }
        if (c >= '0' && c <= '7')
                return octal_escape(s, t, at);
        if (c == 'x' || c == 'u' || c == 'U')
                return hex_escape(s, t, at + 1, c == 'x' ? 2 : c == 'u' ? 4 : 8);
        if (c == 'N')
                fail_at(s, at - 1, "characters by name (\\N) are not supported");
        if (c == '\n')
                return at + 1;
        if ((unsigned char)c >= 0x80)
                return odd_escape(s, t, at);
        text_add(t, "\\", 1);
        return at;
}

static void scan_text(ChatScan *s)
{
        int64_t begin = s->at;
        char quote = s->text[s->at++];
        Text *t = text_new(s->work->arena);
        while (s->at < s->n && s->text[s->at] != quote) {
                if (s->text[s->at] == '\\' && s->at + 1 < s->n)
                        s->at = scan_escape(s, t, s->at + 1);
                else
                        text_add(t, s->text + s->at++, 1);
        }
        if (s->at >= s->n)
                fail_at(s, begin, "the text has no end");
        s->at++;
        scan_add(s, T_TEXT, begin, s->at)->value = chat_text(t->data, t->n);
}

static const char *const sign_table[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                         "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                         ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

static const char *find_sign(const ChatScan *s)
{
        for (size_t i = 0; i < sizeof sign_table / sizeof sign_table[0]; i++)
                if (looks_at(s, s->at, sign_table[i]))
                        return sign_table[i];
        return NULL;
}

static void balance(ChatScan *s, char sign)
{
        if (strchr("([{", sign)) {
                if (s->nopen == CHAT_NESTING)
                        fail_at(s, s->at, "brackets are nested too deeply: at most 64");
                s->open[s->nopen++] = sign == '(' ? ')' : sign == '[' ? ']' : '}';
        } else if (strchr(")]}", sign)) {
                if (s->nopen == 0 || s->open[--s->nopen] != sign)
                        fail_at(s, s->at, "this bracket closes nothing");
        }
}

static void scan_sign(ChatScan *s)
{
        const char *sign = find_sign(s);
        if (!sign)
                fail_at(s, s->at, "this character means nothing within a tag");
        if (!sign[1])
                balance(s, *sign);
        int64_t end = s->at + (int64_t)strlen(sign);
        scan_add(s, T_SIGN, s->at, end)->name = sign;
        s->at = end;
}

static void scan_name(ChatScan *s)
{
        int64_t end = s->at;
        while (end < s->n && (is_name_char(s->text[end])))
                end++;
        scan_add(s, T_NAME, s->at, end)->name = intern(s->work->names, s->text + s->at, (int)(end - s->at));
        s->at = end;
}

/* A whole tag; s->at is after its start. */
static void scan_tag(ChatScan *s, int64_t begin, const char *end, TokenKind end_kind)
{
        s->nopen = 0;
        while (s->at < s->n) {
                int64_t behind = s->nopen ? -1 : tag_end(s, end);
                char c = s->text[s->at];
                if (behind >= 0) {
                        scan_add(s, end_kind, s->at, behind);
                        s->at = behind;
                        return;
                }
                int64_t white = chat_white_at(s->text, s->n, s->at);
                if (white)
                        s->at += white;
                else if (is_digit(c))
                        scan_number(s);
                else if (is_name_start(c))
                        scan_name(s);
                else if (c == '\'' || c == '"')
                        scan_text(s);
                else
                        scan_sign(s);
        }
        fail_at(s, begin,
                *end == '%' ? "the tag has no end: expected %}" : "the tag has no end: expected }}");
}

/* {% raw %}: the offset after it, or -1 */
static int64_t after_raw(const ChatScan *s, int64_t at, const char *word, char *end_sign)
{
        at = after_white(s, at + 2 + (sign_at(s, at + 2) != 0));
        if (!looks_at(s, at, word))
                return -1;
        at = after_white(s, at + (int64_t)strlen(word));
        *end_sign = sign_at(s, at);
        at += *end_sign != 0;
        return looks_at(s, at, "%}") ? at + 2 : -1;
}

/* The text of {% raw %} … {% endraw %}; s->at is behind the first. */
static void scan_raw(ChatScan *s, int64_t begin)
{
        int64_t from = s->at;
        for (int64_t at = from; at < s->n; at++) {
                char end_sign = 0;
                int64_t behind = looks_at(s, at, "{%") ? after_raw(s, at, "endraw", &end_sign) : -1;
                if (behind < 0)
                        continue;
                scan_data(s, from, at, sign_at(s, at + 2), true);
                s->at = after_end(s, behind, end_sign);
                return;
        }
        fail_at(s, begin, "raw has no end: expected {% endraw %}");
}

static void scan_from_tag(ChatScan *s, int64_t data, int64_t begin)
{
        char kind = s->text[begin + 1], sign = sign_at(s, begin + 2), end_sign = 0;
        scan_data(s, data, begin, sign, kind != '{');
        int64_t raw = kind == '%' ? after_raw(s, begin, "raw", &end_sign) : -1;
        s->at = begin + 2 + (sign != 0);
        if (raw >= 0 && end_sign != '+') {
                s->at = end_sign == '-' ? after_white(s, raw) : raw;
                scan_raw(s, begin);
        } else if (kind == '#')
                scan_comment(s, s->at);
        else {
                scan_add(s, kind == '{' ? T_PRINT_BEGIN : T_BLOCK_BEGIN, begin, s->at);
                scan_tag(s, begin, kind == '{' ? "}}" : "%}", kind == '{' ? T_PRINT_END : T_BLOCK_END);
        }
}

const ChatToken *chat_scan(ChatWork *w)
{
        ChatScan s = {.work = w, .text = w->source->text, .n = w->source->length};
        while (s.at < s.n) {
                int64_t begin = s.at;
                while (begin < s.n && !(s.text[begin] == '{' && begin + 1 < s.n &&
                                        strchr("{%#", s.text[begin + 1]) && s.text[begin + 1]))
                        begin++;
                if (begin < s.n) {
                        scan_from_tag(&s, s.at, begin);
                        continue;
                }
                scan_data(&s, s.at, s.n, '+', false);
                s.at = s.n;
        }
        scan_add(&s, T_END, s.n, s.n);
        return s.token;
}
