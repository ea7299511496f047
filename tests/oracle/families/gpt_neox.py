"""GPT-NeoX (transformers): parallel residual, a quarter of each head rotated, q, k and v interleaved by head, untied head."""

import common
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

model = GPTNeoXForCausalLM(GPTNeoXConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=48, intermediate_size=40, num_hidden_layers=2,
    num_attention_heads=3, attn_implementation="eager"))
common.decoder("gpt_neox", model, layers=model.gpt_neox.layers, parts={"x": "", "attn": "attention", "ffn": "mlp"},
               renamed={"embed_out.weight": "lm_head.weight"})
