"""A GGUF of a decoder's shape with random codes, for llama.cpp's speed.   python peer_gguf.py WORK STORAGE FILE"""
import sys

import gguf
import numpy as np

SHAPES = {  # vocabulary, width, inner width, layers, heads, heads of keys, context, whether the head has a matrix of its own
    "tinyllama": (32000, 2048, 5632, 22, 32, 4, 2048, True),
    "stories15m": (32000, 288, 768, 6, 6, 6, 256, False),
}
HYBRIDS = {  # the same, with experts and how many of them a position asks in place of the last
    "qwen3_5_4b": (32000, 2560, 9216, 8, 16, 4, 4096, 0, 0),
    "qwen3_next_80b": (32000, 2048, 512, 4, 16, 2, 4096, 128, 10),
}
# elements and bytes of a block, and where in it scales of 16 bits stand
BLOCKS = {"q8_0": (32, 34, [0]), "q4_0": (32, 18, [0]), "q4_1": (32, 20, [0, 2]), "q5_0": (32, 22, [0]),
          "q5_1": (32, 24, [0, 2]), "mxfp4": (32, 17, []), "iq4_nl": (32, 18, [0]), "q2_k": (256, 84, [80, 82]), "q3_k": (256, 110, [108]),
          "q4_k": (256, 144, [0, 2]), "q5_k": (256, 176, [0, 2]), "q6_k": (256, 210, [208]), "iq4_xs": (256, 136, [0])}


