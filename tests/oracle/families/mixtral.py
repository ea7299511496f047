"""Mixtral (transformers): the softmax of the best two experts, grouped queries."""

import common
from transformers import MixtralConfig, MixtralForCausalLM

config = MixtralConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=20, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, num_local_experts=5, num_experts_per_tok=2, sliding_window=None,
    rms_norm_eps=1e-5, rope_parameters={"rope_type": "default", "rope_theta": 1e6})
model = common.published("mixtral", MixtralForCausalLM, config)
common.decoder("mixtral", model, layers=model.model.layers, parts={
    "ln1": "input_layernorm", "attn": "self_attn", "ln2": "post_attention_layernorm", "ffn": "mlp", "x": ""}, more={
        "embed_norm": common.entry(model.model.layers[0]), "final": model.model.norm})
