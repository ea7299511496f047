/* The normaliser of a tokenizer.json. */
#include "reader_private.h"

static FormChange *new_change(FormReader *r, uint32_t kind, const char *where)
{
        TokenizerForm *f = r->form;
        if (f->nchange == MAX_CHANGES)
                reader_refuse(r, "%s: more than %d steps", where, MAX_CHANGES);
        if (f->flags & TOKENS_ARE_BYTES)
                reader_refuse(r, "%s: a step after ByteLevel is not supported", where);
        FormChange *c = &f->change[f->nchange++];
        *c = (FormChange){.kind = kind, .text = {"", 0}, .with = {"", 0}, .growth = 1};
        return c;
}

/* Adds a map, merged with the previous one if possible. */
static void normaliser_add_map(FormReader *r, FormMap *map, const char *where)
{
        TokenizerForm *f = r->form;
        FormChange *last = f->nchange ? &f->change[f->nchange - 1] : NULL;
        FormMap *both = last && last->kind == CHANGE_MAP ? map_then(r->arena, last->map, map) : NULL;
        if (!both) {
                last = new_change(r, CHANGE_MAP, where);
                both = map;
        }
        last->map = both;
        last->flags = both->hangul ? MAP_HANGUL : 0;
}

/* A map of a set to one text. */
static void add_set(FormReader *r, CharSet set, Bytes text, const char *where)
{
        FormMap *map = NEW(r->arena, FormMap);
        map_put_set(r->arena, map, set, text);
        normaliser_add_map(r, map, where);
}

/* --- normal forms ---------------------------------------------------------------------------------------------------- */

static void add_normal_form(FormReader *r, bool compatible, bool compose, const char *where)
{
        normaliser_add_map(r, map_decomposition(r->arena, compatible), where);
        FormMap *combining = map_combining(r->arena);
        new_change(r, CHANGE_ORDER, where)->map = combining;
        if (compose)
                new_change(r, CHANGE_COMPOSE, where)->map = combining;
}

static bool read_normal_form(FormReader *r, const char *type, const char *where)
{
        static const struct {
                const char *name;
                bool compatible, compose;
        } form[] = {{"NFD", false, false}, {"NFKD", true, false}, {"NFC", false, true}, {"NFKC", true, true}};
        for (int i = 0; i < 4; i++)
                if (!strcmp(type, form[i].name)) {
                        add_normal_form(r, form[i].compatible, form[i].compose, where);
                        return true;
                }
        return false;
}

/* --- the others ------------------------------------------------------------------------------------------------------ */

static const Bytes nothing = {"", 0}, space = {" ", 1};

void add_bert_normaliser(FormReader *r, const json_t *part, const char *where)
{
        static const CharRange stays[] = {{' ', ' '}};
        bool lower = truth_of(r, part, "lowercase", true, where);
        if (truth_of(r, part, "clean_text", true, where)) {
                CharSet spaces = charset_without(r->arena, charset_space(r->arena));
                spaces = charset_without(r->arena,
                                         charset_join(r->arena, spaces, charset_of(r->arena, stays, 1)));
                add_set(r, charset_named(r->arena, SET_BERT_REMOVED), nothing, where);
                add_set(r, spaces, space, where);
        }
        if (truth_of(r, part, "handle_chinese_chars", true, where))
                normaliser_add_map(r, map_chinese(r->arena), where);
        if (truth_of(r, part, "strip_accents", lower, where)) {
                add_normal_form(r, false, false, where);
                add_set(r, charset_named(r->arena, SET_BERT_MARKS), nothing, where);
        }
        if (lower)
                normaliser_add_map(r, map_lower(r->arena), where);
}

static void read_nmt(FormReader *r, const char *where)
{
        static const CharRange gone[] = {{1, 8},       {0xb, 0xb},   {0xe, 0x1f},
                                         {0x7f, 0x7f}, {0x8f, 0x8f}, {0x9f, 0x9f}},
                               spaces[] = {{9, 10},          {12, 13},         {0x1680, 0x1680},
                                           {0x200b, 0x200f}, {0x2028, 0x2029}, {0x2581, 0x2581},
                                           {0xfeff, 0xfeff}, {0xfffd, 0xfffd}};
        add_set(r, charset_of(r->arena, gone, 6), nothing, where);
        add_set(r, charset_of(r->arena, spaces, 8), space, where);
}

