"""RoBERTa (transformers): positions counted over the tokens that are no padding, from the padding's id on."""

import common
import torch
from transformers import RobertaConfig, RobertaForMaskedLM

model = common.load(RobertaForMaskedLM(RobertaConfig(
    vocab_size=37, max_position_embeddings=34, type_vocab_size=1, num_hidden_layers=2, num_attention_heads=3,
    hidden_size=12, intermediate_size=20, layer_norm_eps=1e-5, pad_token_id=1, attn_implementation="eager")), "roberta")
layers = model.roberta.encoder.layer
values = common.taps({f"encoder.layer[{i}].ln2": layer.output for i, layer in enumerate(layers)})
ids = common.tokens(19, 37)
ids[ids == 1] = 2
ids[16:] = 1
ids[5] = 1
keep = (ids != 1).long()
with torch.no_grad():
    hidden = model.roberta(input_ids=ids[None], attention_mask=keep[None]).last_hidden_state[0]
    logits = model(input_ids=ids[None], attention_mask=keep[None]).logits[0]
common.record("roberta", inputs={"tokens": ids, "keep": keep}, outputs={"hidden": hidden, "logits": logits},
              taps=values)
