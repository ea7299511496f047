/* Writes the form as one block of tables: runtime/tokens.h has their layout. */
#include "tables_private.h"

#include <stdlib.h>

void add_bytes(TableWriter *b, int section, const void *bytes, int64_t n)
{
        if (n)
                text_add(b->section[section], bytes, n);
}

/* A section of this size as a zeroed array. */
static void *array_of(TableWriter *b, int section, int64_t size)
{
        Text *t = b->section[section];
        *t = (Text){.arena = b->arena, .data = arena_alloc(b->arena, size), .n = size, .cap = size};
        return t->data;
}

static uint32_t block_add_text(TableWriter *b, Bytes text)
{
        uint32_t at = (uint32_t)b->section[TOKENS_TEXTS]->n;
        add_bytes(b, TOKENS_TEXTS, text.at, text.n);
        return at;
}

/* --- tokens --- */

static void add_texts(TableWriter *b, int offsets, const Bytes *text)
{
        const int32_t vocab = b->form->vocab;
        uint32_t *offset = array_of(b, offsets, (vocab + INT64_C(1)) * (int64_t)sizeof *offset);
        int64_t n = 0;
        for (int32_t i = 0; i < vocab; i++) {
                offset[i] = (uint32_t)n;
                n += text[i].n;
        }
        offset[vocab] = (uint32_t)n;
        char *to = array_of(b, offsets + 1, n);
        for (int32_t i = 0; i < vocab; i++)
                if (text[i].n)
                        memcpy(to + offset[i], text[i].at, (size_t)text[i].n);
}

static int64_t power_above(int64_t n)
{
        int64_t power = 2;
        while (power < n + n / 2)
                power *= 2;
        return power;
}

static void token_slot_add(TokenSlot *slot, int64_t slots, Bytes text, int32_t token)
{
        const unsigned char *p = (const unsigned char *)text.at;
        uint64_t word = token_word(p, text.n, p + text.n),
                 second = text.n > 8 ? token_word(p + 8, text.n - 8, p + text.n) : 0,
                 h = token_hash(word, second, p, text.n);
        while (slot[h & (uint64_t)(slots - 1)].token != UINT32_MAX)
                h++;
        slot[h & (uint64_t)(slots - 1)] =
                (TokenSlot){word, second, (uint32_t)token, (uint32_t)text.n << TOKEN_MARK_BITS};
}

static void block_add_slots(TableWriter *b)
{
        const TokenizerForm *f = b->form;
        int64_t slots = power_above(f->vocab), size = slots * (int64_t)sizeof(TokenSlot);
        TokenSlot *slot = array_of(b, TOKENS_WHOLE, size);
        memset(slot, 0xff, (size_t)size);
        for (int32_t i = 0; i < f->vocab; i++)
                if (f->token[i].at)
                        token_slot_add(slot, slots, f->token[i], i);
}

static void block_add_pairs(TableWriter *b)
{
        const TokenizerForm *f = b->form;
        int64_t slots = power_above(f->nmerge), size = slots * (int64_t)sizeof(TokenPair);
        TokenPair *slot = array_of(b, TOKENS_PAIRS, size);
        memset(slot, 0xff, (size_t)size);
        for (int64_t i = 0; i < f->nmerge; i++) {
                const FormMerge *m = &f->merge[i];
                uint64_t h = token_mix((uint64_t)(uint32_t)m->left << 32 | (uint32_t)m->right);
                TokenPair *s;
                while ((s = &slot[h & (uint64_t)(slots - 1)])->left != UINT32_MAX &&
                       (s->left != (uint32_t)m->left || s->right != (uint32_t)m->right))
                        h++;
                *s = (TokenPair){(uint32_t)m->left, (uint32_t)m->right, m->rank,
                                 (uint32_t)m->made}; /* the last of equal ones counts */
        }
}

