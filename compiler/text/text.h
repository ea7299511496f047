/* text: tokenizers, from their published files to the tables of runtime/tokens.h.
 *
 * read_*.c read a source into one form (form_private.h): added tokens, normaliser, pre-tokeniser, model,
 * post-processor, decoder. regex_*.c make tables of regexes over sets of characters (charset.c).  tables.c
 * writes all of it into one block of memory without pointers, the only data for encoding and decoding in
 * lathe and in emitted C. */
#ifndef TEXT_H
#define TEXT_H
#include "base/base.h"

#include "../../runtime/facts.h"
#include "../../runtime/token_tables.h"
#include "../../runtime/language_mark.h"
#include "../../runtime/token_wordpiece.h"
#include "../../runtime/token_unigram.h"
#include "../../runtime/token_bpe.h"
#include "../../runtime/token_pieces.h"
#include "../../runtime/token_normaliser.h"
#include "../../runtime/tokens.h"
#include "../../runtime/token_pairs.h"
#include "../../runtime/token_spans.h"

/* Tables of a tokenizer, in an arena. */
typedef struct {
        const void *block; /* [size], aligned to 16 */
        int64_t size;
        int32_t vocab;      /* ids are below */
        const char *about;  /* in words: "byte-level BPE, 50257 tokens" */
        bool is_open_ended; /* file without the number of tokens, which the model must have */
} TokenBlock;

/* Reads a tokenizer.json, a model of SentencePiece, a vocab.txt, llama2.c's tokenizer.bin, or a directory that has one of the first three
 * or vocab.json and merges.txt;
 * tokenizer_config.json beside them says what they don't.  NULL, or what is wrong: where, what was expected,
 * what to do; memory and files that can't be had: see lacks_memory() and *env_error. */
const char *tokenizer_load(Arena *a, const char *path, TokenBlock *out, bool *env_error);

bool tokenizer_is_in(Arena *a, const char *folder); /* whether it has any of these files */

/* Bytes [n]; NULL: absent, which differs from empty. */
typedef struct {
        const char *at;
        int64_t n;
} Bytes;

/* The tokenizer of a GGUF: values of tokenizer.ggml.*, which need to exist only during the call. */
typedef struct {
        const char *path;                /* for messages */
        const char *model, *pre;         /* NULL: not given */
        const char *name, *architecture; /* general.name and general.architecture; NULL: not given */
        const Bytes *token;              /* [ntoken] */
        const double *score;             /* [ntoken], or NULL */
        const int64_t *kind;             /* [ntoken], or NULL: token_type */
        const Bytes *merge;              /* [nmerge] */
        int64_t ntoken, nmerge;
        int64_t begin, end, unknown, separator, class; /* tokens; -1: not given */
        const int64_t *charsmap;                       /* [ncharsmap]: bytes of precompiled_charsmap */
        int64_t ncharsmap;
        /* 0 or 1; -1: not given */
        int add_begin, add_end, add_space_prefix, remove_spaces, lowercase, strip_accents;
} GgufTokenizer;
/* NULL, or a message, as of tokenizer_load(). */
const char *tokenizer_of_gguf(Arena *a, const GgufTokenizer *g, TokenBlock *out);

/* charset.c: sets of characters, as ranges in order. */

typedef struct {
        uint32_t first, last;
} CharRange;

typedef struct {
        CharRange *range;
        int n;
} CharSet;

enum { LAST_CHARACTER = 0x10ffff };

CharSet charset_of(Arena *a, const CharRange *range, int n); /* in any order, also overlapping */
CharSet charset_join(Arena *a, CharSet x, CharSet y);
CharSet charset_without(Arena *a, CharSet x); /* all others */

/* A regex by itself, for tests: false with *why. */
typedef struct {
        TokenTables tables; /* the tables that matching reads */
        const TokenRegex *regex;
} RegexProbe;
bool regex_load(Arena *a, const char *regex, RegexProbe *out, const char **why);
/* The ends of the pieces that it splits a text into, in end [most]; returns how many there are. */
int64_t regex_pieces(const RegexProbe *probe, const char *text, int64_t n, int64_t *end, int64_t most);
#endif
