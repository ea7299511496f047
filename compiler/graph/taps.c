/* Taps: names of values, and outputs made from them.
 *
 * In a repeat a value is one node in each distinct body.  As an output it is stacked over the iterations; a
 * tap of one iteration is a slice of that stack, in which iterations whose bodies lack the value have
 * zeros. */
#include "taps_private.h"

#include <stdlib.h>
#include <string.h>

/* --- paths ---------------------------------------------------------------------------------------------------- */

/* "attn.q": path of q in an instance attn.  base: instance of the body's repeat, where paths begin. */
static const char *instance_path(Arena *a, const Instance *where, const Instance *base, const char *name)
{
        for (; where && where != base; where = where->outer)
                if (!where->is_whole)
                        name = arena_printf(a, "%s.%s", where->name, name);
        return name;
}

static const char **paths_in(Arena *a, const Body *b, const Instance *base)
{
        const char **path = NEW_ARRAY(a, const char *, b->nnamed);
        for (int i = 0; i < b->nnamed; i++)
                path[i] = instance_path(a, b->named[i].where, base, b->named[i].name);
        return path;
}

/* The value of a path in its body; NULL: none, or *several. */
static Node *value_at(const Body *b, const char *const *path, const char *wanted, bool *several)
{
        const ValueName *found = NULL;
        *several = false;
        for (int i = 0; i < b->nnamed; i++) {
                const ValueName *v = &b->named[i];
                if (v->kind == INNER_REPEAT || strcmp(path[i], wanted) != 0)
                        continue;
                bool anew = !found || (found->kind == INSTANCE && v->kind == VARIABLE);
                bool again =
                        found && found->kind == VARIABLE && v->kind == VARIABLE && found->where == v->where;
                bool hidden = found && found->kind == VARIABLE && v->kind == INSTANCE;
                if (anew)
                        *several = false;
                else if (!again && !hidden && found->node != v->node)
                        *several = true;
                if (anew || again)
                        found = v;
        }
        return found && !*several ? found->node : NULL;
}

/* --- the list --------------------------------------------------------------------------------------------------- */

typedef struct {
        Arena *arena;
        Tap *tap;
        int n, cap;
} TapList;

static Tap *taps_find(const TapList *l, const char *name)
{
        for (int i = 0; i < l->n; i++)
                if (!strcmp(l->tap[i].name, name))
                        return &l->tap[i];
        return NULL;
}

static void tap_list_add(TapList *l, Tap tap)
{
        GROW(l->arena, l->tap, l->n, l->cap);
        l->tap[l->n++] = tap;
}

static void list_body(TapList *l, const Body *b, const Instance *base, int depth);

/* Adds the names in all bodies; names that all have are one. */
static void list_repeat(TapList *l, const ValueName *repeat, const char *path, int depth)
{
        const Region *r = repeat->node->attr.region;
        int first = l->n;
        for (int k = 0; k < r->nbody; k++) {
                TapList own = {.arena = l->arena};
                list_body(&own, r->body[k], repeat->where, depth + 1);
                for (int i = 0; i < own.n; i++) {
                        Tap t = own.tap[i];
                        t.name = arena_printf(l->arena, "%s[%c].%s", path, "ijklmnop"[depth % 8], t.name);
                        Type each = t.type;
                        t.type.rank = each.rank + 1;
                        if (t.type.rank > MAX_RANK)
                                continue;
                        t.type.dim[0] = dim_fixed(r->iterations);
                        memcpy(t.type.dim + 1, each.dim, (size_t)each.rank * sizeof *each.dim);
                        Tap *known = taps_find(l, t.name);
                        t.in_all_iterations &= k == 0;
                        if (!known)
                                tap_list_add(l, t);
                        else
                                known->in_all_iterations &=
                                        own.tap[i].in_all_iterations && type_equal(&known->type, &t.type);
                }
                for (int i = first; i < l->n; i++) {
                        const char *rest = l->tap[i].name + strlen(path) + 4;
                        l->tap[i].in_all_iterations &= taps_find(&own, rest) != NULL;
                }
        }
}

static void list_body(TapList *l, const Body *b, const Instance *base, int depth)
{
        const char **path = paths_in(l->arena, b, base);
        for (int i = 0; i < b->nnamed; i++) {
                bool several;
                if (b->named[i].kind == INNER_REPEAT) {
                        list_repeat(l, &b->named[i], path[i], depth);
                        continue;
                }
                const Node *n = value_at(b, path, path[i], &several);
                if (n && n->op != OP_WEIGHT && n->op != OP_INPUT && !taps_find(l, path[i]))
                        tap_list_add(l, (Tap){path[i], n->type, n->id, true});
        }
}

static int output_called(const Graph *g, const char *name)
{
        for (int i = 0; i < g->noutput; i++)
                if (!strcmp(g->output[i].name, name))
                        return i;
        return -1;
}

