#!/usr/bin/env python3
"""What reaches a terminal: no control character but newline and tab, of lathe and of programs that it wrote; files and pipes get the bytes.

    tests/terminal/terminal.py DRIVER

Programs run on a pty.  The texts are hostile: OSC 52, which writes to the clipboard, colours, DEL, and C1 as a byte and as UTF-8, split
over tokens."""

import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import tty

DRIVER = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CC = os.environ.get("CC", "cc").split()
EVIL = "a\x1b]52;c;aGk=\x07b\x9bc\x7fd\te"
SHOWN = "a\\x1b]52;c;aGk=\\x07b\\x9bc\\x7fd\te"
failed = False


def verdict(name, good, *said):
    global failed
    print("ok" if good else "FAIL", "terminal", name)
    if not good:
        failed = True
        for text in said:
            print("     " + repr(text)[:1200])


def shown(data):
    """The same rule, written once more: characters of UTF-8 whole, all other bytes alone."""
    out = []
    for char in data.decode("utf-8", "surrogateescape"):
        code = ord(char)
        code = code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code if code < 0x80 or 0x80 <= code < 0xA0 else None
        if code is not None and (code < 32 and char not in "\n\t" or 0x7F <= code < 0xA0):
            out.append("\\x%02x" % code)
        else:
            out.append(char)
    return "".join(out).encode("utf-8", "surrogateescape")


def on_terminal(*argv, env=None):
    """All that the program prints, standard output and standard error on one terminal, which changes no byte."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env={**os.environ, "NO_COLOR": "1", **(env or {})})
    os.close(slave)
    said = b""
    while select.select([master], [], [], 60)[0]:
        try:
            part = os.read(master, 1 << 16)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(master)
    process.wait()
    return said


def piped(*argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout


def guarded(name, said, *wanted):
    """Nothing in it commands a terminal, and the texts wanted are in it."""
    verdict(name, said == shown(said) and all(w.encode("utf-8", "surrogateescape") in said for w in wanted), said, wanted)


def write(path, data):
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def the_rule():
    """Any bytes in any parts."""
    write("rule.c", """
