/* A template cut into pieces, by what it renders: conversations of marks, with and without a system message, of one turn and more.
 *
 * The pieces are those texts between the marks that all conversations share.  Whatever they say of one of them that the template does
 * not render is a reason not to cut. */
#include <stdlib.h>

#include "chat_private.h"

enum { TURNS = 3, MARKS = 2 * TURNS + 1 };

typedef struct {
        Arena *arena;
        const ChatTemplate *template;
        const json_t *variables;
        ChatDate date;
        ChatPieces *pieces;
        const char *mark[MARKS];     /* system, then user, answer, user … */
        const char *before, *behind; /* what stands around each mark within its message */
        bool parts;                  /* contents are lists of parts */
} Cut;

/* A rendered conversation and where its marks stand. */
typedef struct {
        const char *text; /* NULL: the template refuses it */
        int64_t n, from[MARKS], to[MARKS];
        bool system;
        int messages; /* besides the system's */
} Sample;

static bool refuse(Cut *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(Cut *c, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        if (!c->pieces->reason)
                c->pieces->reason = arena_vprintf(c->arena, format, args);
        va_end(args);
        return false;
}

/* --- samples --- */

void chat_say(json_t *messages, const char *role, const char *content, size_t n, bool parts)
{
        json_t *text = json_stringn(content, n);
        json_array_append_new(messages, parts ? json_pack("{s:s, s:[{s:s, s:o}]}", "role", role, "content",
                                                          "type", "text", "text", text)
                                              : json_pack("{s:s, s:o}", "role", role, "content", text));
}

static json_t *conversation(const Cut *c, bool system, int messages, bool open)
{
        json_t *all = c->variables ? json_deep_copy(c->variables) : json_object(), *list = json_array();
        for (int i = system ? 0 : 1; i <= messages; i++) {
                const char *content = arena_printf(c->arena, "%s%s%s", c->before, c->mark[i], c->behind);
                chat_say(list,
                         i == 0  ? "system"
                         : i % 2 ? "user"
                                 : "assistant",
                         content, strlen(content), c->parts);
        }
        json_object_set_new(all, "messages", list);
        json_object_set_new(all, "add_generation_prompt", json_boolean(open));
        return all;
}

/* With marks as the contents; false: the template refuses, with the fault. */
static bool sample(Cut *c, bool system, int messages, bool open, Sample *s, ChatFault *fault)
{
        json_t *all = conversation(c, system, messages, open);
        ChatText text = {0};
        *s = (Sample){.system = system, .messages = messages};
        bool rendered = chat_render(c->arena, c->template, all, c->date, &text, fault);
        json_decref(all);
        if (!rendered)
                return false;
        s->text = text.text;
        s->n = text.n;
        c->pieces->dated = c->pieces->dated || text.dated;
        return true;
}

static const char *who(int i)
{
        return i == 0 ? "the system message" : i % 2 ? "what a user says" : "an answer";
}

/* Each mark once, and in order. */
static bool find_marks(Cut *c, Sample *s)
{
        const char *at = s->text;
        if ((int64_t)strlen(s->text) != s->n)
                return refuse(c, "it prints a NUL");
        for (int i = s->system ? 0 : 1; i <= s->messages; i++) {
                const char *found = strstr(s->text, c->mark[i]);
                if (!found)
                        return refuse(c, "it leaves out %s in a conversation of %d", who(i), s->messages);
                if (strstr(found + 1, c->mark[i]))
                        return refuse(c, "it says %s twice", who(i));
                if (found < at)
                        return refuse(c, i == 1 && s->system
                                                 ? "the system message stands behind what a user says"
                                                 : "messages stand in another order than they were said");
                s->from[i] = found - s->text;
                at = found + strlen(c->mark[i]);
                s->to[i] = at - s->text;
        }
        return true;
}

static bool sampled(Cut *c, bool system, int messages, bool open, Sample *s)
{
        if (!sample(c, system, messages, open, s, &c->pieces->fault))
                return refuse(c, "it refuses a conversation of %d message%s%s", messages,
                              messages > 1 ? "s" : "", system ? " and a system message" : "");
        return find_marks(c, s);
}

/* --- cutting --- */

static const char *part(const Cut *c, const Sample *s, int64_t from, int64_t to)
{
        return arena_strndup(c->arena, s->text + from, to - from);
}

/* a {} b, where braces of the texts stay what they are: a text with {} of its own can't be told */
static const char *around(Cut *c, const char *a, const char *b)
{
        if (strstr(a, "{}") || strstr(b, "{}"))
                refuse(c, "it prints {}, which stands for what was said");
        return arena_printf(c->arena, "%s{}%s", a, b);
}

static int64_t common_start(const char *a, const char *b)
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

/* How many bytes of `between`, what stands between message i and the next, belong to message i: what stands behind it where it is the
 * last one and nothing is opened.  -1: that says nothing. */
static int64_t own_end(Cut *c, int i, const char *between)
{
        Sample s;
        ChatFault fault;
        if (!sample(c, false, i, false, &s, &fault) || !s.text)
                return -1;
        const char *found = strstr(s.text, c->mark[i]);
        const char *end = found ? found + strlen(c->mark[i]) : between;
        return found && starts(between, end) ? (int64_t)strlen(end) : -1;
}

static int64_t end_of_user(Cut *c, const char *to_answer, const char *to_end)
{
        int64_t n = own_end(c, 1, to_answer);
        return n >= 0 && !strncmp(to_answer, to_end, (size_t)n) ? n : common_start(to_answer, to_end);
}

/* How many bytes before a user's text belong to its turn: those at the end of `to_user`, what stands between an answer and it, that also
 * stand at the end of `to_first`. */
static int64_t begin_of_user(Cut *c, const char *to_user, const char *to_first)
{
        int64_t n = own_end(c, 2, to_user), length = (int64_t)strlen(to_user),
                shared = common_end(to_user, to_first);
        return n >= 0 && length - n <= shared ? length - n : shared;
}

static bool cut_turns(Cut *c)
{
        Sample one, two;
        if (!sampled(c, false, 1, true, &one) || !sampled(c, false, 3, true, &two))
                return false;
        const char *to_first = part(c, &one, 0, one.from[1]), *to_end = part(c, &one, one.to[1], one.n);
        const char *to_answer = part(c, &two, two.to[1], two.from[2]),
                   *to_user = part(c, &two, two.to[2], two.from[3]);
        int64_t end = end_of_user(c, to_answer, to_end), begin = begin_of_user(c, to_user, to_first);
        int64_t answer_end = (int64_t)strlen(to_user) - begin, head = (int64_t)strlen(to_first) - begin;
        ChatPieces *p = c->pieces;
        p->head = arena_strndup(c->arena, to_first, head);
        p->user = around(c, to_user + answer_end, arena_strndup(c->arena, to_answer, end));
        p->answer = around(c, to_answer + end, arena_strndup(c->arena, to_user, answer_end));
        p->open = to_end + end;
        return true;
}

/* The message that the head without one says: it is what stands between the two sides of the system's piece. */
static void find_default(Cut *c, const char *before, const char *behind)
{
        const char *head = c->pieces->head;
        size_t n = strlen(head), left = strlen(before), right = strlen(behind);
        if (left + right == 0 || n < left + right || !starts(head, before) ||
            strcmp(head + n - right, behind) != 0)
                return;
        c->pieces->default_system = arena_strndup(c->arena, head + left, (int64_t)(n - left - right));
}

static bool cut_system(Cut *c)
{
        Sample one;
        ChatFault fault;
        ChatPieces *p = c->pieces;
        if (!sample(c, true, 1, true, &one, &fault) || !strstr(one.text, c->mark[0]))
                return true; /* there is no role of a system */
        if (!find_marks(c, &one))
                return false;
        const char *hole = strstr(p->user, "{}"), *before = part(c, &one, 0, one.from[0]);
        const char *between = part(c, &one, one.to[0], one.from[1]);
        size_t n = strlen(between), begin = (size_t)(hole - p->user);
        const char *user_end = hole + 2;
        if (n >= begin && !strncmp(between + n - begin, p->user, begin)) {
                const char *behind = arena_strndup(c->arena, between, (int64_t)(n - begin));
                bool within = begin > 0 && strlen(before) >= strlen(p->head) + begin &&
                              !strncmp(before + strlen(p->head), p->user, begin) && !*behind;
                if (!within) {
                        p->system = around(c, before, behind);
                        find_default(c, before, behind);
                        return true;
                }
        }
        p->first_user = arena_printf(c->arena, "%s{system}%s", before, around(c, between, user_end));
        return true;
}

/* --- what the pieces say, against what the template says --- */

static void put(Text *t, const char *piece, const char *what)
{
        const char *hole = strstr(piece, "{}");
        text_add(t, piece, hole - piece);
        text_add(t, what, (int64_t)strlen(what));
        text_add(t, hole + 2, (int64_t)strlen(hole + 2));
}

static void put_first(const Cut *c, Text *t)
{
        const char *piece = c->pieces->first_user, *hole = strstr(piece, "{system}");
        text_add(t, piece, hole - piece);
        text_add(t, c->mark[0], (int64_t)strlen(c->mark[0]));
        put(t, hole + strlen("{system}"), c->mark[1]);
}

static const char *assembled(const Cut *c, bool system, int messages)
{
        const ChatPieces *p = c->pieces;
        Text *t = text_new(c->arena);
        bool merged = system && p->first_user;
        if (merged)
                put_first(c, t);
        else if (system)
                put(t, p->system, c->mark[0]);
        else if (p->default_system)
                put(t, p->system, p->default_system);
        else
                text_printf(t, "%s", p->head);
        for (int i = merged ? 2 : 1; i <= messages; i++)
                put(t, i % 2 ? p->user : p->answer, c->mark[i]);
        text_printf(t, "%s", p->open);
        return t->data;
}

static bool holds(Cut *c, bool system, int messages)
{
        Sample s;
        if (!sampled(c, system, messages, true, &s))
                return false;
        const char *text = assembled(c, system, messages);
        if (!strcmp(text, s.text))
                return true;
        return refuse(
                c,
                "a conversation of %d message%s%s is no sequence of the same pieces: it differs at byte %lld",
                messages, messages > 1 ? "s" : "", system ? " and a system message" : "",
                (long long)common_start(text, s.text));
}

static bool all_hold(Cut *c)
{
        bool system = c->pieces->system || c->pieces->first_user;
        for (int with = 0; with < (system ? 2 : 1); with++)
                for (int turns = 1; turns <= TURNS; turns++)
                        if (!holds(c, with, 2 * turns - 1))
                                return false;
        return true;
}

/* --- white around what was said --- */

/* What is left of `before mark behind` in a sample: where mark i begins and ends with its white. */
static bool keeps(const Cut *c, const Sample *s, const char *piece, int i, const char *before,
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

static bool trims(Cut *c, const char *piece, int i, const char *what, ChatTrim *trim)
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
                bool rendered = sample(c, system, 3, true, &sample_of[k], &fault);
                c->before = c->behind = "";
                if (!rendered)
                        return refuse(c, "it refuses messages with white around them");
        }
        for (int t = CHAT_KEEPS; t <= CHAT_TRIMS; t++)
                if (keeps(c, &sample_of[0], piece, i, kept[t][0][0], kept[t][0][1]) &&
                    keeps(c, &sample_of[1], piece, i, kept[t][1][0], kept[t][1][1])) {
                        *trim = (ChatTrim)t;
                        return true;
                }
        return refuse(c, "it takes a part of the white around %s", what);
}

