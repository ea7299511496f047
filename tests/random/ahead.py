"""Models that look ahead on the way and are causal as a whole: rows that read later ones, what is made of them, and as many rows late."""

from core import MOST_ELEMENTS, Random


class Ahead:
    def start_ahead(self):
        """Some of the models in which position i reads none after it, by random numbers of their own."""
        chooser = Random(self.seed ^ 0x6168656164)
        self.ahead = chooser if self.causal and chooser.chance(20) else None

    def fits_ahead(self, y):
        return y.shape[1] < 40 and self.size(y.shape[0]) ** 2 * y.shape[1] <= 4 * MOST_ELEMENTS * (1 + 20 * self.long)

    def look_ahead(self, x, k):
        """Rows of x with those up to k later: text and magnitude."""
        r, n, m, s = self.ahead, x.name, x.most, self.fresh()
        i = f"index({n}, 0)"
        kind = r.below(7)
        if kind == 0:
            return f"pad({n}, axis: 0, after: {k})[{k}..]", m
        if kind == 1:
            before = r.below(3)
            w = self.weight([before + k + 1, x.shape[1]])
            return f"sum(window(pad({n}, axis: 0, before: {before}, after: {k}), {before + k + 1}, axis: 0) * {w}, axis: 1)", m * (before + k + 1)
        if kind == 2:
            return f"where({i} == {i}[.., none] + {k}, 1, 0) @ {n}", m
        if kind == 3:
            return f"{n}[{i} + {k}]", m
        if kind == 4:
            return f"max(pad({n}, axis: 0, after: {k}, value: -inf)[{k}..], {n})", m
        self.line(f"{s} = {n} @ {n}' * {1 / (1 + m * m * x.shape[1]):.3g}")
        near = r.pick(["", f" and col({s}) >= row({s}) - 3"])
        if kind == 5:
            return f"softmax(where(col({s}) <= row({s}) + {k}{near}, {s}, -inf)) @ {n}", m
        return f"where(col({s}) <= row({s}) + {k}{near}, {s}, 0) @ {n} * 0.25", m * 4

    def look_back(self, x, y, k):
        """Of y, which looks k rows ahead, rows that are k late; x does not. Text and magnitude."""
        r, n, m, s = self.ahead, y.name, y.most, self.fresh()
        i = f"index({n}, 0)"
        kind = r.below(6)
        if kind == 0:
            return f"pad({n}, axis: 0, before: {k})[..-{k}]", m
        if kind == 1:
            more = 1 + r.below(3)
            w = self.weight([more, y.shape[1]])
            return f"sum(window(pad({n}, axis: 0, before: {more - 1 + k}), {more}, axis: 0)[..-{k}] * {w}, axis: 1)", m * more
        if kind == 2:
            return f"where({i} == {i}[.., none] - {k}, 1, 0) @ {n}", m
        q = f"(linear({x.name}, {y.shape[1]}) as q{s})" if x.shape != y.shape else x.name
        self.line(f"{s} = {q} @ {n}' * {1 / (1 + m * x.most * y.shape[1]):.3g}")
        late = f"col({s}) <= row({s}) - {k}" + r.pick(["", f" and col({s}) > row({s}) - {k + 5}"])
        if kind == 3:
            return f"where({late}, {s}, 0) @ {n} * 0.25", m * 4
        return f"softmax(where({late}, {s}, -inf), sink: 0.5) @ {r.pick([n, n, f'tanh({n})'])}", m

    def do_ahead(self):
        x = self.rows(self.fits_ahead)
        if not x or self.looking:
            return None
        r, outer, total, y = self.ahead, self.pool, 0, x
        self.looking, self.pool = True, list(outer)
        for _ in range(1 + r.below(2)):
            k = 1 + r.below(3)
            text, most = self.look_ahead(y, k)
            total += k
            self.pool = outer + [self.let(text, y.shape, most)]
            for _ in range(r.below(4)):
                self.step(deep=self.depth > 1 or r.chance(60))
            made = [v for v in self.pool[len(outer):] if v.kind == "real" and len(v.shape) == 2 and v.shape[0] == self.time and
                    isinstance(v.shape[1], int) and self.fits_ahead(v)]
            y = made[-1] if r.chance(60) else r.pick(made)
        text, most = self.look_back(x, y, total)
        self.pool, self.looking = outer, False
        return self.let(text, y.shape, most)
