/*
 * The normaliser: a stretch of text becomes another, change by change.
 *
 * Needs token_tables.h and token_pieces.h.
 */

/* Output of a change.  Drops text beyond its room, which can't happen with tables made by the compiler. */
typedef struct {
        unsigned char *at, *end;
#if HAS_SPANS
        const TokenRun *run;              /* NULL: positions are not followed, and the rest is unused */
        const unsigned char *from, *stop; /* the text that is changed: its own bytes are copied with their positions */
        const unsigned char *now;         /* other bytes have the position of this one */
#endif
} TokenWriter;

static inline void token_write(TokenWriter *w, const unsigned char *bytes, uint64_t n)
{
        if ((uint64_t)(w->end - w->at) < n)
                return;
        memcpy(w->at, bytes, (size_t)n);
#if HAS_SPANS
        if (w->run) {
                const int copied = (uintptr_t)bytes - (uintptr_t)w->from < (uintptr_t)(w->stop - w->from);
                for (uint64_t i = 0; i < n; i++)
                        token_follow(w->run, w->at + i, copied ? bytes + i : w->now, 1);
        }
#endif
        w->at += n;
}

/* The next bytes come from the one at p. */
static inline void token_write_from(TokenWriter *w, const unsigned char *p)
{
#if HAS_SPANS
        w->now = p;
#else
        (void)w;
        (void)p;
#endif
}

/* A character from U+0080 to U+FFFF. */
static inline void token_write_letter(TokenWriter *w, uint32_t code)
{
        const unsigned char bytes[3] = {(unsigned char)(0xe0 | code >> 12), (unsigned char)(0x80 | (code >> 6 & 0x3f)),
                                        (unsigned char)(0x80 | (code & 0x3f))};
        token_write(w, bytes, 3);
}

/* Encodes a character as UTF-8 to [4]; returns the number of bytes. */
static inline int token_spell_character(uint32_t code, unsigned char *to)
{
        if (code < 0x80) {
                to[0] = (unsigned char)code;
                return 1;
        }
        int n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        for (int i = n - 1; i > 0; i--, code >>= 6)
                to[i] = (unsigned char)(0x80 | (code & 0x3f));
        to[0] = (unsigned char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | code);
        return n;
}

static inline uint32_t token_mapped(const TokenTables *t, uint32_t map, uint32_t code)
{
        const TokenMap *m = (const TokenMap *)token_section(t, TOKENS_MAPS) + map;
        const uint16_t *stage = (const uint16_t *)token_section(t, TOKENS_MAP_STAGE);
        const uint32_t *value = (const uint32_t *)token_section(t, TOKENS_MAP_VALUES);
        return value[(m->page + stage[m->stage + code / TOKENS_PAGE]) * TOKENS_PAGE + code % TOKENS_PAGE];
}

/* --- characters ---------------------------------------------------------------------------------------------------------- */

enum {
        HANGUL_FIRST = 0xac00, HANGUL_SYLLABLES = 11172, HANGUL_L = 0x1100, HANGUL_V = 0x1161, HANGUL_T = 0x11a7,
        HANGUL_LS = 19, HANGUL_VS = 21, HANGUL_TS = 28
};

/* Writes the ASCII characters at p that map to one byte.  Returns the position after them. */
static inline const unsigned char *token_map_ascii(const TokenTables *t, const TokenChange *c, const unsigned char *p, const unsigned char *end,
                                                   TokenWriter *w)
{
        const TokenMap *m = (const TokenMap *)token_section(t, TOKENS_MAPS) + c->table;
        const uint16_t *stage = (const uint16_t *)token_section(t, TOKENS_MAP_STAGE);
        const uint32_t *value = (const uint32_t *)token_section(t, TOKENS_MAP_VALUES) + (m->page + stage[m->stage]) * (size_t)TOKENS_PAGE;
        const unsigned char *texts = t->section[TOKENS_TEXTS];
        const uint32_t ntexts = (uint32_t)t->count[TOKENS_TEXTS];
#if HAS_SPANS
        if (w->run)
                return p;
#endif
        for (; p < end && *p < TOKENS_PAGE && w->at < w->end; p++) {
                const uint32_t v = value[*p], at = (v - 1) >> MAP_BITS;
                if (v && (((v - 1) & MAP_BYTES) != 1 || at >= ntexts))
                        break;
                *w->at++ = v ? texts[at] : *p;
        }
        return p;
}

