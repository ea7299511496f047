"""Llama 4's decoder of text (transformers): chunks of positions, layers without positions whose scores grow, experts whose gate scales
what they take, in every other layer."""

import common
import torch
from transformers import Llama4ForCausalLM, Llama4TextConfig

model = common.published("llama4", Llama4ForCausalLM, Llama4TextConfig(
    vocab_size=37, max_position_embeddings=40, hidden_size=24, intermediate_size=10, intermediate_size_mlp=20, num_hidden_layers=8,
    num_attention_heads=6, num_key_value_heads=2, head_dim=8, num_local_experts=5, num_experts_per_tok=2, interleave_moe_layer_step=2,
    attention_chunk_size=7, floor_scale=5, attn_scale=0.3, rope_parameters={
        "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "original_max_position_embeddings": 16, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0}))


def in_float64(self, x, position_ids):
    """The class asks for float32 of torch.polar by a device context that the oracle's mode does not see."""
    angle = position_ids[..., None].double() * self.inv_freq.double()
    return torch.polar(torch.ones_like(angle), angle) * self.attention_scaling


type(model.model.rotary_emb).forward = in_float64
common.decoder("llama4", model, layers=model.model.layers, parts={"x": "", "attn": "self_attn"})
