#!/usr/bin/env python3
"""Makes what stands in tests/tokenizers: tokenizers trained on the project's documents, with strings and their ids, and regexes with
the pieces that they split strings into.

    python3 -m venv /tmp/t && /tmp/t/bin/pip install tokenizers==0.23.3
    /tmp/t/bin/python tests/tokenizers/make.py tests/tokenizers [NAME…] writes NAME.json and NAME.cases for each, or for those named;
                                                                        without names regexes.cases too
    /tmp/t/bin/python tests/tokenizers/make.py --compare build/lathe N  compares N random strings for each tokenizer with lathe
    /tmp/t/bin/python tests/tokenizers/make.py --pipelines build/lathe GPT2 N     for each row of models/lib/pretokenizers.json, over
                                                                        the vocabulary of the directory GPT2

A line of NAME.cases: a string of JSON, a tab, its ids without special tokens, a tab, its ids with them; of those in DECODED a tab and
the text that the first ids decode to.
"""

import glob
import json
import os
import random
import subprocess
import sys
import tempfile

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VERSION = "0.23.3"

# The regexes of published pipelines, by their names in GGUF.
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
END = r"\s*[\r\n]+|\s+(?!\S)|\s+"
REGEXES = {
    "gpt-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "llama-bpe": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + END,
    "cl100k": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s*[\r\n]|\s+(?!\S)|\s+",
    "qwen2": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + END,
    "qwen35": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + END,
    "deepseek-coder-1": r"[\r\n]",
    "deepseek-coder-2": r"\s?\p{L}+",
    "deepseek-coder-3": r"\s?\p{P}+",
    "deepseek-coder-4": "[一-龥ࠀ-一가-퟿]+",
    "deepseek-llm-4": r"\s+$",
    "deepseek-llm-3": "\\s?[!-/:-~！-／：-～‘-‟　-。]+",
    "deepseek-v3": r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|" + END,
    "gpt-4o": r"[^\r\n\p{L}\p{N}]?%s*%s+%s?|[^\r\n\p{L}\p{N}]?%s+%s*%s?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|"
    % (UPPER, LOWER, CONTRACTIONS, UPPER, LOWER, CONTRACTIONS)
    + END,
    "tekken": r"[^\r\n\p{L}\p{N}]?%s*%s+|[^\r\n\p{L}\p{N}]?%s+%s*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" % (UPPER, LOWER, UPPER, LOWER) + END,
    "bloom": " ?[^(\\s|[.,!?…。，、।۔،])]+",
    "clip": r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    "falcon": "[0-9][0-9][0-9]",
    # of our own, for what those leave out
    "lazy": r"a+?b|a{2,3}|[ab]*?c",
    "order": r"a|ab|abc|(?:b|bc)c?",
    "repeat": r"(?:ab?){2}|(a|b)?z|\d{2,}|\D{2}",
    "look": r"\w*" if False else r"a(?=b|c)|b(?![a-c])|\s(?=\S)|[^\S\n]+",
    "escapes": r"\x41|\x{4e2d}|\u00e9|\.|\-|\t|[\]\[^\-]+|[a\-c]",
    "case": r"(?i:the|K)|(?i:x(?-i:Y))|.",
}

POOL = list("aabzABZ09cc '  \n\r\t.,!-_/(\"$|[]xXyYkKtThHeE") + [
    "'s", "'LL", "'re", "'\u017f", "\u212a", "\xe9", "e\u0301", "\xdf", "\u01c4", "\u01c5", "\u02b0", "\u4e2d", "\u65e5\u672c",
    "\u0e44\u0e17\u0e22", "\u094d", "\u0905", "\uff11", "\xb2", "\xbd", "\u2167", "\u00a0", "\u2003", "\u3000", "\u200d", "\U0001f600",
    "\u20ac", "\u0085", "\x00", "\u0378", "\x1c", "\u3002", "\u060c", "\u2581", "\ufffd",
]  # fmt: skip


