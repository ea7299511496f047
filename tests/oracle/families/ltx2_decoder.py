"""Oracle of the diffusion video decoder of LTX-2.5: attention in a window around each place (flex attention, which on a CPU
computes with the kernel's mask what NATTEN does), adaLN-Zero by step.

    make && V/bin/python tests/oracle/families/ltx2_decoder.py
"""

import common
import torch
from diffusers.models.autoencoders.ltx2_diffusion_decoder import LTX2VideoDiffusionDecoderModel


def wave(*shape):
    """Values that are no pattern."""
    count = torch.Size(shape).numel()
    return torch.sin(1.7 * torch.arange(count) ** 1.3).reshape(shape)


module = LTX2VideoDiffusionDecoderModel(
    latent_channels=10, patch_size=2, decoder_head_dim=16, decoder_stage_channels=(96, 48, 48, 48, 48),
    decoder_stage_depths=(2, 1, 1, 1, 2), decoder_upsample_channel_reductions=(2, 1, 1, 1),
    decoder_upsample_strides=((1, 2, 1), (2, 1, 1), (1, 1, 2), (1, 1, 1)),
    decoder_stage_kernels=((3, 3, 3), (3, 5, 3), (3, 3, 1), (5, 3, 3)), decoder_stage5_kernel=(1, 3, 5),
    decoder_t_emb_dim=14, temporal_compression_ratio=2)
decoder = common.load(module, "ltx2_decoder", computed=["latents_mean", "latents_std"]).decoder
# step is multiplied by 1000 and by frequencies, and that angle is rounded in float32: a small one keeps the comparison sharp
latent, step, noisy = wave(10, 2, 3, 3), torch.tensor(1 / 8), wave(3, 3, 12, 12)
paths, blocks = {}, {f"stage{k}.layer[{i}]": block for k, stage in enumerate(decoder.det_stages)
                     for i, block in enumerate(stage)}
blocks.update({f"layer[{i}]": block for i, block in enumerate(decoder.diff_blocks)})
for ours, block in blocks.items():
    paths[f"{ours}.x"] = block
paths.update({"layer[0].attn": decoder.diff_blocks[0].attn, "layer[0].ffn": decoder.diff_blocks[0].mlp})
values = common.taps(paths)
with torch.no_grad():
    context = decoder.forward_stage_4(decoder.forward_stages_1_to_3(latent[None]))
    found = decoder.forward_diffusion_step(context, noisy[None], step[None])
# our rows stand one below the other, frame by frame
values = {key: value.reshape(-1, value.shape[-1]) for key, value in values.items()}
common.record("ltx2_decoder", {"latent": latent, "step": step, "noisy": noisy}, {"clean": found[0]}, values)
