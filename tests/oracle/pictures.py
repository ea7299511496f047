"""Writes tests/media/recorded: what Pillow makes of the pictures of tests/media/pictures.py, read, converted and resized, as a line each:
name, channels, size that is asked for, how, then the size and a hash of the pixels.  V/bin/python tests/oracle/pictures.py, where V has
Pillow 12.0: a later one resizes the axis first that costs less, and rounds otherwise.

Grey of 16 bits is left out: Pillow clips it where it becomes 8 bits, and lathe takes the upper half, as it does of colours."""

import hashlib
import io
import pathlib
import sys

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
