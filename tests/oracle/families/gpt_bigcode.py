"""GPT-BigCode (transformers), which is StarCoder: learned positions, one head of keys and values."""

import common
from transformers import GPTBigCodeConfig, GPTBigCodeForCausalLM

model = GPTBigCodeForCausalLM(GPTBigCodeConfig(
    vocab_size=37, n_positions=32, n_embd=24, n_inner=50, n_layer=2, n_head=3, attn_implementation="eager"))
common.decoder("gpt_bigcode", model, layers=model.transformer.h, parts={"x": "", "attn": "attn", "ffn": "mlp"})
