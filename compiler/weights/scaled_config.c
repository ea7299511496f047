/* quantization_config of a config.json: the formats and shapes in which its method stores matrices.
 *
 * Which matrices are stored so is read from the tensors; the lists of modules to leave out are not needed.
 * Keys that change no stored weight, such as those of activations, are known and not read. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "scaled_private.h"

/* ---- values ---- */

static bool scheme_wrong(ScaledConfig *c, const char *where, const char *key, const json_t *value,
                         const char *expected)
{
        char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        if (value)
                ck_fail(c->err, "%s: %s.%s%s is %s; expected %s", c->path, QUANTIZATION, where, key,
                        text ? ck_quote(text).text : "unreadable", expected);
        else
                ck_fail(c->err, "%s: %s has no %s%s; expected %s", c->path, QUANTIZATION, where, key,
                        expected);
        free(text);
        return false;
}

static bool scheme_has_word(const char *words, const char *word)
{
        const size_t n = strlen(word);
        for (const char *at = words; n && (at = strstr(at, word)); at += n)
                if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
                        return !strchr(word, ' ');
        return false;
}

/* Reads a key if it is there; null is as no key. */
static bool scheme_integer(ScaledConfig *c, const json_t *in, const char *where, const char *key,
                           const char *expected, int64_t *value)
{
        const json_t *found = json_object_get(in, key);
        if (!found || json_is_null(found))
                return true;
        if (!json_is_integer(found))
                return scheme_wrong(c, where, key, found, expected);
        *value = json_integer_value(found);
        return true;
}

static const char *scheme_text(const json_t *in, const char *key)
{
        return json_string_value(json_object_get(in, key));
}

/* A text that must be one of a list; NULL, after a message, if it is another. */
static const char *scheme_choice(ScaledConfig *c, const json_t *in, const char *where, const char *key,
                                 const char *const *choice, const char *otherwise)
{
        const json_t *found = json_object_get(in, key);
        char expected[256] = "";
        if (!found || json_is_null(found))
                return otherwise;
        for (int i = 0; choice[i]; i++) {
                if (json_is_string(found) && !strcmp(json_string_value(found), choice[i]))
                        return choice[i];
                snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s%s",
                         i ? ", " : "", choice[i]);
        }
        scheme_wrong(c, where, key, found, expected);
        return NULL;
}

/* Rejects a key whose value asks for more than lathe does. */
static bool scheme_lacks(ScaledConfig *c, const char *key, const char *expected)
{
        const json_t *found = json_object_get(c->json, key);
        return !found || json_is_null(found) || json_is_false(found) ||
               (json_is_object(found) && !json_object_size(found)) ||
               scheme_wrong(c, "", key, found, expected);
}

static bool add_scheme(ScaledConfig *c, ScaledScheme scheme)
{
        if (c->nscheme == MAX_SCHEMES)
                return ck_fail(c->err, "%s: %s describes matrices in more than %d ways", c->path,
                               QUANTIZATION, MAX_SCHEMES);
        c->scheme[c->nscheme++] = scheme;
        return true;
}

static void add_format(ScaledConfig *c, ScaledFormat format)
{
        c->formats |= 1u << format;
}

static bool scheme_block(ScaledConfig *c, const json_t *list, const char *where, const char *key,
                         ScaledScheme *scheme)
{
        const json_t *rows = json_array_get(list, 0), *columns = json_array_get(list, 1);
        if (json_array_size(list) != 2 || json_integer_value(rows) < 1 || json_integer_value(columns) < 1)
                return scheme_wrong(c, where, key, list, "[rows, columns] of a block, such as [128, 128]");
        scheme->row_block = json_integer_value(rows);
        scheme->column_block = json_integer_value(columns);
        return true;
}

/* ---- methods ---- */

static const ScaledScheme by_tensor = {.floats = true, .bits = 8}, by_row = {true, 8, 1, 0, 0};

