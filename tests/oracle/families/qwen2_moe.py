"""Qwen 2 with experts (transformers): biases of queries, keys and values, a shared expert with a gate."""

import common
from transformers import Qwen2MoeConfig, Qwen2MoeForCausalLM

config = Qwen2MoeConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, moe_intermediate_size=18,
    shared_expert_intermediate_size=26, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    num_experts=6, num_experts_per_tok=3, norm_topk_prob=False, rms_norm_eps=1e-6, use_sliding_window=False,
    rope_parameters={"rope_type": "default", "rope_theta": 1e6})
model = common.published("qwen2_moe", Qwen2MoeForCausalLM, config)
common.decoder("qwen2_moe", model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp"})
