"""The packages in the current folder against lathe itself: the same bits, and errors as exceptions.

    check.py LATHE ROOT
"""

import os
import subprocess
import sys

import numpy

LATHE, ROOT = sys.argv[1:]
sys.path.insert(0, os.getcwd())
import doodles, numerals, ruled, sketch, sums, tale, topics  # noqa: E401, E402

failed = False


def verdict(name, good, *found):
    global failed
    print(f"{'ok' if good else 'FAIL'} python: {name}", *([] if good else found))
    failed = failed or not good


def lathe(command, model, *options):
    weights = f"{ROOT}/models/{model}/{model}.safetensors"
    return subprocess.run([LATHE, command, f"{ROOT}/models/{model}.model", "--weights", weights, *options], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()


def evaluated(model, output, **inputs):
    given = []
    for name, value in inputs.items():
        numpy.save(f"{name}.in.npy", value)
        given += ["-I", f"{name}={name}.in.npy"]
    lathe("eval", model, *given, "--output", output, "-o", "out.npy")
    return numpy.load("out.npy")


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def raises(kind, words, call):
    try:
        return f"it gave {call()!r}"
    except kind as error:
        return "" if words in str(error) else str(error)


# --- a text ---

m = tale.Model(threads=2)
ids = m.encode("Once upon a time")
text = numpy.arange(3, 43, dtype=numpy.int32)
verdict("the logits are those of lathe eval", same(m.forward(text), evaluated("tale", "logits", tokens=text)))
verdict("so many positions have been taken", m.position == 40, m.position)
m.rewind(10)
pieces = [m(text[10:11])]
m.prefill(text[11:20])
pieces.append(m.forward(text[20:]))
m.reset()
whole = m.forward(text)
verdict("in pieces and after going back", same(pieces[0], whole[10:11]) and same(pieces[1], whole[20:]))
m.reset()
told = []
made = m.generate(ids, on_token=told.append, steps=40)
said = lathe("run", "tale", "--tokenizer", f"{ROOT}/models/tale/tokenizer.bin", "Once upon a time", "-n", "40")
verdict("text is that of lathe run", m.decode(numpy.concatenate([ids, made])).strip() in said.strip() or m.decode(made).strip() in said,
        m.decode(made), said)
verdict("each token is told", told == made.tolist())
m.reset()
drawn = m.decode(m.generate(ids, temperature=0.9, top_k=20, seed=7, steps=40))
said = lathe("run", "tale", "--tokenizer", f"{ROOT}/models/tale/tokenizer.bin", "Once upon a time", "-n", "40", "--temp", "0.9", "--top-k",
             "20", "--seed", "7")
verdict("drawn text too", drawn.strip() in said, drawn, said)
m.reset()
verdict("whoever is told may end the text", len(m.generate(ids, on_token=lambda token: True)) == 0)


def fails(token):
    raise KeyError(token)


m.reset()
verdict("what it raises comes through", raises(KeyError, "", lambda: m.generate(ids, on_token=fails)) == "")
for name, kind, words, call in [
        ("an id out of range", tale.Error, "an input is out of range", lambda: m.forward([512])),
        ("an id that is no whole number", TypeError, "tokens is of whole numbers, not of float64", lambda: m.forward([1.5])),
        ("an id beyond 32 bits", ValueError, "beyond 32 bits", lambda: m.forward([2**40])),
        ("another shape", ValueError, "tokens is [time], not of shape [1, 2]", lambda: m.forward([[1, 2]])),
        ("too many positions", tale.Error, "more positions than the model has room for", lambda: m.forward([1] * 300)),
        ("no input", TypeError, "forward lacks tokens", lambda: m.forward()),
        ("an input twice", TypeError, "has it twice", lambda: m.forward([1], tokens=[1])),
        ("an output that there is not", TypeError, "there is no output logit; there are: logits", lambda: m.forward([1], outputs="logit")),
        ("a setting that there is not", TypeError, "generation has no temp", lambda: m.generate([1], temp=1)),
        ("a temperature below 0", tale.Error, "out of range", lambda: m.generate([1], temperature=-1)),
        ("back to what was not taken", tale.Error, "out of range", lambda: m.rewind(200)),
        ("no weight file", tale.Error, "the weights can't be opened or read: none.weights", lambda: tale.Model("none.weights")),
        ("threads", tale.Error, "threads must be 1 to 64", lambda: tale.Model(threads=65)),
        ("another's weights", tale.Error, "not the weight file", lambda: tale.Model("doodles/doodles.weights")),
        ("weights that are inside", ValueError, "the weights are in the program", lambda: sketch.Model("sketch/sketch.c.weights"))]:
    problem = raises(kind, words, call)
    verdict(f"an error: {name}", not problem, problem)
before = m.position
try:
    m.forward([1, 512])
except tale.Error as error:
    verdict("an error has its number, and nothing was taken", error.code == 5 and m.position == before, error.code, m.position)
with tale.Model() as other:
    pass
verdict("a model that is closed", raises(ValueError, "closed", lambda: other.forward([1])) == "")
verdict("a text there and back", m.decode(m.encode("A tiny dragon.", bare=True)).strip() == "A tiny dragon.")

# --- pictures, noise, an encoder, vectors ---

s = sketch.Model(threads=2)
star = s.denoise(7, seed=3, steps=5)
lathe("run", "sketch", "-I", "class=7", "--seed", "3", "-n", "5", "-o", "star.npy")
verdict("a picture out of noise is that of lathe run", same(star, numpy.load("star.npy")))
s.feed("condition", step=0.5, class_input=7)
noise = s.forward(star)
verdict("a forward call is that of lathe eval",
        same(noise, evaluated("sketch", "noise", step=numpy.float32(0.5), **{"class": numpy.int32(7)}, latent=star)))
verdict("a class out of range", raises(sketch.Error, "out of range", lambda: s.denoise(99)) == "")

d = doodles.Model()
pixels = (numpy.clip(star[0], -1, 1) * 127 + 128).astype(numpy.uint8)
with open("star.pgm", "wb") as f:
    f.write(b"P5 32 32 255\n" + pixels.tobytes())
likely = d.classify(pixels)
first = lathe("run", "doodles", "star.pgm", "--top", "1").split()
verdict("a picture's class is that of lathe run", str(likely.argmax()) in first and f"{likely.max():.3f}"[:4] in first[0], likely.max(), first)
verdict("and its name", d.label(int(likely.argmax())) in first and d.label(1000) is None, first)
verdict("pixels of another kind", raises(TypeError, "pixels are uint8", lambda: d.classify(star)) == "")
both = d.forward(star)
verdict("two outputs are those of lathe eval",
        sorted(both) == ["features", "logits"] and all(same(both[name], evaluated("doodles", name, pixels=star)) for name in both))
verdict("one of two", same(d.forward(star, outputs="logits"), both["logits"]))

n = numerals.Model()
words, tokens = numpy.array([5, 9, 11], numpy.int32), numpy.array([1, 4], numpy.int32)
verdict("what is not fed yet", raises(numerals.Error, "not been fed", lambda: n.forward(tokens)) == "")
n.feed("source", words)
verdict("an encoder and a decoder are lathe eval's", same(n.forward(tokens), evaluated("numerals", "logits", words=words, tokens=tokens)))
verdict("a group that there is not", raises(TypeError, "there is no group words; there are: source", lambda: n.feed("words", words)) == "")

t = topics.Model()
vector = t.embed([3, 5, 7]) if hasattr(t, "embed") else None
if vector is not None:
    lathe("run", "topics", "3 5 7", "-o", "vector.npy")
    verdict("a vector is that of lathe run", same(vector, numpy.load("vector.npy").reshape(-1)))

# --- sizes, names, a grammar ---

q = sums.Model()
x = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
found = q.forward(x, [1, 2, 0], [2, 1, 1])
verdict("sizes follow from shapes", all(value.shape[0] == 3 for value in found.values())
        and numpy.array_equal(list(found.values())[0], x.sum(1) + (x[0, 1:] * [2, 2, 0]).sum()), found)
verdict("sizes that differ", raises(ValueError, "not of shape [4]", lambda: q.forward(x, [1, 2, 0, 0], [1, 1, 1])) == "")
r = ruled.Model()
ruled_text = r.decode(r.generate(r.encode("{"), steps=20, temperature=1.0, seed=2))
verdict("a grammar rules", raises(Exception, "", lambda: r.generate([1] * 70)) == "" and not set(ruled_text) - set(map(chr, range(32, 127))) - set("\n\t\r"),
        ruled_text)
sys.exit(failed)
