/* lathe run, loop generate: generates text with a model that is compiled in memory. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "generate_private.h"

static void generate_on_interrupt(int number)
{
        (void)number;
        atomic_store(&interrupted, true);
        ending_catch(SIGINT); /* the second one ends the program */
}

/* Unless it is ignored. */
static void catch_interrupt(void)
{
        struct sigaction act = {.sa_handler = generate_on_interrupt, .sa_flags = SA_RESTART}, before;
        if (!sigaction(SIGINT, NULL, &before) && before.sa_handler != SIG_IGN)
                sigaction(SIGINT, &act, NULL);
}

int generate_error(const char *message)
{
        fprintf(stderr, "lathe run: %s\n", message);
        return WRONG_ENVIRONMENT;
}

static int load_weights(GenerateSession *s)
{
        note_hashed(s->m, s->o, "run");
        const char *error = packed_weights_unchecked(s->m, s->o, s->plan, &s->packed);
        if (error)
                generate_error(error);
        return s->packed.code;
}

/* Compiles while a packed file is checked; compiles again if the file is damaged and its weights are packed anew. */
static int start_engine(GenerateSession *s)
{
        const char *why;
        bool changed = true;
        for (int tries = 0; tries < 2 && changed; tries++) {
                engine_free(s->engine);
                s->engine = engine_new(s->plan, s->packed.weights, s->o->threads, s->o->jit, &why);
                if (!s->engine)
                        return generate_error(why);
                if ((why = packed_weights_check(s->m, s->o, s->plan, &s->packed, &changed)))
                        return generate_error(why), s->packed.code;
                if (s->packed.code)
                        return s->packed.code;
        }
        return DONE;
}

/* Tokens of a text, into tokens; returns their number.  tokens may be NULL. */
static int64_t generate_text_tokens(const void *of, const char *text, int64_t n, int32_t *tokens)
{
        const GenerateSession *s = of;
        return s->o->tokenizer ? tokens_with_text(&s->tokenizer.tables, s->tokenizer.vocab, text, n, tokens)
                               : 0;
}

/* Converts --suppress to tokens; false after a message. */
static bool read_suppressed(GenerateSession *s)
{
        const char *list = s->o->suppress;
        const int64_t vocab = s->unmasks ? s->unmask.tokens->bound
                                         : row_elements(s->plan, &s->m->graph->output[0].node->type),
                      n = list ? loop_read_tokens(list, vocab, generate_text_tokens, s, NULL) : 0;
        if (n < 0) {
                fprintf(stderr,
                        "lathe run: --suppress must be token numbers from 0 to %" PRId64
                        ", or token texts in double quotes, separated by commas, not %s; `lathe encode` "
                        "prints the token of a text\n",
                        vocab - 1, list);
                return false;
        }
        if (list) {
                int32_t *tokens = arena_alloc_array(&s->m->arena, n + 1, sizeof *tokens);
                loop_read_tokens(list, vocab, generate_text_tokens, s, tokens);
                s->how.suppress = tokens;
        }
        return true;
}

/* --- the prompt ------------------------------------------------------------------------------------------------- */

const char *generate_prompt_given(const CommandOptions *o)
{
        return o->nfile > 1 ? o->file[1] : o->prompt;
}

/* Only one prompt, and one use of standard input. */
static bool prompt_fits(const CommandOptions *o)
{
        const char *given = generate_prompt_given(o);
        const bool has_turns = !given && !o->prompt_file && !o->messages;
        const InputUse use[] = {
                {"model", o->file[0]},       {"prompt", given ? given : o->prompt_file},
                {"grammar", o->grammar},     {"--tools", o->tools},
                {"--messages", o->messages}, {"the turns of the user", o->tools && has_turns ? "-" : NULL}};
        if (o->nfile < 2 || (!o->prompt && !o->prompt_file))
                return input_is_read_once(use, sizeof use / sizeof *use, "run");
        fprintf(stderr, "lathe run: the prompt is given twice: \"%.20s\" and by %s; see `lathe help run`\n",
                given, o->prompt ? "-p" : "-f");
        return false;
}

const char *generate_prompt_text(GenerateSession *s, int64_t *n)
{
        const CommandOptions *o = s->o;
        const char *given = generate_prompt_given(o), *path = o->prompt_file, *text = given ? given : "",
                   *why = NULL;
        if (given && !strcmp(given, "-"))
                path = "-";
        const Source *all = path ? read_source(&s->m->arena, path, &why) : NULL;
        if (path && !all) {
                fprintf(stderr, "lathe run: %s: %s\n", path, why);
                return NULL;
        }
        *n = all ? all->length : (int64_t)strlen(text);
        return all ? all->text : text;
}

