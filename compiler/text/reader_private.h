/* What reads tokenizer.json. */
#ifndef TEXT_READER_PRIVATE_H
#define TEXT_READER_PRIVATE_H
#include <jansson.h>

#include "form_private.h"

typedef struct {
        Arena *arena;
        Form *form;
        const json_t *vocabulary;
        int32_t room;      /* tokens that the form's lists have room for */
        uint8_t *is_added; /* [nis_added] */
        int32_t nis_added;
        int byte_of_letter[512]; /* of the byte-level alphabet, or -1 */
        jmp_buf wrong;
        const char *why;
} Reader;

/* Does not return: `path: where: what`. */
_Noreturn void reader_refuse(Reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

bool is_none(const json_t *value); /* missing, or null */
Bytes text_of(Reader *r, const json_t *value, const char *where);
bool truth_of(Reader *r, const json_t *object, const char *key, bool otherwise, const char *where);
const char *type_of(Reader *r, const json_t *part, const char *where);
const char *reader_element(Reader *r, const char *where, size_t i); /* where[i] */

/* read_parts.c: normaliser, pre-tokeniser, decoder */
void read_normaliser(Reader *r, const json_t *part, const char *where, int depth);
void read_pre_tokeniser(Reader *r, const json_t *part, const char *where, int depth);
void read_decoder(Reader *r, const json_t *part, const char *where);

/* read_json.c: NULL, or what is wrong */
const char *form_of_json(Form *f, const json_t *root);
#endif
