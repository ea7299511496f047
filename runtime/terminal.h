/*
 * Text on a terminal.  Control characters could rename the window, write to the clipboard or hide text, and models, labels and file
 * names may contain them: all but newline and tab are printed as escapes, such as \x1b.  Files and pipes get the unchanged bytes.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* State of a UTF-8 text that is printed in parts; initially zeros. */
typedef struct {
        unsigned char held[4]; /* the beginning of an incomplete character */
        int n;
} TerminalText;

enum { TERMINAL_GROWTH = 4 }; /* maximum number of printed bytes for one byte */

/* Bytes of the character that begins with b [n], n > 0, which may be more than n; 0: it is not UTF-8. */
static inline int terminal_character(const unsigned char *b, int n)
{
        const int size = b[0] < 0x80 ? 1 : b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : b[0] < 0xf5 ? 4 : 0;
        for (int i = 1; i < n && i < size; i++) {
                const int low = i > 1 ? 0x80 : b[0] == 0xe0 ? 0xa0 : b[0] == 0xf0 ? 0x90 : 0x80;
                const int high = i > 1 ? 0xbf : b[0] == 0xed ? 0x9f : b[0] == 0xf4 ? 0x8f : 0xbf;
                if (b[i] < low || b[i] > high)
                        return 0;
        }
        return size;
}

/* Writes a character, or an invalid byte, in a form that is safe for a terminal to out [TERMINAL_GROWTH]; returns its bytes. */
static inline size_t terminal_shown(const unsigned char *b, int n, char *out)
{
        static const char digit[] = "0123456789abcdef";
        const unsigned code = n == 2 && b[0] == 0xc2 ? b[1] : n == 1 ? b[0] : 0xff;
        if ((code >= ' ' && code < 0x7f) || code >= 0xa0 || code == '\n' || code == '\t') {
                memcpy(out, b, (size_t)n);
                return (size_t)n;
        }
        out[0] = '\\';
        out[1] = 'x';
        out[2] = digit[code >> 4];
        out[3] = digit[code & 15];
        return 4;
}

/* Writes the held bytes, except an incomplete character unless `ends`, to out [4 * TERMINAL_GROWTH]; returns the number of bytes. */
static inline size_t terminal_settle(TerminalText *t, int ends, char *out)
{
        size_t shown = 0;
        while (t->n) {
                const int size = terminal_character(t->held, t->n);
                if (size > t->n && !ends)
                        break;
                const int taken = size == t->n ? size : 1;
                shown += terminal_shown(t->held, taken, out + shown);
                t->n -= taken;
                memmove(t->held, t->held + taken, (size_t)t->n);
        }
        return shown;
}

/* Writes the next n bytes of the text in a form that is safe for a terminal to out [TERMINAL_GROWTH * (n + 3)]; returns the number of bytes. */
static inline size_t terminal_text(TerminalText *t, const char *bytes, size_t n, char *out)
{
        size_t shown = 0;
        for (size_t i = 0; i < n; i++) {
                t->held[t->n++] = (unsigned char)bytes[i];
                shown += terminal_settle(t, 0, out + shown);
        }
        return shown;
}

/* The states of standard output and standard error; NULL if they are not terminals. */
static inline TerminalText *terminal_of(FILE *to)
{
        static TerminalText text[2];
        static int known[2], is[2];
        const int i = to == stderr;
        if (!known[i]) {
                const int before = errno; /* of a write that failed, which is reported later */
                known[i] = 1;
                is[i] = isatty(i ? STDERR_FILENO : STDOUT_FILENO);
                errno = before;
        }
        return is[i] ? &text[i] : NULL;
}

/* Writes bytes to standard output or standard error. */
static inline void terminal_write(FILE *to, const char *bytes, size_t n)
{
        enum { PART = 256 };
        char out[TERMINAL_GROWTH * (PART + 3)];
        TerminalText *t = terminal_of(to);
        if (!t)
                fwrite(bytes, 1, n, to);
        for (size_t length; t && n; bytes += length, n -= length) {
                length = n < PART ? n : PART;
                fwrite(out, 1, terminal_text(t, bytes, length, out), to);
        }
}

/* Ends the text: an incomplete character is printed too. */
static inline void terminal_end(FILE *to)
{
        char out[4 * TERMINAL_GROWTH];
        TerminalText *t = terminal_of(to);
        if (t)
                fwrite(out, 1, terminal_settle(t, 1, out), to);
}

#if defined(__GNUC__)
static inline void terminal_print(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
#endif
static inline void terminal_print(FILE *to, const char *format, ...)
{
        char line[512], *text = line;
        va_list list;
        va_start(list, format);
        const int n = vsnprintf(line, sizeof line, format, list);
        va_end(list);
        if (n >= (int)sizeof line && (text = malloc((size_t)n + 1)) != NULL) {
                va_start(list, format);
                vsnprintf(text, (size_t)n + 1, format, list);
                va_end(list);
        }
        if (!text)
                text = line;
        terminal_write(to, text, n < 0 ? 0 : text == line && n >= (int)sizeof line ? sizeof line - 1 : (size_t)n);
        if (text != line)
                free(text);
}
