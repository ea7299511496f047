/* A directory of sentence-transformers: its modules as formulas of the printed model.
 *
 * modules.json lists the modules in order: a Transformer, which is the model of config.json, a Pooling or
 * SpladePooling, and any number of Dense, LayerNorm and Normalize.  Each module's config.json becomes a statement of the block
 * `sentence`, and its weights become entries of a checkpoint.  Settings for texts (maximum length, prompts)
 * become settings of `loop embed`.  Unknown modules and keys are rejected by name, since each of them may
 * change the vectors. */
#include <stdlib.h>

#include "sentence_private.h"

enum { MAX_MODULES = 32, MAX_MODES = 6 };

/* --- the statements ----------------------------------------------------------------------------------------------- */

static void sentence_say(Modules *r, const char *statement)
{
        paths_add(r->m->arena, &r->s->statement, statement);
}

/* Maps a tensor of the module's file to the weight NAME.WEIGHT. */
static void sentence_entry(Modules *r, const char *tensor, const char *weight)
{
        paths_add(r->m->arena, &r->s->entry,
                  arena_printf(r->m->arena, "\"%s/%s\" = sentence.%s.%s", r->path, tensor, r->name, weight));
}

/* The variable that a module updates: x, the tokens' vectors, or y, the text's. */
static const char *sentence_variable(Modules *r)
{
        const char *input = sentence_word(r, r->config, "module_input_name"),
                   *output = sentence_word(r, r->config, "module_output_name");
        input = input ? input : r->is_multi ? "token_embeddings" : "sentence_embedding";
        bool tokens = !strcmp(input, "token_embeddings");
        if (strcmp(output ? output : input, input) != 0 ||
            (!tokens && strcmp(input, "sentence_embedding") != 0))
                sentence_refuse(
                        r, r->span,
                        sentence_text(r, "%s: its input %s and its output differ, which is not supported",
                                      r->path, input));
        else if (tokens == r->pooled)
                sentence_refuse(r, r->span,
                                sentence_text(r,
                                              "%s: it changes %s, which the modules around it do not accept",
                                              r->path, input));
        return tokens ? "x" : "y";
}

