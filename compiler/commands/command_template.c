/* lathe template: the chat template of a published model: prints a rendered conversation, or the pieces of
 * the template. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"
#include "import/import.h"

enum { MAX_TURNS = 10000 };

static void say_fault(Arena *a, const ChatFault *fault)
{
        Diag diag = {.arena = a};
        diag_error(&diag, fault->at, "%s", fault->message);
        diag_print(&diag, stderr);
}

static int days_of_month(const ChatDate *d)
{
        const bool leap = d->year % 4 == 0 && (d->year % 100 != 0 || d->year % 400 == 0);
        return d->month == 2 ? 28 + leap : 30 + (d->month + d->month / 8) % 2;
}

static bool read_date(const char *text, ChatDate *date)
{
        char behind;
        int n = sscanf(text, "%4d-%2d-%2d%c", &date->year, &date->month, &date->day, &behind);
        if (n == 3 && date->year >= 1900 && date->month >= 1 && date->month <= 12 && date->day >= 1 &&
            date->day <= days_of_month(date))
                return true;
        fprintf(stderr, "lathe template: --date must be YEAR-MONTH-DAY, not %s; see `lathe help template`\n",
                text);
        return false;
}

/* --- pieces --- */

/* in the syntax of the language */
static void print_piece(Arena *a, const char *name, const char *text)
{
        if (text)
                printf("%s %s\n", name, quoted_text(a, text));
}

static void print_trim(const char *role, ChatTrim trim)
{
        if (trim != CHAT_KEEPS)
                printf("trim %s%s\n", role, trim == CHAT_TRIMS_LINES ? " newlines" : "");
}

static int print_pieces(Arena *a, const ChatWriter *w, const ChatSource *s, bool dated)
{
        ChatPieces p = chat_cut(a, w);
        if (p.reason) {
                fprintf(stderr, "%s: error: the template can't be expressed as pieces: %s\n", s->path,
                        p.reason);
                if (p.fault.message)
                        say_fault(a, &p.fault);
                return WRONG_INPUT;
        }
        if (p.partly)
                fprintf(stderr, "lathe template: note: %s: %s\n", s->path, p.partly);
        if (!p.default_system && *p.head)
                print_piece(a, "head", p.head);
        print_piece(a, "default_system", p.default_system);
        print_piece(a, "system", p.system);
        print_piece(a, "first_user", p.first_user);
        print_piece(a, "user", p.user);
        print_piece(a, "answer", p.answer);
        print_piece(a, "open", p.open);
        print_trim("system", p.trims_system);
        print_trim("user", p.trims_user);
        print_trim("answer", p.trims_answer);
        print_piece(a, "thought_end", p.thought_end);
        if (p.thought_white)
                print_piece(a, "thought_white", chat_white_name(p.thought_white));
        if (p.dated && !dated)
                fprintf(stderr, "lathe template: note: the pieces hold today's date; --date gives another\n");
        return DONE;
}

/* --- a conversation --- */

typedef struct {
        ChatSaid *said;
        int n, cap;
} TemplateTurns;

/* Reads standard input by lines: user, answer, user …; false after a message. */
static bool read_turns(Arena *a, TemplateTurns *turns)
{
        char *line = NULL;
        size_t room = 0;
        ssize_t n;
        bool good = true;
        while (good && (n = getline(&line, &room, stdin)) > 0) {
                n -= line[n - 1] == '\n';
                json_t *text = json_stringn(line, (size_t)n);
                good = text && turns->n < MAX_TURNS;
                if (!good) {
                        fprintf(stderr, "lathe template: standard input, line %d: %s\n", turns->n + 1,
                                text ? "a conversation has at most 10000 lines" : "this is not UTF-8");
                } else {
                        GROW(a, turns->said, turns->n, turns->cap);
                        turns->said[turns->n++] = (ChatSaid){arena_strndup(a, line, n), n};
                }
                json_decref(text);
        }
        free(line);
        return good;
}

