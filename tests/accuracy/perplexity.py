"""What rounding costs two trained models on tales that training never saw, each read from its beginning.

    python3 perplexity.py LATHE

ROWS holds by how much perplexity may grow, in per cent of that of f32, and how far off that may be.  Rows that are MEASURED have no
bound but what was found: bits are the same on every machine, so a figure that moves says that something has changed.

Perplexity on so few tales is mostly chance: it may fall.  The KL divergence from f32 is steadier.  For types of 4 bits it must not be above that
of the blocks that the package gguf makes of the same weights, which package.py has recorded.  Prints ok or FAIL for each."""

import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TALE = pathlib.Path(__file__).resolve().parents[2] / "models" / "tale"
sys.path.insert(0, str(TALE))
import tales  # noqa: E402

HELD_OUT, RECORDED_TALES = 3, 16  # the seed of train.py
MEASURED = 0.001  # of what is recorded: digits are cut off
SIZES = {"tale": [], "wide": ["layers=2", "heads=8", "kv_heads=4", "d_model=256", "d_ff=512"]}
ROWS = [("tale", "q8_0", 0, 0.1), ("tale", "q4_0", 0.1923, MEASURED), ("tale", "q4_1", 0.3208, MEASURED), ("tale", "mxfp4", 1.5362, MEASURED),
        ("tale", "q5_0", -0.1979, MEASURED), ("tale", "q5_1", 0.0685, MEASURED), ("tale", "iq4_nl", 0.7098, MEASURED),
        ("wide", "q2_k", 28.3283, MEASURED), ("wide", "q3_k", 1.5312, MEASURED), ("wide", "iq4_xs", 0.4571, MEASURED),
        ("wide", "q6_k", 0, 0.5), ("wide", "q5_k", -0.0347, MEASURED), ("wide", "q4_k", 0, 3), ("wide", "q4_0", 0.5349, MEASURED)]

QUICK = {("tale", "q4_0"), ("wide", "q5_k")}
FORM = os.environ.get("LATHE_TESTS", "all")


def costs(lathe, size, quant, text):
    """Tokens, by how much the logarithm of perplexity grows, and the mean KL divergence."""
    command = [lathe, "verify", TALE.with_suffix(".model"), "--weights", TALE / f"{size}.safetensors", "--tokenizer", TALE / "tokenizer.bin",
               "--text", text, "--quant", quant, "--top", "0", "--jit", "tcc"]
    for setting in SIZES[size]:
        command += ["-D", setting]
    out = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    exact, narrow = re.search(r"^perplexity +(\S+) +(\S+)$", out, re.M).groups()
    return int(re.search(r": (\d+) tokens", out)[1]), math.log(float(narrow) / float(exact)), float(re.search(r" mean (\S+),", out)[1])


def recorded():
    """The package's divergences, by size and type."""
    lines = pathlib.Path(__file__).with_name("package.txt").read_text().splitlines()
    return {(size, quant): float(divergence) for size, quant, divergence in map(str.split, lines)}


def main():
    failed = False
    package = recorded()
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / "tale.txt"
        for size, quant, expected, off in ROWS:
            if FORM != "all" and ((size, quant) in QUICK) != (FORM == "quick"):
                continue
            tokens, change, divergence = 0, 0, 0
            for tale in tales.write_tales(HELD_OUT, RECORDED_TALES):
                text.write_text(tale)
                n, grown, mean = costs(sys.argv[1], size, quant, text)
                tokens, change, divergence = tokens + n, change + n * grown, divergence + n * mean
            grown, mean, most = 100 * math.expm1(change / tokens), divergence / tokens, package.get((size, quant), math.inf)
            good = abs(grown - expected) <= off and mean <= most
            failed |= not good
            print(f"{'ok' if good else 'FAIL'} accuracy {size} in {quant}: perplexity {grown:+.4f} %, {expected} % is wanted, {off} % off at most; "
                  f"KL divergence {mean:.4g}" + (f", the package's {most:.4g}" if most < math.inf else ""))
    return failed


if __name__ == "__main__":
    sys.exit(main())