static bool read_fp8(ScaledConfig *c)
{
        static const char *const scales[] = {"float", "ue8m0", NULL};
        const json_t *block = json_object_get(c->json, "weight_block_size");
        const char *format = scheme_choice(c, c->json, "", "scale_fmt", scales, "float");
        ScaledScheme blocks = {true, 8, 128, 128, 0};
        add_format(c, FORMAT_E4M3);
        add_format(c, FORMAT_E5M2);
        if (!format ||
            (block && !json_is_null(block) && !scheme_block(c, block, "", "weight_block_size", &blocks)))
                return false;
        bool good = !block || !json_is_null(block) ? add_scheme(c, blocks) : true;
        if (!block || json_is_null(block))
                good = good && add_scheme(c, by_tensor) && add_scheme(c, by_row);
        return good && (strcmp(format, "ue8m0") != 0 || add_scheme(c, (ScaledScheme){true, 8, 1, 32, 0}));
}

static bool read_fbgemm(ScaledConfig *c)
{
        add_format(c, FORMAT_E4M3);
        return add_scheme(c, by_row);
}

/* Sizes of a group of columns: -1 for all.  Only codes of 4 bits have a known order in AWQ. */
static bool add_groups(ScaledConfig *c, const json_t *in, const char *where, int64_t bits, int64_t group)
{
        static const char size[] = "a number of columns, or -1 for all";
        const bool four = c->formats == 1u << FORMAT_ACROSS;
        const char *widths = four ? "4" : "2, 4 or 8";
        if (!scheme_integer(c, in, where, "bits", widths, &bits) ||
            !scheme_integer(c, in, where, "group_size", size, &group))
                return false;
        if (bits != 4 && (four || (bits != 2 && bits != 8)))
                return scheme_wrong(c, where, "bits", json_object_get(in, "bits"), widths);
        if (group < 1 && group != -1)
                return scheme_wrong(c, where, "group_size", json_object_get(in, "group_size"), size);
        return add_scheme(c, (ScaledScheme){false, (int)bits, 1, group < 0 ? 0 : group, ZEROS_NEEDED});
}

static void drop_repeated(ScaledConfig *c)
{
        const ScaledScheme *last = &c->scheme[c->nscheme - 1];
        for (const ScaledScheme *s = c->scheme; s < last; s++)
                if (s->bits == last->bits && s->column_block == last->column_block) {
                        c->nscheme--;
                        return;
                }
}

/* The sizes of all modules, and others of single ones. */
static bool read_groups(ScaledConfig *c, int64_t bits, const char *key)
{
        const char *module;
        json_t *others = json_object_get(c->json, key), *own;
        if (!add_groups(c, c->json, "", bits, 128))
                return false;
        const int64_t group = c->scheme[0].column_block ? c->scheme[0].column_block : -1;
        if (others && !json_is_null(others) && !json_is_object(others))
                return scheme_wrong(c, "", key, others, "an object of modules");
        json_object_foreach (others, module, own) {
                char where[192];
                const json_t *own_bits = json_object_get(own, "bits");
                snprintf(where, sizeof where, "%s.%s.", key, ck_quote(module).text);
                const bool out = !strncmp(module, "-:", 2); /* modules that are left out */
                if (!json_is_object(own) && !json_is_null(own) && !out) {
                        snprintf(where, sizeof where, "%s.", key);
                        return scheme_wrong(c, where, module, own, "an object of the modules' sizes");
                }
                if (out || json_is_null(own) || json_integer_value(own_bits) > 8)
                        continue; /* modules that are not quantised */
                if (!add_groups(c, own, where, c->scheme[0].bits, group))
                        return false;
                drop_repeated(c);
        }
        return true;
}

static bool read_gptq(ScaledConfig *c)
{
        static const char *const formats[] = {"gptq", "gptq_v2", NULL};
        static const char *const words[] = {"int32", NULL};
        const char *format = scheme_choice(c, c->json, "", "checkpoint_format", formats,
                                           scheme_choice(c, c->json, "", "format", formats, "gptq"));
        if (!format || !scheme_choice(c, c->json, "", "pack_dtype", words, words[0]) ||
            !scheme_lacks(c, "is_marlin_format", "false: the layout of the Marlin kernels is not read") ||
            !scheme_lacks(c, "adapter", "none: merge it into the weights first"))
                return false;
        add_format(c, !strcmp(format, "gptq") ? FORMAT_DOWN : FORMAT_DOWN_2);
        if (!json_object_get(c->json, "bits"))
                return scheme_wrong(c, "", "bits", NULL, "2, 4 or 8");
        return read_groups(c, 0, "dynamic");
}

