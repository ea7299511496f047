/*
 * A beam search by functions of a model that has a slot for each beam: the prompt, then step after step.
 *
 * Needs beams.h and generation.h.
 */

/* Errors of the functions are above 0; the first argument of each is generator->model. */
typedef struct {
        const Generator *
                generator; /* its take() takes the prompt, in slot 0; of its other members tokens, suppress and chunk are read */
        int (*fork_slot)(void *model, int slot, int copy);
        /* Takes one token in each of n slots, in one call: logits [n, vocab] */
        int (*take_tokens)(void *model, const int *slot, const int32_t *token, int n, float *logits);
        int (*search_step)(Beams *b, float *logits, BeamRules *rule_out, void *of); /* beams_step() */
        Beams b;
        int64_t prompt; /* number of tokens of the prompt */
        float *logits;  /* [beams][vocab]; beam_search_lay() sets this pointer and those that follow */
        int *slot_of;   /* [beams]: slot of each beam */
        int *placed;    /* [beams]: scratch, slot of each beam after the step */
        int *taken;     /* [beams]: scratch, whether a beam uses the slot */
        int32_t *last;  /* [beams]: scratch, last token of each beam */
        int32_t *whole; /* [prompt + steps]: the prompt; scratch, text of a beam */
} BeamSearch;

/* Bytes of scratch for beam_search_lay(), after a prompt of n tokens. */
static inline size_t beam_search_room(int beam_count, int64_t steps, int64_t vocab, int64_t n)
{
        const size_t ints = 3 * sizeof(int) + sizeof(int32_t);
        return beams_room(beam_count, steps) + (size_t)beam_count * ((size_t)vocab * sizeof(float) + ints) +
               (size_t)(n + steps) * sizeof(int32_t);
}

/* Places the scratch of the search in `room`, aligned to 8. */
static inline void beam_search_lay(BeamSearch *s, void *room)
{
        const int beams = s->b.beam_count;
        beams_lay(&s->b, room);
        s->logits = (float *)(void *)((char *)room + beams_room(beams, s->b.steps));
        s->slot_of = (int *)(void *)(s->logits + beams * s->b.vocab);
        s->placed = s->slot_of + beams;
        s->taken = s->placed + beams;
        s->last = (int32_t *)(s->taken + beams);
        s->whole = s->last + beams;
        s->slot_of[0] = 0;
}

static inline int32_t beams_rule_out(void *of, int beam, float *logits)
{
        const BeamSearch *s = (const BeamSearch *)of;
        const Generator *g = s->generator;
        const int64_t made = s->b.made;
        memcpy(s->whole + s->prompt, s->b.tokens + beam * s->b.steps, (size_t)made * sizeof *s->whole);
        const int32_t next =
                loop_prescribes(&g->tokens, s->whole, s->prompt + made, made, s->b.steps, logits, s->b.vocab);
#if HAS_COMMAND
        if (next < 0 && g->suppress)
                loop_rule_out(g->suppress, logits, s->b.vocab);
#endif
        return next;
}

/* The first beam of each parent stays in its slot; the others take the slots of beams that have ended. */
static inline int beams_place(const BeamSearch *s)
{
        int next = 0, error = 0;
        memset(s->taken, 0, (size_t)s->b.beam_count * sizeof *s->taken);
        for (int i = 0; i < s->b.active; i++) {
                const int own = s->slot_of[s->b.parent_beam[i]];
                s->placed[i] = s->taken[own] ? -1 : own;
                s->taken[own] = 1;
        }
        for (int i = 0; i < s->b.active && !error; i++) {
                if (s->placed[i] >= 0)
                        continue;
                while (s->taken[next])
                        next++;
                s->taken[s->placed[i] = next] = 1;
                error = s->fork_slot(s->generator->model, s->slot_of[s->b.parent_beam[i]], next);
        }
        memcpy(s->slot_of, s->placed, (size_t)s->b.active * sizeof *s->placed);
        return error;
}

/* Runs the model on the last token of each beam, in one call. */
static inline int beams_advance(const BeamSearch *s)
{
        for (int i = 0; i < s->b.active; i++)
                s->last[i] = s->b.tokens[i * s->b.steps + s->b.made - 1];
        return s->take_tokens(s->generator->model, s->slot_of, s->last, s->b.active, s->logits);
}

/* Continues tokens [n].  Slot 0, the selected one, has processed the first `taken` < n of them.  Returns 0, GENERATION_NONE, or an error of
 * the functions. */
static inline int beams_run(BeamSearch *s, const int32_t *tokens, int64_t n, int64_t taken)
{
        const Generator *g = s->generator;
        Generated none = {0};
        s->prompt = n;
        memcpy(s->whole, tokens, (size_t)n * sizeof *tokens);
        int error = generation_prompt(g, tokens + taken, n - 1 - taken, &none);
        error = error ? error : g->take(g->model, tokens + n - 1, 1, s->logits);
        while (!error && s->search_step(&s->b, s->logits, beams_rule_out, s)) {
                error = beams_place(s);
                error = error ? error : beams_advance(s);
        }
        return error ? error : s->b.done ? 0 : GENERATION_NONE;
}
