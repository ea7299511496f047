"""Heads of EAGLE-3 as they are published, and what they compute in double precision.

    record_eagle3.py        writes eagle3*/config.json, weights.json or model.safetensors, and values.safetensors

The formulas are those of the paper (Li et al. 2025, "EAGLE-3: scaling up inference acceleration of large language models via training-time
test") and of the options that vLLM and SGLang read.  A row has the results of three layers of the first model at a position and the token
after it; a row for a further token has the head's own vector of the row before in place of the projected results.

    eagle3_first            a Llama of six layers, for which the others draft
    eagle3                  without embeddings, with 32 of 48 tokens: trained until it drafts the text after the prompt 1 2 3
    eagle3_speculator       the form of the library speculators; norms of the joined results and of the residual
    eagle3_normed           EAGLE-3.1: a norm of each layer's results, and of the own vector; all tokens; another width, biases

Expects torch, transformers, safetensors."""

import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../oracle/families"), os.path.join(HERE, "../../import/reference")]
import common                               # from here on everything is float64
import seeded
import torch
import transformers
from safetensors.torch import load_file, save_file

VOCAB, LENGTH, OWN = 48, 14, 4              # the last OWN rows have vectors of the head
FIRST = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": VOCAB, "hidden_size": 16, "intermediate_size": 24,
         "num_hidden_layers": 6, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "max_position_embeddings": 64,
         "rms_norm_eps": 1e-5, "rope_theta": 100.0, "tie_word_embeddings": False, "eos_token_id": 47}
LAYER = {"vocab_size": VOCAB, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "hidden_act": "silu"}
SCALED = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
HEADS = {
    "eagle3": dict(LAYER, architectures=["LlamaForCausalLMEagle3"], model_type="llama", draft_vocab_size=32, tie_word_embeddings=False,
                   rope_theta=100.0, pad_token_id=0, sliding_window=None, use_sliding_window=False),
    "eagle3_speculator": {
        "architectures": ["Eagle3DraftModel"], "speculators_model_type": "eagle3", "speculators_version": "0.3.0", "draft_vocab_size": 20,
        "norm_before_residual": True, "norm_before_fc": True, "target_hidden_size": None, "eagle_aux_hidden_state_layer_ids": [1, 4, 6],
        "tie_word_embeddings": False, "speculators_config": {"algorithm": "eagle3"},
        "transformer_layer_config": dict(LAYER, model_type="llama", rope_theta=100.0, rope_scaling=SCALED)},
    "eagle3_normed": dict(LAYER, architectures=["Eagle3LlamaForCausalLM"], model_type="llama", hidden_size=12, target_hidden_size=16, fc_norm=True,
                          norm_output=True, attention_bias=True, tie_word_embeddings=False, rope_theta=1000.0,
                          eagle_config={"eagle_aux_hidden_state_layer_ids": [1, 2, 4], "use_aux_hidden_state": True}),
}


def layer_of(settings):
    return settings.get("transformer_layer_config", settings)


def tensors_of(name):
    """The rows of weights.json of a head."""
    s, layer = HEADS[name], layer_of(HEADS[name])
    d, h, q = layer["hidden_size"], layer["num_attention_heads"] * layer["head_dim"], layer["num_key_value_heads"] * layer["head_dim"]
    first, tokens, stem = s.get("target_hidden_size") or d, s.get("draft_vocab_size", VOCAB), "layers.0." if name == "eagle3_speculator" else "midlayer."
    rows = {"fc.weight": [d, 3 * first], stem + "self_attn.q_proj.weight": [h, 2 * d], stem + "self_attn.k_proj.weight": [q, 2 * d],
            stem + "self_attn.v_proj.weight": [q, 2 * d], stem + "self_attn.o_proj.weight": [d, h], stem + "mlp.up_proj.weight": [layer["intermediate_size"], d],
            stem + "mlp.gate_proj.weight": [layer["intermediate_size"], d], stem + "mlp.down_proj.weight": [d, layer["intermediate_size"]],
            "lm_head.weight": [tokens, d]}
    gains = {stem + "hidden_norm.weight": d, stem + "input_layernorm.weight": d, stem + "post_attention_layernorm.weight": d, "norm.weight": d}
    biases = {}
    if s.get("norm_before_fc"):
        gains["input_norm.weight"] = 3 * first
    if s.get("fc_norm"):
        gains |= {"fc_norm.%d.weight" % i: first for i in range(3)}
    if s.get("attention_bias"):
        biases = {stem + "self_attn.%s_proj.bias" % part: n for part, n in (("q", h), ("k", q), ("v", q), ("o", d))}
    if name != "eagle3":
        rows["embed_tokens.weight"] = [VOCAB, d]
    out = {n: {"shape": shape} for n, shape in rows.items()}
    out |= {n: {"shape": [k], "start": 1.0} for n, k in gains.items()} | {n: {"shape": [k], "start": 0.0} for n, k in biases.items()}
    if tokens < VOCAB:
        kept = sorted(torch.randperm(VOCAB, generator=torch.Generator().manual_seed(len(name)))[:tokens].tolist())
        out["d2t"] = {"shape": [tokens], "dtype": "I64", "values": [t - i for i, t in enumerate(kept)]}
        out["t2d"] = {"shape": [VOCAB], "dtype": "BOOL", "values": [int(t in kept) for t in range(VOCAB)]}
    return dict(sorted(out.items()))


