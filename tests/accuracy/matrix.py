"""--calibrate with importance matrices of llama.cpp, in both formats, written here as its tool writes them.

    python3 matrix.py LATHE

Prints ok or FAIL for each check; exits with 1 if one failed."""

import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "gguf")]
import gguf_file  # noqa: E402

TALE = str(HERE.parents[1] / "models" / "tale.model")
LAYERS, WIDTH, HIDDEN, EXPERTS = 2, 96, 192, 5
# tensors of tale that products read, and their columns
TENSORS = {"attention.wq": WIDTH, "attention.wk": WIDTH, "attention.wv": WIDTH, "attention.wo": WIDTH, "feed_forward.w1": WIDTH,
           "feed_forward.w3": WIDTH, "feed_forward.w2": HIDDEN}
failed = False


def verdict(name, good, why=""):
    global failed
    failed |= not good
    print(f"ok accuracy matrix: {name}" if good else f"FAIL accuracy matrix: {name}: {why}")


def old(entries, calls=4, tail=b"", count=None):
    """entries: name -> means, of all matrices."""
    data = struct.pack("<i", len(entries) if count is None else count)
    for name, means in entries.items():
        data += struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", calls, len(means))
        data += struct.pack(f"<{len(means)}f", *(x * (calls or 1) for x in means))
    return data + tail


