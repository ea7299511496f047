/* Character classes and mappings: maps for the normaliser, and sets, from the tables of characters.def. */
#include "form_private.h"

/* --- maps ------------------------------------------------------------------------------------------------------------ */

static void map_put(Arena *a, FormMap *m, uint32_t code, Bytes text)
{
        Bytes **page = &m->page[code / TOKENS_PAGE];
        if (!*page)
                *page = NEW_ARRAY(a, Bytes, TOKENS_PAGE);
        (*page)[code % TOKENS_PAGE] = text;
}

static Bytes map_get(const FormMap *m, uint32_t code)
{
        const Bytes *page = m->page[code / TOKENS_PAGE];
        return page ? page[code % TOKENS_PAGE] : (Bytes){NULL, 0};
}

static Bytes character_text(Arena *a, uint32_t code)
{
        unsigned char bytes[4];
        int n = token_spell_character(code, bytes);
        return (Bytes){arena_strndup(a, (const char *)bytes, n), n};
}

static bool is_surrogate(uint32_t code)
{
        return code >= 0xd800 && code < 0xe000;
}

/* Applies g to each character of a text.  to: scratch memory. */
static Bytes mapped_text(Text *to, const FormMap *g, Bytes text)
{
        bool changed = false;
        to->n = 0;
        for (int64_t i = 0; i < text.n;) {
                uint32_t code;
                int length = decode_utf8(text.at + i, (int32_t)(text.n - i), &code);
                Bytes part = length ? map_get(g, code) : (Bytes){NULL, 0};
                length = length ? length : 1;
                changed |= part.at != NULL;
                text_add(to, part.at ? part.at : text.at + i, part.at ? part.n : length);
                i += length;
        }
        return changed ? (Bytes){arena_strndup(to->arena, to->data, to->n), to->n} : text;
}

/* Whether a map changes the parts of Hangul decompositions, which are computed, or makes syllables. */
static bool touches_hangul(const FormMap *m)
{
        for (uint32_t c = 0x1100; c < 0x1200; c++)
                if (map_get(m, c).at)
                        return true;
        for (int p = 0; p < TOKENS_PAGES; p++)
                for (int i = 0; m->page[p] && i < TOKENS_PAGE; i++)
                        for (int64_t k = 0; k + 2 < m->page[p][i].n; k++) {
                                uint32_t code = 0;
                                const Bytes *text = &m->page[p][i];
                                if (decode_utf8(text->at + k, (int32_t)(text->n - k), &code) &&
                                    code >= 0xac00 && code < 0xac00 + HANGUL_SYLLABLES)
                                        return true;
                        }
        return false;
}

FormMap *map_then(Arena *a, const FormMap *f, const FormMap *g)
{
        FormMap *both = NEW(a, FormMap);
        Text *scratch = text_new(a);
        if ((f->hangul && touches_hangul(g)) || (g->hangul && touches_hangul(f)))
                return NULL;
        both->hangul = f->hangul || g->hangul;
        for (uint32_t p = 0; p < TOKENS_PAGES; p++)
                for (uint32_t i = 0; (f->page[p] || g->page[p]) && i < TOKENS_PAGE; i++) {
                        uint32_t code = p * TOKENS_PAGE + i;
                        Bytes first = map_get(f, code), text = map_get(g, code);
                        if (first.at)
                                text = mapped_text(scratch, g, first);
                        if (text.n > MAP_BYTES)
                                return NULL;
                        if (text.at)
                                map_put(a, both, code, text);
                }
        return both;
}

/* --- tables ---------------------------------------------------------------------------------------------------------- */

typedef struct {
        uint32_t first;
        const char *texts; /* each ended by a newline */
} TextRun;

static const TextRun canonical_run[] = {
#define DECOMPOSED(first, texts) {first, texts},
#include "characters.def"
#undef DECOMPOSED
};

static const TextRun compatible_run[] = {
#define COMPATIBLE(first, texts) {first, texts},
#include "characters.def"
#undef COMPATIBLE
};

static const TokenComposed composed[] = {
#define COMPOSED(first, second, made) {first, second, made},
#include "characters.def"
#undef COMPOSED
};

static const struct {
        uint32_t first, last, number;
} combining[] = {
#define COMBINING(first, last, number) {first, last, number},
#include "characters.def"
#undef COMBINING
};

static const struct {
        uint32_t first, last, step;
        int32_t difference;
} lower_run[] = {
#define LOWER(first, last, step, difference) {first, last, step, difference},
#include "characters.def"
#undef LOWER
};

static const struct {
        NamedSet name;
        CharRange range;
} set_row[] = {
#define SET(name, first, last) {name, {first, last}},
#include "characters.def"
#undef SET
};

static const struct {
        int script;
        CharRange range;
} script_row[] = {
#define SCRIPT(number, first, last) {number, {first, last}},
#include "characters.def"
#undef SCRIPT
};

enum {
        SCRIPT_ROWS = sizeof script_row / sizeof script_row[0],
        CANONICAL_RUNS = sizeof canonical_run / sizeof canonical_run[0],
        COMPATIBLE_RUNS = sizeof compatible_run / sizeof compatible_run[0],
        COMBINING_ROWS = sizeof combining / sizeof combining[0],
        LOWER_RUNS = sizeof lower_run / sizeof lower_run[0],
        SET_ROWS = sizeof set_row / sizeof set_row[0]
};

const TokenComposed *composed_characters(int64_t *size)
{
        *size = sizeof composed;
        return composed;
}

