"""What PyTorch answers of the small trained models, for tests/trained/run: on questions that training never saw.

    record.py [NAME...]        writes NAME.answers and NAME.safetensors beside itself, of all models or of those named

NAME.safetensors has one question's inputs, and what PyTorch's outputs are in double precision.  NAME.answers is text:

adder, numerals: a question, a tab, the answer.  topics: a text, a tab, the number of its topic and the cosine of its
vector with that of the text before.  doodles: the classes that it names of models/doodles/pictures.npy, and of the pictures
of models/doodles/shapes.py's held_out(1000, 12).  sketch: for each class the 32 by 32 pixels, 0 to 255, that models/sketch/paint.c draws from seed 1.
fable_mtp has no answers: it drafts for fable.
fable: eight tokens that begin a tale, a tab, and the sixty that the model goes on with.
What share is right is printed, of fable the share of the tale's own tokens.  Expects torch, numpy, safetensors, and the weights.
"""

import importlib.util
import os
import sys

import numpy as np
import torch
from safetensors.torch import load_file, save_file

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "models")
SEED, ASKED = 12, 1000


def recipe(name):
    """models/NAME/train.py as a module."""
    spec = importlib.util.spec_from_file_location(name + "_train", os.path.join(MODELS, name, "train.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def trained(name, kind, dtype=torch.float32):
    """The model of this class with the weights that are kept; from here on torch computes in this type."""
    torch.set_default_dtype(dtype)
    model = kind()
    tensors = load_file(os.path.join(MODELS, name, name + ".safetensors"))
    model.load_state_dict({key: value.to(dtype) for key, value in tensors.items()})
    return model.eval()


def write_values(name, kind, inputs, call):
    """call(model, inputs): the outputs by name, of the model in double precision; all as lathe has them, without a batch."""
    with torch.no_grad():
        outputs = call(trained(name, kind, torch.float64), inputs)
    torch.set_default_dtype(torch.float32)
    tensors = {key: torch.as_tensor(value).contiguous() for key, value in {**inputs, **outputs}.items()}
    save_file(tensors, os.path.join(HERE, name + ".safetensors"))


def write(name, lines):
    with open(os.path.join(HERE, name + ".answers"), "w") as file:
        file.writelines(line + "\n" for line in lines)


def record_adder():
    train = recipe("adder")
    pairs = train.held_out(ASKED, SEED)
    questions = [train.sums.question(a, b) for a, b in pairs]
    answers = train.answers(trained("adder", train.Adder), questions)
    ids = torch.tensor(train.sums.encode(questions[0]) + train.sums.answer(sum(pairs[0])))
    write_values("adder", train.Adder, {"tokens": ids}, lambda model, x: {"logits": model(x["tokens"][None])[0]})
    write("adder", map("\t".join, zip(questions, answers)))
    return np.mean([answer == str(a + b) for answer, (a, b) in zip(answers, pairs)])


def record_numerals():
    train = recipe("numerals")
    pairs = train.held_out(ASKED, SEED)
    answers = train.answers(trained("numerals", train.Numerals), [source for source, _ in pairs])
    source, keep, target, _ = train.make_rows(pairs[:1])
    write_values("numerals", train.Numerals, {"words": source[0], "tokens": target[0]},
                 lambda model, x: {"logits": model(x["words"][None], keep, x["tokens"][None])[0]})
    write("numerals", ["%s\t%s" % (source, answer) for (source, _), answer in zip(pairs, answers)])
    return np.mean([answer == target for answer, (_, target) in zip(answers, pairs)])


def record_topics():
    train = recipe("topics")
    pairs = train.held_out(ASKED, SEED)
    ids, keep, topics = train.make_rows(pairs)
    with torch.no_grad():
        scores, sentence = trained("topics", train.Topics)(ids, keep)
    one, seen, _ = train.make_rows(pairs[:1])
    write_values("topics", train.Topics, {"tokens": one[0], "keep": seen[0].long()},
                 lambda model, x: dict(zip(("scores", "sentence"), [y[0] for y in model(x["tokens"][None], seen)])))
    best = scores.argmax(-1)
    cosine = [0.0] + (sentence[1:] * sentence[:-1]).sum(-1).tolist()
    write("topics", ["%s\t%d %.5f" % (text, b, c) for (text, _), b, c in zip(pairs, best.tolist(), cosine)])
    return (best == topics).float().mean().item()


def record_doodles():
    train = recipe("doodles")
    kept = torch.tensor(np.load(os.path.join(MODELS, "doodles", "pictures.npy"))[:, 0].astype(np.float32))
    pictures, labels = train.held_out(ASKED, SEED)
    model = trained("doodles", train.Doodles)
    with torch.no_grad():
        logits = model(pictures)
        best = [model(kept).argmax(-1), logits.argmax(-1)]
    write_values("doodles", train.Doodles, {"pixels": kept[:1].double()}, lambda model, x: {"logits": model(x["pixels"])[0]})
    first, second = logits.topk(2).values.T
    print("doodles: the best class leads by %.4f at least" % (first - second).min().item())
    write("doodles", [" ".join(map(str, row.tolist())) for row in best])
    return (logits.argmax(-1) == labels).float().mean().item()


def noise(seed, label, classes, n):
    """As next_noise() of models/sketch/paint.c: [n], float32."""
    mask, state, values = 2 ** 64 - 1, seed * classes + label, []
    for _ in range(n):
        total = 0
        for _ in range(3):
            state = state + 0x9e3779b97f4a7c15 & mask
            z = (state ^ state >> 30) * 0xbf58476d1ce4e5b9 & mask
            z = (z ^ z >> 27) * 0x94d049bb133111eb & mask
            z ^= z >> 31
            total += sum(z >> part & 65535 for part in (0, 16, 32, 48))
        values.append((total - 12 * 65535 // 2) / 65536)
    return np.array(values, np.float32)


def record_sketch():
    train, named = recipe("sketch"), recipe("doodles")
    side, classes = train.shapes.SIDE, train.CLASSES
    model, critic = trained("sketch", train.Sketch), trained("doodles", named.Doodles)
    z = torch.tensor(noise(1, 0, classes, side * side)).double().reshape(1, side, side)
    write_values("sketch", train.Sketch, {"latent": z, "step": torch.tensor(250.0).double(), "class": torch.tensor(13)},
                 lambda model, x: {"noise": model(x["latent"], x["step"][None], x["class"][None])})
    right = []
    for seed in range(1, 12):
        z = np.stack([noise(seed, label, classes, side * side) for label in range(classes)])
        labels = torch.arange(classes)
        drawn = ((train.sample(model, labels, torch.tensor(z).reshape(-1, side, side)) + 1) / 2).clip(0, 1)
        if seed == 1:
            pixels = (255 * drawn.flatten(1) + 0.5).floor().int().tolist()
            write("sketch", [" ".join(map(str, row)) for row in pixels])
        with torch.no_grad():
            right += (critic(drawn).argmax(-1) == labels).tolist()
    print("sketch: of %d pictures named right: %d" % (len(right), sum(right)))
    return np.mean(right)


@torch.no_grad()
def record_fable():
    train = recipe("fable")
    tokenizer = train.tok.Tokenizer(train.pieces_of(os.path.join(train.TALE, "tokenizer.bin")))
    ids, targets = train.make_rows(train.tales.write_tales(SEED, 16), tokenizer)
    model = trained("fable", train.Fable)
    lines = []
    for row in ids[:8]:
        text = row[None, :8]
        for _ in range(60):
            text = torch.cat([text, model(text)[:, -1].argmax(-1, keepdim=True)], 1)
        lines.append("\t".join(" ".join(map(str, part.tolist())) for part in (text[0, :8], text[0, 8:])))
    write("fable", lines)
    right = (model(ids).argmax(-1) == targets)[targets != train.IGNORE].float().mean().item()
    write_values("fable", train.Fable, {"tokens": ids[0, :70]}, lambda model, x: {"logits": model(x["tokens"][None])[0]})
    return right


def record_fable_mtp():
    """The share of tokens that are fable's most likely ones."""
    train = recipe("fable_mtp")
    ids, targets = train.fable.make_rows(train.fable.tales.write_tales(SEED, 16), train.tokenizer())
    hidden = train.hidden_of(train.teacher(), ids)
    wanted = (hidden @ train.teacher().embed.T).argmax(-1)[:, 1:]
    with torch.no_grad():
        logits, _ = trained("fable_mtp", train.FableMtp)(ids[:, 1:], hidden[:, :-1])
    right = (logits.argmax(-1) == wanted)[targets[:, 1:] != train.fable.IGNORE].float().mean().item()
    write_values("fable_mtp", train.FableMtp, {"tokens": ids[0, 1:25], "hidden": hidden[0, :24]},
                 lambda model, x: dict(zip(("logits", "next_hidden"), [y[0] for y in model(x["tokens"][None], x["hidden"][None].double())])))
    return right


RECORDS = {"adder": record_adder, "numerals": record_numerals, "topics": record_topics, "doodles": record_doodles,
           "sketch": record_sketch, "fable": record_fable, "fable_mtp": record_fable_mtp}

if __name__ == "__main__":
    for name in sys.argv[1:] or RECORDS:
        print("%s: right %.4f" % (name, RECORDS[name]()), flush=True)
