/*
 * A text to pieces by tables of regexes, and each piece to tokens.
 *
 * Needs token_tables.h, token_wordpiece.h, token_unigram.h and token_bpe.h.
 */

/* --- a piece ------------------------------------------------------------------------------------------------------------- */

/* The text of a token. */
typedef struct {
        int32_t begin, end; /* bytes of the text that was encoded, at borders of characters; equal: the token has no text */
        int32_t word;       /* the piece of the token, counted from 0 */
} TokenSpan;

/* State of encoding a text. */
typedef struct {
        const TokenTables *t;
        int flags;
        int32_t *ids;
        int64_t n, room; /* number of ids, including those beyond `room` */
        const unsigned char *limit; /* end of the memory that may be read around a piece */
        int32_t *symbol;            /* scratch: symbols of a piece, then scratch of merging */
        unsigned char *bytes, *bytes_end; /* scratch for texts changed by steps */
        int first;                        /* no piece of the text has been split yet */
#if HAS_SPANS
        TokenSpan *span;           /* [room]: of each id; NULL: not wanted, and the rest is unused */
        const unsigned char *text; /* [size]: the text that is encoded */
        unsigned char *area;       /* beginning of the scratch for changed texts, up to bytes_end */
        int32_t *place;            /* position in the text of each byte of `area` that is in use */
        int64_t size;
        int32_t words;             /* number of pieces */
#endif
} TokenRun;

/* The position in the text from which a byte comes: of the text itself, or of a changed one. */
static inline int32_t token_place(const TokenRun *r, const unsigned char *p)
{
        const uintptr_t at = (uintptr_t)p - (uintptr_t)r->text;
        return at < (uintptr_t)r->size ? (int32_t)at : r->place[p - r->area];
}

/* The bytes to [n] of a changed text come from the one at p. */
static inline void token_follow(const TokenRun *r, const unsigned char *to, const unsigned char *p, uint64_t n)
{
        const int32_t place = r->span ? token_place(r, p) : 0;
        for (uint64_t i = 0; i < n && r->span; i++)
                r->place[to - r->area + (int64_t)i] = place;
}

static inline void token_put(TokenRun *r, int32_t id)
{
        if (r->n < r->room)
                r->ids[r->n] = id;
        r->n++;
}

/* Writes a piece's tokens to r->symbol, and returns their number. */
static inline int64_t token_ids_of(const TokenRun *r, const unsigned char *p, const unsigned char *end)
{
        const TokenTables *t = r->t;
        switch (t->head->model) {
        case MODEL_WORDPIECE: return token_wordpiece(t, p, end, r->symbol);
        case MODEL_WORDLEVEL: return token_wordlevel(t, p, end, r->limit, r->symbol);
        case MODEL_UNIGRAM: return token_unigram(t, p, end, r->limit, r->symbol);
        }
        int64_t n = t->count[TOKENS_SPLITS] ? token_search(t, p, end, r->symbol) : 0;
        if (n)
                return n;
        const int bytes = (t->head->flags & TOKENS_ARE_BYTES) && !t->head->nwithin && !t->head->nending;
        n = bytes ? token_spell_bytes(t, p, end, r->symbol) : token_spell(t, p, end, r->limit, r->symbol);
        return token_merge(t, r->symbol, n, 1, r->symbol + n);
}

static inline void token_cover(TokenRun *r, int64_t first, const unsigned char *p, const unsigned char *end);

static inline void token_piece(TokenRun *r, const unsigned char *p, const unsigned char *end)
{
        const TokenTables *t = r->t;
        const uint32_t flags = t->head->flags;
        int32_t whole = -1;
#if HAS_SPANS
        const int64_t first = r->n;
#endif
        if (p == end)
                return;
        if (flags & TOKENS_WHOLE_FIRST)
                whole = token_of_bytes(t, p, end - p, r->limit, TOKEN_IS_WHOLE);
        if (whole >= 0) {
                token_put(r, whole);
        } else {
                const int64_t n = token_ids_of(r, p, end);
                for (int64_t i = 0; i < n; i++)
                        token_put(r, r->symbol[i]);
        }
#if HAS_SPANS
        if (r->span)
                token_cover(r, first, p, end);
#endif
}

/* --- splitting ----------------------------------------------------------------------------------------------------------- */

