/* Shared declarations of the readers of tokenizers. */
#ifndef TEXT_READER_PRIVATE_H
#define TEXT_READER_PRIVATE_H
#include <jansson.h>

#include "form_private.h"

typedef struct {
        Arena *arena;
        TokenizerForm *form;
        int32_t room;  /* capacity of the form's lists */
        Bytes *name;   /* [room]: tokens as in the file; NULL: not in the vocabulary */
        int32_t nname; /* number of names */
        struct NameSlot {
                uint32_t hash;
                int32_t token; /* token + 1, or 0: free */
        } * slot;              /* [slots, a power of two]: by their names */
        int64_t slots;
        char joined[MAX_TOKEN_BYTES];
        uint8_t *is_added; /* [nis_added] */
        int32_t nis_added;
        int byte_of_letter[512]; /* of the byte-level alphabet, or -1 */
        jmp_buf wrong;
        const char *why;
} FormReader;

/* Prints `path: where: what`; does not return. */
_Noreturn void reader_refuse(FormReader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- reader.c ---------------------------------------------------------------------------------------------------------- */

TokenizerForm *form_new(Arena *a, const char *path); /* path: for messages */
FormReader *reader_new(TokenizerForm *f);
bool is_none(const json_t *value); /* missing, or null */
Bytes text_of(FormReader *r, const json_t *value, const char *where);
bool truth_of(FormReader *r, const json_t *object, const char *key, bool otherwise, const char *where);
const char *type_of(FormReader *r, const json_t *part, const char *where);
const char *reader_element(FormReader *r, const char *where, size_t i); /* where[i] */
int32_t token_number(FormReader *r, const json_t *value, const char *where);

void reader_room(FormReader *r, int32_t token);           /* for ids up to `token` */
void set_token(FormReader *r, int32_t token, Bytes text); /* in the vocabulary, as in the file */
int32_t find_token(const FormReader *r, Bytes text); /* in the vocabulary, as in the file; -1: not found */
int32_t wanted_token(FormReader *r, Bytes text, const char *where);
void find_bytes(FormReader *r); /* tokens of single bytes: letters of the byte-level alphabet, or <0x41> */
/* Merge i of two tokens as in the file, or of a line of both separated by a space. */
void set_merge(FormReader *r, int64_t i, Bytes left, Bytes right, const char *list);
void set_merge_line(FormReader *r, int64_t i, Bytes line, const char *list);
void add_around(FormReader *r, bool before, int32_t token, const char *where);
/* Adds a token to the template of a pair, or ITEM_FIRST or ITEM_SECOND. */
void add_item(FormReader *r, int32_t token, int32_t type, const char *where);

enum { MAX_SEQUENCES = 8 }; /* nested */

/* read_normaliser.c */
/* NULL: with all defaults; also below */
void add_bert_normaliser(FormReader *r, const json_t *part, const char *where);
void read_normaliser(FormReader *r, const json_t *part, const char *where, int depth);
/* `at` NULL: invalid, with *why */
Bytes base64(FormReader *r, const char *text, int64_t n, const char **why);

/* read_parts.c: pre-tokeniser, decoder */
/* the text of a pattern; rejects regexes */
Bytes pattern_text(FormReader *r, const json_t *part, const char *where);
void add_bert_split(FormReader *r, const char *where);
void show_words(FormReader *r, const json_t *part, const char *where); /* WordPiece's decoder */
Bytes replaced_text(FormReader *r, Bytes text, Bytes what, Bytes with);
void show_replaced(FormReader *r, Bytes *shown, Bytes what, Bytes with); /* in each token's text */
void read_pre_tokeniser(FormReader *r, const json_t *part, const char *where, int depth);
void read_decoder(FormReader *r, const json_t *part, const char *where);

/* read_models.c */
void set_word_piece(TokenizerForm *f, Bytes prefix, uint32_t longest);
void read_word_piece(FormReader *r, const json_t *model);
void read_word_level(FormReader *r, const json_t *model);
void read_unigram(FormReader *r, const json_t *model);

/* A SentencePiece model, from its own file or from other tables. */
typedef enum {
        PIECE_NORMAL = 1,
        PIECE_UNKNOWN = 2,
        PIECE_CONTROL = 3,
        PIECE_USER = 4, /* a text that is always one token */
        PIECE_UNUSED = 5,
        PIECE_BYTE = 6
} PieceType;

typedef struct {
        int32_t n;
        Bytes *text;    /* [n] */
        float *score;   /* [n] */
        uint8_t *type;  /* [n]: PieceType */
        bool unigram;   /* else merges by scores */
        bool has_bytes; /* unknown characters become their bytes */
        /* As in GGUF: users' texts are split off the original text, with spaces for marks, and the unknown
         * token's text is special.  Else the normaliser leaves users' texts unchanged. */
        bool cuts_users;
        uint32_t flags; /* PIECES_… of TokenChange */
        Bytes charsmap; /* empty: none */
        Bytes unknown_shown;
        int32_t begin, end; /* tokens that may be added to a text */
        int32_t nlater;     /* number of tokens that are added later */
} SentencePieceModel;

void read_protobuf(FormReader *r, Bytes file, SentencePieceModel *out);
void read_sentencepiece(FormReader *r, const SentencePieceModel *p);
void show_sentencepiece(FormReader *r, const SentencePieceModel *p); /* after all tokens are known */
int named_byte(Bytes text);                                          /* 65 for <0x41>; -1: another text */
Bytes byte_text(FormReader *r, int byte);                            /* of one byte */

typedef struct {
        float score;
        int32_t token;
} ScoredToken;
/* Adds merges: two neighbours that together are one of these tokens [n] become it, highest score first,
 * then leftmost. */
void merge_by_scores(FormReader *r, ScoredToken *token, int64_t n);

/* load.c */
char *file_text(Arena *a, const char *path, int64_t *size, const char **why, bool *env_error);
bool file_is_there(const char *path);
json_t *json_file(Arena *a, const char *path, const char **why, bool *env_error); /* NULL with *why */
/* tokenizer_config.json in the folder of a file, or NULL */
json_t *config_beside(Arena *a, const char *path, const char **why);
const char *block_of_json(Arena *a, const char *path, const json_t *root, TokenBlock *out);

/* load_sentencepiece.c, load_wordpiece.c: return NULL, or a message. */
const char *load_sentencepiece(Arena *a, const char *path, TokenBlock *out, bool *env_error);
const char *load_wordpiece(Arena *a, const char *path, TokenBlock *out, bool *env_error);

/* load_merges.c: for a folder with vocab.json and merges.txt.  load_llama2c.c, load_tiktoken.c.  Return
 * NULL, or a message. */
const char *load_merges(Arena *a, const char *folder, TokenBlock *out, bool *env_error);
const char *load_llama2c(Arena *a, const char *path, TokenBlock *out, bool *env_error);
const char *load_tiktoken(Arena *a, const char *path, TokenBlock *out, bool *env_error);
bool is_tekken(const json_t *root);
const char *form_of_tekken(TokenizerForm *f, const json_t *root);

/* read_json.c */
void add_token(FormReader *r, const json_t *value, const char *where); /* of added_tokens */
void read_vocabulary(FormReader *r, const json_t *vocab);
/* token if the file names none; NULL: none */
void read_unknown(FormReader *r, const json_t *model, const char *otherwise);
/* Returns NULL, or a message. */
const char *form_of_json(TokenizerForm *f, const json_t *root);
#endif
