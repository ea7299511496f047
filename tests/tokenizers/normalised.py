"""Normal forms of Unicode: texts as lines of JSON, and the ids of their bytes, by Python's unicodedata.

    normalised.py trained/nfc.json FORM TOKENIZER TEXTS IDS

TOKENIZER is trained/nfc.json, whose tokens are bytes, with the form.
All characters of Unicode 3.2, by themselves and with marks after them; all triples of the bounds of Hangul's ranges.  (The normal form
of an assigned character doesn't change, and Hugging Face's tokenizers don't know those of Unicode 10 and later.)"""

import itertools
import json
import sys
import unicodedata

SOURCE, FORM, TOKENIZER, TEXTS, IDS = sys.argv[1:]
AT_ONCE = 64  # characters in a line
HANGUL = [0x10FF, 0x1100, 0x1112, 0x1113, 0x1160, 0x1161, 0x1175, 0x1176, 0x11A7, 0x11A8, 0x11C2, 0x11C3, 0xABFF, 0xAC00, 0xAC01, 0xAC1B, 0xAC1C, 0xD788, 0xD7A3, 0xD7A4]
MARKS = "\u0301\u0323\u0308\u0327\u0345\u093c\u3099\u0338"  # of several classes, above and below


def alphabet():
    """The characters that stand for bytes in such a vocabulary, of bytes 0 to 255."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [b for b in range(256) if b not in shown]
    return [chr(b) if b in shown else chr(256 + hidden.index(b)) for b in range(256)]


with open(SOURCE, encoding="utf-8") as f:
    tokenizer = json.load(f)
tokenizer["normalizer"], tokenizer["added_tokens"] = {"type": FORM}, tokenizer["added_tokens"][:3]
with open(TOKENIZER, "w", encoding="utf-8") as f:
    json.dump(tokenizer, f)
ids = [tokenizer["model"]["vocab"][c] for c in alphabet()]
added = [t["content"] for t in tokenizer["added_tokens"]]
known = [chr(c) for c in range(0x110000) if unicodedata.ucd_3_2_0.category(chr(c)) not in ("Cn", "Cs", "Co") and chr(c) not in added]
texts = ["a".join(known[i:i + AT_ONCE]) for i in range(0, len(known), AT_ONCE)]
composing = [c for c in known if unicodedata.decomposition(c) or unicodedata.combining(c) or c < "\u0250"]
marked = [c + a + b for c, (a, b) in zip(composing, itertools.cycle(itertools.permutations(MARKS, 2)))]
texts += [" ".join(marked[i:i + AT_ONCE]) for i in range(0, len(marked), AT_ONCE)]
hangul = ["".join(map(chr, three)) for three in itertools.product(HANGUL, repeat=3)]
texts += [" ".join(hangul[i:i + AT_ONCE]) for i in range(0, len(hangul), AT_ONCE)]
with open(TEXTS, "w", encoding="utf-8") as f, open(IDS, "w", encoding="ascii") as to:
    for text in texts:
        if any(t in text for t in added):
            continue
        f.write(json.dumps(text) + "\n")
        to.write(" ".join(str(ids[b]) for b in unicodedata.normalize(FORM, text).encode()) + "\n")
