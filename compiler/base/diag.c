/* Diagnostics: sources, spans, and errors in the format of gcc and clang. See base.h.
 *
 * A source line is printed as on a terminal: tabs to columns of 8, UTF-8 by display width, unprintable
 * bytes as <1b>. Of a line wider than the window only the part around the span is printed, with … at the
 * cuts. */
#include "base.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_LIMIT = 20, TAB = 8, WINDOW = 110, CONTEXT = 30, LONGEST_NAME = 64 };

typedef enum Severity { ERROR, NOTE } Severity;

struct DiagMessage {
        DiagMessage *next;
        Severity severity;
        Span span, origin;
        const char *text;
};

/* --- sources ------------------------------------------------------------------------------------------- */

Source *source_new(Arena *arena, const char *path, const char *text, int32_t length)
{
        int32_t lines = 1;
        for (int32_t i = 0; i < length; i++)
                lines += text[i] == '\n';
        int32_t *line = NEW_ARRAY(arena, int32_t, lines);
        for (int32_t i = 0, n = 1; i < length; i++)
                if (text[i] == '\n')
                        line[n++] = i + 1;
        Source *source = NEW(arena, Source);
        *source = (Source){arena_strdup(arena, path), text, length, lines, line, 0, false};
        return source;
}

static int source_line(const Source *source, int32_t offset)
{
        int low = 0, high = source->nline;
        while (high - low > 1) {
                int middle = low + (high - low) / 2;
                if (source->line[middle] <= offset)
                        low = middle;
                else
                        high = middle;
        }
        return source->before + low + 1;
}

const char *source_line_text(const Source *source, int line, int32_t *length)
{
        line -= source->before;
        int32_t begin = source->line[line - 1];
        int32_t end = line < source->nline ? source->line[line] - 1 : source->length;
        if (end > begin && source->text[end - 1] == '\r')
                end--;
        *length = end - begin;
        return source->text + begin;
}

/* Start of the line that contains a byte. */
static int32_t line_start(const Source *source, int32_t offset)
{
        return source->line[source_line(source, offset) - source->before - 1];
}

static int source_column(const Source *source, int32_t offset)
{
        int column = 1;
        for (int32_t i = line_start(source, offset); i < offset; i++)
                column += ((unsigned char)source->text[i] & 0xc0) != 0x80;
        return column;
}

