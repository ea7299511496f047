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


def run(scheduler, steps, learned=False, shift=None, told=lambda t: t, picture_of=None, limit=None):
    """told: of the scheduler's step, the one that the model is told.  picture_of: steps of the training; what the model tells of a flow is a
    picture then.  limit: of what a step of dpm_solver takes for the picture."""
    if shift:  # as FluxPipeline does
        scheduler.set_timesteps(sigmas=[1 - i / steps for i in range(steps)], mu=math.log(shift))
    else:
        scheduler.set_timesteps(steps)
    x = (torch.arange(N, dtype=torch.float64) - 3.5) * 0.3
    source = noises(7)
    import diffusers.schedulers.scheduling_ddpm as ddpm
    ddpm.randn_tensor = lambda shape, **more: torch.tensor([next(source) for _ in range(N)], dtype=torch.float64).reshape(shape)
    if limit:
        convert = scheduler.convert_model_output
        scheduler.convert_model_output = lambda *words, **more: convert(*words, **more).clamp(-limit, limit)
    for t in scheduler.timesteps:
        out = model(x, told(float(t)))[None, None]
        if picture_of:  # the velocity to it
            out = (x[None, None] - out) / (float(t) / picture_of)
        if learned:
            out = torch.cat([out, torch.tanh(x)[None, None]], dim=1)
        x = scheduler.step(out, t, x[None, None]).prev_sample[0, 0].double()
    return " ".join(f"{v:.9g}" for v in x.tolist())


def each_setting():
    """Every setting at two values or more, and at its bounds."""
    flow, heun, ddim, ddpm, solver = (diffusers.FlowMatchEulerDiscreteScheduler, diffusers.FlowMatchHeunDiscreteScheduler, diffusers.DDIMScheduler,
                                      diffusers.DDPMScheduler, diffusers.DPMSolverMultistepScheduler)
    lines = []

    def line(settings, scheduler, steps, **how):
        lines.append(f"scheduler {settings}  steps {steps} = " + run(scheduler, steps, **how))

    for name, kind in (("euler", flow), ("heun", heun)):
        way = f'"{name}"  tells "velocity"'
        line(f'{way}  shift 0.5', kind(shift=0.5), 3)
        line(f'{way}  scale 1', kind(), 3, told=lambda t: t / 1000)
        line(f'{way}  scale 700  step_from "noise"', kind(), 3, told=lambda t: 0.7 * (1000 - t))
        line(f'{way}  trained 50  scale 50', kind(num_train_timesteps=50, shift=2.0), 3)
        lines[-1] = lines[-1].replace("trained 50", "trained 50  shift 2")
        line(f'{way}  trained 4', kind(num_train_timesteps=4), 4, told=lambda t: t * 250)
        line(f'"{name}"  tells "picture"', kind(), 3, picture_of=1000)
    betas = (("linear", dict(beta_start=0.0001, beta_end=0.02)), ("linear", dict(beta_start=0.002, beta_end=0.05)),
             ("scaled_linear", dict(beta_start=0.00085, beta_end=0.012)), ("scaled_linear", dict(beta_start=0.002, beta_end=0.03)), ("cosine", {}))
    for name, kind in (("ddim", ddim), ("ddpm", ddpm), ("dpm_solver", solver)):
        clips = {} if kind is solver else dict(clip_sample=False)
        for schedule, ends in betas:
            words = f'betas "{schedule}"' + (f'  beta_first {ends["beta_start"]}  beta_last {ends["beta_end"]}' if ends else "")
            kinds = dict(ends, beta_schedule="squaredcos_cap_v2" if schedule == "cosine" else schedule)
            for trained, steps in ((1000, 1), (1000, 7), (50, 8), (20, 19 if kind is solver else 20)):
                line(f'"{name}"  tells "noise"  {words}  trained {trained}', kind(num_train_timesteps=trained, **kinds, **clips), steps)
            line(f'"{name}"  tells "picture"  {words}  trained 100', kind(num_train_timesteps=100, prediction_type="sample", **kinds, **clips), 6)
        for limit in (0.25, 1, 3):
            bounded = {} if kind is solver else dict(clip_sample=True, clip_sample_range=limit)
            line(f'"{name}"  tells "noise"  betas "cosine"  limit {limit}', kind(beta_schedule="squaredcos_cap_v2", **bounded), 5,
                 limit=limit if kind is solver else None)
    for trained, steps in ((1000, 6), (30, 30)):
        line(f'"ddpm"  tells "noise"  betas "cosine"  trained {trained}  variance "learned"',
             ddpm(num_train_timesteps=trained, beta_schedule="squaredcos_cap_v2", clip_sample=False, variance_type="learned_range"), steps, learned=True)
    return lines


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
    lines += each_setting()
    path = pathlib.Path(__file__).parent.parent / "loops" / "schedulers.recorded"
    path.write_text("".join(f"{l}\n" for l in lines))
    print(f"{len(lines)} lines")


main()
