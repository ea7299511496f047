import ctypes
import glob
import os
import threading

import numpy

__all__ = ["Error", "Model", "VERSION"]
__version__ = MODEL["package"]
VERSION = MODEL["version"]  # who wrote this, and how the weights are laid out
_HERE = os.path.dirname(os.path.abspath(__file__))
_NAME = MODEL["name"]
_FILE_ERRORS = 1, 2  # ERROR_FILE, ERROR_WEIGHTS
_NUMBER = {"float32": numpy.float32, "int32": numpy.int32}


class Error(Exception):
    """What a function of the model returned, in words; `code` is its number in the header."""

    def __init__(self, code, words):
        super().__init__(words)
        self.code = code


def _open():
    """The compiled model beside this file: what pip made, or lathe build --lib."""
    for path in sorted(glob.glob(os.path.join(_HERE, f"_{_NAME}*.so"))) + [os.path.join(_HERE, "lib" + MODEL["files"] + ".so")]:
        if os.path.exists(path):
            lib = ctypes.CDLL(path)
            version = getattr(lib, _NAME + "_version")
            version.restype = ctypes.c_char_p
            if version().decode() != VERSION:
                raise ImportError(f"{path} is of another build: {version().decode()}, and this file is of {VERSION}")
            return lib
    raise ImportError(f"there is no compiled {_NAME} in {_HERE}: `pip install` of that folder compiles it, or lathe build --lib does")


_LIB = _open()
_ON_TOKEN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int32)
_ON_MASK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_double))


class _Generation(ctypes.Structure):
    _fields_ = [("temperature", ctypes.c_float), ("top_k", ctypes.c_int), ("top_p", ctypes.c_float), ("min_p", ctypes.c_float),
                ("typical_p", ctypes.c_float), ("seed", ctypes.c_uint64), ("repetition_penalty", ctypes.c_float),
                ("presence_penalty", ctypes.c_float), ("frequency_penalty", ctypes.c_float), ("steps", ctypes.c_int64),
                ("drafts", ctypes.c_int), ("propose", ctypes.c_void_p), ("proposer", ctypes.c_void_p), ("rule", ctypes.c_void_p),
                ("ruler", ctypes.c_void_p)]


class _Denoising(ctypes.Structure):
    _fields_ = [("steps", ctypes.c_int), ("guidance", ctypes.c_double),
                *([("without", ctypes.c_void_p)] if MODEL["loops"].get("denoise", {}).get("given") else []),
                ("seed", ctypes.c_uint64), ("goes_on", ctypes.c_int)]


class _Text(ctypes.Structure):
    _fields_ = [("held", ctypes.c_ubyte * 3), ("n", ctypes.c_int), ("begun", ctypes.c_int)]


def _function(name, result=ctypes.c_int):
    function = getattr(_LIB, f"{_NAME}_{name}")
    function.restype = result
    return function


def _words(code):
    return _function("error", ctypes.c_char_p)(ctypes.c_int(code)).decode()


def _check(code):
    if code:
        raise Error(code, _words(code))


def _pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p) if array is not None else ctypes.c_void_p()


def _scratch(size):
    """Memory of so many bytes, aligned to 64."""
    memory = numpy.empty(size + 64, numpy.uint8)
    at = -memory.ctypes.data % 64
    return memory[at:at + size]


def _whole(array, number, what):
    """As it lies in C; whole numbers are taken as such alone."""
    given = numpy.asarray(array)
    if number is numpy.int32:
        if given.size and given.dtype.kind not in "iu":
            raise TypeError(f"{what} is of whole numbers, not of {given.dtype}")
        if given.size and (given.min() < -2**31 or given.max() >= 2**31):
            raise ValueError(f"{what} holds numbers beyond 32 bits")
    elif given.dtype.kind not in "fiub":
        raise TypeError(f"{what} is of real numbers, not of {given.dtype}")
    return numpy.asarray(given, number, order="C")


def _shape(tensor, sizes):
    return tuple(fixed + sum(per * sizes[name] for name, per in named.items()) for fixed, named in tensor["shape"])


def _shape_words(tensor):
    words = []
    for fixed, named in tensor["shape"]:
        parts = [name if per == 1 else f"{per} {name}" for name, per in named.items()] + ([str(fixed)] if fixed or not named else [])
        words.append(" + ".join(parts))
    return f"[{', '.join(words)}]"


