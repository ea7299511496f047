/* lathe run, loop denoise: from noise to a picture, or to a latent for another model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"
#include "media/media.h"

typedef struct {
        LoopRun *r;
        Denoiser d;
        int64_t dim[MAX_RANK], n;
        float *x; /* [n] */
        DenoiserCalls calls;
        Given without;       /* inputs for guidance, by --without */
        double wanted, none; /* the class, and the value for no class */
} Denoise;

/* --- inputs ------------------------------------------------------------------------------------------------------------ */

static Record *record_of(const Denoise *w, const Input *in)
{
        const Graph *g = w->r->e.m->graph;
        for (int i = 0; in && i < g->ninput; i++)
                if (&g->input[i] == in)
                        return &w->r->e.given.values.record[i];
        return NULL;
}

static const char by_loop[] = "by the loop";

/* Values for an input that is not given. */
static bool denoise_give(const Denoise *w, const Input *in, int64_t n)
{
        static const CkTensor ours = {.name = by_loop};
        Record *r = record_of(w, in);
        r->value = malloc((size_t)n * sizeof *r->value);
        r->count = n;
        r->given = &ours;
        return r->value != NULL;
}

static void denoise_set(const Denoise *w, const Input *in, const float *x, double all)
{
        Record *r = record_of(w, in);
        for (int64_t i = 0; i < r->count; i++)
                r->value[i] = x ? (double)x[i] : all;
}

/* All inputs, including those from the loop.  Returns an exit code. */
static int denoise_given(Denoise *w, const CommandOptions *o)
{
        LoopRun *r = w->r;
        const Graph *g = r->e.m->graph;
        r->e.given = (Given){.o = o, .command = "run", .m = r->e.m, .tokenizer = &r->e.tokenizer};
        int code = loop_fill_inputs(r) ? given_gather(&r->e.given, SOME_INPUTS) : loop_wrong(no_memory);
        if (code)
                return code;
        if (record_of(w, r->parts.step)->given)
                return loop_wrong(
                        arena_printf(g->arena, "%s is set by loop denoise", input_name(r->parts.step)));
        for (int i = 0; i < g->ninput; i++) {
                const Input *in = &g->input[i];
                const bool latent = in == r->parts.input, ours = latent || in == r->parts.step;
                const bool given = r->e.given.values.record[i].given != NULL;
                if (!given && !ours)
                        return loop_wrong(arena_printf(
                                g->arena,
                                "the input %s is missing; -I NAME=VALUE and --inputs FILE give inputs",
                                input_name(in)));
                if (given ? !recorded_fill(&r->e.given.values, i) : !denoise_give(w, in, latent ? w->n : 1))
                        return loop_wrong(no_memory);
        }
        return DONE;
}

/* The options with the inputs of --without in place of those of -I. */
static CommandOptions options_without(const CommandOptions *o)
{
        CommandOptions own = *o;
        own.input.n = 0;
        for (int i = 0; i < o->without.n; i++)
                own.input.at[own.input.n++] = o->without.at[i];
        for (int i = 0; i < o->input.n && own.input.n < MAX_LIST; i++) {
                const size_t name = strcspn(o->input.at[i], "=") + 1;
                bool replaced = false;
                for (int k = 0; k < o->without.n; k++)
                        replaced |= !strncmp(o->input.at[i], o->without.at[k], name);
                if (!replaced)
                        own.input.at[own.input.n++] = o->input.at[i];
        }
        return own;
}

/* The first latent is given by -I or --inputs, or is noise.  Returns an exit code. */
static int gather_all(Denoise *w, const CommandOptions *without)
{
        LoopRun *r = w->r;
        int code = DONE;
        if (r->e.o->without.n) {
                code = denoise_given(w, without);
                if (code == DONE && r->parts.class &&
                    (!loop_setting(r->loop, "no_class") || is_without(r->e.o, r->parts.class)))
                        w->none = record_of(w, r->parts.class)->value[0];
                if (code == DONE)
                        w->without = r->e.given;
        }
        code = code ? code : denoise_given(w, r->e.o);
        if (code)
                return code;
        const Record *latent = record_of(w, r->parts.input);
        if (latent->given->name == by_loop)
                denoise_noise(&w->d, w->x);
        else
                for (int64_t k = 0; k < w->n; k++)
                        w->x[k] = (float)latent->value[k];
        w->wanted = r->parts.class ? record_of(w, r->parts.class)->value[0] : 0;
        return evaluation_engine(&r->e);
}

/* --- a call of the model ------------------------------------------------------------------------------------------------ */

static int run_denoiser(Denoise *w, const float *x, double class)
{
        const LoopParts *parts = &w->r->parts;
        denoise_set(w, parts->input, x, 0);
        denoise_set(w, parts->step, NULL, denoise_step(&w->d));
        if (parts->class)
                denoise_set(w, parts->class, NULL, class);
        return evaluation_run(&w->r->e);
}

/* Runs the model on the inputs of --without, without a class. */
static int run_without(Denoise *w, const float *x)
{
        const Given wanted = w->r->e.given;
        if (!w->r->e.o->without.n)
                return run_denoiser(w, x, w->none);
        w->r->e.given = w->without;
        const int code = run_denoiser(w, x, w->none);
        w->without = w->r->e.given;
        w->r->e.given = wanted;
        return code;
}

