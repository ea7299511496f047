/* chat: chat templates, in the format of published models; independent of lathe's models.
 *
 * A template is written in Jinja2.  The part of Jinja2 that published templates use is parsed (chat_scan.c,
 * chat_parse.c, chat_parse_expression.c) and evaluated (chat_render.c, chat_evaluate.c, chat_call.c, with
 * tables in chat_text_routines.c, chat_value_routines.c and chat_tests.c) as Python's jinja2 does in
 * transformers: trim_blocks and lstrip_blocks on, nothing escaped, values immutable. chat_conversation.c
 * renders conversations by a template; chat_messages.c reads their messages and tools; chat_pieces.c splits a template into texts from which a conversation
 * is composed; chat_source.c finds the template in the files of a model.
 *
 * Evaluation always ends, see the bounds below.  Unsupported constructs are rejected with their name and
 * position. */
#ifndef CHAT_H
#define CHAT_H
#include <jansson.h>

#include "base/base.h"

enum {
        CHAT_STEPS = 1000000, /* of an evaluation; long texts and lists take more than one */
        CHAT_BYTES = 1 << 20, /* of a template, of a rendered text, and of any text in between */
        CHAT_NESTING = 64,    /* nested blocks, brackets, macro calls, lists */
        CHAT_HEIGHT = 256,    /* of an expression: a + b + … */
};

/* Error of a template. */
typedef struct {
        Span at;
        const char *message; /* NULL: no error */
} ChatFault;

/* The date of strftime_now; the time is midnight. */
typedef struct {
        int year, month, day;
} ChatDate;

typedef struct ChatTemplate ChatTemplate;

/* chat_parse.c: NULL with the fault.  text need not outlive the call. */
ChatTemplate *chat_parse(Arena *a, const char *path, const char *text, int64_t n, ChatFault *fault);

/* chat_render.c: rendered with the variables of an object: messages, bos_token, add_generation_prompt … */
typedef struct {
        const char *text; /* n bytes and a NUL */
        int64_t n;
        bool dated; /* it depends on the date */
} ChatText;
bool chat_render(Arena *a, const ChatTemplate *t, const json_t *variables, ChatDate date, ChatText *out,
                 ChatFault *fault);

/* chat_conversation.c: a template as a writer of conversations. */
typedef struct {
        const char *text;
        int64_t n;
} ChatSaid;
typedef struct {
        const ChatTemplate *template;
        const json_t *variables; /* in addition to messages; NULL: none */
        const json_t *before;    /* messages before the turns; NULL: none */
        ChatDate date;
        /* each content is a list of parts, [{"type": "text", "text": …}], because the template skips plain
         * texts */
        bool parts;
} ChatWriter;
ChatWriter chat_writer(Arena *a, const ChatTemplate *t, const json_t *variables, ChatDate date);
/* The system's message, NULL: none; then turns [n]: user, answer, user …  opens: the text ends at the
 * start of the next answer.  Texts are UTF-8. */
bool chat_write(Arena *a, const ChatWriter *w, const ChatSaid *system, const ChatSaid *turn, int64_t n,
                bool opens, ChatText *out, ChatFault *fault);
/* Whether the template writes a system message. */
bool chat_takes_system(Arena *a, const ChatWriter *w);
/* Text directly after an earlier answer; NULL: unknown. */
const char *chat_after_answer(Arena *a, const ChatWriter *w);

/* chat_messages.c: what templates read beside the turns, from JSON; NULL with *wrong, a whole message.
 * Tools are a list of objects.  Messages are objects, a line each, as transformers passes them to a
 * template. */
json_t *chat_read_tools(Arena *a, const char *path, const char *text, int64_t n, const char **wrong);
json_t *chat_read_messages(Arena *a, const char *path, const char *text, int64_t n, const char **wrong);
bool chat_is_from(const json_t *message, const char *role);
/* Whether the template reads the variable. */
bool chat_reads(const ChatTemplate *t, const char *variable);

/* chat_compare.c: literals with which the template may compare messages, without those that it only
 * prints. */
