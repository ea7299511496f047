"""A model on which `lathe verify` fails, made small.

    python3 shrink.py DRIVER MODEL [OPTION...] >SMALL

Any model file will do; OPTIONS are those of `lathe verify`, and are taken from the file's line `# verify: ...` if none are
given.  The tree that `lathe parse` prints is edited and written back as source, an edit at a time, as long as verify still
fails in the same way: with the same message, or bits that differ, or an error of about that size.  Edits, the coarse ones first:

    statements    left out, many at a time, then one by one
    cuts          v = formula becomes an input of v's shape, so that all that v was made of may go
    structure     a repeat's body once, one branch of an if, one iteration less
    expressions   replaced by one of their operands, or by a number
    numbers       all that are equal made smaller together, then one by one

What an edit breaks (a name that is gone, shapes that no longer fit) shows as another message, and the edit is taken back.
"""

import os
import re
import subprocess
import sys
import tempfile

TRIALS = 1500
SECONDS = 120  # for a trial

BINARY = {"or", "and", "==", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "//", "%", "@", "^"}


# ---- trees: an atom is a text, all else a list whose first item says what it is ----


def read_tree(text):
    stack = [[]]
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|\(|\)|[^\s()]+', text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    return stack[0][0]


def named(name, rest):
    """`name[i]` of a repeat."""
    return f"{name}[{rest[0]}]" if rest and rest[0] != "-" else name


def part(t):
    """An expression where a range may stand."""
    if isinstance(t, list) and t[0] == "range":
        return "..".join("" if e == "-" else expression(e) for e in t[1:])
    return expression(t)


def argument(t):
    if len(t) == 3:
        return t[1] if t[2] == "-" else f"{t[1]} {expression(t[2])}"
    return part(t[1])


def expression(t):
    if isinstance(t, str):
        return t
    head, rest = t[0], t[1:]
    if head in BINARY and len(rest) == 2:
        return f"({expression(rest[0])} {head} {expression(rest[1])})"
    if head == "neg":
        return f"(-{expression(rest[0])})"
    if head == "not":
        return f"(not {expression(rest[0])})"
    if head == "'":
        return f"({expression(rest[0])})'"
    if head == ".":
        return f"{expression(rest[1])}.{rest[0]}"
    if head == "as":
        return f"({expression(rest[1])} as {rest[0]})"
    if head == "if":
        return "(if {} then {} else {})".format(*map(expression, rest))
    if head == "list":
        return f"[{', '.join(map(part, rest))}]"
    if head == "index":
        return f"{expression(rest[0])}[{', '.join(map(part, rest[1:]))}]"
    if head == "call":
        return f"{expression(rest[0])}({', '.join(map(argument, rest[1:]))})"
    if head == "over":
        return f"(over {named(rest[0][1], rest[0][2:])} : {expression(rest[1])} {body(rest[2])})"
    if head == "along":
        return f"(along {rest[0][1]} : {expression(rest[1])} {body(rest[2])})"
    raise ValueError(f"no expression: {head}")


def param(t):
    text = t[1] + ("" if t[2] == "-" else f" : {expression(t[2])}")
    return text + ("" if t[3] == "-" else f" = {expression(t[3])}")


def params(t):
    place, name = (", ".join(map(param, side[1:])) for side in t[1:])
    return f"({place}{'; ' + name if name else ''})"


def body(t):
    return "{\n" + "\n".join(map(statement, t[1:])) + "\n}"


def definition(t, name):
    if t[3] != "-":
        return f"{name}{params(t[2])} {body(t[3])}"
    return f"{name}{params(t[2])} = {expression(t[4])}"


def declaration(t):
    text = f"{', '.join(t[1][1:])} : {expression(t[2])}"
    return text + ("" if t[3] == "-" else f" = {expression(t[3])}")


