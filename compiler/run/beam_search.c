/* Beam search through an engine whose plan has a slot for each beam (runtime/beams.h). */
#include <stdlib.h>
#include <string.h>

#include "jit_private.h"

typedef int BeamsStep(Beams *b, float *logits, BeamRules *rule_out, void *of);

typedef struct {
        Engine *engine;
        const Graph *g;
        const Generation *how;
        LoopTokens tokens;
        Beams beams;
        BeamsStep *step;
        int64_t prompt;
        int slot[MAX_BEAMS]; /* of each beam */
        float *logits;       /* [beams][vocab] */
        const int64_t *size; /* of fed inputs, otherwise 0 */
} EngineBeams;

static int32_t rule_out(void *of, float *logits)
{
        const EngineBeams *s = of;
        int32_t next =
                loop_prescribes(&s->tokens, s->prompt + s->beams.made, s->beams.made, logits, s->beams.vocab);
        if (next < 0 && s->how->suppress)
                loop_rule_out(s->how->suppress, logits, s->beams.vocab);
        return next;
}

static bool is_interrupted(const EngineBeams *s)
{
        return s->how->interrupted && atomic_load(s->how->interrupted);
}

/* The first beam of each parent stays in its slot; the others take slots whose beam goes no further. */
static const char *place_beams(EngineBeams *s)
{
        const Beams *b = &s->beams;
        const char *wrong = NULL;
        int slot[MAX_BEAMS] = {0}, next = 0;
        bool taken[MAX_BEAMS] = {false};
        for (int i = 0; i < b->active; i++) {
                int own = s->slot[b->parent_beam[i]];
                slot[i] = taken[own] ? -1 : own;
                taken[own] = true;
        }
        for (int i = 0; i < b->active && !wrong; i++) {
                if (slot[i] >= 0)
                        continue;
                while (taken[next])
                        next++;
                taken[slot[i] = next] = true;
                wrong = engine_fork(s->engine, s->slot[b->parent_beam[i]], slot[i]);
        }
        memcpy(s->slot, slot, sizeof slot);
        return wrong;
}

/* The last token of each beam is taken, all in one call. */
static const char *advance_beams(EngineBeams *s)
{
        const Beams *b = &s->beams;
        EngineSequence sequence[MAX_BEAMS];
        int32_t token[MAX_BEAMS];
        const void *input[MAX_FED] = {token};
        for (int i = 0; i < b->active; i++) {
                sequence[i] = (EngineSequence){s->slot[i], 1, 0};
                token[i] = b->tokens[i * b->steps + b->made - 1];
        }
        for (int i = 0; s->how->fed && i < s->g->ninput; i++)
                input[i] = s->how->fed[i] ? s->how->fed[i] : (const void *)token;
        const EngineCall call = {input, &s->logits, s->size};
        return engine_batch(s->engine, sequence, b->active, &call);
}

/* All of the prompt, in one slot. */
static const char *beams_begin(EngineBeams *s, const int32_t *tokens, int64_t n)
{
        const void *input[MAX_FED] = {tokens};
        float *none = NULL;
        const char *wrong = NULL;
        for (int64_t i = 0, count; i < n && !wrong; i += count) {
                count = n - i < s->how->chunk ? n - i : s->how->chunk;
                for (int k = 0; k < s->g->ninput; k++)
                        input[k] =
                                s->how->fed && s->how->fed[k] ? s->how->fed[k] : (const void *)(tokens + i);
                const bool last = i + count == n;
                const EngineCall call = {input, last ? &s->logits : &none, s->size};
                wrong = engine_advance(s->engine, &call, count, last ? count - 1 : count);
        }
        return wrong;
}

static const char *beams_search(EngineBeams *s, const int32_t *tokens, int64_t n)
{
        const char *wrong = beams_begin(s, tokens, n);
        while (!wrong && s->step(&s->beams, s->logits, rule_out, s)) {
                if (is_interrupted(s))
                        return "interrupted";
                wrong = place_beams(s);
                wrong = wrong ? wrong : advance_beams(s);
        }
        return wrong;
}

static const char *with_room(EngineBeams *s, const int32_t *tokens, int64_t n, BeamText *best)
{
        Beams *b = &s->beams;
        void *room = malloc(beams_room(b->beam_count, b->steps));
        s->logits = malloc((size_t)(b->beam_count * b->vocab) * sizeof *s->logits);
        const char *wrong = room && s->logits ? NULL : no_memory;
        if (!wrong) {
                beams_lay(b, room);
                wrong = beams_search(s, tokens, n);
        }
        if (!wrong && b->done == 0)
                wrong = "no token is possible: every logit is -inf or NaN, or ruled out";
        best->n = wrong ? 0 : b->length[0];
        best->worth = wrong ? 0 : b->beam_worth[0];
        best->tokens = wrong ? NULL : malloc((size_t)(best->n + 1) * sizeof *best->tokens);
        if (best->tokens)
                memcpy(best->tokens, b->text, (size_t)best->n * sizeof *best->tokens);
        free(s->logits);
        free(room);
        return wrong || best->tokens ? wrong : no_memory;
}

const char *beam_search(Engine *e, const Plan *p, const int32_t *tokens, int64_t n, const Generation *how,
                        BeamText *best)
{
        const BeamOptions *o = &how->beams;
        const Graph *g = p->graph;
        const int64_t context = g->named[g->time].bound, left = context - n + 1;
        static const int64_t none[MAX_NAMED];
        EngineBeams s = {.engine = e,
                         .size = how->size ? how->size : none,
                         .g = g,
                         .how = how,
                         .tokens = {loop_tokens(g, "stop"), loop_tokens(g, "first"), loop_tokens(g, "forbid"),
                                    loop_tokens(g, "forbid_first")},
                         .beams = {.beam_count = o->beams,
                                   .vocab = row_elements(p, &g->output[0].node->type),
                                   .steps = how->steps < left ? how->steps : left,
                                   .penalty = o->length_penalty,
                                   .early_end = o->early},
                         .step = (BeamsStep *)kernel_find(p->target, "beams_step"),
                         .prompt = n};
        *best = (BeamText){0};
        s.beams.stop = s.tokens.stop;
        if (n > context)
                return arena_printf(g->arena, "the prompt has %lld tokens, but the context holds %lld",
                                    (long long)n, (long long)context);
        if (2 * (int64_t)o->beams > s.beams.vocab)
                return arena_printf(g->arena, "%d beams compare %d tokens at a time, but the model has %lld",
                                    o->beams, 2 * o->beams, (long long)s.beams.vocab);
        return s.beams.steps < 1 ? NULL : with_room(&s, tokens, n, best);
}
