"""A GGUF with matrices of random blocks: blocks.py OUT NAME:ROWSxCOLUMNS:TYPE..."""
import pathlib, random, struct, sys
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "gguf")]
import gguf_file
SIZE = {"Q8_0": 1e-3, "Q4_K": 1e-4, "Q5_K": 1e-4, "Q6_K": 1e-5}


def blocks(kind, n):
    _, values, size = gguf_file.TYPES[kind]
    data = bytearray(random.randbytes(n // values * size))
    for block in range(0, len(data), size):
        for at in gguf_file.FACTORS[kind]:
            data[block + at:block + at + 2] = struct.pack("<e", random.uniform(-SIZE[kind], SIZE[kind]))
    return bytes(data)


random.seed(2)
tensors = []
for given in sys.argv[2:]:
    name, shape, kind = given.split(":")
    rows, columns = map(int, shape.split("x"))
    tensors.append((name, [rows, columns], kind, blocks(kind, rows * columns)))
pathlib.Path(sys.argv[1]).write_bytes(gguf_file.gguf([("general.architecture", gguf_file.TEXT, "it")], tensors))
