"""Writes the records of this folder's tests: what tests/taps/values.model computes, worked out here in plain Python.

usage: record.py FOLDER    FOLDER/right.safetensors; others, each with one thing wrong, named for it
"""

import json
import math
import struct
import sys

N = 5
CODE = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "U8": "B", "C64": "d"}


def write(path, tensors):
    header, data = {}, b""
    for name, (kind, shape, values) in tensors.items():
        packed = struct.pack(f"<{len(values)}{CODE[kind]}", *values)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def flat(rows):
    return [value for row in rows for value in row]


def values():
    x = [[i - 1.5, 0.25 * i * i] for i in range(N)]
    ids = [(3 * i + 1) % 10 for i in range(N)]
    s = [[sum(a * b for a, b in zip(x[r], x[c])) if c <= r else 0.0 for c in range(N)] for r in range(N)]
    h = [[sum(s[r][c] * x[c][k] for c in range(N)) for k in range(2)] for r in range(N)]
    found = {"x": ("F64", [N, 2], flat(x)), "ids": ("I32", [N], ids), "s": ("F64", [N, N], flat(s)),
             "sums": ("F64", [N, 2], flat(h))}
    hs, bigger, zs = [], [], []
    for i in range(3):
        y = [[value * (i + 1) for value in row] for row in h]
        h = [[value + 1 for value in row] for row in y]
        bigger.append(flat(h))
        if i == 1:
            found["layer[1].negative"] = "F64", [N, 2], [-value for value in flat(h)]
            found["layer[1].bigger.y"] = "F64", [N, 2], flat(y)
        if i == 2:
            found["layer[2].part"] = "F64", [N], [row[0] for row in h]
        zs.append([value * j for j in range(2) for value in flat(h)])
        h = [[value + value for value in row] for row in h]
        hs.append(flat(h))
    found["layer[i].h"] = "F64", [3, N, 2], flat(hs)
    found["layer[0].bigger"] = "F64", [N, 2], bigger[0]
    found["layer.bigger"] = "F64", [3, N, 2], flat(bigger)
    found["layer[i].one[j].z"] = "F64", [3, 2, N, 2], flat(zs)
    found["layer[1].one[1].z"] = "F64", [N, 2], zs[1][2 * N:]
    found["large"] = "U8", [N, 2], [int(value > 100) for value in flat(h)]
    found["y"] = "F64", [N, 2], flat(h)
    found["last"] = "F32", [N], [2.0 * i for i in ids]
    return found


def main(folder):
    right = values()

    def wrong(name, **changes):
        tensors = {**right, **{key.replace("__", "."): value for key, value in changes.items()}}
        write(f"{folder}/{name}.safetensors", {key: value for key, value in tensors.items() if value})

    def other(name, tensor, kind=None, shape=None, change=None):
        old_kind, old_shape, old = right[tensor]
        new = list(old)
        for at, value in (change or {}).items():
            new[at] = value
        if shape:
            new = (new * 9)[:math.prod(shape)]
        write(f"{folder}/{name}.safetensors", {**right, tensor: (kind or old_kind, shape or old_shape, new)})

    write(f"{folder}/right.safetensors", right)
    most = max(range(6 * N), key=lambda i: abs(right["layer[i].h"][2][i]))
    other("value", "layer[i].h", change={most: right["layer[i].h"][2][most] * (1 + 1e-7)})
    other("shape", "y", shape=[N + 1, 2])
    other("rank", "sums", shape=[2 * N])
    other("nan", "y", change={3: math.nan})
    other("infinite", "x", change={4: math.inf})
    other("infinite_value", "layer[0].bigger", change={4: -math.inf})
    other("id", "ids", change={2: 10})
    other("real_ids", "ids", kind="F64")
    other("complex", "s", kind="C64", shape=[N, N])
    wrong("no_input", x=None)
    inputs = {"x": right["x"], "ids": right["ids"]}
    write(f"{folder}/nothing.safetensors", inputs)
    long = {"x": ("F32", [101, 2], [0.0] * 202), "ids": ("I64", [101], [1] * 101)}
    write(f"{folder}/long.safetensors", {**long, "last": ("F32", [101], [2.0] * 101)})
    for name, tensor in [("spelled", "layer[2].biger"), ("part_of_path", "layer[1].bigger.why"), ("iteration", "layer[3].h"),
                         ("index", "sums[1]"), ("not_all", "layer[i].negative"), ("no_iteration", "layer[0].negative"),
                         ("no_name", "layer[0].."), ("strange", "entirely")]:
        write(f"{folder}/{name}.safetensors", {**right, tensor: ("F64", [N, 2], [0.0] * 2 * N)})
    kind, shape, z = right["layer[i].one[j].z"]
    second = flat([z[i * 4 * N + 2 * N:(i + 1) * 4 * N] for i in range(3)])
    write(f"{folder}/right_short.safetensors", {**inputs, "z": (kind, shape, z), "layer[1].y": right["layer[1].bigger.y"],
                                                "one[1].z": (kind, [3, N, 2], second)})


main(sys.argv[1])
