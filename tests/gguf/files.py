"""GGUF files of all kinds, read by the tool: what is right is listed, what lies is refused, each with the whole message compared.

Every file that lies is given to a tool with sanitizers, and to one that may have no more than 64 MB of addresses."""
import array
import json
import os
import re
import resource
import struct
import sys

from gguf_file import (BOOL, F32, F64, I8, I16, I32, I64, LIST, SCALARS, TEXT, TYPES, U8, U16, U32, U64, entry, gguf, pair, text, up)
from verdicts import equal, finish, run, skip, verdict

work, data, here = sys.argv[1:]
CHECKED, PLAIN = f"{work}/checked", f"{work}/plain"
MEMORY = 64 << 20


def write(name, content):
    with open(f"{work}/{name}", "wb") as file:
        file.write(content)
    return f"{work}/{name}"


def limited(*arguments):
    return run(*arguments, restore_signals=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)))


def fnv(content):
    h = 0xCBF29CE484222325
    for byte in content:
        h = (h ^ byte) * 0x100000001B3 & (2**64 - 1)
    return f"{h:016x}"


def floats(kind, content):
    """f32 bytes of a tensor of a type without blocks."""
    n = len(content) // TYPES[kind][2]
    if kind == "F32":
        return content
    if kind == "BF16":
        return array.array("I", [half << 16 for half in struct.unpack(f"<{n}H", content)]).tobytes()
    return struct.pack(f"<{n}f", *struct.unpack(f"<{n}{'e' if kind == 'F16' else 'd'}", content))


def listing(tensors):
    lines = [f"GGUF, {len(tensors)} tensors"]
    for name, shape, kind, content in sorted(tensors, key=lambda t: t[0].encode()):
        digest = fnv(floats(kind, content)) if kind in ("F32", "F16", "BF16", "F64") else "0" * 16
        lines.append(f"{name} {kind} {shape} {len(content)} {digest}")
    return "\n".join(lines) + "\n"


# ---- what is right ----

PAIRS = [("general.architecture", TEXT, "tiny"), ("tiny.u8", U8, 200), ("tiny.i8", I8, -100), ("tiny.u16", U16, 60000),
         ("tiny.i16", I16, -30000), ("tiny.u32", U32, 4000000000), ("tiny.i32", I32, -2000000000), ("tiny.eps", F32, 1e-5),
         ("tiny.yes", BOOL, 1), ("tiny.u64", U64, 2**63 - 1), ("tiny.i64", I64, -(2**63)), ("tiny.f64", F64, 0.1),
         ("tiny.words", LIST, (TEXT, ["a", "", "größe"])), ("tiny.numbers", LIST, (I16, [1, -2, 3])),
         ("tiny.empty", LIST, (F32, [])), ("tiny.truths", LIST, (BOOL, [1, 0]))]
SAID = {"general.architecture": "tiny", "tiny.u8": 200, "tiny.i8": -100, "tiny.u16": 60000, "tiny.i16": -30000, "tiny.u32": 4000000000,
        "tiny.i32": -2000000000, "tiny.eps": 1e-5, "tiny.yes": True, "tiny.u64": 2**63 - 1, "tiny.i64": -(2**63), "tiny.f64": 0.1,
        "tiny.words": ["a", "", "größe"], "tiny.numbers": [1, -2, 3], "tiny.empty": [], "tiny.truths": [True, False]}
TENSORS = [("w", [2, 3], "F32", struct.pack("<6f", 1, -2, 3, 0.5, 1e-30, 7)), ("half", [5], "F16", struct.pack("<5e", 1, 2, 3, -4, 6e-8)),
           ("brain", [1, 1, 2], "BF16", b"\x81\x3f\0\xc0"), ("größe", [2], "F64", struct.pack("<2d", 0.1, 1e300)),
           ("ids", [4], "I32", b"\1\0\0\0" * 4), ("bits", [256], "Q1_0", b"\7" * 36)]


