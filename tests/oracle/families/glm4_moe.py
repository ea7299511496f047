"""GLM 4.5 (transformers) in its two forms: with norms of queries and keys, biases, groups of experts; and without these."""

import common
from transformers import Glm4MoeConfig, Glm4MoeForCausalLM

SIZES = dict(vocab_size=37, max_position_embeddings=40, hidden_size=24, intermediate_size=20, num_hidden_layers=3, head_dim=8,
             num_mtp_layers=0, tie_word_embeddings=False)
FORMS = {
    "glm4_moe": dict(
        num_attention_heads=6, num_key_value_heads=2, n_routed_experts=8, num_experts_per_tok=3, n_shared_experts=2,
        moe_intermediate_size=7, n_group=2, topk_group=1, routed_scaling_factor=2.5, first_k_dense_replace=1,
        attention_bias=True, use_qk_norm=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6, "partial_rotary_factor": 0.5}),
    "glm4_moe_plain": dict(
        num_attention_heads=4, num_key_value_heads=1, n_routed_experts=5, num_experts_per_tok=2, n_shared_experts=1,
        moe_intermediate_size=9, first_k_dense_replace=2,
        rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}),
}
for name, sizes in FORMS.items():
    model = common.published(name, Glm4MoeForCausalLM, Glm4MoeConfig(**SIZES, **sizes))
    common.decoder(name, model, layers=model.model.layers, parts={"x": "", "attn": "self_attn"})
