"""Random models through `lathe verify`.

    python3 drive.py DRIVER [SEED | FILE.model]...             a line for each: ok, or FAIL and why
    python3 drive.py DRIVER --seconds S [--first SEED]         seed after seed until the time is up; ends with counts
    python3 drive.py DRIVER --keep SEED|FILE NAME              a model that fails, made small, to kept/NAME.model
    python3 drive.py DRIVER --shrinking                        a test of shrinking
    PROCESSES: how many at a time, if not two

Each model is printed from its tree and parsed again (`lathe parse --check`), then verified with libtcc on every target that runs
here, with each pass off in turn (in the quick form of the tests on one of them, in turn), and with batches of three
sequences; three in eight by 2 and 3 ranks, with the errors of all values; every seventh has its weights from a
checkpoint, in turn of f32, f16 and bf16; every twentieth's C is built by the system's compiler too, for scalar and in turn for another
target, 64-bit ARM among them. A model that fails is kept with what was said of it, under TMPDIR, and with --seconds is made small there
too.

An error alone (never a difference of bits) of at most ten times what the interpreter itself is off when its values are rounded to
float says that the model asks for more than floats can give; such models are counted as ill-conditioned, and not as compared.
A model with the line `# hidden` overflows floats where its masks hide it: without the causal pass its error says nothing.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import shrink
from generate import Model

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 1200  # for a model, which takes less than one: what hangs ends
# options that a model may be unable to take, and what is then said
UNFIT = {"--rewind": "lathe: --rewind", "--pages": "lathe: --pages", "--tap": "can't be given position by position", "--chunk": "--chunk has no effect", "--kv": "--kv has no effect"}
PROCESSES = int(os.environ.get("PROCESSES", 2))


def targets(driver, how="runs here|native|emulated"):
    """Besides scalar, those that run here, under an emulator too."""
    shown = subprocess.run([driver, "targets"], capture_output=True, text=True).stdout
    found = re.findall(rf"^(\w+) +(?:{how}) ", shown, re.M)
    return [t for t in found if t not in ("scalar", "portable")]


class Drive:
    def __init__(self, driver, work):
        self.driver, self.work = driver, work
        self.kept = os.path.join(os.environ.get("TMPDIR", "/tmp"), "lathe-random")
        self.others = targets(driver)
        self.natives = targets(driver, "runs here|native")
        self.environment = dict(os.environ, CC=self.compiler())

    def compiler(self):
        """Quick, and strict: warnings are errors."""
        path = os.path.join(self.work, "cc")
        with open(path, "w") as f:
            cc = "clang" if shutil.which("clang") else os.environ.get("CC", "cc")
            f.write(f'#!/bin/sh\nexec {cc} "$@" -O0 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror\n')
        os.chmod(path, 0o755)
        return path

    def lathe(self, *arguments):
        return subprocess.run([self.driver, *arguments], capture_output=True, text=True, errors="replace", env=self.environment,
                              timeout=SECONDS)

    def runs(self, seed, path, text):
        """The options of each run of verify."""
        own = shrink.options_in(text)
        each = own if "--jit" in own else own + ["--jit", "tcc", "--each-pass"]
        turned = []
        if re.search(r"\balong\b|\bcol\(", text):
            turn = seed // 2 if seed is not None else len(text)
            each = each + (["--rewind", ["1", "2", "70"][turn % 4 - 1]] if turn % 4 else [])
        if os.environ.get("LATHE_TESTS") == "quick" and self.natives and "--jit" not in own and "--target" not in own:
            yield own + ["--jit", "tcc"]
            turn = seed if seed is not None else sum(os.path.basename(path).encode())
            turned = ["--target", ["scalar", *self.natives][turn % (1 + len(self.natives))]]
            each = each + turned
        yield each
        if seed is not None and seed % 20 == 10:
            others = [w for t in self.others[seed // 20 % max(len(self.others), 1):][:1] for w in ("--target", t)]
            yield own + ["--target", "scalar"] + others
        if seed is not None and seed % 5 == 2:
            yield own + ["--jit", "tcc", "--each-pass", "--kv", ["f16", "q8"][seed // 5 % 2], *turned]
        if seed is not None and seed % 8 in (3, 4, 6):
            ranks = own + ["--jit", "tcc", "--target", "scalar", "--ranks", "2,3"]
            yield from (ranks, ranks + ["--slots", "3"])
        storage = re.search(r"^# weights: (\w+)", text, re.M)
        if storage or (seed is not None and seed % 7 == 3):
            storage = storage.group(1) if storage else ["f32", "f16", "bf16"][seed // 7 % 3]
            weights = os.path.join(self.work, os.path.basename(path)[:-5] + storage)
            wrote = self.lathe("weights", path, "--quant", storage, "-o", weights)
            if wrote.returncode:
                raise RuntimeError(wrote.stderr)
            yield own + ["--jit", "tcc", "--weights", weights]
            os.remove(weights)

    def fitting(self, path, options):
        """The options that the model can take, and the run with them."""
        run = self.lathe("verify", path, *options)
        while unfit := next((name for name, said in UNFIT.items() if name in options and said in run.stderr), None):
            options = without(options, unfit)
            run = self.lathe("verify", path, *options)
        return options, run

    def verify(self, seed, path, text):
        """None: all is well; 'ill'; or (what was said, options)."""
        ill, hidden = False, is_hidden(text)
        printed = self.lathe("parse", "--check", path)
        if printed.returncode:
            return printed.stderr, None
        try:
            for options in self.runs(seed, path, text):
                options, run = self.fitting(path, options)
                if passed(run, hidden) and "--each-pass" in options:
                    paged = ["--pages", "3"] if len(text) % 2 else []
                    options, run = self.fitting(path, [option for option in options if option != "--each-pass"] + ["--slots", "3"] + paged)
                if passed(run, hidden) or "lathe: --slots: " in run.stderr:  # no model for batches, and why
                    continue
                if not is_ill(run.stdout, hidden):
                    return run.stdout + run.stderr, narrowed(options, run.stdout) if hidden else options
                ill = True
        except subprocess.TimeoutExpired as late:
            return f"not done after {SECONDS} s: {' '.join(late.cmd)}", None
        except RuntimeError as error:
            return str(error), None
        return "ill" if ill else None

    def one(self, what):
        """A seed or a file: its name, and as verify says."""
        seed = None if what.endswith(".model") else int(what)
        path, name = what, "kept " + os.path.basename(what)[:-6]
        if seed is None:
            with open(path) as f:
                text = f.read()
        else:
            text, name, path = Model(seed).write(), f"random {seed}", os.path.join(self.work, f"random{seed}.model")
            with open(path, "w") as f:
                f.write(text)
        said = self.verify(seed, path, text)
        if said and said != "ill" and seed is not None:
            os.makedirs(self.kept, exist_ok=True)
            shutil.copy(path, self.kept)
            with open(os.path.join(self.kept, f"random{seed}.log"), "w") as f:
                f.write(said[0])
        if seed is not None:
            os.remove(path)
        return name, said

    def all(self, whats):
        """Of each in order, some ahead: a few take a hundred times as long as most."""
        with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
            ahead = []
            for what in whats:
                ahead.append(pool.submit(self.one, what))
                if len(ahead) > 64 * PROCESSES:
                    yield ahead.pop(0).result()
            for future in ahead:
                yield future.result()


def without(options, name):
    """Without an option and its value, each time it stands there."""
    return [o for i, o in enumerate(options) if o != name and (i == 0 or options[i - 1] != name)]


def is_hidden(text):
    """Whether floats hold the model's values only because the causal pass hides some (hidden.py)."""
    return re.search(r"^# hidden$", text, re.M) is not None


