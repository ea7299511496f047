"""DeepSeek-V2 (transformers): latent attention with latent queries, YaRN, experts in groups, shared experts."""

import common
from transformers import DeepseekV2Config, DeepseekV2ForCausalLM

config = DeepseekV2Config(
    vocab_size=37, max_position_embeddings=40, hidden_size=24, intermediate_size=20, num_hidden_layers=3,
    num_attention_heads=3, num_key_value_heads=3, q_lora_rank=14, kv_lora_rank=10, qk_nope_head_dim=6,
    qk_rope_head_dim=8, v_head_dim=5, n_routed_experts=8, num_experts_per_tok=3, n_shared_experts=2,
    moe_intermediate_size=7, n_group=4, topk_group=2, topk_method="group_limited_greedy", routed_scaling_factor=1.7,
    first_k_dense_replace=1,
    rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 5.0, "beta_fast": 32, "beta_slow": 1,
                     "mscale": 0.707, "mscale_all_dim": 0.707, "original_max_position_embeddings": 8})
model = common.published("deepseek_v2", DeepseekV2ForCausalLM, config)
layers = model.model.layers
more = {"embedded": common.entry(layers[0]), "layer[0].ffn": layers[0].mlp, "final": model.model.norm}
for i in 1, 2:
    more[f"layer[{i}].ffn"] = common.shaped(layers[i].mlp.experts, 24, 24)
    more[f"layer[{i}].shared_ffn"] = common.shaped(layers[i].mlp.shared_experts, 24, 24)
common.decoder("deepseek_v2", model, layers=layers, parts={
    "ln1": "input_layernorm", "attn.q_norm": "self_attn.q_a_layernorm", "attn.kv_norm": "self_attn.kv_a_layernorm",
    "attn": "self_attn", "ln2": "post_attention_layernorm", "x": ""}, more=more)
