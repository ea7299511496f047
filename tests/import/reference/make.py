"""Makes directories as transformers publishes them, of small models with random weights: config.json, model.safetensors, and what the
published implementation computes in float64 from the same numbers, expected.safetensors.

    python3 -m venv V && V/bin/pip install torch transformers safetensors gguf timm
    V/bin/python tests/import/reference/make.py FOLDER [NAME...]

The models are those of tests/oracle/families, of more.py, layers.py and hybrids.py: its oracles run with functions of this file in place
of theirs that load lathe's weights.  Those of configurations.py follow (workshop.py).
NAME: a file there without its ending, or a type of configurations.py; all unless given.  Where llama.cpp's converter has the architecture, FOLDER/NAME.gguf is
the same model as a GGUF (to_gguf.py)."""

import pathlib
import re
import runpy
import shutil
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ORACLES = HERE.parents[1] / "oracle" / "families"
sys.path[:0] = [str(ORACLES), str(HERE)]
import common
import torch
from transformers import PreTrainedModel

import configurations
import directory
import to_gguf
import workshop

# oracles of what transformers has no directory of: diffusers, our own formulas, lists of sizes
NOT_OURS = {"common", "count", "diffusion", "flan_t5", "ltx2_decoder", "minilm", "published", "remote", "transformer", "uvit"}
# oracles beyond what an item takes, and why
BEYOND = {"llama_dynamic": "it runs beyond the context of its training",
          "phi3_short": "of two lists of factors it takes that of the input's length, a model here that of its context"}


def scaled_by_width(module):
    """A GGUF of Gemma does not state the scores' scale, which is the head's width but for the 27B."""
    module.config.query_pre_attn_scalar = module.config.head_dim
    for layer in module.model.layers:
        layer.self_attn.scaling = module.config.head_dim ** -0.5


def limited_by_7(module):
    """Nor the limit of gpt-oss's gates."""
    module.config.swiglu_limit = 7.0
    for part in module.modules():
        if hasattr(part, "limit"):
            part.limit = 7.0


def with_fixed_chunks(module):
    """Nor Llama 4's chunks, and how its scores grow.  Its angles are divided by 1 or 8 here: a GGUF has the divisors as float32."""
    c = module.config
    c.attention_chunk_size, c.floor_scale, c.attn_scale = 8192, 8192, 0.1
    c.rope_parameters["original_max_position_embeddings"] = 32
    module.model.rotary_emb = type(module.model.rotary_emb)(c)
    for layer in module.model.layers:
        layer.self_attn.floor_scale, layer.self_attn.attn_scale = c.floor_scale, c.attn_scale


def with_rows_of_0(module):
    """In a GGUF of Gemma 3n each layer's own embeddings have a row of 0 for each token that had none."""
    table, rows = module.model.embed_tokens_per_layer, module.config.vocab_size
    table.weight = torch.nn.Parameter(torch.nn.functional.pad(table.weight, (0, 0, 0, rows - len(table.weight))))
    module.config.vocab_size_per_layer_input = rows


def without_limits(module):
    """Nor the limits of Mamba 2's steps."""
    module.config.time_step_limit = (0.0, float("inf"))
    for layer in module.backbone.layers:
        layer.mixer.time_step_limit = module.config.time_step_limit


def without_least(module):
    """Nor the least step of Nemotron-H."""
    module.config.time_step_min = 0.0
    for layer in module.model.layers:
        if hasattr(layer.mixer, "time_step_limit"):
            layer.mixer.time_step_limit = (0.0, float("inf"))


AS_IN_GGUF = {"mamba2": without_limits, "nemotron_h_dense": without_least, "nemotron_h_moe": without_least, "nemotron_h_latent": without_least,
              "gemma3n": with_rows_of_0, "llama4": with_fixed_chunks, "gpt_oss": limited_by_7, "gemma2": scaled_by_width, "gemma3": scaled_by_width}


class NoDirectory(Exception):
    pass