static bool read_awq(ScaledConfig *c)
{
        static const char *const versions[] = {"gemm", "GEMM", NULL};
        static const char *const keys[] = {"version", "format", "checkpoint_format"};
        const char *backend = scheme_text(c->json, "backend");
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
                if (!scheme_choice(c, c->json, "", keys[i], versions, versions[0]))
                        return false;
        if (backend && !strcmp(backend, "llm-awq"))
                return scheme_wrong(c, "", "backend", json_object_get(c->json, "backend"),
                                    "autoawq, whose layout is read");
        add_format(c, FORMAT_ACROSS);
        return read_groups(c, 4, "dynamic");
}

static bool read_auto_round(ScaledConfig *c)
{
        static const char *const formats[] = {"auto_round:auto_gptq", "auto_round:auto_awq", "auto_round",
                                              "auto_round:gptqmodel", NULL};
        static const ScaledFormat of[] = {FORMAT_DOWN, FORMAT_ACROSS, FORMAT_DOWN_2, FORMAT_DOWN_2};
        static const char *const types[] = {"int", NULL};
        const char *format = scheme_choice(c, c->json, "", "packing_format", formats, formats[0]);
        if (!format || !scheme_choice(c, c->json, "", "data_type", types, types[0]) ||
            !scheme_lacks(c, "rotation_config", "none: rotated weights are not read"))
                return false;
        for (int i = 0; formats[i]; i++)
                if (format == formats[i])
                        add_format(c, of[i]);
        return read_groups(c, 4, "extra_config");
}

static bool read_mxfp4(ScaledConfig *c)
{
        add_format(c, FORMAT_BLOCKS);
        return add_scheme(c, (ScaledScheme){true, 4, 1, 32, 0});
}

static bool read_bitnet(ScaledConfig *c)
{
        static const char *const classes[] = {"bitlinear", "autobitlinear", NULL};
        static const char *const modes[] = {"offline", NULL};
        const char *class = scheme_choice(c, c->json, "", "linear_class", classes, classes[0]);
        if (!class || !scheme_choice(c, c->json, "", "quantization_mode", modes, modes[0]) ||
            !scheme_lacks(c, "use_rms_norm", "false: norms of the inputs of products are not read"))
                return false;
        c->inverse = class == classes[0];
        add_format(c, FORMAT_TERNARY);
        return add_scheme(c, (ScaledScheme){false, 2, 0, 0, 0});
}

/* ---- compressed-tensors ---- */

static const char *const compressed_formats[] = {"pack-quantized",
                                                 "int-quantized",
                                                 "float-quantized",
                                                 "naive-quantized",
                                                 "nvfp4-pack-quantized",
                                                 "mxfp4-pack-quantized",
                                                 "mxfp8-quantized",
                                                 "mixed-precision",
                                                 "dense",
                                                 NULL};

/* Rows and columns of a scale, by the strategy. */
static bool read_strategy(ScaledConfig *c, const json_t *weights, const char *where, ScaledScheme *scheme)
{
        static const char *const strategies[] = {"tensor", "channel", "group", "block", "tensor_group", NULL};
        static const char size[] = "a number of columns";
        int64_t group = 0;
        if (!scheme_integer(c, weights, where, "group_size", size, &group))
                return false;
        const char *strategy = scheme_choice(c, weights, where, "strategy", strategies,
                                             group > 0   ? "group"
                                             : group < 0 ? "channel"
                                                         : "tensor");
        if (!strategy)
                return false;
        if (!strcmp(strategy, "block"))
                return scheme_block(c, json_object_get(weights, "block_structure"), where, "block_structure",
                                    scheme);
        scheme->row_block = strcmp(strategy, "tensor") != 0;
        if (strstr(strategy, "group") && group < 1)
                return scheme_wrong(c, where, "group_size", json_object_get(weights, "group_size"), size);
        scheme->column_block = strstr(strategy, "group") ? group : 0;
        return true;
}

