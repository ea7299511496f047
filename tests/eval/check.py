"""lathe eval, beside what the model says by hand.

    check.py DRIVER            prints ok NAME, or FAIL NAME and why

Arrays are read and written here by the words of the formats (numpy.lib.format; the header of safetensors): no numpy."""
import ast
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
driver = os.path.abspath(sys.argv[1])
SMALL, TALE = f"{HERE}/small.model", f"{ROOT}/models/tale.model"
failed = 0

X = [[1.0, 2.0], [-3.0, 4.0], [8.0, -16.0]]
IDS, FLAG = [0, 4, 2], [1.0, 0.0, 1.0]
SIZES = {"<f4": "f", "<f2": "e", "<f8": "d", "<i4": "i", "<i8": "q", "|i1": "b", "|u1": "B", "<i2": "h", "<u2": "H", "<u4": "I", "<u8": "Q", "|b1": "?"}


def flat(x):
    return [v for part in x for v in flat(part)] if isinstance(x, list) else [x]


def shape(x):
    return (len(x), *shape(x[0])) if isinstance(x, list) else ()


def npy(values, descr="<f4", version=1, header=None, order=False, tail=b"", of=None):
    text = header or f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {of if of is not None else shape(values)}, }}"
    prefix = 10 if version == 1 else 12
    text += " " * (-(prefix + len(text) + 1) % 64) + "\n"
    begin = b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text))
    code = SIZES.get(descr, "f")
    return begin + text.encode() + struct.pack(f"<{len(flat(values))}{code}", *flat(values)) + tail


def read_npy(path):
    data = open(path, "rb").read()
    length = struct.unpack_from("<H", data, 8)[0]
    header = data[10:10 + length].decode()
    about = ast.literal_eval(header)
    if data[:8] != b"\x93NUMPY\1\0" or (10 + length) % 64 or not header.endswith("\n") or about["fortran_order"]:
        return None
    values = struct.iter_unpack("<" + SIZES[about["descr"]], data[10 + length:])
    return about["descr"], about["shape"], [v for v, in values]


def read_safetensors(path):
    data = open(path, "rb").read()
    length = struct.unpack_from("<Q", data)[0]
    codes = {"F32": "f", "I32": "i", "BOOL": "?"}
    found = {}
    for name, t in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = (8 + length + at for at in t["data_offsets"])
            found[name] = t["dtype"], tuple(t["shape"]), [v for v, in struct.iter_unpack("<" + codes[t["dtype"]], data[begin:end])]
    return found


def safetensors(tensors):
    """{name: (dtype, shape, values)}, in this order."""
    header, body = {}, b""
    for name, (dtype, of, values) in tensors.items():
        more = struct.pack(f"<{len(values)}{ {'F32': 'f', 'I32': 'i', 'I64': 'q'}[dtype]}", *values)
        header[name] = {"dtype": dtype, "shape": list(of), "data_offsets": [len(body), len(body) + len(more)]}
        body += more
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def run(*arguments, code=0, model=SMALL, m="small", text=None):
    r = subprocess.run([driver, "eval", model, *(["-m", m] if m else []), *arguments], capture_output=True, text=True, cwd=work, input=text)
    if r.returncode != code:
        raise AssertionError(f"exit status {r.returncode}, not {code}: {r.stdout[-300:]}{r.stderr[-600:]}")
    return r


def check(name):
    def judge(test):
        global failed
        try:
            test()
            print("ok eval", name, flush=True)
        except AssertionError as why:
            failed += 1
            print(f"FAIL eval {name}: {why}", flush=True)
    return judge


def same(found, expected):
    assert found == expected, f"{found} where {expected} is right"


def write(name, data):
    with open(f"{work}/{name}", "wb") as f:
        f.write(data)
    return name


def expected(x=X, ids=IDS, flag=FLAG):
    y = [[(v / 2 if f > 0 else 0.0) + i for v in row] for row, i, f in zip(x, ids, flag)]
    so_far = [[sum(row[k] for row in x[:t + 1]) for k in range(2)] for t in range(len(x))]
    return {"y": y, "best": [[int(b > a)] for a, b in y], "big": [[v > 1 for v in row] for row in y], "so_far": so_far}