static void read_strip(FormReader *r, const json_t *part, const char *where)
{
        FormChange *c = new_change(r, CHANGE_STRIP, where);
        c->flags = (truth_of(r, part, "strip_left", true, where) ? STRIP_LEFT : 0) |
                   (truth_of(r, part, "strip_right", true, where) ? STRIP_RIGHT : 0);
}

static void read_replace(FormReader *r, const json_t *part, const char *where)
{
        const json_t *regex = json_object_get(json_object_get(part, "pattern"), "Regex");
        const char *why, *at = arena_printf(r->arena, "%s.pattern.Regex", where);
        FormChange *c = new_change(r, regex ? CHANGE_MATCHES : CHANGE_REPLACE, where);
        c->with = text_of(r, json_object_get(part, "content"), arena_printf(r->arena, "%s.content", where));
        if (!regex) {
                c->text = pattern_text(r, part, where);
                return;
        }
        RegexTree *tree = regex_parse(r->arena, text_of(r, regex, at), &why);
        c->regex = tree ? regex_table(r->arena, tree, &why) : NULL;
        if (!c->regex)
                reader_refuse(r, "%s: %s", at, why);
        c->growth = (double)c->with.n / (double)regex_least_bytes(tree);
}

/* --- SentencePiece's map --------------------------------------------------------------------------------------------- */

static int64_t base64_value(char c)
{
        if (c >= 'A' && c <= 'Z')
                return c - 'A';
        if (c >= 'a' && c <= 'z')
                return c - 'a' + 26;
        if (c >= '0' && c <= '9')
                return c - '0' + 52;
        return c == '+' ? 62 : c == '/' ? 63 : -1;
}

Bytes base64(FormReader *r, const char *text, int64_t n, const char **why)
{
        char *to = arena_alloc(r->arena, n + 1);
        int64_t made = 0;
        uint32_t bits = 0;
        for (int64_t i = 0; i < n && text[i] != '='; i++) {
                int64_t value = base64_value(text[i]);
                if (value < 0) {
                        *why = arena_printf(r->arena, "byte %lld is not a digit of base 64", (long long)i);
                        return (Bytes){NULL, 0};
                }
                bits = bits << 6 | (uint32_t)value;
                if (i % 4)
                        to[made++] = (char)(bits >> (6 - 2 * (i % 4)));
        }
        return (Bytes){to, made};
}

/* Search for the maximum growth factor of a text by a map.  Each position of the array is visited once, in
 * the order of the key's length, since a value has the largest factor with the shortest key. */
typedef struct {
        uint64_t *at;  /* [n]: positions whose children are searched */
        uint8_t *seen; /* [room] */
        int64_t n, room;
} CharsmapPlaces;

static void charsmap_reach(CharsmapPlaces *w, uint64_t at)
{
        if (at >= (uint64_t)w->room || w->seen[at])
                return;
        w->seen[at] = 1;
        w->at[w->n++] = at;
}

static double charsmap_growth(const TokenizerForm *f)
{
        enum { MAX_NORMALISER_PLACES = 1 << 20 };
        const uint32_t *unit = (const uint32_t *)(const void *)f->charsmap.at;
        /* a child's position differs in its last 8 bits */
        const int64_t units = f->charsmap.n / 4, room = units + 256;
        double growth = 1;
        if (!units)
                return growth;
        CharsmapPlaces w = {NEW_ARRAY(f->arena, uint64_t, room), NEW_ARRAY(f->arena, uint8_t, room), 0, room};
        charsmap_reach(&w, unit[0] >> 10 << ((unit[0] & 0x200) >> 6));
        int64_t bytes = 1;
        for (int64_t i = 0, level = w.n; i < w.n; i++) {
                if (i == level) {
                        level = w.n;
                        bytes++;
                }
                if (i == MAX_NORMALISER_PLACES)
                        return 1e9;
                for (unsigned byte = 0; byte < 256; byte++) {
                        const uint64_t at = w.at[i] ^ byte;
                        if (at >= (uint64_t)units || (unit[at] & 0x800000ff) != byte)
                                continue;
                        const uint64_t child = at ^ (uint64_t)(unit[at] >> 10) << ((unit[at] & 0x200) >> 6);
                        if ((unit[at] & 0x100) && child < (uint64_t)units &&
                            (unit[child] & 0x7fffffff) < (uint64_t)f->charsmap_texts.n) {
                                double grown =
                                        (double)strlen(f->charsmap_texts.at + (unit[child] & 0x7fffffff)) /
                                        (double)bytes;
                                growth = grown > growth ? grown : growth;
                        }
                        charsmap_reach(&w, child);
                }
        }
        return growth;
}

