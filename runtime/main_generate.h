/*
 * The command line of an emitted model that generates, or whose loop unmasks.
 */
typedef struct {
        const char *prompt;
        CommonOptions common;
        char *text; /* the allocation of a prompt that was read, or NULL */
#if HAS_SOUND_FED
        const char *sound; /* a file */
#endif
        int64_t steps, chunk;
        int verbose, drafts;
        Sampler sampler;
        Penalties penalties;
#if HAS_SAMPLING || HAS_TALK
        char note[SAMPLING_NOTE]; /* of settings that are the loop's */
#endif
#if HAS_DRAFTER
        const char *draft_weights; /* a file */
#endif
#if HAS_BEAMS
        $model_beams beams;
#endif
#if HAS_UNMASKS
        UnmaskForm form;
#endif
        const char *suppress; /* a list of tokens, or NULL */
#if HAS_LANGUAGES
        const char *languages; /* FROM,TO, or NULL */
#endif
#if HAS_GRAMMAR
        int free_text; /* no grammar */
#endif
#if HAS_TALK
        const char *system; /* the system message, or NULL: the default of the form */
        int raw;            /* the prompt is text to continue, not a turn of a user */
#endif
} Options;

static void usage(FILE *to, const char *program)
{
        terminal_print(
                to,
#if HAS_PROMPT_FED
                "usage: %s [options] PROMPT\n"
#elif HAS_SOUND_FED
                "usage: %s [options] SOUND\n"
                "  SOUND         a WAV file; - reads it from standard input\n"
#else
                "usage: %s [options] [PROMPT]\n"
#endif
                "  -p PROMPT     %s\n"
                "  -f FILE       read the prompt from FILE\n"
#if HAS_TALK
                "                without a prompt: a conversation, each line of standard input a turn\n"
                "                (on a terminal, /help lists commands)\n"
                "  --system TEXT the system message\n"
                "  --raw         no conversation: continue the prompt as it is\n"
#endif
#if HAS_UNMASKS
                "  -n N          at most N new tokens (default: " UNMASK_LENGTH "; 0 if the prompt has masks)\n"
                "  --block-length N   complete blocks of N tokens, one after the other\n"
                "  --steps N     steps for each block, or part of a block\n"
                "  --threshold P each step takes all predictions that are surer than P, and at least one\n"
                "  --guidance G  add G times the difference that the prompt makes to the logits\n"
#else
                "  -n N          at most N new tokens (default: to the end of the context)\n"
#endif
#if HAS_SAMPLING || HAS_TALK
                "  --temp T      temperature; 0 always takes the likeliest token "
                "(default: " DEFAULT_TEMPERATURE ")\n"
#else
                "  --temp T      temperature; 0, the default, always takes the likeliest token\n"
#endif
                "  --top-k K     choose among the K likeliest tokens, and those as likely as the last\n"
                "  --top-p P     choose among the likeliest tokens that together have probability P\n"
                "  --min-p P     choose among tokens at least P times as likely as the likeliest\n"
#if !HAS_UNMASKS
                "  --typical P   choose among the tokens whose surprise is nearest to the expected one, up "
                "to probability P\n"
                "  --repetition-penalty R   divide positive logits of tokens that are in the text by R, and "
                "multiply negative ones\n"
                "  --presence-penalty A     subtract A from the logit of each token that was generated\n"
                "  --frequency-penalty B    subtract B for each time that the token was generated\n"
#endif
                "  --suppress TOKENS   never choose these tokens: numbers, or texts in double quotes, "
                "separated by commas\n"
#if HAS_LANGUAGES && HAS_TOKENIZER && !HAS_SOUND_FED
                "  --languages [FROM,]TO   the languages of prompt and answer: texts of tokens, as eng_Latn,deu_Latn, or their numbers\n"
#elif HAS_LANGUAGES
                "  --languages TO   the first token of the answer, for its language\n"
#endif
                "  --seed S      seed of the random numbers (default 1): the same seed gives the same text "
                "on every machine; random prints a new one\n"
#if HAS_DRAFTER
                "  --draft K     draft K tokens at a time by the model " DRAFT_WEIGHTS_FILE ", and check them in one call: the same text, sooner\n"
#elif HAS_DRAFTS
                "  --draft K     draft K tokens at a time from earlier text, and check them in one call: the "
                "same text, sooner\n"
#endif
#if HAS_DRAFTER && !HAS_WEIGHTS_INSIDE
                "  --draft-weights FILE   its weights (default " DRAFT_WEIGHTS_FILE ")\n"
#endif
#if HAS_GRAMMAR
                "  --no-grammar  allow any text, not only that of the grammar\n"
#endif
#if HAS_BEAMS
                "  --beams N     beam search with N beams; the text is printed at its end\n"
                "  --length-penalty P   the score of a text is its log probability / length ^ P (default 1)\n"
                "  --early-stopping     end as soon as N texts have ended\n"
#endif
                "  --threads K   threads (default 1); the output does not depend on them\n"
#if !HAS_WEIGHTS_INSIDE
                "  -w FILE       the weights (default " WEIGHTS_FILE ")\n"
#endif
                "  --hash        print a hash of all logits to standard error\n"
#if !HAS_UNMASKS
                "  --chunk N     process the prompt in chunks of N; the output does not depend on it\n"
#endif
                "  -v            print speed to standard error\n"
                "example: %s %s -n 100 --temp 0.8 --seed 7\n",
                program, prompt_help, program, prompt_example);
}

