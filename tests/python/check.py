"""The packages in the current folder against lathe itself: the same bits, and errors as exceptions.

    check.py LATHE ROOT
"""

import json
import os
import subprocess
import sys

import numpy

LATHE, ROOT = sys.argv[1:]
sys.path.insert(0, os.getcwd())
import doodles, hears, judge, led, namer, numerals, ruled, sentences, silent, sketch, sums, tale, tales, topics, translator, windowed  # noqa: E401, E402

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
verdict("the position after a call", m.position == 40, m.position)
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
verdict("on_token is called for each token", told == made.tolist())
m.reset()
drawn = m.decode(m.generate(ids, temperature=0.9, top_k=20, seed=7, steps=40))
said = lathe("run", "tale", "--tokenizer", f"{ROOT}/models/tale/tokenizer.bin", "Once upon a time", "-n", "40", "--temp", "0.9", "--top-k",
             "20", "--seed", "7")
verdict("drawn text too", drawn.strip() in said, drawn, said)
m.reset()
verdict("on_token can end the text", len(m.generate(ids, on_token=lambda token: True)) == 0)


def fails(token):
    raise KeyError(token)


m.reset()
verdict("what it raises comes through", raises(KeyError, "", lambda: m.generate(ids, on_token=fails)) == "")
m.reset()
said = []
made = m.generate(ids, on_token=lambda token: said.append((m.decode([token]), m.position)), steps=5)
verdict("on_token may call decode", said == [(m.decode([token]), len(ids) + i) for i, token in enumerate(made)], said, m.decode(made))
for name, inside in (("forward", m.forward), ("generate", m.generate)):
    m.reset()
    problem = raises(ValueError, f"no {name} from a function that is told", lambda f=inside: m.generate(ids, on_token=lambda token: f([1])))
    m.reset()
    verdict(f"and has no {name}", not problem and len(m.generate(m.encode("Nora was"), steps=3)) == 3, problem)
