/*
 * A page's conversation.  $model and $MODEL are the model's name.
 *
 * Needs page_tale.h, conversation.h and talk_form.
 */

static int64_t page_position(void *of)
{
        (void)of;
        return $model_position(page_model);
}

static void page_rewind(void *of, int64_t n)
{
        (void)of;
        if ($model_rewind(page_model, n))
                $model_reset(page_model);
}

/* Begins a conversation: the system's message, which ends with a 0 byte, NULL: the model's own or none; the seed of all its answers.
 * 0, or an error. */
int PAGE(begin)(const char *system, int64_t seed)
{
        static char *kept;
        talk_free(&talk_of_page);
        free(kept);
        kept = system ? malloc(strlen(system) + 1) : NULL;
        talk_of_page = (Talk){.form = &talk_form, .tables = &page_model->tokens, .system = kept};
        tale_of_page = (PageTale){.sampler = {.state = (uint64_t)seed}};
        $model_reset(page_model);
        if (kept)
                memcpy(kept, system, strlen(system) + 1);
        return system && !kept ? $MODEL_ERROR_MEMORY : $MODEL_OK;
}

/* The user's next turn, which ends with a 0 byte; next() makes the answer.  0, or an error; $MODEL_ERROR_CONTEXT: there is no room for it,
 * and the conversation is as it was. */
int PAGE(say)(const char *text, int steps, float temperature, float top_p, int top_k, float min_p, float repetition)
{
        const Conversation c = {&talk_of_page, CONTEXT, &tale_of_page, page_position, page_rewind, NULL};
        const Sampler sampler = {temperature, top_k, top_p, min_p, .typical_p = 1, .state = tale_of_page.sampler.state};
        const int error = conversation_ask(&c, text, (int64_t)strlen(text));
        tale_of_page.taken = $model_position(page_model);
        if (error)
                return error == CONVERSATION_FULL ? $MODEL_ERROR_CONTEXT : generation_error(error);
        return tale_begin(talk_of_page.ids, talk_of_page.n, 0, steps, sampler, (Penalties){.repetition = repetition});
}

/* Takes the last turn back, of whose answer there is nothing yet. */
void PAGE(unsay)(void)
{
        tale_of_page.over = 1;
        talk_unask(&talk_of_page);
}

/* Tokens of the conversation, the last turn and its answer among them. */
int PAGE(length)(void)
{
        return (int)talk_of_page.n;
}

/* Turns with their answers that the last one left no room for. */
int PAGE(dropped)(void)
{
        return (int)talk_of_page.dropped;
}
