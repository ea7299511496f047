/*
 * The command line of an emitted model that scores passages for a query.  $model and $MODEL are its name.
 *
 * Needs main_asked.h, ranking.h and model_rank.h.
 */

/* Counts a query or passage of this number of tokens.  Returns the error, or -1 after a message about the text. */
static int rank_judge(Session *s, int is_query, int error, int64_t tokens, const char *where)
{
        const int64_t most = ranking_most(&ranking_form, is_query, s->truncate, RANK_LONGEST);
        s->count += tokens >= 0;
        if (most && tokens > most) {
                s->limit = most;
                s->cut++;
        }
        if (error != $MODEL_ERROR_RANGE)
                return error;
        if (tokens > 0)
                terminal_print(stderr, "%s: the text has %lld tokens, and the model takes at most %lld; --truncate cuts longer texts\n", where,
                        (long long)tokens, (long long)RANK_LONGEST);
        else
                terminal_print(stderr, "%s: %s\n", where,
                        tokens == RANKING_TOO_LONG     ? "the text has too many bytes for the tokenizer"
                        : tokens == RANKING_SKIPPED    ? "the setting skip leaves out all tokens of the passage"
                        : tokens == RANKING_NOT_FINITE ? "the score is NaN or infinite"
                                                       : "the text has no tokens");
        s->faults++; /* the others are still processed */
        return -1;
}

/* The vectors of a query, which are computed once.  Returns 0, an error, or -1 after a message. */
static int take_query(Session *s, const char *query, const char *where)
{
        const int64_t n = (int64_t)strlen(query);
        int64_t tokens = 0;
        if (s->taken && !strcmp(s->taken, query))
                return 0;
        free(s->taken);
        free(s->vectors);
        s->taken = NULL;
        s->vectors = malloc(sizeof(float) * (size_t)($model_rank_rows(s->m, n) * RANK_WIDTH));
        void *scratch = malloc($model_rank_scratch(s->m, n));
        int error = s->vectors && scratch ? $model_rank_query(s->m, query, n, s->truncate, s->vectors, &s->rows, &tokens, scratch) : $MODEL_ERROR_MEMORY;
        free(scratch);
        error = rank_judge(s, 1, error, tokens, where);
        if (!error && !(s->taken = strdup(query)))
                error = $MODEL_ERROR_MEMORY;
        return error;
}

static int take_asked(Session *s, const char *query, const char *passage, const char *where)
{
        const int64_t n = (int64_t)strlen(passage);
        int64_t tokens = 0;
        double score = 0;
        int error = take_query(s, query, where);
        void *scratch = error ? NULL : malloc($model_rank_scratch(s->m, n));
        if (!error) {
                error = scratch ? $model_rank(s->m, s->vectors, s->rows, passage, n, s->truncate, &score, &tokens, scratch) : $MODEL_ERROR_MEMORY;
                error = rank_judge(s, 0, error, tokens, where);
        }
        free(scratch);
        if (error)
                return error == -1 ? 0 : error;
        s->hash = hash_doubles(s->hash, &score, 1);
        terminal_print(stdout, "%8.4f  ", score);
        if (s->texts == 1)
                terminal_print(stdout, "%s\t", query);
        terminal_print(stdout, "%s\n", passage);
        return 0;
}
