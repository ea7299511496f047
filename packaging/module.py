import ctypes
import glob
import math
import os
import sys
import threading

import numpy

__all__ = ["Error", "Model", "VERSION"]
__version__ = MODEL["package"]
VERSION = MODEL["version"]  # the version of lathe and the layout of the weights
_HERE = os.path.dirname(os.path.abspath(__file__))
_NAME = MODEL["name"]
_FILE_ERRORS = 1, 2  # ERROR_FILE, ERROR_WEIGHTS
_RANGE, _CONTEXT = 5, 6  # ERROR_RANGE, ERROR_CONTEXT
_READS = {"position", "encode", "encode_room", "encode_scratch", "decode", "decode_room", "pages_left"}  # also of those who are told
_NUMBER = {"float32": numpy.float32, "int32": numpy.int32}
_DENOISE = MODEL["loops"].get("denoise", {"given": [], "sizes": []})
_SETTINGS = {"temperature": (0, None), "top_k": (0, None), "top_p": (0, 1), "min_p": (0, 1), "typical_p": (0, 1), "repetition_penalty": (0, None),
             "presence_penalty": (None, None), "frequency_penalty": (None, None), "steps": (0, None), "drafts": (0, MODEL["drafts"])}


class Error(Exception):
    """What a function of the model returned, in words; `code` is its number in the header."""

    def __init__(self, code, words):
        super().__init__(words)
        self.code = code


def _compiled(folder):
    """Paths of the compiled model in a folder: the result of pip, or of lathe build --lib."""
    paths = sorted(glob.glob(os.path.join(glob.escape(folder), f"_{_NAME}*.so"))) + [os.path.join(folder, "lib" + MODEL["files"] + ".so")]
    return [path for path in paths if os.path.exists(path)]


def _hidden():
    """The folder of a compiled package of the same name, later in sys.path; None: there is none."""
    folders = [os.path.join(os.path.abspath(folder), _NAME) for folder in sys.path]
    return next((folder for folder in folders if os.path.realpath(folder) != os.path.realpath(_HERE) and _compiled(folder)), None)


def _open():
    """The compiled model beside this file."""
    for path in _compiled(_HERE):
        lib = ctypes.CDLL(path)
        version = getattr(lib, _NAME + "_version")
        version.restype = ctypes.c_char_p
        if version().decode() != VERSION:
            raise ImportError(f"{path} is of another build: {version().decode()}, and this file is of {VERSION}")
        return lib
    hidden = _hidden()
    if hidden:
        raise ImportError(f"{_HERE} is the source of {_NAME}, and hides the compiled package in {hidden}, which is later in sys.path: "
                          "run Python in another folder, or rename the source folder")
    raise ImportError(f"there is no compiled {_NAME} in {_HERE}: `pip install` of that folder compiles it, or lathe build --lib does")


_LIB = _open()
_ON_TOKEN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int32)
_ON_MASK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_double))
_ON_STEP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_float))
_RULE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32), ctypes.c_int64, ctypes.POINTER(ctypes.c_float))


class _Generation(ctypes.Structure):
    _fields_ = [("temperature", ctypes.c_float), ("top_k", ctypes.c_int), ("top_p", ctypes.c_float), ("min_p", ctypes.c_float),
                ("typical_p", ctypes.c_float), ("seed", ctypes.c_uint64), ("repetition_penalty", ctypes.c_float),
                ("presence_penalty", ctypes.c_float), ("frequency_penalty", ctypes.c_float), ("steps", ctypes.c_int64),
                ("drafts", ctypes.c_int), ("propose", ctypes.c_void_p), ("proposer", ctypes.c_void_p), ("rule", ctypes.c_void_p),
                ("ruler", ctypes.c_void_p), ("rows", ctypes.c_void_p)]


class _Beams(ctypes.Structure):
    _fields_ = [("beams", ctypes.c_int), ("length_penalty", ctypes.c_float), ("early_stopping", ctypes.c_int), ("steps", ctypes.c_int64)]


class _Sequence(ctypes.Structure):
    _fields_ = ([("slot", ctypes.c_int)] if MODEL["time"] else []) + [("n", ctypes.c_int64)] + ([("first", ctypes.c_int64)] if MODEL["time"] else [])


class _Inputs(ctypes.Structure):
    """Further inputs of denoise(), sizes first; NULL or 0: as in the call."""
    _fields_ = [(name, ctypes.c_int64) for name in _DENOISE["sizes"]] + [(name, ctypes.c_void_p) for name in _DENOISE["given"]]


class _Denoising(ctypes.Structure):
    _fields_ = [("steps", ctypes.c_int), ("guidance", ctypes.c_double),
                *([("without", ctypes.POINTER(_Inputs))] if _DENOISE["given"] else []),
                ("seed", ctypes.c_uint64), ("goes_on", ctypes.c_int)]


class _Text(ctypes.Structure):
    _fields_ = [("held", ctypes.c_ubyte * 3), ("n", ctypes.c_int), ("begun", ctypes.c_int)]


def _function(name, result=ctypes.c_int):
    function = getattr(_LIB, f"{_NAME}_{name}")
    function.restype = result
    return function


def _words(code):
    return _function("error", ctypes.c_char_p)(ctypes.c_int(code)).decode()


