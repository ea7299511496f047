"""GLM 4 (transformers) in its two forms: half of each head rotated in neighbouring pairs, gate and up packed; norms after both
branches."""

import common
from transformers import Glm4Config, Glm4ForCausalLM, GlmConfig, GlmForCausalLM

SIZES = dict(vocab_size=37, max_position_embeddings=32, hidden_size=36, intermediate_size=50, num_hidden_layers=2, head_dim=8,
             num_attention_heads=6, num_key_value_heads=2, pad_token_id=0, attn_implementation="eager")
MODELS = {
    "glm": GlmForCausalLM(GlmConfig(**SIZES)),
    "glm_sandwich": Glm4ForCausalLM(Glm4Config(**SIZES, rms_norm_eps=1e-5, attention_bias=False)),
}
for name, model in MODELS.items():
    common.decoder(name, model, layers=model.model.layers, parts={"x": "", "attn": "self_attn", "ffn": "mlp"})
