"""Writes tests/media/recorded and tests/loops/recorded.  The first is what Pillow makes of the pictures of tests/media/pictures.py, read, converted and resized, as a line each:
name, channels, size that is asked for, how, then the size and a hash of the pixels; the second a
hash of the floats that they become, as transformers' image processors compute them.  V/bin/python tests/oracle/pictures.py, where V has
numpy and Pillow 12.0: a later one resizes the axis first that costs less, and rounds otherwise.

Grey of 16 bits is left out: Pillow clips it where it becomes 8 bits, and lathe takes the upper half, as it does of colours."""

import hashlib
import io
import pathlib
import sys

import numpy as np
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "media"))
import pictures

HOW = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}
files = pictures.files()
with open(ROOT / "tests" / "media" / "recorded", "w") as f:
    for name, channels, width, height, how in pictures.RESIZED:
        image = Image.open(io.BytesIO(files[name])).convert("RGB" if channels == 3 else "L")
        if width:
            image = image.resize((width, height), HOW[how])
        print(name, channels, width, height, how, *image.size, hashlib.sha256(image.tobytes()).hexdigest()[:32], file=f)


def fitted(image, width, height, how, edge):
    """Stretched, or the shorter side resized to `edge` and the middle taken, as by transformers' resize and center_crop."""
    if not edge:
        return image.resize((width, height), HOW[how])
    w, h = image.size
    size = (edge, int(edge * h / w)) if w <= h else (int(edge * w / h), edge)
    image = image.resize(size, HOW[how])
    left, top = (size[0] - width) // 2, (size[1] - height) // 2
    return image.crop((left, top, left + width, top + height))


def floats(image, mean, std):
    """transformers.image_transforms: rescale by 1 / 255 in double precision, then normalize in single"""
    x = (np.asarray(image, dtype=np.float64) * (1 / 255)).astype(np.float32)
    x = x if x.ndim == 3 else x[..., None]
    x = (x - np.asarray(mean, dtype=np.float32)) / np.asarray(std, dtype=np.float32)
    return np.ascontiguousarray(x.transpose(2, 0, 1))


# as tests/loops/pictures.model states them: mode, how, shortest edge, mean, std
LOOPS = {"values": ("RGB", "bilinear", 0, [0, 0, 0], [1, 1, 1]),
         "stretched": ("RGB", "bicubic", 0, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
         "cut": ("RGB", "bilinear", 23, [0.5] * 3, [0.5] * 3),
         "cut_cubic": ("RGB", "bicubic", 20, [0.5, 0.25, 0], [1, 1, 1]),
         "grey": ("L", "bicubic", 0, [0], [0.5])}
with open(ROOT / "tests" / "loops" / "recorded", "w") as f:
    for name in ("colour", "grey", "palette-8", "wide", "high", "interlaced", "one-pixel"):
        for loop, (mode, how, edge, mean, std) in LOOPS.items():
            image = fitted(Image.open(io.BytesIO(files[name])).convert(mode), 16, 20, how, edge)
            print(f"{name}.png", loop, hashlib.sha256(floats(image, mean, std).tobytes()).hexdigest()[:32], file=f)
