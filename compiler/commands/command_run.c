/* lathe run: a model compiled in memory and run at once. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands_private.h"

enum { INTERRUPTED = 130 };

static void on_interrupt(int number)
{
        (void)number;
        atomic_store(&interrupted, true);
        ending_catch(SIGINT); /* a second one ends the program */
}

/* Where it is ignored it stays so. */
static void catch_interrupt(void)
{
        struct sigaction act = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART}, before;
        if (!sigaction(SIGINT, NULL, &before) && before.sa_handler != SIG_IGN)
                sigaction(SIGINT, &act, NULL);
}

/* What a run is made of, released in one place. */
typedef struct {
        const Options *o;
        Model m;
        Plan *plan;
        Tokenizer tokenizer;
        WeightPool *pool;
        PackedFile file;
        Engine *engine;
        double begin, planned, loaded; /* seconds */
} Session;

static int wrong(const char *message)
{
        fprintf(stderr, "lathe run: %s\n", message);
        return WRONG_ENVIRONMENT;
}

static int load_weights(Session *s, const float **weights)
{
        const Options *o = s->o;
        const char *why = NULL;
        if (o->weights && is_packed_file(o->weights, &why)) {
                const char *error = packed_file_open(o->weights, s->plan, &s->file);
                *weights = s->file.weights;
                return !error ? DONE : s->file.lacking ? wrong(error) : (wrong(error), WRONG_INPUT);
        }
        if (why) {
                fprintf(stderr, "lathe: %s: cannot open: %s\n", o->weights, why);
                return WRONG_ENVIRONMENT;
        }
        Checkpoint *checkpoint;
        Weights *w = open_weights(&s->m, o, &checkpoint);
        int code = failure_code(&s->m);
        note_hashed(&s->m, o, "run");
        if (w) {
                WeightSource source = {w, weights_read};
                s->pool = pool_new();
                const char *error = s->pool ? pool_fit(s->pool, s->plan, &source, 1, weights) : no_memory;
                code = error ? wrong(error) : DONE;
        }
        checkpoint_close(checkpoint);
        return code;
}

static int prepare(Session *s)
{
        const Options *o = s->o;
        int code;
        if (!model_load(&s->m, o, &code))
                return code;
        if (!model_passes(&s->m, o))
                return failure_code(&s->m);
        const char *why = why_not_generating(s->m.graph);
        if (why) {
                fprintf(stderr, "lathe run: %s can't generate: it %s; `lathe verify` runs any model\n",
                        s->m.graph->name, why);
                note_not_causal(&s->m);
                return WRONG_INPUT;
        }
        if (o->tokenizer && !load_tokenizer(&s->m, o, &s->tokenizer))
                return failure_code(&s->m);
        s->plan = model_plan(&s->m, o, target_find(o->ntarget ? o->target[0] : "native"));
        if (!s->plan)
                return WRONG_INPUT;
        s->planned = seconds();
        const float *weights = NULL;
        code = load_weights(s, &weights);
        s->loaded = seconds();
        if (code)
                return code;
        s->engine = engine_new(s->plan, weights, o->threads, o->jit, &why);
        return s->engine ? DONE : wrong(why);
}

/* --- the prompt ------------------------------------------------------------------------------------------------- */

/* Behind the model's name, or behind -p. */
static const char *prompt_given(const Options *o)
{
        return o->nfile > 1 ? o->file[1] : o->prompt;
}

/* There is one prompt, and one standard input. */
static bool prompt_fits(const Options *o)
{
        const char *given = prompt_given(o);
        bool reads = (given && !strcmp(given, "-")) || (o->prompt_file && !strcmp(o->prompt_file, "-"));
        bool two = o->nfile > 1 && (o->prompt || o->prompt_file);
        if (two)
                fprintf(stderr,
                        "lathe run: the prompt is given twice: \"%.20s\" and by %s; `lathe help run` "
                        "says more\n",
                        given, o->prompt ? "-p" : "-f");
        else if (reads && !strcmp(o->file[0], "-"))
                fprintf(stderr, "lathe run: model and prompt can't both be standard input; `lathe help run` "
                                "says more\n");
        else
                return true;
        return false;
}

