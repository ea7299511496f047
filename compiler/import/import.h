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
        const char *text;  /* NULL: rejected, after messages */
        const char *item;  /* the config item */
        const char *model; /* the model's name, its family, and the architecture in the source */
        const char *family, *architecture;
        const char *weights;    /* value for --weights: the directory; NULL: no weights */
        const char *tokenizer;  /* the part of the source with a tokenizer; NULL: the source itself */
        const char *chat;       /* the part with a chat template; NULL: none */
        const char *chat_fault; /* why `loop generate` can't express the template, or NULL */
        const char *sampling;   /* source of its settings of sampling; NULL: there are none */
        bool env_error;         /* the environment failed, not the input */
} Spec;

/* published.c: the spec of a directory, a config.json, or standard input (-).  `items`: a file with
 * further config items, or NULL.  `name`: name of the model, or NULL for one made from the source.
 * Messages go to standard error. */
Spec import_spec(Arena *arena, const CommandOptions *o, const char *source, const char *items,
                 const char *name);

/* source.c: whether a file is a published model instead of a model file: a directory, a config.json, a
 * GGUF, or a format that is rejected by name.  Decided by its content. */
bool is_source(const char *path);
/* The source itself; for a directory without safetensors and with one GGUF: that file, or its first shard. */
const char *source_file(Arena *arena, const char *path);
/* If the first file is a published model, replaces the options by those of the model: its text, and its
 * weights and tokenizer if they are wanted and not given.  A second call has no effect.  False after a
 * message. */
typedef struct {
        bool weights, tokenizer;
        bool kept;  /* tables of the tokenizer are cached for the next start */
        bool wants; /* a source without weights is an error, unless random ones are requested */
} SourceParts;
bool source_open(Arena *arena, CommandOptions *o, SourceParts parts, int *code);
/* Sets the options' tokenizer to the source's; to none if it has none, or, after a note, one that is not
 * supported. name: see source_tables(). */
void source_tokenizer(Arena *arena, CommandOptions *o, const char *source, const char *name);

/* gguf_chat.c: the chat template of a GGUF, and the tokens that it may use. */
ChatSource gguf_chat_source(Arena *a, const Checkpoint *file, bool tools);
/* For a GGUF, or a source of chat_source(). */
ChatSource published_chat_source(Arena *a, const char *path, bool tools);

/* lint.c: checks the config items of the main file, with errors in diag.  A key that is read must reach a
 * setting or a require; names must be defined; a family must have the settings that are set. */
void configs_check(Program *p, Diag *diag);
#endif
