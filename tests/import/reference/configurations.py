"""Configurations that new.py and make.py try, for types that need other keys than the rules of shrink.py give.

For each type a configuration by name: {} is that of the rules, FLIPPED the one with the switches the other way.  Keys here replace those of the
rules; rope_parameters without a rope_type replaces only its own fields.  A type without a row has DEFAULT."""

FLIPPED = {"": "flipped"}          # not a key of any class: see shrink.flipped()
DEFAULT = {"": {}, "other": FLIPPED}


def flipped(**keys):
    return FLIPPED | keys


WHOLE = {"": {}, "other": flipped(tie_word_embeddings=True)}
PLAIN = {"rope_type": "default", "rope_theta": 5e5}
# a small theta and few turns, so that the limits differ for the frequencies of a small head
YARN = {"rope_type": "yarn", "rope_theta": 50.0, "factor": 8.0, "original_max_position_embeddings": 16, "beta_fast": 0.5, "beta_slow": 0.1}

GROWING = YARN | {"original_max_position_embeddings": 8, "llama_4_scaling_beta": 0.2, "mscale": 1.0, "mscale_all_dim": 1.0}
PROPORTIONAL = {"rope_type": "proportional", "rope_theta": 50.0, "partial_rotary_factor": 0.25}
LAST = 36                           # the last token of the text, so that it can fill up
S, F = "sliding_attention", "full_attention"


def causal(name, **keys):
    """An encoder as a decoder, with the switches the other way."""
    return FLIPPED | {"class": name, "is_decoder": True} | keys


def of_one_text(name, texts=True, tokens=False, answers=True, others=(), **keys):
    """The heads of an encoder-decoder, whose target is the source, moved by one.  Texts end with token 9, which comes twice, or 36, the last."""
    keys = {"decoder_start_token_id": 7, "pad_token_id": 28, "tie_word_embeddings": True} | keys
    rows = {}
    if texts:
        rows |= {"texts": keys | {"class": f"{name}ForSequenceClassification", "num_labels": 3, "eos_token_id": 9},
                 "texts_other": flipped(**keys | dict(others) | {"class": f"{name}ForSequenceClassification", "num_labels": 2, "problem_type": "regression", "eos_token_id": 12,
                                                  "decoder_start_token_id": 5, "pad_token_id": 31})}
    if tokens:
        rows |= {"tokens": keys | {"class": f"{name}ForTokenClassification", "num_labels": 3}, "tokens_other": flipped(**keys | dict(others) | {"class": f"{name}ForTokenClassification"})}
    if answers:
        rows |= {"answers": keys | {"class": f"{name}ForQuestionAnswering"}, "answers_other": flipped(**keys | dict(others) | {"class": f"{name}ForQuestionAnswering"})}
    return rows


RELU = {"feed_forward_proj": "relu", "is_gated_act": False, "dense_act_fn": "relu"}

# the parts for pictures and sound, which are left out
BESIDE_PHI = {"vision_config": dict(hidden_size=16, intermediate_size=8, num_hidden_layers=2, num_attention_heads=2, image_size=28, crop_size=28, patch_size=14),
              "audio_config": dict(hidden_size=16, intermediate_size=8, num_blocks=1, num_attention_heads=2, ext_pw_out_channel=16, input_size=8, kernel_size=3,
                                   depthwise_separable_out_channel=16, nemo_conv_channels=8, time_reduction=2)}

# the two parts of EncoderDecoderModel
TINY_BERT = {"model_type": "bert", "vocab_size": 37, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40, "max_position_embeddings": 48,
             "layer_norm_eps": 1e-3}
IN_DECODER = {"is_decoder": True, "add_cross_attention": True}

# the two halves of T5Gemma
GEMMA_HALF = {"vocab_size": 37, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 12,
              "max_position_embeddings": 40, "rms_norm_eps": 1e-3, "query_pre_attn_scalar": 20, "sliding_window": 5, "layer_types": [S, F, S], "pad_token_id": 4,
              "attn_logit_softcapping": 5.0, "final_logit_softcapping": 8.0, "rope_parameters": {"rope_type": "default", "rope_theta": 50.0}}
GEMMA_3 = GEMMA_HALF | {"attn_logit_softcapping": None, "final_logit_softcapping": None, "rope_parameters": {S: PLAIN | {"rope_theta": 30.0}, F: PLAIN | {"rope_theta": 50.0}}}
GEMMA_EYE = {"model_type": "siglip_vision_model", "hidden_size": 16, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 32, "patch_size": 8,
             "vision_use_head": False}
QWEN_3_5 = {"vocab_size": 37, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
            "max_position_embeddings": 40, "rms_norm_eps": 1e-3, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 6,
            "pad_token_id": LAST}
QWEN_4 = {"vocab_size": 37, "hidden_size": 32, "num_hidden_layers": 2, "layer_types": ["linear_attention", "indexed_attention"], "num_attention_heads": 4,
          "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 40, "rms_norm_eps": 1e-3, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
          "linear_key_head_dim": 8, "linear_value_head_dim": 6, "num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 14,
          "shared_expert_intermediate_size": 20, "hc_count": 2, "hc_lowrank": 4, "indexer_n_heads": 8, "indexer_kv_heads": 1, "indexer_head_dim": 8,
          "indexer_budget": 4, "indexer_compress_ratio": 2, "ple_layer_ids": [1], "heads_per_ngram": 2, "ngram_vocab_size_base": 20, "split_ngram_parts": 2,
          "make_ngram_vocab_size_divisible_by": 4, "ple_embed_dim": 16, "eos_token_id": 9, "rope_parameters": {"rope_type": "default", "rope_theta": 50.0}}
QWEN_EYE = {"depth": 1, "hidden_size": 16, "intermediate_size": 8, "num_heads": 2, "out_hidden_size": 32, "patch_size": 4, "num_position_embeddings": 16}
ZAMBA_2 = {"vocab_size": 37, "hidden_size": 24, "intermediate_size": 20, "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 4,
           "layers_block_type": ["linear_attention", "hybrid", "linear_attention", "hybrid"], "hybrid_layer_ids": [1, 3], "n_mamba_heads": 6, "mamba_headdim": 8, "mamba_d_state": 5, "mamba_ngroups": 2,
           "attention_hidden_size": 48, "attention_head_dim": 12, "adapter_rank": 3, "num_mem_blocks": 2, "max_position_embeddings": 40, "rms_norm_eps": 1e-3, "chunk_size": 7}

