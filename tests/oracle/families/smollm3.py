"""SmolLM 3 (transformers): the fourth of five layers without positions."""

import common
from transformers import SmolLM3Config, SmolLM3ForCausalLM

model = SmolLM3ForCausalLM(SmolLM3Config(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=28, num_hidden_layers=5,
    num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=1e-5, pad_token_id=0, attn_implementation="eager",
    rope_parameters={"rope_type": "default", "rope_theta": 5e6}))
common.decoder("smollm3", model, layers=model.model.layers, parts={"attn": "self_attn"})