static const char *const sentence_mode[][3] = {
        /* old key, new word, block; in this order old keys are joined */
        {"pooling_mode_cls_token", "cls", "cls_token"},
        {"pooling_mode_max_tokens", "max", "max_tokens"},
        {"pooling_mode_mean_tokens", "mean", "mean_tokens"},
        {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", "mean_sqrt_tokens"},
        {"pooling_mode_weightedmean_tokens", "weightedmean", "weighted_mean_tokens"},
        {"pooling_mode_lasttoken", "lasttoken", "last_token"},
};
enum { MODES = sizeof sentence_mode / sizeof *sentence_mode };

static int mode_of(const char *word)
{
        for (int i = 0; i < MODES; i++)
                if (!strcmp(sentence_mode[i][1], word))
                        return i;
        return -1;
}

/* One of the words of pooling_mode. */
static bool add_mode(Modules *r, const ConfigField *f, ConfigValue word, int *mode, int *n)
{
        int found = word.kind == CONFIG_TEXT ? mode_of(word.text) : -1;
        if (found < 0)
                return sentence_wants(r, f,
                                      "cls, max, mean, mean_sqrt_len_tokens, weightedmean or lasttoken");
        if (*n == MAX_MODES)
                return sentence_wants(r, f, "at most 6 of them");
        mode[(*n)++] = found;
        return true;
}

/* The modes that are joined, in order; returns their number. */
static int modes_of_pooling(Modules *r, int *mode)
{
        const ConfigField *f = sentence_key(r, r->config, "pooling_mode");
        int n = 0;
        if (f && f->value.kind == CONFIG_LIST) {
                for (int i = 0; i < f->value.list->n; i++)
                        if (!add_mode(r, f, f->value.list->item[i], mode, &n))
                                return 0;
        } else if (f && f->value.kind != CONFIG_NONE) {
                add_mode(r, f, f->value, mode, &n);
        } else {
                for (int i = 0; i < MODES; i++)
                        if (sentence_truth(r, r->config, sentence_mode[i][0], i == mode_of("mean")))
                                mode[n++] = i;
        }
        if (!n)
                sentence_refuse(r, r->span, "Pooling has no mode");
        return n;
}

static void say_modes(Modules *r, const int *mode, int n)
{
        const char *all = "";
        for (int i = 0; i < n; i++)
                all = arena_printf(r->m->arena, "%s%s%s(x, keep:)", all, i ? ", " : "",
                                   sentence_mode[mode[i]][2]);
        sentence_say(r, arena_printf(r->m->arena, n > 1 ? "y = join(%s)" : "y = %s", all));
        r->pooled = true;
}

static bool take_pooling(Modules *r)
{
        int mode[MAX_MODES];
        if (r->pooled || r->is_multi || r->is_masked)
                return sentence_refuse(
                        r, r->span,
                        r->is_multi ? "Pooling in a model with a vector for each token is not supported"
                        : r->pooled ? "a second Pooling is not supported"
                                    : "Pooling after a Transformer with logits (fill-mask) is not supported: "
                                      "expected SpladePooling");
        if (!sentence_keys(r, r->config,
                           "word_embedding_dimension embedding_dimension pooling_mode include_prompt "
                           "pooling_mode_cls_token pooling_mode_max_tokens pooling_mode_mean_tokens "
                           "pooling_mode_mean_sqrt_len_tokens pooling_mode_weightedmean_tokens "
                           "pooling_mode_lasttoken ",
                           "Pooling"))
                return false;
        int64_t width = sentence_size(r, r->config, "embedding_dimension");
        r->s->width = width ? width : sentence_size(r, r->config, "word_embedding_dimension");
        r->s->leaves_prompt_out = !sentence_truth(r, r->config, "include_prompt", true);
        r->s->pooling = r->span;
        int n = modes_of_pooling(r, mode);
        if (!r->m->failed)
                say_modes(r, mode, n);
        return !r->m->failed;
}

/* --- Dense, LayerNorm, Normalize ------------------------------------------------------------------------------------ */

/* Activations without parameters, by their class in torch.nn. */
static const char *const sentence_activation[][2] = {
        {"Identity", ""},     {"Tanh", "tanh"},       {"ReLU", "relu"},
        {"GELU", "gelu_erf"}, {"Sigmoid", "sigmoid"}, {"SiLU", "silu"},
};

static const char *block_of_activation(Modules *r)
{
        const char *class = sentence_word(r, r->config, "activation_function");
        const char *dot = class ? strrchr(class, '.') : NULL;
        if (!class)
                return "tanh";
        for (size_t i = 0; i < sizeof sentence_activation / sizeof *sentence_activation; i++)
                if (!strncmp(class, "torch.nn.", 9) && !strcmp(dot + 1, sentence_activation[i][0]))
                        return sentence_activation[i][1];
        sentence_refuse(r, sentence_key(r, r->config, "activation_function")->span,
                        sentence_text(r, "unknown activation %s%s", class, ""));
        return "";
}

/* Rejects pickles.  Missing weights are reported when they are read. */
static bool weights_can_be_read(Modules *r)
{
        if (sentence_has(r, sentence_text(r, "%s/model.safetensors%s", r->path, "")) ||
            !sentence_has(r, sentence_text(r, "%s/pytorch_model.bin%s", r->path, "")))
                return true;
        sentence_refuse(
                r, r->span,
                sentence_text(r, "%s%s/pytorch_model.bin is a pickle, which is never read", r->path, ""));
        diag_hint(r->m->diag,
                  "save it as %s/model.safetensors: safetensors.torch.save_file(torch.load(\"%s/"
                  "pytorch_model.bin\", weights_only=True), \"%s/model.safetensors\")",
                  r->path, r->path, r->path);
        return false;
}

/* A weight of each token is not mixed with others. */
static bool changes_a_dense_vector(Modules *r)
{
        return !r->s->is_sparse ||
               sentence_refuse(
                       r, r->span,
                       "after SpladePooling, the only modules that are supported are Normalize and Dropout");
}

static bool take_dense(Modules *r)
{
        Arena *a = r->m->arena;
        if (!sentence_keys(r, r->config,
                           "in_features out_features bias activation_function module_input_name "
                           "module_output_name use_residual ",
                           "Dense"))
                return false;
        if (!changes_a_dense_vector(r))
                return false;
        const char *v = sentence_variable(r), *act = block_of_activation(r);
        int64_t in = sentence_size(r, r->config, "in_features"),
                out = sentence_size(r, r->config, "out_features");
        bool bias = sentence_truth(r, r->config, "bias", true),
             residual = sentence_truth(r, r->config, "use_residual", false);
        if (!r->m->failed && (!in || !out))
                return sentence_refuse(
                        r, r->span,
                        sentence_text(r, "%s%s: in_features and out_features are missing", r->path, ""));
        if (r->m->failed || !weights_can_be_read(r))
                return false;
        const char *map = arena_printf(a, "linear(%s, %lld%s) as %s", v, (long long)out,
                                       bias ? ", bias: true" : "", r->name),
                   *rest = !residual   ? ""
                           : in == out ? arena_printf(a, " + %s", v)
                                       : arena_printf(a, " + (linear(%s, %lld) as %s_residual)", v,
                                                      (long long)out, r->name);
        sentence_say(r, arena_printf(a,
                                     *act    ? "%s = %s(%s)%s"
                                     : *rest ? "%s = %s(%s)%s"
                                             : "%s = %s%s%s",
                                     v, act, map, rest));
        sentence_entry(r, "linear.weight", "w");
        if (bias)
                sentence_entry(r, "linear.bias", "b");
        if (residual && in != out) {
                r->name = arena_printf(a, "%s_residual", r->name);
                sentence_entry(r, "residual.weight", "w");
        }
        return true;
}

static bool take_layernorm(Modules *r)
{
        if (!sentence_keys(r, r->config, "dimension ", "LayerNorm") || !weights_can_be_read(r) ||
            !changes_a_dense_vector(r))
                return false;
        if (!r->pooled)
                return sentence_refuse(
                        r, r->span,
                        "LayerNorm changes the vector of a text, which no Pooling makes before it");
        sentence_say(r, arena_printf(r->m->arena, "y = layernorm(y) as %s", r->name));
        sentence_entry(r, "norm.weight", "gain");
        sentence_entry(r, "norm.bias", "shift");
        return true;
}

static bool take_normalize(Modules *r)
{
        if (!sentence_keys(r, r->config, "module_input_name module_output_name ", "Normalize"))
                return false;
        const char *v = sentence_variable(r);
        if (*v == 'x' && !r->is_multi)
                return sentence_refuse(r, r->span, "Normalize of the tokens' vectors is not supported");
        sentence_say(r, *v == 'x' ? "x = unit_rows(x)" : "y = unit_vector(y)");
        return !r->m->failed;
}

/* Dropout has no effect outside of training. */
static bool take_dropout(Modules *r)
{
        return sentence_keys(r, r->config, "dropout ", "Dropout");
}

/* --- the Transformer ------------------------------------------------------------------------------------------------ */

/* Accepts arguments of transformers that do not change results. */
static bool arguments_are_known(Modules *r, const ConfigField *f)
{
        if (sentence_is_empty(f->value))
                return true;
        if (f->value.kind != CONFIG_OBJECT)
                return sentence_wants(r, f, "an object");
        return sentence_keys(
                r, f->value.object,
                "trust_remote_code attn_implementation torch_dtype dtype device_map cache_dir token "
                "low_cpu_mem_usage use_safetensors add_pooling_layer use_fast revision "
                "local_files_only ",
                f->key);
}

/* Whether texts are passed to the model unchanged: {"text": {"method": "forward", "method_output_name":
 * "last_hidden_state"}}. */
static bool texts_go_forward(Modules *r, const ConfigField *f)
{
        const ConfigField *text = NULL;
        if (f->value.kind == CONFIG_OBJECT &&
            sentence_keys(r, f->value.object, r->is_causal ? "text message " : "text ", "modality_config"))
                text = sentence_key(r, f->value.object, "text");
        if (r->m->failed)
                return false;
        if (!text || text->value.kind != CONFIG_OBJECT)
                return sentence_wants(r, f, "an object with text");
        const char *wanted = r->is_cross || r->is_masked ? "logits" : "last_hidden_state";
        const char *method = sentence_word(r, text->value.object, "method"),
                   *output = sentence_word(r, text->value.object, "method_output_name");
        return (sentence_keys(r, text->value.object, "method method_output_name ", "modality_config.text") &&
                sentence_takes_messages(r, sentence_key(r, f->value.object, "message")) &&
                (!method || !strcmp(method, "forward")) && (!output || !strcmp(output, wanted))) ||
               r->m->failed ||
               sentence_wants(r, text, sentence_text(r, "the method forward and its %s%s", wanted, ""));
}

static bool word_is(Modules *r, const ConfigObject *o, const char *key, const char *wanted)
{
        const char *word = sentence_word(r, o, key);
        return !r->m->failed &&
               (!word || !strcmp(word, wanted) || sentence_wants(r, sentence_key(r, o, key), wanted));
}

static bool take_text_settings(Modules *r, const ConfigObject *o, const char *file)
{
        static const char *const arguments[] = {"model_args",       "model_kwargs", "tokenizer_args",
                                                "processor_kwargs", "config_args",  "config_kwargs",
                                                "processing_kwargs"};
        const char *task = sentence_word(r, o, "transformer_task");
        r->is_causal = r->is_cross && task && !strcmp(task, "text-generation");
        r->is_masked |= !r->is_cross && !r->is_multi && task && !strcmp(task, "fill-mask");
        if (!sentence_keys(r, o,
                           "max_seq_length do_lower_case transformer_task modality_config module_output_name "
                           "unpad_inputs backend model_args model_kwargs tokenizer_args processor_kwargs "
                           "config_args config_kwargs processing_kwargs query_expansion query_length "
                           "document_length ",
                           file))
                return false;
        if (r->is_multi && !sentence_rank_lengths(r, o))
                return false;
        if (!r->is_multi && (sentence_size(r, o, "query_length") || sentence_size(r, o, "document_length")))
                return sentence_refuse(
                        r, r->span,
                        "query_length and document_length are supported for MultiVectorEncoder only");
        for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
                const ConfigField *f = sentence_key(r, o, arguments[i]);
                const bool chat = r->is_causal && !strcmp(arguments[i], "processing_kwargs");
                if (f && !(chat ? sentence_chat_arguments(r, f) : arguments_are_known(r, f)))
                        return false;
        }
        const ConfigField *expansion = sentence_key(r, o, "query_expansion");
        if (expansion && !r->is_multi && !arguments_are_known(r, expansion))
                return false;
        const ConfigField *modality = sentence_key(r, o, "modality_config");
        if (modality && modality->value.kind != CONFIG_NONE && !texts_go_forward(r, modality))
                return false;
        r->s->limit = sentence_size(r, o, "max_seq_length");
        sentence_truth(r, o, "do_lower_case", false); /* handled by the tokenizer: text/load.c */
        return (r->is_causal || word_is(r, o, "transformer_task",
                                        r->is_cross    ? "sequence-classification"
                                        : r->is_masked ? "fill-mask"
                                                       : "feature-extraction")) &&
               word_is(r, o, "module_output_name",
                       r->is_causal  ? "causal_logits"
                       : r->is_cross ? "scores"
                                     : "token_embeddings");
}

