/* Indexing and fields: x[1, .., a..b, none], table[ids], list[i], x.dim, x.shape, scheme.member. */
#include "elaborate_private.h"

#include <string.h>

/* ---- one index for an axis ---- */

/* Offsets below 0 count from the end of the axis. */
static Dim from_end(Elaborator *e, Dim at, Dim size)
{
        return dim_at_least(e->g, at, 0) || !dim_is_fixed(at) ? at : dim_add(size, at);
}

/* x along an axis at first .. first + count - 1 by a constant index, without the axis if pick.  Other
 * slices are views; this one is for slices that start at another index in each iteration of a repeat. */
static Value gather_along(Elaborator *e, Node *x, int axis, int64_t first, int64_t count, bool pick,
                          Span span)
{
        int perm[MAX_RANK], back[MAX_RANK], rank = x->type.rank;
        Value *index = NEW_ARRAY(e->arena, Value, count);
        for (int64_t i = 0; i < count; i++)
                index[i] = value_int(first + i);
        for (int i = 0; i < rank; i++)
                perm[i] = i == 0 ? axis : i - (i <= axis);
        for (int i = 0; i < rank; i++)
                back[perm[i]] = i;
        Node *front = axis ? view_transpose(e->g, e->body, x, perm, span, e->where) : x;
        Node *at = to_tensor(e, pick ? index[0] : value_list(e, (int)count, index), span);
        Node *y = front && at ? build(e->g, e->body, e->diag, OP_GATHER, 2, (Node *[]){front, at},
                                      &(Attr){.slot = -1}, span, e->where)
                              : NULL;
        if (!y || pick || axis == 0)
                return value_tensor(y);
        return value_tensor(view_transpose(e->g, e->body, y, back, span, e->where));
}

static Value elaborate_range(Elaborator *e, Scope *scope, Node *x, int axis, const Ast *range)
{
        Dim size = x->type.dim[axis], first = dim_fixed(0), last = size;
        if (range->kid[0] && (!want_dim(e, eval(e, scope, range->kid[0], NULL), range->kid[0]->span,
                                        "a range's start", &first)))
                return POISON;
        if (range->kid[1]) {
                Value end = eval(e, scope, range->kid[1], NULL);
                bool negative = end.kind == V_INT && end.number < 0;
                if (negative)
                        end = value_dim(e, from_end(e, dim_fixed((int64_t)end.number), size));
                if (!want_dim(e, end, range->kid[1]->span, "a range's end", &last))
                        return POISON;
        }
        Dim count = dim_sub(last, first);
        if (!dim_at_least(e->g, first, 0) || !dim_at_least(e->g, dim_sub(size, last), 0) ||
            !dim_at_least(e->g, count, 1))
                return poisoned(e, range->span, "%s..%s is out of range for an axis of size %s",
                                dim_text(e->diag->arena, e->g, first), dim_text(e->diag->arena, e->g, last),
                                dim_text(e->diag->arena, e->g, size));
        if (is_varying(e, range->span) && dim_is_fixed(first) && dim_is_fixed(count) &&
            count.fixed <= MAX_UNPACK)
                return gather_along(e, x, axis, first.fixed, count.fixed, false, range->span);
        return value_tensor(view_slice(e->g, e->body, x, axis, first, count, range->span, e->where));
}

static Value pick(Elaborator *e, Node *x, int axis, Dim at, Span span)
{
        Dim size = x->type.dim[axis];
        at = from_end(e, at, size);
        if (!dim_at_least(e->g, at, 0) || !dim_at_least(e->g, dim_sub(size, at), 1))
                return poisoned(e, span, "index %s is out of range for an axis of size %s",
                                dim_text(e->diag->arena, e->g, at), dim_text(e->diag->arena, e->g, size));
        if (is_varying(e, span) && dim_is_fixed(at))
                return gather_along(e, x, axis, at.fixed, 1, true, span);
        Node *one = view_slice(e->g, e->body, x, axis, at, dim_fixed(1), span, e->where);
        return value_tensor(one ? view_drop(e->g, e->body, one, axis, span, e->where) : NULL);
}

Value tensor_part(Elaborator *e, Node *x, int64_t i, Span span)
{
        return pick(e, x, 0, dim_fixed(i), span);
}

