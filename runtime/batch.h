/*
 * Several sequences in a call, whose inputs are concatenated row by row.  $model and $MODEL are the model's name, $time and
 * $past the members that count rows and positions.
 *
 * Needs model.h, keep_slot(), take_slot(), skip_rows(), SLOTS, ROWS and POSITIONS.
 */
int $model_select($model *m, int slot)
{
        if (slot < 0 || slot >= SLOTS)
                return $MODEL_ERROR_SLOT;
        keep_slot(m);
        take_slot(m, m, slot);
        return $MODEL_OK;
}

/* Checks the sequences and counts their rows. */
static int check_sequences(const $model *m, const $model_sequence *s, int sequences, int64_t *rows)
{
        *rows = 0;
        if (sequences < 0 || (sequences > 0 && !s))
                return $MODEL_ERROR_RANGE;
        for (int i = 0; i < sequences; i++) {
                if (s[i].slot < 0 || s[i].slot >= SLOTS)
                        return $MODEL_ERROR_SLOT;
                for (int k = 0; k < i; k++)
                        if (s[k].slot == s[i].slot)
                                return $MODEL_ERROR_TWICE;
                if (s[i].n < 1 || s[i].first < 0 || s[i].first > s[i].n)
                        return $MODEL_ERROR_RANGE;
                if (s[i].n > POSITIONS - m->kept[s[i].slot].past)
                        return $MODEL_ERROR_CONTEXT;
                *rows += s[i].n;
        }
        return *rows > ROWS ? $MODEL_ERROR_ROWS : $MODEL_OK;
}

/* Sequence s as kernels see it: its rows and requested outputs follow those of previous sequences. */
static void see_sequence($model *m, $model *view, const $model_sequence *s, int number, int64_t before, int64_t given)
{
        memcpy(view, m, offsetof($model, members));
        take_slot(m, view, s->slot);
        view->number = number;
        view->before = before;
        view->$time = s->n;
        view->first = s->first;
        skip_rows(view, before, given);
}

/* The views for a call of these sequences; adjacent ranges of requested rows are joined. */
static void see_sequences($model *m, const $model_sequence *s, int sequences)
{
        int64_t row = 0, given = 0;
        m->sequences = sequences;
        m->ranges = 0;
        for (int i = 0; i < sequences; i++) {
                see_sequence(m, &m->sequence[i], &s[i], i, row, given);
                $model *range = &m->range[m->ranges];
                if (m->ranges > 0 && s[i].first == 0 && range[-1].$time == row) {
                        range[-1].$time = row + s[i].n;
                } else if (s[i].first < s[i].n) {
                        memcpy(range, m, offsetof($model, members));
                        range->first = row + s[i].first;
                        range->$time = row + s[i].n;
                        skip_rows(range, 0, given);
                        m->ranges++;
                }
                row += s[i].n;
                given += s[i].n - s[i].first;
        }
        m->$time = row;
}

/* A call for the sequence of the selected slot only. */
static void run_alone($model *m)
{
        const $model_sequence s = {m->slot, m->$time, m->first};
        keep_slot(m);
        see_sequences(m, &s, 1);
        run(m);
}