Tap *taps_of(Arena *arena, Graph *g, int *n)
{
        TapList l = {.arena = arena};
        list_body(&l, g->top, NULL, 0);
        *n = 0;
        for (int i = 0; i < l.n; i++)
                if (output_called(g, l.tap[i].name) < 0)
                        l.tap[(*n)++] = l.tap[i];
        return l.tap;
}

/* --- parsing of a name --------------------------------------------------------------------------------------------- */

enum { MAX_PARTS = 128, ALL_ITERATIONS = -1, NO_INDEX = -2 };

typedef struct {
        Graph *g;
        Arena *arena;
        const char *name; /* as passed */
        char *path;       /* "layer.attn.scores" */
        int npart;
        int64_t index[MAX_PARTS]; /* index in brackets after each part */
        const char *why;
} WantedTaps;

static bool taps_refuse(WantedTaps *w, const char *why)
{
        if (!w->why)
                w->why = why;
        return false;
}

/* Reads "[12]", "[i]", "[]" or nothing, and advances *at. */
static bool read_index(const char **at, int64_t *index)
{
        const char *c = *at;
        *index = NO_INDEX;
        if (*c != '[')
                return true;
        char *end;
        const char *close = strchr(c, ']');
        if (!close)
                return false;
        *index = ALL_ITERATIONS;
        if (c[1] >= '0' && c[1] <= '9') {
                *index = strtoll(c + 1, &end, 10);
                if (end != close)
                        return false;
        } else {
                for (c++; c < close; c++)
                        if (!is_name_char(*c))
                                return false;
        }
        *at = close + 1;
        return true;
}

static bool taps_read_name(WantedTaps *w)
{
        const char *c = w->name;
        char *to = w->path = arena_strdup(w->arena, w->name);
        for (;;) {
                const char *begin = c;
                while (is_name_char(*c))
                        *to++ = *c++;
                if (c == begin || w->npart == MAX_PARTS || !read_index(&c, &w->index[w->npart]))
                        break;
                w->npart++;
                if (!*c) {
                        *to = 0;
                        return true;
                }
                if (*c++ != '.')
                        break;
                *to++ = '.';
        }
        return taps_refuse(w, arena_printf(w->arena,
                                           "%s is no name of a value: one is like layer[0].attn.scores",
                                           w->name));
}

/* --- the node ------------------------------------------------------------------------------------------------------ */

Node *tap_zeros(Graph *g, Body *b, const Node *like)
{
        Instance *where = like->where;
        Node *zero = build_number(g, b, 0, like->type.dtype, like->span, where);
        return view_broadcast(g, b, zero, &like->type, like->span, where);
}

Node *tap_stack(Graph *g, Node *repeat, Node *const *value)
{
        Region *r = repeat->attr.region;
        const Node *one = value[0];
        for (int k = 0; k < r->nbody; k++) {
                Node **all = NEW_ARRAY(g->arena, Node *, r->nstack + 1);
                for (int i = 0; i < r->nstack; i++)
                        all[i] = r->body[k]->stack[i];
                all[r->nstack] = value[k];
                r->body[k]->stack = all;
        }
        Type type = one->type;
        type.rank++;
        type.dim[0] = dim_fixed(r->iterations);
        memcpy(type.dim + 1, one->type.dim, (size_t)one->type.rank * sizeof *one->type.dim);
        Attr attr = {.index = r->ncarry + r->nstack++, .slot = -1};
        Node *result = node_new(g, repeat->body, OP_RESULT, 1, &(Node *){repeat}, attr, type, one->span,
                                repeat->where);
        result->name = one->name;
        return result;
}

/* The value in iteration `index`, or a common one of all; NULL: none. */
static const Node *model_of(WantedTaps *w, const Region *r, Node *const *value, int64_t index)
{
        const Node *first = NULL;
        for (int k = 0; k < r->nbody && !first; k++)
                first = value[k];
        if (!first)
                return NULL;
        if (index >= r->iterations) {
                taps_refuse(w,
                            arena_printf(w->arena, "%s: %s has %lld iteration%s, counted from 0", w->name,
                                         r->name, (long long)r->iterations, r->iterations == 1 ? "" : "s"));
                return NULL;
        }
        if (index >= 0) {
                if (!value[r->body_of[index]])
                        taps_refuse(w, arena_printf(w->arena,
                                                    "%s: this iteration of %s has no such value, others have",
                                                    w->name, r->name));
                return value[r->body_of[index]];
        }
        for (int k = 0; k < r->nbody; k++)
                if (!value[k] || !type_equal(&value[k]->type, &first->type)) {
                        taps_refuse(w,
                                    arena_printf(w->arena,
                                                 "%s: not all iterations of %s have this value in one shape; "
                                                 "say of which "
                                                 "iteration, as in %s[0]",
                                                 w->name, r->name, r->name));
                        return NULL;
                }
        return first;
}

