/*
 * The command line without a tokenizer: prompts and results are token numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prompt_help[] = "token numbers that the model goes on from; - reads them from standard input";
static const char prompt_example[] = "\"1 2 3\"";

/* Tokens of a prompt, allocated; NULL if memory is short, or with *count -1 if it is no list of numbers.
 * None: the start token. */
static int32_t *prompt_tokens(const $model *m, const char *text, int64_t *count)
{
        (void)m;
        int32_t *tokens = malloc((strlen(text) / 2 + 2) * sizeof *tokens);
        int64_t n = 0;
        while (tokens) {
                char *end;
                long token = strtol(text, &end, 10);
                if (end == text)
                        break;
                tokens[n++] = token >= 0 && token <= INT32_MAX ? (int32_t)token : -1;
                text = end;
        }
        while (*text == ' ' || *text == '\n')
                text++;
        if (tokens && *text) {
                fprintf(stderr, "the prompt must be token numbers, not \"%.20s\"\n", text);
                free(tokens);
                *count = -1;
                return NULL;
        }
        if (tokens && n == 0)
                tokens[n++] = START_TOKEN;
        *count = n;
        return tokens;
}

static void show_end(void)
{
}

static void show_token(const $model *m, int32_t token)
{
        (void)m;
        printf("%d ", token);
}
