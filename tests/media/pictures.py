"""Pictures of every kind that is read: PNG (Portable Network Graphics, W3C 2003) and Netpbm's PPM and PGM, made by formulas, and JPEG from
jpeg/, which tests/oracle/jpegs.py wrote, with other orientations, inks and scans.

files() gives {name: bytes}, broken() those that are none, and RESIZED lists what tests/oracle/pictures.py records of them and check.py
asks for."""
import os
import struct
import zlib

GREY, COLOUR, PALETTE, GREY_ALPHA, COLOUR_ALPHA = 0, 2, 3, 4, 6
CHANNELS = {GREY: 1, COLOUR: 3, PALETTE: 1, GREY_ALPHA: 2, COLOUR_ALPHA: 4}
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]  # x, y, steps


def value(x, y, c, depth):
    """Waves, edges and noise."""
    noise = (x * 7919 + y * 104729 + c * 1299709 + 12345) * 2654435761 % (1 << 32) >> 16
    smooth = (x * 3 + y * 5 + c * 31) * 257 % 65536
    v = noise if (x // 7 + y // 5 + c) % 3 == 0 else smooth if (x + y) % 11 else 65535 * (c % 2)
    return v >> 16 - depth


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed(values, depth):
    if depth == 16:
        return b"".join(struct.pack(">H", v) for v in values)
    bits = "".join(format(v, f"0{depth}b") for v in values)
    return int(bits + "0" * (-len(bits) % 8), 2).to_bytes((len(bits) + 7) // 8, "big")


def rows(width, height, kind, depth, xs, ys, filtered):
    """Lines with their filter: none, or up where that is asked for, by bytes."""
    data, above = b"", None
    for n, y in enumerate(ys):
        line = packed([value(x, y, c, depth) for x in xs for c in range(CHANNELS[kind])], depth)
        up = filtered and above is not None and n % 2
        data += bytes([2]) + bytes((a - b) % 256 for a, b in zip(line, above)) if up else bytes([0]) + line
        above = line
    return data


def png(width, height, kind, depth, interlaced=False, more=b"", filtered=True):
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced))
    passes = ADAM7 if interlaced else [(0, 0, 1, 1)]
    data = b""
    for x, y, step_x, step_y in passes:
        xs, ys = range(x, width, step_x), range(y, height, step_y)
        if xs and ys:
            data += rows(width, height, kind, depth, xs, ys, filtered)
    return b"\x89PNG\r\n\x1a\n" + head + more + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b"")


def colours(n):
    return chunk(b"PLTE", bytes(value(i, 3 * i, c, 8) for i in range(n) for c in range(3)))


def netpbm(width, height, channels, most):
    depth = 8 if most < 256 else 16
    values = [value(x, y, c, depth) % (most + 1) for y in range(height) for x in range(width) for c in range(channels)]
    body = bytes(values) if depth == 8 else b"".join(struct.pack(">H", v) for v in values)
    return b"P%d # a comment\n%d %d\n%d\n" % (6 if channels == 3 else 5, width, height, most) + body


# ---- JPEG: segments of a marker and a length, then scans (ITU-T T.81); EXIF is in the segment APP1 (CIPA DC-008) ----

JPEG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jpeg")


def jpeg(name):
    with open(f"{JPEG}/{name}.jpg", "rb") as f:
        return f.read()


def segment(marker, data):
    return struct.pack(">BBH", 0xff, marker, len(data) + 2) + data


def exif(entries, big=True, count=None, offset=8):
    """The first directory, of entries (tag, type, value); another number of entries, or another offset, may be stated."""
    end = ">" if big else "<"
    rows = b"".join(struct.pack(end + "HHI", tag, kind, 1) + struct.pack(end + ("HH" if kind == 3 else "I"), *((value, 0) if kind == 3 else (value,)))
                    for tag, kind, value in entries)
    return (b"MM\0*" if big else b"II*\0") + struct.pack(end + "IH", offset, len(entries) if count is None else count) + rows + bytes(4)


