/*
 * Several whole sequences in a call, of a model that is not causal: what each of them takes lies one after another.  $model and
 * $MODEL stand for the model's name, $size for the size that differs between sequences; lines that begin with $sized are for models
 * that have one, with $fixed for others.
 *
 * Needs model.h, next_sequence(), check_sequence(), SLOTS and, with $sized, ROWS and POSITIONS.
 */
/* Whether the sequences can be taken. */
$sized static int check_sequences(const $model_sequence *s, int sequences)
$fixed static int check_sequences(int sequences)
{
$sized        int64_t rows = 0;
        if (sequences < 0)
                return $MODEL_ERROR_RANGE;
        if (sequences > SLOTS)
                return $MODEL_ERROR_SLOT;
$sized        if (sequences > 0 && !s)
$sized                return $MODEL_ERROR_RANGE;
$sized        for (int i = 0; i < sequences; i++) {
$sized                if (s[i].n < 1)
$sized                        return $MODEL_ERROR_RANGE;
$sized                if (s[i].n > POSITIONS)
$sized                        return $MODEL_ERROR_CONTEXT;
$sized                rows += s[i].n;
$sized        }
$sized        return rows > ROWS ? $MODEL_ERROR_ROWS : $MODEL_OK;
$fixed         return $MODEL_OK;
}

/* The views for a call of these sequences, if their inputs are in range. */
$sized static int see_sequences($model *m, const $model_sequence *s, int sequences)
$fixed static int see_sequences($model *m, int sequences)
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
$sized                own->$size = s[i].n;
$sized                row += s[i].n;
                int wrong = check_sequence(own);
                if (wrong)
                        return wrong;
        }
$sized        m->$size = row;
        return $MODEL_OK;
}
