/* Internal to the room import. */
#ifndef IMPORT_PRIVATE_H
#define IMPORT_PRIVATE_H
#include "import.h"

enum {
        MAX_JSON_BYTES = 1 << 20,
        MAX_JSON_DEPTH = 64,
        MAX_CALLS = 64,
        MAX_ELEMENTS = 100000,
        MAX_ITEM_CHAIN = 64
};

/* ---- values that a config item computes with ---- */

typedef enum {
        CONFIG_NONE,
        CONFIG_BOOL,
        CONFIG_NUMBER,
        CONFIG_TEXT,
        CONFIG_LIST,
        CONFIG_OBJECT,
        CONFIG_CALL,
        CONFIG_BLOCK
} ConfigKind;

typedef struct ConfigValue ConfigValue;
typedef struct ConfigList ConfigList;
typedef struct ConfigObject ConfigObject;
typedef struct ConfigTerm ConfigTerm;
typedef struct ConfigField ConfigField;

/* A value; kind 0 is none. */
struct ConfigValue {
        ConfigKind kind;
        bool is_int; /* number is an integer */
        union {
                double number; /* also the value of a bool */
                const char *text;
                const ConfigList *list;
                ConfigObject *object;
                const ConfigTerm *call; /* a call of the library, which is printed, not run */
                const Ast *block;       /* a block of an item */
        };
        const ConfigField *from; /* the field that it was read from; NULL: none, as if it was computed */
};

struct ConfigList {
        int n;
        ConfigValue *item;
};

/* A key of a JSON object, and its position. */
struct ConfigField {
        const char *key; /* interned */
        Span span;
        ConfigValue value;
        bool seen; /* a field that an item has read */
};

struct ConfigObject {
        int n, capacity; /* capacity: if fields are added one by one */
        ConfigField *field;
        bool looked_into;
};

/* head, or head(1, name: 2) */
struct ConfigTerm {
        const char *head;
        int n;
        const char **name; /* [n] NULL: by position */
        ConfigValue *value;
};

ConfigValue config_bool(bool b);
ConfigValue config_number(double x, bool is_int);
ConfigValue config_text(const char *text);
bool config_same(ConfigValue a, ConfigValue b);
ConfigField *object_find(const ConfigObject *o, const char *key); /* interned key; NULL: not found */
/* A value for messages: JSON, truncated if it is long. */
const char *config_shown(Arena *arena, ConfigValue v);
const char *config_kind_name(ConfigValue v); /* "a whole number" */
const char *shortest_number(Arena *arena, double x);

/* json.c: reads a file's object, keys with their positions.  False after an error in diag. */
bool json_read(Arena *arena, Interner *names, Diag *diag, const Source *source, ConfigValue *value);
/* An error at span for a value that is not an object. */
struct json_t;
ConfigValue config_of_json(Arena *arena, Interner *names, Diag *diag, const struct json_t *json, Span span);

/* gguf_pairs.c: the keys of a GGUF's architecture, without its name as prefix: "gguf:NAME".  False after
 * an error in diag. */
bool pairs_read(Arena *arena, Interner *names, Diag *diag, const Checkpoint *file, ConfigObject **root,
                const char **architecture);

/* ---- an item at work ---- */

/* A name within an item. */
typedef enum { OF_KEY, OF_VALUE, OF_BLOCK } EntryKind;
typedef struct {
        const char *name;
        EntryKind kind;
        const Ast *ast; /* KEY, the value of a LET, BLOCK */
        bool evaluating, evaluated;
        bool defaulted; /* a key that is not in the file */
        bool counted;   /* evaluated with its value used, not skipped by given() */
        ConfigValue value;
} ImportEntry;

/* Paths in lists of items: ignored keys, omitted parts, implied settings. */
typedef struct {
        const char **path;
        int n, capacity;
} Paths;

typedef struct {
        const char *name;
        ConfigValue value;
        const Ast *given; /* value of -D instead, or NULL */
        bool declares;    /* name = value */
        const Ast *ast;   /* the expression */
} StatedSetting;

/* A loop of the item: `loop NAME { … }`, or `loop NAME none`. */
typedef struct {
        const char *name;
        bool is_none;
        StatedSetting *setting;
        int nsetting, setting_cap;
} StatedLoop;

/* sentence_tokens.c: settings of `loop rank`; tokens -1: none. */
typedef struct {
        const char *query_prompt, *passage_prompt;
        int64_t query_token, passage_token, expand;
        int64_t query_tokens, max_tokens, expand_to; /* 0: not given */
        bool is_padded;                              /* the tokens that fill a query are not seen */
        bool averages;
        ConfigValue *skip; /* [skips] */
        int skips;
} RankSettings;

