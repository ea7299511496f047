/*
 * Scores of passages for a query, by the vectors of their tokens (Khattab and Zaharia 2020, "ColBERT").
 *
 * Needs tokens.h.
 */

/* How queries and passages become tokens, and which of them count. */
typedef struct {
        const char *query_prompt, *passage_prompt; /* before the text */
        int32_t query_token, passage_token;        /* after the first token; -1: none */
        int64_t query_tokens, max_tokens;          /* longer queries and passages are cut; 0: never */
        int32_t expand;                            /* fills shorter queries to `expand_to` tokens; -1: none */
        int64_t expand_to;
        const int32_t *skip; /* [skips]: tokens of passages that do not count */
        int64_t skips;
        int averages; /* the score is divided by the number of the query's tokens */
} RankForm;

/* Bytes of a query or passage with its prompt. */
static inline int64_t ranking_bytes(const RankForm *f, int is_query, int64_t n)
{
        return n + (int64_t)strlen(is_query ? f->query_prompt : f->passage_prompt);
}

/* Maximum number of ids of a query or passage. */
static inline int64_t ranking_room(const TokenTables *t, const RankForm *f, int is_query, int64_t n)
{
        const int64_t room = tokens_room(t, ranking_bytes(f, is_query, n)) + 1;
        return is_query && f->expand_to > room ? f->expand_to : room;
}

/* Bytes of scratch for ranking_encode(). */
static inline int64_t ranking_scratch(const TokenTables *t, const RankForm *f, int is_query, int64_t n)
{
        const int64_t bytes = ranking_bytes(f, is_query, n);
        return tokens_scratch(t, bytes) + bytes;
}

/* Encodes a query or passage, text [n], to ids [ranking_room()], of which at most `most` remain (0: all).  Returns their number; -1: the text
 * is too long.  *all: their number without cutting; *real: without the tokens that fill a query.  scratch [ranking_scratch()], aligned
 * to 4. */
static inline int64_t ranking_encode(const TokenTables *t, const RankForm *f, int is_query, const char *text, int64_t n, int64_t most, int32_t *ids,
                                     int64_t *all, int64_t *real, void *scratch)
{
        const char *prompt = is_query ? f->query_prompt : f->passage_prompt;
        const int32_t marker = is_query ? f->query_token : f->passage_token;
        const int64_t bytes = ranking_bytes(f, is_query, n), before = bytes - n;
        char *whole = (char *)scratch + tokens_scratch(t, bytes);
        const int64_t marked = marker >= 0;
        if (bytes > tokens_most(t))
                return -1;
        if (before)
                memcpy(whole, prompt, (size_t)before);
        if (n)
                memcpy(whole + before, text, (size_t)n);
        int64_t count = tokens_encode(t, whole, bytes, 0, ids, tokens_room(t, bytes), scratch);
        *all = count + marked;
        if (most > 0 && *all > most)
                count = tokens_shorten(t, ids, count, most - marked);
        if (marked) {
                const int64_t at = count ? 1 : 0;
                memmove(ids + at + 1, ids + at, (size_t)(count - at) * sizeof *ids);
                ids[at] = marker;
                count++;
        }
        *real = count;
        for (; is_query && f->expand >= 0 && count < f->expand_to; count++)
                ids[count] = f->expand;
        return count;
}

/* Whether a token of a passage counts. */
static inline int ranking_counts(const RankForm *f, int32_t token)
{
        for (int64_t i = 0; i < f->skips; i++)
                if (f->skip[i] == token)
                        return 0;
        return 1;
}

/* The sum over the vectors of a query [queries][width] of the largest product with a vector of a passage, [passages][width], whose tokens are
 * ids.  Returns 0 if no token of the passage counts. */
static inline int ranking_score(const RankForm *f, int64_t width, const float *query, int64_t queries, const float *passage, const int32_t *ids,
                                int64_t passages, double *score)
{
        double sum = 0;
        for (int64_t i = 0; i < queries; i++) {
                double best = 0;
                int any = 0;
                for (int64_t k = 0; k < passages; k++) {
                        if (!ranking_counts(f, ids[k]))
                                continue;
                        double product = 0;
                        for (int64_t c = 0; c < width; c++)
                                product += (double)query[i * width + c] * (double)passage[k * width + c];
                        if (!any || product > best)
                                best = product;
                        any = 1;
                }
                if (!any)
                        return 0;
                sum += best;
        }
        *score = f->averages && queries ? sum / (double)queries : sum;
        return 1;
}

/* Length to which a query or passage is cut: that of the form, or with truncate the longest text of the model (0: any length); 0: never. */
static inline int64_t ranking_most(const RankForm *f, int is_query, int truncate, int64_t longest)
{
        const int64_t stated = is_query ? f->query_tokens : f->max_tokens;
        return stated ? stated : truncate ? longest : 0;
}

/* Values of the input that hides the tokens of expand: 1 for the first `real` of n tokens, 0 for the others. */
static inline void ranking_see(int32_t *seen, int64_t n, int64_t real)
{
        for (int64_t i = 0; i < n; i++)
                seen[i] = i < real;
}

/* Why a passage has no score, in place of the number of its tokens. */
enum { RANKING_TOO_LONG = -1, RANKING_SKIPPED = -2, RANKING_NOT_FINITE = -3 };
