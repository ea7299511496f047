/*
 * Classification as a function of the model.  $model and $MODEL are its name.
 *
 * Needs guard.h, picture_input.h, likely.h, the model's functions, classify_call(), picture_form, CLASSES and ACTIVATION.
 */

size_t $model_classify_scratch(int64_t width, int64_t height)
{
        const int64_t values = (int64_t)picture_form.channels * picture_form.rows * picture_form.columns;
        if (!picture_fits(&picture_form, width, height, 3))
                return 8;
        return sizeof(float) * (size_t)(values + CLASSES + classify_call_room(0) + 1) + picture_room(&picture_form, width, height);
}

int $model_classify($model *m, const uint8_t *pixels, int64_t width, int64_t height, int channels, double *probabilities, void *scratch)
{
        const int64_t count = (int64_t)picture_form.channels * picture_form.rows * picture_form.columns;
        if (!pixels || !probabilities || !scratch || !picture_fits(&picture_form, width, height, channels))
                return $MODEL_ERROR_RANGE;
        float *scores = (float *)((uint8_t *)scratch + (picture_room(&picture_form, width, height) + 3) / 4 * 4), *values = scores + CLASSES;
        const FloatState outside = float_enter();
        picture_take(&picture_form, pixels, width, height, channels, values, scratch);
        int error = classify_call(m, values, 0, scores, (int32_t *)(void *)(values + count));
        if (!error && !likely_classes(scores, CLASSES, ACTIVATION, probabilities))
                error = $MODEL_ERROR_RANGE;
        float_leave(outside);
        return error;
}
