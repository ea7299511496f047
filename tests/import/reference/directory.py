"""Directories as transformers publishes them, with what its code computes from the same numbers: shared by make.py and new.py."""

import copy
import inspect

import common
import torch

import to_gguf


def without_ends(module):
    """Where a text begins and ends is no part of these numbers; defaults of classes are beyond small vocabularies."""
    for config in (module.config, module.config.get_text_config(), getattr(module, "generation_config", None)):
        for key in ("bos_token_id", "eos_token_id"):
            computes = key == "eos_token_id" and getattr(config, "ple_layer_ids", None)         # n-grams end with it
            if config is not None and hasattr(config, key) and may_be_none(config, key) and not computes:
                setattr(config, key, None)
        if isinstance(getattr(config, "pad_token_id", None), int) and config.pad_token_id > 36:
            config.pad_token_id = None


def may_be_none(config, key):
    """False if the class demands a number."""
    kind = inspect.signature(type(config).__init__).parameters.get(key)
    return kind is None or kind.annotation is kind.empty or "None" in str(kind.annotation)


def save(module, folder):
    """Of a copy, because tables lose digits too."""
    with torch._C.DisableTorchFunction():
        torch.set_default_dtype(torch.bfloat16)
        copy.deepcopy(module).to(torch.bfloat16).save_pretrained(folder)
        torch.set_default_dtype(torch.float64)


def record(path, reference, inputs, outputs, taps=()):
    values = {key: torch.as_tensor(value).detach() for key, value in {**inputs, **outputs, **dict(taps)}.items()}
    to_gguf.write_safetensors(path, {key: value.double().numpy() if value.is_floating_point() else value.numpy() for key, value in values.items()},
                              {"versions": common.versions(), "reference": reference, "inputs": ", ".join(inputs), "outputs": ", ".join(outputs)})
