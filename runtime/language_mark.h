/*
 * The token that marks the language of a text.
 *
 * Needs token_tables.h.
 */

/* Replaces that token in ids [n] of tokens_encode(): of the tokens around the text, the only one that is not in `stop`, which ends with -1.
 * Returns 0 if there is no such token. */
static inline int language_mark(const TokenTables *t, const int32_t *stop, int32_t language, int32_t *ids, int64_t n)
{
        const int32_t *around = (const int32_t *)token_section(t, TOKENS_AROUND);
        const int64_t before = t->head->before, all = before + t->head->behind;
        int64_t found = -1;
        for (int64_t i = 0; i < all; i++) {
                int ends = 0;
                for (const int32_t *token = stop; *token >= 0; token++)
                        ends |= *token == around[i];
                if (!ends && found >= 0)
                        return 0;
                if (!ends)
                        found = i;
        }
        if (found < 0 || n < all)
                return 0;
        ids[found < before ? found : n - all + found] = language;
        return 1;
}
