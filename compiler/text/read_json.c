/* Converts tokenizer.json to the form.  Parts that lathe does not support are rejected by name: nothing is guessed. */
#include <errno.h>
#include <stdlib.h>

#include "reader_private.h"

/* --- the vocabulary -------------------------------------------------------------------------------------------------- */

void read_vocabulary(FormReader *r, const json_t *vocab)
{
        const char *key;
        json_t *value;
        size_t n = json_object_size(vocab);
        if (!json_is_object(vocab) || n == 0)
                reader_refuse(r, "model.vocab: expected an object that maps tokens to their ids");
        if (n > MAX_TOKENS)
                reader_refuse(r, "model.vocab: %zu tokens; lathe reads up to %d", n, MAX_TOKENS);
        json_object_foreach ((json_t *)vocab, key, value) {
                int64_t length = (int64_t)strlen(key);
                if (length > MAX_TOKEN_BYTES)
                        reader_refuse(r, "model.vocab: a token of %lld bytes; lathe reads up to %d",
                                      (long long)length, MAX_TOKEN_BYTES);
                set_token(r, token_number(r, value, "model.vocab"),
                          (Bytes){arena_strndup(r->arena, key, length), length});
        }
}

/* --- merges ---------------------------------------------------------------------------------------------------------- */

static Bytes text_within(const json_t *value)
{
        return (Bytes){json_string_value(value), (int64_t)json_string_length(value)};
}

static void read_merge(FormReader *r, const json_t *value, int64_t i)
{
        static const char list[] = "model.merges";
        const json_t *left = json_array_get(value, 0), *right = json_array_get(value, 1);
        if (json_is_string(value))
                set_merge_line(r, i, text_within(value), list);
        else if (json_array_size(value) == 2 && json_is_string(left) && json_is_string(right))
                set_merge(r, i, text_within(left), text_within(right), list);
        else
                reader_refuse(r, "%s: expected two tokens", reader_element(r, list, (size_t)i));
}

static void read_merges(FormReader *r, const json_t *merges)
{
        size_t n = json_array_size(merges);
        if (!json_is_array(merges) || n > MAX_MERGES)
                reader_refuse(r, "model.merges: expected a list of at most %d pairs of tokens", MAX_MERGES);
        r->form->merge = NEW_ARRAY(r->arena, FormMerge, (int64_t)n + 1);
        r->form->nmerge = (int64_t)n;
        for (size_t i = 0; i < n; i++)
                read_merge(r, json_array_get(merges, i), (int64_t)i);
}

/* --- the model ------------------------------------------------------------------------------------------------------- */

static void refuse_setting(FormReader *r, const json_t *model, const char *key, const char *why)
{
        const json_t *value = json_object_get(model, key);
        if (is_none(value) || (json_is_string(value) && !json_string_length(value)) ||
            (json_is_number(value) && json_number_value(value) == 0))
                return;
        reader_refuse(r, "model.%s: %s", key, why);
}

void read_unknown(FormReader *r, const json_t *model, const char *otherwise)
{
        const json_t *unknown = json_object_get(model, "unk_token");
        TokenizerForm *f = r->form;
        Bytes name = {otherwise, otherwise ? (int64_t)strlen(otherwise) : 0};
        if (!is_none(unknown))
                name = text_of(r, unknown, "model.unk_token");
        else if (!otherwise || find_token(r, name) < 0)
                return;
        f->unknown = wanted_token(r, name, "model.unk_token");
        f->flags |= TOKENS_HAVE_UNKNOWN;
}

/* Affixes of symbols, by their position in a piece. */
static Bytes affix_of(FormReader *r, const json_t *model, const char *key)
{
        const json_t *value = json_object_get(model, key);
        const char *where = arena_printf(r->arena, "model.%s", key);
        Bytes text = is_none(value) ? (Bytes){"", 0} : text_of(r, value, where);
        if (text.n > TOKENS_AFFIX)
                reader_refuse(r, "%s: %lld bytes; lathe reads up to %d", where, (long long)text.n,
                              TOKENS_AFFIX);
        return text;
}

