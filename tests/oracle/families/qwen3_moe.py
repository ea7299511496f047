"""Qwen 3 with experts (transformers): the best of the softmax, in sum 1; norms of each head's queries and keys."""

import common
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

config = Qwen3MoeConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, moe_intermediate_size=18, num_hidden_layers=2,
    num_attention_heads=3, num_key_value_heads=1, head_dim=10, num_experts=7, num_experts_per_tok=3,
    norm_topk_prob=True, rms_norm_eps=1e-6, rope_parameters={"rope_type": "default", "rope_theta": 1e6})
model = common.published("qwen3_moe", Qwen3MoeForCausalLM, config)
common.decoder("qwen3_moe", model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp"})
