"""How llama.cpp's converter turns models with recurrences into GGUF: rules for tensors, {name: array} and sizes to the same, and keys.
sizes["config"] is the model's config.json.  For to_gguf.py."""

import re

import gguf
import models as rules
import numpy as np


def slopes(tensors, _):
    """-exp(A_log) in its place; dt_bias as a bias; taps of a convolution without their axis of 1."""
    out = {}
    for name, t in tensors.items():
        if name.endswith(".A_log"):
            t = -np.exp(t)
        elif name.endswith(".dt_bias"):
            name = name.removesuffix("dt_bias") + "dt_proj.bias"
        elif name.endswith(("conv1d.weight", "conv.conv.weight")):
            t = t.squeeze(1)
        out[name] = t
    return out


def columns(tensors, _):
    """A and D of Mamba 2 by rows of one, its norm by groups."""
    return {name: t[:, None] if name.endswith((".A_log", ".D")) else t for name, t in tensors.items()}


def grouped_norm(key):
    def rule(tensors, sizes):
        n = sizes["config"][key]
        return {name: t.reshape(n, -1) if name.endswith(("mixer.norm.weight", "mamba.norm.weight")) else t for name, t in tensors.items()}
    return rule


def one_more(tensors, _):
    """Gains as gain, but for those of the delta nets."""
    return {name: t + np.float32(1) if name.endswith("norm.weight") and not name.endswith("linear_attn.norm.weight") else t
            for name, t in tensors.items()}


def apart(tensors, sizes):
    """Qwen 3 Next: for each key head its queries, keys, values and gates, to all of each."""
    c, out = sizes["config"], {}
    keys, each = c["linear_num_key_heads"], c["linear_num_value_heads"] // c["linear_num_key_heads"] * c["linear_value_head_dim"]
    for name, t in tensors.items():
        if not name.endswith("in_proj_qkvz.weight"):
            out[name] = t
            continue
        parts = np.split(t.reshape(keys, -1, t.shape[1]), np.cumsum([c["linear_key_head_dim"], c["linear_key_head_dim"], each]), 1)
        q, k, v, z = (part.reshape(-1, t.shape[1]) for part in parts)
        out[name.replace("qkvz", "qkv")] = np.concatenate([q, k, v])
        out[name.replace("qkvz", "z")] = z
    return out


