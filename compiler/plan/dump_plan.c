/* A plan as text, for `show plan` and --dump: stable, one line a kernel and one a buffer. */
#include <inttypes.h>

#include "plan.h"

const char *const kernel_word[] = {
        [K_LOOP] = "loop",           [K_MATMUL] = "matmul", [K_ACTIVATION_MATMUL] = "value matmul",
        [K_ATTENTION] = "attention", [K_SCAN] = "scan",     [K_SELECT] = "select",
        [K_ACTIVE] = "active",       [K_FILL] = "fill",     [K_REPEAT] = "repeat"};
static const char *const home_word[] = {
        [IN_ARENA] = "arena", [IN_WEIGHTS] = "weights", [IN_STATE] = "state",
        [IN_INPUT] = "input", [IN_OUTPUT] = "output",   [IN_LITERAL] = "literal"};

const char *home_text_of(const Buffer *b)
{
        return b->paged ? "pages" : home_word[b->home];
}

bool buffer_is_shown(const Buffer *b)
{
        return !b->part_of && (b->home != IN_ARENA || b->first >= 0);
}

/* How ranks share a kernel. */
static void dump_shared(FILE *f, const Kernel *k)
{
        if (k->spread)
                fprintf(f, k->spread_heads ? "; ranks have heads" : "; ranks have outputs");
        if (k->row_loop)
                fprintf(f, k->spread ? ", or rows" : "; ranks have rows");
        for (int i = 0; i < k->gather_before.n; i++)
                fprintf(f, "%s%s",
                        i ? ", " : "; rows brought together before: ", k->gather_before.of[i].buffer->name);
}

static void dump_kernels(FILE *f, const Plan *p, int body, int depth)
{
        for (int i = 0; i < p->list[body].n; i++) {
                const Kernel *k = p->list[body].kernel[i];
                static const char *const waits[8] = {[0] = "",
                                                     [WAIT_ROWS] = ":",
                                                     [WAIT_ROWS | WAIT_STEP] = ";",
                                                     [WAIT_ROWS | WAIT_STEP | WAIT_HEADS] = "|"};
                fprintf(f, "%*s%-3s %-13s %s%s", depth * 2, "", waits[k->barrier], kernel_word[k->op],
                        k->name,
                        k->tail          ? " (wanted rows)"
                        : k->active_only ? " (active rows)"
                        : k->by_sequence ? " (by sequence)"
                        : k->by_row      ? " (rows find their sequence)"
                                         : "");
                if (k->op == K_MATMUL)
                        for (int s = 0; s < k->nsegment; s++)
                                fprintf(f, "%s %" PRId64 "x%" PRId64 "%s", s ? "," : "", k->k_size,
                                        k->segment[s].n, k->segment[s].nproduct == 2 ? " twice" : "");
                if (k->op == K_REPEAT)
                        fprintf(f, ", %" PRId64 " iterations%s", k->region->iterations,
                                k->active_rows ? ", those that change a row" : "");
                dump_shared(f, k);
                fprintf(f, "\n");
                for (int b = 0; k->op == K_REPEAT && b < k->region->nbody; b++) {
                        int inner = body_number(p, k->region->body[b]);
                        fprintf(f, "%*sbody %d, %s\n", depth * 2 + 2, "", b,
                                barriers_text(p->graph->arena, p, inner, ""));
                        dump_kernels(f, p, inner, depth + 2);
                }
        }
}

int64_t product_weights(const Plan *p)
{
        int64_t bytes = 0;
        for (int b = 0; b < p->nbody; b++)
                for (int i = 0; i < p->list[b].n; i++) {
                        const Kernel *k = p->list[b].kernel[i];
                        for (int j = 0; j < k->nsegment; j++)
                                for (int w = 0; w < k->segment[j].nproduct; w++) {
                                        const Buffer *from = k->segment[j].w[w];
                                        int64_t n = from ? type_count(&from->type, NULL) : 0;
                                        bytes += from ? from->slots * storage_size(from->storage, n) : 0;
                                }
                }
        return bytes;
}

/* ", 8 pages of 24576" */
static const char *pages_text(const Plan *p)
{
        if (!p->pages)
                return "";
        return arena_printf(p->graph->arena, ", %" PRId64 " pages of %" PRId64, p->pages,
                            FLOATS(p->pool_size / p->pages));
}

void plan_dump(FILE *f, const Plan *p)
{
        fprintf(f, "kernels (| waits for all threads, : unless the call has one row, ; unless threads divide "
                   "its heads too)\n");
        dump_kernels(f, p, 0, 1);
        fprintf(f, "%s\n\nbuffers\n  %-8s %12s %12s %6s %12s  %s\n",
                barriers_text(p->graph->arena, p, 0, " a call"), "home", "offset", "floats", "slots", "life",
                "what");
        for (int i = 0; i < p->nbuffer; i++) {
                const Buffer *b = p->buffer[i];
                if (!buffer_is_shown(b))
                        continue;
                fprintf(f, "  %-8s %12" PRId64 " %12" PRId64 " %6" PRId64 " ", home_text_of(b),
                        FLOATS(b->offset), FLOATS(b->size), b->slots);
                if (b->home == IN_ARENA)
                        fprintf(f, "%5d - %-5d", b->first, b->last);
                else
                        fprintf(f, "%12s ", "");
                fprintf(f, " %s %s", b->name, type_text(p->graph->arena, p->graph, &b->type));
                if ((b->home == IN_WEIGHTS || b->home == IN_STATE) && b->storage != STORAGE_F32)
                        fprintf(f, ", %s", storage_info[b->storage].text);
                if (b->cache >= 0)
                        fprintf(f, ", %" PRId64 " positions held", p->cache[b->cache].size);
                fprintf(f, "\n");
        }
        fprintf(f,
                "\nweights %" PRId64 " floats, state %" PRId64 "%s, arena %" PRId64 " (lower bound %" PRId64
                ")\nproducts read %" PRId64 " bytes of weights\n",
                FLOATS(p->weights_size), FLOATS(p->state_size), pages_text(p), FLOATS(p->arena_size),
                FLOATS(p->arena_bound), product_weights(p));
}
