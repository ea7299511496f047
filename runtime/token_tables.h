/*
 * A tokenizer's tables: one block of memory without pointers, so that its file can be mapped, and the functions that read the
 * tables.
 *
 * Nothing is allocated.  Every look-up checks its ids and offsets.
 */
#include <stdint.h>
#include <string.h>

/* The sections of the block, in the order of TokenHead.section. */
enum {
        TOKENS_OFFSET,       /* uint32 [vocab + 1]: offset of token i in TOKENS_BYTES */
        TOKENS_BYTES,        /* the bytes that a token matches in a piece */
        TOKENS_SHOWN_OFFSET, /* uint32 [vocab + 1]: offset of token i in TOKENS_SHOWN */
        TOKENS_SHOWN,        /* the texts of tokens in decoding */
        TOKENS_MARKS,        /* uint8 [vocab]: TOKEN_CONTROL */
        TOKENS_WHOLE,        /* TokenSlot [a power of two]: hash table from bytes to a token */
        TOKENS_PAIRS,        /* TokenPair [a power of two]: hash table from two adjacent symbols to the merged one */
        TOKENS_OF_BYTE,      /* int32 [256]: the token of a single byte, or -1 */
        TOKENS_ADDED,        /* TokenAdded: tokens of raw text, then tokens of normalised text, each sorted by bytes */
        TOKENS_ADDED_BYTES,
        TOKENS_STEPS,   /* TokenStep: the pre-tokeniser */
        TOKENS_REGEX,   /* TokenRegex */
        TOKENS_ROWS,    /* uint32: the transition rows of all regexes */
        TOKENS_STAGE,   /* uint16: page numbers in TOKENS_CLASS, TOKENS_PAGES for each regex */
        TOKENS_CLASS,   /* uint8: classes of characters, in pages */
        TOKENS_CHANGES, /* TokenChange: the normaliser */
        TOKENS_TEXTS,   /* texts that steps and changes refer to */
        TOKENS_AROUND,  /* int32: ids put before a text, then those put after it */
        TOKENS_FIRST_OFFSET, /* uint32 [vocab + 1], or empty: offset of token i in TOKENS_FIRST */
        TOKENS_FIRST,        /* the texts of tokens in decoding, at the beginning of a text */
        TOKENS_MAPS,         /* TokenMap: the normaliser's maps from characters to texts or numbers */
        TOKENS_MAP_STAGE,    /* uint16: page numbers in TOKENS_MAP_VALUES, TOKENS_PAGES for each map */
        TOKENS_MAP_VALUES,   /* uint32: in pages; see TokenMap */
        TOKENS_COMPOSED,     /* TokenComposed, sorted: pairs of characters that compose to one */
        TOKENS_CHARSMAP,     /* uint32: a Darts double-array trie, as in SentencePiece */
        TOKENS_CHARSMAP_TEXTS, /* the replacements of its keys, each ends with a 0 byte */
        TOKENS_NODES,        /* TokenNode: a trie of all tokens */
        TOKENS_SCORES,       /* double [vocab], or empty: scores for Unigram */
        TOKENS_PAIR_BITS,    /* [a power of two] bytes: a bit for each hash of a pair; 0: no pair has this hash */
        TOKENS_SPLITS,       /* TokenSplit [vocab], or empty: the merge that makes each token; for token_search() */
        TOKENS_SHORT,        /* TokenShown [vocab]: copies of the short texts of TOKENS_SHOWN that don't depend on the context */
        TOKENS_TEMPLATE,     /* TokenItem, or empty: the order of tokens in a pair of texts */
        TOKENS_SECTIONS
};

enum {
        TOKENS_PAGE = 128,
        TOKENS_PAGES = 0x110000 / TOKENS_PAGE,
        TOKENS_MAX_BYTES = 1 << 28, /* maximum bytes of a normalised text */
        TOKENS_MAX_STEPS = 16,
        TOKENS_AFFIX = 32,   /* maximum bytes of a prefix or suffix of symbols */
        TOKENS_GROWTH = 255, /* maximum growth factor of a normalised text */
        TOKENS_FEW = 24, /* up to this number of symbols, merging scans all pairs */
        TOKEN_CONTROL = 1, /* in TOKENS_MARKS: a special token */
        TOKEN_RESIDUE = 3  /* maximum bytes of an incomplete character that decoding holds back */
};

