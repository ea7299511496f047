"""Decoders of recurrences and attention in the forms that llama.cpp's converter takes: it has no GGUF for the mixtures of kinds of layers, and of
numbers of heads, in tests/oracle/families."""

import common
import transformers as t

SIZES = dict(vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=20, num_attention_heads=4, num_key_value_heads=2,
             pad_token_id=None)


def decoder(name, kind, config):
    common.decoder(name, common.published(name, kind, config))


decoder("jamba_dense", t.JambaForCausalLM, t.JambaConfig(
    **SIZES, num_hidden_layers=3, num_experts=1, num_experts_per_tok=1, attn_layer_period=2, attn_layer_offset=0, mamba_d_state=5,
    mamba_dt_rank=3, tie_word_embeddings=True))