def check_right():
    for version in (2, 3):
        for alignment in (None, 8, 32, 64, 65536):
            pairs = PAIRS + ([("general.alignment", U32, alignment)] if alignment else [])
            file = write("right.gguf", gguf(pairs, TENSORS[:3] + TENSORS[4:], version, alignment or 32))
            equal(f"version {version}, alignment {alignment or 'not said'}", run(CHECKED, "list", file),
                  (0, listing(TENSORS[:3] + TENSORS[4:])))
    wide = struct.pack("<2f", 0.1, float("inf"))
    code, listed = run(CHECKED, "list", write("wide.gguf", gguf([], [TENSORS[3]])))
    equal("F64 is rounded to the nearest float", (code, listed), (0, f"GGUF, 1 tensors\ngröße F64 [2] 16 {fnv(wide)}\n"))
    equal("no tensor, no pair", run(CHECKED, "list", write("none.gguf", gguf())), (0, listing([])))
    equal("under another name", run(CHECKED, "list", write("other", gguf([], TENSORS[:1]))), (0, listing(TENSORS[:1])))
    code, said = run(CHECKED, "pairs", write("pairs.gguf", gguf(PAIRS, [])))
    equal("pairs of every type", (code, json.loads(said) if code == 0 else said), (0, SAID))
    shown = {value: re.search(r'"x": (.*)', run(CHECKED, "pairs", write("real.gguf", gguf([("x", F32, value)])))[1]) for value in
             (1e-5, 0.1, 500000.0, 1 / 3, 16777216.0, 3.4028234663852886e38, 1e-45)}
    wrong = [value for value, found in shown.items()
             if not found or struct.pack("<f", float(found[1])) != struct.pack("<f", value) or float(found[1]) != float(f"{value:.9g}"[:20])
             and len(f"{float(found[1])!r}") > len(f"{struct.unpack('<f', struct.pack('<f', value))[0]!r}")]
    verdict("an f32 is the number with the fewest digits", not wrong, wrong)
    endless = write("endless.gguf", gguf([("x", LIST, (F32, [float("-inf"), 0.5])), ("y", F64, float("inf"))]))
    code, said = run(CHECKED, "pairs", endless)
    equal("infinities are texts", (code, json.loads(said) if code == 0 else said), (0, {"x": ["-inf", 0.5], "y": "inf"}))
    for name, kind, value in (("NaN", F32, float("nan")), ("2^63", U64, 2**63), ("no UTF-8", TEXT, b"\xff")):
        file = write("unsaid.gguf", gguf([("x", kind, value)]))
        equal(f"pairs that JSON does not have: {name}", run(CHECKED, "pairs", file),
              (1, f"{file}: the value of x is not a number or text that JSON can represent\n"))


def check_blocks():
    """Every packed type: floats one by one and in one go."""
    floats_only = re.compile(r"^(\S+) \S+ (\[.*\]) \d+ (\S+)$", re.M)
    code, found = run(CHECKED, "list", f"{here}/blocks.gguf")
    wanted = floats_only.findall(run(CHECKED, "list", f"{here}/blocks.safetensors")[1])
    equal("packed types, value by value", (code, len(wanted), floats_only.findall(found)), (0, 23, wanted))
    copied = run(CHECKED, "copy", f"{here}/blocks.gguf", f"{work}/copy.safetensors", "f32")
    equal("packed types, row by row", (copied, floats_only.findall(run(CHECKED, "list", f"{work}/copy.safetensors")[1])), ((0, ""), wanted))


# ---- what lies ----

HEAD = struct.Struct("<4sIQQ")
HUGE = (2**31, 2**32 - 1, 2**61, 2**64 - 1)
FOUR = struct.pack("<f", 1)


def raw(tensors, pairs=b"", version=3, content=b"", counts=None):
    """tensors, pairs: bytes of entries; counts: what the header says of their numbers."""
    n, m = counts or (len(tensors), 1 if pairs else 0)
    head = HEAD.pack(b"GGUF", version, n, m) + pairs + b"".join(tensors)
    return head + b"\0" * (up(len(head), 32) - len(head)) + content


def typed(kind, content=b"", name="t", sizes=(1,)):
    return raw([entry(name, sizes, kind, 0)], content=content)


