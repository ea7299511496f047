/* Generation, with the tokenizer and the sampler of emitted C. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jit_private.h"

const char output_failed[] = "the output can't be written";

const Input *ids_of(const Graph *g, int time)
{
        for (int i = 0; i < g->ninput && time >= 0; i++) {
                const Input *in = &g->input[i];
                if (in->bound && in->type.rank == 1 && dim_equal(in->type.dim[0], dim_named(time)))
                        return in;
        }
        return NULL;
}

const char *why_no_logits(const Graph *g, int time)
{
        const Input *ids = ids_of(g, time);
        if (!ids)
                return "has no input of token ids [time]";
        const Output *o = &g->output[0];
        const Type *t = &o->node->type;
        bool is_row = t->dtype == REAL && t->rank == 2 && dim_equal(t->dim[0], dim_named(time));
        /* fewer logits than ids: some tokens are read, but never generated */
        if (is_row && dim_is_fixed(t->dim[1]) && dim_bound(g, t->dim[1]) <= ids->bound)
                return NULL;
        Type want = {REAL, 2, {dim_named(time), dim_fixed(ids->bound)}};
        return arena_printf(g->arena, "has no output of logits %s: %s is %s%s", type_text(g->arena, g, &want),
                            o->name, t->dtype == REAL ? "" : "of integers ", type_text(g->arena, g, t));
}

const char *why_not_generating(const Graph *g)
{
        if (g->past < 0 || g->block)
                return "is not causal";
        const char *why = why_no_logits(g, g->time);
        return why ? why : g->ninput != 1 ? "has other inputs than token ids [time]" : NULL;
}

int untapped_outputs(const Graph *g)
{
        int n = 0;
        for (int i = 0; i < g->noutput; i++)
                n += !g->output[i].tap;
        return n;
}

bool generates_when_fed(const Graph *g)
{
        int fed = 0;
        for (int i = 0; i < g->ninput; i++)
                fed += is_fed_separately(g, g->input[i].group);
        return g->past >= 0 && !g->block && untapped_outputs(g) == 1 && g->ninput <= MAX_FED &&
               g->ninput - fed == 1 && !why_no_logits(g, g->time);
}

int32_t *numbers_to_tokens(const Graph *g, const char *text, int64_t *count, const char **why)
{
        const Input *ids = &g->input[0]; /* or the first input of ids */
        while (ids < &g->input[g->ninput - 1] && (!ids->bound || ids->type.rank != 1))
                ids++;
        int32_t *tokens = malloc((strlen(text) / 2 + 2) * sizeof *tokens);
        int64_t n = 0;
        char *end;
        *why = tokens ? NULL : no_memory;
        for (long id; tokens && (id = strtol(text, &end, 10), end != text) && !*why; text = end) {
                if (id < 0 || id >= ids->bound)
                        *why = arena_printf(g->arena, "%s[%lld] is %ld: it must be 0 to %lld",
                                            input_name(ids), (long long)n, id, (long long)ids->bound - 1);
                tokens[n++] = (int32_t)id;
        }
        text += strspn(text, " \t\r\n");
        if (!*why && *text)
                *why = arena_printf(g->arena,
                                    "without a tokenizer the prompt is token numbers, not \"%.20s\"", text);
        if (!*why && n == 0)
                tokens[n++] = start_token(g);
        *count = n;
        if (!*why)
                return tokens;
        free(tokens);
        return NULL;
}

uint64_t checkpoint_bytes_hash(const Checkpoint *c)
{
        enum { AT_ONCE = 1 << 24 };
        const CkFile *file;
        uint64_t h = HASH_START;
        int64_t total = 0, done = 0;
        for (int i = 0; (file = checkpoint_file(c, i)); i++)
                total += file->size;
        progress("reading", PROGRESS_BYTES, 0, total);
        for (int i = 0; (file = checkpoint_file(c, i)); i++)
                for (int64_t at = 0, n; at < file->size; at += n) {
                        n = file->size - at < AT_ONCE ? file->size - at : AT_ONCE;
                        h = hash_bytes(h, file->data + at, (size_t)n);
                        done += n;
                        progress("reading", PROGRESS_BYTES, done, total);
                }
        return h;
}

