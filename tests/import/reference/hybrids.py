"""Decoders of recurrences and attention in the forms that llama.cpp's converter takes: it has no GGUF for the mixtures of kinds of layers, and of
numbers of heads, in tests/oracle/families."""

import common
import transformers as t

SIZES = dict(vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=20, num_attention_heads=4, num_key_value_heads=2,
             pad_token_id=None)


def decoder(name, kind, config):
    common.decoder(name, common.published(name, kind, config))


decoder("jamba_dense", t.JambaForCausalLM, t.JambaConfig(
    **SIZES, num_hidden_layers=3, num_experts=1, num_experts_per_tok=1, attn_layer_period=2, attn_layer_offset=0, mamba_d_state=5,
    mamba_dt_rank=3, tie_word_embeddings=True))

MIXERS = SIZES | dict(head_dim=8, ssm_state_size=5, mamba_num_heads=6, mamba_head_dim=8, n_groups=2, chunk_size=7)
M, A, E = "linear_attention", "full_attention", "moe"
decoder("nemotron_h_dense", t.NemotronHForCausalLM, t.NemotronHConfig(**MIXERS, layers_block_type=[M, "mlp", A, "mlp", M]))
decoder("nemotron_h_moe", t.NemotronHForCausalLM, t.NemotronHConfig(
    **MIXERS, n_routed_experts=6, moe_intermediate_size=10, moe_shared_expert_intermediate_size=14, num_experts_per_tok=2, n_group=3, topk_group=2,
    routed_scaling_factor=1.5, layers_block_type=[M, E, A, E, M]))
decoder("nemotron_h_latent", t.NemotronHForCausalLM, t.NemotronHConfig(
    **MIXERS, n_routed_experts=4, moe_intermediate_size=10, moe_shared_expert_intermediate_size=14, moe_latent_size=7, num_experts_per_tok=2,
    layers_block_type=[M, E, A]))

decoder("kimi_linear_one_group", t.KimiLinearForCausalLM, t.KimiLinearConfig(
    **SIZES | dict(num_key_value_heads=4), moe_intermediate_size=10, num_hidden_layers=4, linear_num_heads=4, linear_head_dim=7, kv_lora_rank=9,
    qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=5, num_local_experts=8, num_experts_per_tok=3, n_group=1, topk_group=1, n_shared_experts=2,
    layer_types=[M, M, M, A]))

decoder("bamba_rotated", t.BambaForCausalLM, t.BambaConfig(
    **SIZES, num_hidden_layers=3, attn_layer_indices=[1], attention_bias=True, mlp_bias=True, mamba_n_heads=6, mamba_d_head=8, mamba_d_state=5,
    mamba_n_groups=2, mamba_chunk_size=7, attn_rotary_emb=4, rope_parameters={"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 2 / 3}))

FALCON = SIZES | dict(head_dim=8, num_hidden_layers=2, mamba_d_head=8, mamba_d_state=6, mamba_chunk_size=7)
decoder("falcon_h1_multiplied", t.FalconH1ForCausalLM, t.FalconH1Config(
    **FALCON, mamba_n_heads=6, mamba_d_ssm=48, mamba_n_groups=2, mamba_rms_norm=True, mamba_norm_before_gate=False, embedding_multiplier=3.0,
    lm_head_multiplier=0.6, key_multiplier=1.9, attention_in_multiplier=0.7, attention_out_multiplier=1.3, ssm_in_multiplier=1.2,
    ssm_out_multiplier=0.8, ssm_multipliers=[0.5, 1.4, 0.9, 1.7, 1.5], mlp_multipliers=[0.85, 1.15],
    rope_parameters={"rope_type": "default", "rope_theta": 500.0}))
decoder("falcon_h1_unnormed", t.FalconH1ForCausalLM, t.FalconH1Config(
    **FALCON, mamba_n_heads=5, mamba_d_ssm=40, mamba_conv_bias=False, mlp_bias=True, ssm_out_multiplier=0.5))
