/* lathe repl: reads lines from a terminal, a script or a pipe, and handles each.
 *
 * On a terminal libedit edits lines, keeps a history and completes; elsewhere only results are printed,
 * and the exit code is that of the lines.  On a terminal Ctrl-C drops the line or stops the current work;
 * the end of input ends the REPL. */
#include "repl_private.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char prompt[] = "lathe> ", more_prompt[] = "  ...> ";

/* Source of lines: a terminal (edit), or a stream. */
typedef struct {
        ReplSession *s;
        LineEditor *edit;
        FILE *stream;
        const char *path; /* for messages */
        const char *from; /* imports are searched in its folder */
        bool echo;        /* also prints lines with their prompts: a transcript */
        int line;         /* lines read so far */
        char *buffer;
        size_t capacity;
        bool failed;
} LineReader;

/* --- interrupts -------------------------------------------------------------------------------------------------- */

static void repl_on_interrupt(int signal_number)
{
        (void)signal_number;
        atomic_store(&interrupted, true);
        runner_interrupt();
}

/* SA_RESTART, so that no output is lost; waiting for a line is interrupted nevertheless (line_editor.c). */
static void catch_interrupts(void)
{
        struct sigaction act = {.sa_handler = repl_on_interrupt, .sa_flags = SA_RESTART};
        sigemptyset(&act.sa_mask);
        sigaction(SIGINT, &act, NULL);
}

/* --- lines ------------------------------------------------------------------------------------------------------- */

typedef enum { LINE, END_OF_INPUT, DROPPED } Got;

/* The next line without its end, valid until the next call. */
static Got repl_read_line(LineReader *r, bool more, const char **line, size_t *length)
{
        if (r->edit) {
                Got got = editor_line(r->edit, more ? more_prompt : prompt, line, length) ? LINE
                          : interrupted                                                   ? DROPPED
                                                                                          : END_OF_INPUT;
                r->line += got == LINE;
                return got;
        }
        errno = 0;
        ssize_t n = getline(&r->buffer, &r->capacity, r->stream);
        if (n < 0 && errno == EINTR)
                return DROPPED;
        if (n < 0 && !feof(r->stream)) {
                fprintf(stderr, "lathe: can't read %s: %s\n", r->path, strerror(errno));
                r->failed = true;
        }
        if (n < 0)
                return END_OF_INPUT;
        if (n > 0 && r->buffer[n - 1] == '\n')
                r->buffer[--n] = 0;
        if (n > 0 && r->buffer[n - 1] == '\r')
                r->buffer[--n] = 0;
        r->line++;
        if (r->echo) {
                fputs(more ? more_prompt : prompt, stdout);
                fwrite(r->buffer, 1, (size_t)n, stdout);
                putchar('\n');
                fflush(stdout);
        }
        *line = r->buffer;
        *length = (size_t)n;
        return LINE;
}

/* --- inputs ------------------------------------------------------------------------------------------------------ */

/* Handles one line of a tree; false after messages. */
static bool see_to(LineReader *r, Unit *u, const Ast *line)
{
        ReplSession *s = r->s;
        Diag diag = {.arena = &u->arena};
        bool good = true;
        switch ((int)line->kind) {
        case AST_IMPORT:
                s->program->diag = &diag;
                good = session_import(s, u, line, r->from, &diag);
                diag_print(&diag, stderr);
                return good;
        case AST_BLOCK:
        case AST_SCHEME:
        case AST_MODEL:
        case AST_CHECKPOINT: good = session_define(s, u, line); break;
        case AST_TEST: return session_define(s, u, line) && evaluate_line(s, u, line);
        default: return evaluate_line(s, u, line);
        }
        if (!good)
                repl_error("%s", no_memory);
        return good;
}

/* Handles an input whose lines are preceded by `before` lines of the source. */
static bool reader_take_input(LineReader *r, const char *text, size_t length, int before)
{
        Unit *u = unit_new();
        if (!u || length > 1 << 24) {
                fprintf(stderr,
                        u ? "lathe: error: an input is at most 16 MB\n" : "lathe: error: out of memory\n");
                unit_drop(u);
                return false;
        }
        Diag diag = {.arena = &u->arena};
        Source *source = source_new(&u->arena, r->path, arena_strndup(&u->arena, text, (int64_t)length),
                                    (int32_t)length);
        source->before = before;
        const Ast *tree = parse_input(&u->arena, &r->s->names, &diag, source);
        diag_print(&diag, stderr);
        bool good = tree && (tree->nkid || !memchr(text, '#', length) || session_comment(r->s, text, length));
        for (int i = 0; good && i < tree->nkid && !interrupted; i++)
                good = see_to(r, u, tree->kid[i]);
        unit_drop(u);
        return good && !interrupted;
}

typedef struct {
        char *text;
        size_t n, capacity;
        int before; /* number of lines before its first */
        LineState state;
} ReplEntry;

static bool entry_add_line(ReplEntry *in, const char *line, size_t n)
{
        if (in->n + n + 2 > in->capacity) {
                size_t capacity = 2 * (in->n + n) + 256;
                char *larger = realloc(in->text, capacity);
                if (!larger)
                        return false;
                in->text = larger;
                in->capacity = capacity;
        }
        memcpy(in->text + in->n, line, n);
        in->n += n;
        in->text[in->n++] = '\n';
        in->text[in->n] = 0;
        return true;
}

static bool is_command(const char *line)
{
        return line[strspn(line, " \t")] == ':';
}

/* Whether the input continues after this line. */
static bool is_open(ReplEntry *in, const char *path, const char *line, size_t n)
{
        Arena a = {0};
        bool open = wants_line(&in->state, source_new(&a, path, line, (int32_t)n));
        arena_free(&a);
        return open;
}

