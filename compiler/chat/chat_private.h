/* Shared by the files of this room: values, the syntax tree, an evaluation. */
#ifndef CHAT_PRIVATE_H
#define CHAT_PRIVATE_H
#include "chat.h"

/* --- values ---------------------------------------------------------------------------------------------------------- */

typedef enum {
        V_ABSENT, /* a missing argument; never a value */
        V_UNDEFINED,
        V_NONE,
        V_BOOL,
        V_INT,
        V_FLOAT,
        V_TEXT,
        V_LIST,
        V_TUPLE,
        V_RANGE,
        V_VIEW,      /* keys(), values(), items() of a dict: has a length, but no indices */
        V_GENERATOR, /* result of map and similar filters: can be iterated once */
        V_DICT,
        V_NAMESPACE,
        V_LOOP,
        V_MACRO,
        V_METHOD,
        V_FUNCTION
} ChatKind;

typedef struct ChatValue ChatValue;
typedef struct Items Items;
typedef struct Dict Dict;
typedef struct ChatLoop ChatLoop;
typedef struct Macro Macro;
typedef struct BoundRoutine BoundRoutine;
typedef struct Routine Routine;

struct ChatValue {
        ChatKind kind;
        bool safe; /* text: passed through `safe`; texts that are added with + are escaped */
        int64_t n; /* of a text: its bytes */
        union {
                bool truth;
                int64_t integer;
                double real;
                const char *text; /* of V_UNDEFINED: the error if it is used */
                Items *items;
                Dict *dict;
                ChatLoop *loop;
                const Macro *macro;
                const BoundRoutine *bound; /* of V_METHOD and V_FUNCTION */
        };
};

struct Items {
        ChatValue *at;
        int64_t n, cap;
        int nesting; /* nested lists */
};

struct Dict {
        ChatValue *key, *value;
        int64_t n, cap_keys, cap_values;
        int nesting;
};

struct ChatLoop {
        const Items *items;
        int64_t index;
        ChatValue changed;
};

/* --- the tree -------------------------------------------------------------------------------------------------------- */

typedef enum {
        N_CONSTANT,
        N_NAME,
        N_TUPLE,
        N_LIST,
        N_DICT, /* children: key, value, … */
        N_ATTRIBUTE,
        N_INDEX,
        N_SLICE, /* first [second : third : children[0]], any of which may be NULL */
        N_CALL,
        N_FILTER, /* first NULL: of a block */
        N_TEST,
        N_KEYWORD, /* of a call: name = first */
        N_NOT,
        N_NEGATIVE,
        N_POSITIVE,
        N_AND,
        N_OR,
        N_BINARY, /* op */
        N_CONCAT,
        N_COMPARE, /* first, then children: N_BINARY with op and first */
        N_CHOICE,  /* second if first else third */
        N_MEMBER,  /* as a target: name.attribute of a namespace */
        /* statements */
        N_BLOCK,
        N_DATA,
        N_PRINT,
        N_IF,        /* children: condition, block, …, block of else */
        N_FOR,       /* target, iterable, condition; children: body, else */
        N_SET,       /* target, expression */
        N_SET_BLOCK, /* target, filters, block */
        N_MACRO,     /* children: parameters (N_KEYWORD); first: body */
        N_SCOPE,     /* generation, with: children: N_SET; first: body */
        N_FILTERED,  /* filters, block */
        N_BREAK,
        N_CONTINUE
} ChatNodeKind;

typedef enum {
        OP_ADD,
        OP_SUBTRACT,
        OP_MULTIPLY,
        OP_DIVIDE,
        OP_FLOOR,
        OP_MODULO,
        OP_POWER,
        OP_EQUAL,
        OP_UNEQUAL,
        OP_LESS,
        OP_LESS_EQUAL,
        OP_GREATER,
        OP_GREATER_EQUAL,
        OP_IN,
        OP_NOT_IN
} Operator;

typedef struct ChatNode ChatNode;
struct ChatNode {
        ChatNodeKind kind;
        Operator op;
        int32_t at, end;
        int height;
        ChatValue value;
        const char *name; /* interned */
        ChatNode *first, *second, *third;
        ChatNode **child;
        int n, cap;
};

