/* lathe template: the chat template of a published model: a conversation rendered, or the pieces that it is cut into. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands_private.h"
#include "import/import.h"

enum { MOST_TURNS = 10000 };

static void say_fault(Arena *a, const ChatFault *fault)
{
        Diag diag = {.arena = a};
        diag_error(&diag, fault->at, "%s", fault->what);
        diag_print(&diag, stderr);
}

static ChatDate today(void)
{
        time_t now = time(NULL);
        struct tm tm;
        gmtime_r(&now, &tm);
        return (ChatDate){tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday};
}

static bool read_date(const char *text, ChatDate *date)
{
        char behind;
        int n = sscanf(text, "%4d-%2d-%2d%c", &date->year, &date->month, &date->day, &behind);
        if (n == 3 && date->year >= 1900 && date->month >= 1 && date->month <= 12 && date->day >= 1 &&
            date->day <= 31)
                return true;
        fprintf(stderr,
                "lathe template: --date wants YEAR-MONTH-DAY, not %s; `lathe help template` says more\n",
                text);
        return false;
}

/* --- pieces --- */

/* as in the language */
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

static int print_pieces(Arena *a, const ChatTemplate *t, const ChatSource *s, ChatDate date, bool dated)
{
        ChatPieces p = chat_cut(a, t, s->variables, date);
        if (p.reason) {
                fprintf(stderr, "%s: error: the template can't be cut into pieces: %s\n", s->path, p.reason);
                if (p.fault.what)
                        say_fault(a, &p.fault);
                return WRONG_INPUT;
        }
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
        if (p.dated && !dated)
                fprintf(stderr, "lathe template: note: the pieces hold today's date; --date gives another\n");
        return DONE;
}

/* --- a conversation --- */

/* A line each of standard input: user, answer, user …; how many, -1 after a message. */
static int read_turns(json_t *messages, bool parts)
{
        char *line = NULL;
        size_t room = 0;
        ssize_t n;
        int turns = 0;
        while (turns >= 0 && (n = getline(&line, &room, stdin)) > 0) {
                n -= line[n - 1] == '\n';
                json_t *text = json_stringn(line, (size_t)n);
                if (!text || turns == MOST_TURNS) {
                        fprintf(stderr, "lathe template: standard input, line %d: %s\n", turns + 1,
                                text ? "a conversation has at most 10000 lines" : "this is no UTF-8");
                        turns = -1;
                } else
                        chat_say(messages, turns++ % 2 ? "assistant" : "user", line, (size_t)n, parts);
                json_decref(text);
        }
        free(line);
        return turns;
}

static int render(Arena *a, const ChatTemplate *t, const ChatSource *s, ChatDate date, const Options *o)
{
        json_t *messages = json_array();
        ChatText text;
        ChatFault fault;
        bool parts = chat_wants_parts(a, t, s->variables, date);
        if (o->system)
                chat_say(messages, "system", o->system, strlen(o->system), parts);
        int turns = read_turns(messages, parts);
        json_object_set_new(s->variables, "messages", messages);
        if (turns < 0)
                return WRONG_INPUT;
        json_object_set_new(s->variables, "add_generation_prompt", json_boolean(turns % 2));
        if (!chat_render(a, t, s->variables, date, &text, &fault)) {
                say_fault(a, &fault);
                return WRONG_INPUT;
        }
        fwrite(text.text, 1, (size_t)text.n, stdout);
        if (text.dated && !o->date)
                fprintf(stderr, "lathe template: note: the text holds today's date; --date gives another\n");
        return DONE;
}

static int with_source(Arena *a, const ChatSource *s, const Options *o)
{
        ChatFault fault;
        ChatDate date = today();
        if (o->date && !read_date(o->date, &date))
                return WRONG_USAGE;
        if (!s->text) {
                fprintf(stderr, s->lacking ? "lathe template: %s\n" : "%s\n", s->wrong);
                return s->lacking ? WRONG_ENVIRONMENT : WRONG_INPUT;
        }
        if (s->left_out)
                fprintf(stderr, "lathe template: note: %s: the template named default is taken, not %s\n",
                        s->path, s->left_out);
        ChatTemplate *t = chat_parse(a, s->path, s->text, s->n, &fault);
        if (!t) {
                say_fault(a, &fault);
                return WRONG_INPUT;
        }
        return o->pieces ? print_pieces(a, t, s, date, o->date != NULL) : render(a, t, s, date, o);
}

/* Of a file or a directory, or of a GGUF, which stays open for it. */
static ChatSource source_of(Arena *a, const char *path, Checkpoint **gguf)
{
        const Format *format = format_of_file(path);
        CkError error = {.environment = false};
        if (!format || format->kind != FORMAT_GGUF)
                return chat_source(a, path);
        *gguf = checkpoint_open(path, &error);
        if (*gguf)
                return gguf_chat_source(a, *gguf);
        return (ChatSource){.wrong = arena_printf(a, "%s", error.message), .lacking = error.environment};
}

int template_command(const Options *o)
{
        Arena a = {0};
        Checkpoint *gguf = NULL;
        ChatSource s = source_of(&a, o->file[0], &gguf);
        int code = with_source(&a, &s, o);
        chat_source_free(&s);
        checkpoint_close(gguf);
        arena_free(&a);
        return code;
}