/* Sets the prompt, or reads it from a file. */
static void set_prompt(Options *o, const char *program, const char *given, int is_file)
{
        size_t size;
        if (o->prompt)
                refuse_usage(program, "the prompt is given twice: ", given);
        if (is_file || !strcmp(given, "-"))
                given = o->text = read_whole_file(given, &size);
        if (!given)
                exit(3);
        o->prompt = given;
}

/* Reads the value of an option of the sampler into *to; 0: another option. */
static int sampler_option(char **argv, int i, Sampler *to)
{
        const char *a = argv[i];
        if (!strcmp(a, "--top-k"))
                to->top_k = (int)option_number(argv, i, 0, 1e9);
        else if (!strcmp(a, "--top-p"))
                to->top_p = (float)option_number(argv, i, 0, 1);
        else if (!strcmp(a, "--min-p"))
                to->min_p = (float)option_number(argv, i, 0, 1);
#if !HAS_UNMASKS
        else if (!strcmp(a, "--typical"))
                to->typical_p = (float)option_number(argv, i, 0, 1);
#endif
        else if (!strcmp(a, "--seed"))
                to->state = option_seed(argv, i);
        else
                return 0;
        return 1;
}

#if HAS_UNMASKS
static int unmask_option(char **argv, int i, UnmaskForm *to);

#else
/* Likewise of the penalties, which also apply at temperature 0. */
static int penalty_option(char **argv, int i, Penalties *to)
{
        const char *a = argv[i];
        if (!strcmp(a, "--repetition-penalty"))
                to->repetition = (float)option_number(argv, i, 0.01, 100);
        else if (!strcmp(a, "--presence-penalty"))
                to->presence = (float)option_number(argv, i, -100, 100);
        else if (!strcmp(a, "--frequency-penalty"))
                to->frequency = (float)option_number(argv, i, -100, 100);
        else
                return 0;
        return 1;
}

#endif

/* Number of beams; 0: no beam search. */
static int wanted_beams(const Options *o)
{
#if HAS_BEAMS
        return o->beams.beams;
#else
        (void)o;
        return 0;
#endif
}

#if HAS_SAMPLING || HAS_TALK
/* Sets options that are not given to the settings of the loop.  Hashes and beams have none. */
static void take_sampling(Options *o)
{
        static const Sampling likeliest = {.top_p = 1};
        const Sampling *own = &likeliest;
        const char *source = "";
#if HAS_SAMPLING
        own = &sampling_of_loop;
        source = sampling_of_loop_source;
#endif
#if HAS_TALK
        if (!o->raw) {
                own = &sampling_of_talk;
                source = sampling_of_talk_source;
        }
#endif
        if (o->common.hashes || wanted_beams(o))
                own = &likeliest;
        sampling_note(own, &o->sampler, &o->penalties, source, o->note);
        sampling_settle(own, &o->sampler, &o->penalties);
}

