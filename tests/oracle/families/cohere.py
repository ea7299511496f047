"""Command R (transformers) in its three forms: plain, with norms of queries and keys by head, and with windows and layers
without positions."""

import common
from transformers import Cohere2Config, Cohere2ForCausalLM, CohereConfig, CohereForCausalLM

SIZES = dict(vocab_size=37, max_position_embeddings=32, hidden_size=36, intermediate_size=50, num_attention_heads=6,
             num_key_value_heads=2, attn_implementation="eager")
MODELS = {
    "cohere": CohereForCausalLM(CohereConfig(
        **SIZES, num_hidden_layers=2, rope_theta=1e3, layer_norm_eps=1e-4)),
    "cohere_normed": CohereForCausalLM(CohereConfig(
        **SIZES, num_hidden_layers=2, rope_theta=8e6, use_qk_norm=True, logit_scale=0.8)),
    "cohere2": Cohere2ForCausalLM(Cohere2Config(
        **SIZES, num_hidden_layers=5, rope_theta=5e4, sliding_window=6, logit_scale=0.25)),
}
for name, model in MODELS.items():
    common.decoder(name, model, layers=model.model.layers, parts={"x": "", "attn": "self_attn", "ffn": "mlp"})
