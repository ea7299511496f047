/*
 * Classes of a text or a pair, or of each of its tokens, as a function of the model.  $model and $MODEL are its name.
 *
 * Needs guard.h, likely.h, the model's functions, classify_call(), CLASSES, ACTIVATION and CLASSIFIES_TOKENS.
 */

size_t $model_classify_scratch(int64_t n)
{
        return sizeof(float) * (size_t)((CLASSIFIES_TOKENS ? n : 1) * CLASSES + n + classify_call_room(n));
}

int $model_classify($model *m, const int32_t *tokens, const int32_t *types, int64_t n, double *probabilities, void *scratch)
{
        float *scores = (float *)scratch;
        const int64_t rows = CLASSIFIES_TOKENS ? n : 1;
        if (!tokens || !probabilities || !scratch || n < 1)
                return $MODEL_ERROR_RANGE;
        int32_t *zeros = (int32_t *)(void *)(scores + rows * CLASSES);
        for (int64_t i = 0; i < n; i++)
                zeros[i] = 0;
        const FloatState outside = float_enter();
        int error = classify_call(m, tokens, types ? types : zeros, n, scores, zeros + n);
        for (int64_t i = 0; i < rows && !error; i++)
                if (!likely_classes(scores + i * CLASSES, CLASSES, ACTIVATION, probabilities + i * CLASSES))
                        error = $MODEL_ERROR_RANGE;
        float_leave(outside);
        return error;
}
