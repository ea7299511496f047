"""What `lathe verify --text` says of models/tale, worked out by other means: the plain numpy of tests/oracle/tale.py in float64, the
tokenizer's own encoder, and sums over whole distributions.

    python3 reference.py LATHE TEXT TYPE POSITIONS SAMPLE BEGINS [KV]

POSITIONS a window, SAMPLE positions weight by weight, KV f16 where keys and values are narrow too.  BEGINS yes: the tokenizer's begin stands before each window; no: the text is
given as token numbers, and before a window stands the token before its own.
Says nothing and exits with 0 if all figures agree, within the digits that are printed.  A divergence may be off by what differences
of OFF in logits make of it, since lathe computes them in float32: KL is about half the variance of the change, so that is
sqrt(2 KL) OFF.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "oracle"), str(ROOT / "models" / "tale")]
import tale  # noqa: E402
import tokenizer as tale_tokenizer  # noqa: E402

OFF = 3e-5  # float32 is 2e-5 off on a tale, and a little more where a window begins within one

# weights of the model file by their published names, `layers.N.` left out
PUBLISHED = {"embed": "tok_embeddings.weight", "layer.attn.q.w": "attention.wq.weight", "layer.attn.k.w": "attention.wk.weight",
             "layer.attn.v.w": "attention.wv.weight", "layer.attn.out.w": "attention.wo.weight",
             "layer.ffn.gate.w": "feed_forward.w1.weight", "layer.ffn.up.w": "feed_forward.w3.weight",
             "layer.ffn.down.w": "feed_forward.w2.weight"}


def to_bf16(x):
    """To nearest, ties to even; what float16 holds is no NaN."""
    bits = x.astype(np.float32).view(np.uint32)
    bits = bits + 0x7fff + (bits >> 16 & 1) & 0xffff0000
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)


NARROWED = {"bf16": to_bf16, "f16": lambda x: x.astype(np.float16).astype(np.float64), "f32": lambda x: x}


def narrowed(weights, kind, path=None):
    """All matrices, or that of one path, in another type."""
    def is_meant(name):
        base = re.sub(r"^layers\.\d+\.", "", name)
        return base in PUBLISHED.values() if path is None else base == PUBLISHED[path]
    return {name: NARROWED[kind](w) if is_meant(name) else w for name, w in weights.items()}


def encode(text):
    pieces = [piece.decode() for piece in tale.read_pieces(ROOT / "models" / "tale" / "tokenizer.bin")[259:]]
    return tale_tokenizer.Tokenizer(pieces).encode(text)


def windows(tokens, positions, begins):
    """(what the model reads, what it is to predict)"""
    at = 0 if begins else 1
    while at < len(tokens):
        own = tokens[at:at + positions]
        yield [tale.BEGIN if begins else tokens[at - 1]] + own[:-1], own
        at += len(own)


class Half(list):
    """Keys or values that are rounded when they are appended."""

    def append(self, x):
        super().append(x.astype(np.float16).astype(np.float64))


def distributions(weights, tokens, positions, begins, most, kept=list):
    """log p [positions, vocab] of the first positions."""
    layers, rows = tale.split_layers(weights), []
    for read, _ in windows(tokens, positions, begins):
        caches = [(kept(), kept()) for _ in layers]
        for token in read:
            if len(rows) < most:
                x = tale.next_logits(token, weights, layers, caches)
                rows.append(x - x.max() - np.log(np.exp(x - x.max()).sum()))
    return np.array(rows)


def divergences(exact, narrow):
    return (np.exp(exact) * (exact - narrow)).sum(axis=1)


def said(lathe, text, kind, positions, sample, tokens, kv):
    """The command's figures."""
    command = [lathe, "verify", "models/tale.model", "--weights", "models/tale/tale.safetensors", "--quant", kind, "-n", str(positions),
               "--sample", str(sample), "--top", "99", "--kv", kv, "--text"]
    with tempfile.NamedTemporaryFile("w") as numbers:
        numbers.write(" ".join(map(str, tokens)))
        numbers.flush()
        command += [text, "--tokenizer", "models/tale/tokenizer.bin"] if text else [numbers.name]
        out = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    figures = {"perplexity": [float(x) for x in re.search(r"^perplexity +(\S+) +(\S+)$", out, re.M).groups()]}
    figures["divergence"] = [float(x) for x in re.search(r"mean (\S+), 99 % of positions to (\S+), largest (\S+)$", out, re.M).groups()]
    figures["changed"] = [int(x) for x in re.search(r"likeliest +at (\d+) of (\d+) positions", out).groups()]
    figures["weights"] = re.findall(r"^([a-z.]+) +(\S+) +(\S+) +(\S+) +(\S+)$", out[out.index("KL divergence\n"):], re.M)
    return figures


def check(what, found, expected, digits, off=0):
    if not abs(found - expected) <= 0.5 * 10.0 ** (1 - digits) * abs(expected) + off:
        sys.exit(f"{what}: {found}, not {expected}")


def check_divergence(what, found, expected):
    check(what, found, expected, 4, np.sqrt(2 * abs(expected)) * OFF)


def main():
    lathe, path, kind, positions, sample, begins, kv = (*sys.argv[1:], "f32")[:7]
    positions, sample, begins = int(positions), int(sample), begins == "yes"
    tokens = encode(pathlib.Path(path).read_text())
    tokens = tokens if begins else [tale.BEGIN] + tokens
    weights = tale.read_weights(ROOT / "models" / "tale" / "tale.safetensors")
    exact = distributions(weights, tokens, positions, begins, len(tokens))
    narrow = distributions(narrowed(weights, kind), tokens, positions, begins, len(tokens), Half if kv == "f16" else list)
    next_token = np.array([t for _, own in windows(tokens, positions, begins) for t in own])
    own, at = divergences(exact, narrow), np.arange(len(next_token))
    figures = said(lathe, path if begins else None, kind, positions, sample, tokens, kv)

    for i, rows in enumerate((exact, narrow)):
        check("perplexity", figures["perplexity"][i], np.exp(-rows[at, next_token].mean()), 6)
    # a key near the middle of two may be rounded the other way in floats: single positions are no measure then
    for i, x in enumerate((own.mean(),) if kv == "f16" else (own.mean(), np.sort(own)[int(np.ceil(0.99 * len(own))) - 1], own.max())):
        check_divergence("divergence", figures["divergence"][i], x)
    if figures["changed"] != [int((exact.argmax(1) != narrow.argmax(1)).sum()), len(next_token)]:
        sys.exit(f"likeliest tokens: {figures['changed']}")

    rows = figures["weights"]
    if sorted(row[0] for row in rows) != sorted(PUBLISHED):
        sys.exit(f"weights: {rows}")
    if [float(row[4]) for row in rows] != sorted((float(row[4]) for row in rows), reverse=True):
        sys.exit(f"weights are not in order: {rows}")
    for name, storage, size, error, divergence in rows:
        change = narrowed(weights, kind, name)
        values = [(weights[k], change[k]) for k in weights if re.sub(r"^layers\.\d+\.", "", k) == PUBLISHED[name]]
        count = sum(x.size for x, _ in values)
        check(f"{name} error", float(error), np.sqrt(sum(((x - y) ** 2).sum() for x, y in values) / sum((x * x).sum() for x, _ in values)), 4)
        check(f"{name} size", float(size), 1e-6 * count * (4 if kind == "f32" else 2), 4)
        alone = distributions(change, tokens, positions, begins, sample)
        check_divergence(f"{name} divergence", float(divergence), divergences(exact[:len(alone)], alone).mean())
        if storage != kind:
            sys.exit(f"{name} is {storage}")


main()
