"""A file in a Mach-O object: it lies between two private symbols in __TEXT,__const, whole and aligned, and no linker parts them.

    mach_o.py OBJECT FILE SYMBOL
"""

import struct
import sys

object_path, file_path, name = sys.argv[1:]
with open(object_path, "rb") as f:
    data = f.read()
with open(file_path, "rb") as f:
    content = f.read()
SEGMENT_64, SYMTAB, PRIVATE_EXTERN, ALT_ENTRY = 0x19, 2, 0x10, 0x200

magic, _, _, _, commands, _, _, _ = struct.unpack_from("<8I", data)
assert magic == 0xfeedfacf, "no 64-bit Mach-O"
sections, symbols, at = [], {}, 32
for _ in range(commands):
    kind, size = struct.unpack_from("<2I", data, at)
    if kind == SEGMENT_64:
        for i in range(struct.unpack_from("<I", data, at + 64)[0]):
            section, segment, address, _, offset, align = struct.unpack_from("<16s16sQQ2I", data, at + 72 + 80 * i)
            sections.append((segment.rstrip(b"\0") + b"," + section.rstrip(b"\0"), address, offset, align))
    if kind == SYMTAB:
        table, n, texts, _ = struct.unpack_from("<4I", data, at + 8)
        for i in range(n):
            text, flags, section, more, value = struct.unpack_from("<IBBHQ", data, table + 16 * i)
            symbols[data[texts + text:data.index(b"\0", texts + text)].decode()] = (flags, section, more, value)
    at += size
begin, end = symbols[f"_{name}"], symbols[f"_{name}_end"]
section, address, offset, align = sections[begin[1] - 1]
first = offset + begin[3] - address
assert (section, begin[1]) == (b"__TEXT,__const", end[1]), (section, begin, end)
assert begin[0] & PRIVATE_EXTERN and end[0] & PRIVATE_EXTERN, "a symbol is seen outside of the program"
assert end[2] & ALT_ENTRY and not begin[2] & ALT_ENTRY, "a linker may part the end from the file"
assert align >= 6 and begin[3] % 64 == 0, f"aligned to 2^{align} bytes"
assert end[3] - begin[3] == len(content), f"{end[3] - begin[3]} bytes of {len(content)}"
assert data[first:first + len(content)] == content, "other bytes"
