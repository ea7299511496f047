/* Models with a vector for each token: MultiVectorEncoder of sentence-transformers, ColBERT of PyLate, and the ColBERT of
 * its authors.  Their settings become those of `loop rank`. */
#include <jansson.h>
#include <stdlib.h>

#include "sentence_private.h"

/* --- the tokenizer's vocabulary ------------------------------------------------------------------------------------- */

/* Id of a token by its text in tokenizer.json or vocab.txt; added: only of added tokens.  -1: there is none. */
static int64_t id_in_json(const json_t *file, const char *text, bool added)
{
        const json_t *list = json_object_get(file, "added_tokens"),
                     *vocab = json_object_get(json_object_get(file, "model"), "vocab");
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *t = json_array_get(list, i);
                const char *content = json_string_value(json_object_get(t, "content"));
                if (content && !strcmp(content, text))
                        return json_integer_value(json_object_get(t, "id"));
        }
        if (added)
                return -1;
        const json_t *id = json_object_get(vocab, text);
        if (id)
                return json_integer_value(id);
        for (size_t i = 0; i < json_array_size(vocab); i++) {
                const char *piece = json_string_value(json_array_get(json_array_get(vocab, i), 0));
                if (piece && !strcmp(piece, text))
                        return (int64_t)i;
        }
        return -1;
}

static int64_t id_in_lines(const Source *s, const char *text)
{
        const char *at = s->text, *end = s->text + s->length;
        for (int64_t i = 0; at < end; i++) {
                const char *stop = memchr(at, '\n', (size_t)(end - at));
                size_t n = (size_t)((stop ? stop : end) - at);
                if (n == strlen(text) && !memcmp(at, text, n))
                        return i;
                at += n + 1;
        }
        return -1;
}

/* Opens the vocabulary at first use. */
static int64_t vocabulary_id(Modules *r, const char *text, bool added)
{
        const char *why = NULL;
        json_error_t error;
        if (!r->has_vocabulary) {
                const Source *s = read_source(
                        r->m->arena, sentence_text(r, "%s%stokenizer.json", r->folder, r->s->backbone), &why);
                r->has_vocabulary = true;
                r->vocabulary = s ? json_loadb(s->text, (size_t)s->length, 0, &error) : NULL;
                r->words = r->vocabulary
                                   ? NULL
                                   : read_source(r->m->arena,
                                                 sentence_text(r, "%s%svocab.txt", r->folder, r->s->backbone),
                                                 &why);
        }
        return r->vocabulary        ? id_in_json(r->vocabulary, text, added)
               : r->words && !added ? id_in_lines(r->words, text)
                                    : -1;
}

/* The token that a file names by a key, as a text or as an object; NULL: none. */
static const char *special_named(Modules *r, const char *file, const char *key)
{
        const char *why = NULL, *text;
        json_error_t error;
        const Source *s = read_source(
                r->m->arena,
                sentence_text(r, "%s%s", sentence_text(r, "%s%s", r->folder, r->s->backbone), file), &why);
        json_t *all = s ? json_loadb(s->text, (size_t)s->length, 0, &error) : NULL,
               *v = json_object_get(all, key);
        text = json_string_value(json_is_object(v) ? json_object_get(v, "content") : v);
        text = text ? arena_strdup(r->m->arena, text) : NULL;
        json_decref(all);
        return text;
}

static int64_t expansion_token(Modules *r, const char *given)
{
        static const char *const key[] = {"mask_token", "eos_token"};
        const char *text = given;
        for (int i = 0; i < 2 && !text; i++) {
                text = special_named(r, "tokenizer_config.json", key[i]);
                text = text ? text : special_named(r, "special_tokens_map.json", key[i]);
        }
        int64_t id = text ? vocabulary_id(r, text, false) : -1;
        if (id < 0 && !given)
                id = vocabulary_id(r, "[MASK]", false);
        if (id < 0)
                sentence_refuse(r, (Span){NULL, 0, 0},
                                sentence_text(r, "query expansion: the tokenizer has no token %s%s",
                                              text ? text : "for it (mask_token or eos_token)", ""));
        return id;
}