static bool read_config_group(ScaledConfig *c, const char *name, const json_t *group)
{
        static const char *const types[] = {"int", "float", NULL};
        static const char known[] =
                "num_bits type symmetric strategy group_size block_structure dynamic actorder "
                "observer observer_kwargs scale_dtype zp_dtype";
        char where[192];
        const json_t *weights = json_object_get(group, "weights");
        int64_t bits = 8;
        snprintf(where, sizeof where, "config_groups.%s.weights.", ck_quote(name).text);
        if (json_is_null(weights))
                return true;
        const char *key;
        json_t *value;
        if (!json_is_object(weights))
                return scheme_wrong(c, "config_groups.", name, group, "an object with the key weights");
        json_object_foreach ((json_t *)weights, key, value)
                if (!json_is_null(value) && !scheme_has_word(known, key))
                        return scheme_wrong(c, where, key, value, known);
        const char *type = scheme_choice(c, weights, where, "type", types, types[0]);
        if (!type || !scheme_choice(c, group, where, "format", compressed_formats, compressed_formats[0]) ||
            !scheme_integer(c, weights, where, "num_bits", "2, 4 or 8", &bits))
                return false;
        ScaledScheme scheme = {.floats = type == types[1], .bits = (int)bits};
        if (bits != 2 && bits != 4 && bits != 8)
                return scheme_wrong(c, where, "num_bits", json_object_get(weights, "num_bits"), "2, 4 or 8");
        if (!scheme.floats)
                scheme.zeros =
                        json_is_false(json_object_get(weights, "symmetric")) ? ZEROS_NEEDED : ZEROS_OPTIONAL;
        return read_strategy(c, weights, where, &scheme) && add_scheme(c, scheme);
}

static bool read_compressed(ScaledConfig *c)
{
        const char *name;
        json_t *groups = json_object_get(c->json, "config_groups"), *group;
        const json_t *sparse = json_object_get(c->json, "sparsity_config");
        const char *format = scheme_text(sparse, "format");
        if (!scheme_choice(c, c->json, "", "format", compressed_formats, "dense"))
                return false;
        if (format && strcmp(format, "dense") != 0)
                return scheme_wrong(c, "sparsity_config.", "format", json_object_get(sparse, "format"),
                                    "dense: sparse weights are not read");
        if (!scheme_lacks(c, "transform_config", "none: transformed weights are not read"))
                return false;
        if (!json_is_object(groups))
                return scheme_wrong(c, "", "config_groups", groups, "an object of groups of modules");
        for (ScaledFormat i = 0; i < SCALED_FORMATS; i++)
                if (i == FORMAT_E4M3 || i == FORMAT_E5M2 || i == FORMAT_INT8 || i == FORMAT_PACKED ||
                    i == FORMAT_PAIRS)
                        add_format(c, i);
        json_object_foreach (groups, name, group)
                if (!read_config_group(c, name, group))
                        return false;
        return true;
}

static bool read_modelopt(ScaledConfig *c)
{
        static const char *const algorithms[] = {"FP8", "NVFP4", NULL};
        const char *algorithm = scheme_choice(c, c->json, "", "quant_algo", algorithms, NULL);
        if (!algorithm)
                return json_object_get(c->json, "quant_algo")
                               ? false
                               : scheme_wrong(c, "", "quant_algo", NULL, "FP8, NVFP4");
        const bool fours = algorithm == algorithms[1];
        const char *name;
        json_t *groups = json_object_get(c->json, "config_groups"), *group;
        add_format(c, fours ? FORMAT_PAIRS_2 : FORMAT_E4M3);
        json_object_foreach (groups, name, group)
                if (!read_config_group(c, name, group))
                        return false;
        return c->nscheme || add_scheme(c, fours ? (ScaledScheme){true, 4, 1, 16, 0} : by_tensor);
}

/* ---- the table ---- */

