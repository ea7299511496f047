#!/usr/bin/env python3
"""Makes models of SentencePiece, trained on the project's documents, with strings and their ids and texts.

    python3 -m venv /tmp/t && /tmp/t/bin/pip install tokenizers==0.23.3 sentencepiece==0.2.3
    /tmp/t/bin/python tests/tokenizers/make_sentencepiece.py tests/tokenizers        writes pieces/NAME.model and NAME.cases for each
    /tmp/t/bin/python tests/tokenizers/make_sentencepiece.py --compare build/lathe N [FILE.model…]
                                                                              compares N random strings for each with lathe
    /tmp/t/bin/python tests/tokenizers/make_sentencepiece.py --cases FILE.model      prints cases of another model

A line of NAME.cases: a string of JSON, a tab, its ids, a tab, the string that they decode to.
"""

import glob
import io
import json
import os
import random
import subprocess
import sys
import tempfile

import make
import sentencepiece

assert sentencepiece.__version__ == "0.2.3"
RULES = [("é", "e´"), ("e\u0301", "e´"), ("ﬁ", "fi"), ("　", " "), ("\u200b", ""), ("Ａ", "A"), ("①", " 1 "), ("가", "ga"), ("ab", "b"), ("\t", " "), ("\ufeff", " "), ("ﬁn", "F")]
USER = ["<tool>", "do not", "▁▁", "é", "x"]


def plain(**more):
    return {"model_type": "unigram", "vocab_size": 320, "hard_vocab_limit": False, "normalization_rule_name": "identity", **more}


def rules(**more):
    return plain(rules=True, **more)


ALL = {
    "unigram": rules(),
    "unigram-bytes": plain(byte_fallback=True, remove_extra_whitespaces=False, vocab_size=500),
    "unigram-user": rules(user_defined_symbols=USER, control_symbols=["<mask>"], add_dummy_prefix=False),
    "bpe": rules(model_type="bpe"),
    "bpe-bytes": plain(model_type="bpe", byte_fallback=True, remove_extra_whitespaces=False, vocab_size=600, split_digits=True),
    "bpe-user": rules(model_type="bpe", user_defined_symbols=USER, control_symbols=["<mask>"], byte_fallback=True, vocab_size=600),
    "bpe-suffix": rules(model_type="bpe", treat_whitespace_as_suffix=True),
    "char": rules(model_type="char", vocab_size=100),
}


def train(how):
    how, made = dict(how), io.BytesIO()
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as f:
        if how.pop("rules", False):
            for source, to in RULES:
                f.write(" ".join("%X" % ord(c) for c in source) + "\t" + " ".join("%X" % ord(c) for c in to) + "\n")
            f.flush()
            how["normalization_rule_tsv"] = f.name
            del how["normalization_rule_name"]
        lines = [line for line in make.documents() if line.strip()]
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=made, minloglevel=2, character_coverage=0.999, num_threads=1, **how)
    return made.getvalue()


def random_text(rnd):
    pool = make.RARE + [s for s, _ in RULES if s.strip()] * 2 + USER + ["<s>", "<mask>", "<unk>", "<0x41>", "▁", "  ", " ", "\t"]
    return make.random_text(rnd, USER, pool)


def case_line(oracle, text):
    ids = oracle.encode(text)
    return json.dumps(text, ensure_ascii=False) + "\t" + " ".join(map(str, ids)) + "\t" + json.dumps(oracle.decode(ids), ensure_ascii=False) + "\n"


def cases(oracle, name, n=120):
    rnd = random.Random(name)
    return [case_line(oracle, random_text(rnd)) for _ in range(n)]


def record(folder):
    os.makedirs(os.path.join(folder, "pieces"), exist_ok=True)
    for name, how in ALL.items():
        model = train(how)
        with open(os.path.join(folder, "pieces", name + ".model"), "wb") as f:
            f.write(model)
        with open(os.path.join(folder, "pieces", name + ".cases"), "w", encoding="utf-8") as f:
            f.writelines(cases(sentencepiece.SentencePieceProcessor(model_proto=model), name))


def compare(lathe, n, paths):
    for path in paths or sorted(glob.glob(os.path.join(make.HERE, "pieces", "*.model"))):
        oracle, rnd = sentencepiece.SentencePieceProcessor(model_file=path), random.Random(7)
        texts = [random_text(rnd) for _ in range(n)]
        want = [" ".join(map(str, ids)) for ids in oracle.encode(texts)]
        found = make.lathe_lines(lathe, ["encode"], path, [json.dumps(x) for x in texts])
        wrong = [i for i in range(n) if want[i] != found[i]]
        texts_back = subprocess.run([lathe, "decode", path, "--json"], input="\n".join(want).encode() + b"\n", capture_output=True).stdout
        back = [json.loads(line.decode(errors="replace"), strict=False) for line in texts_back.split(b"\n")[:-1]]
        others = [i for i in range(n) if back[i] != oracle.decode(list(map(int, want[i].split())))]
        print(f"{os.path.basename(path)}: {n} strings: {len(wrong)} differ, decoded {len(others)} differ", flush=True)
        for i in wrong[:3]:
            print(f"     {json.dumps(texts[i])}: {found[i]}, not {want[i]}")
        for i in others[:3]:
            print(f"     {want[i]}: {back[i]}, not {oracle.decode(list(map(int, want[i].split())))!r}")


if __name__ == "__main__":
    if sys.argv[1] == "--compare":
        compare(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    elif sys.argv[1] == "--cases":
        sys.stdout.writelines(cases(sentencepiece.SentencePieceProcessor(model_file=sys.argv[2]), "other", 300))
    else:
        record(sys.argv[1])
