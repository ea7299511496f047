/*
 * Several sequences in a call: what each of them takes lies row after row.  $model and $MODEL stand for the model's name,
 * $time and $past for the members that count rows and positions.
 *
 * Needs model.h, keep_slot(), take_slot(), skip_outputs(), SLOTS, ROWS, POSITIONS and TAILS_APART.
 */
int $model_select($model *m, int slot)
{
        if (slot < 0 || slot >= SLOTS)
                return $MODEL_ERROR_SLOT;
        keep_slot(m);
        take_slot(m, m, slot);
        return $MODEL_OK;
}

/* Whether the sequences can be taken, and how many rows they are. */
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

/* What kernels see of the rows from `row` on that belong to a sequence. */
static void see_sequence($model *m, $model *view, const $model_sequence *s, int64_t row)
{
        memcpy(view, m, offsetof($model, members));
        take_slot(m, view, s->slot);
        view->$past -= row;
        view->first = row;
        view->$time = row + s->n;
}

/* The views for a call of these sequences; runs of wanted rows that meet are one range. */
static void see_sequences($model *m, const $model_sequence *s, int sequences)
{
        int64_t row = 0, given = 0;
        m->sequences = sequences;
        m->ranges = 0;
        for (int i = 0; i < sequences; i++) {
                $model *own = &m->sequence[i];
                see_sequence(m, own, &s[i], row);
                for (; row < own->$time; row++)
                        m->of[row] = own;
                if (s[i].first == s[i].n)
                        continue;
                $model *range = &m->range[m->ranges];
                if (!TAILS_APART && m->ranges > 0 && s[i].first == 0 && range[-1].$time == own->first) {
                        range[-1].$time = row;
                } else {
                        memcpy(range, own, offsetof($model, members));
                        range->first += s[i].first;
                        skip_outputs(range, given);
                        m->ranges++;
                }
                given += s[i].n - s[i].first;
        }
        m->$time = row;
}

/* A call of the selected slot's sequence alone. */
static void run_alone($model *m)
{
        const $model_sequence s = {m->slot, m->$time, m->first};
        keep_slot(m);
        see_sequences(m, &s, 1);
        run(m);
}