static Node *taps_reach(WantedTaps *w, Body *b, const Instance *base, const char *rest, int part);

static Node *reach_in_repeat(WantedTaps *w, const ValueName *repeat, const char *rest, int part)
{
        Graph *g = w->g;
        const Region *r = repeat->node->attr.region;
        int64_t index = w->index[part - 1];
        Node **value = NEW_ARRAY(w->arena, Node *, r->nbody);
        for (int k = 0; k < r->nbody; k++)
                value[k] = taps_reach(w, r->body[k], repeat->where, rest, part);
        const Node *like = w->why ? NULL : model_of(w, r, value, index);
        if (!like)
                return NULL;
        if (like->type.rank == MAX_RANK) {
                taps_refuse(w, arena_printf(w->arena, "%s: more than %d axes", w->name, MAX_RANK));
                return NULL;
        }
        for (int k = 0; k < r->nbody; k++)
                if (!value[k] || !type_equal(&value[k]->type, &like->type))
                        value[k] = tap_zeros(g, r->body[k], like);
        Node *all = tap_stack(g, repeat->node, value);
        if (index < 0)
                return all;
        Node *one = view_slice(g, all->body, all, 0, dim_fixed(index), dim_fixed(1), all->span, all->where);
        return view_drop(g, all->body, one, 0, all->span, all->where);
}

static bool has_index(const WantedTaps *w, int from)
{
        for (int i = from; i < w->npart; i++)
                if (w->index[i] != NO_INDEX)
                        return true;
        return false;
}

/* The value in a body of the rest of a path, which begins with part number `part`. */
static Node *taps_reach(WantedTaps *w, Body *b, const Instance *base, const char *rest, int part)
{
        const char **path = paths_in(w->arena, b, base);
        bool several;
        Node *n = value_at(b, path, rest, &several);
        if (several)
                taps_refuse(
                        w,
                        arena_printf(
                                w->arena,
                                "%s stands for several values: give the one that is meant a name of its own, "
                                "with `as` or a variable",
                                w->name));
        if (n && has_index(w, part))
                taps_refuse(
                        w,
                        arena_printf(w->arena,
                                     "%s: an index is an iteration's, and stands behind the name of a repeat",
                                     w->name));
        for (int i = 0; i < b->nnamed && !n && !w->why; i++) {
                size_t length = strlen(path[i]);
                if (b->named[i].kind != INNER_REPEAT || strncmp(path[i], rest, length) != 0 ||
                    rest[length] != '.')
                        continue;
                int parts = 1;
                for (const char *c = path[i]; *c; c++)
                        parts += *c == '.';
                n = reach_in_repeat(w, &b->named[i], rest + length + 1, part + parts);
        }
        return w->why ? NULL : n;
}

/* --- abbreviated names --------------------------------------------------------------------------------------------- */

/* End of a path's first part. */
static const char *part_end(const char *path)
{
        return path + strcspn(path, ".[");
}

static const char *next_part(const char *path)
{
        const char *point = strchr(path, '.');
        return point ? point + 1 : NULL;
}

static bool same_part(const char *a, const char *b)
{
        size_t n = (size_t)(part_end(a) - a);
        return n == (size_t)(part_end(b) - b) && !strncmp(a, b, n);
}

/* Whether `name` contains the parts of the requested path in order and ends with its last part.  *full:
 * the path with the omitted parts, in all iterations of their repeats. */
static bool is_short_for(const WantedTaps *w, const char *name, WantedTaps *full)
{
        const char *wanted = w->path;
        int part = 0;
        *full = (WantedTaps){
                .g = w->g, .arena = w->arena, .name = w->name, .path = arena_strdup(w->arena, name)};
        char *to = full->path;
        if (!same_part(last_name_part(w->path), last_name_part(name)))
                return false;
        for (const char *at = name; at; at = next_part(at)) {
                if (full->npart == MAX_PARTS)
                        return false;
                bool last = !next_part(at),
                     meant = wanted && same_part(wanted, at) && (last || next_part(wanted));
                full->index[full->npart++] = meant ? w->index[part++] : NO_INDEX;
                wanted = meant ? next_part(wanted) : wanted;
                for (const char *c = at; c < part_end(at); c++)
                        *to++ = *c;
                *to++ = last ? 0 : '.';
        }
        return !wanted;
}

/* Completes w if it abbreviates exactly one name. */
static void taps_complete(WantedTaps *w)
{
        int n, found = 0;
        const Tap *tap = taps_of(w->arena, w->g, &n);
        const char *names = "";
        WantedTaps full, whole = *w;
        for (int i = 0; i < n; i++) {
                if (!is_short_for(w, tap[i].name, &full))
                        continue;
                names = arena_printf(w->arena, "%s%s%s", names, found ? ", " : "", tap[i].name);
                if (found++ == 0)
                        whole = full;
        }
        if (found > 1)
                taps_refuse(w, arena_printf(w->arena, "%s may be short for each of %s", w->name, names));
        else
                *w = whole;
}

