/* All tokens in one double array: the child of a node for a byte is at the node's base plus that byte.  token_child() and token_longest_at() of
 * runtime/token_wordpiece.h look tokens up. */
#include "form_private.h"

#include <stdlib.h>

enum { TRIES = 64, STEPS = 1024, MAX_NODES = 1 << 27 };

typedef struct {
        Bytes text;
        int32_t token;
} Key;

/* Keys first … last - 1 have the first `depth` bytes in common, which lead to a node. */
typedef struct {
        int32_t first, last;
        int64_t depth;
        uint32_t node;
} Branch;

typedef struct {
        Arena *arena;
        const Key *key;
        TokenNode *node;  /* [room] */
        uint32_t n, room; /* n: number of used nodes */
        uint32_t from[2]; /* start of the search for a place: with one child, with several */
        Branch *branch;
        int64_t branches, cap;
} Trie;

static int compare_keys(const void *a, const void *b)
{
        const Key *x = a, *y = b;
        int order = memcmp(x->text.at, y->text.at, (size_t)(x->text.n < y->text.n ? x->text.n : y->text.n));
        if (order)
                return order;
        if (x->text.n != y->text.n)
                return x->text.n < y->text.n ? -1 : 1;
        return (x->token > y->token) - (x->token < y->token);
}

static void trie_room(Trie *t, uint32_t n)
{
        if (n <= t->room)
                return;
        uint32_t room = t->room ? t->room : 4096;
        while (room < n)
                room *= 2;
        t->node = arena_grow(t->arena, t->node, t->room * (int64_t)sizeof *t->node,
                             room * (int64_t)sizeof *t->node);
        for (uint32_t i = t->room; i < room; i++)
                t->node[i] = (TokenNode){0, UINT32_MAX, -1};
        t->room = room;
}

static unsigned byte_of(const Trie *t, int32_t key, int64_t depth)
{
        return (unsigned char)t->key[key].text.at[depth];
}

static bool trie_is_free(const Trie *t, uint64_t at)
{
        return at > 0 && (at >= t->room || t->node[at].check == UINT32_MAX);
}

/* A base for which the places of all bytes are free; places that often were not free are not looked at again. */
static uint32_t find_base(Trie *t, const unsigned char *byte, int n)
{
        uint32_t *from = &t->from[n > 1], at = *from;
        for (int tries = 0, steps = 0; at < t->n && tries < TRIES && steps < STEPS; at++, steps++) {
                if (at < byte[0] || !trie_is_free(t, at)) {
                        *from += at == *from && at >= 256;
                        continue;
                }
                int fits = 1;
                while (fits < n && trie_is_free(t, (uint64_t)at - byte[0] + byte[fits]))
                        fits++;
                if (fits == n)
                        return at - byte[0];
                tries++;
        }
        *from = at > 256 ? at : *from;
        return t->n;
}

static void grow_branch(Trie *t, Branch b)
{
        unsigned char byte[256];
        int n = 0;
        while (b.first < b.last && t->key[b.first].text.n == b.depth)
                t->node[b.node].token = t->key[b.first++].token; /* the last of equals */
        for (int32_t i = b.first; i < b.last; i++)
                if (!n || byte_of(t, i, b.depth) != byte[n - 1])
                        byte[n++] = (unsigned char)byte_of(t, i, b.depth);
        if (!n)
                return;
        const uint32_t base = find_base(t, byte, n);
        trie_room(t, base + 256);
        t->node[b.node].base = base;
        for (int32_t i = b.first, next; i < b.last; i = next) {
                const uint32_t child = base + byte_of(t, i, b.depth);
                for (next = i + 1; next < b.last && byte_of(t, next, b.depth) == byte_of(t, i, b.depth);)
                        next++;
                t->node[child].check = b.node;
                t->n = child >= t->n ? child + 1 : t->n;
                GROW(t->arena, t->branch, t->branches, t->cap);
                t->branch[t->branches++] = (Branch){i, next, b.depth + 1, child};
        }
}

TokenNode *trie_make(Arena *a, const Bytes *text, int32_t n, uint32_t *nodes)
{
        Key *key = NEW_ARRAY(a, Key, n + 1);
        Trie t = {.arena = a, .key = key, .n = 1, .from = {1, 1}};
        int32_t keys = 0;
        for (int32_t i = 0; i < n; i++)
                if (text[i].n)
                        key[keys++] = (Key){text[i], i};
        qsort(key, (size_t)keys, sizeof *key, compare_keys);
        trie_room(&t, 1);
        GROW(a, t.branch, t.branches, t.cap);
        t.branch[t.branches++] = (Branch){0, keys, 0, 0};
        while (t.branches && t.n < MAX_NODES)
                grow_branch(&t, t.branch[--t.branches]);
        *nodes = t.n;
        return t.branches ? NULL : t.node;
}
