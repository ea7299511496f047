/*
 * The end of a command line: its exit status, and main().  $model and $MODEL stand for the model's name.
 *
 * Needs main_shell.h and the model's functions.
 */

/* The status of a command that ends with an error of the model's, 0, or below 0 a status after a message; what was written is out by then. */
static int exit_status(const char *program, const char *weights, int error)
{
        int status = error < 0 ? -error : 0;
        if (error > 0) {
                const int file = error == $MODEL_ERROR_FILE || error == $MODEL_ERROR_WEIGHTS;
                fprintf(stderr, "%s: %s%s%s\n", program, file ? weights : "", file ? ": " : "", $model_error(error));
                status = error == $MODEL_ERROR_RANGE || error == $MODEL_ERROR_CONTEXT ? 1 : 3;
        }
        if (fflush(stdout) || ferror(stdout)) {
                fprintf(stderr, "%s: standard output: %s\n", program, strerror(errno));
                status = 3;
        }
        return status;
}

APART int command(char **argv);

int main(int argc, char **argv)
{
        (void)argc;
        if (processor_suits())
                return command(argv);
        fprintf(stderr, "%s: %s\n", argv[0], $model_error($MODEL_ERROR_CPU));
        return 3;
}
