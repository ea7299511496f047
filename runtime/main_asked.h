/*
 * The command line of an emitted model that takes a first text and further ones: a question and texts, or a query and passages.  $model
 * and $MODEL are its name.
 *
 * Needs main_shell.h, main_program.h, WEIGHTS_FILE, and of the loop: take_asked().
 */

typedef struct {
        CommonOptions common;
        char **text; /* [texts] */
        int texts;
        $model *m;
        uint64_t hash;
        const char *first; /* of all texts; NULL: not read yet, or lines have their own */
        int faults;        /* number of texts that could not be processed */
#if HAS_ANSWERS
        int64_t top;
        int may_be_absent;
#else
        int truncate;
        float *vectors;                  /* [rows]: of the query `taken`; NULL: none yet */
        char *taken;
        int64_t rows, cut, count, limit; /* number of cut texts, of texts; the length of the last cut one */
#endif
} Session;

#if HAS_ANSWERS
#define ASKED_FIRST "question"
#define ASKED_NEXT "text"
#else
#define ASKED_FIRST "query"
#define ASKED_NEXT "passage"
#endif

/* Processes the first text with a further one.  Returns 0, or an error. */
static int take_asked(Session *s, const char *first, const char *text, const char *where);

static void usage(FILE *to, const char *program)
{
        terminal_print(to,
#if HAS_ANSWERS
                "usage: %s [options] QUESTION TEXT...\n"
                "  -                as the last text, reads one text per line from standard input; as the only argument, lines of a question and a text\n"
                "                   with a tab between them\n"
                "  --top K          the K likeliest answers, at most %d (default 1)\n"
                "  --may-be-absent  no answer is one of the answers\n"
#else
                "usage: %s [options] QUERY PASSAGE...\n"
                "  -                as the last passage, reads one passage per line from standard input; as the only argument, lines of a query and a\n"
                "                   passage with a tab between them\n"
                "  --truncate       cut texts that are too long for the model\n"
#endif
                "  --threads K      threads (default 1); the output does not depend on them\n"
#if !HAS_WEIGHTS_INSIDE
                "  -w FILE          the weights (default " WEIGHTS_FILE ")\n"
#endif
#if HAS_ANSWERS
                "  --hash           print a hash of the probabilities to standard error\n"
                "example: %s \"Who sleeps?\" \"The cat sleeps, and the dog runs.\"\n",
                program, ANSWERS_MOST, program);
#else
                "  --hash           print a hash of the scores to standard error\n"
                "example: %s \"who sleeps?\" \"The cat sleeps.\" \"The dog runs.\"\n",
                program, program);
#endif
}

static void options(Session *s, char **argv)
{
        *s = (Session){.common = {WEIGHTS_FILE, 1, 0}, .text = argv + 1, .hash = UINT64_C(0xcbf29ce484222325)};
#if HAS_ANSWERS
        s->top = 1;
#endif
        for (int i = 1; argv[i]; i++) {
                const char *a = argv[i];
                if (common_option(argv, &i, &s->common, usage))
                        continue;
#if HAS_ANSWERS
                if (!strcmp(a, "--top"))
                        s->top = (int64_t)option_number(argv, i++, 1, ANSWERS_MOST);
                else if (!strcmp(a, "--may-be-absent"))
                        s->may_be_absent = 1;
#else
                if (!strcmp(a, "--truncate"))
                        s->truncate = 1;
#endif
                else if (*a == '-' && a[1])
                        refuse_usage(argv[0], "unknown option ", a);
                else
                        s->text[s->texts++] = argv[i];
        }
        if (s->texts < 1 + (s->texts && strcmp(s->text[0], "-") != 0))
                refuse_usage(argv[0], "expected a " ASKED_FIRST " and a " ASKED_NEXT, "");
        if (s->texts > 1 && !strcmp(s->text[0], "-"))
                refuse_usage(argv[0], "- must be the last " ASKED_NEXT ": the " ASKED_FIRST " is an argument", "");
}

/* A line with both texts. */
static int asked_line(Session *s, const char *line, const char *where)
{
        const char *tab = strchr(line, '\t');
        char *first = tab && !strchr(tab + 1, '\t') ? malloc((size_t)(tab - line) + 1) : NULL;
        if (!tab || strchr(tab + 1, '\t')) {
                terminal_print(stderr, "%s: the line has %s; expected a " ASKED_FIRST " and a " ASKED_NEXT " with a tab between them\n", where,
                        tab ? "several tabs" : "no tab");
                s->faults++;
                return 0;
        }
        if (!first)
                return $MODEL_ERROR_MEMORY;
        memcpy(first, line, (size_t)(tab - line));
        first[tab - line] = 0;
        const int error = take_asked(s, first, tab + 1, where);
        free(first);
        return error;
}

static int take_text(void *of, const char *text, const char *where)
{
        Session *s = of;
        if (s->texts == 1)
                return asked_line(s, text, where);
        if (s->first)
                return take_asked(s, s->first, text, where);
        s->first = text;
        return 0;
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
#if !HAS_ANSWERS
        if (s.cut)
                terminal_print(stderr, "note: %lld of %lld texts %s cut to %lld tokens\n", (long long)s.cut, (long long)s.count,
                        s.cut == 1 ? "was" : "were", (long long)s.limit);
        free(s.vectors);
        free(s.taken);
#endif
        if (!error && s.faults)
                error = -1;
        if (s.common.hashes && !error)
                terminal_print(stderr, "hash %016llx\n", (unsigned long long)s.hash);
        $model_free(s.m);
        return exit_status(argv[0], s.common.weights, error);
}
