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
    none = "it is not a picture; expected PNG, PPM (P6) or PGM (P5)"
    png = "a PNG that can't be read: "
    found = {
        "empty": (b"", none), "a-text": (b"hello", none),
        "a-jpeg": (b"\xff\xd8\xff\xe0", "it is a JPEG; expected PNG, PPM (P6) or PGM (P5): convert it to one of them"),
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
        "pgm-comment": (b"P5 #", "byte 4: "), "pbm": (b"P4 8 1 a", "it is a PBM; expected PNG, PPM (P6) or PGM (P5): convert it to one of them"),
    }
    for at in (8, 20, 33, 45, 60, len(good) - 13, len(good) - 1):
        found[f"png-ends-{at}"] = (good[:at], png + "it is truncated")
    return found


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
        verdict(name, None if found.startswith(f"{name}: {message}") else f"says {found[:200]}")
    found = run([("one-pixel", 3, 100000, 100000, "bilinear")])[0]
    verdict("too large a size", None if found.startswith("resized it would be 100000 by 100000; from 1 to 134217728 pixels are possible") else found[:100])
sys.exit(failed > 0)