/* --- languages ---------------------------------------------------------------------------------------------------- */

/* Whether the prompt is for an encoder, so that the generated text does not continue it. */
static bool feeds_prompt(const GenerateSession *s)
{
        const Graph *g = s->m->graph;
        const Input *ids = g->fed_separately ? text_input(g) : NULL;
        return ids && is_fed_separately(g, ids->group);
}

/* Converts --languages to tokens; false after a message. */
static bool read_languages(GenerateSession *s)
{
        const char *list = s->o->languages, *why = NULL;
        const int64_t vocab = row_elements(s->plan, &s->m->graph->output[0].node->type);
        if (!list)
                return true;
        if (!s->sounds && !feeds_prompt(s))
                why = "is for a model with an encoder, which translates or transcribes; the languages of "
                      "others are words of the prompt";
        else if (!languages_read(list, vocab, generate_text_tokens, s, s->languages))
                why = s->o->tokenizer ? "must be TO or FROM,TO: texts of tokens, as eng_Latn,deu_Latn, or "
                                        "their numbers; `lathe encode --special` prints "
                                        "the tokens of a text"
                                      : "must be TO or FROM,TO: without a tokenizer, numbers of tokens";
        else if (s->languages[0] >= 0 && (s->sounds || !s->o->tokenizer))
                why = s->sounds ? "must be TO: a sound has no token of a language"
                                : "must be TO: without a tokenizer, the prompt has the token of its language "
                                  "itself";
        if (why) {
                fprintf(stderr, "lathe run: --languages %s %s\n", list, why);
                return false;
        }
        if (s->languages[1] >= 0) {
                const int32_t *own = loop_tokens(s->m->graph, "first");
                int32_t *first = arena_alloc_array(&s->m->arena, languages_begin(own, s->languages[1], NULL),
                                                   sizeof *first);
                languages_begin(own, s->languages[1], first);
                s->how.first = first;
        }
        return true;
}

/* --- inputs that are fed separately ------------------------------------------------------------------------------- */

/* Prepares fed inputs for the engine; returns an exit code. */
static int keep_fed(GenerateSession *s)
{
        const Graph *g = s->m->graph;
        Recorded *r = &s->given.values;
        s->how.fed = NEW_ARRAY(&s->m->arena, void *, g->ninput);
        s->how.size = r->size;
        for (int i = 0; i < g->ninput; i++) {
                const bool fed = is_fed_separately(g, g->input[i].group), given = r->record[i].given != NULL;
                if (fed != given) {
                        fprintf(stderr,
                                given ? "lathe run: %s receives the tokens that continue the prompt: it "
                                        "can't be set by -I or --inputs\n"
                                      : "lathe run: the input %s is missing; --inputs FILE and -I NAME=VALUE "
                                        "give inputs, and "
                                        "the prompt that of token ids\n",
                                input_name(&g->input[i]));
                        return WRONG_INPUT;
                }
                if (fed && (!recorded_fill(r, i) || !(s->how.fed[i] = recorded_input(r, i, 0))))
                        return generate_error(no_memory);
        }
        return DONE;
}

static int generate_feed(GenerateSession *s)
{
        const CommandOptions *o = s->o;
        if (!s->m->graph->fed_separately && (o->input.n || o->input_file.n)) {
                fprintf(stderr,
                        "lathe run: -I and --inputs are for inputs that are fed separately, and %s has "
                        "none\n",
                        s->m->graph->name);
                return WRONG_USAGE;
        }
        if (!s->m->graph->fed_separately)
                return DONE;
        s->given = (Given){.o = o,
                           .command = "run",
                           .m = s->m,
                           .language = s->languages[0],
                           .has_language = o->languages && s->languages[0] >= 0,
                           .tokenizer = &s->tokenizer,
                           .sound = s->sound ? s->sound->text : NULL,
                           .where = s->sound ? s->sound->where : NULL};
        if (feeds_prompt(s) && (generate_prompt_given(o) || o->prompt_file) &&
            !(s->given.text = generate_prompt_text(s, &s->given.ntext)))
                return WRONG_ENVIRONMENT;
        int code = given_gather(&s->given, SOME_INPUTS);
        return code ? code : keep_fed(s);
}

