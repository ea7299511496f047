"""Attention over operands that lie in every way: turned, of an input whose positions are an inner axis, stacked, parts of something wider,
padded, shared, in rows; and results that are turned or stacked.  Products with weights that are seen by heads.  Whether it is one kernel must not depend on the plan.  It has random
numbers of its own, so that a seed's other choices stay what they are."""

from core import MOST_ELEMENTS


class Operands:
    def turned_input(self, heads, rows, d):
        """An input whose rows are an inner axis, as [heads, rows, d]."""
        name = self.fresh()
        order, turn = self.r.pick([([heads, d, rows], "[0, 2, 1]"), ([d, heads, rows], "[1, 2, 0]"), ([heads, rows, d], None), ([d, rows, heads], "[2, 1, 0]")])
        self.line(f"input {name} : real[{', '.join(map(str, order))}]")
        return f"transpose({name}, {turn})" if turn else name

    def operand(self, x, heads, rows, d):
        """Text of a value [heads, rows, d] made of x, which is [rows, ..]; or of an input of its own."""
        r, n = self.r, self.fresh()
        kind = r.below(9)
        wide = lambda width: f"linear({x}, {width}) as o{n}"
        if kind == 0:
            return f"split({wide(heads * d)}, {heads})"
        if kind == 1:  # heads innermost
            return f"transpose(reshape({wide(heads * d)}, [{rows}, {d}, {heads}]), [2, 0, 1])"
        if kind == 2:
            return self.turned_input(heads, rows, d)
        if kind == 3:  # a part of something wider
            return f"split({wide(heads * (d + 3))}, {heads})[.., .., 1..{d + 1}]"
        if kind == 4:  # one of two that are stacked
            self.line(f"{n} = split({wide(heads * d)}, {heads})")
            return r.pick([f"stack(sin({n}), {n}, axis: 0)[1]", f"join({n}, sin({n}))[.., .., {d}..]", f"join({n}, cos({n}), axis: 0)[{heads}..]"])
        if kind == 5:  # a value for each head
            return f"over o{n}[h{n}] : {heads} {{ return linear({x}, {d}) as o{n} }}"
        if kind == 6:  # rows that are moved
            return f"pad(split({wide(heads * d)}, {heads}), axis: 1, before: 1)[.., ..-1, ..]"
        if kind == 7:  # one head for all
            return f"spread(reshape({wide(d)}, [1, {rows}, {d}]), {heads})"
        self.line(f"{n} = tanh(split({wide(heads * d)}, {heads}))")
        return n

    def memory(self, x):
        """What keys and values come from: rows of x, or of an input of its own size."""
        if self.r.chance(70):
            return x.name, x.shape[0]
        name, d = self.fresh(), self.r.pick([3, 8])
        rows = self.r.pick([1, 5, 17]) if not self.time or self.r.chance(40) else "others" + name
        if not isinstance(rows, int):
            self.bounds[rows] = self.r.pick([5, 17])
            self.line(f"{rows} : upto({self.bounds[rows]})")
        self.line(f"input {name} : real[{rows}, {d}]")
        return name, rows

    def turned_result(self, y, heads, rows, e):
        """The result seen otherwise, as an output may have it."""
        r, n = self.r, self.fresh()
        kind = r.pick([0, 1, 2, 2, 2, 3, 4, 5])
        self.line(f"{n} = {y}")
        if kind == 0:
            return self.let(f"merge({n})", [rows, heads * e], 8)
        if kind == 1:
            return self.let(f"transpose({n}, [0, 2, 1])", [heads, e, rows], 8)
        if kind == 2:
            turned = self.fresh()
            self.line(f"{turned} = transpose({n}, [0, 2, 1])")
            axis, shape = r.below(4), [heads, e, rows]
            return self.let(f"stack({turned}, sin({turned}), axis: {axis})", shape[:axis] + [2] + shape[axis:], 8)
        if kind == 3:
            turned = self.fresh()
            self.line(f"{turned} = transpose({n}, [1, 2, 0])")
            axis, shape = r.pick([1, 2]), [rows, e, heads]
            shape[axis] *= 2
            return self.let(f"join({turned}, tanh({turned}), axis: {axis})", shape, 8)
        if kind == 4:
            axis, shape = r.pick([0, 2]), [heads, rows, e]
            shape[axis] += 1
            return self.let(f"pad({n}, axis: {axis}, before: 1)", shape, 8)
        return self.let(n, [heads, rows, e], 8)

    def do_by_heads(self):
        """A product with a weight that is seen by heads, whole or a part of it, of rows without an axis of heads, with one of size 1 or
        with all."""
        r, x = self.r, self.rows()
        if not x:
            return
        heads, d, rows, width = r.pick([2, 3, 5]), r.pick([8, 16, 16, 32]), x.shape[0], x.shape[1]
        if heads * self.size(rows) * max(d, width) > 2 * MOST_ELEMENTS:
            return
        left = r.pick([lambda: x.name, lambda: f"{x.name}[none]", lambda: self.operand(x.name, heads, rows, width)])()
        kind = r.below(3)
        if kind == 0:
            right = f"reshape({self.weight([heads * width, d])}, [{heads}, {width}, {d}])"
        elif kind == 1:
            right = f"transpose(reshape({self.weight([heads * d, width])}, [{heads}, {d}, {width}]), [0, 2, 1])"
        else:
            right = f"transpose(reshape({self.weight([heads * 2 * d, width])}, [{heads}, {2 * d}, {width}])[.., {d}.., ..], [0, 2, 1])"
        self.let(f"{left} @ {right}", [heads, rows, d], x.most * 4 + 4)

    def do_operands(self):
        r = self.r
        x = self.rows()
        if not x:
            return
        heads, d, e = r.pick([1, 1, 2, 3]), r.pick([1, 2, 4, 5, 8, 17]), r.pick([1, 3, 4, 16])
        memory, keys = self.memory(x)
        if heads * self.size(x.shape[0]) * max(self.size(keys), d) > 2 * MOST_ELEMENTS:
            return
        q, k, v, s = (self.fresh() for _ in range(4))
        self.line(f"{q} = {self.operand(x.name, heads, x.shape[0], d)}")
        self.line(f"{k} = {self.operand(memory, heads, keys, d)}")
        own = r.below(5)
        self.line(f"{v} = {k if own == 0 else self.operand(memory, heads, keys, e)}")
        e = d if own == 0 else e
        self.line(f"{s} = {q} @ {k}' * {0.5 * (d + 2) ** -0.5:.4g}")
        if r.chance(25):
            self.line(f"{s} = {s} + {self.weight([heads, 1, 1])} * sin(col({s}) - row({s}))")
        masked = self.mask(s) if memory == x.name else r.pick([s, f"where((row({s}) + col({s})) % 3 != 0, {s}, -inf)"])
        self.turned_result(f"softmax({masked}) @ {v}", heads, x.shape[0], e)
