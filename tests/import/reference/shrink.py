"""Small configurations of any type of transformers: each size by a rule, and changes that should be visible in the output.

small(TYPE, changes): keyword arguments of the configuration class.  A key whose default is computed from others (layer_types, qk_head_dim) is
not set, so the class computes it again."""

import inspect
import re

from transformers import CONFIG_MAPPING

VOCABULARY, TEXT, CONTEXT, WINDOW, ORIGINAL = 37, 19, 40, 5, 16      # TEXT: tokens that are recorded; windows are smaller

# name of a key (the whole of it) and its value in a small model; the first rule that matches is used
SIZES = [
    (r"(text_|src_|tgt_|decoder_|unpadded_)?vocab_size(_per_layer_input)?|entity_vocab_size", VOCABULARY),
    (r"max_position_embeddings|n_positions|n_ctx|max_seq_len|seq_len|max_sequence_length|model_max_length|context_length", CONTEXT),
    (r"max_(source|target|encoder|decoder)_position\w*", CONTEXT),
    (r"original_max_position_embeddings", ORIGINAL),
    (r"type_vocab_size", 3),
    (r"q_lora_rank", 14), (r"kv_lora_rank", 10), (r"qk_rope_head_dim", 4), (r"qk_nope_head_dim", 6), (r"v_head_dim", 10),
    (r"\w*_rank|hidden_size_per_layer_input|\w*lora\w*", 8),
    (r"index_topk|local_attention", 6), (r"index_n_heads", 2), (r"index_head_dim", 8),
    (r"moe_latent_size", 12),
    (r"\w*shared_expert\w*intermediate_size|shared_intermediate_size", 20),
    (r"moe_intermediate_size|expert_ffn\w*", 14),
    (r"(\w+_)?(intermediate_size(_mlp)?|ffn_dim|ffn_hidden_size|d_ff|n_inner|hidden_dim|dim_ff|dff)", 40),
    (r"head_dim|attention_head_dim|swa_head_dim|d_kv|dim_head|kv_channels|d_head|attention_head_size", 12),
    (r"linear_(key|value)_head_dim|mamba_d_head|mamba_head_dim|mamba_headdim|linear_head_dim", 8),
    (r"linear_num_key_heads", 2), (r"linear_num_value_heads|linear_num_heads|mamba_n_heads|n_mamba_heads|mamba_num_heads", 8),
    (r"mamba_d_ssm", 64), (r"rotary_dim", 4), (r"attention_window", 6),
    (r"mamba_d_state|state_size|ssm_state_size", 6), (r"(mamba_)?n_groups|mamba_ngroups|mamba_n_groups", 2),
    (r"num_key_value_heads|num_kv_heads|swa_num_key_value_heads", 2),
    (r"(\w+_)?(num_attention_heads|num_heads|n_heads?|attention_heads)", 4),
    (r"hidden_size|d_model|n_embd|dim|emb_dim|embedding_dim|attention_hidden_size|conv_dim|lru_width", 32),
    (r"embedding_size|word_embed_proj_dim|input_embedding_size|output_embedding_size|prediction_head_size", 20),
    (r"(moe_)?num_(local_)?experts|n_routed_experts", 5),
    (r"num_experts_per_tok(en)?|moe_topk|moe_k|top_k_experts", 2),
    (r"n_shared_experts|num_shared_experts|moe_num_shared_experts", 2),
    (r"(\w+_)?(sliding_window|window_size|attention_window|attention_window_size|local_attention_window_len)|(sliding|local)_window_size", WINDOW),
    (r"\w*chunk_size|floor_scale|attention_chunk_size", 7),
    (r"relative_attention_num_buckets|position_buckets|num_buckets", 8), (r"(relative_)?(attention_)?max_distance", 12),
    (r"first_k_dense_replace|num_dense_layers", 1),
    (r"num_nextn_predict_layers|num_mtp_layers", 0),
    (r"query_pre_attn_scalar", 20),
]
LAYERS = r"num_hidden_layers|n_layers?|num_layers|(num_)?(encoder|decoder)_layers"
UNCHANGED = r"chunk_size_feed_forward|.*_token_id|.*_token_index"
# factors that are 1 by default, and so would not be visible
FACTOR = re.compile(r"\w*(multiplier|scaling_factor|scale|scaling|emb)")
FLAT = r"\w*eps|\w*epsilon"


def is_list(value):
    return isinstance(value, (list, tuple))


def period(values):
    """The length of the shortest list that, repeated and cut, is this one."""
    return next(n for n in range(1, len(values) + 1) if all(a == b for a, b in zip(values, values[n:])))


