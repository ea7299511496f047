"""Writes tests/formats/samplers.cases: what the samplers of transformers leave of logits, and what is drawn of that.
V/bin/python tests/oracle/samplers.py, V as in families/common.py.  tests/formats/sampled.c makes the same logits and compares.

Every line is for itself: words, each with its values.

    kind vocab seed                     of the logits, which come from a hash (logits() below, exact in float32)
    temperature k p min typical         the samplers; repetition presence frequency, the penalties
    prompt N TOKEN... made N TOKEN...   the text so far
    suppress N TOKEN...                 a text: tokens that are never chosen
    kept N TOKEN PROBABILITY...         a set: what is left of one row of logits
    other N TOKEN PROBABILITY...        the same in double precision, where that is another set
    drawn TOKEN...                      for the generator's states state, state + 1, ...; -1: too near to a border to say
    tokens TOKEN...                     a text: each token is in the history of the next

The processors are called in the order of generate() of transformers 5 (_get_logits_processor), on logits in float32.  Presence and
frequency penalties are not of transformers: they are those of OpenAI's API, logit - times * frequency - (times > 0) * presence, with
times how often a token was made, the prompt aside; they come behind the repetition penalty.  Then:

    Sets are those of float32.  Where the warpers in double precision, on the same penalised logits, leave other tokens, a cut lies
    within a rounding of float32; these are recorded too, and either is right.
    Probabilities are worked out in double precision.  What is less than e^-87 times as likely as the likeliest token is left out.
    top-p of transformers cuts between equal logits by torch.sort, which promises no order of them.  Here those of lower number stay.
    Drawn is in the order that runtime/sampler.h says, by the generator there: torch.multinomial is a generator of its own.
"""

import math
import pathlib

import torch
from transformers.generation import logits_process as warpers

MASK = (1 << 64) - 1
SIZES = [5, 17, 64, 100, 300]
KINDS = ["normal", "ties", "holes", "large", "small", "one", "high", "equal", "two"]
DRAWS, STEPS, MARGIN, LEAST = 8, 64, 1e-5, math.exp(-87)
PENALTIES = ["repetition", "presence", "frequency"]
NAMES = ["temperature", "k", "p", "min", "typical", *PENALTIES]
OFF = dict(temperature=1.0, k=0, p=1.0, min=0.0, typical=1.0, repetition=1.0, presence=0.0, frequency=0.0)
SETS = [dict(temperature=0.7), dict(temperature=1.5), dict(k=1), dict(k=5), dict(k=40), dict(temperature=0.3, k=12),
        dict(p=0.0), dict(p=0.1), dict(p=0.5), dict(p=0.9), dict(temperature=2.0, p=0.75),
        dict(min=0.05), dict(min=0.3), dict(temperature=0.6, min=1.0),
        dict(typical=0.2), dict(typical=0.5), dict(temperature=1.3, typical=0.9),
        dict(temperature=0.8, k=40, p=0.95), dict(temperature=0.7, k=20, p=0.9, min=0.05),
        dict(temperature=1.2, k=50, p=0.95, min=0.02, typical=0.9), dict(k=10, typical=0.5), dict(p=0.9, typical=0.8),
        dict(min=0.1, typical=0.7),
        dict(repetition=1.3, k=8), dict(repetition=0.8, p=0.6), dict(presence=0.5, frequency=0.3, p=0.7),
        dict(temperature=0.9, repetition=1.1, presence=-0.5, frequency=0.125, k=12, min=0.1)]
TEXTS = [dict(), dict(repetition=1.3), dict(presence=0.6, frequency=0.2), dict(repetition=1.15, presence=-0.25, frequency=0.5),
         dict(temperature=0.8), dict(temperature=1.0, k=5), dict(temperature=1.1, p=0.8), dict(temperature=0.7, min=0.1),
         dict(temperature=1.0, typical=0.6), dict(temperature=0.8, k=40, p=0.9, repetition=1.2),
         dict(temperature=1.2, k=30, p=0.95, min=0.02, typical=0.9, repetition=1.1, presence=0.3, frequency=0.1)]
SUPPRESSED = [dict(), dict(repetition=1.2, frequency=0.25), dict(temperature=0.9, k=6, repetition=1.1)]


def mixed(z):
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & MASK
    z = (z ^ z >> 27) * 0x94d049bb133111eb & MASK
    return z ^ z >> 31


