"""The graph that `lathe show MODEL elaborated --json` prints, evaluated in float64 with plain arrays.

Written from docs/ir.md ("The graph for programs") and docs/language.md; it shares no code with lathe.  Each value is also held
to the shape and the type that the graph states of it.
"""

import math

import numpy as np

import hashed
from arrays import erf, gather, softmax, top

POINTWISE = {
    "neg": lambda a: -a, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "erf": erf, "atan": np.arctan,
    "floor": np.floor, "real": lambda a: a, "not": lambda a: a == 0, "add": lambda a, b: a + b, "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "pow": np.power, "max": lambda a, b: np.where(a > b, a, b),
    "min": lambda a, b: np.where(a < b, a, b), "floordiv": lambda a, b: np.floor(a / b), "mod": lambda a, b: a - b * np.floor(a / b),
    "less": lambda a, b: a < b, "lesseq": lambda a, b: a <= b, "equal": lambda a, b: (a == b) | (np.isnan(a) & np.isnan(b)),
    "and": lambda a, b: (a != 0) & (b != 0), "or": lambda a, b: (a != 0) | (b != 0), "where": lambda c, a, b: np.where(c != 0, a, b)}
REALS = {"exp", "log", "sqrt", "sin", "cos", "tanh", "erf", "atan", "real", "div", "pow", "matmul", "softmax", "weight"}
TRUTHS = {"not", "less", "lesseq", "equal", "and", "or", "top"}
JOINED = {"neg", "add", "sub", "mul", "max", "min", "floordiv", "mod", "sum"}
CHOOSING = {"where", "join"}  # truths too
SAME = {"view", "pad", "gather", "maxof"}


def number(x):
    return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[x] if isinstance(x, str) else float(x)


def product(a, b, past_left, past_right):
    if not past_left and not past_right:
        return a @ b
    left, right = a[..., :, :, None], b[..., None, :, :]
    passed = (left == 0) & past_left | (right == 0) & past_right
    return np.where(passed, 0, left * right).sum(axis=-2)