/* --- prompts ---------------------------------------------------------------------------------------------------------- */

/* Splits a prompt into a token, if it begins with one, and the rest.  old: the token may be any of the vocabulary. */
static void split_prompt(Modules *r, const char *prompt, bool old, int64_t *token, const char **rest)
{
        const size_t lead = strspn(prompt, " "), word = lead ? 0 : strcspn(prompt, " ");
        *token = -1;
        *rest = prompt;
        if (!*prompt)
                return;
        *token = vocabulary_id(r, prompt, !old);
        if (*token >= 0) {
                *rest = "";
                return;
        }
        if (word)
                *token = vocabulary_id(r, arena_strndup(r->m->arena, prompt, (int64_t)word), !old);
        if (*token >= 0)
                *rest = prompt + word;
}

/* --- settings ----------------------------------------------------------------------------------------------------------- */

static void rank_words_of(Modules *r, const ConfigField *f)
{
        RankSettings *k = &r->s->rank;
        k->skips = 0;
        if (f->value.kind != CONFIG_LIST) {
                sentence_wants(r, f, "a list of texts");
                return;
        }
        const ConfigList *list = f->value.list;
        k->skip = NEW_ARRAY(r->m->arena, ConfigValue, list->n + 1);
        for (int i = 0; i < list->n && !r->m->failed; i++) {
                if (list->item[i].kind != CONFIG_TEXT) {
                        sentence_wants(r, f, "a list of texts");
                        return;
                }
                const int64_t id = vocabulary_id(r, list->item[i].text, false);
                if (id >= 0)
                        k->skip[k->skips++] = config_number((double)id, true);
        }
}

/* ASCII punctuation, as Python's string.punctuation. */
static void rank_punctuation(Modules *r)
{
        RankSettings *k = &r->s->rank;
        k->skip = NEW_ARRAY(r->m->arena, ConfigValue, 32);
        k->skips = 0;
        for (const char *c = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"; *c; c++) {
                const int64_t id = vocabulary_id(r, arena_strndup(r->m->arena, c, 1), false);
                if (id >= 0)
                        k->skip[k->skips++] = config_number((double)id, true);
        }
}

static void rank_expansion(Modules *r, int64_t length, bool attends, const char *token)
{
        RankSettings *k = &r->s->rank;
        k->expand = expansion_token(r, token);
        k->expand_to = length;
        k->is_padded = !attends;
}

/* {"strategy": "fixed", "attend": false, "token": null, "length": 32} */
static bool take_expansion(Modules *r, const ConfigField *f)
{
        RankSettings *k = &r->s->rank;
        k->expand = -1;
        k->expand_to = 0;
        if (f->value.kind == CONFIG_NONE)
                return true;
        if (f->value.kind != CONFIG_OBJECT)
                return sentence_wants(r, f, "an object");
        const ConfigObject *o = f->value.object;
        const char *strategy = sentence_word(r, o, "strategy"), *token = sentence_word(r, o, "token");
        const int64_t length = sentence_size(r, o, "length");
        if (!sentence_keys(r, o, "strategy attend token length ", f->key))
                return false;
        if (!strategy || (strcmp(strategy, "fixed") != 0 && strcmp(strategy, "min") != 0) || !length)
                return sentence_wants(r, f, "a strategy fixed or min, and a length");
        rank_expansion(r, length, sentence_truth(r, o, "attend", false), token);
        if (!strcmp(strategy, "fixed"))
                k->query_tokens = length;
        else if (k->query_tokens && k->query_tokens < length)
                k->query_tokens = length;
        return !r->m->failed;
}

bool sentence_rank_lengths(Modules *r, const ConfigObject *o)
{
        RankSettings *k = &r->s->rank;
        const int64_t query = sentence_size(r, o, "query_length"),
                      passage = sentence_size(r, o, "document_length");
        const ConfigField *f = sentence_key(r, o, "query_expansion");
        k->query_tokens = query ? query : k->query_tokens;
        k->max_tokens = passage ? passage : k->max_tokens;
        return !r->m->failed && (!f || take_expansion(r, f));
}