static void drop_fed(GenerateSession *s)
{
        for (int i = 0; s->how.fed && i < s->m->graph->ninput; i++)
                free(s->how.fed[i]);
        s->how.fed = NULL;
        recorded_free(&s->given.values);
        s->given = (Given){0};
}

/* Prepares the inputs with the next sound that is valid, if there is one.  Returns an exit code. */
static int feed_next_sound(GenerateSession *s)
{
        const ListedWord *next = s->sound ? s->sound + 1 : s->sounds->at;
        for (; next < s->sounds->at + s->sounds->n; next++) {
                drop_fed(s);
                s->sound = next;
                const int code = generate_feed(s);
                if (code == DONE || !s->given.text_fault)
                        return code;
                s->sounds_code = code > s->sounds_code ? code : s->sounds_code;
        }
        s->sound = NULL;
        return s->sounds_code;
}

static int generate_prepare(GenerateSession *s)
{
        const CommandOptions *o = s->o;
        int code;
        const char *why = s->unmasks ? NULL : why_not_generating(s->m->graph);
        if (why && !generates_when_fed(s->m->graph)) {
                fprintf(stderr, "lathe run: %s can't generate: it %s; %s`lathe eval` runs any model\n",
                        s->m->graph->name, why,
                        s->m->graph->nloop ? "" : "it states no loop, such as `loop embed { }`, and ");
                note_not_causal(s->m);
                return WRONG_INPUT;
        }
        if (o->tokenizer && !load_tokenizer(s->m, o, &s->tokenizer))
                return failure_code(s->m);
        chat_choose(s);
        if (s->unmasks && !s->form)
                s->tokenizer.flags |= TOKENS_CONTROL; /* the mask is a control token */
        s->sampling = sampling_settled(s->m->graph, o, s->form != NULL);
        if (!sampling_fits(o, &s->sampling, "run") ||
            (!s->sounds && !s->unmasks && !sampling_fits(o, &s->sampling, "run generate")) ||
            !unmask_seed_fits(s))
                return WRONG_USAGE;
        s->plan = model_plan(s->m, o, chosen_target(o));
        if (!s->plan)
                return WRONG_INPUT;
        if (drafts_of(&o->draft) > s->plan->rewind && carried_state(s->plan)) {
                fprintf(stderr,
                        "lathe run: --draft takes back up to %d tokens, and --rewind keeps %" PRId64 "\n",
                        drafts_of(&o->draft), s->plan->rewind);
                return WRONG_USAGE;
        }
        if (!read_suppressed(s) || !read_languages(s))
                return WRONG_USAGE;
        if ((code = s->sounds ? feed_next_sound(s) : generate_feed(s)) != DONE)
                return code;
        code = constraint_open(&s->m->arena, s->m->graph, o->grammar, o->tokenizer ? &s->tokenizer : NULL,
                               &s->how.constraint);
        if (code != DONE)
                return code;
        s->planned = seconds();
        code = load_weights(s);
        s->loaded = seconds();
        if (code)
                return code;
        code = start_engine(s);
        return code == DONE && o->draft.model
                       ? draft_model_open(s->draft, s->m, s->plan, o->tokenizer ? &s->tokenizer : NULL)
                       : code;
}

/* Whether standard input is a file that is not empty, or a pipe in which bytes wait. */
static bool has_standard_input(void)
{
        struct stat about;
        struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
        if (fstat(STDIN_FILENO, &about))
                return false;
        return S_ISREG(about.st_mode)
                       ? about.st_size > 0
                       : S_ISFIFO(about.st_mode) && poll(&ready, 1, 0) == 1 && ready.revents & POLLIN;
}

/* What looks like a prompt but is not taken as one. */
static void note_prompt(const CommandOptions *o)
{
        const char *given = generate_prompt_given(o);
        if (given && given[0] == '@' && !access(given + 1, R_OK))
                fprintf(stderr, "lathe run: note: the prompt is %s as it stands; `-f %s` reads the file\n",
                        given, given + 1);
        if (!given && !o->prompt_file && has_standard_input())
                fprintf(stderr, "lathe run: note: standard input is not read; `lathe run MODEL -` takes the "
                                "prompt from it\n");
}

/* Tokens, malloc'd; NULL after a message, with *code. */
static int32_t *generate_read_prompt(GenerateSession *s, int64_t *count, int *code)
{
        int64_t n;
        note_prompt(s->o);
        const char *text = generate_prompt_text(s, &n), *why = NULL;
        *code = text ? WRONG_INPUT : WRONG_ENVIRONMENT;
        if (!text)
                return NULL;
        int32_t *tokens = s->o->tokenizer ? text_to_tokens(&s->tokenizer, text, n, count)
                                          : numbers_to_tokens(s->m->graph, text, count, &why);
        if (!tokens && (!why || lacks_memory(why)))
                *code = generate_error(no_memory);
        else if (!tokens)
                generate_error(why);
        return tokens;
}

