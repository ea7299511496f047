"""Conversations on a pseudo-terminal: lines, commands, interrupts, files.

usage: terminal.py DRIVER FOLDER     prints ok NAME or FAIL NAME: REASON, a line each

The same tests run with `lathe run` and with an emitted program, except those of the line editor.
"""
import json
import os
import pty
import resource
import select
import shutil
import signal
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "terminal"))
from pseudo_terminal import PseudoTerminal  # noqa: E402

DRIVER, FOLDER = sys.argv[1], sys.argv[2]
TOKENIZER = os.path.abspath("tests/tokenizers/trained/gpt-2.json")
PROMPT = "> "
PATIENCE = 100  # seconds until a test gives up; no result depends on time
MODEL = """import llamas
model short : llama {
    layers 1  heads 2  d_model 16  d_ff 32  vocab 720  context 400
    loop generate {
        start 1  stop [0, 10]  forbid [OTHERS]
        system "<|im_start|>system\\n{}<|end|>\\n"  user "<|im_start|>user\\n{}<|end|>\\n"
        answer "<|im_start|>assistant\\n{}<|end|>\\n"  open "<|im_start|>assistant\\n"
    }
}
model long : short { context 16000; loop generate { forbid [0, 10, OTHERS] } }
model letters : long { loop generate { forbid [BUT_LETTERS] } }
model silent : short { loop generate none }
model plain : silent { loop generate { start 1  stop [0, 10]  user "{}"  answer "{}" } }
"""
failed = 0


def verdict(name, why):
    global failed
    failed += bool(why)
    print(f"FAIL talk-terminal/{name}: {why}" if why else f"ok talk-terminal/{name}", flush=True)


class Terminal(PseudoTerminal):
    """A program with a terminal of its own."""

    patience, newline_is_shared = PATIENCE, True

    def __init__(self, argv):
        environment = dict(os.environ, TERM="xterm", HOME=FOLDER, LC_ALL="C.UTF-8", NO_COLOR="1", LATHE_CHAT_HISTORY=FOLDER + "/history")
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(FOLDER)
            os.execve(argv[0], argv, environment)
        self.start = self.wait("\n" + PROMPT)

    def say(self, line, *wanted):
        """Enters a line; returns the text up to the next prompt, from the end of the line on."""
        self.send(line + "\r")
        came = self.wait("\n", *wanted, "\n" + PROMPT)
        return came[came.index("\n") + 1:]

    def answered(self, n):
        """Waits for n characters of an answer, after the end of the input's line."""
        begin, came = time.time(), self.wait("\n").split("\n", 1)[1]
        while len(came) < n:
            if select.select([self.fd], [], [], 1)[0]:
                came += os.read(self.fd, 65536).decode(errors="replace")
            if time.time() - begin > PATIENCE:
                raise TimeoutError(f"an answer of {n} characters did not come; so far {came[-300:]!r}")

    def echoes(self):
        return bool(termios.tcgetattr(self.fd)[3] & termios.ECHO)

    def left(self):
        """The exit code, after all output."""
        begin = time.time()
        try:
            while time.time() - begin < PATIENCE:
                if select.select([self.fd], [], [], 1)[0] and not os.read(self.fd, 65536):
                    break
        except OSError:
            pass
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return code

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        self.left()


def attempt(kind, test):
    name = kind + ": " + test.__name__.replace("_", " ")
    try:
        verdict(name, test(kind))
    except (EOFError, TimeoutError, OSError, ValueError) as e:
        verdict(name, f"{type(e).__name__}: {e}")


