"""Turns the published cases of ONNX operators into a .model file of tests over library blocks.

    onnx.py CASES.json FOLDER       writes FOLDER/CASE.model for each; a case that can't be expressed is named on stdout, `skip CASE: WHY`

The cases: onnx/onnx rel-1.22.0, backend node tests, as JSON.  A case of Attention has a batch; the language has one sequence, so
each batch element is a test's `over`.
"""

import json
import math
import pathlib
import sys


def number(x):
    return "inf" if x == math.inf else "-inf" if x == -math.inf else "true" if x is True else "false" if x is False else repr(x)


def literal(flat, shape, truths=False):
    """Nested lists, a line a row."""
    if not shape:
        value = flat[0]
        return number(bool(value) if truths else value)
    if shape[0] == 0:
        return "[]"
    step = len(flat) // shape[0]
    parts = [literal(flat[i * step:(i + 1) * step], shape[1:], truths) for i in range(shape[0])]
    return "[" + (", " if len(shape) == 1 else ",\n        ").join(parts) + "]"


def value(tensor):
    data = [float(x) if isinstance(x, str) else x for x in tensor["data"]]
    return literal(data, tensor["shape"], tensor["dtype"] == "bool")


def bound(tensor):
    """The precision that outputs are given in: half has 11 bits, single 24."""
    return "2e-3" if tensor["dtype"] == "f16" else "1e-5"


class Case:
    def __init__(self, case):
        self.name, node = case["case"], case["node"]
        self.op, self.attributes = node["op"], node["attributes"]
        given = {t["name"]: t for t in case["inputs"]}
        self.inputs = {i: given[name] for i, name in enumerate(node["inputs"]) if name}
        given = {t["name"]: t for t in case["outputs"]}
        self.outputs = {i: given[name] for i, name in enumerate(node["outputs"]) if name}
        self.lines = []

    def say(self, *lines):
        self.lines += ["    " + line for line in lines]

    def wants(self, output, expression):
        if output in self.outputs:
            tensor = self.outputs[output]
            self.say(f"require {expression} == {value(tensor)} within {bound(tensor)}")

    def text(self):
        return f'# {self.op}\nimport blocks\ntest "{self.name}" {{\n' + "\n".join(self.lines) + "\n}\n"


def gelu(case):
    block = "gelu_tanh" if case.attributes.get("approximate") == "tanh" else "gelu_erf"
    case.wants(0, f"{block}({value(case.inputs[0])})")


def softmax(case):
    shape, axis = case.inputs[0]["shape"], case.attributes.get("axis", -1) % len(case.inputs[0]["shape"])
    case.say(f"x = {value(case.inputs[0])}")
    order = [i for i in range(len(shape)) if i != axis] + [axis]  # the library's is along the last axis
    back = [order.index(i) for i in range(len(shape))]
    case.wants(0, f"transpose(softmax(transpose(x, {order})), {back})")


def norm(case):
    """Along all axes from one on: as one axis.  Gain and shift come as tensors, so the blocks run without their own."""
    shape = case.inputs[0]["shape"]
    axis, eps = case.attributes.get("axis", -1) % len(shape), case.attributes.get("epsilon", 1e-5)
    wide = shape[:axis] + [math.prod(shape[axis:])]
    case.say(f"x = reshape({value(case.inputs[0])}, {wide})", f"gain = {value(case.inputs[1])}")
    if case.op == "LayerNormalization":
        case.say(f"y = reshape(layernorm(x, eps: {eps}, affine: false), {shape}) * gain")
        if 2 in case.inputs:
            case.say(f"y = y + {value(case.inputs[2])}")
        case.wants(1, f"reshape(mean(x), {case.outputs[1]['shape']})" if 1 in case.outputs else "")
        case.wants(2, f"reshape(1 / sqrt(variance(x) + {eps}), {case.outputs[2]['shape']})" if 2 in case.outputs else "")
    else:
        case.say(f"y = reshape(rmsnorm(x, eps: {eps}, affine: false), {shape}) * gain")
    case.wants(0, "y")


def rotary(case):
    """input [batch, heads, T, d]; the angles come as tables of cosines and sines."""
    part = case.attributes.get("rotary_embedding_dim", 0) or case.inputs[0]["shape"][-1]
    interleaved = "true" if case.attributes.get("interleaved") else "false"
    case.say(f"x = {value(case.inputs[0])}", f"c = {value(case.inputs[1])}", f"s = {value(case.inputs[2])}")
    if 3 in case.inputs:
        case.say(f"places = {value(case.inputs[3])}", "c = c[places]", "s = s[places]")
    case.say(f"y = over batch[b] : {case.inputs[0]['shape'][0]} {{",
             f"    turned, rest = split(x[b], sizes: [{part}, x.dim - {part}])",
             f"    return join(rotated(turned, c[b], s[b], interleaved: {interleaved}), rest)", "}")
    case.wants(0, "y")


