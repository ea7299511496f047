"""Lists of a configuration with an element for each layer, unlike those that published files have, and windows that follow from other keys."""

import common
import torch
import transformers as t

SIZES = dict(vocab_size=37, hidden_size=24, intermediate_size=36, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=32)
ENCODER = dict(vocab_size=37, num_attention_heads=3, hidden_size=12, intermediate_size=20)


def decoder(name, kind, config):
    common.decoder(name, common.published(name, kind, config))


S, F = "sliding_attention", "full_attention"
FIVE = SIZES | dict(num_hidden_layers=5, head_dim=6, sliding_window=4)
BARE = {k: v for k, v in FIVE.items() if k != "head_dim"}
YARN = {"rope_type": "yarn", "rope_theta": 1.5e5, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
        "original_max_position_embeddings": 16}
EXPERTS = dict(moe_intermediate_size=20, num_experts=5, num_experts_per_tok=2, use_sliding_window=True)
decoder("cohere2_layers", t.Cohere2ForCausalLM, t.Cohere2Config(**BARE, layer_types=[F, S, S, F, F]))
decoder("gpt_oss_layers", t.GptOssForCausalLM, t.GptOssConfig(**FIVE, num_local_experts=4, num_experts_per_tok=2, rope_parameters=YARN,
                                                              layer_types=[F, S, S, F, F]))
decoder("gemma2_layers", t.Gemma2ForCausalLM, t.Gemma2Config(**FIVE, query_pre_attn_scalar=6, layer_types=[F, S, S, F, F]))
decoder("gemma3_layers", t.Gemma3ForCausalLM, t.Gemma3TextConfig(**FIVE, query_pre_attn_scalar=6, layer_types=[F, S, S, F, F]))
decoder("qwen2_layers", t.Qwen2ForCausalLM, t.Qwen2Config(**BARE, use_sliding_window=True, layer_types=[F, S, S, F, F]))
decoder("qwen2_moe_window", t.Qwen2MoeForCausalLM, t.Qwen2MoeConfig(**BARE, **EXPERTS, max_window_layers=3, shared_expert_intermediate_size=12))
decoder("qwen3_moe_window", t.Qwen3MoeForCausalLM, t.Qwen3MoeConfig(**FIVE, **EXPERTS, norm_topk_prob=True))
decoder("smollm3_layers", t.SmolLM3ForCausalLM, t.SmolLM3Config(**SIZES | dict(num_hidden_layers=5, pad_token_id=0), no_rope_layers=[0, 1, 0, 0, 1]))
decoder("gpt_neo_groups", t.GPTNeoForCausalLM, t.GPTNeoConfig(
    vocab_size=37, hidden_size=24, num_layers=5, num_heads=4, max_position_embeddings=32, window_size=4, attention_types=[[["global"], 1], [["local", "global"], 2]]))
decoder("phi3_below", t.Phi3ForCausalLM, t.Phi3Config(
    **SIZES, original_max_position_embeddings=64, pad_token_id=0,
    rope_parameters={"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.5, 1.25, 2.0], "long_factor": [8.0, 4.0, 2.0]}))

model = common.published("modernbert_layers", t.ModernBertModel, t.ModernBertConfig(
    **ENCODER, num_hidden_layers=4, max_position_embeddings=32, local_attention=6, pad_token_id=0, cls_token_id=1, sep_token_id=2,
    layer_types=[S, F, F, S]))
tokens, keep = common.tokens(19, 37), (torch.arange(19) < 16).long()
with torch.no_grad():
    hidden = model(input_ids=tokens[None], attention_mask=keep[None]).last_hidden_state[0]
common.record("modernbert_layers", {"tokens": tokens, "keep": keep}, {"hidden": hidden})
