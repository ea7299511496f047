/*
 * The command line of a model that denoises.  $model and $MODEL are its name.
 *
 * Needs main_shell.h, main_program.h, input_values.h, model_denoise.h, WEIGHTS_FILE, PICTURE_CHANNELS (0: the result is not a picture),
 * PICTURE_ROWS, PICTURE_COLUMNS, CLASS_NUMBERS (0: there are no classes), latent_shape, INPUTS, input_form, and denoise_of().
 */

typedef struct {
        CommonOptions common;
        const char *out;
        $model_denoising how;
        InputValues wanted, without;
} Options;

static void usage(FILE *to, const char *program)
{
#if HAS_INPUTS
        const char *const otherwise = NO_CLASS < 0 ? "" : "; the class defaults to none";
#endif
        terminal_print(to,
                "usage: %s [options] -o FILE\n"
                "  -o FILE       the result: a .pgm or .ppm picture, or numbers as .npy\n"
#if HAS_CLASS
                "  --class N     the class\n"
#endif
#if HAS_INPUTS
                "  -I NAME=FILE  an input, as .npy; or NAME=NUMBER\n"
#endif
                "  -n N          number of steps\n"
#if HAS_INPUTS
                "  --guidance G  factor of the difference that the inputs make; 1: no guidance\n"
                "  --without NAME=FILE  with --guidance: the neutral value of an input%s\n"
#endif
                "  --seed S      seed of the noise (default 1): the same seed gives the same picture on every machine; random prints a new one\n"
                "  --threads K   threads (default 1); the output does not depend on them\n"
#if !HAS_WEIGHTS_INSIDE
                "  -w FILE       the weights (default " WEIGHTS_FILE ")\n"
#endif
                "  --hash        print a hash of all numbers to standard error\n"
                "example: %s",
                program,
#if HAS_INPUTS
                otherwise,
#endif
                program);
#if HAS_INPUTS
        for (int i = 0; i < INPUTS; i++)
                if (input_form[i].is_class)
                        terminal_print(to, " --class 1");
                else
                        terminal_print(to, " -I %s=%s.npy", input_form[i].name, input_form[i].name);
#endif
        terminal_print(to, " --seed 7 -o new.npy\n");
#if HAS_INPUTS
        terminal_print(to, "inputs:");
        for (int i = 0; i < INPUTS; i++)
                terminal_print(to, " %s%s%s", input_form[i].name, input_form[i].shape, i + 1 < INPUTS ? "," : "\n");
#endif
}

static int ends_with(const char *text, const char *end)
{
        const size_t n = strlen(text), k = strlen(end);
        return n > k && !strcmp(text + n - k, end);
}

static void check_out(const Options *o, const char *program)
{
        if (!o->out)
                refuse_usage(program, "expected -o FILE: the result is written to it", "");
        if (ends_with(o->out, ".npy") || (PICTURE_CHANNELS == 1 && ends_with(o->out, ".pgm")) ||
            (PICTURE_CHANNELS == 3 && ends_with(o->out, ".ppm")))
                return;
        refuse_usage(program,
                     PICTURE_CHANNELS == 1   ? "-o must be a name in .pgm or .npy, not "
                     : PICTURE_CHANNELS == 3 ? "-o must be a name in .ppm or .npy, not "
                                             : "-o must be a name in .npy, since the result is not a picture, not ",
                     o->out);
}

#if HAS_INPUTS
/* Checks that all inputs are set, and that guidance has neutral values. */
static void check_inputs(const Options *o, const char *program)
{
        const double guidance = o->how.guidance != 0 ? o->how.guidance : loop_guidance;
        for (int i = 0; i < INPUTS; i++)
                if (!o->wanted.value[i] && input_form[i].is_class)
                        refuse_usage(program, "expected --class N", "");
                else if (!o->wanted.value[i])
                        refuse_usage(program, "missing input (-I NAME=VALUE): ", input_form[i].name);
        if (guidance != 1 && NO_CLASS < 0 && !o->without.given)
                refuse_usage(program, "--guidance requires --without NAME=VALUE, the neutral value of an input", "");
        if (guidance == 1 && o->without.given)
                refuse_usage(program, "--without has no effect without --guidance", "");
}
#endif

