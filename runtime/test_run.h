/*
 * Main program of `lathe verify`: calls the model in every way and compares the bits.
 *
 *   program WEIGHTS INPUTS OUTPUTS     inputs and outputs, concatenated in the order of the interface; for a model with
 *                                      positions, two more sets of inputs that differ in the second half follow
 *
 * Prints "run output element one other" of the first difference of each run that has one, and "token N" of each of STEPS
 * greedy tokens after the inputs; writes the outputs of run 0.
 * $model is the model's name; $feeds passes the inputs of separate feed functions; $sizes, $inputs, $one, $outputs are arguments:
 * the sizes, the inputs from position `at` on, those of one position, the outputs of the call; $together: the inputs that
 * put_together() has concatenated; $again resets the model to no positions.
 *
 * Needs the arrays input_0 .., and for each output its shape and `later`, the value in columns after the row's position.
 */
static float *given[OUTPUTS]; /* outputs of a call */

/* The number of elements of an output whose columns are `end` positions. */
static int64_t count(int i, int64_t rows, int64_t end)
{
        const Shape *s = &shape[i];
        return s->outer * (s->rows ? s->front + rows : 1) * s->middle * (s->columns ? end + s->extra : 1) *
               s->inner;
}

/* Copies the rows of n positions from `at` on into the output for all positions. */
static void place(int i, float *all, int64_t at, int64_t n, const float *from)
{
        const Shape *s = &shape[i];
        int64_t rows = s->rows ? s->front + n : 1, columns = s->columns ? at + n + s->extra : 1,
                width = s->columns ? N + s->extra : 1;
        for (int64_t o = 0; o < s->outer; o++)
                for (int64_t r = 0; r < rows; r++)
                        for (int64_t middle = 0; middle < s->middle; middle++) {
                                int64_t row = o * (s->rows ? s->front + N : 1) + (s->rows ? at : 0) + r;
                                float *to = all + (row * s->middle + middle) * width * s->inner;
                                for (int64_t c = 0; c < width * s->inner; c++)
                                        to[c] = c < columns * s->inner ? *from++ : later[i];
                        }
}

static int placed(int error, float *const *output, int64_t at, int64_t n)
{
        for (int i = 0; i < OUTPUTS && !error; i++)
                if (given[i])
                        place(i, output[i], at, n, given[i]);
        return error;
}

static int whole($model *m, float *const *output)
{
        const int64_t at = 0;
        (void)at;
        $feeds return error ? error : placed($model_forward(m$sizes$inputs$all$outputs), output, 0, N);
}

#if OUTPUTS > 1
/* Requests every second output, then the others. */
static int halves($model *m, float *const *output)
{
        float *all[OUTPUTS];
        int error = 0;
        memcpy(all, given, sizeof all);
        for (int half = 0; half < 2 && !error; half++) {
                for (int i = 0; i < OUTPUTS; i++)
                        given[i] = i % 2 == half ? all[i] : NULL;
                error = whole(m, output);
                $again
        }
        memcpy(given, all, sizeof all);
        return error;
}
#endif

#if SEQUENTIAL
static const char *inputs; /* the file */

/* Replaces the second half by that of another set of inputs in the file. */
static int spoilt($model *m, float *const *output, int which)
{
        if (!read_inputs(inputs, which))
                exit(1);
        int error = whole(m, output);
        if (!read_inputs(inputs, 0))
                exit(1);
        return error;
}

static int later_huge($model *m, float *const *output)
{
        return spoilt(m, output, 1);
}

#if !FINITE
static int later_nan($model *m, float *const *output)
{
        return spoilt(m, output, 2);
}
#endif

static int pieces($model *m, float *const *output)
{
        $feeds for (int64_t at = 0; at < N && !error; at += PIECE)
        {
                int64_t n = at + PIECE < N ? PIECE : N - at;
                error = placed($model_forward(m$sizes$inputs, n$outputs), output, at, n);
        }
        return error;
}

static int one_step($model *m, float *const *output, int64_t at)
{
        return placed($model_step(m$sizes$one$outputs), output, at, 1);
}

static int steps($model *m, float *const *output)
{
        $feeds for (int64_t at = 0; at < N && !error; at++) error = one_step(m, output, at);
        return error;
}

