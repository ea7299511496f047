"""Makes runtime/book_tables.h, the code books of GGUF's IQ types, from the package gguf (gguf.quants).  Made with gguf 0.19.0 and numpy 2.4.6;
neither is needed by the tests."""
import os

import numpy as np
from gguf import quants

TOP = """/*
 * Code books of GGUF's IQ types, written by tests/gguf/make_books.py: data of ggml (THIRD_PARTY.md).
 *
 * Each number has the codes of 8 steps of two bits (iq1, iq2) or of 4 steps of three bits (iq3), the first in the lowest bits.
 * book_levels() of book_values.h has the values of the codes.
 */

#include <stdint.h>
"""
BOOKS = [("iq3_xxs", "IQ3_XXS", 3), ("iq3_s", "IQ3_S", 3), ("iq2_xxs", "IQ2_XXS", 2), ("iq2_xs", "IQ2_XS", 2), ("iq2_s", "IQ2_S", 2),
         ("iq1", "IQ1_S", 2)]


def table(name, kind, bits):
    book = getattr(quants, kind)
    book.init_grid()
    levels = np.asarray(book.grid_map, np.float32)
    grid = book.grid.reshape(book.grid_shape)
    codes = np.argmax(grid[..., None] == levels, axis=-1)
    assert np.array_equal(levels[codes], grid)
    words = [f"0x{n:x}" for n in (codes << bits * np.arange(codes.shape[1])).sum(axis=1)]
    lines, line = [], "       "
    for i, word in enumerate(words):
        line += f" {word}{',' if i + 1 < len(words) else ''}"
        if len(line) > 128 or i + 1 == len(words):
            lines.append(line)
            line = "       "
    condition = "HAS_IQ1_S || HAS_IQ1_M" if name == "iq1" else f"HAS_{kind}"
    # one more number: vectors read 32 bits
    return f"\n#if {condition}\nstatic const uint16_t {name}_book[{len(words)} + 1] = {{\n" + "\n".join(lines) + "};\n#endif\n"


path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../runtime/book_tables.h")
with open(path, "w") as file:
    file.write(TOP + "".join(table(*book) for book in BOOKS))
