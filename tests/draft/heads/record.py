"""Directories of published models with a layer that predicts further tokens, and what it computes in double precision.

    record.py [NAME...]        writes NAME/config.json, weights.json (tests/import/reference/seeded.py) and values.safetensors

The layer is a decoder layer of transformers; around it, as in vLLM's deepseek_mtp.py and qwen3_next_mtp.py: the norm of the embedding of
a token and the norm of the first model's vector, joined and projected; after it a norm, and the head of the first model.  vLLM sets the
embedding of position 0 to 0, SGLang does not, nor the paper; it is as it is here.  values.safetensors: tokens and vectors, and the logits
and the vectors for further tokens.  Expects torch, transformers, safetensors."""

import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../oracle/families"), os.path.join(HERE, "../../import/reference")]
import common                               # from here on everything is float64
import seeded
import torch
import transformers
from safetensors.torch import load_file, save_file

POSITIONS = 14
COMMON = {"vocab_size": 48, "hidden_size": 16, "intermediate_size": 20, "max_position_embeddings": 64, "num_attention_heads": 4,
          "rms_norm_eps": 1e-5, "tie_word_embeddings": False}
NAMES = {
    "deepseek_v3": ("DeepseekV3", dict(
        COMMON, num_hidden_layers=2, num_key_value_heads=4, q_lora_rank=8, kv_lora_rank=8, qk_nope_head_dim=4, qk_rope_head_dim=4, v_head_dim=6,
        n_routed_experts=8, num_experts_per_tok=3, n_shared_experts=1, moe_intermediate_size=6, n_group=4, topk_group=2,
        routed_scaling_factor=2.5, first_k_dense_replace=1, num_nextn_predict_layers=1,
        rope_parameters={"rope_type": "default", "rope_theta": 100.0})),
    "glm4_moe": ("Glm4Moe", dict(
        COMMON, num_hidden_layers=2, num_key_value_heads=2, head_dim=8, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=1,
        moe_intermediate_size=6, n_group=1, topk_group=1, routed_scaling_factor=1.5, first_k_dense_replace=1, attention_bias=True,
        use_qk_norm=True, num_nextn_predict_layers=1, rope_parameters={"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5})),
    "qwen3_5": ("Qwen3_5", dict(
        COMMON, num_hidden_layers=2, num_key_value_heads=2, head_dim=8, layer_types=["linear_attention", "full_attention"],
        linear_key_head_dim=4, linear_value_head_dim=4, linear_num_key_heads=2, linear_num_value_heads=4, mtp_num_hidden_layers=1,
        rope_parameters={"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5})),
}


def one_layer_more(name):
    """The configuration of transformers in which the layer is the last one."""
    kind, settings = NAMES[name]
    config = getattr(transformers, kind + ("TextConfig" if kind == "Qwen3_5" else "Config"))
    more = {"num_hidden_layers": settings["num_hidden_layers"] + 1}
    if "layer_types" in settings:
        more["layer_types"] = settings["layer_types"] + ["full_attention"]
    return config(**{**settings, **more, "attn_implementation": "eager"}), getattr(transformers, kind + "ForCausalLM")


def published(name, tensor):
    """The name in the published file of a tensor of the model with one layer more."""
    last = "model.layers.%d." % NAMES[name][1]["num_hidden_layers"]
    return tensor.replace(last, "mtp.layers.0.") if name == "qwen3_5" else tensor


def around(name):
    """Norm of the embedding, norm of the vector, projection, last norm."""
    last = "model.layers.%d." % NAMES[name][1]["num_hidden_layers"]
    if name == "qwen3_5":
        return "mtp.pre_fc_norm_embedding.weight", "mtp.pre_fc_norm_hidden.weight", "mtp.fc.weight", "mtp.norm.weight"
    return last + "enorm.weight", last + "hnorm.weight", last + "eh_proj.weight", last + "shared_head.norm.weight"


def write_directory(name, folder, saved):
    """config.json and weights.json, from the tensors of a saved model."""
    kind, settings = NAMES[name]
    os.makedirs(folder, exist_ok=True)
    model_type = "qwen3_5_text" if name == "qwen3_5" else name
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump({"architectures": [kind + "ForCausalLM"], "model_type": model_type, **settings}, file, indent=1)
        file.write("\n")
    d, start = settings["hidden_size"], 0.0 if name == "qwen3_5" else 1.0
    tensors = {published(name, tensor): row for tensor, row in seeded.described(saved).items()}
    embedding, vector, project, last = around(name)
    for gain in embedding, vector, last:
        tensors[gain] = {"shape": [d], "start": start}
    tensors[project] = {"shape": [d, 2 * d]}
    seeded.save(folder, dict(sorted(tensors.items())))


def norm(x, gain, eps, zero):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * (gain + 1 if zero else gain)


@torch.no_grad()
def record(name):
    folder, work = os.path.join(HERE, name), tempfile.mkdtemp()
    config, kind = one_layer_more(name)
    torch.manual_seed(0)
    with torch._C.DisableTorchFunction():
        kind(config).to(torch.bfloat16).save_pretrained(work)
    write_directory(name, folder, os.path.join(work, "model.safetensors"))
    back = {published(name, tensor): tensor for tensor in seeded.described(os.path.join(work, "model.safetensors"))}
    seeded.remade(folder)
    with torch._C.DisableTorchFunction():
        tensors = load_file(os.path.join(folder, "model.safetensors"))
    os.remove(os.path.join(folder, "model.safetensors"))
    with torch._C.DisableTorchFunction():
        save_file({back[n]: t for n, t in tensors.items() if n in back}, os.path.join(work, "model.safetensors"), metadata={"format": "pt"})
    model = common.opened(work, kind)
    embedding, vector, project, last = (tensors[n].double() for n in around(name))
    zero, eps = name == "qwen3_5", config.rms_norm_eps
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(0, config.vocab_size, (POSITIONS,), generator=generator)
    vectors = torch.randint(-2000, 2000, (POSITIONS, config.hidden_size), generator=generator).double() / 1024
    x = torch.cat([norm(model.model.embed_tokens(tokens), embedding, eps, zero), norm(vectors, vector, eps, zero)], -1) @ project.T
    place = torch.arange(POSITIONS)[None]
    later = torch.full((POSITIONS, POSITIONS), float("-inf"), dtype=torch.float64).triu(1)[None, None]
    x = model.model.layers[-1](x[None], attention_mask=later, position_embeddings=model.model.rotary_emb(x[None], place), position_ids=place)
    x = (x[0] if isinstance(x, tuple) else x)[0]
    y = norm(x, last, eps, zero)
    values = {"tokens": tokens, "vector": vectors, "logits": model.lm_head(y), "next_vector": (y if zero else x).contiguous()}
    with torch._C.DisableTorchFunction():
        save_file(values, os.path.join(folder, "values.safetensors"))
    shutil.rmtree(work)


if __name__ == "__main__":
    for name in sys.argv[1:] or NAMES:
        record(name)
        print(name, flush=True)
