/*
 * The command line's text: a prompt becomes tokens, tokens become text.
 *
 * Needs tokenizer.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prompt_help[] = "text that the model goes on from; - reads it from standard input";
static const char prompt_example[] = "\"Once upon a time\"";

/* Tokens of a prompt, allocated; NULL if memory is short. */
static int32_t *prompt_tokens(const $model *m, const char *text, int64_t *count)
{
        (void)m;
        size_t n = strlen(text);
        int32_t *tokens = malloc(TOKENIZER_TOKENS(n) * sizeof *tokens);
        int32_t *scratch = malloc(TOKENIZER_SCRATCH(n) * sizeof *scratch);
        *count = tokens && scratch && n < 1 << 30 ? tokenizer_encode(text, (int32_t)n, tokens, scratch) : 0;
        free(scratch);
        if (*count == 0) {
                free(tokens);
                return NULL;
        }
        return tokens;
}

static void show_end(void)
{
}

static void show_token(const $model *m, int32_t previous, int32_t token)
{
        (void)m;
        char text[TOKENIZER_LONGEST + 1];
        fwrite(text, 1, (size_t)tokenizer_decode(previous, token, text), stdout);
}