static inline unsigned token_class(const TokenTables *t, const TokenRegex *x, uint32_t code)
{
        const uint16_t *stage = (const uint16_t *)token_section(t, TOKENS_STAGE);
        return t->section[TOKENS_CLASS][x->page + (uint32_t)stage[x->stage + code / TOKENS_PAGE] * TOKENS_PAGE + code % TOKENS_PAGE];
}

/* Number of ASCII letters (lower: from a to z) at the beginning of the 8 bytes at p. */
static inline int token_letters(const unsigned char *p, int lower)
{
        const uint64_t each = UINT64_C(0x0101010101010101), high = each << 7;
        uint64_t word, low;
        memcpy(&word, p, sizeof word);
        low = (lower ? word : word | each << 5) & ~high;
        uint64_t others = ~((low + each * (0x80 - 'a')) & ~(low + each * (0x7f - 'z')) & ~word) & high;
        return others ? (int)(((((others & (0 - others)) >> 7) - 1) & each) * each >> 56) : 8;
}

/* The class of the character at p, and its number of bytes. */
static inline unsigned token_class_at(const TokenTables *t, const TokenRegex *x, int over_bytes, const unsigned char *p, const unsigned char *end,
                                      int *length)
{
        uint32_t code;
        *length = 1;
        if (p == end)
                return x->classes - 1;
        if (over_bytes)
                return x->byte[*p];
        if (*p < 0x80)
                return x->ascii[*p];
        *length = token_character(p, end, &code);
        return token_class(t, x, code);
}

/* The end of the match that begins at p; NULL: none. */
static inline const unsigned char *token_match(const TokenTables *t, const TokenRegex *x, int over_bytes, const unsigned char *p,
                                               const unsigned char *end)
{
        const uint32_t *row = (const uint32_t *)token_section(t, TOKENS_ROWS) + x->rows;
        const unsigned char *best = NULL;
        uint32_t at = x->classes;
        for (;;) {
                int length;
                const unsigned class = token_class_at(t, x, over_bytes, p, end, &length);
                const uint32_t entry = row[at + class];
                if (entry & REGEX_MATCHED)
                        best = p;
                at = entry & REGEX_PLACE;
                if (!at || p >= end)
                        return best;
                p += length;
                if (!(entry & (REGEX_LETTERS | REGEX_SMALL)))
                        continue;
                const int matches = (row[at + x->ascii['a']] & REGEX_MATCHED) != 0;
                for (int n = 8; n == 8 && end - p >= 8; p += n) {
                        n = token_letters(p, !(entry & REGEX_LETTERS));
                        best = n && matches ? p + n - 1 : best;
                }
        }
}

/* The next position after p at which a match may begin, given that none begins at p: a search that reaches the state of a failed one
 * fails too. */
static inline const unsigned char *token_pass_over(const TokenTables *t, const TokenRegex *x, int over_bytes, const unsigned char *p,
                                                   const unsigned char *end)
{
        const uint32_t *row = (const uint32_t *)token_section(t, TOKENS_ROWS) + x->rows;
        int length;
        uint32_t at = row[x->classes + token_class_at(t, x, over_bytes, p, end, &length)] & REGEX_PLACE;
        for (p += length; p < end; p += length) {
                const unsigned class = token_class_at(t, x, over_bytes, p, end, &length);
                const uint32_t anew = row[x->classes + class] & REGEX_PLACE;
                if (anew && (row[at + class] & REGEX_PLACE) != anew)
                        break;
                at = anew;
        }
        return p;
}

static inline void token_step(TokenRun *r, int64_t step, const unsigned char *p, const unsigned char *end);

/* A match, or the text between two matches, held until its end is known. */
typedef struct {
        const unsigned char *begin, *end;
        int held, match;
} TokenHeld;

static inline void token_give(TokenRun *r, int64_t step, TokenHeld *h)
{
        if (h->held)
                token_step(r, step + 1, h->begin, h->end);
        h->held = 0;
}

static inline void token_stretch(TokenRun *r, int64_t step, const TokenStep *s, TokenHeld *h, const unsigned char *begin,
                                 const unsigned char *end, int match)
{
        int goes_on = 0;
        match ^= (int)(s->flags & STEP_INVERTED);
        if (s->behavior == SPLIT_REMOVED && match)
                return;
        if (s->behavior == SPLIT_CONTIGUOUS)
                goes_on = h->held && h->match == match;
        else if (s->behavior == SPLIT_WITH_PREVIOUS)
                goes_on = h->held && match && !h->match;
        else if (s->behavior == SPLIT_WITH_NEXT)
                goes_on = h->held && !match && h->match;
        if (!goes_on) {
                token_give(r, step, h);
                h->begin = begin;
        }
        h->end = end;
        h->held = 1;
        h->match = match;
}

