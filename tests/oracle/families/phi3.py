"""Phi-3 (transformers): fused queries, keys and values, fused gate and up; factors of frequencies for a long context
and a short one; a window."""

import common
from transformers import Phi3Config, Phi3ForCausalLM


def tiny(name, longrope, **sizes):
    model = Phi3ForCausalLM(Phi3Config(
        vocab_size=37, max_position_embeddings=64, intermediate_size=28, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, attn_implementation="eager", rope_parameters={
            "rope_type": "longrope", "rope_theta": 10000.0, **longrope}, **sizes))
    common.decoder(name, model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp"})


tiny("phi3", {"partial_rotary_factor": 0.75, "original_max_position_embeddings": 16,
              "short_factor": [1.0, 1.1, 1.2], "long_factor": [1.5, 3.0, 9.0]},
     hidden_size=48, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2, sliding_window=9,
     original_max_position_embeddings=16)
tiny("phi3_short", {"original_max_position_embeddings": 32,
                    "short_factor": [1.0, 1.1, 1.2, 1.4], "long_factor": [1.5, 3.0, 9.0, 20.0]},
     hidden_size=24, num_hidden_layers=1, num_attention_heads=3, num_key_value_heads=3,
     original_max_position_embeddings=32)
