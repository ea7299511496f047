"""lathe repl on a terminal of its own, and with more than usual: lines, memory, redefinitions.

usage: terminal.py DRIVER FOLDER     prints ok NAME, FAIL NAME: WHY, or skip NAME: WHY, a line each
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import zlib
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "terminal"))
from pseudo_terminal import PseudoTerminal  # noqa: E402

DRIVER, FOLDER = sys.argv[1], sys.argv[2]
PROMPT = "lathe> "
PATIENCE = 200  # seconds until a test gives up; nothing is judged by time
failed = 0


def verdict(name, why):
    global failed
    failed += bool(why)
    print(f"FAIL repl/{name}: {why}" if why else f"ok repl/{name}", flush=True)


class Terminal(PseudoTerminal):
    """The REPL behind a pseudo-terminal."""

    patience = PATIENCE

    def __init__(self, *arguments, columns=100, history=FOLDER + "/history"):
        environment = dict(os.environ, TERM="xterm", HOME=FOLDER, LC_ALL="C.UTF-8", LATHE_HISTORY=history)
        environment.pop("NO_COLOR", None)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(DRIVER, [DRIVER, "repl", *arguments], environment)
        self.resize(columns)
        self.seen = ""
        self.wait(PROMPT)

    def resize(self, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

    def wait(self, *wanted):
        came = super().wait(*wanted)
        self.seen += came
        return came

    def answer(self, line, *wanted):
        self.send(line + "\r")
        return self.wait(*wanted, PROMPT)

    def press(self, key, wanted):
        """A key that a terminal acts on itself; between two modes it may be lost, so it is pressed until something comes."""
        came = ""
        for _ in range(PATIENCE // 5):
            self.send(key)
            begin = time.time()
            while wanted not in came and time.time() - begin < 5:
                if select.select([self.fd], [], [], 1)[0]:
                    came += os.read(self.fd, 65536).decode(errors="replace")
            if wanted in came:
                return came
        raise TimeoutError(f"{wanted!r} did not come; so far {came[-300:]!r}")

    def leave(self):
        try:
            self.press("\x15\x04", "no such text: it ends")  # also if a key before stands in the line
        except TimeoutError:
            os.kill(self.pid, signal.SIGKILL)
        except OSError:  # the other side is closed
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def attempt(test):
    name = test.__name__.replace("_", " ")
    try:
        verdict(name, test())
    except (EOFError, TimeoutError, OSError) as e:
        verdict(name, str(e))


# --- on a terminal ---------------------------------------------------------------------------------------------------


def prompts_and_end_of_input():
    t = Terminal()
    t.answer("1 + 2", "\n3")
    t.send("block f(x) {\r")
    t.wait("...> ")
    t.send("return x * 2\r")
    t.wait("...> ")
    t.answer("}")
    t.answer("f(21)", "\n42")
    t.answer("nothing", "unknown name", "'nothing'")
    code = t.leave()
    return code and f"left with {code}"


def completion():
    t = Terminal("models/tale.model")
    t.answer("somewhat_long = 5")
    t.send("somew\t")
    t.wait("hat_long")
    t.answer(" + 1", "\n6")
    t.send(":tok\t")
    t.wait("en")
    t.send("\t")  # they begin alike: both are listed
    t.wait(":tokenizer", ":tokens")
    t.answer("izer models/tale/tok\tbin")
    t.answer(':encode "Once"', "\n1 ")
    t.answer(":set lay\t2")
    t.answer(":set layers", "layers 2")
    t.answer(":dump simp\t", "graph tale")
    t.answer(":model ta\t", "tale: ")
    t.answer(":tap final.m\t", "# [")
    t.answer("require softma\t([0]) == [1]")
    t.answer(":tap layer[1].ff\t", "# [")
    t.answer(":run '1 2 3' 1", "\n")
    t.answer("layer[1].ffn.dow\t.y.shape", "[40, 96]")
    t.answer("(1 + layer[1].attn.dot_product.sc\t).shape", "[ 6, 40, 40]")
    t.answer(":plot iota(8) / 4 + window([1, 2], 1, stri\t 1)[0]", "2.75")
    t.send("gated(somewhat_long, \t")  # what a call takes by name
    t.wait("act:", "bias:")
    t.answer("\x15x = [[1, 2]]")
    t.answer("x.sh\t", "[1, 2]  # [2]")
    t.answer("places = rope(theta: 5)")
    t.answer("places.he\t", "block heads(x)")
    t.answer(":help gate\t", "block gated(")
    return t.leave() and "left with an error"


def history():
    t = Terminal()
    t.answer("20 + 1", "\n21")
    t.send("\x1b[A")
    t.wait("20 + 1")
    t.answer(" + 1", "\n22")
    t.leave()
    t = Terminal()  # and in the next session
    t.send("\x1b[A")
    t.wait("20 + 1 + 1")
    t.answer(" + 1", "\n23")
    return t.leave() and "left with an error"


def history_holds_inputs():
    path = FOLDER + "/inputs"
    t = Terminal(history=path)
    t.send("block twice(x) {\r")
    t.wait("...> ")
    t.send("return 2 * x\r")
    t.wait("...> ")
    t.answer("}")
    t.answer(":help set", ":set")
    os.kill(t.pid, signal.SIGHUP)  # the terminal is closed
    os.waitpid(t.pid, 0)
    if os.listdir(FOLDER).count("inputs") != 1 or [f for f in os.listdir(FOLDER) if f.startswith("inputs.")]:
        return f"files of the history: {os.listdir(FOLDER)}"
    t = Terminal(history=path)
    t.send("\x1b[A\x1b[A")  # the whole block again
    t.wait("block twice(x) {", "return 2 * x", "}")
    t.answer("")
    t.answer("twice(21)", "\n42")
    t.send("\x1b[A\x1b[A")  # which it then is once more
    t.wait("return 2 * x")
    t.answer("")
    return t.leave() and "left with an error"


def interrupts():
    t = Terminal()
    t.send("a line that is not wan")
    t.wait("wan")
    os.kill(t.pid, signal.SIGINT)
    t.wait(PROMPT)
    t.send("block open(x) {\r")
    t.wait("...> ")
    t.press("\x03", PROMPT)
    t.answer("1 + 1", "\n2")
    t.answer("x = over row[i] : 2000 { return iota(2000) * 1.0 + i }")
    t.send("sum(x @ x @ x @ x @ x @ x)\r")
    time.sleep(1)
    came = t.press("\x03", PROMPT)
    if "interrupted" not in came:
        return f"a long product was not interrupted: {came!r}"
    t.answer("x[0, 1]", "\n1")
    return t.leave() and "left with an error"


def interrupted_run():
    t = Terminal("models/stories15m.model")
    t.answer(":set context 100000")
    t.send(':run "1" 99000\r')
    t.wait(*" " * 40)  # of its tokens: more than an echo of the line has, or two
    if "interrupted" not in t.press("\x03", PROMPT):
        return "a run was not interrupted"
    t.answer(":model", "stories15m")
    return t.leave() and "left with an error"


def resizing():
    t = Terminal(columns=100)
    long_line = "1 + " * 30 + "1"
    t.send(long_line[:60])
    t.resize(30)
    time.sleep(0.2)
    t.send(long_line[60:])
    t.resize(120)
    time.sleep(0.2)
    t.answer("", "\n31")
    t.resize(40)
    if max(map(len, t.answer("iota(30)", "# [30]").split("\r\n"))) > 60:
        return "a tensor is wider than the terminal"
    return t.leave() and "left with an error"


def wide_characters():
    t = Terminal()
    t.answer('"日本語 é 🙂"', '\n"日本語 é 🙂"')
    t.send('"日本語')
    t.wait("語")
    t.send('\x7f\x7f')  # two characters less
    t.answer('x"', '\n"日x"')
    t.answer("日 + 1", "error")
    return t.leave() and "left with an error"


# --- text ----------------------------------------------------------------------------------------------------------------


def said_on_terminal(*command):
    """What a program says on a terminal."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    said = b""
    while True:
        try:
            more = os.read(fd, 65536)
        except OSError:
            more = b""
        if not more:
            break
        said += more
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said.decode()


