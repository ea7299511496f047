#!/usr/bin/env python3
"""Directories of transformers, and GGUF of the same numbers, against what the published implementation computed.

    tests/import/reference/check.py LATHE FOLDER [NAME...]

For each directory FOLDER/NAME (make.py): `lathe verify` of it, as it is, holds the interpreter to 1e-9 of an output's largest value, and
compiled code to 1e-5; FOLDER/NAME.gguf, if it is there, gives the same logits to the bit.  A directory with weights.json in place of
model.safetensors (new.py) gets its weights from there, in a copy; with gguf.json, also its GGUF (described_gguf.py).
FOLDER/gguf has what llama.cpp computes from the files of gguf_models.py: held to 1e-5.  Prints ok or FAIL for each."""
import glob
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../gguf"))
import gguf_file
import described_gguf
import gguf_models
import seeded

LATHE, FOLDER = os.path.abspath(sys.argv[1]), sys.argv[2]
failed = False


NATIVE = ["--target", "native", "--jit", "tcc"]
# what our model asks for besides
SETTINGS = {"bart": ["-D", "padded=true"], "t5": ["-D", "padded=true"]}
# of compiled code, where sums cancel: torch in float32 differs from itself in float64 by 2e-4 of the largest logit
BOUNDS = {"qwen3_next": "1e-4", "qwen3_5": "1e-4", "qwen3_5_moe": "2e-4"}
# a GGUF has the rates of their decays, in float32, in place of the logarithms
ROUNDED = {"qwen3_5", "qwen3_5_moe", "qwen3_next", "granite_hybrid", "granite_hybrid_dense", "mamba", "falcon_mamba", "mamba2",
           "jamba", "jamba_dense", "nemotron_h_dense", "nemotron_h_moe", "nemotron_h_latent", "kimi_linear_one_group",
           "bamba_rotated", "falcon_h1_multiplied", "falcon_h1_unnormed",
           "hunyuan_v1_dense_gguf", "apertus"}          # and the angles' base, and slopes
# where llama.cpp computes an activation by another formula
LLAMA_BOUNDS = {"mpt": "1e-3", "nomic_bert_moe": "1e-3", "jina_bert_v2": "1e-3", "jina_bert_v2_code": "1e-3", "jina_bert_v3": "1e-3"}

# whose files may have layers that predict further tokens
FURTHER = {"qwen3_5", "qwen3_5_moe", "qwen3_next", "nemotron_h_moe", "exaone4", "exaone_moe", "glm_moe_dsa", "hy_v3"}