def statement(t):
    head, rest = t[0], t[1:]
    if head == "let":
        return f"{', '.join(rest[0][1:])} = {expression(rest[1])}"
    if head == "decl":
        return declaration(t)
    if head == "shared":
        return f"shared {rest[0]} = {expression(rest[1])}"
    if head == "return":
        return f"return {', '.join(map(expression, rest))}"
    if head == "require":
        return "require " + expression(rest[0])
    if head == "if":
        other = "" if len(rest) < 3 else " else " + (body(rest[2]) if rest[2][0] == "do" else statement(rest[2]))
        return f"if {expression(rest[0])} {body(rest[1])}{other}"
    if head == "repeat":
        return f"repeat {named(rest[0][1], rest[0][2:])} : {expression(rest[1])} {body(rest[2])}"
    if head == "input":
        if isinstance(rest[0], str):
            return f"input {rest[0]} {{ {';  '.join(map(declaration, rest[1:]))} }}"
        return "input " + declaration(rest[0])
    if head == "output":
        return f"output {rest[0]} = {expression(rest[1])}"
    if head == "block":
        return definition(t, f"block {rest[0]}")
    if head == "scheme":
        return f"scheme {rest[0]}{params(rest[1])} " + body(rest[2])
    if head == "member":
        return definition(t, rest[0])
    if head == "set":
        return f"{rest[0]} {expression(rest[1])}"
    if head == "loop":
        return f"loop {rest[0]} {body(rest)}"
    if head == "import":
        return f"import {next(r for r in rest if r != '-')}"
    if head == "model":
        return f"model {rest[0]}{'' if rest[1] == '-' else ' : ' + rest[1]} {body(rest[2])}"
    raise ValueError(f"no statement: {head}")


def source(tree):
    return "\n".join(map(statement, tree[1:])) + "\n"


def replaced(tree, path, new):
    """The tree with what stands at a path (indices from the root) replaced: by a list of items, perhaps none."""
    if not path:
        return new[0]
    at = path[0]
    if len(path) == 1:
        return tree[:at] + new + tree[at + 1:]
    return tree[:at] + [replaced(tree[at], path[1:], new)] + tree[at + 1:]


def places(tree, path=()):
    """(path, subtree) of everything, outermost first."""
    yield path, tree
    if isinstance(tree, list):
        for i in range(1, len(tree)):
            yield from places(tree[i], path + (i,))


# ---- trials ----


def failure(driver, path, options):
    """How verify fails: what kind, and how large an error; None if it does not."""
    if "--weights" in options:  # those of this model, stored as the file's name ends
        at = options.index("--weights") + 1
        weights = path.replace(".model", "." + options[at].split(".")[-1])
        subprocess.run([driver, "weights", path, "--quant", weights.split(".")[-1], "-o", weights], capture_output=True)
        options = options[:at] + [weights] + options[at + 1:]
    try:
        run = subprocess.run([driver, "verify", path] + options, capture_output=True, text=True, timeout=SECONDS,
                             errors="replace")
    except subprocess.TimeoutExpired:
        return "not done", 0
    if run.returncode == 0:
        return None
    said = re.sub(r"[^\n]*verifying[^\n]*\r", "", run.stderr)
    if run.returncode < 0 or run.returncode > 3 or "ERROR: AddressSanitizer" in said:
        broken = re.search(r"after [\w ]+: .*|[\w./]+:\d+: .*: Assertion.*|ERROR: \w+: [\w-]+", said)
        return f"crash {run.returncode} {re.sub('[0-9]+', '', broken.group(0)) if broken else ''}", 0
    wrong = [line for line in run.stdout.split("\n") if "FAIL" in line]
    if wrong:
        compiled = not wrong[0].lstrip().startswith("interpreted") and ": interpreted" not in wrong[0]
        kind = "bits" if "FAIL: more than" not in wrong[0] else "error"
        size = re.match(r".{40} *([0-9.e+-]+|inf|nan)", wrong[0])
        return f"{'compiled' if compiled else 'interpreted'} {kind}", float(size.group(1)) if size else 0
    said = re.search(r"error: .*|lathe verify: .*", said)
    return re.sub(r"\[.*?\]|[0-9]+|(?<!unknown name )'.*?'|/\S+", "", said.group(0) if said else "nothing said"), 0


