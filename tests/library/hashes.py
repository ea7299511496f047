"""The same bits by each way to call a model, for a model of each kind.

    hashes.py LATHE

eval      lathe eval, which compiles in memory: the hash that the others are to have
Python    the module of lathe build --python, its weights in a file and in memory, and its batch() in a model with slots
C++       hashes.cpp, linked with the library, the weights in memory: init_from
program   of --main --incbin, which has the weights inside: what the model's loop gives, against Python and C++

The zoo: tests/families by the module too, against lathe eval and against what the published implementation gave.
LATHE_TESTS=quick: some kinds, and one family of each kind of tests/families/kinds.
"""

import importlib.util
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy

LATHE = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FAMILIES = f"{ROOT}/tests/families"
FORM = os.environ.get("LATHE_TESTS", "all")
CC = f"{ROOT}/tests/quick-cc"  # times are those of compilers: one that does not optimise
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
failed = False

TALE = [f"{ROOT}/models/tale.model", "--weights", f"{ROOT}/models/tale/tale.safetensors"]
BERT = "vocab 60  context 32  layers 2  heads 2  d_model 12  d_ff 20"
TEXT = {"loop": "generate", "given": [5, 9, 11], "words": ["5 9 11", "-n", "9"], "steps": 9}
ORANGE = bytes([250, 128, 16, 240, 96, 48])
BEEP = numpy.array([0, 16384, -16384] * 30, numpy.int16)
# A kind's model, a file and options or a text; what its loop is given, and the program in words; slots: sequences of these lengths in a batch.
KINDS = {
    "decoder": {"model": TALE, **TEXT},
    "window": {"model": "import decoder\nmodel m : decoder { layers 2  heads 2  d_model 24  d_ff 40  vocab 37  context 32  mask sliding(window: 4) }",
               **TEXT},
    "experts": {"model": [f"{FAMILIES}/mixtral.model"], **TEXT},
    "recurrence": {"model": "import recurrent\nmodel m : retnet { layers 2  heads 2  d_model 32  d_ff 48  vocab 40  context 64 }", **TEXT},
    "encoder and decoder": {"model": "import seq2seq\nmodel m : seq2seq { vocab 40  context 24  layers 1  heads 2  d_model 8\n"
                                     "loop generate { start 0  stop 1 } }", **TEXT, "begin": 0},
    "transcribe": {"model": "import whisper\nmodel m : whisper { vocab 60  context 32  layers 1  decoder_layers 1  heads 2  d_model 8  mels 80\n"
                            "frames 10  sound true\nloop generate { start 1  stop 2  first [50, 51] }\nloop transcribe { rate 16000 } }",
                   "loop": "transcribe", "given": [1], "words": ["beep.wav", "-n", "9"], "steps": 9},
    "embed": {"model": f"import bert\nmodel m : bert {{ {BERT}  pooler false\n"
                       'loop embed { from "hidden"  pool "mean"  normalise true  keep 1  token_types 0 } }',
              "loop": "embed", "given": [1, 5, 9, 2], "words": ["1 5 9 2"]},
    "fill": {"model": f"import bert\nmodel m : bert {{ {BERT}  pooler false  lm true\ncheckpoint none\nloop fill {{ mask 7  keep 1  token_types 0 }} }}",
             "loop": "fill", "given": [1, 7, 7, 2], "words": ["1 7 7 2"]},
    "classify": {"model": "import vision\nmodel m : vision_transformer { layers 2  heads 3  d_model 24  d_ff 40  classes 5  picture 12  patch 4\n"
                          'loop classify { resize "bicubic"  mean 0.5  std 0.5 } }', "loop": "classify", "words": ["orange.ppm"]},
    "denoise": {"model": "import diffusion\nmodel m : diffusion_transformer { layers 2  heads 3  d_model 24  classes 5  size 6  patch 2  channels 3\n"
                         'loop denoise { scheduler "ddim"  steps 3  no_class 4  variance "learned" } }',
                "loop": "denoise", "words": ["--class", "3", "--seed", "5", "--guidance", "3", "-o", "made.npy"], "named": {"class_input": 3}},
    "slots of a decoder": {"model": TALE, "slots": [5, 1, 9], "options": ["--pages", "6"], **TEXT},
    "slots of an encoder": {"model": f"import bert\nmodel m : bert {{ {BERT} }}", "slots": [5, 1, 9]},
    "slots of pictures": {"model": [f"{FAMILIES}/vit.model"], "slots": [1, 1]},
}
QUICK = ["decoder", "classify", "slots of an encoder"]


def verdict(name, good, *found):
    global failed
    print(f"{'ok' if good else 'FAIL'} hashes: {name}", flush=True)
    if not good:
        print("    ", *found)
    failed = failed or not good


