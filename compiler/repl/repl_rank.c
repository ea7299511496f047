/* :rank: the effective rank of an attention's scores.  Without positions and biases they are x W_Q W_K'
 * x', so the singular values of W_Q W_K' are computed for each head. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "repl_private.h"

/* --- the two products --------------------------------------------------------------------------------------------------- */

/* Bits of state[id].  A search visits each node once. */
enum { COMPUTED = 3, IN_CORE = 4, IN_QUERIES = 8, IN_KEYS = 16 };

/* Whether n depends on inputs; state[id] & COMPUTED: 0 unknown, 1 no, 2 yes. */
static bool rank_is_computed(const Node *n, uint8_t *state)
{
        if (state[n->id] & COMPUTED)
                return (state[n->id] & COMPUTED) == 2;
        bool computed = n->op == OP_INPUT || n->op == OP_CARRY || n->op == OP_RESULT;
        for (int i = 0; !computed && i < n->nin; i++)
                computed = rank_is_computed(n->in[i], state);
        state[n->id] |= computed ? 2 : 1;
        return computed;
}

static bool was_seen(const Node *n, uint8_t *state, int bit)
{
        bool seen = state[n->id] & bit;
        state[n->id] |= (uint8_t)bit;
        return seen;
}

/* The product of two computed tensors in the scores. */
static const Node *find_core(const Node *n, uint8_t *state)
{
        if (was_seen(n, state, IN_CORE))
                return NULL;
        if (n->op == OP_MATMUL && rank_is_computed(n->in[0], state) && rank_is_computed(n->in[1], state))
                return n;
        for (int i = 0; i < n->nin; i++) {
                const Node *found = rank_is_computed(n->in[i], state) ? find_core(n->in[i], state) : NULL;
                if (found)
                        return found;
        }
        return NULL;
}

/* The product with a weight that an operand comes from, through moves, rotations, sums and scales. */
static const Node *find_projection(const Node *n, uint8_t *state, int search)
{
        if (was_seen(n, state, search))
                return NULL;
        if (n->op == OP_MATMUL)
                return base_of(n->in[1])->op == OP_WEIGHT ? n : NULL;
        for (int i = 0; i < n->nin; i++) {
                const Node *found =
                        rank_is_computed(n->in[i], state) ? find_projection(n->in[i], state, search) : NULL;
                if (found)
                        return found;
        }
        return NULL;
}

/* --- its weights ---------------------------------------------------------------------------------------------------------- */

static int64_t attention_slot(const Weight *w, const AttentionSite *at)
{
        int64_t iteration = 0;
        for (int r = 0; r < w->nregion; r++)
                iteration = iteration * w->region[r]->iterations + at->iteration[r];
        return w->slot_of ? w->slot_of[iteration] : iteration;
}

/* The right operand of a projection, [d][n], malloc'd; NULL after a message. */
static double *read_right(const Node *product, const AttentionSite *at, Weights *weights)
{
        const Node *right = product->in[1], *leaf = base_of(right);
        const Weight *w = leaf->attr.weight;
        int64_t count = type_count(&right->type, NULL), own = type_count(&leaf->type, NULL);
        double *value = malloc((size_t)count * sizeof *value), *stored = malloc((size_t)own * sizeof *stored);
        bool good = value && stored && weights_read(weights, w, attention_slot(w, at), stored);
        const double *in[] = {stored};
        if (!good)
                repl_error("%s", value && stored ? "a weight can't be read" : no_memory);
        else if (right == leaf)
                memcpy(value, stored, (size_t)count * sizeof *value);
        else if (right->in[0] == leaf)
                evaluate(right, (int64_t[MAX_NAMED]){0}, in, value);
        else
                good = repl_error("the queries or keys of this attention are not a product with a weight");
        free(stored);
        if (good)
                return value;
        free(value);
        return NULL;
}

/* Columns first .. first + n of x [d][all] */
static void take_head(const double *x, int64_t d, int64_t all, int64_t first, int64_t n, double *to)
{
        for (int64_t i = 0; i < d; i++)
                memcpy(to + i * n, x + i * all + first, (size_t)n * sizeof *to);
}

