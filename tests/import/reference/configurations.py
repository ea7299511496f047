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
S, F = "sliding_attention", "full_attention"

CONFIGURATIONS = {
    "arcee": DEFAULT,
    "cwm": {
        "": {"rope_parameters": {"rope_theta": 50.0}},
        "other": flipped(mlp_bias=False, layer_types=[S, F, F, S, S], rope_parameters={"rope_type": "default", "rope_theta": 1e4}),
    },
    "ernie4_5": DEFAULT,
    "glm4_moe_lite": {
        "": {},
        "other": flipped(attention_bias=False, rope_interleave=True, tie_word_embeddings=False, norm_topk_prob=True, q_lora_rank=None, n_routed_experts=8,
                         n_group=4, topk_group=2, mlp_layer_types=["dense", "dense", "sparse"], n_shared_experts=2,
                         qk_rope_head_dim=8,
                         rope_parameters=YARN | {"mscale": 0.7, "mscale_all_dim": 0.7}),
    },
    "helium": {"": {"head_dim": 8}, "other": flipped(attention_bias=False, mlp_bias=False)},
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
}


def of_type(kind):
    """{name of the folder: keys}"""
    rows = CONFIGURATIONS.get(kind, DEFAULT)
    return {f"{kind}_{name}".rstrip("_").replace("-", "_"): keys for name, keys in rows.items()}
