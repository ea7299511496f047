"""Nemotron (transformers): squared relu, layer norms with the gain less one, half of each head rotated."""

import common
from transformers import NemotronConfig, NemotronForCausalLM

model = NemotronForCausalLM(NemotronConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=36, intermediate_size=50, num_hidden_layers=2, head_dim=8,
    num_attention_heads=6, num_key_value_heads=2, attn_implementation="eager"))
common.decoder("nemotron", model, layers=model.model.layers, parts={"x": "", "attn": "self_attn", "ffn": "mlp"})