typedef struct {
        int64_t d, head_dim, heads, kv_heads;
        double *q, *k; /* [d][heads * head_dim], [d][kv_heads * head_dim] */
} RankHeads;

static bool rank_print_values(const RankHeads *h)
{
        int64_t n = h->head_dim < h->d ? h->head_dim : h->d;
        double *a = malloc((size_t)(h->d * h->head_dim) * sizeof *a),
               *b = malloc((size_t)(h->d * h->head_dim) * sizeof *b);
        double *value = malloc((size_t)(h->heads * n) * sizeof *value),
               *rank = calloc((size_t)h->heads, sizeof *rank);
        bool good = a && b && value && rank;
        for (int64_t i = 0; good && i < h->heads; i++) {
                take_head(h->q, h->d, h->heads * h->head_dim, i * h->head_dim, h->head_dim, a);
                take_head(h->k, h->d, h->kv_heads * h->head_dim, i / (h->heads / h->kv_heads) * h->head_dim,
                          h->head_dim, b);
                good = singular_values_of_product(a, h->head_dim, b, h->head_dim, h->d, value + i * n);
                for (int64_t j = 0; good && j < n; j++)
                        rank[i] += value[i * n + j] > 1e-12 * (double)h->d * value[i * n];
        }
        if (good) {
                print_tensor(stdout, &(Shown){REAL, 2, (int64_t[]){h->heads, n}, value}, 0);
                int width = printf("rank ");
                print_tensor(stdout, &(Shown){INT, 1, (int64_t[]){h->heads}, rank}, width);
        }
        free(a);
        free(b);
        free(value);
        free(rank);
        return good || repl_error("%s", no_memory);
}

/* --- the command ------------------------------------------------------------------------------------------------------------ */

static bool rank_of(Model *m, Weights *weights, const AttentionSite *at)
{
        uint8_t *state = NEW_ARRAY(&m->arena, uint8_t, m->graph->nnode);
        const Node *core = find_core(at->softmax->in[0], state);
        const Node *q = core ? find_projection(core->in[0], state, IN_QUERIES) : NULL;
        const Node *k = core ? find_projection(core->in[1], state, IN_KEYS) : NULL;
        if (!q || !k)
                return repl_error("the queries and keys of this attention are not products with weights");
        const Type *tq = &q->in[1]->type, *tk = &k->in[1]->type;
        const Dim *inner = &core->in[0]->type.dim[core->in[0]->type.rank - 1];
        RankHeads h = {.d = tq->dim[0].fixed, .head_dim = inner->fixed};
        bool plain = tq->rank == 2 && tk->rank == 2 && dim_is_fixed(*inner) && h.head_dim > 0 &&
                     tk->dim[0].fixed == h.d && tq->dim[1].fixed % h.head_dim == 0 &&
                     tk->dim[1].fixed % h.head_dim == 0;
        h.heads = plain ? tq->dim[1].fixed / h.head_dim : 0;
        h.kv_heads = plain ? tk->dim[1].fixed / h.head_dim : 0;
        if (!plain || !h.kv_heads || h.heads % h.kv_heads)
                return repl_error("the heads of this attention do not partition its products with weights");
        h.q = read_right(q, at, weights);
        h.k = h.q ? read_right(k, at, weights) : NULL;
        bool good = h.k && rank_print_values(&h);
        free(h.q);
        free(h.k);
        return good;
}

static bool find_rank(ReplSession *s, Model *m, const Words *w)
{
        char *end;
        long which = strtol(w->word[1], &end, 10);
        AttentionSite at;
        int n;
        if (*end || end == w->word[1] || which < 0 || which > 1 << 20)
                return repl_error("%s is not the number of an attention, counted from 0", w->word[1]);
        if (!attention_find(m->graph, &m->arena, (int)which, &at, &n))
                return repl_error("%s has %d attention%s, counted from 0", m->graph->name, n,
                                  n == 1 ? "" : "s");
        Checkpoint *checkpoint = NULL;
        Weights *weights = open_weights(m, &s->options, &checkpoint);
        bool good = weights && rank_of(m, weights, &at);
        checkpoint_close(checkpoint);
        return good;
}

bool show_rank(ReplSession *s, const Words *w)
{
        return with_model(s, find_rank, w);
}
