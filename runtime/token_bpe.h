/*
 * Splits a piece into symbols, and merges symbols to tokens (byte pair encoding).
 *
 * Needs token_tables.h and token_wordpiece.h.
 */

/* --- merges -------------------------------------------------------------------------------------------------------------- */

/* For few symbols: each merge searches all pairs for the lowest rank; ties: the leftmost.  Returns the number of remaining symbols,
 * which is not below `least`. */
static inline int64_t token_merge_few(const TokenTables *t, int32_t *symbol, int64_t n, int64_t least)
{
        uint32_t rank[TOKENS_FEW];
        int32_t made[TOKENS_FEW];
        for (int64_t i = 0; i + 1 < n; i++)
                rank[i] = token_of_pair(t, symbol[i], symbol[i + 1], &made[i]);
        while (n > least) {
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

/* For many symbols: a linked list of them, and a tournament tree over their ranks, so that n symbols take n log n steps. */
typedef struct {
        const TokenTables *t;
        int64_t n;
        int32_t *symbol, *next, *before, *made; /* [n]; next is n at the end, before -1 at the beginning */
        uint32_t *rank;                         /* [n]: of the pair of this symbol and the next */
        int32_t *winner;                        /* [2n]: node i has the better of nodes 2i and 2i + 1; node n + i is symbol i */
} TokenList;

enum { TOKEN_LIST_WORDS = 7 }; /* number of int32 for each symbol, including itself */

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

static inline int64_t token_merge_many(const TokenTables *t, int32_t *symbol, int64_t n, int64_t least, int32_t *scratch)
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
        for (int64_t there = n; there > least && m.rank[m.winner[1]] != UINT32_MAX; there--)
                token_join(&m, m.winner[1]);
        for (int64_t i = 0; i < n; i = m.next[i])
                symbol[left++] = symbol[i];
        return left;
}

static inline int64_t token_merge(const TokenTables *t, int32_t *symbol, int64_t n, int64_t least, int32_t *scratch)
{
        return n <= TOKENS_FEW ? token_merge_few(t, symbol, n, least) : token_merge_many(t, symbol, n, least, scratch);
}

/* --- without merging ----------------------------------------------------------------------------------------------------- */

/* Merging a text results in given tokens if and only if merging each pair of adjacent tokens leaves both unchanged: the first merge
 * across a border has the lowest rank of all, so also within the pair.  There is exactly one such sequence, also for each prefix
 * that ends with one of its tokens, so that a position without continuation is not part of it.  Longest tokens are tried first. */

/* Whether merging two adjacent tokens leaves both unchanged.  Undoes their merges, last first.  A merge across the border, of the
 * symbols that are then adjacent, happens first if its rank is below the undone one's. */
static inline int token_stay_two(const TokenTables *t, uint32_t left, uint32_t right)
{
        const TokenSplit *split = (const TokenSplit *)token_section(t, TOKENS_SPLITS);
        uint32_t limit = UINT32_MAX, last, vocab = t->head->vocab;
        int32_t made;
        while (token_of_pair(t, (int32_t)left, (int32_t)right, &made) >= limit) {
                const TokenSplit *a = &split[left], *b = &split[right];
                const int undo_left = a->rank > b->rank; /* with equal ranks the left merge came first */
                last = undo_left ? a->rank : b->rank;
                limit = undo_left ? last - 1 : last;
                left = undo_left ? a->right : left;
                right = undo_left ? right : b->left;
                if (!last || left >= vocab || right >= vocab || split[undo_left ? left : right].rank >= last)
                        return 1;
        }
        return 0;
}

/* The longest token at p, or the token of its byte. */
static inline int32_t token_search_from(const TokenTables *t, const unsigned char *p, const unsigned char *end)
{
        const unsigned char *after = p;
        const int32_t token = token_longest_at(t, 0, p, end, &after);
        return token >= 0 ? token : ((const int32_t *)token_section(t, TOKENS_OF_BYTE))[*p];
}

/* A piece to tokens.  symbol [3 * (n + 1)] for its n bytes; ids come to its front.  Returns how many; 0: it takes tokens that are not
 * searched for. */
static inline int64_t token_search(const TokenTables *t, const unsigned char *p, const unsigned char *end, int32_t *symbol)
{
        const TokenSplit *split = (const TokenSplit *)token_section(t, TOKENS_SPLITS);
        const int64_t n = end - p;
        int32_t *place = symbol + n, token = token_search_from(t, p, end);
        unsigned char *dead = (unsigned char *)(place + n);
        int64_t count = 0, at = 0;
        memset(dead, 0, (size_t)n + 1);
        while (at < n) {
                if (token < 0 || (uint32_t)token >= t->head->vocab) { /* no token continues from here */
                        if (!count)
                                return 0;
                        dead[at] = 1;
                        at = place[--count];
                        token = split[symbol[count]].shorter;
                        continue;
                }
                const int64_t next = at + split[token].n;
                if (next > n || next == at || dead[next] || (count && !token_stay_two(t, (uint32_t)symbol[count - 1], (uint32_t)token))) {
                        const int32_t shorter = split[token].shorter;
                        token = shorter >= 0 && (uint32_t)shorter < t->head->vocab && split[shorter].n < split[token].n ? shorter : -1;
                        continue;
                }
                symbol[count] = token;
                place[count++] = (int32_t)at;
                at = next;
                token = at < n ? token_search_from(t, p + at, end) : -1;
        }
        return count;
}

/* --- symbols ------------------------------------------------------------------------------------------------------------- */

enum { PLACE_WITHIN = 1, PLACE_LAST = 2 }; /* position of a symbol in its piece: not the first; the last */

/* The token of a character [n], with the prefix and suffix for its position in the piece; -1: none. */
static inline int32_t token_of_character(const TokenTables *t, const unsigned char *p, int64_t n, const unsigned char *limit, int place)
{
        const TokenHead *head = t->head;
        const uint32_t before = place & PLACE_WITHIN ? head->nwithin : 0, behind = place & PLACE_LAST ? head->nending : 0;
        unsigned char text[2 * TOKENS_AFFIX + 16];
        if (!before && !behind)
                return token_of_bytes(t, p, n, limit, 0);
        memcpy(text, t->section[TOKENS_TEXTS] + head->within, before);
        memcpy(text + before, p, (size_t)n);
        memcpy(text + before + n, t->section[TOKENS_TEXTS] + head->ending, behind);
        return token_of_bytes(t, text, before + n + behind, text + sizeof text, 0);
}

/* Writes the symbol of a character, or those of its bytes.  Returns their number; 0: it is unknown. */
static inline int64_t token_symbols(const TokenTables *t, const unsigned char *p, int64_t n, const unsigned char *limit, int place,
                                    int32_t *symbol)
{
        const int32_t *of_byte = (const int32_t *)token_section(t, TOKENS_OF_BYTE);
        int32_t found = token_of_character(t, p, n, limit, place);
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

/* Symbols of a piece of characters.  An unknown symbol waits until a character with a token follows, so it comes after bytes. */
static inline int64_t token_spell(const TokenTables *t, const unsigned char *p, const unsigned char *end, const unsigned char *limit,
                                  int32_t *symbol)
{
        const uint32_t flags = t->head->flags;
        int64_t n = 0;
        int unknown = 0, place = 0;
        uint32_t code;
        for (int length; p < end; p += length, place = PLACE_WITHIN) {
                length = flags & TOKENS_ARE_BYTES ? 1 : token_character(p, end, &code);
                int64_t more = token_symbols(t, p, length, limit, place | (p + length == end ? PLACE_LAST : 0), symbol + n);
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
