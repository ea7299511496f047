/* Text to tokens and back, as emitted programs do it. */
#ifndef REPL_TEXT_H
#define REPL_TEXT_H
#include <stdio.h>

#include "tokenizer.h"

int32_t *text_tokens(const Tokenizer *t, const char *text, int64_t *n); /* malloc'd; NULL: out of memory */
void print_token(FILE *f, const Tokenizer *t, int32_t before, int32_t token);
#endif
