/* :trace: the steps of the model's `loop denoise`, as a table or as a strip of pictures. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repl_plot_private.h"

enum { USUAL_PICTURES = 8, MAX_PICTURES = 64 };

/* x after a step; step 0: the noise. */
typedef struct {
        int step;
        double noise; /* amount of noise in x: factor of a noise of variance 1 */
        float *x;     /* [n] */
} Moment;

typedef struct {
        Arena arena;
        ReplSession *s;
        const Loop *loop;
        LoopParts parts;
        Denoiser d;
        Trace t, without; /* without: the condition that guidance moves away from */
        int64_t dim[MAX_RANK], n;
        int64_t seed;
        DenoiserCalls calls;
        int32_t wanted, none; /* the class; the value for no class */
        float *x;             /* [n] */
        Moment *moment;       /* [moments] */
        int moments, wanted_moments;
} ReplDenoising;

/* --- the model ---------------------------------------------------------------------------------------------------------- */

static void *input_data(const ReplDenoising *w, const Trace *t, const Input *in)
{
        return t->input[in - w->s->runner->model.graph->input];
}

static double number_of_loop(const ReplDenoising *w, const char *name, double otherwise)
{
        const Setting *s = loop_setting(w->loop, name);
        return s ? s->number : otherwise;
}

/* Callback of DenoiserCalls: not 0 after a message. */
static int repl_ask_denoiser(void *of, const Denoiser *d, const float *x, int without, const float **told)
{
        ReplDenoising *w = of;
        Trace *t = without ? &w->without : &w->t;
        const LoopParts *p = &w->parts;
        memcpy(input_data(w, t, p->input), x, (size_t)w->n * sizeof *x);
        *(float *)input_data(w, t, p->step) = (float)denoise_step(d);
        if (p->class)
                *(int32_t *)input_data(w, t, p->class) = without ? w->none : w->wanted;
        const bool good = trace_run(w->s, t);
        *told = good ? t->output[p->output] : NULL;
        return !good;
}

/* --- moments ------------------------------------------------------------------------------------------------------------ */

/* Whether a step is shown: they are evenly spaced, and include the first and the last. */
static bool is_shown(const ReplDenoising *w, int step)
{
        const int steps = w->d.o.steps, most = w->wanted_moments - 1;
        for (int k = 0; k <= most; k++)
                if (step == (most ? (int)((int64_t)k * steps * 2 + most) / (2 * most) : steps))
                        return true;
        return false;
}

static bool keep_moment(ReplDenoising *w, int step)
{
        const Denoiser *d = &w->d;
        Moment *m = &w->moment[w->moments];
        if (!is_shown(w, step))
                return true;
        *m = (Moment){step,
                      d->o.way == DENOISE_euler || d->o.way == DENOISE_heun ? d->sigma[step]
                                                                            : sqrt(1 - d->picture_part[step]),
                      malloc((size_t)w->n * sizeof *m->x)};
        if (!m->x)
                return repl_error("%s", no_memory);
        memcpy(m->x, w->x, (size_t)w->n * sizeof *m->x);
        w->moments++;
        return true;
}

/* heun has two calls per step, except for the last. */
static bool run_steps(ReplDenoising *w)
{
        Denoiser *d = &w->d;
        bool good = keep_moment(w, 0);
        while (good && d->call < d->calls) {
                good = !denoise_call_next(d, &w->calls, w->x);
                progress("denoising", PROGRESS_STEPS, d->call, d->calls);
                const bool ends = d->o.way != DENOISE_heun || d->call % 2 == 0 || d->call == d->calls;
                if (good && ends)
                        good = keep_moment(w, d->o.way == DENOISE_heun ? (d->call + 1) / 2 : d->call);
        }
        for (int64_t i = 0; good && i < w->n; i++)
                good = isfinite(w->x[i]) || repl_error("the result has a NaN or an infinity");
        return good;
}

/* --- a table ------------------------------------------------------------------------------------------------------------- */

static void print_moments(const ReplDenoising *w)
{
        printf("%4s  %6s  %9s  %9s  %9s  %9s\n", "step", "noise", "least", "largest", "mean", "deviation");
        for (int k = 0; k < w->moments; k++) {
                const Moment *m = &w->moment[k];
                double least = INFINITY, most = -INFINITY, sum = 0, squares = 0;
                for (int64_t i = 0; i < w->n; i++) {
                        least = fmin(least, m->x[i]);
                        most = fmax(most, m->x[i]);
                        sum += m->x[i];
                }
                const double mean = sum / (double)w->n;
                for (int64_t i = 0; i < w->n; i++)
                        squares += (m->x[i] - mean) * (m->x[i] - mean);
                printf("%4d  %6.4f  %9.4f  %9.4f  %9.4f  %9.4f\n", m->step, m->noise, least, most, mean,
                       sqrt(squares / (double)w->n));
        }
}

