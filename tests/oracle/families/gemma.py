"""Gemma 1 to 3 (transformers): gains stored less one, embeddings times the root of their width; norms after attention
and feed-forward, caps on scores and logits, windows in turn; two bases of rotary angles, one of them pressed together."""

import common
from transformers import (Gemma2Config, Gemma2ForCausalLM, Gemma3ForCausalLM, Gemma3TextConfig, GemmaConfig,
                          GemmaForCausalLM)

common_sizes = {"vocab_size": 37, "max_position_embeddings": 32, "attn_implementation": "eager"}

model = GemmaForCausalLM(GemmaConfig(
    hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1,
    head_dim=10, **common_sizes))
common.decoder("gemma", model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp"})

model = Gemma2ForCausalLM(Gemma2Config(
    hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
    head_dim=10, sliding_window=7, query_pre_attn_scalar=12, attn_logit_softcapping=50.0,
    final_logit_softcapping=30.0, **common_sizes))
common.decoder("gemma2", model, layers=model.model.layers, parts={
    "attn": "self_attn", "post1": "post_attention_layernorm", "ffn": "mlp"})

model = Gemma3ForCausalLM(Gemma3TextConfig(
    hidden_size=20, intermediate_size=28, num_hidden_layers=7, num_attention_heads=4, num_key_value_heads=2,
    head_dim=6, sliding_window=7, query_pre_attn_scalar=9, rope_parameters={
        "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}, **common_sizes))
common.decoder("gemma3", model, layers=model.model.layers, parts={
    "ln1": "input_layernorm", "attn": "self_attn", "post1": "post_attention_layernorm", "ln2": "pre_feedforward_layernorm",
    "ffn": "mlp", "post2": "post_feedforward_layernorm", "x": ""}, more={
        "embed_norm": common.entry(model.model.layers[0]), "final": model.model.norm})
