#!/usr/bin/env python3
"""Golden files edited by hand: every field that a golden states is checked, and the check names it.

    tests/golden/edited.py DRIVER

Prints `ok` and `FAIL` lines.  A golden is recorded, one field of its text is replaced, and `lathe golden check` has to fail with a
message about that field.  The unedited file, and one whose lines end as on Windows, have to pass."""

import json
import os
import re
import struct
import subprocess
import sys
import tempfile

DRIVER = os.path.abspath(sys.argv[1])
TALE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "tale")
failed = False

MODEL = """import decoder
model m : decoder {
    layers 2  heads 2  d_model WIDTH  d_ff 32  vocab VOCAB  context 64
    mask causal
}
model plain : decoder { layers 1  heads 1  d_model 8  d_ff 8  vocab 9  context 16  mask causal }
"""


def lathe(*words):
    run = subprocess.run([DRIVER, *words], capture_output=True, text=True, errors="replace")
    return run.returncode, run.stdout + run.stderr


def verdict(name, good, said=""):
    global failed
    print("ok" if good else "FAIL", "golden", name)
    if not good:
        failed = True
        print("".join("     " + line + "\n" for line in said.splitlines()[:12]), end="")


def check(text, *options):
    with open("edited.golden", "w", encoding="utf-8", newline="") as f:
        f.write(text)
    return lathe("golden", "check", "edited.golden", "--jit", "tcc", "--target", "scalar", *options)


def passes(name, text, *options):
    status, said = check(text, *options)
    verdict(name, status == 0, said)


def edited(name, text, pattern, to, message, *options):
    """One match of the pattern replaced: the check fails and says the message."""
    new, count = re.subn(pattern, to, text, count=1, flags=re.M)
    if count != 1 or new == text:
        verdict(f"edited: {name}", False, f"the edit does not fit: {pattern}")
        return
    status, said = check(new, *options)
    verdict(f"edited: {name}", status == 1 and re.search(message, said, re.M) is not None, said)


def record(name, *words, model="m"):
    status, said = lathe("golden", "record", "m.model", "-m", model, "-o", name, *words)
    if status:
        verdict(f"recording {name}", False, said)
        sys.exit(1)
    with open(name, encoding="utf-8", newline="") as f:
        return f.read()


def other_digit(match):
    """The first digit of group 2 becomes another."""
    digits = match.group(2)
    return match.group(1) + ("1" if digits[0] != "1" else "2") + digits[1:]


def last_digit(match):
    return match.group(1) + ("4" if match.group(0)[-1] != "4" else "5")


def values(text):
    """The fields of taps and outputs, to the bit."""
    for what, line in (("a tap", r"^layer\[1\]\.ffn .*"), ("an output", "^logits .*")):
        head = line[:-2] + r".*"
        edited(f"hash of {what}", text, f"({head} 0x)([0-9a-f])", other_digit, "the hash was 0x")
        edited(f"norm of {what}", text, f"({head} norm )(\\d)", other_digit, r"\]: norm is recorded as")
        edited(f"norm of {what}, last digit", text, f"({head} norm [0-9.]*?)\\d(?= first)", last_digit, r"\]: norm is (recorded|spelled)")
        edited(f"norm of {what}, a digit more", text, f"({head} norm [0-9.]+)", r"\g<1>1", r"\]: norm is (recorded|spelled)")
        for end in ("first", "last"):
            for k in range(3):
                edited(f"{end} value {k} of {what}", text, f"({head} {end}(?: [-0-9.e]+){{{k}}} -?)(\\d)", other_digit, f"{end} value {k} is recorded as")
            edited(f"{end} values of {what}, digits more", text, f"({head} {end} -?[0-9]+\\.[0-9]+)", r"\g<1>0001", f"{end} (value 0 is recorded|is spelled)")
        edited(f"sign of a value of {what}", text, f"({head} last (?:-?[0-9.]+ )*)(-)", r"\1", "last value . is recorded as")
        edited(f"name of {what}", text, line[:-3] + r"(?= \[)", "other", "in its place")
        edited(f"shape of {what}", text, f"({head}\\[)(3, )", r"\g<1>4, ", "in its place")
        edited(f"{what} with fewer values", text, f"({head}) first (\\S+) \\S+( .*) last (\\S+) \\S+", r"\1 first \2\3 last \4", "2 first and last values are recorded")
        edited(f"{what} with a value more", text, f"({head})$", r"\1 7", ":[0-9]+: error: unexpected 7 at the end of the line")
        edited(f"no {what}", text, line + r"\n", "", "(values were recorded|in its place|kept has 111 values)")
    edited("a norm that is none", text, "^(logits .* norm )\\S+", r"\1inf", "error: norm is a finite number")
    edited("a norm below 0", text, "^(logits .* norm )", r"\1-", "error: norm is a finite number")
    edited("a value beyond floats", text, "^(logits .* first )\\S+", r"\g<1>1e39", "error: first: 1e39 is beyond")