Value tensor_gathered(Elaborator *e, Node *x, int n, const int64_t *i, Span span)
{
        Node *in[1 + MAX_RANK] = {x};
        for (int k = 0; k < n; k++)
                if (!(in[k + 1] = to_tensor(e, value_int(i[k]), span)))
                        return POISON;
        return value_tensor(
                build(e->g, e->body, e->diag, OP_GATHER, n + 1, in, &(Attr){.slot = -1}, span, e->where));
}

/* ---- the position of an `along` ---- */

/* Whether the index is the position t of the `along` around it, or depends on it. */
static bool is_at_position(Value v)
{
        return v.kind == V_DIM && names_position(*v.dim);
}

/* The `along` whose position the index is; NULL after an error: the index is computed from it. */
static const Along *along_at(Elaborator *e, Value at, Span span)
{
        int which = 0;
        while (!at.dim->per[NAMED_ALONG + which])
                which++;
        const Along *along = &e->g->along[which];
        if (dim_equal(*at.dim, dim_named(NAMED_ALONG + which)))
                return along;
        poisoned(e, span, "only position %s itself can be taken", along->name);
        diag_hint(
                e->diag,
                "to use an earlier one, carry it (`was = x[%s]` at the end of the body), or shift x before: "
                "`pad(x, axis: 0, before: 1)[..-1]`",
                along->name);
        return NULL;
}

static Value piece(Elaborator *e, Node *x, int axis, Value at, Span span);

/* k[j][t], where k[j] is a gather since j differs between iterations: of one position of k */
static Value piece_of_gather(Elaborator *e, const Node *x, int axis, Value at, Span span)
{
        Node *in[1 + MAX_RANK];
        Value table = piece(e, x->in[0], axis + x->in[0]->type.rank - x->type.rank, at, span);
        if (table.kind != V_TENSOR)
                return POISON;
        in[0] = table.tensor;
        for (int i = 1; i < x->nin; i++)
                in[i] = x->in[i];
        return value_tensor(
                build(e->g, e->body, e->diag, OP_GATHER, x->nin, in, &(Attr){.slot = -1}, span, e->where));
}

/* x at position t along an axis, which stays with size 1. */
static Value piece(Elaborator *e, Node *x, int axis, Value at, Span span)
{
        const Along *along = along_at(e, at, span);
        if (!along)
                return POISON;
        if (!dim_equal(x->type.dim[axis], along->count))
                return poisoned(e, span, "%s counts to %s, and this axis of %s has %s", along->name,
                                dim_text(e->diag->arena, e->g, along->count),
                                value_text_of(e, value_tensor(x)),
                                dim_text(e->diag->arena, e->g, x->type.dim[axis]));
        if (x->op == OP_GATHER && axis >= x->type.rank - (x->in[0]->type.rank - (x->nin - 1)))
                return piece_of_gather(e, x, axis, at, span);
        Node *y = view_slice(e->g, e->body, x, axis, *at.dim, dim_fixed(1), span, e->where);
        if (y)
                y->position = axis + 1;
        return value_tensor(y);
}

/* x[t]: along the only axis of that size */
static Value whole_piece(Elaborator *e, Node *x, const Ast *ast, Value at)
{
        int axis = -1, n = 0;
        const Along *along = along_at(e, at, ast->kid[1]->span);
        if (!along)
                return POISON;
        const char *count = dim_text(e->diag->arena, e->g, along->count),
                   *name = ast->kid[0]->kind == AST_NAME ? ast->kid[0]->name : "x";
        for (int i = 0; i < x->type.rank; i++)
                if (dim_equal(x->type.dim[i], along->count))
                        axis = i, n++;
        if (n > 1)
                return poisoned(e, ast->span, "%d axes of %s are %s: %s[%s, ..] or %s[.., %s]", n,
                                value_text_of(e, value_tensor(x)), count, name, along->name, name,
                                along->name);
        if (n == 0) {
                poisoned(e, ast->span, "%s has no axis %s", value_text_of(e, value_tensor(x)), count);
                if (x->position)
                        diag_hint(e->diag, "it is that of one position already");
                return POISON;
        }
        return piece(e, x, axis, at, ast->kid[1]->span);
}

