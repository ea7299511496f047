/*
 * Text to token ids and back, with tables that the compiler makes from a tokenizer.
 *
 * Added tokens are split off, the text between them is normalised and split into pieces, and each piece becomes tokens by
 * merges.  Nothing is allocated.
 *
 * Needs token_tables.h, token_pieces.h and token_normaliser.h.
 */

/* --- added tokens -------------------------------------------------------------------------------------------------------- */

/* The longest added token at p, or NULL, among entries low to high of the table, which are sorted by bytes. */
static inline const TokenAdded *token_added_at(const TokenTables *t, const unsigned char *p, const unsigned char *end, int64_t low, int64_t high)
{
        const TokenAdded *added = (const TokenAdded *)token_section(t, TOKENS_ADDED), *found = NULL;
        const unsigned char *bytes = t->section[TOKENS_ADDED_BYTES];
        for (uint32_t depth = 0; low < high && p + depth < end; depth++) {
                for (int lower = 1; lower >= 0; lower--) { /* lower bound of the byte's range, then its upper bound */
                        int64_t from = low, to = high;
                        while (from < to) {
                                int64_t middle = from + (to - from) / 2;
                                const TokenAdded *a = &added[middle];
                                int byte = a->n > depth ? bytes[a->at + depth] : -1;
                                if (byte < p[depth] || (!lower && byte == p[depth]))
                                        from = middle + 1;
                                else
                                        to = middle;
                        }
                        *(lower ? &low : &high) = from;
                }
                if (low < high && added[low].n == depth + 1) {
                        found = &added[low];
                        low++;
                }
        }
        return found;
}

/* Whether a word character is before p, or after it if begin is NULL. */
static inline int token_word_goes_on(const TokenTables *t, const unsigned char *begin, const unsigned char *p, const unsigned char *end)
{
        const TokenRegex *word = (const TokenRegex *)token_section(t, TOKENS_REGEX) + t->head->word;
        uint32_t code;
        if (begin)
                end = p, p = p > begin ? token_step_back(begin, p, &code) : p;
        return p < end && token_match(t, word, 0, p, end) != NULL;
}

/* Whether an added token found at p is plain text. */
static inline int token_is_passed_over(const TokenRun *r, const TokenAdded *a, const unsigned char *begin, const unsigned char *p,
                                       const unsigned char *end)
{
        return ((a->flags & ADDED_CONTROL) && !(r->flags & TOKENS_CONTROL)) || (a->flags & ADDED_IS_KEPT) ||
               ((a->flags & ADDED_IS_WORD) && (token_word_goes_on(r->t, begin, p, end) || token_word_goes_on(r->t, NULL, p + a->n, end)));
}

typedef void TokenBetween(TokenRun *r, const unsigned char *p, const unsigned char *end);

/* Splits a text at added tokens, and passes the text between them to `between`. */
static inline void token_cut(TokenRun *r, int normalised, const unsigned char *p, const unsigned char *end, TokenBetween *between)
{
        const TokenTables *t = r->t;
        const unsigned char *done = p, *begins = p, *may_begin = t->may_begin[normalised];
        int64_t raw = t->head->raw_added, low = normalised ? raw : 0, high = normalised ? t->count[TOKENS_ADDED] : raw;
        if (t->all_control[normalised] && !(r->flags & TOKENS_CONTROL))
                high = low;
        while (low < high && p < end) {
                const TokenAdded *found = may_begin[*p] ? token_added_at(t, p, end, low, high) : NULL;
                if (!found) {
                        p++;
                        continue;
                }
                const unsigned char *begin = p, *after = p + found->n;
                p = after;
                if (token_is_passed_over(r, found, begins, begin, end))
                        continue;
                if (found->flags & ADDED_STRIPS_LEFT)
                        begin = token_skip_back(done, begin);
                if (found->flags & ADDED_STRIPS_RIGHT)
                        after = token_skip_spaces(after, end); /* the next added token may begin within these spaces */
                if (done < begin)
                        between(r, done, begin);
                r->first = 0;
                token_put(r, found->token);
#if HAS_SPANS
                if (r->span)
                        token_cover(r, r->n - 1, begin, after);
#endif
                done = after;
        }
        if (done < end)
                between(r, done, end);
}

static inline void token_between(TokenRun *r, const unsigned char *p, const unsigned char *end)
{
        token_step(r, 0, p, end);
        r->first = 0;
}

