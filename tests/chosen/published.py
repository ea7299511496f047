#!/usr/bin/env python3
"""Costs of the largest models with an indexer, by configuration only: what `lathe show` prints for a step after 4,096 and 65,536 positions,
against sums of the published shapes.

    tests/chosen/published.py build/lathe"""
import json
import os
import re
import subprocess
import sys
import tempfile

LATHE = os.path.abspath(sys.argv[1])
failed = 0

COMMON = {"hidden_act": "silu", "index_head_dim": 128, "index_topk": 2048, "kv_lora_rank": 512, "moe_intermediate_size": 2048,
          "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": True, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
          "qk_rope_head_dim": 64, "routed_scaling_factor": 2.5, "tie_word_embeddings": False, "attention_bias": False}
MODELS = {
    "deepseek_v3_2": {"architectures": ["DeepseekV32ForCausalLM"], "hidden_size": 7168, "index_n_heads": 64, "intermediate_size": 18432,
                      "max_position_embeddings": 163840, "n_group": 8, "topk_group": 4, "num_attention_heads": 128, "num_hidden_layers": 61,
                      "num_key_value_heads": 128, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "rms_norm_eps": 1e-6, "v_head_dim": 128,
                      "vocab_size": 129280},
    "glm_5": {"architectures": ["GlmMoeDsaForCausalLM"], "hidden_size": 6144, "index_n_heads": 32, "intermediate_size": 12288,
              "max_position_embeddings": 202752, "n_group": 1, "topk_group": 1, "num_attention_heads": 64, "num_hidden_layers": 78,
              "num_key_value_heads": 64, "q_lora_rank": 2048, "qk_nope_head_dim": 192, "rms_norm_eps": 1e-5, "v_head_dim": 256,
              "vocab_size": 154880},
}


class Count:
    """Numbers of a step after p positions, from the shapes of a configuration."""

    def __init__(self, c, p):
        d, layers, dense = c["hidden_size"], c["num_hidden_layers"], c["first_k_dense_replace"]
        heads, nope, rope, v = c["num_attention_heads"], c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
        q_rank, kv_rank, key = c["q_lora_rank"], c["kv_lora_rank"], c["kv_lora_rank"] + c["qk_rope_head_dim"]
        index_heads, index_dim, chosen = c["index_n_heads"], c["index_head_dim"], min(c["index_topk"], p + 1)
        expert, experts, active = 3 * d * c["moe_intermediate_size"], c["n_routed_experts"], c["num_experts_per_tok"]
        attention = d * q_rank + q_rank * heads * (nope + rope) + d * key + kv_rank * heads * (nope + v) + heads * v * d
        indexer = q_rank * index_heads * index_dim + d * index_dim + d * index_heads
        norms = 2 * d + q_rank + kv_rank + 2 * index_dim
        matrices = layers * (attention + indexer) + dense * 3 * d * c["intermediate_size"] + d * c["vocab_size"]
        matrices += (layers - dense) * (d * experts + (active + c["n_shared_experts"]) * expert)
        vectors = layers * norms + d + (layers - dense) * experts              # of experts: their biases of the choice
        self.step = matrices + vectors + d                                     # and a row of the embedding
        self.all = self.step - d + d * c["vocab_size"] + (layers - dense) * (experts - active) * expert
        self.products = 2 * matrices
        self.attention = layers * (2 * chosen * heads * (key + kv_rank) + 2 * index_heads * index_dim * (p + 1))
        self.cache = layers * (p + 1) * (key + index_dim)
        # queries, results and the list of keys; a key's row is counted once for keys and once, without its rotary part, for values
        self.attention_bytes = 4 * (heads * (key + kv_rank) + chosen + chosen * (key + kv_rank))
        # of each position: the indexer's key; scores of its heads, written and read; their sum, written and read twice; read by `top`
        self.bytes_per_position = 4 * layers * (index_dim + 2 * index_heads + 4)


BLOCKS = {"architectures": ["MiniMaxM3VLForCausalLM"], "hidden_size": 6144, "intermediate_size": 3072, "dense_intermediate_size": 12288, "shared_intermediate_size": 3072,
          "num_hidden_layers": 60, "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 200064, "num_local_experts": 128,
          "num_experts_per_tok": 4, "index_n_heads": 4, "index_head_dim": 128, "index_block_size": 128, "index_topk_blocks": 16, "index_local_blocks": 1,
          "max_position_embeddings": 131072, "rope_parameters": {"rope_type": "default", "rope_theta": 5e6, "partial_rotary_factor": 0.5},
          "layer_types": ["full_attention"] * 3 + ["minimax_m3_sparse"] * 57, "mlp_layer_types": ["dense"] * 3 + ["sparse"] * 57}


