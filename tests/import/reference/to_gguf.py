"""Directories turned into GGUF, as llama.cpp's convert_hf_to_gguf.py does: tensors by the rules of tests/gguf/models.py, names and
keys by the package gguf.  convert(FOLDER, NAME) is for make.py."""

import json
import pathlib
import struct
import sys

import gguf
import numpy as np
import torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/gguf"), str(ROOT / "tests/formats"), str(pathlib.Path(__file__).resolve().parent)]
import models as rules
import recurrences

del sys.path[:3]  # a file there is called as a package is


def write_safetensors(path, tensors, metadata):
    header, content = {"__metadata__": metadata}, b""
    for name, t in tensors.items():
        data = np.ascontiguousarray(t).tobytes()
        kind = {"f8": "F64", "f4": "F32", "i8": "I64"}[t.dtype.str[1:]]
        header[name] = {"dtype": kind, "shape": list(t.shape), "data_offsets": [len(content), len(content) + len(data)]}
        content += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)


def read_safetensors(path):
    content = path.read_bytes()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:start])
    header.pop("__metadata__", None)
    return {name: widened(content[start + e["data_offsets"][0] : start + e["data_offsets"][1]], e["dtype"]).reshape(e["shape"])
            for name, e in header.items() if e["dtype"] in ("F32", "BF16")}