def call(*words, **environment):
    """What a command prints, to standard error too."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment}, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def hashes(said):
    """Of `hash H NAME` or `hash H`, names and hashes in their order."""
    return [(name or "loop", h) for h, name in re.findall(r"hash ([0-9a-f]{16})(?: (\w+))?", said)]


def fnv(array):
    h = 0xcbf29ce484222325
    for byte in numpy.ascontiguousarray(array).tobytes():
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return f"{h:016x}"


def build(model, options, compiler):
    """The package `subject` in the current folder, with its library; the module."""
    os.makedirs("subject", exist_ok=True)
    call(LATHE, "build", *model, *options, "--prefix", "subject", "--lib", "--python", "-o", "subject/subject.c", CC=compiler)
    spec = importlib.util.spec_from_file_location("subject", "subject/__init__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shape_of(tensor, sizes):
    return [fixed + sum(per * sizes[name] for name, per in named.items()) for fixed, named in tensor["shape"]]


def made_up(about, sizes):
    """Values of all inputs, always the same."""
    random = numpy.random.RandomState(1)
    return {name: random.randint(0, tensor["bound"], shape_of(tensor, sizes)).astype(numpy.int32) if tensor["dtype"] == "int32" else
            random.uniform(-1, 1, shape_of(tensor, sizes)).astype(numpy.float32) for name, tensor in about["inputs"].items()}


def model_name(name):
    """What the model calls an input: C has no place for some names."""
    return name.removesuffix("_input")


def evaluated(model, inputs):
    words = []
    for name, value in inputs.items():
        numpy.save(f"{name}.npy", value)
        words += ["-I", f"{model_name(name)}={name}.npy"]
    return [h for _, h in hashes(call(LATHE, "eval", *model, *words, "--hash"))]


def forwarded(module, inputs, image=None):
    """The outputs of a model that is new, what is fed separately first.  image: of its weights, in memory."""
    with module.Model(threads=2, image=image) as m:
        for group in module.MODEL["groups"]:
            m.feed(group, *[inputs[name] for name in module.MODEL["calls"]["feed_" + group]["inputs"]])
        given = m.forward(*[inputs[name] for name in module.MODEL["calls"]["forward"]["inputs"]])
        return list(given.values()) if isinstance(given, dict) else [given]


# --- C++ ---


def batch_text(about, given, sizes):
    """A call of all sequences at once."""
    inputs, several = about["calls"]["forward"]["inputs"], []
    size = about["time"] or next(iter(about["calls"]["forward"]["sizes"]), None)
    if size:
        rows = [f"{{{i}, {s[size]}, 0}}" if about["time"] else f"{{{s[size]}}}" for i, s in enumerate(sizes)]
        several = [f"        const subject_sequence s[] = {{{', '.join(rows)}}};"]
    for name in inputs:
        numpy.concatenate([x[name].ravel() for x in given]).tofile(f"{name}.raw")
    counts = {name: [int(numpy.prod(shape_of(tensor, s))) for s in sizes] for name, tensor in about["outputs"].items()}
    arguments = (["s"] if size else []) + [str(len(given))]
    return several, arguments, counts


def call_text(about, given, sizes):
    """calls.inc: call(), which feeds, calls the model and tells the hashes of its outputs."""
    feeds, several, arguments = [], [], []
    for name, value in given[0].items():
        value.tofile(f"{name}.raw")
    forward, numbers = about["calls"]["forward"], [str(sizes[0][name]) for name in about["calls"]["forward"]["sizes"]]
    for group in about["groups"]:
        feed = about["calls"]["feed_" + group]
        words = [str(sizes[0][name]) for name in feed["sizes"]] + [f"{name}.data()" for name in feed["inputs"]]
        feeds.append(f"        check(subject_feed_{group}(m, {', '.join(words)}));")
    counts = {name: [int(numpy.prod(shape_of(tensor, sizes[0])))] for name, tensor in about["outputs"].items()}
    if len(given) > 1:
        several, arguments, counts = batch_text(about, given, sizes)
    else:
        arguments = numbers
    arguments = arguments + [f"{name}.data()" for name in forward["inputs"]]
    if about["time"] and len(given) == 1:
        arguments.append(str(sizes[0][about["time"]]))
    tells = [f'        tell("{name}", {name}_out.data() + {sum(n[:i])}, {n[i]});' for i in range(len(given)) for name, n in counts.items()]
    return "\n".join([
        "void call(subject *m)\n{",
        *[f"        const auto {name} = values<{'std::int32_t' if tensor['dtype'] == 'int32' else 'float'}>(\"{name}\");"
          for name, tensor in about["inputs"].items()],
        *[f"        std::vector<float> {name}_out({sum(n)});" for name, n in counts.items()],
        *several, *feeds,
        f"        check(subject_{'batch' if len(given) > 1 else 'forward'}"
        f"(m, {', '.join(arguments + [f'{name}_out.data()' for name in counts])}));",
        *tells, *(["        subject_reset(m);"] if about["time"] else []), "}", ""])


def loop_text(kind, about):
    """What hashes.cpp wants for the kind's loop."""
    loop = kind.get("loop")
    if loop == "generate":
        numbers = [str(len(kind["given"])) for _ in about["calls"].get("feed_source", {"sizes": []})["sizes"]]
        words = ", ".join(["m"] + numbers + ['values<std::int32_t>("prompt").data()'])
        return f"void feed_loop(subject *m)\n{{\n        {f'check(subject_feed_source({words}))' if 'begin' in kind else '(void)m'};\n}}\n"
    if loop == "denoise":
        return ("void denoise_loop(subject *m, const subject_denoising &how, float *latent)\n{\n"
                "        auto scratch = room(subject_denoise_scratch(&how));\n"
                f"        check(subject_denoise(m, {kind['named']['class_input']}, &how, latent, nullptr, nullptr, scratch.data()));\n}}\n")
    return ""


