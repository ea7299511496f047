/* A plan as text, for `show plan` and --dump, and as JSON: its program, and a line for each buffer. */
#include <inttypes.h>

#include "plan.h"

const char *const kernel_word[] = {
        [K_LOOP] = "loop",           [K_MATMUL] = "matmul", [K_ACTIVATION_MATMUL] = "value matmul",
        [K_ATTENTION] = "attention", [K_SCAN] = "scan",     [K_SELECT] = "select",
        [K_ACTIVE] = "active",       [K_FILL] = "fill",     [K_REPEAT] = "repeat"};
static const char *const home_word[] = {
        [IN_ARENA] = "arena", [IN_WEIGHTS] = "weights", [IN_STATE] = "state",
        [IN_INPUT] = "input", [IN_OUTPUT] = "output",   [IN_LITERAL] = "literal"};

/* "arena" */
static const char *home_text_of(const Buffer *b)
{
        return b->paged ? "pages" : home_word[b->home];
}

/* How many iterations of the repeats around it run the body: of experts, those that a position asks. */
static int64_t runs_of_body(const Body *b)
{
        int64_t runs = 1;
        for (const Region *r = b->region; r; b = r->repeat->body, r = b->region) {
                int64_t own = 0;
                for (int64_t i = 0; i < r->iterations; i++)
                        own += r->body[r->body_of[i]] == b;
                runs *= min_int64(own, iterations_in_use(r));
        }
        return runs;
}

int64_t product_weights(const Plan *p)
{
        int64_t bytes = 0;
        for (int b = 0; b < p->all.n; b++) {
                const Kernel *k = p->all.kernel[b];
                for (int j = 0; j < k->product.nsegment; j++)
                        for (int w = 0; w < k->product.segment[j].nproduct; w++) {
                                const Buffer *from = k->product.segment[j].w[w];
                                const int64_t slots = min_int64(from->slots, runs_of_body(k->body));
                                bytes += slots * storage_size(from->storage, type_count(&from->type, NULL));
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
                            FLOATS(p->bytes.pool / p->pages));
}

void plan_dump(FILE *f, const Plan *p)
{
        fprintf(f, "program\n");
        program_dump(f, p);
        fprintf(f, "\nbuffers\n  %-8s %12s %12s %6s %12s  %s\n", "home", "offset", "floats", "slots", "life",
                "what");
        for (int i = 0; i < p->nbuffer; i++) {
                const Buffer *b = p->buffer[i];
                if (b->part_of)
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
                        fprintf(f, ", %" PRId64 " positions held", p->windows.cache[b->cache].size);
                fprintf(f, "\n");
        }
        fprintf(f,
                "\nweights %" PRId64 " floats, state %" PRId64 "%s, arena %" PRId64 " (lower bound %" PRId64
                ")\nproducts read %" PRId64 " bytes of weights\n",
                FLOATS(p->bytes.weights), FLOATS(p->bytes.state), pages_text(p), FLOATS(p->bytes.arena),
                FLOATS(p->bytes.arena_bound), product_weights(p));
}

/* Sizes and offsets in floats; first, last: the kernels between which a buffer of the arena lives. */
static json_t *buffer_json(const Plan *p, const Buffer *b)
{
        const bool lives = b->home == IN_ARENA, held = b->cache >= 0;
        return json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:s, s:o, s:o}", "name", b->name, "home",
                         home_text_of(b), "offset", (json_int_t)FLOATS(b->offset), "floats",
                         (json_int_t)FLOATS(b->size), "slots", (json_int_t)b->slots, "first",
                         lives ? json_integer(b->first) : json_null(), "last",
                         lives ? json_integer(b->last) : json_null(), "storage",
                         storage_info[b->storage].text, "shape",
                         shape_json(p->graph->arena, p->graph, &b->type), "positions_held",
                         held ? json_integer(p->windows.cache[b->cache].size) : json_null());
}

void plan_json(const Plan *p, json_t *to)
{
        json_t *buffers = json_array();
        for (int i = 0; i < p->nbuffer; i++)
                if (!p->buffer[i]->part_of)
                        json_array_append_new(buffers, buffer_json(p, p->buffer[i]));
        program_json(p, to);
        json_object_set_new(to, "buffers", buffers);
        json_object_set_new(to, "weights_floats", json_integer(FLOATS(p->bytes.weights)));
        json_object_set_new(to, "state_floats", json_integer(FLOATS(p->bytes.state)));
        json_object_set_new(to, "arena_floats", json_integer(FLOATS(p->bytes.arena)));
        json_object_set_new(to, "arena_floats_least", json_integer(FLOATS(p->bytes.arena_bound)));
        json_object_set_new(to, "pages", json_integer(p->pages));
        json_object_set_new(to, "product_bytes", json_integer(product_weights(p)));
}
