"""A byte-pair tokenizer in the file format of llama2.c: training, encoding, decoding.

File, little endian: int32 longest piece in bytes, then for every id float32 score, int32 length,
the piece's bytes. Ids: 0 <unk>, 1 <s> (begin), 2 </s> (end), 3..258 the bytes "<0x00>".."<0xFF>",
then the learnt merges, best score first, then the single characters of the text.

Training is byte-pair encoding (Sennrich et al. 2016): join the most frequent neighbours within a
word, again and again; a tie goes to the pair that sorts first. A word takes the space before it
along. A character that the file does not hold is spelt in its UTF-8 bytes.
"""

import collections
import re
import struct

BEGIN, END, FIRST_BYTE, FIRST_PIECE = 1, 2, 3, 259
WORD = re.compile(r" ?[A-Za-z]+| ?[^A-Za-z\s]|\s")
SPELT_AS_BYTES = "\n"


def split_words(text):
    return WORD.findall(text)


def join_pair(parts, pair):
    """parts with every occurrence of the pair made one, left to right."""
    joined, i = [], 0
    while i < len(parts):
        if tuple(parts[i:i + 2]) == pair:
            joined.append(parts[i] + parts[i + 1])
            i += 2
        else:
            joined.append(parts[i])
            i += 1
    return tuple(joined)


def train(texts, vocab):
    """The pieces, id FIRST_PIECE first: merges in the order they were learnt, then characters."""
    counts = collections.Counter(word for text in texts for word in split_words(" " + text))
    characters = sorted(set("".join(counts)) - set(SPELT_AS_BYTES))
    words = {tuple(word): count for word, count in counts.items()}
    merges = []
    while FIRST_PIECE + len(merges) + len(characters) < vocab:
        pairs = collections.Counter()
        for parts, count in words.items():
            for pair in zip(parts, parts[1:]):
                pairs[pair] += count
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best[0] + best[1])
        words = {join_pair(parts, best): count for parts, count in words.items()}
    return merges + characters


class Tokenizer:
    def __init__(self, pieces):
        self.pieces = pieces
        self.id_of = {piece: FIRST_PIECE + i for i, piece in enumerate(pieces)}
        self.known = {}

    def encode_word(self, word):
        """Greedy: join the neighbours whose union scores best, the leftmost of equals, until none is left."""
        parts = list(word)
        while True:
            found = [(self.id_of[a + b], i) for i, (a, b) in enumerate(zip(parts, parts[1:]))
                     if a + b in self.id_of]
            if not found:
                break
            _, i = min(found)
            parts[i:i + 2] = [parts[i] + parts[i + 1]]
        ids = []
        for part in parts:
            ids += [self.id_of[part]] if part in self.id_of else [FIRST_BYTE + b for b in part.encode()]
        return ids

    def encode(self, text):
        """Without begin and end; one space is put before the text. No piece spans two words."""
        ids = []
        for word in split_words(" " + text):
            if word not in self.known:
                self.known[word] = self.encode_word(word)
            ids += self.known[word]
        return ids

    def decode(self, ids):
        """The bytes of ids that follow BEGIN: the first piece loses its space."""
        parts = [bytes([i - FIRST_BYTE]) if i < FIRST_PIECE else self.pieces[i - FIRST_PIECE].encode()
                 for i in ids]
        text = b"".join(parts)
        return text[1:] if parts and parts[0].startswith(b" ") else text

    def save(self, path):
        rows = [(0.0, b"<unk>"), (0.0, b"\n<s>\n"), (0.0, b"\n</s>\n")]
        rows += [(0.0, b"<0x%02X>" % byte) for byte in range(256)]
        rows += [(float(-i), piece.encode()) for i, piece in enumerate(self.pieces)]
        with open(path, "wb") as file:
            file.write(struct.pack("<i", max(len(piece) for _, piece in rows)))
            for score, piece in rows:
                file.write(struct.pack("<fi", score, len(piece)) + piece)
