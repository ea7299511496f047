"""Oracles of vision transformers: ViT (transformers and timm), DeiT, DINOv2 without and with registers, CLIP, SigLIP,
Swin.

    make && V/bin/python tests/oracle/families/vision.py [NAME...]
"""

import sys

import common
import timm
import torch
import transformers

LAYER = {"attn": "attention", "ffn": "mlp"}
WHOLE_LAYER = LAYER | {"ln1": "layernorm_before", "ln2": "layernorm_after", "x": ""}


def picture(side, channels=3):
    """A picture that is no pattern: [channels, side, side]."""
    return torch.sin(1.7 * torch.arange(channels * side * side) ** 1.3).reshape(channels, side, side)


def run(module, layers, pixels, parts=LAYER, **more):
    values = common.taps(common.parts_of(layers, parts) | more)
    with torch.no_grad():
        found = module(pixels[None])
    return found, values


def config(kind, **sizes):
    return kind(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, attn_implementation="eager", **sizes)


def vit():
    module = common.published("vit", transformers.ViTForImageClassification, config(
        transformers.ViTConfig, intermediate_size=40, image_size=12, patch_size=4, num_labels=5))
    pixels = picture(12)
    found, values = run(
        module, module.vit.layers, pixels, WHOLE_LAYER, start=common.entry(module.vit.layers[0]),
        embed=(module.vit.embeddings.patch_embeddings, lambda given, result: result[0]), final=module.vit.layernorm)
    common.record("vit", {"pixels": pixels}, {"logits": found.logits[0]}, values)


def vit_headless():
    module = common.published("vit_headless", transformers.ViTModel, config(
        transformers.ViTConfig, intermediate_size=40, image_size=12, patch_size=4))
    pixels = picture(12)
    found, values = run(module, module.layers, pixels)
    common.record("vit_headless", {"pixels": pixels},
                  {"features": found.last_hidden_state[0], "pooled": found.pooler_output[0]}, values)


def vit_timm():
    module = common.load(timm.models.VisionTransformer(
        img_size=12, patch_size=4, in_chans=2, num_classes=5, embed_dim=24, depth=2, num_heads=2, mlp_ratio=40 / 24,
        qkv_bias=True), "vit_timm")
    pixels = picture(12, 2)
    values = common.taps({f"layer[{i}].{ours}": block.get_submodule(theirs) for i, block in enumerate(module.blocks)
                          for ours, theirs in {"attn": "attn", "ffn": "mlp"}.items()})
    with torch.no_grad():
        features = module.forward_features(pixels[None])
        logits = module.forward_head(features)
    common.record("vit_timm", {"pixels": pixels}, {"features": features[0], "logits": logits[0]}, values)


def deit():
    module = common.published("deit", transformers.DeiTForImageClassificationWithTeacher, config(
        transformers.DeiTConfig, intermediate_size=96, image_size=12, patch_size=4, num_labels=5))
    pixels = picture(12)
    found, values = run(module, module.deit.layers, pixels)
    common.record("deit", {"pixels": pixels}, {"logits": found.logits[0]}, values)


def dinov2():
    module = common.published("dinov2", transformers.Dinov2Model, config(
        transformers.Dinov2Config, image_size=15, patch_size=5, use_mask_token=False))
    pixels = picture(15)
    found, values = run(module, module.encoder.layer, pixels)
    common.record("dinov2", {"pixels": pixels}, {"features": found.last_hidden_state[0]}, values)


def dinov2_registers():
    module = common.published("dinov2_registers", transformers.Dinov2WithRegistersModel, config(
        transformers.Dinov2WithRegistersConfig, image_size=15, patch_size=5, mlp_ratio=2, num_register_tokens=3,
        use_swiglu_ffn=True), unread=["embeddings.mask_token"])
    pixels = picture(15)
    found, values = run(module, module.encoder.layer, pixels)
    common.record("dinov2_registers", {"pixels": pixels}, {"features": found.last_hidden_state[0]}, values)