def by_cpp(kind, module, given, sizes):
    about = module.MODEL
    with open("calls.inc", "w", encoding="ascii") as f:
        f.write(call_text(about, given, sizes) + loop_text(kind, about))
    flags, loop = [], kind.get("loop")
    if loop:
        columns = about["loops"].get(loop) or 0
        columns = int(numpy.prod(shape_of(about["inputs"][columns["latent"]], {}))) if isinstance(columns, dict) else columns
        flags = [f"-DLOOP_{loop}", f"-DCOLUMNS={columns}", f"-DSTEPS={kind.get('steps', 0)}"]
    call("g++", "-std=c++17", "-O0", *WARNINGS, *flags, "-Isubject", "-I.", f"{HERE}/hashes.cpp", "subject/libsubject.a", "-lpthread", "-o", "hashes")
    return hashes(call("./hashes", "subject/subject.weights"))


# --- loops ---


def write_media():
    with open("orange.ppm", "wb") as f:
        f.write(b"P6 2 1 255 " + ORANGE)
    with open("beep.wav", "wb") as f:
        data = BEEP.tobytes()
        f.write(struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1, 16000, 32000, 2, 16, b"data", len(data)) + data)
    (BEEP.astype(numpy.float32) / 32768).tofile("sound.raw")
    numpy.frombuffer(ORANGE, numpy.uint8).tofile("loop.raw")


def by_loop(kind, module):
    """The hash of what the loop gives by the module."""
    loop, given = kind["loop"], numpy.array(kind.get("given", []), numpy.int32)
    text = numpy.array([kind["begin"]], numpy.int32) if "begin" in kind else given
    if given.size:
        given.tofile("prompt.raw")
        text.tofile("loop.raw")
    with module.Model(threads=2) as m:
        if loop == "classify":
            return fnv(m.classify(numpy.frombuffer(ORANGE, numpy.uint8).reshape(1, 2, 3)))
        if loop == "embed":
            return fnv(m.embed(given).astype(numpy.float64))
        if loop == "fill":
            return fnv(numpy.concatenate([likely for _, likely in m.fill(given)]))
        if loop == "denoise":
            return fnv(m.denoise(**kind["named"], seed=5, guidance=3).astype(numpy.float64))
        if "begin" in kind:
            m.feed("source", given)
        made = m.generate(text, steps=kind["steps"]) if loop == "generate" else \
            m.transcribe(BEEP / 32768, begin=text, steps=kind["steps"])
        taken = m.position
        m.reset()
        return fnv(m.forward(numpy.concatenate([text, made])[:taken]))


# --- kinds ---


