"""Mamba and Falcon Mamba (transformers)."""

import common
from transformers import FalconMambaConfig, FalconMambaForCausalLM, MambaConfig, MambaForCausalLM

SIZES = dict(vocab_size=37, hidden_size=12, state_size=5, num_hidden_layers=2, time_step_rank=3, expand=2)
model = common.published("mamba", MambaForCausalLM, MambaConfig(**SIZES))
common.decoder("mamba", model, layers=model.backbone.layers, parts={"norm": "norm", "mixer": "mixer", "x": ""})
model = common.published("falcon_mamba", FalconMambaForCausalLM, FalconMambaConfig(
    **SIZES, use_bias=True, use_conv_bias=False, tie_word_embeddings=False))
common.decoder("falcon_mamba", model, layers=model.backbone.layers, parts={"mixer": "mixer", "x": ""})
