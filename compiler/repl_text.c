/* The runtime's own tokenizer, on tables that are read instead of compiled in. */
#include "repl_text.h"

#include <stdlib.h>

/* the tables that the runtime's text is about, set for each call */
static const Tokenizer *table;
#define TOKENIZER_VOCAB (table->vocab)
#define TOKENIZER_LONGEST (table->longest)
#define token_bytes (table->bytes)
#define token_offset (table->offset)
#define token_score (table->score)
#define token_sorted (table->sorted)
#include "../runtime/tokenizer.h"

int32_t *text_tokens(const Tokenizer *t, const char *text, int64_t *n)
{
        size_t length = strlen(text);
        int32_t *tokens = malloc(TOKENIZER_TOKENS(length) * sizeof *tokens);
        int32_t *scratch = malloc(TOKENIZER_SCRATCH(length) * sizeof *scratch);
        table = t;
        *n = 0;
        if (tokens && scratch && length < 1 << 30)
                *n = tokenizer_encode(text, (int32_t)length, tokens, scratch);
        free(scratch);
        if (*n)
                return tokens;
        free(tokens);
        return NULL;
}

void print_token(FILE *f, const Tokenizer *t, int32_t before, int32_t token)
{
        table = t;
        char *text = malloc((size_t)t->longest + 1);
        if (text)
                fwrite(text, 1, (size_t)tokenizer_decode(before, token, text), f);
        free(text);
}