/* --- output ------------------------------------------------------------------------------------------------------ */

static bool generate_show(void *to, const char *text, int64_t n)
{
        progress_clear();
        return fwrite(text, 1, (size_t)n, to) == (size_t)n && !fflush(to);
}

static void generate_report(const GenerateSession *s, const Generated *g)
{
        fprintf(stderr, "spec to plan %.1f ms, weights %.1f ms, plan to code %.1f ms (%s, %s)\n",
                1e3 * (s->planned - s->begin), 1e3 * (s->loaded - s->planned),
                1e3 * engine_compile_seconds(s->engine), s->o->jit == JIT_CC ? "cc" : "libtcc",
                s->plan->target->name);
        if (s->how.beams.beams) {
                fprintf(stderr, "%" PRId64 " prompt tokens and %" PRId64 " new ones of %d beams %.1f ms\n",
                        g->prompt, g->made, s->how.beams.beams, 1e3 * g->first_seconds);
                return;
        }
        if (s->unmasks) {
                fprintf(stderr,
                        "%" PRId64 " new tokens, %" PRId64
                        " calls of the model, %.1f ms (at the end by %s)\n",
                        g->made, g->calls, 1e3 * g->first_seconds, engine_tier(s->engine));
                return;
        }
        double before = seconds() - g->rest_seconds - s->begin;
        fprintf(stderr,
                "%" PRId64 " prompt tokens and the first new one %.1f ms, spec to first token %.1f ms\n",
                g->prompt, 1e3 * g->first_seconds, 1e3 * before);
        if (g->made < 2)
                return;
        double rate = (double)(g->made - 1) / g->rest_seconds;
        fprintf(stderr, "%" PRId64 " tokens more: %.1f tokens/s", g->made - 1, rate);
        if (s->how.drafts)
                fprintf(stderr, "; %" PRId64 " were drafted, %" PRId64 " of them accepted", g->drafted,
                        g->accepted);
        else
                fprintf(stderr, ", %.1f GB/s of weights", 1e-9 * rate * (double)product_weights(s->plan));
        fprintf(stderr, " (at the end by %s)\n", engine_tier(s->engine));
}

int generate_show_text(GenerateSession *s, const int32_t *tokens, int64_t n, Generated *made)
{
        const CommandOptions *o = s->o;
        if (!s->editor)
                catch_interrupt();
        const char *error =
                generate(s->engine, s->plan, o->tokenizer ? &s->tokenizer : NULL, tokens, n, &s->how, made);
        if (s->how.show == thoughts_show)
                thoughts_end(s->how.to);
        if (!s->editor)
                ending_catch(SIGINT);
        bool stopped = atomic_load(&interrupted);
        int why = errno;
        if ((s->how.talk && !o->given[OPT_JSON]) || (made->made > 0 && isatty(STDOUT_FILENO)))
                putchar('\n');
        if (error && error != output_failed && !stopped)
                fprintf(stderr, "lathe run: %s\n", error);
        if (o->given[OPT_HASH] && !error)
                fprintf(stderr, "hash %016" PRIx64 "\n", made->hash);
        if (o->given[OPT_V])
                generate_report(s, made);
        if (error == output_failed || fflush(stdout) || ferror(stdout)) {
                fprintf(stderr, "lathe run: standard output: %s\n",
                        strerror(error == output_failed ? why : errno));
                return WRONG_ENVIRONMENT;
        }
        return stopped ? INTERRUPTED : lacks_memory(error) ? WRONG_ENVIRONMENT : error ? WRONG_INPUT : DONE;
}

void generate_note_sampling(const GenerateSession *s)
{
        if (*s->sampling.note)
                fprintf(stderr, "lathe run: note: %s\n", s->sampling.note);
}

static int complete_text(GenerateSession *s)
{
        int code;
        int64_t n;
        Generated made;
        int32_t start = start_token(s->m->graph), *read = NULL;
        const int32_t *tokens = &start;
        n = 1;
        if (!feeds_prompt(s) && (!s->sounds || generate_prompt_given(s->o) || s->o->prompt_file))
                tokens = read = generate_read_prompt(s, &n, &code);
        if (tokens && s->unmasks)
                unmask_settle_length(s, tokens, n);
        if (tokens)
                code = generate_show_text(s, tokens, n, &made);
        free(read);
        return code;
}

