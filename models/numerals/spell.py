"""Numbers from 0 to 999,999,999 in words and in digits, for the model `numerals`, and its tokenizer.

Standard library alone.  `python3 spell.py 305` writes a number in words; `python3 spell.py --tokenizer` writes
tokenizer.json.
"""

import json
import random
import sys

LARGEST_DIGITS = 9
BELOW_TWENTY = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
                "seventeen eighteen nineteen").split()
TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
GROUPS = [(10 ** 6, "million"), (1000, "thousand"), (1, "")]


def below_hundred(n):
    if n < 20:
        return BELOW_TWENTY[n]
    return TENS[n // 10] + ("-" + BELOW_TWENTY[n % 10] if n % 10 else "")


def below_thousand(n):
    if n < 100:
        return below_hundred(n)
    rest = " and " + below_hundred(n % 100) if n % 100 else ""
    return BELOW_TWENTY[n // 100] + " hundred" + rest


def in_words(n):
    """305 -> three hundred and five"""
    if n == 0:
        return "zero"
    parts = []
    for size, name in GROUPS:
        group = n // size % 1000
        if group:
            joint = "and " if size == 1 and group < 100 and n > group else ""
            parts.append(joint + below_thousand(group) + (" " + name if name else ""))
    return " ".join(parts)


def held_out(n):
    """Whether training never sees n: one of sixteen numbers from 100 up."""
    return n >= 100 and n * 2654435761 % 2 ** 32 // 65536 % 16 == 0


def draw(rng, kept_apart):
    """A number of 1 to 9 digits, of those that training sees or of the others; many have zeros."""
    while True:
        digits = rng.randint(3 if kept_apart else 1, LARGEST_DIGITS)
        zeros = rng.choice([0.1, 0.1, 0.6])
        n = rng.randint(1, 9)
        for _ in range(digits - 1):
            n = 10 * n + (0 if rng.random() < zeros else rng.randint(1, 9))
        if digits == 1 and rng.random() < 0.1:
            n = 0
        if held_out(n) == kept_apart:
            return n


def pair(rng, kept_apart):
    """What is read, and what is to be written: digits and words, or words and digits."""
    n = draw(rng, kept_apart)
    return (str(n), in_words(n)) if rng.random() < 0.5 else (in_words(n), str(n))


# ---- the tokenizer: a token for each word, each digit, each "-one" ----

SPACE = "\u2581"
UNKNOWN, START, END = 0, 1, 2
WORDS = BELOW_TWENTY + TENS[2:] + ["hundred", "thousand", "million", "and"]
TOKENS = (["<unk>", "<s>", "</s>", SPACE] + list("0123456789") + [SPACE + w for w in WORDS] +
          ["-" + w for w in BELOW_TWENTY[1:10]])
IDS = {token: i for i, token in enumerate(TOKENS)}


def encode(text):
    """The ids that the tokenizer makes of a text that this file wrote."""
    if text.isdigit():
        return [IDS[SPACE]] + [IDS[c] for c in text]
    ids = []
    for word in text.split():
        ten, dash, one = word.partition("-")
        ids += [IDS[SPACE + ten]] + ([IDS["-" + one]] if dash else [])
    return ids


def decode(ids):
    return "".join(TOKENS[i] for i in ids if i > END).replace(SPACE, " ").removeprefix(" ")


def tokenizer():
    special = [{"id": i, "content": TOKENS[i], "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True} for i in (UNKNOWN, START, END)]
    space = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "first", "split": True}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            space,
            {"type": "Split", "pattern": {"String": "-"}, "behavior": "MergedWithNext", "invert": False},
            {"type": "Digits", "individual_digits": True}]},
        "post_processor": None, "decoder": space,
        "model": {"type": "WordLevel", "vocab": IDS, "unk_token": "<unk>"},
    }


if __name__ == "__main__":
    if sys.argv[1:] == ["--tokenizer"]:
        json.dump(tokenizer(), sys.stdout, indent=1)
        print()
    elif len(sys.argv) > 1:
        print(in_words(int(sys.argv[1])))
    else:
        rng = random.Random(1)
        for _ in range(10):
            print("%s -> %s" % pair(rng, False))
