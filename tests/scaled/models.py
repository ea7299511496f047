"""Small models whose matrices are stored as codes, against the same models with plain numbers: equal outputs, and each command accepts them.

    models.py LATHE WORK

Checkpoints are hash weights, quantised here: the packing follows the specifications of
    DeepSeek V3 (inference/kernel.py, weights of DeepSeek-V3 README_WEIGHTS.md)    fp8: a scale for each block
    AutoAWQ (awq/modules/linear/gemm.py)                                           awq: [in, out / 8], rows 0 2 4 6 1 3 5 7
    AutoGPTQ (auto_gptq/nn_modules/qlinear/qlinear_cuda.py)                        gptq: [in / 8, out], zero points less one
    compressed-tensors (compressors/pack_quantized)                                [out, in / 8], with offset 8
    OCP Microscaling Formats 1.0, and gpt-oss                                      mxfp4: [experts, out, in / 32, 16] and powers of two
"""
import json
import os
import shutil
import subprocess
import sys

import numpy as np

LATHE, WORK = sys.argv[1:3]
failed = False

LLAMA = {"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
         "vocab_size": 64, "max_position_embeddings": 64, "rms_norm_eps": 1e-05, "hidden_act": "silu", "torch_dtype": "bfloat16", "tie_word_embeddings": True}
