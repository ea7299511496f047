#!/usr/bin/env python3
"""Pairs of options, of which one must not make the other have no effect without a word.

    tests/commands/pairs.py LATHE [COMMAND...]

Each command is run on a small model without options, with each option, and with each two of them.  What a run gives is its output, messages
and files.  If an option changes that by itself, and beside another one it does not, the pair is silent: the command has to refuse it.  Pairs
that are silent for a good reason are listed with it.  Prints ok or FAIL for each command; exit status 1 if one fails."""

import concurrent.futures
import hashlib
import itertools
import os
import re
import subprocess
import sys
import tempfile

MODEL = """import llamas
model small : llama { layers 2  heads 2  d_model 32  d_ff 64  vocab 720  context 64
    loop generate { start 1  stop 0 } }
"""
TEMPLATE = "{{ strftime_now('%d %B') }}{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{{ tools | tojson if tools }}"
TIMES = re.compile(rb"[\d.]+ (ms|tokens/s|GB/s)")
HERE = os.path.dirname(os.path.abspath(__file__))
KEPT = ("w.safetensors", "packed.weights")
TOKENIZER = os.path.join(HERE, "..", "tokenizers", "trained", "gpt-2.json")

# of each command: what is run, the options that are tried, what each of them needs beside it
COMMANDS = {
    "build": ("build small.model --target scalar", [
        "--code-only", "--embed", "--incbin", "--freestanding", "--data-file", "--main", "--loops", "--lib", "-o p/p.c --python", "--depfile d", "--prefix p", "--chunk 4", "--ranked",
        "--ranked --prompt-rows", "--slots 2", "--slots 2 --pages 1", "--tap logits", "--kv f16", "--quant q8_0", "--quant q4_0 --calibrate text",
        "--weights w.safetensors", "--tokenizer T", "--tokenizer T --grammar json", "--explain", "--no-fuse", "--dump=tile", "-D layers=1"]),
    "weights": ("weights small.model -o o", ["--weights w.safetensors", "--quant f16", "-D layers=1"]),
    "weights --rank": ("weights small.model --weights packed.weights --rank 0/2 --target scalar -o o", [
        "--kv f16", "--slots 2", "--prompt-rows", "--no-absorb"]),
    "show cost": ("show small.model cost --target scalar", [
        "--weights w.safetensors", "--quant q8_0", "--kv f16", "--chunk 4", "--slots 2", "--ranks 2", "--ranks 2 --stages 2", "--ranks 2 --prompt-rows",
        "--ranks 2 --roof 9,9 --link 1,1", "--ranks 2 --roof 9,9 --link 1,1 -n 4", "--json", "--no-absorb", "-D layers=1",
        "--tap layer[1].attn.q"]),
    "show plan": ("show small.model plan --target scalar", [
        "--weights w.safetensors", "--quant q8_0", "--kv f16", "--chunk 4", "--slots 2", "--slots 2 --pages 1", "--json", "--no-fuse", "-D layers=1",
        "--tap layer[1].attn.q", "-o o.svg", "--explain", "--dump=tile"]),
    "show threads": ("show small.model threads --target scalar", [
        "--quant q8_0", "--kv f16", "--chunk 4", "--json", "--no-fuse", "-D layers=1", "--tap layer[1].attn.q",
        "-o o.svg", "--threads 2", "--explain", "--dump=tile", "-o o.svg --roof 9,9"]),
    "run": ("run small.model --target scalar --jit code -n 6 --hash -v", [
        "-D layers=1", "--weights w.safetensors", "--quant q8_0", "--quant q4_0 --calibrate text", "--tokenizer T", "--explain", "--chunk 4", "-p 5", "-f prompt",
        "--temp 1", "--temp 1 --top-k 2", "--temp 1 --top-p .5", "--temp 1 --min-p .2", "--temp 1 --typical .5", "--temp 1 --seed 3", "--repetition-penalty 2",
        "--suppress 221", "--presence-penalty 1", "--frequency-penalty 1", "--draft d.model", "--draft 4", "--tokenizer T --grammar json", "--kv f16",
        "--stop 4", "--no-fuse", "--dump=tile"]),
    "run, beams": ("run small.model --target scalar --jit code -n 12 -v", [
        "--beams 2", "--beams 2 --length-penalty 3", "--beams 2 --early-stopping", "--draft 4", "--draft d.model", "--stop 4", "-p 5", "--suppress 221"]),
    "verify": ("verify small.model --target scalar --jit code -n 4", [
        "-D layers=1", "--weights w.safetensors", "--quant q8_0", "--kv f16", "--chunk 2", "--slots 2", "--slots 2 --pages 4", "--bound 1e-3", "--json",
        "--no-fuse", "--tap layer[1].attn.q", "--no-causal"]),
    "template": ("template chat.jinja", ["--system x", "--date 2024-07-26", "--tools tools", "--messages chat", "--pieces"]),
    "golden": ("golden record small.model --target scalar --jit code -o g", [
        "-D layers=1", "--weights w.safetensors", "--quant q8_0", "--kv f16", "-p 5", "-p 5 -n 2", "-p 5 --tokenizer T", "--keep 3", "--tap logits"]),
}
# pairs that may be silent: command, the option that has no effect, the other one, and why.  In the quick form a part of the pairs is tried.
SILENT = {
    ("build", "--loops", "--main"): "a command line includes its loop",
    ("build", "--embed", "--freestanding"): "C without an operating system embeds its weights",
    ("build", "--loops", "-o p/p.c --python"): "a package includes the loops",
    ("build", "--loops", "--tokenizer T --grammar json"): "the grammar is a rule of the loop, which is included",
    ("run", "--no-fuse", "--quant q4_0 --calibrate text"): "sums of these weights round alike in either order",
    ("run", "--stop 4", "--tokenizer T"): "the text has no 4 then",
    ("run", "--stop 4", "--tokenizer T --grammar json"): "the text has no 4 then",
    ("show plan", "--quant q8_0", "-o o.svg"): "the arena of this model is the same with weights of any type",
    ("show plan", "--kv f16", "-o o.svg"): "so it is with states of any type",
    ("show cost", "--weights w.safetensors", "--quant q8_0"): "the weights' own types are told, and these are asked for",
}
HELD_UP = 60  # seconds
QUICK_PAIRS = 8


