/*
 * The end of a command line: its exit status, and main().  $model and $MODEL are the model's name.
 *
 * Needs main_shell.h and the model's functions.
 */

/* The exit status for an error of the model, for 0, or for a negative status after a message; flushes standard output. */
static int exit_status(const char *program, const char *weights, int error)
{
        int status = error < 0 ? -error : 0;
        if (error > 0) {
                const int file = error == $MODEL_ERROR_FILE || error == $MODEL_ERROR_WEIGHTS;
                terminal_print(stderr, "%s: %s%s%s\n", program, file ? weights : "", file ? ": " : "", $model_error(error));
                status = error == $MODEL_ERROR_RANGE || error == $MODEL_ERROR_CONTEXT ? 1 : 3;
        }
        if (fflush(stdout) || ferror(stdout)) {
                terminal_print(stderr, "%s: standard output: %s\n", program, strerror(errno));
                status = 3;
        }
        return status;
}

/* Opens the model with its weights.  Where files can't be mapped they are read; the memory is freed at exit. */
#if defined(__wasm__)
#if !HAS_WEIGHTS_INSIDE
/* Reads a whole file, aligned to 64, *bytes long; NULL: it can't be read, or out of memory. */
static void *read_aligned(const char *path, size_t *bytes)
{
        FILE *from = fopen(path, "rb");
        void *held = NULL;
        long end = from && !fseek(from, 0, SEEK_END) ? ftell(from) : -1;
        *bytes = end > 0 ? (size_t)end : 0;
        if (end > 0 && !fseek(from, 0, SEEK_SET) && !posix_memalign(&held, 64, *bytes) && fread(held, 1, *bytes, from) != *bytes) {
                free(held);
                held = NULL;
        }
        if (from)
                fclose(from);
        return held;
}
#endif
static $model *open_model(const CommonOptions *o, int *error)
{
#if !HAS_WEIGHTS_INSIDE
        size_t bytes = 0;
        const void *image = read_aligned(o->weights, &bytes);
        return $model_new_from(image, bytes, o->threads, error);
#else
        return $model_new(o->weights, o->threads, error);
#endif
}
#else
static $model *open_model(const CommonOptions *o, int *error)
{
#if !HAS_RANKS
        return $model_new(o->weights, o->threads, error);
#else
        return join_ranks($model_new(o->weights, o->threads, error), o->weights, error);
#endif
}
#endif

APART int command(char **argv);

int main(int argc, char **argv)
{
        int status = 3;
#if !HAS_RANKS
        (void)argc;
#else
        int rank = 0;
        if (asks_for_help(argv)) {
                terminal_print(stdout, "under mpirun: --stages S   S stages share the layers (default 1); consecutive processes form a stage\n"
                       "               --check-ranks   ranks compare their results after each layer\n");
                return command(argv);
        }
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        refuse_other_arguments(argv);
        stages_asked = take_stages(argv);
        check_asked = take_check(argv);
        refuse_input(argv);
        if (rank > 0 && !freopen("/dev/null", "w", stdout))
                return 3;
#endif
        if (processor_suits())
                status = command(argv);
        else
                terminal_print(stderr, "%s: %s\n", argv[0], $model_error($MODEL_ERROR_CPU));
#if HAS_RANKS
        leave_ranks();
#endif
        return status;
}
