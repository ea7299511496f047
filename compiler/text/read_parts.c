/* The parts of a tokenizer.json that split text into pieces, and decode tokens. */
#include "reader_private.h"

static const char gpt2_regex[] =
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

Bytes pattern_text(FormReader *r, const json_t *part, const char *where)
{
        const json_t *pattern = json_object_get(part, "pattern");
        if (json_object_get(pattern, "Regex"))
                reader_refuse(r, "%s: replacing by a regex is not supported here", where);
        Bytes text = text_of(r, json_object_get(pattern, "String"),
                             arena_printf(r->arena, "%s.pattern.String", where));
        if (!text.n)
                reader_refuse(r, "%s.pattern: the text is empty", where);
        return text;
}

/* --- pre-tokenisers -------------------------------------------------------------------------------------------------- */

static FormStep *new_step(FormReader *r, uint32_t kind, const char *where)
{
        TokenizerForm *f = r->form;
        if (f->nstep == MAX_STEPS)
                reader_refuse(r, "%s: more than %d steps", where, MAX_STEPS);
        FormStep *s = &f->step[f->nstep++];
        *s = (FormStep){
                .kind = kind, .text = {"", 0}, .flags = f->flags & TOKENS_ARE_BYTES ? STEP_OVER_BYTES : 0};
        return s;
}

static FormStep *new_tree_split(FormReader *r, const RegexTree *tree, uint32_t behavior, const char *where)
{
        const char *why = NULL;
        FormStep *s = new_step(r, STEP_SPLIT, where);
        s->behavior = behavior;
        s->regex = regex_table(r->arena, tree, &why);
        if (!s->regex)
                reader_refuse(r, "%s: %s", where, why);
        return s;
}

static FormStep *new_split(FormReader *r, Bytes regex, uint32_t behavior, const char *where)
{
        const char *why = NULL;
        RegexTree *tree = regex_parse(r->arena, regex, &why);
        if (!tree)
                reader_refuse(r, "%s: %s", where, why);
        return new_tree_split(r, tree, behavior, where);
}

static Bytes bytes_of_text(const char *text)
{
        return (Bytes){text, (int64_t)strlen(text)};
}

static uint32_t behavior_of(FormReader *r, const json_t *part, const char *otherwise, const char *where)
{
        static const struct {
                const char *name;
                uint32_t behavior;
        } table[] = {{"Isolated", SPLIT_ISOLATED},
                     {"Removed", SPLIT_REMOVED},
                     {"Contiguous", SPLIT_CONTIGUOUS},
                     {"MergedWithPrevious", SPLIT_WITH_PREVIOUS},
                     {"MergedWithNext", SPLIT_WITH_NEXT}};
        const json_t *behavior = json_object_get(part, "behavior");
        const char *name = is_none(behavior) ? otherwise : json_string_value(behavior);
        for (size_t i = 0; name && i < sizeof table / sizeof table[0]; i++)
                if (!strcmp(name, table[i].name))
                        return table[i].behavior;
        reader_refuse(
                r,
                "%s.behavior: expected Isolated, Removed, Contiguous, MergedWithPrevious or MergedWithNext",
                where);
}

/* A regex that matches only this text. */
static Bytes regex_of_text(FormReader *r, Bytes text)
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

static void read_split(FormReader *r, const json_t *part, const char *where)
{
        const json_t *pattern = json_object_get(part, "pattern"), *regex = json_object_get(pattern, "Regex");
        const char *at = arena_printf(r->arena, "%s.pattern.%s", where, regex ? "Regex" : "String");
        Bytes text = regex ? text_of(r, regex, at) : regex_of_text(r, pattern_text(r, part, where));
        FormStep *s = new_split(r, text, behavior_of(r, part, NULL, where), at);
        if (truth_of(r, part, "invert", false, where))
                s->flags |= STEP_INVERTED;
}