static int run_generate_text(GenerateSession *s)
{
        const CommandOptions *o = s->o;
        s->how = (Generation){.steps = o->steps,
                              .chunk = INT64_MAX,
                              .sampler = s->sampling.sampler,
                              .penalties = s->sampling.penalties,
                              .beams = o->beams,
                              .fed = s->how.fed,
                              .size = s->how.size,
                              .first = s->how.first,
                              .suppress = s->how.suppress,
                              .constraint = s->how.constraint,
                              .unmask = s->unmasks ? &s->unmask : NULL,
                              .drafts = drafts_of(&o->draft),
                              .draft = s->draft->draft,
                              .nstop = o->stop.n,
                              .hash = o->given[OPT_HASH],
                              .show = generate_show,
                              .to = stdout,
                              .interrupted = &interrupted};
        memcpy(s->how.stop, o->stop.at, sizeof s->how.stop);
        if (s->form && o->beams.beams) {
                fprintf(stderr, "lathe run: --beams is for a text, not a conversation; --raw goes on from "
                                "the prompt as it is\n");
                return WRONG_USAGE;
        }
        if ((o->tools || o->messages || o->given[OPT_JSON] || o->given[OPT_THINK]) && !s->writer.template)
                return chat_refuse(s);
        if (s->form)
                return chat_converse(s);
        if (s->mode == RUN_CHAT) {
                fprintf(stderr,
                        "lathe chat: %s holds no conversations: %s; `lathe run` continues a text with it\n",
                        s->m->graph->name,
                        !o->tokenizer    ? "a conversation requires a tokenizer (--tokenizer)"
                        : o->source.path ? "it has no chat template"
                                         : "its loop generate has no settings `user` and `answer`");
                return WRONG_INPUT;
        }
        if (o->system) {
                fprintf(stderr,
                        "lathe run: --system is for a model with a conversation in its loop generate, "
                        "and a tokenizer with special tokens\n");
                return WRONG_USAGE;
        }
        generate_note_sampling(s);
        return complete_text(s);
}

/* Generates the text of the current sound, then those of the others. */
static int transcribe_sounds(GenerateSession *s)
{
        const bool has_heads = s->sounds->n > 1 || s->sounds->at->where;
        for (;;) {
                if (has_heads)
                        printf("%s\n", s->sound->text);
                int code = run_generate_text(s);
                if (has_heads && !isatty(STDOUT_FILENO))
                        putchar('\n'); /* on a terminal the text already ends a line */
                if (code == DONE)
                        code = feed_next_sound(s);
                if (code != DONE || !s->sound)
                        return code;
                s->begin = s->planned = s->loaded = seconds();
                const char *why = engine_rewind(s->engine, 0);
                if (why)
                        return generate_error(why);
        }
}

/* Whether at most one word follows the model's name. */
static bool is_one_prompt(const CommandOptions *o)
{
        if (o->nfile > 2)
                fprintf(stderr,
                        "lathe run: expected one model, and perhaps a prompt; unexpected argument %s; see "
                        "`lathe help run`\n",
                        o->file[2]);
        return o->nfile <= 2 && prompt_fits(o);
}

int run_generate(Model *m, const CommandOptions *o, const PackedWeights *begun, DraftModel *draft,
                 RunMode mode, const WordList *sounds, const Loop *unmask)
{
        CommandOptions own = *o;
        GenerateSession s = {.o = &own,
                             .m = m,
                             .packed = *begun,
                             .draft = draft,
                             .mode = mode,
                             .sounds = sounds,
                             .begin = o->begun};
        if (!unmask)
                own.beams = beams_settled(m->graph, o);
        if (own.beams.beams)
                own.slots = own.beams.beams;
        int code = is_one_prompt(o) ? chat_given_read(&s.given_chat, &m->arena, o, "run") : WRONG_USAGE;
        if (code == DONE && unmask)
                code = unmask_prepare(&s, unmask);
        if (code == DONE)
                code = generate_prepare(&s);
        if (code == DONE)
                code = sounds ? transcribe_sounds(&s) : run_generate_text(&s);
        drop_fed(&s);
        constraint_free(s.how.constraint);
        engine_free(s.engine);
        packed_weights_close(&s.packed);
        chat_source_free(&s.chat);
        chat_given_free(&s.given_chat);
        tokenizer_free(&s.tokenizer);
        return code;
}