/* The name with the requested indices: "layer[i].attn" becomes "layer[3].attn". */
static const char *with_indices(const WantedTaps *w, const char *pattern)
{
        const char *text = "", *from = w->name;
        for (const char *at = pattern; *at;) {
                const char *open = strchr(at, '[');
                const char *given = strchr(from, '['), *end = given ? strchr(given, ']') : NULL;
                if (!open || !end)
                        return arena_printf(w->arena, "%s%s", text, at);
                text = arena_printf(w->arena, "%s%.*s%.*s", text, (int)(open - at), at,
                                    (int)(end + 1 - given), given);
                from = end + 1;
                at = strchr(open, ']') + 1;
        }
        return text;
}

/* The most similar name among those with the same last part, or among all. */
static const char *nearest_path(const WantedTaps *w, const char **name, int n)
{
        const char **same = NEW_ARRAY(w->arena, const char *, n);
        int nsame = 0;
        for (int i = 0; i < n; i++)
                if (same_part(last_name_part(name[i]), last_name_part(w->path)))
                        same[nsame++] = name[i];
        const char *near = nearest_name(w->name, same, nsame);
        return near ? near : nsame ? same[0] : nearest_name(w->name, name, n);
}

static const char *taps_unknown(const WantedTaps *w)
{
        Graph *g = w->g;
        Arena *a = w->arena;
        for (int i = 0; i < g->ninput; i++)
                if (!strcmp(g->input[i].name, w->name))
                        return arena_printf(a, "%s is an input", w->name);
        for (int i = 0; i < g->nweight; i++)
                if (!strcmp(g->weight[i]->path, w->path))
                        return arena_printf(a, "%s is a weight; `lathe weights` writes those", w->name);
        int n;
        const Tap *tap = taps_of(a, g, &n);
        const char **name = NEW_ARRAY(a, const char *, n + g->noutput), *near;
        for (int i = 0; i < n; i++)
                name[i] = tap[i].name;
        for (int i = 0; i < g->noutput; i++)
                name[n++] = g->output[i].name;
        near = nearest_path(w, name, n);
        return near ? arena_printf(a, "unknown value %s; did you mean %s?", w->name, with_indices(w, near))
                    : arena_printf(a, "unknown value %s; `lathe show MODEL taps` lists the names", w->name);
}

/* --- outputs ----------------------------------------------------------------------------------------------------------- */

/* Outputs are real. */
static Node *tap_as_real(Graph *g, Node *n)
{
        if (n->type.dtype == REAL)
                return n;
        Type type = n->type;
        type.dtype = REAL;
        Attr attr = {.slot = -1};
        if (n->type.dtype == INT)
                return node_new(g, n->body, OP_REAL_OF, 1, &n, attr, type, n->span, n->where);
        Node *in[] = {n, build_number(g, n->body, 1, REAL, n->span, n->where),
                      build_number(g, n->body, 0, REAL, n->span, n->where)};
        return node_new(g, n->body, OP_WHERE, 3, in, attr, type, n->span, n->where);
}

int tap_output(Graph *g, const char *name, Node *n)
{
        Output *all = NEW_ARRAY(g->arena, Output, g->noutput + 1);
        if (g->noutput)
                memcpy(all, g->output, (size_t)g->noutput * sizeof *all);
        g->output = all;
        g->output[g->noutput] = (Output){.name = name, .node = n, .span = n->span, .tap = name};
        return g->noutput++;
}

int tap_add(Graph *g, const char *name, const char **why)
{
        WantedTaps w = {.g = g, .arena = g->arena, .name = arena_strdup(g->arena, name)};
        int known = output_called(g, name);
        if (known >= 0)
                return known;
        Node *n = taps_read_name(&w) ? taps_reach(&w, g->top, NULL, w.path, 0) : NULL;
        if (!n && !w.why) {
                taps_complete(&w);
                n = w.why ? NULL : taps_reach(&w, g->top, NULL, w.path, 0);
        }
        if (!n) {
                *why = w.why ? w.why : taps_unknown(&w);
                return -1;
        }
        if (n->op == OP_INPUT || n->op == OP_WEIGHT) {
                *why = taps_unknown(&w);
                return -1;
        }
        return tap_output(g, w.name, tap_as_real(g, n));
}

bool taps_add(Graph *g, const char *names, const char **why)
{
        while (*names) {
                size_t n = strcspn(names, ",");
                if (tap_add(g, arena_strndup(g->arena, names, (int64_t)n), why) < 0)
                        return false;
                names += n + (names[n] == ',');
        }
        return true;
}