def refused():
    """Name, bytes, message."""
    short = "would take {} bytes, but the file has {} more: the file is cut short at byte {}, or not a GGUF"
    yield "3 bytes", b"GGU", "byte 0: its first word " + short.format(4, 3, 3)
    yield "another magic", b"GGML" + b"\0" * 60, "a GGUF file begins with these four letters; this one does not"
    yield "the magic alone", b"GGUF", "byte 4: the version " + short.format(4, 0, 4)
    yield "version 1", raw([], version=1), "byte 4: version 1 of GGUF; lathe reads 2 and 3: convert the model again"
    yield "version 0", raw([], version=0), "byte 4: version 0 of GGUF; lathe reads 2 and 3: convert the model again"
    yield "version 4", raw([], version=4), "byte 4: version 4 of GGUF; lathe reads 2 and 3: convert the model again"
    yield "big-endian", b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "a big-endian GGUF; lathe reads little-endian ones, as most are"
    yield "160 bytes for gigabytes", raw([], counts=(65536, 65536))[:24] + b"\0" * 136, (
        "byte 8: 65536 tensors; lathe reads up to 65536, and the file has room for 4")

    yield "a key of 0 bytes", raw([], pair("", U8, 1)), "byte 24: a key of 0 bytes; lathe reads 1 to 1024"
    yield "a key of 1,025 bytes", raw([], pair("k" * 1025, U8, 1)), "byte 24: a key of 1025 bytes; lathe reads 1 to 1024"
    for bad in (b"a\0b", b"a\nb", b"\xc2\x85", b"\xff", b"\xc3", b"\x7f"):
        yield f"a key {bad!r}", raw([], pair(bad, U8, 1)), "byte 24: a key that is not UTF-8 without control characters"
    yield "a key twice", gguf([("k", U8, 1), ("l", U8, 2), ("k", U32, 3)]), "the key k occurs twice, with values at bytes 37 and 65"
    yield "no type of values", raw([], text("k") + struct.pack("<I", 13) + b"\0" * 8), "byte 33: 13 is not a type of values"
    yield "a truth of 2", raw([], pair("k", BOOL, 2)), "byte 37: 2 is not a bool, which is 0 or 1"
    yield "a truth of 255 in a list", raw([], pair("k", LIST, (BOOL, [1, 0, 255]))), "byte 51: 255 is not a bool, which is 0 or 1"
    nested = struct.pack("<IQ", LIST, 1) * 10**5
    yield "lists in lists, 10^5 deep", raw([], text("k") + struct.pack("<I", LIST) + nested), (
        "byte 37: a list of lists, which lathe does not read")
    for kind, n in ((U64, 2**61), (F64, 2**61 + 1), (U16, 2**63), (TEXT, 2**61), (U8, 2**64 - 1)):
        yield f"a list of {n} values of type {kind}", raw([], text("k") + struct.pack("<IIQ", LIST, kind, n)), (
            f"byte 49: a list of {n} values, but the file has room for {15 // (8 if kind == TEXT else struct.calcsize(SCALARS[kind]))}: it is cut short at byte 64, or not a GGUF")
    yield "scores for fewer tokens", gguf([("tokenizer.ggml.tokens", LIST, (TEXT, ["a", "b"])), ("tokenizer.ggml.scores", LIST, (F32, [1]))]), (
        "byte 132: tokenizer.ggml.scores has 1 values, but tokenizer.ggml.tokens has 2")
    yield "types for more tokens", gguf([("tokenizer.ggml.token_type", LIST, (I32, [1, 1, 1])), ("tokenizer.ggml.tokens", LIST, (TEXT, ["a", "b"]))]), (
        "byte 73: tokenizer.ggml.token_type has 3 values, but tokenizer.ggml.tokens has 2")

    alignment = "has to be a u32, a power of two from 8 to 65536"
    for value in (0, 1, 4, 7, 33, 131072, 2**31, 2**32 - 1):
        yield f"alignment {value}", gguf([("general.alignment", U32, value)], TENSORS[:1]), f"byte 53: general.alignment {alignment}"
    for name, kind, value in (("a text", TEXT, "32"), ("a u64", U64, 32), ("an i32", I32, 32), ("a list", LIST, (U32, [32]))):
        at = 65 if kind == LIST else 53
        yield f"alignment as {name}", gguf([("general.alignment", kind, value)], TENSORS[:1]), f"byte {at}: general.alignment {alignment}"
    yield "alignment twice", gguf([("general.alignment", U32, 32)] * 2, TENSORS[:1]), (
        "the key general.alignment occurs twice, with values at bytes 53 and 86")

    yield "a name of 0 bytes", typed(0, FOUR, name=""), "byte 24: a tensor's name of 0 bytes; lathe reads 1 to 127"
    yield "a name of 128 bytes", typed(0, FOUR, name="n" * 128), "byte 24: a tensor's name of 128 bytes; lathe reads 1 to 127"
    yield "a name with a control character", typed(0, FOUR, name="a\x1b[m"), (
        "byte 24: a tensor's name that is not UTF-8 without control characters")
    for axes in (0, 5, 2**31, 2**32 - 1):
        lying = bytearray(typed(0, FOUR, sizes=(1,) * 5))
        lying[33:37] = struct.pack("<I", axes)
        yield f"{axes} axes", bytes(lying), f'byte 24: tensor "t": {axes} axes; lathe reads 1 to 4'
    sizes = "lathe reads 1 to 2147483647, and less than 2^48 in all"
    for place in range(3):
        zero = [2, 3, 4]
        zero[place] = 0
        yield f"a size of 0 in place {place}", typed(0, FOUR, sizes=zero), f'byte 24: tensor "t": a size of 0; {sizes}'
    for size in (2**31, 2**32 - 1, 2**61, 2**63, 2**64 - 1):
        yield f"a size of {size}", typed(0, FOUR, sizes=[1, size]), f'byte 24: tensor "t": a size of {size}; {sizes}'
    for name, wraps, size in (("2^64", [2**16] * 4, 2**16), ("2^64 + 2^32", [2**31 - 1, 2**31 - 1, 4, 1], 2**31 - 1),
                              ("2^48", [2**24, 2**24], 2**24)):
        yield f"a product of about {name}", typed(0, FOUR, sizes=wraps), f'byte 24: tensor "t": a size of {size}; {sizes}'
    yield "a row that is no whole block", typed(8, b"\0" * 68, sizes=[48, 1]), (
        'byte 24: tensor "t": rows of 48 values are not a multiple of Q8_0\'s block size, 32')
    yield "rows of half a block", typed(2, b"\0" * 18, sizes=[16, 2]), (
        'byte 24: tensor "t": rows of 16 values are not a multiple of Q4_0\'s block size, 32')
    for number, removed in ((4, "Q4_2"), (5, "Q4_3"), (31, "Q4_0_4_4"), (32, "Q4_0_4_8"), (33, "Q4_0_8_8"), (36, "IQ4_NL_4_4"),
                            (37, "IQ4_NL_4_8"), (38, "IQ4_NL_8_8")):
        yield f"type {number}", typed(number, FOUR), f'byte 24: tensor "t": type {number} was {removed}, which GGUF no longer has'
    for number in (43, 255, 2**31, 2**32 - 1):
        yield f"type {number}", typed(number, FOUR), f'byte 24: tensor "t": its type, {number}, is unknown to lathe'
    yield "offset 1", raw([entry("t", [1], 0, 1)], content=FOUR * 20), 'byte 24: tensor "t": offset 1 is not a multiple of the alignment'
    for offset in (2**60 + 32, 2**63, 2**64 - 32):
        yield f"offset {offset}", raw([entry("t", [1], 0, offset)], content=FOUR), (
            f'byte 24: tensor "t": offset {offset} is beyond 2^60')
    yield "offset 2^32", raw([entry("t", [1], 0, 2**32)], content=FOUR), (
        'byte 24: tensor "t": begins at byte 4294967296 of the data, after byte 0, where the one before ends')
    yield "a file cut short before its second tensor", raw([entry("t", [8], 0, 0), entry("u", [8], 0, 32)], content=FOUR * 8), (
        'the file is cut short: it has 128 bytes, and its tensors end at byte 160; "u" is the first that is incomplete')
    yield "a file cut short before its last tensors", raw([entry("t", [8], 0, 0), entry("u", [8], 0, 32), entry("v", [8], 0, 64)], content=FOUR * 7), (
        'the file is cut short: it has 156 bytes, and its tensors end at byte 224; "t" is the first that is incomplete')
    yield "a hole", raw([entry("t", [1], 0, 32)], content=FOUR * 20), (
        'byte 24: tensor "t": begins at byte 32 of the data, after byte 0, where the one before ends')
    yield "overlapping data", raw([entry("t", [16], 0, 0), entry("u", [8], 0, 32)], content=FOUR * 16), (
        'byte 57: tensor "u": begins at byte 32 of the data, before byte 64, where the one before ends')
    yield "the same data twice", raw([entry("t", [8], 0, 0), entry("u", [8], 0, 0)], content=FOUR * 8), (
        'byte 57: tensor "u": begins at byte 0 of the data, before byte 32, where the one before ends')
    yield "a name twice", raw([entry("t", [8], 0, 0), entry("t", [8], 0, 32)], content=FOUR * 16), 'two tensors are named "t"'
    yield "more bytes than the file has", typed(0, FOUR, sizes=[2**20, 2**20]), (
        'the file is cut short: it has 100 bytes, and its tensors end at byte 4398046511200; "t" is the first that is incomplete')
    yield "sizes whose sum wraps", raw([entry("t", [2**30, 2**17], 0, 0), entry("u", [2**30, 2**17], 0, 0)], content=FOUR), (
        'byte 65: tensor "u": begins at byte 0 of the data, before byte 562949953421312, where the one before ends')
    yield "bytes at the end", gguf([], TENSORS[:1]) + b"\0", "1 bytes follow the last tensor, which ends at byte 128"