/* Tokens, malloc'd; NULL after a message, with *code. */
static int32_t *read_prompt(Session *s, int64_t *count, int *code)
{
        const Options *o = s->o;
        Arena *a = &s->m.arena;
        const char *given = prompt_given(o), *path = o->prompt_file, *text = given ? given : "", *why = NULL;
        if (given && !strcmp(given, "-"))
                path = "-";
        int64_t n = (int64_t)strlen(text);
        *code = WRONG_INPUT;
        if (path) {
                const Source *all = read_source(a, path, &why);
                if (!all) {
                        fprintf(stderr, "lathe run: %s: %s\n", path, why);
                        *code = WRONG_ENVIRONMENT;
                        return NULL;
                }
                n = all->length;
                text = all->text;
        }
        int32_t *tokens = NULL;
        if (o->tokenizer)
                tokens = text_to_tokens(&s->tokenizer, text, n, count);
        else
                tokens = numbers_to_tokens(s->m.graph, text, count, &why);
        if (!tokens && (!why || lacks_memory(why)))
                *code = wrong(no_memory);
        else if (!tokens)
                wrong(why);
        return tokens;
}

/* --- output ------------------------------------------------------------------------------------------------------ */

static bool show(void *to, const char *text, int64_t n)
{
        return fwrite(text, 1, (size_t)n, to) == (size_t)n && !fflush(to);
}

/* Bytes of weights that a step reads: those of its products. */
static int64_t bytes_a_step(const Plan *p)
{
        int64_t floats = 0;
        for (int b = 0; b < p->nbody; b++)
                for (int i = 0; i < p->list[b].n; i++) {
                        const Kernel *k = p->list[b].kernel[i];
                        for (int j = 0; j < k->nsegment; j++)
                                for (int w = 0; w < k->segment[j].nproduct; w++) {
                                        const Buffer *from = k->segment[j].w[w];
                                        floats += from ? from->slots * type_count(&from->type, NULL) : 0;
                                }
                }
        return 4 * floats;
}

static void report(const Session *s, int64_t prompt, const Generated *g)
{
        fprintf(stderr, "spec to plan %.1f ms, weights %.1f ms, plan to code %.1f ms (%s, %s)\n",
                1e3 * (s->planned - s->begin), 1e3 * (s->loaded - s->planned),
                1e3 * engine_compile_seconds(s->engine), s->o->jit == JIT_CC ? "cc" : "libtcc",
                s->plan->target->name);
        double before = seconds() - g->rest_seconds - s->begin;
        fprintf(stderr,
                "%" PRId64 " prompt tokens and the first new one %.1f ms, spec to first token %.1f ms\n",
                prompt, 1e3 * g->first_seconds, 1e3 * before);
        if (g->made < 2)
                return;
        double rate = (double)(g->made - 1) / g->rest_seconds;
        fprintf(stderr, "%" PRId64 " tokens more: %.1f tokens/s, %.1f GB/s of weights (at the end by %s)\n",
                g->made - 1, rate, 1e-9 * rate * (double)bytes_a_step(s->plan), engine_tier(s->engine));
}

static int generate_text(Session *s)
{
        const Options *o = s->o;
        int code;
        int64_t n;
        int32_t *tokens = read_prompt(s, &n, &code);
        if (!tokens)
                return code;
        Generation how = {.steps = o->steps,
                          .chunk = INT64_MAX,
                          .temperature = o->temperature,
                          .top_p = o->top_p,
                          .min_p = o->min_p,
                          .top_k = o->top_k,
                          .seed = o->seed,
                          .nstop = o->nstop,
                          .hash = o->hash,
                          .show = show,
                          .to = stdout,
                          .interrupted = &interrupted};
        memcpy(how.stop, o->stop, sizeof how.stop);
        Generated made;
        catch_interrupt();
        const char *error =
                generate(s->engine, s->plan, o->tokenizer ? &s->tokenizer : NULL, tokens, n, &how, &made);
        free(tokens);
        bool stopped = atomic_load(&interrupted);
        int why = errno;
        if (made.made > 0 && isatty(STDOUT_FILENO))
                putchar('\n');
        if (error && error != output_failed && !stopped)
                fprintf(stderr, "lathe run: %s\n", error);
        if (o->hash && !error)
                fprintf(stderr, "hash %016" PRIx64 "\n", made.hash);
        if (o->verbose)
                report(s, n, &made);
        if (error == output_failed || fflush(stdout) || ferror(stdout)) {
                fprintf(stderr, "lathe run: standard output: %s\n",
                        strerror(error == output_failed ? why : errno));
                return WRONG_ENVIRONMENT;
        }
        return stopped ? INTERRUPTED : lacks_memory(error) ? WRONG_ENVIRONMENT : error ? WRONG_INPUT : DONE;
}

int run_command(const Options *o)
{
        Session s = {.o = o, .begin = seconds()};
        if (!prompt_fits(o))
                return WRONG_USAGE;
        int code = prepare(&s);
        if (code == DONE)
                code = generate_text(&s);
        engine_free(s.engine);
        packed_file_close(&s.file);
        pool_free(s.pool);
        tokenizer_free(&s.tokenizer);
        model_free(&s.m);
        return code;
}
