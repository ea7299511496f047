"""Random well-typed models in the language.

    python3 generate.py SEED > model.model

The seed decides the model, on every machine.  Even seeds make models over a named dimension, in which position i may or may not
read later ones; odd seeds make models of fixed shapes.  Sizes are small and mostly awkward: 1, primes, one more and one less
than 16.

Values are kept tame, so that an error of compiled code against the interpreter is one of code and not of conditioning:
magnitudes are estimated and held in bounds, what is divided by or rooted is kept away from 0, and whatever is not continuous
(comparisons, floor, argmax, top) is only asked of indices and of inputs, which are the same in float and in double.
"""

import sys

SIZES = [1, 2, 3, 4, 5, 7, 8, 11, 13, 15, 16, 17, 23, 31, 32, 33]
MOST_ELEMENTS = 6000


class Random:
    """splitmix64"""

    def __init__(self, seed):
        self.state = seed

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def below(self, n):
        return self.bits() % n

    def chance(self, percent):
        return self.below(100) < percent

    def pick(self, items):
        return items[self.below(len(items))]


class Value:
    """A tensor of the model: its name, its shape (a size or the name of a dimension), about how large its elements get."""

    def __init__(self, name, shape, most, exact=False):
        self.name, self.shape, self.most, self.exact = name, shape, most, exact