static bool take_similarity(Modules *r, const ConfigObject *o)
{
        static const char *const known[] = {"maxsim", "MaxSim", "cosine", "dot"};
        const char *word = sentence_word(r, o, "similarity_fn_name");
        bool good = !word || !strcmp(word, "meanmaxsim");
        r->s->rank.averages = word && !strcmp(word, "meanmaxsim");
        for (int i = 0; i < 4 && !good; i++)
                good = !strcmp(word, known[i]);
        return good || sentence_wants(r, sentence_key(r, o, "similarity_fn_name"), "maxsim or meanmaxsim");
}

/* The text before a query or a passage: a prefix of PyLate, then the prompt of that name. */
static const char *rank_prompt_of(Modules *r, const ConfigObject *o, const char *name, const char *prefix_key)
{
        const ConfigField *f = sentence_key(r, o, "prompts");
        const char *prefix = sentence_word(r, o, prefix_key), *prompt = NULL;
        if (f && f->value.kind == CONFIG_OBJECT) {
                if (sentence_keys(r, f->value.object, "query document ", "prompts"))
                        prompt = sentence_word(r, f->value.object, name);
        } else if (f && f->value.kind != CONFIG_NONE) {
                sentence_wants(r, f, "an object of texts");
        }
        prefix = prefix ? prefix : "";
        prompt = prompt ? prompt : "";
        if (!strncmp(prompt, prefix, strlen(prefix)))
                prompt += strlen(prefix);
        return sentence_text(r, "%s%s", prefix, prompt);
}

static bool has_prefixes(Modules *r, const ConfigObject *o)
{
        return sentence_key(r, o, "query_prefix") || sentence_key(r, o, "document_prefix");
}

/* config_sentence_transformers.json, before modules.json is read. */
bool sentence_take_ranks(Modules *r, const ConfigObject *o, const char *file)
{
        const char *type = sentence_word(r, o, "model_type");
        RankSettings *k = &r->s->rank;
        r->is_multi = type && (!strcmp(type, "MultiVectorEncoder") || !strcmp(type, "ColBERT"));
        r->is_multi |= has_prefixes(r, o);
        if (!r->is_multi)
                return !r->m->failed;
        r->is_pylate = !type || strcmp(type, "MultiVectorEncoder") != 0;
        *k = (RankSettings){.query_token = -1, .passage_token = -1, .expand = -1};
        if (!sentence_keys(
                    r, o,
                    "__version__ prompts default_prompt_name similarity_fn_name model_type query_prefix "
                    "document_prefix query_length document_length attend_to_expansion_tokens "
                    "do_query_expansion skiplist_words query_expansion ",
                    file) ||
            !take_similarity(r, o))
                return false;
        const char *query = rank_prompt_of(r, o, "query", "query_prefix"),
                   *passage = rank_prompt_of(r, o, "document", "document_prefix");
        r->s->rank.query_prompt = query;
        r->s->rank.passage_prompt = passage;
        r->has_old_prefixes = has_prefixes(r, o);
        r->rank_config = o;
        return !r->m->failed;
}

/* After the Transformer, whose folder has the tokenizer: what the configuration of PyLate states. */
bool sentence_rank_of_pylate(Modules *r)
{
        const ConfigObject *o = r->rank_config;
        RankSettings *k = &r->s->rank;
        const ConfigField *skip = sentence_key(r, o, "skiplist_words"),
                          *expansion = sentence_key(r, o, "query_expansion");
        if (!r->is_pylate)
                return true;
        const bool attends = sentence_truth(r, o, "attend_to_expansion_tokens", false);
        const int64_t query = sentence_size(r, o, "query_length"),
                      passage = sentence_size(r, o, "document_length");
        k->max_tokens = passage ? passage : k->max_tokens;
        if (expansion && !take_expansion(r, expansion))
                return false;
        if (!expansion && sentence_truth(r, o, "do_query_expansion", true)) {
                k->query_tokens = query ? query : 32;
                rank_expansion(r, k->query_tokens, attends, NULL);
        } else if (!expansion) {
                k->query_tokens = query;
        }
        if (skip && skip->value.kind != CONFIG_NONE)
                rank_words_of(r, skip);
        else
                rank_punctuation(r);
        return !r->m->failed;
}