/* --- the normaliser ------------------------------------------------------------------------------------------------------ */

/* Normalises a range of raw text, alternating between two buffers in scratch. */
static inline void token_normalise(TokenRun *r, const unsigned char *p, const unsigned char *end)
{
        const TokenChange *change = (const TokenChange *)token_section(r->t, TOKENS_CHANGES);
        const int64_t changes = r->t->count[TOKENS_CHANGES], third = (r->bytes_end - r->bytes) / 3;
        unsigned char *begin = r->bytes;
        const unsigned char *limit = r->limit;
        for (int64_t i = 0; i < changes; i++) {
                unsigned char *to = begin + i % 2 * third;
                TokenWriter w = {.at = to, .end = to + third};
#if HAS_SPANS
                w.run = r->span ? r : NULL;
                w.from = w.now = p;
                w.stop = end;
#endif
                token_change(r->t, &change[i], p, end, &w);
                p = to;
                end = w.at;
        }
        if (changes) {
                r->limit = end;
                r->bytes = begin + 2 * third;
        }
        token_cut(r, 1, p, end, token_between);
        r->bytes = begin;
        r->limit = limit;
}

/* --- encoding ------------------------------------------------------------------------------------------------------------ */

/* Maximum bytes of a normalised text of n bytes. */
static inline int64_t tokens_grown(const TokenTables *t, int64_t n)
{
        return (n + 1) * (int64_t)t->head->growth;
}

/* Maximum number of ids of a text of n bytes. */
static inline int64_t tokens_room(const TokenTables *t, int64_t n)
{
        return tokens_grown(t, n) + t->head->before + t->head->behind;
}

/* Bytes of scratch for encoding it. */
static inline int64_t tokens_scratch(const TokenTables *t, int64_t n)
{
        int64_t grown = tokens_grown(t, n), texts = t->count[TOKENS_CHANGES] + t->count[TOKENS_STEPS] ? TOKENS_MAX_STEPS + 2 : 0;
        return (grown + 2) * TOKEN_LIST_WORDS * (int64_t)sizeof(int32_t) + texts * (grown + 2);
}

/* Maximum bytes of a text that can be encoded. */
static inline int64_t tokens_most(const TokenTables *t)
{
        return TOKENS_MAX_BYTES / (int64_t)t->head->growth;
}

/* The state before text [n]; see tokens_encode(). */
static inline TokenRun tokens_run(const TokenTables *t, const char *text, int64_t n, int flags, int32_t *ids, int64_t room, void *scratch)
{
        TokenRun r;
        memset(&r, 0, sizeof r);
        r.t = t;
        r.flags = flags;
        r.ids = ids;
        r.room = room;
        r.limit = (const unsigned char *)text + n;
        r.symbol = (int32_t *)scratch;
        r.bytes = (unsigned char *)scratch + (tokens_grown(t, n) + 2) * TOKEN_LIST_WORDS * (int64_t)sizeof(int32_t);
        r.bytes_end = (unsigned char *)scratch + tokens_scratch(t, n);
        r.first = !(flags & TOKENS_GOES_ON);
        return r;
}

/* Encodes text [n], UTF-8 or not, to ids [room].  Returns their number, also if it is above room; -1: the text is longer than
 * tokens_most(t) bytes.  scratch [tokens_scratch(t, n)], aligned to 4. */
static inline int64_t tokens_encode(const TokenTables *t, const char *text, int64_t n, int flags, int32_t *ids, int64_t room, void *scratch)
{
        const unsigned char *p = (const unsigned char *)text;
        const int32_t *around = (const int32_t *)token_section(t, TOKENS_AROUND);
        if (n < 0 || n > tokens_most(t))
                return -1;
        TokenRun r = tokens_run(t, text, n, flags, ids, room, scratch);
        for (uint32_t i = 0; i < t->head->before && !(flags & TOKENS_BARE); i++)
                token_put(&r, around[i]);
        if (n)
                token_cut(&r, 0, p, p + n, token_normalise);
        for (uint32_t i = 0; i < t->head->behind && !(flags & TOKENS_BARE); i++)
                token_put(&r, around[t->head->before + i]);
        return r.n;
}

/* Truncates ids [n] from tokens_encode() without TOKENS_BARE to `most`, and keeps the tokens around the text.  Returns the
 * remaining number. */