#endif
/* Rejects combinations of options, and missing ones; sampling: an option of the sampler, or NULL. */
static void check_options(const Options *o, const char *program, const char *sampling)
{
#if HAS_TALK
        if (wanted_beams(o) && !o->raw)
                refuse_usage(program, "--beams",
                             " is for a text, not a conversation: --raw continues the prompt as it is");
#endif
        if (wanted_beams(o) && (o->sampler.temperature != 0 || penalties_apply(&o->penalties) || o->drafts ||
                                o->suppress || o->common.hashes))
                refuse_usage(program, "--beams",
                             " can't be combined with --temp, penalties, --draft, --suppress and --hash");
#if HAS_GRAMMAR
        if (wanted_beams(o) && !o->free_text)
                refuse_usage(program, "--beams",
                             " can't be combined with the grammar: --no-grammar turns it off");
#endif
#if HAS_SOUND_FED
        if (!o->sound)
                refuse_usage(program, "expected a sound", "");
#endif
#if HAS_PROMPT_FED
        if (!o->prompt)
                refuse_usage(program, "expected a prompt", "");
#endif
#if HAS_UNMASKS
        if (sampling && o->sampler.temperature == 0 && strcmp(sampling, "--seed"))
                refuse_usage(program, sampling, " has no effect without --temp");
        if (o->form.threshold > 0 && !UNMASK_THRESHOLDS)
                refuse_usage(program, "--threshold", " is for predictions that are sure by their probability");
#else
        if (sampling && o->sampler.temperature == 0)
                refuse_usage(program, sampling, " has no effect without --temp");
#endif
#if HAS_TALK
        if (o->raw && o->system)
                refuse_usage(program, "--system", " has no effect with --raw");
        if (o->system && !talk_form.system && !talk_form.first_user)
                refuse_usage(program, "--system", ": this model's conversations have no place for it");
#endif
}

/* Reads other options than those of the sampler; 0: another option. */
static int generation_option(char **argv, int *i, Options *o)
{
        const char *a = argv[*i];
        if (!strcmp(a, "-v"))
                o->verbose = 1;
        else if (!strcmp(a, "-p"))
                set_prompt(o, argv[0], option_word(argv, (*i)++), 0);
        else if (!strcmp(a, "-f"))
                set_prompt(o, argv[0], option_word(argv, (*i)++), 1);
        else if (!strcmp(a, "-n"))
                o->steps = (int64_t)option_number(argv, (*i)++, 0, 1e9);
#if HAS_DRAFTS
        else if (!strcmp(a, "--draft"))
                o->drafts = (int)option_number(argv, (*i)++, 0, DRAFTS);
#endif
#if HAS_DRAFTER && !HAS_WEIGHTS_INSIDE
        else if (!strcmp(a, "--draft-weights"))
                o->draft_weights = option_word(argv, (*i)++);
#endif
#if !HAS_UNMASKS
        else if (!strcmp(a, "--chunk"))
                o->chunk = (int64_t)option_number(argv, (*i)++, 1, 1e9);
#endif
        else if (!strcmp(a, "--suppress"))
                o->suppress = option_word(argv, (*i)++);
#if HAS_LANGUAGES
        else if (!strcmp(a, "--languages"))
                o->languages = option_word(argv, (*i)++);
#endif
        else if (!strcmp(a, "--temp"))
                o->sampler.temperature = (float)option_number(argv, (*i)++, 0, 1e6);
#if HAS_BEAMS
        else if (!strcmp(a, "--beams"))
                o->beams.beams = (int)option_number(argv, (*i)++, 1, SLOTS);
        else if (!strcmp(a, "--length-penalty"))
                o->beams.length_penalty = (float)option_number(argv, (*i)++, -100, 100);
        else if (!strcmp(a, "--early-stopping"))
                o->beams.early_stopping = 1;
#endif
#if HAS_GRAMMAR
        else if (!strcmp(a, "--no-grammar"))
                o->free_text = 1;
#endif
#if HAS_TALK
        else if (!strcmp(a, "--system"))
                o->system = option_word(argv, (*i)++);
        else if (!strcmp(a, "--raw"))
                o->raw = 1;
#endif
        else
                return 0;
        return 1;
}

#if HAS_OWN_BEAMS
/* Whether the text is of a conversation or by a grammar. */
static int talks_or_is_ruled(const Options *o)
{
        (void)o;
#if HAS_GRAMMAR
        if (!o->free_text)
                return 1;
#endif
#if HAS_TALK
        if (!o->raw)
                return 1;
#endif
        return 0;
}