/* Header of the block. */
typedef struct {
        char name[8]; /* "tokens 3" */
        uint32_t size, vocab, unknown, longest;
        uint32_t flags, before, behind, raw_added, growth, strip;
        uint32_t model, inner, characters, word; /* inner: trie node of the prefix within words; characters: maximum of a word */
        uint32_t within, nwithin, ending, nending; /* texts: prefix of symbols that don't begin a piece, suffix of the last one */
        double unknown_score;                    /* above, word: index of the regex of word characters, for ADDED_IS_WORD */
        struct {
                uint32_t at, size; /* bytes */
        } section[TOKENS_SECTIONS];
} TokenHead;

/* TokenHead.model: the algorithm that splits a piece into tokens. */
enum {
        MODEL_BPE,  /* merges pairs by rank */
        MODEL_WORDPIECE, /* WordPiece: repeatedly the longest token at the beginning of the rest */
        MODEL_WORDLEVEL,   /* WordLevel: one token for each piece */
        MODEL_UNIGRAM  /* Unigram: the tokens with the largest sum of scores */
};

/* TokenHead.flags */
enum {
        TOKENS_ARE_BYTES = 1,     /* byte-level: symbols are bytes; otherwise characters */
        TOKENS_HAVE_UNKNOWN = 2,  /* there is an unknown token; otherwise symbols without a token are dropped */
        TOKENS_FUSE_UNKNOWN = 4,  /* adjacent unknown symbols become one unknown token */
        TOKENS_HAVE_BYTES = 8,    /* byte_fallback: an unknown symbol becomes the tokens of its bytes */
        TOKENS_WHOLE_FIRST = 16,  /* a piece that is a token in TOKENS_WHOLE with TOKEN_IS_WHOLE is not split */
        TOKENS_ARE_FLOATS = 32,   /* Unigram: sums of scores are rounded to floats */
        TOKENS_END_IN_SPACE = 64  /* decoding drops a space at the end of the last token */
};

/* TokenSlot.n_marks */
enum {
        TOKEN_IS_WHOLE = 1, /* a piece with these bytes is this token */
        TOKEN_MARK_BITS = 1
};

typedef struct {
        uint64_t word, second; /* the first 8 bytes and the next 8, padded with zeros */
        uint32_t token;        /* UINT32_MAX: the slot is free */
        uint32_t n_marks;      /* number of bytes, shifted by TOKEN_MARK_BITS; marks in the lowest bits */
} TokenSlot;

typedef struct {
        unsigned char bytes[15], n; /* n is TOKEN_NOT_SHORT: the text is in TOKENS_SHOWN only */
} TokenShown;

enum { TOKEN_NOT_SHORT = 255 };

/* A token of a pair, or a text in it; `type` is that of all its tokens. */
typedef struct {
        int32_t token; /* or ITEM_FIRST, ITEM_SECOND */
        int32_t type;
} TokenItem;

enum { ITEM_FIRST = -1, ITEM_SECOND = -2, ITEM_TEXT = -3 };

/* A template of pairs with texts of its own, which replaces that of the tokenizer. */
typedef struct {
        int32_t token;    /* a special token, or ITEM_FIRST, ITEM_SECOND, ITEM_TEXT */
        const char *text; /* of ITEM_TEXT */
} PairPart;

typedef struct {
        const PairPart *part; /* [parts] */
        int64_t parts;
        int64_t tail; /* number of tokens at the end that remain when a pair is cut */
} PairForm;

typedef struct {
        uint32_t left, right; /* UINT32_MAX: the slot is free */
        uint32_t rank, made;
} TokenPair;

/* A token of n bytes that merges make: its last merge (left, right), that merge's rank + 1, or 0 if there is none; the longest such
 * token that is a proper prefix, or -1. */
typedef struct {
        uint32_t left, right, rank;
        int32_t shorter;
        uint32_t n;
} TokenSplit;

typedef struct {
        uint32_t at, n; /* in TOKENS_ADDED_BYTES */
        int32_t token;
        uint32_t flags;
} TokenAdded;

enum {
        ADDED_CONTROL = 1,
        ADDED_STRIPS_LEFT = 2,
        ADDED_STRIPS_RIGHT = 4,
        ADDED_IS_WORD = 8, /* matched only at word boundaries on both sides */
        ADDED_IS_KEPT = 16 /* not a token of its own: text that SentencePiece's normaliser does not change */
};

