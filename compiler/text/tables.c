/* The form as one block of tables: runtime/tokens.h says what stands where. */
#include "form_private.h"

#include <stdlib.h>

typedef struct {
        const Form *form;
        Arena *arena;
        Text *section[TOKENS_SECTIONS];
        TokenHead head;
} Block;

static void add(Block *b, int section, const void *bytes, int64_t n)
{
        if (n)
                text_add(b->section[section], bytes, n);
}

static uint32_t add_text(Block *b, Bytes text)
{
        uint32_t at = (uint32_t)b->section[TOKENS_TEXTS]->n;
        add(b, TOKENS_TEXTS, text.at, text.n);
        return at;
}

/* --- tokens ---------------------------------------------------------------------------------------------------------- */

static void add_texts(Block *b, int offsets, const Bytes *text)
{
        for (int32_t i = 0; i <= b->form->vocab; i++) {
                uint32_t at = (uint32_t)b->section[offsets + 1]->n;
                add(b, offsets, &at, sizeof at);
                if (i < b->form->vocab)
                        add(b, offsets + 1, text[i].at, text[i].n);
        }
}

static int64_t power_above(int64_t n)
{
        int64_t power = 2;
        while (power < n + n / 2)
                power *= 2;
        return power;
}

static void add_slot(TokenSlot *slot, int64_t slots, Bytes text, int32_t token)
{
        const unsigned char *p = (const unsigned char *)text.at;
        uint64_t word = token_word(p, text.n, p + text.n), h = token_hash(word, p, text.n);
        while (slot[h & (uint64_t)(slots - 1)].token != UINT32_MAX)
                h++;
        slot[h & (uint64_t)(slots - 1)] = (TokenSlot){word, (uint32_t)token, (uint32_t)text.n << 1};
}

static void add_slots(Block *b)
{
        const Form *f = b->form;
        int64_t slots = power_above(f->vocab), size = slots * (int64_t)sizeof(TokenSlot);
        TokenSlot *slot = arena_alloc(b->arena, size);
        memset(slot, 0xff, (size_t)size);
        for (int32_t i = 0; i < f->vocab; i++)
                if (f->token[i].at)
                        add_slot(slot, slots, f->token[i], i);
        add(b, TOKENS_WHOLE, slot, size);
}

static void add_pairs(Block *b)
{
        const Form *f = b->form;
        int64_t slots = power_above(f->nmerge), size = slots * (int64_t)sizeof(TokenPair);
        TokenPair *slot = arena_alloc(b->arena, size);
        memset(slot, 0xff, (size_t)size);
        for (int64_t i = 0; i < f->nmerge; i++) {
                const FormMerge *m = &f->merge[i];
                uint64_t h = token_mix((uint64_t)(uint32_t)m->left << 32 | (uint32_t)m->right);
                TokenPair *s;
                while ((s = &slot[h & (uint64_t)(slots - 1)])->left != UINT32_MAX &&
                       (s->left != (uint32_t)m->left || s->right != (uint32_t)m->right))
                        h++;
                *s = (TokenPair){(uint32_t)m->left, (uint32_t)m->right, m->rank,
                                 (uint32_t)m->made}; /* the last of equals holds */
        }
        add(b, TOKENS_PAIRS, slot, size);
}

/* --- added tokens ---------------------------------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
        const FormAdded *x = a, *y = b;
        if (x->normalised != y->normalised)
                return x->normalised ? 1 : -1;
        int64_t n = x->text.n < y->text.n ? x->text.n : y->text.n;
        int order = memcmp(x->text.at, y->text.at, (size_t)n);
        return order ? order : (x->text.n > y->text.n) - (x->text.n < y->text.n);
}

static void add_added(Block *b)
{
        const Form *f = b->form;
        FormAdded *sorted = NEW_ARRAY(b->arena, FormAdded, f->nadded + 1);
        for (int i = 0; i < f->nadded; i++)
                sorted[i] = f->added[i];
        qsort(sorted, (size_t)f->nadded, sizeof *sorted, by_bytes);
        for (int i = 0; i < f->nadded; i++) {
                TokenAdded row = {(uint32_t)b->section[TOKENS_ADDED_BYTES]->n, (uint32_t)sorted[i].text.n,
                                  sorted[i].token, sorted[i].flags};
                if (i && !by_bytes(&sorted[i], &sorted[i - 1]))
                        continue; /* the same text twice */
                add(b, TOKENS_ADDED, &row, sizeof row);
                add(b, TOKENS_ADDED_BYTES, sorted[i].text.at, sorted[i].text.n);
                b->head.raw_added += !sorted[i].normalised;
        }
}

/* --- steps ----------------------------------------------------------------------------------------------------------- */

static uint32_t add_regex(Block *b, const RegexTable *t)
{
        TokenRegex head = t->head;
        uint32_t number = (uint32_t)(b->section[TOKENS_REGEX]->n / (int64_t)sizeof head);
        head.rows = (uint32_t)(b->section[TOKENS_ROWS]->n / 4);
        head.stage = (uint32_t)(b->section[TOKENS_STAGE]->n / 2);
        head.page = (uint32_t)b->section[TOKENS_CLASS]->n;
        add(b, TOKENS_REGEX, &head, sizeof head);
        add(b, TOKENS_ROWS, t->row, 4 * (int64_t)head.entries);
        add(b, TOKENS_STAGE, t->stage, sizeof t->stage);
        add(b, TOKENS_CLASS, t->page, (int64_t)head.pages * TOKENS_PAGE);
        return number;
}

