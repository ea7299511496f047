"""Qwen 3.5's decoder of text (transformers): three gated delta nets, then attention with a gate."""

import common
from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

model = common.published("qwen3_5", Qwen3_5ForCausalLM, Qwen3_5TextConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=36, num_hidden_layers=4,
    num_attention_heads=3, num_key_value_heads=1, head_dim=8, linear_num_value_heads=4, linear_num_key_heads=2,
    linear_key_head_dim=6, linear_value_head_dim=7,
    rope_parameters={"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.5, "mrope_section": [2, 0, 0]}))
common.decoder("qwen3_5", model, layers=model.model.layers, parts={"ln1": "input_layernorm", "ffn": "mlp", "x": ""},
               more={f"layer[{i}].attn": layer.linear_attn if i % 4 < 3 else layer.self_attn
                     for i, layer in enumerate(model.model.layers)})
