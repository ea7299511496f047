/*
 * A piece to tokens by Unigram: those whose scores have the largest sum.
 *
 * Needs token_tables.h and token_wordpiece.h.
 */

/* The best path to each position in a piece: its sum, the begin of its last token (-1: unreachable), and that token. */
typedef struct {
        unsigned char *sum; /* double [n + 1], at any address */
        int32_t *begin, *token;
} TokenLattice;

static inline double token_sum(const TokenLattice *l, int64_t place)
{
        double sum;
        memcpy(&sum, l->sum + 8 * place, 8);
        return sum;
}

static inline void token_arrive(const TokenTables *t, const TokenLattice *l, int64_t from, int64_t to, double score, int32_t token)
{
        double sum = token_sum(l, from) + score;
        if (t->head->flags & TOKENS_ARE_FLOATS)
                sum = (double)(float)sum;
        if (l->begin[to] >= 0 && !(sum > token_sum(l, to)))
                return;
        memcpy(l->sum + 8 * to, &sum, 8);
        l->begin[to] = (int32_t)from;
        l->token[to] = token;
}

/* Extends paths by all tokens that begin at a position, and by the unknown token if none is exactly the character there. */
static inline int token_leave(const TokenTables *t, const TokenLattice *l, const unsigned char *text, const unsigned char *end, int64_t from)
{
        const TokenNode *node = (const TokenNode *)token_section(t, TOKENS_NODES);
        const double *score = (const double *)token_section(t, TOKENS_SCORES);
        const uint32_t count = (uint32_t)t->count[TOKENS_NODES];
        const unsigned char *p = text + from;
        uint32_t code, at = 0;
        const int length = token_character(p, end, &code);
        int single = 0;
        while (p < end && (at = token_child(node, count, at, *p++)) < count) {
                const int32_t token = node[at].token;
                if (token < 0 || (uint32_t)token >= t->head->vocab)
                        continue;
                token_arrive(t, l, from, p - text, score[token], token);
                single |= p - text - from == length;
        }
        if (!single)
                token_arrive(t, l, from, from + length, t->head->unknown_score, (int32_t)t->head->unknown);
        return length;
}

/* Writes an unknown range as the tokens of its bytes, or as one token.  Returns the number of ids. */
static inline int64_t token_lattice_unknown(const TokenTables *t, const unsigned char *p, const unsigned char *end, const unsigned char *limit,
                                            int32_t *symbol)
{
        const int32_t *of_byte = (const int32_t *)token_section(t, TOKENS_OF_BYTE), whole = token_of_bytes(t, p, end - p, limit, 0);
        int64_t n = 0;
        symbol[0] = whole >= 0 ? whole : (int32_t)t->head->unknown;
        if (whole >= 0 || !(t->head->flags & TOKENS_HAVE_BYTES))
                return whole >= 0 || (t->head->flags & TOKENS_HAVE_UNKNOWN);
        for (; p < end; p++)
                if (of_byte[*p] >= 0 && (uint32_t)of_byte[*p] < t->head->vocab)
                        symbol[n++] = of_byte[*p];
        return n;
}

/* Unigram: the tokens of a piece whose scores have the largest sum.  symbol [TOKEN_LATTICE_WORDS * (n + 1)] for its n bytes; ids come to
 * its front.  Returns how many. */
enum { TOKEN_LATTICE_WORDS = 6 };

static inline int64_t token_unigram(const TokenTables *t, const unsigned char *p, const unsigned char *end, const unsigned char *limit,
                                    int32_t *symbol)
{
        const int64_t n = end - p;
        const TokenLattice l = {(unsigned char *)(symbol + 2 * n + 2), symbol + 4 * n + 4, symbol + 5 * n + 5};
        int64_t ids = 0;
        memset(l.sum, 0, 8);
        memset(l.begin, 0xff, ((size_t)n + 1) * sizeof *l.begin);
        for (int64_t at = 0; at < n;)
                at += token_leave(t, &l, p, end, at);
        for (int64_t at = n, after = -1; at > 0;) { /* reverses the path: `begin` then points forward */
                int64_t from = l.begin[at];
                l.begin[at] = (int32_t)after;
                after = at;
                at = from;
                if (at == 0)
                        l.begin[0] = (int32_t)after;
        }
        for (int64_t at = 0, next; at < n; at = next) {
                next = l.begin[at];
                if (l.token[next] != (int32_t)t->head->unknown || !(t->head->flags & TOKENS_HAVE_UNKNOWN)) {
                        symbol[ids++] = l.token[next];
                        continue;
                }
                while ((t->head->flags & TOKENS_FUSE_UNKNOWN) && next < n && l.token[l.begin[next]] == (int32_t)t->head->unknown)
                        next = l.begin[next];
                ids += token_lattice_unknown(t, p + at, p + next, limit, symbol + ids);
        }
        return ids;
}
