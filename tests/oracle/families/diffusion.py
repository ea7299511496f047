"""Oracles of the diffusion transformers: DiT (its authors' modules and diffusers), Stable Diffusion 3 and 3.5, Flux,
Latte.

DiT's own modules are no package: DIT is a folder that holds github.com/facebookresearch/DiT (at ed81ce2).

    make && DIT=PATH V/bin/python tests/oracle/families/diffusion.py [NAME...]
"""

import os
import sys

import common
import diffusers
import torch


def wave(*shape):
    """Values that are no pattern."""
    count = torch.Size(shape).numel()
    return torch.sin(1.7 * torch.arange(count) ** 1.3).reshape(shape)


def second(module):
    """For taps: the second result of a layer of two streams."""
    return module, lambda given, result: result[1][0]


def run(module, inputs, paths):
    values = common.taps(paths)
    with torch.no_grad():
        return module(**inputs), values


def dit():
    sys.path.insert(0, os.environ["DIT"])
    from models import DiT
    module = DiT(input_size=6, patch_size=2, in_channels=4, hidden_size=24, depth=2, num_heads=3, num_classes=5)
    with torch.no_grad():  # its table is made in numpy, in float32; made again in double
        from models import get_2d_sincos_pos_embed
        module.pos_embed.data = torch.tensor(get_2d_sincos_pos_embed(24, 3)).double()[None]
    module = common.load(module, "dit", computed=["pos_embed"])
    latent, step, label = wave(4, 6, 6), torch.tensor(417.), torch.tensor(3)
    paths = common.parts_of(module.blocks, {"body.attn": "attn", "body.ffn": "mlp", "body": ""}) | {
        "step_embed": module.t_embedder, "embed": module.x_embedder, "out": module.final_layer}
    for i, block in enumerate(module.blocks):
        paths[f"layer[{i}].ada"] = common.shaped(block.adaLN_modulation, 6, 24)
    paths["final_ada"] = common.shaped(module.final_layer.adaLN_modulation, 2, 24)
    found, values = run(module, {"x": latent[None], "t": step[None], "y": label[None]}, paths)
    common.record("dit", {"step": step, "class": label, "latent": latent}, {"noise": found[0]}, values)


def dit_diffusers():
    module = diffusers.DiTTransformer2DModel(
        num_attention_heads=3, attention_head_dim=8, num_layers=2, sample_size=6, patch_size=2, in_channels=4,
        num_embeds_ada_norm=5)
    for block in module.transformer_blocks:  # the published file holds equal copies
        block.norm1.emb = module.transformer_blocks[0].norm1.emb
    module = common.load(module, "dit_diffusers")
    latent, step, label = wave(4, 6, 6), torch.tensor(417.), torch.tensor(5)
    paths = {f"layer[{i}].body.{ours}": block.get_submodule(theirs) for i, block in enumerate(module.transformer_blocks)
             for ours, theirs in {"attn": "attn1", "ffn": "ff"}.items()}
    found, values = run(module, {"hidden_states": latent[None], "timestep": step[None], "class_labels": label[None]},
                        paths)
    common.record("dit_diffusers", {"step": step, "class": label, "latent": latent}, {"noise": found.sample[0]}, values)


def sd3(name, **more):
    module = diffusers.SD3Transformer2DModel(
        sample_size=8, patch_size=2, in_channels=4, out_channels=4, num_layers=3, attention_head_dim=8,
        num_attention_heads=3, joint_attention_dim=20, caption_projection_dim=24, pooled_projection_dim=10,
        pos_embed_max_size=7, **more)
    module = common.load(module, name, computed=["pos_embed.pos_embed"])
    latent, text, pooled, step = wave(4, 8, 8), wave(5, 20), wave(10), torch.tensor(417.)
    paths = common.parts_of(module.transformer_blocks, {"x_out": "attn.to_out.0", "x.ffn": "ff"}) | common.parts_of(
        module.transformer_blocks[:-1], {"y_out": "attn.to_add_out", "y.ffn": "ff_context", "y": ""}) | {
            "c": module.time_text_embed, "text_embed": module.context_embedder, "modulated": module.norm_out,
            "out": module.proj_out, "embed": (module.pos_embed.proj, lambda given, result: result[0].flatten(1).T)}
    for i, block in enumerate(module.transformer_blocks):
        paths[f"layer[{i}].x"] = second(block)
    found, values = run(module, {"hidden_states": latent[None], "encoder_hidden_states": text[None],
                                 "pooled_projections": pooled[None], "timestep": step[None]}, paths)
    common.record(name, {"text": text, "pooled": pooled, "step": step, "latent": latent},
                  {"velocity": found.sample[0]}, values)


