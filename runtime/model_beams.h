/*
 * Beam search as a function of the model's, whose instance has a slot for each beam.  $model and $MODEL are its name.
 *
 * Needs beams.h, beam_search.h, beam_run.h, the model's functions, model_generate.h and SLOTS.
 */

static int beams_fork(void *model, int slot, int copy)
{
        return $model_fork(model, slot, copy);
}

static int beams_take(void *model, const int *slot, const int32_t *token, int n, float *logits)
{
        $model_sequence sequence[SLOTS];
        for (int i = 0; i < n; i++)
                sequence[i] = ($model_sequence){slot[i], 1, 0};
        return $model_batch(model, sequence, n, token, logits$none);
}

static int64_t beams_steps(const $model_beams *how, int64_t n)
{
        const int64_t left = CONTEXT - n + 1,
                      steps = loop_steps(&tokens_of_loop, how->steps > 0 ? how->steps : INT64_MAX);
        return steps < left ? steps : left;
}

static int beams_are_valid(const $model_beams *how, int64_t n)
{
        return how && how->beams >= 1 && how->beams <= SLOTS && 2 * (int64_t)how->beams <= VOCAB &&
               how->steps >= 0 && n >= 1 && n <= CONTEXT && how->length_penalty - how->length_penalty == 0;
}

size_t $model_beam_search_scratch(const $model_beams *how, int64_t n)
{
        if (!beams_are_valid(how, n))
                return 8;
        return beam_search_room(how->beams, beams_steps(how, n), VOCAB, n);
}

int $model_beam_search($model *m, const int32_t *tokens, int64_t n, const $model_beams *how, int32_t *text,
                       int64_t *made, double *worth, void *scratch)
{
        *made = 0;
        if (!beams_are_valid(how, n) || !tokens || !text || !scratch)
                return n > CONTEXT ? $MODEL_ERROR_CONTEXT : $MODEL_ERROR_RANGE;
        int error = $model_select(m, 0);
        const int64_t taken = $model_position(m);
        if (error || n <= taken)
                return error ? error : $MODEL_ERROR_RANGE;
        const Generator g = {.model = m, .take = generator_take, .tokens = tokens_of_loop, .chunk = CONTEXT};
        BeamSearch s = {.generator = &g,
                        .fork_slot = beams_fork,
                        .take_tokens = beams_take,
                        .search_step = beams_step,
                        .b = {.beam_count = how->beams,
                              .vocab = VOCAB,
                              .steps = beams_steps(how, n),
                              .penalty = how->length_penalty,
                              .early_end = how->early_stopping,
                              .stop = tokens_of_loop.stop}};
        beam_search_lay(&s, scratch);
        error = generation_error(beams_run(&s, tokens, n, taken));
        if (!error) {
                *made = s.b.length[0];
                memcpy(text, s.b.text, (size_t)*made * sizeof *text);
                if (worth)
                        *worth = s.b.beam_worth[0];
        }
        return error;
}
