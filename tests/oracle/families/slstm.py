"""The scalar LSTM of xLSTM, restated from the paper's equations (Beck et al. 2024, section 2.2 and appendix A) with the layer of the
authors' package around it, one position at a time in float64."""

import common
import torch

HEADS, WIDTH, TAPS = 3, 12, 4
SIZE = WIDTH // HEADS
w = common.lathe_weights("slstm")
x = torch.tensor([[((11 * i * i + 5 * i + 3 * j * j + 7 * i * j) % 29 - 14) / 8 for j in range(WIDTH)] for i in range(24)])


def gate(v):
    return 1 / (1 + torch.exp(-v))


outputs = []
for head in range(HEADS):
    at = slice(head * SIZE, (head + 1) * SIZE)
    kernel, bias = w["slstm_cell._recurrent_kernel_"][head], w["slstm_cell._bias_"][head]  # [in, 4, out], [4, out]
    h = c = n = m = torch.zeros(SIZE)
    rows = []
    for t in range(len(x)):
        u = w["conv1d.conv.bias"][at].clone()
        for tap in range(TAPS):
            before = t - (TAPS - 1) + tap
            if before >= 0:
                u = u + w["conv1d.conv.weight"][at, 0, tap] * x[before, at]
        u = u * gate(u)
        i, f, z, o = (w[f"{name}gate.weight"][head] @ given + h @ kernel[:, k] + bias[k]
                      for k, (name, given) in enumerate((("f", u), ("i", u), ("z", x[t, at]), ("o", x[t, at]))))
        keep = torch.log(gate(f)) + m
        m = i if t == 0 else torch.maximum(i, keep)
        old = torch.zeros(SIZE) if t == 0 else torch.exp(keep - m)
        c = old * c + torch.exp(i - m) * torch.tanh(z)
        n = old * n + torch.exp(i - m)
        h = gate(o) * c / n
        rows.append((h - h.mean()) / torch.sqrt(h.var(unbiased=False) + 1e-5) * (1 + w["group_norm.weight"][at]))
    outputs.append(torch.stack(rows))
common.references["slstm"] = "restated, position by position"
common.record("slstm", inputs={"x": x}, outputs={"out": torch.cat(outputs, 1)})