def run(lathe, command, options, folder):
    work = tempfile.mkdtemp(dir=folder)
    for name, text in (("small.model", MODEL), ("d.model", MODEL.replace("layers 2", "layers 1")), ("text", "5 6 7 8\n"), ("prompt", "7"),
                       ("chat.jinja", TEMPLATE), ("chat", '{"role": "user", "content": "Hi!"}\n'), ("tools", '[{"name": "add"}]')):
        with open(os.path.join(work, name), "w", encoding="utf-8") as f:
            f.write(text)
    for name in KEPT:
        os.symlink(os.path.join(folder, name), os.path.join(work, name))
    os.mkdir(os.path.join(work, "p"))
    given = " ".join(options).replace("--tokenizer T", "--tokenizer " + TOKENIZER)
    done = subprocess.run([lathe, *command.split(), *given.split()], cwd=work, stdin=subprocess.DEVNULL, capture_output=True, timeout=HELD_UP, check=False)
    found = {"": done.stdout, "2": TIMES.sub(b"", done.stderr), "code": str(done.returncode).encode()}
    for name in sorted(os.listdir(work)) + ["p/" + name for name in sorted(os.listdir(os.path.join(work, "p")))]:
        if name not in ("small.model", "d.model", "text", "prompt", "chat.jinja", "chat", "tools", "p", *KEPT):
            with open(os.path.join(work, name), "rb") as f:
                found[name] = f.read()
    h = hashlib.sha256()
    for name, data in found.items():
        h.update(name.encode() + b"\0" + hashlib.sha256(data).digest())
    return h.hexdigest(), done.returncode, done.stderr.decode(errors="replace")


def faults(lathe, name, folder):
    command, options = COMMANDS[name]
    two = list(itertools.combinations(options, 2))
    if os.environ.get("LATHE_TESTS") == "quick":
        two = two[:: max(1, len(two) // QUICK_PAIRS)]
    every = [()] + [(o,) for o in options] + two
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        made = dict(zip(every, pool.map(lambda given: run(lathe, command, given, folder), every)))
    for given in every[: 1 + len(options)]:
        if made[given][1] not in (0, 2):
            yield f"{' '.join((command, *given))} fails: {made[given][2]}"
    for a, b in itertools.permutations(options, 2):
        both = made.get((a, b), made.get((b, a)))
        if not both:
            continue
        if made[(a,)][1] or both[1] == 2:
            continue
        # b beside a gives what a gives; and b by itself has an effect, or is refused, as it needs something that a may be
        if both[0] == made[(a,)][0] and made[(b,)][0] != made[()][0] and (name, b, a) not in SILENT and not set(b.split()) <= set(a.split()):
            yield f"{b} has no effect beside {a}"


def names_of(lathe):
    """Commands and parts of them, by their own tables."""
    read = {}
    for name in ("language/loops.def", "driver/show.c", "driver/options.def", "driver/option_rules.def"):
        with open(os.path.join(HERE, "..", "..", "compiler", name), encoding="utf-8") as f:
            read[name] = f.read()
    parts = re.search(r"part_name\[\] = \{(.*?)\}", read["driver/show.c"], re.S)[1]
    known = set(re.findall(r"^  ([a-z]+) ", subprocess.run([lathe, "help"], capture_output=True, text=True, check=True).stdout, re.M))
    known |= {f"run {loop}" for loop in re.findall(r"^LOOP\((\w+),", read["language/loops.def"], re.M)}
    known |= {f"show {part}" for part in re.findall(r'"(\w+)"', parts)} | {"golden record", "golden check", ":run", ":trace"}
    rows = re.findall(r'^OPTION\(\w+, "[^"]*", .*?, (?:MODEL|WEIGHTS|INPUT|OUTPUT|RUNNING|SAMPLING|CHECKING|MEASURING|PASSES),((?:\s*(?:"[^"]*"|[A-Z_]+))+),',
                      read["driver/options.def"], re.M)
    lists = re.findall(r'"([^"]*)"', " ".join(rows))
    lists += re.findall(r'^(?:HELP\(\w+, |RULE\()"([^"]*)"', read["driver/options.def"] + read["driver/option_rules.def"], re.M)
    return known, {name for one in lists for name in re.split(", *", one) if name}, len(rows)


def main(lathe, names):
    known, used, rows = names_of(lathe)
    failed = bool(used - known) or rows < 50
    print(f"{'FAIL' if failed else 'ok'} commands: options are of commands that exist", *sorted(used - known))
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "small.model"), "w", encoding="utf-8") as f:
            f.write(MODEL)
        for made in ("weights small.model -o w.safetensors", "build small.model --ranked --target scalar -o packed.c"):
            subprocess.run([lathe, *made.split()], cwd=folder, check=True, capture_output=True)
        for name in names or COMMANDS:
            found = list(faults(lathe, name, folder))
            print(f"{'FAIL' if found else 'ok'} commands: pairs of options of {name}")
            for line in found:
                print("    ", line)
            failed |= bool(found)
    return failed


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:]))
