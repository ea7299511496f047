/* Statements. */
#include "elaborate_private.h"

#include <string.h>

void hoist_blocks(Elaborator *e, Scope *scope, const Ast *body)
{
        for (int i = 0; i < body->nkid; i++) {
                const Ast *s = body->kid[i];
                if (s->kind != AST_BLOCK)
                        continue;
                Value v = {.kind = V_BLOCK, .block = block_value(e, s, scope)};
                scope_set(e, scope, s->name, v, s->name_span);
        }
}

void run_statements(Elaborator *e, Scope *scope, const Ast *body)
{
        hoist_blocks(e, scope, body);
        for (int i = 0; i < body->nkid && !(e->may_return && e->has_returned); i++)
                run_statement(e, scope, body->kid[i]);
}

/* ---- assignment ---- */

/* Name of an instance that is the whole right side.  A member's instance has the name of its scheme. */
static const char *right_side_name(const Ast *right, const char *name)
{
        return right->kind == AST_CALL && right->kid[0]->kind == AST_FIELD ? NULL : name;
}

static void unpack(Elaborator *e, Scope *scope, const Ast *let, Value v)
{
        const Ast *names = let->kid[0];
        int n = names->nkid;
        bool fits = v.kind == V_LIST && v.list->n == n;
        if (v.kind == V_PATH)
                v = value_tensor(to_tensor(e, v, let->kid[1]->span));
        if (v.kind == V_TENSOR && v.tensor->type.rank > 0)
                fits = dim_is(v.tensor->type.dim[0], n);
        if (!fits && !is_poison(v)) {
                poisoned(e, names->span, "%d names for %s", n, value_text_of(e, v));
                diag_note(e->diag, let->kid[1]->span,
                          v.kind == V_TENSOR ? "the outermost axis is unpacked" : "this is what is unpacked");
        }
        for (int i = 0; i < n; i++) {
                const Ast *name = names->kid[i];
                Value part = !fits              ? POISON
                             : v.kind == V_LIST ? v.list->item[i]
                                                : tensor_part(e, v.tensor, i, name->span);
                name_variable(e, part, name->name);
                scope_set(e, scope, name->name, part, name->span);
        }
}

static void run_let(Elaborator *e, Scope *scope, const Ast *let)
{
        const Ast *names = let->kid[0], *right = let->kid[1];
        if (names->nkid > 1) {
                unpack(e, scope, let, eval(e, scope, right, NULL));
                return;
        }
        const Ast *name = names->kid[0];
        Value v;
        if (at_model(e, scope) && value_given(e, name->name, &v))
                return;
        v = eval(e, scope, right, right_side_name(right, name->name));
        name_variable(e, v, name->name);
        scope_set(e, scope, name->name, v, name->span);
        if (at_model(e, scope))
                list_hyper(e, name->name, v, name->span);
}

/* shared f = block(…): a single instance for all calls. */
static void run_shared(Elaborator *e, Scope *scope, const Ast *s)
{
        Value v = eval(e, scope, s->kid[0], s->name);
        if (!is_poison(v) && (v.kind != V_BLOCK || (v.block->def && v.block->def->kind == AST_SCHEME))) {
                poisoned(e, s->kid[0]->span, "`shared` requires a block, not %s", value_text_of(e, v));
                if (v.kind == V_TENSOR)
                        diag_hint(e->diag, "leave out the first argument: the block is called later");
                v = POISON;
        }
        if (v.kind == V_BLOCK) {
                Block *b = NEW(e->arena, Block);
                *b = *v.block;
                b->shared = path_new(e, s->name, s->span);
                b->shared->of_shared = true;
                v.block = b;
        }
        scope_set(e, scope, s->name, v, s->name_span);
}

static void run_return(Elaborator *e, Scope *scope, const Ast *s)
{
        if (!e->may_return) {
                poisoned(e, s->span, "`return` is allowed only in a block, an `over` or an `along`");
                return;
        }
        if (s->nkid == 1) {
                e->returned = eval(e, scope, s->kid[0], WHOLE_BLOCK);
        } else {
                Value *item = NEW_ARRAY(e->arena, Value, s->nkid);
                for (int i = 0; i < s->nkid; i++)
                        item[i] = eval(e, scope, s->kid[i], NULL);
                e->returned = value_list(e, s->nkid, item);
        }
        e->returned_several = s->nkid > 1;
        e->has_returned = true;
}

/* ---- requirements ---- */

static void add_requirement(Elaborator *e, Requirement r)
{
        GROW(e->keep, e->g->require, e->g->nrequire, e->require_cap);
        e->g->require[e->g->nrequire++] = r;
}