/* --- output of text: a possible beginning of a stop text is held back -------------------------------------------- */

typedef struct {
        const Generation *how;
        char *held;
        int64_t n, cap;
        const char *wrong;
        TokenDecoder decoder;
        char *piece; /* buffer for a token's text */
} Outlet;

static void outlet_release(Outlet *o, int64_t n)
{
        if (n > 0 && !o->how->show(o->how->to, o->held, n))
                o->wrong = output_failed;
        memmove(o->held, o->held + n, (size_t)(o->n - n));
        o->n -= n;
}

/* Whether the held text from `at` on is a stop text, or the beginning of one. */
static bool may_stop(const Outlet *o, int64_t at, bool *stop)
{
        bool begins = false;
        for (int i = 0; i < o->how->nstop; i++) {
                int64_t length = (int64_t)strlen(o->how->stop[i]), rest = o->n - at;
                if (memcmp(o->held + at, o->how->stop[i], (size_t)(length < rest ? length : rest)))
                        continue;
                *stop |= length <= rest;
                begins = true;
        }
        return begins;
}

/* False: a stop text was found, or o->wrong is set. */
static bool pour(Outlet *o, const char *text, int64_t n)
{
        if (n <= 0)
                return !o->wrong;
        if (o->n + n > o->cap) {
                int64_t cap = 2 * (o->n + n);
                char *more = realloc(o->held, (size_t)cap);
                if (!more) {
                        o->wrong = no_memory;
                        return false;
                }
                o->held = more;
                o->cap = cap;
        }
        memcpy(o->held + o->n, text, (size_t)n);
        o->n += n;
        bool stop = false;
        int64_t at = 0;
        while (at < o->n && !may_stop(o, at, &stop))
                at++;
        outlet_release(o, at);
        return !stop && !o->wrong;
}

static bool outlet_token(Outlet *o, const Tokenizer *t, int32_t token)
{
        char number[16];
        if (!t)
                return pour(o, number, snprintf(number, sizeof number, "%d ", token));
        return pour(o, o->piece,
                    tokens_decode(&t->tables, &o->decoder, token, o->how->control ? TOKENS_CONTROL : 0,
                                  o->piece));
}

/* Prints the rest, unless a stop text has ended it. */
static void outlet_end(Outlet *o)
{
        bool stopped = false;
        char rest[TOKEN_RESIDUE];
        pour(o, rest, tokens_decode_end(&o->decoder, rest));
        if (o->n && !(may_stop(o, 0, &stopped) && stopped))
                outlet_release(o, o->n);
}

/* --- the loop ------------------------------------------------------------------------------------------------------ */

typedef struct {
        Engine *engine;
        const Graph *g;
        Generation *how;
        const Plan *p;
        const Tokenizer *tokenizer;
        Outlet outlet;
        int64_t vocab;
        bool drafted; /* the draft model samples */
        const Generator *generator;
        const Generated *made;
        const char *wrong; /* the last error */
} GenerateRun;

/* fed: with inputs that are fed separately, or NULL */
static const char *take_fed(Engine *e, const Plan *p, const Generation *fed, Draft *d, const int32_t *tokens,
                            int64_t n, float *logits)
{
        static const int64_t none[MAX_NAMED];
        const Graph *g = p->graph;
        const void *input[MAX_FED] = {tokens};
        const char *wrong = NULL;
        float **output = calloc((size_t)g->noutput, sizeof *output);
        if (!output)
                return no_memory;
        for (int i = 0; fed->fed && i < g->ninput; i++)
                input[i] = fed->fed[i] ? fed->fed[i] : (const void *)tokens;
        output[0] = logits;
        const bool reads = draft_receive(d, engine_position(e), n, output, &wrong);
        const EngineCall call = {input, output, fed->fed ? fed->size : none};
        if (!wrong)
                wrong = engine_advance(e, &call, n, logits || reads ? 0 : n);
        free(output);
        return wrong;
}

