/*
 * An instance of the model: its memory, its weights, its threads.  $model and $MODEL stand for the model's name.
 *
 * Needs guard.h, processor.h, team.h, the model's enums and struct.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#if !defined(__wasm__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

/* Where weights are: as a whole file in memory, or, where image is NULL, in a file. */
typedef struct {
        const char *path;
        const void *image;
        size_t bytes;
} WeightImage;

/* The weight file: a head of 40 bytes, "lathe 1\n", the layout hash, the number of floats, the bytes of the tail and their hash; zeros
 * up to byte 4096; the floats; the tail.  0: it is another's, or too short or long. */
static int weights_are_ours(const uint64_t head[5], uint64_t bytes)
{
#if HAS_RANKS
        const int marked = !memcmp(head, "lathe 1\n", 8) || !memcmp(head, RANK_FILE_MARK, 8);
#else
        const int marked = !memcmp(head, "lathe 1\n", 8);
#endif
        return marked && head[1] == LAYOUT_HASH && head[2] == WEIGHT_FLOATS && head[3] == TAIL_BYTES &&
               head[4] == TAIL_HASH && bytes == 4096 + sizeof(float) * (uint64_t)WEIGHT_FLOATS + TAIL_BYTES;
}

#if defined(__wasm__)
static int weights_map($model *m, const char *path)
{
        (void)m, (void)path;
        return $MODEL_ERROR_FILE; /* a page has none */
}
#else
static int weights_map($model *m, const char *path)
{
        struct stat about;
        uint64_t head[5];
        int file = path ? open(path, O_RDONLY) : -1;
        if (file < 0)
                return $MODEL_ERROR_FILE;
        if (fstat(file, &about) || pread(file, head, sizeof head, 0) != (ssize_t)sizeof head) {
                close(file);
                return $MODEL_ERROR_FILE;
        }
        if (!weights_are_ours(head, (uint64_t)about.st_size)) {
                close(file);
                return $MODEL_ERROR_WEIGHTS;
        }
        m->mapped_size = (size_t)about.st_size;
        m->mapped = mmap(NULL, m->mapped_size, PROT_READ, MAP_PRIVATE, file, 0);
        close(file);
        if (m->mapped == MAP_FAILED) {
                m->mapped = NULL;
                return $MODEL_ERROR_MEMORY;
        }
        m->weights = (const float *)(const void *)((const char *)m->mapped + 4096);
        return $MODEL_OK;
}
#endif

static int weights_from_memory($model *m, const void *image, size_t bytes)
{
        uint64_t head[5];
        if ((uintptr_t)image % 64 != 0)
                return $MODEL_ERROR_RANGE;
        if (bytes < sizeof head)
                return $MODEL_ERROR_WEIGHTS;
        memcpy(head, image, sizeof head);
        if (!weights_are_ours(head, bytes))
                return $MODEL_ERROR_WEIGHTS;
        m->weights = (const float *)(const void *)((const char *)image + 4096);
        return $MODEL_OK;
}

static int weights_reach($model *m, const WeightImage *from)
{
        return from->image ? weights_from_memory(m, from->image, from->bytes) : weights_map(m, from->path);
}

static size_t aligned(size_t n)
{
        return (n + 63) / 64 * 64;
}

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
        if (team_start(m->team, threads)) {
                $model_close(m);
                return $MODEL_ERROR_THREADS;
        }
        m->threads = m->team->threads;
        return $MODEL_OK;
}

static int init_from($model *m, const WeightImage *from, int threads)
{
        m->threads = 0; /* so that it can be closed */
        m->mapped = NULL;
        return processor_suits() ? init(m, from, threads) : $MODEL_ERROR_CPU;
}

int $model_init($model *m, const char *weights_path, int threads)
{
        const WeightImage from = {.path = weights_path};
        return init_from(m, &from, threads);
}

static void weights_unmap($model *m)
{
#if !defined(__wasm__)
        if (m->mapped)
                munmap(m->mapped, m->mapped_size);
#endif
        m->mapped = NULL;
}

void $model_close($model *m)
{
        if (m->threads)
                team_stop(m->team);
        m->threads = 0;
        weights_unmap(m);
}

static $model *new_from(const WeightImage *from, int threads, int *error)
{
        void *memory = NULL;
        *error = !processor_suits()                    ? $MODEL_ERROR_CPU
                 : threads < 1 || threads > TEAM_MAX ? $MODEL_ERROR_THREADS
                                                      : $MODEL_OK;
        if (!*error && posix_memalign(&memory, 64, $model_size(threads)))
                *error = $MODEL_ERROR_MEMORY;
        if (!*error)
                *error = init_from(memory, from, threads);
        if (*error) {
                free(memory);
                return NULL;
        }
        return memory;
}

$model *$model_new(const char *weights_path, int threads, int *error)
{
        const WeightImage from = {.path = weights_path};
        return new_from(&from, threads, error);
}

void $model_free($model *m)
{
        if (m)
                $model_close(m);
        free(m);
}

/* Runs the program on every thread, in the float state that the results are defined in. */
static void run($model *m)
{
        FloatState outside = float_enter();
        team_run(m->team, $program, m);
        float_leave(outside);
}

/* With weights in memory. */
int $model_init_from($model *m, const void *image, size_t bytes, int threads)
{
        const WeightImage from = {.image = image, .bytes = bytes};
        return init_from(m, &from, threads);
}

$model *$model_new_from(const void *image, size_t bytes, int threads, int *error)
{
        const WeightImage from = {.image = image, .bytes = bytes};
        return new_from(&from, threads, error);
}
