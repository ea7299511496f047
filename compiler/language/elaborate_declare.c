/* Declarations: `w : weight[n, x.dim] = 1`, `time : upto(context)`, `layers, heads : int`, inputs and
 * outputs. */
#include "elaborate_private.h"

#include <string.h>

static bool is_named(const Ast *ast, const char *name)
{
        return ast->kind == AST_NAME && strcmp(ast->name, name) == 0;
}

/* Whether the type is `name`, `name[..]` or `name(..)`. */
static bool type_is(const Ast *type, AstKind kind, const char *name)
{
        return type->kind == kind && (kind == AST_NAME ? is_named(type, name) : is_named(type->kid[0], name));
}

/* int, real, bool, text, list, block, scheme: a value known at compile time. */
bool is_hyper_type(const Ast *type)
{
        static const char *const name[] = {"int", "real", "bool", "text", "list"};
        for (int i = 0; i < 5; i++)
                if (is_named(type, name[i]))
                        return true;
        return type->kind == AST_TYPE;
}

/* Reports tensors with too many elements. */
static bool check_size(Elaborator *e, const Ast *type, const char *what, const Type *t)
{
        if (type_is_bounded(e->g, t, 1))
                return true;
        poisoned(e, type->span, "%s of shape %s has too many elements: more than 2^42", what,
                 type_text(e->diag->arena, e->g, t));
        return false;
}

/* The sizes in base[a, b, ..]. */
static bool read_sizes(Elaborator *e, Scope *scope, const Ast *type, bool fixed, Type *t)
{
        bool good = true;
        if (type->nkid - 1 > MAX_RANK)
                return poisoned(e, type->span, "more than %d axes", MAX_RANK), false;
        for (int i = 1; i < type->nkid; i++) {
                const Ast *kid = type->kid[i];
                Dim *d = &t->dim[t->rank++];
                if (kid->kind == AST_RANGE) {
                        poisoned(e, kid->span, "an axis needs a size, not a range");
                        good = false;
                } else if (!want_dim(e, eval(e, scope, kid, NULL), kid->span, "a size", d)) {
                        good = false;
                } else if (fixed && !dim_is_fixed(*d)) {
                        poisoned(e, kid->span, "a weight's sizes are fixed; %s is not",
                                 dim_text(e->diag->arena, e->g, *d));
                        good = false;
                } else if (!dim_at_least(e->g, *d, 1)) {
                        poisoned(e, kid->span, "a size must be at least 1, not %s",
                                 dim_text(e->diag->arena, e->g, *d));
                        good = false;
                }
        }
        return good;
}

/* ---- weights ---- */

/* A default: a number for all elements, or a list of the weight's shape. */
static bool read_centre(Elaborator *e, Scope *scope, const Ast *value, const Type *type, double *centre,
                        const double **values)
{
        if (!value)
                return true;
        Value v = eval(e, scope, value, NULL);
        if (is_poison(v))
                return false;
        if (is_number(v))
                return *centre = v.number, check_float(e, v.number, value->span);
        Node *n = v.kind == V_LIST || v.kind == V_TENSOR ? to_tensor(e, v, value->span) : NULL;
        if (!n || n->op != OP_CONST || n->attr.literal->iterations != 1)
                return poisoned(e, value->span, "a weight's default is a number or a list of numbers, not %s",
                                value_text_of(e, v)),
                       false;
        Type found = n->type;
        found.dtype = type->dtype;
        if (!type_equal(&found, type)) {
                poisoned(e, value->span, "the default has shape %s, the weight %s",
                         type_text(e->diag->arena, e->g, &found), type_text(e->diag->arena, e->g, type));
                return false;
        }
        double *kept = NEW_ARRAY(e->keep, double, n->attr.literal->count);
        memcpy(kept, n->attr.literal->value, (size_t)n->attr.literal->count * sizeof *kept);
        return *values = kept, true;
}

static void declare_weights(Elaborator *e, Scope *scope, const Ast *decl)
{
        Type type = {.dtype = REAL};
        double centre = 0;
        const double *values = NULL;
        bool good = read_sizes(e, scope, decl->kid[1], true, &type) &&
                    check_size(e, decl->kid[1], "a weight", &type) &&
                    read_centre(e, scope, decl->kid[2], &type, &centre, &values);
        if (good && !type_is_fixed(&type))
                good = false;
        for (int i = 0; i < decl->kid[0]->nkid; i++) {
                const Ast *name = decl->kid[0]->kid[i];
                Node *w = good ? weight_node(e, name->name, &type, centre, values, name->span) : NULL;
                scope_set(e, scope, name->name, value_tensor(w), name->span);
        }
}

