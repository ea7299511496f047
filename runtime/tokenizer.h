/*
 * Text to tokens and back, as llama2.c does it: byte pair encoding in the manner of SentencePiece.
 *
 * Text begins as BOS, a space, and a token for each character; a character without one becomes its bytes.
 * Then, as long as two neighbours together are a token, the pair whose token has the highest score is joined,
 * the leftmost of equals first.  The best pair is the root of a tournament over the places of the text, so
 * that n characters cost n log n instead of n^2.  Empty text is BOS alone.
 *
 * Needs the tables of the vocabulary: TOKENIZER_VOCAB, TOKENIZER_LONGEST, token_bytes, token_offset,
 * token_score, token_sorted.
 */
#include <stdint.h>
#include <string.h>

enum { TOKENIZER_BOS = 1, TOKENIZER_EOS = 2, TOKENIZER_FIRST_BYTE = 3 /* the token of byte 0 */ };

/* Tokens that a text of n bytes can become, and the int32_t that encoding it takes for scratch. */
#define TOKENIZER_TOKENS(n) ((size_t)(n) + 2)

#define TOKENIZER_SCRATCH(n) (5 * TOKENIZER_TOKENS(n))

/* Bytes [n] */
typedef struct {
        const unsigned char *bytes;
        uint32_t n;
} TokenText;

static inline TokenText token_text(int32_t token)
{
        TokenText text = {token_bytes + token_offset[token], token_offset[token + 1] - token_offset[token]};
        return text;
}

/* Compares a and b, joined, with c: below, equal to or above 0, as memcmp. */
static inline int token_compare(TokenText a, TokenText b, TokenText c)
{
        uint32_t head = a.n < c.n ? a.n : c.n, rest = c.n - head, tail = b.n < rest ? b.n : rest;
        int order = memcmp(a.bytes, c.bytes, head);
        if (!order && tail)
                order = memcmp(b.bytes, c.bytes + head, tail);
        if (order)
                return order;
        return a.n + b.n < c.n ? -1 : a.n + b.n > c.n;
}

