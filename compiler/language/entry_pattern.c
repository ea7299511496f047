/* Checkpoint entries of many iterations from one expression.
 *
 * In `"layers.{i}.experts.{e}.up.weight" = layer[i].ffn.expert[e].up.w'` the indices i and e only select weights.  So
 * two iterations that select slots of the same weights have the same expression but for these slots.  It is evaluated
 * once; the entry of another iteration has its own name and its own list of slots (CkEntry.slot).
 *
 * Where an index has another use, all iterations are evaluated. */
#include "elaborate_private.h"

#include <string.h>

/* A path of weights with indices. */
typedef struct {
        PathNode *node;
        int nindex, index[MAX_REGIONS]; /* which of the entry's */
        int64_t iterations[MAX_REGIONS];
} PatternPath;

/* Text of the published name, followed by the value of an index; the last one has none. */
typedef struct {
        const char *text;
        size_t length;
        int index;
} NamePart;

struct EntryPattern {
        Elaborator *e;
        const char *const *index; /* names of the indices */
        const int64_t *iteration; /* their current values */
        int n;
        bool fits;
        PatternPath *path;
        int npath, path_cap;
        NamePart *part;
        int npart, part_cap;
        size_t name_size;
        Weight **weight; /* of the current iteration */
        int32_t *slot;
        int nleaf, weight_cap, slot_cap;
        PatternResult *result;
};

static int pattern_index(const EntryPattern *p, const char *name)
{
        for (int i = 0; i < p->n; i++)
                if (p->index[i] == name)
                        return i;
        return -1;
}

bool ast_mentions(const Ast *t, const char *name)
{
        if ((t->kind == AST_NAME || (t->kind == AST_ARG && !t->kid[0])) && t->name == name)
                return true;
        for (int i = 0; i < t->nkid; i++)
                if (t->kid[i] && ast_mentions(t->kid[i], name))
                        return true;
        return false;
}

static bool mentions_index(const EntryPattern *p, const Ast *t)
{
        bool found = false;
        for (int i = 0; i < p->n; i++)
                found |= ast_mentions(t, p->index[i]);
        return found;
}

/* The path that an expression is, if all its indices are those of the entry. */
static bool read_path(const EntryPattern *p, const Ast *t, PatternPath *path)
{
        if (t->kind == AST_NAME) {
                *path = (PatternPath){.node = weights_under(p->e->paths, t->name)};
                return path->node;
        }
        if ((t->kind != AST_FIELD && t->kind != AST_INDEX) || !read_path(p, t->kid[0], path))
                return false;
        if (t->kind == AST_FIELD)
                return (path->node = weights_under(path->node, t->name)) != NULL;
        const int i = t->nkid == 2 && t->kid[1]->kind == AST_NAME ? pattern_index(p, t->kid[1]->name) : -1;
        if (i < 0 || path->nindex == MAX_REGIONS)
                return false;
        path->index[path->nindex] = i;
        path->iterations[path->nindex++] = path->node->iterations;
        return true;
}

static void find_paths(EntryPattern *p, const Ast *t)
{
        PatternPath path;
        if (!p->fits || !mentions_index(p, t))
                return;
        if (read_path(p, t, &path) && path.node->weight && path.nindex <= path.node->weight->nregion) {
                GROW(p->e->arena, p->path, p->npath, p->path_cap);
                p->path[p->npath++] = path;
                return;
        }
        p->fits = t->nkid > 0 && t->kind != AST_OVER && t->kind != AST_ALONG && t->kind != AST_INDEX &&
                  t->kind != AST_FIELD;
        for (int i = 0; i < t->nkid; i++)
                if (t->kid[i])
                        find_paths(p, t->kid[i]);
}

static void add_name_part(EntryPattern *p, const char *text, size_t length, int index)
{
        GROW(p->e->arena, p->part, p->npart, p->part_cap);
        p->part[p->npart++] = (NamePart){text, length, index};
        p->name_size += length + 20;
}

/* Divides the name at its placeholders; false: one is not an index. */
static bool read_name(EntryPattern *p, const char *name)
{
        const char *open, *end;
        for (; (open = strchr(name, '{')); name = end + 1) {
                end = strchr(open, '}');
                const int i = pattern_index(p, intern(p->e->program->names, open + 1, (int)(end - open - 1)));
                if (i < 0)
                        return false;
                add_name_part(p, name, (size_t)(open - name), i);
        }
        add_name_part(p, name, strlen(name), -1);
        return true;
}

