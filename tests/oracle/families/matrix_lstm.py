"""xLSTM (transformers): matrix LSTMs, by its implementation in torch.  A file xlstm.py here would hide that package from it."""

import common
from transformers import xLSTMConfig, xLSTMForCausalLM

model = common.published("xlstm", xLSTMForCausalLM, xLSTMConfig(
    vocab_size=37, hidden_size=24, num_hidden_layers=2, num_heads=3, qk_dim_factor=15 / 24, v_dim_factor=1.0,
    ffn_proj_factor=20 / 24, ffn_round_up_to_multiple_of=4, chunk_size=8, autocast_kernel_dtype="float32"))
common.decoder("xlstm", model, layers=model.backbone.blocks,
               parts={"ln1": "norm_mlstm", "attn": "mlstm_layer", "ffn": "ffn", "x": ""})
