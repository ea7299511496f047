"""Architectures that have an item and no oracle in tests/oracle/families, as their decoder or encoder has one: decoders of text within
models that see (their parts that see are in the files, and are left out), and names of older relatives."""

import common
import torch
import transformers as t

SIZES = dict(vocab_size=37, hidden_size=24, intermediate_size=36, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=32)
EYE = dict(hidden_size=12, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4)
QWEN_EYE = dict(depth=1, embed_dim=12, hidden_size=24, num_heads=2, patch_size=4)
MROPE = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [1, 1, 1]}


def decoder(name, kind, config):
    common.decoder(name, common.published(name, kind, config))


decoder("qwen2_vl", t.Qwen2VLForConditionalGeneration, t.Qwen2VLConfig(
    text_config=dict(**SIZES, rope_parameters=MROPE), vision_config=QWEN_EYE, tie_word_embeddings=False))
decoder("qwen2_5_vl", t.Qwen2_5_VLForConditionalGeneration, t.Qwen2_5_VLConfig(
    text_config=dict(**SIZES, rope_parameters=MROPE),
    vision_config=dict(depth=1, hidden_size=12, out_hidden_size=24, num_heads=2, intermediate_size=16, patch_size=4), tie_word_embeddings=False))
decoder("qwen3_vl", t.Qwen3VLForConditionalGeneration, t.Qwen3VLConfig(
    text_config=dict(**SIZES, head_dim=8, rope_parameters=MROPE | {"mrope_section": [2, 1, 1], "mrope_interleaved": True}),
    vision_config=dict(depth=1, hidden_size=12, out_hidden_size=24, num_heads=2, intermediate_size=16, patch_size=4, deepstack_visual_indexes=[0],
                       num_position_embeddings=16)))
decoder("mistral3", t.Mistral3ForConditionalGeneration, t.Mistral3Config(
    text_config=t.MistralConfig(**SIZES, head_dim=6, sliding_window=None), vision_config=dict(model_type="pixtral", **EYE)))
