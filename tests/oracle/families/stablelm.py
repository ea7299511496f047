"""StableLM 2 (transformers) in its two forms: sequential with biases of q, k and v; parallel with a norm for each head."""

import common
from transformers import StableLmConfig, StableLmForCausalLM

BOTH = dict(vocab_size=37, hidden_size=48, intermediate_size=40, num_hidden_layers=2, attn_implementation="eager")
FORMS = {
    "stablelm": dict(num_attention_heads=3, num_key_value_heads=3, use_qkv_bias=True),
    "stablelm_parallel": dict(num_attention_heads=6, num_key_value_heads=2, use_parallel_residual=True, qk_layernorm=True),
}
for name, sizes in FORMS.items():
    model = StableLmForCausalLM(StableLmConfig(**BOTH, **sizes))
    common.decoder(name, model, layers=model.model.layers, parts={"x": "", "attn": "self_attn", "ffn": "mlp"})