class CountBlocks:
    """The same of a model whose indexer chooses blocks of keys by their largest score, one choice for each group of heads."""

    def __init__(self, c, p):
        d, layers, dense, heads, groups, width = c["hidden_size"], c["num_hidden_layers"], 3, c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        index_heads, index_dim, size = c["index_n_heads"], c["index_head_dim"], c["index_block_size"]
        chosen, sparse = c["index_topk_blocks"] * size, layers - dense
        expert, experts, active = 3 * d * c["intermediate_size"], c["num_local_experts"], c["num_experts_per_tok"]
        matrices = layers * (2 * d * heads * width + 2 * d * groups * width) + sparse * d * (index_heads + 1) * index_dim
        matrices += dense * 3 * d * c["dense_intermediate_size"] + d * c["vocab_size"] + sparse * (d * experts + active * expert + 3 * d * c["shared_intermediate_size"])
        vectors = layers * (2 * d + 2 * width) + d + sparse * (2 * index_dim + experts)
        self.step = matrices + vectors + d
        self.all = self.step - d + d * c["vocab_size"] + sparse * (experts - active) * expert
        self.products = 2 * matrices
        self.attention = dense * 4 * heads * width * (p + 1) + sparse * (4 * heads * width * chosen + 2 * index_heads * index_dim * (p + 1))
        self.cache = (p + 1) * (layers * 2 * groups * width + sparse * index_dim)
        # queries, results and lists of keys; keys and values of each group of heads
        self.attention_bytes = 4 * (2 * heads * width + groups * chosen + 2 * groups * chosen * width)
        # of each position the indexer's key, scores, written, and maxima, read and written in log2(size) steps; of each block the maximum, read, written
        # and read by `top`, and the number of its last key; keys and values of other layers
        steps = (size - 1).bit_length()
        self.bytes_per_position = 4 * (sparse * (index_dim + index_heads * (1 + 2 * steps) + (3 * index_heads + 1) / size) + dense * 2 * groups * width)


def show(model, part, p):
    done = subprocess.run([LATHE, "show", model, part, "-D", f"context={p + 1}", "--target", "scalar"], capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr


def number(pattern, text):
    found = re.search(pattern, text, re.M)
    return int(found.group(1).replace(",", "")) if found else None


def check(name, found, wanted):
    global failed
    good = found == wanted
    print(f"ok chosen {name}" if good else f"FAIL chosen {name}: {found}, expected {wanted}")
    failed |= not good


def check_model(name, config, at, counted=Count):
    os.makedirs(f"{at}/{name}")
    with open(f"{at}/{name}/config.json", "w") as f:
        json.dump(config, f)
    subprocess.run([LATHE, "import", f"{at}/{name}", "--spec-only", "-o", f"{at}/{name}"], check=True, capture_output=True, timeout=300)
    total = {}
    for p in (4096, 65536):
        want, cost, roofline = counted(config, p), show(f"{at}/{name}.model", "cost", p), show(f"{at}/{name}.model", "roofline", p)
        step = cost[cost.index("a step after"):]
        check(f"{name} after {p:,}: weights", number(r"^weights: ([\d,]+) values", cost), want.all)
        check(f"{name} after {p:,}: weights of a step", number(r"^weights that a step reads: ([\d,]+) values", cost), want.step)
        check(f"{name} after {p:,}: cache", number(r"^cache for .*: ([\d,]+) values", cost), want.cache)
        check(f"{name} after {p:,}: FLOPs of products", number(r"^  products .* at [\d,]+: +([\d,]+)", step), want.products)
        check(f"{name} after {p:,}: FLOPs of attention", number(r"^  attention .* at [\d,]+: +([\d,]+)", step), want.attention)
        rows = roofline[roofline.index("a step after"):]
        bytes_of = {int(row.split()[4]) for row in rows.splitlines() if row.split()[:1] == ["attention"]}
        check(f"{name} after {p:,}: bytes of attention to chosen keys", bytes_of & {want.attention_bytes}, {want.attention_bytes})
        check(f"{name} after {p:,}: kernels of attention", len(bytes_of), 1 if counted is Count else 2)
        total[p] = number(r"all runs:.*; (\d+) bytes", rows)
    check(f"{name}: bytes that each further position adds", (total[65536] - total[4096]) / (65536 - 4096), want.bytes_per_position)


with tempfile.TemporaryDirectory() as work:
    for model in MODELS:
        check_model(model, {**COMMON, **MODELS[model]}, work)
    check_model("minimax_m3", BLOCKS, work, CountBlocks)
sys.exit(failed)