static Value new_axis(Elaborator *e, Node *x, int axis, Span span)
{
        Type type = x->type;
        if (type.rank == MAX_RANK)
                return poisoned(e, span, "more than %d axes", MAX_RANK);
        for (int i = type.rank++; i > axis; i--)
                type.dim[i] = type.dim[i - 1];
        type.dim[axis] = dim_fixed(1);
        return value_tensor(view_reshape(e->g, e->body, x, &type, span, e->where));
}

static bool is_all(const Ast *kid)
{
        return kid->kind == AST_RANGE && !kid->kid[0] && !kid->kid[1];
}

/* ---- tensors ---- */

typedef struct {
        Elaborator *e;
        Scope *scope;
        Node *x;
        int axis; /* the current axis of x */
} IndexCursor;

/* Applies one index at the cursor.  False: an error was reported. */
static bool apply_index(IndexCursor *c, const Ast *kid, Value v)
{
        Elaborator *e = c->e;
        Dim at;
        if (v.kind == V_NONE && kid->kind != AST_RANGE) {
                v = new_axis(e, c->x, c->axis++, kid->span);
        } else if (c->axis >= c->x->type.rank) {
                return poisoned(e, kid->span, "more indices than %s has axes",
                                value_text_of(e, value_tensor(c->x))),
                       false;
        } else if (is_at_position(v)) {
                v = piece(e, c->x, c->axis++, v, kid->span);
        } else if (kid->kind == AST_RANGE) {
                v = is_all(kid) ? value_tensor(c->x) : elaborate_range(e, c->scope, c->x, c->axis, kid);
                c->axis++;
        } else if (as_dim(v, &at)) {
                v = pick(e, c->x, c->axis, at, kid->span);
        } else {
                return is_poison(v)
                               ? false
                               : (poisoned(e, kid->span,
                                           "an index must be a whole number, a range, none or a tensor of "
                                           "integers, not %s",
                                           value_text_of(e, v)),
                                  false);
        }
        c->x = v.kind == V_TENSOR ? v.tensor : NULL;
        return c->x != NULL;
}

static bool is_index_tensor(Value v)
{
        return v.kind == V_TENSOR || v.kind == V_LIST;
}

/* table[a, b, ..]: integer tensors select along the leading axes. */
static Value elaborate_gather(Elaborator *e, Node *x, const Ast *ast, const Value *index, int n)
{
        Node *in[1 + MAX_RANK] = {x};
        int taken = 0;
        while (taken < n && taken < MAX_RANK && (is_index_tensor(index[taken]) || index[taken].kind == V_INT))
                taken++;
        for (int i = 0; i < taken; i++)
                if (!(in[i + 1] = to_tensor(e, index[i], ast->kid[i + 1]->span)))
                        return POISON;
        for (int i = taken; i < n; i++)
                if (!is_all(ast->kid[i + 1]))
                        return poisoned(e, ast->kid[i + 1]->span,
                                        "after index tensors only whole axes are allowed: take this part "
                                        "before, as x[..][ids]");
        return value_tensor(build(e->g, e->body, e->diag, OP_GATHER, taken + 1, in, &(Attr){.slot = -1},
                                  ast->span, e->where));
}

/* The first `..` covers all axes without another index. */
static Value index_tensor(Elaborator *e, Scope *scope, const Ast *ast, Node *x)
{
        int n = ast->nkid - 1, used = 0, ellipsis = -1;
        Value *index = NEW_ARRAY(e->arena, Value, n);
        for (int i = 0; i < n; i++) {
                const Ast *kid = ast->kid[i + 1];
                index[i] = kid->kind == AST_RANGE ? NOTHING : eval(e, scope, kid, NULL);
                if (is_poison(index[i]))
                        return POISON;
                if (is_all(kid) && ellipsis < 0)
                        ellipsis = i;
                else if (kid->kind == AST_RANGE || index[i].kind != V_NONE)
                        used++;
        }
        for (int i = 0; i < n; i++)
                if (is_index_tensor(index[i])) {
                        for (int j = 0; j < i; j++)
                                if (ast->kid[j + 1]->kind == AST_RANGE || index[j].kind == V_NONE)
                                        return poisoned(e, ast->kid[i + 1]->span,
                                                        "index tensors come first: they choose along the "
                                                        "leading axes");
                        return elaborate_gather(e, x, ast, index, n);
                }
        if (n == 1 && is_at_position(index[0]))
                return whole_piece(e, x, ast, index[0]);
        if (used > x->type.rank)
                return poisoned(e, ast->span, "%d indices for %s", used, value_text_of(e, value_tensor(x)));
        IndexCursor c = {e, scope, x, 0};
        int skipped = x->type.rank - used;
        for (int i = 0; i < n; i++) {
                if (i == ellipsis)
                        c.axis += skipped;
                else if (!apply_index(&c, ast->kid[i + 1], index[i]))
                        return POISON;
        }
        return value_tensor(c.x);
}

