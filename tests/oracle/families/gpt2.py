"""GPT-2 (transformers): learned positions, layer norms with shifts, biases everywhere, tied head."""

import common
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(
    vocab_size=37, n_positions=32, n_embd=24, n_layer=2, n_head=3, attn_implementation="eager"))
common.decoder("gpt2", model, prefix="transformer.", layers=model.transformer.h, parts={"x": "", "attn": "attn", "ffn": "mlp"})
