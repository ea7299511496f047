/* Growing text. */
#include "text.h"

#include <math.h>
#include <stdarg.h>
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
