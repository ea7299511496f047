#!/usr/bin/env python3
"""Writes categories.def: the general category of every character, as ranges.

    python3 -m venv /tmp/unicode && /tmp/unicode/bin/pip install unicodedata2==16.0.0
    /tmp/unicode/bin/python compiler/text/categories.py > compiler/text/categories.def

The version is the one that the regexes of tokenizer.json mean: Oniguruma's within PyPI's tokenizers 0.23.
"""

import unicodedata2 as unicode

VERSION = "16.0.0"
assert unicode.unidata_version == VERSION, f"Unicode {unicode.unidata_version}, not {VERSION}"
ranges = []
for code in range(0x110000):
    category = unicode.category(chr(code))
    if ranges and ranges[-1][2] == category and ranges[-1][1] == code - 1:
        ranges[-1][1] = code
    elif category != "Cn":
        ranges.append([code, code, category])
print(f"/* General categories of Unicode {VERSION}, written by categories.py: RANGE(first, last, category); other characters are Cn. */")
for begin in range(0, len(ranges), 5):
    print(" ".join("RANGE(0x%04x, 0x%04x, %s)" % tuple(r) for r in ranges[begin : begin + 5]))
