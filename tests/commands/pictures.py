#!/usr/bin/env python3
"""Pictures of lathe show, held to what its text says.

    tests/commands/pictures.py DRIVER MODELS

Of each of some models: every picture is well-formed XML.  Arena: each buffer and each kernel once, as `show plan` lists them; those
that live at once share no byte; boxes lie where their bytes are; the highest ends where the arena does.  Threads: shares add up to
the units that `show threads` names, a thread is at one kernel at a time, barriers are those of the text.  Roofline: FLOPs of a step
and of a call are those of `show cost`; marks stand at their FLOPs a byte; percentages are those of the least times.  Graph: no block overlaps another, each lies within its group, all arrows
end at blocks; the .dot has the same blocks.  Prints ok or FAIL a line; nonzero if one failed.
"""

import functools
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"
MODELS = ["tale", "gpt2", "t5", "mixtral", "vit", "swin", "deepseek_v2", "gemma3"]
ROOF_OF = 100e9, 20e9  # FLOPs and bytes a second
ROOF = ["--roof", "100,20"]
PIXEL = 0.11  # coordinates are written with one decimal
driver, models = sys.argv[1:3]
failed = False


def verdict(name, faults):
    global failed
    print(f"FAIL pictures: {name}" if faults else f"ok pictures: {name}")
    for fault in faults[:5]:
        print(f"     {fault}")
    failed = failed or bool(faults)


@functools.cache
def show(model, *words):
    file = os.path.join(models, model + ".model")
    return subprocess.run([driver, "show", file, *words], check=True, capture_output=True, text=True).stdout


def picture(model, part, *words):
    return ET.fromstring(show(model, part, "-o", "-", *words))


def groups(root, name):
    """<g data-NAME ..>: its attributes without data-, as whole numbers where they are, and itself"""
    for g in root.iter(SVG + "g"):
        if f"data-{name}" in g.attrib:
            yield {k[5:]: int(v) if v.isdigit() else v for k, v in g.attrib.items()}, g


def box(g):
    r = g.find(SVG + "rect").attrib
    return tuple(float(r[k]) for k in ("x", "y", "width", "height"))


def meet(a, b, c, d):
    """do a to b and c to d, ends included, have something in common?"""
    return a <= d and c <= b


# --- the arena ---


def arena_faults(model):
    text, root = show(model, "plan"), picture(model, "plan")
    faults = []
    listed = sorted((int(m[1]) * 4, int(m[2]) * 4, int(m[3]), int(m[4])) for m in
                    re.finditer(r"^ +arena +(\d+) +(\d+) +\d+ +(\d+) - (\d+) ", text, re.M))
    buffers = [b for b, _ in groups(root, "buffer")]
    if sorted((b["offset"], b["bytes"], b["first"], b["last"]) for b in buffers) != listed:
        faults.append("buffers are not those of show plan")
    if len({b["buffer"] for b in buffers}) != len(buffers):
        faults.append("a buffer is drawn twice")
    own = [b for b in buffers if b["place"] == b["buffer"]]
    for i, a in enumerate(own):
        for b in own[:i]:
            if meet(a["first"], a["last"], b["first"], b["last"]) and meet(a["offset"], a["offset"] + a["bytes"] - 1,
                                                                          b["offset"], b["offset"] + b["bytes"] - 1):
                faults.append(f"buffers {a['buffer']} and {b['buffer']} share bytes")
    place = {b["buffer"]: b for b in own}
    for b in buffers:
        host = place[b["place"]]
        if b["offset"] != host["offset"] or b["bytes"] > host["bytes"]:
            faults.append(f"buffer {b['buffer']} does not lie in its place")
    size = int(re.search(r", arena (\d+)", text)[1]) * 4
    if max(b["offset"] + b["bytes"] for b in buffers) != size:
        faults.append("the highest buffer does not end where the arena does")
    (peak, line), = groups(root, "arena")
    if peak["arena"] != size:
        faults.append("the line is not the arena's")
    # boxes against the bytes: the line is at `size`, the axis at 0
    top = float(line.find(SVG + "line").attrib["y1"])
    drawn = {b["buffer"]: box(g) for b, g in groups(root, "buffer")}
    bottom = max(y + height for x, y, width, height in drawn.values())
    column = min(drawn[b["buffer"]][2] / (b["last"] - b["first"] + 1) for b in own)
    for b in own:
        x, y, width, height = drawn[b["buffer"]]
        if abs(height - b["bytes"] / size * (bottom - top)) > 2 * PIXEL or abs(y - (bottom - (b["offset"] + b["bytes"]) / size * (bottom - top))) > 2 * PIXEL:
            faults.append(f"the box of buffer {b['buffer']} does not lie where its bytes are")
        if abs(width - column * (b["last"] - b["first"] + 1)) > 1:
            faults.append(f"the box of buffer {b['buffer']} is not as wide as its life is long")
    kernels = [k["kernel"] for k, _ in groups(root, "kernel")]
    named = re.findall(r"(?m)^ *(?:call|repeat|active rows) \w+", text.split("\nbuffers\n")[0])
    if len(kernels) != len(set(kernels)) or len(kernels) != len(named):
        faults.append(f"{len(kernels)} kernels are named, show plan has {len(named)}")
    return faults


