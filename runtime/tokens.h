/*
 * Text to token ids and back, by tables that the compiler made of a tokenizer.
 *
 * Added tokens are cut out, what lies between them is normalised and split into pieces by tables of regexes,
 * and each piece becomes tokens by merges.  The tables are one block of memory without pointers, so that a file of them
 * may be mapped.  Nothing is allocated; ids and places are bounded in every look-up.
 */
#include <stdint.h>
#include <string.h>

/* What the block holds, by place in its head. */
enum {
        TOKENS_OFFSET,       /* uint32 [vocab + 1]: of token i in TOKENS_BYTES */
        TOKENS_BYTES,        /* what a piece has where it is this token */
        TOKENS_SHOWN_OFFSET, /* uint32 [vocab + 1]: of token i in TOKENS_SHOWN */
        TOKENS_SHOWN,        /* what decoding gives */
        TOKENS_MARKS,        /* uint8 [vocab] */
        TOKENS_WHOLE,        /* TokenSlot [a power of two]: from bytes to a token */
        TOKENS_PAIRS,        /* TokenPair [a power of two]: from two neighbours to what they become */
        TOKENS_OF_BYTE,      /* int32 [256]: a single byte's token, or -1 */
        TOKENS_ADDED,        /* TokenAdded, in order of their bytes: those of raw text, then those of normalised text */
        TOKENS_ADDED_BYTES,
        TOKENS_STEPS,   /* TokenStep: the pre-tokeniser */
        TOKENS_REGEX,   /* TokenRegex */
        TOKENS_ROWS,    /* uint32: the rows of all regexes */
        TOKENS_STAGE,   /* uint16: pages of TOKENS_CLASS, TOKENS_PAGES for each regex */
        TOKENS_CLASS,   /* uint8: classes of characters, by pages */
        TOKENS_CHANGES, /* TokenChange: the normaliser */
        TOKENS_TEXTS,   /* bytes that steps and changes name */
        TOKENS_AROUND,  /* int32: ids before a text, then those behind it */
        TOKENS_SECTIONS
};

enum {
        TOKENS_VERSION = 1,
        TOKENS_PAGE = 128,
        TOKENS_PAGES = 0x110000 / TOKENS_PAGE,
        TOKENS_MOST = 1 << 28, /* bytes of a normalised text */
        TOKENS_STEPS_MOST = 16,
        TOKENS_FEW = 24, /* symbols that are merged by looking at all of them */
        TOKEN_CONTROL = 1, /* of TOKENS_MARKS: a special token */
        TOKEN_RESIDUE = 3  /* bytes of an unfinished character that decoding holds back */
};

/* The block begins with this. */
typedef struct {
        char name[8]; /* "tokens 1" */
        uint32_t size, vocab, unknown, longest;
        uint32_t flags, before, behind, raw_added, growth, strip;
        struct {
                uint32_t at, size; /* bytes */
        } section[TOKENS_SECTIONS];
} TokenHead;

/* TokenHead.flags */
enum {
        TOKENS_ARE_BYTES = 1,     /* byte-level: a symbol is a byte, else a character */
        TOKENS_HAVE_UNKNOWN = 2,  /* else what has no token is left out */
        TOKENS_FUSE_UNKNOWN = 4,  /* neighbours that are unknown are one */
        TOKENS_HAVE_BYTES = 8,    /* byte_fallback: what is unknown becomes its bytes */
        TOKENS_WHOLE_FIRST = 16   /* a piece that stands in TOKENS_WHOLE with its mark is that token */
};

enum { TOKEN_IS_WHOLE = 1 }; /* TokenSlot.whole: merges make it of its bytes, or need not */

typedef struct {
        uint64_t word;     /* the first 8 bytes, zeros behind them */
        uint32_t token;    /* UINT32_MAX: the slot is free */
        uint32_t n_whole;  /* 2 * bytes + TOKEN_IS_WHOLE */
} TokenSlot;

typedef struct {
        uint32_t left, right; /* UINT32_MAX: the slot is free */
        uint32_t rank, made;
} TokenPair;

typedef struct {
        uint32_t at, n; /* in TOKENS_ADDED_BYTES */
        int32_t token;
        uint32_t flags;
} TokenAdded;

enum { ADDED_CONTROL = 1, ADDED_STRIPS_LEFT = 2, ADDED_STRIPS_RIGHT = 4 };

typedef struct {
        uint32_t kind, regex, behavior, flags;
        uint32_t at, n; /* in TOKENS_TEXTS */
} TokenStep;

enum { STEP_SPLIT, STEP_SPACE_BEFORE, STEP_WORD_MARK };

enum { SPLIT_ISOLATED, SPLIT_REMOVED, SPLIT_CONTIGUOUS, SPLIT_WITH_PREVIOUS, SPLIT_WITH_NEXT }; /* behavior */