# For normalisers: characters that decompose, compose, combine, change case, are removed.
RARE = POOL + [
    "\u0323", "\u0307", "\u0327", "\u0345", "\u0315", "\u20d0", "\u302e", "\ud55c", "\u1112", "\u1161", "\u11ab", "\uac00", "\ufb01", "\ufdfa",
    "\u212b", "\xc5", "\u1e9b", "\u0915\u093c", "\u0958", "\U0001d15e", "\u0130", "\u03a3", "\u24d0", "\u2460", "\u01d6", "\u0344", "\u1f82", "\uff76\uff9e",
    "\u2f800", "\U0002f800", "\U0002b8f0", "\u202a", "\ufeff", "\u200b", "\ue000", "\u1734", "\u2e42", "\u2e43", "\u3099", "\u304b", "\u1d43", "\U0001d400",
    "\u0c15\u0c4d", "\u0600", "\U0001f1e9\U0001f1ea", "\u00a9\u200d", "\r\n", "  ", "do not", " n't", "##", "\xb2", "\ufb01\u0301", "\ufb01n", "\u2460\u0323", "\u05d0\u05c1", "\u0041\u030a",
]  # fmt: skip


def documents():
    text = []
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "*.md"))):
        with open(path, encoding="utf-8") as f:
            text += f.read().split("\n")
    return text + ["Grüße, señor: žluťoučký kůň, 日本語 と 中文, Привет мир, ไทย, हिन्दी, 😀 👍🏽"] * 20


WORDS = [w for line in documents() for w in line.split()]


NORMALISED = "bert bert-cased bert-accents qwen2 nfc nfd nfkc nfkd accents nmt whitespace punctuation delimiter scripts gpt-1 normalised-bytes t5-like xlm-like clip within".split()


def random_text(rnd, specials, pool=POOL):
    kind = rnd.random()
    if kind < 0.25:
        return " ".join(rnd.choice(WORDS) for _ in range(rnd.randint(1, 12)))
    if kind < 0.35:
        return "".join(chr(rnd.choice([rnd.randint(0, 0x7F), rnd.randint(0, 0x7FF), rnd.randint(0, 0xD7FF), rnd.randint(0xE000, 0x10FFFF)])) for _ in range(rnd.randint(0, 12)))
    pieces = pool + specials * 3 if kind < 0.55 else pool + WORDS[:400]
    return "".join(rnd.choice(pieces) for _ in range(rnd.randint(0, 14)))


def byte_level(pre, normalizer=None, post=None, added=(), size=700, **bpe):
    t = Tokenizer(models.BPE(**bpe))
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<|end|>", "<|start|>", "<|im_start|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    t.train_from_iterator(documents(), trainer)
    t.add_tokens(list(added))
    if post:
        t.post_processor = post
    return t


def split(regex, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(regex), behavior, invert)


def plain_bytes():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def sequence(*parts):
    return pre_tokenizers.Sequence(list(parts))


def words_bpe(prepend):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=prepend))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")] if prepend else [normalizers.Replace(" ", "▁")])
    special = ["<unk>", "<s>", "</s>"] + (["<0x%02X>" % b for b in range(256)] if prepend else [])
    t.train_from_iterator(documents(), trainers.BpeTrainer(vocab_size=800, special_tokens=special, limit_alphabet=90, max_token_length=12, show_progress=False))
    t = Tokenizer.from_str(plain_specials(t, 3))
    t.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()] + ([decoders.Strip(" ", 1, 0)] if prepend else [])
    )
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return t


def plain_specials(t, n):
    """The first n special tokens stay special; those of bytes are no added tokens."""
    j = json.loads(t.to_str())
    j["added_tokens"] = j["added_tokens"][:n]
    return json.dumps(j)


# Every byte a token, and no merges: ids show what came out of a normaliser.
def bytes_alone(normalizer, pre=None, **more):
    return byte_level(pre or plain_bytes(), normalizer, size=259, **more)


def word_model(model, trainer, normalizer, pre, decoder, special, n=500):
    t = Tokenizer(model)
    t.normalizer, t.pre_tokenizer, t.decoder = normalizer, pre, decoder
    t.train_from_iterator(documents(), trainer(vocab_size=n, special_tokens=special, show_progress=False))
    return t


def bert(**how):
    special = ["[UNK]", "[CLS]", "[SEP]", "[PAD]"]
    t = word_model(
        models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20), trainers.WordPieceTrainer, normalizers.BertNormalizer(**how),
        pre_tokenizers.BertPreTokenizer(), decoders.WordPiece(), special,
    )  # fmt: skip
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    t.add_tokens([AddedToken("Tool", single_word=True, normalized=True), AddedToken("the", single_word=True, normalized=False)])
    return t


def words(normalizer, pre, added=()):
    t = word_model(models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer, normalizer, pre, decoders.WordPiece("", False), ["<unk>"], 200)
    t.add_tokens(list(added))
    return t


