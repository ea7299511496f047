"""Causal sums without a softmax: products of a triangle, decays, and factors of rows, columns and heads, and causal maxima and minima, which
become scans; and what is almost one: other masks, decays that grow or that data decide, formulas on the scores.

It has random numbers of its own, so that a seed's other choices stay what they are."""

from core import MOST_ELEMENTS, Random


class Recurrent:
    def recurrent(self):
        """After the other steps of a model in which position i reads none after it."""
        kept, own, gates = self.r, Random(self.seed ^ 0x7363616e), Random(self.seed ^ 0x67617465)
        if not self.causal or not self.time or self.hides:
            return
        if own.chance(30):
            self.r = own
            for _ in range(1 + self.r.below(2)):
                self.do_recurrence(False)
            if own.chance(50):
                self.do_largest()
        if gates.chance(60):
            self.r = gates
            self.do_recurrence(True)
        self.r = kept

    def of_one(self, s, marked):
        """Of the column or of the row alone; or almost."""
        r = self.r
        if r.chance(15):
            return r.pick([f"(row({s}) + col({s})) % 3 != 0", f"row({s}) - col({s}) < 5", f"(col({s}) % 2 == 0 or row({s}) % 2 == 0)"])
        return r.pick([f"col({s}) < {1 + r.below(4)}", f"col({s}) % {2 + r.below(3)} != 1", f"row({s}) % 3 != 1", f"not (col({s}) == 2)",
                       f"(col({s}) < 3 or col({s}) > 6)"] + [marked, f"not {marked}"] * 2 * bool(marked))

    def both(self, s, conditions):
        """The triangle and these: as it is to hold, and as it is to fail."""
        r = self.r
        all_of = [f"col({s}) <= row({s})"] + conditions
        k = r.below(len(all_of))
        all_of = all_of[k:] + all_of[:k]
        return " and ".join(all_of), " or ".join(f"not ({c})" for c in all_of)

    def triangle(self, s, x, marked=None):
        """x where col <= row, else 0; or almost."""
        r = self.r
        if r.chance(25):
            holds, fails = self.both(s, [self.of_one(s, marked) for _ in range(1 + r.chance(30))])
            return r.pick([f"where({holds}, {x}, 0)", f"where({fails}, 0, {x})", f"where(not ({fails}), {x}, 0)", f"(real({holds}) * {x})"])
        if r.chance(12):
            other = r.pick([f"col({s}) < row({s})", f"col({s}) <= row({s}) and row({s}) - col({s}) < 7", f"col({s}) <= row({s}) // 2",
                            f"col({s}) + 1 <= row({s})", f"col({s}) <= row({s}) and col({s}) % 3 != 1"]
                           + ([] if self.causal else [f"col({s}) <= row({s}) + 1"]))
            return f"where({other}, {x}, 0)"
        return r.pick([f"where(col({s}) <= row({s}), {x}, 0)", f"where(row({s}) < col({s}), 0, {x})", f"(real(col({s}) <= row({s})) * {x})",
                       f"({x} * where(row({s}) - col({s}) >= 0, 1, 0))", f"where(not (col({s}) > row({s})), {x}, 0)",
                       f"where(3 * col({s}) <= 3 * row({s}) + {r.below(3)}, {x}, 0)"])

    def decay(self, s, heads):
        r = self.r
        c = r.pick(["0.9", "0.96875", "0.5", "1", "(1 - 2 ^ -6)"] + [f"(1 - 2 ^ (-2 - head({s})))"] * 6 * (heads > 1))
        if r.chance(8):
            c = r.pick(["1.01", "1.25"])
        d = f"(row({s}) - col({s}))"
        forms = [f"{c} ^ {d}", f"{c} ^ (2 * {d})", f"exp({d} * log({c}))", f"exp(-log(1 / {c}) * {d} / 2)",
                 f"exp(where(col({s}) <= row({s}), {d} * log({c}), -inf))"]
        return r.pick(forms)

    def gated(self, s, x, heads):
        """A decay that data decide: exp of a difference of running sums, now and then with more in it."""
        r = self.r
        a, g = self.fresh(), self.fresh()
        gate = f"linear({x.name}, {heads}) as gate{a}"
        value = r.pick([f"-0.1 * sigmoid({gate})", f"log(1 - 0.1 * sigmoid({gate}))", f"log(sigmoid({gate})) / 16", f"-(0.1 * tanh({gate}) ^ 2)",
                        f"-abs(tanh({gate})) / 8", f"min(tanh({gate}), 0) / 8", f"tanh({gate}) / 16" if r.chance(20) else f"-exp(tanh({gate})) / 32"])
        self.line(f"{a} = {f'split({value}, {heads})' if heads > 1 else value}")
        n, seen = self.time, f"col({s}) <= row({s})"
        at = "[.., p, ..]" if heads > 1 else "[p, ..]"
        if r.chance(35):
            start = self.fresh()
            self.line(f"{start} = full({r.pick(['0', '0', '0.5'])}, [{f'{heads}, ' * (heads > 1)}1, 1])")
            self.line(f"{g} = along p : {n} {{ {start} = {start} + {a}{at}; return {start} }}")
        else:
            self.line(f"{g} = {r.pick([f'where({seen}, 1, 0) @ {a}', f'sum(where({seen}, {a}{chr(39)}, 0))'])}")
        exponent = r.pick([f"{g} - {g}'", f"-({g}' - {g})", f"({g} - {g}') / 2", f"{g} * 0.5 - ({g} / 2)'", f"-({g}' - {g}) + 0.25",
                           f"{g} - {g}' + 0.01 * row({s})", f"{g} - {g}' - 0.01 * col({s})", f"{g} * (row({s}) % 3) - {g}' * (col({s}) % 3)"])
        if r.chance(30):
            i, m = self.fresh(), self.fresh()
            self.line(f"{i} = {f'split(linear({x.name}, {heads}), {heads})' if heads > 1 else f'linear({x.name}, 1)'}")
            self.line(f"{m} = where({seen}, {exponent} + {i}', -inf)")
            return r.pick([f"exp({m} - max({m}))", f"exp({m})", f"exp({m} - max({m}) - 0.5)"])
        return r.pick([f"exp({exponent})", f"exp(where({seen}, {exponent}, -inf))"])

    def weigh(self, x, factors, row, column):
        """x with factors of rows and of columns."""
        r = self.r
        for f in factors:
            x = r.pick([f"({x} * {f})", f"({f} * {x})", f"({x} / ({f} * {f} + 1))"])
        if r.chance(20):
            x = f"({x} / (row({row}) + 1))" if r.chance(50) else f"({x} / (col({column}) + 2))"
        return x

    def do_largest(self):
        """Running maxima and minima, of a column or of one for each number of a row; never of nothing, which is infinite."""
        r = self.r
        x = self.rows(lambda y: self.size(self.time) ** 2 * 5 <= 4 * MOST_ELEMENTS * (1 + 20 * self.long))
        if not x:
            return None
        t, c = self.fresh(), self.fresh()
        width = r.pick([1, 1, 2, 5])
        self.line(f"{t} = {x.name} @ {x.name}'")
        self.line(f"{c} = (tanh(linear({x.name}, {width}) as c{t}))'{'[.., none, ..]' if width > 1 else ''}")
        call, none = r.pick([("max", "-inf"), ("min", "inf")])
        conditions = [f"(col({t}) == 0 or {self.of_one(t, None)})"] if r.chance(30) else []
        holds, fails = self.both(t, conditions)
        term = f"(col({t}) / {self.size(self.time)})"
        of_row = f"(tanh(linear({x.name}, 1) as r{t}))"
        inner = r.pick([c, c, f"({c} - {term})", f"({c} + {of_row})", f"({of_row} - {c})", f"-{c}", f"({c} * {of_row})"])
        masked = r.pick([f"where({holds}, {inner}, {none})", f"where({fails}, {none}, {inner})", f"({inner} + where({holds}, 0, {none}))",
                         f"({inner} - where({fails}, -({none}), 0))", f"-where({holds}, {inner}, -({none}))"] if r.chance(90) else
                        [f"where(col({t}) < row({t}) or col({t}) == 0 and row({t}) == 0, {inner}, {none})",
                         f"where({holds} and row({t}) - col({t}) < 6, {inner}, {none})"])
        y = self.fresh()
        self.line(f"{y} = {call}({masked})")
        return self.let(f"{y}[.., 0]'" if width > 1 else y, [self.time, width], 3)

    def do_recurrence(self, gated):
        r = self.r
        heads = r.pick([1, 1, 2, 3])
        x = self.rows(lambda y: self.size(self.time) ** 2 * heads <= 4 * MOST_ELEMENTS * (1 + 20 * self.long))
        if not x:
            return None
        t, depth, width = self.fresh(), r.pick([1, 3, 4, 16]), r.pick([1, 2, 5, 16] + [130] * (heads == 1))
        part = "split({}, %d)" % heads if heads > 1 else "{}"
        q, k, v = (part.format(f"(tanh(linear({x.name}, {heads * n}) as {letter}{t}))")
                   for letter, n in [("q", depth), ("k", depth), ("v", width)])
        self.line(f"{t} = {q} @ ({k})'")
        score = f"({t} / {depth})" if r.chance(75) else None
        factors = []
        for letter, text, chance in [("r", "tanh(linear({}, 1) as {})", 20), ("c", "sigmoid(linear({}, 1) as {})'", 20)]:
            if r.chance(chance):
                factors.append(self.fresh())
                self.line(f"{factors[-1]} = {text.format(x.name, letter + t)}")
        if score and r.chance(8):
            score = r.pick([f"max({score}, 0)", f"({score} + 1)", f"({score} * {t})"])
        if gated or not r.chance(40):
            decay = self.gated(t, x, heads) if gated else self.decay(t, heads)
            score = f"({score} * {decay})" if score else decay
        m = self.fresh()
        marked = None
        if r.chance(20):
            marked = self.fresh()
            self.line(f"{marked} = (linear({x.name}, 1) as mark{t})' > 0")
        self.line(f"{m} = {self.weigh(self.triangle(t, score or '1', marked), factors, t, t)}")
        norm = r.pick(["", "", f" / (sum({m}) ^ 2 + 1)", f" / (sum({m} * {m}) + 1)"])
        y = self.fresh()
        self.line(f"{y} = ({m} @ {v}){norm}")
        n, merged = self.size(self.time), f"merge({y})" if heads > 1 else y
        return self.let(f"{merged} * {2 / n ** 0.5:.4g}", [self.time, heads * width], n ** 0.5 * 2)
