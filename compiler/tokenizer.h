/* The llama2.c tokenizer, read for being compiled into the emitted program (runtime/tokenizer.h is its other
 * half). */
#ifndef TOKENIZER_H
#define TOKENIZER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "checkpoint.h"
#include "text.h"

typedef struct {
        int vocab;
        int longest;          /* bytes of the longest token */
        unsigned char *bytes; /* [offset[vocab]]: the tokens end to end; none contains a 0 byte */
        uint32_t *offset;     /* [vocab + 1] */
        float *score;         /* [vocab], no NaN */
        uint32_t *sorted;     /* [vocab]: tokens in order of their bytes, equal ones by number */
} Tokenizer;

/* Reads a tokenizer of exactly vocab tokens, which tokenizer_free releases; false and a message, and nothing
 * to release. */
bool tokenizer_read(const char *path, int vocab, Tokenizer *tokenizer, CkError *err);
void tokenizer_free(Tokenizer *tokenizer);

/* Writes the constants that runtime/tokenizer.h needs, as C. */
void tokenizer_emit(const Tokenizer *tokenizer, Text *out);

#endif