const char *generate_take(Engine *e, const Plan *p, Draft *d, const int32_t *tokens, int64_t n, float *logits)
{
        return take_fed(e, p, &(Generation){.fed = NULL}, d, tokens, n, logits);
}

static int run_take(void *of, const int32_t *tokens, int64_t n, float *logits)
{
        GenerateRun *r = of;
        const Generation *how = r->how;
        if (how->interrupted && atomic_load(how->interrupted))
                r->wrong = r->wrong ? r->wrong : "interrupted";
        if (r->wrong) /* the error is the draft's, or an interrupt */
                return 1;
        r->wrong = take_fed(r->engine, r->p, how, how->draft, tokens, n, logits);
        return r->wrong != NULL;
}

static int run_rule(void *of, const int32_t *text, int64_t n, float *logits)
{
        GenerateRun *r = of;
        return constraint_rule(r->how->constraint, r->drafted, text, n, logits, r->vocab, &r->wrong);
}

/* The draft model samples like this one, with the next random numbers. */
static int64_t run_propose(void *of, const int32_t *text, int64_t n, int32_t *drafts, int64_t most)
{
        (void)text; /* drafts follow it */
        GenerateRun *r = of, drafting = *r;
        Generator like = *r->generator;
        Sampler sampler = *like.sampler;
        drafting.drafted = true;
        if (r->how->constraint)
                constraint_branch(r->how->constraint);
        like.sampler = &sampler;
        like.ruler = &drafting;
        return draft_propose(r->how->draft, like, *r->made, drafts - n, n, most, &r->wrong);
}

static int run_show(void *of, int32_t token)
{
        GenerateRun *r = of;
        if (r->how->talk)
                talk_token(r->how->talk, token);
        bool ended = !outlet_token(&r->outlet, r->tokenizer, token);
        if (r->how->interrupted && atomic_load(r->how->interrupted))
                r->wrong = "interrupted";
        return ended || r->wrong;
}

/* Also after an interrupt, so that rejected drafts are not in the state of a conversation. */
static int run_rewind(void *of, int64_t n)
{
        GenerateRun *r = of;
        const char *wrong = engine_rewind(r->engine, n);
        r->wrong = r->wrong ? r->wrong : wrong;
        return r->wrong != NULL;
}

/* Message of an error of the loop, in a text of `end` tokens. */
static const char *run_outcome(const GenerateRun *r, int error, int64_t prompt, int64_t end)
{
        const Generator *g = r->generator;
        switch (error) {
        case GENERATION_MEMORY: return no_memory;
        case GENERATION_CONTEXT:
                return arena_printf(r->g->arena, "the prompt has %lld tokens, but the context holds %lld",
                                    (long long)prompt, (long long)g->context);
        case GENERATION_NONE:
                return arena_printf(
                        r->g->arena,
                        "no token is possible at position %lld: every logit is -inf or NaN, or ruled out",
                        (long long)end);
        default: return r->wrong;
        }
}

static const char *loop(GenerateRun *r, const int32_t *tokens, int64_t n, Generated *result)
{
        const int error = generation_run(r->generator, tokens, n, engine_position(r->engine), result);
        return run_outcome(r, error, n, n + result->made);
}

/* --- beams: the text that they find --------------------------------------------------------------------------------- */

static int run_fork(void *of, int slot, int copy)
{
        GenerateRun *r = of;
        r->wrong = engine_fork(r->engine, slot, copy);
        return r->wrong != NULL;
}