# refuses a conversation that does not end with a turn of the user
TEMPLATE = ("{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|end|>\\n' }}{% endfor %}"
            "{% if messages[-1].role != 'user' %}{{ raise_exception('no question') }}{% endif %}"
            "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
CONFIG = {"architectures": ["LlamaForCausalLM"], "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
          "num_key_value_heads": 2, "vocab_size": 720, "max_position_embeddings": 400, "rms_norm_eps": 1e-05, "tie_word_embeddings": False,
          "eos_token_id": 0}


def command(kind, model, *options):
    options = ("--temp", "0", *options)  # the same answers after /reset
    if kind == "published":
        return [DRIVER, "run", "published", "--random", "--target", "scalar", "--jit", "code", *options]
    if kind == "program":
        return [f"{FOLDER}/{model}", *options]
    return [DRIVER, "run", "small.model", "-m", model, "--tokenizer", TOKENIZER, "--target", "scalar", "--jit", "code", *options]


def messages(t, path):
    """Saves the conversation and returns its messages as (role, content)."""
    t.say(f"/save {path}", "saved in")
    with open(f"{FOLDER}/{path}", encoding="utf-8") as f:
        return [(m["role"], m["content"]) for m in map(json.loads, f)]


def texts(t, path, role):
    return [content for r, content in messages(t, path) if r == role]


# --- both ---------------------------------------------------------------------------------------------------------------------


def commands_and_leaving(kind):
    t = Terminal(command(kind, "short", "-n", "6"))
    if "Ctrl-D or /bye leaves; /help lists the commands" not in t.start:
        return f"no first line: {t.start!r}"
    t.say("/help", "/reset", "/system TEXT", "/save FILE", "/load FILE", "/bye")
    t.say("/what", "unknown command", "/what", "/reset")
    t.say("/save", "unknown command")
    t.say("Hello?")
    t.say("//help me")
    t.say("")
    was = messages(t, "m.jsonl")
    if [r for r, _ in was] != ["user", "assistant"] * 2 or [c for r, c in was if r == "user"] != ["Hello?", "/help me"]:
        return f"saved {was}"
    t.say("/save no/such/folder", "No such file")
    t.say("/reset", "a new conversation")
    t.say("Hello?")
    if messages(t, "m.jsonl") != was[:2]:
        return "a new conversation does not begin like the first"
    t.send("/bye\r")
    code = t.left()
    t = Terminal(command(kind, "short", "-n", "6"))
    t.send("\x04")
    return (code or t.left()) and "the exit code is not 0"


def system_messages(kind):
    t = Terminal(command(kind, "short", "-n", "6", "--system", "One."))
    t.say("Hello?")
    first = messages(t, "m.jsonl")
    t.say("/reset")
    t.say("/system Two  words. ", "with this system message")
    t.say("Hello?")
    second = messages(t, "m.jsonl")
    t.say("/system", "the model's own")
    t.say("Hello?")
    third = messages(t, "m.jsonl")
    t.end()
    other = Terminal(command(kind, "short", "-n", "6", "--system", "Two  words."))
    other.say("Hello?")
    same = messages(other, "m.jsonl")
    other.end()
    if [m[0][1] for m in (first, second, third)] != ["One.", "Two  words.", "Hello?"] or len(first) != 3 or len(third) != 2:
        return f"saved {first}, {second}, {third}"
    if second != same:
        return f"/system gives {second}, and --system {same}"
    t = Terminal(command(kind, "plain", "-n", "6"))
    t.say("/system Be brief.", "no place for a system message")
    t.end()
    return None


def several_lines(kind):
    t = Terminal(command(kind, "short", "-n", "6"))
    for lines in (['"""one', "", "/two", 'three"""'], ['"""', "four", '"""'], ['"""five"""'], ['"""six', 'a """ b', '"seven""""']):
        for line in lines[:-1]:
            t.send(line + "\r")
            t.wait("\n", "... ")
        t.say(lines[-1])
    t.send('"""eight\r')
    t.wait("... ")
    t.send("nine")
    t.wait("nine")
    t.send("\x03")
    t.wait("the line is discarded; Ctrl-D or /bye leaves", PROMPT)
    t.say('""""""')
    t.say("ten")
    found = texts(t, "m.jsonl", "user")
    t.end()
    return found != ["one\n\n/two\nthree", "four", "five", 'six\na """ b\n"seven"', "ten"] and f"turns {found}"


def interrupt_of_an_answer(kind):
    t = Terminal(command(kind, "long"))
    t.send("Hello?\r")
    t.answered(120)  # then the program waits for the terminal, which is not read
    time.sleep(0.3)
    if t.echoes():
        return "the terminal echoes during an answer"
    t.send("typed too early\r/bye\r")
    t.send("\x03")
    came = t.wait("stopped: the answer ends here", "\n" + PROMPT)
    if "typed" in came:
        return "typed text is in the answer"
    found = messages(t, "stopped.jsonl")
    if len(found) != 2 or len(found[1][1]) < 100 or found[0][1] != "Hello?":
        return f"saved {found}"
    if kind == "program" and not t.echoes():
        return "the terminal does not echo after the answer"
    t.send("And?\r")
    t.answered(9)
    t.send("\x03")
    t.wait("stopped: ", "\n" + PROMPT)
    went_on = messages(t, "m.jsonl")
    t.end()
    if went_on[:3] != found + [("user", "And?")] or len(went_on) != 4:
        return f"the conversation continues as {str(went_on)[:300]}"
    other = Terminal(command(kind, "long", "-n", "40"))
    other.say("/load stopped.jsonl", "2 messages are loaded")
    other.say("And?")
    again = messages(other, "m.jsonl")
    other.end()
    same = min(len(went_on[3][1]), len(again[3][1]))
    return (same < 9 or went_on[3][1][:same] != again[3][1][:same]) and f"the answer after an interrupt is {went_on[3][1][:80]!r}, and after loading {again[3][1]!r}"


def processed(report):
    """The number of tokens that an answer begins with, in the report of -v."""
    return int(report.split(" prompt tokens")[0].split()[-1])


def continues_without_drafts(kind, draft):
    """After an answer is stopped, the state ends with its last token but one: rejected drafts after it are not kept."""
    whole = Terminal(command(kind, "letters", "-n", "20", "-v"))
    whole.say("Hello?")
    wanted = processed(whole.say("And?"))
    whole.end()
    t = Terminal(command(kind, "letters", "-v", "--draft", draft))
    for turn in "Hello?", "And?":
        t.send(turn + "\r")
        t.answered(120)
        t.send("\x03")
        report = t.wait("stopped: the answer ends here", "\n" + PROMPT)
    t.end()
    return processed(report) != wanted and f"{processed(report)} tokens are processed, not {wanted}"


def interrupt_of_drafts(kind):
    return continues_without_drafts(kind, "5")


def interrupt_of_wrong_drafts(kind):
    """The drafts of a model whose weights are a hash of other names: most are rejected."""
    return continues_without_drafts(kind, "other.model")


def typing_during_an_answer(kind):
    t = Terminal(command(kind, "long", "-n", "3000"))
    t.send("Hello?\r")
    t.wait("\n", "e")  # see above
    time.sleep(0.3)
    t.send("typed too early\r")
    came = t.wait("\n" + PROMPT)
    found = texts(t, "m.jsonl", "user")
    t.end()
    return "typed" in came and "typed text is in the answer" or found != ["Hello?"] and f"turns {found}"


def end_by_a_signal(kind):
    t = Terminal(command(kind, "long"))
    t.send("Hello?\r")
    t.wait("\n", "e")  # see above
    time.sleep(0.3)
    was = t.echoes()
    other = os.dup(t.fd)
    os.kill(t.pid, signal.SIGTERM)
    code = t.left()
    echoes = termios.tcgetattr(other)[3] & termios.ECHO
    os.close(other)
    if was or not echoes:
        return f"the terminal echoes: {was} during an answer, {bool(echoes)} afterwards"
    return code != -signal.SIGTERM and f"left with {code}"


def interrupt_at_the_prompt(kind):
    t = Terminal(command(kind, "short", "-n", "6"))
    t.send("not this")
    t.wait("not this")
    t.send("\x03")
    t.wait("the line is discarded; Ctrl-D or /bye leaves", PROMPT)
    t.send("\x03")
    t.wait("the line is discarded", PROMPT)
    t.say("this")
    found = texts(t, "m.jsonl", "user")
    t.send("/exit\r")
    return found != ["this"] and f"turns {found}" or t.left() and "the exit code is not 0"


def saving_and_loading(kind):
    t = Terminal(command(kind, "short", "-n", "9", "--system", 'A "quoted" \\ täxt.'))
    for line in ("Hello?", "What is that, and that, and that?", '"""a', 'b"""'):
        t.send(line + "\r")
        t.wait("\n", "... " if line == '"""a' else "\n" + PROMPT)
    was = messages(t, "was.jsonl")
    answer = t.say("And now?").split("\r\n")[0]
    whole = messages(t, "m.jsonl")
    t.end()
    t = Terminal(command(kind, "short", "-n", "9", "-v"))
    t.say("Something else?")
    t.say("/load was.jsonl", f"{len(was)} messages are loaded from was.jsonl")
    if messages(t, "m.jsonl") != was:
        return "the loaded conversation differs from the saved one"
    came = t.say("And now?")
    if messages(t, "m.jsonl") != whole or not came.startswith(answer):
        return f"the answer after loading is {came!r}, not {answer!r}"
    fed = int(came.split(" prompt tokens")[0].split()[-1])
    if fed > 40:
        return f"after loading, {fed} tokens are processed again"
    wrong = {
        "no JSON": ("Hello\n", ":1: expected {"),
        "number": ('{"role": "user", "content": 1}\n', ":1: expected {"),
        "open": ('{"role": "user", "content": "a}\n', ":1: expected {"),
        "escape": ('{"role": "user", "content": "\\x"}\n', ":1: expected {"),
        "rest": ('{"role": "user", "content": "a"} x\n', ":1: expected {"),
        "role": ('{"role": "tool", "content": "a"}\n', ":1: expected {"),
        "turn": ('{"role": "user", "content": "a"}\n\n{"role": "user", "content": "a"}\n', ":3: expected a message of the assistant"),
        "order": ('{"role": "assistant", "content": "a"}\n', ":1: expected a message of the user"),
        "half": ('{"role": "user", "content": "a"}\n', ":1: the last message must be one of the assistant"),
        "system": ('{"role": "user", "content": "a"}\n{"role": "system", "content": "a"}\n', ":2: only the first message"),
    }
    for name, (text, message) in wrong.items():
        with open(f"{FOLDER}/wrong.jsonl", "w", encoding="utf-8") as f:
            f.write(text)
        t.say("/load wrong.jsonl", message, "unchanged")
        if messages(t, "m.jsonl") != whole:
            return f"{name}: the conversation changed"
    t.say("/load nothing.jsonl", "No such file")
    with open(f"{FOLDER}/other.jsonl", "w", encoding="utf-8") as f:
        f.write('\n {"content":"\\u00e4\\ud83d\\ude00\\t\\/", "role" : "user", "id": "7"}\n{"role": "assistant", "content": "\\ud800x"}')
    t.say("/load other.jsonl", "2 messages are loaded")
    found = messages(t, "m.jsonl")
    t.end()
    return found != [("user", "ä\U0001f600\t/"), ("assistant", "\ufffdx")] and f"loaded {found}"


def saving_is_safe(kind):
    folder = f"{FOLDER}/kept"
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    os.symlink("m.jsonl", folder + "/link.jsonl")
    t = Terminal(command(kind, "short", "-n", "6"))
    t.say("Hello?")
    was = messages(t, "kept/link.jsonl")
    if not os.path.islink(folder + "/link.jsonl") or sorted(os.listdir(folder)) != ["link.jsonl", "m.jsonl"]:
        return f"a link was replaced, or files remained: {os.listdir(folder)}"
    t.say("/save /dev/full", "/dev/full: it exists and is not a regular file; nothing was written")
    t.say("/save kept", "kept: it exists and is not a regular file")
    t.say("And?")
    with open(folder + "/m.jsonl", "rb") as f:
        text = f.read()
    resource.prlimit(t.pid, resource.RLIMIT_FSIZE, (len(text) + 9, resource.RLIM_INFINITY))
    t.say("/save kept/link.jsonl", "kept/link.jsonl: File too large; nothing was written")
    with open(folder + "/m.jsonl", "rb") as f:
        now = f.read()
    if now != text or len(os.listdir(folder)) != 2:
        return f"after an error, the file has {len(now)} bytes of {len(text)}, and the folder {os.listdir(folder)}"
    t.say("/reset")
    t.say("/load kept/m.jsonl", "2 messages are loaded")
    found = messages(t, "kept/m.jsonl")
    t.end()
    return found != was and f"saved {found}, not {was}"


# --- lathe ----------------------------------------------------------------------------------------------------------------------


def editing_and_recall(kind):
    t = Terminal(command(kind, "short", "-n", "6"))
    t.say("Hlo?\x1b[D\x1b[D\x1b[Del")  # three to the left
    t.send('"""one\r')
    t.wait("... ")
    t.say('two"""')
    t.send("\x1b[A")
    t.wait("one")
    t.say("")
    t.send("\x1b[A\x1b[A")
    t.wait("Hello?")
    t.say("")
    t.send("/bye\r")
    t.left()
    t = Terminal(command(kind, "short", "-n", "6"))
    t.send("\x1b[A\x1b[A")
    t.wait("Hello?")
    t.say("\x05 Again?")
    found = texts(t, "m.jsonl", "user")
    t.end()
    return found != ["Hello? Again?"] and f"turns {found}"


def other_tokens():
    """Tokens with bytes that are not printed as they are: answers of the model without them are texts in ASCII."""
    with open(TOKENIZER, encoding="utf-8") as f:
        vocabulary = json.load(f)["model"]["vocab"]
    return ", ".join(str(i) for token, i in vocabulary.items() if i > 10 and not all("!" <= c <= "~" or c == "\u0120" for c in token))


def but_letters():
    """All tokens but letters that never merge: a text of these has the same tokens when it is encoded again."""
    with open(TOKENIZER, encoding="utf-8") as f:
        model = json.load(f)["model"]
    merges = {tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]}
    letters = []
    for c in "etaoinshrdlucmfwypvbgkqjxz":
        if c in model["vocab"] and not any((a, b) in merges for x in (*letters, c) for a, b in ((x, c), (c, x))):
            letters.append(c)
    return ", ".join(str(i) for i in range(720) if i not in [model["vocab"][c] for c in letters])