static inline void token_split(TokenRun *r, int64_t step, const TokenStep *s, const unsigned char *p, const unsigned char *end)
{
        const TokenRegex *x = (const TokenRegex *)token_section(r->t, TOKENS_REGEX) + s->regex;
        const int over_bytes = (s->flags & STEP_OVER_BYTES) != 0, isolated = s->behavior == SPLIT_ISOLATED,
                  last = step + 1 == r->t->count[TOKENS_STEPS];
        const unsigned char *done = p;
        TokenHeld held = {NULL, NULL, 0, 0};
        while (p < end) {
                const unsigned char *after = token_match(r->t, x, over_bytes, p, end);
                if (!after) {
                        p = token_pass_over(r->t, x, over_bytes, p, end);
                        continue;
                }
                if (isolated) {
                        if (done < p)
                                token_step(r, step + 1, done, p);
                        if (last)
                                token_piece(r, p, after);
                        else
                                token_step(r, step + 1, p, after);
                } else {
                        if (done < p)
                                token_stretch(r, step, s, &held, done, p, 0);
                        token_stretch(r, step, s, &held, p, after, 1);
                }
                done = p = after;
        }
        if (isolated && done < end)
                token_step(r, step + 1, done, end);
        else if (done < end)
                token_stretch(r, step, s, &held, done, end, 0);
        token_give(r, step, &held);
}

/* Adds a space before a piece, unless it begins with one. */
static inline void token_space_before(TokenRun *r, int64_t step, const unsigned char *p, const unsigned char *end)
{
        unsigned char *begin = r->bytes;
        if (*p == ' ' || r->bytes_end - begin < end - p + 1) {
                token_step(r, step + 1, p, end);
                return;
        }
        const unsigned char *limit = r->limit;
        *begin = ' ';
        memcpy(begin + 1, p, (size_t)(end - p));
#if HAS_SPANS
        token_follow(r, begin, p, 1);
        for (int64_t i = 0; i < end - p && r->span; i++)
                token_follow(r, begin + 1 + i, p + i, 1);
#endif
        r->bytes = begin + 1 + (end - p);
        r->limit = r->bytes;
        token_step(r, step + 1, begin, r->bytes);
        r->bytes = begin;
        r->limit = limit;
}

/* Metaspace: replaces spaces by the mark, and puts it before the piece. */
static inline void token_word_mark(TokenRun *r, int64_t step, const TokenStep *s, const unsigned char *p, const unsigned char *end)
{
        const unsigned char *mark = r->t->section[TOKENS_TEXTS] + s->at, *limit = r->limit;
        unsigned char *begin = r->bytes, *to = begin;
        int front = (s->flags & STEP_ALWAYS) || ((s->flags & STEP_FIRST) && r->first);
        if ((r->bytes_end - to) / ((int64_t)s->n + 1) < end - p + 1)
                return;
        if (front && *p != ' ' && ((uint64_t)(end - p) < s->n || memcmp(p, mark, s->n))) {
#if HAS_SPANS
                token_follow(r, to, p, s->n);
#endif
                memcpy(to, mark, s->n);
                to += s->n;
        }
        for (; p < end; p++) {
#if HAS_SPANS
                token_follow(r, to, p, *p == ' ' ? s->n : 1);
#endif
                if (*p == ' ') {
                        memcpy(to, mark, s->n);
                        to += s->n;
                } else {
                        *to++ = *p;
                }
        }
        r->bytes = to;
        r->limit = to;
        token_step(r, step + 1, begin, to);
        r->bytes = begin;
        r->limit = limit;
}

static inline void token_step(TokenRun *r, int64_t step, const unsigned char *p, const unsigned char *end)
{
        const TokenStep *s = (const TokenStep *)token_section(r->t, TOKENS_STEPS) + step;
        if (p == end)
                return;
        if (step == r->t->count[TOKENS_STEPS])
                token_piece(r, p, end);
        else if (s->kind == STEP_SPLIT)
                token_split(r, step, s, p, end);
        else if (s->kind == STEP_SPACE_BEFORE)
                token_space_before(r, step, p, end);
        else
                token_word_mark(r, step, s, p, end);
}
