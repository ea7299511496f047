/* Editing, history and completion by libedit, with the settings of .editrc. See base.h. */
#include "base.h"

#include <errno.h>
#include <histedit.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <unistd.h>
#include <wchar.h>

enum { HISTORY_INPUTS = 2000 };

struct LineEditor {
        CompleteWord *complete; /* or NULL */
        void *of;               /* its first argument */
        EditLine *el;
        History *history;
        char *history_path; /* or NULL */
        const char *prompt;
        char *text; /* as returned by the editor: an input from the history may have several lines */
        size_t length, capacity, at; /* of `text`; at: start of the next line */
        sigset_t outside;            /* signals that are blocked outside of el_gets() */
};

static char *prompt_shown(EditLine *el)
{
        LineEditor *e;
        el_get(el, EL_CLIENTDATA, &e);
        return (char *)e->prompt;
}

/* --- completing ------------------------------------------------------------------------------------------------------ */

static size_t common_length(const Completions *c)
{
        size_t n = strlen(c->word[0]);
        for (int i = 1; i < c->n; i++)
                for (size_t k = 0; k < n; k++)
                        if (c->word[i][k] != c->word[0][k])
                                n = k;
        return n;
}

static void list_words(const Completions *c)
{
        struct winsize size;
        int columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col, width = 1;
        for (int i = 0; i < c->n; i++)
                width = (int)strlen(c->word[i]) + 2 > width ? (int)strlen(c->word[i]) + 2 : width;
        int each = columns / width > 0 ? columns / width : 1;
        for (int i = 0; i < c->n; i++)
                printf("%s%-*s", i % each ? "" : "\n", width, c->word[i]);
        printf("\n");
        fflush(stdout);
}

/* Adds the common prefix of all matches; if it is empty, lists them. */
static unsigned char edit_complete(EditLine *el, int key)
{
        LineEditor *e;
        (void)key;
        el_get(el, EL_CLIENTDATA, &e);
        const LineInfo *info = el_line(el);
        Arena arena = {0};
        char *line = arena_strndup(&arena, info->buffer, info->lastchar - info->buffer);
        Completions c = e->complete(e->of, &arena, line, (size_t)(info->cursor - info->buffer));
        unsigned char result = CC_ERROR;
        size_t n = c.n ? common_length(&c) : 0;
        if (c.n == 1 || n > c.length) {
                bool is_whole = c.n == 1 && c.in_command && n > 0 && c.word[0][n - 1] != '/';
                const char *rest = arena_printf(&arena, "%.*s%s", (int)(n - c.length), c.word[0] + c.length,
                                                is_whole ? " " : "");
                result = el_insertstr(el, rest) ? CC_ERROR : CC_REFRESH;
        } else if (c.n > 1) {
                list_words(&c);
                result = CC_REDISPLAY;
        }
        arena_free(&arena);
        return result;
}

/* --- keys ----------------------------------------------------------------------------------------------------------- */

/* Signals are delivered only while waiting for a key: an interrupted write would lose output. */
static void hold_signals(LineEditor *e)
{
        static const int held[] = {SIGINT, SIGWINCH, SIGTSTP, SIGCONT};
        sigset_t set;
        sigemptyset(&set);
        for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
                sigaddset(&set, held[i]);
        pthread_sigmask(SIG_BLOCK, &set, &e->outside);
}

/* Waits for input; redraws after a change of the window's size. */
static bool wait_for_key(LineEditor *e)
{
        static const struct timespec now;
        fd_set input;
        for (;;) {
                FD_ZERO(&input);
                FD_SET(STDIN_FILENO, &input);
                if (pselect(STDIN_FILENO + 1, &input, NULL, NULL, NULL, &e->outside) > 0)
                        return true;
                while (errno == EINTR) { /* libedit passes a signal on: until none is pending */
                        errno = 0;
                        pselect(0, NULL, NULL, NULL, &now, &e->outside);
                }
                if (errno || atomic_load(&interrupted))
                        return false;
                el_set(e->el, EL_REFRESH);
        }
}

/* Reads the next character in the terminal's encoding, and skips invalid bytes: 1, 0 at the end, -1 for an
 * error or an interrupt. */
static int read_key(EditLine *el, wchar_t *key)
{
        LineEditor *e;
        mbstate_t state = {0};
        el_get(el, EL_CLIENTDATA, &e);
        while (wait_for_key(e)) {
                char byte;
                ssize_t n = read(STDIN_FILENO, &byte, 1);
                if (n <= 0)
                        return (int)n;
                size_t used = mbrtowc(key, &byte, 1, &state);
                if (used <= 1)
                        return 1;
                if (used == (size_t)-1)
                        memset(&state, 0, sizeof state);
        }
        return -1;
}

