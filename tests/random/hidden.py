"""What a mask hides and floats cannot hold: scores of later positions that overflow to infinity, quotients by what underflows to 0,
logarithms of 0, NaN, each behind a mask that is a factor, a term, a condition or the left side of a product.

Doubles hold all of it, so the interpreter's results are right; and what a row itself reads is small.  It has random numbers of its
own, so that a seed's other choices stay what they are."""

from core import MOST_ELEMENTS, Random


class Hidden:
    def hidden(self):
        """After the other steps of a model in which position i reads none after it."""
        own = Random(self.seed ^ 0x68696464656e)
        if not self.causal or not own.chance(25):
            return
        kept, self.r = self.r, own
        for _ in range(1 + self.r.below(2)):
            self.hides |= self.do_hidden() is not None
        self.r = kept

    def do_hidden(self):
        heads = self.r.pick([0, 0, 1, 3])
        most = 4 * MOST_ELEMENTS * (1 + 20 * self.long)
        x = self.rows(lambda y: self.size(self.time) ** 2 * max(heads, 1) <= most)
        if not x:
            return None
        steepness = self.r.pick([150, 300, 600]) / min(self.size(self.time), 300 if self.long else 40)
        kinds = [self.by_hand, self.by_hand, self.weighted_rows, self.added, self.chosen, self.largest]
        return self.r.pick(kinds + [self.hidden_rows] * (2 * (heads == 0)))(x, heads, f"{steepness:.4g}")

    def hidden_scores(self, x, heads):
        """Scores within 1 of each pair of rows, and values to weigh by them; of heads, if there are any."""
        t, v, width = self.fresh(), self.fresh(), max(heads, 1)
        part = "split({}, %d)" % heads if heads else "{}"
        q, k, values = (part.format(f"(linear({x.name}, {width * n}) as {letter}{t})") for letter, n in [("q", 3), ("k", 3), ("v", 5)])
        self.line(f"{t} = tanh({q} @ ({k})')")
        self.line(f"{v} = {values}")
        return t, v

    def steep(self, t, a):
        """What grows beyond floats in later columns, and is positive."""
        ahead = f"(col({t}) - row({t}))"
        only_ahead = f"max(col({t}) - row({t}), 0)"
        return self.r.pick([
            f"exp({t} + {ahead} * {a})", f"exp({t} + {ahead} * {a})", f"exp({t}) * {2.718281828 ** -float(a):.5g} ^ -{ahead}",
            f"exp(({t} + {only_ahead} * {(float(a) / 40) ** 0.5:.4g}) ^ 2)", f"1 / exp({t} - {ahead} * {a})",
            f"exp({t} - {ahead} * {a}) ^ -1", f"exp({t} + {ahead} * {float(a) / 2:.4g}) ^ 2", f"exp(abs({t})) * (exp({ahead} * {a}) + 1)",
        ])

    def lost(self, t, a):
        """What is infinite or NaN in later columns, and of either sign."""
        only_ahead = f"max(col({t}) - row({t}), 0)"
        u = self.fresh()
        self.line(f"{u} = exp({t} + {only_ahead} * {a})")
        return self.r.pick([
            f"log(exp({t} - {only_ahead} * {a}))", f"{u} / (1 + {u})", f"({u} - 0.5 * {u})", f"cos({u})", f"({t} - {u})",
            f"({t} / exp({t} - {only_ahead} * {a}))", f"(1 / (1 + {u}) * {u})", f"sqrt({u}) * sin({t})", f"log(1 / {u})", self.steep(t, a),
        ])

    def live(self, t):
        """Truths: which columns a row sees, itself among them."""
        return self.r.pick([f"col({t}) <= row({t})", f"col({t}) <= row({t})", f"row({t}) - col({t}) >= 0", f"not (col({t}) > row({t}))",
                            f"col({t}) <= row({t}) and col({t}) > row({t}) - {2 + self.r.below(9)}",
                            f"col({t}) < row({t}) or col({t}) == row({t})"])

    def late(self, t):
        """The same, of earlier columns alone now and then."""
        return f"col({t}) < row({t}) - {self.r.below(3)}" if self.r.chance(25) else self.live(t)

    def factor(self, condition):
        one, name = self.r.pick(["1", "1", "2", "0.5"]), self.fresh()
        self.line(f"{name} = " + self.r.pick([f"where({condition}, {one}, 0)", f"where(not ({condition}), 0, {one})", f"-where({condition}, -{one}, 0)",
                                              f"abs(where({condition}, {one}, 0))", f"where({condition}, {one}, 0) * where({condition}, 1, 0)"]))
        return name

    def behind(self, factor, what, other):
        """A product in which the factor is exactly 0 where the rest may be anything."""
        return self.r.pick([f"{what} * {factor}", f"{factor} * {what}", f"{factor} * ({what} * {other})", f"{what} * ({factor} * {other})",
                            f"({other} * {what}) * {factor}", f"{factor} * {other} * {what}"])

    def picked(self, x, heads, weights, v, most):
        """Rows by weights: the model's value."""
        p = f"({weights}) @ {v}"
        return self.let(f"merge({p})" if heads else p, [self.time, 5 * max(heads, 1)], most)

    def by_hand(self, x, heads, a):
        """A softmax written out."""
        t, v = self.hidden_scores(x, heads)
        e = self.fresh()
        self.line(f"{e} = {self.behind(self.factor(self.live(t)), self.steep(t, a), f'exp({t})')}")
        return self.picked(x, heads, self.r.pick([f"{e} / sum({e})", f"{e} / (sum({e}) + 1)", f"{e} * (1 / sum({e}))"]), v, x.most * 2)

    def weighted_rows(self, x, heads, a):
        t, v = self.hidden_scores(x, heads)
        e = self.fresh()
        self.line(f"{e} = {self.behind(self.factor(self.late(t)), self.lost(t, a), f'cos({t})')}")
        if self.r.chance(25):
            return self.let(f"sum({e}, axis: {bool(heads) + 1})" + ("'" if heads else "[.., none]") + " / 16", [self.time, max(heads, 1)], 40)
        return self.picked(x, heads, f"{e} / 16", v, x.most * 40)

    def added(self, x, heads, a):
        """A mask that is a term."""
        t, v = self.hidden_scores(x, heads)
        s = self.fresh()
        mask = f"where({self.late(t)}, 0, -inf)"
        self.line(f"{s} = " + self.r.pick([f"{self.lost(t, a)} + {mask}", f"{mask} + {self.lost(t, a)}", f"{t} + ({mask} + {self.lost(t, a)})"]))
        return self.picked(x, heads, self.r.pick([f"softmax({s})", f"softmax({s})", f"softmax({s}, sink: 0.5)", f"exp({s}) / 16"]), v, x.most * 40)

    def chosen(self, x, heads, a):
        """A mask that is a condition: beside those that are factors, and on their way."""
        t, v = self.hidden_scores(x, heads)
        e = self.fresh()
        self.line(f"{e} = where({self.late(t)}, {self.lost(t, a)}, 0)" + self.r.pick(["", f" * {self.factor(self.live(t))}", f" * exp({t})"]))
        return self.picked(x, heads, f"{e} / 16", v, x.most * 40)

    def largest(self, x, heads, a):
        t, _ = self.hidden_scores(x, heads)
        s = f"max({self.lost(t, a)} + where({self.live(t)}, 0, -inf), axis: {bool(heads) + 1})"
        return self.let(s + ("'" if heads else "[.., none]"), [self.time, max(heads, 1)], 8)

    def hidden_rows(self, x, heads, a):
        """A mask of zeros and ones by rows that overflow one after another; what comes of a row that did is bounded."""
        u, z, s = self.fresh(), self.fresh(), self.fresh()
        self.line(f"{s} = {x.name} @ {x.name}'")
        self.line(f"{u} = exp(tanh(linear({x.name}, 4) as u{u}) + index({x.name}, 0)[.., none] * {a})" + self.r.pick(["", " * 2", " ^ 1", " + 1"]))
        self.line(f"{z} = where({self.live(s)}, 1, 0) @ {u}")
        return self.let(self.r.pick([f"1 / (1 + {z})", f"tanh({z} / 8)", f"min({z}, 4)", f"exp(-{z})"]), [self.time, 4], 4)