def _check(code, out_of_range=""):
    """out_of_range: possible causes of ERROR_RANGE that the checks here don't find."""
    if code:
        raise Error(code, _words(code) + (f": {out_of_range}" if out_of_range and code == _RANGE else ""))


def _limited(name, value, least, most):
    """Error unless a number is finite and within its limits; None: no limit."""
    if not math.isfinite(value) or (least is not None and value < least) or (most is not None and value > most):
        wanted = "finite" if least is None else f"{least} to {most}" if most is not None else f"{least} or more"
        raise Error(_RANGE, f"{name} is {value}: it must be {wanted}")


def _bounded(what, array, bound):
    """Error unless all numbers of an input are 0 to bound - 1; bound 0: any number."""
    wrong = (array < 0) | (array >= bound) if bound else numpy.zeros(0, bool)
    if wrong.any():
        at = numpy.unravel_index(wrong.argmax(), array.shape)
        raise Error(_RANGE, f"{what}{[int(i) for i in at] or ''} is {array[at]}: it must be 0 to {bound - 1}")


def _sized(name, size, inputs):
    """Error unless a named size of inputs is 1 to its maximum."""
    if not 1 <= size <= MODEL["sizes"][name]:
        of = [f"{i} {_shape_words(MODEL['inputs'][i])}" for i in inputs if any(name in named for _, named in MODEL["inputs"][i]["shape"])]
        raise Error(_RANGE if size < 1 else _CONTEXT, f"{name} of {' and '.join(of)} is {size}: it must be 1 to {MODEL['sizes'][name]}")


def _pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p) if array is not None else ctypes.c_void_p()


def _scratch(size):
    """Allocates size bytes, aligned to 64."""
    memory = numpy.empty(size + 64, numpy.uint8)
    at = -memory.ctypes.data % 64
    return memory[at:at + size]


def _aligned(image):
    """Its bytes where they are, or a copy aligned to 64."""
    given = numpy.frombuffer(image, numpy.uint8)
    if given.ctypes.data % 64 == 0:
        return given
    copy = _scratch(given.size)
    copy[:] = given
    return copy


def _whole(array, number, what):
    """The array as C stores it.  Whole numbers may be given as floats or bools."""
    given = numpy.asarray(array)
    if number is numpy.int32:
        if given.size and given.dtype.kind not in "iufb":
            raise TypeError(f"{what} is of whole numbers, not of {given.dtype}")
        part = (given != numpy.floor(given)) | ~numpy.isfinite(given) if given.dtype.kind == "f" else numpy.zeros(0, bool)
        if part.any():
            at = numpy.unravel_index(part.argmax(), given.shape)
            raise TypeError(f"{what} is of whole numbers, not of {given.dtype}: {what}{[int(i) for i in at] or ''} is {given[at]}")
        if given.size and (given.min() < -2**31 or given.max() >= 2**31):
            raise ValueError(f"{what} holds numbers beyond 32 bits")
    elif given.dtype.kind not in "fiub":
        raise TypeError(f"{what} is of real numbers, not of {given.dtype}")
    with numpy.errstate(over="ignore"):
        array = numpy.asarray(given, number, order="C")
    if given.dtype.kind == "f" and given.dtype.itemsize > 4:
        beyond = numpy.isinf(array) & ~numpy.isinf(given)
        if beyond.any():
            at = numpy.unravel_index(beyond.argmax(), given.shape)
            raise ValueError(f"{what}{[int(i) for i in at]} is {given[at]}, beyond the largest float of 32 bits, 3.40282347e+38")
    return array


def _struct(kind, **values):
    """A struct of C; ValueError if one of its numbers is not what was given: ctypes cuts off higher bits."""
    made = kind(**values)
    for name, value in values.items():
        kept = getattr(made, name)
        if isinstance(value, (int, numpy.integer)) and kept != value:
            raise ValueError(f"{name} is {value}, beyond the {ctypes.sizeof(dict(kind._fields_)[name]) * 8} bits that it has in C")
        if isinstance(value, (float, numpy.floating)) and numpy.isinf(kept) and not numpy.isinf(value):
            raise ValueError(f"{name} is {value}, beyond the largest float of 32 bits, 3.40282347e+38")
    return made


def _row(array, number, what):
    """Like _whole, for arrays of one axis: a text, a sound."""
    row = _whole(array, number, what)
    if row.ndim != 1:
        raise ValueError(f"{what} is [n], not of shape {list(row.shape)}")
    return row


def _ids(array, what, name, most=None):
    """Numbers [n] of the input `name`; most: how many there may be, at least 1."""
    row, tensor = _row(array, numpy.int32, what), MODEL["inputs"][name]
    _bounded(what, row, tensor["bound"])
    if most is not None and not 1 <= len(row) <= most:
        raise Error(_RANGE if not len(row) else _CONTEXT, f"{what} has {len(row)} elements: it must have 1 to {most}")
    return row


def _longest(name):
    """The maximum number of elements of an input [n]."""
    (fixed, named), = MODEL["inputs"][name]["shape"]
    return fixed + sum(per * MODEL["sizes"][size] for size, per in named.items())


def _are_several(texts):
    """Whether these are several texts, not one."""
    return numpy.ndim(texts[0]) == 1 if isinstance(texts, (list, tuple)) and len(texts) else numpy.ndim(texts) == 2


