"""How often random models have what: ops, kernels, builtins, blocks and schemes of the library, masks, repeats, inputs, outputs.

    python3 coverage.py DRIVER FIRST LAST             a table, and what no model of these seeds has
    python3 coverage.py --check DRIVER FIRST LAST     one line, ok or FAIL: every op, builtin and kernel is there

Ops are read from compiler/graph/ops.def, builtins from compiler/language/builtin.c, kernels from compiler/plan/dump_plan.c, blocks from models/lib: what
is new there is asked for by itself.  A block or scheme counts where a model or another block that counts names it.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile

from generate import Model

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Forms of the language, by what their source looks like.  S is scores.
FORMS = {
    "mask: causal, where": r"where\(col\(\w+\) <= row\(\w+\), \w+, -inf\)",
    "mask: causal, added": r"\+ where\(col\(\w+\) > row\(\w+\), -inf, 0\)",
    "mask: causal, block": r"mask: causal|causal\(v",
    "mask: sliding": r"sliding\(",
    "mask: near": r"\bnear\(",
    "mask: local and global": r"< 5 or col\(",
    "mask: diagonal blocks": r"// 4 == col\(",
    "mask: blocks, causal": r"// 4 <= row\(",
    "mask: dilated": r"% 3 != 1",
    "mask: by head": r"row\(\w+\) - head\(",
    "mask: prefix": r"< 3 or col\(",
    "mask: periodic": r"% 5 == 0, \w+, -inf",
    "mask: padding": r"visible\(",
    "mask: chosen keys": r"where\(top\(.*-inf",
    "mask: chosen blocks of keys": r"top\(real.*(\)'|, 2, 0\))\[col\(",
    "mask: chosen blocks of keys, by a key": r"% 7\)\[row\(.*\[col\(",
    "mask: chosen blocks of keys, one for all heads": r"\)\[none\], \d+\), 2, 0\)\[col\(",
    "scores of the own row": r"\[head\(\w+\), row\(\w+\), max",
    "mask: of a grid": r"neighbourhood\(",
    "mask: in turn": r"mask \[",
    "mask: hides what overflows": r"^# hidden$",
    "softmax: sink": r"sink: 0.5",
    "softmax: sink, a weight": r"sink: w",
    "softmax: by hand": r"/ sum\(exp\(",
    "softmax: by hand, of base 2": r"/ sum\(2 \^",
    "product: turned": r"' @ \(",
    "product: a sum": r"sum\(reshape\(v\d+, \[\.\., 1,",
    "product: a part": r"join\(\w+\(\w+, \d+\) \* 2",
    "product: beside ones": r"before: 1, value: 1\)\)\[",
    "product: by heads": r"(v\d+|none\]) @ (transpose\()?reshape\(w",
    "latents: keys joined with another part": r"join\(t?v\d+, t?v\d+\).* @ join\(",
    "latents: a sum of products": r"@ v\d+'\).* [+-] tv\d+ @",
    "latents: two softmaxes": r"\(softmax.* - .* \* softmax",
    "repeat": r"repeat",
    "repeat: one iteration": r"repeat \w+\[\w+\] : 1 ",
    "repeat: in a repeat": r"\[i2\]",
    "repeat: bodies differ": r"if i\d % ",
    "repeat: three bodies": r"else if i\d",
    "repeat: constants differ": r"\(1 \+ i\d\)",
    "repeat: slices differ": r"i\d\.\.i\d \+ 1",
    "repeat: two carried": r"= \[v\d+, v\d+\]",
    "over": r"\bover\b",
    "along": r"\balong\b",
    "positions: folded, or from their end": r"\(real\(index\(v?\w+, 0\)\) \* 0\.1\)",
    "iterations: one named": r"v\d+\[\d\]\.v",
    "iterations: named in a later repeat": r"v\d+\[[^]]*v\d+[^]]*\]\.v",
    "iterations: named in an over": r"v\d+\[[^]]*j[^]]*\]\.v",
    "iterations: of an over": r"mixv\d+\[\d\]\.uv",
    "iterations: of a repeat in a repeat": r"v\d+\[[^]]*\]\.v\d+\[[^]]*\]\.v",
    "over: two values": r", v\d+ = over",
    "over: in an over": r"over column",
    "over: summed": r"sum\(v\d+, axis: 0\)",
    "input: real": r"input \w+ : real\[\d",
    "input: real, over time": r"input \w+ : real\[time",
    "input: two columns a position": r"real\[2 \* time",
    "input: ids": r"input \w+ : id\(\d+\)\[\d",
    "input: ids, over time": r"input \w+ : id\(\d+\)\[time",
    "input: group": r"input \w+ \{",
    "input: scalar": r"level : real",
    "input: one id": r"class : id",
    "input: another dimension": r"\[length",
    "output: a row a position": r"output",
    "output: several": r"output out1",
    "options: taps": r"^# verify:.*--tap",
    "options: chunk": r"^# verify:.*--chunk",
    "options: positions": r"^# verify:.*-n ",
    "keys: more than 256": r"input x : real\[(257|300|513)|upto\((257|300)",
    "shared": r"shared",
    "block of the model": r"block b",
    "several results": r"v\d+, v\d+ = b",
    "transposed": r"v\d+'",
    "index: a tensor": r"\[abs\(",
    "index: two tensors": r"% \d+, \(",
    "index: a list": r"\[\[",
    "index: from the end": r"\[-1\]",
    "weight: a scalar": r"weight\[\]",
    "product of a long k": r"mlp\(v\d+, 577",
    "inherits": r"^model \w+ : ",
}


def read(*path):
    with open(os.path.join(ROOT, *path)) as f:
        return f.read()


def library():
    """Block or scheme -> its text; and the module each stands in."""
    found = {}
    for module in sorted(os.listdir(os.path.join(ROOT, "models", "lib"))):
        text = re.sub(r"#.*", "", read("models", "lib", module))
        for item in re.split(r"^(?=block |scheme |model |checkpoint |test )", text, flags=re.M):
            named = re.match(r"(block|scheme|model) (\w+)", item)
            if named:
                found[named.group(2)] = (named.group(1), module[:-6], item)
    return found


def words_of(text, lib):
    """All blocks that the text names, and that these name."""
    seen, todo = set(), [text]
    while todo:
        for word in set(re.findall(r"\b\w+\b(?! *:)", todo.pop())) - seen:
            seen.add(word)
            if word in lib:
                todo.append(lib[word][2])
    return seen


class Coverage:
    def __init__(self, driver):
        self.driver, self.lib = driver, library()
        self.count = collections.Counter()
        ops = re.findall(r"^OP\(\w+, +\"(\w+)\"", read("compiler", "graph", "ops.def"), re.M)
        kernels = re.findall(r"\[K_\w+\] = \"([\w ]+)\"", read("compiler", "plan", "dump_plan.c"))
        builtins = re.findall(r"^        \{\"(\w+)\", \d", read("compiler", "language", "builtin.c"), re.M)
        self.rows = [("op", o) for o in ops] + [("kernel", k) for k in kernels] + [("builtin", b) for b in builtins] + \
                    [(kind, f"{module}: {name}") for name, (kind, module, _) in self.lib.items() if kind != "model"] + \
                    [("form", f) for f in FORMS]
        self.wanted = {(kind, name) for kind, name in self.rows if kind in ("op", "kernel", "builtin")}

    def show(self, path, *words):
        return subprocess.run([self.driver, "show", path, *words], capture_output=True, text=True).stdout

    def add(self, seed, path):
        text = Model(seed).write()
        with open(path, "w") as f:
            f.write(text)
        options = ["--no-" + p for p in ("simplify", "stage", "absorb", "causal", "accumulate", "phases")]
        graphs = self.show(path, "graph", *options) + self.show(path, "graph")
        found = {("op", o) for o in re.findall(r"^ *%\d+ = (\w+)", graphs, re.M)}
        plan = self.show(path, "plan").split("\nbuffers\n")[0]
        steps = {"active": "active rows ", "repeat": "repeat "}
        found |= {("kernel", k) for kind, k in self.rows
                  if kind == "kernel" and re.search(r"^ *" + steps.get(k, rf"call \w+, kind {k}\b"), plan, re.M)}
        words = words_of(re.sub(r"#.*", "", text), self.lib)
        found |= {("builtin", w) for w in words}
        found |= {(self.lib[w][0], f"{self.lib[w][1]}: {w}") for w in words if w in self.lib}
        found |= {("form", name) for name, form in FORMS.items() if re.search(form, text, re.M)}
        self.count.update(found)

    def table(self):
        for kind in dict.fromkeys(k for k, _ in self.rows):
            print(f"{kind}s")
            for k, name in self.rows:
                if k == kind:
                    print(f"  {name:38}{self.count[k, name]:6}")

    def missing(self):
        return [row for row in self.rows if not self.count[row]]


def main(driver, first, last):
    c = Coverage(driver)
    with tempfile.TemporaryDirectory() as work:
        for seed in range(int(first), int(last) + 1):
            c.add(seed, os.path.join(work, "random.model"))
    return c


if __name__ == "__main__":
    check = sys.argv[1] == "--check"
    c = main(*sys.argv[1 + check:])
    if check:
        lacks = [f"{kind} {name}" for kind, name in c.missing() if (kind, name) in c.wanted]
        print("FAIL random coverage: no model has " + ", ".join(lacks) if lacks else "ok random coverage")
        sys.exit(1 if lacks else 0)
    c.table()
    print("in no model: " + (", ".join(f"{kind} {name}" for kind, name in c.missing()) or "nothing"))
