"""OPT (transformers): relu, learned positions that begin in the third row."""

import common
from transformers import OPTConfig, OPTForCausalLM

model = OPTForCausalLM(OPTConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=30, word_embed_proj_dim=30, ffn_dim=44, num_hidden_layers=2,
    num_attention_heads=3, attn_implementation="eager"))
common.decoder("opt", model, layers=model.model.decoder.layers, parts={"x": "", "attn": "self_attn"})