static void add_pair_bits(TableWriter *b)
{
        const TokenizerForm *f = b->form;
        int64_t bytes = power_above(f->nmerge); /* 12 bits and more for a pair */
        unsigned char *bits = array_of(b, TOKENS_PAIR_BITS, bytes);
        for (int64_t i = 0; i < f->nmerge; i++) {
                const FormMerge *m = &f->merge[i];
                uint64_t h = token_mix((uint64_t)(uint32_t)m->left << 32 | (uint32_t)m->right),
                         bit = token_pair_bit(h, bytes);
                bits[bit / 8] |= (unsigned char)(1 << bit % 8);
        }
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

static const char *normalise_added(const TokenizerForm *f, FormAdded *added);

static const char *block_add_added(TableWriter *b)
{
        const TokenizerForm *f = b->form;
        FormAdded *sorted = NEW_ARRAY(b->arena, FormAdded, f->nadded + 1);
        for (int i = 0; i < f->nadded; i++)
                sorted[i] = f->added[i];
        const char *wrong = normalise_added(f, sorted);
        qsort(sorted, (size_t)f->nadded, sizeof *sorted, by_bytes);
        for (int i = 0; i < f->nadded; i++) {
                TokenAdded row = {(uint32_t)b->section[TOKENS_ADDED_BYTES]->n, (uint32_t)sorted[i].text.n,
                                  sorted[i].token, sorted[i].flags};
                /* the same text twice */
                if (!sorted[i].text.n || (i && !by_bytes(&sorted[i], &sorted[i - 1])))
                        continue;
                add_bytes(b, TOKENS_ADDED, &row, sizeof row);
                add_bytes(b, TOKENS_ADDED_BYTES, sorted[i].text.at, sorted[i].text.n);
                b->head.raw_added += !sorted[i].normalised;
        }
        return wrong;
}

/* --- steps --- */

static uint32_t add_regex(TableWriter *b, const RegexTable *t)
{
        TokenRegex head = t->head;
        uint32_t number = (uint32_t)(b->section[TOKENS_REGEX]->n / (int64_t)sizeof head);
        head.rows = (uint32_t)(b->section[TOKENS_ROWS]->n / 4);
        head.stage = (uint32_t)(b->section[TOKENS_STAGE]->n / 2);
        head.page = (uint32_t)b->section[TOKENS_CLASS]->n;
        add_bytes(b, TOKENS_REGEX, &head, sizeof head);
        add_bytes(b, TOKENS_ROWS, t->row, 4 * (int64_t)head.entries);
        add_bytes(b, TOKENS_STAGE, t->stage, sizeof t->stage);
        add_bytes(b, TOKENS_CLASS, t->page, (int64_t)head.pages * TOKENS_PAGE);
        return number;
}

/* The number of a map, which may be there already. */
static uint32_t block_add_map(TableWriter *b, const FormMap *m)
{
        for (uint32_t i = 0; i < b->maps; i++)
                if (b->map[i] == m)
                        return i;
        TokenMap row = {(uint32_t)(b->section[TOKENS_MAP_STAGE]->n / 2),
                        (uint32_t)(b->section[TOKENS_MAP_VALUES]->n / 4 / TOKENS_PAGE), 1};
        const uint32_t none[TOKENS_PAGE] = {0};
        add_bytes(b, TOKENS_MAP_VALUES, none, sizeof none);
        for (int p = 0; p < TOKENS_PAGES; p++) {
                const uint16_t number = m->page[p] ? (uint16_t)row.pages++ : 0;
                uint32_t value[TOKENS_PAGE];
                add_bytes(b, TOKENS_MAP_STAGE, &number, sizeof number);
                for (int i = 0; m->page[p] && i < TOKENS_PAGE; i++) {
                        Bytes text = m->page[p][i];
                        value[i] = m->numbers ? (uint32_t)text.n
                                   : text.at  ? (block_add_text(b, text) << MAP_BITS | (uint32_t)text.n) + 1
                                              : 0;
                }
                if (m->page[p])
                        add_bytes(b, TOKENS_MAP_VALUES, value, sizeof value);
        }
        add_bytes(b, TOKENS_MAPS, &row, sizeof row);
        b->map[b->maps] = m;
        return b->maps++;
}

static void add_changes(TableWriter *b)
{
        const TokenizerForm *f = b->form;
        for (int i = 0; i < f->nchange; i++) {
                const FormChange *c = &f->change[i];
                TokenChange row = {.kind = c->kind,
                                   .flags = c->flags,
                                   .n = (uint32_t)c->text.n,
                                   .to_n = (uint32_t)c->with.n};
                row.at = block_add_text(b, c->text);
                row.to = block_add_text(b, c->with);
                row.table = c->map ? block_add_map(b, c->map) : c->regex ? add_regex(b, c->regex) : 0;
                add_bytes(b, TOKENS_CHANGES, &row, sizeof row);
                if (c->kind == CHANGE_COMPOSE && !b->section[TOKENS_COMPOSED]->n) {
                        int64_t size;
                        const TokenComposed *all = composed_characters(&size);
                        add_bytes(b, TOKENS_COMPOSED, all, size);
                }
        }
        add_bytes(b, TOKENS_CHARSMAP, f->charsmap.at, f->charsmap.n);
        add_bytes(b, TOKENS_CHARSMAP_TEXTS, f->charsmap_texts.at, f->charsmap_texts.n);
}

static void add_step(TableWriter *b, const FormStep *s)
{
        TokenStep row = {s->kind, 0, s->behavior, s->flags, block_add_text(b, s->text), (uint32_t)s->text.n};
        if (s->regex)
                row.regex = add_regex(b, s->regex);
        add_bytes(b, TOKENS_STEPS, &row, sizeof row);
}

/* Finally the acceleration of merging: cuts that no merge crosses. */
static void add_steps(TableWriter *b)
{
        const TokenizerForm *f = b->form;
        for (int i = 0; i < f->nstep; i++)
                add_step(b, &f->step[i]);
        FormStep cuts = {.kind = STEP_SPLIT, .behavior = SPLIT_ISOLATED, .text = {"", 0}};
        cuts.regex = f->nstep < MAX_STEPS ? form_cuts(f) : NULL;
        if (cuts.regex)
                add_step(b, &cuts);
}

static double map_growth(const FormMap *m)
{
        double growth = m->hangul ? 3 : 1;
        for (uint32_t p = 0; p < TOKENS_PAGES; p++)
                for (uint32_t i = 0; m->page[p] && i < TOKENS_PAGE; i++) {
                        unsigned char bytes[4];
                        double grown =
                                (double)m->page[p][i].n / token_spell_character(p * TOKENS_PAGE + i, bytes);
                        growth = grown > growth ? grown : growth;
                }
        return growth;
}

/* A normalised text of n bytes has at most each * n + once bytes. */
typedef struct {
        double each, once;
} TextGrowth;

static TextGrowth growth_times(TextGrowth g, double times, double more)
{
        times = times > 1 ? times : 1;
        return (TextGrowth){g.each * times, g.once * times + more};
}

static TextGrowth change_growth(TextGrowth g, const FormChange *c)
{
        switch (c->kind) {
        case CHANGE_REPLACE:
                return growth_times(g, (double)c->with.n / (double)(c->text.n ? c->text.n : 1), 0);
        case CHANGE_PREPEND: return growth_times(g, 1, (double)c->text.n);
        case CHANGE_MAP: return growth_times(g, map_growth(c->map), 0);
        case CHANGE_SENTENCEPIECE: return growth_times(g, c->growth > 3 ? c->growth : 3, 3);
        case CHANGE_MATCHES:
        case CHANGE_CHARSMAP: return growth_times(g, c->growth, 0);
        default: return g;
        }
}

/* How many times as long a text becomes, at most; each byte of it, and once in
 * front. */
static int64_t growth_of(const TokenizerForm *f)
{
        TextGrowth g = {1, 0};
        for (int i = 0; i < f->nchange; i++)
                g = change_growth(g, &f->change[i]);
        for (int i = 0; i < f->nstep; i++) {
                const FormStep *s = &f->step[i];
                if (s->kind == STEP_WORD_MARK)
                        g = growth_times(g, (double)s->text.n + (i ? 1 : 0), i ? 0 : (double)s->text.n);
                else if (s->kind == STEP_SPACE_BEFORE)
                        g = growth_times(g, i ? 2 : 1, 1);
        }
        double most = g.each > g.once ? g.each : g.once;
        return most < TOKENS_GROWTH ? (int64_t)most + 1 : TOKENS_GROWTH + 1;
}

/* --- models --- */

/* All tokens byte by byte; false: they are too many. */
static bool add_nodes(TableWriter *b)
{
        const TokenizerForm *f = b->form;
        uint32_t nodes = 0, at = 0;
        if (f->model != MODEL_WORDPIECE && f->model != MODEL_UNIGRAM)
                return true;
        TokenNode *node =
                trie_make(f->arena, f->token, f->model == MODEL_UNIGRAM ? f->scored : f->vocab, &nodes);
        if (!node)
                return false;
        for (int64_t i = 0; i < f->prefix.n && at < nodes; i++)
                at = token_child(node, nodes, at, (unsigned char)f->prefix.at[i]);
        if (at == nodes) { /* no token has the prefix: one node more that leads nowhere */
                node = arena_grow(f->arena, node, nodes * (int64_t)sizeof *node,
                                  (nodes + 1) * (int64_t)sizeof *node);
                node[nodes++] = (TokenNode){UINT32_MAX, UINT32_MAX, -1};
        }
        add_bytes(b, TOKENS_NODES, node, nodes * (int64_t)sizeof *node);
        b->head.inner = at;
        b->head.characters = f->longest;
        return true;
}

static void add_scores(TableWriter *b)
{
        const TokenizerForm *f = b->form;
        const double none = 0;
        for (int32_t i = 0; f->score && i < f->vocab; i++)
                add_bytes(b, TOKENS_SCORES, i < f->scored ? &f->score[i] : &none, sizeof none);
        b->head.unknown_score = f->unknown_score;
}

/* Sets of letters, digits and so on, if an added token needs them. */
static const char *block_add_word(TableWriter *b)
{
        const char *why = NULL;
        bool asked = false;
        for (int i = 0; i < b->form->nadded; i++)
                asked |= (b->form->added[i].flags & ADDED_IS_WORD) != 0;
        RegexTable *word =
                asked ? regex_table(b->arena, regex_of_set(b->arena, charset_rust_word(b->arena), false),
                                    &why)
                      : NULL;
        if (word)
                b->head.word = add_regex(b, word);
        return why;
}

/* --- the block --- */

static void *block_assemble(TableWriter *b, int64_t *size)
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

/* --- texts of tokens that need no state in decoding --- */

static void add_short(TableWriter *b)
{
        const TokenizerForm *f = b->form;
        TokenShown *row = array_of(b, TOKENS_SHORT, f->vocab * (int64_t)sizeof *row);
        for (int32_t i = 0; i < f->vocab; i++, row++) {
                Bytes text = f->shown[i];
                bool whole = !token_unfinished((const unsigned char *)text.at, text.n) &&
                             !(f->flags & TOKENS_END_IN_SPACE);
                row->n = TOKEN_NOT_SHORT;
                if (text.n <= (int64_t)sizeof row->bytes && whole && !(f->mark[i] & TOKEN_CONTROL)) {
                        row->n = (unsigned char)text.n;
                        if (text.n)
                                memcpy(row->bytes, text.at, (size_t)text.n);
                }
        }
}

/* --- added tokens that are looked for in normalised text are normalised too --- */

/* A text as the normaliser makes it. */
static Bytes normalised(Arena *a, const TokenTables *t, Bytes text)
{
        const TokenChange *change = (const TokenChange *)token_section(t, TOKENS_CHANGES);
        int64_t room = tokens_grown(t, text.n) + 1;
        for (int64_t i = 0; i < t->count[TOKENS_CHANGES]; i++) {
                unsigned char *to = arena_alloc(a, room);
                const unsigned char *p = (const unsigned char *)text.at;
                TokenWriter w = {.at = to, .end = to + room};
                token_change(t, &change[i], p, p + text.n, &w);
                text = (Bytes){(const char *)to, w.at - to};
        }
        return text;
}

/* Only tables of the normaliser do it. */
static const char *normalise_added(const TokenizerForm *f, FormAdded *added)
{
        int wanted = 0;
        for (int i = 0; i < f->nadded; i++)
                wanted += added[i].normalised;
        if (!wanted || !f->nchange ||
            f->change[0].kind == CHANGE_SENTENCEPIECE) /* which leaves them as they are */
                return NULL;
        TokenizerForm *alone = NEW(f->arena, TokenizerForm);
        Bytes none = {"", 0};
        uint8_t mark = 0;
        TokenBlock block;
        TokenTables t;
        *alone = (TokenizerForm){.arena = f->arena,
                                 .path = f->path,
                                 .kind = f->kind,
                                 .vocab = 1,
                                 .token = &none,
                                 .shown = &none,
                                 .mark = &mark};
        alone->nchange = f->nchange;
        memcpy(alone->change, f->change, sizeof alone->change);
        alone->charsmap = f->charsmap;
        alone->charsmap_texts = f->charsmap_texts;
        const char *wrong = form_tables(alone, &block);
        if (wrong || !tokens_open(&t, block.block, (uint64_t)block.size))
                return wrong ? wrong : no_memory;
        for (int i = 0; i < f->nadded; i++)
                if (added[i].normalised)
                        added[i].text = normalised(f->arena, &t, added[i].text);
        return NULL;
}

static void set_head(TableWriter *b)
{
        const TokenizerForm *f = b->form;
        b->head.vocab = (uint32_t)f->vocab;
        b->head.unknown = (uint32_t)f->unknown;
        b->head.flags = f->flags;
        b->head.model = f->model;
        b->head.within = block_add_text(b, f->within);
        b->head.nwithin = (uint32_t)f->within.n;
        b->head.ending = block_add_text(b, f->ending);
        b->head.nending = (uint32_t)f->ending.n;
        b->head.strip = (uint32_t)f->strip;
        b->head.before = (uint32_t)f->nbefore;
        b->head.behind = (uint32_t)f->nbehind;
        for (int32_t i = 0; i < f->vocab; i++) {
                int64_t n = f->first && f->first[i].n > f->shown[i].n ? f->first[i].n : f->shown[i].n;
                b->head.longest = n > b->head.longest ? (uint32_t)n : b->head.longest;
        }
}

const char *form_tables(const TokenizerForm *f, TokenBlock *out)
{
        TableWriter *b = NEW(f->arena, TableWriter);
        b->form = f;
        b->arena = f->arena;
        for (int i = 0; i < TOKENS_SECTIONS; i++)
                b->section[i] = text_new(f->arena);
        memcpy(b->head.name, "tokens 3", 8);
        int64_t growth = growth_of(f);
        if (growth > TOKENS_GROWTH)
                return arena_printf(f->arena,
                                    "%s: normalizer: a text could become more than %d times as long", f->path,
                                    TOKENS_GROWTH);
        b->head.growth = (uint32_t)growth;
        set_head(b);
        add_texts(b, TOKENS_OFFSET, f->token);
        add_texts(b, TOKENS_SHOWN_OFFSET, f->shown);
        if (f->first)
                add_texts(b, TOKENS_FIRST_OFFSET, f->first);
        add_bytes(b, TOKENS_MARKS, f->mark, f->vocab);
        add_short(b);
        block_add_slots(b);
        block_add_pairs(b);
        add_pair_bits(b);
        add_bytes(b, TOKENS_OF_BYTE, f->of_byte, sizeof f->of_byte);
        const char *why = block_add_added(b);
        if (why)
                return why;
        add_steps(b);
        add_changes(b);
        add_scores(b);
        why = block_add_word(b);
        if (why || !add_nodes(b))
                return arena_printf(f->arena, "%s: %s", f->path, why ? why : "it has too many tokens");
        add_bytes(b, TOKENS_AROUND, f->before, f->nbefore * (int64_t)sizeof *f->before);
        add_bytes(b, TOKENS_AROUND, f->behind, f->nbehind * (int64_t)sizeof *f->behind);
        add_bytes(b, TOKENS_TEMPLATE, f->item, f->nitem * (int64_t)sizeof *f->item);
        void *block = block_assemble(b, &out->size);
        TokenTables t;
        if (block && f->model == MODEL_BPE && tokens_open(&t, block, (uint64_t)out->size))
                block = add_splits(b, &t) ? block_assemble(b, &out->size) : NULL;
        if (!block || !tokens_open(&t, block, (uint64_t)out->size))
                return arena_printf(f->arena, "%s: its tables are too large", f->path);
        out->block = block;
        out->vocab = f->vocab;
        out->is_open_ended = f->is_open_ended;
        out->about = arena_printf(f->arena, "%s, %d tokens", f->kind, f->vocab);
        return NULL;
}
