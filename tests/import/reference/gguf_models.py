"""Small GGUF files of architectures that transformers has not, or whose directories have no weights made from names: keys and shapes of
tensors; numbers are made from names (seeded.py).  Without numpy.  What llama.cpp computes from them is in kept/gguf (llama_logits.py).

MODELS: for each file its architecture, keys, tensors outside of the layers, those of each layer, in words: "attn_q q d" is a tensor
attn_q.weight [q, d], of sizes by letter; a number in place of a letter is a size; "attn_q.bias q" has its ending; ":0.5" at the end is
the number about which a vector's numbers lie (1 of norms, else 0)."""
import os

import described_gguf
import seeded
from described_gguf import gguf_file

SIZES = {"d": 32, "q": 32, "k": 16, "f": 40, "v": 37, "e": 5, "h": 14, "c": 8, "n": 4, "w": 128}
COMMON = {"block_count": 2, "context_length": 64, "embedding_length": 32, "feed_forward_length": 40, "attention.head_count": 4, "attention.head_count_kv": 2}
RMS = {"attention.layer_norm_rms_epsilon": 1e-3}
NO_EPS = {"attention.layer_norm_rms_epsilon": 1e-12}     # llama.cpp does not read it for these
NORM = {"attention.layer_norm_epsilon": 1e-3}
TURN = {"rope.freq_base": 50.0}
EXPERTS = {"expert_count": 5, "expert_used_count": 2, "expert_feed_forward_length": 14}

ENDS = "token_embd v d, output_norm d, output v d"
TIED = "token_embd v d, output_norm d"
ATTN = "attn_norm d, attn_q q d, attn_k k d, attn_v k d, attn_output d q"


def heads_of(heads, groups=2):
    return f"attn_norm d, attn_q {8 * heads} d, attn_k {8 * groups} d, attn_v {8 * groups} d, attn_output d {8 * heads}"


BIASES = "attn_q.bias q, attn_k.bias k, attn_v.bias k"
QK_NORM = "attn_q_norm c, attn_k_norm c"
FFN = "ffn_norm d, ffn_gate f d, ffn_up f d, ffn_down d f"
FFN24, FFN16 = ("ffn_norm d, ffn_gate {0} d, ffn_up {0} d, ffn_down d {0}".format(n) for n in (24, 16))
FUSED = "attn_norm d, attn_qkv 64 d, attn_output d q"
MOE = "ffn_norm d, ffn_gate_inp e d, ffn_gate_exps e h d, ffn_up_exps e h d, ffn_down_exps e d h"
SHARED = "ffn_gate_shexp h d, ffn_up_shexp h d, ffn_down_shexp d h"
BERT = "token_embd v d, token_types 2 d, token_embd_norm d, token_embd_norm.bias d"
BERT_ATTN = "attn_q q d, attn_q.bias q, attn_k q d, attn_k.bias q, attn_v q d, attn_v.bias q, attn_output d q, attn_output.bias d"
BERT_FFN = "ffn_up f d, ffn_up.bias f, ffn_down d f, ffn_down.bias d"
POST = "attn_output_norm d, attn_output_norm.bias d, layer_output_norm d, layer_output_norm.bias d"
BOTH = {"attention.causal": False, "attention.head_count_kv": None, "pooling_type": 1}
RWKV = """attn_norm w, attn_norm.bias w, attn_norm_2 w, attn_norm_2.bias w, time_mix_lerp_fused 6 1 1 w, time_mix_w0 w, time_mix_w1 6 w, time_mix_w2 w 6, time_mix_a0 w,
          time_mix_a1 5 w, time_mix_a2 w 5, time_mix_v0 w, time_mix_g1 9 w, time_mix_g2 w 9, time_mix_k_k w, time_mix_k_a w, time_mix_r_k w, time_mix_receptance w w,
          time_mix_key w w, time_mix_value w w, time_mix_output w w, time_mix_ln w :1, time_mix_ln.bias w, channel_mix_lerp_k 1 1 w, channel_mix_key f w, channel_mix_value w f"""
