#!/usr/bin/env python3
"""Texts that masked diffusion models make, by the algorithms of their publishers, written to expected.json.

    tests/unmask/record.py            (wants torch and transformers)

The model is a small Llama of transformers in double precision, whose tokens read each other in both directions, or in blocks; weights.py of
tests/sentences makes its weights. The algorithms are restated here, in torch, one function for each publication. Three differences are stated where
they are: the mask is never predicted; equal values come in the order of the text; random numbers are those of lathe's generator."""
import json
import os
import sys
import tempfile

import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../sentences")
import weights  # noqa: E402

SCALE = 0.7
MASK, STOP, VOCAB, CONTEXT = 47, 3, 48, 96
SIZES = dict(vocab_size=VOCAB, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=40,
             max_position_embeddings=CONTEXT, tie_word_embeddings=False, rms_norm_eps=1e-6)
PROMPTS = [[5, 9, 21], [1, 2, 30, 31, 32, 7, 8], [40, 41, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22]]


class Random:
    """splitmix64, as doubles in (0, 1)."""

    def __init__(self, seed):
        self.state = seed

    def draw(self):
        keep = (1 << 64) - 1
        z = self.state = (self.state + 0x9e3779b97f4a7c15) & keep
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & keep
        z = (z ^ z >> 27) * 0x94d049bb133111eb & keep
        return (float((z ^ z >> 31) >> 11) + 0.5) * 2.0 ** -53


def logits_of(model, tokens, block=0):
    """[n, vocab]; block: of a mask that is causal between blocks; 0: none."""
    at = torch.arange(len(tokens))
    seen = at[None, :] // block <= at[:, None] // block if block else torch.ones(len(tokens), len(tokens), dtype=torch.bool)
    bias = torch.zeros(seen.shape, dtype=torch.float64).masked_fill(~seen, -torch.inf)
    return model(torch.tensor([tokens]), attention_mask=bias[None, None]).logits[0]


def predicted(row):
    """The likeliest token other than the mask, which is the last one."""
    return int(row[:MASK].argmax())


def first_of(sure, places, number):
    return sorted(places, key=lambda i: (-sure[i], i))[:number]