class Model:
    def __init__(self, seed):
        self.r = Random(seed)
        self.seed = seed
        self.lines = []
        self.pool = []
        self.count = 0
        self.indent = "    "
        self.time = None
        self.bound = 0
        self.causal = False

    # ---- writing ----

    def line(self, text):
        self.lines.append(self.indent + text)

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def let(self, text, shape, most, exact=False):
        """A new value, made tame where it might be large."""
        name = self.fresh()
        if not exact and most > 30:
            text, most = f"{8} * tanh(({text}) / {most:.3g})", 8
        self.line(f"{name} = {text}")
        value = Value(name, list(shape), most, exact)
        self.pool.append(value)
        return value

    def weight(self, shape, centre=None):
        name = "w" + self.fresh()
        self.line(f"{name} : weight[{', '.join(map(str, shape))}]" + (f" = {centre}" if centre is not None else ""))
        return name

    def elements(self, shape):
        n = 1
        for d in shape:
            n *= self.bound if d == self.time else d
        return n

    def fits(self, shape):
        return len(shape) <= 5 and self.elements(shape) <= MOST_ELEMENTS

    def grows(self, x):
        return self.time is not None and self.time in x.shape

    def any(self, test=lambda x: True):
        """One of the values, rather a late one; None if there is none such."""
        found = [x for x in self.pool if test(x)]
        if not found:
            return None
        return found[-1] if self.r.chance(40) else self.r.pick(found)

    # ---- pointwise ----

    def unary(self, x):
        n, m = x.name, x.most
        return self.r.pick([
            (f"tanh({n})", 1), (f"sin({n})", 1), (f"cos({n} * 2)", 1), (f"erf({n})", 1), (f"-{n}", m),
            (f"abs({n})", m), (f"silu({n})", m), (f"gelu_erf({n})", m), (f"gelu_tanh({n})", m), (f"relu({n})", m),
            (f"sigmoid({n})", 1), (f"exp(tanh({n}))", 3), (f"log(abs({n}) + 1)", m), (f"sqrt(abs({n}) + 0.25)", m + 1),
            (f"{n} ^ 2", m * m), (f"{n} ^ 3", m ** 3), (f"(abs({n}) + 0.5) ^ 0.75", m + 1), (f"softcap({n}, cap: 3)", 3),
            (f"quick_gelu({n})", m), (f"1 / (abs({n}) + 1)", 1), (f"{n} / 3 + 0.5", m), (f"min({n}, 0.25)", m + 1),
            (f"2 ^ tanh({n})", 2), (f"min(max({n}, -0.5), 0.75)", 1), (f"0 - {n} * {n}", m * m),
        ])

    def do_unary(self):
        x = self.any()
        text, most = self.unary(x)
        return self.let(text, x.shape, most)

    def partner(self, x):
        """Something that broadcasts against x to x's shape: text and magnitude."""
        same = self.any(lambda y: y.shape == x.shape)
        narrow = self.any(lambda y: len(y.shape) <= len(x.shape) and all(
            a == b or a == 1 for a, b in zip(reversed(y.shape), reversed(x.shape))))
        kind = self.r.below(6)
        if kind < 2 and same:
            return same.name, same.most
        if kind < 4 and narrow:
            return narrow.name, narrow.most
        if kind == 4 and isinstance(x.shape[-1], int):
            shape = [x.shape[-1]]
            if len(x.shape) > 1 and isinstance(x.shape[-2], int) and self.r.chance(40):
                shape = [x.shape[-2], self.r.pick([1, x.shape[-1]])]
            return self.weight(shape, self.r.pick([None, 1, 0.5])), 2
        return self.r.pick(["0.5", "-1.25", "3", "pi / 4"]), 3

    def do_binary(self):
        x = self.any()
        y, m = self.partner(x)
        n = x.name
        text, most = self.r.pick([
            (f"{n} + {y}", x.most + m), (f"{n} - {y}", x.most + m), (f"{y} - {n}", x.most + m), (f"{n} * {y}", x.most * m),
            (f"{n} / (abs({y}) + 1)", x.most), (f"max({n}, {y})", max(x.most, m)), (f"min({y}, {n})", max(x.most, m)),
            (f"{n} * sigmoid({y})", x.most), (f"silu({n}) * {y}", x.most * m),
        ])
        return self.let(text, x.shape, most)

    def condition(self, x):
        """Text of truths that broadcast against x, from indices or inputs."""
        n = x.name
        found = [f"col({n}) % 3 == 1", f"col({n}) * 2 < {self.r.below(40)}", f"not (col({n}) == {self.r.below(5)})"]
        if len(x.shape) > 1:
            found += [f"col({n}) <= row({n})", f"(row({n}) + col({n})) % 2 == 0",
                      f"col({n}) < row({n}) or row({n}) % 4 == 3", f"abs(row({n}) - col({n})) <= 2 and col({n}) != 1"]
        exact = self.any(lambda y: y.exact and y.shape == x.shape)
        if exact:
            found += [f"{exact.name} > 0.125", f"{exact.name} <= col({n}) / 8"]
        return self.r.pick(found)

    def do_where(self):
        x = self.any()
        y, m = self.partner(x)
        a, b = (x.name, y) if self.r.chance(50) else (y, x.name)
        return self.let(f"where({self.condition(x)}, {a}, {b})", x.shape, max(x.most, m))

    # ---- products, folds ----

    def do_linear(self):
        x = self.any(lambda y: isinstance(y.shape[-1], int) and len(y.shape) > 1)
        if not x:
            return None
        n = self.r.pick(SIZES)
        shape = x.shape[:-1] + [n]
        if not self.fits(shape):
            return None
        kind = self.r.below(5)
        if kind == 0:
            w = self.weight([x.shape[-1], n])
            return self.let(f"{x.name} @ {w}", shape, x.most * 1.5)
        if kind == 1:
            w = self.weight([n, x.shape[-1]])
            act = self.r.pick(["silu", "gelu_erf", "relu", "tanh"])
            return self.let(f"{act}({x.name} @ {w}')", shape, x.most * 1.5)
        if kind == 2:
            return self.let(f"({self.r.pick(['swiglu', 'geglu'])}({x.name}, {n}) as ffn{self.count})", x.shape, x.most * x.most + 1)
        if kind == 3:
            return self.let(f"mlp({x.name}, {n})", x.shape, x.most * 2)
        return self.let(f"linear({x.name}, {n}, bias: {self.r.pick(['true', 'false'])})", shape, x.most * 1.5)

    def do_matmul(self):
        x = self.any(lambda y: len(y.shape) > 1)
        if not x:
            return None
        y = self.any(lambda z: len(z.shape) > 1 and z.shape[-1] == x.shape[-1] and (
            len(z.shape) == 2 or len(x.shape) == 2 or z.shape[:-2] == x.shape[:-2]))
        k = x.shape[-1] if isinstance(x.shape[-1], int) else self.bound
        lead = max((x.shape[:-2], y.shape[:-2]), key=len)
        shape = lead + [x.shape[-2], y.shape[-2]]
        if self.causal and self.grows(x) and self.grows(y):
            return None
        if not self.fits(shape):
            return None
        return self.let(f"{x.name} @ {y.name}' * {1 / (1 + k) ** 0.5:.4g}", shape, x.most * y.most * k ** 0.5)

    def do_fold(self):
        axes_of = lambda y: [a for a, d in enumerate(y.shape) if not (self.causal and d == self.time)]
        x = self.any(lambda y: len(axes_of(y)) > 0 and len(y.shape) > 1)
        if not x:
            return None
        axis = self.r.pick(axes_of(x))
        kind = self.r.below(5)
        if kind == 0 and x.shape[-1] != self.time:
            return self.let(f"{self.r.pick(['sum', 'mean', 'max', 'min', 'variance'])}({x.name})", x.shape[:-1] + [1],
                            x.most * 6)
        if kind == 1 and x.exact and x.shape[-1] != self.time:
            return self.let(f"real(argmax({x.name})) / 8", x.shape[:-1] + [1], 4)
        shape = x.shape[:axis] + x.shape[axis + 1:]
        which = self.r.pick(["sum", "max", "min", "mean"])
        n = x.shape[axis] if isinstance(x.shape[axis], int) else self.bound
        if which == "mean" and x.shape[axis] == self.time:
            which = "max"
        text = f"{which}({x.name}, axis: {axis})" + (f" / {n}" if which == "sum" else "")
        return self.let(text, shape, x.most)

    def do_norm(self):
        x = self.any(lambda y: isinstance(y.shape[-1], int) and y.shape[-1] > 1)
        if not x:
            return None
        return self.let(self.r.pick([
            f"rmsnorm({x.name}, eps: 0.01)", f"layernorm({x.name}, eps: 0.01)", f"layernorm({x.name}, eps: 0.1, affine: false)",
            f"layernorm({x.name}, eps: 0.01, bias: false)", f"rmsnorm({x.name}, eps: 0.01, unit: true)",
        ]), x.shape, 5)

    def do_softmax(self):
        x = self.any(lambda y: not (self.causal and y.shape[-1] == self.time))
        if not x:
            return None
        n = x.name
        text = self.r.pick([f"softmax({n})", f"softmax({n} * 2)", f"softmax(where({self.condition(x)}, {n}, -inf))",
                            f"softmax({n}, sink: 0.5)"])
        return self.let(text, x.shape, 1)

    # ---- movement ----

    def do_move(self):
        x = self.any()
        n, s, r = x.name, x.shape, self.r
        last = s[-1]
        found = [(f"{n}[none]", [1] + s)]
        if len(s) > 1:
            found.append((f"{n}'", s[:-2] + [s[-1], s[-2]]))
            if isinstance(s[0], int):
                found.append((f"{n}[{r.below(s[0])}]", s[1:]))
        if len(s) > 2:
            found += [(f"transpose({n}, 0, -1)", s[1:] + [s[0]]), (f"transpose({n}, -1, 0)", [s[-1]] + s[:-1])]
        if isinstance(last, int):
            if last > 2:
                a = r.below(last - 1)
                b = a + 1 + r.below(last - a - 1)
                found += [(f"{n}[.., {a}..{b}]", s[:-1] + [b - a]), (f"join({n}[.., {a}..], {n}[.., ..{a}])", s)] * (a > 0)
                found += [(f"{n}[.., {a}]", s[:-1])] * (len(s) > 1)
            for d in (2, 3, 5):
                if last % d == 0 and last > d:
                    found += [(f"split({n}, {d})", [d] + s[:-1] + [last // d]),
                              (f"reshape({n}, [.., {last // d}, {d}])", s[:-1] + [last // d, d])]
            found += [(f"pad({n}, before: {1 + r.below(3)}, after: 2)", None), (f"join({n}, {n} * 0.5)", s[:-1] + [2 * last])]
            if last > 4:
                found += [(f"window({n}, 3, stride: 2, axis: {len(s) - 1})", s[:-1] + [(last - 3) // 2 + 1, 3])]
        if isinstance(s[0], int) and len(s) > 2:
            found += [(f"merge({n})", s[1:-1] + [s[0] * last])] if isinstance(last, int) else []
            found += [(f"spread({n}, {3 * s[0]})", [3 * s[0]] + s[1:])]
        if isinstance(s[0], int) and len(s) > 1:
            ids = [r.below(s[0]) for _ in range(1 + r.below(4))]
            found += [(f"{n}[{ids}]", [len(ids)] + s[1:])]
        same = self.any(lambda y: y.shape == s)
        if isinstance(s[0], int):
            found += [(f"stack({n}, {same.name})", [2] + s), (f"join({n}, {same.name}, axis: 0)", [2 * s[0]] + s[1:])]
        text, shape = r.pick(found)
        if shape is None:
            before = int(text.split("before: ")[1].split(",")[0])
            shape = s[:-1] + [before + last + 2]
        if not shape or not self.fits(shape) or (self.time in shape and shape.count(self.time) > 1):
            return None
        return self.let(text, shape, max(x.most, same.most))

    # ---- attention, in several spellings ----

    def mask(self, s):
        r, later = self.r, not self.causal
        masks = [f"where(col({s}) <= row({s}), {s}, -inf)", f"{s} + where(col({s}) > row({s}), -inf, 0)",
                 f"where(not (col({s}) > row({s})), {s}, -inf)", f"sliding({s}, window: {1 + r.below(20)})",
                 f"where(col({s}) <= row({s}) and (row({s}) - col({s}) < 5 or col({s}) < 2), {s}, -inf)",
                 f"where(col({s}) // 4 <= row({s}) // 4 and col({s}) <= row({s}), {s}, -inf)"]
        if later:
            masks += [s, s, f"near({s}, reach: 3)", f"where((row({s}) + col({s})) % 5 == 0, {s}, -inf)"]
        return r.pick(masks)

    def do_attention(self):
        x = self.any(lambda y: len(y.shape) == 2 and isinstance(y.shape[1], int) and
                     (not self.time or y.shape[0] == self.time))
        if not x:
            return None
        r = self.r
        heads = r.pick([1, 2, 3, 4, 6])
        groups = r.pick([g for g in range(1, heads + 1) if heads % g == 0])
        d = r.pick([2, 3, 4, 5, 8, 16, 17])
        rows = self.bound if x.shape[0] == self.time else x.shape[0]
        if heads * rows * max(rows, d) > 4 * MOST_ELEMENTS:
            return None
        memory = x
        if r.chance(25) and not self.causal:
            memory = self.any(lambda y: len(y.shape) == 2 and isinstance(y.shape[1], int)) or x
        if r.chance(40):
            position = r.pick(["none", "none", f"alibi(heads: {heads})"] + (["rope", "rope(interleaved: true)"] if d % 2 == 0 else []))
            if memory is not x:
                position = "none"
            mask = "causal" if self.causal else r.pick(["none", "causal", "near(reach: 4)"])
            extra = r.pick(["", "", ", cap: softcap(cap: 4)", ", norm: rmsnorm(eps: 0.01)", ", bias: true"])
            return self.let(f"attention({x.name}, {memory.name}, heads: {heads}, kv_heads: {groups}, head_dim: {d}, "
                            f"position: {position}, mask: {mask}{extra})", x.shape, memory.most * 2)
        q, k, v, s = (self.fresh() for _ in range(4))
        e = d if r.chance(70) else r.pick([1, 4, 7, 16])
        scale = f"{d ** -0.5:.6g}"
        on = r.below(3)
        self.line(f"{q} = split(linear({x.name}, {heads * d}) as q{q}, {heads})" + (f" * {scale}" if on == 0 else ""))
        self.line(f"{k} = split(linear({memory.name}, {groups * d}, bias: true) as k{q}, {groups})" + (f" * {scale}" if on == 1 else ""))
        self.line(f"{v} = split(linear({memory.name}, {groups * e}) as v{q}, {groups})")
        self.line(f"{s} = {q} @ spread({k}, {heads})'" + (f" * {scale}" if on == 2 else ""))
        if r.chance(30):
            self.line(f"{s} = {r.pick([f'softcap({s}, cap: 5)', f'{s} - 0.1 * abs(row({s}) - col({s}))', f'{s} * 0.5 + head({s}) / 8'])}")
        weights = f"softmax({self.mask(s)})"
        if r.chance(20):
            p = self.fresh()
            self.line(f"{p} = {weights} * {r.pick(['0.5', '1.5'])}")
            weights = p
        text = f"merge({weights} @ spread({v}, {heads}))"
        if r.chance(60):
            return self.let(f"linear({text}, {x.shape[1]})", x.shape, memory.most * 2)
        shape = [x.shape[0], heads * e]
        return self.let(text, shape, memory.most * 2) if self.fits(shape) else None

    def do_convolution(self):
        """A window over the sequence that ends at each position."""
        x = self.any(lambda y: self.causal and len(y.shape) == 2 and y.shape[0] == self.time and isinstance(y.shape[1], int))
        if not x:
            return None
        n = self.r.pick([2, 3, 4])
        w = self.weight([n, x.shape[1]])
        return self.let(f"sum(window(pad({x.name}, axis: 0, before: {n - 1}), {n}, axis: 0) * {w}, axis: 1)", x.shape, x.most * n)

    # ---- repeats ----

    def do_repeat(self):
        """x = x + f(x), several times; bodies may differ, and constants from trip to trip."""
        x = self.any(lambda y: len(y.shape) > 1 and isinstance(y.shape[-1], int))
        if not x or self.indent != "    ":
            return None
        trips, name, outer = 2 + self.r.below(4), self.fresh(), self.pool
        carried = self.let(f"{x.name} + 0", x.shape, x.most)
        self.line(f"repeat {name}[i] : {trips} {{")
        self.indent = "        "
        self.pool = outer + [Value(carried.name, x.shape, 6)]
        if self.r.chance(40):
            self.let(f"{carried.name} * (1 + i) / {self.r.pick([2, 7])}", x.shape, 6 * trips)
        if self.r.chance(30):
            self.let(f"at([0.5, -1, 0.25], i) * {carried.name}", x.shape, 6)
        for _ in range(1 + self.r.below(4)):
            self.step(deep=True)
        last = self.any(lambda y: y.shape == x.shape)
        if self.r.chance(30):
            self.line("if i % 2 == 1 {")
            inner = self.r.pick([f"tanh({last.name})", f"{last.name} * 0.5", f"rmsnorm({last.name}, eps: 0.01)"])
            self.line(f"    {carried.name} = {carried.name} + {inner}")
            self.line("} else {")
            self.line(f"    {carried.name} = tanh({carried.name} + {last.name} / 4)")
            self.line("}")
        else:
            self.line(f"{carried.name} = tanh({carried.name} / 2 + {last.name} / {1 + last.most:.3g})")
        self.indent = "    "
        self.pool = outer
        self.line("}")
        carried.most = 1 + 3 * trips
        return carried

    def do_over(self):
        x = self.any(lambda y: len(y.shape) == 2 and isinstance(y.shape[1], int) and y.shape[0] != y.shape[1])
        if not x or self.indent != "    ":
            return None
        n, width, name = 2 + self.r.below(3), self.r.pick([3, 8, 16, 17]), self.fresh()
        if not self.fits([n, x.shape[0], width]):
            return None
        body = self.r.pick([f"linear({x.name}, {width}) * (1 + e)", f"silu(linear({x.name}, {width}))"])
        return self.let(f"over part{name}[e] : {n} {{ return {body} }}", [n, x.shape[0], width], x.most * 3)

    # ---- the whole ----

    def step(self, deep=False):
        kinds = [self.do_unary] * 3 + [self.do_binary] * 4 + [self.do_where] * 2 + [self.do_linear] * 3 + [self.do_matmul] * 2 + \
                [self.do_fold] * 2 + [self.do_norm] * 2 + [self.do_softmax] + [self.do_move] * 4 + [self.do_convolution]
        if not deep:
            kinds += [self.do_attention] * 3 + [self.do_repeat] * 2 + [self.do_over]
        elif self.r.chance(30):
            kinds = [self.do_attention]
        for _ in range(20):
            if self.r.pick(kinds)():
                return

    def inputs_over_time(self):
        self.time = "time"
        self.bound = self.r.pick([17, 31, 40, 57, 16, 29])
        self.causal = self.r.chance(60)
        self.line(f"time : upto({self.bound})")
        if self.r.chance(50):
            vocab, d = self.r.pick([7, 50, 96, 129]), self.r.pick(SIZES[3:])
            self.line(f"input tokens : id({vocab})[time]")
            table = self.weight([vocab, d])
            self.let(f"{table}[tokens]", ["time", d], 1)
        else:
            d = self.r.pick(SIZES)
            self.line(f"input x : real[time, {d}]")
            self.pool.append(Value("x", ["time", d], 1, exact=True))

    def inputs_of_fixed_shape(self):
        for name in ["x", "y", "z"][:1 + self.r.below(3)]:
            rank = 1 + self.r.below(3) + (name == "x")
            shape = [self.r.pick(SIZES) for _ in range(min(rank, 3))]
            while self.elements(shape) > MOST_ELEMENTS // 2:
                shape[self.r.below(len(shape))] = self.r.pick(SIZES[:6])
            self.line(f"input {name} : real[{', '.join(map(str, shape))}]")
            self.pool.append(Value(name, shape, 1, exact=True))

    def write(self):
        self.inputs_over_time() if self.seed % 2 == 0 else self.inputs_of_fixed_shape()
        for _ in range(5 + self.r.below(10)):
            self.step()
        made = [v for v in self.pool if v.name.startswith("v") and (not self.time or v.shape[0] == self.time) and
                self.time not in v.shape[1:]]
        made = made or self.pool
        outputs = [made[-1]] + [self.r.pick(made) for _ in range(self.r.below(2))]
        for i, v in enumerate(outputs):
            self.line(f"output out{i} = {v.name}" + self.r.pick(["", " * 1"]))
        print(f"# seed {self.seed}\nmodel random{self.seed} {{")
        print("\n".join(self.lines))
        print("}")


Model(int(sys.argv[1])).write()
