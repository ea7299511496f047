/*
 * What `lathe verify` builds with a model: calls it in every way and compares the bits.
 *
 *   program WEIGHTS INPUTS OUTPUTS     inputs and outputs one after another, as the interface has them
 *
 * Prints "run output element one other" of the first difference of each run that has one; writes what run 0 gives.
 * $model is the model's name; $sizes, $inputs, $one, $outputs are arguments: the sizes, the inputs from position `at` on, those
 * of one position, the outputs from there on.
 *
 * Needs the arrays input_0 .., count[OUTPUTS] elements of each output, from_last[OUTPUTS] the first of its last position.
 */
static int whole($model *m, float *const *output)
{
        const int64_t at = 0;
        (void)at;
        return $model_forward(m$sizes$inputs$all$outputs);
}

#if SEQUENTIAL
static int pieces($model *m, float *const *output)
{
        int error = 0;
        for (int64_t at = 0; at < N && !error; at += PIECE)
                error = $model_forward(m$sizes$inputs, at + PIECE < N ? PIECE : N - at$outputs);
        return error;
}

static int one_step($model *m, float *const *output, int64_t at)
{
        return $model_step(m$sizes$one$outputs);
}

static int steps($model *m, float *const *output)
{
        int error = 0;
        for (int64_t at = 0; at < N && !error; at++)
                error = one_step(m, output, at);
        return error;
}

static int prefill_step($model *m, float *const *output)
{
        const int64_t at = 0;
        int error = $model_prefill(m$sizes$inputs, N - 1);
        return error ? error : one_step(m, output, N - 1);
}
#endif

static const struct {
        int (*call)($model *m, float *const *output);
        int threads, number, last_only;
} run[] = {$runs};
enum { RUNS = sizeof run / sizeof run[0] };

/* NaN equals NaN. */
static int differ(float a, float b)
{
        return memcmp(&a, &b, sizeof a) && !(a != a && b != b);
}

static void compare(int r, float *const *one, float *const *other)
{
        for (int i = 0; i < OUTPUTS; i++)
                for (int64_t k = run[r].last_only ? from_last[i] : 0; k < count[i]; k++)
                        if (differ(one[i][k], other[i][k])) {
                                printf("%d %d %ld %a %a\n", run[r].number, i, (long)k, (double)one[i][k], (double)other[i][k]);
                                return;
                        }
}

static int write_outputs(const char *path, float *const *output)
{
        FILE *f = fopen(path, "wb");
        int good = f != NULL;
        for (int i = 0; i < OUTPUTS; i++)
                good = good && fwrite(output[i], sizeof(float), (size_t)count[i], f) == (size_t)count[i];
        return f && !fclose(f) && good;
}

/* Starts as NaN, so that what is not written shows. */
static float *new_output(int i)
{
        float *output = malloc(sizeof *output * (size_t)count[i] + 1);
        if (output)
                memset(output, 0xff, sizeof *output * (size_t)count[i]);
        return output;
}

static int call(int r, const char *weights, float **output)
{
        int error;
        $model *m = $model_new(weights, run[r].threads, &error);
        for (int i = 0; i < OUTPUTS; i++)
                if (!(output[i] = new_output(i)))
                        exit(1);
        if (m)
                error = run[r].call(m, output);
        $model_free(m);
        if (error)
                fprintf(stderr, "%s\n", $model_error(error));
        return !error;
}

int main(int argc, char **argv)
{
        float *first[OUTPUTS], *output[OUTPUTS];
        if (argc != 4 || !read_inputs(argv[2]) || !call(0, argv[1], first))
                return 1;
        for (int r = 1; r < RUNS; r++) {
                if (!call(r, argv[1], output))
                        return 1;
                compare(r, first, output);
                for (int i = 0; i < OUTPUTS; i++)
                        free(output[i]);
        }
        return !write_outputs(argv[3], first);
}
