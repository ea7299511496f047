/*
 * Denoising turns noise into a picture, or another sample, in a few steps, each with one or two calls of the model.
 *
 * Two kinds of samplers.  Flows (euler, heun): x = (1 - s) picture + s noise, and s falls from 1 to 0 (Liu et al. 2022, "Flow
 * straight and fast"; Esser et al. 2024); the model predicts the velocity, noise - picture.  Diffusion (ddpm: Ho et al. 2020; ddim:
 * Song et al. 2021; dpm_solver: DPM-Solver++(2M), Lu et al. 2022): x = sqrt(a) picture + sqrt(1 - a) noise, where a, a product of
 * 1 - beta, rises from near 0 to 1; the model predicts the noise.  A model of either kind may predict the picture instead.  Steps
 * and formulas are those of diffusers.  All values are computed in double, so that they are the same everywhere; x has floats.
 *
 * Needs real_tables.h and reals.h.
 */
#include <stdint.h>
#include <string.h>

typedef enum { DENOISE_euler, DENOISE_heun, DENOISE_ddpm, DENOISE_ddim, DENOISE_dpm_solver } DenoiseWay;

typedef enum { TELLS_noise, TELLS_velocity, TELLS_picture } DenoiseTells;

typedef enum { BETAS_linear, BETAS_scaled_linear, BETAS_cosine } DenoiseBetas;

typedef struct Denoiser Denoiser;

/* Updates x [n] from the model's prediction, out [n], and its variance [n], -1 to 1, if it is learned. */
typedef void DenoiseStep(Denoiser *d, const float *out, const float *variance, float *x);

typedef struct {
        DenoiseWay way;
        DenoiseStep *by;              /* denoise_by_* of `way` */
        void (*times)(Denoiser *d);   /* denoise_flow_times, or denoise_diffusion_times */
        DenoiseTells tells;
        int steps, trained;           /* steps of this run; steps of the training, for diffusion (1000) */
        double shift;                 /* flows: s becomes shift s / (1 + (shift - 1) s); 1: unchanged */
        double scale;                 /* flows: the model's step input for s = 1 (1000) */
        int evenly;                   /* flows: s ends at 1 / steps; 0: at 1 / trained */
        int from_noise;               /* flows: the step input counts from noise: scale (1 - s) */
        DenoiseBetas betas;           /* diffusion */
        double beta_first, beta_last;
        double limit;                 /* diffusion: pictures are clamped to -limit .. limit; 0: not clamped */
        int learned;                  /* ddpm: the model's output is the noise, then a variance */
} DenoiseOptions;

struct Denoiser {
        DenoiseOptions o;
        int call; /* index of the next call, of `calls` */
        int calls;
        double *sigma; /* [steps + 1]: s of flows; ratio of noise to picture of diffusion */
        double *picture_part; /* [steps + 1]: a of diffusion; the last is 1 */
        double *step;  /* [steps]: the model's step inputs */
        int64_t n;
        float *begun;   /* [n]: x before the step (heun); new noise (ddpm) */
        double *before; /* [n]: velocity at the begin of the step (heun); previous picture (dpm_solver) */
        uint64_t state; /* of the random number generator */
};

static inline double denoise_uniform(uint64_t *state)
{
        uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 (Steele, Lea and Flood, 2014) */
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        return ((double)(int64_t)(z >> 11) + 0.5) * 0x1p-53;
}

/* Fills x [n] with noise of mean 0 and variance 1, two values at a time (Box and Muller, 1958). */
static inline void denoise_noise(Denoiser *d, float *x)
{
        const double turn = 6.283185307179586;
        for (int64_t i = 0; i < d->n; i += 2) {
                double r = reals_sqrt(-2 * reals_log(denoise_uniform(&d->state))), angle = turn * denoise_uniform(&d->state);
                x[i] = (float)(r * reals_cos(angle));
                if (i + 1 < d->n)
                        x[i + 1] = (float)(r * reals_sin(angle));
        }
}

