"""The published vision transformers as safetensors: weights, and for each picture a record for `lathe verify --against`.

    vit.py FOLDER_OF_DATA FOLDER        writes digits_1.safetensors, digits_1.0 .. with all values, digits_1.0.answer .. with the
                                        answers alone, the same for digits_4, and digit_4.0.pgm .. with digits_4.labels

Data: researchase/vit-mnist-explorations.  Of the one with a layer every intermediate value is published, of the one with four the
digit alone.
"""

import json
import pathlib
import struct
import sys

DATA, WORK = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def shape_of(value):
    return [len(value)] + shape_of(value[0]) if isinstance(value, list) else []


def flat(value):
    return [x for part in value for x in flat(part)] if isinstance(value, list) else [value]


def write(name, tensors, code):
    """code: d for F64, f for F32; whole numbers become I64."""
    header, blobs, at = {}, [], 0
    for key, value in tensors.items():
        values = flat(value)
        whole = all(isinstance(x, int) for x in values)
        kind = ("q", "I64") if whole else {"d": ("d", "F64"), "f": ("f", "F32")}[code]
        blob = struct.pack(f"<{len(values)}{kind[0]}", *values)
        header[key] = {"dtype": kind[1], "shape": shape_of(value), "data_offsets": [at, at + len(blob)]}
        at += len(blob)
        blobs.append(blob)
    text = json.dumps(header).encode()
    (WORK / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def picture(example):
    return [[float(x) for x in example["px"][28 * i:28 * i + 28]] for i in range(28)]


def one_layer():
    model = json.loads((DATA / "vit_1layer_attnonly_traces.json").read_text())
    w = model["weights"]
    layer = {f"blocks.0.{name}": w[name] for name in ("lnW", "lnB", "qkvW", "outW", "outB")}
    write("digits_1", {"patchW": w["patchW"], "patchB": w["patchB"], "cls": w["cls"], "pos": w["pos"], **layer,
                       "head.lnW": w["headLnW"], "head.lnB": w["headLnB"], "head.linW": w["clsW"],
                       "head.linB": w["clsB"]}, "f")
    for i, example in enumerate(model["examples"]):
        act = example["act"]
        heads = [[[row[h]] for row in act["attnOut"]] for h in range(4)]
        write(f"digits_1.{i}", {
            "pixels": picture(example), "tokens": act["embed"], "placed": act["posed"],
            "layer[0].norm": act["normed"], "layer[0].attn.q.y": act["Q"], "layer[0].attn.k.y": act["K"],
            "layer[0].attn.v.y": act["V"], "layer[0].attn.dot_product.weights": act["attn"],
            "layer[0].attn.dot_product": heads, "layer[0].attn": act["delta"], "layer[0].x": act["resid"],
            "last": act["clsNorm"], "logits": act["logits"], "probabilities": act["probs"],
            "digit": example["label"]}, "d")
        write(f"digits_1.{i}.answer", {"pixels": picture(example), "logits": act["logits"],
                                       "probabilities": act["probs"], "digit": example["label"]}, "d")


def four_layers():
    model = json.loads((DATA / "vit_4layer_attnonly.json").read_text())
    layers = {f"blocks.{i}.{name}": block[name] for i, block in enumerate(model["blocks"])
              for name in ("lnW", "lnB", "qkvW", "outW", "outB")}
    write("digits_4", {**{name: model[name] for name in ("patchW", "patchB", "cls", "pos")}, **layers,
                       **{f"head.{name}": model["head"][name] for name in ("lnW", "lnB", "linW", "linB")}}, "f")
    for i, example in enumerate(model["examples"]):
        write(f"digits_4.{i}.answer", {"pixels": picture(example), "digit": example["label"]}, "d")
        (WORK / f"digit_4.{i}.pgm").write_bytes(b"P5 28 28 255\n" + bytes(example["px"]))
    (WORK / "digits_4.labels").write_text("".join(f"{example['label']}\n" for example in model["examples"]))


one_layer()
four_layers()
