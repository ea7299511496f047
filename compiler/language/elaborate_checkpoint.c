/* Checkpoint entries: `"model.layers.{i}.attn.weight" = layer[i].attn.q.w`, once for every iteration that
 * has the weights.
 *
 * The right side is an ordinary expression over weights by path, elaborated into its own body.  A `{i}` in
 * the published name runs over the iterations of the repeat, or the elements of the list, that [i] indexes
 * on the right side.  An iteration that lacks a weight is skipped; it is an error if no iteration has it.
 * `{prefix}`, where prefix is a text of the model, is replaced by that text, and `{first[i % 2]}` by the
 * value of the expression, a text or a whole number. */
#include "elaborate_private.h"

#include <string.h>

enum { MAX_PLACEHOLDERS = 4 };

/* The checkpoints that inherit from the current one: their entries replace its entries of the same name. */
typedef struct Heirs Heirs;
struct Heirs {
        const Heirs *outer;
        const Ast *checkpoint;
};

typedef struct Conditions Conditions;
struct Conditions {
        const Conditions *outer;
        const Ast *condition;
        bool wanted;
};

typedef struct {
        Elaborator *e;
        Scope *scope;
        const Conditions *conditions;
        const Ast *map;
        const char *published; /* the name with texts filled in */
        int n;
        const char *name[MAX_PLACEHOLDERS];
        int64_t iterations[MAX_PLACEHOLDERS], iteration[MAX_PLACEHOLDERS];
        int64_t made;
        bool asks;             /* conditions depend on the iteration */
        EntryPattern *pattern; /* or NULL */
} CheckpointEntry;

/* A name of weights in an entry which no iteration has: a mistake, or a part that this structure lacks. */
typedef struct AbsentWeights {
        const PathNode *in;
        const Ast *field;
        struct AbsentWeights *next;
} AbsentWeights;

/* ---- weights by path ---- */

static const char *path_name(Elaborator *e, const PathNode *p)
{
        const char *text = p->name;
        for (p = p->outer; p && p->outer; p = p->outer)
                text = arena_printf(e->diag->arena, "%s.%s", p->name, text);
        return text;
}

PathNode *weights_under(const PathNode *p, const char *name)
{
        for (PathNode *c = p->child; c; c = c->next)
                if (c->name == name)
                        return c;
        return NULL;
}

static void report_absent(Elaborator *e, const PathNode *in, const Ast *field)
{
        const char *names[256];
        int n = 0;
        for (PathNode *c = in->child; c && n < 256; c = c->next)
                names[n++] = c->name;
        poisoned(e, field->name_span, "there are no weights %s in %s", field->name, path_name(e, in));
        hint_nearest(e, field->name, names, n);
}

Value path_field(Elaborator *e, const PathValue *path, const Ast *field)
{
        PathNode *child = weights_under(path->node, field->name);
        if (child) {
                PathValue *p = NEW(e->arena, PathValue);
                *p = *path;
                p->node = child;
                return (Value){.kind = V_PATH, .path = p};
        }
        if (path->nindex > 0) { /* this structure may have no such layer */
                AbsentWeights *absent = NEW(e->arena, AbsentWeights);
                *absent = (AbsentWeights){path->node, field, e->absent};
                e->absent = absent;
                e->missing_weight = true;
        } else {
                report_absent(e, path->node, field);
        }
        return POISON;
}

Value path_index(Elaborator *e, const PathValue *path, Scope *scope, const Ast *index)
{
        int64_t i;
        int around = 0;
        const PathNode *region = NULL;
        for (const PathNode *p = path->node->outer; p; p = p->outer)
                if (p->is_region)
                        around++, region = p;
        if (index->nkid != 2 || path->nindex > around)
                return poisoned(e, index->span, "%s has one index", path_name(e, path->node));
        if (path->nindex < around)
                return poisoned(e, index->span,
                                "an iteration of %s is one of an iteration of %s: write %s[i] too",
                                path_name(e, path->node), path_name(e, region), region->name);
        if (!want_int(e, eval(e, scope, index->kid[1], NULL), index->kid[1]->span, "an iteration", &i))
                return POISON;
        if (i < 0 || i >= path->node->iterations)
                return poisoned(e, index->kid[1]->span, "%s has %lld iterations, so no iteration %lld",
                                path_name(e, path->node), (long long)path->node->iterations, (long long)i);
        PathValue *p = NEW(e->arena, PathValue);
        *p = *path;
        p->index[p->nindex++] = i;
        return (Value){.kind = V_PATH, .path = p};
}

