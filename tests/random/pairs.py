"""Values for pairs of rows, [T, S, n]: heads that are mixed before and after the softmax, a bias by a network of the distance, additive
attention, gates of pairs.  Both sizes may be those of a call.  They have random numbers of their own, so that a seed's other choices
stay what they are."""

from core import Random

MOST_PAIRS = 60000  # elements of a value


class Pairs:
    def pairs(self):
        """After the other steps of a model over a dimension."""
        own = Random(self.seed ^ 0x7061697273)
        if not self.time or not own.chance(20):
            return
        kept, self.r = self.r, own
        for _ in range(1 + self.r.below(2)):
            self.do_pairs()
        self.r = kept

    def do_pairs(self):
        x = self.rows(lambda y: y.shape[1] > 1)
        if not x:
            return None
        y = self.r.pick([x, x, self.second()])
        self.used.add(y.name)
        n = self.r.pick([1, 2, 3, 3, 4, 6, 16, 17])
        while n > 1 and self.size(x.shape[0]) * self.size(y.shape[0]) * 2 * n > MOST_PAIRS:
            n //= 2
        if self.size(x.shape[0]) * self.size(y.shape[0]) * 2 * n > MOST_PAIRS:
            return None
        kinds = [self.talking_heads, self.additive, self.gated_pairs]
        return self.r.pick(kinds if y is not x else kinds + [self.by_distance])(x, y, n)

    def second(self):
        """The other rows: of an input with a dimension of its own, or such as are there."""
        there = self.any(lambda y: len(y.shape) == 2 and isinstance(y.shape[1], int) and y.shape[0] != self.time)
        if there and self.r.chance(50):
            return there
        name, d = self.fresh(), self.r.pick([3, 8, 12])
        pages = "pages" + name
        self.bounds[pages] = self.r.pick([5, 9, 16, 19])
        self.line(f"{pages} : upto({self.bounds[pages]})")
        group = f"far{name} {{ {name} : real[{pages}, {d}] }}" if self.r.chance(50) else f"{name} : real[{pages}, {d}]"
        self.line(f"input {group}")
        return self.add(name, [pages, d], 1, exact=True)

    def mixed(self, pair, inner, outer):
        """A product of what has the pair's rows, by a weight one way or the other."""
        if self.r.chance(50):
            return f"{pair} @ {self.weight([inner, outer])}"
        return f"{pair} @ {self.weight([outer, inner])}'"

    def weighted_pairs(self, scores, x, y, heads):
        """softmax over the second rows, by heads, and what they pick."""
        v, s = self.fresh(), self.fresh()
        self.line(f"{v} = split(linear({y.name}, {heads * 5}) as v{v}, {heads})")
        self.line(f"{s} = {scores}")
        masked = self.mask(s) if y is x else self.r.pick([s, f"where((row({s}) + col({s})) % 3 != 0, {s}, -inf)"])
        p = f"softmax({masked})"
        if self.r.chance(40) and heads > 1:
            t, u = self.fresh(), self.fresh()
            self.line(f"{t} = transpose({p}, [1, 2, 0])")
            self.line(f"{u} = {self.mixed(t, heads, heads)} * 0.5")
            p = f"transpose({u}, [2, 0, 1])"
        return self.let(f"merge({p} @ {v})", [x.shape[0], heads * 5], y.most * 4)

    def talking_heads(self, x, y, n):
        q, k, s, t, f = (self.fresh() for _ in range(5))
        self.line(f"{q} = split(linear({x.name}, {3 * n}) as q{q}, {n})")
        self.line(f"{k} = split(linear({y.name}, {3 * n}) as k{k}, {n})")
        self.line(f"{s} = {q} @ {k}' / 2")
        self.line(f"{t} = transpose({s}, {self.r.pick(['[1, 2, 0]', '[1, 2, 0]', '[2, 1, 0]'])})")
        back = "[2, 1, 0]" if "[2, 1, 0]" in self.lines[-1] else "[2, 0, 1]"
        m = self.r.pick([n, n, 2 * n, 1])
        act = self.r.pick(["", "tanh", "silu"])
        self.line(f"{f} = {act}({self.mixed(t, n, m)})")
        return self.weighted_pairs(f"transpose({f}, {back})", x, y, m)

    def by_distance(self, x, y, n):
        d, h, f, q, b = (self.fresh() for _ in range(5))
        hidden = self.r.pick([1, 3, 5, 16])
        self.line(f"{q} = split(linear({x.name}, {4 * n}) as q{q}, {n})")
        self.line(f"{d} = real(row({q} @ {q}') - col({q} @ {q}')) / 16")
        self.line(f"{h} = max({self.mixed(f'reshape({d}, [.., 1])', 1, hidden)}, 0)")
        self.line(f"{f} = {self.mixed(h, hidden, n)}")
        self.line(f"{b} = transpose({f}, [2, 0, 1])")
        return self.weighted_pairs(f"{q} @ {q}' + {b}", x, y, n)

    def beside(self, x, y, n):
        """The pair's rows: what x and y give, added or side by side; and how wide they are."""
        a, b, e = (self.fresh() for _ in range(3))
        rows, columns = x.shape[0], y.shape[0]
        self.line(f"{a} = reshape(linear({x.name}, {n}) as a{a}, [{rows}, 1, {n}])")
        self.line(f"{b} = reshape(linear({y.name}, {n}) as b{b}, [1, {columns}, {n}])")
        if self.r.chance(50):
            self.line(f"{e} = tanh({a} + {b})")
            return e, n
        self.line(f"{e} = join({a} + 0 * {b}, {b} + 0 * {a})")
        return e, 2 * n

    def additive(self, x, y, n):
        pair, width = self.beside(x, y, n)
        e = self.fresh()
        self.line(f"{e} = tanh({self.mixed(pair, width, n)})")
        return self.weighted_pairs(f"reshape({self.mixed(e, n, 1)}, [1, {x.shape[0]}, {y.shape[0]}])", x, y, 1)

    def gated_pairs(self, x, y, n):
        """Two products of one pair in one formula, and what a row has of all its pairs."""
        pair, width = self.beside(x, y, n)
        g, s, m = self.fresh(), self.fresh(), self.r.pick([1, 5, 17])
        self.line(f"{g} = {self.r.pick(['silu', 'sigmoid', 'tanh'])}({self.mixed(pair, width, m)}) * ({self.mixed(pair, width, m)})")
        live = f"where(index({g}, 1) <= index({g}, 0)[.., none], 1, 0)[.., none]" if y is x and self.causal else "1"
        self.line(f"{s} = {g} * {live}")
        return self.let(f"sum({s}, axis: 1) / 8", [x.shape[0], m], 8)
