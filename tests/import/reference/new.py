#!/usr/bin/env python3
"""The workshop for adding an architecture: docs/new-architecture.md is its manual.

    V/bin/python tests/import/reference/new.py TYPE [NAME...] [--no-options] [--skeleton] [--lathe build/lathe] [--folder build/new] [--class CLASS] [--keep]

TYPE: a model type of transformers, such as olmo3.  For each of its configurations (configurations.py; by default a small one, and one with the
switches the other way; then the first with each other head that an item names) it makes a directory with random weights, records what transformers computes in float64, imports the directory with
lathe, and compares.  It prints the first value within the model that differs.  Without a config item it prints the beginning of one
(--skeleton: also if there is one).
Then it changes one option at a time: lathe must agree with transformers or refuse.  Options that change no output are listed.
NAME: only these configurations.  --no-options: without changes of options.
--keep: copies the configuration, the recorded values and the description of the weights to tests/import/reference/kept."""

import argparse
import copy
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
sys.path[:0] = [str(ROOT / "tests" / "oracle" / "families"), str(HERE), str(HERE.parent)]
import configurations
import skeleton
import workshop

KEPT = ("config.json", "generation_config.json", "weights.json", "gguf.json", "expected.safetensors")
BOUND = 1e-9


class Lathe:
    def __init__(self, path):
        self.path = str(pathlib.Path(path).resolve())

    def __call__(self, *words):
        done = subprocess.run([self.path, *map(str, words)], capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout, done.stderr


def indented(text):
    return "".join(f"    {line}\n" for line in text.rstrip("\n").split("\n"))


# ---- comparing ----

def comparable(lathe, path):
    """path/asked.safetensors: of the recorded values those that lathe has under the same name, with the same width; outputs come last."""
    header, content = workshop.seeded.header_of(path / "taps.safetensors")
    record = header.pop("__metadata__")
    _, said, _ = lathe("show", path, "taps")
    ours = dict(line.split(None, 1) for line in said.splitlines() if len(line.split()) > 1)
    inputs, outputs = record["inputs"].split(", "), record["outputs"].split(", ")
    within = [name for name, entry in header.items() if name not in inputs + outputs and fits(name, entry["shape"], ours)]
    order = {name: header[name] for name in inputs + within + outputs}
    workshop.seeded.write_file(path / "asked.safetensors", order, {name: content[slice(*entry["data_offsets"])] for name, entry in order.items()})
    return path / "asked.safetensors"


def fits(name, shape, ours):
    """Whether lathe has this value: names of its list have {i} or a number for the index of a repeat."""
    general = re.sub(r"\[\d+\]", "[i]", name)
    found = ours.get(name) or ours.get(general)
    return found is not None and found.rstrip("]").rstrip().endswith(f" {shape[-1]}")


def compared(lathe, path):
    """The rows of `lathe verify --against`, those that differ, and those that are left out; or the message of an error."""
    code, out, err = lathe("verify", path, "--against", comparable(lathe, path), "--interpreter", "--json")
    if not out.strip():
        return err or f"lathe verify: exit status {code}"
    order = list(workshop.seeded.header_of(path / "asked.safetensors")[0])
    values = sorted(json.loads(out)["checks"][0]["values"], key=lambda row: order.index(row["name"]))
    wrong = [row for row in values if row["error"] is None or row["error"] > BOUND]
    right = {row["name"] for row in values if row not in wrong}
    # a part of a layer whose result is right is another part under the same name, such as experts without those that are shared
    others = [row for row in wrong if re.sub(r"(layer\[\d+\])\.(attn|ffn)$", r"\1.x", row["name"]) in right]
    return [row for row in values if row not in others], [row for row in wrong if row not in others], others


def compare(lathe, path, config):
    """Prints each value that differs, in the order of computation, and names the first."""
    found = compared(lathe, path)
    if isinstance(found, str):
        print(indented(found), end="")
        return False
    values, wrong, others = found
    if others:
        print(f"  not compared, since the layer's result agrees: {', '.join(row['name'] for row in others)}")
    worst = max(row["error"] for row in values) if not wrong else BOUND
    print(f"  interpreter: {len(values)} values, {len(wrong)} differ by more than {worst:.1e} of the largest value")
    for row in wrong:
        shape, at = "[" + ", ".join(map(str, row["shape"])) + "]", "[" + ", ".join(map(str, row["at"] or [])) + "]"
        error = "not finite" if row["error"] is None else f"{row['error']:.1e}"
        print(f"    {row['name']:24} {shape:12} {error:10} at {at}: {row['found']} instead of {row['expected']}")
    if wrong:
        print(f"  first wrong: {wrong[0]['name']}{of_layer(wrong[0]['name'], config)}")
        before = values[:values.index(wrong[0])]
        if before:
            print(f"  last right:  {before[-1]['name']}{of_layer(before[-1]['name'], config)}")
    return not wrong


def of_layer(name, config):
    """What the configuration says of the layer of a value."""
    found = re.search(r"layer\[(\d+)\]", name)
    lists = {key: value for key, value in config.items() if isinstance(value, list) and len(value) == config.get("num_hidden_layers")}
    said = [f"{key} {value[int(found[1])]}" for key, value in lists.items()] if found else []
    return f" ({', '.join(said)})" if said else ""


def try_one(lathe, kind, name, changes, folder, skeletons):
    """Makes, imports, verifies and compares one configuration: whether all is right."""
    print(f"== {name}")
    try:
        module, unknown = workshop.write(kind, name, changes, folder)
    except Exception as why:
        where = traceback.extract_tb(why.__traceback__)[-1]
        print(f"  transformers cannot make or run it; try other keys in configurations.py:\n    {type(why).__name__}: {why}\n    {where.filename}:{where.lineno}")
        return False
    path = folder / name
    config = json.loads((path / "config.json").read_text())
    size = sum((path / part).stat().st_size for part in KEPT if (path / part).exists())
    print(f"  {type(module).__name__}, {sum(t.numel() for t in module.parameters())} weights, {size} bytes to keep: {path}")
    if unknown:
        print(f"  no rule of shrink.py makes these smaller: {', '.join(unknown)}")
    code, out, err = lathe("import", "--spec-only", path)
    if code:
        print("  lathe import refuses it:\n" + indented(err), end="")
        if "no config item for" in err and not skeleton.printed:
            skeleton.print_for(lathe, kind, module, path, lambda architecture: trial(lathe, path, architecture))
        return False
    if skeletons:
        skeleton.print_for(lathe, kind, module, path, lambda architecture: trial(lathe, path, architecture))
    print(indented(out), end="")
    if not compare(lathe, path, config):
        return False
    good = True
    for words in (["verify", path, "--target", "native", "--jit", "tcc"], [sys.executable, HERE / "check.py", lathe.path, folder, name]):
        if words[0] == "verify":
            code, out, err = lathe(*words)
        else:
            done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=600)
            code, out, err = done.returncode, done.stdout, done.stderr
        good = good and code == 0
        print(indented((out if words[0] != "verify" or code else compiled_said(lathe, path)) + (err if code else "")), end="")
    return good


