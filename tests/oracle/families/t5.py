"""T5 1.0 (transformers): distances in buckets, scores that are not scaled, the tied head scaled, padding in the source."""

import common
import torch
from transformers import T5Config, T5ForConditionalGeneration

model = common.load(T5ForConditionalGeneration(T5Config(
    vocab_size=37, d_model=10, d_kv=4, d_ff=20, num_layers=2, num_heads=3, feed_forward_proj="relu",
    tie_word_embeddings=True, attn_implementation="eager")), "t5")
values = common.taps({f"encoder.layer[{i}].ffn": block.layer[1].DenseReluDense for i, block in enumerate(model.encoder.block)} |
                     {f"decoder.layer[{i}].ffn": block.layer[2].DenseReluDense for i, block in enumerate(model.decoder.block)} |
                     {"encoder": model.encoder.final_layer_norm})
words, ids = common.tokens(143, 37), common.tokens(150, 37)
keep = (torch.arange(143) < 140).long()
with torch.no_grad():
    logits = model(input_ids=words[None], attention_mask=keep[None], decoder_input_ids=ids[None], use_cache=False).logits[0]
common.record("t5", inputs={"words": words, "keep": keep, "tokens": ids}, outputs={"logits": logits}, taps=values)
