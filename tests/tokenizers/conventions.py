#!/usr/bin/env python3
"""Small tokenizers in the forms that converters and old tools leave behind, and what those who define the forms make of texts.

    conventions.py make FOLDER              writes the tokenizers
    conventions.py record FOLDER ORACLE     writes them, asks their definers, and prints conventions.cases: tokenizers 0.23.3, transformers
                                            5.24 and sentencepiece 0.2.3 here; of a GGUF, ORACLE FILE [special], a program over the file
                                            llama-vocab.cpp of llama.cpp, which answers each line of standard input with its ids

A line of conventions.cases: a list of JSON: the file or folder, options of `lathe encode`, the text, its ids, and perhaps the text that
these decode to.
"""

import json
import os
import shutil
import struct
import subprocess
import sys

KEY = "tokenizer.ggml."
BYTES = ["<0x%02X>" % i for i in range(256)]


# --- GGUF ---


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
    kind = 5 if isinstance(v[0], int) else value(v[0])[0]
    return 9, struct.pack("<IQ", kind, len(v)) + b"".join(struct.pack("<i", x) if kind == 5 else value(x)[1] for x in v)


def gguf(path, rows, **pairs):
    """rows: text, score, type of each token; a name with __ instead of a dot is no pair of the tokenizer."""
    named = {"general.architecture": "llama", KEY + "tokens": [r[0] for r in rows], KEY + "token_type": [r[2] for r in rows]}
    if rows[0][1] is not None:
        named[KEY + "scores"] = [float(r[1]) for r in rows]
    for name, v in pairs.items():
        named[name.replace("__", ".") if name.startswith("general__") else KEY + name.replace("__", ".")] = v
    with open(path, "wb") as f:
        f.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(named)))
        for k, v in named.items():
            kind, data = value(v)
            f.write(text(k) + struct.pack("<I", kind) + data)
        f.write(b"\0" * (-f.tell() % 32))


def llama(*more, start=(("<unk>", 0, 2), ("<s>", 0, 3), ("</s>", 0, 3))):
    return list(start) + [(b, 0, 6) for b in BYTES] + list(more)


WORDS = [("▁", -10, 1), ("u", -9, 1), ("s", -9, 1), ("e", -9, 1), ("r", -9, 1), ("▁u", -5, 1), ("us", -4, 1), ("er", -3, 1), ("user", -2, 1), ("▁user", -1, 1)]
LETTERS = [chr(c) for c in [*range(33, 127), *range(161, 173), *range(174, 256)]]


