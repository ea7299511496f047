"""What compiler/media makes of the pictures of pictures.py, beside what Pillow does (recorded), and what it says of files that are none.

    check.py PROGRAM           picture.c; prints ok NAME, or FAIL NAME and why"""
import hashlib
import os
import struct
import subprocess
import sys
import tempfile

import pictures

HERE = os.path.dirname(os.path.abspath(__file__))
failed = 0


def verdict(name, why):
    global failed
    print(f"FAIL media {name}: {why}" if why else f"ok media {name}", flush=True)
    failed += bool(why)


def run(jobs):
    r = subprocess.run([sys.argv[1]], input="".join(" ".join(map(str, job)) + "\n" for job in jobs), capture_output=True, text=True, cwd=work)
    lines = r.stdout.splitlines()
    return lines if r.returncode == 0 and len(lines) == len(jobs) else [f"exit status {r.returncode}: {r.stderr[-600:]}"] * len(jobs)


def broken():
    """{name: (bytes, what is said behind the path)}"""
    good, grey = pictures.files()["colour"], pictures.files()["pgm"]
    ihdr = lambda w, h, depth=8, kind=2: good[:8] + pictures.chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, depth, kind, 0, 0, 0)) + good[33:]
    flipped = bytearray(good)
    flipped[60] ^= 1
    wanted = "expected PNG, JPEG, PPM (P6) or PGM (P5)"
    none = f"it is not a picture; {wanted}"
    converted = lambda what, by="ffmpeg -i FILE NEW.png": f"it is {what} picture; {wanted}; `{by}` converts it"
    png = "a PNG that can't be read: "
    found = {
        "empty": (b"", f"it is empty; {wanted}"), "a-text": (b"hello", none), "two-bytes": (b"P6", none),
        "a-page.png": (b"<!DOCTYPE html>", f"it is an HTML page; {wanted}; it was fetched in place of the file"),
        "a-sound.png": (b"RIFF\4\0\0\0WAVE", "it is a WAV sound; expected a picture: PNG, JPEG, PPM (P6) or PGM (P5)\n"),
        "a-webp": (b"RIFF\4\0\0\0WEBP", converted("a WebP")), "a-gif": (b"GIF89a", converted("a GIF", "ffmpeg -i FILE -frames:v 1 NEW.png")),
        "a-heic": (b"\0\0\0\x18ftypheic", converted("a HEIC", "heif-convert FILE NEW.png")), "an-avif": (b"\0\0\0\x18ftypavif", converted("an AVIF")),
        "a-bmp": (b"BM\1\2\0\0\0\0\0\0\x36", converted("a BMP")), "a-tiff": (b"II*\0....", converted("a TIFF")), "no-bmp": (b"BMW cars are", none),
        "png-no-width": (ihdr(0, 5), png + "Invalid IHDR data (byte 33 of"), "png-wide": (ihdr(1 << 31, 1), png),
        "png-large": (ihdr(1 << 20, 1 << 20), png + "it is 1048576 by 1048576; at most 134217728 pixels are read"),
        "png-depth": (ihdr(37, 53, 3), png + "Invalid IHDR data"), "png-kind": (ihdr(37, 53, 8, 5), png + "Invalid IHDR data"),
        "png-crc": (bytes(flipped), png + "IDAT: "), "png-rows": (ihdr(37, 54), png + "Not enough image data"),
        "png-palette": (ihdr(37, 53, 8, 3), png + "IDAT: Missing PLTE before IDAT"),
        "pgm-ends": (grey[:-1], "it is truncated: 17 by 18 pixels take 306 bytes, but it has 305"),
        "pgm-no-width": (b"P5 0 3 255 ", "it is 0 by 3; from 1 to 134217728 pixels are read"),
        "pgm-large": (b"P5 99999 99999 255 ", "it is 99999 by 99999; from 1 to 134217728 pixels are read"),
        "pgm-huge": (b"P5 99999999999999999999 3 255 ", "byte "), "pgm-minus": (b"P5 -1 3 255 ", "byte 3: expected width, height and the largest value"),
        "pgm-value": (b"P5 1 1 65536 aa", "byte "), "pgm-value-0": (b"P5 1 1 0 a", "byte "), "pgm-no-space": (b"P5 1 1 255", "byte 10: "),
        "pgm-comment": (b"P5 #", "byte 4: "), "pbm": (b"P4 8 1 a", converted("a PBM")),
    }
    for at in (8, 20, 33, 45, 60, len(good) - 13, len(good) - 1):
        found[f"png-ends-{at}"] = (good[:at], png + "it is truncated")
    return found | broken_jpegs()