def hashed(seed, stream, i):
    return mixed(seed * 0x9e3779b97f4a7c15 + stream * 0xd1342543de82ef95 + i * 0xaf251af3b0f025b5 & MASK)


def bell(seed, stream, i):
    """A whole number within 2^17 of 0, like a normal one"""
    h = hashed(seed, stream, i)
    return sum(h >> shift & 0xffff for shift in (0, 16, 32, 48)) - 131070


def logits(kind, seed, vocab, stream):
    """Stream 0, or of a step of a text: then a fourth of the logits' spread is of that step."""
    values = []
    for i in range(vocab):
        s = bell(seed, 0, i) + (bell(seed, stream, i) + 131072 >> 2 if stream else 0)
        value = {"ties": lambda: float((s + 131072 >> 14) - 8),
                 "holes": lambda: -math.inf if hashed(seed, 1, i) % 4 == 0 else s * 2.0 ** -14,
                 "large": lambda: s * 2.0 ** -7, "small": lambda: s * 2.0 ** -24,
                 "one": lambda: s * 2.0 ** -14 + (25 if i == seed % vocab else 0),
                 "high": lambda: s * 2.0 ** -14 + 900, "equal": lambda: 0.0,
                 "two": lambda: 2.0 if hashed(seed, 1, i) % 8 == 0 else 0.0}.get(kind, lambda: s * 2.0 ** -14)()
        values.append(value)
    found = torch.tensor([values], dtype=torch.float32)
    assert found.double()[0].tolist() == values
    return found


def single(x):
    return torch.tensor(x, dtype=torch.float32).item()


def penalised(x, s, prompt, made, suppress=()):
    if suppress:
        x = warpers.SuppressTokensLogitsProcessor(list(suppress))(None, x)
    if s["repetition"] != 1:
        x = warpers.RepetitionPenaltyLogitsProcessor(single(s["repetition"]))(torch.tensor([prompt + made]), x)
    if s["presence"] or s["frequency"]:
        times = torch.bincount(torch.tensor(made, dtype=torch.long), minlength=x.shape[1]).double()
        x = (x.double() - (times * single(s["frequency"]) + (times > 0) * single(s["presence"]))).float()
    return x


def warped(x, s):
    if s["temperature"] != 1:
        x = warpers.TemperatureLogitsWarper(single(s["temperature"]))(None, x)
    if s["k"]:
        x = warpers.TopKLogitsWarper(s["k"])(None, x)
    if s["p"] < 1:
        x = warpers.TopPLogitsWarper(single(s["p"]))(None, x)
    if s["min"]:
        x = warpers.MinPLogitsWarper(single(s["min"]))(None, x)
    if s["typical"] < 1:
        x = warpers.TypicalLogitsWarper(single(s["typical"]))(None, x)
    return x


def stay(x, s, exact):
    """The tokens that the warpers leave of x; of equal ones those of lower number."""
    found = warped(x.double() if exact else x, s)[0] > -math.inf
    value, kept = x[0].tolist(), found.nonzero()[:, 0].tolist()
    left = []
    for v in set(value[i] for i in kept):
        alike = [i for i in range(len(value)) if value[i] == v]
        chosen = [i for i in kept if value[i] == v]
        assert s["p"] < 1 or len(chosen) == len(alike), "a cut between equal ones without top-p"
        left += alike[:len(chosen)]
    most = max(value[i] for i in left)
    return sorted(i for i in left if (value[i] - most) / single(s["temperature"]) > -87)


def probabilities(x, s, kept):
    p = torch.softmax(x.double()[0, kept] / single(s["temperature"]), 0)
    return dict(zip(kept, p.tolist()))


def in_order(x, s, p):
    """The tokens of p in the order of the draw, and whether rounding leaves no doubt about it."""
    value = x.double()[0].tolist()
    if s["typical"] == 1:
        limited = 0 < s["k"] < len(value) or s["p"] < 1
        return sorted(p, key=lambda i: (-value[i], i) if limited else i), True
    before = stay(x, {**s, "typical": 1.0}, False)
    all_of = probabilities(x, s, before)
    mean = sum(q * math.log(q) for q in all_of.values() if q > 0)
    z = {i: value[i] / single(s["temperature"]) for i in p}
    mean += value[before[0]] / single(s["temperature"]) - math.log(all_of[before[0]])
    order = sorted(p, key=lambda i: (abs(z[i] - mean), i))
    near = [abs(z[a] - mean) - abs(z[b] - mean) for a, b in zip(order, order[1:]) if value[a] != value[b]]
    return order, all(gap < -1e-5 for gap in near)