static int run_advance(void *of, const int *slot, const int32_t *token, int n, float *logits)
{
        GenerateRun *r = of;
        static const int64_t none[MAX_NAMED];
        EngineSequence sequence[MAX_BEAMS];
        const void *input[MAX_FED] = {token};
        for (int i = 0; i < n; i++)
                sequence[i] = (EngineSequence){slot[i], 1, 0};
        for (int i = 0; r->how->fed && i < r->g->ninput; i++)
                input[i] = r->how->fed[i] ? r->how->fed[i] : (const void *)token;
        const EngineCall call = {input, &logits, r->how->size ? r->how->size : none};
        const bool ends = r->how->interrupted && atomic_load(r->how->interrupted);
        r->wrong = ends ? "interrupted" : engine_batch(r->engine, sequence, n, &call);
        return r->wrong != NULL;
}

static const char *show_best(GenerateRun *r, BeamSearch *s, const int32_t *tokens, int64_t n,
                             Generated *result)
{
        const Beams *b = &s->b;
        const double begin = seconds();
        const int error = beams_run(s, tokens, n, engine_position(r->engine));
        for (int64_t i = 0; !error && i < b->length[0] && outlet_token(&r->outlet, r->tokenizer, b->text[i]);
             i++)
                result->made++;
        result->first_seconds = seconds() - begin;
        return run_outcome(r, error, n, n + b->made);
}

static const char *loop_by_beams(GenerateRun *r, const Plan *p, const int32_t *tokens, int64_t n,
                                 Generated *result)
{
        typedef int BeamsStep(Beams * b, float *logits, BeamRules *rule_out, void *of);
        const Generator *g = r->generator;
        const BeamOptions *o = &r->how->beams;
        const int64_t left = g->context - n + 1, steps = loop_steps(&g->tokens, g->steps);
        BeamSearch s = {.generator = g,
                        .fork_slot = run_fork,
                        .take_tokens = run_advance,
                        .search_step = (BeamsStep *)kernel_find(p->target, "beams_step"),
                        .b = {.beam_count = o->beams,
                              .vocab = g->vocab,
                              .steps = steps < left ? steps : left,
                              .penalty = o->length_penalty,
                              .early_end = o->early,
                              .stop = g->tokens.stop}};
        *result = (Generated){.prompt = n - engine_position(r->engine)};
        if (n > g->context)
                return run_outcome(r, GENERATION_CONTEXT, n, n);
        if (2 * (int64_t)o->beams > g->vocab)
                return arena_printf(r->g->arena,
                                    "%d beams compare %d tokens at a time, but the model has %lld", o->beams,
                                    2 * o->beams, (long long)g->vocab);
        if (s.b.steps < 1)
                return NULL;
        void *room = malloc(beam_search_room(o->beams, s.b.steps, g->vocab, n));
        if (!room)
                return no_memory;
        beam_search_lay(&s, room);
        const char *wrong = show_best(r, &s, tokens, n, result);
        free(room);
        return wrong;
}

LoopTokens loop_rules(const Graph *g)
{
        const Loop *l = graph_loop(g, "generate");
        return (LoopTokens){.stop = loop_tokens(g, "stop"),
                            .first = loop_tokens(g, "first"),
                            .forbid = loop_tokens(g, "forbid"),
                            .forbid_first = loop_tokens(g, "forbid_first"),
                            .last = loop_tokens(g, "last"),
                            .least = (int64_t)loop_number_setting(l, "min_new_tokens", 0),
                            .most = (int64_t)loop_number_setting(l, "max_new_tokens", 0),
                            .ngram = (int64_t)loop_number_setting(l, "no_repeat_ngram_size", 0)};
}

/* --- unmasking ------------------------------------------------------------------------------------------------------ */

static int run_step(void *of, int64_t done, int64_t masks)
{
        GenerateRun *r = of;
        if (r->how->interrupted && atomic_load(r->how->interrupted))
                r->wrong = "interrupted";
        return (r->how->unmask->step && !r->how->unmask->step(done, masks)) || r->wrong;
}