def _shape(tensor, sizes):
    return tuple(fixed + sum(per * sizes[name] for name, per in named.items()) for fixed, named in tensor["shape"])


def _shape_words(tensor):
    words = []
    for fixed, named in tensor["shape"]:
        parts = [name if per == 1 else f"{per} {name}" for name, per in named.items()] + ([str(fixed)] if fixed or not named else [])
        words.append(" + ".join(parts))
    return f"[{', '.join(words)}]"


def _solve(tensor, array, sizes, what):
    """Stores the named sizes that an input's shape gives in `sizes`; ValueError if it does not fit."""
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
    """An instance of the model.  Only one thread may use it at a time; other threads run meanwhile.

    weights: the weight file (default: the one beside this file); image: its content, bytes or an array of uint8, instead of
    the file: it is used in place if it is aligned to 64, otherwise copied.  threads: 1 to 64.
    """

    def __init__(self, weights=None, threads=1, image=None):
        path = None
        if not MODEL["weights"] and (weights is not None or image is not None):
            raise ValueError("the weights are in the program")
        if weights is not None and image is not None:
            raise ValueError("weights are in a file or in memory, not both")
        error = ctypes.c_int(0)
        self._lock = threading.RLock()
        self._within = False  # a call, which tells someone
        self._slot = 0
        self._fed = [{} for _ in range(MODEL["slots"])]  # of each slot, sizes of what was fed
        self._taken = [[] for _ in range(MODEL["slots"])]  # of each slot, the tokens of its positions; None: they are unknown
        if image is not None:
            self._image = _aligned(image)
            self._m = _function("new_from", ctypes.c_void_p)(_pointer(self._image), ctypes.c_size_t(self._image.size), ctypes.c_int(threads),
                                                             ctypes.byref(error))
        else:
            if MODEL["weights"]:
                path = os.fsencode(weights if weights is not None else os.path.join(_HERE, MODEL["weights"]))
            self._m = _function("new", ctypes.c_void_p)(path, ctypes.c_int(threads), ctypes.byref(error))
        if not self._m:
            raise Error(error.value, _words(error.value) + (f": {os.fsdecode(path)}" if path and error.value in _FILE_ERRORS else ""))

    def close(self):
        """Ends its threads and frees its memory, like the end of a `with`."""
        if getattr(self, "_m", None):
            with self._lock:
                self._is_free("close")
                _function("free", None)(ctypes.c_void_p(self._m))
                self._m = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    def _call(self, name, *arguments, result=ctypes.c_int):
        with self._lock:
            if not self._m:
                raise ValueError("this model is closed")
            if name in _READS:
                return _function(name, result)(ctypes.c_void_p(self._m), *arguments)
            self._is_free(name)
            self._within = True
            try:
                return _function(name, result)(ctypes.c_void_p(self._m), *arguments)
            finally:
                self._within = False

    def _is_free(self, name):
        if self._within:
            raise ValueError(f"no {name} from a function that is told of a call: it has not ended")

    def _given(self, call, positional, named, slot=None):
        """Arrays of a call's inputs by name, and all sizes that they give.  slot: default: the selected one."""
        inputs = MODEL["calls"][call]["inputs"]
        if len(positional) > len(inputs):
            raise TypeError(f"{call} takes {', '.join(inputs)}")
        values = dict(zip(inputs, positional))
        for name, value in named.items():
            if name not in inputs or name in values:
                raise TypeError(f"{call} has no input {name}, or has it twice; it takes {', '.join(inputs)}")
            values[name] = value
        missing = [name for name in inputs if name not in values and "fill" not in MODEL["inputs"][name]]
        if missing:
            raise TypeError(f"{call} lacks {', '.join(missing)}")
        sizes = dict(self._fed[self._slot if slot is None else slot])
        for name in MODEL["calls"][call]["sizes"] + ([MODEL["time"]] if MODEL["time"] else []):
            sizes.pop(name, None)
        arrays = {}
        for name in sorted(inputs, key=lambda name: name not in values):
            tensor = MODEL["inputs"][name]
            if name in values:
                arrays[name] = _whole(values[name], _NUMBER[tensor["dtype"]], name)
                _solve(tensor, arrays[name], sizes, name)
                if tensor["dtype"] == "int32":
                    _bounded(name, arrays[name], tensor["bound"])
            elif all(size in sizes for _, named in tensor["shape"] for size in named):
                arrays[name] = numpy.full(_shape(tensor, sizes), tensor["fill"], _NUMBER[tensor["dtype"]])
            else:
                raise TypeError(f"{call} lacks {name}")
        for name in MODEL["calls"][call]["sizes"]:
            _sized(name, sizes[name], inputs)
        return {name: arrays[name] for name in inputs}, sizes

    def feed(self, group, *inputs, **named):
        """Feeds inputs for the calls that follow: a group of `MODEL["groups"]`."""
        if group not in MODEL["groups"]:
            raise TypeError(f"there is no group {group}; there are: {', '.join(MODEL['groups']) or 'none'}")
        call = "feed_" + group
        arrays, sizes = self._given(call, inputs, named)
        sized = [ctypes.c_int64(sizes[name]) for name in MODEL["calls"][call]["sizes"]]
        _check(self._call(call, *sized, *map(_pointer, arrays.values())))
        self._fed[self._slot].update({name: sizes[name] for name in MODEL["calls"][call]["sizes"]})
        self._taken[self._slot] = []  # a causal model is reset

    @staticmethod
    def _wanted(outputs):
        """The names of the requested outputs: all, one or a list of them."""
        wanted = list(MODEL["outputs"]) if outputs is None else [outputs] if isinstance(outputs, str) else list(outputs)
        for name in wanted:
            if name not in MODEL["outputs"]:
                raise TypeError(f"there is no output {name}; there are: {', '.join(MODEL['outputs'])}")
        return wanted

    def forward(self, *inputs, outputs=None, **named):
        """The outputs: an array, or a dict of arrays if there are several.  outputs: the names of those to compute.

        For a causal model, takes new positions, and returns a row for each."""
        wanted = self._wanted(outputs)
        arrays, sizes = self._given("forward", inputs, named)
        call = [ctypes.c_int64(sizes[name]) for name in MODEL["calls"]["forward"]["sizes"]] + [_pointer(a) for a in arrays.values()]
        if MODEL["time"]:
            sizes[MODEL["past"]] = self.position
            call.append(ctypes.c_int64(sizes[MODEL["time"]]))
            if sizes[MODEL["past"]] + sizes[MODEL["time"]] > MODEL["sizes"][MODEL["time"]]:
                raise Error(_CONTEXT, f"{_words(_CONTEXT)}: {sizes[MODEL['past']]} are taken, {sizes[MODEL['time']]} are new, and there are "
                                      f"{MODEL['sizes'][MODEL['time']]}")
        made = {name: numpy.empty(_shape(MODEL["outputs"][name], sizes), numpy.float32) for name in wanted}
        _check(self._call("forward", *call, *[_pointer(made.get(name)) for name in MODEL["outputs"]]))
        self._take(self._slot, arrays)
        return made[wanted[0]] if len(wanted) == 1 else made

    __call__ = forward

    def _take(self, slot, arrays):
        """Notes that a slot has taken tokens, the input of a call."""
        if MODEL["generates"] and self._taken[slot] is not None:
            self._taken[slot] += next(iter(arrays.values())).tolist()

    if MODEL["time"]:
        def prefill(self, *inputs, **named):
            """Takes new positions, without outputs."""
            self.forward(*inputs, outputs=(), **named)

        @property
        def position(self):
            """Number of positions that have been taken; a property."""
            return self._call("position", result=ctypes.c_int64)

        def reset(self):
            """Back to position 0."""
            self._call("reset", result=None)
            self._taken[self._slot] = []

        def rewind(self, n):
            """Back to the first n positions."""
            taken = self.position
            if not 0 <= n <= taken:
                raise Error(_RANGE, f"n is {n}: it must be 0 to {taken}, the number of positions that have been taken")
            _check(self._call("rewind", ctypes.c_int64(n)))
            if n == 0:
                self._taken[self._slot] = []
            elif self._taken[self._slot] is not None:
                del self._taken[self._slot][n:]

    if MODEL["slots"] > 1:
        def _several(self, slots, inputs, named, first, outputs):
            """The result of batch(); slots: the slot of each sequence; first: of each, the first position whose outputs are computed."""
            wanted, n = self._wanted(outputs), len(slots)
            if not n:
                return []
            for name, values in [*zip(MODEL["calls"]["forward"]["inputs"], inputs), *named.items()]:
                if len(values) != n:
                    raise ValueError(f"{name} is a list of {n}, an array for each sequence, not of {len(values)}")
            given = [self._given("forward", [x[i] for x in inputs], {name: x[i] for name, x in named.items()}, slots[i]) for i in range(n)]
            size = MODEL["time"] or next(iter(MODEL["calls"]["forward"]["sizes"]), None)
            taken = [sizes[size] if size else 1 for _, sizes in given]
            if MODEL["time"]:
                first = [at + rows if at < 0 else at for at, rows in zip(first, taken)]
                for i, (at, rows, (_, sizes)) in enumerate(zip(first, taken, given)):
                    if not 0 <= at <= rows:
                        raise Error(_RANGE, f"first of sequence {i} is out of range: it must be {-rows} to {rows}, as it has {rows} positions")
                    sizes[size] = rows - at
            sequences = (_Sequence * n)(*zip(slots, taken, first) if MODEL["time"] else zip(taken))
            shapes = {name: [_shape(MODEL["outputs"][name], sizes) for _, sizes in given] for name in wanted}
            ends = {name: numpy.cumsum([int(numpy.prod(shape)) for shape in shapes[name]]) for name in wanted}
            made = {name: numpy.empty(ends[name][-1], numpy.float32) for name in wanted}
            joined = [numpy.concatenate([arrays[name].ravel() for arrays, _ in given]) for name in given[0][0]]
            _check(self._call("batch", *([sequences] if size else []), ctypes.c_int(n), *map(_pointer, joined),
                              *[_pointer(made.get(name)) for name in MODEL["outputs"]]))
            for slot, (arrays, _) in zip(slots, given):
                self._take(slot, arrays)
            cut = {name: numpy.split(made[name], ends[name][:-1]) for name in wanted}
            results = [{name: cut[name][i].reshape(shapes[name][i]) for name in wanted} for i in range(n)]
            return [result[wanted[0]] for result in results] if len(wanted) == 1 else results

    if MODEL["slots"] > 1 and MODEL["time"]:
        def batch(self, slots, *inputs, first=0, outputs=None, **named):
            """Takes new positions of several sequences in one call: a list with the result of forward() for each, with the same bits.

            slots: the slot of each sequence, 0 to `MODEL["slots"]` - 1; each input is a list of an array for each.  first: the first of a
            sequence's new positions whose outputs are computed, a number or a list; -1: only the last."""
            slots = [self._is_slot(slot) for slot in slots]
            first = [first] * len(slots) if isinstance(first, int) else list(first)
            if len(first) != len(slots):
                raise ValueError(f"first is a number, or a list of {len(slots)}, one for each sequence")
            return self._several(slots, inputs, named, first, outputs)

        @staticmethod
        def _is_slot(slot):
            if not 0 <= slot < MODEL["slots"]:
                raise ValueError(f"slots are 0 to {MODEL['slots'] - 1}, not {slot}")
            return int(slot)

        @property
        def slot(self):
            """The selected slot, which the other functions use."""
            return self._slot

        def select(self, slot):
            """Selects the slot that the other functions use; each has its own position and fed inputs."""
            _check(self._call("select", ctypes.c_int(self._is_slot(slot))))
            self._slot = slot

        def fork(self, slot, copy):
            """Makes slot `copy` a copy of `slot`: its fed inputs, and the positions that it has taken."""
            _check(self._call("fork", ctypes.c_int(self._is_slot(slot)), ctypes.c_int(self._is_slot(copy))))
            self._fed[copy] = dict(self._fed[slot])
            self._taken[copy] = None if self._taken[slot] is None else list(self._taken[slot])

        if MODEL["pages"]:
            @property
            def pages_left(self):
                """The number of free pages; a property."""
                return self._call("pages_left", result=ctypes.c_int64)
    elif MODEL["slots"] > 1:
        def batch(self, *inputs, outputs=None, **named):
            """Several whole sequences in one call, at most `MODEL["slots"]`: a list with the result of forward() for each, with the same bits.

            Each input is a list of an array for each sequence."""
            number = len(next(iter(inputs or named.values()), []))
            return self._several([0] * number, inputs, named, None, outputs)

    if MODEL["tokenizer"]:
        def encode(self, text, control=False, bare=False):
            """The token ids of a text.  control: the texts of control tokens become these; bare: nothing is added before or after it."""
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
            """The text of token ids; invalid UTF-8 becomes U+FFFD."""
            state, out = _Text(), ctypes.create_string_buffer(max(3, self._call("decode_room", result=ctypes.c_int64)))
            text = b""
            for token in _row(ids, numpy.int32, "ids"):
                n = self._call("decode", ctypes.byref(state), ctypes.c_int32(token), ctypes.c_int(control), out, result=ctypes.c_int64)
                text += out.raw[:n]
            n = _function("decode_end", ctypes.c_int64)(ctypes.byref(state), out)
            return (text + out.raw[:n]).decode(errors="replace")

    if MODEL["generates"]:
        def _grammar(self, settings, within):
            """Sets the rule to the grammar that the model was built with; returns it, and memory that must be kept."""
            memory = _scratch(self._call("grammar_scratch", result=ctypes.c_size_t))
            settings.ruler = self._call("grammar_new", _pointer(memory), result=ctypes.c_void_p)
            settings.rule = ctypes.cast(getattr(_LIB, _NAME + "_grammar_rule"), ctypes.c_void_p)
            _function("grammar_begin", None)(ctypes.c_void_p(settings.ruler), ctypes.c_int(within))
            return memory

        def _prompt(self, tokens, what="tokens"):
            """A prompt [n]; None or no tokens: the beginning of a text, as lathe run has it."""
            if tokens is None or not numpy.size(tokens):
                tokens = self.encode("") if MODEL["tokenizer"] and not MODEL["groups"] else []
                tokens = tokens if len(tokens) else [MODEL["start"]]
            return _ids(tokens, what, MODEL["calls"]["forward"]["inputs"][0], MODEL["sizes"][MODEL["time"]])

        def _begin(self, text):
            """Keeps the positions of the selected slot that have the beginning of text [n], at most n - 1."""
            taken, given, common = self._taken[self._slot] or [], text[:-1].tolist(), 0
            if len(taken) == self.position:
                differing = (i for i, (a, b) in enumerate(zip(taken, given)) if a != b)
                common = next(differing, min(len(taken), len(given)))
            if common < self.position:
                try:
                    self.rewind(common)
                except Error:  # windows or sums have moved on
                    self.reset()

        def _text_made(self, call, how, on_token, rule, text):
            """The tokens that a call makes after text [n], given its settings, callback and count."""
            made, tokens, raised = ctypes.c_int64(0), [], []
            vocab = int(numpy.prod(_shape(next(iter(MODEL["outputs"].values())), {MODEL["time"]: 1})))

            def told(_, token):
                try:
                    if on_token is not None and on_token(token):
                        return 1
                except BaseException as error:  # not through C
                    raised.append(error)
                    return 1
                tokens.append(token)
                return 0

            def ruled(_, text, n, logits):
                try:
                    return -1 if rule(numpy.ctypeslib.as_array(text, (n,)), numpy.ctypeslib.as_array(logits, (vocab,))) else 0
                except BaseException as error:
                    raised.append(error)
                    return -1

            unknown = set(how) - {name for name, _ in _Generation._fields_[:11]}
            within = len(text) > 1  # the text continues another one
            if unknown:
                raise TypeError(f"generation has no {', '.join(sorted(unknown))}")
            if rule not in (None, False) and not callable(rule):
                raise TypeError("rule is a function, or False for none")
            settings, kept = _struct(_Generation, **{**MODEL["sampling"], **how}), None
            for name in set(how) & set(_SETTINGS):
                _limited(name, how[name], *_SETTINGS[name])
            if callable(rule):
                kept = _RULE(ruled)
                settings.rule = ctypes.cast(kept, ctypes.c_void_p)
            elif MODEL["grammar"] and rule is None:
                kept = self._grammar(settings, within)
            code = call(settings, _ON_TOKEN(told), made)
            known = None if code else (text.tolist() + tokens)[:self.position]
            self._taken[self._slot] = known
            if raised:
                raise raised[0]
            why = _function("grammar_error", ctypes.c_char_p)(ctypes.c_void_p(settings.ruler)) if code and settings.ruler else None
            if why:
                raise Error(code, f"{_words(code)}: {why.decode()}")
            _check(code)
            return numpy.array(tokens, numpy.int32)

        def generate(self, tokens=None, on_token=None, rule=None, **how):
            """The tokens that continue the text `tokens` [n]; None: a text from its beginning.

            Positions that have been taken are kept as far as their tokens are the beginning of the text; the others are removed.
            how: temperature, top_k, top_p, min_p, typical_p, seed, repetition_penalty, presence_penalty, frequency_penalty,
            steps, drafts, as in the header; default: the settings of the model's loop, or the most likely token.  on_token: called for each token; a true result ends the text before it.
            rule: called with the text so far and the logits after it; sets those of forbidden tokens to -inf; a true result ends the text.
            default: the grammar that the model was built with, if any; False: none."""
            with self._lock:
                self._is_free("generate")
            text = self._prompt(tokens)

            def call(settings, told, made):
                self._begin(text)
                scratch = _scratch(_function("generate_scratch", ctypes.c_size_t)(ctypes.byref(settings)))
                return self._call("generate", _pointer(text), ctypes.c_int64(len(text)), ctypes.byref(settings), told, None,
                                  _pointer(scratch), ctypes.byref(made))

            return self._text_made(call, how, on_token, rule, text)

    if MODEL["generates"] and MODEL["slots"] > 1:
        def beam_search(self, tokens, beams, steps=0, length_penalty=1.0, early_stopping=False):
            """Beam search from `tokens` [n], as in generate(), with a slot for each beam: the tokens of the best text, and its score.

            The inputs and positions of slot 0 are used; it is selected afterwards, and the slots of beams have other texts."""
            with self._lock:
                self._is_free("beam_search")
            text, room = self._prompt(tokens), MODEL["sizes"][MODEL["time"]]
            vocab = int(numpy.prod(_shape(next(iter(MODEL["outputs"].values())), {MODEL["time"]: 1})))
            _limited("beams", beams, 1, min(MODEL["slots"], vocab // 2))
            _limited("steps", steps, 0, None)
            _limited("length_penalty", length_penalty, None, None)
            self.select(0)
            self._begin(text)
            found = numpy.empty(max(1, room + 1 - len(text)), numpy.int32)
            how, n = _struct(_Beams, beams=beams, length_penalty=length_penalty, early_stopping=early_stopping, steps=steps), ctypes.c_int64(len(text))
            made, worth = ctypes.c_int64(0), ctypes.c_double(0)
            scratch = _scratch(_function("beam_search_scratch", ctypes.c_size_t)(ctypes.byref(how), n))
            code = self._call("beam_search", _pointer(text), n, ctypes.byref(how), _pointer(found), ctypes.byref(made), ctypes.byref(worth),
                              _pointer(scratch))
            self._fed = [dict(self._fed[0 if i < beams else i]) for i in range(MODEL["slots"])]
            self._taken = [None if i < beams else self._taken[i] for i in range(MODEL["slots"])]
            _check(code)
            return found[:made.value].copy(), worth.value

    if isinstance(MODEL["loops"].get("classify"), dict):
        def classify(self, tokens, types=None):
            """The probability of each class: of a text or a pair, of tokens [n] and their types [n], as encode_pair() gives them; [classes], or
            [n, classes] for a model that classifies tokens.  Of several, as lists: [texts, classes], or a list of [n, classes]."""
            loop, (name, *others) = MODEL["loops"]["classify"], MODEL["loop_inputs"]["classify"]
            if _are_several(tokens):
                if types is not None and len(types) != len(tokens):
                    raise TypeError(f"types are of {len(types)} texts, and tokens of {len(tokens)}")
                each = [self.classify(text, None if types is None else types[i]) for i, text in enumerate(tokens)]
                return each if loop["of_tokens"] else numpy.array(each)
            text = _ids(tokens, "tokens", name, _longest(name))
            kinds = None if types is None else _ids(types, "types", *others) if others else _row(types, numpy.int32, "types")
            if kinds is not None and len(kinds) != len(text):
                raise TypeError(f"types has {len(kinds)} elements, and tokens {len(text)}")
            n = ctypes.c_int64(len(text))
            likely = numpy.empty((len(text), loop["classes"]) if loop["of_tokens"] else loop["classes"], numpy.float64)
            scratch = _scratch(_function("classify_scratch", ctypes.c_size_t)(n))
            self._taken[self._slot] = None
            _check(self._call("classify", _pointer(text), None if kinds is None else _pointer(kinds), n, _pointer(likely), _pointer(scratch)),
                   "scores are NaN or infinite")
            return likely

        if MODEL["tokenizer"]:
            def encode_pair(self, first, second, most=0):
                """A pair of texts as tokens and their types, by the model's template, or the tokenizer's; more than `most` tokens (0: no limit) are cut."""
                data = first.encode(), second.encode()
                sizes = [ctypes.c_int64(len(text)) for text in data]
                room = self._call("encode_pair_room", *sizes, result=ctypes.c_int64)
                ids, types, whole = numpy.empty(room, numpy.int32), numpy.empty(room, numpy.int32), ctypes.c_int64(0)
                scratch = _scratch(self._call("encode_pair_scratch", *sizes, result=ctypes.c_int64))
                count = self._call("encode_pair", data[0], sizes[0], data[1], sizes[1], ctypes.c_int64(most), _pointer(ids), _pointer(types),
                                   ctypes.byref(whole), _pointer(scratch), result=ctypes.c_int64)
                if count < 0:
                    raise ValueError("a text is too long, or the tokenizer has no template for pairs")
                return ids[:count].copy(), types[:count].copy()
    elif "classify" in MODEL["loops"]:
        def classify(self, pixels):
            """The probability of each class: of pixels of 8 bits, [height, width] or [height, width, 3]; alpha, as a further channel, is ignored."""
            given = numpy.asarray(pixels)
            if given.dtype != numpy.uint8 or given.ndim not in (2, 3):
                raise TypeError(f"pixels are uint8, [height, width] or [height, width, channels], not {given.dtype} {list(given.shape)}")
            channels = given.shape[2] if given.ndim == 3 else 1
            if channels not in (1, 2, 3, 4):
                raise ValueError(f"pixels has {channels} channels: it must have 1 (grey) or 3 (red, green, blue), or one more for alpha")
            if not given.size:
                raise Error(_RANGE, f"pixels is empty, of shape {list(given.shape)}")
            given = numpy.ascontiguousarray(given[:, :, :channels // 2 * 2 - 1] if channels in (2, 4) else given)
            height, width = given.shape[:2]
            size = ctypes.c_int64(width), ctypes.c_int64(height)
            scratch = _scratch(_function("classify_scratch", ctypes.c_size_t)(*size))
            likely = numpy.empty(MODEL["loops"]["classify"], numpy.float64)
            _check(self._call("classify", _pointer(given), *size, ctypes.c_int(given.shape[2] if given.ndim == 3 else 1),
                              _pointer(likely), _pointer(scratch)), "the picture is too large, or scores are NaN or infinite")
            return likely

    if "classify" in MODEL["loops"]:
        @staticmethod
        def label(number):
            """A class's name, or None."""
            name = _function("label", ctypes.c_char_p)(ctypes.c_int64(number))
            return name.decode() if name is not None else None

    if "embed" in MODEL["loops"]:
        def embed(self, tokens):
            """The vector of a text, of tokens [n]; of several, as a list: [texts, size]."""
            if _are_several(tokens):
                return numpy.array([self.embed(text) for text in tokens])
            name = MODEL["loop_inputs"]["embed"][0]
            text = _ids(tokens, "tokens", name, _longest(name))
            n = ctypes.c_int64(len(text))
            vector = numpy.empty(MODEL["loops"]["embed"], numpy.float32)
            scratch = _scratch(_function("embed_scratch", ctypes.c_size_t)(n))
            self._taken[self._slot] = None
            _check(self._call("embed", _pointer(text), n, _pointer(vector), _pointer(scratch)))
            return vector

    if "rank" in MODEL["loops"]:
        def rank(self, query, passages, truncate=False):
            """The score of each passage for a query, texts: [passages].  truncate: texts that are too long for the model are cut."""
            if isinstance(passages, str):
                return self.rank(query, [passages], truncate)[0]
            faults = {0: "it has no tokens", -1: "it has too many bytes", -2: "the setting skip leaves out all its tokens", -3: "its score is NaN or infinite"}
            tokens, rows, score = ctypes.c_int64(0), ctypes.c_int64(0), ctypes.c_double(0)

            def take(name, text, *given):
                data = text.encode()
                n = ctypes.c_int64(len(data))
                scratch = _scratch(self._call("rank_scratch", n, result=ctypes.c_size_t))
                self._taken[self._slot] = None
                code = self._call(name, *given[:2 if name == "rank" else 0], data, n, ctypes.c_int(truncate), *given[2 if name == "rank" else 0:],
                                  ctypes.byref(tokens), _pointer(scratch))
                _check(code, f"{text[:40]!r}: " + faults.get(tokens.value, f"it has {tokens.value} tokens, and the model takes fewer"))

            n = ctypes.c_int64(len(query.encode()))
            vectors = numpy.empty((self._call("rank_rows", n, result=ctypes.c_int64), MODEL["loops"]["rank"]), numpy.float32)
            take("rank_query", query, _pointer(vectors), ctypes.byref(rows))
            scores = []
            for passage in passages:
                take("rank", passage, _pointer(vectors), rows, ctypes.byref(score))
                scores.append(score.value)
            return numpy.array(scores)

    if "fill" in MODEL["loops"]:
        def fill(self, tokens):
            """For each mask in tokens [n] its index and the probability of each token: a list of (index, probabilities)."""
            name = MODEL["loop_inputs"]["fill"][0]
            text = _ids(tokens, "tokens", name, _longest(name))
            n, found = ctypes.c_int64(len(text)), []

            def told(_, place, likely):
                found.append((place, numpy.ctypeslib.as_array(likely, (MODEL["loops"]["fill"],)).copy()))
                return 0

            scratch = _scratch(_function("fill_scratch", ctypes.c_size_t)(n))
            self._taken[self._slot] = None
            _check(self._call("fill", _pointer(text), n, _ON_MASK(told), None, _pointer(scratch)), "logits are NaN or infinite")
            return found

    if "denoise" in MODEL["loops"]:
        def denoise(self, *given, steps=0, guidance=0.0, without=None, seed=1, begin=None, on_step=None, **named):
            """The denoised result.  given: the model's other inputs, in the order of the header or by name, as the class.

            steps, guidance: 0 is the model's own number; without: neutral values of inputs for guidance, by their names;
            begin: initial values, instead of noise.  on_step: called after each call of the model with the number of calls done, the number
            of all, and the current values; a true result ends the loop."""
            values, others, raised = self._inputs(given, named), self._inputs((), without or {}), []
            lacks = [name for name in _DENOISE["given"] if name not in values]
            if lacks:
                raise TypeError(f"denoise lacks {', '.join(lacks)}")
            wanted, kept = self._filled(values)
            shape = _shape(MODEL["inputs"][_DENOISE["latent"]], {})
            latent = numpy.zeros(shape, numpy.float32) if begin is None else _whole(begin, numpy.float32, "begin").copy()
            if latent.shape != shape:
                raise ValueError(f"begin is of shape {list(shape)}, not {list(latent.shape)}")

            def told(_, done, calls, x):
                try:
                    return 1 if on_step is not None and on_step(done, calls, numpy.ctypeslib.as_array(x, shape).copy()) else 0
                except BaseException as error:
                    raised.append(error)
                    return 1

            _limited("guidance", guidance, None, None)
            _limited("steps", steps, 0, None)
            how = _struct(_Denoising, steps=steps, guidance=guidance, seed=seed, goes_on=begin is not None)
            if others:
                away, kept_too = self._filled(others)
                how.without = ctypes.pointer(away)
            scratch = _scratch(_function("denoise_scratch", ctypes.c_size_t)(ctypes.byref(how)))
            arguments = [ctypes.c_int64(getattr(wanted, name)) for name in _DENOISE["sizes"]]
            arguments += [ctypes.c_int32(kept[name][()]) if name == _DENOISE["class"] else _pointer(kept[name]) for name in _DENOISE["given"]]
            code = self._call("denoise", *arguments, ctypes.byref(how), _pointer(latent), _ON_STEP(told), None, _pointer(scratch))
            if raised:
                raise raised[0]
            _check(code, "steps, or guidance that lacks neutral values of inputs (without)")
            return latent

        @staticmethod
        def _inputs(given, named):
            """Values of denoise's inputs by name."""
            if len(given) > len(_DENOISE["given"]):
                raise TypeError(f"denoise takes {', '.join(_DENOISE['given']) or 'no inputs'}")
            values = dict(zip(_DENOISE["given"], given))
            for name, value in named.items():
                if name not in _DENOISE["given"] or name in values:
                    raise TypeError(f"denoise has no input {name}, or has it twice; it takes {', '.join(_DENOISE['given']) or 'none'}")
                values[name] = value
            return values

        @staticmethod
        def _filled(values):
            """These as NAME_inputs, and the arrays that it points to."""
            sizes, arrays = {}, {}
            for name, value in values.items():
                tensor = MODEL["inputs"][name]
                arrays[name] = _whole(value, _NUMBER[tensor["dtype"]], name)
                _solve(tensor, arrays[name], sizes, name)
                if tensor["dtype"] == "int32":
                    _bounded(name, arrays[name], tensor["bound"])
            return _Inputs(**sizes, **{name: array.ctypes.data for name, array in arrays.items()}), arrays

    if "transcribe" in MODEL["loops"]:
        def transcribe(self, samples, begin=None, on_token=None, rule=None, **how):
            """The tokens of a sound, samples [n] of -1 to 1.  begin: the beginning of the text, with its start token first; the other
            arguments are those of generate()."""
            sound, name = _row(samples, numpy.float32, "samples"), MODEL["loop_inputs"]["transcribe"][0]
            most = int(numpy.prod(_shape(MODEL["inputs"][name], {})))
            if not 1 <= len(sound) <= most:
                raise Error(_RANGE, f"samples has {len(sound)} elements: it must have 1 to {most}")
            first = self._prompt(begin, "begin")

            def call(settings, told, made):
                scratch = _scratch(_function("transcribe_scratch", ctypes.c_size_t)(ctypes.byref(settings)))
                return self._call("transcribe", _pointer(sound), ctypes.c_int64(len(sound)), _pointer(first), ctypes.c_int64(len(first)),
                                  ctypes.byref(settings), told, None, _pointer(scratch), ctypes.byref(made))

            return self._text_made(call, how, on_token, rule, first)
