"""Oracle of models/tale: what the model says, in float64 and in the plainest numpy.

Reads the stored float16 weights and the tokenizer with readers of its own, runs the decoder greedily
from <s> and prints the text's bytes, nothing after them. On stderr: the number of tokens and the
smallest margin between the best and the second logit of any step. A margin far above the rounding
of float32 (1e-4 is asked for, else exit 1) makes the text the same in every correct implementation.

    python3 tests/oracle/tale.py > tests/golden/tale.txt
"""

import json
import pathlib
import struct
import sys

import numpy as np

MODEL = pathlib.Path(__file__).resolve().parents[2] / "models" / "tale"
HEADS, KV_HEADS, EPS, THETA = 6, 3, 1e-5, 10000.0
TOKENS = 256  # with <s>
BEGIN, END = 1, 2
LEAST_MARGIN = 1e-4


def read_weights(path):
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    weights = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F16", name
        first, last = (8 + length + offset for offset in entry["data_offsets"])
        weights[name] = np.frombuffer(data[first:last], "<f2").astype(np.float64).reshape(entry["shape"])
    return weights


def read_pieces(path):
    data, offset, pieces = path.read_bytes(), 4, []
    while offset < len(data):
        _, length = struct.unpack_from("<fi", data, offset)
        pieces.append(data[offset + 8:offset + 8 + length])
        offset += 8 + length
    return pieces


def rms_norm(x, gain):
    return x / np.sqrt(np.mean(x * x) + EPS) * gain


def rotate(heads, position):
    """heads [h, head_dim]: the pair (2i, 2i+1) turns by position * theta^(-2i / head_dim)."""
    turned = np.empty_like(heads)
    for i in range(0, heads.shape[1], 2):
        angle = position * THETA ** (-i / heads.shape[1])
        turned[:, i] = heads[:, i] * np.cos(angle) - heads[:, i + 1] * np.sin(angle)
        turned[:, i + 1] = heads[:, i] * np.sin(angle) + heads[:, i + 1] * np.cos(angle)
    return turned


def attend(x, w, keys, values):
    """One position; its key and value [kv_heads, head_dim] join the lists."""
    q = rotate((w["attention.wq.weight"] @ x).reshape(HEADS, -1), len(keys))
    keys.append(rotate((w["attention.wk.weight"] @ x).reshape(KV_HEADS, -1), len(keys)))
    values.append((w["attention.wv.weight"] @ x).reshape(KV_HEADS, -1))
    out = []
    for h in range(HEADS):
        group = h // (HEADS // KV_HEADS)
        scores = np.array([k[group] @ q[h] for k in keys]) / np.sqrt(q.shape[1])
        share = np.exp(scores - scores.max())
        share /= share.sum()
        out.append(sum(s * v[group] for s, v in zip(share, values)))
    return w["attention.wo.weight"] @ np.concatenate(out)


def feed_forward(x, w):
    gate = w["feed_forward.w1.weight"] @ x
    return w["feed_forward.w2.weight"] @ (gate / (1 + np.exp(-gate)) * (w["feed_forward.w3.weight"] @ x))


def next_logits(token, weights, layers, caches):
    x = weights["tok_embeddings.weight"][token]
    for w, (keys, values) in zip(layers, caches):
        x = x + attend(rms_norm(x, w["attention_norm.weight"]), w, keys, values)
        x = x + feed_forward(rms_norm(x, w["ffn_norm.weight"]), w)
    return weights["tok_embeddings.weight"] @ rms_norm(x, weights["norm.weight"])


def split_layers(weights):
    """A dictionary for each layer, its names without "layers.N."."""
    layers = {}
    for name, tensor in weights.items():
        if name.startswith("layers."):
            _, number, rest = name.split(".", 2)
            layers.setdefault(int(number), {})[rest] = tensor
    return [layers[number] for number in sorted(layers)]


def generate(weights, choose):
    """Tokens after <s>, until <s>, </s> or TOKENS; choose picks one from the logits."""
    layers = split_layers(weights)
    caches = [([], []) for _ in layers]
    token, tokens = BEGIN, []
    while len(tokens) < TOKENS - 1:
        token = choose(next_logits(token, weights, layers, caches))
        if token in (BEGIN, END):
            break
        tokens.append(token)
    return tokens


def decode(tokens, pieces):
    """The piece after <s> loses its leading space; "<0xHH>" is a byte."""
    parts = [bytes([token - 3]) if 3 <= token < 259 else pieces[token] for token in tokens]
    if parts:
        parts[0] = parts[0].removeprefix(b" ")
    return b"".join(parts)


def main():
    margins = []

    def choose_best(logits):
        second, best = np.sort(logits)[-2:]
        margins.append(best - second)
        return int(np.argmax(logits))

    tokens = generate(read_weights(MODEL / "tale.safetensors"), choose_best)
    sys.stdout.buffer.write(decode(tokens, read_pieces(MODEL / "tokenizer.bin")))
    print("%d tokens with <s>, smallest margin %.3g" % (len(tokens) + 1, min(margins)), file=sys.stderr)
    return 0 if min(margins) > LEAST_MARGIN else 1


if __name__ == "__main__":
    sys.exit(main())