/* s falls from 1 to 1 / steps, or to the shifted 1 / trained; then each s is shifted.  The last one, 0, is set already. */
static inline void denoise_flow_times(Denoiser *d)
{
        const DenoiseOptions *o = &d->o;
        const double least = o->shift / o->trained / (1 + (o->shift - 1) / o->trained), last = o->evenly ? 1.0 / o->steps : least;
        for (int i = 0; i < o->steps; i++) {
                double s = o->steps == 1 ? 1 : 1 + (last - 1) * i / (o->steps - 1);
                s = o->shift * s / (1 + (o->shift - 1) * s);
                d->sigma[i] = s;
                d->step[i] = o->scale * (o->from_noise ? 1 - s : s);
        }
}

static inline double denoise_beta(const DenoiseOptions *o, int t)
{
        const double turn = 1.5707963267948966, at = o->trained > 1 ? (double)t / (o->trained - 1) : 0;
        switch (o->betas) {
        case BETAS_linear: return o->beta_first + (o->beta_last - o->beta_first) * at;
        case BETAS_scaled_linear: {
                double root = reals_sqrt(o->beta_first) + (reals_sqrt(o->beta_last) - reals_sqrt(o->beta_first)) * at;
                return root * root;
        }
        default: {
                double now = reals_cos(((double)t / o->trained + 0.008) / 1.008 * turn),
                       next = reals_cos(((double)(t + 1) / o->trained + 0.008) / 1.008 * turn);
                double grown = 1 - next * next / (now * now);
                return grown < 0.999 ? grown : 0.999;
        }
        }
}

/* Rounds to the nearest integer, ties to even; |x| < 2^51 */
static inline double denoise_nearest(double x)
{
        return x + 0x1.8p52 - 0x1.8p52;
}

/* The training step of step i, evenly spaced: dpm_solver begins at the last one, the others end at 0. */
static inline int denoise_training_step(const DenoiseOptions *o, int i)
{
        const int left = o->steps - i;
        if (o->way == DENOISE_dpm_solver)
                return (int)denoise_nearest((double)(o->trained - 1) * left / o->steps);
        return (left - 1) * (o->trained / o->steps);
}

/* Maximum steps of a run.  With one more, dpm_solver would use a training step twice, and divide by 0. */
static inline int denoise_most_steps(const DenoiseOptions *o)
{
        return o->way == DENOISE_dpm_solver && o->trained > 1 ? o->trained - 1 : o->trained;
}

static inline void denoise_diffusion_times(Denoiser *d)
{
        const DenoiseOptions *o = &d->o;
        double product = 1;
        for (int t = 0; t < o->trained; t++) {
                product *= 1 - denoise_beta(o, t);
                for (int i = 0; i < o->steps; i++)
                        if (denoise_training_step(o, i) == t)
                                d->picture_part[i] = product;
        }
        d->picture_part[o->steps] = 1;
        for (int i = 0; i < o->steps; i++) {
                d->step[i] = denoise_training_step(o, i);
                d->sigma[i] = reals_sqrt((1 - d->picture_part[i]) / d->picture_part[i]);
        }
}

/* Bytes of scratch for x [n]. */
static inline size_t denoise_room(int steps, int64_t n)
{
        return sizeof(double) * (size_t)(3 * (int64_t)steps + 2 + n) + sizeof(float) * (size_t)n;
}

/* 1 <= steps <= denoise_most_steps(); room [denoise_room(steps, n)], aligned to 8. */
static inline void denoise_start(Denoiser *d, const DenoiseOptions *o, int64_t n, uint64_t seed, void *room)
{
        *d = (Denoiser){.o = *o, .n = n, .state = seed, .calls = o->way == DENOISE_heun ? 2 * o->steps - 1 : o->steps};
        d->sigma = (double *)room;
        d->picture_part = d->sigma + o->steps + 1;
        d->step = d->picture_part + o->steps + 1;
        d->before = d->step + o->steps;
        d->begun = (float *)(void *)(d->before + n);
        for (int i = 0; i <= o->steps; i++)
                d->sigma[i] = d->picture_part[i] = 0;
        d->o.times(d);
}

