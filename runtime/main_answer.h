/*
 * The command line of an emitted model that answers questions about texts.  $model and $MODEL are its name.
 *
 * Needs main_asked.h and model_answer.h.
 */

static const char *answer_fault_text(int64_t fault)
{
        switch (fault) {
        case ANSWERS_NO_TEMPLATE: return "the question and the text are a pair, and the tokenizer has no template for pairs";
        case ANSWERS_TOO_LONG: return "the text has too many bytes for the tokenizer";
        case ANSWERS_NO_QUESTION: return "the question has no tokens";
        case ANSWERS_NO_TEXT: return "the text has no tokens";
        case ANSWERS_LONG_QUESTION: return "the question has too many tokens";
        }
        return "a logit is NaN or infinite";
}

/* Prints answers [n], a line each. */
static void print_answers(const Session *s, const char *question, const char *text, const $model_span *found, int64_t n)
{
        if (s->texts > 2 || !strcmp(s->text[s->texts - 1], "-"))
                terminal_print(stdout, "%s\t%s\n", question, text);
        for (int64_t i = 0; i < n; i++) {
                terminal_print(stdout, "%8.4f  ", found[i].probability);
                if (found[i].begin == found[i].end)
                        terminal_print(stdout, "(no answer)");
                else
                        terminal_write(stdout, text + found[i].begin, (size_t)(found[i].end - found[i].begin));
                terminal_end(stdout);
                terminal_print(stdout, "\n");
        }
}

static int take_asked(Session *s, const char *question, const char *text, const char *where)
{
        $model_span found[ANSWERS_MOST];
        int64_t n = 0;
        const int64_t nquestion = (int64_t)strlen(question), ntext = (int64_t)strlen(text);
        void *scratch = malloc($model_answer_scratch(s->m, nquestion, ntext));
        const int error = scratch ? $model_answer(s->m, question, nquestion, text, ntext, s->top, s->may_be_absent, found, &n, scratch)
                                  : $MODEL_ERROR_MEMORY;
        free(scratch);
        if (!error) {
                print_answers(s, question, text, found, n);
                for (int64_t i = 0; i < n; i++)
                        s->hash = hash_doubles(s->hash, &found[i].probability, 1);
        }
        if (n >= 0 || n == ANSWERS_CALL)
                return error;
        terminal_print(stderr, "%s: %s\n", where, answer_fault_text(n));
        s->faults++; /* the others are still processed */
        return 0;
}
