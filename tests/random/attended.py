"""Attention whose queries, keys and values are made by any op, over rows or along a fixed axis inside each position, given out as it is, merged,
or read by others.  Each of the three may be a softmax, a sum, a slice, a join, neighbours of a join, a literal, a latent's product.

Weights are a softmax, or one that is written out, of which a row without a live key is 0 / 0: its value is then made a number, so that
what reads it may be compared."""

from core import MOST_ELEMENTS


class Attended:
    def literal(self, n):
        return "[" + ", ".join(self.r.pick(["0.5", "-1", "0.25", "2", "1", "0"]) for _ in range(n)) + "]"

    def made_rows(self, x, n, letter):
        """Rows [T, n] by some op."""
        r, y, m = self.r, x.name, self.fresh()

        def lin(width):
            return f"(linear({y}, {width}) as {letter}{self.fresh()})"

        def of_latent(width, turned=False):
            return f"{lin(3)} @ " + (self.weight([width, 3]) + "'" if turned else self.weight([3, width]))

        half = max(n // 2, 1)
        some = f"where(col({y}) < 0 or row({y}) % 3 == 1, {{}}, 0.25)" if n == x.shape[1] else "max({}, -0.5)"
        found = [lambda: lin(n), lambda: f"softmax({lin(n)})", lambda: f"softmax({lin(n)}) * 2 - 1", lambda: f"({lin(n)}')'",
                 lambda: f"sum(split({lin(2 * n)}, 2), axis: 0) / 2", lambda: f"reshape(reshape({lin(n)}, [.., 1, {n}]), [{x.shape[0]}, {n}])",
                 lambda: f"pairs(join({lin(n)}, {lin(n)}))[{r.below(2)}]", lambda: f"pairs({lin(2 * n)})[{r.below(2)}]",
                 lambda: f"{lin(n + 3)}[.., 1..{n + 1}]", lambda: f"tanh({lin(1)}) * {self.literal(n)}", lambda: some.format(lin(n)),
                 lambda: of_latent(n), lambda: of_latent(n), lambda: of_latent(n, True), lambda: f"tanh({of_latent(n)})",
                 lambda: f"softmax({lin(3)}) @ {self.weight([3, n])}", lambda: f"(0.5 + {lin(n)}) * {self.literal(n)}",
                 lambda: f"pad({lin(n)}, axis: 0, before: 1)[..-1]", lambda: f"exp(tanh({lin(n)}))", lambda: f"rmsnorm({lin(n)}, eps: 0.01)"]
        if n > 1:
            found += [lambda: f"join({lin(half)}, {lin(n - half)})", lambda: f"join(tanh({lin(half)}), {of_latent(n - half)})",
                      lambda: f"pad({lin(n - 1)}, before: 1, value: 0.5)", lambda: f"join({self.literal(half)} + 0 * {lin(1)}, {lin(n - half)})",
                      lambda: f"join({of_latent(half)}, {of_latent(n - half)})",
                      lambda: f"pairs(join({of_latent(n)}, {lin(n)}))[{r.below(2)}]"]
        if n == x.shape[1]:
            found += [lambda: y, lambda: y, lambda: f"softmax({y})", lambda: f"{y} * 0.5",
                      lambda: f"pad({y}, axis: 0, before: 1)[..-1] * pad({y}, axis: 0, before: 1, value: -0.5)[..-1]"]
        self.line(f"{m} = {r.pick(found)()}")
        return m

    def live_keys(self, s, inside):
        """Truths: which keys a row sees; and whether each row sees one."""
        r = self.r
        found = [(f"col({s}) <= row({s})", True), (f"col({s}) <= row({s}) and row({s}) - col({s}) < {2 + r.below(6)}", True),
                 (f"col({s}) < row({s})", False), (f"col({s}) < row({s}) and row({s}) - col({s}) < {2 + r.below(6)}", False),
                 (f"col({s}) <= row({s}) - {1 + r.below(3)}", False), (f"col({s}) <= row({s}) and col({s}) % 3 == 2", False)]
        if inside or not self.causal:
            found += [(f"col({s}) % 2 == 0", True), (f"row({s}) == 1 and col({s}) == 0", False)]
        return r.pick(found)

    def by_hand_of_live(self, s, live):
        """Weights that are written out."""
        r, e = self.r, self.fresh()
        small = f"{s} * 0.1"
        if r.chance(15):  # a sink beside a maximum, which is -inf where no key lives
            self.line(f"t{e} = where({live}, {small}, -inf)")
            self.line(f"{e} = exp(t{e} - max(t{e}))")
            return e, f"{e} / (sum({e}) + exp(0.5 - max(t{e})))"
        self.line(f"{e} = " + r.pick([f"exp({small}) * where({live}, 1, 0)", f"where({live}, exp({small}), 0)", f"real({live}) * exp({small})",
                                      f"where({live}, 1, 0) * exp(tanh({s}))", f"exp(where({live}, {small}, -inf))", f"softmax({s}) * where({live}, 1, 0)",
                                      f"where({live}, {s} ^ 2 + 0.25, 0)", f"real({live}) + 0 * {s}"]))
        return e, r.pick([f"{e} / sum({e})", f"{e} / sum({e})", f"{e} * (1 / sum({e}))", f"{e} / (sum({e}) + 0.5)"])

    def attend(self, q, k, v, inside, square=True):
        """Text of the result, and whether it may be NaN; square: there are as many rows as keys."""
        r, s = self.r, self.fresh()
        self.line(f"{s} = " + r.pick([f"{q} @ {k}'", f"{q} @ {k}' * 0.5", f"({k} @ {q}')'", f"0.25 * ({q} @ {k}') + 0.125",
                                      f"{q} @ {k}' / 3", f"({q} @ {k}' / 4 - {k} @ {q}' / 3) / 2" if square else f"{q} @ {k}' / 4"]))
        live, lives = self.live_keys(s, inside)
        kind = r.below(8)
        if kind < 4:
            return f"softmax(where({live}, {s}, -inf)) @ {v}", False
        if kind == 4 and (inside or not self.causal):
            return f"softmax({s}) @ {v}", False
        if kind == 5:
            return f"where({live}, tanh({s}), 0) @ {v} * 0.125", False
        e, weights = self.by_hand_of_live(s, live)
        if r.chance(25):
            return f"({e} @ {v}) / sum({e})", not lives
        if r.chance(15):
            return f"sum({weights})", not lives
        return f"({weights}) @ {v}", not lives

    def numbers(self, text, dead):
        """A name for it, NaN made a number."""
        y = self.fresh()
        self.line(f"{y} = {text}")
        if not dead:
            return y
        z = self.fresh()
        self.line(f"{z} = {self.r.pick([f'where(abs({y}) < 1000000, {y}, 3)', f'where(0 <= abs({y}), {y}, -0.5)', f'where(not (0 <= abs({y})), 2, {y})'])}")
        return z

    def do_attended(self):
        r = self.r
        x = self.rows(lambda y: y.shape[1] > 1)
        if not x:
            return
        if "import positions" not in self.imports:
            self.imports.append("import positions")
        if r.chance(45) and self.depth == 1:
            self.attend_inside(x)
        else:
            self.attend_rows(x)

    def attend_rows(self, x):
        r, t = self.r, self.size(x.shape[0])
        heads, d, e = r.pick([1, 1, 2, 3]), r.pick([1, 2, 4, 5, 16]), r.pick([1, 3, 4, 16])
        if r.chance(20):
            heads, d, e = 1, x.shape[1], x.shape[1]
        if heads * t * max(t, d) > 4 * MOST_ELEMENTS * (1 + 20 * self.long):
            return
        if r.chance(35):  # weights as queries, of keys that are worth moving
            d = r.pick([4, 5, 16])
            q, k, m = (self.fresh() for _ in range(3))
            self.line(f"{m} = linear({x.name}, 2) as k{m}")
            self.line(f"{q} = linear({x.name}, {heads * d}) as q{q}")
            self.line(f"{k} = {m} @ {self.weight([2, heads * d])}")
            q = f"softmax({q})" if heads == 1 else q
        else:
            q, k = self.made_rows(x, heads * d, "q"), self.made_rows(x, heads * d, "k")
        v = k if d == e and r.chance(30) else self.made_rows(x, heads * e, "v")
        if heads > 1 or r.chance(20):
            q, k, v = (f"split({m}, {heads})" for m in (q, k, v))
            text, dead = self.attend(r.pick([q, f"softmax({q})"]), r.pick([k, k, f"softmax({k})"]), v, False)
            width = 1 if text.startswith("sum(") else e
            self.let(self.numbers(f"merge({text})", dead), [x.shape[0], heads * width], x.most * 4 + 4)
            return
        text, dead = self.attend(r.pick([q, q, f"softmax({q})"]), k, v, False)
        self.let(self.numbers(text, dead), [x.shape[0], 1 if text.startswith("sum(") else e], x.most * 4 + 4)

    def attend_inside(self, x):
        """Along an axis of n inside each position, from m rows of it, perhaps by heads."""
        r = self.r
        heads, n, m, d, e = r.pick([1, 1, 2, 3]), r.pick([1, 2, 3, 5, 17]), r.pick([1, 1, 2, 4]), r.pick([1, 2, 4, 12]), r.pick([1, 3, 4, 12])
        if r.chance(40):
            m = n
        if self.size(x.shape[0]) * heads * max(n * d, n * e, m * d, m * n) > 2 * MOST_ELEMENTS:
            return
        front = r.pick([[], [heads], [heads]])
        if heads > 1 and not front:
            front = [heads]

        def seen(letter, rows, width, given=None):
            """[T, heads, rows, width], or heads in front of T."""
            name = self.fresh()
            made = given or self.made_rows(x, rows * heads * width, letter)
            self.line(f"{name} = reshape({made}, [{', '.join(map(str, [x.shape[0]] + front + [rows, width]))}])")
            return name

        q, k = seen("q", m, d), seen("k", n, d)
        v = k if d == e and r.chance(40) else seen("v", n, e)
        turned = bool(front) and r.chance(40)
        if turned:
            q, k, v = (f"transpose({y}, [1, 0, 2, 3])" for y in (q, k, v))
        elif r.chance(10):
            k = v = f"({self.weight([n, d])} * 0.5)" if d == e else k
            v = self.weight([n, e]) if d != e else v
        text, dead = self.attend(q, k, v, True, m == n)
        width = 1 if text.startswith("sum(") else e
        y = self.numbers(text, dead)
        shape = ([heads, x.shape[0]] if turned else [x.shape[0]] + front) + [m, width]
        if r.chance(70) and len(shape) <= 4:
            value = self.add(y, shape, x.most * 4 + 4)
            if r.chance(30):
                self.let(f"{value.name} * 0.5", shape, value.most)
            return
        flat = f"transpose({y}, [1, 0, 2, 3])" if turned else y
        inner = heads * m * width if front else m * width
        rows = self.let(f"reshape({flat}, [{x.shape[0]}, {inner}])", [x.shape[0], inner], x.most * 4 + 4)
        if r.chance(40) and inner < 40 and self.causal:
            s = self.fresh()
            self.line(f"{s} = {rows.name} @ {rows.name}' * 0.05")
            self.let(f"softmax(where(col({s}) <= row({s}), {s}, -inf)) @ {rows.name}", rows.shape, rows.most)
