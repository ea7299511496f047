/* The form into which every source of a tokenizer is read. */
#ifndef TEXT_FORM_PRIVATE_H
#define TEXT_FORM_PRIVATE_H
#include "text.h"

#include <setjmp.h>

enum { MAX_TOKENS = 1 << 22, MAX_MERGES = 1 << 23, MAX_TOKEN_BYTES = 1 << 16, MAX_ADDED = 1 << 17 };

/* --- charset.c, in addition to text.h ---------------------------------------------------------------------------------- */

bool charset_meets(CharSet x, CharSet y); /* whether they have a common character */
/* Characters of a general category, L or Lu; false: unknown. */
bool charset_category(Arena *a, const char *name, int length, CharSet *out);
CharSet charset_space(Arena *a); /* \s */

/* --- characters.c: classes and mappings of characters ------------------------------------------------------------------ */

typedef enum {
        SET_MARKS,        /* removed by StripAccents */
        SET_BERT_MARKS,   /* removed by BertNormalizer */
        SET_BERT_REMOVED, /* removed by its clean_text */
        SET_PUNCTUATION,  /* of Punctuation and BertPreTokenizer */
        SET_WORD_BESIDE,  /* in \w in addition to categories */
        SET_GRAPHEME_EXTEND,
        SET_GRAPHEME_JOINER,
        SET_GRAPHEME_SPACING,
        SET_GRAPHEME_PREPEND,
        SET_GRAPHEME_CONTROL,
        SET_PICTOGRAPH
} NamedSet;

CharSet charset_named(Arena *a, NamedSet name);
/* Number of UnicodeScripts; some characters have none. */
int script_count(void);
CharSet charset_script(Arena *a, int script);
CharSet charset_word(Arena *a);      /* \w of regexes in the file */
CharSet charset_rust_word(Arena *a); /* \w of Whitespace and of single_word */

/* Maps characters to texts (NULL: unchanged), or to numbers, which are the texts' lengths. */
typedef struct {
        bool numbers, hangul; /* hangul: syllables are decomposed to letters by computation */
        Bytes *page[TOKENS_PAGES];
} FormMap;

void map_put_set(Arena *a, FormMap *m, CharSet set, Bytes text);
/* f, then g; NULL: not possible as one map */
FormMap *map_then(Arena *a, const FormMap *f, const FormMap *g);
FormMap *map_decomposition(Arena *a, bool compatible);
FormMap *map_lower(Arena *a);
FormMap *map_chinese(Arena *a);   /* spaces around each */
FormMap *map_combining(Arena *a); /* classes of combining characters */
FormMap *map_graphemes(Arena *a); /* classes for the ends of graphemes */
const TokenComposed *composed_characters(int64_t *size);

/* --- trie.c: tokens [n] byte by byte; those without bytes are left out; NULL: too many ---------------------------------- */

TokenNode *trie_make(Arena *a, const Bytes *text, int32_t n, uint32_t *nodes);

/* --- regex_parse.c, regex_table.c -------------------------------------------------------------------------------------- */

typedef enum { REGEX_SET, REGEX_SEQUENCE, REGEX_CHOICE, REGEX_REPEAT, REGEX_LOOK } RegexKind;

typedef struct RegexTree {
        RegexKind kind;
        CharSet set;             /* SET: the set; LOOK: set of the next character */
        bool negative, or_end;   /* LOOK: must not be in the set; the end of the text matches too */
        bool lazy, possessive;   /* REPEAT */
        int least, most;         /* REPEAT; most -1: any number */
        int at;                  /* in the regex, for messages */
        struct RegexTree **part; /* [n]: SEQUENCE, CHOICE; the one of REPEAT */
        int n;
} RegexTree;

/* NULL with *why: a message with the position of the unsupported part. */
RegexTree *regex_parse(Arena *a, Bytes regex, const char **why);
RegexTree *regex_of_set(Arena *a, CharSet set, bool many); /* one character of it, or one and more */
RegexTree *regex_either(Arena *a, RegexTree *first, RegexTree *second);
RegexTree *regex_then(Arena *a, RegexTree *first, RegexTree *second);
int64_t regex_least_bytes(const RegexTree *tree); /* minimum length of a match */