def new(entries, counts, edit=lambda tensors: tensors):
    """counts: of the matrices of every entry."""
    tensors = []
    for name, means in entries.items():
        own = counts(name)
        columns = len(means) // len(own)
        sums = [x * own[i // columns] for i, x in enumerate(means)]
        shape = [len(own), columns] if len(own) > 1 else [columns]
        tensors.append((name + ".in_sum2", shape, "F32", struct.pack(f"<{len(sums)}f", *sums)))
        tensors.append((name + ".counts", [len(own), 1] if len(own) > 1 else [1], "F32", struct.pack(f"<{len(own)}f", *own)))
    pairs = [("general.type", gguf_file.TEXT, "imatrix"), ("imatrix.chunk_count", gguf_file.U32, 3)]
    return gguf_file.gguf(pairs, edit(tensors))


def means_of(layer, name):
    """Powers of 2, others in each layer and tensor."""
    return [2.0 ** ((7 * i + 3 * layer + len(name)) % 11) for i in range(TENSORS[name])]


def tale_entries():
    return {f"layers.{i}.{name}.weight": means_of(i, name) for i in range(LAYERS) for name in TENSORS}


class Bench:
    def __init__(self, lathe):
        self.run = [lathe, "run", TALE, "-D", f"layers={LAYERS}", "--jit", "tcc", "-p", "1 2 3", "-n", "9", "--hash", "--quant"]
        self.said = ""

    def hash(self, quant, data=None, run=None):
        """The hash of the logits, with this matrix; None after an error."""
        if data is not None:
            pathlib.Path("m.dat").write_bytes(data)
        words = (run or self.run) + [quant] + (["--calibrate", "m.dat"] if data is not None else [])
        done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        self.said = done.stderr
        found = re.search("^hash .*$", done.stderr, re.M)
        return found[0] if found and done.returncode == 0 else None

    def refuses(self, name, data, why, quant="q4_0"):
        found = self.hash(quant, data)
        verdict(name, found is None and why in self.said, self.said)


def formats(bench):
    entries = tale_entries()
    exact, plain = bench.hash("q4_0", old(entries)), bench.hash("q4_0")
    verdict("it changes codes", exact and exact != plain, bench.said)
    bench.hash("q4_0", old(entries))
    verdict("a weight without an entry is told", "it has no entry for 1 weight (embed)" in bench.said, bench.said)
    verdict("other calls", bench.hash("q4_0", old(entries, calls=64)) == exact, bench.said)
    verdict("no calls", bench.hash("q4_0", old(entries, calls=0)) == exact, bench.said)
    verdict("a text at the end", bench.hash("q4_0", old(entries, tail=struct.pack("<ii", 4, 5) + b"a.txt")) == exact, bench.said)
    verdict("a GGUF", bench.hash("q4_0", new(entries, lambda name: [512.0])) == exact, bench.said)
    alike = {name: [2.0] * len(means) for name, means in entries.items()}
    verdict("equal columns", bench.hash("q4_0", old(alike)) == plain, bench.said)
    one = dict(alike, **{"layers.1.attention.wk.weight": entries["layers.1.attention.wk.weight"]})
    only = bench.hash("f32,layer[1].attn.k=q4_0", old(one))
    verdict("a layer's own entry", only and only != bench.hash("f32,layer[1].attn.k=q4_0"), bench.said)
    for other in ("layer[0].attn.k", "layer[1].attn.q"):
        verdict(f"which is not that of {other}", bench.hash(f"f32,{other}=q4_0", old(one)) == bench.hash(f"f32,{other}=q4_0"), bench.said)


def gaps(bench):
    entries = tale_entries()
    name = "layers.0.attention.wv.weight"
    zeros = dict(entries, **{name: [0.0, 0.0] + entries[name][2:]})
    bench.hash("q4_0", old(zeros))
    verdict("columns of zeros are told", "2 columns of 1 weight (layer.0.attn.v.w) have weight 0" in bench.said, bench.said)
    for value in (0.0, 1.0):
        bench.hash("q4_0", old(dict(entries, **{name: [value] * WIDTH})))
        verdict(f"nothing but {value:g} is no measurement", "no activation met 1 weight (layer.0.attn.v.w)" in bench.said, bench.said)
    bench.hash("q4_0", old(dict(entries, other=[1.0])))
    verdict("an entry for no tensor is told", "the model has no tensor of 1 name (other)" in bench.said, bench.said)


EXPERT_MODEL = f"""import mixtures
import gguf
model it : mixtral {{
    layers 1  heads 4  kv_heads 2  d_model 64  d_ff 96  vocab 37  context 64  experts {EXPERTS}  active 2
    loop generate {{ stop 36 }}
    checkpoint gguf_mixtral
}}
"""


def experts(bench):
    pathlib.Path("experts.model").write_text(EXPERT_MODEL, encoding="utf-8")
    run = [bench.run[0], "run", "experts.model", *bench.run[5:]]
    name = "blk.0.ffn_down_exps.weight"
    means = [2.0 ** ((5 * i) % 7) if i // 96 == 3 else 2.0 for i in range(96 * EXPERTS)]
    counts = [3.0, 0.0, 5.0, 8.0, 1.0]
    for data, form in ((old({name: means}), "old"), (new({name: means}, lambda _: counts), "GGUF")):
        for expert in (2, 3):
            quant = f"f32,layer[0].ffn.expert[{expert}].mlp.down=q4_0"
            found, plain = bench.hash(quant, data, run), bench.hash(quant, None, run)
            verdict(f"{form}: expert {expert} has its own columns", found and (found == plain) == (expert == 2), f"{found} {plain}")
    bench.hash("q4_0", new({name: means}, lambda _: counts), run)
    verdict("an expert that was never chosen is told", "no activation met 1 weight (layer.0.ffn.expert.1.mlp.down.w)" in bench.said, bench.said)
    bench.hash("q4_0", old({name: means[:96]}), run)
    verdict("columns of one expert for all", "has 96 values, and the model's tensor of this name 96 columns in 5 matrices: 480 values are expected"
            in bench.said, bench.said)


def text(bench):
    """The same gaps where a text is read."""
    pathlib.Path("short.txt").write_text("1 5 9", encoding="utf-8")
    run = [bench.run[0], "run", "experts.model", *bench.run[5:]]
    done = subprocess.run(run + ["q4_0", "--calibrate", "short.txt"], capture_output=True, text=True, check=False)
    verdict("a text: experts that were never chosen", "--calibrate short.txt: no activation met 3 weights (layer.0.ffn.expert.0.mlp.gate.w, "
            in done.stderr, done.stderr)
    subprocess.run([bench.run[0], "weights", TALE, "-D", f"layers={LAYERS}", "-o", "w.safetensors"], check=True)
    data = bytearray(pathlib.Path("w.safetensors").read_bytes())
    (n,) = struct.unpack_from("<Q", data)
    start = json.loads(data[8:8 + n])["layers.1.ffn_norm.weight"]["data_offsets"][0]
    struct.pack_into("<2f", data, 8 + n + start, 0, 0)
    pathlib.Path("w.safetensors").write_bytes(data)
    done = subprocess.run(bench.run + ["q4_0", "--weights", "w.safetensors", "--calibrate", "short.txt"], capture_output=True, text=True, check=False)
    verdict("a text: columns of zeros", "short.txt: 4 columns of 2 weights (layer.1.ffn.gate.w, layer.1.ffn.up.w) have weight 0, so that" in done.stderr,
            done.stderr)


def damage(bench):
    """auto weighs the errors that it measures: nearly all of the weight is on a column, whose error any type makes small."""
    alike = {name: [2.0] * len(means) for name, means in tale_entries().items()}
    of_keys = {f"layers.{i}.attention.wk.weight": [2.0 ** 30 if c % 32 == 5 else 2.0 ** -30 for c in range(WIDTH)] for i in range(LAYERS)}
    lists = []
    for entries in (alike, dict(alike, **of_keys)):
        bench.hash("auto:5.5", old(entries))
        lists += re.findall("is --quant (.*): [0-9.]* bits a weight", bench.said)
    verdict("damage is weighted", len(lists) == 2 and "attn.k" not in lists[0] and "layer.attn.k.w=iq4_nl" in lists[1], str(lists))


def bad_files(bench):
    entries = tale_entries()
    name = "layers.0.attention.wv.weight"
    whole = old(entries)
    for n, why in ((4, "within the length of the name of entry 0"), (12, "within the name of entry 0"), (40, "within the number of values of entry 0"),
                   (100, "within the values of entry 0"), (len(whole) - 1, "within the values of entry 13")):
        bench.refuses(f"cut after {n} bytes", whole[:n], why)
    bench.refuses("more bytes", whole + b"abcdefgh", "the text at the end has 1751606885 bytes, and 0 are left")
    bench.refuses("a text of another length", whole + struct.pack("<ii", 1, 9) + b"abc", "the text at the end has 9 bytes, and 3 are left")
    bench.refuses("no entry", old({}), "the number of entries is 0, expected 1 to 1048576")
    bench.refuses("too many entries", old(entries, count=1 << 21), "the number of entries is 2097152")
    bench.refuses("fewer values", old(dict(entries, **{name: [1.0] * 95})), f'entry "{name}" has 95 values')
    bench.refuses("NaN", old(dict(entries, **{name: [float("nan")] * WIDTH})), f'value 0 of entry "{name}" is nan')
    bench.refuses("a negative square", old(dict(entries, **{name: [1.0, -1.0] * 48})), f'value 1 of entry "{name}" is -4')
    bench.refuses("names of another model", old({"blk.0.attn_q.weight": [2.0] * WIDTH}), "none of its 1 entries is for a tensor of tale")
    twice = old({name: entries[name]})
    bench.refuses("one name twice", struct.pack("<i", 2) + twice[4:] + twice[4:], f'two entries have the name "{name}"')
    bench.refuses("a name that is no text", whole.replace(b"layers.0", b"layers\xff0", 1), "the name of entry 0 is no text in UTF-8")
    bench.refuses("a length below 0", struct.pack("<ii", 1, -1) + b"x" * 99, "the length of the name of entry 0 is -1")

    def gguf(name, edit, why):
        bench.refuses(f"GGUF: {name}", new(entries, lambda _: [4.0], edit), why)

    gguf("no counts", lambda all: [t for t in all if t[0] != name + ".counts"], f'"{name}.in_sum2" has no "{name}.counts" beside it')
    gguf("other numbers of counts", lambda all: [(n, [2], k, d * 2) if n == name + ".counts" else (n, s, k, d) for n, s, k, d in all],
         f'"{name}.counts" has 2 numbers, and "{name}.in_sum2" 1 rows')
    gguf("sums in f16", lambda all: [(n, s, "F16", d[:len(d) // 2]) if n == name + ".in_sum2" else (n, s, k, d) for n, s, k, d in all],
         f'"{name}.in_sum2" is F16 and')
    gguf("a count below 0", lambda all: [(n, s, k, struct.pack("<f", -1)) if n == name + ".counts" else (n, s, k, d) for n, s, k, d in all],
         f'value 0 of entry "{name}.counts" is -1')
    gguf("no sums", lambda all: [t for t in all if t[0].endswith(".counts")], "a GGUF without tensors NAME.in_sum2")
    bench.refuses("GGUF: cut", new(entries, lambda _: [4.0])[:-64], "m.dat")


def main():
    bench = Bench(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        formats(bench)
        gaps(bench)
        experts(bench)
        text(bench)
        damage(bench)
        bad_files(bench)
        os.chdir("/")
    return failed


sys.exit(main())