struct ChatTemplate {
        const Source *source;
        Interner *names;
        const ChatNode *body;
};

/* --- scanning -------------------------------------------------------------------------------------------------------- */

typedef enum {
        T_END,
        T_DATA,
        T_PRINT_BEGIN,
        T_PRINT_END,
        T_BLOCK_BEGIN,
        T_BLOCK_END,
        T_NAME,
        T_TEXT,
        T_INTEGER,
        T_FLOAT,
        T_SIGN
} TokenKind;
typedef struct {
        TokenKind kind;
        int32_t at, end;
        ChatValue value;  /* of data, texts and numbers */
        const char *name; /* of names, interned, and of signs */
} ChatToken;

/* Shared by parsing and evaluating: current position, and target after an error. */
typedef struct {
        Arena *arena;
        const Source *source;
        Interner *names;
        int32_t at, end; /* the current token */
        ChatFault *fault;
        jmp_buf out;
} ChatWork;
_Noreturn void chat_fail(ChatWork *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct {
        ChatWork *work;
        const ChatToken *token;
        int nesting;
        bool in_loop;
} ChatParser;

const ChatToken *chat_scan(ChatWork *w); /* all tokens; the last is T_END */
/* chat_parse_expression.c */
ChatNode *chat_node(ChatParser *p, ChatNodeKind kind); /* at the token */
/* A node's child; the height of the tree is bounded. */
ChatNode *chat_child(ChatParser *p, ChatNode *node, ChatNode *child);
ChatNode *chat_add_child(ChatParser *p, ChatNode *node, ChatNode *child);
ChatNode *chat_expression(ChatParser *p);
ChatNode *chat_tuple(ChatParser *p, bool with_choice);
ChatNode *chat_filters_of(ChatParser *p, ChatNode *subject); /* | name(…) | … */
ChatNode *chat_filter(ChatParser *p, ChatNode *subject);     /* name(…) */
bool chat_sees(const ChatParser *p, const char *sign);
bool chat_sees_name(const ChatParser *p, const char *name);
bool chat_skips(ChatParser *p, const char *sign);
bool chat_skips_name(ChatParser *p, const char *name);
void chat_expect(ChatParser *p, const char *sign);
const char *chat_expect_name(ChatParser *p, const char *what);
_Noreturn void chat_unexpected(ChatParser *p, const char *wanted);
void chat_nest(ChatParser *p);

/* --- evaluating ------------------------------------------------------------------------------------------------------ */

typedef struct ChatBinding ChatBinding;
typedef struct ChatScope ChatScope;
struct ChatBinding {
        const char *name;
        ChatValue value;
        ChatBinding *next;
};
struct ChatScope {
        ChatScope *outer;
        ChatBinding *first;
};

struct Macro {
        const ChatNode *node;
        ChatScope *scope;
};

typedef struct Chat {
        ChatWork work;
        Arena *arena;
        ChatScope *scope;
        Dict *variables;
        Text *out;
        ChatValue block; /* argument of a block's filters */
        int64_t steps;
        int macros, height;
        ChatDate date;
        bool dated;
} Chat;

enum { MAX_PARAMETERS = 6 };

typedef struct {
        ChatValue *at;
        int n;
        const char **name;
        ChatValue *named;
        int nnamed;
} Args;

/* Uses of a routine. */
typedef enum {
        A_FILTER = 1,
        A_TEST = 2,
        A_FUNCTION = 4,
        OF_TEXT = 8, /* methods */
        OF_DICT = 16,
        OF_LIST = 32,
        OF_LOOP = 64
} RoutineUse;

typedef struct {
        Chat *chat;
        const Routine *routine;
        RoutineUse as;
        ChatValue self;
        ChatValue arg[MAX_PARAMETERS]; /* V_ABSENT: not given */
        const Args *all;
} ChatCall;

/* names, parameters: separated by blanks; parameters "*": any.  run NULL: known, but not supported. */
struct Routine {
        int uses;
        const char *names, *parameters;
        int required;
        ChatValue (*run)(const ChatCall *k);
        int variant; /* of several in one function */
};

/* A method of a value, a function. */
struct BoundRoutine {
        RoutineUse as;
        const char *name;
        const Routine *routine;
        ChatValue self;
};

#define FAIL(c, ...) chat_fail(&(c)->work, __VA_ARGS__)

/* chat_value.c */
ChatValue chat_undefined(Chat *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
ChatValue chat_bool(bool truth);
ChatValue chat_int(int64_t i);
ChatValue chat_float(double x);
ChatValue chat_text(const char *text, int64_t n); /* no copy */
ChatValue chat_word(const char *text);
ChatValue chat_none(void);
ChatValue chat_list(ChatKind kind, Items *items);
Items *chat_items_new(Chat *c);
void chat_items_add(Chat *c, Items *items, ChatValue v);
Dict *chat_dict_new(Chat *c);
void chat_dict_set(Chat *c, Dict *d, ChatValue key, ChatValue value);
const ChatValue *chat_dict_get(Chat *c, const Dict *d, ChatValue key);
void chat_charge(Chat *c, int64_t steps);
void chat_charge_bytes(Chat *c, int64_t bytes);
const char *chat_kind_name(ChatValue v);
bool chat_is_number(ChatValue v); /* includes bools */
double chat_real(ChatValue v);
bool chat_is_list(ChatValue v); /* indexed: list, tuple, range */
bool chat_is_word(ChatValue v, const char *word);
bool chat_truth(ChatValue v);
bool chat_hashable(ChatValue v);
bool chat_equal(Chat *c, ChatValue a, ChatValue b);
int chat_order(Chat *c, ChatValue a, ChatValue b); /* fails if Python can't compare them */
bool chat_contains(Chat *c, ChatValue container, ChatValue v);
int64_t chat_length(Chat *c, ChatValue v);
Items *chat_iterate(Chat *c, ChatValue v);
void chat_sort(Chat *c, Items *items, Items *keys, bool reverse); /* stable */
/* Fails for an undefined value, with its reason. */
void chat_need(Chat *c, ChatValue v);
int64_t chat_integer(Chat *c, ChatValue v, const char *what);
ChatValue chat_from_json(Chat *c, const json_t *j, int nesting);

/* chat_text.c */
int64_t chat_points(ChatValue text);                                    /* code points */
ChatValue chat_part(Chat *c, ChatValue text, int64_t from, int64_t to); /* by bytes */
int64_t chat_offset(ChatValue text, int64_t point);                     /* offset of a code point */
ChatValue chat_copy(Chat *c, const Text *t);
void chat_add(Chat *c, Text *t, const char *bytes, int64_t n);
ChatValue chat_str(Chat *c, ChatValue v); /* as Python's str() */
ChatValue chat_json(Chat *c, ChatValue v, ChatValue ascii, ChatValue indent, ChatValue separators,
                    ChatValue sorted);
ChatValue chat_escape(Chat *c, ChatValue text);
ChatValue chat_strip(Chat *c, ChatValue text, ChatValue characters, bool left, bool right);
int64_t chat_find(ChatValue text, ChatValue part, int64_t from); /* bytes; -1: nowhere */
ChatValue chat_replace(Chat *c, ChatValue text, ChatValue old, ChatValue new, int64_t most);
typedef enum { CASE_LOWER, CASE_UPPER, CASE_CAPITAL } LetterCase;
ChatValue chat_cased(Chat *c, ChatValue text, LetterCase to);
Items *chat_lines(Chat *c, ChatValue text);
int64_t chat_white_at(const char *text, int64_t n, int64_t at); /* length of white space, or 0 */

/* chat_evaluate.c */
ChatValue chat_evaluate(Chat *c, const ChatNode *node);
ChatValue chat_item(Chat *c, ChatValue v, ChatValue key); /* v[key] */
bool chat_compare(Chat *c, Operator op, ChatValue a, ChatValue b);

/* chat_call.c */
Args chat_args(Chat *c, const ChatNode *call);
ChatValue chat_call(Chat *c, ChatValue callee, const Args *args);
ChatValue chat_apply(Chat *c, const char *filter, ChatValue v, const Args *args);
bool chat_test(Chat *c, const char *test, ChatValue v, const Args *args);
ChatValue chat_function(Chat *c, const char *name);               /* V_ABSENT: unknown */
ChatValue chat_method(Chat *c, ChatValue self, const char *name); /* V_ABSENT: unknown */

/* chat_text_routines.c, chat_value_routines.c, chat_tests.c: tables, each ends with a NULL name */
extern const Routine chat_text_routines[], chat_value_routines[], chat_test_routines[];
/* The value of "a.b.0" in a value; none: the value itself. */
ChatValue chat_attribute(Chat *c, ChatValue v, ChatValue attribute);

/* chat_render.c */
ChatValue chat_expand(Chat *c, const Macro *m, const Args *args);
/* chat_conversation.c: writes the conversation with the pieces. */
const char *chat_by_pieces(Arena *a, const ChatPieces *p, const ChatSaid *system, const ChatSaid *turn,
                           int n);

/* chat_compare.c: compares conversations written by the template and by the pieces. */
typedef struct {
        Arena *arena;
        Arena scratch;
        const ChatWriter *writer;
        ChatPieces *pieces;
        const char *const *literal; /* chat_literals() */
        int nliteral;
} Comparison;
bool chat_agrees(Comparison *c, const ChatPieces *p, const char *system, const char *const *said, int n);
/* sets thought_end, thought_white, partly */
void chat_find_gaps(Arena *a, const ChatWriter *w, ChatPieces *p);
/* chat_thoughts.c: finds the rule of the pieces that drops thoughts, if the template drops them; whether
 * template and pieces agree on answers that contain `text`. */
void chat_find_thoughts(Comparison *c);
bool chat_answers_agree(Comparison *c, const ChatPieces *p, const char *text);
/* chat_pieces.c: how many bytes at the beginning of both are the same. */
int64_t chat_common_start(const char *a, const char *b);

/* chat_answer_form.c: how answers have thoughts and calls.  A form's text is compared without white space; CHAT_ANYTHING in it
 * stands for any text. */
enum { CHAT_ANYTHING = 1 };
typedef enum {
        CHAT_CALLS_NONE,
        CHAT_CALLS_OBJECT,  /* an object of JSON has name and arguments */
        CHAT_CALLS_PARTS,   /* the name, then the arguments: an object, or each by itself */
        CHAT_CALLS_CHANNELS /* a header says to whom each part of an answer goes */
} ChatCallKind;

struct ChatAnswerForm {
        const char *thought, *thought_end; /* NULL: no thoughts are known */
        bool begins_thinking;              /* the text before an answer has begun a thought */
        ChatCallKind kind;
        bool arguments_are_text; /* the template takes the text of an object */
        const char *before;      /* text before the first call */
        const char *between;     /* after a call, before the next one; NULL: there is one call */
        const char *tail;        /* after the last call */
        const char
                *inside; /* OBJECT: key of the object that has the two; NULL: they are in the call itself */
        const char *name, *arguments;                     /* OBJECT: keys */
        const char *after_name;                           /* PARTS: text before the arguments, */
        const char *before_key, *after_key, *after_value; /* of each; NULL: they are one object */
        const char *
                quote; /* around texts, which are values in no other way; NULL: values have nothing around them */
};
bool chat_is_white(char c);
const char *chat_skip_white(const char *at);
/* The text up to `end` without white space around it. */
const char *chat_stripped(Arena *a, const char *from, const char *end);
/* After the form's text at the beginning of `at`; NULL: it is not there. */
const char *chat_after_form(const char *at, const char *form);
/* The first place of the form's text from `at` on; *after: its end.  NULL: there is none. */
const char *chat_find_form(const char *at, const char *form, const char **after);
/* A value of JSON at `at`; *after: its end.  NULL: there is none. */
json_t *chat_json_at(const char *at, const char **after);

#endif