static void read_bpe(FormReader *r, const json_t *model)
{
        TokenizerForm *f = r->form;
        refuse_setting(r, model, "dropout", "dropout of merges is only for training; set it to null");
        f->within = affix_of(r, model, "continuing_subword_prefix");
        f->ending = affix_of(r, model, "end_of_word_suffix");
        read_vocabulary(r, json_object_get(model, "vocab"));
        read_merges(r, json_object_get(model, "merges"));
        read_unknown(r, model, NULL);
        f->ignores_merges = truth_of(r, model, "ignore_merges", false, "model");
        f->kind = f->flags & TOKENS_ARE_BYTES ? "byte-level BPE" : "BPE";
        if (truth_of(r, model, "fuse_unk", false, "model"))
                f->flags |= TOKENS_FUSE_UNKNOWN;
        if (!(f->flags & TOKENS_ARE_BYTES) && truth_of(r, model, "byte_fallback", false, "model"))
                f->flags |= TOKENS_HAVE_BYTES;
        f->flags |= TOKENS_WHOLE_FIRST;
        find_bytes(r);
}

/* Old files lack the type: it is the first one whose members are all present. */
static const char *type_of_members(FormReader *r, const json_t *model)
{
        static const struct {
                const char *type;
                bool list; /* the vocabulary is a list, else an object */
                const char *member[3];
        } rows[] = {
                {"BPE", false, {"merges"}},
                {"WordPiece", false, {"unk_token", "continuing_subword_prefix", "max_input_chars_per_word"}},
                {"WordLevel", false, {"unk_token"}},
                {"Unigram", true, {NULL}}};
        const json_t *vocab = json_object_get(model, "vocab");
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                bool all = rows[i].list ? json_is_array(vocab) : json_is_object(vocab);
                for (int k = 0; k < 3 && rows[i].member[k]; k++)
                        all &= !is_none(json_object_get(model, rows[i].member[k]));
                if (all)
                        return rows[i].type;
        }
        reader_refuse(r, "model: it has no type, and it can not be inferred: there is neither a vocab with "
                         "merges or unk_token nor a vocab that is a list of texts with scores");
}

static void tokenizer_read_model(FormReader *r, const json_t *model)
{
        if (!json_is_object(model))
                reader_refuse(r, "model: expected an object");
        const char *type = is_none(json_object_get(model, "type")) ? type_of_members(r, model)
                                                                   : type_of(r, model, "model");
        static const struct {
                const char *type;
                void (*read)(FormReader *r, const json_t *model);
        } known[] = {{"BPE", read_bpe},
                     {"WordPiece", read_word_piece},
                     {"WordLevel", read_word_level},
                     {"Unigram", read_unigram}};
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
                if (!strcmp(type, known[i].type)) {
                        known[i].read(r, model);
                        return;
                }
        reader_refuse(r, "model: unsupported model %s; lathe has BPE, WordPiece, WordLevel and Unigram",
                      type);
}

/* --- added tokens ---------------------------------------------------------------------------------------------------- */

void add_token(FormReader *r, const json_t *value, const char *where)
{
        TokenizerForm *f = r->form;
        if (!json_is_object(value))
                reader_refuse(r, "%s: expected an object", where);
        FormAdded *added = &f->added[f->nadded++];
        added->token = token_number(r, json_object_get(value, "id"), arena_printf(r->arena, "%s.id", where));
        added->text =
                text_of(r, json_object_get(value, "content"), arena_printf(r->arena, "%s.content", where));
        if (!added->text.n) {
                f->nadded--;
                return;
        }
        added->normalised =
                truth_of(r, value, "normalized", !truth_of(r, value, "special", false, where), where);
        bool control = truth_of(r, value, "special", false, where);
        added->flags = (control ? ADDED_CONTROL : 0) |
                       (truth_of(r, value, "lstrip", false, where) ? ADDED_STRIPS_LEFT : 0) |
                       (truth_of(r, value, "rstrip", false, where) ? ADDED_STRIPS_RIGHT : 0) |
                       (truth_of(r, value, "single_word", false, where) ? ADDED_IS_WORD : 0);
        int32_t known = find_token(r, added->text);
        if (known >= 0 && known != added->token)
                reader_refuse(r, "%s: \"%s\" is %d here and %d in model.vocab", where, added->text.at,
                              added->token, known);
        reader_room(r, added->token);
        if (known < 0 && f->shown[added->token].at)
                reader_refuse(r, "%s: the id %d of \"%s\" belongs to another token", where, added->token,
                              added->text.at);
        f->shown[added->token] = added->text;
        f->mark[added->token] |= control ? TOKEN_CONTROL : 0;
        if (r->nis_added < r->room) {
                r->is_added = arena_grow(r->arena, r->is_added, r->nis_added, r->room);
                r->nis_added = r->room;
        }
        r->is_added[added->token] = 1;
        if (added->token >= f->vocab)
                f->vocab = added->token + 1;
}

