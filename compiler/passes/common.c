/* Common subexpressions: a hash table of nodes by what they compute.
 *
 * Two nodes are equal if op, inputs, attributes and type are; inputs have been made common before.  An equal
 * node is used if it is in the same body or in an enclosing one.  Repeats and appends are never joined; a
 * constant with a row per iteration is equal only within its region. */
#include "simplify_private.h"

#include <string.h>

static bool is_commutative(Op op)
{
        return op == OP_ADD || op == OP_MUL || op == OP_AND || op == OP_OR || op == OP_EQUAL;
}

/* The inputs in canonical order: a commutative pair by ids. */
static const Node *input_shared(const Node *n, int i)
{
        bool swap = is_commutative(n->op) && n->in[0]->id > n->in[1]->id;
        return n->in[swap ? 1 - i : i];
}

static bool literals_equal(const Node *a, const Node *b)
{
        const Literal *p = a->attr.literal, *q = b->attr.literal;
        if (p->iterations != q->iterations || (p->iterations > 1 && a->body->region != b->body->region))
                return false;
        return p == q ||
               memcmp(p->value, q->value, (size_t)(p->iterations * p->count) * sizeof *p->value) == 0;
}

static bool attributes_equal(const Node *a, const Node *b)
{
        const Attr *p = &a->attr, *q = &b->attr;
        if (p->axis != q->axis || p->index != q->index || p->slot != q->slot || !dim_equal(p->dim, q->dim) ||
            !dim_equal(p->before, q->before) || p->weight != q->weight || p->state != q->state ||
            memcmp(&p->value, &q->value, sizeof p->value) != 0)
                return false;
        if (a->op == OP_CONST)
                return literals_equal(a, b);
        return a->op != OP_VIEW || view_equal(p->view, q->view, a->in[0]->type.rank);
}

static bool nodes_equal(const Node *a, const Node *b)
{
        if (a->op != b->op || a->nin != b->nin || !type_equal(&a->type, &b->type))
                return false;
        for (int i = 0; i < a->nin; i++)
                if (input_shared(a, i) != input_shared(b, i))
                        return false;
        return a->op != OP_CARRY && attributes_equal(a, b);
}

/* Hashes a word that is the same for equal nodes. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
        return hash_bytes(hash, &word, sizeof word);
}

static uint64_t node_hash(const Node *n)
{
        uint64_t hash = mix(HASH_START, (uint64_t)n->op);
        for (int i = 0; i < n->nin; i++)
                hash = mix(hash, (uint64_t)input_shared(n, i)->id);
        hash = mix(hash, (uint64_t)n->attr.index + 31 * (uint64_t)n->attr.axis);
        hash = mix(hash, n->attr.weight ? (uint64_t)n->attr.weight->id : 0);
        if (n->op == OP_CONST && n->attr.literal->count > 0) {
                uint64_t bits;
                memcpy(&bits, n->attr.literal->value, sizeof bits);
                hash = mix(hash, bits);
        }
        return hash;
}

static void insert(CommonTable *t, Node *n)
{
        int64_t i = (int64_t)(node_hash(n) & (uint64_t)(t->slots - 1));
        while (t->slot[i])
                i = (i + 1) & (t->slots - 1);
        t->slot[i] = n;
        t->used++;
}

static void table_grow(CommonTable *t)
{
        Node **old = t->slot;
        int64_t slots = t->slots;
        t->slots = slots ? 2 * slots : 256;
        t->used = 0;
        t->slot = NEW_ARRAY(t->arena, Node *, t->slots);
        for (int64_t i = 0; i < slots; i++)
                if (old[i])
                        insert(t, old[i]);
}

Node *find_common(CommonTable *t, Node *n)
{
        if (n->op == OP_REPEAT || n->op == OP_APPEND || keeps_scan(n))
                return n;
        if (2 * t->used >= t->slots)
                table_grow(t);
        for (int64_t i = (int64_t)(node_hash(n) & (uint64_t)(t->slots - 1)); t->slot[i];
             i = (i + 1) & (t->slots - 1))
                if (nodes_equal(t->slot[i], n) && is_visible_from(t->slot[i], n->body))
                        return t->slot[i];
        insert(t, n);
        return n;
}
