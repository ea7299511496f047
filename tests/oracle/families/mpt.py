"""MPT (transformers): no biases, ALiBi with slopes of its own range, clipped projections."""

import functools

import common
from transformers import MptConfig, MptForCausalLM

model = MptForCausalLM(MptConfig(
    vocab_size=37, max_seq_len=32, d_model=30, n_heads=6, n_layers=2,
    attn_config={"clip_qkv": 0.75, "alibi_bias_max": 16}, attn_implementation="eager"))
alibi = model.transformer.build_mpt_alibi_tensor
model.transformer.build_mpt_alibi_tensor = functools.partial(alibi, alibi_bias_max=16)
common.decoder("mpt", model, layers=model.transformer.blocks, parts={"x": "", "attn": "attn"},
               patches=["attn_config.alibi_bias_max is passed on, as MosaicML's own code does, and transformers forgets to"])
