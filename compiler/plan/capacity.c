/* Capacity: limits of an instance's memory, and of the ints of the runtime's kernels.
 *
 * Expects kernels and buffers, before they are placed: each has at most 2^42 elements for one sequence and one iteration, so that the
 * size of one can be counted, but not yet the sum of all.  Leaves a message with the line of what is too large, or nothing. */
#include "plan.h"

#include <inttypes.h>

static const int64_t MAX_BYTES = INT64_C(1) << 46; /* 64 TiB: an address has 47 bits */

/* A value in the buffer; NULL: none has it for itself. */
static const Node *node_in(const Plan *p, const Buffer *b)
{
        for (int i = 0; i < p->nbody; i++)
                for (int k = 0; k < p->body[i]->nnode; k++)
                        if (p->of_node.value[p->body[i]->node[k]->id] == b)
                                return p->body[i]->node[k];
        return NULL;
}

static Span span_of(const Plan *p, const Buffer *b)
{
        const Node *n = node_in(p, b);
        return b->weight ? b->weight->span : n ? n->span : (Span){0};
}

/* The bytes of all slots, MAX_BYTES or one more if they are more. */
static int64_t buffer_bytes(const Buffer *b)
{
        int64_t n = b->home == IN_ARENA ? b->size : b->slot_stride;
        int64_t slots = b->home == IN_ARENA ? 1 : b->slots;
        return n > MAX_BYTES / slots ? MAX_BYTES + 1 : n * slots;
}

/* Whether a section exceeds its limit; *largest: its largest part. */
static bool is_too_large(const Plan *p, Home home, const Buffer **largest)
{
        int64_t sum = 0, most = 0;
        int64_t sequences = home == IN_STATE ? p->slots : 1;
        for (int i = 0; i < p->nbuffer; i++) {
                const Buffer *b = p->buffer[i];
                if (b->home != home || b->part_of)
                        continue;
                int64_t n = b->paged ? buffer_bytes(b) / sequences : buffer_bytes(b);
                sum = sum > MAX_BYTES ? sum : sum + n;
                *largest = n > most ? b : *largest;
                most = n > most ? n : most;
        }
        return sum > MAX_BYTES / sequences;
}

static bool check_memory(Diag *diag, const Plan *p)
{
        static const struct {
                Home home;
                const char *name;
        } section[] = {{IN_WEIGHTS, "weights"}, {IN_STATE, "state"}, {IN_ARENA, "values of one call"}};
        for (int i = 0; i < 3; i++) {
                const Buffer *b = NULL;
                if (!is_too_large(p, section[i].home, &b))
                        continue;
                diag_error(diag, span_of(p, b), "more than 64 TiB of %s, most of it %s %s%s", section[i].name,
                           b->name, type_text(diag->arena, p->graph, &b->type),
                           p->slots > 1 && section[i].home == IN_STATE ? ", in each slot" : "");
                return false;
        }
        return true;
}

static int64_t size_from_last(const Plan *p, const Node *n, int back)
{
        return bound_of(p, n->type.dim[n->type.rank - 1 - back]);
}

/* Sizes that kernels of the runtime count in ints; 0: none. */
static int64_t counted_size(const Plan *p, const Kernel *k)
{
        int64_t most = 0, size[4] = {0};
        const Node *product = k->op == K_MATMUL ? k->product.segment[0].product[0] : k->stores.of[0].node;
        if (k->op == K_MATMUL) {
                size[0] = k->product.k;
                for (int i = 0; i < k->product.nsegment; i++)
                        size[1] += k->product.segment[i].n * k->product.segment[i].nproduct;
        } else if (k->op == K_ACTIVATION_MATMUL) {
                size[0] = size_from_last(p, k->product.x, 0);
                size[1] = size_from_last(p, product, 0);
        } else if (k->op == K_ATTENTION) { /* heads and rows are counted together */
                size[0] = size_from_last(p, k->attention.q, 0);
                size[1] = size_from_last(p, k->attention.v, 0);
                size[2] = 1;
                for (int a = 0; a < product->type.rank - 1; a++)
                        size[2] *= bound_of(p, product->type.dim[a]);
                size[3] = size_from_last(p, k->attention.k, 0);
        }
        if (k->op == K_SCAN) {
                size[0] = scan_of(product).depth;
                size[1] = scan_of(product).width;
                size[2] = (1 + SCAN_OLDER(p->rewind)) * SCAN_FLOATS(size[0], size[1]);
        }
        for (int i = 0; i < 4; i++)
                most = size[i] > most ? size[i] : most;
        return most;
}

static bool check_counts(Diag *diag, const Plan *p)
{
        for (int i = 0; i < p->all.n; i++) {
                const Kernel *kernel = p->all.kernel[i];
                int64_t n = counted_size(p, kernel);
                if (n <= INT32_MAX - LANES)
                        continue;
                diag_error(diag, kernel->span,
                           "a product sums over at most %d values, and gives at most as many; here "
                           "%" PRId64,
                           INT32_MAX - LANES, n);
                note_instances(diag, kernel->where);
                return false;
        }
        return true;
}

bool pass_capacity(Plan *p, Diag *diag)
{
        return check_memory(diag, p) && check_counts(diag, p);
}