static inline int64_t tokens_shorten(const TokenTables *t, int32_t *ids, int64_t n, int64_t most)
{
        const int64_t behind = t->head->behind, around = t->head->before + behind, left = most > around ? most : around;
        if (n <= left)
                return n;
        memmove(ids + left - behind, ids + n - behind, (size_t)behind * sizeof *ids);
        return left;
}

/* --- decoding ------------------------------------------------------------------------------------------------------------ */

/* State of decoding token by token; initialise as {0}. */
typedef struct {
        unsigned char held[TOKEN_RESIDUE]; /* beginning of an incomplete character */
        int n, begun;
} TokenDecoder;

/* Bytes of `out` for tokens_decode(). */
static inline int64_t tokens_decode_room(const TokenTables *t)
{
        int64_t longest = t->head->longest > sizeof(TokenShown) ? t->head->longest : sizeof(TokenShown);
        return longest + TOKEN_RESIDUE;
}

/* Number of bytes at the end of text [n] that begin an incomplete character. */
static inline int token_unfinished(const unsigned char *text, int64_t n)
{
        for (int back = 1; back <= TOKEN_RESIDUE && back <= n; back++) {
                unsigned char c = text[n - back];
                if ((c & 0xc0) == 0x80)
                        continue;
                int length = c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 1;
                return length > back ? back : 0;
        }
        return 0;
}

/* Writes the text that a token adds to out [tokens_decode_room(t)].  Returns its bytes.  Control tokens have no text without
 * TOKENS_CONTROL.  A character whose bytes are in several tokens is written with the last one. */
static inline int64_t tokens_decode(const TokenTables *t, TokenDecoder *d, int32_t token, int flags, char *out)
{
        const TokenShown *brief = (const TokenShown *)token_section(t, TOKENS_SHORT) + token;
        if (d->begun && !d->n && (uint32_t)token < t->head->vocab && brief->n != TOKEN_NOT_SHORT) {
                memcpy(out, brief->bytes, sizeof *brief); /* a constant size is faster than n bytes */
                return brief->n;
        }
        uint32_t n = 0;
        const int first = !d->begun && t->count[TOKENS_FIRST_OFFSET];
        const unsigned char *shown = token_bytes_of(t, first ? TOKENS_FIRST_OFFSET : TOKENS_SHOWN_OFFSET, (uint32_t)token, &n);
        if (n > t->head->longest || ((uint32_t)token < t->head->vocab && !(flags & TOKENS_CONTROL) && (t->section[TOKENS_MARKS][token] & TOKEN_CONTROL)))
                return 0;
        for (uint32_t strip = first ? 0 : t->head->strip; strip && n && !d->begun && *shown == ' '; strip--) {
                shown++;
                n--;
        }
        d->begun |= n > 0 || t->head->strip > 0;
        unsigned char *to = (unsigned char *)out;
        memcpy(to, d->held, (size_t)d->n);
        memcpy(to + d->n, shown, n);
        int64_t all = (int64_t)d->n + n;
        d->n = token_unfinished(to, all);
        if (all && to[all - 1] == ' ' && t->head->flags & TOKENS_END_IN_SPACE)
                d->n = 1;
        memcpy(d->held, to + all - d->n, (size_t)d->n);
        return all - d->n;
}

/* Finds the tokens below vocab whose text within a text is text [n].  Writes them to tokens, unless NULL.  Returns their number. */
static inline int64_t tokens_with_text(const TokenTables *t, int64_t vocab, const char *text, int64_t n, int32_t *tokens)
{
        int64_t found = 0;
        for (uint32_t token = 0; token < t->head->vocab && token < vocab; token++) {
                uint32_t length = 0;
                const unsigned char *shown = token_bytes_of(t, TOKENS_SHOWN_OFFSET, token, &length);
                if (length != n || memcmp(shown, text, length) != 0)
                        continue;
                if (tokens)
                        tokens[found] = (int32_t)token;
                found++;
        }
        return found;
}

/* Writes the bytes that are still held at the end of the text to out [TOKEN_RESIDUE]. */
static inline int64_t tokens_decode_end(TokenDecoder *d, char *out)
{
        int64_t n = d->held[0] == ' ' ? 0 : d->n; /* a held space, which is dropped; no incomplete character begins with one */
        memcpy(out, d->held, (size_t)n);
        d->n = d->begun = 0;
        return n;
}
