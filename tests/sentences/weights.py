"""Weights of a directory by their names, the same wherever they are made."""
import json
import os
import struct
import zlib

import numpy


def values(name, shape, scale=0.4):
    """Normal numbers by the name; gains of norms lie about 1, so that no layer goes silent."""
    x = numpy.random.RandomState(zlib.crc32(name.encode())).standard_normal(shape)
    is_gain = len(shape) == 1 and name.endswith("weight")
    return (1 + 0.2 * x if is_gain else scale * x).astype("<f4")


def write(path, shapes, scale=0.4):
    """A .safetensors of tensors {name: shape}."""
    header, body = {}, b""
    for name, shape in shapes.items():
        data = values(name, shape, scale).tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + body)


def shapes(path):
    with open(path, "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    return {n: t["shape"] for n, t in head.items() if n != "__metadata__"}
