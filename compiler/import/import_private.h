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

/* A value; that of no member is none. */
struct ConfigValue {
        ConfigKind kind;
        bool is_int; /* of a number */
        union {
                double number; /* and of a bool */
                const char *text;
                const ConfigList *list;
                ConfigObject *object;
                const ConfigTerm *call; /* of the library: printed, not run */
                const Ast *block;       /* of an item */
        };
};

struct ConfigList {
        int n;
        ConfigValue *item;
};

/* A key of a JSON object, and its position. */
typedef struct {
        const char *key; /* interned */
        Span span;
        ConfigValue value;
        bool seen; /* a field that an item has looked at */
} ConfigField;

struct ConfigObject {
        int n, capacity; /* the latter where fields are added one by one */
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
ConfigField *object_find(const ConfigObject *o, const char *key); /* an interned key; NULL: it lacks it */
/* A value as messages show it: JSON, cut where it is long. */
const char *config_shown(Arena *arena, ConfigValue v);
const char *config_kind_name(ConfigValue v); /* "a whole number" */
const char *shortest_number(Arena *arena, double x);

/* json.c: a file's object, keys with their places.  False after an error in diag. */
bool json_read(Arena *arena, Interner *names, Diag *diag, const Source *source, ConfigValue *value);
/* An error at span for a value that is not an object. */
struct json_t;
ConfigValue config_of_json(Arena *arena, Interner *names, Diag *diag, const struct json_t *json, Span span);

/* gguf_pairs.c: the keys of a GGUF's architecture, without its name as a prefix: "gguf:NAME".  False after an error in diag. */
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
        bool defaulted; /* a key that the file lacks */
        bool counted;   /* evaluated where its value was taken, not passed over by given() */
        ConfigValue value;
} ImportEntry;

/* Paths that items list: keys that are ignored, parts that are left out, settings that go without saying. */
typedef struct {
        const char **path;
        int n, capacity;
} Paths;

typedef struct {
        const char *name;
        ConfigValue value;
        const Ast *given; /* by -D, in place of the value; or NULL */
        bool declares;    /* name = value */
        const Ast *ast;   /* the expression */
} StatedSetting;

/* A loop that is stated: `loop NAME { … }`. */
typedef struct {
        const char *name;
        StatedSetting *setting;
        int nsetting, setting_cap;
} StatedLoop;

/* sentence.c: the vector of a text, as specified by a directory of sentence-transformers, or a GGUF. */
typedef struct {
        bool is_there, env_error;
        const char *backbone; /* folder of the Transformer within the directory: "", or "0_Transformer/" */
        Paths statement;      /* of the block that makes the vector */
        Paths entry;          /* of the checkpoint: weights of the modules */
        int64_t width;        /* of the tokens' vectors, as the Pooling says; 0: it does not */
        int64_t limit;        /* tokens that a text is cut to; 0: not given */
        const char *prompts,
                *prompt;        /* by name, an object as JSON; the one that is used by default; or NULL */
        bool leaves_prompt_out; /* a prompt's tokens are no part of the vector */
        Span pooling;
        const char *parent; /* the checkpoint that `entry` is added to; NULL: none */
} Sentence;

/* Names that block parameters and statements have. */
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
        bool failed; /* reported */
        /* the source */
        ConfigObject *root, *inner, *beside; /* inner: of a path, else the root; beside: other files' */
        const char *tokenizer;               /* a folder that has one; NULL: none */
        TokenTables *tokens; /* its tables, once they are asked for; NULL: not yet, or they can't be read */
        Checkpoint *tensors; /* NULL: there are none */
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
        int passed_over; /* within arguments of given() after the chosen one */
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
        /* conversations, from the files beside (conversation.c) */
        Ast **knob; /* of `loop generate` */
        int nknob, knob_cap;
        const char *conversation_note; /* or NULL */
        bool chat;                     /* there is a template that can be evaluated */
        const char *chat_fault;        /* why the settings can't express the template; NULL: they can */
        const char *context_note;      /* of a context that was bounded, or NULL */
        int64_t ends[2]; /* tokens that end a text: of tokenizer_config.json, after an answer; -1: none */
        int64_t begin;   /* the token that a text begins with, of tokenizer_config.json; -1: none */
} Import;

