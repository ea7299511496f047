/*
 * Languages of a translation: the token that marks the language of the text, among those that the tokenizer puts around it, and the first
 * token of the answer.
 *
 * Needs generation.h.
 */

/* One of FROM and TO [n]: a number below vocab, or the text of a single token.  -1: it is empty; -2: it is neither. */
static inline int32_t language_token(const char *word, int64_t n, int64_t vocab, LoopTextTokens *find, const void *of)
{
        char *end;
        int32_t token = -2;
        const long long number = strtoll(word, &end, 10);
        if (n == 0)
                return -1;
        if (end == word + n)
                return number >= 0 && number < vocab ? (int32_t)number : -2;
        if (find(of, word, n, NULL) == 1)
                find(of, word, n, &token);
        return token;
}

/* Parses TO or FROM,TO into pair: from, to; -1: not given.  Returns 0 if the list is invalid. */
static inline int languages_read(const char *list, int64_t vocab, LoopTextTokens *find, const void *of, int32_t *pair)
{
        const char *comma = strchr(list, ','), *to = comma ? comma + 1 : list;
        pair[0] = comma ? language_token(list, comma - list, vocab, find, of) : -1;
        pair[1] = language_token(to, (int64_t)strlen(to), vocab, find, of);
        return pair[0] >= -1 && pair[1] >= -1 && (pair[0] >= 0 || pair[1] >= 0);
}

/* The prescribed first tokens, with `to` in place of the first one.  Their number with the final -1 if list is NULL. */
static inline int64_t languages_begin(const int32_t *first, int32_t to, int32_t *list)
{
        int64_t n = 0;
        while (first[n] >= 0)
                n++;
        n += n == 0;
        for (int64_t i = 0; list && i <= n; i++)
                list[i] = i == 0 ? to : i == n ? -1 : first[i];
        return n + 1;
}
