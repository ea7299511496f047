"""The Transformer of 2017 (torch.nn.Transformer): norms after the sub-layers, none at the end.

torch has the layers; the embeddings, their scale, the positions and the logits are the paper's sections 3.4 and 3.5,
written here in torch's functions.
"""

import math

import common
import torch
from torch import nn


class Translator(nn.Transformer):
    """Adds the shared table of embeddings."""

    def __init__(self, vocab, width, layers, **sizes):
        layer = {"d_model": width, "batch_first": True, **sizes}
        super().__init__(
            custom_encoder=nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer), layers, enable_nested_tensor=False),
            custom_decoder=nn.TransformerDecoder(nn.TransformerDecoderLayer(**layer), layers), **layer)
        self.embed = nn.Embedding(vocab, width)

    def place(self, ids):
        """Section 3.4: embeddings times sqrt(d_model); 3.5: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), 2i + 1: cos."""
        width = self.embed.embedding_dim
        angle = torch.arange(len(ids))[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
        return self.embed(ids) * math.sqrt(width) + torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


model = common.load(Translator(37, 12, 2, nhead=3, dim_feedforward=20, dropout=0.0), "transformer")
words, ids = common.tokens(19, 37), common.tokens(23, 37)
with torch.no_grad():
    mask = nn.Transformer.generate_square_subsequent_mask(23)
    logits = model(model.place(words)[None], model.place(ids)[None], tgt_mask=mask)[0] @ model.embed.weight.T
common.record("transformer", inputs={"words": words, "tokens": ids}, outputs={"logits": logits})