static bool find_trims(Cut *c)
{
        ChatPieces *p = c->pieces;
        const char *first = p->first_user ? strstr(p->first_user, "{system}") : NULL;
        const char *system = p->system;
        if (first)
                system = around(c, arena_strndup(c->arena, p->first_user, first - p->first_user), "");
        return trims(c, p->user, 1, "what a user says", &p->trims_user) &&
               trims(c, p->answer, 2, "an answer", &p->trims_answer) &&
               (!system || trims(c, system, 0, "the system message", &p->trims_system));
}

static Cut cut_new(Arena *a, const ChatTemplate *t, const json_t *variables, ChatDate date, bool parts,
                   ChatPieces *p)
{
        static const char *const mark[MARKS] = {"Qs0zvxQ", "Qu1zvxQ", "Qa2zvxQ", "Qu3zvxQ",
                                                "Qa4zvxQ", "Qu5zvxQ", "Qa6zvxQ"};
        *p = (ChatPieces){0};
        Cut c = {.arena = a,
                 .template = t,
                 .variables = variables,
                 .date = date,
                 .pieces = p,
                 .before = "",
                 .behind = "",
                 .parts = parts};
        memcpy(c.mark, mark, sizeof mark);
        return c;
}

bool chat_wants_parts(Arena *a, const ChatTemplate *t, const json_t *variables, ChatDate date)
{
        bool said[2];
        for (int parts = 0; parts < 2; parts++) {
                ChatPieces p;
                Cut c = cut_new(a, t, variables, date, parts, &p);
                Sample s;
                said[parts] = sample(&c, false, 1, true, &s, &p.fault) && strstr(s.text, c.mark[1]);
        }
        return said[1] && !said[0];
}

ChatPieces chat_cut(Arena *a, const ChatTemplate *t, const json_t *variables, ChatDate date)
{
        ChatPieces p;
        Cut c = cut_new(a, t, variables, date, chat_wants_parts(a, t, variables, date), &p);
        if (cut_turns(&c) && cut_system(&c) && !p.reason && all_hold(&c))
                find_trims(&c);
        return p;
}
