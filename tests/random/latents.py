"""Attention over latents: keys and values that are products of something smaller, seen through all views, joined with parts that are none,
scores that are sums of several products, softmaxes that are subtracted.  For the cut pass, which moves the products."""

from core import MOST_ELEMENTS


class Latents:
    def latent_rows(self, x, rank):
        """Rows of the width."""
        r, c = self.r, self.fresh()
        made = f"linear({x.name}, {rank}) as c{c}"
        kind = r.below(5)
        if kind == 0:
            self.line(f"{c} = ({made})[.., 0..{rank}]")
        elif kind == 1:  # a slice of something wider
            self.line(f"{c}, rest{c} = split(linear({x.name}, {rank + 2}) as c{c}, sizes: [{rank}, 2])")
        elif kind == 2:
            self.line(f"{c} = rmsnorm({made}, eps: 0.01) as n{c}")
        else:
            self.line(f"{c} = tanh({made})")
        return c

    def by_heads(self, c, rank, heads, width, name):
        """Of the latent, [heads, T, width]."""
        r = self.r
        kind = r.below(7)
        groups = r.pick([g for g in range(1, heads + 1) if heads % g == 0])
        if kind == 0:
            return f"{c} @ {self.weight([heads, rank, width])}"
        if kind == 1:
            return f"spread(split(linear({c}, {groups * width}) as {name}, {groups}), {heads})"
        if kind == 2:
            return f"split(linear({c}, {heads * width}, bias: true) as {name}, {heads})"
        if kind == 3:
            return f"split(linear({c}, {heads * (width + 3)}) as {name}, {heads})[.., .., 1..{width + 1}]"
        return f"split(linear({c}, {heads * width}) as {name}, {heads})"

    def do_latents(self):
        r = self.r
        x = self.rows(lambda y: y.shape[1] > 1)
        if not x:
            return
        heads, rank, d, e = r.pick([1, 2, 3, 4]), r.pick([1, 2, 3, 4, 5, 16]), r.pick([2, 3, 5, 8, 16]), r.pick([1, 4, 7, 16])
        if self.long:
            heads = r.pick([1, 2])
        if heads * self.size(x.shape[0]) * max(self.size(x.shape[0]), d) > 4 * MOST_ELEMENTS * (1 + 20 * self.long):
            return
        c, q, k, v, s = self.latent_rows(x, rank), *(self.fresh() for _ in range(4))
        merged = r.chance(40)
        if merged:  # keys and values of a head lie side by side
            self.line(f"{k}, {v} = split(split(linear({c}, {heads * (d + e)}) as kv{c}, {heads}), sizes: [{d}, {e}])")
        else:
            self.line(f"{k} = {self.by_heads(c, rank, heads, d, 'k' + c)}")
            own = r.below(6)
            self.line(f"{v} = " + (f"spread({c}[none], {heads})" if own == 0 else k if own == 1 else self.by_heads(c, rank, heads, e, 'v' + c)))
            e = rank if own == 0 else d if own == 1 else e
        self.line(f"{q} = split(linear({x.name}, {heads * d}) as q{c}, {heads})")
        more, scale = r.below(4), f"{0.5 * (d + 2) ** -0.5:.4g}"
        if more:  # a part that all heads share, or that each has
            shared = r.chance(70)
            self.line(f"r{c} = " + (f"sin(linear({x.name}, 2) as r{c})[none]" if shared else f"split(sin(linear({x.name}, {heads * 2}) as r{c}), {heads})"))
            self.line(f"t{c} = split(linear({x.name}, {heads * 2}) as t{c}, {heads})")
            key = f"spread(r{c}, {heads})" if shared else f"r{c}"
        if more == 1:
            self.line(f"{s} = join({q}, t{c}) @ join({k}, {key})' * {scale}")
        elif more == 2:
            self.line(f"{s} = join(t{c}, {q}) * {scale} @ join({key}, {k})'")
        elif more == 3:
            one, other = f"{r.pick(['', '0.5 * '])}({q} @ {k}')", f"t{c} @ {key}'{r.pick(['', ' / 4', ' * 2'])}"
            self.line(f"{s} = ({one} {r.pick(['+', '-'])} {other}) * {scale}")
        else:
            self.line(f"{s} = {q} @ {k}' * {scale}")
        p, weights = self.fresh(), f"softmax({self.mask(s)})"
        if r.chance(25):  # of two softmaxes
            self.line(f"u{c} = split(linear({x.name}, {heads * d}) as u{c}, {heads}) @ {k}' * {scale}")
            less = r.pick(["0.4", self.weight([heads, 1, 1]), self.weight([1])])
            self.line(f"{p} = ({weights} - {less} * softmax({self.mask(f'u{c}')})) @ {v}")
        else:
            self.line(f"{p} = {weights} @ {v}")
        if r.chance(25) and x.shape[0] == self.time and self.causal:  # something else keeps the latent, or the keys
            other = r.pick([c, f"merge({k})"])
            self.let(f"pad({other}, axis: 0, before: 2)[..-2]", [x.shape[0], rank if other == c else heads * d], 8)
        self.let(f"linear(merge({p}), {x.shape[1]})", x.shape, 16)
