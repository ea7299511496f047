"""A GGUF of a decoder's shape with random codes, for llama.cpp's speed.   python peer_gguf.py WORK STORAGE FILE"""
import sys

import gguf
import numpy as np

SHAPES = {  # vocabulary, width, inner width, layers, heads, heads of keys, context, whether the head has a matrix of its own
    "tinyllama": (32000, 2048, 5632, 22, 32, 4, 2048, True),
    "stories15m": (32000, 288, 768, 6, 6, 6, 256, False),
}
# elements and bytes of a block, and where in it scales of 16 bits stand
BLOCKS = {"q8_0": (32, 34, [0]), "q4_0": (32, 18, [0]), "q4_1": (32, 20, [0, 2]), "mxfp4": (32, 17, []), "q4_k": (256, 144, [0, 2]),
          "q5_k": (256, 176, [0, 2]), "q6_k": (256, 210, [208])}


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


def main():
    work, storage, path = sys.argv[1:]
    vocab, width, inner, layers, heads, kv_heads, context, own_head = SHAPES[work]
    kind = gguf.GGMLQuantizationType[storage.upper()]
    rng = np.random.default_rng(1)
    w = gguf.GGUFWriter(path, "llama")
    w.add_block_count(layers)
    w.add_context_length(context)
    w.add_embedding_length(width)
    w.add_feed_forward_length(inner)
    w.add_head_count(heads)
    w.add_head_count_kv(kv_heads)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_dimension_count(width // heads)
    w.add_vocab_size(vocab)
    w.add_tokenizer_model("no_vocab")
    shapes = {"attn_q": (width, width), "attn_k": (width * kv_heads // heads, width), "attn_v": (width * kv_heads // heads, width),
              "attn_output": (width, width), "ffn_gate": (inner, width), "ffn_up": (inner, width), "ffn_down": (width, inner)}
    of_shape = {shape: matrix(rng, *shape, storage) for shape in {*shapes.values(), (vocab, width)}}
    ones = np.ones(width, np.float32)
    add = lambda name, shape: w.add_tensor(f"{name}.weight", of_shape[shape], raw_dtype=kind)
    add("token_embd", (vocab, width))
    w.add_tensor("output_norm.weight", ones)
    if own_head:
        add("output", (vocab, width))
    for i in range(layers):
        for norm in ("attn_norm", "ffn_norm"):
            w.add_tensor(f"blk.{i}.{norm}.weight", ones)
        for name, shape in shapes.items():
            add(f"blk.{i}.{name}", shape)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


main()