def randomize(module, name, computed):
    """Numbers that bf16 has: rows of about length 1, gains about 1.  computed: what files lack."""
    numbers = torch.Generator().manual_seed(sum(map(ord, name)))
    done = set()
    with torch.no_grad(), torch._C.DisableTorchFunction():
        for key, tensor in module.state_dict(keep_vars=True).items():
            if not tensor.is_floating_point() or key in computed or tensor.data_ptr() in done or key.endswith("inv_freq"):
                continue
            done.add(tensor.data_ptr())
            noise = torch.randn(tensor.shape, generator=numbers, dtype=torch.float64)
            if tensor.dim() < 2 or key.endswith("bias"):
                value = tensor.data.double() + 0.1 * noise
            else:
                value = noise * tensor[0].numel() ** -0.5
            tensor.data.copy_(value.to(torch.bfloat16).double())


def save(module, name):
    if name in BEYOND:
        raise NoDirectory(f"{name}, as {BEYOND[name]}")
    if not isinstance(module, PreTrainedModel):
        raise NoDirectory(f"{name}, as {type(module).__module__} has no config.json")
    directory.without_ends(module)
    if name in AS_IN_GGUF:
        AS_IN_GGUF[name](module)
    directory.save(module, FOLDER / name)
    return module.double().eval()


def load(module, name, prefix="", computed=(), renamed=None):
    randomize(module, name, computed)
    common.references[name] = type(module).__qualname__
    return save(module, name)


def published(name, kind, config, unread=()):
    config.architectures = [kind.__name__]
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    module = kind(config)
    randomize(module, name, ())
    common.references[name] = kind.__qualname__
    for part in module.modules():
        if hasattr(part, "scalar_embed_scale"):
            part.embed_scale.fill_(part.scalar_embed_scale)
    return save(module, name)


def record(name, inputs, outputs, taps=None, patches=()):
    directory.record(FOLDER / name / "expected.safetensors", common.references[name], inputs, outputs)
    said = to_gguf.convert(FOLDER, name)
    print(f"made {name}: {common.references[name]}{', and ' + said if said else ''}", flush=True)


common.load, common.published, common.record = load, published, record


def run(oracle):
    """One file of tests/oracle/families; vision.py has many in one, by their names."""
    parts = re.findall(r'"(\w+)": \w+[,}]', oracle.read_text().split("\nORACLES = ")[-1]) if oracle.stem == "vision" else [None]
    for part in parts:
        sys.argv = [str(oracle), *([part] if part else [])]
        torch.manual_seed(0)            # vectors are what the class begins with, and noise
        try:
            runpy.run_path(str(oracle), run_name="__main__")
        except NoDirectory as why:
            print(f"left out {why}", flush=True)
        except Exception:
            print(f"FAIL {part or oracle.stem} can't be made", flush=True)
            traceback.print_exc()


FOLDER = pathlib.Path(sys.argv[1]).resolve()
wanted = sys.argv[2:]
FOLDER.mkdir(parents=True, exist_ok=True)
for file in [*sorted(ORACLES.glob("*.py")), HERE / "more.py", HERE / "layers.py", HERE / "hybrids.py"]:
    if file.stem in wanted or (not wanted and file.stem not in NOT_OURS):
        run(file)
for kind in configurations.CONFIGURATIONS:
    if kind not in wanted and wanted:
        continue
    for name, changes in (workshop.heads(kind) | configurations.of_type(kind)).items():
        try:
            workshop.write(kind, name, changes, FOLDER)
        except Exception:
            print(f"FAIL {name} can't be made", flush=True)
            traceback.print_exc()
        else:
            said = to_gguf.convert(FOLDER, name)
            if (HERE / "kept" / name / "gguf.json").exists():
                shutil.copy(HERE / "kept" / name / "gguf.json", FOLDER / name)
            print(f"made {name}: {common.references[name]}{', and ' + said if said else ''}", flush=True)
