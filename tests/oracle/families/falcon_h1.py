"""Falcon-H1 (transformers): Mamba 2 and attention side by side, with multipliers; the norm after the gate, before it, and none."""

import common
from transformers import FalconH1Config, FalconH1ForCausalLM
from transformers.models.falcon_h1.modeling_falcon_h1 import compute_mup_vector

SIZES = dict(vocab_size=37, max_position_embeddings=32, intermediate_size=22, mamba_d_state=5, mamba_chunk_size=7, pad_token_id=None)


def record(name, **other):
    model = common.published(name, FalconH1ForCausalLM, FalconH1Config(**SIZES, **other))
    for layer in model.model.layers:  # a buffer that the loader leaves as it came from memory
        layer.mamba.mup_vector.copy_(compute_mup_vector(model.config))
    common.decoder(name, model, layers=model.model.layers,
                   parts={"ln1": "input_layernorm", "attn.mamba": "mamba", "ffn": "feed_forward", "x": ""})


record("falcon_h1", num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=3, hidden_size=30, head_dim=6, attention_bias=True,
       mlp_bias=True, mamba_proj_bias=True, projectors_bias=True, mamba_n_heads=4, mamba_d_head=7, mamba_d_ssm=28, mamba_n_groups=2,
       mamba_d_conv=3, time_step_limit=(0.2, 1.1), rms_norm_eps=1e-3, mamba_rms_norm=True, mamba_norm_before_gate=False,
       embedding_multiplier=3.0, lm_head_multiplier=0.6, key_multiplier=1.9, attention_in_multiplier=0.7, attention_out_multiplier=1.3,
       ssm_in_multiplier=1.2, ssm_out_multiplier=0.8, ssm_multipliers=[0.5, 1.4, 0.9, 1.7, 1.5], mlp_multipliers=[0.85, 1.15],
       rope_parameters={"rope_type": "default", "rope_theta": 500.0})
record("falcon_h1_gated", num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, hidden_size=24, mamba_n_heads=6,
       mamba_d_ssm=None, mamba_n_groups=3, mamba_conv_bias=False, mamba_rms_norm=True, ssm_out_multiplier=0.8, tie_word_embeddings=True)
record("falcon_h1_plain", num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, hidden_size=24, mamba_n_heads=6,
       mamba_d_ssm=36, projectors_bias=True, key_multiplier=0.6, ssm_in_multiplier=1.25)