m.reset()
verdict("and does not close it", raises(ValueError, "no close from", lambda: m.generate(ids, on_token=lambda token: m.close())) == "")
m.reset()
for name, kind, words, call in [
        ("an id out of range", tale.Error, "tokens[1] is 512: it must be 0 to 511", lambda: m.forward([3, 512])),
        ("an id that is no whole number", TypeError, "tokens is of whole numbers, not of float64: tokens[1] is 1.5", lambda: m.forward([1.0, 1.5])),
        ("an id that is no number", TypeError, "tokens[0] is nan", lambda: m.forward([numpy.nan])),
        ("an id beyond 32 bits", ValueError, "beyond 32 bits", lambda: m.forward([2**40])),
        ("the first id beyond 32 bits", ValueError, "beyond 32 bits", lambda: m.forward([2**31])),
        ("the first id below 32 bits", ValueError, "beyond 32 bits", lambda: m.forward([-2**31 - 1])),
        ("the largest of 32 bits", tale.Error, "tokens[0] is 2147483647: it must be", lambda: m.forward([2**31 - 1])),
        ("the least of 32 bits", tale.Error, "tokens[0] is -2147483648: it must be", lambda: m.forward([-2**31])),
        ("another shape", ValueError, "tokens is [time], not of shape [1, 2]", lambda: m.forward([[1, 2]])),
        ("too many positions", tale.Error, "more positions than the model has room for: 0 are taken, 300 are new, and there are 256", lambda: m.forward([1] * 300)),
        ("no input", TypeError, "forward lacks tokens", lambda: m.forward()),
        ("an input twice", TypeError, "has it twice", lambda: m.forward([1], tokens=[1])),
        ("an output that there is not", TypeError, "there is no output logit; there are: logits", lambda: m.forward([1], outputs="logit")),
        ("a setting that there is not", TypeError, "generation has no temp", lambda: m.generate([1], temp=1)),
        ("a seed beyond 64 bits", ValueError, "seed is 18446744073709551616, beyond the 64 bits", lambda: m.generate([1], seed=2**64)),
        ("top_k beyond 32 bits", ValueError, "top_k is 4294967297, beyond the 32 bits", lambda: m.generate([1], top_k=2**32 + 1)),
        ("steps below 64 bits", ValueError, "steps is -18446744073709551615, beyond", lambda: m.generate([1], steps=1 - 2**64)),
        ("a temperature beyond floats", ValueError, "temperature is 1e+39, beyond the largest", lambda: m.generate([1], temperature=1e39)),
        ("a temperature below 0", tale.Error, "temperature is -1: it must be 0 or more", lambda: m.generate([1], temperature=-1)),
        ("a temperature that is infinite", tale.Error, "temperature is inf: it must be 0 or more", lambda: m.generate([1], temperature=numpy.inf)),
        ("top_p above 1", tale.Error, "top_p is 2: it must be 0 to 1", lambda: m.generate([1], top_p=2)),
        ("steps below 0", tale.Error, "steps is -3: it must be 0 or more", lambda: m.generate([1], steps=-3)),
        ("a penalty that is no number", tale.Error, "presence_penalty is nan: it must be finite", lambda: m.generate([1], presence_penalty=numpy.nan)),
        ("too many drafts", tale.Error, "drafts is 33: it must be 0 to 32", lambda: m.generate([1], drafts=33)),
        ("a prompt's token", tale.Error, "tokens[2] is 600: it must be 0 to 511", lambda: m.generate([1, 2, 600])),
        ("a prompt that is too long", tale.Error, "tokens has 257 elements: it must have 1 to 256", lambda: m.generate([1] * 257)),
        ("back to what was not taken", tale.Error, "n is 200: it must be 0 to 0, the number of positions", lambda: m.rewind(200)),
        ("back to before the beginning", tale.Error, "n is -1: it must be 0", lambda: m.rewind(-1)),
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

# --- prompts after other texts ---


def begun(module, model, prompt, **how):
    """Whether generation after other positions gives the tokens of a new instance."""
    with module.Model() as new:
        return same(model.generate(prompt, **how), new.generate(prompt, **how))


m.reset()
prompts = [m.encode(words) for words in ("Once upon a time", "Nora was", "Once upon a hill", "Once")]
verdict("a prompt after other texts", all(begun(tale, m, prompt, steps=9) for prompt in prompts))
verdict("the same prompt again, with other settings", begun(tale, m, prompts[3], steps=9, temperature=0.9, seed=4))
made = m.generate(prompts[0], steps=9)
taken = m.position
verdict("a text goes on", begun(tale, m, numpy.concatenate([prompts[0], made]), steps=9) and m.position > taken)
m.reset()
m.prefill(prompts[1])
m.forward([5, 6])
m.rewind(len(prompts[1]) + 1)
m.rewind(len(prompts[1]))
verdict("a prompt after forward and prefill", begun(tale, m, prompts[0], steps=9) and begun(tale, m, numpy.concatenate([prompts[1], [5]]), steps=9))
m.reset()
m.prefill(prompts[0][:-1])
told = []
m.generate(prompts[0], rule=lambda tokens, _: told.append(m.position), steps=2)
verdict("positions of the prompt are kept", told == [len(prompts[0]), len(prompts[0]) + 1], told)
try:
    m.generate(prompts[2], rule=fails)
except TypeError:
    pass
verdict("a prompt after an exception", begun(tale, m, prompts[0], steps=9))
m.reset()
verdict("no prompt: the beginning of a text", same(m.generate(steps=9), m.generate(m.encode(""), steps=9)) and len(m.generate([], steps=9)) == 9)
verdict("start and stop tokens", (numerals.MODEL["start"], numerals.MODEL["stop"], topics.MODEL["start"]) == (1, [2], None))
w = windowed.Model()
first, second = numpy.arange(3, 57), numpy.concatenate([numpy.arange(3, 9), [50, 51]])
verdict("a prompt whose beginning a window has left", begun(windowed, w, first, steps=9) and begun(windowed, w, second, steps=9))
w.reset()
w.prefill(first)
problem = raises(windowed.Error, "no longer held", lambda: w.rewind(6))
verdict("which rewind refuses", not problem, problem)

# --- pictures, noise, an encoder, vectors ---

s = sketch.Model(threads=2)
star = s.denoise(7, seed=3, steps=5)
lathe("run", "sketch", "-I", "class=7", "--seed", "3", "-n", "5", "-o", "star.npy")
verdict("a picture out of noise is that of lathe run", same(star, numpy.load("star.npy")))
s.feed("condition", step=0.5, class_input=7)
noise = s.forward(star)
verdict("a forward call is that of lathe eval",
        same(noise, evaluated("sketch", "noise", step=numpy.float32(0.5), **{"class": numpy.int32(7)}, latent=star)))
problem = raises(sketch.Error, "class_input is 99: it must be 0 to ", lambda: s.denoise(99))
verdict("a class out of range", not problem, problem)
problem = raises(sketch.Error, "steps is -1: it must be 0 or more", lambda: s.denoise(7, steps=-1))
verdict("steps of denoising below 0", not problem, problem)
problem = raises(sketch.Error, "out of range: steps, or guidance", lambda: s.denoise(7, steps=10**6))
verdict("too many steps of denoising", not problem, problem)

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
for shape in ((32, 32, 4), (32, 32, 2)):
    alpha = numpy.zeros(shape, numpy.uint8)
    alpha[:, :, :-1], alpha[:, :, -1] = pixels[:, :, None], numpy.arange(32)
    verdict(f"pixels with alpha, {shape[2]} channels", same(d.classify(alpha), d.classify(alpha[:, :, :-1])))
for name, kind, words, shape in (("5 channels", ValueError, "pixels has 5 channels: it must have 1", (9, 9, 5)), ("0 channels", ValueError, "0 channels", (9, 9, 0)),
                                 ("no pixels", doodles.Error, "pixels is empty, of shape [0, 9]", (0, 9))):
    problem = raises(kind, words, lambda: d.classify(numpy.zeros(shape, numpy.uint8)))  # noqa: B023
    verdict(f"an error of a picture: {name}", not problem, problem)
verdict("two outputs are those of lathe eval",
        sorted(both) == ["features", "logits"] and all(same(both[name], evaluated("doodles", name, pixels=star)) for name in both))
verdict("one of two", same(d.forward(star, outputs="logits"), both["logits"]))

n = numerals.Model()
words, tokens = numpy.array([5, 9, 11], numpy.int32), numpy.array([1, 4], numpy.int32)
verdict("an input that is not fed yet", raises(numerals.Error, "not been fed", lambda: n.forward(tokens)) == "")
n.feed("source", words)
verdict("an encoder and a decoder are lathe eval's", same(n.forward(tokens), evaluated("numerals", "logits", words=words, tokens=tokens)))
said = subprocess.run([LATHE, "run", f"{ROOT}/models/numerals.model", "--weights", f"{ROOT}/models/numerals/numerals.safetensors", "5 9 11"],
                      check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode().split()
n.feed("source", words)
made = n.generate()
verdict("without tokens a text begins with the start token", [str(token) for token in made] == said and same(made, n.generate([1])), made, said)
problem = raises(numerals.Error, "length of words [length] is 25: it must be 1 to 24", lambda: n.feed("source", [1] * 25))
verdict("a size beyond its maximum", not problem, problem)
verdict("a group that there is not", raises(TypeError, "there is no group words; there are: source", lambda: n.feed("words", words)) == "")

t = topics.Model()
vector = t.embed([3, 5, 7]) if hasattr(t, "embed") else None
if vector is not None:
    lathe("run", "topics", "3 5 7", "-o", "vector.npy")
    verdict("a vector is that of lathe run", same(vector, numpy.load("vector.npy").reshape(-1)))
    both = t.embed([[3, 5, 7], numpy.array([9.0, 4.0])])
    verdict("vectors of several texts", same(both, numpy.array([vector, t.embed([9, 4])])) and same(t.embed(numpy.array([[3, 5, 7]])), both[:1]))
    both = t.classify([[3, 5, 7], [9, 4]])
    verdict("classes of several texts", same(both, numpy.array([t.classify([3, 5, 7]), t.classify([9, 4])])))
    verdict("a loop's setting fills an input", same(t.forward([3, 5, 7], outputs="sentence"), t.forward([3, 5, 7], numpy.ones(3), outputs="sentence"))
            and same(t.forward([3, 5], [True, False], outputs="sentence"), t.forward([3, 5], keep=[1, 0], outputs="sentence")))
    for name, words, call in (("a token", "tokens[1] is 416: it must be 0 to 415", lambda: t.embed([3, 416])),
                              ("no token", "tokens has 0 elements: it must have 1 to 32", lambda: t.embed([])),
                              ("a long text", "tokens has 33 elements: it must have 1 to 32", lambda: t.classify([[1], [1] * 33]))):
        problem = raises(topics.Error, words, call)
        verdict(f"an error of vectors and classes: {name}", not problem, problem)

# --- sizes, names, a grammar ---

q = sums.Model()
x = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
found = q.forward(x, [1, 2, 0], [2, 1, 1])
verdict("sizes follow from shapes", all(value.shape[0] == 3 for value in found.values())
        and numpy.array_equal(list(found.values())[0], x.sum(1) + (x[0, 1:] * [2, 2, 0]).sum()), found)
for name, bad in (("1e39", 1e39), ("-1e39", -1e39), ("halfway", (2 - 2.0**-24) * 2.0**127)):
    given = x.astype(numpy.float64)
    given[1, 2] = bad
    problem = raises(ValueError, "x[1, 2] is " + str(bad) + ", beyond the largest float", lambda: q.forward(given, [1, 2, 0], [2, 1, 1]))  # noqa: B023
    verdict(f"a number of 64 bits that floats do not hold, {name}", not problem, problem)
for name, good in (("the largest", (2 - 2.0**-23) * 2.0**127), ("infinity", numpy.inf)):
    given = numpy.zeros((3, 4))
    given[1, 2] = good
    found = q.forward(given, [0, 0, 0], [0, 0, 0])["lambda"]
    verdict(f"a number of 64 bits that floats hold, {name}", found[1] == numpy.float32(good), found)
verdict("sizes that differ", raises(ValueError, "not of shape [4]", lambda: q.forward(x, [1, 2, 0, 0], [1, 1, 1])) == "")
r = ruled.Model()
ruled_text = r.decode(r.generate(r.encode("{"), steps=20, temperature=1.0, seed=2))
verdict("a grammar rules", raises(Exception, "", lambda: r.generate([1] * 70)) == "" and not set(ruled_text) - set(map(chr, range(32, 127))) - set("\n\t\r"),
        ruled_text)
r.reset()
verdict("without the grammar", r.decode(r.generate(r.encode("{"), steps=20, temperature=1.0, seed=2, rule=False)) != ruled_text)

u = silent.Model()
problem = raises(silent.Error, "leaves no possible token: every token that the grammar allows here is ruled out", lambda: u.generate([1], steps=3))
verdict("a grammar that allows no token: the error", not problem, problem)
verdict("a rule that is no function", raises(TypeError, "rule is a function", lambda: u.generate([1], rule="json")) == "")

# --- a rule of one's own, weights in memory ---

with open("tale/tale.weights", "rb") as f:
    image = f.read()
with tale.Model(image=image) as other:
    verdict("weights in memory", same(other.forward(text), whole))
    verdict("weights in memory and in a file", raises(ValueError, "not both", lambda: tale.Model("tale/tale.weights", image=image)) == "")
    verdict("half of the weights", raises(tale.Error, "not the weight file", lambda: tale.Model(image=image[:5000])) == "")
    other.reset()

    def even(tokens, logits):
        logits[1::2] = -numpy.inf
        return len(tokens) == len(ids) + 6

    made = other.generate(ids, rule=even, steps=40)
    verdict("a rule of one's own", len(made) == 6 and not (made % 2).any(), made)
    other.reset()
    verdict("what it raises comes through", raises(KeyError, "one's own", lambda: other.generate(ids, rule=lambda *_: {}["one's own"])) == "")

# --- several sequences ---

b = tales.Model(threads=2)
rows = [numpy.array(x, numpy.int32) for x in ([1, 20, 30, 40], [7], [5, 9, 11, 13, 15])]
alone = []
for row in rows:
    m.reset()
    alone.append(m.forward(row))
found = b.batch([2, 0, 3], rows)
verdict("sequences in a batch have the bits of separate calls", all(map(same, found, alone)) and len(found) == 3)
m.reset()
m.prefill(rows[2])
found = b.batch([3, 1], [[2, 3], rows[0]], first=[-1, 3])
verdict("they continue, with only some outputs requested", same(found[0], m.forward([2, 3])[1:]) and same(found[1], alone[0][3:]))
verdict("none are wanted", b.batch([0], [[8]], outputs=()) == [{}] and b.batch([], []) == [])
b.select(3)
verdict("a slot that is selected", (b.slot, b.position) == (3, 7), b.slot, b.position)
left = b.pages_left
b.fork(3, 0)
b.select(0)
verdict("a copy of a slot takes no page", b.position == 7 and b.pages_left == left + 1, left, b.pages_left)
verdict("and goes on as the other does", same(b.forward([3, 4]), b.batch([3], tokens=[[3, 4]])[0]))
for name, kind, words, call in [
        ("a slot that there is not", ValueError, "slots are 0 to 3, not 4", lambda: b.batch([0, 4], rows[:2])),
        ("another to select", ValueError, "slots are 0 to 3, not -1", lambda: b.select(-1)),
        ("a slot twice", tales.Error, "twice", lambda: b.batch([1, 1], rows[:2])),
        ("an array for each sequence", ValueError, "tokens is a list of 2, an array for each sequence, not of 3", lambda: b.batch([0, 1], rows)),
        ("another shape", ValueError, "tokens is [time], not of shape [1, 4]", lambda: b.batch([0], [[rows[0]]])),
        ("the first that is wanted lies behind", tales.Error, "first of sequence 0 is out of range: it must be -4 to 4", lambda: b.batch([0], rows[:1], first=5)),
        ("firsts of others", ValueError, "first is a number, or a list of 1", lambda: b.batch([0], rows[:1], first=[1, 2])),
        ("too many positions together", tales.Error, "a batch", lambda: b.batch([1], [[1] * 100])),
        ("an input that is lacking", TypeError, "forward lacks tokens", lambda: b.batch([1]))]:
    problem = raises(kind, words, call)
    verdict(f"an error of batches: {name}", not problem, problem)
s2 = sentences.Model()
sentence = [numpy.array(x, numpy.int32) for x in ([1, 7, 9], [4, 5, 7, 7, 2], [8])]
given = {"tokens": sentence, "token_types": [x * 0 for x in sentence], "keep": [x * 0 + 1 for x in sentence]}
each = [s2.forward(**{name: value[i] for name, value in given.items()}) for i in range(3)]
found = s2.batch(**given)
verdict("whole sequences in a batch have the bits of separate calls", all(same(a[name], x[name]) for a, x in zip(found, each) for name in a), found)
verdict("in a batch, too, a loop's settings fill inputs", all(same(a[name], x[name]) for a, x in zip(s2.batch(sentence), found) for name in a))
verdict("more than an instance takes", raises(sentences.Error, "slot", lambda: s2.batch(**{n: v + v for n, v in given.items()})) == "")

b.select(1)
for how, wanted in (({}, {"temperature": 0.9, "top_k": 20, "seed": 1}), ({"temperature": 0}, {}), ({"seed": 5, "top_k": 0}, {"temperature": 0.9, "seed": 5})):
    m.reset()
    b.reset()
    text, found = m.generate(ids, steps=40, **wanted), b.generate(ids, steps=40, **how)
    verdict(f"settings of the loop, and {how or 'no others'}", text.tolist() == found.tolist(), text, found)

# --- beams ---

def likeliest(model, words, *options):
    done = subprocess.run([LATHE, "run", *model, *words, *options], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.decode().strip()


b.select(2)
said = likeliest([f"{ROOT}/models/tale.model", "--weights", f"{ROOT}/models/tale/tale.safetensors", "--tokenizer",
                  f"{ROOT}/models/tale/tokenizer.bin"], ["Nora was"], "--beams", "4", "-n", "20")
search, worth = b.beam_search([1, 9], 4, steps=6)
verdict("slot 0 is selected after beams", b.slot == 0)
for slot in range(4):
    b.select(slot)
    b.reset()
found = b.beam_search([1, 9], 4, steps=6)
verdict("beams of a text that slot 0 has passed", same(search, found[0]) and worth == found[1], search, found)
b.select(1)
verdict("a prompt in a slot that had a beam", begun(tales, b, [1, 20, 30], steps=9))
once, nora = b.encode("Once upon a time there was a cat"), b.encode("Nora was a clever girl, and she")
for slot, row in (3, nora[:6]), (1, once[:6]):
    b.select(slot)
    b.reset()
    b.prefill(row)
b.batch([2], [[1, 20]])
b.fork(1, 3)
b.select(3)
verdict("a prompt in a copy of a slot", begun(tales, b, nora, steps=9))
b.select(2)
verdict("a prompt after a batch", begun(tales, b, [1, 20, 40], steps=9))
for name, words, call in (("9 of 4", "beams is 9: it must be 1 to 4", lambda: b.beam_search([1], 9)), ("none", "beams is 0: it must be", lambda: b.beam_search([1], 0)),
                          ("steps", "steps is -1: it must be 0", lambda: b.beam_search([1], 2, steps=-1))):
    problem = raises(tales.Error, words, call)
    verdict(f"an error of beams: {name}", not problem, problem)
for slot in range(4):
    b.select(slot)
    b.reset()
b.select(2)
b.prefill([9, 9, 9])
search, worth = b.beam_search(b.encode("Nora was"), 4, steps=20)
verdict("beams are those of lathe run, whatever slot is selected", b.decode(search).strip() in said and len(search) > 4 and worth < 0,
        b.decode(search), said, worth)
for slot in range(4):
    b.select(slot)
    b.reset()
b.select(0)
b.prefill(b.encode("Nora was")[:2])
again, _ = b.beam_search(b.encode("Nora was"), 4, steps=20)
verdict("beams of a text whose beginning slot 0 holds", list(again) == list(search), again, search)
t2 = translator.Model()
t2.select(1)
t2.feed("source", [5, 9])
t2.select(0)
t2.feed("source", [5, 9, 11])
search, _ = t2.beam_search([0], 3, steps=12, length_penalty=2, early_stopping=True)
said = likeliest(["translator.model"], ["5 9 11"], "--beams", "3", "-n", "12", "--length-penalty", "2", "--early-stopping")
verdict("beams of an encoder and decoder are those of lathe run", " ".join(map(str, search)) == said, search, said)
verdict("more beams than slots", raises(translator.Error, "beams is 4: it must be 1 to 3", lambda: t2.beam_search([0], 4)) == "")
verdict("a text of two axes", all(raises(ValueError, "tokens is [n], not of shape [1, 2]", lambda f=f: f([[0, 1]])) == ""
                                  for f in (lambda x: t2.beam_search(x, 2), t2.generate, s2.fill)))
verdict("several texts of two axes", raises(ValueError, "tokens is [n], not of shape [1, 1, 2]", lambda: t.embed([[[0, 1]]])) == "")

# --- loops: their hashes are those of programs in tests/library/hashes.py ---

places = s2.fill([1, 7, 9, 7])
verdict("masks have places and probabilities", [place for place, _ in places] == [1, 3] and all(len(p) == 60 and abs(p.sum() - 1) < 1e-9 for _, p in places))
verdict("a text without a mask has no place", s2.fill([1, 2]) == [])
verdict("a token that there is not", raises(sentences.Error, "tokens[1] is 60: it must be 0 to 59", lambda: s2.fill([7, 60])) == "")


def classified(model, *words):
    """What lathe run says, a dict for each text."""
    out = subprocess.run([LATHE, "run", model, *words, "--top", "99", "--json"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return [json.loads(line) for line in out.decode().splitlines()]


def by_class(classes):
    return numpy.array([c["probability"] for c in sorted(classes, key=lambda c: c["class"])])


j, ids, types = judge.Model(), *judge.Model().encode_pair("a cat sleeps", "the dogs")
verdict("a pair has tokens and types", ids.tolist() == [2, 5, 6, 8, 3, 11, 7, 10, 3] and types.tolist() == [0] * 5 + [1] * 4, ids, types)
verdict("a pair is cut, the longer text first", j.encode_pair("a cat sleeps the", "a", most=6)[0].tolist() == [2, 5, 6, 3, 5, 3])
pair, = classified("judge.model", "--tokenizer", "words.txt", "a cat sleeps", "the dogs")
verdict("classes of a pair are those of lathe run", numpy.abs(j.classify(ids, types) - by_class(pair["classes"])).max() < 1e-8 and j.label(2) == "no", pair)
verdict("types are 0 by default", same(j.classify(ids), j.classify(ids, 0 * types)) and not same(j.classify(ids), j.classify(ids, types)))
verdict("classes of several pairs", same(j.classify([ids, ids[:5]], [types, types[:5]]), numpy.array([j.classify(ids, types), j.classify(ids[:5])])))
verdict("types of fewer texts", raises(TypeError, "types are of 1 texts, and tokens of 2", lambda: j.classify([ids, ids], [types])) == "")
verdict("a type that there is not", raises(judge.Error, "types[0] is 9: it must be 0 to 1", lambda: j.classify(ids, types + 9)) == "")
verdict("types of another length", raises(TypeError, "types has 8 elements, and tokens 9", lambda: j.classify(ids, types[1:])) == "")
one, = classified("namer.model", "5 9 11")
found = namer.Model().classify([5, 9, 11])
verdict("classes of tokens are those of lathe run", found.shape == (3, 2) and all(numpy.abs(f - by_class(t["classes"])).max() < 1e-8 for f, t in zip(found, one["tokens"])), found, one)
sound = numpy.sin(numpy.arange(200) / 3)
h = hears.Model()
words = h.transcribe(sound, steps=8)
verdict("a sound's first tokens are prescribed", words[:2].tolist() == [50, 51] and len(words) == 8, words)
told = []
verdict("on_token is called for each token of a sound", same(h.transcribe(sound, on_token=told.append, steps=5), words[:5]) and told == words[:5].tolist())
verdict("a sound that is too long", raises(hears.Error, "samples has 1000000 elements: it must have 1 to 3200", lambda: h.transcribe(numpy.zeros(10**6))) == "")
verdict("a sound of another kind", raises(TypeError, "samples is of real numbers", lambda: h.transcribe(["a"])) == "")

g = led.Model()
random = numpy.random.RandomState(5)
prompt = {"text": random.rand(2, 3).astype(numpy.float32), "loud": numpy.array([0.5, 1], numpy.float32), "marks": numpy.array([1, 4, 6], numpy.int32)}
away = {"text": random.rand(1, 3).astype(numpy.float32), "loud": numpy.array([0.5], numpy.float32), "class": numpy.int32(3)}
hint = random.rand(2, 4).astype(numpy.float32)
words = ["led.model", "--seed", "5", "-o", "drawn.npy"]
for name, values, option in (("in", {**prompt, "class": numpy.int32(1), "hint": hint}, "-I"), ("away", away, "--without")):
    for key, value in values.items():
        numpy.save(f"{key}.{name}.npy", value)
        words += [option, f"{key}={value}" if key == "class" else f"{key}={key}.{name}.npy"]
away["class_input"] = away.pop("class")
subprocess.run([LATHE, "run", *words, "--guidance", "3"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
steps = []
drawn = g.denoise(**prompt, class_input=1, hint=hint, seed=5, guidance=3, without=away, on_step=lambda *step: steps.append(step))
verdict("denoising with guidance equals lathe run", same(drawn, numpy.load("drawn.npy")))
verdict("on_step is called for each step", [step[:2] for step in steps] == [(i + 1, len(steps)) for i in range(len(steps))] and same(steps[-1][2], drawn), steps)
first = g.denoise(**prompt, class_input=1, hint=hint, seed=5, on_step=lambda *_: True)
verdict("on_step can end denoising", not same(first, drawn))
for name, kind, words, call in [
        ("an input that is lacking", TypeError, "denoise lacks hint", lambda: g.denoise(**prompt, class_input=1)),
        ("one that there is not", TypeError, "denoise has no input hit", lambda: g.denoise(hit=1)),
        ("sizes that differ", ValueError, "not of shape [1]", lambda: g.denoise(**{**prompt, "loud": [1]}, class_input=1, hint=hint)),
        ("away from a text of another length alone", led.Error, "out of range",
         lambda: g.denoise(**prompt, class_input=1, hint=hint, guidance=2, without={"text": away["text"]})),
        ("guidance away from nothing", led.Error, "out of range", lambda: g.denoise(**prompt, class_input=1, hint=hint, guidance=2)),
        ("an error of who is told", KeyError, "told", lambda: g.denoise(**prompt, class_input=1, hint=hint, on_step=lambda *_: {}["told"])),
        ("a class of another shape", ValueError, "class_input is [], not of shape [2]", lambda: g.denoise(**prompt, class_input=[1, 2], hint=hint))]:
    problem = raises(kind, words, call)
    verdict(f"an error of denoising: {name}", not problem, problem)
sys.exit(failed)
