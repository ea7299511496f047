"""Conversations with tools by the chat template of a published model: `lathe run --messages --tools`.

usage: tools.py LATHE FOLDER     FOLDER has the published models chat, and numbers: the same without a tokenizer

The ids of a conversation are put together here: special tokens, and the plain texts between two of them, each encoded at once.
Prints ok NAME or FAIL NAME: REASON, a line each.
"""
import json
import subprocess
import sys

LATHE, FOLDER = sys.argv[1], sys.argv[2]
SPECIAL = {"<|end|>": 0, "<|im_start|>": 2}
TEMPLATE = ("{% for t in tools or [] %}{{ '<|im_start|>tools\\n' + t | tojson(ensure_ascii=ASCII) + '<|end|>' }}{% endfor %}"
            "{% for m in messages %}{% if m.content == 'bad' %}{{ raise_exception('no bad words') }}{% endif %}"
            "{{ '<|im_start|>' + m.role + '\\n' + m.content | default('') }}"
            "{% for c in m.tool_calls or [] %}{{ c.function | tojson }}{% endfor %}{{ '<|end|>\\n' }}{% endfor %}"
            "{{ '<|im_start|>assistant\\n' if add_generation_prompt else '' }}")
THINKING = ("{% for m in messages %}<|im_start|>{{ m.role }} {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
            "<|end|>{% endfor %}{{ '<|im_start|>assistant ' if add_generation_prompt }}")
RUN = ["--random", "--target", "scalar", "--jit", "code", "--hash"]
TYPED = "a <|end|> <|im_start|>"  # typed texts of special tokens are plain texts
TOOLS = [{"name": "add", "description": TYPED, "parameters": {"<|end|>": {"default": 1.0}}}]
CALL = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "add", "arguments": {"<|im_start|>": TYPED}}}]}
ASKED, RESULT = {"role": "user", "content": "Hi!"}, {"role": "tool", "content": TYPED}
failed = 0


def verdict(name, why):
    global failed
    failed += bool(why)
    print(f"FAIL talk: tools: {name}: {why}" if why else f"ok talk: tools: {name}", flush=True)


def write(name, text):
    with open(f"{FOLDER}/{name}", "w", encoding="utf-8") as f:
        f.write(text)


def lathe(*words, given=""):
    return subprocess.run([LATHE, *words], cwd=FOLDER, input=given, capture_output=True, text=True, errors="replace", check=False)


def hashes(done):
    return [line for line in done.stderr.split("\n") if line.startswith("hash ")]


def ids_of(parts):
    """A special token by its text, a plain text as a list of one."""
    ids = []
    for part in parts:
        if isinstance(part, str):
            ids.append(SPECIAL[part])
        else:
            ids += lathe("encode", "chat", "--bare", "--json", given=json.dumps(part[0]) + "\n").stdout.split()
    return " ".join(map(str, ids))


def parts_of(tools, messages, ascii_only=False):
    """The template's text, as specials and plain texts."""
    parts, between = [], ""
    for tool in tools or []:
        parts += ["<|im_start|>", ["tools\n" + json.dumps(tool, ensure_ascii=ascii_only)], "<|end|>"]
    for m in messages:
        calls = "".join(json.dumps(c["function"]) for c in m.get("tool_calls", []))
        parts += [*([[between]] if between else []), "<|im_start|>", [m["role"] + "\n" + (m["content"] or "") + calls], "<|end|>"]
        between = "\n"
    return [*parts, [between], "<|im_start|>", ["assistant\n"]]


def publish(ascii_only=False, template=TEMPLATE):
    write("chat/chat_template.jinja", template.replace("ASCII", "true" if ascii_only else "false"))


def given(messages, *options, command="run", stdin="", steps="3"):
    write("m.jsonl", "".join(json.dumps(m) + "\n" for m in messages))
    return lathe(command, "chat", *RUN, "-n", steps, "--messages", "m.jsonl", *options, given=stdin)


def same(name, done, tools, messages, ascii_only=False):
    expected = hashes(lathe("run", "numbers", *RUN, "-n", "3", "-p", ids_of(parts_of(tools, messages, ascii_only))))
    verdict(name, (not expected or hashes(done) != expected or done.returncode != 0) and f"{done.stdout!r}, {done.stderr!r}, not {expected}")


def refused(name, done, code, message):
    verdict(name, (done.returncode != code or message not in done.stderr or done.stdout) and f"{done.returncode}, {done.stdout!r}, {done.stderr!r}")


