"""Train the model `tale` from nothing: text, tokenizer, weights.

A Llama-like decoder (Touvron et al. 2023) as llama2.c trains it: RMS norm before each block (eps
1e-5), rotary positions on neighbouring pairs (theta 10000), grouped queries, SwiGLU, the embedding
tied to the output, no biases. One tale a row: <s> tale </s>, so that every row begins as a
generation does. AdamW, warm-up, cosine decay.

Built for a CPU: a step goes through its tales one by one, so that all of a tale's activations stay in
the cache, and every core (a "device" of its own) takes its share of the tales.

Expects jax, optax, numpy. Leaves tokenizer.bin and tale.safetensors (float16, [out, in]).

    python3 train.py --steps 5000
"""

import argparse
import functools
import json
import os
import struct
import time
from typing import NamedTuple

CORES = int(os.environ.get("CORES", "2"))
os.environ["XLA_FLAGS"] = ("--xla_force_host_platform_device_count=%d --xla_cpu_multi_thread_eigen=false"
                           % CORES)  # read once, when jax is imported

import jax
import jax.numpy as jnp
import numpy as np
import optax

import tales
import tokenizer as tok

VOCAB, CONTEXT = 512, 256
EPS, THETA = 1e-5, 10000.0
SEED_TOKENIZER, SEED_TRAIN, SEED_HELD_OUT, SEED_WEIGHTS = 1, 2, 3, 4
HELD_OUT = 128
IGNORE = -1  # a target that is not scored: the padding after </s>


class Size(NamedTuple):
    layers: int
    heads: int
    kv_heads: int
    d_model: int
    d_ff: int

    @property
    def head_dim(self):
        return self.d_model // self.heads

    @property
    def group(self):
        return self.heads // self.kv_heads


SIZES = {"tale": Size(4, 6, 3, 96, 192), "wide": Size(2, 8, 4, 256, 512)}


def name_shapes(size):
    """name: shape, in the order of the file; the names are those of Meta's checkpoints."""
    shapes = {"tok_embeddings.weight": (VOCAB, size.d_model)}
    kv = size.kv_heads * size.head_dim
    for i in range(size.layers):
        layer = "layers.%d." % i
        shapes[layer + "attention_norm.weight"] = (size.d_model,)
        shapes[layer + "attention.wq.weight"] = (size.d_model, size.d_model)
        shapes[layer + "attention.wk.weight"] = (kv, size.d_model)
        shapes[layer + "attention.wv.weight"] = (kv, size.d_model)
        shapes[layer + "attention.wo.weight"] = (size.d_model, size.d_model)
        shapes[layer + "ffn_norm.weight"] = (size.d_model,)
        shapes[layer + "feed_forward.w1.weight"] = (size.d_ff, size.d_model)
        shapes[layer + "feed_forward.w2.weight"] = (size.d_model, size.d_ff)
        shapes[layer + "feed_forward.w3.weight"] = (size.d_ff, size.d_model)
    shapes["norm.weight"] = (size.d_model,)
    return shapes


def draw_weights(size, seed):
    """Norms 1; matrices normal, 1/sqrt(in), the two that end a block smaller with the depth."""
    rng = np.random.default_rng(seed)
    weights = {}
    for name, shape in name_shapes(size).items():
        if len(shape) == 1:
            weights[name] = np.ones(shape, np.float32)
            continue
        scale = 0.02 if name.startswith("tok") else shape[1] ** -0.5
        if name.endswith((".wo.weight", ".w2.weight")):
            scale /= (2 * size.layers) ** 0.5
        weights[name] = (scale * rng.standard_normal(shape)).astype(np.float32)
    return weights


def rms_norm(x, gain):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + EPS) * gain


