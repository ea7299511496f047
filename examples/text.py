"""Continues a text, then computes the logits of every position."""

import tale

m = tale.Model(threads=2)
ids = m.encode("Once upon a time")
print(m.decode(m.generate(ids, temperature=0.8, seed=7, steps=30)))
m.reset()  # otherwise the ids would follow the text
logits = m.forward(ids)  # float32 [len(ids), 512]