/* ---- dimensions ---- */

static void declare_dimension(Elaborator *e, Scope *scope, const Ast *name, int64_t bound)
{
        Graph *g = e->g;
        for (int i = 0; i < g->nnamed; i++)
                if (g->named[i].name == name->name) {
                        poisoned(e, name->span, "the dimension %s is declared twice", name->name);
                        diag_note(e->diag, g->named[i].span, "first here");
                        return;
                }
        if (g->nnamed == MAX_DECLARED) {
                poisoned(e, name->span, "a model has at most %d named dimensions", MAX_DECLARED);
                return;
        }
        g->named[g->nnamed] = (Named){.name = name->name, .bound = bound, .span = name->span};
        scope_set(e, scope, name->name, value_dim(e, dim_named(g->nnamed++)), name->span);
}

static void declare_dimensions(Elaborator *e, Scope *scope, const Ast *decl)
{
        const Ast *type = decl->kid[1];
        int64_t bound = 1;
        bool good = type->nkid == 2 && type->kid[1]->kid[0];
        if (!good)
                poisoned(e, type->span, "upto needs the largest size: upto(context)");
        good = good && want_int(e, eval(e, scope, type->kid[1]->kid[0], NULL), type->kid[1]->span,
                                "a dimension's bound", &bound);
        if (good && (bound < 1 || bound > (int64_t)1 << 31)) {
                poisoned(e, type->kid[1]->span,
                         "a dimension's bound is at least 1 and at most 2^31, not %lld", (long long)bound);
                good = false;
        }
        if (e->where)
                poisoned(e, decl->span, "named dimensions belong to the model");
        for (int i = 0; i < decl->kid[0]->nkid; i++) {
                const Ast *name = decl->kid[0]->kid[i];
                if (good && !e->where)
                        declare_dimension(e, scope, name, bound);
                else
                        scope_set(e, scope, name->name, POISON, name->span);
        }
}

/* ---- hyperparameters ---- */

static void declare_hypers(Elaborator *e, Scope *scope, const Ast *decl)
{
        for (int i = 0; i < decl->kid[0]->nkid; i++) {
                const Ast *name = decl->kid[0]->kid[i];
                Value v = POISON;
                if (!value_given(e, name->name, &v) && decl->kid[2])
                        v = eval(e, scope, decl->kid[2], name->name);
                Binding *b = vars_find(scope->vars, name->name);
                Span span = b && !is_poison(b->value) ? b->span
                            : decl->kid[2]            ? decl->kid[2]->span
                                                      : name->span;
                if (!fits_type(e, decl->kid[1], &v, name->name, span))
                        v = POISON;
                scope_set(e, scope, name->name, v, name->span);
                list_hyper(e, name->name, v, name->span);
        }
}

void declare(Elaborator *e, Scope *scope, const Ast *decl)
{
        const Ast *type = decl->kid[1];
        if (type_is(type, AST_INDEX, "weight")) {
                declare_weights(e, scope, decl);
        } else if (type_is(type, AST_CALL, "upto")) {
                declare_dimensions(e, scope, decl);
        } else if (is_hyper_type(type) && at_model(e, scope)) {
                declare_hypers(e, scope, decl);
        } else if (is_hyper_type(type)) {
                poisoned(e, decl->span,
                         "hyperparameters are declared in a model; a block's parameters are declared in its "
                         "parentheses");
        } else {
                poisoned(e, type->span,
                         "unknown type; expected weight[..], upto(bound), or in a model int, real, bool, "
                         "text, list, block, scheme");
                if (is_named(type, "weight"))
                        diag_hint(e->diag, "a scalar weight is declared as weight[]");
        }
}

/* ---- inputs and outputs ---- */

