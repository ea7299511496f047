/* See graph.h.  Names a softmax in its body, and taps it by that name. */
#include "graph.h"

#include <string.h>

typedef struct {
        Arena *arena;
        int wanted, n;
        AttentionSite *found; /* NULL: only counts */
        bool has_found;
        int64_t iteration[4];
} AttentionSearch;

static bool weighs_values(const Body *b, const Node *softmax)
{
        for (int i = 0; i < b->nnode; i++)
                if (b->node[i]->op == OP_MATMUL && base_of(b->node[i]->in[0]) == softmax)
                        return true;
        return false;
}

/* "encoder.layer": path of a repeat in its body */
static const char *repeat_path(Arena *a, const Body *b, const Node *repeat, const Instance *base)
{
        const char *path = repeat->attr.region->name;
        for (int i = 0; i < b->nnamed; i++) {
                if (b->named[i].kind != INNER_REPEAT || b->named[i].node != repeat)
                        continue;
                for (const Instance *w = b->named[i].where; w && w != base; w = w->outer)
                        if (!w->is_whole)
                                path = arena_printf(a, "%s.%s", w->name, path);
        }
        return path;
}

static const Instance *repeat_base(const Body *b, const Node *repeat)
{
        for (int i = 0; i < b->nnamed; i++)
                if (b->named[i].kind == INNER_REPEAT && b->named[i].node == repeat)
                        return b->named[i].where;
        return NULL;
}

/* "layer[2].attn.dot_product": path of a node's block.  path: prefix of its body; base: the instance in
 * which the body's names begin. */
static const char *block_name(Arena *a, const char *path, const Node *n, const Instance *base)
{
        const char *name = NULL;
        for (const Instance *w = n->where; w && w != base; w = w->outer)
                if (!w->is_whole)
                        name = name ? arena_printf(a, "%s.%s", w->name, name) : w->name;
        const size_t length = strlen(path);
        if (!name && length) /* without the final dot */
                return arena_strndup(a, path, (int64_t)length - 1);
        return arena_printf(a, "%s%s", path, name ? name : "");
}

static void attention_search(AttentionSearch *s, Body *b, const Instance *base, const char *path, int depth)
{
        for (int i = 0; i < b->nnode; i++) {
                Node *n = b->node[i];
                if (n->op == OP_SOFTMAX && weighs_values(b, n)) {
                        if (s->n++ == s->wanted) {
                                *s->found = (AttentionSite){n,     b,    {0},
                                                            depth, path, block_name(s->arena, path, n, base)};
                                memcpy(s->found->iteration, s->iteration, sizeof s->iteration);
                                s->has_found = true;
                        }
                }
                if (n->op != OP_REPEAT || depth == 4)
                        continue;
                const Region *r = n->attr.region;
                for (int64_t t = 0; t < r->iterations; t++) {
                        const char *inner = arena_printf(s->arena, "%s%s[%lld].", path,
                                                         repeat_path(s->arena, b, n, base), (long long)t);
                        s->iteration[depth] = t;
                        attention_search(s, r->body[r->body_of[t]], repeat_base(b, n), inner, depth + 1);
                }
        }
}

bool attention_find(Graph *g, Arena *a, int which, AttentionSite *found, int *n)
{
        AttentionSearch s = {.arena = a, .wanted = which, .found = found};
        attention_search(&s, g->top, NULL, "", 0);
        *n = s.n;
        return s.has_found;
}

static const char own_name[] = "_attention"; /* no valid name in a file */

static const char *name_in_body(Graph *g, const AttentionSite *at)
{
        Body *b = at->body;
        ValueName *all = NEW_ARRAY(g->arena, ValueName, b->nnamed + 1);
        if (b->nnamed)
                memcpy(all, b->named, (size_t)b->nnamed * sizeof *all);
        const Instance *base = NULL;
        if (b->region)
                base = repeat_base(b->region->repeat->body, b->region->repeat);
        all[b->nnamed] = (ValueName){VARIABLE, own_name, base, at->softmax};
        b->named = all;
        b->cap_named = ++b->nnamed;
        return own_name;
}

int attention_tap_add(Graph *g, int which, const char **why)
{
        AttentionSite at;
        int n;
        if (!attention_find(g, g->arena, which, &at, &n)) {
                *why = n ? arena_printf(g->arena, "%s has %d attention%s, counted from 0", g->name, n,
                                        n > 1 ? "s" : "")
                         : arena_printf(g->arena, "%s has no attention", g->name);
                return -1;
        }
        return tap_add(g, arena_printf(g->arena, "%s%s", at.path, name_in_body(g, &at)), why);
}

/* NULL: none has a name. */
static const Node *named_in_body(const Body *b)
{
        for (int i = 0; i < b->nnamed; i++)
                if (b->named[i].name == own_name)
                        return b->named[i].node;
        return NULL;
}

/* "layer[2].x" -> "layer[i].x" */
static const char *of_all_iterations(Arena *a, const char *path)
{
        const char *all = "";
        for (const char *open; (open = strchr(path, '[')); path = strchr(open, ']'))
                all = arena_printf(a, "%s%.*s[i", all, (int)(open - path), path);
        return arena_printf(a, "%s%s", all, path);
}

int attention_taps_add(Graph *g, const char **why)
{
        const char *path = NULL;
        AttentionSite at;
        for (int i = 0, n = 1; i < n && attention_find(g, g->arena, i, &at, &n); i++) {
                const char *of_all = of_all_iterations(g->arena, at.path);
                const Node *named = named_in_body(at.body);
                if ((path && strcmp(path, of_all) != 0) || (named && named != at.softmax)) {
                        *why = arena_printf(g->arena, "%s has attentions in several places", g->name);
                        return -1;
                }
                if (!named)
                        name_in_body(g, &at);
                path = of_all;
        }
        if (!path) {
                *why = arena_printf(g->arena, "%s has no attention", g->name);
                return -1;
        }
        const int before = g->noutput,
                  output = tap_add(g, arena_printf(g->arena, "%s%s", path, own_name), why);
        /* a valid name in C */
        if (output == before)
                g->output[output].name = "attention";
        return output;
}
