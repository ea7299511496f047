"""GGUF files for the tests, with the standard library alone: right ones, and ones that lie."""
import math
import struct

U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, LIST, U64, I64, F64 = range(13)
SCALARS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}

# numbers of types of tensors, values of a block, bytes of a block
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24),
         "Q8_0": (8, 32, 34), "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176),
         "Q6_K": (14, 256, 210), "IQ2_XXS": (16, 256, 66), "IQ2_XS": (17, 256, 74), "IQ3_XXS": (18, 256, 98), "IQ1_S": (19, 256, 50),
         "IQ4_NL": (20, 32, 18), "IQ3_S": (21, 256, 110), "IQ2_S": (22, 256, 82), "IQ4_XS": (23, 256, 136), "I8": (24, 1, 1), "I32": (26, 1, 4),
         "F64": (28, 1, 8), "IQ1_M": (29, 256, 56), "BF16": (30, 1, 2), "TQ1_0": (34, 256, 54), "TQ2_0": (35, 256, 66), "MXFP4": (39, 32, 17),
         "NVFP4": (40, 64, 36), "Q1_0": (41, 128, 18)}
# of types that lathe keeps packed: where a block has factors in f16
FACTORS = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "MXFP4": [], "IQ4_NL": [0], "Q2_K": [80, 82], "Q3_K": [108],
           "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_XS": [0], "NVFP4": [], "TQ1_0": [52], "TQ2_0": [64], "IQ3_XXS": [0], "IQ3_S": [0],
           "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0], "IQ1_S": [0], "IQ1_M": []}


def set_iq1_m_factor(block, at, half):
    """IQ1_M has its factor in the highest four bits of four words; block[at] is the first byte of a block."""
    for i in range(4):
        block[at + 49 + 2 * i] = block[at + 49 + 2 * i] & 15 | (half >> 4 * i & 15) << 4


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def value_bytes(kind, value):
    """A value; that of a list is its values' type and them."""
    if kind == LIST:
        within, values = value
        return struct.pack("<IQ", within, len(values)) + b"".join(value_bytes(within, v) for v in values)
    return text(value) if kind == TEXT else struct.pack("<" + SCALARS[kind], value)


def pair(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value_bytes(kind, value)


def up(n, alignment):
    return -(-n // alignment) * alignment


def entry(name, sizes, kind, offset):
    """Of a tensor; sizes as the file has them, innermost first."""
    return text(name) + struct.pack("<I", len(sizes)) + b"".join(struct.pack("<Q", n) for n in sizes) + struct.pack("<IQ", kind, offset)


def gguf(pairs=(), tensors=(), version=3, alignment=32):
    """pairs: (key, type, value); tensors: (name, shape outermost first, type's name, bytes)."""
    entries, data = b"", b""
    for name, shape, kind, content in tensors:
        entries += entry(name, list(reversed(shape)), TYPES[kind][0], len(data))
        data += content + b"\0" * (up(len(content), alignment) - len(content))
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs)) + b"".join(pair(*p) for p in pairs) + entries
    return head + b"\0" * (up(len(head), alignment) - len(head)) + data


def read(path):
    """Pairs and tensors of a file, as gguf() takes them."""
    with open(path, "rb") as file:
        content = file.read()
    at = 8

    def number(form):
        nonlocal at
        value = struct.unpack_from("<" + form, content, at)[0]
        at += struct.calcsize(form)
        return value

    def value(kind):
        nonlocal at
        if kind == LIST:
            within, n = number("I"), number("Q")
            return within, [value(within) for _ in range(n)]
        if kind != TEXT:
            return number(SCALARS[kind])
        n = number("Q")
        at += n
        return content[at - n : at].decode()

    count, pairs = number("Q"), []
    for _ in range(number("Q")):
        key, kind = value(TEXT), number("I")
        pairs.append((key, kind, value(kind)))
    found = []
    for _ in range(count):
        name = value(TEXT)
        shape = [number("Q") for _ in range(number("I"))][::-1]
        kind = number("I")
        found.append((name, shape, next(n for n in TYPES if TYPES[n][0] == kind), number("Q")))
    start = up(at, 32)
    tensors = []
    for name, shape, kind, offset in found:
        size = TYPES[kind][2] * math.prod(shape) // TYPES[kind][1]
        tensors.append((name, shape, kind, content[start + offset : start + offset + size]))
    return pairs, tensors
