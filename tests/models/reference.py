"""GPT-2 and Llama once more, as their papers and reference implementations have it, on published names.

Each bundled model is made small, its hash weights are written under the published names, and what the
interpreter says is compared with what the plain loops here compute from that file. So the formulas, the
names and the packing are all held against a second opinion. Standard library only.

    python3 reference.py TOOL WORKDIR MODELS
"""

import json
import struct
import subprocess
import sys
from math import cos, exp, pi, sin, sqrt, tanh

TOKENS = [3, 1, 4, 1, 5, 9]
EPS = 1e-5


def load(path):
    """name: list (a vector) or list of rows (a matrix)"""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        first, end = entry["data_offsets"]
        values = list(struct.unpack("<%df" % ((end - first) // 4), data[first:end]))
        columns = entry["shape"][-1]
        rows = [values[i:i + columns] for i in range(0, len(values), columns)]
        tensors[name] = values if len(entry["shape"]) == 1 else rows
    return tensors


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def add(a, b):
    return [x + y for x, y in zip(a, b)]


def out_in(w, x):
    """w [out][in]"""
    return [dot(row, x) for row in w]


def in_out(w, x):
    """w [in][out]"""
    return [sum(x[i] * w[i][j] for i in range(len(x))) for j in range(len(w[0]))]


def layer_norm(x, gain, shift):
    mean = sum(x) / len(x)
    deviation = sqrt(sum((v - mean) ** 2 for v in x) / len(x) + EPS)
    return [(v - mean) / deviation * g + s for v, g, s in zip(x, gain, shift)]


def rms_norm(x, gain):
    rms = sqrt(sum(v * v for v in x) / len(x) + EPS)
    return [v / rms * g for v, g in zip(x, gain)]


def gelu(v):
    return 0.5 * v * (1 + tanh(sqrt(2 / pi) * (v + 0.044715 * v ** 3)))


def attention(q, k, v, heads, kv_heads):
    """causal; q [T][heads * size], k and v [T][kv_heads * size]"""
    size = len(q[0]) // heads
    out = []
    for t in range(len(q)):
        row = []
        for head in range(heads):
            mine = slice(head * size, (head + 1) * size)
            first = head // (heads // kv_heads) * size
            share = [exp(dot(q[t][mine], k[s][first:first + size]) / sqrt(size)) for s in range(t + 1)]
            row += [sum(p * v[s][first + j] for s, p in enumerate(share)) / sum(share) for j in range(size)]
        out.append(row)
    return out


def gpt2(w, layers, heads):
    x = [add(w["wte.weight"][token], w["wpe.weight"][i]) for i, token in enumerate(TOKENS)]
    width = len(x[0])
    for layer in range(layers):
        def of(name):
            return w["h.%d.%s" % (layer, name)]

        def conv1d(name, row):
            return add(in_out(of(name + ".weight"), row), of(name + ".bias"))

        def norm(name, row):
            return layer_norm(row, of(name + ".weight"), of(name + ".bias"))

        qkv = [conv1d("attn.c_attn", norm("ln_1", row)) for row in x]
        q, k, v = ([row[i * width:(i + 1) * width] for row in qkv] for i in range(3))
        x = [add(row, conv1d("attn.c_proj", a)) for row, a in zip(x, attention(q, k, v, heads, heads))]
        for t, row in enumerate(x):
            hidden = [gelu(u) for u in conv1d("mlp.c_fc", norm("ln_2", row))]
            x[t] = add(row, conv1d("mlp.c_proj", hidden))
    return [out_in(w["wte.weight"], layer_norm(row, w["ln_f.weight"], w["ln_f.bias"])) for row in x]


def rotate(x, heads, position, neighbours):
    size = len(x) // heads
    out = list(x)
    for head in range(heads):
        for i in range(size // 2):
            a = head * size + (2 * i if neighbours else i)
            b = a + (1 if neighbours else size // 2)
            angle = position * 10000 ** (-2 * i / size)
            out[a] = x[a] * cos(angle) - x[b] * sin(angle)
            out[b] = x[a] * sin(angle) + x[b] * cos(angle)
    return out


# embedding, head, final norm; in a layer: norm, q, k, v, output, norm, gate, up, down
HUGGING_FACE = ("model.embed_tokens lm_head model.norm", "model.layers.%d.",
                "input_layernorm self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj "
                "post_attention_layernorm mlp.gate_proj mlp.up_proj mlp.down_proj")
META = ("tok_embeddings output norm", "layers.%d.",
        "attention_norm attention.wq attention.wk attention.wv attention.wo "
        "ffn_norm feed_forward.w1 feed_forward.w3 feed_forward.w2")


def llama(w, layers, heads, kv_heads, names, neighbours):
    embed, head, final = (w.get(name + ".weight") for name in names[0].split())
    x = [embed[token] for token in TOKENS]
    for layer in range(layers):
        of_layer = [w[names[1] % layer + name + ".weight"] for name in names[2].split()]
        norm1, wq, wk, wv, wo, norm2, gate, up, down = of_layer
        y = [rms_norm(row, norm1) for row in x]
        q = [rotate(out_in(wq, row), heads, t, neighbours) for t, row in enumerate(y)]
        k = [rotate(out_in(wk, row), kv_heads, t, neighbours) for t, row in enumerate(y)]
        v = [out_in(wv, row) for row in y]
        x = [add(row, out_in(wo, a)) for row, a in zip(x, attention(q, k, v, heads, kv_heads))]
        for t, row in enumerate(x):
            y = rms_norm(row, norm2)
            hidden = [g / (1 + exp(-g)) * u for g, u in zip(out_in(gate, y), out_in(up, y))]
            x[t] = add(row, out_in(down, hidden))
    return [out_in(head or embed, rms_norm(row, final)) for row in x]


def check(name, found, expected):
    worst = max(abs(a - b) for x, y in zip(found, expected) for a, b in zip(x, y))
    largest = max(abs(v) for row in expected for v in row)
    same_shape = [len(row) for row in found] == [len(row) for row in expected]
    good = same_shape and worst <= 1e-12 * largest
    print("%s models/%s as its reference%s" % ("ok" if good else "FAIL", name, "" if good else ": off by %g" % worst))
    return good


def main():
    tool, work, models = sys.argv[1:4]

    def interpreted(file, model, **settings):
        path = work + "/w.safetensors"
        command = [tool, "logits", "%s/%s.model" % (models, file), model, path, ",".join(map(str, TOKENS))]
        command += ["%s=%d" % pair for pair in settings.items()]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit("FAIL models/%s: %s" % (model, done.stdout))
        return [[float(v) for v in line.split()] for line in done.stdout.splitlines()], load(path)

    good = True
    found, w = interpreted("gpt2", "gpt2", layers=2, heads=4, d_model=16, vocab=20, context=8)
    good &= check("gpt2", found, gpt2(w, 2, 4))
    sizes = dict(layers=2, heads=4, kv_heads=2, d_model=24, d_ff=20, vocab=20, context=8)
    for file, model, names, neighbours in (
        ("llama2", "llama2_7b", HUGGING_FACE, False),
        ("llama2", "llama2_7b_meta", META, True),
        ("stories15m", "stories15m", META, True),
        ("tale", "tale", META, True),
    ):
        found, w = interpreted(file, model, **sizes)
        good &= check(model, found, llama(w, 2, 4, 2, names, neighbours))
    return not good


sys.exit(main())