typedef struct {
        uint32_t kind, regex, behavior, flags;
        uint32_t at, n; /* in TOKENS_TEXTS */
} TokenStep;

enum { STEP_SPLIT, STEP_SPACE_BEFORE, STEP_WORD_MARK };

enum { SPLIT_ISOLATED, SPLIT_REMOVED, SPLIT_CONTIGUOUS, SPLIT_WITH_PREVIOUS, SPLIT_WITH_NEXT }; /* behavior */

enum {
        STEP_INVERTED = 1,    /* the text between matches counts as the match */
        STEP_OVER_BYTES = 2,  /* the regex reads bytes mapped to letters, as after ByteLevel */
        STEP_ALWAYS = 4,      /* STEP_WORD_MARK: is put before each piece that does not begin with it */
        STEP_FIRST = 8        /* STEP_WORD_MARK: only before the first piece of the text */
};

/* An automaton.  Each state has a row with an entry for each class and one for the end of text: the offset of the next row, and
 * whether a match ends before this character.  Row 0 ends the search, the row at offset `classes` is the initial state. */
typedef struct {
        uint32_t rows, entries, classes; /* offset in TOKENS_ROWS, number of entries; classes, including the end */
        uint32_t stage, pages;           /* offset of its page numbers in TOKENS_STAGE; number of pages */
        uint32_t page;                   /* offset of its pages in TOKENS_CLASS */
        uint8_t ascii[128], byte[256];   /* classes of ASCII characters, and of bytes for STEP_OVER_BYTES */
} TokenRegex;

/* Bits of an entry. */
enum {
        REGEX_MATCHED = 0x40000000,
        REGEX_LETTERS = 0x20000000, /* all ASCII letters stay in that row, with the same entry */
        REGEX_SMALL = 0x10000000,   /* the same for a to z only */
        REGEX_PLACE = 0x0fffffff
};

typedef struct {
        uint32_t kind, at, n, to, to_n; /* texts [n] and [to_n] in TOKENS_TEXTS */
        uint32_t table, flags;          /* table: index in TOKENS_MAPS or TOKENS_REGEX */
} TokenChange;

enum {
        CHANGE_REPLACE,  /* replaces a text by another */
        CHANGE_MATCHES,  /* replaces matches of a regex by a text */
        CHANGE_PREPEND,
        CHANGE_STRIP,    /* strips white space at the ends */
        CHANGE_MAP,      /* replaces each character by a text */
        CHANGE_ORDER,    /* sorts combining characters by their classes, from a map to numbers */
        CHANGE_COMPOSE,  /* composes pairs of characters, after CHANGE_ORDER and with its map */
        CHANGE_CHARSMAP, /* applies SentencePiece's map to graphemes; `table` is the map of their classes */
        CHANGE_SENTENCEPIECE    /* SentencePiece's whole normalisation */
};

/* TokenChange.flags */
enum {
        STRIP_LEFT = 1, STRIP_RIGHT = 2,
        MAP_HANGUL = 1, /* decomposes Hangul syllables */
        SENTENCEPIECE_FEW_SPACES = 1, SENTENCEPIECE_PREFIX = 2, SENTENCEPIECE_SUFFIX = 4, SENTENCEPIECE_MARKED = 8 /* spaces */
};

/* Values are numbers or texts: 0 for an unchanged character, otherwise 1 + (offset in TOKENS_TEXTS << MAP_BITS | bytes). */
typedef struct {
        uint32_t stage, page, pages; /* offset of its page numbers; its first page; number of pages */
} TokenMap;

enum { MAP_BITS = 6, MAP_BYTES = (1 << MAP_BITS) - 1 };

typedef struct {
        uint32_t first, second, made;
} TokenComposed;

/* Double-array trie: the child of node i is node base + byte, and its `check` is i.  Node 0 is the root. */
typedef struct {
        uint32_t base, check;
        int32_t token; /* the token that ends here, or -1 */
} TokenNode;

typedef struct {
        const TokenHead *head;
        const unsigned char *section[TOKENS_SECTIONS];
        int64_t count[TOKENS_SECTIONS]; /* elements */
        unsigned char may_begin[2][256]; /* first bytes of added tokens: in raw text, in normalised text */
        unsigned char all_control[2];    /* all of these tokens are control tokens or ADDED_IS_KEPT */
        const PairForm *pair_form;       /* NULL: pairs are written by TOKENS_TEMPLATE */
} TokenTables;

