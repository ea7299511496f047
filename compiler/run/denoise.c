/* The steps of a denoising: see run.h. */
#include "run.h"

#include <math.h>
#include <string.h>

#define WORD(word) #word,
const char *const denoise_way[DENOISE_WAYS] = {SCHEDULER_WORDS(WORD)};
const char *const denoise_tells[DENOISE_TELLS] = {TELLS_WORDS(WORD)};
const char *const denoise_betas[DENOISE_BETAS] = {BETAS_WORDS(WORD)};
#undef WORD

bool denoise_is_flow(DenoiseWay way)
{
        return way == DENOISE_euler || way == DENOISE_heun;
}

/* --- noise ----------------------------------------------------------------------------------------------------------- */

static double uniform(uint64_t *state)
{
        uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 (Steele, Lea and Flood, 2014) */
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        return ((double)(int64_t)(z >> 11) + 0.5) * 0x1p-53;
}

/* Two at a time (Box and Muller, 1958). */
void denoise_noise(Denoiser *d, float *x)
{
        const double turn = 6.283185307179586;
        for (int64_t i = 0; i < d->n; i += 2) {
                double r = sqrt(-2 * real_log(uniform(&d->state))), angle = turn * uniform(&d->state);
                x[i] = (float)(r * real_cos(angle));
                if (i + 1 < d->n)
                        x[i + 1] = (float)(r * real_sin(angle));
        }
}

/* --- times ------------------------------------------------------------------------------------------------------------ */

/* s from 1 down to 1 / trained, shifted, and 0 behind them. */
static void flow_times(Denoiser *d)
{
        const DenoiseOptions *o = &d->o;
        const double last = o->shift / o->trained / (1 + (o->shift - 1) / o->trained);
        for (int i = 0; i < o->steps; i++) {
                double s = o->steps == 1 ? 1 : 1 + (last - 1) * i / (o->steps - 1);
                s = o->shift * s / (1 + (o->shift - 1) * s);
                d->sigma[i] = s;
                d->step[i] = o->scale * (o->from_noise ? 1 - s : s);
        }
}

static double beta_at(const DenoiseOptions *o, int t)
{
        const double turn = 1.5707963267948966, at = o->trained > 1 ? (double)t / (o->trained - 1) : 0;
        switch (o->betas) {
        case BETAS_linear: return o->beta_first + (o->beta_last - o->beta_first) * at;
        case BETAS_scaled_linear: {
                double root = sqrt(o->beta_first) + (sqrt(o->beta_last) - sqrt(o->beta_first)) * at;
                return root * root;
        }
        default: {
                double now = real_cos(((double)t / o->trained + 0.008) / 1.008 * turn),
                       next = real_cos(((double)(t + 1) / o->trained + 0.008) / 1.008 * turn);
                double beta = 1 - next * next / (now * now);
                return beta < 0.999 ? beta : 0.999;
        }
        }
}

/* Steps of the training, evenly: for dpm_solver from the last one on, for the others down to 0. */
static int training_step(const DenoiseOptions *o, int i)
{
        const int left = o->steps - i;
        if (o->way == DENOISE_dpm_solver)
                return (int)nearbyint((double)(o->trained - 1) * left / o->steps);
        return (left - 1) * (o->trained / o->steps);
}

static void diffusion_times(Denoiser *d)
{
        const DenoiseOptions *o = &d->o;
        double part = 1;
        for (int t = 0; t < o->trained; t++) {
                part *= 1 - beta_at(o, t);
                for (int i = 0; i < o->steps; i++)
                        if (training_step(o, i) == t)
                                d->part[i] = part;
        }
        d->part[o->steps] = 1;
        for (int i = 0; i < o->steps; i++) {
                d->step[i] = training_step(o, i);
                d->sigma[i] = sqrt((1 - d->part[i]) / d->part[i]);
        }
}

const char *denoise_begin(Arena *a, const DenoiseOptions *o, int64_t n, uint64_t seed, Denoiser *d)
{
        const bool flow = denoise_is_flow(o->way);
        if (o->steps < 1 || o->steps > o->trained)
                return arena_printf(a, "%d steps; there are 1 to %d", o->steps, o->trained);
        if (o->tells == TELLS_noise && flow)
                return arena_printf(a, "%s goes by velocities, or pictures, and the model tells the noise",
                                    denoise_way[o->way]);
        if (o->tells == TELLS_velocity && !flow)
                return arena_printf(
                        a, "%s goes by noise, or pictures, and the model tells the velocity of a flow",
                        denoise_way[o->way]);
        *d = (Denoiser){.o = *o, .n = n, .state = seed};
        d->calls = o->way == DENOISE_heun ? 2 * o->steps - 1 : o->steps;
        d->sigma = NEW_ARRAY(a, double, o->steps + 1);
        d->part = NEW_ARRAY(a, double, o->steps + 1);
        d->step = NEW_ARRAY(a, double, o->steps);
        d->begun = NEW_ARRAY(a, float, n);
        d->before = NEW_ARRAY(a, double, n);
        if (flow)
                flow_times(d);
        else
                diffusion_times(d);
        return NULL;
}