def uniform(state):
    return (mixed(state + 0x9e3779b97f4a7c15 & MASK) >> 40) * 2.0 ** -24


def draw(order, p, u):
    """The token drawn; -1 where u is near to a border."""
    passed = 0.0
    for i in order:
        passed += p[i]
        if abs(passed - u) < MARGIN and i != order[-1]:
            return -1
        if passed > u:
            return i
    return order[-1]


def history(seed, vocab, stream, n):
    return [hashed(seed, stream, i) % vocab for i in range(n)]


def head(word, kind, vocab, seed, s, prompt, made):
    def listed(tokens):
        return " ".join(str(t) for t in [len(tokens), *tokens])
    return f"{word} {kind} {vocab} {seed} " + " ".join(f"{s[n]:g}" for n in NAMES) + f" prompt {listed(prompt)} made {listed(made)}"


def set_line(kind, vocab, seed, given):
    s = {**OFF, **given}
    penalties = any(n in given for n in PENALTIES)
    prompt, made = (history(seed, vocab, stream, n) if penalties else [] for stream, n in ((2, 6), (3, 10)))
    x = penalised(logits(kind, seed, vocab, 0), s, prompt, made)
    kept, exact = stay(x, s, False), stay(x, s, True)
    line = head("set", kind, vocab, seed, s, prompt, made)
    for word, tokens in (("kept", kept), ("other", exact if exact != kept else [])):
        p = probabilities(x, s, tokens) if tokens else {}
        line += f" {word} {len(tokens)}" + "".join(f" {i} {p[i]:.9g}" for i in tokens)
    order, clear = in_order(x, s, probabilities(x, s, kept))
    clear = clear and exact == kept
    p = probabilities(x, s, kept)
    return line + " drawn " + " ".join(str(draw(order, p, uniform(seed + j)) if clear else -1) for j in range(DRAWS))


def text_line(kind, vocab, seed, given, suppressed):
    """A text of STEPS tokens; None: somewhere it hangs by a rounding."""
    greedy = "temperature" not in given
    s = {**OFF, **given}
    prompt, made, state = history(seed, vocab, 2, 6), [], seed
    suppress = history(seed, vocab, 3, suppressed)
    for step in range(STEPS):
        x = penalised(logits(kind, seed, vocab, 4 + 1000 * step + (made or prompt)[-1]), s, prompt, made, suppress)
        if greedy:
            made.append(int(torch.argmax(x[0])))
            continue
        kept = stay(x, s, False)
        p = probabilities(x, s, kept)
        order, clear = in_order(x, s, p)
        token = draw(order, p, uniform(state))
        state = state + 0x9e3779b97f4a7c15 & MASK
        if token < 0 or not clear or stay(x, s, True) != kept:
            return None
        made.append(token)
    if greedy:
        s["temperature"] = 0
    if suppress:
        assert not set(suppress) & set(made)
    return (head("text", kind, vocab, seed, s, prompt, []) + " suppress " + " ".join(map(str, [len(suppress), *suppress]))
            + " tokens " + " ".join(map(str, made)))


def main():
    lines = []
    for a, given in enumerate(SETS):
        for b, kind in enumerate(KINDS):
            lines.append(set_line(kind, SIZES[(a + b) % len(SIZES)], 100 * a + 10 * b, given))
    for vocab in [5, 12, 100]:  # cuts between equal parts, some of them just where p is
        for given in [dict(p=0.2), dict(p=0.25), dict(p=0.6), dict(p=0.8), dict(typical=0.6), dict(k=3, p=0.5)]:
            for kind in ["equal", "two"]:
                lines.append(set_line(kind, vocab, 7 * vocab, given))
    for a, given in enumerate(TEXTS + SUPPRESSED):
        for b, kind in enumerate(["normal", "ties", "holes"]):
            vocab, seed = [17, 100, 300][(a + b) % 3], 10000 + 1000 * a + 100 * b
            line = None
            while not line:
                line = text_line(kind, vocab, seed, given, 0 if a < len(TEXTS) else vocab // 3)
                seed += 1
            lines.append(line)
    path = pathlib.Path(__file__).resolve().parents[1] / "formats" / "samplers.cases"
    path.write_text("".join(line + "\n" for line in lines))
    print(f"{path.name}: {len(lines)} lines, {sum(' other 0 ' not in x for x in lines if x.startswith('set'))} sets of two readings")


main()
