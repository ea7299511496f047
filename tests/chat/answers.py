"""Answers that are read back: the cases of answers/cases.json, and calls that a template writes, which come back as they were.

    answers.py LATHE WORK"""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = [{"type": "function", "function": {"name": "add", "description": "d", "parameters": {
    "type": "object", "properties": {"a": {"type": "number"}, "text": {"type": "string"}}}}}]
ARGUMENTS = {"text": "a \"b\" <c>", "a": 3, "e": {"f": [1]}}
TEMPLATES = ["answers/tagged", "answers/keyed", "answers/values", "answers/named", "templates/qwen3", "templates/llama3_tools", "templates/mistral_tools"]


def model(work, template):
    """The template in a directory with tokens of its own."""
    folder = os.path.join(work, "answers")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        json.dump({"bos_token": "<s>", "eos_token": "</s>"}, f)
    with open(os.path.join(HERE, template + ".jinja")) as f, open(os.path.join(folder, "chat_template.jinja"), "w") as to:
        to.write(f.read())
    return folder


def verdict(name, good, *why):
    print(("ok chat, " if good else "FAIL chat, ") + name)
    for line in () if good else why:
        print("     " + str(line))
    return good


def read(lathe, folder, tools, answer):
    run = subprocess.run([lathe, "template", folder, "--answer", "-", "--tools", tools], input=answer, capture_output=True, text=True)
    return json.loads(run.stdout) if run.returncode == 0 else None, run.stderr


def case(lathe, work, tools, name, template, answer, wanted, note):
    found, said = read(lathe, model(work, template), tools, answer)
    wanted = {"role": "assistant", **wanted}
    if "tool_calls" in wanted:
        wanted["tool_calls"] = [{"type": "function", "function": {"name": c[0], "arguments": c[1]}, **({"id": c[2]} if c[2:] else {})}
                                for c in wanted["tool_calls"]]
    return verdict("answer, " + name, found == wanted and (note in said if note else not said), found, wanted, said)


def common(opened, text):
    """How many characters both begin with, less a mark that is cut through."""
    n = len(os.path.commonprefix([opened, text]))
    mark = max(text.rfind("<", 0, n), text.rfind("[", 0, n))
    return mark if mark > max(text.rfind(">", 0, n), text.rfind("]", 0, n)) else n


def round_trip(lathe, work, tools, template):
    folder, made = model(work, template), os.path.join(work, "messages.json")
    user = {"role": "user", "content": "Hi!"}
    good = True
    for count in (1, 2):
        for as_text in (False, True):
            arguments = json.dumps(ARGUMENTS) if as_text else ARGUMENTS
            calls = [{"id": f"abcdefgh{i}", "type": "function", "function": {"name": "add", "arguments": arguments}} for i in range(count)]
            with open(made, "w") as f:
                json.dump([user, {"role": "assistant", "content": "", "tool_calls": calls}], f)
            run = subprocess.run([lathe, "template", folder, "--messages", made, "--tools", tools], capture_output=True, text=True)
            if run.returncode == 0:
                break
        if run.returncode:  # a template that writes one call alone
            good = good and count == 2 and "llama3" in template
            continue
        opened = subprocess.run([lathe, "template", folder, "--tools", tools], input="Hi!\n", capture_output=True, text=True).stdout
        found, said = read(lathe, folder, tools, run.stdout[common(opened, run.stdout):])
        given = [c["function"]["arguments"] for c in found.get("tool_calls", [])]
        given = [json.loads(g) if isinstance(g, str) else g for g in given]
        good = good and not said and given == [ARGUMENTS] * count
    return verdict(f"calls of {template} come back", good, found, said, run.stdout, run.stderr)


def main(lathe, work):
    os.makedirs(work, exist_ok=True)
    tools = os.path.join(work, "tools.json")
    with open(tools, "w") as f:
        json.dump(TOOLS, f)
    with open(os.path.join(HERE, "answers", "cases.json")) as f:
        done = [case(lathe, work, tools, *row) for row in json.load(f)]
    done += [round_trip(lathe, work, tools, template) for template in TEMPLATES]
    return not all(done)


sys.exit(main(sys.argv[1], sys.argv[2]))
