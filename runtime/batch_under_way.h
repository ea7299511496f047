/*
 * Batches under way: a batch is begun, and its outputs are taken later, so that stages of ranks can work on different batches.
 * $model and $MODEL are the model's name.
 *
 * Needs batch.h.
 */

/* Maximum number of batches: twice the stages; without stages one, whose values stay in the arena. */
static int check_under_way(const $model *m, const $model_sequence *s, int sequences)
{
        const int most = m->ranks && m->ranks->stages > 1 ? 2 * m->ranks->stages : 1;
        if (m->batches == most)
                return $MODEL_ERROR_UNDER_WAY;
        if (sequences < 1)
                return $MODEL_ERROR_RANGE;
        for (int i = 0; i < m->begun; i++)
                for (int k = 0; s && k < sequences; k++)
                        if (s[k].slot == m->begun_sequence[i].slot)
                                return $MODEL_ERROR_TWICE;
        return $MODEL_OK;
}

/* Removes the batch whose outputs were taken. */
static void keep_begun($model *m, const $model_sequence *s, int sequences)
{
        for (int i = 0; i < sequences; i++) {
                m->begun_past[m->begun] = m->kept[s[i].slot].past - s[i].n;
                m->begun_sequence[m->begun++] = s[i];
        }
        m->batch_sequences[m->batches++] = sequences;
}

/* The oldest batch as kernels see it, with the positions that it had when it was begun. */
static void see_begun($model *m)
{
        const int n = m->batch_sequences[0];
        int64_t past[SLOTS];
        keep_slot(m);
        for (int i = 0; i < n; i++) {
                past[i] = m->kept[m->begun_sequence[i].slot].past;
                m->kept[m->begun_sequence[i].slot].past = m->begun_past[i];
        }
        see_sequences(m, m->begun_sequence, n);
        for (int i = 0; i < n; i++)
                m->kept[m->begun_sequence[i].slot].past = past[i];
}

static void forget_begun($model *m)
{
        const int n = m->batch_sequences[0];
        m->begun -= n;
        m->batches--;
        memmove(m->begun_sequence, m->begun_sequence + n, (size_t)m->begun * sizeof *m->begun_sequence);
        memmove(m->begun_past, m->begun_past + n, (size_t)m->begun * sizeof *m->begun_past);
        memmove(m->batch_sequences, m->batch_sequences + 1, (size_t)m->batches * sizeof *m->batch_sequences);
}