/* The slot of w in the path's iterations; -1: they lack it. */
static int64_t slot_of_path(const Weight *w, const PathValue *path)
{
        int64_t iteration = 0;
        if (w->nregion == 0)
                return 0;
        for (int r = 0; r < w->nregion; r++) {
                if (path->index[r] >= w->region[r]->iterations)
                        return -1;
                iteration = iteration * w->region[r]->iterations + path->index[r];
        }
        return w->slot_of[iteration];
}

Weight *weight_of_path(const Elaborator *e, const PathValue *path, int64_t *slot)
{
        const Weight *first = path->node->weight;
        for (int i = 0; i < e->g->nweight; i++) {
                Weight *w = e->g->weight[first->id + i < e->g->nweight ? first->id + i
                                                                       : first->id + i - e->g->nweight];
                if (w->path == first->path && w->nregion == path->nindex &&
                    (*slot = slot_of_path(w, path)) >= 0)
                        return w;
        }
        return NULL;
}

/* The weight in the path's iterations; NULL if they lack it. */
static Node *weight_in_iterations(Elaborator *e, const PathValue *path, Span span)
{
        int64_t slot;
        Weight *w = weight_of_path(e, path, &slot);
        if (w)
                return node_new(e->g, e->body, OP_WEIGHT, 0, NULL, (Attr){.weight = w, .slot = (int)slot},
                                w->type, span, e->where);
        e->missing_weight = true;
        return NULL;
}

/* Inner repeats without an index in the path are stacked outermost. */
static Node *stacked_weight(Elaborator *e, const PathValue *path, Span span)
{
        const Weight *first = path->node->weight;
        if (path->nindex == first->nregion)
                return weight_in_iterations(e, path, span);
        PathValue inner = *path;
        int iterations = (int)first->region[inner.nindex++]->iterations;
        Value *item = NEW_ARRAY(e->arena, Value, iterations);
        for (int t = 0; t < iterations; t++) {
                inner.index[path->nindex] = t;
                Node *n = stacked_weight(e, &inner, span);
                if (!n)
                        return NULL;
                item[t] = (Value){.kind = V_TENSOR, .tensor = n};
        }
        Value v = stack_values(e, iterations, item, 0, span);
        return is_poison(v) ? NULL : v.tensor;
}

Node *path_weight(Elaborator *e, const PathValue *path, Span span)
{
        if (path->node->weight)
                return stacked_weight(e, path, span);
        poisoned(e, span, "%s is not a weight", path_name(e, path->node));
        if (path->node->child)
                diag_hint(e->diag, "it has weights under it: %s.%s ..", path->node->name,
                          path->node->child->name);
        return NULL;
}

/* ---- placeholders ---- */

/* The repeat that `object[name]` indexes, found without evaluation: object consists of names, fields and
 * indices. */
static PathNode *static_path(Elaborator *e, const Ast *ast)
{
        if (ast->kind == AST_NAME)
                return weights_under(e->paths, ast->name);
        if (ast->kind == AST_INDEX)
                return static_path(e, ast->kid[0]);
        if (ast->kind != AST_FIELD)
                return NULL;
        PathNode *object = static_path(e, ast->kid[0]);
        return object ? weights_under(object, ast->name) : NULL;
}

/* Number of elements of a list of the model, by its name; -1: no such list. */
static int64_t list_elements(Elaborator *e, Scope *scope, const Ast *list)
{
        Value v;
        bool found = list->kind == AST_NAME && scope_find_nearby(e, scope, list->name, false, &v);
        return found && v.kind == V_LIST ? v.list->n : -1;
}

/* Number of iterations of the repeat, or of elements of the list, that [name] indexes in an expression; -1:
 * it indexes nothing. */
static int64_t checkpoint_iterations(Elaborator *e, Scope *scope, const Ast *ast, const char *name)
{
        int64_t iterations = -1;
        if (ast->kind == AST_INDEX && ast->nkid == 2 && ast->kid[1]->kind == AST_NAME &&
            ast->kid[1]->name == name) {
                PathNode *p = static_path(e, ast->kid[0]);
                iterations = p ? p->is_region ? p->iterations : -1 : list_elements(e, scope, ast->kid[0]);
        }
        for (int i = 0; i < ast->nkid && iterations < 0; i++)
                if (ast->kid[i])
                        iterations = checkpoint_iterations(e, scope, ast->kid[i], name);
        return iterations;
}