static void add_steps(Block *b)
{
        const Form *f = b->form;
        for (int i = 0; i < f->nstep; i++) {
                const FormStep *s = &f->step[i];
                TokenStep row = {
                        s->kind, 0, s->behavior, s->flags, add_text(b, s->text), (uint32_t)s->text.n};
                if (s->regex)
                        row.regex = add_regex(b, s->regex);
                add(b, TOKENS_STEPS, &row, sizeof row);
        }
        for (int i = 0; i < f->nchange; i++) {
                const FormChange *c = &f->change[i];
                TokenChange row = {c->kind, add_text(b, c->what), (uint32_t)c->what.n, 0,
                                   (uint32_t)c->with.n};
                row.to = add_text(b, c->with);
                add(b, TOKENS_CHANGES, &row, sizeof row);
        }
}

/* How many times as long a text becomes, at most; each byte of it, and once in front. */
static int64_t growth_of(const Form *f)
{
        int64_t growth = 1;
        for (int i = 0; i < f->nchange; i++) {
                const FormChange *c = &f->change[i];
                int64_t each = c->what.n ? (c->with.n + c->what.n - 1) / c->what.n : 1;
                growth *= c->kind == CHANGE_PREPEND ? c->what.n + 1 : each > 1 ? each : 1;
                if (growth > 64)
                        return growth;
        }
        for (int i = 0; i < f->nstep; i++)
                growth *= f->step[i].kind == STEP_WORD_MARK      ? f->step[i].text.n + 1
                          : f->step[i].kind == STEP_SPACE_BEFORE ? 2
                                                                 : 1;
        return growth;
}

/* --- the block ------------------------------------------------------------------------------------------------------- */

static void *put_together(Block *b, int64_t *size)
{
        int64_t n = (sizeof b->head + 7) / 8 * 8;
        for (int i = 0; i < TOKENS_SECTIONS; i++) {
                b->head.section[i].at = (uint32_t)n;
                b->head.section[i].size = (uint32_t)b->section[i]->n;
                n += (b->section[i]->n + 7) / 8 * 8;
        }
        *size = n;
        if (n > UINT32_MAX)
                return NULL;
        b->head.size = (uint32_t)n;
        char *block = arena_alloc(b->arena, n);
        memcpy(block, &b->head, sizeof b->head);
        for (int i = 0; i < TOKENS_SECTIONS; i++)
                memcpy(block + b->head.section[i].at, b->section[i]->data, (size_t)b->section[i]->n);
        return block;
}

/* Marks the tokens that pieces become at once: those that their own merges make, or all where merges are ignored. */
static void mark_whole(const Form *f, void *block, const TokenTables *t)
{
        const TokenHead *head = block;
        TokenSlot *slot = (TokenSlot *)(void *)((char *)block + head->section[TOKENS_WHOLE].at);
        int32_t symbol[TOKEN_LIST_WORDS * 64];
        for (int64_t i = 0; i < t->count[TOKENS_WHOLE]; i++) {
                if (slot[i].token == UINT32_MAX)
                        continue;
                Bytes text = f->token[slot[i].token];
                const unsigned char *p = (const unsigned char *)text.at;
                bool whole = f->ignores_merges;
                if (!whole && text.n && text.n <= 64) {
                        int64_t n = f->flags & TOKENS_ARE_BYTES
                                            ? token_spell_bytes(t, p, p + text.n, symbol)
                                            : token_spell(t, p, p + text.n, p + text.n, symbol);
                        n = token_merge(t, symbol, n, symbol + n);
                        whole = n == 1 && symbol[0] == (int32_t)slot[i].token;
                }
                slot[i].n_whole |= whole ? TOKEN_IS_WHOLE : 0;
        }
}

const char *form_tables(const Form *f, TokenBlock *out)
{
        Block *b = NEW(f->arena, Block);
        b->form = f;
        b->arena = f->arena;
        for (int i = 0; i < TOKENS_SECTIONS; i++)
                b->section[i] = text_new(f->arena);
        memcpy(b->head.name, "tokens 1", 8);
        int64_t growth = growth_of(f);
        if (growth > 64)
                return arena_printf(
                        f->arena, "%s: normalizer: a text could become more than 64 times as long", f->path);
        b->head.growth = (uint32_t)growth;
        b->head.vocab = (uint32_t)f->vocab;
        b->head.unknown = (uint32_t)f->unknown;
        b->head.flags = f->flags;
        b->head.strip = (uint32_t)f->strip;
        b->head.before = (uint32_t)f->nbefore;
        b->head.behind = (uint32_t)f->nbehind;
        for (int32_t i = 0; i < f->vocab; i++)
                if (f->shown[i].n > b->head.longest)
                        b->head.longest = (uint32_t)f->shown[i].n;
        add_texts(b, TOKENS_OFFSET, f->token);
        add_texts(b, TOKENS_SHOWN_OFFSET, f->shown);
        add(b, TOKENS_MARKS, f->mark, f->vocab);
        add_slots(b);
        add_pairs(b);
        add(b, TOKENS_OF_BYTE, f->of_byte, sizeof f->of_byte);
        add_added(b);
        add_steps(b);
        add(b, TOKENS_AROUND, f->before, f->nbefore * (int64_t)sizeof *f->before);
        add(b, TOKENS_AROUND, f->behind, f->nbehind * (int64_t)sizeof *f->behind);
        void *block = put_together(b, &out->size);
        TokenTables t;
        if (!block || !tokens_open(&t, block, (uint64_t)out->size))
                return arena_printf(f->arena, "%s: its tables are too large", f->path);
        mark_whole(f, block, &t);
        out->block = block;
        out->vocab = f->vocab;
        out->about = arena_printf(f->arena, "%s, %d tokens", f->kind, f->vocab);
        return NULL;
}
