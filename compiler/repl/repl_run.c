/* The current model compiled in memory, and commands that run it.
 *
 * It is compiled again after changes of the session; unchanged weights remain packed in the pool. */
#include "repl_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEW_TOKENS = 64, LONG_RUN = 256 /* tokens for which compilation pays off */ };

/* The engine that Ctrl-C stops, or NULL. */
static _Atomic(Engine *) running;

void runner_interrupt(void)
{
        Engine *e = atomic_load(&running);
        if (e)
                engine_interrupt(e, true);
}

/* --- compiling ----------------------------------------------------------------------------------------------------- */

Runner *runner_new(void)
{
        Runner *r = calloc(1, sizeof *r);
        if (r)
                r->pool = pool_new();
        if (r && r->pool) {
                r->change = -1;
                return r;
        }
        free(r);
        return NULL;
}

/* Frees the compiled model, but not the pool. */
static void clear(Runner *r)
{
        atomic_store(&running, NULL);
        engine_free(r->engine);
        r->engine = NULL;
        r->plan = NULL;
        packed_weights_close(&r->packed);
        model_free(&r->model);
        if (r->has_tokenizer)
                tokenizer_free(&r->tokenizer);
        r->has_tokenizer = false;
        free(r->tap);
        r->tap = NULL;
        r->change = -1;
}

void runner_free(Runner *r)
{
        if (!r)
                return;
        clear(r);
        pool_free(r->pool);
        free(r->origin_path);
        free(r);
}

static bool runner_add_outputs(Runner *r, RunnerKind kind)
{
        const char *why = NULL;
        Graph *g = r->model.graph;
        int before = g->noutput;
        if (kind.lens) {
                r->tap_output = before;
                r->layers = lens_add(g, &r->layer, &why);
                return r->layers >= 0 || repl_error("%s", why);
        }
        if (!kind.tap && kind.attention < 0)
                return true;
        r->tap_output = kind.tap ? tap_add(g, kind.tap, &why) : attention_tap_add(g, kind.attention, &why);
        /* a valid name in C */
        if (r->tap_output == before)
                g->output[before].name = "tap";
        return r->tap_output >= 0 || repl_error("%s", why);
}

/* For a published model without changes since it was loaded: opens the cached file of `lathe run`, if its
 * layout matches this plan. */
static bool runner_open_packed(ReplSession *s, Runner *r)
{
        CommandOptions o = s->options;
        const char *file = s->source_file;
        Model m;
        int code;
        if (!s->source || s->source_change != s->change)
                return false;
        o.file = &file;
        o.nfile = 1;
        o.source.text = s->source_text;
        o.source.path = s->source;
        o.model = s->model;
        bool good = model_load(&m, &o, &code) && model_passes(&m, &o);
        o.draft.tokens = r->drafts;
        Plan *p = good ? model_plan(&m, &o, r->plan->target) : NULL;
        good = p && layout_hash(p) == layout_hash(r->plan) && packed_weights_kept(&m, &o, p, &r->packed);
        model_free(&m);
        return good;
}

/* A text for weights and their adapters. */
static const char *origin_of_weights(Arena *a, const CommandOptions *o)
{
        const char *text = o->weights ? o->weights : "";
        for (int i = 0; i < o->nadapter; i++)
                text = arena_printf(a, "%s\n%s=%.17g", text, o->adapter[i].path, o->adapter[i].scale);
        return text;
}

static bool pack(ReplSession *s, Runner *r, const float **base)
{
        if (runner_open_packed(s, r)) {
                *base = r->packed.weights;
                return true;
        }
        Plan *p = r->plan;
        Checkpoint *checkpoint = NULL;
        const char *path = origin_of_weights(&r->model.arena, &s->options), *error = NULL;
        if (p->bytes.weights > memory_available())
                return repl_error("out of memory: the weights of %s take %.1f GB, and %.1f GB are free",
                                  s->model, 1e-9 * (double)p->bytes.weights,
                                  1e-9 * (double)memory_available());
        Weights *weights = open_weights(&r->model, &s->options, &checkpoint);
        if (!r->origin_path || strcmp(path, r->origin_path) != 0) {
                free(r->origin_path);
                r->origin_path = strdup(path);
                r->origin++;
        }
        if (weights)
                error = pool_fit(r->pool, p, weights, r->origin, base);
        checkpoint_close(checkpoint);
        return weights && (!error || repl_error("%s", error));
}