#include "terminal.h"
int main(void)
{
        static char in[1 << 16], out[4 * (1 << 16) + 64];
        const size_t n = fread(in, 1, sizeof in, stdin);
        for (size_t part = 1; part < 9; part++) {
                TerminalText t = {{0}, 0};
                size_t to = 0;
                for (size_t at = 0; at < n; at += part)
                        to += terminal_text(&t, in + at, n - at < part ? n - at : part, out + to);
                to += terminal_settle(&t, 1, out + to);
                fwrite(out, 1, to, stdout);
                putchar(0);
        }
        return 0;
}
""")
    built = subprocess.run([*CC, "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(ROOT, "runtime"), "-o", "rule", "rule.c"],
                           capture_output=True, check=False)
    verdict("the rule builds", built.returncode == 0, built.stderr)
    edges = [bytes([a, b, c]) for a in (0x41, 0x7F, 0x80, 0x9F, 0xA0, 0xC0, 0xC2, 0xC4, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5)
             for b in (0x1B, 0x41, 0x80, 0x8F, 0x90, 0x9B, 0x9F, 0xA0, 0xBF, 0xC2) for c in (0x41, 0x80, 0x9F, 0xA0, 0xC2)]
    data = b"".join(edges) + bytes(range(1, 256)) + "".join(map(chr, range(1, 0x800))).encode() + "\U0010ffff\ud7ff\ue000\u2603".encode("utf-8", "surrogatepass") + b"\xc4"
    ran = subprocess.run(["./rule"], input=data, capture_output=True, check=False).stdout.split(b"\0")[:-1]
    verdict("the rule, whole and in parts", len(ran) == 8 and all(r == shown(data) for r in ran),
            *[(r[i:i + 20], shown(data)[i:i + 20]) for r in ran for i in [len(os.path.commonprefix([r, shown(data)]))]][:2])


TOKENS = [b"<unk>", b"<s>", b"</s>", b"\x1b]52;c;aGk=\x07", b"<0xC2>", b"<0x9B>", b"<0xC4>", b"<0x83>", b"<0x1B>", b"[31m", b"\x7f", b"\t", b"ok ",
          b"\xc2\x85", b"\r", b" "]
PROMPT = 4  # tokens of "ok ", with the one that begins a text
MADE = [12, 3, 4, 5, 12, 6, 7, 5, 8, 9, 10, 11, 13, 14, 6]
TEXT = b"ok \x1b]52;c;aGk=\x07\xc2\x9bok \xc4\x83\x9b\x1b[31m\x7f\t\xc2\x85\r\xc4"


def texts():
    """A model's own text, whose characters are split over tokens, and the rest of one at its end."""
    table = struct.pack("<i", max(map(len, TOKENS)))
    write("tokens.bin", table + b"".join(struct.pack("<fi", 0, len(t)) + t for t in TOKENS))
    write("m.model", "import decoder\nmodel m : decoder { layers 1  heads 1  d_model 8  d_ff 8  vocab 16  context 64  mask causal\n"
          f"    loop generate {{ first {[12] * PROMPT + MADE} }} }}\n")
    model = ("m.model", "--tokenizer", "tokens.bin")
    args = ("-p", "ok ", "-n", str(len(MADE)))
    plain = piped(DRIVER, "run", *model, *args)
    verdict("run: a pipe gets the bytes", plain.endswith(TEXT), plain)
    said = on_terminal(DRIVER, "run", *model, *args)
    guarded("run: the text of a model", said, shown(TEXT).decode("utf-8", "surrogateescape"), "ă")
    write("script", ":load m.model\n:set tokenizer tokens.bin\n:say ok\n\"\x1b]0;x\x07\"\n:load \x1b]52;c;x\n")
    guarded("repl: a script", on_terminal(DRIVER, "repl", "--echo", "script"), "\\x1b]52;c;x")
    built = subprocess.run([DRIVER, "build", *model, "--main", "--embed", "--target", "scalar", "-o", "m.c"], capture_output=True, check=False)
    cc = subprocess.run([*CC, "-std=c11", "-o", "m", "m.c", "-lm", "-lpthread"], capture_output=True, check=False)
    verdict("a program is built", built.returncode == 0 and cc.returncode == 0, built.stderr, cc.stderr)
    plain = piped("./m", "-p", "ok ", "-n", str(len(MADE)))
    verdict("a program: a pipe gets the bytes", plain.endswith(TEXT), plain)
    guarded("a program: the text of a model", on_terminal("./m", "-p", "ok ", "-n", str(len(MADE))), shown(TEXT).decode("utf-8", "surrogateescape"), "ă")
    guarded("a program: an argument in a message", on_terminal("./m", "--temp", EVIL), SHOWN)
    guarded("a program: a file in a message", on_terminal("./m", "-f", EVIL), SHOWN)
    guarded("a program: a long message", on_terminal("./m", "-f", "x" * 600 + EVIL), "x" * 600 + SHOWN)
    os.symlink("m", EVIL)
    guarded("a program: its own name", on_terminal("./" + EVIL, "--help"), "usage: ./" + SHOWN)


def labels():
    """Of classes, in lathe and in a program."""
    write("labels.txt", "one" + EVIL + "\ntwo\nthree\n")
    write("colours.model", 'model colours {\n    input pixels : real[3, 2, 2]\n    output logits = mean(mean(pixels, axis: 2), axis: 1)\n'
          '    loop classify { labels "labels.txt" }\n}\n')
    write("p.ppm", b"P6 2 2 255\n" + bytes(range(12)))
    said = piped(DRIVER, "run", "colours.model", "p.ppm")
    verdict("labels: a pipe gets the bytes", ("one" + EVIL).encode() in said, said)
    guarded("labels", on_terminal(DRIVER, "run", "colours.model", "p.ppm"), "one" + SHOWN)
    subprocess.run([DRIVER, "build", "colours.model", "--main", "--embed", "--target", "scalar", "-o", "c.c"], check=False)
    subprocess.run([*CC, "-std=c11", "-o", "c", "c.c", "-lm", "-lpthread"], check=False)
    said = piped("./c", "p.ppm")
    verdict("labels of a program: a pipe gets the bytes", ("one" + EVIL).encode() in said, said)
    guarded("labels of a program", on_terminal("./c", "p.ppm"), "one" + SHOWN)