def kept(text):
    edited("kept value 0", text, "^(kept 1 .)(.)", other_digit, r"\]: kept value 0 was")
    edited("kept value in the middle", text, "^(kept 1 .{95})([0-9A-F])(?=.{8})", other_digit, r"\]: kept value 11 was")
    edited("last bit of the last kept value", text, "^(kept 1 .*)[0-9A-F]$", last_digit, r"\]: kept value 110 was")
    edited("kept values in small letters", text, "^kept 1 .*", lambda m: m.group(0).lower(), "error: expected 8 hexadecimal digits")
    edited("kept values fewer", text, "^(kept 1 .*).{8}$", r"\1", r"\]: kept has 110 values")
    edited("how many are kept", text, "^kept 1", "kept 2", r"\]: kept has 111 values, one of 2")
    edited("kept line gone", text, "^kept .*\n", "", r"\]: kept has 0 values")
    edited("kept of a tap", text, r"^(layer\[0\]\.x .*\n)", r"\1kept 1 00000000\n", r"layer\[0\]\.x.*: kept has 1 values")
    edited("a word after kept", text, "^(kept .*)", r"\1 7", "error: unexpected 7 at the end of the line")
    edited("keep", text, "^keep .*", "keep 50", r"\]: kept has 111 values")
    edited("likeliest token 0", text, "^(likeliest )(\\d)", other_digit, r"\]: likeliest token 0 was")
    edited("likeliest token 2", text, "^(likeliest \\d+ \\d+ )(\\d)", other_digit, r"\]: likeliest token 2 was")
    edited("likeliest, part of a token", text, "^(likeliest \\d+)", r"\1.5", "error: expected whole numbers")
    edited("likeliest tokens more", text, "^(likeliest .*)", r"\1 3", r"\]: likeliest has 4 tokens")
    edited("likeliest line gone", text, "^likeliest .*\n", "", r"\]: likeliest has 0 tokens")


def texts(text):
    edited("text", text, '^(text "(?:.*?))([a-z0-9])', lambda m: m.group(1) + ("b" if m.group(2) != "b" else "c"), "the text was")
    edited("text, a letter more", text, '^(text ".*)"', r'\1x"', "(the pieces are not as long|the text was)")
    edited("text and pieces gone", text, "^text .*\npieces .*\n", "", "the text was not recorded")
    edited("text twice", text, "^(text .*\n)", r"\1\1", "error: text is given twice")
    edited("text without its end", text, '^(text .*)"$', r"\1", "error: text is a text in double quotes")
    edited("pieces", text, "^pieces (\\d+) (\\d+)", lambda m: f"pieces {int(m.group(1)) - 1} {int(m.group(2)) + 1}", "pieces are not those")
    edited("pieces, another sum", text, "^pieces \\d+", lambda m: m.group(0) + "0", "error: the pieces are not as long")
    edited("pieces gone", text, "^pieces .*\n", "", "pieces are not those")
    edited("steps", text, "^steps .*", "steps 3", "the text was")
    edited("steps gone", text, "^steps .*\n", "", "the text was")


def head(text):
    for name, number in (("layers", "3"), ("eps", "1e-06"), ("tied", "false")):
        edited(f"hyper {name}", text, f"^(hyper .*{name} )[^;\n]*", rf"\g<1>{number}", f"^     {name} was {number}, is ")
    edited("a hyperparameter gone", text, "^(hyper .*)eps [^;]*; ", r"\1", "^     hyper was ")
    edited("a hyperparameter of a longer name", text, "^hyper ", "hyper layers_more 3; ", r"\A(?![^$]*layers was)[^$]*^     hyper was ")
    edited("a hyperparameter more", text, "^(hyper .*)$", r"\1; colour 3", "^     hyper was ")
    edited("hyperparameters in another order", text, "^hyper (.*?; )(.*?; )", r"hyper \2\1", "^     hyper was ")
    edited("spec", text, "^(spec 0x)(.)", other_digit, r"recorded one \(spec\)$")
    edited("spec gone", text, "^spec .*\n", "", r"recorded one \(spec\)$")
    edited("a word after spec", text, "^(spec .*)", r"\1 7", "error: unexpected 7 at the end of the line")
    edited("hash of the weights", text, "^(weights .* 0x)(.)", other_digit, "differs from the recorded one")
    edited("weights by hash", text, "^weights .*", "weights by hash", "is the first that differs")
    edited("another setting", text, "^set eps .*", "set eps 1e-3", "is the first that differs")
    edited("a setting gone", text, "^set eps .*\n", "", "is the first that differs")
    edited("another model", text, "^(model .*) m$", r"\1 plain", "(in its place|weights)")
    edited("another prompt", text, "^prompt ..", "prompt 34", "is the first that differs")
    edited("a tap gone", text, r"^tap layer\[i\]\.ffn\n", "", "in its place")
    edited("a tap more", text, r"^(tap .*\n)\n", r"\1tap layer[i].attn.q\n\n", "(in its place|values were recorded)")
    for key in ("model", "hyper", "weights", "spec", "prompt", "steps", "keep"):
        edited(f"{key} twice", text, f"^({key} .*\n)", r"\1\1", f"error: {key} is given twice")
    edited("a byte 0", text, "^spec", "# \0\nspec", "error: it has a byte 0")
    edited("a value twice", text, r"^(layer\[1\]\.ffn .*\n)", r"\1\1", "in its place")


