"""Train the model `topics` from nothing: an encoder (Devlin et al. 2018) that labels short texts, and embeds them.

Two losses are added: cross-entropy of the topic, and one by which the vectors of texts on one topic come near each
other (Khosla et al. 2020, "Supervised contrastive learning").
Expects torch, numpy, safetensors.  Leaves tokenizer.json and topics.safetensors (bfloat16, lathe's names).

    python3 models/topics/train.py
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
import texts
import training

LAYERS, HEADS, WIDTH, HIDDEN, CONTEXT, EPS = 2, 4, 64, 128, 32, 1e-12
SEED_TRAIN, SEED_HELD_OUT, SEED_WEIGHTS = 2, 3, 4
HELD_OUT, HEAT = 2000, 0.1


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = training.LayerNorm(WIDTH, EPS), training.LayerNorm(WIDTH, EPS)
        self.attn, self.ffn = training.Attention(WIDTH, HEADS), training.Mlp(WIDTH, HIDDEN)

    def forward(self, x, keep):
        x = self.ln1(x + self.attn(x, keep=keep))
        return self.ln2(x + self.ffn(x))


class Topics(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Parameter(0.1 * torch.randn(len(texts.TOKENS), WIDTH))
        self.place = nn.Parameter(0.1 * torch.randn(CONTEXT, WIDTH))
        self.embed_norm, self.encoder = training.LayerNorm(WIDTH, EPS), nn.Module()
        self.encoder.layer = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.first = training.Linear(WIDTH, WIDTH)
        self.classifier = training.Linear(WIDTH, len(texts.NAMES))

    def forward(self, ids, keep):
        """[B, T], [B, T] -> scores [B, topics], sentence [B, WIDTH]"""
        x = self.embed_norm(self.embed[ids] + self.place[:ids.shape[1]])
        for layer in self.encoder.layer:
            x = layer(x, keep)
        scores = self.classifier(torch.tanh(self.first(x[:, 0])))
        weight = keep.float()[..., None]
        return scores, F.normalize((weight * x).sum(1) / weight.sum(1), dim=-1)


def make_rows(pairs):
    """ids, keep, topics"""
    rows = [texts.encode(text) for text, _ in pairs]
    length = max(map(len, rows))
    ids = torch.tensor([row + [texts.NOTHING] * (length - len(row)) for row in rows])
    return ids, ids != texts.NOTHING, torch.tensor([topic for _, topic in pairs])


def draw_batches(rows):
    rng = random.Random(SEED_TRAIN)
    while True:
        yield make_rows([texts.write(rng, False) for _ in range(rows)])


def loss(model, batch):
    ids, keep, topics = batch
    scores, sentence = model(ids, keep)
    others = ~torch.eye(len(ids), dtype=torch.bool)
    alike = (topics[:, None] == topics) & others
    near = (sentence @ sentence.T / HEAT).masked_fill(~others, -1e9).log_softmax(-1)
    return F.cross_entropy(scores, topics) + 0.3 * -(near * alike).sum(-1).div(alike.sum(-1).clamp(min=1)).mean()


def held_out(n, seed=SEED_HELD_OUT):
    """Texts whose main clauses training never sees, with their topics."""
    rng = random.Random(seed)
    return [texts.write(rng, True) for _ in range(n)]


@torch.no_grad()
def shares_right(model, pairs):
    """Of the labels; and of texts whose nearest other text has their topic."""
    ids, keep, topics = make_rows(pairs)
    scores, sentence = model(ids, keep)
    near = (sentence @ sentence.T).fill_diagonal_(-2).argmax(-1)
    return [(answer == topics).float().mean().item() for answer in (scores.argmax(-1), topics[near])]


def main():
    chosen = training.options("train the model topics", steps=1500, rows=128, rate=1e-3,
                              out=os.path.join(FOLDER, "topics.safetensors"))
    with open(os.path.join(FOLDER, "tokenizer.json"), "w") as file:
        file.write(json.dumps(texts.tokenizer(), indent=1) + "\n")
    torch.manual_seed(SEED_WEIGHTS)
    asked = held_out(HELD_OUT)
    told = lambda model: "right %.4f nearest %.4f" % tuple(shares_right(model, asked))
    model = training.train(Topics(), draw_batches(chosen.rows), loss, chosen, measure=told, every=250)
    print("as kept:", told(training.rounded(model)))
    training.save(model, chosen.out)


if __name__ == "__main__":
    main()