/* The first input of token ids; NULL: none. */
static const Input *first_ids(const Graph *g)
{
        for (int i = 0; i < g->ninput; i++)
                if (g->input[i].bound && g->input[i].type.rank == 1)
                        return &g->input[i];
        return NULL;
}

/* Most tokens that a run drafts at a time. */
static int session_drafts(const ReplSession *s)
{
        return drafts_of(&(DraftOptions){.model = s->draft, .tokens = s->drafts});
}

static bool build_all(ReplSession *s, Runner *r, RunnerKind kind)
{
        Model *m = &r->model;
        CommandOptions o = s->options;
        const float *base = NULL;
        const char *why = NULL;
        if (kind.size)
                o.off[PASS_causal] = true;
        if (!model_elaborate(m, &o, s->model))
                return false;
        for (int i = 0; kind.size && i < m->graph->nnamed; i++)
                m->graph->named[i].bound = kind.size[i];
        if (!runner_add_outputs(r, kind) || !model_passes(m, &o))
                return false;
        const Target *target = target_find("native");
        o.draft.tokens = r->drafts = session_drafts(s);
        r->plan = model_plan(m, &o, target);
        if (!r->plan)
                return false;
        r->plan->timed = kind.timed;
        if (!pack(s, r, &base))
                return false;
        r->engine = engine_new(r->plan, base, o.threads,
                               kind.timed || s->steps < LONG_RUN ? JIT_TCC : JIT_AUTO, &why);
        if (!r->engine)
                return repl_error("%s", why);
        atomic_store(&running, r->engine);
        CkError error = {.environment = false}; /* a tokenizer of another vocabulary is not usable */
        const Input *ids = first_ids(m->graph);
        if (o.tokenizer && ids)
                r->has_tokenizer = tokenizer_read(o.tokenizer, NULL, (int)ids->bound, &r->tokenizer, &error);
        if (r->has_tokenizer)
                r->tokenizer.start = start_token(m->graph);
        return !error.environment || repl_error("%s", error.message);
}

static bool is_same(const ReplSession *s, const Runner *r, RunnerKind kind)
{
        bool same_tap = kind.tap ? r->tap && !strcmp(r->tap, kind.tap) : !r->tap;
        return r->change == s->change && same_tap && r->drafts >= session_drafts(s) &&
               r->attention == kind.attention && r->timed == kind.timed && r->lens == kind.lens &&
               (!kind.size || !memcmp(kind.size, r->size, sizeof r->size));
}

bool runner_fit(ReplSession *s, RunnerKind kind)
{
        Runner *r = s->runner;
        if (!s->model)
                return repl_error("there is no model yet: define one, or :load FILE");
        if (is_same(s, r, kind)) {
                engine_interrupt(r->engine, false);
                return !engine_rewind(r->engine, 0);
        }
        double begin = seconds();
        clear(r);
        s->reads_variables = false;
        r->model = (Model){0};
        r->model.program = s->program;
        r->model.diag.arena = s->program->work = &r->model.arena;
        s->program->diag = &r->model.diag;
        jmp_buf out_of_memory;
        r->model.arena.out_of_memory = s->words.out_of_memory = s->files->out_of_memory = &out_of_memory;
        volatile bool good = false;
        if (!setjmp(out_of_memory))
                good = build_all(s, r, kind);
        else
                repl_error("%s", no_memory);
        s->words.out_of_memory = s->files->out_of_memory = r->model.arena.out_of_memory = NULL;
        s->program->diag = NULL;
        if (!good)
                return clear(r), false;
        r->change = s->change;
        r->tap = kind.tap ? strdup(kind.tap) : NULL;
        r->attention = kind.attention;
        r->timed = kind.timed;
        r->lens = kind.lens;
        r->reads_variables = s->reads_variables;
        if (kind.size)
                memcpy(r->size, kind.size, sizeof r->size);
        r->build_seconds = seconds() - begin;
        return true;
}

