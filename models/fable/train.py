"""Train the model `fable` from nothing: a decoder of three gated delta nets (Yang et al. 2024) and one attention layer that tells the
tales of models/tale, with its tokenizer.

The delta rule runs by chunks of 64 positions here, as products of matrices; lathe runs it position by position.

Expects torch, numpy, safetensors.  Leaves fable.safetensors (float16, lathe's names).

    python3 models/fable/train.py
"""

import os
import struct
import sys

import torch
import torch.nn.functional as F
from torch import nn

FOLDER = os.path.dirname(os.path.abspath(__file__))
TALE = os.path.join(os.path.dirname(FOLDER), "tale")
sys.path[:0] = [FOLDER, os.path.dirname(FOLDER), TALE]
import tales
import tokenizer as tok
import training

LAYERS, HEADS, WIDTH, HIDDEN, HEAD, TAPS = 4, 4, 96, 160, 24, 4
VOCAB, CONTEXT, CHUNK = 512, 256, 64
SEED_TRAIN, SEED_HELD_OUT, SEED_WEIGHTS = 5, 6, 7
HELD_OUT = 128
IGNORE = -1         # a target that is not scored: what fills a row up


def delta_rule(q, k, v, log_decay, beta):
    """S = decay S;  S += k' beta (v - k S);  y = q S.  q, k, v [B, H, T, d], log_decay and beta [B, H, T]; T: whole chunks.

    Within a chunk: u, what is written, solves a triangular system; y and the next S are sums of u.
    """
    state = q.new_zeros(*q.shape[:2], k.shape[-1], v.shape[-1])
    out = []
    for q, k, v, log_decay, beta in zip(*(x.split(CHUNK, 2) for x in (q, k, v, log_decay, beta))):
        n = q.shape[2]
        far = log_decay.cumsum(-1)                                      # from the chunk's begin to behind this position
        lower = torch.ones(n, n, dtype=torch.bool).tril()
        between = (far[..., :, None] - far[..., None, :]).masked_fill(~lower, float("-inf")).exp()
        rate = beta[..., None]
        system = torch.eye(n) + (rate * between * (k @ k.mT)).tril(-1)
        u = torch.linalg.solve_triangular(system, rate * (v - far.exp()[..., None] * (k @ state)), upper=False, unitriangular=True)
        out.append(far.exp()[..., None] * (q @ state) + (between * (q @ k.mT)) @ u)
        state = far[..., -1:, None].exp() * state + (k * (far[..., -1:] - far).exp()[..., None]).mT @ u
    return torch.cat(out, 2)


def unit_length(x):
    return x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)


class DeltaNet(nn.Module):
    """gated_delta_net of models/lib/recurrences.model: x [B, T, d] -> [B, T, d]"""

    def __init__(self, scale):
        super().__init__()
        inner = HEADS * HEAD
        self.q, self.k, self.v, self.z = (training.Linear(WIDTH, inner, False) for _ in range(4))
        self.a, self.b = training.Linear(WIDTH, HEADS, False), training.Linear(WIDTH, HEADS, False)
        self.a_log = nn.Parameter(torch.empty(HEADS).uniform_(1, 16).log())
        step = torch.empty(HEADS).uniform_(-6.9, -2.3).exp()            # 0.001 to 0.1
        self.dt_bias = nn.Parameter(step + torch.log(-torch.expm1(-step)))
        self.conv = nn.Module()
        self.conv.w = nn.Parameter(torch.randn(3 * inner, TAPS) * TAPS ** -0.5)
        self.norm = training.RmsNorm(HEAD, eps=1e-6)
        self.out = training.Linear(inner, WIDTH, False, scale)

    def forward(self, x):
        mixed = torch.cat([self.q(x), self.k(x), self.v(x)], -1).mT
        mixed = F.silu(F.conv1d(F.pad(mixed, (TAPS - 1, 0)), self.conv.w[:, None], groups=len(self.conv.w)))
        q, k, v = (part.unflatten(1, (HEADS, HEAD)).mT for part in mixed.chunk(3, 1))
        log_decay = -self.a_log.exp() * F.softplus(self.a(x) + self.dt_bias)
        y = delta_rule(unit_length(q) * HEAD ** -0.5, unit_length(k), v, log_decay.mT, self.b(x).sigmoid().mT)
        y = self.norm(y.transpose(1, 2)) * F.silu(self.z(x).unflatten(-1, (HEADS, HEAD)))
        return self.out(y.flatten(2))


