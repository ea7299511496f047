/* import: converts a published configuration (Hugging Face's config.json) to a model of the library.
 *
 * Config items in the language (docs/language.md) define the meaning of keys: `config NAME : PARENT
 * "ARCHITECTURE" { … }`. The files of a directory are read (published.c, json.c), an item is applied to them
 * (item.c, config_evaluate.c, config_builtin.c), unread keys are rejected (strict.c), and the result is
 * printed as a model (spec.c).  This C code knows no family. */
#ifndef IMPORT_H
#define IMPORT_H
#include "chat/chat.h"
#include "driver/driver.h"

/* A spec: a model file of a few lines. */
typedef struct {
        const char *text;  /* NULL: refused, after messages */
        const char *item;  /* the config item that it is from, */
        const char *model; /* the model's name, its family, and the architecture in the source */
        const char *family, *architecture;
        const char *weights;    /* the value for --weights: the directory; NULL: it has none */
        const char *tokenizer;  /* the part of the source that has one; NULL: the source itself */
        const char *chat;       /* the part with a chat template; NULL: there is none */
        const char *chat_fault; /* why `loop generate` can't express the template; NULL: it can */
        bool env_error;         /* the environment failed, not the input */
} Spec;

/* published.c: the spec of a directory, a config.json, or standard input (-).  `items`: a file of further config items, or NULL.  `name`:
 * the model's, or NULL for one made from the source.  Messages go to standard error. */
Spec import_spec(Arena *arena, const CommandOptions *o, const char *source, const char *items,
                 const char *name);

/* source.c: whether a file is no model file but a published model: a directory, a config.json, a GGUF, or what is refused by its
 * name.  Told by what is in it. */
bool is_source(const char *path);
/* The source itself, or, of a directory without safetensors that holds one GGUF (its first shard), that file. */
const char *source_file(Arena *arena, const char *path);
/* If the first file is one, the options are made those of the model that it is: its text, and as far as the parts are wanted and no
 * others are given its weights and its tokenizer.  Once is enough.  False after a message. */
typedef struct {
        bool weights, tokenizer;
        bool kept;  /* tables of the tokenizer are stored for the next start */
        bool wants; /* a source without weights is an error, unless random ones are asked for */
} SourceParts;
bool source_open(Arena *arena, CommandOptions *o, SourceParts parts, int *code);
/* The options' tokenizer becomes the source's; none without one, and, after a note, where it is none that is read.  name: see
 * source_tables(). */
void source_tokenizer(Arena *arena, CommandOptions *o, const char *source, const char *name);

/* gguf_chat.c: the chat template of a GGUF, and the tokens that it may name. */
ChatSource gguf_chat_source(Arena *a, const Checkpoint *file);
/* Of a GGUF, or a source of chat_source(). */
ChatSource published_chat_source(Arena *a, const char *path);

/* lint.c: config items of the main file; what is wrong with them goes to diag.  A key that is read reaches a setting or a require; names
 * stand for something; a family has the settings that it is given. */
void configs_check(Program *p, Diag *diag);
#endif
