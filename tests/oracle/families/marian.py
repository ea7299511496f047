"""Marian (transformers): sinusoidal positions, sines before cosines, embeddings scaled, a bias on the logits.

The reference computes its tables of positions, rounded to float32; here they are made again in float64 by its formula.
"""

import common
import torch
from transformers import MarianConfig, MarianMTModel
from transformers.models.marian import modeling_marian

modeling_marian.torch.FloatTensor = lambda values: torch.as_tensor(values, dtype=torch.float64)
model = MarianMTModel(MarianConfig(
    vocab_size=37, max_position_embeddings=32, d_model=12, encoder_layers=2, decoder_layers=2,
    encoder_attention_heads=3, decoder_attention_heads=3, encoder_ffn_dim=20, decoder_ffn_dim=20, pad_token_id=36,
    decoder_start_token_id=36, eos_token_id=0, activation_function="swish", scale_embedding=True,
    attn_implementation="eager"))
tables = ["model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"]
with torch.no_grad():
    for side in model.model.encoder, model.model.decoder:
        side.embed_positions.weight.copy_(side.embed_positions.create_weight())
model = common.load(model, "marian", computed=tables)
words, ids = common.tokens(19, 37), common.tokens(23, 37)
with torch.no_grad():
    logits = model(input_ids=words[None], decoder_input_ids=ids[None], use_cache=False).logits[0]
common.record("marian", inputs={"words": words, "tokens": ids}, outputs={"logits": logits},
              patches=["modeling_marian.MarianSinusoidalPositionalEmbedding.create_weight: FloatTensor in float64"])
