"""Granite with experts (transformers): the softmax of the best two experts, which the file packs into one tensor."""

import common
from transformers import GraniteMoeConfig, GraniteMoeForCausalLM

config = GraniteMoeConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=36, intermediate_size=14, num_hidden_layers=2,
    num_attention_heads=6, num_key_value_heads=3, rms_norm_eps=1e-5, tie_word_embeddings=True,
    num_local_experts=5, num_experts_per_tok=2, embedding_multiplier=12.0, residual_multiplier=0.22,
    attention_multiplier=0.3, logits_scaling=6.0)
model = common.published("granite_moe", GraniteMoeForCausalLM, config)
common.decoder("granite_moe", model, layers=model.model.layers, parts={
    "attn": "self_attn", "ffn": "block_sparse_moe", "x": ""})
