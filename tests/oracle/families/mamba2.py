"""Mamba 2 (transformers)."""

import common
from transformers import Mamba2Config, Mamba2ForCausalLM

model = common.published("mamba2", Mamba2ForCausalLM, Mamba2Config(
    vocab_size=37, hidden_size=12, state_size=5, num_hidden_layers=2, num_heads=6, head_dim=4, n_groups=2, expand=2,
    time_step_limit=(0.4, 0.8), chunk_size=7, tie_word_embeddings=True))
common.decoder("mamba2", model, layers=model.backbone.layers, parts={"norm": "norm", "mixer": "mixer", "x": ""})
