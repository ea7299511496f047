"""Random well-typed models in the language.

    python3 generate.py SEED > model.model

The seed decides the model, on every machine.  Even seeds make models over a named dimension, in which position i may or may not
read later ones; odd seeds make models of fixed shapes; one in twelve is a model of the library with other hyperparameters.  Sizes
are small and mostly awkward: 1, primes, one more and one less than 16.  A first line `# verify: ...` gives options for `lathe verify`.

Values are kept tame, so that an error of compiled code against the interpreter is one of code and not of conditioning: magnitudes
are estimated and held in bounds, what is divided by or rooted is kept away from 0, and whatever is not continuous (comparisons,
floor, argmax, top) is asked of what is the same in float and in double, or has a margin (Formulas.decided).  What a mask hides from
a row may be as large as doubles hold (hidden.py).
"""

import sys

from ahead import Ahead
from along import Along
from attended import Attended
from blocks import Blocks
from core import MOST_ELEMENTS, SIZES, Core, Random
from families import Families
from formulas import Formulas
from hidden import Hidden
from latents import Latents
from layers import Layers
from library import Library
from neighbours import Neighbours
from operands import Operands
from pairs import Pairs
from recurrent import Recurrent
from shared import Shared
from iterations import Iterations


PARTS = [Core, Formulas, Blocks, Library, Families, Pairs, Ahead, Along, Attended, Hidden, Iterations, Latents, Layers, Neighbours, Operands,
         Recurrent, Shared]
METHODS = [name for part in PARTS for name in vars(part) if not name.startswith("__")]
if len(set(METHODS)) < len(METHODS):
    raise TypeError("more than one part of Model has " + ", ".join(sorted({name for name in METHODS if METHODS.count(name) > 1})))