def wrong_lines(said, hidden):
    """What failed.  Without the proof, or the scan that reads no later row in any case, nothing is hidden: an error, though never a
    difference of bits, is then no defect."""
    wrong = [line for line in said.split("\n") if "FAIL" in line]
    return [line for line in wrong if not (hidden and line.startswith(("no causal: ", "no recur: ")) and line.count("FAIL") == 1 and
                                           "FAIL: more" in line)]


def passed(run, hidden):
    return run.returncode == 0 or (hidden and run.returncode == 1 and "no causal: " in run.stdout and not wrong_lines(run.stdout, True))


def narrowed(options, said):
    """For shrinking: the pass that fails first, which is not the causal one."""
    wrong = wrong_lines(said, True)
    off = re.match(r"no (\w+): ", wrong[0]) if wrong else None
    return [o for o in options if o != "--each-pass"] + (["--no-" + off.group(1)] if off else [])


def is_ill(said, hidden):
    wrong = wrong_lines(said, hidden)
    itself = re.search(r"^the interpreter itself, in floats +(\S+)", said, re.M)
    if not wrong or not itself:
        return False
    size = [re.match(r".* (\S+) +FAIL: more than \S+(; (?!FAIL).*)?$", line) for line in wrong]
    return all(m and not line.startswith("interpreted") and ": interpreted" not in line and
               float(m.group(1)) <= 10 * float(itself.group(1)) for m, line in zip(size, wrong))


