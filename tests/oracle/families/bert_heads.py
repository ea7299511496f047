"""BERT (transformers) with heads for classes of texts, classes of tokens, and answers to questions."""

import common
import torch
from transformers import (BertConfig, BertForQuestionAnswering, BertForSequenceClassification,
                          BertForTokenClassification)

HEADS = {
    "bert_classes": (BertForSequenceClassification, 2, lambda found: {"scores": found.logits[0]}),
    "bert_token_classes": (BertForTokenClassification, 1, lambda found: {"token_scores": found.logits[0]}),
    "bert_answers": (BertForQuestionAnswering, 1, lambda found: {
        "ends": torch.stack((found.start_logits[0], found.end_logits[0]), dim=-1)}),
}
for name, (kind, layers, outputs) in HEADS.items():
    model = common.load(kind(BertConfig(
        vocab_size=37, max_position_embeddings=32, num_hidden_layers=layers, num_attention_heads=3, hidden_size=12,
        intermediate_size=20, num_labels=2 if "answers" in name else 3, attn_implementation="eager")), name)
    ids = common.tokens(19, 37)
    types, keep = (torch.arange(19) > 7).long(), (torch.arange(19) < 16).long()
    with torch.no_grad():
        found = model(input_ids=ids[None], token_type_ids=types[None], attention_mask=keep[None])
        hidden = model.bert(input_ids=ids[None], token_type_ids=types[None], attention_mask=keep[None]).last_hidden_state
    common.record(name, inputs={"tokens": ids, "token_types": types, "keep": keep},
                  outputs=outputs(found) | {"hidden": hidden[0]})
