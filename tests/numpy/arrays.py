"""What both implementations compute with arrays, each as docs/language.md says it."""

import math

import numpy as np

erf = np.vectorize(math.erf, otypes=[float])


def softmax(x, sink=None):
    """Of a row that is all -inf: 0."""
    most = x.max(axis=-1, keepdims=True, initial=-np.inf)
    if sink is not None:
        most = np.maximum(most, sink)
    dead = most == -np.inf
    powers = np.where(dead, 0, np.exp(x - np.where(dead, 0, most)))
    total = powers.sum(axis=-1, keepdims=True)
    if sink is not None:
        total = total + np.where(dead, 0, np.exp(sink - np.where(dead, 0, most)))
    return np.where(dead, 0, powers / np.where(dead, 1, total))


def top(x, k):
    """Of equals the first are larger."""
    order = np.argsort(-x, axis=-1, kind="stable")
    chosen = np.zeros(x.shape)
    np.put_along_axis(chosen, order[..., :k], 1.0, axis=-1)
    return chosen


def gather(table, indices):
    """Rows of a table by an array of indices for each of its leading axes."""
    clamped = [np.clip(i, 0, n - 1).astype(np.int64) for i, n in zip(np.broadcast_arrays(*indices), table.shape)]
    return table[tuple(clamped)]