Span span_join(Span a, Span b)
{
        if (!a.source)
                return b;
        if (!b.source)
                return a;
        return (Span){a.source, a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

int span_line(Span span)
{
        return span.source ? source_line(span.source, span.begin) : 0;
}

/* --- collecting ---------------------------------------------------------------------------------------- */

static void diag_keep(Diag *diag, Severity severity, Span span, Span origin, const char *format, va_list args)
{
        DiagMessage *message = NEW(diag->arena, DiagMessage);
        *message = (DiagMessage){NULL, severity, span, origin, arena_vprintf(diag->arena, format, args)};
        if (diag->last)
                diag->last->next = message;
        else
                diag->first = message;
        diag->last = message;
}

static bool same_span(Span a, Span b)
{
        return a.source == b.source && a.begin == b.begin && a.end == b.end;
}

static bool is_duplicate(const Diag *diag, Span span, Span origin)
{
        if (!span.source)
                return false;
        for (const DiagMessage *m = diag->first; m; m = m->next)
                if (m->severity == ERROR && same_span(m->span, span) && same_span(m->origin, origin))
                        return true;
        return false;
}

__attribute__((format(printf, 4, 0))) static void diag_verror(Diag *diag, Span span, Span origin,
                                                              const char *format, va_list args)
{
        if (!diag)
                return;
        diag->dropped = is_duplicate(diag, span, origin);
        if (diag->dropped)
                return;
        if (diag->count >= (diag->limit ? diag->limit : DEFAULT_LIMIT)) {
                diag->full = diag->dropped = true;
                return;
        }
        diag->count++;
        diag_keep(diag, ERROR, span, origin, format, args);
}

void diag_error(Diag *diag, Span span, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        diag_verror(diag, span, span, format, args);
        va_end(args);
}

void diag_error_from(Diag *diag, Span span, Span origin, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        diag_verror(diag, span, origin, format, args);
        va_end(args);
}

void diag_note(Diag *diag, Span span, const char *format, ...)
{
        if (!diag || diag->dropped)
                return;
        va_list args;
        va_start(args, format);
        diag_keep(diag, NOTE, span, span, format, args);
        va_end(args);
}

void diag_hint(Diag *diag, const char *format, ...)
{
        if (!diag || diag->dropped)
                return;
        va_list args;
        va_start(args, format);
        diag_keep(diag, NOTE, (Span){0}, (Span){0}, format, args);
        va_end(args);
}

void diag_clear(Diag *diag)
{
        *diag = (Diag){.arena = diag->arena, .limit = diag->limit};
}

/* --- showing a line ------------------------------------------------------------------------------------ */

/* The display of one character of a line. */
typedef struct Glyph {
        int bytes; /* bytes in the line */
        int width; /* columns */
        char shown[16];
} Glyph;

/* Columns of a character: 0 for combining marks, 2 for wide East Asian characters and pictographs. */
static int display_width(uint32_t code)
{
        if ((code >= 0x300 && code < 0x370) || code == 0x200d || (code >= 0xfe00 && code < 0xfe10))
                return 0;
        bool wide = (code >= 0x1100 && code < 0x1160) || (code >= 0x2e80 && code < 0xa4d0) ||
                    (code >= 0xac00 && code < 0xd7a4) || (code >= 0xf900 && code < 0xfb00) ||
                    (code >= 0xfe30 && code < 0xfe70) || (code >= 0xff00 && code < 0xff61) ||
                    (code >= 0x1f300 && code < 0x1f650) || (code >= 0x20000 && code < 0x40000);
        return wide ? 2 : 1;
}

static Glyph glyph_at(const char *text, int32_t length, int column)
{
        Glyph glyph = {1, 0, ""};
        uint32_t code = 0;
        int bytes = decode_utf8(text, length, &code);
        if (*text == '\t') {
                glyph.width = TAB - column % TAB;
                memset(glyph.shown, ' ', (size_t)glyph.width);
        } else if (bytes == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0)) {
                glyph.width =
                        snprintf(glyph.shown, sizeof glyph.shown, "<%02x>", (unsigned)(unsigned char)*text);
        } else {
                glyph.bytes = bytes;
                glyph.width = display_width(code);
                memcpy(glyph.shown, text, (size_t)bytes);
        }
        return glyph;
}

/* The display column of a byte of a line; of the line's end if at == length. */
static int display_column(const char *text, int32_t length, int32_t at)
{
        int column = 0;
        for (int32_t i = 0; i < at && i < length;) {
                Glyph glyph = glyph_at(text + i, length - i, column);
                column += glyph.width;
                i += glyph.bytes;
        }
        return column;
}

/* The visible columns of a line: left … right - 1. */
typedef struct Window {
        int left, right;
} Window;

static Window window_around(int begin, int end, int line_width)
{
        if (line_width <= WINDOW)
                return (Window){0, line_width};
        int left = end + CONTEXT <= WINDOW ? 0 : begin - CONTEXT;
        if (left > line_width - WINDOW)
                left = line_width - WINDOW;
        if (left < 0)
                left = 0;
        return (Window){left, left + WINDOW};
}

static void print_window(FILE *stream, const char *text, int32_t length, Window window, int line_width)
{
        if (window.left > 0)
                fputs("…", stream);
        int column = 0;
        for (int32_t i = 0; i < length;) {
                Glyph glyph = glyph_at(text + i, length - i, column);
                bool shown = column >= window.left && column + glyph.width <= window.right;
                bool cut = !shown && column < window.right && column + glyph.width > window.left;
                if (shown)
                        fputs(glyph.shown, stream);
                else if (cut)
                        putc(' ', stream);
                column += glyph.width;
                i += glyph.bytes;
        }
        fputs(window.right < line_width ? "…\n" : "\n", stream);
}

static void print_excerpt(FILE *stream, Span span, const char *colour, const char *plain)
{
        const Source *source = span.source;
        int32_t length, start = line_start(source, span.begin);
        const char *text = source_line_text(source, source_line(source, span.begin), &length);
        int width = display_column(text, length, length);
        int begin = display_column(text, length, span.begin - start);
        int end = display_column(text, length, span.end - start);
        if (end <= begin)
                end = begin + 1;
        Window window = window_around(begin, end, width);
        print_window(stream, text, length, window, width);
        fprintf(stream, "%*s", begin - window.left + (window.left > 0), "");
        terminal_control(stream, colour);
        putc('^', stream);
        for (int column = begin + 1; column < end && column < window.right; column++)
                putc('~', stream);
        terminal_control(stream, plain);
        putc('\n', stream);
}

static void print_message(FILE *stream, const DiagMessage *message, bool in_colour)
{
        const char *bold = in_colour ? "\033[1m" : "", *plain = in_colour ? "\033[0m" : "";
        const char *mark = !in_colour ? "" : message->severity == ERROR ? "\033[1;31m" : "\033[1;36m";
        const char *caret = in_colour ? "\033[1;32m" : "";
        Span span = message->span;
        terminal_control(stream, bold);
        if (span.source) {
                int line = span_line(span);
                fprintf(stream, "%s:%d:%d: ", span.source->path, line,
                        source_column(span.source, span.begin));
        } else if (message->severity == ERROR) {
                fputs("lathe: ", stream);
        }
        terminal_control(stream, mark);
        fprintf(stream, "%s: ", message->severity == ERROR ? "error" : "note");
        terminal_control(stream, plain);
        terminal_control(stream, message->severity == ERROR ? bold : "");
        fputs(message->text, stream);
        terminal_control(stream, plain);
        putc('\n', stream);
        if (span.source)
                print_excerpt(stream, span, caret, plain);
}

void diag_print(const Diag *diag, FILE *stream)
{
        bool in_colour = terminal_file(stream) >= 0 && !getenv("NO_COLOR");
        for (const DiagMessage *m = diag->first; m; m = m->next)
                print_message(stream, m, in_colour);
        if (diag->full)
                fprintf(stream, "lathe: too many errors: stopped after %d\n", diag->count);
}

/* --- the nearest name ---------------------------------------------------------------------------------- */

static int least(int a, int b)
{
        return a < b ? a : b;
}

/* Optimal string alignment (Damerau 1964 without edits inside a swap), with three rows of the table. */
static int edit_distance(const char *a, int m, const char *b, int n)
{
        int row[3][LONGEST_NAME + 1];
        for (int j = 0; j <= n; j++)
                row[0][j] = j;
        for (int i = 1; i <= m; i++) {
                int *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
                now[0] = i;
                for (int j = 1; j <= n; j++) {
                        now[j] = least(least(up[j], now[j - 1]) + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
                        bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                        if (swapped)
                                now[j] = least(now[j], up2[j - 2] + 1);
                }
        }
        return row[m % 3][n];
}

const char *nearest_name(const char *name, const char *const *candidate, int n)
{
        size_t length = strlen(name);
        if (length > LONGEST_NAME)
                return NULL;
        const char *nearest = NULL;
        int nearest_distance = 0;
        for (int i = 0; i < n; i++) {
                size_t other = strlen(candidate[i]);
                if (other > LONGEST_NAME)
                        continue;
                int longer = (int)(other > length ? other : length);
                int allowed = longer < 3 ? 0 : longer < 6 ? 1 : longer / 3;
                int distance = edit_distance(name, (int)length, candidate[i], (int)other);
                if (distance > allowed || (nearest && distance > nearest_distance))
                        continue;
                /* of equal ones the first by name: the order of candidates may depend on addresses */
                if (nearest && distance == nearest_distance && strcmp(candidate[i], nearest) > 0)
                        continue;
                nearest = candidate[i];
                nearest_distance = distance;
        }
        return nearest;
}
