"""Train the model `sketch` from nothing: a DiT (Peebles & Xie 2023) that draws digits and shapes of a class.

By flow matching (Lipman et al. 2023; Liu et al. 2023): between noise z at time 0 and a picture x at time 1 lies
y = (1 - t) z + t x.  From y the model tells x, and so the velocity x - z = (x - y) / (1 - t), whose error is what it
is trained on (Li & He 2025, "Back to basics: let denoising generative models denoise").  Now and then the class is
left out, so that a sampler may go further away from what has no class (Ho & Salimans 2022).
Expects torch, numpy, safetensors.  Leaves sketch.safetensors (bfloat16, lathe's names).

    python3 models/sketch/train.py
"""

import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.dirname(FOLDER), os.path.join(os.path.dirname(FOLDER), "doodles")]
import shapes
import training

LAYERS, HEADS, WIDTH, HIDDEN, PATCH, EPS = 4, 4, 64, 192, 8, 1e-6
GRID, CLASSES = shapes.SIDE // PATCH, len(shapes.NAMES)
FREQUENCIES, PERIOD, STEPS = 256, 10000, 1000           # of the time's embedding; time 1 is step 1000
SEED_TRAIN, SEED_WEIGHTS, SEED_DRAWN = 5, 6, 7
POOL, DROPPED = 60000, 0.1
LEAST = 0.2     # 1 - t, in the loss


def timestep(step):
    """[B] -> [B, FREQUENCIES]: cosines, then sines."""
    half = FREQUENCIES // 2
    angle = step[:, None] * PERIOD ** (-torch.arange(half) / half)
    return torch.cat([angle.cos(), angle.sin()], -1)


def sinusoid(places, d):
    angle = places[:, None] / 10000 ** (2 * torch.arange(d // 2) / d)
    return torch.cat([angle.sin(), angle.cos()], -1)


def places():
    """[GRID * GRID, WIDTH]: half for the column, half for the row."""
    i = torch.arange(GRID * GRID)
    return torch.cat([sinusoid(i % GRID, WIDTH // 2), sinusoid(i // GRID, WIDTH // 2)], -1)


class Vectors(nn.Module):
    """[B, d] -> n vectors [B, 1, d]; zero at first, so that a layer adds nothing."""

    def __init__(self, n):
        super().__init__()
        self.map, self.n = training.Linear(WIDTH, n * WIDTH, scale=0.0), n

    def forward(self, c):
        return self.map(F.silu(c))[:, None].chunk(self.n, -1)


def modulated(x, shift, scale):
    return F.layer_norm(x, (WIDTH,), eps=EPS) * (1 + scale) + shift


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ada, self.body = Vectors(6), nn.Module()
        self.body.attn = training.Attention(WIDTH, HEADS)
        self.body.ffn = training.Mlp(WIDTH, HIDDEN, act=lambda x: F.gelu(x, approximate="tanh"))

    def forward(self, x, c):
        shift1, scale1, gate1, shift2, scale2, gate2 = self.ada(c)
        x = x + gate1 * self.body.attn(modulated(x, shift1, scale1))
        return x + gate2 * self.body.ffn(modulated(x, shift2, scale2))


class Sketch(nn.Module):
    def __init__(self):
        super().__init__()
        self.wanted = nn.Parameter(0.02 * torch.randn(CLASSES + 1, WIDTH))
        self.step_embed = training.Mlp(FREQUENCIES, WIDTH, act=F.silu, width=WIDTH)
        self.embed = training.Linear(PATCH * PATCH, WIDTH)
        self.layer = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.final_ada = Vectors(2)
        self.out = training.Linear(WIDTH, PATCH * PATCH, scale=0.0)
        self.places = places()

    def forward(self, latent, step, label):
        """[B, SIDE, SIDE], [B], [B] -> the picture without noise [B, SIDE, SIDE]"""
        c = self.step_embed(timestep(step)) + self.wanted[label]
        x = latent.reshape(-1, GRID, PATCH, GRID, PATCH).transpose(2, 3).reshape(-1, GRID * GRID, PATCH * PATCH)
        x = self.embed(x) + self.places
        for layer in self.layer:
            x = layer(x, c)
        y = self.out(modulated(x, *self.final_ada(c)))
        return y.reshape(-1, GRID, GRID, PATCH, PATCH).transpose(2, 3).reshape(latent.shape)


def draw_batches(rows):
    rng = np.random.default_rng(SEED_TRAIN)
    labels = rng.integers(0, CLASSES, POOL)
    pictures = (255 * shapes.clean(labels, rng, calm=True)).round().astype(np.uint8)
    while True:
        order = rng.permutation(POOL)
        for start in range(0, POOL - rows + 1, rows):
            some = order[start:start + rows]
            x = torch.tensor(pictures[some].astype(np.float32) / 127.5 - 1)
            label = np.where(rng.random(rows) < DROPPED, CLASSES, labels[some])
            t = torch.tensor(1 / (1 + np.exp(-rng.standard_normal(rows).astype(np.float32))))
            z = torch.tensor(rng.standard_normal(x.shape, np.float32))
            yield x, torch.tensor(label), t, z


def loss(model, batch):
    x, label, t, z = batch
    at = t[:, None, None]
    told = model((1 - at) * z + at * x, STEPS * t, label)
    return (((told - x) / (1 - at).clamp(min=LEAST)) ** 2).mean()


@torch.no_grad()
def sample(model, labels, z, steps=20, guidance=2.0):
    """Euler's steps from noise z [n, SIDE, SIDE] to pictures, -1 to 1."""
    x, none = z, torch.full_like(labels, CLASSES)
    for i in range(steps):
        step = torch.full((len(x),), STEPS * i / steps)
        free = model(x, step, none)
        told = free + guidance * (model(x, step, labels) - free)
        x = x + (told - x) / (steps - i)
    return x


def main():
    chosen = training.options("train the model sketch", steps=10000, rows=64, rate=2e-3,
                              out=os.path.join(FOLDER, "sketch.safetensors"))
    torch.manual_seed(SEED_WEIGHTS)
    model = training.train(Sketch(), draw_batches(chosen.rows), loss, chosen, decay=0.0, mean=0.999)
    training.save(model, chosen.out)


if __name__ == "__main__":
    main()
