"""Weights that are made from names and shapes, without torch: FOLDER/weights.json gives FOLDER/model.safetensors.

weights.json: for each tensor its shape, and for vectors the numbers to which noise is added: one number, or a list.  Tensors of other types
than bf16 have all their numbers."""
import array
import json
import math
import os
import random
import struct
import zlib

TYPES = {"I64": "q", "I32": "i", "BOOL": "B", "F32": "f"}


def noise(name, shape):
    """Numbers with mean 0 and standard deviation 1.  Python gives the same random() for a seed in all versions."""
    number = random.Random(zlib.crc32(name.encode())).random
    return [(number() - 0.5) * 12 ** 0.5 for _ in range(math.prod(shape))]


def row_length(name, shape):
    """Of experts [e, out, in] a row is the last axis; of a convolution [out, in, taps] it is all but the first."""
    return shape[-1] if len(shape) == 3 and "conv" not in name else math.prod(shape[1:])


def numbers(name, shape, start):
    """Rows of length about 1; vectors and biases differ from their start by about 0.2."""
    if len(shape) < 2 or name.endswith("bias"):
        starts = start if isinstance(start, list) else [start] * math.prod(shape)
        return [first + 0.2 * x for first, x in zip(starts, noise(name, shape))]
    factor = row_length(name, shape) ** -0.5
    return [factor * x for x in noise(name, shape)]


def as_bf16(values):
    """The nearest numbers of bf16."""
    bits = array.array("I", array.array("f", values).tobytes())
    return array.array("H", [(b + 0x7FFF + (b >> 16 & 1)) >> 16 for b in bits]).tobytes()


def header_of(path):
    """The header of a safetensors file, and the content after it."""
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
        content = file.read()
    return header, content


def write_file(path, header, data):
    """header: names with types and shapes, in order; data: their bytes."""
    out, at = {}, 0
    for name, entry in header.items():
        if name == "__metadata__":
            out[name] = entry
            continue
        out[name] = {"dtype": entry["dtype"], "shape": entry["shape"], "data_offsets": [at, at + len(data[name])]}
        at += len(data[name])
    text = json.dumps(out).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data[name] for name in header if name != "__metadata__"))


def described(path):
    """The rows of weights.json for a file that transformers has written."""
    header, content = header_of(path)
    header.pop("__metadata__", None)
    out = {}
    for name, entry in sorted(header.items()):
        raw, row = content[slice(*entry["data_offsets"])], {"shape": entry["shape"]}
        if entry["dtype"] != "BF16":
            row |= {"dtype": entry["dtype"], "values": array.array(TYPES[entry["dtype"]], raw).tolist()}
        elif len(entry["shape"]) < 2 or name.endswith("bias"):
            start = array.array("f", array.array("I", [b << 16 for b in array.array("H", raw)]).tobytes()).tolist()
            row["start"] = (start[0] if len(set(start)) == 1 else start) if start else 0
        out[name] = row
    return out


def write(folder, tensors):
    """FOLDER/model.safetensors of these rows."""
    header, data = {"__metadata__": {"format": "pt"}}, {}
    for name, row in tensors.items():
        kind = row.get("dtype", "BF16")
        header[name] = {"dtype": kind, "shape": row["shape"]}
        if kind == "BF16":
            data[name] = as_bf16(numbers(name, row["shape"], row.get("start", 0)))
        else:
            data[name] = array.array(TYPES[kind], row["values"]).tobytes()
    write_file(os.path.join(folder, "model.safetensors"), header, data)


def save(folder, tensors):
    """FOLDER/weights.json, a tensor a line."""
    rows = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in tensors.items()]
    with open(os.path.join(folder, "weights.json"), "w", encoding="utf-8") as file:
        file.write("{" + ",\n".join(rows) + "}\n")


def remade(folder):
    """Writes model.safetensors again."""
    with open(os.path.join(folder, "weights.json"), encoding="utf-8") as file:
        write(folder, json.load(file))
