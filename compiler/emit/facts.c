/* Facts about a program, by which the runtime's conditions are resolved: see runtime/facts.h. */
#include "emit_private.h"

/* What the kernels of a plan do. */
typedef struct {
        bool storage[STORAGE_COUNT], weight[STORAGE_COUNT],
                state[STORAGE_COUNT]; /* of any buffer, and of operands of products */
        bool active_rows, key_rows, key_tiles, moved_keys, parts, sink, plain_weights;
} KernelUses;

static void add_attention_uses(const Kernel *k, const AttentionCall *c, KernelUses *u)
{
        u->state[c->k.buffer->storage] = u->state[c->v.buffer->storage] = true;
        u->key_rows |= c->k_key != 0;
        u->key_tiles |= c->k_key == 0;
        u->moved_keys |= c->first_held || c->k_paged || c->v_paged;
        u->parts |= k->scratch.all > 0 || c->weigh;
        u->sink |= c->sink != NULL;
        u->plain_weights |= k->attention.plain || c->weigh;
}

static void add_statement_uses(const Kernel *k, const StmtList *list, KernelUses *u)
{
        for (const Stmt *s = list->stmt; s < list->stmt + list->n; s++) {
                if (s->op == STMT_ATTENTION)
                        add_attention_uses(k, s->call.attention, u);
                if (s->op == STMT_ACTIVATION_MATMUL)
                        u->state[s->call.activation->b.buffer->storage] = true;
                if (s->inside)
                        add_statement_uses(k, s->inside, u);
        }
}

static void add_kernel_uses(const Kernel *k, KernelUses *u)
{
        for (int i = 0; i < k->product.nsegment; i++) {
                u->weight[k->product.segment[i].w[0]->storage] = true;
                u->active_rows |= k->rows == ROWS_ACTIVE;
        }
        for (int i = 0; k->code && i < k->code->n; i++)
                add_statement_uses(k, &k->code->function[i]->body, u);
}

static KernelUses kernel_uses(const Plan *p)
{
        KernelUses u = {0};
        for (int i = 0; i < p->nbuffer; i++)
                u.storage[p->buffer[i]->storage] = true;
        for (int i = 0; i < p->nbody; i++)
                for (int k = 0; k < p->list[i].n; k++)
                        add_kernel_uses(p->list[i].kernel[k], &u);
        return u;
}

static bool has_blocks_of(const KernelUses *u, int steps)
{
        for (int s = 0; s < STORAGE_COUNT; s++)
                if (u->storage[s] && is_in_blocks(s) && storage_info[s].codes == steps)
                        return true;
        return false;
}

/* Every fact: its name, and what says it of the uses u of a plan. */
#define FACTS(FACT)                                                                                          \
        FACT(STORAGES, wide || narrow)                                                                       \
        FACT(F16, u.weight[STORAGE_F16] || u.state[STORAGE_F16])                                             \
        FACT(BF16, u.weight[STORAGE_BF16] || u.state[STORAGE_BF16])                                          \
        FACT(WIDE_WEIGHTS, wide)                                                                             \
        FACT(NARROW_STATES, narrow)                                                                          \
        FACT(F16_STATES, u.state[STORAGE_F16])                                                               \
        FACT(BF16_STATES, u.state[STORAGE_BF16])                                                             \
        FACT(CODES, u.storage[STORAGE_Q8])                                                                   \
        FACT(BLOCKS, blocks)                                                                                 \
        FACT(BLOCKS_OF_32, has_blocks_of(&u, 32))                                                            \
        FACT(BLOCKS_OF_256, has_blocks_of(&u, 256))                                                          \
        FACT(Q8_0, u.storage[STORAGE_Q8_0])                                                                  \
        FACT(Q4_0, u.storage[STORAGE_Q4_0])                                                                  \
        FACT(Q4_1, u.storage[STORAGE_Q4_1])                                                                  \
        FACT(MXFP4, u.storage[STORAGE_MXFP4])                                                                \
        FACT(Q4_K, u.storage[STORAGE_Q4_K])                                                                  \
        FACT(Q5_K, u.storage[STORAGE_Q5_K])                                                                  \
        FACT(Q6_K, u.storage[STORAGE_Q6_K])                                                                  \
        FACT(ACTIVE_ROWS, u.active_rows)                                                                     \
        FACT(KEY_ROWS, u.key_rows)                                                                           \
        FACT(KEY_TILES, u.key_tiles)                                                                         \
        FACT(MOVED_KEYS, u.moved_keys)                                                                       \
        FACT(PARTS, u.parts)                                                                                 \
        FACT(SINK, u.sink)                                                                                   \
        FACT(PLAIN_WEIGHTS, u.plain_weights)

#define FACT_HOLDS(name, holds) {"HAS_" #name, 1},
const CFact all_facts[] = {FACTS(FACT_HOLDS){"EMITTED", 1}, {NULL, 0}};

const CFact *program_facts(const Plan *p)
{
        const KernelUses u = kernel_uses(p);
        const bool wide = u.weight[STORAGE_F16] || u.weight[STORAGE_BF16],
                   narrow = u.state[STORAGE_F16] || u.state[STORAGE_BF16] || u.storage[STORAGE_Q8];
        const bool blocks = graph_has_blocks(p->graph);
#define FACT_OF(name, holds) {"HAS_" #name, holds},
        const CFact fact[] = {FACTS(FACT_OF){"EMITTED", 1}, {NULL, 0}};
        CFact *list = NEW_ARRAY(p->graph->arena, CFact, sizeof fact / sizeof *fact);
        memcpy(list, fact, sizeof fact);
        return list;
}
