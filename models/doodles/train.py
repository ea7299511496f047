"""Train the model `doodles` from nothing: a ViT (Dosovitskiy et al. 2021) that names drawn digits and shapes.

The pictures are those of shapes.py: a pool of drawings without noise, to which each step adds fresh noise.
Expects torch, numpy, safetensors.  Leaves doodles.safetensors (bfloat16, lathe's names).

    python3 models/doodles/train.py
"""

import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.dirname(FOLDER)]
import shapes
import training

LAYERS, HEADS, WIDTH, HIDDEN, PATCH, EPS = 5, 4, 64, 192, 8, 1e-6
GRID = shapes.SIDE // PATCH
SEED_TRAIN, SEED_HELD_OUT, SEED_WEIGHTS = 2, 3, 4
POOL, HELD_OUT = 100000, 2000


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        scale = (2 * LAYERS) ** -0.5
        self.ln1, self.ln2 = training.LayerNorm(WIDTH, EPS), training.LayerNorm(WIDTH, EPS)
        self.attn = training.Attention(WIDTH, HEADS, scale=scale)
        self.ffn = training.Mlp(WIDTH, HIDDEN, scale=scale)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class Start(nn.Module):
    """The class token before the others, and a vector for each place."""

    def __init__(self):
        super().__init__()
        setattr(self, "class", nn.Module())
        getattr(self, "class").tokens = nn.Parameter(0.02 * torch.randn(1, WIDTH))
        self.places = nn.Parameter(0.02 * torch.randn(GRID * GRID + 1, WIDTH))

    def forward(self, x):
        token = getattr(self, "class").tokens.expand(len(x), 1, WIDTH)
        return torch.cat([token, x], 1) + self.places


def patches(x):
    """[B, SIDE, SIDE] -> [B, GRID * GRID, PATCH * PATCH]"""
    x = x.reshape(-1, GRID, PATCH, GRID, PATCH).transpose(2, 3)
    return x.reshape(-1, GRID * GRID, PATCH * PATCH)


class Doodles(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.start = training.Linear(PATCH * PATCH, WIDTH), Start()
        self.layer = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.final = training.LayerNorm(WIDTH, EPS)
        self.head = training.Linear(WIDTH, len(shapes.NAMES))

    def forward(self, pixels):
        """[B, SIDE, SIDE] -> logits [B, classes]"""
        x = self.start(self.embed(patches(pixels)))
        for layer in self.layer:
            x = layer(x)
        return self.head(self.final(x)[:, 0])


def draw_batches(rows):
    labels = np.random.default_rng(SEED_TRAIN).integers(0, len(shapes.NAMES), POOL)
    pictures, rng = shapes.drawn(SEED_TRAIN, labels), np.random.default_rng(SEED_TRAIN + 100)
    while True:
        order = rng.permutation(POOL)
        for start in range(0, POOL - rows + 1, rows):
            some = order[start:start + rows]
            yield torch.tensor(shapes.with_noise(pictures[some], rng)), torch.tensor(labels[some])


def held_out(n, seed=SEED_HELD_OUT):
    return [torch.tensor(part) for part in shapes.held_out(n, seed)]


@torch.no_grad()
def share_right(model, pictures, labels):
    return (model(pictures).argmax(-1) == labels).float().mean().item()


def main():
    chosen = training.options("train the model doodles", steps=6000, rows=128, rate=2e-3,
                              out=os.path.join(FOLDER, "doodles.safetensors"))
    torch.manual_seed(SEED_WEIGHTS)
    asked = held_out(HELD_OUT)
    model = training.train(Doodles(), draw_batches(chosen.rows),
                           lambda model, batch: F.cross_entropy(model(batch[0]), batch[1], label_smoothing=0.05), chosen,
                           measure=lambda model: "right %.4f" % share_right(model, *asked), decay=0.05, mean=0.998)
    print("as kept: right %.4f" % share_right(training.rounded(model), *asked))
    training.save(model, chosen.out)


if __name__ == "__main__":
    main()
