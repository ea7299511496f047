"""Bamba (transformers): Mamba 2, and attention in which a part of each head is rotated."""

import common
from transformers import BambaConfig, BambaForCausalLM

model = common.published("bamba", BambaForCausalLM, BambaConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=36, intermediate_size=22, num_hidden_layers=3, num_attention_heads=6,
    num_key_value_heads=2, attn_layer_indices=[1], mamba_n_heads=4, mamba_d_head=18, mamba_n_groups=2, mamba_d_state=5, mamba_d_conv=3,
    mamba_expand=2, mamba_chunk_size=7, mamba_proj_bias=True, attention_bias=True, mlp_bias=True, time_step_limit=(0.2, 1.1),
    rms_norm_eps=1e-3, rope_parameters={"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 2 / 3}, pad_token_id=None))
common.decoder("bamba", model, layers=model.model.layers, parts={"ffn": "feed_forward", "x": ""},
               more={f"layer[{i}].attn": layer.self_attn if layer.block_type == "full_attention" else layer.mamba
                     for i, layer in enumerate(model.model.layers)})
