"""Jamba (transformers): Mamba whose steps are normed, attention without positions, experts in every second layer."""

import common
from transformers import JambaConfig, JambaForCausalLM

model = common.published("jamba", JambaForCausalLM, JambaConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=20, num_hidden_layers=4, num_attention_heads=4,
    num_key_value_heads=2, num_experts=5, num_experts_per_tok=2, attn_layer_period=3, attn_layer_offset=1, expert_layer_period=2,
    expert_layer_offset=1, mamba_d_state=5, mamba_dt_rank=3, mamba_expand=2, pad_token_id=None))
common.decoder("jamba", model, layers=model.model.layers, parts={"ln1": "input_layernorm", "ffn": "feed_forward", "x": ""})