def charsmap(path):
    """normalizer_spec.precompiled_charsmap of a model of SentencePiece."""

    def number(data, at):
        value = shift = 0
        while True:
            value |= (data[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 0x80:
                return value, at

    def fields(data):
        at = 0
        while at < len(data):
            key, at = number(data, at)
            n, at = (4, at) if key & 7 == 5 else number(data, at)
            if key & 7 != 0:
                yield key >> 3, data[at : at + n]
                at += n

    with open(path, "rb") as f:
        normalizer = dict(fields(f.read()))[3]
    return dict(fields(normalizer))[2]


def unigram(pre, *more):
    rules = normalizers.Precompiled(charsmap(os.path.join(HERE, "sentencepiece", "unigram.model")))
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([rules, *more]) if more else rules
    t.pre_tokenizer = pre
    t.decoder = decoders.Metaspace()
    t.train_from_iterator(documents(), trainers.UnigramTrainer(vocab_size=400, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return t


def clip():
    t = Tokenizer(models.BPE(unk_token="<|end|>", end_of_word_suffix="</w>", continuing_subword_prefix=""))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = sequence(split(REGEXES["clip"], "removed", True), pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=["<|start|>", "<|end|>"], initial_alphabet=alphabet, end_of_word_suffix="</w>", show_progress=False)
    t.train_from_iterator(documents(), trainer)
    t.post_processor = processors.RobertaProcessing(("<|end|>", 1), ("<|start|>", 0))
    return t


def gpt_1():
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    t.normalizer, t.pre_tokenizer, t.decoder = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer(), decoders.BPEDecoder()
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=["<unk>"], end_of_word_suffix="</w>", limit_alphabet=70, show_progress=False)
    t.train_from_iterator(documents(), trainer)
    t.add_special_tokens(["<|end|>"])
    return t


SCRIPTS = "aZ\xe9 1.,\n\t-$\u30fc\u3042\u30a2\u4e00\u3000\u0300\u0378\U000e0001" + "".join(chr(c) for c in range(0x370, 0x2000, 67)) + "\u2c00\ua000\uac00\U00010300\U0001f600"


def scripts():
    """Pairs are merged at random, so ids tell where pieces end."""
    rnd, pairs = random.Random("scripts"), [(a, b) for a in SCRIPTS for b in SCRIPTS]
    merges = rnd.sample(pairs, 2000)
    vocab = {text: i for i, text in enumerate(["<unk>", *SCRIPTS, *(a + b for a, b in merges)])}
    t = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>"))
    t.pre_tokenizer, t.decoder = pre_tokenizers.UnicodeScripts(), decoders.Fuse()
    return t


def within():
    t = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##", fuse_unk=True))
    t.normalizer, t.pre_tokenizer, t.decoder = normalizers.NFKC(), pre_tokenizers.Whitespace(), decoders.WordPiece()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=["<unk>"], continuing_subword_prefix="##", limit_alphabet=60, show_progress=False)
    t.train_from_iterator(documents(), trainer)
    return t


def normalised_tokenizers():
    n, p = normalizers, pre_tokenizers
    accents = n.Sequence([n.NFD(), n.StripAccents(), n.Lowercase(), n.Strip()])
    return {
        "bert": bert(),
        "bert-cased": bert(lowercase=False, clean_text=False),
        "bert-accents": bert(strip_accents=False, handle_chinese_chars=False),
        "qwen2": byte_level(sequence(split(REGEXES["qwen2"]), plain_bytes()), n.NFC()),
        "nfc": bytes_alone(n.NFC(), added=[AddedToken("\u212b", normalized=True), AddedToken("e\u0301", normalized=True, single_word=True)]),
        "nfd": bytes_alone(n.NFD()),
        "nfkc": bytes_alone(n.NFKC()),
        "nfkd": bytes_alone(n.Sequence([n.NFKD(), n.Lowercase()])),
        "accents": bytes_alone(accents, sequence(p.Punctuation(), plain_bytes())),
        "nmt": bytes_alone(n.Sequence([n.Nmt(), n.Strip(left=False), n.Replace(Regex(r"\s{2,}|[.,]+"), "<>"), n.Prepend(">")])),
        "whitespace": words(accents, p.Whitespace()),
        "punctuation": words(n.Lowercase(), sequence(p.WhitespaceSplit(), p.Punctuation("removed")), [AddedToken("QQ", single_word=True)]),
        "delimiter": words(n.Lowercase(), sequence(p.CharDelimiterSplit("-"), p.Punctuation("contiguous"), split(r"\W|\w+"))),
        "clip": clip(),
        "within": within(),
        "gpt-1": gpt_1(),
        "scripts": scripts(),
        "t5-like": unigram(p.Metaspace(), n.Strip(left=False), n.Replace(Regex(" {2,}"), "▁")),
        "xlm-like": unigram(sequence(p.WhitespaceSplit(), p.Metaspace())),
        "normalised-bytes": byte_level(split(r"\p{L}+"), n.Sequence([n.NFC(), n.ByteLevel()]), size=400),
    }


def all_tokenizers():
    template = processors.TemplateProcessing(single="<|start|> $A <|end|>", special_tokens=[("<|start|>", 1), ("<|end|>", 0)])
    added = [AddedToken("<tool>", normalized=False), AddedToken("  strip ", lstrip=True, rstrip=True), AddedToken("<|im", normalized=False)]
    punctuation = pre_tokenizers.Split(Regex(r"\p{P}"), "contiguous")
    made = {
        "gpt-2": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)),
        "prefix": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True), post=template, added=added),
        "llama-bpe": byte_level(sequence(split(REGEXES["llama-bpe"]), plain_bytes()), post=template, added=added, ignore_merges=True),
        "qwen35": byte_level(sequence(split(REGEXES["qwen35"]), plain_bytes())),
        "starcoder": byte_level(sequence(pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False))),
        "falcon": byte_level(sequence(punctuation, pre_tokenizers.ByteLevel(add_prefix_space=False), pre_tokenizers.Digits(False), split("[0-9][0-9][0-9]"))),
        "deepseek-coder": byte_level(sequence(*[split(REGEXES[f"deepseek-coder-{i}"]) for i in (1, 2, 3, 4)], pre_tokenizers.Digits(True), plain_bytes())),
        "gpt-4o": byte_level(sequence(split(REGEXES["gpt-4o"]), plain_bytes())),
        "clip-split": byte_level(sequence(split(REGEXES["clip"], "removed", True), plain_bytes())),
        "with-previous": byte_level(sequence(pre_tokenizers.Split(" ", "merged_with_previous"), split(r"\p{Lu}", "merged_with_next"), plain_bytes())),
        "long": byte_level(plain_bytes(), size=500),
        "llama-spm": words_bpe(True),
        "gemma-like": words_bpe(False),
    }
    made.update(normalised_tokenizers())
    return {name: Tokenizer.from_str(t.to_str()) for name, t in made.items()}