static int prefill_step($model *m, float *const *output)
{
        const int64_t at = 0;
        $feeds error = error ? error : $model_prefill(m$sizes$inputs, N - 1);
        return error ? error : one_step(m, output, N - 1);
}
#endif

#if SEQUENTIAL && SLOTS > 1
static int feed($model *m, int slot)
{
        int select = $model_select(m, slot);
        if (select)
                return select;
        $feeds return error;
}

static int shown; /* the slot whose outputs are compared */

/* Every slot takes chunks of another size; slots other than the compared one take the positions in reverse order. */
static int batch($model *m, float *const *output)
{
        int64_t at[SLOTS] = {0};
        int error = 0, left = 1;
        for (int i = 0; i < SLOTS && !error; i++)
                error = feed(m, i);
        for (int call = 0; left && !error; call++) {
                $model_sequence s[SLOTS];
                int64_t rows = 0, wanted = 0, before = 0;
                int n = 0, which = -1;
                for (int i = 0; i < SLOTS; i++) {
                        int slot = (i + call) % SLOTS;
                        int64_t pace = 1 + (call + slot) % 3 * (5 * slot + call) % PIECE, rest = N - at[slot];
                        pace = pace < rest ? pace : rest;
                        pace = pace < ROWS - rows ? pace : ROWS - rows;
                        if (pace == 0)
                                continue;
                        int64_t first = slot == shown ? 0 : call % 2 ? pace : pace - 1;
                        if (slot == shown) {
                                which = n;
                                before = wanted;
                        }
                        s[n++] = ($model_sequence){slot, pace, first};
                        put_together(rows, at[slot], pace, slot != shown);
                        rows += pace;
                        wanted += pace - first;
                }
                left = n;
                error = $model_batch(m, s, n$sizes$together$outputs);
                for (int i = 0; i < OUTPUTS && which >= 0 && !error; i++)
                        place(i, output[i], at[shown], s[which].n, given[i] + before * count(i, 1, 0));
                for (int i = 0; i < n; i++)
                        at[s[i].slot] += s[i].n;
        }
        return error;
}
#endif

#if WHOLE
static int shown; /* the sequence whose outputs are compared */

/* Whole sequences of several sizes in one call; those other than the compared one have their inputs in reverse order. */
static int batch($model *m, float *const *output)
{
        int64_t at[INPUTS] = {0}, before[OUTPUTS] = {0}, size[SLOTS] = {0};
        float *all[OUTPUTS];
        int n = 0;
        for (int i = 0; i < SLOTS; i++) {
                if (length[shown][i] == 0)
                        continue;
                for (int o = 0; o < OUTPUTS && i < shown; o++)
                        before[o] += whole_output(o, length[shown][i]);
                put_whole(at, length[shown][i], i != shown);
                size[n++] = length[shown][i];
        }
        memcpy(all, given, sizeof all);
        for (int o = 0; o < OUTPUTS; o++) {
                given[o] = malloc(sizeof(float) * (size_t)(SLOTS * count(o, N, N)));
                if (!given[o])
                        exit(1);
        }
#if SIZED
        $model_sequence s[SLOTS];
        for (int i = 0; i < n; i++)
                s[i].n = size[i];
#endif
        int error = $model_batch(m, $sequences$together$outputs);
        for (int o = 0; o < OUTPUTS; o++) {
                memcpy(output[o], given[o] + before[o], sizeof(float) * (size_t)count(o, N, N));
                free(given[o]);
        }
        memcpy(given, all, sizeof all);
        return error;
}
#endif

#if STEPS
static int32_t likeliest(const float *logits, int64_t vocab)
{
        int32_t token = 0;
        for (int32_t k = 1; k < vocab; k++)
                token = logits[k] > logits[token] ? k : token;
        return token;
}

