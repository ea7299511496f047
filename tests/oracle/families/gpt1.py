"""The first GPT (transformers' OpenAIGPT): norms after the sums, none at the end."""

import common
from transformers import OpenAIGPTConfig, OpenAIGPTLMHeadModel

model = OpenAIGPTLMHeadModel(OpenAIGPTConfig(
    vocab_size=37, n_positions=32, n_embd=24, n_layer=2, n_head=3, attn_implementation="eager"))
common.decoder("gpt1", model, prefix="transformer.", layers=model.transformer.h, parts={"x": "", "attn": "attn", "ffn": "mlp"},
               path="stack.layer")
