"""A GGUF with random blocks in place of a checkpoint's matrices: booked.py FLOATS.safetensors OUT.gguf TYPE...
Matrices of layer i have the i-th type, others the first one.  A matrix whose rows are no whole blocks, and vectors, keep their floats."""
import json
import pathlib
import random
import re
import struct
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "gguf")]
import gguf_file

# about the largest number of a block whose factor is 1
LARGEST = {"TQ1_0": 1, "TQ2_0": 2, "IQ3_XXS": 500, "IQ3_S": 450, "IQ2_XXS": 170, "IQ2_XS": 170, "IQ2_S": 170, "IQ1_S": 17, "IQ1_M": 17}


def blocks(kind, n):
    _, values, size = gguf_file.TYPES[kind]
    data = bytearray(random.randbytes(n // values * size))
    for block in range(0, len(data), size):
        factor = struct.pack("<e", random.uniform(-0.3, 0.3) / LARGEST.get(kind, 100))
        for at in gguf_file.FACTORS[kind]:
            data[block + at : block + at + 2] = factor
        if kind == "IQ1_M":
            gguf_file.set_iq1_m_factor(data, block, struct.unpack("<H", factor)[0])
        if kind == "NVFP4":
            data[block : block + 4] = bytes(random.randrange(0, 32) for _ in range(4))
    return bytes(data)


def main(floats, out, *types):
    content = pathlib.Path(floats).read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    tensors = []
    random.seed(3)
    for name, of in json.loads(content[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        shape, (begin, end) = of["shape"], of["data_offsets"]
        layer = re.search(r"\d+", name)
        kind = types[int(layer[0]) % len(types) if layer else 0]
        if len(shape) == 2 and shape[1] % gguf_file.TYPES[kind][1] == 0:
            tensors.append((name, shape, kind, blocks(kind, shape[0] * shape[1])))
        else:
            tensors.append((name, shape, "F32", content[8 + length + begin : 8 + length + end]))
    pathlib.Path(out).write_bytes(gguf_file.gguf([("general.architecture", gguf_file.TEXT, "it")], tensors))


main(*sys.argv[1:])