static void read_added(FormReader *r, const json_t *list)
{
        size_t n = json_array_size(list);
        if (is_none(list))
                return;
        if (!json_is_array(list) || n > MAX_ADDED)
                reader_refuse(r, "added_tokens: expected a list of at most %d tokens", MAX_ADDED);
        r->form->added = NEW_ARRAY(r->arena, FormAdded, (int64_t)n + 1);
        for (size_t i = 0; i < n; i++)
                add_token(r, json_array_get(list, i), reader_element(r, "added_tokens", i));
}

/* --- tokens before and after a text ---------------------------------------------------------------------------------- */

enum { MAX_TYPE = 1 << 16 };

/* The ids of a special token of a template. */
static const json_t *special_ids(FormReader *r, const json_t *part, const char *name, const char *where)
{
        const json_t *ids =
                json_object_get(json_object_get(json_object_get(part, "special_tokens"), name), "ids");
        if (!json_array_size(ids))
                reader_refuse(r, "%s: special_tokens has no ids of \"%s\"", where, name);
        return ids;
}

static void read_single(FormReader *r, const json_t *part, const char *where)
{
        const json_t *single = json_object_get(part, "single");
        bool before = true;
        if (!json_is_array(single))
                reader_refuse(r, "%s.single: expected a list", where);
        for (size_t i = 0; i < json_array_size(single); i++) {
                const json_t *item = json_array_get(single, i),
                             *token = json_object_get(item, "SpecialToken"),
                             *text = json_object_get(item, "Sequence"), *ids;
                const char *name = json_string_value(json_object_get(token ? token : text, "id"));
                if (!name || (text && (strcmp(name, "A") != 0 || !before)))
                        reader_refuse(r, "%s.single[%zu]: expected a special token, or the text A once",
                                      where, i);
                before &= !text;
                ids = text ? NULL : special_ids(r, part, name, where);
                for (size_t k = 0; k < json_array_size(ids); k++)
                        add_around(r, before, token_number(r, json_array_get(ids, k), where), where);
        }
        if (before)
                reader_refuse(r, "%s.single: the text A is missing", where);
}

/* An item of a template of pairs; *texts: the number of texts before it.  False: an unsupported one. */
static bool read_pair_item(FormReader *r, const json_t *part, const json_t *item, int *texts,
                           const char *where)
{
        const json_t *token = json_object_get(item, "SpecialToken"),
                     *text = json_object_get(item, "Sequence"), *any = token ? token : text;
        const char *name = json_string_value(json_object_get(any, "id"));
        const int64_t type = json_integer_value(json_object_get(any, "type_id"));
        if (!name || type < 0 || type > MAX_TYPE)
                return false;
        if (text && (*texts == 2 || strcmp(name, *texts ? "B" : "A") != 0))
                return false;
        if (text)
                add_item(r, (*texts)++ ? ITEM_SECOND : ITEM_FIRST, (int32_t)type, where);
        const json_t *ids = text ? NULL : special_ids(r, part, name, where);
        for (size_t k = 0; k < json_array_size(ids); k++)
                add_item(r, token_number(r, json_array_get(ids, k), where), (int32_t)type, where);
        return true;
}

