/* Variables between evaluations: numbers, texts, lists, tensors with their elements.  A block with arguments
 * or a scheme cannot be stored as a value.  Its statement is stored with the variables that it read, and
 * evaluated again at each use. */
#include "repl_private.h"

#include <stdlib.h>
#include <string.h>

/* --- variables --------------------------------------------------------------------------------------------------- */

void kept_drop(KeptValue *k)
{
        if (!k || --k->refs > 0)
                return;
        for (int i = 0; k->item && i < k->n; i++)
                kept_drop(k->item[i]);
        free(k->item);
        free(k->text);
        free(k->data);
        unit_drop(k->unit);
        variables_free(&k->read);
        free(k);
}

void variables_free(Variables *v)
{
        for (int i = 0; i < v->n; i++)
                kept_drop(v->at[i].value);
        free(v->at);
        *v = (Variables){0};
}

KeptValue *variables_find(const Variables *v, const char *name)
{
        for (int i = 0; i < v->n; i++)
                if (v->at[i].name == name)
                        return v->at[i].value;
        return NULL;
}

KeptValue *value_seen(const ReplSession *s, const char *name)
{
        KeptValue *k = variables_find(&s->variables, name);
        return k ? k : variables_find(&s->values, name);
}

bool variables_set(Variables *v, const char *name, KeptValue *value)
{
        for (int i = 0; i < v->n; i++)
                if (v->at[i].name == name) {
                        kept_drop(v->at[i].value);
                        v->at[i].value = value;
                        return true;
                }
        if (v->n == v->capacity) {
                int capacity = v->capacity ? 2 * v->capacity : 8;
                Variable *larger = realloc(v->at, (size_t)capacity * sizeof *larger);
                if (!larger)
                        return kept_drop(value), false;
                v->at = larger;
                v->capacity = capacity;
        }
        v->at[v->n++] = (Variable){name, value};
        return true;
}

int variable_names(void *session, const char **name, int most)
{
        const ReplSession *s = session;
        int n = 0;
        for (int i = s->variables.n - 1; i >= 0 && n < most; i--)
                name[n++] = s->variables.at[i].name;
        return n;
}

/* --- made anew in an evaluation --- */

static Value make_list(ReplSession *s, Elaborator *e, const KeptValue *k)
{
        Value *item = NEW_ARRAY(e->keep, Value, k->n);
        for (int i = 0; i < k->n; i++)
                item[i] = value_of_kept(s, e, k->item[i]);
        return value_list(e, k->n, item);
}

static Value make_rows(Elaborator *e, const KeptValue *k, int axis, const double **at)
{
        Value *item = NEW_ARRAY(e->keep, Value, k->dim[axis]);
        for (int64_t i = 0; i < k->dim[axis]; i++) {
                if (axis + 1 < k->rank)
                        item[i] = make_rows(e, k, axis + 1, at);
                else if (k->dtype == BOOL)
                        item[i] = value_bool(*(*at)++ != 0);
                else
                        item[i] = value_number(**at, k->dtype == INT), (*at)++;
        }
        return value_list(e, (int)k->dim[axis], item);
}

static Value make_tensor(Elaborator *e, const KeptValue *k)
{
        Type type = {.dtype = k->dtype, .rank = k->rank};
        Literal *literal = NEW(e->keep, Literal);
        *literal = (Literal){1, 1, k->data};
        for (int i = 0; i < k->rank; i++) {
                type.dim[i] = dim_fixed(k->dim[i]);
                literal->count *= k->dim[i];
        }
        return value_tensor(node_new(e->g, e->g->top, OP_CONST, 0, NULL,
                                     (Attr){.literal = literal, .slot = -1}, type, (Span){0}, NULL));
}

/* Evaluates its statement again, with the variables that it used. */
static Value make_again(ReplSession *s, Elaborator *e, const KeptValue *k)
{
        Scope *scope = scope_new(e, &e->program->main->scope, true);
        for (int i = 0; i < k->read.n; i++)
                scope_set(e, scope, k->read.at[i].name, value_of_kept(s, e, k->read.at[i].value), (Span){0});
        ask_for_iterations(e, k->statement);
        run_statement(e, scope, k->statement);
        Binding *b = vars_find(scope->vars, k->name);
        return b ? b->value : POISON;
}

