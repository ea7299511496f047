"""ModernBERT (transformers): rotary positions of two kinds, windows to both sides, a first layer without a norm."""

import common
import torch
from transformers import ModernBertConfig, ModernBertForMaskedLM

model = common.load(ModernBertForMaskedLM(ModernBertConfig(
    vocab_size=37, max_position_embeddings=32, num_hidden_layers=5, num_attention_heads=3, hidden_size=12,
    intermediate_size=20, local_attention=6, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1,
    sep_token_id=2, attn_implementation="eager")), "modernbert")
ids = common.tokens(19, 37)
keep = (torch.arange(19) < 17).long()
with torch.no_grad():
    hidden = model.model(input_ids=ids[None], attention_mask=keep[None]).last_hidden_state[0]
    logits = model(input_ids=ids[None], attention_mask=keep[None]).logits[0]
common.record("modernbert", inputs={"tokens": ids, "keep": keep}, outputs={"hidden": hidden, "logits": logits})