/* sentence.c: the vector of a text, as specified by a directory of sentence-transformers, or a GGUF. */
typedef struct {
        bool is_there, env_error;
        bool is_scored; /* a causal model scores pairs: by the logit of the token `yes`, less that of `no` (-1: none) */
        int64_t yes, no;
        const char *template; /* of its pairs, or NULL */
        bool ranks;           /* each token has a vector */
        bool is_colbert;      /* it has the architecture HF_ColBERT */
        bool is_sparse;       /* the vector has a weight for each token of the vocabulary */
        bool is_cosine;       /* such vectors are compared by their cosine, not by their product */
        RankSettings rank;
        const char *backbone;   /* folder of the Transformer within the directory: "", or "0_Transformer/" */
        Paths statement;        /* statements of the block that computes the vector */
        Paths entry;            /* entries of the checkpoint: weights of the modules */
        int64_t width;          /* width that the Pooling expects; 0: not given */
        const char *activation; /* of a cross-encoder, its class in torch.nn; NULL: not given */
        int64_t limit;          /* maximum of tokens of a text, which is truncated; 0: not given */
        const char *prompts, *prompt; /* prompts by name, an object as JSON; the default one; or NULL */
        bool leaves_prompt_out;       /* the tokens of a prompt are excluded from the vector */
        Span pooling;
        const char *parent; /* the checkpoint that `entry` extends; NULL: none */
} Sentence;

/* Local names: block parameters and statements. */
typedef struct Locals Locals;
struct Locals {
        int n, name_cap, value_cap;
        const char **name;
        ConfigValue *value;
};

typedef struct {
        Arena *arena;
        Program *program; /* that of the item */
        Diag *diag;
        bool failed; /* an error was reported */
        /* the source */
        ConfigObject *root, *inner, *beside; /* inner: at a path, else the root; beside: of other files */
        const char *tokenizer;               /* folder of a tokenizer; NULL: none */
        TokenTables *tokens; /* its tables, loaded at first use; NULL: not yet, or not readable */
        Checkpoint *tensors; /* NULL: none */
        bool asked_tensors;
        const char *architecture;
        /* the item */
        const Ast *item;
        File *file;
        const Ast *chain[MAX_ITEM_CHAIN]; /* root first */
        File *chain_file[MAX_ITEM_CHAIN];
        int nchain;
        ImportEntry *entry;
        int nentry, entry_cap;
        Paths ignored, omitted, parts, implied, path;
        int depth;
        int passed_over; /* depth of arguments of given() after the chosen one */
        int64_t work;
        /* the results of the item */
        const Ast *family;
        const Ast **stated;
        int nstated, stated_cap;
        StatedSetting *setting;
        int nsetting, setting_cap;
        StatedLoop *loop;
        int nloop, loop_cap;
        bool gguf;
        Sentence sentence;
        /* conversations, from neighbouring files (conversation.c) */
        Ast **knob; /* of `loop generate` */
        int nknob, knob_cap;
        const char *conversation_note; /* or NULL */
        bool chat;                     /* has a template that can be evaluated */
        const char *chat_fault;        /* why the settings can't express the template, or NULL */
        const char *sampling;          /* source of the settings of sampling; NULL: there are none */
        const char *context_note;      /* note about a reduced context, or NULL */
        int64_t ends[2]; /* tokens that end a text: from tokenizer_config.json, after an answer; -1: none */
        int64_t begin;   /* token that begins a text, from tokenizer_config.json; -1: none */
} Import;

/* item.c */
const StatedLoop *item_loop_named(const Import *m, const char *name); /* NULL: the item has none */
void item_loop_drop(Import *m, const char *name);
const Ast *config_find(Program *p, const char *name, File **file);
bool import_chain(Import *m, const Ast *item, File *file); /* false after a message */
void import_collect(Import *m, const Ast *statements);
/* requirements, conditions, settings; given: -D */
bool import_run(Import *m, const Override *given, int ngiven);
ImportEntry *entry_find(const Import *m, const char *name);
/* Sets a setting of the model, or of a loop (NULL: of the model), after import_run(). */
void import_set(Import *m, const char *loop, const char *name, ConfigValue value);
bool paths_have(const Paths *paths, const char *path);
void paths_add(Arena *arena, Paths *paths, const char *path);