/* The model's step input in the next call. */
static inline double denoise_step(const Denoiser *d)
{
        return d->step[d->o.way == DENOISE_heun ? (d->call + 1) / 2 : d->call];
}

/* noise - picture, at s */
static inline double denoise_velocity(const Denoiser *d, double s, double x, double out)
{
        return d->o.tells == TELLS_picture ? (x - out) / s : out;
}

static inline void denoise_by_euler(Denoiser *d, const float *out, const float *variance, float *x)
{
        (void)variance;
        const double s = d->sigma[d->call], next = d->sigma[d->call + 1];
        for (int64_t i = 0; i < d->n; i++)
                x[i] = (float)(x[i] + (next - s) * denoise_velocity(d, s, x[i], out[i]));
}

/* Even calls take an Euler step; odd calls correct it with the velocity at its end.  The last step is Euler's. */
static inline void denoise_by_heun(Denoiser *d, const float *out, const float *variance, float *x)
{
        (void)variance;
        const int step = d->call / 2;
        const double s = d->sigma[step], next = d->sigma[step + 1];
        for (int64_t i = 0; i < d->n; i++) {
                const double v = denoise_velocity(d, d->call % 2 ? next : s, x[i], out[i]);
                if (d->call % 2) {
                        x[i] = (float)(d->begun[i] + (next - s) * (d->before[i] + v) / 2);
                        continue;
                }
                d->begun[i] = x[i];
                d->before[i] = v;
                x[i] = (float)(x[i] + (next - s) * v);
        }
}

/* Coefficients of picture and noise in x: the square roots of a and 1 - a. */
typedef struct {
        double of_picture, of_noise;
} DenoiseMix;

static inline DenoiseMix denoise_mix(double a)
{
        return (DenoiseMix){reals_sqrt(a), reals_sqrt(1 - a)};
}

static inline double denoise_picture(const Denoiser *d, DenoiseMix now, double x, double out)
{
        const double limit = d->o.limit,
                     seen = d->o.tells == TELLS_picture ? out : (x - now.of_noise * out) / now.of_picture;
        return limit == 0 ? seen : seen < -limit ? -limit : seen > limit ? limit : seen;
}

static inline double denoise_noise_of(const Denoiser *d, DenoiseMix now, double x, double out)
{
        return d->o.tells == TELLS_picture ? (x - now.of_picture * out) / now.of_noise : out;
}

static inline void denoise_by_ddim(Denoiser *d, const float *out, const float *variance, float *x)
{
        (void)variance;
        const DenoiseMix now = denoise_mix(d->picture_part[d->call]), next = denoise_mix(d->picture_part[d->call + 1]);
        for (int64_t i = 0; i < d->n; i++)
                x[i] = (float)(next.of_picture * denoise_picture(d, now, x[i], out[i]) +
                               next.of_noise * denoise_noise_of(d, now, x[i], out[i]));
}

/* Standard deviation of ddpm's added noise for a learned variance: between the smallest one and beta, interpolated by the prediction. */
static inline double denoise_deviation(double log_beta, double log_smallest, float told)
{
        const double at = (told + 1) / 2.0;
        return reals_exp((at * log_beta + (1 - at) * log_smallest) / 2);
}

