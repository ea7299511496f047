"""Copies a safetensors file, weights of one expert made NaN and infinite: plant.py FROM TO NAME.

NAME is what the names of the weights begin with. The last element of each stays as it is."""

import json
import struct
import sys

source, target, name = sys.argv[1:]
with open(source, "rb") as file:
    data = bytearray(file.read())
(length,) = struct.unpack_from("<Q", data)
header = json.loads(data[8:8 + length])
planted = [entry for key, entry in header.items() if key.startswith(name)]
for number, entry in enumerate(planted):
    first, last = (8 + length + at for at in entry["data_offsets"])
    count = (last - first) // 4 - 1
    struct.pack_into(f"<{count}f", data, first, *[float("inf") if number == 1 else float("nan")] * count)
with open(target, "wb") as file:
    file.write(data)
sys.exit(not planted)
