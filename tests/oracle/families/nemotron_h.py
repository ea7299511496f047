"""Nemotron-H (transformers): layers that are one mixer each: Mamba 2, attention, a feed-forward block, experts."""

import common
from transformers import NemotronHConfig, NemotronHForCausalLM

model = common.published("nemotron_h", NemotronHForCausalLM, NemotronHConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=20, num_attention_heads=4, num_key_value_heads=2,
    head_dim=8, ssm_state_size=5, mamba_num_heads=6, mamba_head_dim=8, n_groups=2, chunk_size=7, n_routed_experts=6,
    moe_intermediate_size=10, moe_shared_expert_intermediate_size=14, num_experts_per_tok=2, n_group=3, topk_group=2,
    routed_scaling_factor=1.5, layers_block_type=["linear_attention", "moe", "full_attention", "mlp", "linear_attention"],
    pad_token_id=None))
common.decoder("nemotron_h", model, layers=model.model.layers, parts={"norm": "norm", "x": ""})
