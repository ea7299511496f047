/* Splits a template into pieces, by conversations that it renders: their messages are marks, with and without
 * a system message, of one or more turns.
 *
 * The pieces are the texts between the marks that all conversations share.  If a conversation composed of the
 * pieces differs from the rendered one, the template is not split. */
#include <stdlib.h>

#include "chat_private.h"

enum { TURNS = 3, MARKS = 2 * TURNS + 1 };

typedef struct {
        Arena *arena;
        const ChatWriter *writer;
        ChatPieces *pieces;
        const char *mark[MARKS];     /* system, then user, answer, user … */
        const char *before, *behind; /* the text around each mark within its message */
} TemplateCut;

/* A rendered conversation and the offsets of its marks. */
typedef struct {
        const char *text; /* NULL: the template refuses it */
        int64_t n, from[MARKS], to[MARKS];
        bool system;
        int messages; /* in addition to the system's */
} Sample;

static bool pieces_refuse(TemplateCut *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool pieces_refuse(TemplateCut *c, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        if (!c->pieces->reason)
                c->pieces->reason = arena_vprintf(c->arena, format, args);
        va_end(args);
        return false;
}

/* --- samples --- */

static ChatSaid said_by(const TemplateCut *c, int i)
{
        const char *text = arena_printf(c->arena, "%s%s%s", c->before, c->mark[i], c->behind);
        return (ChatSaid){text, (int64_t)strlen(text)};
}

/* Renders a conversation whose messages are marks; false: the template rejects it, with the fault. */
static bool sample_text(TemplateCut *c, bool system, int messages, bool open, Sample *s, ChatFault *fault)
{
        ChatText text = {0};
        ChatSaid first = said_by(c, 0), said[MARKS];
        for (int i = 0; i < messages; i++)
                said[i] = said_by(c, i + 1);
        *s = (Sample){.system = system, .messages = messages};
        if (!chat_write(c->arena, c->writer, system ? &first : NULL, said, messages, open, &text, fault))
                return false;
        s->text = text.text;
        s->n = text.n;
        c->pieces->dated = c->pieces->dated || text.dated;
        return true;
}

static const char *who(int i)
{
        return i == 0 ? "the system message" : i % 2 ? "the user's message" : "an answer";
}

/* Finds each mark once, and in order. */
static bool find_marks(TemplateCut *c, Sample *s)
{
        const char *at = s->text;
        if ((int64_t)strlen(s->text) != s->n)
                return pieces_refuse(c, "it prints a NUL");
        for (int i = s->system ? 0 : 1; i <= s->messages; i++) {
                const char *found = strstr(s->text, c->mark[i]);
                if (!found)
                        return pieces_refuse(c, "it omits %s in a conversation of %d", who(i), s->messages);
                if (strstr(found + 1, c->mark[i]))
                        return pieces_refuse(c, "it prints %s twice", who(i));
                if (found < at)
                        return pieces_refuse(c, i == 1 && s->system
                                                        ? "the system message comes after the user's message"
                                                        : "messages are printed in another order than given");
                s->from[i] = found - s->text;
                at = found + strlen(c->mark[i]);
                s->to[i] = at - s->text;
        }
        return true;
}

static bool sampled(TemplateCut *c, bool system, int messages, bool open, Sample *s)
{
        if (!sample_text(c, system, messages, open, s, &c->pieces->fault))
                return pieces_refuse(c, "rendering a conversation of %d message%s%s fails", messages,
                                     messages > 1 ? "s" : "", system ? " and a system message" : "");
        return find_marks(c, s);
}

/* --- cutting --- */

static const char *cut_part(const TemplateCut *c, const Sample *s, int64_t from, int64_t to)
{
        return arena_strndup(c->arena, s->text + from, to - from);
}

/* a {} b, with the texts' braces unchanged; a text that contains {} itself is rejected */
static const char *text_between(TemplateCut *c, const char *a, const char *b)
{
        if (strstr(a, "{}") || strstr(b, "{}"))
                pieces_refuse(c, "it prints {}, which is the placeholder of a message");
        return arena_printf(c->arena, "%s{}%s", a, b);
}

int64_t chat_common_start(const char *a, const char *b)
{
        int64_t n = 0;
        while (a[n] && a[n] == b[n])
                n++;
        return n;
}

static int64_t common_end(const char *a, const char *b)
{
        int64_t i = (int64_t)strlen(a), j = (int64_t)strlen(b), n = 0;
        while (n < i && n < j && a[i - n - 1] == b[j - n - 1])
                n++;
        return n;
}

static bool starts(const char *text, const char *start)
{
        return !strncmp(text, start, strlen(start));
}

/* The number of bytes of `between`, the text between message i and the next, that belong to message i: those
 * that also follow it as the last message, with no answer begun.  -1: unknown. */
static int64_t own_end(TemplateCut *c, int i, const char *between)
{
        Sample s;
        ChatFault fault;
        if (!sample_text(c, false, i, false, &s, &fault) || !s.text)
                return -1;
        const char *found = strstr(s.text, c->mark[i]);
        const char *end = found ? found + strlen(c->mark[i]) : between;
        return found && starts(between, end) ? (int64_t)strlen(end) : -1;
}

static int64_t end_of_user(TemplateCut *c, const char *to_answer, const char *to_end)
{
        int64_t n = own_end(c, 1, to_answer);
        return n >= 0 && !strncmp(to_answer, to_end, (size_t)n) ? n : chat_common_start(to_answer, to_end);
}

/* The number of bytes before a user's message that belong to its turn: the common suffix of `to_user`, the
 * text between an answer and the message, and of `to_first`. */
static int64_t begin_of_user(TemplateCut *c, const char *to_user, const char *to_first)
{
        int64_t n = own_end(c, 2, to_user), length = (int64_t)strlen(to_user),
                shared = common_end(to_user, to_first);
        return n >= 0 && length - n <= shared ? length - n : shared;
}

static bool cut_turns(TemplateCut *c)
{
        Sample one, two;
        if (!sampled(c, false, 1, true, &one) || !sampled(c, false, 3, true, &two))
                return false;
        const char *to_first = cut_part(c, &one, 0, one.from[1]),
                   *to_end = cut_part(c, &one, one.to[1], one.n);
        const char *to_answer = cut_part(c, &two, two.to[1], two.from[2]),
                   *to_user = cut_part(c, &two, two.to[2], two.from[3]);
        int64_t end = end_of_user(c, to_answer, to_end), begin = begin_of_user(c, to_user, to_first);
        int64_t answer_end = (int64_t)strlen(to_user) - begin, head = (int64_t)strlen(to_first) - begin;
        ChatPieces *p = c->pieces;
        p->head = arena_strndup(c->arena, to_first, head);
        p->user = text_between(c, to_user + answer_end, arena_strndup(c->arena, to_answer, end));
        p->answer = text_between(c, to_answer + end, arena_strndup(c->arena, to_user, answer_end));
        p->open = to_end + end;
        return true;
}

/* The default system message: the text between the two parts of the system's piece in a conversation without
 * one. */
static void find_default(TemplateCut *c, const char *before, const char *behind)
{
        const char *head = c->pieces->head;
        size_t n = strlen(head), left = strlen(before), right = strlen(behind);
        if (left + right == 0 || n < left + right || !starts(head, before) ||
            strcmp(head + n - right, behind) != 0)
                return;
        c->pieces->default_system = arena_strndup(c->arena, head + left, (int64_t)(n - left - right));
}

static bool cut_system(TemplateCut *c)
{
        Sample one;
        ChatFault fault;
        ChatPieces *p = c->pieces;
        if (!sample_text(c, true, 1, true, &one, &fault) || !strstr(one.text, c->mark[0]))
                return true; /* the template has no system role */
        if (!find_marks(c, &one))
                return false;
        const char *hole = strstr(p->user, "{}"), *before = cut_part(c, &one, 0, one.from[0]);
        const char *between = cut_part(c, &one, one.to[0], one.from[1]);
        size_t n = strlen(between), begin = (size_t)(hole - p->user);
        const char *user_end = hole + 2;
        if (n >= begin && !strncmp(between + n - begin, p->user, begin)) {
                const char *behind = arena_strndup(c->arena, between, (int64_t)(n - begin));
                bool within = begin > 0 && strlen(before) >= strlen(p->head) + begin &&
                              !strncmp(before + strlen(p->head), p->user, begin) && !*behind;
                if (!within) {
                        p->system = text_between(c, before, behind);
                        find_default(c, before, behind);
                        return true;
                }
        }
        p->first_user = arena_printf(c->arena, "%s{system}%s", before, text_between(c, between, user_end));
        return true;
}

/* --- comparison of the pieces with the template --- */

static bool template_holds(TemplateCut *c, bool system, int messages)
{
        Sample s;
        if (!sampled(c, system, messages, true, &s))
                return false;
        ChatSaid first = said_by(c, 0), said[MARKS];
        for (int i = 0; i < messages; i++)
                said[i] = said_by(c, i + 1);
        const char *text = chat_by_pieces(c->arena, c->pieces, system ? &first : NULL, said, messages);
        if (!strcmp(text, s.text))
                return true;
        return pieces_refuse(c,
                             "a conversation of %d message%s%s is not a sequence of the same pieces: it "
                             "differs at byte %lld",
                             messages, messages > 1 ? "s" : "", system ? " and a system message" : "",
                             (long long)chat_common_start(text, s.text));
}

static bool all_hold(TemplateCut *c)
{
        bool system = c->pieces->system || c->pieces->first_user;
        for (int with = 0; with < (system ? 2 : 1); with++)
                for (int turns = 1; turns <= TURNS; turns++)
                        if (!template_holds(c, with, 2 * turns - 1))
                                return false;
        return true;
}

/* --- white space around messages --- */

/* Whether a sample contains `before mark behind` for mark i, with the white space around the mark. */
static bool keeps(const TemplateCut *c, const Sample *s, const char *piece, int i, const char *before,
                  const char *behind)
{
        const char *hole = strstr(piece, "{}");
        const char *kept = arena_printf(c->arena, "%s%s%s", before, c->mark[i], behind);
        const char *found = strstr(s->text, kept);
        const char *mark = strstr(s->text, c->mark[i]);
        int64_t left = found ? found - s->text : -1, length = hole - piece < 8 ? hole - piece : 8;
        if (!found || found + strlen(before) != mark || left < length)
                return false;
        const char *next = found + strlen(kept);
        return !strncmp(found - length, hole - length, (size_t)length) &&
               (!hole[2] || *next == hole[2] || !*next);
}

static bool trims(TemplateCut *c, const char *piece, int i, const char *what, ChatTrim *trim)
{
        static const char *const kept[3][2][2] = {
                [CHAT_KEEPS] = {{"\n ", " \n"}, {" \n", "\n "}},
                [CHAT_TRIMS_LINES] = {{" ", " "}, {" \n", "\n "}},
                [CHAT_TRIMS] = {{"", ""}, {"", ""}},
        };
        Sample sample_of[2];
        bool system = i == 0;
        ChatFault fault;
        for (int k = 0; k < 2; k++) {
                c->before = kept[CHAT_KEEPS][k][0];
                c->behind = kept[CHAT_KEEPS][k][1];
                bool rendered = sample_text(c, system, 3, true, &sample_of[k], &fault);
                c->before = c->behind = "";
                if (!rendered)
                        return pieces_refuse(c, "rendering messages with surrounding white space fails");
        }
        for (int t = CHAT_KEEPS; t <= CHAT_TRIMS; t++)
                if (keeps(c, &sample_of[0], piece, i, kept[t][0][0], kept[t][0][1]) &&
                    keeps(c, &sample_of[1], piece, i, kept[t][1][0], kept[t][1][1])) {
                        *trim = (ChatTrim)t;
                        return true;
                }
        return pieces_refuse(c, "it removes part of the white space around %s", what);
}

static bool find_trims(TemplateCut *c)
{
        ChatPieces *p = c->pieces;
        const char *first = p->first_user ? strstr(p->first_user, "{system}") : NULL;
        const char *system = p->system;
        if (first)
                system = text_between(c, arena_strndup(c->arena, p->first_user, first - p->first_user), "");
        return trims(c, p->user, 1, "the user's message", &p->trims_user) &&
               trims(c, p->answer, 2, "an answer", &p->trims_answer) &&
               (!system || trims(c, system, 0, "the system message", &p->trims_system));
}

ChatPieces chat_cut(Arena *a, const ChatWriter *w)
{
        ChatPieces p = {0};
        TemplateCut c = {
                .arena = a,
                .writer = w,
                .pieces = &p,
                .mark = {"Qs0zvxQ", "Qu1zvxQ", "Qa2zvxQ", "Qu3zvxQ", "Qa4zvxQ", "Qu5zvxQ", "Qa6zvxQ"},
                .before = "",
                .behind = ""};
        if (cut_turns(&c) && cut_system(&c) && !p.reason && all_hold(&c) && find_trims(&c))
                chat_find_gaps(a, w, &p);
        return p;
}