def check_kind(name, kind):
    model, options = kind["model"], kind.get("options", [])
    if isinstance(model, str):
        with open("m.model", "w", encoding="ascii") as f:
            f.write(model + "\n")
        model = ["m.model"]
    lengths = kind.get("slots", [7])
    options = options + TARGET + (["--slots", str(len(lengths) + 1)] if "slots" in kind else [])
    module = build(model, options, CC)
    about = module.MODEL
    sizes = [{size: min(n, bound) for size, bound in about["sizes"].items()} for n in lengths]
    for s in sizes:
        s.update({about["past"]: 0} if about["past"] else {})
    given = [made_up(about, s) for s in sizes]
    wanted = [h for x in given for h in evaluated(model, x)]
    verdict(f"{name}: lathe eval gives each output", len(wanted) == len(given) * len(about["outputs"]), wanted)
    found = [fnv(output) for x in given for output in forwarded(module, x)]
    verdict(f"{name}: Python", found == wanted, found, wanted)
    with open("subject/subject.weights", "rb") as f:
        image = f.read()
    found = [fnv(output) for x in given for output in forwarded(module, x, image)]
    verdict(f"{name}: Python, weights in memory", found == wanted, found, wanted)
    if "slots" in kind:
        with module.Model(threads=2) as m:
            columns = {n: [x[n] for x in given] for n in about["calls"]["forward"]["inputs"]}
            several = m.batch(range(len(given)), **columns) if about["time"] else m.batch(**columns)
            found = [fnv(output) for x in several for output in (x.values() if isinstance(x, dict) else [x])]
        verdict(f"{name}: Python, in a batch", found == wanted, found, wanted)
    write_media()
    ours = by_loop(kind, module) if "loop" in kind else None
    found = by_cpp(kind, module, given, sizes)
    verdict(f"{name}: C++, weights in memory", [h for _, h in found][:len(wanted)] == wanted, found, wanted)
    if ours:
        verdict(f"{name}: the loop in C++ is that in Python", found[-1] == ("loop", ours), found[-1], ours)
        os.makedirs("inside", exist_ok=True)
        call(LATHE, "build", *model, *options, "--main", "--incbin", "-o", "inside/inside.c")
        with open("inside/inside.c", encoding="utf-8") as f:
            flags = re.search(r"Build: cc -std=c11 -O2 (.*?)\S*\.c ", f.read())[1].split()
        call(CC, "-std=c11", *flags, "inside/inside.c", "-lpthread", "-o", "inside/inside")
        os.remove("inside/inside.c.weights")
        found = hashes(call("inside/inside", *kind["words"], "--threads", "2", "--hash"))
        verdict(f"{name}: the program, weights inside, is the same", found == [("loop", ours)], found, ours)


# --- the zoo ---


def record_of(family):
    """The tensors of a family's record."""
    with open(f"{FAMILIES}/{family}.safetensors", "rb") as f:
        data = f.read()
    n, = struct.unpack("<Q", data[:8])
    kinds = {"F64": numpy.float64, "F32": numpy.float32, "I64": numpy.int64, "I32": numpy.int32}
    return {name: numpy.frombuffer(data[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]], kinds[t["dtype"]]).reshape(t["shape"])
            for name, t in json.loads(data[8:8 + n]).items() if name != "__metadata__"}


def check_family(family):
    model = [f"{FAMILIES}/{family}.model"]
    module, record = build(model, ["--target", "scalar"], "tcc"), record_of(family)
    about = module.MODEL
    inputs = {name: record[model_name(name)].astype(tensor["dtype"]) for name, tensor in about["inputs"].items()}
    outputs = forwarded(module, inputs)
    found, wanted = [fnv(output) for output in outputs], evaluated(model, inputs)
    verdict(f"zoo, {family}: Python gives the bits of lathe eval", found == wanted, found, wanted)
    far = {name: float(abs(output - record[model_name(name)]).max() / abs(record[model_name(name)]).max())
           for name, output in zip(about["outputs"], outputs) if model_name(name) in record}
    verdict(f"zoo, {family}: and what the published implementation gave", far and max(far.values()) < 1e-5, far)


def zoo():
    with open(f"{FAMILIES}/kinds", encoding="ascii") as f:
        kinds = [line.split()[1] for line in f if not line.startswith("#")]
    every = sorted(name[:-len(".safetensors")] for name in os.listdir(FAMILIES) if name.endswith(".safetensors"))
    return kinds if FORM == "quick" else [family for family in every if FORM == "all" or family not in kinds]


def in_folder(check, *words):
    """By itself: a process has one library of a name."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            check(*words)
        except Exception as error:  # an error of the module is a class of its own
            verdict(words[0], False, error)
        os.chdir("/")


AVX2 = "avx2" in [line.split()[0] for line in call(LATHE, "targets").splitlines() if "native" in line or "runs here" in line]
TARGET = ["--target", "avx2" if AVX2 else "scalar"]
sys.dont_write_bytecode = True
if __name__ == "__main__":
    for kind in KINDS:
        if FORM == "all" or (kind in QUICK) == (FORM == "quick"):
            in_folder(check_kind, kind, KINDS[kind])
    if shutil.which("tcc"):
        for one in zoo():
            in_folder(check_family, one)
    else:
        print("skip hashes: zoo: no tcc (Debian: tcc)")
    sys.exit(failed)