static void read_byte_level(FormReader *r, const json_t *part, const char *where)
{
        if (r->form->flags & TOKENS_ARE_BYTES)
                reader_refuse(r, "%s: a second ByteLevel", where);
        if (truth_of(r, part, "add_prefix_space", true, where))
                new_step(r, STEP_SPACE_BEFORE, where);
        if (truth_of(r, part, "use_regex", true, where))
                new_split(r, bytes_of_text(gpt2_regex), SPLIT_ISOLATED, where);
        r->form->flags |= TOKENS_ARE_BYTES;
}

static void read_metaspace(FormReader *r, const json_t *part, const char *where)
{
        const char *scheme = json_string_value(json_object_get(part, "prepend_scheme"));
        bool old = !scheme && truth_of(r, part, "add_prefix_space", true, where);
        FormStep *s = new_step(r, STEP_WORD_MARK, where);
        if (s->flags & STEP_OVER_BYTES)
                reader_refuse(r, "%s: Metaspace after ByteLevel is not supported", where);
        s->text = text_of(r, json_object_get(part, "replacement"),
                          arena_printf(r->arena, "%s.replacement", where));
        uint32_t code;
        if (decode_utf8(s->text.at, (int32_t)s->text.n, &code) != s->text.n)
                reader_refuse(r, "%s.replacement: expected one character", where);
        if (old || (scheme && !strcmp(scheme, "always")))
                s->flags |= STEP_ALWAYS;
        else if (scheme && !strcmp(scheme, "first"))
                s->flags |= STEP_FIRST;
        else if (scheme && strcmp(scheme, "never") != 0)
                reader_refuse(r, "%s.prepend_scheme: expected always, first or never", where);
        if (truth_of(r, part, "split", true, where))
                new_split(r, regex_of_text(r, s->text), SPLIT_WITH_NEXT, where);
}

static void form_read_digits(FormReader *r, const json_t *part, const char *where)
{
        bool alone = truth_of(r, part, "individual_digits", false, where);
        new_split(r, bytes_of_text("\\p{N}"), alone ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS, where);
}

/* Runs of two sets are pieces; other characters are removed. */
static void keep_runs(FormReader *r, CharSet first, CharSet second, bool alone, const char *where)
{
        RegexTree *tree = regex_either(r->arena, regex_of_set(r->arena, first, true),
                                       regex_of_set(r->arena, second, !alone));
        new_tree_split(r, tree, SPLIT_REMOVED, where)->flags |= STEP_INVERTED;
}

/* Words, and runs of characters that are neither word characters nor white space. */
static void read_whitespace(FormReader *r, const char *where)
{
        CharSet word = charset_rust_word(r->arena), spaces = charset_space(r->arena);
        keep_runs(r, word, charset_without(r->arena, charset_join(r->arena, word, spaces)), false, where);
}

/* Words between white space and punctuation, and each character of the latter. */
void add_bert_split(FormReader *r, const char *where)
{
        CharSet mark = charset_named(r->arena, SET_PUNCTUATION), spaces = charset_space(r->arena);
        keep_runs(r, charset_without(r->arena, charset_join(r->arena, mark, spaces)), mark, true, where);
}

/* A character of a script, followed by characters of that script or of none. */
static RegexTree *run_of_script(FormReader *r, int i, CharSet none)
{
        CharSet script = charset_script(r->arena, i), more = charset_join(r->arena, script, none);
        RegexTree *rest = regex_of_set(r->arena, more, true);
        rest->least = 0;
        return regex_then(r->arena, regex_of_set(r->arena, script, false), rest);
}

/* Runs of one script, followed by characters of none; those before the first script are removed. */
static void read_scripts(FormReader *r, const char *where)
{
        CharSet all = {0};
        for (int i = 0; i < script_count(); i++)
                all = charset_join(r->arena, all, charset_script(r->arena, i));
        CharSet none = charset_without(r->arena, all);
        RegexTree *tree = run_of_script(r, 0, none);
        for (int i = 1; i < script_count(); i++)
                tree = regex_either(r->arena, tree, run_of_script(r, i, none));
        new_tree_split(r, tree, SPLIT_REMOVED, where)->flags |= STEP_INVERTED;
}

