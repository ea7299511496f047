/* What of a directory says how a conversation is written: the chat template, cut into knobs of `loop generate`, and the token that an
 * answer ends with. */
#include <stdlib.h>
#include <time.h>

#include "chat/chat.h"
#include "import_private.h"

/* The special token that a text begins with, or is: its id by added_tokens_decoder, the longest; -1: there is none. */
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

static void add_text(Import *m, const char *name, const char *text)
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
                add_text(m, name, roles);
}

static void add_pieces(Import *m, const ChatPieces *p)
{
        if (!p->default_system && *p->head)
                add_text(m, "head", p->head);
        add_text(m, "default_system", p->default_system);
        add_text(m, "system", p->system);
        add_text(m, "first_user", p->first_user);
        add_text(m, "user", p->user);
        add_text(m, "answer", p->answer);
        add_text(m, "open", p->open);
        add_trims(m, p, "trim", CHAT_TRIMS);
        add_trims(m, p, "trim_newlines", CHAT_TRIMS_LINES);
}

/* --- the template --- */

static void add_note(Import *m, const char *note)
{
        m->conversation_note =
                m->conversation_note ? arena_printf(m->arena, "%s %s", m->conversation_note, note) : note;
}

static void note(Import *m, const char *reason, const ChatFault *fault)
{
        const char *place = fault->what && fault->at.source
                                    ? arena_printf(m->arena, " (%s:%d: %s)", fault->at.source->path,
                                                   span_line(fault->at), fault->what)
                                    : "";
        add_note(m, arena_printf(m->arena, "No chat template: %s%s.", reason, place));
}

static ChatDate today(void)
{
        time_t now = time(NULL);
        struct tm tm;
        gmtime_r(&now, &tm);
        return (ChatDate){tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday};
}

/* The pieces; false: none, perhaps with a note. */
static bool cut(Import *m, const ChatSource *s, ChatPieces *p)
{
        ChatFault fault = {0};
        ChatDate date = today();
        ChatTemplate *t = s->text ? chat_parse(m->arena, s->path, s->text, s->n, &fault) : NULL;
        if (!s->text && !s->absent)
                note(m, s->wrong, &fault);
        if (!t && s->text)
                note(m, "it is refused", &fault);
        if (!t)
                return false;
        if (s->left_out)
                add_note(m, arena_printf(m->arena,
                                         "Of the chat templates the one named default is taken, not %s.",
                                         s->left_out));
        *p = chat_cut(m->arena, t, s->variables, date);
        if (p->reason)
                note(m, p->reason, &p->fault);
        else if (p->dated)
                add_note(m, arena_printf(m->arena,
                                         "The chat template asks for the date: it was told %04d-%02d-%02d.",
                                         date.year, date.month, date.day));
        return !p->reason;
}

/* The id of bos_token or the like, -1 */
static int64_t token_named(const ChatSource *s, const char *name)
{
        const char *text = json_string_value(json_object_get(s->variables, name));
        return text ? token_at(s->config, text, true) : -1;
}

void conversation_read(Import *m, const char *folder)
{
        ChatSource s = folder ? chat_source(m->arena, *folder ? folder : ".")
                              : gguf_chat_source(m->arena, m->tensors);
        ChatPieces p = {0};
        m->begin = token_named(&s, "bos_token");
        m->ends[0] = token_named(&s, "eos_token");
        m->ends[1] = -1;
        if (cut(m, &s, &p)) {
                m->ends[1] = token_at(s.config, strstr(p.answer, "{}") + 2, false);
                add_pieces(m, &p);
        }
        chat_source_free(&s);
}
