"""What the oracles of the families share: published implementations, run in float64 on our weights.

An oracle builds the reference class in the sizes of tests/families/NAME.model, loads what `lathe weights` writes
for that file (so the published names and packing are tried as well), runs it and records inputs, outputs and
intermediate values in tests/families/NAME.safetensors, which tests/families/run compares with lathe.

From the import of this module on, everything is float64: new tensors are, and where a reference asks for float32
(`x.float()`, `x.to(torch.float32)`, `softmax(x, dtype=torch.float32)`, a norm, a rotary table) it gets float64. Each
place where that happened goes into the record's metadata.

    python3 -m venv V && V/bin/pip install torch transformers diffusers timm safetensors
    make && V/bin/python tests/oracle/families/gpt2.py
"""

import importlib.metadata
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import torch
from torch.overrides import TorchFunctionMode

ROOT = pathlib.Path(__file__).resolve().parents[3]
LATHE = os.environ.get("LATHE", str(ROOT / "build" / "lathe"))
WIDER = {torch.float32: torch.float64, torch.float16: torch.float64, torch.bfloat16: torch.float64,
         torch.complex64: torch.complex128}
NARROWERS = torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16


def widen(value):
    if isinstance(value, torch.dtype):
        return WIDER.get(value, value)
    return value


class Float64(TorchFunctionMode):
    """Gives float64 where a torch function is asked for float32, float16 or bfloat16, and notes who asked."""

    def __init__(self):
        super().__init__()
        self.casts = set()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        wide_args = tuple(widen(a) for a in args)
        wide_kwargs = {k: widen(v) for k, v in (kwargs or {}).items()}
        asked = function in NARROWERS
        asked = asked or any(a is not b for a, b in zip(args, wide_args))
        asked = asked or any(v is not wide_kwargs[k] for k, v in (kwargs or {}).items())
        if asked:
            self.note(function)
        if function in NARROWERS:
            function = torch.Tensor.double
        return function(*wide_args, **wide_kwargs)

    def note(self, function):
        frame = sys._getframe(2)
        while frame and frame.f_globals.get("__name__", "").split(".")[0] == "torch":
            frame = frame.f_back
        where = frame.f_globals.get("__name__", "?") if frame else "torch"
        if where != "__main__" and where != __name__:
            self.casts.add(f"{where}.{frame.f_code.co_qualname}: {function.__name__}")


torch.set_default_dtype(torch.float64)
float64 = Float64()
float64.__enter__()
references = {}  # of the names loaded: the class


def read_weights(path):
    """float32 tensors of a safetensors file, as float64, with a reader of our own."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    weights = {}
    with torch._C.DisableTorchFunction():
        for name, entry in header.items():
            assert entry["dtype"] == "F32", name
            first, last = entry["data_offsets"]
            flat = torch.frombuffer(bytearray(data[8 + length + first:8 + length + last]), dtype=torch.float32)
            weights[name] = flat.double().reshape(entry["shape"])
    return weights


def lathe_weights(name, *options):
    """The hash weights of tests/families/NAME.model under their published names."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/w.safetensors"
        model = str(ROOT / "tests" / "families" / f"{name}.model")
        subprocess.run([LATHE, "weights", model, *options, "-o", path], check=True)
        return read_weights(path)


def load(module, name, prefix="", computed=(), renamed=None):
    """The reference in float64 with the weights of tests/families/NAME.model: every tensor of the one must be in the
    other. prefix: of the reference's names where the published file lacks it. computed: names of state that the
    reference computes by itself and no published file has. renamed: the reference's name for a published one that the
    library has given up. A tensor that two names share may be given once."""
    module = module.double().eval()
    state = module.state_dict(keep_vars=True)
    weights = {(renamed or {}).get(key, key): value for key, value in lathe_weights(name).items()}
    weights = {key if key in state else prefix + key: value for key, value in weights.items()}
    given = {state[key].data_ptr(): weights[key] for key in weights if key in state}
    for key, tensor in state.items():
        if key in weights:
            continue
        if key in computed:
            weights[key] = tensor.detach().clone()
        elif tensor.data_ptr() in given:
            weights[key] = given[tensor.data_ptr()]
    module.load_state_dict(weights, strict=True)
    for key, tensor in module.state_dict().items():
        assert not tensor.is_floating_point() or tensor.dtype == torch.float64, key
    references[name] = f"{type(module).__module__}.{type(module).__qualname__}"
    return module


def published(name, kind, config, unread=()):
    """The class of transformers, `kind`, in float64, which reads the weights of tests/families/NAME.model by its own
    loader: that knows the published names where the class has others by now. Nothing may be missing or left over.
    unread: names of the class that the published file has and no answer depends on."""
    config.architectures = [kind.__name__]
    with tempfile.TemporaryDirectory() as folder, torch._C.DisableTorchFunction():
        config.save_pretrained(folder)
        model = str(ROOT / "tests" / "families" / f"{name}.model")
        subprocess.run([LATHE, "weights", model, "-o", f"{folder}/model.safetensors"], check=True)
        module = opened(folder, kind, unread)
    references[name] = f"{kind.__module__}.{kind.__qualname__}"
    return module


