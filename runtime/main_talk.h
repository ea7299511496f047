/*
 * The command line's conversation: the user's turns, each with its answer.
 *
 * Needs talk.h, main_pieces.h and main.h.
 */

/* An answer to text [n]; the cache keeps what the conversation begins with as before.  -1: there is no room for it, which has been said. */
static int answer_turn($model *m, Options *o, const char *text, int64_t n, float *logits)
{
        if (!talk_ask(&talk, text, n, CONTEXT))
                return $MODEL_ERROR_MEMORY;
        int64_t keep = talk.same < talk.n ? talk.same : talk.n - 1;
        if (keep < $model_position(m) && $model_rewind(m, keep))
                $model_reset(m);
        if (talk.dropped)
                fprintf(stderr, "the context of %d tokens is full: the oldest turns are left out, %lld of them\n", CONTEXT,
                        (long long)talk.dropped);
        if (talk.n <= CONTEXT)
                return generate(m, o, talk.ids, talk.n, logits);
        fprintf(stderr, "with this turn the conversation has %lld tokens, and the context holds %d\n", (long long)talk.n, CONTEXT);
        talk_unask(&talk);
        return -1;
}

/* All lines of standard input; what is no turn is passed over. */
static int answer_lines($model *m, Options *o, float *logits)
{
        char *line = NULL;
        size_t room = 0;
        int error = 0, asks = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
        while ((error == 0 || error == -1) && !ferror(stdout)) {
                if (asks && (fputs("> ", stdout) < 0 || fflush(stdout)))
                        break;
                ssize_t n = getline(&line, &room, stdin);
                if (n < 0)
                        break;
                n -= n > 0 && line[n - 1] == '\n';
                if (n > 0)
                        error = answer_turn(m, o, line, n, logits);
        }
        free(line);
        if (asks)
                putchar('\n');
        return error > 0 ? error : 0;
}

static int converse($model *m, Options *o, float *logits)
{
        talk.form = &talk_form;
        talk.tables = &m->tokens;
        talk.system = o->system;
        int error = o->prompt ? answer_turn(m, o, o->prompt, (int64_t)strlen(o->prompt), logits) : answer_lines(m, o, logits);
        talk_free(&talk);
        return error;
}