static int render(Arena *a, const ChatWriter *w, const CommandOptions *o, bool opens)
{
        ChatSaid system = {o->system, o->system ? (int64_t)strlen(o->system) : 0};
        TemplateTurns turns = {0};
        ChatText text;
        ChatFault fault;
        if (!w->before && !read_turns(a, &turns))
                return WRONG_INPUT;
        if (!chat_write(a, w, o->system ? &system : NULL, turns.said, turns.n, opens || turns.n % 2, &text,
                        &fault)) {
                say_fault(a, &fault);
                return WRONG_INPUT;
        }
        fwrite(text.text, 1, (size_t)text.n, stdout);
        if (text.dated && !o->date)
                fprintf(stderr, "lathe template: note: the text holds today's date; --date gives another\n");
        return DONE;
}

/* Prints an answer of the model as a message. */
static int print_answer(Arena *a, const ChatWriter *w, const ChatSource *s, const ChatGiven *given,
                        const char *path)
{
        const char *why = NULL;
        const Source *answer = read_source(a, path, &why);
        if (!answer) {
                fprintf(stderr, "lathe template: %s: %s\n", path, why);
                return WRONG_ENVIRONMENT;
        }
        return chat_print_answer(a, chat_answer_form(a, w), s->path, given, answer->text, answer->length,
                                 "template");
}

static int with_source(Arena *a, ChatSource *s, const ChatGiven *given, const CommandOptions *o)
{
        ChatFault fault;
        ChatDate date = chat_today();
        if (o->date && !read_date(o->date, &date))
                return WRONG_USAGE;
        if (!s->text) {
                fprintf(stderr, s->env_error ? "lathe template: %s\n" : "%s\n", s->wrong);
                return s->env_error ? WRONG_ENVIRONMENT : WRONG_INPUT;
        }
        if (s->left_out)
                fprintf(stderr, "lathe template: note: %s: the template named %s is taken, not %s\n", s->path,
                        s->taken, s->left_out);
        if (text_ends_with(s->path, ".model")) {
                fprintf(stderr,
                        "lathe template: %s: expected a chat template, found a model file, whose pieces are "
                        "settings of its loop (docs/chat.md)\n",
                        s->path);
                return WRONG_INPUT;
        }
        ChatTemplate *t = chat_parse(a, s->path, s->text, s->n, &fault);
        if (!t) {
                say_fault(a, &fault);
                return WRONG_INPUT;
        }
        ChatWriter w = chat_writer(a, t, s->variables, date);
        if (o->given[OPT_PIECES])
                return print_pieces(a, &w, s, o->date != NULL);
        if (o->answer)
                return print_answer(a, &w, s, given, o->answer);
        if (!chat_given_use(given, &w, s, o, "template"))
                return WRONG_USAGE;
        if (o->system && !chat_takes_system(a, &w)) {
                fprintf(stderr,
                        "lathe template: --system has no effect: the chat template %s writes no system "
                        "message\n",
                        s->path);
                return WRONG_USAGE;
        }
        return render(a, &w, o, given->messages && !chat_given_ends_with(given, "assistant"));
}

int template_command(const CommandOptions *o)
{
        const InputUse use[] = {{"--tools", o->tools},
                                {"--messages", o->messages},
                                {"--answer", o->answer},
                                {"the turns", o->messages || o->answer || o->given[OPT_PIECES] ? NULL : "-"}};
        if (!input_is_read_once(use, sizeof use / sizeof *use, "template"))
                return WRONG_USAGE;
        Arena a = {0};
        ChatGiven given = {0};
        ChatSource s = {0};
        int code = chat_given_read(&given, &a, o, "template");
        if (code == DONE) {
                s = published_chat_source(&a, o->file[0], o->tools != NULL);
                code = with_source(&a, &s, &given, o);
        }
        chat_given_free(&given);
        chat_source_free(&s);
        arena_free(&a);
        return code;
}
