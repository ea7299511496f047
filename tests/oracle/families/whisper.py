"""Whisper (transformers): two convolutions over log-mel, sinusoidal positions in the encoder, no bias on keys.

The encoder's table of positions is made in float64 by the reference's own function.
"""

import common
import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration
from transformers.models.whisper.modeling_whisper import sinusoids

model = WhisperForConditionalGeneration(WhisperConfig(
    vocab_size=37, num_mel_bins=5, max_source_positions=17, max_target_positions=32, d_model=12, encoder_layers=2,
    decoder_layers=3, encoder_attention_heads=3, decoder_attention_heads=3, encoder_ffn_dim=48, decoder_ffn_dim=48,
    pad_token_id=36, bos_token_id=36, eos_token_id=36, decoder_start_token_id=35, attn_implementation="eager"))
with torch.no_grad():
    model.model.encoder.embed_positions.weight.copy_(sinusoids(17, 12))
model = common.load(model, "whisper", computed=["model.encoder.embed_positions.weight"])
encoder, decoder = model.model.encoder, model.model.decoder
LAYER = {"ln1": "self_attn_layer_norm", "attn": "self_attn", "ffn": "fc2", "x": ""}
values = common.taps(
    common.parts_of(encoder.layers, LAYER | {"ln2": "final_layer_norm"}, "encoder.layer") |
    common.parts_of(decoder.layers, LAYER | {"ln2": "encoder_attn_layer_norm", "cross": "encoder_attn",
                                             "ln3": "final_layer_norm"}, "decoder.layer") |
    {"conv1": (encoder.conv1, lambda given, result: result[0].T),
     "conv2": (encoder.conv2, lambda given, result: result[0].T),
     "encoder": encoder.layer_norm, "decoder_position": common.entry(decoder.layers[0]), "decoder": decoder.layer_norm})
mel = torch.sin(torch.arange(5 * 34) * 1.7).reshape(5, 34)
ids = common.tokens(23, 37)
with torch.no_grad():
    logits = model(input_features=mel[None], decoder_input_ids=ids[None], use_cache=False).logits[0]
common.record("whisper", inputs={"mel": mel, "tokens": ids}, outputs={"logits": logits}, taps=values)