def shares(masks, steps):
    return [masks // steps + (i < masks % steps) for i in range(steps)]


def llada(model, prompt, length, block, steps, remasking="low_confidence", guidance=0.0, seed=1):
    """Nie et al. 2025: blocks of the answer, the whole text in each call, masks divided evenly over steps."""
    x, random = prompt + [MASK] * length, Random(seed)
    for begin in range(len(prompt), len(x), block):
        end = begin + block
        for number in shares(sum(t == MASK for t in x[begin:end]), steps):
            if number == 0:
                continue
            logits = logits_of(model, x)
            if guidance:
                without = logits_of(model, [MASK] * len(prompt) + x[len(prompt):])
                logits = without + (guidance + 1) * (logits - without)
            p = logits.softmax(-1)
            places = [i for i in range(begin, end) if x[i] == MASK]
            token = {i: predicted(logits[i]) for i in places}
            sure = {i: float(p[i, token[i]]) if remasking == "low_confidence" else random.draw() for i in places}
            for i in first_of(sure, places, number):
                x[i] = token[i]
    return x


def dream(model, prompt, length, steps, alg="entropy", eps=1e-3, seed=1):
    """Ye et al. 2025: one block, times of a schedule; the logits of a token are those of the one before it."""
    x, random = prompt + [MASK] * length, Random(seed)
    times = torch.linspace(1, eps, steps + 1)
    for step in range(steps):
        logits = logits_of(model, x)
        logits = torch.cat([logits[:1], logits[:-1]])
        places = [i for i in range(len(x)) if x[i] == MASK]
        if not places:
            break
        t, s = times[step], times[step + 1]
        if alg == "origin":
            chance = 1 - s / t if step < steps - 1 else 1
            taken = [i for i in places if random.draw() < float(chance)]
        else:
            masks = torch.tensor(len(places)) / 1
            number = int(masks * (1 - s / t)) if step < steps - 1 else int(masks)
            p = logits.softmax(-1)
            top = p.sort(-1, descending=True).values
            sure = {"maskgit_plus": top[:, 0], "topk_margin": top[:, 0] - top[:, 1], "entropy": (p * (p + 1e-10).log()).sum(-1)}[alg]
            taken = first_of({i: float(sure[i]) for i in places}, places, number)
        for i in taken:
            x[i] = predicted(logits[i])
    return x


def sdar(model, prompt, length, block, steps, strategy, threshold=0.0, stop=None):
    """Cheng et al. 2025 (SDAR), and LLaDA 2 with a threshold: blocks of the text, which ends with the current block. A step never takes more
    places than there are masks."""
    total = (len(prompt) + length + block - 1) // block * block
    x = prompt + [MASK] * (total - len(prompt))
    for begin in range(len(prompt) // block * block, total, block):
        end = begin + block
        for number in shares(block, steps):
            places = [i for i in range(begin, end) if x[i] == MASK]
            if not places:
                break
            logits = logits_of(model, x[:end], block)
            p = logits.softmax(-1)
            token = {i: predicted(logits[i]) for i in places}
            sure = {i: float(p[i, token[i]]) for i in places}
            taken = places[:number] if strategy == "sequential" else first_of(sure, places, number)
            high = [i for i in places if sure[i] > threshold]
            if strategy == "low_confidence_dynamic" and len(high) >= number:
                taken = high
            for i in taken:
                x[i] = token[i]
        if stop is not None and stop in x[len(prompt):end]:
            break
    return x[:len(prompt) + length]


def fast_dllm(model, prompt, length, block, small, threshold, stop=None):
    """Wu et al. 2025 (Fast-dLLM v2): blocks in small blocks; the first token of a block follows from the completed ones, and the logits of a
    token are those of the one before it."""
    total = (len(prompt) + length + block - 1) // block * block
    x = prompt + [MASK] * (total - len(prompt))
    for begin in range(len(prompt) // block * block, total, block):
        end = begin + block
        if x[begin] == MASK:
            x[begin] = predicted(logits_of(model, x[:begin], block)[-1])
        for at in range(begin, end, small):
            while MASK in x[at:at + small]:
                logits = logits_of(model, x[:end], block)
                logits = torch.cat([logits[:1], logits[:-1]])
                p = logits.softmax(-1)
                places = [i for i in range(at, at + small) if x[i] == MASK]
                token = {i: predicted(logits[i]) for i in places}
                sure = {i: float(p[i, token[i]]) for i in places}
                for i in set([i for i in places if sure[i] > threshold] + first_of(sure, places, 1)):
                    x[i] = token[i]
        if stop is not None and stop in x[len(prompt):end]:
            break
    return x[:len(prompt) + length]


# the function, its arguments, and the model of tests/unmask/run with its loop's settings and options
CASES = [
    (llada, dict(length=16, block=16, steps=16), "whole", "", "-n 16"),
    (llada, dict(length=16, block=8, steps=8), "whole", "block_length 8", "-n 16"),
    (llada, dict(length=18, block=6, steps=4), "whole", "length 18  block_length 6  steps 4", ""),
    (llada, dict(length=12, block=4, steps=1), "whole", "", "-n 12 --block-length 4 --steps 1"),
    (llada, dict(length=8, block=4, steps=7), "whole", "block_length 8", "-n 8 --block-length 4 --steps 7"),
    (llada, dict(length=14, block=7, steps=3, guidance=1.5), "whole", "block_length 7  steps 3  guidance 1.5", "-n 14"),
    (llada, dict(length=12, block=12, steps=5, remasking="random"), "whole", 'surest "random"', "-n 12 --steps 5"),
    (llada, dict(length=12, block=6, steps=6, remasking="random", seed=7), "whole", 'surest "random"  block_length 6', "-n 12 --seed 7"),
    *[(dream, dict(length=n, steps=steps, alg=alg), "shifted", f'surest "{ours}"  pace "times"', f"-n {n} --steps {steps}")
      for alg, ours in (("maskgit_plus", "probability"), ("topk_margin", "margin"), ("entropy", "entropy")) for n, steps in ((16, 16), (20, 7), (9, 30))],
    (dream, dict(length=16, steps=4, alg="entropy", eps=0.1), "shifted", 'surest "entropy"  pace "times"  last_time 0.1', "-n 16 --steps 4"),
    (dream, dict(length=16, steps=6, alg="origin"), "shifted", 'pace "chance"', "-n 16 --steps 6"),
    (dream, dict(length=16, steps=6, alg="origin", seed=9), "shifted", 'pace "chance"', "-n 16 --steps 6 --seed 9"),
    (sdar, dict(length=16, block=4, steps=4, strategy="low_confidence_static"), "blocks4", "whole false  block_length 4", "-n 16"),
    (sdar, dict(length=15, block=4, steps=3, strategy="low_confidence_static"), "blocks4", "whole false  block_length 4  steps 3", "-n 15"),
    (sdar, dict(length=16, block=8, steps=3, strategy="low_confidence_static"), "blocks8", "whole false  block_length 8", "-n 16 --steps 3"),
    (sdar, dict(length=16, block=4, steps=2, strategy="sequential"), "blocks4", 'whole false  block_length 4  steps 2  surest "first"', "-n 16"),
    (sdar, dict(length=20, block=4, steps=4, strategy="low_confidence_dynamic", threshold=0.3), "blocks4", "whole false  block_length 4  threshold 0.3", "-n 20"),
    (sdar, dict(length=24, block=8, steps=8, strategy="low_confidence_dynamic", threshold=0.5), "blocks8", "whole false  block_length 8", "-n 24 --threshold 0.5"),
    (sdar, dict(length=24, block=8, steps=4, strategy="low_confidence_dynamic", threshold=0.6), "blocks8", "whole false  block_length 8  steps 4  threshold 0.6", "-n 24"),
    (sdar, dict(length=40, block=8, steps=8, strategy="low_confidence_dynamic", threshold=0.4, stop=STOP), "blocks8", "whole false  block_length 8  threshold 0.4", "-n 40"),
    (fast_dllm, dict(length=16, block=8, small=4, threshold=0.5), "shifted8", "whole false  block_length 8  part_length 4  first_at_once true  threshold 0.5", "-n 16"),
    (fast_dllm, dict(length=24, block=8, small=2, threshold=0.9), "shifted8", "whole false  block_length 8  part_length 2  first_at_once true", "-n 24 --threshold 0.9"),
    (fast_dllm, dict(length=32, block=8, small=8, threshold=0.2, stop=STOP), "shifted8", "whole false  block_length 8  first_at_once true  threshold 0.2", "-n 32"),
]


def main():
    torch.set_default_dtype(torch.float32)
    with tempfile.TemporaryDirectory() as folder:
        config = transformers.LlamaConfig(**SIZES, attn_implementation="eager")
        transformers.LlamaForCausalLM(config).save_pretrained(folder)
        shapes = weights.shapes(f"{folder}/model.safetensors")
        weights.write(f"{folder}/model.safetensors", shapes, SCALE)
        model = transformers.LlamaForCausalLM.from_pretrained(folder, attn_implementation="eager").double().eval()
        cases = []
        with torch.no_grad():
            for function, arguments, base, settings, options in CASES:
                for prompt in PROMPTS:
                    answer = function(model, list(prompt), **arguments)[len(prompt):]
                    answer = answer[:answer.index(STOP)] if STOP in answer else answer
                    cases.append({"by": function.__name__, "arguments": arguments, "model": base, "settings": settings, "options": options.split(),
                                  "prompt": prompt, "answer": answer})
    versions = {m.__name__: m.__version__ for m in (transformers, torch)}
    made = {"versions": versions, "scale": SCALE, "mask": MASK, "stop": STOP, "sizes": SIZES, "tensors": shapes, "cases": cases}
    with open(f"{HERE}/expected.json", "w", encoding="utf-8") as f:
        json.dump(made, f, separators=(",", ":"))
        f.write("\n")


main()
