"""Llama 3.1 and 3.2 (transformers): frequencies by their share of the original context, groups of three, tied head."""

import common
from transformers import LlamaConfig, LlamaForCausalLM

model = LlamaForCausalLM(LlamaConfig(
    vocab_size=37, max_position_embeddings=64, hidden_size=18, intermediate_size=28, num_hidden_layers=2,
    num_attention_heads=6, num_key_value_heads=2, head_dim=16, rms_norm_eps=1e-5, tie_word_embeddings=True,
    attn_implementation="eager",
    rope_parameters={"rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 1.0,
                     "high_freq_factor": 4.0, "original_max_position_embeddings": 32}))
common.decoder("llama3", model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp"})
