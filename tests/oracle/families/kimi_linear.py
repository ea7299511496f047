"""Kimi Linear (transformers): delta rules with decays of rows, and latent attention without positions."""

import common
from transformers import KimiLinearConfig, KimiLinearForCausalLM

model = common.published("kimi_linear", KimiLinearForCausalLM, KimiLinearConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=20, moe_intermediate_size=10,
    num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=4, linear_num_heads=3, linear_head_dim=7, kv_lora_rank=9,
    qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=5, num_local_experts=8, num_experts_per_tok=3, n_group=4,
    topk_group=2, n_shared_experts=1, pad_token_id=None,
    layer_types=["linear_attention", "linear_attention", "linear_attention", "full_attention"]))
common.decoder("kimi_linear", model, layers=model.model.layers, parts={"ln1": "input_layernorm", "attn": "self_attn", "x": ""})
