/* adapter_config.json of peft: each key is read, or known to change no weight, or rejected by name. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter_private.h"

/* REJECTED: with a value the adapter is of a kind that is not read. */
typedef enum { KEY_READ, KEY_OF_TRAINING, KEY_REJECTED } AdapterKeyKind;

/* Keys of peft's LoraConfig.  Those of training select modules, whose tensors the file has, or initial values. */
static const struct {
        const char *key;
        AdapterKeyKind kind;
        const char *why;
} adapter_key[] = {
        {"peft_type", KEY_READ, NULL},
        {"r", KEY_READ, NULL},
        {"lora_alpha", KEY_READ, NULL},
        {"rank_pattern", KEY_READ, NULL},
        {"alpha_pattern", KEY_READ, NULL},
        {"use_rslora", KEY_READ, NULL},
        {"use_dora", KEY_READ, NULL},
        {"lora_bias", KEY_READ, NULL},
        {"fan_in_fan_out", KEY_READ, NULL},
        {"modules_to_save", KEY_READ, NULL},
        {"init_lora_weights", KEY_READ, NULL},
        {"bias", KEY_READ, NULL},
        {"target_modules", KEY_OF_TRAINING, NULL},
        {"exclude_modules", KEY_OF_TRAINING, NULL},
        {"layers_to_transform", KEY_OF_TRAINING, NULL},
        {"layers_pattern", KEY_OF_TRAINING, NULL},
        {"lora_dropout", KEY_OF_TRAINING, NULL},
        {"inference_mode", KEY_OF_TRAINING, NULL},
        {"task_type", KEY_OF_TRAINING, NULL},
        {"auto_mapping", KEY_OF_TRAINING, NULL},
        {"base_model_name_or_path", KEY_OF_TRAINING, NULL},
        {"revision", KEY_OF_TRAINING, NULL},
        {"peft_version", KEY_OF_TRAINING, NULL},
        {"megatron_config", KEY_OF_TRAINING, NULL},
        {"megatron_core", KEY_OF_TRAINING, NULL},
        {"loftq_config", KEY_OF_TRAINING, NULL},
        {"eva_config", KEY_OF_TRAINING, NULL},
        {"corda_config", KEY_OF_TRAINING, NULL},
        {"lora_ga_config", KEY_OF_TRAINING, NULL},
        {"velora_config", KEY_OF_TRAINING, NULL},
        {"runtime_config", KEY_OF_TRAINING, NULL},
        {"ensure_weight_tying", KEY_OF_TRAINING, NULL},
        {"qalora_group_size", KEY_OF_TRAINING, NULL},
        {"layer_replication", KEY_REJECTED, "its model has more layers than the published one"},
        {"alora_invocation_tokens", KEY_REJECTED, "the adapter changes only some positions of a text"},
        {"use_qalora", KEY_REJECTED, "inputs of its products are means of groups"},
        {"use_bdlora", KEY_REJECTED, "its matrices are stored as blocks of a diagonal"},
        {"arrow_config", KEY_REJECTED, "it chooses among adapters by the input"},
        {"kasa_config", KEY_REJECTED, "it has a diagonal between both matrices"},
        {"monteclora_config", KEY_REJECTED, "it mixes several adapters"},
        {"trainable_token_indices", KEY_REJECTED, "it replaces rows of the embedding"},
        {"target_parameters", KEY_REJECTED,
         "it changes parameters that are not those of a product, such as stacked experts"},
};
enum { ADAPTER_KEYS = sizeof adapter_key / sizeof adapter_key[0] };

/* The file, the key, its value, and what was expected; always false. */
static bool adapter_wrong(const AdapterConfig *c, const char *key, const json_t *value, const char *expected,
                          CkError *err)
{
        char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        if (value)
                ck_fail(err, "%s: %s is %s; expected %s", c->path, ck_quote(key).text,
                        text ? ck_quote(text).text : "unreadable", expected);
        else
                ck_fail(err, "%s has no %s; expected %s", c->path, key, expected);
        free(text);
        return false;
}

/* Whether a value is that of a key that is not there: null, false or nothing. */
static bool json_is_unset(const json_t *value)
{
        return !value || json_is_null(value) || json_is_false(value) ||
               (json_is_object(value) && !json_object_size(value)) ||
               (json_is_array(value) && !json_array_size(value));
}