def defaults(kind):
    """For each key of a type, its value, and whether the class computes it from others."""
    cls = CONFIG_MAPPING[kind]
    config = cls()
    given = {name: p.default for name, p in inspect.signature(cls.__init__).parameters.items()}
    names = {**{key: key for key in given}, **{ours: theirs for ours, theirs in getattr(cls, "attribute_map", {}).items()}}
    out = {}
    for key, value in config.to_dict().items():
        own = given.get(key, inspect.Parameter.empty)
        computed = key in names and own is None and value is not None
        out[key] = value, computed
    return out


def turn_of(said):
    """How many layers show all kinds of layer, and one more: the longest period of the lists with an element for each layer."""
    lists = [v for k, (v, _) in said.items() if is_list(v) and len(v) > 3 and re.search("layer|pattern|block", k) and not isinstance(v[0], (list, dict))]
    turns = [period(v) for v in lists]
    turns = [turn for turn in turns if turn <= 8]
    steps = [v for k, (v, _) in said.items() if isinstance(v, int) and not isinstance(v, bool) and 1 < v <= 8 and
             re.search(r"(pattern|_interval|_step|_period|every_n_layers|layer_group_size)$", k)]
    firsts = [1 + next((i for i, (a, b) in enumerate(zip(v, v[1:])) if a != b), 0) for v in lists if period(v) > 8]
    return max([2, *(t + 1 for t in turns + steps), *(min(f, 5) + 2 for f in firsts)])


def rotary(said):
    """rope_parameters with an original context that is shorter than the text, for all layers or by types of layers."""
    if not isinstance(said, dict):
        return said
    by_size = {"original_max_position_embeddings": ORIGINAL, "max_position_embeddings": CONTEXT}
    return {key: by_size.get(key, rotary(value)) for key, value in said.items()}


def small(kind, changes=()):
    """Arguments of the class of this type, and the keys that no rule knows and that are large."""
    said = defaults(kind)
    layers = turn_of(said)
    out, unknown = {}, []
    for key, (value, computed) in said.items():
        if key == "rope_parameters" and rotary(value) != value:
            out[key] = rotary(value)
        if key == "num_key_value_heads" and value is not None:
            out[key] = 4 if "kv_lora_rank" in said else 2
            continue
        if key == "head_dim":
            if "kv_lora_rank" not in said:
                out[key] = 8 if "expand" in said else 12        # 12: another than hidden_size / heads
            continue
        if computed or key in ("architectures", "dtype", "transformers_version", "_name_or_path", "model_type", "id2label", "label2id"):
            continue
        if re.fullmatch(UNCHANGED, key):
            continue
        if isinstance(value, int) and not isinstance(value, bool):
            if re.fullmatch(LAYERS, key):
                out[key] = layers
                continue
            rule = next((size for pattern, size in SIZES if re.fullmatch(pattern, key)), None)
            if rule is not None:
                out[key] = rule if value > rule or key in ("type_vocab_size",) else value
            elif value > 64 and key != "qk_head_dim":
                unknown.append(f"{key} {value}")
        elif value is None and re.fullmatch(r"(moe_)?num_(local_)?experts|n_routed_experts|num_experts_per_tok|n_shared_experts|n_group|topk_group", key):
            out[key] = next((size for pattern, size in SIZES if re.fullmatch(pattern, key)), 1)     # the class has no default
        elif isinstance(value, float) and re.fullmatch(FLAT, key):
            out[key] = 1e-3
        elif isinstance(value, float) and value == 1 and FACTOR.fullmatch(key):
            out[key] = 1.25
        elif is_list(value) and len(value) > layers and not isinstance(value[0], (list, dict)) and re.search("layer|pattern|block", key):
            out[key] = value[:layers]
    if (said.get("n_group", (1, 0))[0] or 1) > 1:
        out |= {"n_group": 4, "topk_group": 2, **{k: 8 for k in out if re.fullmatch(r"n_routed_experts|num_(local_)?experts", k)}}
    if "expand" in said and "num_heads" in said:        # Mamba 2: heads are as wide as the state
        out |= {"num_heads": 8}
    out |= ids_of(said)
    for key, value in dict(changes).items():
        if isinstance(value, dict) and "rope_type" not in value and isinstance(out.get(key), dict):
            value = out[key] | value
        out[key] = value
    return out, unknown


