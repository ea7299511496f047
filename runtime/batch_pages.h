/*
 * Pages of an instance with several sequences: allocated before a call, released when positions are taken back.  $model and
 * $MODEL are the model's name.
 *
 * Needs pages.h, model_memory.h, the table paged_states.
 */
/* The pages that a call of these sequences needs, or none of them. */
static int take_pages($model *m, const $model_sequence *s, int sequences)
{
        int64_t asked = 0;
        keep_slot(m);
        for (int i = 0; i < sequences; i++)
                asked += pages_ask(&m->page_table, s[i].slot, m->kept[s[i].slot].past, s[i].n);
        const int enough = asked <= m->page_table.pages_left;
        for (int i = 0; i < sequences; i++)
                if (enough)
                        pages_take(&m->page_table, s[i].slot, m->kept[s[i].slot].past, s[i].n, paged_states,
                                   sizeof paged_states / sizeof *paged_states, m->arena);
                else
                        pages_unask(&m->page_table, s[i].slot, m->kept[s[i].slot].past);
        return enough ? $MODEL_OK : $MODEL_ERROR_PAGES;
}

int64_t $model_pages_left(const $model *m)
{
        return m->page_table.pages_left;
}
