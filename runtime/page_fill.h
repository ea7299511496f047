/*
 * A page's masked words.  $model and $MODEL are the model's name.
 *
 * Needs page.h, likely.h, model_fill.h, main_prompt_text.h, main_shell.h and TEXT_ROOM.
 */

enum { PAGE_TOP = 5 };

/* What a mask is filled with, the likeliest first. */
typedef struct {
        int32_t token[PAGE_TOP];
        double probability[PAGE_TOP];
} PageFilling;

typedef struct {
        PageFilling *mask;
        int masks, room;
        uint64_t hash;
        char word[TEXT_ROOM + 4];
} PageFillings;

static PageFillings fillings_of_page;

static int page_mask(void *of, int64_t place, const double *probabilities)
{
        PageFillings *f = of;
        PageFilling *mask = &f->mask[f->masks++];
        int64_t token = -1;
        (void)place;
        for (int i = 0; i < PAGE_TOP; i++) {
                token = likely_next(probabilities, FILL_COLUMNS, token);
                mask->token[i] = (int32_t)token;
                mask->probability[i] = token >= 0 ? probabilities[token] : 0;
                if (token < 0)
                        break;
        }
        f->hash = hash_doubles(f->hash, probabilities, FILL_COLUMNS);
        return f->masks == f->room;
}

/* Fills the masks of a text, which ends with a 0 byte.  0, or an error. */
int PAGE(fill)(const char *text)
{
        PageFillings *f = &fillings_of_page;
        int64_t n = 0;
        int32_t *tokens = prompt_tokens(page_model, text, &n);
        f->masks = f->room = 0;
        f->hash = UINT64_C(0xcbf29ce484222325);
        for (int64_t i = 0; i < n; i++)
                f->room += tokens[i] == MASK_TOKEN;
        free(f->mask);
        f->mask = calloc((size_t)f->room + 1, sizeof *f->mask);
        void *scratch = tokens && f->mask ? malloc($model_fill_scratch(n)) : NULL;
        int error = scratch ? $MODEL_OK : $MODEL_ERROR_MEMORY;
        if (!error && f->room > 0)
                error = $model_fill(page_model, tokens, n, page_mask, f, scratch);
        free(scratch);
        free(tokens);
        return error;
}

int PAGE(masks)(void)
{
        return fillings_of_page.masks;
}

/* The i-th likeliest token of a mask, i below 5, and its probability; -1: there is none. */
int PAGE(filling)(int mask, int i)
{
        return fillings_of_page.mask[mask].token[i];
}

double PAGE(probability)(int mask, int i)
{
        return fillings_of_page.mask[mask].probability[i];
}

/* Bytes of a token's text, of text(); -1: of the mask itself. */
int PAGE(word)(int token)
{
        char *to = fillings_of_page.word;
        $model_text alone = {{0}, 0, 0};
        const int64_t n = $model_decode(page_model, &alone, token < 0 ? MASK_TOKEN : token, $MODEL_CONTROL, to);
        return (int)(n + $model_decode_end(&alone, to + n));
}

const char *PAGE(text)(void)
{
        return fillings_of_page.word;
}

int64_t PAGE(hash)(void)
{
        return (int64_t)fillings_of_page.hash;
}
