"""RWKV-7, restated from the paper's equations (Peng et al. 2025, section 4) and the authors' demo, one position at a time in
float64: no library has its code.  The state of a head is [values, keys], as in the paper, transposed to lathe's."""

import common
import torch

HEADS, LAYERS, WIDTH, VOCAB = 3, 3, 24, 37
w = common.lathe_weights("rwkv7")


def flat(name):
    return w[name].reshape(-1)


def norm(x, name):
    mean = x.mean()
    return (x - mean) / torch.sqrt(((x - mean) ** 2).mean() + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]


def gate(x):
    return 1 / (1 + torch.exp(-x))


class Layer:
    def __init__(self, number):
        self.number, self.blk = number, f"blocks.{number}"
        self.att_before = torch.zeros(WIDTH)
        self.ffn_before = torch.zeros(WIDTH)
        self.state = torch.zeros(HEADS, WIDTH // HEADS, WIDTH // HEADS)

    def time_mix(self, x, v_first):
        att = f"{self.blk}.att"
        mixed = {m: torch.lerp(x, self.att_before, flat(f"{att}.x_{m}")) for m in "rwkvag"}
        self.att_before = x
        r = w[f"{att}.receptance.weight"] @ mixed["r"]
        k = w[f"{att}.key.weight"] @ mixed["k"]
        v = w[f"{att}.value.weight"] @ mixed["v"]
        d = flat(f"{att}.w0") + torch.tanh(mixed["w"] @ w[f"{att}.w1"]) @ w[f"{att}.w2"]
        decay = torch.exp(-torch.exp(torch.tensor(-0.5)) * gate(d))
        rate = gate(flat(f"{att}.a0") + mixed["a"] @ w[f"{att}.a1"] @ w[f"{att}.a2"])
        g = gate(mixed["g"] @ w[f"{att}.g1"]) @ w[f"{att}.g2"]
        if self.number == 0:
            v_first = v
        else:
            v = torch.lerp(v, v_first, gate(flat(f"{att}.v0") + mixed["v"] @ w[f"{att}.v1"] @ w[f"{att}.v2"]))
        removal = k * flat(f"{att}.k_k")
        k = torch.lerp(k, k * rate, flat(f"{att}.k_a"))
        out = torch.zeros(WIDTH)
        size = WIDTH // HEADS
        for h in range(HEADS):
            at = slice(h * size, (h + 1) * size)
            kk = removal[at] / max(float(torch.linalg.vector_norm(removal[at])), 1e-12)
            # S (diag(w) - kk' (a kk)) + v' k
            transition = torch.diag(decay[at]) - torch.outer(kk, rate[at] * kk)
            self.state[h] = self.state[h] @ transition + torch.outer(v[at], k[at])
            y = self.state[h] @ r[at]
            mean = y.mean()
            y = (y - mean) / torch.sqrt(((y - mean) ** 2).mean() + 64e-5)
            y = y * w[f"{att}.ln_x.weight"][at] + w[f"{att}.ln_x.bias"][at]
            out[at] = y + (r[at] * k[at] * w[f"{att}.r_k"][h]).sum() * v[at]
        return w[f"{att}.output.weight"] @ (out * g), v_first

    def channel_mix(self, x):
        ffn = f"{self.blk}.ffn"
        k = w[f"{ffn}.key.weight"] @ torch.lerp(x, self.ffn_before, flat(f"{ffn}.x_k"))
        self.ffn_before = x
        return w[f"{ffn}.value.weight"] @ torch.clamp(k, min=0) ** 2


layers = [Layer(i) for i in range(LAYERS)]
ids = common.tokens(24, VOCAB)
logits, taps = [], {}
for token in ids:
    x = norm(w["emb.weight"][token], "blocks.0.ln0")
    taps.setdefault("ln0", []).append(x)
    v_first = None
    for i, layer in enumerate(layers):
        y, v_first = layer.time_mix(norm(x, f"{layer.blk}.ln1"), v_first)
        x = x + y
        y = layer.channel_mix(norm(x, f"{layer.blk}.ln2"))
        taps.setdefault(f"layer[{i}].ffn", []).append(y)
        x = x + y
        taps.setdefault(f"layer[{i}].x", []).append(x)
    logits.append(w["head.weight"] @ norm(x, "ln_out"))
common.references["rwkv7"] = "restated, position by position"
common.record("rwkv7", inputs={"tokens": ids}, outputs={"logits": torch.stack(logits)},
              taps={name: torch.stack(values) for name, values in taps.items()})