def compiled_said(lathe, path):
    """The error of compiled code against the recorded outputs."""
    lines = lathe("verify", path, "--against", path / "expected.safetensors", "--target", "native", "--jit", "tcc")[1].splitlines()
    at = next((i for i, line in enumerate(lines) if line.startswith("compiled")), len(lines))
    return "\n".join(["lathe verify: compiled code equals the interpreter", *lines[at:at + 3]])


# ---- options ----

def difference(before, after):
    """The largest difference of outputs relative to the largest value; None if they have other shapes."""
    worst = 0
    for name, value in before.items():
        if name not in after or after[name].shape != value.shape:
            return None
        worst = max(worst, float((after[name] - value).abs().max() / value.abs().max()))
    return worst


def answer(lathe, path):
    """What lathe makes of a directory: "agrees", "DIFFERS by ..", or the message with which it refuses."""
    code, out, err = lathe("verify", path, "--against", path / "expected.safetensors", "--interpreter", "--json")
    if out.strip():
        worst = [row["error"] for row in json.loads(out)["checks"][0]["values"]]
        if all(error is not None and error <= BOUND for error in worst):
            return "agrees"
        return f"DIFFERS by {max(error if error is not None else float('inf') for error in worst):.1e}"
    return "refused: " + (err.split("error: ")[1].splitlines()[0] if "error: " in err else err.strip().splitlines()[0] if err.strip() else f"exit status {code}")


