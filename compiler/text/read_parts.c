/* The parts of a tokenizer.json that change text and cut it. */
#include "reader_private.h"

static const char gpt2_regex[] =
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

enum { MAX_SEQUENCES = 8 }; /* within one another */

/* --- normalisers ----------------------------------------------------------------------------------------------------- */

static FormChange *new_change(Reader *r, uint32_t kind, const char *where)
{
        Form *f = r->form;
        if (f->nchange == MAX_CHANGES)
                reader_refuse(r, "%s: more than %d steps", where, MAX_CHANGES);
        FormChange *c = &f->change[f->nchange++];
        *c = (FormChange){.kind = kind, .what = {"", 0}, .with = {"", 0}};
        return c;
}

/* The text of a pattern; a regex is refused. */
static Bytes pattern_text(Reader *r, const json_t *part, const char *where)
{
        const json_t *pattern = json_object_get(part, "pattern");
        if (json_object_get(pattern, "Regex"))
                reader_refuse(r, "%s: lathe does not replace by a regex", where);
        Bytes text = text_of(r, json_object_get(pattern, "String"),
                             arena_printf(r->arena, "%s.pattern.String", where));
        if (!text.n)
                reader_refuse(r, "%s.pattern: the empty text", where);
        return text;
}

void read_normaliser(Reader *r, const json_t *part, const char *where, int depth)
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
                new_change(r, CHANGE_PREPEND, where)->what = text_of(
                        r, json_object_get(part, "prepend"), arena_printf(r->arena, "%s.prepend", where));
        } else if (!strcmp(type, "Replace")) {
                FormChange *c = new_change(r, CHANGE_REPLACE, where);
                c->what = pattern_text(r, part, where);
                c->with = text_of(r, json_object_get(part, "content"),
                                  arena_printf(r->arena, "%s.content", where));
        } else {
                reader_refuse(r, "%s: lathe has no normaliser %s", where, type);
        }
}

/* --- pre-tokenisers -------------------------------------------------------------------------------------------------- */

static FormStep *new_step(Reader *r, uint32_t kind, const char *where)
{
        Form *f = r->form;
        if (f->nstep == MAX_STEPS)
                reader_refuse(r, "%s: more than %d steps", where, MAX_STEPS);
        FormStep *s = &f->step[f->nstep++];
        *s = (FormStep){
                .kind = kind, .text = {"", 0}, .flags = f->flags & TOKENS_ARE_BYTES ? STEP_OVER_BYTES : 0};
        return s;
}

static FormStep *new_split(Reader *r, Bytes regex, uint32_t behavior, const char *where)
{
        const char *why;
        FormStep *s = new_step(r, STEP_SPLIT, where);
        RegexTree *tree = regex_parse(r->arena, regex, &why);
        s->behavior = behavior;
        s->regex = tree ? regex_table(r->arena, tree, &why) : NULL;
        if (!s->regex)
                reader_refuse(r, "%s: %s", where, why);
        return s;
}

static Bytes bytes_of(const char *text)
{
        return (Bytes){text, (int64_t)strlen(text)};
}

static uint32_t behavior_of(Reader *r, const json_t *part, const char *where)
{
        static const struct {
                const char *name;
                uint32_t behavior;
        } table[] = {{"Isolated", SPLIT_ISOLATED},
                     {"Removed", SPLIT_REMOVED},
                     {"Contiguous", SPLIT_CONTIGUOUS},
                     {"MergedWithPrevious", SPLIT_WITH_PREVIOUS},
                     {"MergedWithNext", SPLIT_WITH_NEXT}};
        const char *name = json_string_value(json_object_get(part, "behavior"));
        for (size_t i = 0; name && i < sizeof table / sizeof table[0]; i++)
                if (!strcmp(name, table[i].name))
                        return table[i].behavior;
        reader_refuse(r,
                      "%s.behavior: Isolated, Removed, Contiguous, MergedWithPrevious or MergedWithNext is "
                      "wanted here",
                      where);
}

