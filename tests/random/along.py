"""Recurrences: alongs whose bodies carry vectors, matrices and what weights make of them, by decays that data decide."""

from core import MOST_ELEMENTS


class Along:
    def do_along(self):
        for _ in range(1 + self.r.chance(30)):
            self.r.pick([self.along_rows, self.along_rows, self.along_matrix, self.along_matrix, self.along_weights])()

    def along_operand(self):
        x = self.rows(lambda y: y.shape[1] >= 2 and self.size(y.shape[0]) * y.shape[1] <= MOST_ELEMENTS // 4)
        return (x, self.fresh()) if x else (None, None)

    def at(self, name, shape, t):
        """name[t]: by the only axis of that size, or by the place of t."""
        n, axis = shape
        if isinstance(n, int) or self.r.chance(20):
            return f"{name}[{'.., ' * axis}{t}, ..]"
        return f"{name}[{t}]"

    def gate(self, x, n, word):
        """A decay between 0 and 1: of data, or a number; now and then exactly 0, or above 1 for a little."""
        r, t = self.r, self.fresh()
        texts = [f"sigmoid(linear({x.name}, {n}) as {word}{t})"] * 4 + [f"exp(-exp(linear({x.name}, {n}) as {word}{t}))",
                 f"(1 / (1 + (linear({x.name}, {n}) as {word}{t}) ^ 2))", f"where({x.name}[.., ..1] > 0.3, 0, sigmoid(linear({x.name}, {n}) as {word}{t}))"]
        self.line(f"{t} = {r.pick(texts)}")
        return t

    def along_rows(self):
        """Vectors, element by element."""
        r = self.r
        x, t = self.along_operand()
        if not x:
            return None
        n, d = x.shape
        a, h, y, p = self.gate(x, d, "a"), self.fresh(), self.fresh(), r.pick(["t", "u", "position"])
        at = lambda name: self.at(name, (n, 0), p)
        self.line(f"{h} = {r.pick([f'full(0, [1, {d}])', '0', f'full(0.5, [1, {d}])', f'{x.name}[..1] * 0.25'])}")
        if f"{x.name}[..1]" in self.lines[-1]:
            self.used.add(x.name)
        second = r.chance(40)
        g = self.fresh()
        if second:
            self.line(f"{g} = full(0, [1, {d}])")
        within = not self.time and r.chance(20)
        self.open(f"{y} = {'over w' + t + ' : 2 { return ' if within else ''}along {p} : {n}")
        steps = [f"{h} = {at(a)} * {h} + (1 - {at(a)}) * {at(x.name)}", f"{h} = {at(a)} * {h} + {at(x.name)} * {at(a)} / 2",
                 f"{h} = max({h} * 0.9, {at(x.name)})", f"{h} = min({h}, {at(x.name)}) * 0.5 + {at(a)}",
                 f"{h} = tanh({h} + {at(x.name)})", f"{h} = where({p} % 5 == {r.below(5)}, 0, {h}) * {at(a)} + {at(x.name)} / 2",
                 f"{h} = where({p} {r.pick(['==', '<', '>=', '!='])} {r.below(4)}, {at(a)}, {h} * 0.5) + {at(x.name)} / 2",
                 f"{h} = {h} * 0.75 + {at(x.name)} * real({p} % 3) / 4"]
        was = self.fresh()
        self.line(f"{was} = {h}")
        self.line(r.pick(steps))
        if r.chance(25):
            step = r.pick([f"{h} = tanh({h} + {at(x.name)} * 0.5) * {at(a)}", f"w{t} : weight[{d}];  {h} = tanh({h} * w{t} + {at(x.name)}) * {at(a)}"])
            if r.chance(30):
                step = f"repeat i{t} : {2 + r.below(2)} {{ {step} }}"
            self.line(f"repeat j{t} : {2 + r.below(2)} {{ {step} }}")
        if second:
            self.line(f"{g} = {g} * {at(a)} * 0.9 + tanh({r.pick([h, was])}) / 2")
        out = r.pick([h, f"{h} * 0.5 + {was} * 0.25", f"{h} * {at(x.name)}", f"{h} - real({p}) * 0.001", f"reverse({h}, axis: 1)"])
        self.line(f"return {out}{' + ' + g if second else ''}")
        self.close("}" + (" }" if within else ""))
        most = 4 * max(1, x.most) ** 2 + 4
        if within:
            return self.let(f"sum({y}, axis: 0)", [n, d], 2 * most)
        return self.let(y, [n, d], most)

    def along_matrix(self):
        """A matrix for each head that is decayed, read from one side, and written by outer products; now and then more than that."""
        r = self.r
        x, t = self.along_operand()
        if not x:
            return None
        n, heads, m, width, p = x.shape[0], r.pick([2, 3]), r.pick([2, 3, 4, 16, 17]), r.pick([2, 3, 5, 16, 18]), "t"
        if self.size(n) * heads * (m + width) > MOST_ELEMENTS:
            return None
        part = lambda text: f"split({text}, {heads})"
        names = {}
        for letter, size in [("q", m), ("k", m), ("v", width)]:
            names[letter] = self.fresh()
            self.line(f"{names[letter]} = {part(f'(tanh(linear({x.name}, {heads * size}) as {letter}{t}))')}")
        if r.chance(60):
            self.line(f"{names['k']} = {names['k']} / sqrt(sum({names['k']} * {names['k']}) + 0.01)")
        else:
            self.line(f"{names['k']} = {names['k']} / {m}")
        q, k, v = ([lambda name=names[letter]: self.at(name, (n, 1), p)][0] for letter in "qkv")
        kind = r.pick(["one", "one", "row", "column"])
        decay = self.fresh()
        self.line(f"{decay} = {part(self.gate(x, heads * {'one': 1, 'row': m, 'column': width}[kind], 'g'))}")
        beta = self.fresh()
        self.line(f"{beta} = {part(self.gate(x, heads, 'b'))}")
        of = lambda name: self.at(name, (n, 1), p)
        S, y = self.fresh(), self.fresh()
        self.line(f"{S} = {r.pick([f'full(0, [{heads}, {m}, {width}])', self.weight([heads, m, width])])}")
        self.open(f"{y} = along {p} : {n}")
        decayed = f"{of(decay)}{chr(39) if kind == 'row' else ''} * {S}"
        writes = [f"{S} = {S} + {k()}' @ ({of(beta)} * ({v()} - {k()} @ {S}))", f"{S} = {S} + {k()}' @ ({of(beta)} * {v()})",
                  f"{S} = {S} + ({k()} * {of(beta)})' @ tanh({v()} - {k()} @ {S})", f"{S} = {S} - ({k()} * {of(beta)})' @ ({k()} @ {S})",
                  f"{S} = {S} + {k()}' * {v()} * 0.25"]
        before = r.chance(25)
        if before:
            self.line(f"z{t} = {q()} @ {S}")
        if r.chance(15):
            self.line(f"{S} = where({p} % 6 == 4, 0, {S})")
        self.line(f"{S} = {decayed}")
        for _ in range(1 + r.chance(30)):
            self.line(r.pick(writes))
        if r.chance(15):
            self.line(f"{S} = tanh({S})")
        self.line(f"return {q()} @ {S}" + (f" + z{t}" if before else ""))
        self.close()
        return self.let(f"merge({y}) / {2 * m}", [n, heads * width], 4)

    def along_weights(self):
        """A next state that products with weights make."""
        r = self.r
        x, t = self.along_operand()
        if not x:
            return None
        n, d, h, y = x.shape[0], x.shape[1], self.fresh(), self.fresh()
        at = self.at(x.name, (n, 0), "t")
        if isinstance(n, int) and r.chance(40):  # from the last row on
            at = f"reverse({x.name}, axis: 0)[t, ..]"
        self.line(f"{h} = full(0, [1, {d}])")
        self.open(f"{y} = along t : {n}")
        if r.chance(60):  # what no carried value decides
            e = r.pick([at, f"tanh({at} * 0.5)", f"(rmsnorm({at}) as norm{t})", f"({at} - sum({at}) / {d})"])
            self.line(f"p{t} = {r.pick([f'linear({e}, {d}) as from_x{t}', f'{e} @ {self.weight([d, d])}', f'{at} * 0.5 + linear({e}, {d}) as from_x{t}'])}")
            at = f"tanh(p{t})"
        z = self.fresh()
        self.line(f"{z} = sigmoid(linear({h}, {d}) as z{t})")
        self.line(r.pick([f"{h} = tanh({at} + linear({h}, {d}, bias: false) as u{t})", f"{h} = (1 - {z}) * {h} + {z} * tanh({at} + linear({h}, {d}) as u{t})",
                          f"{h} = {z} * {h} + rmsnorm({at}) * 0.25"]))
        self.line(f"return {h}")
        self.close()
        return self.let(y, [n, d], 8)
