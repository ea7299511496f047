/* Denoising: from noise to a picture, or whatever a diffusion model was trained on, in a few steps, each a call or two of the model.
 *
 * Two kinds of ways.  Of flows (euler, heun) x = (1 - s) picture + s noise, and s falls from 1 to 0 (Liu et al. 2022, "Flow straight and
 * fast"; Esser et al. 2024); the model tells the velocity, noise - picture.  Of diffusion (ddpm: Ho et al. 2020; ddim: Song et al. 2021;
 * dpm_solver: DPM-Solver++(2M), Lu et al. 2022) x = sqrt(a) picture + sqrt(1 - a) noise, where a, a product of 1 - beta, rises from near 0
 * to 1; the model tells the noise.  A model of either kind may tell the picture instead.  Steps, and what is done in each, are those of
 * diffusers.  All is computed in double, and so is the same everywhere; x is kept in floats.
 */
#ifndef DENOISE_H
#define DENOISE_H
#include "base/base.h"

typedef enum {
        DENOISE_euler,
        DENOISE_heun,
        DENOISE_ddpm,
        DENOISE_ddim,
        DENOISE_dpm_solver,
        DENOISE_WAYS
} DenoiseWay;
typedef enum { TELLS_noise, TELLS_velocity, TELLS_picture, DENOISE_TELLS } DenoiseTells;
typedef enum { BETAS_linear, BETAS_scaled_linear, BETAS_cosine, DENOISE_BETAS } DenoiseBetas;
extern const char *const denoise_way[DENOISE_WAYS], *const denoise_tells[DENOISE_TELLS],
                                                            *const denoise_betas[DENOISE_BETAS];
bool denoise_is_flow(DenoiseWay way);

typedef struct {
        DenoiseWay way;
        DenoiseTells tells;
        int steps, trained; /* of this run; of the training, for diffusion (1000) */
        double shift;       /* of flows: s becomes shift s / (1 + (shift - 1) s); 1: as it is */
        double scale;       /* .. what the model's step is for s = 1 (1000) */
        bool from_noise;    /* .. the step counts from the noise on: scale (1 - s) */
        DenoiseBetas betas; /* of diffusion */
        double beta_first, beta_last;
        double clip;  /* .. pictures are kept within -clip to clip; 0: as they are */
        bool learned; /* .. ddpm: the model tells a variance too, behind the noise */
} DenoiseOptions;

typedef struct {
        DenoiseOptions o;
        int call; /* the next one, of `calls` */
        int calls;
        double *sigma; /* [steps + 1]: of flows s; of diffusion the noise's part divided by the picture's */
        double *part;  /* of diffusion [steps + 1]: a; the last is 1 */
        double *step;  /* [steps]: what the model is told */
        int64_t n;
        float *begun;   /* heun [n]: x before the step */
        double *before; /* heun: velocity at its begin; dpm_solver: the picture before; [n] */
        uint64_t state; /* of the noise */
} Denoiser;

/* NULL, or what is wrong.  x has n elements; memory is the arena's. */
const char *denoise_begin(Arena *a, const DenoiseOptions *o, int64_t n, uint64_t seed, Denoiser *d);
void denoise_noise(Denoiser *d, float *x); /* [n], mean 0, variance 1 */
double denoise_step(const Denoiser *d);    /* what the model is told at the next call */
/* What the model then tells: out [n], and a variance [n], -1 to 1, where it is learned.  x [n] goes on. */
void denoise_take(Denoiser *d, const float *out, const float *variance, float *x);
#endif