def check_refused():
    for name, content, message in refused():
        file = write("lying.gguf", content)
        expected = (1, f"{file}: {message}\n")
        equal(f"refused: {name}", run(CHECKED, "list", file), expected)
        equal(f"within 64 MB: {name}", limited(PLAIN, "list", file), expected)


COUNTED = [("w", [8, 8], "F32", FOUR * 64), *TENSORS[1:3]]


def fields(content):
    """Where a right file has its counts and lengths: name, place, bytes, true value."""
    yield "tensors", 8, 8, 3
    yield "pairs", 16, 8, 2
    yield "a key's length", 24, 8, len("k")
    yield "a text's length", 37, 8, len("value")
    yield "a list's length", content.index(b"list") + 12, 8, 3
    yield "a name's length", content.index(b"w\2\0\0\0") - 8, 8, 1
    yield "axes", content.index(b"w\2\0\0\0") + 1, 4, 2
    yield "the inner size", content.index(b"w\2\0\0\0") + 5, 8, 8
    yield "the outer size", content.index(b"w\2\0\0\0") + 13, 8, 8


def check_counts():
    """Each count at 0, 1, its true value +- 1 and at ends of integers: refused in one line that says where."""
    content = gguf([("k", TEXT, "value"), ("list", LIST, (U64, [1, 2, 3]))], COUNTED)
    equal("the file whose counts are changed", run(CHECKED, "list", write("counts.gguf", content)), (0, listing(COUNTED)))
    for name, at, size, true in fields(content):
        equal(f"{name} stands at byte {at}", int.from_bytes(content[at : at + size], "little"), true)
        for value in sorted({0, 1, true - 1, true + 1, *HUGE} - {true}):
            if value < 0 or value >= 256**size:
                continue
            file = write("counts.gguf", content[:at] + value.to_bytes(size, "little") + content[at + size :])
            for kind, found in (("refused", run(CHECKED, "list", file)), ("within 64 MB", limited(PLAIN, "list", file))):
                verdict(f"{kind}: {name} {value} for {true}", found[0] == 1 and found[1].count("\n") == 1 and
                        found[1].startswith(f"{file}: "), found)