/* --- a strip of pictures ----------------------------------------------------------------------------------------------------- */

enum { MARGIN = 16, GAP = 10, PANEL = 128, TITLE = 34, CAPTION = 2 * LETTER_HEIGHT * FRAME_LETTERS + 16 };

/* Maps -1 .. 1 to 0 .. 255: grey or colour.  Of a latent with other channels the first three are shown,
 * from the smallest to the largest value at the end. */
typedef struct {
        int64_t shown; /* number of channels: 1 or 3 */
        double least, most;
} ShadeRange;

static ShadeRange range_of_pictures(const ReplDenoising *w)
{
        const int64_t channels = w->dim[0];
        ShadeRange r = {channels >= 3 ? 3 : 1, -1, 1};
        if (channels == 1 || channels == 3)
                return r;
        r.least = INFINITY;
        r.most = -INFINITY;
        for (int64_t i = 0; i < r.shown * w->dim[1] * w->dim[2]; i++) {
                r.least = fmin(r.least, w->x[i]);
                r.most = fmax(r.most, w->x[i]);
        }
        r.most = r.most > r.least ? r.most : r.least + 1;
        return r;
}

static void paint_moment(const ReplDenoising *w, const ShadeRange *r, const Moment *m, Picture *p, int left,
                         int zoom)
{
        const int64_t height = w->dim[1], width = w->dim[2], plane = height * width;
        const int top = MARGIN + TITLE;
        for (int64_t i = 0; i < plane; i++) {
                uint8_t rgb[3];
                for (int64_t c = 0; c < 3; c++) {
                        const double at = (m->x[(r->shown == 3 ? c : 0) * plane + i] - r->least) /
                                          (r->most - r->least) * 255;
                        rgb[c] = at >= 255 ? 255 : at > 0 ? (uint8_t)floor(at + 0.5) : 0;
                }
                picture_fill(p, left + (int)(i % width) * zoom, top + (int)(i / width) * zoom, zoom, zoom,
                             rgb);
        }
        frame_box(p, left - 1, top - 1, (int)width * zoom + 1, (int)height * zoom + 1);
        char text[2][32];
        snprintf(text[0], sizeof text[0], "step %d", m->step);
        snprintf(text[1], sizeof text[1], "noise %.2f", m->noise);
        for (int k = 0; k < 2; k++)
                picture_text(
                        p,
                        left + ((int)width * zoom - FRAME_LETTERS * LETTER_WIDTH * (int)strlen(text[k])) / 2,
                        top + (int)height * zoom + 8 + k * FRAME_LETTERS * (LETTER_HEIGHT + 1), text[k],
                        false);
}

static bool paint_strip(const ReplDenoising *w, const char *path)
{
        const int64_t height = w->dim[1], width = w->dim[2];
        const int zoom = width >= PANEL ? 1 : (int)((PANEL + width - 1) / width);
        const int64_t each = width * zoom + GAP;
        const ShadeRange r = range_of_pictures(w);
        const char *way = loop_text_setting(w->loop, "scheduler");
        Picture p;
        char title[120];
        if (!picture_new(&p, (int64_t)2 * MARGIN + w->moments * each - GAP,
                         2 * MARGIN + TITLE + height * zoom + CAPTION, path))
                return repl_error("the strip is too large: reduce the number of pictures");
        p.scale = FRAME_LETTERS;
        snprintf(title, sizeof title, "%.60s, %s, %d steps, seed %" PRId64, w->s->model, way ? way : "ddim",
                 w->d.o.steps, w->seed);
        picture_text(&p, MARGIN, MARGIN, title, false);
        for (int k = 0; k < w->moments; k++)
                paint_moment(w, &r, &w->moment[k], &p, MARGIN + (int)(k * each), zoom);
        const bool good = picture_write(&p, path);
        picture_free(&p);
        return good;
}

/* --- the command ------------------------------------------------------------------------------------------------------------- */

/* The model's last loop denoise; false after a message. */
static bool denoising_loop(ReplDenoising *w)
{
        const Graph *g = w->s->runner->model.graph;
        for (int i = 0; i < g->nloop; i++)
                if (loop_number(g->loop[i].name) == LOOP_denoise)
                        w->loop = &g->loop[i];
        if (!w->loop)
                return repl_error("%s has no loop denoise", w->s->model);
        const char *why = loop_fault(g, w->loop, &w->parts);
        if (!why)
                return true;
        return repl_error("loop denoise requires %s", why);
}