/* config_evaluate.c */
bool config_truth(Import *m, Locals *local, const Ast *e);
ConfigValue config_evaluate(Import *m, Locals *local, const Ast *e);
ConfigValue config_call(Import *m, const Ast *block, int n, const char *const *name, const ConfigValue *value,
                        Span span);
/* Only the first error is reported. */
ConfigValue config_error(Import *m, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
void local_set(Import *m, Locals *local, const char *name, ConfigValue value);
/* Keys that an expression depends on, also through values and blocks of the item. */
enum { MAX_KEYS = 256 };
typedef struct {
        const char *name[MAX_KEYS];
        const ImportEntry *seen[MAX_KEYS];
        int n, nseen;
} KeysSaid;
void find_keys(Import *m, const Ast *e, KeysSaid *keys);
/* "; hidden_size is 64": the keys in an expression.  *where: position of the first in the file. */
const char *config_keys_said(Import *m, const Ast *e, Span *where);
bool library_has(const Import *m, const char *name);
const Ast *library_definition(const Import *m, const char *name); /* NULL: a builtin, or undefined */

/* config_builtin.c */
typedef struct ConfigBuiltin ConfigBuiltin;
/* Whether the tokenizer pads texts at the left, by its tokenizer_config.json. */
bool pads_left(Import *m);
const ConfigBuiltin *config_builtin(const char *name); /* NULL: there is none */
ConfigValue config_builtin_call(Import *m, const ConfigBuiltin *b, int n, const char *const *name,
                                const ConfigValue *value, Span span);

/* strict.c: rejects unread keys; false after errors.  force: they are warnings, listed in *forced. */
bool strict_keys(Import *m, const char *file, bool force, Paths *forced);

/* spec.c */
bool spec_complete(Import *m); /* whether settings fit the family; false after messages */
const char *spec_print(Import *m, const char *name, const char *source, const Paths *forced);

/* family.c */
Ast *spec_let(Import *m, const char *name, Ast *value);
/* spec_names.c: gives a name to each call that lists repeat.  Returns their number; *named: the
 * statements. */
int spec_name_calls(Import *m, Ast **tree, int n, Ast ***named);
/* spec.c: the printed tree, on one or more lines */
const char *spec_tree_text(Arena *arena, const Ast *tree);
Definition *family_find(const Import *m, const char *name); /* a model of the library, or NULL */
/* The declaration of a family's hyperparameter: DECL, LET or SETTING, the last one in the chain of models;
 * NULL: none. */
const Ast *family_declares(const Import *m, Definition *family, const char *name, bool with_settings);
/* the family's checkpoint by name; NULL: none, or without a name */
const char *family_checkpoint(const Import *m, Definition *family);
/* whether the item states `loop generate`, or the family has it and the item leaves it */
bool family_generates(const Import *m, Definition *family);
bool family_has_loop(const Import *m, Definition *family, const char *name); /* whatever the item states */
/* whether the family has the same value without the setting */
bool family_gives(Import *m, Definition *family, const StatedSetting *s);

/* conversation.c: folder with a slash at its end, or ""; NULL: the GGUF. */
void conversation_read(Import *m, const char *folder);

/* gguf_chat.c: tokens that begin and end a text, and settings of sampling, in the form of a
 * generation_config.json. */
ConfigValue gguf_generation(Import *m);

/* sentence.c: maximum length of a text in tokenizer_config.json of a folder, which ends with a slash or is
 * empty; 0: not given, or a value that means no limit (1e30). */
int64_t limit_of_tokenizer(Arena *arena, const char *folder);
/* sentence.c: reads modules.json of a folder, with a slash at its end, and its files; of a GGUF the
 * pooling_type.  True if there is none.  False after a message. */
bool sentence_read(Import *m, Interner *names, const char *folder);
bool sentence_of_gguf(Import *m, Interner *names);
/* sentence_print.c: states the settings; false after a message.  Prints the lines before the model, and
 * those in it. */
bool sentence_state(Import *m);
bool sentence_state_score(Import *m);
bool sentence_state_ranks(Import *m, int64_t longest);
void sentence_checkpoint(Import *m, Definition *family, const char *model);
void sentence_print_head(Import *m, const char *name, Text *t);
void sentence_print_block(const Import *m, Text *t);
/* context.c: reduces a context that no plan can have in the text, which is printed again; not one given by
 * -D. */
const char *context_bounded(Import *m, const char *model, const char *text, const char *source,
                            const Paths *forced);

/* generation.c: prints the line `loop generate { … }`, if the files have tokens for it, and unsupported
 * keys. */
void generation_print(Import *m, Definition *family, Text *t);
Paths generation_not_done(Import *m, Definition *family);
#endif
