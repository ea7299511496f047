"""Draws the pictures of `doodles` and `sketch`: ten digits and eight shapes, white on black, 32 by 32, grey.

A picture is strokes: lines between points of a plane in which a figure reaches from -1 to 1, y downwards.  They
are stretched, turned, moved, and laid on the pixels with soft edges.  Closed shapes may be filled.

Expects numpy.  `python3 shapes.py` shows one picture of each class as text; `python3 shapes.py pictures.npy` writes two
of each class, float16 [36, 1, 32, 32], which training does not see.
"""

import sys

import numpy as np

SIDE = 32
NAMES = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9",
         "circle", "square", "triangle", "star", "cross", "arrow", "moon", "wave"]
FIRST_SHAPE = 10                    # digits before it, which are turned a little only
FILLED = {10, 11, 12, 13, 16}       # may be filled
SEGMENTS = 28                       # of a figure at most


def arc(x, y, rx, ry, start, end, n):
    """n + 1 points of an ellipse around (x, y); angles in turns, clockwise from the right."""
    a = 2 * np.pi * np.linspace(start, end, n + 1)
    return np.stack([x + rx * np.cos(a), y + ry * np.sin(a)], 1)


def lines(*points):
    return np.array(points, float)


def star():
    r, a = np.where(np.arange(11) % 2, 0.42, 1.0), 2 * np.pi * (np.arange(11) / 10 - 0.25)
    return np.stack([r * np.cos(a), r * np.sin(a)], 1)


def wave():
    x = np.linspace(-1, 1, 17)
    return np.stack([x, 0.45 * np.sin(2 * np.pi * x)], 1)


# for each class its strokes, each a row of points
FIGURES = [
    [arc(0, 0, 0.55, 1, 0, 1, 20)],
    [lines((-0.4, -0.6), (0.1, -1), (0.1, 1))],
    [arc(0, -0.45, 0.55, 0.55, -0.5, 0.1, 10), lines((0.44, -0.12), (-0.6, 1), (0.65, 1))],
    [arc(-0.05, -0.5, 0.55, 0.5, -0.45, 0.25, 11), arc(-0.05, 0.5, 0.6, 0.5, -0.25, 0.42, 11)],
    [lines((0.3, 1), (0.3, -1), (-0.65, 0.4), (0.7, 0.4))],
    [lines((0.5, -1), (-0.45, -1), (-0.5, -0.1)), arc(-0.05, 0.4, 0.6, 0.6, -0.37, 0.38, 14)],
    [arc(0, 0.45, 0.55, 0.55, 0, 1, 16), arc(0.45, 0.45, 1.0, 1.4, 0.5, 0.73, 6)],
    [lines((-0.6, -1), (0.6, -1), (-0.15, 1))],
    [arc(0, -0.5, 0.45, 0.48, 0, 1, 12), arc(0, 0.5, 0.55, 0.5, 0, 1, 12)],
    [arc(0, -0.45, 0.55, 0.55, 0, 1, 16), arc(-0.45, -0.45, 1.0, 1.4, 0, 0.23, 6)],
    [arc(0, 0, 0.95, 0.95, 0, 1, 24)],
    [lines((-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85), (-0.85, -0.85))],
    [lines((0, -1), (0.9, 0.75), (-0.9, 0.75), (0, -1))],
    [star()],
    [lines((-1, 0), (1, 0)), lines((0, -1), (0, 1))],
    [lines((-1, 0), (1, 0)), lines((0.4, -0.6), (1, 0), (0.4, 0.6))],
    [np.concatenate([arc(0, 0, 0.95, 0.95, 0.12, 0.88, 16), arc(0.55, 0, 0.68, 0.68, 0.75, 0.25, 10)])],
    [wave()],
]


def segments(figure):
    """[SEGMENTS, 4]: begin and end of each; the last is repeated to fill up."""
    parts = np.concatenate([np.concatenate([s[:-1], s[1:]], 1) for s in figure])
    assert len(parts) <= SEGMENTS
    return np.concatenate([parts, np.repeat(parts[-1:], SEGMENTS - len(parts), 0)])


TABLE = np.stack([segments(f) for f in FIGURES])
COUNTS = np.array([sum(len(s) - 1 for s in f) for f in FIGURES])


