/*
 * Scores of passages for a query, as functions of the model.  $model and $MODEL are its name.
 *
 * Needs guard.h, ranking.h, the model's functions, rank_call(), ranking_form, RANK_WIDTH and RANK_LONGEST.
 */

/* Maximum number of tokens of a query or passage of n bytes that the model takes. */
static int64_t rank_most_rows(const $model *m, int is_query, int64_t n)
{
        const int64_t room = ranking_room(&m->tokens, &ranking_form, is_query, n);
        return room < RANK_LONGEST ? room : RANK_LONGEST;
}

/* Computes the vectors of a query or passage, text [n], and its ids, both at the start of scratch if `vectors` is NULL.  As $model_rank_query(). */
static int rank_text($model *m, int is_query, const char *text, int64_t n, int truncate, float *vectors, const int32_t **ids, int64_t *rows,
                     int64_t *tokens, void *scratch)
{
        const TokenTables *t = &m->tokens;
        int64_t real = 0, room = ranking_room(t, &ranking_form, is_query, n), most = rank_most_rows(m, is_query, n);
        float *own = (float *)scratch;
        int32_t *id = (int32_t *)(void *)(own + most * RANK_WIDTH), *seen = id + room;
        const int64_t count = ranking_encode(t, &ranking_form, is_query, text, n, ranking_most(&ranking_form, is_query, truncate, RANK_LONGEST), id,
                                             tokens, &real, seen);
        *ids = id;
        *rows = count;
        if (count < 0)
                *tokens = RANKING_TOO_LONG;
        if (count < 1 || count > RANK_LONGEST)
                return $MODEL_ERROR_RANGE;
        ranking_see(seen, count, real);
        return rank_call(m, id, seen, count, vectors ? vectors : own, seen + count);
}

int64_t $model_rank_rows(const $model *m, int64_t n)
{
        return rank_most_rows(m, 1, n);
}

size_t $model_rank_scratch(const $model *m, int64_t n)
{
        const TokenTables *t = &m->tokens;
        size_t most = 0;
        for (int is_query = 0; is_query < 2; is_query++) {
                const int64_t rows = rank_most_rows(m, is_query, n), room = ranking_room(t, &ranking_form, is_query, n);
                const size_t encodes = (size_t)ranking_scratch(t, &ranking_form, is_query, n), calls = sizeof(float) * (size_t)(rows + rank_call_room(rows)),
                             all = sizeof(float) * (size_t)(rows * RANK_WIDTH + room) + (encodes > calls ? encodes : calls);
                most = all > most ? all : most;
        }
        return most;
}

int $model_rank_query($model *m, const char *query, int64_t n, int truncate, float *vectors, int64_t *rows, int64_t *tokens, void *scratch)
{
        const int32_t *ids;
        if (!query || !vectors || !rows || !tokens || !scratch || n < 0)
                return $MODEL_ERROR_RANGE;
        const FloatState outside = float_enter();
        const int error = rank_text(m, 1, query, n, truncate, vectors, &ids, rows, tokens, scratch);
        float_leave(outside);
        return error;
}

int $model_rank($model *m, const float *vectors, int64_t rows, const char *passage, int64_t n, int truncate, double *score, int64_t *tokens, void *scratch)
{
        const int32_t *ids;
        int64_t passages;
        if (!vectors || !passage || !score || !tokens || !scratch || n < 0 || rows < 1)
                return $MODEL_ERROR_RANGE;
        const FloatState outside = float_enter();
        int error = rank_text(m, 0, passage, n, truncate, NULL, &ids, &passages, tokens, scratch);
        if (!error && !ranking_score(&ranking_form, RANK_WIDTH, vectors, rows, (const float *)scratch, ids, passages, score))
                *tokens = RANKING_SKIPPED;
        else if (!error && *score - *score != 0)
                *tokens = RANKING_NOT_FINITE;
        float_leave(outside);
        return !error && *tokens < 0 ? $MODEL_ERROR_RANGE : error;
}
