"""lathe run with the loops classify, embed and fill, beside `lathe eval`, and what is said where they can't run.

    check.py DRIVER            prints ok NAME, or FAIL NAME and why

Pixels are those of Pillow and numpy (recorded by tests/oracle/pictures.py); vectors and logits are those of lathe eval on the same input."""
import hashlib
import json
import math
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, f"{ROOT}/tests/media")
import pictures

driver = os.path.abspath(sys.argv[1])
PICTURES, TEXTS = f"{HERE}/pictures.model", f"{HERE}/texts.model"
failed = 0


def lathe(command, model, m, *arguments, code=0, text=None):
    r = subprocess.run([driver, command, model, *(["-m", m] if m else []), *arguments], capture_output=True, cwd=work,
                       input=text if isinstance(text, bytes) else text and text.encode())
    out, err = r.stdout.decode(), "".join(line for line in r.stderr.decode().splitlines(True) if "generated from a hash" not in line)
    if r.returncode != code:
        raise AssertionError(f"exit status {r.returncode}, not {code}: {out[-300:]}{err[-600:]}")
    return err if code else out


def evaluated(model, m, *arguments):
    return json.loads(lathe("eval", model, m, *arguments, "--json"))


def check(name):
    def judge(test):
        global failed
        try:
            test()
            print("ok loops", name, flush=True)
        except (AssertionError, ValueError) as why:
            failed += 1
            print(f"FAIL loops {name}: {why}", flush=True)
    return judge


def same(found, expected):
    assert found == expected, f"{found} where {expected} is right"


def near(found, expected, bound=1e-6):
    assert len(found) == len(expected) and all(abs(a - b) <= bound for a, b in zip(found, expected)), f"{found} where {expected} is right"


def flat(x):
    return [v for part in x for v in flat(part)] if isinstance(x, list) else [x]


def softmax(x):
    e = [math.exp(v - max(x)) for v in x]
    return [v / sum(e) for v in e]


def classes(m, *arguments, **more):
    """By picture: [(class, probability, label)]"""
    lines = lathe("run", PICTURES, m, *arguments, "--json", **more).splitlines()
    return {r["file"]: [(c["class"], c["probability"], c.get("label")) for c in r["classes"]] for r in map(json.loads, lines)}


def error(expected, command, model, m, *arguments, code=1, **more):
    found = lathe(command, model, m, *arguments, code=code, **more)
    assert expected in found, f"says {found[:400]} where {expected} is right"


