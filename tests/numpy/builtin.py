"""Operators, indices and builtins of the language on numbers, lists and arrays, from docs/language.md."""

import math

import numpy as np

from arrays import erf, gather, softmax, top

REST = object()  # `..` in a list


class Dimension(int):
    """A named dimension's size; what is computed of it is a plain number."""


class Position(int):
    """That of an along, which runs over an axis of `count`; what is computed of it is a plain number."""

    def __new__(cls, value, count):
        self = super().__new__(cls, value)
        self.count = count
        return self


def at_position(x, parts):
    """x[t]: along the only axis of that size, or along that where t stands; the axis stays."""
    if len(parts) > 1:
        x = tensor(x)
        slices = [slice(int(p[1]), int(p[1]) + 1) if p[0] == "one" and isinstance(p[1], Position) else basic(p) for p in expand(parts, x.ndim)]
        return np.asarray(x[tuple(slices)])
    t, x = parts[0][1], tensor(x)
    axes = [i for i, n in enumerate(x.shape) if n == t.count]
    if len(axes) != 1:
        raise NotImplementedError("a position where its count stands on several axes")
    return np.take(x, [int(t)], axis=axes[0])


def joined(pieces, n):
    """The values that an along returned, along the axis of their position, the only one of size 1; or along a new one."""
    axes = [i for i, size in enumerate(pieces[0].shape) if size == 1]
    if len(axes) > 1:
        raise NotImplementedError("an along whose result has several axes of size 1")
    return np.concatenate(pieces, axis=axes[0]) if axes else np.stack(pieces)


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def tensor(x):
    if isinstance(x, list):
        return np.stack([tensor(item) for item in x]) if x else np.zeros(0)
    return np.asarray(x, dtype=float)


def whole(x):
    """A size, up to the rounding of a quotient."""
    n = round(float(x))
    if abs(n - x) > 1e-9 * max(1, abs(n)):
        raise ValueError(f"{x} is not whole")
    return n


def tidy(x):
    """A number that is whole as one."""
    return int(x) if isinstance(x, float) and math.isfinite(x) and x == math.floor(x) and abs(x) < 2**53 else x


# ---- operators ----

NUMBERS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: tidy(a / b),
           "//": lambda a, b: a // b, "%": lambda a, b: a % b, "^": lambda a, b: float(a) ** b if b < 0 else a ** b,
           "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}
ARRAYS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "//": lambda a, b: np.floor(a / b),
          "%": lambda a, b: a - b * np.floor(a / b), "^": np.power, "<": np.less, "<=": np.less_equal, ">": np.greater,
          ">=": np.greater_equal, "==": lambda a, b: (a == b) | (np.isnan(a) & np.isnan(b)), "@": np.matmul,
          "!=": lambda a, b: ~((a == b) | (np.isnan(a) & np.isnan(b))), "and": lambda a, b: (a != 0) & (b != 0),
          "or": lambda a, b: (a != 0) | (b != 0)}


def is_tensor(x):
    return isinstance(x, np.ndarray) or (isinstance(x, list) and any(is_tensor(item) for item in x))


def same(a, b):
    """Of what is known at compile time: values of different kinds differ."""
    return a is b or (not is_tensor(a) and not is_tensor(b) and is_number(a) == is_number(b) and a == b)


def operation(sign, a, b):
    tensors = is_tensor(a) or is_tensor(b)
    if sign in ("==", "!=") and not (tensors and all(isinstance(x, (np.ndarray, list, bool, int, float)) for x in (a, b))):
        return same(a, b) == (sign == "==")
    if sign in ("and", "or") and not tensors:
        return b
    if is_number(a) and is_number(b):
        return NUMBERS[sign](a, b)
    return tensor(ARRAYS[sign](tensor(a), tensor(b)))


# ---- indices ----

