/* Writes the tables of merges for the search in runtime/token_bpe.h. */
#include "tables_private.h"

/* The symbols of a token before merges, in symbol [text.n + 1]. */
static int64_t spell_split(const TokenizerForm *f, const TokenTables *t, Bytes text, int32_t *symbol)
{
        const unsigned char *p = (const unsigned char *)text.at;
        return f->flags & TOKENS_ARE_BYTES ? token_spell_bytes(t, p, p + text.n, symbol)
                                           : token_spell(t, p, p + text.n, p + text.n, symbol);
}

/* How its own merges make a token; n stays 0 if they don't. */
static void split_token(const TokenizerForm *f, const TokenTables *t, int32_t token, int32_t *symbol,
                        TokenSplit *split)
{
        const Bytes text = f->token[token];
        int64_t n = spell_split(f, t, text, symbol);
        int32_t made = symbol[0];
        uint32_t rank = 0;
        n = token_merge(t, symbol, n, 2, symbol + n);
        if (n == 2)
                rank = token_of_pair(t, symbol[0], symbol[1], &made) + 1;
        if (n < 1 || n > 2 || made != token)
                return;
        *split = (TokenSplit){(uint32_t)symbol[0], (uint32_t)symbol[n - 1], rank, -1, (uint32_t)text.n};
}

/* Whether tokens may be searched for: every character has symbols, and all merges are of texts. */
static bool may_search(const TokenizerForm *f, TokenSplit *split)
{
        if (!(f->flags & (TOKENS_ARE_BYTES | TOKENS_HAVE_BYTES)) || !merges_texts_alone(f))
                return false;
        for (int b = 0; b < 256; b++) {
                const int32_t token = f->of_byte[b];
                if (token < 0 || token >= f->vocab || split[token].rank)
                        return false;
                split[token] = (TokenSplit){0, 0, 0, -1, 1};
        }
        return true;
}

/* A token whose parts don't all have lower ranks than it has, which is so for some runs of spaces, can't be undone in the order of
 * ranks: it is not searched for. */
static void leave_out_unordered(const TokenizerForm *f, TokenSplit *split)
{
        for (bool again = true; again;) {
                again = false;
                for (int32_t i = 0; i < f->vocab; i++) {
                        TokenSplit *s = &split[i];
                        if (!s->n || !s->rank ||
                            (split[s->left].rank < s->rank && split[s->right].rank < s->rank))
                                continue;
                        *s = (TokenSplit){0, 0, UINT32_MAX, -1, 0};
                        again = true;
                }
        }
}

/* The trie of the tokens that are searched for, and for each the longest other one
 * that it begins with; false: they are too many. */
static bool add_search(TableWriter *b, TokenSplit *split)
{
        const TokenizerForm *f = b->form;
        Bytes *text = NEW_ARRAY(b->arena, Bytes, f->vocab);
        uint32_t nodes = 0;
        for (int32_t i = 0; i < f->vocab; i++)
                if (split[i].n && split[i].n == f->token[i].n)
                        text[i] = f->token[i];
        const TokenNode *node = trie_make(b->arena, text, f->vocab, &nodes);
        if (!node)
                return false;
        for (int32_t i = 0; i < f->vocab; i++) {
                uint32_t at = 0;
                for (int64_t k = 0; k + 1 < text[i].n; k++) {
                        at = token_child(node, nodes, at, (unsigned char)text[i].at[k]);
                        split[i].shorter = node[at].token >= 0 ? node[at].token : split[i].shorter;
                }
        }
        add_bytes(b, TOKENS_NODES, node, nodes * (int64_t)sizeof *node);
        add_bytes(b, TOKENS_SPLITS, split, f->vocab * (int64_t)sizeof *split);
        return true;
}

/* Marks the tokens that pieces become at once: those that their own merges
 * make, or all where merges are ignored. */
static void mark_whole(TableWriter *b, const TokenSplit *split)
{
        TokenSlot *slot = (TokenSlot *)(void *)b->section[TOKENS_WHOLE]->data;
        for (int64_t i = 0; i < b->section[TOKENS_WHOLE]->n / (int64_t)sizeof *slot; i++)
                if (slot[i].token != UINT32_MAX && (split[slot[i].token].n || b->form->ignores_merges))
                        slot[i].n_marks |= TOKEN_IS_WHOLE;
}

bool add_splits(TableWriter *b, const TokenTables *t)
{
        const TokenizerForm *f = b->form;
        int32_t *symbol = NEW_ARRAY(b->arena, int32_t, TOKEN_LIST_WORDS * (INT64_C(1) + MAX_TOKEN_BYTES));
        TokenSplit *split = NEW_ARRAY(b->arena, TokenSplit, f->vocab);
        const bool plain = !f->within.n && !f->ending.n;
        for (int32_t i = 0; i < f->vocab && plain; i++)
                if (f->token[i].n > 0 && f->token[i].n <= MAX_TOKEN_BYTES)
                        split_token(f, t, i, symbol, &split[i]);
        mark_whole(b, split);
        if (!plain || !may_search(f, split))
                return true;
        leave_out_unordered(f, split);
        return add_search(b, split);
}
