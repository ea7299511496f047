/*
 * A page's generated text: after a prompt, in a conversation, or from a sound.  $model and $MODEL are the model's name.
 *
 * Needs page.h, model_generate.h and TEXT_ROOM; tale_begin() first.
 */

/* Positions of a prompt in one call. */
enum { PAGE_PIECE = 16 };

/* The text in progress. */
typedef struct {
        Sampler sampler;
        Generator by;
        Generated made;
        int64_t n, taken, given; /* numbers of tokens: of by.text; processed by the model; of the prompt */
        $model_text shown;
        char out[TEXT_ROOM + 4]; /* output of the last call */
        int bytes, over;
} PageTale;

static PageTale tale_of_page;
#if HAS_TALK

static Talk talk_of_page;
#endif

static int page_show(void *of, int32_t token)
{
        PageTale *t = of;
#if HAS_TALK
        talk_token(&talk_of_page, token);
#endif
        t->bytes = (int)$model_decode(page_model, &t->shown, token, 0, t->out);
        return 0;
}

/* Begins the continuation of tokens [n]; the model may have processed some of them, but not the last.  begun: its first token continues a
 * text.  Returns 0 or an error. */
static int tale_begin(const int32_t *tokens, int64_t n, int begun, int steps, Sampler sampler, Penalties penalties)
{
        static void *room;
        PageTale *t = &tale_of_page;
        room = room ? room : malloc(generation_room(VOCAB, CONTEXT, 0));
        *t = (PageTale){.sampler = sampler,
                        .by = {.model = page_model,
                               .take = generator_take,
                               .sampler = &t->sampler,
                               .sample = sample,
                               .of = t,
                               .show = page_show,
                               .seconds = no_seconds,
                               .tokens = tokens_of_loop,
                               .vocab = VOCAB,
                               .context = CONTEXT,
                               .steps = steps,
                               .chunk = PAGE_PIECE,
                               .penalties = penalties,
                               .hashes = 1},
                        .made = {.hash = UINT64_C(0xcbf29ce484222325)},
                        .taken = $model_position(page_model),
                        .shown = {.begun = begun}};
        if (!room)
                return $MODEL_ERROR_MEMORY;
        if (n < 1 || n > CONTEXT)
                return n < 1 ? $MODEL_ERROR_RANGE : $MODEL_ERROR_CONTEXT;
        generation_lay(&t->by, room);
        memcpy(t->by.text, tokens, (size_t)n * sizeof *tokens);
        if (penalties_apply(&penalties))
                generation_count(&t->by, tokens, n);
        t->n = t->given = n;
        return $MODEL_OK;
}

/* Processes a piece of the prompt, or generates a token.  Returns the number of new bytes in text(), -1 if the text has ended, or -1 - an
 * error. */
int PAGE(next)(void)
{
        PageTale *t = &tale_of_page;
        const int64_t left = t->n - 1 - t->taken, piece = left < PAGE_PIECE ? left : PAGE_PIECE;
        int error = 0;
        t->bytes = 0;
        if (t->over)
                return -1;
        if (left > 0) {
                error = generation_prompt(&t->by, t->by.text + t->taken, piece, &t->made);
                t->taken += piece;
        } else if (t->made.made < t->by.steps && t->taken < CONTEXT) {
                t->taken += generation_check(&t->by, t->taken, 0, &t->made, &error);
                t->n = t->taken + 1;
        } else
                t->over = 1;
        t->over = t->over || t->made.ended;
        if (t->over)
                t->bytes = (int)$model_decode_end(&t->shown, t->out);
        return error ? -1 - generation_error(error) : t->bytes;
}

const char *PAGE(text)(void)
{
        return tale_of_page.out;
}

/* Number of new tokens; number of the prompt's tokens. */
int PAGE(made)(void)
{
        return (int)tale_of_page.made.made;
}

/* Whether the context ended before the text did. */
int PAGE(full)(void)
{
        return !tale_of_page.made.ended && tale_of_page.taken == CONTEXT;
}

/* Hash of all logits so far, equal to --hash of other programs. */
int64_t PAGE(hash)(void)
{
        return (int64_t)tale_of_page.made.hash;
}
