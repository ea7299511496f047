"""Small published checkpoints (transformers), loaded from the folder of data: their outputs in float64.

    LATHE_DATA=DIR python tests/oracle/families/published.py
"""

import os

import common
import torch
from transformers import BertModel, T5ForConditionalGeneration

DATA = os.environ["LATHE_DATA"] + "/checkpoints/"


def load(reference, name, folder):
    module = reference.from_pretrained(DATA + folder, dtype=torch.float64, attn_implementation="eager").eval()
    common.references[name] = f"{reference.__module__}.{reference.__qualname__} of {folder}"
    return module


def main():
    bert = load(BertModel, "published/tiny_bert", "tiny-bert")
    ids = common.tokens(40, 256)
    types, keep = (torch.arange(40) > 20).long(), (torch.arange(40) < 36).long()
    with torch.no_grad():
        hidden = bert(input_ids=ids[None], token_type_ids=types[None], attention_mask=keep[None]).last_hidden_state[0]
    common.record("published/tiny_bert", inputs={"tokens": ids, "token_types": types, "keep": keep},
                  outputs={"hidden": hidden})

    t5 = load(T5ForConditionalGeneration, "published/tiny_t5", "tiny-t5")
    words, ids = common.tokens(30, 1024), common.tokens(12, 1024)
    with torch.no_grad():
        logits = t5(input_ids=words[None], decoder_input_ids=ids[None], use_cache=False).logits[0]
    common.record("published/tiny_t5", inputs={"words": words, "tokens": ids}, outputs={"logits": logits})


main()
