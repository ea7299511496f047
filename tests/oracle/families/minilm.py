"""all-MiniLM (transformers, sentence_transformers): BERT, the mean of its tokens, and that as a vector of length 1."""

import common
import torch
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling
from transformers import BertConfig, BertModel

model = common.load(BertModel(BertConfig(
    vocab_size=37, max_position_embeddings=32, num_hidden_layers=2, num_attention_heads=3, hidden_size=12,
    intermediate_size=20, attn_implementation="eager")), "minilm")
ids = common.tokens(19, 37)
types = torch.zeros(19, dtype=torch.int64)
keep = (torch.arange(19) < 16).long()
with torch.no_grad():
    encoded = model(input_ids=ids[None], token_type_ids=types[None], attention_mask=keep[None])
    features = {"token_embeddings": encoded.last_hidden_state, "attention_mask": keep[None]}
    sentence = Normalize()(Pooling(12, pooling_mode="mean")(features))["sentence_embedding"][0]
common.record(
    "minilm", inputs={"tokens": ids, "token_types": types, "keep": keep},
    outputs={"hidden": encoded.last_hidden_state[0], "pooled": encoded.pooler_output[0], "sentence": sentence})