/* The token that is a and b joined, or -1. */
static inline int32_t token_find(TokenText a, TokenText b)
{
        int32_t low = 0, high = TOKENIZER_VOCAB;
        while (low < high) {
                int32_t middle = low + (high - low) / 2;
                if (token_compare(a, b, token_text((int32_t)token_sorted[middle])) > 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == TOKENIZER_VOCAB || token_compare(a, b, token_text((int32_t)token_sorted[low])))
                return -1;
        return (int32_t)token_sorted[low];
}

/* What is merged: a list of places, each with its token. */
typedef struct {
        int32_t n;       /* places */
        int32_t *token;  /* [n] */
        int32_t *next;   /* [n]: the place to the right that is still there, n at the end */
        int32_t *before; /* [n]: the one to the left, -1 at the beginning */
        int32_t *joined; /* [n]: the token of this place and the next together, or -1 */
        int32_t *winner; /* [2n]: node i holds the better of nodes 2i and 2i + 1; node n + i is place i; 1 is
                            the root */
} TokenMerge;

/* Whether the pair at place a is merged before the one at b. */
static inline int merge_before(const TokenMerge *m, int32_t a, int32_t b)
{
        int32_t x = m->joined[a], y = m->joined[b];
        if (x < 0 || y < 0)
                return y < 0 && (x >= 0 || a < b);
        return token_score[x] > token_score[y] || (!(token_score[x] < token_score[y]) && a < b);
}

/* Plays the matches of a place whose pair has changed. */
static inline void merge_replay(const TokenMerge *m, int32_t place)
{
        for (int32_t node = (m->n + place) / 2; node >= 1; node /= 2) {
                int32_t a = m->winner[2 * node], b = m->winner[2 * node + 1];
                m->winner[node] = merge_before(m, a, b) ? a : b;
        }
}

/* Looks up the pair that begins at a place.  A score of -1e10 or less never wins in llama2.c. */
static inline void merge_look_up(const TokenMerge *m, int32_t place)
{
        int32_t right = m->next[place], found = -1;
        if (right < m->n)
                found = token_find(token_text(m->token[place]), token_text(m->token[right]));
        m->joined[place] = found >= 0 && token_score[found] > -1e10f ? found : -1;
}

/* Joins the pair at a place; the place to its right is gone. */
static inline void merge_join(const TokenMerge *m, int32_t place)
{
        int32_t gone = m->next[place], right = m->next[gone];
        m->token[place] = m->joined[place];
        m->next[place] = right;
        if (right < m->n)
                m->before[right] = place;
        m->joined[gone] = -1;
        merge_replay(m, gone);
        merge_look_up(m, place);
        merge_replay(m, place);
        if (m->before[place] >= 0) {
                merge_look_up(m, m->before[place]);
                merge_replay(m, m->before[place]);
        }
}

/* Merges token [n] until no pair is a token; returns how many are left, at the front. */
static inline int32_t merge_tokens(int32_t *token, int32_t n, int32_t *scratch)
{
        TokenMerge m = {n, token, scratch, scratch + n, scratch + 2 * (size_t)n, scratch + 3 * (size_t)n};
        int32_t left = 0;
        for (int32_t i = 0; i < n; i++) {
                m.next[i] = i + 1;
                m.before[i] = i - 1;
                m.winner[n + i] = i;
        }
        for (int32_t i = 0; i < n; i++)
                merge_look_up(&m, i);
        for (int32_t node = n - 1; node >= 1; node--) {
                int32_t a = m.winner[2 * node], b = m.winner[2 * node + 1];
                m.winner[node] = merge_before(&m, a, b) ? a : b;
        }
        while (m.joined[m.winner[1]] >= 0)
                merge_join(&m, m.winner[1]);
        for (int32_t i = 0; i < n; i = m.next[i])
                token[left++] = token[i];
        return left;
}

/* The bytes of a character from text [n] on: one, and up to three continuation bytes. */
static inline int32_t character_length(const unsigned char *text, int32_t n)
{
        int32_t length = 1;
        while (length < 4 && length < n && (text[length] & 0xc0) == 0x80)
                length++;
        return length;
}

/* text [n], UTF-8 or not, to tokens [TOKENIZER_TOKENS(n)]; returns how many.  scratch [TOKENIZER_SCRATCH(n)];
 * n is at most 2^30.  A byte that has no token becomes token 0, the unknown. */
static inline int32_t tokenizer_encode(const char *text, int32_t n, int32_t *tokens, int32_t *scratch)
{
        const unsigned char *from = (const unsigned char *)text;
        TokenText nothing = {from, 0}, space = {(const unsigned char *)" ", 1};
        int32_t count = 0, length, prefix = token_find(space, nothing);
        tokens[count++] = TOKENIZER_BOS;
        if (n > 0 && prefix >= 0)
                tokens[count++] = prefix;
        for (int32_t i = 0; i < n; i += length) {
                length = character_length(from + i, n - i);
                TokenText character = {from + i, (uint32_t)length};
                int32_t found = token_find(character, nothing);
                if (found >= 0)
                        tokens[count++] = found;
                for (int32_t j = i; found < 0 && j < i + length; j++) {
                        int32_t token = TOKENIZER_FIRST_BYTE + from[j];
                        tokens[count++] = token < TOKENIZER_VOCAB ? token : 0;
                }
        }
        return merge_tokens(tokens, count, scratch);
}

/* The value of a hexadecimal digit, or -1. */
static inline int hex_digit(unsigned char digit)
{
        if (digit >= '0' && digit <= '9')
                return digit - '0';
        digit |= 0x20;
        return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The text of a token that follows `previous`, into out [TOKENIZER_LONGEST]; returns its bytes.  After BOS a
 * leading space is dropped; <0x41> is the byte 41; <0x00> is nothing.  Bytes of one character may come in
 * several tokens. */
static inline int tokenizer_decode(int32_t previous, int32_t token, char *out)
{
        TokenText text = token_text(token);
        if (previous == TOKENIZER_BOS && text.n && text.bytes[0] == ' ') {
                text.bytes++;
                text.n--;
        }
        if (text.n == 6 && !memcmp(text.bytes, "<0x", 3) && text.bytes[5] == '>') {
                int high = hex_digit(text.bytes[3]), low = hex_digit(text.bytes[4]);
                if (high >= 0 && low >= 0) {
                        out[0] = (char)(high * 16 + low);
                        return high || low;
                }
        }
        memcpy(out, text.bytes, text.n);
        return (int)text.n;
}
