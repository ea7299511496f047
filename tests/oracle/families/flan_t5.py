"""Flan-T5 (transformers), a T5 1.1: gated feed-forward, a head of its own that is not scaled.

This version of the reference ties the head whatever the configuration says; published files hold one of its own.
"""

import common
import torch
from transformers import T5Config, T5ForConditionalGeneration

model = T5ForConditionalGeneration(T5Config(
    vocab_size=37, d_model=10, d_kv=4, d_ff=20, num_layers=3, num_decoder_layers=2, num_heads=3,
    feed_forward_proj="gated-gelu", tie_word_embeddings=False, attn_implementation="eager"))
model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
model = common.load(model, "flan_t5")
words, ids = common.tokens(19, 37), common.tokens(23, 37)
with torch.no_grad():
    logits = model(input_ids=words[None], decoder_input_ids=ids[None], use_cache=False).logits[0]
common.record("flan_t5", inputs={"words": words, "tokens": ids}, outputs={"logits": logits},
              patches=["lm_head.weight is no longer shared.weight"])
