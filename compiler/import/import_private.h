/* Within the room import. */
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
        SAID_NONE,
        SAID_BOOL,
        SAID_NUMBER,
        SAID_TEXT,
        SAID_LIST,
        SAID_OBJECT,
        SAID_CALL,
        SAID_BLOCK
} SaidKind;

typedef struct Said Said;
typedef struct SaidList SaidList;
typedef struct SaidObject SaidObject;
typedef struct SaidCall SaidCall;

/* A value; that of no member is none. */
struct Said {
        SaidKind kind;
        bool is_int; /* of a number */
        union {
                double number; /* and of a bool */
                const char *text;
                const SaidList *list;
                SaidObject *object;
                const SaidCall *call; /* of the library: printed, not run */
                const Ast *block;     /* of an item */
        };
};

struct SaidList {
        int n;
        Said *item;
};

/* A key of a JSON object, and where it stands. */
typedef struct {
        const char *key; /* interned */
        Span span;
        Said value;
        bool seen; /* a field that an item has looked at */
} SaidField;

struct SaidObject {
        int n, capacity; /* the latter where fields are added one by one */
        SaidField *field;
        bool looked_into;
};

/* head, or head(1, name: 2) */
struct SaidCall {
        const char *head;
        int n;
        const char **name; /* [n] NULL: by position */
        Said *value;
};

Said said_bool(bool b);
Said said_number(double x, bool is_int);
Said said_text(const char *text);
bool said_same(Said a, Said b);
SaidField *object_find(const SaidObject *o, const char *key); /* an interned key; NULL: it lacks it */
/* A value as messages show it: JSON, cut where it is long. */
const char *said_shown(Arena *arena, Said v);
const char *said_kind_name(Said v); /* "a whole number" */
const char *shortest_number(Arena *arena, double x);

/* json.c: a file's object, keys with their places.  False after an error in diag. */
bool json_read(Arena *arena, Interner *names, Diag *diag, const Source *source, Said *value);
/* A value that is no object, for what stands at span. */
struct json_t;
Said json_said(Arena *arena, Interner *names, Diag *diag, const struct json_t *json, Span span);

/* gguf_pairs.c: what a GGUF says of its architecture, without that name before the keys: "gguf:NAME".  False after an error in diag. */
bool pairs_read(Arena *arena, Interner *names, Diag *diag, const Checkpoint *file, SaidObject **root,
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
        Said value;
} Entry;

/* Paths that items list: keys that are ignored, parts that are left out, settings that go without saying. */
typedef struct {
        const char **path;
        int n, capacity;
} Paths;

typedef struct {
        const char *name;
        Said value;
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

/* Names that block parameters and statements have. */
typedef struct Locals Locals;
struct Locals {
        int n, name_cap, value_cap;
        const char **name;
        Said *value;
};

typedef struct {
        Arena *arena;
        Program *program; /* that of the item */
        Diag *diag;
        bool failed; /* reported */
        /* what is imported */
        SaidObject *root, *inner, *beside; /* inner: of a path, else the root; beside: other files' */
        const char *tokenizer;             /* a folder that has one; NULL: none */
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
        Entry *entry;
        int nentry, entry_cap;
        Paths ignored, omitted, parts, implied, path;
        int depth;
        int64_t work;
        /* what it states */
        const Ast *family;
        const Ast **stated;
        int nstated, stated_cap;
        StatedSetting *setting;
        int nsetting, setting_cap;
        StatedLoop *loop;
        int nloop, loop_cap;
        /* what the files beside say of conversations (conversation.c) */
        Ast **knob; /* of `loop generate` */
        int nknob, knob_cap;
        const char *conversation_note; /* or NULL */
        int64_t ends[2]; /* tokens that end a text: of tokenizer_config.json, behind an answer; -1: none */
        int64_t begin;   /* the token that a text begins with, of tokenizer_config.json; -1: none */
} Import;

/* item.c */
const Ast *config_find(Program *p, const char *name, File **file);
bool import_chain(Import *m, const Ast *item, File *file); /* false after a message */
void import_collect(Import *m, const Ast *statements);
bool import_run(Import *m, const Override *given, int ngiven); /* requires, conditions, settings; -D */
Entry *entry_find(const Import *m, const char *name);
bool paths_have(const Paths *paths, const char *path);
void paths_add(Arena *arena, Paths *paths, const char *path);

/* config_evaluate.c */
Said config_evaluate(Import *m, Locals *local, const Ast *e);
Said config_call(Import *m, const Ast *block, int n, const char *const *name, const Said *value, Span span);
/* The first error alone is reported. */
Said config_error(Import *m, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
void local_set(Import *m, Locals *local, const char *name, Said value);
/* Keys that an expression comes to, also through values and blocks of the item. */
enum { MAX_KEYS = 256 };
typedef struct {
        const char *name[MAX_KEYS];
        const Entry *seen[MAX_KEYS];
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
Said config_builtin_call(Import *m, const ConfigBuiltin *b, int n, const char *const *name, const Said *value,
                         Span span);

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
bool family_generates(const Import *m, Definition *family); /* it has `loop generate` */
bool family_gives(Import *m, Definition *family,
                  const StatedSetting *s); /* the same value without being set */

/* conversation.c: of a folder, with a slash at its end, or ""; NULL: of the GGUF */
void conversation_read(Import *m, const char *folder);

/* gguf_chat.c: tokens that begin and end a text, as a generation_config.json has them */
Said gguf_generation(Import *m);

/* generation.c: adds the line `loop generate { … }`, where the files have tokens for it; keys that are not done. */
void generation_print(Import *m, Definition *family, Text *t);
Paths generation_not_done(Import *m, Definition *family);
#endif