def try_options(lathe, kind, name, changes, folder, seen):
    """Changes one option at a time.  Sets seen[option] to "visible", "not visible" or "not tried"; whether lathe is right or refuses each time."""
    arguments, _ = workshop.arguments_of(kind, changes)
    cls, good = workshop.class_of(kind, changes.get("class")), True
    make_config = workshop.CONFIG_MAPPING[kind]
    base = make_config(**copy.deepcopy(arguments))
    before = workshop.write_one(cls, make_config(**copy.deepcopy(arguments)), folder / "option")[2]
    print(f"== options of {name}")
    for option, value, tries in workshop.shrink.options(arguments, base.to_dict()):
        said, note = None, "no other value is known"
        for change in tries:
            try:                                        # a copy, because some classes write into objects that they are given
                off = difference(before, workshop.write_one(cls, make_config(**copy.deepcopy(arguments | change)), folder / "option")[2])
            except Exception as why:
                note = f"transformers refuses: {str(why).strip().splitlines()[-1][:100] if str(why).strip() else type(why).__name__}"
                continue
            said, tried = answer(lathe, folder / "option"), change
            if off is None or off > 1e-9 or said.startswith("DIFFERS"):
                break
        if said is None:
            print(f"  {option:40} {shown(value):22} {note}")
            seen.setdefault(option, "not tried")
            continue
        seen[option] = "not visible" if seen.get(option) != "visible" else "visible"
        if off is None or off > 1e-9:
            seen[option] = "visible"
        effect = "other shapes" if off is None else f"changes {off:.1e}" if off > 1e-9 else "no change"
        print(f"  {option:40} {shown(value) + ' -> ' + shown(new_value(tried, option)):22} {effect:16} {said}")
        good = good and not said.startswith("DIFFERS")
    shutil.rmtree(folder / "option")
    return good


def new_value(change, option):
    """The value of rope_parameters.full_attention.factor in a change of rope_parameters."""
    for part in option.split("."):
        change = change[part]
    return change


def shown(value):
    text = json.dumps(value)
    return text if len(text) <= 16 else text[:13] + "..."


def trial(lathe, path, architecture):
    """What lathe makes of the directory as another architecture: a text, and whether it computes the same."""
    other = path.parent / "trial"
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(path, other)
    config = json.loads((path / "config.json").read_text())
    (other / "config.json").write_text(json.dumps(config | {"architectures": [architecture]}))
    said = answer(lathe, other)
    if said.startswith("DIFFERS"):
        found = compared(lathe, other)
        said = f"first wrong: {found[1][0]['name']}" if found[1:] and found[1] else said
    shutil.rmtree(other)
    return said, said == "agrees"


def has_head(name):
    """Whether an item names this class."""
    items = (ROOT / "models" / "lib" / "huggingface.model").read_text()
    return f'"{name}"' in items


def keep(folder, name):
    target = HERE / "kept" / name
    if (target / "gguf.json").exists() and not (folder / name / "gguf.json").exists():
        shutil.copy(target / "gguf.json", folder / name / "gguf.json")         # convert_gguf.py made it
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for part in KEPT:
        if (folder / name / part).exists():
            shutil.copy(folder / name / part, target / part)
    print(f"  kept: {target.relative_to(ROOT)}, {sum(p.stat().st_size for p in target.iterdir())} bytes")


def known(name, names, message):
    """Ends with the names that are near, if this one is none."""
    if name not in names:
        near = difflib.get_close_matches(name, names, 4, 0.5) or list(names)[:20]
        sys.exit(f"new.py: {message} {name}; there are, among others: {' '.join(near)}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip(), add_help=True)
    parser.add_argument("type")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--lathe", default=str(ROOT / "build" / "lathe"))
    parser.add_argument("--folder", default=str(ROOT / "build" / "new"))
    parser.add_argument("--class", dest="cls")
    parser.add_argument("--no-options", action="store_true")
    parser.add_argument("--skeleton", action="store_true")
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    lathe, folder = Lathe(given.lathe), pathlib.Path(given.folder)
    failed, seen = [], {}
    known(given.type, workshop.CONFIG_MAPPING.keys(), "transformers has no type")
    own = configurations.of_type(given.type)
    heads = {name: changes for name, changes in workshop.heads(given.type).items() if name not in own}
    for name in given.names:
        known(name, own | heads, f"{given.type} has no configuration")
    for name, changes in (own | heads).items():
        if given.names and name not in given.names or name in heads and not given.names and not has_head(changes["class"]):
            continue
        changes = changes | ({"class": given.cls} if given.cls else {})
        good = try_one(lathe, given.type, name, changes, folder, given.skeleton)
        if good and given.keep:
            keep(folder, name)
        if good and not given.no_options and name in own:
            good = try_options(lathe, given.type, name, changes, folder, seen)
        failed += [] if good else [name]
    reasons = configurations.INVISIBLE[""] | configurations.INVISIBLE.get(given.type, {})
    for option, result in sorted(seen.items()):
        if result != "visible":
            print(f"{result}: {option}{': ' + reasons[option] if option in reasons else ''}")
    print(f"FAIL {' '.join(failed)}" if failed else f"ok {given.type}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
