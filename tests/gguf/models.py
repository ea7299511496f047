"""The checkpoints of models/lib/gguf.model: for a miniature of each family the published tensors, turned into a GGUF as llama.cpp's
convert_hf_to_gguf.py does, give the same weights to the bit as the published tensors themselves.

Names are those of the package gguf, recorded in names.tsv by make_names.py; what is done to the numbers was written from the converter.
usage: models.py LATHE TOOL WORK DATA ROOT"""
import json
import math
import os
import re
import struct
import subprocess
import sys

import numpy as np
from gguf_file import F32 as F32_VALUE
from gguf_file import BOOL, LIST, TEXT, U32, gguf
from verdicts import finish, run, skip, verdict

# ---- what a converter does: each takes all tensors {name: array} and the sizes of the model, and gives all ----

LAYER = re.compile(r"\d+")


def each(change, *endings):
    """change(array, sizes) of the tensors whose names end so."""
    def rule(tensors, sizes):
        return {name: change(t, sizes) if name.endswith(endings) else t for name, t in tensors.items()}
    return rule


def neighbours(heads):
    """Rows of each head, first half and second half, to pairs of neighbours."""
    def change(w, sizes):
        n = sizes[heads]
        return w.reshape(n, 2, w.shape[0] // n // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)
    return change


ROTATED = (each(neighbours("heads"), "q_proj.weight", "q_proj.bias"), each(neighbours("kv_heads"), "k_proj.weight", "k_proj.bias"))
ONE_MORE = (each(lambda w, _: w + np.float32(1), "norm.weight"),)
TURNED = (each(lambda w, _: w.T, "c_attn.weight", "c_proj.weight", "c_fc.weight"),)


def by_heads(w, sizes):
    """For each head its queries, keys and values, to all queries, all keys, all values."""
    return w.reshape(sizes["heads"], 3, -1, *w.shape[1:]).swapaxes(0, 1).reshape(w.shape)


def by_groups(w, sizes):
    """For each head of keys the queries of its group, its keys, its values."""
    n = sizes["kv_heads"]
    w = w.reshape(n, sizes["heads"] // n + 2, -1, *w.shape[1:])
    return np.concatenate([part.reshape(-1, *w.shape[3:]) for part in (w[:, :-2], w[:, -2:-1], w[:, -1:])])


def stacked(pattern):
    """Experts of a layer in one tensor, under the name without the expert's number."""
    def rule(tensors, _):
        found, rest = {}, {}
        for name, t in tensors.items():
            match = re.fullmatch(pattern, name)
            if match:
                found.setdefault(match[1] + match[3], {})[int(match[2])] = t
            else:
                rest[name] = t
        return rest | {name: np.stack([t for _, t in sorted(parts.items())]) for name, parts in found.items()}
    return rule


def stacked_mixtral(tensors, sizes):
    tensors = stacked(r"(.*\.block_sparse_moe\.experts)\.(\d+)(\.w\d\.weight)")(tensors, sizes)
    return {re.sub(r"model\.(layers\.\d+)\.block_sparse_moe\.experts", r"\1.feed_forward.experts", name): t for name, t in tensors.items()}


def apart_mixtral(tensors, _):
    """As converters did before experts were stacked."""
    parts = {"w1": "gate", "w2": "down", "w3": "up"}
    return {re.sub(r"model\.layers\.(\d+)\.block_sparse_moe\.experts\.(\d+)\.(w\d)", lambda m: f"blk.{m[1]}.ffn_{parts[m[3]]}.{m[2]}", name): t
            for name, t in tensors.items()}


EXPERTS = (stacked(r"(.*\.mlp\.experts)\.(\d+)(\..*)"),)


def apart(tensors, sizes):
    """Latent keys and values of DeepSeek: keys transposed."""
    done = {}
    for name, w in tensors.items():
        if name.endswith("kv_b_proj.weight"):
            w = w.reshape(sizes["heads"], sizes["nope_dim"] + sizes["v_dim"], -1)
            keys, values = w[:, : sizes["nope_dim"]], w[:, sizes["nope_dim"] :]
            done[name.replace("kv_b_proj", "k_b_proj")] = keys.swapaxes(1, 2)
            done[name.replace("kv_b_proj", "v_b_proj")] = values
        else:
            done[name.replace("e_score_correction_bias", "e_score_correction.bias")] = w
    return done


def halves_apart(tensors, _):
    """Llama 4's experts: matrices turned, gates before values."""
    done = {}
    for name, w in tensors.items():
        if name.endswith("experts.gate_up_proj"):
            gates, values = np.split(w.swapaxes(1, 2), 2, axis=1)
            done[name.replace("gate_up_proj", "gate_proj.weight")], done[name.replace("gate_up_proj", "up_proj.weight")] = gates, values
        elif name.endswith("experts.down_proj"):
            done[name + ".weight"] = w.swapaxes(1, 2)
        else:
            done[name] = w
    return done


STREAMS = (stacked(r"(.*\.altup_(?:unembed_)?projections)\.(\d+)(\.weight)"),
           lambda tensors, _: {name + ".weight" if name.endswith("_scale") else name: t for name, t in tensors.items()})


def gates_apart(tensors, _):
    """gpt-oss: gates and values alternate."""
    done = {}
    for name, w in tensors.items():
        bias = ".bias" if name.endswith("_bias") else ".weight"
        if "gate_up_proj" in name:
            w = w if bias == ".bias" else w.swapaxes(1, 2)
            base = name[: name.index("gate_up_proj")]
            done[base + "gate_proj" + bias], done[base + "up_proj" + bias] = w[:, ::2], w[:, 1::2]
        elif "experts.down_proj" in name:
            done[name[: name.index("down_proj")] + "down_proj" + bias] = w if bias == ".bias" else w.swapaxes(1, 2)
        else:
            done[name + ".weight" if name.endswith("sinks") else name] = w
    return done


def joined(tensors, _):
    """ChatGLM's own files: queries, keys and values in one tensor."""
    done = dict(tensors)
    for name in tensors:
        if ".q_proj." in name:
            done[name.replace("q_proj", "qkv_proj")] = np.concatenate([done.pop(name.replace("q_proj", part)) for part in ("q_proj", "k_proj", "v_proj")])
    return {re.sub(r"model\.layers\.(\d+)\.self_attn\.qkv_proj", r"transformer.h.\1.attn.c_attn", name): t for name, t in done.items()}


def without(*beginnings):
    return lambda tensors, _: {name: t for name, t in tensors.items() if not name.startswith(beginnings)}


def without_class(tensors, _):
    """BERT and its kin: the class's name goes."""
    return {re.sub(r"^(bert|model)\.", "", name): t for name, t in tensors.items()}


def joined_phi(tensors, sizes):
    """Phi's first files."""
    tensors = joined(tensors, sizes)
    return {re.sub(r"transformer\.h\.(\d+)\.attn\.c_attn", r"transformer.h.\1.mixer.Wqkv", name): t for name, t in tensors.items()}


SHARED_GATE = (each(lambda w, _: w.reshape(-1), "shared_expert_gate.weight"),)
MIXTRAL = (stacked_mixtral,)

# family of tests/families, general.architecture, checkpoint, settings, rules
ROWS = [
    ("llama", "LLAMA", "gguf_llama", "", ROTATED),
    ("llama_biased", "LLAMA", "gguf_llama", "", ROTATED),
    ("mistral", "LLAMA", "gguf_llama", "", ROTATED),
    ("mixtral", "LLAMA", "gguf_mixtral", "", ROTATED + MIXTRAL),
    ("mixtral", "LLAMA", "gguf_mixtral_apart", "", ROTATED + (apart_mixtral,)),
    ("granite", "GRANITE", "gguf_llama", "", ROTATED),
    ("minicpm", "MINICPM", "gguf_llama", "", ROTATED),
    ("smollm3", "SMOLLM3", "gguf_llama", "", ROTATED),
    ("qwen2", "QWEN2", "gguf_qwen2", "", ()),
    ("qwen2_moe", "QWEN2MOE", "gguf_qwen2moe", "", EXPERTS + SHARED_GATE),
    ("qwen3", "QWEN3", "gguf_qwen3", "", ()),
    ("qwen3_moe", "QWEN3MOE", "gguf_qwen3moe", "", EXPERTS),
    ("gemma", "GEMMA", "gguf_gemma", "", ONE_MORE),
    ("gemma2", "GEMMA2", "gguf_gemma2", "", (each(lambda w, _: w + np.float32(1), "norm.weight"),)),
    ("gemma3", "GEMMA3", "gguf_gemma3", "", ONE_MORE),
    ("gemma3n", "GEMMA3N", "gguf_gemma3n", "", STREAMS),
    ("llama4", "LLAMA4", "gguf_llama4", "", (halves_apart,)),
    ("phi", "PHI2", "gguf_phi2_apart", "", ()),
    ("phi", "PHI2", "gguf_phi2", "", (joined_phi,)),
    ("phi3", "PHI3", "gguf_phi3", "", ()),
    ("gpt2", "GPT2", "gguf_gpt", "position_table true", TURNED),
    ("gpt_bigcode", "STARCODER", "gguf_gpt", "position_table true", ()),
    ("gpt_neox", "GPTNEOX", "gguf_gpt", "", (each(by_heads, "query_key_value.weight", "query_key_value.bias"),)),
    ("bloom", "BLOOM", "gguf_bloom", "", (each(by_heads, "query_key_value.weight", "query_key_value.bias"),)),
    ("falcon", "FALCON", "gguf_gpt", "", (each(by_groups, "query_key_value.weight"),)),
    ("falcon_one_norm", "FALCON", "gguf_gpt", "", (each(by_groups, "query_key_value.weight"),)),
    ("starcoder2", "STARCODER2", "gguf_starcoder2", "", ()),
    ("nemotron", "NEMOTRON", "gguf_nemotron", "", ONE_MORE),
    ("stablelm", "STABLELM", "gguf_stablelm", "", ()),
    ("olmo", "OLMO", "gguf_olmo", "", ROTATED),
    ("olmo2", "OLMO2", "gguf_olmo2", "", ()),
    ("olmoe", "OLMOE", "gguf_olmoe", "", EXPERTS),
    ("cohere", "COMMAND_R", "gguf_cohere", "", ()),
    ("cohere_normed", "COMMAND_R", "gguf_cohere_normed", "", ()),
    ("glm", "CHATGLM", "gguf_chatglm", "", (joined,)),
    ("glm_sandwich", "GLM4", "gguf_glm4", "", ()),
    ("gpt_oss", "GPT_OSS", "gguf_gpt_oss", "", (gates_apart,)),
    ("deepseek_v2", "DEEPSEEK2", "gguf_deepseek2", "", EXPERTS + (apart,)),
    ("deepseek_v2", "DEEPSEEK2", "gguf_deepseek2", "absorbed false", EXPERTS),
    ("deepseek_v3", "DEEPSEEK2", "gguf_deepseek2_v3", "", EXPERTS + (apart,)),
    ("bert", "BERT", "gguf_bert", "pooler false  lm false  next false", (without_class, without("cls", "pooler"))),
    ("t5", "T5", "gguf_t5", "", ()),
    ("flan_t5", "T5", "gguf_t5", "", ()),
    ("modernbert", "MODERN_BERT", "gguf_modernbert", "lm false", (without_class, without("head.", "decoder."))),
]

# ---- files ----


def read_tensors(path):
    with open(path, "rb") as file:
        content = file.read()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:start])
    header.pop("__metadata__", None)
    # multiples of 2^-12, so that adding 1 rounds nothing
    return {name: np.round(np.frombuffer(content[start + e["data_offsets"][0] : start + e["data_offsets"][1]], "<f4").reshape(e["shape"]) * 4096)
            .astype("<f4") / np.float32(4096) for name, e in header.items()}


