/*
 * The command line of an emitted model that classifies.  $model and $MODEL are its name.
 *
 * Needs pnm.h, likely.h, main_shell.h, main_program.h, model_classify.h and WEIGHTS_FILE.
 */

typedef struct {
        CommonOptions common;
        int64_t top;
        char **path; /* [paths] */
        int paths;
} Options;

static void usage(FILE *to, const char *program)
{
        terminal_print(to,
                "usage: %s [options] PICTURE...\n"
                "  PICTURE       a PPM (P6) or PGM (P5) file; - reads it from standard input\n"
                "  --top K       the K likeliest classes (default 5)\n"
                "  --threads K   threads (default 1); the output does not depend on them\n"
#if !HAS_WEIGHTS_INSIDE
                "  -w FILE       the weights (default " WEIGHTS_FILE ")\n"
#endif
                "  --hash        print a hash of all probabilities to standard error\n"
                "example: %s --top 1 cat.ppm\n",
                program, program);
}

static Options options(char **argv)
{
        Options o = {.common = {WEIGHTS_FILE, 1, 0}, .top = 5};
        for (int i = 1; argv[i]; i++) {
                const char *a = argv[i];
                if (common_option(argv, &i, &o.common, usage))
                        continue;
                if (!strcmp(a, "--top"))
                        o.top = (int64_t)option_number(argv, i++, 1, 1e9);
                else if (*a == '-' && a[1])
                        refuse_usage(argv[0], "unknown option ", a);
                else
                        argv[1 + o.paths++] = argv[i];
        }
        o.path = argv + 1;
        if (!o.paths)
                refuse_usage(argv[0], "expected a picture", "");
        return o;
}

/* Returns an error of the model; -1 after a message about the file, -3 if it can't be read. */
static int classify_file($model *m, const char *path, double *probabilities)
{
        size_t size = 0;
        PnmHead head;
        const uint8_t *bytes = (const uint8_t *)read_whole_file(path, &size);
        if (!bytes)
                return -3;
        const int fault = pnm_head(bytes, (int64_t)size, PICTURE_PIXELS, &head);
        if (fault)
                terminal_print(stderr, "%s: %s\n", path, pnm_fault(fault));
        uint8_t *pixels = fault ? NULL : malloc((size_t)(head.width * head.height * head.channels));
        void *scratch = fault ? NULL : malloc($model_classify_scratch(head.width, head.height));
        int error = fault ? -1 : pixels && scratch ? $MODEL_OK : $MODEL_ERROR_MEMORY;
        if (!error) {
                pnm_pixels(&head, bytes, pixels);
                error = $model_classify(m, pixels, head.width, head.height, head.channels, probabilities, scratch);
        }
        free(scratch);
        free(pixels);
        free((void *)(uintptr_t)bytes);
        return error;
}

static void print_classes(const double *probabilities, int64_t top)
{
        int64_t number = -1;
        for (int64_t i = 0; i < top && (number = likely_next(probabilities, CLASSES, number)) >= 0; i++) {
                const char *label = $model_label(number);
                terminal_print(stdout, "%8.4f  %lld%s%s\n", probabilities[number], (long long)number, label ? "  " : "", label ? label : "");
        }
}

APART int command(char **argv)
{
        watch_weights();
        static double probabilities[CLASSES];
        const Options o = options(argv);
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        int error = 0;
        $model *m = open_model(&o.common, &error);
        for (int i = 0; i < o.paths && !error; i++) {
                error = classify_file(m, o.path[i], probabilities);
                if (error)
                        break;
                if (o.paths > 1)
                        terminal_print(stdout, "%s\n", o.path[i]);
                print_classes(probabilities, o.top);
                hash = hash_doubles(hash, probabilities, CLASSES);
        }
        if (o.common.hashes && !error)
                terminal_print(stderr, "hash %016llx\n", (unsigned long long)hash);
        $model_free(m);
        return exit_status(argv[0], o.common.weights, error);
}