enum {
        STEP_INVERTED = 1,    /* what lies between matches is the match */
        STEP_OVER_BYTES = 2,  /* the regex sees each byte as a letter, as behind ByteLevel */
        STEP_ALWAYS = 4,      /* STEP_WORD_MARK: in front of each piece that lacks it; */
        STEP_FIRST = 8        /* in front of the text's first */
};

/* A row for each state, an entry for each class and for the end: the row that comes next, and whether a match ends before this
 * character.  Row 0 is the end of the search, row `classes` the beginning. */
typedef struct {
        uint32_t rows, entries, classes; /* where its rows begin, how many entries they have; classes with the end */
        uint32_t stage, pages;           /* where its pages' numbers begin; how many pages there are */
        uint32_t page;                   /* where they begin in TOKENS_CLASS */
        uint8_t ascii[128], byte[256];   /* classes of ASCII, and of bytes as letters */
} TokenRegex;

enum { REGEX_MATCHED = 0x40000000 };

typedef struct {
        uint32_t kind, at, n, to, to_n; /* in TOKENS_TEXTS */
} TokenChange;

enum { CHANGE_REPLACE, CHANGE_PREPEND };

typedef struct {
        const TokenHead *head;
        const unsigned char *section[TOKENS_SECTIONS];
        int64_t count[TOKENS_SECTIONS]; /* elements */
        unsigned char may_begin[2][256]; /* first bytes of added tokens: of raw text, of normalised text */
} TokenTables;

/* Flags of encoding. */
enum {
        TOKENS_CONTROL = 1, /* texts of control tokens become these tokens */
        TOKENS_BARE = 2     /* nothing is put before or behind the text */
};

static inline const void *token_section(const TokenTables *t, int which)
{
        return t->section[which];
}

/* The bytes of an element of each section. */
static inline uint32_t token_element(int which)
{
        static const unsigned char size[TOKENS_SECTIONS] = {
                [TOKENS_OFFSET] = 4, [TOKENS_SHOWN_OFFSET] = 4, [TOKENS_WHOLE] = sizeof(TokenSlot), [TOKENS_PAIRS] = sizeof(TokenPair),
                [TOKENS_OF_BYTE] = 4, [TOKENS_ADDED] = sizeof(TokenAdded), [TOKENS_STEPS] = sizeof(TokenStep), [TOKENS_ROWS] = 4,
                [TOKENS_STAGE] = 2, [TOKENS_CHANGES] = sizeof(TokenChange), [TOKENS_AROUND] = 4};
        return which == TOKENS_REGEX ? (uint32_t)sizeof(TokenRegex) : size[which] ? size[which] : 1;
}

static inline int token_is_power(int64_t n)
{
        return n > 0 && (n & (n - 1)) == 0;
}

/* A regex that leads nowhere outside of its rows. */
static inline int token_regex_fits(const TokenTables *t, const TokenRegex *r)
{
        const uint32_t *row = (const uint32_t *)token_section(t, TOKENS_ROWS);
        const uint16_t *stage = (const uint16_t *)token_section(t, TOKENS_STAGE);
        const unsigned char *class = t->section[TOKENS_CLASS];
        if (r->classes < 2 || r->entries < 2 * r->classes || r->entries % r->classes || (int64_t)r->rows + r->entries > t->count[TOKENS_ROWS] ||
            (int64_t)r->stage + TOKENS_PAGES > t->count[TOKENS_STAGE] ||
            (int64_t)r->page + (int64_t)r->pages * TOKENS_PAGE > t->count[TOKENS_CLASS])
                return 0;
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < r->entries; i++)
                wrong |= (row[r->rows + i] & (REGEX_MATCHED - 1)) > r->entries - r->classes;
        for (uint32_t i = 0; i < TOKENS_PAGES; i++)
                wrong |= stage[r->stage + i] >= r->pages;
        for (uint32_t i = 0; i < r->pages * TOKENS_PAGE; i++)
                wrong |= class[r->page + i] + 1u >= r->classes;
        for (int i = 0; i < 256; i++)
                wrong |= r->byte[i] + 1u >= r->classes || r->ascii[i & 127] + 1u >= r->classes;
        return !wrong;
}

static inline int token_texts_fit(const TokenTables *t, uint32_t at, uint32_t n)
{
        return (int64_t)at + n <= t->count[TOKENS_TEXTS];
}