/* ---- lists ---- */

static Value list_range(Elaborator *e, Scope *scope, const List *list, const Ast *range)
{
        int64_t first = 0, last = list->n;
        if (range->kid[0] &&
            !want_int(e, eval(e, scope, range->kid[0], NULL), range->kid[0]->span, "a range's start", &first))
                return POISON;
        if (range->kid[1] &&
            !want_int(e, eval(e, scope, range->kid[1], NULL), range->kid[1]->span, "a range's end", &last))
                return POISON;
        last += last < 0 ? list->n : 0;
        if (first < 0 || last > list->n || first > last)
                return poisoned(e, range->span, "%lld..%lld is out of range for a list of %d",
                                (long long)first, (long long)last, list->n);
        return value_list(e, (int)(last - first), list->item + first);
}

/* A size of a shape may be selected by its named dimension. */
static Value index_list(Elaborator *e, const Ast *kid, const List *list, Value v)
{
        if (v.kind == V_DIM)
                for (int i = 0; i < list->n; i++)
                        if (value_same(list->item[i], v))
                                return v;
        int64_t i;
        if (!want_int(e, v, kid->span, "a list's index", &i))
                return POISON;
        if (i < -list->n || i >= list->n)
                return poisoned(e, kid->span, "index %lld is out of range for a list of %d", (long long)i,
                                list->n);
        return list->item[i < 0 ? i + list->n : i];
}

Value index_value(Elaborator *e, Scope *scope, const Ast *ast)
{
        Value v = eval(e, scope, ast->kid[0], NULL);
        if (v.kind == V_PATH && v.path->node->is_region)
                return path_index(e, v.path, scope, ast);
        if (v.kind == V_LIST && ast->nkid == 2) { /* else it is a tensor literal */
                const Ast *kid = ast->kid[1];
                if (kid->kind == AST_RANGE)
                        return list_range(e, scope, v.list, kid);
                Value at = eval(e, scope, kid, NULL);
                if (is_at_position(at)) {
                        Node *all = to_tensor(e, v, ast->kid[0]->span);
                        return all ? whole_piece(e, all, ast, at) : POISON;
                }
                if (at.kind != V_TENSOR && at.kind != V_LIST)
                        return index_list(e, kid, v.list, at);
                Node *x = to_tensor(e, v, ast->kid[0]->span);
                return x ? elaborate_gather(e, x, ast, &at, 1) : POISON;
        }
        if (v.kind == V_TENSOR || v.kind == V_LIST || v.kind == V_PATH) {
                Node *x = to_tensor(e, v, ast->kid[0]->span);
                return x ? index_tensor(e, scope, ast, x) : POISON;
        }
        if (is_poison(v))
                return POISON;
        poisoned(e, ast->kid[0]->span, "%s can't be indexed", value_text_of(e, v));
        if (is_number(v))
                diag_hint(e->diag, "for a knob that may be a list or one number, write at(v, i)");
        return POISON;
}

/* ---- fields ---- */

static Value tensor_field(Elaborator *e, Scope *scope, const Ast *ast, Node *x)
{
        const Type *t = &x->type;
        if (strcmp(ast->name, "dim") == 0) {
                if (t->rank == 0)
                        return poisoned(e, ast->span, "a scalar has no axes, so no dim");
                return value_dim(e, t->dim[t->rank - 1]);
        }
        if (strcmp(ast->name, "shape") == 0) {
                Value size[MAX_RANK];
                for (int i = 0; i < t->rank; i++)
                        size[i] = value_dim(e, t->dim[i]);
                return value_list(e, t->rank, size);
        }
        if (strcmp(ast->name, "rank") == 0)
                return value_int(t->rank);
        poisoned(e, ast->name_span, "a tensor has no %s", ast->name);
        if (!hint_method(e, scope, ast))
                diag_hint(e->diag, "it has dim (the size of its last axis), shape and rank");
        return POISON;
}