#endif
static Options options(char **argv)
{
        const char *sampling = NULL;
        Options o = {
                .common = {WEIGHTS_FILE, 1, 0},
#if HAS_DRAFTER
                .draft_weights = DRAFT_WEIGHTS_FILE,
#endif
#if HAS_BEAMS
                .beams = {.length_penalty = 1},
#endif
#if HAS_SAMPLING || HAS_TALK
                .sampler = {-1, -1, -1, -1, .typical_p = 1, .state = 1},
                .penalties = {.repetition = -1},
#else
                .sampler = {.top_p = 1, .typical_p = 1, .state = 1},
#endif
#if HAS_UNMASKS
                .form = unmask_loop,
#endif
                .steps = INT64_MAX,
                .chunk = INT64_MAX
        };
        for (int i = 1; argv[i]; i++) {
                const char *a = argv[i];
                if (common_option(argv, &i, &o.common, usage) || generation_option(argv, &i, &o))
                        continue;
                if (sampler_option(argv, i, &o.sampler))
                        sampling = argv[i++];
#if HAS_UNMASKS
                else if (unmask_option(argv, i, &o.form))
                        i++;
#else
                else if (penalty_option(argv, i, &o.penalties))
                        i++;
#endif
                else if (*a == '-' && a[1])
                        refuse_usage(argv[0], "unknown option ", a);
#if HAS_SOUND_FED
                else if (o.sound)
                        refuse_usage(argv[0], "expected one sound; unexpected argument ", a);
                else
                        o.sound = a;
#else
                else
                        set_prompt(&o, argv[0], a, 0);
#endif
        }
#if HAS_OWN_BEAMS
        if (!o.beams.beams && !sampling && o.sampler.temperature <= 0 && !penalties_apply(&o.penalties) &&
            !o.drafts && !o.suppress && !o.common.hashes && !talks_or_is_ruled(&o))
                o.beams = beams_of_loop;
#endif
#if HAS_SAMPLING || HAS_TALK
        take_sampling(&o);
#endif
        check_options(&o, argv[0], sampling);
        return o;
}

/* A model with the options of a run. */
typedef struct {
        $model *m;
        Options o;
        void *room;        /* see generation_room() */
        int32_t *suppress; /* tokens, terminated by -1; allocated, or NULL */
#if HAS_LANGUAGES
        int32_t languages[2]; /* tokens of --languages; -1: not given */
        int32_t *first;       /* what they make of the loop's first tokens; allocated, or NULL */
#endif
#if HAS_GRAMMAR
        $model_grammar *grammar; /* or NULL: any text is allowed */
#endif
#if HAS_DRAFTER
        SessionDrafter drafter;
#endif
} Session;

#if HAS_TALK
/* Set by Ctrl-C in a conversation on a terminal; an answer is being generated. */
static volatile int is_interrupted, is_answering;

#if !HAS_UNMASKS
/* Of generation_run(); ends the generation after Ctrl-C. */
static int session_take(void *m, const int32_t *tokens, int64_t n, float *logits)
{
        return is_interrupted ? $MODEL_ERROR_RANGE : generator_take(m, tokens, n, logits);
}

#endif
#endif
static int session_show(void *of, int32_t token)
{
        show_token(((Session *)of)->m, token);
        return fflush(stdout) || ferror(stdout) ? -1 : 0; /* main() reports it */
}

/* Ends a text: its line, and reports. */
static void session_text_end(const Options *o, const Generated *made)
{
        show_end();
#if !HAS_TALK
        if (made->made > 0 && !ferror(stdout) && isatty(STDOUT_FILENO))
#else
        if (!ferror(stdout) && (!o->raw || (made->made > 0 && isatty(STDOUT_FILENO))))
#endif
                putchar('\n');
        if (o->common.hashes)
                terminal_print(stderr, "hash %016llx\n", (unsigned long long)made->hash);
}

#if HAS_UNMASKS
static int session_text(void *of, const int32_t *tokens, int64_t n, Generated *made);

