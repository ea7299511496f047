"""Formulas: elementwise, integers and truths, products, folds, movement."""

from core import SIZES


class Formulas:
    # ---- pointwise ----

    def unary(self, x):
        n, m = x.name, x.most
        return self.r.pick([
            (f"tanh({n})", 1), (f"sin({n})", 1), (f"cos({n} * 2)", 1), (f"erf({n})", 1), (f"atan({n})", 1.6), (f"-{n}", m),
            (f"abs({n})", m), (f"silu({n})", m), (f"gelu_erf({n})", m), (f"gelu_tanh({n})", m), (f"relu({n})", m),
            (f"sigmoid({n})", 1), (f"exp(tanh({n}))", 3), (f"log(abs({n}) + 1)", m), (f"sqrt(abs({n}) + 0.25)", m + 1),
            (f"{n} ^ 2", m * m), (f"{n} ^ 3", m ** 3), (f"(abs({n}) + 0.5) ^ 0.75", m + 1), (f"softcap({n}, cap: 3)", 3),
            (f"quick_gelu({n})", m), (f"1 / (abs({n}) + 1)", 1), (f"{n} / 3 + 0.5", m), (f"min({n}, 0.25)", m + 1),
            (f"2 ^ tanh({n})", 2), (f"min(max({n}, -0.5), 0.75)", 1), (f"0 - {n} * {n}", m * m), (f"{n} ^ -0 * 0.5", 1),
            (f"relu_squared({n})", m * m), (f"clamp({n}, most: 0.75)", 1), (f"({n} ^ 2 + 1) ^ -0.5", 1), (f"{n} ^ 1", m),
            (f"(abs({n}) + 1) ^ tanh({n})", m + 1), (f"max({n}, -{n}, 0.5, {n} * 2)", 2 * m), (f"each_divided({n}, by: 4)", m),
        ])

    def do_unary(self):
        x = self.any()
        text, most = self.unary(x)
        return self.let(text, x.shape, most)

    def do_positions(self):
        """What positions alone decide, and how many there are: folds over them, and what counts from their end."""
        x = self.rows()
        if not x:
            return
        n, t = x.name, f"real(index({x.name}, 0)) * 0.1"
        text, most = self.r.pick([
            (f"{n} * softmax(sin({t}))[.., none]", x.most), (f"{n} + max(cos({t}), axis: 0)", x.most + 1),
            (f"{n} * sum(sin({t}), axis: 0) / {self.size(x.shape[0])}", x.most), (f"{n} + cos({t})[-1]", x.most + 1),
            (f"{n} * pad(cos({t}), before: 2)[..-2][.., none]", x.most),
        ])
        self.let(text, x.shape, most)

    def partner(self, x):
        """Something that broadcasts against x to x's shape: text and magnitude."""
        kind = self.r.below(7)
        if kind < 2:
            same = self.any(lambda y: y.shape == x.shape)
            if same:
                return same.name, same.most
        if kind < 4:
            narrow = self.any(lambda y: len(y.shape) <= len(x.shape) and all(
                a == b or a == 1 for a, b in zip(reversed(y.shape), reversed(x.shape))))
            if narrow:
                return narrow.name, narrow.most
        if kind == 4 and isinstance(x.shape[-1], int):
            shape = [x.shape[-1]]
            if len(x.shape) > 1 and isinstance(x.shape[-2], int) and self.r.chance(40):
                shape = [x.shape[-2], self.r.pick([1, x.shape[-1]])]
            return self.weight(shape, self.r.pick([None, 1, 0.5])), 2
        scalars = [y for y in self.pool if not y.shape and y.kind == "real"]
        if kind == 5 and scalars:
            chosen = self.r.pick(scalars)
            self.used.add(chosen.name)
            return chosen.name, chosen.most
        if kind == 6:
            return self.weight([]), 2
        return self.r.pick(["0.5", "-1.25", "3", "pi / 4"]), 3

    def do_binary(self):
        x = self.any()
        y, m = self.partner(x)
        n = x.name
        text, most = self.r.pick([
            (f"{n} + {y}", x.most + m), (f"{n} - {y}", x.most + m), (f"{y} - {n}", x.most + m), (f"{n} * {y}", x.most * m),
            (f"{n} / (abs({y}) + 1)", x.most), (f"max({n}, {y})", max(x.most, m)), (f"min({y}, {n})", max(x.most, m)),
            (f"{n} * sigmoid({y})", x.most), (f"silu({n}) * {y}", x.most * m), (f"{n} * {y} + {n}", x.most * m + x.most),
        ])
        return self.let(text, x.shape, most)

    # ---- what is not continuous: with a margin, so that rounding decides nothing ----

    def decided(self, x):
        """Of x's shape, computed, and along its last axis (up to 97 elements) no two closer than 0.5."""
        n, r = x.name, self.r
        data = self.any(lambda y: y.shape == x.shape or y.shape == x.shape[:-1] + [1], kind="int")
        turn = f" + {data.name}" if data else f" + 3 * row({n})" if len(x.shape) > 1 and r.chance(50) else ""
        size = self.size(x.shape[-1])
        step = r.pick([k for k in (1, 3, 5, 7, 11, 13) if size % k or k == 1])
        return f"({step} * col({n}){turn}) % {max(size, 2)} + 0.25 * tanh({n})", size + 1

    def condition(self, x):
        """Text of truths that broadcast against x, from indices, data that is exact, or values with a margin."""
        n = x.name
        found = [f"col({n}) % 3 == 1", f"col({n}) * 2 < {self.r.below(40)}", f"not (col({n}) == {self.r.below(5)})"]
        if len(x.shape) > 1:
            found += [f"col({n}) <= row({n})", f"(row({n}) + col({n})) % 2 == 0",
                      f"col({n}) < row({n}) or row({n}) % 4 == 3", f"abs(row({n}) - col({n})) <= 2 and col({n}) != 1"]
        if len(x.shape) > 2:
            found += [f"head({n}) % 2 == 0", f"head({n}) + col({n}) > row({n})"]
        exact = self.any(lambda y: y.exact and y.shape == x.shape)
        if exact:
            found += [f"{exact.name} > 0.125", f"{exact.name} <= col({n}) / 8", f"{exact.name} >= -0.5"]
        truth = self.any(lambda y: len(y.shape) <= len(x.shape) and all(
            a == b or a == 1 for a, b in zip(reversed(y.shape), reversed(x.shape))), kind="truth")
        if truth:
            found += [truth.name, f"not {truth.name}"] * 3
        if self.size(x.shape[-1]) <= 97:
            text, most = self.decided(x)
            found += [f"{text} < {most / 2 + 0.5:.5g}"] if most % 2 == 0 else [f"{text} > 0.5"]
        return self.r.pick(found)

    def do_where(self):
        x = self.any()
        y, m = self.partner(x)
        a, b = (x.name, y) if self.r.chance(50) else (y, x.name)
        return self.let(f"where({self.condition(x)}, {a}, {b})", x.shape, max(x.most, m))

    def do_integers(self):
        """Integers: from indices, ids, choices, and arithmetic on them."""
        r = self.r
        x, a = self.any(), self.any(kind="int")
        n, s = x.name, x.shape
        found = [(f"index({n}, {r.below(len(s))})", None, 60), (f"col({n})", [s[-1]], 60)]
        found[0] = (found[0][0], [s[int(found[0][0].split(", ")[1][:-1])]], 60)
        if self.size(s[-1]) <= 97:
            text, most = self.decided(x)
            whole = f"floor({text} + 0.5)" if r.chance(50) else f"floor(({text}) * 2 + 1) // 2"
            found += [(whole, s, most + 1)]
            if not (self.causal and s[-1] == self.time):
                found += [(f"argmax({text})", s[:-1] + [1], 97)] * 2
        if len(s) > 1 and isinstance(s[0], int):
            exact = self.any(lambda y: y.exact and len(y.shape) > 1 and isinstance(y.shape[0], int))
            if exact:
                found += [(f"argmax({exact.name}, axis: 0)", exact.shape[1:], 97)]
        if len(s) > 1:
            found += [(f"row({n}) * 2 + col({n})", s[-2:], 200)]
        if a:
            b = self.any(lambda y: y.shape == a.shape, kind="int")
            c = a.name
            found += [(f"({c} * 3 + {b.name}) % 7", a.shape, 7), (f"{c} // 2 - 1", a.shape, a.most), (f"-{c} % 5", a.shape, 5),
                      (f"max({c}, {b.name})", a.shape, max(a.most, b.most)), (f"min(abs({c}), 5)", a.shape, 5),
                      (f"{c} * {b.name}", a.shape, a.most * b.most), (f"where({c} > 2, {c}, -{b.name})", a.shape, max(a.most, b.most)),
                      (f"{c} // ({b.name} % 3 + 1)", a.shape, a.most)] * 2
            if not (self.causal and a.shape[-1] == self.time):
                found += [(f"sum({c} % 3)", a.shape[:-1] + [1], 300), (f"max({c})", a.shape[:-1] + [1], a.most)]
        text, shape, most = r.pick(found)
        if not self.fits(shape):
            return None
        return self.let(text, shape, most, kind="int")

    def do_far(self):
        """Integers beyond 2^24, where floats are no longer exact; what comes out is small, or a real."""
        r, a = self.r, self.any(lambda y: y.most < 1000, kind="int")
        if not a:
            return None
        b = self.any(lambda y: y.shape == a.shape and y.most < 1000, kind="int")
        n, m, s = a.name, b.name, a.shape
        found = [(f"({n} * 1000003 + {m} * 999983) % 97", s, 97), (f"({n} * 16777259 - 100000007) // 7919 % 50", s, 50),
                 (f"({n} + 33554433) % 83", s, 83), (f"(16000101 - {n} * 3) % -6000001 % 79", s, 79),
                 (f"where({m} % 2 == 0, {n} * 16777259, {m}) % 61", s, 61),
                 (f"max(min({n} * 2097143, 16777217), 16777211) - 16777211", s, 6),
                 (f"join({n} * 5000011, {m}) % 59", s[:-1] + [2 * s[-1]] if isinstance(s[-1], int) else None, 59)]
        if not (self.causal and s[-1] == self.time):
            found += [(f"sum({n} * 300007) % 89", s[:-1] + [1], 89), (f"max({n} * 16777259) % 71", s[:-1] + [1], 71)]
        if r.chance(25):
            return self.let(f"{n} + 16777216 {r.pick(['<=', '<', '=='])} {m} + 16777217", s, 1, kind="truth")
        if r.chance(25):
            return self.let(f"real({n} * 2097143) * 1e-9 - {m} * 1000003 / 1e9", s, 4)
        text, shape, most = r.pick(found)
        return self.let(text, shape, most, kind="int") if shape and self.fits(shape) else None

    def do_truths(self):
        r = self.r
        x, a, b = self.any(), self.any(kind="int"), self.any(kind="truth")
        found = []
        if self.size(x.shape[-1]) <= 97 and not (self.causal and x.shape[-1] == self.time):
            text, _ = self.decided(x)
            size = self.size(x.shape[-1])
            found += [(f"top({text}, {1 + r.below(size)})", x.shape), (f"top({text}, {min(size, 2)})", x.shape)]
        if a:
            found += [(f"{a.name} {op} {r.below(4)}", a.shape) for op in ("<", "<=", "==", "!=", ">", ">=")]
        if b:
            c = self.any(lambda y: y.shape == b.shape, kind="truth")
            found += [(f"{b.name} {op} {c.name}", b.shape) for op in ("and", "or", "==", "!=")] + [(f"not {b.name}", b.shape)]
            found += [(f"where({b.name}, {c.name}, not {c.name})", b.shape)]
        if not found:
            return None
        text, shape = r.pick(found)
        return self.let(text, shape, 1, kind="truth")

    def do_real(self):
        """Integers and truths come back as reals."""
        x = self.any(kind=self.r.pick(["int", "truth"]))
        if not x:
            return None
        if x.kind == "truth":
            return self.let(f"where({x.name}, 0.75, {self.r.pick(['0', '-0.5'])})", x.shape, 1, exact=True)
        return self.let(self.r.pick([f"real({x.name}) / 8", f"{x.name} / 8", f"{x.name} * 0.125"]), x.shape, x.most / 8 + 1, exact=True)

    def do_lookup(self):
        """Rows of a table by integers: of a weight, or of a value; by two of them at once."""
        i = self.any(lambda y: y.most < 1000, kind="int")
        if not i:
            return None
        n, d = self.r.pick([2, 3, 7, 16]), self.r.pick(SIZES[:12])
        if self.r.chance(30):
            table = self.weight([n, 4, d])
            text = f"{table}[{i.name} % {n}, ({i.name} + 1) % 4]"
        elif self.r.chance(30):
            v = self.any(lambda y: all(isinstance(k, int) for k in y.shape) and len(y.shape) == 2)
            if not v:
                return None
            d = v.shape[1]
            text = f"{v.name}[{i.name} % {v.shape[0]}]"
        else:
            text = f"{self.weight([n, d])}[abs({i.name}) % {n}]"
        return self.let(text, i.shape + [d], 2) if self.fits(i.shape + [d]) else None

    def do_length(self):
        """The size of a dimension as a number."""
        if not self.bounds or self.causal:
            return None
        d = self.r.pick(sorted(self.bounds))
        return self.let(self.r.pick([f"real({d}) / 16", f"1 / {d}", f"sqrt({d} + 1)"]), [], 8)

    # ---- products, folds ----

    def do_linear(self):
        x = self.any(lambda y: isinstance(y.shape[-1], int) and len(y.shape) > 1)
        if not x:
            return None
        n = self.r.pick(SIZES)
        shape = x.shape[:-1] + [n]
        if not self.fits(shape):
            return None
        kind = self.r.below(7)
        act = self.r.pick(["silu", "gelu_erf", "relu", "tanh", "gelu_tanh", "quick_gelu"])
        if kind == 0:
            w = self.weight([x.shape[-1], n])
            return self.let(f"{x.name} @ {w}", shape, x.most * 1.5)
        if kind == 1:
            w = self.weight([n, x.shape[-1]])
            return self.let(f"{act}({x.name} @ {w}')", shape, x.most * 1.5)
        if kind == 2:
            name = self.r.pick(["swiglu", "geglu", "gated"])
            return self.let(f"({name}({x.name}, {n}{self.maybe(30, ', bias: true')}) as ffn{self.count})", x.shape, x.most * x.most + 1)
        if kind == 3:
            n = 577 if self.r.chance(15) and self.elements(x.shape) < 600 else n
            return self.let(f"mlp({x.name}, {n}, act: {act}{self.maybe(30, ', bias: false')})", x.shape, x.most * 2)
        if kind == 4:
            return self.let(f"mlp({x.name}, 7, width: {n})", shape, x.most * 2)
        if kind == 5 and n > 2:
            w = self.weight([n + 2, x.shape[-1]])  # a part of a weight, or a weight twice
            return self.let(f"{x.name} @ {w}[1..{n + 1}]' + sum({w}[0])", shape, x.most * 1.5 + 1)
        return self.let(f"linear({x.name}, {n}, bias: {self.r.pick(['true', 'false'])})", shape, x.most * 1.5)

    def do_matmul(self):
        x = self.any(lambda y: len(y.shape) > 1)
        if not x:
            return None
        k = self.size(x.shape[-1])
        if isinstance(x.shape[-1], int) and self.r.chance(15):
            v = self.weight([x.shape[-1]])  # by a vector
            return self.let(f"{x.name} @ {v}", x.shape[:-1], x.most * k ** 0.5)
        if isinstance(x.shape[-2], int) and self.r.chance(10):
            v = self.weight([x.shape[-2]])
            return self.let(f"{v} @ {x.name}", x.shape[:-2] + x.shape[-1:], x.most * 2)
        y = self.any(lambda z: len(z.shape) > 1 and z.shape[-1] == x.shape[-1] and (
            len(z.shape) == 2 or len(x.shape) == 2 or z.shape[:-2] == x.shape[:-2]))
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
        if self.r.chance(25) and len(x.shape) - 1 in axes_of(x):
            fold = self.r.pick(["sum", "mean", "max", "min", "variance"])
            return self.let(f"{fold}({x.name})", x.shape[:-1] + [1], x.most * 6)
        shape = x.shape[:axis] + x.shape[axis + 1:]
        which = self.r.pick(["sum", "max", "min", "mean"])
        at = axis if self.r.chance(70) or not isinstance(x.shape[axis], int) else axis - len(x.shape)
        text = f"{which}({x.name}, axis: {at})" + (f" / {self.size(x.shape[axis])}" if which == "sum" else "")
        return self.let(text, shape, x.most)

    def do_norm(self):
        x = self.any(lambda y: isinstance(y.shape[-1], int) and y.shape[-1] > 1)
        if not x:
            return None
        return self.let(self.r.pick([
            f"rmsnorm({x.name}, eps: 0.01)", f"layernorm({x.name}, eps: 0.01)", f"layernorm({x.name}, eps: 0.1, affine: false)",
            f"layernorm({x.name}, eps: 0.01, bias: false)", f"rmsnorm({x.name}, eps: 0.01, unit: true)",
            f"rmsnorm({x.name}, eps: 0.01, affine: false)", f"layernorm({x.name}, eps: 0.01, unit: true)",
        ]), x.shape, 5)

    def do_softmax(self):
        x = self.any(lambda y: not (self.causal and y.shape[-1] == self.time))
        if not x:
            return None
        n = x.name
        forms = [f"softmax({n})", f"softmax({n} * 2)", f"softmax(where({self.condition(x)}, {n}, -inf))",
                 f"softmax({n}, sink: 0.5)", f"exp({n} - max({n})) / sum(exp({n} - max({n})))"]
        if len(x.shape) > 1 and isinstance(x.shape[-2], int):
            forms += [f"softmax({n}, sink: {self.weight([x.shape[-2], 1])})"]
        return self.let(self.r.pick(forms), x.shape, 1)

    # ---- movement ----

    def moves(self, x):
        """Texts and shapes."""
        n, s, r = x.name, x.shape, self.r
        last, found = s[-1], [(f"{n}[none]", [1] + s), (f"{n}[.., none]", s + [1])]
        if len(s) > 1:
            found.append((f"{n}'", s[:-2] + [s[-1], s[-2]]))
            if isinstance(s[0], int):
                found += [(f"{n}[{r.below(s[0])}]", s[1:]), (f"{n}[-1]", s[1:])]
                ids = [r.below(s[0]) for _ in range(1 + r.below(4))]
                rows = f"range({len(ids)})" if ids == list(range(len(ids))) else ids
                found += [(f"{n}[{rows}]", [len(ids)] + s[1:])]
        if len(s) > 2:
            order = list(range(len(s)))
            order = order[1:] + order[:1] if r.chance(50) else order[::-1]
            found += [(f"transpose({n}, 0, -1)", s[1:] + [s[0]]), (f"transpose({n}, -1, 0)", [s[-1]] + s[:-1]),
                      (f"transpose({n}, {order})", [s[a] for a in order])]
            if isinstance(s[0], int):
                found += [(f"spread({n}, {3 * s[0]})", [3 * s[0]] + s[1:])]
                found += [(f"merge({n})", s[1:-1] + [s[0] * last])] if isinstance(last, int) else []
        if len(s) == 2 and r.chance(20):
            found += [(f"spread({n}, 3)", [3] + s)]
        if isinstance(last, int):
            found += self.moves_of_last(x)
        return found

    def moves_of_last(self, x):
        n, s, r = x.name, x.shape, self.r
        last, found = s[-1], []
        if last > 2:
            a = r.below(last - 1)
            b = a + 1 + r.below(last - a - 1)
            found += [(f"{n}[.., {a}..{b}]", s[:-1] + [b - a]), (f"{n}[.., {a}..-1]", s[:-1] + [last - 1 - a])]
            found += [(f"join({n}[.., {a}..], {n}[.., ..{a}])", s)] * (a > 0) + [(f"{n}[.., {a}]", s[:-1])] * (len(s) > 1)
            found += [(f"join(split({n}, sizes: [{a}, {last - a}]))", s)] * (a > 0)
        for d in (2, 3, 5):
            if last % d == 0 and last > d:
                found += [(f"split({n}, {d})", [d] + s[:-1] + [last // d]),
                          (f"reshape({n}, [.., {last // d}, {d}])", s[:-1] + [last // d, d])]
        if last % 2 == 0:
            found += [(f"pairs({n})", [2] + s[:-1] + [last // 2]), (f"unpairs({n}[.., {last // 2}..], {n}[.., ..{last // 2}])", s)]
        before, value = 1 + r.below(3), r.pick(["0", "0.5"])
        found += [(f"pad({n}, before: {before}, after: 2, value: {value})", s[:-1] + [before + last + 2]),
                  (f"join({n}, {n} * 0.5)", s[:-1] + [2 * last])]
        if last > 4:
            found += [(f"window({n}, 3, stride: 2, axis: {len(s) - 1})", s[:-1] + [(last - 3) // 2 + 1, 3])]
        return found

    def do_move(self):
        x = self.any(kind=self.r.pick(["real"] * 8 + ["int", "truth"])) or self.any()
        n, s = x.name, x.shape
        found = [m for m in self.moves(x) if x.kind == "real" or "* 0.5" not in m[0] and "pad(" not in m[0]]
        same = self.any(lambda y: y.shape == s, kind=x.kind)
        if isinstance(s[0], int):
            found += [(f"stack({n}, {same.name})", [2] + s), (f"join({n}, {same.name}, axis: 0)", [2 * s[0]] + s[1:])]
            if len(s) > 1 and x.kind == "real":
                found += [(f"pad({n}, axis: 0, before: 1)", [s[0] + 1] + s[1:])]
                if s[0] > 2:
                    found += [(f"window({n}, 2, axis: 0)", [s[0] - 1, 2] + s[1:])]
        found += [(f"stack({n}, {same.name}, axis: -1)", s + [2])]
        text, shape = self.r.pick(found)
        if not shape or not self.fits(shape) or (self.time in shape and shape.count(self.time) > 1):
            return None
        return self.let(text, shape, max(x.most, same.most), exact=x.exact and same.exact, kind=x.kind)
