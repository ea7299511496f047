"""Writes tests/taps/torch.weights.safetensors and torch.safetensors by docs/record.py: the weights of a small GPT-2 of transformers
as it saves them, and its activations in double precision.  V/bin/python tests/oracle/record.py, V as in families/common.py."""

import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
from record import record

torch.manual_seed(1)
model = GPT2LMHeadModel(GPT2Config(vocab_size=23, n_positions=16, n_embd=12, n_layer=2, n_head=2, initializer_range=0.3,
                                   attn_implementation="eager"))
for p in model.parameters():  # gains and shifts too
    p.data += 0.1 * torch.randn_like(p)
state = {name: t for name, t in model.transformer.state_dict().items() if not name.endswith(".attn.bias")}
save_file(state, ROOT / "tests" / "taps" / "torch.weights.safetensors")
record(ROOT / "tests" / "taps" / "torch.safetensors", model.double(), {"input_ids": ("tokens", torch.tensor([3, 1, 4, 1, 5, 9, 2]))},
       {"layer[{i}].attn": "transformer.h.{i}.attn", "layer[{i}].ffn": "transformer.h.{i}.mlp",
        "layer[{i}].x": "transformer.h.{i}",
        "layer[{i}].ln1": "transformer.h.{i}.ln_1", "final": "transformer.ln_f"})