#else
/* Prints the continuation of tokens [n]; the model may have taken some of them already. */
static int session_text(void *of, const int32_t *tokens, int64_t n, Generated *made)
{
        Session *s = of;
        const Options *o = &s->o;
        Generator g = {
                .model = s->m,
#if HAS_TALK
                .take = session_take,
#else
                .take = generator_take,
#endif
                .rewind = generator_rewind,
                .sampler = &s->o.sampler,
                .sample = sample,
                .of = s,
                .show = session_show,
                .seconds = clock_seconds,
                .tokens = tokens_of_loop,
                .suppress = s->suppress,
                .vocab = VOCAB,
                .context = CONTEXT,
                .steps = o->steps,
                .chunk = o->chunk,
                .hashes = o->common.hashes,
                .drafts = o->drafts,
                .penalties = o->penalties
        };
#if HAS_GRAMMAR
        if (s->grammar) {
                g.rule = $model_grammar_rule;
                g.ruler = s->grammar;
#endif
#if HAS_GRAMMAR && !HAS_TALK
                $model_grammar_begin(s->grammar, n > 1);
#endif
#if HAS_GRAMMAR && HAS_TALK
                $model_grammar_begin(s->grammar, o->raw && n > 1);
#endif
#if HAS_GRAMMAR
        }
#endif
        generation_lay(&g, s->room);
#if HAS_DRAFTER
        if (o->drafts)
                drafter_begin(&s->drafter, &g, n);
#endif
        int error = generation_run(&g, tokens, n, $model_position(s->m), made);
        session_text_end(o, made);
        if (o->verbose && made->made > 1)
                terminal_print(stderr,
                               "%lld prompt tokens and the first new one in %.1f ms; then %.1f tokens/s\n",
                               (long long)made->prompt, 1e3 * made->first_seconds,
                               (double)(made->made - 1) / made->rest_seconds);
        if (o->verbose && o->drafts)
                terminal_print(stderr, "%lld tokens were drafted, %lld of them accepted\n",
                               (long long)made->drafted, (long long)made->accepted);
        return generation_error(error);
}
#endif

#if HAS_BEAMS
/* Runs beam search and prints the best text. */
static int session_beams(Session *s, const int32_t *tokens, int64_t n)
{
        $model *m = s->m;
        $model_beams how = s->o.beams;
        int64_t made = 0;
        how.steps = s->o.steps < INT64_MAX ? s->o.steps : 0;
        int32_t *text = malloc((CONTEXT + 1) * sizeof *text);
        void *scratch = malloc($model_beam_search_scratch(&how, n));
        int error = text && scratch ? $model_beam_search(m, tokens, n, &how, text, &made, NULL, scratch)
                                    : $MODEL_ERROR_MEMORY;
        for (int64_t i = 0; i < made && !error; i++)
                show_token(m, text[i]);
        show_end();
        free(scratch);
        free(text);
        return error;
}

#endif
#if HAS_TALK
static int converse(Session *s);

#endif
/* Continues the prompt; -2 after a message if it is not a prompt. */
static int go_on(Session *s)
{
        int64_t n = 0;
        Generated made;
        int32_t *tokens = prompt_tokens(s->m, s->o.prompt ? s->o.prompt : "", &n);
        int error = n < 0 ? -2 : tokens ? $MODEL_OK : $MODEL_ERROR_MEMORY;
#if HAS_PROMPT_FED
        static const int32_t start[] = {START_TOKEN};
#endif
#if HAS_LANGUAGES && HAS_TOKENIZER && !HAS_SOUND_FED
        if (!error && s->languages[0] >= 0 && !language_mark(&s->m->tokens, tokens_of_loop.stop, s->languages[0], tokens, n)) {
                terminal_print(stderr, "--languages FROM,TO has no effect: the tokenizer puts no token of a language around a text\n");
                error = -2;
        }
#endif
#if HAS_PROMPT_FED
        error = error ? error : feed_prompt(s->m, tokens, n);
        const int32_t *begin = start;
        const int64_t begins = 1;
#elif HAS_SOUND_FED
        error = error ? error : hear(s->m, s->o.sound);
        static const int32_t start[] = {START_TOKEN};
        const int32_t *begin = s->o.prompt ? tokens : start;
        const int64_t begins = s->o.prompt ? n : 1;
#else
        const int32_t *begin = tokens;
        const int64_t begins = n;
#endif
        show_begin(begins);
#if HAS_BEAMS
        if (s->o.beams.beams)
                error = error ? error : session_beams(s, begin, begins);
        else
                error = error ? error : session_text(s, begin, begins, &made);
#else
        error = error ? error : session_text(s, begin, begins, &made);
#endif
        free(tokens);
        return error;
}

