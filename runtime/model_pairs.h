/*
 * Pairs of texts of a model: the interface to token_pairs.h.  $model is the model's name.
 *
 * Needs token_pairs.h and the model's struct.
 */

int64_t $model_encode_pair(const $model *m, const char *first, int64_t nfirst, const char *second, int64_t nsecond, int64_t most, int32_t *ids,
                           int32_t *types, int64_t *all, void *scratch)
{
        return tokens_encode_pair(&m->tokens, first, nfirst, second, nsecond, most, ids, types, all, scratch);
}

int64_t $model_encode_pair_room(const $model *m, int64_t nfirst, int64_t nsecond)
{
        return tokens_pair_room(&m->tokens, nfirst, nsecond);
}

int64_t $model_encode_pair_scratch(const $model *m, int64_t nfirst, int64_t nsecond)
{
        return tokens_pair_scratch(&m->tokens, nfirst, nsecond);
}