/* In a test both sides of == and != are computed, and compared by shape and value. */
static void require_equal(Elaborator *e, Scope *scope, const Ast *s, double within, const char *message)
{
        const Ast *condition = s->kid[0];
        Value a = eval(e, scope, condition->kid[0], NULL), b = eval(e, scope, condition->kid[1], NULL);
        if (is_poison(a) || is_poison(b))
                return;
        bool want_equal = condition->kind == AST_EQ;
        bool comparable = (a.kind == V_TENSOR || a.kind == V_LIST || is_number(a) || a.kind == V_DIM) &&
                          (b.kind == V_TENSOR || b.kind == V_LIST || is_number(b) || b.kind == V_DIM);
        if (!comparable) {
                if (value_same(a, b) != want_equal)
                        poisoned(e, condition->span, "the requirement fails: %s and %s", value_text_of(e, a),
                                 value_text_of(e, b));
                return;
        }
        Node *left = to_tensor(e, a, condition->kid[0]->span),
             *right = to_tensor(e, b, condition->kid[1]->span);
        if (!left || !right)
                return;
        Type wide;
        if (left->type.rank > 0 && right->type.rank > 0 &&
            (!type_broadcast(&left->type, &right->type, &wide) || left->type.rank != right->type.rank)) {
                poisoned(e, condition->span, "shapes %s and %s differ",
                         type_text(e->diag->arena, e->g, &left->type),
                         type_text(e->diag->arena, e->g, &right->type));
                return;
        }
        add_requirement(e, (Requirement){left, right, within, want_equal, message, s->span});
}

/* "heads is 6, head_dim is 16.6667 (100 / 6)": the numbers of a condition, each once. */
static const char *condition_numbers(Elaborator *e, Scope *scope, const Ast *t, const char *said)
{
        Value v;
        if (t->kind == AST_NAME && scope_find(e, scope, t->name, false, &v) && is_number(v)) {
                const char *one = arena_printf(e->diag->arena, "%s is %.6g", t->name, v.number);
                if (v.kind == V_REAL && v.quotient)
                        one = arena_printf(e->diag->arena, "%s (%.6g / %.6g)", one, v.quotient->left,
                                           v.quotient->right);
                if (!said || !strstr(said, one))
                        said = said ? arena_printf(e->diag->arena, "%s, %s", said, one) : one;
        }
        for (int i = 0; i < t->nkid; i++)
                if (t->kid[i])
                        said = condition_numbers(e, scope, t->kid[i], said);
        return said;
}

/* The block ends here, since later statements rely on the requirement. */
static void fail_requirement(Elaborator *e, Scope *scope, const Ast *s, const char *message)
{
        poisoned(e, s->span, "%s", message ? message : "the requirement does not hold");
        const char *numbers = condition_numbers(e, scope, s->kid[0], NULL);
        if (numbers)
                diag_hint(e->diag, "%s", numbers);
        if (e->may_return) {
                e->returned = POISON;
                e->returned_several = false;
                e->has_returned = true;
        }
}

static void elaborate_require(Elaborator *e, Scope *scope, const Ast *s)
{
        const Ast *condition = s->kid[0];
        const char *message = s->kid[2] ? s->kid[2]->name : NULL;
        Value within = {.kind = V_REAL, .number = -1};
        if (s->kid[1]) {
                within = eval(e, scope, s->kid[1], NULL);
                if (!is_number(within)) {
                        if (!is_poison(within))
                                poisoned(e, s->kid[1]->span, "a bound is a number, not %s",
                                         value_text_of(e, within));
                        return;
                }
        }
        if (e->in_test && !e->where && (condition->kind == AST_EQ || condition->kind == AST_NE)) {
                require_equal(e, scope, s, within.number, message);
                return;
        }
        Value v = eval(e, scope, condition, NULL);
        if (is_poison(v))
                return;
        if (v.kind == V_BOOL) {
                if (v.number == 0)
                        fail_requirement(e, scope, s, message);
        } else if (e->in_test && v.kind == V_TENSOR && v.tensor->type.dtype == BOOL) {
                add_requirement(e, (Requirement){NULL, v.tensor, -1, true, message, s->span});
        } else {
                const char *wants = arena_printf(e->diag->arena, "`require` needs true or false%s, not %s",
                                                 e->in_test ? "" : ", known when the model is compiled",
                                                 value_text_of(e, v));
                if (message) {
                        fail_requirement(e, scope, s, message);
                        diag_hint(e->diag, "%s", wants);
                } else {
                        poisoned(e, condition->span, "%s", wants);
                }
        }
}

/* ---- all of them ---- */

static void elaborate_if(Elaborator *e, Scope *scope, const Ast *s)
{
        bool truth;
        if (!eval_condition(e, scope, s->kid[0], &truth))
                return;
        const Ast *taken = truth ? s->kid[1] : s->kid[2];
        if (taken && taken->kind == AST_IF)
                elaborate_if(e, scope, taken);
        else if (taken)
                run_statements(e, scope, taken);
}

void run_statement(Elaborator *e, Scope *scope, const Ast *s)
{
        if (stopped(e, s->span))
                return;
        switch ((int)s->kind) {
        case AST_LET: run_let(e, scope, s); break;
        case AST_DECL: declare(e, scope, s); break;
        case AST_SHARED: run_shared(e, scope, s); break;
        case AST_RETURN: run_return(e, scope, s); break;
        case AST_REQUIRE: elaborate_require(e, scope, s); break;
        case AST_IF: elaborate_if(e, scope, s); break;
        case AST_REPEAT: elaborate_repeat(e, scope, s); break;
        case AST_INPUT: declare_input(e, scope, s); break;
        case AST_OUTPUT: declare_output(e, scope, s); break;
        default: /* BLOCK is bound before its body runs; CHECKPOINT, LOOP and SETTING are handled by the model */
                break;
        }
}
