"""Writes tests/loops/schedulers.recorded: what the schedulers of diffusers make of a latent.
V/bin/python tests/oracle/schedulers.py, V as in families/common.py and diffusers 0.42.1.  tests/loops/denoise.py compares.

The "model" is a formula, which tests/loops/denoise.py states in lathe's language:

    out = 0.25 latent + 0.0003 step sin(latent) + 0.1 i / 7        i: the number of the element, of 8
    variance = tanh(latent)                                        for ddpm with a learned variance

A line: a name, the settings of `loop denoise`, `=`, the latent after the last step.  The first latent is 0.3 (i - 3.5).  ddpm adds the noise of
denoise_noise() with seed 7, which is made here as well.
"""

import math
import pathlib

import torch
import diffusers

MASK = (1 << 64) - 1
N = 8


def noises(seed):
    state = seed
    while True:
        pair = []
        for _ in range(2):
            state = state + 0x9e3779b97f4a7c15 & MASK
            z = state
            z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & MASK
            z = (z ^ z >> 27) * 0x94d049bb133111eb & MASK
            z ^= z >> 31
            pair.append(((z >> 11) + 0.5) * 2.0 ** -53)
        r, angle = math.sqrt(-2 * math.log(pair[0])), 2 * math.pi * pair[1]
        yield r * math.cos(angle)
        yield r * math.sin(angle)


def model(x, step):
    return 0.25 * x + 0.0003 * step * torch.sin(x) + 0.1 * torch.arange(N, dtype=x.dtype) / 7


def run(scheduler, steps, learned=False, shift=None):
    if shift:  # as FluxPipeline does
        scheduler.set_timesteps(sigmas=[1 - i / steps for i in range(steps)], mu=math.log(shift))
    else:
        scheduler.set_timesteps(steps)
    x = (torch.arange(N, dtype=torch.float64) - 3.5) * 0.3
    source = noises(7)
    import diffusers.schedulers.scheduling_ddpm as ddpm
    ddpm.randn_tensor = lambda shape, **more: torch.tensor([next(source) for _ in range(N)], dtype=torch.float64).reshape(shape)
    for t in scheduler.timesteps:
        out = model(x, float(t))[None, None]
        if learned:
            out = torch.cat([out, torch.tanh(x)[None, None]], dim=1)
        x = scheduler.step(out, t, x[None, None]).prev_sample[0, 0].double()
    return " ".join(f"{v:.9g}" for v in x.tolist())


def main():
    flow, heun = diffusers.FlowMatchEulerDiscreteScheduler, diffusers.FlowMatchHeunDiscreteScheduler
    linear = dict(num_train_timesteps=1000, beta_start=0.0001, beta_end=0.02, beta_schedule="linear")
    scaled = dict(num_train_timesteps=1000, beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear")
    cosine = dict(num_train_timesteps=1000, beta_schedule="squaredcos_cap_v2")
    betas = 'betas "linear"  beta_first 0.0001  beta_last 0.02'
    lines = []
    for steps in (1, 4, 11):
        lines.append(f'scheduler "euler"  tells "velocity"  steps {steps} = ' + run(flow(), steps))
        lines.append(f'scheduler "euler"  tells "velocity"  shift 3  steps {steps} = ' + run(flow(shift=3.0), steps))
        dynamic = flow(use_dynamic_shifting=True, time_shift_type="exponential")
        lines.append(f'scheduler "euler"  tells "velocity"  spacing "even"  shift 3.1581929  steps {steps} = ' + run(dynamic, steps, shift=3.1581929))
        lines.append(f'scheduler "heun"  tells "velocity"  shift 3  steps {steps} = ' + run(heun(shift=3.0), steps))
        lines.append(f'scheduler "ddim"  tells "noise"  {betas}  steps {steps} = ' + run(diffusers.DDIMScheduler(**linear, clip_sample=False), steps))
        lines.append(f'scheduler "ddim"  tells "noise"  betas "cosine"  limit 1  steps {steps} = ' + run(diffusers.DDIMScheduler(**cosine, clip_sample=True), steps))
        lines.append(f'scheduler "ddim"  tells "picture"  {betas}  steps {steps} = ' +
                     run(diffusers.DDIMScheduler(**linear, clip_sample=False, prediction_type="sample"), steps))
        lines.append(f'scheduler "ddpm"  tells "noise"  {betas}  steps {steps} = ' + run(diffusers.DDPMScheduler(**linear, clip_sample=False), steps))
        lines.append(f'scheduler "ddpm"  tells "noise"  {betas}  variance "learned"  steps {steps} = ' +
                     run(diffusers.DDPMScheduler(**linear, clip_sample=False, variance_type="learned_range"), steps, learned=True))
        lines.append(f'scheduler "dpm_solver"  tells "noise"  betas "scaled_linear"  beta_first 0.00085  beta_last 0.012  steps {steps} = ' +
                     run(diffusers.DPMSolverMultistepScheduler(**scaled), steps))
    lines.append(f'scheduler "dpm_solver"  tells "noise"  {betas}  steps 20 = ' + run(diffusers.DPMSolverMultistepScheduler(**linear), 20))
    path = pathlib.Path(__file__).parent.parent / "loops" / "schedulers.recorded"
    path.write_text("".join(f"{l}\n" for l in lines))
    print(f"{len(lines)} lines")


main()