def pool_of(name):
    if name == "scripts":
        return list(SCRIPTS)
    return RARE if name in NORMALISED else POOL


DECODED = ("gpt-1", "scripts")


def specials_of(t):
    return [a["content"] for a in json.loads(t.to_str())["added_tokens"]]


def ids(t, text, around):
    return " ".join(map(str, t.encode(text, add_special_tokens=around).ids))


def record(folder, names):
    assert tokenizers.__version__ == VERSION, f"tokenizers {tokenizers.__version__}, not {VERSION}"
    for name, t in all_tokenizers().items():
        if names and name not in names:
            continue
        rnd = random.Random(name)
        t.encode_special_tokens = False
        with open(os.path.join(folder, "trained", name + ".json"), "w", encoding="utf-8") as f:
            f.write(t.to_str(pretty=False))
        with open(os.path.join(folder, "trained", name + ".cases"), "w", encoding="utf-8") as f:
            for _ in range(120 if name in NORMALISED else 250):
                text = random_text(rnd, specials_of(t), pool_of(name))
                t.encode_special_tokens = True
                bare = ids(t, text, False)
                t.encode_special_tokens = False
                back = "\t" + json.dumps(t.decode([int(i) for i in bare.split()]), ensure_ascii=False) if name in DECODED else ""
                f.write(json.dumps(text, ensure_ascii=False) + "\t" + bare + "\t" + ids(t, text, True) + back + "\n")
    if names:
        return
    with open(os.path.join(folder, "regexes.cases"), "w", encoding="utf-8") as f:
        for name, regex in REGEXES.items():
            rnd, oracle = random.Random(name), split(regex)
            for i in range(120):
                text = "".join(rnd.choice(POOL) for _ in range(rnd.randint(1, 14)))
                pieces = [p for p, _ in oracle.pre_tokenize_str(text)]
                f.write(json.dumps([name, regex, text, pieces] if i == 0 else [name, None, text, pieces], ensure_ascii=False) + "\n")


