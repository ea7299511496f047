#!/usr/bin/env python3
"""Describes the GGUF that llama.cpp's converter makes of directories of transformers: FOLDER/gguf.json (described_gguf.py).

    V/bin/python tests/import/reference/convert_gguf.py LLAMA.CPP FOLDER...

LLAMA.CPP: its source directory.  The converter runs as it is, but for tokenizers, which these directories lack.  Each tensor of its GGUF is
found again as rows of tensors of model.safetensors, with 1 added, or as -exp; the file that gguf.json gives is compared with the converter's."""
import json
import logging
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), sys.argv[1], f"{sys.argv[1]}/gguf-py"]
import gguf
import numpy as np
import safetensors.torch
import torch
from conversion import get_model_class

import described_gguf

MOST = 80                           # numbers that are written as such
CHANGES = {"": lambda x: x, "plus": lambda x: x + np.float32(1), "exp": lambda x: -torch.exp(torch.tensor(x)).numpy()}
WORDS = {"UINT32": "u32", "INT32": "i32", "UINT64": "u64", "FLOAT32": "f32", "BOOL": "bool", "STRING": "text"}


# keys of published files that transformers' classes do not save
PUBLISHED = {
    "afmoe_gguf": {"score_func": "sigmoid", "route_norm": True},
    "cohere2": {"rotary_pct": 1.0}, "cohere2_layers": {"rotary_pct": 1.0},
    "deepseek_v3": {"scoring_func": "sigmoid"}, "deepseek_v32": {"scoring_func": "sigmoid"}, "deepseek_v32_other": {"scoring_func": "sigmoid"},
    "glm4_moe_lite": {"scoring_func": "sigmoid", "first_k_dense_replace": 1}, "glm4_moe_lite_other": {"scoring_func": "sigmoid", "first_k_dense_replace": 2},
    "granite_swa_gguf": {"no_rope_layers": [1, 1, 0, 1, 0]}, "granitemoe_swa_gguf": {"no_rope_layers": [0, 1, 1, 1, 0]},
    "exaone_moe": {"scoring_func": "sigmoid"}, "exaone_moe_other": {"scoring_func": "sigmoid"},
    "mpt": {"architectures": ["MPTForCausalLM"]},
    "phimoe": {"architectures": ["PhiMoEForCausalLM"]}, "phimoe_gguf": {"architectures": ["PhiMoEForCausalLM"], "original_max_position_embeddings": 100},
}
# tensors that published files have with the last two axes exchanged
TURNED = {"qwen3_vl_moe": ("experts.gate_up_proj", "experts.down_proj")}


def as_published(folder, work):
    """A copy of the directory, with keys and tensors as published, and the number of tokens where a converter counts those of a tokenizer."""
    config = json.loads((folder / "config.json").read_text()) | PUBLISHED.get(folder.name, {})
    (work / "config.json").write_text(json.dumps(config))
    words = {f"w{i}": i for i in range(config.get("vocab_size") or 0)}
    (work / "tokenizer.json").write_text(json.dumps({"model": {"vocab": words}, "added_tokens": []}))
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    tensors = {name: t.swapaxes(-1, -2).contiguous() if name.endswith(TURNED.get(folder.name, ())) else t for name, t in tensors.items()}
    safetensors.torch.save_file(tensors, work / "model.safetensors")
    return config["architectures"][0]


def convert(folder, path):
    """The GGUF, in float32."""
    with tempfile.TemporaryDirectory() as work:
        architecture = as_published(folder, pathlib.Path(work))
        model = get_model_class(architecture)
        for kind in model.__mro__:
            if "set_vocab" in vars(kind):
                kind.set_vocab = lambda self: None
        with torch.inference_mode():
            model(pathlib.Path(work), gguf.LlamaFileType.ALL_F32, path, eager=True).write()


def read(path):
    """Pairs of the architecture, and tensors in the order of the file."""
    found = gguf.GGUFReader(path)
    pairs = {}
    for key, field in found.fields.items():
        if key.startswith(("GGUF.", "tokenizer.")) or (key.startswith("general.") and key != "general.architecture"):
            continue
        kind = WORDS[field.types[-1].name]
        value = field.contents()
        pairs[key] = [f"[{kind}]" if field.types[0] == gguf.GGUFValueType.ARRAY else kind, value]
    return pairs, {t.name: np.array(t.data).reshape([int(n) for n in t.shape[::-1]]) for t in found.tensors}


