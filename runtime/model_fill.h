/*
 * Masked tokens, filled by a function of the model's.  $model and $MODEL are its name.
 *
 * Needs guard.h, likely.h, the model's functions, fill_call(), MASK_TOKEN and FILL_COLUMNS.
 */

size_t $model_fill_scratch(int64_t n)
{
        return sizeof(double) * FILL_COLUMNS + sizeof(float) * (size_t)(n * FILL_COLUMNS + fill_call_room(n));
}

int $model_fill($model *m, const int32_t *tokens, int64_t n, $model_on_mask *on_mask, void *of, void *scratch)
{
        double *probabilities = (double *)scratch;
        float *logits = (float *)(void *)(probabilities + FILL_COLUMNS);
        if (!tokens || !on_mask || !scratch || n < 1)
                return $MODEL_ERROR_RANGE;
        const FloatState outside = float_enter();
        int error = fill_call(m, tokens, n, logits, (int32_t *)(void *)(logits + n * FILL_COLUMNS)), ends = 0;
        for (int64_t i = 0; i < n && !error && !ends; i++) {
                if (tokens[i] != MASK_TOKEN)
                        continue;
                if (likely_probabilities(logits + i * FILL_COLUMNS, FILL_COLUMNS, probabilities))
                        ends = on_mask(of, i, probabilities);
                else
                        error = $MODEL_ERROR_RANGE;
        }
        float_leave(outside);
        return error;
}
