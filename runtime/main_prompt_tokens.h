/*
 * The command line's prompt without a tokenizer: token numbers.
 *
 * Needs START_TOKEN, or -1.
 */

/* Tokens of a prompt, allocated; NULL if out of memory, or with *count -1 if it is not a list of numbers.
 * An empty prompt becomes the start token, if there is one. */
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
                terminal_print(stderr, "the prompt must be token numbers, not \"%.20s\"\n", text);
                free(tokens);
                *count = -1;
                return NULL;
        }
        if (tokens && n == 0 && START_TOKEN >= 0)
                tokens[n++] = START_TOKEN;
        *count = n;
        return tokens;
}
