"""RecurrentGemma (transformers): two real-gated linear recurrences, then attention in a window."""

import common
from transformers import RecurrentGemmaConfig, RecurrentGemmaForCausalLM

model = common.published("recurrent_gemma", RecurrentGemmaForCausalLM, RecurrentGemmaConfig(
    vocab_size=37, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=3, num_key_value_heads=1,
    lru_width=30, attention_window_size=5))
model.model.normalizer.fill_(24 ** 0.5)  # a buffer that the loader leaves as it came from memory
common.decoder("recurrent_gemma", model, layers=model.model.layers,
               parts={"ln1": "temporal_pre_norm", "attn": "temporal_block", "ffn": "mlp_block", "x": ""})
