"""What stands side by side and must be kept apart: parts on both sides of a border, kernels that differ in a number alone, sums under
gates of their own, stacked results that are read whole beside their sum."""


class Neighbours:
    def do_neighbours(self):
        r = self.r
        x = self.rows(lambda y: self.elements(y.shape) <= 2000)
        if x:
            r.pick([self.across_parts, self.across_parts, self.but_for_a_number, self.two_gates, self.stacked_beside])(x)

    def across_parts(self, x):
        """A range of columns that crosses from a part, or a head, into the next."""
        r, d, t = self.r, x.shape[1], self.fresh()
        heads, width = 2 + r.below(3), r.pick([2, 3, 4, 8, 16])
        made = f"split(linear({x.name}, {heads * width}) as k{t}, {heads})"
        whole, size = r.pick([(f"merge({r.pick(['tanh', 'sigmoid'])}({made}))", heads * width), (f"merge(({made}))", heads * width),
                              (f"join(tanh({x.name}), sigmoid({x.name}), tanh({x.name} - 1))", 3 * d)])
        part = d if size == 3 * d and whole.startswith("join") else width
        border = part * (1 + r.below(size // part - 1))
        first, end = max(border - 1 - r.below(2), 0), min(border + 1 + r.below(part + 1), size)
        name = self.fresh()
        self.line(f"{name} = {whole}")
        self.let(f"{name}[.., {first}..{end}]" + r.pick(["", " * 0.5", " + 1"]), [x.shape[0], end - first], max(x.most, 8))

    def but_for_a_number(self, x):
        """Two values of one form, each an output or a part of one, that no kernel may share."""
        r, t = self.r, self.fresh()
        form = r.pick(["tanh({x} * {n})", "rmsnorm({x}, eps: {n}) as {w}", "max({x} - {n}, 0)", "exp(-abs({x}) * {n})", "softmax({x} * {n})"])
        if "rmsnorm" in form:
            self.library("blocks")
        for i, number in enumerate(r.pick([("0.5", "0.25"), ("2", "3"), ("0.1", "0.001")])):
            self.let(form.format(x=x.name, n=number, w=f"norm{t}_{i}"), x.shape, max(x.most + 3, 30))

    def two_gates(self, x):
        """Experts that add to two sums, each under a mask of its own."""
        r, t = self.r, self.fresh()
        n = r.pick([2, 3, 5])
        p, q, a, b = (self.fresh() for _ in range(4))
        for gate in (p, q):
            self.line(f"l{gate} = (2 * col(linear({x.name}, {n}) as router{gate}) + {1 + r.below(3)} * row({x.name})) % {n} + 0.0")
            self.line(f"{gate} = where(top(l{gate}, 1), {r.pick(['1', '0.5'])}, 0)")
        self.line(f"{a} = {x.name}")
        self.line(f"{b} = {x.name} * 0.5")
        self.open(f"repeat expert{t}[e] : {n}")
        for total, gate in ((a, p), (b, q)):
            self.line(f"{total} = {total} + {gate}[.., e..e + 1] * tanh(linear({x.name}, {x.shape[1]}) as up{gate})")
        self.close()
        self.let(f"{a} - {b}", x.shape, 2 * x.most + 2)

    def stacked_beside(self, x):
        """All results of iterations, and their sum."""
        r, n, t = self.r, 2 + self.r.below(3), self.fresh()
        z, total = self.fresh(), self.fresh()
        self.line(f"{z} = over third{t}[e] : {n} {{ return tanh({x.name} * (1 + e) / 2) }}")
        self.line(f"{total} = sum({z}, axis: 0)")
        each = f"{z}[{r.below(n)}]" if self.time else r.pick([f"{z}[{r.below(n)}]", f"max({z}, axis: 0)"])
        if not self.time:
            self.add(z, [n, *x.shape], 1)
        self.let(f"{total} + {each}", x.shape, n + 1)