def make_ggufs(to):
    two = {"bos_token_id": 1, "eos_token_id": 2}
    users = WORDS + [("<|im|>", -1000, 4), ("-", 0, 4), ("▁-", -6, 1)]
    gguf(to + "users.gguf", llama(*users), model="llama", add_space_prefix=True, **two)
    gguf(to + "users-bare.gguf", llama(*users), model="llama", add_space_prefix=False, add_bos_token=False, add_eos_token=True, **two)
    gguf(to + "silent.gguf", llama(*WORDS), model="llama")
    gemma = [("<pad>", -1000, 3), ("<eos>", -1000, 3), ("<bos>", -1000, 3), ("<unk>", -1000, 2)] + [(" " * n, -1000, 4) for n in (2, 3, 4)]
    gguf(to + "spaces.gguf", llama(*WORDS, start=gemma), model="llama", bos_token_id=2, eos_token_id=1, add_space_prefix=False)
    phi = llama(*WORDS, ("<|user|>", -1000, 3), ("<|x|>", -1000, 4), ("<|endoftext|>", -1000, 3), start=(("<unk>", 0, 2), ("<s>", 0, 3), ("</s>", 0, 3)))
    gguf(to + "phi.gguf", phi, model="llama", general__name="Phi 3", **two)
    gguf(to + "phi-3.gguf", phi, model="llama", general__name="My Phi-3 Mini", **two)
    for name, pairs in (("both", {"add_bos_token": True, "add_eos_token": True}), ("none", {"add_bos_token": False, "add_eos_token": False}), ("silent", {})):
        rows = [("<s>", 0, 3), ("<pad>", 0, 3), ("</s>", 0, 3), ("<unk>", 0, 2), *WORDS, ("<mask>", 0, 3), ("<u>", -1000, 4)]
        architecture = "nomic-bert-moe" if name == "both" else "t5"
        gguf(to + f"t5-{name}.gguf", rows, model="t5", bos_token_id=0, eos_token_id=2, unknown_token_id=3, add_space_prefix=True,
             remove_extra_whitespaces=True, general__architecture=architecture, **pairs)  # fmt: skip
    words = [("[PAD%d]" % i, None, 3) for i in range(100)] + [("[UNK]", None, 3), ("[CLS]", None, 3), ("[SEP]", None, 3)]
    words += [(w, None, 1) for w in ("▁us", "▁Us", "er", "▁é", "▁e", "é")]
    for name, pairs in (("silent", {}), ("cased", {"normalizer__lowercase": False}), ("accents", {"normalizer__strip_accents": False})):
        gguf(to + f"bert-{name}.gguf", words, model="bert", **pairs)
    bpe = [("<s>", None, 3), ("</s>", None, 3), *((a, None, 1) for a in LETTERS + ["Ā", "Ġ", "Ċ", "us", "er"])]
    for pre in ("llama-bpe", "tekken", "gpt-2", "roberta-bpe", "jina-v2-code"):
        more = {"add_bos_token": True, "add_eos_token": True, "add_sep_token": True, "seperator_token_id": 1} if pre == "roberta-bpe" else {}
        gguf(to + f"bpe-{pre}.gguf", [*bpe, ("<mask>", None, 3)], model="gpt2", pre=pre, merges=["u s", "e r"], bos_token_id=0, eos_token_id=1, **more)


SPACED = ["user", "<|im|>user", "user<|im|>user", "<|im|> user", "u - -u", "-user", "  us  er   s    e", "<unk> us", "<s>user</s>\nus", "<|user|>\nus <|x|> er", "</s>  us",
          "us<mask> us", "us <mask>us", "<u>us <u> us", "Us é Er usér", "", " ", "us er"]  # fmt: skip


# --- models of SentencePiece ---


def number(n):
    more = b""
    while n >= 0x80:
        more += bytes([n & 0x7F | 0x80])
        n >>= 7
    return more + bytes([n])


def field(key, content):
    return number(key << 3 | 2) + number(len(content)) + content


def sentencepiece(path, rows, charsmap=b"", spaces=True):
    with open(path, "wb") as f:
        for piece, score, kind in rows:
            f.write(field(1, field(1, piece.encode()) + b"\x15" + struct.pack("<f", score) + b"\x18" + number(kind)))
        f.write(field(2, number(3 << 3) + number(2) + number(35 << 3) + number(1)))  # BPE, byte_fallback
        f.write(field(3, (field(2, charsmap) if charsmap else b"") + number(4 << 3) + number(spaces)))


def shared_map():
    """A map whose keys are any three characters above ~ and then the letter Q, which become u: their ways go over the same few places."""
    size, bases = 2048, [256, 512, 768, 1024]
    unit = [0] * size
    unit[0] = bases[0] << 10
    for here, there in zip(bases, bases[1:]):
        for byte in range(0x80, 0x100):
            at = here ^ byte
            unit[at] = byte | (at ^ there) << 10
    at, leaf = bases[-1] ^ ord("Q"), 1536
    unit[at] = ord("Q") | 0x100 | (at ^ leaf) << 10
    unit[leaf] = 0x80000000
    blob = struct.pack("<%dI" % size, *unit)
    return struct.pack("<I", len(blob)) + blob + b"u\0"


def make_sentencepiece(to):
    rows = llama(*WORDS, ("-", 0, 4), ("▁-", -6, 1), ("▁-u", -5.5, 1))
    sentencepiece(to + "dash.model", rows)
    sentencepiece(to + "dash-spaces.model", rows, spaces=False)
    sentencepiece(to + "map.model", llama(*WORDS, ("Q", -9, 1)), charsmap=shared_map())