double form_set_charsmap(TokenizerForm *f, Bytes map, const char **why)
{
        uint32_t size = 0;
        *why = NULL;
        if (map.n >= 4)
                memcpy(&size, map.at, 4);
        if (map.n && (map.n < 4 || size % 4 || size > map.n - 4)) {
                *why = "this is not a SentencePiece map: the length of its first part does not fit";
                return 1;
        }
        int64_t texts = map.n ? map.n - 4 - size : 0;
        char *copy = arena_alloc(f->arena, (int64_t)size + 4), *ended = arena_alloc(f->arena, texts + 1);
        if (map.n) {
                memcpy(copy, map.at + 4, size);
                memcpy(ended, map.at + 4 + size, (size_t)texts);
        }
        f->charsmap = (Bytes){copy, size};
        f->charsmap_texts = (Bytes){ended, map.n ? texts + 1 : 0};
        double growth = charsmap_growth(f);
        if (growth >= 1e9)
                *why = "this map is larger than lathe supports";
        else if (growth > 255)
                *why = "this map could make a text more than 255 times as long";
        return growth;
}

static void read_precompiled(FormReader *r, const json_t *part, const char *where)
{
        const json_t *text = json_object_get(part, "precompiled_charsmap");
        const char *why, *at = arena_printf(r->arena, "%s.precompiled_charsmap", where);
        if (r->form->charsmap.at)
                reader_refuse(r, "%s: a second Precompiled", where);
        if (is_none(text))
                return;
        if (!json_is_string(text))
                reader_refuse(r, "%s: expected a string", at);
        FormChange *c = new_change(r, CHANGE_CHARSMAP, where);
        c->map = map_graphemes(r->arena);
        Bytes map = base64(r, json_string_value(text), (int64_t)json_string_length(text), &why);
        if (map.at)
                c->growth = form_set_charsmap(r->form, map, &why);
        if (why)
                reader_refuse(r, "%s: %s", at, why);
}

/* --- dispatch -------------------------------------------------------------------------------------------------------- */

void read_normaliser(FormReader *r, const json_t *part, const char *where, int depth)
{
        if (is_none(part))
                return;
        const char *type = type_of(r, part, where);
        const json_t *list = json_object_get(part, "normalizers");
        if (!strcmp(type, "Sequence") && depth < MAX_SEQUENCES && json_is_array(list)) {
                for (size_t i = 0; i < json_array_size(list); i++)
                        read_normaliser(r, json_array_get(list, i),
                                        reader_element(r, arena_printf(r->arena, "%s.normalizers", where), i),
                                        depth + 1);
        } else if (!strcmp(type, "Prepend")) {
                new_change(r, CHANGE_PREPEND, where)->text = text_of(
                        r, json_object_get(part, "prepend"), arena_printf(r->arena, "%s.prepend", where));
        } else if (!strcmp(type, "Replace")) {
                read_replace(r, part, where);
        } else if (!strcmp(type, "Lowercase")) {
                normaliser_add_map(r, map_lower(r->arena), where);
        } else if (!strcmp(type, "StripAccents")) {
                add_set(r, charset_named(r->arena, SET_MARKS), nothing, where);
        } else if (!strcmp(type, "Strip")) {
                read_strip(r, part, where);
        } else if (!strcmp(type, "BertNormalizer")) {
                add_bert_normaliser(r, part, where);
        } else if (!strcmp(type, "Nmt")) {
                read_nmt(r, where);
        } else if (!strcmp(type, "Precompiled")) {
                read_precompiled(r, part, where);
        } else if (!strcmp(type, "ByteLevel")) {
                r->form->flags |= TOKENS_ARE_BYTES;
        } else if (!read_normal_form(r, type, where)) {
                reader_refuse(r, "%s: unsupported normaliser %s", where, type);
        }
}