def rows_of(t):
    return t.reshape(-1, t.shape[-1]) if t.ndim > 1 else t.reshape(1, -1)


class Rows:
    """Where each row of a width is, in the source or in a tensor of it with the last two axes exchanged."""

    def __init__(self, source, change, width):
        self.at = {}
        for name, t in source.items():
            for mark in ("", "'") if t.ndim > 1 else ("",):
                rows = rows_of(t.swapaxes(-1, -2) if mark else t)
                if width == 1 and t.size <= 4096 and not mark:
                    rows = rows.reshape(-1, 1)
                if rows.shape[1] == width:
                    for i, row in enumerate(CHANGES[change](rows)):
                        self.at.setdefault(row.tobytes(), []).append((name + mark, i))

    def find(self, t):
        """[(name, row)], each after the one before if there are several; nothing if one is lacking."""
        out = []
        for row in t:
            places = self.at.get(row.tobytes())
            if places is None:
                return None
            after = (out[-1][0], out[-1][1] + 1) if out else None
            same = [p for p in places if out and p[0] == out[-1][0]]
            out.append(after if after in places else same[0] if same else places[0])
        return out


def pieces(found):
    """["name 0:8 9"]"""
    out = []
    at = 0
    while at < len(found):
        name, first = found[at]
        end = at + 1
        while end < len(found) and found[end] == (name, first + end - at):
            end += 1
        part = f"{first}:{first + end - at}" if end - at > 1 else str(first)
        if out and out[-1].split(" ")[0] == name:
            out[-1] += " " + part
        else:
            out.append(f"{name} {part}")
        at = end
    return out


class Finder:
    def __init__(self, source):
        self.source, self.known = source, {}

    def rows(self, change, width):
        if (change, width) not in self.known:
            self.known[change, width] = Rows(self.source, change, width)
        return self.known[change, width]

    def describe(self, t):
        for name, other in self.source.items():
            if other.shape == t.shape and other.tobytes() == t.tobytes():
                return name
        shape = {"shape": list(t.shape)}
        for change in CHANGES:
            more = {change: True if change == "exp" else 1} if change else {}
            for turn in (False, True) if t.ndim > 1 else (False,):
                found = self.rows(change, (t.swapaxes(-1, -2) if turn else t).shape[-1]).find(rows_of(t.swapaxes(-1, -2) if turn else t))
                if found:
                    return shape | {"rows": pieces(found)} | ({"turned": True} if turn else {}) | more
            found = self.rows(change, 1).find(t.reshape(-1, 1)) if t.size <= 4096 else None
            if found:
                return shape | {"rows": pieces(found)} | ({"width": 1} if t.shape[-1] != 1 else {}) | more
        if t.size <= MOST:
            return shape | {"values": [float(str(x)) for x in t.ravel()]}
        return None


def main():
    logging.basicConfig(level=logging.ERROR)
    logging.disable(logging.WARNING)
    failed = False
    for folder in map(pathlib.Path, sys.argv[2:]):
        path = folder.parent / f"{folder.name}.converted.gguf"
        try:
            convert(folder, path)
        except (Exception, SystemExit) as why:
            print(f"FAIL {folder.name}: {type(why).__name__}: {why}", flush=True)
            failed = True
            continue
        pairs, tensors = read(path)
        found = described_gguf.Source(folder / "model.safetensors")
        finder = Finder({name: np.array(found[name][1], "<f4").reshape(found[name][0]) for name in found.header})
        said = {name: finder.describe(t) for name, t in tensors.items()}
        lacking = [name for name, row in said.items() if row is None]
        if lacking:
            print(f"FAIL {folder.name}: not found again: {', '.join(lacking)}", flush=True)
            failed = True
            continue
        described_gguf.save(folder, pairs, said)
        again = folder.parent / f"{folder.name}.gguf"
        described_gguf.write(folder, again)
        described_gguf.write(folder, path.with_suffix(".f32"), lambda _, numbers: ("F32", numbers.tobytes()))
        worst = 0
        for name, t in read(path.with_suffix(".f32"))[1].items():
            worst = max(worst, float(np.abs(t - tensors[name]).max() / np.abs(tensors[name]).max()))
        path.with_suffix(".f32").unlink()
        failed = failed or worst > 1e-6
        print(f"{'ok' if worst <= 1e-6 else 'FAIL'} {folder.name}: {json.dumps(pairs['general.architecture'][1])}, {len(said)} tensors, off by {worst:.0e}, "
              f"{(folder / 'gguf.json').stat().st_size} bytes", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
