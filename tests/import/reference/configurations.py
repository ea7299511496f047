"""Configurations that new.py and make.py try, for types that need other keys than the rules of shrink.py give.

For each type a configuration by name: {} is that of the rules, FLIPPED the one with the switches the other way.  Keys here replace those of the
rules; of rope_parameters, each field.  A type without a row has DEFAULT."""

FLIPPED = {"": "flipped"}          # not a key of any class: see shrink.flipped()
DEFAULT = {"": {}, "other": FLIPPED}


def flipped(**keys):
    return FLIPPED | keys


PLAIN = {"rope_type": "default", "rope_theta": 5e5}
# a small theta and few turns, so that the limits differ for the frequencies of a small head
YARN = {"rope_type": "yarn", "rope_theta": 50.0, "factor": 8.0, "original_max_position_embeddings": 16, "beta_fast": 0.5, "beta_slow": 0.1}

CONFIGURATIONS = {
    "olmo3": {
        "": {"rope_parameters": {"full_attention": YARN, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}},
        "other": flipped(attention_bias=False, rope_parameters={"full_attention": PLAIN, "sliding_attention": YARN}),
    },
}
# for each type, and for all, options that are not visible in the output, and the reason
INVISIBLE = {
    "": {"max_position_embeddings": "it only limits the context"},
}


def of_type(kind):
    """{name of the folder: keys}"""
    rows = CONFIGURATIONS.get(kind, DEFAULT)
    return {f"{kind}_{name}".rstrip("_").replace("-", "_"): keys for name, keys in rows.items()}
