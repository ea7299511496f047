"""Llama (transformers): positions pressed together fourfold."""

import common
from transformers import LlamaConfig, LlamaForCausalLM

model = LlamaForCausalLM(LlamaConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
    num_attention_heads=3, rms_norm_eps=1e-5, tie_word_embeddings=False, attn_implementation="eager",
    rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}))
common.decoder("llama", model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp"})
