/*
 * A page's vectors of texts.  $model and $MODEL are the model's name.
 *
 * Needs page.h, model_embed.h, main_prompt_text.h, main_shell.h, DEFAULT_PROMPT, MAX_TOKENS and WIDTH.
 */

static float vector_of_page[WIDTH];
static uint64_t hash_of_page;

/* Of the first text on: the hash of all their vectors. */
void PAGE(begin)(void)
{
        hash_of_page = UINT64_C(0xcbf29ce484222325);
}

/* The vector of a text, which ends with a 0 byte.  0, or an error. */
int PAGE(embed)(const char *text)
{
        int64_t n = 0;
        char *whole = malloc(strlen(DEFAULT_PROMPT) + strlen(text) + 1);
        int32_t *tokens = whole ? prompt_tokens(page_model, strcat(strcpy(whole, DEFAULT_PROMPT), text), &n) : NULL;
        free(whole);
        if (tokens && MAX_TOKENS)
                n = tokens_shorten(&page_model->tokens, tokens, n, MAX_TOKENS);
        void *scratch = tokens ? malloc($model_embed_scratch(n)) : NULL;
        const int error = scratch ? $model_embed(page_model, tokens, n, vector_of_page, scratch) : $MODEL_ERROR_MEMORY;
        for (int64_t i = 0; i < WIDTH && !error; i++) {
                const double x = (double)vector_of_page[i];
                hash_of_page = hash_doubles(hash_of_page, &x, 1);
        }
        free(scratch);
        free(tokens);
        return error;
}

/* Of the last text, [width]. */
const float *PAGE(vector)(void)
{
        return vector_of_page;
}

int PAGE(width)(void)
{
        return WIDTH;
}

int64_t PAGE(hash)(void)
{
        return (int64_t)hash_of_page;
}
