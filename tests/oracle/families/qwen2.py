"""Qwen 2 and 2.5 (transformers): biases of queries, keys and values."""

import common
from transformers import Qwen2Config, Qwen2ForCausalLM

model = Qwen2ForCausalLM(Qwen2Config(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=36, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True, attn_implementation="eager",
    rope_parameters={"rope_type": "default", "rope_theta": 1e6}))
common.decoder("qwen2", model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp"})
