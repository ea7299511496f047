/*
 * The command line of an emitted model that answers questions about texts.  $model and $MODEL are its name.
 *
 * Needs main_shell.h, main_program.h, model_answer.h and WEIGHTS_FILE.
 */

typedef struct {
        CommonOptions common;
        int64_t top;
        char **text; /* [texts] */
        int texts;
        $model *m;
        uint64_t hash;
        const char *question; /* of all texts; NULL: not read yet, or lines have their own */
        int may_be_absent;
        int faults; /* number of texts that could not be processed */
} Session;

static void usage(FILE *to, const char *program)
{
        terminal_print(to,
                "usage: %s [options] QUESTION TEXT...\n"
                "  -                as the last text, reads one text per line from standard input; as the only argument, lines of a question and a text\n"
                "                   with a tab between them\n"
                "  --top K          the K likeliest answers, at most %d (default 1)\n"
                "  --may-be-absent  no answer is one of the answers\n"
                "  --threads K      threads (default 1); the output does not depend on them\n"
#if !HAS_WEIGHTS_INSIDE
                "  -w FILE          the weights (default " WEIGHTS_FILE ")\n"
#endif
                "  --hash           print a hash of the probabilities to standard error\n"
                "example: %s \"Who sleeps?\" \"The cat sleeps, and the dog runs.\"\n",
                program, ANSWERS_MOST, program);
}

static void options(Session *s, char **argv)
{
        *s = (Session){.common = {WEIGHTS_FILE, 1, 0}, .top = 1, .text = argv + 1, .hash = UINT64_C(0xcbf29ce484222325)};
        for (int i = 1; argv[i]; i++) {
                const char *a = argv[i];
                if (common_option(argv, &i, &s->common, usage))
                        continue;
                if (!strcmp(a, "--top"))
                        s->top = (int64_t)option_number(argv, i++, 1, ANSWERS_MOST);
                else if (!strcmp(a, "--may-be-absent"))
                        s->may_be_absent = 1;
                else if (*a == '-' && a[1])
                        refuse_usage(argv[0], "unknown option ", a);
                else
                        s->text[s->texts++] = argv[i];
        }
        if (s->texts < 1 + (s->texts && strcmp(s->text[0], "-") != 0))
                refuse_usage(argv[0], "expected a question and a text", "");
        if (s->texts > 1 && !strcmp(s->text[0], "-"))
                refuse_usage(argv[0], "- must be the last text: the question is an argument", "");
}

static const char *answer_fault_text(int64_t fault)
{
        switch (fault) {
        case ANSWERS_NO_TEMPLATE: return "the question and the text are a pair, and the tokenizer has no template for pairs";
        case ANSWERS_TOO_LONG: return "the text has too many bytes for the tokenizer";
        case ANSWERS_NO_QUESTION: return "the question has no tokens";
        case ANSWERS_NO_TEXT: return "the text has no tokens";
        case ANSWERS_LONG_QUESTION: return "the question has too many tokens";
        }
        return "a logit is NaN or infinite";
}

/* Prints answers [n], a line each. */
static void print_answers(const Session *s, const char *question, const char *text, const $model_span *found, int64_t n)
{
        if (s->texts > 2 || !strcmp(s->text[s->texts - 1], "-"))
                terminal_print(stdout, "%s\t%s\n", question, text);
        for (int64_t i = 0; i < n; i++) {
                terminal_print(stdout, "%8.4f  ", found[i].probability);
                if (found[i].begin == found[i].end)
                        terminal_print(stdout, "(no answer)");
                else
                        terminal_write(stdout, text + found[i].begin, (size_t)(found[i].end - found[i].begin));
                terminal_end(stdout);
                terminal_print(stdout, "\n");
        }
}

static int answer_text(Session *s, const char *question, const char *text, const char *where)
{
        $model_span found[ANSWERS_MOST];
        int64_t n = 0;
        const int64_t nquestion = (int64_t)strlen(question), ntext = (int64_t)strlen(text);
        void *scratch = malloc($model_answer_scratch(s->m, nquestion, ntext));
        const int error = scratch ? $model_answer(s->m, question, nquestion, text, ntext, s->top, s->may_be_absent, found, &n, scratch)
                                  : $MODEL_ERROR_MEMORY;
        free(scratch);
        if (!error) {
                print_answers(s, question, text, found, n);
                for (int64_t i = 0; i < n; i++)
                        s->hash = hash_doubles(s->hash, &found[i].probability, 1);
        }
        if (n >= 0 || n == ANSWERS_CALL)
                return error;
        terminal_print(stderr, "%s: %s\n", where, answer_fault_text(n));
        s->faults++; /* the others are still processed */
        return 0;
}

/* A line with a question and a text. */
static int answer_line(Session *s, const char *line, const char *where)
{
        const char *tab = strchr(line, '\t');
        char *question = tab && !strchr(tab + 1, '\t') ? malloc((size_t)(tab - line) + 1) : NULL;
        if (!tab || strchr(tab + 1, '\t')) {
                terminal_print(stderr, "%s: the line has %s; expected a question and a text with a tab between them\n", where, tab ? "several tabs" : "no tab");
                s->faults++;
                return 0;
        }
        if (!question)
                return $MODEL_ERROR_MEMORY;
        memcpy(question, line, (size_t)(tab - line));
        question[tab - line] = 0;
        const int error = answer_text(s, question, tab + 1, where);
        free(question);
        return error;
}

static int take_text(void *of, const char *text, const char *where)
{
        Session *s = of;
        if (s->texts == 1)
                return answer_line(s, text, where);
        if (s->question)
                return answer_text(s, s->question, text, where);
        s->question = text;
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
        if (!error && s.faults)
                error = -1;
        if (s.common.hashes && !error)
                terminal_print(stderr, "hash %016llx\n", (unsigned long long)s.hash);
        $model_free(s.m);
        return exit_status(argv[0], s.common.weights, error);
}
