/* The outputs of a model's last loop, for :run; long runs have separate commands. */
#include "repl_private.h"

#include <stdlib.h>
#include <string.h>

#include "../../runtime/pooling.h"

enum { LIKELIEST = 5 };

/* Prints the most likely of logits [n], one per line with its name. */
static bool print_best(ReplSession *s, const float *logits, int64_t n, int activation,
                       const char *const *label, bool tokens)
{
        Arena scratch = {0};
        char text[128];
        const Likely *likely = likeliest_first(&scratch, logits, n, activation);
        for (int64_t i = 0; likely && i < n && i < LIKELIEST; i++) {
                *text = 0;
                if (tokens && s->runner->has_tokenizer)
                        label_of(s, (int32_t)likely[i].number, text, sizeof text);
                const char *name = label ? label[likely[i].number] : text;
                printf("%8.4f  %lld%s%s\n", likely[i].probability, (long long)likely[i].number,
                       *name ? "  " : "", name);
        }
        const bool good = likely != NULL;
        arena_free(&scratch);
        if (!good)
                repl_error("there are no probabilities: an output is NaN or infinite");
        return good;
}

static bool show_classes(ReplSession *s, const Trace *t, const Loop *l, const LoopParts *parts)
{
        const char *const *label;
        const Type *out = &s->runner->model.graph->output[parts->output].node->type;
        const int64_t all = t->count[parts->output], n = dim_value(out->dim[out->rank - 1], t->size);
        bool good = loop_labels(&s->runner->model, l, n, "repl", &label) == DONE;
        for (int64_t at = 0; at < all && good; at += n) {
                if (out->rank == 2)
                        printf("token at %lld\n", (long long)(at / n));
                good = print_best(s, t->output[parts->output] + at, n, loop_activation(l), label, false);
        }
        return good;
}

static bool show_sparse(ReplSession *s, const float *x, int64_t width)
{
        int32_t *order = malloc((size_t)width * sizeof *order);
        char text[128];
        const int64_t all = order ? sparse_order(x, width, order) : 0;
        for (int64_t i = 0; i < all && i < SPARSE_TOP; i++) {
                *text = 0;
                if (s->runner->has_tokenizer)
                        label_of(s, order[i], text, sizeof text);
                printf("%8.4f  %d%s%s\n", (double)x[order[i]], order[i], *text ? "  " : "", text);
        }
        if (all > SPARSE_TOP)
                printf("          and %lld more\n", (long long)(all - SPARSE_TOP));
        const bool good = order && all >= 0;
        free(order);
        return good || repl_error("%s", all < 0 ? "a weight is NaN or infinite" : no_memory);
}

static bool show_vector(ReplSession *s, const Trace *t, const Loop *l, const LoopParts *parts, int64_t width)
{
        const char *pool = loop_text_setting(l, "pool");
        const Setting *normalise = loop_setting(l, "normalise");
        float *vector = malloc((size_t)width * sizeof *vector);
        if (!vector)
                return repl_error("%s", no_memory);
        pooled_vector(t->output[parts->output], t->count[parts->output] / width, width,
                      pool && !strcmp(pool, "mean"), normalise && normalise->number != 0, vector);
        const bool is_sparse = loop_is_sparse(l), good = !is_sparse || show_sparse(s, vector, width);
        for (int64_t i = 0; i < width && !is_sparse; i++)
                printf("%s%.9g", i ? ", " : "[", (double)vector[i]);
        if (!is_sparse)
                printf("]\n");
        free(vector);
        return good;
}

static bool show_masks(ReplSession *s, const Trace *t, const Loop *l, const LoopParts *parts, int64_t vocab)
{
        const int32_t mask = (int32_t)loop_setting(l, "mask")->number;
        bool good = true;
        for (int64_t i = 0; i < t->ntoken && t->token && good; i++) {
                if (t->token[i] != mask)
                        continue;
                printf("mask at %lld\n", (long long)i);
                good = print_best(s, t->output[parts->output] + i * vocab, vocab, CLASSES_SOFTMAX, NULL,
                                  true);
        }
        return good;
}

bool show_loop(ReplSession *s, const Trace *t)
{
        const Graph *g = s->runner->model.graph;
        const Loop *l = g->nloop ? &g->loop[g->nloop - 1] : NULL;
        LoopParts parts;
        if (!l || loop_fault(g, l, &parts) || parts.output < 0)
                return true;
        const Type *out = &g->output[parts.output].node->type;
        const int64_t columns = out->rank ? dim_value(out->dim[out->rank - 1], t->size) : 1;
        switch ((LoopId)loop_number(l->name)) {
        case LOOP_classify: return show_classes(s, t, l, &parts);
        case LOOP_embed: return show_vector(s, t, l, &parts, columns);
        case LOOP_fill: return show_masks(s, t, l, &parts, columns);
        default: return true;
        }
}