# --- threads ---


def calls_of(text):
    """what `show threads` or `show roofline` prints of each call: its lines"""
    parts = re.split(r"^(?=\S)", text, flags=re.M)
    return [p.splitlines() for p in parts if p]


def threads_faults(model, threads):
    text, root = show(model, "threads", "--threads", str(threads)), picture(model, "threads", "--threads", str(threads), *ROOF)
    calls, drawn, faults = calls_of(text), list(groups(root, "call")), []
    if len(calls) != len(drawn):
        return [f"{len(calls)} calls as text, {len(drawn)} drawn"]
    for lines, (_, g) in zip(calls, drawn):
        units, ends, waits = {}, {}, sum(line.startswith("  |") for line in lines)
        for s, share in groups(g, "thread"):
            units.setdefault(s["kernel"], []).append(s["units"])
            x, _, width, _ = box(share)
            if x < ends.get(s["thread"], 0) - 2 * PIXEL:
                faults.append(f"thread {s['thread']} is at two kernels at once")
            ends[s["thread"]] = x + width
        told = []
        for line in lines[1:]:
            if " repeat " in line:
                continue
            m = re.search(r" ((?:\d+ )*\d+)(?: of (\d+)|, one)", line)
            if m and m[2] and sum(map(int, m[1].split())) != int(m[2]):
                faults.append(f"shares do not add up: {line.strip()}")
            told.append(sorted(int(n) for n in m[1].split() if n != "0") if m else None)
        if len(told) != len(units):
            faults.append(f"{len(units)} kernels drawn, {len(told)} as text")
        for found, said in zip(units.values(), told):
            if said is not None and sorted(found) != said:
                faults.append(f"shares {found} are drawn, {said} told")
            if said is None and len(found) != threads:
                faults.append("a kernel of each thread is not drawn for each")
        if sum(1 for _ in groups(g, "barrier")) != waits:
            faults.append("barriers differ from those of the text")
    if model in ("tale", "gpt2", "mixtral", "gemma3"):  # without parts that are fed separately: against show plan
        marks = re.findall(r"(?m)^ *barrier (.*)", show(model, "plan").split("\nbuffers\n")[0])
        heads = int((re.search(r"where threads divide (\d+) heads", show(model, "plan")) or [0, 0])[1])
        waits = [sum(line.startswith("  |") for line in lines) for lines in calls]
        step = len([m for m in marks if m == "always" or (m == "unless threads divide the heads" and (heads == 0 or heads % threads))])
        if waits != [len(marks), step]:
            faults.append(f"{waits} barriers in prefill and step, show plan has {[len(marks), step]}")
    return faults


# --- the roofline ---


def cost_of(model):
    """FLOPs of show cost: products and attention of a step behind the whole context, or of a call; and its total"""
    text = show(model, "cost").split("a step after p positions")[-1]
    value = {m[1]: int(m[2].replace(",", "")) for m in re.finditer(r"^  (products|attention|total) .*?([\d,]+)  [\d.]+ [kMGTPE]?FLOP$", text, re.M)}
    return value["products"] + value["attention"], value["total"]


