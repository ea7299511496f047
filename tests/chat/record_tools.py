#!/usr/bin/env python3
"""Records how transformers renders conversations with tools: apply_chat_template on tests/chat/templates.

    tests/chat/record_tools.py >tests/chat/tools.json
    tests/chat/record_tools.py LATHE TEMPLATE...       compares `lathe template` with transformers on other templates

Recorded with transformers 5.24; the versions that ran are written into the file.  With the second form 160 published templates
were compared (those of the packages trl and axolotl, and of huggingface.js): equal, or refused by both.  Exceptions, all
refused with a position: Jamba (lists of arguments), MiniCPM3 (call), openchat (title).  Templates that omit contents that
are texts differ: lathe passes them lists of parts.
"""
import contextlib
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile

import jinja2
import tokenizers
import transformers
from transformers.utils import chat_template_utils

HERE = os.path.dirname(os.path.abspath(__file__))
TEMPLATES = ("chatml", "hermes_tools", "llama3_tools", "mistral_tools", "qwen3")
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}
DATE = datetime.datetime(2024, 7, 26)
TOOLS = [
    {"type": "function", "function": {"name": "add", "description": "It's \"add\" \u00e9 <b> & \u4f60\u597d", "parameters": {
        "type": "object", "required": ["b", "a"], "properties": {
            "b": {"type": "number", "default": 1.5, "minimum": -1e-07}, "a": {"enum": [3, 1, -2], "type": "integer"},
            "o": {"type": ["string", "null"], "default": None, "maxLength": 9007199254740993}}}, "strict": True}},
    {"type": "function", "function": {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}},
                                      "return": {"type": "string"}}}]


def call(name, arguments, **others):
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **others}


def said(role, content, **others):
    return {"role": role, "content": content, **others}


SYSTEM, ASKED = said("system", "Be brief & kind."), said("user", "What is 2 + 2?")
ADD = call("add", {"b": 2.0, "a": 1, "o": None, "s": "it's \"\u00e9\"\n\u0001", "l": [True, [], {}]}, id="abcdefgh1")
RESULT = said("tool", "3", tool_call_id="abcdefgh1", name="add")
CONVERSATIONS = {
    "question": [ASKED],
    "system": [SYSTEM, ASKED],
    "call": [ASKED, said("assistant", None, tool_calls=[ADD])],
    "result": [SYSTEM, ASKED, said("assistant", None, tool_calls=[ADD]), RESULT],
    "answered": [ASKED, said("assistant", "", tool_calls=[ADD]), RESULT, said("assistant", "It is 3.", tool_calls=None), said("user", "Thanks.")],
    "two calls": [SYSTEM, ASKED, said("assistant", "Let me see.", tool_calls=[ADD, call("now", {}, id="abcdefgh2")]), RESULT,
                  said("tool", '{"t": "noon"}', tool_call_id="abcdefgh2", name="now")],
    "thoughts": [ASKED, said("assistant", "", reasoning_content="I must add.\n", tool_calls=[ADD]), RESULT, said("assistant", "Three.", reasoning="Fine.")],
    "two names of thoughts": [ASKED, said("assistant", "Three.", thinking=None, reasoning="later", reasoning_content="first"), said("user", "Why?")],
    "arguments as a text": [ASKED, said("assistant", "", tool_calls=[call("add", '{"b": 2}', id="abcdefgh1")]), RESULT],
    "result as a value": [ASKED, {"role": "assistant", "tool_calls": [ADD]}, said("tool", {"sum": 3.0, "\u00e9": [None]}, tool_call_id="abcdefgh1")],
    "no type, no id": [ASKED, said("assistant", "", tool_calls=[{"name": "add", "arguments": {"b": 2}}]), said("tool", "3")],
    "no content": [ASKED, {"role": "assistant"}, said("user", "What?")],
}


class FixedDate(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return DATE


def rendered(template, tools, messages):
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(tokenizers.models.BPE()), **SPECIAL)
    opens = messages[-1]["role"] != "assistant"
    chat_template_utils.datetime = FixedDate
    try:
        return {"text": tokenizer.apply_chat_template(messages, tools=tools, chat_template=template, tokenize=False, add_generation_prompt=opens)}
    except (jinja2.TemplateError, TypeError, ValueError, AttributeError) as e:
        return {"error": f"{type(e).__name__}: {e}"}


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        return f.read()


def cases(templates):
    for path in templates:
        template = read(path)
        for name, messages in CONVERSATIONS.items():
            for tools in (None, TOOLS) if "tools" in template else (None,):
                yield {"template": path, "name": f"{name}{', tools' * bool(tools)}", "messages": messages, "tools": tools, **rendered(template, tools, messages)}


def compare(lathe, templates):
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        for case in cases(templates):
            shutil.copy(case["template"], folder + "/chat_template.jinja")
            for name, text in (("tokenizer_config.json", json.dumps(SPECIAL)), ("t.json", json.dumps(case["tools"])),
                               ("m.jsonl", "".join(json.dumps(m) + "\n" for m in case["messages"]))):
                with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
                    f.write(text)
            given = ["--tools", folder + "/t.json"] if case["tools"] else []
            date = ["--date", DATE.strftime("%Y-%m-%d")]
            done = subprocess.run([lathe, "template", folder, "--messages", folder + "/m.jsonl", *given, *date], capture_output=True, text=True, check=False)
            if done.stdout != case.get("text", "") or (done.returncode != 0) != ("error" in case):
                print(f"{case['template']}, {case['name']}: {done.stdout or done.stderr!r}, not {case.get('text') or case.get('error')!r}")


def main():
    if len(sys.argv) > 1:
        compare(sys.argv[1], sys.argv[2:])
        return
    recorded = list(cases([f"{HERE}/templates/{name}.jinja" for name in TEMPLATES]))
    for case in recorded:
        case["template"] = os.path.basename(case["template"])
        case["messages"] = case["name"].split(", tools")[0]
        case["tools"] = bool(case["tools"])
    versions = f"transformers {transformers.__version__}, jinja2 {jinja2.__version__}"
    print(json.dumps({"versions": versions, "tools": TOOLS, "conversations": CONVERSATIONS, "cases": recorded}, indent=0))
    print(f"{len(recorded)} cases, {sum('error' in c for c in recorded)} of them errors; {versions}", file=sys.stderr)


main()