/* Greedy tokens after the inputs, by the first output, under the rules of the loop. */
static int greedy($model *m)
{
        const int64_t vocab = count(0, 1, 0), at = 0;
        int error = N > 1 ? $model_prefill(m$sizes$inputs, N - 1) : 0;
        int32_t text[N + STEPS];
        float *logits = malloc((size_t)vocab * sizeof *logits);
        memcpy(text, input_0, N * sizeof *text);
        for (int i = 0; i < STEPS && logits && !error; i++) {
                const int32_t input_0[1] = {text[N + i - 1]};
                float *const given[OUTPUTS] = {logits};
                error = $model_step(m$sizes$one$outputs);
                const int32_t token = loop_prescribes(&tokens_of_loop, text, N + i, i, STEPS, logits, vocab);
                text[N + i] = token < 0 ? likeliest(logits, vocab) : token;
                printf("token %d\n", (int)text[N + i]);
        }
        free(logits);
        return error;
}
#endif

/* Part of the outputs that must be equal: all positions, the last one, or the first half. */
typedef enum { ALL, LAST, EARLIER } Part;

static const struct {
        int (*call)($model *m, float *const *output);
        int threads, number;
        Part part;
} run[] = {$runs};
enum { RUNS = sizeof run / sizeof run[0] };

/* NaN equals NaN. */
static int differ(float a, float b)
{
        return memcmp(&a, &b, sizeof a) && !(a != a && b != b);
}

/* Whether an element belongs to a position of the part, or to no position. */
static int is_in(Part part, int i, int64_t k)
{
        const Shape *s = &shape[i];
        int64_t row = k / (s->inner * (s->columns ? N + s->extra : 1) * s->middle) % (s->front + N);
        return part == ALL || !s->rows || (part == LAST ? row == s->front + N - 1 : row < N / 2);
}

static void compare(int r, float *const *one, float *const *other)
{
        for (int i = 0; i < OUTPUTS; i++)
                for (int64_t k = 0; k < count(i, N, N); k++)
                        if (is_in(run[r].part, i, k) && differ(one[i][k], other[i][k])) {
                                printf("%d %d %ld %a %a\n", run[r].number, i, (long)k, (double)one[i][k],
                                       (double)other[i][k]);
                                return;
                        }
}

static int write_outputs(const char *path, float *const *output)
{
        FILE *f = fopen(path, "wb");
        int good = f != NULL;
        for (int i = 0; i < OUTPUTS; i++) {
                size_t n = (size_t)count(i, N, N);
                good = good && fwrite(output[i], sizeof(float), n, f) == n;
        }
        return f && !fclose(f) && good;
}

/* Allocates the outputs of a batch, filled with NaN, so that unwritten elements are found. */
static float *new_output(int i)
{
        size_t n = sizeof(float) * (size_t)count(i, N + (SLOTS > 1 ? ROWS : 0), N);
        float *output = malloc(n + 1);
        if (output)
                memset(output, 0xff, n);
        return output;
}

/* Opens an instance in memory (its first part, if it is large) that is filled with noise: no result may depend on it. */
enum { NOISE = 1 << 26 };
static $model *begin(const char *weights, int threads, int *error)
{
        size_t n = ($model_size(threads) + 63) / 64 * 64;
        void *memory = aligned_alloc(64, n);
        if (!memory)
                exit(1);
        memset(memory, 0x4b, n < NOISE ? n : NOISE);
        *error = $model_init(memory, weights, threads);
        if (*error)
                free(memory);
        return *error ? NULL : memory;
}

static int call(int r, const char *weights, float **output)
{
        int error;
        $model *m = begin(weights, run[r].threads, &error);
        for (int i = 0; i < OUTPUTS; i++) {
                free(given[i]);
                given[i] = new_output(i);
                output[i] = new_output(i);
                if (!given[i] || !output[i])
                        exit(1);
        }
#if (SEQUENTIAL && SLOTS > 1) || WHOLE
        shown = (run[r].threads - 1) % SLOTS;
#endif
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
        if (argc != 4 || !read_inputs(argv[2], 0))
                return 1;
#if SEQUENTIAL
        inputs = argv[2];
#endif
        if (!call(0, argv[1], first))
                return 1;
        for (int r = 1; r < RUNS; r++) {
                if (!call(r, argv[1], output))
                        return 1;
                compare(r, first, output);
                for (int i = 0; i < OUTPUTS; i++)
                        free(output[i]);
        }
#if STEPS
        int error;
        $model *m = $model_new(argv[1], 1, &error);
        if (!m || greedy(m))
                return 1;
        $model_free(m);
#endif
        return !write_outputs(argv[3], first) || printf("end\n") < 0 || fflush(stdout);
}
