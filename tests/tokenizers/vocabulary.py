#!/usr/bin/env python3
"""The vocabulary of a GGUF in the form that its publisher has it: of model bert a vocab.txt, of model llama a tokenizer.model.

    tests/tokenizers/vocabulary.py FILE.gguf OUTPUT
"""

import struct
import sys

SIMPLE = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TEXT, LIST, NORMAL, UNKNOWN, FIRST_ADDED = 8, 9, 1, 2, 32000


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, code):
        value = struct.unpack_from("<" + code, self.data, self.at)[0]
        self.at += struct.calcsize("<" + code)
        return value

    def text(self):
        n = self.take("Q")
        self.at += n
        return self.data[self.at - n : self.at]

    def value(self, kind):
        if kind == TEXT:
            return self.text()
        if kind != LIST:
            return self.take(SIMPLE[kind])
        kind, n = self.take("I"), self.take("Q")
        return [self.value(kind) for _ in range(n)]


def pairs(path):
    with open(path, "rb") as f:
        r = Reader(f.read())
    r.at = 16  # behind GGUF, the version and the number of tensors
    found = {}
    for _ in range(r.take("Q")):
        key = r.text().decode()
        found[key] = r.value(r.take("I"))
    return found


def lines(pair):
    """A token that begins a word has a mark there, and one within a word ## here."""
    mark, special = "▁".encode(), pair["tokenizer.ggml.token_type"]
    for token, kind in zip(pair["tokenizer.ggml.tokens"], special):
        yield token if kind != NORMAL else token[len(mark) :] if token.startswith(mark) else b"##" + token


def number(value):
    more = b""
    while value >= 0x80:
        more += bytes([value & 0x7F | 0x80])
        value >>= 7
    return more + bytes([value])


def field(key, content):
    return number(key << 3 | 2) + number(len(content)) + content


def model(pair):
    rows = zip(pair["tokenizer.ggml.tokens"], pair["tokenizer.ggml.scores"], pair["tokenizer.ggml.token_type"])
    for text, score, kind in list(rows)[:FIRST_ADDED]:
        yield field(1, field(1, text) + b"\x15" + struct.pack("<f", score) + b"\x18" + number(kind))
    trainer = number(3 << 3) + number(2) + number(35 << 3) + number(1)  # BPE, byte_fallback
    yield field(2, trainer) + field(3, number(4 << 3) + number(0))  # remove_extra_whitespaces false


def main():
    pair = pairs(sys.argv[1])
    with open(sys.argv[2], "wb") as f:
        if pair["tokenizer.ggml.model"] == b"bert":
            f.writelines(line + b"\n" for line in lines(pair))
        else:
            f.writelines(model(pair))


main()
