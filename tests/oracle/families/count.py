"""Parameters of a reference class at a published configuration, built without memory for them.

    python tests/oracle/families/count.py transformers GPT2LMHeadModel n_layer=24 n_embd=1024 n_head=16

Settings are those of the class's configuration, whose defaults stand for the rest; @FILE takes a published config.json. A tensor
that two names share counts once; buffers do not count.
"""

import ast
import importlib
import json
import sys

import torch


def setting(text):
    key, value = text.split("=", 1)
    try:
        return key, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return key, value


def main(library, name, *settings):
    reference = getattr(importlib.import_module(library), name)
    values = {}
    for text in settings:
        if text.startswith("@"):
            with open(text[1:], encoding="utf-8") as file:
                values.update(json.load(file))
        else:
            values.update([setting(text)])
    with torch.device("meta"):
        if hasattr(reference, "config_class"):
            values.pop("dtype", None)
            values.pop("torch_dtype", None)
            module = reference(reference.config_class(**values))
        else:
            module = reference(**values)
    print(sum(p.numel() for p in module.parameters()))


main(*sys.argv[1:])
