"""Random models that only move elements: long chains of slices, reshapes, transposes and the like, which lathe makes one view of where it can.

    python3 moves.py SEED > model.model
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "random"))

from core import Random

SIZES, MOST = [2, 3, 4, 6, 8, 12], 3000


class Chain:
    """shape: sizes, and -1 for `time`, which is bounded by 9"""

    def __init__(self, random, shape):
        self.r, self.shape = random, list(shape)

    def axis(self, test=lambda n: n > 0):
        found = [i for i, n in enumerate(self.shape) if test(n)]
        return self.r.pick(found) if found else None

    def written(self, sizes):
        return ", ".join("time" if n < 0 else str(n) for n in sizes)

    def indexed(self, axis, text):
        """All axes are written, so that the first `..` too stands for one."""
        return "{}[" + ", ".join([".."] * axis + [text] + [".."] * (len(self.shape) - axis - 1)) + "]"

    def slice(self):
        axis = self.axis(lambda n: n > 1)
        if axis is None:
            return None
        n = self.shape[axis]
        first = self.r.below(n - 1)
        last = first + 1 + self.r.below(n - first)
        self.shape[axis] = last - first
        return self.indexed(axis, f"{first}..{last}")

    def pick(self):
        axis = self.axis()
        if axis is None or len(self.shape) < 2:
            return None
        text = self.indexed(axis, str(self.r.below(self.shape[axis])))
        del self.shape[axis]
        return text

    def new_axis(self):
        if len(self.shape) > 5:
            return None
        axis = self.r.below(len(self.shape))
        self.shape.insert(axis, 1)
        return "{}[" + ", ".join([".."] * axis + ["none"] + [".."] * (len(self.shape) - 1 - axis)) + "]"

    def transpose(self):
        order = list(range(len(self.shape)))
        for i in range(len(order) - 1):
            k = i + self.r.below(len(order) - i)
            order[i], order[k] = order[k], order[i]
        self.shape = [self.shape[i] for i in order]
        return f"transpose({{}}, {order})"

    def cut(self):
        """One axis in two."""
        axis = self.axis(lambda n: n > 3 and any(n % k == 0 for k in range(2, n)))
        if axis is None or len(self.shape) > 5:
            return None
        n = self.shape[axis]
        k = self.r.pick([k for k in range(2, n) if n % k == 0])
        self.shape[axis:axis + 1] = [k, n // k]
        return f"reshape({{}}, [{self.written(self.shape)}])"

    def glue(self):
        """Two axes in one."""
        found = [i for i in range(len(self.shape) - 1) if self.shape[i] > 0 and self.shape[i + 1] > 0]
        if not found:
            return None
        i = self.r.pick(found)
        self.shape[i:i + 2] = [self.shape[i] * self.shape[i + 1]]
        return f"reshape({{}}, [{self.written(self.shape)}])"

    def split(self):
        n = self.shape[-1]
        if n < 2 or len(self.shape) > 5:
            return None
        k = self.r.pick([k for k in range(2, n + 1) if n % k == 0])
        self.shape = [k] + self.shape[:-1] + [n // k]
        return f"split({{}}, {k})"

    def merge(self):
        if len(self.shape) < 3 or self.shape[0] < 0 or self.shape[-1] < 0:
            return None
        self.shape = self.shape[1:-1] + [self.shape[0] * self.shape[-1]]
        return "merge({})"

    def spread(self):
        if len(self.shape) < 3 or self.shape[0] < 0:
            return None
        self.shape[0] *= 2
        return f"spread({{}}, {self.shape[0]})"

    def window(self):
        axis = self.axis(lambda n: n > 2)
        if axis is None or len(self.shape) > 5:
            return None
        n, stride = 2 + self.r.below(self.shape[axis] - 2), 1 + self.r.below(2)
        if (self.shape[axis] - n) % stride:
            stride = 1
        self.shape[axis:axis + 1] = [(self.shape[axis] - n) // stride + 1, n]
        return f"window({{}}, {n}, stride: {stride}, axis: {axis})"

    def elements(self):
        count = 1
        for n in self.shape:
            count *= 9 if n < 0 else n
        return count

    def step(self):
        """Another expression around {}, or None."""
        before = list(self.shape)
        text = self.r.pick([self.slice] * 3 + [self.transpose, self.glue, self.cut] * 2 +
                           [self.pick, self.new_axis, self.split, self.merge, self.spread, self.window])()
        if text is None or self.elements() > MOST:
            self.shape = before
            return None
        return text


def write(seed):
    r = Random(seed * 1009 + 17)
    shape = [r.pick(SIZES) for _ in range(2 + r.below(2))]
    if r.chance(40):
        shape[r.below(len(shape))] = -1
    chain = Chain(r, shape)
    lines = ["    time : upto(9)"] if -1 in shape else []
    lines.append(f"    input x : real[{chain.written(shape)}]")
    for k in range(3):
        chain, text = Chain(r, shape), "x"
        for _ in range(4 + r.below(9)):
            around = chain.step()
            text = around.replace("{}", text) if around else text
        lines.append(f"    output y{k} = {text}")
    return "\n".join([f"# moves {seed}", f"model moves{seed} {{"] + lines + ["}"]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(write(int(sys.argv[1])))