def fillings():
    """A prompt that is shown again, and the texts of tokens."""
    write("f.model", "import bert\nmodel f : bert {\n    layers 1  heads 1  d_model 8  vocab 16  context 64  lm true\n    checkpoint none\n"
          "    loop fill { mask 0  keep 1  token_types 0 }\n}\n")
    prompt = "\x1b]0;x\x07"  # of letters that have no token: all are token 0
    said = on_terminal(DRIVER, "run", "f.model", "--tokenizer", "tokens.bin", prompt)
    guarded("fill: a text that is shown again", said, "\\x1b]0;x\\x07")
    subprocess.run([DRIVER, "build", "f.model", "--tokenizer", "tokens.bin", "--main", "--embed", "--target", "scalar", "-o", "f.c"], check=False)
    subprocess.run([*CC, "-std=c11", "-o", "f", "f.c", "-lm", "-lpthread"], check=False)
    guarded("fill: of a program", on_terminal("./f", prompt), "\\x1b]0;x\\x07")


def files():
    """Strings of configurations, GGUF files, models and names of files in messages."""
    os.mkdir("published")
    write("published/config.json", json.dumps({"model_type": EVIL, "architectures": [EVIL]}))
    guarded("config.json", on_terminal(DRIVER, "import", "published"), SHOWN)
    text = EVIL.encode()
    key = b"general.architecture"
    write("e.gguf", struct.pack("<4sIQQQ", b"GGUF", 3, 0, 1, len(key)) + key + struct.pack("<IQ", 8, len(text)) + text)
    guarded("GGUF", on_terminal(DRIVER, "import", "e.gguf"), SHOWN)
    header = json.dumps({EVIL: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    write("w.safetensors", struct.pack("<Q", len(header)) + header + bytes(4))
    guarded("names of tensors", on_terminal(DRIVER, "run", "m.model", "-p", "1", "--weights", "w.safetensors"))
    write("bad.model", "model bad {\n    # " + EVIL + "\n    output y = \x1b]52;c;x\x07\n}\n")
    guarded("a model", on_terminal(DRIVER, "check", "bad.model"))
    said = on_terminal(DRIVER, "check", "gone" + EVIL + ".model")
    guarded("a name of a file", said, "gone" + SHOWN)
    guarded("an option", on_terminal(DRIVER, "run", "m.model", "--temp", EVIL), SHOWN)
    guarded("a command", on_terminal(DRIVER, EVIL), SHOWN)
    write("t.jinja", "{{ '" + EVIL + "' }}{% for m in messages %}{{ m.content }}{% endfor %}")
    guarded("a template", on_terminal(DRIVER, "template", "t.jinja"))
    with open(EVIL + ".golden", "w", encoding="utf-8") as f:
        f.write("lathe golden 2\nmodel m.model m\ncolour\n")
    guarded("a golden", on_terminal(DRIVER, "golden", "check", EVIL + ".golden", "--jit", "tcc"), SHOWN)


def colours():
    """lathe's own colours still come, and nothing else does."""
    coloured = {"NO_COLOR": ""}
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    os.environ.pop("NO_COLOR", None)
    write("wrong.model", "model wrong {\n    output y = nothing # \x1b[5m\n}\n")
    master = subprocess.run([sys.executable, "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))", DRIVER, "check", "wrong.model"],
                            stdin=subprocess.DEVNULL, capture_output=True, env=environment, check=False)
    said = master.stdout.replace(b"\r\n", b"\n")
    rest = re.sub(rb"\x1b\[(0|1|1;31|1;32|1;36)?m", b"", said)
    verdict("colours of a message", b"\x1b[1;31merror: \x1b[0m" in said and rest == shown(rest), said, coloured)


def lint():
    """Programs print text by terminal.h only."""
    wrong = []
    for name in sorted(os.listdir(os.path.join(ROOT, "runtime"))):
        if not (name.startswith("main_") or name == "input_values.h"):
            continue
        with open(os.path.join(ROOT, "runtime", name), encoding="utf-8") as f:
            for i, line in enumerate(f, 1):
                if re.search(r"(?<![a-z_])f?printf\((?!to, \"(P%d|%-\*s))(?!stderr, \"\\r%d of %d)|(?<![a-z_])puts\(|fputs\(|fwrite\([^;]*std(out|err)", line):
                    wrong.append(f"{name}:{i}: {line.strip()}")
    verdict("what prints in programs", not wrong, *wrong)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    the_rule()
    texts()
    labels()
    fillings()
    files()
    colours()
    lint()
    os.chdir("/")
sys.exit(failed)
