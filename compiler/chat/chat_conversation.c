/* Renders a conversation by a template or by its pieces. */
#include <stdlib.h>

#include "chat_private.h"

/* --- by the template --- */

/* The content of a message, with parts as a list of one part. */
static json_t *content_of(json_t *text, bool parts)
{
        return parts ? json_pack("[{s:s, s:o}]", "type", "text", "text", text) : text;
}

static void add_message(json_t *messages, const char *role, const ChatSaid *said, bool parts)
{
        json_t *text = json_stringn(said->text, (size_t)said->n);
        json_array_append_new(messages,
                              json_pack("{s:s, s:o}", "role", role, "content", content_of(text, parts)));
}

/* Adds messages that were given. */
static void chat_add_given(json_t *messages, const json_t *given, bool parts)
{
        for (size_t i = 0; i < json_array_size(given); i++) {
                json_t *message = json_copy(json_array_get(given, i)),
                       *content = json_object_get(message, "content");
                if (parts && json_is_string(content))
                        json_object_set_new(message, "content", content_of(json_incref(content), true));
                json_array_append_new(messages, message);
        }
}

bool chat_write(Arena *a, const ChatWriter *w, const ChatSaid *system, const ChatSaid *turn, int64_t n,
                bool opens, ChatText *out, ChatFault *fault)
{
        json_t *all = w->variables ? json_copy((json_t *)w->variables) : json_object(), *list = json_array();
        if (system)
                add_message(list, "system", system, w->parts);
        chat_add_given(list, w->before, w->parts);
        for (int64_t i = 0; i < n; i++)
                add_message(list, i % 2 ? "assistant" : "user", &turn[i], w->parts);
        json_object_set_new(all, "messages", list);
        json_object_set_new(all, "add_generation_prompt", json_boolean(opens));
        bool written = chat_render(a, w->template, all, w->date, out, fault);
        json_decref(all);
        return written;
}

static const ChatSaid said_by_system = {"Qs0zvxQ", 7},
                      said_first[] = {{"Qu1zvxQ", 7}, {"Qa2zvxQ", 7}, {"Qu3zvxQ", 7}};

static bool writes(Arena *a, const ChatWriter *w, const ChatSaid *system, int n, const ChatSaid *wanted,
                   const char **found)
{
        ChatText text;
        ChatFault fault;
        ChatWriter probe = *w;
        probe.before = NULL;
        *found = chat_write(a, &probe, system, said_first, n, n % 2, &text, &fault)
                         ? strstr(text.text, wanted->text)
                         : NULL;
        return *found != NULL;
}

ChatWriter chat_writer(Arena *a, const ChatTemplate *t, const json_t *variables, ChatDate date)
{
        ChatWriter w = {.template = t, .variables = variables, .date = date}, parts = w;
        const char *found;
        parts.parts = true;
        const bool as_text = writes(a, &w, NULL, 1, said_first, &found);
        return !as_text && writes(a, &parts, NULL, 1, said_first, &found) ? parts : w;
}

bool chat_takes_system(Arena *a, const ChatWriter *w)
{
        const char *found;
        return writes(a, w, &said_by_system, 1, &said_by_system, &found);
}

const char *chat_after_answer(Arena *a, const ChatWriter *w)
{
        const char *found;
        return writes(a, w, NULL, 3, &said_first[1], &found) || writes(a, w, NULL, 2, &said_first[1], &found)
                       ? found + said_first[1].n
                       : NULL;
}

/* --- by the pieces --- */

static void put_piece(Text *to, const char *piece, const char *hole, ChatSaid said)
{
        const char *at = strstr(piece, hole);
        text_add(to, piece, at - piece);
        text_add(to, said.text, said.n);
        if (!strcmp(hole, "{}"))
                text_printf(to, "%s", at + 2);
}

/* White space at an end of text [n]: newlines only, or all. */
static int64_t white_at(const char *text, int64_t n, bool end, bool newlines)
{
        int64_t k = 0;
        while (k < n) {
                const char c = text[end ? n - 1 - k : k];
                if (newlines ? c != '\n' : !strchr(" \t\n\r\f\v", c))
                        break;
                k++;
        }
        return k;
}

static ChatSaid stripped(ChatSaid said, bool start, bool end, bool newlines)
{
        const int64_t skip = start ? white_at(said.text, said.n, false, newlines) : 0;
        said = (ChatSaid){said.text + skip, said.n - skip};
        if (end)
                said.n -= white_at(said.text, said.n, true, newlines);
        return said;
}

static ChatSaid said_trimmed(ChatSaid said, ChatTrim trim)
{
        return trim == CHAT_KEEPS ? said : stripped(said, true, true, trim == CHAT_TRIMS_LINES);
}

static ChatSaid without_thought(const ChatPieces *p, ChatSaid said)
{
        const char *rest = NULL;
        for (const char *at = said.text; (at = strstr(at, p->thought_end)); at++)
                rest = at + strlen(p->thought_end);
        if (!rest)
                return said;
        return stripped((ChatSaid){rest, said.n - (rest - said.text)}, p->thought_white != CHAT_WHITE_STAYS,
                        p->thought_white == CHAT_WHITE_ENDS, p->thought_white == CHAT_WHITE_NEWLINES);
}

const char *chat_by_pieces(Arena *a, const ChatPieces *p, const ChatSaid *system, const ChatSaid *turn, int n)
{
        Text *to = text_new(a);
        int i = 0;
        if (system && p->first_user) {
                put_piece(to, p->first_user, "{system}", said_trimmed(*system, p->trims_system));
                put_piece(to, strstr(p->first_user, "{system}") + strlen("{system}"), "{}",
                          said_trimmed(turn[i++], p->trims_user));
        } else if (system) {
                put_piece(to, p->system, "{}", said_trimmed(*system, p->trims_system));
        } else if (p->default_system) {
                const ChatSaid own = {p->default_system, (int64_t)strlen(p->default_system)};
                put_piece(to, p->system, "{}", said_trimmed(own, p->trims_system));
        } else {
                text_printf(to, "%s", p->head);
        }
        for (; i < n; i++) {
                const ChatSaid answer = i % 2 && p->thought_end ? without_thought(p, turn[i]) : turn[i];
                put_piece(to, i % 2 ? p->answer : p->user, "{}",
                          said_trimmed(answer, i % 2 ? p->trims_answer : p->trims_user));
        }
        text_printf(to, "%s", p->open);
        return to->data;
}
