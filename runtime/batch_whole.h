/*
 * Several whole sequences in a call, of a model that is not causal: their inputs are concatenated.  $model and
 * $MODEL stand for the model's name, $size for the size that differs between sequences, if there is one.
 *
 * Needs model.h, next_sequence(), check_sequence(), SLOTS and, with such a size, ROWS and POSITIONS.
 */
/* Checks the sequences. */
#if HAS_SIZES
static int check_sequences(const $model_sequence *s, int sequences)
#else
static int check_sequences(int sequences)
#endif
{
#if HAS_SIZES
        int64_t rows = 0;
#endif
        if (sequences < 0)
                return $MODEL_ERROR_RANGE;
        if (sequences > SLOTS)
                return $MODEL_ERROR_SLOT;
#if HAS_SIZES
        if (sequences > 0 && !s)
                return $MODEL_ERROR_RANGE;
        for (int i = 0; i < sequences; i++) {
                if (s[i].n < 1)
                        return $MODEL_ERROR_RANGE;
                if (s[i].n > POSITIONS)
                        return $MODEL_ERROR_CONTEXT;
                rows += s[i].n;
        }
        return rows > ROWS ? $MODEL_ERROR_ROWS : $MODEL_OK;
#else
        return $MODEL_OK;
#endif
}

/* The views for a call of these sequences, if their inputs are in range. */
#if HAS_SIZES
static int see_sequences($model *m, const $model_sequence *s, int sequences)
#else
static int see_sequences($model *m, int sequences)
#endif
{
        int64_t row = 0;
        m->sequences = sequences;
        for (int i = 0; i < sequences; i++) {
                $model *own = &m->sequence[i];
                memcpy(own, i ? own - 1 : m, offsetof($model, members));
                if (i)
                        next_sequence(own);
                own->number = i;
                own->before = row;
#if HAS_SIZES
                own->$size = s[i].n;
                row += s[i].n;
#endif
                int wrong = check_sequence(own);
                if (wrong)
                        return wrong;
        }
#if HAS_SIZES
        m->$size = row;
#endif
        return $MODEL_OK;
}