/* A text as the regex that matches it alone. */
static Bytes regex_of_text(Reader *r, Bytes text)
{
        Text *regex = text_new(r->arena);
        for (int64_t i = 0; i < text.n; i++) {
                unsigned char c = (unsigned char)text.at[i];
                bool plain = c >= 0x80 || c <= ' ' || (c >= '0' && c <= '9') ||
                             ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
                if (!plain)
                        text_add(regex, "\\", 1);
                text_add(regex, text.at + i, 1);
        }
        return (Bytes){regex->data, regex->n};
}

static void read_split(Reader *r, const json_t *part, const char *where)
{
        const json_t *pattern = json_object_get(part, "pattern"), *regex = json_object_get(pattern, "Regex");
        const char *at = arena_printf(r->arena, "%s.pattern.%s", where, regex ? "Regex" : "String");
        Bytes text = regex ? text_of(r, regex, at) : regex_of_text(r, pattern_text(r, part, where));
        FormStep *s = new_split(r, text, behavior_of(r, part, where), at);
        if (truth_of(r, part, "invert", false, where))
                s->flags |= STEP_INVERTED;
}

static void read_byte_level(Reader *r, const json_t *part, const char *where)
{
        if (r->form->flags & TOKENS_ARE_BYTES)
                reader_refuse(r, "%s: a second ByteLevel", where);
        if (truth_of(r, part, "add_prefix_space", true, where))
                new_step(r, STEP_SPACE_BEFORE, where);
        if (truth_of(r, part, "use_regex", true, where))
                new_split(r, bytes_of(gpt2_regex), SPLIT_ISOLATED, where);
        r->form->flags |= TOKENS_ARE_BYTES;
}

static void read_metaspace(Reader *r, const json_t *part, const char *where)
{
        const char *scheme = json_string_value(json_object_get(part, "prepend_scheme"));
        bool old = !scheme && truth_of(r, part, "add_prefix_space", true, where);
        FormStep *s = new_step(r, STEP_WORD_MARK, where);
        if (s->flags & STEP_OVER_BYTES)
                reader_refuse(r, "%s: Metaspace behind ByteLevel", where);
        s->text = text_of(r, json_object_get(part, "replacement"),
                          arena_printf(r->arena, "%s.replacement", where));
        uint32_t code;
        if (decode_utf8(s->text.at, (int32_t)s->text.n, &code) != s->text.n)
                reader_refuse(r, "%s.replacement: one character is wanted here", where);
        if (old || (scheme && !strcmp(scheme, "always")))
                s->flags |= STEP_ALWAYS;
        else if (scheme && !strcmp(scheme, "first"))
                s->flags |= STEP_FIRST;
        else if (scheme && strcmp(scheme, "never") != 0)
                reader_refuse(r, "%s.prepend_scheme: always, first or never is wanted here", where);
        if (truth_of(r, part, "split", true, where))
                new_split(r, regex_of_text(r, s->text), SPLIT_WITH_NEXT, where);
}

static void read_digits(Reader *r, const json_t *part, const char *where)
{
        bool alone = truth_of(r, part, "individual_digits", false, where);
        new_split(r, bytes_of("\\p{N}"), alone ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS, where);
}

void read_pre_tokeniser(Reader *r, const json_t *part, const char *where, int depth)
{
        if (is_none(part))
                return;
        const char *type = type_of(r, part, where);
        const json_t *list = json_object_get(part, "pretokenizers");
        if (!strcmp(type, "Sequence") && depth < MAX_SEQUENCES && json_is_array(list))
                for (size_t i = 0; i < json_array_size(list); i++)
                        read_pre_tokeniser(
                                r, json_array_get(list, i),
                                reader_element(r, arena_printf(r->arena, "%s.pretokenizers", where), i),
                                depth + 1);
        else if (!strcmp(type, "ByteLevel"))
                read_byte_level(r, part, where);
        else if (!strcmp(type, "Split"))
                read_split(r, part, where);
        else if (!strcmp(type, "Digits"))
                read_digits(r, part, where);
        else if (!strcmp(type, "Metaspace"))
                read_metaspace(r, part, where);
        else if (!strcmp(type, "WhitespaceSplit"))
                new_split(r, bytes_of("\\s"), SPLIT_REMOVED, where);
        else
                reader_refuse(r, "%s: lathe has no pre-tokeniser %s", where, type);
}

/* --- decoders -------------------------------------------------------------------------------------------------------- */