int64_t limit_of_tokenizer(Arena *arena, const char *folder)
{
        const char *why = NULL;
        const Source *source =
                read_source(arena, arena_printf(arena, "%stokenizer_config.json", folder), &why);
        json_error_t error;
        json_t *config =
                source ? json_loadb(source->text, (size_t)source->length, JSON_DECODE_INT_AS_REAL, &error)
                       : NULL;
        double x = json_number_value(json_object_get(config, "model_max_length"));
        json_decref(config);
        return x >= 1 && x <= INT32_MAX ? (int64_t)x : 0;
}

/* class: Transformer, or MLMTransformer, as versions before 5.4 wrote it for logits. */
static bool take_transformer(Modules *r, const char *class)
{
        r->is_masked = *class == 'M';
        r->s->backbone = *r->path ? sentence_text(r, "%s%s/", r->path, "") : "";
        const char *name = name_in_folder(r->m->arena, sentence_text(r, "%s%s", r->folder, r->s->backbone),
                                          "sentence_", "_config.json"),
                   *file = name ? sentence_text(r, "%s%s", r->s->backbone, name) : NULL;
        ConfigValue v = {0};
        if (file && (!sentence_file(r, file, CONFIG_OBJECT, &v) || !take_text_settings(r, v.object, file)))
                return false;
        if (!r->s->limit)
                r->s->limit =
                        limit_of_tokenizer(r->m->arena, sentence_text(r, "%s%s", r->folder, r->s->backbone));
        return !r->m->failed && (!r->is_multi || (sentence_rank_of_pylate(r) && sentence_rank_prompts(r)));
}

