/*
 * A conversation on a terminal: lines and texts of several lines, commands, interrupts, and conversations in files.
 *
 * Needs conversation.h, terminal.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if !defined(__wasm__)
#include <termios.h>
#endif

typedef enum { CHAT_LINE, CHAT_END, CHAT_DROPPED } ChatInput; /* DROPPED: Ctrl-C */

typedef struct {
        const Conversation *c;
        /* The next line without its end; valid until the next call. */
        ChatInput (*line)(void *of, const char *prompt, const char **text, int64_t *n);
        void (*remember)(void *of, const char *text, int64_t n); /* adds an input to the history; NULL: there is none */
        int (*take)(void *of, const int32_t *ids, int64_t n);    /* runs the model on ids [n]; 0, or an error above 0 */
        int (*takes_system)(void *of);                           /* whether conversations can have a system message */
        void *of;                                                /* the first argument of the functions */
        char *system;                                            /* the message of /system or /load; allocated, or NULL */
        char *text;                                              /* the input: a line, or several */
        int64_t n, room;                                         /* of text */
        int has_quit;
} ChatTerminal;

/* --- the terminal's echo ------------------------------------------------------------------------------------------------------ */

#if !defined(__wasm__)
/* The modes from before the echo was turned off; is_off: they have to be restored. */
typedef struct {
        struct termios modes;
        volatile int is_off;
} ChatEcho;
static inline ChatEcho *chat_echo(void)
{
        static ChatEcho echo;
        return &echo;
}
/* Also in a signal handler.  Discards the text that was typed since. */
static inline void chat_echo_on(void)
{
        if (chat_echo()->is_off)
                tcsetattr(STDIN_FILENO, TCSAFLUSH, &chat_echo()->modes);
        chat_echo()->is_off = 0;
}
static inline void chat_echo_off(void)
{
        ChatEcho *e = chat_echo();
        if (e->is_off || tcgetattr(STDIN_FILENO, &e->modes))
                return;
        struct termios quiet = e->modes;
        quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
        e->is_off = 1;
        tcsetattr(STDIN_FILENO, TCSADRAIN, &quiet);
}
#else
static inline void chat_echo_on(void)
{
}
static inline void chat_echo_off(void)
{
}
#endif

/* --- conversations in files: a line of JSON for each message ------------------------------------------------------------------ */

/* Writes text [n] as a string of JSON; bytes that are not UTF-8 become U+FFFD. */
static inline void chat_write_string(FILE *to, const char *text, int64_t n)
{
        const unsigned char *b = (const unsigned char *)text;
        putc('"', to);
        for (int64_t i = 0, size; i < n; i += size) {
                const int rest = n - i < 4 ? (int)(n - i) : 4, length = terminal_character(b + i, rest);
                size = length && length <= rest ? length : 1;
                if (!length || length > rest)
                        fputs("\\ufffd", to);
                else if (b[i] == '"' || b[i] == '\\')
                        fprintf(to, "\\%c", b[i]);
                else if (b[i] == '\n')
                        fputs("\\n", to);
                else if (b[i] < ' ' || b[i] == 0x7f)
                        fprintf(to, "\\u%04x", b[i]);
                else
                        fwrite(b + i, 1, (size_t)size, to);
        }
        putc('"', to);
}

static inline void chat_write_message(FILE *to, const char *role, const char *text, int64_t n)
{
        fprintf(to, "{\"role\": \"%s\", \"content\": ", role);
        chat_write_string(to, text, n);
        fputs("}\n", to);
}

/* A copy of text [n] with a 0 byte; NULL: out of memory. */
static inline char *chat_copy_text(const char *text, int64_t n)
{
        char *copy = malloc((size_t)n + 1);
        if (copy) {
                memcpy(copy, text, (size_t)n);
                copy[n] = 0;
        }
        return copy;
}

/* The target of a symbolic link, or the path itself, to be freed; NULL: errno is set. */
static inline char *chat_follow_links(const char *path)
{
        char *place = chat_copy_text(path, (int64_t)strlen(path)), target[4096];
        for (int links = 0; place; links++) {
                const ssize_t n = readlink(place, target, sizeof target);
                if (n < 0)
                        break; /* it is not a link */
                const char *slash = *target == '/' ? NULL : strrchr(place, '/');
                const int64_t folder = slash ? slash + 1 - place : 0;
                char *next = links < 40 && n < (ssize_t)sizeof target ? malloc((size_t)folder + (size_t)n + 1) : NULL;
                if (next) {
                        memcpy(next, place, (size_t)folder);
                        memcpy(next + folder, target, (size_t)n);
                        next[folder + n] = 0;
                } else {
                        errno = links < 40 ? ENAMETOOLONG : ELOOP;
                }
                free(place);
                place = next;
        }
        return place;
}