/* --- the text of a run ------------------------------------------------------------------------------------------------ */

bool wants_generator(const ReplSession *s)
{
        const char *why = why_not_generating(s->runner->model.graph);
        if (!why)
                return true;
        repl_error("%s can't generate: it %s", s->model, why);
        note_not_causal(&s->runner->model);
        return false;
}

int32_t *prompt_of(ReplSession *s, int64_t *n)
{
        Runner *r = s->runner;
        const Graph *g = r->model.graph;
        const char *text = s->prompt ? s->prompt : "";
        const char *why = no_memory;
        int32_t *token = r->has_tokenizer ? text_to_tokens(&r->tokenizer, text, (int64_t)strlen(text), n)
                                          : numbers_to_tokens(g, text, n, &why);
        if (!token)
                repl_error("%s", why);
        return token;
}

void label_of(const ReplSession *s, int32_t token, char *text, size_t room)
{
        const Runner *r = s->runner;
        char *whole = r->has_tokenizer ? malloc((size_t)r->tokenizer.longest + 1) : NULL;
        int n = whole ? token_label(&r->tokenizer, token, whole) : 0;
        if (whole)
                snprintf(text, room, "%.*s", n, whole);
        else
                snprintf(text, room, "%d", (int)token);
        free(whole);
}

/* --- :run ------------------------------------------------------------------------------------------------------------- */

static bool repl_show(void *to, const char *text, int64_t n)
{
        return fwrite(text, 1, (size_t)n, to) == (size_t)n && !fflush(to);
}

/* Once for each model. */
static void note_weights(ReplSession *s)
{
        if (!s->options.weights && s->runner->model.graph->nweight && s->noted != s->models_taken)
                fprintf(stderr,
                        "note: the weights of %s are generated from a hash of their names; :weights FILE "
                        "loads trained ones\n",
                        s->model);
        s->noted = s->models_taken;
}

SettledSampling session_sampling(const ReplSession *s)
{
        CommandOptions o = s->options;
        o.sampler = s->sampler;
        o.penalties = s->penalties;
        return sampling_settled(s->runner->model.graph, &o, false);
}

/* Notes settings of the model that choose tokens. */
static void note_sampling(const ReplSession *s)
{
        const SettledSampling sampling = session_sampling(s);
        if (*sampling.note)
                fprintf(stderr, "note: %s\n", sampling.note);
}

/* Inputs of :run other than the model: opened for each text, so that changes of the model take effect. */
typedef struct {
        Arena arena;
        DraftModel draft;
        Constraint *constraint;
} Beside;

static bool open_beside(ReplSession *s, Beside *b)
{
        Runner *r = s->runner;
        const Tokenizer *t = r->has_tokenizer ? &r->tokenizer : NULL;
        CommandOptions o = s->options;
        int code = constraint_open(&b->arena, r->model.graph, s->grammar, t, &b->constraint);
        if (code != DONE || !s->draft)
                return code == DONE;
        o.draft.model = s->draft;
        o.draft.weights = s->draft_weights;
        o.jit = JIT_TCC;
        b->draft.o = draft_options(&b->arena, &o);
        return source_open(&b->arena, &b->draft.o, (SourceParts){true, t != NULL, true, false}, &code) &&
               draft_model_load(&b->draft, NULL) == DONE &&
               draft_model_open(&b->draft, &r->model, r->plan, t) == DONE;
}

static void close_beside(Beside *b)
{
        draft_model_close(&b->draft);
        constraint_free(b->constraint);
        arena_free(&b->arena);
}

