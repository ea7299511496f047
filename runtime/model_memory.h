/*
 * Memory of an instance.  With several slots, each slot has a state, and each sequence of a call has two views of the instance.
 * A model that is not causal has no state and one view.  $model is the model's name.
 *
 * Needs the model's struct, ARENA_FLOATS, STATE_FLOATS, SCRATCH, and for several slots SLOTS.
 */
#if !HAS_SYSTEM
/* Attributes of the instance's memory, as -D$MODEL_MEMORY='__attribute__((section(".sdram")))'. */
#ifndef $MODEL_MEMORY
#define $MODEL_MEMORY
#endif

/* The instance.  All of its memory is static. */
static struct {
        _Alignas(64) $model instance;
#if HAS_SLOTS && HAS_POSITIONS
        $model view[2 * SLOTS];
#elif HAS_SLOTS
        $model view[SLOTS];
#endif
#if HAS_SLOTS
        _Alignas(64) float floats[ARENA_FLOATS + STATE_FLOATS * SLOTS + SCRATCH];
#else
        _Alignas(64) float floats[ARENA_FLOATS + STATE_FLOATS + SCRATCH];
#endif
} lathe_memory $MODEL_MEMORY;

static void lay_out($model *m)
{
        m->arena = lathe_memory.floats;
        m->state = m->arena + ARENA_FLOATS;
#if HAS_SLOTS
        m->sequence = lathe_memory.view;
        m->scratch = m->state + STATE_FLOATS * SLOTS;
#else
        m->scratch = m->state + STATE_FLOATS;
#endif
#if HAS_SLOTS && HAS_POSITIONS
        m->range = m->sequence + SLOTS;
#endif
#if HAS_PAGES
        pages_begin(&m->page_table, (int32_t *)(void *)(m->arena + PAGE_TABLE), SLOTS, PAGE_BLOCKS, PAGES);
#endif
}
#else
static size_t aligned(size_t n)
{
        return (n + 63) / 64 * 64;
}
#endif

#if HAS_SYSTEM && HAS_SLOTS
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
#elif HAS_SYSTEM
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