/* real, real[..], id(n), id(n)[..] */
static bool read_input_type(Elaborator *e, Scope *scope, const Ast *type, Type *t, int64_t *bound)
{
        const Ast *base = type->kind == AST_INDEX ? type->kid[0] : type;
        *t = (Type){.dtype = REAL};
        *bound = 0;
        if (type_is(base, AST_CALL, "id") && base->nkid == 2 && base->kid[1]->kid[0]) {
                t->dtype = INT;
                if (!want_int(e, eval(e, scope, base->kid[1]->kid[0], NULL), base->kid[1]->span,
                              "the number of ids", bound))
                        return false;
                if (*bound < 1 || *bound > 1 << 24)
                        return poisoned(e, base->kid[1]->span, "ids are below 1 to 2^24, not %lld",
                                        (long long)*bound),
                               false;
        } else if (!is_named(base, "real")) {
                return poisoned(e, base->span, "an input is real[..] or id(bound)[..]"), false;
        }
        return type->kind != AST_INDEX ||
               (read_sizes(e, scope, type, false, t) && check_size(e, type, "an input", t));
}

static Node *declared_input(Elaborator *e, const Ast *name, const Type *t, int64_t bound, int group,
                            const char *group_name)
{
        Graph *g = e->g;
        for (int i = 0; i < g->ninput; i++)
                if (g->input[i].name == name->name && g->input[i].group_name == group_name) {
                        poisoned(e, name->span, "the input %s is declared twice", name->name);
                        diag_note(e->diag, g->input[i].span, "first here");
                        return NULL;
                }
        GROW(e->keep, g->input, g->ninput, e->input_cap);
        g->input[g->ninput] = (Input){.name = name->name,
                                      .type = *t,
                                      .bound = bound,
                                      .group = group,
                                      .group_name = group_name,
                                      .span = name->span};
        Attr attr = {.index = g->ninput++, .slot = -1};
        Node *n = node_new(g, e->body, OP_INPUT, 0, NULL, attr, *t, name->span, e->where);
        n->name = name->name;
        return n;
}

/* A field of a group is also visible by its own name, unless that name is taken. */
void declare_input(Elaborator *e, Scope *scope, const Ast *input)
{
        if (!at_model(e, scope)) {
                poisoned(e, input->span, "inputs belong to a model, outside its repeats");
                return;
        }
        int group = e->g->ngroup++;
        for (int i = 0; i < input->nkid; i++) {
                const Ast *decl = input->kid[i], *names = decl->kid[0];
                Type type;
                int64_t bound;
                bool good = read_input_type(e, scope, decl->kid[1], &type, &bound);
                if (decl->kid[2])
                        poisoned(e, decl->kid[2]->span, "an input has no default");
                for (int k = 0; k < names->nkid; k++) {
                        const char *name = names->kid[k]->name;
                        Node *n = good ? declared_input(e, names->kid[k], &type, bound, group,
                                                        input->name ? input->name : name)
                                       : NULL;
                        if (!input->name || !vars_find(scope->vars, name))
                                scope_set(e, scope, name, value_tensor(n), names->kid[k]->span);
                }
        }
        if (input->name) {
                GroupValue *g = NEW(e->keep, GroupValue);
                *g = (GroupValue){input->name, group};
                scope_set(e, scope, input->name, (Value){.kind = V_GROUP, .group = g}, input->name_span);
        }
}

void declare_output(Elaborator *e, Scope *scope, const Ast *output)
{
        Graph *g = e->g;
        if (e->where || e->nregion > 0) {
                poisoned(e, output->span, "outputs belong to a model, outside its repeats");
                return;
        }
        const Ast *right = output->kid[0];
        bool member = right->kind == AST_CALL && right->kid[0]->kind == AST_FIELD;
        Value v = eval(e, scope, right, member ? NULL : output->name);
        Node *n = is_poison(v) ? NULL : to_tensor(e, v, right->span);
        scope_set(e, scope, output->name, value_tensor(n), output->name_span);
        if (!n)
                return;
        name_variable(e, value_tensor(n), output->name);
        for (int i = 0; i < g->noutput; i++)
                if (g->output[i].name == output->name) {
                        poisoned(e, output->name_span, "the output %s is declared twice", output->name);
                        diag_note(e->diag, g->output[i].span, "first here");
                        return;
                }
        GROW(e->keep, g->output, g->noutput, e->output_cap);
        g->output[g->noutput++] = (Output){.name = output->name, .node = n, .span = output->span};
}