def text_ends_with_a_newline():
    """That of lathe run and of an emitted program; in a pipe it is the text alone."""
    text = ["-p", "Nora", "-n", "3"]
    tale = ["models/tale.model", "--weights", "models/tale/tale.safetensors", "--tokenizer", "models/tale/tokenizer.bin"]
    subprocess.run([DRIVER, "build", *tale, "--main", "--target", "scalar", "-o", FOLDER + "/tale.c"], check=True)
    subprocess.run(["cc", "-std=c11", "-O1", FOLDER + "/tale.c", "-lpthread", "-o", FOLDER + "/tale"], check=True)
    for command in [DRIVER, "run", *tale], [FOLDER + "/tale", "-w", FOLDER + "/tale.weights"]:
        plain = subprocess.run(command + text, capture_output=True, check=True).stdout.decode()
        if not plain or plain.endswith("\n"):
            return f"{command[0]}: the text in a pipe is {plain!r}"
        if said_on_terminal(*command, *text) != (0, plain + "\r\n"):
            return f"{command[0]}: on a terminal {said_on_terminal(*command, *text)!r}, in a pipe {plain!r}"
        if said_on_terminal(*command, "-n", "0") != (0, ""):
            return f"{command[0]}: no text at all, and {said_on_terminal(*command, '-n', '0')!r}"