/* Errors in the expression of a placeholder point to the entry's name. */
static void set_spans(Ast *ast, Span span)
{
        ast->span = ast->name_span = span;
        for (int i = 0; i < ast->nkid; i++)
                if (ast->kid[i])
                        set_spans(ast->kid[i], span);
}

/* The expression between { and }; NULL: not one. */
static const Ast *placeholder_expression(Elaborator *e, const char *text, Span span)
{
        Ast *tree = parse_input(e->arena, e->program->names, NULL,
                                source_new(e->arena, "", text, (int32_t)strlen(text)));
        if (!tree || tree->nkid != 1 || !ast_is_expression(tree->kid[0]->kind))
                return poisoned(e, span, "{%s} is neither a name nor an expression", text), NULL;
        set_spans(tree->kid[0], span);
        return tree->kid[0];
}

static const char *placeholder_text(Elaborator *e, Value v, const char *placeholder, Span span)
{
        if (v.kind == V_TEXT)
                return v.text;
        if (v.kind == V_INT)
                return arena_printf(e->keep, "%.0f", v.number);
        if (!is_poison(v))
                poisoned(e, span, "{%s} must be a text or a whole number, not %s", placeholder,
                         value_text_of(e, v));
        return NULL;
}

/* Whether a name in the expression is an index on the right side. */
static bool depends_on_index(Elaborator *e, Scope *scope, const Ast *right, const Ast *ast)
{
        if (ast->kind == AST_NAME && checkpoint_iterations(e, scope, right, ast->name) >= 0)
                return true;
        for (int i = 0; i < ast->nkid; i++)
                if (ast->kid[i] && depends_on_index(e, scope, right, ast->kid[i]))
                        return true;
        return false;
}

/* Replacement of a placeholder in a published name: the text or the whole number that it names, or the
 * value of its expression.  NULL: it is or has an index on the right side. */
static const char *placeholder_part(Elaborator *e, Scope *scope, const Ast *right, const char *placeholder,
                                    Span span)
{
        Value v;
        if (!is_name_text(placeholder)) {
                const Ast *expression = placeholder_expression(e, placeholder, span);
                if (!expression || (right && depends_on_index(e, scope, right, expression)))
                        return NULL;
                return placeholder_text(e, eval(e, scope, expression, NULL), placeholder, span);
        }
        if (!scope_find_nearby(e, scope, placeholder, false, &v))
                return NULL;
        if (v.kind == V_INT && right && checkpoint_iterations(e, scope, right, placeholder) >= 0)
                return NULL;
        return v.kind == V_INT || v.kind == V_TEXT ? placeholder_text(e, v, placeholder, span) : NULL;
}

const char *with_texts(Elaborator *e, Scope *scope, const char *name, const Ast *right, Span span)
{
        const char *text = "", *p = name, *open, *end;
        for (; (open = strchr(p, '{')) && (end = strchr(open, '}')); p = end + 1) {
                const char *filled = placeholder_part(
                        e, scope, right, intern(e->program->names, open + 1, (int)(end - open - 1)), span);
                text = filled ? arena_printf(e->keep, "%s%.*s%s", text, (int)(open - p), p, filled)
                              : arena_printf(e->keep, "%s%.*s", text, (int)(end + 1 - p), p);
        }
        return arena_printf(e->keep, "%s%s", text, p);
}

/* Whether all outer `if`s hold; -1 after an error. */
static int conditions_hold(Elaborator *e, Scope *scope, const Conditions *c)
{
        bool truth;
        if (!c)
                return 1;
        int outer = conditions_hold(e, scope, c->outer);
        if (outer <= 0)
                return outer;
        if (!eval_condition(e, scope, c->condition, &truth))
                return -1;
        return truth == c->wanted;
}