static Options options(char **argv)
{
        Options o = {.common = {WEIGHTS_FILE, 1, 0}, .how = {.seed = 1}};
        for (int i = 1; argv[i]; i++) {
                const char *a = argv[i];
                if (common_option(argv, &i, &o.common, usage))
                        continue;
                if (!strcmp(a, "-o"))
                        o.out = option_word(argv, i++);
                else if (!strcmp(a, "-n"))
                        o.how.steps = (int)option_number(argv, i++, 1, denoise_most_steps(&denoise_form));
                else if (!strcmp(a, "--seed"))
                        o.how.seed = option_seed(argv, i++);
#if HAS_CLASS
                else if (!strcmp(a, "--class"))
                        values_class(argv[0], option_number(argv, i++, 0, CLASS_NUMBERS - 1), input_form, INPUTS, &o.wanted);
#endif
#if HAS_INPUTS
                else if (!strcmp(a, "-I"))
                        values_take(argv, i++, input_form, INPUTS, &o.wanted);
                else if (!strcmp(a, "--without"))
                        values_take(argv, i++, input_form, INPUTS, &o.without);
                else if (!strcmp(a, "--guidance"))
                        o.how.guidance = option_number(argv, i++, 1e-9, 1000);
#endif
                else
                        refuse_usage(argv[0], *a == '-' && a[1] ? "unknown option " : "unexpected argument ", a);
        }
        check_out(&o, argv[0]);
#if HAS_INPUTS
        check_inputs(&o, argv[0]);
#endif
        return o;
}

/* -1 to 1 as 0 to 255. */
static int write_picture(FILE *to, const float *x)
{
        const int64_t plane = (int64_t)PICTURE_ROWS * PICTURE_COLUMNS, channels = PICTURE_CHANNELS ? PICTURE_CHANNELS : 1;
        fprintf(to, "P%d\n%lld %lld\n255\n", PICTURE_CHANNELS == 3 ? 6 : 5, (long long)PICTURE_COLUMNS, (long long)PICTURE_ROWS);
        for (int64_t i = 0; i < plane * channels; i++) {
                const double at = ((double)x[i % channels * plane + i / channels] + 1.0) * 127.5;
                fputc(at >= 255 ? 255 : at > 0 ? (int)(at + 0.5) : 0, to);
        }
        return ferror(to);
}

/* NumPy's format 1.0. */
static int write_numbers(FILE *to, const float *x)
{
        char head[256];
        const uint16_t one = 1;
        unsigned char little;
        memcpy(&little, &one, 1);
        int n = snprintf(head, sizeof head, "{'descr': '%cf4', 'fortran_order': False, 'shape': (%s), }", little ? '<' : '>', latent_shape);
        const int all = (10 + n + 1 + 63) / 64 * 64 - 10;
        fwrite("\x93NUMPY\x01\x00", 1, 8, to);
        fputc(all % 256, to);
        fputc(all / 256, to);
        fprintf(to, "%-*s\n", all - 1, head);
        return fwrite(x, sizeof *x, LATENT_VALUES, to) != LATENT_VALUES || ferror(to);
}

/* Writes the result; a file that could not be written completely is removed. */
static int write_out(const char *path, const float *x)
{
        FILE *to = fopen(path, "wb");
        int bad = !to || (ends_with(path, ".npy") ? write_numbers : write_picture)(to, x);
        bad |= to && fclose(to) != 0;
        if (!bad)
                return 0;
        terminal_print(stderr, "%s: %s\n", path, strerror(errno));
        if (to)
                remove(path);
        return -3;
}

/* Steps, on a terminal. */
static int show_step(void *of, int done, int calls, const float *picture)
{
        (void)of;
        (void)picture;
        if (isatty(STDERR_FILENO))
                fprintf(stderr, "\r%d of %d%s", done, calls, done == calls ? "\r\033[K" : "");
        return 0;
}

APART int command(char **argv)
{
        watch_weights();
        static float x[LATENT_VALUES];
        Options o = options(argv);
        int error = 0;
        $model *m = open_model(&o.common, &error);
        void *scratch = malloc($model_denoise_scratch(&o.how));
        if (!error)
                error = scratch ? denoise_of(m, &o.wanted, &o.without, o.how, x, show_step, scratch) : $MODEL_ERROR_MEMORY;
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        for (int64_t i = 0; i < LATENT_VALUES && !error; i++) {
                const double value = (double)x[i];
                hash = hash_doubles(hash, &value, 1);
                if (value - value != 0) {
                        terminal_print(stderr, "%s: the result is not a picture: it has a NaN or an infinity\n", argv[0]);
                        error = -1;
                }
        }
        if (!error)
                error = write_out(o.out, x);
        if (o.common.hashes && !error)
                terminal_print(stderr, "hash %016llx\n", (unsigned long long)hash);
        for (int i = 0; i < INPUTS; i++) {
                free(o.wanted.value[i]);
                free(o.without.value[i]);
        }
        free(scratch);
        $model_free(m);
        return exit_status(argv[0], o.common.weights, error);
}
