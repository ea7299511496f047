"""Random models of the library whose weights, keys and values have random storage types: the same bits on every target.

    python3 narrow.py DRIVER SEED...      a line for each: ok, or FAIL, why, and the model

A model's golden is recorded on scalar, by the interpreter of kernels for every second seed and by libtcc for the others. It is
checked by both, on every target that runs here, with 1 to 3 threads, whole, in pieces and step by step, in batches of two. The golden
holds bits alone: what the kernels compute is checked by tests/blocks.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

from core import Random
from drive import PROCESSES, targets

TYPES = "f32 f16 bf16 q8_0 q4_0 q4_1 q5_0 q5_1 mxfp4 iq4_nl q2_k q3_k q4_k q5_k q6_k iq4_xs".split()
MIXTURES = "Q4_K_S Q4_K_M Q5_K_S Q5_K_M".split()


class Narrow:
    def __init__(self, seed):
        self.r = Random(seed)
        self.layers = 2 + self.r.below(4)

    def model(self):
        """Widths are multiples of 32 or 256, but for a feed-forward that no block divides."""
        r = self.r
        heads, groups = r.pick([(2, 1), (4, 2), (4, 4), (8, 2)])
        width = r.pick([64, 96, 256, 256, 256])
        inner = r.pick([64, 100, 256, 512])
        sizes = f"vocab {r.pick([50, 97, 128])}  context {r.pick([19, 40, 300])}  layers {self.layers}  heads {heads}"
        sizes += f"  kv_heads {groups}  d_model {heads * 8 if width % heads else width}  d_ff {inner}"
        family = r.pick(["decoder", "decoder", "mixtral"])
        lines = [f"import {'mixtures' if family == 'mixtral' else family}", f"model narrow : {family} {{", f"    {sizes}"]
        if family == "mixtral":
            lines.append(f"    experts {2 + r.below(3)}  active 2")
        else:
            lines += [f"    {line}" for line in ("mask [sliding(window: 5), causal]", "parallel true", "tied false", "bias true",
                                                 "block ffn(x) = mlp(x, d_ff)", "position alibi(heads:)") if r.chance(25)]
        return "\n".join(lines) + "\n}\n"

    def types(self, weights):
        """What --quant is given: a type or a mixture, and other types for some weights of some layers."""
        r = self.r
        chosen = [r.pick(MIXTURES) if r.chance(20) else r.pick(TYPES)]
        for _ in range(r.below(4)):
            first = r.below(self.layers)
            layers = r.pick(["*", f"{first}", f"{first}..{first + 1 + r.below(self.layers - first)}"])
            path = r.pick(weights).replace(".{i}", f"[{layers}]").replace(".{j}", "[*]")
            chosen.append(f"{path}={r.pick(TYPES)}")
        return ",".join(chosen)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace")


def checks(driver, seed):
    """Options of golden check: all targets that run here through libtcc, one by the interpreter; for every eighth model another one,
    one under an emulator among them, by the system's compiler."""
    here, every = targets(driver, "runs here|native"), targets(driver)
    yield ["--jit", "tcc", "--target", "scalar", *[w for t in here for w in ("--target", t)]]
    yield ["--jit", "code", "--target", "scalar"]
    if every and seed % 8 == 0:
        yield ["--jit", "cc", "--target", every[seed // 8 % len(every)]]


def check(driver, seed, folder):
    """None, or what was said."""
    narrow = Narrow(seed)
    path, golden = f"{folder}/narrow{seed}.model", f"{folder}/narrow{seed}.golden"
    text = narrow.model()
    with open(path, "w") as f:
        f.write(text)
    shown = run(driver, "show", path, "params")
    weights = re.findall(r"^(\S+) +\[\d+, ", shown.stdout, re.M)
    if not weights:
        return f"{shown.stdout}{shown.stderr}\n{text}"
    kept = ["--quant", narrow.types(weights), "--kv", narrow.r.pick(["f32", "f16", "q8"])]
    done = run(driver, "golden", "record", path, *kept, "--target", "scalar", "--jit", ["tcc", "code"][seed % 2], "-o", golden)
    for options in checks(driver, seed):
        if not done.returncode:
            done = run(driver, "golden", "check", golden, "--slots", "2", *options)
    return f"{done.stdout}{done.stderr}\n{' '.join(kept)}\n{text}" if done.returncode else None


def main():
    driver, failed = os.path.abspath(sys.argv[1]), 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
        seeds = [int(s) for s in sys.argv[2:]]
        for seed, said in zip(seeds, pool.map(lambda s: check(driver, s, folder), seeds)):
            print(f"FAIL narrow {seed}: {said}" if said else f"ok narrow {seed}", flush=True)
            failed |= bool(said)
    return failed


if __name__ == "__main__":
    sys.exit(main())