def place(labels, rng, calm):
    """Segments [n, SEGMENTS, 4] in pixels, and half of their widths [n].  calm: little is left to chance."""
    n = len(labels)
    between = lambda low, high: rng.uniform(low, high, n)
    size = between(10.5, 12) if calm else between(7, 13)
    stretch = between(0.95, 1.05) if calm else between(0.82, 1.2)
    turn = between(-0.02, 0.02) if calm else np.where(labels < FIRST_SHAPE, between(-0.05, 0.05), between(-0.5, 0.5))
    room = np.maximum(15.5 - size, 0.5) * (0.4 if calm else 1)
    half = between(1.1, 1.4) if calm else between(0.6, 2.0)
    moved = np.stack([SIDE / 2 + room * between(-1, 1), SIDE / 2 + room * between(-1, 1)], 1)
    points = TABLE[labels].reshape(n, 2 * SEGMENTS, 2) * (size[:, None] * np.stack([stretch, 1 / stretch], 1))[:, None]
    cos, sin = np.cos(2 * np.pi * turn)[:, None], np.sin(2 * np.pi * turn)[:, None]
    x, y = points[..., 0], points[..., 1]
    turned = np.stack([x * cos - y * sin, x * sin + y * cos], -1) + moved[:, None]
    return turned.reshape(n, SEGMENTS, 4).astype(np.float32), half.astype(np.float32)


def ink(parts, half, filled, counts):
    """[n, SIDE, SIDE] from 0 to 1: how much of each pixel is under strokes, or within what is filled."""
    at = np.arange(SIDE, dtype=np.float32) + 0.5
    px, py = at[None, None, None, :], at[None, None, :, None]
    x0, y0, x1, y1 = [parts[:, :, i, None, None] for i in range(4)]
    dx, dy = x1 - x0, y1 - y0
    share = np.clip(((px - x0) * dx + (py - y0) * dy) / np.maximum(dx * dx + dy * dy, 1e-6), 0, 1)
    far = np.sqrt(((px - x0 - share * dx) ** 2 + (py - y0 - share * dy) ** 2).min(1))
    stroke = np.clip(half[:, None, None] - far + 0.5, 0, 1)
    if filled.any():
        f = np.flatnonzero(filled)
        x0, y0, x1, y1, dx, dy = [v[f] for v in (x0, y0, x1, y1, dx, dy)]
        real = np.arange(SEGMENTS)[None, :, None, None] < counts[f, None, None, None]
        crosses = ((y0 > py) != (y1 > py)) & (px < x0 + (py - y0) * dx / np.where(dy == 0, 1, dy)) & real
        stroke[f] = np.maximum(stroke[f], crosses.sum(1) % 2)
    return stroke


def clean(labels, rng, calm=False):
    """Pictures of these classes without noise: [n, SIDE, SIDE], 0 to 1."""
    pictures = np.empty((len(labels), SIDE, SIDE), np.float32)
    for start in range(0, len(labels), 256):
        some = labels[start:start + 256]
        parts, half = place(some, rng, calm)
        filled = np.isin(some, list(FILLED)) & (rng.random(len(some)) < (0 if calm else 0.4))
        pictures[start:start + 256] = ink(parts, half, filled, COUNTS[some])
    return pictures


def noisy(pictures, rng):
    """The same with a grey ground, less contrast, and noise: [n, SIDE, SIDE], 0 to 1."""
    n = len(pictures)
    ground = rng.uniform(0, 0.3, (n, 1, 1)).astype(np.float32)
    light = rng.uniform(0.6, 1, (n, 1, 1)).astype(np.float32)
    grain = rng.uniform(0, 0.15, (n, 1, 1)).astype(np.float32) * rng.standard_normal(pictures.shape, np.float32)
    return np.clip(ground + (light - ground) * pictures + grain, 0, 1)


def as_text(picture):
    """A picture [SIDE, SIDE] as 16 lines of 32 characters."""
    rows = picture.reshape(SIDE // 2, 2, SIDE).mean(1)
    return "\n".join("".join(" .:-=+*#%@"[int(min(max(v, 0), 0.999) * 10)] for v in row).rstrip() for row in rows)


def drawn(seed, labels):
    """Pictures of these classes without noise, [n, SIDE, SIDE], 0 to 255."""
    return (255 * clean(labels, np.random.default_rng(seed + 50))).round().astype(np.uint8)


def with_noise(pictures, rng):
    """Of such pictures, 0 to 1."""
    return noisy(pictures.astype(np.float32) / 255, rng)


def held_out(n, seed):
    """Pictures [n, SIDE, SIDE] by another seed than that of the training, and their classes [n]."""
    labels = np.random.default_rng(seed).integers(0, len(NAMES), n)
    return with_noise(drawn(seed, labels), np.random.default_rng(seed + 100)), labels


def main():
    labels = np.repeat(np.arange(len(NAMES)), 2)
    pictures = with_noise(drawn(13, labels), np.random.default_rng(113))
    if len(sys.argv) > 1:
        np.save(sys.argv[1], pictures[:, None].astype(np.float16))
        return
    for label, picture in zip(labels[::2], pictures[::2]):
        print(NAMES[label], as_text(picture), sep="\n")


if __name__ == "__main__":
    main()
