"""Phi (transformers): one norm for both branches, part of each head rotated, a bias in every linear map and the head."""

import common
from transformers import PhiConfig, PhiForCausalLM

model = PhiForCausalLM(PhiConfig(
    vocab_size=37, hidden_size=30, intermediate_size=44, num_hidden_layers=2, num_attention_heads=3,
    partial_rotary_factor=0.4, attn_implementation="eager"))
common.decoder("phi", model, layers=model.model.layers, parts={"x": "", "attn": "self_attn", "ffn": "mlp"})
