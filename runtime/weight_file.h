/*
 * Weights of an instance from a weight file, or from memory with its content.  $model and $MODEL are the model's name.
 *
 * Needs model_begin.h, the model's errors and struct, LAYOUT_HASH, WEIGHT_FLOATS, TAIL_BYTES and TAIL_HASH.
 */
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
#elif HAS_WINDOWS && defined(_WIN32)
static int weights_from_memory($model *m, const void *image, size_t bytes);

/* Reads the file: Windows has no mmap(). */
static int weights_map($model *m, const char *path)
{
        const size_t bytes = 4096 + sizeof(float) * (size_t)WEIGHT_FLOATS + TAIL_BYTES;
        FILE *file = path ? fopen(path, "rb") : NULL;
        m->mapped = file ? _aligned_malloc(bytes + 1, 64) : NULL;
        const int error = !file        ? $MODEL_ERROR_FILE
                          : !m->mapped ? $MODEL_ERROR_MEMORY
                                       : weights_from_memory(m, m->mapped, fread(m->mapped, 1, bytes + 1, file));
        if (file)
                fclose(file);
        if (error) {
                _aligned_free(m->mapped);
                m->mapped = NULL;
        }
        return error;
}
#else
static int weights_map($model *m, const char *path)
{
        uint64_t head[5];
        const int file = path ? open(path, O_RDONLY) : -1;
        int error = $MODEL_OK;
        const off_t bytes = file < 0 ? -1 : lseek(file, 0, SEEK_END);
        if (bytes < 0 || pread(file, head, sizeof head, 0) != (ssize_t)sizeof head)
                error = $MODEL_ERROR_FILE;
        else if (!weights_are_ours(head, (uint64_t)bytes))
                error = $MODEL_ERROR_WEIGHTS;
        else if ((m->mapped = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, file, 0)) == MAP_FAILED)
                error = $MODEL_ERROR_MEMORY;
        if (file >= 0)
                close(file);
        if (error) {
                m->mapped = NULL;
                return error;
        }
        m->mapped_size = (size_t)bytes;
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
