"""LSTM and GRU (torch)."""

import common
import torch
from torch import nn

parts = nn.ModuleDict({"lstm": nn.LSTM(6, 9, num_layers=2), "gru": nn.GRU(6, 7, num_layers=2),
                       "plain": nn.LSTM(6, 5, bias=False)})
model = common.load(parts, "recurrent_networks")
common.references["recurrent_networks"] = "torch.nn.LSTM, torch.nn.GRU"
x = torch.tensor([[((13 * i * i + 7 * i + 5 * j * j + 3 * i * j) % 23 - 11) / 8 for j in range(6)] for i in range(24)])
with torch.no_grad():
    common.record("recurrent_networks", inputs={"x": x},
                  outputs={f"{name}_out": model[name](x)[0] for name in ("lstm", "gru", "plain")})
