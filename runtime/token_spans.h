/*
 * Tokens with their places in the text: tokens_encode() also finds the bytes of the text from which each token is made.
 *
 * The normaliser and the pre-tokeniser keep the position of each byte that they write (token_pieces.h, token_normaliser.h).  A
 * piece is then divided among its tokens by the bytes that each of them matches.
 *
 * Needs tokens.h.
 */

/* The character of text [n] that has the byte at `at`: its first byte, and the one after it. */
static inline void token_character_around(const unsigned char *text, int64_t n, int64_t at, int32_t *begin, int32_t *end)
{
        uint32_t code;
        *begin = (int32_t)at;
        for (int64_t from = at; from >= 0 && at - from < 4; from--)
                if (from + token_character(text + from, text + n, &code) > at) {
                        *begin = (int32_t)from;
                        if ((text[from] & 0xc0) != 0x80)
                                break;
                }
        *end = *begin + token_character(text + *begin, text + n, &code);
}

/* Drops white space at both ends of a span, and adds the combining marks that follow it.  0: it has only white space, and is unchanged. */
static inline int token_span_trim(const unsigned char *text, int64_t n, int32_t *begin, int32_t *end)
{
        const unsigned char *from = token_skip_spaces(text + *begin, text + *end), *to = token_skip_back(from, text + *end);
        uint32_t code;
        if (from >= to)
                return 0;
        for (int length; to < text + n; to += length) {
                length = token_character(to, text + n, &code);
                if (code < 0x300 || code > 0x36f)
                        break;
        }
        *begin = (int32_t)(from - text);
        *end = (int32_t)(to - text);
        return 1;
}

/* Whether a token's bytes are at p, without its prefix within a piece or its suffix at the end; sets their number. */
static inline int token_is_at(const TokenTables *t, int32_t id, int within, const unsigned char *p, const unsigned char *end, int64_t *n)
{
        const TokenHead *head = t->head;
        const unsigned char *texts = t->section[TOKENS_TEXTS];
        uint32_t length;
        const unsigned char *bytes = token_bytes_of(t, TOKENS_OFFSET, (uint32_t)id, &length);
        if (within && length > head->nwithin && !memcmp(bytes, texts + head->within, head->nwithin)) {
                bytes += head->nwithin;
                length -= head->nwithin;
        }
        if (head->nending && length > head->nending && !memcmp(bytes + length - head->nending, texts + head->ending, head->nending))
                length -= head->nending;
        *n = length;
        if (length && length <= end - p && !memcmp(bytes, p, length))
                return 1;
        *n = 1;
        return ((const int32_t *)token_section(t, TOKENS_OF_BYTE))[*p] == id;
}

/* The end of token i of ids [n] in a piece, at p. */
static inline const unsigned char *token_end_at(const TokenTables *t, const int32_t *id, int64_t i, int64_t n, const unsigned char *p,
                                                const unsigned char *end)
{
        const unsigned char *after = p;
        uint32_t code;
        int64_t length;
        if (p == end || i + 1 == n || t->head->model == MODEL_WORDLEVEL)
                return end;
        if (t->head->model == MODEL_WORDPIECE)
                return token_longest_at(t, i ? t->head->inner : 0, p, end, &after) >= 0 ? after : end;
        if (token_is_at(t, id[i], i > 0, p, end, &length))
                return p + length;
        do /* an unknown token: a character, or those up to the next token */
                after += token_character(after, end, &code);
        while ((t->head->flags & TOKENS_FUSE_UNKNOWN) && after < end && !token_is_at(t, id[i + 1], 1, after, end, &length));
        return after;
}

/* The spans of ids from `first` on, which are those of a piece. */
static inline void token_cover(TokenRun *r, int64_t first, const unsigned char *p, const unsigned char *end)
{
        const int64_t n = r->n < r->room ? r->n - first : r->room - first;
        int32_t none;
        for (int64_t i = 0; i < n; i++) {
                const unsigned char *after = token_end_at(r->t, r->ids + first, i, r->n - first, p, end), *last = after > p ? after - 1 : p;
                TokenSpan *s = &r->span[first + i];
                last = last < end ? last : end - 1;
                token_character_around(r->text, r->size, token_place(r, p < end ? p : end - 1), &s->begin, &none);
                token_character_around(r->text, r->size, token_place(r, last), &none, &s->end);
                s->end = s->end > s->begin ? s->end : s->begin;
                token_span_trim(r->text, r->size, &s->begin, &s->end);
                s->word = r->words;
                p = after;
        }
        r->words += r->n > first;
}

/* Bytes of scratch for tokens_encode_spans(). */
static inline int64_t tokens_spans_scratch(const TokenTables *t, int64_t n)
{
        const int64_t scratch = (tokens_scratch(t, n) + 3) / 4 * 4, symbols = (tokens_grown(t, n) + 2) * TOKEN_LIST_WORDS * (int64_t)sizeof(int32_t);
        return scratch + (scratch - symbols) * (int64_t)sizeof(int32_t);
}

/* tokens_encode() with TOKENS_BARE, and the span of each id, span [room].  scratch [tokens_spans_scratch(t, n)], aligned to 4. */
static inline int64_t tokens_encode_spans(const TokenTables *t, const char *text, int64_t n, int flags, int32_t *ids, TokenSpan *span, int64_t room,
                                          void *scratch)
{
        if (n < 0 || n > tokens_most(t))
                return -1;
        TokenRun r = tokens_run(t, text, n, flags | TOKENS_BARE, ids, room, scratch);
        r.span = span;
        r.text = (const unsigned char *)text;
        r.size = n;
        r.area = r.bytes;
        r.place = (int32_t *)(void *)((unsigned char *)scratch + (tokens_scratch(t, n) + 3) / 4 * 4);
        if (n)
                token_cut(&r, 0, r.text, r.text + n, token_normalise);
        return r.n;
}

/* Number of characters of text [n]. */
static inline int64_t token_characters(const char *text, int64_t n)
{
        const unsigned char *p = (const unsigned char *)text, *end = p + n;
        int64_t characters = 0;
        uint32_t code;
        for (; p < end; characters++)
                p += token_character(p, end, &code);
        return characters;
}