class Head:
    """w: tensors by the names of the file, without the prefix of the layer."""

    def __init__(self, name, w, embed=None):
        self.s, self.layer = HEADS[name], layer_of(HEADS[name])
        self.w = {n.replace("midlayer.", "").replace("layers.0.", ""): t.double() for n, t in w.items()}
        self.embed = embed if embed is not None else self.w["embed_tokens.weight"]
        config = {k: v for k, v in self.layer.items() if k != "architectures"}
        self.rotary = transformers.models.llama.modeling_llama.LlamaRotaryEmbedding(transformers.LlamaConfig(**config))

    def norm(self, x, name):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.layer["rms_norm_eps"]) * self.w[name]

    def linear(self, x, name):
        y = x @ self.w[name + ".weight"].T
        return y + self.w[name + ".bias"] if name + ".bias" in self.w else y

    def projected(self, three):
        """The vectors that stand for the results of three layers."""
        if self.s.get("fc_norm"):
            three = [self.norm(x, "fc_norm.%d.weight" % i) for i, x in enumerate(three)]
        x = torch.cat(three, -1)
        return self.linear(self.norm(x, "input_norm.weight") if self.s.get("norm_before_fc") else x, "fc")

    def __call__(self, tokens, x):
        """Logits and own vectors of all rows: tokens [n], vectors [n, d]."""
        n, heads, size = len(tokens), self.layer["num_attention_heads"], self.layer["head_dim"]
        h = self.norm(x, "hidden_norm.weight")
        both = torch.cat([self.norm(self.embed[tokens], "input_layernorm.weight"), h], -1)
        q, k, v = (self.linear(both, "self_attn.%s_proj" % part).view(n, -1, size).transpose(0, 1) for part in "qkv")
        cos, sin = self.rotary(x[None], torch.arange(n)[None])
        q, k = transformers.models.llama.modeling_llama.apply_rotary_pos_emb(q[None], k[None], cos.double(), sin.double())
        k, v = (y.repeat_interleave(heads // y.shape[0], 0) for y in (k[0], v))
        scores = q[0] @ k.transpose(1, 2) * size ** -0.5 + torch.full((n, n), float("-inf")).triu(1)
        x = (h if self.s.get("norm_before_residual") else x) + self.linear((scores.softmax(-1) @ v).transpose(0, 1).reshape(n, -1), "self_attn.o_proj")
        h = self.norm(x, "post_attention_layernorm.weight")
        x = x + self.linear(torch.nn.functional.silu(self.linear(h, "mlp.gate_proj")) * self.linear(h, "mlp.up_proj"), "mlp.down_proj")
        y = self.norm(x, "norm.weight")
        return self.linear(y, "lm_head"), y if self.s.get("norm_output") else x


def write(name, settings, rows=None, tensors=None):
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(settings, file, indent=1)
        file.write("\n")
    if tensors:
        save(tensors, os.path.join(folder, "model.safetensors"))
        return tensors
    seeded.save(folder, rows)
    seeded.remade(folder)
    path = os.path.join(folder, "model.safetensors")
    with torch._C.DisableTorchFunction():
        tensors = load_file(path)
    os.remove(path)
    return tensors


def save(tensors, path):
    with torch._C.DisableTorchFunction():
        save_file({n: t.detach().contiguous() for n, t in sorted(tensors.items())}, path, metadata={"format": "pt"})


def first_model():
    config = transformers.LlamaConfig(**{k: v for k, v in FIRST.items() if k != "architectures"}, attn_implementation="eager")
    work = tempfile.mkdtemp()
    torch.manual_seed(0)
    with torch._C.DisableTorchFunction():
        transformers.LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(work)
    tensors = write("eagle3_first", FIRST, seeded.described(os.path.join(work, "model.safetensors")))
    save(tensors, os.path.join(work, "model.safetensors"))
    return common.opened(work, transformers.LlamaForCausalLM)


@torch.no_grad()
def continued(model, tokens, n):
    """The most likely text, and the results of its layers 1, 2 and 2: of six, before those with the numbers 2, 6 / 2 and 6 - 3."""
    for _ in range(n):
        tokens = torch.cat([tokens, model(tokens[None]).logits[0, -1].argmax()[None]])
    hidden = model(tokens[None], output_hidden_states=True).hidden_states
    return tokens, [hidden[i][0] for i in (2, 3, 3)]


def trained(model, steps=1500):
    """A head that drafts the text after 1 2 3, also by further tokens."""
    rows, tokens, three = tensors_of("eagle3"), *continued(model, torch.tensor([1, 2, 3]), 44)
    kept = sorted(set(tokens.tolist()) | set(range(VOCAB)), key=lambda t: (t not in tokens.tolist(), -t))[:32]
    kept.sort()
    rows["d2t"]["values"] = [t - i for i, t in enumerate(kept)]
    rows["t2d"]["values"] = [int(t in kept) for t in range(VOCAB)]
    at = {t: i for i, t in enumerate(kept)}
    integers = {n: torch.tensor(rows.pop(n)["values"], dtype=kind) for n, kind in (("d2t", torch.int64), ("t2d", torch.bool))}
    generator = torch.Generator().manual_seed(3)
    w = {n: (torch.ones(r["shape"]) if len(r["shape"]) == 1 else torch.randn(r["shape"], generator=generator) * r["shape"][1] ** -0.5).requires_grad_()
         for n, r in rows.items()}
    optimiser = torch.optim.Adam(w.values(), lr=1e-2)
    target = torch.tensor([at[t] for t in tokens.tolist()[2:]])
    embed = model.model.embed_tokens.weight.detach()
    n = len(tokens)
    for step in range(steps):
        head = Head("eagle3", w, embed)
        x, loss = head.projected([y[:n - 1].detach() for y in three]), 0
        logits, own = head(tokens[1:], x)
        loss = torch.nn.functional.cross_entropy(logits[:-1], target)
        # after i rows of the first model, three rows with own vectors
        for i in torch.randint(3, n - 5, (4,), generator=generator).tolist():
            rows_of = x[:i]
            for k in range(3):
                logits, own = head(tokens[1:1 + len(rows_of)], rows_of)
                rows_of = torch.cat([rows_of, own[-1:]])
                loss = loss + torch.nn.functional.cross_entropy(logits[-1:], target[len(rows_of) - 2][None]) / 8
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        for group in optimiser.param_groups:
            group["lr"] = 1e-2 * (1 - step / steps)
    print("loss %.4f, text %s" % (loss.item(), tokens.tolist()))
    with torch._C.DisableTorchFunction():
        return {n: t.detach().float() for n, t in w.items()} | integers


@torch.no_grad()
def record(name, tensors, embed):
    head = Head(name, tensors, embed)
    first, d = HEADS[name].get("target_hidden_size") or head.layer["hidden_size"], head.layer["hidden_size"]
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(0, VOCAB, (LENGTH,), generator=generator)
    three = [torch.randint(-2000, 2000, (LENGTH, first), generator=generator).double() / 1024 for _ in range(3)]
    own = torch.zeros(LENGTH, d)
    x = head.projected([y[:LENGTH - OWN] for y in three])
    for i in range(LENGTH - OWN, LENGTH):
        own[i] = (head(tokens[:i], x)[1][-1] * 4096).round() / 4096      # an exact float
        x = torch.cat([x, own[i][None]])
    for y in three:
        y[LENGTH - OWN:] = 0
    logits, vector = head(tokens, x)
    values = {"tokens": tokens, "low": three[0], "middle": three[1], "high": three[2], "own": own, "logits": logits, "next_own": vector}
    if "d2t" in tensors:
        values["vocabulary"] = (tensors["d2t"] + torch.arange(len(tensors["d2t"]))).double()
    save(values, os.path.join(HERE, name, "values.safetensors"))


if __name__ == "__main__":
    model = first_model()
    embed = model.model.embed_tokens.weight.detach()
    for name in HEADS:
        tensors = trained(model) if name == "eagle3" else None
        record(name, write(name, HEADS[name], tensors_of(name), tensors), embed if name == "eagle3" else None)
        print(name, flush=True)
