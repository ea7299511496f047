"""Nemotron-H (transformers): layers that are one mixer each: Mamba 2, attention, a feed-forward block, experts, also with a latent."""

import common
from transformers import NemotronHConfig, NemotronHForCausalLM


def record(name, kinds, **other):
    model = common.published(name, NemotronHForCausalLM, NemotronHConfig(
        vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=20, num_attention_heads=4, num_key_value_heads=2,
        head_dim=8, ssm_state_size=5, mamba_num_heads=6, mamba_head_dim=8, n_groups=2, chunk_size=7, n_routed_experts=6,
        moe_intermediate_size=10, moe_shared_expert_intermediate_size=14, num_experts_per_tok=2, layers_block_type=kinds, pad_token_id=None, **other))
    common.decoder(name, model, layers=model.model.layers, parts={"norm": "norm", "x": ""})


M, A = "linear_attention", "full_attention"
record("nemotron_h", [M, "moe", A, "mlp", M], n_group=3, topk_group=2, routed_scaling_factor=1.5)
record("nemotron_h_latent", ["moe", A, "moe"], moe_latent_size=9)