/* --- the editor -------------------------------------------------------------------------------------------------------- */

static char *history_file(const char *variable, const char *name)
{
        const char *given = getenv(variable), *home = getenv("HOME");
        if (given)
                return *given ? strdup(given) : NULL;
        size_t n = home ? strlen(home) + strlen(name) + 2 : 0;
        char *path = n ? malloc(n) : NULL;
        if (path)
                snprintf(path, n, "%s/%s", home, name);
        return path;
}

LineEditor *editor_new(const char *variable, const char *name, CompleteWord *complete, void *of)
{
        LineEditor *e = calloc(1, sizeof *e);
        if (!e)
                return NULL;
        e->complete = complete;
        e->of = of;
        e->el = el_init("lathe", stdin, terminal_under(stdout), terminal_under(stderr));
        e->history = history_init();
        if (!e->el || !e->history) {
                editor_free(e);
                return NULL;
        }
        HistEvent event;
        e->history_path = history_file(variable, name);
        history(e->history, &event, H_SETSIZE, HISTORY_INPUTS);
        history(e->history, &event, H_SETUNIQUE, 1);
        if (e->history_path)
                history(e->history, &event, H_LOAD, e->history_path);
        el_set(e->el, EL_CLIENTDATA, e);
        el_set(e->el, EL_PROMPT, prompt_shown);
        el_set(e->el, EL_EDITOR, "emacs");
        el_set(e->el, EL_HIST, history, e->history);
        el_set(e->el, EL_SIGNAL, 1);
        el_set(e->el, EL_GETCFN, read_key);
        if (complete) {
                el_set(e->el, EL_ADDFN, "lathe-complete", "complete a name", edit_complete);
                el_set(e->el, EL_BIND, "^I", "lathe-complete", NULL);
        }
        el_set(e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
        el_source(e->el, NULL);
        return e;
}

void editor_free(LineEditor *e)
{
        if (!e)
                return;
        if (e->el)
                el_end(e->el);
        if (e->history)
                history_end(e->history);
        free(e->history_path);
        free(e->text);
        free(e);
}

static bool is_blank(const char *text, size_t n)
{
        return strspn(text, " \t\n") >= n;
}

/* Writes a new file first, since the terminal may be closed at any time. */
static void save_history(LineEditor *e)
{
        HistEvent event;
        size_t n = strlen(e->history_path) + 32;
        char *path = malloc(n);
        if (!path)
                return;
        snprintf(path, n, "%s.%ld", e->history_path, (long)getpid());
        int entry = ending_file(path);
        if (history(e->history, &event, H_SAVE, path) < 0 || rename(path, e->history_path))
                unlink(path);
        ending_forget(entry);
        free(path);
}

void editor_remember(LineEditor *e, const char *input, size_t length)
{
        HistEvent event;
        char *entry = is_blank(input, length) ? NULL : strndup(input, length);
        if (!entry)
                return;
        history(e->history, &event, H_ENTER, entry);
        free(entry);
        if (e->history_path)
                save_history(e);
}

/* Reads up to the end of the line; false: interrupted, or the end. */
static bool edit_read_text(LineEditor *e)
{
        int n = 0;
        /* before the prompt, since keys typed immediately would miss the editor */
        el_set(e->el, EL_PREP_TERM, 1);
        hold_signals(e);
        const char *text = el_gets(e->el, &n);
        pthread_sigmask(SIG_SETMASK, &e->outside, NULL);
        if (!text || n <= 0) {
                if (interrupted)
                        el_reset(e->el);
                return false;
        }
        size_t used = (size_t)n - (text[n - 1] == '\n');
        if (used + 1 > e->capacity) {
                char *larger = realloc(e->text, 2 * used + 256);
                if (!larger)
                        return false;
                e->text = larger;
                e->capacity = 2 * used + 256;
        }
        memcpy(e->text, text, used);
        e->text[used] = 0;
        e->length = used;
        e->at = 0;
        return true;
}

bool editor_line(LineEditor *e, const char *prompt, const char **line, size_t *length)
{
        e->prompt = prompt;
        if (e->at >= e->length && !edit_read_text(e))
                return e->at = e->length = 0, false;
        *line = e->text + e->at;
        *length = strcspn(*line, "\n");
        e->text[e->at + *length] = 0;
        e->at += *length + 1;
        return true;
}