def roofline_faults(model):
    text, root = show(model, "roofline"), picture(model, "roofline", *ROOF)
    faults, rows = [], []
    calls = [c for c in calls_of(text) if len(c) > 1]
    for lines in calls:
        rows.append([(float(m[1]), int(m[2])) for m in (re.search(r" \d+ +(\d+) +(\d+) +\S+$", line) for line in lines[2:-1])])
    totals = [re.search(r"all runs: (\d+) FLOPs, of products and attention (\d+);", c[-1]) for c in calls]
    products, total = cost_of(model)
    if model in ("tale", "gpt2") and (int(totals[-1][2]) != products or int(totals[-1][1]) != total):
        faults.append(f"a step has {totals[-1][2]} FLOPs in products and {totals[-1][1]} in all, not {products} and {total} as show cost says")
    if model in ("vit", "mixtral") and int(totals[-1][2]) != products:  # what two kernels compute each for itself counts twice here
        faults.append(f"a call has {totals[-1][2]} FLOPs in products, not {products} as show cost says")
    if model in ("tale", "gpt2"):  # a step reads the weights of products once, and little else
        weights = int(re.search(r"products read (\d+) bytes", show(model, "plan"))[1])
        read = sum(int(m[1]) * int(m[2]) for m in re.finditer(r"^  matmul .* (\d+) +\d+ +(\d+) +\S+$", "\n".join(calls[-1]), re.M))
        if not weights < read < 1.05 * weights:
            faults.append(f"products touch {read} bytes in a step, their weights have {weights}")
    if model == "gemma3":  # attention within a window counts what the window holds, in FLOPs as in bytes
        of = [(int(m[1]), int(m[2])) for m in re.finditer(r"^  attention .* (\d+) +(\d+) +\S+$", "\n".join(calls[-1]), re.M)]
        held, context = int(re.search(r"(\d+) positions held", show(model, "plan"))[1]), 32768
        if len(of) != 2 or any(abs(a / b - held / context) > 0.002 for a, b in zip(min(of), max(of))):
            faults.append(f"attention with and without a window has FLOPs and bytes {of}, where {held} of {context} positions are held")
    # marks: log of FLOPs a byte against pixels is a line
    points, marks = [], {}
    for m, g in groups(root, "kernel"):
        marks.setdefault(m["call"], []).append(g)
    for call, of in enumerate(rows):
        some = [(flops / bytes_, g) for (flops, bytes_), g in zip([r for r in of if r[0]], marks.get(call, []))]
        if len(some) != len([r for r in of if r[0]]) or len(marks.get(call, [])) != len(some):
            faults.append(f"{len(marks.get(call, []))} marks for {len(some)} kernels")
        for intensity, g in some:
            said = float(re.search(r"([\d.e+-]+) FLOP/byte", g.find(f"*/{SVG}title").text)[1])
            mark = g[0].attrib
            x = (float(mark["cx"]) if "cx" in mark else float(mark["x"]) + float(mark["width"]) / 2 if "x" in mark
                 else float(re.match(r"M([\d.]+)", mark["d"])[1]))
            points.append((math.log10(intensity), x))
            if abs(said / intensity - 1) > 0.01:
                faults.append(f"a mark says {said} FLOP/byte, the text {intensity:.3g}")
    (u, x), (v, y) = min(points), max(points)
    for p, at in points:
        if abs(x + (p - u) / (v - u) * (y - x) - at) > 0.5:
            faults.append(f"a mark of {10 ** p:.3g} FLOP/byte does not stand there")
    # the percentages: of the least time that the roof allows all runs of a kernel, in that of all kernels
    for call, lines in enumerate(calls):
        least = {}
        for m in re.finditer(r"(?m)^  \w+ +(\S+) +(\d+) +(\d+) +(\d+) +\S+$", "\n".join(lines)):
            least[m[1]] = int(m[2]) * max(int(m[3]) / ROOF_OF[0], int(m[4]) / ROOF_OF[1])
        told = {}
        for g in marks.get(call, []):
            m = re.match(r"(\S+), .*: .* ([\d.]+) % of the time$", g.find(f"*/{SVG}title").text)
            told[m[1]] = float(m[2])
            if abs(told[m[1]] - 100 * least[m[1]] / sum(least.values())) > 0.051:
                faults.append(f"{m[1]} has {m[2]} % of the time, not {100 * least[m[1]] / sum(least.values()):.2f}")
        if not told:
            faults.append("no mark tells its part of the time")
    return faults