# values of GGUF keys that no item can take, and the messages
REFUSED = {
    "afmoe_gguf": [("expert_weights_norm", False, "afmoe supports only sigmoid gates"), ("attention.sliding_window", 0, "afmoe needs attention.sliding_window")],
    "ernie4_5_moe_gguf": [("expert_shared_feed_forward_length", 9, "expert_shared_count times"), ("expert_gating_func", 2, "expert_gating_func is never used")],
    "cohere2_moe": [("expert_weights_scale", 2.0, "expert_weights_scale 1"), ("expert_weights_norm", False, "normed softmax gates"),
                    ("attention.sliding_window_pattern", [1, 0, 1], "sliding_window_pattern must have true or false for each layer"),
                    ("rope.freq_base_swa", 20.0, "cohere2moe supports only unscaled positions"), ("expert_shared_count", 3, "expert_shared_count times")],
    "dots1_gguf": [("expert_gating_func", 1, "this family supports only sigmoid gates"), ("expert_shared_feed_forward_length", 9, "expert_shared_count times"),
                   ("attention.layer_norm_epsilon", 1e-5, "only one epsilon for all norms"), ("attention.scale", 0.5, "attention.scale is never used")],
    "gemma4_text": [("attention.head_count_kv", [2, 1, 2, 2, 2], "head_count_kv may only differ"), ("feed_forward_length", [40, 40, 80, 80, 80], "feed_forward_length may only differ"),
                    ("attention.value_length_swa", 8, "value_length must equal key_length"), ("attention.scale", 0.5, "attention.scale is never used")],
    "glm_moe_dsa": [("attention.indexer.types", [0, 1, 1], "attention.indexer.types must have true or false"), ("expert_gating_func", 1, "expert_weights_norm must be true for sigmoid gates")],
    "laguna_gguf": [("expert_weights_norm", False, "laguna supports only sigmoid gates"), ("expert_shared_count", 2, "one shared expert"), ("attention.value_length", 6, "value_length must equal key_length")],
    "minimax_m3_vl_text_gguf": [("expert_gating_func", 1, "sigmoid gates (expert_gating_func 2)"), ("expert_weights_norm", False, "expert_weights_norm true"),
                                ("attention.indexer.head_count", 4, "must be attention.head_count_kv"), ("attention.indexer.block_size", 0, "block_size must be from 1"),
                                ("attention.indexer.top_k", 1, "local_blocks at most top_k"), ("attention.indexer.key_length", 4, "must not exceed attention.indexer.key_length"),
                                ("attention.indexer.types", [0, 1, 1], "attention.indexer.types is never used")],
    "minicpm3_gguf": [("attention.value_length", 6, "minicpm3 supports only value_length"), ("rope.scaling.type", "yarn", "factors of positions as tensors")],
    "youtu_other": [("leading_dense_block_count", 1, "must be block_count in a model without experts"), ("rope.scaling.type", "linear", "only YaRN scaling")],
    "bamba_rotated": [("embedding_scale", 2.0, "supported only without experts and scales"),
                      ("attention.scale", 0.5, "supported only without experts and scales"),
                      ("expert_shared_feed_forward_length", 8, "supported only without experts and scales"),
                      ("rope.scaling.factor", 2.0, "rope.scaling.factor is never used")],
    "jamba": [("rope.freq_base", 1e4, "jamba supports only attention without positions"),
              ("attention.head_count_kv", [0, 2, 0], "head_count_kv must have one element for each layer"),
              ("attention.head_count_kv", [0, 2, 4, 0], "all layers of attention must have the same head_count_kv")],
    "nemotron_h_moe": [("expert_weights_norm", False, "normed weights and one shared expert"),
                       ("expert_shared_count", 2, "normed weights and one shared expert"),
                       ("expert_gating_func", 1, "sigmoid gates (expert_gating_func 2)"),
                       ("rope.scaling.finetuned", True, "nemotron_h with rotary positions is not supported"),
                       ("attention.value_length", 4, "value_length must equal key_length"),
                       ("feed_forward_length", [0, 10, 0, 10], "feed_forward_length must have one element for each layer"),
                       ("feed_forward_length", [0, 10, 0, 12, 0], "all feed-forward blocks must have the same feed_forward_length"),
                       ("expert_used_count", [2, 2, 2, 2, 3], "expert_used_count")],
    "kimi_linear_one_group": [("expert_gating_func", 1, "kimi_linear supports only sigmoid gates"),
                              ("expert_weights_norm", False, "kimi_linear supports only sigmoid gates"),
                              ("attention.q_lora_rank", 8, "kimi_linear supports only queries without a latent"),
                              ("attention.head_count_kv", [0, 0, 0, 2], "kimi_linear supports only one latent for all heads"),
                              ("attention.key_length", 12, "key_length must be the width of the latent and of the rotary key"),
                              ("kda.safe_gate", True, "kda.safe_gate is never used")],
}