def storages(text):
    edited("quant", text, "^quant .*", "quant q4_0", "is the first that differs")
    edited("quant gone", text, "^quant .*\n", "", "is the first that differs")
    edited("kv", text, "^kv .*", "kv q8", "is the first that differs")
    edited("kv gone", text, "^kv .*\n", "", "is the first that differs")
    edited("hash of calibrate", text, "^(calibrate .* 0x)(.)", other_digit, "differs from the recorded one")
    edited("hash of the tokenizer", text, "^(tokenizer .* 0x)(.)", other_digit, "differs from the recorded one")


def bounds(text):
    """By a bound everything but hashes, texts and what the values are of is checked, each field for itself."""
    bound = ("--bound", "1e-3")
    passes("a bound, unedited", text, *bound)
    for what in (r"layer\[1\]\.ffn", "logits"):
        for end in ("first", "last"):
            for k in range(3):
                edited(f"{end} value {k} of {what}, by a bound", text, f"^({what} .* {end}(?: [-0-9.e]+){{{k}}} -?)(\\d)", other_digit,
                       f"first that differs by more than 0.001\n.*{end} value {k} was", *bound)
        edited(f"norm of {what}, by a bound", text, f"^({what} .* norm )(\\d)", other_digit, "more than 0.001\n.*the norm was", *bound)
    edited("kept value, by a bound", text, "^(kept 1 .{95}[0-9A-F])([0-9A-F])", other_digit, r"\]: kept value \d+ was", *bound)
    edited("likeliest, by a bound", text, "^(likeliest \\d+ )(\\d)", other_digit, r"\]: likeliest token 1 was", *bound)
    edited("likeliest beyond the vocabulary, by a bound", text, "^(likeliest )\\d+", r"\g<1>99999", r"\]: likeliest token 0 was", *bound)
    edited("hyper, by a bound", text, "^(hyper .*eps )[^;\n]*", r"\g<1>1e-06", "^     eps was 1e-06, is 2e-05", *bound)


REPORTED = """model r { time : upto(8);  input x : real[time, 4];  output y = 2 * x }
model of_classes { input x : real[1, 1, 5];  z = reshape(x, [5]);  output logits = 2 * z + 0 * z;  loop classify { } }
"""


def reports(name, text, edits, *lines):
    """All edits are made, and the check says each of these lines."""
    for pattern, to in edits:
        text, count = re.subn(pattern, to, text, count=1, flags=re.M)
        if count != 1:
            verdict(f"report: {name}", False, f"the edit does not fit: {pattern}")
            return
    status, said = check(text)
    verdict(f"report: {name}", status == 1 and set(lines) <= set(said.splitlines()), said)


def inputs(path, shape, numbers):
    header = json.dumps({"x": {"dtype": "F32", "shape": shape, "data_offsets": [0, 4 * len(numbers)]}}).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(header)) + header + struct.pack(f"<{len(numbers)}f", *numbers))


def bits(x):
    return f"{struct.unpack('<I', struct.pack('<f', x))[0]:08X}"


