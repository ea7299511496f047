/*
 * A pair of texts as tokens, in the order of the tokenizer's template, or of a template with texts of its own.
 *
 * Needs tokens.h.
 */

/* Number of tokens that the tokenizer's template adds to those of the texts; below 0: there is no template. */
static inline int64_t tokens_pair_added(const TokenTables *t)
{
        return t->pair_form ? 0 : t->count[TOKENS_TEMPLATE] - 2;
}

/* Bytes of the longest text that is encoded at once for a pair of texts of these bytes. */
static inline int64_t tokens_pair_bytes(const TokenTables *t, int64_t first, int64_t second)
{
        int64_t n = first + second;
        if (!t->pair_form)
                return first > second ? first : second;
        for (int64_t i = 0; i < t->pair_form->parts; i++)
                n += t->pair_form->part[i].token == ITEM_TEXT ? (int64_t)strlen(t->pair_form->part[i].text) : 0;
        return n;
}

/* Maximum number of ids of a pair of texts of these bytes. */
static inline int64_t tokens_pair_room(const TokenTables *t, int64_t first, int64_t second)
{
        if (t->pair_form)
                return tokens_grown(t, tokens_pair_bytes(t, first, second)) + t->pair_form->parts * tokens_grown(t, 0);
        return tokens_grown(t, first) + tokens_grown(t, second) + t->count[TOKENS_TEMPLATE];
}

/* Bytes of scratch for tokens_encode_pair(). */
static inline int64_t tokens_pair_scratch(const TokenTables *t, int64_t first, int64_t second)
{
        const int64_t n = tokens_pair_bytes(t, first, second);
        return tokens_scratch(t, n) + (t->pair_form ? n : 0);
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

/* Appends a part of a template, or of the pair, to text [n].  Returns the number of bytes then. */
static inline int64_t tokens_pair_append(char *text, int64_t n, const char *from, int64_t bytes)
{
        if (bytes)
                memcpy(text + n, from, (size_t)bytes);
        return n + bytes;
}

/* A pair by a template with texts.  All plain text between two special tokens is encoded at once, so that the ids equal those of the
 * whole text.  A pair that is too long loses the tokens before the template's tail. */
static inline int64_t tokens_encode_form(const TokenTables *t, const char *first, int64_t nfirst, const char *second, int64_t nsecond, int64_t most,
                                         int32_t *ids, int32_t *types, int64_t *all, void *scratch)
{
        const PairForm *f = t->pair_form;
        const int64_t bytes = tokens_pair_bytes(t, nfirst, nsecond);
        char *text = (char *)scratch + tokens_scratch(t, bytes);
        int64_t n = 0, waiting = 0;
        if (bytes > tokens_most(t))
                return -1;
        for (int64_t i = 0; i <= f->parts; i++) {
                const int32_t token = i < f->parts ? f->part[i].token : 0;
                if (token == ITEM_FIRST)
                        waiting = tokens_pair_append(text, waiting, first, nfirst);
                else if (token == ITEM_SECOND)
                        waiting = tokens_pair_append(text, waiting, second, nsecond);
                else if (token == ITEM_TEXT)
                        waiting = tokens_pair_append(text, waiting, f->part[i].text, (int64_t)strlen(f->part[i].text));
                if (token < 0)
                        continue;
                if (waiting)
                        n += tokens_encode(t, text, waiting, TOKENS_BARE | (n ? TOKENS_GOES_ON : 0), ids + n, tokens_grown(t, waiting), scratch);
                waiting = 0;
                if (i < f->parts)
                        ids[n++] = token;
        }
        *all = n;
        if (most > 0 && n > most) {
                const int64_t tail = f->tail < most ? f->tail : most;
                memmove(ids + most - tail, ids + n - tail, (size_t)tail * sizeof *ids);
                n = most;
        }
        memset(types, 0, (size_t)n * sizeof *types);
        return n;
}

/* Encodes a pair of texts, UTF-8 or not, to ids and their types, each [tokens_pair_room()].  More than `most` tokens (0: no limit) are cut.
 * Returns the number of tokens; *all: their number without cutting.  -1: a text is too long, or there is no template.  scratch
 * [tokens_pair_scratch()], aligned to 4. */
static inline int64_t tokens_encode_pair(const TokenTables *t, const char *first, int64_t nfirst, const char *second, int64_t nsecond, int64_t most,
                                         int32_t *ids, int32_t *types, int64_t *all, void *scratch)
{
        if (t->pair_form)
                return tokens_encode_form(t, first, nfirst, second, nsecond, most, ids, types, all, scratch);
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