/* Callback of DenoiserCalls; returns an exit code. */
static int denoise_ask_model(void *of, const Denoiser *d, const float *x, int without, const float **told)
{
        Denoise *w = of;
        (void)d;
        const int code = without ? run_without(w, x) : run_denoiser(w, x, w->wanted);
        int64_t n;
        *told = code ? NULL : loop_output(w->r, &n);
        return code;
}

/* --- output ----------------------------------------------------------------------------------------------------------- */

/* Maps -1 .. 1 to 0 .. 255, grey or colour. */
static int denoise_write_picture(const Denoise *w, const char *path)
{
        const int64_t channels = w->dim[0], height = w->dim[1], width = w->dim[2], plane = height * width;
        uint8_t *pixel = malloc((size_t)plane * 3);
        for (int64_t i = 0; pixel && i < 3 * plane; i++) {
                const double at = (w->x[(channels == 3 ? i % 3 : 0) * plane + i / 3] + 1.0) * 127.5;
                pixel[i] = at >= 255 ? 255 : at > 0 ? (uint8_t)floor(at + 0.5) : 0;
        }
        const bool good = pixel && write_png(path, (int)width, (int)height, pixel);
        free(pixel);
        return good ? DONE : pixel ? WRONG_ENVIRONMENT : loop_wrong(no_memory);
}

static bool denoise_fill(void *of, int tensor, int64_t first, int64_t count, float *out, CkError *err)
{
        const Denoise *w = of;
        (void)tensor;
        (void)err;
        memcpy(out, w->x + first, (size_t)count * sizeof *out);
        return true;
}

static int write_values(Denoise *w, const char *path)
{
        CkOutput all = {
                .name = input_name(w->r->parts.input), .dtype = CK_F32, .rank = w->r->parts.input->type.rank};
        CkError error;
        memcpy(all.shape, w->dim, (size_t)all.rank * sizeof *all.shape);
        if (tensors_write(path, 1, &all, denoise_fill, w, &error))
                return DONE;
        loop_wrong(error.message);
        return error.environment ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

static int denoise_finish(Denoise *w)
{
        const CommandOptions *o = w->r->e.o;
        for (int64_t i = 0; i < w->n; i++)
                if (!isfinite(w->x[i]))
                        return loop_wrong("the result is not a picture: it has a NaN or an infinity");
        return text_ends_with(o->out, ".png") ? denoise_write_picture(w, o->out) : write_values(w, o->out);
}

/* --- main function ---------------------------------------------------------------------------------------------------------- */

/* NULL, or an error message. */
static const char *denoise_run_begin(Denoise *w)
{
        LoopRun *r = w->r;
        const CommandOptions *o = r->e.o;
        const Setting *none = loop_setting(r->loop, "no_class");
        Arena *a = &r->e.m->arena;
        const Type *t = &r->parts.input->type;
        const Setting *stated = loop_setting(r->loop, "guidance");
        const double guidance = o->given[OPT_GUIDANCE] ? o->guidance : stated ? stated->number : 1;
        DenoiseOptions way = denoise_options(r->loop);
        for (int i = 0; i < t->rank; i++)
                w->dim[i] = dim_value(t->dim[i], NULL);
        w->n = type_count(t, NULL);
        if (o->given[OPT_N])
                way.steps = o->steps < INT32_MAX ? (int)o->steps : INT32_MAX;
        w->none = none ? none->number : 0;
        if (guidance != 1 && (!none || !r->parts.class) && !o->without.n)
                return "guidance requires an input of the class, and in loop denoise `no_class`, the number "
                       "of the empty class; or --without NAME=VALUE, the neutral value of an input";
        if (is_without(o, r->parts.input) || is_without(o, r->parts.step))
                return "--without: latent and step are set by loop denoise";
        if (guidance == 1 && o->without.n)
                return "--without has no effect without --guidance";
        if (o->nfile > 1)
                return "loop denoise takes only a model; -I gives inputs, as -I class=7";
        if (!o->out || !strcmp(o->out, "-"))
                return "the result is written to a file: -o PICTURE.png, or .safetensors or .npy";
        if (!text_ends_with(o->out, ".png") && !is_values_file(o->out))
                return arena_printf(a, "-o %s: expected a name that ends in .png, .safetensors or .npy",
                                    o->out);
        if (text_ends_with(o->out, ".png") && (t->rank != 3 || (w->dim[0] != 1 && w->dim[0] != 3)))
                return arena_printf(a,
                                    "a PNG has 1 or 3 channels, [channels, height, width], and %s is %s; -o "
                                    "FILE.safetensors takes any",
                                    input_name(r->parts.input), type_text(a, r->e.m->graph, t));
        w->x = NEW_ARRAY(a, float, w->n);
        w->calls = (DenoiserCalls){w, denoise_ask_model, guidance, guided_values(r->loop, t),
                                   NEW_ARRAY(a, float, w->n)};
        return denoise_begin(a, &way, w->n, o->sampler.state, &w->d);
}

int run_denoise(LoopRun *r)
{
        Denoise w = {.r = r};
        const CommandOptions without = options_without(r->e.o);
        const char *why = denoise_run_begin(&w);
        int code = why ? loop_wrong(why) : gather_all(&w, &without);
        while (code == DONE && w.d.call < w.d.calls) {
                code = denoise_call_next(&w.d, &w.calls, w.x);
                progress("denoising", PROGRESS_STEPS, w.d.call, w.d.calls);
        }
        code = code ? code : denoise_finish(&w);
        recorded_free(&w.without.values);
        return code;
}