/* A regex in the form of runtime/tokens.h, with its own rows, stage and pages. */
typedef struct {
        TokenRegex head;
        uint32_t *row;
        uint16_t stage[TOKENS_PAGES];
        unsigned char *page;
} RegexTable;

RegexTable *regex_table(Arena *a, const RegexTree *tree, const char **why);
/* Runs in which each two neighbours may be together: class [LAST_CHARACTER + 1] of characters, together
 * [classes * classes]. */
RegexTable *regex_of_runs(Arena *a, const unsigned char *class, int classes, const uint8_t *together);

/* The character that represents a byte in byte-level vocabularies. */
uint32_t letter_of_byte(int byte);

/* --- the form ---------------------------------------------------------------------------------------------------------- */

typedef struct {
        uint32_t kind, behavior, flags; /* of TokenStep */
        RegexTable *regex;
        Bytes text;
} FormStep;

typedef struct {
        uint32_t kind, flags; /* of TokenChange */
        Bytes text, with;     /* the text that is replaced or added, and the replacement */
        FormMap *map;
        RegexTable *regex;
        double growth; /* MATCHES, CHARSMAP and PIECES: maximum growth factor of a text */
} FormChange;

typedef struct {
        Bytes text;
        int32_t token;
        uint32_t flags; /* of TokenAdded */
        bool normalised;
} FormAdded;

typedef struct {
        int32_t left, right, made;
        uint32_t rank;
} FormMerge;

enum { MAX_STEPS = TOKENS_MAX_STEPS, MAX_CHANGES = 16, MAX_AROUND = 64 };

typedef struct {
        Arena *arena;
        const char *path;   /* for messages */
        const char *kind;   /* "byte-level BPE" */
        bool is_open_ended; /* of TokenBlock */
        int32_t vocab;
        Bytes *token;  /* [vocab]: as in pieces; NULL: no piece becomes this token */
        Bytes *shown;  /* [vocab]: as decoded */
        Bytes *first;  /* [vocab]: as decoded at the beginning of a text; NULL: same */
        uint8_t *mark; /* [vocab]: TokenTables' marks */
        FormMerge *merge;
        int64_t nmerge;
        FormAdded *added;
        int nadded;
        FormChange change[MAX_CHANGES];
        int nchange;
        FormStep step[MAX_STEPS];
        int nstep;
        int32_t before[MAX_AROUND], behind[MAX_AROUND];
        int nbefore, nbehind;
        TokenItem item[MAX_AROUND]; /* the template of a pair */
        int nitem;                  /* 0: none */
        uint32_t flags;             /* of TokenHead */
        int32_t unknown;
        bool ignores_merges;
        int32_t of_byte[256];
        int strip;
        uint32_t model;       /* of TokenHead */
        Bytes within, ending; /* MODEL_BPE: prefix of symbols within a piece; suffix at its end */
        Bytes prefix;         /* MODEL_WORDPIECE: prefix of tokens within words */
        uint32_t longest;     /* MODEL_WORDPIECE: maximum number of characters of a word with tokens */
        double *score;        /* [scored], MODEL_UNIGRAM: later tokens have no score, and are added ones */
        int32_t scored;
        double unknown_score;
        Bytes charsmap, charsmap_texts; /* as in TokenTables */
} TokenizerForm;

enum { UNKNOWN_PENALTY = 10 }; /* an unknown token's score is this far below the minimum */

/* read_normaliser.c: a map of SentencePiece, empty: none.  Returns the maximum growth factor of a text, or
 * *why the map is invalid. */
double form_set_charsmap(TokenizerForm *f, Bytes map, const char **why);

/* cuts.c: splits a text into pieces that no merge spans; NULL: unknown */
RegexTable *form_cuts(const TokenizerForm *f);
/* Whether merges are only of symbols from spelling and their results: not of the bytes to which a
 * character without a token falls back. */
bool merges_texts_alone(const TokenizerForm *f);

/* tables.c: NULL, or a message */
const char *form_tables(const TokenizerForm *f, TokenBlock *out);
#endif