/* Opens a new file beside `path`; its name is *beside, to be freed.  NULL: errno is set. */
static inline FILE *chat_open_beside(const char *path, char **beside)
{
        const size_t n = strlen(path) + 16;
        FILE *to = NULL;
        *beside = malloc(n);
        for (int i = 0; *beside && !to && i < 100; i++) {
                snprintf(*beside, n, "%s.%d.new", path, i);
                to = fopen(*beside, "wbx");
                if (!to && errno != EEXIST)
                        break;
        }
        return to;
}

/* Writes the messages to a new file and renames it to `path`.  NULL, or a message of an error; then an old file is unchanged. */
static inline const char *chat_write_file(const Talk *k, const char *path)
{
        struct stat status;
        char *beside = NULL, *place = chat_follow_links(path);
        const int is_other = place && !stat(place, &status) && !S_ISREG(status.st_mode);
        FILE *to = place && !is_other ? chat_open_beside(place, &beside) : NULL;
        const char *why = is_other ? "it exists and is not a regular file" : to ? NULL : strerror(errno);
        if (to && k->system)
                chat_write_message(to, "system", k->system, (int64_t)strlen(k->system));
        for (int64_t i = 0; to && i < k->turns; i++)
                chat_write_message(to, i % 2 ? "assistant" : "user", k->said[i].text, k->said[i].n);
        if (to && (fflush(to) || ferror(to)))
                why = strerror(errno);
        if (to && fclose(to) && !why)
                why = strerror(errno);
        if (!why && rename(beside, place))
                why = strerror(errno);
        if (why && to)
                unlink(beside);
        free(place);
        free(beside);
        return why;
}

/* Writes the messages to a file; 0, or an error after a message. */
static inline int chat_save(ChatTerminal *t, const char *path)
{
        Talk *k = t->c->talk;
        if (k->turns % 2)
                talk_answer(k);
        if (k->failed)
                return GENERATION_MEMORY;
        const char *why = chat_write_file(k, path);
        if (why)
                terminal_print(stderr, "%s: %s; nothing was written\n", path, why);
        else
                terminal_print(stderr, "%lld messages are saved in %s\n", (long long)(k->turns + (k->system != NULL)), path);
        return 0;
}

/* The number of 4 hexadecimal digits; -1: they are not. */
static inline int32_t chat_hex(const char *at)
{
        int32_t code = 0;
        for (int i = 0; i < 4; i++) {
                static const char digits[] = "0123456789abcdef";
                const char *digit = at[i] ? strchr(digits, at[i] >= 'A' && at[i] <= 'F' ? at[i] - 'A' + 'a' : at[i]) : NULL;
                if (!digit)
                        return -1;
                code = 16 * code + (int32_t)(digit - digits);
        }
        return code;
}

/* Writes a character as UTF-8 and returns the end. */
static inline char *chat_put_character(char *to, int32_t code)
{
        const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
        *to++ = (char)(first[more] | (code >> 6 * more));
        for (int i = more - 1; i >= 0; i--)
                *to++ = (char)(0x80 | (code >> 6 * i & 0x3f));
        return to;
}

/* Reads an escape after its backslash at *at, and writes its character to *to; 0: it is invalid. */
static inline int chat_read_escape(char **at, char **to)
{
        static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
        const char *name = **at ? strchr(names, **at) : NULL;
        if (name) {
                ++*at;
                *(*to)++ = values[name - names];
                return 1;
        }
        int32_t code = **at == 'u' ? chat_hex(*at + 1) : -1;
        if (code < 0)
                return 0;
        *at += 5;
        if (code >= 0xd800 && code < 0xe000) { /* a surrogate, of a pair or U+FFFD */
                const int32_t low = code < 0xdc00 && (*at)[0] == '\\' && (*at)[1] == 'u' ? chat_hex(*at + 2) : -1;
                const int pair = low >= 0xdc00 && low < 0xe000;
                code = pair ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
                *at += pair ? 6 : 0;
        }
        *to = chat_put_character(*to, code);
        return 1;
}

