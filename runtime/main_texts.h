/*
 * The command line of an emitted model that takes texts one by one.  $model and $MODEL are its name.
 *
 * Needs main_shell.h, main_program.h, prompt_tokens(), WEIGHTS_FILE, LONGEST_TEXT, MAX_TOKENS (0: texts are not cut), the table
 * text_prompt, and of the loop: LOOP_SCRATCH(n), loop_help, loop_text().
 */

typedef struct {
        CommonOptions common;
        int64_t top;
        char **text; /* [texts] */
        int texts;
        $model *m;
        uint64_t hash;
        const char *prompt;         /* before each text */
        int64_t longest, cut, taken; /* maximum number of tokens with --truncate, or 0; number of cut texts; number of texts */
        int faults;                 /* number of texts that could not be processed */
#if HAS_CLASSES
        int each, takes_pairs;      /* each text by itself; the arguments are the first text and then second texts */
        const char *first, *second; /* of pairs; the second text of this one, or NULL */
        int32_t *types;             /* of the current tokens; NULL: all 0 */
#endif
#if HAS_TAGS
        int of_tokens;              /* the classes of each token, not of spans */
#endif
        char where[48];             /* position of the current text, for messages */
} Session;

static int loop_text(Session *s, const char *text, const int32_t *tokens, int64_t n, void *scratch);

static void usage(FILE *to, const char *program)
{
        terminal_print(to,
#if HAS_PAIRS
                "usage: %s [options] TEXT [SECOND...]\n"
                "  TEXT          %s; with SECOND, a pair for each SECOND\n"
                "  -             as the last text, reads one text per line from standard input, or a pair with a tab between its texts\n"
                "  --each        take each text by itself: several texts, and lines with a tab, are no pairs\n"
#else
                "usage: %s [options] TEXT...\n"
                "  TEXT          %s; - reads one text per line from standard input\n"
#endif
#if HAS_FILL
                "  --top K       the K likeliest tokens (default 5)\n"
#endif
#if HAS_SPARSE
                "  --top K       print the K tokens of the largest weights (default 10)\n"
#endif
#if HAS_PAIRS
                "  --top K       the K likeliest classes (default 5)\n"
#elif HAS_CLASSES
                "  --top K       the K likeliest classes of each token (default 1)\n"
#endif
#if HAS_TAGS
                "  --tokens      print the classes of each token, not the spans that they label (--top does it, too)\n"
#endif
#if HAS_EMBED
                "  --prompt-name NAME   put the model's prompt of that name before each text; none: no prompt\n"
#endif
                "  --truncate    cut texts that are too long for the model\n"
                "  --threads K   threads (default 1); the output does not depend on them\n"
#if !HAS_WEIGHTS_INSIDE
                "  -w FILE       the weights (default " WEIGHTS_FILE ")\n"
#endif
                "  --hash        print a hash of the output's bits to standard error\n"
                "example: %s %s\n",
                program, text_help, program, text_example);
}

#if HAS_FILL || HAS_SPARSE
/* Prints the text of a token after its number. */
static void print_token_text(const $model *m, int64_t token)
{
#if HAS_TOKENIZER
        static char text[TEXT_ROOM];
        $model_text alone = {{0}, 0, 0};
        terminal_print(stdout, "  ");
        terminal_write(stdout, text, (size_t)$model_decode(m, &alone, (int32_t)token, $MODEL_CONTROL, text));
        terminal_write(stdout, text, (size_t)$model_decode_end(&alone, text));
        terminal_end(stdout);
#else
        (void)m;
        (void)token;
#endif
}
#endif

#if HAS_EMBED
/* The prompt of a name; ends the program if there is none. */
static const char *prompt_named(const char *program, const char *name)
{
        for (int i = 0; text_prompt[i].name; i++)
                if (!strcmp(text_prompt[i].name, name))
                        return text_prompt[i].text;
        if (strcmp(name, "none") != 0)
                refuse_usage(program, "unknown prompt ", name);
        return "";
}
#endif

