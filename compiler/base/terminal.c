/* Standard output and standard error on a terminal: control characters are shown, by runtime/terminal.h.
 *
 * The streams themselves are replaced, so that all that is printed passes here: by lathe, and by libraries that print through stdio. */
#define _GNU_SOURCE /* fopencookie */
#include "base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../runtime/terminal.h"

typedef struct {
        int file;
        FILE *under;   /* the stream that was there; NULL: nothing is guarded */
        FILE **stream; /* stdout or stderr */
        TerminalText text;
} TerminalGuard;

static TerminalGuard guards[2];

static bool guard_put(int file, const char *bytes, size_t n)
{
        while (n > 0) {
                const ssize_t put = write(file, bytes, n);
                if (put < 0 && errno != EINTR)
                        return false;
                bytes += put > 0 ? put : 0;
                n -= put > 0 ? (size_t)put : 0;
        }
        return true;
}

/* For fopencookie(): 0 is an error.  A process that was forked may have put a file in the terminal's place. */
static ssize_t guard_write(void *cookie, const char *bytes, size_t n)
{
        enum { PART = 1024 };
        char out[TERMINAL_GROWTH * (PART + 3)];
        TerminalGuard *g = cookie;
        if (!isatty(g->file))
                return guard_put(g->file, bytes, n) ? (ssize_t)n : 0;
        for (size_t at = 0, part; at < n; at += part) {
                part = n - at < PART ? n - at : PART;
                if (!guard_put(g->file, out, terminal_text(&g->text, bytes + at, part, out)))
                        return 0;
        }
        return (ssize_t)n;
}

void terminal_say(const char *text)
{
        TerminalText of = {{0}, 0};
        char out[TERMINAL_GROWTH * 4];
        if (!isatty(STDERR_FILENO)) {
                guard_put(STDERR_FILENO, text, strlen(text));
                return;
        }
        for (; *text; text++)
                guard_put(STDERR_FILENO, out, terminal_text(&of, text, 1, out));
        guard_put(STDERR_FILENO, out, terminal_settle(&of, 1, out));
}

/* A text that ends within a character: its bytes are shown all the same. */
static void guard_end(void)
{
        char out[4 * TERMINAL_GROWTH];
        for (int i = 0; i < 2; i++)
                if (guards[i].under) {
                        fflush(*guards[i].stream);
                        guard_put(guards[i].file, out, terminal_settle(&guards[i].text, 1, out));
                }
}

static void guard_stream(TerminalGuard *g, int file, FILE **stream, int mode)
{
        if (!isatty(file))
                return;
        FILE *guarded = fopencookie(g, "w", (cookie_io_functions_t){.write = guard_write});
        if (!guarded) {
                fprintf(stderr, "lathe: out of memory\n");
                exit(WRONG_ENVIRONMENT);
        }
        setvbuf(guarded, NULL, mode, BUFSIZ);
        *g = (TerminalGuard){.file = file, .under = *stream, .stream = stream};
        *stream = guarded;
}

void guard_terminals(void)
{
        guard_stream(&guards[0], STDOUT_FILENO, &stdout, _IOLBF);
        guard_stream(&guards[1], STDERR_FILENO, &stderr, _IONBF);
        if (guards[0].under || guards[1].under)
                atexit(guard_end);
}

static const TerminalGuard *guard_of(FILE *f)
{
        for (int i = 0; i < 2; i++)
                if (guards[i].under && *guards[i].stream == f)
                        return &guards[i];
        return NULL;
}

int terminal_file(FILE *f)
{
        const TerminalGuard *g = guard_of(f);
        const int file = g ? g->file : fileno(f);
        return isatty(file) ? file : -1;
}

void terminal_control(FILE *f, const char *sequence)
{
        const TerminalGuard *g = guard_of(f);
        if (!*sequence)
                return;
        fflush(f);
        if (g)
                guard_put(g->file, sequence, strlen(sequence));
        else
                fputs(sequence, f);
}

FILE *terminal_under(FILE *f)
{
        const TerminalGuard *g = guard_of(f);
        return g ? g->under : f;
}
