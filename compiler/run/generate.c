/* Generation, with the tokenizer and the sampler that emitted C has. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jit_private.h"

/* runtime/tokenizer.h asks for the tables of one vocabulary; here they are those of the one at hand. */
static _Thread_local const Tokenizer *vocabulary;
#define TOKENIZER_VOCAB (vocabulary->vocab)
#define token_bytes (vocabulary->bytes)
#define token_offset (vocabulary->offset)
#define token_score (vocabulary->score)
#define token_sorted (vocabulary->sorted)
#include "../../runtime/tokenizer.h"

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
        if (is_row && dim_is_fixed(t->dim[1]) && dim_bound(g, t->dim[1]) <= ids->bound)
                return NULL; /* fewer logits than ids: some tokens are read and never chosen */
        Type want = {REAL, 2, {dim_named(time), dim_fixed(ids->bound)}};
        return arena_printf(g->arena, "has no output of logits %s: %s is %s%s", type_text(g->arena, g, &want),
                            o->name, t->dtype == REAL ? "" : "of integers ", type_text(g->arena, g, t));
}

const char *why_not_generating(const Graph *g)
{
        if (g->past < 0)
                return "is not causal";
        const char *why = why_no_logits(g, g->time);
        return why ? why : g->ninput != 1 ? "has other inputs than token ids [time]" : NULL;
}

static int32_t *tables_to_tokens(const Tokenizer *t, const char *text, int64_t n, int64_t *count)
{
        if (n > tokens_most(&t->tables))
                return NULL;
        int64_t room = tokens_room(&t->tables, n) + 1;
        int32_t *tokens = malloc((size_t)room * sizeof *tokens);
        void *scratch = malloc((size_t)tokens_scratch(&t->tables, n));
        if (tokens && scratch)
                *count = tokens_encode(&t->tables, text, n, 0, tokens, room, scratch);
        free(scratch);
        if (tokens && !*count && t->start >= 0)
                tokens[(*count)++] = t->start;
        if (scratch)
                return tokens;
        free(tokens);
        return NULL;
}

int32_t *text_to_tokens(const Tokenizer *t, const char *text, int64_t n, int64_t *count)
{
        *count = 0;
        if (t->block.size)
                return tables_to_tokens(t, text, n, count);
        if (n >= 1 << 28)
                return NULL;
        int32_t *tokens = malloc(TOKENIZER_TOKENS(n) * sizeof *tokens);
        int32_t *scratch = malloc(TOKENIZER_SCRATCH(n) * sizeof *scratch);
        vocabulary = t;
        if (tokens && scratch)
                *count = tokenizer_encode(text, (int32_t)n, tokens, scratch);
        free(scratch);
        if (*count)
                return tokens;
        free(tokens);
        return NULL;
}