/* Flags of encoding. */
enum {
        TOKENS_CONTROL = 1, /* the text of a control token becomes this token */
        TOKENS_BARE = 2,    /* no tokens are put before or after the text */
        TOKENS_GOES_ON = 4  /* the text follows a token: it is not the beginning of a text */
};

static inline const void *token_section(const TokenTables *t, int which)
{
        return t->section[which];
}

/* Bytes of a section's element. */
static inline uint32_t token_element(int which)
{
        static const unsigned char size[TOKENS_SECTIONS] = {
                [TOKENS_OFFSET] = 4, [TOKENS_SHOWN_OFFSET] = 4, [TOKENS_WHOLE] = sizeof(TokenSlot), [TOKENS_PAIRS] = sizeof(TokenPair),
                [TOKENS_OF_BYTE] = 4, [TOKENS_ADDED] = sizeof(TokenAdded), [TOKENS_STEPS] = sizeof(TokenStep), [TOKENS_ROWS] = 4,
                [TOKENS_STAGE] = 2, [TOKENS_CHANGES] = sizeof(TokenChange), [TOKENS_AROUND] = 4, [TOKENS_FIRST_OFFSET] = 4,
                [TOKENS_MAPS] = sizeof(TokenMap), [TOKENS_MAP_STAGE] = 2, [TOKENS_MAP_VALUES] = 4, [TOKENS_COMPOSED] = sizeof(TokenComposed),
                [TOKENS_CHARSMAP] = 4, [TOKENS_NODES] = sizeof(TokenNode), [TOKENS_SCORES] = 8,
                [TOKENS_SHORT] = sizeof(TokenShown), [TOKENS_SPLITS] = sizeof(TokenSplit), [TOKENS_TEMPLATE] = sizeof(TokenItem)};
        return which == TOKENS_REGEX ? (uint32_t)sizeof(TokenRegex) : size[which] ? size[which] : 1;
}

static inline int token_is_power(int64_t n)
{
        return n > 0 && (n & (n - 1)) == 0;
}

/* Validates a regex: no transition leaves its rows. */
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
                wrong |= (row[r->rows + i] & REGEX_PLACE) > r->entries - r->classes;
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

/* Does not check values: they are checked at each use. */
static inline int token_map_fits(const TokenTables *t, const TokenMap *m)
{
        const uint16_t *stage = (const uint16_t *)token_section(t, TOKENS_MAP_STAGE);
        if ((int64_t)m->stage + TOKENS_PAGES > t->count[TOKENS_MAP_STAGE] ||
            ((int64_t)m->page + m->pages) * TOKENS_PAGE > t->count[TOKENS_MAP_VALUES])
                return 0;
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < TOKENS_PAGES; i++)
                wrong |= stage[m->stage + i] >= m->pages;
        return !wrong;
}

static inline int token_changes_fit(const TokenTables *t)
{
        const TokenChange *change = (const TokenChange *)token_section(t, TOKENS_CHANGES);
        for (int64_t i = 0; i < t->count[TOKENS_MAPS]; i++)
                if (!token_map_fits(t, (const TokenMap *)token_section(t, TOKENS_MAPS) + i))
                        return 0;
        for (int64_t i = 0; i < t->count[TOKENS_CHANGES]; i++) {
                const uint32_t kind = change[i].kind;
                int maps = kind == CHANGE_MAP || kind == CHANGE_ORDER || kind == CHANGE_COMPOSE || kind == CHANGE_CHARSMAP;
                if (!token_texts_fit(t, change[i].at, change[i].n) || !token_texts_fit(t, change[i].to, change[i].to_n) ||
                    (maps && change[i].table >= t->count[TOKENS_MAPS]) ||
                    (kind == CHANGE_MATCHES && change[i].table >= t->count[TOKENS_REGEX]))
                        return 0;
        }
        return 1;
}