def check_truncated():
    """Cut off at every byte: refused, unless only bytes that fill up the end are missing."""
    content = gguf(PAIRS[:2] + PAIRS[12:13], TENSORS[:3])
    end = len(content) - 32 + len(TENSORS[2][3])
    file = write("cut.gguf", content)
    for name, tool in (("with sanitizers", run), ("within 64 MB", limited)):
        code, said = tool(CHECKED if tool is run else PLAIN, "cuts", file)
        lines = said.splitlines()
        wrong = [line for i, line in enumerate(lines) if line.startswith("read") != (i + 1 >= end)]
        verdict(f"cut off at each of {len(content)} bytes, {name}", code == 0 and len(lines) == len(content) and not wrong,
                (code, len(lines), len(content), wrong[:3]))


# ---- shards ----

def shard(number, shards, tensors, total=3, pairs=()):
    return gguf([*pairs, ("split.no", U16, number), ("split.count", U16, shards), ("split.tensors.count", I32, total)], tensors)


def check_shards():
    names = [f"m-{i:05d}-of-00003.gguf" for i in (1, 2, 3)]
    right = [shard(i, 3, TENSORS[i : i + 1], pairs=[("general.name", TEXT, "whole")] if i == 0 else ()) for i in range(3)]
    first = [write(name, content) for name, content in zip(names, right)][0]
    equal("shards", run(CHECKED, "list", first), (0, listing(TENSORS[:3])))
    verdict("shards: the first one's pairs", '"general.name": "whole"' in run(CHECKED, "pairs", first)[1])
    second = f"{work}/{names[1]}"
    equal("the second shard", run(CHECKED, "list", second),
          (1, f"{second}: shard 2 of 3: give the first, whose name ends in -00001-of-00003.gguf\n"))
    other = write("shard.gguf", right[0])
    equal("a shard under another name", run(CHECKED, "list", other), (
        1, f"{other}: the first of 3 shards, whose names have to end in -00001-of-00003.gguf and so on\n"))
    for name, content, file, message in (
        ("that is another", shard(0, 3, TENSORS[1:2]), second, "its split.no and split.count do not say that it is shard 2 of 3"),
        ("without its number", gguf([], TENSORS[1:2]), second, "its split.no and split.count do not say that it is shard 2 of 3"),
        ("with a tensor of the first", shard(1, 3, TENSORS[:1]), second, 'two tensors are named "w"'),
        ("with too many tensors", shard(1, 3, [TENSORS[1], TENSORS[4]]), first,
         "its shards have 4 tensors, but split.tensors.count says 3"),
        ("that is cut off", right[1][:100], second, "byte "),
    ):
        write(names[1], content)
        code, said = run(CHECKED, "list", first)
        if "cut" in name:
            verdict(f"a shard {name}", code == 1 and said.startswith(f"{second}: byte "), said)
        elif "tensor of" in name:
            verdict(f"a shard {name}", code == 1 and said.endswith(f": {message}\n"), said)
        else:
            equal(f"a shard {name}", (code, said), (1, f"{file}: {message}\n"))
    os.unlink(second)
    equal("a missing shard", run(CHECKED, "list", first), (1, f"{second}: cannot open: No such file or directory\n"))
    many = write("n-00001-of-65535.gguf", shard(0, 65535, TENSORS[:1]))
    equal("65,535 shards", run(CHECKED, "list", many), (1, f"{many}: one of 65535 shards; lathe reads up to 4096\n"))


def check_shrinking():
    file = write("shrinking.gguf", gguf([], TENSORS[:1]))
    equal("a file that shrinks after it was opened", run(CHECKED, "shrink", file), (0, "refused\n"))


def check_vocabularies():
    folder = f"{data}/tokenizers"
    wanted = {"bert-bge": (30522, "[PAD]", "～"), "gpt-2": (50257, "!", "<|endoftext|>"), "phi-3": (32064, "<unk>", "[PAD32063]")}
    for name, (n, first, last) in wanted.items():
        file = f"{folder}/ggml-vocab-{name}.gguf"
        if not os.path.exists(file):
            skip(f"the vocabulary of {name}", f"{file} is not there; LATHE_DATA names the folder")
            continue
        code, said = run(CHECKED, "pairs", file)
        verdict(f"the vocabulary of {name}", code == 0 and f'tokenizer.ggml.tokens: {n} "{first}" "{last}"\n' in said, said[-300:])


check_right()
check_blocks()
check_refused()
check_counts()
check_truncated()
check_shards()
check_shrinking()
check_vocabularies()
finish()
