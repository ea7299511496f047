"""Train the model `adder` from nothing: a decoder (RMS norms, SwiGLU, learned positions) that adds two numbers.

Expects torch, numpy, safetensors.  Leaves tokenizer.json and adder.safetensors (bfloat16, lathe's names).

    python3 models/adder/train.py
"""

import json
import os
import random
import sys

import torch
import torch.nn.functional as F
from torch import nn

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.dirname(FOLDER)]
import sums
import training

LAYERS, HEADS, WIDTH, HIDDEN = 3, 4, 64, 160
SEED_TRAIN, SEED_HELD_OUT, SEED_WEIGHTS = 2, 3, 4
HELD_OUT = 2000
IGNORE = -1         # a target that is not scored: the question's tokens, and what fills a row up


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        scale = (2 * LAYERS) ** -0.5
        self.ln1, self.ln2 = training.RmsNorm(WIDTH), training.RmsNorm(WIDTH)
        self.attn = training.Attention(WIDTH, HEADS, bias=False, causal=True, scale=scale)
        self.ffn = training.Swiglu(WIDTH, HIDDEN, scale=scale)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Parameter(0.05 * torch.randn(len(sums.TOKENS), WIDTH))
        self.position = nn.Module()
        self.position.table = nn.Parameter(0.05 * torch.randn(sums.CONTEXT, WIDTH))
        self.layer = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.final = training.RmsNorm(WIDTH)

    def forward(self, ids):
        """[B, T] -> logits [B, T, vocab]"""
        x = self.embed[ids] + self.position.table[:ids.shape[1]]
        for layer in self.layer:
            x = layer(x)
        return self.final(x) @ self.embed.T


def draw_batches(rows):
    """Endless ids and targets, both [rows, T]."""
    rng = random.Random(SEED_TRAIN)
    while True:
        ids, targets = torch.full((rows, 25), sums.END), torch.full((rows, 25), IGNORE)
        for i in range(rows):
            a, b = sums.draw(rng, False)
            asked, told = sums.encode(sums.question(a, b)), sums.answer(a + b)
            ids[i, :len(asked) + len(told)] = torch.tensor(asked + told)
            targets[i, len(asked) - 1:len(asked) + len(told) - 1] = torch.tensor(told)
        yield ids, targets


def loss(model, batch):
    return F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten(), ignore_index=IGNORE)


def held_out(n, seed=SEED_HELD_OUT):
    """Pairs of numbers that training never sees."""
    rng = random.Random(seed)
    return [sums.draw(rng, True) for _ in range(n)]


@torch.no_grad()
def answers(model, texts):
    """What the model shows after each text, the likeliest token each time; texts of one length go together."""
    shown, lengths = [None] * len(texts), [len(text) for text in texts]
    for length in set(lengths):
        some = [i for i, n in enumerate(lengths) if n == length]
        ids = torch.tensor([sums.encode(texts[i]) for i in some])
        while ids.shape[1] < sums.CONTEXT and not (ids == sums.END).any(1).all():
            ids = torch.cat([ids, model(ids)[:, -1].argmax(-1, keepdim=True)], 1)
        for i, row in zip(some, ids[:, length:].tolist()):
            shown[i] = sums.decode((row + [sums.END])[:(row + [sums.END]).index(sums.END)])
    return shown


def share_right(model, pairs):
    made = answers(model, [sums.question(a, b) for a, b in pairs])
    return sum(text == str(a + b) for text, (a, b) in zip(made, pairs)) / len(pairs)


def main():
    chosen = training.options("train the model adder", steps=1600, rows=256, rate=3e-3,
                              out=os.path.join(FOLDER, "adder.safetensors"))
    with open(os.path.join(FOLDER, "tokenizer.json"), "w") as file:
        file.write(json.dumps(sums.tokenizer(), indent=1) + "\n")
    torch.manual_seed(SEED_WEIGHTS)
    asked = held_out(HELD_OUT)
    model = training.train(Adder(), draw_batches(chosen.rows), loss, chosen,
                           measure=lambda model: "right %.4f" % share_right(model, asked))
    print("as kept: right %.4f" % share_right(training.rounded(model), asked))
    training.save(model, chosen.out)


if __name__ == "__main__":
    main()
