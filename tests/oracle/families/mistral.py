"""Mistral (transformers): a window shorter than the input, heads wider than their share of the model."""

import common
from transformers import MistralConfig, MistralForCausalLM

model = MistralForCausalLM(MistralConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
    num_attention_heads=3, num_key_value_heads=1, head_dim=10, sliding_window=7, rms_norm_eps=1e-5,
    attn_implementation="eager"))
common.decoder("mistral", model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp"})
