/* What readers of tokenizers have in common. */
#ifndef TEXT_READER_PRIVATE_H
#define TEXT_READER_PRIVATE_H
#include <jansson.h>

#include "form_private.h"

typedef struct {
        Arena *arena;
        Form *form;
        int32_t room;  /* tokens that the form's lists have room for */
        Bytes *name;   /* [room]: tokens as the file has them; NULL: it is none of the vocabulary */
        int32_t nname; /* how many are there */
        int32_t *slot; /* [slots, a power of two]: by their names; 1 more than the token, or 0 */
        int64_t slots;
        char joined[MAX_TOKEN_BYTES];
        uint8_t *is_added; /* [nis_added] */
        int32_t nis_added;
        int byte_of_letter[512]; /* of the byte-level alphabet, or -1 */
        jmp_buf wrong;
        const char *why;
} Reader;

/* Does not return: `path: where: what`. */
_Noreturn void reader_refuse(Reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- reader.c ---------------------------------------------------------------------------------------------------------- */

Reader *reader_new(Form *f);
bool is_none(const json_t *value); /* missing, or null */
Bytes text_of(Reader *r, const json_t *value, const char *where);
bool truth_of(Reader *r, const json_t *object, const char *key, bool otherwise, const char *where);
const char *type_of(Reader *r, const json_t *part, const char *where);
const char *reader_element(Reader *r, const char *where, size_t i); /* where[i] */
int32_t token_number(Reader *r, const json_t *value, const char *where);

void reader_room(Reader *r, int32_t token);           /* for ids up to `token` */
void set_token(Reader *r, int32_t token, Bytes text); /* of the vocabulary, as the file has it */
int32_t find_token(const Reader *r, Bytes text); /* of the vocabulary, as the file has it; -1: it has none */
int32_t wanted_token(Reader *r, Bytes text, const char *where);
void find_bytes(Reader *r); /* the tokens of single bytes: letters of the byte-level alphabet, or <0x41> */
/* Merge i, of two tokens as the file has them, or of a line of both with a space between. */
void set_merge(Reader *r, int64_t i, Bytes left, Bytes right, const char *list);
void set_merge_line(Reader *r, int64_t i, Bytes line, const char *list);
void add_around(Reader *r, bool before, int32_t token, const char *where);

enum { MAX_SEQUENCES = 8 }; /* within one another */

/* read_normaliser.c */
void read_normaliser(Reader *r, const json_t *part, const char *where, int depth);

/* read_parts.c: pre-tokeniser, decoder */
Bytes pattern_text(Reader *r, const json_t *part,
                   const char *where); /* the text of a pattern; a regex is refused */
void read_pre_tokeniser(Reader *r, const json_t *part, const char *where, int depth);
void read_decoder(Reader *r, const json_t *part, const char *where);

/* read_models.c */
void read_word_piece(Reader *r, const json_t *model);
void read_word_level(Reader *r, const json_t *model);
void read_unigram(Reader *r, const json_t *model);

/* read_json.c */
void read_vocabulary(Reader *r, const json_t *vocab);
void read_unknown(Reader *r, const json_t *model,
                  const char *otherwise); /* the token where the file names none; NULL: none */
/* of tokens as they are shown */
void show_replaced(Reader *r, Bytes what, Bytes with);
void show_single_bytes(Reader *r); /* <0x41> is shown as the byte */

/* NULL, or what is wrong */
const char *form_of_json(Form *f, const json_t *root);
#endif
