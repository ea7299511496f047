"""Makes names.tsv: how GGUF names the tensors of the families in models.py, by the package gguf (gguf.get_tensor_name_map), 0.19.0.
{i} is a layer.  usage: PYTHONPATH=tests/formats make_names.py LATHE WORK; the tests do not need the package."""
import os
import sys

import gguf
from models import ROWS, converted, published, sizes_of, split_name

lathe, work = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
names = {}
for family, architecture, _, _, rules in ROWS:
    model, tensors = published(lathe, os.path.dirname(os.path.dirname(here)), work, family)
    known = gguf.get_tensor_name_map(gguf.MODEL_ARCH[architecture], 8)
    for name in converted(rules, tensors, sizes_of(lathe, model)):
        layer, base, ending = split_name(name)
        theirs = known.get_name(base.replace("{i}", str(layer)))
        if theirs is None:
            print(f"{architecture}: no name for {name}")
            continue
        names[architecture, base] = theirs.replace(f"blk.{layer}.", "blk.{i}.")
with open(f"{here}/names.tsv", "w", encoding="utf-8") as file:
    file.write("# made by make_names.py with the package gguf 0.19.0\n")
    for (architecture, base), theirs in sorted(names.items()):
        file.write(f"{architecture}\t{base}\t{theirs}\n")