def attention(case):
    """Q, K, V [batch, heads, T, d], or packed [batch, T, heads * d]; mask, past keys and values, lengths."""
    attributes, q = case.attributes, case.inputs[0]
    batch, packed = q["shape"][0], len(q["shape"]) == 3
    for name, i in ("q", 0), ("k", 1), ("v", 2), ("mask", 3), ("past_k", 4), ("past_v", 5), ("lengths", 6):
        if i in case.inputs:
            case.say(f"{name} = {value(case.inputs[i])}")
    heads = attributes["q_num_heads"] if packed else q["shape"][1]
    kv_heads = attributes["kv_num_heads"] if packed else case.inputs[1]["shape"][1]
    options = [f"cap: softcap(cap: {attributes['softcap']})"] if attributes.get("softcap") else []
    if attributes.get("scale"):
        options.append(f"scale: {attributes['scale']}")
    body = ["qb = " + (f"split(q[b], {heads})" if packed else "q[b]"),
            "kb = " + (f"split(k[b], {kv_heads})" if packed else "k[b]"),
            "vb = " + (f"split(v[b], {kv_heads})" if packed else "v[b]")]
    if 4 in case.inputs:
        body += ["kb = join(past_k[b], kb, axis: 1)", "vb = join(past_v[b], vb, axis: 1)"]
    body += hidden(case, body)
    scale = f", {', '.join(options)}" if options else ""
    body += [f"y = dot_product(qb, kb, vb{scale}, mask: hidden)"]
    results = ["merge(y)" if packed else "y"]
    if 3 in case.outputs:
        body += scores(case, options)
        results.append("shown")
    if 1 in case.outputs:
        results += ["kb", "vb"]
    names = ["out"] + (["shown"] if 3 in case.outputs else []) + (["keys", "values"] if 1 in case.outputs else [])
    case.say(f"{', '.join(names)} = over batch[b] : {batch} {{", *["    " + line for line in body],
             "    return " + ", ".join(results), "}")
    case.wants(0, "out")
    case.wants(1, "keys")
    case.wants(2, "values")
    case.wants(3, "shown")


def hidden(case, body):
    """The block that masks scores."""
    steps = []
    if 3 in case.inputs:
        mask, shape = case.inputs[3], case.inputs[3]["shape"]
        at = "mask" + ("[b]" if len(shape) == 4 else "")
        keys = case.inputs[1]["shape"][-2]
        if 6 in case.inputs and shape[-1] < keys:  # keys beyond the mask are not seen
            at = f"pad({at}, after: {keys - shape[-1]}, value: -inf)"
        steps.append(f"s = where({at}, s, -inf)" if mask["dtype"] == "bool" else f"s = s + {at}")
    if case.attributes.get("is_causal"):
        steps.append("s = causal(s)")
    if 6 in case.inputs:
        steps.append("s = where(col(s) < lengths[b], s, -inf)")
    return ["block hidden(s) {"] + ["    " + s for s in steps] + ["    return s", "}"]


def scores(case, options):
    """qk_matmul_output, after: 0 the product, 1 the cap, 2 the mask, 3 softmax."""
    mode, scale = case.attributes.get("qk_matmul_output_mode", 0), case.attributes.get("scale", None)
    lines = [f"shown = qb @ spread(kb, qb.shape[0])' * {scale or 'qb.dim ^ -0.5'}"]
    cap = case.attributes.get("softcap")
    if mode >= 1 and cap:
        lines.append(f"shown = softcap(shown, cap: {cap})")
    if mode >= 2:
        lines.append("shown = hidden(shown)")
    if mode >= 3:
        lines.append("shown = softmax(shown)")
    return lines


OPS = {"Gelu": gelu, "Softmax": softmax, "LayerNormalization": norm, "RMSNormalization": norm,
       "RotaryEmbedding": rotary, "Attention": attention}

cases = json.loads(pathlib.Path(sys.argv[1]).read_text())
for described in cases:
    case = Case(described)
    if case.op not in OPS:
        print(f"skip published {case.name}: no block stands for {case.op}")
        continue
    OPS[case.op](case)
    pathlib.Path(sys.argv[2], case.name + ".model").write_text(case.text())
