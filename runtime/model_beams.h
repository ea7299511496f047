/*
 * Beam search as a function of the model's, whose instance has a slot for each beam.  $model and $MODEL stand for its name.
 *
 * Needs beams.h, beam_search.h, the model's functions, model_generate.h and SLOTS.
 */

typedef struct {
        $model *m;
        Beams b;
        float *logits; /* [beams][VOCAB] */
        int64_t prompt;
        int slot_of[SLOTS]; /* of each beam */
} BeamSearch;

static int32_t beams_rule_out(void *of, float *logits)
{
        const BeamSearch *s = of;
        return loop_prescribes(&tokens_of_loop, s->prompt + s->b.made, s->b.made, logits, VOCAB);
}

/* The first beam of each parent stays in its slot; the others take slots whose beam goes no further. */
static int beams_place(BeamSearch *s)
{
        int placed[SLOTS] = {0}, taken[SLOTS] = {0}, next = 0, error = 0;
        for (int i = 0; i < s->b.active; i++) {
                const int own = s->slot_of[s->b.parent_beam[i]];
                placed[i] = taken[own] ? -1 : own;
                taken[own] = 1;
        }
        for (int i = 0; i < s->b.active && !error; i++) {
                if (placed[i] >= 0)
                        continue;
                while (taken[next])
                        next++;
                taken[placed[i] = next] = 1;
                error = $model_fork(s->m, s->slot_of[s->b.parent_beam[i]], next);
        }
        memcpy(s->slot_of, placed, sizeof placed);
        return error;
}

/* The last token of each beam is taken, all in one call. */
static int beams_advance(BeamSearch *s)
{
        $model_sequence sequence[SLOTS];
        int32_t token[SLOTS];
        for (int i = 0; i < s->b.active; i++) {
                sequence[i] = ($model_sequence){s->slot_of[i], 1, 0};
                token[i] = s->b.tokens[i * s->b.steps + s->b.made - 1];
        }
        return $model_batch(s->m, sequence, s->b.active, token, s->logits);
}

static int64_t beams_steps(const $model_beams *how, int64_t n)
{
        const int64_t left = CONTEXT - n + 1;
        return how->steps > 0 && how->steps < left ? how->steps : left;
}

static int beams_are_valid(const $model_beams *how, int64_t n)
{
        return how && how->beams >= 1 && how->beams <= SLOTS && 2 * (int64_t)how->beams <= VOCAB && how->steps >= 0 && n >= 1 && n <= CONTEXT &&
               how->length_penalty - how->length_penalty == 0;
}

size_t $model_beam_search_scratch(const $model_beams *how, int64_t n)
{
        if (!beams_are_valid(how, n))
                return 8;
        return beams_room(how->beams, beams_steps(how, n)) + 8 + (size_t)how->beams * VOCAB * sizeof(float);
}

int $model_beam_search($model *m, const int32_t *tokens, int64_t n, const $model_beams *how, int32_t *text, int64_t *made, double *worth,
                       void *scratch)
{
        *made = 0;
        if (!beams_are_valid(how, n) || !tokens || !text || !scratch)
                return n > CONTEXT ? $MODEL_ERROR_CONTEXT : $MODEL_ERROR_RANGE;
        int error = $model_select(m, 0);
        const int64_t taken = $model_position(m), all = (int64_t)(beams_room(how->beams, beams_steps(how, n)) + 7) / 8 * 8;
        if (error || n <= taken)
                return error ? error : $MODEL_ERROR_RANGE;
        BeamSearch s = {.m = m,
                        .b = {.beam_count = how->beams,
                              .vocab = VOCAB,
                              .steps = beams_steps(how, n),
                              .penalty = how->length_penalty,
                              .early_end = how->early_stopping,
                              .stop = tokens_of_loop.stop},
                        .prompt = n};
        s.logits = (float *)(void *)((char *)scratch + all);
        beams_lay(&s.b, scratch);
        error = n - 1 == taken ? error : $model_prefill(m, tokens + taken, n - 1 - taken);
        error = error ? error : $model_step(m, tokens[n - 1], s.logits$taps);
        while (!error && beams_step(&s.b, s.logits, beams_rule_out, &s)) {
                error = beams_place(&s);
                error = error ? error : beams_advance(&s);
        }
        if (!error && s.b.done) {
                *made = s.b.length[0];
                memcpy(text, s.b.text, (size_t)*made * sizeof *text);
                if (worth)
                        *worth = s.b.beam_worth[0];
        }
        return error ? error : s.b.done ? $MODEL_OK : $MODEL_ERROR_RULE;
}
