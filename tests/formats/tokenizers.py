"""The llama2.c tokenizer: messages for bad files, and text to ids and back, compared with what llama2.c itself gave
(encode.expected: a text and its ids on each line) and with its merge loop written plainly, on a vocabulary of our own."""
import ast
import os
import struct
import sys

from verdicts import equal, finish, run, skip, verdict

tool, work, data, here = sys.argv[1:]


def tokenizer_file(tokens, longest=None):
    content = struct.pack("<i", longest or max(len(text) for _, text in tokens))
    return content + b"".join(struct.pack("<fi", score, len(text)) + text for score, text in tokens)


def write(name, content):
    file = os.path.join(work, name)
    with open(file, "wb") as out:
        out.write(content)
    return file


def numbers(state):
    """splitmix64, the upper 32 bits"""
    while True:
        state = state + 0x9E3779B97F4A7C15 & 2**64 - 1
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & 2**64 - 1
        z = (z ^ z >> 27) * 0x94D049BB133111EB & 2**64 - 1
        yield (z ^ z >> 31) >> 32


def our_vocabulary():
    """Control tokens, bytes, and pieces over a few letters, with ties, some twice, and two scores too low to be merged."""
    tokens = [(0, b"<unk>"), (0, b"\n<s>\n"), (0, b"\n</s>\n")] + [(0, b"<0x%02X>" % byte) for byte in range(256)]
    pieces = [b" ", b"a", b"b", b"c", "é".encode(), "語".encode()]
    draw = numbers(5)
    known = dict.fromkeys(pieces)
    while len(known) < 150:
        both = list(known)
        known[both[next(draw) % len(both)][:6] + both[next(draw) % len(both)][:6]] = None
    tokens += [(float(-(next(draw) % 40)), text) for text in known]
    tokens += [((5.0, -50.0)[i % 2], text) for i, text in enumerate(list(known)[20:90:9])]
    never = next(x + y for x in pieces for y in pieces if x + y not in known)
    return tokens + [(-2e10, b"aaaaaaaaaaaab"), (-2e10, never)]


def character(text, at):
    """The one that begins there; a byte where none does.  llama2.c takes continuation bytes behind any character with it."""
    for length in range(1, 5):
        try:
            text[at : at + length].decode()
            return text[at : at + length]
        except UnicodeDecodeError:
            pass
    return text[at : at + 1]


def encode_plainly(tokens, text):
    """As llama2.c describes it: after every merge, look at every pair again."""
    number = {piece: i for i, (_, piece) in reversed(list(enumerate(tokens)))}
    ids, at = [1], 0
    if text:
        ids.append(number[b" "])
    while at < len(text):
        piece = character(text, at)
        ids += [number[piece]] if piece in number else [byte + 3 for byte in piece]
        at += len(piece)
    while True:
        best = None
        for i in range(len(ids) - 1):
            joined = number.get(tokens[ids[i]][1] + tokens[ids[i + 1]][1])
            if joined is not None and tokens[joined][0] > (tokens[best[1]][0] if best else -1e10):
                best = i, joined
        if not best:
            return ids
        ids[best[0] : best[0] + 2] = [best[1]]


def decode_plainly(tokens, ids):
    text = b""
    for before, token in zip(ids, ids[1:]):
        piece = tokens[token][1]
        piece = piece[1:] if before == 1 and piece[:1] == b" " else piece
        text += bytes([int(piece[3:5], 16)]).strip(b"\0") if piece[:3] == b"<0x" and len(piece) == 6 else piece
    return text


def encode(file, vocab, texts):
    _, output = run(tool, "tokenizer", file, str(vocab), input="".join(text.hex() + "\n" for text in texts).encode())
    return output.splitlines()


def lines(tokens, texts):
    for text in texts:
        ids = encode_plainly(tokens, text)
        yield "".join(f"{i} " for i in ids) + "| " + decode_plainly(tokens, ids).hex()


