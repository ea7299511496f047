"""Whether --calibrate gives each weight the squares that meet it: a model whose layers read other places of their inputs.

    python3 calibrate.py LATHE

Gains of the norms are 8 at every eighth place and 1/8 at the others; these places differ from layer to layer and from block to block.  So a weight that reads a norm loses much less
if its codes are chosen for its own layer's places.  Weights are made by hash.  Says nothing and exits with 0 if so."""

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


def set_gains(path):
    data = bytearray(path.read_bytes())
    (n,) = struct.unpack_from("<Q", data)
    head = json.loads(data[8:8 + n])
    for name, entry in head.items():
        layer = re.match(r"layers\.(\d+)\.(attention|ffn)_norm", name)
        if not layer:
            continue
        (width,) = entry["shape"]
        gains = [8.0 if i % 8 == (3 * int(layer[1]) + i // 32) % 8 else 0.125 for i in range(width)]
        struct.pack_into(f"<{width}f", data, 8 + n + entry["data_offsets"][0], *gains)
    path.write_bytes(data)


def main():
    lathe = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        weights, text, other = (pathlib.Path(folder) / name for name in ("w.safetensors", "text", "other"))
        model = [TALE, "-D", f"layers={LAYERS}"]
        subprocess.run([lathe, "weights", *model, "-o", weights], check=True)
        set_gains(weights)
        text.write_text(" ".join(str(i * i * 7 % 509 + 1) for i in range(300)))
        other.write_text(" ".join(str(i * i * 11 % 503 + 1) for i in range(300)))

        def alone(quant, *more):
            out = subprocess.run([lathe, "verify", *model, "--weights", weights, "--text", text, "--quant", quant, "--top", "99", *more],
                                 stdout=subprocess.PIPE, check=True, text=True).stdout
            return dict((name, float(x)) for name, x in re.findall(r"^(\S+) +q4_0 .* (\S+)$", out, re.M))

        for layer in range(LAYERS):
            quant = f"f32,layer[{layer}]=q4_0,embed=q4_0"
            without, weighed = alone(quant), alone(quant, "--calibrate", other)
            for name in (f"layer[{layer}].{read}" for read in READ_NORMS):
                if not weighed[name] < 0.7 * without[name]:
                    sys.exit(f"{name}: {weighed[name]} calibrated, {without[name]} without")
            if weighed["embed"] != without["embed"]:
                sys.exit(f"embed is looked up, and weighed: {weighed['embed']}, {without['embed']} without")


main()
