/* Growing text. */
#include "base.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

Text *text_new(Arena *a)
{
        Text *t = NEW(a, Text);
        t->arena = a;
        t->cap = 256;
        t->data = arena_alloc(a, t->cap);
        return t;
}

const char *in_units(Arena *a, double value, const char *unit)
{
        static const char *const prefix[] = {"", "k", "M", "G", "T", "P", "E"};
        int step = 0;
        for (; value >= 999.5 && step < 6; step++)
                value /= 1000;
        return arena_printf(a, "%.*f %s%s",
                            step == 0       ? 0
                            : value < 9.995 ? 2
                            : value < 99.95 ? 1
                                            : 0,
                            value, prefix[step], unit);
}

const char *in_seconds(Arena *a, double value)
{
        static const char *const prefix[] = {"", "m", "u", "n"};
        int step = 0;
        for (; value > 0 && value < 0.9995 && step < 3; step++)
                value *= 1000;
        return arena_printf(a, "%.*f %ss", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, prefix[step]);
}

void text_add(Text *t, const char *bytes, int64_t n)
{
        if (t->n + n + 1 > t->cap) {
                int64_t cap = 2 * t->cap > t->n + n + 1 ? 2 * t->cap : t->n + n + 1;
                t->data = arena_grow(t->arena, t->data, t->n + 1, cap);
                t->cap = cap;
        }
        memcpy(t->data + t->n, bytes, (size_t)n);
        t->n += n;
        t->data[t->n] = 0;
}

void text_put(Text *t, const char *text)
{
        text_add(t, text, (int64_t)strlen(text));
}

void text_printf(Text *t, const char *format, ...)
{
        char small[512];
        va_list args, again;
        va_start(args, format);
        va_copy(again, args);
        int n = vsnprintf(small, sizeof small, format, args);
        va_end(args);
        if (n < (int)sizeof small)
                text_add(t, small, n);
        else {
                char *large = arena_vprintf(t->arena, format, again);
                text_add(t, large, (int64_t)strlen(large));
        }
        va_end(again);
}

void text_indent(Text *t, const Text *from, int levels)
{
        for (const char *line = from->data; *line;) {
                const char *end = strchr(line, '\n');
                int64_t n = end ? end - line + 1 : (int64_t)strlen(line);
                for (int i = 0; n > 1 && i < levels; i++)
                        text_add(t, "        ", 8);
                text_add(t, line, n);
                line += n;
        }
}

const char *float_literal(Arena *a, float x)
{
        if (isnan(x))
                return "FLOAT_NAN";
        if (isinf(x))
                return x > 0 ? "FLOAT_INF" : "FLOAT_MINUS_INF";
        if (x == (float)(int)x && x > -1e6f && x < 1e6f && (x != 0 || !signbit(x)))
                return arena_printf(a, "%d.0f", (int)x);
        return arena_printf(a, "%af", (double)x);
}

/* Adds a byte as within quotes; returns the number of bytes read. */
static int escaped(char *out, char c)
{
        if (c == '\n' || c == '\t')
                return sprintf(out, "\\%c", c == '\n' ? 'n' : 't');
        if ((unsigned char)c < 0x20 || c == 0x7f)
                return sprintf(out, "\\u%04x", (unsigned)c);
        return sprintf(out, c == '"' || c == '\\' ? "\\%c" : "%c", c);
}

const char *quoted_text(Arena *a, const char *text)
{
        Text *t = text_new(a);
        char bytes[8];
        text_add(t, "\"", 1);
        for (; *text; text++)
                text_add(t, bytes, escaped(bytes, *text));
        text_add(t, "\"", 1);
        return t->data;
}

void print_text(FILE *f, const char *text)
{
        char bytes[8];
        fputc('"', f);
        for (; *text; text++)
                fwrite(bytes, 1, (size_t)escaped(bytes, *text), f);
        fputc('"', f);
}

int decode_utf8(const char *text, int32_t length, uint32_t *code)
{
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        unsigned char first = (unsigned char)text[0];
        int bytes = first < 0x80             ? 1
                    : (first & 0xe0) == 0xc0 ? 2
                    : (first & 0xf0) == 0xe0 ? 3
                    : (first & 0xf8) == 0xf0 ? 4
                                             : 0;
        if (bytes == 0 || bytes > length)
                return 0;
        *code = bytes == 1 ? first : first & (0x7fu >> bytes);
        for (int i = 1; i < bytes; i++) {
                if (((unsigned char)text[i] & 0xc0) != 0x80)
                        return 0;
                *code = *code << 6 | ((unsigned char)text[i] & 0x3f);
        }
        bool surrogate = *code >= 0xd800 && *code < 0xe000;
        return *code < least[bytes] || *code > 0x10ffff || surrogate ? 0 : bytes;
}

const char *c_string(Arena *a, const char *text)
{
        Text *t = text_new(a);
        text_printf(t, "\"");
        for (; *text; text++) {
                unsigned char c = (unsigned char)*text;
                if (c == '\n')
                        text_printf(t, "\\n");
                else if (c < ' ' || c >= 127 || (c == '?' && text[1] == '?')) /* no trigraphs */
                        text_printf(t, "\\%03o", c);
                else
                        text_printf(t, c == '"' || c == '\\' ? "\\%c" : "%c", c);
        }
        text_printf(t, "\"");
        return t->data;
}

static bool turns_direction(uint32_t code)
{
        return code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
               (code >= 0x2066 && code <= 0x2069);
}

const char *comment_text(Arena *a, const char *text, int64_t n)
{
        Text *t = text_new(a);
        for (int64_t i = 0; i < n;) {
                uint32_t code = 0;
                const int length = decode_utf8(text + i, (int32_t)(n - i), &code);
                if (code == '\t' || code == '\r')
                        text_put(t, " ");
                else if (!length || code < ' ' || code == 0x7f || turns_direction(code))
                        text_put(t, "?");
                else
                        text_add(t, text + i, length);
                i += length ? length : 1;
                if (i < n &&
                    ((text[i - 1] == '*' && text[i] == '/') || (text[i - 1] == '/' && text[i] == '*')))
                        text_put(t, " ");
        }
        return t->data;
}
