"""A .model file as a tree, by the grammar at the end of docs/language.md.  A node is a tuple whose first item is its kind."""

import re

WORDS = set("block scheme model checkpoint config import test input output repeat over along shared loop require within return as if then "
            "else and or not true false none".split())
TOKEN = re.compile(r"""(?P<space>[ \t\r]+|\#[^\n]*)|(?P<line>\n)|(?P<number>([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<text>"([^"\\\n]|\\.)*")|(?P<sign>==|!=|<=|>=|//|\.\.|[-+*/%@^<>=:;,.(){}\[\]'])""", re.X)
ENDING_SIGNS = {"..", ")", "]", "}", "'"}
ENDING_WORDS = {"true", "false", "none", "block", "scheme"}


def ends_statement(kind, value):
    if kind == "sign":
        return value in ENDING_SIGNS
    return kind in ("name", "number", "text") or value in ENDING_WORDS


def scan(text):
    """Tokens (kind, value); a line end is one where a statement can end."""
    found, at, brackets = [], 0, []
    while at < len(text):
        m = TOKEN.match(text, at)
        if not m:
            raise SyntaxError(f"at {text[at:at + 20]!r}")
        at, kind, value = m.end(), m.lastgroup, m.group()
        if kind == "space" or (kind == "line" and brackets and brackets[-1] != "{"):
            continue
        if kind == "word":
            kind = "word" if value in WORDS else "name"
        if kind == "sign" and value in "([{":
            brackets.append(value)
        if kind == "sign" and value in ")]}":
            brackets.pop()
        found.append((kind, value))
    kept = []
    for i, (kind, value) in enumerate(found):
        if kind == "line":
            after = next((t for t in found[i:] if t[0] != "line"), ("end", ""))
            if not kept or not ends_statement(*kept[-1]) or after in (("word", "else"), ("word", "then"), ("sign", "{")):
                continue
        kept.append((kind, value))
    return kept + [("end", "")]


