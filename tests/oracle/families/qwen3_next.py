"""Qwen 3 Next (transformers): three gated delta nets, then attention with a gate; experts and a shared one."""

import common
from transformers import Qwen3NextConfig, Qwen3NextForCausalLM

model = common.published("qwen3_next", Qwen3NextForCausalLM, Qwen3NextConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, moe_intermediate_size=10, num_hidden_layers=4,
    num_attention_heads=4, num_key_value_heads=2, head_dim=8, linear_num_value_heads=6, linear_num_key_heads=2,
    linear_key_head_dim=6, linear_value_head_dim=7, num_experts=7, num_experts_per_tok=3,
    shared_expert_intermediate_size=14,
    rope_parameters={"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25}))
common.decoder("qwen3_next", model, layers=model.model.layers, parts={"ln1": "input_layernorm", "x": ""},
               more={f"layer[{i}].attn": layer.linear_attn if i % 4 < 3 else layer.self_attn
                     for i, layer in enumerate(model.model.layers)})
