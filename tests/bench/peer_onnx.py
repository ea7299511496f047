"""An encoder as a graph of ONNX with random weights, and its time in ONNX Runtime, all optimisations on.

python peer_onnx.py write bert|vit FILE;  python peer_onnx.py time FILE THREADS: milliseconds, the best of the second half of 6 calls"""
import sys
import time

import numpy as np

WIDTH, HEADS, INNER, LAYERS = 768, 12, 3072, 12


class Graph:
    def __init__(self):
        from onnx import helper, numpy_helper, TensorProto
        self.h, self.numpy, self.t = helper, numpy_helper, TensorProto
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
        return self("LayerNormalization", x, self.weight(WIDTH), self.weight(WIDTH), axis=-1, epsilon=1e-12)

    def linear(self, x, k, n):
        return self("Add", self("MatMul", x, self.weight(k, n)), self.weight(n))

    def heads(self, x, order):
        return self("Transpose", self("Reshape", x, self.constant(np.array([1, -1, HEADS, WIDTH // HEADS]))), perm=order)

    def attention(self, x):
        q, k, v = (self.linear(x, WIDTH, WIDTH) for _ in range(3))
        scores = self("MatMul", self.heads(q, [0, 2, 1, 3]), self.heads(k, [0, 2, 3, 1]))
        scores = self("Div", scores, self.constant(np.array((WIDTH // HEADS) ** 0.5, np.float32)))
        mixed = self("MatMul", self("Softmax", scores, axis=-1), self.heads(v, [0, 2, 1, 3]))
        return self.linear(self("Reshape", self("Transpose", mixed, perm=[0, 2, 1, 3]), self.constant(np.array([1, -1, WIDTH]))), WIDTH, WIDTH)

    def inner(self, x):
        return self.linear(self("Gelu", self.linear(x, WIDTH, INNER)), INNER, WIDTH)

    def save(self, given, shape, kind, result, result_shape, path):
        import onnx
        value = self.h.make_tensor_value_info
        graph = self.h.make_graph(self.nodes, "peer", [value(given, kind, shape)], [value(result, self.t.FLOAT, result_shape)], self.tensors)
        onnx.save(self.h.make_model(graph, opset_imports=[self.h.make_opsetid("", 20)], ir_version=9), path)


def bert(path):
    g = Graph()
    x = g.norm(g("Add", g("Gather", g.weight(30522, WIDTH), "given"), g.weight(128, WIDTH)))
    for _ in range(LAYERS):
        x = g.norm(g("Add", x, g.attention(x)))
        x = g.norm(g("Add", x, g.inner(x)))
    g.save("given", [1, 128], g.t.INT64, x, [1, 128, WIDTH], path)


def vit(path):
    g = Graph()
    patches = g("Conv", "given", g.weight(WIDTH, 3, 16, 16), g.weight(WIDTH), strides=[16, 16])
    x = g("Transpose", g("Reshape", patches, g.constant(np.array([1, WIDTH, 196]))), perm=[0, 2, 1])
    x = g("Add", g("Concat", g.weight(1, 1, WIDTH), x, axis=1), g.weight(197, WIDTH))
    for _ in range(LAYERS):
        x = g("Add", x, g.attention(g.norm(x)))
        x = g("Add", x, g.inner(g.norm(x)))
    first = g("Gather", g.norm(x), g.constant(np.array(0)), axis=1)
    g.save("given", [1, 3, 224, 224], g.t.FLOAT, g.linear(first, WIDTH, 1000), [1, 1000], path)


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
    {"bert": bert, "vit": vit}[sys.argv[2]](sys.argv[3])
else:
    measure(sys.argv[2], int(sys.argv[3]))
