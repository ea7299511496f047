"""The C of random models under sanitizers.

    python3 sanitized.py DRIVER [SEED | FILE.model]...       a line for each: ok, or FAIL and why

`lathe verify --target scalar` builds each with -fsanitize=address,undefined and calls it whole, in pieces and step by step: what is read or
written outside of an input, an output or the instance ends it. Inputs and outputs are exactly as long as they have to be."""

import os
import subprocess
import sys
import tempfile

from generate import Model

CHECKS = "-fsanitize=address,undefined -fno-sanitize-recover=all"


def compiler(work):
    path = os.path.join(work, "cc")
    cc = os.environ.get("SANITIZED_CC") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../sanitizing-cc")
    with open(path, "w") as f:
        f.write(f'#!/bin/sh\nexec {cc} "$@" -O0 -w {CHECKS}\n')
    os.chmod(path, 0o755)
    return path


def main(driver, whats):
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        cc = compiler(work)
        with open(os.path.join(work, "none.c"), "w") as f:
            f.write("int main(void) { return 0; }\n")
        tried = subprocess.run([cc, os.path.join(work, "none.c"), "-o", os.path.join(work, "none")], capture_output=True)
        if tried.returncode:
            print("skip sanitized random models: the compiler has no sanitizers")
            return 0
        for what in whats:
            path = what
            if not what.endswith(".model"):
                path = os.path.join(work, f"random{what}.model")
                with open(path, "w") as f:
                    f.write(Model(int(what)).write())
            run = subprocess.run([driver, "verify", path, "--target", "scalar"], capture_output=True, text=True, errors="replace",
                                 env=dict(os.environ, CC=cc, ASAN_OPTIONS="detect_leaks=0"), timeout=1200)
            print(f"{'ok' if run.returncode == 0 else 'FAIL'} sanitized random {os.path.basename(what)}")
            if run.returncode:
                print("     " + (run.stdout + run.stderr).replace("\n", "\n     "))
                failed = 1
    return failed


sys.exit(main(sys.argv[1], sys.argv[2:]))