/* A list is a tensor literal if tensor fields are accessed. */
static Value list_field(Elaborator *e, Scope *scope, const Ast *ast, Value list)
{
        if (strcmp(ast->name, "dim") != 0 && strcmp(ast->name, "shape") != 0 &&
            strcmp(ast->name, "rank") != 0) {
                poisoned(e, ast->name_span, "a list has no %s", ast->name);
                if (!hint_method(e, scope, ast))
                        diag_hint(e->diag, "it has len, and as a tensor dim, shape and rank");
                return POISON;
        }
        Node *x = to_tensor(e, list, ast->kid[0]->span);
        return x ? tensor_field(e, scope, ast, x) : POISON;
}

/* A member that a scheme lacks is none; its parameters are private. */
static Value scheme_field(const Ast *ast, const Scheme *s)
{
        const Binding *b = vars_find(&s->member, ast->name);
        if (b)
                return b->value;
        b = vars_find(s->scope->vars, ast->name);
        return b && b - s->scope->vars->binding >= s->nparam ? b->value : NOTHING;
}

static Value group_field(Elaborator *e, const Ast *ast, const GroupValue *group)
{
        const char *names[256];
        int n = 0;
        for (int i = 0; i < e->g->ninput; i++) {
                if (e->g->input[i].group != group->group)
                        continue;
                if (e->g->input[i].name == ast->name)
                        for (int k = 0; k < e->g->top->nnode; k++)
                                if (e->g->top->node[k]->op == OP_INPUT && e->g->top->node[k]->attr.index == i)
                                        return value_tensor(e->g->top->node[k]);
                if (n < 256)
                        names[n++] = e->g->input[i].name;
        }
        poisoned(e, ast->name_span, "the inputs %s have no %s", group->name, ast->name);
        hint_nearest(e, ast->name, names, n);
        return POISON;
}

/* The `as` that gives its result this name. */
static const Ast *find_as(const Ast *ast, const char *name)
{
        if (ast->kind == AST_AS && ast->name == name)
                return ast;
        const Ast *found = NULL;
        for (int i = 0; i < ast->nkid && !found; i++)
                found = ast->kid[i] ? find_as(ast->kid[i], name) : NULL;
        return found;
}

/* Notes a block with the name of an instance that this model does not create, like `head` with tied
 * weights. */
static void note_not_made(Elaborator *e, const char *name)
{
        for (int i = e->nchain - 1; i >= 0; i--) {
                const Ast *as = find_as(e->chain[i], name);
                if (!as)
                        continue;
                diag_note(e->diag, as->span,
                          "an instance is called %s here; this model, as it is set, does not make it", name);
                return;
        }
}

Value field_value(Elaborator *e, Scope *scope, const Ast *ast)
{
        Value v;
        if (iterations_value(e, scope, ast, &v))
                return v;
        if (report_package(e, scope, ast))
                return POISON;
        v = eval(e, scope, ast->kid[0], NULL);
        switch (v.kind) {
        case V_POISON: return POISON;
        case V_NONE: return NOTHING;
        case V_TENSOR: return tensor_field(e, scope, ast, v.tensor);
        case V_SCHEME: return scheme_field(ast, v.scheme);
        case V_GROUP: return group_field(e, ast, v.group);
        case V_PATH:
                if (v.path->node->weight &&
                    (strcmp(ast->name, "dim") == 0 || strcmp(ast->name, "shape") == 0)) {
                        Node *w = path_weight(e, v.path, ast->span);
                        return w ? tensor_field(e, scope, ast, w) : POISON;
                }
                return path_field(e, v.path, ast);
        case V_LIST:
                if (strcmp(ast->name, "len") == 0)
                        return value_int(v.list->n);
                return list_field(e, scope, ast, v);
        default: break;
        }
        poisoned(e, ast->span, "%s has no field %s", value_text_of(e, v), ast->name);
        if (v.kind == V_BLOCK && ast->kid[0]->kind == AST_NAME)
                note_not_made(e, ast->kid[0]->name);
        if (v.kind == V_BLOCK && v.block->def && v.block->def->kind == AST_SCHEME)
                diag_hint(e->diag, "the scheme %s needs its arguments first, as in %s(..)", v.block->name,
                          v.block->name);
        return POISON;
}
