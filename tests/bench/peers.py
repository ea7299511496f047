"""Peers of the benchmarks: other programs on random weights of the same shapes and types."""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def run(command, **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode:
        sys.exit(f"bench: {' '.join(map(str, command))}: {done.stderr.strip()}")
    return done


class LlamaCpp:
    """llama-bench on a GGUF that peer_gguf.py writes."""
    name = "llama.cpp"

    def __new__(cls, o, at, work, storage):
        return super().__new__(cls) if o.llama_bench and o.python else None

    def __init__(self, o, at, work, storage):
        self.program, self.file = o.llama_bench, f"{at}/{work}-{storage}.gguf"
        run([o.python, f"{HERE}/peer_gguf.py", work, storage, self.file])

    def measure(self, threads, lengths, steps):
        said = run([self.program, "-m", self.file, "-t", threads, "-p", ",".join(map(str, lengths)), "-n", steps, "-r", 1, "-ngl", 0,
                    "-o", "json"]).stdout
        found = json.loads(said)
        return {row["n_prompt"] if row["n_prompt"] else "decode": row["avg_ts"] for row in found}

    def __del__(self):
        if os.path.exists(self.file):
            os.remove(self.file)


class Llama2c:
    """karpathy's run.c, in f32."""
    name = "llama2.c"

    def __new__(cls, o, at, work, storage):
        return super().__new__(cls) if o.llama2c and storage == "f32" else None

    def __init__(self, o, at, work, storage):
        self.at = at
        run([o.cc, "-w", "-Ofast", "-march=native", o.llama2c, "-lm", "-o", f"{at}/llama2c-1"])
        run([o.cc, "-w", "-Ofast", "-march=native", "-fopenmp", o.llama2c, "-lm", "-o", f"{at}/llama2c"])
        run([sys.executable, f"{HERE}/peer_llama2c.py", f"{at}/llama2c.bin", f"{at}/llama2c.tok"])

    def measure(self, threads, lengths, steps):
        said = run([f"{self.at}/llama2c{'-1' if threads == 1 else ''}", f"{self.at}/llama2c.bin", "-z", f"{self.at}/llama2c.tok",
                    "-t", 0, "-n", steps + 1], env={**os.environ, "OMP_NUM_THREADS": str(threads)}).stderr
        return {"decode": float(re.search(r"tok/s: ([\d.]+)", said).group(1))}


class OnnxRuntime:
    """The same encoder as a graph of ONNX."""
    name = "ONNX Runtime"

    def __new__(cls, o, at, work, storage):
        return super().__new__(cls) if o.python and storage == "f32" else None

    def __init__(self, o, at, work, storage):
        self.python, self.work, self.file = o.python, work, f"{at}/{work}.onnx"
        run([self.python, f"{HERE}/peer_onnx.py", "write", work, self.file])

    def measure(self, threads, lengths, steps):
        return {lengths[0]: float(run([self.python, f"{HERE}/peer_onnx.py", "time", self.file, threads]).stdout)}


MAKERS = [LlamaCpp, Llama2c, OnnxRuntime]
