"""Gemma 3n's decoder of text (transformers): several streams of which one is computed with, maps of low rank, embeddings for
each layer, keys and values of earlier layers, sparse gates."""

import common
from transformers import Gemma3nForCausalLM, Gemma3nTextConfig

KINDS = ["sliding_attention", "sliding_attention", "full_attention"]
model = Gemma3nForCausalLM(Gemma3nTextConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=20, intermediate_size=28, num_hidden_layers=6, layer_types=2 * KINDS,
    num_attention_heads=4, num_key_value_heads=2, head_dim=6, sliding_window=7, vocab_size_per_layer_input=33,
    hidden_size_per_layer_input=5, altup_num_inputs=3, laurel_rank=4, num_kv_shared_layers=3,
    activation_sparsity_pattern=[0.0, 0.9, 0.0, 0.0, 0.0, 0.6], attn_implementation="eager"))
common.decoder("gemma3n", model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp"})
