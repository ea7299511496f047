"""CodeGen (transformers): GPT-J with queries, values and keys packed in four parts."""

import common
from transformers import CodeGenConfig, CodeGenForCausalLM

model = CodeGenForCausalLM(CodeGenConfig(
    vocab_size=37, n_positions=32, n_ctx=32, n_embd=48, n_inner=44, n_layer=2, n_head=8, rotary_dim=4,
    attn_implementation="eager"))
common.decoder("codegen", model, layers=model.transformer.h, parts={"x": "", "attn": "attn", "ffn": "mlp"})
