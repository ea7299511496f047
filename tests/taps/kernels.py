"""Whether all kernels of one emitted file are in others, letter by letter but for where buffers lie and are numbered, and
for the question before, whether an output that needs them is wanted.

usage: kernels.py PLAIN.c TAPPED.c...
"""

import re
import sys


def kernels(path):
    with open(path) as file:
        text = file.read()
    text = re.sub(r"(m->(?:arena|state|weights|scratch)\b)(?: \+ (?:\d+|ARENA_\w+|STATE_\w+)\b)?", r"\1 + AT", text)
    text = re.sub(r"\b([a-z]\w*?)_\d+\b", r"\1_ID", text)  # sin_12: buffer 12
    return [part for part in text.split("\n\n") if re.match(r"/\* [\w.]+\.model:\d+ ", part)]


plain = kernels(sys.argv[1])
if not plain:
    print(f"{sys.argv[1]}: no kernels")
for path in sys.argv[2:]:
    found = set(kernels(path))
    for kernel in plain:
        if kernel not in found:
            print(f"{path}: not as without taps:\n{kernel}")