PHI3 = {"architectures": ["Phi3ForCausalLM"], "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "vocab_size": 64, "max_position_embeddings": 64, "original_max_position_embeddings": 64, "rms_norm_eps": 1e-05, "hidden_act": "silu", "torch_dtype": "float16", "sliding_window": None}
DEEPSEEK = {"architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 64, "intermediate_size": 96, "moe_intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 4, "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1, "q_lora_rank": 32,
            "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16, "vocab_size": 64, "max_position_embeddings": 64, "rms_norm_eps": 1e-06,
            "routed_scaling_factor": 2.5, "norm_topk_prob": True, "scoring_func": "sigmoid", "topk_method": "noaux_tc", "hidden_act": "silu", "torch_dtype": "bfloat16", "tie_word_embeddings": False,
            "num_nextn_predict_layers": 0}
GPT_OSS = {"architectures": ["GptOssForCausalLM"], "hidden_size": 64, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
           "vocab_size": 64, "max_position_embeddings": 64, "num_local_experts": 4, "num_experts_per_tok": 2, "rms_norm_eps": 1e-05, "sliding_window": 8, "attention_bias": True,
           "tie_word_embeddings": False, "torch_dtype": "bfloat16", "rope_theta": 150000,
           "rope_scaling": {"rope_type": "yarn", "factor": 2.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False, "original_max_position_embeddings": 32}}


def verdict(name, good, why=""):
    global failed
    failed |= not good
    print(f"ok scaled {name}" if good else f"FAIL scaled {name}: {why}")


def lathe(*words):
    done = subprocess.run([LATHE, *words], capture_output=True, cwd=WORK, timeout=300, env={**os.environ, "LATHE_CACHE": "off"})
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


# --- files ---

def bf16(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def of_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


TYPES = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16, "F8_E4M3": np.uint8, "U8": np.uint8, "I8": np.int8, "I32": np.int32}


def read(path):
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(size))
        data = f.read()
    out = {}
    for name, t in header.items():
        if name != "__metadata__":
            a, b = t["data_offsets"]
            out[name] = (t["dtype"], np.frombuffer(data[a:b], TYPES[t["dtype"]]).reshape(t["shape"]))
    return out


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, x) in tensors.items():
        content = np.ascontiguousarray(x, TYPES[dtype]).tobytes()
        header[name] = {"dtype": dtype, "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)


# --- formats: tensors of a matrix [out, in], and its numbers ---

E4M3 = np.array([(-1) ** (c >> 7) * ((c & 7) / 8 * 2.0**-6 if c >> 3 & 15 == 0 else (1 + (c & 7) / 8) * 2.0 ** ((c >> 3 & 15) - 7)) for c in range(256)], np.float32)
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def grown(x, rows, columns, shape):
    return np.repeat(np.repeat(x, rows, 0), columns, 1)[: shape[0], : shape[1]]


def nearest(table, x, codes):
    return codes[np.abs(table[codes][None, :] - x.reshape(-1, 1)).argmin(1)].reshape(x.shape)


def fp8(name, w):
    r, c = 24, 32
    grid = [[np.abs(w[i : i + r, k : k + c]).max() / 448 for k in range(0, w.shape[1], c)] for i in range(0, w.shape[0], r)]
    scale = np.array(grid, np.float32)
    code = nearest(E4M3, w / grown(scale, r, c, w.shape), np.array([c for c in range(256) if c & 127 != 127]))
    number = bf16(E4M3[code] * grown(scale, r, c, w.shape))
    return {name + ".weight": ("F8_E4M3", code), name + ".weight_scale_inv": ("F32", scale)}, ("BF16", number)


def integers(w, group, dtype):
    """Codes and zero points of 4 bits [out, in], [out, groups], and scales."""
    parts = w.reshape(w.shape[0], -1, group)
    least, most = np.minimum(parts.min(2), 0), np.maximum(parts.max(2), 0)
    scale = ((most - least) / 15).astype(np.float32)
    scale = scale.astype(np.float16).astype(np.float32) if dtype == "F16" else of_bf16(bf16(scale))
    zero = np.clip(np.round(-least / scale), 1, 15).astype(np.int64)
    code = np.clip(np.round(w / np.repeat(scale, group, 1)) + np.repeat(zero, group, 1), 0, 15).astype(np.int64)
    number = (code - np.repeat(zero, group, 1)).astype(np.float32) * np.repeat(scale, group, 1)
    number = ("F16", number.astype(np.float16)) if dtype == "F16" else ("BF16", bf16(number))
    return code, zero, scale, number


def packed(codes, order=range(8)):
    """Eight codes of the last axis to a word."""
    parts = codes.reshape(*codes.shape[:-1], -1, 8)[..., list(order)]
    return (parts << np.arange(8) * 4).sum(-1).astype(np.uint32).view(np.int32)


def awq(name, w):
    code, zero, scale, number = integers(w, 16, "F16")
    return {name + ".qweight": ("I32", packed(code.T, ORDER)), name + ".qzeros": ("I32", packed(zero.T, ORDER)), name + ".scales": ("F16", scale.T.astype(np.float16))}, number


def gptq(name, w):
    code, zero, scale, number = integers(w, 16, "F16")
    index = np.arange(w.shape[1]) // 16
    return {name + ".qweight": ("I32", packed(code).T), name + ".qzeros": ("I32", packed(zero.T - 1)), name + ".scales": ("F16", scale.T.astype(np.float16)),
            name + ".g_idx": ("I32", index)}, number


def compressed(name, w):
    code, zero, scale, number = integers(w, 16, "BF16")
    zeros = packed(np.pad(zero, ((0, -len(zero) % 8), (0, 0))).T).T
    return {name + ".weight_packed": ("I32", packed(code)), name + ".weight_zero_point": ("I32", zeros), name + ".weight_scale": ("BF16", bf16(scale)),
            name + ".weight_shape": ("I32", np.array(w.shape))}, number


def mxfp4(name, w):
    """Experts [experts, in, out]."""
    x = np.swapaxes(w, 1, 2)
    blocks = x.reshape(*x.shape[:2], -1, 32)
    power = np.floor(np.log2(np.abs(blocks).max(-1))) - 2
    code = nearest(E2M1, blocks / 2.0 ** power[..., None], np.arange(16))
    number = (E2M1[code] * 2.0 ** power[..., None]).reshape(x.shape).astype(np.float32)
    return {name + "_blocks": ("U8", code[..., ::2] | code[..., 1::2] << 4), name + "_scales": ("U8", power + 127)}, ("BF16", bf16(np.swapaxes(number, 1, 2)))


GROUP = {"weights": {"num_bits": 4, "type": "int", "symmetric": False, "strategy": "group", "group_size": 16}, "targets": ["Linear"], "input_activations": None}
VERIFIED = ("llama-awq", "deepseek-fp8", "gpt-oss-mxfp4")
QUANTISED = {
    "fp8": (fp8, {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [24, 32]}),
    "awq": (awq, {"quant_method": "awq", "bits": 4, "group_size": 16, "version": "gemm", "zero_point": True}),
    "gptq": (gptq, {"quant_method": "gptq", "bits": 4, "group_size": 16, "desc_act": False, "sym": False}),
    "compressed": (compressed, {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"group_0": GROUP}, "ignore": ["lm_head"]}),
    "mxfp4": (mxfp4, {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}),
}