/* Adds an index of the name, if the right side has it. */
static bool add_entry_index(CheckpointEntry *entry, const char *name)
{
        Elaborator *e = entry->e;
        int64_t iterations = checkpoint_iterations(e, entry->scope, entry->map->kid[0], name);
        for (int i = 0; i < entry->n; i++)
                if (entry->name[i] == name)
                        return true;
        if (iterations < 0)
                return false;
        if (entry->n == MAX_PLACEHOLDERS)
                return poisoned(e, entry->map->name_span, "more than %d indices in a name", MAX_PLACEHOLDERS),
                       false;
        entry->iterations[entry->n] = iterations;
        entry->name[entry->n++] = name;
        return true;
}

static void add_indices(CheckpointEntry *entry, const Ast *ast)
{
        if (ast && ast->kind == AST_NAME)
                add_entry_index(entry, ast->name);
        for (int i = 0; ast && i < ast->nkid; i++)
                add_indices(entry, ast->kid[i]);
}

static bool find_placeholders(CheckpointEntry *entry)
{
        Elaborator *e = entry->e;
        int errors = e->diag->count;
        for (const char *p = entry->published; (p = strchr(p, '{')) && e->diag->count == errors; p++) {
                const char *end = strchr(p, '}');
                if (!end)
                        return poisoned(e, entry->map->name_span, "a { without }"), false;
                const char *name = intern(e->program->names, p + 1, (int)(end - p - 1));
                if (!is_name_text(name)) {
                        add_indices(entry, placeholder_expression(e, name, entry->map->name_span));
                } else if (!add_entry_index(entry, name) && e->diag->count == errors) {
                        if (entry->conditions && conditions_hold(e, entry->scope, entry->conditions) <= 0)
                                return false;
                        poisoned(e, entry->map->span,
                                 "{%s} runs over nothing: no repeat or list on the right side is indexed by "
                                 "%s",
                                 name, name);
                }
        }
        return e->diag->count == errors;
}

/* The name in the current iterations; scope: with the indices.  NULL after an error. */
static const char *filled_name(const CheckpointEntry *entry, Scope *scope)
{
        Elaborator *e = entry->e;
        Span span = entry->map->name_span;
        const char *text = "", *p = entry->published, *open;
        for (; (open = strchr(p, '{')); p = strchr(open, '}') + 1) {
                const char *name = intern(e->program->names, open + 1, (int)(strchr(open, '}') - open - 1));
                const char *part = placeholder_part(e, scope, NULL, name, span);
                if (!part)
                        return NULL;
                text = arena_printf(e->keep, "%s%.*s%s", text, (int)(open - p), p, part);
        }
        return arena_printf(e->keep, "%s%s", text, p);
}

/* ---- entries ---- */

static void add_entry(Elaborator *e, CkEntry entry)
{
        GROW(e->keep, e->g->entry, e->g->nentry, e->entry_cap);
        e->g->entry[e->g->nentry++] = entry;
}

static CkKind map_kind(const Ast *map)
{
        return map->nkid > 1 ? CK_OPTIONAL : CK_MAP;
}

/* Evaluates the entry of one iteration. */
static bool eval_entry(CheckpointEntry *entry, Scope *scope)
{
        Elaborator *e = entry->e;
        const Ast *right = entry->map->kid[0];
        const int errors = e->diag->count, first = e->g->nnode;
        const AbsentWeights *absent = e->absent;
        e->missing_weight = false;
        Value v = eval(e, scope, right, NULL);
        Node *n = is_poison(v) ? NULL : to_tensor(e, v, right->span);
        const char *name = n ? filled_name(entry, scope) : NULL;
        if (name) {
                add_entry(e, (CkEntry){map_kind(entry->map), name, n, NULL, entry->map->span});
                entry->made++;
        }
        entry->made += e->absent != absent;
        if (entry->pattern && e->absent == absent && e->diag->count == errors)
                pattern_learn(entry->pattern, n, first);
        return e->diag->count == errors;
}

static bool make_entry(CheckpointEntry *entry)
{
        Elaborator *e = entry->e;
        EntryPattern *pattern = entry->pattern;
        const PatternResult *known = pattern ? pattern_result(pattern) : NULL;
        Scope *scope = NULL;
        if (entry->asks || !known) {
                scope = scope_new(e, entry->scope, true);
                for (int i = 0; i < entry->n; i++)
                        scope_set(e, scope, entry->name[i], value_int(entry->iteration[i]),
                                  entry->map->name_span);
        }
        const int hold = entry->asks ? conditions_hold(e, scope, entry->conditions) : 1;
        if (hold <= 0)
                return entry->made += hold == 0, hold == 0;
        if (!known)
                return eval_entry(entry, scope);
        if (known->expr) {
                add_entry(e, (CkEntry){map_kind(entry->map), pattern_name(pattern), known->expr,
                                       pattern_slots(pattern), entry->map->span});
                entry->made++;
        }
        return true;
}