static void repl_remember(const LineReader *r, const char *input, size_t n)
{
        if (r->edit)
                editor_remember(r->edit, input, n);
}

static void finish_input(LineReader *r, ReplEntry *in)
{
        if (in->n)
                repl_remember(r, in->text, in->n - 1);
        atomic_store(&interrupted, false);
        if (in->n && !reader_take_input(r, in->text, in->n, in->before))
                r->failed = true;
        in->n = 0;
        in->state = (LineState){0};
}

enum { MEANT_ROOM = 128 };

/* The command for a word that people type to leave, or to get help, unless a variable has the name. */
static const char *meant(const ReplSession *s, const char *line, char room[MEANT_ROOM])
{
        static const char *const words[][2] = {{"exit", ":quit"}, {"quit", ":quit"},   {"exit()", ":quit"},
                                               {"?", ":help"},    {"quit()", ":quit"}, {"help", ":help"}};
        size_t blanks = strspn(line, " \t"), n = strcspn(line + blanks, " \t");
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
                bool same = strlen(words[i][0]) == n && !strncmp(line + blanks, words[i][0], n) &&
                            !line[blanks + n + strspn(line + blanks + n, " \t")];
                for (int k = 0; same && k < s->variables.n; k++)
                        same = strcmp(s->variables.at[k].name, words[i][0]) != 0;
                if (same)
                        return words[i][1];
        }
        size_t name = line[blanks] == '?' ? strcspn(line + blanks + 1, " \t?") : 0;
        if (name > 0 && name < MEANT_ROOM - 7 && !line[blanks + 1 + name]) {
                snprintf(room, MEANT_ROOM, ":help %.*s", (int)name, line + blanks + 1);
                return room;
        }
        return line;
}

static void take_line(LineReader *r, ReplEntry *in, const char *line, size_t n)
{
        char room[MEANT_ROOM];
        const char *command = in->n ? line : meant(r->s, line, room);
        if (is_command(command)) {
                finish_input(r, in); /* an incomplete input is an error */
                repl_remember(r, line, n);
                atomic_store(&interrupted, false);
                r->failed |= !take_command(r->s, command);
                return;
        }
        if (!in->n)
                in->before = r->line - 1;
        bool kept = n <= 1 << 24 && entry_add_line(in, line, n);
        if (!kept) {
                fprintf(stderr, n <= 1 << 24 ? "lathe: error: out of memory\n"
                                             : "lathe: error: an input is at most 16 MB\n");
                r->failed = true;
                in->n = 0;
        }
        if (!kept || !is_open(in, r->path, line, n))
                finish_input(r, in);
}

/* To the end of input or `:quit`. */
static void repl_read_all(LineReader *r)
{
        ReplEntry in = {0};
        const char *line;
        size_t n;
        while (!r->s->has_quit) {
                atomic_store(&interrupted, false);
                Got got = repl_read_line(r, in.n > 0, &line, &n);
                if (got == END_OF_INPUT)
                        break;
                if (got == DROPPED) {
                        in.n = 0;
                        in.state = (LineState){0};
                        if (r->edit)
                                putchar('\n');
                        continue;
                }
                take_line(r, &in, line, n);
                fflush(stdout);
        }
        finish_input(r, &in);
        if (r->edit && !r->s->has_quit)
                putchar('\n');
        free(in.text);
        free(r->buffer);
}

/* --- the command ------------------------------------------------------------------------------------------------- */

enum { MAX_SCRIPTS = 16 };

static int run_script(ReplSession *s, const char *path, bool echo)
{
        if (s->scripts == MAX_SCRIPTS) {
                repl_error("scripts load one another more than %d deep: %s", MAX_SCRIPTS, path);
                return WRONG_INPUT;
        }
        const char *why;
        LineReader r = {.s = s, .stream = input_open(path, &why), .path = path, .from = path, .echo = echo};
        if (!r.stream) {
                fprintf(stderr, "lathe: can't read %s: %s\n", path, why);
                return WRONG_ENVIRONMENT;
        }
        s->scripts++;
        repl_read_all(&r);
        s->scripts--;
        fclose(r.stream);
        return r.failed ? WRONG_INPUT : DONE;
}

bool session_script(ReplSession *s, const char *path)
{
        return run_script(s, path, false) == DONE;
}

static int run_input(ReplSession *s, bool echo)
{
        LineReader r = {.s = s, .stream = stdin, .path = "<stdin>", .from = "", .echo = echo};
        if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
                s->interactive = true;
                catch_interrupts();
                r.edit = editor_new("LATHE_HISTORY", ".lathe_history", complete_word, s);
                printf("lathe " LATHE_VERSION "; :help lists the commands\n");
        }
        repl_read_all(&r);
        editor_free(r.edit);
        return r.failed && !s->interactive ? WRONG_INPUT : DONE;
}

int repl_command(const CommandOptions *o)
{
        ReplSession s;
        int worst = DONE;
        bool is_script = false;
        setlocale(LC_CTYPE, "");
        if (!session_begin(&s)) {
                fprintf(stderr, "lathe: out of memory\n");
                return WRONG_ENVIRONMENT;
        }
        s.options.cache = o->cache;
        memory_limit();
        for (int i = 0; i < o->nfile && !s.has_quit; i++) {
                bool is_model = is_model_file(o->file[i]);
                int code = !is_model                      ? run_script(&s, o->file[i], o->given[OPT_ECHO])
                           : session_open(&s, o->file[i]) ? DONE
                                                          : WRONG_INPUT;
                worst = code > worst ? code : worst;
                is_script |= !is_model;
        }
        if (!is_script && (worst == DONE || isatty(STDIN_FILENO)))
                worst = run_input(&s, o->given[OPT_ECHO]);
        session_end(&s);
        return worst;
}