/* Reads a string of JSON at *at into the same memory; NULL: there is none. */
static inline char *chat_read_string(char **at, int64_t *n)
{
        char *in = *at + strspn(*at, " \t\r\n"), *begin = in + 1, *out = begin;
        if (*in++ != '"')
                return NULL;
        while (*in != '"') {
                if ((unsigned char)*in < ' ')
                        return NULL;
                if (*in != '\\')
                        *out++ = *in++;
                else if (in++, !chat_read_escape(&in, &out))
                        return NULL;
        }
        *at = in + 1;
        *n = out - begin;
        return begin;
}

/* Whether the next character after white space is c; skips it. */
static inline int chat_read_mark(char **at, char c)
{
        *at += strspn(*at, " \t\r\n");
        if (**at != c)
                return 0;
        ++*at;
        return 1;
}

/* Reads a line of a file: a message of TALK_OF_ and its text [n], in the memory of the line; 0: it is not a message. */
static inline int chat_read_message(char *line, char **text, int64_t *n)
{
        static const struct {
                const char *name;
                int who;
        } role[] = {{"system", TALK_OF_SYSTEM}, {"user", TALK_OF_USER}, {"assistant", TALK_OF_ANSWER}};
        char *at = line, *value;
        int64_t length, size;
        int who = 0;
        *text = NULL;
        at += strspn(at, " \t\r\n");
        if (*at++ != '{')
                return 0;
        do {
                const char *key = chat_read_string(&at, &length);
                if (!key || !chat_read_mark(&at, ':') || !(value = chat_read_string(&at, &size)))
                        return 0;
                for (size_t i = 0; i < sizeof role / sizeof *role && length == 4 && !memcmp(key, "role", 4); i++)
                        if (size == (int64_t)strlen(role[i].name) && !memcmp(value, role[i].name, (size_t)size))
                                who = role[i].who;
                if (length == 7 && !memcmp(key, "content", 7)) {
                        *text = value;
                        *n = size;
                }
        } while (chat_read_mark(&at, ','));
        return chat_read_mark(&at, '}') && !at[strspn(at, " \t\r\n")] && *text ? who : 0;
}

static inline void chat_free_turns(Talk *k)
{
        for (int64_t i = 0; i < k->turns; i++)
                free(k->said[i].text);
        k->turns = 0;
}

/* Starts a new conversation. */
static inline void chat_clear(const ChatTerminal *t)
{
        Talk *k = t->c->talk;
        chat_free_turns(k);
        k->n = k->nold = k->asked = k->dropped = 0;
        t->c->rewind(t->c->of, 0);
}

/* Sets the system message, NULL: the form's own, and starts a new conversation; 0, or an error. */
static inline int chat_set_system(ChatTerminal *t, const char *text)
{
        char *copy = text ? chat_copy_text(text, (int64_t)strlen(text)) : NULL;
        if (text && !copy)
                return GENERATION_MEMORY;
        chat_clear(t);
        free(t->system);
        t->system = copy;
        t->c->talk->system = copy;
        return 0;
}

/* Messages from a file. */
typedef struct {
        char *system; /* or NULL */
        int64_t messages;
} ChatFile;

/* Adds the message in a line to the turns, which are those of the file; NULL, or a message of its error. */
static inline const char *chat_load_line(const ChatTerminal *t, ChatFile *f, char *line)
{
        Talk *k = t->c->talk;
        char *text;
        int64_t n = 0;
        const int who = chat_read_message(line, &text, &n);
        if (!who)
                return "expected {\"role\": \"user\", \"content\": \"...\"}, with role system, user or assistant";
        if (who == TALK_OF_SYSTEM && f->messages)
                return "only the first message can be a system message";
        if (who == TALK_OF_SYSTEM && !t->takes_system(t->of))
                return "the model's conversations have no place for a system message";
        if (who != TALK_OF_SYSTEM && who != (k->turns % 2 ? TALK_OF_ANSWER : TALK_OF_USER))
                return k->turns % 2 ? "expected a message of the assistant" : "expected a message of the user";
        f->messages++;
        if (who == TALK_OF_SYSTEM)
                f->system = chat_copy_text(text, n);
        else
                talk_say(k, text, n);
        return k->failed || (who == TALK_OF_SYSTEM && !f->system) ? "out of memory" : NULL;
}

/* Likewise all lines of a file; number: of the last line. */
static inline const char *chat_load_lines(const ChatTerminal *t, ChatFile *f, FILE *from, int64_t *number)
{
        char *line = NULL;
        size_t room = 0;
        const char *why = NULL;
        while (!why && getline(&line, &room, from) >= 0) {
                ++*number;
                if (line[strspn(line, " \t\r\n")])
                        why = chat_load_line(t, f, line);
        }
        if (!why && ferror(from))
                why = strerror(errno);
        free(line);
        return why ? why : t->c->talk->turns % 2 ? "the last message must be one of the assistant" : NULL;
}