class Model(*PARTS):
    def __init__(self, seed):
        super().__init__(seed)
        self.imports, self.before = [], []
        self.nested = False

    def step(self, deep=False):
        if self.ahead and self.ahead.chance(25) and self.do_ahead():
            return
        kinds = [self.do_unary] * 3 + [self.do_binary] * 4 + [self.do_where] * 2 + [self.do_linear] * 3 + [self.do_matmul] * 2 + \
                [self.do_fold] * 2 + [self.do_norm] * 2 + [self.do_softmax] + [self.do_move] * 4 + [self.do_convolution] + \
                [self.do_integers, self.do_truths, self.do_real, self.do_lookup, self.do_block, self.do_running]
        if not deep:
            kinds += [self.do_attention] * 4 + [self.do_repeat] * 2 + [self.do_over, self.do_experts] + \
                     [self.do_condition, self.do_picture, self.do_streams, self.do_grid, self.do_pool, self.do_position, self.do_tokens, self.do_length]
        elif self.r.chance(30):
            kinds = [self.do_attention, self.do_attention, self.do_experts, self.do_over, self.do_repeat]
        for _ in range(20):
            if self.r.pick(kinds)():
                return

    # ---- inputs ----

    def sequence(self, name, dimension):
        """Tokens or rows over a dimension."""
        if self.r.chance(50):
            vocab, d = self.r.pick([7, 50, 96, 129]), self.r.pick(SIZES[3:7] if self.long else SIZES[3:])
            self.line(f"input {name} : id({vocab})[{dimension}]")
            self.add(name, [dimension], vocab, kind="int")
            self.let(f"{self.weight([vocab, d])}[{name}]", [dimension, d], 1)
        elif self.r.chance(12):
            d = self.r.pick([3, 4])
            self.line(f"input {name} : real[2 * {dimension}, {d}]")
            self.let(f"reshape({name}, [{dimension}, {2 * d}])", [dimension, 2 * d], 1, exact=True)
            self.causal = False
        else:
            d = self.r.pick(SIZES[:7] if self.long else SIZES)
            self.line(f"input {name} : real[{dimension}, {d}]")
            self.add(name, [dimension, d], 1, exact=True)

    def apart(self):
        """A group of inputs that does not run over time."""
        fields, name = [], self.r.pick(["condition", "source"])
        if self.r.chance(60):
            fields.append(("level", "real", [], "real", 1))
        if self.r.chance(40):
            fields.append(("class", "id(10)", [], "int", 10))
        if self.r.chance(50) or not fields:
            d = self.r.pick(SIZES)
            rows = self.r.pick([5, 16, "length"])
            if rows == "length":
                self.bounds["length"] = self.r.pick([9, 17, 33])
                self.line(f"length : upto({self.bounds['length']})")
            if self.r.chance(50):
                fields.append(("memory", f"real[{rows}, {d}]", [rows, d], "real", 1))
            else:
                fields.append(("words", f"id(40)[{rows}]", [rows], "int", 40))
        self.line(f"input {name} {{ {';  '.join(f'{f} : {t}' for f, t, *_ in fields)} }}")
        for f, _, shape, kind, most in fields:
            self.add(f, shape, most, exact=True, kind=kind)
            if f == "words":
                self.let(f"{self.weight([40, 6])}[words]", shape + [6], 1)
            if f == "class":
                self.let(f"{self.weight([10, 7])}[class]", [7], 1)

    def inputs_over_time(self):
        self.time = "time"
        self.long = self.r.chance(6)
        self.bounds["time"] = self.r.pick([130, 257, 300] if self.long else [17, 31, 40, 57, 16, 29])
        self.causal = self.r.chance(60)
        self.line(f"time : upto({self.bounds['time']})")
        self.start_ahead()
        self.sequence("x", "time")
        if self.r.chance(15):
            self.sequence("y", "time")
        if self.r.chance(30):
            self.apart()

    def inputs_of_fixed_shape(self):
        if self.r.chance(5):
            self.long, shape = True, [self.r.pick([257, 300, 513]), self.r.pick([2, 3, 8])]
            self.line(f"input x : real[{shape[0]}, {shape[1]}]")
            self.add("x", shape, 1, exact=True)
            return
        for name in ["x", "y", "z"][:1 + self.r.below(3)]:
            rank = 1 + self.r.below(3) + (name == "x")
            shape = [self.r.pick(SIZES) for _ in range(min(rank, 3))]
            while self.elements(shape) > MOST_ELEMENTS // 2:
                shape[self.r.below(len(shape))] = self.r.pick(SIZES[:6])
            if self.r.chance(12):
                side = self.r.pick([2, 4, 6])
                shape = self.r.pick([[self.r.pick([1, 3]), side, side], [side * side, self.r.pick([4, 6])]])
            if len(shape) == 1 and self.r.chance(30):
                self.line(f"input {name} : id(23)[{shape[0]}]")
                self.add(name, shape, 23, kind="int")
                self.let(f"{self.weight([23, 5])}[{name}]", shape + [5], 1)
                continue
            self.line(f"input {name} : real[{', '.join(map(str, shape))}]")
            self.add(name, shape, 1, exact=True)
        if self.r.chance(20):
            self.apart()

    def apart_from_others(self, word, percent, work):
        """Draws of their own, so that what other seeds make stays as it is."""
        own = Random(int.from_bytes(word.encode(), "little") + self.seed)
        if own.chance(percent):
            self.r, others = own, self.r
            work()
            self.r = others

    def rows_of_ids(self):
        """A batch of ids, and a mask of it: rows chosen by the index of a repeat, and by other ids."""
        r, n, d = self.r, self.r.pick([2, 3, 5]), self.r.pick([4, 8, 11])
        t = self.time or r.pick([1, 3, 5, 16, 19])
        self.line(f"input rows : id(50)[{n}, {t}]")
        self.line(f"input keep : id(2)[{n}, {t}]")
        self.add("rows", [n, t], 50, kind="int")
        table = self.weight([50, d])
        e = f"e = {table}[rows[i]]"
        masked = "softmax(where(keep[i] == 1, e @ e' * 0.1, -inf)) @ e"
        texts = [(f"over row[i] : {n} {{ return {table}[rows[i]] }}", [n, t, d], 1),
                 (f"over row[i] : {n} {{ return real(rows[i]) / 8 + keep[{n - 1} - i] }}", [n, t], 8),
                 (f"over row[i] : {n} {{ {e};  return {masked} }}", [n, t, d], 1),
                 (f"over row[i] : {n} {{ {e};  return keep[i] @ e / {self.size(t)} }}", [n, d], 1)]
        if not self.time:
            self.line(f"input chosen : id({n})[7]")
            texts += [("real(rows[chosen]) / 8", [7, t], 8), (f"{table}[rows[chosen]]", [7, t, d], 1)] * 2
        for text, shape, most in [r.pick(texts), r.pick(texts)]:
            if self.fits(shape):
                self.let(text, shape, most)

    # ---- the whole ----

    def outputs(self):
        """What nothing else uses, and then some; of a causal model they run over positions."""
        def fit(v):
            rows = v.shape.count(self.time)
            named = sum(not isinstance(d, int) for d in v.shape)
            return v.name.startswith("v") and (not self.time or (rows <= 1 and rows >= self.causal and named == rows)) and \
                (not self.shares or v.shape[:1] == [self.time])

        made = [v for v in self.pool if fit(v)]
        idle = [v for v in made if v.name not in self.used][-6:]
        chosen = idle or made[-1:] or [v for v in self.pool if v.shape][:1]
        if self.r.chance(20) and made:
            chosen = chosen + [self.r.pick(made)]
        for i, v in enumerate(chosen):
            self.line(f"output out{i} = {v.name}" + (self.r.pick(["", "", " * 1", " + 0.5"]) if v.kind == "real" else ""))

    def composite(self, shape):
        return any(not isinstance(d, int) for d in shape)

    def options(self):
        """For verify, behind # verify:"""
        r, found = self.r, ["-n", str(self.bounds["time"] - self.r.below(3))] if self.long and self.time else []
        if r.chance(25):
            found += ["--chunk", str(r.pick([7, 64, 100] if self.long else [1, 2, 5, 16]))]
        taps = [v for v in self.pool if v.name.startswith("v") and (not self.time or v.shape[:1] == [self.time] and
                                                                    not self.composite(v.shape[1:]))]
        if r.chance(15) and taps and len(set(v.name for v in taps)) == len(taps):
            found += ["--tap", r.pick(taps).name]
        return found

    def write(self):
        name, options = f"random{self.seed}", []
        if self.r.chance(8):
            self.imports, parent, lines = self.family()
            self.imports = [f"import {m}" for m in self.imports]
            self.lines, name = ["    " + line for line in lines], f"{name} : {parent}"
            options = self.r.pick([[], [], ["--chunk", "3"]])
        else:
            self.inputs_over_time() if self.seed % 2 == 0 else self.inputs_of_fixed_shape()
            if not self.causal and not self.long:
                self.apart_from_others("rows", 20, self.rows_of_ids)
            for _ in range(3 + self.r.below(4) if self.long else 5 + self.r.below(10)):
                self.step()
            self.apart_from_others("far", 30, self.do_far)
            self.apart_from_others("latents", 35 if self.time else 8, self.do_latents)
            if self.iterations:
                self.apart_from_others("iterations", 60, self.do_iterations)
            if self.time and not self.causal:
                self.apart_from_others("positions", 30, self.do_positions)
            self.apart_from_others("attended", 40, self.do_attended)
            self.apart_from_others("layers", 20, self.do_layers)
            if self.time and self.causal:
                self.apart_from_others("shared", 30, self.do_shared)
            self.pairs()
            self.hidden()
            self.recurrent()
            if not self.long:
                self.apart_from_others("along", 30, self.do_along)
            self.apart_from_others("operands", 40 if self.time else 10, self.do_operands)
            self.apart_from_others("by heads", 15, self.do_by_heads)
            self.apart_from_others("neighbours", 40, self.do_neighbours)
            self.apart_from_others("strides", 15, self.do_strides)
            self.outputs()
            options = self.options()
        text = [f"# seed {self.seed}"] + ["# hidden"] * self.hides + ([f"# verify: {' '.join(options)}"] if options else [])
        return "\n".join(text + self.imports + self.before + [f"model {name} {{"] + self.lines + ["}"]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(Model(int(sys.argv[1])).write())