DASHES = ["u - -u", "-user - user-", "us -er", "日Qser", "user Q éQ 日Q"]


# --- tokenizer.json ---


def make_json(to):
    vocab = {t: i for i, t in enumerate(["<unk>", "[UNK]", "u", "s", "us", "##s", "##er", "user", "é"])}
    pieces = [["<unk>", 0.0], ["u", -2.0], ["s", -2.5], ["us", -3.0], ["e", -4.0]]
    models = {
        "bpe": {"vocab": vocab, "merges": ["u s"], "unk_token": "<unk>"},
        "wordpiece": {"vocab": vocab, "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 5},
        "wordlevel": {"vocab": vocab, "unk_token": "<unk>"},
        "wordlevel-2": {"vocab": vocab, "unk_token": "[UNK]", "continuing_subword_prefix": "##"},
        "unigram": {"vocab": pieces, "unk_id": 0},
    }
    for name, model in models.items():
        root = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None, "model": model}
        root["added_tokens"] = [{"id": len(model["vocab"]), "content": "<t>", "special": False, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}]
        with open(to + f"untyped-{name}.json", "w", encoding="utf-8") as f:
            json.dump(root, f)
    letters = {t: i for i, t in enumerate([*LETTERS, "Ġ", "us", "Ġus"])}
    root = {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}, "decoder": None, "model": {"type": "BPE", "vocab": letters, "merges": ["u s", "Ġ us"]}}
    with open(to + "bytes-apart.json", "w", encoding="utf-8") as f:
        json.dump(dict({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "post_processor": None}, **root), f)


# Graphemes of fewer than six bytes go to a map as one text, longer ones character by character: of 5, 6 and 7 bytes.
SHORT = ["\ufb01\u0301", "\ufb01\u20d0", "a\ufb01\u20d0b", "\ufb01\u0301\u0301", "\u00e9\u0301\u0301", "\u2460\u0301", "\u2460\u20d0", "\uac00\u20d0", "\u00e9\u20d0", "e\u0301\u20d0", "e\u0301\u0301\u0301"]
TYPED = ["us user", "usuers us", "x é<t>u s", "e u"]


# --- vocab.json and merges.txt ---

END, IM = "<|endoftext|>", ["<|im_start|>", "<|im_end|>"]
ALL = LETTERS + ["Ā", "ā", "Ă", "ă", "Ġ", "Ċ", "č", "Ń"]
MERGED = ["he", "ll", "hell", "hello", "Ġhello", "Ġw"]
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ hello", "Ġ w"]
FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>"]


def folder(to, name, words, merges, **files):
    os.makedirs(to + name, exist_ok=True)
    with open(to + name + "/vocab.json", "w", encoding="utf-8") as f:
        json.dump({w: i for i, w in enumerate(words)}, f, ensure_ascii=False)
    with open(to + name + "/merges.txt", "w", encoding="utf-8") as f:
        f.write("#version: 0.2\n" + "".join(m + "\n" for m in merges))
    for file, content in files.items():
        with open(f"{to}{name}/{file}.json", "w", encoding="utf-8") as f:
            json.dump(content, f)


