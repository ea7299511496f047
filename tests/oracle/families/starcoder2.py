"""StarCoder 2 (transformers): biases everywhere, groups of heads, a window shorter than the input."""

import common
from transformers import Starcoder2Config, Starcoder2ForCausalLM

model = Starcoder2ForCausalLM(Starcoder2Config(
    vocab_size=37, max_position_embeddings=32, hidden_size=36, intermediate_size=50, num_hidden_layers=2,
    num_attention_heads=6, num_key_value_heads=2, sliding_window=7, rope_theta=1e5, attn_implementation="eager"))
common.decoder("starcoder2", model, layers=model.model.layers, parts={"x": "", "attn": "self_attn", "ffn": "mlp"})
