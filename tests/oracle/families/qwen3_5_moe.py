"""Qwen 3.5's decoder of text with experts (transformers)."""

import common
from transformers import Qwen3_5MoeForCausalLM, Qwen3_5MoeTextConfig

model = common.published("qwen3_5_moe", Qwen3_5MoeForCausalLM, Qwen3_5MoeTextConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, num_hidden_layers=4, num_attention_heads=3, num_key_value_heads=1,
    head_dim=8, linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=8, linear_value_head_dim=7,
    moe_intermediate_size=10, shared_expert_intermediate_size=14, num_experts_per_tok=2, num_experts=5,
    rope_parameters={"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.5, "mrope_section": [2, 0, 0]}))
common.decoder("qwen3_5_moe", model, layers=model.model.layers, parts={"ln1": "input_layernorm", "ffn": "mlp", "x": ""})
