"""Weights and inputs made by hash, and files of tensors, from docs/hash-weights.md alone."""

import json
import math

import numpy as np

U = np.uint64
GOLDEN, MIX_1, MIX_2 = U(0x9E3779B97F4A7C15), U(0xBF58476D1CE4E5B9), U(0x94D049BB133111EB)


def fnv(name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return U(h)


def uniform(name, count):
    """Inside (-1, 1), for each index."""
    with np.errstate(over="ignore"):
        z = fnv(name) + (np.arange(count, dtype=U) + U(1)) * GOLDEN
        z = (z ^ (z >> U(30))) * MIX_1
        z = (z ^ (z >> U(27))) * MIX_2
        z = z ^ (z >> U(31))
    return (2 * (z >> U(40)).astype(np.int64) + 1 - 2**24) / 2.0**24


def weight(name, shape, centre=0.0):
    """centre: a number, or one for each element."""
    scale = 0.05 if len(shape) < 2 else math.sqrt(3 / shape[-1]) if shape[-1] else 0.0
    values = np.asarray(centre, float).reshape(-1) + scale * uniform(name, math.prod(shape))
    return values.astype(np.float32).astype(float).reshape(shape)


def real_input(name, shape):
    u = (uniform(name, math.prod(shape)) + 1) / 2
    return (2 * u - 1).astype(np.float32).astype(float).reshape(shape)


def id_input(name, shape, bound):
    u = (uniform(name, math.prod(shape)) + 1) / 2
    return np.minimum(np.floor(u * bound), bound - 1).reshape(shape)


def sizes(bounds, positions):
    """Of named dimensions, in the order in which they are declared."""
    return [max(1, min(positions - 7 * i, bound)) for i, bound in enumerate(bounds)]


def write_safetensors(path, tensors):
    """{name: array}: integers as I64, all else as F64."""
    header, data, at = {}, [], 0
    for name, x in tensors.items():
        raw = x.tobytes()
        header[name] = {"dtype": "I64" if x.dtype == np.int64 else "F64", "shape": list(x.shape), "data_offsets": [at, at + len(raw)]}
        data.append(raw)
        at += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + b"".join(data))
