"""OPT (transformers): relu, learned positions that begin in the third row; as the 350M with norms after the sums and narrower
embeddings."""

import common
from transformers import OPTConfig, OPTForCausalLM

SIZES = dict(vocab_size=37, max_position_embeddings=32, hidden_size=30, ffn_dim=44, num_hidden_layers=2,
             num_attention_heads=3, attn_implementation="eager")
model = OPTForCausalLM(OPTConfig(**SIZES, word_embed_proj_dim=30))
common.decoder("opt", model, layers=model.model.decoder.layers, parts={"x": "", "attn": "self_attn"})
model = OPTForCausalLM(OPTConfig(**SIZES, word_embed_proj_dim=14, do_layer_norm_before=False))
common.decoder("opt_postnorm", model, layers=model.model.decoder.layers, parts={"x": "", "attn": "self_attn"}, path="stack.layer")