def make(name, config, kind):
    """Folders NAME with codes and NAME-plain with their numbers; False, with the reason printed."""
    quantise, quantization = QUANTISED[kind]
    for folder, more in ((name, {"quantization_config": quantization}), (name + "-plain", {})):
        os.makedirs(f"{WORK}/{folder}")
        with open(f"{WORK}/{folder}/config.json", "w") as f:
            json.dump({**config, **more}, f)
    code, _, err = lathe("weights", name + "-plain", "--quant", "f16" if kind in ("awq", "gptq") else "bf16", "-o", "hashed.safetensors")
    if code:
        verdict(f"{name}: hash weights", False, err)
        return False
    codes, plain, n = {}, {}, 0
    for key, (dtype, x) in read(f"{WORK}/hashed.safetensors").items():
        w = of_bf16(x) if dtype == "BF16" else x.astype(np.float32)
        parts, number = None, (dtype, x)
        if kind == "mxfp4" and key.endswith(("gate_up_proj", "down_proj")):
            parts, number = quantise(key, w)
        elif kind != "mxfp4" and key.endswith("_proj.weight") or key.endswith("_proj_with_mqa.weight"):
            parts, number = quantise(key.removesuffix(".weight"), w)
        n += parts is not None
        codes.update(parts or {key: number})
        plain[key] = number
    write(f"{WORK}/{name}/model.safetensors", codes)
    write(f"{WORK}/{name}-plain/model.safetensors", plain)
    verdict(f"{name}: matrices are quantised", n > 5 or kind == "mxfp4" and n == 4, f"{n}")
    return True


def outputs_of(folder, *options):
    """Bytes of the outputs; a message instead if there are none."""
    code, _, err = lathe("eval", folder, "-p", "3 1 4 1 5 9", "-o", "out.npy", *(() if "--jit" in options else ("--jit", "tcc")), *options)
    if code:
        return f"{folder}: {err}"
    with open(f"{WORK}/out.npy", "rb") as f:
        return f.read()


def same_outputs(name, *options):
    outputs = [outputs_of(folder, *options) for folder in (name, name + "-plain")]
    if any(isinstance(o, str) for o in outputs):
        return str(outputs)
    return "" if outputs[0] == outputs[1] else "other outputs than with plain numbers"


def bytes_of_plan(folder, *options):
    out = lathe("show", folder, "cost", "--weights", folder, *options)[1].decode()
    line = next(line for line in out.splitlines() if line.strip().startswith("here"))
    return int(line.split()[1].replace(",", "")), line


def check(name, config, kind):
    if not make(name, config, kind):
        return
    why = same_outputs(name, *(("--quant", "bf16") if kind == "mxfp4" else ()))
    verdict(f"{name}: outputs of plain numbers", not why, why)
    lines = [bytes_of_plan(folder) for folder in (name, name + "-plain")]
    if kind == "mxfp4":
        verdict(f"{name}: experts stay in blocks", " values of mxfp4" in lines[0][1] and lines[0][0] < 0.8 * lines[1][0], str(lines))
        same = outputs_of(name) == outputs_of(name + "-plain", "--quant", "bf16,layer[*].ffn.expert=mxfp4")
        verdict(f"{name}: the products of the same numbers in mxfp4", same)
    else:
        verdict(f"{name}: memory of plain numbers, of groups that no block has", lines[0] == lines[1], str(lines))
    if name in VERIFIED:
        code, out, err = lathe("verify", name, "--jit", "tcc")
        verdict(f"{name}: verify", code == 0, out.decode() + err)


