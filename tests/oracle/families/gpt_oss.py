"""gpt-oss (transformers): a sink in each head, windows in turn, clipped gates of experts in one tensor, YaRN whose limits are
not rounded."""

import common
from transformers import GptOssConfig, GptOssForCausalLM

config = GptOssConfig(
    vocab_size=37, max_position_embeddings=64, hidden_size=18, intermediate_size=14, num_hidden_layers=3, head_dim=8,
    num_attention_heads=6, num_key_value_heads=2, num_local_experts=5, num_experts_per_tok=2, sliding_window=5,
    swiglu_limit=0.5, rope_parameters={
        "rope_type": "yarn", "rope_theta": 150000.0, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0,
        "truncate": False, "original_max_position_embeddings": 16})
model = common.published("gpt_oss", GptOssForCausalLM, config)
common.decoder("gpt_oss", model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp", "x": ""})
