"""Sums of two numbers of up to five digits, for the model `adder`, and its tokenizer.

Sums are easy from their last digit and hard from their first, which may hang on a carry from the other end.  So
the model writes a sum twice: backwards, in tokens of its own, and then forwards.  The backward digits are
control tokens, which are not shown as text: of `123+4567=` one sees 4690, and the tokens are <0> <9> <6> <4> 4 6 9 0.

Standard library alone.  `python3 sums.py` writes tokenizer.json's text.
"""

import json

DIGITS = 5
UNKNOWN, START, END = 0, 1, 2
TOKENS = ["<unk>", "<s>", "</s>"] + ["<%d>" % d for d in range(10)] + list("0123456789+=")
IDS = {token: i for i, token in enumerate(TOKENS)}
CONTEXT = 32        # 11 of `99999+99999`, `=`, twice 6 digits and </s> are 25


def held_out(a, b):
    """Whether training never sees a + b: one of sixteen sums with four digits or more in all."""
    return a * b >= 1000 and (a * 1000003 + b) * 2654435761 % 2 ** 32 // 65536 % 16 == 0


def number(rng):
    """Of 1 to 5 digits, each length as often as the others."""
    digits = rng.randint(1, DIGITS)
    return rng.randint(0 if digits == 1 else 10 ** (digits - 1), 10 ** digits - 1)


def draw(rng, kept_apart):
    """Two numbers, of those that training sees or of the others.  One sum in eight has carries all along."""
    while True:
        a, b = number(rng), number(rng)
        if rng.random() < 0.125:
            b = 10 ** rng.randint(len(str(a)), DIGITS) - 1 - a + rng.randint(0, 9)
        if 0 <= b < 10 ** DIGITS and held_out(a, b) == kept_apart:
            return (a, b) if rng.random() < 0.5 else (b, a)


def question(a, b):
    return "%d+%d=" % (a, b)


def encode(text):
    return [IDS[c] for c in text]


def answer(total):
    """The tokens of an answer, </s> among them."""
    digits = str(total)
    return [IDS["<%s>" % d] for d in reversed(digits)] + encode(digits) + [END]


def decode(ids):
    """What is shown of tokens: no control token."""
    return "".join(TOKENS[i] for i in ids if len(TOKENS[i]) == 1)


def tokenizer():
    special = [{"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True} for i, token in enumerate(TOKENS) if len(token) > 1]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": ""},
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False},
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}]},
        "model": {"type": "WordLevel", "vocab": IDS, "unk_token": "<unk>"},
    }


if __name__ == "__main__":
    print(json.dumps(tokenizer(), indent=1))