def reported():
    """How large a change is, where, and of which token."""
    with open("m.model", "a", encoding="utf-8") as f:
        f.write(REPORTED)
    inputs("x.safetensors", [3, 4], [0.5, 1, 0, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, -6])
    text = record("r.golden", "--inputs", "x.safetensors", model="r")
    other = (r"^(y .* 0x)(.)", other_digit)
    for units, said in ((100, "100 units in the last place apart"), (101, "a change of 0.0012 %")):
        was = f"{1 + units * 2**-23:.9g}"
        reports(f"{units} units", text, [other, ("first 1 ", f"first {was} ")], f"     first value 0 was {was}, is 1: {said}")
    reports("of 0", text, [other, ("first 1 2 0", "first 1 2 3")], "     first value 2 was 3, is 0: a change of 100 %")
    reports("to 0", text, [other, ("last 10 11 -12", "last 10 11 0")], "     last value 2 was 0, is -12")
    kept = "".join(bits(x) for x in range(5, 9))
    reports("an infinity among larger numbers", text, [other, (kept, bits(float("inf")) + kept[8:24] + bits(1000))],
            "     y: 2 of 12 values changed, most at [1, 0]: inf -> 5")
    reports("the largest change", text, [other, (kept, kept[:8] + bits(6.25) + bits(6.5) + bits(7.5))],
            "     y: 3 of 12 values changed, most at [1, 2]: 6.5 -> 7, 4.2 % of the largest value, 12")
    text = record("k.golden", "--inputs", "x.safetensors", "--keep", "5", model="r")
    reports("one value of three is kept", text, [other, (f"^kept 3 {bits(1)}{bits(4)}{bits(7)}", f"kept 3 {bits(1)}{bits(4)}{bits(9)}")],
            "     y: 1 of 4 values that are kept changed, most at [1, 2]: 9 -> 7, 20 % of the largest value, 10")
    inputs("c.safetensors", [1, 1, 5], [float("-inf"), 1, 4, 4, 2])
    text = record("c.golden", "--inputs", "c.safetensors", model="of_classes")
    reports("another class", text, [(r"^(logits .* 0x)(.)", other_digit), ("^likeliest 2$", "likeliest 0")], "     logits: the likeliest was 0, is 2")


def ends(text):
    """The first token that differs, and what fits into a context of 64."""
    numbers = re.search('^text "(.*)"', text, re.M)[1].split()
    before = " ".join(numbers[:2]) + " "
    reports("a token", text, [(f'^text "{before}\\d', f'text "{before}x')], " " * (19 + len(before)) + "^ token 2 is the first that differs")
    for n, made in ((62, 3), (64, 1)):
        longer = record("long.golden", "-p", "1 " * n, "-n", "5")
        verdict(f"{made} tokens after {n}", len(re.search("^pieces (.*)", longer, re.M)[1].split()) == made, longer[:200])
    status, said = lathe("golden", "check", "long.golden", "--target", "scalar")
    verdict("the last token, also ahead of time", status == 0, said)
    status, said = lathe("golden", "record", "m.model", "-m", "m", "-o", "longer.golden", "-p", "1 " * 65)
    verdict("a prompt that is longer than the context", status == 1 and "the prompt is longer than the context" in said, said)


def main():
    with open("m.model", "w", encoding="utf-8") as f:
        f.write(MODEL.replace("VOCAB", "37").replace("WIDTH", "16"))
    lathe("weights", "m.model", "-m", "m", "-o", "w.safetensors")
    with open("w.safetensors", "r+b") as f:  # the lowest bits of the last weight: others than those by hash
        f.seek(-4, os.SEEK_END)
        f.write(b"\1\1")
    text = record("m.golden", "-D", "eps=2e-5", "--weights", "w.safetensors", "-p", "3 1 4", "-n", "5")
    passes("unedited", text)
    passes("lines that end in carriage returns", text.replace("\n", "\r\n"))
    passes("a mark of UTF-8", "\ufeff" + text)
    passes("a comment", text.replace("\nspec", "\n# by hand\nspec"))
    values(text)
    kept(text)
    texts(text)
    head(text)
    bounds(text)
    ends(text)
    reported()
    with open("m.model", "w", encoding="utf-8") as f:
        f.write(MODEL.replace("VOCAB", "512").replace("WIDTH", "32"))
    with open("calibrate.txt", "w", encoding="utf-8") as f:
        f.write("Once upon a time there was a little girl. She lived in a small house by the sea.\n" * 4)
    text = record("n.golden", "--tokenizer", os.path.join(TALE, "tokenizer.bin"), "--quant", "q8_0", "--kv", "f16", "-p", "Nora was", "-n", "4",
                  "--calibrate", "calibrate.txt")
    passes("narrow, unedited", text)
    storages(text)
    numbers = {"tokens": [3, 1, 4]}
    header = json.dumps({name: {"dtype": "I32", "shape": [len(v)], "data_offsets": [0, 4 * len(v)]} for name, v in numbers.items()}).encode()
    with open("i.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(header)) + header + struct.pack("<3i", *numbers["tokens"]))
    text = record("i.golden", "--inputs", "i.safetensors")
    passes("inputs, unedited", text)
    edited("hash of inputs", text, "^(inputs .* 0x)(.)", other_digit, "differs from the recorded one")
    edited("inputs gone", text, "^inputs .*\n", "", "in its place")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
sys.exit(failed)
