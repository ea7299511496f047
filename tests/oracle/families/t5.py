"""T5 1.0 (transformers): distances in buckets, scores that are not scaled, the tied head scaled, padding in the source."""

import common
import torch
from transformers import T5Config, T5ForConditionalGeneration

model = common.load(T5ForConditionalGeneration(T5Config(
    vocab_size=37, d_model=10, d_kv=4, d_ff=20, num_layers=2, num_heads=3, feed_forward_proj="relu",
    tie_word_embeddings=True, attn_implementation="eager")), "t5")
values = common.taps(common.parts_of(model.encoder.block, {
    "ln1": "layer.0.layer_norm", "attn": "layer.0.SelfAttention", "ln2": "layer.1.layer_norm",
    "ffn": "layer.1.DenseReluDense", "x": ""}, "encoder.layer") | common.parts_of(model.decoder.block, {
        "ln1": "layer.0.layer_norm", "attn": "layer.0.SelfAttention", "ln2": "layer.1.layer_norm",
        "cross": "layer.1.EncDecAttention", "ln3": "layer.2.layer_norm", "ffn": "layer.2.DenseReluDense", "x": ""},
        "decoder.layer") | {
            "source_norm": common.entry(model.encoder.block[0]), "encoder": model.encoder.final_layer_norm,
            "target_norm": common.entry(model.decoder.block[0]), "decoder": model.decoder.final_layer_norm})
words, ids = common.tokens(143, 37), common.tokens(150, 37)
keep = (torch.arange(143) < 140).long()
with torch.no_grad():
    logits = model(input_ids=words[None], attention_mask=keep[None], decoder_input_ids=ids[None], use_cache=False).logits[0]
common.record("t5", inputs={"words": words, "keep": keep, "tokens": ids}, outputs={"logits": logits}, taps=values)