/* Whether a condition depends on an index of the entry. */
static bool conditions_ask(const CheckpointEntry *entry)
{
        for (const Conditions *c = entry->conditions; c; c = c->outer)
                for (int i = 0; i < entry->n; i++)
                        if (ast_mentions(c->condition, entry->name[i]))
                                return true;
        return false;
}

static void run_map(Elaborator *e, Scope *scope, const Ast *map, const Conditions *conditions)
{
        CheckpointEntry entry = {.e = e, .scope = scope, .map = map, .conditions = conditions};
        int errors = e->diag->count;
        entry.published = with_texts(e, scope, map->name, map->kid[0], map->name_span);
        if (e->diag->count != errors || !find_placeholders(&entry))
                return;
        for (int i = 0; i < entry.n; i++)
                if (entry.iterations[i] == 0)
                        return;
        entry.asks = conditions_ask(&entry);
        if (!entry.asks && conditions_hold(e, scope, conditions) <= 0)
                return;
        entry.pattern = entry_pattern(e, map->kid[0], entry.published, entry.name, entry.iteration, entry.n);
        for (;;) {
                int i = entry.n - 1;
                if (!make_entry(&entry))
                        return;
                while (i >= 0 && ++entry.iteration[i] == entry.iterations[i])
                        entry.iteration[i--] = 0;
                if (i < 0)
                        break;
        }
        if (entry.made == 0)
                poisoned(e, map->span, "no iteration has all the weights of this entry");
}

/* Whether a published name has its own entry, under any condition. */
static bool names_entry(const Ast *entries, const char *name)
{
        if (entries->kind == AST_MAP)
                return strcmp(entries->name, name) == 0;
        if (entries->kind == AST_RULE)
                return strcmp(entries->kid[0]->name, name) == 0;
        for (int i = entries->kind == AST_ENTRY_IF; i < entries->nkid; i++)
                if (entries->kid[i] && names_entry(entries->kid[i], name))
                        return true;
        return false;
}

static void run_entries(Elaborator *e, Scope *scope, const Ast *entries, const Heirs *heirs,
                        const Conditions *conditions);

static void run_entry(Elaborator *e, Scope *scope, const Ast *entry, const Heirs *heirs,
                      const Conditions *conditions)
{
        const char *name = entry->kind == AST_MAP    ? entry->name
                           : entry->kind == AST_RULE ? entry->kid[0]->name
                                                     : NULL;
        for (const Heirs *h = heirs; name && h; h = h->outer)
                if (names_entry(h->checkpoint->kid[1], name))
                        return;
        if (entry->kind == AST_MAP) {
                run_map(e, scope, entry, conditions);
        } else if (entry->kind == AST_ENTRY_IF) {
                Conditions yes = {conditions, entry->kid[0], true}, no = {conditions, entry->kid[0], false};
                run_entries(e, scope, entry->kid[1], heirs, &yes);
                if (entry->kid[2])
                        run_entries(e, scope, entry->kid[2], heirs, &no);
        } else if (entry->kind == AST_RULE && conditions_hold(e, scope, conditions) > 0) {
                const char *rules[] = {"drop", "optional"};
                if (strcmp(entry->name, "drop") == 0 || strcmp(entry->name, "optional") == 0) {
                        add_entry(e, (CkEntry){.kind = entry->name[0] == 'd' ? CK_DROP : CK_OPTIONAL,
                                               .name = with_texts(e, scope, entry->kid[0]->name, NULL,
                                                                  entry->kid[0]->span),
                                               .span = entry->span});
                } else {
                        poisoned(e, entry->name_span, "an entry is a map, drop or optional, not %s",
                                 entry->name);
                        hint_nearest(e, entry->name, rules, 2);
                }
        }
}

static void run_entries(Elaborator *e, Scope *scope, const Ast *entries, const Heirs *heirs,
                        const Conditions *conditions)
{
        if (entries->kind == AST_ENTRY_IF) {
                run_entry(e, scope, entries, heirs, conditions);
                return;
        }
        for (int i = 0; i < entries->nkid; i++)
                run_entry(e, scope, entries->kid[i], heirs, conditions);
}