int32_t *numbers_to_tokens(const Graph *g, const char *text, int64_t *count, const char **why)
{
        const Input *ids = &g->input[0];
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

int token_to_text(const Tokenizer *t, int32_t previous, int32_t token, char *out)
{
        if (t->block.size) {
                bool begins = previous < 0 || previous >= t->block.vocab ||
                              (t->tables.section[TOKENS_MARKS][previous] & TOKEN_CONTROL);
                TokenDecoder decoder = {.begun = !begins};
                int64_t n = tokens_decode(&t->tables, &decoder, token, 0, out);
                return (int)(n + tokens_decode_end(&decoder, out + n));
        }
        vocabulary = t;
        return tokenizer_decode(previous, token, out);
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

uint64_t hash_floats(uint64_t h, const float *x, int64_t n)
{
        for (int64_t i = 0; i < n; i++) {
                uint32_t bits = 0x7fc00000;
                if (x[i] == x[i])
                        memcpy(&bits, &x[i], sizeof bits);
                h = hash_bytes(h, &bits, sizeof bits);
        }
        return h;
}

/* --- text on its way out: what may be the beginning of a stop text waits ----------------------------------------- */

typedef struct {
        const Generation *how;
        char *held;
        int64_t n, cap;
        const char *wrong;
        TokenDecoder decoder;
        char *piece; /* room for a token's text */
} Outlet;

static void release(Outlet *o, int64_t n)
{
        if (n > 0 && !o->how->show(o->how->to, o->held, n))
                o->wrong = output_failed;
        memmove(o->held, o->held + n, (size_t)(o->n - n));
        o->n -= n;
}

/* Is the text that is held from `at` on a stop text, or the beginning of one? */
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

/* false: a stop text, or o->wrong */
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
        release(o, at);
        return !stop && !o->wrong;
}

static bool show_token(Outlet *o, const Tokenizer *t, int32_t previous, int32_t token)
{
        char number[16];
        if (!t)
                return pour(o, number, snprintf(number, sizeof number, "%d ", token));
        if (t->block.size)
                return pour(o, o->piece, tokens_decode(&t->tables, &o->decoder, token, 0, o->piece));
        return pour(o, o->piece, token_to_text(t, previous, token, o->piece));
}

/* The rest, unless a stop text has ended it. */
static void show_end(Outlet *o)
{
        bool stopped = false;
        char rest[TOKEN_RESIDUE];
        pour(o, rest, tokens_decode_end(&o->decoder, rest));
        if (o->n && !(may_stop(o, 0, &stopped) && stopped))
                release(o, o->n);
}

/* --- the loop ------------------------------------------------------------------------------------------------------ */

typedef struct {
        Engine *engine;
        const Generation *how;
        int64_t vocab, context;
        float *logits;
        int32_t *order; /* the sampler's */
        uint64_t state;
        SampleFunction *sample;
        int32_t stop[MAX_STOP_TOKENS];
        int nstop;
        int32_t *first, *forbid, *forbid_first; /* of the loop; ended by -1 */
} Run;

/* All but the prompt's last token; their logits are worked out only to be hashed. */
static const char *take_prompt(Run *r, const int32_t *tokens, int64_t n, uint64_t *hash)
{
        const char *wrong = NULL;
        for (int64_t i = 0, chunk; i < n && !wrong; i += chunk) {
                chunk = n - i < r->how->chunk ? n - i : r->how->chunk;
                float *logits = NULL;
                if (r->how->hash) {
                        bool fits = chunk < INT64_MAX / r->vocab / 4;
                        logits = fits ? malloc((size_t)(chunk * r->vocab) * sizeof *logits) : NULL;
                        if (!logits)
                                return no_memory;
                }
                wrong = engine_tokens(r->engine, tokens + i, chunk, 0, logits);
                if (!wrong && logits)
                        *hash = hash_floats(*hash, logits, chunk * r->vocab);
                free(logits);
        }
        return wrong;
}

static bool is_stop(const Run *r, int32_t token)
{
        for (int i = 0; i < r->nstop; i++)
                if (r->stop[i] == token)
                        return true;
        return false;
}

/* A knob's tokens, -1 behind them. */
static int32_t *tokens_of(const Graph *g, const char *knob)
{
        const Setting *s = loop_setting(g, knob);
        int most = s && s->nlist ? s->nlist : 1;
        int32_t *token = NEW_ARRAY(g->arena, int32_t, most + 1);
        token[loop_tokens(g, knob, token, most)] = -1;
        return token;
}

static void rule_out(const Run *r, const int32_t *token)
{
        for (; *token >= 0; token++)
                if (*token < r->vocab)
                        r->logits[*token] = -INFINITY;
}

/* The token at a place of the text, the first that is chosen freely or a later one. */
static int32_t choose(Run *r, int64_t place, bool *free_before)
{
        const Generation *g = r->how;
        for (int64_t i = 0; i < place && r->first[i] >= 0; i++)
                if (i + 1 == place)
                        return r->first[i];
        rule_out(r, r->forbid);
        if (!*free_before)
                rule_out(r, r->forbid_first);
        *free_before = true;
        return r->sample(g->temperature, g->top_k, g->top_p, g->min_p, &r->state, r->order, r->logits,
                         (int)r->vocab);
}

static const char *loop(Run *r, Outlet *outlet, const Tokenizer *t, const int32_t *tokens, int64_t n,
                        Generated *result)
{
        double begin = seconds(), first = begin;
        int64_t taken = engine_position(r->engine);
        const char *wrong = take_prompt(r, tokens + taken, n - 1 - taken, &result->hash);
        int32_t token = tokens[n - 1];
        bool free_before = false;
        for (; !wrong && result->made < r->how->steps && engine_position(r->engine) < r->context;
             result->made++) {
                wrong = engine_tokens(r->engine, &token, 1, 0, r->logits);
                if (wrong)
                        break;
                if (r->how->hash)
                        result->hash = hash_floats(result->hash, r->logits, r->vocab);
                int32_t next = choose(r, engine_position(r->engine), &free_before);
                if (result->made == 0)
                        first = seconds();
                result->ended = is_stop(r, next);
                if (r->how->talk && !result->ended)
                        talk_token(r->how->talk, next);
                result->ended = result->ended || !show_token(outlet, t, token, next);
                if (r->how->interrupted && atomic_load(r->how->interrupted))
                        wrong = "interrupted";
                if (result->ended)
                        break;
                token = next;
        }
        result->first_seconds = first - begin;
        result->rest_seconds = seconds() - first;
        return wrong;
}

const char *generate(Engine *e, const Plan *p, const Tokenizer *tokenizer, const int32_t *tokens, int64_t n,
                     const Generation *how, Generated *result)
{
        const Graph *g = p->graph;
        const Type *logits = &g->output[0].node->type;
        KernelFunction *sample = kernel_find(p->target, "sample");
        Run r = {.engine = e,
                 .how = how,
                 .vocab = row_elements(p, logits),
                 .context = g->named[g->time].bound};
        Outlet outlet = {.how = how, .decoder.begun = !how->talk && n > 1};
        *result = (Generated){.hash = HASH_START, .state = how->seed, .prompt = n - engine_position(e)};
        if (n > r.context)
                return arena_printf(g->arena, "the prompt has %lld tokens, and the context holds %lld",
                                    (long long)n, (long long)r.context);
        r.sample = (SampleFunction *)sample;
        r.state = how->seed;
        r.nstop = loop_tokens(g, "stop", r.stop, MAX_STOP_TOKENS);
        r.first = tokens_of(g, "first");
        r.forbid = tokens_of(g, "forbid");
        r.forbid_first = tokens_of(g, "forbid_first");
        r.logits = malloc((size_t)r.vocab * sizeof *r.logits);
        r.order = malloc((size_t)r.vocab * sizeof *r.order);
        outlet.piece = malloc(tokenizer ? (size_t)tokenizer->longest + 1 : 1);
        const char *wrong = no_memory;
        if (r.logits && r.order && outlet.piece)
                wrong = loop(&r, &outlet, tokenizer, tokens, n, result);
        show_end(&outlet);
        result->state = r.state;
        wrong = wrong ? wrong : outlet.wrong;
        free(outlet.held);
        free(outlet.piece);
        free(r.order);
        free(r.logits);
        return wrong;
}
