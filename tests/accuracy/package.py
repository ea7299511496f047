"""What blocks cost that the package gguf makes of the same floats, beside those of lathe.

    python3 package.py LATHE >package.txt            records the package's, for perplexity.py
    python3 package.py LATHE TALES [STORIES]         both, on so many tales, with the difference and its standard error; STORIES is the
                                                     folder of stories260K.bin and tok512.bin

The package's blocks are widened to floats, which lathe's quantiser turns into the same blocks again: that is checked.  So all three models
are lathe's C with lathe's arithmetic, and only the blocks differ.  Tales are those of perplexity.py.  Needs numpy and gguf; made with gguf
0.19.0 and numpy 2.4.6.  The tests need neither."""

import ctypes
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np
from gguf import GGMLQuantizationType
from gguf.quants import dequantize, quantize

from perplexity import HELD_OUT, RECORDED_TALES, SIZES, TALE, tales

OF_4_BITS = ["q4_0", "q4_1", "mxfp4"]
TYPES = ["q8_0", *OF_4_BITS]  # that the package quantises
FLOATS = {"F16": np.float16, "F32": np.float32}


def read_safetensors(path):
    data = path.read_bytes()
    (n,) = struct.unpack_from("<Q", data)
    entries = {name: entry for name, entry in json.loads(data[8:8 + n]).items() if name != "__metadata__"}
    return {name: np.frombuffer(data, FLOATS[e["dtype"]], int(np.prod(e["shape"])), 8 + n + e["data_offsets"][0]).reshape(e["shape"]).astype(np.float32)
            for name, e in entries.items()}


