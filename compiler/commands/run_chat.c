/* lathe run, loop generate: conversations, on a terminal and by lines. */
#include <locale.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../runtime/terminal.h"

#include "generate_private.h"
#include "import/import.h"
#include "../../runtime/conversation.h"
#include "../../runtime/conversation_terminal.h"

static atomic_bool is_answering;

/* For a published model with a tokenizer: its template writes the conversation. */
static void chat_open(GenerateSession *s)
{
        const CommandOptions *o = s->o;
        Arena *a = &s->m->arena;
        ChatFault fault;
        if (!o->source.chat || o->given[OPT_RAW] || s->sounds || !o->tokenizer)
                return;
        s->chat = published_chat_source(a, o->source.chat, o->tools != NULL);
        ChatTemplate *t = s->chat.text ? chat_parse(a, s->chat.path, s->chat.text, s->chat.n, &fault) : NULL;
        if (t)
                s->writer = chat_writer(a, t, s->chat.variables, chat_today());
}

void chat_choose(GenerateSession *s)
{
        static const TalkForm no_form;
        const CommandOptions *o = s->o;
        s->form = o->given[OPT_RAW] ? NULL : model_talks(s->m, o, o->tokenizer ? &s->tokenizer : NULL, "run");
        chat_open(s);
        if (!s->form && s->writer.template)
                s->form = &no_form;
}

int chat_refuse(const GenerateSession *s)
{
        const CommandOptions *o = s->o;
        fprintf(stderr,
                "lathe run: %s is for a published model with a chat template and a tokenizer: %s %s\n",
                o->tools             ? "--tools"
                : o->messages        ? "--messages"
                : o->given[OPT_JSON] ? "--json"
                                     : "--think",
                s->m->graph->name,
                s->form ? "writes conversations by the texts of its loop generate, which have only a "
                          "system's "
                          "message and turns of user and assistant"
                        : "has none, or one that is refused (`lathe template` prints the reason)");
        return WRONG_USAGE;
}

static int takes_system(void *of)
{
        GenerateSession *s = of;
        return s->writer.template ? chat_takes_system(&s->m->arena, &s->writer)
                                  : s->form->system || s->form->first_user;
}

/* Whether the form has a place for --system. */
static bool system_fits(GenerateSession *s)
{
        if (!s->o->system || takes_system(s))
                return true;
        fprintf(stderr, "lathe run: --system: the conversations of %s have no place for it: %s\n",
                s->m->graph->name,
                s->writer.template ? "its chat template writes none"
                                   : "loop generate has no system and no first_user");
        return false;
}

static int64_t chat_position(void *of)
{
        const GenerateSession *s = of;
        return s->unmasks ? 0 : engine_position(s->engine);
}

static void chat_rewind(void *of, int64_t n)
{
        const GenerateSession *s = of;
        if (!s->unmasks && engine_rewind(s->engine, n))
                engine_rewind(s->engine, 0);
}

static bool chat_collect(void *to, const char *text, int64_t n)
{
        text_add(to, text, n);
        return true;
}

/* Generates the answer and prints it; returns an exit code, or CONVERSATION_STOPPED. */
static int chat_answer(void *of, const int32_t *tokens, int64_t n, Generated *made)
{
        GenerateSession *s = of;
        Arena answer = {0};
        const bool as_json = s->o->given[OPT_JSON], in_view = !as_json && s->answers;
        ThoughtView view;
        if (as_json) {
                s->how.show = chat_collect;
                s->how.to = text_new(&answer);
                s->how.control = true;
        }
        if (in_view) {
                thoughts_begin(&view, s->answers, s->o->think == THINK_HIDE);
                s->how.show = thoughts_show;
                s->how.to = &view;
        }
        atomic_store(&is_answering, true);
        int code = generate_show_text(s, tokens, n, made);
        atomic_store(&is_answering, false);
        if (as_json && code == DONE)
                code = chat_print_answer(&answer, s->answers, s->chat.path, &s->given_chat,
                                         ((Text *)s->how.to)->data, ((Text *)s->how.to)->n, "run");
        arena_free(&answer);
        return code == INTERRUPTED && s->editor ? CONVERSATION_STOPPED : code;
}

/* --- on a terminal ------------------------------------------------------------------------------------------------- */

/* On a terminal the conversation continues; a second Ctrl-C ends the program if the answer has not stopped. */
static void chat_on_interrupt(int number)
{
        if (atomic_load(&interrupted) && atomic_load(&is_answering)) {
                chat_echo_on();
                ending_catch(number);
                raise(number);
        }
        atomic_store(&interrupted, true);
}

static void chat_on_end(int number)
{
        chat_echo_on();
        ending_catch(number);
        raise(number);
}

