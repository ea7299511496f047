"""What `lathe show --json`, `lathe verify --json` and `lathe targets --json` say, against the texts.

    check.py LATHE ROOT
"""

import json
import re
import subprocess
import sys

LATHE, ROOT = sys.argv[1:]
failed = False


def verdict(name, good, *found):
    global failed
    print(f"{'ok' if good else 'FAIL'} show: {name}", *([] if good else found))
    failed = failed or not good


def lathe(*words, status=0):
    done = subprocess.run([LATHE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return (done.stdout if status == 0 else done.stderr).decode()


def number(text):
    return int(text.replace(",", ""))


def of(model, part, *options):
    path = f"{ROOT}/models/{model}.model"
    return json.loads(lathe("show", path, part, "--json", *options)), lathe("show", path, part, *options)


for model in ["tale", "sketch", "deepseek_v3", "whisper", "gemma3", "topics"]:
    params, text = of(model, "params")
    rows = [line.split() for line in text.splitlines()[1:] if not line.startswith(("total", "in use"))]
    verdict(f"{model}: the weights of params",
            [(w["name"], w["slots"], w["parameters"]) for w in params["weights"]] == [(r[0], int(r[-2]), number(r[-1])) for r in rows])
    verdict(f"{model}: their sum", sum(w["parameters"] for w in params["weights"]) == params["parameters"]
            and f"total {params['parameters']:,}\n" in text and params["in_use"] <= params["parameters"])
    taps, text = of(model, "taps")
    verdict(f"{model}: taps", [t["name"] for t in taps["taps"]] == [line.split()[0] for line in text.splitlines()])
    cost, text = of(model, "cost")
    totals = [number(re.search(r"([\d,]+)  [\d.]+ \w*FLOP$", line)[1]) for line in text.splitlines() if line.startswith("  total")]
    verdict(f"{model}: cost", cost["parameters"] == params["parameters"] and [c["flop"] for c in cost["calls"]] == totals, cost["calls"], totals)
    summed = [sum(f * c["positions"]**i for kind in ("products", "attention", "elementwise") for i, f in enumerate(c[kind]))
              for c in cost["calls"]]
    verdict(f"{model}: the formulas of cost", summed == totals, summed, totals)
    if "cache_values" in cost:
        verdict(f"{model}: its cache", f"{cost['cache_values']:,} values" in text
                and sum(s["values"] for s in cost["states"]) == cost["cache_values"])


def with_states(nodes):
    """The nodes of a graph that keep, or read, a state."""
    for n in nodes:
        if "state" in n:
            yield n
        for body in n.get("bodies", []):
            yield from with_states(body["nodes"])


for model in ["tale", "whisper", "retnet"]:
    graph, text = of(model, "graph")
    line, states = dict(re.findall(r"%(\d+) = (.*)", text)), graph["states"]
    nodes = list(with_states(graph["nodes"]))
    verdict(f"{model}: the states of its graph", {n["state"] for n in nodes} == set(range(len(states)))
            and all(re.search(rf"^{n['op']} .*\b{re.escape(states[n['state']]['name'])} ", line[str(n["id"])]) for n in nodes)
            and all(n.get("axis", -1) == states[n["state"]]["axis"] for n in nodes), states, nodes)
    repeats = {int(i) for i, node in line.items() if node.startswith("repeat ")}
    verdict(f"{model}: the repeats of its states", all(s["repeats"] and repeats >= set(s["repeats"]) for s in states), states)
verdict("hyperparameters", of("tale", "params", "-D", "layers=3")[0]["hyperparameters"]["layers"] == 3)
cost, text = of("tale", "cost", "--quant", "q8_0", "--kv", "f16")
verdict("storage types of weights", f"{cost['stored']['bytes']:,} bytes" in text and cost["stored"]["values"]["q8_0"] > 0
        and {s["storage"] for s in cost["states"]} == {"f16"}, cost)
verdict("a part that has no JSON", "takes no --json" in lathe("show", f"{ROOT}/models/tale.model", "code", "--json", status=2))


def lines_of(steps, depth=0):
    """The steps as the text has them."""
    for s in steps:
        facts = [(k, v) for k, v in s.items() if k not in ("step", "steps")]
        said = [str(facts[0][1])] * bool(facts) + [f"{k} {v}" for k, v in facts[1:]]
        yield "  " * depth + s["step"] + (" " + ", ".join(said) if said else "")
        yield from lines_of(s.get("steps", []), depth + 1)


WORDS = "value matmul|loop|matmul|attention|scan|select|active|fill|repeat"

for model in ["tale", "deepseek_v3", "whisper", "gemma3"]:
    loops, text = of(model, "loops")
    verdict(f"{model}: loops", [l["name"] for l in loops["loops"]] == re.findall(r"(?m)^loop (\w+)", text)
            and [n for l in loops["loops"] for n in l["settings"]] == re.findall(r"(?m)^    (\w+) ", text), loops)
    plan, text = of(model, "plan", "--target", "avx2")
    top, buffers = text.split("\nbuffers\n")
    program, listed = of(model, "program", "--target", "avx2")
    verdict(f"{model}: steps of the program", list(lines_of(plan["steps"])) == top.splitlines()[1:-1] and plan["target"] == "avx2"
            and program["steps"] == plan["steps"] and f"program\n{listed}" in text, top)
    _, ranked = of(model, "program", "--target", "avx2", "--ranked")
    verdict(f"{model}: its steps for ranks", "one thread" in ranked and "exchange " in ranked and "one thread" not in listed, ranked)
    barriers = plan["barriers"]
    said = re.findall(r"(?m)^(\d+) barriers? a call(?:, (\d+) with one row)?(?:, (\d+) where)?", top)[0]
    rows, one = int(said[0]), int(said[1] or said[0])
    verdict(f"{model}: its barriers", barriers == {"rows": rows, "one_row": one, "heads_divided": int(said[2] or one)}, barriers)
    rows = [line.split() for line in buffers.split("\n\n")[0].splitlines()[1:]]
    verdict(f"{model}: its buffers", [(b["home"], b["offset"], b["floats"], b["slots"]) for b in plan["buffers"]]
            == [(r[0], int(r[1]), int(r[2]), int(r[3])) for r in rows])
    verdict(f"{model}: its sizes", f"weights {plan['weights_floats']} floats, state {plan['state_floats']}, arena {plan['arena_floats']} "
            f"(lower bound {plan['arena_floats_least']})\nproducts read {plan['product_bytes']} bytes" in text)
    roof, text = of(model, "roofline")
    sums = [(sum(k["runs"] * k["flop"] for k in c["kernels"]), sum(k["runs"] * k["flop_of_products"] for k in c["kernels"]),
             sum(k["runs"] * (k["bytes_read"] + k["bytes_written"]) for k in c["kernels"])) for c in roof["calls"]]
    said = [tuple(map(int, m)) for m in re.findall(r"all runs: (\d+) FLOPs, of products and attention (\d+); (\d+) bytes", text)]
    verdict(f"{model}: roofline", sums == said and [c["about"] for c in roof["calls"]] == re.findall(r"(?m)^(\S.*)$", text), sums, said)
    shares, text = of(model, "threads", "--threads", "3")
    said = re.findall(rf"(?m)^  ([| ]) (?:{WORDS}) +(\w+) +(all by each|\d+ \d+ \d+)", text)
    found = [("|" if k["waits"] else " ", k["name"], "all by each" if k["own"] else " ".join(map(str, k["done"])))
             for c in shares["calls"] for k in c["kernels"] if k["kind"] != "repeat"]
    verdict(f"{model}: threads", found == said and shares["threads"] == 3, found, said)

# weights of products that a step reads: 4 layers share the matrices of ffn, 3 of them are recurrent; 2 experts of 5
def products_read(sizes):
    return 4 * sum(times * n * k for times, n, k in sizes)


attention, recurrence = [(2, 24, 24), (2, 8, 24), (1, 24, 24)], [(1, 16, 24), (1, 16, 24), (2, 28, 24), (2, 4, 24), (1, 24, 28)]
experts = [(1, 5, 24), (2 * 2, 10, 24), (2, 24, 10), (2, 14, 24), (1, 24, 14)]
plan = json.loads(lathe("show", f"{ROOT}/tests/families/qwen3_5_moe.model", "plan", "--json"))
said = products_read([(1, 37, 24)] + attention + [(3 * t, n, k) for t, n, k in recurrence] + [(4 * t, n, k) for t, n, k in experts])
verdict("products of layers of two kinds, and of experts", plan["product_bytes"] == said, plan["product_bytes"], said)

tale = f"{ROOT}/models/tale.model"
# one row, 3 heads of keys in 2 blocks: blocks are shared only where that leaves a thread less
for threads, said in ((2, "3 3 of 6 blocks"), (3, "1 1 1 of 3 heads"), (4, "0 1 1 1 of 3 heads"), (6, "1 1 1 1 1 1 of 6 blocks")):
    text = lathe("show", tale, "threads", "-D", "context=512", "--threads", str(threads))
    verdict(f"attention of one row by {threads} threads", f" {said} of keys" in text, re.findall("layer_attn +(.*keys)", text))
options = [tale, "--jit", "tcc", "--target", "scalar", "-n", "12"]
found, text = json.loads(lathe("verify", *options, "--json")), lathe("verify", *options)
said = re.findall(r"(?m)^((?:interpreted|compiled), .*?)  +(\S+)", text)
verdict("verify: checks", [c["what"] for c in found["checks"]] == [s[0] for s in said] and found["sizes"] == {"time": 12}
        and all(f"{c['error']:.1e}" == s[1] or c["error"] == 0 == float(s[1]) for c, s in zip(found["checks"], said))
        and found["passed"] and all(c["passed"] for c in found["checks"]), found["checks"], said)
most = max(found["values"], key=lambda v: v["error"])
verdict("verify: values", f"the largest of {len(found['values'])}: {most['name']} ({most['op']})" in text
        and found["values_of"] in text and found["first_over"] is None, most)
done = subprocess.run([LATHE, "verify", *options, "--bound", "1e-9", "--json"], stdout=subprocess.PIPE)
found = json.loads(done.stdout)
over = {v["name"]: v for v in found["values"]}[found["first_over"]]
verdict("verify: an error over the bound", done.returncode == 1 and not found["passed"] and found["checks"][0]["passed"]
        and not found["checks"][-1]["passed"] and over["error"] > 1e-9 and over["file"].endswith(".model") and over["line"] > 0
        and over["found"] != over["expected"] and 0 < found["in_floats"] < 1e-5, over)


def said_of(*words):
    """What a command says as JSON and as text, whatever its verdict."""
    json_, text = (subprocess.run([LATHE, *words, *more], stdout=subprocess.PIPE) for more in (["--json"], []))
    assert json_.returncode == text.returncode, words
    return json.loads(json_.stdout), text.stdout.decode(), text.returncode


taps = f"{ROOT}/tests/taps/torch"
against = ["verify", f"{taps}.model", "--weights", f"{taps}.weights.safetensors", "--against", f"{taps}.safetensors", "--target", "native", "--jit", "tcc"]
for name, bound, status in (("", [], 0), (", over the bound", ["--bound", "1e-30"], 1)):
    found, text, code = said_of(*against, *bound)
    values = [v for c in found["checks"] for v in c["values"]]
    rows = re.findall(r"(?m)^(\S+)  +\[([\d, ]*)\]  +(\S+)(?:  \[([\d, ]*)\])?(?:  FAIL.*)?$", text)
    verdict(f"verify --against{name}: values as in the text", len(rows) == len(values) > 8 and all(
        (v["name"], ", ".join(map(str, v["shape"])), "0" if v["error"] == 0 else f"{v['error']:.1e}", ", ".join(map(str, v["at"] or []))) == row
        for v, row in zip(values, rows)), values, text)
    verdict(f"verify --against{name}: verdicts", code == status and found["passed"] == (status == 0) and sum(not v["passed"] for v in values) == text.count("FAIL")
            and [c["what"] for c in found["checks"]] == re.findall(r"(?m)^(?:interpreted|compiled, .*)$", text)
            and all(c["otherwise"] is None for c in found["checks"]) and found["sizes"] == {"time": 7}, found)
    wrong = re.findall(r"FAIL: more than \S+: (\S+) where the file has (\S+)", text)
    verdict(f"verify --against{name}: what is found", wrong == [(f"{v['found']:.9g}", f"{v['expected']:.9g}") for v in values if not v["passed"]], wrong, values)

measure = ["verify", tale, "--weights", f"{ROOT}/models/tale/tale.safetensors", "--tokenizer", f"{ROOT}/models/tale/tokenizer.bin",
           "--text", f"{ROOT}/tests/accuracy/tale.txt", "--jit", "tcc"]
found, text, code = said_of(*measure, "--quant", "q8_0", "--top", "3", "--sample", "20")
pairs = {name: (f"{scale * found[key]['exact']:.6g}", f"{scale * found[key]['narrow']:.6g}")
         for name, key, scale in (("weights, MB", "weights_bytes", 1e-6), ("perplexity", "perplexity", 1))}
verdict("verify --text: both perplexities", code == 0 and pairs == {name: (a, b) for name, a, b in re.findall(r"(?m)^(.*?)  +([\d.]+)  +([\d.]+)$", text)}, pairs, text)
kl = found["divergence"]
verdict("verify --text: divergence", f"mean {kl['mean']:.4g}, 99 % of positions to {kl['of_99_percent']:.4g}, largest {kl['largest']:.4g}" in text
        and f"at {found['another_likeliest']} of {found['predicted']} positions" in text and f"in windows of {found['window']}" in text, found, text)
rows = re.findall(r"(?m)^(\S+)  +(q8_0)  +(\S+)  +(\S+)  +(\S+)$", text)
verdict("verify --text: weight by weight", found["sampled"] == 20 and len(rows) == 3 and rows == [
    (w["name"], w["storage"], f"{1e-6 * w['bytes']:.4g}", f"{w['rms_error']:.4g}", f"{w['divergence']:.4g}") for w in found["weights"]], found, text)
found, text, code = said_of(*measure)
verdict("verify --text: only perplexity", f"{found['perplexity']['exact']:.6g}" in text and found["perplexity"]["narrow"] is None and "divergence" not in found, found)

targets = json.loads(lathe("targets", "--json"))
lines = [line.split(None, 1) for line in lathe("targets").splitlines()]
verdict("targets", [t["name"] for t in targets] == [line[0] for line in lines] and all(t["about"] in line[1] for t, line in zip(targets, lines)))
verdict("one target is native", [t["runs"] for t in targets].count("native") == 1)
verdict("their flags", {t["name"]: t["flags"] for t in targets}["avx2"] == "-mavx2 -mfma -mf16c")
good, bad = f"{ROOT}/tests/golden/tale.golden", "none.golden"
checks = json.loads(lathe("golden", "check", good, "--jit", "tcc", "--target", "scalar", "--json"))
verdict("a golden check", [(c["file"], c["target"], c["how"], c["passed"], c["code"]) for c in checks] == [(good, "scalar", "tcc", True, 0)]
        and checks[0]["said"][0].startswith("ok "), checks)
done = subprocess.run([LATHE, "golden", "check", good, bad, "--jit", "tcc", "--target", "scalar", "--json"], stdout=subprocess.PIPE)
checks = json.loads(done.stdout)
verdict("golden checks that fail", done.returncode == 3 and [c["passed"] for c in checks] == [True, False]
        and "none.golden" in " ".join(checks[1]["said"]), done.returncode, checks)
sys.exit(failed)