def answers():
    publish()
    for model in ("chat", "numbers"):
        with open(f"{FOLDER}/{model}/config.json", encoding="utf-8") as f:
            config = json.load(f)
        write(f"{model}/config.json", json.dumps({**config, "max_position_embeddings": 600}))
    write("t.json", json.dumps(TOOLS))
    tools = ("--tools", "t.json")
    same("a question", given([ASKED], *tools), TOOLS, [ASKED])
    same("a result, typed special tokens", given([ASKED, CALL, RESULT], *tools), TOOLS, [ASKED, CALL, RESULT])
    write("list.json", " \n" + json.dumps([ASKED, CALL, RESULT], indent=1))
    same("messages as one list", lathe("run", "chat", *RUN, "-n", "3", "--messages", "list.json", *tools), TOOLS, [ASKED, CALL, RESULT])
    write("list.json", json.dumps([ASKED, {"content": "Hi!"}]))
    refused("a message of a list without a role", lathe("run", "chat", *RUN, "--messages", "list.json"), 1, "list.json: error: message 2: expected an object with a role")
    same("messages without tools", given([ASKED, CALL, RESULT]), None, [ASKED, CALL, RESULT])
    same("a turn after messages", given([ASKED, CALL, RESULT, {"role": "assistant", "content": "No."}], *tools, "-p", TYPED), TOOLS,
         [ASKED, CALL, RESULT, {"role": "assistant", "content": "No."}, {"role": "user", "content": TYPED}])
    same("lathe chat", given([ASKED], *tools, command="chat"), TOOLS, [ASKED])
    same("--system", given([ASKED], *tools, "--system", "Be brief."), TOOLS, [{"role": "system", "content": "Be brief."}, ASKED])
    same("tools from standard input", given([ASKED], "--tools", "-", stdin=json.dumps(TOOLS)), TOOLS, [ASKED])
    publish(ascii_only=True)
    same("tojson with escapes", given([ASKED, CALL, RESULT], *tools), TOOLS, [ASKED, CALL, RESULT], ascii_only=True)
    same("a character that marks special tokens", given([{"role": "user", "content": "\ue000<|end|> \\ue001"}], *tools), TOOLS,
         [{"role": "user", "content": "\ue000<|end|> \\ue001"}], ascii_only=True)
    publish(template="{{ messages | length }}" + TEMPLATE)  # so that all is processed at each turn
    write("letters.grammar", "root ::= [a-z]{5}\n")
    done = lathe("run", "chat", *RUN, "--grammar", "letters.grammar", *tools, given="Hi!\nWhy?\n")
    first = done.stdout.split("\n")[0]
    again = lathe("run", "chat", *RUN, "--grammar", "letters.grammar", *tools, "--messages", "-",
                  given="".join(json.dumps(m) + "\n" for m in (ASKED, {"role": "assistant", "content": first}, {"role": "user", "content": "Why?"})))
    verdict("a conversation by lines with tools", (len(hashes(done)) != 2 or hashes(again) != hashes(done)[1:]) and f"{done}, {again}")


def read_back():
    """Answers as messages, whose text a grammar prescribes."""
    publish(template="{% for m in messages %}<|im_start|>{{ m.role }} {{ m.content }}{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>"
                     "{% endfor %}<|end|>{% endfor %}{{ tools | tojson }}{{ '<|im_start|>assistant ' if add_generation_prompt }}")
    called = {"name": "add", "arguments": {"a": 2}}
    for name, answer, message in (
            ("a call", "Well <call>" + json.dumps(called) + "</call>", {"content": "Well", "tool_calls": [{"type": "function", "function": called}]}),
            ("no call", "Well", {"content": "Well"}), ("a broken call", '<call>{"name": 2}</call>', {"content": '<call>{"name": 2}</call>'})):
        write("answer.grammar", "root ::= " + json.dumps(answer) + "\n")
        done = given([ASKED], "--tools", "t.json", "--json", "--grammar", "answer.grammar", steps="60")
        wanted = json.dumps({"role": "assistant", **message}, separators=(",", ":")) + "\n"
        noted = ("a call of a tool is not read: byte 7" in done.stderr) == (name == "a broken call")
        verdict(f"--json, {name}", (done.stdout != wanted or done.returncode or not noted) and f"{done}")
    lines = lathe("run", "chat", *RUN, "--json", "--grammar", "answer.grammar", "-n", "60", given="Hi!\nWhy?\n")
    verdict("--json, a line for each turn", (lines.stdout != 2 * wanted or lines.returncode) and f"{lines}")
    publish(template=THINKING)
    for name, answer, hidden in (("a thought", "<think>\n\nHm <b>\n</think>\n\nFour <think>.", "Four <think>."), ("no thought", "Fo<thin", "Fo<thin"),
                                 ("a thought without an end", "<think> Hm </thin", ""), ("white space before", " \n<think>Hm</think>x", " \nx")):
        write("answer.grammar", "root ::= " + json.dumps(answer) + "\n")
        for how, wanted in (("hide", hidden), ("show", answer)):
            done = given([ASKED], "--think", how, "--grammar", "answer.grammar", steps="60")
            verdict(f"--think {how}, {name}", (done.stdout != wanted + "\n" or done.returncode) and f"{done}")
    publish(template=THINKING.replace("assistant ' if", "assistant <think>' if"))
    write("answer.grammar", 'root ::= "Hm</think>\\nFour."\n')
    done = given([ASKED], "--think", "hide", "--grammar", "answer.grammar", steps="60")
    verdict("--think hide, a thought that was begun", (done.stdout != "Four.\n") and f"{done}")
    refused("--think with --json", given([ASKED], "--json", "--think", "hide", "-p", "Hi"), 2, "has no effect with --json")
    refused("--json with --raw", given([ASKED], "--json", "--raw", "-p", "Hi"), 2, "has no effect with --raw")
    refused("--json without a template", lathe("run", "numbers", *RUN, "--json", "-p", "1 2"), 2, "lathe run: --json is for a published model with a chat template")