# --- more than usual --------------------------------------------------------------------------------------------------


def run_script(text, *options):
    done = subprocess.run([DRIVER, "repl", *options], input=text.encode(), capture_output=True, timeout=PATIENCE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def a_script_of_10000_lines():
    lines = []
    for i in range(2500):
        lines += [f"block f{i}(x) = x + {i}", f"v{i} = f{i}(1)", f"v{i}", "# nothing"]
    code, out, err = run_script("\n".join(lines) + "\n")
    if code or err or out != "".join(f"{i + 1}\n" for i in range(2500)):
        return f"status {code}, {err[:200]!r}"


def an_input_of_10000_lines():
    text = "x = [\n" + ",\n".join(str(i) for i in range(10000)) + "\n]\nsum(x)[0]\n"
    code, out, err = run_script(text)
    if (code, out, err) != (0, "49995000\n", ""):
        return f"status {code}, {out[:200]!r}, {err[:200]!r}"


def a_line_of_a_megabyte():
    n = 150000
    text = "x = [" + ", ".join(str(i % 100000) for i in range(n)) + "]\n"
    assert len(text) > 1000000
    code, out, err = run_script(text + "len(x)\nx\n" + "y" * 1100000 + "\n" + '"' + "é" * 600000 + '"\n1 + 1\n')
    if code != 1 or not out.startswith(f"{n}\n[") or not out.endswith("\n2\n") or "unknown name 'y" not in err:
        return f"status {code}, {out[:200]!r} .. {out[-20:]!r}, {err[:200]!r}"


def more_memory_than_there_is():
    text = """model huge { input x : real[1000000]; output y = linear(x, 2000000) }
:run
:golden
:rank 0
x = over a[i] : 100000 { return iota(16000000) * 1.0 + i }
model small { input x : real[2]; output y = x }
:run
1 + 1
"""
    code, out, err = run_script(text)
    if code != 1 or not out.endswith("\n2\n") or err.count("out of memory") < 3:
        return f"status {code}, {out[-200:]!r}, {err[:400]!r}"


TALE = """:load models/tale.model
:weights models/tale/tale.safetensors
:tokenizer models/tale/tokenizer.bin
"""


def a_saved_session():
    """As a model file: definitions with comments, imports once. As a script: all of it."""
    os.makedirs(FOLDER + "/part/lib")
    files = {"part/lib/help.model": "block helped(x) = x + 1\n",
             "part/one.model": "# of the file\nimport blocks\nimport help\n\n# of f\nblock f(x; by = 2) = helped(x) * by  # beside it\n"
                               "# at the end\n",
             "two.model": 'import "part/lib/help.model"\nimport blocks\n'
                          "model m {\n    d = 3  # inside\n    input x : real[d]\n    output y = f(x) * helped(0)\n}\n"}
    for name, text in files.items():
        with open(f"{FOLDER}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
    definitions = ("import blocks\n# of the file\nimport \"part/lib/help.model\"\n\n# of f\n"
                   "block f(x; by = 2) = helped(x) * by  # beside it\n# at the end\n")
    model = files["two.model"].split("\n", 2)[2]
    session = f"""import blocks
:load {FOLDER}/part/one.model
:load {FOLDER}/two.model
# typed in,
# in two lines
block k(x) = x * factor
factor = 10
g = f(by: factor)
factor = 12
w : weight[2]
t = [[0.1, inf], [-0.0, 3]] @ [[1], [0]]
l = [1, "a \\"b\\"", [2.5, 4]]
truths = w > 0
ids = argmax(w, axis: 0)
n = none
:set d 5
"""
    asked = 'k(2)\ng(3)\nfactor\nw\nt\n1 / t\nl\ntruths\nids\nn\nlen([n])\n:set\n:model\n'
    plain, saved = FOLDER + "/all.model", FOLDER + "/all.lathe"
    code, out, err = run_script(session + f":save {plain}\n:save {saved}\n" + asked)
    left, _, answers = out.partition("that does not end in .model\n")
    if code or err or not answers or not left.rstrip().split("\n")[-2].endswith(": factor, g, w, t, l, truths, ids, n, :set d"):
        return f"status {code}, {err!r}, {left!r}"
    with open(plain, encoding="utf-8") as f:
        found = f.read()
    typed = "\n# typed in,\n# in two lines\nblock k(x) = x * factor\n"
    if found != definitions + model + typed:
        return f"the model file is {found!r}"
    code, out, err = run_script(f":load {saved}\n" + asked)
    if code or err or out.split("\n", 1)[1] != answers:
        return f"taken up again: status {code}, {err!r}, {out!r} instead of {answers!r}"
    code, out, err = run_script("x = over a[i] : 1000 { return iota(1000) + i }\n" + f":save {FOLDER}/large.lathe\n")
    if code != 1 or "x has more than 500000 elements" not in err or os.path.exists(FOLDER + "/large.lathe"):
        return f"a large variable: status {code}, {err!r}"
    with open(FOLDER + "/loop.lathe", "w", encoding="utf-8") as f:
        f.write(f":load {FOLDER}/loop.lathe\n")
    code, out, err = run_script(f":load {FOLDER}/loop.lathe\n1 + 1\n")
    if code != 1 or "load one another" not in err or out != "2\n":
        return f"a script that loads itself: status {code}, {out!r}, {err!r}"


def times_of_kernels():
    code, out, err = run_script(TALE + ':run "Nora found" 2\n:time\n:show plan\n')
    table, plan = out.split(" barriers a call")[0].split("prefill, ")[1].split("a step after ")[:2]
    prefill = re.findall(r"^(\w+) +(\d+) +([\d.]+) +([\d.]+)% +([\d.]+) +([\d.]+) +(\d+)%$", table, re.M)
    step = re.findall(r"^(\w+) +\d+ +[\d.]+ +[\d.]+% ", plan, re.M)
    names = {row[0] for row in prefill}
    planned = set(re.findall(r"^ *call (\w+),", plan, re.M))
    if code or err or names != planned or set(step) != planned:
        return f"status {code}, {err!r}, timed {sorted(names)} and {sorted(step)}, planned {sorted(planned)}"
    if not 99 < sum(float(row[3]) for row in prefill) < 101 or {row[1] for row in prefill} != {"1", "4"}:
        return f"shares or calls are wrong: {prefill}"
    if not all(float(row[4]) > 0 for row in prefill if row[0] in ("layer_ffn_gate_up", "top_logits", "layer_attn")):
        return f"no arithmetic: {prefill}"
    code, out, err = run_script(TALE + f':run "Nora found" 2\n:time {FOLDER}/time.svg\n')
    root = ElementTree.parse(FOLDER + "/time.svg").getroot()
    marks = [(g.attrib["data-kernel"], g.attrib["data-call"]) for g in root.iter("{http://www.w3.org/2000/svg}g") if "data-kernel" in g.attrib]
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    rates = [float(m[1]) for m in (re.search(r", ([\d.]+) [kMG]?FLOP/s, ", t) for t in titles) if m]
    if code or err or len(set(marks)) != len(marks) or len(marks) != 2 * (len(planned) - 1) or len(set(rates)) < len(planned):
        return f"a picture of the times: status {code}, {err!r}, {len(marks)} marks of {len(planned)} kernels, rates {sorted(set(rates))}"
    code, out, err = run_script(TALE + f":time {FOLDER}/time.jpg\n:time {FOLDER}/nowhere/time.svg\n")
    if code != 1 or "expected a file that ends in .svg, .pdf or .png, not " not in err or "nothing was written" not in err:
        return f"pictures that can't be written: status {code}, {err!r}"


def read_png(path):
    """Width, height and rows of red, green, blue."""
    with open(path, "rb") as f:
        data = f.read()
    at, bits = 8, b""
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and (depth, colour) == (8, 2)
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        assert zlib.crc32(data[at + 4:at + 8 + n]) == struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0]
        bits += data[at + 8:at + 8 + n] if kind == b"IDAT" else b""
        at += 12 + n
    raw, rows, before = zlib.decompress(bits), [], bytearray(3 * width)
    for y in range(height):
        how, row = raw[y * (3 * width + 1)], bytearray(raw[y * (3 * width + 1) + 1:(y + 1) * (3 * width + 1)])
        for i, value in enumerate(row):
            a, b, c = row[i - 3] if i > 2 else 0, before[i], before[i - 3] if i > 2 else 0
            near = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            row[i] = value + (0, a, b, (a + b) // 2, near)[how] & 255
        rows.append(row)
        before = row
    return width, height, rows


def a_picture_of_attention():
    path = FOLDER + "/attention.png"
    code, out, err = run_script(TALE + f':run "Nora found" 2\n:tap layer[0].weights\n:attn 0 1 {path}\n')
    if code or err:
        return f"status {code}, {err!r}"
    heads = out.split("\n", 4)[4].split("]],")
    weights = [[float(x) for x in re.findall(r"[\d.]+", row)] for row in heads[1].split("],")]
    width, height, rows = read_png(path)
    n = len(weights)
    cell, most = 32 if n <= 12 else 18, max(map(max, weights))
    dark = [(x, y) for y in range(height) for x in range(width) if tuple(rows[y][3 * x:3 * x + 3]) == (32, 32, 32)]
    box = [(x, y) for x, y in dark if all(tuple(rows[y][3 * i:3 * i + 3]) == (32, 32, 32) for i in range(x, min(x + n * cell, width)))]
    left, top = box[0][0] + 1, box[0][1] + 1  # the frame of the map
    for i in range(n):
        for j in range(n):
            x, y = left + j * cell + cell // 2, top + i * cell + cell // 2
            green = rows[y][3 * x + 1]
            if abs(green - (216 if j > i else 248 - 200 * weights[i][j] / most)) > 2:  # grey: masked
                return f"cell {i}, {j} is {green}, not that of {weights[i][j]}"


def pictures_of_values():
    """Colours of a heat map's cells and of its colour bar; heights of a line."""
    path = FOLDER + "/plot"
    code, out, err = run_script(f":plot [[-2, 0, 1], [0, 2, -1]] {path}.heat.png\n"
                                f":plot [0, 0, 10, 10] {path}.line.png\n:hist [0, 0, 0, 3] --bins 2 -o {path}.hist.png\n")
    if code or err:
        return f"status {code}, {err!r}"
    width, _, rows = read_png(path + ".heat.png")
    at = lambda x, y: tuple(rows[y][3 * x:3 * x + 3])
    left, top, cell = 112, 44, 60
    cells = [[at(left + cell * j + cell // 2, top + cell * i + cell // 2) for j in range(3)] for i in range(2)]
    blue, light, white, pale, red = (30, 80, 160), (140, 185, 220), (247, 247, 247), (240, 160, 125), (170, 30, 45)
    wanted = [[blue, white, pale], [white, red, light]]
    if cells != wanted:
        return f"the cells are {cells}, not {wanted}"
    bar = [at(left + 3 * cell + 30, y) for y in (top + 1, top + 2 * cell - 1)]
    if max(abs(a - b) for one, two in zip(bar, (red, blue)) for a, b in zip(one, two)) > 4:
        return f"the colour bar goes from {bar[0]} to {bar[1]}"
    width, height, rows = read_png(path + ".line.png")
    drawn = [[y for y in range(height) if at(x, y) == (31, 100, 170)] for x in (150, width - 60)]
    if not all(drawn) or not 40 < drawn[1][0] < 80 < 430 < drawn[0][-1] < 470:
        return f"the line stands at {drawn}"
    width, height, rows = read_png(path + ".hist.png")
    bars = [sum(at(x, y) == (31, 100, 170) for y in range(height)) for x in (200, width - 100)]
    if abs(bars[0] - 3 * bars[1]) > 4 or not bars[1]:
        return f"bars of 3 and 1 are {bars} high"


def attention_laid_over_a_picture():
    """Of a picture that is all the same: each patch is as red as its weight."""
    path = FOLDER + "/over.png"
    code, out, err = run_script(":load models/doodles.model\n:weights models/doodles/doodles.safetensors\n"
                                ":input pixels = reshape(iota(1024) * 0, [1, 32, 32])\n"
                                "layer[1].attn.dot_product.weights[2, 6]\n"
                                f":attn 1 2 --token 6 -o {path}\n")
    if code or err:
        return f"status {code}, {err!r}"
    weights = [float(x) for x in re.findall(r"\d\.\d+", out.split("parameters\n")[1])][1:]
    width, height, rows = read_png(path)
    zoom, left, top = 300 // 32, 16, 16 + 64
    for k, weight in enumerate(weights):
        x, y = left + (k % 4 * 8 + 4) * zoom, top + (k // 4 * 8 + 4) * zoom
        part = 0.85 * weight / max(weights)
        wanted = [64 * (1 - part) + red * part for red in (214, 20, 30)]
        found = rows[y][3 * x:3 * x + 3]
        if max(abs(a - b) for a, b in zip(found, wanted)) > 2:
            return f"patch {k} is {list(found)}, not {wanted}"
    x, y = left + (1 * 8) * zoom + 1, top + (1 * 8 + 4) * zoom  # token 6 is patch 5
    if tuple(rows[y][3 * x:3 * x + 3]) != (31, 100, 170) or len(weights) != 16:
        return "the token's own patch is not marked"


def a_strip_of_pictures():
    """Its last picture is what `lathe run` makes; the first has nothing of it."""
    strip, one = FOLDER + "/strip.png", FOLDER + "/one.png"
    weights = "models/sketch/sketch.safetensors"
    code, out, err = run_script(f":load models/sketch.model\n:weights {weights}\n:input class = 7\n:trace 3 -n 6 --seed 5 -o {strip}\n")
    made = subprocess.run([DRIVER, "run", "models/sketch.model", "--weights", weights, "-I", "class=7", "-n", "6", "--seed", "5", "-o", one])
    if code or err or made.returncode:
        return f"status {code} and {made.returncode}, {err!r}"
    (side, _, wanted), (width, _, rows) = read_png(one), read_png(strip)
    zoom, top = 128 // side, 16 + 34
    if (side, width) != (32, 2 * 16 + 3 * 128 + 2 * 10):
        return f"the strip is {width} wide"
    apart = [max(abs(rows[top + zoom * y + 1][3 * (16 + k * 138 + zoom * x + 1)] - wanted[y][3 * x]) for y in range(side) for x in range(side))
             for k in range(3)]
    if apart[2] or apart[0] < 200 or apart[1] < 20:
        return f"pictures are {apart} apart from the last"


def a_picture_of_points():
    """Where they stand: a unit is as long across as up; and labels, dark and beside them."""
    path = FOLDER + "/points.png"
    code, out, err = run_script(f":project [[3, 0], [-3, 0], [0, 2], [0, -2]] + 7 -o {path}\n")
    if code or err or "69.2 % and 30.8 %" not in out:
        return f"status {code}, {err!r}, {out!r}"
    width, height, rows = read_png(path)
    at = lambda x, y: tuple(rows[y][3 * x:3 * x + 3])
    groups = []
    for y in range(height):
        for x in range(width):
            if at(x, y) == (31, 100, 170):
                near = [g for g in groups if abs(g[0][0] - x) < 12 and abs(g[0][1] - y) < 12]
                near[0].append((x, y)) if near else groups.append([(x, y)])
    middles = sorted((sum(x for x, _ in g) / len(g), sum(y for _, y in g) / len(g)) for g in groups)
    if len(middles) != 4:
        return f"there are {len(middles)} points"
    left, one, two, right = middles
    across, up = (right[0] - left[0]) / 6, abs(one[1] - two[1]) / 4
    if abs(across / up - 1) > 0.03 or abs(left[0] + right[0] - one[0] - two[0]) > 3 or abs(one[1] + two[1] - left[1] - right[1]) > 3:
        return f"the points stand at {middles}"
    for x, y in middles:  # "0" to "3" on the right
        if not any(at(int(x) + 5 + i, int(y) + j) == (32, 32, 32) for i in range(16) for j in range(-8, 9)):
            return f"there is no label beside {x}, {y}"


def a_heat_map_in_colours():
    t = Terminal()
    t.answer(":plot [[0, 1], [1, 0]]", "\x1b[48;5;54m  \x1b[0m", "\x1b[48;5;227m  \x1b[0m")
    return t.leave() and "left with an error"


class Piped:
    """A session behind a pipe, asked for its memory."""

    def __init__(self):
        self.p = subprocess.Popen([DRIVER, "repl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.marks = 0

    def take(self, lines):
        self.marks += 1
        self.p.stdin.write(("\n".join(lines) + f'\n"mark {self.marks}"\n').encode())
        self.p.stdin.flush()
        while self.p.stdout.readline() != f'"mark {self.marks}"\n'.encode():
            if self.p.poll() is not None:
                raise EOFError("the session ended")

    def memory(self):
        with open(f"/proc/{self.p.pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s*(\d+)", f.read())[1])


def redefinitions_take_no_memory():
    if not os.path.exists("/proc/self/status"):
        print("skip repl/redefinitions: no /proc")
        return None

    def lines(first, last):
        for i in range(first, last):
            yield f"block f(x; by = {i}.5) {{\n    y = x * {i}\n    return y + by\n}}"
            yield f"x = [{i}, {i + 0.25}, 3]"
            yield "y = f(x)"
            yield f"g = f(by: {i})"
            yield f"scheme s(; by = {i}) {{ m(x) = x + by }}"
            yield f"model m {{ width = {i % 7 + 1}; input x : real[width]; output y = f(x) * {i} }}"

    s = Piped()
    s.take(lines(0, 1000))
    before = s.memory()
    s.take(lines(1000, 10000))
    after = s.memory()
    s.p.stdin.close()
    s.p.wait()
    if after - before > 512:
        return f"{after - before} kB more after 9,000 redefinitions of each kind"


def recompilations_take_no_memory():
    if not os.path.exists("/proc/self/status"):
        return None
    s = Piped()
    s.take([":load models/tale.model", ":run"])

    def lines(n):
        for i in range(n):
            yield f":set layers {i % 3 + 2}"

    s.take(lines(160))  # as many as below: the allocator keeps a reserve of their size
    before = s.memory()
    s.take(lines(160))
    after = s.memory()
    s.p.stdin.close()
    s.p.wait()
    if after - before > 1024:
        return f"{after - before} kB more after 160 compilations"


for test in (prompts_and_end_of_input, completion, history, history_holds_inputs, interrupts, interrupted_run, resizing, wide_characters,
             text_ends_with_a_newline, a_saved_session,
             a_script_of_10000_lines, an_input_of_10000_lines, a_line_of_a_megabyte, times_of_kernels,
             a_picture_of_attention, pictures_of_values, a_picture_of_points, attention_laid_over_a_picture, a_strip_of_pictures, a_heat_map_in_colours, more_memory_than_there_is,
             redefinitions_take_no_memory, recompilations_take_no_memory):
    attempt(test)
sys.exit(failed > 0)