def _solve(tensor, array, sizes, what):
    """The named sizes that an input's shape tells, into `sizes`; ValueError if it does not fit."""
    if array.ndim != len(tensor["shape"]):
        raise ValueError(f"{what} is {_shape_words(tensor)}, not of shape {list(array.shape)}")
    for (fixed, named), size in zip(tensor["shape"], array.shape):
        unknown = [name for name in named if name not in sizes]
        rest = size - fixed - sum(per * sizes[name] for name, per in named.items() if name in sizes)
        if len(unknown) == 1 and rest % named[unknown[0]] == 0:
            sizes[unknown[0]] = rest // named[unknown[0]]
        elif unknown or rest:
            raise ValueError(f"{what} is {_shape_words(tensor)}, not of shape {list(array.shape)}")


class Model:
    """An instance of the model.  One thread at a time uses it; the others run meanwhile.

    weights: the weight file (default: the one beside this file); threads: 1 to 64.
    """

    def __init__(self, weights=None, threads=1):
        path = None
        if MODEL["weights"]:
            path = os.fsencode(weights if weights is not None else os.path.join(_HERE, MODEL["weights"]))
        elif weights is not None:
            raise ValueError("the weights are in the program")
        error = ctypes.c_int(0)
        self._lock = threading.Lock()
        self._sizes = {}  # of what was fed
        self._m = _function("new", ctypes.c_void_p)(path, ctypes.c_int(threads), ctypes.byref(error))
        if not self._m:
            raise Error(error.value, _words(error.value) + (f": {os.fsdecode(path)}" if path and error.value in _FILE_ERRORS else ""))

    def close(self):
        """Ends its threads and gives back its memory; so does the end of a `with`."""
        if getattr(self, "_m", None):
            _function("free", None)(ctypes.c_void_p(self._m))
        self._m = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    def _call(self, name, *arguments, result=ctypes.c_int):
        if not self._m:
            raise ValueError("this model is closed")
        with self._lock:
            return _function(name, result)(ctypes.c_void_p(self._m), *arguments)

    def _given(self, call, positional, named):
        """Arrays of a call's inputs by name, and all sizes that they tell."""
        inputs = MODEL["calls"][call]["inputs"]
        if len(positional) > len(inputs):
            raise TypeError(f"{call} takes {', '.join(inputs)}")
        values = dict(zip(inputs, positional))
        for name, value in named.items():
            if name not in inputs or name in values:
                raise TypeError(f"{call} has no input {name}, or has it twice; it takes {', '.join(inputs)}")
            values[name] = value
        missing = [name for name in inputs if name not in values]
        if missing:
            raise TypeError(f"{call} lacks {', '.join(missing)}")
        sizes = dict(self._sizes)
        for name in MODEL["calls"][call]["sizes"] + ([MODEL["time"]] if MODEL["time"] else []):
            sizes.pop(name, None)
        arrays = {}
        for name in inputs:
            tensor = MODEL["inputs"][name]
            arrays[name] = _whole(values[name], _NUMBER[tensor["dtype"]], name)
            _solve(tensor, arrays[name], sizes, name)
        return arrays, sizes

    def feed(self, group, *inputs, **named):
        """What is fed separately, for the calls that follow: a group of `MODEL["groups"]`."""
        if group not in MODEL["groups"]:
            raise TypeError(f"there is no group {group}; there are: {', '.join(MODEL['groups']) or 'none'}")
        call = "feed_" + group
        arrays, sizes = self._given(call, inputs, named)
        sized = [ctypes.c_int64(sizes[name]) for name in MODEL["calls"][call]["sizes"]]
        _check(self._call(call, *sized, *map(_pointer, arrays.values())))
        self._sizes.update({name: sizes[name] for name in MODEL["calls"][call]["sizes"]})

    def forward(self, *inputs, outputs=None, **named):
        """The outputs: an array, or of several a dict of them.  outputs: names of those that are wanted.

        Of a causal model it takes positions more, and gives a row for each."""
        wanted = list(MODEL["outputs"]) if outputs is None else [outputs] if isinstance(outputs, str) else list(outputs)
        for name in wanted:
            if name not in MODEL["outputs"]:
                raise TypeError(f"there is no output {name}; there are: {', '.join(MODEL['outputs'])}")
        arrays, sizes = self._given("forward", inputs, named)
        call = [ctypes.c_int64(sizes[name]) for name in MODEL["calls"]["forward"]["sizes"]] + [_pointer(a) for a in arrays.values()]
        if MODEL["time"]:
            sizes[MODEL["past"]] = self.position
            call.append(ctypes.c_int64(sizes[MODEL["time"]]))
            if sizes[MODEL["past"]] + sizes[MODEL["time"]] > MODEL["sizes"][MODEL["time"]]:
                wanted = []  # the call says what is wrong, and writes nothing
        made = {name: numpy.empty(_shape(MODEL["outputs"][name], sizes), numpy.float32) for name in wanted}
        _check(self._call("forward", *call, *[_pointer(made.get(name)) for name in MODEL["outputs"]]))
        return made[wanted[0]] if len(wanted) == 1 else made

    __call__ = forward

    if MODEL["time"]:
        def prefill(self, *inputs, **named):
            """Takes positions more, without outputs."""
            self.forward(*inputs, outputs=(), **named)

        @property
        def position(self):
            """How many positions have been taken."""
            return self._call("position", result=ctypes.c_int64)

        def reset(self):
            """Back to position 0."""
            self._call("reset", result=None)

        def rewind(self, n):
            """Back to the first n positions."""
            _check(self._call("rewind", ctypes.c_int64(n)))

    if MODEL["tokenizer"]:
        def encode(self, text, control=False, bare=False):
            """The token ids of a text.  control: the texts of control tokens become these; bare: nothing is put around it."""
            data = text.encode()
            n = ctypes.c_int64(len(data))
            ids = numpy.empty(max(1, self._call("encode_room", n, result=ctypes.c_int64)), numpy.int32)
            scratch = _scratch(self._call("encode_scratch", n, result=ctypes.c_int64))
            count = self._call("encode", data, n, ctypes.c_int(control + 2 * bare), _pointer(ids), ctypes.c_int64(len(ids)),
                               _pointer(scratch), result=ctypes.c_int64)
            if count < 0:
                raise ValueError("the text is too long")
            return ids[:count].copy()

        def decode(self, ids, control=False):
            """The text of token ids; what is no UTF-8 becomes U+FFFD."""
            state, out = _Text(), ctypes.create_string_buffer(max(3, self._call("decode_room", result=ctypes.c_int64)))
            text = b""
            for token in _whole(ids, numpy.int32, "ids").ravel():
                n = self._call("decode", ctypes.byref(state), ctypes.c_int32(token), ctypes.c_int(control), out, result=ctypes.c_int64)
                text += out.raw[:n]
            n = _function("decode_end", ctypes.c_int64)(ctypes.byref(state), out)
            return (text + out.raw[:n]).decode(errors="replace")

    if MODEL["generates"]:
        def _text_made(self, call, how, on_token):
            """A call that makes tokens, given `how`, who is told and where their number goes; the tokens, those of a failed call too."""
            made, tokens, raised = ctypes.c_int64(0), [], []

            def told(_, token):
                try:
                    if on_token is not None and on_token(token):
                        return 1
                except BaseException as error:  # not through C
                    raised.append(error)
                    return 1
                tokens.append(token)
                return 0

            unknown = set(how) - {name for name, _ in _Generation._fields_[:11]}
            if unknown:
                raise TypeError(f"generation has no {', '.join(sorted(unknown))}")
            settings = _Generation(**how)
            rule = None
            if MODEL["grammar"]:
                rule = _scratch(self._call("grammar_scratch", result=ctypes.c_size_t))
                settings.ruler = self._call("grammar_new", _pointer(rule), result=ctypes.c_void_p)
                settings.rule = ctypes.cast(getattr(_LIB, _NAME + "_grammar_rule"), ctypes.c_void_p)
            code = call(settings, _ON_TOKEN(told), made)
            if raised:
                raise raised[0]
            _check(code)
            return numpy.array(tokens, numpy.int32)

        def generate(self, tokens, on_token=None, **how):
            """The tokens that come after `tokens` [n].  What was taken before is the text's beginning: reset() begins another.

            how: temperature, top_k, top_p, min_p, typical_p, seed, repetition_penalty, presence_penalty, frequency_penalty,
            steps, drafts, as in the header.  on_token: is told each token, and ends the text before it by anything true."""
            text = _whole(tokens, numpy.int32, "tokens").ravel()

            def call(settings, told, made):
                scratch = _scratch(_function("generate_scratch", ctypes.c_size_t)(ctypes.byref(settings)))
                return self._call("generate", _pointer(text), ctypes.c_int64(len(text)), ctypes.byref(settings), told, None,
                                  _pointer(scratch), ctypes.byref(made))

            return self._text_made(call, how, on_token)

    if "classify" in MODEL["loops"]:
        def classify(self, pixels):
            """The probability of each class: of pixels of 8 bits, [height, width] or [height, width, 3]."""
            given = numpy.asarray(pixels)
            if given.dtype != numpy.uint8 or given.ndim not in (2, 3):
                raise TypeError(f"pixels are uint8, [height, width] or [height, width, channels], not {given.dtype} {list(given.shape)}")
            given = numpy.ascontiguousarray(given)
            height, width = given.shape[:2]
            size = ctypes.c_int64(width), ctypes.c_int64(height)
            scratch = _scratch(_function("classify_scratch", ctypes.c_size_t)(*size))
            likely = numpy.empty(MODEL["loops"]["classify"], numpy.float64)
            _check(self._call("classify", _pointer(given), *size, ctypes.c_int(given.shape[2] if given.ndim == 3 else 1),
                              _pointer(likely), _pointer(scratch)))
            return likely

        @staticmethod
        def label(number):
            """A class's name, or None."""
            name = _function("label", ctypes.c_char_p)(ctypes.c_int64(number))
            return name.decode() if name is not None else None

    if "embed" in MODEL["loops"]:
        def embed(self, tokens):
            """The vector of a text, of tokens [n]."""
            text = _whole(tokens, numpy.int32, "tokens").ravel()
            n = ctypes.c_int64(len(text))
            vector = numpy.empty(MODEL["loops"]["embed"], numpy.float32)
            scratch = _scratch(_function("embed_scratch", ctypes.c_size_t)(n))
            _check(self._call("embed", _pointer(text), n, _pointer(vector), _pointer(scratch)))
            return vector

    if "fill" in MODEL["loops"]:
        def fill(self, tokens):
            """Of each mask in tokens [n] its place and how likely each token is there: a list of (place, probabilities)."""
            text = _whole(tokens, numpy.int32, "tokens").ravel()
            n, found = ctypes.c_int64(len(text)), []

            def told(_, place, likely):
                found.append((place, numpy.ctypeslib.as_array(likely, (MODEL["loops"]["fill"],)).copy()))
                return 0

            scratch = _scratch(_function("fill_scratch", ctypes.c_size_t)(n))
            _check(self._call("fill", _pointer(text), n, _ON_MASK(told), None, _pointer(scratch)))
            return found

    if "denoise" in MODEL["loops"]:
        def denoise(self, *given, steps=0, guidance=0.0, seed=1, begin=None):
            """What is made of noise.  given: the model's other inputs, in the order of the header, as the class.

            steps, guidance: 0 is the model's own number; begin: what it begins with, in place of noise."""
            about = MODEL["loops"]["denoise"]
            if len(given) != len(about["given"]):
                raise TypeError(f"denoise takes {', '.join(about['given']) or 'no inputs'}")
            arguments, kept = [], []
            for name, value in zip(about["given"], given):
                if name == about["class"]:
                    arguments.append(ctypes.c_int32(value))
                    continue
                tensor = MODEL["inputs"][name]
                kept.append(_whole(value, _NUMBER[tensor["dtype"]], name))
                _solve(tensor, kept[-1], {}, name)
                arguments.append(_pointer(kept[-1]))
            shape = _shape(MODEL["inputs"][about["latent"]], {})
            latent = numpy.zeros(shape, numpy.float32) if begin is None else _whole(begin, numpy.float32, "begin").copy()
            if latent.shape != shape:
                raise ValueError(f"begin is of shape {list(shape)}, not {list(latent.shape)}")
            how = _Denoising(steps=steps, guidance=guidance, seed=seed, goes_on=begin is not None)
            scratch = _scratch(_function("denoise_scratch", ctypes.c_size_t)(ctypes.byref(how)))
            _check(self._call("denoise", *arguments, ctypes.byref(how), _pointer(latent), None, None, _pointer(scratch)))
            return latent

    if "transcribe" in MODEL["loops"]:
        def transcribe(self, samples, begin=None, on_token=None, **how):
            """The tokens of a sound, samples [n] of -1 to 1.  begin: how the text begins, its start token first."""
            sound = _whole(samples, numpy.float32, "samples").ravel()
            first = None if begin is None else _whole(begin, numpy.int32, "begin").ravel()

            def call(settings, told, made):
                scratch = _scratch(_function("transcribe_scratch", ctypes.c_size_t)(ctypes.byref(settings)))
                return self._call("transcribe", _pointer(sound), ctypes.c_int64(len(sound)), _pointer(first),
                                  ctypes.c_int64(0 if first is None else len(first)), ctypes.byref(settings), told, None,
                                  _pointer(scratch), ctypes.byref(made))

            return self._text_made(call, how, on_token)
