/* Maps the words of `loop denoise` to the schedules of runtime/denoise.h: see run.h. */
#include "run.h"

#include <string.h>

#define WAY(word) [DENOISE_##word] = #word,
#define TOLD(word) [TELLS_##word] = #word,
#define BETA(word) [BETAS_##word] = #word,
#define BY(word) [DENOISE_##word] = denoise_by_##word,
static const char *const way_word[] = {SCHEDULER_WORDS(WAY)};
static const char *const tells_word[] = {TELLS_WORDS(TOLD)};
static const char *const betas_word[] = {BETAS_WORDS(BETA)};
static DenoiseStep *const step_by[] = {SCHEDULER_WORDS(BY)};
#undef WAY
#undef TOLD
#undef BETA
#undef BY
enum { WAYS = sizeof way_word / sizeof *way_word };

static bool is_flow(DenoiseWay way)
{
        return way == DENOISE_euler || way == DENOISE_heun;
}

static double loop_setting_number(const Loop *l, const char *name, double otherwise)
{
        const Setting *s = loop_setting(l, name);
        return s ? s->number : otherwise;
}

static int word_of(const Loop *l, const char *name, const char *const *words, size_t n, int otherwise)
{
        const char *text = loop_text_setting(l, name);
        for (size_t i = 0; text && i < n; i++)
                if (!strcmp(words[i], text))
                        return (int)i;
        return otherwise;
}

DenoiseOptions denoise_options(const Loop *l)
{
        const char *counts = loop_text_setting(l, "step_from"), *variance = loop_text_setting(l, "variance"),
                   *spacing = loop_text_setting(l, "spacing");
        const DenoiseWay way = (DenoiseWay)word_of(l, "scheduler", way_word, WAYS, DENOISE_ddim);
        return (DenoiseOptions){
                .way = way,
                .by = step_by[way],
                .times = is_flow(way) ? denoise_flow_times : denoise_diffusion_times,
                .tells = (DenoiseTells)word_of(l, "tells", tells_word, sizeof tells_word / sizeof *tells_word,
                                               is_flow(way) ? TELLS_velocity : TELLS_noise),
                .steps = (int)loop_setting_number(l, "steps", 20),
                .trained = (int)loop_setting_number(l, "trained", 1000),
                .shift = loop_setting_number(l, "shift", 1),
                .scale = loop_setting_number(l, "scale", 1000),
                .evenly = spacing && !strcmp(spacing, "even"),
                .from_noise = counts && !strcmp(counts, "noise"),
                .betas = (DenoiseBetas)word_of(l, "betas", betas_word, sizeof betas_word / sizeof *betas_word,
                                               BETAS_linear),
                .beta_first = loop_setting_number(l, "beta_first", 0.0001),
                .beta_last = loop_setting_number(l, "beta_last", 0.02),
                .limit = loop_setting_number(l, "limit", 0),
                .learned = variance && !strcmp(variance, "learned")};
}

const char *denoise_options_text(Arena *a, const DenoiseOptions *o)
{
        return arena_printf(
                a,
                ".way = DENOISE_%s, .by = denoise_by_%s, .times = denoise_%s_times, .tells = TELLS_%s,\n"
                "        .steps = %d, .trained = %d, .shift = %.17g, .scale = %.17g, .evenly = %d, "
                ".from_noise = %d, "
                ".betas = "
                "BETAS_%s,\n        .beta_first = %.17g, .beta_last = %.17g, .limit = %.17g, .learned = %d",
                way_word[o->way], way_word[o->way], is_flow(o->way) ? "flow" : "diffusion",
                tells_word[o->tells], o->steps, o->trained, o->shift, o->scale, o->evenly, o->from_noise,
                betas_word[o->betas], o->beta_first, o->beta_last, o->limit, o->learned);
}

const char *denoise_begin(Arena *a, const DenoiseOptions *o, int64_t n, uint64_t seed, Denoiser *d)
{
        const bool flow = is_flow(o->way);
        const int most = denoise_most_steps(o);
        if (o->steps < 1 || o->steps > most)
                return arena_printf(a, "%d steps; expected 1 to %d", o->steps, most);
        if (o->tells == TELLS_noise && flow)
                return arena_printf(
                        a,
                        "%s needs predictions of velocities, or pictures, but the model predicts the noise",
                        way_word[o->way]);
        if (o->tells == TELLS_velocity && !flow)
                return arena_printf(a,
                                    "%s needs predictions of noise, or pictures, but the model predicts the "
                                    "velocity of a flow",
                                    way_word[o->way]);
        denoise_start(d, o, n, seed,
                      NEW_ARRAY(a, double, (int64_t)(denoise_room(o->steps, n) / sizeof(double)) + 1));
        return NULL;
}