def ids_of(said):
    """Ids of tokens are within the vocabulary."""
    return {key: i % VOCABULARY if isinstance(value, int) else value
            for i, (key, (value, _)) in enumerate(said.items()) if re.fullmatch(r"(bos|eos|pad|sep|cls|mask|unk|decoder_start|forced_\w+|image|video|audio)_token_id", key)
            and (is_list(value) or isinstance(value, int)) for value in [value[0] if is_list(value) else value] if value is None or value >= VOCABULARY or value < 0}


def flipped(kind, changes):
    """The second configuration of a type: switches the other way, no window, as many heads of keys as of queries."""
    out, _ = small(kind, changes)
    said = {**{key: value for key, (value, _) in defaults(kind).items()}, **out}
    for key, value in said.items():
        if key in changes or key in BESIDES:
            continue
        if isinstance(value, bool):
            out[key] = not value
        elif re.fullmatch("num_key_value_heads|num_kv_heads", key) and isinstance(value, int):
            out[key] = next((said[k] for k in ("num_attention_heads", "num_heads", "n_head") if k in said), value)
        elif key == "head_dim" and "kv_lora_rank" not in said:
            out[key] = 8
        elif re.fullmatch("sliding_window|attention_window_size", key) and isinstance(value, int):
            out[key] = None if "layer_types" not in said and said_optional(kind, key) else WINDOW + 3
    return out


def said_optional(kind, key):
    parameter = inspect.signature(CONFIG_MAPPING[kind].__init__).parameters.get(key)
    return parameter is not None and "None" in str(parameter.annotation)


# switches of the class that are no part of the computation
BESIDES = {"return_dict", "output_hidden_states", "output_attentions", "use_cache", "is_encoder_decoder", "output_router_logits", "is_decoder",
           "add_cross_attention", "use_mamba_kernels", "torchscript", "use_bfloat16", "gradient_checkpointing", "residual_in_fp32"}


# ---- options ----

ACTIVATIONS = ("silu", "gelu", "relu", "gelu_pytorch_tanh")


def other_values(key, value):
    """Values that the option could have in place of this one: the first that is visible counts."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int) and re.search("heads|groups", key):
        return [n for n in (value // 2, value * 2) if n > 0]
    if isinstance(value, int):
        more = [value + 1, value * 2] if value < 8 else [value + 4, value * 2]
        return more + [value - 1] if value > 1 and re.search("top|per_tok|window|group", key) else more
    if isinstance(value, float):
        return [1.5 * value, 4 * value] if value else [0.125]
    if isinstance(value, str) and value in (*ACTIVATIONS, "gelu_new", "gelu_fast", "swish", "relu2", "quick_gelu", "tanh"):
        return [next(act for act in ACTIVATIONS if act != value)]
    if value is None:
        return [WINDOW] if "window" in key else [12] if key == "head_dim" else [0.5, 4] if re.search("clip|cap|scal|mult|limit|factor", key) else []
    if is_list(value) and len(value) > 1 and any(v != value[0] for v in value):
        return [list(value[1:]) + [value[0]], list(reversed(value))]
    return []


def options(arguments, config):
    """(name, value, keys that replace those of `arguments`) of each option that can be changed; (name, value, None) of each other one."""
    for key, value in config.items():
        if key in BESIDES or re.fullmatch(UNCHANGED, key) or key.startswith("_") or re.search("vocab_size|drop|initializer|init_std|loss_coef|jitter", key) or \
                key in ("architectures", "dtype", "transformers_version", "model_type", "id2label", "label2id", "problem_type"):
            continue
        if isinstance(value, dict):
            yield from ((f"{key}.{name}", old, [{key: change} for change in changed]) for name, old, changed in fields(value))
            continue
        yield key, value, [change for other in other_values(key, value) for change in together(key, other, arguments, config)]


def together(key, value, arguments, config):
    """The change of an option, and the same with options that follow from it."""
    yield {key: value}
    if key == "num_attention_heads" and "num_key_value_heads" in arguments:
        yield {key: value, "num_key_value_heads": value}
    if re.fullmatch(LAYERS, key):
        lists = {name: old for name, old in arguments.items() if is_list(old) and len(old) == config[key]}
        yield {key: value, **{name: [old[i % len(old)] for i in range(value)] for name, old in lists.items()}}


def fields(said):
    """(name, value, changed objects) of each field, also within types of layers."""
    for name, value in said.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", old, [said | {name: change} for change in changed]) for inner, old, changed in fields(value))
        elif isinstance(name, str) and name not in ("rope_type", "type", "max_position_embeddings"):       # not a number, as in tables of sizes
            yield name, value, [said | {name: other} for other in other_values(name, value)]