CONFIGURATIONS = {
    "albert": DEFAULT,
    "arcee": DEFAULT,
    "biogpt": DEFAULT,
    "aria": {"": {"class": "AriaForConditionalGeneration", "image_token_index": 36, "projector_patch_to_query_dict": {4: 2}, "vision_config": {
        "model_type": "idefics3_vision", "hidden_size": 16, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28, "patch_size": 14},
        "text_config": {
            "model_type": "aria_text", "vocab_size": 37, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 2, "max_position_embeddings": 40, "rms_norm_eps": 1e-3, "moe_num_experts": 5, "rope_parameters": {"rope_type": "default", "rope_theta": 50.0}}}},
    "aria_text": {
        "": {"rope_parameters": {"rope_theta": 50.0}},
        "other": flipped(hidden_act="gelu", moe_num_shared_experts=1, moe_topk=3, num_key_value_heads=4, rope_parameters=YARN),
    },
    "bitnet": {"": {"rope_parameters": {"rope_theta": 50.0}}, "other": flipped()},
    "axk1": {
        "": {"n_group": 4, "topk_group": 2, "n_routed_experts": 8, "num_hidden_layers": 3, "head_dim": 4},
        "other": flipped(attention_bias=False, rope_interleave=True, tie_word_embeddings=False, norm_topk_prob=True, n_group=1, topk_group=1, n_routed_experts=5,
                         n_shared_experts=2, mlp_layer_types=["sparse", "sparse"], num_hidden_layers=2, head_dim=4, rope_parameters=YARN | {"mscale": 0.7, "mscale_all_dim": 0.7}),
    },
    "bert-generation": {
        "": {"is_decoder": True},
        "other": causal("BertGenerationDecoder"),
        "two_sided": {"is_decoder": False},
        "vectors": {"class": "BertGenerationEncoder"},
        "vectors_other": causal("BertGenerationEncoder"),
    },
    # more heads in the indexer, because keys that no head wants have equal scores
    "axk2": {
        "": {"index_n_heads": 8, "n_group": None, "topk_group": None, "n_shared_experts": 2, "rope_parameters": {"rope_theta": 50.0}},
        "other": flipped(index_n_heads=7, index_topk=3, qk_rope_head_dim=8, index_head_dim=12, n_group=4, topk_group=2, n_routed_experts=8, num_hidden_layers=4,
                         mlp_layer_types=["sparse", "dense", "sparse", "sparse"], hidden_act="gelu",
                         rope_parameters=YARN | {"mscale": 0.9, "mscale_all_dim": 0.7}),
        # the indexer chooses all keys, and the whole of its heads is rotated
        "linear": {"index_n_heads": 7, "index_topk": 64, "index_head_dim": 4, "qk_rope_head_dim": 4, "n_group": 4, "topk_group": 1, "n_routed_experts": 8, "num_hidden_layers": 2,
                   "mlp_layer_types": ["sparse", "sparse"], "rope_parameters": {"rope_type": "linear", "rope_theta": 50.0, "factor": 4.0, "mscale_all_dim": 0.7}},
        "llama3": flipped(tie_word_embeddings=False, index_n_heads=7, num_hidden_layers=2, n_group=None, topk_group=None, mlp_layer_types=["dense", "dense"],
                          rope_parameters={"rope_type": "llama3", "rope_theta": 50.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}),
    },
    "camembert": {"": {}, "other": causal("CamembertForCausalLM")},
    "data2vec-text": {"": {}, "other": causal("Data2VecTextForCausalLM")},
    "electra": {"": {"embedding_size": 20}, "other": causal("ElectraForCausalLM", embedding_size=32)},
    "ernie": {"": {"use_task_id": True}, "other": causal("ErnieForCausalLM", use_task_id=False)},
    "megatron-bert": {
        "": {}, "other": causal("MegatronBertForCausalLM"),
        "pretraining": {"class": "MegatronBertForPreTraining", "type_vocab_size": 2},
        "next": {"class": "MegatronBertForNextSentencePrediction"},
        "choices": {"class": "MegatronBertForMultipleChoice"},
        "vectors": flipped(**{"class": "MegatronBertModel"}, type_vocab_size=1),
    },
    "mpnet": {"": {"relative_attention_num_buckets": 32}, "vectors": flipped(**{"class": "MPNetModel"}, relative_attention_num_buckets=32)},
    "rembert": {"": {"input_embedding_size": 20, "output_embedding_size": 28}, "other": causal("RemBertForCausalLM", input_embedding_size=32, output_embedding_size=12)},
    "roberta-prelayernorm": {"": {}, "other": causal("RobertaPreLayerNormForCausalLM")},
    "roc_bert": {
        "": {"pronunciation_embed_dim": 12, "pronunciation_vocab_size": 11, "shape_embed_dim": 10, "shape_vocab_size": 13},
        "other": causal("RoCBertForCausalLM", pronunciation_embed_dim=12, pronunciation_vocab_size=11, shape_embed_dim=10, shape_vocab_size=13,
                        enable_pronunciation=True, concat_input=True),
    },
    "xlm-roberta-xl": {"": {}, "other": causal("XLMRobertaXLForCausalLM")},
    "xmod": {
        "": {"languages": ["en_XX", "de_DE"], "default_language": "de_DE"},
        "other": causal("XmodForCausalLM", languages=["en_XX", "de_DE"], default_language="en_XX"),
        "plain": flipped(adapter_layer_norm=False, languages=["en_XX"], default_language="en_XX"),
    },
    "bert": {"causal": causal("BertLMHeadModel"), "untied": {"tie_word_embeddings": False}},
    "roberta": {"causal": causal("RobertaForCausalLM"), "vectors": {"class": "RobertaModel"}},
    "xlm-roberta": {
        "causal": causal("XLMRobertaForCausalLM"),
        "tied": causal("XLMRobertaForCausalLM", tie_word_embeddings=True, type_vocab_size=1, pad_token_id=3),
        "words": {},
    },
    # id 1 is padding, 9 the mask: both are in the text
    "esm": {
        "": {"vocab_size": 37, "pad_token_id": 1, "mask_token_id": 9, "token_dropout": True, "emb_layer_norm_before": True, "position_embedding_type": "absolute"},
        "other": flipped(vocab_size=37, pad_token_id=1, mask_token_id=9, token_dropout=False, emb_layer_norm_before=False, position_embedding_type="rotary", rope_theta=50.0,
                         is_folding_model=False),
    },
    "esmc": {"": {"rope_parameters": {"rope_theta": 50.0}, "num_key_value_heads": 4, "head_dim": 8}, "other": flipped(num_key_value_heads=4, head_dim=8)},
    "eurobert": {"": {"rope_parameters": {"rope_theta": 50.0}}, "other": flipped()} |
                {f"texts_{pool}": {"class": "EuroBertForSequenceClassification", "classifier_pooling": pool, "num_labels": 3} for pool in ("bos", "mean")},
    "gte": {"": {"rope_parameters": {"rope_theta": 50.0}}, "other": flipped(type_vocab_size=0)},
    "jina_embeddings_v3": {"": {"rope_parameters": {"rope_theta": 50.0}}, "vectors": flipped(**{"class": "JinaEmbeddingsV3Model"})},
    "nomic_bert": {"": {"rope_parameters": {"rope_theta": 50.0}}, "other": flipped()},
    "roformer": {"": {"embedding_size": 20}, "other": causal("RoFormerForCausalLM")},
    "ultrabert": {
        "": {"rope_parameters": {F: PLAIN | {"rope_theta": 50.0}, S: PLAIN | {"rope_theta": 40.0}}},
        "other": flipped(layer_types=[F, S, S], num_hidden_layers=3),
        "texts_mean": {"class": "UltrabertForSequenceClassification", "classifier_pooling": "mean", "num_labels": 3},
    },
    # both first differ in a part of the text that is longer than the reach of the distances
    "deberta": {
        "": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 7, "type_vocab_size": 3, "position_biased_input": True},
        "other": flipped(relative_attention=True, pos_att_type="c2p", max_relative_positions=-1, type_vocab_size=0),
    },
    "deberta-v2": {
        "": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": -1, "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True,
             "type_vocab_size": 0, "position_biased_input": False, "conv_kernel_size": 3, "conv_act": "gelu"},
        "other": flipped(relative_attention=True, pos_att_type="p2c|c2p", max_relative_positions=7, type_vocab_size=3, embedding_size=20, position_biased_input=True, legacy=True),
        "plain": flipped(relative_attention=False, pos_att_type=["c2p"]),
    },
    "big_bird": {
        "": {"attention_type": "block_sparse", "block_size": 2, "num_random_blocks": 3, "rescale_embeddings": True},
        "other": causal("BigBirdForCausalLM", attention_type="original_full", rescale_embeddings=False),
        "answers_after": {"class": "BigBirdForQuestionAnswering", "attention_type": "original_full", "sep_token_id": 6},       # token 6 ends the question
    },
    "convbert": {"": {"embedding_size": 20, "conv_kernel_size": 5}, "other": flipped(embedding_size=32, num_groups=4, head_ratio=1)},
    "flaubert": {"": {}, "other": flipped(causal=False, asm=False, is_encoder=True, pre_norm=False)},
    "fnet": {"": {}, "other": flipped(use_tpu_fourier_optimizations=False)},
    "ibert": {"": {}, "other": flipped(quant_mode=False)},
    "layoutlm": {"": {"max_2d_position_embeddings": 16}, "other": flipped(max_2d_position_embeddings=16)},
    "luke": {"": {"entity_emb_size": 12}, "other": flipped(entity_emb_size=12)},
    "mobilebert": {
        "": {"embedding_size": 20, "intra_bottleneck_size": 16, "num_feedforward_networks": 3, "use_bottleneck": True},
        "other": flipped(embedding_size=20, intra_bottleneck_size=16, num_feedforward_networks=1, use_bottleneck=True, normalization_type="layer_norm", classifier_activation=True),
    },
    "nystromformer": {"": {"conv_kernel_size": 5}, "other": flipped(conv_kernel_size=3, inv_coeff_init_option=False)},
    "squeezebert": {"": {"embedding_size": 32, "q_groups": 2, "post_attention_groups": 2}, "other": flipped(embedding_size=32, q_groups=1, k_groups=1, v_groups=1, output_groups=1)},
    "xlm": {"": {"n_langs": 3}, "other": flipped(causal=False, asm=False, is_encoder=True)} |
           {f"texts_{pool}": {"class": "XLMForSequenceClassification", "summary_type": pool, "num_labels": 3} for pool in ("last", "mean", "cls_index")},
    "cohere_compass_text": {
        "": {"layer_types": [S, F, S], "num_hidden_layers": 3, "rope_parameters": {F: None, S: PLAIN | {"rope_theta": 50.0, "mrope_section": [2, 1, 1]}}},
        "other": flipped(attention_bias=False, tie_word_embeddings=True, logit_scale=0.25, num_hidden_layers=2, layer_types=[F, S],
                         rope_parameters={F: PLAIN, S: PLAIN | {"rope_theta": 50.0}}),
    },
    "cohere2_moe": {
        "": {"num_shared_experts": 2, "num_hidden_layers": 5, "prefix_dense_intermediate_size": 24, "mlp_layer_types": ["dense", *["sparse"] * 4],
             "layer_types": [F, S, S, F, S], "rope_theta": 50.0},
        "other": flipped(attention_bias=False, tie_word_embeddings=True, rms_norm_eps=1e-3, num_shared_experts=1, shared_expert_combination_strategy="sum",
                         expert_selection_fn="sigmoid", norm_topk_prob=True, prefix_dense_sliding_window_pattern=2, num_experts_per_tok=3,
                         mlp_layer_types=["dense", "sparse", "sparse"], layer_types=[F, S, S], num_hidden_layers=3),
    },
    "ctrl": {"": {"layer_norm_epsilon": 1e-6, "tie_word_embeddings": True}},
    "cwm": {
        "": {"rope_parameters": {"rope_theta": 50.0}},
        "other": flipped(mlp_bias=False, layer_types=[S, F, F, S, S], rope_parameters={"rope_type": "default", "rope_theta": 1e4}),
    },
    # more heads in the indexer, because keys that no head wants have equal scores
    "deepseek_v32": {
        "": {"num_hidden_layers": 3, "index_n_heads": 8, "attention_bias": False},
        "other": flipped(num_hidden_layers=2, index_n_heads=7, index_topk=3, qk_rope_head_dim=8, index_head_dim=12, n_group=1, topk_group=1, first_k_dense_replace=2, mlp_layer_types=["dense", "sparse"],
                         attention_bias=False, mlp_bias=False, norm_topk_prob=True, tie_word_embeddings=False,
                         rope_parameters=YARN | {"mscale": 0.7, "mscale_all_dim": 0.7}),
    },
    "diffllama": {"": {"num_hidden_layers": 3, "rope_parameters": {"rope_theta": 50.0}}, "other": flipped()},
    "ernie4_5": DEFAULT,
    "ernie4_5_moe": {
        "": {"num_hidden_layers": 4, "moe_layer_end_index": 2, "moe_norm_min": 0.5},
        "other": flipped(num_hidden_layers=4, moe_layer_start_index=0, moe_layer_interval=2, moe_num_shared_experts=0, moe_k=3),
        "gguf": {"num_hidden_layers": 4, "moe_layer_interval": 2, "moe_layer_end_index": -1, "intermediate_size": 56},
    },
    "exaone4": DEFAULT,
    "seed_oss": DEFAULT,
    "apertus": {"": {}, "other": flipped(hidden_act="gelu", num_key_value_heads=2)},
    "apertus1p5_text": {"": {"output_vocab_size": 31}, "other": flipped(num_key_value_heads=2)},
    # 0.55 of a head of 8 is 4.4, of which the class takes the whole part
    "gpt_neox_japanese": {
        "": {"rope_parameters": {"rope_theta": 50.0, "partial_rotary_factor": 0.55}},
        "other": flipped(rope_parameters=YARN, intermediate_multiple_size=3, hidden_act="gelu_new"),
    },
    # initializer_range divides the scales; with the default, 0.0177, those of random weights are so large that float32 has no digit right
    "dory": {
        "": {"num_hidden_layers": 6, "n_input_layers": 1, "n_output_layers": 1, "initializer_range": 0.8, "ngpt_alpha_init": 0.3,
             "rope_parameters": {S: PLAIN | {"rope_theta": 50.0}, F: PLAIN | {"rope_theta": 40.0}}},
        "other": flipped(num_hidden_layers=5, n_input_layers=2, n_output_layers=1, n_recurrent_loops=3, initializer_range=1.5, ngpt_alpha_init=0.5, hidden_act="gelu",
                         layer_types=[F, S, S, F, S], rope_parameters={S: {"rope_type": "linear", "rope_theta": 50.0, "factor": 2.0}, F: YARN}),
    },
    "mistral4": {name: {"n_group": groups, "topk_group": (groups + 1) // 2, "n_routed_experts": 8, "num_hidden_layers": 3, "norm_topk_prob": groups == 1, "first_k_dense_replace": groups // 4,
                        "q_lora_rank": 16 if groups == 1 else None, "routed_scaling_factor": 1.25, "rope_parameters": YARN | {
                            "original_max_position_embeddings": 8, "llama_4_scaling_beta": 0.2, "mscale": 1.0, "mscale_all_dim": 1.0}} | head
                 for name, groups, head in (("", 1, {"class": "Mistral4ForCausalLM"}), ("other", 4, {"class": "Mistral4ForCausalLM"}))},
    "openai_privacy_filter": {"": {"class": "OpenAIPrivacyFilterForTokenClassification", "num_labels": 3, "rope_parameters": {
        "rope_type": "yarn", "rope_theta": 50.0, "factor": 8.0, "original_max_position_embeddings": 16, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False}}},
    "persimmon": DEFAULT,
    "fuyu": {"": {"patch_size": 2, "image_token_id": 36, "text_config": {
        "model_type": "persimmon", "vocab_size": 37, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4,
        "max_position_embeddings": 40, "layer_norm_eps": 1e-3, "rope_parameters": {"rope_type": "default", "rope_theta": 50.0, "partial_rotary_factor": 0.5}}}},
    "olmo_hybrid": {
        "": {"linear_key_head_dim": 8, "linear_value_head_dim": 8, "num_hidden_layers": 3, "layer_types": ["linear_attention", F, "linear_attention"], "rope_parameters": {"rope_type": "default", "rope_theta": None}},
        "other": flipped(linear_key_head_dim=8, linear_value_head_dim=4, linear_num_key_heads=2, linear_num_value_heads=4, layer_types=["full_attention", "linear_attention"],
                         num_hidden_layers=2, linear_conv_kernel_dim=3, attention_bias=False),
    },
    "beam": DEFAULT, "lara_mini": DEFAULT, "jetmoe": {"": {}, "other": flipped(num_key_value_heads=3, num_experts_per_tok=3, num_attention_heads=9)},
    "lfm3": {"": {"layer_types": ["conv", S, F, "conv"]}, "other": flipped(num_hidden_layers=2, layer_types=[S, F], sliding_window=8,
                  rope_parameters={S: PLAIN | {"rope_theta": 50.0}, F: PLAIN | {"rope_theta": 40.0}})},
    "hrm_text": {"": {"num_hidden_layers": 2, "embedding_scale": 3.0}, "other": flipped(attention_bias=False, mlp_bias=False, num_hidden_layers=1, H_cycles=3, L_cycles=1)},
    "mimo_v2_flash": {"": {"routed_scaling_factor": 1.5}, "other": flipped(num_key_value_heads=1, layer_types=[S, F, S], n_group=4, topk_group=2, n_routed_experts=8, head_dim=16,
                          rope_parameters={S: PLAIN | {"rope_theta": 50.0, "partial_rotary_factor": 0.5}, F: PLAIN | {"partial_rotary_factor": 1.0}})},
    # more heads in the indexer, because keys that no head wants have equal scores
    "dots3_note_text": {
        "": {"index_n_heads": 8, "sliding_window": 5, "swa_num_attention_heads": 2, "swa_num_key_value_heads": 2, "swa_q_lora_rank": 9, "swa_kv_lora_rank": 7,
             "swa_head_dim": 11, "swa_qk_nope_head_dim": 5, "swa_v_head_dim": 8, "n_shared_experts": 2,
             "rope_parameters": {"sliding_attention": PLAIN | {"rope_theta": 40.0}, "indexed_attention": PLAIN | {"rope_theta": 50.0}}},
        # a layer reads all keys; the window has the sizes of other layers but one
        "other": flipped(index_n_heads=7, index_topk=3, n_group=4, topk_group=2, n_routed_experts=8, num_hidden_layers=3, sliding_window=4, mlp_bias=False, hidden_act="gelu",
                         layer_types=["indexed_attention", F, S], mlp_layer_types=["sparse", "dense", "sparse"], qk_rope_head_dim=8, index_head_dim=12, head_dim=14,
                         per_layer_config={"2": {"v_head_dim": 6}},
                         rope_parameters={S: PLAIN | {"rope_theta": 40.0}, "indexed_attention": PLAIN | {"rope_theta": 50.0}, F: PLAIN | {"rope_theta": 50.0}}),
    },
    # layers of both kinds of attention and of feed-forward, and texts longer than the distances with a bias
    "inkling_text": {
        "": {"num_hidden_layers": 3, "layer_types": ["hybrid_sliding", "hybrid", "hybrid_sliding"], "mlp_layer_types": ["sparse", "sparse", "dense"], "rel_extent": 9, "d_rel": 3,
             "log_scaling_n_floor": 4, "log_scaling_alpha": 0.5, "route_scale": 1.5, "swa_num_attention_heads": 2, "swa_num_key_value_heads": 1, "swa_head_dim": 10},
        "other": flipped(num_hidden_layers=2, layer_types=["hybrid", "hybrid"], mlp_layer_types=["dense", "sparse"], rel_extent=30, d_rel=5, shared_expert_sink=True,
                         hidden_act="gelu", n_shared_experts=1, unpadded_vocab_size=33, conv_kernel_size=2, num_key_value_heads=4, logits_mup_width_multiplier=2.0),
    },
    "inkling2_text": {
        "": {"num_hidden_layers": 4, "layer_types": ["hybrid_sliding", "hybrid", "hybrid_sliding", "hybrid"], "n_layers_per_attn_res_block": 2, "rel_extent": 9, "d_rel": 3,
             "log_scaling_n_floor": 4, "log_scaling_alpha": 0.5, "route_scale": 1.5, "swa_num_attention_heads": 2, "swa_num_key_value_heads": 1, "swa_head_dim": 10,
             "qk_l2_clip_threshold": 2.0, "rel_l2_clip_threshold": 0.8, "mlp_gate_softcap": 0.7, "mlp_up_softcap": 0.9, "final_logit_softcapping": 2.0},
        "other": flipped(num_hidden_layers=3, layer_types=["hybrid", "hybrid", "hybrid"], n_layers_per_attn_res_block=1, rel_extent=30, d_rel=5, unpadded_vocab_size=33,
                         conv_kernel_size=2, num_key_value_heads=1, log_scaling_n_floor=9, final_logit_softcapping=5.0),
    },
    "inkling2_loop_text": {
        "": {"num_hidden_layers": 8, "layer_types": [*["hybrid_sliding", "hybrid"] * 4], "n_layers_per_attn_res_block": 2, "rel_extent": 9, "d_rel": 3,
             "log_scaling_n_floor": 4, "log_scaling_alpha": 0.5, "route_scale": 1.5, "swa_num_attention_heads": 2, "swa_num_key_value_heads": 1, "swa_head_dim": 10,
             "qk_l2_clip_threshold": 2.0, "rel_l2_clip_threshold": 0.8, "mlp_gate_softcap": 0.7, "mlp_up_softcap": 0.9, "final_logit_softcapping": 2.0,
             "loop_layer_index_start": 2, "loop_layer_index_end": 6, "loop_num_passes": 3, "loop_gate_rank": 5},
        "other": flipped(num_hidden_layers=3, layer_types=["hybrid", "hybrid", "hybrid"], n_layers_per_attn_res_block=1, rel_extent=30, d_rel=5, unpadded_vocab_size=33,
                         conv_kernel_size=2, num_key_value_heads=1, log_scaling_n_floor=9, final_logit_softcapping=5.0,
                         loop_layer_index_start=1, loop_layer_index_end=3, loop_num_passes=2, loop_gate_rank=5),
    },
    "longcat_flash": {"": {"head_dim": 4, "zero_expert_num": 3, "num_layers": 2, "moe_topk": 3},
                      "other": flipped(attention_bias=False, head_dim=4, zero_expert_num=0, num_layers=1)},
    "moss_transcribe_diarize": {"": {
        "text_config": {"model_type": "qwen3", "vocab_size": 37, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4,
                        "num_key_value_heads": 2, "head_dim": 12, "max_position_embeddings": 40, "rms_norm_eps": 1e-3},
        "audio_config": {"num_mel_bins": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8, "hidden_size": 16, "max_source_positions": 8},
        "audio_token_id": 36}},
    "rwkv": {"": {"num_hidden_layers": 3, "rescale_every": 2, "attention_hidden_size": 24}, "other": flipped(rescale_every=0)},
    "bailing_hybrid": {
        "": {"num_hidden_layers": 3, "layer_types": ["linear_attention", F, "linear_attention"], "num_experts": 8, "num_expert_group": 4, "topk_group": 2, "num_attention_heads": 4,
             "linear_head_dim": 8, "linear_num_heads": 4},
        "other": flipped(attention_bias=False, moe_renormalize=True, num_hidden_layers=2, layer_group_size=2, q_lora_rank=14, num_experts=5, num_expert_group=1, topk_group=1,
                         num_shared_experts=2, tie_word_embeddings=False, linear_head_dim=6, linear_num_heads=3, first_k_dense_replace=0),
    },
    "afmoe": DEFAULT | {"gguf": {"mup_enabled": True, "num_dense_layers": 2}}, "flint": {"": {}, "other": flipped(mlp_only_layers=[1], num_hidden_layers=3, layer_types=[S, F, S])}, "kolibri1": DEFAULT,
    # the E models: embeddings for each layer, shared keys and values
    "gemma4_text": {
        "": {"num_hidden_layers": 5, "layer_types": [S, F, S, S, F], "num_kv_shared_layers": 2, "use_double_wide_mlp": True, "global_head_dim": 16, "final_logit_softcapping": 5.0,
             "rope_parameters": {S: PLAIN | {"rope_theta": 50.0}, F: PROPORTIONAL}},
        # k = v, experts
        "other": flipped(num_hidden_layers=5, layer_types=[S, S, F, S, F], num_kv_shared_layers=0, use_double_wide_mlp=False, hidden_size_per_layer_input=0, global_head_dim=12,
                         num_global_key_value_heads=1, attention_k_eq_v=True, enable_moe_block=True, num_experts=5, top_k_experts=2, moe_intermediate_size=14,
                         rope_parameters={S: PROPORTIONAL | {"partial_rotary_factor": 0.5, "factor": 2.0}, F: PLAIN | {"rope_theta": 50.0}}),
        # k = v and experts, with the angles that a GGUF can have
        "gguf": {"num_hidden_layers": 5, "layer_types": [S, S, F, S, F], "num_kv_shared_layers": 0, "use_double_wide_mlp": False, "hidden_size_per_layer_input": 0, "global_head_dim": 16,
                 "num_global_key_value_heads": 1, "attention_k_eq_v": True, "enable_moe_block": True, "num_experts": 5, "top_k_experts": 2, "moe_intermediate_size": 14,
                 "rope_parameters": {S: PLAIN | {"rope_theta": 50.0}, F: PROPORTIONAL}},
    },
    "gemma4_unified_text": {
        "": {"num_hidden_layers": 4, "layer_types": [S, S, F, F], "global_head_dim": 16},
        "other": flipped(num_hidden_layers=4, layer_types=[S, F, S, F], global_head_dim=12, num_kv_shared_layers=1),
    },
    "dbrx": {
        "": {"attn_config": {"kv_n_heads": 2, "clip_qkv": 0.8, "rope_theta": 1e4}, "num_key_value_heads": 2,
             "ffn_config": {"ffn_hidden_size": 14, "moe_num_experts": 5, "moe_top_k": 2}},
        "other": {"attn_config": {"kv_n_heads": 4, "clip_qkv": 0.4, "rope_theta": 5e5}, "rope_parameters": PLAIN, "num_key_value_heads": 4,
                  "ffn_config": {"ffn_hidden_size": 14, "moe_num_experts": 5, "moe_top_k": 3, "moe_normalize_expert_weights": 2.0, "ffn_act_fn": {"name": "gelu"}}},
        "unnormed": {"attn_config": {"kv_n_heads": 1, "clip_qkv": 8, "rope_theta": 5e5}, "rope_parameters": PLAIN, "num_key_value_heads": 1,
                     "ffn_config": {"ffn_hidden_size": 14, "moe_num_experts": 5, "moe_top_k": 3, "moe_normalize_expert_weights": None}},
    },
    "dots1": {
        "": {"n_shared_experts": 2, "n_routed_experts": 5, "num_experts_per_tok": 2, "first_k_dense_replace": 1, "num_hidden_layers": 3, "max_window_layers": 2},
        "other": flipped(n_shared_experts=1, n_routed_experts=8, num_experts_per_tok=3, n_group=4, topk_group=2, layer_types=[S, F],
                         norm_topk_prob=True),
        "gguf": {"n_shared_experts": 2, "n_routed_experts": 5, "num_experts_per_tok": 2, "first_k_dense_replace": 1, "num_hidden_layers": 3, "max_window_layers": 3},
    },
    "exaone_moe": {
        "": {},
        "other": flipped(num_experts=8, n_group=4, topk_group=2, layer_types=[F, S, F], mlp_layer_types=["dense", "dense", "sparse"], num_hidden_layers=3),
    },
    "flex_olmo": {"": {}, "other": flipped(attention_bias=False)},
    "glm4_moe_lite": {
        "": {},
        "other": flipped(attention_bias=False, rope_interleave=True, tie_word_embeddings=False, norm_topk_prob=True, q_lora_rank=None, n_routed_experts=8,
                         n_group=4, topk_group=2, mlp_layer_types=["dense", "dense", "sparse"], n_shared_experts=2,
                         qk_rope_head_dim=8,
                         rope_parameters=YARN | {"mscale": 0.7, "mscale_all_dim": 0.7}),
    },
    "glm_moe_dsa": {
        "": {"num_hidden_layers": 3, "index_n_heads": 8, "indexer_types": ["full", "shared", "full"]},
        "other": flipped(num_hidden_layers=4, index_n_heads=7, index_topk=3, qk_rope_head_dim=8, index_head_dim=12, n_routed_experts=8, n_group=4, topk_group=2, first_k_dense_replace=2,
                         index_topk_freq=2, index_skip_topk_offset=1, attention_bias=False, mlp_bias=False, norm_topk_prob=True, tie_word_embeddings=False,
                         rope_parameters=YARN | {"mscale": 0.7, "mscale_all_dim": 0.7}),
    },
    "gpt_bigcode": {"": {"num_key_value_heads": 1}},
    "gpt_neo": {"": {"attention_types": [[["global", "local"], 2]], "attention_layers": ["global", "local"] * 2, "num_layers": 4}},
    "jamba": {"": {"num_hidden_layers": 4, "attn_layer_period": 3, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1}},
    "jais2": {
        "": {"rope_parameters": {"rope_theta": 50.0}},
        "other": flipped(hidden_act="gelu", num_key_value_heads=4, head_dim=8, rope_parameters=YARN),
    },
    "nemotron": {"": {"num_key_value_heads": 2, "head_dim": 8}},
    "qwen3_5_text": {"": {"head_dim": 16}},
    # heads of the models that see: labels are those of the whole, and the token that fills up that of the text's part
    "gemma3": {"texts": {"class": "Gemma3ForSequenceClassification", "num_labels": 3, "text_config": GEMMA_3 | {"pad_token_id": LAST}, "vision_config": GEMMA_EYE}},
    "qwen3_5": {name: {"class": f"Qwen3_5For{head}Classification", "num_labels": 3, "text_config": QWEN_3_5, "vision_config": QWEN_EYE}
                for name, head in {"texts": "Sequence", "tokens": "Token"}.items()},
    "zamba2": {
        "texts": {"class": "Zamba2ForSequenceClassification", "num_labels": 3, "pad_token_id": LAST} | ZAMBA_2,
        "texts_other": {"class": "Zamba2ForSequenceClassification", "num_labels": 1, "pad_token_id": None} | ZAMBA_2,
    },
    "qwen3_next": {"": {"head_dim": 16}},
    # more heads in the indexer, because blocks that no head wants have equal scores.  Tokens that end n-grams are in the text
    "qwen4_exp_text": {
        "": {"num_hidden_layers": 5, "head_dim": 16, "hc_lowrank": 8, "ple_embed_dim": 36, "rope_parameters": PLAIN | {"rope_theta": 50.0, "partial_rotary_factor": 0.5},
             "indexer_n_heads": 8, "indexer_kv_heads": 1, "indexer_head_dim": 16, "indexer_budget": 4, "indexer_compress_ratio": 2,
             "ple_layer_ids": [2], "heads_per_ngram": 2, "ngram_vocab_size_base": 20, "make_ngram_vocab_size_divisible_by": 8, "split_ngram_parts": 3, "eos_token_id": 9},
        "other": flipped(num_hidden_layers=3, layer_types=["linear_attention", "indexed_attention", "linear_attention"], head_dim=16, hc_count=3, hc_lowrank=6,
                         indexer_n_heads=7, indexer_kv_heads=1, indexer_head_dim=12, indexer_budget=3, indexer_compress_ratio=3, attention_bias=False,
                         ple_layer_ids=[3, 1], ple_embed_dim=18, ngram_size=4, heads_per_ngram=3, ngram_vocab_size_base=300, split_ngram_parts=4, seed=99, ple_conv_kernel_size=3,
                         eos_token_id=[12, 9], output_gate_type="sigmoid", rope_parameters=YARN | {"partial_rotary_factor": 0.5}),
        # without n-grams
        "plain": {"num_hidden_layers": 2, "layer_types": ["indexed_attention", "linear_attention"], "head_dim": 8, "hc_count": 2, "hc_lowrank": 4, "indexer_n_heads": 8,
                  "indexer_kv_heads": 1, "indexer_head_dim": 8, "indexer_budget": 4, "indexer_compress_ratio": 4, "rope_parameters": PLAIN | {"rope_theta": 50.0}},
    },
    # with a part for pictures, which is left out
    "qwen4_exp": {"": {"class": "Qwen4ExpForConditionalGeneration", "vision_config": QWEN_EYE, "text_config": QWEN_4}},
    "helium": {"": {"head_dim": 8}, "other": flipped(attention_bias=False, mlp_bias=False)},
    "granite_swa": {
        "": {"layer_rope_theta": [50.0, 1e4, 0, 50.0, 7e3]},
        "other": flipped(layer_types=[S, F, F, S, F], rope_parameters={"rope_type": "llama3", "rope_theta": 50.0, "factor": 4.0, "low_freq_factor": 1.0,
                                                                  "high_freq_factor": 4.0, "original_max_position_embeddings": 16}),
        "gguf": {"layer_rope_theta": [50.0, 50.0, 0, 50.0, 0], "rope_parameters": {"rope_theta": 50.0}},
    },
    "granitemoe_swa": {
        "": {"attention_bias": False, "layer_rope_theta": [0, 50.0, 1e4, 50.0, 7e3], "shared_intermediate_size": 20},
        "other": flipped(attention_bias=False, layer_types=[S, F, F, S, F]),
        "gguf": {"attention_bias": False, "layer_rope_theta": [0, 50.0, 50.0, 50.0, 0], "rope_parameters": {"rope_theta": 50.0}, "shared_intermediate_size": 20},
    },
    "granitemoeshared": {"": {"shared_intermediate_size": 20}, "other": flipped(attention_bias=False)},
    "hyperclovax": {
        "": {"rope_parameters": {"rope_theta": 50.0}, "embedding_multiplier": 10.0, "logits_scaling": 0.125, "attention_multiplier": 0.2},
        "other": flipped(residual_multiplier=0.75, rope_parameters=YARN),
    },
    "hunyuan_v1_dense": {
        "": {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 50.0, "factor": 1.0, "alpha": 7.0}},
        "other": flipped(),
        "gguf": {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 1.0, "alpha": 7.0}, "max_position_embeddings": 32768},
    },
    "hunyuan_v1_moe": {
        "": {"num_experts": 5, "moe_topk": 2},
        "other": flipped(num_experts=4, moe_topk=[3, 3], rope_parameters={"rope_type": "dynamic", "rope_theta": 50.0, "factor": 1.0, "alpha": 7.0}),
    },
    # more heads in the indexer, because keys that no head wants have equal scores
    "hy_v4": {
        "": {"index_n_heads": 8, "swiglu_limit": 0.5, "indexer_types": ["full", "shared", "full"], "rope_parameters": {"rope_theta": 50.0}},
        "other": flipped(index_n_heads=7, index_topk=3, qk_rope_head_dim=8, index_head_dim=12, n_group=4, topk_group=2, n_routed_experts=8, num_hidden_layers=4,
                         mlp_layer_types=["sparse", "dense", "sparse", "sparse"], hidden_act="gelu", n_shared_experts=2, hc_mult=3, hc_magnitude=1.5, swiglu_limit=0.3,
                         rope_parameters=YARN | {"mscale": 0.9, "mscale_all_dim": 0.7}),
        # the indexer chooses all keys, and the whole of its heads is rotated; one stream
        "linear": {"index_n_heads": 7, "index_topk": 64, "index_head_dim": 4, "qk_rope_head_dim": 4, "n_group": 4, "topk_group": 1, "n_routed_experts": 8, "num_hidden_layers": 2, "hc_mult": 1,
                   "mlp_layer_types": ["sparse", "sparse"], "rope_parameters": {"rope_type": "linear", "rope_theta": 50.0, "factor": 4.0, "mscale_all_dim": 0.7}},
        "llama3": flipped(tie_word_embeddings=False, index_n_heads=7, num_hidden_layers=2, mlp_layer_types=["dense", "dense"],
                          rope_parameters={"rope_type": "llama3", "rope_theta": 50.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}),
    },
    "deepseek_v4": {
        "": {"num_key_value_heads": 1, "num_hidden_layers": 4, "layer_types": [S, "compressed_sparse_attention", "heavily_compressed_attention", "compressed_sparse_attention"],
             "mlp_layer_types": ["hash_moe", "moe", "moe", "moe"], "compress_rates": {"compressed_sparse_attention": 4, "heavily_compressed_attention": 7},
             "o_groups": 2, "index_n_heads": 8, "index_head_dim": 12, "index_topk": 3, "swiglu_limit": 0.5, "hc_sinkhorn_iters": 3,
             "rope_parameters": {"main": PLAIN | {"rope_theta": 40.0, "partial_rotary_factor": 2 / 3},
                                 "compress": YARN | {"attention_factor": 1.1, "partial_rotary_factor": 2 / 3}}},
        "other": flipped(num_key_value_heads=1, num_hidden_layers=2, layer_types=["heavily_compressed_attention", "compressed_sparse_attention"],
                         mlp_layer_types=["moe", "hash_moe"], compress_rates={"compressed_sparse_attention": 3, "heavily_compressed_attention": 5},
                         o_groups=4, index_n_heads=7, index_topk=64, hc_mult=3, swiglu_limit=0.3, sliding_window=4, hc_sinkhorn_iters=1, norm_topk_prob=True,
                         attention_bias=False, scoring_func="sigmoid", hidden_act="gelu",
                         rope_parameters={"main": PLAIN | {"rope_theta": 50.0, "partial_rotary_factor": 0.5}, "compress": PLAIN | {"rope_theta": 30.0, "partial_rotary_factor": 0.5}}),
        # entries of more tokens than the text has; one stream, and the whole of an indexer's heads is rotated
        "linear": {"num_key_value_heads": 1, "num_hidden_layers": 2, "layer_types": ["compressed_sparse_attention", "heavily_compressed_attention"], "mlp_layer_types": ["moe", "moe"],
                   "o_groups": 1, "index_n_heads": 7, "index_head_dim": 4, "hc_mult": 1, "sliding_window": 64,
                   "rope_parameters": {"main": PLAIN | {"partial_rotary_factor": 1 / 3},
                                       "compress": {"rope_type": "linear", "rope_theta": 50.0, "factor": 4.0, "partial_rotary_factor": 1 / 3}}},
        "llama3": {"num_key_value_heads": 1, "num_hidden_layers": 2, "layer_types": ["compressed_sparse_attention", S], "mlp_layer_types": ["moe", "hash_moe"], "o_groups": 2,
                   "index_n_heads": 7, "compress_rates": {"compressed_sparse_attention": 1, "heavily_compressed_attention": 1},
                   "rope_parameters": {"main": PLAIN | {"partial_rotary_factor": 2 / 3},
                                       "compress": {"rope_type": "llama3", "rope_theta": 50.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                                    "original_max_position_embeddings": 16, "partial_rotary_factor": 2 / 3}}},
    },
    "hy_v3": {"": {"num_hidden_layers": 3}, "other": flipped(mlp_layer_types=["sparse", "sparse"], num_hidden_layers=2)},
    "mellum": {
        "": {"layer_types": [S, F, S], "num_hidden_layers": 3, "mlp_layer_types": ["sparse", "dense", "sparse"],
             "rope_parameters": {F: YARN, S: {"rope_type": "default", "rope_theta": 1e4}}},
        "other": flipped(attention_bias=False, rope_parameters={F: PLAIN, S: PLAIN}),
        "gguf": {"layer_types": [S, F, S], "num_hidden_layers": 3, "mlp_layer_types": ["sparse", "sparse", "sparse"],
                 "rope_parameters": {F: YARN, S: {"rope_type": "default", "rope_theta": 1e4}}},
    },
    "laguna": {
        "": {"num_hidden_layers": 4, "layer_types": [F, S, S, F], "num_attention_heads_per_layer": [4, 2, 6, 4], "moe_router_logit_softcapping": 2.0,
             "moe_routed_scaling_factor": 1.25,
             "rope_parameters": {F: PLAIN | {"rope_theta": 50.0, "partial_rotary_factor": 0.5}, S: PLAIN | {"rope_theta": 40.0, "partial_rotary_factor": 1.0}}},
        "other": flipped(num_hidden_layers=3, num_attention_heads_per_layer=None, layer_types=[S, F, S], mlp_layer_types=["sparse", "dense", "sparse"],
                         gating="per-element", moe_apply_router_weight_on_input=False,
                         rope_parameters={F: YARN | {"partial_rotary_factor": 1.0}, S: PLAIN | {"partial_rotary_factor": 0.5}}),
        "gguf": {"num_hidden_layers": 5, "layer_types": [F, S, S, S, F], "num_attention_heads_per_layer": [4, 2, 6, 4, 4], "moe_routed_scaling_factor": 1.25,
                 "rope_parameters": {F: YARN | {"partial_rotary_factor": 0.5}, S: PLAIN | {"rope_theta": 40.0, "partial_rotary_factor": 1.0}}},
    },
    "lfm2_moe": {
        "": {"num_hidden_layers": 3, "layer_types": ["conv", F, "conv"], "rope_parameters": {"rope_type": "default", "rope_theta": 50.0}},
        "other": flipped(num_hidden_layers=3, layer_types=[F, "conv", F], conv_L_cache=4, num_dense_layers=0),
        "gguf": {"num_hidden_layers": 3, "layer_types": ["conv", F, "conv"], "routed_scaling_factor": 1.0, "rope_parameters": {"rope_type": "default", "rope_theta": 50.0}},
    },
    "minicpm3": {
        "": {"num_key_value_heads": 4, "dim_model_base": 20, "v_head_dim": 10, "rope_parameters": {"rope_type": "longrope", "rope_theta": 50.0,
             "original_max_position_embeddings": 100, "short_factor": [1.5, 2.5], "long_factor": [2.5, 3.5]}},
        "other": flipped(num_key_value_heads=4, dim_model_base=None, scale_depth=None, q_lora_rank=None, mlp_bias=False, tie_word_embeddings=False,
                         rope_parameters={"rope_type": "linear", "rope_theta": 50.0, "factor": 3.0}),
        "gguf": {"num_key_value_heads": 4, "v_head_dim": 8, "dim_model_base": 256, "scale_emb": 12, "scale_depth": 1.4, "rope_parameters": {"rope_type": "longrope",
                 "rope_theta": 1e4, "original_max_position_embeddings": 40, "short_factor": [1.5, 2.5], "long_factor": [2.5, 3.5]}},
    },
    # experts in few layers, since residuals are not added up
    "minimax": {
        "": {"num_hidden_layers": 3, "head_dim": 8, "layer_types": ["linear_attention", F, "linear_attention"], "linear_attn_alpha_factor": 1.25, "linear_attn_beta_factor": 0.75,
             "full_attn_alpha_factor": 1.5, "full_attn_beta_factor": 0.5, "mlp_alpha_factor": 1.125, "mlp_beta_factor": 0.875,
             "rope_parameters": {"rope_type": "default", "rope_theta": 50.0}},
        "other": flipped(num_hidden_layers=2, head_dim=12, sliding_window=5, block_size=4),
    },
    # names and keys as published, and parts for pictures, which are left out
    "minimax_m3_vl": {"": {"class": "MiniMaxM3SparseForConditionalGeneration", "image_token_index": 36, "video_token_index": 35, "projector_hidden_size": 16,
        "vision_config": {"hidden_size": 16, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28, "patch_size": 14},
        "text_config": {"vocab_size": 37, "hidden_size": 32, "intermediate_size": 14, "dense_intermediate_size": 40, "shared_intermediate_size": 20, "num_hidden_layers": 3,
                        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 12, "max_position_embeddings": 40, "rms_norm_eps": 1e-3, "num_local_experts": 5,
                        "num_experts_per_tok": 2, "swiglu_limit": 0.5, "partial_rotary_factor": 0.5, "rotary_dim": 6, "moe_layer_freq": [0, 1, 1],
                        "sparse_attention_config": {"sparse_num_index_heads": 2, "sparse_index_dim": 8, "sparse_block_size": 4, "sparse_topk_blocks": 2, "sparse_local_block": 1,
                                                    "sparse_attention_freq": [0, 1, 1]},
                        "rope_parameters": {"rope_type": "default", "rope_theta": 50.0, "partial_rotary_factor": 0.5}}}},
    "minimax_m3_vl_text": {
        "": {"num_hidden_layers": 3, "layer_types": [F, "minimax_m3_sparse", "minimax_m3_sparse"], "mlp_layer_types": ["dense", "sparse", "sparse"], "intermediate_size": 14,
             "index_block_size": 4, "index_topk_blocks": 2, "index_head_dim": 8, "swiglu_limit": 0.5, "swiglu_alpha": 1.3,
             "rope_parameters": {"rope_theta": 50.0, "partial_rotary_factor": 0.5}},
        # one indexer for all heads; blocks of an odd number of keys, of which two are read in any case
        "other": flipped(num_hidden_layers=3, layer_types=["minimax_m3_sparse", F, "minimax_m3_sparse"], mlp_layer_types=["sparse", "dense", "sparse"], intermediate_size=14,
                         index_n_heads=1, index_block_size=3, index_topk_blocks=4, index_local_blocks=2, index_head_dim=12, swiglu_limit=0.3, rope_parameters=YARN),
        # an indexer for each head, and no block that is read in any case
        "heads": flipped(num_hidden_layers=2, layer_types=["minimax_m3_sparse", "minimax_m3_sparse"], mlp_layer_types=["sparse", "sparse"], intermediate_size=14,
                         index_n_heads=4, index_block_size=5, index_topk_blocks=1, index_local_blocks=0, index_head_dim=6, swiglu_limit=0.4,
                         rope_parameters={"rope_type": "linear", "rope_theta": 50.0, "factor": 4.0, "partial_rotary_factor": 0.5}),
        # as a GGUF has it: layers with experts have an indexer, limit and gain of the activation are constants
        "gguf": {"num_hidden_layers": 3, "layer_types": [F, "minimax_m3_sparse", "minimax_m3_sparse"], "mlp_layer_types": ["dense", "sparse", "sparse"], "intermediate_size": 14,
                 "shared_intermediate_size": 14, "index_block_size": 4, "index_topk_blocks": 3, "index_local_blocks": 2, "index_head_dim": 10,
                 "rope_parameters": {"rope_theta": 50.0, "partial_rotary_factor": 0.5}},
    },
    "phimoe": {
        "": {"num_hidden_layers": 2, "router_jitter_noise": 0.4, "rope_parameters": {"rope_type": "longrope", "rope_theta": 50.0, "original_max_position_embeddings": 100,
             "short_factor": [1.0, 1.5, 2.0, 2.5], "long_factor": [2.0, 2.5, 3.0, 3.5], "short_mscale": 1.2, "long_mscale": 1.3}},
        "other": flipped(num_hidden_layers=2, router_jitter_noise=0.2, sliding_window=5, tie_word_embeddings=False),
        # stretches as a file for longrope has them, which are 1 here
        "gguf": {"num_hidden_layers": 2, "router_jitter_noise": 0.01, "rope_parameters": {"rope_type": "longrope", "rope_theta": 50.0, "original_max_position_embeddings": 100,
                 "short_factor": [1.0, 1.5, 2.0, 2.5], "long_factor": [2.0, 2.5, 3.0, 3.5], "short_mscale": 1.0, "long_mscale": 1.0}},
    },
    "ministral": {"": {"layer_types": [S, F]}, "other": flipped()},
    "ministral3": {
        "": {"rope_parameters": GROWING},
        "other": flipped(sliding_window=5, rope_parameters=GROWING | {"llama_4_scaling_beta": 0.4, "mscale": 0.5}),
    },
    "modernbert-decoder": {
        "": {"num_hidden_layers": 4, "local_attention": 6},
        "other": flipped(num_hidden_layers=3, local_attention=10, layer_types=[S, F, S], classifier_activation="relu", hidden_activation="silu",
                         rope_parameters={F: PLAIN, S: PLAIN | {"rope_theta": 50.0}}),
    },
    "ultravbert": {name: {"class": f"UltraVBertFor{head}", "num_labels": 3, "tie_word_embeddings": tied, "vision_config": GEMMA_EYE | {"model_type": "siglip_vision_model"}, "text_config": {
        "model_type": "ultrabert", "vocab_size": 37, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4, "head_dim": 12,
        "max_position_embeddings": 40, "rms_norm_eps": 1e-3, "sliding_window": 3, "prediction_head_size": 24, "tie_word_embeddings": tied}}
        for name, head, tied in (("", "MaskedLM", False), ("tied", "MaskedLM", True), ("tokens", "TokenClassification", False))},
    "modernvbert": {
        "": {"text_config": {"model_type": "modernbert", "vocab_size": 37, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 4, "num_attention_heads": 4,
                             "max_position_embeddings": 40, "local_attention": 6, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2},
             "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 16, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 32,
                               "patch_size": 8, "vision_use_head": False}},
    },
    "nanochat": {"": {"rope_parameters": {"rope_theta": 50.0}, "num_key_value_heads": 2}, "other": flipped(final_logit_softcapping=None)},
    "olmo3": {
        "": {"rope_parameters": {F: YARN, S: {"rope_type": "default", "rope_theta": 1e4}}},
        "other": flipped(attention_bias=False, rope_parameters={F: PLAIN, S: YARN}),
    },
    "solar_open": {"": {}, "other": flipped(n_routed_experts=8, n_group=4, topk_group=2)},
    "phi4_multimodal": {
        "": BESIDE_PHI | {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}},
        "other": flipped(**BESIDE_PHI, sliding_window=5, original_max_position_embeddings=9, rope_parameters={
            "rope_type": "longrope", "rope_theta": 1e4, "partial_rotary_factor": 1.0, "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 2.0, 3.0, 4.0]}),
    },
    # decoders of encoder-decoders, without the encoder
    "bart": {"causal": {"class": "BartForCausalLM"}, "causal_other": flipped(**{"class": "BartForCausalLM"})} | of_one_text("Bart"),
    **{kind: {"causal": {"class": name}, "causal_other": flipped(**{"class": name})} for kind, name in {
        "marian": "MarianForCausalLM", "whisper": "WhisperForCausalLM"}.items()},
    # and whole
    **{kind: WHOLE | {"causal": {"class": name}, "causal_other": flipped(**{"class": name})} | more for kind, (name, more) in {
        "blenderbot": ("BlenderbotForCausalLM", {}), "blenderbot-small": ("BlenderbotSmallForCausalLM", {}), "mbart": ("MBartForCausalLM", of_one_text("MBart")),
        "pegasus": ("PegasusForCausalLM", {}), "plbart": ("PLBartForCausalLM", of_one_text("PLBart", answers=False))}.items()},
    "longformer": {
        "": {"attention_window": [4, 6]}, "other": flipped(attention_window=8), "answers": {"class": "LongformerForQuestionAnswering", "attention_window": 4, "sep_token_id": 8},
    },
    "m2m_100": {"": {"pad_token_id": 4}, "other": flipped(tie_word_embeddings=True, pad_token_id=7)},        # no tokens of the text
    "mvp": {"": {"use_prompt": False}, "other": flipped(use_prompt=False, tie_word_embeddings=True), "causal": {"class": "MvpForCausalLM"}, "causal_other": flipped(**{"class": "MvpForCausalLM", "use_prompt": False})} | of_one_text("Mvp", use_prompt=False),
    "t5gemma": {
        **{name: {"class": f"T5GemmaFor{head}Classification", "num_labels": 3, "encoder": GEMMA_HALF, "decoder": GEMMA_HALF | {"bos_token_id": 7}, "pad_token_id": LAST}
           for name, head in {"texts": "Sequence", "tokens": "Token"}.items()},
        "": {"encoder": GEMMA_HALF | {"num_hidden_layers": 2, "layer_types": [S, F], "sliding_window": 4, "hidden_size": 28, "intermediate_size": 36, "num_attention_heads": 2,
                                      "num_key_value_heads": 1, "head_dim": 8, "query_pre_attn_scalar": 12, "attn_logit_softcapping": 3.0,
                                      "rope_parameters": {"rope_type": "default", "rope_theta": 30.0}}, "decoder": GEMMA_HALF, "vocab_size": 37},
        "other": {"encoder": GEMMA_HALF | {"attention_bias": True, "hidden_activation": "silu", "attn_logit_softcapping": None}, "tie_word_embeddings": False,
                  "decoder": GEMMA_HALF | {"attention_bias": True, "hidden_activation": "relu", "attn_logit_softcapping": None, "final_logit_softcapping": None, "layer_types": [F, S, S]},
                  "vocab_size": 37},
    },
    "t5gemma2": {
        **{name: {"class": f"T5Gemma2For{head}Classification", "num_labels": 3, "encoder": {"text_config": GEMMA_3 | {"sliding_window": 9}, "vision_config": GEMMA_EYE},
                  "decoder": GEMMA_3 | {"bos_token_id": 7}, "pad_token_id": LAST} for name, head in {"texts": "Sequence", "tokens": "Token"}.items()},
        "": {"encoder": {"text_config": GEMMA_3 | {"num_hidden_layers": 2, "layer_types": [S, F], "sliding_window": 4, "intermediate_size": 36, "num_attention_heads": 2,
                                                   "num_key_value_heads": 1, "head_dim": 8, "query_pre_attn_scalar": 12}, "vision_config": GEMMA_EYE},
             "decoder": GEMMA_3 | {"final_logit_softcapping": 8.0}},
        "other": {"encoder": {"text_config": GEMMA_3 | {"attention_bias": True, "hidden_activation": "silu"}, "vision_config": GEMMA_EYE}, "tie_word_embeddings": False,
                  "decoder": GEMMA_3 | {"attention_bias": True, "hidden_activation": "relu", "layer_types": [F, S, S]}},
    },
    "switch_transformers": {
        "": {"num_layers": 4, "num_decoder_layers": 3, "num_sparse_encoder_layers": 2, "num_sparse_decoder_layers": 3, "num_experts": 4, "expert_capacity": 3},
        "other": {"num_layers": 2, "num_decoder_layers": 2, "num_sparse_encoder_layers": 0, "num_sparse_decoder_layers": 1, "num_experts": 3, "router_bias": True,
                  "dense_act_fn": "gelu_new"},
    },
    "longt5": {
        "": {"local_radius": 3, "global_block_size": 4, "encoder_attention_type": "transient-global", "feed_forward_proj": "gated-gelu"},
        "other": {"local_radius": 2, "encoder_attention_type": "local", "tie_word_embeddings": False, "relative_attention_num_buckets": 12},
        "short": {"local_radius": 5, "global_block_size": 20, "encoder_attention_type": "transient-global"},       # no whole block
    },
    "fsmt": {"": {"pad_token_id": 4, "src_vocab_size": 41, "tgt_vocab_size": 37}, "other": flipped(pad_token_id=7, src_vocab_size=39, tgt_vocab_size=37, tie_word_embeddings=False)},
    "encoder-decoder": {
        "": {"encoder": TINY_BERT, "decoder": TINY_BERT | IN_DECODER | {"vocab_size": 35, "hidden_size": 28, "num_hidden_layers": 3, "intermediate_size": 36, "hidden_act": "relu", "layer_norm_eps": 1e-2},
             "decoder_start_token_id": 7},
        "roberta": {"encoder": TINY_BERT | {"model_type": "roberta", "pad_token_id": 4}, "decoder": TINY_BERT | IN_DECODER | {"model_type": "roberta", "hidden_act": "silu", "pad_token_id": 9, "type_vocab_size": 1},
                    "decoder_start_token_id": 7},
        "mixed": {"encoder": TINY_BERT | {"model_type": "bert-generation"}, "decoder": TINY_BERT | IN_DECODER | {"model_type": "xlm-roberta", "tie_word_embeddings": False}, "decoder_start_token_id": 7},
        "generation": {"encoder": TINY_BERT | {"model_type": "camembert"}, "decoder": TINY_BERT | IN_DECODER | {"model_type": "bert-generation"}, "decoder_start_token_id": 7},
    },
    "prophetnet": {
        "": {"num_encoder_layers": 3, "num_decoder_attention_heads": 2, "decoder_ffn_dim": 24},
        "other": flipped(ngram=3, num_buckets=6, relative_max_distance=9, activation_function="relu"),
        "causal": {"class": "ProphetNetForCausalLM", "num_decoder_attention_heads": 2}, "causal_other": flipped(**{"class": "ProphetNetForCausalLM", "ngram": 1, "relative_max_distance": 9}),
    },
    "led": {
        "": {"attention_window": [4, 6], "max_encoder_position_embeddings": 48},
        "other": flipped(attention_window=8, tie_word_embeddings=True, activation_function="relu"),
        **of_one_text("LED", texts=False, attention_window=[4, 6], max_encoder_position_embeddings=48),
    },
    "nllb-moe": {
        "": {"pad_token_id": 4, "encoder_layers": 4, "decoder_layers": 3, "encoder_sparse_step": 2, "decoder_sparse_step": 3, "num_experts": 5, "moe_token_dropout": 0.25},
        "other": {"pad_token_id": 7, "encoder_layers": 2, "decoder_layers": 2, "encoder_sparse_step": 1, "decoder_sparse_step": 0, "num_experts": 4, "router_bias": True,
                  "moe_token_dropout": 0.0, "scale_embedding": False, "activation_function": "gelu", "normalize_router_prob_before_dropping": True, "batch_prioritized_routing": True},
    },
    "pegasus_x": {
        "": {"num_global_tokens": 3, "block_size": 4, "encoder_layers": 3},
        "other": {"num_global_tokens": 2, "block_size": 5, "stagger_local_blocks": False, "scale_embedding": False, "activation_function": "relu"},
    },
    "bigbird_pegasus": {
        "": {"attention_type": "block_sparse", "block_size": 2, "num_random_blocks": 3}, "other": flipped(attention_type="original_full", use_bias=True, tie_word_embeddings=True),
        "causal": {"class": "BigBirdPegasusForCausalLM"}, "causal_other": flipped(**{"class": "BigBirdPegasusForCausalLM"}),
        **of_one_text("BigBirdPegasus"),
    },
    "t5": of_one_text("T5", tokens=True, feed_forward_proj="gated-gelu"), "mt5": of_one_text("MT5", tokens=True, others=RELU),
    "umt5": of_one_text("UMT5", tokens=True, others=RELU | {"relative_attention_num_buckets": 12}) | {"": {}, "other": flipped(feed_forward_proj="relu", is_gated_act=False, dense_act_fn="relu", relative_attention_num_buckets=12, tie_word_embeddings=False)},
    "trocr": {"": {"pad_token_id": 4}, "other": flipped(pad_token_id=7)},        # no tokens of the text
    "vaultgemma": {
        "": {},
        "other": flipped(attention_bias=False, tie_word_embeddings=True, final_logit_softcapping=None, attn_logit_softcapping=None, layer_types=[F, F, S]),
    },
    "qwen3_moe": {"": {}, "other": flipped(attention_bias=False, use_sliding_window=False)},
    "xglm": {"": {}, "other": flipped(add_cross_attention=False)},
    "youtu": {
        "": {"head_dim": 4},
        "other": flipped(attention_bias=False, rope_interleave=True, q_lora_rank=None, qk_rope_head_dim=8, head_dim=8,
                         rope_parameters=YARN | {"mscale": 0.7, "mscale_all_dim": 0.7}),
    },
}
OF_ENCODER = {key: "of the encoder" for key in ("encoder_layers", "encoder_attention_heads", "encoder_ffn_dim")}
# for each type, and for all, options that are not visible in the output, and the reason
INVISIBLE = {
    "longformer": {"onnx_export": "of another file", "tie_word_embeddings": "of the head for masked words"},
    **{kind: OF_ENCODER for kind in ("bart", "marian", "mbart", "pegasus", "plbart")},
    "aria": {"vision_feature_layer": "of pictures", "max_value_projector_patch_to_query_dict": "of pictures"},
    "bigbird_pegasus": OF_ENCODER | {key: "of the encoder" for key in ("attention_type", "block_size", "num_random_blocks")} | {
        "tie_word_embeddings": "the class has a head of its own in both cases"},
    "blenderbot-small": OF_ENCODER | {"scale_embedding": "of the encoder"},
    "mvp": OF_ENCODER | {key: "of prompts" for key in ("use_prompt", "prompt_length", "prompt_mid_dim")},
    "blenderbot": OF_ENCODER | {"encoder_no_repeat_ngram_size": "of generation"},
    "whisper": OF_ENCODER | {key: "of the encoder" for key in (
        "scale_embedding", "num_mel_bins", "max_source_positions", "use_weighted_layer_sum", "classifier_proj_size",
        "apply_spec_augment", "mask_time_prob", "mask_time_length", "mask_time_min_masks", "mask_feature_prob", "mask_feature_length", "mask_feature_min_masks",
        "median_filter_width")} | {"max_target_positions": "it only limits the context", "suppress_tokens": "of generation", "begin_suppress_tokens": "of generation"},
    "biogpt": {"layer_norm_eps": "the class never reads it"},
    "big_bird": {"block_size": "of longer texts", "num_random_blocks": "of longer texts"},
    "deberta": {"pooler_hidden_act": "of classifiers", "pooler_hidden_size": "of classifiers", "pos_att_type": "its order"},
    "deberta-v2": {"pooler_hidden_act": "of classifiers", "pooler_hidden_size": "of classifiers", "pos_att_type": "its order"},
    "dory": {"layer_types": "it has mlp after each layer; the two configurations differ in it", "n_recurrent_layers": "what the two other numbers leave",
             "recurrent_kv_cache_mode": "lathe refuses the other one"},
    "electra": {"summary_activation": "of choices", "summary_use_proj": "of choices"},
    "esmc": {"tie_word_embeddings": "the head is separate"},
    "fnet": {"tpu_short_seq_length": "of another way to the same numbers"},
    "hy_v3": {"enable_moe_fp32_combine": "the type of a sum"},
    "deepseek_v4": {**{key: "the class has no other" for key in ("attention_bias", "n_shared_experts", "norm_topk_prob", "num_key_value_heads", "num_nextn_predict_layers")},
                    **{key: "rope_parameters, which the class saves beside it, has precedence" for key in ("compress_rope_theta", "partial_rotary_factor", "qk_rope_head_dim", "rope_theta")}},
    "hy_v4": {"head_dim": "the class sets it to qk_rope_head_dim", "num_key_value_heads": "the class sets it to num_attention_heads"},
    "layoutlm": {"max_2d_position_embeddings": "it only limits the coordinates"},
    "luke": {"entity_emb_size": "of entities", "use_entity_aware_attention": "of entities", "tie_word_embeddings": "the head is separate"},
    "prophetnet": {"disable_ngram_loss": "of training", "eps": "of training"},
    "mpnet": {"relative_attention_num_buckets": "the class always has 32"},
    "rembert": {"tie_word_embeddings": "the head is separate"},
    "xmod": {"languages": "their order"},
    "modernbert-decoder": {"local_attention": "sliding_window, which the class saves beside it, has precedence"},
    "": {"max_position_embeddings": "it only limits the context", "pretraining_tp": "of training", "qk_head_dim": "the sum of two others"},
    "deepseek_v32": {"head_dim": "the class sets it to qk_rope_head_dim", "mlp_bias": "the class has none"},
    "dots3_note_text": {"head_dim": "only sizes of layers with a window must agree with it", "mlp_bias": "the class has none"}
                       | {f"rope_parameters.{t}.partial_rotary_factor": "the class computes it" for t in (S, F, "indexed_attention")},
    "inkling2_text": {"hidden_act": "the class reads it nowhere"}, "inkling2_loop_text": {"hidden_act": "the class reads it nowhere"},
    "inkling_text": {"rms_norm_eps_moe_gate": "the class reads it nowhere", "shared_expert_sink": "the class reads it nowhere", "number_of_conv_states": "of caches",
                     **{k: "of layers that predict further tokens" for k in ("chain_hidden_post_norm", "mtp_hidden_states_first")}},
    "axk2": {"head_dim": "the class sets it to qk_rope_head_dim"},
    "qwen4_exp_text": {"number_of_conv_states": "the class computes it"},
    "glm_moe_dsa": {"head_dim": "the class sets it to qk_rope_head_dim", "mlp_bias": "the class has none"},
    "minicpm3": {"head_dim": "the class sets it to qk_rope_head_dim", "rope_parameters.long_factor": "of long texts"},
    "minimax": {"block_size": "it only cuts the sums"},
    "minimax_m3_vl_text": {"hidden_act": "the class sets silu, and does not use it", "rotary_dim": "the class reads partial_rotary_factor"},
    "phimoe": {"num_experts_per_tok": "the class always takes two", "rope_parameters.long_factor": "of long texts", "rope_parameters.long_mscale": "of long texts"},
}


def of_type(kind):
    """{name of the folder: keys}"""
    rows = CONFIGURATIONS.get(kind, DEFAULT)
    return {f"{kind}_{name}".rstrip("_").replace("-", "_"): keys for name, keys in rows.items()}
