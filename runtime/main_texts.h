/*
 * The command line of an emitted model that takes texts one by one.  $model and $MODEL stand for its name.
 *
 * Needs main_shell.h, main_program.h, prompt_tokens(), WEIGHTS_FILE, and what the loop is: LOOP_SCRATCH(n), loop_help, loop_text().
 */

typedef struct {
        CommonOptions common;
        int64_t top;
        char **text; /* [texts] */
        int texts;
        $model *m;
        uint64_t hash;
} Session;

static int loop_text(Session *s, const char *text, const int32_t *tokens, int64_t n, void *scratch);

static void usage(FILE *to, const char *program)
{
        fprintf(to,
                "usage: %s [options] TEXT...\n"
                "  TEXT          %s; - reads texts from standard input, a line each\n"
$fill                "  --top K       the K likeliest tokens (default 5)\n"
                "  --threads K   threads (default 1); the output does not depend on them\n"
                "  -w FILE       the weights (default " WEIGHTS_FILE ")\n"
                "  --hash        print a hash of all that is printed to standard error, of its bits\n"
                "example: %s %s\n",
                program, text_help, program, text_example);
}

static void options(Session *s, char **argv)
{
        *s = (Session){.common = {WEIGHTS_FILE, 1, 0}, .top = 5, .text = argv + 1, .hash = UINT64_C(0xcbf29ce484222325)};
        for (int i = 1; argv[i]; i++) {
                const char *a = argv[i];
                if (common_option(argv, &i, &s->common, usage))
                        continue;
$fill                if (!strcmp(a, "--top"))
$fill                        s->top = (int64_t)option_number(argv, i++, 1, 1e9);
$fill                else if (*a == '-' && a[1])
$embed                if (*a == '-' && a[1])
                        refuse_usage(argv[0], "unknown option ", a);
                else
                        s->text[s->texts++] = argv[i];
        }
        if (!s->texts)
                refuse_usage(argv[0], "a text is wanted", "");
}

static int take_text(void *of, const char *text)
{
        Session *s = of;
        int64_t n = 0;
        int32_t *tokens = prompt_tokens(s->m, text, &n);
        if (n < 0 || (tokens && n == 0)) {
                if (n == 0)
                        fprintf(stderr, "the text \"%s\" has no tokens\n", text);
                free(tokens);
                return -1;
        }
        void *scratch = tokens ? malloc(LOOP_SCRATCH(n)) : NULL;
        const int error = scratch ? loop_text(s, text, tokens, n, scratch) : $MODEL_ERROR_MEMORY;
        free(scratch);
        free(tokens);
        return error;
}

APART int command(char **argv)
{
        watch_weights();
        Session s;
        int error = 0;
        options(&s, argv);
        s.m = open_model(&s.common, &error);
        if (!error)
                error = each_text(s.text, s.texts, take_text, &s);
        if (s.common.hashes && !error)
                fprintf(stderr, "hash %016llx\n", (unsigned long long)s.hash);
        $model_free(s.m);
        return exit_status(argv[0], s.common.weights, error);
}
