"""Any op on any shape: what `lathe check` accepts is built, or refused with the line and the reason.

    python3 shapes.py DRIVER [SEED]...            a line for each: ok, or FAIL and why; small models are verified too
    python3 shapes.py DRIVER --seconds S [--first SEED]
    python3 shapes.py --show SEED                 the model of a seed

A model is one op, or a few one on another, of operands of rank 0 to 8: sizes of 1, primes, named dimensions and sums of them, and
huge ones; inputs, weights and views of them, at times in a repeat.  Every builtin and every operator is there.  Arguments are mostly
such as fit; what does not fit has to be refused in words.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from core import Random
from drive import is_ill

NAMED = {"a": 5, "b": 17, "c": 3}
SMALL = [1, 1, 2, 3, 4, 5, 7, 13, 16, 17, 31]
HUGE = [2**16, 2**20, 10**6 + 3, 10**9, 2**31 - 1, 2**31, 2**33, 2**40, 2**42]
LINE = re.compile(r"\.model:\d+:\d+: error: ")
CRASH = re.compile(r"Sanitizer|runtime error|after \w+: |Assertion|no code can be made")


class Size:
    """fixed + a sum over named dimensions."""

    def __init__(self, fixed, per=None):
        self.fixed, self.per = fixed, {n: k for n, k in (per or {}).items() if k}

    def plus(self, other):
        per = dict(self.per)
        for n, k in other.per.items():
            per[n] = per.get(n, 0) + k
        return Size(self.fixed + other.fixed, per)

    def times(self, k):
        return Size(self.fixed * k, {n: v * k for n, v in self.per.items()})

    def parted(self, k):
        """In k equal parts; None: it can't be."""
        if self.fixed % k or any(v % k for v in self.per.values()):
            return None
        return Size(self.fixed // k, {n: v // k for n, v in self.per.items()})

    def is_fixed(self):
        return not self.per

    def most(self):
        return self.fixed + sum(k * NAMED[n] for n, k in self.per.items())

    def text(self):
        terms = [n if k == 1 else f"{k} * {n}" for n, k in sorted(self.per.items())]
        return " + ".join(terms + ([str(self.fixed)] if self.fixed or not terms else []))

    def __eq__(self, other):
        return self.fixed == other.fixed and self.per == other.per

    __hash__ = None


ONE = Size(1)


class Tensor:
    def __init__(self, text, shape, kind="real"):
        self.text, self.shape, self.kind = text, shape, kind


class Shapes:
    def __init__(self, seed):
        self.r, self.seed = Random(seed * 7919 + 11), seed
        self.huge = self.r.chance(20)
        self.lines, self.inputs, self.count = [], [], 0

    # ---- operands ----

    def size(self):
        r = self.r
        if self.huge and r.chance(25):
            return Size(r.pick(HUGE))
        if r.chance(35):
            named = Size(0, {r.pick(list(NAMED)): 1})
            return named if r.chance(75) else named.times(1 + r.below(3)).plus(Size(r.below(4)))
        return Size(r.pick(SMALL))

    def shape(self, rank=None):
        r = self.r
        rank = r.pick([0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8]) if rank is None else rank
        return self.bounded([self.size() for _ in range(rank)])

    def bounded(self, shape):
        """Not too many elements to be computed, unless the model is one of huge sizes."""
        while not self.huge and elements(shape) > 20000:
            shape[self.r.below(len(shape))] = Size(self.r.pick([1, 1, 2, 3]))
        return shape

    def name(self):
        self.count += 1
        return f"x{self.count}"

    def leaf(self, shape, kind="real"):
        r, name = self.r, self.name()
        sizes = f"[{', '.join(s.text() for s in shape)}]"
        if kind == "int":
            self.lines.append(f"input {name} : id({r.pick([2, 5, 40])}){sizes}")
        elif r.chance(35) and all(s.is_fixed() for s in shape):
            self.lines.append(f"{name} : weight{sizes}")
            return Tensor(f"(0 + {name})" if r.chance(30) else name, shape)
        else:
            self.lines.append(f"input {name} : real{sizes}")
        if kind == "real" and r.chance(15):
            return Tensor(f"tanh({name})", shape)
        return Tensor(name, shape, kind)

    def seen(self, shape, kind="real"):
        """A tensor of this shape, perhaps through a view."""
        r, rank = self.r, len(shape)
        way = r.below(10)
        if way == 0 and rank > 1:
            order = permutation(r, rank)
            x = self.leaf([shape[order.index(i)] for i in range(rank)], kind)
            return Tensor(f"transpose({x.text}, {order})", shape, kind)
        if way == 1 and rank > 0:
            axis, before, after = r.below(rank), r.below(3), r.below(3)
            x = self.leaf([s.plus(Size(before + after)) if i == axis else s for i, s in enumerate(shape)], kind)
            index = ", ".join([f"{before}..{-after if after else ''}" if i == axis else "0.." for i in range(axis + 1)])
            return Tensor(f"{x.text}[{index}]", shape, kind)
        if way == 2 and rank > 1 and shape[-1].is_fixed():
            x = self.leaf(shape[:-2] + [shape[-2].times(shape[-1].fixed)], kind)
            return Tensor(f"reshape({x.text}, [{', '.join(s.text() for s in shape)}])", shape, kind)
        if way == 3 and rank > 0 and rank < 8:
            x = self.leaf(shape + [Size(2 + r.below(3))], kind)
            return Tensor(f"{x.text}[.., {r.below(2)}]", shape, kind)
        if way == 4 and rank > 0:
            ones = [ONE if r.chance(50) else s for s in shape]
            x, y = self.leaf(ones, kind), self.leaf(shape, kind)
            return Tensor(f"({x.text} + 0 * {y.text})", shape, kind)
        return self.leaf(shape, kind)

    def fits(self, x):
        """Something that broadcasts with x."""
        shape = [ONE if self.r.chance(25) else s for s in x.shape]
        return self.seen(shape[self.r.below(len(shape) + 1):] if self.r.chance(40) else shape)

    # ---- ops: text and shape (None: whatever it is) ----

    def axis(self, x):
        r, rank = self.r, len(x.shape)
        return r.below(rank) if rank and not r.chance(4) else r.below(9) - 4

    def folded(self, x, axis):
        return [s for i, s in enumerate(x.shape) if i != axis] if 0 <= axis < len(x.shape) else None

    def pointwise(self, x):
        r, t, y = self.r, x.text, self.fits(x).text
        text = r.pick([
            f"{r.pick(['exp', 'sin', 'cos', 'tanh', 'erf', 'atan', 'abs', 'floor', 'real'])}({t} * 0.5)", f"log(abs({t}) + 1)", f"sqrt(abs({t}) + 1)",
            f"-{t}", f"{t} + {y}", f"{t} - {y}", f"{t} * {y}", f"{t} / (abs({y}) + 1)", f"(abs({t}) + 0.5) ^ {y}", f"{t} // 2 + {t} % 3",
            f"max({t}, {y})", f"min({t}, {y}, 0.5)", f"where({t} < {y}, {t}, {y})", f"where(col({t}) % 2 == 0, {t}, 0)",
            f"where(not ({t} <= 0.5 and {y} > 0) or {t} == {y}, 1, 0) + {t}", f"{t} + real(col({t}))", f"{t} + row({t}) - head({t})",
            f"{t} * index({t}, {self.axis(x)})" if r.chance(30) else f"{t} * iota({x.shape[-1].text() if x.shape else 3})"])
        return text, None if "index" in text else x.shape

    def fold(self, x):
        axis, what = self.axis(x), self.r.pick(["sum", "max", "min", "argmax"])
        if self.r.chance(40):
            return f"{what}({x.text})", x.shape[:-1] + [ONE] if x.shape else None
        return f"{what}({x.text}, axis: {axis})", self.folded(x, axis)

    def softmax(self, x):
        return f"softmax({x.text}{self.r.pick(['', '', ', sink: 0.5'])})", x.shape

    def top(self, x):
        return f"where(top({x.text}, {self.r.pick([1, 1, 2, 3])}), {x.text}, 0)", x.shape

    def product(self, x):
        r = self.r
        if not x.shape:
            return f"{x.text} @ {x.text}", None
        k, n = x.shape[-1], self.size()
        way = r.below(6)
        if way == 0:
            y = self.seen([k])
            return f"{x.text} @ {y.text}", x.shape[:-1]
        if way == 1:
            y = self.seen([n, k])
            return f"{x.text} @ {y.text}'", x.shape[:-1] + [n]
        if way == 2 and len(x.shape) > 1:
            return f"{x.text} @ {x.text}'", x.shape[:-1] + [x.shape[-2]]
        lead = x.shape[:-2] if way > 3 else []
        y = self.seen([ONE if r.chance(30) else s for s in lead] + [k, n])
        return f"{x.text} @ {y.text}", x.shape[:-1] + [n] if len(x.shape) > 1 else None

    def attention(self, x):
        if len(x.shape) < 2:
            return self.product(x)
        lead, rows = x.shape[:-2], x.shape[-1]
        keys, width = self.r.pick([x.shape[-2], self.size()]), self.size()
        k, v = self.seen(lead + [keys, rows]), self.seen(lead + [keys, width])
        s = self.name()
        self.lines.append(f"{s} = {x.text} @ {k.text}'")
        masked = self.r.pick([s, f"where(col({s}) <= row({s}), {s}, -inf)", f"{s} * 0.5 - abs(row({s}) - col({s}))"])
        return f"softmax({masked}) @ {v.text}", x.shape[:-1] + [width]

    def join(self, x):
        r, axis = self.r, self.axis(x)
        if not 0 <= axis < len(x.shape):
            return f"join({x.text}, {x.text}, axis: {axis})", None
        other = self.size()
        y = self.seen(self.bounded([other if i == axis else s for i, s in enumerate(x.shape)]))
        parts = [x.text, y.text] if r.chance(50) else [y.text, x.text, y.text]
        sum_ = x.shape[axis].plus(y.shape[axis] if len(parts) == 2 else y.shape[axis].times(2))
        if r.chance(15):
            return f"stack({x.text}, {x.text}, axis: {r.below(3)})", None
        return f"join({', '.join(parts)}, axis: {axis})", [sum_ if i == axis else s for i, s in enumerate(x.shape)]

    def pad(self, x):
        r, axis, before, after = self.r, self.axis(x), self.r.below(3), self.r.below(4)
        shape = [s.plus(Size(before + after)) if i == axis else s for i, s in enumerate(x.shape)]
        return f"pad({x.text}, axis: {axis}, before: {before}, after: {after}, value: {r.pick(['0', '1.5', '-inf', 'a'])})", shape

    def window(self, x):
        r, axis, n = self.r, self.axis(x), 1 + self.r.below(3)
        return f"window({x.text}, {n}, axis: {axis}{r.pick(['', '', ', stride: 2'])})", None

    def moved(self, x):
        r, t, rank = self.r, x.text, len(x.shape)
        way = r.below(9)
        if way == 0 and rank:
            order = permutation(r, rank)
            return f"transpose({t}, {order})", [x.shape[i] for i in order]
        if way == 1 and rank:
            n = r.pick([1, 2, 3, 4])
            part = x.shape[-1].parted(n)
            return f"split({t}, {n})", [Size(n)] + x.shape[:-1] + [part] if part else None
        if way == 2 and rank > 1:
            n = x.shape[0]
            return f"merge({t})", x.shape[1:-1] + [x.shape[-1].times(n.fixed)] if n.is_fixed() else None
        if way == 3:
            return f"spread({t}, {r.pick([1, 2, 4, 6, 16])})", None
        if way == 4 and rank > 1:
            joined = [x.shape[0].times(x.shape[1].fixed)] if x.shape[1].is_fixed() else \
                [x.shape[1].times(x.shape[0].fixed)] if x.shape[0].is_fixed() else None
            shape = (joined or x.shape[:2]) + x.shape[2:]
            return f"reshape({t}, [{', '.join(s.text() for s in shape)}])", shape
        if way == 5 and rank:
            axis = self.axis(x)
            return f"split({t}, sizes: [1, {x.shape[-1].plus(Size(-1)).text() if r.chance(80) else 2}])[0]", None if axis else None
        if way == 6 and rank > 1:
            return f"{t}'", x.shape[:-2] + [x.shape[-1], x.shape[-2]]
        if way == 7:
            return f"{t}[none]", [ONE] + x.shape
        return f"{t}[{r.pick(['0', '-1', '..', '.., 0', '1..', '..-1', '0..1', '.., ..-1', 'none, 0'])}]", None

    def gather(self, x):
        r, n = self.r, 1 + self.r.below(2)
        if len(x.shape) < n:
            n = 1
        ids = self.seen(self.shape(r.below(3)), "int")
        more = ids.text if r.chance(50) else self.seen(ids.shape, "int").text
        shape = ids.shape + x.shape[n:]
        return f"{x.text}[{', '.join([ids.text, more][:n])}]", shape if x.shape else None

    def cut(self, x):
        """A norm: folds and what they scale in one formula."""
        axis = f", axis: {self.axis(x)}" if self.r.chance(30) else ""
        return f"{x.text} / (1 + sum({x.text} * {x.text}))" if not axis else f"sum(exp(-abs({x.text})){axis}) + 1", x.shape if not axis else None

    def op(self, x):
        kinds = [self.pointwise] * 3 + [self.product] * 3 + [self.moved] * 3 + [self.fold, self.fold, self.softmax, self.top, self.attention,
                 self.join, self.pad, self.window, self.gather, self.gather, self.cut]
        return self.r.pick(kinds)(x)

    def write(self):
        r = self.r
        x = self.seen(self.shape())
        for _ in range(r.pick([1, 1, 2, 2, 3])):
            if x.shape is None or len(x.shape) > 8:
                break
            text, shape = self.op(x)
            name = self.name()
            way = r.below(12)
            if way == 0 and shape is not None:
                iterations = r.pick([1, 2, 3])
                text, shape = f"over o{name}[i] : {iterations} {{ return {text} }}", [Size(iterations)] + shape
            if way == 1 and same(shape, x.shape):
                self.lines.append(f"{name} = 0 + {x.text}")
                self.lines.append(f"repeat l{name}[i] : {r.pick([1, 3])} {{ {name} = {text.replace(x.text, name)} }}")
            else:
                self.lines.append(f"{name} = {text}")
            x = Tensor(name, shape)
        self.lines.append(f"output y = {r.pick(['{}', '0 + {}', 'real({}) * 2']).format(x.text)}")
        if r.chance(15):
            self.lines.append(f"output z = sum({x.text})")
        names = [n for n in NAMED if any(re.search(rf"\b{n}\b", line) for line in self.lines)]
        head = [f"{n} : upto({NAMED[n] if not self.huge or r.chance(60) else r.pick(HUGE[:6])})" for n in names]
        return "\n".join([f"model shapes{self.seed} {{"] + ["    " + line for line in head + self.lines] + ["}", ""])


def elements(shape):
    n = 1
    for s in shape:
        n *= max(s.most(), 1)
    return n


def permutation(r, n):
    left, order = list(range(n)), []
    while left:
        order.append(left.pop(r.below(len(left))))
    return order


def same(a, b):
    return a is not None and b is not None and len(a) == len(b) and all(x == y for x, y in zip(a, b))


class Trial:
    def __init__(self, driver, work):
        self.driver, self.work = driver, work
        self.targets = [t for t in re.findall(r"^\w+", self.lathe("targets").stdout, re.M) if t != "portable"]

    def lathe(self, *arguments):
        return subprocess.run([self.driver, *arguments], capture_output=True, text=True, errors="replace", timeout=120)

    def refusal(self, run):
        """What is wrong with how it was refused; None: nothing is."""
        if run.returncode == 1 and LINE.search(run.stderr) and not CRASH.search(run.stderr):
            return None
        return f"status {run.returncode}: {run.stderr.strip()[:600]}"

    def wrong(self, seed):
        """'refused', None: all is well, or what is wrong."""
        shapes = Shapes(seed)
        path = os.path.join(self.work, f"shapes{seed}.model")
        with open(path, "w") as f:
            f.write(shapes.write())
        checked = self.lathe("check", path)
        if checked.returncode:
            return self.refusal(checked) or "refused"
        if CRASH.search(checked.stderr):
            return checked.stderr
        for command in (("show", path, "cost"), ("show", path, "params")):
            run = self.lathe(*command)
            if run.returncode or CRASH.search(run.stderr):
                return f"{command[2]}: " + (self.refusal(run) or run.stderr)
        target = self.targets[seed % len(self.targets)]
        built = self.lathe("build", path, "--code-only", "--target", target, "-o", path[:-6] + ".c")
        if built.returncode:
            return self.refusal(built) and "build: " + self.refusal(built)
        if shapes.huge:
            return None
        run = self.lathe("verify", path, "--jit", "tcc", "--target", "scalar")
        return None if run.returncode == 0 or is_ill(run.stdout, False) else "verify: " + (run.stdout + run.stderr)[-900:]

    def one(self, seed):
        try:
            return seed, self.wrong(seed)
        except subprocess.TimeoutExpired as late:
            return seed, f"not done after 120 s: {' '.join(late.cmd)}"


def seeds_until(end, first):
    while time.monotonic() < end:
        yield first
        first += 1


def main(driver, *arguments):
    if driver == "--show":
        return sys.stdout.write(Shapes(int(arguments[0])).write()) and 0
    seeds = [int(a) for a in arguments] if arguments[0] != "--seconds" else \
        seeds_until(time.monotonic() + float(arguments[1]), int(arguments[3]) if len(arguments) > 2 else 1)
    built = refused = failed = 0
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(int(os.environ.get("PROCESSES", 2))) as pool:
        trial, ahead = Trial(os.path.abspath(driver), work), []

        def report(done):
            nonlocal built, refused, failed
            seed, wrong = done
            built, refused = built + (wrong is None), refused + (wrong == "refused")
            if wrong not in (None, "refused"):
                failed += 1
                print(f"FAIL shapes {seed}")
                print("".join(f"     {line}\n" for line in wrong.split("\n")), end="", flush=True)

        for seed in seeds:
            ahead.append(pool.submit(trial.one, seed))
            if len(ahead) > 16:
                report(ahead.pop(0).result())
        for future in ahead:
            report(future.result())
    print(f"{'FAIL' if failed else 'ok'} shapes: {built} built, {refused} refused, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
