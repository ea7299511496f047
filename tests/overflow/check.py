"""Finite numbers that a format of fewer bits can't hold: refused with their place, from every place that numbers come from.

    check.py DRIVER            prints ok NAME, or FAIL NAME and why

The largest number of each format, and infinity where a file has it, are accepted."""
import json
import os
import struct
import subprocess
import sys
import tempfile

driver = os.path.abspath(sys.argv[1])
CC = os.environ.get("CC", "cc").split()
INF = float("inf")
FLOAT, F16, BF16 = (2 - 2.0**-23) * 2.0**127, 65504.0, (2 - 2.0**-7) * 2.0**127
HALFWAY = (2 - 2.0**-24) * 2.0**127  # rounds to infinity
failed = 0


def verdict(name, good, *why):
    global failed
    print(f"{'ok' if good else 'FAIL'} overflow: {name}", *([] if good else why))
    failed = failed or not good


def lathe(*args, text=None, program=driver):
    p = subprocess.run([program, *args], input=text, capture_output=True, text=True, timeout=60)
    return p.returncode, p.stdout + p.stderr


def refused(name, words, *args, status=1, **more):
    code, said = lathe(*args, **more)
    verdict(name, code == status and all(word in said for word in words), code, said)


def accepted(name, *args, **more):
    code, said = lathe(*args, **more)
    verdict(name, code == 0, code, said)


def npy(path, values, shape, code="d"):
    kind = {"d": "<f8", "f": "<f4"}[code]
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + struct.pack(f"<{len(values)}{code}", *values))