def lathe_lines(lathe, command, path, lines):
    found = subprocess.run([lathe, *command, path, "--json"], input="\n".join(lines) + "\n", capture_output=True, encoding="utf-8")
    if found.returncode:
        sys.exit(f"{path}: {found.stderr}")
    return found.stdout.split("\n")[:-1]


def compare_one(lathe, name, path, t, n, seed):
    rnd, specials = random.Random(seed), specials_of(t)
    texts = [random_text(rnd, specials, pool_of(name)) for _ in range(n)]
    lines = [json.dumps(x) for x in texts]
    for control, bare in ((False, True), (True, False)):
        t.encode_special_tokens = not control
        want = [" ".join(map(str, e.ids)) for e in t.encode_batch(texts, add_special_tokens=not bare)]
        found = lathe_lines(lathe, ["encode"] + ["--special"] * control + ["--bare"] * bare, path, lines)
        wrong = [i for i in range(n) if want[i] != found[i]]
        print(f"{name}: {n} strings, {'control tokens' if control else 'plain'}: {len(wrong)} differ", flush=True)
        for i in wrong[:3]:
            print(f"     {lines[i]}: {found[i]}, not {want[i]}")


def compare_texts(lathe, name, path, t, n, seed):
    """Of random ids, and of strings' ids."""
    rnd = random.Random(seed)
    strings = [random_text(rnd, specials_of(t), pool_of(name)) for _ in range(n // 2)]
    lists = [t.encode(text).ids for text in strings] + [[rnd.randrange(t.get_vocab_size()) for _ in range(rnd.randrange(12))] for _ in range(n // 2)]
    found = lathe_lines(lathe, ["decode"], path, [" ".join(map(str, some)) for some in lists])
    wrong = [i for i, some in enumerate(lists) if t.decode(some) != json.loads(found[i])]
    print(f"{name}: {n} lists of ids: {len(wrong)} texts differ", flush=True)
    for i in wrong[:3]:
        print(f"     {lists[i]}: {found[i]}, not {json.dumps(t.decode(lists[i]))}")


def compare(lathe, n, more):
    for name in DECODED:
        path = os.path.join(HERE, "trained", name + ".json")
        compare_texts(lathe, name, path, Tokenizer.from_file(path), n, 11)
    for path in sorted(glob.glob(os.path.join(HERE, "trained", "*.json"))):
        compare_one(lathe, os.path.basename(path)[:-5], path, Tokenizer.from_file(path), n, 7)
    for path in more:
        compare_one(lathe, path, path, Tokenizer.from_file(path), n, 7)


def whole_part(part):
    """A part of models/lib/pretokenizers.json with all the keys that the library wants."""
    otherwise = {"Split": {"invert": False}, "ByteLevel": {"trim_offsets": True}}.get(part["type"], {})
    inner = {"pretokenizers": [whole_part(p) for p in part["pretokenizers"]]} if "pretokenizers" in part else {}
    return {**otherwise, **part, **inner}


def compare_pipelines(lathe, source, n):
    """Each row of pretokenizers.json over one vocabulary, a directory with vocab.json and merges.txt."""
    with open(os.path.join(ROOT, "models", "lib", "pretokenizers.json"), encoding="utf-8") as f:
        rows = json.load(f)
    del rows["models"]  # the names of tokenizer.ggml.model
    base = Tokenizer(models.BPE.from_file(f"{source}/vocab.json", f"{source}/merges.txt"))
    base.decoder = decoders.ByteLevel()
    base.pre_tokenizer = plain_bytes()
    base.add_special_tokens(["<|endoftext|>"])
    with tempfile.TemporaryDirectory() as folder:
        for name, row in rows.items():
            j = json.loads(base.to_str())
            j["normalizer"], j["pre_tokenizer"] = row.get("normalizer"), whole_part(row["pre_tokenizer"])
            j["model"]["ignore_merges"] = row.get("ignore_merges", False)
            path = f"{folder}/{name}.json"
            with open(path, "w", encoding="utf-8") as f:
                json.dump(j, f)
            compare_one(lathe, name, path, Tokenizer.from_file(path), n, 21)


if __name__ == "__main__":
    if sys.argv[1] == "--compare":
        compare(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    elif sys.argv[1] == "--pipelines":
        compare_pipelines(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        record(sys.argv[1], sys.argv[2:])