# --- the graph ---


def graph_faults(model):
    root, dot = picture(model, "graph"), show(model, "graph", "-o", "graph.dot") or open("graph.dot", encoding="utf-8").read()
    faults, ids = [], []

    def frame(g):
        circle = g.find(SVG + "circle")
        if circle is None:
            rects = g.findall(SVG + "rect")
            return tuple(float(rects[-1].attrib[k]) for k in ("x", "y", "width", "height"))
        r = float(circle.attrib["r"])
        return float(circle.attrib["cx"]) - r, float(circle.attrib["cy"]) - r, 2 * r, 2 * r

    def visit(g, outer):
        inner = [c for c in g.findall(SVG + "g") if "data-block" in c.attrib]
        frames = [frame(c) for c in inner]
        for i, (x, y, w, h) in enumerate(frames):
            ids.append((int(inner[i].attrib["data-block"]), inner[i].attrib["data-kind"]))
            if outer and not (outer[0] <= x + PIXEL and outer[1] <= y + PIXEL and x + w <= outer[0] + outer[2] + PIXEL and y + h <= outer[1] + outer[3] + PIXEL):
                faults.append(f"block {ids[-1][0]} lies outside of its group")
            for a, b, c, d in frames[:i]:
                if x + PIXEL < a + c and a + PIXEL < x + w and y + PIXEL < b + d and b + PIXEL < y + h:
                    faults.append(f"block {ids[-1][0]} overlaps another")
            visit(inner[i], frames[i])

    visit(root, None)
    blocks = sorted(i for i, kind in ids if kind == "block")
    if len(set(ids)) != len(ids):
        faults.append("a block is drawn twice")
    if blocks != sorted(int(i) for i in re.findall(r"^b(\d+) \[", dot, re.M)):
        faults.append("the .dot has other blocks")
    if {int(i) for flow in re.findall(r"^b(\d+) -> b(\d+);", dot, re.M) for i in flow} - set(blocks):
        faults.append("a flow of the .dot goes nowhere")
    groups_of_dot = len(re.findall(r"^subgraph cluster_\d+ {", dot, re.M))
    if groups_of_dot != len(ids) - len(blocks):
        faults.append("the .dot has other groups")
    frames = [frame(g) for g in root.iter(SVG + "g") if g.attrib.get("data-kind") == "block"]
    tips = [tuple(map(float, re.match(r"M([\d.]+) ([\d.]+)", p.attrib["d"]).groups())) for p in root.iter(SVG + "path") if p.attrib["class"] == "tip"]
    for x, y in tips:
        if not any(a - PIXEL <= x <= a + c + PIXEL and min(abs(y - b), abs(y - b - d)) < 2 * PIXEL for a, b, c, d in frames):
            faults.append(f"an arrow ends at {x} {y}, where no block is")
    ends = []
    for p in root.iter(SVG + "path"):
        if p.attrib["class"] == "edge":
            at = [float(x) for x in re.findall(r"[\d.]+", p.attrib["d"])]
            ends += [(at[0], at[1]), (at[-2], at[-1])]
    for i, (x, y) in enumerate(ends):
        at_block = any(a - PIXEL <= x <= a + c + PIXEL and b - 7 <= y <= b + d + 7 for a, b, c, d in frames)
        if not at_block and not any(abs(x - u) < 3 * PIXEL and abs(y - v) < 3 * PIXEL for k, (u, v) in enumerate(ends) if k // 2 != i // 2):
            faults.append(f"a line ends at {x} {y}, where nothing is")
    if len(tips) < len(blocks) - 4:
        faults.append("arrows are missing")
    return faults


def faults_of(check, *args):
    try:
        return check(*args)
    except (ET.ParseError, subprocess.CalledProcessError, AttributeError, IndexError, KeyError, ValueError) as e:
        return [f"{type(e).__name__}: {e}"]


for name in MODELS:
    verdict(f"{name}: arena", faults_of(arena_faults, name))
    verdict(f"{name}: threads", faults_of(threads_faults, name, 3) + faults_of(threads_faults, name, 4))
    verdict(f"{name}: roofline", faults_of(roofline_faults, name))
    verdict(f"{name}: graph", faults_of(graph_faults, name))
sys.exit(failed)