def turned(data, *how, **more):
    """A JPEG with EXIF in front of its other segments."""
    return data[:2] + segment(0xe1, b"Exif\0\0" + exif(*how, **more)) + data[2:]


def oriented(data, orientation, big=True):
    return turned(data, [(0x10f, 2, 0), (274, 3, orientation), (0x213, 3, 1)], big)


def with_adobe_transform(data, transform):
    at = data.index(b"Adobe") + 11
    return data[:at] + bytes([transform]) + data[at + 1:]


def jpegs():
    found = {name[:-4] + ".jpg": jpeg(name[:-4]) for name in sorted(os.listdir(JPEG))}
    found |= {f"orientation-{n}.jpg": oriented(found["444.jpg"], n, n % 2) for n in range(1, 9)}
    found["ycck.jpg"] = with_adobe_transform(found["cmyk.jpg"], 2)
    found["extraneous.jpg"] = found["420.jpg"][:-2] + bytes(5) + found["420.jpg"][-2:]  # bytes before the end of the file, as some cameras write
    found["trailer.jpg"] = found["420.jpg"] + b"what a phone writes after the picture"
    return found


def files():
    transparent = chunk(b"tRNS", bytes([0, 128, 255, 7]))
    found = {
        "colour": png(37, 53, COLOUR, 8), "colour-16": png(29, 17, COLOUR, 16), "grey": png(40, 31, GREY, 8),
        "grey-1": png(33, 9, GREY, 1), "grey-2": png(21, 13, GREY, 2), "grey-4": png(19, 23, GREY, 4),
        "palette-1": png(19, 7, PALETTE, 1, more=colours(2)), "palette-2": png(18, 11, PALETTE, 2, more=colours(4)),
        "palette-4": png(17, 12, PALETTE, 4, more=colours(16)), "palette-8": png(31, 33, PALETTE, 8, more=colours(256) + transparent),
        "grey-alpha": png(23, 24, GREY_ALPHA, 8), "grey-alpha-16": png(13, 14, GREY_ALPHA, 16),
        "colour-alpha": png(25, 26, COLOUR_ALPHA, 8), "colour-alpha-16": png(15, 16, COLOUR_ALPHA, 16),
        "interlaced": png(35, 27, COLOUR, 8, interlaced=True), "interlaced-palette-4": png(11, 13, PALETTE, 4, True, colours(16)),
        "interlaced-grey-1": png(9, 6, GREY, 1, interlaced=True), "interlaced-small": png(2, 1, COLOUR_ALPHA, 16, interlaced=True),
        "key-colour": png(12, 10, COLOUR, 8, more=chunk(b"tRNS", bytes(6))), "key-grey": png(12, 10, GREY, 8, more=chunk(b"tRNS", bytes(2))),
        "gamma": png(14, 15, COLOUR, 8, more=chunk(b"gAMA", struct.pack(">I", 100000))),
        "one-pixel": png(1, 1, COLOUR, 8), "wide": png(301, 3, COLOUR, 8), "high": png(2, 257, GREY, 8),
        "ppm": netpbm(22, 19, 3, 255), "pgm": netpbm(17, 18, 1, 255), "ppm-63": netpbm(15, 12, 3, 63), "pgm-10": netpbm(15, 12, 1, 10),
        "ppm-65535": netpbm(14, 13, 3, 65535), "ppm-1000": netpbm(13, 12, 3, 1000),
        "turned.png": png(9, 14, COLOUR, 8, more=chunk(b"eXIf", exif([(274, 3, 6)]))),
    } | jpegs()
    return found


# name, channels, width, height (0: as it is), how
RESIZED = ([(name, channels, 0, 0, "bilinear") for name in sorted(files()) for channels in (1, 3)] +
           [(name, 3, *size, how) for name in ("colour", "palette-8", "wide", "high", "one-pixel", "grey", "interlaced")
            for size in ((8, 8), (37, 20), (64, 53), (100, 99), (3, 150), (1, 1)) for how in ("bilinear", "bicubic")] +
           [("grey", 1, *size, how) for size in ((14, 14), (80, 7), (39, 32)) for how in ("bilinear", "bicubic")])
