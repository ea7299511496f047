/* A plan for programs, as `lathe show M plan --json` has it: what plan_dump() says. */
#include "plan.h"

/* When all threads are waited for before a kernel, by Kernel.barrier. */
static const char *const wait_word[8] = {[0] = "never",
                                         [WAIT_ROWS] = "with several rows",
                                         [WAIT_ROWS | WAIT_STEP] = "unless threads divide the heads",
                                         [WAIT_ROWS | WAIT_STEP | WAIT_HEADS] = "always"};

static json_t *kernels_json(const Plan *p, int body);

static json_t *products_json(const Kernel *k)
{
        json_t *list = json_array();
        for (int i = 0; i < k->nsegment; i++)
                json_array_append_new(list, json_pack("{s:I, s:I, s:i}", "depth", (json_int_t)k->k_size,
                                                      "width", (json_int_t)k->segment[i].n, "times",
                                                      k->segment[i].nproduct));
        return list;
}

/* Calls in which so many barriers stand, repeats rolled out. */
static json_t *barriers_json(const Plan *p, int body)
{
        return json_pack("{s:i, s:i, s:i}", "rows", barriers_of(p, body, WAIT_ROWS), "one_row",
                         barriers_of(p, body, WAIT_STEP), "heads_divided", barriers_of(p, body, WAIT_HEADS));
}

static json_t *bodies_json(const Plan *p, const Region *r)
{
        json_t *list = json_array();
        for (int b = 0; b < r->nbody; b++) {
                const int body = body_number(p, r->body[b]);
                json_array_append_new(list, json_pack("{s:o, s:o}", "barriers", barriers_json(p, body),
                                                      "kernels", kernels_json(p, body)));
        }
        return list;
}

static json_t *kernel_json(const Plan *p, const Kernel *k)
{
        const char *rows = k->tail          ? "wanted"
                           : k->active_only ? "active"
                           : k->by_sequence ? "by sequence"
                           : k->by_row      ? "that find their sequence"
                                            : "all";
        json_t *one = json_pack("{s:s, s:s, s:s, s:s}", "name", k->name, "kind", kernel_word[k->op], "waits",
                                wait_word[k->barrier], "rows", rows);
        if (k->op == K_MATMUL)
                json_object_set_new(one, "products", products_json(k));
        if (k->op == K_REPEAT) {
                json_object_set_new(one, "iterations", json_integer(k->region->iterations));
                json_object_set_new(one, "bodies", bodies_json(p, k->region));
        }
        return one;
}

static json_t *kernels_json(const Plan *p, int body)
{
        json_t *list = json_array();
        for (int i = 0; i < p->list[body].n; i++)
                json_array_append_new(list, kernel_json(p, p->list[body].kernel[i]));
        return list;
}

/* Sizes and places in floats; first, last: the kernels between which a buffer of the arena lives. */
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
                         held ? json_integer(p->cache[b->cache].size) : json_null());
}

void plan_json(const Plan *p, json_t *to)
{
        json_t *buffers = json_array();
        for (int i = 0; i < p->nbuffer; i++)
                if (buffer_is_shown(p->buffer[i]))
                        json_array_append_new(buffers, buffer_json(p, p->buffer[i]));
        json_object_set_new(to, "barriers", barriers_json(p, 0));
        json_object_set_new(to, "kernels", kernels_json(p, 0));
        json_object_set_new(to, "buffers", buffers);
        json_object_set_new(to, "weights_floats", json_integer(FLOATS(p->weights_size)));
        json_object_set_new(to, "state_floats", json_integer(FLOATS(p->state_size)));
        json_object_set_new(to, "arena_floats", json_integer(FLOATS(p->arena_size)));
        json_object_set_new(to, "arena_floats_least", json_integer(FLOATS(p->arena_bound)));
        json_object_set_new(to, "pages", json_integer(p->pages));
        json_object_set_new(to, "product_bytes", json_integer(product_weights(p)));
}
