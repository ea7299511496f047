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
#else
static int weights_map($model *m, const char *path)
{
        struct stat about;
        uint64_t head[5];
        const int file = path ? open(path, O_RDONLY) : -1;
        int error = $MODEL_OK;
        if (file < 0 || fstat(file, &about) || pread(file, head, sizeof head, 0) != (ssize_t)sizeof head)
                error = $MODEL_ERROR_FILE;
        else if (!weights_are_ours(head, (uint64_t)about.st_size))
                error = $MODEL_ERROR_WEIGHTS;
        else if ((m->mapped = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0)) == MAP_FAILED)
                error = $MODEL_ERROR_MEMORY;
        if (file >= 0)
                close(file);
        if (error) {
                m->mapped = NULL;
                return error;
        }
        m->mapped_size = (size_t)about.st_size;
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