def opened(folder, kind, unread=()):
    """The class of transformers, `kind`, in float64, with the directory that its own loader reads."""
    with torch._C.DisableTorchFunction():
        module, said = kind.from_pretrained(folder, dtype=torch.float64, output_loading_info=True,
                                            attn_implementation="eager", experts_implementation="eager")
    wrong = {key: value for key, value in said.items() if set(value) - set(unread)}
    assert not wrong, wrong
    module = module.double()  # of what some classes keep in float32 whatever is asked
    for key, tensor in module.state_dict().items():
        assert not tensor.is_floating_point() or tensor.dtype == torch.float64, key
    for path, part in list(module.named_modules()):
        # rotary frequencies, once more in float64
        if any(key.endswith("original_inv_freq") for key, _ in part.named_buffers(recurse=False)):
            module.set_submodule(path, type(part)(getattr(part, "config", module.config)))
        if hasattr(part, "scalar_embed_scale"):  # a buffer that the loader leaves as it came from memory
            part.embed_scale.fill_(part.scalar_embed_scale)
    return module.eval()


def tokens(count, vocab):
    """Ids that differ from their neighbours, and the last id of all: [count]."""
    ids = [(7 * i * i + 3 * i + 1) % vocab for i in range(count - 1)]
    return torch.tensor(ids + [vocab - 1])


def taps(modules, batch=True):
    """modules: a submodule of the reference for each tap path. Returns a dictionary that the next run fills with
    their values (of several results the first), without the leading batch axis of 1. A pair of a submodule and a function
    gives what that makes of the submodule's input and result."""
    values = {}

    def keep(path, pick):
        def hook(module, args, kwargs, result):
            if pick:
                value = pick(args[0] if args else kwargs["hidden_states"], result)
            else:
                result = tuple(result.values()) if type(result) is dict else result
                value = result[0] if isinstance(result, (tuple, list)) else result
                value = value[0] if batch else value
            values[path] = value.detach()
        return hook

    for path, module in modules.items():
        module, pick = module if isinstance(module, tuple) else (module, None)
        module.register_forward_hook(keep(path, pick), with_kwargs=True)
    return values


def entry(module):
    """For taps: what enters a submodule, without the batch axis."""
    return module, lambda given, result: given[0]


def shaped(module, *shape):
    """For taps: what a submodule gives, in another shape."""
    return module, lambda given, result: result.reshape(shape)


def parts_of(layers, parts, path="layer"):
    """For taps: of each layer, for each of our names, the submodule of that name there."""
    return {f"{path}[{i}].{ours}": layer.get_submodule(theirs)
            for i, layer in enumerate(layers) for ours, theirs in parts.items()}


def versions():
    found = []
    for library in "torch", "transformers", "diffusers", "timm":
        if library in sys.modules:
            found.append(f"{library} {importlib.metadata.version(library)}")
    return ", ".join(found)


def record(name, inputs, outputs, taps=None, patches=()):
    """Writes tests/families/NAME.safetensors: reals as F64, whole numbers as I64."""
    metadata = {
        "reference": references.get(name, ""),
        "versions": versions(),
        "made float64": "; ".join(sorted(float64.casts)),
        "patches": "; ".join(patches),
        "inputs": ", ".join(inputs),
        "outputs": ", ".join(outputs),
    }
    float64.casts.clear()
    header, blobs, at = {"__metadata__": metadata}, [], 0
    for key, value in {**inputs, **outputs, **(taps or {})}.items():
        value = torch.as_tensor(value).detach().cpu().contiguous()
        real = value.is_floating_point()
        assert not real or value.dtype == torch.float64, f"{key} is {value.dtype}"
        values = value.flatten().tolist()
        blobs.append(struct.pack(f"<{len(values)}{'d' if real else 'q'}", *values))
        header[key] = {"dtype": "F64" if real else "I64", "shape": list(value.shape),
                       "data_offsets": [at, at + len(blobs[-1])]}
        at += len(blobs[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = ROOT / "tests" / "families" / f"{name}.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))
    print(f"{name}: {references.get(name, '')}, {len(header) - 1} tensors, {path.stat().st_size:,} bytes")


def decoder(name, module, count=24, prefix="", layers=(), parts=None, computed=(), renamed=None, patches=(),
            path="layer", more=None):
    """A causal language model, whole: loads, runs on `count` tokens, records logits. layers: its list of layers, and
    parts: for each of our instances in a layer (attn, ffn) the submodule's name there; these are recorded too. path: what our
    layers are called. more: further taps."""
    if name not in references:  # by published()
        module = load(module, name, prefix, computed, renamed)
    vocab = module.get_input_embeddings().weight.shape[0]
    values = taps(parts_of(layers, parts or {}, path) | (more or {}))
    ids = tokens(count, vocab)
    with torch.no_grad():
        logits = module(input_ids=ids[None], use_cache=False).logits[0]
    record(name, inputs={"tokens": ids}, outputs={"logits": logits}, taps=values, patches=patches)