def commands():
    """Each command that reads weights, on one model."""
    why = same_outputs("llama-awq", "--quant", "q8_0")
    verdict("llama-awq: --quant", not why, why)
    texts = [lathe("run", folder, "-p", "3 1 4", "-n", "8", *more) for folder, more in
             (("llama-awq-plain", ()), ("llama-awq", ()), ("llama-awq", ("--ranks", "2")), ("llama-awq", ("--jit", "code")))]
    verdict("llama-awq: run, with ranks and by the interpreter of code", all(t[0] == 0 and t[1] == texts[0][1] for t in texts), str(texts))
    code, _, err = lathe("import", "llama-awq", "-o", "imported")
    note = "matrices of codes with scales, whose numbers are kept: 14 in F16" in err
    verdict("llama-awq: import, with a note", code == 0 and note and os.path.exists(f"{WORK}/imported.c"), err)
    code, _, err = lathe("build", "llama-awq", "--main", "--embed", "--target", "scalar", "-o", "embedded.c")
    compiled = code == 0 and subprocess.run(["cc", "-std=c11", "-O1", "embedded.c", "-o", "embedded", "-lpthread", "-lm"], cwd=WORK, capture_output=True)
    done = compiled and compiled.returncode == 0 and subprocess.run(["./embedded", "-p", "3 1 4", "-n", "8"], cwd=WORK, capture_output=True)
    verdict("llama-awq: build --embed", done and done.stdout == texts[0][1], err or str(compiled) + str(done))
    code, _, err = lathe("weights", "llama-awq", "-o", "written.safetensors")
    written, plain = (read(f"{WORK}/{p}") for p in ("written.safetensors", "llama-awq-plain/model.safetensors")) if not code else ({}, {})
    good = code == 0 and all(np.array_equal(written[k][1], x.astype(np.float32) if d == "F16" else of_bf16(x)) for k, (d, x) in plain.items())
    verdict("llama-awq: weights writes the numbers", good, err)
    code, out, err = lathe("check", "imported.model")
    verdict("llama-awq: check of the imported model", code == 0, err)


def write_shards(folder, tensors):
    """Every other tensor in a second file, so that parts of a matrix are in both."""
    names = sorted(tensors)
    index = {}
    for i, part in enumerate((names[::2], names[1::2])):
        file = f"model-0000{i + 1}-of-00002.safetensors"
        write(f"{WORK}/{folder}/{file}", {name: tensors[name] for name in part})
        index.update(dict.fromkeys(part, file))
    with open(f"{WORK}/{folder}/model.safetensors.index.json", "w") as f:
        json.dump({"weight_map": index}, f)
    os.remove(f"{WORK}/{folder}/model.safetensors")