/* Checks that all inputs except those of the loop are given. */
static bool denoising_check_inputs(const ReplDenoising *w)
{
        const Graph *g = w->s->runner->model.graph;
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                const bool given = is_input_given(w->s, in);
                if (in == w->parts.step && given)
                        return repl_error("%s is set by loop denoise: :input %s = none removes it",
                                          input_name(in), input_name(in));
                if (in == w->parts.step || in == w->parts.input || given)
                        continue;
                return repl_error("the input %s is missing: :input %s = VALUE", input_name(in),
                                  input_name(in));
        }
        return true;
}

static bool begin_denoising(ReplDenoising *w, const CommandOptions *o)
{
        Arena *a = &w->arena;
        const Type *t = &w->parts.input->type;
        DenoiseOptions how = denoise_options(w->loop);
        if (o->given[OPT_N])
                how.steps = o->steps < INT32_MAX ? (int)o->steps : INT32_MAX;
        for (int i = 0; i < t->rank; i++)
                w->dim[i] = dim_value(t->dim[i], NULL);
        w->n = type_count(t, NULL);
        const double guidance = o->given[OPT_GUIDANCE] ? o->guidance : number_of_loop(w, "guidance", 1);
        if (guidance != 1 && (!loop_setting(w->loop, "no_class") || !w->parts.class) && !o->without.n)
                return repl_error("guidance requires an input of the class, and in loop denoise `no_class`, "
                                  "the number of the empty class; or --without NAME=VALUE, the neutral value "
                                  "of an input; --guidance 1 turns guidance off");
        if (is_without(o, w->parts.input) || is_without(o, w->parts.step))
                return repl_error("--without: latent and step are set by loop denoise");
        if (guidance == 1 && o->without.n)
                return repl_error("--without has no effect without --guidance");
        if (o->out && t->rank != 3)
                return repl_error("a strip requires pictures, [channels, height, width], and the latent is "
                                  "not one; without -o a table is printed");
        w->x = NEW_ARRAY(a, float, w->n);
        w->calls = (DenoiserCalls){w, repl_ask_denoiser, guidance, guided_values(w->loop, t),
                                   NEW_ARRAY(a, float, w->n)};
        w->moment = NEW_ARRAY(a, Moment, w->wanted_moments);
        const char *why = denoise_begin(a, &how, w->n, o->sampler.state, &w->d);
        if (why)
                return repl_error("%s", why);
        if (w->wanted_moments > how.steps + 1)
                w->wanted_moments = how.steps + 1;
        return true;
}

/* The class without guidance: that of --without; no_class; else the same class. */
static void take_classes(ReplDenoising *w, const CommandOptions *o)
{
        if (!w->parts.class)
                return;
        w->wanted = *(int32_t *)input_data(w, &w->t, w->parts.class);
        w->none = *(int32_t *)input_data(w, &w->without, w->parts.class);
        if (!is_without(o, w->parts.class))
                w->none = (int32_t)number_of_loop(w, "no_class", w->none);
}

static bool trace_denoising(ReplDenoising *w, const CommandOptions *o)
{
        if (!runner_fit(w->s, AS_IT_IS) || !denoising_loop(w) || !denoising_check_inputs(w) ||
            !trace_inputs(w->s, &w->t) || !begin_denoising(w, o) ||
            !trace_inputs_without(w->s, o->without.at, o->without.n, &w->without))
                return false;
        if (is_input_given(w->s, w->parts.input))
                memcpy(w->x, input_data(w, &w->t, w->parts.input), (size_t)w->n * sizeof *w->x);
        else
                denoise_noise(&w->d, w->x);
        take_classes(w, o);
        if (!run_steps(w))
                return false;
        if (!o->out)
                print_moments(w);
        return !o->out || paint_strip(w, o->out);
}

/* [PICTURES] [-n STEPS] [--seed S] [--guidance G [--without NAME=VALUE]...] [-o FILE.png] */
bool show_denoising(ReplSession *s, const Words *w)
{
        CommandOptions o;
        if (!options_read(&o, "run", ":trace", w->n - 1, w->word + 1))
                return false;
        char *end = "";
        const int64_t pictures = o.nfile ? strtoll(o.file[0], &end, 10)
                                 : o.out ? USUAL_PICTURES
                                         : MAX_PICTURES;
        if (o.nfile > 1 || *end || pictures < 1 || pictures > MAX_PICTURES)
                return repl_error("the number of pictures is 1 to 64");
        if (o.out && !is_drawing_name(o.out))
                return repl_error("-o must name a file that ends in .png, .svg or .pdf");
        ReplDenoising all = {.s = s, .wanted_moments = (int)pictures, .seed = (int64_t)o.sampler.state};
        const bool good = trace_denoising(&all, &o);
        for (int k = 0; k < all.moments; k++)
                free(all.moment[k].x);
        trace_free(s, &all.t);
        trace_free(s, &all.without);
        arena_free(&all.arena);
        return good;
}