def scans(n):
    """A progressive grey block of zeros: a scan of its mean, then scans of a bit of a coefficient each, by tables with one code."""
    order = [(0, 0, 0)] + [(k, 0 if bit == 13 else bit + 1, bit) for bit in range(13, -1, -1) for k in range(1, 64)]
    one_code = lambda kind: pictures.segment(0xc4, bytes([kind, 1] + [0] * 16))
    head = b"\xff\xd8" + pictures.segment(0xdb, bytes([0] + [1] * 64)) + pictures.segment(0xc2, struct.pack(">BHHBBBB", 8, 8, 8, 1, 1, 0x11, 0))
    return (head + one_code(0) + one_code(0x10) + b"".join(pictures.segment(0xda, bytes([1, 1, 0, k, k, high << 4 | low])) + b"\x7f" for k, high, low in order[:n]) +
            b"\xff\xd9")


def broken_jpegs():
    """JPEG: a marker C0 and a length precede precision, height, width and the components, each of a number, its sampling and its table."""
    bad, good, grey = "a JPEG that can't be read: ", pictures.jpeg("420"), pictures.jpeg("grey")
    at = good.index(b"\xff\xc0") + 4
    frame = lambda data, where, new: data[:where] + new + data[where + len(new):]
    size = lambda width, height: frame(good, at + 1, struct.pack(">HH", height, width))
    two = good[:at - 4] + pictures.segment(0xc0, struct.pack(">BHHB", 8, 27, 35, 2) + bytes([1, 0x11, 0, 2, 0x11, 1])) + good[at + 15:]
    found = {
        "jpeg-alone": (b"\xff\xd8\xff\xe0", bad + "it is truncated (byte 4 of 4)"),
        "jpeg-no-picture": (b"\xff\xd8\xff\xd9", bad + "JPEG datastream contains no image"),
        "jpeg-large": (size(65500, 65500), bad + "it is 65500 by 65500; at most 134217728 pixels are read"),
        "jpeg-no-width": (size(0, 27), bad), "jpeg-no-height": (size(35, 0), bad),
        "jpeg-wide": (size(65535, 27), bad + "Maximum supported image dimension is 65500 pixels"),
        "jpeg-higher": (size(35, 60), bad), "jpeg-12-bits": (frame(good, at, b"\x0c"), bad + "Unsupported JPEG data precision 12"),
        "jpeg-lossless": (frame(good, at - 3, b"\xc3"), bad + "Unsupported JPEG process: SOF type 0xc3"),
        "jpeg-sampling": (frame(good, at + 7, b"\x55"), bad + "Bogus sampling factors"),
        "jpeg-no-table": (frame(good, at + 8, b"\x03"), bad + "Quantization table 0x03 was not defined"),
        "jpeg-two-components": (two, bad), "jpeg-scans": (scans(501), bad + "it has more than 500 scans"),
        "jpeg-no-end": (grey[:-2], bad + f"it is truncated (byte {len(grey) - 2} of {len(grey) - 2})"),
        "jpeg-short-data": (grey[:-40] + grey[-2:], bad + "Corrupt JPEG data: premature end of data segment (byte "),
    }
    return found


def ends_of_jpegs():
    """Each JPEG, cut anywhere."""
    return {f"{name}-ends-{at}": data[:at] for name, data in pictures.jpegs().items() if "/" not in name and "-" not in name[:-4] and "trailer" not in name
            for at in range(3, len(data))}


def flipped_jpegs():
    """Bits of heads and data are wrong: an error or other pixels, and no harm."""
    found = {}
    for name in ("420", "progressive", "cmyk"):
        data = pictures.oriented(pictures.jpeg(name), 6)
        for at in range(4, len(data)):
            found[f"{name}-{at}"] = data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1:]
    return found


def odd_exif():
    """EXIF that states no valid orientation: the picture is read as it is."""
    data, tag = pictures.jpeg("444"), (274, 3, 6)
    whole = pictures.exif([tag])
    found = {f"exif-{value}": pictures.turned(data, [(274, 3, value)]) for value in (0, 9, 65535)}
    found |= {"exif-text": pictures.turned(data, [(274, 2, 6)]), "exif-no-entries": pictures.turned(data, [tag], count=0),
              "exif-far": pictures.turned(data, [tag], offset=0xffffffff), "exif-at-end": pictures.turned(data, [tag], offset=len(whole) - 1),
              "exif-many": pictures.turned(data, [(1, 3, 6)], count=65535), "exif-other-order": data[:2] + pictures.segment(0xe1, b"Exif\0\0XX" + whole[2:]) + data[2:]}
    for n in range(len(whole) - 4 - 1):
        found[f"exif-ends-{n}"] = data[:2] + pictures.segment(0xe1, b"Exif\0\0" + whole[:n]) + data[2:]
    return found