MIMO = "attn_norm d, attn_q q d, attn_k k d, attn_v 12 d, attn_output d 24"
PLAMO_MAMBA = """attn_norm d, ssm_in 128 d, ssm_conv1d 64 4, ssm_x 96 64, ssm_dt 4 64, ssm_dt.bias 4, !ssm_dt_norm 64, !ssm_b_norm 16, !ssm_c_norm 16, !ssm_a 4 :-1, !ssm_d 4 :1,
                 ssm_out d 64"""
PLAMO_FFN = "!post_attention_norm d, ffn_norm d, ffn_up 80 d, ffn_down d f, !post_ffw_norm d"
WINDOWS = {"attention.sliding_window": 5}

# name: (architecture, keys, ends, layers: one text for all, or a list); a key None is absent
MODELS = {
    "bitnet": ("bitnet", RMS | TURN | {"rope.scaling.type": "linear", "rope.scaling.factor": 1.0}, TIED, [ATTN, "attn_sub_norm d", FFN, "ffn_sub_norm f"]),
    "cohere2": ("cohere2", NORM | TURN | WINDOWS | {"block_count": 4, "logit_scale": 0.5, "rope.dimension_count": 8, "rope.scaling.type": "none"}, TIED,
                [ATTN, "ffn_gate f d, ffn_up f d, ffn_down d f"]),
    "deepseek": ("deepseek", RMS | TURN | EXPERTS | {"block_count": 3, "leading_dense_block_count": 1, "expert_shared_count": 2, "expert_weights_scale": 1.0}, ENDS,
                 [[ATTN, FFN]] + 2 * [[ATTN, MOE, "ffn_gate_shexp 28 d, ffn_up_shexp 28 d, ffn_down_shexp d 28"]]),
    "glm4moe": ("glm4moe", RMS | TURN | EXPERTS | {"block_count": 3, "leading_dense_block_count": 1, "expert_shared_count": 1, "expert_weights_scale": 1.5,
                "expert_weights_norm": True, "expert_gating_func": 2, "rope.dimension_count": 4}, ENDS,
                [[ATTN, BIASES, QK_NORM, FFN.replace("ffn_norm", "post_attention_norm")]] +
                2 * [[ATTN, BIASES, QK_NORM, MOE.replace("ffn_norm", "post_attention_norm"), "exp_probs_b.bias e", SHARED]]),
    "granitemoe": ("granitemoe", RMS | TURN | EXPERTS | {"feed_forward_length": 14, "expert_feed_forward_length": None, "attention.scale": 0.3, "embedding_scale": 3.0,
                   "residual_scale": 0.5, "logit_scale": 2.0}, TIED, [ATTN, MOE]),
    "hunyuan_moe": ("hunyuan-moe", RMS | TURN | EXPERTS | {"feed_forward_length": 14, "expert_shared_feed_forward_length": 14, "expert_shared_count": 1}, TIED,
                    [ATTN, QK_NORM, MOE, SHARED]),
    "hunyuan_vl": ("hunyuan_vl", RMS | TURN | {"rope.scaling.alpha": 7.0, "rope.dimension_sections": [2, 1, 1, 0]}, TIED, [ATTN, QK_NORM, FFN]),
    "minimax_01": ("minimax-01", {"attention.layer_norm_rms_epsilon": 1e-6} | TURN | {"block_count": 3, "feed_forward_length": 14, "expert_count": 5, "expert_used_count": 2, "attention.head_count_kv": 2,
                   "rope.dimension_count": 4, "residual_scale": 1.5, "attention.recurrent_layers": [True, False, True], "attention.key_length": 8, "attention.value_length": 8}, ENDS,
                   [["attn_norm d, attn_qkv 96 d, attn_gate q d, attn_output d q, attn_norm_2 q", MOE], [ATTN, MOE],
                    ["attn_norm d, attn_qkv 96 d, attn_gate q d, attn_output d q, attn_norm_2 q", MOE]]),
    "minimax_m2": ("minimax-m2", RMS | TURN | EXPERTS | {"feed_forward_length": 14, "expert_gating_func": 2, "rope.dimension_count": 4}, ENDS,
                   [ATTN, "attn_q_norm q, attn_k_norm k", MOE, "exp_probs_b.bias e"]),
    "mpt": ("mpt", NORM | {"attention.head_count_kv": None, "attention.max_alibi_bias": 8.0, "attention.clamp_kqv": 0.8}, TIED,
            ["attn_norm d, attn_qkv 96 d, attn_output d q, ffn_norm d, ffn_up f d, ffn_down d f"]),
    "paddleocr": ("paddleocr", NO_EPS | TURN | {"rope.dimension_sections": [2, 1, 1, 0]}, TIED, [ATTN, FFN]),
    "qwen2vl": ("qwen2vl", NO_EPS | TURN | {"rope.dimension_sections": [2, 1, 1, 0]}, ENDS, [ATTN, BIASES, FFN]),
    "qwen3vl": ("qwen3vl", RMS | TURN | {"rope.dimension_sections": [2, 1, 1, 0], "n_deepstack_layers": 1}, TIED, [ATTN, QK_NORM, FFN]),
    "qwen3vlmoe": ("qwen3vlmoe", RMS | TURN | EXPERTS | {"rope.dimension_sections": [2, 1, 1, 0]}, ENDS, [ATTN, QK_NORM, MOE]),
    "llama_embed": ("llama-embed", RMS | TURN | {"pooling_type": 1, "attention.causal": False}, TIED, [ATTN, FFN]),
    "gemma_embedding": ("gemma-embedding", RMS | TURN | WINDOWS | {"block_count": 7, "attention.key_length": 8, "attention.value_length": 8, "rope.freq_base_swa": 20.0,
                        "pooling_type": 1, "attention.sliding_window": 6}, TIED,
                        [ATTN, QK_NORM, FFN, "post_attention_norm d, post_ffw_norm d"]),
    # decoders that transformers has no class of
    "arctic": ("arctic", RMS | TURN | {"feed_forward_length": 14, "expert_count": 5, "expert_used_count": 2}, ENDS,
               [ATTN, "ffn_norm d, ffn_gate d d, ffn_up d d, ffn_down d d, ffn_norm_exps d", MOE.replace("ffn_norm d, ", "")]),
    "baichuan": ("baichuan", RMS | TURN | {"block_count": 32}, ENDS, [ATTN, FFN]),
    "baichuan_13b": ("baichuan", RMS | {"block_count": 40, "attention.head_count_kv": 4}, ENDS, [heads_of(4, 4), FFN]),
    "bailingmoe": ("bailingmoe", RMS | TURN | EXPERTS | {"expert_shared_count": 2, "expert_weights_scale": 1.5, "expert_weights_norm": True}, ENDS,
                   [ATTN, MOE, "ffn_gate_shexp 28 d, ffn_up_shexp 28 d, ffn_down_shexp d 28"]),
    "bailingmoe2": ("bailingmoe2", RMS | TURN | EXPERTS | {"block_count": 3, "leading_dense_block_count": 1, "expert_shared_count": 1, "expert_shared_feed_forward_length": 14,
                    "expert_weights_scale": 2.5, "expert_weights_norm": True, "expert_gating_func": 2, "rope.dimension_count": 4}, ENDS,
                    [[FUSED, QK_NORM, FFN]] + 2 * [[FUSED, QK_NORM, MOE, "exp_probs_b.bias e", SHARED]]),
    "codeshell": ("codeshell", NORM | TURN, ENDS + ", output_norm.bias d",
                  [FUSED, "attn_norm.bias d, attn_qkv.bias 64, attn_output.bias d, ffn_norm d, ffn_norm.bias d, ffn_up f d, ffn_up.bias f, ffn_down d f, ffn_down.bias d"]),
    "cogvlm": ("cogvlm", RMS | {"attention.head_count_kv": 4}, ENDS,
               ["attn_norm d, attn_qkv 96 d, attn_output d q", FFN, "vis_attn_qkv 96 d, vis_attn_output d q, vis_gate f d, vis_up f d, vis_down d f"]),
    "deci": ("deci", RMS | TURN | {"block_count": 4, "attention.head_count": [4, 4, 0, 4], "attention.head_count_kv": [2, 0, 0, 4], "feed_forward_length": [40, 24, 40, 16],
             "attention.key_length": 8, "attention.value_length": 8}, ENDS,
             [[ATTN, FFN], ["attn_norm d, attn_output d d", FFN24], [FFN], [heads_of(4, 4), FFN16]]),
    "exaone": ("exaone", RMS | TURN, TIED + ", rope_freqs 4 :1.5", [ATTN, FFN]),
    "grok": ("grok", RMS | TURN | {"expert_count": 5, "expert_used_count": 2, "feed_forward_length": 14, "attention.output_scale": 0.3, "attn_logit_softcapping": 2.0,
             "router_logit_softcapping": 1e9, "embedding_scale": 3.0, "logit_scale": 0.5}, ENDS, [ATTN, "attn_output_norm d", MOE, "layer_output_norm d"]),
    "grok2": ("grok", RMS | TURN | EXPERTS | {"attention.output_scale": 0.3, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 1.5,
              "router_logit_softcapping": 1e9, "embedding_scale": 3.0, "logit_scale": 0.5}, ENDS,
              [ATTN, "attn_output_norm d", MOE, "ffn_gate f d, ffn_up f d, ffn_down d f, post_ffw_norm d"]),
    "jais": ("jais", NORM | {"attention.head_count_kv": None, "attention.max_alibi_bias": 8.0}, ENDS + ", output_norm.bias d",
             ["attn_norm d, attn_norm.bias d, attn_qkv 96 d, attn_qkv.bias 96, attn_output d q, attn_output.bias d, ffn_norm d, ffn_norm.bias d, ffn_gate f d, ffn_gate.bias f",
              "ffn_up f d, ffn_up.bias f, ffn_down d f, ffn_down.bias d"]),
    "maincoder": ("maincoder", RMS | TURN, ENDS, [ATTN, QK_NORM, FFN]),
    "maple": ("maple", RMS | TURN | WINDOWS | EXPERTS | {"block_count": 3, "attention.sliding_window_pattern": [True, True, False], "swiglu_clamp_exp": [0.1, 0.1, 0.1],
              "rope.dimension_count": 4}, ENDS, [ATTN, QK_NORM, MOE]),
    "muse_glimmer": ("muse-glimmer", RMS | TURN | WINDOWS | {"block_count": 4, "logit_scale": 0.5, "final_logit_softcapping": 1.5}, ENDS,
                     [ATTN, QK_NORM, "attn_gate q d, post_attention_norm d", FFN, "post_ffw_norm d"]),
    "openelm": ("openelm", RMS | TURN | {"block_count": 3, "attention.head_count": [4, 2, 6], "attention.head_count_kv": [2, 1, 3], "feed_forward_length": [40, 24, 40],
                "attention.key_length": 8, "attention.value_length": 8}, TIED,
                [["attn_norm d, attn_qkv 64 d, attn_output d 32", QK_NORM, FFN], ["attn_norm d, attn_qkv 32 d, attn_output d 16", QK_NORM, FFN24],
                 ["attn_norm d, attn_qkv 96 d, attn_output d 48", QK_NORM, FFN]]),
    "orion": ("orion", NORM, ENDS + ", output_norm.bias d", [ATTN, FFN, "attn_norm.bias d, ffn_norm.bias d"]),
    "pangu": ("pangu-embedded", RMS | TURN, TIED, [ATTN, BIASES, "attn_output.bias d", FFN]),
    "plamo": ("plamo", RMS, ENDS, [ATTN, "ffn_gate f d, ffn_up f d, ffn_down d f"]),
    "plamo3": ("plamo3", RMS | TURN | WINDOWS | {"block_count": 4, "attention.sliding_window_pattern": 3, "rope.freq_base_swa": 20.0, "attention.key_length": 8,
               "attention.value_length": 8}, TIED, [FUSED, QK_NORM, "!post_attention_norm d, ffn_norm d, ffn_up 80 d, ffn_down d f, !post_ffw_norm d"]),
    "plm": ("plm", {"attention.layer_norm_rms_epsilon": 1e-6} | TURN | {"attention.head_count_kv": 4, "attention.kv_lora_rank": 10, "attention.key_length": 10, "attention.value_length": 6,
            "rope.dimension_count": 4}, TIED,
            ["attn_norm d, attn_q 40 d, attn_kv_a_mqa 14 d, attn_kv_a_norm 10, attn_kv_b 48 10, attn_output d 24, ffn_norm d, ffn_up f d, ffn_down d f"]),
    "qwen": ("qwen", RMS | TURN | {"attention.head_count_kv": 4, "feed_forward_length": 80}, ENDS, ["attn_norm d, attn_qkv 96 d, attn_qkv.bias 96, attn_output d q", FFN]),
    "refact": ("refact", RMS | {"attention.head_count_kv": 1}, ENDS, [heads_of(4, 1), FFN]),
    "smallthinker": ("smallthinker", RMS | TURN | EXPERTS | {"block_count": 5, "attention.sliding_window": 4096, "expert_gating_func": 1}, TIED, [ATTN, MOE]),
    "smallthinker_sigmoid": ("smallthinker", RMS | TURN | EXPERTS | {"expert_gating_func": 2}, ENDS, [ATTN, MOE]),
    "spark2_5": ("spark2_5", RMS | TURN | WINDOWS | {"block_count": 3, "attention.head_count": [4, 2, 6], "attention.sliding_window_pattern": [True, False, True],
                 "attention.key_length": 8, "attention.value_length": 8, "rope.freq_base_swa": 20.0, "rope.dimension_count": 4, "rope.dimension_count_swa": 8}, TIED,
                 [[ATTN, "attn_gate 4 d", FFN], [heads_of(2), "attn_gate 2 d", FFN], [heads_of(6), "attn_gate 6 d", FFN]]),
    "step35": ("step35", RMS | TURN | WINDOWS | EXPERTS | {"block_count": 3, "attention.head_count": [4, 2, 6], "attention.head_count_kv": [2, 2, 2],
               "attention.sliding_window_pattern": [False, True, False], "attention.key_length": 8, "attention.value_length": 8, "rope.freq_base_swa": 20.0,
               "expert_shared_feed_forward_length": 14, "expert_weights_scale": 1.5, "expert_weights_norm": True, "expert_gating_func": 2, "leading_dense_block_count": 1,
               "moe_every_n_layers": 1, "swiglu_clamp_exp": [0.0, 0.0, 0.1], "swiglu_clamp_shexp": [0.0, 0.1, 0.0]}, ENDS + ", rope_freqs 4 :1.5",
               [[ATTN, QK_NORM, "attn_gate 4 d", FFN], [heads_of(2), QK_NORM, "attn_gate 2 d", MOE, "exp_probs_b.bias e", SHARED],
                [heads_of(6), QK_NORM, "attn_gate 6 d", MOE, "exp_probs_b.bias e", SHARED]]),
    "talkie": ("talkie", RMS | TURN | {"logit_scale": 0.5}, "token_embd v d, output v d",
               ["attn_q q d, attn_k k d, attn_v k d, attn_output d q, attn_q_norm n 1, ffn_gate f d, ffn_up f d, ffn_down d f, layer_output_scale 1"]),
    "xverse": ("xverse", RMS | TURN, ENDS, [ATTN, FFN]),
    "mimo2": ("mimo2", RMS | TURN | WINDOWS | EXPERTS | {"block_count": 4, "attention.head_count_kv": [1, 2, 2, 2], "attention.sliding_window_pattern": [0, 1, 1, 0],
              "attention.key_length": 8, "attention.value_length": 6, "rope.dimension_count": 4, "rope.freq_base_swa": 20.0, "attention.value_scale": 0.5, "expert_gating_func": 2},
              ENDS, [["attn_norm d, attn_q q d, attn_k 8 d, attn_v 6 d, attn_output d 24", FFN], [MIMO, "attn_sinks 4", MOE, "exp_probs_b.bias e"],
                     [MIMO, "attn_sinks 4", MOE, "exp_probs_b.bias e"], [MIMO, MOE, "exp_probs_b.bias e"]]),
    "plamo2": ("plamo2", RMS | TURN | {"block_count": 3, "attention.head_count": [4, 0, 0], "attention.head_count_kv": [2, 0, 0], "attention.key_length": 8, "attention.value_length": 8,
               "ssm.state_size": 16, "ssm.conv_kernel": 4, "ssm.time_step_rank": 4, "ssm.inner_size": 64, "ssm.group_count": 0, "rope.dimension_count": 8}, TIED,
               [["attn_norm d, attn_qkv 64 d, attn_q_norm 4 c, attn_k_norm 2 c, attn_output d q", PLAMO_FFN]] + 2 * [[PLAMO_MAMBA, PLAMO_FFN]]),
    "rwkv7": ("rwkv7", {"embedding_length": 128, "attention.layer_norm_epsilon": 1e-5, "attention.head_count": 0, "attention.head_count_kv": None, "wkv.head_size": 64,
              "attention.decay_lora_rank": 6, "attention.iclr_lora_rank": 5, "attention.value_residual_mix_lora_rank": 7, "attention.gate_lora_rank": 9, "token_shift_count": 2},
              "token_embd v w, output_norm w, output v w, output_norm.bias w, token_embd_norm w, token_embd_norm.bias w",
              [[RWKV, "time_mix_v1 5 w, time_mix_v2 w 5"], [RWKV, "time_mix_v1 7 w, time_mix_v2 w 7"]]),
    "seed_oss": ("seed_oss", RMS | TURN | {"attention.key_length": 8, "attention.value_length": 8}, ENDS, [ATTN, BIASES, FFN.replace("ffn_norm", "post_attention_norm")]),
    # encoders, and decoders that fill masks
    "eurobert": ("eurobert", RMS | TURN | {"pooling_type": 1, "attention.causal": False}, TIED, [ATTN, FFN]),
    "neo_bert": ("neo-bert", RMS | TURN | {"pooling_type": 2, "attention.causal": False, "attention.head_count_kv": None, "rope.scaling.type": "none"},
                 "token_embd v d, !enc.output_norm.weight d",
                 ["attn_norm d, attn_qkv 96 d, attn_output d q, ffn_norm d, ffn_up 80 d, ffn_down d f"]),
    "nomic_bert": ("nomic-bert", NORM | TURN | BOTH, BERT, ["attn_qkv 96 d, attn_output d q", POST, "ffn_gate f d, ffn_up f d, ffn_down d f"]),
    "nomic_bert_moe": ("nomic-bert-moe", NORM | TURN | BOTH | {"block_count": 3, "moe_every_n_layers": 2, "expert_count": 5, "expert_used_count": 2}, BERT,
                       [[BERT_ATTN, POST, BERT_FFN], [BERT_ATTN, POST, "ffn_gate_inp e d, ffn_up_exps e f d, ffn_down_exps e d f"], [BERT_ATTN, POST, BERT_FFN]]),
    "jina_bert_v2": ("jina-bert-v2", NORM | BOTH, BERT, [BERT_ATTN, POST, "ffn_gate f d, ffn_up f d, ffn_down d f, ffn_down.bias d"]),
    "jina_bert_v2_code": ("jina-bert-v2", NORM | BOTH, BERT, [BERT_ATTN, POST, "attn_q_norm d, attn_q_norm.bias d, attn_k_norm d, attn_k_norm.bias d, attn_norm_2 d, attn_norm_2.bias d",
                          "ffn_up 80 d, ffn_down d f, ffn_down.bias d"]),
    "jina_bert_v3": ("jina-bert-v3", NORM | TURN | BOTH, BERT, ["attn_qkv 96 d, attn_qkv.bias 96, attn_output d q, attn_output.bias d", POST, BERT_FFN]),
    "llada": ("llada", RMS | TURN | {"attention.causal": False}, ENDS, [ATTN, FFN]),
    "dream": ("dream", RMS | TURN | {"attention.causal": False}, ENDS, [ATTN, BIASES, FFN]),
    "llada_moe": ("llada-moe", RMS | TURN | EXPERTS | {"attention.causal": False}, ENDS, [ATTN, QK_NORM, MOE]),
    "rnd1": ("rnd1", RMS | TURN | EXPERTS, TIED, [ATTN, QK_NORM, MOE]),
}
# the length of the texts; models whose outputs are vectors of tokens, in place of logits
TOKENS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8]
VECTORS = {"llama_embed", "gemma_embedding", "eurobert", "neo_bert", "nomic_bert", "nomic_bert_moe", "jina_bert_v2", "jina_bert_v2_code", "jina_bert_v3"}
# the program of llama.cpp for these takes the logits of the token before
SHIFTED = {"dream", "rnd1"}


