/*
 * Ranks of a model: an instance becomes one of several that compute together.  $model and $MODEL are its name.
 *
 * Needs ranks.h, rank_file.h, the model's functions, WEIGHT_FLOATS and RANK_ROW, the floats of the widest row that is exchanged.
 */

enum { RANK_FLOATS = (int)RANK_ROW > (int)RANK_BLOCK ? (int)RANK_ROW : (int)RANK_BLOCK };

size_t $model_join_scratch(void)
{
        return sizeof(Ranks) + RANK_FLOATS * sizeof(float);
}

/* Values that must be equal on all ranks: the version, which identifies the weights' layout, and some weights.  A share file has them in its head. */
static uint64_t rank_fingerprint(const $model *m)
{
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        for (const char *version = $model_version(); *version; version++)
                hash = (hash ^ (unsigned char)*version) * UINT64_C(0x100000001b3);
#if !HAS_WEIGHTS_INSIDE
        const uint64_t *head = share_head(m);
        const uint64_t sample = head ? head[RANK_FILE_SAMPLE] : weights_sample(m->weights, WEIGHT_FLOATS);
#else
        const uint64_t sample = weights_sample(m->weights, WEIGHT_FLOATS);
#endif
        return (hash ^ sample) * UINT64_C(0x100000001b3);
}

/* Whether all stages have these pieces, compared between ranks of the same number. */
static int stages_are_alike(Ranks *r, const float *piece)
{
        int alike = 1;
        for (int s = 0; s < r->stages; s++)
                if (s != r->stage && r->send(r->of, piece, RANK_PIECES, s))
                        return 0;
        for (int s = 0; s < r->stages; s++) {
                if (s == r->stage)
                        continue;
                if (r->receive(r->of, r->block, RANK_PIECES, s))
                        return 0;
                for (int i = 0; i < RANK_PIECES; i++)
                        alike &= r->block[i] == piece[i];
        }
        return alike;
}

/* Whether all ranks have equal values.  The answer is exchanged too, so that all ranks return the same. */
static int ranks_are_alike(Ranks *r, uint64_t fingerprint)
{
        float piece[RANK_PIECES];
        rank_pieces(fingerprint, piece);
        float found[RANK_PIECES] = {0};
        for (int round = 0; round < 2; round++) {
                const int stages = stages_are_alike(r, round ? found : piece), stage = ranks_have(r, round ? found : piece);
                found[0] = !stages || !stage || found[0] != 0;
        }
        return found[0] == 0 && stages_are_alike(r, found);
}

int $model_join($model *m, const $model_ranks *with, void *scratch)
{
        Ranks *r = scratch;
        if (with->ranks < 1 || with->ranks > MAX_RANKS || with->rank < 0 || with->rank >= with->ranks || !with->gather || !scratch ||
            with->stage < 0 || (with->stages > 1 && (with->stage >= with->stages || !with->send || !with->receive)))
                return $MODEL_ERROR_RANGE;
        memset(r, 0, sizeof *r);
        r->rank = with->rank;
        r->ranks = with->ranks;
        r->stage = with->stages > 1 ? with->stage : 0;
        r->stages = with->stages > 1 ? with->stages : 1;
        r->gather = with->gather;
        r->send = with->send;
        r->receive = with->receive;
        r->check = with->check;
        r->of = with->of;
        r->block = (float *)(r + 1);
        r->block_floats = RANK_FLOATS;
        m->ranks = r;
        const uint64_t own = rank_fingerprint(m);
#if !HAS_WEIGHTS_INSIDE
        r->misplaced = !share_fits(m, r);
#endif
        r->error = !ranks_are_alike(r, r->misplaced ? ~own : own) || r->misplaced; /* makes the other ranks fail too */
        return rank_outcome(m);
}

const char *$model_differs(const $model *m, int64_t *iteration)
{
        *iteration = m->ranks ? m->ranks->differs_at : 0;
        return m->ranks ? m->ranks->differs : NULL;
}
