"""Zamba 2 (transformers): Mamba 2, and blocks of attention and feed-forward whose weights several layers share; with and without adapters of
queries, keys and values, and rotary positions."""

import common
from transformers import Zamba2Config, Zamba2ForCausalLM


def record(name, hybrids, layers, **other):
    kinds = ["hybrid" if i in hybrids else "linear_attention" for i in range(layers)]
    model = common.published(name, Zamba2ForCausalLM, Zamba2Config(
        vocab_size=37, max_position_embeddings=32, num_hidden_layers=layers, layers_block_type=kinds, chunk_size=7,
        pad_token_id=None, **other))
    decoders = [getattr(layer, "mamba_decoder", layer) for layer in model.model.layers]
    common.decoder(name, model, layers=decoders, parts={"norm": "input_layernorm", "mamba": "mamba", "x": ""},
                   more={f"layer[{i}].back": model.model.layers[i].linear for i in hybrids})


record("zamba2", [1, 2, 3], 4, num_attention_heads=8, hidden_size=24, intermediate_size=40, num_mem_blocks=2, adapter_rank=3, add_bias_linear=True,
       use_shared_attention_adapter=True, n_mamba_heads=6, mamba_d_state=5, mamba_ngroups=2, mamba_d_conv=4, time_step_min=0.3,
       use_mem_rope=True, rope_parameters={"rope_type": "default", "rope_theta": 500.0})
record("zamba2_plain", [0, 2], 3, num_attention_heads=6, num_key_value_heads=2, intermediate_size=22, hidden_size=18, adapter_rank=4,
       n_mamba_heads=9, mamba_d_state=6, mamba_ngroups=3, rms_norm_eps=1e-3)