def tensors_of(text, prefix=""):
    """{name: (shape, start)}"""
    out = {}
    for part in text.split(","):
        name, *sizes = part.split()
        start = 1 if "norm" in name and not name.endswith(".bias") else 0
        if sizes[-1].startswith(":"):
            start = float(sizes.pop()[1:])
        name = prefix + name + ("" if "." in name or name.startswith("!") else ".weight")
        out[name.replace("!", "")] = [SIZES[s] if s in SIZES else int(s) for s in sizes], start
    return out


def typed(value):
    if isinstance(value, list):
        return [f"[{typed(value[0])[0]}]", value]
    return [{bool: "bool", int: "u32", float: "f32", str: "text"}[type(value)], value]


def described(name):
    """Pairs and tensors as in gguf.json (described_gguf.py)."""
    architecture, keys, ends, layers = MODELS[name]
    keys = {key: value for key, value in (COMMON | keys).items() if value is not None}
    pairs = {"general.architecture": ["text", architecture]} | {f"{architecture}.{key}": typed(value) for key, value in keys.items()}
    tensors = tensors_of(ends)
    for i in range(keys["block_count"]):
        for text in layers if isinstance(layers[0], str) else layers[i]:
            tensors |= tensors_of(text, f"blk.{i}.")
    return pairs, tensors


def write(name, path, pack=described_gguf.packed, more=()):
    """The file; more: pairs besides."""
    pairs, tensors = described(name)
    entries = []
    for tensor, (shape, start) in tensors.items():
        numbers = described_gguf.floats("BF16", seeded.as_bf16(seeded.numbers(tensor, shape, start)))
        entries.append((tensor, shape, *pack(shape, numbers)))
    with open(path, "wb") as file:
        file.write(gguf_file.gguf([(key, *described_gguf.spelled(value)) for key, value in pairs.items()] + list(more), entries))


def kept():
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "kept", "gguf")