static const char *loop_by_unmasking(GenerateRun *r, const int32_t *tokens, int64_t n, Generated *result)
{
        const Generator *g = r->generator;
        const UnmaskLoop *l = r->how->unmask;
        UnmaskCall *call = unmask_call_new(r->engine, r->g, l, &r->wrong);
        Unmasker u = {.form = &l->form,
                      .model = call,
                      .predict_masks = unmask_call,
                      .sampler = g->sampler,
                      .sample = g->sample,
                      .of = r,
                      .show = run_show,
                      .on_step = run_step,
                      .tokens = g->tokens,
                      .suppress = g->suppress,
                      .vocab = g->vocab,
                      .context = g->context,
                      .kept_block = r->g->block,
                      .hashes = g->hashes};
        const int64_t places = unmask_places(&l->form, n, g->context);
        for (int64_t i = 0; i < n; i++) /* a prompt with masks is shown, too */
                if (tokens[i] == l->form.mask)
                        r->outlet.decoder.begun = 0;
        const double begin = seconds();
        void *room = call ? malloc(unmask_room(&l->form, u.vocab, places)) : NULL;
        const char *wrong = no_memory;
        if (room) {
                unmask_lay(&u, places, room);
                const int error = unmask_run(&u, tokens, n, result);
                wrong = run_outcome(r, error, n, u.fault);
        }
        result->first_seconds = seconds() - begin;
        result->rest_seconds = 0;
        free(room);
        unmask_call_free(call);
        return wrong;
}

const char *generate(Engine *e, const Plan *p, const Tokenizer *tokenizer, const int32_t *tokens, int64_t n,
                     Generation *how, Generated *result)
{
        const Graph *g = p->graph;
        const bool unmasks = how->unmask != NULL;
        GenerateRun r = {.engine = e,
                         .g = g,
                         .p = p,
                         .how = how,
                         .tokenizer = tokenizer,
                         .outlet = {.how = how, .decoder.begun = !how->talk && n > 1},
                         .vocab = unmasks ? dim_bound(g, g->output[how->unmask->output].node->type.dim[1])
                                          : row_elements(p, &g->output[0].node->type)};
        Generator all = {.model = &r,
                         .take = run_take,
                         .rewind = run_rewind,
                         .sampler = &how->sampler,
                         .sample = (SampleFunction *)kernel_find(p->target, "sample"),
                         .of = &r,
                         .show = run_show,
                         .ruler = &r,
                         .rule = how->constraint ? run_rule : NULL,
                         .proposer = &r,
                         .propose = how->draft ? run_propose : NULL,
                         .seconds = seconds,
                         .tokens = loop_rules(g),
                         .suppress = how->suppress,
                         .vocab = r.vocab,
                         .context = unmasks ? unmask_context(g, how->unmask) : g->named[g->time].bound,
                         .steps = how->steps,
                         .chunk = how->chunk,
                         .hashes = how->hash,
                         .drafts = how->drafts < p->chunk ? how->drafts : (int)p->chunk,
                         .penalties = how->penalties};
        all.tokens.first = how->first ? how->first : all.tokens.first;
        if (how->constraint)
                constraint_begin(how->constraint, !how->talk && n > 1);
        void *room = malloc(generation_room(all.vocab, all.context, all.drafts));
        r.outlet.piece = malloc(tokenizer ? (size_t)tokenizer->longest + 1 : 1);
        *result = (Generated){.made = 0};
        r.generator = &all;
        r.made = result;
        if (room)
                generation_lay(&all, room);
        const char *wrong = !room || !r.outlet.piece ? no_memory
                            : unmasks                ? loop_by_unmasking(&r, tokens, n, result)
                            : how->beams.beams       ? loop_by_beams(&r, p, tokens, n, result)
                                                     : loop(&r, tokens, n, result);
        outlet_end(&r.outlet);
        wrong = wrong ? wrong : r.outlet.wrong;
        free(r.outlet.held);
        free(r.outlet.piece);
        free(room);
        return wrong;
}