static bool adapter_check_keys(const AdapterConfig *c, CkError *err)
{
        const char *key;
        json_t *value;
        json_object_foreach (c->json, key, value) {
                int i = 0;
                while (i < ADAPTER_KEYS && strcmp(adapter_key[i].key, key) != 0)
                        i++;
                if (json_is_unset(value) || (i < ADAPTER_KEYS && adapter_key[i].kind != KEY_REJECTED))
                        continue;
                if (i == ADAPTER_KEYS)
                        return adapter_wrong(c, key, value,
                                             "a key that lathe knows: this one may change the weights; merge "
                                             "the adapter with peft",
                                             err);
                char why[256];
                snprintf(why, sizeof why,
                         "null or false: %s, which is not supported; merge the adapter with peft",
                         adapter_key[i].why);
                return adapter_wrong(c, key, value, why, err);
        }
        return true;
}

static bool adapter_truth(const AdapterConfig *c, const char *key, bool *value, CkError *err)
{
        const json_t *found = json_object_get(c->json, key);
        *value = json_is_true(found);
        return !found || json_is_null(found) || json_is_boolean(found) ||
               adapter_wrong(c, key, found, "true or false", err);
}

/* A text that must be one of a list, ended by NULL; other values are rejected with `expected`. */
static bool adapter_choice(const AdapterConfig *c, const char *key, const char *const *choice,
                           const char *expected, CkError *err)
{
        const json_t *found = json_object_get(c->json, key);
        bool good = !found || json_is_null(found) || (json_is_boolean(found) && !strcmp(choice[0], "true"));
        for (int i = 0; !good && json_is_string(found) && choice[i]; i++)
                good = !strcmp(json_string_value(found), choice[i]);
        return good || adapter_wrong(c, key, found, expected, err);
}

static bool is_rank(const json_t *value)
{
        return json_is_integer(value) && json_integer_value(value) >= 1;
}

static bool is_alpha(const json_t *value)
{
        return json_is_number(value) && isfinite(json_number_value(value));
}

static const char expected_rank[] = "a whole number of at least 1", expected_alpha[] = "a finite number";

/* Checks an object of patterns, whose values are ranks or alphas. */
static bool adapter_check_pattern(const AdapterConfig *c, const char *key, bool (*fits)(const json_t *),
                                  const char *expected, CkError *err)
{
        const json_t *patterns = json_object_get(c->json, key);
        const char *pattern;
        json_t *value;
        if (patterns && !json_is_null(patterns) && !json_is_object(patterns))
                return adapter_wrong(c, key, patterns, "an object: a number for each module", err);
        json_object_foreach ((json_t *)patterns, pattern, value)
                if (!fits(value)) {
                        char where[192];
                        snprintf(where, sizeof where, "%s.%s", key, ck_quote(pattern).text);
                        return adapter_wrong(c, where, value, expected, err);
                }
        return true;
}

static bool adapter_read_keys(AdapterConfig *c, CkError *err)
{
        static const char *const types[] = {"LORA", NULL}, *const biases[] = {"none", "all", "lora_only",
                                                                              NULL};
        static const char *const starts[] = {"true", "gaussian", "orthogonal", "eva", NULL};
        const json_t *type = json_object_get(c->json, "peft_type"), *rank = json_object_get(c->json, "r"),
                     *alpha = json_object_get(c->json, "lora_alpha");
        if (!type || json_is_null(type))
                return adapter_wrong(c, "peft_type", NULL,
                                     "LORA: other methods than LoRA and DoRA are not read", err);
        if (!adapter_choice(c, "peft_type", types, "LORA: other methods than LoRA and DoRA are not read",
                            err) ||
            !adapter_check_keys(c, err) ||
            !adapter_choice(c, "bias", biases, "none, all or lora_only", err) ||
            !adapter_choice(
                    c, "init_lora_weights", starts,
                    "true, false, gaussian, orthogonal or eva: others also change the model's weights; "
                    "save_pretrained() of peft with path_initial_model_for_weight_conversion converts the "
                    "adapter",
                    err))
                return false;
        if (!is_rank(rank))
                return adapter_wrong(c, "r", rank, expected_rank, err);
        if (!is_alpha(alpha))
                return adapter_wrong(c, "lora_alpha", alpha, expected_alpha, err);
        c->rank = json_integer_value(rank);
        c->alpha = json_number_value(alpha);
        if (!adapter_check_pattern(c, "rank_pattern", is_rank, expected_rank, err) ||
            !adapter_check_pattern(c, "alpha_pattern", is_alpha, expected_alpha, err) ||
            !adapter_truth(c, "use_rslora", &c->root_scale, err) ||
            !adapter_truth(c, "use_dora", &c->magnitudes, err) ||
            !adapter_truth(c, "lora_bias", &c->biases, err) ||
            !adapter_truth(c, "fan_in_fan_out", &c->turned, err))
                return false;
        const json_t *saved = json_object_get(c->json, "modules_to_save");
        if (!json_is_unset(saved) && !json_is_array(saved))
                return adapter_wrong(c, "modules_to_save", saved, "a list of modules", err);
        return true;
}

