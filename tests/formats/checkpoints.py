"""Checkpoints: real files are read, written files are read back by an independent reader (below), and files that lie
are refused, each with the whole message compared."""
import array
import json
import os
import re
import resource
import struct
import sys

from verdicts import equal, finish, run, skip, verdict

tool, work, data, root = sys.argv[1:]


def path(name):
    return os.path.join(work, name)


def write(name, content):
    os.makedirs(os.path.dirname(path(name)), exist_ok=True)
    with open(path(name), "wb") as file:
        file.write(content)
    return path(name)


def safetensors(header, content=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content


def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def fnv(content):
    h = 0xCBF29CE484222325
    for byte in content:
        h = (h ^ byte) * 0x100000001B3 & (2**64 - 1)
    return f"{h:016x}"


def load(name):
    """An independent reader: {name: (dtype, shape, bytes)} and the place where the data begins."""
    with open(name, "rb") as file:
        content = file.read()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    start = 8 + length
    tensors = {}
    for key, value in header.items():
        begin, end = value["data_offsets"]
        tensors[key] = (value["dtype"], value["shape"], content[start + begin : start + end])
    return tensors, start


def f32(dtype, content):
    """The values as f32 bytes."""
    if dtype == "F32":
        return content
    halves = array.array("H", content)
    if dtype == "I64":
        return struct.pack(f"<{len(content) // 8}f", *struct.unpack(f"<{len(content) // 8}q", content))
    if dtype == "BF16":
        return array.array("I", [half << 16 for half in halves]).tobytes()
    return struct.pack(f"<{len(halves)}f", *struct.unpack(f"<{len(halves)}e", content))


def narrowed(dtype, content):
    """f32 bytes rounded to the type, by Python's own f16 and integer arithmetic for bf16."""
    if dtype == "F32":
        return content
    if dtype == "F16":
        n = len(content) // 4
        return struct.pack(f"<{n}e", *struct.unpack(f"<{n}f", content))
    bits = array.array("I", content)
    return array.array("H", [(b + 0x7FFF + (b >> 16 & 1)) >> 16 for b in bits]).tobytes()


def listing(tensors):
    lines = [f"safetensors, {len(tensors)} tensors"]
    for key in sorted(tensors, key=str.encode):
        dtype, shape, content = tensors[key]
        digest = fnv(f32(dtype, content)) if dtype in ("F32", "F16", "BF16", "I64") else "0" * 16
        lines.append(f"{key} {dtype} {shape} {len(content)} {digest}")
    return "\n".join(lines) + "\n"


# Files that lie.

one = {"a": entry()}
four = b"\0" * 4


def hostile_safetensors():
    long = "n" * 300
    yield "empty file", b"", "the file is empty"
    yield "7 bytes", b"\0" * 7, "7 bytes, but safetensors begins with 8 that give the header's length"
    yield "length lies", struct.pack("<Q", 100) + b"{}", (
        "the header's length is given as 100 bytes, but 2 follow: truncated, or not safetensors")
    yield "length one too long", struct.pack("<Q", 3) + b"{}", (
        "the header's length is given as 3 bytes, but 2 follow: truncated, or not safetensors")
    yield "length of 2^64 - 1", struct.pack("<Q", 2**64 - 1) + b"{}", (
        "the header's length is given as 18446744073709551615 bytes, but 2 follow: truncated, or not safetensors")
    yield "header of 17 MB", safetensors(b" " * (17 << 20)), (
        "a header of 17825792 bytes; lathe reads up to 16777216")
    yield "no header", safetensors(b""), "byte 8: not valid JSON: '[' or '{' expected near end of file"
    yield "a list", safetensors(b"[1]"), "byte 8: expected a JSON object"
    yield "cut JSON", safetensors(b'{"a": {'), (
        "byte 15: not valid JSON: string or '}' expected near end of file")
    yield "two values", safetensors(b"{} {}"), "byte 12: not valid JSON: end of file expected near '{'"
    yield "UTF-8 cut short", safetensors(b'{"\xc3": 1}'), "byte 10: not valid JSON: unable to decode byte 0xc3 near '\"'"
    yield "a 0 in a name", safetensors(b'{"a\\u0000": 1}'), (
        "byte 18: not valid JSON: NUL byte in object key not supported near '\"a\\u0000\"'")
    yield "nested 3000 deep", safetensors(b'{"a": ' + b"[" * 3000 + b"]" * 3000 + b"}"), (
        "byte 2062: not valid JSON: maximum parsing depth reached near '['")
    yield "a name twice", safetensors(b'{"a": 1, "a": 2}'), "byte 20: not valid JSON: duplicate object key near '\"a\"'"
    yield "number too large", safetensors(
        b'{"a": {"dtype": "F32", "shape": [99999999999999999999], "data_offsets": [0, 4]}}', four), (
        'tensor "a": dimension 0 of its shape is not a size')
    yield "an entry of another kind", safetensors({"a": 1}), (
        'tensor "a": expected an object of dtype, shape and data_offsets')
    yield "a key too many", safetensors({"a": dict(entry(), zero=0)}, four), (
        'tensor "a": expected an object of dtype, shape and data_offsets')
    yield "a key missing", safetensors({"a": {"dtype": "F32", "shape": [1], "offsets": [0, 4]}}, four), (
        'tensor "a": expected data_offsets, [begin, end]')
    yield "dtype a number", safetensors({"a": entry(dtype=32)}, four), 'tensor "a": expected a dtype, a string'
    yield "unknown dtype", safetensors({"a": entry(dtype="F\x1b33")}, four), 'tensor "a": unknown dtype "F?33"'
    yield "no shape", safetensors({"a": dict(entry(), shape=3)}, four), (
        'tensor "a": expected a shape, a list of integers')
    yield "nine dimensions", safetensors({"a": entry(shape=[1] * 9)}, four), (
        'tensor "a": 9 dimensions; lathe reads up to 8')
    yield "negative size", safetensors({"a": entry(shape=[-1])}, four), (
        'tensor "a": dimension 0 of its shape is not a size')
    yield "a size that is no integer", safetensors({"a": entry(shape=[1, 1.0])}, four), (
        'tensor "a": dimension 1 of its shape is not a size')
    yield "overflowing shape", safetensors({"a": entry(shape=[2**31, 2**31, 4])}, four), (
        'tensor "a": its shape has more elements than 64 bits can count')
    yield "shape that wraps to 1", safetensors({"a": entry(shape=[2**62 + 1, 4])}, four), (
        'tensor "a": its shape has more elements than 64 bits can count')
    yield "bytes that overflow", safetensors({"a": entry(shape=[2**59])}, four), (
        'tensor "a": its shape has more elements than 64 bits can count')
    yield "half a byte", safetensors({"a": entry("F4", [3], [0, 1])}, b"\0"), (
        'tensor "a": 3 elements of F4 do not fill whole bytes')
    yield "one offset", safetensors({"a": entry(offsets=[4])}, four), 'tensor "a": expected data_offsets, [begin, end]'
    yield "offsets turned round", safetensors({"a": entry(offsets=[4, 0])}, four), (
        'tensor "a": data_offsets 4 .. 0 are outside the file\'s 4 bytes of data')
    yield "negative offset", safetensors({"a": entry(offsets=[-4, 0])}, four), (
        'tensor "a": data_offsets -4 .. 0 are outside the file\'s 4 bytes of data')
    yield "offset beyond the end", safetensors({"a": entry(offsets=[2**62, 2**62 + 4])}, four), (
        'tensor "a": data_offsets 4611686018427387904 .. 4611686018427387908 are outside the file\'s 4 bytes of data')
    yield "truncated data", safetensors(one, b"\0" * 3), (
        'tensor "a": data_offsets 0 .. 4 are outside the file\'s 3 bytes of data')
    yield "wrong size for the type", safetensors({"a": entry("F16")}, four), (
        'tensor "a": 1 elements of F16 are 2 bytes, but data_offsets hold 4')
    yield "overlap", safetensors({"a": entry(), "b": entry(shape=[2], offsets=[0, 8])}, b"\0" * 8), (
        'tensor "b" begins at byte 0 of the data, before byte 4, where the one before ends')
    yield "hole", safetensors({"b": entry(offsets=[8, 12]), "a": entry()}, b"\0" * 12), (
        'tensor "b" begins at byte 8 of the data, after byte 4, where the one before ends')
    yield "bytes at the end", safetensors(one, b"\0" * 5), (
        "1 bytes follow the last tensor, which ends at byte 4 of the data")
    yield "metadata a list", safetensors({"__metadata__": []}), "__metadata__ has to be an object of strings"
    yield "metadata with a number", safetensors({"__metadata__": {"k\n": 1}}), '__metadata__: "k?" is not a string'
    yield "a long name", safetensors({long: 1}), (
        f'tensor "{long[:124]}...": expected an object of dtype, shape and data_offsets')


def llama2c(dim=4, hidden=3, layers=1, heads=2, kv_heads=1, vocab=5, length=2, change=0):
    """A checkpoint of the right size (plus change) for its numbers, where they make sense."""
    n, head = abs(vocab), dim // max(heads, 1)
    per_layer = 2 * dim + 2 * dim * dim + 2 * kv_heads * head * dim + 3 * hidden * dim
    floats = n * dim + layers * per_layer + dim + 2 * length * (head // 2) + (n * dim if vocab < 0 else 0)
    header = struct.pack("<7i", dim, hidden, layers, heads, kv_heads, vocab, length)
    return header + b"\0" * (4 * floats + change)


def hostile_llama2c():
    header = struct.pack("<7i", 4, 3, 1, 2, 1, 5, 2)
    yield "27 bytes", b"\1" * 27, "27 bytes, but a llama2.c checkpoint begins with a header of 28"
    yield "dim 0", struct.pack("<7i", 0, 3, 1, 2, 1, 5, 2), "dim (byte 0) is 0, so this is not a llama2.c checkpoint"
    yield "negative layers", struct.pack("<7i", 4, 3, -1, 2, 1, 5, 2), (
        "n_layers (byte 8) is -1, so this is not a llama2.c checkpoint")
    yield "vocab -2^31", struct.pack("<7i", 4, 3, 1, 2, 1, -(2**31), 2), (
        "vocab_size (byte 20) is -2147483648, so this is not a llama2.c checkpoint")
    yield "heads do not divide", llama2c(heads=3), "dim 4 over n_heads 3 is not an even head size"
    yield "odd head size", llama2c(heads=4), "dim 4 over n_heads 4 is not an even head size"
    yield "kv_heads do not divide", llama2c(dim=12, heads=6, kv_heads=4), "n_heads 6 is not a multiple of n_kv_heads 4"
    yield "truncated", llama2c(change=-1), (
        "truncated: freq_cis_imag at byte 500 needs 1 x 8 bytes, but the file ends at byte 507")
    yield "untied, but no classifier", header[:20] + struct.pack("<2i", -5, 2) + llama2c()[28:], (
        "truncated: output.weight at byte 508 needs 1 x 80 bytes, but the file ends at byte 508")
    yield "trailing bytes", llama2c(change=4), "4 bytes follow the last tensor, which ends at byte 508"
    yield "2^31 - 1 of everything", struct.pack("<7i", 2**31 - 2, 2**31 - 1, 2**31 - 1, 1, 1, 2**31 - 1, 2**31 - 1), (
        'tensor "tok_embeddings.weight": its shape has more elements than 64 bits can count')
    yield "a million layers", llama2c()[:8] + struct.pack("<i", 10**6) + llama2c()[12:], (
        "truncated: attention_norm.weight at byte 108 needs 1000000 x 16 bytes, but the file ends at byte 508")
    yield "version 1", struct.pack("<I", 0x616B3432) + b"\1" * 300, (
        "llama2.c's newer format: export it with --version 0")
    yield "PyTorch", b"PK\3\4" + b"\1" * 300, (
        "this is a PyTorch archive: expected .safetensors, a .safetensors.index.json, "
        "a directory with one of them, a .gguf, or a llama2.c .bin; a pickle is a program, so it is never read; in Python: "
        "safetensors.torch.save_file(torch.load(FILE, weights_only=True), \"model.safetensors\")")


def hostile_indexes():
    """Each: what the index holds, what is beside it, the message after the index's path."""
    good = safetensors(one, four)
    yield "not JSON", b"{", {}, "byte 1: not valid JSON: string or '}' expected near end of file"
    yield "no weight_map", {}, {}, 'expected "weight_map", an object that gives each tensor\'s file'
    yield "a number for a file", {"a": 1}, {}, 'tensor "a": "(no string)" is not a file beside the index'
    for shard in ("../x.safetensors", "/x.safetensors", "s/../../x.safetensors", "..", ""):
        yield f"shard {shard!r}", {"a": shard}, {}, f'tensor "a": "{shard}" is not a file beside the index'
    yield "not listed", {"a": "x"}, {"x": safetensors({"a": entry(), "b": entry(offsets=[4, 8])}, b"\0" * 8)}, (
        'tensor "b" is in x, but the index does not list it')
    yield "in another shard", {"a": "x", "b": "y"}, {"x": safetensors({"b": entry()}, four), "y": good}, (
        'tensor "b" is in x, but the index gives y')
    yield "one file under two names", {"a": "x", "b": "./x"}, {
        "x": safetensors({"a": entry(), "b": entry(offsets=[4, 8])}, b"\0" * 8)}, (
        'tensor "b" is in x, but the index gives ./x')
    yield "missing tensor", {"a": "x", "b": "x"}, {"x": good}, 'tensor "b" is not in x, where the index says'


def check_hostile():
    for name, content, message in hostile_safetensors():
        file = write("hostile.safetensors", content)
        equal(f"safetensors refused: {name}", run(tool, "list", file), (1, f"{file}: {message}\n"))
    for name, content, message in hostile_llama2c():
        file = write("hostile.bin", content)
        equal(f"llama2.c refused: {name}", run(tool, "list", file), (1, f"{file}: {message}\n"))
    for number, (name, index, beside, message) in enumerate(hostile_indexes()):
        folder = f"index{number}"
        text = index if isinstance(index, bytes) else json.dumps({"weight_map": index} if index else {}).encode()
        file = write(f"{folder}/model.safetensors.index.json", text)
        for shard, content in beside.items():
            write(f"{folder}/{shard}", content)
        equal(f"index refused: {name}", run(tool, "list", file), (1, f"{file}: {message}\n"))


def check_places():
    """What is no checkpoint at all, and which file of a directory is taken."""
    absent = path("absent")
    equal("no such file", run(tool, "list", absent), (1, f"{absent}: cannot open: No such file or directory\n"))
    other = write("other.txt", b"these are no weights")
    equal("no format", run(tool, "list", other), (
        1, f"{other}: not a format that lathe reads: expected .safetensors, a .safetensors.index.json, a directory with one "
        "of them, a .gguf, or a llama2.c .bin\n"))
    os.mkfifo(path("pipe.safetensors"))
    pipe = path("pipe.safetensors")
    equal("a pipe", run(tool, "list", pipe), (1, f"{pipe}: not a regular file, which a checkpoint has to be\n"))
    folder = path("folder")
    os.mkdir(folder)
    equal("an empty directory", run(tool, "list", folder), (
        1, f"{folder}: a directory without a .safetensors file or .safetensors.index.json\n"))
    os.mkdir(path("other"))
    write("other/x.gguf", b"GGUF")
    equal("a directory with a GGUF", run(tool, "list", path("other")), (
        1, f"{path('other')}/x.gguf: byte 4: the version would take 4 bytes, but the file has 0 more: the file is cut short at byte 4, or not a GGUF\n"))
    write("other/y.gguf", b"GGUF")
    equal("a directory with two GGUF", run(tool, "list", path("other")), (
        1, f"{path('other')}: a directory without a .safetensors file or .safetensors.index.json; of several .gguf one is given by its own name\n"))
    write("folder/x.safetensors", safetensors(one, four))
    listed = (0, listing({"a": ("F32", [1], four)}))
    equal("a directory with one file", run(tool, "list", folder), listed)
    write("folder/y.safetensors", safetensors({"b": entry()}, four))
    equal("a directory with two", run(tool, "list", folder), (
        1, f"{folder}: a directory with 2 checkpoints and no model.safetensors: name the file you mean\n"))
    write("folder/model.safetensors", safetensors(one, four))
    equal("a directory with the usual name", run(tool, "list", folder + "/"), listed)
    write("folder/model.safetensors.index.json", json.dumps({"weight_map": {"a": "x.safetensors", "b": "y.safetensors"}})
          .encode())
    both = listing({"a": ("F32", [1], four), "b": ("F32", [1], four)})
    equal("a directory with shards", run(tool, "list", folder), (0, "sharded " + both))
    write("folder/model.fp16.safetensors.index.json", json.dumps({"weight_map": {"b": "y.safetensors"}}).encode())
    equal("a directory with two indices", run(tool, "list", folder), (0, "sharded " + both))
    os.rename(path("folder/model.safetensors.index.json"), path("folder/model.bf16.safetensors.index.json"))
    equal("a directory with two unusual indices", run(tool, "list", folder), (
        1, f"{folder}: a directory with 2 checkpoints and no model.safetensors.index.json: name the file you mean\n"))
    shrinking = write("shrinking.safetensors", safetensors(one, four))
    equal("a file that shrinks after it was opened", run(tool, "shrink", shrinking), (0, "refused\n"))


def check_kinds():
    """Good files of every kind: scalars, empty tensors, unaligned data, types that are listed and not read."""
    tensors = {"scalar": ("F32", [], struct.pack("<f", 1.5)), "none": ("F32", [2**40, 0, 2**40], b""),
               "half": ("F16", [3], struct.pack("<3e", 1, -2.5, 6e-8)), "brain": ("BF16", [1, 1], b"\x81\x3f"),
               "ids": ("I64", [2], b"\7" * 16), "nibbles": ("F4", [4], b"\1\2"), "größe": ("F32", [1], b"\xff" * 4),
               "flag": ("BOOL", [1], b"\1")}
    header, content = {"__metadata__": {"format": "pt"}}, b""
    for key, (dtype, shape, values) in tensors.items():
        header[key] = entry(dtype, shape, [len(content), len(content) + len(values)])
        content += values
    text = json.dumps(header).encode()
    file = write("kinds.safetensors", safetensors(text + b" " * (len(text) % 2 == 0), content))
    equal("every kind of tensor", run(tool, "list", file), (0, listing(tensors)))
    begins = write("begins.safetensors", safetensors({"a": entry(), "none": entry(shape=[0], offsets=[0, 0])}, four))
    equal("an empty tensor where another begins, after it in the header", run(tool, "list", begins),
          (0, listing({"a": ("F32", [1], four), "none": ("F32", [0], b"")})))
    equal("no tensor at all", run(tool, "list", write("none.safetensors", safetensors({}))), (0, listing({})))
    equal("a type that is not read is not copied", run(tool, "copy", file, path("copy.safetensors"), "f32"),
          (1, 'tensor "flag" cannot be read\n'))
    verdict("... and nothing is left", not os.path.exists(path("copy.safetensors")) and
            not any(name.endswith(".part") for name in os.listdir(work)))


def check_written(source, label):
    """Copies of a file in each type are read by the reader above and by lathe."""
    tensors, _ = load(source)
    widest = {"F32": 0, "F16": 1, "BF16": 1}
    for choice in ("f32", "f16", "bf16", "mixed"):
        copy = path(f"copy-{choice}.safetensors")
        code = run(tool, "copy", source, copy, choice)
        written, start = load(copy)
        expected = {}
        for i, key in enumerate(sorted(tensors, key=str.encode)):
            dtype = ("BF16", "F16", "F32")[i % 3] if choice == "mixed" else choice.upper()
            expected[key] = (dtype, tensors[key][1], narrowed(dtype, f32(tensors[key][0], tensors[key][2])))
        equal(f"{label} written as {choice}", (code, written == expected, start % 64), ((0, ""), True, 0))
        order = [widest[dtype] for dtype, _, _ in written.values()]
        verdict(f"{label} written as {choice}: wider types first", order == sorted(order))
        equal(f"{label} written as {choice}, read back", run(tool, "list", copy), (0, listing(expected)))
    with open(path("copy-mixed.safetensors"), "rb") as file:
        first = file.read()
    run(tool, "copy", source, path("again.safetensors"), "mixed")
    with open(path("again.safetensors"), "rb") as file:
        verdict(f"{label} written twice: the same bytes", file.read() == first)


def check_writer():
    values = struct.pack("<6f", 0.1, -65519.0, 1e-7, 3.0, -0.0, 1.00390625)
    long = array.array("f", [i * 0.001 for i in range(70001)]).tobytes()
    header = {"m": entry(shape=[2, 3], offsets=[0, 24]), "long": entry(shape=[70001], offsets=[24, 24 + len(long)]),
              "empty": entry(shape=[0, 3], offsets=[24 + len(long)] * 2), "größe": entry(
                  shape=[], offsets=[24 + len(long), 28 + len(long)])}
    source = write("source.safetensors", safetensors(header, values + long + values[:4]))
    check_written(source, "small tensors")
    target = path("misused.safetensors")
    equal("what the writer refuses", run(tool, "misuse", target), (0, "".join(line + "\n" for line in (
        f'{target}: tensor "twice" is given twice',
        f'{target}: tensor "wrong type": cannot be written with this name, type or rank',
        f'{target}: tensor "__metadata__": cannot be written with this name, type or rank',
        f'{target}: tensor "a": its shape has more elements than 64 bits can count',
        f'{target}: tensor "a": its shape has more elements than 64 bits can count',
        f'{target}: tensor "a": cannot be written with this name, type or rank',
        f'{target}: tensor "\ufffd": its name is not UTF-8, or out of memory',
        "no value 0"))))
    verdict("... leaves nothing", not any(name.startswith("misused") for name in os.listdir(work)))
    nowhere = path("no/such/folder.safetensors")
    equal("a missing folder", run(tool, "copy", source, nowhere, "f32"),
          (1, f"{nowhere}: cannot write: No such file or directory\n"))
    equal("a device", run(tool, "copy", source, "/dev/full", "f32"),
          (1, "/dev/full: cannot write: it exists and is not a regular file\n"))
    kept = write("kept.safetensors", b"older")
    full = run(tool, "copy", source, kept, "f32", restore_signals=False,
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    equal("no room", full, (1, f"{kept}: cannot write: File too large\n"))
    with open(kept, "rb") as file:
        older = file.read()
    verdict("... keeps the older file and leaves no other", older == b"older" and
            not any(name.endswith(".part") for name in os.listdir(work)))


def check_real():
    llama, stories = f"{data}/checkpoints/tiny-llama", f"{data}/stories260k/stories260K.bin"
    if not os.path.isdir(llama) or not os.path.exists(stories):
        skip("tiny-llama and stories260K", f"not in {data}; LATHE_DATA names the folder")
        return
    with open(stories, "rb") as file:
        content = file.read()
    dim, hidden, layers, heads, kv_heads, vocab, length = struct.unpack("<7i", content[:28])
    kv = dim // heads * kv_heads
    lines, at = {}, 28
    parts = [("tok_embeddings", 0, [vocab, dim]), ("attention_norm", 1, [dim]), ("attention.wq", 1, [dim, dim]),
             ("attention.wk", 1, [kv, dim]), ("attention.wv", 1, [kv, dim]), ("attention.wo", 1, [dim, dim]),
             ("ffn_norm", 1, [dim]), ("feed_forward.w1", 1, [hidden, dim]), ("feed_forward.w2", 1, [dim, hidden]),
             ("feed_forward.w3", 1, [hidden, dim]), ("norm", 0, [dim])]
    for part, each, shape in parts:
        size = 4 * (shape[0] * (shape[1] if len(shape) > 1 else 1))
        for layer in range(layers if each else 1):
            key = (f"layers.{layer}." if each else "") + part + ".weight"
            lines[key] = f"{key} F32 {shape} {size} {fnv(content[at:at + size])}"
            at += size
    meta = (f"dim {dim}\nhidden_dim {hidden}\nn_layers {layers}\nn_heads {heads}\nn_kv_heads {kv_heads}\n"
            f"vocab_size {vocab}\nseq_len {length}\ntied 1\n")
    text = f"llama2.c, {len(lines)} tensors\n{meta}" + "".join(lines[key] + "\n" for key in sorted(lines))
    equal("stories260K.bin", run(tool, "list", stories), (0, text))
    copy = write("no-extension", content)
    equal("stories260K.bin under another name", run(tool, "list", copy), (0, text))
    tensors, _ = load(f"{llama}/model.safetensors")
    small = {key: value for key, value in tensors.items() if len(value[2]) < 10000}
    code, listed = run(tool, "list", llama)
    found = [line for line in listed.splitlines() if int(line.split()[-2] if "]" in line else 10000) < 10000]
    equal("tiny-llama's smaller tensors", (code, found), (0, listing(small).splitlines()[1:]))


def check_untied():
    """A classifier of its own is the last tensor and gets a name; layers come in order."""
    code, listed = run(tool, "list", write("untied.bin", llama2c(vocab=-5, layers=11)))
    verdict("llama2.c untied", code == 0 and "\ntied 0\n" in listed and "\nvocab_size 5\n" in listed and
            "\noutput.weight F32 [5, 4] 80 " in listed and "\nlayers.10.feed_forward.w2.weight F32 [4, 3] " in listed and
            listed.startswith("llama2.c, 102 tensors\n"), listed)


def check_hash_weights():
    with open(f"{root}/docs/hash-weights.md", encoding="utf-8") as file:
        text = file.read()
    scope = {}
    exec(re.search(r"```python\n(.*?)```", text, re.S).group(1), scope)
    vectors = re.findall(r"^\| `(.*)` \| \[(.*)\] \| (\S+) \| (\d+) \| `(\S+)` \|$", text, re.M)
    wrong = []
    for name, shape, centre, index, value in vectors:
        sizes = [int(size) for size in shape.split(",") if size]
        python = scope["hash_weight"](name, sizes, int(index), float(centre))
        code, output = run(tool, "hash", name, centre, index, *map(str, sizes))
        if not (code == 0 and python == float.fromhex(value) == float.fromhex(output)):
            wrong.append((name, python.hex(), output, value))
    equal("hash weights: the document's Python, its vectors and lathe", (wrong, len(vectors)), ([], 9))


check_hostile()
check_places()
check_kinds()
check_writer()
check_real()
check_untied()
check_hash_weights()
finish()
