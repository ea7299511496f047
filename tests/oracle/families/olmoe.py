"""OLMoE (transformers): the best of the softmax as they are; norms of queries and keys over all heads together."""

import common
from transformers import OlmoeConfig, OlmoeForCausalLM

config = OlmoeConfig(
    vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=18, num_hidden_layers=2,
    num_attention_heads=3, num_key_value_heads=3, num_experts=6, num_experts_per_tok=4, norm_topk_prob=False,
    rms_norm_eps=1e-5, rope_parameters={"rope_type": "default", "rope_theta": 10000.0})
model = common.published("olmoe", OlmoeForCausalLM, config)
common.decoder("olmoe", model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp"})