CharSet charset_named(Arena *a, NamedSet name)
{
        CharRange *range = NEW_ARRAY(a, CharRange, SET_ROWS);
        int n = 0;
        for (int i = 0; i < SET_ROWS; i++)
                if (set_row[i].name == name)
                        range[n++] = set_row[i].range;
        return charset_of(a, range, n);
}

int script_count(void)
{
        return script_row[SCRIPT_ROWS - 1].script + 1;
}

CharSet charset_script(Arena *a, int script)
{
        CharRange *range = NEW_ARRAY(a, CharRange, SCRIPT_ROWS);
        int n = 0;
        for (int i = 0; i < SCRIPT_ROWS; i++)
                if (script_row[i].script == script)
                        range[n++] = script_row[i].range;
        return charset_of(a, range, n);
}

CharSet charset_word(Arena *a)
{
        static const char *const category[] = {"L", "M", "Nd", "Nl", "Pc"};
        CharSet all = charset_named(a, SET_WORD_BESIDE), part;
        for (int i = 0; i < 5; i++)
                if (charset_category(a, category[i], (int)strlen(category[i]), &part))
                        all = charset_join(a, all, part);
        return all;
}

CharSet charset_rust_word(Arena *a)
{
        static const CharRange not_here[] = {{0xb2, 0xb3}, {0xb9, 0xb9}, {0xbc, 0xbe}},
                               joiners[] = {{0x200c, 0x200d}};
        CharSet others = charset_without(a, charset_word(a));
        others = charset_join(a, others, charset_of(a, not_here, 3));
        return charset_join(a, charset_without(a, others), charset_of(a, joiners, 1));
}

/* --- maps of the tables ---------------------------------------------------------------------------------------------- */

static void put_runs(Arena *a, FormMap *m, const TextRun *run, int n)
{
        for (int i = 0; i < n; i++) {
                uint32_t code = run[i].first;
                for (const char *text = run[i].texts, *end; (end = strchr(text, '\n')) != NULL;
                     text = end + 1)
                        map_put(a, m, code++, (Bytes){text, end - text});
        }
}

FormMap *map_decomposition(Arena *a, bool compatible)
{
        FormMap *m = NEW(a, FormMap);
        m->hangul = true;
        put_runs(a, m, canonical_run, CANONICAL_RUNS);
        if (compatible)
                put_runs(a, m, compatible_run, COMPATIBLE_RUNS);
        return m;
}

static void put_numbers(Arena *a, FormMap *m, CharRange range, int64_t number)
{
        for (uint32_t c = range.first; c <= range.last; c++)
                map_put(a, m, c, (Bytes){"", number});
}

FormMap *map_combining(Arena *a)
{
        FormMap *m = NEW(a, FormMap);
        m->numbers = true;
        for (int i = 0; i < COMBINING_ROWS; i++)
                put_numbers(a, m, (CharRange){combining[i].first, combining[i].last}, combining[i].number);
        return m;
}

FormMap *map_graphemes(Arena *a)
{
        static const struct {
                NamedSet set;
                int64_t number;
        } row[] = {{SET_GRAPHEME_EXTEND, GRAPHEME_EXTEND},   {SET_GRAPHEME_JOINER, GRAPHEME_JOINER},
                   {SET_GRAPHEME_SPACING, GRAPHEME_SPACING}, {SET_GRAPHEME_PREPEND, GRAPHEME_PREPEND},
                   {SET_GRAPHEME_CONTROL, GRAPHEME_CONTROL}, {SET_PICTOGRAPH, GRAPHEME_PICTOGRAPH}};
        static const CharRange line_end[] = {{'\n', '\n'}, {'\r', '\r'}};
        FormMap *m = NEW(a, FormMap);
        m->numbers = true;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                CharSet set = charset_named(a, row[i].set);
                for (int k = 0; k < set.n; k++)
                        put_numbers(a, m, set.range[k], row[i].number);
        }
        put_numbers(a, m, line_end[0], GRAPHEME_CONTROL);
        put_numbers(a, m, line_end[1], GRAPHEME_CONTROL);
        return m;
}

FormMap *map_lower(Arena *a)
{
        FormMap *m = NEW(a, FormMap);
        for (int i = 0; i < LOWER_RUNS; i++)
                for (uint32_t c = lower_run[i].first; c <= lower_run[i].last; c += lower_run[i].step)
                        map_put(a, m, c, character_text(a, (uint32_t)((int32_t)c + lower_run[i].difference)));
        map_put(a, m, 0x130, (Bytes){"i\xcc\x87", 3});
        return m;
}

void map_put_set(Arena *a, FormMap *m, CharSet set, Bytes text)
{
        for (int i = 0; i < set.n; i++)
                for (uint32_t c = set.range[i].first; c <= set.range[i].last; c++)
                        if (!is_surrogate(c))
                                map_put(a, m, c, text);
}

FormMap *map_chinese(Arena *a)
{
        /* the sixth begins with an unintended digit, which published ids rely on */
        static const CharRange range[] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                          {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                                          {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
        FormMap *m = NEW(a, FormMap);
        for (size_t i = 0; i < sizeof range / sizeof range[0]; i++)
                for (uint32_t c = range[i].first; c <= range[i].last; c++) {
                        Bytes text = character_text(a, c);
                        map_put(a, m, c, (Bytes){arena_printf(a, " %s ", text.at), text.n + 2});
                }
        return m;
}
