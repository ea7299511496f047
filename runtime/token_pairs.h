/*
 * A pair of texts as tokens, in the order of the tokenizer's template.
 *
 * Needs tokens.h.
 */

/* Number of tokens that the template adds to those of the texts; below 0: the tokenizer has no template. */
static inline int64_t tokens_pair_added(const TokenTables *t)
{
        return t->count[TOKENS_TEMPLATE] - 2;
}

/* Maximum number of ids of a pair of texts of these bytes. */
static inline int64_t tokens_pair_room(const TokenTables *t, int64_t first, int64_t second)
{
        return tokens_grown(t, first) + tokens_grown(t, second) + t->count[TOKENS_TEMPLATE];
}

/* Reduces the lengths of two texts to the sum `most`, the longer one first, as Hugging Face's tokenizers do. */
static inline void tokens_pair_fit(int64_t most, int64_t *first, int64_t *second)
{
        int64_t *shorter = *first <= *second ? first : second, *longer = shorter == first ? second : first;
        const int64_t left = most - *shorter;
        if (*first + *second <= most)
                return;
        if (left >= *shorter) {
                *longer = left;
                return;
        }
        *shorter = most / 2;
        *longer = most - *shorter;
}

/* Encodes a pair of texts, UTF-8 or not, to ids and their types, each [tokens_pair_room()].  More than `most` tokens (0: no limit) are cut.
 * Returns the number of tokens; *all: their number without cutting.  -1: a text is too long, or there is no template.  scratch
 * [tokens_scratch() of the longer text], aligned to 4. */
static inline int64_t tokens_encode_pair(const TokenTables *t, const char *first, int64_t nfirst, const char *second, int64_t nsecond, int64_t most,
                                         int32_t *ids, int32_t *types, int64_t *all, void *scratch)
{
        const TokenItem *item = (const TokenItem *)token_section(t, TOKENS_TEMPLATE);
        const int64_t items = t->count[TOKENS_TEMPLATE], added = tokens_pair_added(t);
        int64_t n = tokens_encode(t, first, nfirst, TOKENS_BARE, ids, tokens_grown(t, nfirst), scratch), at = 0, m;
        m = n < 0 ? -1 : tokens_encode(t, second, nsecond, TOKENS_BARE, types, tokens_grown(t, nsecond), scratch);
        if (m < 0 || added < 0)
                return -1;
        *all = n + m + added;
        if (most > 0)
                tokens_pair_fit(most > added ? most - added : 0, &n, &m);
        for (int64_t i = 0; i < items; at += item[i].token == ITEM_FIRST ? n : item[i].token == ITEM_SECOND ? m : 1, i++)
                if (item[i].token == ITEM_FIRST)
                        memmove(ids + at, ids, (size_t)n * sizeof *ids);
                else if (item[i].token == ITEM_SECOND)
                        memcpy(ids + at, types, (size_t)m * sizeof *ids);
        at = 0;
        for (int64_t i = 0; i < items; i++) {
                const int64_t count = item[i].token == ITEM_FIRST ? n : item[i].token == ITEM_SECOND ? m : 1;
                if (item[i].token >= 0)
                        ids[at] = item[i].token;
                for (int64_t k = 0; k < count; k++)
                        types[at++] = item[i].type;
        }
        return at;
}