static void options(Session *s, char **argv)
{
        *s = (Session){.common = {WEIGHTS_FILE, 1, 0}, .top = 5, .text = argv + 1, .hash = UINT64_C(0xcbf29ce484222325), .prompt = DEFAULT_PROMPT, .longest = MAX_TOKENS};
#if HAS_CLASSES && !HAS_PAIRS
        s->top = 1;
#endif
#if HAS_SPARSE
        s->top = SPARSE_TOP;
#endif
        for (int i = 1; argv[i]; i++) {
                const char *a = argv[i];
                if (common_option(argv, &i, &s->common, usage))
                        continue;
#if HAS_FILL || HAS_CLASSES || HAS_SPARSE
                if (!strcmp(a, "--top")) {
                        s->top = (int64_t)option_number(argv, i++, 1, 1e9);
#if HAS_TAGS
                        s->of_tokens = 1;
#endif
                        continue;
                }
#endif
#if HAS_TAGS
                if (!strcmp(a, "--tokens")) {
                        s->of_tokens = 1;
                        continue;
                }
#endif
#if HAS_PAIRS
                if (!strcmp(a, "--each")) {
                        s->each = 1;
                        continue;
                }
#endif
#if HAS_EMBED
                if (!strcmp(a, "--prompt-name")) {
                        s->prompt = prompt_named(argv[0], option_word(argv, i++));
                        continue;
                }
#endif
                if (!strcmp(a, "--truncate"))
                        s->longest = MAX_TOKENS ? MAX_TOKENS : LONGEST_TEXT;
                else if (*a == '-' && a[1])
                        refuse_usage(argv[0], "unknown option ", a);
                else
                        s->text[s->texts++] = argv[i];
        }
        if (!s->texts)
                refuse_usage(argv[0], "expected a text", "");
#if HAS_PAIRS
        s->takes_pairs = !s->each && s->texts > 1;
        if (s->takes_pairs && !strcmp(s->text[0], "-"))
                refuse_usage(argv[0], "- must be the last text: the first one of pairs is an argument", "");
#endif
}

/* Checks the number of tokens of a text.  Returns 0, or -1 after a message. */
static int check_length(const Session *s, int64_t n)
{
        if (n == 0)
                terminal_print(stderr, "%s: the text has no tokens\n", s->where);
        else if (n > LONGEST_TEXT)
                terminal_print(stderr, "%s: the text has %lld tokens, and the model takes at most %lld; --truncate cuts longer texts\n", s->where,
                        (long long)n, (long long)LONGEST_TEXT);
        return n == 0 || n > LONGEST_TEXT ? -1 : 0;
}

#if HAS_PAIRS
/* The tokens of a pair, as tokens_of_text(). */
static int32_t *pair_tokens(Session *s, const char *first, const char *second, int64_t *n, int *error)
{
#if HAS_TOKENIZER
        const TokenTables *t = &s->m->tokens;
        const int64_t nfirst = (int64_t)strlen(first), nsecond = (int64_t)strlen(second);
        const size_t room = (size_t)tokens_pair_room(t, nfirst, nsecond);
        int64_t all = 0;
        *error = -1;
        if (tokens_pair_added(t) < 0)
                return terminal_print(stderr, "%s: the tokenizer has no template for pairs; --each takes each text by itself\n", s->where), NULL;
        int32_t *tokens = malloc(room * sizeof *tokens);
        void *scratch = malloc((size_t)tokens_pair_scratch(t, nfirst, nsecond));
        s->types = malloc(room * sizeof *s->types);
        *n = tokens && scratch && s->types ? tokens_encode_pair(t, first, nfirst, second, nsecond, s->longest, tokens, s->types, &all, scratch) : -1;
        free(scratch);
        s->cut += *n >= 0 && *n < all;
        *error = *n < 0 ? $MODEL_ERROR_MEMORY : check_length(s, *n);
        return tokens;
#else
        (void)first;
        (void)second;
        *n = 0;
        *error = -1;
        return terminal_print(stderr, "%s: a pair of texts requires a tokenizer; --each takes each text by itself\n", s->where), NULL;
#endif
}
#endif