def all_of(files):
    """{name: what is said of it}"""
    for name, data in files.items():
        with open(f"{work}/{name}", "wb") as f:
            f.write(data)
    return dict(zip(files, run([(name, 3, 0, 0, "bilinear") for name in files])))


def check_damage():
    said = all_of(ends_of_jpegs())
    verdict(f"JPEG that ends early, {len(said)} files", next((f"{name}: {text[:150]}" for name, text in said.items()
                                                             if not text.startswith(f"{name}: a JPEG that can't be read: ")), None if len(said) > 1000 else "too few"))
    said = all_of(flipped_jpegs())
    verdict(f"JPEG with a wrong bit, {len(said)} files", next((f"{name}: {text[:150]}" for name, text in said.items()
                                                              if not text.startswith(f"{name}: a JPEG that can't be read: ") and not text[:1].isdigit()), None))
    refused = sum(not text[:1].isdigit() for text in said.values())
    verdict("some of them are refused, some are read", f"{refused} of {len(said)}" if not 200 < refused < len(said) - 200 else None)
    found = all_of({"scans-500": scans(500)})["scans-500"]
    verdict("500 scans", None if found == "8 8 " + "80" * 192 else found[:200])
    upright = all_of({"upright": pictures.jpeg("444")})["upright"]
    said = all_of(odd_exif())
    verdict(f"EXIF without an orientation, {len(said)} files", next((f"{name}: {text[:150]}" for name, text in said.items() if text != upright), None))
    # libpng keeps the bytes of EXIF in memory of their length
    whole = pictures.exif([(274, 3, 6)])
    ends = {f"png-exif-{n}": whole[:n] for n in range(8, len(whole) - 5)}
    ends |= {f"png-exif-at-{n}": pictures.exif([(274, 3, 6)], offset=n) for n in (len(whole) - 2, len(whole) - 1, len(whole), len(whole) + 1, 0xfffffffe)}
    said = all_of({name: pictures.png(9, 14, pictures.COLOUR, 8, more=pictures.chunk(b"eXIf", data)) for name, data in ends.items()})
    upright = all_of({"upright": pictures.png(9, 14, pictures.COLOUR, 8)})["upright"]
    verdict(f"PNG with EXIF without an orientation, {len(said)} files", next((f"{name}: {text[:150]}" for name, text in said.items() if text != upright), None))


with tempfile.TemporaryDirectory() as work:
    for name, data in pictures.files().items():
        with open(f"{work}/{name}", "wb") as f:
            f.write(data)
    recorded = [line.split() for line in open(f"{HERE}/recorded")]
    wrong = [list(map(str, job)) for job in pictures.RESIZED if list(map(str, job)) not in [line[:5] for line in recorded]]
    verdict("all is recorded", wrong and f"{wrong[0]} is not")
    for line, found in zip(recorded, run([line[:5] for line in recorded])):
        words = found.split()
        ok = len(words) == 3 and words[:2] == line[5:7] and hashlib.sha256(bytes.fromhex(words[2])).hexdigest()[:32] == line[7]
        verdict(" ".join(line[:5]), None if ok else f"{found[:80]} where {' '.join(line[5:])} is recorded")

    # of 16 bits of grey the upper 8
    with open(f"{work}/grey-16", "wb") as f:
        f.write(pictures.png(9, 8, pictures.GREY, 16))
    upper = bytes(pictures.value(x, y, 0, 16) >> 8 for y in range(8) for x in range(9)).hex()
    verdict("grey of 16 bits", run([("grey-16", 1, 0, 0, "bilinear")])[0] != f"9 8 {upper}" and "another")

    said = broken()
    for name, (data, _) in said.items():
        with open(f"{work}/{name}", "wb") as f:
            f.write(data)
    for (name, (_, message)), found in zip(said.items(), run([(name, 3, 4, 4, "bilinear") for name in said])):
        verdict(name, None if (found + "\n").startswith(f"{name}: {message}") else f"says {found[:200]}")
    check_damage()
    found = run([("one-pixel", 3, 100000, 100000, "bilinear")])[0]
    verdict("too large a size", None if found.startswith("resized it would be 100000 by 100000; from 1 to 134217728 pixels are possible") else found[:100])
sys.exit(failed > 0)
