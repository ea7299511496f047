"""Values of a repeat's iterations, named after it: long skips, mixtures of layers, one iteration's alone."""


class Iterations:
    def keep_iterations(self, name, iterations, carried, values):
        """Called as a repeat ends, inner ones first: what its body named, by path and iterations."""
        inner, self.inner_iterations = self.inner_iterations, []
        if self.looking:
            return
        values = [v for v in values if v.kind in ("real", "int", "truth")]
        mine = [([(name, iterations)], v) for v in values + [carried]] + [([(name, iterations)] + path, v) for path, v in inner]
        if self.depth > 1:
            self.inner_iterations = mine
        else:
            self.iterations += mine

    def place(self, n, index=None):
        """An iteration of n: a number, or of the repeat whose index is given."""
        k = self.r.below(n)
        if not index:
            return str(k)
        return self.r.pick([f"{n - 1} - {index} % {n}", f"{index} % {n}", f"({index} * 2 + {k}) % {n}", f"{index} // 2 % {n}", str(k)])

    def named(self, path, v, index=None):
        text = ".".join(f"{name}[{self.place(n, index)}]" for name, n in path) + "." + v.name
        return {"real": text, "int": f"real({text}) / {v.most + 1:.3g}", "truth": f"where({text}, 1, 0)"}[v.kind]

    def do_iterations(self):
        """As long as a model has repeats."""
        r = self.r
        for _ in range(1 + r.below(3)):
            if self.iterations:
                path, v = r.pick(self.iterations)
                most = v.most if v.kind == "real" else 1
                r.pick([self.one_iteration, self.long_skip, self.long_skip, self.mixture_of_iterations])(path, v, most)

    def one_iteration(self, path, v, most):
        other = self.any(lambda y: y.shape == v.shape)
        text = self.named(path, v)
        self.let(f"{text} - {other.name} * 0.5" if other else f"tanh({text})", v.shape, most + other.most if other else 1)

    def long_skip(self, path, v, most):
        r, iterations, i = self.r, 1 + self.r.below(4), self.fresh()
        x = self.any(lambda y: y.shape == v.shape) or self.let(f"{self.named(path, v)} * 0.5", v.shape, most)
        c = self.let(f"{x.name} + 0", v.shape, x.most)
        self.open(f"repeat again{c.name}[{i}] : {iterations}")
        text = self.named(path, v, i)
        if len(v.shape) == 2 and isinstance(v.shape[1], int) and r.chance(50):
            self.line(f"{c.name} = tanh(linear(join({c.name}, {text}), {v.shape[1]}) as skip{c.name}) + {c.name} / 4")
        elif len(v.shape) > 1 and isinstance(v.shape[-1], int) and r.chance(30):
            self.line(f"{c.name} = tanh({c.name}) + merge(split({text}, 1)) / {1 + most:.3g}")
        else:
            self.line(f"{c.name} = tanh({c.name} / 2 + ({i} * 0.5 - 0.25) * ({text}) / {1 + most:.3g})")
        self.close()
        c.most = 1 + max(c.most, 2)

    def mixture_of_iterations(self, path, v, most):
        r, n, y = self.r, 1 + self.r.below(4), self.fresh()
        if not self.fits([n] + v.shape):
            return
        self.line(f"{y} = over mix{y}[j] : {n} {{ u{y} = {self.named(path, v, 'j')} * (1 + j) / 4;  return u{y} }}")
        stacked = self.add(y, [n] + v.shape, most * 2)
        if r.chance(50):
            self.let(f"sum({y}, axis: 0) + mix{y}[{self.place(n)}].u{y}", v.shape, most * 2 * n)
        return stacked