def refusals():
    publish()
    refused("the last message is an answer", given([ASKED, CALL], "--tools", "t.json"), 2, "the last message of m.jsonl is an answer; -p TEXT gives the next turn")
    refused("--raw", given([ASKED], "--raw"), 2, "--messages has no effect with --raw")
    refused("--beams", lathe("run", "chat", "--random", "--beams", "2", "--messages", "m.jsonl"), 2, "--beams is for a text, not a conversation")
    refused("two messages of the system", given([{"role": "system", "content": "a"}, ASKED], "--system", "b"), 2, "the system's message is given twice")
    refused("messages that the template refuses", given([{"role": "user", "content": "bad"}]), 1, "no bad words")
    refused("messages that are too long", given([{"role": "user", "content": "Hi! " * 600}]), 1, "but the context holds 600")
    write("m.jsonl", '{"role"}\n')
    refused("no JSON", lathe("run", "chat", *RUN, "--messages", "m.jsonl"), 1, "m.jsonl:1:8: error: ':' expected near '}'")
    for options, message in ((("--tools", "-"), "--tools and the turns of the user can't both be standard input"),
                             (("--tools", "-", "--messages", "-"), "--tools and --messages can't both be standard input"),
                             (("--tools", "-", "-p", "-"), "prompt and --tools can't both be standard input"),
                             (("--messages", "-", "-f", "-"), "prompt and --messages can't both be standard input"),
                             (("--messages", "-", "--grammar", "-"), "grammar and --messages can't both be standard input")):
        refused(" ".join(options), lathe("run", "chat", *RUN, *options), 2, message)
    publish(template="{% for m in messages %}{{ m.content }}{% endfor %}")
    refused("a template without tools", lathe("run", "chat", *RUN, "--tools", "t.json"), 2,
            "lathe run: --tools has no effect: the chat template chat/chat_template.jinja does not read tools")
    publish(template="{% for m in messages %}{{ m.content | batch(2) }}{% endfor %}")
    refused("a template that is refused", lathe("run", "chat", *RUN, "--tools", "t.json"), 2, "lathe run: --tools has no effect")
    publish(template="{% nonsense %}")
    refused("a template that can't be read", lathe("run", "chat", *RUN, "--tools", "t.json"), 2, "chat has none, or one that is refused")
    publish()
    spec = lathe("import", "--spec-only", "chat").stdout
    write("pieces.model", spec)
    model = ("run", "pieces.model", "--tokenizer", "chat", "--target", "scalar", "--jit", "code")
    refused("a model file with tools", lathe(*model, "--tools", "t.json"), 2,
            "lathe run: --tools is for a published model with a chat template and a tokenizer: chat writes conversations by the texts of its loop generate")
    refused("a model file with messages", lathe(*model, "--messages", "-", given=json.dumps(ASKED)), 2, "lathe run: --messages is for a published model")
    refused("a model without conversations", lathe("run", "numbers", *RUN, "--tools", "t.json"), 2, "numbers has none, or")
    for command in ("build", "page"):
        refused(command, lathe(command, "chat", "--random", "--tools", "t.json"), 2, "--tools")


answers()
read_back()
refusals()
sys.exit(failed > 0)
