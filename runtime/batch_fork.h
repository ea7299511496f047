/*
 * Copies a sequence of an instance with several slots.  $model and $MODEL are the model's name.
 *
 * Needs model_memory.h, and pages.h for states in pages.
 */
int $model_fork($model *m, int slot, int copy)
{
        float *states = m->arena + ARENA_FLOATS;
        if (slot < 0 || slot >= SLOTS || copy < 0 || copy >= SLOTS)
                return $MODEL_ERROR_SLOT;
        if (slot == copy)
                return $MODEL_OK;
        keep_slot(m);
#if HAS_PAGES
        pages_give(&m->page_table, copy, m->kept[copy].past, 0);
        pages_share(&m->page_table, slot, copy, m->kept[slot].past);
#endif
        m->kept[copy] = m->kept[slot];
        memcpy(states + (int64_t)copy * STATE_FLOATS, states + (int64_t)slot * STATE_FLOATS, sizeof *states * STATE_FLOATS);
        take_slot(m, m, m->slot);
        return $MODEL_OK;
}
