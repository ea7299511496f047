/*
 * A page's pictures.  $model and $MODEL are the model's name.
 *
 * Needs page.h, model_classify.h, main_shell.h and CLASSES.
 */

static double probabilities_of_page[CLASSES];

/* Names a picture, pixels as $model_classify() takes them.  0, or an error. */
int PAGE(classify)(const uint8_t *pixels, int width, int height, int channels)
{
        void *scratch = malloc($model_classify_scratch(width, height));
        const int error = !scratch ? $MODEL_ERROR_MEMORY
                                   : $model_classify(page_model, pixels, width, height, channels, probabilities_of_page, scratch);
        free(scratch);
        return error;
}

/* Of the last picture, [classes]. */
const double *PAGE(probabilities)(void)
{
        return probabilities_of_page;
}

int PAGE(classes)(void)
{
        return CLASSES;
}

/* NULL: it has none. */
const char *PAGE(label)(int number)
{
        return $model_label(number);
}

int64_t PAGE(hash)(void)
{
        return (int64_t)hash_doubles(UINT64_C(0xcbf29ce484222325), probabilities_of_page, CLASSES);
}
