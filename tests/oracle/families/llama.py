"""Llama (transformers) with the frequencies for longer contexts: pressed together fourfold; YaRN as Qwen 2.5 has it; "dynamic",
for a sequence as long as the context that the model is built for; with biases in attention and feed-forward."""

import common
from transformers import LlamaConfig, LlamaForCausalLM

FORMS = {
    "llama": dict(max_position_embeddings=32, rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}),
    "llama_yarn": dict(max_position_embeddings=64, num_key_value_heads=1, head_dim=16, rope_parameters={
        "rope_type": "yarn", "rope_theta": 1000.0, "factor": 4.0, "original_max_position_embeddings": 16}),
    "llama_biased": dict(max_position_embeddings=32, num_attention_heads=4, num_key_value_heads=2, intermediate_size=36,
                         attention_bias=True, mlp_bias=True),
    "llama_dynamic": dict(max_position_embeddings=16, rope_parameters={
        "rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}),
}
for name, sizes in FORMS.items():
    sizes = dict(intermediate_size=40, num_attention_heads=3) | sizes
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=37, hidden_size=24, num_hidden_layers=2, rms_norm_eps=1e-5, tie_word_embeddings=False,
        attn_implementation="eager", **sizes))
    common.decoder(name, model, layers=model.model.layers, parts={"attn": "self_attn", "ffn": "mlp"})
