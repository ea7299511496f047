"""For a type without a config item: the library's families by how many names of tensors they share with it, and the beginning of an item and
of a checkpoint section."""

import re

import defaults
import workshop

LIBRARY = workshop.pathlib.Path(defaults.ROOT) / "models" / "lib"
PREFIX = re.compile(r"^(\{stem\}|\{head_stem\}|\{prefix\}|model\.|transformer\.|backbone\.|decoder\.|gpt_neox\.|bert\.|roberta\.)+")


printed = False                         # once for all configurations of a type


# ---- checkpoints of the library ----

def sections():
    """{checkpoint: (parent, {name of a tensor: its line})} and {model: (parent, its checkpoint)}, of all files of the library."""
    checkpoints, models = {}, {}
    for path in sorted(LIBRARY.glob("*.model")):
        text = re.sub(r"=\n\s+", "= ", path.read_text(encoding="utf-8"))
        for kind, name, parent, body in re.findall(r"^(checkpoint|model) (\w+)(?: : (\w+))? \{\n(.*?)^\}", text, re.M | re.S):
            lines = entries(body)
            if kind == "model":
                used = re.findall(r"\bcheckpoint (\w+)", body)
                own = f"checkpoint of {name}" if re.search(r"\bcheckpoint \{", body) else used[-1] if used else None
                models[name] = parent, own
                if not used and own:
                    checkpoints[own] = "", lines
            else:
                checkpoints[name] = parent, lines
    return checkpoints, models


def entries(body):
    """{name of a tensor: its line} of a section; lines that depend on a condition begin with `if`."""
    out, depth, inline = {}, 0, "checkpoint {" in body
    for line in body.splitlines():
        found = re.search(r"(?:optional |drop )?\"([^\"]+)\"", line)
        if found and any(word in line for word in ("=", "optional", "drop")):
            text = line.strip()
            out[found[1]] = f"if .. {{ {text} }}" if depth > inline and not text.startswith("if ") else text
        plain = re.sub(r'"[^"]*"', "", line)
        depth += plain.count("{") - plain.count("}")
    return out


def lines_of(name, checkpoints):
    """Lines of a checkpoint and its parents, by general name."""
    out = {}
    while name in checkpoints:
        parent, lines = checkpoints[name]
        out = {general(tensor): (line, name) for tensor, line in lines.items() if "*" not in tensor} | out
        name = parent
    return out


def general(name, own=""):
    """A name without its prefix, also that of the class itself, and with {i} for a layer and {e} for an expert."""
    name = PREFIX.sub("", name.removeprefix(f"{own}.") if own else name)
    for index in ("{i}", "{e}"):
        name = re.sub(r"(?<=\.)\d+(?=\.)", index, name, count=1)
    return name


def family_of(item, table, models):
    """The family of an item, and its checkpoint."""
    text = (LIBRARY / "huggingface.model").read_text(encoding="utf-8")
    family = None
    while item in table and family is None:
        body = re.search(rf"^config {item} : .*?^\}}", text, re.M | re.S)
        named = re.findall(r"\bmodel (\w+) \{", body[0]) if body else []
        family = named[-1] if named else None
        item = table[item][0]
    at = family
    while at in models and models[at][1] is None:
        at = models[at][0]
    return family, models[at][1] if at in models else None


# ---- keys ----

