/*
 * A word to tokens: WordPiece, the longest token again and again, and WordLevel.
 *
 * Needs token_tables.h.
 */

/* The child of a node for a byte; `count` if there is none. */
static inline uint32_t token_child(const TokenNode *node, uint32_t count, uint32_t at, unsigned byte)
{
        const uint64_t child = (uint64_t)node[at].base + byte;
        return child < count && node[child].check == at ? (uint32_t)child : count;
}

/* The longest token at p that continues trie node `at`, or -1; sets *after to its end. */
static inline int32_t token_longest_at(const TokenTables *t, uint32_t at, const unsigned char *p, const unsigned char *end,
                                       const unsigned char **after)
{
        const TokenNode *node = (const TokenNode *)token_section(t, TOKENS_NODES);
        const uint32_t count = (uint32_t)t->count[TOKENS_NODES];
        int32_t found = -1;
        while (p < end && (at = token_child(node, count, at, *p++)) < count) {
                const int ends = (uint32_t)node[at].token < t->head->vocab;
                found = ends ? node[at].token : found;
                *after = ends ? p : *after;
        }
        return found;
}

/* WordPiece: the tokens of a word; a word that can't be split into tokens, or is too long, is unknown.  Returns their number. */
static inline int64_t token_wordpiece(const TokenTables *t, const unsigned char *p, const unsigned char *end, int32_t *symbol)
{
        int64_t n = 0, characters = 0;
        uint32_t code, at = 0;
        int known = 1;
        for (const unsigned char *q = p; q < end && characters <= (int64_t)t->head->characters; characters++)
                q += token_character(q, end, &code);
        for (known = characters <= (int64_t)t->head->characters; known && p < end; at = t->head->inner) {
                int32_t token = token_longest_at(t, at, p, end, &p);
                known = token >= 0;
                symbol[n++] = token;
        }
        if (known)
                return n;
        symbol[0] = (int32_t)t->head->unknown;
        return (t->head->flags & TOKENS_HAVE_UNKNOWN) != 0;
}

/* WordLevel: a word is a token. */
static inline int64_t token_wordlevel(const TokenTables *t, const unsigned char *p, const unsigned char *end, const unsigned char *limit,
                                  int32_t *symbol)
{
        const int32_t token = token_of_bytes(t, p, end - p, limit, 0);
        symbol[0] = token >= 0 ? token : (int32_t)t->head->unknown;
        return token >= 0 || (t->head->flags & TOKENS_HAVE_UNKNOWN);
}
