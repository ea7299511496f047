/*
 * A page's continuation of a prompt.  $model and $MODEL are the model's name.
 *
 * Needs page_tale.h and main_prompt_text.h.
 */

/* Begins a text; prompt ends with a 0 byte.  0, or an error. */
int PAGE(begin)(const char *prompt, int steps, float temperature, float top_p, int top_k, float min_p, float repetition, int64_t seed)
{
        int64_t n = 0;
        int32_t *tokens = prompt_tokens(page_model, prompt, &n);
        const Sampler sampler = {temperature, top_k, top_p, min_p, .typical_p = 1, .state = (uint64_t)seed};
        $model_reset(page_model);
        const int error =
                tokens ? tale_begin(tokens, n, n > 1, steps, sampler, (Penalties){.repetition = repetition}) : $MODEL_ERROR_MEMORY;
        free(tokens);
        return error;
}
