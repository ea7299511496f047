"""A GGUF as a text, without its numbers: FOLDER/gguf.json gives FOLDER.gguf from FOLDER/model.safetensors.  Without numpy.

gguf.json: "pairs" are the key-value pairs, each its type and value; "tensors" has for each tensor its type, shape, and
  the name of the tensor of model.safetensors that has the same numbers; or
  "rows": pieces of such tensors, in order: "NAME 0:8 12 4:0:-1", with a ' after NAME for one whose last two axes are exchanged;
          "width": of such a row, if it is not the last axis; "turned": then exchange the last two axes; "plus" or "times": of each number;
          "exp": -exp of each number; or
  "values": the numbers; or "seed": numbers made from the tensor's name (seeded.py) about this number."""
import array
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../gguf")]
import gguf_file
import seeded

del sys.path[0]
KINDS = {"u32": gguf_file.U32, "i32": gguf_file.I32, "u64": gguf_file.U64, "f32": gguf_file.F32, "bool": gguf_file.BOOL, "text": gguf_file.TEXT}


def floats(kind, raw):
    if kind == "F32":
        return array.array("f", raw)
    if kind == "BF16":
        return array.array("f", array.array("I", [b << 16 for b in array.array("H", raw)]).tobytes())
    return array.array("f", array.array(seeded.TYPES[kind], raw))


def turned(shape, numbers):
    """With the last two axes exchanged."""
    a, b = shape[-2:]
    out = array.array("f")
    for start in range(0, len(numbers), a * b):
        for j in range(b):
            out.extend(numbers[start + j:start + a * b:b])
    return [*shape[:-2], b, a], out


class Source:
    """The tensors of a safetensors file, read when they are asked for."""

    def __init__(self, path):
        self.header, self.content = seeded.header_of(path)
        self.header.pop("__metadata__", None)
        self.known = {}

    def __getitem__(self, name):
        if name not in self.known:
            if name.endswith("'"):
                self.known[name] = turned(*self[name[:-1]])
            else:
                entry = self.header[name]
                self.known[name] = entry["shape"], floats(entry["dtype"], self.content[slice(*entry["data_offsets"])])
        return self.known[name]


def picked(source, pieces, width):
    """Rows of the pieces, in order."""
    out = array.array("f")
    for piece in pieces:
        name, *ranges = piece.split(" ")
        numbers = source[name][1]
        for part in ranges:
            bounds = [int(x) if x else None for x in part.split(":")]
            for row in [bounds[0]] if len(bounds) == 1 else range(len(numbers) // width)[slice(*bounds)]:
                out.extend(numbers[row * width:(row + 1) * width])
    return out


def numbers_of(source, name, row):
    shape = row["shape"]
    if "seed" in row:
        return array.array("f", seeded.numbers(name, shape, row["seed"]))
    if "values" in row:
        return array.array("f", row["values"])
    if "rows" not in row:
        return source[row["of"]][1]
    shape = [*shape[:-2], shape[-1], shape[-2]] if row.get("turned") else shape
    out = picked(source, row["rows"], row.get("width", shape[-1]))
    if row.get("turned"):
        out = turned(shape, out)[1]
    if "plus" in row:
        out = array.array("f", [x + row["plus"] for x in out])
    if "times" in row:
        out = array.array("f", [x * row["times"] for x in out])
    if row.get("exp"):
        out = array.array("f", [-math.exp(x) for x in out])
    return out


def packed(shape, numbers):
    """Matrices as BF16 if it loses nothing; others as F32."""
    bits = array.array("I", numbers.tobytes())
    if len(shape) < 2 or any(b & 0xFFFF for b in bits):
        return "F32", numbers.tobytes()
    return "BF16", array.array("H", [b >> 16 for b in bits]).tobytes()


def spelled(value):
    kind, value = value
    if kind.startswith("["):
        return gguf_file.LIST, (KINDS[kind[1:-1]], value)
    return KINDS[kind], value


def write(folder, path, pack=packed):
    """The file that FOLDER/gguf.json describes."""
    with open(os.path.join(folder, "gguf.json"), encoding="utf-8") as file:
        said = json.load(file)
    weights = os.path.join(folder, "model.safetensors")
    source = Source(weights) if os.path.exists(weights) else None
    entries = []
    for name, row in said["tensors"].items():
        row = {"of": row, "shape": source[row][0]} if isinstance(row, str) else row
        numbers = numbers_of(source, name, row)
        if len(numbers) != math.prod(row["shape"]):
            raise ValueError(f"{name}: {len(numbers)} numbers for the shape {row['shape']}")
        entries.append((name, row["shape"], *pack(row["shape"], numbers)))
    with open(path, "wb") as file:
        file.write(gguf_file.gguf([(key, *spelled(value)) for key, value in said["pairs"].items()], entries))


def save(folder, pairs, tensors):
    """FOLDER/gguf.json, a pair or a tensor a line."""
    def lines(rows):
        return ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in rows.items())
    with open(os.path.join(folder, "gguf.json"), "w", encoding="utf-8") as file:
        file.write('{"pairs": {\n' + lines(pairs) + '},\n"tensors": {\n' + lines(tensors) + "}}\n")
