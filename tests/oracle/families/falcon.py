"""Falcon (transformers) in its four forms: one norm and one head of keys; two norms and groups of heads; one norm and groups
of heads; sequential with biases and ALiBi. That one runs with "sdpa": this version's "eager" adds ALiBi twice, in the mask and to the scores."""

import common
from transformers import FalconConfig, FalconForCausalLM

BOTH = dict(vocab_size=37, num_hidden_layers=2)
FORMS = {
    "falcon": dict(hidden_size=30, num_attention_heads=3, attn_implementation="eager"),
    "falcon_grouped": dict(hidden_size=36, num_attention_heads=6, num_kv_heads=2, ffn_hidden_size=50,
                           new_decoder_architecture=True, attn_implementation="eager"),
    "falcon_one_norm": dict(hidden_size=36, num_attention_heads=6, num_kv_heads=2, new_decoder_architecture=True,
                            num_ln_in_parallel_attn=1, tie_word_embeddings=False, attn_implementation="eager"),
    "falcon_rw": dict(hidden_size=30, num_attention_heads=3, alibi=True, bias=True, multi_query=False,
                      parallel_attn=False, attn_implementation="sdpa"),
}
BFLOAT16 = "ALiBi's products of slope and distance, in bfloat16 there, are float64"
for name, sizes in FORMS.items():
    model = FalconForCausalLM(FalconConfig(**BOTH, **sizes))
    common.decoder(name, model, layers=model.transformer.h, parts={"x": "", "attn": "self_attention"},
                   patches=[BFLOAT16] if "alibi" in sizes else [])