def expand(parts, rank):
    """The first `..` stands for the axes that the others leave, each further one for one axis."""
    taken = sum(p[0] != "one" or p[1] is not None for p in parts)  # axes, if each `..` took one
    found, left = [], rank - taken + 1
    for p in parts:
        found += [("range", None, None)] * left if p == ("rest",) else [p]
        left = 1 if p == ("rest",) else left
    return found


def is_index_tensor(part):
    return part[0] == "one" and isinstance(part[1], (np.ndarray, list))


def basic(part):
    """As numpy has it."""
    if part[0] == "range":
        return slice(*(None if end is None else whole(end) for end in part[1:]))
    return None if part[1] is None else whole(part[1])


def indexed(x, parts):
    """parts: ("one", index), ("range", first, last), ("rest",)"""
    if any(p[0] == "one" and isinstance(p[1], Position) for p in parts):
        return at_position(x, parts)
    if isinstance(x, list) and len(parts) == 1 and not is_index_tensor(parts[0]):
        return x[basic(parts[0])]
    x = tensor(x)
    parts = expand(parts, x.ndim)
    n = max((i + 1 for i, p in enumerate(parts) if is_index_tensor(p)), default=0)
    x = x[tuple([slice(None)] * n + [basic(p) for p in parts[n:]])]
    return gather(x, [tensor(p[1]) for p in parts[:n]]) if n else np.asarray(x)


# ---- builtins ----

def pointwise(number, array):
    def apply(x):
        return number(x) if is_number(x) else tensor(array(tensor(x)))
    return apply


def guarded(function, array):
    """On a number as on an array, where Python's function has no answer."""
    def number(x):
        try:
            return function(x)
        except (ValueError, OverflowError):
            with np.errstate(all="ignore"):
                return float(array(float(x)))
    return pointwise(number, array)


def place(x, axis, default=-1):
    """An axis by number, or the one on which a named dimension stands."""
    if axis is None:
        return default % x.ndim
    if isinstance(axis, Dimension):
        found = [i for i, n in enumerate(x.shape) if n == axis]
        if len(found) != 1:
            raise NotImplementedError("an axis by the name of a dimension whose size stands on several")
        return found[0]
    return whole(axis) % x.ndim


def folded(function):
    def fold(x, axis=None):
        x = tensor(x)
        if axis is None:
            return tensor(function(x, -1, True))
        return tensor(function(x, place(x, axis), False))
    return fold


def extreme(number, array, initial):
    along = folded(lambda x, axis, keep: array.reduce(x, axis=axis, keepdims=keep, initial=initial))

    def of(*values, axis=None):
        if len(values) == 1:
            return along(values[0], axis)
        if all(is_number(v) for v in values):
            return number(values)
        result = tensor(values[0])
        for v in values[1:]:
            v = tensor(v)
            result = np.where(result > v if array is np.maximum else result < v, result, v)  # the second, where one is NaN
        return tensor(result)
    return of


def counted(axis_from_end):
    def indices(x):
        n = tensor(x).shape[-1 - axis_from_end]
        return np.arange(float(n)).reshape([n] + [1] * axis_from_end)
    return indices


def index(x, axis):
    x = tensor(x)
    return np.arange(float(x.shape[place(x, axis)]))