static inline void token_change_map(const TokenTables *t, const TokenChange *c, const unsigned char *p, const unsigned char *end, TokenWriter *w)
{
        uint32_t code;
        for (int length; (p = token_map_ascii(t, c, p, end, w)) < end; p += length) {
                length = token_character(p, end, &code);
                token_write_from(w, p);
                const uint32_t value = token_mapped(t, c->table, code), n = value ? (value - 1) & MAP_BYTES : 0;
                const uint32_t at = value ? (value - 1) >> MAP_BITS : 0, syllable = code - HANGUL_FIRST;
                if (value && token_texts_fit(t, at, n)) {
                        token_write(w, t->section[TOKENS_TEXTS] + at, n);
                } else if ((c->flags & MAP_HANGUL) && syllable < HANGUL_SYLLABLES) {
                        token_write_letter(w, HANGUL_L + syllable / (HANGUL_VS * HANGUL_TS));
                        token_write_letter(w, HANGUL_V + syllable % (HANGUL_VS * HANGUL_TS) / HANGUL_TS);
                        if (syllable % HANGUL_TS)
                                token_write_letter(w, HANGUL_T + syllable % HANGUL_TS);
                } else {
                        token_write(w, p, (uint64_t)length);
                }
        }
}

/* The characters of a run of combining ones, those of the lowest class first, in the order that they have within one class. */
static inline void token_order_run(const TokenTables *t, uint32_t map, const unsigned char *p, const unsigned char *end, TokenWriter *w)
{
        uint32_t code, least = 0;
        for (;;) {
                uint32_t next = UINT32_MAX;
                int length;
                for (const unsigned char *q = p; q < end; q += length) {
                        length = token_character(q, end, &code);
                        const uint32_t class = token_mapped(t, map, code);
                        if (class == least && least)
                                token_write(w, q, (uint64_t)length);
                        else if (class > least && class < next)
                                next = class;
                }
                if (next == UINT32_MAX)
                        return;
                least = next;
        }
}

static inline void token_change_order(const TokenTables *t, uint32_t map, const unsigned char *p, const unsigned char *end, TokenWriter *w)
{
        while (p < end) {
                const unsigned char *begin = p, *run;
                uint32_t code, class = 0, before = 0, disorder = 0;
                int length = 0;
                while (p < end && *p < 0x80)
                        p++;
                token_write(w, begin, (uint64_t)(p - begin));
                run = p;
                for (; p < end; p += length, before = class) {
                        length = token_character(p, end, &code);
                        class = code < 0x300 ? 0 : token_mapped(t, map, code);
                        if (!class)
                                break;
                        disorder |= class < before;
                }
                if (disorder)
                        token_order_run(t, map, run, p, w);
                else
                        token_write(w, run, (uint64_t)(p - run));
                if (p < end)
                        token_write(w, p, (uint64_t)length);
                p += p < end ? length : 0;
        }
}

