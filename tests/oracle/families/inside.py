"""Decoders whose files hold more than them (transformers): Llama in LLaVA, Gemma 3 in Gemma 3 for pictures and words. The
names of the decoder are the published ones; the parts that see stay as the class makes them, and no answer to text depends
on them."""

import common
from transformers import (CLIPVisionConfig, Gemma3Config, Gemma3ForConditionalGeneration, Gemma3TextConfig, LlamaConfig,
                          LlavaConfig, LlavaForConditionalGeneration, SiglipVisionConfig)

SIZES = dict(vocab_size=37, max_position_embeddings=32, num_attention_heads=4, num_key_value_heads=2)
EYE = dict(hidden_size=12, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4)
MODELS = {
    "llama_inside": (LlavaForConditionalGeneration, LlavaConfig(
        text_config=LlamaConfig(**SIZES, hidden_size=24, intermediate_size=36, num_hidden_layers=2, attention_bias=True,
                                rms_norm_eps=1e-5),
        vision_config=CLIPVisionConfig(**EYE), image_token_index=5)),
    "gemma3_inside": (Gemma3ForConditionalGeneration, Gemma3Config(
        text_config=Gemma3TextConfig(**SIZES, hidden_size=20, intermediate_size=28, num_hidden_layers=3, head_dim=6,
                                     sliding_window=7, query_pre_attn_scalar=6, rope_parameters={
                                         "full_attention": {"rope_type": "default", "rope_theta": 1e6},
                                         "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}),
        vision_config=SiglipVisionConfig(**EYE), mm_tokens_per_image=4, image_token_index=5)),
}
for name, (kind, config) in MODELS.items():
    sees = [key for key in kind(config).state_dict() if "vision" in key or "multi_modal" in key]
    model = common.published(name, kind, config, unread=sees)
    layers = model.model.language_model.layers
    common.decoder(name, model, layers=layers, parts={"attn": "self_attn", "ffn": "mlp"})
