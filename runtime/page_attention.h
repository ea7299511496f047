/*
 * A page's attention: the weights of each token of its text for the others.  $model and $MODEL are the model's name.
 *
 * It is not computed during generation: the model runs over the text again, as far as requested.
 *
 * Needs page_tale.h, ATTENTION_MAPS: layers times heads, and ATTENTION_ROWS: of a piece.
 */

/* A piece of the text: tokens first to first + rows - 1. */
typedef struct {
        int64_t first, rows;
        float *weights; /* [ATTENTION_MAPS][rows][first + rows]; NULL: not requested yet */
} PageAttention;

static PageAttention attention_of_page;

static int64_t attended_tokens(void)
{
        return tale_of_page.n < CONTEXT ? tale_of_page.n : CONTEXT;
}

/* Number of tokens with attention weights, including the prompt's. */
int PAGE(tokens)(void)
{
        return (int)attended_tokens();
}

/* Number of tokens of the prompt. */
int PAGE(given)(void)
{
        return (int)tale_of_page.given;
}

/* Writes the text of token `at` to text() and returns its bytes; tokens are requested in order, from 0. */
int PAGE(token)(int at)
{
        static $model_text shown;
        PageTale *t = &tale_of_page;
        if (at == 0)
                shown = ($model_text){0};
#if !HAS_TALK
        const int64_t n = $model_decode(page_model, &shown, t->by.text[at], 0, t->out);
#else
        const int64_t n = $model_decode(page_model, &shown, t->by.text[at], $MODEL_CONTROL, t->out);
#endif
        return (int)(at + 1 < t->n ? n : n + $model_decode_end(&shown, t->out + n));
}

/* Runs the model towards the piece of token `at`.  Returns 1 if more calls are needed, 0 if not, or -1 - an error.  The text
 * cannot be continued before leave() has returned 0. */
int PAGE(attend)(int at)
{
        const int32_t *text = tale_of_page.by.text;
        PageAttention *a = &attention_of_page;
        const int64_t first = at - at % ATTENTION_ROWS, left = attended_tokens() - first;
        tale_of_page.over = 1;
        if (at < 0 || at >= attended_tokens())
                return -1 - $MODEL_ERROR_RANGE;
        if (!a->weights)
                a->weights = malloc(sizeof *a->weights * ATTENTION_MAPS * ATTENTION_ROWS * CONTEXT);
        if (!a->weights)
                return -1 - $MODEL_ERROR_MEMORY;
        if ($model_position(page_model) > first && $model_rewind(page_model, first))
                $model_reset(page_model); /* the cache's window does not reach back to the piece */
        const int64_t here = $model_position(page_model), before = first - here;
        a->first = first;
        a->rows = left < ATTENTION_ROWS ? left : ATTENTION_ROWS;
        const int error = before > 0 ? $model_prefill(page_model, text + here, before < PAGE_PIECE ? before : PAGE_PIECE)
                                     : $model_forward(page_model, text + first, a->rows, NULL, a->weights);
        return error ? -1 - error : before > 0;
}

/* Restores the state that attend() has rewound, by a piece of the text, so that the text can be continued.  Returns as attend() does. */
int PAGE(leave)(void)
{
        const PageTale *t = &tale_of_page;
        if ($model_position(page_model) > t->taken && $model_rewind(page_model, t->taken))
                $model_reset(page_model);
        const int64_t here = $model_position(page_model), left = t->taken - here;
        const int error = left > 0 ? $model_prefill(page_model, t->by.text + here, left < PAGE_PIECE ? left : PAGE_PIECE) : 0;
        return error ? -1 - error : left > PAGE_PIECE;
}

/* The piece's weights [layers times heads][rows][first + rows], its first token, its number of rows. */
const float *PAGE(attention)(void)
{
        return attention_of_page.weights;
}

int PAGE(attention_first)(void)
{
        return (int)attention_of_page.first;
}

int PAGE(attention_rows)(void)
{
        return (int)attention_of_page.rows;
}