def widened(data, kind):
    return np.frombuffer(data, "<f4") if kind == "F32" else (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")


# ---- keys ----

def first(c, *keys, default=None):
    for key in keys:
        if c.get(key) is not None:
            return c[key]
    return default


def rotary(c):
    """The one set of angles, or that of layers that see all."""
    said = c.get("rope_parameters") or c.get("rope_scaling") or {}
    return said.get("full_attention", said)


def usual(w, c):
    """Keys of all decoders."""
    heads, width = first(c, "num_attention_heads", "n_head", "num_heads"), first(c, "hidden_size", "n_embd", "d_model")
    w.add_block_count(first(c, "num_hidden_layers", "n_layer", "num_layers", "n_layers"))
    context = first(c, "max_position_embeddings", "n_positions", "seq_length", "max_seq_len") or width
    if context:
        w.add_context_length(context)
    w.add_embedding_length(width)
    w.add_feed_forward_length(first(c, "intermediate_size", "n_inner", "ffn_hidden_size", "d_ff", default=4 * width))
    w.add_head_count(heads)
    groups = first(c, "num_key_value_heads", "num_kv_heads", "n_head_kv")
    if groups:
        w.add_head_count_kv(groups)
    if c.get("head_dim"):
        w.add_key_length(c["head_dim"])
        w.add_value_length(c["head_dim"])
    if "rms_norm_eps" in c:
        w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    eps = first(c, "layer_norm_epsilon", "layer_norm_eps", "norm_epsilon", "norm_eps")
    if eps:
        w.add_layer_norm_eps(eps)
    angles(w, c)
    experts = first(c, "num_local_experts", "num_experts", "n_routed_experts")
    if experts:
        w.add_expert_count(experts)
        w.add_expert_used_count(first(c, "num_experts_per_tok", "num_experts_per_token"))
    w.add_file_type(0)


def angles(w, c):
    said = rotary(c)
    theta = first(said, "rope_theta", default=c.get("rope_theta"))
    if theta:
        w.add_rope_freq_base(float(theta))
    kind = said.get("rope_type", "default")
    if kind == "linear" or kind == "yarn":
        w.add_rope_scaling_type(gguf.RopeScalingType(kind))
        w.add_rope_scaling_factor(said["factor"])
    if kind == "longrope":
        w.add_rope_scaling_orig_ctx_len(said["original_max_position_embeddings"])
    if kind == "yarn":
        w.add_rope_scaling_orig_ctx_len(said["original_max_position_embeddings"])


def stretches(c, said):
    """Of Llama 3's scaling: by what each angle is divided."""
    width = first(c, "head_dim", default=c["hidden_size"] // c["num_attention_heads"])
    turns = said["original_max_position_embeddings"] * said["rope_theta"] ** -(np.arange(0, width, 2) / width) / (2 * np.pi)
    low, high = said["low_freq_factor"], said["high_freq_factor"]
    kept = np.clip((turns - low) / (high - low), 0, 1)
    return (1 / ((1 - kept) / said["factor"] + kept)).astype("<f4")


def dimension_count(part=None):
    def more(w, c):
        heads, width = first(c, "num_attention_heads", "n_head"), first(c, "hidden_size", "n_embd")
        turned = part if part is not None else first(rotary(c), "partial_rotary_factor", default=c.get("partial_rotary_factor", 1))
        w.add_rope_dimension_count(int(turned * first(c, "head_dim", default=width // heads)))
    return more


def windows(w, c):
    window = first(c, "sliding_window", "local_attention")
    if window:
        w.add_sliding_window(window)


def caps(w, c):
    windows(w, c)
    if c.get("attn_logit_softcapping"):
        w.add_attn_logit_softcapping(c["attn_logit_softcapping"])
    if c.get("final_logit_softcapping"):
        w.add_final_logit_softcapping(c["final_logit_softcapping"])


def experts_of_width(w, c):
    w.add_expert_feed_forward_length(c["moe_intermediate_size"])
    if c.get("shared_expert_intermediate_size"):
        w.add_expert_shared_feed_forward_length(c["shared_expert_intermediate_size"])


def multipliers(w, c):
    w.add_attention_scale(c["attention_multiplier"])
    w.add_embedding_scale(c["embedding_multiplier"])
    w.add_residual_scale(c["residual_multiplier"])
    w.add_logit_scale(c["logits_scaling"])


def logit_scale(w, c):
    w.add_logit_scale(c["logit_scale"])
    w.add_rope_scaling_type(gguf.RopeScalingType.NONE)


def latent(w, c):
    rank, heads = c["kv_lora_rank"], c["num_attention_heads"]
    w.add_head_count_kv(1)
    w.add_leading_dense_block_count(c["first_k_dense_replace"])
    if c.get("q_lora_rank"):
        w.add_q_lora_rank(c["q_lora_rank"])
    w.add_kv_lora_rank(rank)
    w.add_key_length(rank + c["qk_rope_head_dim"])
    w.add_value_length(rank)
    w.add_key_length_mla(c["qk_nope_head_dim"] + c["qk_rope_head_dim"])
    w.add_value_length_mla(c["v_head_dim"])
    w.add_rope_dimension_count(c["qk_rope_head_dim"])
    if rotary(c).get("mscale_all_dim"):
        w.add_rope_scaling_yarn_log_mul(0.1 * rotary(c)["mscale_all_dim"])
    w.add_expert_feed_forward_length(c["moe_intermediate_size"])
    w.add_expert_shared_count(c["n_shared_experts"])
    w.add_expert_weights_scale(c["routed_scaling_factor"])
    if c.get("norm_topk_prob"):
        w.add_expert_weights_norm(True)
    w.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID if c.get("scoring_func") == "sigmoid" or "V3" in c["architectures"][0]
                             else gguf.ExpertGatingFuncType.SOFTMAX)
    if c.get("n_group"):
        w.add_expert_group_count(c["n_group"])
        w.add_expert_group_used_count(c["topk_group"])
    assert heads


def streams(w, c):
    windows(w, c)
    w.add_final_logit_softcapping(c["final_logit_softcapping"])
    w.add_altup_active_idx(c["altup_active_idx"])
    w.add_altup_num_inputs(c["altup_num_inputs"])
    w.add_embedding_length_per_layer_input(c["hidden_size_per_layer_input"])
    w.add_shared_kv_layers(c["num_kv_shared_layers"])
    shares = torch.tensor(c["activation_sparsity_pattern"], dtype=torch.float32)
    w.add_activation_sparsity_scale(torch.distributions.Normal(0.0, 1.0).icdf(shares).tolist())
    w.add_sliding_window_pattern([kind == "sliding_attention" for kind in c["layer_types"]])


def chunks(w, c):
    w.add_feed_forward_length(c["intermediate_size_mlp"])
    w.add_expert_feed_forward_length(c["intermediate_size"])
    w.add_interleave_moe_layer_step(c["interleave_moe_layer_step"])


def encoder(w, c):
    w.add_causal_attention(False)
    w.add_vocab_size(c["vocab_size"])


def both_sides(w, c):
    w.add_context_length(c.get("n_positions", 512))
    w.add_decoder_block_count(c.get("num_decoder_layers", c["num_layers"]))
    w.add_key_length(c["d_kv"])
    w.add_value_length(c["d_kv"])
    w.add_layer_norm_rms_eps(c["layer_norm_epsilon"])
    w.add_relative_attn_buckets_count(c["relative_attention_num_buckets"])


def near_base(w, c):
    w.add_rope_freq_base_swa(c["rope_parameters"]["sliding_attention"]["rope_theta"])


def parallel(w, c):
    w.add_parallel_residual(c["use_parallel_residual"])


def clamped(w, c):
    if c.get("clip_qkv"):
        w.add_clamp_kqv(c["clip_qkv"])


def without_transformer(tensors, _):
    return {name.removeprefix("transformer."): t for name, t in tensors.items()}


def stacked_norms(tensors, _):
    """StableLM 12B: a norm for each head, in one tensor."""
    return rules.stacked(r"(.*_layernorm)\.norms\.(\d+)(\.weight)")(tensors, _)


FALCON = (recurrences.multiplied, recurrences.grouped_norm("mamba_n_groups"), recurrences.columns, recurrences.slopes)
NEMOTRON = rules.ROTATED + (recurrences.grouped_norm("n_groups"), recurrences.columns, recurrences.slopes)

# name of tests/families: architecture of the package gguf, rules for tensors, keys besides the usual ones
CONVERTED = {
    "llama": ("LLAMA", rules.ROTATED, [dimension_count(1)]),
    "llama_biased": ("LLAMA", rules.ROTATED, [dimension_count(1)]),
    "mistral": ("LLAMA", rules.ROTATED, [dimension_count(1), windows]),
    "mixtral": ("LLAMA", rules.ROTATED + rules.MIXTRAL, [dimension_count(1)]),
    "granite": ("GRANITE", rules.ROTATED, [dimension_count(1), multipliers]),
    "smollm3": ("SMOLLM3", rules.ROTATED, [dimension_count(1)]),
    "qwen2": ("QWEN2", (), []),
    "qwen2_moe": ("QWEN2MOE", rules.EXPERTS + rules.SHARED_GATE, [experts_of_width]),
    "qwen3": ("QWEN3", (), []),
    "qwen3_moe": ("QWEN3MOE", rules.EXPERTS, [experts_of_width]),
    "gemma": ("GEMMA", rules.ONE_MORE, []),
    "gemma2": ("GEMMA2", rules.ONE_MORE, [caps]),
    "gemma3": ("GEMMA3", rules.ONE_MORE, [windows]),
    "gemma3n": ("GEMMA3N", rules.STREAMS, [streams]),
    "llama4": ("LLAMA4", (rules.halves_apart,), [chunks, dimension_count(1)]),
    "phi": ("PHI2", (), [dimension_count()]),
    "phi3": ("PHI3", (), [dimension_count(), windows]),
    "gpt2": ("GPT2", rules.TURNED, []),
    "gpt_bigcode": ("STARCODER", (), []),
    "gpt_neox": ("GPTNEOX", (rules.each(rules.by_heads, "query_key_value.weight", "query_key_value.bias"),), [dimension_count(), parallel]),
    "bloom": ("BLOOM", (without_transformer, rules.each(rules.by_heads, "query_key_value.weight", "query_key_value.bias"),), []),
    "falcon": ("FALCON", (rules.each(rules.by_groups, "query_key_value.weight"),), []),
    "falcon_one_norm": ("FALCON", (rules.each(rules.by_groups, "query_key_value.weight"),), []),
    "falcon_grouped": ("FALCON", (rules.each(rules.by_groups, "query_key_value.weight"),), []),
    "starcoder2": ("STARCODER2", (), [windows]),
    "nemotron": ("NEMOTRON", rules.ONE_MORE, [dimension_count()]),
    "stablelm": ("STABLELM", (), [dimension_count(), parallel]),
    "stablelm_parallel": ("STABLELM", (stacked_norms,), [dimension_count(), parallel]),
    "olmo": ("OLMO", rules.ROTATED, [clamped]),
    "olmo2": ("OLMO2", (), []),
    "olmoe": ("OLMOE", rules.EXPERTS, [clamped]),
    "cohere": ("COMMAND_R", (), [logit_scale]),
    "cohere_normed": ("COMMAND_R", (), [logit_scale]),
    "glm": ("CHATGLM", (rules.joined,), [dimension_count()]),
    "glm_sandwich": ("GLM4", (), [dimension_count()]),
    "gpt_oss": ("GPT_OSS", (rules.gates_apart,), [windows]),
    "deepseek_v2": ("DEEPSEEK2", rules.EXPERTS + (rules.apart,), [latent]),
    "deepseek_v3": ("DEEPSEEK2", rules.EXPERTS + (rules.apart,), [latent]),
    "qwen3_5": ("QWEN35", (recurrences.tiled, recurrences.one_more, recurrences.slopes), [dimension_count(), recurrences.delta_keys]),
    "qwen3_5_moe": ("QWEN35MOE", (recurrences.tiled, recurrences.one_more, recurrences.slopes) + rules.EXPERTS + rules.SHARED_GATE,
                    [dimension_count(), recurrences.delta_keys, experts_of_width]),
    "qwen3_next": ("QWEN3NEXT", (recurrences.apart, recurrences.one_more, recurrences.slopes) + rules.EXPERTS + rules.SHARED_GATE,
                   [dimension_count(), recurrences.delta_keys, experts_of_width]),
    "granite_hybrid": ("GRANITE_HYBRID", rules.ROTATED + (recurrences.grouped_norm("mamba_n_groups"), recurrences.columns, recurrences.slopes, recurrences.halves),
                       [multipliers, recurrences.granite_keys, recurrences.heads_by_layer("full_attention")]),
    "granite_hybrid_dense": ("GRANITE_HYBRID", rules.ROTATED + (recurrences.grouped_norm("mamba_n_groups"), recurrences.columns, recurrences.slopes, recurrences.halves),
                             [multipliers, recurrences.granite_keys, recurrences.heads_by_layer("full_attention")]),
    "bamba_rotated": ("GRANITE_HYBRID", rules.ROTATED + (recurrences.grouped_norm("mamba_n_groups"), recurrences.columns, recurrences.slopes),
                      [recurrences.bamba_keys]),
    "falcon_h1_multiplied": ("FALCON_H1", FALCON, [recurrences.falcon_keys]),
    "falcon_h1_unnormed": ("FALCON_H1", FALCON, [recurrences.falcon_keys]),
    "lfm2": ("LFM2", (recurrences.slopes,), [recurrences.lfm2_keys, recurrences.heads_by_layer("full_attention")]),
    "jamba": ("JAMBA", recurrences.stacked("feed_forward.experts") + (recurrences.slopes,), [recurrences.jamba_keys]),
    "jamba_dense": ("JAMBA", (recurrences.slopes,), [recurrences.jamba_keys]),
    "nemotron_h_dense": ("NEMOTRON_H", NEMOTRON, [recurrences.nemotron_keys]),
    "nemotron_h_moe": ("NEMOTRON_H_MOE", NEMOTRON + recurrences.stacked("mixer.experts") + (recurrences.corrected,), [recurrences.nemotron_keys]),
    "nemotron_h_latent": ("NEMOTRON_H_MOE", NEMOTRON + recurrences.stacked("mixer.experts") + (recurrences.corrected,), [recurrences.nemotron_keys]),
    "kimi_linear_one_group": ("KIMI_LINEAR", (recurrences.slopes, recurrences.delta_axes) + rules.EXPERTS + (rules.apart,), [recurrences.kimi_keys]),
    "mamba": ("MAMBA", (recurrences.slopes,), [recurrences.mamba_keys]),
    "falcon_mamba": ("MAMBA", (recurrences.slopes,), [recurrences.mamba_keys]),
    "mamba2": ("MAMBA2", (recurrences.grouped_norm("n_groups"), recurrences.columns, recurrences.slopes), [recurrences.mamba_keys]),
    "bert": ("BERT", (rules.without_class, rules.without("cls", "pooler")), [encoder]),
    "t5": ("T5", (), [both_sides]),
    "modernbert": ("MODERN_BERT", (rules.without_class, rules.without("head.", "decoder.")), [encoder, windows, near_base]),
}


def add(writer, name, tensor):
    """Matrices as BF16, which loses nothing; all else as F32."""
    bits = tensor.view("<u4")
    if tensor.ndim < 2 or np.any(bits & 0xffff):
        writer.add_tensor(name, tensor)
    else:
        writer.add_tensor(name, (bits >> 16).astype("<u2").view(np.uint8), raw_dtype=gguf.GGMLQuantizationType.BF16)


def convert(folder, name):
    """Writes FOLDER/NAME.gguf where there is a row; what was done, or nothing."""
    if name not in CONVERTED:
        return ""
    architecture, changes, more = CONVERTED[name]
    c = recurrences.as_published(json.loads((folder / name / "config.json").read_text()), architecture)
    kind = gguf.MODEL_ARCH[architecture]
    names = gguf.get_tensor_name_map(kind, 64)
    sizes = {"heads": first(c, "num_attention_heads", "n_head", "num_heads", "n_heads")}
    sizes |= {"kv_heads": first(c, "num_key_value_heads", "num_kv_heads", default=sizes["heads"]),
              "config": c, "nope_dim": c.get("qk_nope_head_dim"), "v_dim": c.get("v_head_dim")}
    if c["architectures"][0] == "FalconForCausalLM" and not c["new_decoder_architecture"]:
        sizes["kv_heads"] = c["num_kv_heads"] = 1
    writer = gguf.GGUFWriter(folder / f"{name}.gguf", gguf.MODEL_ARCH_NAMES[kind])
    for say in more if recurrences.mamba_keys in more else [usual, *more]:
        say(writer, c)
    for key, tensor in rules.converted(changes, read_safetensors(folder / name / "model.safetensors"), sizes).items():
        theirs = key if key.startswith("blk.") else names.get_name(key, (".weight", ".bias"))
        if theirs is None:
            raise ValueError(f"{architecture} has no name for {key}")
        ending = key[key.rfind("."):] if key.endswith((".weight", ".bias")) else ""
        plain = ending or theirs.endswith((".ssm_a", ".ssm_d"))
        add(writer, theirs if plain else theirs + ".weight", np.ascontiguousarray(tensor))
    for length in ("long", "short"):
        factors = rotary(c).get(f"{length}_factor")
        if factors:
            writer.add_tensor(f"rope_factors_{length}.weight", np.array(factors, "<f4"))
    if rotary(c).get("rope_type") == "llama3":
        writer.add_tensor("rope_freqs.weight", stretches(c, rotary(c)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return f"{name}.gguf, {gguf.MODEL_ARCH_NAMES[kind]}"
