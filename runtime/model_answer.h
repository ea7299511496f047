/*
 * Answers to questions, as a function of the model.  $model and $MODEL are its name.
 *
 * Needs guard.h, answers.h, the model's functions, answer_call() and answer_form.
 */

/* Argument of answer_run(). */
typedef struct {
        $model *m;
        int32_t *scratch;
} AnswerModel;

static int answer_run(void *of, const int32_t *tokens, const int32_t *types, int64_t n, float *logits)
{
        const AnswerModel *a = of;
        return answer_call(a->m, tokens, types, n, logits, a->scratch);
}

size_t $model_answer_scratch(const $model *m, int64_t nquestion, int64_t ntext)
{
        return (size_t)((answers_scratch(&m->tokens, &answer_form, nquestion, ntext) + 7) / 8 * 8) + sizeof(Answer) * ANSWERS_MOST +
               sizeof(float) * (size_t)answer_call_room(answer_form.window);
}

int $model_answer($model *m, const char *question, int64_t nquestion, const char *text, int64_t ntext, int64_t top, int may_be_absent, $model_span *found,
                  int64_t *nfound, void *scratch)
{
        AnswerForm form = answer_form;
        int error = 0;
        *nfound = 0;
        if (!question || !text || !found || !scratch || nquestion < 0 || ntext < 0 || top < 1 || top > ANSWERS_MOST)
                return $MODEL_ERROR_RANGE;
        form.may_be_absent |= may_be_absent;
        Answer *answers = (Answer *)(void *)((uint8_t *)scratch + (answers_scratch(&m->tokens, &form, nquestion, ntext) + 7) / 8 * 8);
        AnswerModel model = {m, (int32_t *)(void *)(answers + ANSWERS_MOST)};
        const FloatState outside = float_enter();
        const int64_t n = answers_find(&m->tokens, &form, question, nquestion, text, ntext, top, answer_run, &model, answers, &error, scratch);
        float_leave(outside);
        for (int64_t i = 0; i < n; i++) {
                found[i].probability = answers[i].probability;
                found[i].begin = answers[i].begin;
                found[i].end = answers[i].end;
                found[i].number = -1;
        }
        *nfound = n;
        return n == ANSWERS_CALL ? error : n < 0 ? $MODEL_ERROR_RANGE : $MODEL_OK;
}
