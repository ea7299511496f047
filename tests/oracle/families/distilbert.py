"""DistilBERT (transformers): BERT without token types and pooler."""

import common
import torch
from transformers import DistilBertConfig, DistilBertForMaskedLM

model = common.load(DistilBertForMaskedLM(DistilBertConfig(
    vocab_size=37, max_position_embeddings=32, n_layers=2, n_heads=3, dim=12, hidden_dim=20,
    attn_implementation="eager")), "distilbert")
ids = common.tokens(19, 37)
keep = (torch.arange(19) < 16).long()
with torch.no_grad():
    hidden = model.distilbert(input_ids=ids[None], attention_mask=keep[None]).last_hidden_state[0]
    logits = model(input_ids=ids[None], attention_mask=keep[None]).logits[0]
common.record("distilbert", inputs={"tokens": ids, "keep": keep}, outputs={"hidden": hidden, "logits": logits})