decoder("mistral3_growing", t.Mistral3ForConditionalGeneration, t.Mistral3Config(
    text_config=t.Ministral3Config(**SIZES, head_dim=6, rope_parameters={
        "rope_type": "yarn", "rope_theta": 50.0, "factor": 8.0, "original_max_position_embeddings": 8, "beta_fast": 0.5, "beta_slow": 0.1, "mscale": 1.0,
        "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.2}), vision_config=dict(model_type="pixtral", **EYE)))
S, F = "sliding_attention", "full_attention"
GEMMA = dict(**SIZES | dict(num_hidden_layers=3), head_dim=6, global_head_dim=8, layer_types=[S, F, F], sliding_window=5,
             rope_parameters={S: {"rope_type": "default", "rope_theta": 50.0}, F: {"rope_type": "proportional", "rope_theta": 50.0, "partial_rotary_factor": 0.5}})
decoder("gemma4", t.Gemma4ForConditionalGeneration, t.Gemma4Config(
    text_config=t.Gemma4TextConfig(**GEMMA, num_kv_shared_layers=1, hidden_size_per_layer_input=4, vocab_size_per_layer_input=37, attention_k_eq_v=True,
                                   num_global_key_value_heads=1),
    vision_config=t.Gemma4VisionConfig(**EYE, head_dim=6, num_key_value_heads=2), image_token_id=5, audio_config=None))
decoder("gemma4_unified", t.Gemma4UnifiedForConditionalGeneration, t.Gemma4UnifiedConfig(
    text_config=t.Gemma4UnifiedTextConfig(**GEMMA, attention_k_eq_v=True), vision_config=t.Gemma4UnifiedVisionConfig(mm_embed_dim=12, mm_posemb_size=8, output_proj_dims=12, patch_size=4),
    image_token_id=5))
decoder("got_ocr2", t.GotOcr2ForConditionalGeneration, t.GotOcr2Config(
    text_config=t.Qwen2Config(**SIZES, tie_word_embeddings=True),
    vision_config=dict(hidden_size=12, output_channels=8, num_hidden_layers=1, num_attention_heads=2, image_size=16, patch_size=4, window_size=2,
                       global_attn_indexes=[0], mlp_dim=16)))
decoder("emu3", t.Emu3ForConditionalGeneration, t.Emu3Config(
    text_config=t.Emu3TextConfig(**SIZES, bos_token_id=1, eos_token_id=2, pad_token_id=0), vocabulary_map={"<image>": 5, "<|extra_200|>": 6},
    vq_config=dict(codebook_size=8, base_channels=32, channel_multiplier=[1], num_res_blocks=1, hidden_size=32, embed_dim=4, latent_channels=4)))
decoder("emu3_text", t.Emu3ForCausalLM, t.Emu3TextConfig(**SIZES, bos_token_id=1, eos_token_id=2, pad_token_id=0))
decoder("smolvlm", t.SmolVLMForConditionalGeneration, t.SmolVLMConfig(
    text_config=t.LlamaConfig(**SIZES), vision_config=EYE, image_token_id=5, scale_factor=1))
decoder("idefics3", t.Idefics3ForConditionalGeneration, t.Idefics3Config(
    text_config=t.LlamaConfig(**SIZES), vision_config=EYE, image_token_id=5, scale_factor=1))
decoder("qwen3_vl_moe", t.Qwen3VLMoeForConditionalGeneration, t.Qwen3VLMoeConfig(
    text_config=dict(**SIZES, head_dim=8, moe_intermediate_size=20, num_experts=5, num_experts_per_tok=2, decoder_sparse_step=1,
                     rope_parameters=MROPE | {"mrope_section": [2, 1, 1], "mrope_interleaved": True}),
    vision_config=dict(depth=1, hidden_size=12, out_hidden_size=24, num_heads=2, intermediate_size=16, patch_size=4, deepstack_visual_indexes=[0],
                       num_position_embeddings=16)))

ENCODER = dict(vocab_size=37, num_hidden_layers=2, num_attention_heads=3, hidden_size=12, intermediate_size=20)
HIDDEN, LOGITS = "last_hidden_state", "logits"


def encoder(name, kind, config, wanted):
    """wanted: of the class's results, under our names."""
    model = common.published(name, kind, config)
    inputs = {"tokens": common.tokens(19, 37), "keep": (torch.arange(19) < 16).long()}
    if hasattr(config, "type_vocab_size") and config.type_vocab_size > 1:
        inputs["token_types"] = (torch.arange(19) > 7).long()
    named = {"tokens": "input_ids", "keep": "attention_mask", "token_types": "token_type_ids"}
    with torch.no_grad():
        found = model(**{named[key]: value[None] for key, value in inputs.items()})
    common.record(name, inputs, {ours: found[theirs][0] for ours, theirs in wanted.items()})


encoder("bert_model", t.BertModel, t.BertConfig(**ENCODER, max_position_embeddings=32), {"hidden": HIDDEN, "pooled": "pooler_output"})
encoder("bert_words", t.BertForMaskedLM, t.BertConfig(**ENCODER, max_position_embeddings=32), {"logits": LOGITS})
encoder("distilbert_model", t.DistilBertModel, t.DistilBertConfig(
    vocab_size=37, n_layers=2, n_heads=3, dim=12, hidden_dim=20, max_position_embeddings=32), {"hidden": HIDDEN})
encoder("roberta_model", t.RobertaModel, t.RobertaConfig(**ENCODER, type_vocab_size=1, max_position_embeddings=34), {"hidden": HIDDEN})
encoder("xlm_roberta", t.XLMRobertaForMaskedLM, t.XLMRobertaConfig(**ENCODER, type_vocab_size=1, max_position_embeddings=34), {"logits": LOGITS})
encoder("xlm_roberta_model", t.XLMRobertaModel, t.XLMRobertaConfig(**ENCODER, type_vocab_size=1, max_position_embeddings=34), {"hidden": HIDDEN})
encoder("modernbert_model", t.ModernBertModel, t.ModernBertConfig(
    **ENCODER, max_position_embeddings=32, local_attention=6, pad_token_id=0, cls_token_id=1, sep_token_id=2), {"hidden": HIDDEN})

mt5 = common.published("mt5", t.MT5ForConditionalGeneration, t.MT5Config(
    vocab_size=37, d_model=10, d_kv=4, d_ff=20, num_layers=2, num_heads=3, pad_token_id=0, decoder_start_token_id=0))
words, ids = common.tokens(19, 37), common.tokens(23, 37)
with torch.no_grad():
    logits = mt5(input_ids=words[None], decoder_input_ids=ids[None], use_cache=False).logits[0]
common.record("mt5", {"words": words, "tokens": ids}, {"logits": logits})

# last, because this class of transformers 5.24 raises an AttributeError
decoder("llama4_inside", t.Llama4ForConditionalGeneration, t.Llama4Config(
    text_config=t.Llama4TextConfig(**SIZES | dict(num_hidden_layers=4, intermediate_size=10), intermediate_size_mlp=20, head_dim=6, num_local_experts=3,
                                   attention_chunk_size=7, floor_scale=5, attn_temperature_tuning=False),
    vision_config=t.Llama4VisionConfig(**EYE, vision_output_dim=12, projector_input_dim=8, projector_output_dim=8), boi_token_index=5, eoi_token_index=6,
    image_token_index=7))
