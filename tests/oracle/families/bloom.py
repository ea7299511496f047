"""BLOOM (transformers): ALiBi with a number of heads that is no power of two, a norm of the embeddings."""

import common
from transformers import BloomConfig, BloomForCausalLM

model = BloomForCausalLM(BloomConfig(vocab_size=37, hidden_size=30, n_layer=2, n_head=6, attn_implementation="eager"))
common.decoder("bloom", model, prefix="transformer.", layers=model.transformer.h, parts={"x": ""})
