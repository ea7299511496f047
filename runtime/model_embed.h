/*
 * The vector of a text as a function of the model.  $model and $MODEL are its name.
 *
 * Needs guard.h, pooling.h, the model's functions, embed_call(), WIDTH, POOLS, AVERAGES and HAS_LENGTH_1.
 */

size_t $model_embed_scratch(int64_t n)
{
        return sizeof(float) * (size_t)((POOLS ? n : 1) * WIDTH + embed_call_room(n));
}

int $model_embed($model *m, const int32_t *tokens, int64_t n, float *vector, void *scratch)
{
        float *rows = (float *)scratch;
        const int64_t count = POOLS ? n : 1;
        if (!tokens || !vector || !scratch || n < 1)
                return $MODEL_ERROR_RANGE;
        const FloatState outside = float_enter();
        const int error = embed_call(m, tokens, n, rows, (int32_t *)(void *)(rows + count * WIDTH));
        if (!error)
                pooled_vector(rows, count, WIDTH, AVERAGES, HAS_LENGTH_1, vector);
        float_leave(outside);
        return error;
}