static bool repl_show_text(ReplSession *s, int64_t steps, const Beside *b, const Fed *f, const int32_t *token,
                           int64_t n)
{
        Runner *r = s->runner;
        const SettledSampling sampling = session_sampling(s);
        Generation how = {.steps = steps,
                          .chunk = INT64_MAX,
                          .sampler = sampling.sampler,
                          .penalties = sampling.penalties,
                          .drafts = session_drafts(s),
                          .draft = b->draft.draft,
                          .constraint = b->constraint,
                          .fed = f->input,
                          .size = f->given.size,
                          .show = repl_show,
                          .to = stdout,
                          .interrupted = &interrupted};
        Generated made;
        const char *error =
                generate(r->engine, r->plan, r->has_tokenizer ? &r->tokenizer : NULL, token, n, &how, &made);
        if (made.made > 0)
                printf("\n");
        fflush(stdout);
        return error ? repl_error("%s", error) : true;
}

static bool repl_generate(ReplSession *s, int64_t steps)
{
        if (s->noted != s->models_taken)
                note_sampling(s);
        note_weights(s);
        int64_t n = 1;
        Beside beside = {.constraint = NULL};
        Fed fed;
        const int32_t start = start_token(s->runner->model.graph);
        bool good = fed_open(s, &fed);
        int32_t *token = good && fed.says_more ? prompt_of(s, &n) : NULL;
        good = good && (token || !fed.says_more) && open_beside(s, &beside) &&
               repl_show_text(s, steps, &beside, &fed, token ? token : &start, n);
        close_beside(&beside);
        fed_close(&fed);
        free(token);
        return good;
}

static bool run_print_outputs(ReplSession *s, bool with_loop)
{
        Trace t;
        bool good = trace_inputs(s, &t) && trace_run(s, &t);
        const Graph *g = s->runner->model.graph;
        for (int i = 0; good && i < g->noutput; i++) {
                int64_t dim[MAX_RANK];
                double *value = trace_output(s, &t, i, dim);
                int width = printf("%s = ", output_name(&g->output[i]));
                if (value)
                        print_tensor(stdout,
                                     &(Shown){g->output[i].node->type.dtype, g->output[i].node->type.rank,
                                              dim, value},
                                     width);
                good = value || repl_error("%s", no_memory);
                free(value);
        }
        good = good && (!with_loop || show_loop(s, &t));
        trace_free(s, &t);
        return good;
}

bool eval_model(ReplSession *s, const Words *w)
{
        (void)w;
        if (!runner_fit(s, AS_IT_IS))
                return false;
        note_weights(s);
        return run_print_outputs(s, false) && keep_snapshot(s);
}

static bool run_again(ReplSession *s)
{
        if (!runner_fit(s, AS_IT_IS))
                return false;
        bool good = generates_now(s) ? repl_generate(s, s->steps) : run_print_outputs(s, true);
        return good && keep_snapshot(s);
}

static bool repl_read_count(const char *text, int64_t *n)
{
        char *end;
        *n = strtoll(text, &end, 10);
        if (!*end && end != text && *n > 0)
                return true;
        return repl_error("%s is not a count", text);
}

/* Replaces a text of the session by a copy; NULL: by none. */
static bool set_text(char **to, const char *text)
{
        char *copy = text ? strdup(text) : NULL;
        if (text && !copy)
                return repl_error("%s", no_memory);
        free(*to);
        *to = copy;
        return true;
}

bool repl_set_prompt(ReplSession *s, const char *text)
{
        return set_text(&s->prompt, text);
}

/* :run "TEXT" N: the text is for a model with a text as its input, N for one that continues it. */
static bool takes_words(ReplSession *s, const CommandOptions *o)
{
        if (!runner_fit(s, AS_IT_IS))
                return false;
        const Graph *g = s->runner->model.graph;
        const char *why = generates_when_fed(g) ? NULL : why_not_generating(g);
        if (!generates_when_fed(g) && (!input_of_text(g) || time_of(g) < 0))
                repl_error("%s takes no text: it has other inputs than token ids [time]; :run without "
                           "arguments generates inputs from a hash",
                           s->model);
        else if (why && o->nfile > 1)
                repl_error("%s can't generate %s tokens: it %s", s->model, o->file[1], why);
        else
                return true;
        return false;
}

