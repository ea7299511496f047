"""Writes tests/media/jpeg: small pictures as JPEG of every kind that Pillow, and so libjpeg-turbo, writes.  V/bin/python tests/oracle/jpegs.py,
where V has Pillow.  tests/oracle/pictures.py then records their pixels."""

import pathlib

from PIL import Image

JPEG = pathlib.Path(__file__).resolve().parents[2] / "tests" / "media" / "jpeg"


def value(x, y, c):
    """Waves and edges."""
    return (x * 9 + y * 5 + c * 61) % 256 if (x // 5 + y // 7 + c) % 3 else 255 * (c % 2)


def write(name, mode, width, height, **how):
    channels = {"L": 1, "RGB": 3, "CMYK": 4}[mode]
    values = bytes(value(x, y, c) for y in range(height) for x in range(width) for c in range(channels))
    Image.frombytes(mode, (width, height), values).save(JPEG / f"{name}.jpg", quality=70, optimize=True, **how)


JPEG.mkdir(exist_ok=True)
write("444", "RGB", 21, 14, subsampling=0)
write("422", "RGB", 37, 19, subsampling=1, restart_marker_rows=1)
write("420", "RGB", 35, 27, subsampling=2)
write("progressive", "RGB", 29, 33, subsampling=2, progressive=True)
write("rgb", "RGB", 15, 16, keep_rgb=True)
write("grey", "L", 23, 26)
write("grey-progressive", "L", 17, 9, progressive=True)
write("cmyk", "CMYK", 12, 18)
write("one-pixel", "RGB", 1, 1)
