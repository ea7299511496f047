"""A GGUF with a tensor of random blocks: moved.py TYPE OUT"""
import pathlib, random, struct, sys
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "gguf")]
import gguf_file
kind, out = sys.argv[1:]
number, values, size = gguf_file.TYPES[kind]
random.seed(1)
data = bytearray(random.randbytes(160 * 512 // values * size))
for block in range(0, len(data), size):
    for at in gguf_file.FACTORS[kind]:
        data[block + at:block + at + 2] = struct.pack("<e", random.uniform(-0.1, 0.1))
    if kind == "MXFP4":
        data[block] = random.randrange(118, 130)
    if kind == "IQ1_M":
        gguf_file.set_iq1_m_factor(data, block, random.randrange(0x1400, 0x2c00))
pathlib.Path(out).write_bytes(gguf_file.gguf([("general.architecture", gguf_file.TEXT, "it")], [("wv", [160, 512], kind, bytes(data))]))