def mmdit():
    sd3("mmdit")


def mmdit_dual():
    sd3("mmdit_dual", qk_norm="rms_norm", dual_attention_layers=(0, 1))


def flux():
    module = diffusers.FluxTransformer2DModel(
        in_channels=6, num_layers=2, num_single_layers=2, attention_head_dim=14, num_attention_heads=3,
        joint_attention_dim=20, pooled_projection_dim=10, guidance_embeds=True, axes_dims_rope=(4, 6, 4))
    module = common.load(module, "flux")
    latent, text, pooled = wave(12, 6), wave(5, 20), wave(10)
    # Both are multiplied by 1000 and by frequencies, and that angle is rounded: in float32, with a guidance of 3.5, the cosines
    # are 1e-4 off and the answer 2e-5, here as there. Small ones keep the comparison sharp.
    step, guidance = torch.tensor(1 / 8), torch.tensor(1 / 4)
    places = torch.tensor([[0, i // 4, i % 4] for i in range(12)])
    paths = common.parts_of(module.transformer_blocks, {
        "x_out": "attn.to_out.0", "y_out": "attn.to_add_out", "x.ffn": "ff", "y.ffn": "ff_context", "y": ""},
        "double_layer") | common.parts_of(module.single_transformer_blocks, {"out": "proj_out"}, "single_layer") | {
            "c": module.time_text_embed, "embed": module.x_embedder, "text_embed": module.context_embedder,
            "modulated": module.norm_out}
    for i, block in enumerate(module.transformer_blocks):
        paths[f"double_layer[{i}].x"] = second(block)
    for i, block in enumerate(module.single_transformer_blocks):
        paths[f"single_layer[{i}].z"] = block, lambda given, result: torch.cat(result, dim=1)[0]
    found, values = run(module, {
        "hidden_states": latent[None], "encoder_hidden_states": text[None], "pooled_projections": pooled[None],
        "timestep": step[None], "img_ids": places, "txt_ids": torch.zeros(5, 3, dtype=torch.int64),
        "guidance": guidance[None]}, paths)
    common.record("flux", {"text": text, "pooled": pooled, "step": step, "guidance": guidance, "latent": latent},
                  {"velocity": found.sample[0]}, values)


def latte():
    module = diffusers.LatteTransformer3DModel(
        num_attention_heads=3, attention_head_dim=8, in_channels=4, out_channels=8, num_layers=2, cross_attention_dim=24,
        attention_bias=True, sample_size=6, patch_size=2, activation_fn="gelu-approximate", norm_type="ada_norm_single",
        norm_elementwise_affine=False, norm_eps=1e-6, caption_channels=10, video_length=5)
    module = common.load(module, "latte")
    latent, text, step = wave(4, 5, 6, 6), wave(4, 10), torch.tensor(417.)
    paths = {}
    for ours, blocks in ("in_space", module.transformer_blocks), ("in_time", module.temporal_transformer_blocks):
        for i, block in enumerate(blocks):
            paths[f"layer[{i}].{ours}.attn"] = block.attn1
            paths[f"layer[{i}].{ours}.ffn"] = block.ff
            paths[f"layer[{i}].{ours}"] = block
    for i, block in enumerate(module.transformer_blocks):
        paths[f"layer[{i}].in_space.x.cross"] = block.attn2
    paths["caption"] = module.caption_projection, lambda given, result: result[0]
    paths["ada"] = common.shaped(module.adaln_single.linear, 6, 24)
    paths["modulated.layernorm"] = module.norm_out
    paths["out"] = module.proj_out
    values = common.taps(paths, batch=False)
    with torch.no_grad():
        found = module(latent[None], timestep=step[None], encoder_hidden_states=text[None])
    common.record("latte", {"step": step, "text": text, "latent": latent}, {"noise": found.sample[0]}, values)


ORACLES = {"dit": dit, "dit_diffusers": dit_diffusers, "mmdit": mmdit, "mmdit_dual": mmdit_dual, "flux": flux,
           "latte": latte}
for name in sys.argv[1:] or ORACLES:
    ORACLES[name]()
