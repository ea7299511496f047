"""U-ViT's oracle: UViT.forward of its authors' libs/uvit.py (github.com/baofff/U-ViT at ce55170), each line of it in numpy, in
float64. It is written from their text and does not run it: it needs no torch.

    make && /usr/bin/python3 tests/oracle/families/uvit.py
"""

import json
import math
import os
import subprocess
import tempfile

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
MODEL = os.path.join(ROOT, "tests", "families", "uvit.model")
DEPTH, HEADS, PATCH, CHANNELS, D = 4, 3, 2, 4, 24


def wave(*shape):
    """Values that are no pattern."""
    return np.sin(1.7 * np.arange(math.prod(shape)) ** 1.3).reshape(shape)


def weights():
    """Those of the miniature, under their published names."""
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "w.safetensors")
        subprocess.run([os.path.join(ROOT, "build", "lathe"), "weights", MODEL, "-o", path], check=True)
        data = open(path, "rb").read()
    n = int.from_bytes(data[:8], "little")
    found = {}
    for name, at in json.loads(data[8:8 + n]).items():
        if name != "__metadata__":
            begin, end = at["data_offsets"]
            found[name] = np.frombuffer(data[8 + n + begin:8 + n + end], "<f4").reshape(at["shape"]).astype(float)
    return found


class UViT:
    def __init__(self, w):
        self.w, self.made = w, {}

    def linear(self, x, name):
        bias = self.w.get(name + ".bias")
        return x @ self.w[name + ".weight"].T + (0 if bias is None else bias)

    def norm(self, x, name):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * self.w[name + ".weight"] + self.w[name + ".bias"]

    def convolution(self, x, name, stride, around):
        w = self.w[name + ".weight"]
        x = np.pad(x, ((0, 0), (around, around), (around, around)))
        size = w.shape[-1]
        rows, columns = ((n - size) // stride + 1 for n in x.shape[1:])
        y = np.empty((w.shape[0], rows, columns))
        for r in range(rows):
            for c in range(columns):
                part = x[:, r * stride:r * stride + size, c * stride:c * stride + size]
                y[:, r, c] = (w * part).sum((1, 2, 3)) + self.w[name + ".bias"]
        return y

    def attention(self, x, name):
        q, k, v = self.linear(x, name + ".qkv").reshape(len(x), 3, HEADS, D // HEADS).transpose(1, 2, 0, 3)
        s = q @ k.transpose(0, 2, 1) * (D // HEADS) ** -0.5
        s = np.exp(s - s.max(-1, keepdims=True))
        x = (s / s.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(x), D)
        return self.linear(x, name + ".proj")

    def block(self, x, name, ours, skip=None):
        if skip is not None:
            x = self.linear(np.concatenate([x, skip], -1), name + ".skip_linear")
            self.made[ours.replace(".body", ".skip")] = x
        x = x + self.attention(self.norm(x, name + ".norm1"), name + ".attn")
        h = self.linear(self.norm(x, name + ".norm2"), name + ".mlp.fc1")
        h = h * 0.5 * (1 + np.vectorize(math.erf)(h / math.sqrt(2)))
        x = x + self.linear(h, name + ".mlp.fc2")
        self.made[ours] = x
        return x

    def forward(self, x, timestep, y):
        x = self.convolution(x, "patch_embed.proj", PATCH, 0)
        side = x.shape[1]
        x = x.reshape(D, -1).T
        angle = timestep * np.exp(-math.log(10000) * np.arange(D // 2) / (D // 2))
        x = np.concatenate([np.concatenate([np.cos(angle), np.sin(angle)])[None], x])
        x = np.concatenate([self.w["label_emb.weight"][y][None], x])
        x = x + self.w["pos_embed"][0]
        skips = []
        for i in range(DEPTH // 2):
            x = self.block(x, f"in_blocks.{i}", f"first[{i}].body")
            skips.append(x)
        x = self.block(x, "mid_block", "middle")
        for i in range(DEPTH // 2):
            x = self.block(x, f"out_blocks.{i}", f"second[{i}].body", skips.pop())
        x = self.linear(self.norm(x, "norm"), "decoder_pred")[2:]
        x = x.reshape(side, side, PATCH, PATCH, CHANNELS).transpose(4, 0, 2, 1, 3).reshape(CHANNELS, side * PATCH, side * PATCH)
        return self.convolution(x, "final_layer", 1, 1)


def record(path, reals, ids):
    header, blobs, at = {"__metadata__": {"reference": "libs/uvit.py of baofff/U-ViT, in numpy"}}, [], 0
    for kind, dtype, values in (("F64", "<f8", reals), ("I64", "<i8", ids)):
        for name, value in values.items():
            blobs.append(np.asarray(value, dtype).tobytes())
            header[name] = {"dtype": kind, "shape": list(np.shape(value)), "data_offsets": [at, at + len(blobs[-1])]}
            at += len(blobs[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + b"".join(blobs))


if __name__ == "__main__":
    model, noisy = UViT(weights()), wave(CHANNELS, 6, 6)
    noise = model.forward(noisy, 417.0, 3)
    record(MODEL.replace(".model", ".safetensors"), {"noisy": noisy, "step": 417.0, "noise": noise, **model.made}, {"class": 3})
