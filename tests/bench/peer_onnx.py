"""An encoder as a graph of ONNX with random weights, and its time in ONNX Runtime, all optimisations on.

python peer_onnx.py write bert|vit|dit FILE;  python peer_onnx.py time FILE THREADS: milliseconds, the best of the second half of 6 calls"""
import sys
import time

import numpy as np

LAYERS = 12


class Graph:
    def __init__(self, width, heads):
        from onnx import helper, numpy_helper, TensorProto
        self.h, self.numpy, self.t = helper, numpy_helper, TensorProto
        self.width, self.heads = width, heads
        self.nodes, self.tensors, self.rng = [], [], np.random.default_rng(1)

    def constant(self, value):
        name = f"c{len(self.tensors)}"
        self.tensors.append(self.numpy.from_array(value, name))
        return name

    def weight(self, *shape):
        return self.constant((self.rng.random(shape, np.float32) - 0.5) / 8)

    def __call__(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(self.h.make_node(op, list(inputs), [name], **attributes))
        return name

    def norm(self, x):
        return self("LayerNormalization", x, self.weight(self.width), self.weight(self.width), axis=-1, epsilon=1e-12)

    def linear(self, x, k, n):
        return self("Add", self("MatMul", x, self.weight(k, n)), self.weight(n))

    def split(self, x, order):
        each = self.constant(np.array([1, -1, self.heads, self.width // self.heads]))
        return self("Transpose", self("Reshape", x, each), perm=order)

    def attention(self, x):
        w = self.width
        q, k, v = (self.linear(x, w, w) for _ in range(3))
        scores = self("MatMul", self.split(q, [0, 2, 1, 3]), self.split(k, [0, 2, 3, 1]))
        scores = self("Div", scores, self.constant(np.array((w // self.heads) ** 0.5, np.float32)))
        mixed = self("MatMul", self("Softmax", scores, axis=-1), self.split(v, [0, 2, 1, 3]))
        return self.linear(self("Reshape", self("Transpose", mixed, perm=[0, 2, 1, 3]), self.constant(np.array([1, -1, w]))), w, w)

    def inner(self, x, **kind):
        return self.linear(self("Gelu", self.linear(x, self.width, 4 * self.width), **kind), 4 * self.width, self.width)

    def modulated(self, x):
        """Normed, with the scale and shift of a condition: those are computed once for a step, and so constants here."""
        ones, zeros = (self.constant(f(self.width, np.float32)) for f in (np.ones, np.zeros))
        return self("Add", self("Mul", self("LayerNormalization", x, ones, zeros, axis=-1, epsilon=1e-6), self.weight(self.width)),
                    self.weight(self.width))

    def gated(self, x):
        return self("Mul", self.weight(self.width), x)

    def save(self, given, shape, kind, result, result_shape, path):
        import onnx
        value = self.h.make_tensor_value_info
        graph = self.h.make_graph(self.nodes, "peer", [value(given, kind, shape)], [value(result, self.t.FLOAT, result_shape)], self.tensors)
        onnx.save(self.h.make_model(graph, opset_imports=[self.h.make_opsetid("", 20)], ir_version=9), path)


def bert(path):
    g = Graph(768, 12)
    x = g.norm(g("Add", g("Gather", g.weight(30522, g.width), "given"), g.weight(128, g.width)))
    for _ in range(LAYERS):
        x = g.norm(g("Add", x, g.attention(x)))
        x = g.norm(g("Add", x, g.inner(x)))
    g.save("given", [1, 128], g.t.INT64, x, [1, 128, g.width], path)


def patches(g, channels, size, n):
    """Of an image [channels][..][..], squares of `size` as rows [n]."""
    found = g("Conv", "given", g.weight(g.width, channels, size, size), g.weight(g.width), strides=[size, size])
    return g("Transpose", g("Reshape", found, g.constant(np.array([1, g.width, n]))), perm=[0, 2, 1])


def vit(path):
    g = Graph(768, 12)
    x = g("Add", g("Concat", g.weight(1, 1, g.width), patches(g, 3, 16, 196), axis=1), g.weight(197, g.width))
    for _ in range(LAYERS):
        x = g("Add", x, g.attention(g.norm(x)))
        x = g("Add", x, g.inner(g.norm(x)))
    first = g("Gather", g.norm(x), g.constant(np.array(0)), axis=1)
    g.save("given", [1, 3, 224, 224], g.t.FLOAT, g.linear(first, g.width, 1000), [1, 1000], path)


def dit(path):
    g = Graph(384, 6)
    x = g("Add", patches(g, 4, 2, 256), g.weight(256, g.width))
    for _ in range(LAYERS):
        x = g("Add", x, g.gated(g.attention(g.modulated(x))))
        x = g("Add", x, g.gated(g.inner(g.modulated(x), approximate="tanh")))
    g.save("given", [1, 4, 32, 32], g.t.FLOAT, g.linear(g.modulated(x), g.width, 32), [1, 256, 32], path)


def measure(path, threads):
    import onnxruntime
    o = onnxruntime.SessionOptions()
    o.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    value = np.ones(given.shape, np.int64 if "int64" in given.type else np.float32)
    best = []
    for _ in range(6):
        begun = time.perf_counter()
        session.run(None, {given.name: value})
        best.append(1e3 * (time.perf_counter() - begun))
    print(min(best[3:]))


if sys.argv[1] == "write":
    {"bert": bert, "vit": vit, "dit": dit}[sys.argv[2]](sys.argv[3])
else:
    measure(sys.argv[2], int(sys.argv[3]))