/* ---- checkpoints by name ---- */

static Definition *find_checkpoint(Elaborator *e, Scope *scope, const char *name)
{
        for (; scope; scope = scope->outer) {
                Definition *d = scope->vars ? NULL : file_find(scope->file, name);
                if (d && d->ast->kind == AST_CHECKPOINT)
                        return d;
        }
        Definition *d = library_find(e->program, name);
        return d && d->ast->kind == AST_CHECKPOINT ? d : NULL;
}

static Definition *need_checkpoint(Elaborator *e, Scope *scope, const Ast *name)
{
        Definition *d = name->kind == AST_NAME ? find_checkpoint(e, scope, name->name) : NULL;
        const char *names[256];
        int n = 0;
        if (d)
                return d;
        if (name->kind != AST_NAME)
                return poisoned(e, name->span,
                                "`checkpoint` requires a checkpoint's name or its entries in braces"),
                       NULL;
        poisoned(e, name->span, "unknown checkpoint %s", name->name);
        for (; scope; scope = scope->outer)
                for (int64_t i = 0; !scope->vars && i < scope->file->table.slots && n < 256; i++)
                        if (scope->file->table.slot[i] &&
                            scope->file->table.slot[i]->ast->kind == AST_CHECKPOINT)
                                names[n++] = scope->file->table.slot[i]->name;
        hint_nearest(e, name->name, names, n);
        return NULL;
}

/* A checkpoint's entries follow those of its parent; visible names are the model's variables, then those
 * of its file. */
static void run_definition(Elaborator *e, const Definition *d, const Heirs *heirs)
{
        for (const Heirs *h = heirs; h; h = h->outer)
                if (h->checkpoint == d->ast) {
                        poisoned(e, d->ast->name_span, "circular inheritance of checkpoints: %s",
                                 d->ast->name);
                        return;
                }
        Scope *scope = NEW(e->arena, Scope);
        *scope = (Scope){.vars = e->model_scope->vars, .outer = &d->file->scope, .boundary = true};
        if (d->ast->kid[0]) {
                Definition *parent = need_checkpoint(e, scope, d->ast->kid[0]);
                if (parent)
                        run_definition(e, parent, &(Heirs){heirs, d->ast});
        }
        run_entries(e, scope, d->ast->kid[1], heirs, NULL);
}

/* Entries in the model itself, after those of `checkpoint : parent`, if present. */
static void run_inline(Elaborator *e, Scope *scope, const Ast *ast)
{
        Definition *parent = ast->kid[0] ? need_checkpoint(e, scope, ast->kid[0]) : NULL;
        if (parent)
                run_definition(e, parent, &(Heirs){NULL, ast});
        run_entries(e, scope, ast->kid[1], NULL, NULL);
}

/* Whether an entry of the checkpoint has this weight. */
static bool has_entry(const Body *entries, const Weight *w)
{
        for (int i = 0; i < entries->nnode; i++)
                if (entries->node[i]->op == OP_WEIGHT && entries->node[i]->attr.weight == w)
                        return true;
        return false;
}

/* Reports names that no iteration has, if weights of the model have no entry: else they are of layers that
 * this structure lacks. */
static void check_absent(Elaborator *e)
{
        bool all = true;
        for (int i = 0; i < e->g->nweight && e->absent && all; i++)
                all = has_entry(e->body, e->g->weight[i]);
        for (const AbsentWeights *a = e->absent; a && !all; a = a->next)
                report_absent(e, a->in, a->field);
        e->absent = NULL;
}

void run_checkpoint(Elaborator *e, Scope *scope, const Ast *ast)
{
        if (e->program->without_checkpoints ||
            (ast->kind == AST_CHECKPOINT_USE && ast->kid[0]->kind == AST_NONE))
                return;
        Body *body = e->body;
        e->body = body_new(e->g, NULL);
        e->paths = path_tree(e);
        if (ast->kind == AST_CHECKPOINT) {
                run_inline(e, scope, ast);
        } else {
                Definition *d = need_checkpoint(e, scope, ast->kid[0]);
                if (d)
                        run_definition(e, d, NULL);
        }
        check_absent(e);
        e->paths = NULL;
        e->body = body;
}
