"""Train `fable_mtp`, a head that drafts for `fable`: from a token and the hidden vector of fable at the position before it, the next token.

As the module of DeepSeek-V3 (2024) that predicts further tokens: the normed embedding and the normed vector are joined and projected, a
layer of attention follows, a norm, and the embedding of fable as the output.  Its own vector takes the place of fable's for the tokens
after that: training repeats it DEPTH times.  Targets are the probabilities that fable gives, on new tales.

Expects torch, numpy, safetensors.  Leaves fable_mtp.safetensors (float16, lathe's names).

    python3 models/fable_mtp/train.py
"""

import importlib.util
import os
import sys

import torch
from safetensors.torch import load_file
from torch import nn

FOLDER = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.dirname(FOLDER)
sys.path[:0] = [MODELS]
import training

spec = importlib.util.spec_from_file_location("fable_train", os.path.join(MODELS, "fable", "train.py"))
fable = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fable)

WIDTH, HIDDEN, HEADS, VOCAB = fable.WIDTH, fable.HIDDEN, fable.HEADS, fable.VOCAB
DEPTH = 3
SEED_WEIGHTS, FIRST_TALES = 8, 6000000  # tales that the training of fable did not see


def tokenizer():
    return fable.tok.Tokenizer(fable.pieces_of(os.path.join(fable.TALE, "tokenizer.bin")))


def teacher():
    model = fable.Fable()
    tensors = load_file(os.path.join(MODELS, "fable", "fable.safetensors"))
    model.load_state_dict({name: value.float() for name, value in tensors.items()})
    return model.eval()


@torch.no_grad()
def hidden_of(model, ids):
    """[B, T] -> the vectors before the output of fable, [B, T, WIDTH]"""
    x = model.embed[ids]
    for layer in model.layer:
        x = layer(x)
    return model.final(x)


class FableMtp(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Parameter(torch.zeros(VOCAB, WIDTH), requires_grad=False)      # fable's
        self.enorm, self.hnorm = training.RmsNorm(WIDTH), training.RmsNorm(WIDTH)
        self.proj = training.Linear(2 * WIDTH, WIDTH, False)
        self.ln1, self.ln2 = training.RmsNorm(WIDTH), training.RmsNorm(WIDTH)
        self.attn = training.Attention(WIDTH, HEADS, bias=False, causal=True, turned=True)
        self.ffn = training.Swiglu(WIDTH, HIDDEN)
        self.final = training.RmsNorm(WIDTH)

    def forward(self, ids, hidden):
        """ids [B, T], hidden [B, T, WIDTH] of the positions before -> logits [B, T, VOCAB], and hidden for the positions after"""
        x = self.proj(torch.cat([self.enorm(self.embed[ids]), self.hnorm(hidden)], -1))
        x = x + self.attn(self.ln1(x))
        x = x + self.ffn(self.ln2(x))
        x = self.final(x)
        return x @ self.embed.T, x


def loss_of(model_of_text):
    """Cross entropy with the probabilities of the text's model, the mean of all depths; targets: what is scored."""
    def loss(model, batch):
        longest = int((batch[1] != fable.IGNORE).any(0).nonzero().max()) + 1
        ids, scored = batch[0][:, :longest], batch[1][:, :longest] != fable.IGNORE
        hidden = hidden_of(model_of_text, ids)
        wanted = (hidden @ model_of_text.embed.T).softmax(-1)
        total = 0
        for depth in range(1, DEPTH + 1):
            # row r reads token r + depth, and what stands for the vector of position r + depth - 1
            logits, own = model(ids[:, depth:], hidden[:, :longest - depth])
            each = -(wanted[:, depth:] * logits.log_softmax(-1)).sum(-1)
            total = total + (each * scored[:, depth:]).sum() / scored[:, depth:].sum()
            hidden = own
        return total / DEPTH
    return loss


def draw_batches(rows):
    words, seed = tokenizer(), FIRST_TALES
    while True:
        ids, targets = fable.make_rows(fable.tales.write_tales(seed, 1024), words)
        for start in range(0, len(ids) - rows + 1, rows):
            yield ids[start:start + rows], targets[start:start + rows]
        seed += 1


def main():
    chosen = training.options(__doc__, steps=500, rows=8, rate=4e-3, out=os.path.join(FOLDER, "fable_mtp.safetensors"))
    model_of_text, loss = teacher(), None
    torch.manual_seed(SEED_WEIGHTS)
    held_out = fable.make_rows(fable.tales.write_tales(fable.SEED_HELD_OUT, fable.HELD_OUT), tokenizer())
    loss = loss_of(model_of_text)

    @torch.no_grad()
    def measure(model):
        """The share of tokens at each depth that are those of fable, the drafts before them being right."""
        longest = int((held_out[1] != fable.IGNORE).any(0).nonzero().max()) + 1
        ids, scored = held_out[0][:, :longest], held_out[1][:, :longest] != fable.IGNORE
        hidden, told = hidden_of(model_of_text, ids), []
        wanted = (hidden @ model_of_text.embed.T).argmax(-1)
        for depth in range(1, DEPTH + 1):
            logits, hidden = model(ids[:, depth:], hidden[:, :longest - depth])
            told.append("%.3f" % (logits.argmax(-1) == wanted[:, depth:])[scored[:, depth:]].float().mean().item())
        return "right " + " ".join(told)

    model = FableMtp()
    model.embed.data.copy_(model_of_text.embed)
    model = training.train(model, draw_batches(chosen.rows), loss, chosen, measure=measure, every=100)
    model = training.rounded(model, torch.float16)
    print("as kept:", measure(model))
    training.save(model, chosen.out, torch.float16)


if __name__ == "__main__":
    main()
