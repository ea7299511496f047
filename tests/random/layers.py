"""Repeats whose iterations differ by literals that decide how far a row looks: offsets of masks, windows, factors that are 0 in some
iterations only.  One iteration's numbers say nothing of another's."""

from core import MOST_ELEMENTS


class Layers:
    def numbers_by_layer(self, n, most):
        """Of each iteration a whole number up to `most`, not all the same where there are two."""
        found = [most - self.r.below(4) for _ in range(n)]
        if n > 1 and len(set(found)) == 1:
            found[self.r.below(n)] -= 1
        return "[" + ", ".join(map(str, found)) + "]"

    def do_layers(self):
        r = self.r
        x = self.rows(lambda y: self.size(y.shape[0]) * max(self.size(y.shape[0]), y.shape[1]) <= 2 * MOST_ELEMENTS * (1 + 20 * self.long))
        if not x:
            return
        n, i, s, d = 1 + r.below(4), self.fresh(), self.fresh(), x.shape[1]
        c = self.let(f"{x.name} + 0", x.shape, x.most)
        ahead = 0 if self.causal else 2
        self.open(f"repeat layers{c.name}[{i}] : {n}")
        self.line(f"{s} = {c.name} @ {c.name}' / {d * 4}")
        to = f"at({self.numbers_by_layer(n, ahead)}, {i})"
        back = f"at({self.numbers_by_layer(n, 5)}, {i})"
        live = r.pick([f"col({s}) <= row({s}) + {to}", f"col({s}) - {to} <= row({s})", f"col({s}) <= row({s}) + {to} and row({s}) - col({s}) < {back}"])
        kind = r.below(5)
        if kind < 3:
            read = f"softmax(where({live}, {s}, -inf)) @ {c.name}"
        elif kind == 3:
            read = f"where({live}, {s}, 0) @ {c.name} * 0.25"
        else:  # a factor that is 0 in some iterations, of rows that are later ones unless the model is causal
            factor = "[" + ", ".join(r.pick(["0", "0.5", "0"]) for _ in range(n)) + "]"
            later = f"pad({c.name}, axis: 0, before: 1)[..-1]" if self.causal else f"pad({c.name}, axis: 0, after: 1)[1..]"
            read = f"at({factor}, {i}) * {later}"
        self.line(f"{c.name} = tanh({c.name} / 2 + {read})")
        self.close()
        c.most = 1

    def do_strides(self):
        """Windows whose size or stride is that of the iteration: so many more or fewer, or as many at other places."""
        r = self.r
        x = self.rows(lambda y: y.shape[1] > 1)
        if not x:
            return
        n, i, (rows, d) = 2 + r.below(3), self.fresh(), x.shape
        c = self.let(f"{x.name} + 0", x.shape, x.most)
        size, least = 1 + r.below(3), 2 + r.below(2)
        width = size + 2 * least - 1
        of, size, strides = r.pick([
            (c.name, f"at([{', '.join(str(1 + r.below(min(d, 4))) for _ in range(n))}], {i})", [1 + r.below(3) for _ in range(n)]),
            (f"pad({c.name}, axis: 1, after: {width})[.., 0..{width}]", size, [least + r.below(least) for _ in range(n)])])
        self.open(f"repeat strides{c.name}[{i}] : {n}")
        windows = f"window({of}, {size}, stride: at({strides}, {i}), axis: 1)"
        taken = f"{r.pick(['sum', 'max'])}(sum({windows}, axis: 2), axis: 1)"
        self.line(f"{c.name} = tanh({c.name} / 2 + reshape({taken}, [{rows}, 1]) / {d})")
        self.close()
        c.most = 1