def write_tensors(path, tensors):
    header, content = {}, b""
    for name, t in tensors.items():
        data = np.ascontiguousarray(t, "<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [len(content), len(content) + len(data)]}
        content += data
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + content)


def split_name(name):
    """Its layer, the name with {i} for it and without its ending, the ending."""
    match = LAYER.search(name)
    layer = int(match[0]) if match else None
    base = LAYER.sub("{i}", name, count=1) if match else name
    ending = re.search(r"\.(weight|bias)$", base)
    return layer, base[: ending.start()] if ending else base, ending[0] if ending else ""


def read_names(here):
    names = {}
    with open(f"{here}/names.tsv", encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                architecture, name, theirs = line.rstrip("\n").split("\t")
                names[architecture, name] = theirs
    return names


def write_gguf(path, architecture, tensors, names, pairs=()):
    entries = []
    for name, t in tensors.items():
        layer, base, ending = split_name(name)
        theirs = name if base.startswith(("blk.", "rope_")) else names[architecture, base].replace("{i}", str(layer)) + ending
        entries.append((theirs, list(t.shape), "F32", np.ascontiguousarray(t, "<f4").tobytes()))
    with open(path, "wb") as file:
        file.write(gguf([*pairs, ("general.file_type", U32, 0)], entries))


# ---- one family ----


def model_text(root, family, checkpoint="", settings=""):
    with open(f"{root}/tests/families/{family}.model", encoding="utf-8") as file:
        text = file.read().replace('"../../models/', f'"{root}/models/')
    return text + f"import gguf\nmodel from_gguf : tiny {{ {settings};  {f'checkpoint {checkpoint}' if checkpoint else ''} }}\n"


def sizes_of(lathe, model):
    """Hyperparameters that rules need, from the text of the model with its family's defaults."""
    with open(model, encoding="utf-8") as file:
        text = file.read()
    sizes = {name: int(value) for name, value in re.findall(r"\b(heads|kv_heads|nope_dim|v_dim) (\d+)", text)}
    return {"kv_heads": 1 if "falcon" in text else sizes["heads"], **sizes}


def published(lathe, root, work, family):
    """The model with the publisher's checkpoint, and its tensors."""
    model = f"{work}/{family}.published.model"
    with open(model, "w", encoding="utf-8") as file:
        file.write(model_text(root, family))
    subprocess.run([lathe, "weights", model, "-o", f"{work}/hashed.safetensors"], check=True)
    return model, read_tensors(f"{work}/hashed.safetensors")


def converted(rules, tensors, sizes):
    for rule in rules:
        tensors = rule(tensors, sizes)
    return tensors


def first_difference(found, expected):
    for a, b in zip(found + ["the end"], expected + ["the end"]):
        if a != b:
            return f"found {a!r}, expected {b!r}"
    return ""


def check_family(lathe, tool, root, work, row, names):
    family, architecture, checkpoint, settings, rules = row
    name = f"{checkpoint} for {family}{', ' + settings if settings else ''}"
    model, tensors = published(lathe, root, work, family)
    write_tensors(f"{work}/published.safetensors", tensors)
    write_gguf(f"{work}/model.gguf", architecture, converted(rules, tensors, sizes_of(lathe, model)), names)
    with open(f"{work}/from_gguf.model", "w", encoding="utf-8") as file:
        file.write(model_text(root, family, checkpoint, settings))
    code, said = run(lathe, "check", "-m", "from_gguf", f"{work}/from_gguf.model")
    verdict(f"{name}: every weight once", code == 0, said)
    code, wanted = run(tool, "read", model, f"{work}/published.safetensors")
    again, found = run(tool, "read", f"{work}/from_gguf.model", f"{work}/model.gguf")
    found = sorted(found.splitlines())
    slots = {line.split()[0] for line in found}  # heads that a GGUF leaves out are not asked for
    wanted = sorted(line for line in wanted.splitlines() if line.split()[0] in slots)
    verdict(f"{name}: the published weights to the bit", code == 0 and again == 0 and len(wanted) > 100 and wanted == found,
            f"{len(wanted)} and {len(found)} lines, {first_difference(found, wanted)}")


def check_logits(lathe, root, work, names):
    """Through the program: the same hash of all logits."""
    for family, architecture, checkpoint, settings, rules in ROWS:
        if family not in ("llama", "gemma2", "gpt2", "mixtral"):
            continue
        model, tensors = published(lathe, root, work, family)
        write_tensors(f"{work}/published.safetensors", tensors)
        write_gguf(f"{work}/model.gguf", architecture, converted(rules, tensors, sizes_of(lathe, model)), names)
        with open(f"{work}/from_gguf.model", "w", encoding="utf-8") as file:
            file.write(model_text(root, family, checkpoint, settings))
        ids = ["-p", "3 1 4 1 5", "-n", "9", "--hash"]
        first = run(lathe, "run", model, "--weights", f"{work}/published.safetensors", *ids)
        second = run(lathe, "run", f"{work}/from_gguf.model", "--weights", f"{work}/model.gguf", *ids)
        verdict(f"{family}: the same logits from both files", first[0] == 0 and first == second, (first, second))


# What published files say of their sizes, for miniatures: keys without the architecture, and how it is spelt in files.
SIZES = {"block_count": 2, "context_length": 32}
NORMED = {"attention.layer_norm_rms_epsilon": 1e-5}
STATED = {
    "llama": ("llama", {"embedding_length": 24, "feed_forward_length": 40, "attention.head_count": 3, "rope.dimension_count": 8,
                        "rope.freq_base": 10000.0, "rope.scaling.type": "linear", "rope.scaling.factor": 4.0, "vocab_size": 37} | NORMED),
    "llama_biased": ("llama", {"embedding_length": 24, "feed_forward_length": 36, "attention.head_count": 4, "attention.head_count_kv": 2} | NORMED),
    "mixtral": ("llama", {"embedding_length": 24, "feed_forward_length": 20, "attention.head_count": 4, "attention.head_count_kv": 2,
                          "rope.freq_base": 1e6, "expert_count": 5, "expert_used_count": 2} | NORMED),
    "qwen2": ("qwen2", {"embedding_length": 24, "feed_forward_length": 36, "attention.head_count": 4, "attention.head_count_kv": 2,
                        "rope.freq_base": 1e6, "attention.layer_norm_rms_epsilon": 1e-6}),
    "qwen3": ("qwen3", {"embedding_length": 24, "feed_forward_length": 36, "attention.head_count": 3, "attention.head_count_kv": 1,
                        "attention.key_length": 10, "attention.value_length": 10, "rope.freq_base": 1e6, "attention.layer_norm_rms_epsilon": 1e-6}),
    "gemma3": ("gemma3", {"block_count": 7, "embedding_length": 20, "feed_forward_length": 28, "attention.head_count": 4,
                          "attention.head_count_kv": 2, "attention.key_length": 6, "attention.value_length": 6, "rope.freq_base": 1e6,
                          "rope.scaling.type": "linear", "rope.scaling.factor": 8.0, "attention.sliding_window": 7, "attention.layer_norm_rms_epsilon": 1e-6}),
    "gemma3n": ("gemma3n", {"block_count": 6, "embedding_length": 20, "feed_forward_length": [28] * 6, "attention.head_count": 4,
                            "attention.head_count_kv": 2, "attention.key_length": 6, "attention.value_length": 6, "rope.freq_base": 1e6,
                            "attention.sliding_window": 7, "attention.sliding_window_pattern": [True, True, False] * 2,
                            "attention.shared_kv_layers": 3, "attention.layer_norm_rms_epsilon": 1e-6, "final_logit_softcapping": 30.0,
                            "embedding_length_per_layer_input": 5, "altup.active_idx": 0, "altup.num_inputs": 3,
                            "activation_sparsity_scale": [-math.inf, 1.2815516, -math.inf, -math.inf, -math.inf, 0.25334710]}),
    "llama4": ("llama4", {"block_count": 8, "context_length": 40, "embedding_length": 24, "feed_forward_length": 20, "attention.head_count": 6,
                          "attention.head_count_kv": 2, "attention.key_length": 8, "attention.value_length": 8, "rope.freq_base": 5e5,
                          "expert_count": 5, "expert_used_count": 2, "expert_feed_forward_length": 10, "interleave_moe_layer_step": 2} | NORMED),
    "minicpm": ("minicpm", {"block_count": 3, "embedding_length": 24, "feed_forward_length": 40, "attention.head_count": 3, "rope.dimension_count": 8,
                            "embedding_scale": 12.0, "residual_scale": 1.4 / math.sqrt(3), "logit_scale": 3.0} | NORMED),
    "gpt2": ("gpt2", {"embedding_length": 24, "feed_forward_length": 96, "attention.head_count": 3, "attention.layer_norm_epsilon": 1e-5}),
    "cohere": ("command-r", {"embedding_length": 36, "feed_forward_length": 50, "attention.head_count": 6, "attention.head_count_kv": 2,
                             "rope.freq_base": 1000.0, "rope.scaling.type": "none", "logit_scale": 0.0625, "attention.layer_norm_epsilon": 1e-4}),
    "cohere_normed": ("command-r", {"embedding_length": 36, "feed_forward_length": 50, "attention.head_count": 6, "attention.head_count_kv": 2,
                                    "rope.freq_base": 8000000.0, "logit_scale": 0.8, "attention.layer_norm_epsilon": 1e-5}),
}
# what the published miniature is given where a GGUF means a fixed number
AS_STATED = {"gemma3": "scale_dim 6", "llama4": "chunk 8192  flat 8192  growth 0.1  scaling none"}


KIND = {int: U32, float: F32_VALUE, str: TEXT, bool: BOOL}


def typed(value):
    """The type that a file gives it, and it."""
    return (LIST, (KIND[type(value[0])], value)) if isinstance(value, list) else (KIND[type(value)], value)


def pairs_of(spelt, said):
    return [("general.architecture", TEXT, spelt)] + [(f"{spelt}.{key}", *typed(value)) for key, value in (SIZES | said).items()]


def check_imports(lathe, root, work, names):
    """lathe import of a GGUF: the model that it makes has the logits of the published one."""
    for family, architecture, checkpoint, _, rules in ROWS:
        if family not in STATED:
            continue
        spelt, said = STATED[family]
        model, tensors = published(lathe, root, work, family)
        with open(model, "w", encoding="utf-8") as file:
            file.write(model_text(root, family, settings=AS_STATED.get(family, "")))
        write_tensors(f"{work}/published.safetensors", tensors)
        write_gguf(f"{work}/tiny.gguf", architecture, converted(rules, tensors, sizes_of(lathe, model)), names, pairs_of(spelt, said))
        code, made = run(lathe, "import", "--spec-only", "-o", f"{work}/imported", f"{work}/tiny.gguf")
        verdict(f"lathe import of {family}'s GGUF by {checkpoint}", code == 0, made)
        ids = ["-p", "3 1 4 1 5 9 2 6 5 3 5 8", "-n", "9", "--hash"]
        wanted = run(lathe, "run", model, "--weights", f"{work}/published.safetensors", *ids)
        found = run(lathe, "run", f"{work}/imported.model", "--weights", f"{work}/tiny.gguf", *ids)
        verdict(f"... has the published model's logits, {checkpoint}", wanted[0] == 0 and wanted == found, (open(f"{work}/imported.model").read(), wanted, found))


def check_factors(lathe, root, work, names):
    """Factors of rotary positions, which a file has as tensors, become numbers of the model."""
    ordinary, turned = [1.0, 1.5, 2.25, 8.5], [1.0, 2.0, 4.0, 64.0]
    for added, wanted in (
        ({"rope_freqs.weight": turned}, "each_divided(by: [1, 2, 4, 64])"),
        ({"rope_factors_short.weight": ordinary, "rope_factors_long.weight": turned}, "short: [1, 1.5, 2.25, 8.5], long: [1, 2, 4, 64])"),
    ):
        spelt, said = STATED["llama"]
        plain, tensors = published(lathe, root, work, "llama")
        tensors = converted(ROTATED, tensors, sizes_of(lathe, plain))
        entries = {name: np.array(numbers, "<f4") for name, numbers in added.items()}
        write_gguf(f"{work}/factors.gguf", ROWS[0][1], tensors | entries, names, pairs_of(spelt, {k: v for k, v in said.items() if "scaling" not in k}))
        code, made = run(lathe, "import", "--spec-only", f"{work}/factors.gguf")
        verdict(f"factors of positions: {', '.join(added)}", code == 0 and wanted in made, made)


def check_begin_and_end(lathe, root, work, names):
    """Tokens that begin and end a text; two keys of one token name it once."""
    spelt, said = STATED["llama"]
    plain, tensors = published(lathe, root, work, "llama")
    tensors = converted(ROTATED, tensors, sizes_of(lathe, plain))
    for ids, wanted in (
        ({"bos": 0, "eos": 36, "eot": 3, "eom": 36}, "loop generate { start 0  stop [36, 3] }"),
        ({"bos": 36, "eot": 0}, "loop generate { start 36  stop 0 }"),
        ({"eom": 5}, "loop generate { stop 5 }"),
        ({"bos": 37}, "texts begin with token 37, but the vocabulary has 37"),
    ):
        tokens = [(f"tokenizer.ggml.{name}_token_id", U32, id) for name, id in ids.items()]
        write_gguf(f"{work}/ends.gguf", ROWS[0][1], tensors, names, pairs_of(spelt, said) + tokens)
        _, made = run(lathe, "import", "--spec-only", f"{work}/ends.gguf")
        verdict(f"begin and end of texts: {ids}", wanted in made, made)


def session(lathe, *words, script):
    done = subprocess.run([lathe, "repl", *words], input=script, capture_output=True, text=True)
    return done.stdout.splitlines()[-1:]


def check_commands(lathe, root, work, names):
    """The file in place of a model, and as --weights of one, in all commands that take weights."""
    spelt, said = STATED["llama"]
    plain, tensors = published(lathe, root, work, "llama")
    file, model = f"{work}/tiny.gguf", f"{work}/imported.model"
    write_gguf(file, ROWS[0][1], converted(ROTATED, tensors, sizes_of(lathe, plain)), names, pairs_of(spelt, said))
    run(lathe, "import", "--spec-only", "-o", f"{work}/imported", file)
    given = [model, "--weights", file]
    for name, words in {
        "run": ["run", "-p", "3 1 4 1 5", "-n", "9", "--hash"],
        "build": ["build", "--embed", "-o", "-", "--prefix", "tiny", "--target", "scalar"],
        "verify": ["verify", "--target", "scalar", "--jit", "tcc"],
    }.items():
        wanted, found = run(lathe, *words, *given), run(lathe, *words, file)
        verdict(f"{name} takes a GGUF", wanted[0] == 0 and wanted[1].replace("imported", "tiny") == found[1].replace("imported", "tiny"), (wanted, found))
    kept = []
    for source in given, [file]:
        code, text = run(lathe, "golden", "record", *source, "-p", "3 1 4 1 5", "-n", "9", "-o", f"{work}/kept.golden")
        again, checked = run(lathe, "golden", "check", f"{work}/kept.golden", "--jit", "tcc")
        verdict(f"golden record and check {'--weights' if len(source) > 1 else 'a'} GGUF", code == 0 and again == 0, (text, checked))
        kept.append([line for line in open(f"{work}/kept.golden") if not line.startswith(("model ", "spec "))])
    verdict("... the same values", len(kept[0]) > 10 and kept[0] == kept[1], kept)
    script = ':run "3 1 4 1 5" 9\n'
    wanted = session(lathe, model, script=f":weights {file}\n" + script)
    verdict("repl takes a GGUF, as a source and as weights", wanted and wanted == session(lathe, file, script=script) ==
            session(lathe, script=f":load {file}\n" + script), wanted)


MODEL = """import llamas
import gguf

model tiny : llama {
    layers 2  heads 3  d_model 24  d_ff 40  vocab 37  context 32  tied false  eps 1e-5
    position rope(scaling: linear_scaling(factor: 4))
    checkpoint gguf_llama
}
"""


def check_refused_imports(lathe, root, work, names):
    """What the pairs of a GGUF may not say."""
    model, tensors = published(lathe, root, work, "llama")
    spelt, said = STATED["llama"]
    tensors = converted(ROTATED, tensors, sizes_of(lathe, model))
    path = f"{work}/tiny.gguf"
    write_gguf(path, "LLAMA", tensors, names, pairs_of(spelt, said))
    code, text = run(lathe, "import", "--spec-only", path)
    wanted = f"# From {path} by config gguf_llama (lib/gguf_items.model), gguf:llama.\n" + MODEL
    text = text.replace("\n# gguf:", " gguf:")  # a long path takes a line of its own
    verdict("the model file of a GGUF", code == 0 and text == wanted, text)
    for key, count in (("attention.head_count", 3), ("feed_forward_length", 40), ("attention.head_count_kv", 3)):
        each = [count] * said.get("block_count", 2)
        for values, wanted in ((each, (0, text)), (each + [count], (1, "an array must have one element for each layer")),
                               ([count + 1] + each[1:], (1, "this family needs the same value in all layers"))):
            write_gguf(path, "LLAMA", tensors, names, pairs_of(spelt, said | {key: values}))
            found = run(lathe, "import", "--spec-only", path)
            good = found[0] == wanted[0] and (wanted[1] == found[1].replace("\n# gguf:", " gguf:") if wanted[0] == 0 else
                                              wanted[1] in found[1] and f'key is "{key}"' in found[1])
            verdict(f"an array in place of a number: {key} is {values}", good, found)
    for name, more, message in (
        ("a key that nothing reads", [("llama.rope.scaling.strange", F32_VALUE, 2.0)],
         f"{path}:10:1: error: rope.scaling.strange is never used\nllama.rope.scaling.strange = 2.0\n"),
        ("a value with keys below it", [("llama.rope.freq_base.more", U32, 1)],
         f"{path}:9:1: error: llama.rope.freq_base.more has a value, and keys below it\n"),
        ("an architecture without an item", [], "lathe: error: no config item for gguf:strange\n"),
    ):
        pairs = pairs_of("strange" if not more else spelt, said) + more
        write_gguf(path, "LLAMA", tensors, names, pairs)
        code, text = run(lathe, "import", "--spec-only", path)
        verdict(f"lathe import refuses {name}", code == 1 and text.startswith(message), text)
    write_gguf(path, "LLAMA", tensors, names)
    code, text = run(lathe, "import", "--spec-only", path)
    verdict("lathe import rejects a GGUF without an architecture", code == 1 and
            text == f"lathe: error: {path}: it has no general.architecture, which names the architecture\n", text)


TINY_LLAMA = """import llamas
model tiny : llama { layers 2  heads 4  d_model 16  d_ff 64  vocab 32000  context 32  eps 1e-6;  checkpoint %s }
"""


def check_tiny_llama(lathe, work, data, names):
    """Files that others made: safetensors turned into GGUF; and a GGUF turned into safetensors."""
    folder = f"{data}/checkpoints/tiny-llama"
    if not os.path.isdir(folder):
        skip("tiny-llama", f"{folder} is not there; LATHE_DATA names the folder")
        return
    run_it = ["-p", "3 1 4 1 5", "-n", "9", "--hash"]
    with open(f"{folder}/model.safetensors", "rb") as file:
        content = file.read()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:start])
    header.pop("__metadata__", None)
    tensors = {name: np.frombuffer(content[start + e["data_offsets"][0] : start + e["data_offsets"][1]], "<f4").reshape(e["shape"])
               for name, e in header.items()}
    heads = {"heads": 4, "kv_heads": 4}
    write_gguf(f"{work}/tiny.gguf", "LLAMA", converted(ROTATED, tensors, heads), names)
    found = []
    for checkpoint, file in (("huggingface_llama", folder), ("gguf_llama", f"{work}/tiny.gguf")):
        with open(f"{work}/tiny.model", "w", encoding="utf-8") as model:
            model.write("import gguf\n" + TINY_LLAMA % checkpoint)
        found.append(run(lathe, "run", f"{work}/tiny.model", "--weights", file, *run_it))
    verdict("tiny-llama's safetensors and a GGUF of it: the same logits", found[0][0] == 0 and found[0] == found[1], found)

    small = "import gguf\nimport llamas\nmodel small : llama { layers 1  heads 2  d_model 8  d_ff 16  vocab 16  context 16;  checkpoint %s }\n"
    found = []
    for checkpoint, file in (("gguf_llama", f"{folder}/tiny-llama-f32.gguf"), ("huggingface_llama", f"{work}/small.safetensors")):
        with open(f"{work}/small.model", "w", encoding="utf-8") as model:
            model.write(small % checkpoint)
        if checkpoint == "huggingface_llama":
            write_tensors(file, unconverted(f"{folder}/tiny-llama-f32.gguf", names))
        found.append(run(lathe, "run", f"{work}/small.model", "--weights", file, "-p", "3 1 4 1 5", "-n", "9", "--hash"))
    verdict("tiny-llama's GGUF and safetensors of it: the same logits", found[0][0] == 0 and found[0] == found[1], found)