def written(value):
    """A value in the language."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return re.sub(r"\.0$|(?<=e)([+-]?)0+(?=\d)", r"\1", repr(value)).replace("e+", "e")
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(written, value)) + "]" if len(value) <= 6 else "none"
    return str(value)


def reads_of(item, table):
    """{key: (known, default)} of an item and its parents."""
    out = {}
    while item in table:
        out = table[item][1] | out
        item = table[item][0]
    return out


def item_text(kind, cls, parent, family, table):
    """The lines of an item: keys that the parent lacks or gives another default."""
    ours, said = reads_of(parent, table), workshop.shrink.defaults(kind)
    rotary = said.get("rope_parameters", (None, False))[0]
    if isinstance(rotary, dict) and "rope_theta" in rotary:
        said = said | {"rope_theta": (rotary["rope_theta"], False)}
    new, other, same = [], [], []
    for key, (value, computed) in said.items():
        value = None if computed else value
        if key in ("architectures", "model_type", "rope_parameters") or (key in ours and not ours[key][0] and ours[key][1] is None):
            continue                                    # ignored
        if key not in ours:
            new.append(f"{key} = {written(value)}")
        elif ours[key][0] and defaults.same(ours[key][1], value):
            same.append(key)
        else:
            other.append(f"{key} = {written(value)}")
    out = [f'config {kind.replace("-", "_")} : {parent} "{cls.__name__}" {{']
    out += wrapped("    read ", other)
    if new:
        out.append("    # keys that no parent has: use them in a setting, require a value, or ignore them with a reason")
        out += wrapped("    read ", new)
    out += wrapped(f"    # as in {parent}: ", same)
    if isinstance(rotary, dict):
        out.append(f"    # rope_parameters by default: {written_object(rotary)}")
    return out + [f"    model {family} {{", *([f"        # {', '.join(key.split(' =')[0] for key in new)}"] if new else []), "    }", "}"]


def written_object(value):
    return "{" + ", ".join(f"{k}: {written_object(v) if isinstance(v, dict) else written(v)}" for k, v in value.items()) + "}"


def wrapped(before, words):
    """Lines of at most about 150 characters."""
    lines, line = [], before
    for word in words:
        if len(line) + len(word) > 150:
            lines.append(line.rstrip(", "))
            line = before
        line += word + ", "
    return lines + [line.rstrip(", ")] if words else lines


# ---- the whole ----

def checkpoint_text(kind, family, checkpoint, tensors, checkpoints, prefix):
    """Names that the checkpoint of the family lacks, with the lines that other checkpoints have for them; and names that the file lacks."""
    ours = lines_of(checkpoint, checkpoints)
    shapes = {}
    for name, entry in tensors.items():
        shapes.setdefault(general(name, prefix), (name, entry["shape"]))
    every = {}
    for other in checkpoints:
        for name, (line, where) in lines_of(other, checkpoints).items():
            every.setdefault(name, (line, where))
    lacking = [name for name in shapes if name not in ours]
    left = [line for name, (line, _) in ours.items() if name not in shapes and required(line)]
    inline = checkpoint.startswith("checkpoint of")     # it has no name, so that its lines are copied
    if not lacking:
        out = [f"# All {len(shapes)} kinds of tensors have a line in {checkpoint if inline else 'checkpoint ' + checkpoint}."]
    else:
        out = [f"# {len(shapes) - len(lacking)} of {len(shapes)} kinds of tensors have a line in {checkpoint if inline else 'checkpoint ' + checkpoint}.",
               f"checkpoint huggingface_{kind.replace('-', '_')}{'' if inline else ' : ' + checkpoint} {{"]
        out += [f"    {ours[name][0]}" for name in shapes if inline and name in ours]
        for name in lacking:
            full, shape = shapes[name]
            line, where = every.get(name, (f'"{"{stem}" if full.startswith("model.") else ""}{general(full)}" = ?', None))
            out.append(f"    {line}".ljust(90) + f" # {shape}" + (f", as in {where}" if where else ""))
        out.append("}")
    return out + [f"# not in this file: {line}" for line in left[:12]]


def required(line):
    return not line.startswith(("optional", "drop", "if "))


def nearest(tensors, table, checkpoints, models, own, prefix):
    """Items by the share of names of tensors that are the same, best first, without those of the architecture `own`."""
    names = {general(name, prefix) for name in tensors}
    rows = []
    for item, (_, _, where) in table.items():
        family, checkpoint = family_of(item, table, models)
        lines = lines_of(checkpoint, checkpoints)
        needed = {name for name, (line, _) in lines.items() if required(line)}
        if lines and where and "ForConditionalGeneration" not in where[0][0] and own not in [architecture for architecture, _ in where]:
            rows.append((len(names & set(lines)) / len(names | needed), item, where[0][0], family, checkpoint))
    return sorted(rows, key=lambda row: -row[0])


def print_for(lathe, kind, module, path, trial):
    """trial(architecture): what lathe makes of the directory under another architecture."""
    global printed
    printed = True
    tensors, _ = workshop.seeded.header_of(path / "model.safetensors")
    tensors.pop("__metadata__", None)
    table, (checkpoints, models) = defaults.items(lathe.path), sections()
    prefix = getattr(type(module), "base_model_prefix", "")
    rows = nearest(tensors, table, checkpoints, models, type(module).__name__, prefix)
    print("  nearest items, by names of tensors:")
    tried = []
    for share, item, architecture, family, checkpoint in rows[:6]:
        said, good = trial(architecture)
        tried.append((not good, -share, item, family, checkpoint))
        print(f"    {100 * share:3.0f} %  {item:18} as {architecture}: {said}")
    _, _, parent, family, checkpoint = min(tried, key=lambda row: row[:2])
    print(f"  a config item to begin with (models/lib/huggingface.model), by {parent}:\n")
    print("\n".join(item_text(kind, type(module), parent, family, table)) + "\n")
    print("\n".join(checkpoint_text(kind, family, checkpoint, tensors, checkpoints, prefix)) + "\n")
