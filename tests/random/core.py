"""What the generator's parts share: random numbers, values, and the model as it is written."""

SIZES = [1, 2, 3, 4, 5, 7, 8, 11, 13, 15, 16, 17, 23, 31, 32, 33]
MOST_ELEMENTS = 6000


class Random:
    """splitmix64"""

    def __init__(self, seed):
        self.state = seed

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def below(self, n):
        return self.bits() % n

    def chance(self, percent):
        return self.below(100) < percent

    def pick(self, items):
        return items[self.below(len(items))]


class Value:
    """A tensor of the model: its name, its shape (a size or the name of a dimension), about how large its elements get, and
    what they are.  Exact: the same in float and in double."""

    def __init__(self, name, shape, most, exact=False, kind="real"):
        self.name, self.shape, self.most, self.exact, self.kind = name, shape, most, exact, kind


class Core:
    def __init__(self, seed):
        self.r = Random(seed)
        self.seed = seed
        self.lines = []
        self.head = []  # options for verify, imports
        self.pool = []
        self.count = 0
        self.depth = 1
        self.bounds = {}  # of named dimensions
        self.time = None
        self.causal = False
        self.long = False  # many positions: over chunks, and over the blocks of attention
        self.used = set()  # names of values that something is made of
        self.ahead = None  # random numbers of a model that may look ahead on the way
        self.looking = False
        self.hides = False  # a mask hides what floats cannot hold
        self.shares = False  # its outputs are rows of positions, as batches want them: shared.py
        self.iterations = []  # values of repeats that have ended: see iterations.py
        self.inner_iterations = []

    # ---- writing ----

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def open(self, text):
        self.line(text + " {")
        self.depth += 1

    def close(self, text="}"):
        self.depth -= 1
        self.line(text)

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def let(self, text, shape, most, exact=False, kind="real"):
        """A new value, made tame where it might be large."""
        name = self.fresh()
        if kind == "real" and not exact and most > 30:
            self.line(f"{name} = {text}")
            text, most = f"8 * tanh({name} / {most:.3g})", 8
            name = self.fresh()
        if kind == "int" and most > 999:
            text, most = f"({text}) % 97", 97
        self.line(f"{name} = {text}")
        return self.add(name, shape, most, exact, kind)

    def add(self, name, shape, most, exact=False, kind="real"):
        value = Value(name, list(shape), most, exact or kind != "real", kind)
        self.pool.append(value)
        return value

    def weight(self, shape, centre=None):
        name = "w" + self.fresh()
        self.line(f"{name} : weight[{', '.join(map(str, shape))}]" + (f" = {centre}" if centre is not None else ""))
        return name

    # ---- choosing ----

    def size(self, d):
        """Of a dimension, at most."""
        return d if isinstance(d, int) else sum(self.bounds.get(part, 0) for part in d.split(" + "))

    def elements(self, shape):
        n = 1
        for d in shape:
            n *= self.size(d)
        return n

    def fits(self, shape):
        return len(shape) <= 5 and self.elements(shape) <= MOST_ELEMENTS * (1 + 20 * self.long)

    def grows(self, x):
        return self.time is not None and self.time in x.shape

    def any(self, test=lambda x: True, kind="real"):
        """One of the values, rather a late one, and one that nothing uses yet; None if there is none such.  No scalar."""
        found = [x for x in self.pool if x.shape and (kind is None or x.kind == kind) and test(x)]
        if not found:
            return None
        idle = [x for x in found if x.name not in self.used]
        chosen = found[-1] if self.r.chance(30) else self.r.pick(idle if idle and self.r.chance(50) else found)
        self.used.add(chosen.name)
        return chosen

    def rows(self, test=lambda x: True):
        """[T, d], where T is the sequence if there is one."""
        return self.any(lambda y: len(y.shape) == 2 and isinstance(y.shape[1], int) and
                        (not self.time or y.shape[0] == self.time) and test(y))

    def maybe(self, percent, text):
        return text if self.r.chance(percent) else ""