def unconverted(path, names):
    """Llama's published tensors from an F32 GGUF, read by itself: pairs are passed over, rows put back in halves."""
    with open(path, "rb") as file:
        content = file.read()
    at = 24
    count, pairs = struct.unpack("<QQ", content[8:24])
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

    def number(form):
        nonlocal at
        value = struct.unpack_from("<" + form, content, at)[0]
        at += struct.calcsize(form)
        return value

    def text():
        nonlocal at
        n = number("Q")
        at += n
        return content[at - n : at].decode()

    def skip_value(kind):
        nonlocal at
        if kind == 8:
            text()
        elif kind == 9:
            within, n = number("I"), number("Q")
            for _ in range(n):
                skip_value(within)
        else:
            at += sizes[kind]

    for _ in range(pairs):
        text()
        skip_value(number("I"))
    entries = []
    for _ in range(count):
        name = text()
        shape = [number("Q") for _ in range(number("I"))][::-1]
        assert number("I") == 0
        entries.append((name, shape, number("Q")))
    start = -(-at // 32) * 32
    back = {theirs: ours for (architecture, ours), theirs in names.items() if architecture == "LLAMA" and "model." in ours or ours == "lm_head"}
    tensors = {}
    for name, shape, offset in entries:
        layer, base, ending = split_name(name)
        w = np.frombuffer(content[start + offset : start + offset + 4 * int(np.prod(shape))], "<f4").reshape(shape)
        if base.endswith(("attn_q", "attn_k")):
            w = w.reshape(2, w.shape[0] // 4, 2, -1).swapaxes(1, 2).reshape(w.shape)
        tensors[back[base].replace("{i}", str(layer)) + ending] = w
    return tensors


def main():
    lathe, tool, work, data, root = sys.argv[1:]
    names = read_names(f"{root}/tests/gguf")
    for row in ROWS:
        check_family(lathe, tool, root, work, row, names)
    check_logits(lathe, root, work, names)
    check_imports(lathe, root, work, names)
    check_factors(lathe, root, work, names)
    check_begin_and_end(lathe, root, work, names)
    check_commands(lathe, root, work, names)
    check_refused_imports(lathe, root, work, names)
    check_tiny_llama(lathe, work, data, names)
    finish()


if __name__ == "__main__":
    main()
