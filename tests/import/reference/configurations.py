"""Configurations that new.py and make.py try, for types that need other keys than the rules of shrink.py give.

For each type a configuration by name: {} is that of the rules, FLIPPED the one with the switches the other way.  Keys here replace those of the
rules; rope_parameters without a rope_type replaces only its own fields.  A type without a row has DEFAULT."""

FLIPPED = {"": "flipped"}          # not a key of any class: see shrink.flipped()
DEFAULT = {"": {}, "other": FLIPPED}


def flipped(**keys):
    return FLIPPED | keys


PLAIN = {"rope_type": "default", "rope_theta": 5e5}
# a small theta and few turns, so that the limits differ for the frequencies of a small head
YARN = {"rope_type": "yarn", "rope_theta": 50.0, "factor": 8.0, "original_max_position_embeddings": 16, "beta_fast": 0.5, "beta_slow": 0.1}

GROWING = YARN | {"original_max_position_embeddings": 8, "llama_4_scaling_beta": 0.2, "mscale": 1.0, "mscale_all_dim": 1.0}
PROPORTIONAL = {"rope_type": "proportional", "rope_theta": 50.0, "partial_rotary_factor": 0.25}
S, F = "sliding_attention", "full_attention"

CONFIGURATIONS = {
    "arcee": DEFAULT,
    "bitnet": {"": {"rope_parameters": {"rope_theta": 50.0}}, "other": flipped()},
    "cwm": {
        "": {"rope_parameters": {"rope_theta": 50.0}},
        "other": flipped(mlp_bias=False, layer_types=[S, F, F, S, S], rope_parameters={"rope_type": "default", "rope_theta": 1e4}),
    },
    # more heads in the indexer, because keys that no head wants have equal scores
    "deepseek_v32": {
        "": {"num_hidden_layers": 3, "index_n_heads": 8, "attention_bias": False},
        "other": flipped(num_hidden_layers=2, index_n_heads=7, index_topk=3, qk_rope_head_dim=8, index_head_dim=12, n_group=1, topk_group=1, first_k_dense_replace=2, mlp_layer_types=["dense", "sparse"],
                         attention_bias=False, mlp_bias=False, norm_topk_prob=True, tie_word_embeddings=False,
                         rope_parameters=YARN | {"mscale": 0.7, "mscale_all_dim": 0.7}),
    },
    "ernie4_5": DEFAULT,
    # the E models: embeddings for each layer, shared keys and values
    "gemma4_text": {
        "": {"num_hidden_layers": 5, "layer_types": [S, F, S, S, F], "num_kv_shared_layers": 2, "use_double_wide_mlp": True, "global_head_dim": 16, "final_logit_softcapping": 5.0,
             "rope_parameters": {S: PLAIN | {"rope_theta": 50.0}, F: PROPORTIONAL}},
        # k = v, experts
        "other": flipped(num_hidden_layers=5, layer_types=[S, S, F, S, F], num_kv_shared_layers=0, use_double_wide_mlp=False, hidden_size_per_layer_input=0, global_head_dim=12,
                         num_global_key_value_heads=1, attention_k_eq_v=True, enable_moe_block=True, num_experts=5, top_k_experts=2, moe_intermediate_size=14,
                         rope_parameters={S: PROPORTIONAL | {"partial_rotary_factor": 0.5, "factor": 2.0}, F: PLAIN | {"rope_theta": 50.0}}),
    },
    "gemma4_unified_text": {
        "": {"num_hidden_layers": 4, "layer_types": [S, S, F, F], "global_head_dim": 16},
        "other": flipped(num_hidden_layers=4, layer_types=[S, F, S, F], global_head_dim=12, num_kv_shared_layers=1),
    },
    "glm4_moe_lite": {
        "": {},
        "other": flipped(attention_bias=False, rope_interleave=True, tie_word_embeddings=False, norm_topk_prob=True, q_lora_rank=None, n_routed_experts=8,
                         n_group=4, topk_group=2, mlp_layer_types=["dense", "dense", "sparse"], n_shared_experts=2,
                         qk_rope_head_dim=8,
                         rope_parameters=YARN | {"mscale": 0.7, "mscale_all_dim": 0.7}),
    },
    "glm_moe_dsa": {
        "": {"num_hidden_layers": 3, "index_n_heads": 8, "indexer_types": ["full", "shared", "full"]},
        "other": flipped(num_hidden_layers=4, index_n_heads=7, index_topk=3, qk_rope_head_dim=8, index_head_dim=12, n_routed_experts=8, n_group=4, topk_group=2, first_k_dense_replace=2,
                         index_topk_freq=2, index_skip_topk_offset=1, attention_bias=False, mlp_bias=False, norm_topk_prob=True, tie_word_embeddings=False,
                         rope_parameters=YARN | {"mscale": 0.7, "mscale_all_dim": 0.7}),
    },
    "helium": {"": {"head_dim": 8}, "other": flipped(attention_bias=False, mlp_bias=False)},
    "lfm2_moe": {
        "": {"num_hidden_layers": 3, "layer_types": ["conv", F, "conv"], "rope_parameters": {"rope_type": "default", "rope_theta": 50.0}},
        "other": flipped(num_hidden_layers=3, layer_types=[F, "conv", F], conv_L_cache=4, num_dense_layers=0),
    },
    "minicpm3": {
        "": {"num_key_value_heads": 4, "dim_model_base": 20, "v_head_dim": 10, "rope_parameters": {"rope_type": "longrope", "rope_theta": 50.0,
             "original_max_position_embeddings": 100, "short_factor": [1.5, 2.5], "long_factor": [2.5, 3.5]}},
        "other": flipped(num_key_value_heads=4, dim_model_base=None, scale_depth=None, q_lora_rank=None, mlp_bias=False, tie_word_embeddings=False,
                         rope_parameters={"rope_type": "linear", "rope_theta": 50.0, "factor": 3.0}),
    },
    # experts in few layers, since residuals are not added up
    "minimax": {
        "": {"num_hidden_layers": 3, "head_dim": 8, "layer_types": ["linear_attention", F, "linear_attention"], "linear_attn_alpha_factor": 1.25, "linear_attn_beta_factor": 0.75,
             "full_attn_alpha_factor": 1.5, "full_attn_beta_factor": 0.5, "mlp_alpha_factor": 1.125, "mlp_beta_factor": 0.875,
             "rope_parameters": {"rope_type": "default", "rope_theta": 50.0}},
        "other": flipped(num_hidden_layers=2, head_dim=12, sliding_window=5, block_size=4),
    },
    "phimoe": {
        "": {"num_hidden_layers": 2, "router_jitter_noise": 0.4, "rope_parameters": {"rope_type": "longrope", "rope_theta": 50.0, "original_max_position_embeddings": 100,
             "short_factor": [1.0, 1.5, 2.0, 2.5], "long_factor": [2.0, 2.5, 3.0, 3.5], "short_mscale": 1.2, "long_mscale": 1.3}},
        "other": flipped(num_hidden_layers=2, router_jitter_noise=0.2, sliding_window=5, tie_word_embeddings=False),
    },
    "ministral": {"": {"layer_types": [S, F]}, "other": flipped()},
    "ministral3": {
        "": {"rope_parameters": GROWING},
        "other": flipped(sliding_window=5, rope_parameters=GROWING | {"llama_4_scaling_beta": 0.4, "mscale": 0.5}),
    },
    "olmo3": {
        "": {"rope_parameters": {F: YARN, S: {"rope_type": "default", "rope_theta": 1e4}}},
        "other": flipped(attention_bias=False, rope_parameters={F: PLAIN, S: YARN}),
    },
    "vaultgemma": {
        "": {},
        "other": flipped(attention_bias=False, tie_word_embeddings=True, final_logit_softcapping=None, attn_logit_softcapping=None, layer_types=[F, F, S]),
    },
}
# for each type, and for all, options that are not visible in the output, and the reason
INVISIBLE = {
    "": {"max_position_embeddings": "it only limits the context", "pretraining_tp": "of training", "qk_head_dim": "the sum of two others"},
    "deepseek_v32": {"head_dim": "the class sets it to qk_rope_head_dim", "mlp_bias": "the class has none"},
    "glm_moe_dsa": {"head_dim": "the class sets it to qk_rope_head_dim", "mlp_bias": "the class has none"},
    "minicpm3": {"head_dim": "the class sets it to qk_rope_head_dim"},
    "minimax": {"block_size": "it only cuts the sums"},
}


def of_type(kind):
    """{name of the folder: keys}"""
    rows = CONFIGURATIONS.get(kind, DEFAULT)
    return {f"{kind}_{name}".rstrip("_").replace("-", "_"): keys for name, keys in rows.items()}
