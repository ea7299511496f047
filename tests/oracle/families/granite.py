"""Granite (transformers): multipliers on embeddings, scores, residuals and logits."""

import common
from transformers import GraniteConfig, GraniteForCausalLM

model = GraniteForCausalLM(GraniteConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=36, intermediate_size=28, num_hidden_layers=2,
    num_attention_heads=6, num_key_value_heads=3, rms_norm_eps=1e-5, tie_word_embeddings=True,
    embedding_multiplier=12.0, residual_multiplier=0.22, attention_multiplier=0.3, logits_scaling=8.0,
    attn_implementation="eager"))
common.decoder("granite", model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp"})
