"""Records activations of a PyTorch module under their names in a .model file, for `lathe verify --against FILE.safetensors`.

record(path, module, inputs, parts, output) runs the module once, accurate to 1e-9 with module.double().  Tensors have no batch axis.
inputs: {name in the module: (name in the model, tensor)}; output: name in the model of the module's result
parts: {name in the model: name of a submodule}; {i} in both names counts the submodules from 0
"""
import torch
from safetensors.torch import save_file


def tensor_of(gave):  # a tensor, or the first of a tuple or record
    return gave[0] if isinstance(gave, torch.Tensor) else tensor_of(gave[0])


def record(path, module, inputs, parts, output="logits"):
    values, submodule = dict(inputs.values()), dict(module.named_modules())

    def keep(ours):
        return lambda part, given, gave: values.__setitem__(ours, tensor_of(gave))

    for ours, theirs in parts.items():
        i = 0
        while theirs.format(i=i) in submodule and (i == 0 or "{i}" in theirs):
            submodule[theirs.format(i=i)].register_forward_hook(keep(ours.format(i=i)))
            i += 1
        if i == 0:
            raise KeyError(f"there is no submodule {theirs}")
    with torch.no_grad():
        values[output] = tensor_of(module.eval()(**{name: t[None] for name, (_, t) in inputs.items()}))
    save_file({name: t.contiguous().clone() for name, t in values.items()}, path)