static inline int token_steps_fit(const TokenTables *t)
{
        const TokenStep *step = (const TokenStep *)token_section(t, TOKENS_STEPS);
        const TokenRegex *regex = (const TokenRegex *)token_section(t, TOKENS_REGEX);
        const TokenChange *change = (const TokenChange *)token_section(t, TOKENS_CHANGES);
        const TokenAdded *added = (const TokenAdded *)token_section(t, TOKENS_ADDED);
        if (t->count[TOKENS_STEPS] > TOKENS_STEPS_MOST)
                return 0;
        for (int64_t i = 0; i < t->count[TOKENS_REGEX]; i++)
                if (!token_regex_fits(t, &regex[i]))
                        return 0;
        for (int64_t i = 0; i < t->count[TOKENS_STEPS]; i++)
                if ((step[i].kind == STEP_SPLIT && step[i].regex >= t->count[TOKENS_REGEX]) || !token_texts_fit(t, step[i].at, step[i].n))
                        return 0;
        for (int64_t i = 0; i < t->count[TOKENS_CHANGES]; i++)
                if (!token_texts_fit(t, change[i].at, change[i].n) || !token_texts_fit(t, change[i].to, change[i].to_n))
                        return 0;
        for (int64_t i = 0; i < t->count[TOKENS_ADDED]; i++)
                if ((int64_t)added[i].at + added[i].n > t->count[TOKENS_ADDED_BYTES] || !added[i].n || added[i].token < 0 ||
                    (uint32_t)added[i].token >= t->head->vocab)
                        return 0;
        return 1;
}

/* Tables of a block [size], aligned to 8 bytes; 0 if it is none. */
static inline int tokens_open(TokenTables *t, const void *block, uint64_t size)
{
        const TokenHead *head = (const TokenHead *)block;
        memset(t, 0, sizeof *t);
        if (size < sizeof *head || memcmp(head->name, "tokens 1", 8) || head->size > size)
                return 0;
        t->head = head;
        for (int i = 0; i < TOKENS_SECTIONS; i++) {
                uint32_t at = head->section[i].at, n = head->section[i].size;
                if (at % 8 || at > head->size || n > head->size - at || n % token_element(i))
                        return 0;
                t->section[i] = (const unsigned char *)block + at;
                t->count[i] = n / token_element(i);
        }
        int64_t vocab = head->vocab;
        if (vocab < 1 || vocab > INT32_MAX - 1 || t->count[TOKENS_OFFSET] != vocab + 1 || t->count[TOKENS_SHOWN_OFFSET] != vocab + 1 ||
            t->count[TOKENS_MARKS] != vocab || !token_is_power(t->count[TOKENS_WHOLE]) || !token_is_power(t->count[TOKENS_PAIRS]) ||
            t->count[TOKENS_OF_BYTE] != 256 || head->unknown >= head->vocab || head->raw_added > t->count[TOKENS_ADDED] || head->growth < 1 ||
            head->growth > 64 || (int64_t)head->before + head->behind != t->count[TOKENS_AROUND] || !token_steps_fit(t))
                return 0;
        const TokenAdded *added = (const TokenAdded *)token_section(t, TOKENS_ADDED);
        for (int64_t i = 0; i < t->count[TOKENS_ADDED]; i++)
                t->may_begin[i >= head->raw_added][t->section[TOKENS_ADDED_BYTES][added[i].at]] = 1;
        return 1;
}

/* --- characters and look-ups ------------------------------------------------------------------------------------------- */

/* The bytes of the character at p, before end; one that is not UTF-8 is U+FFFD of one byte. */
static inline int token_character(const unsigned char *p, const unsigned char *end, uint32_t *code)
{
        static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
        int n = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;
        uint32_t c = n == 1 ? *p : n ? *p & (0x7fu >> n) : 0xfffd;
        for (int i = 1; i < n; i++) {
                if (end - p <= i || (p[i] & 0xc0) != 0x80) {
                        n = 0;
                        break;
                }
                c = c << 6 | (p[i] & 0x3fu);
        }
        if (n && (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)))
                n = 0;
        *code = n ? c : 0xfffd;
        return n ? n : 1;
}