class Shrinker:
    def __init__(self, driver, tree, options, work):
        self.driver, self.tree, self.options = driver, tree, options
        self.path = os.path.join(work, "shrunk.model")
        self.trials = 0
        self.tried = set()
        self.kind, self.size = None, 0

    def fails(self, tree, options=None):
        try:
            text = source(tree)
        except (ValueError, IndexError, TypeError):
            return None
        with open(self.path, "w") as f:
            f.write(text)
        self.trials += 1
        return failure(self.driver, self.path, self.options if options is None else options)

    def same(self, found):
        """An error may become smaller by shrinking, but not so small that it could be one of rounding, nor infinite."""
        if found is None or found[0] != self.kind:
            return False
        if self.size == float("inf") or self.size == 0:
            return True
        return self.size / 30 <= found[1] < float("inf")

    def take(self, tree):
        """The new tree, if it still fails alike."""
        key = repr(tree)
        if key in self.tried or self.trials >= TRIALS:
            return False
        self.tried.add(key)
        if not self.same(self.fails(tree)):
            return False
        self.tree = tree
        return True

    # ---- edits ----

    def bodies(self):
        return [p for p, t in places(self.tree) if isinstance(t, list) and t[:1] in (["do"], ["file"])]

    def find(self, path):
        """What stands at a path, or None."""
        t = self.tree
        for i in path:
            if isinstance(t, str) or i >= len(t):
                return None
            t = t[i]
        return t

    def at(self, path):
        return self.find(path) or []

    def drop_statements(self):
        done, i = False, 0
        while i < len(self.bodies()):
            size = len(self.at(self.bodies()[i])) // 2
            while size >= 1:
                end = len(self.at(self.bodies()[i]))
                while end > 1:
                    path = self.bodies()[i]
                    start = max(1, end - size)
                    if self.take(replaced(self.tree, path, [self.at(path)[:start] + self.at(path)[end:]])):
                        done = True
                        if i >= len(self.bodies()):
                            return done
                    end = start
                size //= 2
            i += 1
        return done

    def inline(self):
        """What a variable stands for in its place: an alias, or a formula that is used once."""
        done = False
        for path, t in [(p, t) for p, t in places(self.tree) if isinstance(t, list) and t[:1] == ["let"]]:
            if t != self.find(path) or len(t[1]) != 2:
                continue
            used = [p for p, u in places(self.tree) if u == t[1][1] and p[:len(path)] != path]
            if used and (len(used) == 1 or isinstance(t[2], str)):
                tree = self.tree
                for p in used:
                    tree = replaced(tree, p, [t[2]])
                done |= self.take(replaced(tree, path, []))
        return done

    def shapes(self):
        with open(self.path, "w") as f:
            f.write(source(self.tree))
        run = subprocess.run([self.driver, "show", self.path, "taps"], capture_output=True, text=True)
        return dict(re.findall(r"^(\w+) +(\[.*\])$", run.stdout, re.M))

    def cut(self):
        """Values to inputs, the last first: it leaves the most behind."""
        done, shapes = False, self.shapes()
        path = (len(self.tree) - 1, 3)
        for i in range(len(self.at(path)) - 1, 0, -1):
            t = self.at(path)[i] if i < len(self.at(path)) else None
            if not t or t[0] != "let" or len(t[1]) != 2 or t[1][1] not in shapes:
                continue
            sizes = ["index", "real"] + re.findall(r"[^\[\], ]+", shapes[t[1][1]])
            declared = ["decl", t[1], sizes if len(sizes) > 2 else "real", "-"]
            if self.take(replaced(self.tree, path + (i,), [["input", declared]])):
                done = True
        return done

    def edit(self, variants):
        """Every place, outermost first, with each of its variants: lists of items to stand there instead."""
        done, i = False, 0
        while True:
            todo = list(places(self.tree))
            if i >= len(todo) or self.trials >= TRIALS:
                return done
            path, t = todo[i]
            if not any(self.take(replaced(self.tree, path, new)) for new in variants(path, t) if path):
                i += 1
            else:
                done = True

    def structure(self, path, t):
        if isinstance(t, str) or not t:
            return []
        if t[0] == "repeat":
            return [t[3][1:]]
        if t[0] == "if" and t[2][:1] == ["do"]:
            return [t[2][1:]] + ([t[3][1:]] if len(t) > 3 and t[3][0] == "do" else [])
        if t[0] == "as":
            return [[t[2]]]
        if t[0] in ("call", "list") and len(t) > 2:
            return [[t[:i] + t[i + 1:]] for i in range(len(t) - 1, 1, -1)]
        return []

    def is_formula(self, path):
        """Not a size, a type, or anything else that is no value."""
        t = self.tree
        for i in path:
            if t[0] in ("decl", "each", "names", "params") or (t[0] in ("repeat", "over", "along") and i == 2):
                return False
            if (t[0] in (".", "as", "output", "set", "model", "block", "shared") and i == 1) or (t[0] == "call" and i == 1):
                return False
            t = t[i]
        return t[0] != "arg" if isinstance(t, list) and t else True

    def operands(self, path, t):
        if not isinstance(t, list) or not t or not self.is_formula(path):
            return []
        head = t[0]
        if head in BINARY or head in ("neg", "not", "'", "if", "list"):
            items = t[1:]
        elif head == "call":
            items = [a[1] for a in t[2:] if len(a) == 2] + [a[2] for a in t[2:] if len(a) == 3 and a[2] != "-"]
        elif head == "index":
            items = [t[1]]
        elif head in (".", "as"):
            items = [t[2]]
        elif head == "over":
            items = [["call", "stack", ["arg", r[1]]] for r in t[3][1:] if r[0] == "return"]
        else:
            return []
        return [[i] for i in items] + [["1"]]

    def numbers(self, path, t):
        if not isinstance(t, str) or not re.fullmatch(r"[0-9.e-]*[0-9]", t) or t in ("0", "1"):
            return []
        value = float(t)
        if value != int(value):
            return [["1"], ["0.5"]]
        n = int(value)
        return [[str(k)] for k in sorted({1, 2, 3, n // 2, n - 1} - {n}) if 0 < k < n]

    def sizes(self):
        """Equal numbers together."""
        done = False
        for value in sorted({t for p, t in places(self.tree) if self.numbers(p, t)}, key=float, reverse=True):
            for (new,) in self.numbers((), value):
                tree = self.tree
                for path, t in list(places(tree)):
                    if t == value:
                        tree = replaced(tree, path, [new])
                if self.take(tree):
                    done = True
                    break
        return done

    def narrow(self):
        """Only the pass that fails, and one target, if that is enough."""
        for i, option in enumerate(self.options):
            if option != "--each-pass":
                continue
            rest = self.options[:i] + self.options[i + 1:]
            if self.same(self.fails(self.tree, rest)):
                self.options = rest
                return
            shown = subprocess.run([self.driver, "show", self.path, "passes"], capture_output=True, text=True).stdout
            for name in re.findall(r"^(\w+) ", shown, re.M):
                if self.same(self.fails(self.tree, rest + ["--no-" + name])):
                    self.options = rest + ["--no-" + name]
                    return
            return

    def run(self):
        found = self.fails(self.tree)
        if found is None:
            return False
        self.kind, self.size = found
        self.narrow()
        self.trials = 0
        changed = True
        while changed and self.trials < TRIALS:
            changed = self.drop_statements()
            changed |= self.cut()
            changed |= self.drop_statements() if changed else False
            changed |= self.edit(self.structure)
            changed |= self.edit(self.operands)
            changed |= self.inline()
            changed |= self.sizes()
            changed |= self.edit(self.numbers)
        return True


def options_in(text):
    line = re.search(r"^# verify: (.*)$", text, re.M)
    return line.group(1).split() if line else []


def main(driver, path, *options):
    with open(path) as f:
        text = f.read()
    options = list(options) or options_in(text)
    dumped = subprocess.run([driver, "parse", path], capture_output=True, text=True)
    if dumped.returncode:
        sys.exit(f"shrink: {path}: {dumped.stderr.strip()}")
    with tempfile.TemporaryDirectory() as work:
        s = Shrinker(driver, read_tree(dumped.stdout), options, work)
        if not s.run():
            sys.exit(f"shrink: {path}: lathe verify {' '.join(options)} is content with it")
        with open(s.path, "w") as f:
            f.write(source(s.tree))
        printed = subprocess.run([driver, "parse", "--print", s.path], capture_output=True, text=True).stdout
    print(f"shrink: {s.kind}, {s.trials} trials, {len(text.split())} words to {len(printed.split())}", file=sys.stderr)
    if s.options:
        print(f"# verify: {' '.join(s.options)}")
    print(printed, end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
