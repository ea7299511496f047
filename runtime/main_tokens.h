/*
 * The command line without a tokenizer: prompts and results are token numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prompt_help[] = "the token numbers to continue; - reads them from standard input";
static const char prompt_example[] = "\"1 2 3\"";

static void show_begin(int64_t n)
{
        (void)n;
}

static void show_end(void)
{
}

/* The tokens with this text: none, without a tokenizer. */
static int64_t text_tokens(const void *m, const char *text, int64_t n, int32_t *tokens)
{
        (void)m, (void)text, (void)n, (void)tokens;
        return 0;
}

static void show_token(const $model *m, int32_t token)
{
        (void)m;
        terminal_print(stdout, "%d ", token);
}
