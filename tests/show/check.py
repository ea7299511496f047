"""What `lathe show --json` and `lathe targets --json` say, against the texts.

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
verdict("hyperparameters", of("tale", "params", "-D", "layers=3")[0]["hyperparameters"]["layers"] == 3)
cost, text = of("tale", "cost", "--quant", "q8_0", "--kv", "f16")
verdict("what weights are stored in", f"{cost['stored']['bytes']:,} bytes" in text and cost["stored"]["values"]["q8_0"] > 0
        and {s["storage"] for s in cost["states"]} == {"f16"}, cost)
verdict("a part that has no JSON", "takes no --json" in lathe("show", f"{ROOT}/models/tale.model", "loops", "--json", status=2))

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