/* keys: those that are read here, and those that change no stored weight */
static const struct {
        const char *method;
        int rounding;
        const char *keys;
        bool (*read)(ScaledConfig *c);
} methods[] = {
        {"fp8", ROUNDED_ONCE,
         "weight_block_size scale_fmt activation_scheme fmt modules_to_not_convert ignored_layers "
         "modules_to_convert dequantize expert_dtype",
         read_fp8},
        {"fbgemm_fp8", ROUNDED_ONCE, "activation_scale_ub modules_to_not_convert", read_fbgemm},
        {"compressed-tensors", ROUNDED_TO_MODEL,
         "format config_groups sparsity_config transform_config ignore quantization_status kv_cache_scheme "
         "global_compression_ratio version run_compressed dequantize use_optimized_inference",
         read_compressed},
        {"gptq", ROUNDED_AS_SCALES,
         "bits group_size checkpoint_format format pack_dtype is_marlin_format adapter dynamic desc_act sym "
         "static_groups true_sequential damp_percent damp_auto_increment act_group_aware lm_head meta "
         "model_name_or_path model_file_base_name model_seqlen dataset batch_size block_name_to_quantize "
         "module_name_preceding_first_block modules_in_block_to_quantize pad_token_id max_input_length "
         "cache_block_outputs use_cuda_fp16 use_exllama disable_exllama exllama_config backend tokenizer "
         "hyb_act mse offload_to_disk method",
         read_gptq},
        {"awq", ROUNDED_AS_SCALES,
         "bits group_size version dynamic zero_point backend modules_to_not_convert do_fuse exllama_config "
         "fuse_max_seq_len modules_to_fuse sym desc_act format checkpoint_format pack_dtype lm_head meta "
         "method",
         read_awq},
        {"auto-round", ROUNDED_AS_SCALES,
         "bits group_size packing_format data_type rotation_config extra_config sym act_bits act_data_type "
         "act_dynamic act_group_size act_sym amp autoround_version backend batch_size block_name_to_quantize "
         "dataset enable_minmax_tuning enable_norm_bias_tuning enable_quanted_input "
         "gradient_accumulate_steps "
         "iters low_gpu_mem_usage lr lr_scheduler minmax_lr nsamples quant_block_list scale_dtype seqlen "
         "super_bits super_group_size to_quant_block_names train_bs supported_types quant_lm_head",
         read_auto_round},

        {"modelopt", ROUNDED_ONCE,
         "quant_algo config_groups ignore kv_cache_scheme kv_cache_quant_algo producer exclude_modules",
         read_modelopt},
        {"mxfp4", ROUNDED_ONCE, "modules_to_not_convert dequantize", read_mxfp4},
        {"bitnet", ROUNDED_AS_SCALES,
         "linear_class quantization_mode use_rms_norm rms_norm_eps modules_to_not_convert", read_bitnet},
};

/* The model's type; false: the file lacks it, or it is another. */
static bool scheme_dtype(const json_t *config, CkType *type)
{
        static const struct {
                const char *name;
                CkType type;
        } types[] = {{"bfloat16", CK_BF16}, {"float16", CK_F16}, {"float32", CK_F32}};
        const char *name = scheme_text(config, "dtype");
        name = name ? name : scheme_text(config, "torch_dtype");
        if (name && !strncmp(name, "torch.", 6))
                name += 6;
        for (size_t i = 0; name && i < sizeof types / sizeof *types; i++)
                if (!strcmp(name, types[i].name)) {
                        *type = types[i].type;
                        return true;
                }
        return false;
}

static int method_find(const char *method)
{
        int i = (int)(sizeof methods / sizeof *methods) - 1;
        while (i >= 0 && strcmp(method, methods[i].method) != 0)
                i--;
        return i;
}

bool quantization_is_read(const char *method)
{
        return method_find(method) >= 0;
}

bool quantization_has_key(const char *method, const char *key)
{
        return scheme_has_word("quant_method", key) ||
               scheme_has_word(methods[method_find(method)].keys, key);
}

bool scaled_config_read(ScaledConfig *c, const json_t *config, const char *path, CkError *err)
{
        const json_t *text = json_object_get(config, "text_config");
        const json_t *found = json_object_get(config, QUANTIZATION);
        *c = (ScaledConfig){.path = path, .err = err};
        c->json = found ? found : json_object_get(text, QUANTIZATION);
        c->has_dtype = scheme_dtype(text, &c->dtype) || scheme_dtype(config, &c->dtype);
        const char *method = scheme_text(c->json, "quant_method");
        const int i = method ? method_find(method) : -1;
        if (i < 0)
                return true;
        c->method = methods[i].method;
        c->rounding = methods[i].rounding;
        return methods[i].read(c);
}

const char *scaled_codes_of(Arena *arena, const Checkpoint *checkpoint, const char *name)
{
        static const struct {
                const char *codes, *tensor;
        } ends[] = {
#define SCALED(name, codes, type, tensor, scales, global, zeros, layout, bits, floats, value, zero)          \
        {codes, tensor},
#include "scaled.def"
#undef SCALED
        };
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
                if (!*ends[i].codes || !text_ends_with(name, ends[i].tensor))
                        continue;
                const char *codes = arena_printf(
                        arena, "%.*s%s", (int)(strlen(name) - strlen(ends[i].tensor)), name, ends[i].codes);
                if (checkpoint_find(checkpoint, codes))
                        return codes;
        }
        return NULL;
}