def run(*words):
    done = subprocess.run([LATHE, *words], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def verdict(name, good, why):
    global failed
    failed = failed or not good
    print(f"ok reference/{name}" if good else f"FAIL reference/{name}", flush=True)
    if not good:
        print("     " + why.strip().replace("\n", "\n     "), flush=True)


def tensors(path):
    """The header of a safetensors file, and for each tensor its bytes."""
    header, content = seeded.header_of(path)
    return header, {name: content[slice(*entry["data_offsets"])] for name, entry in header.items() if "data_offsets" in entry}


def same_logits(folder, packed):
    """Why the two files don't give the same; nothing if they do."""
    ids = ["-p", "3 1 4 1 5 9 2 6 5 3 5 8", "-n", "9", "--hash"]
    wanted, found = run("run", folder, *ids), run("run", packed, *ids)
    return "" if wanted == found and wanted[0] == 0 else f"{wanted[1]}\n{found[1]}"


def further(packed):
    """Layers that predict further tokens, counted by block_count: one is left out, with the same logits."""
    pairs, entries = gguf_file.read(packed)
    sizes = {key.split(".", 1)[1]: value for key, _, value in pairs}
    kind, layers = sizes["architecture"], sizes["block_count"]
    last = [entry for entry in entries if entry[0].startswith(f"blk.{layers - 1}.")]
    norms = [(f"nextn.{name}.weight", [sizes["embedding_length"]]) for name in ("enorm", "hnorm", "shared_head_norm")]
    added = norms + [("nextn.eh_proj.weight", [sizes["embedding_length"], 2 * sizes["embedding_length"]])]
    more = f"{packed}.further.gguf"

    def changed(count, stated, tensors):
        counted = {f"{kind}.block_count": layers + count}
        for key, form, value in pairs:
            if form == gguf_file.LIST and len(value[1]) == layers:
                added_layer = 0 if value[0] == gguf_file.BOOL else max(value[1])        # one of attention
                counted[key] = value[0], value[1] + [added_layer] * count
        after = [(name.replace(f"blk.{layers - 1}.", f"blk.{layers + i}."), *rest) for i in range(count) for name, *rest in last]
        after += [(f"blk.{layers}.{name}", shape, "F32", bytes(4 * math.prod(shape))) for name, shape in added if count]
        with open(more, "wb") as file:
            file.write(gguf_file.gguf([(key, form, counted.get(key, value)) for key, form, value in pairs if not key.endswith(".nextn_predict_layers")] +
                                      [(f"{kind}.nextn_predict_layers", gguf_file.U32, stated)], tensors + after))

    changed(1, 1, entries)
    why = same_logits(packed, more)
    verdict(f"{os.path.basename(packed)}, one layer further", not why, why)
    for name, given, message in (("two layers further", (2, 2, entries), "expected nextn_predict_layers 0 or 1; nextn_predict_layers is 2"),
                                 ("only a layer further", (1, 1, [e for e in entries if not e[0].startswith("blk.")]), "expected a file with all layers"),
                                 ("a layer further than stated", (1, 0, entries), f"blk.{layers}.")):
        changed(*given)
        code, said = run("run", more, "-p", "3 1 4", "-n", "1")
        verdict(f"{os.path.basename(packed)}, {name}: refused", code == 1 and message in said, said)
    os.unlink(more)


def refused(packed, cases):
    """Files with another value of one key."""
    pairs, entries = gguf_file.read(packed)
    kind = pairs[0][2]
    forms = {bool: gguf_file.BOOL, int: gguf_file.U32, float: gguf_file.F32, str: gguf_file.TEXT}
    more = f"{packed}.refused.gguf"
    for key, value, message in cases:
        typed = (gguf_file.LIST, (gguf_file.U32, value)) if isinstance(value, list) else (forms[type(value)], value)
        with open(more, "wb") as file:
            file.write(gguf_file.gguf([p for p in pairs if p[0] != f"{kind}.{key}"] + [(f"{kind}.{key}", *typed)], entries))
        code, said = run("import", "--spec-only", more)
        verdict(f"{os.path.basename(packed)}, {key} {value}: refused", code == 1 and message in said, said)
    os.unlink(more)


def falcon_forms(packed):
    """Falcon-H1: logits by the embeddings, and biases of queries, lack their multiplier or have another."""
    pairs, entries = gguf_file.read(packed)
    more = f"{packed}.other.gguf"
    for name, tensors, message in (("tied", [e for e in entries if e[0] != "output.weight"], "falcon-h1 supports only untied embeddings"),
                                   ("a bias of queries", entries + [("blk.0.attn_q.bias", [32], "F32", bytes(4 * 32))],
                                    "falcon-h1 supports only attention without biases")):
        with open(more, "wb") as file:
            file.write(gguf_file.gguf(pairs, tensors))
        code, said = run("import", "--spec-only", more)
        verdict(f"{os.path.basename(packed)}, {name}: refused", code == 1 and message in said, said)
    os.unlink(more)


def kimi_forms(packed):
    """Kimi Linear: a quantised file has no outermost axes of 1; older ones have keys and values of the latent in one tensor."""
    pairs, entries = gguf_file.read(packed)
    sizes = {key.split(".", 1)[1]: value for key, _, value in pairs}
    heads, rank, v = sizes["attention.head_count"], sizes["attention.kv_lora_rank"], sizes["attention.value_length_mla"]
    nope = sizes["attention.key_length_mla"] - sizes["rope.dimension_count"]
    more = f"{packed}.other.gguf"

    def write_gguf(tensors):
        with open(more, "wb") as file:
            file.write(gguf_file.gguf(pairs, tensors))
        why = same_logits(packed, more)
        os.unlink(more)
        return why

    why = write_gguf([(name, shape[1 + (shape[:2] == [1, 1]):] if shape[0] == 1 else shape, kind, data) for name, shape, kind, data in entries])
    verdict(f"{os.path.basename(packed)}, without outermost axes of 1", not why, why)
    whole, keys = [], {}
    for name, shape, kind, data in entries:
        if name.endswith("attn_k_b.weight"):
            keys[name] = [data[2 * i : 2 * i + 2] for i in range(len(data) // 2)]
        elif name.endswith("attn_v_b.weight"):
            k, each = keys[name.replace("v_b", "k_b")], 2 * v * rank
            rows = [b"".join(k[(h * rank + r) * nope + n] for n in range(nope) for r in range(rank)) + data[h * each : (h + 1) * each]
                    for h in range(heads)]
            whole.append((name.replace("v_b", "kv_b"), [heads * (nope + v), rank], kind, b"".join(rows)))
        else:
            whole.append((name, shape, kind, data))
    why = write_gguf(whole)
    verdict(f"{os.path.basename(packed)}, keys and values in one tensor", not why, why)


def encoded(packed, record, settings):
    """The same for what does not generate: heads that a GGUF leaves out are not asked for."""
    asked = f"{packed}.expected"
    header, data = tensors(record)
    while True:
        seeded.write_file(asked, header, data)
        code, said = run("verify", packed, "--against", asked, *(settings if "--interpreter" in settings else [*NATIVE, *settings]))
        os.unlink(asked)
        lacking = re.search(r"unknown value (\w+);", said)
        if code == 0 or not lacking:
            return "" if code == 0 else said
        del header[lacking[1]]


def check(folder):
    if os.path.exists(f"{folder}/model.safetensors"):
        return check_whole(folder)
    with tempfile.TemporaryDirectory() as work:
        whole = f"{work}/{os.path.basename(folder)}"
        shutil.copytree(folder, whole)
        seeded.remade(whole)
        check_whole(whole)


def check_whole(folder):
    name = os.path.basename(folder)
    record = f"{folder}/expected.safetensors"
    against = ["--against", record, *(SETTINGS.get(name, []) if "keep" in tensors(record)[0] else [])]
    if name in BOUNDS:
        code, said = run("verify", folder, *against, "--interpreter")
        code, said = run("verify", folder, *against, *NATIVE, "--bound", BOUNDS[name]) if code == 0 else (code, said)
    else:
        code, said = run("verify", folder, *against, *NATIVE)
    verdict(f"{name}: {tensors(record)[0]['__metadata__']['reference']}", code == 0, said)
    packed = f"{folder}.gguf"
    if os.path.exists(f"{folder}/gguf.json"):
        described_gguf.write(folder, packed)
    if not os.path.exists(packed):
        return
    why = same_logits(folder, packed)
    if name in ROUNDED:
        why = encoded(packed, record, ["--bound", "1e-5" if name in BOUNDS else "1e-6", "--interpreter"]) or encoded(packed, record, ["--bound", BOUNDS.get(name, "1e-5")])
    elif "can't generate" in why:
        why = encoded(packed, record, SETTINGS.get(name, []))
    verdict(f"{name}.gguf", not why, why)
    if name in FURTHER:
        further(packed)
    if name in REFUSED:
        refused(packed, REFUSED[name])
    if name == "falcon_h1_multiplied":
        falcon_forms(packed)
    if name.startswith("kimi_linear"):
        kimi_forms(packed)


def check_llama(record):
    name = os.path.basename(record).removesuffix(".safetensors")
    with tempfile.TemporaryDirectory() as work:
        gguf_models.write(name, f"{work}/{name}.gguf")
        code, said = run("verify", f"{work}/{name}.gguf", "--against", record, *NATIVE, "--bound", LLAMA_BOUNDS.get(name, "1e-5"))
    verdict(f"gguf/{name}: {tensors(record)[0]['__metadata__']['reference']}", code == 0, said)


for record in sorted(glob.glob(f"{FOLDER}/gguf/*.safetensors")):
    if not sys.argv[3:] or os.path.basename(record).removesuffix(".safetensors") in sys.argv[3:]:
        check_llama(record)
for found in sorted(glob.glob(f"{FOLDER}/*/")):
    if found == f"{FOLDER}/gguf/":
        continue
    if not sys.argv[3:] or os.path.basename(found[:-1]) in sys.argv[3:]:
        if os.path.exists(f"{found}expected.safetensors"):
            check(found[:-1])
        else:
            verdict(os.path.basename(found[:-1]), False, "it has no expected.safetensors: make.py failed")
sys.exit(failed)