def files():
    """Other files of one model."""
    tensors = read(f"{WORK}/llama-gptq/model.safetensors")
    zero = {f"model.layers.{i}.self_attn.o_proj.bias": ("F16", np.zeros(64)) for i in range(2)}
    write(f"{WORK}/llama-gptq/model.safetensors", {**tensors, **zero})
    why = same_outputs("llama-gptq")
    verdict("llama-gptq: biases of zeros without use", not why, why)
    other = {"model.layers.1.self_attn.o_proj.bias": ("F16", np.eye(1, 64)[0])}
    write(f"{WORK}/llama-gptq/model.safetensors", {**tensors, **zero, **other})
    code, _, err = lathe("eval", "llama-gptq", "-p", "3")
    verdict("llama-gptq: a bias without use", code == 1 and '"model.layers.1.self_attn.o_proj.bias"' in err and "does not use" in err and "layers.0" not in err, err)
    write_shards("llama-gptq", tensors)
    why = same_outputs("llama-gptq")
    verdict("llama-gptq: in shards", not why, why)
    code, out, err = lathe("show", "imported.model", "plan", "--explain", "--weights", "llama-gptq")
    verdict("llama-gptq: --explain", code == 0 and "numbers are kept: 14 in F16" in err, err)
    code, _, err = lathe("eval", "llama-awq", "-p", "3", "--weights", "llama-awq-plain")
    explained = lathe("show", "llama-awq-plain", "plan", "--explain", "--weights", "llama-gptq")[2]
    verdict("llama-awq: the note is of the weights that are used", code == 0 and "numbers are kept" not in err and "14 in F16" in explained, err + explained)
    os.makedirs(f"{WORK}/alone")
    shutil.copy(f"{WORK}/llama-awq/model.safetensors", f"{WORK}/alone")
    code, _, err = lathe("eval", "imported.model", "-p", "3", "--weights", "alone")
    verdict("llama-awq: codes without config.json", code == 1 and "self_attn.q_proj.qweight\", codes of a quantised matrix; their numbers need the quantization_config" in err, err)
    code, _, err = lathe("eval", "imported.model", "-p", "3", "--weights", "llama-awq,llama-gptq")
    verdict("llama-gptq: in shards, as the model for which a head drafts", code == 0, err)
    # numbers depend on config.json, so the cached file of packed weights is not used after a change of it
    with open(f"{WORK}/llama-gptq/config.json") as f:
        config = json.load(f)
    codes = {**tensors, "model.embed_tokens.weight": ("F16", np.tile(tensors["model.embed_tokens.weight"][1], (1200, 1)))}
    os.makedirs(f"{WORK}/kept")
    write(f"{WORK}/kept/model.safetensors", codes)
    texts = []
    for order in ("gptq", None, "gptq_v2"):
        if order:
            with open(f"{WORK}/kept/config.json", "w") as f:
                json.dump({**config, "vocab_size": 64 * 1200, "quantization_config": {**config["quantization_config"], "checkpoint_format": order}}, f)
        texts.append(lathe("run", "kept", "-p", "3 1", "-n", "2", "--cache", "beside", "--jit", "code")[2])
    stored = ["are stored in" in t for t in texts]
    verdict("llama-gptq: other zero points are packed again", stored == [True, False, True], str(texts))


def eight_bits():
    """Floats of 8 bits without scales: numbers as they are, kept in bf16."""
    for folder in ("bytes", "bytes-plain"):
        os.makedirs(f"{WORK}/{folder}")
        with open(f"{WORK}/{folder}/config.json", "w") as f:
            json.dump(LLAMA, f)
    lathe("weights", "bytes", "-o", "hashed.safetensors")
    codes, plain = {}, {}
    for key, (dtype, x) in read(f"{WORK}/hashed.safetensors").items():
        code = nearest(E4M3, x, np.array([c for c in range(256) if c & 127 != 127]))
        codes[key], plain[key] = ("F8_E4M3", code), ("BF16", bf16(E4M3[code]))
    write(f"{WORK}/bytes/model.safetensors", codes)
    write(f"{WORK}/bytes-plain/model.safetensors", plain)
    why = same_outputs("bytes")
    verdict("floats of 8 bits without scales", not why, why)
    plans = [lathe("show", folder, "plan")[1].replace(b"bytes_plain", b"bytes") for folder in ("bytes", "bytes-plain")]
    verdict("floats of 8 bits without scales: kept in bf16", plans[0] == plans[1] and b"bf16" in plans[0], plans[0].decode())


# --- matrices that stay codes ---

WIDE = {**LLAMA, "hidden_size": 128, "intermediate_size": 256, "head_dim": 32}
TARGETS = [line.split()[0] for line in lathe("targets")[1].decode().splitlines() if line.split()[1:2] in (["native"], ["runs"]) and not line.startswith("portable")]


