/* Shared functions of the readers of sentence-transformers: sentence_keys.c. */
#ifndef SENTENCE_PRIVATE_H
#define SENTENCE_PRIVATE_H
#include <jansson.h>

#include "import_private.h"

/* The reading of a directory's modules. */
typedef struct {
        Import *m;
        Interner *names;
        const char *folder; /* with a slash at its end */
        Sentence *s;
        bool pooled;
        bool is_causal; /* of a cross-encoder: the Transformer has logits of tokens, which a LogitScore scores */
        bool has_messages,
                has_parts; /* its pairs are messages of a chat template; their contents are lists of parts */
        const ConfigObject *chat_variables; /* of that template, or NULL */
        bool is_multi;                      /* each token has a vector, for loop rank */
        bool is_pylate; /* modules.json lacks the last modules, and other files the settings of the Transformer */
        bool has_old_prefixes;           /* prompts begin with a token of the vocabulary */
        const ConfigObject *rank_config; /* of config_sentence_transformers.json */
        bool has_vocabulary;             /* it was read: */
        json_t *vocabulary;              /* tokenizer.json, or NULL */
        const Source *words;             /* vocab.txt, or NULL */
        bool is_masked; /* the Transformer has logits for masked words, which a SpladePooling reads */
        bool is_cross; /* a cross-encoder: the Transformer scores a text or a pair, without further modules */
        Span span;     /* of the current module, in modules.json */
        const char *path; /* of the current module, without a slash at its end */
        const char *name; /* name of its weights: "dense_2" */
        ConfigObject *config;
} Modules;

/* Return false after a message; only the first is printed. */
bool sentence_refuse(Modules *r, Span span, const char *message);
/* format with two texts */
const char *sentence_text(Modules *r, const char *format, const char *a, const char *b);
bool sentence_has(Modules *r, const char *path);
/* a file's value, which must have a kind */
bool sentence_file(Modules *r, const char *path, ConfigKind kind, ConfigValue *value);
const ConfigField *sentence_key(Modules *r, const ConfigObject *o, const char *key); /* NULL: absent */
/* whether every key is one of `known`, names with a space after each, or has the value null */
bool sentence_keys(Modules *r, const ConfigObject *o, const char *known, const char *of);
bool sentence_wants(Modules *r, const ConfigField *f, const char *what); /* rejects a key's value */
bool sentence_truth(Modules *r, const ConfigObject *o, const char *key, bool otherwise);
int64_t sentence_size(Modules *r, const ConfigObject *o, const char *key); /* 0: the key is absent or null */
/* NULL: the key is absent or null */
const char *sentence_word(Modules *r, const ConfigObject *o, const char *key);
bool sentence_is_empty(ConfigValue v);
/* sentence_prompts.c: prompts and default_prompt_name of an object */
bool sentence_take_prompts(Modules *r, const ConfigObject *o);
/* sentence_score.c: a LogitScore; its template of pairs, after all modules; the keys of `message` and processing_kwargs */
bool take_logit_score(Modules *r);
bool sentence_pair_template(Modules *r);
bool sentence_takes_messages(Modules *r, const ConfigField *f);
bool sentence_chat_arguments(Modules *r, const ConfigField *f);
/* sentence_words.c: a SpladePooling; after all modules: the similarity of config_sentence_transformers.json; modules of a Router, in
 * place of which those of its route `document` are taken, each by `take` */
bool take_splade_pooling(Modules *r);
bool sentence_take_similarity(Modules *r, const ConfigObject *o);
bool sentence_take_router(Modules *r, const char *path,
                          bool (*take)(Modules *r, const char *type, const char *path, int i));
/* sentence_tokens.c: the settings of loop rank in the order in which they are read: config_sentence_transformers.json, the keys of a
 * Transformer, what PyLate leaves out, prompts, which need the tokenizer; a MultiVectorMask; artifact.metadata without any modules */
bool sentence_take_ranks(Modules *r, const ConfigObject *o, const char *file);
bool sentence_rank_lengths(Modules *r, const ConfigObject *o);
bool sentence_rank_of_pylate(Modules *r);
bool sentence_rank_prompts(Modules *r);
bool take_multi_vector_mask(Modules *r);
bool sentence_take_colbert(Modules *r);
#endif