def matrix(rng, n, k, storage):
    if storage == "f32":
        return (rng.random((n, k), np.float32) - 0.5) / 8
    if storage == "f16":
        return matrix(rng, n, k, "f32").astype(np.float16)
    if storage == "bf16":
        return (matrix(rng, n, k, "f32").view(np.uint32) >> 16).astype(np.uint16).view(np.uint8).reshape(n, 2 * k)
    values, size, scales = BLOCKS[storage]
    blocks = rng.integers(0, 256, (n * k // values, size), np.uint8)
    for at in scales:
        blocks[:, at:at + 2] = np.frombuffer(np.float16(1 / 512).tobytes(), np.uint8)
    if storage == "mxfp4":
        blocks[:, 0] = 120
    return blocks.reshape(n, k // values * size)


class File:
    """A GGUF that is written; matrices of one shape share their codes."""

    def __init__(self, path, kind, storage, vocab, width, layers, heads, kv_heads, context, own_head):
        self.w, self.storage, self.rng, self.of_shape = gguf.GGUFWriter(path, kind), storage, np.random.default_rng(1), {}
        self.w.add_block_count(layers)
        self.w.add_context_length(context)
        self.w.add_embedding_length(width)
        self.w.add_head_count(heads)
        self.w.add_head_count_kv(kv_heads)
        self.w.add_vocab_size(vocab)
        self.w.add_tokenizer_model("no_vocab")
        self.matrix("token_embd", vocab, width)
        self.numbers("output_norm.weight", np.ones(width))
        if own_head:
            self.matrix("output", vocab, width)

    def matrix(self, name, *shape, storage=None):
        storage = storage or self.storage
        key = (*shape, storage)
        if key not in self.of_shape:
            *outer, n, k = shape
            m = matrix(self.rng, int(np.prod(outer)) * n, k, storage)
            self.of_shape[key] = m.reshape(*outer, n, -1)
        self.w.add_tensor(f"{name}.weight", self.of_shape[key], raw_dtype=gguf.GGMLQuantizationType[storage.upper()])

    def numbers(self, name, values):
        self.w.add_tensor(name, np.asarray(values, np.float32))

    def close(self):
        self.w.write_header_to_file()
        self.w.write_kv_data_to_file()
        self.w.write_tensors_to_file()
        self.w.close()


def llama(path, storage, vocab, width, inner, layers, heads, kv_heads, context, own_head):
    f = File(path, "llama", storage, vocab, width, layers, heads, kv_heads, context, own_head)
    f.w.add_feed_forward_length(inner)
    f.w.add_layer_norm_rms_eps(1e-5)
    f.w.add_rope_dimension_count(width // heads)
    keys = width * kv_heads // heads
    for i in range(layers):
        for norm in ("attn_norm", "ffn_norm"):
            f.numbers(f"blk.{i}.{norm}.weight", np.ones(width))
        for name, shape in {"attn_q": (width, width), "attn_k": (keys, width), "attn_v": (keys, width), "attn_output": (width, width),
                            "ffn_gate": (inner, width), "ffn_up": (inner, width), "ffn_down": (width, inner)}.items():
            f.matrix(f"blk.{i}.{name}", *shape)
    f.close()


def gated_delta(path, storage, vocab, width, inner, layers, heads, kv_heads, context, experts, active):
    """Qwen 3.5, or with experts Qwen 3 Next: 16 and 32 heads of 128 in the recurrences, 256 in attention."""
    dim, key_heads, value_heads = 128, 16, 32
    keys, values = key_heads * dim, value_heads * dim
    f = File(path, "qwen3next" if experts else "qwen35", storage, vocab, width, layers, heads, kv_heads, context, True)
    f.w.add_feed_forward_length(inner)
    f.w.add_layer_norm_rms_eps(1e-6)
    f.w.add_key_length(256)
    f.w.add_value_length(256)
    f.w.add_rope_dimension_count(64)
    f.w.add_rope_freq_base(1e7)
    f.w.add_ssm_conv_kernel(4)
    f.w.add_ssm_state_size(dim)
    f.w.add_ssm_group_count(key_heads)
    f.w.add_ssm_time_step_rank(value_heads)
    f.w.add_ssm_inner_size(values)
    f.w.add_full_attention_interval(4)
    if experts:
        f.w.add_expert_count(experts)
        f.w.add_expert_used_count(active)
        f.w.add_expert_feed_forward_length(inner)
        f.w.add_expert_shared_feed_forward_length(inner)
    else:
        f.w.add_rope_dimension_sections([11, 11, 10, 0])
    for i in range(layers):
        at = f"blk.{i}."
        for norm in ("attn_norm", "post_attention_norm"):
            f.numbers(f"{at}{norm}.weight", np.ones(width))
        if i % 4 == 3:
            f.matrix(f"{at}attn_q", 2 * heads * 256, width)
            f.matrix(f"{at}attn_k", kv_heads * 256, width)
            f.matrix(f"{at}attn_v", kv_heads * 256, width)
            f.matrix(f"{at}attn_output", width, heads * 256)
            for norm in ("attn_q_norm", "attn_k_norm"):
                f.numbers(f"{at}{norm}.weight", np.ones(256))
        else:
            f.matrix(f"{at}attn_qkv", 2 * keys + values, width)
            f.matrix(f"{at}attn_gate", values, width)
            f.matrix(f"{at}ssm_out", width, values)
            if experts:
                f.matrix(f"{at}ssm_ba", 2 * value_heads, width)
            else:
                f.matrix(f"{at}ssm_alpha", value_heads, width)
                f.matrix(f"{at}ssm_beta", value_heads, width)
            f.numbers(f"{at}ssm_conv1d.weight", f.rng.random((2 * keys + values, 4)) - 0.5)
            f.numbers(f"{at}ssm_dt.bias", np.zeros(value_heads))
            f.numbers(f"{at}ssm_a", -np.linspace(0.01, 1, value_heads))
            f.numbers(f"{at}ssm_norm.weight", np.ones(dim))
        parts = {"": ()}
        if experts:
            f.matrix(f"{at}ffn_gate_inp", experts, width, storage="f32")
            f.numbers(f"{at}ffn_gate_inp_shexp.weight", np.ones(width) / 64)
            parts = {"_exps": (experts,), "_shexp": ()}
        for part, outer in parts.items():
            f.matrix(f"{at}ffn_gate{part}", *outer, inner, width)
            f.matrix(f"{at}ffn_up{part}", *outer, inner, width)
            f.matrix(f"{at}ffn_down{part}", *outer, width, inner)
    f.close()


def main():
    work, storage, path = sys.argv[1:]
    if work in SHAPES:
        llama(path, storage, *SHAPES[work])
    else:
        gated_delta(path, storage, *HYBRIDS[work])


main()