/* --- modules.json --------------------------------------------------------------------------------------------------- */

static const struct {
        const char *type, *weights;
        bool wants_config;
        bool (*take)(Modules *r);
} module_table[] = {
        {"LogitScore", "score", true, take_logit_score},
        {"MultiVectorMask", "mask", true, take_multi_vector_mask},
        {"Pooling", "pooling", true, take_pooling},
        {"SpladePooling", "pooling", true, take_splade_pooling},
        {"Dense", "dense", true, take_dense},
        {"LayerNorm", "norm", true, take_layernorm},
        {"Normalize", "normalize", false, take_normalize},
        {"Dropout", "dropout", false, take_dropout},
};

/* "sentence_transformers.models.Pooling" and
 * "sentence_transformers.sentence_transformer.modules.pooling.Pooling" are Pooling.  NULL: a class that
 * comes with the model. */
static const char *transformers_class(const char *type)
{
        const char *dot = type ? strrchr(type, '.') : NULL;
        return dot && (!strncmp(type, "sentence_transformers.", 22) || !strncmp(type, "pylate.", 7)) ? dot + 1
                                                                                                     : NULL;
}

static bool path_is_plain(const char *path)
{
        return !strstr(path, "..") && *path != '/' &&
               strspn(path, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-./") ==
                       strlen(path);
}

/* Module i of a class of this type, or NULL, in a folder. */
static bool take_module(Modules *r, const char *type, const char *path, int i)
{
        const char *class = transformers_class(type);
        r->path = path;
        if (!path_is_plain(r->path))
                return sentence_refuse(
                        r, r->span,
                        sentence_text(r, "the path %s%s leads out of the directory, or is not a plain name",
                                      r->path, ""));
        if (i == 0 && class && (!strcmp(class, "Router") || !strcmp(class, "Asym")))
                return sentence_take_router(r, path, take_module);
        bool transformer = class && (!strcmp(class, "Transformer") || !strcmp(class, "MLMTransformer"));
        if (transformer != (i == 0))
                return sentence_refuse(r, r->span,
                                       i ? "a second Transformer is not supported"
                                         : sentence_text(r,
                                                         "the first module must be a Transformer, not %s%s",
                                                         type ? type : "unnamed", ""));
        if (transformer)
                return take_transformer(r, class);
        const bool scores = class && !strcmp(class, "LogitScore");
        if (r->is_cross && !scores)
                return sentence_refuse(r, r->span,
                                       "of a cross-encoder, the only module after the Transformer that is "
                                       "supported is LogitScore");
        for (size_t k = 0; k < sizeof module_table / sizeof *module_table; k++) {
                ConfigValue config = {.kind = CONFIG_OBJECT, .object = NEW(r->m->arena, ConfigObject)};
                const char *file = sentence_text(r, "%s/config.json%s", r->path, "");
                if (!class || strcmp(class, module_table[k].type) != 0)
                        continue;
                bool wanted = module_table[k].wants_config || (*r->path && sentence_has(r, file));
                if (wanted && !sentence_file(r, file, CONFIG_OBJECT, &config))
                        return false;
                r->config = config.object;
                r->name = arena_printf(r->m->arena, "%s_%d", module_table[k].weights, i);
                return module_table[k].take(r);
        }
        return sentence_refuse(r, r->span,
                               sentence_text(r,
                                             "unknown module %s%s: expected Transformer, Pooling, Dense, "
                                             "LayerNorm, Normalize, Dropout, LogitScore, MultiVectorMask or "
                                             "SpladePooling",
                                             type ? type : "without a type", ""));
}

/* An item of modules.json. */
static bool take_listed_module(Modules *r, const ConfigObject *module, int i)
{
        const ConfigField *place = sentence_key(r, module, "type");
        const char *type = sentence_word(r, module, "type"), *path = sentence_word(r, module, "path");
        if (!sentence_keys(r, module, "idx name path type ", "modules.json"))
                return false;
        r->span = place ? place->span : r->span;
        return !r->m->failed && take_module(r, type, path ? path : "", i);
}

/* --- prompts -------------------------------------------------------------------------------------------------------- */

static bool take_prompts(Modules *r)
{
        static const char file[] = "config_sentence_transformers.json";
        ConfigValue v = {0};
        if (!sentence_has(r, file))
                return true;
        if (!sentence_file(r, file, CONFIG_OBJECT, &v) ||
            !sentence_keys(r, v.object,
                           "__version__ prompts default_prompt_name similarity_fn_name model_type ", file))
                return false;
        if (r->s->is_sparse ? !sentence_take_similarity(r, v.object)
                            : !word_is(r, v.object, "model_type", "SentenceTransformer"))
                return false;
        if (!sentence_take_prompts(r, v.object))
                return false;
        if (r->s->prompts && r->s->leaves_prompt_out)
                sentence_refuse(r, r->s->pooling,
                                "include_prompt false is not supported: the tokens of a prompt are included");
        return !r->m->failed;
}

/* Whether the modules are those of a cross-encoder, whose activation is taken, or have a vector for each token. */
static bool take_kind_of_modules(Modules *r)
{
        static const char file[] = "config_sentence_transformers.json";
        ConfigValue v = {0};
        if (!sentence_has(r, file) || !sentence_file(r, file, CONFIG_OBJECT, &v))
                return !r->m->failed;
        if (!sentence_take_ranks(r, v.object, file))
                return false;
        const char *type = sentence_word(r, v.object, "model_type");
        r->is_cross = type && !strcmp(type, "CrossEncoder");
        if (!r->is_cross)
                return !r->m->failed;
        if (!sentence_keys(r, v.object, "__version__ prompts default_prompt_name model_type activation_fn ",
                           file))
                return false;
        r->s->activation = sentence_word(r, v.object, "activation_fn");
        return sentence_take_prompts(r, v.object);
}

/* PyLate normalises vectors without a module. */
static bool finish_ranks(Modules *r)
{
        if (r->is_pylate)
                sentence_say(r, "x = unit_rows(x)");
        sentence_say(r, "y = x");
        r->s->ranks = r->s->is_there = true;
        return !r->m->failed;
}

static bool read_modules(Modules *r)
{
        ConfigValue v = {0};
        if (!sentence_has(r, "modules.json"))
                return !sentence_has(r, "artifact.metadata") || sentence_take_colbert(r);
        if (!take_kind_of_modules(r) || !sentence_file(r, "modules.json", CONFIG_LIST, &v))
                return false;
        const ConfigList *list = v.list;
        r->span = (Span){NULL, 0, 0};
        if (list->n > MAX_MODULES)
                return sentence_refuse(r, r->span, "modules.json lists more than 32 modules");
        for (int i = 0; i < list->n; i++)
                if (list->item[i].kind != CONFIG_OBJECT)
                        return sentence_refuse(r, r->span, "modules.json: each module is an object, { … }");
                else if (!take_listed_module(r, list->item[i].object, i))
                        return false;
        if (r->is_cross)
                return sentence_pair_template(r);
        if (r->is_multi)
                return finish_ranks(r);
        if (!r->pooled)
                return sentence_refuse(r, r->span,
                                       "modules.json has no Pooling, so the vector of a text is undefined");
        r->s->is_there = true;
        return take_prompts(r);
}

bool sentence_read(Import *m, Interner *names, const char *folder)
{
        Modules r = {.m = m, .names = names, .folder = folder, .s = &m->sentence};
        m->sentence = (Sentence){.backbone = ""};
        const bool good = read_modules(&r);
        json_decref(r.vocabulary);
        return good;
}

/* --- a GGUF --------------------------------------------------------------------------------------------------------- */

bool sentence_of_gguf(Import *m, Interner *names)
{
        static const char *const mode[] = {[1] = "mean", [2] = "cls", [3] = "lasttoken"};
        Modules r = {.m = m, .names = names, .s = &m->sentence};
        const ConfigField *f = sentence_key(&r, m->root, "pooling_type");
        double type = f && f->value.kind == CONFIG_NUMBER ? f->value.number : 0;
        m->sentence = (Sentence){.backbone = ""};
        if (f && f->value.kind != CONFIG_NUMBER)
                return sentence_wants(&r, f, "a number");
        if (type == 0)
                return true;
        if (type == 4)
                return sentence_refuse(
                        &r, f->span,
                        "pooling_type 4: a reranker scores pairs of texts, which is not supported");
        if (type != 1 && type != 2 && type != 3)
                return sentence_wants(&r, f, "0 (none), 1 (mean), 2 (the first token) or 3 (the last token)");
        int chosen = mode_of(mode[(int)type]);
        say_modes(&r, &chosen, 1);
        sentence_say(&r, "y = unit_vector(y)"); /* llama.cpp normalises vectors by default */
        m->sentence.is_there = true;
        return true;
}
