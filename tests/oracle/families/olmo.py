"""OLMo (transformers): layer norms without gains; clipped queries, keys and values. OLMo 2: norms after attention and
feed-forward, and of queries and keys over all heads together."""

import common
from transformers import Olmo2Config, Olmo2ForCausalLM, OlmoConfig, OlmoForCausalLM

model = OlmoForCausalLM(OlmoConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
    num_attention_heads=3, clip_qkv=0.75, tie_word_embeddings=True, eos_token_id=2, attn_implementation="eager"))
common.decoder("olmo", model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp"})

model = Olmo2ForCausalLM(Olmo2Config(
    vocab_size=37, max_position_embeddings=32, hidden_size=36, intermediate_size=28, num_hidden_layers=2,
    num_attention_heads=6, num_key_value_heads=2, rms_norm_eps=1e-6, eos_token_id=2, attn_implementation="eager",
    rope_parameters={"rope_type": "default", "rope_theta": 5e5}))
common.decoder("olmo2", model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp"})
