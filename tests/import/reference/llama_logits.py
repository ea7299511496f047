#!/usr/bin/env python3
"""Records what llama.cpp computes in float32 from the files of gguf_models.py: kept/gguf/NAME.safetensors.

    tests/import/reference/llama_logits.py PROGRAM [NAME...]

PROGRAM: llama_logits.c, compiled with llama.cpp.  The files that it reads have F32 tensors, and no tokenizer."""
import array
import os
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
import gguf_models
import seeded
from described_gguf import gguf_file


def record(program, name):
    tokens = gguf_models.TOKENS
    with tempfile.TemporaryDirectory() as work:
        vocabulary = gguf_models.SIZES["v"]
        more = [("tokenizer.ggml.model", gguf_file.TEXT, "no_vocab"), (f"{gguf_models.MODELS[name][0]}.vocab_size", gguf_file.U32, vocabulary)]
        types = "token_types.weight" in gguf_models.described(name)[1]
        more += [("tokenizer.ggml.token_type_count", gguf_file.U32, 2)] if types else []
        gguf_models.write(name, f"{work}/x.gguf", lambda _, numbers: ("F32", numbers.tobytes()), more)
        vectors = name in gguf_models.VECTORS
        done = subprocess.run([program, f"{work}/x.gguf", "vectors" if vectors else "logits", f"{work}/x", *map(str, tokens)], capture_output=True, text=True, timeout=15)
        if done.returncode:
            return f"{name}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}"
        with open(f"{work}/x", "rb") as file:
            content = file.read()
    key, row = "hidden" if vectors else "logits", len(content) // len(tokens)
    inputs = {"tokens": tokens} | ({"keep": [1] * len(tokens), "token_types": [0] * len(tokens)} if types else {})
    header = {"__metadata__": {"reference": f"llama.cpp, {done.stdout.strip()}", "inputs": ", ".join(inputs), "outputs": key}}
    header |= {given: {"dtype": "I64", "shape": [len(tokens)]} for given in inputs} | {key: {"dtype": "F32", "shape": [len(tokens), row // 4]}}
    content = content[:row] + content[:-row] if name in gguf_models.SHIFTED else content
    os.makedirs(gguf_models.kept(), exist_ok=True)
    seeded.write_file(f"{gguf_models.kept()}/{name}.safetensors", header, {given: array.array("q", ids).tobytes() for given, ids in inputs.items()} | {key: content})
    return ""


faults = [why for name in sys.argv[2:] or gguf_models.MODELS if (why := record(os.path.abspath(sys.argv[1]), name))]
print("\n".join(faults))
sys.exit(bool(faults))
