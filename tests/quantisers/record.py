"""Makes recorded.txt, which the tests of the quantisers compare with: record.py TOOL >recorded.txt, where TOOL is tool.c, built.

A line for each type and distribution: hashes of the floats, of the bytes that TOOL quantises them to, and of the floats that the package
gguf dequantises from these; then the squared error a weight of the package's own quantiser, -1 where it has none.  The floats are made
here as in tool.c, from integers.  Made with gguf 0.19.0 and numpy 2.4.6; neither is needed by the tests."""
import subprocess
import sys

import numpy as np
from gguf import GGMLQuantizationType
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize, quantize

N = 16384
TYPES = ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "MXFP4", "IQ4_NL", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS"]
U = np.uint64


def mix(z):
    z = z + U(0x9E3779B97F4A7C15)
    z = (z ^ z >> U(30)) * U(0xBF58476D1CE4E5B9)
    z = (z ^ z >> U(27)) * U(0x94D049BB133111EB)
    return z ^ z >> U(31)


def normal(seed):
    fields = [mix(U(3) * seed + U(i)) >> U(16 * j) & U(0xFFFF) for i in range(3) for j in range(4)]
    return (sum(fields).astype(np.int64) - 6 * 65535).astype(np.float64) / 65536


def uniform(seed):
    return (mix(seed) >> U(40)).astype(np.float64) / 16777216 - 0.5


DISTRIBUTIONS = {
    "normal": lambda i, seed, x: x * 0.02,
    "uniform": lambda i, seed, x: uniform(seed),
    "tails": lambda i, seed, x: x * x * x * 0.01,
    "outlier": lambda i, seed, x: np.where(i % U(256) == 5, x * 8, np.where(i % U(32) == 9, x * 2, x * 0.25)),
    "offset": lambda i, seed, x: x * 0.01 + 0.05,
    "scales": lambda i, seed, x: x * (uniform(i // U(32) + U(99)) + 0.5) * (uniform(i // U(32) + U(99)) + 0.5),
    "gaps": lambda i, seed, x: np.where(mix(seed + U(5)) % U(4) != 0, 0.0, x),
    "small": lambda i, seed, x: x * 0.0001,
    "large": lambda i, seed, x: x * 60000,
    "grid": lambda i, seed, x: (mix(seed) % U(16)).astype(np.float64) * 0.25 - 2,
    "constant": lambda i, seed, x: uniform(i // U(256) + U(77)),
    "tiny": lambda i, seed, x: x * 1e-38,
    "huge": lambda i, seed, x: x * 1e37,
    "zero": lambda i, seed, x: np.where(i % U(3) != 0, 0.0, -0.0),
}


def hash_of(bits):
    return int(np.sum(mix(np.arange(len(bits), dtype=U) << U(32) | bits.astype(U)), dtype=U))


def error_of_package(floats, kind):
    try:
        read = dequantize(quantize(floats.reshape(1, -1), kind), kind).reshape(-1)
    except NotImplementedError:
        return -1.0
    squares = (floats.astype(np.float64) - read.astype(np.float64)) ** 2
    error = np.cumsum(squares)[-1] / N  # in the order of tool.c
    return error if np.isfinite(error) else np.inf


def main(tool):
    blocks = subprocess.run([tool, "blocks"], check=True, capture_output=True, stdin=subprocess.DEVNULL).stdout
    at = 0
    i = np.arange(N, dtype=U)
    for name in TYPES:
        kind = GGMLQuantizationType[name]
        values, size = GGML_QUANT_SIZES[kind]
        for number, (distribution, make) in enumerate(DISTRIBUTIONS.items()):
            seed = U(number * N) + i
            floats = make(i, seed, normal(seed)).astype(np.float32)
            ours = np.frombuffer(blocks, np.uint8, N // values * size, at)
            at += len(ours)
            read = dequantize(ours.reshape(1, -1), kind).astype(np.float32).reshape(-1)
            hashes = (f"{hash_of(bits):016x}" for bits in (floats.view(np.uint32), ours, read.view(np.uint32)))
            print(name, distribution, *hashes, f"{error_of_package(floats, kind):.17g}")
    assert at == len(blocks)


np.seterr(over="ignore", invalid="ignore")
main(sys.argv[1])
