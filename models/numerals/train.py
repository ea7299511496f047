"""Train the model `numerals` from nothing: an encoder and a decoder (Vaswani et al. 2017, with norms before the
sub-layers) between numbers in words and in digits, both ways.

Expects torch, numpy, safetensors.  Leaves tokenizer.json and numerals.safetensors (bfloat16, lathe's names).

    python3 models/numerals/train.py
"""

import json
import os
import random
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.dirname(FOLDER)]
import spell
import training

LAYERS, HEADS, WIDTH, HIDDEN, CONTEXT = 2, 4, 64, 128, 24
SEED_TRAIN, SEED_HELD_OUT, SEED_WEIGHTS = 2, 3, 4
HELD_OUT = 1000
NOTHING, IGNORE = spell.END, -1      # what fills a row up; a target that is not scored


def sinusoid(length):
    """[length, WIDTH]: sin(p / 10000^(2i / WIDTH)) at 2i, cos of the same at 2i + 1."""
    angle = torch.arange(length)[:, None] / 10000 ** (2 * torch.arange(WIDTH // 2) / WIDTH)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


class EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = training.LayerNorm(WIDTH), training.LayerNorm(WIDTH)
        self.attn, self.ffn = training.Attention(WIDTH, HEADS), training.Mlp(WIDTH, HIDDEN, act=F.relu)

    def forward(self, x, keep):
        x = x + self.attn(self.ln1(x), keep=keep)
        return x + self.ffn(self.ln2(x))


class DecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2, self.ln3 = [training.LayerNorm(WIDTH) for _ in range(3)]
        self.attn = training.Attention(WIDTH, HEADS, causal=True)
        self.cross, self.ffn = training.Attention(WIDTH, HEADS), training.Mlp(WIDTH, HIDDEN, act=F.relu)

    def forward(self, x, memory, keep):
        x = x + self.attn(self.ln1(x))
        x = x + self.cross(self.ln2(x), memory, keep)
        return x + self.ffn(self.ln3(x))


class Side(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layer, self.norm = nn.ModuleList(kind() for _ in range(LAYERS)), training.LayerNorm(WIDTH)

    def forward(self, x, *seen):
        for layer in self.layer:
            x = layer(x, *seen)
        return self.norm(x)


class Numerals(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Parameter(torch.randn(len(spell.TOKENS), WIDTH) * WIDTH ** -0.5)
        self.encoder, self.decoder = Side(EncoderLayer), Side(DecoderLayer)
        self.places = sinusoid(CONTEXT)

    def enter(self, ids):
        return WIDTH ** 0.5 * self.embed[ids] + self.places[:ids.shape[1]]

    def encode(self, source, keep):
        return self.encoder(self.enter(source), keep)

    def decode(self, target, memory, keep):
        return self.decoder(self.enter(target), memory, keep) @ self.embed.T

    def forward(self, source, keep, target):
        """[B, S], [B, S], [B, T] -> logits [B, T, vocab]"""
        return self.decode(target, self.encode(source, keep), keep)


def row_table(rows, fill):
    table = np.full((len(rows), max(map(len, rows))), fill)
    for i, row in enumerate(rows):
        table[i, :len(row)] = row
    return torch.tensor(table)


def make_rows(pairs):
    """source, keep, the decoder's input, targets"""
    sources = [spell.encode(source) for source, _ in pairs]
    targets = [spell.encode(target) for _, target in pairs]
    return (row_table(sources, NOTHING), row_table([[1] * len(s) for s in sources], 0).bool(),
            row_table([[spell.START] + t for t in targets], NOTHING),
            row_table([t + [spell.END] for t in targets], IGNORE))


def draw_batches(rows):
    rng = random.Random(SEED_TRAIN)
    while True:
        yield make_rows([spell.pair(rng, False) for _ in range(rows)])


def loss(model, batch):
    source, keep, target, wanted = batch
    return F.cross_entropy(model(source, keep, target).flatten(0, 1), wanted.flatten(), ignore_index=IGNORE)


def held_out(n, seed=SEED_HELD_OUT):
    """Pairs whose numbers training never sees."""
    rng = random.Random(seed)
    return [spell.pair(rng, True) for _ in range(n)]


@torch.no_grad()
def answers(model, texts):
    """What the model writes for each text, the likeliest token each time."""
    sources = [spell.encode(text) for text in texts]
    source, keep = row_table(sources, NOTHING), row_table([[1] * len(s) for s in sources], 0).bool()
    memory = model.encode(source, keep)
    ids = torch.full((len(texts), 1), spell.START)
    ended = torch.zeros(len(texts), dtype=torch.bool)
    while ids.shape[1] < CONTEXT and not ended.all():
        best = model.decode(ids, memory, keep)[:, -1].argmax(-1)
        best = torch.where(ended, NOTHING, best)
        ended |= best == spell.END
        ids = torch.cat([ids, best[:, None]], 1)
    return [spell.decode(row) for row in ids.tolist()]


def share_right(model, pairs):
    made = answers(model, [source for source, _ in pairs])
    return sum(a == target for a, (_, target) in zip(made, pairs)) / len(pairs)


def main():
    chosen = training.options("train the model numerals", steps=3000, rows=128, rate=2e-3,
                              out=os.path.join(FOLDER, "numerals.safetensors"))
    with open(os.path.join(FOLDER, "tokenizer.json"), "w") as file:
        json.dump(spell.tokenizer(), file, indent=1)
        file.write("\n")
    torch.manual_seed(SEED_WEIGHTS)
    asked = held_out(HELD_OUT)
    model = training.train(Numerals(), draw_batches(chosen.rows), loss, chosen,
                           measure=lambda model: "right %.4f" % share_right(model, asked))
    print("as kept: right %.4f" % share_right(training.rounded(model), asked))
    training.save(model, chosen.out)


if __name__ == "__main__":
    main()