/* Runs the model on the ids of the turns that do not depend on the next turn: those with which two different turns begin.  NULL, or a
 * message of an error; *error: of the model. */
static inline const char *chat_take_turns(const ChatTerminal *t, int *error)
{
        const Conversation *c = t->c;
        Talk *k = c->talk;
        k->n = k->nold = k->asked = 0;
        c->rewind(c->of, 0);
        for (int i = 0; i < 2 && k->turns; i++) {
                if (!talk_ask(k, i ? "!" : "?", 1, c->context) || k->failed)
                        return "out of memory";
                if (k->refused)
                        return k->refused;
                talk_unask(k);
                conversation_report_dropped(c);
        }
        if (!k->turns)
                return NULL;
        k->n = k->asked = k->same < c->context ? k->same : c->context;
        *error = t->take(t->of, k->ids, k->n);
        return NULL;
}

/* Replaces the conversation by that of a file, or keeps it after a message; 0, or an error. */
static inline int chat_load(ChatTerminal *t, const char *path)
{
        Talk *k = t->c->talk;
        ChatFile file = {NULL, 0};
        int64_t number = 0;
        int error = 0;
        FILE *from = fopen(path, "rb");
        if (!from) {
                terminal_print(stderr, "%s: %s\n", path, strerror(errno));
                return 0;
        }
        if (k->turns % 2)
                talk_answer(k);
        TalkSaid *said = k->said;
        const int64_t turns = k->turns, size = k->said_size;
        const char *system = k->system;
        k->said = NULL;
        k->turns = k->said_size = 0;
        const char *why = chat_load_lines(t, &file, from, &number);
        fclose(from);
        if (why)
                terminal_print(stderr, "%s:%lld: %s; the conversation is unchanged\n", path, (long long)number, why);
        k->system = file.system;
        const char *refused = why ? NULL : chat_take_turns(t, &error);
        if (refused)
                terminal_print(stderr, "%s: %s; the conversation is unchanged\n", path, refused);
        if (why || refused) { /* ids are written again at the next turn */
                chat_free_turns(k);
                free(k->said);
                k->said = said;
                k->turns = turns;
                k->said_size = size;
                k->system = system;
                k->refused = NULL;
                k->n = k->nold = k->asked = 0;
                t->c->rewind(t->c->of, 0);
                free(file.system);
                return k->failed ? GENERATION_MEMORY : 0;
        }
        for (int64_t i = 0; i < turns; i++)
                free(said[i].text);
        free(said);
        free(t->system);
        t->system = file.system;
        if (!error)
                terminal_print(stderr, "%lld messages are loaded from %s\n", (long long)file.messages, path);
        return error;
}

/* --- commands ----------------------------------------------------------------------------------------------------------------- */

static inline void chat_help(void)
{
        terminal_print(stderr, "%s",
                       "/help          prints this list\n"
                       "/reset         starts a new conversation\n"
                       "/system TEXT   sets the system message, and starts a new conversation; without TEXT, the model's own\n"
                       "/save FILE     saves the conversation as lines of JSON\n"
                       "/load FILE     loads a conversation, and continues it\n"
                       "/bye, /exit    leaves, as does Ctrl-D\n"
                       "//TEXT         a message that begins with /\n"
                       "\"\"\"TEXT        a message of several lines, up to a line that ends with \"\"\"\n"
                       "Ctrl-C         stops the answer; at the prompt, discards the line\n");
}

static inline int chat_word_is(const char *line, size_t n, const char *word)
{
        return strlen(word) == n && !strncmp(line, word, n);
}

