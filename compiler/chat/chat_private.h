/* What the files of this room share: values, the tree, one evaluation. */
#ifndef CHAT_PRIVATE_H
#define CHAT_PRIVATE_H
#include "chat.h"

/* --- values ---------------------------------------------------------------------------------------------------------- */

typedef enum {
        V_ABSENT, /* an argument that was not given; never a value */
        V_UNDEFINED,
        V_NONE,
        V_BOOL,
        V_INT,
        V_FLOAT,
        V_TEXT,
        V_LIST,
        V_TUPLE,
        V_RANGE,
        V_VIEW,      /* keys(), values(), items() of a dict: can be counted, has no places */
        V_GENERATOR, /* what map and the like give: is run through once */
        V_DICT,
        V_NAMESPACE,
        V_LOOP,
        V_MACRO,
        V_METHOD,
        V_FUNCTION
} Kind;

typedef struct Value Value;
typedef struct Items Items;
typedef struct Dict Dict;
typedef struct Loop Loop;
typedef struct Macro Macro;
typedef struct Bound Bound;
typedef struct Routine Routine;

struct Value {
        Kind kind;
        bool safe; /* of a text: it went through `safe`; what is added with + is escaped */
        int64_t n; /* of a text: its bytes */
        union {
                bool truth;
                int64_t integer;
                double real;
                const char *text; /* of V_UNDEFINED: what is wrong if it is used */
                Items *items;
                Dict *dict;
                Loop *loop;
                const Macro *macro;
                const Bound *bound; /* of V_METHOD and V_FUNCTION */
        };
};

struct Items {
        Value *at;
        int64_t n, cap;
        int nesting; /* lists in lists */
};

struct Dict {
        Value *key, *value;
        int64_t n, cap_keys, cap_values;
        int nesting;
};

struct Loop {
        const Items *items;
        int64_t index;
        Value changed;
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
} NodeKind;

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
        NodeKind kind;
        Operator op;
        int32_t at, end;
        int height;
        Value value;
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
        Value value;      /* of data, texts and numbers */
        const char *name; /* of names, interned, and of signs */
} Token;

