"""Conversations with tools: `lathe template --messages --tools` against transformers, tools.json of record_tools.py; wrong files.

usage: tools.py LATHE FOLDER     prints ok NAME or FAIL NAME: REASON, a line each
"""
import json
import os
import shutil
import subprocess
import sys

LATHE, FOLDER = sys.argv[1], sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}
HI = '{"role": "user", "content": "Hi!"}\n'
failed = 0


def verdict(name, why):
    global failed
    failed += bool(why)
    print(f"FAIL chat tools, {name}: {why}" if why else f"ok chat tools, {name}", flush=True)


def write(name, text):
    with open(f"{FOLDER}/{name}", "w", encoding="utf-8", newline="") as f:
        f.write(text)


def template(name):
    shutil.copy(f"{HERE}/templates/{name}", FOLDER + "/model/chat_template.jinja")


def run(*options, given=""):
    return subprocess.run([LATHE, "template", "model", "--date", "2024-07-26", *options], cwd=FOLDER, input=given, capture_output=True, text=True, check=False)


def lines(messages):
    return "".join(json.dumps(m) + "\n" for m in messages)


def as_transformers():
    with open(f"{HERE}/tools.json", encoding="utf-8") as f:
        recorded = json.load(f)
    write("tools.json", json.dumps(recorded["tools"], indent=2))
    groups = {}
    for case in recorded["cases"]:
        template(case["template"])
        write("m.jsonl", lines(recorded["conversations"][case["messages"]]))
        done = run("--messages", "m.jsonl", *(["--tools", "tools.json"] if case["tools"] else []))
        good = done.stdout == case["text"] and done.returncode == 0 if "text" in case else done.returncode == 1 and "chat_template.jinja:" in done.stderr
        group = groups.setdefault(case["template"], [])
        if not good:
            group.append(f"{case['name']}: {done.stdout or done.stderr!r}, not {case.get('text') or case['error']!r}")
    for name, faults in groups.items():
        verdict(f"{name} as {recorded['versions']}", "; ".join(faults))


def refused(name, code, message, *options, given=""):
    done = run(*options, given=given)
    verdict(name, (done.returncode != code or message not in done.stderr or done.stdout) and f"{done.returncode}, {done.stdout!r}, {done.stderr!r}")


def wrong_files():
    template("qwen3.jinja")
    call = '{"role": "assistant", "tool_calls": '
    for name, text, message in (
            ("no JSON", HI + "Hello\n", "m.jsonl:2:5: error: invalid token near 'Hello'; expected one object of JSON in each line, a message"),
            ("an open object", HI + '\n{"role": "user"\n', "m.jsonl:3:"),
            ("a missing colon", '{"role" "user"}\n', "m.jsonl:1:14: error: ':' expected near '\"user\"'"),
            ("a key twice", '{"role": "user", "role": "tool"}\n', "m.jsonl:1:"),
            ("a wide integer", '{"role": "user", "content": 99999999999999999999}\n', "m.jsonl:1:48: error: too big integer"),
            ("a text", '"Hi!"\n', "m.jsonl:1:1: error: expected an object with a role, as {\"role\": \"user\", \"content\": \"Hi!\"}"),
            ("no role", HI + '{"content": "Hi!"}\n', "m.jsonl:2:1: error: expected an object with a role"),
            ("a role that is no text", '{"role": 1}\n', "m.jsonl:1:1: error: expected an object with a role"),
            ("calls that are no list", HI + call + '{"name": "add"}}\n', "m.jsonl:2:1: error: expected tool_calls to be a list of objects, as [{"),
            ("calls that are texts", HI + call + '["add"]}\n', "m.jsonl:2:1: error: expected tool_calls to be a list of objects, as [{"),
            ("a list with a number", "[" + HI.strip() + ", 1]\n", "m.jsonl: error: message 2: expected an object with a role"),
            ("a list that does not end", "[\n" + HI.strip() + "\n\n", "m.jsonl:4:0: error: "),
            ("nothing", "\n \n", "m.jsonl: error: expected a line of JSON for each message, but there is none")):
        write("m.jsonl", text)
        refused("messages: " + name, 1, message, "--messages", "m.jsonl")
    write("m.jsonl", HI)
    for name, text, message in (
            ("no JSON", "Hello", "t.json:1:5: error: '[' or '{' expected near 'Hello'"),
            ("an open list", '[\n  {"name": "add"},\n', "t.json:3:"),
            ("one tool", '{"name": "add"}', "t.json:1:1: error: expected a list of tools, as [{\"type\": \"function\", "),
            ("a name", '[{"name": "add"}, "now"]', "t.json: error: tool 2 is not an object; expected [{\"type\": \"function\", "),
            ("a wide integer", '[{"maximum":\n 99999999999999999999}]', "t.json:2:21: error: too big integer")):
        write("t.json", text)
        refused("tools: " + name, 1, message, "--messages", "m.jsonl", "--tools", "t.json")
    refused("no file of tools", 3, "lathe template: absent.json: No such file", "--tools", "absent.json")
    refused("no file of messages", 3, "lathe template: absent.jsonl: No such file", "--messages", "absent.jsonl")


