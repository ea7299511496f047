/*
 * A piece to symbols, and symbols to tokens by merges (byte pair encoding).
 *
 * Needs token_tables.h.
 */

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

/* --- joints: a merge goes over one only if a token has the symbols around it ----------------------------------------------- */

/* The bit of a joint between b and c; a and d are the symbols around these, -1 where the token ends. */
static inline uint64_t token_joint(int32_t a, int32_t b, int32_t c, int32_t d)
{
        return token_mix((uint32_t)a * UINT64_C(0xd6e8feb86659fd93) + (uint32_t)b * UINT64_C(0xa0761d6478bd642f) +
                         (uint32_t)c * UINT64_C(0xe7037ed1a0b428db) + (uint32_t)d * UINT64_C(0x8ebc6af09c88c6e3));
}

static inline int token_has_joint(const TokenTables *t, uint64_t joint)
{
        const uint64_t bit = joint & (8 * (uint64_t)t->count[TOKENS_JOINTS] - 1);
        return t->section[TOKENS_JOINTS][bit / 8] >> bit % 8 & 1;
}

/* May a merge go over the joint before symbol i of n?  Of the token that it makes, two symbols or one lie on either side. */
static inline int token_joins(const TokenTables *t, const int32_t *symbol, int64_t n, int64_t i)
{
        const int32_t b = symbol[i - 1], c = symbol[i];
        const int left = i > 1, right = i + 1 < n;
        return (left && right && token_has_joint(t, token_joint(symbol[i - 2], b, c, symbol[i + 1]))) ||
               (right && token_has_joint(t, token_joint(-1, b, c, symbol[i + 1]))) ||
               (left && token_has_joint(t, token_joint(symbol[i - 2], b, c, -1))) || token_has_joint(t, token_joint(-1, b, c, -1));
}

/* The token that symbols [n] are together, if merges make it and it is short; else -1. */
static inline int32_t token_of_symbols(const TokenTables *t, const int32_t *symbol, int64_t n)
{
        enum { MOST = 16 };
        unsigned char text[MOST + 8];
        uint32_t length, all = 0;
        for (int64_t i = 0; i < n; i++) {
                const unsigned char *bytes = token_bytes_of(t, TOKENS_OFFSET, (uint32_t)symbol[i], &length);
                if (!length || all + length > MOST)
                        return -1;
                memcpy(text + all, bytes, length);
                all += length;
        }
        return token_of_bytes(t, text, all, text + sizeof text, TOKEN_IS_MADE);
}

/* --- symbols ------------------------------------------------------------------------------------------------------------- */

enum { PLACE_WITHIN = 1, PLACE_LAST = 2 }; /* of a symbol in its piece: not the first; the last */

/* The token of a character [n] with what is put in front of it and behind it in its place; -1: none. */
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

/* The symbols of a character that has a token, or of its bytes; 0: it is unknown. */
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

/* Symbols of a piece of characters: what is unknown is put off until a character with a token follows, and so comes behind bytes. */
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
