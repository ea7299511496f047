/*
 * The command line's prompt, by the model's own tables.
 *
 * Needs model_text.h, START_TOKEN, or -1, and PROMPT_FLAGS of $model_encode().
 */

/* Tokens of a prompt, allocated; NULL if out of memory.  An empty prompt becomes the start token, if there is one. */
static int32_t *prompt_tokens(const $model *m, const char *text, int64_t *count)
{
        int64_t n = (int64_t)strlen(text), room = $model_encode_room(m, n) + 1;
        int32_t *tokens = malloc((size_t)room * sizeof *tokens);
        void *scratch = malloc((size_t)$model_encode_scratch(m, n));
        *count = tokens && scratch ? $model_encode(m, text, n, PROMPT_FLAGS, tokens, room, scratch) : -1;
        if (*count == 0 && START_TOKEN >= 0)
                tokens[(*count)++] = START_TOKEN;
        free(scratch);
        if (*count >= 0)
                return tokens;
        *count = 0;
        free(tokens);
        return NULL;
}