const char *const *chat_literals(Arena *a, const ChatTemplate *t, int *n);

/* chat_pieces.c: a conversation is head, or system with its message; user and answer for each turn; user;
 * open.  `{}` is the place of the message.  Unused texts are NULL. */
typedef enum {
        CHAT_KEEPS,
        CHAT_TRIMS_LINES,
        CHAT_TRIMS
} ChatTrim; /* newlines, or all white space, at both ends */
/* White space that is stripped from the text after a thought. */
typedef enum {
        CHAT_WHITE_STAYS,
        CHAT_WHITE_NEWLINES, /* newlines at its beginning */
        CHAT_WHITE_START,    /* all at its beginning */
        CHAT_WHITE_ENDS      /* all at both ends */
} ChatWhite;
typedef struct {
        const char *head;           /* text before the first turn without a system message; "": none */
        const char *system;         /* text before the first turn with one */
        const char *default_system; /* default system message, with which head is system */
        const char *user, *answer, *open;
        const char *first_user; /* the first turn with a system message in it: `{system}` */
        ChatTrim trims_system, trims_user, trims_answer;
        /* an earlier answer up to the last occurrence is dropped; NULL: answers are complete */
        const char *thought_end;
        ChatWhite thought_white;
        const char *partly; /* difference between the template and the pieces, in words; NULL: none known */
        bool dated;
        const char *reason; /* why the template can't be split, or NULL */
        ChatFault fault;    /* the template's error for it, or none */
} ChatPieces;
/* value of the setting thought_white: newlines, start, ends; or "" */
const char *chat_white_name(ChatWhite white);
ChatPieces chat_cut(Arena *a, const ChatWriter *w);

/* chat_pair.c: the template for a query and a document, {first} and {second}; NULL, with *why.  *with_prompt: the
 * same with {prompt}, or NULL: it has no place for one; *own_prompt: the text there without one, or NULL. */
const char *chat_pair(Arena *a, const ChatWriter *w, const char **with_prompt, const char **own_prompt,
                      ChatFault *fault, const char **why);

/* chat_answer_form.c: how answers of a template have thoughts and calls of tools, found from the template. */
typedef struct ChatAnswerForm ChatAnswerForm;
const ChatAnswerForm *chat_answer_form(Arena *a, const ChatWriter *w);
/* The texts around a thought, or NULL; *begun: an answer begins within one. */
void chat_thought_marks(const ChatAnswerForm *f, const char **begin, const char **end, bool *begun);
/* whether the template writes calls in a form that can be read */
bool chat_calls_are_known(const ChatAnswerForm *f);
/* chat_answer.c: an answer [n], with the texts of its control tokens, as a message: role, content, reasoning_content and tool_calls.
 * tools: which arguments are texts, or NULL.  *note: why a call can't be read and is left in the content, or NULL. */
json_t *chat_read_answer(Arena *a, const ChatAnswerForm *f, const json_t *tools, const char *text, int64_t n,
                         const char **note);

/* chat_source.c: the template of chat_template.jinja, tokenizer_config.json or a directory, and the tokens
 * that it may use. */
typedef struct {
        const char *path; /* for messages */
        const char *text; /* NULL: none, and `wrong` is the reason */
        int64_t n;
        const char *taken;    /* the template's name, if there are several */
        const char *left_out; /* names of the other ones; NULL: none */
        json_t *variables;    /* bos_token and the like */
        json_t *config;       /* tokenizer_config.json, or NULL */
        bool absent;          /* there is no template, which is not an error */
        char *wrong;
        bool env_error; /* a file can't be read */
} ChatSource;
/* tools: of several templates, take the one named tool_use, if there is one; otherwise default. */
ChatSource chat_source(Arena *a, const char *path, bool tools);
/* The same for a given template, text [n], NULL: none; config: content of a tokenizer_config.json, owned
 * by the source. */
ChatSource chat_source_of(Arena *a, const char *path, const char *text, int64_t n, json_t *config);
void chat_source_free(ChatSource *s);
ChatDate chat_today(void);
#endif