def check_merging():
    tokens, draw = our_vocabulary(), numbers(9)
    file = write("ours.bin", tokenizer_file(tokens))
    letters = [b" ", b"a", b"b", b"c", b"a", "é".encode(), "語".encode(), b"z", b"\x80", b"\xff", b"<", b"\xc3"]
    texts = [b"".join(letters[next(draw) % (4 + next(draw) % 9)] for _ in range(next(draw) % 90)) for _ in range(400)]
    texts += [b"", b" ", b"a\0b", tokens[-1][1] * 9, b"a" * 500, b"ab" * 300, b"\x80" * 9]
    equal("407 texts merged as if every pair were looked at", encode(file, len(tokens), texts), list(lines(tokens, texts)))
    few = write("few.bin", tokenizer_file([(0, b"<unk>"), (0, b"<s>"), (0, b"</s>"), (0, b"<0x00>"), (0, b"a")]))
    equal("bytes beyond a small vocabulary are unknown", encode(few, 5, [b"a b", b"\0\1\2"]),
          ["1 4 0 0 | " + b"a<unk><unk>".hex(), "1 3 4 0 | " + b"a<unk>".hex()])
    long = b"abc " * 60000
    ids = [int(i) for i in encode(file, len(tokens), [long])[0].split("|")[0].split()]
    verdict("a text of 240,000 bytes is soon merged", decode_plainly(tokens, ids) == long)


def check_recorded():
    file = f"{data}/stories260k/tok512.bin"
    if not os.path.exists(file):
        skip("tok512.bin as llama2.c encodes", f"not in {data}; LATHE_DATA names the folder")
        return
    with open(f"{here}/encode.expected", encoding="ascii") as recorded:
        cases = [line.rstrip("\n").split(" => ") for line in recorded if not line.startswith("#")]
    texts = [ast.literal_eval(text) for text, _ in cases]
    expected = [f"{ids} | {text.hex()}" for text, (_, ids) in zip(texts, cases)]
    equal(f"{len(cases)} texts as llama2.c encoded them, and back", encode(file, 512, texts), expected)


def check_refused():
    tokens = our_vocabulary()
    good, n = tokenizer_file(tokens), len(tokens)
    nul, nan = list(tokens), list(tokens)
    nul[2] = (0, b"a\0b")
    nan[1] = (float("nan"), b"x")
    cases = [
        ("empty", b"", n, "not a tokenizer of llama2.c: it begins with the length of the longest token, 1 to 65536"),
        ("longest 0", b"\0" * 100, n, "not a tokenizer of llama2.c: it begins with the length of the longest token, 1 to 65536"),
        ("longest 65537", struct.pack("<i", 65537) + good[4:], n,
         "not a tokenizer of llama2.c: it begins with the length of the longest token, 1 to 65536"),
        ("a model of more tokens", good, n + 1, f"it has {n} tokens, but the model's vocabulary has {n + 1}"),
        ("a model of fewer tokens", good, n - 1, f"it has {n} tokens, but the model's vocabulary has {n - 1}"),
        ("two tokens", tokenizer_file(tokens[:2]), 2,
         "2 tokens are too few: tokens 0 to 2 are the unknown, the beginning and the end"),
        ("a token cut short", good[:-1], n,
         f"ends within token {n - 1}, which begins at byte {len(good) - len(tokens[-1][1]) - 8}"),
        ("a token's length cut short", good[:-len(tokens[-1][1]) - 1], n,
         f"ends within token {n - 1}, which begins at byte {len(good) - len(tokens[-1][1]) - 8}"),
        ("a 0 in a token", tokenizer_file(nul), n, "byte 38: token 2 contains a 0 byte"),
        ("a score that is no number", tokenizer_file(nan), n, "byte 17: the score of token 1 is not a number"),
        ("length 0", good[:8] + b"\0" * 4 + good[12:], n, "byte 4: token 0 has length 0, but the header allows 1 to 13"),
        ("negative length", good[:8] + b"\xff" * 4 + good[12:], n,
         "byte 4: token 0 has length -1, but the header allows 1 to 13"),
        ("longer than the longest", tokenizer_file(tokens, 12), n,
         f"byte {len(good) - len(tokens[-1][1]) - 29}: token {n - 2} has length 13, but the header allows 1 to 12"),
    ]
    for name, content, vocab, message in cases:
        file = write("refused.bin", content)
        equal(f"tokenizer refused: {name}", run(tool, "tokenizer", file, str(vocab)), (1, f"{file}: {message}\n"))
    equal("tokenizer refused: a directory", run(tool, "tokenizer", work, "5"),
          (1, f"{work}: a directory without tokenizer.json, vocab.json and merges.txt, tokenizer.model, spiece.model, vocab.txt and tekken.json\n"))


check_merging()
check_recorded()
check_refused()
finish()