/* What parsing and evaluating have in common: where they are, and the way out. */
typedef struct {
        Arena *arena;
        const Source *source;
        Interner *names;
        int32_t at, end; /* what is being looked at */
        ChatFault *fault;
        jmp_buf out;
} Work;
_Noreturn void chat_fail(Work *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct {
        Work *work;
        const Token *token;
        int nesting;
        bool in_loop;
} Parser;

const Token *chat_scan(Work *w); /* all, T_END behind them */
/* chat_parse_expression.c */
ChatNode *chat_node(Parser *p, NodeKind kind); /* at the token */
/* A node's child; the height of the tree is bounded. */
ChatNode *chat_child(Parser *p, ChatNode *node, ChatNode *child);
ChatNode *chat_add_child(Parser *p, ChatNode *node, ChatNode *child);
ChatNode *chat_expression(Parser *p);
ChatNode *chat_tuple(Parser *p, bool with_choice);
ChatNode *chat_filters_of(Parser *p, ChatNode *subject); /* | name(…) | … */
ChatNode *chat_filter(Parser *p, ChatNode *subject);     /* name(…) */
bool chat_sees(const Parser *p, const char *sign);
bool chat_sees_name(const Parser *p, const char *name);
bool chat_skips(Parser *p, const char *sign);
bool chat_skips_name(Parser *p, const char *name);
void chat_expect(Parser *p, const char *sign);
const char *chat_expect_name(Parser *p, const char *what);
_Noreturn void chat_unexpected(Parser *p, const char *wanted);
void chat_nest(Parser *p);

/* --- evaluating ------------------------------------------------------------------------------------------------------ */

typedef struct Binding Binding;
typedef struct Scope Scope;
struct Binding {
        const char *name;
        Value value;
        Binding *next;
};
struct Scope {
        Scope *outer;
        Binding *first;
};

struct Macro {
        const ChatNode *node;
        Scope *scope;
};

typedef struct Chat {
        Work work;
        Arena *arena;
        Scope *scope;
        Dict *variables;
        Text *out;
        Value block; /* what the filters of a block are given */
        int64_t steps;
        int macros, height;
        ChatDate date;
        bool dated;
} Chat;

enum { MOST_PARAMETERS = 6 };

typedef struct {
        Value *at;
        int n;
        const char **name;
        Value *named;
        int nnamed;
} Args;

/* What a routine is there as. */
typedef enum {
        A_FILTER = 1,
        A_TEST = 2,
        A_FUNCTION = 4,
        OF_TEXT = 8, /* methods */
        OF_DICT = 16,
        OF_LIST = 32,
        OF_LOOP = 64
} Use;

typedef struct {
        Chat *chat;
        const Routine *routine;
        Use as;
        Value self;
        Value arg[MOST_PARAMETERS]; /* V_ABSENT: not given */
        const Args *all;
} Call;

/* names, parameters: with a blank between; parameters "*": any.  run NULL: known, and not supported. */
struct Routine {
        int uses;
        const char *names, *parameters;
        int required;
        Value (*run)(const Call *k);
        int variant; /* of several that the function does */
};

/* A method of a value, a function. */
struct Bound {
        Use as;
        const char *name;
        const Routine *routine;
        Value self;
};

#define FAIL(c, ...) chat_fail(&(c)->work, __VA_ARGS__)

/* chat_value.c */
Value chat_undefined(Chat *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
Value chat_bool(bool truth);
Value chat_int(int64_t i);
Value chat_float(double x);
Value chat_text(const char *text, int64_t n); /* no copy */
Value chat_word(const char *text);
Value chat_none(void);
Value chat_list(Kind kind, Items *items);
Items *chat_items_new(Chat *c);
void chat_items_add(Chat *c, Items *items, Value v);
Dict *chat_dict_new(Chat *c);
void chat_dict_set(Chat *c, Dict *d, Value key, Value value);
const Value *chat_dict_get(Chat *c, const Dict *d, Value key);
void chat_charge(Chat *c, int64_t steps);
void chat_charge_bytes(Chat *c, int64_t bytes);
const char *chat_kind_name(Value v);
bool chat_is_number(Value v); /* truths are */
double chat_real(Value v);
bool chat_is_list(Value v); /* places in a row: list, tuple, range */
bool chat_is_word(Value v, const char *word);
bool chat_truth(Value v);
bool chat_hashable(Value v);
bool chat_equal(Chat *c, Value a, Value b);
int chat_order(Chat *c, Value a, Value b); /* fails where Python does not compare them */
bool chat_contains(Chat *c, Value container, Value v);
int64_t chat_length(Chat *c, Value v);
Items *chat_iterate(Chat *c, Value v);
void chat_sort(Chat *c, Items *items, Items *keys, bool reverse); /* stable */
/* of a text that must not be undefined: fails with its reason */
void chat_need(Chat *c, Value v);
int64_t chat_integer(Chat *c, Value v, const char *what);
Value chat_from_json(Chat *c, const json_t *j, int nesting);

/* chat_text.c */
int64_t chat_points(Value text);                                /* code points */
Value chat_part(Chat *c, Value text, int64_t from, int64_t to); /* by bytes */
int64_t chat_offset(Value text, int64_t point);                 /* where a code point begins */
Value chat_copy(Chat *c, const Text *t);
void chat_add(Chat *c, Text *t, const char *bytes, int64_t n);
Value chat_str(Chat *c, Value v); /* as Python's str() */
Value chat_json(Chat *c, Value v, Value ascii, Value indent, Value separators, Value sorted);
Value chat_escape(Chat *c, Value text);
Value chat_strip(Chat *c, Value text, Value characters, bool left, bool right);
int64_t chat_find(Value text, Value part, int64_t from); /* bytes; -1: nowhere */
Value chat_replace(Chat *c, Value text, Value old, Value new, int64_t most);
typedef enum { CASE_LOWER, CASE_UPPER, CASE_CAPITAL } Case;
Value chat_cased(Chat *c, Value text, Case to);
Items *chat_lines(Chat *c, Value text);
int64_t chat_white_at(const char *text, int64_t n, int64_t at); /* bytes of what is white there, or 0 */

/* chat_evaluate.c */
Value chat_evaluate(Chat *c, const ChatNode *node);
Value chat_item(Chat *c, Value v, Value key); /* v[key] */
bool chat_compare(Chat *c, Operator op, Value a, Value b);

/* chat_call.c */
Args chat_args(Chat *c, const ChatNode *call);
Value chat_call(Chat *c, Value callee, const Args *args);
Value chat_apply(Chat *c, const char *filter, Value v, const Args *args);
bool chat_test(Chat *c, const char *test, Value v, const Args *args);
Value chat_function(Chat *c, const char *name);           /* V_ABSENT: none is named so */
Value chat_method(Chat *c, Value self, const char *name); /* V_ABSENT: it has none that is named so */

/* chat_text_routines.c, chat_value_routines.c, chat_tests.c: tables, NULL names behind them */
extern const Routine chat_text_routines[], chat_value_routines[], chat_test_routines[];
/* What "a.b.0" names in a value; none is the value itself. */
Value chat_attribute(Chat *c, Value v, Value attribute);

/* chat_render.c */
Value chat_expand(Chat *c, const Macro *m, const Args *args);
#endif
