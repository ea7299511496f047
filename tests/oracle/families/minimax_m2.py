"""MiniMax M2 (transformers): experts by sigmoid with a correction of the choice, norms of all heads' queries and keys."""

import common
from transformers import MiniMaxM2Config, MiniMaxM2ForCausalLM

model = common.published("minimax_m2", MiniMaxM2ForCausalLM, MiniMaxM2Config(
    vocab_size=37, max_position_embeddings=40, hidden_size=24, intermediate_size=10, num_hidden_layers=2, head_dim=8,
    num_attention_heads=6, num_key_value_heads=2, num_local_experts=7, num_experts_per_tok=3, rotary_dim=4))
common.decoder("minimax_m2", model, layers=model.model.layers, parts={"x": "", "attn": "self_attn"})