/* In each token as it is shown. */
static void replace_shown(Reader *r, Bytes what, Bytes with)
{
        Form *f = r->form;
        for (int32_t i = 0; i < f->vocab; i++) {
                Bytes text = f->shown[i];
                Text *to = NULL;
                for (int64_t at = 0, length; at < text.n; at += length) {
                        bool here = text.n - at >= what.n && !memcmp(text.at + at, what.at, (size_t)what.n);
                        length = here ? what.n : 1;
                        if (here && !to) {
                                to = text_new(r->arena);
                                text_add(to, text.at, at);
                        }
                        if (to)
                                text_add(to, here ? with.at : text.at + at, here ? with.n : 1);
                }
                if (to)
                        f->shown[i] = (Bytes){to->data, to->n};
        }
}

/* <0x41> is shown as the byte. */
static void show_bytes(Reader *r)
{
        static const char digit[] = "0123456789ABCDEF";
        for (int32_t i = 0; i < r->form->vocab; i++) {
                Bytes *text = &r->form->shown[i];
                if (text->n != 6 || memcmp(text->at, "<0x", 3) != 0 || text->at[5] != '>')
                        continue;
                const char *high = strchr(digit, text->at[3]), *low = strchr(digit, text->at[4]);
                if (!high || !low || !*high || !*low)
                        continue;
                char *byte = arena_alloc(r->arena, 1);
                *byte = (char)(16 * (high - digit) + (low - digit));
                *text = (Bytes){byte, 1};
        }
}

static int64_t whole_number(const json_t *part, const char *key)
{
        return json_integer_value(json_object_get(part, key));
}

/* One step; *fused: tokens are one text from here on. */
static void read_decoder_step(Reader *r, const json_t *part, const char *where, bool *fused)
{
        const char *type = type_of(r, part, where);
        const char *content = json_string_value(json_object_get(part, "content"));
        if (!strcmp(type, "Fuse")) {
                *fused = true;
        } else if (!strcmp(type, "Strip")) {
                int64_t start = whole_number(part, "start");
                if (!*fused || !content || strcmp(content, " ") != 0 || whole_number(part, "stop") ||
                    start < 0 || start > 1 << 16)
                        reader_refuse(r,
                                      "%s: of Strip lathe has that of spaces at the beginning of a text, "
                                      "behind Fuse",
                                      where);
                r->form->strip = (int)start;
        } else if (*fused) {
                reader_refuse(r, "%s: lathe has no decoder %s behind Fuse", where, type);
        } else if (!strcmp(type, "Replace")) {
                replace_shown(r, pattern_text(r, part, where),
                              text_of(r, json_object_get(part, "content"), where));
        } else if (!strcmp(type, "ByteFallback")) {
                show_bytes(r);
        } else if (!strcmp(type, "Metaspace")) {
                const char *scheme = json_string_value(json_object_get(part, "prepend_scheme"));
                bool old = !scheme && truth_of(r, part, "add_prefix_space", true, where);
                replace_shown(r, text_of(r, json_object_get(part, "replacement"), where), (Bytes){" ", 1});
                r->form->strip = old || (scheme && strcmp(scheme, "never") != 0) ? MAX_TOKEN_BYTES : 0;
        } else {
                reader_refuse(r, "%s: lathe has no decoder %s", where, type);
        }
}

void read_decoder(Reader *r, const json_t *part, const char *where)
{
        bool fused = false, bytes = r->form->flags & TOKENS_ARE_BYTES;
        if (is_none(part))
                reader_refuse(r, "%s: there is none, so nothing says how tokens become text", where);
        const char *type = type_of(r, part, where);
        const json_t *list = json_object_get(part, "decoders");
        if (!strcmp(type, "ByteLevel") != bytes)
                reader_refuse(r, "%s: %s, while the pre-tokeniser is %sByteLevel", where, type,
                              bytes ? "" : "not ");
        if (bytes)
                return;
        if (strcmp(type, "Sequence") != 0) {
                read_decoder_step(r, part, where, &fused);
                return;
        }
        for (size_t i = 0; i < json_array_size(list); i++)
                read_decoder_step(r, json_array_get(list, i),
                                  reader_element(r, arena_printf(r->arena, "%s.decoders", where), i), &fused);
}
