"""What the training scripts of our small models share: layers, a training loop, the file of weights.

The layers are those of models/lib/blocks.model, in PyTorch.  Their parts have the names that lathe gives to
weights, so that a state_dict is, name by name, what `lathe show M.model params` lists.

Expects torch, numpy, safetensors.
"""

import argparse
import math
import time

import torch
import torch.nn.functional as F
from safetensors import torch as safetensors
from torch import nn


class Linear(nn.Module):
    """[.., m] -> [.., n]: x w' + b; normal with 1/sqrt(m), times scale."""

    def __init__(self, m, n, bias=True, scale=1.0):
        super().__init__()
        self.w = nn.Parameter(torch.randn(n, m) * scale * m ** -0.5)
        self.b = nn.Parameter(torch.zeros(n)) if bias else None

    def forward(self, x):
        return F.linear(x, self.w, self.b)


class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.gain, self.shift, self.eps = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d)), eps

    def forward(self, x):
        return F.layer_norm(x, self.gain.shape, self.gain, self.shift, self.eps)


class RmsNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.gain, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.eps) * self.gain


def rotate(x, theta=10000.0):
    """x [.., T, d]; the pair (i, i + d / 2) turns by position * theta^(-2i/d)."""
    t, half = x.shape[-2], x.shape[-1] // 2
    angle = torch.arange(t)[:, None] * theta ** (-torch.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class Attention(nn.Module):
    """Queries of x [B, T, d], keys and values of memory [B, S, d]; keep [B, S]: true for a token, false for padding."""

    def __init__(self, d, heads, bias=True, causal=False, turned=False, scale=1.0):
        super().__init__()
        self.q, self.k, self.v = Linear(d, d, bias), Linear(d, d, bias), Linear(d, d, bias)
        self.out = Linear(d, d, bias, scale)
        self.heads, self.causal, self.turned = heads, causal, turned

    def forward(self, x, memory=None, keep=None):
        memory = x if memory is None else memory
        split = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q, k, v = split(self.q(x)), split(self.k(memory)), split(self.v(memory))
        if self.turned:
            q, k = rotate(q), rotate(k)
        seen = None if keep is None else keep[:, None, None, :]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=self.causal)
        return self.out(y.transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self, m, hidden, act=F.gelu, width=None, scale=1.0):
        super().__init__()
        self.up, self.down, self.act = Linear(m, hidden), Linear(hidden, width or m, scale=scale), act

    def forward(self, x):
        return self.down(self.act(self.up(x)))


class Swiglu(nn.Module):
    def __init__(self, d, hidden, scale=1.0):
        super().__init__()
        self.gate, self.up = Linear(d, hidden, False), Linear(d, hidden, False)
        self.down = Linear(hidden, d, False, scale)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def options(about, **defaults):
    """The options of all training scripts: --steps, --rows, --rate, --threads, --out, with these defaults."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--steps", type=int, default=defaults["steps"])
    parser.add_argument("--rows", type=int, default=defaults["rows"], help="examples a step")
    parser.add_argument("--rate", type=float, default=defaults["rate"], help="highest learning rate")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", default=defaults["out"], help="the file of weights that it writes")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    return chosen


def train(model, batches, loss, chosen, measure=None, every=500, decay=0.01, mean=0.0):
    """AdamW, gradient norm clipped to 1, a twentieth of warm-up, then a cosine down to a hundredth.

    batches: endless; loss(model, batch): a scalar; measure(model): a text for the log.  mean: if not 0, the weights that are
    returned are a running mean with this factor.  Returns the model to take.
    """
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}],
                                  lr=chosen.rate, betas=(0.9, 0.98))
    warm = max(1, chosen.steps // 20)

    def factor(step):
        if step < warm:
            return (step + 1) / warm
        return 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, chosen.steps - warm)))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    averaged = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(mean)) if mean else None
    taken = averaged.module if averaged else model
    print("parameters", sum(p.numel() for p in model.parameters()), flush=True)
    began, total = time.time(), 0.0
    for step in range(1, chosen.steps + 1):
        value = loss(model, next(batches))
        optimizer.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if averaged:
            averaged.update_parameters(model)
        total += value.item()
        if step % every == 0 or step == chosen.steps:
            told = measure(taken) if measure else ""
            print("step %d loss %.4f %s %.0f s" % (step, total / every, told, time.time() - began), flush=True)
            total = 0.0
    return taken


def rounded(model, dtype=torch.bfloat16):
    """The weights as the file holds them: what is measured is what is kept."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(p.to(dtype).to(torch.float32))
    return model


def save(model, path, dtype=torch.bfloat16):
    tensors = {name: p.detach().to(dtype).contiguous() for name, p in model.named_parameters()}
    with open(path, "wb") as file:
        file.write(safetensors.save(tensors, metadata={"license": "MIT"}))