static inline int token_model_fits(const TokenTables *t)
{
        const TokenHead *head = t->head;
        const int trie = head->model == MODEL_WORDPIECE || head->model == MODEL_UNIGRAM;
        const int64_t texts = t->count[TOKENS_CHARSMAP_TEXTS];
        for (int64_t i = 0; i < t->count[TOKENS_ADDED]; i++)
                if ((((const TokenAdded *)token_section(t, TOKENS_ADDED))[i].flags & ADDED_IS_WORD) && head->word >= t->count[TOKENS_REGEX])
                        return 0;
        if (!token_texts_fit(t, head->within, head->nwithin) || !token_texts_fit(t, head->ending, head->nending) ||
            head->nwithin > TOKENS_AFFIX || head->nending > TOKENS_AFFIX)
                return 0;
        return (!trie || head->inner < t->count[TOKENS_NODES]) && (head->model != MODEL_UNIGRAM || t->count[TOKENS_SCORES] == head->vocab) &&
               (!t->count[TOKENS_FIRST_OFFSET] || t->count[TOKENS_FIRST_OFFSET] == (int64_t)head->vocab + 1) &&
               (!texts || t->section[TOKENS_CHARSMAP_TEXTS][texts - 1] == 0);
}

static inline int token_steps_fit(const TokenTables *t)
{
        const TokenStep *step = (const TokenStep *)token_section(t, TOKENS_STEPS);
        const TokenRegex *regex = (const TokenRegex *)token_section(t, TOKENS_REGEX);
        const TokenAdded *added = (const TokenAdded *)token_section(t, TOKENS_ADDED);
        if (t->count[TOKENS_STEPS] > TOKENS_MAX_STEPS)
                return 0;
        for (int64_t i = 0; i < t->count[TOKENS_REGEX]; i++)
                if (!token_regex_fits(t, &regex[i]))
                        return 0;
        for (int64_t i = 0; i < t->count[TOKENS_STEPS]; i++)
                if ((step[i].kind == STEP_SPLIT && step[i].regex >= t->count[TOKENS_REGEX]) || !token_texts_fit(t, step[i].at, step[i].n))
                        return 0;
        for (int64_t i = 0; i < t->count[TOKENS_ADDED]; i++)
                if ((int64_t)added[i].at + added[i].n > t->count[TOKENS_ADDED_BYTES] || !added[i].n || added[i].token < 0 ||
                    (uint32_t)added[i].token >= t->head->vocab)
                        return 0;
        return 1;
}

/* A template has the first text, then the second one, each once. */
static inline int token_template_fits(const TokenTables *t)
{
        const TokenItem *item = (const TokenItem *)token_section(t, TOKENS_TEMPLATE);
        int texts = 0;
        for (int64_t i = 0; i < t->count[TOKENS_TEMPLATE]; i++) {
                const int is_text = item[i].token == -1 - texts;
                if (item[i].type < 0 || (!is_text && (item[i].token < 0 || (uint32_t)item[i].token >= t->head->vocab)))
                        return 0;
                texts += is_text;
        }
        return !t->count[TOKENS_TEMPLATE] || texts == 2;
}

/* Opens and validates a block [size], aligned to 8 bytes, which must outlive *t.  Returns 0 if it is invalid. */
static inline int tokens_open(TokenTables *t, const void *block, uint64_t size)
{
        const TokenHead *head = (const TokenHead *)block;
        memset(t, 0, sizeof *t);
        if (size < sizeof *head || memcmp(head->name, "tokens 3", 8) || head->size > size)
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
            t->count[TOKENS_MARKS] != vocab || !token_is_power(t->count[TOKENS_WHOLE]) || !token_is_power(t->count[TOKENS_PAIRS]) || !token_is_power(t->count[TOKENS_PAIR_BITS]) ||
            t->count[TOKENS_OF_BYTE] != 256 || t->count[TOKENS_SHORT] != vocab || (t->count[TOKENS_SPLITS] && (t->count[TOKENS_SPLITS] != vocab || !t->count[TOKENS_NODES])) || head->unknown >= head->vocab || head->raw_added > t->count[TOKENS_ADDED] || head->growth < 1 ||
            head->growth > TOKENS_GROWTH || (int64_t)head->before + head->behind != t->count[TOKENS_AROUND] || !token_steps_fit(t) || !token_changes_fit(t) || !token_model_fits(t) || !token_template_fits(t))
                return 0;
        const TokenAdded *added = (const TokenAdded *)token_section(t, TOKENS_ADDED);
        t->all_control[0] = t->all_control[1] = 1;
        for (int64_t i = 0; i < t->count[TOKENS_ADDED]; i++) {
                const int normalised = i >= head->raw_added;
                t->may_begin[normalised][t->section[TOKENS_ADDED_BYTES][added[i].at]] = 1;
                t->all_control[normalised] &= (added[i].flags & (ADDED_CONTROL | ADDED_IS_KEPT)) != 0;
        }
        return 1;
}

