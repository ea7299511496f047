"""Attention by heads whose results are kept: rows as they are or projected, then shifted, or keys and values of another attention.  Ranks exchange such
results, and each sequence of a batch has a memory of its own for them."""

from core import MOST_ELEMENTS


class Shared:
    def do_shared(self):
        r = self.r
        x = self.rows(lambda y: y.shape[0] == self.time)
        if not x or self.long:
            return
        heads, each = r.pick([2, 2, 3, 4]), r.pick([1, 4, 8])
        width, t = heads * each, self.size(self.time)
        if heads * t * t > 4 * MOST_ELEMENTS:
            return
        self.shares = True
        h, s, m = self.fresh(), self.fresh(), self.fresh()
        plain = x.shape[1] % heads == 0 and r.chance(50)
        width = x.shape[1] if plain else width
        self.line(f"{h} = split({x.name if plain else f'tanh(linear({x.name}, {width}) as h{h})'}, {heads})")
        self.line(f"{s} = {h} @ {h}' * {0.5 * width ** -0.5:.4g}")
        self.line(f"{m} = merge(softmax({self.mask(s)}) @ {h})")
        self.used.add(x.name)
        if r.chance(50):
            rows = r.pick([1, 1, 2, 5])
            self.let(f"pad({m}, axis: 0, before: {rows})[..-{rows}] + {m}", [self.time, width], 2 * x.most if plain else 2)
            return
        other = self.fresh()
        self.line(f"{other} = {m} @ {m}' * {0.5 * width ** -0.5:.4g}")
        masked = self.mask(other)
        while "head(" in masked:  # there is one head
            masked = self.mask(other)
        self.let(f"softmax({masked}) @ {m}", [self.time, width], x.most if plain else 1)