EntryPattern *entry_pattern(Elaborator *e, const Ast *right, const char *published, const char *const *index,
                            const int64_t *iteration, int n)
{
        EntryPattern *p = NEW(e->arena, EntryPattern);
        *p = (EntryPattern){.e = e, .index = index, .iteration = iteration, .n = n, .fits = n > 0};
        find_paths(p, right);
        return p->fits && read_name(p, published) ? p : NULL;
}

/* ---- one iteration ---- */

/* Adds the weights of a path, those of inner repeats without an index in order. */
static void add_leaves(EntryPattern *p, PathValue *path)
{
        const Weight *first = path->node->weight;
        if (path->nindex < first->nregion) {
                const int at = path->nindex++;
                for (int64_t t = 0; t < first->region[at]->iterations; t++) {
                        path->index[at] = t;
                        add_leaves(p, path);
                }
                path->nindex--;
                return;
        }
        int64_t slot = -1;
        Weight *w = weight_of_path(p->e, path, &slot);
        GROW(p->e->arena, p->weight, p->nleaf, p->weight_cap);
        GROW(p->e->arena, p->slot, p->nleaf, p->slot_cap);
        p->weight[p->nleaf] = w;
        p->slot[p->nleaf++] = (int32_t)slot;
}

const PatternResult *pattern_result(EntryPattern *p)
{
        p->nleaf = 0;
        for (int i = 0; i < p->npath; i++) {
                const PatternPath *known = &p->path[i];
                PathValue path = {.node = known->node, .nindex = known->nindex};
                for (int k = 0; k < path.nindex; k++) {
                        path.index[k] = p->iteration[known->index[k]];
                        if (path.index[k] >= known->iterations[k]) { /* an error */
                                p->nleaf = 0;
                                return NULL;
                        }
                }
                add_leaves(p, &path);
        }
        for (const PatternResult *r = p->result; r; r = r->next)
                if (!memcmp(r->weight, p->weight, (size_t)p->nleaf * sizeof *r->weight))
                        return r;
        return NULL;
}

/* Numbers the WEIGHT nodes by the paths that they are of; false: it is not decided. */
static bool number_leaves(const EntryPattern *p, Node *n, int first, bool *seen, bool *taken)
{
        if (n->id < first)
                return n->nin == 0 && n->op != OP_WEIGHT;
        if (seen[n->id - first])
                return true;
        seen[n->id - first] = true;
        if (n->op == OP_WEIGHT) {
                int found = -1;
                for (int i = 0; i < p->nleaf; i++)
                        if (p->weight[i] == n->attr.weight && p->slot[i] == n->attr.slot) {
                                if (found >= 0)
                                        return false;
                                found = i;
                        }
                if (found < 0 || taken[found])
                        return false;
                taken[found] = true;
                n->attr.index = found;
        }
        for (int i = 0; i < n->nin; i++)
                if (!number_leaves(p, n->in[i], first, seen, taken))
                        return false;
        return true;
}

void pattern_learn(EntryPattern *p, Node *expr, int first)
{
        Arena *a = p->e->arena;
        if (p->nleaf < 1)
                return;
        if (expr && !number_leaves(p, expr, first, NEW_ARRAY(a, bool, p->e->g->nnode - first),
                                   NEW_ARRAY(a, bool, p->nleaf)))
                return;
        PatternResult *r = NEW(a, PatternResult);
        r->weight = NEW_ARRAY(a, Weight *, p->nleaf);
        memcpy(r->weight, p->weight, (size_t)p->nleaf * sizeof *r->weight);
        r->expr = expr;
        r->next = p->result;
        p->result = r;
}

const int32_t *pattern_slots(const EntryPattern *p)
{
        int32_t *slot = NEW_ARRAY(p->e->keep, int32_t, p->nleaf);
        memcpy(slot, p->slot, (size_t)p->nleaf * sizeof *slot);
        return slot;
}

static char *put_number(char *to, int64_t n)
{
        char digit[20];
        int count = 0;
        do
                digit[count++] = (char)('0' + n % 10);
        while (n /= 10);
        while (count)
                *to++ = digit[--count];
        return to;
}

const char *pattern_name(const EntryPattern *p)
{
        char *text = arena_alloc(p->e->keep, (int64_t)p->name_size), *to = text;
        for (int i = 0; i < p->npart; i++) {
                memcpy(to, p->part[i].text, p->part[i].length);
                to += p->part[i].length;
                if (p->part[i].index >= 0)
                        to = put_number(to, p->iteration[p->part[i].index]);
        }
        return text;
}
