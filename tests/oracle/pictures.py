"""Writes tests/media/recorded and tests/loops/recorded.  The first is what Pillow makes of the pictures of tests/media/pictures.py, read,
turned upright, converted and resized, as a line each: name, channels, size that is asked for, how, then the size and a hash of the pixels; the
second a hash of the floats that they become by transformers.image_transforms.  V/bin/python tests/oracle/pictures.py, where V has transformers
and Pillow 12.0: a later one resizes the axis first that costs less, and rounds otherwise.

Grey of 16 bits is left out: Pillow clips it where it becomes 8 bits, and lathe takes the upper half, as it does of colours."""

import hashlib
import io
import pathlib
import sys

import numpy as np
from PIL import Image, ImageOps
from transformers.image_transforms import center_crop, get_resize_output_image_size, normalize, rescale, resize

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "media"))
import pictures

HOW = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}
files = pictures.files()
with open(ROOT / "tests" / "media" / "recorded", "w") as f:
    for name, channels, width, height, how in pictures.RESIZED:
        image = ImageOps.exif_transpose(Image.open(io.BytesIO(files[name]))).convert("RGB" if channels == 3 else "L")
        if width:
            image = image.resize((width, height), HOW[how])
        print(name, channels, width, height, how, *image.size, hashlib.sha256(image.tobytes()).hexdigest()[:32], file=f)


def floats(image, width, height, how, edge, both, mean, std):
    """Stretched; or the shorter side resized to `edge`, or both sides to `both`, and the middle taken.  [channels, height, width]"""
    last = {"input_data_format": "channels_last"}
    x = np.asarray(image).reshape(image.height, image.width, -1)
    size = get_resize_output_image_size(x, edge, default_to_square=False, **last) if edge else (both, both) if both else (height, width)
    x = resize(x, size, resample=HOW[how], **last)
    x = normalize(rescale(center_crop(x, (height, width), **last), 1 / 255, **last), mean, std, **last)
    return np.ascontiguousarray(x.transpose(2, 0, 1))


# as tests/loops/pictures.model states them: mode, how, shortest edge, both edges, mean, std
LOOPS = {"values": ("RGB", "bilinear", 0, 0, [0, 0, 0], [1, 1, 1]),
         "stretched": ("RGB", "bicubic", 0, 0, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
         "cut": ("RGB", "bilinear", 23, 0, [0.5] * 3, [0.5] * 3),
         "cut_cubic": ("RGB", "bicubic", 20, 0, [0.5, 0.25, 0], [1, 1, 1]),
         "both": ("RGB", "bicubic", 0, 24, [0.5] * 3, [0.25] * 3),
         "grey": ("L", "bicubic", 0, 0, [0], [0.5])}
with open(ROOT / "tests" / "loops" / "recorded", "w") as f:
    for name in ("colour", "grey", "palette-8", "wide", "high", "interlaced", "one-pixel"):
        for loop, (mode, *how) in LOOPS.items():
            x = floats(Image.open(io.BytesIO(files[name])).convert(mode), 16, 20, *how)
            print(f"{name}.png", loop, hashlib.sha256(x.astype("<f4").tobytes()).hexdigest()[:32], file=f)
