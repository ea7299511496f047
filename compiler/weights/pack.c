/* Packing: weights and tables laid out as the plan says.  Values come in double and are rounded to float once. */
#include "weights.h"

#include <stdlib.h>
#include <string.h>

/* Puts value [dims of t] at to, as the layout says. */
static void scatter(const Layout *l, const int64_t *dim, int rank, const double *value, float *to)
{
        int64_t count = 1, index[MAX_RANK] = {0};
        for (int a = 0; a < rank; a++)
                count *= dim[a];
        for (int64_t i = 0; i < count; i++) {
                int64_t at = l->offset;
                for (int a = 0; a < rank; a++)
                        at += a == l->tiled ? index[a] / LANES * l->tile + index[a] % LANES
                                            : index[a] * l->stride[a];
                to[at] = (float)value[i];
                for (int a = rank - 1; a >= 0 && ++index[a] == dim[a]; a--)
                        index[a] = 0;
        }
}

static const Buffer *whole_of(const Buffer *b)
{
        return b->part_of ? b->part_of : b;
}

static const char *pack_weight(const Plan *p, const Buffer *b, const WeightSource *from, int64_t begin,
                               float *all)
{
        const Weight *w = b->weight;
        int64_t count = type_count(&w->type, NULL), dim[MAX_RANK];
        double *value = malloc((size_t)(count > 0 ? count : 1) * sizeof *value);
        if (!value)
                return no_memory;
        for (int a = 0; a < w->type.rank; a++)
                dim[a] = w->type.dim[a].fixed;
        for (int64_t slot = begin; slot < w->slots; slot++) {
                if (!from->weight(from->from, w, slot, value)) {
                        free(value);
                        return arena_printf(p->graph->arena,
                                            "%s, or the file has become shorter: %s can't be read", no_memory,
                                            weight_slot_name(p->graph->arena, w, slot));
                }
                scatter(&b->layout, dim, w->type.rank, value,
                        all + FLOATS(whole_of(b)->offset + slot * b->slot_stride));
        }
        free(value);
        return NULL;
}

/* A table is what the interpreter says, from position 0 to the bound. */
static const char *pack_table(const Plan *p, const Buffer *b, const WeightSource *from, float *all)
{
        const Graph *g = p->graph;
        int64_t size[MAX_NAMED] = {0};
        for (int i = 0; i < g->nnamed; i++)
                size[i] = i == g->past ? 0 : g->named[i].bound;
        Tensor *input = calloc((size_t)g->ninput + 1, sizeof *input), output = {0};
        Node *want = b->table;
        const char *error =
                input ? interpret_nodes(g, size, input, from, NULL, &want, 1, &output) : no_memory;
        if (!error)
                scatter(&b->layout, output.dim, output.rank, output.data, all + FLOATS(b->offset));
        tensor_free(&output);
        free(input);
        return error;
}

const char *pack_buffers(Plan *p, const WeightSource *from, const int64_t *begin, float *all)
{
        const char *error = NULL;
        int done = 0, total = 0;
        for (int i = 0; i < p->nbuffer; i++)
                total += p->buffer[i]->home == IN_WEIGHTS;
        for (int i = 0; i < p->nbuffer && !error; i++) {
                const Buffer *b = p->buffer[i];
                if (b->home != IN_WEIGHTS)
                        continue;
                int64_t first = begin ? begin[whole_of(b)->id] : 0;
                if (b->weight && first < b->weight->slots)
                        error = pack_weight(p, b, from, first, all);
                else if (b->table)
                        error = pack_table(p, b, from, all);
                progress("packing", ++done, total);
        }
        return error;
}

const char *pack_weights(Plan *p, const WeightSource *from, float *all)
{
        return pack_buffers(p, from, NULL, all);
}