def integer_parts(kind, name, w, group):
    """A matrix as kind, and as signed bytes with scales of 32, which are the blocks of q8_0."""
    bf16_scales = kind == "compressed"
    code, zero, scale, number = integers(w, group, "BF16" if bf16_scales else "F16")
    if kind == "awq":
        parts = {".qweight": ("I32", packed(code.T, ORDER)), ".qzeros": ("I32", packed(zero.T, ORDER)), ".scales": ("F16", scale.T)}
    elif kind == "gptq":
        parts = {".qweight": ("I32", packed(code).T), ".qzeros": ("I32", packed(zero.T - 1)), ".scales": ("F16", scale.T), ".g_idx": ("I32", np.arange(w.shape[1]) // group)}
    else:
        zeros = packed(np.pad(zero, ((0, -len(zero) % 8), (0, 0))).T).T
        parts = {".weight_packed": ("I32", packed(code)), ".weight_zero_point": ("I32", zeros), ".weight_scale": ("BF16", bf16(scale)), ".weight_shape": ("I32", np.array(w.shape))}
    eight = {".weight": ("I8", code - np.repeat(zero, group, 1)), ".weight_scale": ("F16", np.repeat(scale, group // 32, 1))}
    assert np.array_equal(scale.astype(np.float16).astype(np.float32), scale)
    return {name + k: v for k, v in parts.items()}, {name + k: v for k, v in eight.items()}, {name + ".weight": number}


def group_config(kind, group):
    ints = {"num_bits": 4, "type": "int", "symmetric": False, "strategy": "group", "group_size": group}
    return {"awq": {**QUANTISED["awq"][1], "group_size": group}, "gptq": {**QUANTISED["gptq"][1], "group_size": group},
            "compressed": {**QUANTISED["compressed"][1], "config_groups": {"group_0": {"weights": ints, "targets": ["Linear"]}}}}[kind]


EIGHT = {"quant_method": "compressed-tensors", "format": "int-quantized",
         "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "int", "strategy": "group", "group_size": 32}, "targets": ["Linear"]}}}


def hashed(config, folder):
    os.makedirs(f"{WORK}/{folder}")
    with open(f"{WORK}/{folder}/config.json", "w") as f:
        json.dump(config, f)
    lathe("weights", folder, "-o", "hashed.safetensors")
    return read(f"{WORK}/hashed.safetensors")


def publish(folder, config, tensors, quantization=None):
    os.makedirs(f"{WORK}/{folder}", exist_ok=True)
    with open(f"{WORK}/{folder}/config.json", "w") as f:
        json.dump({**config, **({"quantization_config": quantization} if quantization else {})}, f)
    write(f"{WORK}/{folder}/model.safetensors", tensors)


def same_everywhere(name, folder, expected):
    """One result on every target, by the interpreter of code, and with other threads."""
    ways = [("--target", t) for t in TARGETS] + [("--jit", "code"), ("--threads", "3")]
    others = [way for way in ways if outputs_of(folder, *way) != expected]
    verdict(f"{name}: one result on {', '.join(TARGETS)}, interpreted, with threads", not isinstance(expected, str) and not others, f"{others} {expected if isinstance(expected, str) else ''}")


def int4(name, config, kind, group, storage):
    """Codes of four bits stay codes: the products are those of the same integers in q8_0."""
    codes, eights, plain = {}, {}, {}
    for key, (dtype, x) in hashed(config, name).items():
        if key.endswith("_proj.weight") and "kv_b_proj" not in key:
            parts = integer_parts(kind, key.removesuffix(".weight"), x, group)
        else:
            parts = ({key: ("BF16", bf16(x))},) * 3
        codes.update(parts[0])
        eights.update(parts[1])
        plain.update(parts[2])
    publish(name, config, codes, group_config(kind, group))
    publish(name + "-eight", config, eights, EIGHT)
    publish(name + "-plain", config, plain)
    outputs = outputs_of(name)
    eight = outputs_of(name + "-eight")
    verdict(f"{name}: the products of the same integers in q8_0", not isinstance(outputs, str) and outputs == eight, outputs if isinstance(outputs, str) else str(eight)[:200])
    same_everywhere(name, name, outputs)
    why = same_outputs(name, "--quant", "f16" if kind != "compressed" else "bf16")
    verdict(f"{name}: --quant gives the numbers of the reference", not why, why)
    size, line = bytes_of_plan(name)
    file = os.path.getsize(f"{WORK}/{name}/model.safetensors")
    verdict(f"{name}: memory near the file's", f" values of {storage}" in line and size < 1.03 * file, f"{line}; the file has {file}")


def eight_bit_parts(name, w, rows, columns):
    """A matrix as floats of 8 bits with a scale for each block, and its numbers in f32."""
    r, c = rows or w.shape[0], columns or w.shape[1]
    scale = np.array([[np.abs(w[i : i + r, k : k + c]).max() / 448 for k in range(0, w.shape[1], c)] for i in range(0, w.shape[0], r)], np.float32)
    code = nearest(E4M3, w / grown(scale, r, c, w.shape), np.array([c for c in range(256) if c & 127 != 127]))
    number = E4M3[code] * grown(scale, r, c, w.shape)
    scale = scale[0, 0] if rows == 0 else scale
    return {name + ".weight": ("F8_E4M3", code), name + (".weight_scale" if columns == 0 else ".weight_scale_inv"): ("F32", scale)}, number


def fp8_stays(name, config, rows, columns):
    """Floats of 8 bits stay so: outputs are those of their numbers in f32."""
    codes, exact, plain = {}, {}, {}
    for key, (dtype, x) in hashed(config, name).items():
        codes[key] = exact[key] = plain[key] = ("BF16", bf16(x))
        if key.endswith("_proj.weight") or key.endswith("_proj_with_mqa.weight"):
            parts, number = eight_bit_parts(key.removesuffix(".weight"), x, rows, columns)
            codes.pop(key)
            codes.update(parts)
            # matrices whose rows are no whole blocks, or that products do not sum over along rows, have the numbers of the reference
            plain[key] = ("BF16", bf16(number))
            exact[key] = plain[key] if "kv_b_proj" in key or x.shape[1] % 128 else ("F32", number)
    publish(name, config, codes, {"quant_method": "fp8", "activation_scheme": "dynamic", **({"weight_block_size": [rows, columns]} if columns else {})})
    publish(name + "-exact", config, exact)
    publish(name + "-plain", config, plain)
    outputs = outputs_of(name)
    verdict(f"{name}: outputs of its numbers in f32", not isinstance(outputs, str) and outputs == outputs_of(name + "-exact"), str(outputs)[:300])
    same_everywhere(name, name, outputs)
    verdict(f"{name}: with calls of one row", outputs_of(name, "--chunk", "1") == outputs)
    why = same_outputs(name, "--quant", "bf16")
    verdict(f"{name}: --quant gives the numbers of the reference", not why, why)
    size, line = bytes_of_plan(name)
    file = os.path.getsize(f"{WORK}/{name}/model.safetensors")
    verdict(f"{name}: memory near the file's", " values of e4m3" in line and size < 1.06 * file, f"{line}; the file has {file}")


def infinite_scale(name):
    """A scale whose numbers a block can't hold: refused, and with --quant they are the reference's."""
    tensors = read(f"{WORK}/{name}/model.safetensors")
    key = "model.layers.1.mlp.up_proj.weight_scale_inv"
    scale = tensors[key][1].copy()
    scale[1, 0] = 2.0**120
    with open(f"{WORK}/{name}/config.json") as f:
        publish("beyond", json.load(f), {**tensors, key: ("F32", scale)})
    code, _, err = lathe("run", "beyond", "-p", "3", "-n", "1")
    verdict(f"{name}: a scale beyond blocks", code != 0 and '"model.layers.1.mlp.up_proj.weight"[128, 0] is in a block whose scale is infinite' in err and "=bf16 keeps it" in err, err)
    code, _, err = lathe("eval", "beyond", "-p", "3", "--quant", "f32")
    verdict(f"{name}: a scale beyond blocks, with --quant", code == 0, err)


def tied_to_codes():
    """Rows of an embedding that is the head too, and stays codes: the lookup takes single numbers, the head products."""
    config = {**WIDE, "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic"}}
    tensors = hashed(WIDE, "tied")
    codes, exact = {}, {}
    for key, (_, x) in tensors.items():
        codes[key] = exact[key] = ("BF16", bf16(x))
        if "embed_tokens" in key:
            parts, number = eight_bit_parts(key.removesuffix(".weight"), x, 1, 0)
            codes.pop(key)
            codes.update(parts)
            exact[key] = ("F32", number)
    publish("tied", config, codes)
    publish("tied-exact", WIDE, exact)
    outputs = outputs_of("tied")
    line = bytes_of_plan("tied")[1]
    verdict("tied: an embedding of codes, as the head too", outputs == outputs_of("tied-exact") and " values of e4m3" in line, str(outputs)[:300] + line)
    same_everywhere("tied", "tied", outputs)


def ways_of_codes(name):
    """The ways in which a model's weights are read, with codes."""
    first = lathe("run", name, "-p", "3 1 4", "-n", "8", "--hash")
    verdict(f"{name}: run", first[0] == 0 and b"hash" in first[1] + first[2].encode(), first[2])
    for more in (("--ranks", "2"), ("--chunk", "2"), ("--jit", "code"), ("--threads", "2")):
        done = lathe("run", name, "-p", "3 1 4", "-n", "8", "--hash", *more)
        verdict(f"{name}: run {' '.join(more)}", done[0] == 0 and done[1:] == first[1:], done[2] + first[2])
    code, _, err = lathe("golden", "record", name, "-o", "packed.golden", "--target", "scalar")
    checked = lathe("golden", "check", "packed.golden", "--target", "native", "--jit", "tcc")
    verdict(f"{name}: golden", code == 0 and checked[0] == 0, err + checked[2])
    if os.environ.get("LATHE_TESTS", "all") != "quick":
        others = [line.split()[0] for line in lathe("targets")[1].decode().splitlines() if line.split()[1:2] == ["emulated"]] + ["portable"]
        checked = lathe("golden", "check", "packed.golden", "--jit", "cc", *(word for t in others for word in ("--target", t)))
        verdict(f"{name}: golden, ahead of time for {', '.join(others)}", checked[0] == 0, checked[1].decode() + checked[2])
    code, _, err = lathe("build", name, "--main", "--target", "scalar", "-o", f"{name}.c")
    done = lathe("run", name, "--weights", f"{name}.weights", "--target", "scalar", "-p", "3 1 4", "-n", "8", "--hash")
    verdict(f"{name}: a packed file is read as it is", code == 0 and done[:2] == first[:2] and done[2].splitlines()[-1:] == first[2].splitlines()[-1:], err + done[2] + first[2])
    code, out, err = lathe("verify", name, "--jit", "tcc")
    verdict(f"{name}: verify", code == 0, out.decode() + err)
    code, _, err = lathe("run", name, "-p", "3", "-n", "1", "--quant", "int4_32")
    verdict(f"{name}: --quant to published codes is refused", code != 0 and "reads int4_32 from published weights, but cannot make it" in err and "iq4_xs, " not in err, err)
    code, out, err = lathe("show", name, "plan", "--weights", name, "--quant", "bf16,layer[1].attn=f32")
    verdict(f"{name}: --quant by path", code == 0 and b"int4" not in out, err)


def experts():
    """Stacked experts and fused projections: some matrices stay codes, others become numbers."""
    config = {**DEEPSEEK, "hidden_size": 128, "moe_intermediate_size": 32, "q_lora_rank": 64}
    int4("deepseek-int4_32", config, "compressed", 32, "int4_32")


def stay_codes():
    int4("wide-awq-128", WIDE, "awq", 128, "int4_128")
    int4("wide-gptq-64", WIDE, "gptq", 64, "int4_64")
    int4("wide-compressed-32", WIDE, "compressed", 32, "int4_32")
    int4("wide-compressed-128", WIDE, "compressed", 128, "int4_128")
    ways_of_codes("wide-awq-128")
    fp8_stays("wide-fp8", WIDE, 128, 128)
    fp8_stays("wide-fp8-rows", WIDE, 1, 0)
    fp8_stays("wide-fp8-tensor", WIDE, 0, 0)
    fp8_stays("deepseek-e4m3", {**DEEPSEEK, "hidden_size": 128, "moe_intermediate_size": 128, "v_head_dim": 32}, 128, 128)
    ways_of_codes("wide-fp8")
    infinite_scale("wide-fp8")
    tied_to_codes()
    experts()


for family, config, kinds in (("llama", LLAMA, ("fp8", "awq", "gptq", "compressed")), ("phi3", PHI3, ("awq", "gptq")), ("deepseek", DEEPSEEK, ("fp8", "compressed")), ("gpt-oss", GPT_OSS, ("mxfp4",))):
    for each in kinds:
        check(f"{family}-{each}", config, each)
commands()
files()
eight_bits()
stay_codes()
sys.exit(failed)