def small(driver, path, target, options):
    """The shrunk model beside it; its name, or why there is none."""
    with open(target, "w") as f:
        run = subprocess.run([sys.executable, os.path.join(HERE, "shrink.py"), driver, path] + options, stdout=f,
                             stderr=subprocess.PIPE, text=True)
    if run.returncode:
        os.remove(target)
    return run.stderr.strip()


def seeds_until(end, first):
    while time.monotonic() < end:
        yield str(first)
        first += 1


def drive_long(drive, seconds, first):
    begun, counts, failed = time.monotonic(), {"compared": 0, "ill": 0}, []
    try:
        for name, said in drive.all(seeds_until(begun + seconds, first)):
            counts["ill" if said == "ill" else "compared"] += 1
            if said and said != "ill":
                failed.append(name)
                path = os.path.join(drive.kept, name.replace(" ", "") + ".model")
                print(f"\rFAIL {name}: {path}", flush=True)
                print("     " + small(drive.driver, path, path.replace(".model", ".small"), said[1] or []), flush=True)
            elif sys.stderr.isatty():
                sys.stderr.write(f"\r{counts['compared']} compared, {len(failed)} failed, {int(time.monotonic() - begun)} s ")
    except KeyboardInterrupt:
        print("\rinterrupted")
    hours = (time.monotonic() - begun) / 3600
    total = sum(counts.values())
    print(f"\r{counts['compared']} models compared, seeds {first} to {first + total - 1}, {counts['ill']} more ill-conditioned, "
          f"{len(failed)} failed; {int(total / hours)} an hour")
    return 1 if failed else 0


def drive_list(drive, whats):
    failed = ill = 0
    for name, said in drive.all(whats):
        ill += said == "ill"
        if not said or said == "ill":
            print("ok", name + (", ill-conditioned" if said else ""), flush=True)
            continue
        failed += 1
        where = f": {drive.kept}/{name.replace(' ', '')}.model" if name.startswith("random") else ""
        print(f"FAIL {name}{where}")
        print("".join(f"     {line}\n" for line in said[0].split("\n")[-12:]), end="", flush=True)
    print(f"{len(whats) - failed - ill} compared, {ill} ill-conditioned, {failed} failed")
    return 1 if failed else 0


def check_shrinking(drive):
    """A mistake hidden in a large model comes out alone."""
    path = os.path.join(drive.work, "mistake.model")
    text = Model(2).write().rstrip().rstrip("}")
    with open(path, "w") as f:
        f.write(text + "    repeat again[k] : 3 { hidden = softmax(iota(5) * k) @ missing }\n}\n")
    said = small(drive.driver, path, path + ".small", ["--jit", "tcc"])
    with open(path + ".small") as f:
        found = [line.strip() for line in f if line.strip() and not line.startswith("#")]
    good = len(found) <= 4 and any("missing" in line for line in found)
    print(f"ok random shrinking ({len(text.split())} words)" if good else f"FAIL random shrinking: {said}: {' / '.join(found)}")
    return 0 if good else 1


def keep(drive, what, name):
    path = what
    if not what.endswith(".model"):
        path = os.path.join(drive.work, f"random{what}.model")
        with open(path, "w") as f:
            f.write(Model(int(what)).write())
    with open(path) as f:
        text = f.read()
    said = drive.verify(None if path == what else int(what), path, text)
    if not said or said == "ill":
        sys.exit(f"{what}: nothing is wrong with it")
    target = os.path.join(HERE, "kept", name + ".model")
    print(small(drive.driver, path, target, said[1] or []))
    if not os.path.exists(target):
        return 1
    with open(target) as f:
        lines = [line for line in f if not line.startswith("# verify:")]
    own = shrink.options_in(text)
    stored = ["# hidden\n"] if is_hidden(text) else []
    stored += [f"# weights: {option.split('.')[-1]}\n" for option in (said[1] or []) if option.startswith(drive.work)]
    own += ["--jit", "cc", "--target", "scalar"] if "--jit" not in (said[1] or []) else []
    with open(target, "w") as f:
        f.writelines(stored + ([f"# verify: {' '.join(own)}\n"] if own else []) + lines)
    return 0


def main(driver, *arguments):
    with tempfile.TemporaryDirectory() as work:
        drive = Drive(os.path.abspath(driver), work)
        if arguments[0] == "--keep":
            return keep(drive, *arguments[1:])
        if arguments[0] == "--shrinking":
            return check_shrinking(drive)
        if arguments[0] == "--seconds":
            return drive_long(drive, float(arguments[1]), int(arguments[3]) if len(arguments) > 2 else 1001)
        return drive_list(drive, list(arguments))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