/* Whether options of sampling have an effect, with the settings of the model; false after a message. */
static bool run_samples(ReplSession *s, const CommandOptions *o)
{
        if (!runner_fit(s, AS_IT_IS))
                return false;
        const SettledSampling settled = sampling_settled(s->runner->model.graph, o, false);
        return sampling_fits(o, &settled, "run");
}

bool run_model(ReplSession *s, const Words *w)
{
        int64_t steps = NEW_TOKENS;
        CommandOptions o;
        if (!options_read(&o, "run", ":run", w->n - 1, w->word + 1) || !options_fit(&o, "run"))
                return false;
        if (o.nfile > 2)
                return repl_error(":run takes a text and a count, not %s too", o.file[2]);
        if (o.nfile > 1 && o.given[OPT_N])
                return repl_error("the number of tokens is given twice: %s and -n", o.file[1]);
        if (o.given[OPT_N])
                steps = o.steps;
        if ((o.nfile > 1 && !repl_read_count(o.file[1], &steps)) || (o.nfile > 0 && !takes_words(s, &o)) ||
            !run_samples(s, &o) || !set_text(&s->prompt, o.nfile > 0 ? o.file[0] : "") ||
            !set_text(&s->draft, o.draft.model) || !set_text(&s->draft_weights, o.draft.weights) ||
            !set_text(&s->grammar, o.grammar))
                return false;
        s->steps = steps;
        s->sampler = o.sampler;
        s->penalties = o.penalties;
        s->drafts = o.draft.tokens;
        return run_again(s);
}

/* Repeats the last run after a setting. */
bool rerun(ReplSession *s)
{
        return !s->prompt || run_again(s);
}

/* --- :next ------------------------------------------------------------------------------------------------------------ */

static const char *last_logits(ReplSession *s, float *logits)
{
        int64_t n;
        int32_t *token = prompt_of(s, &n);
        if (!token)
                return "";
        const char *error = engine_tokens(s->runner->engine, token, n, n - 1, logits);
        free(token);
        return error;
}

/* In descending order; the first of equal ones first. */
static void print_likeliest(ReplSession *s, const float *logits, int64_t vocab, int64_t most)
{
        double sum = 0, largest = -INFINITY;
        for (int64_t i = 0; i < vocab; i++)
                largest = logits[i] > largest ? logits[i] : largest;
        for (int64_t i = 0; i < vocab; i++)
                sum += real_exp(logits[i] - largest);
        int64_t before = -1;
        for (int64_t k = 0; k < most && k < vocab; k++) {
                int64_t best = -1;
                for (int64_t i = 0; i < vocab; i++) {
                        bool is_left = before < 0 || logits[i] < logits[before] ||
                                       (logits[i] == logits[before] && i > before);
                        if (is_left && (best < 0 || logits[i] > logits[best]))
                                best = i;
                }
                if (best < 0)
                        return;
                char text[64];
                label_of(s, (int32_t)best, text, sizeof text);
                printf("%.4f  %6" PRId64, real_exp(logits[best] - largest) / sum, best);
                if (s->runner->has_tokenizer) {
                        printf("  ");
                        print_text(stdout, text);
                }
                printf("\n");
                before = best;
        }
}

bool next_tokens(ReplSession *s, const Words *w)
{
        int64_t most = 10;
        if ((w->n > 1 && !repl_read_count(w->word[1], &most)) ||
            (w->n > 2 && !repl_set_prompt(s, w->word[2])) || !runner_fit(s, AS_IT_IS) || !wants_generator(s))
                return false;
        int64_t vocab = row_elements(s->runner->plan, &s->runner->model.graph->output[0].node->type);
        float *logits = malloc((size_t)vocab * sizeof *logits);
        const char *error = logits ? last_logits(s, logits) : no_memory;
        if (!error)
                print_likeliest(s, logits, vocab, most);
        else if (*error)
                repl_error("%s", error);
        free(logits);
        return !error;
}
