#!/usr/bin/env python3
"""A byte-level tokenizer.json as the pairs of a GGUF without tensors: gguf.py FILE.json PRE OUT.gguf [KEY=VALUE…].  A VALUE is JSON and
replaces a pair, or takes it away where it is null; KEY lacks tokenizer.ggml. in front, unless it has a dot."""

import json
import struct
import sys

KEY = "tokenizer.ggml."


def text(s):
    b = s.encode("utf-8")
    return struct.pack("<Q", len(b)) + b


def value(v):
    if isinstance(v, bool):
        return 7, struct.pack("<B", v)
    if isinstance(v, int):
        return 4, struct.pack("<I", v)
    if isinstance(v, float):
        return 6, struct.pack("<f", v)
    if isinstance(v, str):
        return 8, text(v)
    kind = value(v[0])[0] if v else 8
    return 9, struct.pack("<IQ", kind, len(v)) + b"".join(value(x)[1] for x in v)


def main():
    source, pre, out, *more = sys.argv[1:]
    with open(source, encoding="utf-8") as f:
        j = json.load(f)
    added = {a["id"]: a for a in j["added_tokens"]}
    tokens = {n: t for t, n in j["model"]["vocab"].items()} | {n: a["content"] for n, a in added.items()}
    pairs = {
        "general.architecture": "llama",
        KEY + "model": "gpt2",
        KEY + "pre": pre,
        KEY + "tokens": [tokens[i] for i in range(len(tokens))],
        KEY + "token_type": [(3 if added[i]["special"] else 4) if i in added else 1 for i in range(len(tokens))],
        KEY + "merges": [m if isinstance(m, str) else " ".join(m) for m in j["model"]["merges"]],
    }
    for m in more:
        key, v = m.split("=", 1)
        pairs[key if "." in key else KEY + key] = json.loads(v)
    pairs = {k: v for k, v in pairs.items() if v is not None}
    with open(out, "wb") as f:
        f.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)))
        for k, v in pairs.items():
            kind, data = value(v)
            f.write(text(k) + struct.pack("<I", kind) + data)
        f.write(b"\0" * (-f.tell() % 32))


main()