GIVEN = ["-I", f"x={X}", "-I", f"ids={IDS}", "-I", f"flag={FLAG}"]
TYPES = {"y": "F32", "best": "I32", "big": "BOOL", "so_far": "F32"}

with tempfile.TemporaryDirectory() as work:

    @check("expressions, as JSON")
    def _():
        same(json.loads(run(*GIVEN, "--json").stdout), expected())

    @check("signs of zeros, compiled and interpreted")
    def _():
        for jit in ("tcc", "code"):
            said = run("-I", f"x={[[1.0] * 5]}", "-I", "i=[1]", "--jit", jit, "--output", "positive,same,of_integers,of_differences,unknown",
                       model=f"{ROOT}/tests/fuse/zeros.model", m=None).stdout
            same(re.findall(r"-?inf|[12]", re.sub(r"#.*", "", said)), ["inf"] * 10 + ["1", "inf"] + ["2"] * 5)
            said = run("-I", f"x={[[[1.0] * 5] * 16]}", "-I", f"y={[[[1.0] * 3] * 17]}", "--jit", jit, "--output", "zero",
                       model=f"{ROOT}/tests/fuse/folds_by_lane.model", m=None).stdout
            same(re.findall(r"-?inf", said), ["inf"] * 5)

    @check("as the language writes tensors")
    def _():
        found = run(*GIVEN, "--output", "best,y").stdout
        same(re.sub(r"\s+", " ", found), "best = [[1], [0], [0]] # [3, 1] y = [[ 0.5000, 1.0000], [ 4.0000, 4.0000], [ 6.0000, -6.0000]] # [3, 2] ")

    @check("a file of safetensors in and out")
    def _():
        write("in.safetensors", safetensors({"x": ("F32", (3, 2), flat(X)), "flag": ("F32", (3,), FLAG), "ids": ("I64", (3,), IDS)}))
        run("--inputs", "in.safetensors", "-o", "out.safetensors")
        same(read_safetensors(f"{work}/out.safetensors"),
             {k: (TYPES[k], shape(v), flat(v)) for k, v in expected().items()})

    for descr in SIZES:
        @check(f"an array of {descr}")
        def _():
            whole = [[1, 0], [1, 1], [0, 1]]
            write("x.npy", npy(whole, descr))
            same(json.loads(run("--inputs", "x.npy", "-I", "ids=0", "-I", "flag=1", "--json").stdout), expected(whole, [0] * 3, [1] * 3))

    for version in (2, 3):
        @check(f"an array in version {version}, its keys in another order")
        def _():
            write("other.npy", npy(X, "<f4", version, header="{'shape': (3, 2), 'fortran_order': False, 'descr': '<f4'}"))
            same(json.loads(run("-I", "x=other.npy", *GIVEN[2:], "--json").stdout), expected())

    @check("one array out")
    def _():
        run(*GIVEN, "--output", "y", "-o", "y.npy")
        same(read_npy(f"{work}/y.npy"), ("<f4", (3, 2), flat(expected()["y"])))
        run(*GIVEN, "--output", "big", "-o", "big.npy")
        same(read_npy(f"{work}/big.npy"), ("|b1", (3, 2), flat(expected()["big"])))
        run("--inputs", write("p.npy", npy([[1.0, 2.0], [3.0, 4.0]])), "--output", "all", "-o", "all.npy", m="counts")
        same(read_npy(f"{work}/all.npy"), ("<f4", (), [10.0]))

    @check("a single array is for the only input, whatever its name")
    def _():
        same(json.loads(run("--inputs", "p.npy", "--json", m="counts").stdout), {"doubled": [[2, 4], [6, 8]], "all": 10})

    @check("a batch is each of its own")
    def _():
        batch = [X, [[5.0, 6.0], [7.0, 8.0], [9.0, 1.0]]]
        found = json.loads(run("-I", f"x={batch}", *GIVEN[2:], "--json").stdout)
        each = [expected(x) for x in batch]
        same(found, {name: [one[name] for one in each] for name in TYPES})
        run("-I", f"x={batch}", *GIVEN[2:], "-o", "batch.safetensors")
        same(read_safetensors(f"{work}/batch.safetensors")["y"][1], (2, 3, 2))
        hashes = {run("-I", f"x={[X, second]}", *GIVEN[2:], "--hash").stderr for second in (X, batch[1])}
        assert len(hashes) == 2 and all("hash " in said for said in hashes), hashes

    @check("texts of a batch, which share calls, have the results of separate calls")
    def _():
        text = "import bert\nmodel m : bert { vocab 60  context 32  layers 2  heads 2  d_model 12  d_ff 20 }\n"
        model = write("encoder.model", text.encode())
        texts = [[(7 * i + k * k) % 60 for k in range(7)] for i in range(11)]  # 9 have room in a call
        common = ["-I", "token_types=0", "-I", "keep=1", "--json"]
        found = json.loads(run("-I", f"tokens={texts}", *common, model=model, m=None).stdout)
        for i in (0, 1, 3, 4, 9, 10):
            alone = json.loads(run("-I", f"tokens={texts[i]}", *common, model=model, m=None).stdout)
            same({name: x[i] for name, x in found.items()}, alone)
        texts[8][3] = 60
        r = run("-I", f"tokens={texts}", *common, model=model, m=None, code=1)
        assert "number 8 of the batch: tokens[3] is 60: it must be 0 to 59" in r.stderr, r.stderr

    # constants as C, in memory and by the interpreter of kernels: the float nearest to each, to the bit, zero with its sign
    CONSTANTS = ["0.0", "-0.0", "1", "-1", "0.5", "-0.1", "999999", "1000000", "-1000000", "16777217", "2147483648", "-2147483649", "1e-45", "-1.1754942e-38",
                 "1.1754944e-38", "3.4028235e38", "-3.4028235e38", "inf", "-inf"]
    for jit in ("tcc", "cc", "code"):
        @check(f"constants, --jit {jit}")
        def _():
            lines = [f"output times{k} = one * {c};  output or{k} = where(one > 1, one, {c})" for k, c in enumerate(CONSTANTS)]
            model = write("constants.model", "\n".join(["model m {", "input one : real", *lines,
                                                        f"output listed = where(one > 1, one, [{', '.join(CONSTANTS)}])", "}", ""]).encode())
            run("-I", "one=1", "--jit", jit, "-o", "constants.safetensors", model=model, m=None)
            bits = {name: [struct.pack("<f", v).hex() for v in values] for name, (_, _, values) in read_safetensors(f"{work}/constants.safetensors").items()}
            right = [struct.pack("<f", float(c)).hex() for c in CONSTANTS]
            wanted = {f"{form}{k}": [b] for form in ("times", "or") for k, b in enumerate(right)} | {"listed": right}
            wrong = [name for name in wanted if bits.get(name) != wanted[name]]
            same({name: bits.get(name) for name in wrong}, {name: wanted[name] for name in wrong})

    @check("taps and outputs agree in a comparison")
    def _():
        ids = [1, 319, 343, 378, 283]
        run("-I", f"tokens={ids}", "--tap", "layer[0].attn,layer[2].ffn", "-o", "seen.safetensors", model=TALE, m=None)
        seen = {"tokens": ("I32", (5,), ids), **read_safetensors(f"{work}/seen.safetensors")}
        same(sorted(seen), ["layer[0].attn", "layer[2].ffn", "logits", "tokens"])
        write("both.safetensors", safetensors(seen))
        r = subprocess.run([driver, "verify", TALE, "--against", f"{work}/both.safetensors", "--interpreter", "--bound", "1e-5"],
                           capture_output=True, text=True)
        same((r.returncode, r.stdout.count("FAIL")), (0, 0))

    @check("a text is its tokens")
    def _():
        tokenizer = f"{ROOT}/models/tale/tokenizer.bin"
        weights = ["--weights", f"{ROOT}/models/tale/tale.safetensors", "--hash", "--output", "logits"]
        tokens = subprocess.run([driver, "encode", tokenizer], input="Once upon a time\n", capture_output=True, text=True).stdout
        by_text = run("-p", "Once upon a time", "--tokenizer", tokenizer, *weights, model=TALE, m=None).stderr
        same(by_text, run("-p", tokens.strip(), *weights, model=TALE, m=None).stderr)
        write("text", b"Once upon a time")
        same(by_text, run("-f", "text", "--tokenizer", tokenizer, *weights, model=TALE, m=None).stderr)
        for more in (["--threads", "2"], ["--jit", "cc"], ["--target", "scalar"], ["--chunk", "2"]):
            same((more, run("-p", tokens.strip(), *weights, *more, model=TALE, m=None).stderr), (more, by_text))

    @check("of an encoder and a decoder a text is the encoder's")
    def _():
        t5 = f"{ROOT}/tests/import/reference/kept/t5"
        given = ["--cache", "off", "-I", "tokens=[0, 3]", "--json"]
        same(run("-p", "5 4 2", *given, model=t5, m=None).stdout, run("-I", "words=[5, 4, 2]", *given, model=t5, m=None).stdout)

    def generated(*arguments, code=0):
        r = subprocess.run([driver, "run", f"{ROOT}/tests/import/reference/kept/t5", "--cache", "off", "-n", "6", *arguments], capture_output=True,
                           text=True, cwd=work)
        assert r.returncode == code, f"exit status {r.returncode}, not {code}: {r.stderr}"
        return r.stderr if code else r.stdout

    @check("`lathe run` of an encoder and a decoder: each token is the likeliest by eval")
    def _():
        t5 = f"{ROOT}/tests/import/reference/kept/t5"
        made = [int(token) for token in generated("5 4 2").split()]
        logits = json.loads(run("-p", "5 4 2", "-I", f"tokens={[0] + made}", "--cache", "off", "--json", model=t5, m=None).stdout)["logits"]
        same(made, [row.index(max(row)) for row in logits][:len(made)])
        assert made and generated("5 4 3") != generated("5 4 2"), "the text that is fed changes nothing"
        same(generated("-I", "words=[5, 4, 2]"), generated("5 4 2"))
        same(generated("5 4 2", "--draft", "3", "--jit", "code"), generated("5 4 2"))

    @check("`lathe run` says what is wrong with what it is fed")
    def _():
        for given, said in ((["5 4 2", "-I", "tokens=[1]"], "tokens receives the tokens that continue the prompt: it can't be set by -I or --inputs"),
                            ([], "the input words is missing"), (["-I", "word=[1]"], "has no input word; its inputs: words, tokens")):
            found = generated(*given, code=1)
            assert said in found, found
        r = subprocess.run([driver, "run", TALE, "-I", "tokens=[1]", "3"], capture_output=True, text=True)
        assert r.returncode == 2 and "are for inputs that are fed separately, and tale has none" in r.stderr, r.stderr

    @check("a hundred outputs")
    def _():
        write("many.model", ("model many {\n n : upto(4)\n input x : real[n]\n" + "".join(f" output y{i} = x + {i}\n" for i in range(100)) + "}\n").encode())
        same(json.loads(run("-I", "x=[1]", "--json", model=f"{work}/many.model", m=None).stdout), {f"y{i}": [1 + i] for i in range(100)})

    @check("NaN and what is infinite is null in JSON")
    def _():
        write("nan.model", b"model nan {\n n : upto(4)\n input x : real[n]\n output y = log(x)\n output z = 1 / x\n}\n")
        same(json.loads(run("-I", "x=[-1, 0, 1]", "--json", model=f"{work}/nan.model", m=None).stdout), {"y": [None, None, 0], "z": [-1, None, 1]})

    def says(name, code, expected_text, *arguments, **how):
        @check(name)
        def _():
            r = run(*arguments, code=code, **how)
            assert expected_text in r.stderr and not r.stdout, f"it says {r.stdout}{r.stderr}"

    says("no input is given", 1, "the inputs x [time, 2], ids [time], flag [time] are not given; --inputs FILE, -I NAME=VALUE and -p TEXT give inputs")
    says("one is missing", 1, "the input flag [time] is not given", *GIVEN[:4])
    says("one is unknown", 1, "small has no input z; its inputs: x, ids, flag", "-I", "z=1")
    says("-I without a value", 2, "-I must be NAME=VALUE, not x", "-I", "x")
    says("one is given twice", 1, "the input x is given twice", "--inputs", write("x.npy", npy(X)), *GIVEN)
    says("an invalid expression", 1, "this '[' is never closed", "-I", "x=[1,")
    says("an expression of a name", 1, "unknown name 'q'", "-I", "x=q")
    says("another shape", 1, "x has shape [2] as given and [time, 2]", "-I", "x=[1, 2]", *GIVEN[2:])
    says("shapes that do not agree", 1, "ids has shape [2] as given and [time] = [3] in the model", *GIVEN[:2], "-I", "ids=[1, 2]", *GIVEN[4:])
    says("batches that do not agree", 1, "ids is a batch of 3, and another input one of 2", "-I", f"x={[X, X]}", "-I", f"ids={[IDS] * 3}", *GIVEN[4:])
    says("an id beyond its bound", 1, "ids[1] is 5: it must be 0 to 4", *GIVEN[:2], "-I", "ids=[0, 5, 0]", *GIVEN[4:])
    says("the same in a batch", 1, "number 1 of the batch: ids[0] is 5", *GIVEN[:2], "-I", "ids=[[0, 0, 0], [5, 0, 0]]", *GIVEN[4:])
    says("an id that is no whole number", 1, "ids: element 0 is 0.5: expected a whole number of 32 bits", *GIVEN[:2], "-I", "ids=0.5", *GIVEN[4:])
    says("more than the context", 1, "time is 11 by the inputs, and at most 10", "-I", f"x={[[1, 2]] * 11}", "-I", "ids=0", "-I", "flag=0")
    says("an unknown output", 1, "small has no output so_fat; did you mean so_far?", *GIVEN, "--output", "so_fat")
    says("an output twice", 2, "--output y is given twice", *GIVEN, "--output", "y,best,y")
    says("an unknown tap", 1, "nothing", *GIVEN, "--tap", "nothing")
    says("a text for a model without ids", 1, "a text is for a model with an input of token ids", "-p", "1", m="counts")
    says("several outputs as one array", 1, "a .npy holds one array, not 4", *GIVEN, "-o", "all4.npy")
    says("tensors to standard output", 2, "tensors are written to a file", *GIVEN, "-o", "-")
    says("a missing folder", 3, "cannot write", *GIVEN, "-o", "nowhere/y.npy")
    says("JSON and a file", 2, "outputs are written to one place", *GIVEN, "--json", "-o", "y.npy")
    says("a missing file", 3, "nope.npy: cannot open", "--inputs", "nope.npy")
    says("numbers that are too many to print", 2, "numbers, more than 1048576", "-p", " ".join(["1"] * 250), "--tap", "layer[i].ffn", "--json", "-D", "layers=50",
         model=TALE, m=None)
    for name, data, why in [
            ("big-endian", npy(X).replace(b"<f4", b">f4"), "the array's type is >f4"),
            ("complex", npy(X).replace(b"<f4", b"<c8"), "the array's type is <c8"),
            ("column by column", npy(X, order=True), "the array is stored column by column"),
            ("short", npy(X)[:-1], "the array's shape and type are 24 bytes, but the file has 23"),
            ("long", npy(X, tail=b"1"), "the array's shape and type are 24 bytes, but the file has 25"),
            ("cut in the header", npy(X)[:40], "the header has"),
            ("cut before the header", npy(X)[:9], "the file ends within the header"),
            ("another version", npy(X)[:6] + b"\x09" + npy(X)[7:], "version 9 of numpy's format"),
            ("nine axes", npy(X, of=(1,) * 9), "more than 8 axes"),
            ("a shape beyond 64 bits", npy(X, of=(2 ** 62, 2 ** 62)), "more elements than 64 bits can count"),
            ("a size beyond 64 bits", npy(X, of=(2 ** 70,)), "expected a size of 63 bits"),
            ("no dictionary", npy(X, header="[1, 2]"), "expected a dictionary"),
            ("a key twice", npy(X, header="{'descr': '<f4', 'descr': '<f4', 'shape': (3, 2)}"), "each once"),
            ("a key less", npy(X, header="{'descr': '<f4', 'shape': (3, 2)}"), "expected descr, fortran_order and shape"),
            ("a dictionary that does not end", npy(X, header="{'descr': '<f4'"), "expected a comma or the end of the dictionary"),
            ("NaN", npy([[float("nan"), 0.0]]), "element 0 is nan")]:
        says(f"an array: {name}", 1, why, "-I", "x=" + write("wrong.npy", data), "-I", "ids=0", "-I", "flag=0")
    says("an array for weights", 1, "this is a numpy array", *GIVEN, "--weights", write("x.npy", npy(X)))

sys.exit(failed > 0)
