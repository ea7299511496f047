/*
 * Ranks of a model: an instance becomes one of several that compute together.  $model and $MODEL stand for its name.
 *
 * Needs ranks.h, the model's functions, WEIGHT_FLOATS and RANK_ROW, the floats of the widest row that is exchanged.
 */

enum { RANK_FLOATS = (int)RANK_ROW > (int)RANK_BLOCK ? (int)RANK_ROW : (int)RANK_BLOCK, RANK_PIECES = 4, RANK_SAMPLES = 64 };

size_t $model_join_scratch(void)
{
        return sizeof(Ranks) + RANK_FLOATS * sizeof(float);
}

/* What ranks must have alike: the version, which names the weights' layout too, and of the weights a few, which tell one checkpoint from another; from four places, as
 * what is read of others' weights takes memory. */
static uint64_t rank_fingerprint(const $model *m)
{
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        for (const char *version = $model_version(); *version; version++)
                hash = (hash ^ (unsigned char)*version) * UINT64_C(0x100000001b3);
        for (int64_t i = 0; i < RANK_SAMPLES; i++) {
                uint32_t bits;
                memcpy(&bits, &m->weights[(WEIGHT_FLOATS / 4 * (i / 16) + i % 16) % WEIGHT_FLOATS], sizeof bits);
                hash = (hash ^ bits) * UINT64_C(0x100000001b3);
        }
        return hash;
}

/* Have all ranks the same one?  Pieces of 16 bits are floats that every transport carries. */
static int ranks_are_alike(Ranks *r, uint64_t fingerprint)
{
        for (int i = 0; i <= r->ranks; i++)
                r->begin[i] = (int64_t)RANK_PIECES * i;
        for (int i = 0; i < RANK_PIECES; i++)
                r->block[RANK_PIECES * r->rank + i] = (float)(fingerprint >> 16 * i & 0xffff);
        if (r->gather(r->of, r->block, r->begin))
                return 0;
        for (int64_t i = 0; i < (int64_t)RANK_PIECES * r->ranks; i++)
                if (r->block[i] != r->block[i % RANK_PIECES])
                        return 0;
        return 1;
}

int $model_join($model *m, const $model_ranks *with, void *scratch)
{
        Ranks *r = scratch;
        if (with->ranks < 1 || with->ranks > RANKS_MOST || with->rank < 0 || with->rank >= with->ranks || !with->gather || !scratch)
                return $MODEL_ERROR_RANGE;
        memset(r, 0, sizeof *r);
        r->rank = with->rank;
        r->ranks = with->ranks;
        r->gather = with->gather;
        r->of = with->of;
        r->block = (float *)(r + 1);
        r->block_floats = RANK_FLOATS;
        m->ranks = r;
        r->error = !ranks_are_alike(r, rank_fingerprint(m));
        return r->error ? $MODEL_ERROR_RANK : $MODEL_OK;
}