/* The prompts as tokens and texts, after the Transformer. */
bool sentence_rank_prompts(Modules *r)
{
        RankSettings *k = &r->s->rank;
        split_prompt(r, k->query_prompt, r->has_old_prefixes, &k->query_token, &k->query_prompt);
        split_prompt(r, k->passage_prompt, r->has_old_prefixes, &k->passage_token, &k->passage_prompt);
        return !r->m->failed;
}

/* {"skiplist_words": [...], "skiplist_tasks": ["document"], "keep_only_token_ids": null} */
bool take_multi_vector_mask(Modules *r)
{
        const ConfigField *words = sentence_key(r, r->config, "skiplist_words"),
                          *tasks = sentence_key(r, r->config, "skiplist_tasks"),
                          *keep = sentence_key(r, r->config, "keep_only_token_ids");
        if (!sentence_keys(r, r->config, "skiplist_words skiplist_tasks keep_only_token_ids ",
                           "MultiVectorMask"))
                return false;
        if (!r->is_multi)
                return sentence_refuse(r, r->span,
                                       "MultiVectorMask is for models with a vector for each token");
        if (keep && !sentence_is_empty(keep->value))
                return sentence_wants(r, keep, "null");
        const ConfigList *list = tasks && tasks->value.kind == CONFIG_LIST ? tasks->value.list : NULL;
        if (tasks && tasks->value.kind != CONFIG_NONE &&
            !(list && list->n == 1 && list->item[0].kind == CONFIG_TEXT &&
              !strcmp(list->item[0].text, "document")))
                return sentence_wants(r, tasks, "[\"document\"]");
        if (words && words->value.kind != CONFIG_NONE)
                rank_words_of(r, words);
        return !r->m->failed;
}

/* --- ColBERT of its authors --------------------------------------------------------------------------------------------- */