class Graph:
    def __init__(self, printed, positions=40):
        self.g = printed
        self.names = [d["name"] for d in printed["dimensions"]]
        self.sizes = hashed.sizes([d["bound"] for d in printed["dimensions"]], positions)
        self.sizes += [0] * len(printed.get("alongs", []))  # the positions of alongs, as their bodies run
        self.inputs = [self.make_input(i) for i in printed["inputs"]]
        self.made = {}  # weights

    def size(self, form):
        return form[0] + sum(per * n for per, n in zip(form[1:], self.sizes))

    def shape(self, node):
        return tuple(self.size(d) for d in node["shape"])

    def make_input(self, i):
        shape = self.shape(i)
        return hashed.real_input(i["name"], shape) if i["type"] == "real" else hashed.id_input(i["name"], shape, i["bound"] or 2)

    def weight(self, node, iterations):
        w = self.g["weights"][node["weight"]]
        slot = node.get("slot")
        if slot is None:
            at = 0
            for repeat in w["repeats"]:
                iteration, n = iterations[repeat]
                at = at * n + iteration
            slot = w["slot_of"][at] if "slot_of" in w else at
        name = w["slots"][slot]
        if name not in self.made:
            centre = [number(c) for c in w["centre"]] if isinstance(w["centre"], list) else number(w["centre"])
            self.made[name] = hashed.weight(name, self.shape(w), centre)
        return self.made[name]

    def view(self, node, x):
        digits = node["digits"]
        counts = [self.size(d["size"]) for d in digits]
        index = [np.full(counts, self.size(o), np.int64) for o in node["offset"]]
        for k, d in enumerate(digits):
            if "axis" in d:
                along = [1] * len(digits)
                along[k] = counts[k]
                index[d["axis"]] += d["stride"] * np.arange(counts[k]).reshape(along)
        shape = [1] * (1 + max((d["out"] for d in digits), default=-1))
        for d, n in zip(digits, counts):
            shape[d["out"]] *= n
        for i, n in zip(index, x.shape):
            assert i.size == 0 or (i.min() >= 0 and i.max() < n), "a view leaves its input"
        return (x[tuple(index)] if index else np.full(counts, x)).reshape(shape)

    def pad(self, node, x):
        around = [(0, 0)] * x.ndim
        around[node["axis"]] = (self.size(node["before"]), self.size(node["after"]))
        return np.pad(x, around, constant_values=number(node["value"]))

    def repeat(self, node, values, iterations):
        carried = [values[i] for i in node["in"]]
        stacks, n, along = [], node["iterations"], node.get("along")
        if along is not None:
            n = self.size(self.g["alongs"][along]["count"])
        for iteration in range(n):
            body = node["bodies"][0 if along is not None else node["body_of"][iteration]]
            inner = dict(values)
            if along is not None:
                self.sizes[len(self.names) + along] = iteration
                self.run(body["nodes"], inner, iterations, 0, carried)
            else:
                self.run(body["nodes"], inner, {**iterations, node["id"]: (iteration, n)}, iteration, carried)
            carried = [inner[i] for i in body["next"]]
            stacks.append([inner[i] for i in body["stack"]])
        return carried + [np.stack(column) for column in zip(*stacks)]

    def evaluate(self, node, values, iterations, iteration, carried):
        op, x = node["op"], [values[i] for i in node["in"]]
        if op in POINTWISE:
            return POINTWISE[op](*x)
        if op == "input":
            return self.inputs[node["input"]]
        if op == "weight":
            return self.weight(node, iterations)
        if op == "const":
            rows = np.array([number(v) for v in node["values"]]).reshape((node["iterations"],) + self.shape(node))
            return rows[iteration if node["iterations"] > 1 else 0]
        if op == "size":
            return np.array(float(self.size(node["size"])))
        if op == "index":
            return np.arange(self.shape(node)[0]) + float(self.size(node["from"]))
        if op == "view":
            return self.view(node, x[0])
        if op == "pad":
            return self.pad(node, x[0])
        if op == "join":
            return np.concatenate(x, axis=node["axis"])
        if op == "gather":
            return gather(x[0], x[1:])
        if op == "sum":
            return x[0].sum(axis=node["axis"], keepdims=True)
        if op == "maxof":
            return x[0].max(axis=node["axis"], keepdims=True, initial=-np.inf)
        if op == "argmax":
            return np.expand_dims(x[0].argmax(axis=node["axis"]), node["axis"])
        if op == "top":
            return top(x[0], node["k"])
        if op == "matmul":
            return product(x[0], x[1], *node["past_zeros"])
        if op == "softmax":
            return softmax(*x)
        if op == "carry":
            return carried[node["index"]]
        if op == "result":
            return x[0][node["index"]]
        raise NotImplementedError(op)

    def expected_type(self, node, kinds):
        op = node["op"]
        if op in REALS:
            return "real"
        if op in TRUTHS:
            return "bool"
        if op in SAME:
            return kinds[node["in"][0]]
        given = [kinds[i] for i in node["in"]][1 if op == "where" else 0:]
        if op in CHOOSING and all(k == "bool" for k in given):
            return "bool"
        if op in JOINED | CHOOSING:
            return "real" if "real" in given else "int"
        return {"size": "int", "index": "int", "argmax": "int", "floor": "int"}.get(op, node["type"])

    def run(self, nodes, values, iterations, iteration=0, carried=()):
        for node in nodes:
            if node["op"] == "repeat":
                values[node["id"]], self.kinds[node["id"]] = self.repeat(node, values, iterations), "values"
                continue
            value = np.asarray(self.evaluate(node, values, iterations, iteration, carried), dtype=float)
            place = f"%{node['id']} = {node['op']}"
            self.kinds[node["id"]] = node["type"]
            expected = self.expected_type(node, self.kinds)
            if node["type"] != expected:
                raise ValueError(f"{place} is {node['type']}, not {expected}")
            if value.shape != self.shape(node):
                raise ValueError(f"{place} has the shape {list(self.shape(node))}, and is {list(value.shape)}")
            values[node["id"]] = value

    def outputs(self):
        values, self.kinds = {}, {}
        with np.errstate(all="ignore"):
            self.run(self.g["nodes"], values, {})
        return {o["name"]: values[o["node"]] for o in self.g["outputs"]}

    def record(self):
        """Inputs and outputs by their names, for `lathe verify --against`; a field of a group that is called as another is, with it."""
        found, names = {}, [i["name"] for i in self.g["inputs"]]
        for i, value in zip(self.g["inputs"], self.inputs):
            name = i["name"] if names.count(i["name"]) == 1 else f"{i['group']}.{i['name']}"
            found[name] = value if i["type"] == "real" else value.astype(np.int64)
        return {**self.outputs(), **found}
