"""BART (transformers): learned positions after two rows, a norm on the embeddings, a bias on the logits, padding."""

import common
import torch
from transformers import BartConfig, BartForConditionalGeneration

model = common.load(BartForConditionalGeneration(BartConfig(
    vocab_size=37, max_position_embeddings=32, d_model=12, encoder_layers=2, decoder_layers=3,
    encoder_attention_heads=3, decoder_attention_heads=3, encoder_ffn_dim=20, decoder_ffn_dim=20,
    forced_eos_token_id=None, attn_implementation="eager")), "bart")
words, ids = common.tokens(19, 37), common.tokens(23, 37)
keep = (torch.arange(19) < 16).long()
with torch.no_grad():
    logits = model(input_ids=words[None], attention_mask=keep[None], decoder_input_ids=ids[None], use_cache=False).logits[0]
common.record("bart", inputs={"words": words, "keep": keep, "tokens": ids}, outputs={"logits": logits})