static inline void denoise_by_ddpm(Denoiser *d, const float *out, const float *variance, float *x)
{
        const double a = d->picture_part[d->call], next = d->picture_part[d->call + 1], kept_part = a / next;
        const double own_beta = 1 - kept_part, least = (1 - next) / (1 - a) * own_beta, smallest = least > 1e-20 ? least : 1e-20;
        const double log_beta = reals_log(own_beta), log_smallest = reals_log(smallest), fixed = reals_sqrt(smallest);
        const double share = reals_sqrt(next) * (1 - kept_part) / (1 - a), rest = reals_sqrt(kept_part) * (1 - next) / (1 - a);
        const DenoiseMix now = denoise_mix(a);
        const int last = d->call + 1 == d->calls;
        if (!last)
                denoise_noise(d, d->begun);
        for (int64_t i = 0; i < d->n; i++) {
                const double mean = share * denoise_picture(d, now, x[i], out[i]) + rest * x[i];
                const double deviation =
                        last ? 0 : d->o.learned && variance ? denoise_deviation(log_beta, log_smallest, variance[i]) : fixed;
                x[i] = (float)(last ? mean : mean + deviation * d->begun[i]);
        }
}

/* Extrapolates from the pictures of this call and the previous one; the first and the last step use only this one. */
static inline void denoise_by_dpm_solver(Denoiser *d, const float *out, const float *variance, float *x)
{
        (void)variance;
        const int at = d->call;
        const int begins = at == 0, last = at + 1 == d->calls;
        const DenoiseMix now = denoise_mix(d->picture_part[at]), next = denoise_mix(d->picture_part[at + 1]);
        const double here = reals_log(now.of_picture) - reals_log(now.of_noise),
                     there = last ? 0 : reals_log(next.of_picture) - reals_log(next.of_noise);
        const double h = there - here, shrink = last ? 1 : -(reals_exp(-h) - 1);
        const DenoiseMix before = denoise_mix(d->picture_part[begins ? 0 : at - 1]);
        const double old = begins ? 0 : reals_log(before.of_picture) - reals_log(before.of_noise);
        const double share = begins || last ? 0 : h / (here - old) / 2;
        const double kept = next.of_noise / now.of_noise, grown = next.of_picture * shrink;
        for (int64_t i = 0; i < d->n; i++) {
                const double seen = denoise_picture(d, now, x[i], out[i]);
                const double ahead = seen + share * (seen - d->before[i]);
                x[i] = (float)(kept * x[i] + grown * ahead);
                d->before[i] = seen;
        }
}

/* Classifier-free guidance (Ho and Salimans 2022): multiplies the effect of the condition by `guidance`, in the first `guided` of n
 * values.  told: the prediction with the condition; without: the one without it, which is replaced by the result. */
static inline void denoise_guide(const float *told, float *without, int64_t n, int64_t guided, double guidance)
{
        for (int64_t i = 0; i < n; i++)
                without[i] = i < guided ? (float)(without[i] + guidance * ((double)told[i] - without[i])) : told[i];
}

static inline void denoise_take(Denoiser *d, const float *out, const float *variance, float *x)
{
        d->o.by(d, out, variance, x);
        d->call++;
}

/* The model's callbacks. */
typedef struct {
        void *model;
        /* Runs the model on x at the next step; without: without the condition.  *told: its output, until the next run.  Returns 0, or an error. */
        int (*ask_denoiser)(void *model, const Denoiser *d, const float *x, int without, const float **told);
        double guidance; /* 1: none */
        int64_t guided;  /* number of values that guidance is for */
        float *unguided; /* [n]: scratch for guidance */
} DenoiserCalls;

/* The next call; with guidance the model is run twice.  Returns 0, or an error of the model. */
static inline int denoise_call_next(Denoiser *d, const DenoiserCalls *c, float *x)
{
        const float *told = NULL;
        const int guided = c->guidance != 1;
        int error = guided ? c->ask_denoiser(c->model, d, x, 1, &told) : 0;
        if (!error && guided)
                memcpy(c->unguided, told, (size_t)d->n * sizeof *told);
        error = error ? error : c->ask_denoiser(c->model, d, x, 0, &told);
        if (error)
                return error;
        if (guided)
                denoise_guide(told, c->unguided, d->n, c->guided, c->guidance);
        denoise_take(d, guided ? c->unguided : told, d->o.learned ? told + d->n : NULL, x);
        return 0;
}
