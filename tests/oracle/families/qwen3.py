"""Qwen 3 (transformers): norms of each head's queries and keys."""

import common
from transformers import Qwen3Config, Qwen3ForCausalLM

model = Qwen3ForCausalLM(Qwen3Config(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=36, num_hidden_layers=2,
    num_attention_heads=3, num_key_value_heads=1, head_dim=10, attn_implementation="eager",
    rope_parameters={"rope_type": "default", "rope_theta": 1e6}))
common.decoder("qwen3", model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp"})
