/*
 * Memory of an instance.  With several slots, each slot has a state, and each sequence of a call has two views of the instance.
 * A model that is not causal has no state and one view.  $model is the model's name.
 *
 * Needs the model's struct, ARENA_FLOATS, STATE_FLOATS, SCRATCH, and for several slots SLOTS.
 */
static size_t aligned(size_t n)
{
        return (n + 63) / 64 * 64;
}

#if HAS_SLOTS
static size_t views_size(void)
{
#if HAS_POSITIONS
        return aligned(2 * SLOTS * sizeof($model));
#else
        return aligned(SLOTS * sizeof($model));
#endif
}

size_t $model_size(int threads)
{
        size_t floats = (size_t)ARENA_FLOATS + (size_t)STATE_FLOATS * SLOTS + (size_t)SCRATCH * (size_t)(threads > 0 ? threads : 1);
#if HAS_PARTS
        floats += threads > 1 ? PARTS : 0;
#endif
        return aligned(sizeof($model)) + views_size() + aligned(floats * sizeof(float));
}

/* Views and floats of the instance follow its struct. */
static void lay_out($model *m)
{
        char *memory = (char *)m + aligned(sizeof *m);
        m->sequence = ($model *)(void *)memory;
#if HAS_POSITIONS
        m->range = m->sequence + SLOTS;
#endif
        m->arena = (float *)(void *)(memory + views_size());
        m->state = m->arena + ARENA_FLOATS;
        m->scratch = m->state + (size_t)STATE_FLOATS * SLOTS;
#if HAS_PAGES
        pages_begin(&m->page_table, (int32_t *)(void *)(m->arena + PAGE_TABLE), SLOTS, PAGE_BLOCKS, PAGES);
#endif
}
#else
size_t $model_size(int threads)
{
        size_t floats = (size_t)ARENA_FLOATS + STATE_FLOATS + (size_t)SCRATCH * (size_t)(threads > 0 ? threads : 1);
#if HAS_PARTS
        floats += threads > 1 ? PARTS : 0;
#endif
        return aligned(sizeof($model)) + aligned(floats * sizeof(float));
}

/* The floats of the instance follow its struct. */
static void lay_out($model *m)
{
        char *memory = (char *)m + aligned(sizeof *m);
        m->arena = (float *)(void *)memory;
        m->state = m->arena + ARENA_FLOATS;
        m->scratch = m->state + STATE_FLOATS;
}
#endif