/* The tokens of the text, cut with --truncate, allocated; NULL with 0, or an error, or -1 after a message about the text. */
static int32_t *tokens_of_text(Session *s, const char *text, int64_t *n, int *error)
{
        char *whole = malloc(strlen(s->prompt) + strlen(text) + 1);
        if (whole)
                strcat(strcpy(whole, s->prompt), text);
        *n = 0;
        int32_t *tokens = whole ? prompt_tokens(s->m, whole, n) : NULL;
        free(whole);
        *error = *n < 0 ? -1 : $MODEL_ERROR_MEMORY;
        if (!tokens)
                return NULL;
        const int64_t all = *n;
        if (s->longest)
#if HAS_TOKENIZER
                *n = tokens_shorten(&s->m->tokens, tokens, all, s->longest);
#else
                *n = all < s->longest ? all : s->longest;
#endif
        s->cut += *n < all;
        *error = check_length(s, *n);
        return tokens;
}

#if HAS_PAIRS
/* Whether the model takes pairs only; then a message for a text without a second one. */
static int wants_pairs(Session *s)
{
#if HAS_TOKENIZER
        if (!s->m->tokens.pair_form)
                return 0;
        s->faults++;
        terminal_print(stderr, "%s: the model scores pairs: two texts, or a line with a tab between them\n", s->where);
        return 1;
#else
        (void)s;
        return 0;
#endif
}
#endif

/* Processes a text, or the pair of it and s->second. */
static int process_text(Session *s, const char *text)
{
        int64_t n;
        int error;
        s->taken++;
#if HAS_PAIRS
        s->types = NULL;
        if (!s->second && wants_pairs(s))
                return 0;
        int32_t *tokens = s->second ? pair_tokens(s, text, s->second, &n, &error) : tokens_of_text(s, text, &n, &error);
#else
        int32_t *tokens = tokens_of_text(s, text, &n, &error);
#endif
        void *scratch = error ? NULL : malloc(LOOP_SCRATCH(n));
        if (!error)
                error = scratch ? loop_text(s, text, tokens, n, scratch) : $MODEL_ERROR_MEMORY;
        free(scratch);
        free(tokens);
#if HAS_PAIRS
        free(s->types);
#endif
        if (error != -1)
                return error;
        s->faults++; /* the others are still processed */
#if HAS_EMBED && !HAS_SPARSE
        terminal_print(stdout, "null\n");
#endif
        return 0;
}

#if HAS_PAIRS
/* Processes a line that may be a pair. */
static int process_line(Session *s, const char *text)
{
        const char *tab = strchr(text, '\t');
        char *first = tab && !strchr(tab + 1, '\t') ? malloc((size_t)(tab - text) + 1) : NULL;
        if (!tab)
                return process_text(s, text);
        if (strchr(tab + 1, '\t')) {
                terminal_print(stderr, "%s: the line has several tabs; expected a text, or a pair of texts with a tab between them\n", s->where);
                s->faults++;
                return 0;
        }
        if (!first)
                return $MODEL_ERROR_MEMORY;
        memcpy(first, text, (size_t)(tab - text));
        first[tab - text] = 0;
        s->second = tab + 1;
        const int error = process_text(s, first);
        free(first);
        return error;
}
#endif

static int take_text(void *of, const char *text, const char *where)
{
        Session *s = of;
        snprintf(s->where, sizeof s->where, "%s", where);
#if HAS_PAIRS
        s->second = s->takes_pairs ? text : NULL;
        if (s->takes_pairs && !s->first) {
                s->first = text;
                return 0;
        }
        if (!s->takes_pairs && !s->each && !strcmp(s->text[0], "-"))
                return process_line(s, text);
        return process_text(s, s->takes_pairs ? s->first : text);
#else
        return process_text(s, text);
#endif
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
        if (s.cut)
                terminal_print(stderr, "note: %lld of %lld texts %s cut to %lld tokens\n", (long long)s.cut, (long long)s.taken,
                        s.cut == 1 ? "was" : "were", (long long)s.longest);
        if (!error && s.faults)
                error = -1;
        if (s.common.hashes && !error)
                terminal_print(stderr, "hash %016llx\n", (unsigned long long)s.hash);
        $model_free(s.m);
        return exit_status(argv[0], s.common.weights, error);
}