def publish():
    """A published model with a chat template."""
    os.mkdir(FOLDER + "/published")
    shutil.copy(TOKENIZER, FOLDER + "/published/tokenizer.json")
    files = {"config": CONFIG, "tokenizer_config": {"added_tokens_decoder": {"0": {"content": "<|end|>"}}, "chat_template": TEMPLATE},
             "generation_config": {"suppress_tokens": json.loads(f"[{other_tokens()}]")}}
    for name, content in files.items():
        with open(f"{FOLDER}/published/{name}.json", "w", encoding="utf-8") as f:
            json.dump(content, f)


def main():
    publish()
    with open(f"{FOLDER}/small.model", "w", encoding="utf-8") as f:
        f.write(MODEL.replace("OTHERS", other_tokens()).replace("BUT_LETTERS", but_letters()))
    with open(f"{FOLDER}/other.model", "w", encoding="utf-8") as f:
        f.write("import llamas\nmodel other : llama { layers 1  heads 2  d_model 32  d_ff 32  vocab 720  context 16000 }\n")
    cc = os.environ.get("CC", "cc").split()
    for model in ("short", "long", "letters", "plain"):
        build = [DRIVER, "build", "small.model", "-m", model, "--tokenizer", TOKENIZER, "--target", "scalar", "--main", "--embed", "-o", f"{model}.c"]
        subprocess.run(build, cwd=FOLDER, check=True, stderr=subprocess.DEVNULL)
        subprocess.run([*cc, "-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", f"{model}.c", "-o", model,
                        "-lpthread", "-lm"], cwd=FOLDER, check=True)
    for kind in ("lathe", "program"):
        for test in (commands_and_leaving, system_messages, several_lines, interrupt_of_an_answer, interrupt_of_drafts, typing_during_an_answer,
                     end_by_a_signal, interrupt_at_the_prompt, saving_and_loading, saving_is_safe):
            attempt(kind, test)
    attempt("lathe", interrupt_of_wrong_drafts)
    attempt("lathe", editing_and_recall)
    attempt("published", commands_and_leaving)
    attempt("published", saving_and_loading)


main()
sys.exit(failed > 0)