/* Few tokenizers encode pairs, so one with an unusual template is read without it. */
static void read_pair(FormReader *r, const json_t *part, const char *where)
{
        const json_t *pair = json_object_get(part, "pair");
        const char *at = arena_printf(r->arena, "%s.pair", where);
        int texts = 0;
        bool good = r->form->nitem == 0;
        for (size_t i = 0; i < json_array_size(pair) && good; i++)
                good = read_pair_item(r, part, json_array_get(pair, i), &texts, reader_element(r, at, i));
        if (!good || texts != 2)
                r->form->nitem = 0;
}

/* BertProcessing and RobertaProcessing: cls and sep, each a text and its number.  The latter has no
 * types, and two tokens between the texts of a pair. */
static void read_enclosing(FormReader *r, const json_t *part, bool two_separators, const char *where)
{
        const int32_t begin = token_number(r, json_array_get(json_object_get(part, "cls"), 1), where),
                      end = token_number(r, json_array_get(json_object_get(part, "sep"), 1), where);
        add_around(r, true, begin, where);
        add_around(r, false, end, where);
        add_item(r, begin, 0, where);
        add_item(r, ITEM_FIRST, 0, where);
        add_item(r, end, 0, where);
        if (two_separators)
                add_item(r, end, 0, where);
        add_item(r, ITEM_SECOND, !two_separators, where);
        add_item(r, end, !two_separators, where);
}

static void read_post(FormReader *r, const json_t *part, const char *where, int depth)
{
        if (is_none(part))
                return;
        const char *type = type_of(r, part, where);
        const json_t *list = json_object_get(part, "processors");
        if (!strcmp(type, "Sequence") && depth < 8 && json_is_array(list))
                for (size_t i = 0; i < json_array_size(list); i++)
                        read_post(r, json_array_get(list, i),
                                  reader_element(r, arena_printf(r->arena, "%s.processors", where), i),
                                  depth + 1);
        else if (!strcmp(type, "TemplateProcessing")) {
                read_single(r, part, where);
                read_pair(r, part, where);
        } else if (!strcmp(type, "BertProcessing") || !strcmp(type, "RobertaProcessing"))
                read_enclosing(r, part, *type == 'R', where);
        else if (strcmp(type, "ByteLevel") != 0)
                reader_refuse(r, "%s: unsupported post-processor %s", where, type);
}

/* --- the whole ------------------------------------------------------------------------------------------------------- */

/* Rejects keys that would silently change the result. */
static void check_keys(FormReader *r, const json_t *root)
{
        static const char *const known[] = {"version",       "truncation",     "padding",
                                            "added_tokens",  "normalizer",     "model",
                                            "pre_tokenizer", "post_processor", "decoder"};
        const char *key;
        json_t *value;
        json_object_foreach ((json_t *)root, key, value) {
                bool found = false;
                for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
                        found |= !strcmp(key, known[i]);
                if (!found && !is_none(value))
                        reader_refuse(r, "the key %s is not supported", key);
        }
}

static void tokenizer_read_all(FormReader *r, const json_t *root)
{
        TokenizerForm *f = r->form;
        if (!json_is_object(root))
                reader_refuse(r, "not a tokenizer.json: expected an object");
        if (!json_object_get(root, "model"))
                reader_refuse(r, "not a tokenizer.json: it has no model");
        check_keys(r, root);
        read_normaliser(r, json_object_get(root, "normalizer"), "normalizer", 0);
        read_pre_tokeniser(r, json_object_get(root, "pre_tokenizer"), "pre_tokenizer", 0);
        tokenizer_read_model(r, json_object_get(root, "model"));
        read_added(r, json_object_get(root, "added_tokens"));
        reader_room(r, f->vocab); /* one more than present */
        read_post(r, json_object_get(root, "post_processor"), "post_processor", 0);
        read_decoder(r, json_object_get(root, "decoder"), "decoder");
}

const char *form_of_json(TokenizerForm *f, const json_t *root)
{
        FormReader *r = reader_new(f);
        if (setjmp(r->wrong))
                return r->why;
        tokenizer_read_all(r, root);
        return NULL;
}
