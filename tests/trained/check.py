"""The small trained models, through lathe and through emitted C: each answer is the one that PyTorch gave (record.py).

    check.py DRIVER            prints ok NAME, or FAIL NAME and why

In the quick form 80 of the 1,000 questions are asked in C, in the full one all of them.  A few go through `lathe run`."""
import array
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "models")
driver, failed = os.path.abspath(sys.argv[1]), 0
asked = 80 if os.environ.get("LATHE_TESTS") == "quick" else 1000
CC = os.environ.get("CC", "cc").split() + ["-std=c11", "-O2", "-march=native", "-Wall", "-Wextra", "-Werror"]
COSINE, PIXEL = 2e-4, 1  # how far a cosine, and a pixel of 0 to 255, may be from PyTorch's


def verdict(name, wrong):
    """wrong: why it failed, or nothing"""
    global failed
    print("FAIL trained %s: %s" % (name, wrong) if wrong else "ok trained " + name, flush=True)
    failed |= bool(wrong)


def call(*command, text=""):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError("%s: exit status %d: %s" % (" ".join(command), done.returncode, (done.stderr + done.stdout)[-2000:]))
    return done.stdout


def of(name, tokenizer=True):
    """The model's file and options."""
    folder = os.path.join(MODELS, name)
    given = [folder + ".model", "--weights", os.path.join(folder, name + ".safetensors")]
    return given + (["--tokenizer", os.path.join(folder, "tokenizer.json")] if tokenizer else [])


def answers(name):
    with open(os.path.join(HERE, name + ".answers")) as file:
        return file.read().splitlines()


def check_values(name):
    """In double precision, by the interpreter, to 1e-9; and compiled for this machine."""
    try:
        call(driver, "verify", *of(name, False), "--against", os.path.join(HERE, name + ".safetensors"), "--target", "native")
    except RuntimeError as error:
        return verdict(name + ", values", error)
    verdict(name + ", values", None)


def first_wrong(questions, found, expected, fits=lambda a, b: a == b):
    if len(found) != len(expected):
        return "%d answers, not %d" % (len(found), len(expected))
    wrong = [i for i in range(len(found)) if not fits(found[i], expected[i])]
    return wrong and "%d of %d, first %s: %s, not %s" % (
        len(wrong), len(found), *[repr(v[wrong[0]]) for v in (questions, found, expected)])


def build_ask(given, *macros):
    call(driver, "build", *given, "--loops", "--prefix", "subject", "-o", "subject.c")
    call(*CC, *macros, "-I.", os.path.join(HERE, "ask.c"), "subject.c", "-lpthread", "-lm", "-o", "ask")


def in_c(name, *macros):
    """The answers of emitted C to the first questions."""
    build_ask(of(name), *macros)
    lines = [line.split("\t") for line in answers(name)[:asked]]
    questions = [line[0] for line in lines]
    return questions, call("./ask", "subject.weights", text="\n".join(questions) + "\n").splitlines(), [line[1] for line in lines]


def check_texts(name, *macros):
    questions, found, expected = in_c(name, *macros)
    verdict(name + ", in C", first_wrong(questions, found, expected))
    some = range(0, 3)
    found = [call(driver, "run", *of(name), "-p", questions[i]) for i in some]
    verdict(name + ", lathe run", first_wrong(questions, found, [expected[i] for i in some]))


def fits(found, expected):
    (label, cosine), (wanted, near) = found.split(), expected.split()
    return label == wanted and abs(float(cosine) - float(near)) <= COSINE


def check_topics():
    questions, found, expected = in_c("topics", "-DLABELS")
    verdict("topics, in C", first_wrong(questions, found, expected, fits))
    some = json.loads(call(driver, "eval", *of("topics"), "-p", questions[0], "-I", "keep=1", "--output", "scores", "--json"))
    best = str(some["scores"].index(max(some["scores"])))
    verdict("topics, lathe eval", first_wrong(questions, [best], [expected[0].split()[0]]))


def named_in_c(path):
    """What emitted C names the pictures of a file [n, 1, 32, 32] of floats of 16 or 32 bits."""
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + int.from_bytes(data[8:10], "little")
    values = array.array("f", data[begin:] if b"<f4" in data[:begin] else [x for x, in struct.iter_unpack("<e", data[begin:])])
    done = subprocess.run(["./ask", "subject.weights"], input=values.tobytes(), capture_output=True)
    return [int(line) for line in done.stdout.split()]


def named(path):
    """What lathe eval names them."""
    logits = json.loads(call(driver, "eval", *of("doodles", False), "-I", "pixels=" + path, "--output", "logits", "--json"))["logits"]
    return [row.index(max(row)) for row in logits]


