/* Conversations of a directory's model: its chat template, converted to settings of `loop generate`, and
 * the token that ends an answer. */
#include <stdlib.h>

#include "chat/chat.h"
#include "import_private.h"

/* Id of the longest special token that the text begins with, or is (whole), by added_tokens_decoder; -1:
 * none. */
static int64_t token_at(const json_t *config, const char *text, bool whole)
{
        const json_t *all = json_object_get(config, "added_tokens_decoder");
        size_t longest = 0;
        int64_t id = -1;
        const char *key;
        json_t *token;
        json_object_foreach ((json_t *)all, key, token) {
                const char *content = json_string_value(json_object_get(token, "content"));
                size_t n = content ? strlen(content) : 0;
                if (n <= longest || strncmp(text, content, n) != 0 || (whole && text[n]))
                        continue;
                longest = n;
                id = strspn(key, "0123456789") == strlen(key) && strlen(key) < 10 ? strtol(key, NULL, 10)
                                                                                  : -1;
        }
        return id;
}

static void conversation_text(Import *m, const char *name, const char *text)
{
        if (!text)
                return;
        Ast *knob = ast_new(m->arena, AST_SETTING, (Span){0}, 1);
        knob->name = name;
        knob->kid[0] = ast_new(m->arena, AST_STRING, (Span){0}, 0);
        knob->kid[0]->name = text;
        GROW(m->arena, m->knob, m->nknob, m->knob_cap);
        m->knob[m->nknob++] = knob;
}

static void add_trims(Import *m, const ChatPieces *p, const char *name, ChatTrim trim)
{
        const struct {
                const char *role;
                ChatTrim trim;
        } of[] = {{"system", p->trims_system}, {"user", p->trims_user}, {"answer", p->trims_answer}};
        const char *roles = "";
        for (int i = 0; i < 3; i++)
                if (of[i].trim == trim)
                        roles = arena_printf(m->arena, "%s%s%s", roles, *roles ? " " : "", of[i].role);
        if (*roles)
                conversation_text(m, name, roles);
}

static void add_pieces(Import *m, const ChatPieces *p)
{
        if (!p->default_system && *p->head)
                conversation_text(m, "head", p->head);
        conversation_text(m, "default_system", p->default_system);
        conversation_text(m, "system", p->system);
        conversation_text(m, "first_user", p->first_user);
        conversation_text(m, "user", p->user);
        conversation_text(m, "answer", p->answer);
        conversation_text(m, "open", p->open);
        add_trims(m, p, "trim", CHAT_TRIMS);
        add_trims(m, p, "trim_newlines", CHAT_TRIMS_LINES);
        conversation_text(m, "thought_end", p->thought_end);
        if (p->thought_white)
                conversation_text(m, "thought_white", chat_white_name(p->thought_white));
}

/* --- the template --- */

static void add_note(Import *m, const char *note)
{
        m->conversation_note =
                m->conversation_note ? arena_printf(m->arena, "%s %s", m->conversation_note, note) : note;
}

static void note_fault(Import *m, const char *reason, const ChatFault *fault)
{
        const char *place = fault->message && fault->at.source
                                    ? arena_printf(m->arena, " (%s:%d: %s)", fault->at.source->path,
                                                   span_line(fault->at), fault->message)
                                    : "";
        add_note(m, arena_printf(m->arena, "No chat template: %s%s.", reason, place));
}

/* The special token right after an answer; -1: none. */
static int64_t token_after_answer(const Import *m, const ChatSource *s, const ChatWriter *w)
{
        const char *after = chat_after_answer(m->arena, w);
        return after ? token_at(s->config, after, false) : -1;
}

/* Splits the template into pieces; false: not possible, maybe with a note. */
static bool cut(Import *m, const ChatSource *s, ChatPieces *p)
{
        ChatFault fault = {0};
        ChatDate date = chat_today();
        ChatTemplate *t = s->text ? chat_parse(m->arena, s->path, s->text, s->n, &fault) : NULL;
        if (!s->text && !s->absent)
                note_fault(m, s->wrong, &fault);
        if (!t && s->text)
                note_fault(m, "it is refused", &fault);
        if (!t)
                return false;
        if (s->left_out)
                add_note(m, arena_printf(m->arena,
                                         "Of the chat templates the one named default is used, not %s.",
                                         s->left_out));
        const ChatWriter w = chat_writer(m->arena, t, s->variables, date);
        *p = chat_cut(m->arena, &w);
        m->chat = true;
        m->chat_fault = p->reason ? p->reason : p->partly;
        m->ends[1] = token_after_answer(m, s, &w);
        if (p->reason)
                note_fault(m, p->reason, &p->fault);
        else if (p->dated)
                add_note(m, arena_printf(m->arena,
                                         "The chat template asks for the date; it was given %04d-%02d-%02d.",
                                         date.year, date.month, date.day));
        if (p->partly)
                add_note(m, arena_printf(m->arena,
                                         "The settings below express only a part of the chat template: %s.",
                                         p->partly));
        return !p->reason;
}

/* Id of bos_token or another token, or -1. */
static int64_t conversation_token(const ChatSource *s, const char *name)
{
        const char *text = json_string_value(json_object_get(s->variables, name));
        return text ? token_at(s->config, text, true) : -1;
}

void conversation_read(Import *m, const char *folder)
{
        ChatSource s = folder ? chat_source(m->arena, *folder ? folder : ".", false)
                              : gguf_chat_source(m->arena, m->tensors, false);
        ChatPieces p = {0};
        m->begin = conversation_token(&s, "bos_token");
        m->ends[0] = conversation_token(&s, "eos_token");
        m->ends[1] = -1;
        if (cut(m, &s, &p))
                add_pieces(m, &p);
        chat_source_free(&s);
}
