"""GPT-J (transformers): one norm for both branches, neighbouring values rotated, biases in the feed-forward and the head."""

import common
from transformers import GPTJConfig, GPTJForCausalLM

model = GPTJForCausalLM(GPTJConfig(
    vocab_size=37, n_positions=32, n_embd=30, n_inner=44, n_layer=2, n_head=3, rotary_dim=6, attn_implementation="eager"))
common.decoder("gptj", model, layers=model.transformer.h, parts={"x": "", "attn": "attn", "ffn": "mlp"})