bool adapter_config_read(AdapterConfig *c, const char *folder, CkError *err)
{
        const size_t room = strlen(folder) + sizeof ADAPTER_CONFIG + 1;
        *c = (AdapterConfig){.path = malloc(room)};
        if (!c->path)
                return ck_lack(err, "%s: out of memory", folder);
        snprintf(c->path, room, "%s%s", folder, ADAPTER_CONFIG);
        if (!json_in(folder, "", ADAPTER_CONFIG, &c->json, err))
                return false;
        if (!c->json)
                return ck_fail(err,
                               "%s: there is no such file; --lora takes a directory of peft, with %s and %s",
                               c->path, ADAPTER_CONFIG, ADAPTER_FILE);
        return json_is_object(c->json) ? adapter_read_keys(c, err)
                                       : ck_fail(err, "%s: expected an object of JSON", c->path);
}

void adapter_config_free(AdapterConfig *c)
{
        json_decref(c->json);
        free(c->path);
}

/* ---- modules ---- */

/* The value of the first pattern that fits a module or the end of its path, as peft takes it; NULL: none.  False after a message. */
static bool pattern_value(const AdapterConfig *c, const char *key, const char *module, const json_t **found,
                          CkError *err)
{
        const char *pattern;
        json_t *value;
        *found = NULL;
        json_object_foreach (json_object_get(c->json, key), pattern, value) {
                if (!pattern_is_known(pattern))
                        return ck_fail(err,
                                       "%s: %s.%s: this pattern is not supported; write the modules' names",
                                       c->path, key, ck_quote(pattern).text);
                const bool fits = pattern_fits(pattern, module);
                if (fits) {
                        *found = value;
                        return true;
                }
        }
        return true;
}

bool adapter_scale(const AdapterConfig *c, const char *module, int64_t *rank, double *scale, CkError *err)
{
        const json_t *own_rank, *own_alpha;
        if (!pattern_value(c, "rank_pattern", module, &own_rank, err) ||
            !pattern_value(c, "alpha_pattern", module, &own_alpha, err))
                return false;
        *rank = own_rank ? json_integer_value(own_rank) : c->rank;
        const double alpha = own_alpha ? json_number_value(own_alpha) : c->alpha;
        *scale = alpha / (c->root_scale ? sqrt((double)*rank) : (double)*rank);
        return true;
}

/* Whether a name has these whole parts, of those between dots. */
static bool name_has_part(const char *name, const char *part)
{
        const size_t n = strlen(part);
        for (const char *at = name; n && (at = strstr(at, part)); at++)
                if ((at == name || at[-1] == '.') && (at[n] == '.' || !at[n]))
                        return true;
        return false;
}

/* peft lists the usual names of heads, of which a model has one. */
bool adapter_has_saved(const AdapterConfig *c, const CkTensor *tensor, int n, CkError *err)
{
        const json_t *saved = json_object_get(c->json, "modules_to_save");
        size_t i;
        json_t *item;
        bool found = json_is_unset(saved);
        json_array_foreach (saved, i, item) {
                if (!json_is_string(item))
                        return adapter_wrong(c, "modules_to_save", saved, "a list of names of modules", err);
                for (int k = 0; k < n && !found; k++)
                        found = name_has_part(tensor[k].name, json_string_value(item));
        }
        return found ||
               adapter_wrong(c, "modules_to_save", saved, "modules that have tensors in " ADAPTER_FILE, err);
}
