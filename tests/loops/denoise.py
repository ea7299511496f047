#!/usr/bin/env python3
"""loop denoise: tests/loops/denoise.py build/lathe
What the schedulers of diffusers made of a latent (schedulers.recorded, by tests/oracle/schedulers.py), within 1e-5; pictures of `sketch`; and what
is refused."""
import json
import os
import subprocess
import sys
import tempfile

LATHE, HERE = os.path.abspath(sys.argv[1]), os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SKETCH = [f"{ROOT}/models/sketch.model", "--weights", f"{ROOT}/models/sketch/sketch.safetensors"]
failed = 0
MODEL = """model told {
    input step : real
    input latent : real[8]
    output told = 0.25 * latent + 0.0003 * step * sin(latent) + 0.1 * iota(8) / 7
    VARIANCE
    loop denoise { SETTINGS }
}
"""


def verdict(name, good, said=""):
    global failed
    print(f"{'ok' if good else 'FAIL'} denoise: {name}")
    if not good:
        print("     " + said.strip().replace("\n", "\n     "))
        failed = 1


def lathe(*words):
    done = subprocess.run([LATHE, *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def model(settings):
    variance = "output both = join(told, tanh(latent))" if "learned" in settings else ""
    with open("told.model", "w", encoding="ascii") as f:
        f.write(MODEL.replace("SETTINGS", settings).replace("VARIANCE", variance))


def values(path):
    with open(path, "rb") as f:
        data = f.read()
    n = int.from_bytes(data[:8], "little")
    head = json.loads(data[8:8 + n])
    import struct
    first, last = head["latent"]["data_offsets"]
    return struct.unpack(f"<{(last - first) // 4}f", data[8 + n + first:8 + n + last])


def compare():
    names = {}
    with open(f"{HERE}/schedulers.recorded", encoding="ascii") as f:
        for line in f:
            settings, numbers = line.split(" = ")
            model(settings)
            code, out, err = lathe("run", "told.model", "-I", "latent=(iota(8) - 3.5) * 0.3", "--seed", "7", "-o", "told.safetensors")
            name = settings.split()[1].strip('"')
            wanted = [float(x) for x in numbers.split()]
            far = max(abs(a - b) / (1 + abs(b)) for a, b in zip(values("told.safetensors"), wanted)) if code == 0 else 9
            names.setdefault(name, [])
            if not far <= 1e-5:
                names[name].append(f"{settings}: {far:.2g} off {err}")
    for name, faults in names.items():
        verdict(f"{name} as in diffusers", not faults, "\n".join(faults))


def words():
    """A setting whose usual word is given is as without it; two that exclude each other are refused."""
    faults = []
    for settings, usual in (('scheduler "euler"  steps 3', 'spacing "training"'), ('scheduler "euler"  steps 3', 'step_from "picture"'),
                            ('scheduler "ddpm"  steps 3', 'variance "fixed"')):
        made = []
        for given in (settings, f"{settings}  {usual}"):
            model(given)
            code, out, err = lathe("run", "told.model", "-I", "latent=(iota(8) - 3.5) * 0.3", "--seed", "7", "-o", "told.safetensors")
            made.append(values("told.safetensors") if code == 0 else err)
        faults += [f"{usual}: {made}"] if made[0] != made[1] else []
    for settings, why in (('scheduler "ddim"  tells "velocity"', "needs predictions of noise"), ('scheduler "heun"  tells "noise"', "needs predictions of velocities")):
        model(settings)
        code, out, err = lathe("run", "told.model", "-I", "latent=iota(8)", "-o", "told.safetensors")
        faults += [] if code and why in err else [settings + err]
    verdict("words of settings", not faults, "\n".join(faults))


def guide():
    """What is linear in the class is with guidance what it is at none + guidance (class - none)."""
    found = []
    for added, words in (("class / 10.0", ["--guidance", "3", "-I", "class=1"]), ("(4 + 3 * (1 - 4)) / 10.0", [])):
        with open("guided.model", "w", encoding="ascii") as f:
            f.write(f"model guided {{ input step : real; input latent : real[8]; input class : id(8); output told = 0.25 * latent + {added} + 0 * class\n"
                    "    loop denoise { no_class 0  steps 5 } }\n".replace("no_class 0", "no_class 4" if words else "no_class 0"))
        wanted = words if words else ["-I", "class=0"]
        code, out, err = lathe("run", "guided.model", *wanted, "-o", "guided.safetensors")
        found.append(values("guided.safetensors") if code == 0 else [9.0 + len(found)] * 8)
    settings = "no_class 4  steps 5  guidance 3  guided 2"
    with open("guided.model", "w", encoding="ascii") as f:
        f.write("model guided { input step : real; input latent : real[4, 2]; input class : id(8); output told = 0.25 * latent + class / 10.0\n"
                f"    loop denoise {{ {settings} }} }}\n")
    halves = []
    for guidance in ("3", "1"):
        code, out, err = lathe("run", "guided.model", "-I", "class=1", "--guidance", guidance, "-o", "guided.safetensors")
        halves.append(values("guided.safetensors") if code == 0 else [])
    verdict("guidance for two channels of four", len(halves[0]) == 8 and halves[0][4:] == halves[1][4:] and halves[0][3] != halves[1][3], str(halves))
    verdict("guidance", all(abs(a - b) < 1e-5 for a, b in zip(*found)), str(found))


def lead_away():
    """Guidance by another input: what is linear in a text is what it is at none + guidance (text - none)."""
    with open("texts.model", "w", encoding="ascii") as f:
        f.write("model texts { input prompt { text : real[3] }; input step : real; input latent : real[8]; output told = 0.25 * latent + sum(text)\n"
                "    loop denoise { steps 5 } }\n")
    found = []
    for words in (["--guidance", "3", "--without", "text=[0.1, 0, 0]", "-I", "text=[0.1, 0.2, 0.3]"], ["-I", "text=[0.1, 0.6, 0.9]"]):
        code, out, err = lathe("run", "texts.model", *words, "-o", "texts.safetensors")
        found.append(values("texts.safetensors") if code == 0 else [9.0 + len(found)] * 8)
    verdict("guidance away from another input", all(abs(a - b) < 1e-5 for a, b in zip(*found)), str(found) + err)
    code, out, err = lathe("run", "texts.model", "--without", "text=[0, 0, 0]", "-I", "text=[0.1, 0, 0]", "-o", "x.npy")
    verdict("refused: --without without --guidance", code == 1 and "no effect without --guidance" in err, err)
    code, out, err = lathe("run", "texts.model", "--guidance", "2", "-I", "text=[0.1, 0, 0]", "-o", "x.npy")
    verdict("refused: guidance without a class or --without", code == 1 and "--without NAME=VALUE" in err, err)
    code, out, err = lathe("run", "texts.model", "--guidance", "2", "--without", "txt=[0, 0, 0]", "-I", "text=[0.1, 0, 0]", "-o", "x.npy")
    verdict("refused: --without of no input", code == 1 and "has no input txt" in err, err)
    code, out, err = lathe("run", "texts.model", "--guidance", "2", "--without", "latent=1", "-I", "text=[0.1, 0, 0]", "-o", "x.npy")
    verdict("refused: --without of the latent", code == 1 and "latent and step are set by loop denoise" in err, err)
    code, out, err = lathe("run", "texts.model", "--guidance", "2", "--without", "text=[0, 0]", "-I", "text=[0.1, 0, 0]", "-o", "x.npy")
    verdict("refused: --without of another shape", code == 1 and "text has shape [2] as given and [3] in the model" in err, f"{code} {err}")


def other_classes():
    """The second call is of --without's class, else of no_class, else of the same class as the first: linear in it, as above."""
    cases = (("", ["--without", "text=[0.1, 0]"], 5.0, 0.4), ("", ["--without", "class=2"], 11.0, 0.2), ("no_class 4", ["--without", "class=2"], 11.0, 0.2),
             ("no_class 4", ["--without", "text=[0.1, 0]"], 7.0, 0.4))
    faults = []
    for settings, words, number, text in cases:
        found = []
        for added, options in (("class", ["--guidance", "3", *words, "-I", "class=5", "-I", "text=[0.1, 0.1]"]), (f"{number}", ["-I", "class=5", "-I", f"text=[{text}, 0]"])):
            with open("both.model", "w", encoding="ascii") as f:
                f.write("model both { input text : real[2]; input step : real; input class : id(8); input latent : real[8]\n"
                        f"    output told = 0.25 * latent + sum(text) + {added} + 0 * class\n    loop denoise {{ steps 5  {settings} }} }}\n")
            code, out, err = lathe("run", "both.model", *options, "-o", "both.safetensors")
            found.append(values("both.safetensors") if code == 0 else [9.0 + len(found)] * 8)
        if not all(abs(a - b) < 1e-4 for a, b in zip(*found)):
            faults.append(f"{settings} {words}: {found} {err}")
    verdict("guidance away from another class, no class or the same one", not faults, "\n".join(faults))


def drawn(*words):
    code, out, err = lathe("run", *SKETCH, *words, "-o", "drawn.png")
    with open("drawn.png", "rb") as f:
        return f.read() if code == 0 else err.encode()


def refused(name, said, settings, *words):
    model(settings)
    code, out, err = lathe("run", "told.model", *words)
    verdict(f"refused: {name}", code in (1, 2) and said in err and not out, f"{code} {out} {err}")


with tempfile.TemporaryDirectory() as at:
    os.chdir(at)
    compare()
    words()
    guide()
    lead_away()
    other_classes()
    star = drawn("-I", "class=13", "--seed", "1")
    verdict("a seed is a picture, whatever the threads and kernels", star == drawn("-I", "class=13", "--seed", "1", "--threads", "2", "--target", "scalar"))
    verdict("another seed is another", star != drawn("-I", "class=13", "--seed", "2"))
    right = 0
    for number, name in ((3, "3"), (13, "star"), (10, "circle"), (8, "8")):
        drawn("-I", f"class={number}", "--seed", "4")
        code, out, err = lathe("run", f"{ROOT}/models/doodles.model", "--weights", f"{ROOT}/models/doodles/doodles.safetensors", "drawn.png", "--top", "1")
        right += out.split()[-1:] == [name]
    verdict("what sketch draws doodles names", right == 4, f"{right} of 4")
    ways = 'scheduler "ddim"  tells "noise"'
    refused("zero steps", "0 steps", ways, "-n", "0", "-o", "x.npy")
    refused("more steps than the training had", "1001 steps; expected 1 to 1000", ways, "-n", "1001", "-o", "x.npy")
    solver = 'scheduler "dpm_solver"  tells "noise"  trained 20'
    refused("as many steps as the training had, by dpm_solver", "20 steps; expected 1 to 19", solver, "-n", "20", "-o", "x.npy")
    refused("a flow whose model tells noise", "needs predictions of velocities", 'scheduler "euler"  tells "noise"', "-o", "x.npy")
    refused("no output file", "written to a file", ways)
    refused("a picture of a vector", "a PNG has 1 or 3 channels", ways, "-o", "x.png")
    refused("a file of another kind", "expected a name that ends in .png", ways, "-o", "x.pgm")
    refused("guidance without a class", "guidance requires", ways, "--guidance", "2", "-o", "x.npy")
    refused("the step given", "step is set by loop denoise", ways, "-I", "step=1", "-o", "x.npy")
    refused("a scheduler that there is not", "scheduler must be", 'scheduler "lms"', "-o", "x.npy")
    refused("a latent of another shape", "latent", ways, "-I", "latent=[1, 2]", "-o", "x.npy")
    code, out, err = lathe("run", *SKETCH, "-o", "x.png")
    verdict("refused: no class", code == 1 and "the input class is missing" in err, err)
    code, out, err = lathe("run", *SKETCH, "-I", "class=19", "-o", "x.png")
    verdict("refused: a class out of range", code == 1 and "class" in err and not os.path.exists("x.png"), err)
sys.exit(failed)