NAMES = ["red", "green, as grass", 'blue "sky"']
with tempfile.TemporaryDirectory() as work:
    for name, data in pictures.files().items():
        with open(f"{work}/{name}.{'ppm' if data[:1] == b'P' else 'png'}", "wb") as f:
            f.write(data)

    # --- classify ---

    for line in open(f"{HERE}/recorded"):
        name, m, expected = line.split()

        @check(f"pixels of {name}, {m}")
        def _():
            seen = flat(evaluated(PICTURES, m, "-I", f"pixels={name}", "--output", "seen")["seen"])
            same(hashlib.sha256(struct.pack(f"<{len(seen)}f", *seen)).hexdigest()[:32], expected)

    @check("classes of a picture are those of its scores")
    def _():
        for m in ("stretched", "cut", "cut_cubic"):
            scores = evaluated(PICTURES, m, "-I", "pixels=colour.png")["logits"]
            found, = classes(m, "colour.png").values()
            near([p for _, p, _ in sorted(found)], softmax(scores))
            same([c for c, _, _ in found], sorted(range(3), key=lambda i: -scores[i]))
            same([label for _, _, label in sorted(found)], NAMES if m == "stretched" else [None] * 3)

    @check("a line for each class, headed by the file where there are several")
    def _():
        one, = classes("stretched", "colour.png").values()
        lines = "".join(f"{p:8.4f}  {c}  {label}\n" for c, p, label in one)
        same(lathe("run", PICTURES, "stretched", "colour.png"), lines)
        two, = classes("stretched", "ppm.ppm").values()
        same(lathe("run", PICTURES, "stretched", "colour.png", "ppm.ppm", "--top", "2"),
             "colour.png\n" + "".join(f"{p:8.4f}  {c}  {label}\n" for c, p, label in one[:2]) +
             "ppm.ppm\n" + "".join(f"{p:8.4f}  {c}  {label}\n" for c, p, label in two[:2]))
        same(lathe("run", PICTURES, "cut", "ppm.ppm", "--top", "1").count("  "), 2)

    @check("a picture on standard input")
    def _():
        data = pictures.files()["colour"]
        same(lathe("run", PICTURES, "stretched", "-", text=data), lathe("run", PICTURES, "stretched", "colour.png"))

    def write(name, text):
        with open(f"{work}/{name}", "w", newline="") as f:
            f.write(text)

    def run_words(*words, text=None):
        """Exit status, standard output and standard error"""
        r = subprocess.run([driver, *words], capture_output=True, cwd=work, input=text)
        return r.returncode, r.stdout.decode(), "".join(line for line in r.stderr.decode().splitlines(True) if "from a hash" not in line)

    @check("the content of a file decides, not its name")
    def _():
        for name, other in (("420.jpg.png", "a.JPG"), ("420.jpg.png", "a"), ("420.jpg.png", "a.npy"), ("colour.png", "b.jpg"), ("ppm.ppm", "c.txt")):
            with open(f"{work}/{name}", "rb") as f, open(f"{work}/{other}", "wb") as to:
                to.write(f.read())
            same(*(lathe("run", PICTURES, "cut", x) for x in (name, other)))
            same(*(evaluated(PICTURES, "cut", "-I", f"pixels={x}") for x in (name, other)))
        error("nowhere.jpeg: No such file", "eval", PICTURES, "cut", "-I", "pixels=nowhere.jpeg", code=3)
        write("w.png", "RIFF....WEBP")
        error("w.png: it is a WebP picture; expected PNG, JPEG, PPM (P6) or PGM (P5); `ffmpeg", "eval", PICTURES, "cut", "-I", "pixels=w.png")
        write("s.png", "RIFF....WAVE")
        error("-I pixels=s.png: expected an input of reals [samples]", "eval", PICTURES, "cut", "-I", "pixels=s.png")

    @check("a camera's orientation")
    def _():
        seen = lambda name: evaluated(PICTURES, "grey", "-I", f"pixels={name}", "--output", "seen")["seen"][0]
        upright, below = seen("orientation-1.jpg.png"), seen("orientation-3.jpg.png")
        near(flat(below), flat([row[::-1] for row in upright[::-1]]))
        same(len({str(seen(f"orientation-{n}.jpg.png")) for n in range(1, 9)}), 8)

    @check("any number of pictures, from words, a file and standard input")
    def _():
        few, command = ["colour.png", "ppm.ppm", "grey.png"], ["run", PICTURES, "-m", "stretched", "--top", "1"]
        right = run_words(*command, *few)
        same(right[0], 0)
        write("list.txt", "\ufeffcolour.png\n\n \t\r\nppm.ppm\r\ngrey.png")
        same(run_words(*command, "@list.txt"), right)
        same(run_words(*command, "@-", text="".join(f"{name}\n" for name in few).encode()), right)
        same(run_words(*command, "colour.png", "@-", text=b"ppm.ppm\ngrey.png\n"), right)
        many = run_words(*command, *few * 200)
        same((many[0], many[1]), (0, right[1] * 200))
        same(run_words(*command, "@-", text=("\n".join(few) + "\n").encode() * 500)[1], right[1] * 500)
        write("one.txt", "colour.png\n")
        same(run_words(*command, "@one.txt")[1], "colour.png\n" + lathe("run", PICTURES, "stretched", "colour.png", "--top", "1"))
        os.link(f"{work}/colour.png", f"{work}/@c.png")
        same(run_words(*command, "./@c.png")[1], run_words(*command, "colour.png")[1])

    @check("pictures that can't be read, among others")
    def _():
        with open(f"{work}/420.jpg.png", "rb") as f:
            data = f.read()
        with open(f"{work}/cut.jpg", "wb") as f:
            f.write(data[:-50])
        command = ["run", PICTURES, "-m", "stretched", "--top", "1"]
        write("list.txt", "colour.png\ncut.jpg\n\nppm.ppm\n")
        good = run_words(*command, "colour.png", "ppm.ppm")[1]
        why = f"cut.jpg: a JPEG that can't be read: it is truncated (byte {len(data) - 50} of {len(data) - 50})\n"
        same(run_words(*command, "@list.txt"), (1, good, f"lathe run: list.txt, line 2: {why}"))
        same(run_words(*command, "colour.png", "cut.jpg", "ppm.ppm"), (1, good, f"lathe run: {why}"))
        code, out, err = run_words(*command, "@-", text=b"colour.png\ncut.jpg\nnowhere.png\nppm.ppm\n")
        same((code, out, err), (3, good, f"lathe run: standard input, line 2: {why}lathe run: standard input, line 3: nowhere.png: No such file or directory\n"))
        code, out, err = run_words(*command, "@list.txt", "--json")
        same(([list(json.loads(line)) for line in out.splitlines()], json.loads(out.splitlines()[1])),
             ([["file", "classes"], ["file", "error"], ["file", "classes"]], {"file": "cut.jpg", "error": why[:-1]}))
        code, out, err = run_words("run", PICTURES, "-m", "lost", "colour.png", "ppm.ppm")
        same((code, out, err.count("its scores have no softmax")), (1, "", 2))

    @check("progress on a terminal, removed before a message")
    def _():
        with open(f"{work}/large.ppm", "wb") as f:
            f.write(b"P6 2500 2000 255 " + bytes(range(250)) * 60000)
        terminal, side = pty.openpty()
        with open(f"{work}/classes", "w") as out:
            child = subprocess.Popen([driver, "run", PICTURES, "-m", "stretched", "@-", "--top", "1"], cwd=work, stdin=subprocess.PIPE, stdout=out, stderr=side)
        os.close(side)
        child.stdin.write(b"large.ppm\n" * 20 + b"nowhere.png\n" + b"large.ppm\n" * 20)
        child.stdin.close()
        came = b""
        while True:
            try:
                came += os.read(terminal, 65536)
            except OSError:  # its end
                break
        same((child.wait(), b"classifying [" in came, b" of 41, " in came), (3, True, True))
        same(re.findall(rb"(?:\r\x1b\[K|^)lathe run: standard input, line 21: nowhere.png: [^\r]*\r\n", came) != [], True)
        same(re.search(rb"\x1b\[K$", came) is not None, True)
        os.close(terminal)

    @check("errors in lists")
    def _():
        error("@nowhere.txt: No such file", "run", PICTURES, "cut", "@nowhere.txt", code=3)
        error("@.: it is a directory", "run", PICTURES, "cut", "@.", code=3)
        error("@-: it has no paths, one on each line", "run", PICTURES, "cut", "@-", text=b"\n \n")
        error("@-: line 2 has a byte 0", "run", PICTURES, "cut", "@-", text=b"colour.png\nppm.ppm\0grey.png\n")
        error("@-: line 1 is -, standard input", "run", PICTURES, "cut", "@-", text=b"-\n")
        error("standard input, - or @-, is named 2 times", "run", PICTURES, "cut", "@-", "-", code=2)
        error(".: it is a directory", "run", PICTURES, "cut", ".", code=3)

    @check("a grey model")
    def _():
        near([p for _, p, _ in classes("grey", "colour.png")["colour.png"]], [1])

    @check("labels of a config.json")
    def _():
        same([label for _, _, label in sorted(classes("json", "colour.png")["colour.png"])], ["rouge", "vert", "bleu"])

    @check("labels in the model file")
    def _():
        same([label for _, _, label in sorted(classes("lines", "colour.png")["colour.png"])], ["rot", "grün", "blau"])
        error("labels has 2 labels, one per line, but the model has 3 classes", "run", PICTURES, "told", "colour.png")
        error("labels has 4 labels, one per line, but the model has 3 classes", "run", PICTURES, "more", "colour.png")

    @check("labels with the ends of lines of Windows")
    def _():
        same([label for _, _, label in sorted(classes("windows", "colour.png")["colour.png"])], ["rot", "grün", "blau"])

    @check("other inputs are filled, and outputs chosen")
    def _():
        scores = evaluated(PICTURES, "values", "-I", "pixels=colour.png")["logits"]
        near([p for _, p, _ in sorted(classes("two", "colour.png")["colour.png"])], softmax(scores))
        near([p for _, p, _ in sorted(classes("two", "colour.png", "-I", "scale=0")["colour.png"])], [1 / 3] * 3)
        same(len(classes("second", "colour.png")["colour.png"]), 2)

    @check("errors in pictures, labels and scores")
    def _():
        error("requires pictures after the model", "run", PICTURES, "cut", code=2)
        error("it can be read once", "run", PICTURES, "cut", "-", "-", code=2)
        error("run classify: takes no --temp", "run", PICTURES, "cut", "colour.png", "--temp", "1", code=2)
        error("nowhere.png: No such file", "run", PICTURES, "cut", "nowhere.png", code=3)
        error("standard input: it is not a picture", "run", PICTURES, "cut", "-", text="hello")
        error("few has 2 labels, one per line, but the model has 3 classes", "run", PICTURES, "few", "colour.png")
        error("id2label has no text for class 1", "run", PICTURES, "lacking", "colour.png")
        error("nowhere: No such file", "run", PICTURES, "nowhere", "colour.png", code=3)
        error("its scores have no softmax", "run", PICTURES, "lost", "colour.png")
        error("expected an input of reals [channels, height, width], and scale is []", "eval", PICTURES, "two", "-I", "scale=colour.png")
        error("cut has no loop clasify; did you mean classify?", "run", PICTURES, "cut", "colour.png", "--loop", "clasify", code=2)

    @check("errors in picture loops that do not match the model")
    def _():
        error("requires stretched of at least 20, as long as the input's sides, not 19", "check", PICTURES, "too_small")
        error("requires shortest_edge or stretched, but not both", "check", PICTURES, "too_many")

    # --- embed and fill ---

    GIVEN = ["-I", "keep=1", "-I", "token_types=0"]

    def hidden(tokens, output):
        return evaluated(TEXTS, "base", *GIVEN, "-p", tokens, "--output", output)[output]

    def embedded(m, *texts, **more):
        return [json.loads(line) for line in lathe("run", TEXTS, m, *texts, **more).splitlines()]

    A, B = "1 5 9 2", "3 7 4 11 23 2 8"

    @check("a vector that the model gives")
    def _():
        same(embedded("sentence", A, B), [hidden(A, "sentence"), hidden(B, "sentence")])
        same(embedded("sentence", "-", text=f"{A}\n{B}"), embedded("sentence", A, B))
        same(embedded("sentence", "-p", A), embedded("sentence", A))

    @check("classes of a decoder")
    def _():
        def likely(m, tokens):
            return sorted(float(line.split()[0]) for line in lathe("run", TEXTS, m, tokens).splitlines())

        for m in ("judged", "filled_up"):
            near(likely(m, A), sorted(softmax(evaluated(TEXTS, m, "-p", A, "--output", "scores")["scores"])), 1e-4)
        scores = [evaluated(TEXTS, "filled_up", "-p", tokens, "--output", "scores")["scores"] for tokens in (A, A + " 7 7", "7 " + A, "7 7 7", "7")]
        same(scores[0], scores[1])
        same(scores[3], scores[4])
        same(scores[0] == scores[2], False)
        same(evaluated(TEXTS, "judged", "-p", A + " 7", "--output", "scores")["scores"] == scores[0], False)
        same(evaluated(TEXTS, "judged", "-p", A, "--output", "scores")["scores"], scores[0])

    @check("texts from a file")
    def _():
        write("texts.txt", f"{A}\n{B}\n")
        right = lathe("run", TEXTS, "sentence", A, B)
        same(lathe("run", TEXTS, "sentence", "@texts.txt"), right)
        same(lathe("run", TEXTS, "sentence", "@-", text=f"{A}\n{B}\n".encode()), right)
        same(lathe("run", TEXTS, "sentence", A, "@texts.txt", B), lathe("run", TEXTS, "sentence", A, A, B, B))
        write("texts.txt", f"{A}\n{'7 ' * 99}\n{B}\n")
        code, out, err = run_words("run", TEXTS, "-m", "sentence", "@texts.txt")
        same((code, out.splitlines()), (1, [*right.splitlines()[:1], "null", *right.splitlines()[1:]]))
        same("lathe run: texts.txt, line 2: the text has 99 tokens" in err, True)
        error("@alice says: No such file or directory; @FILE stands for the lines of a file; a text that begins with @ is passed by -p",
              "run", TEXTS, "sentence", "@alice says", code=3)

    @check("the mean, the first, of length 1")
    def _():
        rows = hidden(B, "hidden")
        mean = [sum(column) / len(rows) for column in zip(*rows)]
        near(embedded("averaged", B)[0], mean)
        same(embedded("first", B)[0], rows[0])
        near(embedded("unit", B)[0], [v / math.sqrt(sum(w * w for w in mean)) for v in mean])

    @check("texts of the maximum length, and texts that the loop truncates")
    def _():
        whole = " ".join(str(i % 60) for i in range(32))
        rows = hidden(whole, "hidden")
        near(embedded("averaged", whole)[0], [sum(column) / 32 for column in zip(*rows)])
        same(embedded("four", A, f"{A} 7", B), embedded("averaged", A, A, B.rsplit(" ", 3)[0]))
        same(embedded("beyond", f"{whole} 7"), embedded("averaged", whole))
        same(embedded("one", "1", "1 5"), embedded("averaged", "1", "1"))

    @check("vectors in a file")
    def _():
        lathe("run", TEXTS, "averaged", A, B, "-o", "out.npy")
        data = open(f"{work}/out.npy", "rb").read()
        length = struct.unpack_from("<H", data, 8)[0]
        assert b"'shape': (2, 8)" in data[:10 + length], data[:10 + length]
        same([struct.unpack("<f", struct.pack("<f", v))[0] for v in flat(embedded("averaged", A, B))],
             [v for v, in struct.iter_unpack("<f", data[10 + length:])])

    @check("cosines")
    def _():
        x, y = embedded("averaged", A, B)
        cos = sum(a * b for a, b in zip(x, y)) / math.sqrt(sum(a * a for a in x) * sum(b * b for b in y))
        same(lathe("run", TEXTS, "averaged", A, B, "--similar"), f"{1:8.4f}{cos:8.4f}  {A}\n{cos:8.4f}{1:8.4f}  {B}\n")

    @check("the likeliest tokens for each mask")
    def _():
        logits = hidden(B, "logits")
        found = json.loads(lathe("run", TEXTS, "filled", B, "--json", "--top", "60"))
        same((found["text"], found["mask"], found["position"]), (B, 1, 1))
        near([t["probability"] for t in sorted(found["tokens"], key=lambda t: t["token"])], softmax(logits[1]))
        top = sorted(range(60), key=lambda i: -logits[1][i])[:5]
        same(lathe("run", TEXTS, "filled", B), "".join(f"{softmax(logits[1])[i]:8.4f}  {i}\n" for i in top))
        two = lathe("run", TEXTS, "filled", "7 3 7", "--top", "1").splitlines()
        same([two[0], two[2]], ["7 3 7, mask 1", "7 3 7, mask 2"])

    @check("texts by a tokenizer, masks by their name")
    def _():
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "paris", "the", "is", "[MASK]", "\\"] + [f"word{i}" for i in range(51)]
        with open(f"{work}/vocab.txt", "w") as f:
            f.write("\n".join(words) + "\n")
        tokenizer = ["--tokenizer", "vocab.txt"]
        text, tokens = "The [MASK] is Paris", "2 5 7 6 4 3"
        logits = hidden(tokens, "logits")[2]
        top = sorted(range(60), key=lambda i: -logits[i])
        lines = [line.split() for line in lathe("run", TEXTS, "filled", text, *tokenizer, "--top", "60").splitlines()]
        same([line[1:] for line in lines], [[str(i), words[i]] for i in top])
        found = json.loads(lathe("run", TEXTS, "filled", text, *tokenizer, "--top", "60", "--json"))
        same([t["text"] for t in found["tokens"]], [words[i] for i in top])
        same(embedded("sentence", text.replace("[MASK]", "word0"), *tokenizer), [hidden("2 5 9 6 4 3", "sentence")])
        error('"the is" has no mask: it must contain token 7, [MASK]', "run", TEXTS, "filled", "the is", *tokenizer)

    @check("the last loop, or the one that is named")
    def _():
        same(lathe("run", TEXTS, "both", B), lathe("run", TEXTS, "filled", B))
        same(lathe("run", TEXTS, "both", B, "--loop", "embed"), lathe("run", TEXTS, "sentence", B))

    @check("errors in texts and loops")
    def _():
        error('"1 2 3" has no mask: it must contain token 7', "run", TEXTS, "filled", "1 2 3")
        error("tokens[1] is 60: it must be 0 to 59", "run", TEXTS, "filled", "7 60")
        error("text 1: the text has 33 tokens, and the model takes at most 32", "run", TEXTS, "filled", "7 " * 33)
        error("loop embed requires texts after the model", "run", TEXTS, "sentence", code=2)
        error("the input token_types [time] is not given", "run", TEXTS, "unfilled", A)
        error("vectors are written to a file", "run", TEXTS, "sentence", A, "-o", "-", code=2)
        error("--similar has no effect with -o", "run", TEXTS, "sentence", A, "-o", "x.npy", "--similar", code=2)
        error("line 1: the line has a byte 0", "run", TEXTS, "sentence", "-", text="1 2\0 3\n")
        error("loop fill requires a mask: the id of the token", "check", TEXTS, "no_mask")
        error("the mask of loop fill is token 60, and mask_out has tokens 0 to 59", "run", TEXTS, "mask_out", "1 2")
        error("loop fill requires no value of tokens, which is the input of its data", "check", TEXTS, "own_input")
        error("loop embed requires the output sentense, and no_output has none of that name; did you mean sentence?", "check", TEXTS, "no_output")
        error("loop embed requires an output of a vector, reals [width], and hidden is [time, 8]", "check", TEXTS, "other_output")
        error("loop fill requires an output of logits, reals [time, 60], and no_logits has none", "check", TEXTS, "no_logits")
        lathe("check", TEXTS, "without")
        error("loop fill requires an output of logits, reals [time, 60], and without has none", "run", TEXTS, "without", "7")
        error("loop embed requires an input of token ids [time], and no_ids has none", "check", TEXTS, "no_ids")
sys.exit(failed > 0)
