/* A picture as an input of a model, as `loop classify` prescribes: resized, cropped, each channel centred
 * and scaled. */
#include <stdlib.h>

#include "driver.h"

const char *picture_values(Arena *a, const Loop *l, const char *path, const int64_t *dim, double **value,
                           bool *env_error)
{
        const PictureForm form = picture_form(a, l, dim);
        const size_t n = (size_t)(form.channels * form.rows) * (size_t)form.columns;
        Image image;
        *value = NULL;
        const char *why = image_read(a, path, form.channels, &image, env_error);
        float *values = why ? NULL : malloc(n * sizeof *values);
        if (!why && values && (why = image_values(a, &image, &form, values)) && !lacks_memory(why))
                why = arena_printf(a, "%s: %s", path, why);
        if (!why && (!values || !(*value = malloc(n * sizeof **value))))
                why = no_memory;
        for (size_t i = 0; i < n && !why; i++)
                (*value)[i] = (double)values[i];
        free(values);
        image_free(&image);
        return why;
}