def check_doodles():
    kept, fresh = [list(map(int, line.split())) for line in answers("doodles")]
    pictures = os.path.join(MODELS, "doodles", "pictures.npy")
    build_ask(of("doodles", False), "-DPICTURES")
    verdict("doodles, kept pictures, in C", first_wrong(range(len(kept)), named_in_c(pictures), kept))
    verdict("doodles, kept pictures, lathe eval", first_wrong(range(len(kept)), named(pictures), kept))
    if asked < len(fresh):
        return
    try:
        import numpy as np
    except ImportError:
        print("skip trained doodles, fresh pictures: no numpy")
        return
    sys.path.insert(0, os.path.join(MODELS, "doodles"))
    import shapes
    np.save("fresh.npy", shapes.held_out(len(fresh), 12)[0][:, None].astype(np.float32))
    verdict("doodles, fresh pictures, in C", first_wrong(range(len(fresh)), named_in_c("fresh.npy"), fresh))


def check_sketch():
    for name in ("sketch", "doodles"):
        call(driver, "build", *of(name, False), "--loops", "-o", name + ".c")
    paint = os.path.join(MODELS, "sketch", "paint.c")
    call(*CC, "-Wconversion", "-I.", paint, "sketch.c", "doodles.c", "-lpthread", "-o", "paint")
    wanted = [list(map(int, line.split())) for line in answers("sketch")]
    said = call("./paint", "sketch.weights", "doodles.weights", "1", "--pixels").splitlines()
    drawn, names = [list(map(int, line.split())) for line in said[::2]], [line[2:line.index(":")] for line in said[1::2]]
    near = lambda a, b: len(a) == len(b) and all(abs(x - y) <= PIXEL for x, y in zip(a, b))
    verdict("sketch, in C", first_wrong(names, drawn, wanted, near))
    right = sum(line == "# %s: doodles says %s" % (name, name) for name, line in zip(names, said[1::2]))
    verdict("sketch, named by doodles", None if right == len(names) else "%d of %d" % (right, len(names)))


def check_fable():
    lines = [line.split("\t") for line in answers("fable")]
    starts, expected = [line[0] for line in lines], [line[1] for line in lines]
    model = of("fable", False)
    found = [call(driver, "run", *model, "-p", start, "-n", "60").strip() for start in starts]
    verdict("fable, lathe run", first_wrong(starts, found, expected))
    call(driver, "build", *model, "--main", "--rewind", "5", "-o", "fable.c")
    call(*CC, "fable.c", "-lpthread", "-o", "fable")
    for more in [], ["--draft", "5"], ["--threads", "2", "--chunk", "3"]:
        found = [call("./fable", "-p", start, "-n", "60", *more).strip() for start in starts]
        verdict(" ".join(["fable, in C", *more]), first_wrong(starts, found, expected))


def check_fable_mtp():
    """The text is fable's, and a call of fable gives at least 1.6 tokens of it: the tales are new to both."""
    lines = [line.split("\t") for line in answers("fable")]
    head = ["--draft", os.path.join(MODELS, "fable_mtp.model"), "--draft-weights", os.path.join(MODELS, "fable_mtp", "fable_mtp.safetensors")]
    for most, least in ("1", 1.6), ("3", 1.9), ("5", 1.9):
        texts, tokens, calls = [], 0, 0
        for start, _ in lines:
            done = subprocess.run([driver, "run", *of("fable", False), "-p", start, "-n", "60", "-v", *head, "--drafts", most],
                                  capture_output=True, text=True)
            counts = re.search(r"(\d+) tokens more: .*; (\d+) were drafted, (\d+) of them accepted", done.stderr)
            if done.returncode or not counts:
                raise RuntimeError("fable_mtp: " + done.stderr[-2000:])
            texts.append(done.stdout.strip())
            tokens, calls = tokens + int(counts[1]) + 1, calls + int(counts[1]) + 1 - int(counts[3])
        wrong = first_wrong([line[0] for line in lines], texts, [line[1] for line in lines])
        verdict("fable_mtp, %s drafts" % most, wrong or tokens < least * calls and "%d tokens in %d calls" % (tokens, calls))


def main():
    work = tempfile.mkdtemp()
    try:
        os.chdir(work)
        for name, check in [("adder", lambda: check_texts("adder")), ("numerals", lambda: check_texts("numerals", "-DREADS")),
                            ("topics", check_topics), ("doodles", check_doodles), ("sketch", check_sketch), ("fable", check_fable),
                            ("fable_mtp", check_fable_mtp)]:
            try:
                check_values(name)
                check()
            except (OSError, RuntimeError, ValueError) as error:
                verdict(name, error)
    finally:
        os.chdir("/")
        shutil.rmtree(work)
    return failed


sys.exit(main())