def uses():
    template("qwen3.jinja")
    write("t.json", '[{"name": "add"}]')
    write("m.jsonl", HI)
    both = run("--tools", "t.json", "--messages", "m.jsonl").stdout
    verdict("turns of standard input, and tools", '{"name": "add"}' not in both or run("--tools", "t.json", given="Hi!\n").stdout != both)
    verdict("messages of standard input", run("--tools", "t.json", "--messages", "-", given=HI).stdout != both)
    verdict("tools of standard input", run("--tools", "-", "--messages", "m.jsonl", given='[{"name": "add"}]').stdout != both)
    verdict("a byte order mark, line ends of Windows", run("--messages", "-", given="\ufeff" + HI.replace("\n", "\r\n")).stdout != run(given="Hi!\n").stdout)
    named = run("--messages", "-", "--system", "Be brief.", given=HI).stdout
    verdict("--system before messages", "Be brief." not in named or named != run("--system", "Be brief.", given="Hi!\n").stdout)
    refused("two system messages", 2, "the system's message is given twice: by --system, and as the first one of -", "--messages", "-", "--system", "a",
            given='{"role": "system", "content": "b"}\n' + HI)
    refused("tools and turns", 2, "--tools and the turns can't both be standard input", "--tools", "-")
    refused("tools and messages", 2, "--tools and --messages can't both be standard input", "--tools", "-", "--messages", "-")
    for option in ("--tools", "--messages"):
        refused(option + " and --pieces", 2, f"{option} has no effect with --pieces", option, "t.json", "--pieces")
    template("chatml.jinja")
    refused("a template without tools", 2, "--tools has no effect: the chat template model/chat_template.jinja does not read tools", "--tools", "t.json")
    write("model/chat_template.jinja", "{% set tools = messages %}{{ messages | length }}")
    refused("a template that sets tools", 2, "does not read tools", "--tools", "t.json")
    write("model/chat_template.jinja", "{% for m in messages if m.role != 'system' %}{{ m.content }}{% endfor %}")
    refused("a template without a system message", 2, "--system has no effect: the chat template model/chat_template.jinja writes no system message",
            "--system", "a", given="Hi!\n")
    template("parts.jinja")
    verdict("contents that are lists of parts", run("--messages", "m.jsonl").stdout != run(given="Hi!\n").stdout)


def templates_of_tools():
    os.remove(FOLDER + "/model/chat_template.jinja")
    config = dict(SPECIAL, chat_template=[{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "{{ tools | tojson }}"}])
    write("model/tokenizer_config.json", json.dumps(config))
    done = run("--tools", "t.json", "--messages", "m.jsonl")
    verdict("a list of templates: tool_use", (done.stdout != '[{"name": "add"}]' or "the template named tool_use is taken, not default" not in done.stderr) and str(done))
    verdict("a list of templates without tools: default", run("--messages", "m.jsonl").stdout != "plain")
    write("model/chat_template.jinja", "plain")
    os.mkdir(FOLDER + "/model/additional_chat_templates")
    write("model/additional_chat_templates/tool_use.jinja", "{{ bos_token }}{{ tools | length }}")
    verdict("additional_chat_templates/tool_use.jinja", run("--tools", "t.json", "--messages", "m.jsonl").stdout != "<s>1" or run("--messages", "m.jsonl").stdout != "plain")


os.mkdir(FOLDER + "/model")
write("model/tokenizer_config.json", json.dumps(SPECIAL))
as_transformers()
wrong_files()
uses()
templates_of_tools()
sys.exit(failed > 0)