def tiled(tensors, sizes):
    """Qwen 3.5: heads of values in another order, the first of each key head before the second ones."""
    c, out = sizes["config"], {}
    keys, values = c["linear_num_key_heads"], c["linear_num_value_heads"]

    def turn(w, width):
        return w.reshape(keys, values // keys, width, *w.shape[1:]).swapaxes(0, 1).reshape(w.shape)
    wide, before = c["linear_value_head_dim"], 2 * keys * c["linear_key_head_dim"]
    for name, t in tensors.items():
        if name.endswith(("in_proj_qkv.weight", "linear_attn.conv1d.weight")):
            t = np.concatenate([t[:before], turn(t[before:], wide)])
        elif name.endswith("in_proj_z.weight"):
            t = turn(t, wide)
        elif name.endswith(("in_proj_a.weight", "in_proj_b.weight", ".A_log", ".dt_bias")):
            t = turn(t, 1)
        elif name.endswith("linear_attn.out_proj.weight"):
            t = turn(t.T, wide).T
        out[name] = t
    return out


def halves(tensors, sizes):
    """Granite: gate and up apart; of all tokens, they are those of experts that all tokens take, if there are others."""
    c, out = sizes["config"], {}
    for name, t in tensors.items():
        shared = "shared_mlp" in name
        if not shared and "block_sparse_moe.input_linear" not in name and "block_sparse_moe.output_linear" not in name:
            out[name] = t
            continue
        kind = "_exps" if not shared else "_shexp" if c["num_local_experts"] else ""
        start = f"blk.{re.search(r'[0-9]+', name)[0]}."
        if "input_linear" in name:
            out[f"{start}ffn_gate{kind}.weight"], out[f"{start}ffn_up{kind}.weight"] = np.split(t, 2, -2)
        else:
            out[f"{start}ffn_down{kind}.weight"] = t
    return out


def multiplied(tensors, sizes):
    """Falcon-H1: weights times their multipliers."""
    c, out = sizes["config"], {}
    inner, state = c["mamba_d_ssm"], c["mamba_n_groups"] * c["mamba_d_state"]
    rows = np.repeat(np.float32(c["ssm_multipliers"]), [inner, inner, state, state, c["mamba_n_heads"]])
    factors = [("down_proj", c["mlp_multipliers"][1]), ("gate_proj", c["mlp_multipliers"][0]),
               ("k_proj", c["key_multiplier"] * c["attention_in_multiplier"]), ("q_proj", c["attention_in_multiplier"]),
               ("v_proj", c["attention_in_multiplier"]), ("o_proj", c["attention_out_multiplier"]), ("out_proj", c["ssm_out_multiplier"]),
               ("in_proj", c["ssm_in_multiplier"]), ("lm_head", c["lm_head_multiplier"]), ("embed_tokens", c["embedding_multiplier"])]
    for name, t in tensors.items():
        by = next((factor for part, factor in factors if part in name), 1)
        t = t * np.float32(by)
        out[name] = t * rows[:, None] if "in_proj" in name else t
    return out


def stacked(part):
    """Experts of a layer in one tensor each, under the names of Qwen 2's."""
    def renamed(tensors, _):
        return {re.sub(rf"^.*\.(\d+\.){part}", r"model.layers.\1mlp.experts", name): t for name, t in tensors.items()}
    return renamed, rules.EXPERTS[0]


def delta_axes(tensors, _):
    """Kimi Linear: taps by channels between axes of 1; the dense block and the experts under the names of others."""
    parts, out = {"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}, {}
    for name, t in tensors.items():
        if name.endswith("_conv1d.weight"):
            t = t.reshape(1, len(t), 1, -1)
        name = re.sub(r"block_sparse_moe\.((gate|up|down)_proj)", r"mlp.\1", name)
        out[re.sub(r"block_sparse_moe\.experts\.(\d+)\.(w\d)", lambda m: f"mlp.experts.{m[1]}.{parts[m[2]]}", name)] = t
    return out


def corrected(tensors, _):
    return {name.replace("e_score_correction_bias", "e_score_correction.bias"): t for name, t in tensors.items()}


# ---- keys ----

def as_published(c, architecture):
    """Nemotron-H: the number of layers; without experts none of their keys, which the class saves."""
    if architecture not in ("NEMOTRON_H", "NEMOTRON_H_MOE"):
        return c
    kept = {key: value for key, value in c.items() if architecture == "NEMOTRON_H_MOE" or not ("expert" in key or key in ("n_group", "topk_group"))}
    return kept | {"num_hidden_layers": len(c["layers_block_type"])}


def delta_keys(w, c):
    w.add_ssm_conv_kernel(c["linear_conv_kernel_dim"])
    w.add_ssm_state_size(c["linear_key_head_dim"])
    w.add_ssm_group_count(c["linear_num_key_heads"])
    w.add_ssm_time_step_rank(c["linear_num_value_heads"])
    w.add_ssm_inner_size(c["linear_value_head_dim"] * c["linear_num_value_heads"])
    w.add_array(f"{w.arch}.attention.recurrent_layers", [kind == "linear_attention" for kind in c["layer_types"]])
    w.add_full_attention_interval(4)


def heads_by_layer(attention):
    def more(w, c):
        w.add_head_count_kv([c["num_key_value_heads"] if kind == attention else 0 for kind in c["layer_types"]])
    return more


def lfm2_keys(w, c):
    w.add_shortconv_l_cache(c["conv_L_cache"])
    w.add_layer_norm_rms_eps(c["norm_eps"])
    if c["block_auto_adjust_ff_dim"]:
        n, by = int(c["block_ffn_dim_multiplier"] * int(2 * c["intermediate_size"] / 3)), c["block_multiple_of"]
        w.add_feed_forward_length(by * ((n + by - 1) // by))


def granite_keys(w, c):
    inner = c["mamba_expand"] * c["hidden_size"]
    w.add_ssm_conv_kernel(c["mamba_d_conv"])
    w.add_ssm_state_size(c["mamba_d_state"])
    w.add_ssm_group_count(c["mamba_n_groups"])
    w.add_ssm_inner_size(inner)
    w.add_ssm_time_step_rank(c["mamba_n_heads"])
    w.add_expert_shared_feed_forward_length(c["shared_intermediate_size"])
    w.add_rope_scaling_finetuned(False)
    w.add_context_length(2 ** 20)


def bamba_keys(w, c):
    w.add_ssm_conv_kernel(c["mamba_d_conv"])
    w.add_ssm_state_size(c["mamba_d_state"])
    w.add_ssm_group_count(c["mamba_n_groups"])
    w.add_ssm_inner_size(c["mamba_expand"] * c["hidden_size"])
    w.add_ssm_time_step_rank(c["mamba_n_heads"])
    w.add_head_count_kv([c["num_key_value_heads"] if i in c["attn_layer_indices"] else 0 for i in range(c["num_hidden_layers"])])
    w.add_rope_dimension_count(c["attn_rotary_emb"])
    w.add_rope_scaling_finetuned(True)


def falcon_keys(w, c):
    w.add_vocab_size(c["vocab_size"])
    w.add_ssm_conv_kernel(c["mamba_d_conv"])
    w.add_ssm_state_size(c["mamba_d_state"])
    w.add_ssm_group_count(c["mamba_n_groups"])
    w.add_ssm_inner_size(c["mamba_d_ssm"])
    w.add_ssm_time_step_rank(c["mamba_d_ssm"] // c["mamba_d_head"])


def jamba_keys(w, c):
    w.add_head_count_kv([c["num_key_value_heads"] if i % c["attn_layer_period"] == c["attn_layer_offset"] else 0
                         for i in range(c["num_hidden_layers"])])
    w.add_ssm_conv_kernel(c["mamba_d_conv"])
    w.add_ssm_inner_size(c["mamba_expand"] * c["hidden_size"])
    w.add_ssm_state_size(c["mamba_d_state"])
    w.add_ssm_time_step_rank(c["mamba_dt_rank"])


def nemotron_keys(w, c):
    kinds, experts = c["layers_block_type"], "n_routed_experts" in c
    width = c["moe_intermediate_size" if experts else "intermediate_size"]
    w.add_head_count_kv([c["num_key_value_heads"] if kind == "full_attention" else 0 for kind in kinds])
    w.add_feed_forward_length([width if kind in ("mlp", "moe") else 0 for kind in kinds])
    w.add_vocab_size(c["vocab_size"])
    w.add_rope_dimension_count(c["hidden_size"] // c["num_attention_heads"])
    w.add_rope_scaling_finetuned(False)
    w.add_context_length(2 ** 20)
    w.add_ssm_conv_kernel(c["conv_kernel"])
    w.add_ssm_state_size(c["ssm_state_size"])
    w.add_ssm_group_count(c["n_groups"])
    w.add_ssm_inner_size(c["mamba_num_heads"] * c["mamba_head_dim"])
    w.add_ssm_time_step_rank(c["mamba_num_heads"])
    if experts:
        w.add_expert_feed_forward_length(c["moe_intermediate_size"])
        w.add_expert_shared_feed_forward_length(c["moe_shared_expert_intermediate_size"])
        w.add_expert_shared_count(c["n_shared_experts"])
        w.add_expert_weights_norm(c["norm_topk_prob"])
        w.add_expert_weights_scale(c["routed_scaling_factor"])
        w.add_expert_group_count(c["n_group"])
        w.add_expert_group_used_count(c["topk_group"])
        if c["moe_latent_size"] is not None:
            w.add_moe_latent_size(c["moe_latent_size"])


def kimi_keys(w, c):
    rank, rotary = c["kv_lora_rank"], c["qk_rope_head_dim"]
    w.add_context_length(c["model_max_length"])
    w.add_vocab_size(c["vocab_size"])
    w.add_head_count_kv([int(kind == "full_attention") for kind in c["layer_types"]])
    w.add_ssm_conv_kernel(c["linear_conv_kernel_dim"])
    w.add_kda_head_dim(c["linear_head_dim"])
    w.add_kv_lora_rank(rank)
    w.add_rope_dimension_count(rotary)
    w.add_key_length(rank + rotary)
    w.add_key_length_mla(c["qk_nope_head_dim"] + rotary)
    w.add_value_length_mla(c["v_head_dim"])
    w.add_expert_group_used_count(c["topk_group"])
    w.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    w.add_expert_feed_forward_length(c["moe_intermediate_size"])
    w.add_expert_shared_count(c["num_shared_experts"])
    w.add_leading_dense_block_count(c["mlp_layer_types"].count("dense"))
    w.add_expert_weights_scale(c["routed_scaling_factor"])


def mamba_keys(w, c):
    w.add_block_count(c["num_hidden_layers"])
    w.add_context_length(2 ** 20)
    w.add_embedding_length(c["hidden_size"])
    w.add_feed_forward_length(0)
    w.add_head_count(0)
    w.add_ssm_conv_kernel(c["conv_kernel"])
    w.add_ssm_inner_size(int(c["expand"] * c["hidden_size"]))
    w.add_ssm_state_size(c["state_size"])
    w.add_layer_norm_rms_eps(c["layer_norm_epsilon"])
    w.add_file_type(0)
    if "Mamba2" in c["architectures"][0]:
        w.add_ssm_time_step_rank(c["num_heads"])
        w.add_ssm_group_count(c["n_groups"])
    else:
        w.add_ssm_time_step_rank(c["time_step_rank"])
        w.add_ssm_dt_b_c_rms("Falcon" in c["architectures"][0])