def contrastive(name, kind, configuration, seen, tokens, text, vision, **more):
    text = dict(vocab_size=37, hidden_size=20, intermediate_size=80, num_hidden_layers=2, num_attention_heads=2,
                max_position_embeddings=9, **text)
    vision = dict(hidden_size=24, intermediate_size=96, num_hidden_layers=2, num_attention_heads=3, image_size=12,
                  patch_size=4, **vision)
    module = common.published(name, kind, configuration(text_config=text, vision_config=vision, **more))
    for part in module.modules():  # no file holds the numbers of the places, and the loader leaves them unset
        if hasattr(part, "position_ids"):
            part.position_ids = torch.arange(part.position_embedding.num_embeddings)[None]
    pixels = picture(12)
    paths = {}
    layer = {"attn": "self_attn", "ffn": "mlp", "ln1": "layer_norm1", "ln2": "layer_norm2", "x": ""}
    for ours, tower, variable in ("text", module.text_model, "y"), ("image", module.vision_model, seen):
        paths |= common.parts_of(tower.encoder.layers, layer, f"{ours}.{variable}.layer")
        paths[f"{ours}.placed"] = tower.embeddings
    paths["text.final"] = module.text_model.final_layer_norm
    if hasattr(module.vision_model, "pre_layrnorm"):  # that is how it is spelled
        paths["image.pre_norm"] = module.vision_model.pre_layrnorm
    paths["image.final"] = module.vision_model.post_layernorm
    values = common.taps(paths, batch=False)
    with torch.no_grad():
        found = module(input_ids=tokens, pixel_values=pixels[None])
    values = {path: value if path.startswith("text") else value[0] for path, value in values.items()}
    common.record(name, {"pixels": pixels, "tokens": tokens}, {
        "image_embeds": found.image_embeds[0], "text_embeds": found.text_embeds,
        "logits": found.logits_per_text[:, 0]}, values)


def clip():
    tokens = torch.tensor([[35, 7, 12, 36, 0, 0, 0, 0, 0], [35, 3, 1, 4, 1, 5, 9, 2, 36], [35, 36, 5, 5, 5, 5, 5, 5, 5]])
    contrastive("clip", transformers.CLIPModel, transformers.CLIPConfig, "tower", tokens,
                dict(projection_dim=10, eos_token_id=36, bos_token_id=35, pad_token_id=0), dict(projection_dim=10),
                projection_dim=10)


def siglip():
    tokens = torch.tensor([[7, 12, 36, 0, 0, 0, 0, 0, 0], [3, 1, 4, 1, 5, 9, 2, 6, 36]])
    contrastive("siglip", transformers.SiglipModel, transformers.SiglipConfig, "y", tokens,
                dict(projection_size=24), {})


def swin():
    module = common.published("swin", transformers.SwinForImageClassification, transformers.SwinConfig(
        image_size=64, patch_size=2, embed_dim=12, depths=[2, 2, 1, 1], num_heads=[1, 2, 3, 4], window_size=4,
        num_labels=5, attn_implementation="eager"))
    for part in module.modules():  # no file holds the index of offsets, and the loader leaves it unset
        if hasattr(part, "relative_position_index"):
            part.relative_position_index = part._create_relative_position_index().view(-1)
    pixels = picture(64)
    paths = {f"stage{s}.layer[{i}].ffn": layer.mlp for s, stage in enumerate(module.swin.encoder.layers)
             for i, layer in enumerate(stage.blocks)}
    values = common.taps(paths)
    with torch.no_grad():
        features = module.swin(pixels[None]).last_hidden_state
        found = module(pixels[None])
    values = {path: value for path, value in values.items() if not path.startswith("stage0")}
    common.record("swin", {"pixels": pixels}, {"features": features[0], "logits": found.logits[0]}, values)


ORACLES = {"vit": vit, "vit_headless": vit_headless, "vit_timm": vit_timm, "deit": deit, "dinov2": dinov2,
           "dinov2_registers": dinov2_registers, "clip": clip, "siglip": siglip, "swin": swin}
for name in sys.argv[1:] or ORACLES:
    ORACLES[name]()