Value value_of_kept(ReplSession *s, Elaborator *e, KeptValue *k)
{
        if (k->made_in == s->evaluation)
                return k->made;
        Elaborator around = *e;
        e->arena = e->g->arena = e->keep;
        e->body = e->g->top;
        e->where = NULL;
        e->path = e->root;
        e->active = NULL;
        e->depth = e->nregion = 0;
        e->in_along = false;
        e->iterations = 1;
        const double *at = k->data;
        switch ((int)k->kind) {
        case V_BOOL:
        case V_INT:
        case V_REAL: k->made = (Value){.kind = k->kind, .number = k->number}; break;
        case V_TEXT: k->made = value_text(k->text); break;
        case V_TENSOR: k->made = make_tensor(e, k); break;
        case V_LIST: k->made = k->data ? make_rows(e, k, 0, &at) : make_list(s, e, k); break;
        case V_NONE: k->made = NOTHING; break;
        default: k->made = make_again(s, e, k); break;
        }
        e->arena = around.arena;
        e->g->arena = around.arena;
        e->body = around.body;
        e->where = around.where;
        e->path = around.path;
        e->active = around.active;
        e->depth = around.depth;
        e->nregion = around.nregion;
        e->in_along = around.in_along;
        e->iterations = around.iterations;
        k->made_in = s->evaluation;
        return k->made;
}

bool find_variable(void *session, Elaborator *e, const char *name, Value *value)
{
        ReplSession *s = session;
        KeptValue *k = variables_find(&s->variables, name);
        if (!k)
                return false;
        *value = value_of_kept(s, e, k);
        return s->reads_variables = true;
}

/* --- from values to saved values ------------------------------------------------------------------------------------ */

static void evaluation_want(ReplEvaluation *v, Node *n)
{
        GROW(&v->arena, v->want, v->nwant, v->want_capacity);
        v->want[v->nwant++] = n;
}

void want_all(ReplEvaluation *v, Value value)
{
        if (value.kind == V_TENSOR)
                evaluation_want(v, value.tensor);
        for (int i = 0; value.kind == V_LIST && i < value.list->n; i++)
                want_all(v, value.list->item[i]);
}

/* A nested list of numbers, or of bools, with rows of the same length. */
typedef struct {
        int rank; /* found so far */
        int64_t dim[MAX_RANK];
        bool has_number, has_truth, has_real;
} NestedRows;

static bool list_find_rows(const List *list, int axis, NestedRows *r)
{
        if (axis >= MAX_RANK || list->n == 0 || axis > r->rank || (axis < r->rank && r->dim[axis] != list->n))
                return false;
        bool is_first = axis == r->rank;
        if (is_first)
                r->dim[r->rank++] = list->n;
        for (int i = 0; i < list->n; i++) {
                Value v = list->item[i];
                if (v.kind == V_LIST) {
                        if ((i > 0 || !is_first) && r->rank == axis + 1)
                                return false;
                        if (!list_find_rows(v.list, axis + 1, r))
                                return false;
                        continue;
                }
                if (r->rank != axis + 1 || !(is_number(v) || v.kind == V_BOOL))
                        return false;
                r->has_truth |= v.kind == V_BOOL;
                r->has_number |= v.kind != V_BOOL;
                r->has_real |= v.kind == V_REAL;
        }
        return !(r->has_truth && r->has_number);
}

static double *copy_rows(const List *list, double *to)
{
        for (int i = 0; i < list->n; i++) {
                if (list->item[i].kind == V_LIST)
                        to = copy_rows(list->item[i].list, to);
                else
                        *to++ = list->item[i].number;
        }
        return to;
}

static KeptValue *kept_new(ValueKind kind)
{
        KeptValue *k = calloc(1, sizeof *k);
        if (k)
                *k = (KeptValue){.refs = 1, .kind = kind};
        return k;
}

/* NULL: not such a list, or out of memory. */
static KeptValue *keep_rows(const List *list)
{
        NestedRows rows = {0};
        int64_t count = 1;
        if (!list_find_rows(list, 0, &rows))
                return NULL;
        for (int i = 0; i < rows.rank; i++)
                count *= rows.dim[i];
        KeptValue *k = kept_new(V_LIST);
        double *data = malloc((size_t)count * sizeof *data);
        if (!k || !data)
                return kept_drop(k), free(data), NULL;
        k->dtype = rows.has_truth ? BOOL : rows.has_real ? REAL : INT;
        k->rank = rows.rank;
        memcpy(k->dim, rows.dim, sizeof k->dim);
        k->data = data;
        copy_rows(list, data);
        return k;
}

