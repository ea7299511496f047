/*
 * The sequence of a row in a call.  $model is the model's name.
 *
 * Needs the model's struct.
 */
/* Each sequence has `fixed` rows, and `per` more for each of its positions. */
static inline const $model *sequence_of(const $model *m, int64_t row, int64_t fixed, int64_t per)
{
        int low = 0, high = m->sequences - 1;
        while (low < high) {
                const int middle = (low + high + 1) / 2;
                if (fixed * middle + per * m->sequence[middle].before <= row)
                        low = middle;
                else
                        high = middle - 1;
        }
        return &m->sequence[low];
}

