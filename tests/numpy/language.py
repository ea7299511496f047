"""A model file computed in float64 with plain arrays as it is read, from docs/language.md alone.

Named dimensions are numbers from the beginning, a repeat is a loop, a view is numpy's own reshape or transpose: there is no graph.
What is known at compile time is Python's numbers, lists and blocks; a tensor is an array.  It checks nothing: it takes models that lathe
takes too.
"""

import os

import numpy as np

import builtin
import hashed
from syntax import Parser

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "lib")
WHOLE = object()  # what a call is named by, if it is all that its block gives: nothing
TYPES = {"int", "real", "bool", "text", "list", "tensor", "block", "scheme"}


class Block:
    def __init__(self, name, params, body, scope, given=None, path=None):
        self.name, self.params, self.body, self.scope = name, params, body, scope
        self.given = given or {}  # of a partial application
        self.path = path  # of a shared instance and of a scheme's member: where its weights are

    def with_given(self, given):
        return Block(self.name, self.params, self.body, self.scope, {**self.given, **given}, self.path)


class Scheme:
    def __init__(self, name, params, body, scope):
        self.name, self.params, self.body, self.scope = name, params, body, scope


class Instance:
    """Of a scheme."""

    def __init__(self, scope, params, path):
        self.scope, self.params, self.path = scope, params, path

    def field(self, name, path):
        value = self.scope.names.get(name)
        if name in self.params or value is None:
            return None
        if not isinstance(value, Block) or (value.path is not None and value.scope is not self.scope):
            return value  # a shared instance has its own weights, whatever the instance is called
        return Block(value.name, value.params, value.body, value.scope, value.given, path)


class Later:
    """A hyperparameter that nobody has asked for yet."""

    def __init__(self, expr, scope):
        self.expr, self.scope = expr, scope


class Group:
    def __init__(self, fields):
        self.fields = fields


class Returned(Exception):
    pass


class Several(list):
    """The values of `return a, b`; `return [a, b]` is one value."""


class Scope:
    def __init__(self, outer, names=None):
        self.outer, self.names = outer, {} if names is None else names
        self.repeats = {}  # those that have ended, by name: what each iteration left

    def find(self, name):
        """The scope that has it, or None."""
        return self if name in self.names else self.outer and self.outer.find(name)

    def owner(self, name):
        """Where an assignment goes."""
        return self


class Iteration(Scope):
    """The body of a repeat: what its block knew before is assigned there."""

    def __init__(self, outer):
        super().__init__(outer)
        block = outer
        while isinstance(block, Iteration):
            block = block.outer
        self.block = block

    def owner(self, name):
        scope = self.outer
        while isinstance(scope, Iteration) and name not in scope.names:
            scope = scope.outer
        return scope.owner(name) if name in scope.names else self


class Over(Scope):
    """An iteration of an over: what it assigns is its own."""


class Positions(Iteration):
    """The body of an along.  Where an over is around it, what was known before that is carried in its iteration."""

    def owner(self, name):
        scope = self.outer
        while isinstance(scope, Iteration) and name not in scope.names:
            scope = scope.outer
        around = scope
        while isinstance(around, (Iteration, Over)) and name not in around.names:
            around = around.outer
        if isinstance(scope, Over) and name in around.names:
            return scope
        return super().owner(name)


class File:
    """A file's definitions; those that it imports come after its own, then the library's."""

    def __init__(self, path, files):
        self.path, self.files = os.path.abspath(path), files
        files[self.path] = self
        with open(path, encoding="utf-8") as f:
            self.items = Parser(f.read()).file()
        self.names, self.models = {}, []
        for item in self.items:
            if item[0] == "block":
                self.names[item[1]] = Block(item[1], item[2], item[3], self)
            if item[0] == "scheme":
                self.names[item[1]] = Scheme(item[1], item[2], item[3], self)
            if item[0] == "model":
                self.models.append(item)
        self.imports = [self.load(self.sought(item[1])) for item in self.items if item[0] == "import"]

    def load(self, path):
        path = os.path.abspath(path)
        return self.files[path] if path in self.files else File(path, self.files)

    def sought(self, name):
        here = os.path.dirname(self.path)
        if name.endswith(".model"):
            return os.path.join(here, name)
        for folder in (here, os.path.join(here, "lib"), os.path.join(here, "..", "lib"), LIBRARY):
            path = os.path.abspath(os.path.join(folder, name + ".model"))
            if os.path.exists(path) and path != self.path:
                return path
        raise LookupError(f"no module {name}")

    def among_imports(self, name, seen):
        """The file that defines it."""
        if self in seen:
            return None
        seen.add(self)
        if name in self.names or any(m[1] == name for m in self.models):
            return self
        return next((f for i in self.imports for f in [i.among_imports(name, seen)] if f), None)

    def defining(self, name):
        found = self.among_imports(name, set())
        for module in ("blocks", name):
            path = os.path.join(LIBRARY, module + ".model")
            if not found and os.path.exists(path):
                found = self.load(path).among_imports(name, set())
        return found

    # as a scope

    def find(self, name):
        found = self.defining(name)
        return found if found and name in found.names else BUILTINS if name in BUILTINS.names else None

    outer = None