/* --- steps ------------------------------------------------------------------------------------------------------------ */

double denoise_step(const Denoiser *d)
{
        return d->step[d->o.way == DENOISE_heun ? (d->call + 1) / 2 : d->call];
}

/* noise - picture, at s */
static double velocity_of(const Denoiser *d, double s, double x, double out)
{
        return d->o.tells == TELLS_picture ? (x - out) / s : out;
}

static void euler(const Denoiser *d, const float *out, float *x)
{
        const double s = d->sigma[d->call], next = d->sigma[d->call + 1];
        for (int64_t i = 0; i < d->n; i++)
                x[i] = (float)(x[i] + (next - s) * velocity_of(d, s, x[i], out[i]));
}

/* Odd calls are at the end of a step that Euler has gone; the last step is Euler's. */
static void heun(Denoiser *d, const float *out, float *x)
{
        const int step = d->call / 2;
        const double s = d->sigma[step], next = d->sigma[step + 1];
        for (int64_t i = 0; i < d->n; i++) {
                const double v = velocity_of(d, d->call % 2 ? next : s, x[i], out[i]);
                if (d->call % 2) {
                        x[i] = (float)(d->begun[i] + (next - s) * (d->before[i] + v) / 2);
                        continue;
                }
                d->begun[i] = x[i];
                d->before[i] = v;
                x[i] = (float)(x[i] + (next - s) * v);
        }
}

static double picture_of(const Denoiser *d, double part, double x, double out)
{
        const double limit = d->o.limit,
                     picture = d->o.tells == TELLS_picture ? out : (x - sqrt(1 - part) * out) / sqrt(part);
        return limit == 0 ? picture : picture < -limit ? -limit : picture > limit ? limit : picture;
}

static double noise_of(const Denoiser *d, double part, double x, double out)
{
        return d->o.tells == TELLS_picture ? (x - sqrt(part) * out) / sqrt(1 - part) : out;
}

static void ddim(const Denoiser *d, const float *out, float *x)
{
        const double part = d->part[d->call], next = d->part[d->call + 1];
        for (int64_t i = 0; i < d->n; i++)
                x[i] = (float)(sqrt(next) * picture_of(d, part, x[i], out[i]) +
                               sqrt(1 - next) * noise_of(d, part, x[i], out[i]));
}

/* The deviation of the noise that a step of ddpm adds: of the smallest variance, or between that and beta, as the model tells. */
static double deviation(const Denoiser *d, double part, double next, float told)
{
        const double beta = 1 - part / next, least = (1 - next) / (1 - part) * beta,
                     smallest = least > 1e-20 ? least : 1e-20, at = (told + 1) / 2.0;
        if (!d->o.learned)
                return sqrt(smallest);
        return real_exp((at * real_log(beta) + (1 - at) * real_log(smallest)) / 2);
}

static void ddpm(Denoiser *d, const float *out, const float *variance, float *x)
{
        const double part = d->part[d->call], next = d->part[d->call + 1], alpha = part / next;
        const bool last = d->call + 1 == d->calls;
        if (!last)
                denoise_noise(d, d->begun);
        for (int64_t i = 0; i < d->n; i++) {
                const double picture = picture_of(d, part, x[i], out[i]);
                const double mean = sqrt(next) * (1 - alpha) / (1 - part) * picture +
                                    sqrt(alpha) * (1 - next) / (1 - part) * x[i];
                const double noise =
                        last ? 0 : deviation(d, part, next, variance ? variance[i] : 0) * d->begun[i];
                x[i] = (float)(mean + noise);
        }
}

/* By the pictures of this call and of the one before; at the first and the last step by this one alone. */
static void dpm_solver(Denoiser *d, const float *out, float *x)
{
        const int at = d->call;
        const bool first = at == 0, last = at + 1 == d->calls;
        const double part = d->part[at], next = d->part[at + 1];
        const double now = real_log(sqrt(part)) - real_log(sqrt(1 - part)),
                     then = last ? 0 : real_log(sqrt(next)) - real_log(sqrt(1 - next));
        const double h = then - now, shrink = last ? 1 : -(real_exp(-h) - 1);
        const double old = first ? 0 : real_log(sqrt(d->part[at - 1])) - real_log(sqrt(1 - d->part[at - 1]));
        const double share = first || last ? 0 : h / (now - old) / 2;
        for (int64_t i = 0; i < d->n; i++) {
                const double picture = picture_of(d, part, x[i], out[i]);
                const double ahead = picture + share * (picture - d->before[i]);
                x[i] = (float)(sqrt(1 - next) / sqrt(1 - part) * x[i] + sqrt(next) * shrink * ahead);
                d->before[i] = picture;
        }
}

void denoise_take(Denoiser *d, const float *out, const float *variance, float *x)
{
        switch (d->o.way) {
        case DENOISE_euler: euler(d, out, x); break;
        case DENOISE_heun: heun(d, out, x); break;
        case DENOISE_ddpm: ddpm(d, out, variance, x); break;
        case DENOISE_ddim: ddim(d, out, x); break;
        default: dpm_solver(d, out, x); break;
        }
        d->call++;
}