class Parser:
    def __init__(self, text):
        self.tokens, self.at = scan(text), 0

    # ---- tokens ----

    def peek(self, ahead=0):
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def is_next(self, *values):
        kind, value = self.peek()
        return kind in ("sign", "word") and value in values

    def take(self, value):
        if not self.is_next(value):
            return False
        self.at += 1
        return True

    def want(self, value):
        if not self.take(value):
            raise SyntaxError(f"{value!r} wanted, not {self.peek()} after {self.tokens[self.at - 4:self.at]}")

    def name(self):
        kind, value = self.next()
        if kind != "name":
            raise SyntaxError(f"a name wanted, not {value!r}")
        return value

    def separators(self):
        while self.peek()[0] == "line" or self.is_next(";"):
            self.at += 1

    def skip_braces(self):
        depth = 0
        while True:
            kind, value = self.next()
            depth += (kind, value) == ("sign", "{")
            depth -= (kind, value) == ("sign", "}")
            if depth == 0 and (kind, value) == ("sign", "}"):
                return

    def until(self, end, item):
        found = []
        self.separators()
        while not self.take(end):
            found.append(item())
            self.separators()
        return [f for f in found if f]

    def listed(self, end, item):
        """a, b, c and a closing sign; a comma may stand before that"""
        found = []
        while not self.take(end):
            found.append(item())
            if not self.is_next(end):
                self.want(",")
        return found

    # ---- items ----

    def file(self):
        found = []
        self.separators()
        while self.peek()[0] != "end":
            found.append(self.item())
            self.separators()
        return [f for f in found if f]

    def item(self):
        if self.take("import"):
            return ("import", self.text() if self.peek()[0] == "text" else self.name())
        if self.take("test"):
            return self.skip_braces()
        if self.take("checkpoint"):
            return self.skip_braces()
        if self.take("block"):
            return self.block()
        if self.take("scheme"):
            return self.scheme()
        self.want("model")
        name = self.name()
        parent = self.name() if self.take(":") else None
        self.want("{")
        return ("model", name, parent, self.until("}", self.statement))

    def text(self):
        return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), self.next()[1][1:-1])

    def block(self):
        name = self.name()
        self.want("(")
        return ("block", name, self.params(), self.body_or_value())

    def body_or_value(self):
        return [("return", [self.expr()])] if self.take("=") else self.body()

    def params(self):
        """(name, default or None, by name alone)"""
        found, named = [], False
        while not self.take(")"):
            if self.take(";"):
                named = True
                continue
            name, default = self.name(), None
            if self.take(":"):
                self.type()
            if self.take("="):
                default = self.expr()
            found.append((name, default, named))
            self.take(",")
        return found

    def scheme(self):
        name = self.name()
        params = self.params() if self.take("(") else []
        self.want("{")
        return ("scheme", name, params, self.until("}", self.member))

    def member(self):
        if self.peek()[0] == "name" and self.peek(1) == ("sign", "("):
            return self.block()
        return self.statement()

    # ---- statements ----

    def body(self):
        self.want("{")
        return self.until("}", self.statement)

    def statement(self):
        kind, value = self.peek()
        if kind == "word":
            self.at += 1
            return getattr(self, "statement_" + value)()
        if self.peek(1) in (("sign", "="), ("sign", ","), ("sign", ":")):
            return self.assignment()
        return ("setting", self.name(), self.expr())

    def assignment(self):
        names = self.names()
        return ("assign", names, self.expr()) if self.take("=") else self.declaration(names)

    def names(self):
        found = [self.name()]
        while self.take(","):
            found.append(self.name())
        return found

    def type(self):
        return ("name", self.next()[1]) if self.is_next("block", "scheme") else self.postfix()

    def declaration(self, names):
        self.want(":")
        return ("declare", names, self.type(), self.expr() if self.take("=") else None)

    def statement_block(self):
        return self.block()

    def statement_shared(self):
        name = self.name()
        self.want("=")
        return ("shared", name, self.expr())

    def statement_return(self):
        found = [self.expr()]
        while self.take(","):
            found.append(self.expr())
        return ("return", found)

    def statement_require(self):
        self.expr()
        if self.take("within"):
            self.expr()
        if self.take(","):
            self.text()

    def each(self):
        name, index = self.name(), None
        if self.take("["):
            index = self.name()
            self.want("]")
        self.want(":")
        return name, index

    def statement_repeat(self):
        name, index = self.each()
        return ("repeat", name, index, self.expr(), self.body())

    def statement_input(self):
        if self.peek(1) != ("sign", "{"):
            return ("input", None, [self.declaration(self.names())])
        group = self.name()
        self.want("{")
        return ("input", group, self.until("}", lambda: self.declaration(self.names())))

    def statement_output(self):
        name = self.name()
        self.want("=")
        return ("output", name, self.expr())

    def statement_if(self):
        condition, body, other = self.expr(), self.body(), []
        if self.take("else"):
            other = [self.statement_if()] if self.take("if") else self.body()
        return ("if", condition, body, other)

    def statement_checkpoint(self):
        self.skip_braces() if self.is_next("{") else self.expr()

    def statement_loop(self):
        self.next()
        if not self.take("none"):
            self.skip_braces()

    # ---- expressions, from the loosest ----

    def expr(self):
        if not self.take("if"):
            return self.either()
        condition = self.expr()
        self.want("then")
        value = self.expr()
        self.want("else")
        return ("if", condition, value, self.expr())

    def chain(self, signs, operand):
        left = operand()
        while self.is_next(*signs):
            left = ("op", self.next()[1], left, operand())
        return left

    def either(self):
        return self.chain(["or"], self.both)

    def both(self):
        return self.chain(["and"], self.negation)

    def negation(self):
        return ("not", self.negation()) if self.take("not") else self.comparison()

    def comparison(self):
        left = self.sum()
        return ("op", self.next()[1], left, self.sum()) if self.is_next("==", "!=", "<", ">", "<=", ">=") else left

    def sum(self):
        return self.chain("+-", self.product)

    def product(self):
        return self.chain(["*", "/", "//", "%", "@"], self.unary)

    def unary(self):
        return ("minus", self.unary()) if self.take("-") else self.power()

    def power(self):
        base = self.postfix()
        return ("op", "^", base, self.unary()) if self.take("^") else base

    def postfix(self):
        x = self.over() if self.take("over") else self.along() if self.take("along") else self.primary()
        while True:
            if self.take("'"):
                x = ("transposed", x)
            elif self.take("."):
                x = ("field", x, self.name())
            elif self.take("("):
                x = ("call", x, self.listed(")", self.argument))
            elif self.take("["):
                x = ("index", x, self.listed("]", self.index_part))
            elif self.take("as"):
                x = ("as", x, self.name())
            else:
                return x

    def along(self):
        name = self.name()
        self.want(":")
        return ("along", name, self.sum(), self.body())

    def over(self):
        name, index = self.each()
        return ("over", name, index, self.sum(), self.body())

    def argument(self):
        """(its name or None, the expression)"""
        if self.peek()[0] != "name" or self.peek(1) != ("sign", ":"):
            return None, self.expr()
        name = self.name()
        self.want(":")
        return name, ("name", name) if self.is_next(",", ")") else self.expr()

    def index_part(self):
        first = None if self.is_next("..") else self.expr()
        if not self.take(".."):
            return ("one", first)
        last = None if self.is_next(",", "]") else self.expr()
        return ("range", first, last) if first or last else ("rest",)

    def primary(self):
        kind, value = self.next()
        if kind == "number":
            return ("value", int(value) if value.isdigit() else float(value))
        if kind == "text":
            self.at -= 1
            return ("value", self.text())
        if kind == "name":
            return ("name", value)
        if (kind, value) in (("word", "true"), ("word", "false"), ("word", "none")):
            return ("value", {"true": True, "false": False, "none": None}[value])
        if value == "(":
            inner = self.expr()
            self.want(")")
            return inner
        if value == "[":
            return ("list", self.listed("]", lambda: ("rest",) if self.take("..") else self.expr()))
        raise SyntaxError(f"an expression wanted, not {value!r}")
