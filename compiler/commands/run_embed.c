/* lathe run, loop embed: a vector for each text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands_private.h"

#include "../../runtime/pooling.h"

/* Vectors are kept if they are written to a file or compared; else each is printed. */
typedef struct {
        bool keeps;
        float *vector; /* [n][width] */
        char **text;   /* [n] */
        int64_t n, cap, width;
} Vectors;

static double dot(int64_t n, const float *x, const float *y)
{
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
                sum += (double)x[i] * y[i];
        return sum;
}

/* The vector that the loop defines, into out [width]. */
static void make_vector(const LoopRun *r, int64_t width, float *out)
{
        const char *pool = loop_text_setting(r->loop, "pool");
        const Setting *normalise = loop_setting(r->loop, "normalise");
        int64_t n;
        const float *x = loop_output(r, &n);
        pooled_vector(x, n / width, width, pool && !strcmp(pool, "mean"), normalise && normalise->number != 0,
                      out);
}

static void print_vector(const float *x, int64_t n)
{
        for (int64_t i = 0; i < n; i++) {
                printf(i ? ", " : "[");
                printf(isfinite(x[i]) ? "%.9g" : "null", (double)x[i]);
        }
        printf("]\n");
}

/* Makes room for another vector. */
static bool vectors_grow(Vectors *v)
{
        if (v->n < v->cap)
                return true;
        int64_t cap = v->cap ? 2 * v->cap : 8;
        float *vector = realloc(v->vector, (size_t)(cap * v->width) * sizeof *vector);
        if (!vector)
                return false;
        v->vector = vector;
        char **text = realloc(v->text, (size_t)cap * sizeof *text);
        if (!text)
                return false;
        v->text = text;
        v->cap = cap;
        return true;
}

static int embed_take_text(LoopRun *r, void *of, const char *text, int64_t n)
{
        Vectors *v = of;
        const int code = loop_run_text(r, text, n);
        if (code && !r->text_fault)
                return code;
        if (!vectors_grow(v))
                return loop_wrong(no_memory);
        float *vector = v->vector + v->n * v->width;
        /* keeps its row, so that rows match texts */
        if (code)
                for (int64_t i = 0; i < v->width; i++)
                        vector[i] = NAN;
        else
                make_vector(r, v->width, vector);
        if (!v->keeps && code)
                printf("null\n");
        else if (!v->keeps)
                print_vector(vector, v->width);
        else if (!(v->text[v->n++] = strdup(text)))
                return loop_wrong(no_memory);
        return code;
}

/* A row for each text: the cosines with every vector, and the text. */
static void print_cosines(const Vectors *v)
{
        for (int64_t i = 0; i < v->n; i++) {
                const float *x = v->vector + i * v->width;
                for (int64_t k = 0; k < v->n; k++) {
                        const float *y = v->vector + k * v->width;
                        double lengths = sqrt(dot(v->width, x, x)) * sqrt(dot(v->width, y, y));
                        printf("%8.4f", dot(v->width, x, y) / fmax(lengths, 1e-12));
                }
                printf("  %s\n", v->text[i]);
        }
}

static bool fill_vectors(void *of, int tensor, int64_t first, int64_t count, float *out, CkError *err)
{
        const Vectors *v = of;
        (void)tensor;
        (void)err;
        memcpy(out, v->vector + first, (size_t)count * sizeof *out);
        return true;
}

static int write_vectors(Vectors *v, const char *path)
{
        const CkOutput all = {.name = "embeddings", .dtype = CK_F32, .rank = 2, .shape = {v->n, v->width}};
        CkError error;
        if (tensors_write(path, 1, &all, fill_vectors, v, &error))
                return DONE;
        loop_wrong(error.message);
        return error.environment ? WRONG_ENVIRONMENT : WRONG_INPUT;
}

int run_embed(LoopRun *r)
{
        const CommandOptions *o = r->e.o;
        const Type *t = &r->e.m->graph->output[r->parts.output].node->type;
        Vectors v = {.keeps = o->out || o->given[OPT_SIMILAR], .width = dim_value(t->dim[t->rank - 1], NULL)};
        if (o->out && !strcmp(o->out, "-")) {
                fprintf(stderr,
                        "lathe run: vectors are written to a file, .npy or .safetensors; without -o they are "
                        "printed, a line each\n");
                return WRONG_USAGE;
        }
        const char *wrong;
        r->prompt = loop_prompt(r->loop, o->prompt_name, &r->e.m->arena, &wrong);
        int code = wrong ? loop_wrong(wrong) : DONE;
        if (code == DONE)
                code = loop_texts(r, embed_take_text, &v);
        const bool all = code == DONE || r->finished;
        if (all && o->given[OPT_SIMILAR])
                print_cosines(&v);
        if (all && o->out) {
                const int written = write_vectors(&v, o->out);
                code = written == DONE ? code : written;
        }
        for (int64_t i = 0; i < v.n; i++)
                free(v.text[i]);
        free(v.text);
        free(v.vector);
        return code;
}