/* --- characters and look-ups ------------------------------------------------------------------------------------------- */

/* Decodes the UTF-8 character at p < end, and returns its bytes.  An invalid byte counts as U+FFFD. */
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

/* Unicode white space. */
static inline int token_is_space(uint32_t c)
{
        return c == ' ' || (c >= 9 && c <= 13) || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
               c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* The first min(n, 8) bytes as a number.  May read up to `limit`. */
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

static inline uint64_t token_hash(uint64_t word, uint64_t second, const unsigned char *p, int64_t n)
{
        uint64_t h = token_mix(word ^ (uint64_t)n << 56);
        if (n > 8)
                h = token_mix(h ^ second);
        for (int64_t i = 16; i < n; i += 8)
                h = token_mix(h ^ token_word(p + i, n - i, p + n));
        return h;
}

/* The bytes [*n] of a token; *n is 0 if the id or its offsets are invalid. */
static inline const unsigned char *token_bytes_of(const TokenTables *t, int offsets, uint32_t token, uint32_t *n)
{
        const uint32_t *offset = (const uint32_t *)token_section(t, offsets);
        *n = 0;
        if (token >= t->head->vocab || offset[token] > offset[token + 1] || offset[token + 1] > t->count[offsets + 1])
                return t->section[offsets + 1];
        *n = offset[token + 1] - offset[token];
        return t->section[offsets + 1] + offset[token];
}

/* The token with bytes p [n] and all `marks`, or -1.  May read up to `limit`. */
static inline int32_t token_of_bytes(const TokenTables *t, const unsigned char *p, int64_t n, const unsigned char *limit, uint32_t marks)
{
        const TokenSlot *slot = (const TokenSlot *)token_section(t, TOKENS_WHOLE);
        const uint64_t word = token_word(p, n, limit), second = n > 8 ? token_word(p + 8, n - 8, limit) : 0;
        const uint64_t h = token_hash(word, second, p, n), mask = (uint64_t)t->count[TOKENS_WHOLE] - 1;
        for (uint64_t tries = 0; tries <= mask; tries++) {
                const TokenSlot *s = &slot[(h + tries) & mask];
                if (s->token == UINT32_MAX)
                        return -1;
                if (s->word != word || s->second != second || s->n_marks >> TOKEN_MARK_BITS != (uint64_t)n)
                        continue;
                uint32_t length = 0;
                const unsigned char *bytes = n > 16 ? token_bytes_of(t, TOKENS_OFFSET, s->token, &length) : NULL;
                if (bytes && (length != (uint64_t)n || memcmp(bytes + 16, p + 16, (size_t)n - 16)))
                        continue;
                return s->token < t->head->vocab && (s->n_marks & marks) == marks ? (int32_t)s->token : -1;
        }
        return -1;
}

/* The index of a pair's bit in TOKENS_PAIR_BITS [bytes], from its hash. */
static inline uint64_t token_pair_bit(uint64_t h, int64_t bytes)
{
        return h >> 24 & (8 * (uint64_t)bytes - 1);
}

/* Sets *made to the symbol that two adjacent symbols merge to.  Returns the merge's rank, or UINT32_MAX if there is none. */
static inline uint32_t token_of_pair(const TokenTables *t, int32_t left, int32_t right, int32_t *made)
{
        const TokenPair *slot = (const TokenPair *)token_section(t, TOKENS_PAIRS);
        const uint64_t h = token_mix((uint64_t)(uint32_t)left << 32 | (uint32_t)right), mask = (uint64_t)t->count[TOKENS_PAIRS] - 1;
        const uint64_t bit = token_pair_bit(h, t->count[TOKENS_PAIR_BITS]);
        *made = -1;
        if (!(t->section[TOKENS_PAIR_BITS][bit / 8] >> bit % 8 & 1)) /* true for most pairs, so that the branch is predicted */
                return UINT32_MAX;
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
