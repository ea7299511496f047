"""Granite 4 (transformers): Mamba 2 and attention without positions, with experts and without."""

import common
from transformers import GraniteMoeHybridConfig, GraniteMoeHybridForCausalLM

SIZES = dict(vocab_size=37, max_position_embeddings=32, hidden_size=24, num_hidden_layers=3, num_attention_heads=4,
             num_key_value_heads=2, shared_intermediate_size=14, mamba_d_state=5, mamba_expand=2, mamba_chunk_size=7,
             attention_multiplier=0.3, embedding_multiplier=3, residual_multiplier=0.4, logits_scaling=2)


def record(name, kinds, **other):
    model = common.published(name, GraniteMoeHybridForCausalLM, GraniteMoeHybridConfig(layer_types=kinds, **SIZES, **other))
    common.decoder(name, model, layers=model.model.layers, parts={"ln1": "input_layernorm", "x": ""},
                   more={f"layer[{i}].attn": layer.self_attn if layer.mamba is None else layer.mamba
                         for i, layer in enumerate(model.model.layers)})


ATTENTION, MAMBA = "full_attention", "linear_attention"
record("granite_hybrid", [MAMBA, ATTENTION, MAMBA], intermediate_size=10, num_local_experts=5, num_experts_per_tok=2,
       mamba_n_heads=6, mamba_d_head=8, mamba_n_groups=2, rms_norm_eps=1e-5, tie_word_embeddings=True)
record("granite_hybrid_dense", [MAMBA, MAMBA, ATTENTION], num_local_experts=0, mamba_n_heads=12, mamba_d_head=4,
       mamba_conv_bias=False, rms_norm_eps=1e-5, tie_word_embeddings=False)
