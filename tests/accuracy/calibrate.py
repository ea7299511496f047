"""Whether --calibrate gives each weight the squares that meet it: a model whose layers read other places of their inputs.

    python3 calibrate.py LATHE

Gains of the norms are 8 at every eighth place and 1/8 at the others; these places differ from layer to layer and from block to block.  So a weight that reads a norm loses much less
if its codes are chosen for its own layer's places: measured on a text, or given as an importance matrix.  Weights are made by hash.  Says nothing and exits with 0 if so."""

import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

TALE = str(pathlib.Path(__file__).resolve().parents[2] / "models" / "tale.model")
LAYERS = 2
READ_NORMS = ["attn.q.w", "attn.k.w", "attn.v.w", "ffn.gate.w", "ffn.up.w"]
TENSORS = ["attention.wq", "attention.wk", "attention.wv", "feed_forward.w1", "feed_forward.w3"]
WIDTH = 96


def gains_of(layer, width=WIDTH):
    return [8.0 if i % 8 == (3 * layer + i // 32) % 8 else 0.125 for i in range(width)]


def matrix():
    """The squares of the gains, as an importance matrix of llama.cpp."""
    entries = [(f"layers.{layer}.{name}.weight", [gain * gain for gain in gains_of(layer)]) for layer in range(LAYERS) for name in TENSORS]
    data = struct.pack("<i", len(entries))
    for name, means in entries:
        data += struct.pack("<i", len(name)) + name.encode() + struct.pack(f"<ii{len(means)}f", 1, len(means), *means)
    return data


def set_gains(path):
    data = bytearray(path.read_bytes())
    (n,) = struct.unpack_from("<Q", data)
    head = json.loads(data[8:8 + n])
    for name, entry in head.items():
        layer = re.match(r"layers\.(\d+)\.(attention|ffn)_norm", name)
        if not layer:
            continue
        (width,) = entry["shape"]
        struct.pack_into(f"<{width}f", data, 8 + n + entry["data_offsets"][0], *gains_of(int(layer[1]), width))
    path.write_bytes(data)


def main():
    lathe = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        weights, text, other, given = (pathlib.Path(folder) / name for name in ("w.safetensors", "text", "other", "matrix"))
        model = [TALE, "-D", f"layers={LAYERS}"]
        subprocess.run([lathe, "weights", *model, "-o", weights], check=True)
        set_gains(weights)
        text.write_text(" ".join(str(i * i * 7 % 509 + 1) for i in range(300)))
        given.write_bytes(matrix())
        other.write_text(" ".join(str(i * i * 11 % 503 + 1) for i in range(300)))

        def alone(quant, *more):
            out = subprocess.run([lathe, "verify", *model, "--weights", weights, "--text", text, "--quant", quant, "--top", "99", *more],
                                 stdout=subprocess.PIPE, check=True, text=True).stdout
            return dict((name, float(x)) for name, x in re.findall(r"^(\S+) +q4_0 .* (\S+)$", out, re.M))

        for layer in range(LAYERS):
            quant = f"f32,layer[{layer}]=q4_0,embed=q4_0"
            without, weighed, by_matrix = alone(quant), alone(quant, "--calibrate", other), alone(quant, "--calibrate", given)
            for name in (f"layer[{layer}].{read}" for read in READ_NORMS):
                for kind, found in (("calibrated", weighed[name]), ("by a matrix", by_matrix[name])):
                    if not found < 0.7 * without[name]:
                        sys.exit(f"{name}: {found} {kind}, {without[name]} without")
            if weighed["embed"] != without["embed"]:
                sys.exit(f"embed is looked up, and weighed: {weighed['embed']}, {without['embed']} without")


main()
