"""DeepSeek-V3 (transformers): experts by sigmoid with a correction of the choice, groups worth their best two."""

import common
from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

config = DeepseekV3Config(
    vocab_size=37, max_position_embeddings=40, hidden_size=24, intermediate_size=20, num_hidden_layers=2,
    num_attention_heads=2, num_key_value_heads=2, q_lora_rank=None, kv_lora_rank=10, qk_nope_head_dim=6,
    qk_rope_head_dim=8, v_head_dim=5, n_routed_experts=9, num_experts_per_tok=4, n_shared_experts=1,
    moe_intermediate_size=7, n_group=3, topk_group=2, routed_scaling_factor=2.5, norm_topk_prob=True,
    first_k_dense_replace=1, num_mtp_layers=0, rope_parameters={"rope_type": "default", "rope_theta": 10000.0})
model = common.published("deepseek_v3", DeepseekV3ForCausalLM, config)
common.decoder("deepseek_v3", model, layers=model.model.layers, parts={"attn": "self_attn"})