static void chat_catch_signals(void)
{
        struct sigaction act = {.sa_handler = chat_on_interrupt, .sa_flags = SA_RESTART};
        sigaction(SIGINT, &act, NULL);
        act.sa_handler = chat_on_end;
        sigaction(SIGTERM, &act, NULL);
        sigaction(SIGHUP, &act, NULL);
}

static ChatInput chat_edit_line(void *of, const char *prompt, const char **text, int64_t *n)
{
        GenerateSession *s = of;
        size_t length;
        atomic_store(&interrupted, false);
        const bool is_line = editor_line(s->editor, prompt, text, &length);
        const bool dropped = !is_line && atomic_load(&interrupted);
        atomic_store(&interrupted, false);
        *n = is_line ? (int64_t)length : 0;
        return is_line ? CHAT_LINE : dropped ? CHAT_DROPPED : CHAT_END;
}

static void chat_remember(void *of, const char *text, int64_t n)
{
        editor_remember(((GenerateSession *)of)->editor, text, (size_t)n);
}

/* After Ctrl-C, and for a model with inputs that are fed separately, the next turn processes the rest. */
static int take_turns(void *of, const int32_t *ids, int64_t n)
{
        GenerateSession *s = of;
        const int64_t chunk = s->plan->chunk;
        Draft *draft = s->how.draft;
        const char *error = NULL;
        atomic_store(&is_answering, true);
        for (int64_t i = 0; i < n && !error && !s->how.fed && !s->unmasks && !atomic_load(&interrupted);
             i += chunk)
                error = generate_take(s->engine, s->plan, draft, ids + i, n - i < chunk ? n - i : chunk,
                                      NULL);
        atomic_store(&is_answering, false);
        return error ? generate_error(error) : 0;
}

static int converse_on_terminal(GenerateSession *s, const Conversation *c)
{
        setlocale(LC_CTYPE, "");
        s->editor = editor_new("LATHE_CHAT_HISTORY", ".lathe_chat_history", NULL, NULL);
        if (!s->editor)
                return GENERATION_MEMORY;
        chat_catch_signals();
        s->how.chunk = s->plan->chunk; /* Ctrl-C is tested after each */
        ChatTerminal t = {.c = c,
                          .line = chat_edit_line,
                          .remember = chat_remember,
                          .take = take_turns,
                          .takes_system = takes_system,
                          .of = s};
        const int code = chat_on_terminal(&t);
        editor_free(s->editor);
        s->editor = NULL;
        return code;
}

/* --- a conversation ------------------------------------------------------------------------------------------------ */

/* Maximum of tokens before an answer, which is unmasked at once, or else may have one token. */
static int64_t chat_context(const GenerateSession *s)
{
        const Graph *g = s->m->graph;
        if (!s->unmasks)
                return g->named[g->time].bound;
        const int64_t all = unmask_context(g, &s->unmask), answer = s->unmask.form.length;
        return answer < all ? all - answer : all;
}

int chat_converse(GenerateSession *s)
{
        const CommandOptions *o = s->o;
        Talk talk = {.form = s->form, .tables = &s->tokenizer.tables, .system = o->system};
        if (!system_fits(s))
                return WRONG_USAGE;
        const bool given = generate_prompt_given(o) || o->prompt_file;
        if (s->writer.template && !chat_given_use(&s->given_chat, &s->writer, &s->chat, o, "run"))
                return WRONG_USAGE;
        if (o->messages && !given && chat_given_ends_with(&s->given_chat, "assistant")) {
                fprintf(stderr,
                        "lathe run: the last message of %s is an answer; -p TEXT gives the next turn\n",
                        o->messages);
                return WRONG_USAGE;
        }
        generate_note_sampling(s);
        if (s->writer.template)
                talk_by_template(&s->m->arena, &talk, &s->writer, o->messages && !given);
        if (s->writer.template && (o->given[OPT_JSON] || o->given[OPT_THINK] || isatty(STDOUT_FILENO)))
                s->answers = chat_answer_form(&s->m->arena, &s->writer);
        s->how.talk = &talk;
        const Conversation c = {.talk = &talk,
                                .context = chat_context(s),
                                .of = s,
                                .position = chat_position,
                                .rewind = chat_rewind,
                                .answer = chat_answer};
        int64_t n = 0;
        const char *text = given ? generate_prompt_text(s, &n) : o->messages ? "" : NULL;
        const bool on_terminal = !given && !o->messages && !o->given[OPT_JSON] && isatty(STDIN_FILENO) &&
                                 isatty(STDOUT_FILENO);
        int code = on_terminal ? converse_on_terminal(s, &c)
                   : text      ? conversation_turn(&c, text, n)
                   : given     ? WRONG_ENVIRONMENT
                               : conversation_lines(&c);
        talk_free(&talk);
        return code == GENERATION_MEMORY                                   ? generate_error(no_memory)
               : code == CONVERSATION_FULL || code == CONVERSATION_REFUSED ? WRONG_INPUT
                                                                           : code;
}