def split(x, n=None, sizes=None, axis=None):
    x = tensor(x)
    if sizes is None:
        n = whole(n)
        return np.moveaxis(x.reshape(x.shape[:-1] + (n, x.shape[-1] // n)), -2, 0)
    axis, at, parts = place(x, axis), 0, []
    for size in (whole(s) for s in sizes):
        parts.append(np.take(x, np.arange(at, at + size), axis=axis) if size else None)
        at += size
    return parts


def merge(x):
    x = np.moveaxis(tensor(x), 0, -2)
    return x.reshape(x.shape[:-2] + (x.shape[-2] * x.shape[-1],))


def join(*values, axis=None):
    if len(values) == 1 and not isinstance(values[0], list):
        return merge(values[0])
    parts = [tensor(v) for v in (values[0] if len(values) == 1 else values) if v is not None]
    return np.concatenate(parts, axis=place(parts[0], axis))


def stack(*values, axis=0):
    parts = [tensor(v) for v in (values[0] if len(values) == 1 and isinstance(values[0], list) else values)]
    return np.stack(parts, axis=whole(axis))


def spread(x, n):
    x, n = tensor(x), whole(n)
    if x.ndim <= 2:
        return np.stack([x] * n)
    return np.repeat(x, n // x.shape[0], axis=0)


def reshape(x, sizes):
    x, given = tensor(x), [s if s is REST else whole(s) for s in sizes]
    if REST not in given:
        return x.reshape(given)
    others = [s for s in given if s is not REST]
    count = math.prod(others)
    for left in list(range(1, x.ndim + 1)) + [0]:  # how many axes the others replace
        if given[0] is REST and math.prod(x.shape[x.ndim - left:]) == count:
            return x.reshape(list(x.shape[:x.ndim - left]) + others)
        if given[0] is not REST and math.prod(x.shape[:left]) == count:
            return x.reshape(others + list(x.shape[left:]))
    raise ValueError(f"{x.shape} as {sizes}")


def transpose(x, order=None, to=None):
    x = tensor(x)
    if order is None:
        return np.swapaxes(x, -1, -2)
    if to is None:
        return x.transpose([whole(i) % x.ndim for i in order])
    return np.moveaxis(x, place(x, order), place(x, to))


def pad(x, axis=None, before=0, after=0, value=0):
    x = tensor(x)
    around = [(0, 0)] * x.ndim
    around[place(x, axis)] = (whole(before), whole(after))
    return np.pad(x, around, constant_values=value)


def window(x, n, stride=1, axis=0):
    x, n, stride = tensor(x), whole(n), whole(stride)
    axis = place(x, axis)
    starts = np.arange((x.shape[axis] - n) // stride + 1) * stride
    return np.stack([np.take(x, np.arange(s, s + n), axis=axis) for s in starts], axis=axis)


def where(c, a, b):
    return tensor(np.where(tensor(c) != 0, tensor(a), tensor(b)))


def at(v, i):
    return v[whole(i) % len(v)] if isinstance(v, list) else v


def full(x, sizes):
    return np.broadcast_to(tensor(x), [whole(n) for n in sizes]).copy()


def reverse(x, axis=None):
    x = tensor(x)
    return np.flip(x, place(x, axis, 0))


def soft(x, sink=None):
    return softmax(tensor(x), None if sink is None else tensor(sink))


TABLE = {
    "exp": guarded(math.exp, np.exp), "log": guarded(math.log, np.log), "sqrt": guarded(math.sqrt, np.sqrt),
    "sin": guarded(math.sin, np.sin), "cos": guarded(math.cos, np.cos), "tanh": pointwise(math.tanh, np.tanh),
    "erf": pointwise(math.erf, erf), "atan": pointwise(math.atan, np.arctan), "floor": guarded(math.floor, np.floor), "real": pointwise(float, lambda x: x),
    "abs": pointwise(abs, np.abs), "max": extreme(max, np.maximum, -np.inf), "min": extreme(min, np.minimum, np.inf),
    "sum": folded(lambda x, axis, keep: x.sum(axis=axis, keepdims=keep)),
    "argmax": folded(lambda x, axis, keep: x.argmax(axis=axis, keepdims=keep)), "where": where, "softmax": soft,
    "top": lambda x, k: top(tensor(x), whole(k)), "iota": lambda n: np.arange(float(whole(n))), "index": index, "col": counted(0),
    "row": counted(1), "head": counted(2), "split": split, "merge": merge, "join": join, "stack": stack, "spread": spread,
    "reshape": reshape, "transpose": transpose, "pad": pad, "window": window, "at": at, "len": len, "range": lambda n: [float(i) for i in range(whole(n))], "full": full, "reverse": reverse, "pi": math.pi, "inf": math.inf}
