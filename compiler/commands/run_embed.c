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
        bool is_sparse, has_products; /* settings of the loop */
        int32_t *order;               /* [width] if it is sparse: numbers of tokens */
        char *token;                  /* room for the text of a token */
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

/* --- sparse vectors ------------------------------------------------------------------------------------------------- */

static void print_sparse_json(const LoopRun *r, const Vectors *v, const char *text, const float *x, int64_t n)
{
        printf("{");
        loop_print_member("text", (TextPart){text, (int64_t)strlen(text)});
        printf(", \"tokens\": [");
        for (int64_t i = 0; i < n; i++) {
                printf("%s{\"token\": %d, \"weight\": %.9g", i ? ", " : "", v->order[i],
                       (double)x[v->order[i]]);
                if (r->e.tokenizer.block.block) {
                        const int64_t bytes = loop_token_text(r, v->order[i], v->token);
                        printf(", ");
                        loop_print_member("text", (TextPart){v->token, bytes});
                }
                printf("}");
        }
        printf("]}\n");
}

/* A line for each of the first n of `all` tokens. */
static void print_sparse_lines(const LoopRun *r, const Vectors *v, const char *text, const float *x,
                               int64_t n, int64_t all)
{
        const CommandOptions *o = r->e.o;
        if (o->nfile + (o->prompt != NULL) > 2 || is_list_word(o->file[o->nfile - 1]))
                printf("%s\n", text);
        for (int64_t i = 0; i < n; i++) {
                const int64_t bytes = loop_token_text(r, v->order[i], v->token);
                printf("%8.4f  %d%s%.*s\n", (double)x[v->order[i]], v->order[i], bytes ? "  " : "",
                       (int)bytes, v->token);
        }
        if (n < all)
                printf("          and %lld more (--top N prints N tokens)\n", (long long)(all - n));
}

static int print_sparse(LoopRun *r, const Vectors *v, const char *text, const float *x)
{
        const CommandOptions *o = r->e.o;
        const int64_t all = sparse_order(x, v->width, v->order),
                      top = o->given[OPT_TOP]    ? o->top
                            : o->given[OPT_JSON] ? all
                                                 : SPARSE_TOP,
                      n = top < all ? top : all;
        if (all < 0)
                return loop_wrong_text(r, "a weight is NaN or infinite");
        if (o->given[OPT_JSON])
                print_sparse_json(r, v, text, x, n);
        else
                print_sparse_lines(r, v, text, x, n, all);
        return DONE;
}

/* --- all vectors ---------------------------------------------------------------------------------------------------- */

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
        if (!v->keeps && code) {
                if (!v->is_sparse || r->e.o->given[OPT_JSON])
                        printf("null\n");
        } else if (!v->keeps && v->is_sparse) {
                return print_sparse(r, v, text, vector);
        } else if (!v->keeps) {
                print_vector(vector, v->width);
        } else if (!(v->text[v->n++] = strdup(text))) {
                return loop_wrong(no_memory);
        }
        return code;
}

/* A row for each text: the cosines or products with every vector, and the text. */
static void print_similar(const Vectors *v)
{
        for (int64_t i = 0; i < v->n; i++) {
                const float *x = v->vector + i * v->width;
                for (int64_t k = 0; k < v->n; k++) {
                        const float *y = v->vector + k * v->width;
                        double lengths =
                                v->has_products ? 1 : sqrt(dot(v->width, x, x)) * sqrt(dot(v->width, y, y));
                        printf(" %7.4f", dot(v->width, x, y) / fmax(lengths, 1e-12));
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

/* False after a message: an option for sparse vectors is given, and the vectors are not sparse. */
static bool embed_options_fit(const LoopRun *r, const Vectors *v)
{
        static const OptionId of_sparse[] = {OPT_TOP, OPT_JSON};
        for (int i = 0; i < 2 && !v->is_sparse; i++)
                if (r->e.o->given[of_sparse[i]]) {
                        fprintf(stderr,
                                "lathe run: %s is for sparse vectors, and those of %s are not (its loop has "
                                "no "
                                "`sparse true`): without it, each is printed as JSON\n",
                                option_info(of_sparse[i])->name, r->e.m->graph->name);
                        return false;
                }
        return true;
}

/* Makes room for printing a sparse vector.  Returns an exit code. */
static int sparse_begin(LoopRun *r, Vectors *v)
{
        int code = DONE;
        if (!v->is_sparse || v->keeps)
                return DONE;
        loop_has_tokenizer(r, &code);
        if (code != DONE)
                return code;
        v->order = malloc((size_t)v->width * sizeof *v->order);
        v->token = malloc((size_t)r->e.tokenizer.longest + TOKEN_RESIDUE);
        return v->order && v->token ? DONE : loop_wrong(no_memory);
}

int run_embed(LoopRun *r)
{
        const CommandOptions *o = r->e.o;
        const Type *t = &r->e.m->graph->output[r->parts.output].node->type;
        const char *similarity = loop_text_setting(r->loop, "similarity");
        Vectors v = {.keeps = o->out || o->given[OPT_SIMILAR],
                     .width = dim_value(t->dim[t->rank - 1], NULL),
                     .is_sparse = loop_is_sparse(r->loop),
                     .has_products = similarity && !strcmp(similarity, "dot")};
        if (!embed_options_fit(r, &v))
                return WRONG_USAGE;
        if (o->out && !strcmp(o->out, "-")) {
                fprintf(stderr,
                        "lathe run: vectors are written to a file, .npy or .safetensors; without -o they are "
                        "printed, a line each\n");
                return WRONG_USAGE;
        }
        const char *wrong;
        r->prompt = loop_prompt(r->loop, o->prompt_name, &r->e.m->arena, &wrong);
        int code = wrong ? loop_wrong(wrong) : sparse_begin(r, &v);
        if (code == DONE)
                code = loop_texts(r, embed_take_text, &v);
        const bool all = code == DONE || r->finished;
        if (all && o->given[OPT_SIMILAR])
                print_similar(&v);
        if (all && o->out) {
                const int written = write_vectors(&v, o->out);
                code = written == DONE ? code : written;
        }
        for (int64_t i = 0; i < v.n; i++)
                free(v.text[i]);
        free(v.text);
        free(v.vector);
        free(v.order);
        free(v.token);
        return code;
}
