/*
 * A model whose weight file may be that of one rank (rank_file.h).  $model and $MODEL are its name.
 *
 * Needs rank_link.h, the model's struct and SHARDING_HASH.
 */

/* The head of a weight file of one rank; NULL: the file is complete. */
static const uint64_t *share_head(const $model *m)
{
        const uint64_t *head = (const uint64_t *)(const void *)((const char *)m->weights - 4096);
        return memcmp(head, RANK_FILE_MARK, 8) ? NULL : head;
}

/* Marks a share that has not joined its ranks: calls return an error until it has. */
static Ranks share_alone = {.ranks = 1, .stages = 1, .misplaced = 1, .error = 1};

/* To be called after weights_open(). */
static int share_begin($model *m)
{
        const uint64_t *head = share_head(m);
        m->ranks = head ? &share_alone : NULL;
        if (!head || head[RANK_FILE_SHARDING] == SHARDING_HASH)
                return $MODEL_OK;
        $model_close(m);
        return $MODEL_ERROR_WEIGHTS;
}

/* Whether the file contains the weights of this rank. */
static int share_fits(const $model *m, const Ranks *r)
{
        const uint64_t *head = share_head(m);
        const uint64_t place = (uint64_t)r->rank | (uint64_t)r->ranks << 32, stage = (uint64_t)r->stage | (uint64_t)r->stages << 32,
                       all = UINT64_C(1) << 32; /* stage 0 of 1 */
        return !head || (head[RANK_FILE_PLACE] == place && (head[RANK_FILE_STAGE] == stage || head[RANK_FILE_STAGE] == all));
}