static void read_punctuation(FormReader *r, const json_t *part, const char *where)
{
        new_tree_split(r, regex_of_set(r->arena, charset_named(r->arena, SET_PUNCTUATION), false),
                       behavior_of(r, part, "Isolated", where), where);
}

static void read_delimiter(FormReader *r, const json_t *part, const char *where)
{
        Bytes text =
                text_of(r, json_object_get(part, "delimiter"), arena_printf(r->arena, "%s.delimiter", where));
        new_split(r, regex_of_text(r, text), SPLIT_REMOVED, where);
}

void read_pre_tokeniser(FormReader *r, const json_t *part, const char *where, int depth)
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
                form_read_digits(r, part, where);
        else if (!strcmp(type, "Metaspace"))
                read_metaspace(r, part, where);
        else if (!strcmp(type, "Punctuation"))
                read_punctuation(r, part, where);
        else if (!strcmp(type, "Whitespace"))
                read_whitespace(r, where);
        else if (!strcmp(type, "BertPreTokenizer"))
                add_bert_split(r, where);
        else if (!strcmp(type, "CharDelimiterSplit"))
                read_delimiter(r, part, where);
        else if (!strcmp(type, "UnicodeScripts"))
                read_scripts(r, where);
        else if (!strcmp(type, "WhitespaceSplit"))
                new_split(r, bytes_of_text("\\s"), SPLIT_REMOVED, where);
        else
                reader_refuse(r, "%s: unsupported pre-tokeniser %s", where, type);
}

/* --- decoders -------------------------------------------------------------------------------------------------------- */

Bytes replaced_text(FormReader *r, Bytes text, Bytes what, Bytes with)
{
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
        return to ? (Bytes){to->data, to->n} : text;
}

void show_replaced(FormReader *r, Bytes *shown, Bytes what, Bytes with)
{
        for (int32_t i = 0; i < r->form->vocab; i++)
                shown[i] = replaced_text(r, shown[i], what, with);
}

static void show_single_bytes(FormReader *r)
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

