"""Models through two implementations in numpy, against the interpreter.  tests/numpy/run says which.

    python3 drive.py LATHE [SEED | moves:SEED | FILE.model]...

Each prints a line for `language` (language.py, of the model file) and one for `graph` (graph.py, of the graph as elaborated).
PROCESSES: how many at a time, if not two.
"""

import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "random"))

import hashed
import language
import moves
from generate import Model
from graph import Graph

BOUND = "1e-12"  # of a tensor's largest value


def lathe(driver, *arguments):
    return subprocess.run([driver, *arguments], capture_output=True, text=True, errors="replace")


def graph_of(driver, path):
    shown = lathe(driver, "show", path, "elaborated", "--json")
    if shown.returncode:
        raise ValueError(shown.stderr)
    return Graph(json.loads(shown.stdout)).record()


def compare(driver, path, record, work):
    """What is wrong, or None."""
    file = os.path.join(work, "record.safetensors")
    hashed.write_safetensors(file, record)
    told = lathe(driver, "verify", path, "--against", file, "--interpreter", "--bound", BOUND)
    return None if told.returncode == 0 else told.stdout + told.stderr


def written(what, work):
    """A model file, and its name in reports."""
    if what.endswith(".model"):
        return what, os.path.basename(what)[:-6]
    kind, _, seed = what.rpartition(":")
    path = os.path.join(work, f"random{seed}.model")
    with open(path, "w") as f:
        f.write(moves.write(int(seed)) if kind == "moves" else Model(int(seed)).write())
    return path, f"{kind or 'random'} {seed}"


def one(driver, what):
    """The lines of a report."""
    said = []
    with tempfile.TemporaryDirectory() as work:
        path, name = written(what, work)
        for way, record in (("language", lambda: language.Model(path).record()), ("graph", lambda: graph_of(driver, path))):
            try:
                wrong = compare(driver, path, record(), work)
            except NotImplementedError as beyond:
                said.append(f"skip numpy {way} {name}: {beyond}")
                continue
            except Exception as error:  # a model that one of the two reads otherwise may do anything
                wrong = f"{type(error).__name__}: {error}"
            said.append(f"ok numpy {way} {name}" if wrong is None else
                        f"FAIL numpy {way} {name}\n     " + wrong.strip().replace("\n", "\n     "))
    return said


def main(driver, *whats):
    failed = 0
    with concurrent.futures.ProcessPoolExecutor(int(os.environ.get("PROCESSES", 2))) as pool:
        for said in pool.map(one, [os.path.abspath(driver)] * len(whats), whats):
            print("\n".join(said), flush=True)
            failed += any(line.startswith("FAIL") for line in said)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