def make_folders(to):
    def config(name, **more):
        return {"tokenizer_config": {"tokenizer_class": name, **more}}

    plain = ALL + MERGED
    n = len(plain)
    folder(to, "gpt2", plain + [END], MERGES, **config("GPT2Tokenizer"))
    folder(to, "gpt2-bos", plain + [END], MERGES, **config("GPT2TokenizerFast", add_bos_token=True, add_prefix_space=True))
    folder(to, "gpt2-silent", plain + [END], MERGES, config={"model_type": "gpt2"})
    opt = {"bos_token": {"__type": "AddedToken", "content": "</s>", "normalized": True}, "eos_token": "</s>", "unk_token": "</s>", "pad_token": "<pad>"}
    folder(to, "opt", FAIRSEQ + plain, MERGES, **config("GPT2Tokenizer", add_bos_token=True, **opt), special_tokens_map={k: "</s>" for k in ("bos_token", "eos_token", "unk_token")})
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
    rows = {str(n + i): {"content": w, "special": i < 3, **flags} for i, w in enumerate([END, *IM, "<t>"])}
    folder(to, "qwen", plain, MERGES, **config("Qwen2Tokenizer", eos_token=IM[1], pad_token=END, added_tokens_decoder=rows, additional_special_tokens=IM, model_max_length=10**30))
    folder(to, "qwen-added", plain, MERGES, **config("Qwen2Tokenizer"), added_tokens={END: n, IM[0]: n + 1, IM[1]: n + 2},
           special_tokens_map={"additional_special_tokens": IM, "eos_token": IM[1], "pad_token": END})  # fmt: skip
    folder(to, "roberta", FAIRSEQ + plain + ["<mask>"], MERGES, **config("RobertaTokenizer"))
    mask = {"mask_token": {"content": "<mask>", "lstrip": True, "normalized": False, "rstrip": False, "single_word": False}}
    folder(to, "roberta-map", FAIRSEQ + plain + ["<mask>"], MERGES, **config("RobertaTokenizer", add_prefix_space=True), special_tokens_map=mask, added_tokens={"<t>": n + 5})
    folder(to, "roberta-silent", FAIRSEQ + plain + ["<mask>"], MERGES, config={"model_type": "roberta"})
    folder(to, "bart", FAIRSEQ + plain + ["<mask>"], MERGES, **config("BartTokenizer"))
    ended = ALL + [a + "</w>" for a in ALL] + ["he", "ll", "hell", "hello</w>", "<|startoftext|>", END]
    folder(to, "clip", ended, ["h e", "l l", "he ll", "hell o</w>"], **config("CLIPTokenizer"))


FOLDERS = ["gpt2", "gpt2-bos", "gpt2-silent", "opt", "qwen", "qwen-added", "roberta", "roberta-map", "roberta-silent", "bart", "clip"]
BESIDE = ["hello world hello", " hello <|endoftext|> x", "Hello<s> a</s><mask> b", "<|im_start|>user\nHi<|im_end|>", "a <mask>b <t> c<t>d", "Hé 12 it's", "  x  <pad> <unk>"]


def make(to):
    os.makedirs(to, exist_ok=True)
    to += "/"
    shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "trained", "t5-like.json"), to + "mapped.json")
    make_ggufs(to)
    make_sentencepiece(to)
    make_json(to)
    make_folders(to)


# --- what others say ---


def record(to, oracle):
    import sentencepiece as spm
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer

    def say(name, options, said, ids, *back):
        print(json.dumps([name, options, said, " ".join(map(str, ids)), *back], ensure_ascii=False))

    for file in sorted(os.listdir(to)):
        path = f"{to}/{file}"
        if file.endswith(".gguf"):
            for options in ([], ["--special"]):
                lines = "".join(s.replace("\n", "\\n") + "\n" for s in SPACED)
                found = subprocess.run([oracle, path, "special" if options else "no"], input=lines, capture_output=True, text=True, check=True).stdout.split("\n")
                for said, ids in zip(SPACED, found):
                    say(file, options, said, ids.split())
        elif file.endswith(".model"):
            p = spm.SentencePieceProcessor(model_file=path)
            for said in DASHES:
                say(file, [], said, p.encode(said), p.decode(p.encode(said)))
        elif file == "mapped.json":
            t = Tokenizer.from_file(path)
            for said in SHORT:
                say(file, [], said, t.encode(said).ids)
        elif file.endswith(".json"):
            t = Tokenizer.from_file(path)
            for said in TYPED:
                ids = t.encode(said).ids
                say(file, [], said, ids, t.decode(ids))
        else:
            t = AutoTokenizer.from_pretrained(path)
            for said in BESIDE:
                say(file, ["--special"], said, t(said).input_ids)


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    make(sys.argv[2])
    record(sys.argv[2], sys.argv[3])