/* Runs a command, a line without its slash; removes white space at its end.  0, or an error. */
static inline int chat_run_command(ChatTerminal *t, char *line)
{
        for (size_t end = strlen(line); end && strchr(" \t\r", line[end - 1]); end--)
                line[end - 1] = 0;
        const size_t n = strcspn(line, " \t");
        const char *rest = line + n + strspn(line + n, " \t");
        const int bare = !*rest;
        int error = 0;
        if (bare && (chat_word_is(line, n, "bye") || chat_word_is(line, n, "exit") || chat_word_is(line, n, "quit")))
                t->has_quit = 1;
        else if (bare && chat_word_is(line, n, "help"))
                chat_help();
        else if (bare && (chat_word_is(line, n, "reset") || chat_word_is(line, n, "clear"))) {
                chat_clear(t);
                terminal_print(stderr, "a new conversation\n");
        } else if (!bare && chat_word_is(line, n, "system") && !t->takes_system(t->of))
                terminal_print(stderr, "/system: the model's conversations have no place for a system message\n");
        else if (chat_word_is(line, n, "system")) {
                error = chat_set_system(t, bare ? NULL : rest);
                terminal_print(stderr, "a new conversation, with %s system message\n", bare ? "the model's own" : "this");
        } else if (!bare && chat_word_is(line, n, "save"))
                error = chat_save(t, rest);
        else if (!bare && chat_word_is(line, n, "load"))
                error = chat_load(t, rest);
        else {
                terminal_print(stderr, "unknown command, or wrong arguments: /%s\n", line);
                chat_help();
        }
        return error;
}

/* --- the loop ----------------------------------------------------------------------------------------------------------------- */

/* Adds text [n] to the input; 0: out of memory. */
static inline int chat_add_text(ChatTerminal *t, const char *text, int64_t n)
{
        if (t->n + n >= t->room) {
                char *more = realloc(t->text, (size_t)(2 * (t->n + n) + 64));
                if (!more)
                        return 0;
                t->text = more;
                t->room = 2 * (t->n + n) + 64;
        }
        if (n)
                memcpy(t->text + t->n, text, (size_t)n);
        t->n += n;
        t->text[t->n] = 0;
        return 1;
}

/* Reads an input: a line, or the lines from """ to """, with these marks. */
static inline ChatInput chat_read_input(ChatTerminal *t, int *error)
{
        static const char mark[] = "\"\"\"";
        const char *line;
        int64_t n;
        ChatInput got = t->line(t->of, "> ", &line, &n);
        t->n = 0;
        for (int open = got == CHAT_LINE && n >= 3 && !memcmp(line, mark, 3), least = 6; got == CHAT_LINE; least = 3) {
                if (!chat_add_text(t, line, n)) {
                        *error = GENERATION_MEMORY;
                        return CHAT_END;
                }
                if (!open || (n >= least && !memcmp(line + n - 3, mark, 3)))
                        break;
                if (!chat_add_text(t, "\n", 1)) {
                        *error = GENERATION_MEMORY;
                        return CHAT_END;
                }
                got = t->line(t->of, "... ", &line, &n);
        }
        return got;
}

/* Answers an input; 0, or an error. */
static inline int chat_take_input(ChatTerminal *t)
{
        Talk *k = t->c->talk;
        char *text = t->text;
        int64_t n = t->n;
        if (*text == '/' && text[1] != '/')
                return chat_run_command(t, text + 1);
        if (*text == '/') {
                text++;
                n--;
        } else if (n >= 6 && !memcmp(text, "\"\"\"", 3)) {
                const int64_t begin = text[3] == '\n' ? 4 : 3, end = text[n - 4] == '\n' ? n - 4 : n - 3;
                text += begin;
                n = end > begin ? end - begin : 0;
        }
        if (!n)
                return 0;
        chat_echo_off();
        const int error = conversation_turn(t->c, text, n);
        chat_echo_on();
        if (error != CONVERSATION_STOPPED)
                return error == CONVERSATION_FULL || error == CONVERSATION_REFUSED ? 0 : error;
        const int is_empty = k->n == k->asked;
        if (is_empty)
                talk_unask(k);
        terminal_print(stderr, is_empty ? "stopped before the answer: the turn is taken back\n"
                                        : "stopped: the answer ends here, and the conversation continues\n");
        return 0;
}

/* Holds the conversation until the end of input, /bye or an error, which it returns. */
static inline int chat_on_terminal(ChatTerminal *t)
{
        int error = 0;
        ChatInput got = CHAT_DROPPED;
        terminal_print(stderr, "Ctrl-D or /bye leaves; /help lists the commands\n");
        while (!error && !t->has_quit && !ferror(stdout)) {
                got = chat_read_input(t, &error);
                if (got == CHAT_END)
                        break;
                if (got == CHAT_DROPPED) {
                        terminal_print(stderr, "\nthe line is discarded; Ctrl-D or /bye leaves\n");
                        continue;
                }
                if (t->remember)
                        t->remember(t->of, t->text, t->n);
                error = chat_take_input(t);
                fflush(stdout);
        }
        if (got == CHAT_END)
                putchar('\n');
        free(t->system);
        free(t->text);
        return error;
}