/* Parses the tokens of --suppress, after the tokenizer has been loaded; $MODEL_OK, or an error. */
static int suppress_tokens(Session *s, const char *program)
{
        const char *list = s->o.suppress;
        const $model *m = s->m;
        const int64_t n = list ? loop_read_tokens(list, VOCAB, text_tokens, m, NULL) : 0;
        if (n < 0) {
                terminal_print(stderr,
                               "%s: --suppress must be token numbers from 0 to %lld, or token texts in "
                               "double quotes, separated by commas, "
                               "not %s\n",
                               program, (long long)VOCAB - 1, list);
                return -2;
        }
        s->suppress = list ? malloc((size_t)(n + 1) * sizeof *s->suppress) : NULL;
        if (list && s->suppress)
                loop_read_tokens(list, VOCAB, text_tokens, m, s->suppress);
        return list && !s->suppress ? $MODEL_ERROR_MEMORY : $MODEL_OK;
}

#if HAS_LANGUAGES
/* Parses --languages, after the tokenizer has been loaded; $MODEL_OK, or an error. */
static int choose_languages(Session *s, const char *program)
{
        const char *list = s->o.languages;
        s->languages[0] = s->languages[1] = -1;
        if (!list)
                return $MODEL_OK;
#if HAS_TOKENIZER && !HAS_SOUND_FED
        const int reads_from = 1;
#else
        const int reads_from = 0;
#endif
        if (!languages_read(list, VOCAB, text_tokens, s->m, s->languages) || (s->languages[0] >= 0 && !reads_from)) {
                terminal_print(stderr, "%s: --languages must be %s: texts of tokens, or token numbers from 0 to %lld, not %s\n", program,
                        reads_from ? "TO or FROM,TO" : "TO", (long long)VOCAB - 1, list);
                return -2;
        }
        if (s->languages[1] < 0)
                return $MODEL_OK;
        s->first = malloc((size_t)languages_begin(tokens_of_loop.first, s->languages[1], NULL) * sizeof *s->first);
        if (!s->first)
                return $MODEL_ERROR_MEMORY;
        languages_begin(tokens_of_loop.first, s->languages[1], s->first);
        tokens_of_loop.first = s->first;
        return $MODEL_OK;
}

#endif
APART int command(char **argv)
{
        watch_weights();
        Session s = {.o = options(argv)};
        int error = 0, status;
#if HAS_UNMASKS
        s.room = malloc(1); /* session_text() has its own */
#else
        s.room = malloc(generation_room(VOCAB, CONTEXT, s.o.drafts));
#endif
        if (s.room)
                s.m = open_model(&s.o.common, &error);
#if HAS_DRAFTER
        if (s.m && s.o.drafts) {
                drafter_open(&s.drafter, argv[0], s.o.draft_weights, s.o.common.threads);
                s.m->stored = s.drafter.rows;
        }
#endif
        if (s.m)
                error = suppress_tokens(&s, argv[0]);
#if HAS_LANGUAGES
        if (s.m && !error)
                error = choose_languages(&s, argv[0]);
#endif
#if HAS_SAMPLING || HAS_TALK
        if (s.m && !error && s.o.note[0])
                terminal_print(stderr, "note: %s\n", s.o.note);
#endif
#if HAS_GRAMMAR
        void *rules = s.m && !s.o.free_text ? malloc($model_grammar_scratch(s.m)) : NULL;
        s.grammar = rules ? $model_grammar_new(s.m, rules) : NULL;
        if (s.m && !s.grammar && !s.o.free_text)
                error = $MODEL_ERROR_MEMORY;
#endif
#if !HAS_TALK
        if (s.m && !error)
                error = go_on(&s);
#else
        if (s.m && !error)
                error = s.o.raw ? go_on(&s) : converse(&s);
#endif
        if (!s.m && !error)
                error = $MODEL_ERROR_MEMORY;
#if HAS_GRAMMAR
        if (s.grammar && $model_grammar_error(s.grammar))
                terminal_print(stderr, "%s: %s\n", argv[0], $model_grammar_error(s.grammar));
#endif
        status = exit_status(argv[0], s.o.common.weights, error);
        $model_free(s.m);
#if HAS_DRAFTER
        drafter_close(&s.drafter);
#endif
#if HAS_GRAMMAR
        free(rules);
#endif
        free(s.o.text);
        free(s.suppress);
#if HAS_LANGUAGES
        free(s.first);
#endif
        free(s.room);
        return status;
}
