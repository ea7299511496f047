/* Expressions: one case for each kind of the syntax tree. */
#include "elaborate_private.h"

#include <string.h>

const char WHOLE_BLOCK[] = "";

static Value eval_name(Elaborator *e, Scope *scope, const Ast *ast, const char *name)
{
        Value v;
        if (e->paths)
                for (PathNode *p = e->paths->child; p; p = p->next)
                        if (p->name == ast->name) {
                                PathValue *path = NEW(e->arena, PathValue);
                                path->node = p;
                                return (Value){.kind = V_PATH, .path = path};
                        }
        if (scope_find(e, scope, ast->name, false, &v))
                return instantiate_default(e, v, name && name != WHOLE_BLOCK ? name : ast->name, ast->span);
        const char **names;
        if (iterations_without_value(e, scope, ast))
                return POISON;
        poisoned(e, ast->span, "unknown name '%s'", ast->name);
        if (hint_foreign(e, ast->name, false))
                return POISON;
        int n = scope_names(e, scope, &names);
        hint_nearest(e, ast->name, names, n);
        note_later_iterations(e, ast->name);
        return POISON;
}

static Value eval_list(Elaborator *e, Scope *scope, const Ast *ast)
{
        Value *item = NEW_ARRAY(e->arena, Value, ast->nkid);
        for (int i = 0; i < ast->nkid; i++) {
                if (ast->kid[i]->kind == AST_RANGE)
                        item[i] = value_text("..");
                else
                        item[i] = eval(e, scope, ast->kid[i], NULL);
        }
        return value_list(e, ast->nkid, item);
}

/* Only true and false decide an `if`: a tensor has a value for each element. */
bool eval_condition(Elaborator *e, Scope *scope, const Ast *ast, bool *truth)
{
        Value v = eval(e, scope, ast, NULL);
        *truth = v.kind == V_BOOL && v.number != 0;
        if (v.kind == V_BOOL)
                return true;
        if (v.kind == V_TENSOR || v.kind == V_DIM) {
                poisoned(e, ast->span,
                         "`if` requires a condition that is known when the model is compiled, not %s",
                         value_text_of(e, v));
                diag_hint(e->diag, "to choose element by element, write where(condition, a, b)");
        } else if (!is_poison(v)) {
                poisoned(e, ast->span, "`if` requires true or false, not %s", value_text_of(e, v));
        }
        return false;
}

static Value eval_logical(Elaborator *e, Scope *scope, const Ast *ast)
{
        Value a = eval(e, scope, ast->kid[0], NULL);
        bool decides = ast->kind == AST_OR; /* the value of a side that decides the result */
        if (a.kind == V_BOOL && (a.number != 0) == decides)
                return a;
        Value b = eval(e, scope, ast->kid[1], NULL);
        if (is_poison(a) || is_poison(b))
                return POISON;
        Value side[] = {a, b};
        for (int i = 0; i < 2; i++)
                if (side[i].kind != V_BOOL &&
                    !(side[i].kind == V_TENSOR && side[i].tensor->type.dtype == BOOL))
                        return poisoned(e, ast->kid[i]->span, "`%s` requires true or false, not %s",
                                        ast_kind_name(ast->kind), value_text_of(e, side[i]));
        if (a.kind == V_BOOL)
                return b;
        if (b.kind == V_BOOL)
                return (b.number != 0) == decides ? b : a;
        return operate(e, ast->kind, a, b, ast);
}

/* A call of `none` returns its argument, with the argument's names. */
static bool calls_none(Elaborator *e, Scope *scope, const Ast *call)
{
        Value callee;
        return call->kind == AST_CALL && call->kid[0]->kind == AST_NAME &&
               scope_find(e, scope, call->kid[0]->name, true, &callee) && callee.kind == V_NONE;
}

static Value eval_as(Elaborator *e, Scope *scope, const Ast *ast)
{
        Value v = eval(e, scope, ast->kid[0], ast->name);
        if (calls_none(e, scope, ast->kid[0]))
                return v;
        name_node(e, v, ast->name);
        record_name(e, INSTANCE, ast->name, e->where, v);
        return v;
}

static Value eval_binary(Elaborator *e, Scope *scope, const Ast *ast)
{
        Value a = eval(e, scope, ast->kid[0], NULL);
        Value b = eval(e, scope, ast->kid[1], NULL);
        return operate(e, ast->kind, a, b, ast);
}

Value eval(Elaborator *e, Scope *scope, const Ast *ast, const char *name)
{
        bool truth;
        if (stopped(e, ast->span))
                return POISON;
        switch ((int)ast->kind) {
        case AST_NAME: return eval_name(e, scope, ast, name);
        case AST_NUMBER: return value_number(ast->number, ast->is_int);
        case AST_STRING: return value_text(ast->name);
        case AST_TRUE:
        case AST_FALSE: return value_bool(ast->kind == AST_TRUE);
        case AST_NONE: return NOTHING;
        case AST_LIST: return eval_list(e, scope, ast);
        case AST_COND:
                if (!eval_condition(e, scope, ast->kid[0], &truth))
                        return POISON;
                return eval(e, scope, ast->kid[truth ? 1 : 2], name);
        case AST_OR:
        case AST_AND: return eval_logical(e, scope, ast);
        case AST_NOT: return logical_not(e, eval(e, scope, ast->kid[0], NULL), ast->span);
        case AST_NEG: return negate(e, eval(e, scope, ast->kid[0], NULL), ast->span);
        case AST_TRANSPOSE: return transpose_last(e, eval(e, scope, ast->kid[0], NULL), ast->span);
        case AST_FIELD: return field_value(e, scope, ast);
        case AST_CALL: return call_value(e, scope, ast, name);
        case AST_INDEX: return index_value(e, scope, ast);
        case AST_AS: return eval_as(e, scope, ast);
        case AST_OVER: return eval_over(e, scope, ast);
        case AST_ALONG: return eval_along(e, scope, ast);
        default: return eval_binary(e, scope, ast);
        }
}