def write_safetensors(path, tensors):
    head, at = {}, 0
    for name, x in tensors.items():
        head[name] = {"dtype": "F32", "shape": x.shape, "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(head).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(x.tobytes() for x in tensors.values()))


def read_llama2c(path):
    """Meta's names; the head is the embedding."""
    data = path.read_bytes()
    width, hidden, layers, heads, kv_heads, vocab, _ = struct.unpack_from("<7i", data)
    kv = width // heads * kv_heads
    matrices = [("attention_norm", (width,)), ("attention.wq", (width, width)), ("attention.wk", (kv, width)), ("attention.wv", (kv, width)),
                ("attention.wo", (width, width)), ("ffn_norm", (width,)), ("feed_forward.w1", (hidden, width)), ("feed_forward.w2", (width, hidden)),
                ("feed_forward.w3", (hidden, width))]
    parts = [("tok_embeddings.weight", (vocab, width))]
    parts += [(f"layers.{i}.{name}.weight", shape) for name, shape in matrices for i in range(layers)]
    parts += [("norm.weight", (width,))]
    tensors, at = {}, 28
    for name, shape in parts:
        tensors[name] = np.frombuffer(data, np.float32, int(np.prod(shape)), at).reshape(shape)
        at += tensors[name].nbytes
    return tensors


def through_package(tensors, type_name):
    """The floats that the package's blocks stand for; rows that blocks do not divide stay, as they do in lathe."""
    kind = GGMLQuantizationType[type_name.upper()]
    return {name: dequantize(quantize(x, kind), kind) if x.ndim == 2 and x.shape[1] % 32 == 0 else x for name, x in tensors.items()}


class Compiled:
    """A model's logits by lathe's C."""

    def __init__(self, folder, lathe, command, weights, quant=None):
        own = pathlib.Path(tempfile.mkdtemp(dir=folder))
        source, library = own / "model.c", own / "model.so"
        narrow = ["--quant", quant] if quant else []
        subprocess.run([lathe, "build", *command, "--weights", weights, *narrow, "--prefix", "measured", "-o", source], stdout=subprocess.DEVNULL, check=True)
        flags = re.search(r"Build: cc (.*?) \S+\.c your\.c", source.read_text())[1].split()
        subprocess.run(["cc", *flags, "-shared", "-fPIC", "-DLATHE_NO_THREADS", source, "-o", library], check=True)
        self.vocab, self.context = (int(re.search(rf"_{size} = (\d+)", source.with_suffix(".h").read_text())[1]) for size in ("VOCAB", "CONTEXT"))
        self.code = ctypes.CDLL(str(library))
        self.code.measured_new.restype = ctypes.c_void_p
        error = ctypes.c_int()
        self.model = ctypes.c_void_p(self.code.measured_new(str(source.with_suffix(".weights")).encode(), 1, ctypes.byref(error)))
        if error.value:
            sys.exit(f"a model does not begin: {error.value}")

    def window(self, tokens):
        """[n, vocab]: logarithms of the probabilities of what follows each token."""
        logits = np.empty((len(tokens), self.vocab), np.float32)
        self.code.measured_reset(self.model)
        if self.code.measured_forward(self.model, (ctypes.c_int32 * len(tokens))(*tokens), ctypes.c_int64(len(tokens)), logits.ctypes.data_as(ctypes.c_void_p)):
            sys.exit("a model does not take a tale")
        x = logits.astype(np.float64)
        x -= x.max(1, keepdims=True)
        return x - np.log(np.exp(x).sum(1, keepdims=True))

    def log_shares(self, tokens):
        """Those of all tokens but the first, which begins each window, as in `lathe verify --text`."""
        own = range(1, len(tokens), self.context)
        return np.concatenate([self.window(tokens[:1] + tokens[at:at + self.context][:-1]) for at in own])


def check_kept(lathe, command, weights, quant, tokenizer, text):
    """The blocks of these floats have the same values."""
    out = subprocess.run([lathe, "verify", *command, "--weights", weights, "--quant", quant, "--tokenizer", tokenizer, "--text", text, "--top", "99",
                          "--sample", "1", "--jit", "tcc"], stdout=subprocess.PIPE, check=True, text=True).stdout
    errors = re.findall(rf"^\S+ +{quant} +\S+ +(\S+) +\S+$", out, re.M)
    if not errors or any(float(error) for error in errors):
        sys.exit(f"the package's blocks are not kept: {out}")


def encoded(lathe, tokenizer, texts):
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    out = subprocess.run([lathe, "encode", tokenizer, "--json"], input=lines, stdout=subprocess.PIPE, check=True, text=True).stdout
    return [[int(token) for token in line.split()] for line in out.splitlines()]


class Cost:
    """Sums over each tale."""

    def __init__(self, exact, narrow, texts):
        sums = []
        for tokens in texts:
            p, q = exact.log_shares(tokens), narrow.log_shares(tokens)
            at = np.arange(len(tokens) - 1), tokens[1:]
            sums.append((len(tokens) - 1, (p[at] - q[at]).sum(), (np.exp(p) * (p - q)).sum()))
        self.tokens, self.change, self.divergence = np.array(sums).T

    def grown(self):
        """By how much perplexity grows, in per cent."""
        return 100 * np.expm1(self.change.sum() / self.tokens.sum())

    def mean_divergence(self):
        return self.divergence.sum() / self.tokens.sum()

    def less(self, other):
        """The difference of the logarithms of perplexity in per cent, and its standard error over tales."""
        change = self.change - other.change
        mean = change.sum() / self.tokens.sum()
        off = np.sqrt(((change - mean * self.tokens) ** 2).sum() * len(change) / (len(change) - 1))
        return 100 * mean, 100 * off / self.tokens.sum()


def models(stories):
    for size, settings in SIZES.items():
        command = [TALE.with_suffix(".model"), *(part for setting in settings for part in ("-D", setting))]
        yield size, command, read_safetensors(TALE / f"{size}.safetensors"), TALE / "tokenizer.bin"
    if stories:
        yield "stories260K", [TALE.with_name("stories260k.model")], read_llama2c(stories / "stories260K.bin"), stories / "tok512.bin"


def main():
    lathe = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else RECORDED_TALES
    text = tales.write_tales(HELD_OUT, count)
    for name, command, tensors, tokenizer in models(pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            exact_file, package_file, tale_file = (folder / file for file in ("exact.safetensors", "package.safetensors", "tale.txt"))
            tale_file.write_text(text[0])
            write_safetensors(exact_file, tensors)
            exact, tokens = Compiled(folder, lathe, command, exact_file), encoded(lathe, tokenizer, text)
            for quant in TYPES if len(sys.argv) > 2 else OF_4_BITS:
                write_safetensors(package_file, through_package(tensors, quant))
                check_kept(lathe, command, package_file, quant, tokenizer, tale_file)
                package = Cost(exact, Compiled(folder, lathe, command, package_file, quant), tokens)
                if len(sys.argv) == 2:
                    print(name, quant, f"{package.mean_divergence():.4g}")
                    continue
                ours = Cost(exact, Compiled(folder, lathe, command, exact_file, quant), tokens)
                print(f"{name} {quant}: perplexity {ours.grown():+.3f} %, the package's {package.grown():+.3f} %, difference {ours.less(package)[0]:+.3f} "
                      f"with a standard error of {ours.less(package)[1]:.3f}; KL divergence {ours.mean_divergence():.4g} and {package.mean_divergence():.4g}", flush=True)


if __name__ == "__main__":
    main()