/* The clean-up of WordPiece's decoder. */
static Bytes cleaned(FormReader *r, Bytes text)
{
        static const char *const pair[][2] = {{" .", "."},     {" ?", "?"},           {" !", "!"},
                                              {" ,", ","},     {" ' ", "'"},          {" n't", "n't"},
                                              {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"},
                                              {" 've", "'ve"}, {" 're", "'re"}};
        for (size_t i = 0; i < sizeof pair / sizeof pair[0]; i++)
                text = replaced_text(r, text, bytes_of_text(pair[i][0]), bytes_of_text(pair[i][1]));
        return text;
}

/* Adds a space before each token that does not continue a word and is not the first. */
void show_words(FormReader *r, const json_t *part, const char *where)
{
        TokenizerForm *f = r->form;
        const json_t *given = json_object_get(part, "prefix");
        Bytes prefix = is_none(given) ? bytes_of_text("##") : text_of(r, given, where);
        bool cleans = truth_of(r, part, "cleanup", true, where);
        f->first = NEW_ARRAY(r->arena, Bytes, f->vocab + 1);
        for (int32_t i = 0; i < f->vocab; i++) {
                Bytes text = f->shown[i], *shown = &f->shown[i];
                bool goes_on =
                        prefix.n <= text.n && !memcmp(text.n ? text.at : "", prefix.at, (size_t)prefix.n);
                /* no token has this number */
                if (!text.at)
                        continue;
                f->first[i] = cleans ? cleaned(r, text) : text;
                *shown = goes_on ? (Bytes){text.at + prefix.n, text.n - prefix.n}
                                 : (Bytes){arena_printf(r->arena, " %s", text.at), text.n + 1};
                if (cleans)
                        *shown = cleaned(r, *shown);
        }
}

/* Replaces the end of a word by a space, except after the last token. */
static void show_ends(FormReader *r, const json_t *part, const char *where)
{
        const json_t *given = json_object_get(part, "suffix");
        Bytes suffix = is_none(given) ? bytes_of_text("</w>") : text_of(r, given, where);
        for (int32_t i = 0; i < r->form->vocab; i++) {
                Bytes *text = &r->form->shown[i];
                bool ends = suffix.n && suffix.n <= text->n &&
                            !memcmp(text->at + text->n - suffix.n, suffix.at, (size_t)suffix.n);
                Bytes word = {text->at, text->n - (ends ? suffix.n : 0)};
                bool within = suffix.n && replaced_text(r, word, suffix, bytes_of_text("")).n != word.n;
                if (within || (!ends && word.n && word.at[word.n - 1] == ' '))
                        reader_refuse(r,
                                      "%s: lathe supports BPEDecoder only with %.*s at the end of tokens; "
                                      "token %d is %.*s",
                                      where, (int)suffix.n, suffix.at, i, (int)text->n, text->at);
                if (ends)
                        *text = (Bytes){arena_printf(r->arena, "%.*s ", (int)word.n, word.at), word.n + 1};
        }
        r->form->flags |= TOKENS_END_IN_SPACE;
}

/* Handles one step; *fused: from here on tokens are one text. */
static void read_decoder_step(FormReader *r, const json_t *part, const char *where, bool *fused)
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
                                      "%s: lathe supports Strip only of spaces at the beginning of a text, "
                                      "after Fuse",
                                      where);
                r->form->strip = (int)start;
        } else if (*fused) {
                reader_refuse(r, "%s: unsupported decoder %s after Fuse", where, type);
        } else if (!strcmp(type, "Replace")) {
                show_replaced(r, r->form->shown, pattern_text(r, part, where),
                              text_of(r, json_object_get(part, "content"), where));
        } else if (!strcmp(type, "WordPiece")) {
                show_words(r, part, where);
        } else if (!strcmp(type, "BPEDecoder")) {
                show_ends(r, part, where);
        } else if (!strcmp(type, "ByteFallback")) {
                show_single_bytes(r);
        } else if (!strcmp(type, "Metaspace")) {
                const char *scheme = json_string_value(json_object_get(part, "prepend_scheme"));
                bool old = !scheme && truth_of(r, part, "add_prefix_space", true, where);
                show_replaced(r, r->form->shown, text_of(r, json_object_get(part, "replacement"), where),
                              (Bytes){" ", 1});
                r->form->strip = old || (scheme && strcmp(scheme, "never") != 0) ? MAX_TOKEN_BYTES : 0;
        } else {
                reader_refuse(r, "%s: unsupported decoder %s", where, type);
        }
}

/* Without a decoder, a text is its tokens separated by spaces. */
static void show_tokens_apart(FormReader *r)
{
        TokenizerForm *f = r->form;
        f->first = NEW_ARRAY(r->arena, Bytes, f->vocab + 1);
        for (int32_t i = 0; i < f->vocab; i++) {
                const bool added = i < r->nis_added && r->is_added[i];
                const Bytes text = !added && r->name[i].at ? r->name[i] : f->shown[i];
                /* no token has this number */
                if (!text.at)
                        continue;
                f->first[i] = text;
                f->shown[i] = (Bytes){arena_printf(r->arena, " %.*s", (int)text.n, text.at), text.n + 1};
        }
}

void read_decoder(FormReader *r, const json_t *part, const char *where)
{
        bool fused = false, bytes = r->form->flags & TOKENS_ARE_BYTES;
        if (is_none(part)) {
                show_tokens_apart(r);
                return;
        }
        const char *type = type_of(r, part, where);
        const json_t *list = json_object_get(part, "decoders");
        if (!strcmp(type, "ByteLevel") != bytes)
                reader_refuse(r, "%s: %s, but the pre-tokeniser is %sByteLevel", where, type,
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