/* item.c */
const Ast *config_find(Program *p, const char *name, File **file);
bool import_chain(Import *m, const Ast *item, File *file); /* false after a message */
void import_collect(Import *m, const Ast *statements);
bool import_run(Import *m, const Override *given, int ngiven); /* requires, conditions, settings; -D */
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
/* Keys that an expression comes to, also through values and blocks of the item. */
enum { MAX_KEYS = 256 };
typedef struct {
        const char *name[MAX_KEYS];
        const ImportEntry *seen[MAX_KEYS];
        int n, nseen;
} KeysSaid;
void find_keys(Import *m, const Ast *e, KeysSaid *keys);
/* "; hidden_size is 64", of the keys in an expression; *where: the place of the first in the file. */
const char *config_keys_said(Import *m, const Ast *e, Span *where);
bool library_has(const Import *m, const char *name);
const Ast *library_definition(const Import *m, const char *name); /* NULL: a builtin, or none */

/* config_builtin.c */
typedef struct ConfigBuiltin ConfigBuiltin;
const ConfigBuiltin *config_builtin(const char *name); /* NULL: there is none */
ConfigValue config_builtin_call(Import *m, const ConfigBuiltin *b, int n, const char *const *name,
                                const ConfigValue *value, Span span);

/* strict.c: keys that nothing reads; false after errors.  With force they are warnings, and *forced lists them. */
bool strict_keys(Import *m, const char *file, bool force, Paths *forced);

/* spec.c */
bool spec_complete(Import *m); /* settings fit the family; false after messages */
const char *spec_print(Import *m, const char *name, const char *source, const Paths *forced);

/* family.c */
Ast *spec_let(Import *m, const char *name, Ast *value);
/* spec_names.c: gives calls that stand in lists more than once a name each; how many, and *named the statements that do. */
int spec_name_calls(Import *m, Ast **tree, int n, Ast ***named);
const char *spec_tree_text(Arena *arena, const Ast *tree); /* spec.c: as it is printed, on one line or more */
Definition *family_find(const Import *m, const char *name); /* a model of the library; NULL: there is none */
/* The declaration of a family's hyperparameter: DECL, LET or SETTING, the last in the chain of models first; NULL: there is none. */
const Ast *family_declares(const Import *m, Definition *family, const char *name, bool with_settings);
const char *family_checkpoint(const Import *m,
                              Definition *family); /* by its name; NULL: it has none, or one without a name */
bool family_generates(const Import *m, Definition *family); /* it has `loop generate` */
bool family_gives(Import *m, Definition *family,
                  const StatedSetting *s); /* the same value without being set */

/* conversation.c: of a folder, with a slash at its end, or ""; NULL: of the GGUF */
void conversation_read(Import *m, const char *folder);

/* gguf_chat.c: tokens that begin and end a text, as a generation_config.json has them */
ConfigValue gguf_generation(Import *m);

/* sentence.c: reads modules.json of a folder, with a slash at its end, and the files that it leads to; of a GGUF its pooling_type.  True
 * where there is none.  False after a message. */
bool sentence_read(Import *m, Interner *names, const char *folder);
bool sentence_of_gguf(Import *m, Interner *names);
/* sentence_print.c: the settings that follow from it; false after a message.  The lines before the model, and those within it. */
bool sentence_state(Import *m);
void sentence_checkpoint(Import *m, Definition *family, const char *model);
void sentence_print_head(Import *m, const char *name, Text *t);
void sentence_print_block(const Import *m, Text *t);
const char *sentence_note(const Import *m); /* a comment of the printed model; NULL: none */
/* context.c: a context that no plan can hold becomes a smaller one, which text, printed anew, has; not one given by -D */
const char *context_bounded(Import *m, const char *model, const char *text, const char *source,
                            const Paths *forced);

/* generation.c: adds the line `loop generate { … }`, where the files have tokens for it; keys that are not done. */
void generation_print(Import *m, Definition *family, Text *t);
Paths generation_not_done(Import *m, Definition *family);
#endif