def safetensors(path, **tensors):
    head, body = {}, b""
    for name, (shape, values, code) in tensors.items():
        data = struct.pack(f"<{len(values)}{code}", *values)
        head[name.replace("_", ".")] = {"dtype": {"d": "F64", "f": "F32"}[code], "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(head).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + body)


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def write(path, text):
    open(path, "w").write(text)
    return path


# --- literals of a model file, -D, expressions ---
def literals():
    for text, place in (("x + 1e39", "2:16"), ("x + [1, 2, 3, -1e39]", "2:16"), ("x * exp(100)", "2:16"), ("x * (1e30 * 1e30)", "2:17"),
                        ("pad(x, after: 1, value: 1e39)[..4]", "2:12"), ("x + 1e200 * 1e200", "2:16"), ("x + 10 ^ 400", "2:16"), ("x + exp(1000)", "2:16")):
        write("literal.model", f"model literal {{ input x : real[4]\noutput y = {text} }}\n")
        code, said = lathe("check", "literal.model")
        verdict(f"the literal {text}", code == 1 and "beyond" in said and "literal.model:2:" in said, code, said)
    write("centre.model", "model centre { input x : real[4]\nw : weight[4, 4] = 1e39\noutput y = x @ w }\n")
    refused("a weight's default", ["beyond", "centre.model:2:"], "check", "centre.model")
    for text in ("x + 3.4028234e38", "x + -inf", "x * (1e39 / 1e38)", "x + 1 / 0"):
        write("literal.model", f"model literal {{ input x : real[4]\noutput y = {text} }}\n")
        accepted(f"the literal {text}", "check", "literal.model")
    for setting in ("guidance 1e39", "of [1, 1e39]"):
        write("loop.model", f"""model loop1 {{ input latent : real[1, 2, 2];  input condition {{ step : real;  class : id(5) }}
output told = latent + step + class
loop denoise {{ scheduler "euler"  steps 2  no_class 4
{setting} }} }}
""")
        refused(f"a loop's {setting}", ["1e+39", "beyond", "loop.model:4:"], "check", "loop.model")
    write("scaled.model", "model scaled { scale = 1\ninput x : real[4]\noutput y = x * scale }\n")
    refused("-D scale=1e39", ["1e+39", "beyond"], "check", "scaled.model", "-D", "scale=1e39")
    accepted("-D scale=1e38", "check", "scaled.model", "-D", "scale=1e38")


# --- inputs ---
def inputs():
    write("given.model", "model given { input x : real[4]\noutput y = x * 2 }\n")
    for text in ("1e39", "[1, 2, 1e39, 4]", "1e20 * 1e20", "[1, 2, 3, 4] * 1e38 * 10", "-1e39", "1e400"):
        code, said = lathe("eval", "given.model", "-I", f"x={text}")
        verdict(f"-I x={text}", code == 1 and ("beyond" in said or "too large" in said), code, said)
    for bad in (1e39, -1e39, HALFWAY):
        npy("x.npy", [1, 2, bad, 4], (4,))
        refused(f"{bad} in an .npy", ["x: element 2", f"{bad:.9g}", "beyond"], "eval", "given.model", "-I", "x=x.npy")
        safetensors("x.safetensors", x=([4], [1, bad, 3, 4], "d"))
        refused(f"{bad} in a .safetensors", ["x: element 1", f"{bad:.9g}", "beyond"], "eval", "given.model", "--inputs", "x.safetensors")
        npy("x.npy", [1, 2, 3, 4, 1, bad, 3, 4], (2, 4))
        refused(f"{bad} in a batch", ["element 5", "beyond"], "eval", "given.model", "-I", "x=x.npy")
    for good in (FLOAT, -FLOAT, -INF, (HALFWAY + FLOAT) / 2):
        npy("x.npy", [1, 2, good, 4], (4,))
        accepted(f"{good} in an .npy", "eval", "given.model", "-I", "x=x.npy")
    npy("x.npy", [1, 2, 1e39, 4], (4,))
    refused("golden record with such an input", ["element 2", "beyond"], "golden", "record", "given.model", "--inputs", "x.npy", "-o", "given.golden")
    for line in (":input x = x.npy", ":input x = 1e39", ":input x = [1e39, 1, 2, 3]", ":input x = [1e38, 1, 2, 3] * 10"):
        code, said = lathe("repl", text=f":load given.model\n{line}\n:run\n")
        verdict(f"repl: {line}", code == 1 and "beyond" in said, code, said)


# --- weights ---
def weights():
    plain = [float(i) for i in range(64 * 32)]

    def with_value(x, at, code="f"):
        values = plain[:]
        values[at] = x
        safetensors("w.safetensors", w=([64, 32], values, code))

    write("weights.model", "model weights { input x : real[32]\nw : weight[64, 32]\noutput y = w @ x }\n")
    run = ("eval", "weights.model", "-I", "x=1", "--weights", "w.safetensors")
    for bad in (1e39, -1e39, HALFWAY):
        with_value(bad, 70, "d")
        refused(f"{bad} in a F64 tensor", ["w.safetensors", '"w"[2, 6]', f"{bad:.9g}", "beyond"], *run)
        refused(f"{bad} in a F64 tensor, verified", ['"w"[2, 6]', "beyond"], "verify", "weights.model", "--weights", "w.safetensors", "--jit", "tcc")
        refused(f"{bad} in a F64 tensor, built", ['"w"[2, 6]', "beyond"], "build", "weights.model", "--weights", "w.safetensors", "-o", "b.c")
        refused(f"{bad} in a F64 tensor, copied", ["element 70", "beyond"], "weights", "weights.model", "--weights", "w.safetensors", "-o", "o.safetensors")
    for good in (FLOAT, INF, -INF):
        with_value(good, 70, "d")
        accepted(f"{good} in a F64 tensor", *run)
    for kind, most, over in (("f16", F16, 65520), ("bf16", BF16, FLOAT)):
        with_value(over, 70)
        refused(f"{over} becomes {kind}", ['"w"[2, 6]', f"{over:.9g}", f"beyond the largest {kind}"], *run, "--quant", kind)
        refused(f"{over} written as {kind}", ["element 70", f"beyond the largest {kind}"], "weights", "weights.model", "--weights", "w.safetensors",
                "--quant", kind, "-o", "o.safetensors")
        for good in (most, -most, INF):
            with_value(good, 70)
            accepted(f"{good} becomes {kind}", *run, "--quant", kind)
    # a value that the least and the largest factor of a block reach, and one beyond
    for kind, most in (("q8_0", 127 * F16), ("q4_0", 8 * F16), ("q4_1", 15 * F16), ("q5_0", 16 * F16), ("q5_1", 31 * F16),
                       ("iq4_nl", 127 * F16), ("q2_k", 15 * 3 * F16), ("q3_k", 31 * 4 * F16), ("q4_k", 63 * 15 * F16), ("q5_k", 63 * 31 * F16),
                       ("q6_k", 32 * 127 * F16), ("iq4_xs", 31 * 127 * F16)):
        depth = 256 if kind[-2:] in ("_k", "xs") else 32
        write("blocks.model", f"model blocks {{ input x : real[{2 * depth}]\nw : weight[16, {2 * depth}]\noutput y = x @ w' }}\n")
        for x, good in ((most, True), (1.01 * most, False), (-1.01 * most if kind[-2:] != "_1" else -1.01 * F16, False)):
            values = [0.0] * (32 * depth)
            values[5 * 2 * depth + depth + 3] = x
            safetensors("w.safetensors", w=([16, 2 * depth], values, "f"))
            args = ("eval", "blocks.model", "-I", "x=1", "--weights", "w.safetensors", "--quant", kind)
            if good:
                accepted(f"{x:g} becomes {kind}", *args)
            else:
                refused(f"{x:g} becomes {kind}", [f"w[5, {depth}..{2 * depth}] has {single(x):.9g}", kind, "beyond the largest f16"], *args)
    # a base alone that is beyond f16: the values lie close together
    for base, good in ((F16, True), (-F16, True), (7e4, False), (-7e4, False)):
        values = [0.0] * 1024
        values[5 * 64 + 32:6 * 64] = [base, base * 0.9999] * 16
        safetensors("w.safetensors", w=([16, 64], values, "f"))
        write("blocks.model", "model blocks { input x : real[64]\nw : weight[16, 64]\noutput y = x @ w' }\n")
        args = ("eval", "blocks.model", "-I", "x=1", "--weights", "w.safetensors", "--quant", "q4_1")
        if good:
            accepted(f"values near {base:g} become q4_1", *args)
        else:
            refused(f"values near {base:g} become q4_1", ["w[5, 32..64] has", "q4_1", "beyond the largest f16"], *args)
    # along the other axis
    write("blocks.model", "model blocks { input x : real[64]\nw : weight[64, 16]\noutput y = x @ w }\n")
    values = [0.0] * 1024
    values[40 * 16 + 7] = 9e6
    safetensors("w.safetensors", w=([64, 16], values, "f"))
    refused("a block along the first axis", ["w[32..64, 7]", "9000000", "q8_0"], "eval", "blocks.model", "-I", "x=1", "--weights", "w.safetensors", "--quant", "q8_0")
    accepted("every float becomes mxfp4", "eval", "blocks.model", "-I", "x=1", "--weights", "w.safetensors", "--quant", "mxfp4")
    # elements that a narrow weight does not have; what a checkpoint computes
    write("parts.model", """model parts { input x : real[4]
a, b : weight[4, 4];  c : weight[4, 4]
output y = (a + b) @ x + c @ x
checkpoint { "ab" = join(a, b, axis: 1);  "c" = 0.5 * c }
}
""")
    for at, kind, good in ((5, "a=f16", True), (5, "b=f16", False), (1, "a=f16", False), (1, "b=f16", True)):
        values = [1.0] * 32
        values[at] = 1e5
        safetensors("w.safetensors", ab=([4, 8], values, "f"), c=([4, 4], [1.0] * 16, "f"))
        args = ("eval", "parts.model", "-I", "x=1", "--weights", "w.safetensors", "--quant", "f32," + kind)
        accepted(f"{kind} beside a large value", *args) if good else refused(f"{kind} of a large value", [f'"ab"[0, {at}] is 100000'], *args)
    safetensors("w.safetensors", ab=([4, 8], [1.0] * 32, "f"), c=([4, 4], [1.0] * 15 + [2.0**127], "f"))
    refused("overflow in a checkpoint's expression", ['"c"[3, 3] is 3.40282367e+38', "beyond"], "eval", "parts.model", "-I", "x=1", "--weights", "w.safetensors")


# --- programs ---
def programs():
    write("led.model", """model led { n : upto(4)
input prompt { text : real[n, 3];  loud : real }
input latent : real[1, 2, 2];  input condition { step : real }
output told = latent * min(max(loud, -9), 9) + 0.1 * step + sum(max(sum(text, axis: 1), -1), axis: 0) * 1e-30
loop denoise { scheduler "euler"  steps 2 } }
""")
    code, said = lathe("build", "led.model", "--target", "scalar", "--main", "-o", "led.c")
    code = code or subprocess.run([*CC, "-std=c11", "-ffp-contract=off", "-O0", "-o", "led", "led.c", "-lm", "-lpthread"]).returncode
    verdict("a program is built", code == 0, said)
    if code:
        return
    npy("text.npy", [1] * 6, (2, 3))

    def call(text="text.npy", loud="1"):
        return "-I", f"text={text}", "-I", f"loud={loud}", "-o", "o.npy"

    accepted("a program", *call(), program="./led")
    for x in ("1e39", "-1e39", "1e400", "3.4028236e38"):
        refused(f"a program's -I loud={x}", [f"loud={x}", "beyond"], *call(loud=x), program="./led")
    for x in ("3.4028234e38", "-inf"):
        accepted(f"a program's -I loud={x}", *call(loud=x), program="./led")
    for x, good in ((1e39, False), (-1e39, False), (HALFWAY, False), (FLOAT, True), (-INF, True)):
        npy("text.npy", [1, 2, 3, x, 5, 6], (2, 3))
        if good:
            accepted(f"{x} in a program's .npy", *call(), program="./led")
        else:
            refused(f"{x} in a program's .npy", ["element 3 of text", f"{x:.9g}", "beyond"], *call(), program="./led")


def offsets():
    """Elements of a table that are chosen one by one, further from its start than a float can count."""
    write("far.model", """model far_table {
    input ids : id(1000)[512]
    table : weight[1000, 18001]
    output y = table[ids][.., 17990..18001]' * 2
}
""")
    for target in "scalar", "native":
        accepted(f"offsets beyond 2^24, {target}", "verify", "far.model", "--jit", "tcc", "--target", target)


os.chdir(tempfile.mkdtemp(dir=os.environ.get("TMPDIR")))
for part in (literals, inputs, weights, programs, offsets):
    part()
sys.exit(1 if failed else 0)
