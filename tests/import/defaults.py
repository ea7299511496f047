#!/usr/bin/env python3
"""Defaults of the library's config items beside those of transformers' classes: for people; it needs transformers, not torch.

    tests/import/defaults.py build/lathe >tests/import/defaults.txt

For each architecture of models/lib/huggingface.model: each key that an item reads with a number, a text, a truth or none as its default,
where the class of that architecture's configuration says something else.  A key that the class lacks is of older versions."""
import os
import pprint
import re
import subprocess
import sys

import transformers
from transformers import CONFIG_MAPPING

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MAPPING = os.path.join(os.path.dirname(transformers.__file__), "models/auto/modeling_auto.py")


def trees(text):
    """The s-expressions that `lathe parse` prints."""
    stack = [[]]
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|[()]|[^\s()]+', text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    return stack[0]


def literal(tree):
    """(known, value)"""
    if isinstance(tree, list):
        if len(tree) == 2 and tree[0] == "neg":
            known, value = literal(tree[1])
            return known, -value if known else None
        return False, None
    words = {"none": None, "true": True, "false": False}
    if tree in words:
        return True, words[tree]
    if tree.startswith('"'):
        return True, tree[1:-1]
    try:
        return True, float(tree)
    except ValueError:
        return False, None


NEEDED = object()  # in place of a default
# another head of the same configuration class
HEAD = re.compile(r"For(SequenceClassification|TokenClassification|QuestionAnswering)$")


def is_repeated(architecture, where):
    """Whether the item has the architecture's configuration under another head, too."""
    stem = HEAD.sub("", architecture)
    return stem != architecture and any(other.startswith(stem) and not HEAD.search(other) for other, _ in where)


def items(lathe):
    dump = subprocess.run([lathe, "parse", f"{ROOT}/models/lib/huggingface.model"], capture_output=True, text=True, check=True).stdout
    out = {}
    for item in trees(dump)[0][1:]:
        if item[0] != "config":
            continue
        _, name, parent, body, sources = item
        reads = {}
        for statement in body[1:]:
            if isinstance(statement, list) and statement[:2] == ["keys", "read"]:
                for _, key, _, kind, default in statement[2:]:
                    reads[key.strip('"')] = literal(default) if kind == "-" else (False, NEEDED)
            elif isinstance(statement, list) and statement[:2] in (["keys", "ignore"], ["keys", "omit"]):
                for key in statement[2:]:
                    reads[key[1].strip('"')] = (False, None)
        where = [(s[1].strip('"'), s[2:]) if isinstance(s, list) else (s.strip('"'), []) for s in sources[1:]] if isinstance(sources, list) else []
        out[name] = (parent, reads, where)
    return out


def of_class(architecture, path, kinds):
    """What the class says where a file lacks a key, or None: there is no such class."""
    if architecture not in kinds:
        return None
    config = CONFIG_MAPPING[kinds[architecture]](**{part: {} for part in path[:1]}).to_dict()
    for part in path:
        config = config.get(part)
        if config is None:
            return None
    rotary = config.get("rope_parameters") or {}
    for name in ("rope_theta", "partial_rotary_factor"):
        if name in rotary:
            config.setdefault(name, rotary[name])
    return config


def same(ours, theirs):
    if isinstance(ours, float) and isinstance(theirs, (int, float)) and not isinstance(theirs, bool):
        return ours == float(theirs)
    return ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool)


def classes():
    with open(MAPPING, encoding="utf-8") as f:
        rows = re.findall(r'\("([\w-]+)", "(\w+)"\)', f.read())
    named = [(kind, a) for kind, a in rows if a.lower().startswith(kind.replace("_", "").replace("-", "") + "for")]
    # their own names are those of the whole, with pictures
    parts = [("dots3_note_text", "Dots3NoteForCausalLM"), ("qwen4_exp_text", "Qwen4ExpForCausalLM")]
    return {a: kind for kind, a in rows + named + parts if kind in CONFIG_MAPPING}        # of several that of its own name


def main(lathe):
    kinds = classes()
    print(f"# transformers {transformers.__version__}: item, architecture, key, the item's default, the class's")
    table = items(lathe)
    compared = 0
    for name, (parent, reads, where) in table.items():
        whole, above = dict(reads), parent
        while above in table:
            whole = {**table[above][1], **whole}
            above = table[above][0]
        for architecture, path in where:
            theirs = of_class(architecture, [p.strip('"') for p in path], kinds)
            if theirs is None:
                print(f"{name}\t{architecture}\t-\t-\tno such class")
                continue
            for key, (known, value) in sorted(whole.items()):
                if not known or key not in theirs or key == "id2label" or (key == "pad_token_id" and not architecture.endswith("ForSequenceClassification")):
                    continue
                if key != "pad_token_id" and is_repeated(architecture, where):
                    continue
                compared += 1
                if not same(value, theirs[key]):
                    print(f"{name}\t{architecture}\t{key}\t{value}\t{(pprint.pformat(theirs[key], width=10**6) if isinstance(theirs[key], dict) else str(theirs[key]))[:60]}")
    print(f"# {compared} defaults compared")


if __name__ == "__main__":
    main(sys.argv[1])
