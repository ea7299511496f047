/*
 * The command line's conversation.
 *
 * Needs conversation_terminal.h and main_text.h.
 */
#if !defined(__wasm__)
#include <fcntl.h>
#include <signal.h>
#include <sys/select.h>
#endif

#if HAS_UNMASKS
/* Each answer begins with the whole conversation. */
static void session_rewind(void *of, int64_t n)
{
        (void)of, (void)n;
}

static int64_t session_position(void *of)
{
        (void)of;
        return 0;
}
#else
static void session_rewind(void *of, int64_t n)
{
        $model *m = ((Session *)of)->m;
        if ($model_rewind(m, n))
                $model_reset(m);
}

static int64_t session_position(void *of)
{
        return $model_position(((Session *)of)->m);
}
#endif

/* --- on a terminal ------------------------------------------------------------------------------------------------------------ */

#if !defined(__wasm__)
/* A byte for each Ctrl-C, so that it ends the wait for a line, in whichever thread the handler runs. */
static int interrupt_pipe[2];

static void on_end(int number)
{
        chat_echo_on();
        signal(number, SIG_DFL);
        raise(number);
}

/* A second Ctrl-C ends the program if the answer has not stopped. */
static void on_interrupt(int number)
{
        const int before = errno;
        if (is_interrupted && is_answering)
                on_end(number);
        is_interrupted = 1;
        const ssize_t written = write(interrupt_pipe[1], "", 1);
        (void)written;
        errno = before;
}

/* 0, or an error. */
static int catch_signals(void)
{
        struct sigaction act = {.sa_handler = on_interrupt};
        sigemptyset(&act.sa_mask);
        act.sa_flags = SA_RESTART;
        if (pipe(interrupt_pipe) || fcntl(interrupt_pipe[0], F_SETFL, O_NONBLOCK) || fcntl(interrupt_pipe[1], F_SETFL, O_NONBLOCK))
                return GENERATION_MEMORY;
        sigaction(SIGINT, &act, NULL);
        act.sa_handler = on_end;
        sigaction(SIGTERM, &act, NULL);
        sigaction(SIGHUP, &act, NULL);
        return 0;
}

/* Forgets earlier interrupts. */
static void begin_line(void)
{
        char bytes[16];
        is_interrupted = 0;
        while (read(interrupt_pipe[0], bytes, sizeof bytes) > 0)
                ;
}

/* Waits for a line on standard input; 0: interrupted. */
static int wait_for_line(void)
{
        const int of = interrupt_pipe[0];
        fd_set input;
        do {
                FD_ZERO(&input);
                FD_SET(STDIN_FILENO, &input);
                FD_SET(of, &input);
        } while (select((of > STDIN_FILENO ? of : STDIN_FILENO) + 1, &input, NULL, NULL, NULL) < 0 && errno == EINTR);
        return !FD_ISSET(of, &input);
}
#else
static int catch_signals(void)
{
        return 0;
}
static void begin_line(void)
{
}
static int wait_for_line(void)
{
        return 1;
}
#endif

static ChatInput read_line(void *of, const char *prompt, const char **text, int64_t *n)
{
        static char *line;
        static size_t room;
        (void)of;
        begin_line();
        terminal_print(stdout, "%s", prompt);
        fflush(stdout);
        if (!wait_for_line())
                return CHAT_DROPPED;
        const ssize_t length = getline(&line, &room, stdin);
        if (length < 0)
                return CHAT_END;
        *text = line;
        *n = length - (line[length - 1] == '\n');
        line[*n] = 0;
        return CHAT_LINE;
}

static int session_answer(void *of, const int32_t *ids, int64_t n, Generated *made)
{
        is_answering = 1;
        const int error = session_text(of, ids, n, made);
        is_answering = 0;
        return is_interrupted ? CONVERSATION_STOPPED : error;
}

enum { TERMINAL_CHUNK = 64 }; /* Ctrl-C is tested after this number of tokens of a prompt */

/* After Ctrl-C the rest is processed with the next turn. */
static int session_take_turns(void *of, const int32_t *ids, int64_t n)
{
#if HAS_UNMASKS
        (void)of, (void)ids, (void)n;
        return 0;
#else
        int error = 0;
        is_answering = 1;
        for (int64_t i = 0; i < n && !error && !is_interrupted; i += TERMINAL_CHUNK)
                error = generator_take(((Session *)of)->m, ids + i, n - i < TERMINAL_CHUNK ? n - i : TERMINAL_CHUNK, NULL);
        is_answering = 0;
        return error;
#endif
}

static int session_takes_system(void *of)
{
        (void)of;
        return talk_form.system || talk_form.first_user;
}

static int session_on_terminal(Session *s, Conversation c)
{
        ChatTerminal t = {.c = &c, .line = read_line, .take = session_take_turns, .takes_system = session_takes_system, .of = s};
        c.answer = session_answer;
        s->o.chunk = s->o.chunk < TERMINAL_CHUNK ? s->o.chunk : TERMINAL_CHUNK;
        const int error = catch_signals();
        return error ? error : chat_on_terminal(&t);
}

static int converse(Session *s)
{
        const Options *o = &s->o;
#if HAS_UNMASKS
        const int64_t answer = o->steps < INT64_MAX ? o->steps : o->form.length, context = answer < CONTEXT ? CONTEXT - answer : CONTEXT;
#else
        const int64_t context = CONTEXT;
#endif
        const Conversation c = {&talk, context, s, session_position, session_rewind, session_text};
        talk.form = &talk_form;
        talk.tables = &s->m->tokens;
        talk.system = o->system;
        int error = o->prompt                                       ? conversation_turn(&c, o->prompt, (int64_t)strlen(o->prompt))
                    : isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? session_on_terminal(s, c)
                                                                    : conversation_lines(&c);
        talk_free(&talk);
        return error == GENERATION_MEMORY ? $MODEL_ERROR_MEMORY : error == CONVERSATION_FULL ? -1 : error;
}