BUILTINS = Scope(None, builtin.TABLE)


def is_callable(value):
    return value is None or isinstance(value, (Block, Scheme)) or callable(value)


class Model:
    """The model of a file that lacks no hyperparameter: the last one, if there are several."""

    def __init__(self, path, positions=40):
        self.file, self.positions = File(path, {}), positions
        self.path = []  # of instances
        self.bounds, self.sizes = [], {}
        self.inputs, self.outputs = {}, {}
        ready = [m for m in self.file.models if self.settle(m, self.file)]
        structure, scope = self.settle(ready[-1], self.file)
        with np.errstate(all="ignore"):
            self.run(structure, scope)

    # ---- hyperparameters ----

    def ancestors(self, model, file):
        """(model, its file), the child first"""
        while model:
            yield model, file
            parent = model[2]
            file = file.defining(parent) if parent else None
            model = next((m for m in file.models if m[1] == parent), None) if file else None

    def settle(self, model, file):
        """The statements of the structure and their scope; None if a hyperparameter has no value."""
        chain, names, wanted = list(self.ancestors(model, file)), {}, set()
        structure = None
        for (_, _, _, statements), home in reversed(chain):
            scope = Scope(home, names)
            first = next((i for i, s in enumerate(statements) if is_structure(s)), len(statements))
            if first < len(statements):
                structure = [s for s in statements[first:] if s[0] not in ("setting", "block")], scope
            for s in statements[:first] + [s for s in statements[first:] if s[0] in ("setting", "block")]:
                if s[0] == "setting":
                    names[s[1]] = Later(s[2], scope)
                elif s[0] == "assign":
                    names.update((name, Later(s[2], scope)) for name in s[1])
                elif s[0] == "block":
                    names[s[1]] = Block(s[1], s[2], s[3], scope)
                elif s[0] == "declare":
                    wanted.update(s[1])
                    names.update((name, Later(s[3], scope)) for name in s[1] if s[3])
        return structure if wanted <= names.keys() else None

    def force(self, name, scope):
        """The value of a name in the scope that has it."""
        value = scope.names[name]
        if isinstance(value, Later):
            outside, self.path = self.path, []
            value = scope.names[name] = self.value(value.expr, value.scope, name)
            self.path = outside
        return value

    # ---- statements ----

    def run(self, statements, scope):
        for s in statements:
            getattr(self, "do_" + s[0])(scope, *s[1:])

    def assign(self, scope, name, value):
        scope.owner(name).names[name] = value

    def do_assign(self, scope, names, expr):
        value = self.value(expr, scope, names[0] if len(names) == 1 else None)
        if len(names) == 1:
            return self.assign(scope, names[0], value)
        for name, part in zip(names, value if isinstance(value, list) else [np.asarray(part) for part in value]):
            self.assign(scope, name, part)

    def do_block(self, scope, name, params, body):
        scope.names[name] = Block(name, params, body, scope)

    def do_shared(self, scope, name, expr):
        block = self.value(expr, scope, name)
        scope.names[name] = Block(block.name, block.params, block.body, block.scope, block.given, self.path + [name])

    def do_return(self, scope, exprs):
        if len(exprs) == 1:
            raise Returned(self.value(exprs[0], scope, WHOLE))
        raise Returned(Several(self.value(e, scope) for e in exprs))

    def do_if(self, scope, condition, body, other):
        self.run(body if self.value(condition, scope) else other, scope)

    def do_repeat(self, scope, name, index, count, body):
        left = []
        for iteration in range(builtin.whole(self.value(count, scope))):
            inner = self.iteration_scope(scope, index or name, iteration)
            self.in_path([name, str(iteration)], self.run, body, inner)
            left.append(self.left(inner))
        scope.repeats[name] = left

    def left(self, inner):
        """The names of an iteration, and the repeats in it."""
        names, scope = dict(inner.names), inner.outer
        while scope is not None and not isinstance(scope, File):
            names = {**scope.names, **names}
            scope = scope.outer
        return {**inner.repeats, **names}

    def iteration_scope(self, scope, index, iteration):
        inner = Iteration(scope)
        if index:
            inner.names[index] = iteration
        return inner

    def do_output(self, scope, name, expr):
        self.outputs[name] = builtin.tensor(self.value(expr, scope, name))
        self.assign(scope, name, self.outputs[name])

    def do_declare(self, scope, names, kind, default):
        if kind[0] == "call" and kind[1] == ("name", "upto"):
            bound = builtin.whole(self.value(kind[2][0][1], scope))
            for name in names:
                self.bounds.append(bound)
                scope.names[name] = builtin.Dimension(hashed.sizes(self.bounds, self.positions)[-1])
            return
        shape = self.shape(kind, scope)
        centre = 0.0 if default is None else builtin.tensor(self.value(default, scope))
        for name in names:
            scope.names[name] = hashed.weight(".".join(self.path + [name]), shape, centre)

    def do_input(self, scope, group, declarations):
        for _, names, kind, _ in declarations:
            for name in names:
                value = self.make_input(name, kind, scope)
                if group:
                    held = scope.names.setdefault(group, Group({}))
                    held.fields[name] = value
                self.inputs[f"{group}.{name}" if group else name] = value
                if name not in scope.names or not group:
                    scope.names[name] = value
                value.flags.writeable = False

    def shape(self, kind, scope):
        return tuple(builtin.whole(self.value(part[1], scope)) for part in kind[2]) if kind[0] == "index" else ()

    def make_input(self, name, kind, scope):
        shape, element = self.shape(kind, scope), kind[1] if kind[0] == "index" else kind
        if element == ("name", "real"):
            return hashed.real_input(name, shape)
        bound = builtin.whole(self.value(element[2][0][1], scope))
        return hashed.id_input(name, shape, bound).astype(np.int64)

    # ---- expressions ----

    def value(self, expr, scope, called=None):
        """called: the name of the instance that a call makes, if it is all of the expression; WHOLE: none."""
        kind, *parts = expr
        if kind in ("if", "as", "name", "call"):
            return getattr(self, "value_" + kind)(scope, called, *parts)
        return getattr(self, "value_" + kind)(scope, *parts)

    def value_value(self, scope, value):
        return value

    def value_name(self, scope, called, name):
        found = scope.find(name)
        if found is None:
            raise LookupError(name)
        value = self.force(name, found)
        if isinstance(value, Scheme) and all(default is not None for _, default, _ in value.params):
            return self.instance(value, [], {}, called if isinstance(called, str) else name)
        return as_number(value)

    def value_list(self, scope, items):
        return [builtin.REST if item == ("rest",) else self.value(item, scope) for item in items]

    def value_if(self, scope, called, condition, a, b):
        return self.value(a if self.value(condition, scope) else b, scope, called)

    def value_as(self, scope, _, expr, name):
        value = self.value(expr, scope, name)
        return Instance(value.scope, value.params, self.path + [name]) if isinstance(value, Instance) else value

    def value_not(self, scope, expr):
        value = self.value(expr, scope)
        return builtin.tensor(value == 0) if isinstance(value, np.ndarray) else not value

    def value_minus(self, scope, expr):
        value = self.value(expr, scope)
        return -value if builtin.is_number(value) else np.asarray(-builtin.tensor(value))

    def value_op(self, scope, sign, left, right):
        left = self.value(left, scope)
        if sign in ("and", "or") and not isinstance(left, np.ndarray) and bool(left) == (sign == "or"):
            return left
        return builtin.operation(sign, left, self.value(right, scope))

    def value_transposed(self, scope, expr):
        return np.swapaxes(builtin.tensor(self.value(expr, scope)), -1, -2)

    def repeat_named(self, scope, expr):
        """What the iterations left of the repeat that the expression names, or None."""
        if expr[0] == "name":
            found = scope.find(expr[1])
            if found is not None and isinstance(self.force(expr[1], found), (np.ndarray, list, Group)):
                return None
            while scope is not None and not isinstance(scope, File) and expr[1] not in scope.repeats:
                scope = scope.outer
            return scope.repeats[expr[1]] if isinstance(scope, Scope) else None
        iteration = self.iteration_named(scope, expr)
        found = iteration.get(expr[2]) if iteration is not None else None
        return found if isinstance(found, list) and found and isinstance(found[0], dict) else None

    def iteration_named(self, scope, expr):
        """Of `repeat[i].x`, what iteration i left, or None."""
        if expr[0] != "field" or expr[1][0] != "index" or [part[0] for part in expr[1][2]] != ["one"]:
            return None
        repeat = self.repeat_named(scope, expr[1][1])
        return None if repeat is None else repeat[builtin.whole(self.value(expr[1][2][0][1], scope))]

    def value_field(self, scope, expr, name):
        iteration = self.iteration_named(scope, ("field", expr, name))
        if iteration is not None:
            return as_number(iteration[name])
        value = self.value(expr, scope)
        if value is None:
            return None
        if isinstance(value, Instance):
            return value.field(name, value.path)
        if isinstance(value, Group):
            return as_number(value.fields[name])
        x = builtin.tensor(value)
        return {"shape": list(x.shape), "rank": x.ndim, "dim": x.shape[-1] if x.ndim else None}[name]

    def value_index(self, scope, expr, parts):
        def end(e):
            return None if e is None else self.value(e, scope)

        found = [("one", end(p[1])) if p[0] == "one" else ("range", end(p[1]), end(p[2])) if p[0] == "range" else p for p in parts]
        return builtin.indexed(self.value(expr, scope), found)

    def value_over(self, scope, name, index, count, body):
        columns, left = [], []
        for iteration in range(builtin.whole(self.value(count, scope))):
            inner = Over(scope)
            inner.names[index or name] = iteration
            columns.append(self.in_path([name, str(iteration)], self.result, body, inner))
            left.append(self.left(inner))
        scope.repeats[name] = left
        if isinstance(columns[0], Several):
            return [np.stack([builtin.tensor(x) for x in column]) for column in zip(*columns)]
        return np.stack([builtin.tensor(x) for x in columns])

    def value_along(self, scope, name, count, body):
        columns, n = [], builtin.whole(self.value(count, scope))
        for position in range(n):
            inner = Positions(scope)
            inner.names[name] = builtin.Position(position, n)
            columns.append(self.result(body, inner))
        if isinstance(columns[0], Several):
            return [builtin.joined([builtin.tensor(x) for x in column], n) for column in zip(*columns)]
        return builtin.joined([builtin.tensor(x) for x in columns], n)

    # ---- calls ----

    def in_path(self, names, function, *arguments):
        outside, self.path = self.path, self.path + names
        try:
            return function(*arguments)
        finally:
            self.path = outside

    def result(self, body, scope):
        try:
            self.run(body, scope)
        except Returned as returned:
            return returned.args[0]
        return None

    def callee(self, scope, expr):
        """Variables that can't be called are passed over."""
        if expr[0] != "name":
            return self.value(expr, scope)
        found = scope.find(expr[1])
        while found is not None:
            value = self.force(expr[1], found)
            if is_callable(value):
                return value
            outer = found.outer
            found = outer.find(expr[1]) if outer is not None else BUILTINS
        raise LookupError(expr[1])

    def value_call(self, scope, called, callee, arguments):
        block = self.callee(scope, callee)
        positional = [self.value(e, scope) for name, e in arguments if name is None]
        named = {name: self.value(e, scope) for name, e in arguments if name is not None}
        if block is None:
            return positional[0]
        spelled = called if isinstance(called, str) else None if called is WHOLE else spelling(callee)
        if isinstance(block, Scheme):
            return self.instance(block, positional, named, spelled or spelling(callee))
        if not isinstance(block, Block):
            return block(*positional, **named)
        if not positional and block.params and block.params[0][1] is None and block.params[0][0] not in {**block.given, **named}:
            return block.with_given(named)
        return self.call(block, positional, named, spelled)

    def call(self, block, positional, named, element):
        scope = Scope(block.scope)
        self.bind(scope, block.params, positional, {**block.given, **named})
        if block.path is None:
            return self.in_path([element] if element else [], self.result, block.body, scope)
        outside, self.path = self.path, block.path
        try:
            return self.result(block.body, scope)
        finally:
            self.path = outside

    def bind(self, scope, params, positional, named):
        places = [name for name, _, by_name in params if not by_name]
        given = {**named, **dict(zip(places, positional))}
        for name, default, _ in params:
            scope.names[name] = given[name] if name in given else self.value(default, scope)

    def instance(self, scheme, positional, named, element):
        scope = Scope(scheme.scope)
        self.bind(scope, scheme.params, positional, named)
        path = self.path + [element]
        self.in_path([element], self.run, scheme.body, scope)
        for name, value in scope.names.items():
            if isinstance(value, Block) and value.scope is scope:
                value.path = path
        return Instance(scope, {name for name, _, _ in scheme.params}, path)

    def record(self):
        """Inputs and outputs by their names, for `lathe verify --against`."""
        fields = [name.split(".")[-1] for name in self.inputs]
        inputs = {name if fields.count(field) > 1 else field: x for field, (name, x) in zip(fields, self.inputs.items())}
        return {**{name: np.asarray(x, float) for name, x in self.outputs.items()}, **inputs}


def spelling(callee):
    return callee[-1] if callee[0] in ("name", "field") else None


def as_number(value):
    """Ids are integers only until something is computed of them."""
    return value.astype(float) if isinstance(value, np.ndarray) and value.dtype != float else value


def is_structure(s):
    if s[0] == "declare":
        kind = s[2]
        return not (kind[0] == "name" and kind[1] in TYPES) and not (kind[0] == "index" and kind[1] == ("name", "list"))
    if s[0] == "if":
        return any(is_structure(inner) for inner in s[2] + s[3])
    return s[0] in ("input", "output", "repeat", "shared")