/* The composition of two characters, or 0. */
static inline uint32_t token_composed(const TokenTables *t, uint32_t first, uint32_t second)
{
        const TokenComposed *pair = (const TokenComposed *)token_section(t, TOKENS_COMPOSED);
        const uint32_t syllable = first - HANGUL_FIRST;
        if (first - HANGUL_L < HANGUL_LS && second - HANGUL_V < HANGUL_VS)
                return HANGUL_FIRST + ((first - HANGUL_L) * HANGUL_VS + second - HANGUL_V) * HANGUL_TS;
        if (syllable < HANGUL_SYLLABLES && syllable % HANGUL_TS == 0 && second - HANGUL_T - 1 < HANGUL_TS - 1)
                return first + second - HANGUL_T;
        int64_t low = 0, high = t->count[TOKENS_COMPOSED];
        while (low < high) {
                const int64_t middle = low + (high - low) / 2;
                if (pair[middle].first < first || (pair[middle].first == first && pair[middle].second < second))
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < t->count[TOKENS_COMPOSED] && pair[low].first == first && pair[low].second == second ? pair[low].made : 0;
}

/* A character composes with the last one of class 0, if none between has its class or a higher one, or class 0. */
static inline void token_change_compose(const TokenTables *t, uint32_t map, const unsigned char *p, const unsigned char *end, TokenWriter *w)
{
        unsigned char *starter = NULL, bytes[4];
        uint32_t starter_code = 0, code, before = 0;
        int starter_length = 0;
        for (int length; p < end; p += length) {
                length = token_character(p, end, &code);
                const uint32_t class = code < 0x300 ? 0 : token_mapped(t, map, code);
                const int beside = starter && w->at == starter + starter_length;
                const uint32_t made = starter && code >= 0x300 && (beside || (before && before < class)) ? token_composed(t, starter_code, code) : 0;
                const int n = made ? token_spell_character(made, bytes) : 0;
                if (made && n - starter_length <= w->end - w->at) {
                        memmove(starter + n, starter + starter_length, (size_t)(w->at - starter - starter_length));
                        memcpy(starter, bytes, (size_t)n);
#if HAS_SPANS
                        if (w->run) {
                                int32_t *place = w->run->place + (starter - w->run->area);
                                memmove(place + n, place + starter_length, (size_t)(w->at - starter - starter_length) * sizeof *place);
                                for (int i = 1; i < n; i++)
                                        place[i] = place[0];
                        }
#endif
                        w->at += n - starter_length;
                        starter_length = n;
                        starter_code = made;
                        continue;
                }
                if (!class) {
                        starter = w->at;
                        starter_code = length == 1 && *p >= 0x80 ? 0 : code; /* invalid UTF-8 does not compose */
                        starter_length = length;
                }
                before = class;
                token_write(w, p, (uint64_t)length);
        }
}

/* --- texts --------------------------------------------------------------------------------------------------------------- */

static inline void token_change_texts(const TokenTables *t, const TokenChange *c, const unsigned char *p, const unsigned char *end,
                                      TokenWriter *w)
{
        const unsigned char *what = t->section[TOKENS_TEXTS] + c->at, *with = t->section[TOKENS_TEXTS] + c->to;
        while (p < end) {
                int here = c->n && (uint64_t)(end - p) >= c->n && !memcmp(p, what, c->n);
                token_write_from(w, p);
                token_write(w, here ? with : p, here ? c->to_n : 1);
                p += here ? c->n : 1;
        }
}

static inline void token_change_matches(const TokenTables *t, const TokenChange *c, const unsigned char *p, const unsigned char *end,
                                        TokenWriter *w)
{
        const TokenRegex *x = (const TokenRegex *)token_section(t, TOKENS_REGEX) + c->table;
        uint32_t code;
        while (p < end) {
                const unsigned char *after = token_match(t, x, 0, p, end);
                token_write_from(w, p);
                if (after && after > p) {
                        token_write(w, t->section[TOKENS_TEXTS] + c->to, c->to_n);
                        p = after;
                        continue;
                }
                int length = token_character(p, end, &code);
                token_write(w, p, (uint64_t)length);
                p += length;
        }
}

static inline const unsigned char *token_skip_spaces(const unsigned char *p, const unsigned char *end)
{
        uint32_t code;
        while (p < end) {
                int length = token_character(p, end, &code);
                if (!token_is_space(code))
                        break;
                p += length;
        }
        return p;
}

/* The character that ends at p; begin < p. */
static inline const unsigned char *token_step_back(const unsigned char *begin, const unsigned char *p, uint32_t *code)
{
        const unsigned char *q = p - 1;
        while (q > begin && p - q < 4 && (*q & 0xc0) == 0x80)
                q--;
        if (q + token_character(q, p, code) == p)
                return q;
        *code = 0xfffd;
        return p - 1;
}

/* Back over spaces before p, not before begin. */
static inline const unsigned char *token_skip_back(const unsigned char *begin, const unsigned char *p)
{
        while (p > begin) {
                uint32_t code;
                const unsigned char *q = token_step_back(begin, p, &code);
                if (!token_is_space(code))
                        break;
                p = q;
        }
        return p;
}

/* --- SentencePiece ------------------------------------------------------------------------------------------------------- */

/* The map's replacement of a key at p; returns the key's bytes, or 0.  longest: finds the longest key, otherwise the shortest. */
static inline int64_t token_charsmap(const TokenTables *t, const unsigned char *p, const unsigned char *end, int longest, const unsigned char **to)
{
        const uint32_t *unit = (const uint32_t *)token_section(t, TOKENS_CHARSMAP);
        const uint64_t units = (uint64_t)t->count[TOKENS_CHARSMAP];
        const unsigned char *begin = p, *found = NULL;
        if (!units)
                return 0;
        for (uint64_t at = unit[0] >> 10 << ((unit[0] & 0x200) >> 6); p < end; p++) {
                at ^= *p;
                if (at >= units || (unit[at] & 0x800000ff) != *p)
                        break;
                const uint32_t u = unit[at];
                at ^= (uint64_t)(u >> 10) << ((u & 0x200) >> 6);
                if (!(u & 0x100) || at >= units || (unit[at] & 0x7fffffff) >= (uint64_t)t->count[TOKENS_CHARSMAP_TEXTS])
                        continue;
                *to = t->section[TOKENS_CHARSMAP_TEXTS] + (unit[at] & 0x7fffffff);
                found = p + 1;
                if (!longest)
                        break;
        }
        return found ? found - begin : 0;
}

/* Classes of characters that determine the ends of graphemes; the first ones are in a map. */
enum {
        GRAPHEME_OTHER, GRAPHEME_CONTROL, GRAPHEME_EXTEND, GRAPHEME_JOINER, GRAPHEME_SPACING, GRAPHEME_PREPEND, GRAPHEME_PICTOGRAPH,
        GRAPHEME_L, GRAPHEME_V, GRAPHEME_T, GRAPHEME_LV, GRAPHEME_LVT, GRAPHEME_FLAG
};

static inline uint32_t token_grapheme_class(const TokenTables *t, uint32_t map, uint32_t code)
{
        if (code - HANGUL_FIRST < HANGUL_SYLLABLES)
                return (code - HANGUL_FIRST) % HANGUL_TS ? GRAPHEME_LVT : GRAPHEME_LV;
        if ((code >= 0x1100 && code <= 0x115f) || (code >= 0xa960 && code <= 0xa97c))
                return GRAPHEME_L;
        if ((code >= 0x1160 && code <= 0x11a7) || (code >= 0xd7b0 && code <= 0xd7c6))
                return GRAPHEME_V;
        if ((code >= 0x11a8 && code <= 0x11ff) || (code >= 0xd7cb && code <= 0xd7fb))
                return GRAPHEME_T;
        return code - 0x1f1e6 < 26 ? GRAPHEME_FLAG : token_mapped(t, map, code);
}

static inline int token_graphemes_join(uint32_t before, uint32_t class, int pictured, int flags)
{
        if (before == GRAPHEME_CONTROL || class == GRAPHEME_CONTROL)
                return 0;
        if (class == GRAPHEME_EXTEND || class == GRAPHEME_JOINER || class == GRAPHEME_SPACING || before == GRAPHEME_PREPEND)
                return 1;
        if (before == GRAPHEME_L)
                return class == GRAPHEME_L || class == GRAPHEME_V || class == GRAPHEME_LV || class == GRAPHEME_LVT;
        if (before == GRAPHEME_V || before == GRAPHEME_LV)
                return class == GRAPHEME_V || class == GRAPHEME_T;
        if (before == GRAPHEME_T || before == GRAPHEME_LVT)
                return class == GRAPHEME_T;
        if (before == GRAPHEME_JOINER)
                return pictured && class == GRAPHEME_PICTOGRAPH;
        return before == GRAPHEME_FLAG && class == GRAPHEME_FLAG && flags % 2;
}

/* The end of the grapheme that begins at p. */
static inline const unsigned char *token_grapheme(const TokenTables *t, uint32_t map, const unsigned char *p, const unsigned char *end)
{
        uint32_t code, before, class;
        int pictured, flags, first = *p == '\r';
        p += token_character(p, end, &code);
        if (first && p < end && *p == '\n')
                return p + 1;
        if (p < end && code < 0x80 && *p < 0x80)
                return p;
        before = token_grapheme_class(t, map, code);
        pictured = before == GRAPHEME_PICTOGRAPH;
        flags = before == GRAPHEME_FLAG;
        while (p < end) {
                int length = token_character(p, end, &code);
                class = token_grapheme_class(t, map, code);
                if (!token_graphemes_join(before, class, pictured, flags))
                        break;
                pictured = class == GRAPHEME_PICTOGRAPH || (pictured && (class == GRAPHEME_EXTEND || class == GRAPHEME_JOINER));
                flags += class == GRAPHEME_FLAG;
                before = class;
                p += length;
        }
        return p;
}

static inline void token_change_charsmap(const TokenTables *t, const TokenChange *c, const unsigned char *p, const unsigned char *end,
                                         TokenWriter *w)
{
        enum { SHORT = 6 }; /* bytes; a longer grapheme is mapped character by character */
        const unsigned char *to = NULL;
        uint32_t code;
        while (p < end) {
                const unsigned char *after = token_grapheme(t, c->table, p, end);
                token_write_from(w, p);
                if (after - p < SHORT && token_charsmap(t, p, after, 0, &to)) {
                        token_write(w, to, strlen((const char *)to));
                        p = after;
                        continue;
                }
                while (p < after) {
                        int length = token_character(p, after, &code);
                        token_write_from(w, p);
                        if (token_charsmap(t, p, p + length, 0, &to))
                                token_write(w, to, strlen((const char *)to));
                        else
                                token_write(w, p, (uint64_t)length);
                        p += length;
                }
        }
}

static inline const TokenAdded *token_added_at(const TokenTables *t, const unsigned char *p, const unsigned char *end, int64_t low, int64_t high);

/* The bytes that the map replaces at p, and the replacement. */
static inline int64_t token_sentencepiece_prefix(const TokenTables *t, const unsigned char *p, const unsigned char *end, const unsigned char **to,
                                          uint64_t *n)
{
        const TokenAdded *kept = t->may_begin[1][*p] ? token_added_at(t, p, end, t->head->raw_added, t->count[TOKENS_ADDED]) : NULL;
        uint32_t code;
        int64_t used = kept ? 0 : token_charsmap(t, p, end, 1, to);
        if (used) {
                *n = strlen((const char *)*to);
                return used;
        }
        used = kept ? (int64_t)kept->n : token_character(p, end, &code);
        *to = p;
        *n = (uint64_t)used;
        if (used == 1 && *p >= 0x80) {
                *to = (const unsigned char *)"\xef\xbf\xbd";
                *n = 3;
        }
        return used;
}

static inline void token_change_sentencepiece(const TokenTables *t, const TokenChange *c, const unsigned char *p, const unsigned char *end,
                                       TokenWriter *w)
{
        const unsigned char *space = (const unsigned char *)(c->flags & SENTENCEPIECE_MARKED ? "\xe2\x96\x81" : " "), *to, *begin = w->at;
        const uint64_t width = c->flags & SENTENCEPIECE_MARKED ? 3 : 1;
        const int few = (c->flags & SENTENCEPIECE_FEW_SPACES) != 0;
        uint64_t n;
        while (few && p < end) {
                int64_t used = token_sentencepiece_prefix(t, p, end, &to, &n);
                if (n != 1 || *to != ' ')
                        break;
                p += used;
        }
        if (p >= end)
                return;
        token_write_from(w, p);
        if (c->flags & SENTENCEPIECE_PREFIX)
                token_write(w, space, width);
        const int mapped = t->count[TOKENS_CHARSMAP] > 0;
        for (int spaced = few; p < end;) {
                const unsigned char *run = p;
                while (!mapped && p < end && *p > ' ' && *p < 0x80 && !t->may_begin[1][*p])
                        p++;
                if (p > run) {
                        token_write(w, run, (uint64_t)(p - run));
                        spaced = 0;
                        continue;
                }
                token_write_from(w, p);
                p += token_sentencepiece_prefix(t, p, end, &to, &n);
                for (; spaced && n && *to == ' '; n--)
                        to++;
                for (uint64_t i = 0; i < n; i++)
                        token_write(w, to[i] == ' ' ? space : to + i, to[i] == ' ' ? width : 1);
                spaced = n ? few && to[n - 1] == ' ' : spaced;
        }
        while (few && (uint64_t)(w->at - begin) >= width && !memcmp(w->at - width, space, (size_t)width))
                w->at -= width;
        if (c->flags & SENTENCEPIECE_SUFFIX)
                token_write(w, space, width);
}

/* --- one change ---------------------------------------------------------------------------------------------------------- */

static inline void token_change(const TokenTables *t, const TokenChange *c, const unsigned char *p, const unsigned char *end, TokenWriter *w)
{
        switch (c->kind) {
        case CHANGE_REPLACE: token_change_texts(t, c, p, end, w); return;
        case CHANGE_MATCHES: token_change_matches(t, c, p, end, w); return;
        case CHANGE_MAP: token_change_map(t, c, p, end, w); return;
        case CHANGE_ORDER: token_change_order(t, c->table, p, end, w); return;
        case CHANGE_COMPOSE: token_change_compose(t, c->table, p, end, w); return;
        case CHANGE_CHARSMAP: token_change_charsmap(t, c, p, end, w); return;
        case CHANGE_SENTENCEPIECE: token_change_sentencepiece(t, c, p, end, w); return;
        case CHANGE_STRIP:
                p = c->flags & STRIP_LEFT ? token_skip_spaces(p, end) : p;
                end = c->flags & STRIP_RIGHT ? token_skip_back(p, end) : end;
                break;
        case CHANGE_PREPEND:
                token_write_from(w, p);
                if (p < end)
                        token_write(w, t->section[TOKENS_TEXTS] + c->at, c->n);
                break;
        }
        token_write(w, p, (uint64_t)(end - p));
}