class Recurrent(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.delta = DeltaNet(scale)

    def forward(self, x):
        return self.delta(x)


class Layer(nn.Module):
    def __init__(self, i):
        super().__init__()
        scale = (2 * LAYERS) ** -0.5
        self.ln1, self.ln2 = training.RmsNorm(WIDTH), training.RmsNorm(WIDTH)
        self.attn = (Recurrent(scale) if i % 4 < 3 else
                     training.Attention(WIDTH, HEADS, bias=False, causal=True, turned=True, scale=scale))
        self.ffn = training.Swiglu(WIDTH, HIDDEN, scale=scale)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class Fable(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Parameter(0.05 * torch.randn(VOCAB, WIDTH))
        self.layer = nn.ModuleList(Layer(i) for i in range(LAYERS))
        self.final = training.RmsNorm(WIDTH)

    def forward(self, ids):
        """[B, T] -> logits [B, T, vocab]"""
        x = self.embed[ids]
        for layer in self.layer:
            x = layer(x)
        return self.final(x) @ self.embed.T


def pieces_of(path):
    """The learnt pieces of a tokenizer's file."""
    with open(path, "rb") as file:
        data = file.read()
    pieces, at = [], 4
    while at < len(data):
        n, = struct.unpack_from("<i", data, at + 4)
        pieces.append(data[at + 8:at + 8 + n].decode())
        at += 8 + n
    return pieces[tok.FIRST_PIECE:]


def make_rows(texts, tokenizer):
    """ids and targets [n, CONTEXT]; a tale that does not fit is left out."""
    rows = [[tok.BEGIN] + tokenizer.encode(text) + [tok.END] for text in texts]
    rows = [row for row in rows if len(row) <= CONTEXT]
    ids, targets = torch.full((len(rows), CONTEXT), tok.END), torch.full((len(rows), CONTEXT), IGNORE)
    for i, row in enumerate(rows):
        ids[i, :len(row) - 1], targets[i, :len(row) - 1] = torch.tensor(row[:-1]), torch.tensor(row[1:])
    return ids, targets


def draw_batches(tokenizer, rows):
    """Endless batches of new tales."""
    seed = SEED_TRAIN * 1000000
    while True:
        ids, targets = make_rows(tales.write_tales(seed, 1024), tokenizer)
        for start in range(0, len(ids) - rows + 1, rows):
            yield ids[start:start + rows], targets[start:start + rows]
        seed += 1


def loss(model, batch):
    longest = int((batch[1] != IGNORE).any(0).nonzero().max()) + 1
    ids, targets = batch[0][:, :longest], batch[1][:, :longest]
    return F.cross_entropy(model(ids).flatten(0, 1), targets.flatten(), ignore_index=IGNORE)


def main():
    chosen = training.options(__doc__, steps=1600, rows=16, rate=4e-3, out=os.path.join(FOLDER, "fable.safetensors"))
    torch.manual_seed(SEED_WEIGHTS)
    tokenizer = tok.Tokenizer(pieces_of(os.path.join(TALE, "tokenizer.bin")))
    held_out = make_rows(tales.write_tales(SEED_HELD_OUT, HELD_OUT), tokenizer)

    @torch.no_grad()
    def measure(model):
        return "held out %.4f" % loss(model, held_out).item()

    model = training.train(Fable(), draw_batches(tokenizer, chosen.rows), loss, chosen, measure=measure, every=250)
    model = training.rounded(model, torch.float16)
    print("as kept:", measure(model))
    training.save(model, chosen.out, torch.float16)


if __name__ == "__main__":
    main()
