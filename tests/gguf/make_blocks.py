"""Makes blocks.gguf, random blocks of each packed type that lathe reads, and blocks.safetensors, their floats as the package gguf
has them (gguf.quants.dequantize).  Made with gguf 0.19.0 and numpy 2.4.6; neither is needed by the tests."""
import json
import os
import struct

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize

from gguf_file import set_iq1_m_factor

here = os.path.dirname(os.path.abspath(__file__))
ROWS, BLOCKS = 4, 2  # of each type
# where a block's f16 factors are: they are kept finite
FACTORS = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2],
           "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": [], "NVFP4": [], "TQ1_0": [52], "TQ2_0": [64], "IQ3_XXS": [0],
           "IQ3_S": [0], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0], "IQ1_S": [0], "IQ1_M": []}

random = np.random.default_rng(20)
writer = GGUFWriter(f"{here}/blocks.gguf", "blocks")
header, content = {}, b""
for name, factors in FACTORS.items():
    kind = GGMLQuantizationType[name]
    values, size = GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (ROWS * BLOCKS, size), dtype=np.uint8)
    for at in factors:
        blocks[:, at + 1] = np.where(blocks[:, at + 1] & 0x7C == 0x7C, blocks[:, at + 1] & 0xBF, blocks[:, at + 1])
        blocks[0, at : at + 2] = 1, 0  # the least subnormal
        blocks[1, at : at + 2] = 0xFF, 0x7B  # the largest number
        blocks[2, at : at + 2] = 0, 0x80  # -0
    if name == "MXFP4":
        blocks[:4, 0] = 0, 1, 2, 254
    if name == "NVFP4":
        blocks[:2, :4] = [[0, 1, 8, 0x7E], [0x7F, 0x80, 0xFF, 0x87]]
    if name == "IQ1_M":
        for block, half in zip(blocks, [1, 0x7BFF, 0x8000, *(int(n) for n in random.integers(0x1000, 0x7C00, 5))]):
            set_iq1_m_factor(block, 0, half)
    rows = blocks.reshape(ROWS, BLOCKS * size)
    floats = dequantize(rows, kind).astype("<f4")
    writer.add_tensor(name, rows, raw_dtype=kind)
    data = floats.tobytes()
    header[name] = {"dtype": "F32", "shape": [ROWS, BLOCKS * values], "data_offsets": [len(content), len(content) + len(data)]}
    content += data
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
text = json.dumps(header).encode()
with open(f"{here}/blocks.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + content)
