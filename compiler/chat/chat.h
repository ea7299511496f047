/* chat: chat templates, in the format of published models; independent of lathe's models.
 *
 * A template is written in Jinja2.  The part of Jinja2 that published templates use is parsed (chat_scan.c,
 * chat_parse.c, chat_parse_expression.c) and evaluated (chat_render.c, chat_evaluate.c, chat_call.c, with
 * tables in chat_text_routines.c, chat_value_routines.c and chat_tests.c) as Python's jinja2 does in
 * transformers: trim_blocks and lstrip_blocks on, nothing escaped, values immutable. chat_conversation.c
 * renders conversations by a template; chat_pieces.c splits a template into texts from which a conversation
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
        CHAT_BYTES = 1 << 20, /* of a template, of what is rendered, of any text between */
        CHAT_NESTING = 64,    /* blocks, brackets, macros that call each other, lists in lists */
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

/* chat_parse.c: NULL with the fault.  Nothing of text is kept. */
ChatTemplate *chat_parse(Arena *a, const char *path, const char *text, int64_t n, ChatFault *fault);

/* chat_render.c: with the variables of an object: messages, bos_token, add_generation_prompt … */
typedef struct {
        const char *text; /* n bytes and a NUL */
        int64_t n;
        bool dated; /* the date was asked for */
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
        const json_t *variables; /* besides messages; NULL: none */
        ChatDate date;
        bool parts; /* each content is a list of parts, [{"type": "text", "text": …}], as a text is left out */
} ChatWriter;
ChatWriter chat_writer(Arena *a, const ChatTemplate *t, const json_t *variables, ChatDate date);
/* The system's message, NULL: none; then turns [n]: user, answer, user …  opens: the text ends where the next answer begins.  Texts are
 * UTF-8. */
bool chat_write(Arena *a, const ChatWriter *w, const ChatSaid *system, const ChatSaid *turn, int64_t n,
                bool opens, ChatText *out, ChatFault *fault);
/* Whether a message of the system is written. */
bool chat_takes_system(Arena *a, const ChatWriter *w);
/* Text right after an earlier answer; NULL: it can't be told. */
const char *chat_after_answer(Arena *a, const ChatWriter *w);

/* chat_compare.c: the literals of the template that it may compare messages with; those that it only prints are left out. */
const char *const *chat_literals(Arena *a, const ChatTemplate *t, int *n);

/* chat_pieces.c: a conversation is
 *     head, or system with the message in it; user and answer for each turn; user; open
 * where `{}` is the place of the message.  Texts that a template has no use for are NULL. */
typedef enum {
        CHAT_KEEPS,
        CHAT_TRIMS_LINES,
        CHAT_TRIMS
} ChatTrim; /* newlines, or all that is white, off both ends */
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
        const char *default_system; /* with no message given, this is said: the head is system with it */
        const char *user, *answer, *open;
        const char *first_user; /* the first turn with a system message in it: `{system}` */
        ChatTrim trims_system, trims_user, trims_answer;
        const char *
                thought_end; /* an earlier answer up to the last of these is left out; NULL: all of it stays */
        ChatWhite thought_white;
        const char *partly; /* difference between the template and the pieces, in words; NULL: none known */
        bool dated;
        const char *reason; /* why it can't be cut; NULL: it can */
        ChatFault fault;    /* the template's error for it, or none */
} ChatPieces;
const char *
chat_white_name(ChatWhite white); /* as the knob thought_white has it: newlines, start, ends; "" */
ChatPieces chat_cut(Arena *a, const ChatWriter *w);

/* chat_source.c: the template of chat_template.jinja, tokenizer_config.json or a directory, and the tokens that it may name. */
typedef struct {
        const char *path; /* for messages */
        const char *text; /* NULL: there is none, and `wrong` says why */
        int64_t n;
        const char *left_out; /* names of the other templates; NULL: none */
        json_t *variables;    /* bos_token and the like */
        json_t *config;       /* tokenizer_config.json, or NULL */
        bool absent;          /* there is no template, and nothing is wrong with that */
        char *wrong;
        bool env_error; /* a file can't be read */
} ChatSource;
ChatSource chat_source(Arena *a, const char *path);
/* The same of a template at hand, text [n], NULL: there is none; config as tokenizer_config.json has it, which the source keeps. */
ChatSource chat_source_of(Arena *a, const char *path, const char *text, int64_t n, json_t *config);
void chat_source_free(ChatSource *s);
ChatDate chat_today(void);
#endif
