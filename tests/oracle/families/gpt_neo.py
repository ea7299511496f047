"""GPT-Neo (transformers): scores that are not scaled, global and local layers in turn, no biases in q, k, v."""

import common
from transformers import GPTNeoConfig, GPTNeoForCausalLM

model = GPTNeoForCausalLM(GPTNeoConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, num_layers=3, num_heads=3, window_size=5,
    attention_types=[[["global", "local", "global"], 1]], attn_implementation="eager"))
common.decoder("gpt_neo", model, layers=model.transformer.h, parts={"x": "", "attn": "attn", "ffn": "mlp"})
