"""Causal sums without a softmax: products of a triangle, decays, and factors of rows, columns and heads, which become scans; and what is
almost one: other masks, decays that grow or that data decide, formulas on the scores.

It has random numbers of its own, so that a seed's other choices stay what they are."""

from core import MOST_ELEMENTS, Random


class Recurrent:
    def recurrent(self):
        """After the other steps of a model in which position i reads none after it."""
        own = Random(self.seed ^ 0x7363616e)
        if not self.causal or not self.time or self.hides or not own.chance(30):
            return
        kept, self.r = self.r, own
        for _ in range(1 + self.r.below(2)):
            self.do_recurrence()
        self.r = kept

    def triangle(self, s, x):
        """x where col <= row, else 0; or almost."""
        r = self.r
        if r.chance(12):
            other = r.pick([f"col({s}) < row({s})", f"col({s}) <= row({s}) and row({s}) - col({s}) < 7", f"col({s}) <= row({s}) // 2",
                            f"col({s}) + 1 <= row({s})", f"col({s}) <= row({s}) and col({s}) % 3 != 1"])
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

    def weigh(self, x, factors, row, column):
        """x with factors of rows and of columns."""
        r = self.r
        for f in factors:
            x = r.pick([f"({x} * {f})", f"({f} * {x})", f"({x} / ({f} * {f} + 1))"])
        if r.chance(20):
            x = f"({x} / (row({row}) + 1))" if r.chance(50) else f"({x} / (col({column}) + 2))"
        return x

    def do_recurrence(self):
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
        if not r.chance(40):
            score = f"({score} * {self.decay(t, heads)})" if score else self.decay(t, heads)
        m = self.fresh()
        self.line(f"{m} = {self.weigh(self.triangle(t, score or '1'), factors, t, t)}")
        norm = r.pick(["", "", f" / (sum({m}) ^ 2 + 1)", f" / (sum({m} * {m}) + 1)"])
        y = self.fresh()
        self.line(f"{y} = ({m} @ {v}){norm}")
        n, merged = self.size(self.time), f"merge({y})" if heads > 1 else y
        return self.let(f"{merged} * {2 / n ** 0.5:.4g}", [self.time, heads * width], n ** 0.5 * 2)