bool is_kept_as_value(Value v)
{
        for (int i = 0; v.kind == V_LIST && i < v.list->n; i++)
                if (!is_kept_as_value(v.list->item[i]))
                        return false;
        return v.kind != V_BLOCK && v.kind != V_SCHEME && v.kind != V_GROUP && v.kind != V_PATH;
}

static KeptValue *keep_list(ReplEvaluation *v, const List *list)
{
        KeptValue *k = keep_rows(list);
        if (k)
                return k;
        k = kept_new(V_LIST);
        if (k)
                k->item = calloc((size_t)list->n + 1, sizeof *k->item);
        for (int i = 0; k && k->item && i < list->n; i++) {
                k->item[k->n++] = keep_value(v, list->item[i]);
                if (k->item[i])
                        continue;
                k->n--;
                return kept_drop(k), NULL;
        }
        return k;
}

static KeptValue *keep_tensor(ReplEvaluation *v, const Node *n)
{
        KeptValue *k = kept_new(V_TENSOR);
        Tensor *t = &v->value[2 * v->e->g->nrequire + v->next++];
        if (!k)
                return NULL;
        k->dtype = n->type.dtype;
        k->rank = t->rank;
        memcpy(k->dim, t->dim, sizeof k->dim);
        k->data = t->data;
        t->data = NULL;
        return k;
}

KeptValue *keep_value(ReplEvaluation *v, Value value)
{
        if (value.kind == V_TENSOR)
                return keep_tensor(v, value.tensor);
        if (value.kind == V_LIST)
                return keep_list(v, value.list);
        KeptValue *k = kept_new(value.kind == V_DIM ? V_INT : value.kind);
        if (!k)
                return NULL;
        k->number = value.kind == V_DIM ? (double)dim_bound(v->e->g, *value.dim) : value.number;
        if (value.kind == V_TEXT && !(k->text = strdup(value.text)))
                return kept_drop(k), NULL;
        return k;
}

KeptValue *keep_statement(ReplEvaluation *v, const char *name)
{
        KeptValue *k = kept_new(V_BLOCK);
        if (!k)
                return NULL;
        unit_hold(v->unit);
        k->unit = v->unit;
        k->statement = v->line;
        k->evaluation = v->s->evaluation;
        k->name = name;
        for (int i = 0; i < v->seen.n; i++) {
                KeptValue *read = value_seen(v->s, v->seen.binding[i].name);
                read->refs++;
                if (!variables_set(&k->read, v->seen.binding[i].name, read))
                        return kept_drop(k), NULL;
        }
        return k;
}

/* ---- :vars ---- */

static void print_kind(const KeptValue *k)
{
        static const char *const word[] = {[V_BLOCK] = "a block", [V_SCHEME] = "a scheme", [V_NONE] = "none"};
        switch (k->kind) {
        case V_BOOL: printf("%s", k->number != 0 ? "true" : "false"); return;
        case V_INT:
        case V_REAL: print_shortest(stdout, k->number); return;
        case V_TEXT: print_text(stdout, k->text); return;
        case V_LIST:
        case V_TENSOR: break;
        default:
                printf("%s", (size_t)k->kind < sizeof word / sizeof *word && word[k->kind] ? word[k->kind]
                                                                                           : "a value");
                return;
        }
        if (k->kind == V_LIST && !k->data) {
                printf("a list of %d", k->n);
                return;
        }
        for (int i = 0; i < k->rank; i++)
                printf("%s%lld", i ? ", " : "[", (long long)k->dim[i]);
        printf("%s of %s", k->rank ? "]" : "a tensor",
               k->dtype == REAL  ? "reals"
               : k->dtype == INT ? "integers"
                                 : "truths");
}

bool list_variables(ReplSession *s, const Words *w)
{
        const char *only = w->n > 1 ? w->word[1] : NULL;
        bool found = !only;
        int width = 0;
        for (int i = 0; i < s->variables.n; i++)
                width = (int)strlen(s->variables.at[i].name) > width ? (int)strlen(s->variables.at[i].name)
                                                                     : width;
        for (int i = 0; i < s->variables.n; i++) {
                if (only && strcmp(s->variables.at[i].name, only) != 0)
                        continue;
                found = true;
                printf("%-*s  ", only ? 0 : width, s->variables.at[i].name);
                print_kind(s->variables.at[i].value);
                printf("\n");
        }
        if (!found)
                repl_error("no variable %s; an expression prints its value, with its shape after #", only);
        return found;
}