/* White space of Unicode. */
static inline int token_is_space(uint32_t c)
{
        return c == ' ' || (c >= 9 && c <= 13) || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
               c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* Up to 8 bytes as a number; those up to `limit` may be read. */
static inline uint64_t token_word(const unsigned char *p, int64_t n, const unsigned char *limit)
{
        uint64_t word = 0;
        if (limit - p < 8) {
                for (int64_t i = 0; i < n && i < 8; i++)
                        word |= (uint64_t)p[i] << 8 * i;
                return word;
        }
        memcpy(&word, p, 8);
        return n < 8 ? word & ((UINT64_C(1) << 8 * n) - 1) : word;
}

static inline uint64_t token_mix(uint64_t h)
{
        h *= UINT64_C(0x9e3779b97f4a7c15);
        return h ^ h >> 32;
}

static inline uint64_t token_hash(uint64_t word, const unsigned char *p, int64_t n)
{
        uint64_t h = token_mix(word ^ (uint64_t)n << 56);
        for (int64_t i = 8; i < n; i += 8)
                h = token_mix(h ^ token_word(p + i, n - i, p + n));
        return h;
}

/* Bytes of a token; n is 0 for what the table lacks. */
static inline const unsigned char *token_bytes_of(const TokenTables *t, int offsets, uint32_t token, uint32_t *n)
{
        const uint32_t *offset = (const uint32_t *)token_section(t, offsets);
        *n = 0;
        if (token >= t->head->vocab || offset[token] > offset[token + 1] || offset[token + 1] > t->count[offsets + 1])
                return t->section[offsets + 1];
        *n = offset[token + 1] - offset[token];
        return t->section[offsets + 1] + offset[token];
}

/* The token of bytes [n], or -1.  whole: only one that a piece becomes at once. */
static inline int32_t token_of_bytes(const TokenTables *t, const unsigned char *p, int64_t n, const unsigned char *limit, int whole)
{
        const TokenSlot *slot = (const TokenSlot *)token_section(t, TOKENS_WHOLE);
        uint64_t word = token_word(p, n, limit), h = token_hash(word, p, n), mask = (uint64_t)t->count[TOKENS_WHOLE] - 1;
        for (uint64_t tries = 0; tries <= mask; tries++) {
                const TokenSlot *s = &slot[(h + tries) & mask];
                if (s->token == UINT32_MAX)
                        return -1;
                if (s->word != word || s->n_whole >> 1 != (uint64_t)n)
                        continue;
                uint32_t length;
                const unsigned char *bytes = token_bytes_of(t, TOKENS_OFFSET, s->token, &length);
                if (n > 8 && (length != (uint64_t)n || memcmp(bytes + 8, p + 8, (size_t)n - 8)))
                        continue;
                if (s->token >= t->head->vocab || (whole && !(s->n_whole & TOKEN_IS_WHOLE)))
                        return -1;
                return (int32_t)s->token;
        }
        return -1;
}

/* What two neighbours become: its rank, UINT32_MAX if nothing, and *made. */
static inline uint32_t token_of_pair(const TokenTables *t, int32_t left, int32_t right, int32_t *made)
{
        const TokenPair *slot = (const TokenPair *)token_section(t, TOKENS_PAIRS);
        uint64_t h = token_mix((uint64_t)(uint32_t)left << 32 | (uint32_t)right), mask = (uint64_t)t->count[TOKENS_PAIRS] - 1;
        *made = -1;
        for (uint64_t tries = 0; tries <= mask; tries++) {
                const TokenPair *s = &slot[(h + tries) & mask];
                if (s->left == UINT32_MAX)
                        return UINT32_MAX;
                if (s->left != (uint32_t)left || s->right != (uint32_t)right)
                        continue;
                if (s->made >= t->head->vocab)
                        return UINT32_MAX;
                *made = (int32_t)s->made;
                return s->rank;
        }
        return UINT32_MAX;
}

/* --- merges -------------------------------------------------------------------------------------------------------------- */

/* Few symbols: the least rank, the leftmost of equals, is looked for each time.  Returns how many are left, at the front. */
static inline int64_t token_merge_few(const TokenTables *t, int32_t *symbol, int64_t n)
{
        uint32_t rank[TOKENS_FEW];
        int32_t made[TOKENS_FEW];
        for (int64_t i = 0; i + 1 < n; i++)
                rank[i] = token_of_pair(t, symbol[i], symbol[i + 1], &made[i]);
        while (n > 1) {
                int64_t best = 0;
                for (int64_t i = 1; i + 1 < n; i++)
                        best = rank[i] < rank[best] ? i : best;
                if (rank[best] == UINT32_MAX)
                        break;
                symbol[best] = made[best];
                n--;
                for (int64_t i = best + 1; i < n; i++) {
                        symbol[i] = symbol[i + 1];
                        rank[i] = rank[i + 1];
                        made[i] = made[i + 1];
                }
                if (best + 1 < n)
                        rank[best] = token_of_pair(t, symbol[best], symbol[best + 1], &made[best]);
                if (best)
                        rank[best - 1] = token_of_pair(t, symbol[best - 1], symbol[best], &made[best - 1]);
        }
        return n;
}

/* Many: a list of places, and a tournament over them, so that n symbols cost n log n. */
typedef struct {
        const TokenTables *t;
        int64_t n;
        int32_t *symbol, *next, *before, *made; /* [n]; next is n at the end, before -1 at the beginning */
        uint32_t *rank;                         /* [n]: of this place and the next together */
        int32_t *winner;                        /* [2n]: node i holds the better of nodes 2i and 2i + 1; node n + i is place i */
} TokenList;

enum { TOKEN_LIST_WORDS = 7 }; /* int32 for each symbol, with the symbol itself */

static inline int32_t token_better(const TokenList *m, int32_t a, int32_t b)
{
        if (m->rank[a] != m->rank[b])
                return m->rank[a] < m->rank[b] ? a : b;
        return a < b ? a : b;
}

static inline void token_replay(const TokenList *m, int64_t place)
{
        for (int64_t node = (m->n + place) / 2; node >= 1; node /= 2)
                m->winner[node] = token_better(m, m->winner[2 * node], m->winner[2 * node + 1]);
}

static inline void token_look_up(const TokenList *m, int64_t place)
{
        int64_t right = m->next[place];
        m->rank[place] = right < m->n ? token_of_pair(m->t, m->symbol[place], m->symbol[right], &m->made[place]) : UINT32_MAX;
}

static inline void token_join(const TokenList *m, int64_t place)
{
        int64_t gone = m->next[place], right = m->next[gone], left = m->before[place];
        m->symbol[place] = m->made[place];
        m->next[place] = (int32_t)right;
        if (right < m->n)
                m->before[right] = (int32_t)place;
        m->rank[gone] = UINT32_MAX;
        token_replay(m, gone);
        token_look_up(m, place);
        token_replay(m, place);
        if (left >= 0) {
                token_look_up(m, left);
                token_replay(m, left);
        }
}

static inline int64_t token_merge_many(const TokenTables *t, int32_t *symbol, int64_t n, int32_t *scratch)
{
        TokenList m = {t, n, symbol, scratch, scratch + n, scratch + 2 * n, (uint32_t *)(scratch + 3 * n), scratch + 4 * n};
        int64_t left = 0;
        for (int64_t i = 0; i < n; i++) {
                m.next[i] = (int32_t)(i + 1);
                m.before[i] = (int32_t)(i - 1);
                m.winner[n + i] = (int32_t)i;
        }
        for (int64_t i = 0; i < n; i++)
                token_look_up(&m, i);
        for (int64_t node = n - 1; node >= 1; node--)
                m.winner[node] = token_better(&m, m.winner[2 * node], m.winner[2 * node + 1]);
        while (m.rank[m.winner[1]] != UINT32_MAX)
                token_join(&m, m.winner[1]);
        for (int64_t i = 0; i < n; i = m.next[i])
                symbol[left++] = symbol[i];
        return left;
}

static inline int64_t token_merge(const TokenTables *t, int32_t *symbol, int64_t n, int32_t *scratch)
{
        return n <= TOKENS_FEW ? token_merge_few(t, symbol, n) : token_merge_many(t, symbol, n, scratch);
}

/* --- pieces -------------------------------------------------------------------------------------------------------------- */

/* A text on its way to ids. */
typedef struct {
        const TokenTables *t;
        int flags;
        int32_t *ids;
        int64_t n, room; /* ids that there are, also those that had no room */
        const unsigned char *limit; /* up to here the memory around a piece may be read */
        int32_t *symbol;            /* scratch: symbols of a piece, then what merging takes */
        unsigned char *bytes, *bytes_end; /* scratch for texts that steps change */
        int first;                        /* nothing of the text has been split yet */
} TokenRun;

static inline void token_put(TokenRun *r, int32_t id)
{
        if (r->n < r->room)
                r->ids[r->n] = id;
        r->n++;
}

/* The symbols of a character that has a token, or of its bytes; 0: it is unknown. */
static inline int64_t token_symbols(const TokenTables *t, const unsigned char *p, int64_t n, const unsigned char *limit, int32_t *symbol)
{
        const int32_t *of_byte = (const int32_t *)token_section(t, TOKENS_OF_BYTE);
        int32_t found = token_of_bytes(t, p, n, limit, 0);
        if (found >= 0) {
                symbol[0] = found;
                return 1;
        }
        if (!(t->head->flags & TOKENS_HAVE_BYTES))
                return 0;
        for (int64_t i = 0; i < n; i++)
                symbol[i] = of_byte[p[i]];
        for (int64_t i = 0; i < n; i++)
                if (symbol[i] < 0 || (uint32_t)symbol[i] >= t->head->vocab)
                        return 0;
        return n;
}

/* Symbols of a piece of characters: what is unknown is put off until a character with a token follows, and so comes behind bytes. */
static inline int64_t token_spell(const TokenTables *t, const unsigned char *p, const unsigned char *end, const unsigned char *limit,
                                  int32_t *symbol)
{
        const uint32_t flags = t->head->flags;
        int64_t n = 0;
        int unknown = 0;
        uint32_t code;
        for (int length; p < end; p += length) {
                length = token_character(p, end, &code);
                int64_t more = token_symbols(t, p, length, limit, symbol + n);
                if (more == 1 && unknown) {
                        symbol[n + 1] = symbol[n];
                        symbol[n++] = (int32_t)t->head->unknown;
                        unknown = 0;
                }
                n += more;
                if (more || !(flags & TOKENS_HAVE_UNKNOWN))
                        continue;
                if (unknown && !(flags & TOKENS_FUSE_UNKNOWN))
                        symbol[n++] = (int32_t)t->head->unknown;
                unknown = 1;
        }
        if (unknown)
                symbol[n++] = (int32_t)t->head->unknown;
        return n;
}

static inline int64_t token_spell_bytes(const TokenTables *t, const unsigned char *p, const unsigned char *end, int32_t *symbol)
{
        const int32_t *of_byte = (const int32_t *)token_section(t, TOKENS_OF_BYTE);
        int64_t n = 0;
        for (; p < end; p++) {
                int32_t token = of_byte[*p];
                if (token >= 0 && (uint32_t)token < t->head->vocab)
                        symbol[n++] = token;
                else if (t->head->flags & TOKENS_HAVE_UNKNOWN)
                        symbol[n++] = (int32_t)t->head->unknown;
        }
        return n;
}

static inline void token_piece(TokenRun *r, const unsigned char *p, const unsigned char *end)
{
        const TokenTables *t = r->t;
        const uint32_t flags = t->head->flags;
        if (p == end)
                return;
        if (flags & TOKENS_WHOLE_FIRST) {
                int32_t whole = token_of_bytes(t, p, end - p, r->limit, 1);
                if (whole >= 0) {
                        token_put(r, whole);
                        return;
                }
        }
        int64_t n = flags & TOKENS_ARE_BYTES ? token_spell_bytes(t, p, end, r->symbol) : token_spell(t, p, end, r->limit, r->symbol);
        n = token_merge(t, r->symbol, n, r->symbol + n);
        for (int64_t i = 0; i < n; i++)
                token_put(r, r->symbol[i]);
}

/* --- splitting ----------------------------------------------------------------------------------------------------------- */

static inline unsigned token_class(const TokenTables *t, const TokenRegex *x, uint32_t code)
{
        const uint16_t *stage = (const uint16_t *)token_section(t, TOKENS_STAGE);
        return t->section[TOKENS_CLASS][x->page + (uint32_t)stage[x->stage + code / TOKENS_PAGE] * TOKENS_PAGE + code % TOKENS_PAGE];
}

/* Where the match that begins at p ends; NULL: there is none. */
static inline const unsigned char *token_match(const TokenTables *t, const TokenRegex *x, int over_bytes, const unsigned char *p,
                                               const unsigned char *end)
{
        const uint32_t *row = (const uint32_t *)token_section(t, TOKENS_ROWS) + x->rows;
        const unsigned char *best = NULL;
        uint32_t at = x->classes;
        for (;;) {
                unsigned class = x->classes - 1;
                int length = 1;
                uint32_t code;
                if (p < end && over_bytes)
                        class = x->byte[*p];
                else if (p < end && *p < 0x80)
                        class = x->ascii[*p];
                else if (p < end) {
                        length = token_character(p, end, &code);
                        class = token_class(t, x, code);
                }
                uint32_t entry = row[at + class];
                if (entry & REGEX_MATCHED)
                        best = p;
                at = entry & (REGEX_MATCHED - 1);
                if (!at || p >= end)
                        return best;
                p += length;
        }
}

static inline void token_step(TokenRun *r, int64_t step, const unsigned char *p, const unsigned char *end);

/* A stretch that is a match or lies between two, held until it is known whether it goes on. */
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
        const int over_bytes = (s->flags & STEP_OVER_BYTES) != 0, isolated = s->behavior == SPLIT_ISOLATED;
        const unsigned char *done = p;
        TokenHeld held = {NULL, NULL, 0, 0};
        while (p < end) {
                const unsigned char *after = token_match(r->t, x, over_bytes, p, end);
                uint32_t code;
                if (!after || after == p) {
                        p += over_bytes ? 1 : token_character(p, end, &code);
                        continue;
                }
                if (isolated) {
                        if (done < p)
                                token_step(r, step + 1, done, p);
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

/* A piece with a space in front, if it has none. */
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
        r->bytes = begin + 1 + (end - p);
        r->limit = r->bytes;
        token_step(r, step + 1, begin, r->bytes);
        r->bytes = begin;
        r->limit = limit;
}

/* Metaspace: spaces become the mark, and it goes in front. */
static inline void token_word_mark(TokenRun *r, int64_t step, const TokenStep *s, const unsigned char *p, const unsigned char *end)
{
        const unsigned char *mark = r->t->section[TOKENS_TEXTS] + s->at, *limit = r->limit;
        unsigned char *begin = r->bytes, *to = begin;
        int front = (s->flags & STEP_ALWAYS) || ((s->flags & STEP_FIRST) && r->first);
        if ((r->bytes_end - to) / (s->n + 1) < end - p + 1)
                return;
        if (front && *p != ' ' && ((uint64_t)(end - p) < s->n || memcmp(p, mark, s->n))) {
                memcpy(to, mark, s->n);
                to += s->n;
        }
        for (; p < end; p++)
                if (*p == ' ') {
                        memcpy(to, mark, s->n);
                        to += s->n;
                } else {
                        *to++ = *p;
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

/* --- added tokens -------------------------------------------------------------------------------------------------------- */

/* The longest added token at p, or NULL; low to high of the table, in order of their bytes. */
static inline const TokenAdded *token_added_at(const TokenTables *t, const unsigned char *p, const unsigned char *end, int64_t low, int64_t high)
{
        const TokenAdded *added = (const TokenAdded *)token_section(t, TOKENS_ADDED), *found = NULL;
        const unsigned char *bytes = t->section[TOKENS_ADDED_BYTES];
        for (uint32_t depth = 0; low < high && p + depth < end; depth++) {
                for (int lower = 1; lower >= 0; lower--) { /* first where the byte begins, then where it ends */
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

/* Back over spaces before p, not before begin. */
static inline const unsigned char *token_skip_back(const unsigned char *begin, const unsigned char *p)
{
        while (p > begin) {
                const unsigned char *q = p - 1;
                uint32_t code;
                while (q > begin && p - q < 4 && (*q & 0xc0) == 0x80)
                        q--;
                if (q + token_character(q, p, &code) != p || !token_is_space(code))
                        break;
                p = q;
        }
        return p;
}

typedef void TokenBetween(TokenRun *r, const unsigned char *p, const unsigned char *end);

/* Cuts added tokens out; what lies between goes to `between`. */
static inline void token_cut(TokenRun *r, int normalised, const unsigned char *p, const unsigned char *end, TokenBetween *between)
{
        const TokenTables *t = r->t;
        const unsigned char *done = p, *may_begin = t->may_begin[normalised];
        int64_t raw = t->head->raw_added, low = normalised ? raw : 0, high = normalised ? t->count[TOKENS_ADDED] : raw;
        while (low < high && p < end) {
                const TokenAdded *found = may_begin[*p] ? token_added_at(t, p, end, low, high) : NULL;
                if (!found) {
                        p++;
                        continue;
                }
                const unsigned char *begin = p, *after = p + found->n;
                p = after;
                if ((found->flags & ADDED_CONTROL) && !(r->flags & TOKENS_CONTROL))
                        continue;
                if (found->flags & ADDED_STRIPS_LEFT)
                        begin = token_skip_back(done, begin);
                if (found->flags & ADDED_STRIPS_RIGHT)
                        after = token_skip_spaces(after, end); /* where the next one may begin all the same */
                if (done < begin)
                        between(r, done, begin);
                r->first = 0;
                token_put(r, found->token);
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

static inline unsigned char *token_replace(const TokenTables *t, const TokenChange *c, const unsigned char *p, const unsigned char *end,
                                           unsigned char *to)
{
        const unsigned char *what = t->section[TOKENS_TEXTS] + c->at, *with = t->section[TOKENS_TEXTS] + c->to;
        while (p < end) {
                if (c->n && (uint64_t)(end - p) >= c->n && !memcmp(p, what, c->n)) {
                        memcpy(to, with, c->to_n);
                        to += c->to_n;
                        p += c->n;
                } else {
                        *to++ = *p++;
                }
        }
        return to;
}

/* A stretch of raw text, changed into scratch and back. */
static inline void token_normalise(TokenRun *r, const unsigned char *p, const unsigned char *end)
{
        const TokenChange *change = (const TokenChange *)token_section(r->t, TOKENS_CHANGES);
        const int64_t changes = r->t->count[TOKENS_CHANGES];
        if (!changes) {
                token_cut(r, 1, p, end, token_between);
                return;
        }
        unsigned char *begin = r->bytes, *half = begin + (r->bytes_end - begin) / 3;
        const unsigned char *limit = r->limit;
        for (int64_t i = 0; i < changes; i++) {
                const TokenChange *c = &change[i];
                unsigned char *from = i % 2 ? half : begin, *to = from;
                if (c->kind == CHANGE_PREPEND && p < end) {
                        memcpy(to, r->t->section[TOKENS_TEXTS] + c->at, c->n);
                        to += c->n;
                        memcpy(to, p, (size_t)(end - p));
                        to += end - p;
                } else if (c->kind == CHANGE_REPLACE) {
                        to = token_replace(r->t, c, p, end, to);
                }
                p = from;
                end = to;
        }
        r->limit = end;
        r->bytes = begin + 2 * ((r->bytes_end - begin) / 3);
        token_cut(r, 1, p, end, token_between);
        r->bytes = begin;
        r->limit = limit;
}

/* --- encoding ------------------------------------------------------------------------------------------------------------ */

/* Bytes that a text of n becomes at most. */
static inline int64_t tokens_grown(const TokenTables *t, int64_t n)
{
        return (n + 1) * (int64_t)t->head->growth;
}

/* Ids that a text of n bytes becomes at most. */
static inline int64_t tokens_room(const TokenTables *t, int64_t n)
{
        return tokens_grown(t, n) + t->head->before + t->head->behind;
}

/* Bytes of scratch that encoding it takes. */
static inline int64_t tokens_scratch(const TokenTables *t, int64_t n)
{
        int64_t grown = tokens_grown(t, n), texts = t->count[TOKENS_CHANGES] + t->count[TOKENS_STEPS] ? TOKENS_STEPS_MOST + 2 : 0;
        return (grown + 2) * TOKEN_LIST_WORDS * (int64_t)sizeof(int32_t) + texts * (grown + 2);
}

/* Bytes of the longest text that is encoded. */
static inline int64_t tokens_most(const TokenTables *t)
{
        return TOKENS_MOST / (int64_t)t->head->growth;
}

/* text [n], UTF-8 or not, to ids [room]; returns how many there are, also if they are more than room; -1: the text is longer than
 * tokens_most(t) bytes.  scratch [tokens_scratch(t, n)], aligned to 4. */
static inline int64_t tokens_encode(const TokenTables *t, const char *text, int64_t n, int flags, int32_t *ids, int64_t room, void *scratch)
{
        const unsigned char *p = (const unsigned char *)text;
        const int32_t *around = (const int32_t *)token_section(t, TOKENS_AROUND);
        if (n < 0 || n > tokens_most(t))
                return -1;
        TokenRun r = {t, flags, ids, 0, room, p + n, (int32_t *)scratch, NULL, NULL, 1};
        r.bytes = (unsigned char *)scratch + (tokens_grown(t, n) + 2) * TOKEN_LIST_WORDS * (int64_t)sizeof(int32_t);
        r.bytes_end = (unsigned char *)scratch + tokens_scratch(t, n);
        for (uint32_t i = 0; i < t->head->before && !(flags & TOKENS_BARE); i++)
                token_put(&r, around[i]);
        if (n)
                token_cut(&r, 0, p, p + n, token_normalise);
        for (uint32_t i = 0; i < t->head->behind && !(flags & TOKENS_BARE); i++)
                token_put(&r, around[t->head->before + i]);
        return r.n;
}

/* --- decoding ------------------------------------------------------------------------------------------------------------ */

/* A text that is made token by token; begins as {0}. */
typedef struct {
        unsigned char held[TOKEN_RESIDUE]; /* the beginning of a character */
        int n, begun;
} TokenDecoder;

/* Bytes that `out` of tokens_decode() has room for. */
static inline int64_t tokens_decode_room(const TokenTables *t)
{
        return (int64_t)t->head->longest + TOKEN_RESIDUE;
}

/* How many bytes at the end of text [n] begin a character that is not finished. */
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

/* The text that a token adds, into out [tokens_decode_room(t)]; returns its bytes.  Control tokens give nothing without
 * TOKENS_CONTROL.  Of a character whose bytes come in several tokens nothing is given before the last. */
static inline int64_t tokens_decode(const TokenTables *t, TokenDecoder *d, int32_t token, int flags, char *out)
{
        uint32_t n = 0;
        const unsigned char *shown = token_bytes_of(t, TOKENS_SHOWN_OFFSET, (uint32_t)token, &n);
        if (n > t->head->longest || (n && !(flags & TOKENS_CONTROL) && (t->section[TOKENS_MARKS][token] & TOKEN_CONTROL)))
                return 0;
        for (uint32_t strip = t->head->strip; strip && n && !d->begun && *shown == ' '; strip--) {
                shown++;
                n--;
        }
        d->begun |= n > 0 || t->head->strip > 0;
        unsigned char *to = (unsigned char *)out;
        memcpy(to, d->held, (size_t)d->n);
        memcpy(to + d->n, shown, n);
        int64_t all = (int64_t)d->n + n;
        d->n = token_unfinished(to, all);
        memcpy(d->held, to + all - d->n, (size_t)d->n);
        return all - d->n;
}

/* What was held back at the end of the text, into out [TOKEN_RESIDUE]. */
static inline int64_t tokens_decode_end(TokenDecoder *d, char *out)
{
        int64_t n = d->n;
        memcpy(out, d->held, (size_t)n);
        d->n = d->begun = 0;
        return n;
}