bool sentence_take_colbert(Modules *r)
{
        ConfigValue v = {0};
        RankSettings *k = &r->s->rank;
        if (!sentence_file(r, "artifact.metadata", CONFIG_OBJECT, &v))
                return false;
        /* of training, indexing and searching in an index: they change no vector */
        if (!sentence_keys(
                    r, v.object,
                    "query_token_id doc_token_id query_token doc_token query_maxlen doc_maxlen "
                    "attend_to_mask_tokens "
                    "mask_punctuation dim similarity interaction ncells centroid_score_threshold ndocs "
                    "index_path "
                    "load_index_with_mmap nbits kmeans_niters num_partitions_max bsize accumsteps lr "
                    "maxsteps "
                    "save_every warmup warmup_bert relu nway use_ib_negatives reranker distillation_alpha "
                    "ignore_scores model_name resume shuffle_triples pool_factor clustering_mode "
                    "protected_tokens "
                    "triples collection queries index_name checkpoint index_bsize overwrite root experiment "
                    "index_root name rank nranks amp gpus avoid_fork_if_possible total_visible_gpus meta ",
                    "artifact.metadata"))
                return false;
        const ConfigField *relu = sentence_key(r, v.object, "relu");
        const char *similarity = sentence_word(r, v.object, "similarity"),
                   *interaction = sentence_word(r, v.object, "interaction"),
                   *query = sentence_word(r, v.object, "query_token_id"),
                   *passage = sentence_word(r, v.object, "doc_token_id");
        if (similarity && strcmp(similarity, "cosine") != 0)
                return sentence_wants(r, sentence_key(r, v.object, "similarity"), "cosine");
        if (interaction && strcmp(interaction, "colbert") != 0)
                return sentence_wants(r, sentence_key(r, v.object, "interaction"), "colbert");
        (void)relu; /* of a reranker's training only */
        const int64_t query_tokens = sentence_size(r, v.object, "query_maxlen"),
                      dim = sentence_size(r, v.object, "dim");
        *k = (RankSettings){.query_token = -1, .passage_token = -1, .expand = -1};
        r->is_multi = r->has_old_prefixes = true;
        k->query_prompt = sentence_text(r, "%s%s", query ? query : "[unused0]", " ");
        k->passage_prompt = sentence_text(r, "%s%s", passage ? passage : "[unused1]", " ");
        k->query_tokens = query_tokens ? query_tokens : 32;
        k->max_tokens = sentence_size(r, v.object, "doc_maxlen");
        rank_expansion(r, k->query_tokens, sentence_truth(r, v.object, "attend_to_mask_tokens", false), NULL);
        if (sentence_truth(r, v.object, "mask_punctuation", true))
                rank_punctuation(r);
        if (!sentence_rank_prompts(r))
                return false;
        paths_add(r->m->arena, &r->s->statement,
                  arena_printf(r->m->arena, "x = linear(x, %lld) as dense_1", (long long)(dim ? dim : 128)));
        paths_add(r->m->arena, &r->s->entry, "\"linear.weight\" = sentence.dense_1.w");
        paths_add(r->m->arena, &r->s->statement, "y = unit_rows(x)");
        r->s->ranks = r->s->is_there = r->s->is_colbert = true;
        return !r->m->failed;
}

/* The settings of `loop rank`, in place of those of `loop embed`. */
bool sentence_state_ranks(Import *m, int64_t longest)
{
        const RankSettings *k = &m->sentence.rank;
        StatedLoop *l = (StatedLoop *)item_loop_named(m, "embed");
        const int64_t most = k->max_tokens && (!longest || k->max_tokens < longest) ? k->max_tokens : longest,
                      query = k->query_tokens ? k->query_tokens : longest;
        bool keeps = false;
        for (int i = 0; i < l->nsetting; i++)
                keeps |= !strcmp(l->setting[i].name, "keep");
        if (k->expand >= 0 && k->is_padded && !keeps) {
                config_error(m, (Span){NULL, 0, 0},
                             "query expansion without attention to its tokens requires an encoder: its model "
                             "has an "
                             "input keep");
                return false;
        }
        l->name = intern(m->program->names, "rank", -1);
        const struct {
                const char *name;
                double value;
                bool is_set;
        } number[] = {{"query_token", (double)k->query_token, k->query_token >= 0},
                      {"passage_token", (double)k->passage_token, k->passage_token >= 0},
                      {"query_tokens", (double)query, query > 0},
                      {"max_tokens", (double)most, most > 0},
                      {"expand", (double)k->expand, k->expand >= 0},
                      {"expand_to", (double)k->expand_to, k->expand >= 0 && k->expand_to != query}};
        for (size_t i = 0; i < sizeof number / sizeof *number; i++)
                if (number[i].is_set)
                        import_set(m, "rank", number[i].name, config_number(number[i].value, true));
        if (k->query_prompt && *k->query_prompt)
                import_set(m, "rank", "query_prompt", config_text(k->query_prompt));
        if (k->passage_prompt && *k->passage_prompt)
                import_set(m, "rank", "passage_prompt", config_text(k->passage_prompt));
        if (k->expand >= 0 && k->is_padded)
                import_set(m, "rank", "padding", config_text("keep"));
        if (k->averages)
                import_set(m, "rank", "average", config_bool(true));
        if (k->skips) {
                ConfigList *list = NEW(m->arena, ConfigList);
                *list = (ConfigList){.item = k->skip, .n = k->skips};
                import_set(m, "rank", "skip", (ConfigValue){.kind = CONFIG_LIST, .list = list});
        }
        return true;
}
