/*
 * An instance of the model: its weights and its threads.  $model and $MODEL are the model's name.
 *
 * Needs guard.h, processor.h, team.h, the model's enums and struct, model_begin.h, model_memory.h and weights_open().
 */
APART int init($model *m, const WeightImage *from, int threads)
{
        memset(m, 0, sizeof *m);
        lay_out(m);
        FloatState outside = float_enter();
        int faults = float_check();
        float_leave(outside);
        if (faults)
                return $MODEL_ERROR_FLOAT;
        if (threads < 1 || threads > TEAM_MAX)
                return $MODEL_ERROR_THREADS;
        int error = weights_open(m, from);
#if HAS_RANKS && !HAS_WEIGHTS_INSIDE
        error = error ? error : share_begin(m);
#endif
        if (error)
                return error;
        m->team = &m->members;
#if HAS_SYSTEM
        if (team_start(m->team, threads)) {
                $model_close(m);
                return $MODEL_ERROR_THREADS;
        }
#else
        team_start(m->team, threads);
#endif
        m->threads = m->team->threads;
        return $MODEL_OK;
}

static int init_from($model *m, const WeightImage *from, int threads)
{
        m->threads = 0; /* so that it can be closed */
#if !HAS_WEIGHTS_INSIDE
        m->mapped = NULL;
#endif
        return processor_suits() ? init(m, from, threads) : $MODEL_ERROR_CPU;
}

#if !HAS_SYSTEM
$model *$model_instance(int *error)
{
        *error = init_from(&lathe_memory.instance, &(WeightImage){.path = NULL}, 1);
        return *error ? NULL : &lathe_memory.instance;
}
#else
int $model_init($model *m, const char *weights_path, int threads)
{
        return init_from(m, &(WeightImage){.path = weights_path}, threads);
}

#if !HAS_WEIGHTS_INSIDE
static void weights_unmap($model *m)
{
#if HAS_WINDOWS && defined(_WIN32)
        _aligned_free(m->mapped);
#elif !defined(__wasm__)
        if (m->mapped)
                munmap(m->mapped, m->mapped_size);
#endif
        m->mapped = NULL;
}

#endif
void $model_close($model *m)
{
        if (m->threads)
                team_stop(m->team);
        m->threads = 0;
#if !HAS_WEIGHTS_INSIDE
        weights_unmap(m);
#endif
}

static $model *new_from(const WeightImage *from, int threads, int *error)
{
        char *memory = NULL;
        *error = !processor_suits()                    ? $MODEL_ERROR_CPU
                 : threads < 1 || threads > TEAM_MAX ? $MODEL_ERROR_THREADS
                                                      : $MODEL_OK;
        if (!*error && !(memory = malloc($model_size(threads) + 64)))
                *error = $MODEL_ERROR_MEMORY;
        $model *m = memory ? ($model *)(void *)(memory + 64 - (uintptr_t)memory % 64) : NULL;
        *error = *error ? *error : init_from(m, from, threads);
        if (*error) {
                free(memory);
                return NULL;
        }
        m->own_memory = memory;
        return m;
}

$model *$model_new(const char *weights_path, int threads, int *error)
{
        return new_from(&(WeightImage){.path = weights_path}, threads, error);
}

void $model_free($model *m)
{
        if (m)
                $model_close(m);
        free(m ? m->own_memory : NULL);
}

#endif

/* Runs the program on every thread, in the float state that the results are defined in. */
static void run($model *m)
{
        FloatState outside = float_enter();
        team_run(m->team, $program, m);
        float_leave(outside);
}
#if !HAS_WEIGHTS_INSIDE

/* With weights in memory. */
int $model_init_from($model *m, const void *image, size_t bytes, int threads)
{
        return init_from(m, &(WeightImage){.image = image, .bytes = bytes}, threads);
}

$model *$model_new_from(const void *image, size_t bytes, int threads, int *error)
{
        return new_from(&(WeightImage){.image = image, .bytes = bytes}, threads, error);
}
#endif
