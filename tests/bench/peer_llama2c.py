"""stories15M's shape in llama2.c's legacy format with random weights, and a tokenizer.   python peer_llama2c.py MODEL TOKENIZER"""
import array
import random
import struct
import sys

DIM, HIDDEN, LAYERS, HEADS, VOCAB, CONTEXT = 288, 768, 6, 6, 32000, 256


def main():
    model, tokenizer = sys.argv[1:]
    rng = random.Random(1)
    some = array.array("f", (rng.uniform(-0.06, 0.06) for _ in range(1 << 16)))
    layer = 2 * DIM + 4 * DIM * DIM + 3 * DIM * HIDDEN
    left = VOCAB * DIM + LAYERS * layer + DIM + CONTEXT * DIM // HEADS
    with open(model, "wb") as f:
        f.write(struct.pack("<7i", DIM, HIDDEN, LAYERS, HEADS, HEADS, VOCAB, CONTEXT))
        while left > 0:
            f.write(some[:left].tobytes())
            left -= len(some)
    with open(tokenizer, "wb") as f:
        f.write(struct.pack("<i", 8))
        for i in range(VOCAB):
            piece = ("<unk>", "<s>", "</s>")[i] if i < 3 else f"<0x{i - 3:02X}>" if i < 259 else f"t{i} "
            f.write(struct.pack("<fi", -i, len(piece)) + piece.encode())


main()