def rotate(x, cos, sin):
    """x [t, h, head_dim]; the pair (2i, 2i+1) turns by position * theta^(-2i/head_dim)."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)


def attend(x, w, layer, cos, sin, size):
    """Causal attention of one tale x [t, d_model]. Query head h reads key head h / group.

    softmax(s) v = exp(s) v / exp(s) 1: a column of ones beside v gives the divisor.
    """
    t = x.shape[0]
    project = lambda name, heads: (x @ w[layer + name].T).reshape(t, heads, size.head_dim)
    q = rotate(project("attention.wq.weight", size.heads), cos, sin)
    k = rotate(project("attention.wk.weight", size.kv_heads), cos, sin)
    v = project("attention.wv.weight", size.kv_heads)
    q = q.transpose(1, 0, 2).reshape(size.kv_heads, size.group * t, size.head_dim)
    scores = jax.lax.batch_matmul(q, k.transpose(1, 2, 0)) * size.head_dim ** -0.5  # [kv, group * t, t]
    mask = np.where(np.tril(np.ones((t, t), bool)), 0, -1e30).astype(np.float32)
    scores = scores + np.tile(mask, (size.group, 1))
    scores -= jax.lax.stop_gradient(scores.max(-1, keepdims=True))
    ones = jnp.ones((size.kv_heads, t, 1))
    sums = jax.lax.batch_matmul(jnp.exp(scores),
                                jnp.concatenate([v.transpose(1, 0, 2), ones], -1))
    mixed = (sums[..., :size.head_dim] / sums[..., size.head_dim:]).reshape(size.heads, t, size.head_dim)
    return mixed.transpose(1, 0, 2).reshape(t, size.d_model) @ w[layer + "attention.wo.weight"].T


def feed_forward(x, w, layer):
    gate = jax.nn.silu(x @ w[layer + "feed_forward.w1.weight"].T)
    return (gate * (x @ w[layer + "feed_forward.w3.weight"].T)) @ w[layer + "feed_forward.w2.weight"].T


def forward(w, ids, size):
    """ids [t] to logits [t, vocab]."""
    angle = jnp.arange(ids.shape[0])[:, None] * THETA ** (-jnp.arange(0, size.head_dim, 2) / size.head_dim)
    cos, sin = jnp.cos(angle)[:, None, :], jnp.sin(angle)[:, None, :]
    x = w["tok_embeddings.weight"][ids]
    for i in range(size.layers):
        layer = "layers.%d." % i
        x = x + attend(rms_norm(x, w[layer + "attention_norm.weight"]), w, layer, cos, sin, size)
        x = x + feed_forward(rms_norm(x, w[layer + "ffn_norm.weight"]), w, layer)
    return rms_norm(x, w["norm.weight"]) @ w["tok_embeddings.weight"].T


def sum_loss(size, w, ids, targets):
    """Cross-entropy in nats, summed over the scored tokens of one tale."""
    scored = targets != IGNORE
    logits = forward(w, ids, size)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, jnp.where(scored, targets, 0))
    return jnp.sum(losses * scored)


def sum_slopes(size, w, ids, targets):
    """Loss and gradient, summed over the tales ids [n, t], one after the other."""
    def add(total, tale):
        return jax.tree.map(jnp.add, total, jax.value_and_grad(sum_loss, 1)(size, w, *tale)), None
    zero = (0.0, jax.tree.map(jnp.zeros_like, w))
    return jax.lax.scan(add, zero, (ids, targets))[0]


def sum_losses(size, w, ids, targets):
    return jax.lax.map(lambda tale: sum_loss(size, w, *tale), (ids, targets)).sum()


def make_rows(texts, tokenizer):
    """ids and targets [n, CONTEXT]; a tale that does not fit is left out."""
    ids, targets = [], []
    for text in texts:
        tale = [tok.BEGIN] + tokenizer.encode(text) + [tok.END]
        if len(tale) > CONTEXT:
            continue
        padding = CONTEXT - len(tale) + 1
        ids.append(tale[:-1] + [tok.END] * padding)
        targets.append(tale[1:] + [IGNORE] * padding)
    return np.array(ids, np.int32), np.array(targets, np.int32)


def draw_batches(tokenizer, rows):
    """Endless batches of new tales: none is seen twice but by chance."""
    seed = SEED_TRAIN * 1000000
    while True:
        ids, targets = make_rows(tales.write_tales(seed, 4096), tokenizer)
        for start in range(0, len(ids) - rows + 1, rows):
            yield ids[start:start + rows], targets[start:start + rows]
        seed += 1


def save_weights(path, size, weights):
    """safetensors: length of the header, header, the tensors' bytes in its order."""
    header, blobs, offset = {"__metadata__": {"license": "MIT", "format": "pt"}}, [], 0
    for name, shape in name_shapes(size).items():
        blob = np.asarray(weights[name], "<f2").tobytes()
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def main():
    options = argparse.ArgumentParser(description="train the model tale")
    options.add_argument("--size", choices=SIZES, default="tale")
    options.add_argument("--steps", type=int, default=5000)
    options.add_argument("--rows", type=int, default=16, help="tales a step, a multiple of CORES")
    options.add_argument("--rate", type=float, default=4e-3, help="highest learning rate")
    options.add_argument("--out", default=".", help="folder of the two files it writes")
    chosen = options.parse_args()
    size = SIZES[chosen.size]

    tokenizer = tok.Tokenizer(tok.train(tales.write_tales(SEED_TOKENIZER, 4000), VOCAB))
    tokenizer.save(chosen.out + "/tokenizer.bin")
    held_out = make_rows(tales.write_tales(SEED_HELD_OUT, 2 * HELD_OUT), tokenizer)
    held_out = [rows[:HELD_OUT] for rows in held_out]
    scored = np.sum(held_out[1] != IGNORE)
    rate = optax.warmup_cosine_decay_schedule(0.0, chosen.rate, chosen.steps // 20, chosen.steps,
                                              chosen.rate / 100)
    matrices = {name: len(shape) == 2 for name, shape in name_shapes(size).items()}
    optimizer = optax.chain(optax.clip_by_global_norm(1.0),
                            optax.adamw(rate, b1=0.9, b2=0.98, weight_decay=0.05, mask=matrices))
    weights = draw_weights(size, SEED_WEIGHTS)
    state = optimizer.init(weights)

    @jax.jit
    def update(weights, state, slopes, count):
        slope = jax.tree.map(lambda cores: cores.sum(0) / count, slopes)
        change, state = optimizer.update(slope, state, weights)
        return optax.apply_updates(weights, change), state

    # The cores' sums meet on the host, in numpy: collectives of CPU devices can wait for each other for ever.
    measure = jax.pmap(functools.partial(sum_slopes, size), in_axes=(None, 0, 0))
    evaluate = jax.pmap(functools.partial(sum_losses, size), in_axes=(None, 0, 0))
    share = lambda rows: rows.reshape(CORES, -1, CONTEXT)
    print("parameters", sum(int(np.prod(s)) for s in name_shapes(size).values()), flush=True)
    batches, began = draw_batches(tokenizer, chosen.rows), time.time()
    for number in range(1, chosen.steps + 1):
        ids, targets = next(batches)
        count = np.sum(targets != IGNORE)
        losses, slopes = jax.tree.map(np.asarray, measure(weights, share(ids), share(targets)))
        weights, state = jax.tree.map(np.asarray, update(weights, state, slopes, count))
        if number % 250 == 0 or number in (1, 50, 100, chosen.steps):
            checked = np.asarray(evaluate(weights, *map(share, held_out))).sum() / scored
            print("step %5d  loss %.4f  held out %.4f  %5.0f s"
                  % (number, losses.sum() / count, checked, time.time() - began), flush=True)
            save_weights("%s/%s.safetensors" % (chosen.out, chosen.size), size, weights)


if __name__ == "__main__":
    main()
