"""Decoders whose code stands beside their weights and in no library. It is written here anew in float64, from the text of
InternLM 2 (internlm/internlm2-7b, modeling_internlm2.py), MiniCPM (openbmb/MiniCPM-2B-sft-bf16, modeling_minicpm.py) and
ChatGLM (THUDM/chatglm3-6b, modeling_chatglm.py), formula by formula; that text does not run.

Positions turn the two halves of a head against each other but in ChatGLM, which turns neighbours in the first half of a head.

    make && V/bin/python tests/oracle/families/remote.py
"""

import math

import common
import torch

HEADS, KV_HEADS = 6, 2
SILU = torch.nn.functional.silu


class Weights(dict):
    """What lathe writes under the published names; each has to be used."""

    def __init__(self, name):
        super().__init__(common.lathe_weights(name))
        self.unused = set(self)

    def __getitem__(self, name):
        self.unused.discard(name)
        return super().__getitem__(name)

    def linear(self, name, x):
        y = x @ self[name + ".weight"].T
        return y + self[name + ".bias"] if name + ".bias" in self else y

    def norm(self, name, x, eps):
        return self[name + ".weight"] * x / torch.sqrt((x ** 2).mean(-1, keepdim=True) + eps)


def angles(count, width, theta):
    """Of each position, one for each pair of values: [count, width / 2]."""
    return torch.outer(torch.arange(count).double(), theta ** (-torch.arange(0, width, 2).double() / width))


def turned_halves(x, theta):
    """x [count, heads, width]."""
    angle = angles(x.shape[0], x.shape[2], theta)[:, None]
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()), dim=-1)


def turned_neighbours(x, theta):
    """The first half of each head."""
    half = x.shape[2] // 2
    angle = angles(x.shape[0], half, theta)[:, None]
    even, odd = x[..., 0:half:2], x[..., 1:half:2]
    pairs = torch.stack((even * angle.cos() - odd * angle.sin(), odd * angle.cos() + even * angle.sin()), dim=-1)
    return torch.cat((pairs.flatten(2), x[..., half:]), dim=-1)


def attend(q, k, v):
    """q [count, heads, width], k and v [count, kv_heads, width] -> [count, heads * width]."""
    count, heads, width = q.shape
    k, v = (t.repeat_interleave(heads // t.shape[1], dim=1) for t in (k, v))
    scores = torch.einsum("ihd,jhd->hij", q, k) / math.sqrt(width)
    later = torch.ones(count, count, dtype=torch.bool).triu(1)
    shares = scores.masked_fill(later, -math.inf).softmax(dim=-1)
    return torch.einsum("hij,jhd->ihd", shares, v).reshape(count, heads * width)


def internlm2(w, ids, layers=2, eps=1e-5, theta=1e6):
    x, taps = w["model.tok_embeddings.weight"][ids], {}
    for i in range(layers):
        at = f"model.layers.{i}."
        qkv = w.linear(at + "attention.wqkv", w.norm(at + "attention_norm", x, eps))
        qkv = qkv.reshape(len(ids), KV_HEADS, 2 + HEADS // KV_HEADS, -1)
        q = qkv[:, :, :-2].flatten(1, 2)
        attended = w.linear(at + "attention.wo", attend(
            turned_halves(q, theta), turned_halves(qkv[:, :, -2], theta), qkv[:, :, -1]))
        x = x + attended
        h = w.norm(at + "ffn_norm", x, eps)
        x = x + w.linear(at + "feed_forward.w2", SILU(w.linear(at + "feed_forward.w1", h)) * w.linear(at + "feed_forward.w3", h))
        taps |= {f"layer[{i}].attn": attended, f"layer[{i}].x": x}
    return w.linear("output", w.norm("model.norm", x, eps)), taps


def minicpm(w, ids, layers=3, heads=3, eps=1e-5, theta=1e4, scale_emb=12, scale_depth=1.4, dim_model_base=8):
    embedding, taps = w["model.embed_tokens.weight"], {}
    x = embedding[ids] * scale_emb
    for i in range(layers):
        at = f"model.layers.{i}."
        h = w.norm(at + "input_layernorm", x, eps)
        q, k, v = (w.linear(at + f"self_attn.{c}_proj", h).reshape(len(ids), heads, -1) for c in "qkv")
        attended = w.linear(at + "self_attn.o_proj", attend(turned_halves(q, theta), turned_halves(k, theta), v))
        x = x + attended * (scale_depth / math.sqrt(layers))
        h = w.norm(at + "post_attention_layernorm", x, eps)
        fed = w.linear(at + "mlp.down_proj", SILU(w.linear(at + "mlp.gate_proj", h)) * w.linear(at + "mlp.up_proj", h))
        x = x + fed * (scale_depth / math.sqrt(layers))
        taps |= {f"layer[{i}].attn": attended, f"layer[{i}].ffn": fed, f"layer[{i}].x": x}
    h = w.norm("model.norm", x, eps) / (x.shape[1] / dim_model_base)
    return h @ embedding.T, taps


def chatglm(w, ids, layers=2, eps=1e-5, theta=1e4, width=8):
    x, taps = w["transformer.embedding.word_embeddings.weight"][ids], {}
    for i in range(layers):
        at = f"transformer.encoder.layers.{i}."
        qkv = w.linear(at + "self_attention.query_key_value", w.norm(at + "input_layernorm", x, eps))
        q, k, v = (t.reshape(len(ids), -1, width)
                   for t in qkv.split([HEADS * width, KV_HEADS * width, KV_HEADS * width], dim=-1))
        attended = w.linear(at + "self_attention.dense", attend(
            turned_neighbours(q, theta), turned_neighbours(k, theta), v))
        x = x + attended
        gate, up = w.linear(at + "mlp.dense_h_to_4h", w.norm(at + "post_attention_layernorm", x, eps)).chunk(2, dim=-1)
        x = x + w.linear(at + "mlp.dense_4h_to_h", SILU(gate) * up)
        taps |= {f"layer[{i}].attn": attended, f"layer[{i}].x": x}
    return w.linear("transformer.output_layer", w.norm("transformer.encoder.final_layernorm", x, eps)), taps


SOURCES = {
    internlm2: "internlm/internlm2-7b modeling_internlm2.InternLM2ForCausalLM, written anew",
    minicpm: "openbmb/MiniCPM-2B-sft-bf16 modeling_minicpm.MiniCPMForCausalLM, written anew",
    chatglm: "THUDM/chatglm3-6b modeling_chatglm.ChatGLMForConditionalGeneration, written anew",
}
for forward, source in SOURCES.items():
    weights = Weights(forward.__name__)
    tokens = common.tokens(24, 37)
    logits, values = forward(weights, tokens)
    assert not weights.unused, weights.unused
    common.references[forward.__name__] = source
    common.record(forward.__name__, inputs={"tokens": tokens}, outputs={"logits": logits}, taps=values)
