"""BERT (transformers): post-norm layers, token types, padding, pooler, heads for the next sentence and masked words."""

import common
import torch
from transformers import BertConfig, BertForPreTraining

model = common.load(BertForPreTraining(BertConfig(
    vocab_size=37, max_position_embeddings=32, num_hidden_layers=2, num_attention_heads=3, hidden_size=12,
    intermediate_size=20, attn_implementation="eager")), "bert")
values = common.taps(common.parts_of(model.bert.encoder.layer, {
    "attn": "attention.output.dense", "ln1.y": "attention.output", "ffn": "output.dense", "ln2": "output"},
    "encoder.layer") | {"embed_norm": model.bert.embeddings, "first": model.bert.pooler.dense,
                        "lm_norm": model.cls.predictions.transform})
ids = common.tokens(19, 37)
types = (torch.arange(19) > 7).long()
keep = (torch.arange(19) < 16).long()
with torch.no_grad():
    encoded = model.bert(input_ids=ids[None], token_type_ids=types[None], attention_mask=keep[None])
    heads = model(input_ids=ids[None], token_type_ids=types[None], attention_mask=keep[None])
common.record(
    "bert", inputs={"tokens": ids, "token_types": types, "keep": keep},
    outputs={"hidden": encoded.last_hidden_state[0], "pooled": encoded.pooler_output[0],
             "is_next": heads.seq_relationship_logits[0], "logits": heads.prediction_logits[0]},
    taps=values)
